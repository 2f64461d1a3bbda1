"""The error of an answer and the coarsest steps for an error, known before any data is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from hartley.errors import InputError, OptionError, Refused
from hartley.exact import floor_power, parse_number
from hartley.results.quote import (
    SOME_ROWS,
    USUAL_ROWS,
    ErrorsAtRows,
    UsefulPrice,
    Wish,
    useful_words,
)
from hartley.text import decimal_text
from hartley.trusted.cells import ROOT_GRID, root_up
from hartley.trusted.earlier import ChargedRows, ConditionalPrices, check_rules
from hartley.trusted.ledger.charging import batch_of, plan as charge_plan
from hartley.trusted.ledger.rows import canonical
from hartley.trusted.pricing.price import cells_within, price, size_of, steps_within
from hartley.trusted.questions.batch import Statistic, to_plain
from hartley.trusted.questions.question import Item, NumberKind, parse
from hartley.trusted.questions.terms import PLACES
from hartley.trusted.statistics import fits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hartley.results.quote import Errors
    from hartley.schema.schema import Schema
    from hartley.trusted.ledger.chain import RowPlace
    from hartley.trusted.ledger.charging import ChargePlan
    from hartley.trusted.ledger.ledger import State, TrustedLedger
    from hartley.trusted.ledger.store import Transaction
    from hartley.trusted.pricing.after_answers import EarlierAnswers
    from hartley.trusted.questions.batch import Condition, Question
    from hartley.trusted.questions.question import Selection

    Steps = list[Fraction | None]
    PublicCount = Callable[[Condition], int | None]
    """A function from a condition to its number of rows, if that is public."""


# --- precision ------------------------------------------------------------------------------------


SPLIT = Fraction(7, 12)
"""The share of a variance's error that its sum takes; the cheapest share is 2 - sqrt(2)."""
DIVIDED = (NumberKind.AVERAGE, NumberKind.VARIANCE, NumberKind.DEVIATION)
"""Numbers that a number of rows divides."""
WIDEST_ROOT = Fraction(3, ROOT_GRID)
"""A little more than rounding two roots outward can add to a width."""


def worst_errors(
    selection: Selection,
    *,
    public_count: PublicCount | None = None,
    at_least: int | None = None,
) -> tuple[Fraction, ...]:
    """Return for each item the largest half-width that its answer can have for any data.

    Exact for sums, order statistics and averages of a public number of rows; a bound otherwise.
    If the number of rows is private, an average of few rows has a large error. With ``at_least``,
    so many rows count at least. Linear in the number of items.

    Example:
        >>> from hartley.trusted.questions.question import parse
        >>> from hartley.schema.schema import Column, Schema
        >>> age = Column("age", "private", low=Fraction(0), high=Fraction(120), step=Fraction(1))
        >>> found = parse("SELECT AVG(age) FROM people", Schema("people", {"age": age}), 1000)
        >>> worst_errors(found.with_steps([1001]))  # a sum to within 500, of 1000 people
        (Fraction(1, 2),)
    """
    return tuple(_worst(selection, item, public_count, at_least) for item in selection.items)


def steps_for_error(
    selection: Selection,
    error: object,
    *,
    public_count: PublicCount | None = None,
    rows_per_unit: int = 1,
) -> tuple[Fraction, ...]:
    """Return the coarsest steps that keep every item within an error for any data.

    Counts stay exact where a person has one row, or something is divided by them. An average or a
    spread may rest on one row, and has then the error of its sum, unless the number of rows is
    public or ``with_min_rows`` assumes one: an error is then cheaper.

    Example:
        >>> from hartley.trusted.questions.question import parse
        >>> from hartley.schema.schema import Column, Schema
        >>> age = Column("age", "private", low=Fraction(0), high=Fraction(120), step=Fraction(1))
        >>> found = parse("SELECT AVG(age) FROM people", Schema("people", {"age": age}), 1000)
        >>> steps_for_error(found, "0.5")
        (Fraction(1001, 1),)
    """
    wish = _wished(error)
    steps: list[Fraction | None] = [None] * len(selection.questions)
    coarse = selection.coarse_counts
    for item in selection.items:
        for place, enough in _steps(selection, item, wish, public_count):
            question, old = selection.questions[place], steps[place]
            # Cells of more rows than a person has cost no less.
            step = (
                min(_within(question, 2 * wish), Fraction(rows_per_unit))
                if question in coarse
                else enough
            )
            steps[place] = step if old is None else min(old, step)
    return tuple(Fraction(1) if step is None else step for step in steps)


