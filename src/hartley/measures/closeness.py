"""Closeness: how far the worst released value moves beliefs about a confidential side.

The measures take a relation, the classes of a table with equal keys (``KeyClasses``) or joint
probabilities: a released value is a class, and its probability the share of the records in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from hartley.exact import check_base
from hartley.ranges.relations.distribution import as_frequencies

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import ArrayLike

    from hartley.ranges.joint_range import JointFrequencies
    from hartley.ranges.relations.classes import KeyClasses
    from hartley.ranges.relations.distribution import JointDistribution
    from hartley.ranges.relations.relation import Relation


def t_closeness(source: JointFrequencies | ArrayLike, *, base: float = 2) -> float:
    r"""Return how far the worst released value moves beliefs about the confidential side.

    .. math:: t = \max_y \sum_x p(x|y) \log_2 \frac{p(x|y)}{p(x)}

    t-closeness with the Kullback-Leibler divergence for a distance (Rebollo-Monedero, Forne and
    Domingo-Ferrer 2010); its mean over the released values is the mutual information, so that it
    is never below that, and never above ``delta_disclosure``. Rounded to double precision. Linear
    in the number of pairs.

    Args:
        source: a relation, classes of a table, or a matrix of joint
            probabilities, one row per confidential value.
        base: of the logarithm.

    Example:
        >>> t_closeness([[0.5, 0.0], [0.0, 0.5]])
        1.0
        >>> t_closeness([[0.4, 0.1], [0.4, 0.1]])
        0.0
    """
    check_base(base)
    return as_frequencies(source).beliefs().divergence(base)


def delta_disclosure(source: JointFrequencies | ArrayLike, *, base: float = 2) -> float:
    r"""Return by how much a released value makes a confidential one likelier or less likely.

    .. math:: \delta = \max_{x,y} \Bigl| \log_2 \frac{p(x|y)}{p(x)} \Bigr|

    Brickell and Shmatikov 2008, in bits unless ``base`` says otherwise. Infinite where a released
    value excludes a confidential one. Never below ``t_closeness``. Rounded to double precision.
    Linear in the number of pairs.

    Example:
        >>> delta_disclosure([[0.125, 0.375], [0.375, 0.125]])  # 1/4 instead of 1/2
        1.0
        >>> delta_disclosure([[0.5, 0.25], [0.0, 0.25]])
        inf
    """
    check_base(base)
    return as_frequencies(source).beliefs().disclosure(base)


@overload
def equal_closeness(source: KeyClasses) -> Fraction: ...


@overload
def equal_closeness(source: Relation | JointDistribution | ArrayLike) -> float: ...


def equal_closeness(source: JointFrequencies | ArrayLike) -> Fraction | float:
    r"""Return the t of t-closeness if all confidential values are equally far apart.

    .. math:: t = \max_y \frac{1}{2} \sum_x |p(x|y) - p(x)|

    The earth mover's distance of Li, Li and Venkatasubramanian 2007, equal distance: the total
    variation. Exact for the classes of a table, as a fraction; else rounded to double precision.
    Linear in the number of pairs.

    Example:
        >>> equal_closeness([[0.5, 0.0], [0.0, 0.5]])
        0.5
    """
    return as_frequencies(source).beliefs().equal_distance()


@overload
def ordered_closeness(source: KeyClasses) -> Fraction: ...


@overload
def ordered_closeness(source: Relation | JointDistribution | ArrayLike) -> float: ...


def ordered_closeness(source: JointFrequencies | ArrayLike) -> Fraction | float:
    r"""Return the t of t-closeness if confidential values are as far apart as in their order.

    .. math:: t = \max_y \frac{1}{m-1} \sum_{j<m} \Bigl| \sum_{i \le j} (p(x_i|y) - p(x_i)) \Bigr|

    The earth mover's distance of Li, Li and Venkatasubramanian 2007, ordered distance: the rows
    are the m confidential values in their order; those of a relation are put in theirs, if they
    compare. Values that never occur count as places between the others. Exact for the classes of a
    table, as a fraction; else rounded to double precision. Near-linear in the number of pairs,
    however many values there are: between two values of a class only the table's sums move, and
    those are summed beforehand.

    Example:
        >>> ordered_closeness([[0.5, 0.0], [0.0, 0.0], [0.0, 0.5]])
        0.5
    """
    return as_frequencies(source).beliefs().ordered_distance()


@overload
def hierarchical_closeness(source: KeyClasses, levels: Sequence[ArrayLike]) -> Fraction: ...


@overload
def hierarchical_closeness(
    source: Relation | JointDistribution | ArrayLike, levels: Sequence[ArrayLike]
) -> float: ...


def hierarchical_closeness(
    source: JointFrequencies | ArrayLike, levels: Sequence[ArrayLike]
) -> Fraction | float:
    r"""Return the t of t-closeness if values are as far apart as their lowest common group.

    .. math:: t = \max_y \frac{1}{H} \sum_{h=0}^{H-1} \frac{1}{2} \sum_g |p(g|y) - p(g)|

    the inner sum over the groups g of level h, level 0 being the values and level H the whole:
    the earth mover's distance of Li, Li and Venkatasubramanian 2007 in a tree, where two values
    whose lowest common group is at level h are h/H apart. Exact for the classes of a table, as a
    fraction; else rounded to double precision. Linear in the number of pairs per level.

    Args:
        source: a relation, classes of a table, or a matrix of joint
            probabilities, one row per confidential value.
        levels: for each level above the values and below the whole, the number of the group of
            every confidential value, in the order of the rows or of the relation's range.

    Example:
        >>> hierarchical_closeness([[0.25, 0.0], [0.25, 0.0], [0.0, 0.5]], [[0, 0, 1]])
        0.5
    """
    return as_frequencies(source).beliefs().hierarchical_distance(levels)
