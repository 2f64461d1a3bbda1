"""Prices for one row per person: how many vectors of answers one record can cause.

This implements the theorem (batch) of docs/accountant.md, section "One batch, one row per person":
the smallest of the points, the product of single prices, and the sum over families of atoms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod
from operator import itemgetter, or_
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from hartley.trusted.pricing.atoms import Asked, Atom, bits_of, classes, direction_of, segments
from hartley.trusted.pricing.regions import (
    PublicParts,
    crossings,
    crossings_of_hull,
    crossings_with_zero,
    independent_groups,
    regions,
)
from hartley.trusted.questions.batch import COUNT, ORDER, SQUARES, SUM
from hartley.trusted.questions.condition import possible_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from hartley.schema.schema import Schema
    from hartley.trusted.pricing.atoms import Atoms, CodeClass, Direction, IntRange
    from hartley.trusted.pricing.regions import CellGrid, Vector
    from hartley.trusted.questions.batch import Question, Statistic
    from hartley.trusted.questions.condition import Conjunction, Leaf


# --- one row --------------------------------------------------------------------------------------


class PartPrice(NamedTuple):
    """The bounds of questions that are priced together; the smallest counts."""

    questions: tuple[int, ...]
    columns: tuple[str, ...]
    points: int | None
    singles: int | None
    """The product of the prices of the questions alone; None if it is certainly not the least."""
    atoms: tuple[tuple[tuple[int, ...], int], ...] | None
    """Each atom as the places of the questions that count its records, and its outputs."""
    joint: int | None
    """The sum over atoms, less the outputs that atoms share."""
    coarse: int | None = None
    """Coarse counts of disjoint filters together, times the other questions."""

    @property
    def cells(self) -> int:
        """The smallest of the bounds."""
        bounds = (self.points, self.singles, self.joint, self.coarse)
        return min([bound for bound in bounds if bound is not None])


@dataclass(frozen=True, slots=True)
class Windows:
    """How far directions can still vary by what was answered before, everybody else fixed."""

    lengths: Mapping[Direction, int]
    key: frozenset[tuple[Direction, int]] = field(init=False, repr=False, compare=False)
    """What they are looked up by."""
    _of: dict[Direction, int | None] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        """Make the key once."""
        object.__setattr__(self, "key", frozenset(self.lengths.items()))

    def of(self, direction: Direction) -> int | None:
        """Return how far a direction can vary: by its own window, or by those of its columns."""
        if len(direction) == 1:
            return self.lengths.get(direction)
        if not self.lengths:
            return self._joint(direction)  # nothing is kept for ever
        if direction not in self._of:  # every atom of a part asks for it
            self._of[direction] = self._joint(direction)
        return self._of[direction]

    def _joint(self, direction: Direction) -> int | None:
        own = self.lengths.get(direction)
        columns = [(self.lengths.get(((column, 1),)), times) for column, times in direction]
        if any(length is None for length, _ in columns):
            return own
        together = sum([abs(times) * (length or 0) for length, times in columns])
        return together if own is None else min(own, together)

    def codes(self, column: str, size: int) -> int:
        """Return how many of some codes of a column remain possible, at most."""
        length = self.lengths.get(((column, 1),))
        return size if length is None else min(size, length + 1)


NO_WINDOWS = Windows(MappingProxyType({}))


def prices_absence(schema: Schema) -> bool:
    """Whether a price counts that the row may be absent."""
    opened = any(column.kind == "open" for column in schema.columns.values())
    # Where open columns were paid for, the number of rows was paid for with them: the factor of
    # private rows, C(m + r, r), counts how many of the r rows there are.
    return schema.rows == "private" and not opened


def silent_of(questions: Sequence[Question], grids: Sequence[CellGrid]) -> list[int]:
    """Return the places of questions with one answer at their steps."""
    # An order statistic of one cell still tells whether there are rows.
    pairs = enumerate(zip(questions, grids, strict=True))
    return [k for k, (q, grid) in pairs if grid.constant and q.statistic is not ORDER]


def price_part(  # noqa: PLR0913 - what a price rests on, each by name
    numbers: Sequence[int],
    atoms: Atoms,
    grids: Sequence[CellGrid],
    windows: Windows = NO_WINDOWS,
    *,
    absent: bool,
    whole: bool = False,
) -> PartPrice:
    """Price questions that share private columns, at one type of a row.

    ``absent`` means that the row may be absent; it adds a point that no question counts. ``whole``
    says that the atoms hold all records of the type, and that nothing was answered before: what
    a question costs alone is then worked out once.

    Proved: proofs/Families.v, price_bounds.
    """
    listed = atoms.atoms
    # The absent record counts for nothing, so it belongs to the atom whose records no question
    # counts. Without such an atom it is one of its own: two counts that share out all present
    # records have 2 outputs, and 3 with somebody who may be absent.
    if absent and all(atom.alive for atom in listed):
        listed = (*listed, Atom((), 1, ((0, 0),) * len(atoms.directions), 0))
    outputs = outputs_of(listed, atoms, grids, windows)
    joint = _shared(listed, outputs, atoms, grids, windows)
    singles = _product_of_singles(listed, atoms, grids, windows, joint, absent=absent, whole=whole)
    kinds = tuple([(atom.alive, amount) for atom, amount in zip(listed, outputs, strict=True)])
    return PartPrice(tuple(numbers), atoms.columns, atoms.points + absent, singles, kinds, joint)


def _product_of_singles(  # noqa: PLR0913 - what a price rests on, each by name
    listed: Sequence[Atom],
    atoms: Atoms,
    grids: Sequence[CellGrid],
    windows: Windows,
    limit: int,
    *,
    absent: bool,
    whole: bool,
) -> int | None:
    """Return the product of what the questions cost alone; None once it passes a limit."""
    product = 1
    for k, (question, grid) in enumerate(zip(atoms.asked, grids, strict=True)):
        if product > limit:
            return None
        if not whole or grid.lengths is not None:  # lengths are collected at every call
            product *= single(k, listed, atoms, grid, windows)
            continue
        # Over all records, the other questions make no difference: which records pass its filter,
        # the range of its form over them and their codes depend on its own columns alone.
        key = (grid.over, grid.under, grid.least, grid.most, grid.anchored, absent)
        if key not in question.alone:
            question.alone[key] = single(k, listed, atoms, grid)
        product *= question.alone[key]
    return product


def signature_of(atoms: Atoms) -> object:
    """Return all that ``price_part`` looks at, for any steps, where nothing was answered before.

    Columns are numbered: a price does not depend on their names.
    """
    numbers = {column: number for number, column in enumerate(atoms.sizes)}
    listed, total = [], 0
    for alive, points, ranges, held in atoms.atoms:
        # No question is crossed more often than its direction has gaps, so an atom has no more
        # outputs than this, and further records make no difference.
        spans = [ranges[place] for place in {atoms.places[k] for k in alive}]
        most = prod([1 + len(alive) * (high - low) for low, high in spans])
        listed.append((alive, min(points, most), ranges if alive else (), held))
        total += most
    asked = [
        (q.statistic, tuple([(numbers[c], times) for c, times in q.direction]), q.scale, q.shift)
        for q in atoms.asked
    ]
    sizes = [tuple(parts) for parts in atoms.sizes.values()]
    return tuple(asked), tuple(listed), min(atoms.points, total), tuple(sizes)


def outputs_of(
    listed: Sequence[Atom], atoms: Atoms, grids: Sequence[CellGrid], windows: Windows = NO_WINDOWS
) -> list[int]:
    """Return a bound on how many vectors of answers the records of each atom cause (F_a).

    Most atoms share the ranges of most directions, so what crosses a range is counted once.

    Proved: proofs/Atom.v, atom_outputs.
    """

    def narrowed(column: str, held: int) -> int:
        return windows.codes(column, atoms.size(column, held))

    directions, places = atoms.directions, atoms.places
    size = narrowed if windows.lengths else atoms.size
    # What a count or a form without private columns adds is the same in all of an atom.
    moving: dict[int, tuple[int, Asked, CellGrid, int | None, dict[IntRange, int]]] = {
        k: (places[k], q, grid, windows.of(q.direction) if windows.lengths else None, {})
        for k, (q, grid) in enumerate(zip(atoms.asked, grids, strict=True))
        if q.direction and q.statistic is not COUNT
    }
    outputs = []
    for alive, records, ranges, held in listed:
        crossed: dict[int, int] = {}
        for k in alive:
            if k in moving:
                place, question, grid, window, known = moving[k]
                span = ranges[place]
                if span in known:
                    amount = known[span]
                else:
                    amount = known[span] = crossings(question, span, grid, window)
                if amount:
                    crossed[place] = crossed.get(place, 0) + amount
        if not crossed:
            outputs.append(1)
        elif len(crossed) == 1:  # parallel boundaries
            ((place, amount),) = crossed.items()
            points = prod([size(column, held) for column, _ in directions[place]])
            outputs.append(min(records, 1 + amount, points))
        else:
            vectors: dict[Vector, int] = {directions[at]: crossed[at] for at in crossed}
            outputs.append(min(records, regions(vectors, size, held)))
    return outputs


def crossed_in(
    atom: Atom, atoms: Atoms, grids: Sequence[CellGrid], windows: Windows
) -> dict[Vector, int]:
    """Return how many boundaries cut the records of one atom, by direction."""
    # Parallel directions are added first: their hyperplanes never meet.
    crossed: dict[Vector, int] = {}
    asked, places, ranges, narrowed = atoms.asked, atoms.places, atom.ranges, windows.lengths
    for k in atom.alive:
        question = asked[k]
        direction = question.direction
        if not direction:
            continue
        window = windows.of(direction) if narrowed else None
        if amount := crossings(question, ranges[places[k]], grids[k], window):
            crossed[direction] = crossed.get(direction, 0) + amount
    return crossed


def single(
    k: int,
    listed: Sequence[Atom],
    atoms: Atoms,
    grid: CellGrid,
    windows: Windows = NO_WINDOWS,
) -> int:
    """Return the price of one question of the batch alone: inside, outside, and their hull."""
    question = atoms.asked[k]
    inside = [atom for atom in listed if k in atom.alive]
    order = question.statistic is ORDER
    # An order statistic of one cell still tells whether any row passed its filter.
    if not inside or (grid.constant and not order):
        return 1
    outside = len(inside) < len(listed)
    if question.statistic is COUNT:
        return 1 + outside
    # Alone, the question does not tell its atoms apart, so their hull is one range.
    span = _hull(k, inside, atoms)
    held = reduce(or_, [atom.held for atom in inside])
    sizes = [(column, atoms.size(column, held)) for column, _ in question.direction]
    points = prod([windows.codes(column, size) for column, size in sizes])
    window = windows.of(question.direction)
    within = min(points, 1 + crossings(question, span, grid, window))
    if order or (question.statistic is SUM and not outside):
        return within + outside
    # A record outside adds 0: "for a lone filtered sum it is 1 + ceil(H/w)".
    return min(within + outside, 1 + crossings_of_hull(question, span, grid))


def _hull(k: int, inside: Sequence[Atom], atoms: Atoms) -> IntRange:
    """Return the range of a question's direction over some atoms."""
    place = atoms.places[k]
    spans = [atom.ranges[place] for atom in inside]
    return min([low for low, _ in spans]), max([high for _, high in spans])


