"""Prices for several rows per person: how many vectors of answers their records can cause.

This implements docs/accountant.md, section "Several rows per person", with its three bounds: (1)
the multisets of records, (2) the product of single prices, (3) the sum over multisets of atoms.
Counts in cells of several rows have one more: section "Coarse counts".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import comb, prod
from operator import mul
from typing import TYPE_CHECKING, TypeAlias

from hartley.trusted.pricing.atoms import form_atoms
from hartley.trusted.pricing.one_row import PartPrice
from hartley.trusted.pricing.regions import (
    CoarseCount,
    cells_with_coarse,
    contribution_range,
    independent_groups,
    regions,
    square_length,
    value_range,
)
from hartley.trusted.questions.batch import COUNT, ORDER, SQUARES, SUM

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from hartley.schema.schema import Schema
    from hartley.trusted.pricing.atoms import Asked, Atom, Atoms, IntRange
    from hartley.trusted.pricing.regions import CellGrid, Vector
    from hartley.trusted.questions.batch import Statistic


# --- multisets ------------------------------------------------------------------------------------
# Multisets of atoms: how many vectors of answers several records cause together.
#
# This is bound (3) of docs/accountant.md, section "Several rows per person": the sum over
# multisets of atoms of what the records of each multiset can cause.

FEW_MULTISETS = 1024
"""Up to this many are listed even if they could be multiplied."""

Counted: TypeAlias = "Sequence[tuple[TypedAtom, int]]"


@dataclass(frozen=True, slots=True)
class Seen:
    """A question that counts the records of an atom; its form depends on the type."""

    asked: Asked
    span: IntRange
    """The range of the direction over the atom."""


@dataclass(frozen=True, slots=True)
class TypedAtom:
    """An atom of one type of rows, with the questions that count it, by number."""

    name: str
    points: int
    seen: Mapping[int, Seen]
    """The questions that count its records."""


def choices(points: int, amount: int) -> int:
    """Return how many multisets of records there are. Proved: proofs/Several.v, several_points."""
    return comb(points + amount - 1, amount)


def seen_by(atom: Atom, atoms: Atoms, numbers: Sequence[int]) -> dict[int, Seen]:
    """Return the questions that count the records of an atom, by number."""
    return {numbers[k]: Seen(atoms.asked[k], atom.ranges[atoms.places[k]]) for k in atom.alive}


def crossed_by(inside: Sequence[tuple[Seen, int]], grid: CellGrid) -> int:
    """Return how many boundaries the sum over rows of some atoms can cross."""
    if not inside:
        return 0
    # Lengths are added up for rows whose number is fixed in each atom. Not r times the length of
    # one atom: of values 10 and 11 behind a filter, two rows have the sums 0, 10, 11, 20, 21, 22.
    if inside[0][0].asked.statistic is SQUARES:
        return grid.crossed(sum(n * square_length(s.asked, s.span) for s, n in inside))
    gaps = sum(n * (s.span[1] - s.span[0]) for s, n in inside)
    # One question has one scale in every type: types differ in what known columns add.
    return min(grid.crossed(abs(inside[0][0].asked.scale) * gaps), gaps)


def levels_of(ranges: Sequence[IntRange], grid: CellGrid) -> int:
    """Return how many cells an order statistic of rows within ranges can take.

    Either it lies within their hull, or the rows do not move it at all.
    """
    if not ranges or grid.constant:
        return 1
    # "If some value of the statistic lies outside that hull, the rows do not move it at all."
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    return 1 + grid.between(low, high)


def sum_over_multisets(
    kinds: Sequence[Sequence[TypedAtom]],
    amounts: Sequence[int],
    grids: Sequence[CellGrid],
    most: int,
) -> int | None:
    """Add up the outputs of all multisets with given rows of each type; None beyond a cap.

    If there are few they are listed, and those without freedom that add the same count once.
    Otherwise clusters of atoms that share no sum, square or order statistic are multiplied like
    polynomials: the outputs of a multiset are then a product over the clusters.
    """
    whole = prod(choices(len(k), n) for k, n in zip(kinds, amounts, strict=True))
    if whole > min(most, FEW_MULTISETS):
        by_clusters = _by_clusters(kinds, amounts, grids, most)
        if by_clusters is not None or whole > most:
            return by_clusters
    # "Multisets without any freedom that agree in all they add are one output."
    total, single_outputs = 0, set()
    for counted in _multisets(kinds, amounts):
        outputs, key = _outputs(counted, grids)
        if key is None:
            total += outputs
        else:
            single_outputs.add(key)
    return total + len(single_outputs)


def _by_clusters(
    kinds: Sequence[Sequence[TypedAtom]],
    amounts: Sequence[int],
    grids: Sequence[CellGrid],
    most: int,
) -> int | None:
    clusters = _clusters(kinds, grids)
    listed = sum(
        prod(comb(len(k) + n, n) for k, n in zip(cluster, amounts, strict=True))
        for cluster in clusters
    )
    if listed > most + 4 * sum(map(len, kinds)):
        return None
    # A polynomial per cluster: the outputs of its multisets, by the rows of each type in it.
    # Clusters without a common type share no rows, so their coefficients are multiplied.
    typed = [
        (cluster, {f"{k}" for k, atoms in enumerate(cluster) if atoms}) for cluster in clusters
    ]
    memory: dict[object, AlikeCluster] = {}
    total = 1
    for members, types in independent_groups(typed):
        polynomials = [_polynomial(cluster, amounts, grids, memory) for cluster in members]
        rows = tuple([n if f"{k}" in types else 0 for k, n in enumerate(amounts)])
        total *= _coefficient(polynomials, rows)
    return total


def _coefficient(polynomials: Sequence[dict[tuple[int, ...], int]], rows: tuple[int, ...]) -> int:
    """Return the coefficient of a product of polynomials at some rows of each type."""
    if sum(map(bool, rows)) <= 1:  # rows of one type: polynomials in one variable
        places = [tuple([n and used for n in rows]) for used in range(max(rows) + 1)]
        return product_coefficient([[own.get(at, 0) for at in places] for own in polynomials])
    sums = {(0,) * len(rows): 1}
    for own in polynomials:
        joined: dict[tuple[int, ...], int] = {}
        for (before, outputs), (inside, more) in product(sums.items(), own.items()):
            used = tuple(a + b for a, b in zip(before, inside, strict=True))
            if all(a <= n for a, n in zip(used, rows, strict=True)):
                joined[used] = joined.get(used, 0) + outputs * more
        sums = joined
    return sums[rows]


def product_coefficient(polynomials: Sequence[Sequence[int]]) -> int:
    """Return the last coefficient of a product of polynomials with as many coefficients each.

    None of the coefficients is negative. A polynomial is written as one number, whose digits are
    wide enough for every coefficient of the product: one multiplication of numbers multiplies two
    polynomials.

    Example:
        >>> product_coefficient([[1, 1, 1], [1, 2, 4]])  # 1 * 4 + 1 * 2 + 1 * 1
        7
    """
    # A coefficient is at most the product of the sums, the value of the product at 1.
    width = prod([sum(polynomial) for polynomial in polynomials]).bit_length() // 8 + 1
    size = width * len(polynomials[0])
    total = 1
    for polynomial in polynomials:
        written = b"".join([outputs.to_bytes(width, "little") for outputs in polynomial])
        total = total * int.from_bytes(written, "little") & (1 << 8 * size) - 1
    return total >> 8 * (size - width)


@dataclass(frozen=True, slots=True)
class AlikeCluster:
    """The polynomial of a cluster, for all clusters that differ from it in names alone."""

    polynomial: dict[tuple[int, ...], int]
    lengths: list[set[int] | None]
    """What was measured in cells, by question in the order of their names."""


def _polynomial(
    cluster: Sequence[Sequence[TypedAtom]],
    amounts: Sequence[int],
    grids: Sequence[CellGrid],
    memory: dict[object, AlikeCluster],
) -> dict[tuple[int, ...], int]:
    """Return the outputs of the multisets of a cluster, by the rows of each type in it."""
    ranges = [range(n + 1 if atoms else 1) for atoms, n in zip(cluster, amounts, strict=True)]
    names: dict[int, int] = {}
    alike: list[object] = []
    for atoms in cluster:
        for kind in atoms:
            linking = [n for n in kind.seen if kind.seen[n].asked.statistic is not COUNT]
            alike.append((kind.points, len(linking)))
            for n in linking:
                asked, span = kind.seen[n].asked, kind.seen[n].span
                form = asked.statistic, asked.direction, asked.scale, asked.shift
                alike.append((names.setdefault(n, len(names)), form, span, grids[n]))
    key = (*map(len, cluster), *alike)
    if key not in memory:
        # Every question of the cluster collects its lengths apart, so that those of another
        # cluster can learn them too.
        measured = list(grids)
        for n in names:
            if grids[n].lengths is not None:
                measured[n] = replace(grids[n], lengths=set())
        own = {
            inside: sum([_outputs(c, measured)[0] for c in _multisets(cluster, inside)])
            for inside in product(*ranges)
        }
        memory[key] = AlikeCluster(own, [measured[n].lengths for n in names])
    for n, lengths in zip(names, memory[key].lengths, strict=True):
        if (collected := grids[n].lengths) is not None:
            collected.update(lengths or ())
    return memory[key].polynomial


def _clusters(
    kinds: Sequence[Sequence[TypedAtom]], grids: Sequence[CellGrid]
) -> list[list[list[TypedAtom]]]:
    """Split atoms of all types so that only counts depend on several parts.

    A count is fixed once the rows in each atom are, so it links nothing; a constant sum neither.
    """
    home: dict[int, int] = {}  # the cluster of each question that links atoms
    clusters: dict[int, list[tuple[int, TypedAtom]]] = {}
    pairs = [(place, kind) for place, of_type in enumerate(kinds) for kind in of_type]
    for number, pair in enumerate(pairs):
        linking = [
            k
            for k, seen in pair[1].seen.items()
            if seen.asked.statistic is not COUNT
            and (seen.asked.statistic is ORDER or not grids[k].constant)
        ]
        touched = sorted({home[k] for k in linking if k in home})
        goal = touched[0] if touched else number
        clusters.setdefault(goal, []).append(pair)
        for merged in touched[1:]:
            clusters[goal] += clusters.pop(merged)
        for k, where in list(home.items()) if len(touched) > 1 else ():
            home[k] = goal if where in touched else where
        home.update(dict.fromkeys(linking, goal))
    return [
        [[kind for place, kind in cluster if place == k] for k in range(len(kinds))]
        for cluster in clusters.values()
    ]


def _multisets(kinds: Sequence[Sequence[TypedAtom]], amounts: Iterable[int]) -> Iterator[Counted]:
    for chosen in product(*map(_shared_out, kinds, amounts)):
        yield [pair for part in chosen for pair in part]


def _shared_out(
    kinds: Sequence[TypedAtom], rows: int, begin: int = 0
) -> Iterator[list[tuple[TypedAtom, int]]]:
    """Yield the ways to share out rows among kinds, without listing the rows one by one.

    Ways with more rows of an earlier kind come first.
    """
    if not rows:
        yield []
        return
    for place in range(begin, len(kinds)):
        least = 1 if place + 1 < len(kinds) else rows  # the last one takes what remains
        for amount in range(rows, least - 1, -1):
            for rest in _shared_out(kinds, rows - amount, place + 1):
                yield [(kinds[place], amount), *rest]


_FREE = object()


def _outputs(counted: Counted, grids: Sequence[CellGrid]) -> tuple[int, frozenset[object] | None]:
    """Return the number of outputs of a multiset of atoms, and a key of the output if there is one.

    Two multisets with the same key have the same output.
    """
    crossed: dict[Vector, int] = {}
    factor = 1
    key: list[object] = []
    inside: dict[int, list[tuple[Seen, int]]] = {}
    for kind, n in counted:
        for number, seen in kind.seen.items():
            inside.setdefault(number, []).append((seen, n))
    for number, here in inside.items():
        grid, statistic = grids[number], here[0][0].asked.statistic
        if statistic is ORDER:
            # It multiplies. Adding its boundaries to those of a sum is too little: the sum and the
            # largest of two values from 0 to 4 tell both, and there are 15 such multisets.
            factor *= levels_of([value_range(s.asked, s.span) for s, _ in here], grid)
        elif grid.constant:
            continue
        elif statistic is SQUARES:
            # "Each sum of squares is a variable of its own": of several rows it is no function of
            # the totals of the columns.
            factor *= 1 + crossed_by(here, grid)
        elif statistic is SUM and (amount := crossed_by(here, grid)):
            vector = _vector(number, counted)
            crossed[vector] = crossed.get(vector, 0) + amount
        fixed_value = _contribution(statistic, here)
        if (
            fixed_value is _FREE or fixed_value != 0
        ):  # adding nothing is the same as not being there
            key.append(fixed_value if fixed_value is _FREE else (number, fixed_value))
    most = prod(choices(kind.points, n) for kind, n in counted)  # multisets of records
    outputs = min(most, factor * regions(crossed))
    return outputs, None if outputs > 1 or _FREE in key else frozenset(key)


def _contribution(statistic: Statistic, inside: Sequence[tuple[Seen, int]]) -> object:
    """Return the value of a statistic for rows without freedom; _FREE if they have some."""
    if statistic is COUNT:
        return sum(n for _, n in inside)
    if any(s.span[0] != s.span[1] or s.asked.shift[0] != s.asked.shift[1] for s, _ in inside):
        return _FREE
    if statistic is not ORDER:
        return sum(n * contribution_range(s.asked, s.span)[0] for s, n in inside)
    values: dict[int, int] = {}
    for seen, n in inside:
        value = value_range(seen.asked, seen.span)[0]
        values[value] = values.get(value, 0) + n
    return tuple(sorted(values.items()))


def _vector(number: int, counted: Counted) -> Vector:
    """Return the direction of a sum over rows: a variable for every atom and column.

    "A sum is a linear form in the totals of (atom, column)" once the rows in each atom are fixed.
    """
    return tuple(
        (f"{kind.name}.{column}", times)
        for kind, _ in counted
        if number in kind.seen
        for column, times in kind.seen[number].asked.direction
    )


# --- several rows ---------------------------------------------------------------------------------


MOST_MULTISETS = 16_384
"""How many multisets of atoms a price may list, over all multisets of types together."""


@dataclass(frozen=True, slots=True)
class TypedRows:
    """Some rows of one type, and what their type leaves of each question, by number."""

    asked: Mapping[int, Asked]
    amount: int


@dataclass(frozen=True, slots=True)
class _Side:
    """What one row of a type can contribute to a single question."""

    asked: Asked
    amount: int
    inside: bool
    outside: bool
    span: IntRange

    @property
    def ways(self) -> Sequence[int]:
        """How many of the rows the question can count."""
        if not self.inside:
            return (0,)
        return range(self.amount + 1) if self.outside else (self.amount,)

    @property
    def hull(self) -> int:
        """How far apart two contributions of one row can lie."""
        if not self.inside:
            return 0
        if not self.outside and self.asked.statistic is SUM:
            # Every row counts, and what known columns add to it is fixed: the private part moves.
            return abs(self.asked.scale) * (self.span[1] - self.span[0])
        low, high = contribution_range(self.asked, self.span)
        return max(high, 0) - min(low, 0) if self.outside else high - low


class SeveralRowsPricer:
    """Prices multisets of typed rows, and caches atoms and prices."""

    def __init__(
        self,
        schema: Schema,
        grids: Sequence[CellGrid],
        *,
        absent: bool,
        listed: int = 1,
        joints: dict[object, int | None] | None = None,
    ) -> None:
        """Price at some steps; ``joints`` keeps what does not depend on them."""
        self.schema, self.grids, self.absent = schema, grids, absent
        self._joints: dict[object, int | None] = {} if joints is None else joints
        self.most = max(MOST_MULTISETS // listed, 32)
        self._atoms: dict[tuple[Asked, ...], Atoms | None] = {}
        self._cells: dict[object, int] = {}

    def cells(self, rows: Sequence[TypedRows]) -> int:
        """Return the price of some rows; rows that differ only in names cost the same."""
        names: dict[int, int] = {}
        named = [
            [(names.setdefault(n, len(names)), q, self.grids[n]) for n, q in typed.asked.items()]
            for typed in rows
        ]
        key = tuple([(typed.amount, *of_type) for typed, of_type in zip(rows, named, strict=True)])
        if key not in self._cells:
            self._cells[key] = prod(part.cells for part in self.parts(rows))
        return self._cells[key]

    def parts(self, rows: Sequence[TypedRows]) -> list[PartPrice]:
        """Price the questions that some rows can touch, in parts without a common column."""
        columns: dict[int, set[str]] = {}
        for typed in rows:
            for number, asked in typed.asked.items():
                columns.setdefault(number, set()).update(asked.columns)
        return [
            self._part(numbers, cols, rows) for numbers, cols in independent_groups(columns.items())
        ]

    def _form(self, asked: tuple[Asked, ...]) -> Atoms | None:
        if asked not in self._atoms:
            self._atoms[asked] = form_atoms(asked, self.schema)
        return self._atoms[asked]

    def _part(
        self, numbers: Sequence[int], columns: set[str], rows: Sequence[TypedRows]
    ) -> PartPrice:
        points = prod(self.schema.columns[c].size for c in columns)
        # Bound (1), type by type: rows of different types are told apart, so they are no multiset.
        # One row in each of two open groups with a bit to hide has 4 answers, not C(3, 2) = 3.
        several = prod(choices(points + self.absent, typed.amount) for typed in rows)
        singles = prod(self._single(number, rows) for number in numbers)
        kinds = [self._kinds(f"{place}", numbers, typed.asked) for place, typed in enumerate(rows)]
        formed = [atoms for atoms in kinds if atoms is not None]
        joint = coarse = None  # where a type has too many atoms there is no bound (3)
        if len(formed) == len(kinds):
            joint = self._joint(numbers, rows, formed)
            coarse = self._with_coarse(numbers, rows, formed)
        return PartPrice(
            tuple(numbers), tuple(sorted(columns)), several, singles, None, joint, coarse
        )

    def _joint(
        self, numbers: Sequence[int], rows: Sequence[TypedRows], kinds: Sequence[list[TypedAtom]]
    ) -> int | None:
        """Return bound (3): counts are told apart exactly, whatever their steps."""
        amounts = [typed.amount for typed in rows]
        questions = [tuple(typed.asked.get(n) for n in numbers) for typed in rows]
        statistics = {asked.statistic for of_type in questions for asked in of_type if asked}
        if statistics != {COUNT}:
            return sum_over_multisets(kinds, amounts, self.grids, self.most)
        constant = tuple(self.grids[n].constant for n in numbers)
        key = (*questions, *amounts, constant, self.most)
        if key not in self._joints:
            self._joints[key] = sum_over_multisets(kinds, amounts, self.grids, self.most)
        return self._joints[key]

    def _with_coarse(
        self, numbers: Sequence[int], rows: Sequence[TypedRows], kinds: Sequence[list[TypedAtom]]
    ) -> int | None:
        """Return the bound of section "Coarse counts"; None where all counts are exact."""
        counts: dict[int, CoarseCount] = {}
        for place, typed in enumerate(rows):
            for n, asked in typed.asked.items():
                grid = self.grids[n]
                if n in numbers and asked.statistic is COUNT and not grid.constant:
                    ways = self._side(asked, typed.amount).ways
                    count = counts.setdefault(n, CoarseCount(grid.over, grid.under, {}))
                    if max(ways) > min(ways):
                        count.varying[place] = max(ways)

        def others(rest: Container[int]) -> int:
            return self.cells(
                [
                    TypedRows({n: q for n, q in typed.asked.items() if n in rest}, typed.amount)
                    for typed in rows
                ]
            )

        together = [kind.seen.keys() for of_type in kinds for kind in of_type]
        return cells_with_coarse(numbers, counts, together, others)

    def _kinds(
        self, name: str, numbers: Sequence[int], asked: Mapping[int, Asked]
    ) -> list[TypedAtom] | None:
        numbers_here = [number for number in numbers if number in asked]
        atoms = self._form(tuple(asked[number] for number in numbers_here))
        if atoms is None:
            return None
        kinds = [
            TypedAtom(f"{name}.{k}", atom.points, seen_by(atom, atoms, numbers_here))
            for k, atom in enumerate(atoms.atoms)
        ]
        # "More rows never lower a bound": r rows are priced, and a row may be the absent record.
        return [*kinds, TypedAtom(f"{name}.absent", 1, {})] if self.absent else kinds

    def _single(self, number: int, rows: Sequence[TypedRows]) -> int:
        """Return the price of one question alone: over how many rows it counts, and by its hull."""
        grid = self.grids[number]
        sides = [
            self._side(typed.asked[number], typed.amount) for typed in rows if number in typed.asked
        ]
        statistic = sides[0].asked.statistic
        if statistic is ORDER:
            return _order(sides, grid)
        if grid.constant:
            return 1
        if statistic is COUNT:
            return 1 + grid.counted(sum(max(side.ways) - min(side.ways) for side in sides))
        # Bound (2) of a sum: over how many rows of each type count, or by the sum of hulls.
        squares, scale = statistic is SQUARES, abs(sides[0].asked.scale)
        lengths = [
            square_length(s.asked, s.span) if squares else s.span[1] - s.span[0] for s in sides
        ]
        total = 0
        for chosen in product(*(side.ways for side in sides)):
            length = sum(map(mul, chosen, lengths))
            crossed = grid.crossed(length) if squares else min(grid.crossed(scale * length), length)
            total += 1 + crossed
        return min(total, 1 + grid.crossed(sum(side.amount * side.hull for side in sides)))

    def _side(self, asked: Asked, amount: int) -> _Side:
        atoms = self._form((asked,))
        if atoms is None:
            span = everywhere(asked, self.schema)
            return _Side(asked, amount, inside=True, outside=True, span=span)
        spans = [seen_by(atom, atoms, (0,))[0].span for atom in atoms.atoms if atom.alive]
        hull = (min((low for low, _ in spans), default=0), max((h for _, h in spans), default=0))
        outside = self.absent or len(spans) < len(atoms.atoms)
        return _Side(asked, amount, bool(spans), outside, hull)


def _order(sides: Sequence[_Side], grid: CellGrid) -> int:
    """Return the price of an order statistic: its levels, or those of each number of rows."""
    total, empty = 0, False
    for chosen in product(*(side.ways for side in sides)):
        pairs = zip(sides, chosen, strict=True)
        total += levels_of([value_range(side.asked, side.span) for side, n in pairs if n], grid)
        empty = empty or not any(chosen)
    # The levels are those of the whole schema range, not of the person's own values: none, one or
    # two rows of one known value move a quantile to 3 answers.
    return min(total, grid.levels + empty)


def everywhere(asked: Asked, schema: Schema) -> IntRange:
    """Return the range of a direction over all records."""
    ends = [sorted((0, t * (schema.columns[c].points - 1))) for c, t in asked.direction]
    return sum(low for low, _ in ends), sum(high for _, high in ends)
