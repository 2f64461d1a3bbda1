"""From a batch to its atoms: the kinds of records that no question of the batch tells apart.

No domain is ever listed. A column is cut into classes by the tests on it; classes of columns are
multiplied one column at a time, and what has the same fate is merged at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from math import gcd, prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.agent.questions.batch import Statistic
    from hartley.agent.questions.condition import Conjunction, Leaf
    from hartley.ranges.schema.schema import Column, Schema

MOST_ATOMS = (256, 4)
"""More kinds of records than 256, and 4 for every term of a filter, are priced part by part."""

Direction: TypeAlias = tuple[tuple[str, int], ...]
"""A linear form without constant and common factor; its first coefficient is positive."""
IntRange: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is left of a question where the public and open columns are known."""

    statistic: Statistic
    terms: tuple[Conjunction, ...]
    """The filter over private columns: one of these holds; the empty one always does."""
    direction: Direction
    scale: int
    """The form is scale times its direction, plus the shift."""
    shift: IntRange
    """From where to where the constant part can lie; one number unless known columns vary."""
    filtered: frozenset[str] = field(init=False, repr=False, compare=False)
    """The private columns of the filter."""
    columns: frozenset[str] = field(init=False, repr=False, compare=False)
    """All private columns that it touches."""

    def __post_init__(self) -> None:
        """Collect the columns once: groups are formed of them over and over."""
        filtered = frozenset([c for term in self.terms for c, _ in term])
        object.__setattr__(self, "filtered", filtered)
        object.__setattr__(self, "columns", filtered.union([c for c, _ in self.direction]))


class Atom(NamedTuple):
    """The records that make the same questions count them."""

    alive: tuple[int, ...]
    """Those questions."""
    points: int
    """How many records, over the private columns that the batch touches."""
    ranges: tuple[IntRange, ...]
    """From where to where each direction runs."""
    held: int
    """The classes of the columns of forms that occur, as bits."""


@dataclass(frozen=True, slots=True)
class Atoms:
    """All atoms of some questions, and what their columns are cut into."""

    asked: tuple[Asked, ...]
    columns: tuple[str, ...]
    points: int
    atoms: tuple[Atom, ...]
    directions: tuple[Direction, ...]
    sizes: Mapping[str, Sequence[tuple[int, int]]]
    """Of each column of a form its classes, as bits, and how many codes each holds."""
    places: tuple[int, ...]
    """Which direction is that of each question."""

    def size(self, column: str, held: int) -> int:
        """Return how many codes of a column some classes hold."""
        return sum([size for bit, size in self.sizes[column] if held & bit])


class CodeClass(NamedTuple):
    """The codes of a column that every test treats alike."""

    mask: int
    """Which terms they leave possible."""
    low: int
    high: int
    size: int
    """How many codes, a missing value counted."""


