"""What was told before: the filters, sums and steps of earlier questions, ready for prices.

Everything here is a function of the schema and of questions; no answer is ever looked at.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from hartley.agent.pricing.regions import CellGrid
from hartley.agent.questions.batch import Statistic, columns_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hartley.agent.questions.batch import Question
    from hartley.ranges.schema.schema import Schema

MOST_FILTERS = 24
"""Earlier filters that one group of questions is priced with."""
MOST_STEPS = 4
"""Earlier steps of one statistic that are looked at, the finest."""


class ToldEntry(NamedTuple):
    """A question that was charged, with the private and the known columns that it touches."""

    question: Question
    row: int
    place: int
    """Its place among all questions; what is chosen depends on the order alone."""
    private: frozenset[str]
    known: frozenset[str]


class ToldBefore:
    """Questions that were charged before, about one version of the data under one schema."""

    def __init__(self, schema: Schema, questions: Iterable[Question] = ()) -> None:
        """Begin with nothing told, or with some questions as one row each."""
        self.schema = schema
        self._steps: dict[Question, dict[Fraction, int]] = {}
        self._filters: dict[object, ToldEntry] = {}
        self._sums: dict[object, ToldEntry] = {}
        self._questions = 0
        self._columns: dict[int, frozenset[str]] = {}
        self._by_column: dict[str, dict[object, ToldEntry]] = {}
        for row, question in enumerate(questions, start=1):
            self.add(question, row)

    def add(self, question: Question, row: int) -> None:
        """Add a question that a row of the ledger charged; rows come in their order."""
        order = question.statistic is Statistic.ORDER
        if CellGrid.of(question).constant and not order:
            return  # one cell: it told nothing
        self._steps.setdefault(_statistic(question), {}).setdefault(question.step, row)
        names = columns_named(question)
        private = frozenset(c for c in names if self.schema.columns[c].kind == "private")
        self._questions += 1
        self._columns[row] = self._columns.get(row, frozenset()) | private
        entry = ToldEntry(question, row, self._questions, private, names - private)
        if order or (question.statistic is Statistic.COUNT and question.step <= 1):
            # Whether the record counts was told apart and paid for: a lone COUNT or ORDER counts
            # its outside apart.
            key: object = (question.where, frozenset(c for c, _ in _terms(question)))
            entries, of_columns = self._filters, private or {""}
        else:
            # A SUM does not tell its filter: somebody inside may add what somebody outside does.
            key, entries = _statistic(question), self._sums
            of_columns = {c for c, _ in _terms(question)} & private
        known = entries.get(key)
        if known is None or (entries is self._sums and question.step < known.question.step):
            entries[key] = entry
            for column in of_columns:
                self._by_column.setdefault(column, {})[key] = entry

    def columns(self, rows: Iterable[int]) -> tuple[str, ...]:
        """Name the private columns that some rows told something about, in the schema's order."""
        touched: frozenset[str] = frozenset().union(*[self._columns[row] for row in rows])
        return tuple(name for name in self.schema.columns if name in touched)

    def steps(self, question: Question) -> list[tuple[Fraction, int]]:
        """Return the finest steps at which a statistic was told, each with its row."""
        return sorted(self._steps.get(_statistic(question), {}).items())[:MOST_STEPS]

    def finest(self, question: Question) -> Fraction | None:
        """Return the finest step at which a statistic was told, if no coarser than its own."""
        steps = self.steps(question)
        return steps[0][0] if steps and steps[0][0] <= question.step else None

    def filters(self, private: frozenset[str], known: frozenset[str]) -> list[ToldEntry]:
        """Return the earlier filters that can say something about some columns, the best first."""
        # Where rows are private, a filter over no private column still says "present".
        columns = [*sorted(private), *([""] if self.schema.rows == "private" else [])]
        near = self._near(columns, self._filters)
        near.sort(key=lambda e: (len(e.private - private), len(e.known - known), e.place))
        return near[:MOST_FILTERS]

    def sums(self, private: frozenset[str]) -> list[ToldEntry]:
        """Return the earlier sums over some columns, the finest of each form and filter."""
        near = self._near(sorted(private), self._sums)
        near.sort(key=lambda e: (len(e.private - private), e.place))
        return near[:MOST_FILTERS]

    def _near(self, columns: Sequence[str], among: Mapping[object, ToldEntry]) -> list[ToldEntry]:
        keys = dict.fromkeys(key for c in columns for key in self._by_column.get(c, ()))
        return [among[key] for key in keys if key in among]


def _terms(question: Question) -> tuple[tuple[str, int], ...]:
    return question.form.terms if question.form else ()


def _statistic(question: Question) -> Question:
    """Return a question without its step: what it is about."""
    return replace(question, step=Fraction(1))
