"""What public and open columns leave of a batch: types of rows that its questions treat alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hartley.agent.pricing.atoms import Asked, classes, direction_of, possible_terms
from hartley.agent.pricing.regions import apart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from hartley.agent.batch import Question, Statistic
    from hartley.agent.pricing.atoms import Class, Direction, Leaf, Range, Term
    from hartley.ranges.schema import Schema

MOST_STATES = 16_384
"""A batch that tells more types of rows apart is priced in parts that look at fewer columns."""
MOST_CODES = 64
"""An open column of more codes inside a form is not looked into where a person has several rows."""


class Type(NamedTuple):
    """A class of values of the public and open columns."""

    mask: int
    """The terms of filters that it leaves possible, as bits."""
    shifts: tuple[Range, ...]
    """From where to where the known part of each form runs over the class."""


class _Term(NamedTuple):
    owner: int
    known: Term
    private: Term


class _Measured(NamedTuple):
    """The form of a question, taken apart."""

    statistic: Statistic
    direction: Direction
    scale: int
    constant: int
    known: int | None
    """Which known form is added to it."""


class Resolved:
    """A batch taken apart: terms of filters and parts of forms, by what is known of columns."""

    def __init__(
        self, questions: Sequence[Question], schema: Schema, silent: Collection[int] = ()
    ) -> None:
        """Take a batch apart; silent questions tell nothing and are left out."""
        self.schema = schema
        self.opaque: list[int] = []
        """Questions whose filter has too many parts to look into."""
        self._terms: list[_Term] = []
        self._forms: list[_Measured] = []
        self._known_forms: list[Direction] = []
        for number, question in enumerate(questions):
            self._forms.append(self._measure(question))
            if number not in silent:
                self._take(number, question)
        self._owned: dict[int, int] = {}
        self._asked: dict[tuple[int, Range | None], Asked] = {}
        self._alike: dict[Asked, Asked] = {}
        self._asking: dict[str, dict[Leaf, int]] = {}
        for number, term in enumerate(self._terms):
            self._owned[term.owner] = self._owned.get(term.owner, 0) | 1 << number
            for column, leaf in term.known:
                asking = self._asking.setdefault(column, {})
                asking[leaf] = asking.get(leaf, 0) | 1 << number

    def _take(self, number: int, question: Question) -> None:
        terms = possible_terms(question.where, question.form, self.schema.columns)
        if terms is None or self._wide(question):
            self.opaque.append(number)
            return
        for term in terms:
            known: list[tuple[str, Leaf]] = []
            private: list[tuple[str, Leaf]] = []
            for column, leaf in term:
                described = self.schema.columns[column]
                if leaf[0] != ((0, described.points - 1),) or (described.nullable and not leaf[1]):
                    (private if described.kind == "private" else known).append((column, leaf))
            self._terms.append(_Term(number, tuple(known), tuple(private)))

    def _wide(self, question: Question) -> bool:
        """Whether several rows of a person have too many known parts of the form to list."""
        columns = [self.schema.columns[c] for c, _ in question.form.terms] if question.form else []
        wide = any(c.kind == "open" and c.points > MOST_CODES for c in columns)
        return wide and self.schema.rows_per_unit > 1

    def _measure(self, question: Question) -> _Measured:
        form = question.form
        if form is None:
            return _Measured(question.statistic, (), 1, 0, None)
        columns = self.schema.columns
        private = tuple(term for term in form.terms if columns[term[0]].kind == "private")
        direction, scale = direction_of(private)
        known = None
        if len(private) < len(form.terms):
            rest = tuple(term for term in form.terms if columns[term[0]].kind != "private")
            if rest not in self._known_forms:
                self._known_forms.append(rest)
            known = self._known_forms.index(rest)
        return _Measured(question.statistic, direction, scale, form.constant, known)

    def start(self) -> Type:
        """Return the type of which nothing is known yet."""
        return Type((1 << len(self._terms)) - 1, ((0, 0),) * len(self._known_forms))

    def refine(
        self, start: Type, kinds: Iterable[str], *, apart: bool = False
    ) -> list[Type] | None:
        """Split a type by the columns of some kinds that questions look at.

        Types with equal truth values are one, and the known parts of their forms become ranges;
        ``apart`` keeps different known parts of forms apart instead, as several rows of one person
        need it: which of them pass a filter then matters. None where there are too many types.
        """
        states: dict[tuple[int, tuple[Range, ...] | None], Type] = {(0, None): start}
        for column in self._used(kinds):
            parts = self._parts(column, apart=apart)
            moved = [(k, t) for k, d in enumerate(self._known_forms) for c, t in d if c == column]
            found: dict[tuple[int, tuple[Range, ...] | None], Type] = {}
            for state in states.values():
                for part in parts:
                    mask, wider = state.mask & part.mask, list(state.shifts)
                    for k, times in moved:
                        ends = (times * part.low, times * part.high)
                        wider[k] = (wider[k][0] + min(ends), wider[k][1] + max(ends))
                    shifts = tuple(wider)
                    key = (mask, shifts if apart else None)
                    old = found.get(key)
                    found[key] = Type(mask, shifts if old is None else _hull(old.shifts, shifts))
                if len(found) > MOST_STATES:
                    return None
            states = found
        return list(states.values())

    def _used(self, kinds: Iterable[str]) -> list[str]:
        used = dict.fromkeys([*self._asking, *(c for d in self._known_forms for c, _ in d)])
        return [column for column in used if self.schema.columns[column].kind in kinds]

    def _parts(self, column: str, *, apart: bool) -> list[Class]:
        described = self.schema.columns[column]
        asking = self._asking.get(column, {})
        full = self.start().mask
        free = full & ~sum(asking.values())
        if apart and any(c == column for d in self._known_forms for c, _ in d):
            beyond = len(self._terms)
            single: dict[Leaf, int] = {
                (((code, code),), False): 1 << beyond + code for code in range(described.points)
            }
            for leaf, mask in asking.items():
                single[leaf] = single.get(leaf, 0) | mask
            return classes(described, single, free)
        return classes(described, asking, free)

    def known_columns(self, number: int) -> frozenset[str]:
        """Return the public and open columns that a question looks at."""
        form = self._forms[number].known
        summed = () if form is None else self._known_forms[form]
        tested = (c for term in self._terms if term.owner == number for c, _ in term.known)
        return frozenset([*tested, *(c for c, _ in summed)])

    def asked(self, known: Type) -> list[tuple[int, Asked]]:
        """Return what a type leaves of each question, by number; impossible ones are left out.

        What is equal is the same object, however many types and questions have it.
        """
        found = []
        for number, own in self._owned.items():
            left = known.mask & own  # the terms of no other question
            if left:
                form = self._forms[number].known
                key = left, None if form is None else known.shifts[form]
                asked = self._asked.get(key)
                if asked is None:
                    new = self._left(number, *key)
                    asked = self._asked[key] = self._alike.setdefault(new, new)
                found.append((number, asked))
        return found

    def _left(self, number: int, terms: int, known: Range | None) -> Asked:
        """Return what is left of a question where some of its terms are possible."""
        private: dict[Term, None] = {}
        while terms:
            lowest = terms & -terms
            private[self._terms[lowest.bit_length() - 1].private] = None
            terms ^= lowest
        form = self._forms[number]
        kept = ((),) if () in private else tuple(private)
        low, high = known or (0, 0)
        shift = (form.constant + low, form.constant + high)
        return Asked(form.statistic, kept, form.direction, form.scale, shift)


def _hull(one: Sequence[Range], other: Sequence[Range]) -> tuple[Range, ...]:
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))


def independent(asked: Sequence[tuple[int, Asked]]) -> list[list[tuple[int, Asked]]]:
    """Split questions into groups that share no private column."""
    return [group for group, _ in apart([(one, one[1].columns) for one in asked])]
