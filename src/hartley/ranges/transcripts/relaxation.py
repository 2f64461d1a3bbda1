"""The answers of a transcript as linear statements about how many rows have which record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hartley.ranges.transcripts.equations import Block
from hartley.ranges.transcripts.inference import Statements
from hartley.ranges.transcripts.transcript import alike

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hartley.ranges.transcripts.equations import Table
    from hartley.ranges.transcripts.inference import Reach
    from hartley.ranges.transcripts.transcript import Alike, Transcript


MOST_NUMBERS = 10_000_000
"""More numbers of kinds and answers than this, over all groups, are not put into a programme."""


@dataclass(frozen=True)
class Relaxation:
    """How many rows of each group have each kind of record, by all that was told.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.ranges.transcripts.transcript import Group, Told, Transcript
        >>> age = np.arange(4)
        >>> total = Told("SUM(age)", age >= 0, age, 5, (5, 5), least=0, step=Fraction(1))
        >>> pair = Transcript(("age",), age[:, None], (total,), (Group(2, age),), 4)
        >>> Relaxation(pair).reach_of_one(0, age)  # one of two whose ages add up to 5
        (2, 3)
    """

    transcript: Transcript

    @cached_property
    def kinds(self) -> tuple[Alike, ...]:
        """The kinds of records of each group."""
        return tuple(alike(self.transcript, group) for group in self.transcript.groups)

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
        """Return what was told, with one row of a group as a block of its own, the first.

        Args:
            group: which.
            own_kinds: the kinds that the row can have, by their numbers.
        """
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

    def reach_of_one(self, group: int, numbers: NDArray[np.int64]) -> tuple[int, int] | None:
        """Bound a whole number of one row of a group.

        Args:
            group: which.
            numbers: the number of each record of the group; records below 0 have none, and the
                row is taken to have one.

        Returns:
            the smallest and the largest, never narrower than the truth; None where no record of
            the group has a number.
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
        return self._reach(statements, least[own_kinds]).low, self._reach(
            statements, most[own_kinds]
        ).high

    @staticmethod
    def _reach(statements: Statements, cost: NDArray[np.int64]) -> Reach:
        nothing = [np.zeros(len(block.weights), np.int64) for block in statements.blocks[1:]]
        return statements.reach([cost, *nothing], search=False)
