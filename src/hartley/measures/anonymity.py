"""What the classic models of anonymity say about classes of records with equal keys.

Every function takes the counts of the classes and returns the strictest parameter for which the
model holds. Ratios of counts are exact fractions; what has a logarithm in it is rounded.
A confidential value that is absent from a class has the share zero there.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import log_ratio
from hartley.kernels.classes import count_tails, equal_moves, ordered_moves, over_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.kernels.cube import ClassCounts

LARGEST = 2**62
"""Integers up to here are added in one machine word."""


# --- diversity --------------------------------------------------------------------------------


def distinct_diversity(classes: ClassCounts) -> int:
    r"""Return how many different confidential values every class has, at least.

    .. math:: l = \min_i |\{s : n_{is} > 0\}|

    Distinct l-diversity (Machanavajjhala et al. 2007), which is also the p of p-sensitive
    k-anonymity (Truta and Vinay 2006). Exact. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> distinct_diversity(ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 2, 2]])))
        1
    """
    return int(classes.distinct.min())


def entropy_diversity(classes: ClassCounts) -> float:
    r"""Return the effective number of confidential values of the least diverse class.

    .. math:: l = \min_i 2^{H_i}, \quad H_i = -\sum_s p_{is} \log_2 p_{is}

    Entropy l-diversity holds for this l and for none above (Machanavajjhala et al. 2007).
    Rounded to double precision. Linear in the number of cells.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> entropy_diversity(ClassCounts.from_cells(*np.array([[0, 0], [0, 1], [3, 3]])))
        2.0
    """
    return float(2.0 ** classes.bits[0].min())


def recursive_diversity(classes: ClassCounts, length: int) -> Fraction | None:
    r"""Return the c above which recursive (c, l)-diversity holds; None where no c is enough.

    .. math:: c^\ast = \max_i \frac{r_{i1}}{r_{il} + \dots + r_{im}}

    with the counts of class i in falling order: (c, l)-diversity asks for
    :math:`r_{i1} < c\,(r_{il} + \dots + r_{im})` (Machanavajjhala et al. 2007), so it holds for
    every c > c* and fails at c*. Exact. Near-linear in the number of cells.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> recursive_diversity(ClassCounts.from_cells(*np.array([[0, 0], [0, 1], [3, 2]])), 2)
        Fraction(3, 2)
    """
    if length < 2:
        raise OptionError(
            f"The l of recursive diversity is {length}", hint="choose a whole number of 2 or more"
        )
    if distinct_diversity(classes) < length:
        return None
    return _largest(*over_classes(count_tails, classes.cells, length))


def alpha_share(classes: ClassCounts) -> Fraction:
    r"""Return the largest share that one confidential value has of a class.

    .. math:: \alpha = \max_{i,s} \frac{n_{is}}{n_i}

    (alpha, k)-anonymity holds for this alpha and none below, every value being protected (Wong
    et al. 2006). Exact. Linear in the number of cells.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> alpha_share(ClassCounts.from_cells(*np.array([[0, 0], [0, 1], [3, 1]])))
        Fraction(3, 4)
    """
    peaks, _ = over_classes(count_tails, classes.cells, 2)
    return _largest(peaks, classes.sizes)


# --- closeness --------------------------------------------------------------------------------


def equal_closeness(classes: ClassCounts) -> Fraction:
    r"""Return the t of t-closeness, all confidential values being equally far from each other.

    .. math:: t = \max_i \frac{1}{2} \sum_s |p_{is} - q_s|

    Li, Li and Venkatasubramanian 2007, equal distance, q being the shares in the whole table.
    Exact. Linear in the number of cells.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> equal_closeness(ClassCounts.from_cells(*np.array([[0, 1], [0, 1], [1, 1]])))
        Fraction(1, 2)
    """
    return _worst(_equal_moves(classes), classes, 2)


def hierarchical_closeness(classes: ClassCounts, levels: Sequence[NDArray[np.int64]]) -> Fraction:
    r"""Return the t of t-closeness when values are as far apart as their lowest common group.

    .. math:: t = \max_i \frac{1}{H} \sum_{h=0}^{H-1} \frac{1}{2} \sum_g |p_{ig} - q_g|

    the inner sum over the groups g of level h, level 0 being the values and level H the whole:
    the earth mover's distance of the tree in which two values whose lowest common group is at
    level h are h/H apart (Li, Li and Venkatasubramanian 2007). Exact. Linear in cells a level.

    Args:
        classes: the counts.
        levels: for each level above the values and below the whole, the group of every value.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> apart = ClassCounts.from_cells(*np.array([[0, 1, 2, 2], [0, 1, 2, 3], [1, 1, 1, 1]]))
        >>> hierarchical_closeness(apart, [np.array([0, 0, 1, 1])])
        Fraction(5, 8)
    """
    moves = _equal_moves(classes).astype(object)
    for groups in levels:
        moves = moves + _equal_moves(classes.regroup(groups))
    return _worst(moves, classes, 2 * (len(levels) + 1))


def ordered_closeness(classes: ClassCounts) -> Fraction:
    r"""Return the t of t-closeness when values are as far apart as they are in their order.

    .. math:: t = \max_i \frac{1}{m-1} \sum_{j<m} \Bigl| \sum_{s \le j} (p_{is} - q_s) \Bigr|

    Li, Li and Venkatasubramanian 2007, ordered distance, m being the number of values in the
    whole table; zero where m is 1. Exact. Near-linear in the number of cells, however large m:
    between two values of a class only the table's sums move, and those are summed beforehand.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> ordered_closeness(ClassCounts.from_cells(*np.array([[0, 1, 2], [0, 1, 2], [1, 1, 1]])))
        Fraction(1, 2)
    """
    if classes.width == 1:
        return Fraction(0)
    ours, theirs = over_classes(ordered_moves, classes.cells)
    if classes.width * int(classes.sizes.max()) * classes.rows >= LARGEST:
        ours, theirs = ours.astype(object), theirs.astype(object)
    moves = ours * classes.rows + theirs * classes.sizes
    return _worst(moves, classes, classes.width - 1)


def kullback_leibler(classes: ClassCounts, *, base: float = 2) -> float:
    r"""Return how far the worst class diverges from the whole table.

    .. math:: \max_i \sum_s p_{is} \log_2 \frac{p_{is}}{q_s}

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010: t-closeness with this distance. Rounded to
    double precision. Linear in the number of cells.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> kullback_leibler(ClassCounts.from_cells(*np.array([[0, 1], [0, 1], [1, 1]])))
        1.0
    """
    return max(float(classes.bits[1].max()), 0.0) / math.log2(base)


def delta_disclosure(classes: ClassCounts, *, base: float = 2) -> float:
    r"""Return how far the share of any value in any class is from its share in the table.

    .. math:: \delta = \max_{i,s} \Bigl| \log_2 \frac{p_{is}}{q_s} \Bigr|

    Brickell and Shmatikov 2008, who leave the base open: here bits unless ``base`` says
    otherwise. Infinite where a class lacks a value that the table has, since it is then excluded
    for certain. Exact up to the rounding of one logarithm. Linear in the number of cells.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> classes = ClassCounts.from_cells(*np.array([[0, 0, 1, 1], [0, 1, 0, 1], [1, 3, 3, 1]]))
        >>> delta_disclosure(classes), delta_disclosure(classes.regroup(np.array([0, 0])))
        (1.0, 0.0)
    """
    if distinct_diversity(classes) < classes.width:
        return math.inf
    return _delta(classes, base)


def delta_of_present(classes: ClassCounts, *, base: float = 2) -> float:
    r"""Return the delta of the values that each class does have.

    .. math:: \max_{i,s : n_{is} > 0} \Bigl| \log_2 \frac{p_{is}}{q_s} \Bigr|

    What some programs call delta-disclosure (Brickell and Shmatikov 2008) although values that
    are excluded do not enter. Exact up to the rounding of one logarithm. Linear in the cells.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> delta_of_present(ClassCounts.from_cells(*np.array([[0, 1], [0, 1], [1, 1]])))
        1.0
    """
    return _delta(classes, base)


def _delta(classes: ClassCounts, base: float) -> float:
    most, of_most, least, of_least = classes.extremes
    worst = max(
        _largest(most * classes.rows, of_most * classes.sizes),
        _largest(of_least * classes.sizes, least * classes.rows),
    )
    return log_ratio(worst.numerator, worst.denominator, base=base)


# --- attacks ----------------------------------------------------------------------------------


def homogeneous_rows(classes: ClassCounts) -> tuple[int, int]:
    r"""Return in how many classes, and for how many records, all confidential values are equal.

    .. math:: |\{i : \max_s n_{is} = n_i\}|

    Whoever knows the keys of such a person knows the value: the homogeneity attack
    (Machanavajjhala et al. 2007). Exact. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> homogeneous_rows(ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 2, 2]])))
        (1, 2)
    """
    alike = classes.distinct == 1
    return int(alike.sum()), int(classes.sizes[alike].sum())


def skewed_rows(classes: ClassCounts, times: int) -> tuple[int, int]:
    r"""Return in how many classes, of how many records, a value is that much likelier.

    .. math:: |\{i : \max_s p_{is}/q_s > r\}|

    The skewness attack of Li, Li and Venkatasubramanian 2007: the class need not give the value
    away to tell much about it. Exact. Linear in the number of cells.

    Args:
        classes: the counts.
        times: the ratio r that has to be exceeded.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> classes = ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 1, 6]]))
        >>> skewed_rows(classes, 2)
        (1, 2)
    """
    hit = skewed_classes(classes, times)
    return int(hit.sum()), int(classes.sizes[hit].sum())


def skewed_classes(classes: ClassCounts, times: int) -> NDArray[np.bool_]:
    """Tell for every class whether some value is more than so many times as likely as elsewhere.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> classes = ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 1, 6]]))
        >>> skewed_classes(classes, 2)
        array([ True, False])
    """
    most, of_most, _, _ = classes.extremes
    likelier = (most * classes.rows - 1) // times  # so that all products stay in one word
    hit: NDArray[np.bool_] = likelier >= of_most * classes.sizes
    return hit


# --- exact maxima -----------------------------------------------------------------------------


def _equal_moves(classes: ClassCounts) -> NDArray[np.int64]:
    """Return 2 n_i n times the share that has to move; below 2**63 for up to 2**31 records."""
    moves: NDArray[np.int64] = over_classes(equal_moves, classes.cells)[0]
    return moves


def _worst(moves: NDArray[Any], classes: ClassCounts, scale: int) -> Fraction:
    return _largest(moves, classes.sizes) / (scale * classes.rows)


def _largest(over: NDArray[Any], under: NDArray[np.int64]) -> Fraction:
    """Return the largest of many fractions, exactly: doubles only say which ones can be it."""
    near = over.astype(np.float64) / under.astype(np.float64)
    close = near >= near.max() * (1 - 1e-14)
    pairs = set(zip(over[close].tolist(), under[close].tolist(), strict=True))
    return max(Fraction(a, b) for a, b in pairs)
