"""The records that answers can tell apart: columns cut into pieces, and all their combinations."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.agent.answer import cell_bounds
from hartley.agent.batch import All, Statistic, Test
from hartley.ranges.transcript import ABSENT, ANY_TYPE, MISSING, Group, Told, name_of_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hartley.agent.batch import Condition, Question
    from hartley.engines.coded import CodedTable
    from hartley.ranges.schema import Column


@dataclass(frozen=True)
class Cuts:
    """A column in pieces of codes that no question tells apart."""

    column: Column
    starts: tuple[int, ...]
    """The first code of each piece, from 0; a missing value is one more piece, the last."""

    @property
    def size(self) -> int:
        """How many pieces there are."""
        return len(self.starts) + self.column.nullable

    @property
    def widths(self) -> NDArray[np.int64]:
        """How many values each piece has."""
        found = np.diff([*self.starts, self.column.points]).tolist()
        return np.array(found + [1] * self.column.nullable, np.int64)

    @property
    def codes(self) -> NDArray[np.int64]:
        """The code that stands for each piece."""
        return np.array([*self.starts, *[MISSING] * self.column.nullable], np.int64)

    def pieces(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the piece of each code; missing ones come as the number of points."""
        found: NDArray[np.int64] = np.searchsorted(self.starts, codes, side="right") - 1
        found[codes == self.column.points] = len(self.starts)
        return found


def cut_column(column: Column, questions: Iterable[Question]) -> Cuts:
    """Cut a column where questions do; a column that is added up or ranked into single codes.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.agent.batch import Question
        >>> from hartley.ranges.schema import Column
        >>> age = Column("age", "private", low=Fraction(0), high=Fraction(99), step=Fraction(1))
        >>> old = Question(Statistic.COUNT, Test("age", ((65, 99),)), None, None, 0, 10)
        >>> cut_column(age, [old]).starts
        (0, 65)
    """
    starts = {0}
    for question in questions:
        if question.form is not None and column.name in dict(question.form.terms):
            return Cuts(column, tuple(range(column.points)))
        for test in _tests(question.where):
            if test.column == column.name:
                starts |= {end for low, high in test.codes for end in (low, high + 1)}
    return Cuts(column, tuple(sorted(start for start in starts if 0 <= start < column.points)))


def _tests(condition: Condition) -> list[Test]:
    if isinstance(condition, Test):
        return [condition]
    return [test for part in condition.parts for test in _tests(part)]


class Domain:
    """All records of some columns, numbered, and the one that stands for no row at all."""

    def __init__(self, cuts: Iterable[Cuts], *, absent: bool, opened: bool = False) -> None:
        self.cuts, self.absent, self.opened = tuple(cuts), absent, opened
        sizes = [cut.size for cut in self.cuts]
        self._pieces = np.indices(sizes or [1]).reshape(max(len(sizes), 1), -1)[: len(sizes)].T
        self.records = self._spread([cut.codes for cut in self.cuts], ABSENT)
        self.widths = self._spread([cut.widths for cut in self.cuts], 1)
        self._places = {cut.column.name: i for i, cut in enumerate(self.cuts)}

    def _spread(self, listed: list[NDArray[np.int64]], nobody: int) -> NDArray[np.int64]:
        """Return something of each piece for each record."""
        found = np.zeros(self._pieces.shape, np.int64)
        for i, each in enumerate(listed):
            found[:, i] = each[self._pieces[:, i]]
        if self.absent:
            found = np.concatenate([found, np.full((1, len(listed)), nobody, np.int64)])
        return found

    @cached_property
    def multiplicity(self) -> NDArray[np.int64]:
        """How many records of private values each one stands for."""
        private = [i for i, cut in enumerate(self.cuts) if cut.column.kind == "private"]
        found: NDArray[np.int64] = np.prod(self.widths[:, private], axis=1, dtype=np.int64)
        return found

    def _codes(self, column: str) -> NDArray[np.int64]:
        codes: NDArray[np.int64] = self.records[:, self._places[column]]
        return codes

    def passing(self, condition: Condition) -> NDArray[np.bool_]:
        """Tell for each record whether a row with it passes a condition."""
        if isinstance(condition, Test):
            codes = self._codes(condition.column)
            found: NDArray[np.bool_] = (codes == MISSING) & condition.missing
            for low, high in condition.codes:
                found |= (codes >= low) & (codes <= high)
            return found
        every = isinstance(condition, All)
        found = np.full(len(self.records), every)
        for part in condition.parts:
            mine = self.passing(part)
            found = found & mine if every else found | mine
        if self.absent:
            found[-1] = False
        return found

    def told(self, question: Question, cell: int | None, text: str) -> Told:
        """Return an answer as a statement about records."""
        inside = self.passing(question.where)
        values = inside.astype(np.int64)
        if question.form is not None:
            values *= question.form.constant
            for name, factor in question.form.terms:
                values += factor * np.where(inside, self._codes(name), 0)
        if question.statistic is Statistic.SQUARES:
            values **= 2
        return Told(
            text,
            inside,
            values,
            cell,
            (0, 0) if cell is None else cell_bounds(question, cell),
            least=question.least,
            step=question.step,
            quantile=question.quantile,
        )

    @property
    def known(self) -> list[int]:
        """The columns that are public or open."""
        return [i for i, cut in enumerate(self.cuts) if cut.column.kind != "private"]

    # --- who has which record -----------------------------------------------------------------

    def types(self) -> NDArray[np.int64]:
        """Number what is public or open of each record.

        Of no row it is any of them; where a column is open, a number of its own: that a row is
        not there is then told, and paid for, with the open columns.
        """
        _, types = np.unique(self.records[:, self.known], axis=0, return_inverse=True)
        found = types.reshape(-1).astype(np.int64)
        if self.absent:
            found[-1] = int(found.max()) + 1 if self.opened else ANY_TYPE
        return found

    def groups(self, rows: int, truth: NDArray[np.int64] | None) -> tuple[Group, ...]:
        """Return who can be told apart: by public and open columns where those are known."""
        if truth is None or self.absent:
            return (Group(rows, np.arange(len(self.records))),)
        types = self.types()
        people: Counter[int] = Counter()
        for place in np.flatnonzero(truth).tolist():
            people[int(types[place])] += int(truth[place])
        return tuple(
            Group(number, np.flatnonzero(types == kind), self._named(kind, types))
            for kind, number in sorted(people.items())
        )

    def _named(self, kind: int, types: NDArray[np.int64]) -> str:
        names = [self.cuts[i].column.name for i in self.known]
        return name_of_type(kind, int(types.max()) + 1, names)

    def count(self, coded: CodedTable, rows: int) -> NDArray[np.int64]:
        """Count how many rows of a table have each record, and how many are not there."""
        from sqlglot import exp

        from hartley.agent.statistics.statements import select

        truth = np.zeros(len(self.records), np.int64)
        keys: list[Any] = [coded.column(cut.column.name) for cut in self.cuts]
        if keys:
            found = coded.run(select(coded, keys, [exp.Count(this=exp.Star())], None))
            place = np.zeros(found.num_rows, np.int64)
            for i, cut in enumerate(self.cuts):
                codes = found.column(i).fill_null(cut.column.points).to_numpy().astype(np.int64)
                place = place * cut.size + cut.pieces(codes)
            np.add.at(truth, place, found.column(len(keys)).to_numpy().astype(np.int64))
        else:
            truth[0] = coded.rows
        if self.absent:
            truth[-1] += rows - coded.rows
        return truth


def domain_size(cuts: Iterable[Cuts]) -> int:
    """Return how many records there would be."""
    return math.prod(cut.size for cut in cuts)
