"""Whole numbers, sums among them, and what each bound of a number rests on."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import InputError
from hartley.kernels.propagation import EMPTY, FAR, follow_sums

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

SIGNS = {1: Fraction(1), -1: Fraction(-1)}
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
    r"""Whole numbers x with bounds, and relations: signed sums of them that are zero.

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
    sign: NDArray[np.int64]
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
        sign = np.ones(column.size, np.int64)
        sign[start[:-1]] = -1
        return cls(start, column, sign, np.array(low, np.int64), np.array(high, np.int64))

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

        parts = self.sign, self.column, self.start
        return csr_array(parts, shape=(self.relations, self.size), copy=True)

    @cached_property
    def transposed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the relations of each number begin, and the relations."""
        rows = np.repeat(np.arange(self.relations), np.diff(self.start))
        order = np.argsort(self.column, kind="stable")
        begins = np.searchsorted(self.column[order], np.arange(self.size + 1))
        return begins.astype(np.int64), rows[order].astype(np.int64)

    def knowing(self, cell: int, value: int) -> LinearSystem:
        """Return the same system for somebody who knows one of the numbers."""
        low, high = self.low.copy(), self.high.copy()
        low[cell] = high[cell] = value
        return LinearSystem(self.start, self.column, self.sign, low, high)

    def differences(self, cell: int, multipliers: Mapping[int, Fraction]) -> dict[int, Fraction]:
        """Return d = e_j - y A, without zeros."""
        rest: dict[int, Fraction] = {cell: Fraction(1)}
        for r, y in multipliers.items():
            for i in range(self.start[r], self.start[r + 1]):
                c = int(self.column[i])
                rest[c] = rest.get(c, Fraction(0)) - y * int(self.sign[i])
        return {c: d for c, d in rest.items() if d}

    def bound(
        self,
        cell: int,
        multipliers: Mapping[int, Fraction],
        side: int,
        ends: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> Fraction | None:
        """Return the bound that multipliers prove; None is none.

        Args:
            cell: the number.
            multipliers: a rational for each relation that is used.
            side: ``LOW`` or ``HIGH``.
            ends: bounds of all numbers; without them, the stated ones.
        """
        low, high = (self.low, self.high) if ends is None else ends
        if not multipliers:
            end = int((low, high)[side][cell])
            return None if abs(end) >= FAR else Fraction(end)
        below = math.lcm(*(y.denominator for y in multipliers.values()))
        factors = [y.numerator * (below // y.denominator) for y in multipliers.values()]
        rows = np.fromiter(multipliers, np.int64, len(factors))
        lengths = self.start[rows + 1] - self.start[rows]
        first = np.repeat(self.start[rows] - np.cumsum(lengths) + lengths, lengths)
        entries = first + np.arange(int(lengths.sum()))
        used = np.append(self.column[entries], cell)
        finite = np.abs(np.concatenate([low[used], high[used]]))
        largest = int(finite[finite < FAR].max(initial=0)) + 1
        if (sum(map(abs, factors)) + below) * int(lengths.max()) * largest >= FAR:
            return bound_from(self.differences(cell, multipliers), low, high, side)
        # The same in machine integers, which hold every product: d over one denominator.
        columns, place = np.unique(used, return_inverse=True)
        weights = np.append(-np.repeat(np.array(factors), lengths) * self.sign[entries], below)
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
        if not self.column.size:
            return True
        sums = np.add.reduceat(self.sign * table[self.column], self.start[:-1])
        return not sums.any()


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
    _logs: list[NDArray[np.int64]] = field(default_factory=list)

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
            system.sign,
            *system.transposed,
            self.low,
            self.high,
            rows.astype(np.int64),
            log,
        )
        if state == EMPTY:
            raise NoTableFits(int(relation))
        self._logs.append(log[:entries].copy())

    def _read_logs(self) -> None:
        """Turn what the kernel logged into steps; most checks ask for few proofs, or none."""
        logs, self._logs = self._logs, []
        for log in logs:
            for cell, side, r, sign in log.tolist():
                # x_c = -s_c (sum of the others with their signs), which is d for y = s_c
                self._record(cell, side, {r: SIGNS[sign]})

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
        self._read_logs()
        for side in (LOW, HIGH):
            self._record(cell, side, multipliers)
        self.low[cell] = self.high[cell] = int(value)
        return int(value)

    @property
    def settled_together(self) -> list[int]:
        """The numbers that a combination of several relations settled."""
        self._read_logs()
        return sorted({cell for cell, _, multipliers in self.steps if len(multipliers) > 1})

    def proof(self, cell: int, side: int, multipliers: Multipliers | None = None) -> Multipliers:
        """Return one combination of relations that proves a bound from what was stated.

        Args:
            cell: the number.
            side: ``LOW`` or ``HIGH``.
            multipliers: a combination that uses the bounds as they are now; without one, the
                last step for this bound.
        """
        self._read_logs()
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

        def combine(number: int, end: int, y: Multipliers, weight: Fraction, before: int) -> None:
            for r, factor in y.items():
                total[r] = total.get(r, Fraction(0)) + weight * factor
            for c, d in self.system.differences(number, y).items():
                use(c, end if d > 0 else 1 - end, weight * d, before)

        if multipliers is None:
            use(cell, side, Fraction(1), len(self.steps))
        else:
            combine(cell, side, multipliers, Fraction(1), len(self.steps))
        while heap:
            step = -heapq.heappop(heap)
            number, end, y = self.steps[step]
            combine(number, end, y, weights.pop(step), step)
        return {r: y for r, y in total.items() if y}
