"""A batch by what is known of a record: the types of the public and open columns.

"Everything below is for one type, and the price is the maximum over types" (docs/accountant.md,
"One batch, one row per person"). Here questions are taken apart into what they ask of known and of
private columns; the maximum itself is in ``worst_case``.
"""

from __future__ import annotations

from itertools import product
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from hartley.agent.pricing.atoms import Asked, bits_of, classes, direction_of
from hartley.agent.pricing.regions import apart
from hartley.agent.questions.condition import possible_terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from hartley.agent.pricing.atoms import CodeClass, Direction, IntRange
    from hartley.agent.pricing.public_parts import Cuts
    from hartley.agent.questions.batch import Question, Statistic
    from hartley.agent.questions.condition import Conjunction, Leaf
    from hartley.ranges.schema.schema import Schema


MOST_STATES = 16_384
"""A batch that distinguishes more types of rows is priced in parts that use fewer columns."""
MOST_PUBLIC = 2048
"""Types of public columns that are priced one by one; beyond, all have the largest price."""
MOST_CODES = 64
"""With several rows per person, an open column with more codes is not examined inside a form."""


class KnownType(NamedTuple):
    """A class of values of the public and open columns."""

    mask: int
    """The terms of filters that it leaves possible, as bits."""
    shifts: tuple[IntRange, ...]
    """The range of the known part of each form over the class."""


class SplitQuestion(NamedTuple):
    """A question taken apart: what its filter and its form ask of known and of private columns."""

    terms: tuple[tuple[Conjunction, Conjunction], ...] | None
    """The known and the private part of each term; None if there are too many to look into."""
    statistic: Statistic
    direction: Direction
    scale: int
    constant: int
    known: Direction
    """What public and open columns add to the form: it shifts the private part."""
    asked: dict[tuple[int, IntRange | None], Asked]
    """What remains of the question, by its possible terms and the known part of its form."""


