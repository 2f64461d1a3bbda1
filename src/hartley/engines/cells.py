"""Putting numbers into cells, only by comparisons and exactly rounded quotients."""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from hartley.engines.dialect import builtin, null_unless, number
from hartley.engines.table import Kind
from hartley.errors import OptionError
from hartley.exact import parse_number

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from hartley.engines.dialect import Dialect
    from hartley.engines.table import Table

    Steps = Generator[dict[str, Any], Any, None]
    """Each step names new columns and receives the rows that have them."""


LARGEST_CELL = 2**48
"""Integers up to here: cells are guessed within one and their edges are exact quotients."""
MOST_CUTS = 2**16
"""The largest number of cells that are listed one by one."""
MOST_NESTED = 4
"""More cells than this are searched in lists on engines that search lists."""
MOST_COMPARED = 32
"""More values than this are searched in a list on engines that are slow at cases."""
MOST_BUCKETS = 2**12
"""The finest grid: an engine pays for the length of a list."""


# --- cells as data: what releases, and the coding of a table for an agent, put numbers into -------


@dataclass(frozen=True)
class UniformCells:
    """Equal cells over [low, high]: a value becomes the middle of its cell.

    Value v lies in cell k when edge_k <= v < edge_(k+1), the last cell being closed, where edge_k
    is the double nearest to low + k (high - low) / levels; the double nearest to the exact middle
    is released. Values outside are clamped. Constant work per row for any number of cells.
    """

    column: str
    low: Fraction
    high: Fraction
    levels: int
    listed: bool = False
    """Whether the middles are all values that there are: others are counted, as between them."""

    def __post_init__(self) -> None:
        set_range(self, self.low, self.high)
        if isinstance(self.levels, bool) or not isinstance(self.levels, int) or self.levels < 1:
            raise OptionError(
                f"The number of levels for column '{self.column}' is not a positive whole number",
                hint="give 1 level or more",
            )
        if not self.fits and self.levels > MOST_CUTS:
            raise OptionError(
                f"The {self.levels:,} cells for column '{self.column}' are too fine to be told "
                "apart exactly",
                hint=f"use ends with fewer decimals, or up to {MOST_CUTS:,} levels",
            )
        if max(map(abs, (self.low, self.high))) > LARGEST_CELL:
            for cell in range(self.levels):
                _exact(self.column, self.edge(cell))
                _exact(self.column, self.middle(cell))

    @property
    def fits(self) -> bool:
        """Whether every edge is a quotient of integers that leave room in a double."""
        return max(map(abs, self.integers())) <= LARGEST_CELL

    def integers(self) -> tuple[int, int, int, int]:
        """Return A, W, D and B with edge_k = (A + k W) / D exactly, and B = A + levels W."""
        width = (self.high - self.low) / self.levels
        divisor = math.lcm(self.low.denominator, width.denominator)
        first, step = int(self.low * divisor), int(width * divisor)
        return first, step, divisor, first + self.levels * step

    def edge(self, number: int) -> Fraction:
        """Return the exact lower edge of a cell."""
        return self.low + number * (self.high - self.low) / self.levels

    def middle(self, cell: int) -> Fraction:
        """Return the exact middle of a cell."""
        return (self.edge(cell) + self.edge(cell + 1)) / 2

    def as_cuts(self) -> CutCells:
        """Return the same map as a list of cells."""
        numbers = range(self.levels)
        edges = tuple(map(self.edge, range(self.levels + 1)))
        middles = tuple(map(self.middle, numbers))
        spans = tuple((middle, middle) for middle in middles) if self.listed else ()
        return CutCells(self.column, edges, tuple(map(float, middles)), spans)


