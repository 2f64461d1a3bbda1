"""The atoms of a batch, sorted by the part that earlier filters leave them in.

A price after what was told looks at the same questions and filters in many runs of codes. Here the
columns are cut once for all runs, and what runs have in common is multiplied once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hartley.agent.pricing.atoms import (
    NOWHERE,
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

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from hartley.agent.pricing.atoms import Asked, AtomState, CodeClass, IntRange, Segment
    from hartley.agent.pricing.one_row import Windows
    from hartley.ranges.schema.schema import Schema

PartStates: TypeAlias = "dict[int, AtomState]"
"""The records of a part by the questions that count them, as bits."""
Surveyed: TypeAlias = dict[int, dict[int, int]]
"""By part and by the questions that count records, as bits, the segments of columns they hold."""

MOST_RUNS = 32
"""Combinations of runs of classes that one group of questions is priced in."""
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
            apart = len({mask & ~self.several for mask, _, _, _ in parts})
            known = self.by_range[within] = (parts, apart)
        return known


class CodeRun(NamedTuple):
    """Ranges of columns that are looked at alone."""

    empty: Atoms
    """What columns are cut into, without an atom."""
    sizes: Mapping[str, int]
    """How many codes the columns that are asked about have."""
    parts: Mapping[int, PartStates]
    """Its parts; none if it has more atoms than allowed."""


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
        terms = [0] * len(asked)
        for place, owner in enumerate(owners):
            terms[owner] |= 1 << place
        firsts = [own & -own for own in terms]
        self._firsts = sum(firsts)
        self._further = [
            (k, sum([first for own, first in zip(terms, firsts, strict=True) if own & first << k]))
            for k in range(1, max([own.bit_count() for own in terms]))
        ]
        """Of questions and filters of more than k terms, the first one."""
        self._own = sum(terms[: len(questions)])
        self._numbers = {first: 1 << k for k, first in enumerate(firsts[: len(questions)])}
        self.filter_bits = [first >> self._own.bit_length() for first in firsts[len(questions) :]]
        """The bit that says in the name of a part that a filter holds there."""
        self._varied = [c for c in leaves if c in varied]
        self._order = [c for c in leaves if c not in varied] + self._varied
        self._shifts: dict[str, int] = {}
        """Where the bits of the segments of a column begin, in what a survey saw."""
        shift = 0
        for column in dict.fromkeys([*self._bits, *self._varied]):
            self._shifts[column] = shift
            shift += len(self._cuts[column].cut)
        self._crowded: list[tuple[list[str], list[tuple[int, int]]]] = []
        self._listed: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        self._spans: dict[int, tuple[IntRange, ...]] = {}
        self._surveyed: tuple[Surveyed | None] | None = None
        self._runs: dict[object, int] = {}
        self._code_runs: dict[object, CodeRun] = {}
        columns = frozenset().union(*[asked.columns for asked in questions])
        self._asked_sizes = {column: schema.columns[column].size for column in columns}
        self._states: dict[tuple[IntRange | None, ...], dict[int, AtomState]] = {}
        self._masks: dict[tuple[IntRange | None, ...], set[int] | None] = {}
        self._fates: dict[int, tuple[int, int]] = {}

    def within(self, ranges: Mapping[str, IntRange]) -> dict[int, PartStates] | None:
        """Return the parts of a run, each by the bits of the filters that hold there.

        None if there are more atoms than allowed.
        """
        states = self._multiplied(ranges)
        if states is None:
            return None
        parts: dict[int, PartStates] = {}
        fates = self._fates
        for mask, state in states.items():
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
        return parts

    def run(self, ranges: Mapping[str, IntRange]) -> CodeRun:
        """Return a run with its parts, formed once."""
        key = tuple(ranges.items())
        run = self._code_runs.get(key)
        if run is None:
            inside = {column: high - low + 1 for column, (low, high) in key}
            sizes = {c: inside.get(c, size) for c, size in self._asked_sizes.items()}
            run = CodeRun(self.empty(ranges), sizes, self.within(ranges) or {})
            self._code_runs[key] = run
        return run

    def empty(self, ranges: Mapping[str, IntRange]) -> Atoms:
        """Return what the columns of a run are cut into, without an atom."""
        sizes: dict[str, Sequence[tuple[int, int]]] = dict(self._sizes)
        for column, bit in self._bits.items():
            parts = self._cuts[column].of(ranges.get(column))[0]
            sizes[column] = [(bit << k, size) for k, (_, _, _, size) in enumerate(parts)]
        places = tuple([self._places[question.direction] for question in self._asked])
        return Atoms(self._asked, (), 1, (), tuple(self._places), sizes, places)

    # --- all runs together ------------------------------------------------------------------------

    def survey(self) -> Surveyed | None:
        """Return the parts over all codes: by questions, the segments of columns that they hold.

        Segments are bits, of the columns that runs cut down or forms sum. Ranges and points are
        left out, so it takes a fraction of the time of ``within``; it is enough for ``states``
        and ``fits``. None if there are too many states.
        """
        if self._surveyed is not None:
            return self._surveyed[0]
        self._surveyed = (self._survey(),)
        return self._surveyed[0]

    def _survey(self) -> Surveyed | None:
        states, passed = {self._full: 0}, list[str]()
        for column, cut in self._cuts.items():
            shift, by_mask = self._shifts.get(column), dict[int, int]()
            for k, (_, _, mask) in enumerate(cut.cut):
                bit = 0 if shift is None else 1 << shift + k
                by_mask[mask] = by_mask.get(mask, 0) | bit
            if cut.missing is not None:
                by_mask.setdefault(cut.missing, 0)
            merged: dict[int, int] = {}
            for mask, held in states.items():
                for own, bits in by_mask.items():
                    fate = mask & own
                    merged[fate] = merged.get(fate, 0) | held | bits
            states = merged
            if column in self._varied:
                passed = [*passed, column]
            if len(states) > WIDEST * self._most:
                return None
            if len(states) > self._most:
                ours = sum([self._run_bits(c, None) for c in passed])
                seen = Counter([held & ours for held in states.values()])
                self._crowded.append((passed, list(seen.items())))
        parts: Surveyed = {}
        for mask, held in states.items():
            alive, filters = self._fate(mask)
            part = parts.setdefault(filters, {})
            part[alive] = part.get(alive, 0) | held
        return parts

    def fits(self, within: Mapping[str, IntRange]) -> bool:
        """Whether a run has no more atoms than allowed, after a survey."""
        for place, (columns, seen) in enumerate(self._crowded):
            listed = seen
            key: tuple[int, ...] = (place,)
            for column in columns:
                bits = self._run_bits(column, within[column])
                key = (*key, bits)
                known = self._listed.get(key)
                if known is None:
                    known = [pair for pair in listed if pair[0] & bits]
                    self._listed[key] = known
                listed = known
            # A state seen in some code of one column and in some of another need not be in both.
            if sum([n for _, n in listed]) > self._most and (
                len(columns) < 2 or not self._holds_few(within)
            ):
                return False
        return True

    def states(
        self, held: Mapping[int, int], within: Mapping[str, IntRange] = NOWHERE
    ) -> PartStates:
        """Return a part of a survey with ranges that hold those of its records in a run."""
        if not within:
            return {alive: (0, self._ranges(seen), 0) for alive, seen in held.items()}
        inside = -1
        for column, codes in within.items():
            inside &= ~self._run_bits(column, None) | self._run_bits(column, codes)
        varied = [self._run_bits(column, None) & inside for column in within]
        return {
            alive: (0, self._ranges(seen & inside), 0)
            for alive, seen in held.items()
            if all(seen & bits for bits in varied)
        }

    def _ranges(self, held: int) -> tuple[IntRange, ...]:
        """Return ranges that hold those of every direction over some segments."""
        spans = self._spans.get(held)
        if spans is None:
            wider = [list(span) for span in next(iter(self._start.values()))[1]]
            for column in self._bits:
                cut, own = self._cuts[column].cut, held & self._run_bits(column, None)
                own >>= self._shifts[column]
                low, high = (own & -own).bit_length() - 1, own.bit_length() - 1
                for place, times in self._moved[column] if own else ():
                    ends = (times * cut[low][0], times * cut[high][1])
                    wider[place][0] += min(ends)
                    wider[place][1] += max(ends)
            spans = self._spans[held] = tuple([(low, high) for low, high in wider])
        return spans

    def _run_bits(self, column: str, codes: IntRange | None) -> int:
        """Return the segments of a column that lie in a range of codes, or all of them."""
        bits = self._runs.get((column, codes))
        if bits is None:
            cut, shift = self._cuts[column].cut, self._shifts[column]
            low, high = (0, cut[-1][1]) if codes is None else codes
            bits = sum([1 << shift + k for k, (at, _, _) in enumerate(cut) if low <= at <= high])
            self._runs[column, codes] = bits
        return bits

    def _fate(self, mask: int) -> tuple[int, int]:
        """Return the questions and the filters that count the records of a state, as bits."""
        alive = mask
        for shift, firsts in self._further:  # one term that holds is enough
            alive |= mask >> shift & firsts
        alive &= self._firsts
        own = alive & self._own
        numbers = self._numbers.get(own)
        if numbers is None:
            numbers = sum([self._numbers[1 << place] for place in bits_of(own)])
            self._numbers[own] = numbers
        return numbers, alive >> self._own.bit_length()

    # --- products of columns ----------------------------------------------------------------------

    def _multiplied(self, ranges: Mapping[str, IntRange]) -> dict[int, AtomState] | None:
        least = largest = 1
        for column, cut in self._cuts.items():
            parts, apart = cut.of(ranges.get(column))
            largest *= len(parts)
            least *= apart
            if least > self._most:
                return None
        if largest > self._most and not self._holds_few(ranges):
            return None
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
                own = [mask for mask, _, _, _ in cut.of(ranges.get(column))[0]]
                fates = {mask & other for mask in masks or () for other in own}
                self._masks[key] = fates if len(fates) <= self._most else None
            masks = self._masks[key]
            if masks is None:
                return False
        return True


def runs_of(
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
