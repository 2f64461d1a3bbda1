"""The worst case of a batch: the type of the public and open columns that costs most.

"Everything below is for one type, and the price is the maximum over types" (docs/accountant.md,
"One batch, one row per person"; for multisets of types "Several rows per person"). Beyond a cap of
the section "Caps", questions are priced apart and multiplied: larger, and still a bound.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from math import comb, inf, prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hartley.agent.pricing.atoms import Asked, bits_of, classes, direction_of, form_atoms
from hartley.agent.pricing.one_row import PartPrice, price_part
from hartley.agent.pricing.public_parts import PublicParts
from hartley.agent.pricing.regions import apart, product_within
from hartley.agent.pricing.several_rows import SeveralRowsPricer, TypedRows
from hartley.agent.questions.batch import Statistic
from hartley.agent.questions.condition import possible_terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from hartley.agent.pricing.atoms import Atoms, CodeClass, Direction, IntRange
    from hartley.agent.pricing.public_parts import Cuts
    from hartley.agent.pricing.regions import CellGrid
    from hartley.agent.questions.batch import Question
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


MOST_SPLIT, MOST_SCHEMAS = 8192, 16
"""Questions of one schema that are kept taken apart, and schemas."""


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
        self._owned: list[tuple[int, int, int, SplitQuestion, int | None]] = []
        """Of each question: its number, its terms as bits, where they begin, and its known form."""
        self._asking: dict[str, dict[Leaf, int]] = {}
        self._terms = 0
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
        begin = self._terms
        for tested, _ in split.terms:
            for column, leaf in tested:
                asking = self._asking.setdefault(column, {})
                asking[leaf] = asking.get(leaf, 0) | 1 << self._terms
            self._terms += 1
        if split.terms:
            own = (1 << self._terms) - (1 << begin)
            self._owned.append((number, own, begin, split, known))

    def start(self) -> KnownType:
        """Return the type about which nothing is known yet."""
        return KnownType((1 << self._terms) - 1, ((0, 0),) * len(self._known_forms))

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
                for part in parts:
                    mask, wider = state.mask & part.mask, list(state.shifts)
                    for k, times in moved:
                        ends = (times * part.low, times * part.high)
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
            beyond = self._terms
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

        Equal parts are the same object, for all types and questions.
        """
        questions = []
        mask, shifts = known.mask, known.shifts
        for number, own, begin, split, form in self._owned:
            possible = (mask & own) >> begin  # the terms of no other question
            if possible:
                key = possible, None if form is None else shifts[form]
                asked = split.asked.get(key)
                if asked is None:
                    asked = split.asked[key] = self._remaining(split, *key)
                questions.append((number, asked))
        return questions

    def _remaining(self, split: SplitQuestion, terms: int, known: IntRange | None) -> Asked:
        """Return the part of a question that remains if only some of its terms are possible."""
        assert split.terms is not None
        private = dict.fromkeys([split.terms[place][1] for place in bits_of(terms)])
        # A term without private columns holds for every record of the type.
        private_terms = ((),) if () in private else tuple(private)
        low, high = known or (0, 0)
        shift = (split.constant + low, split.constant + high)
        new = Asked(split.statistic, private_terms, split.direction, split.scale, shift)
        return self._memory.alike.setdefault(new, new)


def _hull(first: Sequence[IntRange], second: Sequence[IntRange]) -> tuple[IntRange, ...]:
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(first, second, strict=True))


def independent(asked: Sequence[tuple[int, Asked]]) -> list[list[tuple[int, Asked]]]:
    """Split questions into groups that share no private column.

    They are functions of independent coordinates, so their prices multiply.
    """
    return [group for group, _ in apart([(pair, pair[1].columns) for pair in asked])]


MOST_TYPES = 512
"""Beyond this many multisets of types of rows, questions are priced type by type."""


@dataclass(frozen=True, slots=True)
class PriceCase:
    """The factors of a price; their product, plus 1 if absence adds an output."""

    parts: tuple[PartPrice, ...] = ()
    absence: bool = False
    """Whether being absent adds one output to the product of the parts."""
    factors: tuple[int, ...] = ()
    """Prices of questions that were not examined, or of further groups of them."""

    @property
    def cells(self) -> int:
        """The number of outputs."""
        return (prod([p.cells for p in self.parts]) + self.absence) * prod(self.factors)


