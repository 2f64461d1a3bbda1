"""A schema in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hartley.errors import printable
from hartley.exact import log_ratio
from hartley.ranges.schema.file import day_of, decimal_text

if TYPE_CHECKING:
    from fractions import Fraction

    from hartley.ranges.schema.schema import Column, Schema

MOST_LISTED = 8
"""More values than this are cut short."""


def describe_schema(schema: Schema) -> str:
    """Return a schema in words: whose data it is, how large a record is, a line a column."""
    lines = [f"{schema.name}: {_person(schema)}; {_rows(schema)}."]
    bits = decimal_text(schema.default_bits)
    lines.append(
        f"A person's secret record holds {schema.record_bits:.1f} bits; a question that names no "
        f"wish costs {bits} bit{'' if bits == '1' else 's'}."
    )
    if schema.population is not None:
        lines.append(f"It shares the budget of the population '{schema.population}'.")
    if schema.draft:
        lines.append("A DRAFT made from the data: nothing is answered until it is confirmed.")
    wide = max(len(printable(name)) for name in schema.columns)
    for column in schema.columns.values():
        values = describe_values(column) + (_paid(column, schema) if column.kind == "open" else "")
        lines.append(f"  {printable(column.name).ljust(wide)}  {column.kind:<7}  {values}")
    return "\n".join(map(printable, lines))


def describe_values(column: Column) -> str:
    """Return the values of a column in words."""
    if column.values is not None:
        shown = ", ".join(_category(value) for value in column.values[:MOST_LISTED])
        more = len(column.values) - MOST_LISTED
        words = shown + (f" and {more:,} more" if more > 0 else "")
        words += " or any other" if column.other else ""
    else:
        assert column.low is not None
        assert column.high is not None
        assert column.step is not None
        low, high = (_end(column, end) for end in (column.low, column.high))
        unit = f" {column.unit}" if column.unit else ""
        step = decimal_text(column.step)
        if column.date:
            step += " day" if column.step == 1 else " days"
        words = f"{low} to {high}{unit} in steps of {step} ({column.points:,} points)"
    return words + (", may be missing" if column.nullable else "")


def _end(column: Column, end: Fraction) -> str:
    return day_of(end).isoformat() if column.date else decimal_text(end)


def _category(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _person(schema: Schema) -> str:
    if schema.unit is None:
        return "one row is one person"
    most = schema.rows_per_unit
    rows = "at most one row" if most == 1 else f"up to {most:,} rows"
    return f"a person is a value of '{schema.unit}' and has {rows}"


def _rows(schema: Schema) -> str:
    if schema.rows == "public":
        return "how many rows there are is public"
    return f"who is in it is a secret, and how many rows there are (up to {schema.max_rows:,})"


def _paid(column: Column, schema: Schema) -> str:
    r = schema.rows_per_unit
    factor = math.comb(column.size + r - (schema.rows == "public"), r)
    return f"; paid once: {log_ratio(factor):.2f} bits"
