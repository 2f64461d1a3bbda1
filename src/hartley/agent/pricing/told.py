"""What a batch costs after earlier batches were charged: rules S, O and W of docs/accountant.md.

An earlier charge paid for telling some things about a person apart. A later question costs only
what is still unknown: it is priced inside a *part*, a set of records on which every earlier filter
is constant (rule O), with forms that can vary no further than an earlier cell allows (rule W), or
by how many new cells an old cell meets (rule S). Everything is a function of the schema and of
questions; no answer is ever looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import gcd, isqrt, prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from hartley.agent.pricing.atoms import form_atoms
from hartley.agent.pricing.one_row import NO_WINDOWS, Windows, price_part
from hartley.agent.pricing.price import price
from hartley.agent.pricing.regions import CellGrid
from hartley.agent.pricing.told_counts import cells_in_parts, known_counts
from hartley.agent.pricing.worst_case import Resolved, independent
from hartley.agent.questions.batch import Statistic, columns_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet

    from hartley.agent.pricing.atoms import Asked, Atom, Atoms, Direction, IntRange
    from hartley.agent.questions.batch import Question
    from hartley.agent.questions.condition import Conjunction
    from hartley.ranges.schema.schema import Schema

RULES = "2"
"""The version of the pricing rules, as a ledger keeps it beside every charge.

