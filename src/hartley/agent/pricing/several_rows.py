"""Several rows a person: how many vectors of answers a multiset of records can cause."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from hartley.agent.batch import Statistic
from hartley.agent.pricing.atoms import form_atoms
from hartley.agent.pricing.multisets import (
    Kind,
    Seen,
    choices,
    crossed_by,
    levels_of,
    seen_by,
    sum_over_multisets,
)
from hartley.agent.pricing.one_row import Part
from hartley.agent.pricing.regions import apart, contribution_range, value_range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.agent.pricing.atoms import Asked, Atoms, Range
    from hartley.agent.pricing.regions import Grid
    from hartley.ranges.schema import Schema

MOST_MULTISETS = 16_384
"""How many multisets of atoms a price may list, over all multisets of types together."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of one type, and what their type leaves of each question, by number."""

    asked: Mapping[int, Asked]
    amount: int


@dataclass(frozen=True, slots=True)
class _Side:
    """What one row of a type can be to a question alone."""

    asked: Asked
    amount: int
    inside: bool
    outside: bool
    span: Range

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
        if not self.outside and self.asked.statistic is Statistic.SUM:
            return abs(self.asked.scale) * (self.span[1] - self.span[0])
        low, high = contribution_range(self.asked, self.span)
        return max(high, 0) - min(low, 0) if self.outside else high - low


class Pricing:
    """Prices multisets of typed rows, and remembers what it has formed and found."""

    def __init__(
        self, schema: Schema, grids: Sequence[Grid], *, absent: bool, most: int = MOST_MULTISETS
    ) -> None:
        self.schema, self.grids, self.absent, self.most = schema, grids, absent, most
        self._atoms: dict[tuple[Asked, ...], Atoms | None] = {}
        self._cells: dict[object, int] = {}

    def cells(self, rows: Sequence[Rows]) -> int:
        """Return the price of some rows; rows that differ in nothing but names cost the same."""
        names: dict[int, int] = {}
        key = tuple(
            (
                some.amount,
                *(
                    (names.setdefault(n, len(names)), q, self.grids[n])
                    for n, q in some.asked.items()
                ),
            )
            for some in rows
        )
        if key not in self._cells:
            self._cells[key] = prod(part.cells for part in self.parts(rows))
        return self._cells[key]

    def parts(self, rows: Sequence[Rows]) -> list[Part]:
        """Price the questions that some rows can touch, in parts without a common column."""
        columns: dict[int, set[str]] = {}
        for some in rows:
            for number, asked in some.asked.items():
                columns.setdefault(number, set()).update(asked.columns)
        return [self._part(numbers, cols, rows) for numbers, cols in apart(columns.items())]

    def _form(self, asked: tuple[Asked, ...]) -> Atoms | None:
        if asked not in self._atoms:
            self._atoms[asked] = form_atoms(asked, self.schema)
        return self._atoms[asked]

    def _part(self, numbers: Sequence[int], columns: set[str], rows: Sequence[Rows]) -> Part:
        points = prod(self.schema.columns[c].size for c in columns)
        several = prod(choices(points + self.absent, some.amount) for some in rows)
        singles = prod(self._single(number, rows) for number in numbers)
        kinds = [self._kinds(f"{place}", numbers, some.asked) for place, some in enumerate(rows)]
        known = [some for some in kinds if some is not None]
        joint = None
        if len(known) == len(kinds):
            amounts = [some.amount for some in rows]
            joint = sum_over_multisets(known, amounts, self.grids, self.most)
        return Part(tuple(numbers), tuple(sorted(columns)), several, singles, None, joint)

    def _kinds(
        self, name: str, numbers: Sequence[int], asked: Mapping[int, Asked]
    ) -> list[Kind] | None:
        here = [number for number in numbers if number in asked]
        atoms = self._form(tuple(asked[number] for number in here))
        if atoms is None:
            return None
        kinds = [
            Kind(f"{name}.{k}", atom.points, seen_by(atom, atoms, here))
            for k, atom in enumerate(atoms.atoms)
        ]
        return [*kinds, Kind(f"{name}.absent", 1, {})] if self.absent else kinds

    def _single(self, number: int, rows: Sequence[Rows]) -> int:
        """Return the price of one question alone: over how many rows it counts, and by its hull."""
        grid = self.grids[number]
        sides = [
            self._side(some.asked[number], some.amount) for some in rows if number in some.asked
        ]
        statistic = sides[0].asked.statistic
        if statistic is Statistic.ORDER:
            return _order(sides, grid)
        if grid.constant:
            return 1
        if statistic is Statistic.COUNT:
            return 1 + sum(max(side.ways) - min(side.ways) for side in sides)
        total = 0
        for chosen in product(*(side.ways for side in sides)):
            pairs = zip(sides, chosen, strict=True)
            total += 1 + crossed_by([(Seen(s.asked, s.span), n) for s, n in pairs], grid)
        return min(total, 1 + grid.crossed(sum(side.amount * side.hull for side in sides)))

    def _side(self, asked: Asked, amount: int) -> _Side:
        atoms = self._form((asked,))
        if atoms is None:
            span = _everywhere(asked, self.schema)
            return _Side(asked, amount, inside=True, outside=True, span=span)
        spans = [seen_by(atom, atoms, (0,))[0].span for atom in atoms.atoms if atom.alive]
        hull = (min((low for low, _ in spans), default=0), max((h for _, h in spans), default=0))
        outside = self.absent or len(spans) < len(atoms.atoms)
        return _Side(asked, amount, bool(spans), outside, hull)


def _order(sides: Sequence[_Side], grid: Grid) -> int:
    """Return the price of an order statistic: its levels, or those of each number of rows."""
    total, empty = 0, False
    for chosen in product(*(side.ways for side in sides)):
        pairs = zip(sides, chosen, strict=True)
        total += levels_of([value_range(side.asked, side.span) for side, n in pairs if n], grid)
        empty = empty or not any(chosen)
    return min(total, grid.levels + empty)


def _everywhere(asked: Asked, schema: Schema) -> Range:
    """Return the range of a direction over all records."""
    ends = [sorted((0, t * (schema.columns[c].points - 1))) for c, t in asked.direction]
    return sum(low for low, _ in ends), sum(high for _, high in ends)
