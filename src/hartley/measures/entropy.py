"""Entropy of the secret, before and after the release."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hartley.ranges.joint_range import JointRange


def hartley_entropy(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how uncertain the secret is before anything is released.

    .. math:: H_0(X) = \log_2 |[X]|

    The number of values that the secret can take (Hartley 1928; Farokhi 2019, eq. 1). The other
    side's entropy is that of ``relation.swap()``, the joint one that of ``relation.joint()``. Of a
    ``CutBox`` it is the logarithm of the box's volume. Exact. Constant time once the relation is
    counted.

    Example:
        >>> from hartley import Relation
        >>> hartley_entropy(Relation.from_pairs([(x, x % 2) for x in range(8)]))
        3.0
        >>> from hartley import Box, CutBox
        >>> hartley_entropy(CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, 0, 2]))
        4.0
    """
    return relation.secret_size.log_from_below(base)


def conditional_entropy(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how uncertain the secret is after the release, in the best case for privacy.

    .. math:: H_0(X|Y) = \max_y \log_2 |[X|y]|

    The released value that leaves most secrets possible (Farokhi 2019, eq. 2, with the maximum
    that discrete ranges need). Exact; of a ``CutBox`` exact where the volumes are, else a bound:
    never above the truth. Linear in the number of released values, and costs the volumes of cells.

    Example:
        >>> from hartley import Relation
        >>> conditional_entropy(Relation.from_pairs([(0, 0), (1, 0), (2, 1)]))
        1.0
        >>> from hartley import Box, CutBox
        >>> conditional_entropy(CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, 0, 2]))
        3.0
    """
    return relation.largest_conditional.log_from_below(base)


def relative_disarray(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how uncertain the secret is after the release, in the worst case for privacy.

    .. math:: d_0(X|Y) = \min_y \log_2 |[X|y]|

    The released value that leaves fewest secrets possible (Farokhi 2019, eq. 5). Zero means that
    some released value reveals the secret. For a ``CutBox`` it is minus infinity if some
    output leaves no volume. Exact; of a ``CutBox`` exact where the volumes are, else a bound: never
    above the truth. Linear in the number of released values, and costs the volumes of cells.

    Example:
        >>> from hartley import Relation
        >>> relative_disarray(Relation.from_pairs([(0, 0), (1, 0), (2, 1)]))
        0.0
        >>> from hartley import Box, CutBox
        >>> relative_disarray(CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, -1, 0, 1, 2]))
        1.0
    """
    return relation.smallest_conditional.log_from_below(base)