@dataclass(frozen=True, slots=True)
class _Group:
    """Questions that share private columns with each other, and with no other question."""

    numbers: tuple[int, ...]
    asked: tuple[Asked, ...]
    atoms: Atoms | None

    @property
    def silent(self) -> bool:
        """Whether a present record can be counted by no question, like an absent one."""
        return self.atoms is not None and any(not atom.alive for atom in self.atoms.atoms)


_Priced: TypeAlias = dict[tuple[int, bool], PartPrice]
"""The groups that were priced at some steps, by their names and whether the row may be absent."""


class Pricer:
    """Prices one batch at any steps; atoms are formed once."""

    def __init__(
        self, questions: Sequence[Question], schema: Schema, silent: Sequence[int] = ()
    ) -> None:
        """Split a batch; silent questions are those that have one answer at every step."""
        self.questions, self.schema, self.silent = questions, schema, list(silent)
        self._resolved = Resolved(questions, schema, silent)
        ignored = {*silent, *self._resolved.opaque}
        self._asked = [number for number in range(len(questions)) if number not in ignored]
        opened = any(column.kind == "open" for column in schema.columns.values())
        # Where open columns were paid for, the number of rows was paid for with them: the factor
        # of private rows, C(m + r, r), counts how many of the r rows there are.
        self._absent = schema.rows == "private" and not opened
        self._atoms: dict[tuple[int, ...], Atoms | None] = {}
        self._groups: dict[tuple[tuple[int, ...], tuple[int, ...]], _Group] = {}
        self._parts_of: dict[int, list[_Group]] = {}
        self._types: list[list[_Group]] | None = None
        self._joints: dict[object, int | None] = {}

    def worst(self, grids: Sequence[CellGrid]) -> PriceCase:
        """Return the case that costs most at some steps."""
        several = self.schema.rows_per_unit > 1
        case = self._several_rows(grids) if several else self._one_row(grids)
        # A vector of answers is a vector of its parts, so any bound of a part may be multiplied.
        blind = tuple([self._blind(n, grids[n]) for n in self._resolved.opaque])
        return replace(case, factors=case.factors + blind) if blind else case

    def by_public(self, grids: Sequence[CellGrid]) -> PublicParts | None:
        """Return the price for every type of the public columns; None beyond a cap."""
        publics = self._resolved.public_types()
        if publics is None:
            return None
        cuts, listed = publics
        blind = prod([self._blind(n, grids[n]) for n in self._resolved.opaque])
        cells: dict[KnownType, int] = {}
        named: dict[object, int] = {}
        priced: _Priced = {}
        several = self.schema.rows_per_unit > 1
        for public in listed:
            if public in cells:
                continue
            types = self._resolved.refine(public, ("open",), apart=several)
            if types is None:
                return None
            if several:
                cells[public] = self._of_types(types, grids).cells
                continue
            cells[public] = 1
            for known in types:
                members = independent(self._resolved.asked(known))
                groups = [self._group(each) for each in members]
                key = self._name(groups, grids)
                if key not in named:
                    named[key] = self._of_type(groups, grids, priced).cells
                cells[public] = max(cells[public], named[key])
        return PublicParts.of(cuts, tuple([cells[public] * blind for public in listed]))

    # --- one row per person ---------------------------------------------------------------------

    def _one_row(self, grids: Sequence[CellGrid]) -> PriceCase:
        if self._types is None:
            row_types = self._resolved.refine(self._resolved.start(), ("public", "open"))
            if row_types is None:
                return PriceCase(factors=tuple(self._apart(self._asked, grids)))
            types = [independent(self._resolved.asked(known)) for known in row_types]
            self._types = [[self._group(members) for members in groups] for groups in types]
        worst, most = PriceCase(), 1
        priced: _Priced = {}
        for groups in self._distinct(self._types, grids):
            case = self._of_type(groups, grids, priced)
            cells = case.cells
            if cells > most:
                worst, most = case, cells
        return worst

    @staticmethod
    def _name(groups: list[_Group], grids: Sequence[CellGrid]) -> object:
        """Name what a type is asked; types with one name cost the same."""
        return tuple([(*map(id, g.asked), *[grids[n] for n in g.numbers]) for g in groups])

    @staticmethod
    def _distinct(types: list[list[_Group]], grids: Sequence[CellGrid]) -> Iterable[list[_Group]]:
        """Return one type for each set of remaining questions; equal sets cost the same."""
        if len(types) == 1:
            return types
        # ``asked`` makes equal questions one object, so that their ids stand for them.
        if len({tuple([tuple(map(id, g.asked)) for g in groups]) for groups in types}) == len(
            types
        ):
            return types
        first: dict[CellGrid, int] = {}
        names = [first.setdefault(grid, number) for number, grid in enumerate(grids)]
        distinct: dict[object, list[_Group]] = {}
        for groups in types:
            key = tuple([(*map(id, g.asked), *[names[n] for n in g.numbers]) for g in groups])
            distinct.setdefault(key, groups)
        return distinct.values()

    def _group(self, pairs: Sequence[tuple[int, Asked]]) -> _Group:
        """Return questions as a group; equal groups are the same object."""
        numbers: tuple[int, ...]
        asked: tuple[Asked, ...]
        numbers, asked = zip(*pairs, strict=True)
        names = tuple(map(id, asked))
        group = self._groups.get((numbers, names))
        if group is None:
            if names not in self._atoms:
                self._atoms[names] = form_atoms(asked, self.schema)
            group = self._groups[numbers, names] = _Group(numbers, asked, self._atoms[names])
        return group

    def _of_type(
        self, groups: Sequence[_Group], grids: Sequence[CellGrid], priced: _Priced
    ) -> PriceCase:
        present = PriceCase(tuple([self._part(g, grids, priced, absent=False) for g in groups]))
        # Where some present record is counted by nothing, the absent one has its output. Else it
        # "adds one output to the product, at most"; as a point of every group it may add less.
        if not self._absent or all(group.silent for group in groups):
            return present
        apart = PriceCase(present.parts, absence=True)
        joined = PriceCase(tuple(self._part(g, grids, priced, absent=True) for g in groups))
        return min(apart, joined, key=lambda case: case.cells)

    def _part(
        self, group: _Group, grids: Sequence[CellGrid], priced: _Priced, *, absent: bool
    ) -> PartPrice:
        """Price a group, once for all types that have it."""
        key = (id(group), absent)
        if key not in priced:
            if group.atoms is not None:
                group_grids = [grids[number] for number in group.numbers]
                priced[key] = price_part(group.numbers, group.atoms, group_grids, absent=absent)
            else:
                priced[key] = self._unseen(group, grids, priced, absent=absent)
        return priced[key]

    def _unseen(
        self, group: _Group, grids: Sequence[CellGrid], priced: _Priced, *, absent: bool
    ) -> PartPrice:
        """Price a group with too many atoms: questions with the same filter columns together."""
        numbers = group.numbers
        if len(numbers) == 1:
            return PartPrice(
                numbers, (), None, self._blind(numbers[0], grids[numbers[0]]), None, None
            )
        if id(group) not in self._parts_of:
            buckets = _buckets(list(zip(numbers, group.asked, strict=True)))
            self._parts_of[id(group)] = [self._group(some) for some in buckets]
        columns = sorted(frozenset().union(*[asked.columns for asked in group.asked]))
        points = prod([self.schema.columns[c].size for c in columns]) + absent

        def price(some: _Group) -> int:
            return self._part(some, grids, priced, absent=absent).cells

        # Where lengths are collected, all of them are needed.
        limit = points if grids[numbers[0]].lengths is None else inf
        singles = product_within(price, self._parts_of[id(group)], limit)
        return PartPrice(numbers, tuple(columns), points, singles, None, None)

    # --- several rows per person ----------------------------------------------------------------

    def _several_rows(self, grids: Sequence[CellGrid]) -> PriceCase:
        worst = PriceCase()
        publics = self._resolved.refine(self._resolved.start(), ("public",))
        for public in publics or ():
            types = self._resolved.refine(public, ("open",), apart=True)
            if types is None:
                publics = None
                break
            case = self._of_types(types, grids)
            worst = max(worst, case, key=lambda each: each.cells)
        return (
            PriceCase(factors=tuple(self._apart(self._asked, grids))) if publics is None else worst
        )

    def _of_types(self, types: Sequence[KnownType], grids: Sequence[CellGrid]) -> PriceCase:
        r = self.schema.rows_per_unit
        asked = [dict(self._resolved.asked(known)) for known in types]
        # "The maximum over multisets of r types with one public value". The maximum over single
        # types is too small: one row in each of two open groups gives 4 pairs of counts, and two
        # rows in one group 3.
        several = comb(len(types) + r - 1, r)
        listed = several if several <= MOST_TYPES else r * len(types)
        pricing = SeveralRowsPricer(
            self.schema,
            grids,
            absent=self._absent,
            listed=listed,
            joints=self._joints,
        )
        if several <= MOST_TYPES:
            rows = [
                [TypedRows(asked[t], n) for t, n in Counter(chosen).items()]
                for chosen in combinations_with_replacement(range(len(types)), r)
            ]
            return PriceCase(tuple(pricing.parts(max(rows, key=pricing.cells))))
        # Too many multisets. A question that only one type asks depends on the rows of that type
        # alone, so the rows are shared out exactly; the others are priced apart and multiplied.
        homes = Counter(number for of_type in asked for number in of_type)
        local = [{n: q for n, q in of_type.items() if homes[n] == 1} for of_type in asked]
        spanning = sorted(number for number, types_of in homes.items() if types_of > 1)
        return PriceCase(factors=(self._knapsack(local, pricing), *self._apart(spanning, grids)))

    def _knapsack(self, local: Sequence[dict[int, Asked]], pricing: SeveralRowsPricer) -> int:
        """Share r rows among types so that the product of their prices is largest."""
        r = self.schema.rows_per_unit
        best = [1] * (r + 1)
        for asked in local:
            if asked:
                own = [1] + [pricing.cells([TypedRows(asked, n)]) for n in range(1, r + 1)]
                best = [max(best[k - n] * own[n] for n in range(k + 1)) for k in range(r + 1)]
        return best[r]

    def _apart(self, numbers: Sequence[int], grids: Sequence[CellGrid]) -> list[int]:
        """Price questions separately, except those that use the same known columns."""
        if not numbers:
            return []
        if len(numbers) < len(self._asked):  # fewer questions may keep within the caps
            return [self._again(numbers, grids)]
        if len(numbers) == 1:
            return [self._blind(numbers[0], grids[numbers[0]])]
        buckets: dict[frozenset[str], list[int]] = {}
        for number in numbers:
            buckets.setdefault(self._resolved.known_columns(number), []).append(number)
        split = list(buckets.values()) if len(buckets) > 1 else [[number] for number in numbers]
        return [self._again(together, grids) for together in split]

    def _again(self, numbers: Sequence[int], grids: Sequence[CellGrid]) -> int:
        pricer = Pricer([self.questions[n] for n in numbers], self.schema)
        return pricer.worst([grids[n] for n in numbers]).cells

    def _blind(self, number: int, grid: CellGrid) -> int:
        """Return the price of a question without examining its filter."""
        question, r = self.questions[number], self.schema.rows_per_unit
        if question.statistic is Statistic.ORDER:
            return grid.levels + 1  # one more: there may be no row
        if grid.constant:
            return 1
        if question.form is None:
            return 1 + grid.counted(r)
        # Each row adds something between low and high, zero included for a row that is filtered
        # out, so r rows move the total by no more than r times the length.
        low, high = contributions(question, self.schema)
        return 1 + grid.crossed(r * (high - low))


def _buckets(asked: Sequence[tuple[int, Asked]]) -> list[list[tuple[int, Asked]]]:
    """Group questions that filter by the same columns; each is alone if all would be together."""
    buckets: dict[frozenset[str], list[tuple[int, Asked]]] = {}
    for pair in asked:
        buckets.setdefault(pair[1].filtered, []).append(pair)
    if len(buckets) == 1:  # the columns do not help: only single questions are smaller
        return [[pair] for pair in asked]
    return [*independent(buckets.pop(frozenset(), [])), *buckets.values()]


def contributions(question: Question, schema: Schema) -> tuple[int, int]:
    """Return the range in which one row moves a sum or an order statistic, zero included."""
    assert question.form is not None
    low = high = question.form.constant
    for column, times in question.form.terms:
        ends = (0, times * (schema.columns[column].points - 1))
        low, high = low + min(ends), high + max(ends)
    if question.statistic is Statistic.SQUARES:
        return 0, max(low * low, high * high)
    return min(low, 0), max(high, 0)
