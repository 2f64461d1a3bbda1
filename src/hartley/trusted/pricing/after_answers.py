"""What earlier answers make cheaper."""

from __future__ import annotations

from functools import reduce
from itertools import combinations, islice, pairwise, takewhile
from math import comb, isqrt, prod
from operator import itemgetter, or_
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from hartley.trusted.pricing.atoms import (
    Asked,
    Atom,
    PartedAtoms,
    bits_of,
    covering_ranges,
    direction_of,
    form_atoms,
)
from hartley.trusted.pricing.one_row import (
    NO_WINDOWS,
    Resolved,
    Windows,
    crossed_in,
    independent,
    price_part,
    prices_absence,
    silent_of,
    single,
)
from hartley.trusted.pricing.regions import (
    CellGrid,
    PublicParts,
    independent_groups,
    rank,
    regions,
    value_range,
)
from hartley.trusted.pricing.several_rows import (
    TypedAtom,
    everywhere,
    seen_by,
    sum_over_multisets,
)
from hartley.trusted.questions.batch import COUNT, ORDER, SQUARES, columns_named
from hartley.trusted.questions.condition import possible_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
    from fractions import Fraction

    from hartley.schema.schema import Schema
    from hartley.trusted.pricing.atoms import (
        Atoms,
        CodeRun,
        Direction,
        IntRange,
        PartStates,
        Surveyed,
    )
    from hartley.trusted.pricing.one_row import KnownType
    from hartley.trusted.questions.batch import Question
    from hartley.trusted.questions.condition import Conjunction


# --- told -----------------------------------------------------------------------------------------
# What was told before: the filters, sums and steps of earlier questions, ready for prices.
#
# Everything here is a function of the schema and of questions; no answer is ever looked at.

MOST_FILTERS = 24
"""Earlier filters that one group of questions is priced with."""
PRESENCE = frozenset({""})
"""Stands for the columns of a filter over no private column: it says who is present."""
MOST_STEPS = 4
"""Earlier steps of one statistic that are looked at, the finest."""


class EarlierAnswer(NamedTuple):
    """A question that was charged, with the private and the known columns that it touches."""

    question: Question
    row: int
    place: int
    """Its place among all questions; what is chosen depends on the order alone."""
    private: frozenset[str]
    known: frozenset[str]


class EarlierAnswers:
    """Questions that were charged before, about one version of the data under one schema."""

    memory: dict[object, int | None] | None = None
    """Keeps what rule N computed, for other orders of the same questions; None without others."""

    def __init__(self, schema: Schema, questions: Iterable[Question] = ()) -> None:
        """Begin with nothing told, or with some questions as one row each."""
        self.schema = schema
        self._steps: dict[tuple[object, ...], dict[Fraction, int]] = {}
        self._filters = EarlierByColumn()
        self._sums = EarlierByColumn()
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
        entry = EarlierAnswer(question, row, self._questions, private, names - private)
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

    def filters(self, private: frozenset[str], known: frozenset[str]) -> list[EarlierAnswer]:
        """Return the earlier filters that can say something about some columns, the best first."""
        # Where rows are private, a filter over no private column still says "present".
        columns = private | PRESENCE if self.schema.rows == "private" else private
        return self._filters.nearest(
            columns, lambda e: (len(e.private - private), len(e.known - known)), MOST_FILTERS
        )

    def sums(self, private: frozenset[str]) -> list[EarlierAnswer]:
        """Return the earlier sums over some columns, the finest of each form and filter."""
        return self._sums.nearest(private, lambda e: (len(e.private - private), 0), MOST_FILTERS)


class RecordedLookups(EarlierAnswers):
    """Earlier answers, recording which of them a price used.

    A price is a function of its questions and of what it looks up here. So it is the same after
    other rows exactly if these give the same.
    """

    def __init__(self, told: EarlierAnswers) -> None:
        """Record what is looked up in ``told``, which may not grow meanwhile."""
        self.schema, self._told = told.schema, told
        self._seen: list[tuple[str, tuple[Any, ...], object]] = []

    def _look(self, name: str, *of: Any) -> Any:  # noqa: ANN401 - what the method returns
        result = getattr(self._told, name)(*of)
        self._seen.append((name, of, _content(result)))
        return result

    def add(self, question: Question, row: int) -> None:
        """Refuse to add anything."""
        raise NotImplementedError

    def steps(self, question: Question) -> list[tuple[Fraction, int]]:
        """Look up the steps of a statistic."""
        steps: list[tuple[Fraction, int]] = self._look("steps", question)
        return steps

    def filters(self, private: frozenset[str], known: frozenset[str]) -> list[EarlierAnswer]:
        """Look up the filters near some columns."""
        filters: list[EarlierAnswer] = self._look("filters", private, known)
        return filters

    def sums(self, private: frozenset[str]) -> list[EarlierAnswer]:
        """Look up the sums near some columns."""
        sums: list[EarlierAnswer] = self._look("sums", private)
        return sums

    def same_as(self, other: EarlierAnswers) -> bool:
        """Whether all that was looked up would be the same after other rows."""
        return all(_content(getattr(other, name)(*of)) == seen for name, of, seen in self._seen)


