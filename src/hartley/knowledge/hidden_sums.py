"""Sums of hidden cells: those told exactly, and one table that leaves room in all cells at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hartley.errors import OptionError
from hartley.exact import over_one_denominator
from hartley.kernels.sums import FAR
from hartley.knowledge.table_bounds import MOST_UNKNOWNS, NODES
from hartley.knowledge.table_system import HIGH, Bounds, LinearSystem, TableProgramme, components

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.knowledge.cover import Cover
    from hartley.knowledge.table_system import TableComponent

    Ends = tuple[NDArray[np.int64], NDArray[np.int64]]
    Change = tuple[tuple[int, ...], tuple[int, ...]]

MOST_SOLVES = 5_000
"""At most this many programmes are solved for the questions of one rule."""
MOST_REMAINDERS = 10_000
"""At most so many sums are looked at that totals leave of each other."""
MOST_TOGETHER = 3_000
"""For more unknown cells that hang together no programme looks for means of tables."""
STEP_INSIDE = 1e-3
"""The share of the way from the edge of what is possible to the middle of the known tables."""
OPEN, WAITING = -1, -2
"""Stand for the number of a table: none was found, or none was sought yet."""


class Remainder(NamedTuple):
    """A sum of hidden atoms that is known exactly."""

    total: int
    published: bool
    """Whether the sum itself is the number of a cell."""


ONE_PERSON = Remainder(1, published=False)


def remainders(
    joint: Cover, low: NDArray[np.int64], high: NDArray[np.int64]
) -> dict[tuple[int, ...], Remainder]:
    """Return the sums of several unknown atoms that are known exactly: cells in all but name.

    They are what known numbers leave of a known total, and what such sums leave of each other. A
    sum that known ones make up tells nothing that they do not tell, so it is left out.
    """
    system, settled = joint.system, low == high
    atoms = joint.atoms[~settled[joint.atoms]]
    if not atoms.size or not system.relations:
        return {}
    cell, of = joint.above(atoms)
    order = np.argsort(cell, kind="stable")
    below, begin = atoms[of[order]], np.searchsorted(cell[order], np.arange(system.size + 1))
    told = np.zeros(system.size, np.int64)
    told[joint.atoms] = np.where(settled, low, 0)[joint.atoms]
    joint.add_up(told)
    told[settled] = low[settled]
    waiting: list[tuple[frozenset[int], Remainder]] = []
    some_hidden = np.logical_or.reduceat(~settled[system.column], system.start[:-1])
    for r in np.flatnonzero(some_hidden & settled[system.column[system.start[:-1]]]).tolist():
        parent, children = system.relation(r)
        known = sum(int(told[child]) for child in children)
        hidden = [below[begin[c] : begin[c + 1]] for c in children if not settled[c]]
        left = Remainder(int(low[parent]) - known, not known)
        waiting.append((frozenset(np.concatenate(hidden).tolist()), left))
    found: dict[frozenset[int], Remainder] = {}
    sets_with: dict[int, list[frozenset[int]]] = {}
    waiting.sort(key=lambda each: len(each[0]))
    stated = len(waiting)
    for number, (cells, left) in enumerate(waiting):
        if len(cells) < 2 or cells in found:
            continue
        near = {other for c in cells for other in sets_with.get(c, ())}
        part = next((n for n in near if n < cells), None) if number >= stated else None
        if part is not None:
            rest = left.total - found[part].total
            waiting.append((cells - part, Remainder(rest, published=False)))
            continue
        found[cells] = left
        if len(found) > stated + MOST_REMAINDERS:
            raise OptionError(
                "The totals of the outputs leave too many different sums of hidden cells",
                hint="check fewer outputs, or fewer [[trees]], at once",
            )
        for large, small in [(cells, n) if n < cells else (n, cells) for n in near]:
            if small < large:
                rest = found[large].total - found[small].total
                waiting.append((large - small, Remainder(rest, published=False)))
        for c in cells:
            sets_with.setdefault(c, []).append(cells)
    return {tuple(sorted(cells)): left for cells, left in found.items()}


def exact_sums_alone(
    system: LinearSystem, low: NDArray[np.int64], high: NDArray[np.int64]
) -> LinearSystem:
    """Return the system of somebody who knows the settled numbers, and no other bound.

    Where a number can be large there, no sum of numbers that is known exactly keeps it small.
    """
    settled = low == high
    ends = np.where(settled, low, 0), np.where(settled, high, FAR)
    return LinearSystem(system.start, system.column, system.factor, *ends)


def known_union(
    joint: Cover, settled: LinearSystem, multipliers: Mapping[int, Fraction]
) -> tuple[list[int], Fraction] | None:
    """Return the atoms whose sum a combination of relations tells, and the sum; None if it is none.

    ``settled`` is what is known of the cells exactly, as ``exact_sums_alone`` returns it.
    """
    rest = settled.differences({}, multipliers)  # these weights make zero of every table
    weights: dict[int, Fraction] = {}
    total = Fraction(0)
    known = settled.low == settled.high
    cell, of = joint.above(joint.atoms)
    for c, at in zip(cell.tolist(), of.tolist(), strict=True):
        atom = int(joint.atoms[at])
        if c in rest and not known[c] and known[atom]:
            total -= rest[c] * int(settled.low[atom])
        elif c in rest and not known[c]:
            weights[atom] = weights.get(atom, Fraction(0)) + rest[c]
    total -= sum((w * int(settled.low[c]) for c, w in rest.items() if known[c]), Fraction(0))
    atoms = sorted(atom for atom, weight in weights.items() if weight)
    if len({weights[atom] for atom in atoms}) != 1:
        return None
    return atoms, total / weights[atoms[0]]


def hidden_sums(
    joint: Cover, low: NDArray[np.int64], high: NDArray[np.int64]
) -> dict[int, frozenset[int]]:
    """Return the published sums of unknown atoms alone that are not known, each with its atoms."""
    atoms = joint.atoms[(low < high)[joint.atoms] | (low[joint.atoms] != 0)]
    about = joint.published & (low < high)
    about[joint.atoms] = False
    below: dict[int, set[int]] = {cell: set() for cell in np.flatnonzero(about).tolist()}
    cell, of = joint.above(atoms) if below else (np.empty(0, np.int64), atoms)
    mine = about[cell]
    for c, atom in zip(cell[mine].tolist(), atoms[of[mine]].tolist(), strict=True):
        below[c].add(atom)
    return {c: frozenset(b) for c, b in below.items() if b and (low < high)[list(b)].all()}


def with_sums(cells: Iterable[int], sums: Mapping[int, frozenset[int]]) -> list[int]:
    """Return some atoms, and the published sums all of whose unknown atoms are among them."""
    atoms = frozenset(cells)
    return [*sorted(atoms), *(cell for cell, below in sums.items() if below <= atoms)]


class HullPoint(NamedTuple):
    """A weighted mean of whole tables, perhaps with negative weights."""

    weights: dict[int, int]
    """How often each change of the base is made, over ``below``."""
    below: int


@dataclass(frozen=True)
class TableHull:
    """All weighted means of whole tables that fit, also with negative weights.

    A sum that is known exactly is the same in all these tables, so in every mean of them. If a mean
    has no number below zero and k or more in a cell, then every such sum with the cell is k or
    more. Sums do not have to be listed for this, and nothing rests on what is not proved.
    """

    base: NDArray[np.int64]
    """``FAR`` where no table is known."""
    start: NDArray[np.int64]
    """Where each change of the base begins, which gives another table that fits."""
    cell: NDArray[np.int64]
    change: NDArray[np.int64]

    @cached_property
    def _by_table(self) -> Any:  # noqa: ANN401 - a sparse matrix of scipy's, untyped
        from scipy.sparse import csr_array

        shape = (self.start.size - 1, self.base.size)
        return csr_array((self.change, self.cell, self.start), shape=shape)

    @cached_property
    def _by_cell(self) -> Any:  # noqa: ANN401 - likewise
        return self._by_table.tocsc()

    def numbered(self, point: HullPoint, changes: dict[Change, int]) -> HullPoint:
        """Return a mean in terms of a list of changes, to which those that it is made of are added.

        More tables are found later, and the list of all of them is another one then.
        """
        weights: dict[int, int] = {}
        for number, weight in point.weights.items():
            mine = slice(self.start[number], self.start[number + 1])
            change = tuple(self.cell[mine].tolist()), tuple(self.change[mine].tolist())
            place = changes.setdefault(change, len(changes))  # tables may be found twice
            weights[place] = weights.get(place, 0) + weight
        return HullPoint(weights, point.below)

    def value(self, cell: int, point: HullPoint) -> Fraction | None:
        """Return what a mean has in a cell; None if it has a number below zero somewhere."""
        if point.below < 1 or self.base[cell] >= FAR:
            return None
        total: dict[int, int] = {}
        for number, weight in point.weights.items():
            mine = slice(self.start[number], self.start[number + 1])
            for c, n in zip(self.cell[mine].tolist(), self.change[mine].tolist(), strict=True):
                total[c] = total.get(c, point.below * int(self.base[c])) + weight * n
        if any(n < 0 for n in total.values()):
            return None
        return Fraction(total.get(cell, point.below * int(self.base[cell])), point.below)

    def towards(self, cell: int, k: int) -> HullPoint | None:
        """Return a mean with a number in a cell: a table, then one change as often as needed."""
        if self.base[cell] >= FAR:
            return None
        column = slice(self._by_cell.indptr[cell], self._by_cell.indptr[cell + 1])
        rows, own = self._by_cell.indices[column], self._by_cell.data[column]
        if not rows.size:
            return None
        some = self._by_table[rows]
        lengths, sign = np.diff(some.indptr), np.sign(own)
        change, steep = some.data * np.repeat(sign, lengths), np.repeat(np.abs(own), lengths)
        highest = int(np.argmax(own))
        for first in [None, *([highest] if own[highest] > 0 else [])]:
            table = self.base.copy()
            if first is not None:
                mine = slice(some.indptr[first], some.indptr[first + 1])
                table[some.indices[mine]] += some.data[mine]
            missing = k - int(table[cell])
            below_zero = table[some.indices] * steep < -missing * change
            free = np.flatnonzero(~np.logical_or.reduceat(below_zero, some.indptr[:-1]))
            for at in free[:1].tolist():
                below = abs(int(own[at]))
                weights = {} if first is None else {int(rows[first]): below}
                number, times = int(rows[at]), missing * int(sign[at])
                return HullPoint(weights | {number: weights.get(number, 0) + times}, below)
        return None

    def search(
        self, cells: NDArray[np.int64], wanted: Sequence[int], k: int
    ) -> dict[int, HullPoint]:
        """Return means with a number in some cells of a component, found by a programme."""
        from scipy.sparse import hstack, identity

        moves = self._by_table[:, cells]
        used = np.flatnonzero(np.diff(moves.indptr))
        if not used.size or cells.size > MOST_TOGETHER:
            return {}
        free = np.full(used.size, FAR)
        programme = TableProgramme(
            hstack([identity(cells.size), -moves[used].T]).tocsr().astype(np.float64),
            self.base[cells],
            np.append(np.zeros_like(cells), -free),
            np.append(np.full(cells.size, FAR), free),
        )
        found = {}
        for cell in wanted:
            cost = np.zeros(cells.size + used.size)
            cost[np.searchsorted(cells, cell)] = -1.0
            proposal = programme.solve(cost)
            if proposal is None:
                continue
            # On an edge only small denominators are exact; a step inside, rounding does no harm.
            edge = proposal.point[cells.size :]
            inside = edge + STEP_INSIDE * (1 / (used.size + 1) - edge)
            for weights, below in [*over_one_denominator(edge), *over_one_denominator(inside)]:
                listed = zip(used.tolist(), weights, strict=True)
                point = HullPoint({number: n for number, n in listed if n}, below)
                value = self.value(cell, point)
                if value is not None and value >= k:
                    found[cell] = point
                    break
        return found


class Target(NamedTuple):
    """Whose part must not be told, and what the cells must be able to be for it."""

    rows: tuple[int, ...]
    need: dict[int, Fraction]
    """What each cell where they have a part must be able to be, at once."""
    on_top: bool
    """Whether it is needed on top of what the attacker has in the cell."""


class TightSum(NamedTuple):
    """A weighted sum of cells that is never as large as a target needs, and the proof."""

    target: int
    attacker: int
    weights: dict[int, int]
    multipliers: dict[int, int]


@dataclass(frozen=True)
class Holdings:
    """What contributors have in atoms that are not told exactly, row by row, and who attacks.

    Attacker 0 has nothing of their own; attacker r + 1 is the contributor of row r.
    """

    start: NDArray[np.int64]
    cell: NDArray[np.int64]
    amount: NDArray[np.int64]
    alone: NDArray[np.bool_]
    """Whether nobody else contributes to the cell."""
    insider: str
    """"none", "sole": knows the cells where they are alone, "holdings": knows their own part
    everywhere, "all": both."""

    @cached_property
    def attacker(self) -> NDArray[np.int64]:
        """The attacker of each entry."""
        return 1 + np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    @cached_property
    def fixed(self) -> NDArray[np.bool_]:
        """The entries that are the whole cell, and whose attacker knows that."""
        return self.alone & (self.insider in {"sole", "all"})

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """The entries that an attacker knows."""
        return self.fixed | (self.insider in {"holdings", "all"})

    @cached_property
    def attackers(self) -> list[int]:
        """Nobody, and everybody who knows something."""
        return [0, *np.unique(self.attacker[self.seen]).tolist()]

    def target(self, rows: tuple[int, ...], factor: Fraction, *, on_top: bool) -> Target:
        """Return what cells must be able to be so that a joint part is not told."""
        parts: dict[int, int] = {}
        for row in rows:
            mine = slice(self.start[row], self.start[row + 1])
            for cell, n in zip(self.cell[mine].tolist(), self.amount[mine].tolist(), strict=True):
                parts[cell] = parts.get(cell, 0) + n
        return Target(rows, {cell: factor * n for cell, n in parts.items() if n}, on_top)

    def ends(self, system: LinearSystem, attackers: Sequence[int]) -> Ends:
        """Return the bounds that hold for each of some attackers."""
        low, high = system.low.copy(), system.high.copy()
        mine = self.seen & np.isin(self.attacker, attackers)
        np.maximum.at(low, self.cell[mine], self.amount[mine])
        mine &= self.fixed
        np.minimum.at(high, self.cell[mine], self.amount[mine])
        return low, high

    def wanted(
        self, target: Target, attackers: Sequence[int], without: set[int]
    ) -> dict[int, Fraction]:
        """Return what the cells must be able to be for each of some attackers."""
        least = {cell: n for cell, n in target.need.items() if cell not in without}
        mine = self.seen & np.isin(self.attacker, attackers)
        mine &= np.isin(self.cell, np.fromiter(least, np.int64, len(least)))
        own: dict[int, int] = {}
        for at in np.flatnonzero(mine).tolist():
            cell = int(self.cell[at])
            own[cell] = max(own.get(cell, 0), int(self.amount[at]))
            if self.fixed[at]:
                del least[cell]
        return {cell: n + own.get(cell, 0) * target.on_top for cell, n in least.items()}

    def served(
        self, table: NDArray[np.int64], target: Target, without: set[int]
    ) -> NDArray[np.bool_]:
        """Tell for which attackers a table that fits leaves a target enough room."""
        need = {cell: n for cell, n in target.need.items() if cell not in without}
        short = [cell for cell, n in need.items() if int(table[cell]) < n]
        room = table.copy()
        if target.on_top:
            for cell, n in need.items():
                room[cell] -= min(math.ceil(n), FAR)
        here = table[self.cell]
        too_little = self.seen & (
            (self.amount > room[self.cell]) | (self.fixed & (self.amount != here))
        )
        known = np.bincount(
            self.attacker[self.fixed & np.isin(self.cell, short)], minlength=self.start.size
        )
        enough: NDArray[np.bool_] = known == len(
            short
        )  # nobody has to be kept from what they know anyway
        enough[self.attacker[too_little]] = False
        if len(target.rows) == 1:
            enough[1 + target.rows[0]] = True  # nor from their own part
        return enough

    def proves(self, system: LinearSystem, target: Target, tight: TightSum) -> bool:
        """Tell whether multipliers prove that a weighted sum is always too small for a target."""
        wanted = self.wanted(target, [tight.attacker], set())
        if not tight.weights.keys() <= wanted.keys() or min(tight.weights.values(), default=0) < 1:
            return False
        multipliers = {r: Fraction(y) for r, y in tight.multipliers.items()}
        ends = self.ends(system, [tight.attacker])
        most = system.bound(tight.weights, multipliers, HIGH, ends)
        return most is not None and most < sum(w * wanted[c] for c, w in tight.weights.items())


@dataclass
class OneTable:
    """Asks for each target and each attacker for one table with enough room in all cells at once.

    The tables that fit, with everything below them, are a convex set. If what a target needs is not
    in it, some weighted sum of cells is always too small, and multipliers prove that; otherwise no
    sum is, and the table shows it. So nobody has to list unions of cells.

    Example:
        >>> line = LinearSystem.of([(3, [0, 1, 2])], [0, 0, 330, 503], [FAR, FAR, 330, 503])
        >>> firm = Holdings(*map(np.array, ([0, 2], [0, 1], [80, 90], [False, False])), "none")
        >>> asked = OneTable(line, np.array([81, 92, 330, 503]), firm)
        >>> asked.ask([firm.target((0,), Fraction(11, 10), on_top=True)])
        >>> asked.proofs[0].weights
        {0: 1, 1: 1}
    """

    system: LinearSystem
    base: NDArray[np.int64]
    holdings: Holdings
    exact: bool = False
    tables: list[NDArray[np.int64]] = field(default_factory=list)
    """Tables beside the base, which has the number 0."""
    targets: Sequence[Target] = ()
    answers: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 0), np.int64))
    """The number of a table, or ``OPEN``, for every target and attacker."""
    proofs: list[TightSum] = field(default_factory=list)
    """A cell of a sum that is tight for a target is left out of further questions about it."""
    solves: int = 0

    @cached_property
    def _parts(self) -> list[TableComponent]:
        # Bounds as stated: multipliers of a programme are then the whole proof.
        return components(self.system, Bounds(self.system))

    def ask(self, targets: Sequence[Target]) -> None:
        """Answer all questions about some targets, those of outsiders first."""
        self.targets, self.solves = targets, 0
        self.answers = np.full((len(targets), self.holdings.start.size), WAITING, np.int64)
        self.proofs = []
        for number, table in enumerate([self.base, *self.tables]):
            self._use(table, number)
        knowing = set(self.holdings.attacker[self.holdings.fixed].tolist())
        plain = [attacker for attacker in self.holdings.attackers[1:] if attacker not in knowing]
        for group in ([0], plain, *([attacker] for attacker in sorted(knowing))):
            self._ask(list(range(len(targets))), group)

    def tight(self, t: int) -> set[int]:
        """Return the cells of the sums that are too small for a target."""
        return {cell for tight in self.proofs if tight.target == t for cell in tight.weights}

    def doubtful(self) -> set[int]:
        """Return the cells that open questions are about."""
        return {
            cell
            for t, attacker in np.argwhere(self.answers == OPEN).tolist()
            if attacker in self.holdings.attackers
            for cell in self.holdings.wanted(self.targets[t], [attacker], self.tight(t))
        }

    def _use(self, table: NDArray[np.int64], number: int) -> None:
        """Let a table answer every question that it can."""
        for t, target in enumerate(self.targets):
            waiting = self.answers[t] == WAITING
            if waiting.any():
                waiting &= self.holdings.served(table, target, self.tight(t))
                self.answers[t, waiting] = number

    def _ask(self, targets: list[int], attackers: list[int]) -> None:
        """Look for one table for many questions, and for fewer if there is none."""
        waiting = self.answers[np.ix_(targets, attackers)] == WAITING
        targets = [t for t, any_left in zip(targets, waiting.any(axis=1), strict=True) if any_left]
        attackers = [a for a, some in zip(attackers, waiting.any(axis=0), strict=True) if some]
        if not targets or self._find(targets, attackers):
            return
        if len(targets) > 1:
            for half in _halves(targets):
                self._ask(half, attackers)
        elif len(attackers) > 1:
            for half in _halves(attackers):
                self._ask(targets, half)
        else:
            self.answers[targets[0], attackers[0]] = OPEN

    def _find(self, targets: list[int], attackers: list[int]) -> bool:
        """Tell whether one table answers many questions; a single one may be answered by proofs."""
        low, high = self.holdings.ends(self.system, attackers)
        while True:
            wanted: dict[int, Fraction] = {}
            for t in targets:
                mine = [a for a in attackers if self.answers[t, a] == WAITING]
                for c, n in self.holdings.wanted(self.targets[t], mine, self.tight(t)).items():
                    wanted[c] = max(wanted.get(c, n), n)
            least = low.copy()
            for cell, needed in wanted.items():
                least[cell] = max(int(low[cell]), min(math.ceil(needed), FAR))
            table, prices = self._fitting(low, high, least)
            if table is not None:
                self.tables.append(table)
                self._use(table, len(self.tables))
                return True
            if len(targets) > 1 or len(attackers) > 1:
                return False
            tight = self._tight(targets[0], attackers[0], prices)
            if tight is None:  # no whole table has enough room; others than whole ones may have it
                exact = least.astype(np.float64)
                exact[[*wanted]] = np.maximum(low[[*wanted]], [*map(float, wanted.values())])
                prices = self._fitting(low, high, exact)[1]
                tight = self._tight(targets[0], attackers[0], prices)
            if tight is None:
                return False
            self.proofs.append(tight)

    def _fitting(
        self, low: NDArray[np.int64], high: NDArray[np.int64], least: NDArray[Any]
    ) -> tuple[NDArray[np.int64] | None, dict[int, float]]:
        """Return a table that is nowhere below some numbers, or what each relation is worth."""
        table = self.base.copy()
        for part in self._parts:
            cells = part.cells
            want, top = least[cells], high[cells]
            if (want > top).any():
                return None, {}
            if ((table[cells] >= want) & (table[cells] <= top)).all():
                continue
            whole: NDArray[np.int64] | None = np.ceil(want).astype(np.int64)
            prices: dict[int, float] = {}
            if part.relations.size:
                whole, prices = self._solve(part, low[cells], top, want)
            if whole is None:
                return None, prices
            table[cells] = whole
        return table, {}

    def _solve(
        self,
        part: TableComponent,
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        want: NDArray[Any],
    ) -> tuple[NDArray[np.int64] | None, dict[int, float]]:
        """Ask a programme for as much of what is wanted as fits; exact numbers decide."""
        from scipy.sparse import hstack

        if want.size > MOST_UNKNOWNS or self.solves >= MOST_SOLVES:
            return None, {}
        self.solves += 1
        # A cell up to what is wanted, which is worth something, and what it has beyond that.
        soft = np.flatnonzero(want > low)
        more = np.where(high[soft] >= FAR, FAR, high[soft] - want[soft])
        programme = TableProgramme(
            hstack([part.matrix, part.matrix[:, soft]]).tocsr(),
            part.right,
            np.append(low, np.zeros_like(soft)),
            np.append(np.where(want > low, want, high), more),
        )
        cost = np.append(np.where(want > low, -1.0, 0.0), np.zeros(soft.size))
        proposal = programme.solve(cost)
        for search in (False, True)[: 1 + self.exact]:
            found = programme.solve_whole(cost, NODES) if search else proposal and proposal.point
            if found is not None:
                both = found[: want.size].copy()
                both[soft] += found[want.size :]
                whole = part.witness_table(both)
                if whole is not None and ((whole >= want) & (whole <= high)).all():
                    return whole, {}
        if proposal is None or proposal.multipliers is None:
            return None, {}
        return None, dict(zip(part.relations.tolist(), -proposal.multipliers, strict=True))

    def _tight(self, t: int, attacker: int, prices: Mapping[int, float]) -> TightSum | None:
        """Return a weighted sum that is proved to be too small; None without one."""
        wanted = self.holdings.wanted(self.targets[t], [attacker], self.tight(t))
        high = self.holdings.ends(self.system, [attacker])[1]
        beyond = [cell for cell, n in wanted.items() if n > int(high[cell])]
        if beyond:
            alone = TightSum(t, attacker, {beyond[0]: 1}, {})
            return alone if self.holdings.proves(self.system, self.targets[t], alone) else None
        for numerators, _ in over_one_denominator(np.array(list(prices.values()))):
            shared = math.gcd(*numerators) or 1
            used = {r: y // shared for r, y in zip(prices, numerators, strict=True) if y}
            worth = self.system.differences({}, {r: Fraction(y) for r, y in used.items()})
            weights = {c: int(-worth[c]) for c in wanted if worth.get(c, 0) < 0}
            tight = TightSum(t, attacker, weights, used)
            if self.holdings.proves(self.system, self.targets[t], tight):
                return tight
        return None


def _halves(places: list[int]) -> tuple[list[int], list[int]]:
    half = len(places) // 2
    return places[:half], places[half:]