def _shared(
    listed: Sequence[Atom],
    outputs: Sequence[int],
    atoms: Atoms,
    grids: Sequence[CellGrid],
    windows: Windows,
) -> int:
    """Add up the outputs of atoms, less those that atoms share.

    Atoms in which the same counts and order statistics hold differ in sums alone, and a record that
    adds nothing to any sum would be common to all of them. Counting it once and, for every atom,
    only what lies beyond it gives a second bound. The smaller one counts. This is the paragraph
    *Atoms together*.
    """
    separating, orders = set(), set()
    for k, (question, grid) in enumerate(zip(atoms.asked, grids, strict=True)):
        if question.statistic is ORDER:
            separating.add(k)
            orders.add(k)
        elif question.statistic is COUNT and not grid.constant:
            separating.add(k)
    families: dict[tuple[int, ...], list[int]] = {}
    for place, atom in enumerate(listed):
        families.setdefault(tuple([k for k in atom[0] if k in separating]), []).append(place)
    total = 0
    for family, places in families.items():
        if len(places) == 1:
            total += outputs[places[0]]
            continue
        family_outputs = sum([outputs[place] for place in places])
        members = [listed[place] for place in places]
        # Atoms share an output only if every order statistic stays in one cell. For a largest value
        # together with a sum to which neither of two atoms adds anything, there are 2 outputs.
        if orders.isdisjoint(family) or _orders_agree(family, members, atoms, grids, windows):
            beyond = [_beyond_zero(listed[p], atoms, grids, outputs[p]) for p in places]
            family_outputs = min(family_outputs, 1 + sum(beyond))
        total += family_outputs
    return total


