"""The atoms of a batch, sorted by the part that earlier filters leave them in.

A price after what was told looks at the same questions and filters in many runs of codes. Here the
columns are cut once for all runs, and what runs have in common is multiplied once. The search for
the part that costs most leaves out parts and runs that cannot be it.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hartley.agent.pricing.atoms import (
    Atom,
    Atoms,
    bits_of,
    leaves_of,
    merge,
    most_atoms,
    moved_by,
    multiply,
    segments,
    start,
    union,
)
from hartley.agent.pricing.one_row import crossed_in, price_part
from hartley.agent.pricing.regions import regions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from hartley.agent.pricing.atoms import Asked, AtomState, CodeClass, IntRange, Segment
    from hartley.agent.pricing.one_row import Windows
    from hartley.agent.pricing.regions import CellGrid
    from hartley.ranges.schema.schema import Schema

PartStates: TypeAlias = "dict[int, AtomState]"
"""The records of a part by the questions that count them, as bits."""

PartBounds: TypeAlias = dict[object, int]
"""What atoms and parts cost at most, by all that it depends on."""
PartStack: TypeAlias = "list[tuple[PartStates, Windows]]"
"""Parts, with how far directions can vary in them."""

MOST_FAILED = 2
"""Runs in which larger parts are looked at in vain, one after the other, before it is given up."""
MANY = 1 << 4096
"""More records than any part has."""
WIDEST = 4
"""States common to all runs are multiplied first, up to this many times the cap on atoms."""


class _ColumnCut(NamedTuple):
    """A column cut by tests, and what a range of its codes leaves of it."""

    cut: Sequence[Segment]
    missing: int | None
    several: int
    """The terms that ask for more than one column."""
    by_range: dict[IntRange | None, tuple[list[CodeClass], int]]

    def of(self, within: IntRange | None) -> tuple[list[CodeClass], int]:
        """Return the classes, and how many of them terms over this column alone tell apart."""
        known = self.by_range.get(within)
        if known is None:
            parts = merge(self.cut, self.missing, within)
            apart = len({part.mask & ~self.several for part in parts})
            known = self.by_range[within] = (parts, apart)
        return known


class PartedAtoms:
    """Questions and earlier filters over all records of a type, or over runs of some columns.

    ``within`` gives for every run the atoms of ``form_atoms`` over questions and filters together,
    each in the part of the filters that count its records. It is None exactly where ``form_atoms``
    is: the caps are those of that function, in the same order of columns.
    """

    def __init__(
        self,
        questions: tuple[Asked, ...],
        filters: Sequence[Asked],
        schema: Schema,
        varied: Collection[str] = (),
    ) -> None:
        """Cut all columns once; ``varied`` names those that runs cut down."""
        asked = (*questions, *filters)
        self._questions = len(questions)
        leaves, owners = leaves_of(asked)
        self._full = (1 << len(owners)) - 1
        self._most = most_atoms(len(owners))
        masks = {column: sum(asking.values()) for column, asking in leaves.items()}
        several = once = 0
        for mask in masks.values():
            several, once = several | once & mask, once | mask
        self._cuts = {
            column: _ColumnCut(
                *segments(schema.columns[column], asking, self._full & ~masks[column]), several, {}
            )
            for column, asking in leaves.items()
        }
        # The columns of all forms are multiplied, but only forms of questions are measured:
        # filters count, whatever their form is.
        self._places = {d: k for k, d in enumerate(dict.fromkeys([q.direction for q in questions]))}
        self._moved = moved_by(self._places)
        alone = dict.fromkeys([c for q in asked for c, _ in q.direction if c not in leaves])
        self._start, self._sizes, bit = start(
            self._full, alone, len(self._places), self._moved, schema
        )
        self._bits: dict[str, int] = {}
        for column, cut in self._cuts.items():
            if column in self._moved:
                self._bits[column] = bit
                bit <<= len(cut.cut) + 1
        self._asked = questions
        self._terms_of = [0] * len(asked)
        for place, owner in enumerate(owners):
            self._terms_of[owner] |= 1 << place
        self._plain = len(owners) == len(asked) and all(self._terms_of)
        self._order = [c for c in leaves if c not in varied] + [c for c in leaves if c in varied]
        self._states: dict[tuple[IntRange | None, ...], dict[int, AtomState]] = {}
        self._masks: dict[tuple[IntRange | None, ...], set[int] | None] = {}
        self._fates: dict[int, tuple[int, int]] = {}
        self._parts: dict[tuple[IntRange | None, ...], dict[int, PartStates]] = {}

    def within(self, ranges: Mapping[str, IntRange]) -> dict[int, PartStates] | None:
        """Return the parts of a run, each by the bits of the filters that hold there.

        None if there are more atoms than allowed.
        """
        key = tuple([ranges.get(column) for column in self._cuts])
        known = self._parts.get(key)
        if known is not None:
            return known
        if not self.fits(ranges):
            return None
        parts: dict[int, PartStates] = {}
        fates = self._fates
        for mask, state in self._multiplied(ranges).items():
            fate = fates.get(mask)
            if fate is None:
                fate = fates[mask] = self._fate(mask)
            alive, filters = fate
            part = parts.get(filters)
            if part is None:
                parts[filters] = {alive: state}
            else:
                old = part.get(alive)
                part[alive] = state if old is None else union(old, state)
        self._parts[key] = parts
        return parts

    def empty(self, ranges: Mapping[str, IntRange]) -> Atoms:
        """Return what the columns of a run are cut into, without an atom."""
        sizes: dict[str, Sequence[tuple[int, int]]] = dict(self._sizes)
        for column, bit in self._bits.items():
            parts = self._cuts[column].of(ranges.get(column))[0]
            sizes[column] = [(bit << k, part.size) for k, part in enumerate(parts)]
        places = tuple([self._places[question.direction] for question in self._asked])
        return Atoms(self._asked, (), 1, (), tuple(self._places), sizes, places)

    def _fate(self, mask: int) -> tuple[int, int]:
        """Return the questions and the filters that count the records of a state, as bits."""
        alive = mask
        if not self._plain:
            alive = 0
            for number, terms in enumerate(self._terms_of):
                alive |= bool(mask & terms) << number
        return alive & ((1 << self._questions) - 1), alive >> self._questions

    # --- products of columns ----------------------------------------------------------------------

    def fits(self, ranges: Mapping[str, IntRange]) -> bool:
        """Whether a run has no more atoms than allowed, without forming them."""
        least = largest = 1
        for column, cut in self._cuts.items():
            parts, apart = cut.of(ranges.get(column))
            largest *= len(parts)
            least *= apart
            if least > self._most:
                return False
        return largest <= self._most or self._holds_few(ranges)

    def _multiplied(self, ranges: Mapping[str, IntRange]) -> dict[int, AtomState]:
        key: tuple[IntRange | None, ...] = ()
        states = self._start
        for column in self._order:
            key = (*key, ranges.get(column))
            known = self._states.get(key)
            if known is None:
                bit = self._bits.get(column, 0)
                parts = self._cuts[column].of(ranges.get(column))[0]
                known = multiply(states, parts, self._moved.get(column, ()), bit)
                self._states[key] = known
                if len(known) > WIDEST * self._most and self._order != list(self._cuts):
                    # What a run leaves out would have merged these: in the order of the cap then.
                    self._order = list(self._cuts)
                    self._states.clear()
                    return self._multiplied(ranges)
            states = known
        return states

    def _holds_few(self, ranges: Mapping[str, IntRange]) -> bool:
        """Whether no product of columns, in their order, has more states than allowed."""
        key: tuple[IntRange | None, ...] = ()
        masks: set[int] | None = {self._full}
        for column, cut in self._cuts.items():
            key = (*key, ranges.get(column))
            if key not in self._masks:
                own = [part.mask for part in cut.of(ranges.get(column))[0]]
                fates = {mask & other for mask in masks or () for other in own}
                self._masks[key] = fates if len(fates) <= self._most else None
            masks = self._masks[key]
            if masks is None:
                return False
        return True


# --- the part that costs most ---


class CodeRun(NamedTuple):
    """Ranges of columns that are looked at alone."""

    empty: Atoms
    """What columns are cut into, without an atom."""
    sizes: Mapping[str, int]
    """How many codes the columns that are asked about have."""


class PartSearch:
    """Looks for the part that costs most, and prices no part that cannot be it."""

    def __init__(
        self, numbers: Sequence[int], grids: Sequence[CellGrid], most: int, bounds: PartBounds
    ) -> None:
        self.numbers, self.grids = numbers, grids
        self.most = most
        """The largest price of any part, as far as it is above what it began with."""
        self.nowhere = self.joined = 0
        """The largest price of the part of nobody: of present records, and with an absent one."""
        self._bounds = bounds

    def look(self, states: PartStates, windows: Windows, run: CodeRun, *, nobody: bool) -> None:
        """Look at a part of a run; in the part of ``nobody``, a record may be absent."""
        if not nobody and (
            self._outputs(states, windows, run) <= self.most
            or self._price_of_many(states, windows, run) <= self.most
        ):
            return
        members = tuple([Atom(bits_of(alive), *state) for alive, state in states.items()])
        codes = prod([windows.codes(column, size) for column, size in run.sizes.items()])
        points = min(codes, sum([atom.points for atom in members]))
        if points <= self.most and not nobody:
            return
        part = replace(run.empty, atoms=members, points=points)
        cells = price_part(self.numbers, part, self.grids, windows, absent=False).cells
        self.most = max(self.most, cells)
        if nobody:
            self.nowhere = max(self.nowhere, cells)
            joined = price_part(self.numbers, part, self.grids, windows, absent=True).cells
            self.joined = max(self.joined, joined)

    def passes(self, run: CodeRun, parts: PartStack) -> bool:
        """Whether no part inside these can cost more than what was seen; takes off those that pass.

        Inside, a part has no other atoms, and their ranges and windows are no wider. Each of the
        bounds that a price is the least of only grows with them.
        """
        while parts:
            states, windows = parts[-1]
            if (
                self._outputs(states, windows, run) > self.most
                and self._price_of_many(states, windows, run) > self.most
            ):
                return False
            parts.pop()
        return True

    # A price only falls where there are fewer records. So what a part would cost with any number
    # of records in the same ranges is a bound, which many parts, runs and types have in common.

    def _outputs(self, states: PartStates, windows: Windows, run: CodeRun) -> int:
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
                crossed = crossed_in(atom, run.empty, self.grids, windows)
                outputs = self._bounds[key] = regions(crossed) if crossed else 1
            total += outputs
        return total

    def _price_of_many(self, states: PartStates, windows: Windows, run: CodeRun) -> int:
        """Return what a part would cost if its ranges held any number of records."""
        spans = tuple([(alive, ranges) for alive, (_, ranges, _) in states.items()])
        key = (spans, windows.key)
        price = self._bounds.get(key)
        if price is None:
            part = replace(
                run.empty,
                points=MANY,
                atoms=tuple([Atom(bits_of(alive), MANY, ranges, 0) for alive, ranges in spans]),
                sizes=dict.fromkeys(run.empty.sizes, ((0, MANY),)),
            )
            price = price_part(self.numbers, part, self.grids, windows, absent=False).cells
            self._bounds[key] = price
        return price


class LooserParts:
    """Larger parts, by fewer filters or in no run: every part of a run lies in one of them.

    There are fewer of them than parts in all runs, and often they show that none of those costs
    more than what was seen.
    """

    def __init__(
        self,
        atoms: Iterator[tuple[PartedAtoms, Sequence[int]]],
        windows: Callable[[int], Windows],
    ) -> None:
        self._atoms, self._windows = atoms, windows
        self._waiting: list[tuple[CodeRun, PartStack]] = []
        self._first: tuple[PartedAtoms, Sequence[int]] | None = None
        self._failed = 0
        """Runs one after the other in which larger parts showed nothing."""

    def passes(self, search: PartSearch, within: Mapping[str, IntRange]) -> bool:
        """Whether certainly no part of a run costs more than what was seen."""
        if any(search.passes(run, parts) for run, parts in self._waiting):
            return True
        following = next(self._atoms, None)
        if following is not None:
            self._first = self._first or following
            formed = self._formed(*following, {})
            if formed is not None:
                self._waiting.append(formed)
                if search.passes(*formed):
                    return True
        if self._first is None or self._failed == MOST_FAILED:
            return False
        formed = self._formed(*self._first, within)
        passed = formed is not None and search.passes(*formed)
        self._failed = 0 if passed else self._failed + 1
        return passed

    def _formed(
        self, parted: PartedAtoms, filters: Sequence[int], within: Mapping[str, IntRange]
    ) -> tuple[CodeRun, PartStack] | None:
        parts = parted.within(within)
        if parts is None:
            return None
        held = [sum([1 << filters[k] for k in bits_of(alive)]) for alive in parts]
        stack = list(zip(parts.values(), map(self._windows, held), strict=True))
        return CodeRun(parted.empty(within), {}), stack
