"""What a transcript proves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import InputError
from hartley.knowledge.cover import combination_range
from hartley.knowledge.table_bounds import Inference
from hartley.knowledge.table_system import HIGH, LOW, LinearSystem, NoTableFits, whole_end
from hartley.knowledge.transcript import (
    FAR,
    LEAST_STEPS,
    Block,
    RecordEquations,
    Table,
    all_totals,
    record_kinds,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.knowledge.cover import CombinationRange
    from hartley.knowledge.table_system import Multipliers
    from hartley.knowledge.transcript import Alike, Transcript


# --- inference ------------------------------------------------------------------------------------
# Bounds that linear statements about a table imply, each with a proof or a witness.

MOST_UNKNOWNS = 30_000
"""A linear programme over more numbers than this is not solved."""


@dataclass(frozen=True)
class Derivation:
    """A bound of a total, as a combination of relations of a system: any multipliers prove one.

    Example:
        >>> from fractions import Fraction
        >>> sums = LinearSystem.of([(2, [0, 1])], [0, 0, 7], [9, 3, 7])
        >>> Derivation(sums, {0: 2}, LOW, {0: Fraction(2)}, {}).end
        8
    """

    system: LinearSystem
    target: Mapping[int, int]
    """The total, as weights of numbers of the system."""
    side: int
    multipliers: Multipliers
    """Of all relations that are used."""
    statements: Multipliers
    """Those of the statements alone, by their numbers."""

    @property
    def end(self) -> int | None:
        """The whole number that the multipliers prove, added up anew; None is no bound."""
        bound = self.system.bound(self.target, self.multipliers, self.side)
        return None if bound is None else whole_end(bound, self.side)


@dataclass(frozen=True)
class Reach:
    """What a total can be: never outside low to high, and certainly both least and most."""

    low: int
    high: int
    below: Derivation | None = None
    """Why it is not smaller than ``low``; None where the schema alone, or a trial of all, says so.
    """
    above: Derivation | None = None
    """Why it is not larger than ``high``."""
    least: int | None = None
    """The smallest and the largest total of a table that was checked; None where none was found."""
    most: int | None = None
    values: int | None = None
    """How many totals are possible, where all tables were followed."""

    @property
    def settled(self) -> bool:
        """Whether one total alone is left."""
        return self.low == self.high

    @property
    def exact(self) -> bool:
        """Whether both ends are totals of tables that fit."""
        return self.low == self.least and self.high == self.most

    @property
    def fewest(self) -> int:
        """How many totals are certainly possible: one is, since some table was answered about."""
        if self.values is not None:
            return self.values
        return 1 + (self.least is not None and self.least != self.most)


@dataclass(frozen=True)
class Statements:
    """Blocks of rows, and statements that bound sums over all of them.

    They are relations among whole numbers (``RecordEquations``), so the engine of published tables
    finds out what a total can be: bounds are followed, sums are added and subtracted, and the best
    of all linear combinations of the statements is proved by its multipliers.

    Example:
        >>> pay = np.arange(51)[:, None]
        >>> nobody = 0 * pay
        >>> eve, ann, bob = ([pay, nobody, nobody], [pay, pay, nobody], [pay, nobody, pay])
        >>> blocks = tuple(Block(1, np.hstack(weights)) for weights in (eve, ann, bob))
        >>> totals = np.array([83, 32, 14])  # of all, of Ann, of Bob
        >>> sums = Statements(blocks, totals, totals).reach([pay[:, 0], nobody[:, 0], nobody[:, 0]])
        >>> sums.low, sums.high, [str(y) for y in sums.below.statements.values()]
        (37, 37, ['1', '-1', '-1'])
    """

    blocks: tuple[Block, ...]
    low: NDArray[np.int64]
    """The smallest that the total of each statement can be; -FAR is no end."""
    high: NDArray[np.int64]
    tables: list[Table] = field(default_factory=list, compare=False)
    """Whole tables that fit, as found so far; each of them tells something about every total."""

    def fits(self, table: Table) -> bool:
        """Return whether a whole table has as many rows as there are, and agrees with all told."""
        if any(
            (m < 0).any() or int(m.sum()) != b.rows for m, b in zip(table, self.blocks, strict=True)
        ):
            return False
        totals = sum((m @ b.weights for m, b in zip(table, self.blocks, strict=True)), 0 * self.low)
        return bool((self.low <= totals).all() and (totals <= self.high).all())

    @cached_property
    def known(self) -> _KnownEquations:
        """The relations, and what is known about their numbers."""
        return _KnownEquations(self)

    def plain(self, costs: Sequence[NDArray[np.int64]]) -> tuple[int, int]:
        """Return the smallest and the largest total cost before anything was told."""
        pairs = [(b.rows, c) for b, c in zip(self.blocks, costs, strict=True) if b.rows]
        return (
            sum(rows * int(cost.min()) for rows, cost in pairs),
            sum(rows * int(cost.max()) for rows, cost in pairs),
        )

    def reach(
        self, costs: Sequence[NDArray[np.int64]], *, steps: int = 0, search: bool = True
    ) -> Reach:
        """Return what the total of a whole number a row can be, by the numbers of all kinds.

        ``steps`` is how many steps following all tables one by one may take; ``search`` looks for
        whole tables that reach the ends.
        """
        plain = self.plain(costs)
        totals = self._followed(costs, steps)
        possible = self.seen(costs) if totals is None else (int(totals[0]), int(totals[-1]))
        values = None if totals is None else totals.size
        if possible == plain:  # nothing beyond it needs a proof
            return Reach(*plain, None, None, *possible, values)
        try:
            apart = self.known.equations.target(costs) is None
            known = _KnownEquations(self, costs) if apart else self.known
            proved = known.range(costs, search=search and totals is None)
        except NoTableFits:
            raise _no_table() from None
        below, above = known.derivations(costs, proved)
        low = plain[0] if proved.low is None else max(plain[0], proved.low)
        high = plain[1] if proved.high is None else min(plain[1], proved.high)
        if totals is not None:
            low, high = int(totals[0]), int(totals[-1])
        elif proved.least is not None and proved.most is not None:
            possible = proved.least, proved.most
        if low > high:
            raise _no_table()
        if low == high:
            possible = low, high
        return Reach(
            low,
            high,
            below if proved.low == low else None,
            above if proved.high == high else None,
            *possible,
            1 if low == high else values,
        )

    def seen(self, costs: Sequence[NDArray[np.int64]]) -> tuple[int | None, int | None]:
        """Return the smallest and the largest total cost of the tables found so far."""
        totals = [
            sum(int(m @ cost) for m, cost in zip(table, costs, strict=True))
            for table in self.tables
        ]
        return min(totals, default=None), max(totals, default=None)

    def _followed(self, costs: Sequence[NDArray[np.int64]], steps: int) -> NDArray[np.int64] | None:
        """Return all totals in order, by way of all tables; None where those are too many."""
        rows = [block.rows for block in self.blocks]
        if sum(rows) * LEAST_STEPS > steps:
            return None
        tables = [
            np.unique(np.column_stack([block.weights, cost]), axis=0)
            for block, cost in zip(self.blocks, costs, strict=True)
        ]
        limits = np.append(self.low, -FAR), np.append(self.high, FAR)
        nobody = np.zeros((1, limits[0].size), np.int64)
        states = all_totals(tables, rows, nobody, limits, [steps])
        if states is not None and not len(states):
            raise _no_table()
        return None if states is None else np.unique(states[:, -1])


class _KnownEquations:
    """Statements as relations, and what the engine of published tables knows about them."""

    def __init__(
        self, statements: Statements, costs: Sequence[NDArray[np.int64]] | None = None
    ) -> None:
        self.statements = statements
        self.equations = RecordEquations.of(
            statements.blocks, statements.low, statements.high, costs
        )
        self._read = 0

    @cached_property
    def inference(self) -> Inference:
        """What each number of the relations can be."""
        system = self.equations.system
        if (system.low > system.high).any():
            raise NoTableFits(0)
        # Fewest answers make the shortest explanation: a vertex of a programme over what was stated
        # uses few, where steps that were followed one by one use many.
        return Inference(system, most_unknowns=MOST_UNKNOWNS, narrow=system.size > MOST_UNKNOWNS)

    def range(self, costs: Sequence[NDArray[np.int64]], *, search: bool) -> CombinationRange:
        """Return what a total can be, and keep the tables at its ends."""
        tables, inference = self.statements.tables, self.inference
        for table in tables[self._read :]:
            numbers = self.equations.compress(table)
            for component in inference.components:
                inference.harvest(component, numbers[component.cells], keep=True)
        target = self.equations.target(costs)
        assert target is not None  # the relations were made for it
        proved = combination_range(inference, target, search=search)
        ends = (proved.least, proved.most)
        for attained, end, before in zip(
            proved.tables, ends, self.statements.seen(costs), strict=True
        ):
            if attained is not None and end != before:  # one that says something new
                table = self.equations.expand(attained)
                if self.statements.fits(table):
                    tables.append(table)
        self._read = len(tables)
        return proved

    def derivations(
        self, costs: Sequence[NDArray[np.int64]], proved: CombinationRange
    ) -> list[Derivation]:
        """Return why a total lies between its ends."""
        target = self.equations.target(costs) or {}
        return [
            Derivation(self.equations.system, target, side, y, self.equations.statements_of(y))
            for side, y in ((LOW, proved.below), (HIGH, proved.above))
        ]


def _no_table() -> InputError:
    return InputError(
        "No table fits all the answers",
        hint="use the ledger and the schema of the table that was asked",
    )


# --- relaxation -----------------------------------------------------------------------------------
# The answers of a transcript as linear statements about how many rows have which record.

MOST_NUMBERS = 10_000_000
"""More numbers of kinds and answers than this, over all groups, are not put into a programme."""


@dataclass(frozen=True)
class Relaxation:
    """How many rows of each group have each kind of record, by all that was told.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.knowledge.transcript import AnswerCell, Group, Transcript
        >>> age = np.arange(4)
        >>> total = AnswerCell("SUM(age)", age >= 0, age, 5, (5, 5), least=0, step=Fraction(1))
        >>> pair = Transcript(("age",), age[:, None], (total,), (Group(2, age),), 4)
        >>> Relaxation(pair).bound_one_row(0, age)  # one of two whose ages add up to 5
        (2, 3)
    """

    transcript: Transcript

    @cached_property
    def kinds(self) -> tuple[Alike, ...]:
        """The kinds of records of each group."""
        return tuple(record_kinds(self.transcript, group) for group in self.transcript.groups)

    @cached_property
    def small(self) -> bool:
        """Whether there are few enough unknowns."""
        return sum(kind.weights.size for kind in self.kinds) <= MOST_NUMBERS

    @cached_property
    def statements(self) -> Statements:
        """What was told about all rows, a block a group."""
        blocks = [
            Block(group.rows, kind.weights, kind.values, kind.types)
            for group, kind in zip(self.transcript.groups, self.kinds, strict=True)
        ]
        statements = Statements(tuple(blocks), *self.transcript.limits)
        truth = self._truth()
        if truth is not None and statements.fits(truth):
            statements.tables.append(truth)
        return statements

    def _truth(self) -> Table | None:
        """Return the true table, where it is at hand: it is one that fits."""
        truth = self.transcript.truth
        if truth is None:
            return None
        return tuple(
            np.bincount(
                kind.kinds, weights=truth[group.records], minlength=len(kind.weights)
            ).astype(np.int64)
            for group, kind in zip(self.transcript.groups, self.kinds, strict=True)
        )

    def with_one_row(self, group: int, own_kinds: NDArray[np.int64]) -> Statements:
        """Return what was told, with one row of a group, of some kinds, as the first block."""
        kind = self.kinds[group]
        own_block = Block(1, kind.weights[own_kinds], kind.values[own_kinds], kind.types[own_kinds])
        others = list(self.statements.blocks)
        others[group] = replace(others[group], rows=others[group].rows - 1)
        return Statements((own_block, *others), self.statements.low, self.statements.high)

    def tables_with_one_row(
        self, group: int, own_kinds: NDArray[np.int64], cost: NDArray[np.int64]
    ) -> list[Table]:
        """Return the known tables as those of ``with_one_row``, of least and of largest cost.

        Rows of a group are alike, so any of them can be the one.
        """
        tables = []
        for table in self.statements.tables:
            present = np.flatnonzero(table[group][own_kinds])
            for at in (
                {int(present[np.argmin(cost[present])]), int(present[np.argmax(cost[present])])}
                if present.size
                else ()
            ):
                others = list(table)
                others[group] = table[group].copy()
                others[group][own_kinds[at]] -= 1
                own_kind = np.zeros(own_kinds.size, np.int64)
                own_kind[at] = 1
                tables.append((own_kind, *others))
        return tables

    def remember(self, group: int, own_kinds: NDArray[np.int64], tables: Iterable[Table]) -> None:
        """Keep tables that were found with one row of a group as a block of its own."""
        for own_kind, *others in tables:
            others[group] = others[group].copy()
            np.add.at(others[group], own_kinds, own_kind)
            self.statements.tables.append(tuple(others))

    def bound_one_row(self, group: int, numbers: NDArray[np.int64]) -> tuple[int, int] | None:
        """Bound a whole number of one row of a group; None where no record of it has one.

        A record with a number below 0 has none, and the row is taken to have one. The bounds are
        never narrower than the truth.
        """
        kind, have = self.kinds[group], numbers >= 0
        if not have.any():
            return None
        size, far = len(kind.weights), int(numbers.max()) + 1
        least, most = np.full(size, far), np.full(size, -1)
        np.minimum.at(least, kind.kinds[have], numbers[have])
        np.maximum.at(most, kind.kinds[have], numbers[have])
        own_kinds = np.flatnonzero(most >= 0)
        if not self.small or not self.transcript.bounds:
            return int(numbers[have].min()), int(numbers[have].max())
        statements = self.with_one_row(group, own_kinds)
        nothing = [np.zeros(len(block.weights), np.int64) for block in statements.blocks[1:]]
        low, high = (
            statements.reach([ends[own_kinds], *nothing], search=False) for ends in (least, most)
        )
        return low.low, high.high
