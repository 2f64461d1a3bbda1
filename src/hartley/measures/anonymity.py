"""Measures of the classic models of anonymity, for classes of records with equal keys.

Every function takes a class table, or its counts, and returns the strictest parameter for which the
model holds. Ratios of counts are exact fractions; logarithms are rounded. A confidential value that
does not occur in a class has the share zero there. The distance of classes from the whole table is
measured in ``hartley.measures.closeness``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np  # noqa: TC002 - the examples use it

from hartley.errors import OptionError
from hartley.kernels.classes import count_tails, over_classes
from hartley.ranges.joint_range import counts_of
from hartley.ranges.relations.beliefs import CountedBeliefs, largest_ratio

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from hartley.kernels.cube import ClassCounts
    from hartley.ranges.joint_range import ClassTable


# --- diversity --------------------------------------------------------------------------------


def distinct_diversity(classes: ClassTable | ClassCounts) -> int:
    r"""Return the smallest number of different confidential values in a class.

    .. math:: l = \min_i |\{s : n_{is} > 0\}|

    Distinct l-diversity (Machanavajjhala et al. 2007), which is also the p of p-sensitive
    k-anonymity (Truta and Vinay 2006). Exact. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> distinct_diversity(ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 2, 2]])))
        1
    """
    return int(counts_of(classes).distinct.min())


def entropy_diversity(classes: ClassTable | ClassCounts) -> float:
    r"""Return the effective number of confidential values of the least diverse class.

    .. math:: l = \min_i 2^{H_i}, \quad H_i = -\sum_s p_{is} \log_2 p_{is}

    Entropy l-diversity holds for this l and for none above (Machanavajjhala et al. 2007).
    Rounded to double precision. Linear in the number of cells.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> entropy_diversity(ClassCounts.from_cells(*np.array([[0, 0], [0, 1], [3, 3]])))
        2.0
    """
    return float(2.0 ** counts_of(classes).bits[0].min())


def recursive_diversity(classes: ClassTable | ClassCounts, length: int) -> Fraction | None:
    r"""Return the c above which recursive (c, l)-diversity holds; None if no c is enough.

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
    return largest_ratio(*over_classes(count_tails, counts_of(classes).cells, length))


def alpha_share(classes: ClassTable | ClassCounts) -> Fraction:
    r"""Return the largest share of one confidential value in a class.

    .. math:: \alpha = \max_{i,s} \frac{n_{is}}{n_i}

    (alpha, k)-anonymity holds for this alpha and none below, every value being protected (Wong
    et al. 2006). Exact. Linear in the number of cells.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> alpha_share(ClassCounts.from_cells(*np.array([[0, 0], [0, 1], [3, 1]])))
        Fraction(3, 4)
    """
    counts = counts_of(classes)
    peaks, _ = over_classes(count_tails, counts.cells, 2)
    return largest_ratio(peaks, counts.sizes)


# --- disclosure -------------------------------------------------------------------------------


def delta_of_present(classes: ClassTable | ClassCounts, *, base: float = 2) -> float:
    r"""Return the delta over the values that occur in each class.

    .. math:: \max_{i,s : n_{is} > 0} \Bigl| \log_2 \frac{p_{is}}{q_s} \Bigr|

    Some programs call this delta-disclosure (Brickell and Shmatikov 2008), although it leaves out
    excluded values. Exact up to the rounding of one logarithm. Linear in the cells.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> delta_of_present(ClassCounts.from_cells(*np.array([[0, 1], [0, 1], [1, 1]])))
        1.0
    """
    return CountedBeliefs(counts_of(classes)).disclosure_of_present(base)


# --- attacks ----------------------------------------------------------------------------------


def homogeneous_rows(classes: ClassTable | ClassCounts) -> tuple[int, int]:
    r"""Return the number of classes, and of records, in which all confidential values are equal.

    .. math:: |\{i : \max_s n_{is} = n_i\}|

    An adversary who knows the keys of such a person knows the value: the homogeneity attack
    (Machanavajjhala et al. 2007). Exact. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> homogeneous_rows(ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 2, 2]])))
        (1, 2)
    """
    counts = counts_of(classes)
    alike = counts.distinct == 1
    return int(alike.sum()), int(counts.sizes[alike].sum())


def skewed_rows(classes: ClassTable | ClassCounts, times: int) -> tuple[int, int]:
    r"""Return the number of classes, and of records, in which a value is much likelier.

    .. math:: |\{i : \max_s p_{is}/q_s > r\}|

    The skewness attack of Li, Li and Venkatasubramanian 2007: a class can reveal much about a value
    without revealing the value itself. Exact. Linear in the number of cells.

    Args:
        classes: the counts.
        times: the ratio r that has to be exceeded.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> classes = ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 1, 6]]))
        >>> skewed_rows(classes, 2)
        (1, 2)
    """
    counts = counts_of(classes)
    skewed = skewed_classes(counts, times)
    return int(skewed.sum()), int(counts.sizes[skewed].sum())


def skewed_classes(classes: ClassTable | ClassCounts, times: int) -> NDArray[np.bool_]:
    """Return for every class whether some value is more than ``times`` as likely as in the table.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> classes = ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 1, 6]]))
        >>> skewed_classes(classes, 2)
        array([ True, False])
    """
    counts = counts_of(classes)
    most, of_most, _, _ = counts.extremes
    # most / size > times * of_most / rows, with the factor divided off in whole numbers: the
    # product of three counts would not fit into a machine word, that of two does.
    likelier = (most * counts.rows - 1) // times
    skewed: NDArray[np.bool_] = likelier >= of_most * counts.sizes
    return skewed


# --- former names -----------------------------------------------------------------------------

_MOVED = {
    "delta_disclosure": "delta_disclosure",
    "equal_closeness": "equal_closeness",
    "hierarchical_closeness": "hierarchical_closeness",
    "kullback_leibler": "t_closeness",
    "ordered_closeness": "ordered_closeness",
}
"""What ``hartley.measures.closeness`` measures now, of every kind of range."""


def __getattr__(name: str) -> object:
    if name not in _MOVED:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    import warnings
    from importlib import import_module

    from hartley.ranges.relations.classes import KeyClasses

    warnings.warn(
        f"{__name__}.{name} is now {_MOVED[name]} of hartley.measures.closeness, for KeyClasses",
        DeprecationWarning,
        stacklevel=2,
    )
    measure = getattr(import_module("hartley.measures.closeness"), _MOVED[name])

    def of_counts(classes: ClassCounts, *rest: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on
        return measure(KeyClasses.of(classes), *rest, **options)

    return of_counts
