"""Exact totals of columns, the same on every engine: integers are added, never doubles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.dialect import number
from hartley.engines.maps.cells import as_doubles, clamp, is_whole
from hartley.engines.maps.rules import Keep, range_of
from hartley.engines.maps.unfit_values import (
    check_numbers,
    column_counts,
    outside,
    refuse_rounded,
    refuse_unfit,
)
from hartley.engines.tables.view import TINY, run
from hartley.errors import ColumnError, OptionError, TableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.engines.maps.unfit_values import ColumnCounts
    from hartley.engines.tables.table import Table

DIGITS = 53
"""Every number becomes an integer of this many binary digits, which a double holds exactly."""
MOST_SHIFT = 960
"""The largest shift of a number; all powers of two up to it are plain doubles."""


@dataclass(frozen=True)
class ColumnTotal:
    """The exact total of a column, each number clamped to its range and cut off to a grid."""

    counts: ColumnCounts
    """How many numbers were missing (left out) or outside the range (clamped)."""
    present: int
    """How many numbers were added up."""
    total: Fraction
    grid: Fraction
    """A power of two; numbers were rounded down to its multiples."""


@dataclass(frozen=True)
class TotalsGrid:
    """Multiples of a power of two within a range, as fine as the doubles at its far end.

    Example:
        >>> grid = TotalsGrid.within(Fraction(1, 10), Fraction(4))
        >>> grid.step == Fraction(1, 2**51), grid.low > Fraction(1, 10), grid.high
        (True, True, Fraction(4, 1))
    """

    shift: int
    """The step is two to the power of minus this."""
    low: Fraction
    """The first multiple in the range."""
    high: Fraction
    """The last multiple in the range."""

    @property
    def step(self) -> Fraction:
        """The distance between neighbours."""
        return Fraction(2) ** -self.shift

    @classmethod
    def within(cls, low: Fraction, high: Fraction) -> TotalsGrid:
        """Return the finest grid on which every number of a range is an integer of 53 digits."""
        largest = max(abs(low), abs(high))
        digits = largest.numerator.bit_length() - largest.denominator.bit_length() + 1
        shift = max(min(DIGITS - digits, MOST_SHIFT), -MOST_SHIFT) if largest else 0
        while largest * Fraction(2) ** (shift + 1) <= 2**DIGITS and shift < MOST_SHIFT:
            shift += 1
        step = Fraction(2) ** -shift
        return cls(shift, math.ceil(low / step) * step, math.floor(high / step) * step)


def exact_totals(
    table: Table, ranges: Mapping[str, tuple[Fraction, Fraction]], *, strict: bool = False
) -> tuple[int, dict[str, ColumnTotal]]:
    """Return the number of rows and, for every column, its exact total, by one query.

    Every number is clamped to the range of its column and rounded down to a multiple of a power
    of two, once, row by row, so that it is an integer; the integers are added exactly, and one
    row moves the total by no more than the length of the range. Missing numbers are left out and
    counted.

    Args:
        table: the table, on any engine.
        ranges: the columns and their declared ranges.
        strict: refuse a number that is missing or outside its range.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> table = open_table({"age": [17, 30, 120, None]})
        >>> rows, totals = exact_totals(table, {"age": (Fraction(0), Fraction(100))})
        >>> rows, totals["age"].present, totals["age"].total, totals["age"].counts.above
        (4, 3, Fraction(147, 1), 1)
    """
    check_numbers(table, ranges)
    refuse_rounded(table, ranges)
    grids = [_grid(name, *ends) for name, ends in ranges.items()]
    rows = table.expression.select(
        **{f"v{i}": as_doubles(table, name) for i, name in enumerate(ranges)}
    )
    aggregates: dict[str, Any] = {"rows": rows.count()}
    for i, (name, ends) in enumerate(ranges.items()):
        value, whole = rows[f"v{i}"], is_whole(table, name)
        unfit = outside(value, range_of(Keep(name, *ends)) or (0.0, 0.0), whole=whole)
        steps = _steps(table, value, grids[i], whole=whole)
        aggregates |= {f"{what}{i}": condition.sum() for what, condition in unfit.items()}
        aggregates |= {f"present{i}": steps.count(), f"steps{i}": table.dialect.exact_sum(steps)}
    row = run(table, rows.aggregate(**aggregates).to_pyarrow).to_pylist()[0]
    if not row["rows"]:
        raise TableError(f"{table.name} has no rows", hint="pass a table with at least one row")
    totals = {}
    for i, (name, grid) in enumerate(zip(ranges, grids, strict=True)):
        counts, present = column_counts(row, i, name), int(row[f"present{i}"])
        refuse_unfit(Keep(name), counts, strict=strict)
        if not present:
            raise ColumnError(
                f"Column '{name}' of {table.name} holds nothing but missing values",
                hint="choose another column",
            )
        total = int(row[f"steps{i}"]) * grid.step
        totals[name] = ColumnTotal(counts, present, total, grid.step)
    return int(row["rows"]), totals


def _grid(name: str, low: Fraction, high: Fraction) -> TotalsGrid:
    grid = TotalsGrid.within(low, high)
    if grid.low > grid.high:
        raise OptionError(
            f"The range of column '{name}' is too narrow for a total", hint="widen it, or leave it"
        )
    return grid


def _steps(table: Table, value: Any, grid: TotalsGrid, *, whole: bool) -> Any:
    """Return numbers as integers of steps."""
    inside = clamp(value, float(grid.low), float(grid.high), whole=whole)
    if grid.shift < 0:  # PostgreSQL refuses a product that is too small for a double
        inside = (inside.abs() < number(TINY)).ifelse(number(0.0), inside)
    return table.dialect.floor(inside * number(2.0**grid.shift)).cast("int64")
