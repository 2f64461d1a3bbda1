"""Answers, prices, budgets and datasets on a page."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hartley.exact import bits_at_most
from hartley.results.quote import USUAL_ROWS
from hartley.service.console.pages import (
    PREFIX,
    DrawnPrice,
    Purse,
    Scale,
    aligned,
    bits_number,
    draw_curve,
    draw_days,
    draw_ends,
    draw_gauge,
    draw_interval,
    error_words,
    heights,
    left_number,
    zoomed,
)
from hartley.text import as_date, bits_down, bits_up, count_of, decimal_text, number
from hartley.trusted.questions.question import NumberKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.results.plan import PriceCurve, PricePoint
    from hartley.schema.schema import Column, Schema
    from hartley.trusted.questions.question import Item, Selection

MOST_LINES = 200
"""Of one table; the rest is counted."""
WORTH_A_ZOOM = 0.5
"""Where the intervals fill less than this share of the range, a zoom is offered."""
SLACK = 1e-9
"""Both sides are logarithms in doubles; what is refused in the end, the ledger decides exactly."""
MOST_DAYS = 30
"""Of the timeline."""


# --- an answer: a line per group with its interval, whole and zoomed ---


@dataclass(frozen=True)
class AnswerLine:
    """One number of an answer: its group, its texts, and its interval drawn twice."""

    group: tuple[str, ...]
    value: str
    within: str
    error: str
    whole: str
    """The interval on the whole range, as SVG."""
    zoomed: str
    """The same on the part of the range in which all intervals lie."""


@dataclass(frozen=True)
class AnswerTable:
    """All lines of one number of a SELECT, and the ends of the ranges that they are drawn on."""

    label: str
    keys: tuple[str, ...]
    lines: tuple[AnswerLine, ...]
    hidden: int
    """How many lines were left out."""
    whole_ends: tuple[str, str]
    zoomed_ends: tuple[str, str] | None
    """None where a zoom would show nothing more."""

    @property
    def headline(self) -> AnswerLine | None:
        """The line of an answer that is a single number."""
        return self.lines[0] if len(self.lines) == 1 and not self.lines[0].group else None


def answer_tables(content: Mapping[str, Any], plan: Selection) -> tuple[AnswerTable, ...]:
    """Return a table per number of the SELECT, from the field ``table`` of a reply."""
    return tuple(_answer_table(content, place, plan) for place in range(len(content["labels"])))


def _answer_table(content: Mapping[str, Any], place: int, plan: Selection) -> AnswerTable:
    label = content["labels"][place]
    numbers = [row["numbers"][place] for row in content["rows"]]
    ends = [ends for ends in map(_ends, numbers) if ends is not None]
    whole = whole_range([item for item in plan.items if item.label == label], ends)
    near = zoomed(ends, whole) if ends else whole
    date = any(number["date"] for number in numbers)
    lines = [
        _line(tuple(row["keys"]), number, whole, near)
        for row, number in zip(content["rows"], numbers, strict=True)
    ]
    values = aligned([line.value for line in lines])
    errors = aligned([line.error for line in lines])
    texts = zip(lines, values, errors, strict=True)
    lines = [replace(line, value=value, error=error) for line, value, error in texts]
    settled = len(ends) == 1 and ends[0][0] == ends[0][1]  # one point: nothing to compare
    useful = not settled and near.high - near.low < WORTH_A_ZOOM * (whole.high - whole.low)
    return AnswerTable(
        label,
        tuple(content["keys"]),
        tuple(lines[:MOST_LINES]),
        max(len(lines) - MOST_LINES, 0),
        _written(whole, date=date),
        _written(near, date=date) if useful else None,
    )


def _line(
    group: tuple[str, ...], number: Mapping[str, Any], whole: Scale, near: Scale
) -> AnswerLine:
    value, within, error = number["shown"]
    ends = _ends(number)
    if ends is None:
        return AnswerLine(group, value, within, error, "", "")
    name = ", ".join(group) or "The answer"
    words = f"{name}: {value}" if within == "exact" else f"{name}: certainly within {within}"
    pictures = []
    for scale in (whole, near):
        low, high = _written(scale, date=number["date"])
        drawn = f"{words}, drawn on a range from {low} to {high}"
        pictures.append(draw_interval(*ends, scale, drawn))
    return AnswerLine(group, value, within, error, *pictures)


def _ends(number: Mapping[str, Any]) -> tuple[float, float] | None:
    if number["low"] is None or number["high"] is None:
        return None
    return float(Fraction(number["low"])), float(Fraction(number["high"]))


def _written(scale: Scale, *, date: bool) -> tuple[str, str]:
    if date:
        days = Fraction(math.floor(scale.low)), Fraction(math.ceil(scale.high))
        return str(as_date(days[0])), str(as_date(days[1]))
    width = scale.high - scale.low
    places = max(0, 2 - math.floor(math.log10(width))) if width else 2
    low, high = (Fraction(end).limit_denominator(10**9) for end in (scale.low, scale.high))
    return number(low, round="down", places=places), number(high, round="up", places=places)


def whole_range(items: list[Item], ends: list[tuple[float, float]]) -> Scale:
    """Return the range in which numbers lie by the schema alone: drawn, never promised."""
    ranges = [reach for reach in map(_allowed, items) if reach is not None] + ends
    if not ranges:
        return Scale(0.0, 1.0)
    return Scale(min(low for low, _ in ranges), max(high for _, high in ranges))


def _allowed(item: Item) -> tuple[float, float] | None:
    if item.kind is NumberKind.COUNT:
        return 0.0, float(item.rows[1])
    if item.bounds is None:
        return None
    ends = sorted(float(item.scale * end + item.shift) for end in item.bounds)
    width = ends[1] - ends[0]
    if item.kind is NumberKind.SUM:
        return min(ends[0] * item.rows[1], 0.0), max(ends[1] * item.rows[1], 0.0)
    if item.kind is NumberKind.VARIANCE:
        return 0.0, width**2 / (2 if item.sample else 4)
    if item.kind is NumberKind.DEVIATION:
        return 0.0, width / (math.sqrt(2) if item.sample else 2)
    return ends[0], ends[1]


def answer_words(answers: Sequence[Mapping[str, Any]]) -> str:
    """Return the answers of a charge in a few words: the number, or how many numbers there are."""
    numbers = [
        number for answer in answers for row in answer["table"]["rows"] for number in row["numbers"]
    ]
    if len(numbers) != 1:
        return count_of(len(numbers), "number")
    value, within, error = numbers[0]["shown"]
    return value if within == "exact" or not error else f"{value} {error}"


def caption(reply: Mapping[str, Any]) -> str:
    """Say what an answer cost, what is spent in all and what is left."""
    paid = f"Charged {bits_up(reply['bits'])} for this answer"
    cost = paid if reply["bits"] else "Free: nothing more is due"
    spent, left = bits_up(reply["spent_bits"]), bits_down(reply["remaining_bits"])
    return f"{cost}. You have spent {spent} in all, and have {left} left."


# --- a priced question: the positions of its slider and the error curve ---


@dataclass(frozen=True)
class SliderPosition:
    """One price that can be chosen, and everything that the page says about it."""

    wish: str
    """The bits to ask for, as a form sends them."""
    bits: float
    """What would be charged now: the quote that the form sends back."""
    price: str
    """What would be charged now, in words."""
    alone: str
    """The price if the account had asked nothing before, in words; empty if it is the same."""
    short: str
    """Why it cannot be asked for: the allowance or the daily cap, in words; empty if it can."""
    error: str
    otherwise: str
    """The error for other numbers of rows, in words; empty if it holds for any."""
    others: str
    """The errors of the other numbers, in words; empty if there is one number."""
    one_more: str
    """What one more bit buys."""
    next_wish: str
    next_words: str
    left: str
    """What the account has left, now and after this price, in words."""
    x: float
    y: float

    def plain(self) -> dict[str, Any]:
        """Return what the script needs to show this position."""
        own = {"spend": self.spend, "button": self.button, "said": self.screen_reader_text}
        return asdict(self) | own

    @property
    def spend(self) -> str:
        """What the button that asks sends: the bits to ask for, and what may be charged."""
        return f"{self.wish} {self.bits!r}"

    @property
    def button(self) -> str:
        """The words on the button that asks."""
        return f"Ask and spend {self.price}" if self.bits else "Show the answer, free"

    @property
    def screen_reader_text(self) -> str:
        """The price and the error for a screen reader."""
        return f"{self.price}: {self.error}"


@dataclass(frozen=True)
class PricedQuestion:
    """A question with its slider, its curve and the lines of the table behind the curve."""

    text: str
    label: str
    rows_words: str
    """For which number of rows the errors hold; empty if for any data."""
    positions: tuple[SliderPosition, ...]
    chosen: int
    curve: str
    ends: str
    """The largest and the smallest error beside the curve, as SVG."""
    ticks: tuple[tuple[str, str, str], ...]
    """Whole numbers of bits that buy a smaller error than fewer: each in words, with its error and
    the bits to ask for."""
    table: PriceTable

    @property
    def now(self) -> SliderPosition:
        """The chosen position."""
        return self.positions[self.chosen]


@dataclass(frozen=True)
class SpendableBits:
    """What an account has left, and whether its token may spend it."""

    remaining: float
    may_spend: bool = True
    today: int | None = None
    """What its daily cap leaves, in cells; None without a cap."""

    def short(self, point: PricePoint) -> str:
        """Say why a price cannot be paid; empty if it can."""
        if point.bits > (self.remaining + SLACK if self.may_spend else 0.0):
            return "Your allowance does not cover this price."
        # A cap counts what is charged for the most expensive type of the public columns.
        charged = 0 if point.paid else point.charged or 0
        if self.today is None or charged <= self.today:
            return ""
        return f"Your daily cap leaves {bits_down(bits_at_most(self.today))} until midnight UTC."

    def words(self, due: float, *, able: bool = True) -> str:
        """Say what is left, now and after a charge that can be paid.

        Example:
            >>> SpendableBits(5.0).words(1.0)
            'You have 5 bits left; after this question, at most 4 bits.'
            >>> SpendableBits(1.0).words(1.0), SpendableBits(1.0).words(2.0, able=False)
            ('You have 1 bit left; after this question, none.', 'You have 1 bit left.')
            >>> SpendableBits(2.0).words(0.0)
            'You have 2 bits left, and this answer costs none.'
        """
        now = f"You have {bits_down(self.remaining)} left"
        if not able:
            return f"{now}."
        if not due:
            return f"{now}, and this answer costs none."
        rest = bits_down(max(self.remaining - due, 0.0))  # whole cells are left: an upper bound
        after = "none" if rest == bits_down(0.0) else f"at most {rest}"
        return f"{now}; after this question, {after}."


@dataclass(frozen=True)
class PriceTable:
    """All useful prices: what each costs alone and now, and the error of each number."""

    labels: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ShownErrors:
    """Which errors of a curve are shown: of which number, and for how many rows of a group."""

    place: int
    """The place of the number whose error a price changes: counts are exact at any."""
    label: str
    rows: int | None
    """Errors hold if at least so many rows count; None if they hold for any data."""

    @classmethod
    def of(cls, points: list[PricePoint]) -> ShownErrors:
        """Choose the errors to show of some points."""
        first = points[0]
        places = [place for place, (_, error) in enumerate(first.full_errors) if error]
        place = places[0] if places else 0
        label = first.errors[place][0]
        conditional = [some for point in points for some in point.errors_if]
        numbers = {some.rows for some in conditional if label in dict(some.errors)}
        usual = [rows for rows in numbers if rows <= USUAL_ROWS]
        return cls(place, label, max(usual) if usual else min(numbers, default=None))

    @property
    def words(self) -> str:
        """Say for which groups the errors hold; empty if for any."""
        return "" if self.rows is None else f"where at least {self.rows:,} rows count"

    def all(self, point: PricePoint) -> dict[str, Fraction]:
        """Return the error of each number at a price."""
        conditional = [dict(some.errors) for some in point.errors_if if some.rows == self.rows]
        return dict(point.errors) | (conditional[0] if conditional else {})

    def main(self, point: PricePoint) -> Fraction:
        """Return the error of the number whose error a price changes."""
        return self.all(point)[self.label]

    def others(self, point: PricePoint) -> str:
        """Write the errors of the other numbers."""
        errors = self.all(point)
        return ", ".join(
            f"{name} {error_words(errors[name])}" for name in errors if name != self.label
        )

    def otherwise(self, point: PricePoint) -> str:
        """Write the error for any data and for other numbers of rows: none of them is promised."""
        if self.rows is None:
            return ""
        words = [
            f"{error_words(error)} from {some.rows:,} rows"
            for some in point.errors_if
            for label, error in some.errors
            if label == self.label and some.rows != self.rows
        ]
        certain = error_words(dict(point.errors)[self.label])
        return ", ".join([*words, f"{certain} for certain, whatever the data"])


def priced_question(
    curve: PriceCurve,
    wish: object,
    remaining: float,
    *,
    may_spend: bool = True,
    today: int | None = None,
) -> PricedQuestion | None:
    """Return a curve with a slider; None if no price on it reveals anything.

    The slider has one position per whole number of bits, the first useful price, the last one and
    the price that was wished for. ``may_spend`` and ``today`` are those of ``SpendableBits``.
    """
    useful = [point for point in curve.points if not point.vacuous]
    if not useful:
        return None
    wished = curve.at(wish)
    chosen = wished if wished is not None and wished in useful else useful[0]
    whole = [_finest(useful, bits) for bits in range(1, math.ceil(useful[-1].bits) + 1)]
    points = [point for point in useful if point in {useful[0], useful[-1], chosen, *whole}]
    errors = ShownErrors.of(useful)
    ticks = [
        (bits_up(bits), error_words(errors.main(point)), point.wish)
        for bits, (before, point) in enumerate(pairwise([None, *whole]), 1)
        if point is not None and point != before
    ]
    xs = Scale(0.0, max(math.ceil(points[-1].bits), 1.0))
    sizes = [float(errors.main(point)) for point in points]
    spendable = SpendableBits(remaining, may_spend, today)
    positions = tuple(
        _position(useful, point, errors, spendable, (xs.place(point.bits), y))
        for point, y in zip(points, heights(sizes), strict=True)
    )
    drawn = [
        DrawnPrice(position.bits, size, position.error)
        for position, size in zip(positions, sizes, strict=True)
    ]
    place = points.index(chosen)
    return PricedQuestion(
        curve.text,
        errors.label,
        errors.words,
        positions,
        place,
        draw_curve(drawn, place, errors.label),
        draw_ends(drawn),
        tuple(ticks),
        _table(useful, errors),
    )


def _table(points: list[PricePoint], errors: ShownErrors) -> PriceTable:
    labels = tuple(label for label, _ in points[0].errors)
    columns = [
        [bits_number(point.bits_alone) for point in points],
        [bits_number(point.bits) for point in points],
        *([error_words(errors.all(point)[label]) for point in points] for label in labels),
    ]
    return PriceTable(labels, tuple(zip(*map(aligned, columns), strict=True)))


def _finest(useful: list[PricePoint], bits: float) -> PricePoint | None:
    """Return the finest answer for which at most so many bits would be charged now."""
    return next((point for point in reversed(useful) if point.bits <= bits), None)


def _position(
    useful: list[PricePoint],
    point: PricePoint,
    errors: ShownErrors,
    spendable: SpendableBits,
    drawn: tuple[float, float],
) -> SliderPosition:
    following = next((other for other in useful if other.bits > point.bits), None)
    more = _finest(useful, point.bits + 1)
    better = more is not None and errors.main(more) < errors.main(point)
    short = spendable.short(point)
    return SliderPosition(
        wish=point.wish,
        bits=point.bits,
        price=bits_up(point.bits) if point.bits else "paid for" if point.paid else "free",
        alone=f"({bits_up(point.bits_alone)} alone)" if point.bits < point.bits_alone else "",
        short=short,
        error=error_words(errors.main(point)),
        otherwise=errors.otherwise(point),
        others=errors.others(point),
        one_more=error_words(errors.main(more)) if better and more else "",
        next_wish=following.wish if following is not None else "",
        next_words=(
            f"{bits_up(following.bits)}, {error_words(errors.main(following))}"
            if following is not None
            else ""
        ),
        left=spendable.words(point.bits, able=not short),
        x=drawn[0],
        y=drawn[1],
    )


# --- a budget: numbers, a gauge, a timeline by day and the promise in words ---


@dataclass(frozen=True)
class BudgetView:
    """Everything that the page of a budget shows."""

    name: str
    """An allowance, or the budget of all."""
    left: str
    spent: str
    bits: str
    record: str
    gauge: str
    promise: str
    words: tuple[str, ...]
    remarks: tuple[str, ...]
    days: int
    earlier: str
    timeline: str
    table: tuple[tuple[str, str, int], ...]
    """The days with a charge, the last one first: each with its bits and its questions."""


def purse(spent: float, bits: float) -> Purse:
    """Return what is spent of an allowance, for the bar at the top."""
    words = f"{bits_number(spent)} of {bits_down(bits)} spent" if bits else "no bits to spend"
    return Purse(words, draw_gauge(spent, bits, bits, height=10))


def budget_view(  # noqa: PLR0913 - what a budget is made of, each by name
    schema: Schema,
    *,
    spent: float,
    remaining: float,
    bits: float,
    paid: Sequence[tuple[str, float]],
    own: bool = True,
    remarks: Sequence[str] = (),
) -> BudgetView:
    """Return the page of a budget, or of one analyst's ``own`` allowance.

    ``paid`` has the day of every paid batch, and the bits that it added to what is spent.
    """
    record = schema.record_bits
    days = _days(paid)
    shown = days[-MOST_DAYS:]
    name = "your allowance" if own else "the budget"
    return BudgetView(
        name=name,
        left=left_number(remaining),
        spent=bits_number(spent),
        bits=left_number(bits),
        record=left_number(record),
        gauge=draw_gauge(spent, bits, record),
        promise=_promise(bits, record, own=own),
        words=_words(schema),
        remarks=tuple(remarks),
        days=len(days),
        earlier=f"The last {MOST_DAYS} days." if len(days) > MOST_DAYS else "",
        timeline=draw_days([(day, bits) for day, bits, _ in shown]),
        table=tuple(
            (day, bits_number(bits), number) for day, bits, number in reversed(days) if number
        ),
    )


def _days(paid: Sequence[tuple[str, float]]) -> list[tuple[str, float, int]]:
    """Return every day from the first charge to the last with its bits and questions."""
    if not paid:
        return []
    bits: dict[str, list[float]] = {}
    for day, added in paid:
        bits.setdefault(day, []).append(added)
    first, last = date.fromisoformat(min(bits)), date.fromisoformat(max(bits))
    names = [(first + timedelta(days=i)).isoformat() for i in range((last - first).days + 1)]
    return [(name, sum(bits.get(name, ())), len(bits.get(name, ()))) for name in names]


def _promise(bits: float, record: float, *, own: bool) -> str:
    if bits >= record:
        return "This budget is as large as a record: it promises nothing about one person."
    by = "your answers" if own else "all answers to everybody"
    if not bits:
        return "Your allowance is 0 bits: you may price questions, and repeat what was paid for."
    return (
        f"Whatever is asked, {by} reveal at most {left_number(bits)} of the {bits_down(record)} "
        "of one person's record."
    )


def _words(schema: Schema) -> tuple[str, ...]:
    unit = schema.unit
    person = "one row is one person" if unit is None else f"a person is a value of '{unit}'"
    meaning = (
        "A bit is one yes or no. With b bits, all answers together can tell apart at most 2^b "
        f"versions of one person's data, with everybody else's data fixed; {person}."
    )
    truth = (
        "Every answer is an interval that certainly contains the truth, about the table clamped to "
        "its public ranges. No noise is added, so the same question always has the same answer, "
        "and asking it again is free."
    )
    others = (
        "What other tables reveal about the same person comes on top, unless they share the budget "
        "of a population."
    )
    return meaning, truth, others


# --- a dataset beside the editor: its columns in words, and questions to begin with ---


@dataclass(frozen=True)
class DatasetCard:
    """What the pages of a dataset say about it."""

    name: str
    address: str
    rows_words: str
    columns: tuple[tuple[str, str, str], ...]
    """Each: its name, its kind, its values in words."""
    examples: tuple[tuple[str, str], ...]
    """Questions that can be priced with one click: each in words and as a question."""


def dataset_card(schema: Schema, rows: int | None) -> DatasetCard:
    """Return the card of a dataset, from its public schema alone."""
    columns = [column for column in schema.columns.values() if column.name != schema.unit]
    size = "the number of rows is private" if rows is None else count_of(rows, "row")
    return DatasetCard(
        schema.name,
        f"{PREFIX}/d/{quote(schema.name, safe='')}",
        f"{size} · {bits_down(schema.record_bits)} a person",
        tuple((column.name, column.kind, _column_words(column)) for column in columns),
        tuple(_examples(schema.name, columns)),
    )


def _column_words(column: Column) -> str:
    """Write a column as it is listed: categories, or ends, step and unit."""
    text = column.describe()
    if column.numeric:
        text = text.replace(" in steps of ", ", step ")
        text = text.split(" (")[0] + (", may be missing" if column.nullable else "")
    return text


def _examples(name: str, columns: list[Column]) -> list[tuple[str, str]]:
    """Return questions that this schema can answer: a count, averages of groups, a median."""
    numbers = [c for c in columns if c.numeric and not c.date and c.kind == "private"]
    classes = [c for c in columns if c.values is not None and len(c.values) <= 12]
    classes.sort(key=lambda column: ("public", "open", "private").index(column.kind))
    if not numbers:
        examples = [_example("How many rows are there?", "COUNT(*)", name)]
        if classes:
            words = f"How many are there by {classes[-1].name}?"
            examples.append(_example(words, "COUNT(*)", name, by=classes[-1]))
        return examples
    first, last, middle = numbers[0], numbers[-1], _middle(numbers[0])
    examples = [
        _example(
            f"How many have {first.name} of at least {middle}?",
            "COUNT(*)",
            name,
            where=f"{_quoted(first.name)} >= {middle}",
        )
    ]
    if classes:
        number = numbers[min(2, len(numbers) - 1)]
        words = f"What is the average {number.name} by {classes[0].name}?"
        examples.append(_example(words, f"AVG({_quoted(number.name)})", name, by=classes[0]))
    words = f"What is the median of {last.name}?"
    return [*examples, _example(words, f"MEDIAN({_quoted(last.name)})", name)]


def _example(
    words: str, number: str, table: str, *, by: Column | None = None, where: str = ""
) -> tuple[str, str]:
    parts = ["SELECT", number if by is None else f"{_quoted(by.name)}, {number}"]
    parts += ["FROM", _quoted(table)]
    parts += ["WHERE", where] if where else []
    parts += [] if by is None else ["GROUP BY", _quoted(by.name)]
    return words, " ".join(parts)


def _middle(column: Column) -> str:
    assert column.low is not None
    assert column.step is not None
    return decimal_text(column.low + column.points // 2 * column.step)


def _quoted(name: str) -> str:
    """Write a name as SQL wants it."""
    plain = name.isidentifier() and name.isascii()
    return name if plain else '"' + name.replace('"', '""') + '"'
