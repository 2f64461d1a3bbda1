"""The integer statistics of questions, computed on the engine that holds the coded copy.

An engine only computes counts, sums of codes, sums of products of codes and counts of values;
forms are composed from them here, in integers of any size. So the same questions have the same
totals on every engine and in every run.

If all questions share one condition, it becomes the WHERE of one statement. If they differ, the
columns of their conditions become the keys of one GROUP BY, whose cells are added up here in exact
integers: a thousand conditions over the same few columns take one scan. Questions that do not fit
into a grid of cells are asked alone, or as FILTER clauses in one statement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hartley.engines.coded_table import Cast, CodeStatement, Part
from hartley.trusted.questions.batch import All, Statistic, Test, columns_of
from hartley.trusted.questions.condition import about_nobody

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from hartley.engines.coded_table import CodedTable, Term
    from hartley.schema.schema import Schema
    from hartley.trusted.questions.batch import Condition, Question

    Terms = tuple[tuple[str, int], ...]
    Recipe: TypeAlias = list[tuple[int, "Request"]]
    """Measures of conditions, each with a factor."""


# --- statements -----------------------------------------------------------------------------------
# Conditions and sums over codes as parts of statements, built as trees and never as text.

WHOLE = 2**63
"""Sums below this fit into 64 bits; larger ones need 128 bits or decimal digits."""
LARGEST = 10**38
"""Every engine holds whole numbers below this exactly."""


@dataclass(frozen=True)
class RowMeasure:
    """What an engine computes for a set of rows: a count, a sum of products, an end of a form."""

    kind: str
    """count, sum, min or max."""
    terms: tuple[tuple[str, int], ...] = ()
    """For a sum, the columns of the product, one per factor; for an end, the form."""
    present: frozenset[str] = frozenset()
    """Columns that must have a value for a row to count."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the terms."""
        return tuple(column for column, _ in self.terms)


# --- conditions -------------------------------------------------------------------------------


def condition(coded: CodedTable, where: Condition) -> Term | None:
    """Return a condition that is TRUE for exactly these rows; None if it is TRUE for all."""
    if isinstance(where, Test):
        return _test(coded, where)
    parts = [condition(coded, part) for part in where.parts]
    if isinstance(where, All):
        return conjoined(parts)
    if None in parts:
        return None
    return disjoined([part for part in parts if part is not None])


def disjoined(parts: list[Term]) -> Term:
    """Return the condition that some part holds; FALSE if there is no part."""
    return Part("false") if not parts else _joined("or", parts)


def conjoined(parts: Iterable[Term | None]) -> Term | None:
    """Return the condition that all parts hold; None if there is none."""
    held = [part for part in parts if part is not None]
    return _joined("and", held) if held else None


def present(coded: CodedTable, columns: Iterable[str]) -> Term | None:
    """Return the condition that no column is missing; None if none can be."""
    return conjoined(
        Part("is not null", (coded.column(name),))
        for name in sorted(columns)
        if coded.coding(name).nullable
    )


def inside(value: Term, low: int, high: int) -> Term:
    """Return the condition that a value lies in a closed range."""
    return Part("=", (value, low)) if low == high else Part("between", (value, low, high))


