"""What more bits buy: the prices of one question at which some error becomes smaller."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hartley.agent.quoting import errors_if, open_desk
from hartley.errors import OptionError, Refused
from hartley.exact import bits_at_least, floor_power
from hartley.results.quote import Useful, useful_words
from hartley.text import counted, first_of, marked_bits, rounded
from hartley.trusted.ledger.charging import BatchPrices, RowPrice
from hartley.trusted.ledger.ledger import list_charged_rows
from hartley.trusted.ledger.rows import write_integer
from hartley.trusted.precision import Wish, coarsest_steps, questions_of, vacuous_labels
from hartley.trusted.pricing.price import cells_within, price as price_of
from hartley.trusted.questions.batch import to_plain

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from hartley.agent.agent import Agent
    from hartley.agent.ledger import Ledger
    from hartley.agent.workload import Row
    from hartley.results.quote import ErrorsIf
    from hartley.schema.schema import Schema
    from hartley.trusted.earlier import Earlier
    from hartley.trusted.ledger.charging import Offer
    from hartley.trusted.precision import Desk
    from hartley.trusted.questions.batch import Question
    from hartley.trusted.questions.question import Selection

ALL_UP_TO = 32
"""Every number of cells up to this one is tried."""
PARTS_OF_A_BIT = 4
"""Beyond, prices this fraction of a bit apart are tried: the error of a sum falls at every cell."""
MOST_BITS = 64
"""The end of the longest curve."""
MOST_SHOWN = 3
"""At most this many numbers of a question are shown in a line of text."""


@dataclass(frozen=True)
class PricePoint:
    """A price of one question, and the largest errors of its numbers at that price."""

    limit: int
    """The cells to ask for: ``floor(2^bits)`` of a wish that gives exactly this answer."""
    cells: int
    """The cells that the answer costs alone: at most the limit, unless the account knows more."""
    errors: tuple[tuple[str, Fraction], ...]
    """The label of each number with its worst-case error, which holds for any data."""
    full_errors: tuple[tuple[str, Fraction], ...]
    """The same if every row counts that may count; smaller where their number is private."""
    vacuous: tuple[str, ...] = ()
    """The labels of numbers that would say no more than the schema."""
    due: Fraction | None = None
    """What the account would be charged now, in cells: the factor by which its spending grows, so
    not always a whole number. None without a ledger."""
    errors_if: tuple[ErrorsIf, ...] = ()
    """The errors if at least so many rows count, where their number is private."""
    paid: bool = False
    """Whether the account was charged for all of it before."""
    charged: int | None = None
    """The cells of the charge to the account, for the type of the public columns that costs most: a
    daily cap counts them, also where less is added to what is spent. None without a ledger."""

    @property
    def free(self) -> bool:
        """Whether nothing would be charged now, although the answer has a price alone."""
        return self.due == 1 < self.cells

    @property
    def least(self) -> int:
        """The fewest cells of a wish that certainly gives this answer, or a better one."""
        return 1 if self.free else min(self.cells, self.limit)

    @property
    def bits_alone(self) -> float:
        """The price if the account had asked nothing before: log2 of the cells."""
        return bits_at_least(self.cells)

    @property
    def bits(self) -> float:
        """What the account would be charged now; without a ledger, the price alone."""
        return self.bits_alone if self.due is None else bits_at_least(*self.due.as_integer_ratio())

    @property
    def due_bits(self) -> float | None:
        """The former name of ``bits``, None without a ledger; it goes with the next version."""
        return None if self.due is None else self.bits

    @cached_property
    def wish(self) -> str:
        """The shortest number of bits that asks for exactly this answer."""
        return bits_for(self.limit)

    def to_dict(self) -> dict[str, Any]:
        """Return the point as plain values, ready for JSON.

        ``due_bits`` is the former name of ``bits``, and goes with the next version.
        """
        return {
            "bits_alone": self.bits_alone,
            "bits": self.bits,
            "cells": write_integer(self.cells),
            "wish_bits": self.wish,
            "due_bits": self.due_bits,
            "due_cells": None if self.due is None else str(self.due),
            "charged_cells": None if self.charged is None else write_integer(self.charged),
            "worst_errors": {label: str(error) for label, error in self.errors},
            "errors_if_rows_count": {
                str(some.rows): {label: str(error) for label, error in some.errors}
                for some in self.errors_if
            },
            "errors_if_all_rows_count": {label: str(error) for label, error in self.full_errors},
            "vacuous": list(self.vacuous),
            "paid": self.paid,
        }


@dataclass(frozen=True)
class PriceCurve:
    """The prices of a question at which some error becomes smaller, the cheapest first.

    An answer that is already paid for comes first, and after it only what is better.
    Each has two prices: ``bits_alone``, of one question in an empty ledger, and ``bits``, which the
    asking account would be charged now. Nothing depends on the data.
    """

    text: str
    points: tuple[PricePoint, ...]
    rows: int
    """The number of rows, public or the largest possible one."""
    complete: bool
    """Whether the last point is the finest answer that there is; otherwise more bits buy more."""
    asked: int
    """The cells that the wish of the question costs: the price to compare with."""

    def at(self, bits: object) -> PricePoint | None:
        """Return the finest answer that a wish for so many bits gives; None if there is none.

        What is free is given for any wish.
        """
        limit = floor_power(bits, what="price")
        return next((point for point in reversed(self.points) if point.least <= limit), None)

    def after(self, bits: object) -> PricePoint | None:
        """Return the next useful price above a wish for so many bits; None at the end."""
        return self._above(floor_power(bits, what="price"))

    @property
    def next_point(self) -> PricePoint | None:
        """The next useful price above what the wish of the question costs."""
        return self._above(self.asked)

    def _above(self, cells: int) -> PricePoint | None:
        above = (point for point in self.points if point.least > cells and not point.vacuous)
        return next(above, None)

    def sentence(self) -> str:
        """Name the next useful price, or say that there is none."""
        point, now = self.next_point, marked_bits(bits_at_least(self.asked))
        if point is not None:
            rows = None if point.errors == point.full_errors else self.rows
            words = useful_words([Useful(point.cells, point.full_errors, rows)])
            less = point.bits < point.bits_alone
            charged = f", of which {marked_bits(point.bits)} would be charged now" if less else ""
            return f"Next useful price after {now}: {words}{charged}."
        end = "no price gives a smaller error" if self.complete else "it lies beyond this curve"
        return f"Next useful price after {now}: {end}."

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain values, ready for JSON."""
        point = self.next_point
        return {
            "question": self.text,
            "rows": self.rows,
            "complete": self.complete,
            "asked_bits": bits_at_least(self.asked),
            "next_useful": None if point is None else point.to_dict(),
            "points": [point.to_dict() for point in self.points],
        }

    def csv(self) -> str:
        """Return one line per price and number: text for a spreadsheet."""
        import csv
        import io

        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(
            (
                *("bits_alone", "cells", "bits", "due_bits"),
                *("number", "error", "error_if_all_rows_count"),
            )
        )
        for point in self.points:
            due = "" if point.due_bits is None else point.due_bits
            price = point.bits_alone, write_integer(point.cells), point.bits, due
            pairs = zip(point.errors, point.full_errors, strict=True)
            for (label, error), (_, full) in pairs:
                writer.writerow((*price, label, float(error), float(full)))
        return out.getvalue()

    def lines(self) -> list[tuple[str, str, str]]:
        """Return the curve as lines of text: the price alone, the price now, the errors.

        The price now is empty without a ledger.
        """
        return [
            (marked_bits(point.bits_alone), _now_words(point), _error_words(point))
            for point in self.points
        ]

    def __str__(self) -> str:
        head = f"{counted(len(self.points), 'price')} of {self.text}"
        lines = [f"{_price_words(point)}: {_error_words(point)}" for point in self.points]
        return "\n".join([head, *lines, self.sentence()])