class SplitMemory:
    """The questions of one schema that were taken apart; prices look at them again and again."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.splits: dict[Question, SplitQuestion] = {}
        self.stepless: dict[tuple[object, ...], SplitQuestion] = {}
        """The same by what they are made from: steps do not matter."""
        self.alike: dict[Asked, Asked] = {}
        """Equal parts of questions are the same object."""

    def split(self, question: Question) -> SplitQuestion:
        """Take a question apart."""
        known = self.splits.get(question)
        if known is None:
            key = (question.statistic, question.where, question.form)
            known = self.stepless.get(key)
            if known is None:
                known = self.stepless[key] = _split(question, self.schema)
            self.splits[question] = known
        return known


MOST_SPLIT, MOST_SCHEMAS = 8192, 16
"""Questions of one schema that are kept taken apart, and schemas."""

_MEMORIES: dict[int, SplitMemory] = {}


def memory_of(schema: Schema) -> SplitMemory:
    """Return what is kept about the questions of a schema."""
    memory = _MEMORIES.get(id(schema))  # a memory holds its schema, so that no other has this id
    if memory is None or len(memory.splits) + len(memory.alike) > MOST_SPLIT:
        if len(_MEMORIES) >= MOST_SCHEMAS:
            _MEMORIES.clear()
        memory = _MEMORIES[id(schema)] = SplitMemory(schema)
    return memory


def _split(question: Question, schema: Schema) -> SplitQuestion:
    columns, form = schema.columns, question.form
    listed = possible_terms(question.where, form, columns)
    terms: list[tuple[Conjunction, Conjunction]] | None = None
    if listed is not None and not _wide(question, schema):
        # A question about nobody has no term here, so no type asks it: its price is 1.
        terms = []
        for term in listed:
            known: list[tuple[str, Leaf]] = []
            private: list[tuple[str, Leaf]] = []
            for column, leaf in term:
                described = columns[column]
                # A leaf that every value passes tells nothing, and would only make more classes.
                if leaf[0] != ((0, described.points - 1),) or (described.nullable and not leaf[1]):
                    (private if described.kind == "private" else known).append((column, leaf))
            terms.append((tuple(known), tuple(private)))
    own = tuple(term for term in form.terms if columns[term[0]].kind == "private") if form else ()
    rest = tuple(term for term in form.terms if columns[term[0]].kind != "private") if form else ()
    return SplitQuestion(
        None if terms is None else tuple(terms),
        question.statistic,
        *direction_of(own),
        form.constant if form else 0,
        rest,
        {},
    )


def _wide(question: Question, schema: Schema) -> bool:
    """Whether several rows of a person have too many known parts of the form to list.

    ``refine`` keeps every code of such a column apart, as "Several rows per person" needs it.
    """
    columns = [schema.columns[c] for c, _ in question.form.terms] if question.form else []
    wide = any(c.kind == "open" and c.points > MOST_CODES for c in columns)
    return wide and schema.rows_per_unit > 1


class Resolved:
    """A batch split into terms of filters and parts of forms, by what is known of columns."""

    def __init__(
        self, questions: Sequence[Question], schema: Schema, silent: Collection[int] = ()
    ) -> None:
        """Split a batch; silent questions reveal nothing and are left out."""
        self.schema = schema
        self.opaque: list[int] = []
        """Questions whose filter has too many parts to look into."""
        self._memory = memory_of(schema)
        self._splits = [self._memory.split(question) for question in questions]
        self._known_forms: list[Direction] = []
        self._always: list[tuple[int, Asked]] = []
        """Questions of which all types leave the same: they use no known column."""
        self._owned: list[
            tuple[int, int | None, dict[object, tuple[int, Asked]], tuple[int, int, SplitQuestion]]
        ] = []
        """Of each other one: its terms as bits, its known form, what remains of it for the types so
        far; and its number, where its terms begin and what it was split into."""
        self._asking: dict[str, dict[Leaf, int]] = {}
        self.terms = 0
        """How many terms the filters have."""
        for number, split in enumerate(self._splits):
            known = None
            if split.known:
                if split.known not in self._known_forms:
                    self._known_forms.append(split.known)
                known = self._known_forms.index(split.known)
            if number not in silent:
                self._take(number, split, known)

    def _take(self, number: int, split: SplitQuestion, known: int | None) -> None:
        if split.terms is None:
            self.opaque.append(number)
            return
        begin = self.terms
        for tested, _ in split.terms:
            for column, leaf in tested:
                asking = self._asking.setdefault(column, {})
                asking[leaf] = asking.get(leaf, 0) | 1 << self.terms
            self.terms += 1
        own = (1 << self.terms) - (1 << begin)
        if known is not None or any(tested for tested, _ in split.terms):
            self._owned.append((own, known, {}, (number, begin, split)))
        elif own:
            self._always.append((number, self._remaining(split, own >> begin, None)))

    def start(self) -> KnownType:
        """Return the type about which nothing is known yet."""
        return KnownType((1 << self.terms) - 1, ((0, 0),) * len(self._known_forms))

    def refine(
        self, start: KnownType, kinds: Iterable[str], *, apart: bool = False
    ) -> list[KnownType] | None:
        """Split a type by those columns of some kinds that questions use.

        Types with equal truth values are one, and the known parts of their forms become ranges;
        ``apart`` keeps different known parts of forms apart instead, as several rows of one person
        need it: which of them pass a filter then matters. None if there are too many types.
        """
        states: dict[tuple[int, tuple[IntRange, ...] | None], KnownType] = {(0, None): start}
        for column in self._used(kinds):
            parts = self._parts(column, apart=apart)
            moved = [(k, t) for k, d in enumerate(self._known_forms) for c, t in d if c == column]
            refined: dict[tuple[int, tuple[IntRange, ...] | None], KnownType] = {}
            for state in states.values():
                for own, low, high, _ in parts:
                    mask, wider = state.mask & own, list(state.shifts)
                    for k, times in moved:
                        ends = (times * low, times * high)
                        wider[k] = (wider[k][0] + min(ends), wider[k][1] + max(ends))
                    shifts = tuple(wider)
                    key = (mask, shifts if apart else None)
                    old = refined.get(key)
                    refined[key] = KnownType(
                        mask, shifts if old is None else _hull(old.shifts, shifts)
                    )
                if len(refined) > MOST_STATES:
                    return None
            states = refined
        return list(states.values())

    def public_types(self) -> tuple[Cuts, list[KnownType]] | None:
        """Return every type of the public columns that questions tell apart; None if too many.

        Each used column is cut into runs of codes that all filters treat alike. The types are in
        the order of ``PublicParts``.
        """
        listed, several = [], 1
        for column in sorted(self._used(("public",))):
            runs = self._runs(column)
            several *= len(runs)
            if several > MOST_PUBLIC:
                return None
            listed.append((column, runs))
        moves = [
            [(k, t) for k, d in enumerate(self._known_forms) for c, t in d if c == column]
            for column, _ in listed
        ]
        start, types = self.start(), []
        for chosen in product(*[runs for _, runs in listed]):
            mask, shifts = start.mask, list(start.shifts)
            for (_, possible, low, high), moved in zip(chosen, moves, strict=True):
                mask &= possible
                for k, times in moved:
                    ends = (times * low, times * high)
                    shifts[k] = (shifts[k][0] + min(ends), shifts[k][1] + max(ends))
            types.append(KnownType(mask, tuple(shifts)))
        cuts = tuple([(name, tuple([run[0] for run in runs])) for name, runs in listed])
        return cuts, types

    def _runs(self, column: str) -> list[tuple[int, int, int, int]]:
        """Cut a column into runs: the first code of each, its terms, and the range of its codes."""
        described, asking = self.schema.columns[column], self._asking.get(column, {})
        free, end = self.start().mask & ~sum(asking.values()), described.points
        edges = {edge for codes, _ in asking for low, high in codes for edge in (low, high + 1)}
        starts = sorted({0, *(edge for edge in edges if 0 < edge < end)})
        runs = []
        for first, after in zip(starts, [*starts[1:], end], strict=True):
            mask = free
            for (codes, _), terms in asking.items():
                if any(low <= first <= high for low, high in codes):
                    mask |= terms
            runs.append((first, mask, first, after - 1))
        if described.nullable:  # a missing value has no code, and no form sums it
            missing = sum([terms for (_, null), terms in asking.items() if null])
            runs.append((end, free | missing, 0, 0))
        return runs

    def _used(self, kinds: Iterable[str]) -> list[str]:
        used = dict.fromkeys([*self._asking, *(c for d in self._known_forms for c, _ in d)])
        return [column for column in used if self.schema.columns[column].kind in kinds]

    def _parts(self, column: str, *, apart: bool) -> list[CodeClass]:
        described = self.schema.columns[column]
        asking = self._asking.get(column, {})
        full = self.start().mask
        free = full & ~sum(asking.values())
        if apart and any(c == column for d in self._known_forms for c, _ in d):
            # One more bit for every code keeps the codes apart. An open column that is summed and
            # not tested still matters: of rows with 1 and 3, a filter over private columns passes
            # none, either or both, which are 4 sums and not the 3 multisets of passing.
            beyond = self.terms
            single: dict[Leaf, int] = {
                (((code, code),), False): 1 << beyond + code for code in range(described.points)
            }
            for leaf, mask in asking.items():
                single[leaf] = single.get(leaf, 0) | mask
            return classes(described, single, free)
        return classes(described, asking, free)

    def known_columns(self, number: int) -> frozenset[str]:
        """Return the public and open columns that a question uses."""
        split = self._splits[number]
        tested = [c for known, _ in split.terms or () for c, _ in known]
        return frozenset([*tested, *(c for c, _ in split.known)])

    def asked(self, known: KnownType) -> list[tuple[int, Asked]]:
        """Return the part of each question that remains for a type, by number, if any.

        Equal parts are the same object for all types and questions, and so are pairs of them.
        """
        questions = [*self._always]
        mask, shifts = known.mask, known.shifts
        for own, form, pairs, (number, begin, split) in self._owned:
            possible = mask & own  # the terms of no other question
            if possible:
                key = possible if form is None else (possible, shifts[form])
                pair = pairs.get(key)
                if pair is None:
                    known_part = None if form is None else shifts[form]
                    asked = self._remaining(split, possible >> begin, known_part)
                    pair = pairs[key] = pairs.setdefault(asked, (number, asked))
                questions.append(pair)
        return sorted(questions, key=itemgetter(0))

    def _remaining(self, split: SplitQuestion, terms: int, known: IntRange | None) -> Asked:
        """Return the part of a question that remains if only some of its terms are possible."""
        if (terms, known) in split.asked:
            return split.asked[terms, known]
        assert split.terms is not None
        private = dict.fromkeys([split.terms[place][1] for place in bits_of(terms)])
        # A term without private columns holds for every record of the type.
        private_terms = ((),) if () in private else tuple(private)
        low, high = known or (0, 0)
        shift = (split.constant + low, split.constant + high)
        new = Asked(split.statistic, private_terms, split.direction, split.scale, shift)
        split.asked[terms, known] = self._memory.alike.setdefault(new, new)
        return split.asked[terms, known]


def _hull(first: Sequence[IntRange], second: Sequence[IntRange]) -> tuple[IntRange, ...]:
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(first, second, strict=True))


def independent(asked: Sequence[tuple[int, Asked]]) -> list[list[tuple[int, Asked]]]:
    """Split questions into groups that share no private column.

    They are functions of independent coordinates, so their prices multiply.
    """
    return [group for group, _ in apart([(pair, pair[1].columns) for pair in asked])]
