"""A first schema of a table, made by looking at it: for its owner to correct and confirm."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.engines.table import Kind
from hartley.errors import ColumnError, OptionError, TableError
from hartley.schema.roles import open_with_roles
from hartley.schema.schema import Column, Schema
from hartley.tables.view import MOST_VALUES, profile, run
from hartley.text import EPOCH

if TYPE_CHECKING:
    from hartley.engines.table import Table
    from hartley.schema.roles import RolesSource
    from hartley.tables.view import ColumnProfile

HEADER = """\
# A DRAFT, made by looking at the data. Ranges were rounded outwards, values that fewer than five
# rows hold were left out. Answers take a number off the step of its column as the nearest on it:
# hartley schema check counts those. Once a schema is in use, all of it is public: replace every
# range and value by what everybody may know, choose public, open or private for every column,
# name the unit if one person may have several rows, add population = "..." if other tables are
# about the same people, and then delete the line "draft = true" below [table].
"""
MOST_TODAY = (
    "# the most rows of one person today; this line becomes public: write a bound that may be known"
)
MOST_POINTS = 2500
"""Steps are coarsened until there are no more points than this."""


def draft_schema(table: Table, name: str | None = None, *, roles: RolesSource | None = None) -> str:
    """Return a draft of a table's schema as the text of a TOML file, with comments.

    The draft depends on the data, so it is for the owner's eyes; an agent refuses it until its
    line ``draft = true`` is gone. Two scans of the table, and one per column of text.

    Args:
        table: the table, on any engine.
        name: what the table is called in questions; the name of its file if left out.
        roles: the confirmed roles of the columns; identifiers are left out of the schema, and the
            unit says how many rows a person may have.

    Example:
        >>> from hartley.tables.opening import open_table
        >>> text = draft_schema(open_table({"age": [18, 33, 95]}), "people")
        >>> text.splitlines()[-4:]
        ['[columns.age]', 'kind = "private"', 'range = [10, 100]', 'step = 1']
    """
    columns: dict[str, Column] = {}
    left_out: list[str] = []
    unit, most = None, 1
    if roles is not None:
        table, known_roles = open_with_roles(table, roles)
        left_out = [f"# left out: '{n}', an identifier" for n in known_roles.named("identifier")]
        unit = next(iter(known_roles.named("unit")), None)
    if unit is not None:
        most = _most_rows(table, unit)
    for column in profile(table):
        if column.name == unit:
            continue
        try:
            described = _column(column)
        except OptionError:
            described = "numbers that are too large or too close together for a round step"
        if isinstance(described, Column):
            columns[column.name] = described
        else:
            left_out.append(f"# left out: '{column.name}', {described}")
    if not columns:
        raise TableError(
            f"No column of {table.name} can be described",
            hint="convert columns to numbers, dates or few categories first",
        )
    schema = Schema(
        name or _table_name(table.name), columns, draft=True, unit=unit, rows_per_unit=most
    )
    text = HEADER + schema.to_toml()
    if unit is not None:
        text = text.replace(
            f"rows_per_unit = {most}\n", f"rows_per_unit = {most}  {MOST_TODAY}\n", 1
        )
    return text + "".join(f"\n{line}" for line in left_out) + ("\n" if left_out else "")


def _most_rows(table: Table, unit: str) -> int:
    """Return the most rows of one person."""
    column = table.expression[unit]
    held = table.expression.filter(column.notnull()).group_by(unit).aggregate(n=lambda t: t.count())
    counts = run(table, held.aggregate(people=held.count(), most=held.n.max()).to_pyarrow)
    people, most = (counts[name][0].as_py() for name in ("people", "most"))
    if people < 2:
        what = (
            "names nobody in any row" if not people else "has one value: all rows are of one person"
        )
        raise ColumnError(
            f"The unit '{unit}' {what}", hint="give another column the role unit, or none"
        )
    return int(most)


def _table_name(name: str) -> str:
    """Turn the name of a file into one that a question can use."""
    stem = name.rsplit(".", 1)[0] if "." in name else name
    plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in stem).strip("_").lower()
    return plain if plain and not plain[0].isdigit() else f"table_{plain}".rstrip("_")


def _column(column: ColumnProfile) -> Column | str:
    """Return a column, or why it is left out."""
    if column.different == 0:
        return "which holds no values"
    if column.different == column.rows > MOST_VALUES and (column.whole or column.kind is Kind.TEXT):
        return "different in every row: perhaps the unit, which names the person"
    describe = {
        Kind.BOOLEAN: _truths,
        Kind.TEXT: _categories,
        Kind.TIME: _dates,
        Kind.INTEGER: _numbers,
        Kind.REAL: _numbers,
    }
    return describe[column.kind](column)


def _truths(column: ColumnProfile) -> Column | str:
    return Column(column.name, "private", values=(False, True), nullable=column.missing > 0)


def _numbers(column: ColumnProfile) -> Column | str:
    if column.low is None:
        return "which holds no finite number"
    low, high, step = rounded_range(Fraction(column.low), Fraction(column.high), whole=column.whole)
    nullable = column.missing > 0
    return Column(column.name, "private", low=low, high=high, step=step, nullable=nullable)


def _categories(column: ColumnProfile) -> Column | str:
    if not 0 < len(column.values) <= MOST_VALUES:
        return f"text with {column.different:,} different values"
    return Column(
        column.name,
        "private",
        values=column.values,
        other=len(column.values) < column.different,
        nullable=column.missing > 0,
    )


def _dates(column: ColumnProfile) -> Column | str:
    if column.zoned or not isinstance(column.low, dt.date):
        return "times of day or with a time zone: convert it to dates"
    ends = dt.date(column.low.year, 1, 1), dt.date(column.high.year, 12, 31)
    low, high = (Fraction((end - EPOCH).days) for end in ends)
    return Column(
        column.name,
        "private",
        low=low,
        high=high,
        step=Fraction(1),
        date=True,
        nullable=column.missing > 0,
    )


def rounded_range(
    low: Fraction, high: Fraction, *, whole: bool
) -> tuple[Fraction, Fraction, Fraction]:
    """Round a range outwards to round numbers, and choose a step: low, high, step."""
    span = max(high - low, Fraction(1) if whole else abs(high) / 1000, Fraction(1, 10**12))
    exponent = math.floor(math.log10(span))
    coarse = Fraction(10) ** (max(exponent, 0) if whole else exponent)
    if whole and span < 10:
        coarse = Fraction(1)
    ends = math.floor(low / coarse) * coarse, math.ceil(high / coarse) * coarse
    step = Fraction(1) if whole else coarse / 1000
    while (ends[1] - ends[0]) / step > MOST_POINTS:
        step *= 10
    return *ends, step