def with_min_rows(selection: Selection, error: object, min_rows: object) -> Selection:
    """Return a selection that promises an error only if at least this many rows count.

    Marks the averages and spreads whose number of rows does not follow from the schema. Their steps
    are then chosen for that number, before the data is read: more rows make an error smaller, and
    fewer rows get a true, wider interval. This also holds where public columns choose fewer rows: a
    price without the table does not know how many there are, and must not be below the charge.
    """
    wish, number = _wished(error), parse_number(min_rows, name="the least number of rows")
    if number.denominator != 1 or number < 1:
        raise OptionError(
            "The least number of rows is not a whole number above 0",
            hint="write for example min_rows=100 (--min-rows 100)",
        )
    return replace(
        selection,
        items=tuple(
            replace(item, min_rows=_least_rows(selection, item, int(number)))
            if _needs_rows(selection, item, wish)
            else item
            for item in selection.items
        ),
    )


def _needs_rows(selection: Selection, item: Item, wish: Fraction) -> bool:
    """Whether an error needs a number of rows, and the schema does not say which."""
    if (
        item.bounds is None
        or item.kind not in DIVIDED
        or _range_width(item) <= 2 * _in_units(item, wish)
    ):
        return False
    return _known_rows(selection, item, None) is None


def _least_rows(selection: Selection, item: Item, number: int) -> int:
    if number > item.rows[1]:
        raise Refused(
            f"At most {item.rows[1]:,} rows can count for {item.label}, fewer than {number:,}",
            hint="give a smaller min_rows= (--min-rows)",
            text=selection.text,
            place=item.place,
        )
    return number


def _wished(error: object) -> Fraction:
    wish = parse_number(error, name="the error")
    if wish < 0:
        raise OptionError(f"The error {error} is negative", hint="write 0 or a positive number")
    return wish


def _in_units(item: Item, wish: Fraction) -> Fraction:
    """Return an error in units of the form."""
    return wish / (abs(item.scale) * _unscaled(item))


def _steps(
    selection: Selection, item: Item, wish: Fraction, public_count: PublicCount | None
) -> list[tuple[int, Fraction]]:
    """Return the places of the questions of an item, each with the coarsest sufficient step."""
    counts = [(item.count, Fraction(1))] if item.count is not None else []
    if item.kind is NumberKind.COUNT:
        return counts
    scaled = _in_units(item, wish)
    if item.bounds is None or (
        item.kind is not NumberKind.SUM and _range_width(item) <= 2 * scaled
    ):
        return _constants(selection, item)
    if item.kind in (NumberKind.SUM, NumberKind.ORDER):
        place = item.sum if item.order is None else item.order
        assert place is not None
        return [*counts, (place, _within(selection.questions[place], 2 * scaled))]
    assert item.sum is not None
    total = selection.questions[item.sum]
    rows = _known_rows(selection, item, public_count)
    if rows is not None and rows <= item.sample:  # NULL for any data
        return [*_constants(selection, item), *counts]
    # A sample of one row has no variance: it is NULL, and exact. More rows that are public make
    # the same error cheaper.
    rows = max(item.min_rows or 0, 1 + item.sample, rows or 0)
    if item.kind is NumberKind.AVERAGE:
        return [*counts, (item.sum, _within(total, 2 * scaled * rows))]
    return [*counts, *_spread_steps(selection, item, wish, rows)]


