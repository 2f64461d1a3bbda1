"""Whole numbers, sums among them, and what each bound of a number rests on."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hartley.errors import InputError
from hartley.kernels.propagation import EMPTY, FAR, follow_sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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
        """Return the bound that multipliers prove; None is none.

        Args:
            target: the number, or a weighted sum of numbers.
            multipliers: a rational for each relation that is used.
            side: ``LOW`` or ``HIGH``.
            ends: bounds of all numbers; without them, the stated ones.
        """
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

        Args:
            target: the number, or a weighted sum of numbers.
            side: ``LOW`` or ``HIGH``.
            multipliers: a combination that uses the bounds as they are now; without one, the
                last steps for these bounds.
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
