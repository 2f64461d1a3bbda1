"""Dates put into periods: days, weeks, months, quarters, years and decades."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hartley.engines.tables.table import Kind
from hartley.errors import ColumnError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.engines.tables.table import Table

PERIODS = ("day", "week", "month", "quarter", "year", "decade")
"""From narrow to wide. Weeks begin on Mondays and nest in no other period."""


def is_period(step: object) -> bool:
    """Tell whether a bin is a period of dates and not a width of numbers.

    Example:
        >>> is_period("month"), is_period("10"), is_period(5)
        (True, False, False)
    """
    return isinstance(step, str) and step.strip().lower() in PERIODS


def in_periods(
    table: Table, periods: Mapping[str, str], *, beside: Mapping[str, str] | None = None
) -> Table:
    """Return a table with some columns of dates as texts that name their periods.

    Args:
        table: the table.
        periods: the period of each such column.
        beside: columns that stay as they are, and the names under which their periods are added.

    Example:
        >>> import datetime as dt
        >>> from hartley.engines.tables.sources import open_table
        >>> table = open_table({"birth": [dt.date(2020, 5, 7), None]})
        >>> in_periods(table, {"birth": "quarter"}).expression.birth.to_pyarrow().to_pylist()
        ['2020-Q2', None]
    """
    if not periods:
        return table
    table.require(periods)
    names = {column: (beside or {}).get(column, column) for column in periods}
    named, texts = {}, {}
    for column, period in periods.items():
        value = table.expression[column]
        if not (value.type().is_date() or value.type().is_timestamp()):
            raise ColumnError(
                f"Column '{column}' of {table.name} holds {table.kind(column)} values, not dates, "
                f"and cannot be put into {period}s",
                hint="give a width for numbers; dates that begin with the day are read with "
                "--dates day-first"
                if table.kind(column) is Kind.TEXT
                else "give a width for numbers, for example 10",
            )
        named[names[column]] = _name(value, period.strip().lower())
        if table.texts is not None:
            dates = table.texts[column].try_cast(value.type())
            texts[names[column]] = _name(dates, period.strip().lower())
    return replace(
        table,
        expression=table.expression.mutate(**named),
        # The texts of a file would bring the dates back.
        texts=None if table.texts is None else table.texts.mutate(**texts),
        known_span=lambda name: None if name in named else table.known_span(name),
    )


def _name(value: Any, period: str) -> Any:
    """Return what a period is called: 2020-05-07, 2020-W19, 2020-05, 2020-Q2, 2020, 2020s."""
    year = value.year().cast("string").lpad(4, "0")
    if period == "decade":
        return ((value.year() // 10) * 10).cast("string").lpad(4, "0") + "s"
    if period == "year":
        return year
    if period == "quarter":
        return year + "-Q" + value.quarter().cast("string")
    month = year + "-" + value.month().cast("string").lpad(2, "0")
    if period == "month":
        return month
    if period == "week":  # by its Monday: a week may belong to two years
        return _name(value.cast("date").truncate("W"), "day")
    return month + "-" + value.day().cast("string").lpad(2, "0")


def period_name(value: dt.date, period: str) -> str:
    """Return what the period of a date is called, as on an engine.

    Example:
        >>> [period_name(dt.date(1999, 12, 31), period) for period in ("week", "month", "decade")]
        ['1999-12-27', '1999-12', '1990s']
    """
    if period == "decade":
        return f"{value.year // 10 * 10:04d}s"
    if period == "year":
        return f"{value.year:04d}"
    if period == "quarter":
        return f"{value.year:04d}-Q{(value.month + 2) // 3}"
    if period == "month":
        return f"{value.year:04d}-{value.month:02d}"
    if period == "week":
        value -= dt.timedelta(days=value.weekday())
    return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"


def check_periods(periods: object, what: str) -> tuple[str, ...]:
    """Return periods from narrow to wide, or raise an error for those that do not nest.

    Example:
        >>> check_periods(["month", "year"], "Column 'birth'")
        ('month', 'year')
    """
    words = [str(period).strip().lower() for period in periods]  # type: ignore[attr-defined]
    places = [PERIODS.index(word) if word in PERIODS else -1 for word in words]
    if -1 in places or places != sorted(set(places)) or ("week" in words and len(words) > 1):
        raise OptionError(
            f"{what} has periods that do not nest", hint='write for example ["month", "year"]'
        )
    return tuple(words)
