"""Proofs about published tables, added up again in whole numbers: no solver, nothing trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.propagation import FAR
from hartley.measures.sensitivity import Frequency, Homogeneous
from hartley.ranges.tables.cover import lines_of
from hartley.ranges.tables.system import LOW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.measures.sensitivity import Rule
    from hartley.ranges.tables.cover import Cover
    from hartley.ranges.tables.system import LinearSystem

MOST_ROUNDS = 60
"""How often bounds are followed through all sums."""
SAFE, PROTECTED, OPEN, DISCLOSED = range(4)
"""Verdicts, the worst last."""
WORDS = ("safe", "protected", "open", "disclosed")


def followed(
    system: LinearSystem, ends: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Follow bounds through all sums at once, until nothing becomes narrower or long enough.

    Written apart from the compiled kernel that a check uses, so that neither trusts the other.

    Args:
        system: the numbers and their relations.
        ends: bounds that are proved already; without them, the stated ones.

    Example:
        >>> from hartley.ranges.tables.system import LinearSystem
        >>> low, high = followed(LinearSystem.of([(2, [0, 1])], [0, 3, 7], [FAR, FAR, 7]))
        >>> low.tolist(), high.tolist()
        ([0, 3, 7], [4, 7, 7])
    """
    low, high = (system.low.copy(), system.high.copy()) if ends is None else ends
    if not system.column.size:
        return low, high
    column, positive, begin = system.column, system.sign > 0, system.start[:-1]
    row = np.repeat(np.arange(system.relations), np.diff(system.start))
    for _ in range(MOST_ROUNDS):
        before = low.copy(), high.copy()
        least = np.where(positive, low[column], -high[column])
        most = np.where(positive, high[column], -low[column])
        # A signed number is minus the sum of the others, which lies between these ends.
        bottom, top = _others(most, FAR, row, begin), _others(least, -FAR, row, begin)
        np.maximum.at(low, column, np.where(positive, -bottom, top))
        np.minimum.at(high, column, np.where(positive, -top, bottom))
        if (low == before[0]).all() and (high == before[1]).all():
            break
    return low, high


