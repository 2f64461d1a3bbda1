"""Entropy of the secret, before and after the release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.exact import log_ratio
from hartley.measures import continuous
from hartley.ranges.boxes.cut_box import CutBox

if TYPE_CHECKING:
    from hartley.ranges.relations.relation import Relation


def hartley_entropy(relation: Relation | CutBox, *, base: float = 2) -> float:
    r"""Return how uncertain the secret is before anything is released.

    .. math:: H_0(X) = \log_2 |[X]|

    The number of values that the secret can take (Hartley 1928; Farokhi 2019, eq. 1). The other
    side's entropy is that of ``relation.swap()``, the joint one that of ``relation.joint()``.
    Exact. Constant time once the relation is counted.
    Of a ``CutBox`` volumes are measured instead, see ``measures.continuous``.

    Example:
        >>> from hartley import Relation
        >>> hartley_entropy(Relation.from_pairs([(x, x % 2) for x in range(8)]))
        3.0
    """
    if isinstance(relation, CutBox):
        return continuous.hartley_entropy(relation, base=base)
    return log_ratio(relation.summary.secrets, base=base)


def conditional_entropy(relation: Relation | CutBox, *, base: float = 2) -> float:
    r"""Return how uncertain the secret is after the release, in the best case for privacy.

    .. math:: H_0(X|Y) = \max_y \log_2 |[X|y]|

    The released value that leaves most secrets possible (Farokhi 2019, eq. 2, with the maximum
    that discrete ranges need). Exact. Linear in the number of released values.
    Of a ``CutBox`` volumes are measured instead, see ``measures.continuous``.

    Example:
        >>> from hartley import Relation
        >>> conditional_entropy(Relation.from_pairs([(0, 0), (1, 0), (2, 1)]))
        1.0
    """
    if isinstance(relation, CutBox):
        return continuous.conditional_entropy(relation, base=base)
    return log_ratio(int(relation.summary.secret_sizes.max()), base=base)


def relative_disarray(relation: Relation | CutBox, *, base: float = 2) -> float:
    r"""Return how uncertain the secret is after the release, in the worst case for privacy.

    .. math:: d_0(X|Y) = \min_y \log_2 |[X|y]|

    The released value that leaves fewest secrets possible (Farokhi 2019, eq. 5). Zero means that
    some released value gives the secret away. Exact. Linear in the number of released values.
    Of a ``CutBox`` volumes are measured instead, see ``measures.continuous``.

    Example:
        >>> from hartley import Relation
        >>> relative_disarray(Relation.from_pairs([(0, 0), (1, 0), (2, 1)]))
        0.0
    """
    if isinstance(relation, CutBox):
        return continuous.relative_disarray(relation, base=base)
    return log_ratio(int(relation.summary.secret_sizes.min()), base=base)
