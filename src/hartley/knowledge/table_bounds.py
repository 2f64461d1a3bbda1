"""Intervals of hidden cells, with proofs and witnesses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import InputError
from hartley.exact import lifted
from hartley.kernels.sums import FAR, PRIME, combination, eliminate, kernel_vector
from hartley.knowledge.cover import SELECTION
from hartley.knowledge.table_system import (
    HIGH,
    LOW,
    Bounds,
    BoxFrame,
    Multipliers,
    NoTableFits,
    TableWindow,
    components,
    whole_end,
)
from hartley.tables.described import contributions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.knowledge.cover import Cover, CoverAxis, Selections
    from hartley.knowledge.table_system import LinearSystem, TableComponent
    from hartley.tables.crosstab import Crosstab, PublishedCell
    from hartley.tables.described import CategoryTree


# --- inference ------------------------------------------------------------------------------------
# What each cell of a published table can be: bounds with proofs, and whole tables that fit.

MOST_FILL = 60_000_000
"""Entries of all rows of an elimination; beyond, nothing more is settled by it."""
MOST_UNKNOWNS = 20_000
"""Beyond so many unknown cells a component gets one programme, for a table to begin with."""
MOST_STEPS = 200_000
"""The most steps of the simplex method for that table."""
MOST_SOLVES = 20_000
"""At most this many programmes are solved in a component."""
MOST_TOGETHER = 40
"""At most this many programmes for many ends at once."""
NODES = 200
"""The most nodes of a search for one whole table that fits."""
VARIED = 10
"""So many vertices are looked at, one after the other, for tables that differ."""
SEED = 61


@dataclass(frozen=True)
class CellRange:
    """What a cell can be: never outside low to high, and certainly both least and most."""

    low: int | None
    high: int | None
    least: int | None
    most: int | None

    @property
    def exact(self) -> bool:
        """Whether both ends are attained by tables that fit."""
        return self.low == self.least and self.high == self.most

    @property
    def settled(self) -> bool:
        """Whether one number alone is left."""
        return self.low is not None and self.low == self.high


def listed_changes(
    changes: Sequence[Mapping[int, int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return where each change begins, and the cells and changes of all of them in order."""
    start = np.cumsum([0, *map(len, changes)])
    cells = np.array([cell for change in changes for cell in sorted(change)], np.int64)
    numbers = [change[cell] for change in changes for cell in sorted(change)]
    return start, cells, np.array(numbers, np.int64)