@dataclass(frozen=True)
class CutCells:
    """Cells between explicit edges, each released as a number of its own.

    Value v lies in cell k when edge_k <= v < edge_(k+1), edges rounded to the nearest double and
    the last cell closed. Values outside are clamped. The comparisons per row are as many as the
    number of cells has binary digits.
    """

    column: str
    edges: tuple[Fraction, ...]
    values: tuple[float, ...]
    spans: tuple[tuple[Fraction, Fraction], ...] = ()
    """The ends of what lies in each cell, if declared: values between them are counted."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) == len(self.edges) - 1 <= MOST_CUTS:
            raise OptionError(
                f"The cuts for column '{self.column}' have {len(self.edges):,} edges and "
                f"{len(self.values):,} values",
                hint=f"give one value more than inner edges, and up to {MOST_CUTS:,} values",
            )
        edges = tuple(_exact(self.column, edge) for edge in self.edges)
        object.__setattr__(self, "edges", edges)
        if any(
            lower > upper or (lower == upper and len(edges) > 2)  # one cell may be one number
            for lower, upper in itertools.pairwise(edges)
        ):
            raise OptionError(
                f"The edges of the cuts for column '{self.column}' do not increase",
                hint="list them from the smallest to the largest, each once",
            )
        if not all(isinstance(value, float) and math.isfinite(value) for value in self.values):
            raise OptionError(
                f"A value of the cuts for column '{self.column}' is not a finite number",
                hint="give every cell a number to be released as",
            )

    @property
    def low(self) -> Fraction:
        """The lower end of the range."""
        return self.edges[0]

    @property
    def high(self) -> Fraction:
        """The upper end of the range."""
        return self.edges[-1]


class Ranged(Protocol):
    """A rule for a column with a range."""

    @property
    def column(self) -> str:
        """The column."""


def set_range(rule: Ranged, low: object, high: object) -> None:
    """Store the ends of a range as the exact numbers that they stand for."""
    ends = _exact(rule.column, low), _exact(rule.column, high)
    if ends[1] < ends[0]:
        raise OptionError(
            f"The range of column '{rule.column}' ends before it begins",
            hint="write the smaller end first",
        )
    object.__setattr__(rule, "low", ends[0])
    object.__setattr__(rule, "high", ends[1])


def _exact(column: str, number: object) -> Fraction:
    exact = parse_number(number, name=f"an end of a range of column '{column}'")
    released_double(exact, column=column)
    return exact


def released_double(number: Any, *, column: str) -> float:
    """Return the double nearest to a number that an error is promised by.

    Beyond 2^48, where doubles come to be as far apart as whole numbers, one that it equals.
    """
    double = nearest_double(number, column=column)
    if double != number and abs(number) > LARGEST_CELL:
        raise OptionError(
            f"An end or a value of a cell of column '{column}' lies beyond 2^48 and would be "
            "rounded to the nearest double",
            hint="subtract a constant or choose a larger unit, so that the numbers are smaller",
        )
    return double


def nearest_double(number: Any, *, column: str) -> float:
    """Return the double nearest to a rational number, never minus zero, or say there is none."""
    try:
        return float(number) + 0.0
    except OverflowError:
        raise OptionError(
            f"A number given for column '{column}' is too large for any engine",
            hint="stay below 1e308",
        ) from None


# --- cells on every engine ------------------------------------------------------------------------


def as_doubles(table: Table, name: str) -> Any:
    """Return a column as doubles, each the nearest one."""
    return table.dialect.as_doubles(table.expression[name])


def clamp(value: Any, low: float, high: float, *, whole: bool = False) -> Any:
    """Return a number moved into a range; NULL stays NULL and NaN, of no whole number, becomes it.

    NaN is never found by a comparison: DuckDB answers one from the statistics of a Parquet file
    where it can, and those leave NaN out.
    """
    import ibis

    # Minus zero is no value beside an end of zero. Any other end is left to the first case: a case
    # that holds of all rows at hand costs an engine next to nothing.
    above = value > number(low) if low == 0 and not whole else value >= number(low)
    below = value < number(high) if high == 0 and not whole else value <= number(high)
    inside = above & below
    return ibis.cases(
        (inside if whole else inside & ~value.isnan(), value),
        *([] if whole else [(value.isnan(), ibis.null("float64"))]),
        (value <= number(low), number(low)),
        (value >= number(high), number(high)),
    )


def is_whole(table: Table, name: str) -> bool:
    """Tell whether a column holds integers, of which none is NaN."""
    return table.kind(name) is Kind.INTEGER


def put_into_cells(table: Table, cells: Mapping[str, UniformCells | CutCells]) -> Any:
    """Return rows with the cell of every clamped value, by name; NULL and NaN are in no cell."""
    named = cells.items()
    rows = table.expression.mutate(
        **{f"v_{name}": as_doubles(table, rule.column) for name, rule in named}
    )
    lists = {
        f"{name}_{key}": items
        for name, rule in named
        if not isinstance(rule, UniformCells)
        for key, items in cut_lists(table, rule).items()
    }
    rows = with_lists(rows, lists)
    clamped = {}
    for name, rule in named:
        ends = (
            float(rule.low),
            below_last(rule) if isinstance(rule, UniformCells) else float(rule.high),
        )
        clamped[f"c_{name}"] = clamp(rows[f"v_{name}"], *ends, whole=is_whole(table, rule.column))
    rows = rows.mutate(**clamped)
    return execute(rows, [cell_steps(table, rule, f"c_{name}", name) for name, rule in named])


def execute(rows: Any, programs: list[Steps]) -> Any:
    """Advance all programs step by step, so that their steps share queries."""
    made = {program: next(program) for program in programs}
    while made:
        new = {name: value for columns in made.values() for name, value in columns.items()}
        rows = rows.mutate(**new) if new else rows
        going, made = list(made), {}
        for program in going:
            try:
                made[program] = program.send(rows)
            except StopIteration:
                continue
    return rows


def with_lists(rows: Any, lists: Mapping[str, Sequence[Any]]) -> Any:
    """Add lists to every row, as one shared value, not a copy per row."""
    import ibis
    import pyarrow as pa

    held = pa.table({name: pa.array([list(items)]) for name, items in lists.items()})
    return rows.cross_join(ibis.memtable(held)) if lists else rows


def uniform_steps(dialect: Dialect, cells: UniformCells, value: str, result: str) -> Steps:
    """Guess the cell by one product and one sum, then correct the guess by one comparison.

    With every integer up to 2^48 the sum below is off by less than 0.19 of a cell, rounded edges
    included, so its floor is the right cell or the next one. Both the edge and the middle are one
    correctly rounded quotient of integers that a double holds exactly. The values in the column
    ``value`` are below the last edge.
    """
    import ibis

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
    rows = yield {edge: dialect.floor(guess) * number(float(width)) + number(float(first))}
    quotient = rows[edge] if divisor == 1 else dialect.divide(rows[edge], number(float(divisor)))
    offset = ibis.ifelse(rows[value] < quotient, number(-float(width)), number(float(width)))
    doubled = rows[edge] + rows[edge] + offset
    yield {result: dialect.divide(doubled, number(float(2 * divisor)))}


def compare_steps(
    edges: Sequence[float], values: Sequence[float], value: str, result: str
) -> Steps:
    """Find a cell by a tree of comparisons; their number per row is logarithmic."""
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
class EqualCellGrid:
    """Equal buckets over the cells, so that a search begins close to its end.

    The bucket of a number is floor(number * slope + shift) in doubles, which never decreases as
    the number grows. Hence an edge in an earlier bucket is not above a number, an edge in a later
    one is, and only the edges of its own bucket need to be compared, despite any rounding.
    """

    slope: float
    shift: float
    starts: tuple[int, ...]
    """For every bucket the first cell, counted from 1, that reaches into it."""
    most: int
    """The most edges in one bucket."""

    @classmethod
    def over(cls, edges: Sequence[float]) -> EqualCellGrid:
        """Return the coarsest grid that parts all edges, or the finest there may be."""
        buckets = 1 << (len(edges) - 2).bit_length()
        while True:
            grid = cls._with(edges, buckets)
            if grid.most <= 1 or buckets >= MOST_BUCKETS:
                return grid
            buckets *= 2

    @classmethod
    def _with(cls, edges: Sequence[float], buckets: int) -> EqualCellGrid:
        low, high, inner = edges[0], edges[-1], edges[1:-1]
        slope = buckets / (high - low) if high > low else 0.0
        if not math.isfinite(low * slope) or not math.isfinite(high * slope):
            slope = 0.0
        shift = -(low * slope)
        held = [math.floor(edge * slope + shift) for edge in inner]
        last = math.floor(high * slope + shift)
        starts = tuple(1 + bisect.bisect_left(held, bucket) for bucket in range(last + 1))
        return cls(slope, shift, starts, max(Counter(held).values(), default=0))

    def direct(
        self, edges: Sequence[float], values: Sequence[float]
    ) -> dict[str, Sequence[float]] | None:
        """Return for every bucket its edge and what lies below and above; None of a fuller one."""
        if self.most > 1:
            return None
        after = (*self.starts[1:], len(values))
        held = [last > first for first, last in zip(self.starts, after, strict=True)]
        return {
            "limits": [
                edges[start] if edge else math.inf
                for start, edge in zip(self.starts, held, strict=True)
            ],
            "below": [values[start - 1] for start in self.starts],
            "above": [
                values[start - 1 + edge] for start, edge in zip(self.starts, held, strict=True)
            ],
        }


def cell_steps(table: Table, rule: UniformCells | CutCells, value: str, result: str) -> Steps:
    """Put clamped numbers into cells, in the fastest way that an engine has."""
    if isinstance(rule, UniformCells):
        return uniform_steps(table.dialect, rule, value, result)
    edges = [float(edge) for edge in rule.edges]
    lists = cut_lists(table, rule)
    if "limits" in lists:
        return grid_steps(table.dialect, EqualCellGrid.over(edges), value, result)
    if lists:
        return search_cell_steps(table.dialect, EqualCellGrid.over(edges), value, result)
    return compare_steps(edges, rule.values, value, result)


def cut_lists(table: Table, rule: CutCells) -> dict[str, Sequence[Any]]:
    """Return the lists in which cells are looked up, by name; none where cases are quicker."""
    if not table.dialect.searches_lists or len(rule.values) <= MOST_NESTED:
        return {}
    edges = [float(edge) for edge in rule.edges]
    grid = EqualCellGrid.over(edges)
    searched = {"keys": edges[:-1], "values": rule.values, "starts": grid.starts}
    return grid.direct(edges, rule.values) or searched


def below_last(cells: UniformCells) -> float:
    """Return the largest double below the last edge: the last cell is closed."""
    low, high = float(cells.low), float(cells.high)
    return math.nextafter(high, -math.inf) if low < high else high


def grid_steps(dialect: Dialect, grid: EqualCellGrid, value: str, result: str) -> Steps:
    """Find a cell by its bucket and a comparison with the one edge there."""
    import ibis

    at, item = f"{result}_at", list_item("float64")
    rows = yield {}
    rows = yield {at: _bucket(dialect, rows[value], grid)}
    limit, low, high = (
        item(rows[f"{result}_{name}"], rows[at]) for name in ("limits", "below", "above")
    )
    yield {result: ibis.ifelse(rows[value] >= limit, high, low)}


def search_cell_steps(dialect: Dialect, grid: EqualCellGrid, value: str, result: str) -> Steps:
    """Find a cell by its bucket and a search among the edges there."""
    at = f"{result}_at"
    rows = yield {}
    columns = value, f"{result}_keys", f"{result}_starts"
    rows = yield from locate_steps(dialect, rows, grid, columns, at)
    yield {result: list_item("float64")(rows[f"{result}_values"], rows[at])}


def locate_steps(
    dialect: Dialect, rows: Any, grid: EqualCellGrid, columns: tuple[str, str, str], at: str
) -> Generator[dict[str, Any], Any, Any]:
    """Name a position, from 1: that of the last lower edge that is not above a value.

    The columns are those with the value, with the list of lower edges and with the starts.
    """
    value, keys, starts = columns
    rows = yield {at: list_item("int64")(rows[starts], _bucket(dialect, rows[value], grid))}
    rows = yield from search_steps(rows, grid.most, "float64", (value, keys, at))
    return rows


def search_steps(
    rows: Any, most: int, kind: str, columns: tuple[str, str, str]
) -> Generator[dict[str, Any], Any, Any]:
    """Move a position in a sorted list to the last key that is not above a value, by bisection.

    The columns are those with the value, with the list and with the position, from 1, which may
    have to move by ``most`` places.
    """
    import ibis

    value, keys, at = columns
    item = list_item(kind)
    for step in reversed([2**power for power in range(most.bit_length())]):
        further = rows[at] + step
        reached = rows[value] >= item(rows[keys], further)
        rows = yield {at: ibis.ifelse(reached, further, rows[at])}
    return rows


def _bucket(dialect: Dialect, value: Any, grid: EqualCellGrid) -> Any:
    """Return the position of the bucket of a number, from 1."""
    return dialect.floor(value * number(grid.slope) + number(grid.shift)).cast("int64") + 1


def list_item(kind: str) -> Any:
    """Return the access to a list, which counts from 1, of an engine that searches lists."""
    return builtin("list_extract", (f"array<{kind}>", "int64"), kind)
