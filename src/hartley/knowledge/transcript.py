"""Questions and answers seen so far, as a set of still possible records.

A row has one of finitely many records: the codes of the columns that some answer depends on. Every
answer bounds a sum over the rows of a whole number a record, so all answers together are linear
inequalities for how many rows have which record; an order statistic is two of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hartley.knowledge.table_system import LinearSystem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray


# --- transcript -----------------------------------------------------------------------------------


MISSING = -1
"""The code of a value that is not there."""
ABSENT = -2
"""The code, in every column, of the record that stands for no row at all."""
ANY_TYPE = -1
"""The type of a record that every row can have."""
FAR = 2**62
"""No sum over the rows is as large as this: all of them are exact in one word."""


@dataclass(frozen=True)
class Bound:
    """A sum over all rows of a whole number a record, from low to high; None is no end."""

    weights: NDArray[np.int64]
    low: int | None
    high: int | None


@dataclass(frozen=True)
class AnswerCell:
    """One answer: the cell of a total, or of an order statistic, of the rows of some records.

    Example:
        >>> from fractions import Fraction
        >>> ones = np.array([0, 1, 1])
        >>> count = AnswerCell("how many", ones > 0, ones, 1, (2, 3), least=0, step=Fraction(2))
        >>> count.cells(np.array([1, 2, 4])), [(b.low, b.high) for b in count.bounds()]
        (array([0, 1, 2]), [(2, 3)])
    """

    text: str
    inside: NDArray[np.bool_]
    """Which records count."""
    values: NDArray[np.int64]
    """The whole number of each record, 0 of those that do not count."""
    cell: int | None
    """None of an order statistic of no rows."""
    ends: tuple[int, int]
    """The smallest and the largest number of the cell."""
    least: int = field(kw_only=True)
    """Where cells begin."""
    step: Fraction = field(kw_only=True)
    quantile: Fraction | None = field(kw_only=True, default=None)
    """Of an order statistic p: the ceil(p n)-th smallest, at least the first; None of a total."""

    @property
    def is_total(self) -> bool:
        """Whether the numbers of the rows are added up."""
        return self.quantile is None

    def cells(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cell of each number: floor((number - least) / step)."""
        up, down = self.step.numerator, self.step.denominator
        over = numbers - self.least
        if int(np.abs(over).max(initial=0)) * down >= FAR:
            over = over.astype(object)
        return (over * down // up).astype(np.int64)

    def bounds(self) -> list[Bound]:
        r"""Return the answer as inequalities for how many rows have which record.

        Of n rows that count, the ceil(p n)-th smallest lies in [l, h] exactly where at least p n
        rows are at most h and fewer than p n are below l; in whole numbers, with p = a/b,

        .. math:: b |\{v \le h\}| - a n \ge 0, \qquad b |\{v < l\}| - a n \le -1
        """
        if self.quantile is None:
            return [Bound(self.values, *self.ends)]
        n = self.inside.astype(np.int64)
        if self.cell is None:
            return [Bound(n, 0, 0)]
        upto = (self.inside & (self.values <= self.ends[1])).astype(np.int64)
        below = (self.inside & (self.values < self.ends[0])).astype(np.int64)
        if self.quantile == 0:  # the smallest itself
            return [Bound(upto, 1, None), Bound(below, 0, 0)]
        a, b = self.quantile.numerator, self.quantile.denominator
        return [
            Bound(n, 1, None),
            Bound(b * upto - a * n, 0, None),
            Bound(b * below - a * n, None, -1),
        ]


@dataclass(frozen=True)
class Group:
    """Rows with the same public knowledge, so that nobody can tell them apart."""

    rows: int
    records: NDArray[np.int64]
    """Which records each of them can have, by their numbers."""
    name: str = ""
    """What is known of them, in words."""


@dataclass(frozen=True)
class Transcript:
    """All that was told about the rows of a table, and what was promised about it.

    Example:
        >>> from fractions import Fraction
        >>> ages = np.arange(4)[:, None]
        >>> total = AnswerCell("SUM(age)", ages[:, 0] >= 0, ages[:, 0], 5, (5, 5), least=0,
        ...              step=Fraction(1))
        >>> pair = Transcript(("age",), ages, (total,), (Group(2, np.arange(4)),), charged=4)
        >>> pair.rows, pair.known
        (2, False)
    """

    columns: tuple[str, ...]
    """Those that some answer depends on."""
    records: NDArray[np.int64]
    """The codes of each record, one row per record, one column per column."""
    answers: tuple[AnswerCell, ...]
    groups: tuple[Group, ...]
    """Together all rows; where rows are a secret, also those that may not be there."""
    charged: int
    """The product of what was charged for the answers, in cells."""
    left_out: int = 0
    """Answers that are not used here."""
    types: NDArray[np.int64] | None = None
    """What is public or open of each record, as a number, or ``ANY_TYPE``."""
    truth: NDArray[np.int64] | None = None
    """How many rows have each record, where that is known."""
    widths: NDArray[np.int64] | None = None
    """How many values of a column the code of each record stands for; one each if left out."""
    multiplicity: NDArray[np.int64] | None = None
    """How many records of private values each one stands for; one if left out."""
    private: tuple[bool, ...] | None = None
    """Which columns are private; all if left out."""
    people: bool = True
    """Whether every row is one person; else somebody can have several rows, or none."""

    @property
    def rows(self) -> int:
        """How many rows there are, or can be."""
        return sum(group.rows for group in self.groups)

    @cached_property
    def secrets(self) -> tuple[int, ...]:
        """The numbers of the private columns."""
        private = self.private or (True,) * len(self.columns)
        return tuple(i for i, hidden in enumerate(private) if hidden)

    def values(self, column: int, records: NDArray[np.int64]) -> int:
        """Count the values that a column has in some records, a missing one included."""
        codes, first = np.unique(self.records[records, column], return_index=True)
        present = records[first][codes != ABSENT]
        return present.size if self.widths is None else int(self.widths[present, column].sum())

    @property
    def known(self) -> bool:
        """Whether the true table is at hand."""
        return self.truth is not None

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """All answers as inequalities."""
        return tuple(bound for answer in self.answers for bound in answer.bounds())

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """The whole number of each record, one row per record, one column per bound."""
        if not self.bounds:
            return np.zeros((len(self.records), 0), np.int64)
        return np.stack([bound.weights for bound in self.bounds], axis=1)

    @cached_property
    def answer_values(self) -> NDArray[np.int64]:
        """The whole number that each answer takes of each record, a column an answer."""
        if not self.answers:
            return np.zeros((len(self.records), 0), np.int64)
        return np.stack([answer.values for answer in self.answers], axis=1)

    @cached_property
    def limits(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The lower and the upper ends of all bounds; where there is none, out of reach."""
        lows = [-FAR if bound.low is None else bound.low for bound in self.bounds]
        highs = [FAR if bound.high is None else bound.high for bound in self.bounds]
        return np.array(lows, np.int64), np.array(highs, np.int64)

    def type_name(self, kind: int) -> str:
        """Name what is public or open of some records, without their values."""
        public_columns = [name for i, name in enumerate(self.columns) if i not in self.secrets]
        if self.types is None or kind == ANY_TYPE or not public_columns:
            return ""
        present = self.types[(self.records != ABSENT).any(axis=1)]
        return name_of_type(kind, int(present.max()) + 1, public_columns)

    def holds_truth(self) -> bool:
        """Return whether the true table is one of those that the answers leave possible."""
        assert self.truth is not None
        totals = self.truth @ self.weights
        low, high = self.limits
        return bool((low <= totals).all() and (totals <= high).all())


def name_of_type(kind: int, types: int, columns: Sequence[str]) -> str:
    """Name rows by the columns that everybody knows of them, without their values.

    Example:
        >>> name_of_type(0, 6, ["region"])
        'group 1 of 6 by region'
    """
    return f"group {kind + 1} of {types} by {', '.join(columns)}" if columns else ""


@dataclass(frozen=True)
class Alike:
    """Records of a group that neither an answer nor what is public tells apart, taken together."""

    weights: NDArray[np.int64]
    """The numbers of each kind of record, a column a bound."""
    types: NDArray[np.int64]
    """What is public or open of each kind, as a number, or ``ANY_TYPE``."""
    values: NDArray[np.int64]
    """The whole number that each answer takes of each kind, a column an answer."""
    kinds: NDArray[np.int64]
    """The kind of each of the group's records."""


def record_kinds(transcript: Transcript, group: Group) -> Alike:
    """Return the kinds of records that the answers tell apart.

    Example:
        >>> from fractions import Fraction
        >>> old = np.array([0, 0, 1])
        >>> count = AnswerCell("old", old > 0, old, 1, (1, 1), least=0, step=Fraction(1))
        >>> everybody = Group(5, np.arange(3))
        >>> ages = np.arange(3)[:, None]
        >>> record_kinds(Transcript(("age",), ages, (count,), (everybody,), 2), everybody).kinds
        array([0, 0, 1])
    """
    types = transcript.types
    mine = np.full(len(transcript.records), ANY_TYPE) if types is None else types
    weights, values = transcript.weights, transcript.answer_values
    numbers = np.column_stack([mine, weights, values])[group.records]
    different, kinds = np.unique(numbers, axis=0, return_inverse=True)
    end = 1 + weights.shape[1]
    return Alike(different[:, 1:end], different[:, 0], different[:, end:], kinds.reshape(-1))


# --- equations ------------------------------------------------------------------------------------
# Rows that nobody can tell apart, as whole numbers and relations among them.

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
        """Find the lines of a block, along the number that varies most; ``more`` is one more."""
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
        """Return how many rows have each kind, given the rows and the steps of each line."""
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
        """Write down all relations; ``more`` is a further number that a total is asked of."""
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


# --- possible records -----------------------------------------------------------------------------
# The records that a person can have, given all answers: consistent and neighbouring tables.

MOST_STEPS = 2_000_000
"""The most steps from one vector of totals to the next."""
LEAST_STEPS = 500
"""The least cost of a row, in steps."""


def possible_records(
    transcript: Transcript, *, most: int = MOST_STEPS
) -> list[NDArray[np.bool_]] | None:
    """Return for each group which of its records one of its rows can have; None where too many.

    A record is possible where some choice of records for all rows fulfils every answer. Row by
    row, all vectors of totals that can still lead to the answers are followed; rows of a group
    are alike, so one of each is looked at. Exact, in whole numbers. Grows with the number of
    different vectors of totals, which is at most exponential in rows, up to ``most`` steps.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.knowledge.transcript import AnswerCell, Group, Transcript
        >>> age = np.arange(4)
        >>> total = AnswerCell("SUM(age)", age >= 0, age, 5, (5, 5), least=0, step=Fraction(1))
        >>> pair = Transcript(("age",), age[:, None], (total,), (Group(2, age),), 4)
        >>> possible_records(pair)  # 5 is 2 + 3
        [array([False, False,  True,  True])]
    """
    kinds = [record_kinds(transcript, group) for group in transcript.groups]
    tables = [kind.weights for kind in kinds]
    low, high = transcript.limits
    if not low.size:
        return [np.ones(group.records.size, bool) for group in transcript.groups]
    rows = [group.rows for group in transcript.groups]
    if _too_far(tables, rows):
        return None
    possible, room = [], [most]
    for place, (kind, group) in enumerate(zip(kinds, transcript.groups, strict=True)):
        if not group.rows:
            possible.append(np.ones(group.records.size, bool))
            continue
        others = [number - (i == place) for i, number in enumerate(rows)]
        states = all_totals(tables, others, tables[place], (low, high), room)
        if states is None:
            return None
        possible.append(_meets(states, tables[place], low, high)[kind.kinds])
    return possible


def _too_far(tables: list[NDArray[np.int64]], rows: list[int]) -> bool:
    largest = [int(np.abs(table).max(initial=0)) for table in tables]
    return sum(n * each for n, each in zip(rows, largest, strict=True)) >= FAR // 4


def all_totals(
    tables: list[NDArray[np.int64]],
    rows: list[int],
    last: NDArray[np.int64],
    limits: tuple[NDArray[np.int64], NDArray[np.int64]],
    room: list[int],
) -> NDArray[np.int64] | None:
    """Return all totals of some rows from which one more row can lead to the answers.

    How many steps are left is counted down in ``room``; None where they are used up.
    """
    low, high = limits
    if _too_far([*tables, last], [*rows, 1]) or sum(rows) * LEAST_STEPS > room[0]:
        return None
    tables = [np.unique(table, axis=0) for table in tables]
    floor = sum((n * t.min(axis=0) for n, t in zip(rows, tables, strict=True)), last.min(axis=0))
    roof = sum((n * t.max(axis=0) for n, t in zip(rows, tables, strict=True)), last.max(axis=0))
    states = np.zeros((1, low.size), np.int64)
    for number, table in zip(rows, tables, strict=True):
        for _ in range(number):
            floor, roof = floor - table.min(axis=0), roof - table.max(axis=0)
            room[0] -= max(states.shape[0] * table.shape[0], LEAST_STEPS)
            if room[0] < 0:
                return None
            states = (states[:, None, :] + table[None, :, :]).reshape(-1, low.size)
            within_reach = ((states + roof >= low) & (states + floor <= high)).all(axis=1)
            states = _distinct(states[within_reach])
    return states


def _distinct(states: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different rows, by way of one whole number a row where that fits."""
    if not states.size:
        return states
    least = states.min(axis=0)
    widths = (states.max(axis=0) - least + 1).tolist()
    if math.prod(widths) >= FAR:
        return np.unique(states, axis=0)
    keys = np.zeros(len(states), np.int64)
    for i, width in enumerate(widths):
        keys = keys * width + (states[:, i] - least[i])
    _, first = np.unique(keys, return_index=True)
    return states[first]


def _meets(
    states: NDArray[np.int64],
    table: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Tell for each kind of record whether it completes some totals to the answers."""
    return np.array(
        [bool(((low <= states + row) & (states + row <= high)).all(axis=1).any()) for row in table]
    )


MOST_PAIRS = 20_000_000
"""The most pairs of a true and another record that are compared."""
NO_CELL = -FAR
"""Stands for the answer of an order statistic of no rows."""


@dataclass(frozen=True)
class OneRow:
    """Rows with one true record, each seen by somebody who knows all other rows."""

    type: int
    """What is public and open of them, as a number; ``ANY_TYPE`` where nothing is asked of it."""
    rows: int
    """How many rows have it."""
    candidates: int
    """How many records such a row could have, by what is public and open of it."""
    left: int
    """How many of them would have got the same answers; the true one is among them."""
    transcripts: int
    """How many different answers all of them together would have got."""


def one_row_left(transcript: Transcript) -> list[OneRow]:
    r"""Return what the answers leave of one row, all others being known.

    .. math:: |\{x' : a(x', v) = a(x, v)\}|, \qquad |\{a(x', v) : x' \in [X]\}|

    The second number is what an accountant promises to stay within the charge (Farokhi 2020,
    Definition 1, of all answers together). Exact. Grows with the number of different true
    records times that of all records; of too many pairs only some true records are looked at.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.knowledge.transcript import AnswerCell, Group, Transcript
        >>> age = np.arange(4)
        >>> total = AnswerCell("SUM(age)", age >= 0, age, 2, (4, 5), least=0, step=Fraction(2))
        >>> pair = Transcript(("age",), age[:, None], (total,), (Group(2, age),), 3,
        ...                   truth=np.array([0, 0, 1, 1]))
        >>> one_row_left(pair)[0]  # 2 beside a known 3: 3 .. 6 lies in the cells 1, 2 and 3
        OneRow(type=-1, rows=1, candidates=4, left=2, transcripts=3)
    """
    truth = transcript.truth
    assert truth is not None  # the caller knows the table
    types = transcript.types
    if types is None:
        types = np.full(len(transcript.records), ANY_TYPE)
    rows_left = []
    listed = [t for t in np.unique(types).tolist() if t != ANY_TYPE] or [ANY_TYPE]
    size = int((truth > 0).sum())
    for number in listed:
        mine = np.flatnonzero((types == number) | (types == ANY_TYPE))
        true = mine[truth[mine] > 0]
        room = max(MOST_PAIRS * true.size // max(size, 1) // max(mine.size, 1), 1)
        every = true[:: max(-(-true.size // room), 1)]
        rows_left += [
            OneRow(number, int(truth[record]), *_compare(transcript, truth, mine, record))
            for record in every.tolist()
        ]
    return rows_left


def _compare(
    transcript: Transcript, truth: NDArray[np.int64], candidates: NDArray[np.int64], record: int
) -> tuple[int, int, int]:
    """Answer everything again with every candidate in the place of a true record."""
    cells = np.zeros((candidates.size, len(transcript.answers)), np.int64)
    for i, answer in enumerate(transcript.answers):
        if answer.is_total:
            others = int(truth @ answer.values) - int(answer.values[record])
            cells[:, i] = answer.cells(others + answer.values[candidates])
        else:
            cells[:, i] = _ranked(answer, truth, record, candidates)
    vectors, kinds = np.unique(cells, axis=0, return_inverse=True)
    times = transcript.multiplicity
    many = np.ones(candidates.size, np.int64) if times is None else times[candidates]
    same = kinds.reshape(-1) == kinds.reshape(-1)[np.flatnonzero(candidates == record)[0]]
    return int(many.sum()), int(many[same].sum()), len(vectors)


def _ranked(
    answer: AnswerCell, truth: NDArray[np.int64], record: int, candidates: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the cell of an order statistic with each candidate in the place of a record.

    Beside n others in order, o_1 to o_n, a further value v makes the k-th smallest
    max(o_{k-1}, min(v, o_k)).
    """
    assert answer.quantile is not None
    counts = np.where(answer.inside, truth, 0)
    counts[record] -= int(answer.inside[record])
    levels, places = np.unique(answer.values[answer.inside], return_inverse=True)
    sums = np.zeros(levels.size, np.int64)
    np.add.at(sums, places, counts[answer.inside])
    ends = np.cumsum(sums)
    others = int(ends[-1]) if ends.size else 0

    def rank(rows: int) -> int:
        assert answer.quantile is not None
        p = answer.quantile
        return max(-(-p.numerator * rows // p.denominator), 1)

    def nth(k: int) -> int:
        """Return the k-th smallest of the others, beyond all where there is none."""
        if not 1 <= k <= others:
            return -FAR if k < 1 else FAR
        return int(levels[np.searchsorted(ends, k)])

    k = rank(others + 1)
    inside = answer.inside[candidates]
    cells = np.full(candidates.size, NO_CELL, np.int64)
    values = answer.values[candidates][inside]
    cells[inside] = answer.cells(np.maximum(nth(k - 1), np.minimum(values, nth(k))))
    if others and not inside.all():
        cells[~inside] = answer.cells(np.array([nth(rank(others))]))[0]
    return cells
