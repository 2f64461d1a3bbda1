"""Values that a map cannot release unchanged: they are counted, and refused if necessary."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.dialect import number
from hartley.engines.maps.cells import is_whole
from hartley.engines.maps.formula import names_of
from hartley.engines.maps.rules import (
    CutCells,
    Formula,
    Lookup,
    Quantized,
    UniformCells,
    range_of,
)
from hartley.engines.tables.failures import run
from hartley.engines.tables.table import Kind
from hartley.errors import ColumnError, OptionError, TableError
from hartley.exact import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from hartley.engines.maps.formula import Tree
    from hartley.engines.maps.rules import Rule
    from hartley.engines.tables.table import Table

    Ends = tuple[float, float]


@dataclass(frozen=True)
class ColumnCounts:
    """The number of rows with unfit values of each sort, for one rule."""

    column: str
    missing: int
    """NULL or NaN, of a query any of its columns; released as NULL."""
    below: int
    """Below the range, of a query any of its columns; clamped to its lower end."""
    above: int
    """Above the range, of a query any of its columns; clamped to its upper end."""
    unknown: int
    """In no group; released as the label for all others."""
    undefined: int
    """Present, but the formula has no value there; released as NULL. Known once written."""
    between: int = 0
    """Off the declared step or list; released as if on it."""


@dataclass(frozen=True)
class Read:
    """A column that formulas read."""

    held: str
    """The column of the rows that holds it, as it is."""
    whole: bool
    """Whether it holds integers, of which none is NaN."""
    ends: Ends | None
    """Its declared range, if any."""

    @property
    def clamped(self) -> str:
        """The column of the rows that holds it clamped to its range."""
        return f"c{self.held}"


@dataclass(frozen=True)
class MapCounts:
    """The unfit values of a table, for all rules of a map."""

    rows: int
    columns: tuple[ColumnCounts, ...]


def measured(
    table: Table, rows: Any, rules: Mapping[int, Rule], read: Mapping[str, Read]
) -> dict[str, Any]:
    """Return the expressions to count, by name: the fields of ``ColumnCounts`` for every rule.

    Args:
        table: the table.
        rows: the rows with sources ``v``, inputs of formulas and what was computed of them.
        rules: the rules of the map to count for, by their places.
        read: the columns that formulas read.
    """
    counted: dict[str, Any] = {"rows": rows.count()}
    for i, rule in rules.items():
        if isinstance(rule, Quantized):
            unfit = _unfit_by_query(rows, i, rule, read)
        else:
            unfit = _unfit(table, rows, i, rule)
        counted |= {f"{what}{i}": condition.sum() for what, condition in unfit.items()}
    return counted


def column_counts(row: Mapping[str, Any], i: int, column: str) -> ColumnCounts:
    """Return the counts of a rule; counts that do not apply are 0."""
    kinds = [field.name for field in fields(ColumnCounts)[1:]]
    return ColumnCounts(column, *(int(row.get(f"{kind}{i}") or 0) for kind in kinds))


def _unfit(table: Table, rows: Any, i: int, rule: Rule) -> dict[str, Any]:
    value = rows[f"v{i}"]
    if isinstance(rule, Lookup):
        return {"missing": value.isnull(), "unknown": rows[f"r{i}_unknown"]}
    ends = range_of(rule)
    if ends is None:
        return {"missing": value.isnull()}
    unfit = outside(value, ends, whole=is_whole(table, rule.column))
    inside = ~functools.reduce(operator.or_, unfit.values())
    if isinstance(rule, UniformCells) and rule.listed:
        unfit["between"] = inside & (value != rows[f"r{i}"])
    if isinstance(rule, CutCells) and rule.spans:
        first, last = rows[f"r{i}_first"], rows[f"r{i}_last"]
        unfit["between"] = inside & ((value < first) | (value > last))
    return unfit


def _unfit_by_query(rows: Any, i: int, rule: Quantized, read: Mapping[str, Read]) -> dict[str, Any]:
    """Look at the columns of a query; at its value only where a column declares no range.

    Of columns within their ranges the value can lie outside by rounding alone.
    """
    unfit: dict[str, list[Any]] = {"missing": [], "below": [], "above": []}
    columns = [read[name] for name in names_of(rule.tree)]
    per_column = [
        missing(rows[column.held], whole=column.whole)
        if column.ends is None
        else outside(rows[column.held], column.ends, whole=column.whole)
        for column in columns
    ]
    if any(column.ends is None for column in columns):
        ends = float(rule.low), float(rule.high)
        answer = outside(rows[f"q{i}"], ends, whole=True)
        per_column.append({what: answer[what] for what in ("below", "above")})
    for conditions in per_column:
        for what, holds in conditions.items():
            unfit[what].append(holds)
    joined = {what: functools.reduce(operator.or_, holds) for what, holds in unfit.items() if holds}
    return {
        what: holds if what == "missing" else holds & ~joined["missing"]
        for what, holds in joined.items()
    }


def missing(value: Any, *, whole: bool) -> dict[str, Any]:
    """Return where a number is missing."""
    return {"missing": value.isnull() if whole else value.isnull() | value.isnan()}


def outside(value: Any, ends: Ends, *, whole: bool) -> dict[str, Any]:
    """Return where a number is missing, below and above a range; NaN is missing, not above."""
    below, above = value < number(ends[0]), value > number(ends[1])
    return missing(value, whole=whole) | {
        "below": below,
        "above": above if whole else above & ~value.isnan(),
    }


def refuse_unfit(rule: Rule, counted: ColumnCounts, *, strict: bool) -> None:
    """Raise an error for values that a strict map, or groups without ``other``, may not release."""
    outside = counted.below + counted.above
    refused = [
        (strict, counted.missing, "missing", "fill or drop them first"),
        (strict, outside, "outside the declared range", "correct them first"),
        (strict, counted.unknown, "in no group", "add them to a group"),
        (strict, counted.between, "off the declared step or list", "declare them too"),
        (strict, counted.undefined, "without a value of the formula", "see to its other columns"),
    ]
    if isinstance(rule, Lookup) and rule.other is None:
        refused.append((True, counted.unknown, "in no group", "give a label for all others"))
    for applies, rows, what, hint in refused:
        if applies and rows:
            values = "1 value" if rows == 1 else f"{rows:,} values"
            verb = "is" if rows == 1 else "are"
            raise ColumnError(
                f"{values} of column '{counted.column}' {verb} {what}",
                hint=hint + (", or release without strict" if strict else ""),
            )


def check_rules(table: Table, rules: Sequence[Rule]) -> None:
    """Raise an error for rules that name a column twice, a missing one or one of another kind."""
    names = [rule.column for rule in rules]
    if not rules:
        raise OptionError("The map names no column", hint="give a rule for what is to be released")
    if len({name.lower() for name in names}) < len(names):
        raise OptionError(
            "Two rules of the map name one column", hint="give every column one rule, case aside"
        )
    own = [rule for rule in rules if not isinstance(rule, Quantized)]
    table.require(rule.column for rule in own)
    numeric = [rule.column for rule in own if range_of(rule) is not None]
    check_numbers(table, (*numeric, *(name for tree in trees_of(rules) for name in names_of(tree))))
    for rule in rules:
        if isinstance(rule, Lookup):
            _check_categories(table, rule)


def refuse_rounded(
    table: Table,
    ranges: Mapping[str, tuple[Any, Any]],
    kept: Container[str] = (),
    rounded: Container[str] = (),
) -> None:
    """Raise an error for whole numbers that doubles do not tell apart within their ranges.

    Decimals of columns that are kept count in their last digit; others are ``rounded`` already.
    """
    for name, ends in ranges.items():
        dtype = table.expression[name].type()
        digits: float = 0
        if dtype.is_decimal() and name in kept:
            digits = math.inf if dtype.scale is None else dtype.scale  # of PostgreSQL's numeric
        largest = max(map(abs, ends)) * 10**digits
        if name in rounded or (largest > LARGEST_EXACT_INTEGER and not dtype.is_floating()):
            raise ColumnError(
                f"Column '{name}' of {table.name} holds whole numbers or decimals, which a release "
                f"within {'a' if math.isinf(digits) else 'so large a'} range would round",
                hint="declare its scale, such as numeric(12, 2)"
                if math.isinf(digits)
                else "keep it without a range, which releases it exactly, or subtract a constant "
                "from it first",
            )


def check_numbers(table: Table, names: Iterable[str]) -> None:
    """Raise an error for a column that does not exist or does not hold numbers."""
    listed = list(names)
    table.require(listed)
    for name in listed:
        if not table.kind(name).numeric and table.kind(name) is not Kind.EMPTY:
            refuse_no_rows(table)  # a CSV file with a header alone has columns of text
            raise ColumnError(
                f"Column '{name}' of {table.name} holds {table.kind(name)} values, not numbers",
                hint="convert it to numbers first, or merge or keep its values",
            )


def refuse_no_rows(table: Table) -> None:
    """Raise an error for a table without rows."""
    if not run(table, table.expression.limit(1).count().to_pyarrow).as_py():
        raise TableError(f"{table.name} has no rows", hint="pass a table with at least one row")


def trees_of(rules: Sequence[Rule]) -> list[Tree]:
    """Return the formulas of a map."""
    return [rule.tree for rule in rules if isinstance(rule, (Formula, Quantized))]


def _check_categories(table: Table, rule: Lookup) -> None:
    kind, dtype = table.kind(rule.column), table.expression.schema()[rule.column]
    fitting = {
        str: dtype.is_string(),
        int: kind.numeric,
        bool: kind is Kind.BOOLEAN,
    }[type(rule.groups[0][0])]
    if not fitting and kind is not Kind.EMPTY:
        raise ColumnError(
            f"Column '{rule.column}' of {table.name} holds {kind} values, unlike its groups",
            hint="write the values of the groups as the column has them",
        )
