"""The atoms of a batch: the kinds of records that no question of the batch distinguishes.

No domain is ever enumerated. The tests on a column cut it into classes; classes of columns are
multiplied one column at a time, and records that all questions treat alike are merged at once.

Atoms are defined in docs/accountant.md, section "One batch, one row per person". A missing value
is a point like any other: COUNT of v = 1 and COUNT of v = 0 have 3 outputs if v may be missing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import gcd
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from hartley.schema.schema import Column, Schema
    from hartley.trusted.pricing.one_row import Windows
    from hartley.trusted.questions.batch import Statistic
    from hartley.trusted.questions.condition import Conjunction, Leaf


# --- atoms ----------------------------------------------------------------------------------------


MOST_ATOMS = (256, 4)
"""Beyond this many kinds of records, plus 4 for every term of a filter, parts are priced alone."""


def most_atoms(terms: int) -> int:
    """Return how many kinds of records are told apart for a number of terms of filters."""
    return MOST_ATOMS[0] + MOST_ATOMS[1] * terms  # "Caps" in docs/accountant.md


Direction: TypeAlias = tuple[tuple[str, int], ...]
"""A linear form without constant and common factor; its first coefficient is positive."""
IntRange: TypeAlias = tuple[int, int]
NOWHERE: Mapping[str, IntRange] = MappingProxyType({})
"""No column is cut down to a range."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The part of a question that remains when the public and open columns are known."""

    statistic: Statistic
    terms: tuple[Conjunction, ...]
    """The filter over private columns: one of these holds; the empty one always does."""
    direction: Direction
    scale: int
    """The form is scale times its direction, plus the shift."""
    shift: IntRange
    """The range of the constant part; one number unless known columns vary."""
    filtered: frozenset[str] = field(init=False, repr=False, compare=False)
    """The private columns of the filter."""
    columns: frozenset[str] = field(init=False, repr=False, compare=False)
    """All private columns that it touches."""
    alone: dict[object, int] = field(init=False, repr=False, compare=False, default_factory=dict)
    """What it costs alone, by its cells and whether the row may be absent."""
    hashed: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Collect the columns and the hash once, since groups of them are formed often."""
        filtered = frozenset([c for term in self.terms for c, _ in term])
        hashed = hash((self.statistic, self.terms, self.direction, self.scale, self.shift))
        object.__setattr__(self, "filtered", filtered)
        object.__setattr__(self, "columns", filtered.union([c for c, _ in self.direction]))
        object.__setattr__(self, "hashed", hashed)

    def __hash__(self) -> int:
        return self.hashed


class Atom(NamedTuple):
    """The records that make the same questions count them."""

    alive: tuple[int, ...]
    """Those questions."""
    points: int
    """How many records, over the private columns that the batch touches."""
    ranges: tuple[IntRange, ...]
    """The range of each direction."""
    held: int
    """The classes of the columns of forms that occur, as bits."""


class Atoms(NamedTuple):
    """All atoms of some questions, and what their columns are cut into."""

    asked: tuple[Asked, ...]
    columns: tuple[str, ...]
    points: int
    atoms: tuple[Atom, ...]
    directions: tuple[Direction, ...]
    sizes: Mapping[str, Sequence[tuple[int, int]]]
    """Of each column of a form its classes, as bits, and how many codes each holds."""
    places: tuple[int, ...]
    """The direction of each question."""

    def size(self, column: str, held: int) -> int:
        """Return how many codes of a column some classes have."""
        sizes = self.sizes[column]
        if len(sizes) == 1:  # a column that no test cuts
            return sizes[0][1]
        return sum([size for bit, size in sizes if held & bit])


CodeClass: TypeAlias = tuple[int, int, int, int]
"""Codes of a column that every test treats alike: the terms that they leave possible, as bits, the
least and the largest code, and how many there are, including a missing value."""


@lru_cache(maxsize=4096)
def direction_of(terms: Direction) -> tuple[Direction, int]:
    """Split a linear form into its direction and the factor of that direction.

    Example:
        >>> direction_of((("a", -2), ("b", 4)))
        ((('a', 1), ('b', -2)), -2)
    """
    if not terms:
        return (), 1
    scale = gcd(*(times for _, times in terms)) * (1 if terms[0][1] > 0 else -1)
    return tuple((column, times // scale) for column, times in terms), scale


Segment: TypeAlias = tuple[int, int, int]
"""Neighbouring codes of a column that every test treats alike: the first, the last, and the terms
that they leave possible, as bits."""


def segments(
    column: Column, leaves: Mapping[Leaf, int], free: int
) -> tuple[list[Segment], int | None]:
    """Cut a column at the thresholds of tests; the second is the mask of a missing value, if any.

    ``leaves`` names the terms (as bits) that ask for each leaf, ``free`` those that do not ask.
    """
    # A sweep over the thresholds. A term asks for one leaf of the column, and the ranges of a leaf
    # are disjoint: XOR turns its bit on where a range begins and off behind its end.
    end = column.points
    flips = {0: 0, end: 0}
    missing = free
    for (codes, null), mask in leaves.items():
        if null:
            missing |= mask
        for low, high in codes:
            if low < end:
                after = high + 1 if high < end else end
                flips[low] = flips.get(low, 0) ^ mask
                flips[after] = flips.get(after, 0) ^ mask
    start, *ends = sorted(flips)
    mask, cut = free ^ flips[start], []
    for after in ends:
        cut.append((start, after - 1, mask))
        start, mask = after, mask ^ flips[after]
    return cut, missing if column.nullable else None


def merge(
    cut: Iterable[Segment], missing: int | None, within: IntRange | None = None
) -> list[CodeClass]:
    """Merge segments that pass the same tests into classes.

    ``within`` leaves out all codes outside a range, and a missing value.
    """
    if within is not None:
        first, last = within
        cut = [
            (max(low, first), min(high, last), mask)
            for low, high, mask in cut
            if low <= last and high >= first
        ]
    by_mask: dict[int, CodeClass] = {}
    for low, high, mask in cut:
        size = high - low + 1
        if mask in by_mask:
            _, least, _, before = by_mask[mask]
            by_mask[mask] = (mask, least, high, before + size)
        else:
            by_mask[mask] = (mask, low, high, size)
    if missing is not None and within is None:
        # A missing value has no code. The range (0, 0) of a class of its own is never summed: no
        # question counts a row without the columns of its form (``possible_terms`` sees to it).
        _, low, high, size = by_mask.get(missing, (missing, 0, 0, 0))
        by_mask[missing] = (missing, low, high, size + 1)
    return list(by_mask.values())


def classes(
    column: Column, leaves: Mapping[Leaf, int], free: int, within: IntRange | None = None
) -> list[CodeClass]:
    """Cut a column into classes of codes that pass the same tests.

    ``leaves`` names the terms (as bits) that ask for each leaf, ``free`` those that do not ask;
    ``within`` leaves out all codes outside a range, and a missing value. Grows with the number of
    thresholds, not with the number of codes.

    Example:
        >>> from hartley.schema.schema import Column
        >>> sex = Column("sex", "private", ("F", "M"), nullable=True)
        >>> [(mask, size) for mask, _, _, size in classes(sex, {(((0, 0),), False): 1}, 0)]
        [(1, 1), (0, 2)]
    """
    return merge(*segments(column, leaves, free), within)


AtomState: TypeAlias = tuple[int, tuple[IntRange, ...], int]
"""Points, the range of every direction, and the classes held."""


def form_atoms(
    asked: tuple[Asked, ...], schema: Schema, within: Mapping[str, IntRange] = NOWHERE
) -> Atoms | None:
    """Form the atoms of some questions; None if there are more than MOST_ATOMS.

    Every atom comes with its number of points and the exact range of every direction over it.
    ``within`` leaves out the records whose code of a column lies outside a range. Grows with the
    number of atoms times the classes of a column.
    """
    leaves, owners = leaves_of(asked)
    parts = _cut(leaves, len(owners), schema, within)
    if parts is None:
        return None
    directions: dict[Direction, int] = {}
    places = tuple([directions.setdefault(q.direction, len(directions)) for q in asked])
    moved = moved_by(directions)
    # A state is a set of records with one fate: which terms of all filters they leave possible.
    full = (1 << len(owners)) - 1
    alone = [column for column in moved if column not in leaves]
    # Columns of forms alone never split a state, so they come first and cost least.
    states, sizes, bit = start(full, alone, len(directions), moved, schema)
    points = next(iter(states.values()))[0]
    for column, own in parts.items():
        shifted = moved.get(column, ())
        if shifted:
            sizes[column] = [(bit << k, size) for k, (_, _, _, size) in enumerate(own)]
        states = multiply(states, own, shifted, bit)
        bit <<= len(own)
        points *= schema.columns[column].size
    atoms = _gather(owners, states, len(asked))
    return Atoms(asked, (*parts, *alone), points, atoms, tuple(directions), sizes, places)


def moved_by(directions: Iterable[Direction]) -> dict[str, list[tuple[int, int]]]:
    """Return, by column, the places of the directions that it moves, and how many times."""
    moved: dict[str, list[tuple[int, int]]] = {}
    for place, direction in enumerate(directions):
        for column, times in direction:
            moved.setdefault(column, []).append((place, times))
    return moved


def start(
    full: int,
    alone: Iterable[str],
    directions: int,
    moved: Mapping[str, Sequence[tuple[int, int]]],
    schema: Schema,
) -> tuple[dict[int, AtomState], dict[str, list[tuple[int, int]]], int]:
    """Return the one state before any test, over the columns that no test names.

    With it come the sizes of these columns, a class each, and the next free bit for a class.
    """
    points, bit, sizes = 1, 1, {}
    spans = [(0, 0)] * directions
    for column in alone:
        described = schema.columns[column]
        points *= described.size
        sizes[column] = [(bit, described.size)]
        bit <<= 1
        for place, times in moved.get(column, ()):
            low, high = spans[place]
            end = times * (described.points - 1)
            spans[place] = (low + end, high) if end < 0 else (low, high + end)
    return {full: (points, tuple(spans), bit - 1)}, sizes, bit


def leaves_of(asked: Sequence[Asked]) -> tuple[dict[str, dict[Leaf, int]], list[int]]:
    """Return, by column and leaf, the terms that ask for it; and whose terms they are."""
    leaves: dict[str, dict[Leaf, int]] = {}
    owners: list[int] = []
    bit = 1
    for number, question in enumerate(asked):
        for term in question.terms:
            owners.append(number)
            for column, leaf in term:
                if column not in leaves:
                    leaves[column] = {}
                asking = leaves[column]
                asking[leaf] = asking.get(leaf, 0) | bit
            bit <<= 1
    return leaves, owners


def _cut(
    leaves: Mapping[str, Mapping[Leaf, int]],
    terms: int,
    schema: Schema,
    within: Mapping[str, IntRange],
) -> dict[str, list[CodeClass]] | None:
    """Cut columns into classes; None if they would lead to more states than allowed."""
    full = (1 << terms) - 1
    most = most_atoms(terms)
    classes_of, largest = {}, 1
    for column, asking in leaves.items():
        free = full & ~sum(asking.values())
        parts = classes(schema.columns[column], asking, free, within.get(column))
        classes_of[column] = parts
        largest *= len(parts)
    if largest > most:
        masks = {full}  # fast without ranges
        for parts in classes_of.values():
            masks = {mask & own for mask in masks for own, _, _, _ in parts}
            if len(masks) > most:
                return None
    return classes_of


def multiply(
    states: dict[int, AtomState],
    parts: Sequence[CodeClass],
    moved: Sequence[tuple[int, int]],
    bit: int,
) -> dict[int, AtomState]:
    """Multiply states by the classes of one more column, and merge those with equal fates."""
    by_fate: dict[int, AtomState] = {}
    for mask, (points, ranges, held) in states.items():
        spans, holds, class_bit = ranges, held, bit
        for own, least, most, size in parts:
            if moved:
                wider = list(ranges)
                for k, times in moved:
                    low, high = wider[k]
                    near, far = (least, most) if times > 0 else (most, least)
                    wider[k] = (low + times * near, high + times * far)
                spans, holds = tuple(wider), held | class_bit
                class_bit <<= 1
            new = (points * size, spans, holds)
            fate = mask & own
            by_fate[fate] = union(by_fate[fate], new) if fate in by_fate else new
    return by_fate


def union(first: AtomState, second: AtomState) -> AtomState:
    """Return the union of two sets of records; they are disjoint, so their points add up."""
    ranges = first[1]
    if ranges != second[1]:
        pairs = zip(ranges, second[1], strict=True)
        ranges = tuple([(min(a, c), max(b, d)) for (a, b), (c, d) in pairs])
    return first[0] + second[0], ranges, first[2] | second[2]


def _gather(owners: Sequence[int], states: dict[int, AtomState], asked: int) -> tuple[Atom, ...]:
    """Turn states of terms into atoms of questions: one term that holds is enough for a filter."""
    if owners == list(range(asked)):
        # One term each: a term stands for its question.
        new = tuple.__new__  # what Atom(...) calls: a price forms many
        return tuple([new(Atom, (bits_of(mask), *state)) for mask, state in states.items()])
    by_questions: dict[tuple[int, ...], AtomState] = {}
    for mask, state in states.items():
        key = tuple(dict.fromkeys([owners[place] for place in bits_of(mask)]))
        by_questions[key] = union(by_questions[key], state) if key in by_questions else state
    return tuple([Atom(alive, *state) for alive, state in by_questions.items()])


@lru_cache(maxsize=4096)
def bits_of(mask: int) -> tuple[int, ...]:
    """Return the places of the bits that are set, the lowest first."""
    places = []
    while mask:
        lowest = mask & -mask
        places.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(places)


# --- parted atoms ---------------------------------------------------------------------------------
# The atoms of a batch, sorted by the part that earlier filters leave them in.
#
# A price after what was told looks at the same questions and filters in many runs of codes. Here
# the columns are cut once for all runs, and what runs have in common is multiplied once.

PartStates: TypeAlias = "dict[int, AtomState]"
"""The records of a part by the questions that count them, as bits."""
Surveyed: TypeAlias = dict[int, dict[int, int]]
"""By part and by the questions that count records, as bits, the segments of columns they hold."""

MOST_RUNS = 32
"""Combinations of runs of classes that one group of questions is priced in."""
WIDEST = 4
"""States common to all runs are multiplied first, up to this many times the cap on atoms."""


class _ColumnCut(NamedTuple):
    """A column cut by tests, and what a range of its codes leaves of it."""

    cut: Sequence[Segment]
    missing: int | None
    several: int
    """The terms that ask for more than one column."""
    by_range: dict[IntRange | None, tuple[list[CodeClass], int]]

    def of(self, within: IntRange | None) -> tuple[list[CodeClass], int]:
        """Return the classes, and how many of them terms over this column alone tell apart."""
        known = self.by_range.get(within)
        if known is None:
            parts = merge(self.cut, self.missing, within)
            apart = len({mask & ~self.several for mask, _, _, _ in parts})
            known = self.by_range[within] = (parts, apart)
        return known


class CodeRun(NamedTuple):
    """Ranges of columns that are looked at alone."""

    empty: Atoms
    """What columns are cut into, without an atom."""
    sizes: Mapping[str, int]
    """How many codes the columns that are asked about have."""
    parts: Mapping[int, PartStates]
    """Its parts; none if it has more atoms than allowed."""


class PartedAtoms:
    """Questions and earlier filters over all records of a type, or over runs of some columns.

    ``within`` gives for every run the atoms of ``form_atoms`` over questions and filters together,
    each in the part of the filters that count its records. It is None exactly where ``form_atoms``
    is: the caps are those of that function, in the same order of columns.
    """

    def __init__(
        self,
        questions: tuple[Asked, ...],
        filters: Sequence[Asked],
        schema: Schema,
        varied: Collection[str] = (),
    ) -> None:
        """Cut all columns once; ``varied`` names those that runs cut down."""
        asked = (*questions, *filters)
        leaves, owners = leaves_of(asked)
        self._full = (1 << len(owners)) - 1
        self._most = most_atoms(len(owners))
        masks = {column: sum(asking.values()) for column, asking in leaves.items()}
        several = once = 0
        for mask in masks.values():
            several, once = several | once & mask, once | mask
        self._cuts = {
            column: _ColumnCut(
                *segments(schema.columns[column], asking, self._full & ~masks[column]), several, {}
            )
            for column, asking in leaves.items()
        }
        # The columns of all forms are multiplied, but only forms of questions are measured:
        # filters count, whatever their form is.
        self._places = {d: k for k, d in enumerate(dict.fromkeys([q.direction for q in questions]))}
        self._moved = moved_by(self._places)
        alone = dict.fromkeys([c for q in asked for c, _ in q.direction if c not in leaves])
        self._start, self._sizes, bit = start(
            self._full, alone, len(self._places), self._moved, schema
        )
        self._bits: dict[str, int] = {}
        for column, cut in self._cuts.items():
            if column in self._moved:
                self._bits[column] = bit
                bit <<= len(cut.cut) + 1
        self._asked = questions
        terms = [0] * len(asked)
        for place, owner in enumerate(owners):
            terms[owner] |= 1 << place
        firsts = [own & -own for own in terms]
        self._firsts = sum(firsts)
        self._further = [
            (k, sum([first for own, first in zip(terms, firsts, strict=True) if own & first << k]))
            for k in range(1, max([own.bit_count() for own in terms]))
        ]
        """Of questions and filters of more than k terms, the first one."""
        self._own = sum(terms[: len(questions)])
        self._numbers = {first: 1 << k for k, first in enumerate(firsts[: len(questions)])}
        self.filter_bits = [first >> self._own.bit_length() for first in firsts[len(questions) :]]
        """The bit that says in the name of a part that a filter holds there."""
        self._varied = [c for c in leaves if c in varied]
        self._order = [c for c in leaves if c not in varied] + self._varied
        self._shifts: dict[str, int] = {}
        """Where the bits of the segments of a column begin, in what a survey saw."""
        shift = 0
        for column in dict.fromkeys([*self._bits, *self._varied]):
            self._shifts[column] = shift
            shift += len(self._cuts[column].cut)
        self._crowded: list[tuple[list[str], list[tuple[int, int]]]] = []
        self._listed: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        self._spans: dict[int, tuple[IntRange, ...]] = {}
        self._surveyed: tuple[Surveyed | None] | None = None
        self._runs: dict[object, int] = {}
        self._code_runs: dict[object, CodeRun] = {}
        columns = frozenset().union(*[asked.columns for asked in questions])
        self._asked_sizes = {column: schema.columns[column].size for column in columns}
        self._states: dict[tuple[IntRange | None, ...], dict[int, AtomState]] = {}
        self._masks: dict[tuple[IntRange | None, ...], set[int] | None] = {}
        self._fates: dict[int, tuple[int, int]] = {}

    def within(self, ranges: Mapping[str, IntRange]) -> dict[int, PartStates] | None:
        """Return the parts of a run, each by the bits of the filters that hold there.

        None if there are more atoms than allowed.
        """
        states = self._multiplied(ranges)
        if states is None:
            return None
        parts: dict[int, PartStates] = {}
        fates = self._fates
        for mask, state in states.items():
            fate = fates.get(mask)
            if fate is None:
                fate = fates[mask] = self._fate(mask)
            alive, filters = fate
            part = parts.get(filters)
            if part is None:
                parts[filters] = {alive: state}
            else:
                old = part.get(alive)
                part[alive] = state if old is None else union(old, state)
        return parts

    def run(self, ranges: Mapping[str, IntRange]) -> CodeRun:
        """Return a run with its parts, formed once."""
        key = tuple(ranges.items())
        run = self._code_runs.get(key)
        if run is None:
            inside = {column: high - low + 1 for column, (low, high) in key}
            sizes = {c: inside.get(c, size) for c, size in self._asked_sizes.items()}
            run = CodeRun(self.empty(ranges), sizes, self.within(ranges) or {})
            self._code_runs[key] = run
        return run

    def empty(self, ranges: Mapping[str, IntRange]) -> Atoms:
        """Return what the columns of a run are cut into, without an atom."""
        sizes: dict[str, Sequence[tuple[int, int]]] = dict(self._sizes)
        for column, bit in self._bits.items():
            parts = self._cuts[column].of(ranges.get(column))[0]
            sizes[column] = [(bit << k, size) for k, (_, _, _, size) in enumerate(parts)]
        places = tuple([self._places[question.direction] for question in self._asked])
        return Atoms(self._asked, (), 1, (), tuple(self._places), sizes, places)

    # --- all runs together ------------------------------------------------------------------------

    def survey(self) -> Surveyed | None:
        """Return the parts over all codes: by questions, the segments of columns that they hold.

        Segments are bits, of the columns that runs cut down or forms sum. Ranges and points are
        left out, so it takes a fraction of the time of ``within``; it is enough for ``states``
        and ``fits``. None if there are too many states.
        """
        if self._surveyed is not None:
            return self._surveyed[0]
        self._surveyed = (self._survey(),)
        return self._surveyed[0]

    def _survey(self) -> Surveyed | None:
        states, passed = {self._full: 0}, list[str]()
        for column, cut in self._cuts.items():
            shift, by_mask = self._shifts.get(column), dict[int, int]()
            for k, (_, _, mask) in enumerate(cut.cut):
                bit = 0 if shift is None else 1 << shift + k
                by_mask[mask] = by_mask.get(mask, 0) | bit
            if cut.missing is not None:
                by_mask.setdefault(cut.missing, 0)
            merged: dict[int, int] = {}
            for mask, held in states.items():
                for own, bits in by_mask.items():
                    fate = mask & own
                    merged[fate] = merged.get(fate, 0) | held | bits
            states = merged
            if column in self._varied:
                passed = [*passed, column]
            if len(states) > WIDEST * self._most:
                return None
            if len(states) > self._most:
                ours = sum([self._run_bits(c, None) for c in passed])
                seen = Counter([held & ours for held in states.values()])
                self._crowded.append((passed, list(seen.items())))
        parts: Surveyed = {}
        for mask, held in states.items():
            alive, filters = self._fate(mask)
            part = parts.setdefault(filters, {})
            part[alive] = part.get(alive, 0) | held
        return parts

    def fits(self, within: Mapping[str, IntRange]) -> bool:
        """Whether a run has no more atoms than allowed, after a survey."""
        for place, (columns, seen) in enumerate(self._crowded):
            listed = seen
            key: tuple[int, ...] = (place,)
            for column in columns:
                bits = self._run_bits(column, within[column])
                key = (*key, bits)
                known = self._listed.get(key)
                if known is None:
                    known = [pair for pair in listed if pair[0] & bits]
                    self._listed[key] = known
                listed = known
            # A state seen in some code of one column and in some of another need not be in both.
            if sum([n for _, n in listed]) > self._most and (
                len(columns) < 2 or not self._holds_few(within)
            ):
                return False
        return True

    def states(
        self, held: Mapping[int, int], within: Mapping[str, IntRange] = NOWHERE
    ) -> PartStates:
        """Return a part of a survey with ranges that hold those of its records in a run."""
        if not within:
            return {alive: (0, self._ranges(seen), 0) for alive, seen in held.items()}
        inside = -1
        for column, codes in within.items():
            inside &= ~self._run_bits(column, None) | self._run_bits(column, codes)
        varied = [self._run_bits(column, None) & inside for column in within]
        return {
            alive: (0, self._ranges(seen & inside), 0)
            for alive, seen in held.items()
            if all(seen & bits for bits in varied)
        }

    def _ranges(self, held: int) -> tuple[IntRange, ...]:
        """Return ranges that hold those of every direction over some segments."""
        spans = self._spans.get(held)
        if spans is None:
            wider = [list(span) for span in next(iter(self._start.values()))[1]]
            for column in self._bits:
                cut, own = self._cuts[column].cut, held & self._run_bits(column, None)
                own >>= self._shifts[column]
                low, high = (own & -own).bit_length() - 1, own.bit_length() - 1
                for place, times in self._moved[column] if own else ():
                    ends = (times * cut[low][0], times * cut[high][1])
                    wider[place][0] += min(ends)
                    wider[place][1] += max(ends)
            spans = self._spans[held] = tuple([(low, high) for low, high in wider])
        return spans

    def _run_bits(self, column: str, codes: IntRange | None) -> int:
        """Return the segments of a column that lie in a range of codes, or all of them."""
        bits = self._runs.get((column, codes))
        if bits is None:
            cut, shift = self._cuts[column].cut, self._shifts[column]
            low, high = (0, cut[-1][1]) if codes is None else codes
            bits = sum([1 << shift + k for k, (at, _, _) in enumerate(cut) if low <= at <= high])
            self._runs[column, codes] = bits
        return bits

    def _fate(self, mask: int) -> tuple[int, int]:
        """Return the questions and the filters that count the records of a state, as bits."""
        alive = mask
        for shift, firsts in self._further:  # one term that holds is enough
            alive |= mask >> shift & firsts
        alive &= self._firsts
        own = alive & self._own
        numbers = self._numbers.get(own)
        if numbers is None:
            numbers = sum([self._numbers[1 << place] for place in bits_of(own)])
            self._numbers[own] = numbers
        return numbers, alive >> self._own.bit_length()

    # --- products of columns ----------------------------------------------------------------------

    def _multiplied(self, ranges: Mapping[str, IntRange]) -> dict[int, AtomState] | None:
        least = largest = 1
        for column, cut in self._cuts.items():
            parts, apart = cut.of(ranges.get(column))
            largest *= len(parts)
            least *= apart
            if least > self._most:
                return None
        if largest > self._most and not self._holds_few(ranges):
            return None
        key: tuple[IntRange | None, ...] = ()
        states = self._start
        for column in self._order:
            key = (*key, ranges.get(column))
            known = self._states.get(key)
            if known is None:
                bit = self._bits.get(column, 0)
                parts = self._cuts[column].of(ranges.get(column))[0]
                known = multiply(states, parts, self._moved.get(column, ()), bit)
                self._states[key] = known
                if len(known) > WIDEST * self._most and self._order != list(self._cuts):
                    # What a run leaves out would have merged these: in the order of the cap then.
                    self._order = list(self._cuts)
                    self._states.clear()
                    return self._multiplied(ranges)
            states = known
        return states

    def _holds_few(self, ranges: Mapping[str, IntRange]) -> bool:
        """Whether no product of columns, in their order, has more states than allowed."""
        key: tuple[IntRange | None, ...] = ()
        masks: set[int] | None = {self._full}
        for column, cut in self._cuts.items():
            key = (*key, ranges.get(column))
            if key not in self._masks:
                own = [mask for mask, _, _, _ in cut.of(ranges.get(column))[0]]
                fates = {mask & other for mask in masks or () for other in own}
                self._masks[key] = fates if len(fates) <= self._most else None
            masks = self._masks[key]
            if masks is None:
                return False
        return True


def covering_ranges(
    asked: Sequence[Asked], windows: Windows, schema: Schema
) -> Iterator[dict[str, IntRange]]:
    """Yield column ranges such that every record lies in at least one of them.

    A column that varies by L at most stays in a run of its classes: from the last code of the first
    class to the first code of the last one it is no further than L.
    """
    choices: list[list[tuple[str, IntRange]]] = []
    combinations = 1
    for column, asking in sorted(leaves_of(asked)[0].items(), key=itemgetter(0)):
        length = windows.lengths.get(((column, 1),))
        described = schema.columns[column]
        if length is None or described.nullable:
            continue
        cut, _ = segments(described, asking, 0)
        runs, reached = [], -1
        for start, end, _ in cut:
            last = bisect_right(cut, end + length, key=itemgetter(0)) - 1
            if last > reached:  # else the run before holds this one
                runs.append((column, (start, cut[last][1])))
                reached = last
        if combinations * len(runs) <= MOST_RUNS:
            combinations *= len(runs)
            choices.append(runs)
    for chosen in product(*choices):
        yield dict(chosen)
