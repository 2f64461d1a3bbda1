"""Proofs about published tables, added up again in whole numbers: no solver, nothing trusted."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.kernels.sums import FAR
from hartley.knowledge.table_system import LOW, whole_end

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.knowledge.table_system import LinearSystem

MOST_ROUNDS = 60
"""How often bounds are followed through all sums."""
WholeNumbers = np.ndarray[Any, np.dtype[Any]]
"""Whole numbers of machine words, or of Python's where one of them is longer."""


def followed(
    system: LinearSystem, ends: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Follow proved bounds, or the stated ones, through all sums until nothing becomes narrower.

    Written apart from the compiled kernel that a check uses, so that neither trusts the other.
    """
    low, high = (system.low.copy(), system.high.copy()) if ends is None else ends
    parts = _UnsettledParts.of(system, low, high)
    waiting = np.arange(parts.settled.size)
    for _ in range(MOST_ROUNDS):
        changed = parts.narrow(waiting, low, high)
        if not changed.size or (low[changed] > high[changed]).any():
            break
        waiting = parts.relations_of(changed)
    return low, high


@dataclass(frozen=True)
class _UnsettledParts:
    """The relations among numbers that are not settled; what is settled in them is added up.

    Relations among settled numbers narrow nothing. Whether they hold is seen when whole tables are
    added up (``Witnesses.fit``).
    """

    start: NDArray[np.int64]
    column: NDArray[np.int64]
    positive: NDArray[np.bool_]
    settled: NDArray[np.int64]
    """The signed sum of the settled numbers of each relation."""
    limit: int
    """Ends beyond it are left out, as if there were none: sums of the others fit into a word."""

    @classmethod
    def of(
        cls, system: LinearSystem, low: NDArray[np.int64], high: NDArray[np.int64]
    ) -> _UnsettledParts:
        """Leave out what is settled, and relations without anything else."""
        limit = FAR // (int(np.diff(system.start).max(initial=0)) + 2)
        if not system.column.size:
            nothing = np.empty(0, np.int64)
            return cls(np.zeros(1, np.int64), nothing, nothing > 0, nothing, limit)
        # A settled number beyond the limit stays among the others, where it counts as no end.
        fixed = (low == high) & (np.abs(low) <= limit)
        begin = system.start[:-1]
        # Tables have sums alone; a relation with other factors narrows nothing here.
        is_sum = np.logical_and.reduceat(np.abs(system.factor) == 1, begin)
        inside = ~fixed[system.column] & np.repeat(is_sum, np.diff(system.start))
        lengths = np.add.reduceat(inside, begin, dtype=np.int64)
        sums = np.add.reduceat(np.where(inside, 0, system.factor * low[system.column]), begin)
        used = lengths > 0
        start = np.concatenate([[0], np.cumsum(lengths[used])])
        return cls(start, system.column[inside], system.factor[inside] > 0, sums[used], limit)

    @cached_property  # used in each of up to MOST_ROUNDS rounds
    def _by_number(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places of the numbers in order, and the relation at each of them."""
        order = np.argsort(self.column, kind="stable")
        relation = np.repeat(np.arange(self.settled.size), np.diff(self.start))
        return self.column[order], relation[order]

    def relations_of(self, changed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the relations that have one of some numbers."""
        column, relation = self._by_number
        begin = np.searchsorted(column, changed)
        lengths = np.searchsorted(column, changed, side="right") - begin
        places = np.repeat(begin - np.cumsum(lengths) + lengths, lengths)
        return np.unique(relation[places + np.arange(places.size)])

    def narrow(
        self, waiting: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Narrow bounds in place through the relations that wait; return which have changed."""
        if not waiting.size:
            return waiting
        row, column, positive = _rows(self.start, waiting, self.column, self.positive)
        lengths = self.start[waiting + 1] - self.start[waiting]
        begin, settled = np.cumsum(lengths) - lengths, self.settled[waiting]
        least = np.where(positive, low[column], -high[column])
        most = np.where(positive, high[column], -low[column])
        # A signed number is minus the sum of the others, which lies between these ends.
        bottom = self._others(most, settled, FAR, row, begin)
        top = self._others(least, settled, -FAR, row, begin)
        before = low[column], high[column]
        np.maximum.at(low, column, np.where(positive, -bottom, top))
        np.minimum.at(high, column, np.where(positive, -top, bottom))
        return np.unique(column[(low[column] != before[0]) | (high[column] != before[1])])

    def _others(
        self,
        ends: NDArray[np.int64],
        settled: NDArray[np.int64],
        far: int,
        row: NDArray[np.int64],
        begin: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return the sum of all others of a relation for each number in it; ``far`` is none."""
        endless = np.abs(ends) > self.limit
        finite = np.where(endless, 0, ends)
        sums = settled + np.add.reduceat(finite, begin)
        without = np.add.reduceat(endless, begin, dtype=np.int64)
        others = sums[row] - finite
        unknown = (without[row] - endless > 0) | (np.abs(others) > self.limit)
        return np.where(unknown, far, others)


def refer_to(start: NDArray[np.int64], entries: NDArray[np.int64], size: int) -> bool:
    """Tell whether rows of entries are well formed: in order, and each of them below a size."""
    return bool(
        start.size
        and start[0] == 0
        and start[-1] == entries.size
        and (np.diff(start) >= 0).all()
        and ((entries >= 0) & (entries < size)).all()
    )


@dataclass(frozen=True)
class ProofRows:
    """Multipliers of many ends: for each a cell, a side, and whole numbers over one denominator."""

    cell: NDArray[np.int64]
    side: NDArray[np.int64]
    start: NDArray[np.int64]
    relation: NDArray[np.int64]
    numerator: WholeNumbers
    denominator: WholeNumbers

    def bounds(self, system: LinearSystem) -> list[int | None]:
        """Return the whole number that each proves as an end, rounded outward; None is none."""
        if not self.cell.size:
            return []
        # The guard itself must not overflow: it uses Python's whole numbers where words are short.
        both = self.numerator, self.denominator
        fit = all(_largest(values) * (values.size + 1) < FAR // 2 for values in both)
        weights = np.abs(self.numerator.astype(np.int64 if fit else object))
        sums = np.concatenate([np.zeros(1, weights.dtype), np.cumsum(weights)])
        per_row = sums[self.start[1:]] - sums[self.start[:-1]] + self.denominator
        longest = int(np.diff(system.start).max(initial=1))
        steepest = int(np.abs(system.factor).max(initial=1))
        ends = np.abs(np.concatenate([system.low, system.high]))
        largest = int(ends[ends < FAR].max(initial=0)) + 1
        small = (per_row <= (FAR - 1) // (longest * steepest * largest)).astype(bool)
        proved: list[int | None] = [None] * self.cell.size
        for i in np.flatnonzero(~small).tolist():  # machine integers would overflow: in Python's
            proved[i] = self._slowly(system, i)
        chosen = np.flatnonzero(small)
        for i, end in zip(chosen.tolist(), self._together(system, chosen), strict=True):
            proved[i] = end
        return proved

    def _slowly(self, system: LinearSystem, i: int) -> int | None:
        mine = slice(self.start[i], self.start[i + 1])
        below = int(self.denominator[i])
        multipliers = {
            r: Fraction(int(y), below)
            for r, y in zip(self.relation[mine].tolist(), self.numerator[mine], strict=True)
        }
        end = system.bound(int(self.cell[i]), multipliers, side := int(self.side[i]))
        return None if end is None else whole_end(end, side)

    def _together(self, system: LinearSystem, chosen: NDArray[np.int64]) -> list[int | None]:
        r"""Compute d = e_j - y A for many ends at once, and the ends of d x."""
        if not chosen.size:
            return []
        below = self.denominator[chosen].astype(np.int64)
        of, r, y = _rows(self.start, chosen, self.relation, self.numerator)
        of_entry, column, sign = _rows(system.start, r, system.column, system.factor)
        # Every entry of d, one for each relation that a cell is in, with what is left of e_j.
        own = np.arange(chosen.size) * system.size + self.cell[chosen]
        place = np.concatenate([of[of_entry] * system.size + column, own])
        entry = np.concatenate([-y.astype(np.int64)[of_entry] * sign, below])
        order = np.argsort(place, kind="stable")
        place, entry = place[order], entry[order]
        first = np.flatnonzero(np.diff(place, prepend=-1))
        d, place = np.add.reduceat(entry, first), place[first]
        of, column = place // system.size, place % system.size
        low_side = (d > 0) == (self.side[chosen][of] == LOW)
        ends = np.where(low_side, system.low[column], system.high[column])
        endless = (np.abs(ends) >= FAR) & (d != 0)
        begin = np.searchsorted(of, np.arange(chosen.size))  # every row has the entry of its cell
        sums = np.add.reduceat(np.where(endless, 0, d * np.where(endless, 0, ends)), begin)
        without = np.logical_or.reduceat(endless, begin)
        rounded = np.where(self.side[chosen] == LOW, -(-sums // below), sums // below)
        pairs = zip(rounded.tolist(), without.tolist(), strict=True)
        return [None if none else end for end, none in pairs]


def _largest(values: WholeNumbers) -> int:
    """Return the largest magnitude; in Python's numbers, since -2**63 has none in a word."""
    return max(int(values.max(initial=0)), -int(values.min(initial=0)))


def _rows(
    start: NDArray[np.int64],
    chosen: NDArray[np.int64],
    first: WholeNumbers,
    second: WholeNumbers,
) -> tuple[NDArray[np.int64], Any, Any]:
    """Return the entries of some rows, and the place of the row of each of them."""
    lengths = start[chosen + 1] - start[chosen]
    before = np.repeat(start[chosen] - np.cumsum(lengths) + lengths, lengths)
    entries = before + np.arange(before.size)
    return np.repeat(np.arange(chosen.size), lengths), first[entries], second[entries]


@dataclass(frozen=True)
class Witnesses:
    """A whole table and changes of it, which fit as well; nothing is said where it is unknown.

    Where the table is unknown the true one stands: cells are only changed together with all cells
    that share a relation with them, so what is shown plus the rest of the truth is a whole table.
    """

    base: NDArray[np.int64]
    known: NDArray[np.bool_]
    start: NDArray[np.int64]
    cell: NDArray[np.int64]
    change: NDArray[np.int64]

    def fit(self, system: LinearSystem, low: NDArray[np.int64], high: NDArray[np.int64]) -> bool:
        """Tell whether the table and all its changes fit, given proved bounds."""
        largest = max(_largest(self.base), _largest(self.change))
        if largest * int(np.diff(system.start).max(initial=1)) >= FAR:
            return False  # sums could overflow
        settled = low == high
        base, known, moved = self.base, self.known, self.base[self.cell] + self.change
        return bool(
            known[settled].all()
            and (base[settled] == low[settled]).all()
            and (base >= system.low)[known].all()
            and (base <= system.high)[known].all()
            and not settled[self.cell].any()
            and known[self.cell].all()
            and (moved >= system.low[self.cell]).all()
            and (moved <= system.high[self.cell]).all()
            and self._base_adds_up(system, settled)
            and self._changes_add_up(system)
        )

    def _base_adds_up(self, system: LinearSystem, settled: NDArray[np.bool_]) -> bool:
        """Tell whether the table has all sums, and whether unknown parts of it are apart."""
        if not system.column.size:
            return True
        column, begin = system.column, system.start[:-1]
        touched = np.logical_or.reduceat((self.known & ~settled)[column], begin)
        unknown = np.logical_or.reduceat(~self.known[column], begin)
        sums = np.add.reduceat(system.factor * np.where(self.known, self.base, 0)[column], begin)
        return not (touched & unknown).any() and not sums[~unknown].any()

    def _changes_add_up(self, system: LinearSystem) -> bool:
        """Return whether every change leaves all sums unchanged and has no cell twice."""
        if not self.cell.size:
            return True
        move = np.repeat(np.arange(self.start.size - 1), np.diff(self.start))
        places = np.sort(move * system.size + self.cell)
        if not np.diff(places).all():
            return False
        # The relations of the cells that are changed somewhere, cell by cell.
        changed = np.zeros(system.size, bool)
        changed[self.cell] = True
        entries = np.flatnonzero(changed[system.column])
        entries = entries[np.argsort(system.column[entries], kind="stable")]
        relation = np.searchsorted(system.start, entries, side="right") - 1
        numbers = np.bincount(system.column[entries], minlength=system.size)
        start = np.concatenate([[0], np.cumsum(numbers)])
        of, relation, sign = _rows(start, self.cell, relation, system.factor[entries])
        if not of.size:
            return True
        place = move[of] * system.relations + relation
        order = np.argsort(place, kind="stable")
        place, change = place[order], (self.change[of] * sign)[order]
        return not np.add.reduceat(change, np.flatnonzero(np.diff(place, prepend=-1))).any()

    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and the most that the tables have in each cell."""
        least, most = self.base.copy(), self.base.copy()
        moved = self.base[self.cell] + self.change
        np.minimum.at(least, self.cell, moved)
        np.maximum.at(most, self.cell, moved)
        return np.where(self.known, least, FAR), np.where(self.known, most, -FAR)

    def number_of_values(self, about: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the different numbers that the tables have in some cells."""
        numbers = np.where(about & self.known, 1, 0)
        here = about[self.cell] & (self.change != 0)
        cell, change = self.cell[here], self.change[here]
        order = np.lexsort((change, cell))
        cell, change = cell[order], change[order]
        new = (np.diff(cell, prepend=-1) != 0) | (np.diff(change, prepend=0) != 0)
        return numbers + np.bincount(cell[new], minlength=numbers.size)
