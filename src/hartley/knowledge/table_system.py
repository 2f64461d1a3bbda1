"""Published tables as sums of hidden cells."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib.util import find_spec
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from hartley.errors import InputError
from hartley.exact import over_one_denominator
from hartley.kernels.classes import find_cuboid
from hartley.kernels.sums import EMPTY, FAR, follow_sums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hartley.knowledge.cover import CoverAxis


# --- system ---------------------------------------------------------------------------------------
# Whole numbers, sums among them, and what each bound of a number rests on.

LOW, HIGH = 0, 1
"""The sides of an interval."""
LOG_PER_CELL = 16
"""Entries of the log of bounds, for each number: beyond, the solver has to do the rest."""

Multipliers = dict[int, Fraction]
"""A rational for each relation that is used."""


class NoTableFits(InputError):  # noqa: N818 - reads as what it says
    """No whole table has all the sums and bounds; says which relation cannot hold."""

    def __init__(self, relation: int) -> None:
        super().__init__(
            "No table fits everything that is published",
            hint="check totals, rounding and the conditions of the outputs",
        )
        self.relation = relation


@dataclass(frozen=True)
class LinearSystem:
    r"""Whole numbers x with bounds, and relations: weighted sums of them that are zero.

    For any multipliers y of the relations A and any number j,

    .. math:: x_j = \sum_k d_k x_k \ge \sum_k \min(d_k l_k, d_k u_k), \qquad d = e_j - y A

    and likewise from above, so multipliers prove a bound whatever they come from.

    Example:
        >>> total = LinearSystem.of([(2, [0, 1])], [0, 0, 7], [FAR, 3, 7])  # x0 + x1 = 7
        >>> total.bound(0, {0: Fraction(1)}, LOW), total.bound(0, {0: Fraction(1)}, HIGH)
        (Fraction(4, 1), Fraction(7, 1))
    """

    start: NDArray[np.int64]
    column: NDArray[np.int64]
    factor: NDArray[np.int64]
    """The whole number, never 0, that each entry of a relation counts with; 1 or -1 in tables."""
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """``FAR`` is no end."""

    @classmethod
    def of(
        cls,
        relations: Sequence[tuple[int, Sequence[int]]],
        low: Sequence[int] | NDArray[np.int64],
        high: Sequence[int] | NDArray[np.int64],
    ) -> LinearSystem:
        """Build a system from relations as (parent, children): the parent is their sum."""
        lengths = [1 + len(children) for _, children in relations]
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        column = np.array([c for parent, kids in relations for c in (parent, *kids)], np.int64)
        factor = np.ones(column.size, np.int64)
        factor[start[:-1]] = -1
        return cls(start, column, factor, np.array(low, np.int64), np.array(high, np.int64))

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self.low.size

    @property
    def relations(self) -> int:
        """How many relations there are."""
        return self.start.size - 1

    def relation(self, r: int) -> tuple[int, list[int]]:
        """Return the parent and the children of a relation."""
        parent, *children = self.column[self.start[r] : self.start[r + 1]].tolist()
        return parent, children

    @cached_property
    def matrix(self) -> Any:  # noqa: ANN401 - a sparse matrix of scipy's, untyped
        """The relations as a sparse matrix, which shares no memory with the system.

        scipy sorts the columns of a row in place, and here the first of them is the parent.
        """
        from scipy.sparse import csr_array

        parts = self.factor, self.column, self.start
        return csr_array(parts, shape=(self.relations, self.size), copy=True)

    @cached_property
    def transposed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the relations of each number begin, and the relations."""
        rows = np.repeat(np.arange(self.relations), np.diff(self.start))
        order = np.argsort(self.column, kind="stable")
        begins = np.searchsorted(self.column[order], np.arange(self.size + 1))
        return begins.astype(np.int64), rows[order].astype(np.int64)

    def knowing(self, cells: list[int], values: list[int]) -> LinearSystem:
        """Return the same system for somebody who knows some of the numbers."""
        low, high = self.low.copy(), self.high.copy()
        low[cells] = high[cells] = values
        return LinearSystem(self.start, self.column, self.factor, low, high)

    def differences(
        self, target: Target, multipliers: Mapping[int, Fraction]
    ) -> dict[int, Fraction]:
        """Return d = c - y A, without zeros; for one number c is its unit vector."""
        rest = {c: Fraction(number) for c, number in weights_of(target).items()}
        for r, y in multipliers.items():
            for i in range(self.start[r], self.start[r + 1]):
                c = int(self.column[i])
                rest[c] = rest.get(c, Fraction(0)) - y * int(self.factor[i])
        return {c: d for c, d in rest.items() if d}

    def bound(
        self,
        target: Target,
        multipliers: Mapping[int, Fraction],
        side: int,
        ends: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> Fraction | None:
        """Return the bound that multipliers prove from ends, or the stated ones; None is none."""
        low, high = (self.low, self.high) if ends is None else ends
        wanted = weights_of(target)
        if not multipliers:
            return bound_from(
                {c: Fraction(number) for c, number in wanted.items()}, low, high, side
            )
        below = math.lcm(*(y.denominator for y in multipliers.values()))
        factors = [y.numerator * (below // y.denominator) for y in multipliers.values()]
        rows = np.fromiter(multipliers, np.int64, len(factors))
        lengths = self.start[rows + 1] - self.start[rows]
        first = np.repeat(self.start[rows] - np.cumsum(lengths) + lengths, lengths)
        entries = first + np.arange(int(lengths.sum()))
        used = np.append(self.column[entries], np.fromiter(wanted, np.int64, len(wanted)))
        finite = np.abs(np.concatenate([low[used], high[used]]))
        largest = int(finite[finite < FAR].max(initial=0)) + 1
        steepest = int(np.abs(self.factor[entries]).max(initial=0))
        most = sum(map(abs, factors)) * steepest * int(lengths.max())
        if (most + below * sum(map(abs, wanted.values()))) * largest >= FAR:
            return bound_from(self.differences(target, multipliers), low, high, side)
        # The same in machine integers, which hold every product: d over one denominator.
        columns, place = np.unique(used, return_inverse=True)
        own = [below * number for number in wanted.values()]
        weights = np.append(-np.repeat(np.array(factors), lengths) * self.factor[entries], own)
        rest = np.zeros(columns.size, np.int64)
        np.add.at(rest, place, weights)
        there = rest != 0
        columns, rest = columns[there], rest[there]
        chosen = np.where((rest > 0) == (side == LOW), low[columns], high[columns])
        if (np.abs(chosen) >= FAR).any():
            return None
        return Fraction(int((rest * chosen).sum()), below)

    def fits(self, table: NDArray[np.int64]) -> bool:
        """Tell whether a whole table has all the sums and bounds."""
        if (table < self.low).any() or (table > self.high).any():
            return False
        return not weighted_sums(self.start, self.column, self.factor, table).any()


def whole_end(bound: Fraction, side: int) -> int:
    """Return the end of a whole number that is bounded from one side."""
    return math.ceil(bound) if side == LOW else math.floor(bound)


Target: TypeAlias = "int | Mapping[int, int]"
"""A number of a system, or a weighted sum of several."""


def weights_of(target: Target) -> Mapping[int, int]:
    """Return the numbers of a target, each with its weight."""
    return target if isinstance(target, Mapping) else {target: 1}


def weighted_sums(
    start: NDArray[np.int64],
    column: NDArray[np.int64],
    factor: NDArray[np.int64],
    table: NDArray[np.int64],
) -> NDArray[Any]:
    """Return the sum of every relation, exact also where it is longer than a machine word.

    Example:
        >>> far = np.array([2**61, 2**61])
        >>> weighted_sums(np.array([0, 2]), np.array([0, 1]), np.array([4, -4]), far)[0]
        0
        >>> weighted_sums(np.array([0, 2]), np.array([0, 1]), np.array([4, 4]), far)[0] == 2**64
        True
    """
    if not column.size:
        return np.zeros(0, np.int64)
    largest = max(int(table.max(initial=0)), -int(table.min(initial=0)))
    steepest, longest = int(np.abs(factor).max()), int(np.diff(start).max())
    kind: Any = np.int64 if largest * steepest * longest < FAR else object
    return np.add.reduceat(factor.astype(kind) * table[column].astype(kind), start[:-1])


def bound_from(
    rest: Mapping[int, Fraction], low: NDArray[np.int64], high: NDArray[np.int64], side: int
) -> Fraction | None:
    """Return the least (or largest) value of a combination of bounded numbers."""
    total = Fraction(0)
    for c, d in rest.items():
        end = int(low[c]) if (d > 0) == (side == LOW) else int(high[c])
        if abs(end) >= FAR:
            return None
        total += d * end
    return total


@dataclass
class Bounds:
    """Bounds that became narrower step by step, and what each step rests on.

    Every step is a combination of relations and of earlier bounds, so the whole of it can be
    written as one combination of relations and of what was stated: ``proof``.

    Example:
        >>> chain = LinearSystem.of([(2, [0, 1]), (1, [3, 4])], [0, 0, 7, 2, 1], [9, 9, 7, 9, 9])
        >>> bounds = Bounds(chain)
        >>> bounds.follow()
        >>> int(bounds.high[0]), chain.bound(0, bounds.proof(0, HIGH), HIGH)
        (4, Fraction(4, 1))
    """

    system: LinearSystem
    low: NDArray[np.int64] = field(init=False)
    high: NDArray[np.int64] = field(init=False)
    steps: list[tuple[int, int, Multipliers]] = field(default_factory=list)
    """Each: the number, the side, and the combination of relations."""
    history: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    """The steps of each number and side, in order."""
    settled_together: list[int] = field(default_factory=list)
    """The numbers that a combination of several relations settled."""
    _unread: list[NDArray[np.int64] | tuple[int, int, Multipliers]] = field(default_factory=list)
    """Steps in order, as they were found: logs of the kernel, and single ends."""

    def __post_init__(self) -> None:
        self.low, self.high = self.system.low.copy(), self.system.high.copy()

    def follow(self, waiting: NDArray[np.int64] | None = None) -> None:
        """Narrow bounds through the relations until nothing becomes narrower."""
        system = self.system
        if not system.relations:
            return
        rows = np.arange(system.relations) if waiting is None else waiting
        log = np.empty((LOG_PER_CELL * system.size + 1000, 4), np.int64)
        state, entries, relation = follow_sums(
            system.start,
            system.column,
            system.factor,
            *system.transposed,
            self.low,
            self.high,
            rows.astype(np.int64),
            log,
        )
        if state == EMPTY:
            raise NoTableFits(int(relation))
        self._unread.append(log[:entries].copy())

    def _read_steps(self) -> None:
        """Write down the steps that proofs are made of; most checks ask for few proofs, or none."""
        unread, self._unread = self._unread, []
        for piece in unread:
            if isinstance(piece, tuple):
                self._record(*piece)
                continue
            for cell, side, r, factor in piece.tolist():
                # x_c = -(weighted sum of the others) / a_c, which is d for y = 1 / a_c
                self._record(cell, side, {r: Fraction(1, factor)})

    def _record(self, cell: int, side: int, multipliers: Multipliers) -> None:
        self.history.setdefault((cell, side), []).append(len(self.steps))
        self.steps.append((cell, side, multipliers))

    def settle(self, cell: int, multipliers: Multipliers) -> int | None:
        """Set a number to the one value that a combination leaves; None if it leaves several.

        The value is a whole number: if it were not, no table would fit.
        """
        now = self.low, self.high
        ends = [self.system.bound(cell, multipliers, side, now) for side in (LOW, HIGH)]
        if ends[0] is None or ends[0] != ends[1]:
            return None
        value = ends[0]
        if value.denominator != 1 or not self.low[cell] <= value <= self.high[cell]:
            raise NoTableFits(next(iter(multipliers)))
        if len(multipliers) > 1:
            self.settled_together.append(cell)
        for side in (LOW, HIGH):
            self.narrow(cell, side, int(value), multipliers)
        return int(value)

    def narrow(self, cell: int, side: int, end: int, multipliers: Multipliers) -> None:
        """Set one end of a number to what a combination proves."""
        self._unread.append((cell, side, multipliers))
        (self.low, self.high)[side][cell] = end

    def proof(
        self, target: Target, side: int, multipliers: Multipliers | None = None
    ) -> Multipliers:
        """Return one combination of relations that proves a bound from what was stated.

        ``multipliers`` use the bounds as they are now; without them, the last steps count.
        """
        self._read_steps()
        total: Multipliers = {}
        weights: dict[int, Fraction] = {}
        heap: list[int] = []

        def use(number: int, end: int, weight: Fraction, before: int) -> None:
            """Let a bound count, as it was before a step."""
            steps = self.history.get((number, end), [])
            place = bisect_left(steps, before)
            if place:
                step = steps[place - 1]
                if step not in weights:
                    heapq.heappush(heap, -step)
                weights[step] = weights.get(step, Fraction(0)) + weight

        def combine(
            number: Target, end: int, y: Multipliers, weight: Fraction, before: int
        ) -> None:
            for r, factor in y.items():
                total[r] = total.get(r, Fraction(0)) + weight * factor
            for c, d in self.system.differences(number, y).items():
                use(c, end if d > 0 else 1 - end, weight * d, before)

        combine(target, side, multipliers or {}, Fraction(1), len(self.steps))
        while heap:
            step = -heapq.heappop(heap)
            number, end, y = self.steps[step]
            combine(number, end, y, weights.pop(step), step)
        return {r: y for r, y in total.items() if y}


# --- programme ------------------------------------------------------------------------------------
# Linear programmes over one component of a table: the solver proposes, exact numbers decide.

BEYOND, FARTHEST = 1e6, 2.0**50
NEAR_WHOLE = 1e-6
"""A vertex this close to whole numbers is rounded, and then checked in whole numbers."""


class Proposal(NamedTuple):
    """What a solver returns: a point, and multipliers of the rows."""

    point: NDArray[np.float64]
    multipliers: NDArray[np.float64] | None


class TableProgramme:
    """Minimises sums of numbers with bounds, where signed sums have given values.

    Uses highspy if it is installed: only the cost changes from one solve to the next, and the
    simplex method starts from the last vertex. Otherwise scipy's HiGHS solves every programme anew.
    """

    def __init__(
        self,
        rows: Any,  # noqa: ANN401 - a sparse matrix of scipy's, untyped
        right: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        *,
        steps: int | None = None,
    ) -> None:
        self.rows, self.right = rows, right.astype(np.float64)
        self.steps = steps
        # A cell without an end gets one that is out of the way: an unbounded programme has no
        # vertex to harvest. No bound is proved from it, since proofs use the stated bounds.
        ends = np.abs(low[low > -FAR]).sum() + np.abs(right).sum()
        beyond = min(2.0 * float(ends) + BEYOND, FARTHEST)
        self.low = np.where(low <= -FAR, -beyond, low.astype(np.float64))
        self.high = np.where(high >= FAR, beyond, high.astype(np.float64))
        self._model: Any = _warm_model(self) if find_spec("highspy") else None
        self._cost = np.zeros(low.size)

    def solve(self, cost: NDArray[np.float64]) -> Proposal | None:
        """Return a vertex of least cost and the multipliers of the rows, None without one."""
        if self._model is not None:
            return self._solve_warm(cost)
        from scipy.optimize import linprog

        solved: Any = linprog(
            cost,
            A_eq=self.rows,
            b_eq=self.right,
            bounds=np.column_stack([self.low, self.high]),
            method="highs-ds",
            options={} if self.steps is None else {"maxiter": self.steps},
        )
        if solved.status != 0:
            return None
        return Proposal(solved.x, np.asarray(solved.eqlin.marginals))

    def _solve_warm(self, cost: NDArray[np.float64]) -> Proposal | None:
        import highspy

        changed = np.flatnonzero(cost != self._cost)
        self._model.changeColsCost(
            changed.size, changed.astype(np.int32), cost[changed].astype(np.float64)
        )
        self._cost = cost.copy()
        self._model.run()
        if self._model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._model.getSolution()
        return Proposal(np.array(solution.col_value), np.array(solution.row_dual))

    def solve_at(self, place: int, value: int) -> NDArray[np.float64] | None:
        """Return a vertex among the points with a given number at one place; None without one."""
        ends = self.low[place], self.high[place]
        cost = np.zeros(self.low.size)
        self._bound(place, (float(value), float(value)))
        try:
            proposal = self.solve(cost)
        finally:
            self._bound(place, ends)
        return None if proposal is None else proposal.point

    def _bound(self, place: int, ends: tuple[float, float]) -> None:
        self.low[place], self.high[place] = ends
        if self._model is not None:
            self._model.changeColBounds(place, *ends)

    def solve_whole(self, cost: NDArray[np.float64], nodes: int) -> NDArray[np.float64] | None:
        """Return a whole point of small cost, found within a number of nodes; None without one."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        solved: Any = milp(
            cost,
            constraints=LinearConstraint(self.rows, self.right, self.right),
            bounds=Bounds(self.low, self.high),
            integrality=np.ones(cost.size),
            options={"node_limit": nodes},
        )
        return None if solved.x is None else np.asarray(solved.x)


def _warm_model(programme: TableProgramme) -> Any:  # noqa: ANN401 - highspy carries no types
    import highspy

    matrix = programme.rows.tocsr()
    model = highspy.Highs()  # type: ignore[no-untyped-call]  # it ships no complete types
    model.setOptionValue("output_flag", False)  # noqa: FBT003 - the name is in the option
    model.setOptionValue("threads", 1)
    model.setOptionValue("presolve", "off")
    model.setOptionValue("solver", "simplex")
    if programme.steps is not None:
        model.setOptionValue("simplex_iteration_limit", programme.steps)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = matrix.shape[1], matrix.shape[0]
    lp.col_cost_ = np.zeros(matrix.shape[1])
    lp.col_lower_ = programme.low
    lp.col_upper_ = programme.high
    lp.row_lower_ = lp.row_upper_ = programme.right
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = matrix.data.astype(np.float64)
    model.passModel(lp)
    return model


# --- component ------------------------------------------------------------------------------------
# Unknown cells that relations connect: each such part of a table can be looked at alone.


@dataclass
class TableComponent:
    """Unknown cells that relations connect, and what was found out about them."""

    cells: NDArray[np.int64]
    relations: NDArray[np.int64]
    programme: TableProgramme | None
    right: NDArray[np.int64]
    start: NDArray[np.int64]
    column: NDArray[np.int64]
    factor: NDArray[np.int64]
    low: NDArray[np.int64]
    """The bounds of its cells, as followed."""
    high: NDArray[np.int64]
    tables: list[NDArray[np.int64]] = field(default_factory=list)
    """Whole tables that fit, each of which made some interval wider."""
    moves: list[dict[int, int]] = field(default_factory=list)
    """Changes of the first of them, by places, that fit as well and made an interval wider."""
    solves: int = 0

    def table(self, number: int) -> NDArray[np.int64]:
        """Return a table by its number; the first changed by a move is -2, and so on."""
        if number >= 0:
            return self.tables[number]
        table = self.tables[0].copy()
        for place, change in self.moves[-2 - number].items():
            table[place] += change
        return table

    @property
    def matrix(self) -> Any:  # noqa: ANN401 - a sparse matrix of scipy's, untyped
        """Its relations, by the places of its cells."""
        from scipy.sparse import csr_array

        return csr_array(
            (self.factor.astype(np.float64), self.column, self.start),
            shape=(self.relations.size, self.cells.size),
        )

    def combinations(self, prices: NDArray[np.float64]) -> Iterator[Multipliers]:
        """Yield exact multipliers near the prices that a solver proposes."""
        for numerators, denominator in over_one_denominator(prices):
            pairs = zip(self.relations.tolist(), numerators, strict=True)
            yield {r: Fraction(y, denominator) for r, y in pairs if y}

    def make_programme(self, steps: int | None = None) -> TableProgramme:
        """Return the programme over its cells; with a limit, it may stop without a vertex."""
        return TableProgramme(self.matrix, self.right, self.low, self.high, steps=steps)

    def witness_table(self, point: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Return a point of a solver's as a whole table that fits; None where it is none."""
        whole = np.rint(point)
        if (np.abs(point - whole) > NEAR_WHOLE * np.maximum(1.0, np.abs(whole))).any():
            return None
        table = whole.astype(np.int64)
        return table if not self.relations.size or self.fits(table) else None

    def fits(self, table: NDArray[np.int64]) -> bool:
        """Tell whether whole numbers for the cells have all sums and bounds."""
        if (table < self.low).any() or (table > self.high).any():
            return False
        sums = weighted_sums(self.start, self.column, self.factor, table)
        return bool((sums == self.right).all())


def components(system: LinearSystem, bounds: Bounds) -> list[TableComponent]:
    """Split the unknown cells of a system into parts that share no relation.

    Example:
        >>> from hartley.knowledge.table_system import Bounds, LinearSystem
        >>> two = LinearSystem.of([(4, [0, 1]), (5, [2, 3])], [0] * 4 + [7, 8], [FAR] * 4 + [7, 8])
        >>> bounds = Bounds(two)
        >>> bounds.follow()
        >>> [part.cells.tolist() for part in components(two, bounds)]
        [[0, 1], [2, 3]]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    unknown = bounds.low < bounds.high
    if not unknown.any():
        return []
    inside = unknown[system.column]
    rows = np.repeat(np.arange(system.relations), np.diff(system.start))
    row, cell = rows[inside], system.column[inside]
    nodes = system.size + system.relations
    graph = csr_array((np.ones(row.size, np.int8), (cell, system.size + row)), shape=(nodes, nodes))
    _, label = connected_components(graph, directed=False)
    constant = np.where(unknown, 0, bounds.low)
    right = np.zeros(system.relations, np.int64)
    np.subtract.at(right, rows, system.factor * constant[system.column])
    parts: list[TableComponent] = []
    cells_by_label = _grouped(label[: system.size], np.flatnonzero(unknown))
    rows_by_label = _grouped(label[system.size :], np.unique(row))
    entries = _grouped(label[system.size :][rows], np.flatnonzero(inside))
    place_in = np.full(system.size, -1, np.int64)
    for name in sorted(cells_by_label):
        cells = cells_by_label[name]
        relations = rows_by_label.get(name, np.empty(0, np.int64))
        mine = entries.get(name, np.empty(0, np.int64))
        place_in[cells] = np.arange(cells.size)
        place = np.searchsorted(relations, rows[mine])
        start = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=relations.size))])
        parts.append(
            TableComponent(
                cells,
                relations,
                None,
                right[relations],
                start.astype(np.int64),
                place_in[system.column[mine]],
                system.factor[mine],
                bounds.low[cells],
                bounds.high[cells],
            )
        )
    return parts


def _grouped(labels: NDArray[np.int32], members: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
    """Return the members of each label, in order."""
    if not members.size:
        return {}
    mine = labels[members]
    order = np.argsort(mine, kind="stable")
    names, begins = np.unique(mine[order], return_index=True)
    parts = np.split(members[order], begins[1:])
    return {int(name): np.sort(part) for name, part in zip(names, parts, strict=True)}


# --- moves ----------------------------------------------------------------------------------------
# Small changes of a whole table that fits: boxes, and programmes over a few cells of it.

MOST_BOXES = 20_000
"""Boxes that are looked at for one cell."""
MOST_WINDOW = 400
"""Cells of a window: those within two relations of a cell, the nearest first."""
MOST_CORNERS = 8
"""No box is searched in more dimensions than this."""


class BoxFrame:
    """The dimensions of a table, for the search of boxes.

    Two places of a dimension are partners if they are parts of the same sums, so that one can grow
    by what the other loses.

    Example:
        >>> from hartley.knowledge.cover import CoverAxis
        >>> axes = [CoverAxis.of("r", {"a", "b"}, ()), CoverAxis.of("c", {"x", "y"}, ())]
        >>> table = np.array([4, 2, 2, 2, 1, 1, 2, 1, 1])  # all ones, with their totals
        >>> frame = BoxFrame(axes)
        >>> frame.move(4, 1, table, np.where(table == 1, 0, table), np.where(table == 1, 9, table))
        {4: 1, 5: -1, 7: -1, 8: 1}
    """

    def __init__(self, axes: list[CoverAxis] | tuple[CoverAxis, ...]) -> None:
        self.shape = np.array([len(axis.nodes) for axis in axes], np.int64)
        self.stride = np.array(
            [prod(self.shape[i + 1 :].tolist()) for i in range(len(axes))], np.int64
        )
        begin, partner = [0], []
        for axis in axes:
            parts: dict[frozenset[int], list[int]] = {}
            above = {
                leaf: frozenset(n for n, b in enumerate(axis.leaves_below) if leaf in b) - {leaf}
                for leaf in axis.leaves
            }
            for leaf, sets in above.items():
                parts.setdefault(sets, []).append(leaf)
            for node in range(len(axis.nodes)):
                mine = parts[above[node]] if node in above else []
                partner += [other for other in mine if other != node]
                begin.append(len(partner))
        self.begin, self.partner = np.array(begin, np.int64), np.array(partner, np.int64)

    def move(
        self,
        cell: int,
        change: int,
        table: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> dict[int, int]:
        """Return a box that changes a cell by a number, as changes of cells; empty without one."""
        if self.shape.size > MOST_CORNERS:
            return {}
        opposite = find_cuboid(
            cell, change, self.shape, self.stride, self.begin, self.partner, table, low, high,
            MOST_BOXES,
        )  # fmt: skip
        if not opposite.size:
            return {}
        place = np.array(np.unravel_index(cell, tuple(self.shape.tolist())))
        changes = {}
        for corner in product((0, 1), repeat=place.size):
            at = int((self.stride * np.where(corner, opposite, place)).sum())
            changes[at] = change if sum(corner) % 2 == 0 else -change
        return changes


class TableWindow:
    """The unknown cells near one cell of a table that fits; all other cells stay unchanged."""

    def __init__(
        self,
        system: LinearSystem,
        cell: int,
        table: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> None:
        self.system, self.cell, self.table = system, cell, table
        self.low, self.high = low, high

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """The cells within two relations, those of the first relation first."""
        begins, rows = self.system.transposed
        inside, frontier = dict.fromkeys([self.cell]), [self.cell]
        for _ in range(2):
            near: dict[int, None] = {}
            for cell in frontier:
                for r in rows[begins[cell] : begins[cell + 1]].tolist():
                    members = self.system.column[self.system.start[r] : self.system.start[r + 1]]
                    free = members[self.low[members] < self.high[members]]
                    near.update(dict.fromkeys(free.tolist()))
            frontier = [cell for cell in near if cell not in inside]
            inside.update(dict.fromkeys(frontier))
        return np.array(list(inside)[:MOST_WINDOW], np.int64)

    def move(self, sign: int) -> dict[int, int]:
        """Return changes that make the cell as large (or small) as the window allows."""
        from scipy.sparse import csr_array

        system, cells = self.system, self.cells
        place = np.full(system.size, -1, np.int64)
        place[cells] = np.arange(cells.size)
        begins, of = system.transposed
        rows = np.unique(np.concatenate([of[begins[c] : begins[c + 1]] for c in cells.tolist()]))
        start, entries = [0], []
        for r in rows.tolist():
            mine = np.arange(system.start[r], system.start[r + 1])
            entries.append(mine[place[system.column[mine]] >= 0])
            start.append(start[-1] + entries[-1].size)
        chosen = np.concatenate(entries)
        matrix = csr_array(
            (system.factor[chosen].astype(np.float64), place[system.column[chosen]], start),
            shape=(rows.size, cells.size),
        )
        # The unknowns are the changes: no sum may change, and every bound moves with the table.
        low = self.low[cells] - self.table[cells]
        high = np.where(self.high[cells] >= FAR, FAR, self.high[cells] - self.table[cells])
        programme = TableProgramme(matrix, np.zeros(rows.size, np.int64), low, high)
        cost = np.zeros(cells.size)
        cost[0] = -float(sign)
        proposal = programme.solve(cost)
        if proposal is None:
            return {}
        whole = np.rint(proposal.point).astype(np.int64)
        return {int(cells[i]): int(whole[i]) for i in np.flatnonzero(whole).tolist()}
