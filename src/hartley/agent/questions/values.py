"""Values in a question as codes of a column."""

from __future__ import annotations

import difflib
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.agent.questions.linear import read_linear
from hartley.wording import as_date, decimal_text, first_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.agent.questions.scope import Scope
    from hartley.ranges.schema.schema import Column

SHOWN_VALUES = 8
PLACES = 12
"""A number with more decimals than this is written as a fraction."""


def strip(node: Any) -> Any:  # noqa: ANN401 - a part of a tree
    """Remove parentheses around a part of the tree."""
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        node = node.this
    return node


def numeric_codes(
    scope: Scope,
    node: Any,  # noqa: ANN401 - a part of a tree
    column: Column,
    sign: str,
    bound: Fraction,
) -> list[tuple[int, int]]:
    """Return the codes of a numeric column that compare with a number, in closed ranges."""
    assert column.low is not None
    assert column.step is not None
    low, step, last = column.low, column.step, column.points - 1
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


def _never_equal(scope: Scope, node: Any, column: Column, code: Fraction) -> Exception:  # noqa: ANN401 - a tree
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
        >>> from hartley.ranges.schema.schema import Column
        >>> low, high, step = Fraction(100), Fraction(250), Fraction(1, 2)
        >>> height = Column("h", "private", low=low, high=high, step=step)
        >>> point(height, 3)
        '101.5'
    """
    assert column.low is not None
    assert column.step is not None
    value = column.low + code * column.step
    return str(as_date(value)) if column.date else decimal_text(value, PLACES)


def category_codes(  # noqa: PLR0913, PLR0917 - the parts of one comparison
    scope: Scope,
    node: Any,  # noqa: ANN401 - a part of a tree
    column: Column,
    sign: str,
    compare: Callable[[Any, Any], bool],
    constant: Any,  # noqa: ANN401 - a part of a tree
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


def _category_constant(scope: Scope, node: Any, constant: Any) -> str | int | Fraction:  # noqa: ANN401 - trees
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


def _undeclared(scope: Scope, node: Any, column: Column, value: object) -> Exception:  # noqa: ANN401 - a tree
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
    return first_of([quoted(value) for value in column.values or ()], SHOWN_VALUES)


def quoted(value: str | int) -> str:
    """Write a declared value as SQL.

    Example:
        >>> quoted("it's"), quoted(3), quoted(True)
        ("'it''s'", '3', 'TRUE')
    """
    if isinstance(value, bool):
        return str(value).upper()
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
