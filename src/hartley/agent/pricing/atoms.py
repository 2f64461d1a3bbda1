"""From a batch to its atoms: the kinds of records that no question of the batch tells apart.

No domain is ever listed. A column is cut into classes by the tests on it; classes of columns are
multiplied one column at a time, and what has the same fate is merged at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise, product
from math import gcd, prod
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from hartley.agent.questions.batch import All, Statistic, Test

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hartley.agent.questions.batch import Condition, Form
    from hartley.ranges.schema.schema import Column, Schema

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
        filtered = frozenset([c for term in self.terms for c, _ in term])
        object.__setattr__(self, "filtered", filtered)
        object.__setattr__(self, "columns", filtered.union([c for c, _ in self.direction]))


class Atom(NamedTuple):
    """The records that make the same questions count them."""

    alive: tuple[int, ...]
    """Those questions."""
    points: int
    """How many records, over the private columns that the batch touches."""
    ranges: tuple[Range, ...]
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


class Class(NamedTuple):
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
        >>> from hartley.agent.questions.batch import Either
        >>> adult, north = Test("age", ((18, 99),)), Test("region", ((0, 0),))
        >>> [len(term) for term in conjunctions(All((adult, Either((north, adult)))))]
        [2, 1]
    """
    terms = _expand(condition)
    return None if terms is None else tuple(tuple(sorted(term.items())) for term in terms)


def _expand(condition: Condition) -> list[dict[str, Leaf]] | None:
    if isinstance(condition, Test):
        leaf = (condition.codes, condition.missing)
        return [] if leaf == ((), False) else [{condition.column: leaf}]
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


class Coded(Protocol):
    """A column as a schema or a coded copy describes it: codes 0 to points - 1."""

    @property
    def points(self) -> int:
        """How many codes there are."""

    @property
    def nullable(self) -> bool:
        """Whether a value may be missing."""


def possible_terms(
    condition: Condition, form: Form | None, columns: Mapping[str, Coded]
) -> tuple[Term, ...] | None:
    """Return the conjunctions that some record with all columns of the form satisfies.

    None where there are too many conjunctions to look into. Columns take their codes freely, so a
    conjunction is satisfied by some record exactly where each of its leaves is.
    """
    terms = conjunctions(condition)
    if terms is None:
        return None
    there: dict[str, Leaf] = {
        name: (((0, columns[name].points - 1),), False)
        for name, _ in (form.terms if form else ())
        if columns[name].nullable
    }
    if there:
        joined = (_join((dict(term), there)) for term in terms)
        terms = tuple(tuple(sorted(term.items())) for term in joined if term is not None)
    return tuple(term for term in terms if all(_passable(columns[c], leaf) for c, leaf in term))


def _passable(column: Coded, leaf: Leaf) -> bool:
    """Whether some value of a column passes a leaf."""
    codes, missing = leaf
    return (missing and column.nullable) or any(
        low <= high and low < column.points and high >= 0 for low, high in codes
    )


def about_nobody(condition: Condition, form: Form | None, columns: Mapping[str, Coded]) -> bool:
    """Whether it is certain, by the columns alone, that no record ever counts for a question.

    Such a question has one answer whatever the data: prices leave it out, and no engine is asked.
    It is decided here for both, so that they cannot differ. Where there are too many conjunctions
    it is not decided: the engine is asked, and the price covers every answer.

    Example:
        >>> from hartley.agent.questions.batch import Either
        >>> from hartley.ranges.schema.schema import Column
        >>> sex = {"sex": Column("sex", "private", ("F", "M"))}
        >>> female, male = Test("sex", ((0, 0),)), Test("sex", ((1, 1),))
        >>> about_nobody(All((female, male)), None, sex)
        True
        >>> about_nobody(Either((female, male)), None, sex)
        False
    """
    return possible_terms(condition, form, columns) == ()


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
    return [Class(mask, *rest) for mask, rest in found.items()]


_State: TypeAlias = tuple[int, tuple[Range, ...], int]
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
        parts[column] = [Class(full, 0, described.points - 1, described.size)]
    states: dict[int, _State] = {full: (1, ((0, 0),) * len(places), 0)}
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
) -> dict[str, list[Class]] | None:
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
    states: dict[int, _State], parts: Sequence[Class], moved: Sequence[tuple[int, int]], bit: int
) -> dict[int, _State]:
    """Multiply states by the classes of one more column, and merge those of one fate."""
    found: dict[int, _State] = {}
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


def _union(one: _State, other: _State) -> _State:
    ranges = one[1]
    if ranges != other[1]:
        pairs = zip(ranges, other[1], strict=True)
        ranges = tuple([(min(a, c), max(b, d)) for (a, b), (c, d) in pairs])
    return one[0] + other[0], ranges, one[2] | other[2]


def _gather(owners: Sequence[int], states: dict[int, _State]) -> tuple[Atom, ...]:
    """Turn states of terms into atoms of questions."""
    found: dict[tuple[int, ...], _State] = {}
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
