"""The atoms of a batch: the kinds of records that no question of the batch distinguishes.

No domain is ever enumerated. The tests on a column cut it into classes; classes of columns are
multiplied one column at a time, and records that all questions treat alike are merged at once.

Atoms are defined in docs/accountant.md, section "One batch, one row per person". A missing value
is a point like any other: COUNT of v = 1 and COUNT of v = 0 have 3 outputs if v may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from math import gcd, prod
from operator import xor
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hartley.agent.questions.batch import Statistic
    from hartley.agent.questions.condition import Conjunction, Leaf
    from hartley.ranges.schema.schema import Column, Schema

MOST_ATOMS = (256, 4)
"""Beyond this many kinds of records, plus 4 for every term of a filter, parts are priced alone."""


def most_atoms(terms: int) -> int:
    """Return how many kinds of records are told apart for a number of terms of filters."""
    return MOST_ATOMS[0] + MOST_ATOMS[1] * terms  # "Caps" in docs/accountant.md


def beyond_cap(asked: Sequence[Asked], terms: int, schema: Schema) -> bool:
    """Whether questions alone have more atoms than they may have together with others.

    ``terms`` are those of all of them. True only where it is quick to see.
    """
    return _too_many(leaves_of(asked)[0], most_atoms(terms), schema)


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
        >>> from hartley.ranges.schema.schema import Column
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
    if not within and _too_many(leaves, most, schema):
        return None
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


def _too_many(leaves: Mapping[str, Mapping[Leaf, int]], most: int, schema: Schema) -> bool:
    """Whether the terms over a single column alone lead to more states than allowed.

    They distinguish the classes of the column for any values of the other columns, so the numbers
    of classes multiply. Only counts them, so it is quick where a batch is far beyond the cap; that
    happens for every type of a row. Small batches are left to ``_cut``.
    """
    if prod([2 * len(asking) + 1 for asking in leaves.values()]) <= most:
        return False
    several = once = 0
    for asking in leaves.values():  # ``several``: terms that ask for more than one column
        mask = sum(asking.values())
        several, once = several | once & mask, once | mask
    least = 1
    for column, asking in leaves.items():
        least *= _counted_classes(schema.columns[column], asking, ~several)
        if least > most:
            return True
    return False


def _counted_classes(column: Column, leaves: Mapping[Leaf, int], alone: int) -> int:
    """Return into how many classes some of the terms cut a column; see ``segments``."""
    end, missing = column.points, 0
    flips = {0: 0, end: 0}
    for (codes, null), terms in leaves.items():
        mask = terms & alone
        if null:
            missing |= mask
        for low, high in codes if mask else ():
            if low < end:
                after = high + 1 if high < end else end
                flips[low] = flips.get(low, 0) ^ mask
                flips[after] = flips.get(after, 0) ^ mask
    edges = sorted(flips)[:-1]
    masks = set(accumulate([flips[edge] for edge in edges], xor))
    return len(masks | {missing}) if column.nullable else len(masks)


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
    """Return the places of the bits that are set.

    Example:
        >>> bits_of(0b1101)
        (0, 2, 3)
    """
    places = []
    while mask:
        lowest = mask & -mask
        places.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(places)
