"""A profile of every column of a table, for the owner who drafts its schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.engines.tables.table import Kind
from hartley.engines.tables.view import LARGEST_DOUBLE, out_of_calendar, run

if TYPE_CHECKING:
    from hartley.engines.tables.table import Table

MOST_VALUES = 50
"""Categories beyond this number are not listed."""
LARGEST_WHOLE = 2**53
LEAST_ROWS = 5
"""A category in fewer rows is not listed, since it could be one person's."""


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds."""

    name: str
    kind: Kind
    rows: int
    missing: int
    different: int
    low: Any = None
    high: Any = None
    whole: bool = False
    """Whether every number is whole."""
    values: tuple[Any, ...] = ()
    """The categories that occur in several rows, in their order."""
    zoned: bool = False
    """Whether times carry a time zone."""


def profile(table: Table) -> list[ColumnProfile]:
    """Profile every column of a table: two scans, and one more per column of categories.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> (age,) = profile(open_table({"age": [30, 40, 41, None]}))
        >>> age.low, age.high, age.different, age.missing
        (30, 41, 3, 1)
    """
    usable = [name for name in table.columns if table.kind(name) is not Kind.NESTED]
    usable = [name for name in usable if name not in {*table.blunt, *table.mixed}]
    aggregates: dict[str, Any] = {"rows": table.expression.count()}
    for i, name in enumerate(usable):
        aggregates |= _asked(table, name, i)
    row = run(table, table.expression.aggregate(**aggregates).to_pyarrow).to_pylist()[0]
    return [_profiled(table, name, i, row) for i, name in enumerate(usable)]


def _asked(table: Table, name: str, i: int) -> dict[str, Any]:
    column, kind = table.expression[name], table.kind(name)
    if column.type().is_floating():
        column = column.isnan().ifelse(None, column)
    aggregates = {
        f"present{i}": column.count(),
        f"different{i}": table.dialect.count_distinct(column),
    }
    if kind is Kind.REAL:
        finite = column.cast("float64").between(-LARGEST_DOUBLE, LARGEST_DOUBLE)
        inside = finite.ifelse(column.cast("float64"), None)
        aggregates |= {f"low{i}": inside.min(), f"high{i}": inside.max()}
        small = inside.between(-LARGEST_WHOLE, LARGEST_WHOLE).ifelse(inside, None)
        aggregates[f"broken{i}"] = (small.isnull() | (small != small.floor())).sum()
    elif column.type().is_date() or column.type().is_timestamp():
        shown = out_of_calendar(column).ifelse(None, column)
        aggregates |= {f"low{i}": shown.min(), f"high{i}": shown.max()}
    elif kind in (Kind.INTEGER, Kind.TIME):
        aggregates |= {f"low{i}": column.min(), f"high{i}": column.max()}
    return aggregates


def _profiled(table: Table, name: str, i: int, row: dict[str, Any]) -> ColumnProfile:
    kind, dtype = table.kind(name), table.expression.schema()[name]
    different = int(row[f"different{i}"])
    listed = kind is Kind.TEXT and different > 0 and dtype.is_string()
    return ColumnProfile(
        name,
        kind,
        rows=int(row["rows"]),
        missing=int(row["rows"] - row[f"present{i}"]),
        different=different,
        low=row.get(f"low{i}"),
        high=row.get(f"high{i}"),
        whole=kind is Kind.INTEGER or (kind is Kind.REAL and not row[f"broken{i}"]),
        values=_categories(table, name) if listed else (),
        zoned=dtype.is_timestamp() and dtype.timezone is not None,
    )


def _categories(table: Table, name: str) -> tuple[Any, ...]:
    column = table.expression[name]
    grouped = table.expression.group_by(value=column).aggregate(n=table.expression.count())
    several = grouped.filter(grouped.value.notnull() & (grouped.n >= LEAST_ROWS))
    few = several.order_by("value").limit(MOST_VALUES + 1).select("value")
    return tuple(sorted(run(table, few.to_pyarrow)["value"].to_pylist()))
