"""One row a person: prices inside the parts that earlier filters leave (rules O and W).

A *part* is a set of records of one type on which every earlier filter is constant. A question is
priced in the part where it costs most (rule O), with forms that vary no further than the cell of an
earlier sum allows (rule W). The proofs are in docs/accountant.md, section "What was told before".
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import product
from math import isqrt, prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from hartley.agent.pricing.atoms import form_atoms
from hartley.agent.pricing.one_row import NO_WINDOWS, Windows, price_part
from hartley.agent.pricing.public_parts import PublicParts
from hartley.agent.pricing.regions import CellGrid
from hartley.agent.pricing.worst_case import Resolved, independent
from hartley.agent.questions.batch import Statistic, columns_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet

    from hartley.agent.pricing.atoms import Asked, Atom, Atoms, Direction, IntRange
    from hartley.agent.pricing.told import ToldBefore
    from hartley.agent.pricing.worst_case import KnownType
    from hartley.agent.questions.batch import Question
    from hartley.agent.questions.condition import Conjunction
    from hartley.ranges.schema.schema import Schema

MOST_RUNS = 32
"""Combinations of runs of classes that one group of questions is priced in."""

T = TypeVar("T")
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

    def __init__(self, questions: Sequence[Question], told: ToldBefore) -> None:
        self.schema = told.schema
        opened = any(column.kind == "open" for column in self.schema.columns.values())
        self.absent = self.schema.rows == "private" and not opened
        self.asked = list(questions)
        touched: frozenset[str] = frozenset().union(*map(columns_named, questions))
        private = frozenset(c for c in touched if self.schema.columns[c].kind == "private")
        self._filters = told.filters(private, touched - private)
        self._sums = told.sums(private)
        self.grids = [CellGrid.of(question) for question in questions]
        self._priced: dict[object, tuple[int, int, int]] = {}

    @property
    def rows(self) -> set[int]:
        """The rows that the price rests on."""
        return {entry.row for entry in (*self._filters, *self._sums)}

    @property
    def filters(self) -> list[Question]:
        """The earlier filters that are looked at."""
        return [entry.question for entry in self._filters]

    @property
    def sums(self) -> list[Question]:
        """The earlier sums that are looked at."""
        return [entry.question for entry in self._sums]

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
            del dropped[len(dropped) // 2 :]
        return None

    def _resolve(self) -> Resolved | None:
        questions = [*self.asked, *self.filters, *self.sums]
        silent = [
            k
            for k, grid in enumerate(self.grids)
            if grid.constant and self.asked[k].statistic is not Statistic.ORDER
        ]
        resolved = Resolved(questions, self.schema, silent)
        return None if any(number < len(self.asked) for number in resolved.opaque) else resolved

    def _of_publics(self) -> PublicParts | None:
        resolved = self._resolve()
        publics = None if resolved is None else resolved.public_types()
        if resolved is None or publics is None:
            return None
        cuts, listed = publics
        cells: dict[KnownType, int] = {}
        for public in listed:
            if public not in cells:
                most = self._most(resolved, resolved.refine(public, ("open",)))
                if most is None:
                    return None
                cells[public] = most
        return PublicParts.of(cuts, tuple([cells[public] for public in listed]))

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
            cells = self._of_type(resolved.asked(known))
            if cells is None:
                return None
            most = max(most, cells)
        return most

    def _of_type(self, pairs: Sequence[tuple[int, Asked]]) -> int | None:
        own = [pair for pair in pairs if pair[0] < len(self.asked)]
        end = len(self.asked) + len(self.filters)
        filters = [asked for number, asked in pairs if len(self.asked) <= number < end]
        sums = [
            window
            for number, asked in pairs
            if number >= end and (window := self._window(self._sums[number - end].question, asked))
        ]
        # All parts, and those of the absent record, whom no filter counts: present alone, joined.
        anywhere = nowhere = joined = 1
        for group in independent(own):
            prices = self._group(group, filters, sums)
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
    ) -> tuple[int, int, int] | None:
        """Price a group in the part that costs most; in the part of nobody; there with absence."""
        columns = frozenset().union(*[asked.columns for _, asked in group])
        near = [f for f in filters if f.columns & columns or (self.absent and f.terms == ALWAYS)]
        near = list({f.terms: f for f in near if self.absent or f.terms != ALWAYS}.values())
        sums = [window for window in sums if any(c in columns for c, _ in window.direction)]
        numbers = tuple(number for number, _ in group)
        questions = tuple(asked for _, asked in group)
        key = (numbers, questions, tuple(f.terms for f in near), tuple(sums))
        if key not in self._priced:
            priced = self._parts(numbers, questions, near, sums)
            if priced is None:
                return None
            self._priced[key] = priced
        return self._priced[key]

    def _parts(
        self,
        numbers: tuple[int, ...],
        questions: tuple[Asked, ...],
        filters: list[Asked],
        sums: Sequence[_Window],
    ) -> tuple[int, int, int] | None:
        presence = any(f.terms == ALWAYS for f in filters)
        everywhere = _windows(sums, {ALWAYS} if presence or not self.absent else set())
        grids = [self.grids[number] for number in numbers]
        without = form_atoms(questions, self.schema)
        if without is None:
            return None
        # What was told never raises a price, so nothing is won once a part costs as much.
        largest = price_part(numbers, without, grids, absent=False).cells
        most = [0, 0, 0]
        for within in _runs((*questions, *filters), everywhere, self.schema):
            atoms = form_atoms((*questions, *filters), self.schema, within)
            if atoms is None:
                return None
            for alive, members in self._cut(atoms, len(questions)).items():
                true = {filters[k].terms for k in alive}
                if not self.absent or alive:
                    true.add(ALWAYS)  # the record is there
                windows = _windows(sums, true)
                part = _bounded(members, windows, within, self.schema)
                cells = price_part(numbers, part, grids, windows, absent=False).cells
                most[0] = max(most[0], cells)
                if most[0] >= largest and not self.absent:
                    return largest, largest, largest
                if not alive:
                    most[1] = max(most[1], cells)
                    joined = price_part(numbers, part, grids, windows, absent=True).cells
                    most[2] = max(most[2], joined)
        return most[0], most[1], max(most[2], 1)

    @staticmethod
    def _cut(atoms: Atoms, asked: int) -> dict[tuple[int, ...], Atoms]:
        """Cut atoms into parts by the earlier filters that count their records."""
        parts: dict[tuple[int, ...], list[Atom]] = {}
        for atom in atoms.atoms:
            alive = tuple(k - asked for k in atom.alive if k >= asked)
            own = tuple(k for k in atom.alive if k < asked)
            parts.setdefault(tuple(sorted(alive)), []).append(atom._replace(alive=own))
        return {
            alive: replace(atoms, asked=atoms.asked[:asked], atoms=tuple(members))
            for alive, members in parts.items()
        }

    def _window(self, told: Question, asked: Asked) -> _Window | None:
        """Return how far the form of an earlier sum can vary within its cell, where it counts.

        Proved: proofs/Grid.v, rule_W. Proved: proofs/Grid.v, rule_W_squares.
        """
        room = -(-told.step.numerator // told.step.denominator) - 1  # a cell's whole numbers
        if asked.statistic is Statistic.SQUARES:
            # V^2 - U^2 >= (V - U)^2 only where V and U have one sign.
            if asked.shift[0] + min(0, *_ends(asked, self.schema)) < 0:
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


def _ends(asked: Asked, schema: Schema) -> IntRange:
    """Return from where to where the private part of a form runs."""
    ends = [
        sorted((0, asked.scale * times * (schema.columns[column].points - 1)))
        for column, times in asked.direction
    ]
    return sum([low for low, _ in ends]), sum([high for _, high in ends])


def _bounded(
    part: Atoms, windows: Windows, within: Mapping[str, IntRange], schema: Schema
) -> Atoms:
    """Return a part with the number of its points, over the columns that are asked about."""
    columns = frozenset().union(*[asked.columns for asked in part.asked])
    sizes = {
        c: within[c][1] - within[c][0] + 1 if c in within else schema.columns[c].size
        for c in columns
    }
    most = prod([windows.codes(column, size) for column, size in sizes.items()])
    return replace(part, points=min(most, sum([atom.points for atom in part.atoms])))


def _runs(
    asked: Sequence[Asked], windows: Windows, schema: Schema
) -> Iterator[dict[str, IntRange]]:
    """Yield ranges of columns of which one certainly holds the record, where windows hold anywhere.

    A column that varies by L at most stays in a run of its classes: from the last code of the first
    class to the first code of the last one it is no further than L.
    """
    choices: list[list[tuple[str, IntRange]]] = []
    combinations = 1
    for column in sorted({c for question in asked for term in question.terms for c, _ in term}):
        length = windows.lengths.get(((column, 1),))
        described = schema.columns[column]
        if length is None or described.nullable:
            continue
        starts = _starts(column, asked, described.points)
        ends = [*(start - 1 for start in starts[1:]), described.points - 1]
        runs, reached = [], -1
        for first, end in enumerate(ends):
            last = bisect_right(starts, end + length) - 1
            if last > reached:  # else the run before holds this one
                runs.append((column, (starts[first], ends[last])))
                reached = last
        if combinations * len(runs) <= MOST_RUNS:
            combinations *= len(runs)
            choices.append(runs)
    for chosen in product(*choices):
        yield dict(chosen)


def _starts(column: str, asked: Sequence[Asked], points: int) -> list[int]:
    """Return where the classes of a column begin, in the order of codes."""
    leaves = [
        leaf for question in asked for term in question.terms for c, leaf in term if c == column
    ]
    edges = {edge for codes, _ in leaves for low, high in codes for edge in (low, high + 1)}
    return sorted({0, *(edge for edge in edges if 0 <= edge < points)})