def _orders_agree(
    family: Sequence[int],
    members: Sequence[Atom],
    atoms: Atoms,
    grids: Sequence[CellGrid],
    windows: Windows,
) -> bool:
    """Whether every order statistic has the same cell for all records of the atoms."""
    return not any(
        atoms.asked[k].statistic is ORDER
        and crossings(
            atoms.asked[k],
            _hull(k, members, atoms),
            grids[k],
            windows.of(atoms.asked[k].direction),
        )
        for k in family
    )


def _beyond_zero(atom: Atom, atoms: Atoms, grids: Sequence[CellGrid], outputs: int) -> int:
    """Return a bound on the outputs that an atom adds to the output of adding nothing.

    Relative to that output every form starts at zero, in a space with one more dimension if no
    record makes all forms zero.
    """
    sums = []
    for k in atom.alive:
        question = atoms.asked[k]
        if question.statistic in (SUM, SQUARES) and not grids[k].constant:
            sums.append((question, atom.ranges[atoms.places[k]], grids[k]))
    if not sums:
        return 0
    if len(sums) == 1:
        return min(crossings_of_hull(*sums[0]), outputs)  # one form: boundaries on a line
    crossed: dict[Vector, int] = {}
    for question, span, grid in sums:
        if question.shift[0] != question.shift[1]:
            return outputs  # the constant is not one number, so it is no coordinate
        if amount := crossings_with_zero(question, span, grid):
            vector = _lifted(question)
            crossed[vector] = crossed.get(vector, 0) + amount
    return min(regions(crossed) - 1, outputs)