def _spread_steps(
    selection: Selection, item: Item, wish: Fraction, rows: int
) -> list[tuple[int, Fraction]]:
    """Divide the width that a variance may have between its sum and its squares."""
    assert item.sum is not None
    assert item.squares is not None
    total, squares = selection.questions[item.sum], selection.questions[item.squares]
    width = 2 * wish / item.scale**2
    largest = item.ends[1]
    if item.kind is NumberKind.DEVIATION:
        root = 2 * wish / abs(item.scale) - WIDEST_ROOT - Fraction(1, ROOT_GRID)
        if root < 0:
            raise Refused(
                f"The error {decimal_text(wish, PLACES)} of {item.label} is smaller than the "
                "rounding of square roots",
                hint="give a larger error, or ask for the variance",
                text=selection.text,
                place=item.place,
            )
        width = root**2
    if item.sample:
        width = width * (rows - 1) / rows
    off = math.floor(SPLIT * width * rows / (2 * largest)) if largest else 0
    off = min(off, rows * largest)
    rest = math.floor(rows * (width - _squared_mean_width(off, rows, largest)))
    return [(item.sum, _capped(total, off)), (item.squares, _capped(squares, rest))]


def _worst(
    selection: Selection, item: Item, public_count: PublicCount | None, at_least: int | None
) -> Fraction:
    first = _width(selection.questions[item.parts[0]]) if item.parts else 0
    if item.kind is NumberKind.COUNT:
        return Fraction(first, 2)
    if item.bounds is None:
        return Fraction(0)
    counted = 0 if item.count is None else _width(selection.questions[item.count])
    if item.kind is NumberKind.SUM:
        return (abs(item.scale) * first + abs(item.shift) * counted) / 2
    width = Fraction(first)
    if item.kind is not NumberKind.ORDER:
        rows = _known_rows(selection, item, public_count)
        if rows is None:  # more rows make the error no larger
            rows = min(max(at_least or 0, 1 + item.sample), item.rows[1])
        width = _divided_width(selection, item, counted, rows)
    error = min(width, _range_width(item)) * abs(item.scale) / 2
    return error * _unscaled(item) if item.kind is NumberKind.VARIANCE else error


def _divided_width(selection: Selection, item: Item, counted: int, rows: int) -> Fraction:
    """Return the largest width of what is divided by the number of rows, in units of the form."""
    if counted:  # the number of rows is not known exactly
        return _range_width(item)
    if rows <= item.sample:  # NULL for any data
        return Fraction(0)
    if item.kind is not NumberKind.AVERAGE:
        return _spread_width(selection, item, rows)
    assert item.sum is not None
    return Fraction(_width(selection.questions[item.sum]), rows)


# --- answers that say no more than the schema -----------------------------------------------------


def vacuous_labels(
    selection: Selection, *, public_count: PublicCount | None = None
) -> tuple[str, ...]:
    """Return the labels of a SELECT whose numbers say no more than the schema, for any data.

    A number is vacuous if its cells contain everything that the schema allows; an average or a
    spread also if they do so in a group of average size, or the number of its rows is not
    revealed. A number that the schema alone settles is
    exact, not vacuous. A label is returned if it has a vacuous number and no group in which its
    number is not vacuous. Linear in the number of items.

    Example:
        >>> from hartley.trusted.questions.question import parse
        >>> from hartley.schema.schema import Column, Schema
        >>> age = Column("age", "private", low=Fraction(0), high=Fraction(120), step=Fraction(1))
        >>> median = parse("SELECT MEDIAN(age) FROM people", Schema("people", {"age": age}), 1000)
        >>> vacuous_labels(median.with_steps([121])), vacuous_labels(median.with_steps([60]))
        (('MEDIAN(age)',), ())
    """
    labels: set[str] = set()
    vacuous: dict[str, None] = {}
    for item in selection.items:
        if item.label in labels or _settled(item):
            continue
        if any(_tells(selection, item, way, public_count) for way in _needed(selection, item)):
            labels.add(item.label)
        elif item.kind in (NumberKind.COUNT, NumberKind.SUM):
            vacuous[item.label] = None
        else:
            rows = _known_rows(selection, item, public_count)
            if rows is None or rows > item.sample:  # otherwise it is public that it is NULL
                vacuous[item.label] = None
    return tuple(label for label in vacuous if label not in labels)


