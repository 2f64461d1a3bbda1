"""One row a person: prices inside the parts that earlier filters leave (rules O and W).

A *part* is a set of records of one type on which every earlier filter is constant. A question is
priced in the part where it costs most (rule O), with forms that vary no further than the cell of an
earlier sum allows (rule W). The proofs are in docs/accountant.md, section "What was told before".
"""

from __future__ import annotations

from functools import reduce
from itertools import takewhile
from math import isqrt, prod
from operator import itemgetter, or_
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from hartley.agent.pricing.atoms import Atom, bits_of, form_atoms
from hartley.agent.pricing.known_types import Resolved, independent
from hartley.agent.pricing.one_row import NO_WINDOWS, Windows, crossed_in, price_part, single
from hartley.agent.pricing.parted_atoms import PartedAtoms, runs_of
from hartley.agent.pricing.public_parts import PublicParts
from hartley.agent.pricing.regions import CellGrid, regions
from hartley.agent.questions.batch import ORDER, SQUARES, columns_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet

    from hartley.agent.pricing.atoms import Asked, Direction, IntRange
    from hartley.agent.pricing.known_types import KnownType
    from hartley.agent.pricing.parted_atoms import CodeRun, PartStates, Surveyed
    from hartley.agent.pricing.told import ToldBefore
    from hartley.agent.questions.batch import Question
    from hartley.agent.questions.condition import Conjunction
    from hartley.ranges.schema.schema import Schema