def _lifted(question: Asked) -> Vector:
    """Return the direction of a form with its constant as one more coordinate."""
    if not question.direction:
        return (("", 1),)
    if not question.shift[0]:
        return question.direction
    return (*question.direction, ("", Fraction(question.shift[0], question.scale)))


# --- known types ----------------------------------------------------------------------------------
# A batch by what is known of a record: the types of the public and open columns.
#
# "Everything below is for one type, and the price is the maximum over types" (docs/accountant.md,
# "One batch, one row per person"). Here questions are taken apart into what they ask of known and
# of private columns; the maximum itself is in ``worst_case``.

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
            parts, moved = self._parts(column, apart=apart), self._moved(column)
            refined: dict[tuple[int, tuple[IntRange, ...] | None], KnownType] = {}
            for state in states.values():
                for own, low, high, _ in parts:
                    mask, shifts = _narrowed(state, own, moved, low, high)
                    key = (mask, shifts if apart else None)
                    old = refined.get(key)
                    if old is not None:
                        pairs = zip(old.shifts, shifts, strict=True)
                        shifts = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in pairs)
                    refined[key] = KnownType(mask, shifts)
                if len(refined) > MOST_STATES:
                    return None
            states = refined
        return list(states.values())

    def by_public(self, price: Callable[[KnownType], int | None]) -> PublicParts | None:
        """Return the price of every type of the public columns; None if one is None or too many.

        Each used column is cut into runs of codes that all filters treat alike.
        """
        listed, several = [], 1
        for column in sorted(self._used(("public",))):
            runs = self._runs(column)
            several *= len(runs)
            if several > MOST_PUBLIC:
                return None
            listed.append((column, runs))
        moves = [self._moved(column) for column, _ in listed]
        cells: dict[KnownType, int] = {}
        by_type = []
        for chosen in product(*[runs for _, runs in listed]):
            known = self.start()
            for (_, possible, low, high), moved in zip(chosen, moves, strict=True):
                known = _narrowed(known, possible, moved, low, high)
            if known not in cells:
                priced = price(known)
                if priced is None:
                    return None
                cells[known] = priced
            by_type.append(cells[known])
        cuts = tuple([(name, tuple([run[0] for run in runs])) for name, runs in listed])
        return PublicParts.of(cuts, tuple(by_type))

    def _runs(self, column: str) -> list[tuple[int, int, int, int]]:
        """Cut a column into runs: the first code of each, its terms, and the range of its codes."""
        described, asking = self.schema.columns[column], self._asking.get(column, {})
        cut, missing = segments(described, asking, self.start().mask & ~sum(asking.values()))
        runs = [(first, mask, first, last) for first, last, mask in cut]
        if missing is not None:  # it has no code, and no form sums it
            runs.append((described.points, missing, 0, 0))
        return runs

    def _moved(self, column: str) -> list[tuple[int, int]]:
        """Return the known forms that a column moves, each with its factor."""
        return [(k, t) for k, d in enumerate(self._known_forms) for c, t in d if c == column]

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


def _narrowed(
    known: KnownType, possible: int, moved: Sequence[tuple[int, int]], low: int, high: int
) -> KnownType:
    """Return the part of a type whose code of one more column lies in a range."""
    shifts = list(known.shifts)
    for k, times in moved:
        ends = (times * low, times * high)
        shifts[k] = (shifts[k][0] + min(ends), shifts[k][1] + max(ends))
    return KnownType(known.mask & possible, tuple(shifts))


def independent(asked: Sequence[tuple[int, Asked]]) -> list[list[tuple[int, Asked]]]:
    """Split questions into groups that share no private column.

    They are functions of independent coordinates, so their prices multiply.
    """
    return [group for group, _ in independent_groups([(pair, pair[1].columns) for pair in asked])]