def coarsest_steps(selection: Selection, schema: Schema) -> Steps:
    """Return the coarsest step of each question at which no label is vacuous in all groups.

    None for an exact count, and for another question that may be constant.
    """
    easiest: dict[str, tuple[Fraction, dict[int, Fraction]]] = {}
    for item in selection.items:
        for steps in () if _settled(item) else _needed(selection, item):
            scales = [
                step / size_of(selection.questions[place], schema)
                for place, step in steps.items()
                if selection.questions[place].statistic is not Statistic.COUNT
            ]
            scale = min(scales, default=Fraction(10**60))
            if item.label not in easiest or scale > easiest[item.label][0]:
                easiest[item.label] = scale, steps
    coarsest: list[Fraction | None] = [None] * len(selection.questions)
    for _, steps in easiest.values():
        for place, step in steps.items():
            old = coarsest[place]
            coarsest[place] = step if old is None else min(old, step)
    rows = Fraction(schema.rows_per_unit)
    coarse = selection.coarse_counts if rows > 1 else frozenset()
    return [
        step
        if question.statistic is not Statistic.COUNT
        else min(step, rows)
        if step is not None and question in coarse
        else None
        for question, step in zip(selection.questions, coarsest, strict=True)
    ]


def _settled(item: Item) -> bool:
    """Whether the schema alone settles a number, except that it may be NULL."""
    if item.rows[1] == 0:
        return True
    if item.kind is NumberKind.COUNT:
        return item.rows[0] == item.rows[1]
    if item.bounds is None or item.kind is not NumberKind.SUM:
        return item.bounds is None or item.bounds[0] == item.bounds[1]
    return item.bounds[0] == item.bounds[1] and item.rows[0] == item.rows[1]


def _needed(selection: Selection, item: Item) -> list[dict[int, Fraction]]:
    """Return ways to make an item not vacuous: the coarsest step of each question it needs.

    At such a step the largest and the smallest total lie in different cells, in an average group.
    """
    count = {} if item.count is None else {item.count: Fraction(item.rows[1])}
    if item.kind is NumberKind.COUNT:
        return [count]
    if item.bounds is None:
        return []

    def parted(place: int | None, largest: int) -> dict[int, Fraction]:
        assert place is not None
        return {place: Fraction(largest - selection.questions[place].least)}

    least, most = item.bounds
    if item.kind is NumberKind.ORDER:
        return [parted(item.order, most)]
    if item.kind is NumberKind.SUM:
        ends = [number * end for number in item.rows for end in (least, most)]
        return [parted(item.sum, max(ends)), *([count] if count else [])]
    rows = _usual_rows(selection, item)
    ways = [parted(item.sum, rows * most)]
    if item.squares is not None:
        ways.append(parted(item.squares, rows * most**2))
    return [count | way for way in ways]


def _tells(
    selection: Selection, item: Item, way: Iterable[int], public_count: PublicCount | None
) -> bool:
    """Whether each question of one of these ways has more than one possible cell."""
    rows = item.rows[1]
    if item.kind not in (NumberKind.COUNT, NumberKind.SUM, NumberKind.ORDER):
        width = item.ends[1] - item.ends[0]
        if any(selection.questions[place].step > width for place in way):
            # Perhaps enough for all rows, but not for the few that publicly count.
            rows = _known_rows(selection, item, public_count) or _usual_rows(selection, item)
    for place in way:
        question = selection.questions[place]
        ends = _bounds(question, item, rows)
        first, last = (math.floor((end - question.least) / question.step) for end in ends)
        if first == last:
            return False
    return True


def _usual_rows(selection: Selection, item: Item) -> int:
    """Return the number of rows of an average group; all rows where that is not public."""
    return max(min(selection.average or item.rows[1], item.rows[1]), 1 + item.sample)


def _bounds(question: Question, item: Item, rows: int) -> tuple[int, int]:
    """Return the range of a total; with a number of rows, for a total that is divided by it."""
    if question.statistic is Statistic.COUNT:
        return item.rows
    if question.statistic is Statistic.ORDER:
        return item.ends
    power = 2 if question.statistic is Statistic.SQUARES else 1
    numbers = item.rows if item.kind is NumberKind.SUM else (rows,)
    ends = [number * end**power for number in numbers for end in item.ends]
    return min(ends), max(ends)