def _content(result: Sequence[Any]) -> list[object]:
    """Return entries without their places among all questions: only their order matters."""
    return [(e.question, e.row) if isinstance(e, EarlierAnswer) else e for e in result]


class EarlierByColumn:
    """Earlier questions by the columns that they touch.

    Prices look for the few that are nearest to some columns. Questions over the same columns are
    equally near, so only sets of columns are compared, however many questions were told.
    """

    def __init__(self) -> None:
        self._entries: dict[object, EarlierAnswer] = {}
        self._alike: dict[tuple[frozenset[str], ...], dict[object, EarlierAnswer]] = {}
        """The entries of each set of columns, in the order of their places."""

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get(self, key: object) -> EarlierAnswer | None:
        """Return what was put under a key."""
        return self._entries.get(key)

    def put(self, key: object, entry: EarlierAnswer, columns: AbstractSet[str]) -> None:
        """Put an entry under a key, last of all; it is near where one of some columns is."""
        self._entries[key] = entry
        alike = self._alike.setdefault((frozenset(columns), entry.private, entry.known), {})
        alike.pop(key, None)  # a finer one takes its own place, behind those between them
        alike[key] = entry

    def nearest(
        self,
        columns: AbstractSet[str],
        distance: Callable[[EarlierAnswer], tuple[int, int]],
        most: int,
    ) -> list[EarlierAnswer]:
        """Return the entries nearest to some columns, the earlier first where they are as near.

        ``distance`` depends on the columns of an entry alone.
        """
        by_distance: dict[tuple[int, int], list[dict[object, EarlierAnswer]]] = {}
        for (own, _, _), alike in self._alike.items():
            if not own.isdisjoint(columns):
                first = next(iter(alike.values()))
                by_distance.setdefault(distance(first), []).append(alike)
        near: list[EarlierAnswer] = []
        for gap in sorted(by_distance):
            equal = [e for alike in by_distance[gap] for e in islice(alike.values(), most)]
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


# --- told counts ----------------------------------------------------------------------------------
# Several rows a person: what exact counts told before leave to pay (rule N of
# docs/accountant.md).
#
# An exact count tells how many of a person's rows satisfy its filter, everybody else fixed. A
# count that is a rational combination of such counts is known. Filters that are nested or
# disjoint cut the records into parts, each with a known number of rows.

MOST_VECTORS = 512
"""Ways to share a person's rows among parts; beyond, parts are not looked at."""
MOST_LISTED = 16_384
"""Multisets of atoms that are listed, over all ways together."""


def as_asked(question: Question, schema: Schema) -> Asked | None:
    """Return a question over all columns, whatever is known of them; None beyond a cap."""
    terms = possible_terms(question.where, question.form, schema.columns)
    if terms is None:
        return None
    form = question.form
    direction, scale = direction_of(form.terms) if form else ((), 1)
    constant = form.constant if form else 0
    return Asked(question.statistic, terms, direction, scale, (constant, constant))


def _atoms_of(questions: Iterable[Question], schema: Schema) -> Atoms | None:
    """Return the atoms of questions over all columns; None beyond a cap."""
    asked = []
    for question in questions:
        known = as_asked(question, schema)
        if known is None:
            return None
        asked.append(known)
    return form_atoms(tuple(asked), schema)


