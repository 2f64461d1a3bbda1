"""Rows that nobody can tell apart, as whole numbers and relations among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hartley.ranges.tables.system import LinearSystem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

SHORTEST_LINE = 4
"""Fewer kinds than this are numbers of their own: a line of kinds takes three."""

Table: TypeAlias = "tuple[NDArray[np.int64], ...]"
"""How many rows of each block have each kind of record."""


@dataclass(frozen=True)
class Block:
    """Rows that nobody can tell apart: each has one of some kinds of record."""

    rows: int
    weights: NDArray[np.int64]
    """What each kind adds to each statement: one row per kind, one column per statement."""
    numbers: NDArray[np.int64] | None = None
    """Other numbers of each kind that totals are asked of, one column each."""
    types: NDArray[np.int64] | None = None
    """A number for each kind: totals are asked of those of one type alone."""


@dataclass(frozen=True)
class KindLines:
    """Kinds of a block in lines: along a line, all numbers grow by equal steps.

    N rows of a line of s kinds can add up to every whole number E of steps from 0 to (s - 1) N, so
    N and E stand for all tables of the line: each table has both, and both belong to some table.

    Example:
        >>> pay = np.array([0, 1, 2, 3, 4, 9])
        >>> lines = KindLines.of(Block(2, pay[:, None]))
        >>> lines.order.tolist(), lines.first.tolist(), lines.lengths.tolist()
        ([0, 1, 2, 3, 4, 5], [0, 5], [5, 1])
    """

    order: NDArray[np.intp]
    """The kinds, line by line."""
    first: NDArray[np.intp]
    """Where each line begins in ``order``."""
    lengths: NDArray[np.intp]

    @classmethod
    def of(cls, block: Block, more: NDArray[np.int64] | None = None) -> KindLines:
        """Find the lines of a block, along the number that varies most.

        Args:
            block: its kinds.
            more: a further number of each kind, for which it must hold too.
        """
        columns = [part for part in (block.weights, block.numbers, more) if part is not None]
        numbers = np.column_stack(columns)
        size = len(numbers)
        if size < SHORTEST_LINE or not numbers.shape[1]:
            return cls(np.arange(size), np.arange(size), np.ones(size, np.intp))
        types = np.zeros(size, np.int64) if block.types is None else block.types
        widest = int(np.argmax(np.ptp(numbers, axis=0)))
        others = np.delete(numbers, widest, axis=1)
        order = np.lexsort([numbers[:, widest], *others.T, types])
        steps, apart = np.diff(numbers[order], axis=0), np.diff(types[order]) != 0
        # Equal steps one after the other make a line. A step to another type equals no other.
        changes = (steps[1:] != steps[:-1]).any(axis=1) | apart[1:] | apart[:-1]
        run = np.append(0, np.cumsum(changes))
        alone = np.bincount(run)[run] == 1
        # A kind goes with the step that leads to it, or with the next if the first is alone.
        line = np.append(run[0], run)
        line[1:-1] = np.where(alone[:-1] & ~alone[1:], run[1:], run[:-1])
        long = np.bincount(line)[line] >= SHORTEST_LINE
        first = np.flatnonzero(np.append(True, (line[1:] != line[:-1]) | ~long[1:]))
        return cls(order, first, np.diff(np.append(first, size)))

    def steps_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how much numbers of kinds grow from one kind of a line to the next."""
        second = np.where(self.lengths > 1, self.first + 1, self.first)
        return np.asarray(numbers[self.order[second]] - numbers[self.order[self.first]])

    def are_even(self, numbers: NDArray[np.int64]) -> bool:
        """Tell whether a number of each kind grows by equal steps along every line."""
        steps = np.repeat(self.steps_of(numbers), self.lengths)
        ordered = numbers[self.order]
        inside = np.append(ordered[:1], ordered[:-1] + steps[1:])
        inside[self.first] = ordered[self.first]
        return bool((inside == ordered).all())

    def compress(self, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of each line, and the steps that they add up to."""
        ordered = counts[self.order]
        place = np.arange(ordered.size) - np.repeat(self.first, self.lengths)
        rows = np.add.reduceat(ordered, self.first)
        return rows, np.add.reduceat(ordered * place, self.first)

    def expand(self, rows: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many rows have each kind, for so many rows and steps of each line."""
        each = np.where(rows > 0, steps // np.maximum(rows, 1), 0)
        over = steps - each * rows
        counts = np.zeros(self.order.size, np.int64)
        counts[self.order[self.first + each]] = rows - over
        counts[self.order[self.first + np.minimum(each + 1, self.lengths - 1)]] += over
        return counts


@dataclass(frozen=True)
class RecordEquations:
    r"""Statements about blocks of rows, as relations among whole numbers.

    The numbers are the rows of each line of kinds, N, and their steps E with the slack R; the rows
    of each block; the total of each statement. The relations are

    .. math:: n_b = \sum_{\ell \in b} N_\ell, \qquad (s_\ell - 1) N_\ell = E_\ell + R_\ell,
        \qquad t_j = \sum_\ell \bigl(w_{\ell j} N_\ell + d_{\ell j} E_\ell\bigr)

    with w the number of the first kind of a line and d its step: the engine of published tables
    knows them as cells and sums.

    Example:
        >>> pay = np.arange(51)[:, None]
        >>> pair = RecordEquations.of((Block(2, pay),), np.array([83]), np.array([83]))
        >>> pair.system.size, pair.system.relations, pair.target([np.arange(51)])
        (5, 3, {1: 1})
    """

    lines: tuple[KindLines, ...]
    system: LinearSystem
    rows_at: tuple[NDArray[np.int64], ...]
    """The place of N for each line of each block."""
    steps_at: tuple[NDArray[np.int64], ...]
    """The place of E; of R it is the next one. -1 for a line of one kind."""
    totals_at: int
    """The place of the total of the first statement."""
    statements_from: int
    """The number of the relation of the first statement."""

    @classmethod
    def of(
        cls,
        blocks: Sequence[Block],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        more: Sequence[NDArray[np.int64]] | None = None,
    ) -> RecordEquations:
        """Write down all relations.

        Args:
            blocks: the rows.
            low: the smallest that the total of each statement can be.
            high: the largest.
            more: a further number of each kind that a total is asked of.
        """
        lines = tuple(
            KindLines.of(block, None if more is None else more[b]) for b, block in enumerate(blocks)
        )
        rows_at, steps_at, size = [], [], 0
        for line in lines:
            long = line.lengths > 1
            places = size + np.cumsum(np.where(long, 3, 1)) - np.where(long, 3, 1)
            rows_at.append(places)
            steps_at.append(np.where(long, places + 1, -1))
            size += int(np.where(long, 3, 1).sum())
        blocks_at, totals_at = size, size + len(blocks)
        whole = totals_at + low.size
        least, most = np.zeros(whole, np.int64), np.zeros(whole, np.int64)
        weights = np.zeros((totals_at, low.size), np.int64)
        rows, columns, factors, relation = [], [], [], 0
        for b, (block, line) in enumerate(zip(blocks, lines, strict=True)):
            at, steps = rows_at[b], steps_at[b]
            first = block.weights[line.order[line.first]]
            weights[at] = first
            most[at] = block.rows
            least[blocks_at + b] = most[blocks_at + b] = block.rows
            rows.append(np.full(at.size + 1, relation))
            columns.append(np.append(blocks_at + b, at))
            factors.append(np.append(-1, np.ones(at.size, np.int64)))
            relation += 1
            long = steps >= 0
            if long.any():
                mine, span = steps[long], line.lengths[long] - 1
                weights[mine] = line.steps_of(block.weights)[long]
                most[mine] = most[mine + 1] = span * block.rows
                rows.append(np.repeat(np.arange(relation, relation + mine.size), 3))
                columns.append(np.column_stack([at[long], mine, mine + 1]).reshape(-1))
                ones = np.ones(mine.size, np.int64)
                factors.append(np.column_stack([-span, ones, ones]).reshape(-1))
                relation += mine.size
        cell, statement = np.nonzero(weights)
        rows += [np.arange(relation, relation + low.size), relation + statement]
        columns += [np.arange(totals_at, whole), cell]
        factors += [np.full(low.size, -1), weights[cell, statement]]
        # What the kinds of records allow: every total has two ends.
        floor = sum((b.rows * b.weights.min(axis=0) for b in blocks if b.rows), 0 * low)
        roof = sum((b.rows * b.weights.max(axis=0) for b in blocks if b.rows), 0 * low)
        least[totals_at:], most[totals_at:] = np.maximum(low, floor), np.minimum(high, roof)
        row = np.concatenate(rows)
        order = np.argsort(row, kind="stable")
        start = np.searchsorted(row[order], np.arange(relation + low.size + 1)).astype(np.int64)
        system = LinearSystem(
            start,
            np.concatenate(columns).astype(np.int64)[order],
            np.concatenate(factors).astype(np.int64)[order],
            least,
            most,
        )
        return cls(lines, system, tuple(rows_at), tuple(steps_at), totals_at, relation)

    def target(self, costs: Sequence[NDArray[np.int64]]) -> dict[int, int] | None:
        """Return a total of a number a kind as weights of numbers; None if a line is uneven."""
        weights: dict[int, int] = {}
        for line, at, steps, cost in zip(
            self.lines, self.rows_at, self.steps_at, costs, strict=True
        ):
            if not line.are_even(cost):
                return None
            first, step, long = cost[line.order[line.first]], line.steps_of(cost), steps >= 0
            places = np.append(at, steps[long])
            numbers = np.append(first, step[long])
            used = numbers != 0
            weights.update(zip(places[used].tolist(), numbers[used].tolist(), strict=True))
        return weights

    def compress(self, table: Table) -> NDArray[np.int64]:
        """Return the numbers of a table."""
        numbers = np.zeros(self.system.size, np.int64)
        relations = self.system
        for b, (line, counts) in enumerate(zip(self.lines, table, strict=True)):
            rows, steps = line.compress(counts)
            long = self.steps_at[b] >= 0
            numbers[self.rows_at[b]] = rows
            numbers[self.steps_at[b][long]] = steps[long]
            numbers[self.steps_at[b][long] + 1] = (rows * (line.lengths - 1) - steps)[long]
            numbers[self.totals_at - len(self.lines) + b] = counts.sum()
        entries = slice(int(relations.start[self.statements_from]), None)
        row = np.repeat(np.arange(relations.relations), np.diff(relations.start))[entries]
        inside = relations.column[entries] < self.totals_at
        products = relations.factor[entries] * numbers[relations.column[entries]]
        np.add.at(
            numbers,
            self.totals_at + row[inside] - self.statements_from,
            products[inside],
        )
        return numbers

    def expand(self, numbers: NDArray[np.int64]) -> Table:
        """Return a table with some numbers that fulfil all relations."""
        return tuple(
            line.expand(numbers[at], np.where(steps >= 0, numbers[steps], 0))
            for line, at, steps in zip(self.lines, self.rows_at, self.steps_at, strict=True)
        )

    def statements_of(self, multipliers: dict[int, Fraction]) -> dict[int, Fraction]:
        """Return the multipliers of the statements alone, by their numbers."""
        return {
            r - self.statements_from: y
            for r, y in sorted(multipliers.items())
            if r >= self.statements_from
        }
