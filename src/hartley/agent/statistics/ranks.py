"""Order statistics by exact selection: counts over narrower and narrower stretches of values.

The k-th smallest value of a form is found by counting rows in stretches of its values. One scan
is enough if the stretches can be single values; otherwise each further scan reads only the stretch
that holds the k-th row. All conditions of a batch that share a form are counted together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hartley.agent.statistics.scans import ConditionGrid, families, grid_for, whole
from hartley.agent.statistics.statements import (
    condition,
    conjoined,
    disjoined,
    form_value,
    inside,
    present,
)
from hartley.engines.coded.coded_copy import Cast, CodeStatement, Part

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from hartley.agent.questions.batch import Condition
    from hartley.agent.statistics.scans import Arrow
    from hartley.engines.coded.coded_copy import CodedTable, Term

    Terms = tuple[tuple[str, int], ...]

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

    The third of a wish says whether to count from the largest value down instead.

    The value is the sum of coefficients times codes; None if a condition has no row. Exact.
    One scan if the values, times the groups, are few; one more scan for every factor of 1,000.
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