def known_counts(
    questions: Sequence[Question], counts: Sequence[Question], schema: Schema
) -> set[Question]:
    """Return the counts, exact or coarse, that earlier exact counts decide.

    The number of rows that satisfy a filter is linear in its indicator. So it is known where the
    indicator is a rational combination of the indicators of earlier counts, and of "present" where
    the number of a person's rows is public. Solved over the atoms, in fractions.
    """
    known: set[Question] = set()
    for question in questions:
        if question.statistic is not COUNT:
            continue
        if question.step > 1 and CellGrid.of(question).constant:
            continue  # one cell: no question
        atoms = _atoms_of((question, *counts), schema)
        if atoms is None:
            continue
        vectors = [
            tuple((str(place), 1) for place, atom in enumerate(atoms.atoms) if k in atom.alive)
            for k in range(1 + len(counts))
        ]
        if schema.rows == "public":
            vectors.append(tuple((str(place), 1) for place in range(len(atoms.atoms))))
        if rank(vectors[1:]) == rank(vectors):
            known.add(question)
    return known


def cells_in_parts(
    questions: Sequence[Question],
    counts: Sequence[Question],
    schema: Schema,
    memory: dict[object, int | None] | None = None,
) -> int | None:
    """Return the price of a batch where earlier counts fix the number of rows in parts.

    Only where every column is private. None where nothing is won or a cap is passed. ``memory``
    keeps the price for other orders of the counts in which the same ones are taken.
    """
    if any(column.kind != "private" for column in schema.columns.values()):
        return None
    total = 1
    for group, columns in independent_groups([(q, columns_named(q)) for q in questions]):
        near = [count for count in counts if not columns or columns_named(count) & columns]
        cells = _group(group, near, schema, {} if memory is None else memory)
        if cells is None:
            return None
        total *= cells
    return total


def _group(
    questions: Sequence[Question],
    counts: Sequence[Question],
    schema: Schema,
    memory: dict[object, int | None],
) -> int | None:
    atoms = _atoms_of((*questions, *counts), schema)
    if atoms is None:
        return None
    places = [
        frozenset(place for place, atom in enumerate(atoms.atoms) if k in atom.alive)
        for k in range(len(questions), len(questions) + len(counts))
    ]
    taken = laminar(places)
    of_taken = [count for count, atom_set in zip(counts, places, strict=True) if atom_set in taken]
    key = (tuple(questions), frozenset(counts), frozenset(of_taken))
    if key not in memory:
        memory[key] = _in_parts(questions, atoms, taken, schema)
    return memory[key]