class Inference:
    """Finds out what each number of a system can be, the cheap ways first.

    Bounds are followed through the relations; what follows by adding and subtracting is found by
    elimination modulo a prime and proved by exact multipliers; linear programmes propose
    multipliers for the outer ends, and vertices for the inner ones. Only what exact numbers confirm
    is kept.

    Example:
        >>> from hartley.knowledge.table_system import LinearSystem
        >>> row = LinearSystem.of([(3, [0, 1, 2])], [15, 0, 0, 23], [15, FAR, FAR, 23])
        >>> found = Inference(row)
        >>> found.widen([1])
        >>> found.range(1)
        CellRange(low=0, high=8, least=0, most=8)
    """

    def __init__(
        self,
        system: LinearSystem,
        truth: NDArray[np.int64] | None = None,
        axes: Sequence[CoverAxis] = (),
        *,
        most_unknowns: int = MOST_UNKNOWNS,
        narrow: bool = True,
    ) -> None:
        """Find out what follows by the cheap ways; ``truth`` is a whole table that fits.

        Components of more than ``most_unknowns`` numbers get no programme for every end. Without
        ``narrow``, a programme finds the same bounds from what was stated, so its multipliers are
        the whole proof.
        """
        self.system = system
        self._frame = BoxFrame(tuple(axes)) if axes else None
        self.bounds = Bounds(system)
        if narrow:
            self.bounds.follow()
            self._settle()
        self.outer_low, self.outer_high = self.bounds.low.copy(), self.bounds.high.copy()
        self.least = np.where(self.bounds.low == self.bounds.high, self.bounds.low, FAR)
        self.most = np.where(self.bounds.low == self.bounds.high, self.bounds.low, -FAR)
        self.witness = np.full((2, system.size), -1, np.int64)
        """Which table of its component attains the least and the most of each cell, by number."""
        self._follows = narrow
        self._narrowed: dict[tuple[int, int], int] = {}
        self.proofs: dict[tuple[int, int], Multipliers] = {}
        """Combinations of a programme, in terms of the bounds as followed."""
        self.components = components(system, self.bounds)
        self.component_of = np.full(system.size, -1, np.int64)
        self.place_in = np.full(system.size, -1, np.int64)
        for number, component in enumerate(self.components):
            self.component_of[component.cells] = number
            self.place_in[component.cells] = np.arange(component.cells.size)
            if not component.relations.size:  # free cells: any number between the bounds fits
                low = np.maximum(component.low, -(2**40))
                for ends in (low, np.minimum(component.high, np.maximum(low, 0) + 2**40)):
                    self.harvest(component, ends)
            elif component.cells.size <= most_unknowns:
                component.programme = component.make_programme()
        if truth is not None:
            if not system.fits(truth):
                raise NoTableFits(0)
            for component in self.components:
                self.harvest(component, truth[component.cells])

    # --- adding and subtracting ---------------------------------------------------------------

    def _settle(self) -> None:
        """Settle every cell that is a combination of relations and of settled cells."""
        system, bounds = self.system, self.bounds
        unknown = bounds.low < bounds.high
        number = np.cumsum(unknown) - 1
        inside = unknown[system.column]
        rows = np.repeat(np.arange(system.relations), np.diff(system.start))[inside]
        if not rows.size:
            return
        used, row = np.unique(rows, return_inverse=True)
        column = number[system.column[inside]]
        order = np.lexsort([column, row])
        start = np.concatenate([[0], np.cumsum(np.bincount(row))]).astype(np.int64)
        value = np.mod(system.factor[inside][order], PRIME)
        columns = int(unknown.sum())
        reduced = eliminate(start, column[order].astype(np.int64), value, columns, MOST_FILL)
        parts, (last, steps), complete = reduced[:6], reduced[6:8], reduced[9]
        if not complete:
            return
        draw = np.random.default_rng(SEED).integers(1, PRIME, columns)
        free = draw.astype(np.int64)
        free[parts[1]] = 0
        vector = kernel_vector(*parts, free)
        place_of = np.full(columns, -1, np.int64)
        place_of[parts[1]] = np.arange(parts[1].size)
        work = np.zeros(columns, np.int64)
        cells = np.flatnonzero(unknown)
        for target in np.flatnonzero(vector == 0).tolist():
            cell = int(cells[target])
            if bounds.low[cell] == bounds.high[cell]:
                continue
            taken, factors, closed = combination(target, *parts, last, steps, place_of, work)
            if not closed:
                continue
            multipliers: Multipliers = {}
            for r, factor in zip(taken.tolist(), factors.tolist(), strict=True):
                rational = lifted(factor, PRIME)
                if rational is None:
                    break
                multipliers[int(used[r])] = rational
            else:
                if bounds.settle(cell, multipliers) is not None:
                    begins, of = system.transposed
                    bounds.follow(of[begins[cell] : begins[cell + 1]])

    # --- tables that fit ----------------------------------------------------------------------

    def harvest(
        self, component: TableComponent, table: NDArray[np.int64], *, keep: bool = False
    ) -> bool:
        """Keep a whole table that fits, and let it widen the interval of every cell."""
        if component.relations.size and not component.fits(table):
            return False
        if self._widen_by(component, table, len(component.tables), keep=keep):
            component.tables.append(table)
        return True

    def _widen_by(
        self, component: TableComponent, table: NDArray[np.int64], number: int, *, keep: bool
    ) -> bool:
        """Tell whether a table makes an interval wider, or is to be kept for its own sake."""
        cells = component.cells
        lower, higher = table < self.least[cells], table > self.most[cells]
        self.witness[LOW, cells[lower]] = number
        self.witness[HIGH, cells[higher]] = number
        self.least[cells[lower]] = table[lower]
        self.most[cells[higher]] = table[higher]
        return keep or bool(lower.any() or higher.any())

    # --- programmes ---------------------------------------------------------------------------

    def widen(  # noqa: C901 - the ways to an end, in order
        self,
        cells: Iterable[int],
        *,
        exact: bool = False,
        tell: Callable[[float], None] = lambda _share: None,
    ) -> None:
        """Find both ends of some cells; ``exact`` searches whole tables for what is left open."""
        wanted: dict[int, list[int]] = {}
        for cell in cells:
            if self.component_of[cell] >= 0:
                wanted.setdefault(int(self.component_of[cell]), []).append(cell)
        done, most = 0, sum(map(len, wanted.values()))
        for name, mine in wanted.items():
            component = self.components[name]
            done += len(mine)
            if component.programme is None:
                self._begin(component)
                continue
            self._widen_together(component, np.array(mine))
            for left, cell in enumerate(mine, -len(mine)):
                tell((done + left) / most)
                for side in (LOW, HIGH):
                    if not self._reached(cell, side) and component.solves < MOST_SOLVES:
                        self._solve(component, cell, side)
            if not component.tables or exact:
                for cell in mine:
                    for side in (LOW, HIGH):
                        if not self._reached(cell, side) and (exact or not component.tables):
                            self._search(component, cell, side)
        tell(1.0)
        self._follow()

    def reach(self, cell: int, least: int) -> bool:
        """Tell whether some table that fits has at least a number in a cell; search if needed."""
        if self.most[cell] >= least:
            return True
        if self.component_of[cell] >= 0 and self.outer_high[cell] >= least:
            component = self.components[int(self.component_of[cell])]
            self._begin(component)
            if self.most[cell] < least and component.tables:
                self._move_box(component, cell, least - self._first(component, cell))
            if self.most[cell] < least and component.programme is not None:
                self._solve(component, cell, HIGH)
            elif self.most[cell] < least and component.tables:
                self._move_window(component, cell, 1)
        return bool(self.most[cell] >= least)

    def attain(self, cell: int, value: int) -> bool:
        """Tell whether some table that fits has one number in a cell; search if needed."""
        if self.component_of[cell] < 0:
            return bool(self.bounds.low[cell] == value)
        component = self.components[int(self.component_of[cell])]
        self._begin(component)
        if value in self.values(cell):
            return True
        if component.tables:
            self._move_box(component, cell, value - self._first(component, cell), keep=True)
        if value not in self.values(cell) and component.programme is not None:
            point = component.programme.solve_at(int(self.place_in[cell]), value)
            component.solves += 1
            if point is not None:
                self._harvest_point(component, point, keep=True)
        return value in self.values(cell)

    def _follow(self) -> None:
        """Follow ends that programmes found through the relations, as a verification does."""
        narrowed, self._narrowed = self._narrowed, {}
        if not narrowed or not self._follows:
            return
        for (cell, side), end in narrowed.items():
            self.bounds.narrow(cell, side, end, self.proofs[cell, side])
        self.bounds.follow()
        np.maximum(self.outer_low, self.bounds.low, out=self.outer_low)
        np.minimum(self.outer_high, self.bounds.high, out=self.outer_high)

    def differences(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return changes of the first table that fit too: where each begins, cells and changes."""
        rounds: list[dict[int, int]] = []
        for component in self.components:
            changes = [
                {
                    int(component.cells[i]): int(table[i] - component.tables[0][i])
                    for i in np.flatnonzero(table != component.tables[0]).tolist()
                }
                for table in component.tables[1:]
            ]
            changes += [{int(component.cells[i]): n for i, n in m.items()} for m in component.moves]
            # Components are apart: the n-th changes of all of them can be made at once.
            for number, change in enumerate(changes):
                if number == len(rounds):
                    rounds.append({})
                rounds[number] |= change
        return listed_changes(rounds)

    def vary(self, part: int) -> None:
        """Look for whole tables of a component that differ from those that are known."""
        component = self.components[part]
        if component.programme is None:
            return
        known, draw = len(component.tables), np.random.default_rng([SEED, len(component.tables)])
        for _ in range(VARIED):
            proposal = component.programme.solve(draw.normal(size=component.cells.size))
            if proposal is not None:
                self._harvest_point(component, proposal.point, keep=True)
        if len(component.tables) == known:  # no vertex was whole
            cost = draw.normal(size=component.cells.size)
            point = component.programme.solve_whole(cost, NODES)
            if point is not None:
                self._harvest_point(component, point, keep=True)

    # --- small changes of a table --------------------------------------------------------------

    def _begin(self, component: TableComponent) -> None:
        """Find a first table of a component that is too large for a programme for every end."""
        if component.tables or component.programme is not None or not component.relations.size:
            return
        if component.solves:  # asked before, without success
            return
        component.solves = 1
        proposal = component.make_programme(MOST_STEPS).solve(np.zeros(component.cells.size))
        if proposal is not None:
            self._harvest_point(component, proposal.point)

    def _first(self, component: TableComponent, cell: int) -> int:
        return int(component.tables[0][self.place_in[cell]])

    def _whole(self, component: TableComponent) -> NDArray[np.int64]:
        """Return the first table of a component among the settled cells."""
        whole = np.where(self.bounds.low == self.bounds.high, self.bounds.low, 0)
        whole[component.cells] = component.tables[0]
        return whole

    def _move_box(
        self, component: TableComponent, cell: int, change: int, *, keep: bool = False
    ) -> None:
        if self._frame is None or not change:
            return
        table = self._whole(component)
        moved = self._frame.move(cell, change, table, self.bounds.low, self.bounds.high)
        self._harvest_move(component, moved, keep=keep)

    def _move_window(self, component: TableComponent, cell: int, sign: int) -> None:
        window = TableWindow(
            self.system, cell, self._whole(component), self.bounds.low, self.bounds.high
        )
        self._harvest_move(component, window.move(sign))

    def _harvest_move(
        self, component: TableComponent, changes: dict[int, int], *, keep: bool = False
    ) -> None:
        """Keep a change of the first table, if the changed table fits in exact numbers."""
        mine = self.component_of[component.cells[0]]
        if not changes or any(self.component_of[cell] != mine for cell in changes):
            return
        component.moves.append({int(self.place_in[c]): n for c, n in changes.items()})
        number = -1 - len(component.moves)
        if not component.fits(component.table(number)) or not self._widen_by(
            component, component.table(number), number, keep=keep
        ):
            component.moves.pop()

    def _reached(self, cell: int, side: int) -> bool:
        if side == LOW:
            return bool(self.least[cell] == self.outer_low[cell])
        return bool(self.most[cell] == self.outer_high[cell])

    def _widen_together(self, component: TableComponent, cells: NDArray[np.int64]) -> None:
        """Move many ends at once: one vertex can attain the ends of many cells."""
        assert component.programme is not None
        place = self.place_in[cells]
        before = -1
        for round_number in range(MOST_TOGETHER):
            side = (LOW, HIGH)[round_number % 2]
            inner = (self.least, self.most)[side][cells]
            open_ends = inner != (self.outer_low, self.outer_high)[side][cells]
            open_ends &= np.abs((self.outer_low, self.outer_high)[side][cells]) < FAR
            if round_number % 2 == 0:
                still = int(open_ends.sum()) + int(
                    (self.most[cells] != self.outer_high[cells]).sum()
                )
                if still == before:
                    return
                before = still
            if not open_ends.any():
                continue
            cost = np.zeros(component.cells.size)
            cost[place[open_ends]] = 1.0 if side == LOW else -1.0
            proposal = component.programme.solve(cost)
            component.solves += 1
            if proposal is not None:
                self._harvest_point(component, proposal.point)

    def _harvest_point(
        self, component: TableComponent, point: NDArray[np.float64], *, keep: bool = False
    ) -> bool:
        table = component.witness_table(point)
        return table is not None and self.harvest(component, table, keep=keep)

    def _solve(self, component: TableComponent, cell: int, side: int) -> None:
        """Ask for the end of one cell; keep the bound that exact multipliers prove."""
        assert component.programme is not None
        cost = np.zeros(component.cells.size)
        cost[self.place_in[cell]] = 1.0 if side == LOW else -1.0
        proposal = component.programme.solve(cost)
        component.solves += 1
        if proposal is None:
            return
        self._harvest_point(component, proposal.point)
        if self._reached(cell, side) or proposal.multipliers is None:
            return
        prices = proposal.multipliers if side == LOW else -proposal.multipliers
        outer = (self.outer_low, self.outer_high)[side]
        for multipliers in component.combinations(prices):
            now = self.bounds.low, self.bounds.high
            bound = self.system.bound(cell, multipliers, side, now)
            if bound is None:
                continue
            end = whole_end(bound, side)
            if end > outer[cell] if side == LOW else end < outer[cell]:
                outer[cell] = self._narrowed[cell, side] = end
                self.proofs[cell, side] = multipliers
            if self._reached(cell, side):
                break
        if self.outer_low[cell] > self.outer_high[cell]:
            raise NoTableFits(int(component.relations[0]))

    def _search(self, component: TableComponent, cell: int, side: int) -> None:
        assert component.programme is not None
        cost = np.zeros(component.cells.size)
        cost[self.place_in[cell]] = 1.0 if side == LOW else -1.0
        point = component.programme.solve_whole(cost, NODES)
        if point is not None:
            self._harvest_point(component, point)

    # --- results ------------------------------------------------------------------------------

    def range(self, cell: int) -> CellRange:
        """Return what is known about a cell."""
        low, high = int(self.outer_low[cell]), int(self.outer_high[cell])
        most = int(self.most[cell])
        return CellRange(
            None if low <= -FAR else low,
            None if high >= FAR else high,
            None if self.least[cell] >= FAR else int(self.least[cell]),
            None if most <= -FAR else most,
        )

    def values(self, cell: int) -> set[int]:
        """Return the different numbers that known tables have in a cell."""
        if self.component_of[cell] < 0:
            return {int(self.bounds.low[cell])}
        component = self.components[int(self.component_of[cell])]
        place = int(self.place_in[cell])
        numbers = {int(table[place]) for table in component.tables}
        if component.tables:
            first = int(component.tables[0][place])
            numbers |= {first + move[place] for move in component.moves if place in move}
        return numbers

    def proof(self, cell: int, side: int) -> Multipliers:
        """Return multipliers that prove the outer end of a cell from what was stated."""
        return self.bounds.proof(cell, side, self.proofs.get((cell, side)))

    def table(self, cell: int, side: int) -> NDArray[np.int64] | None:
        """Return a whole table that attains the inner end of a cell; None without one."""
        tables = [component.tables for component in self.components]
        if not all(tables):
            return None
        whole = np.where(self.bounds.low == self.bounds.high, self.bounds.low, 0)
        for name, component in enumerate(self.components):
            number = self.witness[side, cell] if self.component_of[cell] == name else 0
            whole[component.cells] = component.table(int(number))
        return whole if self.system.fits(whole) else None

    def first_table(self) -> NDArray[np.int64]:
        """Return the first table of all components; ``FAR`` where none is known."""
        whole = np.where(self.bounds.low == self.bounds.high, self.bounds.low, FAR)
        for component in self.components:
            if component.tables:
                whole[component.cells] = component.tables[0]
        return whole

    @property
    def has_witness(self) -> bool:
        """Whether a whole table that fits is known."""
        return all(component.tables for component in self.components)


# --- universes ------------------------------------------------------------------------------------
# Which outputs can be about the same rows: groups that agree, and pairs that may be nested.


@dataclass(frozen=True)
class Universes:
    """Outputs of one statistic, divided by the rows that they can be about.

    Outputs that state different numbers for the same cells are about different rows. What agrees
    with all others belongs to nobody in particular, so it is a group of its own.
    """

    groups: tuple[tuple[Crosstab, ...], ...]
    nested: tuple[tuple[Crosstab, Crosstab], ...]
    """(smaller, larger): the first may be a part of the second."""
    joined: tuple[tuple[tuple[Crosstab, ...], tuple[Crosstab, ...]], ...]
    """Groups, each with the other outputs that may be about the same rows."""


def universes(tables: Sequence[Crosstab]) -> Universes:
    """Divide outputs that cannot be about the same rows; refuse those that cannot be at all.

    The result does not depend on the order of the outputs. Cost: every pair of outputs is compared.

    Example:
        >>> from hartley.tables.crosstab import Crosstab, PublishedCell
        >>> def line(name, *numbers):
        ...     cells = [PublishedCell((k,), n, n, "number", "", 1) for k, n in zip("ab", numbers)]
        ...     return Crosstab(name, None, name, ("g",), "count", None, tuple(cells), 0, ())
        >>> total = Crosstab("t", None, "t", (), "count", None, (), 0, ())
        >>> divided = universes([line("all", 5, 6), line("part", 4, 6), total])
        >>> [[table.name for table in group] for group in divided.groups]
        [['all'], ['part'], ['t']]
        >>> [(small.name, large.name) for small, large in divided.nested]
        [('part', 'all')]
    """
    ordered = sorted(tables, key=lambda table: (table.digest, table.name))
    rivals = {
        at: [i for i, other in enumerate(ordered) if i != at and _differ(table, other)]
        for at, table in enumerate(ordered)
    }
    nested = [_nested(ordered, at, other) for at in rivals for other in rivals[at] if other < at]
    groups: list[list[int]] = []
    for at in (at for at in rivals if rivals[at]):
        for group in groups:
            if set(group).isdisjoint(rivals[at]):
                group.append(at)
                break
        else:
            groups.append([at])
    joined = [(list(group), more) for group in groups if (more := _others(group, rivals))]
    agreeing = [at for at in range(len(ordered)) if not rivals[at]]
    if agreeing:
        groups.append(agreeing)

    def at_places(places: list[int]) -> tuple[Crosstab, ...]:
        return tuple(ordered[at] for at in places)

    return Universes(
        tuple(at_places(group) for group in groups),
        tuple((ordered[small], ordered[large]) for small, large in nested),
        tuple((at_places(group), at_places(more)) for group, more in joined),
    )


def _others(group: Sequence[int], rivals: Mapping[int, Sequence[int]]) -> list[int]:
    """Return what contradicts neither a group nor each other."""
    more: list[int] = []
    for at, against in rivals.items():
        mine = {*group, *more}
        if at not in mine and mine.isdisjoint(against):
            more.append(at)
    return more


def _nested(tables: Sequence[Crosstab], at: int, other: int) -> tuple[int, int]:
    """Return which of two rivals may be a part of the other."""
    if _nowhere_larger(tables[at], tables[other]):
        return at, other
    if _nowhere_larger(tables[other], tables[at]):
        return other, at
    raise InputError(
        f"{tables[at].name} and {tables[other].name} state different numbers for the same cells",
        hint="declare with where which rows each of them is about",
    )


def _differ(table: Crosstab, other: Crosstab) -> bool:
    """Tell whether two outputs about the same cells state what cannot both be true."""
    if table.where != other.where or set(table.dims) != set(other.dims):
        return False
    if table.where is None and "where" in table.described and "where" in other.described:
        return False  # both are declared to be about all rows
    return any(
        _is_below(first.high, second.low) or _is_below(second.high, first.low)
        for first, second in _pairs(table, other)
    )


def _nowhere_larger(table: Crosstab, other: Crosstab) -> bool:
    """Tell whether an output can be a part of another; sums with signs can be larger than all."""
    return not table.signed and not any(
        _is_below(second.high, first.low) for first, second in _pairs(table, other)
    )


def _is_below(high: int | None, low: int | None) -> bool:
    return high is not None and low is not None and high < low


def _pairs(table: Crosstab, other: Crosstab) -> list[tuple[PublishedCell, PublishedCell]]:
    order = [other.dims.index(dim) for dim in table.dims]
    theirs = {tuple(cell.keys[at] for at in order): cell for cell in other.cells}
    return [(cell, theirs[cell.keys]) for cell in table.cells if cell.keys in theirs]


def categories_of(
    tables: Sequence[Crosstab], trees: Sequence[CategoryTree]
) -> dict[str, list[str]]:
    """Return the categories of each dimension that are sums of no others.

    Parts that a tree alone names count too: a condition rules them out like any other category.
    """
    categories = {}
    for dim in sorted({dim for table in tables for dim in table.dims}):
        mine = [tree for tree in trees if tree.dim == dim]
        parents = {parent for tree in mine for parent in tree.parents}
        parts = {part for tree in mine for kids in tree.parents.values() for part in kids}
        listed = {key for t in tables if dim in t.dims for key in t.categories(dim)}
        categories[dim] = sorted((listed | parts) - parents)
    return categories


# --- contributors ---------------------------------------------------------------------------------
# What the microdata say about the cells of published tables: sums, and who contributes to them.


@dataclass(frozen=True)
class Contributors:
    """The true number of every cell, and what each contributor adds to it.

    Contributions are listed cell by cell, the largest first, in units of the last published digit.

    Example:
        >>> start, amount, who = np.array([0, 3, 4]), np.array([6, 2, 1, 5]), np.array([0, 1, 2, 1])
        >>> both = Contributors(np.array([9, 5]), start, amount, who)
        >>> both.parts(0, 2), int(both.number[0])
        ([Fraction(6, 1), Fraction(2, 1), Fraction(1, 1)], 3)
        >>> both.together([0, 1])
        [(7, 1), (6, 0), (1, 2)]
    """

    truth: NDArray[np.int64]
    start: NDArray[np.int64]
    """Where the contributions to each cell begin."""
    amount: NDArray[np.int64]
    who: NDArray[np.int64]
    """Who contributes each: numbers in an order of what they contribute, whatever their names."""

    @property
    def number(self) -> NDArray[np.int64]:
        """How many contributors each cell has."""
        return np.diff(self.start)

    def parts(self, cell: int, largest: int) -> list[Fraction]:
        """Return the largest contributions to a cell, and then the sum of all others."""
        mine = self.amount[self.start[cell] : self.start[cell + 1]].tolist()
        top, rest = mine[:largest], sum(mine[largest:])
        return [Fraction(number) for number in ([*top, rest] if rest else top)]

    def together(self, cells: Sequence[int]) -> list[tuple[int, int]]:
        """Return (amount, who) for cells that share nothing as if they were one, largest first."""
        mine = np.concatenate([np.arange(self.start[c], self.start[c + 1]) for c in cells])
        who, place = np.unique(self.who[mine], return_inverse=True)
        sums = np.zeros(who.size, np.int64)
        np.add.at(sums, place, self.amount[mine])
        order = np.lexsort([who, -sums])
        return list(zip(sums[order].tolist(), who[order].tolist(), strict=True))

    def sole(self, unknown: NDArray[np.bool_]) -> list[list[int]]:
        """Return the unknown cells that each contributor has alone, where there are some."""
        cells: dict[int, list[int]] = {}
        for cell in np.flatnonzero(unknown & (self.number == 1)).tolist():
            cells.setdefault(int(self.who[self.start[cell]]), []).append(cell)
        return list(cells.values())


def read_contributors(  # noqa: PLR0913 - the cells, and the microdata behind them
    joint: Cover,
    table: Crosstab,
    selections: Selections,
    data: object,
    contributor: str | None,
    *,
    signed: bool = False,
) -> Contributors:
    """Add up the microdata for every cell of a cover, and list who contributes to it.

    The statistic and its last digit are those of ``table``. Without a column that names who
    contributes, every row is another contributor; ``signed`` ones may be negative.
    """
    dims = [dim for dim in joint.dims if dim != SELECTION]
    value = None if table.statistic == "count" else table.statistic[4:-1]
    listed = contributions(data, dims, selections.conditions, value=value, contributor=contributor)
    scale = 10**table.places
    atoms, names, amounts = [], [], []
    known: dict[object, int] = {}
    truth = np.zeros(joint.system.size, np.int64)
    for part in listed:
        keys: dict[str, str | None] = dict(zip(dims, part.keys, strict=True))
        if selections.conditions:
            pattern = selections.patterns.index(part.held)
            keys[SELECTION] = selections.axis.nodes[1 + pattern]
        try:
            cell = joint.cell(keys)
        except ValueError:
            raise InputError(
                "The microdata have a category that no output has",
                hint='give the table that the outputs were made from, or declare absent = "hidden"',
            ) from None
        amount = part.amount * scale
        if amount.denominator != 1 or (amount < 0 and not signed):
            raise InputError(
                "The microdata have values that the last published digit cannot hold",
                hint="publish more decimals, declare bounds for negative values, or leave the "
                "microdata out",
            )
        truth[cell] += int(amount)
        if value is None and part.contributor is None:
            # Rows that are alike come together; for insiders it counts that there are several.
            for _ in range(min(part.rows, 2)):
                atoms.append(cell)
                names.append(len(known))
                amounts.append(1)
                known[len(known), None] = len(known)
            continue
        who = (part.contributor,) if part.contributor is not None else (len(known), None)
        atoms.append(cell)
        names.append(known.setdefault(who, len(known)))
        amounts.append(int(amount))
    joint.add_up(truth)
    return Contributors(truth, *_by_cell(joint, atoms, names, amounts))


def _by_cell(
    joint: Cover, atoms: list[int], names: list[int], amounts: list[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Add up contributions for every cell that an atom belongs to, the largest first."""
    size = joint.system.size
    atom, amount = np.array(atoms, np.int64), np.array(amounts, np.int64)
    parts: dict[int, list[tuple[int, int]]] = {who: [] for who in names}
    for who, part in sorted(zip(names, zip(atoms, amounts, strict=True), strict=True)):
        parts[who].append(part)
    # Equal amounts are told apart by what else their contributors have, and never by names.
    rank = {who: place for place, who in enumerate(sorted(parts, key=parts.__getitem__))}
    name = np.array([rank[who] for who in names], np.int64)
    cells, of = joint.above(atom)
    people, numbers = name[of], amount[of]
    order = np.lexsort([people, cells])
    cells, people, numbers = cells[order], people[order], numbers[order]
    if cells.size:
        first = np.flatnonzero(np.r_[True, (cells[1:] != cells[:-1]) | (people[1:] != people[:-1])])
        cells, people, numbers = cells[first], people[first], np.add.reduceat(numbers, first)
    order = np.lexsort([people, -numbers, cells])
    start = np.searchsorted(cells[order], np.arange(size + 1))
    return start.astype(np.int64), numbers[order], people[order]
