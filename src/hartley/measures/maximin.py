"""Maximin information: what both sides always agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.exact import log_ratio
from hartley.measures import continuous
from hartley.ranges.boxes.cut_box import CutBox

if TYPE_CHECKING:
    from hartley.ranges.relations.relation import Relation


def maximin_information(relation: Relation | CutBox, *, base: float = 2) -> float:
    r"""Return the information that both sides can always agree on.

    .. math:: I_\star(X;Y) = \log_2 |[X|Y]_\star|

    The number of classes of the overlap partition (Nair 2013; Farokhi 2019, eq. 9). It is the
    largest attribute of the secret that the released value always gives away at the first guess
    (Farokhi and Ding 2021, Proposition 6). Symmetric. Exact. Near-linear in the number of
    distinct pairs.
    Of a ``CutBox`` volumes are measured instead, see ``measures.continuous``.

    Example:
        >>> from hartley import Relation
        >>> maximin_information(Relation.from_pairs([(1, "a"), (2, "a"), (3, "b")]))
        1.0
    """
    if isinstance(relation, CutBox):
        return continuous.maximin_information(relation, base=base)
    return log_ratio(relation.summary.classes, base=base)