def _price_words(point: PricePoint) -> str:
    """Write both prices of a point, once where they are the same."""
    alone, now = marked_bits(point.bits_alone), _now_words(point)
    if point.free:
        return f"{now.capitalize()} ({alone} alone)"
    return alone if now in {"", alone} else f"{now} now, {alone} alone"


def _now_words(point: PricePoint) -> str:
    """Write what would be charged now; empty without a ledger."""
    if point.due is None:
        return ""
    if point.free:
        return "already paid for" if point.paid else "nothing more is due"
    return marked_bits(point.bits)


def _error_words(point: PricePoint) -> str:
    """Write the errors of a point: certain ones, and those if all rows count where they differ."""
    words = []
    for (label, error), (_, full) in zip(point.errors, point.full_errors, strict=True):
        if label in point.vacuous:
            number = "no more than the schema"
        elif full == error:
            number = f"±{rounded(error, up=True)}" if error else "exact"
        else:
            number = f"±{rounded(full, up=True)} if all rows count"
        words.append(f"{label} {number}")
    return first_of(words, MOST_SHOWN, rest="...")


def bits_for(cells: int) -> str:
    """Return the shortest decimal number of bits that buys exactly so many cells.

    The smallest number with the fewest decimals among those with floor(2^bits) = cells.

    Example:
        >>> bits_for(4), bits_for(3), bits_for(1000)
        ('2', '1.6', '9.966')
    """
    number, digits = (cells - 1).bit_length(), 0
    while True:
        text = _shifted(number, digits)
        if floor_power(text) == cells:
            return text
        # One digit more: the smallest number that is enough lies among the next ten.
        digits += 1
        enough = (n for n in range(10 * number - 9, 10 * number) if _buys(n, digits, cells))
        number = next(enough, 10 * number)