def _in_parts(
    questions: Sequence[Question], atoms: Atoms, taken: Sequence[frozenset[int]], schema: Schema
) -> int | None:
    grids = [CellGrid.of(question) for question in questions]
    # The last part lies outside all filters; absent slots are there too.
    parts: dict[frozenset[int], list[TypedAtom]] = {frozenset(): []}
    for place, atom in enumerate(atoms.atoms):
        around = frozenset(k for k, members in enumerate(taken) if place in members)
        own = atom._replace(alive=tuple(k for k in atom.alive if k < len(questions)))
        kind = TypedAtom(str(place), atom.points, seen_by(own, atoms, range(len(questions))))
        parts.setdefault(around, []).append(kind)
    if schema.rows == "private":
        parts[frozenset()].append(TypedAtom("absent", 1, {}))
    kinds = [atoms_of_part for atoms_of_part in parts.values() if atoms_of_part]
    r = schema.rows_per_unit
    ways = comb(len(kinds) + r - 1, r)
    if ways > MOST_VECTORS:
        return None
    most = 1
    for amounts in _shares(len(kinds), r):
        outputs = sum_over_multisets(kinds, amounts, grids, max(MOST_LISTED // ways, 32))
        if outputs is None:
            return None
        most = max(most, outputs)
    return most


def laminar(sets: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Take sets in their order, each if it is nested in or disjoint from all that were taken.

    Parts of crossing filters have no known numbers of rows: of two rows, one in A and one in B are
    told apart from one in both and one in neither by no count of A and of B.
    """
    taken: list[frozenset[int]] = []
    for members in sets:
        if all(members <= other or other <= members or not members & other for other in taken):
            taken.append(members)
    return taken


def _shares(parts: int, rows: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to share rows among parts."""
    for bars in combinations(range(rows + parts - 1), parts - 1):
        edges = (-1, *bars, rows + parts - 1)
        yield tuple(after - before - 1 for before, after in pairwise(edges))


# --- told parts -----------------------------------------------------------------------------------
# One row a person: prices inside the parts that earlier filters leave (rules O and W).
#
# A *part* is a set of records of one type on which every earlier filter is constant. A question
# is priced in the part where it costs most (rule O), with forms that vary no further than the
# cell of an earlier sum allows (rule W). The proofs are in docs/accountant.md, section "What was
# told before".

MANY = 1 << 4096
"""More records than any part has."""
T = TypeVar("T")
_Bounds: TypeAlias = dict[object, int]
_Terms: TypeAlias = "tuple[Conjunction, ...]"
ALWAYS: _Terms = ((),)
"""The filter that every present record of a type passes."""


class _Window(NamedTuple):
    """An earlier sum: where its filter holds, its direction varies by no more than a length."""

    terms: _Terms
    direction: Direction
    length: int


class PartPricing:
    """Rules O and W for one batch, one row per person.

    Proved: proofs/Columns.v, columns_told, that a charge pays for the truth of its filters.
    """

    def __init__(self, questions: Sequence[Question], told: EarlierAnswers) -> None:
        self.schema = told.schema
        self.absent = prices_absence(self.schema)
        self.asked = list(questions)
        touched: frozenset[str] = frozenset().union(*map(columns_named, questions))
        private = frozenset(c for c in touched if self.schema.columns[c].kind == "private")
        self._filters = told.filters(private, touched - private)
        self._sums = told.sums(private)
        self.grids = [CellGrid.of(question) for question in questions]
        first: dict[CellGrid, int] = {}
        self._grid_names = [first.setdefault(grid, k) for k, grid in enumerate(self.grids)]
        self._priced: dict[object, tuple[int, tuple[int, int, int]]] = {}
        self._parted: dict[object, PartedAtoms] = {}
        self._bounds: dict[object, _Bounds] = {}
        self._alone: dict[object, int | None] = {}
        self._windows: dict[tuple[int, Asked], _Window | None] = {}
        self._resolved: tuple[tuple[int, int], Resolved | None] | None = None

    @property
    def rows(self) -> set[int]:
        """The rows that the price rests on."""
        return {entry.row for entry in (*self._filters, *self._sums)}

    @property
    def told_of(self) -> tuple[int, int]:
        """How many earlier filters and sums are looked at."""
        return len(self._filters), len(self._sums)

    def cells(self) -> int | None:
        """Return the price; None where the batch cannot be taken apart with what was told."""
        return self._fewer(self._largest)

    def by_public(self) -> PublicParts | None:
        """Return the price for every type of the public columns, or None as ``cells`` does."""
        return self._fewer(self._of_publics)

    def _fewer(self, compute: Callable[[], T | None]) -> T | None:
        while self._filters or self._sums:
            priced = compute()
            if priced is not None:
                return priced
            # Fewer earlier filters leave larger parts: still a bound. Half of them, so that a cap
            # is not run into again and again.
            dropped = self._filters or self._sums
            self._windows.clear()  # they are named by numbers that change
            del dropped[len(dropped) // 2 :]
        return None

    def _resolve(self) -> Resolved | None:
        told_of = self.told_of
        if self._resolved is None or self._resolved[0] != told_of:
            earlier = [entry.question for entry in (*self._filters, *self._sums)]
            questions = [*self.asked, *earlier]
            resolved = Resolved(questions, self.schema, silent_of(self.asked, self.grids))
            opaque = any(number < len(self.asked) for number in resolved.opaque)
            self._resolved = told_of, None if opaque else resolved
        return self._resolved[1]

    def _of_publics(self) -> PublicParts | None:
        resolved = self._resolve()
        if resolved is None:
            return None
        return resolved.by_public(
            lambda public: self._most(resolved, resolved.refine(public, ("open",)))
        )

    def _largest(self) -> int | None:
        resolved = self._resolve()
        if resolved is None:
            return None
        return self._most(resolved, resolved.refine(resolved.start(), ("public", "open")))

    def _most(self, resolved: Resolved, types: Sequence[KnownType] | None) -> int | None:
        """Return the price of the type that costs most."""
        if types is None:
            return None
        most = 1
        for known in types:
            cells = self._of_type(resolved.asked(known), most)
            if cells is None:
                return None
            most = max(most, cells)
        return most

    def _of_type(self, pairs: Sequence[tuple[int, Asked]], least: int = 0) -> int | None:
        """Price a type; the result is exact where it is above ``least``, what others cost."""
        own: list[tuple[int, Asked]] = []
        filters: list[Asked] = []
        sums: list[_Window] = []
        end = len(self.asked) + len(self._filters)
        for pair in pairs:
            number, asked = pair
            if number < len(self.asked):
                own.append(pair)
            elif number < end:
                filters.append(asked)
            else:
                if pair not in self._windows:
                    self._windows[pair] = self._window(self._sums[number - end].question, asked)
                if window := self._windows[pair]:
                    sums.append(window)
        # All parts, and those of the absent record, whom no filter counts: present alone, joined.
        anywhere = nowhere = joined = 1
        groups = independent(own)
        # The price of a lone group matters only above that of the types before.
        lone = least if len(groups) == 1 and not self.absent else 0
        for group in groups:
            prices = self._group(group, filters, sums, lone)
            if prices is None:
                return None
            anywhere, nowhere, joined = (
                anywhere * prices[0],
                nowhere * prices[1],
                joined * prices[2],
            )
        if not self.absent:
            return anywhere
        return max(anywhere, min(nowhere + 1, joined))

    def _group(
        self,
        group: Sequence[tuple[int, Asked]],
        filters: Sequence[Asked],
        sums: Sequence[_Window],
        least: int,
    ) -> tuple[int, int, int] | None:
        """Price a group in the part that costs most; in the part of nobody; there with absence."""
        columns = frozenset().union(*[asked.columns for _, asked in group])
        near = [f for f in filters if f.columns & columns or (self.absent and f.terms == ALWAYS)]
        near = list({f.terms: f for f in near if self.absent or f.terms != ALWAYS}.values())
        numbers = tuple(number for number, _ in group)
        questions = tuple(asked for _, asked in group)
        sums = _usable(sums, questions, near)
        # Types often differ in what makes no difference to a group.
        steps = tuple([self._grid_names[number] for number in numbers])
        key = (steps, questions, tuple(near), sums)
        above, known = self._priced.get(key, (0, None))
        # A price is exact where it exceeds what it was priced above, and is known to be no larger.
        if known is None or (above > least and known[0] <= above):
            known = self._parts(numbers, questions, near, sums, least)
            if known is not None:
                self._priced[key] = (least, known)
        return known

    def _parts(
        self,
        numbers: tuple[int, ...],
        questions: tuple[Asked, ...],
        filters: list[Asked],
        sums: Sequence[_Window],
        least: int,
    ) -> tuple[int, int, int] | None:
        presence = any(f.terms == ALWAYS for f in filters)
        everywhere = _windows(sums, {ALWAYS} if presence or not self.absent else set())
        steps = tuple([self._grid_names[number] for number in numbers])
        grids = [self.grids[number] for number in numbers]
        if (steps, questions) not in self._alone:
            atoms = form_atoms(questions, self.schema)
            alone = None if atoms is None else price_part(numbers, atoms, grids, absent=False)
            self._alone[steps, questions] = None if alone is None else alone.cells
        largest = self._alone[steps, questions]
        if largest is None:
            return None
        runs = list(covering_ranges((*questions, *filters), everywhere, self.schema))
        names = (questions, tuple(filters), tuple(runs[0]))
        parted = self._parted.get(names)
        if parted is None:
            parted = PartedAtoms(questions, filters, self.schema, runs[0])
            self._parted[names] = parted
        told_by = {terms for terms, _, _ in sums}
        pairs = zip(parted.filter_bits, filters, strict=True)
        deciding = [(bit, f.terms) for bit, f in pairs if f.terms in told_by]
        mattering = sum([bit for bit, _ in deciding])
        windows_of: dict[tuple[int, bool], Windows] = {}

        def windows(alive: int) -> Windows:
            there = not self.absent or alive > 0  # the record is there
            which = (alive & mattering, there)
            known = windows_of.get(which)
            if known is None:
                true = {terms for bit, terms in deciding if alive & bit}
                known = windows_of[which] = _windows(sums, true | {ALWAYS} if there else true)
            return known

        bounds = self._bounds.setdefault((steps, questions), {})
        search = _PartSearch(grids, parted, windows, bounds, absent=self.absent)
        # What was told never raises a price, so nothing is won once a part costs as much as the
        # group alone. Where some record may be absent, the part of nobody matters all the same.
        fits = search.runs(runs, least, largest)
        if search.most >= largest and not self.absent:
            return largest, largest, largest
        return (search.most, search.nowhere, max(search.joined, 1)) if fits else None

    def _window(self, told: Question, asked: Asked) -> _Window | None:
        """Return how far the form of an earlier sum can vary within its cell, where it counts.

        Proved: proofs/Grid.v, rule_W. Proved: proofs/Grid.v, rule_W_squares.
        """
        room = -(-told.step.numerator // told.step.denominator) - 1  # a cell's whole numbers
        if asked.statistic is SQUARES:
            # V^2 - U^2 >= (V - U)^2 only where V and U have one sign.
            if value_range(asked, everywhere(asked, self.schema))[0] < 0:
                return None
            room = isqrt(room)
        return _Window(asked.terms, asked.direction, room // abs(asked.scale))


def _windows(sums: Sequence[_Window], true: AbstractSet[_Terms]) -> Windows:
    """Return how far directions vary where some filters certainly hold."""
    lengths: dict[Direction, int] = {}
    for terms, direction, length in sums:
        if terms in true:
            lengths[direction] = min(lengths.get(direction, length), length)
    return Windows(lengths) if lengths else NO_WINDOWS


def _usable(
    sums: Sequence[_Window], questions: Sequence[Asked], filters: Sequence[Asked]
) -> tuple[_Window, ...]:
    """Return the windows that can narrow some form of some questions in some part.

    Those are windows of a form that is asked about, or of one column; where their filter is an
    earlier one, or always holds. Of equal filters and forms the shortest window is enough.
    """
    columns = {c for asked in questions for c in asked.columns}
    directions = {asked.direction for asked in questions}
    decided = {asked.terms for asked in filters} | {ALWAYS}
    shortest: dict[tuple[_Terms, Direction], int] = {}
    for terms, direction, length in sums:
        if terms in decided and (
            direction in directions or (len(direction) == 1 and direction[0][0] in columns)
        ):
            key = (terms, direction)
            shortest[key] = min(shortest.get(key, length), length)
    return tuple([_Window(*key, length) for key, length in sorted(shortest.items())])


class _PartSearch:
    """Looks for the part that costs most, and prices no part that cannot be it."""

    def __init__(
        self,
        grids: Sequence[CellGrid],
        parted: PartedAtoms,
        windows: Callable[[int], Windows],
        bounds: _Bounds,
        *,
        absent: bool,
    ) -> None:
        """Look for a part of some atoms; ``windows`` says what holds in a part."""
        self.grids, self._numbers = grids, range(len(grids))
        self.most = self.nowhere = self.joined = 0
        """The largest price of any part, as far as it is above what the search began with; that of
        the part of nobody, for present records; and there with an absent one."""
        self._parted, self._windows, self._absent = parted, windows, absent
        empty = parted.empty({})
        self._many = empty._replace(points=MANY, sizes=dict.fromkeys(empty.sizes, ((0, MANY),)))
        self._bounds = bounds

    def runs(self, runs: Sequence[Mapping[str, IntRange]], least: int, largest: int) -> bool:
        """Look for a part above ``least``, up to one that costs the largest price.

        Returns whether every run before that part has no more atoms than allowed.
        """
        self.most = min(least, largest - 1)
        surveyed = self._parted.survey()
        if surveyed is None:
            return all(self._whole_run(within, largest) for within in runs)
        within_cap = list(takewhile(self._parted.fits, runs))
        if len(within_cap) < len(runs):
            if self._absent:
                return False
            self.most = largest - 1  # no other part ends the search before the cap is passed
        elif least >= largest:
            return True
        for outputs, alive, states in self._ranked(surveyed):
            if outputs <= self.most or self._ends(largest):
                break
            bound = MANY if self._nobody(alive) else self._bound(states, self._windows(alive))
            for within in within_cap:
                if bound > self.most and not self._ends(largest):
                    self._look_within(within, alive, surveyed[alive])
        return len(within_cap) == len(runs)

    def _look_within(
        self, within: Mapping[str, IntRange], alive: int, held: Mapping[int, int]
    ) -> None:
        """Look at a part in a run, if it can cost more there than others."""
        windows, nobody = self._windows(alive), self._nobody(alive)
        states = self._parted.states(held, within)
        if nobody or self._bound(states, windows) > self.most:
            run = self._parted.run(within)
            if alive in run.parts:
                self._look(run.parts[alive], windows, run, nobody=nobody)

    def _ranked(self, surveyed: Surveyed) -> list[tuple[int, int, PartStates]]:
        """Return parts over all runs by a bound on their outputs, the largest first."""
        ranked = []
        for alive, held in surveyed.items():
            states = self._parted.states(held)
            outputs = MANY if self._nobody(alive) else self._outputs(states, self._windows(alive))
            ranked.append((outputs, alive, states))
        return sorted(ranked, key=itemgetter(0), reverse=True)

    def _whole_run(self, within: Mapping[str, IntRange], largest: int) -> bool:
        """Look at every part of a run, unless the search is over; whether it has few atoms."""
        if self._ends(largest):
            return True
        run = self._parted.run(within)
        for alive, states in run.parts.items():
            self._look(states, self._windows(alive), run, nobody=self._nobody(alive))
            if self._ends(largest):
                break
        return bool(run.parts)

    def _ends(self, largest: int) -> bool:
        return self.most >= largest and not self._absent

    def _nobody(self, alive: int) -> bool:
        """Whether a record of a part may be absent: no filter counts it."""
        return self._absent and not alive

    def _look(self, states: PartStates, windows: Windows, run: CodeRun, *, nobody: bool) -> None:
        """Look at a part of a run; in the part of ``nobody``, a record may be absent."""
        if not nobody and self._bound(states, windows) <= self.most:
            return
        members = tuple([Atom(bits_of(alive), *state) for alive, state in states.items()])
        codes = prod([windows.codes(column, size) for column, size in run.sizes.items()])
        points = min(codes, sum([atom.points for atom in members]))
        if points <= self.most and not nobody:
            return
        part = run.empty._replace(atoms=members, points=points)
        cells = price_part(self._numbers, part, self.grids, windows, absent=False).cells
        self.most = max(self.most, cells)
        if nobody:
            self.nowhere = max(self.nowhere, cells)
            joined = price_part(self._numbers, part, self.grids, windows, absent=True).cells
            self.joined = max(self.joined, joined)

    # A price only falls where there are fewer records, or narrower ranges of them. So what a part
    # would cost with any number of records, in ranges that hold its own, is a bound; many parts,
    # runs and types have it in common.

    def _bound(self, states: PartStates, windows: Windows) -> int:
        """Return a bound on the price of a part; no closer than it has to be below ``most``."""
        bound = self._outputs(states, windows)
        if bound > self.most:
            bound = min(bound, self._singles(states, windows))
        return bound if bound <= self.most else min(bound, self._price(states, windows))

    def _outputs(self, states: PartStates, windows: Windows) -> int:
        """Return the outputs of all atoms, added up: one of the bounds that a price is least of."""
        total = 0
        for alive, (_, ranges, _) in states.items():
            if not alive:
                total += 1
                continue
            key = (alive, ranges, windows.key)
            outputs = self._bounds.get(key)
            if outputs is None:
                atom = Atom(bits_of(alive), MANY, ranges, 0)
                crossed = crossed_in(atom, self._many, self.grids, windows)
                outputs = self._bounds[key] = regions(crossed) if crossed else 1
            total += outputs
        return total

    def _singles(self, states: PartStates, windows: Windows) -> int:
        """Return the product of the prices of the questions alone, another of these bounds."""
        product = 1
        for k in bits_of(reduce(or_, states, 0)):
            place = self._many.places[k]
            spans = [ranges[place] for alive, (_, ranges, _) in states.items() if alive >> k & 1]
            hull = (min([low for low, _ in spans]), max([high for _, high in spans]))
            outside = len(spans) < len(states)
            key = (k, hull, outside, windows.key)
            price = self._bounds.get(key)
            if price is None:
                inside = Atom((k,), MANY, (hull,) * len(self._many.directions), 0)
                listed = (inside, inside._replace(alive=()))[: 1 + outside]
                price = single(k, listed, self._many, self.grids[k], windows)
                self._bounds[key] = price
            product *= price
        return product

    def _price(self, states: PartStates, windows: Windows) -> int:
        """Return what a part would cost if its ranges held any number of records."""
        spans = tuple([(own, ranges if own else ()) for own, (_, ranges, _) in states.items()])
        key = (spans, windows.key)
        price = self._bounds.get(key)
        if price is None:
            atoms = tuple([Atom(bits_of(alive), MANY, ranges, 0) for alive, ranges in spans])
            part = self._many._replace(atoms=atoms)
            price = price_part(self._numbers, part, self.grids, windows, absent=False).cells
            self._bounds[key] = price
        return price
