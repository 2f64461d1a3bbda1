"""Interval arithmetic in exact numbers, for one box at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.ranges.boxes import array_intervals as outward

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hartley.ranges.boxes.array_intervals import Pair
    from hartley.ranges.boxes.box import Interval
    from hartley.ranges.boxes.expression import Expression

    Ends = tuple[Fraction, Fraction]


def natural_range(expression: Expression, sides: Mapping[str, Interval]) -> Ends | None:
    """Return the ends of a query's range in a box, in exact numbers, or None if undefined.

    The natural interval extension (Moore 1966) without rounding: exact for linear queries and
    where every variable occurs once, a bound else; exp, log and sqrt are rounded outward. None
    where some operation may be undefined. Linear in the number of operations.

    Example:
        >>> from hartley.ranges.boxes.box import Interval
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> low, high = natural_range(parse_expression("x**2 / 3"), {"x": Interval(-1, 2)})
        >>> print(low, high)
        0 4/3
    """
    form = expression.linear()
    if form is not None:
        ends = [
            sorted((by * sides[name].low, by * sides[name].high)) for name, by in form[0].items()
        ]
        return sum((e[0] for e in ends), form[1]), sum((e[1] for e in ends), form[1])
    values: dict[int, Ends] = {}
    for node in expression.nodes():
        ends_of_node = _natural_step(node, [values[id(part)] for part in node.parts], sides)
        if ends_of_node is None:
            return None
        values[id(node)] = ends_of_node
    return values[id(expression)]


def natural_ranges(expression: Expression, sides: Mapping[str, Interval]) -> dict[int, Ends | None]:
    """Return the ends of the range of every part of a query, by its id; None where undefined.

    As ``natural_range``, without a closer look at linear parts.

    Example:
        >>> from hartley.ranges.boxes.box import Interval
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> square = parse_expression("x**2")
        >>> print(*natural_ranges(square, {"x": Interval(-1, 2)})[id(square)])
        0 4
    """
    values: dict[int, Ends | None] = {}
    for node in expression.nodes():
        parts = [values[id(part)] for part in node.parts]
        known = [part for part in parts if part is not None]
        defined = len(known) == len(parts)
        values[id(node)] = _natural_step(node, known, sides) if defined else None
    return values


def _natural_step(
    node: Expression, operands: list[Ends], sides: Mapping[str, Interval]
) -> Ends | None:
    operation = node.operation
    if not operands:
        if operation == "const":
            return node.arguments[0], node.arguments[0]
        return sides[node.arguments[0]].low, sides[node.arguments[0]].high
    if operation in _FUNCTIONS:
        return _monotone(operation, operands[0])
    if operation == "neg":
        return -operands[0][1], -operands[0][0]
    if operation in ("pow", "abs"):
        return natural_power(operands[0], node.arguments[1] if operation == "pow" else None)
    return _natural_pair(operation, operands[0], operands[1])


def natural_power(argument: Ends, exponent: int | None) -> Ends:
    """Return the range of a power, or of the absolute value where there is no exponent."""
    low, high = argument
    if exponent is not None and (exponent % 2 or exponent == 0):
        return low**exponent, high**exponent
    sizes = sorted((abs(low), abs(high)))
    least = Fraction(0) if low <= 0 <= high else sizes[0]
    return (least, sizes[1]) if exponent is None else (least**exponent, sizes[1] ** exponent)


def _natural_pair(operation: str, first: Ends, second: Ends) -> Ends | None:
    if operation in ("+", "-"):
        second = second if operation == "+" else (-second[1], -second[0])
        return first[0] + second[0], first[1] + second[1]
    if operation in ("min", "max"):
        choose = min if operation == "min" else max
        return choose(first[0], second[0]), choose(first[1], second[1])
    if operation == "/":
        if second[0] <= 0 <= second[1]:
            return None
        second = 1 / second[1], 1 / second[0]
    corners = [a * b for a in first for b in second]
    return min(corners), max(corners)


_FUNCTIONS: dict[str, Callable[[Pair], Pair]] = {
    "exp": outward.exponential,
    "log": outward.logarithm,
    "sqrt": outward.square_root,
}


def _monotone(operation: str, argument: Ends) -> Ends | None:
    """Enclose an increasing function, exactly where its value is plain to see."""
    if (operation == "log" and argument[0] <= 0) or (operation == "sqrt" and argument[0] < 0):
        return None
    ends = []
    for end, number in enumerate(argument):
        value = plain_value(operation, number)
        if value is None:
            with np.errstate(all="ignore"):
                enclosed = _FUNCTIONS[operation](outward.constant(number))
            if not np.isfinite(enclosed[end][0]):
                return None
            value = Fraction(float(enclosed[end][0]))
        ends.append(value)
    return ends[0], ends[1]


def plain_value(operation: str, number: Fraction) -> Fraction | None:
    """Return exp(0), log(1) and the roots of squares; None of what a rational does not hold."""
    if operation == "sqrt":
        root = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
        return root if root * root == number else None
    if operation == "exp":
        return Fraction(1) if number == 0 else None
    return Fraction(0) if number == 1 else None