def _buys(number: int, digits: int, cells: int) -> bool:
    return floor_power(_shifted(number, digits)) >= cells


def _shifted(number: int, digits: int) -> str:
    """Write a whole number with its last digits behind the point."""
    text = str(number).rjust(digits + 1, "0")
    return f"{text[: len(text) - digits]}.{text[len(text) - digits :]}" if digits else text


def price_curve(  # noqa: PLR0913 - what a price rests on, each by name
    question: str | Wish,
    schema: Agent | Schema | Mapping[str, Any] | str | os.PathLike[str],
    *,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    rows: int | None = None,
    bits: object = None,
    error: object = None,
    min_rows: object = None,
    most: object = 16,
    analyst: str | None = None,
) -> PriceCurve:
    """Return what more bits buy: the prices of a question at which some error becomes smaller.

    Every number of cells up to 32 is tried, and beyond that prices a quarter of a bit apart, since
    the error of a sum falls with every cell. The answer at each price is the one that ``ask`` gives
    for a wish of so many bits, so errors are exact or bounds as in ``price``. Costs one search for
    the finest steps per price.

    Args:
        question: SQL, or a wish.
        schema: an open ``Agent``, a ``Schema``, a dict or the path of a TOML file.
        ledger: the ledger, for what would be charged now and the number of rows.
        rows: the public number of rows, if there is no ledger.
        bits: the price of the question, which the next useful price is compared with. By default,
            the schema's.
        error: the largest error that the answer may have, instead.
        min_rows: how many rows must count for the error, if their number is private.
        most: where the curve ends, in bits.
        analyst: the analyst who would ask.

    Example:
        >>> age = {"age": {"kind": "private", "range": [0, 4], "step": 1}}
        >>> people = {"table": {"name": "people"}, "columns": age}
        >>> curve = price_curve("SELECT MEDIAN(age) FROM people", people, rows=9)
        >>> [(point.cells, str(point.errors[0][1])) for point in curve.points]
        [(1, '2'), (2, '1'), (3, '1/2'), (5, '0')]
    """
    if not isinstance(question, (str, Wish)):
        raise OptionError(
            "A curve is of one question, SQL text or a Wish",
            hint="compute one curve per question; hartley.plan shares bits among several",
        )
    with open_desk(schema, ledger=ledger, rows=rows) as (desk, opened):
        (plan,) = desk.plan(question, error, bits, min_rows)
        return curve_of(desk, plan, _end(most), opened, analyst)


def _end(most: object) -> int:
    limit = floor_power(most, what="end of the curve")
    if limit > 1 << MOST_BITS:
        raise OptionError(
            f"A curve to {most} bits is too long", hint=f"end it at {MOST_BITS} bits or before"
        )
    return limit


def own_rows(desk: Desk, ledger: Ledger, analyst: str | None) -> tuple[Row, ...]:
    """Return the questions of each row that the analyst's account was charged for."""
    from hartley.trusted.questions.batch import from_plain

    holder, rows = ledger.trusted.read_as(
        desk.schema.name, analyst, lambda t, place: (place.holder, list_charged_rows(t, place))
    )
    return tuple(
        tuple(from_plain(question) for question in row.questions)
        for row in rows
        if row.account == holder and desk.version in {None, row.version}
    )


