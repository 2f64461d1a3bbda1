"""The error of an answer and the coarsest steps for an error, known before any data is read."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.agent.answers.cells import ROOT_GRID, root_up
from hartley.agent.pricing.price import size_of
from hartley.agent.questions.batch import Statistic
from hartley.agent.questions.selection import Item, NumberKind
from hartley.agent.questions.values import PLACES
from hartley.errors import OptionError, Refused
from hartley.exact import parse_number
from hartley.wording import decimal_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hartley.agent.questions.batch import Condition, Question
    from hartley.agent.questions.selection import Selection
    from hartley.ranges.schema.schema import Schema

    Steps = list[Fraction | None]

    PublicCount = Callable[[Condition], int | None]
    """A function from a condition to its number of rows, if that is public."""

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
    fullest: bool = False,
    at_least: int | None = None,
) -> tuple[Fraction, ...]:
    """Return for each item the largest half-width that its answer can have for any data.

    Exact for sums, order statistics and averages of a public number of rows; a bound otherwise.
    If the number of rows is private, an average of few rows has a large error. With ``at_least``,
    so many rows count at least; with ``fullest``, every row counts. Linear in the number of items.

    Example:
        >>> from hartley.agent.questions.question import parse
        >>> from hartley.ranges.schema.schema import Column, Schema
        >>> age = Column("age", "private", low=Fraction(0), high=Fraction(120), step=Fraction(1))
        >>> found = parse("SELECT AVG(age) FROM people", Schema("people", {"age": age}), 1000)
        >>> worst_errors(found.with_steps([1001]))  # a sum to within 500, of 1000 people
        (Fraction(1, 2),)
    """
    return tuple(
        _worst(selection, item, public_count, item.rows[1] if fullest else at_least)
        for item in selection.items
    )


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
        >>> from hartley.agent.questions.question import parse
        >>> from hartley.ranges.schema.schema import Column, Schema
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
    """Return a selection that promises an error only if at least so many rows count.

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
        item.reach is None
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
    if item.reach is None or (item.kind is not NumberKind.SUM and _range_width(item) <= 2 * scaled):
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
    assert item.reach is not None
    largest = item.reach[1]
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
    if item.reach is None:
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
    spread also if the number of its rows is not revealed. A number that the schema alone settles is
    exact, not vacuous. A label is returned if it has a vacuous number and no group in which its
    number is not vacuous. Linear in the number of items.

    Example:
        >>> from hartley.agent.questions.question import parse
        >>> from hartley.ranges.schema.schema import Column, Schema
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
        elif not _certainly_null(selection, item, public_count):
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
    if item.reach is None or item.kind is not NumberKind.SUM:
        return item.reach is None or item.reach[0] == item.reach[1]
    return item.reach[0] == item.reach[1] and item.rows[0] == item.rows[1]


def _needed(selection: Selection, item: Item) -> list[dict[int, Fraction]]:
    """Return ways to make an item not vacuous: the coarsest step of each question it needs.

    At such a step the largest and the smallest total lie in different cells, if every row counts.
    """
    count = {} if item.count is None else {item.count: Fraction(item.rows[1])}
    if item.kind is NumberKind.COUNT:
        return [count]
    if item.reach is None:
        return []

    def parted(place: int | None, largest: int) -> dict[int, Fraction]:
        assert place is not None
        return {place: Fraction(largest - selection.questions[place].least)}

    least, most = item.reach
    rows = item.rows[1]
    if item.kind is NumberKind.ORDER:
        return [parted(item.order, most)]
    if item.kind is NumberKind.SUM:
        ends = [number * end for number in item.rows for end in (least, most)]
        return [parted(item.sum, max(ends)), *([count] if count else [])]
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
        assert item.reach is not None
        width = item.reach[1] - item.reach[0]
        if any(selection.questions[place].step > width for place in way):
            # Perhaps enough for all rows, but not for the few that publicly count.
            rows = _known_rows(selection, item, public_count) or rows
    for place in way:
        question = selection.questions[place]
        ends = _bounds(question, item, rows)
        first, last = (math.floor((end - question.least) / question.step) for end in ends)
        if first == last:
            return False
    return True


def _bounds(question: Question, item: Item, rows: int) -> tuple[int, int]:
    """Return the range of a total; with a number of rows, for a total that is divided by it."""
    if question.statistic is Statistic.COUNT:
        return item.rows
    assert item.reach is not None
    if question.statistic is Statistic.ORDER:
        return item.reach
    power = 2 if question.statistic is Statistic.SQUARES else 1
    numbers = item.rows if item.kind is NumberKind.SUM else (rows,)
    ends = [number * end**power for number in numbers for end in item.reach]
    return min(ends), max(ends)


def _certainly_null(selection: Selection, item: Item, public_count: PublicCount | None) -> bool:
    """Whether it is public that there are too few rows."""
    if item.kind in (NumberKind.COUNT, NumberKind.SUM):
        return False
    rows = _known_rows(selection, item, public_count)
    return rows is not None and rows <= item.sample


def _unscaled(item: Item) -> Fraction:
    """A variance is in squared units: its scale counts twice."""
    return abs(item.scale) if item.kind is NumberKind.VARIANCE else Fraction(1)


def _spread_width(selection: Selection, item: Item, rows: int) -> Fraction:
    """Return the largest width of a variance or a deviation, in units of its form."""
    assert item.sum is not None
    assert item.squares is not None
    assert item.reach is not None
    off = _width(selection.questions[item.sum])
    squares_off = _width(selection.questions[item.squares])
    largest = item.reach[1]  # of a form that begins at 0
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
    assert item.reach is not None
    width = Fraction(item.reach[1] - item.reach[0])
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
    questions = [(place, selection.questions[place]) for place in item.parts]
    return [
        (place, _capped(question, question.most - question.least)) for place, question in questions
    ]
