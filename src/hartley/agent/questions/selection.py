"""A resolved SELECT: its groups, its numbers, and the integer questions behind them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from hartley.agent.questions.batch import Question


class NumberKind(StrEnum):
    """The kind of a number in an answer, computed from one to three integer statistics."""

    COUNT = "count"
    SUM = "sum"
    AVERAGE = "average"
    VARIANCE = "variance"
    DEVIATION = "standard deviation"
    ORDER = "order statistic"


@dataclass(frozen=True)
class Key:
    """One value of a column, or one bin, that a group stands for; from the schema alone."""

    value: str | int | bool | Fraction | date | None
    """The value; None for missing values, and for values that are not declared."""
    shown: str


@dataclass(frozen=True)
class Item:
    """One number of the answer: which statistics it is read from, and how.

    A row's value is `scale` times the whole number of its form, plus `shift`. The numbers `sum`,
    `squares`, `count` and `order` are places in the questions of the selection.
    """

    label: str
    group: int
    kind: NumberKind
    place: tuple[int, int]
    """Its place in the text: begin and end."""
    rows: tuple[int, int]
    """The number of rows it can be about, by the schema alone."""
    scale: Fraction = Fraction(1)
    shift: Fraction = Fraction(0)
    reach: tuple[int, int] | None = None
    """Bounds of the form among the rows that it is about; None if there is certainly none."""
    sample: bool = False
    """Whether n - 1 divides a variance instead of n."""
    date: bool = False
    """Whether the number is a day, counted from 1970-01-01."""
    sum: int | None = None
    squares: int | None = None
    count: int | None = None
    order: int | None = None
    min_rows: int | None = None
    """The number of rows from which on an error was promised; None if it holds for any number."""

    @property
    def parts(self) -> tuple[int, ...]:
        """The places of the questions that it is read from."""
        places = (self.sum, self.squares, self.count, self.order)
        return tuple(place for place in places if place is not None)


@dataclass(frozen=True)
class Selection:
    """A resolved SELECT: its table, its groups, its numbers and the integer questions behind them.

    The items of the first group come first, in the order of the text, then those of the next; a
    SELECT without GROUP BY has one group without keys. Questions that items share are asked once.
    """

    text: str
    table: str
    """The name of the table as the schema spells it."""
    keys: tuple[str, ...]
    """What the question groups by."""
    groups: tuple[tuple[Key, ...], ...]
    """For each group, one key for each of these."""
    items: tuple[Item, ...]
    questions: tuple[Question, ...]
    """The questions, with the finest steps unless other steps were set."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the numbers, in the order of the text."""
        return tuple(item.label for item in self.items if item.group == 0)

    @property
    def coarse_counts(self) -> frozenset[Question]:
        """The counts that may be answered in cells of several rows.

        Averages, spreads and shifted sums are read from exact counts.
        """
        free = NumberKind.COUNT, NumberKind.SUM
        others = {item.count for item in self.items if item.kind not in free or item.shift}
        return frozenset(
            self.questions[item.count]
            for item in self.items
            if item.kind is NumberKind.COUNT and item.count is not None and item.count not in others
        )

    def with_steps(self, steps: Sequence[Fraction | int]) -> Selection:
        """Return the same selection with other steps, one per question."""
        pairs = list(zip(self.questions, steps, strict=True))
        if all(question.step == step for question, step in pairs):
            return self
        questions = [
            question if question.step == step else replace(question, step=Fraction(step))
            for question, step in pairs
        ]
        return replace(self, questions=tuple(questions))
