"""Entropy of the secret, before and after the release."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.exact import log_ratio, parse_number
from hartley.ranges.boxes.box import Box, Interval

if TYPE_CHECKING:
    from hartley.ranges.boxes.box import IntervalUnion
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


def covering_number(reached: Interval | IntervalUnion | Box, epsilon: object) -> int:
    r"""Return the fewest sets of diameter 2 epsilon whose union holds a range.

    .. math:: N_\varepsilon([X])

    Farokhi 2019, Remark II.1, in the largest difference of coordinates. Of intervals by covering
    from the left, of a box the product over its sides: points that are more than 2 epsilon apart
    need a set each. Exact. Linear in the number of intervals or sides.

    Example:
        >>> from hartley import Box, Interval
        >>> covering_number(Interval(0, 1), "0.3"), covering_number(Box.cube(0, 1, size=2), "0.3")
        (2, 4)
    """
    width = 2 * parse_number(epsilon, name="epsilon")
    if width <= 0:
        raise OptionError("The epsilon is not positive", hint="write for example '0.5'")
    if isinstance(reached, Box):
        lengths = (side.length for side in reached.sides.values())
        return math.prod(max(1, math.ceil(length / width)) for length in lengths)
    parts = (reached,) if isinstance(reached, Interval) else reached.parts
    number, covered = 0, None
    for part in parts:
        if covered is not None and part.high <= covered:
            continue  # closed sets hold their ends
        start = part.low if covered is None else max(part.low, covered)
        needed = max(1, math.ceil((part.high - start) / width))
        number, covered = number + needed, start + needed * width
    return number


def epsilon_entropy(
    reached: Interval | IntervalUnion | Box, epsilon: object, *, base: float = 2
) -> float:
    r"""Return the logarithm of how many sets of diameter 2 epsilon cover a range.

    .. math:: h_\varepsilon(X) = \log_2 N_\varepsilon([X]), \qquad
        h_0(X) \le h_\varepsilon(X) + n \log_2 (2 \varepsilon)

    Farokhi 2019, Remark II.1, corrected: only the upper inequality holds. The lower one, that h_0
    is at least h_eps + n log eps, fails for [0, 1] and epsilon = 2, where one set suffices and
    0 < log 2. Exact. Linear in the number of intervals or sides.

    Example:
        >>> from hartley import Box
        >>> epsilon_entropy(Box.cube(0, 1, size=2), "1/8")
        4.0
    """
    return log_ratio(covering_number(reached, epsilon), base=base)
