"""How far the worst released value moves what is believed about a confidential side.

The same measures as those of ``measures.anonymity``, of finite distributions instead of classes of
records: a released value is a class, its probability the share of the records in it. Of a relation
they are computed from its counts, by the very functions of that module.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import check_base
from hartley.kernels.cube import ClassCounts
from hartley.measures import anonymity
from hartley.ranges.relations.distribution import JointDistribution
from hartley.ranges.relations.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Source = Relation | JointDistribution | ArrayLike


def t_closeness(source: Source, *, base: float = 2) -> float:
    r"""Return how far the worst released value takes beliefs about the confidential side.

    .. math:: t = \max_y \sum_x p(x|y) \log_2 \frac{p(x|y)}{p(x)}

    t-closeness with the Kullback-Leibler divergence for a distance (Rebollo-Monedero, Forne and
    Domingo-Ferrer 2010); its mean over the released values is the mutual information, so that it
    is never below that, and never above ``delta_disclosure``. Rounded to double precision. Linear
    in the number of pairs.

    Args:
        source: a relation, or a matrix of joint probabilities, one row a confidential value.
        base: of the logarithm.

    Example:
        >>> t_closeness([[0.5, 0.0], [0.0, 0.5]])
        1.0
        >>> t_closeness([[0.4, 0.1], [0.4, 0.1]])
        0.0
    """
    check_base(base)
    if isinstance(source, Relation):
        return anonymity.kullback_leibler(_classes(source), base=base)
    after, before = _beliefs(source)
    ratios = np.where(after > 0, after, before[:, None]) / before[:, None]
    return max(float((after * np.log(ratios)).sum(axis=0).max()) / math.log(base), 0.0)


def delta_disclosure(source: Source, *, base: float = 2) -> float:
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
    if isinstance(source, Relation):
        return anonymity.delta_disclosure(_classes(source), base=base)
    after, before = _beliefs(source)
    if after.min() <= 0:
        return math.inf
    return float(np.abs(np.log(after / before[:, None])).max()) / math.log(base)


def equal_closeness(source: Source) -> float:
    r"""Return the t of t-closeness, all confidential values being equally far from each other.

    .. math:: t = \max_y \frac{1}{2} \sum_x |p(x|y) - p(x)|

    The earth mover's distance of Li, Li and Venkatasubramanian 2007, equal distance: the total
    variation. Rounded to double precision. Linear in the number of pairs.

    Example:
        >>> equal_closeness([[0.5, 0.0], [0.0, 0.5]])
        0.5
    """
    if isinstance(source, Relation):
        return float(anonymity.equal_closeness(_classes(source)))
    after, before = _beliefs(source)
    return float(np.abs(after - before[:, None]).sum(axis=0).max()) / 2


def ordered_closeness(source: Source) -> float:
    r"""Return the t of t-closeness when confidential values are as far apart as in their order.

    .. math:: t = \max_y \frac{1}{m-1} \sum_{j<m} \Bigl| \sum_{i \le j} (p(x_i|y) - p(x_i)) \Bigr|

    The earth mover's distance of Li, Li and Venkatasubramanian 2007, ordered distance: the rows
    are the m confidential values in their order; those of a relation are put in theirs, if they
    compare. Values that never occur count as places between the others. Rounded to double
    precision. Linear in the number of pairs.

    Example:
        >>> ordered_closeness([[0.5, 0.0], [0.0, 0.0], [0.0, 0.5]])
        0.5
    """
    if isinstance(source, Relation):
        return float(anonymity.ordered_closeness(_classes(source, ordered=True)))
    after, before = _beliefs(source, every=True)
    if before.size == 1:
        return 0.0
    moved = np.abs(np.cumsum(after - before[:, None], axis=0)).sum(axis=0)
    return float(moved.max()) / (before.size - 1)


def hierarchical_closeness(source: Source, levels: Sequence[ArrayLike]) -> float:
    r"""Return the t of t-closeness when values are as far apart as their lowest common group.

    .. math:: t = \max_y \frac{1}{H} \sum_{h=0}^{H-1} \frac{1}{2} \sum_g |p(g|y) - p(g)|

    the inner sum over the groups g of level h, level 0 being the values and level H the whole:
    the earth mover's distance of Li, Li and Venkatasubramanian 2007 in a tree. Rounded to double
    precision. Linear in the number of pairs a level.

    Args:
        source: a relation, or a matrix of joint probabilities, one row a confidential value.
        levels: for each level above the values and below the whole, the number of the group of
            every confidential value, in the order of the rows or of the relation's range.

    Example:
        >>> hierarchical_closeness([[0.25, 0.0], [0.25, 0.0], [0.0, 0.5]], [[0, 0, 1]])
        0.5
    """
    if isinstance(source, Relation):
        groups = [_groups(level, len(source.secret_range)) for level in levels]
        return float(anonymity.hierarchical_closeness(_classes(source), groups))
    after, before = _beliefs(source, every=True)
    apart = after - before[:, None]
    moved = np.abs(apart).sum(axis=0)
    for level in levels:
        groups_of = _groups(level, before.size)
        sums = np.zeros((int(groups_of.max()) + 1, apart.shape[1]))
        np.add.at(sums, groups_of, apart)
        moved = moved + np.abs(sums).sum(axis=0)
    return float(moved.max()) / (2 * (len(levels) + 1))


def _beliefs(
    source: JointDistribution | ArrayLike, *, every: bool = False
) -> tuple[Floats, Floats]:
    """Return p(x|y) of the released values that occur, and p(x).

    Confidential values that never occur are left out unless every row is asked for.
    """
    joint = source if isinstance(source, JointDistribution) else JointDistribution.of(source)
    matrix = joint.matrix
    before, released = matrix.sum(axis=1), matrix.sum(axis=0)
    rows = np.ones(before.size, bool) if every else before > 0
    after = matrix[np.ix_(rows, released > 0)] / released[released > 0]
    return after, before[rows]


def _classes(relation: Relation, *, ordered: bool = False) -> ClassCounts:
    """Return the counts of a relation, a class a released value."""
    pairs = relation.pairs()
    codes = np.asarray(pairs.secret, dtype=np.int64)
    if ordered:
        codes = _ranks(relation.secret_range)[codes]
    released, counts = (np.asarray(side, np.int64) for side in (pairs.released, pairs.counts))
    return ClassCounts.from_cells(released, codes, counts)


def _ranks(values: Sequence[Any]) -> NDArray[np.int64]:
    """Return the place of every value in their order."""
    try:
        order = sorted(range(len(values)), key=lambda place: values[place])
    except TypeError:
        raise OptionError(
            "The confidential values do not compare, so they have no order",
            hint="measure equal_closeness or hierarchical_closeness instead",
        ) from None
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(len(values))
    return ranks


def _groups(level: ArrayLike, size: int) -> NDArray[np.int64]:
    """Check the groups of one level."""
    found = np.asarray(level)
    if found.shape != (size,) or found.dtype.kind not in "iu" or (size and found.min() < 0):
        raise OptionError(
            f"A level of the hierarchy does not number the groups of {size} confidential values",
            hint="give one whole number of 0 or more a value",
        )
    return found.astype(np.int64)
