"""Counts and sums of many conditions in as few scans of the coded copy as possible.

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

from hartley.agent.questions.batch import All, Test, columns_of
from hartley.agent.statistics.statements import aggregate, condition
from hartley.engines.coded.coded_copy import CodeStatement, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from hartley.agent.questions.batch import Condition
    from hartley.agent.statistics.statements import RowMeasure
    from hartley.engines.coded.coded_copy import CodedTable, Term

Arrow: TypeAlias = Any
"""A result of an engine; Arrow carries no types."""
Request: TypeAlias = "tuple[Condition, RowMeasure]"

MOST_CELLS = 2**20
"""The largest grid that is added up here."""
SMALL_CELLS = 2**12
"""Grids up to this size cost hardly more than a plain scan, so they are merged."""
MOST_VALUES = 128
"""The largest number of aggregates in one statement."""


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
        parts = where.parts if isinstance(where, All) else (where,)
        by_cells = tuple(part for part in parts if self.columns.issuperset(columns_of(part)))
        rest = tuple(part for part in parts if part not in by_cells)
        return All(by_cells), All(rest)

    def cells(self, where: Condition) -> tuple[Any, ...]:
        """Return the cells of a condition as an index of arrays of this shape."""
        parts = where.parts if isinstance(where, All) else (where,)
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
            if columns <= others or _cells(coded, union) <= SMALL_CELLS:
                merged[i] = (union, members + listed[columns])
                break
        else:
            merged.append((columns, listed[columns]))
    return merged


def _cells(coded: CodedTable, columns: Iterable[str]) -> int:
    return math.prod(axis_of(coded, column).size for column in columns)


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


def _chunks(items: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), MOST_VALUES):
        yield items[start : start + MOST_VALUES]