@lru_cache(maxsize=4096)
def direction_of(terms: Direction) -> tuple[Direction, int]:
    """Split a linear form into its direction and how often that is taken.

    Example:
        >>> direction_of((("a", -2), ("b", 4)))
        ((('a', 1), ('b', -2)), -2)
    """
    if not terms:
        return (), 1
    scale = gcd(*(times for _, times in terms)) * (1 if terms[0][1] > 0 else -1)
    return tuple((column, times // scale) for column, times in terms), scale


def classes(column: Column, leaves: Mapping[Leaf, int], free: int) -> list[CodeClass]:
    """Cut a column into classes of codes that pass the same tests.

    ``leaves`` names the terms (as bits) that ask for each leaf, ``free`` those that do not ask.
    Grows with the number of thresholds, not with the number of codes.

    Example:
        >>> from hartley.ranges.schema.schema import Column
        >>> sex = Column("sex", "private", ("F", "M"), nullable=True)
        >>> [(c.mask, c.size) for c in classes(sex, {(((0, 0),), False): 1}, 0)]
        [(1, 1), (0, 2)]
    """
    end = column.points
    flips = {0: 0, end: 0}
    missing = free
    for (codes, null), mask in leaves.items():
        if null:
            missing |= mask
        for low, high in codes:
            if low < end:
                after = min(high + 1, end)
                flips[low] = flips.get(low, 0) ^ mask
                flips[after] = flips.get(after, 0) ^ mask
    found: dict[int, tuple[int, int, int]] = {}
    mask = free
    for start, after in pairwise(sorted(flips)):
        mask ^= flips[start]
        low, _, size = found.get(mask, (start, 0, 0))
        found[mask] = (low, after - 1, size + after - start)
    if column.nullable:
        low, high, size = found.get(missing, (0, 0, 0))
        found[missing] = (low, high, size + 1)
    return [CodeClass(mask, *rest) for mask, rest in found.items()]


_AtomState: TypeAlias = tuple[int, tuple[IntRange, ...], int]
"""Points, the range of every direction, and the classes held."""


def form_atoms(asked: tuple[Asked, ...], schema: Schema) -> Atoms | None:
    """Form the atoms of some questions; None where there are more than MOST_ATOMS.

    Every atom comes with its number of points and the exact range of every direction over it.
    Grows with the number of atoms times the classes of a column.
    """
    leaves, owners = _leaves(asked)
    parts = _cut(leaves, len(owners), schema)
    if parts is None:
        return None
    places = {d: k for k, d in enumerate(dict.fromkeys([a.direction for a in asked]))}
    moved: dict[str, list[tuple[int, int]]] = {}
    for direction, place in places.items():
        for column, times in direction:
            moved.setdefault(column, []).append((place, times))
    full = (1 << len(owners)) - 1
    alone = [column for column in moved if column not in leaves]
    for column in alone:
        described = schema.columns[column]
        parts[column] = [CodeClass(full, 0, described.points - 1, described.size)]
    states: dict[int, _AtomState] = {full: (1, ((0, 0),) * len(places), 0)}
    sizes, bit = {}, 1
    # Columns of forms alone never split a state, so they come first and cost least.
    for column in (*alone, *leaves):
        sizes[column] = [(bit << k, part.size) for k, part in enumerate(parts[column])]
        states = _multiply(states, parts[column], moved.get(column, ()), bit)
        bit <<= len(parts[column])
    return Atoms(
        asked,
        tuple(parts),
        prod([schema.columns[column].size for column in parts]),
        _gather(owners, states),
        tuple(places),
        sizes,
        tuple([places[question.direction] for question in asked]),
    )


def _leaves(asked: Sequence[Asked]) -> tuple[dict[str, dict[Leaf, int]], list[int]]:
    """Return, by column and leaf, the terms that ask for it; and whose terms they are."""
    leaves: dict[str, dict[Leaf, int]] = {}
    owners: list[int] = []
    for number, question in enumerate(asked):
        for term in question.terms:
            bit = 1 << len(owners)
            owners.append(number)
            for column, leaf in term:
                asking = leaves.setdefault(column, {})
                asking[leaf] = asking.get(leaf, 0) | bit
    return leaves, owners


def _cut(
    leaves: Mapping[str, Mapping[Leaf, int]], terms: int, schema: Schema
) -> dict[str, list[CodeClass]] | None:
    """Cut columns into classes; None where more states than allowed would arise of them.

    Terms that ask for one column alone tell its classes apart whatever the other columns are, so
    the numbers of classes that they tell apart multiply: mostly that many is too many already.
    """
    full = (1 << terms) - 1
    most = MOST_ATOMS[0] + MOST_ATOMS[1] * terms
    asked = {column: sum(asking.values()) for column, asking in leaves.items()}
    several = once = 0
    for mask in asked.values():
        several, once = several | once & mask, once | mask
    found, least, largest = {}, 1, 1
    for column, asking in leaves.items():
        parts = found[column] = classes(schema.columns[column], asking, full & ~asked[column])
        largest *= len(parts)
        least *= len({part.mask & ~several for part in parts})
        if least > most:
            return None
    if largest > most:
        masks = {full}  # fates alone are quick to multiply
        for parts in found.values():
            masks = {mask & part.mask for mask in masks for part in parts}
            if len(masks) > most:
                return None
    return found


def _multiply(
    states: dict[int, _AtomState],
    parts: Sequence[CodeClass],
    moved: Sequence[tuple[int, int]],
    bit: int,
) -> dict[int, _AtomState]:
    """Multiply states by the classes of one more column, and merge those of one fate."""
    found: dict[int, _AtomState] = {}
    for mask, (points, ranges, held) in states.items():
        for number, (own, least, most, size) in enumerate(parts):
            spans, holds = ranges, held
            if moved:
                wider = list(ranges)
                for k, times in moved:
                    low, high = wider[k]
                    one, other = times * least, times * most
                    wider[k] = (low + min(one, other), high + max(one, other))
                spans, holds = tuple(wider), held | bit << number
            new = (points * size, spans, holds)
            key = mask & own
            old = found.get(key)
            found[key] = new if old is None else _union(old, new)
    return found


def _union(one: _AtomState, other: _AtomState) -> _AtomState:
    ranges = one[1]
    if ranges != other[1]:
        pairs = zip(ranges, other[1], strict=True)
        ranges = tuple([(min(a, c), max(b, d)) for (a, b), (c, d) in pairs])
    return one[0] + other[0], ranges, one[2] | other[2]


def _gather(owners: Sequence[int], states: dict[int, _AtomState]) -> tuple[Atom, ...]:
    """Turn states of terms into atoms of questions."""
    found: dict[tuple[int, ...], _AtomState] = {}
    for mask, state in states.items():
        left = mask
        alive: dict[int, None] = {}
        while left:
            lowest = left & -left
            alive[owners[lowest.bit_length() - 1]] = None
            left ^= lowest
        key = tuple(alive)
        found[key] = _union(found[key], state) if key in found else state
    return tuple([Atom(alive, *state) for alive, state in found.items()])
