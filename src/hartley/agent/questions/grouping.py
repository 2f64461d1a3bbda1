"""GROUP BY: the groups that the schema declares, never those that happen to be in the data.

A column stands for its declared values, in their order. A numeric column may be put into bins of
one width, `BIN(age, 10)` or `FLOOR(age / 10)`: bin j holds the values from j times the width up to,
but not including, the next. BIN shows where a bin begins, FLOOR shows j. Rows without a value, and
rows with an undeclared value if the schema allows such, are groups of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.agent.questions.condition import absent, passing
from hartley.agent.questions.linear import read_linear
from hartley.agent.questions.selection import Key
from hartley.agent.questions.statement import unexpected
from hartley.agent.questions.values import PLACES, point, strip
from hartley.wording import as_date, decimal_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from hartley.agent.questions.batch import Condition
    from hartley.agent.questions.scope import Scope
    from hartley.ranges.schema.schema import Column

MOST_GROUPS = 1000
"""The largest number of groups of one question."""
MISSING = Key(None, "(missing)")
OTHER = Key(None, "(other)")


@dataclass(frozen=True)
class Grouping:
    """One part of a GROUP BY: a column, or its bins."""

    column: Column
    width: Fraction | None = None
    """The width of the bins; None if every value is a group."""
    numbered: bool = False
    """Whether a bin is shown as its number (FLOOR) instead of where it begins (BIN)."""

    @property
    def size(self) -> int:
        """A bound on the number of groups; cheap, so that too many are refused early."""
        if self.width is None:
            return self.column.size
        first, last = self._bins()
        return min(last - first + 1, self.column.points) + self.column.nullable

    def groups(self) -> Iterator[tuple[Key, Condition]]:
        """List the keys and the rows of each."""
        yield from self._values() if self.width is None else self._binned(self.width)
        if self.column.nullable:
            yield MISSING, absent(self.column)

    def _values(self) -> Iterator[tuple[Key, Condition]]:
        column = self.column
        for code in range(column.points):
            if column.values is None:
                assert column.low is not None
                assert column.step is not None
                value = column.low + code * column.step
                key = Key(as_date(value) if column.date else value, point(column, code))
            elif code < len(column.values):
                key = Key(column.values[code], str(column.values[code]))
            else:
                key = OTHER
            yield key, passing(column, [(code, code)])

    def _bins(self) -> tuple[int, int]:
        column = self.column
        assert self.width is not None
        assert column.low is not None
        assert column.step is not None
        top = column.low + (column.points - 1) * column.step
        return math.floor(column.low / self.width), math.floor(top / self.width)

    def _binned(self, width: Fraction) -> Iterator[tuple[Key, Condition]]:
        column = self.column
        assert column.low is not None
        assert column.step is not None
        code = 0
        while code < column.points:
            number = math.floor((column.low + code * column.step) / width)
            after = math.ceil(((number + 1) * width - column.low) / column.step)
            yield self._bin_key(number, width), passing(column, [(code, after - 1)])
            code = after

    def _bin_key(self, number: int, width: Fraction) -> Key:
        if self.numbered:
            return Key(number, str(number))
        begin = number * width
        if self.column.date:
            return Key(as_date(begin), str(as_date(begin)))
        return Key(begin, decimal_text(begin, PLACES))


def read_grouping(scope: Scope, node: Any) -> Grouping:  # noqa: ANN401 - a part of a tree
    """Read one part of a GROUP BY, or refuse it."""
    from sqlglot import exp

    node = strip(node)
    if isinstance(node, exp.Column):
        return Grouping(scope.column(node))
    if isinstance(node, exp.Floor) and not unexpected(node, "this"):
        inside = strip(node.this)
        if isinstance(inside, exp.Div):
            return _bins(scope, node, inside.this, inside.expression, numbered=True)
    if isinstance(node, exp.Anonymous) and node.name.upper() == "BIN":
        if len(node.expressions) == 2:
            return _bins(scope, node, *node.expressions, numbered=False)
        raise scope.refusal("BIN takes a column and a width", "write BIN(age, 10)", node)
    if isinstance(node, exp.Literal):
        raise scope.refusal(
            "GROUP BY takes columns, not their positions", "name the column: GROUP BY region", node
        )
    raise scope.refuse(node, "group by a column, by BIN(column, width) or FLOOR(column / width)")


def is_grouping(node: Any) -> bool:  # noqa: ANN401 - a part of a tree
    """Tell whether a part of a SELECT list looks like a key of groups."""
    from sqlglot import exp

    node = strip(node)
    named = isinstance(node, exp.Anonymous) and node.name.upper() == "BIN"
    return named or isinstance(node, (exp.Column, exp.Floor))


def _bins(scope: Scope, node: Any, inside: Any, width: Any, *, numbered: bool) -> Grouping:  # noqa: ANN401 - trees
    from sqlglot import exp

    inside = strip(inside)
    if not isinstance(inside, exp.Column):
        raise scope.refusal(
            f"'{scope.spelled(node)}' does not put a plain column into bins",
            "write BIN(age, 10) or FLOOR(age / 10)",
            node,
        )
    column = scope.column(inside)
    if not column.numeric or (numbered and column.date):
        hint = f"BIN({column.name}, 30)" if column.date else f"GROUP BY {column.name}"
        raise scope.refusal(
            f"The column '{column.name}' cannot be divided into bins by '{scope.spelled(node)}'",
            f"write {hint}",
            node,
        )
    size = read_linear(scope, width)
    if size.terms or size.days or size.constant <= 0:
        raise scope.refusal(
            f"The width of '{scope.spelled(node)}' is not a positive number",
            f"write for example BIN({column.name}, 10)",
            node,
        )
    return Grouping(column, size.constant, numbered)
