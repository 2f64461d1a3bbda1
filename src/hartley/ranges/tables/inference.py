"""What each cell of a published table can be: bounds with proofs, and whole tables that fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.elimination import PRIME, combination, eliminate, kernel_vector
from hartley.kernels.propagation import FAR
from hartley.ranges.multipliers import lifted, over_one_denominator
from hartley.ranges.tables.programme import NEAR_WHOLE, TableProgramme
from hartley.ranges.tables.system import HIGH, LOW, Bounds, Multipliers, NoTableFits, bound_from

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hartley.ranges.tables.system import LinearSystem

MOST_FILL = 60_000_000
"""Entries of all rows of an elimination; beyond, nothing more is settled by it."""
MOST_UNKNOWNS = 20_000
"""No programme is solved for a component of more unknown cells than this."""
MOST_SOLVES = 20_000
"""At most this many programmes are solved in a component."""
MOST_TOGETHER = 40
"""At most this many programmes for many ends at once."""
NODES = 200
"""The most nodes of a search for one whole table that fits."""
SEED = 61


@dataclass
class TableComponent:
    """Unknown cells that relations connect, and what was found out about them."""

    cells: NDArray[np.int64]
    relations: NDArray[np.int64]
    programme: TableProgramme | None
    right: NDArray[np.int64]
    start: NDArray[np.int64]
    column: NDArray[np.int64]
    sign: NDArray[np.int64]
    low: NDArray[np.int64]
    """The bounds of its cells, as followed."""
    high: NDArray[np.int64]
    tables: list[NDArray[np.int64]] = field(default_factory=list)
    """Whole tables that fit, each of which made some interval wider."""
    solves: int = 0

    def fits(self, table: NDArray[np.int64]) -> bool:
        """Tell whether whole numbers for the cells have all sums and bounds."""
        if (table < self.low).any() or (table > self.high).any():
            return False
        sums = np.add.reduceat(self.sign * table[self.column], self.start[:-1])
        return bool((sums == self.right).all())


@dataclass(frozen=True)
class CellRange:
    """What a cell can be: never outside low to high, and certainly both least and most."""

    low: int
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
        return self.low == self.high


class Inference:
    """Finds out what each number of a system can be, the cheap ways first.

    Bounds are followed through the relations; what follows by adding and subtracting is found by
    elimination modulo a prime and proved by exact multipliers; linear programmes propose
    multipliers for the outer ends, and vertices for the inner ones. Only what exact numbers confirm
    is kept.

    Example:
        >>> from hartley.ranges.tables.system import LinearSystem
        >>> row = LinearSystem.of([(3, [0, 1, 2])], [15, 0, 0, 23], [15, FAR, FAR, 23])
        >>> found = Inference(row)
        >>> found.widen([1])
        >>> found.range(1)
        CellRange(low=0, high=8, least=0, most=8)
    """

    def __init__(self, system: LinearSystem, truth: NDArray[np.int64] | None = None) -> None:
        self.system = system
        self.bounds = Bounds(system)
        self.bounds.follow()
        self._settle()
        self.outer_low, self.outer_high = self.bounds.low.copy(), self.bounds.high.copy()
        self.least = np.where(self.bounds.low == self.bounds.high, self.bounds.low, FAR)
        self.most = np.where(self.bounds.low == self.bounds.high, self.bounds.low, -FAR)
        self.witness = np.full((2, system.size), -1, np.int64)
        """Which table of its component attains the least and the most of each cell."""
        self.proofs: dict[tuple[int, int], Multipliers] = {}
        """Combinations of a programme, in terms of the bounds as followed."""
        self.component_of = np.full(system.size, -1, np.int64)
        self.place_in = np.full(system.size, -1, np.int64)
        self.components = self._components()
        if truth is not None:
            if not system.fits(truth):
                raise NoTableFits(0)
            for component in self.components:
                self._harvest(component, truth[component.cells])

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
        value = np.where(system.sign[inside][order] > 0, 1, PRIME - 1).astype(np.int64)
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

    # --- components ---------------------------------------------------------------------------

    def _components(self) -> list[TableComponent]:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        system, bounds = self.system, self.bounds
        unknown = bounds.low < bounds.high
        if not unknown.any():
            return []
        inside = unknown[system.column]
        rows = np.repeat(np.arange(system.relations), np.diff(system.start))
        row, cell = rows[inside], system.column[inside]
        nodes = system.size + system.relations
        graph = csr_array(
            (np.ones(row.size, np.int8), (cell, system.size + row)), shape=(nodes, nodes)
        )
        _, label = connected_components(graph, directed=False)
        constant = np.where(unknown, 0, bounds.low)
        right = np.zeros(system.relations, np.int64)
        np.subtract.at(right, rows, system.sign * constant[system.column])
        components: list[TableComponent] = []
        cells_by_label = _grouped(label[: system.size], np.flatnonzero(unknown))
        rows_by_label = _grouped(label[system.size :], np.unique(row))
        entries = _grouped(label[system.size :][rows], np.flatnonzero(inside))
        for name in sorted(cells_by_label):
            cells = cells_by_label[name]
            relations = rows_by_label.get(name, np.empty(0, np.int64))
            mine = entries.get(name, np.empty(0, np.int64))
            self.component_of[cells] = len(components)
            self.place_in[cells] = np.arange(cells.size)
            place = np.searchsorted(relations, rows[mine])
            counts = np.bincount(place, minlength=relations.size)
            start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            column, sign = self.place_in[system.column[mine]], system.sign[mine]
            programme = None
            low, high = bounds.low[cells], bounds.high[cells]
            if cells.size <= MOST_UNKNOWNS and relations.size:
                matrix = csr_array(
                    (sign.astype(np.float64), column, start), shape=(relations.size, cells.size)
                )
                programme = TableProgramme(matrix, right[relations], low, high, FAR)
            components.append(
                TableComponent(
                    cells, relations, programme, right[relations], start, column, sign, low, high
                )
            )
        for component in components:
            if not component.relations.size:  # free cells: any number between the bounds fits
                for ends in (component.low, np.minimum(component.high, component.low + 2**40)):
                    self._harvest(component, ends)
        return components

    def _harvest(self, component: TableComponent, table: NDArray[np.int64]) -> bool:
        """Keep a whole table that fits, and let it widen the interval of every cell."""
        if component.relations.size and not component.fits(table):
            return False
        cells = component.cells
        lower, higher = table < self.least[cells], table > self.most[cells]
        if lower.any() or higher.any():
            component.tables.append(table)
            number = len(component.tables) - 1
            self.witness[LOW, cells[lower]] = number
            self.witness[HIGH, cells[higher]] = number
            self.least[cells[lower]] = table[lower]
            self.most[cells[higher]] = table[higher]
        return True

    # --- programmes ---------------------------------------------------------------------------

    def widen(  # noqa: C901 - the ways to an end, in order
        self, cells: Iterable[int], *, exact: bool = False, nodes: int = NODES
    ) -> None:
        """Find both ends of some cells.

        Args:
            cells: which.
            exact: whether to search whole tables for ends that a programme leaves open.
            nodes: the most nodes of each such search.
        """
        wanted: dict[int, list[int]] = {}
        for cell in cells:
            if self.component_of[cell] >= 0:
                wanted.setdefault(int(self.component_of[cell]), []).append(cell)
        for name, mine in wanted.items():
            component = self.components[name]
            if component.programme is None:
                continue
            self._widen_together(component, np.array(mine))
            for cell in mine:
                for side in (LOW, HIGH):
                    if not self._reached(cell, side) and component.solves < MOST_SOLVES:
                        self._solve(component, cell, side)
            if not component.tables or exact:
                for cell in mine:
                    for side in (LOW, HIGH):
                        if not self._reached(cell, side) and (exact or not component.tables):
                            self._search(component, cell, side, nodes)

    def reach(self, cell: int, least: int) -> bool:
        """Tell whether some table that fits has at least a number in a cell; search if needed."""
        if self.most[cell] >= least:
            return True
        if self.component_of[cell] >= 0 and self.outer_high[cell] >= least:
            component = self.components[int(self.component_of[cell])]
            if component.programme is not None:
                self._solve(component, cell, HIGH)
        return bool(self.most[cell] >= least)

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
            if side == HIGH:
                open_ends &= self.outer_high[cells] < FAR
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

    def _harvest_point(self, component: TableComponent, point: NDArray[np.float64]) -> bool:
        whole = np.rint(point)
        if (np.abs(point - whole) > NEAR_WHOLE * np.maximum(1.0, np.abs(whole))).any():
            return False
        return self._harvest(component, whole.astype(np.int64))

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
        for numerators, denominator in over_one_denominator(prices):
            multipliers = {
                int(r): Fraction(y, denominator)
                for r, y in zip(component.relations, numerators, strict=True)
                if y
            }
            rest = self.system.differences(cell, multipliers)
            bound = bound_from(rest, self.bounds.low, self.bounds.high, side)
            if bound is None:
                continue
            if side == LOW and math.ceil(bound) > self.outer_low[cell]:
                self.outer_low[cell] = math.ceil(bound)
                self.proofs[cell, side] = multipliers
            if side == HIGH and math.floor(bound) < self.outer_high[cell]:
                self.outer_high[cell] = math.floor(bound)
                self.proofs[cell, side] = multipliers
            if self._reached(cell, side):
                break
        if self.outer_low[cell] > self.outer_high[cell]:
            raise NoTableFits(int(component.relations[0]))

    def _search(self, component: TableComponent, cell: int, side: int, nodes: int) -> None:
        assert component.programme is not None
        cost = np.zeros(component.cells.size)
        cost[self.place_in[cell]] = 1.0 if side == LOW else -1.0
        point = component.programme.solve_whole(cost, nodes)
        if point is not None:
            self._harvest_point(component, point)

    # --- results ------------------------------------------------------------------------------

    def range(self, cell: int) -> CellRange:
        """Return what is known about a cell."""
        high, most = int(self.outer_high[cell]), int(self.most[cell])
        return CellRange(
            int(self.outer_low[cell]),
            None if high >= FAR else high,
            None if self.least[cell] >= FAR else int(self.least[cell]),
            None if most <= -FAR else most,
        )

    def attained(self, cell: int) -> int:
        """Count the different numbers that known tables have in a cell."""
        if self.component_of[cell] < 0:
            return 1
        component = self.components[int(self.component_of[cell])]
        place = self.place_in[cell]
        return len({int(table[place]) for table in component.tables})

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
            whole[component.cells] = component.tables[number]
        return whole if self.system.fits(whole) else None

    @property
    def fitting(self) -> bool:
        """Whether a whole table that fits is known."""
        return all(component.tables for component in self.components)


def _grouped(labels: NDArray[np.int32], members: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
    """Return the members of each label, in order."""
    mine = labels[members]
    order = np.argsort(mine, kind="stable")
    names, begins = np.unique(mine[order], return_index=True)
    parts = np.split(members[order], begins[1:])
    return {int(name): np.sort(part) for name, part in zip(names, parts, strict=True)}
