"""Put the numbers of a column into cells, by comparisons and exactly rounded quotients alone."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.engines.formula import null_unless, number

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hartley.engines.rules import UniformCells

    Steps = Generator[dict[str, Any], Any, None]
    """Each step names new columns and receives the rows that have them."""

MOST_NESTED = 4
"""More cells than this are searched in lists on the embedded engine."""

MOST_BUCKETS = 2**12
"""The finest grid: the embedded engine pays for the length of a list."""


def clamp(value: Any, low: float, high: float, *, whole: bool = False) -> Any:
    """Return a number moved into a range; NULL stays NULL and NaN becomes it.

    NaN is never found by a comparison: the embedded engine answers one from the statistics of a
    Parquet file where it can, and those leave NaN out.

    Args:
        value: the column.
        low: the lower end.
        high: the upper end.
        whole: whether the column holds integers, of which none is NaN.
    """
    import ibis

    return ibis.cases(
        *([] if whole else [(value.isnan(), ibis.null("float64"))]),
        (value.between(number(low), number(high)), value),
        (value < number(low), number(low)),
        (value > number(high), number(high)),
    )


def uniform_steps(cells: UniformCells, value: str, result: str) -> Steps:
    """Guess the cell by one product and one sum, then correct the guess by one comparison.

    With every integer up to 2^48 the sum below is off by less than 0.19 of a cell, rounded edges
    included, so its floor is the right cell or the next one. Both the edge and the middle are one
    correctly rounded quotient of integers that a double holds exactly.

    Args:
        cells: the cells.
        value: the column with the values, clamped to below the last edge.
        result: the column to name.
    """
    first, width, divisor, _ = cells.integers()
    rows = yield {}
    if width == 0:
        middle = number(float(cells.low))
        yield {result: null_unless(rows[value].notnull(), middle)}
        return
    guess = rows[value] * number(divisor / width) + number(
        float(Fraction(1, 4) - Fraction(first, width))
    )
    edge = f"{result}_edge"
    rows = yield {edge: _floor(guess) * number(float(width)) + number(float(first))}
    quotient = rows[edge] if divisor == 1 else rows[edge] / number(float(divisor))
    offset = _either(rows[value] < quotient, -float(width), float(width))
    yield {result: (rows[edge] + rows[edge] + offset) / number(float(2 * divisor))}


def compare_steps(
    edges: Sequence[float], values: Sequence[float], value: str, result: str
) -> Steps:
    """Find a cell by a tree of comparisons: as many a row as the number of cells has digits."""
    import ibis

    rows = yield {}

    def choose(low: int, high: int) -> Any:
        if high - low == 1:
            return number(values[low])
        middle = (low + high) // 2
        left, right = choose(low, middle), choose(middle, high)
        return ibis.ifelse(rows[value] < number(edges[middle]), left, right)

    yield {result: null_unless(rows[value].notnull(), choose(0, len(values)))}


@dataclass(frozen=True)
class Grid:
    """Equal buckets over the cells, so that a search begins close to its end.

    The bucket of a number is floor(number * slope + shift) in doubles, which never decreases as
    the number grows. Hence an edge in an earlier bucket is not above a number, an edge in a later
    one is, and only the edges of its own bucket need be compared, whatever was rounded.

    Example:
        >>> grid = Grid.over([0.0, 1.0, 2.0, 8.0, 10.0])
        >>> grid.starts, grid.most
        ((1, 2, 3, 3, 3, 3, 3, 4, 4), 1)
    """

    slope: float
    shift: float
    starts: tuple[int, ...]
    """For every bucket the first cell, counted from 1, that reaches into it."""
    most: int
    """The most edges in one bucket."""

    @classmethod
    def over(cls, edges: Sequence[float]) -> Grid:
        """Return the coarsest grid that parts all edges, or the finest there may be."""
        buckets = 1 << (len(edges) - 2).bit_length()
        while True:
            grid = cls._with(edges, buckets)
            if grid.most <= 1 or buckets >= MOST_BUCKETS:
                return grid
            buckets *= 2

    @classmethod
    def _with(cls, edges: Sequence[float], buckets: int) -> Grid:
        low, high, inner = edges[0], edges[-1], edges[1:-1]
        slope = buckets / (high - low) if high > low else 0.0
        if not math.isfinite(low * slope) or not math.isfinite(high * slope):
            slope = 0.0
        shift = -(low * slope)
        held = [math.floor(edge * slope + shift) for edge in inner]
        last = math.floor(high * slope + shift)
        starts = tuple(1 + bisect.bisect_left(held, bucket) for bucket in range(last + 1))
        return cls(slope, shift, starts, max(Counter(held).values(), default=0))


def grid_steps(grid: Grid, value: str, lists: tuple[str, str, str], result: str) -> Steps:
    """Find a cell by its bucket and a search among the few edges there.

    Args:
        grid: the grid over the edges.
        value: the column with the values, within the edges.
        lists: the columns that hold the lists of lower edges, of values and of starts.
        result: the column to name.
    """
    keys, values, starts = lists
    at = f"{result}_at"
    rows = yield {}
    rows = yield from locate_steps(rows, grid, (value, keys, starts), at)
    yield {result: list_item("float64")(rows[values], rows[at])}


def locate_steps(
    rows: Any, grid: Grid, columns: tuple[str, str, str], at: str
) -> Generator[dict[str, Any], Any, Any]:
    """Name a position, from 1: that of the last lower edge that is not above a value.

    Args:
        rows: the rows.
        grid: the grid over the edges.
        columns: the columns with the value, with the list of lower edges and with the starts.
        at: the column to name.
    """
    value, keys, starts = columns
    bucket = _floor(rows[value] * number(grid.slope) + number(grid.shift)).cast("int64")
    rows = yield {at: list_item("int64")(rows[starts], bucket + 1)}
    rows = yield from search_steps(rows, grid.most, "float64", (value, keys, at))
    return rows


def search_steps(
    rows: Any, most: int, kind: str, columns: tuple[str, str, str]
) -> Generator[dict[str, Any], Any, Any]:
    """Move a position in a sorted list to the last key that is not above a value, by bisection.

    Args:
        rows: the rows.
        most: how many places a position may have to move.
        kind: the type of the keys.
        columns: the columns with the value, with the list and with the position, from 1.
    """
    import ibis

    value, keys, at = columns
    item = list_item(kind)
    for step in reversed([2**power for power in range(most.bit_length())]):
        further = rows[at] + step
        reached = rows[value] >= item(rows[keys], further)
        rows = yield {at: ibis.ifelse(reached, further, rows[at])}
    return rows


def list_item(kind: str) -> Any:
    """Return the embedded engine's own access to a list, which counts from 1."""
    import ibis
    import ibis.expr.datatypes as dt

    types = (dt.Array(dt.dtype(kind)), dt.int64), dt.dtype(kind)
    return ibis.udf.scalar.builtin(_list_extract, name="list_extract", signature=types)


def _list_extract(items: Any, position: Any) -> Any:
    """Stand for the engine's function of this name."""


def _floor(value: Any) -> Any:
    """Round down without Ibis's detour over integers."""
    import ibis
    import ibis.expr.datatypes as dt

    def floor(value: Any) -> Any:
        """Stand for the engine's function of this name."""

    return ibis.udf.scalar.builtin(floor, signature=((dt.float64,), dt.float64))(value)


def _either(condition: Any, one: float, other: float) -> Any:
    import ibis

    return ibis.ifelse(condition, number(one), number(other))
