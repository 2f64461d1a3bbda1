"""On which side of zero a query lies at many points: by intervals, and exactly where it is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.ranges.boxes import array_intervals as outward

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from hartley.ranges.boxes.array_intervals import Pair
    from hartley.ranges.boxes.expression import Expression

    Clause = tuple[Any, ...]
    """(">=", e) for e >= 0, (">", e) for e > 0, ("and", ...), ("or", ...) or ("not", clause)."""
    Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class ExactColumn:
    """One exact number a point: the double next to it, and the number itself where it is needed."""

    doubles: NDArray[np.float64]
    """The nearest doubles."""
    number: Callable[[int], Fraction]
    """Return the exact number of a point."""


def nonnegative_at(
    expression: Expression, points: Mapping[str, ExactColumn]
) -> tuple[Flags, Flags]:
    """Tell for every point whether a query can be at least zero there, and whether below zero.

    Outward-rounded intervals decide nearly all points at once; exact rationals decide the others.
    Exact, save where a query with exp, log or sqrt is so near to zero that intervals do not
    decide: there both are possible. One pass, and rational arithmetic for each point near zero.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> tenths = ExactColumn(np.array([0.2, 0.3, 0.4]), lambda i: Fraction(i + 2, 10))
        >>> at_least, below = nonnegative_at(parse_expression("x - 3/10"), {"x": tenths})
        >>> at_least.tolist(), below.tolist()
        ([False, True, True], [True, False, False])
    """
    sides: dict[str, Pair] = {}
    for name in expression.names:
        nearest = points[name].doubles
        sides[name] = np.nextafter(nearest, -np.inf), np.nextafter(nearest, np.inf)
    enclosed: dict[int, Pair] = {}
    with np.errstate(all="ignore"):  # infinities and NaN are part of this arithmetic
        for node in expression.nodes():
            operands = [enclosed[id(part)] for part in node.parts]
            enclosed[id(node)] = outward.apply(node, operands, sides)
        low, high = outward.settle(enclosed[id(expression)])
    size = max((len(column.doubles) for column in points.values()), default=1)
    can_hold = ~np.broadcast_to(high < 0, size)
    can_fail = ~np.broadcast_to(low >= 0, size)
    for i in np.flatnonzero(can_hold & can_fail).tolist():
        try:
            value = expression.at({name: points[name].number(i) for name in expression.names})
        except OptionError:
            continue
        can_hold[i], can_fail[i] = value >= 0, value < 0
    return can_hold, can_fail


def truth_at(clause: Clause, points: Mapping[str, ExactColumn]) -> tuple[Flags, Flags]:
    """Tell for every point whether a condition can hold there, and whether it can fail.

    Args:
        clause: comparisons with zero, joined by and, or and not.
        points: the columns that it names.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> x = ExactColumn(np.array([0.0, 1.0, 2.0]), Fraction)
        >>> between = ("and", (">", parse_expression("x")), (">=", parse_expression("1 - x")))
        >>> truth_at(between, {"x": x})[0].tolist()
        [False, True, False]
    """
    word, *parts = clause
    if word == ">=":
        return nonnegative_at(parts[0], points)
    if word == ">":  # e > 0 unless -e >= 0
        at_most, above = nonnegative_at(-parts[0], points)
        return above, at_most
    answers = [truth_at(part, points) for part in parts]
    if word == "not":
        (can_hold, can_fail), *_ = answers
        return can_fail, can_hold
    every, some = (
        (np.logical_and, np.logical_or) if word == "and" else (np.logical_or, np.logical_and)
    )
    return (
        every.reduce([can_hold for can_hold, _ in answers]),
        some.reduce([can_fail for _, can_fail in answers]),
    )