def _joined(kind: str, parts: list[Term]) -> Term:
    """Join conditions in a tree of the least depth."""
    # Neighbours are paired until one is left: a chain of a thousand ORs would be a thousand deep,
    # and DuckDB refuses expressions of that depth.
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [*(Part(kind, pair) for pair in pairs), *parts[len(parts) // 2 * 2 :]]
    return parts[0]


def _test(coded: CodedTable, test: Test) -> Term | None:
    coding = coded.coding(test.column)
    last = coding.points - 1
    if test.codes == ((0, last),):
        if test.missing or not coding.nullable:
            return None
        return Part("is not null", (coded.column(test.column),))
    parts = _ranges(coded, test, last)
    if test.missing:
        parts.append(Part("is null", (coded.column(test.column),)))
    return disjoined(parts)


def _ranges(coded: CodedTable, test: Test, last: int) -> list[Term]:
    column, codes = coded.column(test.column), test.codes
    # All codes but one: one comparison instead of two ranges.
    if len(codes) == 2 and (codes[0][0], codes[1][1]) == (0, last):
        (_, before), (after, _) = codes
        if after - before == 2:
            return [Part("<>", (column, before + 1))]
    lone = [low for low, high in codes if low == high]
    parts: list[Term] = []
    if len(lone) > 1:
        parts.append(Part("in", (column, *lone)))
    for low, high in codes:
        if low == high and len(lone) > 1:
            continue
        if low == high or (low > 0 and high < last):
            parts.append(inside(column, low, high))
        elif low > 0:
            parts.append(Part(">=", (column, low)))
        else:
            parts.append(Part("<=", (column, high)))
    return parts


# --- aggregates -------------------------------------------------------------------------------


def aggregate(coded: CodedTable, measure: RowMeasure, where: Condition | None = None) -> Term:
    """Return a measure of the rows of a condition, as a 64-bit integer if it fits.

    No sum can overflow: its largest value follows from the points of its columns and the number
    of rows, and beyond 64 bits it is taken in 128 bits or 38 decimal digits.
    """
    fits, needed = True, set(measure.present)
    if measure.kind == "count":
        # COUNT of a column leaves out missing values by itself, which spares a FILTER.
        counted = [column for column in needed if coded.coding(column).nullable]
        alone = len(counted) == 1
        call: Term = Part("count", (coded.column(counted[0]),)) if alone else Part("count rows")
        needed -= set(counted) if alone else set()
    elif measure.kind == "sum":
        value, fits = _summand(coded, measure.columns)
        call = Part("sum", (value,))
    else:
        call = Part(measure.kind, (form_value(coded, measure.terms),))
    # SUM, MIN and MAX skip rows in which their value is NULL, as a product or form is with one
    # column missing.
    needed -= set(measure.columns)
    row_filter = conjoined(
        [None if where is None else condition(coded, where), present(coded, needed)]
    )
    if row_filter is not None:
        call = Part("filter", (call, row_filter))
    # DuckDB and PostgreSQL give sums back as 128-bit integers or decimals, which arrive as Python
    # objects; 64 bits arrive as an array.
    return Cast(call, "BIGINT") if fits and measure.kind == "sum" else call


def _summand(coded: CodedTable, columns: tuple[str, ...]) -> tuple[Term, bool]:
    """Return a product of columns, wide enough, and whether its sum fits into 64 bits."""
    # int64 wraps silently in several engines. How large a sum can be follows from the schema and
    # the number of rows, so the width is chosen before anything is added.
    largest = math.prod(coded.coding(column).points - 1 for column in columns)
    fits = largest * coded.rows < WHOLE
    first, *others = [coded.column(column) for column in columns]
    value: Term = first
    if others:
        if largest < WHOLE:
            # Codes are stored as narrow as they fit, and engines multiply in the type of a factor.
            kind = "INT" if largest < 2**31 else "BIGINT"
        else:
            # Wide enough for the product: DECIMAL(18,0) twice makes 36 digits, which 38 hold.
            kind = coded.dialect.wide_factor
        value = Cast(first, kind)
        for factor in others:
            value = Part("*", (value, Cast(factor, kind)))
    if not fits and coded.dialect.wide_sum is not None:
        value = Cast(value, coded.dialect.wide_sum)
    return value, fits


def form_value(coded: CodedTable, terms: tuple[tuple[str, int], ...]) -> Term:
    """Return the sum of coefficients times codes; a lone code is returned itself."""
    if len(terms) == 1 and terms[0][1] == 1:
        return coded.column(terms[0][0])
    value: Term | None = None
    for column, coefficient in terms:
        part = Part("*", (coefficient, Cast(coded.column(column), "BIGINT")))
        value = part if value is None else Part("+", (value, part))
    assert value is not None
    return value


# --- scans ----------------------------------------------------------------------------------------


Arrow: TypeAlias = Any
"""A result of an engine; Arrow carries no types."""
Request: TypeAlias = "tuple[Condition, RowMeasure]"

MOST_CELLS = 2**20
"""The largest grid that is added up here."""
SMALL_CELLS = 2**12
"""Grids up to this size cost hardly more than a plain scan, so they are merged."""
MOST_VALUES = 128
"""The largest number of aggregates in one statement."""


def _parts(where: Condition) -> tuple[Condition, ...]:
    return where.parts if isinstance(where, All) else (where,)


@dataclass(frozen=True)
class Axis:
    """A column as a key: its codes, or stretches of codes that no condition distinguishes."""

    column: str
    points: int
    nullable: bool
    starts: tuple[int, ...] | None = None
    """The first code of every stretch; None if every code is its own."""

    @property
    def size(self) -> int:
        """How many places there are; a missing value has the last one."""
        return (self.points if self.starts is None else len(self.starts)) + self.nullable

    def passing(self, test: Test) -> NDArray[np.bool_]:
        """Return which places pass a test."""
        passes = np.zeros(self.size, dtype=bool)
        starts = None if self.starts is None else np.array(self.starts)
        for low, high in test.codes:
            ends = (low, high + 1) if starts is None else np.searchsorted(starts, (low, high + 1))
            passes[ends[0] : ends[1]] = True
        if self.nullable:
            passes[-1] = test.missing
        return passes

    def key(self, coded: CodedTable) -> Term:
        """Return the place of a row; NULL if the value is missing."""
        if self.starts is None:
            return coded.column(self.column)
        chosen = _choose(coded, self.column, self.starts, 0)
        if not self.nullable:
            return chosen
        # NULL <= x is not TRUE: without this, a missing value would get the last stretch.
        missing = Part("is null", (coded.column(self.column),))
        return Part("case", (missing, Part("null"), chosen))


def _choose(coded: CodedTable, column: str, starts: tuple[int, ...], first: int) -> Term:
    """Return a tree of comparisons that finds a stretch in logarithmically many steps."""
    if len(starts) == 1:
        return first
    middle = len(starts) // 2
    below = Part("<=", (coded.column(column), starts[middle] - 1))
    left = _choose(coded, column, starts[:middle], first)
    right = _choose(coded, column, starts[middle:], first + middle)
    return Part("case", (below, left, right))


@dataclass
class ConditionGrid:
    """Axes, and conditions as sets of cells."""

    axes: tuple[Axis, ...]
    _tests: dict[Test, NDArray[np.bool_]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many places each axis has."""
        return tuple(axis.size for axis in self.axes)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that are keys."""
        return frozenset(axis.column for axis in self.axes)

    def split(self, where: Condition) -> tuple[Condition, Condition]:
        """Split a condition into a part over cells and a part that needs the rows."""
        if not self.axes:
            return All(), where
        parts = _parts(where)
        by_cells = tuple(part for part in parts if self.columns.issuperset(columns_of(part)))
        rest = tuple(part for part in parts if part not in by_cells)
        return All(by_cells), All(rest)

    def cells(self, where: Condition) -> tuple[Any, ...]:
        """Return the cells of a condition as an index of arrays of this shape."""
        parts = _parts(where)
        tests = [part for part in parts if isinstance(part, Test)]
        # A conjunction with one test per column is a product of sets, and needs no mask of cells.
        if len(tests) < len(parts) or len({test.column for test in tests}) < len(tests):
            return np.nonzero(np.broadcast_to(self._mask(where), self.shape))
        passing = {test.column: self._passing(test) for test in tests}
        every = [np.ones(size, dtype=bool) for size in self.shape]
        chosen = [
            passing.get(axis.column, full) for axis, full in zip(self.axes, every, strict=True)
        ]
        return np.ix_(*chosen) if chosen else ()

    def _passing(self, test: Test) -> NDArray[np.bool_]:
        if test not in self._tests:
            axis = next(axis for axis in self.axes if axis.column == test.column)
            self._tests[test] = axis.passing(test)
        return self._tests[test]

    def _mask(self, where: Condition) -> NDArray[np.bool_]:
        if isinstance(where, Test):
            at = [axis.column for axis in self.axes].index(where.column)
            shape = [1] * len(self.axes)
            shape[at] = -1
            return self._passing(where).reshape(shape)
        combine = np.logical_and if isinstance(where, All) else np.logical_or
        mask = np.array(isinstance(where, All))
        for part in where.parts:
            mask = combine(mask, self._mask(part))
        return mask

    def places(self, fetched: Arrow) -> tuple[NDArray[np.int64], ...]:
        """Return the cell of every fetched group, one index per axis."""
        return tuple(
            whole(fetched.column(f"k{i}"), axis.size - 1) for i, axis in enumerate(self.axes)
        )


def whole(column: Arrow, missing: int) -> NDArray[Any]:
    """Return a fetched column of whole numbers, exact however large, with missing ones filled."""
    import pyarrow as pa

    if pa.types.is_integer(column.type):
        wide = column.cast(pa.int64())
        filled = (wide.fill_null(missing) if wide.null_count else wide).combine_chunks()
        if not len(filled):
            return np.empty(0, np.int64)
        # Arrow's own conversion would import pandas, which takes longer than most questions.
        return np.frombuffer(filled.buffers()[1], np.int64, len(filled), 8 * filled.offset)
    # Decimals and 128-bit integers become Python integers, which NumPy adds up exactly.
    numbers = [missing if value is None else int(value) for value in column.to_pylist()]
    return np.array([*numbers, None], dtype=object)[:-1]


# --- planning ---------------------------------------------------------------------------------


def axis_of(coded: CodedTable, column: str, conditions: Iterable[Condition] | None = None) -> Axis:
    """Return a column as a key; with conditions, in the stretches that they distinguish."""
    coding = coded.coding(column)
    if conditions is None:
        return Axis(column, coding.points, coding.nullable)
    starts = {0}
    for where in conditions:
        for test in leaves_of(where):
            if test.column == column:
                starts.update(edge for low, high in test.codes for edge in (low, high + 1))
    inner = tuple(sorted(start for start in starts if start < coding.points))
    return Axis(column, coding.points, coding.nullable, inner)


def leaves_of(where: Condition) -> Iterator[Test]:
    """Name the tests of a condition."""
    if isinstance(where, Test):
        yield where
    else:
        for part in where.parts:
            yield from leaves_of(part)


def families(
    coded: CodedTable, conditions: Iterable[Condition]
) -> list[tuple[frozenset[str], list[Condition]]]:
    """Group conditions over the same columns; small grids are merged into one."""
    listed: dict[frozenset[str], list[Condition]] = {}
    for where in conditions:
        listed.setdefault(frozenset(columns_of(where)), []).append(where)
    merged: list[tuple[frozenset[str], list[Condition]]] = []
    for columns in sorted(listed, key=lambda names: (-len(names), sorted(names))):
        for i, (others, members) in enumerate(merged):
            union = columns | others
            if (
                columns <= others
                or math.prod(axis_of(coded, each).size for each in union) <= SMALL_CELLS
            ):
                merged[i] = (union, members + listed[columns])
                break
        else:
            merged.append((columns, listed[columns]))
    return merged


def grid_for(
    coded: CodedTable, columns: Iterable[str], conditions: list[Condition], most: int
) -> ConditionGrid:
    """Return the grid for conditions, with as many of their columns as fit."""
    axes = [axis_of(coded, column) for column in sorted(columns)]
    if math.prod(axis.size for axis in axes) > min(most, MOST_CELLS // 8):
        cut = [axis_of(coded, axis.column, conditions) for axis in axes]
        axes = [
            shorter if shorter.size < axis.size else axis
            for axis, shorter in zip(axes, cut, strict=True)
        ]
    used = {axis: sum(axis.column in columns_of(where) for where in conditions) for axis in axes}
    axes = [axis for axis in axes if axis.size > 1]  # a key that never varies is a number
    # What most conditions ask for stays a key; the rest of a condition becomes a FILTER.
    axes.sort(key=lambda axis: (-used[axis], axis.size))
    while math.prod(axis.size for axis in axes) > most:
        axes.pop()
    return ConditionGrid(tuple(axes))


# --- execution --------------------------------------------------------------------------------


def scan(coded: CodedTable, requests: Iterable[Request]) -> dict[Request, int | None]:
    """Compute measures of the rows of conditions; None if no row has an end."""
    wanted = list(dict.fromkeys(requests))
    conditions = list(dict.fromkeys(where for where, _ in wanted))
    if len(conditions) == 1:
        return _alone(coded, wanted)
    results: dict[Request, int | None] = {}
    lone: list[Request] = []
    for columns, members in families(coded, conditions):
        held = set(members)
        mine = [request for request in wanted if request[0] in held]
        grid = grid_for(coded, columns, members, MOST_CELLS)
        if len(members) > 1 and grid.axes:
            results |= _grouped(coded, grid, mine)
        elif coded.dialect.skips_rows:
            for where in members:
                results |= _alone(coded, [request for request in mine if request[0] == where])
        else:
            lone += mine
    return results | (_grouped(coded, ConditionGrid(()), lone) if lone else {})


def _alone(coded: CodedTable, requests: list[Request]) -> dict[Request, int | None]:
    """Compute measures of one condition with a plain statement."""
    where = condition(coded, requests[0][0])
    results: dict[Request, int | None] = {}
    for chunk in _chunks(requests):
        values = tuple([aggregate(coded, measure) for _, measure in chunk])
        fetched = coded.run_for_row(CodeStatement((), values, where))
        for request, value in zip(chunk, fetched, strict=True):
            additive = request[1].kind in ("count", "sum")
            results[request] = 0 if value is None and additive else value
    return results


def _grouped(
    coded: CodedTable, grid: ConditionGrid, requests: list[Request]
) -> dict[Request, int | None]:
    """Compute measures of many conditions by the cells of a grid."""
    split = {where: grid.split(where) for where in dict.fromkeys(where for where, _ in requests)}
    slots = list(dict.fromkeys((split[where][1], measure) for where, measure in requests))
    keys = tuple([axis.key(coded) for axis in grid.axes])
    results: dict[Request, int | None] = {}
    cells = {where: grid.cells(by_cells) for where, (by_cells, _) in split.items()}
    for chunk in _chunks(slots):
        values = tuple([aggregate(coded, measure, rest) for rest, measure in chunk])
        fetched = coded.run(CodeStatement(keys, values))
        places = grid.places(fetched)
        filled = {
            slot: _fill(grid, places, slot[1], fetched.column(f"v{i}"))
            for i, slot in enumerate(chunk)
        }
        for where, measure in requests:
            slot = split[where][1], measure
            if slot in filled:
                results[where, measure] = _reduce(measure, filled[slot][cells[where]])
    return results


def _chunks(items: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), MOST_VALUES):
        yield items[start : start + MOST_VALUES]


_NEUTRAL = {"count": 0, "sum": 0, "min": 2**63 - 1, "max": -(2**63)}
"""The ends of cells without rows. Forms of rows stay below 2^62, so no real end equals them."""


def _fill(
    grid: ConditionGrid,
    places: tuple[NDArray[np.int64], ...],
    measure: RowMeasure,
    column: Arrow,
) -> NDArray[Any]:
    """Put fetched values into their cells."""
    neutral = _NEUTRAL[measure.kind]
    values = whole(column, neutral)
    filled = np.full(grid.shape, neutral, dtype=values.dtype)
    filled[places or ...] = values if places else values[0]
    return filled


def _reduce(measure: RowMeasure, cells: NDArray[Any]) -> int | None:
    values = np.asarray(cells)  # a single cell is a number
    if measure.kind in ("count", "sum"):
        # No overflow: 64-bit columns hold sums that fit for all rows together, others are objects.
        return int(values.sum()) if values.size else 0
    if not values.size:
        return None
    end = int(values.min() if measure.kind == "min" else values.max())
    return None if end == _NEUTRAL[measure.kind] else end


# --- ranks ----------------------------------------------------------------------------------------
# Order statistics by exact selection: counts over narrower and narrower stretches of values.
#
# The k-th smallest value of a form is found by counting rows in stretches of its values. One scan
# is enough if the stretches can be single values; otherwise each further scan reads only the
# stretch that holds the k-th row. All conditions of a batch that share a form are counted
# together.

MOST_COUNTS = 2**19
"""The largest number of counts in one scan."""
FEW_COUNTS = 2**14
"""Up to this many counts, the embedded engine is as fast as a plain scan; beyond, two scans are."""
STRETCHES = 2**10
"""The number of stretches into which a condition's values are divided, if there is room."""
MOST_GROUPS = 2**16
"""The largest number of cells of conditions that are counted together."""
MOST_STRETCHES = 32
"""The largest number of separate stretches in one scan."""


@dataclass
class Search:
    """Where the k-th smallest of the rows of a condition can still be."""

    where: Condition
    quantile: Fraction
    falling: bool
    """Whether rows are counted from the largest value down."""
    low: int
    width: int
    rank: int | None = None
    """The rank of the wanted row within the stretch; None until rows are counted."""
    empty: bool = False

    def narrow(self, values: NDArray[np.int64], counts: NDArray[np.int64], width: int) -> None:
        """Continue with the counted stretch that holds the wanted row."""
        total = np.cumsum(counts)  # rows up to and with each stretch
        rows = int(total[-1]) if total.size else 0
        if rows == 0:
            self.empty = True
            return
        if self.rank is None:
            # The ceil(p n)-th smallest, p rational: exact, and no interpolation between values.
            # Of a form with a negative factor the codes fall while its values rise.
            rank = max(1, math.ceil(self.quantile * rows))
            self.rank = rows + 1 - rank if self.falling else rank
        at = int(np.searchsorted(total, self.rank))
        self.rank -= int(total[at] - counts[at])
        self.low, self.width = int(values[at]), width


def select_ranks(
    coded: CodedTable, terms: Terms, wanted: Sequence[tuple[Condition, Fraction, bool]]
) -> list[int | None]:
    """Return, for every condition and quantile p, the ceil(p n)-th smallest value of a form.

    The third of a wish says whether to count from the largest value down instead. The value is the
    sum of coefficients times codes; None if a condition has no row. Exact. One scan if the values,
    times the groups, are few; one more scan for every factor of 1,000.
    """
    low = sum(min(0, a * (coded.coding(column).points - 1)) for column, a in terms)
    width = 1 + sum(abs(a) * (coded.coding(column).points - 1) for column, a in terms)
    searches = [Search(where, quantile, falling, low, width) for where, quantile, falling in wanted]
    conditions = list(dict.fromkeys(where for where, *_ in wanted))
    for columns, members in families(coded, conditions):
        held = set(members)
        _narrow(coded, terms, columns, [search for search in searches if search.where in held])
    return [None if search.empty else search.low for search in searches]


def _narrow(
    coded: CodedTable, terms: Terms, columns: frozenset[str], searches: list[Search]
) -> None:
    """Narrow searches together while that makes progress, otherwise in two halves."""
    rows = coded.rows
    while searches:
        conditions = list(dict.fromkeys(search.where for search in searches))
        grid, apart = ConditionGrid(()), False
        if len(conditions) > 1:
            grid = grid_for(coded, columns, conditions, MOST_GROUPS)
            # Without axes one WHERE serves all searches, so it must be the condition of each.
            apart = not grid.axes or not columns <= grid.columns
        # Many groups leave little room for stretches: where they are no narrower than before, fewer
        # conditions are searched at a time.
        width = _width(coded, grid, searches, rows)
        stuck = width > 1 and width >= max(search.width for search in searches)
        if stuck or apart:
            order = {where: place for place, where in enumerate(conditions)}
            searches.sort(key=lambda search: (order[search.where], search.low))
            middle = len(searches) // 2  # one search alone is never stuck
            _narrow(coded, terms, columns, searches[:middle])
            _narrow(coded, terms, columns, searches[middle:])
            return
        counted = _count(coded, terms, grid, searches, width)
        searches = [search for search in searches if not search.empty and search.width > 1]
        rows = counted.within(_stretches(searches))


def _width(coded: CodedTable, grid: ConditionGrid, searches: list[Search], rows: int) -> int:
    """Return how many values are counted together: one, if that makes few enough counts."""
    cells = math.prod(grid.shape)
    most = cells * sum(high - low + 1 for low, high in _stretches(searches))
    # One value at a time ends the search with this scan. With few rows there are few counts,
    # for any number of values; otherwise values are bundled so that counts stay few.
    few = FEW_COUNTS if coded.dialect.skips_rows else MOST_COUNTS
    if rows <= MOST_COUNTS or most <= min(MOST_COUNTS, max(few, cells * STRETCHES // 2)):
        return 1
    return 1 << ((most - 1) // min(MOST_COUNTS // 2, cells * STRETCHES)).bit_length()


def _stretches(searches: list[Search]) -> list[tuple[int, int]]:
    """Return the values that are still possible as few closed stretches."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted({(search.low, search.low + search.width - 1) for search in searches}):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged if len(merged) <= MOST_STRETCHES else [(merged[0][0], merged[-1][1])]


def _count(
    coded: CodedTable, terms: Terms, grid: ConditionGrid, searches: list[Search], width: int
) -> ValueCounts:
    """Count the rows of every cell and stretch of values, and narrow the searches by that."""
    stretches = _stretches(searches)
    first = stretches[0][0]
    value = form_value(coded, terms)
    key = value if width == 1 else _stretch(value, first, width)
    filters = [present(coded, [column for column, _ in terms])]
    if not grid.axes:
        (where,) = {search.where for search in searches}
        filters.append(condition(coded, where))
    if searches[0].rank is not None:  # before anything is counted every value is possible
        filters.append(disjoined([inside(value, low, high) for low, high in stretches]))
    keys = [axis.key(coded) for axis in grid.axes]
    fetched = coded.run(CodeStatement((*keys, key), (Part("count rows"),), conjoined(filters)))
    values = whole(fetched.column(f"k{len(keys)}"), 0)
    if width > 1:
        values = first + values * width
    counted = ValueCounts.fetched(grid, fetched, values)
    chosen: dict[Condition, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    for search in searches:
        if search.where not in chosen:
            chosen[search.where] = counted.of(search.where)
        seen, times = chosen[search.where]
        near = (seen >= search.low) & (seen < search.low + search.width)
        search.narrow(seen[near], times[near], width)
    return counted


def _stretch(value: Term, first: int, width: int) -> Term:
    """Return the number of the stretch of a value; a shift, since widths are powers of two.

    Not a division: of integers, / is a double in DuckDB and Spark, and whole in PostgreSQL.
    """
    above = Part("-", (Cast(value, "BIGINT"), Cast(first, "BIGINT")))
    return Part("shift right", (above, width.bit_length() - 1))


@dataclass(frozen=True)
class ValueCounts:
    """Counted rows, ordered by cell and then by value."""

    grid: ConditionGrid
    cells: NDArray[np.int64]
    values: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def fetched(cls, grid: ConditionGrid, groups: Arrow, values: NDArray[np.int64]) -> ValueCounts:
        """Order what an engine counted."""
        counts = whole(groups.column("v0"), 0)
        places = grid.places(groups)
        cells = np.ravel_multi_index(places, grid.shape) if places else np.zeros_like(values)
        order = np.lexsort((values, cells))
        return cls(grid, cells[order], values[order], counts[order])

    def within(self, stretches: list[tuple[int, int]]) -> int:
        """Return how many rows have a value in some stretches."""
        inside = np.zeros(self.values.size, dtype=bool)
        for low, high in stretches:
            inside |= (self.values >= low) & (self.values <= high)
        return int(self.counts[inside].sum())

    def of(self, where: Condition) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the values of the rows of a condition in order, and how often each occurs."""
        values, counts = self.values, self.counts
        if self.grid.axes:
            numbers = np.arange(math.prod(self.grid.shape)).reshape(self.grid.shape)
            chosen = np.sort(numbers[self.grid.cells(where)].ravel())
            if chosen.size == 1:
                start, end = np.searchsorted(self.cells, (chosen[0], chosen[0] + 1))
                return values[start:end], counts[start:end]
            inside = np.isin(self.cells, chosen, assume_unique=False)
            values, counts = values[inside], counts[inside]
        seen, at = np.unique(values, return_inverse=True)
        times = np.zeros(seen.size, dtype=np.int64)
        np.add.at(times, at, counts)
        return seen, times


# --- questions ------------------------------------------------------------------------------------


def totals(coded: CodedTable, questions: Sequence[Question]) -> list[int | None]:
    """Return the statistic of every question: an exact integer, or None for an end without rows.

    Codes are added in 128 bits or 38 digits if 64 bits could overflow, and ``fits`` says at price
    time whether that is enough.
    """
    # "Questions about nobody" (docs/accountant.md): they are priced as one cell, so what an engine
    # would say must not matter. 0 and None are what it says of no rows.
    columns = {coding.column: coding for coding in coded.codings}
    recipes = {
        place: _recipe(coded, question)
        for place, question in enumerate(questions)
        if not about_nobody(question.where, question.form, columns)
    }
    measured = scan(coded, [request for recipe in recipes.values() for _, request in recipe or ()])
    results = [None if question.statistic is Statistic.ORDER else 0 for question in questions]
    ranked: dict[Terms, list[int]] = {}
    for place, recipe in recipes.items():
        question = questions[place]
        if recipe is None:  # all questions about one form are ranked together
            ranked.setdefault(_base(question)[0], []).append(place)
        elif question.statistic is Statistic.ORDER:
            results[place] = _shifted(question, measured[recipe[0][1]])
        else:
            # Coefficients are multiplied here, where integers have no size: an engine adds codes.
            results[place] = sum(factor * (measured[request] or 0) for factor, request in recipe)
    for terms, places in ranked.items():
        names = [column for column, _ in terms]
        wanted = []
        for question in (questions[place] for place in places):
            assert question.quantile is not None
            rest, _ = _without_presence(coded, question.where, names)
            wanted.append((rest, question.quantile, _base(question)[1] < 0))
        for place, value in zip(places, select_ranks(coded, terms, wanted), strict=True):
            results[place] = _shifted(questions[place], value)
    return results


def fits(question: Question, schema: Schema, rows: int) -> bool:
    """Tell, from the schema alone, whether every engine can compute a question exactly."""
    last = {name: column.points - 1 for name, column in schema.columns.items()}
    terms = () if question.form is None else question.form.terms
    largest = max((last[column] for column, _ in terms), default=0)
    if question.statistic is Statistic.ORDER:
        # A form of several columns is computed row by row in 64 bits, and the search subtracts
        # its smallest value: half of them leaves room for both.
        reach = sum(abs(factor) * last[column] for column, factor in terms)
        return len(terms) <= 1 or reach < WHOLE // 2
    if question.statistic is Statistic.SQUARES:
        largest **= 2
    return max(largest, 1) * rows < LARGEST and rows < WHOLE


def _recipe(coded: CodedTable, question: Question) -> Recipe | None:
    """Return a question as measures of rows, or None if rows have to be ranked."""
    rest, present = _without_presence(coded, question.where)
    form = question.form
    if question.statistic is Statistic.ORDER:
        if question.quantile not in (0, 1):
            return None
        terms, factor = _base(question)
        # The smallest of -x is that of the largest x.
        end = "min" if (question.quantile == 0) == (factor > 0) else "max"
        needed = present | {column for column, _ in terms}
        return [(1, (rest, RowMeasure(end, terms, frozenset(needed))))]
    count = rest, RowMeasure("count", present=present)
    if form is None or question.statistic is Statistic.COUNT:
        return [(1, count)]
    # (c + sum of f_i x_i)^2 is expanded into counts, sums and sums of products of two codes.
    constant, square = form.constant, question.statistic is Statistic.SQUARES
    recipe: Recipe = [(constant**2 if square else constant, count)]
    for i, (column, factor) in enumerate(form.terms):
        alone = rest, RowMeasure("sum", ((column, 1),), present)
        recipe.append((2 * constant * factor if square else factor, alone))
        for other, second in form.terms[i:] if square else ():
            both = rest, RowMeasure("sum", ((column, 1), (other, 1)), present)
            recipe.append((factor * second * (1 if other == column else 2), both))
    return [(factor, request) for factor, request in recipe if factor] or [(0, count)]


def _without_presence(
    coded: CodedTable, where: Condition, columns: Iterable[str] | None = None
) -> tuple[Condition, frozenset[str]]:
    """Remove from a condition that columns are present: sums skip missing values anyway."""
    # Questions about several columns then share one condition, and so one scan.
    parts = _parts(where)
    taken = [
        part
        for part in parts
        if isinstance(part, Test)
        and not part.missing
        and part.codes == ((0, coded.coding(part.column).points - 1),)
        and (columns is None or part.column in columns)
    ]
    present = frozenset(part.column for part in taken)
    return All(tuple(part for part in parts if part not in taken)), present


def _base(question: Question) -> tuple[Terms, int]:
    """Return the form that is ranked and the factor that leads back: of one column its code."""
    assert question.form is not None
    if len(question.form.terms) == 1:
        ((column, factor),) = question.form.terms
        return ((column, 1),), factor
    return question.form.terms, 1


def _shifted(question: Question, value: int | None) -> int | None:
    assert question.form is not None
    return None if value is None else question.form.constant + _base(question)[1] * value