MANY = 1 << 4096
"""More records than any part has."""
T = TypeVar("T")
_Bounds: TypeAlias = dict[object, int]
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
        first: dict[CellGrid, int] = {}
        self._grid_names = [first.setdefault(grid, k) for k, grid in enumerate(self.grids)]
        self._priced: dict[object, tuple[int, tuple[int, int, int]]] = {}
        self._parted: dict[object, PartedAtoms] = {}
        self._bounds: dict[object, _Bounds] = {}
        self._alone: dict[object, int | None] = {}
        self._windows: dict[tuple[int, Asked], _Window | None] = {}
        self._resolved: tuple[tuple[int, int], Resolved | None] | None = None

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
            self._windows.clear()  # they are named by numbers that change
            del dropped[len(dropped) // 2 :]
        return None

    def _resolve(self) -> Resolved | None:
        told_of = len(self._filters), len(self._sums)
        if self._resolved is None or self._resolved[0] != told_of:
            self._resolved = told_of, self._resolve_all()
        return self._resolved[1]

    def _resolve_all(self) -> Resolved | None:
        questions = [*self.asked, *self.filters, *self.sums]
        silent = [
            k
            for k, grid in enumerate(self.grids)
            if grid.constant and self.asked[k].statistic is not ORDER
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
            cells = self._of_type(resolved.asked(known), most)
            if cells is None:
                return None
            most = max(most, cells)
        return most

    def _of_type(self, pairs: Sequence[tuple[int, Asked]], least: int = 0) -> int | None:
        """Price a type; the result is exact where it is above ``least``, what others cost."""
        own: list[tuple[int, Asked]] = []
        filters: list[Asked] = []
        sums: list[_Window] = []
        end = len(self.asked) + len(self._filters)
        for pair in pairs:
            number, asked = pair
            if number < len(self.asked):
                own.append(pair)
            elif number < end:
                filters.append(asked)
            else:
                if pair not in self._windows:
                    self._windows[pair] = self._window(self._sums[number - end].question, asked)
                if window := self._windows[pair]:
                    sums.append(window)
        # All parts, and those of the absent record, whom no filter counts: present alone, joined.
        anywhere = nowhere = joined = 1
        groups = independent(own)
        # The price of a lone group matters only above that of the types before.
        lone = least if len(groups) == 1 and not self.absent else 0
        for group in groups:
            prices = self._group(group, filters, sums, lone)
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
        least: int,
    ) -> tuple[int, int, int] | None:
        """Price a group in the part that costs most; in the part of nobody; there with absence."""
        columns = frozenset().union(*[asked.columns for _, asked in group])
        near = [f for f in filters if f.columns & columns or (self.absent and f.terms == ALWAYS)]
        near = list({f.terms: f for f in near if self.absent or f.terms != ALWAYS}.values())
        numbers = tuple(number for number, _ in group)
        questions = tuple(asked for _, asked in group)
        sums = _usable(sums, questions, near)
        # Types often differ in what makes no difference to a group.
        steps = tuple([self._grid_names[number] for number in numbers])
        key = (steps, questions, tuple(near), sums)
        above, known = self._priced.get(key, (0, None))
        # A price is exact where it exceeds what it was priced above, and is known to be no larger.
        if known is None or (above > least and known[0] <= above):
            known = self._parts(numbers, questions, near, sums, least)
            if known is not None:
                self._priced[key] = (least, known)
        return known

    def _parts(
        self,
        numbers: tuple[int, ...],
        questions: tuple[Asked, ...],
        filters: list[Asked],
        sums: Sequence[_Window],
        least: int,
    ) -> tuple[int, int, int] | None:
        presence = any(f.terms == ALWAYS for f in filters)
        everywhere = _windows(sums, {ALWAYS} if presence or not self.absent else set())
        steps = tuple([self._grid_names[number] for number in numbers])
        grids = [self.grids[number] for number in numbers]
        if (steps, questions) not in self._alone:
            atoms = form_atoms(questions, self.schema)
            alone = None if atoms is None else price_part(numbers, atoms, grids, absent=False)
            self._alone[steps, questions] = None if alone is None else alone.cells
        largest = self._alone[steps, questions]
        if largest is None:
            return None
        runs = list(runs_of((*questions, *filters), everywhere, self.schema))
        names = (questions, tuple(filters), tuple(runs[0]))
        parted = self._parted.get(names)
        if parted is None:
            parted = PartedAtoms(questions, filters, self.schema, runs[0])
            self._parted[names] = parted
        told_by = {terms for terms, _, _ in sums}
        pairs = zip(parted.filter_bits, filters, strict=True)
        deciding = [(bit, f.terms) for bit, f in pairs if f.terms in told_by]
        mattering = sum([bit for bit, _ in deciding])
        windows_of: dict[tuple[int, bool], Windows] = {}

        def windows(alive: int) -> Windows:
            there = not self.absent or alive > 0  # the record is there
            which = (alive & mattering, there)
            known = windows_of.get(which)
            if known is None:
                true = {terms for bit, terms in deciding if alive & bit}
                known = windows_of[which] = _windows(sums, true | {ALWAYS} if there else true)
            return known

        bounds = self._bounds.setdefault((steps, questions), {})
        search = _PartSearch(grids, parted, windows, bounds, absent=self.absent)
        # What was told never raises a price, so nothing is won once a part costs as much as the
        # group alone. Where some record may be absent, the part of nobody matters all the same.
        fits = search.runs(runs, least, largest)
        if search.most >= largest and not self.absent:
            return largest, largest, largest
        return (search.most, search.nowhere, max(search.joined, 1)) if fits else None

    def _window(self, told: Question, asked: Asked) -> _Window | None:
        """Return how far the form of an earlier sum can vary within its cell, where it counts.

        Proved: proofs/Grid.v, rule_W. Proved: proofs/Grid.v, rule_W_squares.
        """
        room = -(-told.step.numerator // told.step.denominator) - 1  # a cell's whole numbers
        if asked.statistic is SQUARES:
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


def _usable(
    sums: Sequence[_Window], questions: Sequence[Asked], filters: Sequence[Asked]
) -> tuple[_Window, ...]:
    """Return the windows that can narrow some form of some questions in some part.

    Those are windows of a form that is asked about, or of one column; where their filter is an
    earlier one, or always holds. Of equal filters and forms the shortest window is enough.
    """
    columns = {c for asked in questions for c in asked.columns}
    directions = {asked.direction for asked in questions}
    decided = {asked.terms for asked in filters} | {ALWAYS}
    shortest: dict[tuple[_Terms, Direction], int] = {}
    for terms, direction, length in sums:
        if terms in decided and (
            direction in directions or (len(direction) == 1 and direction[0][0] in columns)
        ):
            key = (terms, direction)
            shortest[key] = min(shortest.get(key, length), length)
    return tuple([_Window(*key, length) for key, length in sorted(shortest.items())])


class _PartSearch:
    """Looks for the part that costs most, and prices no part that cannot be it."""

    def __init__(
        self,
        grids: Sequence[CellGrid],
        parted: PartedAtoms,
        windows: Callable[[int], Windows],
        bounds: _Bounds,
        *,
        absent: bool,
    ) -> None:
        """Look for a part of some atoms; ``windows`` says what holds in a part."""
        self.grids, self._numbers = grids, range(len(grids))
        self.most = self.nowhere = self.joined = 0
        """The largest price of any part, as far as it is above what the search began with; that of
        the part of nobody, for present records; and there with an absent one."""
        self._parted, self._windows, self._absent = parted, windows, absent
        empty = parted.empty({})
        self._many = empty._replace(points=MANY, sizes=dict.fromkeys(empty.sizes, ((0, MANY),)))
        self._bounds = bounds

    def runs(self, runs: Sequence[Mapping[str, IntRange]], least: int, largest: int) -> bool:
        """Look for a part above ``least``, up to one that costs the largest price.

        Returns whether every run before that part has no more atoms than allowed.
        """
        self.most = min(least, largest - 1)
        surveyed = self._parted.survey()
        if surveyed is None:
            return all(self._whole_run(within, largest) for within in runs)
        within_cap = list(takewhile(self._parted.fits, runs))
        if len(within_cap) < len(runs):
            if self._absent:
                return False
            self.most = largest - 1  # no other part ends the search before the cap is passed
        elif least >= largest:
            return True
        for outputs, alive, states in self._ranked(surveyed):
            if outputs <= self.most or self._ends(largest):
                break
            bound = MANY if self._nobody(alive) else self._bound(states, self._windows(alive))
            for within in within_cap:
                if bound > self.most and not self._ends(largest):
                    self._look_within(within, alive, surveyed[alive])
        return len(within_cap) == len(runs)

    def _look_within(
        self, within: Mapping[str, IntRange], alive: int, held: Mapping[int, int]
    ) -> None:
        """Look at a part in a run, if it can cost more there than others."""
        windows, nobody = self._windows(alive), self._nobody(alive)
        states = self._parted.states(held, within)
        if nobody or self._bound(states, windows) > self.most:
            run = self._parted.run(within)
            if alive in run.parts:
                self._look(run.parts[alive], windows, run, nobody=nobody)

    def _ranked(self, surveyed: Surveyed) -> list[tuple[int, int, PartStates]]:
        """Return parts over all runs by a bound on their outputs, the largest first."""
        ranked = []
        for alive, held in surveyed.items():
            states = self._parted.states(held)
            outputs = MANY if self._nobody(alive) else self._outputs(states, self._windows(alive))
            ranked.append((outputs, alive, states))
        return sorted(ranked, key=itemgetter(0), reverse=True)

    def _whole_run(self, within: Mapping[str, IntRange], largest: int) -> bool:
        """Look at every part of a run, unless the search is over; whether it has few atoms."""
        if self._ends(largest):
            return True
        run = self._parted.run(within)
        for alive, states in run.parts.items():
            self._look(states, self._windows(alive), run, nobody=self._nobody(alive))
            if self._ends(largest):
                break
        return bool(run.parts)

    def _ends(self, largest: int) -> bool:
        return self.most >= largest and not self._absent

    def _nobody(self, alive: int) -> bool:
        """Whether a record of a part may be absent: no filter counts it."""
        return self._absent and not alive

    def _look(self, states: PartStates, windows: Windows, run: CodeRun, *, nobody: bool) -> None:
        """Look at a part of a run; in the part of ``nobody``, a record may be absent."""
        if not nobody and self._bound(states, windows) <= self.most:
            return
        members = tuple([Atom(bits_of(alive), *state) for alive, state in states.items()])
        codes = prod([windows.codes(column, size) for column, size in run.sizes.items()])
        points = min(codes, sum([atom.points for atom in members]))
        if points <= self.most and not nobody:
            return
        part = run.empty._replace(atoms=members, points=points)
        cells = price_part(self._numbers, part, self.grids, windows, absent=False).cells
        self.most = max(self.most, cells)
        if nobody:
            self.nowhere = max(self.nowhere, cells)
            joined = price_part(self._numbers, part, self.grids, windows, absent=True).cells
            self.joined = max(self.joined, joined)

    # A price only falls where there are fewer records, or narrower ranges of them. So what a part
    # would cost with any number of records, in ranges that hold its own, is a bound; many parts,
    # runs and types have it in common.

    def _bound(self, states: PartStates, windows: Windows) -> int:
        """Return a bound on the price of a part; no closer than it has to be below ``most``."""
        bound = self._outputs(states, windows)
        if bound > self.most:
            bound = min(bound, self._singles(states, windows))
        return bound if bound <= self.most else min(bound, self._price(states, windows))

    def _outputs(self, states: PartStates, windows: Windows) -> int:
        """Return the outputs of all atoms, added up: one of the bounds that a price is least of."""
        total = 0
        for alive, (_, ranges, _) in states.items():
            if not alive:
                total += 1
                continue
            key = (alive, ranges, windows.key)
            outputs = self._bounds.get(key)
            if outputs is None:
                atom = Atom(bits_of(alive), MANY, ranges, 0)
                crossed = crossed_in(atom, self._many, self.grids, windows)
                outputs = self._bounds[key] = regions(crossed) if crossed else 1
            total += outputs
        return total

    def _singles(self, states: PartStates, windows: Windows) -> int:
        """Return the product of the prices of the questions alone, another of these bounds."""
        product = 1
        for k in bits_of(reduce(or_, states, 0)):
            place = self._many.places[k]
            spans = [ranges[place] for alive, (_, ranges, _) in states.items() if alive >> k & 1]
            hull = (min([low for low, _ in spans]), max([high for _, high in spans]))
            outside = len(spans) < len(states)
            key = (k, hull, outside, windows.key)
            price = self._bounds.get(key)
            if price is None:
                inside = Atom((k,), MANY, (hull,) * len(self._many.directions), 0)
                listed = (inside, inside._replace(alive=()))[: 1 + outside]
                price = single(k, listed, self._many, self.grids[k], windows)
                self._bounds[key] = price
            product *= price
        return product

    def _price(self, states: PartStates, windows: Windows) -> int:
        """Return what a part would cost if its ranges held any number of records."""
        spans = tuple([(own, ranges if own else ()) for own, (_, ranges, _) in states.items()])
        key = (spans, windows.key)
        price = self._bounds.get(key)
        if price is None:
            atoms = tuple([Atom(bits_of(alive), MANY, ranges, 0) for alive, ranges in spans])
            part = self._many._replace(atoms=atoms)
            price = price_part(self._numbers, part, self.grids, windows, absent=False).cells
            self._bounds[key] = price
        return price
