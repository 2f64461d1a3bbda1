"""What was told before: the filters, sums and steps of earlier questions, ready for prices.

Everything here is a function of the schema and of questions; no answer is ever looked at.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.agent.pricing.regions import CellGrid
from hartley.agent.questions.batch import COUNT, ORDER, columns_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set as AbstractSet
    from fractions import Fraction

    from hartley.agent.questions.batch import Question
    from hartley.ranges.schema.schema import Schema

MOST_FILTERS = 24
"""Earlier filters that one group of questions is priced with."""
PRESENCE = frozenset({""})
"""Stands for the columns of a filter over no private column: it says who is present."""
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

    memory: dict[object, int | None] | None = None
    """Keeps what rule N computed, for other orders of the same questions; None without others."""

    def __init__(self, schema: Schema, questions: Iterable[Question] = ()) -> None:
        """Begin with nothing told, or with some questions as one row each."""
        self.schema = schema
        self._steps: dict[tuple[object, ...], dict[Fraction, int]] = {}
        self._filters = ToldIndex()
        self._sums = ToldIndex()
        self._questions = 0
        for row, question in enumerate(questions, start=1):
            self.add(question, row)

    def add(self, question: Question, row: int) -> None:
        """Add a question that a row of the ledger charged; rows come in their order."""
        order = question.statistic is ORDER
        if CellGrid.of(question).constant and not order:
            return  # one cell: it told nothing
        self._steps.setdefault(_statistic(question), {}).setdefault(question.step, row)
        names = columns_named(question)
        private = frozenset(c for c in names if self.schema.columns[c].kind == "private")
        self._questions += 1
        entry = ToldEntry(question, row, self._questions, private, names - private)
        if order or (question.statistic is COUNT and question.step <= 1):
            # Whether the record counts was told apart and paid for: a lone COUNT or ORDER counts
            # its outside apart.
            key = (question.where, frozenset(c for c, _ in _terms(question)))
            if key not in self._filters:
                self._filters.put(key, entry, private or PRESENCE)
        else:
            # A SUM does not tell its filter: somebody inside may add what somebody outside does.
            statistic = _statistic(question)
            known = self._sums.get(statistic)
            if known is None or question.step < known.question.step:
                self._sums.put(statistic, entry, private & {c for c, _ in _terms(question)})

    @property
    def size(self) -> int:
        """The number of questions that told something."""
        return self._questions

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
        columns = private | PRESENCE if self.schema.rows == "private" else private
        return self._filters.nearest(
            columns, lambda e: (len(e.private - private), len(e.known - known)), MOST_FILTERS
        )

    def sums(self, private: frozenset[str]) -> list[ToldEntry]:
        """Return the earlier sums over some columns, the finest of each form and filter."""
        return self._sums.nearest(private, lambda e: (len(e.private - private), 0), MOST_FILTERS)


class WatchedTold(ToldBefore):
    """What was told before, with a note of all that a price looked up in it.

    A price is a function of its questions and of what it looks up here. So it is the same after
    other rows exactly if these give the same.
    """

    def __init__(self, told: ToldBefore) -> None:
        """Watch what is looked up in ``told``, which may not grow meanwhile."""
        self.schema, self._told = told.schema, told
        self._seen: list[tuple[str, tuple[Any, ...], object]] = []

    def _look(self, name: str, *of: Any) -> Any:  # noqa: ANN401 - what the method returns
        result = getattr(self._told, name)(*of)
        self._seen.append((name, of, _content(result)))
        return result

    def add(self, question: Question, row: int) -> None:
        """Refuse it: what is watched stays as it is."""
        raise NotImplementedError

    def steps(self, question: Question) -> list[tuple[Fraction, int]]:
        """Look up the steps of a statistic."""
        steps: list[tuple[Fraction, int]] = self._look("steps", question)
        return steps

    def filters(self, private: frozenset[str], known: frozenset[str]) -> list[ToldEntry]:
        """Look up the filters near some columns."""
        filters: list[ToldEntry] = self._look("filters", private, known)
        return filters

    def sums(self, private: frozenset[str]) -> list[ToldEntry]:
        """Look up the sums near some columns."""
        sums: list[ToldEntry] = self._look("sums", private)
        return sums

    def same_as(self, other: ToldBefore) -> bool:
        """Whether all that was looked up would be the same after other rows."""
        return all(_content(getattr(other, name)(*of)) == seen for name, of, seen in self._seen)


def _content(result: Sequence[Any]) -> list[object]:
    """Return entries without their places among all questions: only their order matters."""
    return [(e.question, e.row) if isinstance(e, ToldEntry) else e for e in result]


class ToldIndex:
    """Earlier questions by the columns that they touch.

    Prices look for the few that are nearest to some columns. Questions over the same columns are
    equally near, so only sets of columns are compared, however many questions were told.
    """

    def __init__(self) -> None:
        self._entries: dict[object, ToldEntry] = {}
        self._alike: dict[tuple[frozenset[str], ...], dict[object, ToldEntry]] = {}
        """The entries of each set of columns, in the order of their places."""

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get(self, key: object) -> ToldEntry | None:
        """Return what was put under a key."""
        return self._entries.get(key)

    def put(self, key: object, entry: ToldEntry, columns: AbstractSet[str]) -> None:
        """Put an entry under a key, last of all; it is near where one of some columns is."""
        self._entries[key] = entry
        alike = self._alike.setdefault((frozenset(columns), entry.private, entry.known), {})
        alike.pop(key, None)  # a finer one takes its own place, behind those between them
        alike[key] = entry

    def nearest(
        self,
        columns: AbstractSet[str],
        distance: Callable[[ToldEntry], tuple[int, int]],
        most: int,
    ) -> list[ToldEntry]:
        """Return the entries nearest to some columns, the earlier first where they are as near.

        ``distance`` depends on the columns of an entry alone.
        """
        by_distance: dict[tuple[int, int], list[dict[object, ToldEntry]]] = {}
        for (own, _, _), alike in self._alike.items():
            if not own.isdisjoint(columns):
                first = next(iter(alike.values()))
                by_distance.setdefault(distance(first), []).append(alike)
        near: list[ToldEntry] = []
        for rank in sorted(by_distance):
            equal = [e for alike in by_distance[rank] for e in islice(alike.values(), most)]
            equal.sort(key=lambda e: e.place)
            near += equal[: most - len(near)]
            if len(near) >= most:
                break
        return near


def _terms(question: Question) -> tuple[tuple[str, int], ...]:
    return question.form.terms if question.form else ()


def _statistic(question: Question) -> tuple[object, ...]:
    """Return a question without its step: what it is about."""
    q = question
    return (q.statistic, q.where, q.form, q.quantile, q.least, q.most)