A charge is priced again by the rules that it was made under. Version 1 knew no earlier rows.
"""

MOST_FILTERS = 24
"""Earlier filters that one group of questions is priced with."""
MOST_STEPS = 4
"""Earlier steps of one statistic that are looked at, the finest."""
MOST_RUNS = 32
"""Combinations of runs of classes that one group of questions is priced in."""


# --- rule S: the same statistic in other cells ----------------------------------------------------


def cells_in_cell(told: Fraction, asked: Fraction) -> int:
    r"""Return how many new cells an old cell of the same statistic meets, at most.

    .. math:: S = \min\{1 + \lfloor (a + b - \gcd(a, b) - 1) / b \rfloor,
        1 + \lceil (\lceil w \rceil - 1) / w' \rceil\}

    of the old step w = a/q and the new one w' = b/q. Cells of both begin at one place, so an old
    cell begins at a multiple of gcd(a, b) within a new one.

    Example:
        >>> cells_in_cell(Fraction(30), Fraction(10)), cells_in_cell(Fraction(2), Fraction(3))
        (3, 2)
    """
    common = told.denominator * asked.denominator
    a, b = int(told * common), int(asked * common)
    # An old cell holds ceil(w) whole numbers at most: their ends lie ceil(w) - 1 apart.
    whole = -(-told.numerator // told.denominator) - 1
    return min(1 + (a + b - gcd(a, b) - 1) // b, 1 - (-whole * common // b))


# --- what was told, ready for prices --------------------------------------------------------------


class _Entry(NamedTuple):
    """A question that was charged, with the private and the known columns that it touches."""

    question: Question
    row: int
    place: int
    """Its place among all questions; what is chosen depends on the order alone."""
    private: frozenset[str]
    known: frozenset[str]


class Told:
    """Questions that were charged before, about one version of the data under one schema."""

    def __init__(self, schema: Schema, questions: Iterable[Question] = ()) -> None:
        """Begin with nothing told, or with some questions as one row each."""
        self.schema = schema
        self._steps: dict[Question, dict[Fraction, int]] = {}
        self._filters: dict[object, _Entry] = {}
        self._sums: dict[object, _Entry] = {}
        self._questions = 0
        self._by_column: dict[str, dict[object, _Entry]] = {}
        for row, question in enumerate(questions, start=1):
            self.add(question, row)

    def add(self, question: Question, row: int) -> None:
        """Add a question that a row of the ledger charged; rows come in their order."""
        order = question.statistic is Statistic.ORDER
        if CellGrid.of(question).constant and not order:
            return  # one cell: it told nothing
        self._steps.setdefault(_statistic(question), {}).setdefault(question.step, row)
        names = columns_named(question)
        private = frozenset(c for c in names if self.schema.columns[c].kind == "private")
        self._questions += 1
        entry = _Entry(question, row, self._questions, private, names - private)
        if order or (question.statistic is Statistic.COUNT and question.step <= 1):
            # Whether the record counts was told apart and paid for: a lone COUNT or ORDER counts
            # its outside apart.
            key: object = (question.where, frozenset(c for c, _ in _terms(question)))
            entries, of_columns = self._filters, private or {""}
        else:
            # A SUM does not tell its filter: somebody inside may add what somebody outside does.
            key, entries = _statistic(question), self._sums
            of_columns = {c for c, _ in _terms(question)} & private
        known = entries.get(key)
        if known is None or (entries is self._sums and question.step < known.question.step):
            entries[key] = entry
            for column in of_columns:
                self._by_column.setdefault(column, {})[key] = entry

    def steps(self, question: Question) -> list[tuple[Fraction, int]]:
        """Return the finest steps at which a statistic was told, each with its row."""
        return sorted(self._steps.get(_statistic(question), {}).items())[:MOST_STEPS]

    def finest(self, question: Question) -> Fraction | None:
        """Return the finest step at which a statistic was told, if no coarser than its own."""
        steps = self.steps(question)
        return steps[0][0] if steps and steps[0][0] <= question.step else None

    def filters(self, private: frozenset[str], known: frozenset[str]) -> list[_Entry]:
        """Return the earlier filters that can say something about some columns, the best first."""
        # Where rows are private, a filter over no private column still says "present".
        columns = [*sorted(private), *([""] if self.schema.rows == "private" else [])]
        near = self._near(columns, self._filters)
        near.sort(key=lambda e: (len(e.private - private), len(e.known - known), e.place))
        return near[:MOST_FILTERS]

    def sums(self, private: frozenset[str]) -> list[_Entry]:
        """Return the earlier sums over some columns, the finest of each form and filter."""
        near = self._near(sorted(private), self._sums)
        near.sort(key=lambda e: (len(e.private - private), e.place))
        return near[:MOST_FILTERS]

    def _near(self, columns: Sequence[str], among: Mapping[Any, _Entry]) -> list[_Entry]:
        keys = dict.fromkeys(key for c in columns for key in self._by_column.get(c, ()))
        return [among[key] for key in keys if key in among]


def _terms(question: Question) -> tuple[tuple[str, int], ...]:
    return question.form.terms if question.form else ()


def _statistic(question: Question) -> Question:
    """Return a question without its step: what it is about."""
    return replace(question, step=Fraction(1))


# --- the price given what was told ----------------------------------------------------------------


@dataclass(frozen=True)
class GivenPrice:
    """What a batch costs after earlier ones, beside what it costs alone."""

    cells: int
    alone: int
    rows: tuple[int, ...] = ()
    """The rows of the ledger that it was priced from; empty where they did not lower it."""


def price_given(questions: Sequence[Question], told: Told) -> GivenPrice:
    """Return how many cells a batch costs where earlier batches were charged.

    At most so many answers can one person's data cause among the data that agree with everything
    that the earlier charges paid for. Never more than the price alone. Exact integers.

    The same rows always give the same price, so that a ledger can be checked.
    """
    asked = list(dict.fromkeys(questions))
    alone = price(asked, told.schema).cells
    ratios: dict[Question, tuple[int, int]] = {}
    for question in asked:
        steps = told.steps(question)
        if steps:
            ratios[question] = min((cells_in_cell(step, question.step), row) for step, row in steps)
    # A question whose cell is known is no question any more.
    settled = {row for ratio, row in ratios.values() if ratio == 1}
    unknown = [question for question in asked if question not in ratios or ratios[question][0] > 1]
    rest = [question for question in unknown if question not in ratios]
    best, rows = _cells(unknown, told)
    if len(rest) < len(unknown):
        refined = [ratios[question] for question in unknown if question in ratios]
        others, used = _cells(rest, told)
        if prod([ratio for ratio, _ in refined]) * others < best:
            best = prod([ratio for ratio, _ in refined]) * others
            rows = used | {row for _, row in refined}
    if best >= alone:
        return GivenPrice(alone, alone)
    return GivenPrice(best, alone, tuple(sorted(rows | settled)))


def _cells(questions: Sequence[Question], told: Told) -> tuple[int, set[int]]:
    """Return the price of some questions, and the rows that it rests on."""
    if not questions:
        return 1, set()
    alone = price(questions, told.schema).cells
    if told.schema.rows_per_unit > 1:
        return _several_rows(questions, told, alone)
    pricing = _Pricing(questions, told)
    cells = pricing.cells()
    return (alone, set()) if cells is None or cells >= alone else (cells, pricing.rows)


def _several_rows(questions: Sequence[Question], told: Told, alone: int) -> tuple[int, set[int]]:
    """Rule N: what exact counts told before leave of a price, where a person has several rows."""
    schema = told.schema
    touched: frozenset[str] = frozenset().union(*map(columns_named, questions))
    counts = [
        entry
        for entry in told.filters(touched, touched)
        if entry.question.statistic is Statistic.COUNT
    ]
    if not counts:
        return alone, set()
    earlier = [entry.question for entry in counts]
    known = known_counts(questions, earlier, schema)
    rest = [question for question in questions if question not in known]
    cells = price(rest, schema).cells if rest else 1
    if rest and (parted := cells_in_parts(rest, earlier, schema)) is not None:
        cells = min(cells, parted)
    return (cells, {entry.row for entry in counts}) if cells < alone else (alone, set())


_Terms: TypeAlias = "tuple[Conjunction, ...]"
ALWAYS: _Terms = ((),)
"""The filter that every present record of a type passes."""


class _Window(NamedTuple):
    """An earlier sum: where its filter holds, its direction varies by no more than a length."""

    terms: _Terms
    direction: Direction
    length: int


class _Pricing:
    """Rules O and W for one batch, one row a person."""

    def __init__(self, questions: Sequence[Question], told: Told) -> None:
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
        while self._filters or self._sums:
            largest = self._largest()
            if largest is not None:
                return largest
            # Fewer earlier filters leave larger parts: still a bound.
            (self._filters or self._sums).pop()
        return None

    def _largest(self) -> int | None:
        questions = [*self.asked, *self.filters, *self.sums]
        silent = [
            k
            for k, grid in enumerate(self.grids)
            if grid.constant and self.asked[k].statistic is not Statistic.ORDER
        ]
        resolved = Resolved(questions, self.schema, silent)
        if any(number < len(self.asked) for number in resolved.opaque):
            return None
        types = resolved.refine(resolved.start(), ("public", "open"))
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
        """Return how far the form of an earlier sum can vary within its cell, where it counts."""
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
