"""On which side of zero a query lies at many points: by intervals, and exactly where it is near."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.ranges.boxes import array_intervals as outward
from hartley.ranges.boxes.exact_intervals import plain_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from hartley.ranges.boxes.array_intervals import Pair
    from hartley.ranges.boxes.expression import Expression

    Clause = tuple[Any, ...]
    """(">=", e) for e >= 0, (">", e) for e > 0, ("and", ...), ("or", ...) or ("not", clause)."""
    Flags = NDArray[np.bool_]
    Number = Any
    """A Fraction, or a ball of flint that holds a number."""

PRECISIONS = (64, 256, 1024, 4096)
"""In how many binary digits a value is enclosed, one after the other."""


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

    Outward-rounded intervals decide nearly all points at once; ``sign_at`` decides the others.
    Exact, save where a query with exp, log or sqrt is so near to zero that not even that decides,
    or is not defined: there both are possible. One pass, and some arithmetic for each point near
    zero.

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
            sign = sign_at(expression, {n: points[n].number(i) for n in expression.names})
        except OptionError:
            continue
        if sign is not None:
            can_hold[i], can_fail[i] = sign >= 0, sign < 0
    return can_hold, can_fail


def sign_at(expression: Expression, values: Mapping[str, Fraction]) -> int | None:
    """Return -1, 0 or 1: whether a query is below zero, zero or above it at one point.

    Rational parts are computed exactly, exp(0), log(1) and the roots of squares among them; all
    other values of exp, log and sqrt are enclosed by balls of up to 4,096 binary digits. None
    where zero lies in the smallest of them, as for exp(log(3)) - 3. A query that has no value at
    the point is refused.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> ratio = parse_expression("exp(x) - 1")
        >>> sign_at(ratio, {"x": Fraction(1, 10**400)}), sign_at(ratio, {"x": Fraction(0)})
        (1, 0)
    """
    import flint  # on use: few queries need it

    for bits in PRECISIONS:
        with flint.ctx.workprec(bits):
            value = _enclosed(expression, values)
            if isinstance(value, Fraction) or not value.contains(0):
                return int(value > 0) - int(value < 0)
    return None


def undecided(expression: Expression) -> OptionError:
    """Return the error for a query whose sign ``sign_at`` does not decide."""
    return OptionError(
        f"At some point '{expression}' is so near to zero that its side cannot be decided",
        hint="write it without exp, log and sqrt that undo each other, such as exp(log(x))",
    )


def _enclosed(expression: Expression, values: Mapping[str, Fraction]) -> Number:
    """Return the value at a point: a rational, or else a ball that holds it."""
    known: dict[int, Number] = {}
    for node in expression.nodes():
        operands = [known[id(part)] for part in node.parts]
        known[id(node)] = _value(node, operands, values)
    return known[id(expression)]


def _value(node: Expression, operands: list[Number], values: Mapping[str, Fraction]) -> Number:
    operation = node.operation
    if not operands:
        return node.arguments[0] if operation == "const" else values[node.arguments[0]]
    if operation in ("exp", "log", "sqrt"):
        return _function_value(operation, operands[0], node)
    if operation == "pow":
        return operands[0] ** node.arguments[1]
    if operation == "*" and 0 in [part for part in operands if isinstance(part, Fraction)]:
        return Fraction(0)
    if operation == "/" and isinstance(operands[1], Fraction) and not operands[1]:
        raise _no_value(node)
    if not all(isinstance(part, Fraction) for part in operands):
        operands = [_ball(part) for part in operands]
    return _ARITHMETIC[operation](*operands)


def _function_value(operation: str, argument: Number, node: Expression) -> Number:
    if (operation == "log" and argument <= 0) or (operation == "sqrt" and argument < 0):
        raise _no_value(node)
    exact = plain_value(operation, argument) if isinstance(argument, Fraction) else None
    return getattr(_ball(argument), operation)() if exact is None else exact


def _ball(number: Number) -> Number:
    import flint

    if not isinstance(number, Fraction):
        return number
    return flint.arb(flint.fmpq(number.numerator, number.denominator))


def _no_value(node: Expression) -> OptionError:
    return OptionError(
        f"'{node}' has no value at some point", hint="choose ranges on which it has one"
    )


def _extreme(choose: Callable[..., Fraction], method: str) -> Callable[[Number, Number], Number]:
    def apply(first: Number, second: Number) -> Number:
        if isinstance(first, Fraction):
            return choose(first, second)
        return getattr(first, method)(second)

    return apply


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "min": _extreme(min, "min"),
    "max": _extreme(max, "max"),
}


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
