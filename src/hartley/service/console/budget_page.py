"""The budget as a page shows it: numbers, a gauge, a timeline by day and the promise in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from hartley.service.console.pages import Purse
from hartley.service.console.pictures import draw_days, draw_gauge
from hartley.service.console.roundings import bits_left, due_number, left_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.ranges.schema.schema import Schema

MOST_DAYS = 30
"""Of the timeline."""


@dataclass(frozen=True)
class PaidQuestion:
    """One paid batch: its day and the bits that it added to what is spent."""

    day: str
    bits: float


@dataclass(frozen=True)
class DayOfSpending:
    """A line of the table behind the timeline."""

    day: str
    bits: str
    questions: int


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
    table: tuple[DayOfSpending, ...]


def purse(spent: float, bits: float) -> Purse:
    """Return what is spent of an allowance, for the bar at the top."""
    words = f"{due_number(spent)} of {bits_left(bits)} spent" if bits else "no bits to spend"
    return Purse(words, draw_gauge(spent, bits, bits, height=10))


def budget_view(  # noqa: PLR0913 - what a budget is made of, each by name
    schema: Schema,
    *,
    spent: float,
    remaining: float,
    bits: float,
    paid: Sequence[PaidQuestion],
    own: bool = True,
    remarks: Sequence[str] = (),
) -> BudgetView:
    """Return the page of a budget; ``own`` says that it is one analyst's allowance."""
    record = schema.record_bits
    days = _days(paid)
    shown = days[-MOST_DAYS:]
    name = "your allowance" if own else "the budget"
    return BudgetView(
        name=name,
        left=left_number(remaining),
        spent=due_number(spent),
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
            DayOfSpending(day, due_number(bits), number)
            for day, bits, number in reversed(days)
            if number
        ),
    )


def _days(paid: Sequence[PaidQuestion]) -> list[tuple[str, float, int]]:
    """Return every day from the first charge to the last with its bits and questions."""
    if not paid:
        return []
    first = date.fromisoformat(min(each.day for each in paid))
    last = date.fromisoformat(max(each.day for each in paid))
    bits: dict[str, list[float]] = {}
    for each in paid:
        bits.setdefault(each.day, []).append(each.bits)
    names = [(first + timedelta(days=i)).isoformat() for i in range((last - first).days + 1)]
    return [(name, sum(bits.get(name, ())), len(bits.get(name, ()))) for name in names]


def _promise(bits: float, record: float, *, own: bool) -> str:
    if bits >= record:
        return "This budget is as large as a record: it promises nothing about one person."
    by = "your answers" if own else "all answers to everybody"
    if not bits:
        return "Your allowance is 0 bits: you may price questions, and repeat what was paid for."
    return (
        f"Whatever is asked, {by} reveal at most {left_number(bits)} of the {bits_left(record)} "
        "of one person's record."
    )


def _words(schema: Schema) -> tuple[str, ...]:
    person = (
        "one row is one person"
        if schema.unit is None
        else f"a person is a value of '{schema.unit}'"
    )
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