def _unscaled(item: Item) -> Fraction:
    """A variance is in squared units: its scale counts twice."""
    return abs(item.scale) if item.kind is NumberKind.VARIANCE else Fraction(1)


def _spread_width(selection: Selection, item: Item, rows: int) -> Fraction:
    """Return the largest width of a variance or a deviation, in units of its form."""
    assert item.sum is not None
    assert item.squares is not None
    off = _width(selection.questions[item.sum])
    squares_off = _width(selection.questions[item.squares])
    largest = item.ends[1]  # of a form that begins at 0
    off = min(off, rows * largest)
    width = Fraction(squares_off, rows) + _squared_mean_width(off, rows, largest)
    if item.sample:
        width = width * rows / (rows - 1)
    return width if item.kind is NumberKind.VARIANCE else root_up(width) + WIDEST_ROOT


def _squared_mean_width(off: int, rows: int, largest: int) -> Fraction:
    """Return how much a squared mean can vary if its sum, at most rows h, is off by that."""
    return Fraction(off * (2 * rows * largest - off), rows**2)


def _range_width(item: Item) -> Fraction:
    """Return the width of the answer by the range of the values alone, in units of the form."""
    width = Fraction(item.ends[1] - item.ends[0])
    if item.kind in (NumberKind.AVERAGE, NumberKind.ORDER):
        return width
    variance = width**2 / 4 * (2 if item.sample else 1)
    if item.kind is NumberKind.VARIANCE or not variance:
        return variance
    return root_up(variance) + WIDEST_ROOT


def _known_rows(selection: Selection, item: Item, public_count: PublicCount | None) -> int | None:
    """Return the number of rows of an item if it is public."""
    if item.rows[0] == item.rows[1]:
        return item.rows[0]
    where = selection.questions[item.parts[0]].where
    return None if public_count is None else public_count(where)


def _width(question: Question) -> int:
    """Return the largest number of steps between the ends of a cell."""
    return min(math.ceil(question.step) - 1, question.most - question.least)


def _within(question: Question, width: Fraction) -> Fraction:
    return _capped(question, math.floor(width))


def _capped(question: Question, width: int) -> Fraction:
    """Return the coarsest step with cells no wider; one cell if everything fits into it."""
    return Fraction(min(width, question.most - question.least) + 1)


def _constants(selection: Selection, item: Item) -> list[tuple[int, Fraction]]:
    """Return steps that reveal nothing."""
    asked = selection.questions
    return [(place, Fraction(asked[place].most - asked[place].least + 1)) for place in item.parts]


# --- quotes ---------------------------------------------------------------------------------------
# Plans for questions, made from public things alone before any data is read.

K = TypeVar("K")
V = TypeVar("V")
MOST_PLANS, MOST_KEPT = 1000, 100
"""The number of cached plans, and the largest number of statistics of a cached plan."""
MOST_LARGE = 2
"""The number of larger plans that are cached: a question is read several times for one answer."""
MOST_TRIES = 8
"""The number of prices tried, at doubling distances, until one reveals something."""


def remember(known: dict[K, V], key: K, value: V, most: int) -> None:
    """Keep a value under its key, and forget all others if there are too many."""
    if len(known) >= most:
        known.clear()
    known[key] = value


@dataclass(frozen=True)
class RefinedPlans:
    """Plans in the cells that an account knows, and their questions as the ledger writes them."""

    plans: tuple[Selection, ...]
    questions: tuple[Question, ...]
    """Every question of the plans once, in their order."""
    places: tuple[tuple[int, ...], ...]
    """For each plan, the places of its questions among them."""
    texts: tuple[str, ...]
    """The questions in their canonical form."""
    told: int
    """How many questions had told the account something."""
    wished: tuple[Selection, ...]
    """The plans as they were wished."""

    @classmethod
    def of(cls, wished: Sequence[Selection], told: EarlierAnswers) -> RefinedPlans:
        """Return plans in the cells that were told already, where these are finer."""
        size = told.size
        plans = tuple(refine_to_known_cells(plan, told) for plan in wished)
        questions = tuple(questions_of(plans))
        order = {question: place for place, question in enumerate(questions)}
        places = tuple(tuple(order[question] for question in plan.questions) for plan in plans)
        texts = tuple(canonical(to_plain(question)) for question in questions)
        return cls(plans, questions, places, texts, size, tuple(wished))

    @property
    def note(self) -> str:
        """The texts as they were typed, which are stored with a charge."""
        return "\n".join(plan.text for plan in self.plans)


