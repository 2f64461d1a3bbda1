"""Leakage: how far a release narrows the secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.exact import log_ratio
from hartley.measures import continuous
from hartley.ranges.boxes.cut_box import CutBox

if TYPE_CHECKING:
    from hartley.ranges.relations.relation import Relation


def nonstochastic_information(relation: Relation | CutBox, *, base: float = 2) -> float:
    r"""Return how far every released value narrows the secret, at least.

    .. math:: I_0(X;Y) = H_0(X) - H_0(X|Y) = \min_y \log_2 \frac{|[X]|}{|[X|y]|}

    Farokhi 2019, eq. 3. It is a weak measure of privacy: one harmless released value makes it
    small however telling the others are. Exact. Linear in the number of released values.
    Of a ``CutBox`` volumes are measured instead, see ``measures.continuous``.

    Example:
        >>> from hartley import Relation
        >>> nonstochastic_information(Relation.from_pairs([(0, 0), (1, 0), (2, 1), (3, 1)]))
        1.0
    """
    if isinstance(relation, CutBox):
        return continuous.nonstochastic_information(relation, base=base)
    summary = relation.summary
    return log_ratio(summary.secrets, int(summary.secret_sizes.max()), base=base)


def nonstochastic_leakage(relation: Relation | CutBox, *, base: float = 2) -> float:
    r"""Return how far the most telling released value narrows the secret.

    .. math:: L_0(X;Y) = H_0(X) - d_0(X|Y) = \max_y \log_2 \frac{|[X]|}{|[X|y]|}

    Farokhi 2019, eq. 6. Exact. Linear in the number of released values.
    Of a ``CutBox`` volumes are measured instead, see ``measures.continuous``.

    Example:
        >>> from hartley import Relation
        >>> nonstochastic_leakage(Relation.from_pairs([(0, 0), (1, 0), (2, 0), (3, 1)]))
        2.0
    """
    if isinstance(relation, CutBox):
        return continuous.nonstochastic_leakage(relation, base=base)
    summary = relation.summary
    return log_ratio(summary.secrets, int(summary.secret_sizes.min()), base=base)


def symmetric_leakage(relation: Relation, *, base: float = 2) -> float:
    r"""Return the smaller of the leakages in both directions.

    .. math:: L_0^s(X;Y) = \min(L_0(X;Y), L_0(Y;X))

    Farokhi 2019 (Noiseless Privacy), eq. 8; never below the maximin information (Proposition 1
    there). Exact. Linear in the sizes of both ranges.

    Example:
        >>> from hartley import Relation
        >>> symmetric_leakage(Relation.from_pairs([(x, x == 0) for x in range(8)]))
        1.0
    """
    summary = relation.summary
    forward = log_ratio(summary.secrets, int(summary.secret_sizes.min()), base=base)
    backward = log_ratio(summary.released, int(summary.released_sizes.min()), base=base)
    return min(forward, backward)


def information_transmission(relation: Relation | CutBox, *, base: float = 2) -> float:
    r"""Return how many of all conceivable pairs the joint range excludes.

    .. math:: T_0(X;Y) = H_0(X) + H_0(Y) - H_0(X,Y) = \log_2 \frac{|[X]|\,|[Y]|}{|[X,Y]|}

    Farokhi 2019, eq. 8, after Klir. Symmetric, and zero exactly for unrelated sides. Sizes are
    counted, as finite ranges need; with volumes it is undefined where one side is discrete.
    Exact. Constant time once the relation is counted.

    Example:
        >>> from hartley import Relation
        >>> information_transmission(Relation.from_pairs([(0, 0), (1, 1)]))
        1.0
    """
    if isinstance(relation, CutBox):
        return continuous.information_transmission(relation)
    summary = relation.summary
    return log_ratio(summary.secrets * summary.released, summary.pairs, base=base)