def _others(
    ends: NDArray[np.int64], far: int, row: NDArray[np.int64], begin: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the sum of all other ends of a relation for each of its numbers; ``far`` is none."""
    endless = np.abs(ends) >= FAR
    finite = np.where(endless, 0, ends)
    sums, without = np.add.reduceat(finite, begin), np.add.reduceat(endless.astype(np.int64), begin)
    return np.where(without[row] - endless > 0, far, sums[row] - finite)


def refer_to(start: NDArray[np.int64], entries: NDArray[np.int64], size: int) -> bool:
    """Tell whether rows of entries are well formed: in order, and each of them below a size.

    Example:
        >>> start = np.array([0, 2])
        >>> refer_to(start, np.array([0, 4]), 5), refer_to(start, np.array([0, -1]), 5)
        (True, False)
    """
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
    numerator: list[int]
    denominator: list[int]

    def bounds(self, system: LinearSystem) -> list[int | None]:
        """Return the whole number that each proves as an end, rounded outward; None is none."""
        if not self.cell.size:
            return []
        weights = [abs(n) for n in self.numerator]
        longest = int(np.diff(system.start).max(initial=1))
        ends = np.concatenate([system.low, system.high])
        largest = int(np.abs(ends[np.abs(ends) < FAR]).max(initial=0)) + 1
        per_row = [
            (sum(weights[self.start[i] : self.start[i + 1]]) + d) * longest * largest
            for i, d in enumerate(self.denominator)
        ]
        proved: list[int | None] = [None] * self.cell.size
        small = [i for i, most in enumerate(per_row) if most < FAR]
        for i, most in enumerate(per_row):
            if most >= FAR:  # machine integers would overflow: the same in Python's
                proved[i] = self._slowly(system, i)
        for i, end in zip(small, self._together(system, small), strict=True):
            proved[i] = end
        return proved

    def _slowly(self, system: LinearSystem, i: int) -> int | None:
        mine = range(self.start[i], self.start[i + 1])
        multipliers = {
            int(self.relation[j]): Fraction(self.numerator[j], self.denominator[i]) for j in mine
        }
        side = int(self.side[i])
        end = system.bound(int(self.cell[i]), multipliers, side)
        if end is None:
            return None
        return math.ceil(end) if side == LOW else math.floor(end)

    def _together(self, system: LinearSystem, rows: Sequence[int]) -> list[int | None]:
        r"""Compute d = e_j - y A for many ends at once, and the ends of d x over the bounds."""
        from scipy.sparse import csr_array

        if not rows:
            return []
        chosen = np.array(rows)
        keep = np.concatenate([np.arange(self.start[i], self.start[i + 1]) for i in rows])
        lengths = self.start[chosen + 1] - self.start[chosen]
        start = np.concatenate([[0], np.cumsum(lengths)])
        factors = np.array([self.numerator[j] for j in keep.tolist()], np.int64)
        y = csr_array((factors, self.relation[keep], start), shape=(chosen.size, system.relations))
        a = system.matrix
        below = np.array([self.denominator[i] for i in rows], np.int64)
        unit = csr_array(
            (below, (np.arange(chosen.size), self.cell[chosen])), shape=(chosen.size, system.size)
        )
        d = (unit - y @ a).tocsr()
        of = np.repeat(np.arange(chosen.size), np.diff(d.indptr))
        low_side = (d.data > 0) == (self.side[chosen][of] == LOW)
        ends = np.where(low_side, system.low[d.indices], system.high[d.indices])
        endless = (np.abs(ends) >= FAR) & (d.data != 0)
        sums, without = np.zeros(chosen.size, np.int64), np.zeros(chosen.size, np.int64)
        np.add.at(sums, of, np.where(endless, 0, d.data * ends))
        np.add.at(without, of, endless)
        rounded = np.where(self.side[chosen] == LOW, -(-sums // below), sums // below)
        return [None if none else int(end) for end, none in zip(rounded, without, strict=True)]


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
        from scipy.sparse import csr_array

        largest = max(int(abs(self.base).max(initial=0)), int(abs(self.change).max(initial=0)))
        if largest * int(np.diff(system.start).max(initial=1)) >= FAR:
            return False  # sums could overflow
        settled = low == high
        base, known, moved = self.base, self.known, self.base[self.cell] + self.change
        a = system.matrix
        touched = (abs(a) @ (known & ~settled).astype(np.int64)) > 0
        unknown = (abs(a) @ (~known).astype(np.int64)) > 0
        sums = a @ np.where(known, base, 0)
        # A copy: scipy sorts the cells of a change in place, and others are read in their order.
        z = csr_array(
            (self.change, self.cell, self.start),
            shape=(self.start.size - 1, system.size),
            copy=True,
        )
        z.sum_duplicates()
        return bool(
            known[settled].all()
            and (base[settled] == low[settled]).all()
            and (base >= system.low)[known].all()
            and (base <= system.high)[known].all()
            and not (touched & unknown).any()
            and not sums[~unknown].any()
            and z.nnz == self.cell.size  # no cell occurs twice in a change
            and not settled[self.cell].any()
            and known[self.cell].all()
            and (moved >= system.low[self.cell]).all()
            and (moved <= system.high[self.cell]).all()
            and not (z @ a.T).data.any()
        )

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
        distinct = np.unique(np.stack([self.cell[here], self.change[here]], 1), axis=0)
        np.add.at(numbers, distinct[:, 0], 1)
        return numbers


@dataclass(frozen=True)
class ProvedView:
    """What is proved about all cells for one attacker: outer ends, attained ends, their number."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    witnesses: Witnesses

    def verdicts(
        self,
        joint: Cover,
        rules: Sequence[Rule],
        left: int,
        needs: Mapping[int, Sequence[Fraction]],
        *,
        counts: bool,
    ) -> NDArray[np.int64]:
        """Return the verdict on every cell that follows from what is proved, and no better one.

        Args:
            joint: the cells.
            rules: the rules.
            left: how many values a cell must keep that its publication calls small.
            needs: for rules about contributions, the largest ones of a cell and the rest.
            counts: whether the cells count people.
        """
        worst = np.zeros(joint.system.size, np.int64)
        for rule in rules:
            if isinstance(rule, Frequency) and counts:
                np.maximum(worst, self._frequency(joint, rule.threshold, left), out=worst)
            elif isinstance(rule, Homogeneous) and counts:
                self._homogeneous(joint, worst)
            elif not isinstance(rule, (Frequency, Homogeneous)) and not counts:
                for cell, parts in needs.items():
                    top = list(parts[: rule.parts])
                    need = rule.need([*top, sum(parts[rule.parts :], Fraction(0))])
                    if need is not None:
                        worst[cell] = max(worst[cell], self._reaching(cell, math.ceil(need)))
        if counts:
            single = (self.low == 1) & (self.high == 1)
            single[[cell for _, _, cell in joint.stated]] = False
            worst[single] = DISCLOSED
        return worst

    def _frequency(self, joint: Cover, k: int, left: int) -> NDArray[np.int64]:
        about = (self.low < k) & (self.high > 0)
        somebody = (self.low > 0) | (self.most >= 1)
        small = joint.system.high < k
        few = np.where(small, self.high - self.low + 1 < left, self.high < k)
        values = self.witnesses.number_of_values(about & small)
        enough = np.where(small, values >= left, self.most >= k)
        verdict = np.where(few, np.where(somebody, DISCLOSED, OPEN), OPEN)
        verdict = np.where(enough & ~(small & few), PROTECTED, verdict)
        return np.where(about, verdict, SAFE)

    def _homogeneous(self, joint: Cover, worst: NDArray[np.int64]) -> None:
        system = joint.system
        for r in lines_of(joint).tolist():
            members = system.column[system.start[r] : system.start[r + 1]]
            parent, mine = members[0], members[1:][joint.possible[members[1:]]]
            if mine.size < 2 or not self.high[parent]:
                continue
            attained = int((self.most[mine] > 0).sum())
            possible = mine[self.high[mine] > 0]
            if attained >= 2 or not possible.size:
                continue
            alone = possible.size == 1 and (attained or self.low[parent] > 0)
            worst[possible[0]] = max(worst[possible[0]], DISCLOSED if alone else OPEN)

    def _reaching(self, cell: int, least: int) -> int:
        if self.most[cell] >= least:
            return PROTECTED
        return DISCLOSED if self.high[cell] < least else OPEN
