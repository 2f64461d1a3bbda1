"""Leakage: how far a release narrows the secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.exact import log_ratio

if TYPE_CHECKING:
    from hartley.ranges.joint_range import JointRange
    from hartley.ranges.relations.counting import CountedRange


def nonstochastic_information(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how far the least revealing released value narrows the secret.

    .. math:: I_0(X;Y) = H_0(X) - H_0(X|Y) = \min_y \log_2 \frac{|[X]|}{|[X|y]|}

    Farokhi 2019, eq. 3. It is a weak measure of privacy: one harmless released value makes it
    small however telling the others are. Exact; of a ``CutBox`` exact where the volumes are, else a
    bound: never below the truth. Linear in the number of released values, and costs the volumes of
    cells.

    Example:
        >>> from hartley import Relation
        >>> nonstochastic_information(Relation.from_pairs([(0, 0), (1, 0), (2, 1), (3, 1)]))
        1.0
        >>> from hartley import Box, CutBox
        >>> nonstochastic_information(CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, 0, 2]))
        1.0
    """
    return relation.largest_conditional.log_narrowing(relation.secret_size, base)


def nonstochastic_leakage(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how far the most revealing released value narrows the secret.

    .. math:: L_0(X;Y) = H_0(X) - d_0(X|Y) = \max_y \log_2 \frac{|[X]|}{|[X|y]|}

    Farokhi 2019, eq. 6. Infinite where some output of a ``CutBox`` leaves no volume. Exact; of a
    ``CutBox`` exact where the volumes are, else a bound: never below the truth. Linear in the
    number of released values, and costs the volumes of cells.

    Example:
        >>> from hartley import Relation
        >>> nonstochastic_leakage(Relation.from_pairs([(0, 0), (1, 0), (2, 0), (3, 1)]))
        2.0
        >>> from hartley import Box, CutBox
        >>> quarters = CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, -1, 0, 1, 2])
        >>> nonstochastic_leakage(quarters)
        3.0
    """
    return relation.smallest_conditional.log_narrowing(relation.secret_size, base)


def symmetric_leakage(relation: CountedRange, *, base: float = 2) -> float:
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


def information_transmission(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how many of all pairs of values the joint range excludes.

    .. math:: T_0(X;Y) = H_0(X) + H_0(Y) - H_0(X,Y) = \log_2 \frac{|[X]|\,|[Y]|}{|[X,Y]|}

    Farokhi 2019, eq. 8, after Klir. Symmetric, and zero exactly for unrelated sides. Sizes are
    counted, as finite ranges need; with volumes it is undefined where one side is discrete.
    Exact. Constant time once the relation is counted.

    Example:
        >>> from hartley import Relation
        >>> information_transmission(Relation.from_pairs([(0, 0), (1, 1)]))
        1.0
    """
    ratio = relation.secret_size.high * relation.released_count / relation.pair_size.low
    return log_ratio(ratio.numerator, ratio.denominator, base=base)
