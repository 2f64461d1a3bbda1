"""Prices for several rows per person: how many vectors of answers their records can cause.

This implements docs/accountant.md, section "Several rows per person", with its three bounds: (1)
the multisets of records, (2) the product of single prices, (3) the sum over multisets of atoms.
Counts in cells of several rows have one more: section "Coarse counts".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from operator import mul
from typing import TYPE_CHECKING

from hartley.agent.pricing.atoms import form_atoms
from hartley.agent.pricing.coarse_counts import CoarseCount, cells_with_coarse
from hartley.agent.pricing.multisets import (
    TypedAtom,
    choices,
    levels_of,
    seen_by,
    sum_over_multisets,
)
from hartley.agent.pricing.one_row import PartPrice
from hartley.agent.pricing.regions import apart, contribution_range, square_length, value_range
from hartley.agent.questions.batch import COUNT, ORDER, SQUARES, SUM

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from hartley.agent.pricing.atoms import Asked, Atoms, IntRange
    from hartley.agent.pricing.regions import CellGrid
    from hartley.ranges.schema.schema import Schema


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
        key = tuple(
            (
                typed.amount,
                *(
                    (names.setdefault(n, len(names)), q, self.grids[n])
                    for n, q in typed.asked.items()
                ),
            )
            for typed in rows
        )
        if key not in self._cells:
            self._cells[key] = prod(part.cells for part in self.parts(rows))
        return self._cells[key]

    def parts(self, rows: Sequence[TypedRows]) -> list[PartPrice]:
        """Price the questions that some rows can touch, in parts without a common column."""
        columns: dict[int, set[str]] = {}
        for typed in rows:
            for number, asked in typed.asked.items():
                columns.setdefault(number, set()).update(asked.columns)
        return [self._part(numbers, cols, rows) for numbers, cols in apart(columns.items())]

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
        statistics = {asked.statistic for some in questions for asked in some if asked}
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

        together = [kind.seen.keys() for some in kinds for kind in some]
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
            span = _everywhere(asked, self.schema)
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


def _everywhere(asked: Asked, schema: Schema) -> IntRange:
    """Return the range of a direction over all records."""
    ends = [sorted((0, t * (schema.columns[c].points - 1))) for c, t in asked.direction]
    return sum(low for low, _ in ends), sum(high for _, high in ends)
