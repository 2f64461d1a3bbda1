"""Maximin information: what both sides always agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.exact import log_ratio

if TYPE_CHECKING:
    from hartley.ranges.joint_range import JointRange


def maximin_information(relation: JointRange, *, base: float = 2) -> float:
    r"""Return the information that both sides can always agree on.

    .. math:: I_\star(X;Y) = \log_2 |[X|Y]_\star|

    The number of classes of the overlap partition (Nair 2013; Farokhi 2019, eq. 9). It is the
    largest attribute of the secret that the released value always gives away at the first guess
    (Farokhi and Ding 2021, Proposition 6). Symmetric. The cells of a ``CutBox`` are disjoint, so
    each of its outputs is a class. Exact; a bound never below the truth where it is undecided
    whether the query of a ``CutBox`` reaches a cell. Near-linear in the number of distinct pairs.

    Example:
        >>> from hartley import Relation
        >>> maximin_information(Relation.from_pairs([(1, "a"), (2, "a"), (3, "b")]))
        1.0
        >>> from hartley import Box, CutBox
        >>> maximin_information(CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, -1, 0, 1, 2]))
        2.0
    """
    return log_ratio(relation.overlap_classes, base=base)
