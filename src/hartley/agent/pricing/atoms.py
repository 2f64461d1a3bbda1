"""From a batch to its atoms: the kinds of records that no question of the batch tells apart.

No domain is ever listed. A column is cut into classes by the tests on it; classes of columns are
multiplied one column at a time, and what has the same fate is merged at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import gcd, prod
from typing import TYPE_CHECKING, TypeAlias

from hartley.agent.batch import All, Statistic, Test

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hartley.agent.batch import Condition, Form
    from hartley.ranges.schema import Column, Schema

MOST_TERMS = 64
"""A filter that is an OR of more conjunctions than this is priced without looking into it."""
MOST_ATOMS = (256, 4)
"""More kinds of records than 256, and 4 for every term of a filter, are priced part by part."""

Leaf: TypeAlias = tuple[tuple[tuple[int, int], ...], bool]
"""The codes that pass, and whether a missing value does."""
Term: TypeAlias = tuple[tuple[str, Leaf], ...]
"""A conjunction: one leaf a column, in the order of the columns' names."""
Direction: TypeAlias = tuple[tuple[str, int], ...]
"""A linear form without constant and common factor; its first coefficient is positive."""
Range: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is left of a question where the public and open columns are known."""

    statistic: Statistic
    terms: tuple[Term, ...]
    """The filter over private columns: one of these holds; the empty one always does."""
    direction: Direction
    scale: int
    """The form is scale times its direction, plus the shift."""
    shift: Range
    """From where to where the constant part can lie; one number unless known columns vary."""
    filtered: frozenset[str] = field(init=False, repr=False, compare=False)
    """The private columns of the filter."""
    columns: frozenset[str] = field(init=False, repr=False, compare=False)
    """All private columns that it touches."""

    def __post_init__(self) -> None:
        """Collect the columns once: groups are formed of them over and over."""
        filtered = frozenset(c for term in self.terms for c, _ in term)
        object.__setattr__(self, "filtered", filtered)
        object.__setattr__(self, "columns", filtered.union(c for c, _ in self.direction))


@dataclass(frozen=True, slots=True)
class Atom:
    """The records that make the same questions count them."""

    alive: tuple[int, ...]
    """Those questions."""
    points: int
    """How many records, over the private columns that the batch touches."""
    ranges: tuple[Range, ...]
    """From where to where each direction runs."""
    held: tuple[int, ...]
    """Of each column of a form the classes that occur, as bits."""


@dataclass(frozen=True, slots=True)
class Atoms:
    """All atoms of some questions, and what their columns are cut into."""

    asked: tuple[Asked, ...]
    columns: tuple[str, ...]
    points: int
    atoms: tuple[Atom, ...]
    directions: tuple[Direction, ...]
    form_columns: tuple[str, ...]
    class_sizes: tuple[tuple[int, ...], ...]

    def size(self, column: str, held: Sequence[int]) -> int:
        """Return how many codes of a column some classes hold."""
        place = self.form_columns.index(column)
        sizes, left, total = self.class_sizes[place], held[place], 0
        while left:
            lowest = left & -left
            total += sizes[lowest.bit_length() - 1]
            left ^= lowest
        return total


@dataclass(frozen=True, slots=True)
class Class:
    """The codes of a column that every test treats alike."""

    mask: int
    """Which terms they leave possible."""
    low: int
    high: int
    size: int
    """How many codes, a missing value counted."""


def conjunctions(condition: Condition) -> tuple[Term, ...] | None:
    """Write a condition as an OR of conjunctions; None where there are too many.

    Example:
        >>> from hartley.agent.batch import Either
        >>> adult, north = Test("age", ((18, 99),)), Test("region", ((0, 0),))
        >>> [len(term) for term in conjunctions(All((adult, Either((north, adult)))))]
        [2, 1]
    """
    if isinstance(condition, Test):
        return (((condition.column, (condition.codes, condition.missing)),),)
    found = _expand(condition)
    return None if found is None else tuple(tuple(sorted(term.items())) for term in found)


def _expand(condition: Condition) -> list[dict[str, Leaf]] | None:
    if isinstance(condition, Test):
        return [{condition.column: (condition.codes, condition.missing)}]
    parts = [_expand(part) for part in condition.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if not isinstance(condition, All):
        terms = [term for part in known for term in part]
        return terms if len(terms) <= MOST_TERMS else None
    if prod(len(part) for part in known) > MOST_TERMS:
        return None
    return [term for chosen in product(*known) if (term := _join(chosen)) is not None]


def _join(terms: Iterable[dict[str, Leaf]]) -> dict[str, Leaf] | None:
    """Return the conjunction of terms; None where it never holds."""
    joined: dict[str, Leaf] = {}
    for term in terms:
        for column, leaf in term.items():
            joined[column] = _both(joined[column], leaf) if column in joined else leaf
    return None if ((), False) in joined.values() else joined


def _both(one: Leaf, other: Leaf) -> Leaf:
    codes = tuple(
        (max(a, c), min(b, d)) for a, b in one[0] for c, d in other[0] if max(a, c) <= min(b, d)
    )
    return tuple(sorted(codes)), one[1] and other[1]


def present(form: Form | None, terms: tuple[Term, ...], schema: Schema) -> tuple[Term, ...]:
    """Add to every term that the columns of the form are there, where they may be missing."""
    nullable = [c for c, _ in form.terms if schema.columns[c].nullable] if form else []
    if not nullable:
        return terms
    there: dict[str, Leaf] = {c: (((0, schema.columns[c].points - 1),), False) for c in nullable}
    found = (_join((dict(term), there)) for term in terms)
    return tuple(tuple(sorted(term.items())) for term in found if term is not None)


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


def classes(column: Column, leaves: Mapping[Leaf, int], free: int) -> list[Class]:
    """Cut a column into classes of codes that pass the same tests.

    ``leaves`` names the terms (as bits) that ask for each leaf, ``free`` those that do not ask.
    Grows with the number of thresholds, not with the number of codes.

    Example:
        >>> from hartley.ranges.schema import Column
        >>> sex = Column("sex", "private", ("F", "M"), nullable=True)
        >>> [(c.mask, c.size) for c in classes(sex, {(((0, 0),), False): 1}, 0)]
        [(1, 1), (0, 2)]
    """
    last = column.points - 1
    flips: dict[int, int] = {0: 0}
    missing = free
    for (codes, null), mask in leaves.items():
        missing |= mask if null else 0
        for low, high in codes:
            if low <= last:
                flips[low] = flips.get(low, 0) ^ mask
                flips[high + 1] = flips.get(high + 1, 0) ^ mask
    found: dict[int, tuple[int, int, int]] = {}
    starts = sorted(start for start in flips if start <= last)
    mask = free
    for start, following in zip(starts, [*starts[1:], last + 1], strict=True):
        mask ^= flips[start]
        low, _, size = found.get(mask, (start, 0, 0))
        found[mask] = (low, following - 1, size + following - start)
    if column.nullable:
        low, high, size = found.get(missing, (0, 0, 0))
        found[missing] = (low, high, size + 1)
    return [Class(mask, *rest) for mask, rest in found.items()]


_State: TypeAlias = tuple[int, tuple[Range, ...], tuple[int, ...]]


def form_atoms(asked: tuple[Asked, ...], schema: Schema) -> Atoms | None:
    """Form the atoms of some questions; None where there are more than MOST_ATOMS.

    Every atom comes with its number of points and the exact range of every direction over it.
    Grows with the number of atoms times the classes of a column.
    """
    directions = tuple(dict.fromkeys(a.direction for a in asked if a.direction))
    form_columns = tuple(dict.fromkeys(c for d in directions for c, _ in d))
    leaves, terms = _leaves(asked)
    full = (1 << terms) - 1
    most = MOST_ATOMS[0] + MOST_ATOMS[1] * terms
    # Columns of forms alone never split a state, so they come last and cost least.
    columns = tuple(dict.fromkeys([*leaves, *form_columns]))
    parts = {}
    for column in columns:
        asking = leaves.get(column, {})
        free = full & ~sum(asking.values())
        parts[column] = classes(schema.columns[column], asking, free)
    if _too_many(full, parts.values(), most):
        return None
    states: dict[int, _State] = {full: (1, ((0, 0),) * len(directions), (0,) * len(form_columns))}
    for column in columns:
        moved = [(k, t) for k, d in enumerate(directions) for c, t in d if c == column]
        place = form_columns.index(column) if column in form_columns else None
        states = _multiply(states, parts[column], moved, place)
    return Atoms(
        asked,
        columns,
        prod(schema.columns[c].size for c in columns),
        _gather(asked, states),
        directions,
        form_columns,
        tuple(tuple(part.size for part in parts[c]) for c in form_columns),
    )


def _too_many(full: int, columns: Collection[Sequence[Class]], most: int) -> bool:
    """Whether more states than allowed would arise: fates alone are quick to multiply."""
    if prod(len(parts) for parts in columns) <= most:
        return False
    masks = {full}
    for parts in columns:
        own = {part.mask for part in parts}
        masks = {mask & other for mask in masks for other in own}
        if len(masks) > most:
            return True
    return False


def _leaves(asked: Iterable[Asked]) -> tuple[dict[str, dict[Leaf, int]], int]:
    """Return, by column and leaf, which terms ask for it; and how many terms there are."""
    leaves: dict[str, dict[Leaf, int]] = {}
    number = 0
    for question in asked:
        for term in question.terms:
            for column, leaf in term:
                asking = leaves.setdefault(column, {})
                asking[leaf] = asking.get(leaf, 0) | 1 << number
            number += 1
    return leaves, number


def _multiply(
    states: dict[int, _State],
    parts: Sequence[Class],
    moved: Sequence[tuple[int, int]],
    place: int | None,
) -> dict[int, _State]:
    """Multiply states by the classes of one more column, and merge those of one fate."""
    found: dict[int, _State] = {}
    for mask, (points, ranges, held) in states.items():
        for number, part in enumerate(parts):
            key = mask & part.mask
            spans, holds = ranges, held
            if moved:
                wider = list(ranges)
                for k, times in moved:
                    low, high = wider[k]
                    one, other = times * part.low, times * part.high
                    wider[k] = (low + min(one, other), high + max(one, other))
                spans = tuple(wider)
            if place is not None:
                holds = (*held[:place], 1 << number, *held[place + 1 :])
            new = (points * part.size, spans, holds)
            old = found.get(key)
            found[key] = new if old is None else _union(old, new)
    return found


def _union(one: _State, other: _State) -> _State:
    ranges = one[1]
    if ranges != other[1]:
        ranges = tuple(
            (min(a, c), max(b, d)) for (a, b), (c, d) in zip(ranges, other[1], strict=True)
        )
    return one[0] + other[0], ranges, tuple(a | b for a, b in zip(one[2], other[2], strict=True))


def _gather(asked: Sequence[Asked], states: dict[int, _State]) -> tuple[Atom, ...]:
    """Turn states of terms into atoms of questions."""
    owners = [number for number, question in enumerate(asked) for _ in question.terms]
    found: dict[tuple[int, ...], _State] = {}
    for mask, state in states.items():
        left = mask
        alive: list[int] = []
        while left:
            lowest = left & -left
            owner = owners[lowest.bit_length() - 1]
            if not alive or alive[-1] != owner:
                alive.append(owner)
            left ^= lowest
        key = tuple(alive)
        found[key] = _union(found[key], state) if key in found else state
    return tuple(Atom(alive, *state) for alive, state in found.items())
