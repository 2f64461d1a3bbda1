"""Numbers in a question: linear sums of columns and constants, with exact coefficients."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.agent.questions.statement import shorten, unexpected
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.wording import EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.agent.questions.scope import Scope

MOST_BITS = 4000
"""The longest numerator or denominator of a number in a question."""
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class LinearExpression:
    """A constant plus coefficients times columns.

    A column that cancels out stays with coefficient 0: if it is missing, the number is missing too.
    """

    terms: tuple[tuple[str, Fraction], ...]
    constant: Fraction
    days: Fraction
    """The number of dates added up: 0 for a plain number, 1 for a date."""

    def plus(self, other: LinearExpression, times: Fraction = ONE) -> LinearExpression:
        """Return the sum of this and a multiple of another."""
        terms = self.terms
        if other.terms:
            added = dict(terms)
            for name, coefficient in other.terms:
                added[name] = _plus(added.get(name, ZERO), coefficient, times)
            terms = tuple(sorted(added.items()))
        return LinearExpression(
            terms,
            _plus(self.constant, other.constant, times),
            _plus(self.days, other.days, times),
        )

    def times(self, factor: Fraction) -> LinearExpression:
        """Return a multiple."""
        return LinearExpression((), ZERO, ZERO).plus(self, factor)


def _plus(number: Fraction, other: Fraction, times: Fraction) -> Fraction:
    """Return the sum of a number and a multiple of another; most of them are 0 or 1."""
    if not other:
        return number
    product = other if times == 1 else times * other
    return number + product if number else product


def day_number(text: str) -> int | None:
    """Return the days from 1970-01-01 to a date, None if the text is not a date.

    Example:
        >>> day_number("1970-01-31"), day_number("31.1.1970")
        (30, None)
    """
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return None
    return (day - EPOCH).days if day.isoformat() == text else None


def read_linear(scope: Scope, node: Any) -> LinearExpression:  # noqa: ANN401 - a part of a tree
    """Read a linear form: columns and constants with +, - and constant factors and divisors."""
    expression = READERS.get(type(node).__name__, _constant)(scope, node)
    return _within_reach(scope, node, expression)


def _inside(scope: Scope, node: Any) -> LinearExpression:  # noqa: ANN401 - a part of a tree
    return read_linear(scope, node.this)


def _negative(scope: Scope, node: Any) -> LinearExpression:  # noqa: ANN401 - a part of a tree
    return read_linear(scope, node.this).times(-ONE)


def _total(scope: Scope, node: Any) -> LinearExpression:  # noqa: ANN401 - a part of a tree
    return read_linear(scope, node.this).plus(read_linear(scope, node.expression))


def _difference(scope: Scope, node: Any) -> LinearExpression:  # noqa: ANN401 - a part of a tree
    return read_linear(scope, node.this).plus(read_linear(scope, node.expression), -ONE)


def _product(scope: Scope, node: Any) -> LinearExpression:  # noqa: ANN401 - a part of a tree
    first, second = read_linear(scope, node.this), read_linear(scope, node.expression)
    if second.terms:
        first, second = second, first
    if second.terms or second.days:
        raise scope.refusal(
            f"The product '{scope.spelled(node)}' multiplies two columns or dates",
            "multiply a column by a constant, for example 2 * height",
            node,
        )
    return first.times(second.constant)


def _quotient(scope: Scope, node: Any) -> LinearExpression:  # noqa: ANN401 - a part of a tree
    divisor = read_linear(scope, node.expression)
    if divisor.terms or divisor.days or not divisor.constant:
        raise scope.refusal(
            f"The quotient '{scope.spelled(node)}' does not divide by a constant other than zero",
            "divide by a number, for example height / 100",
            node,
        )
    return read_linear(scope, node.this).times(1 / divisor.constant)


def _within_reach(scope: Scope, node: Any, form: LinearExpression) -> LinearExpression:  # noqa: ANN401 - a part of a tree
    """Raise an error for numbers so long that computing with them would take too long."""
    for number in [form.constant, *[coefficient for _, coefficient in form.terms]]:
        longest = max(number.numerator.bit_length(), number.denominator.bit_length())
        if longest > MOST_BITS:
            raise scope.refusal("A number is too large or too small", "write smaller numbers", node)
    return form


def _column(scope: Scope, node: Any) -> LinearExpression:  # noqa: ANN401 - a part of a tree
    column = scope.column(node)
    if not column.numeric:
        raise scope.refusal(
            f"The column '{column.name}' holds categories, not numbers",
            f"use COUNT, {column.name} = ... in WHERE, or GROUP BY {column.name}",
            node,
        )
    return LinearExpression(((column.name, ONE),), ZERO, ONE if column.date else ZERO)


def _constant(scope: Scope, node: Any) -> LinearExpression:  # noqa: ANN401 - a part of a tree
    from sqlglot import exp

    if isinstance(node, exp.Null):
        raise scope.refusal(
            "A comparison or sum with NULL is never TRUE", "write IS NULL or IS NOT NULL", node
        )
    if isinstance(node, exp.Literal) and not node.is_string:
        try:
            return LinearExpression((), parse_number(node.name, name="the number"), ZERO)
        except OptionError:
            raise scope.refusal(
                f"The number '{shorten(node.name, 20)}' is too large or too small",
                "write a decimal",
                node,
            ) from None
    day = read_day(node)
    if day is None:
        if isinstance(node, (exp.Literal, exp.Boolean)):
            raise scope.refusal(
                f"{scope.spelled(node)} is not a number",
                "compare a numeric column with a number, a date with DATE '2020-01-31'",
                node,
            )
        raise scope.refuse(node)
    return LinearExpression((), Fraction(day), ONE)


READERS: dict[str, Callable[[Scope, Any], LinearExpression]] = {
    "Paren": _inside,
    "Neg": _negative,
    "Add": _total,
    "Sub": _difference,
    "Mul": _product,
    "Div": _quotient,
    "Column": _column,
}


def read_day(node: Any) -> int | None:  # noqa: ANN401 - a part of a tree
    """Return the days since 1970-01-01 of DATE '...' or '...', None if it is not a date."""
    from sqlglot import exp

    if isinstance(node, exp.Cast) and not unexpected(node, "this", "to", "_type"):
        if not node.to.is_type("date"):
            return None
        node = node.this
    if isinstance(node, exp.Literal) and node.is_string:
        return day_number(node.name)
    return None
