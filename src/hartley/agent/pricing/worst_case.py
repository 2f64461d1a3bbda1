"""The worst case of a batch: the type of the public and open columns that costs most.

"Everything below is for one type, and the price is the maximum over types" (docs/accountant.md,
"One batch, one row per person"; for multisets of types "Several rows per person"). Beyond a cap of
the section "Caps", questions are priced apart and multiplied: larger, and still a bound.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import comb, inf, prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hartley.agent.pricing.atoms import beyond_cap, form_atoms
from hartley.agent.pricing.known_types import Resolved, independent
from hartley.agent.pricing.one_row import PartPrice, price_part, signature_of
from hartley.agent.pricing.public_parts import PublicParts
from hartley.agent.pricing.regions import product_within
from hartley.agent.pricing.several_rows import SeveralRowsPricer, TypedRows
from hartley.agent.questions.batch import ORDER, SQUARES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hartley.agent.pricing.atoms import Asked, Atoms
    from hartley.agent.pricing.known_types import KnownType
    from hartley.agent.pricing.regions import CellGrid
    from hartley.agent.questions.batch import Question
    from hartley.ranges.schema.schema import Schema


MOST_TYPES = 512
"""Beyond this many multisets of types of rows, questions are priced type by type."""


@dataclass(frozen=True, slots=True)
class PriceCase:
    """The factors of a price; their product, plus 1 if absence adds an output."""

    parts: tuple[PartPrice, ...] = ()
    absence: bool = False
    """Whether being absent adds one output to the product of the parts."""
    factors: tuple[int, ...] = ()
    """Prices of questions that were not examined, or of further groups of them."""

    @property
    def cells(self) -> int:
        """The number of outputs."""
        return (prod([p.cells for p in self.parts]) + self.absence) * prod(self.factors)


class _Group(NamedTuple):
    """Questions that share private columns with each other, and with no other question."""

    pairs: Sequence[tuple[int, Asked]]
    numbers: tuple[int, ...]
    asked: tuple[Asked, ...]
    atoms: Atoms | None

    @property
    def silent(self) -> bool:
        """Whether a present record can be counted by no question, like an absent one."""
        return self.atoms is not None and any(not atom.alive for atom in self.atoms.atoms)


_Priced: TypeAlias = dict[tuple[int, bool], PartPrice]
"""The groups that were priced at some steps, by their names and whether the row may be absent."""


def prices_absence(schema: Schema) -> bool:
    """Whether a price counts that the row may be absent."""
    opened = any(column.kind == "open" for column in schema.columns.values())
    # Where open columns were paid for, the number of rows was paid for with them: the factor of
    # private rows, C(m + r, r), counts how many of the r rows there are.
    return schema.rows == "private" and not opened


class Pricer:
    """Prices one batch at any steps; atoms are formed once."""

    def __init__(
        self, questions: Sequence[Question], schema: Schema, silent: Sequence[int] = ()
    ) -> None:
        """Split a batch; silent questions are those that have one answer at every step."""
        self.questions, self.schema, self.silent = questions, schema, list(silent)
        self._resolved = Resolved(questions, schema, silent)
        ignored = {*silent, *self._resolved.opaque}
        self._asked = [number for number in range(len(questions)) if number not in ignored]
        self._absent = prices_absence(schema)
        self._atoms: dict[tuple[int, ...], Atoms | None] = {}
        self._groups: dict[tuple[int, ...], _Group] = {}
        self._crowd: frozenset[int] = frozenset()
        """Questions that no group within the cap on atoms has all of, if some are known."""
        self._parts_of: dict[int, list[_Group]] = {}
        self._types: list[list[_Group]] | None = None
        self._joints: dict[object, int | None] = {}

    def worst(self, grids: Sequence[CellGrid]) -> PriceCase:
        """Return the case that costs most at some steps."""
        several = self.schema.rows_per_unit > 1
        case = self._several_rows(grids) if several else self._one_row(grids)
        # A vector of answers is a vector of its parts, so any bound of a part may be multiplied.
        blind = tuple([self._blind(n, grids[n]) for n in self._resolved.opaque])
        return replace(case, factors=case.factors + blind) if blind else case

    def by_public(self, grids: Sequence[CellGrid]) -> PublicParts | None:
        """Return the price for every type of the public columns; None beyond a cap."""
        publics = self._resolved.public_types()
        if publics is None:
            return None
        cuts, listed = publics
        blind = prod([self._blind(n, grids[n]) for n in self._resolved.opaque])
        cells: dict[KnownType, int] = {}
        named: dict[object, int] = {}
        priced: _Priced = {}
        several = self.schema.rows_per_unit > 1
        for public in listed:
            if public in cells:
                continue
            types = self._resolved.refine(public, ("open",), apart=several)
            if types is None:
                return None
            if several:
                cells[public] = self._of_types(types, grids).cells
                continue
            cells[public] = 1
            for known in types:
                members = independent(self._resolved.asked(known))
                groups = [self._group(each) for each in members]
                key = self._name(groups, grids)
                if key not in named:
                    named[key] = self._of_type(groups, grids, priced).cells
                cells[public] = max(cells[public], named[key])
        return PublicParts.of(cuts, tuple([cells[public] * blind for public in listed]))

    # --- one row per person ---------------------------------------------------------------------

    def signature(self) -> object:
        """Return all that prices at any steps depend on; None where it is not worked out.

        Batches that differ in which codes pass their filters often have the same.
        """
        types = self._row_types() if self.schema.rows_per_unit == 1 else None
        if types is None or self._resolved.opaque:
            return None
        listed = []
        for groups in types:
            if any(group.atoms is None for group in groups):
                return None
            listed.append(tuple([(g.numbers, signature_of(g.atoms)) for g in groups if g.atoms]))
        return tuple(listed)

    def _row_types(self) -> list[list[_Group]] | None:
        """Return the groups of every type of a row; None if there are too many."""
        if self._types is None:
            row_types = self._resolved.refine(self._resolved.start(), ("public", "open"))
            if row_types is not None:
                types = [self._resolved.asked(known) for known in row_types]
                self._crowd = self._crowded(types)
                self._types = [
                    [self._group(members) for members in independent(asked)] for asked in types
                ]
        return self._types

    def _crowded(self, types: Sequence[Sequence[tuple[int, Asked]]]) -> frozenset[int]:
        """Return the questions that all types ask alike, if these alone are beyond the cap."""
        if len(types) == 1:
            return frozenset()
        shared = set(map(id, types[0])).intersection(*[map(id, pairs) for pairs in types[1:]])
        asked = [pair[1] for pair in types[0] if id(pair) in shared]
        beyond = beyond_cap(asked, self._resolved.terms, self.schema)
        return frozenset(map(id, asked) if beyond else ())

    def _one_row(self, grids: Sequence[CellGrid]) -> PriceCase:
        types = self._row_types()
        if types is None:
            return PriceCase(factors=tuple(self._apart(self._asked, grids)))
        worst, most = PriceCase(), 1
        priced: _Priced = {}
        for groups in self._distinct(types, grids):
            case = self._of_type(groups, grids, priced)
            cells = case.cells
            if cells > most:
                worst, most = case, cells
        return worst

    @staticmethod
    def _name(groups: list[_Group], grids: Sequence[CellGrid]) -> object:
        """Name what a type is asked; types with one name cost the same."""
        return tuple([(*map(id, g.asked), *[grids[n] for n in g.numbers]) for g in groups])

    @staticmethod
    def _distinct(types: list[list[_Group]], grids: Sequence[CellGrid]) -> Iterable[list[_Group]]:
        """Return one type for each set of remaining questions; equal sets cost the same."""
        if len(types) == 1:
            return types
        # ``asked`` makes equal questions one object, so that their ids stand for them.
        if len({tuple([tuple(map(id, g.asked)) for g in groups]) for groups in types}) == len(
            types
        ):
            return types
        first: dict[CellGrid, int] = {}
        names = [first.setdefault(grid, number) for number, grid in enumerate(grids)]
        distinct: dict[object, list[_Group]] = {}
        for groups in types:
            key = tuple([(*map(id, g.asked), *[names[n] for n in g.numbers]) for g in groups])
            distinct.setdefault(key, groups)
        return distinct.values()

    def _group(self, pairs: Sequence[tuple[int, Asked]]) -> _Group:
        """Return questions as a group; equal groups are the same object."""
        key = tuple(map(id, pairs))  # ``Resolved.asked`` makes equal pairs one object
        group = self._groups.get(key)
        if group is None:
            numbers: tuple[int, ...]
            asked: tuple[Asked, ...]
            numbers, asked = zip(*pairs, strict=True)
            names = tuple(map(id, asked))
            if names not in self._atoms:
                beyond = self._crowd and self._crowd.issubset(names)
                self._atoms[names] = None if beyond else form_atoms(asked, self.schema)
            group = self._groups[key] = _Group(pairs, numbers, asked, self._atoms[names])
        return group

    def _of_type(
        self, groups: Sequence[_Group], grids: Sequence[CellGrid], priced: _Priced
    ) -> PriceCase:
        present = PriceCase(tuple([self._part(g, grids, priced, absent=False) for g in groups]))
        # Where some present record is counted by nothing, the absent one has its output. Else it
        # "adds one output to the product, at most"; as a point of every group it may add less.
        if not self._absent or all(group.silent for group in groups):
            return present
        apart = PriceCase(present.parts, absence=True)
        joined = PriceCase(tuple(self._part(g, grids, priced, absent=True) for g in groups))
        return min(apart, joined, key=lambda case: case.cells)

    def _part(
        self, group: _Group, grids: Sequence[CellGrid], priced: _Priced, *, absent: bool
    ) -> PartPrice:
        """Price a group, once for all types that have it."""
        key = (id(group), absent)
        if key not in priced:
            if group.atoms is not None:
                group_grids = [grids[number] for number in group.numbers]
                priced[key] = price_part(
                    group.numbers, group.atoms, group_grids, absent=absent, whole=True
                )
            else:
                priced[key] = self._unseen(group, grids, priced, absent=absent)
        return priced[key]

    def _unseen(
        self, group: _Group, grids: Sequence[CellGrid], priced: _Priced, *, absent: bool
    ) -> PartPrice:
        """Price a group with too many atoms: questions with the same filter columns together."""
        numbers = group.numbers
        if len(numbers) == 1:
            return PartPrice(
                numbers, (), None, self._blind(numbers[0], grids[numbers[0]]), None, None
            )
        if id(group) not in self._parts_of:
            self._parts_of[id(group)] = [self._group(some) for some in _buckets(group.pairs)]
        columns = sorted(frozenset().union(*[asked.columns for asked in group.asked]))
        points = prod([self.schema.columns[c].size for c in columns]) + absent

        def price(some: _Group) -> int:
            return self._part(some, grids, priced, absent=absent).cells

        # Where lengths are collected, all of them are needed.
        limit = points if grids[numbers[0]].lengths is None else inf
        singles = product_within(price, self._parts_of[id(group)], limit)
        return PartPrice(numbers, tuple(columns), points, singles, None, None)

    # --- several rows per person ----------------------------------------------------------------

    def _several_rows(self, grids: Sequence[CellGrid]) -> PriceCase:
        worst = PriceCase()
        publics = self._resolved.refine(self._resolved.start(), ("public",))
        for public in publics or ():
            types = self._resolved.refine(public, ("open",), apart=True)
            if types is None:
                publics = None
                break
            case = self._of_types(types, grids)
            worst = max(worst, case, key=lambda each: each.cells)
        return (
            PriceCase(factors=tuple(self._apart(self._asked, grids))) if publics is None else worst
        )

    def _of_types(self, types: Sequence[KnownType], grids: Sequence[CellGrid]) -> PriceCase:
        r = self.schema.rows_per_unit
        asked = [dict(self._resolved.asked(known)) for known in types]
        # "The maximum over multisets of r types with one public value". The maximum over single
        # types is too small: one row in each of two open groups gives 4 pairs of counts, and two
        # rows in one group 3.
        several = comb(len(types) + r - 1, r)
        listed = several if several <= MOST_TYPES else r * len(types)
        pricing = SeveralRowsPricer(
            self.schema,
            grids,
            absent=self._absent,
            listed=listed,
            joints=self._joints,
        )
        if several <= MOST_TYPES:
            rows = [
                [TypedRows(asked[t], n) for t, n in Counter(chosen).items()]
                for chosen in combinations_with_replacement(range(len(types)), r)
            ]
            return PriceCase(tuple(pricing.parts(max(rows, key=pricing.cells))))
        # Too many multisets. A question that only one type asks depends on the rows of that type
        # alone, so the rows are shared out exactly; the others are priced apart and multiplied.
        homes = Counter(number for of_type in asked for number in of_type)
        local = [{n: q for n, q in of_type.items() if homes[n] == 1} for of_type in asked]
        spanning = sorted(number for number, types_of in homes.items() if types_of > 1)
        return PriceCase(factors=(self._knapsack(local, pricing), *self._apart(spanning, grids)))

    def _knapsack(self, local: Sequence[dict[int, Asked]], pricing: SeveralRowsPricer) -> int:
        """Share r rows among types so that the product of their prices is largest."""
        r = self.schema.rows_per_unit
        best = [1] * (r + 1)
        for asked in local:
            if asked:
                own = [1] + [pricing.cells([TypedRows(asked, n)]) for n in range(1, r + 1)]
                best = [max(best[k - n] * own[n] for n in range(k + 1)) for k in range(r + 1)]
        return best[r]

    def _apart(self, numbers: Sequence[int], grids: Sequence[CellGrid]) -> list[int]:
        """Price questions separately, except those that use the same known columns."""
        if not numbers:
            return []
        if len(numbers) < len(self._asked):  # fewer questions may keep within the caps
            return [self._again(numbers, grids)]
        if len(numbers) == 1:
            return [self._blind(numbers[0], grids[numbers[0]])]
        buckets: dict[frozenset[str], list[int]] = {}
        for number in numbers:
            buckets.setdefault(self._resolved.known_columns(number), []).append(number)
        split = list(buckets.values()) if len(buckets) > 1 else [[number] for number in numbers]
        return [self._again(together, grids) for together in split]

    def _again(self, numbers: Sequence[int], grids: Sequence[CellGrid]) -> int:
        pricer = Pricer([self.questions[n] for n in numbers], self.schema)
        return pricer.worst([grids[n] for n in numbers]).cells

    def _blind(self, number: int, grid: CellGrid) -> int:
        """Return the price of a question without examining its filter."""
        question, r = self.questions[number], self.schema.rows_per_unit
        if question.statistic is ORDER:
            return grid.levels + 1  # one more: there may be no row
        if grid.constant:
            return 1
        if question.form is None:
            return 1 + grid.counted(r)
        # Each row adds something between low and high, zero included for a row that is filtered
        # out, so r rows move the total by no more than r times the length.
        low, high = contributions(question, self.schema)
        return 1 + grid.crossed(r * (high - low))


def _buckets(asked: Sequence[tuple[int, Asked]]) -> list[list[tuple[int, Asked]]]:
    """Group questions that filter by the same columns; each is alone if all would be together."""
    buckets: dict[frozenset[str], list[tuple[int, Asked]]] = {}
    for pair in asked:
        buckets.setdefault(pair[1].filtered, []).append(pair)
    if len(buckets) == 1:  # the columns do not help: only single questions are smaller
        return [[pair] for pair in asked]
    return [*independent(buckets.pop(frozenset(), [])), *buckets.values()]


def contributions(question: Question, schema: Schema) -> tuple[int, int]:
    """Return the range in which one row moves a sum or an order statistic, zero included."""
    assert question.form is not None
    low = high = question.form.constant
    for column, times in question.form.terms:
        ends = (0, times * (schema.columns[column].points - 1))
        low, high = low + min(ends), high + max(ends)
    if question.statistic is SQUARES:
        return 0, max(low * low, high * high)
    return min(low, 0), max(high, 0)
