"""Whether a query rises or falls along one variable in a whole box, in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.ranges.boxes.exact_intervals import natural_power, natural_ranges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.ranges.boxes.box import Interval
    from hartley.ranges.boxes.expression import Expression

    Ends = tuple[Fraction | float, Fraction | float]
    """Both ends; a float only where it is infinite, as the slope of a root is at zero."""
    Sides = Mapping[str, Interval]

ZERO = (Fraction(0), Fraction(0))


def slope_signs(expression: Expression, sides: Sides) -> dict[str, int]:
    """Return for every variable 1 where a query never falls along it, -1 where it never rises.

    And 0 where that is not known. The slopes are enclosed by interval arithmetic without rounding
    (Moore 1966). At a kink of abs, min or max the slopes of both sides are taken together: a
    continuous function whose slopes are nowhere negative does not fall. A bound: 0 says nothing.
    Grows as the number of operations times that of variables.

    Example:
        >>> from hartley.ranges.boxes.box import Interval
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> unit = {"x": Interval(0, 1), "y": Interval(1, 2)}
        >>> slope_signs(parse_expression("x*exp(y) - x**2/y"), unit)
        {'x': 1, 'y': 1}
    """
    signs = {}
    for name, ends in slope_ranges(expression, sides).items():
        signs[name] = 0 if ends is None else 1 if ends[0] >= 0 else -1 if ends[1] <= 0 else 0
    return signs


def slope_ranges(expression: Expression, sides: Sides) -> dict[str, Ends | None]:
    """Return bounds on the slope of a query along every variable; None where there are none.

    Example:
        >>> from hartley.ranges.boxes.box import Interval
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> low, high = slope_ranges(parse_expression("x**2"), {"x": Interval(1, 3)})["x"]
        >>> print(low, high)
        2 6
    """
    values, nodes = natural_ranges(expression, sides), expression.nodes()
    ranges = {}
    for name in expression.names:
        slopes: dict[int, Ends | None] = {}
        for node in nodes:
            slopes[id(node)] = _slope(node, [slopes[id(part)] for part in node.parts], name, values)
        ranges[name] = slopes[id(expression)]
    return ranges


def _slope(
    node: Expression, slopes: list[Ends | None], name: str, ranges: Mapping[int, Ends | None]
) -> Ends | None:
    """Enclose the derivative of one operation; None where it has no bounds."""
    operation = node.operation
    if operation in ("const", "var"):
        is_name = operation == "var" and node.arguments[0] == name
        return (Fraction(1), Fraction(1)) if is_name else ZERO
    if all(slope == ZERO for slope in slopes):
        return ZERO
    known = [slope for slope in slopes if slope is not None]
    values = [value for value in (ranges[id(part)] for part in node.parts) if value is not None]
    if len(known) < len(slopes) or len(values) < len(slopes):
        return None
    if len(known) == 2:
        return _pair_slope(operation, known, values)
    factor = _outer_slope(node, values[0], ranges[id(node)])
    return None if factor is None else _times(factor, known[0])


def _pair_slope(operation: str, slopes: list[Ends], values: Sequence[Ends]) -> Ends | None:
    """Enclose the derivative of an operation of two parts."""
    first, second = slopes
    if operation in ("min", "max"):
        return min(first[0], second[0]), max(first[1], second[1])
    if operation == "/" and values[1][0] <= 0 <= values[1][1]:
        return None
    if operation == "/" and second == ZERO:  # f' / g is tighter than f' g / g squared
        return _times(first, (1 / values[1][1], 1 / values[1][0]))
    if operation in ("*", "/"):  # f' g and f g'; of a quotient both over g squared
        first, second = _times(first, values[1]), _times(second, values[0])
    sum_of_both = (first[0] + second[0], first[1] + second[1])
    difference = (first[0] - second[1], first[1] - second[0])
    if operation != "/":
        return difference if operation == "-" else sum_of_both
    squares = sorted(1 / end**2 for end in values[1])
    return _times(difference, (squares[0], squares[1]))


def _outer_slope(node: Expression, value: Ends, itself: Ends | None) -> Ends | None:
    """Enclose the derivative of a function of one variable over the values of its argument."""
    operation = node.operation
    if operation in ("neg", "abs"):
        rises, falls = operation == "abs" and value[0] >= 0, operation == "neg" or value[1] <= 0
        return Fraction(1 if rises else -1), Fraction(-1 if falls else 1)
    if operation == "pow":
        power = node.arguments[1]
        if power == 0:
            return ZERO
        low, high = natural_power((Fraction(value[0]), Fraction(value[1])), power - 1)
        return power * low, power * high
    if operation == "log":
        return (1 / value[1], 1 / value[0]) if value[0] > 0 else None
    # The slopes of exp and sqrt follow from their own values.
    if itself is None or operation == "exp" or itself[1] <= 0:
        return itself if operation == "exp" else None
    return 1 / (2 * itself[1]), 1 / (2 * itself[0]) if itself[0] > 0 else math.inf


def _times(first: Ends, second: Ends) -> Ends:
    # A slope of zero times one without bound is zero: the infinite end itself is never reached.
    corners = [a * b if a and b else Fraction(0) for a in first for b in second]
    return min(corners), max(corners)
