"""Constants and linear terms, exactly."""

from __future__ import annotations

import datetime as dt
import difflib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.text import EPOCH, as_date, decimal_text, join_first
from hartley.trusted.questions.parsing import shorten, unexpected

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.schema.schema import Column
    from hartley.trusted.questions.parsing import Node, Scope


# --- linear ---------------------------------------------------------------------------------------
# Numbers in a question: linear sums of columns and constants, with exact coefficients.

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


def read_linear(scope: Scope, node: Node) -> LinearExpression:
    """Read a linear form: columns and constants with +, - and constant factors and divisors."""
    form = READERS.get(type(node).__name__, _constant)(scope, node)
    for number in [form.constant, *[coefficient for _, coefficient in form.terms]]:
        longest = max(number.numerator.bit_length(), number.denominator.bit_length())
        if longest > MOST_BITS:  # computing with them would take too long
            raise scope.refusal("A number is too large or too small", "write smaller numbers", node)
    return form


def _total(scope: Scope, node: Node, times: Fraction) -> LinearExpression:
    return read_linear(scope, node.this).plus(read_linear(scope, node.expression), times)


def _product(scope: Scope, node: Node) -> LinearExpression:
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


def _quotient(scope: Scope, node: Node) -> LinearExpression:
    divisor = read_linear(scope, node.expression)
    if divisor.terms or divisor.days or not divisor.constant:
        raise scope.refusal(
            f"The quotient '{scope.spelled(node)}' does not divide by a constant other than zero",
            "divide by a number, for example height / 100",
            node,
        )
    return read_linear(scope, node.this).times(1 / divisor.constant)


def _column(scope: Scope, node: Node) -> LinearExpression:
    column = scope.column(node)
    if not column.numeric:
        raise scope.refusal(
            f"The column '{column.name}' holds categories, not numbers",
            f"use COUNT, {column.name} = ... in WHERE, or GROUP BY {column.name}",
            node,
        )
    return LinearExpression(((column.name, ONE),), ZERO, ONE if column.date else ZERO)


def _constant(scope: Scope, node: Node) -> LinearExpression:
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
    "Paren": lambda scope, node: read_linear(scope, node.this),
    "Neg": lambda scope, node: read_linear(scope, node.this).times(-ONE),
    "Add": lambda scope, node: _total(scope, node, ONE),
    "Sub": lambda scope, node: _total(scope, node, -ONE),
    "Mul": _product,
    "Div": _quotient,
    "Column": _column,
}


def read_day(node: Node) -> int | None:
    """Return the days since 1970-01-01 of DATE '...' or '...', None if it is not a date."""
    from sqlglot import exp

    if isinstance(node, exp.Cast) and not unexpected(node, "this", "to", "_type"):
        if not node.to.is_type("date"):
            return None
        node = node.this
    if isinstance(node, exp.Literal) and node.is_string:
        return day_number(node.name)
    return None


# --- values ---------------------------------------------------------------------------------------
# Values in a question as codes of a column.

PLACES = 12
"""A number with more decimals than this is written as a fraction."""


def strip(node: Node) -> Node:
    """Remove parentheses around a part of the tree."""
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        node = node.this
    return node


def grid_of(column: Column) -> tuple[Fraction, Fraction]:
    """Return the smallest value of a numeric column and the step between its values."""
    assert column.low is not None
    assert column.step is not None
    return column.low, column.step


def numeric_codes(
    scope: Scope, node: Node, column: Column, sign: str, bound: Fraction
) -> list[tuple[int, int]]:
    """Return the codes of a numeric column that compare with a number, in closed ranges."""
    (low, step), last = grid_of(column), column.points - 1
    # The code of the bound is (bound - low) / step, here as a quotient of two integers.
    above = bound.numerator * low.denominator - low.numerator * bound.denominator
    whole, unit = above * step.denominator, bound.denominator * low.denominator * step.numerator
    floor, ceil = whole // unit, -(-whole // unit)
    if sign in ("EQ", "NEQ"):
        if floor != ceil or not 0 <= floor <= last:
            raise _never_equal(scope, node, column, Fraction(whole, unit))
        return [(floor, floor)] if sign == "EQ" else [(0, floor - 1), (floor + 1, last)]
    if sign == "LT":
        return [(0, ceil - 1)]
    if sign == "LTE":
        return [(0, floor)]
    return [(floor + 1 if sign == "GT" else ceil, last)]


