"""The readings of people over time: one row per person, and as whole numbers on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from hartley.engines.tables.sources import open_table
from hartley.engines.tables.view import run
from hartley.errors import ColumnError, OptionError, TableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.engines.tables.table import Table

Drop: TypeAlias = Literal["people", "times"]
MOST_DECIMALS = 9
MOST_BITS = 40
"""Readings that are not short decimals are rounded to this many bits below the largest."""
EXACT_BITS = 52
"""Whole numbers of at most this many bits are exact doubles, with room for one more addition."""


@dataclass(frozen=True)
class ReadingGrid:
    """Readings as whole multiples of a unit, one row per person."""

    codes: NDArray[np.float64]
    unit: Fraction
    exact: bool
    """Whether the multiples are the readings as given, not the nearest ones."""

    @classmethod
    def of(cls, readings: NDArray[np.float64], *, group: int) -> ReadingGrid:
        """Find the unit: a decimal one where the readings are short decimals, else a power of 2.

        With this unit, the sum of one reading per person of the group is an exact double.

        Example:
            >>> grid = ReadingGrid.of(np.array([[0.1, 0.25]]), group=4)
            >>> grid.codes, grid.unit, grid.exact
            (array([[10., 25.]]), Fraction(1, 100), True)
        """
        bits = EXACT_BITS - int(group).bit_length()
        largest = float(np.abs(readings).max())
        for decimals in range(MOST_DECIMALS + 1):
            if largest * 10.0**decimals >= 2.0**bits:
                break
            codes = np.rint(readings * 10.0**decimals)
            if np.array_equal(codes / 10.0**decimals, readings):
                return cls(codes + 0.0, Fraction(1, 10**decimals), exact=True)
        places = min(MOST_BITS, bits) - int(np.frexp(largest)[1])
        codes = np.rint(np.ldexp(readings, places)) + 0.0
        exact = np.array_equal(np.ldexp(codes, -places), readings)
        return cls(codes, Fraction(2) ** -places, exact=exact)


@dataclass(frozen=True)
class Readings:
    """The readings of people at the same times, and how many people or times were left out."""

    values: NDArray[np.float64]
    """One row per person, one column per time."""
    times: NDArray[np.int64]
    """Which of all times these are, counted from 0."""
    people_left_out: int
    times_left_out: int


def readings_of(
    source: object,
    *,
    person: str | None = None,
    order: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Drop = "people",
) -> Readings:
    """Return complete readings: one row per person, with a reading at every time.

    Args:
        source: an array of people x readings (with more axes, the first one is the people), or a
            table. Without ``person``, each row of the table is a person.
        person: the column that says whose row it is, if a person has several.
        order: the column that puts the rows of a person in order.
        columns: the columns of readings. By default, all numbers but the two above.
        drop: what is left out of a table with missing readings: "people" leaves out everybody who
            lacks a reading, "times" every time at which somebody lacks one.

    Example:
        >>> table = {"home": [1, 1, 2, 2, 3], "day": [1, 2, 1, 2, 1], "kwh": [5, 6, 7, 8, 9]}
        >>> readings_of(table, person="home", order="day").values.tolist()
        [[5.0, 6.0], [7.0, 8.0]]
        >>> readings_of(table, person="home", order="day", drop="times").values.tolist()
        [[5.0], [7.0], [9.0]]
    """
    if drop not in ("people", "times"):
        raise OptionError(
            f"The choice '{drop}' of what to drop for missing readings is unknown",
            hint="choose 'people' or 'times'",
        )
    if isinstance(source, (np.ndarray, list, tuple)) and not _are_paths(source):
        if person is not None or order is not None or columns is not None:
            raise OptionError(
                "Columns were named, but the readings are an array",
                hint="pass a table, or name no columns",
            )
        values = _from_array(source)
        return Readings(values, np.arange(values.shape[1]), 0, 0)
    return _complete(_from_table(table := open_table(source), person, order, columns), table, drop)


def _are_paths(source: Any) -> bool:  # noqa: ANN401 - the caller's argument
    return not isinstance(source, np.ndarray) and all(isinstance(item, str) for item in source)


def _from_array(source: object) -> NDArray[np.float64]:
    try:
        values = np.asarray(source, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            "The readings are not an array of numbers",
            hint="give every person the same number of readings",
        ) from None
    if values.ndim < 2 or values.size == 0:
        raise OptionError(
            "The readings do not have one row per person", hint="pass an array of people x readings"
        )
    values = values.reshape(values.shape[0], -1)
    if not np.isfinite(values).all():
        raise OptionError(
            "The readings hold missing or infinite numbers",
            hint="leave out these people or these times first",
        )
    return values


def _from_table(
    table: Table, person: str | None, order: str | None, columns: Sequence[str] | None
) -> NDArray[np.float64]:
    """Return the readings of a table, one row per person, with NaN for missing readings."""
    keys = [name for name in (person, order) if name is not None]
    listed = list(columns) if columns else [n for n in table.columns if table.kind(n).numeric]
    listed = [name for name in listed if name not in keys]
    table.require([*keys, *listed])
    _check_columns(table, person, order, listed)
    arrow = run(table, table.expression.select(*keys, *listed).to_pyarrow)
    rows = np.column_stack(
        [arrow.column(name).cast("float64").to_numpy().astype(np.float64) for name in listed]
    )
    rows[~np.isfinite(rows)] = np.nan
    if rows.size == 0:
        raise TableError(f"{table.name} has no rows", hint="pass a table with at least one row")
    if person is not None and order is not None:
        rows = _spread(table, rows, _codes(arrow.column(person)), _codes(arrow.column(order)))
    return rows


def _complete(rows: NDArray[np.float64], table: Table, drop: Drop) -> Readings:
    """Leave out the people, or the times, with a missing reading."""
    missing = np.isnan(rows)
    if drop == "times":
        whole = ~missing.any(axis=0)
        if not whole.any():
            raise TableError(
                f"At no time does everybody in {table.name} have a reading",
                hint="leave out the people with few readings, or drop people instead of times",
            )
        return Readings(rows[:, whole], np.flatnonzero(whole), 0, int((~whole).sum()))
    complete = ~missing.any(axis=1)
    if not complete.any():
        raise TableError(
            f"Nobody in {table.name} has a reading at every time",
            hint="drop times with missing readings instead of people",
        )
    return Readings(rows[complete], np.arange(rows.shape[1]), int((~complete).sum()), 0)


def _check_columns(
    table: Table, person: str | None, order: str | None, columns: Sequence[str]
) -> None:
    if (person is None) != (order is None):
        raise OptionError(
            "The columns of the person and of the order go together",
            hint="name both if a person has several rows, otherwise neither",
        )
    if not columns:
        raise ColumnError(f"{table.name} has no column of numbers", hint="name columns of readings")
    for name in columns:
        if not table.kind(name).numeric:
            raise ColumnError(
                f"Column '{name}' of {table.name} holds {table.kind(name)} values, not numbers",
                hint="name only columns of numbers",
            )


def _codes(column: Any) -> tuple[NDArray[np.int64], int]:  # noqa: ANN401 - Arrow carries no types
    """Number the values of a column in their order."""
    from hartley.ranges.relations.classes import encode_column

    codes, values = encode_column(column)
    return codes, len(values)


def _spread(
    table: Table,
    rows: NDArray[np.float64],
    person: tuple[NDArray[np.int64], int],
    order: tuple[NDArray[np.int64], int],
) -> NDArray[np.float64]:
    """Give every person one row, with NaN for missing times."""
    times = person[0] * order[1] + order[0]
    if np.unique(times).size < times.size:
        raise TableError(
            f"{table.name} has several rows of one person at the same place in the order",
            hint="name a column that orders the rows of every person",
        )
    spread = np.full((person[1] * order[1], rows.shape[1]), np.nan)
    spread[times] = rows
    return spread.reshape(person[1], -1)