def curve_of(
    desk: Desk,
    plan: Selection,
    limit: int,
    ledger: Ledger | None = None,
    analyst: str | None = None,
) -> PriceCurve:
    """Return the curve of a plan up to a number of cells; without a ledger, of prices alone."""
    finest = price_of(_finest(plan).questions, desk.schema).cells
    points: list[PricePoint] = []
    steps = None
    for cells in _grid(desk, plan, min(finest, limit)):
        try:
            finer = desk.steps_within(plan, cells)
        except Refused:
            continue  # even the coarsest answer costs more
        if finer != steps:
            steps = finer
            points.append(_point(desk, plan.with_steps(finer), cells, ledger, analyst))
    return PriceCurve(
        plan.text,
        tuple(_cheapest(points)),
        desk.rows,
        finest <= limit,
        price_of(plan.questions, desk.schema).cells,
    )


def _finest(plan: Selection) -> Selection:
    return plan.with_steps([1] * len(plan.questions))


def _grid(desk: Desk, plan: Selection, limit: int) -> Iterator[int]:
    """Yield the numbers of cells to try, in order; the limit is the last."""
    useful = cells_within(plan.questions, coarsest_steps(plan, desk.schema), desk.schema)
    steps = PARTS_OF_A_BIT * limit.bit_length()
    # 2^(k/4) for k up to the limit, rounded down; floor_power is exact.
    powers = {floor_power(f"{step / PARTS_OF_A_BIT:.2f}") for step in range(steps + 1)}
    cells = {*range(1, ALL_UP_TO + 1), *powers, useful, limit}
    yield from sorted(number for number in cells if number <= limit)


def _point(
    desk: Desk, plan: Selection, limit: int, ledger: Ledger | None, analyst: str | None
) -> PricePoint:
    # What the account knows in finer cells is answered in these, by the same steps as ``ask``.
    answered = plan if ledger is None else desk.known_plans([plan], ledger.trusted, analyst)[0]
    offer = None if ledger is None else _offer(desk, answered, ledger, analyst)
    return PricePoint(
        limit,
        price_of(answered.questions, desk.schema).cells,
        desk.errors(answered),
        desk.errors(answered, fullest=True),
        vacuous_labels(answered, public_count=desk.public_count),
        None if offer is None else offer.terms.due,
        errors_if(desk, answered),
        paid=offer is not None and not offer.unpaid,
        charged=None if offer is None else offer.terms.account_cells,
    )


class AccountPrices(BatchPrices):
    """Prices after the rows of an account alone; what the dataset is charged is left out."""

    by_holder = True

    def __init__(self, questions: Sequence[Question], earlier: Earlier) -> None:
        super().__init__()
        self._questions, self._earlier = questions, earlier

    def compute(self, indices: list[int], holder: str | None) -> RowPrice:
        """Price some questions for the account."""
        if holder is None:
            return RowPrice(1, ())
        return self._earlier.price([self._questions[at] for at in indices], holder)


def _offer(desk: Desk, plan: Selection, ledger: Ledger, analyst: str | None) -> Offer:
    """Return what ``ask`` would charge the account now, and which questions are paid for.

    Charges count for each type of the public columns, so it can be less than the price after the
    account's own rows.
    """
    questions = questions_of([plan])
    plain = [to_plain(question) for question in questions]
    own = AccountPrices(questions, desk.earlier)
    return ledger.offer(desk.schema.name, analyst, plain, own)


def _cheapest(points: list[PricePoint]) -> Iterator[PricePoint]:
    """Yield the points at which some number is better than for the same charge or less."""
    chosen: list[PricePoint] = []
    for point in sorted(points, key=_rank):
        if not any(_as_good(other, point) for other in chosen):
            chosen.append(point)
            yield point


def _rank(point: PricePoint) -> tuple[Any, ...]:
    """Rank points by their charge; for the same charge, one that is as good comes first.

    Of several wishes for an answer that is free, the largest is nearest to what was paid for.
    """
    charge = point.cells if point.due is None else point.due
    errors = [error for _, error in (*point.errors, *point.full_errors)]
    return charge, errors, len(point.vacuous), -point.limit if point.free else point.limit


def _as_good(other: PricePoint, point: PricePoint) -> bool:
    """Whether no number of a point is better than at another one."""
    errors = [
        zip(getattr(other, name), getattr(point, name), strict=True)
        for name in ("errors", "full_errors")
    ]
    no_larger = all(a <= b for pairs in errors for (_, a), (_, b) in pairs)
    return no_larger and {*other.vacuous} <= {*point.vacuous}