@dataclass(frozen=True)
class PriceDesk:
    """Reads and prices questions; it knows only what is public, and no data."""

    schema: Schema
    rows: int
    """The public number of rows, or the largest possible one."""
    public_count: PublicCount | None = None
    """Counts rows by public columns alone, if that is possible."""
    version: str | None = None
    """Of the data; None where it is the ledger's present one."""
    plans: dict[tuple[str, ...], Selection] = field(default_factory=dict, repr=False, compare=False)
    """The cached plans by text and wish, since plans depend on nothing else."""
    _steps: dict[object, tuple[Fraction, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """The steps that were searched for, by all that the search depends on."""
    _large: dict[tuple[str, ...], Selection] = field(
        default_factory=dict, repr=False, compare=False
    )
    _labels: dict[int, tuple[Selection, tuple[str, ...]]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _known: dict[tuple[object, ...], RefinedPlans] = field(
        default_factory=dict, repr=False, compare=False
    )
    """By account and plans, which are kept with them, so that no other plan has the same id."""

    @cached_property
    def earlier(self) -> ChargedRows:
        """What was charged before, as far as it was read."""
        return ChargedRows(self.schema, self.version)

    def known_plans(
        self, plans: Sequence[Selection], ledger: TrustedLedger, analyst: str | None
    ) -> list[Selection]:
        """Return plans in the cells that the account was told already, where these are finer.

        Such a question is a repeat, so it is free, and better than asked. Plans themselves never
        look at the ledger: the same text would be refined, and charged, again at every call.
        """
        holder = self.earlier.read_as(ledger, analyst, lambda _, place: place.holder)
        told = self.earlier.told(holder)
        return [refine_to_known_cells(plan, told) for plan in plans]

    def look_up(
        self,
        plans: Sequence[Selection],
        ledger: TrustedLedger,
        analyst: str | None,
        **given: str | None,
    ) -> tuple[RefinedPlans, ChargePlan]:
        """Return the same plans, and what of them is paid for in the same state of the ledger.

        ``given`` is what a charge for them would be based on, see ``Ledger.reserve``.
        """

        def work(transaction: Transaction, place: RowPlace) -> tuple[RefinedPlans, ChargePlan]:
            known = self._refine_to_known_cells(plans, place.holder)
            batch = batch_of(place.dataset, analyst, known.texts, note=known.note, **given)
            return known, charge_plan(transaction, batch, place)

        return self.earlier.read_as(ledger, analyst, work)

    def _refine_to_known_cells(self, plans: Sequence[Selection], account: str) -> RefinedPlans:
        key, told = (account, *map(id, plans)), self.earlier.told(account)
        known = self._known.get(key)
        if known is None or known.told != told.size:
            known = RefinedPlans.of(plans, told)
            if len(known.questions) <= MOST_KEPT:
                remember(self._known, key, known, MOST_PLANS)
        return known

    def prices(
        self,
        questions: Sequence[Question],
        given: Sequence[int] | None = None,
        *,
        most_bits: float | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> ConditionalPrices:
        """Return the prices of parts of a batch after what was charged before."""
        return ConditionalPrices(
            questions, self.earlier, given=given, most_bits=most_bits, check=check
        )

    def plan(
        self,
        questions: str | Wish | Sequence[str | Wish],
        error: object,
        bits: object,
        min_rows: object = None,
    ) -> list[Selection]:
        """Parse and validate every question and choose its steps."""
        listed = [questions] if isinstance(questions, (str, Wish)) else questions
        if not isinstance(listed, (list, tuple)) or not all(map(_is_asked, listed)):
            raise OptionError(
                "The question is neither SQL text nor a Wish, nor a list of them",
                hint="write for example 'SELECT COUNT(*) FROM people'",
            )
        if not listed:
            raise OptionError("The batch has no question", hint="ask at least one")
        plans = []
        for item in listed:
            if isinstance(item, Wish):
                wish = item.or_else(error, bits, min_rows)
            else:
                wish = Wish(item, error, bits, min_rows)
            plans.append(self._selection(wish))
        return plans

    def _selection(self, wish: Wish) -> Selection:
        key = wish.text, repr(wish.error), repr(wish.bits), repr(wish.min_rows)
        known = self.plans.get(key) or self._large.get(key)
        if known is None:
            known = self._resolved(wish)
            large = len(known.questions) > MOST_KEPT
            cache, most = (self._large, MOST_LARGE) if large else (self.plans, MOST_PLANS)
            remember(cache, key, known, most)
        return known

    def _resolved(self, wish: Wish) -> Selection:
        if wish.error is not None and wish.bits is not None:
            raise OptionError("Both an error and bits were given", hint="give one of them")
        if wish.error is None and wish.min_rows is not None:
            raise OptionError(
                "A least number of rows was given without an error",
                hint="give error= too (--error): it holds if that many rows count",
            )
        selection = parse(wish.text, self.schema, self.rows)
        if wish.error is not None:
            if wish.min_rows is not None:
                selection = with_min_rows(selection, wish.error, wish.min_rows)
            steps = steps_for_error(
                selection,
                wish.error,
                public_count=self.public_count,
                rows_per_unit=self.schema.rows_per_unit,
            )
            resolved = self._as_fine_at_that_price(selection.with_steps(steps))
        else:
            bits = self.schema.default_bits if wish.bits is None else wish.bits
            resolved = self._within(selection, bits)
        if not all(fits(question, self.schema, self.rows) for question in resolved.questions):
            raise Refused(
                "A total of this question could be too large for an exact sum",
                hint="use smaller coefficients, or coarser steps in the schema",
                text=wish.text,
            )
        return resolved

    def _within(self, selection: Selection, bits: object) -> Selection:
        """Return a selection with the finest steps for a number of bits."""
        try:
            limit = floor_power(bits, what="wished price")
            return selection.with_steps(self.steps_within(selection, limit))
        except Refused as refused:
            labels = selection.labels
            prices = self.useful(selection, labels, floor_power(bits, what="wished price"))
            raise Refused(
                refused.problem,
                hint=f"allow more bits: {useful_words(prices)}" if prices else refused.hint,
                text=selection.text,
            ) from None

    def steps_within(self, plan: Selection, limit: int) -> tuple[Fraction, ...]:
        """Return the finest steps at which a plan costs at most a number of cells."""
        return steps_within(plan.questions, limit, self.schema, plan.coarse_counts, self._steps)

    # --- answers that would say no more than the schema ---

    def check_useful(self, known: RefinedPlans, unpaid: Sequence[int]) -> None:
        """Raise an error for answers that say no more than the schema, unless already paid for."""
        for plan, places in zip(known.plans, known.places, strict=True):
            labels = self.vacuous(plan)
            if not labels or not set(places).intersection(unpaid):
                continue
            prices = self.useful(plan, labels, price(plan.questions, self.schema).cells)
            raise Refused(
                f"The answer to {labels[0]} would be no narrower than the schema",
                hint=(f"{useful_words(prices)}; " if prices else "")
                + "ask for it anyway with vacuous=True (--vacuous)",
                text=plan.text,
                place=next(item.place for item in plan.items if item.label == labels[0]),
            )

    def vacuous(self, plan: Selection) -> tuple[str, ...]:
        """Return the vacuous labels of a plan; kept for cached plans, which are asked often."""
        known = self._labels.get(id(plan))
        if known is None or known[0] is not plan:
            known = plan, vacuous_labels(plan, public_count=self.public_count)
            remember(self._labels, id(plan), known, MOST_PLANS)
        return known[1]

    def useful(self, plan: Selection, labels: Sequence[str], cells: int) -> tuple[UsefulPrice, ...]:
        """Return the least price at which no label is vacuous, and the next whole number of bits.

        The errors are those of the given labels, which would be vacuous for less.
        """
        coarsest = coarsest_steps(plan, self.schema)
        limit = max(cells_within(plan.questions, coarsest, self.schema), cells + 1)
        for more in range(MOST_TRIES):
            first = self._useful_within(plan, limit + 2**more - 1, labels)
            if first is not None:
                break
        else:
            return ()
        whole = 1 << (first.cells - 1).bit_length()
        exact = not any(error for _, error in first.errors)
        if (
            exact or whole == first.cells or len(plan.questions) > MOST_KEPT
        ):  # a second search takes long
            return (first,)
        second = self._useful_within(plan, whole, labels)
        better = second is not None and second.errors != first.errors
        return (first, second) if second is not None and better else (first,)

    def _useful_within(
        self, plan: Selection, limit: int, labels: Sequence[str]
    ) -> UsefulPrice | None:
        """Return the errors of labels within a limit of cells; None if a label stays vacuous."""
        try:
            steps = self.steps_within(plan, limit)
        except Refused:
            return None
        finer = plan.with_steps(steps)
        if vacuous_labels(finer, public_count=self.public_count):
            return None
        return self.useful_price(finer, limit, labels)

    def useful_price(self, plan: Selection, cells: int, labels: Sequence[str]) -> UsefulPrice:
        """Return a price with the errors of some labels that a group can really have."""
        first, *others = self.some_rows(plan)
        usual = _named(self.errors(plan, first), labels)
        if usual == _named(self.errors(plan), labels):
            return UsefulPrice(cells, usual)
        at_rows = tuple(
            ErrorsAtRows(rows, _named(self.errors(plan, rows), labels)) for rows in others
        )
        average = len(plan.groups) > 1 and plan.average is not None
        return UsefulPrice(cells, usual, first, average, at_rows)

    def some_rows(self, plan: Selection) -> list[int]:
        """Return the numbers of rows for which errors are named, the most usual one first."""
        if plan.average is not None:
            return list(dict.fromkeys((plan.average, min(USUAL_ROWS, self.rows))))
        usual = min(USUAL_ROWS, self.rows)
        return [usual, *(rows for rows in SOME_ROWS if rows < self.rows and rows != usual)]

    def _as_fine_at_that_price(self, selection: Selection) -> Selection:
        """Return a selection with the finest steps that cost no more than its own.

        Wishes that cost the same become the same question, so that the second one is free.
        """
        cells = price(selection.questions, self.schema).cells
        try:
            steps = self.steps_within(selection, cells)
        except Refused:
            return selection
        finer = all(new <= old.step for new, old in zip(steps, selection.questions, strict=True))
        return selection.with_steps(steps) if finer else selection

    def errors(self, plan: Selection, at_least: int | None = None) -> Errors:
        """Return the largest error of each number of the text, over all groups."""
        worst: dict[str, Fraction] = {}
        errors = worst_errors(plan, public_count=self.public_count, at_least=at_least)
        for item, error in zip(plan.items, errors, strict=True):
            worst[item.label] = max(error, worst.get(item.label, error))
        return tuple(worst.items())


def _named(errors: Errors, labels: Sequence[str]) -> Errors:
    return tuple(error for error in errors if error[0] in labels)


def _is_asked(question: object) -> bool:
    return isinstance(question, str) or (
        isinstance(question, Wish) and isinstance(question.text, str)
    )


def refine_to_known_cells(plan: Selection, told: EarlierAnswers) -> Selection:
    """Return a plan in the cells that were told before, where these are finer: free, and better."""
    return plan.with_steps([told.finest(asked) or asked.step for asked in plan.questions])


def questions_of(plans: Sequence[Selection]) -> list[Question]:
    """Return every question of some plans once, in the order of the batch."""
    return list(dict.fromkeys(question for plan in plans for question in plan.questions))


def check_same_schema(schema: Schema, known: State) -> None:
    """Raise an error for another schema than the dataset's in the ledger, and for unknown rules."""
    check_rules(known.rule_version, f"the dataset '{schema.name}' was last charged")
    if known.schema != schema.to_toml():
        raise InputError(
            f"The schema of '{schema.name}' differs from the one in the ledger",
            hint="pass the schema of the ledger, or in Python record the change with change_schema",
        )