def _never_equal(scope: Scope, node: Node, column: Column, code: Fraction) -> Exception:
    last = column.points - 1
    ends = f"{point(column, 0)} to {point(column, last)}"
    if not 0 <= code <= last:
        hint = f"its range is {ends}, and values outside count as the nearest end"
    else:
        below = math.floor(code)
        hint = (
            f"its nearest values are {point(column, below)} and {point(column, below + 1)}; use "
            "BETWEEN for a range"
        )
    return scope.refusal(
        f"'{scope.spelled(node)}' asks for a value that {column.name} never has", hint, node
    )


def point(column: Column, code: int) -> str:
    """Write the value that a code of a numeric column means.

    Example:
        >>> from hartley.schema.schema import Column
        >>> low, high, step = Fraction(100), Fraction(250), Fraction(1, 2)
        >>> height = Column("h", "private", low=low, high=high, step=step)
        >>> point(height, 3)
        '101.5'
    """
    low, step = grid_of(column)
    value = low + code * step
    return str(as_date(value)) if column.date else decimal_text(value, PLACES)


def category_codes(  # noqa: PLR0913, PLR0917 - the parts of one comparison
    scope: Scope,
    node: Node,
    column: Column,
    sign: str,
    compare: Callable[[Any, Any], bool],
    constant: Node,
) -> list[tuple[int, int]]:
    """Return the codes of a categorical column that compare with a value, in closed ranges."""
    value = _category_constant(scope, node, constant)
    assert column.values is not None
    if sign in ("EQ", "NEQ"):
        same = [i for i, known in enumerate(column.values) if _alike(known, value)]
        if not same:
            raise _undeclared(scope, node, column, value)
        codes = same if sign == "EQ" else [i for i in range(column.points) if i not in same]
        return [(i, i) for i in codes]
    numbers = all(isinstance(known, int) and not isinstance(known, bool) for known in column.values)
    if not numbers or column.other or not isinstance(value, Fraction):
        raise scope.refusal(
            f"'{scope.spelled(node)}' compares categories by order",
            f"list the values: {column.name} IN ({_first_values(column)})",
            node,
        )
    return [(i, i) for i, known in enumerate(column.values) if compare(known, value)]


def _category_constant(scope: Scope, node: Node, constant: Node) -> str | int | Fraction:
    from sqlglot import exp

    if isinstance(constant, exp.Literal) and constant.is_string:
        return str(constant.name)
    if isinstance(constant, exp.Boolean):
        return bool(constant.this)
    if isinstance(constant, exp.Column):
        quoted = "; use single quotes for text" if constant.this.args.get("quoted") else ""
        raise scope.refusal(
            f"'{scope.spelled(node)}' compares columns with each other",
            f"compare one column with constants{quoted}",
            node,
        )
    expression = read_linear(scope, constant)
    if expression.terms or expression.days:
        raise scope.refusal(
            f"'{scope.spelled(node)}' compares categories with a computed value",
            "compare the column with one of its values",
            node,
        )
    return expression.constant


def _alike(known: str | int, value: str | int | Fraction) -> bool:
    """Compare without mixing types: 1, TRUE and '1' are three values."""
    if isinstance(known, (str, bool)) or isinstance(value, (str, bool)):
        return type(known) is type(value) and known == value
    return known == value


def _undeclared(scope: Scope, node: Node, column: Column, value: object) -> Exception:
    assert column.values is not None
    names = {str(known).casefold(): known for known in column.values}
    close = difflib.get_close_matches(str(value).casefold()[:200], names, n=1)
    guess = f"did you mean {quoted(names[close[0]])}? " if close else ""
    rest = (
        f"; every other value together is {column.name} NOT IN (all of them)"
        if column.other
        else ""
    )
    return scope.refusal(
        f"'{scope.spelled(node)}' asks for a value that the schema does not declare for "
        f"{column.name}",
        f"{guess}the values are {_first_values(column)}{rest}",
        node,
    )


def _first_values(column: Column) -> str:
    return join_first([quoted(value) for value in column.values or ()], 8)


def quoted(value: str | int) -> str:
    """Write a declared value as SQL.

    Example:
        >>> quoted("it's"), quoted(3), quoted(True)
        ("'it''s'", '3', 'TRUE')
    """
    if isinstance(value, bool):
        return str(value).upper()
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
