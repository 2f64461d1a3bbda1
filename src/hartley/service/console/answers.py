"""An answer as the console shows it: a line per group with its interval, whole and zoomed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.agent.answers.estimate import shown
from hartley.agent.questions.selection import NumberKind
from hartley.agent.questions.values import as_date
from hartley.service.console.pictures import Scale, draw_interval, zoomed
from hartley.wording import rounded

if TYPE_CHECKING:
    from hartley.agent.answers.estimate import Estimate, Reading
    from hartley.agent.questions.selection import Item, Selection

MOST_LINES = 200
"""Of one table; the rest is counted."""
WORTH_A_ZOOM = 0.5
"""Where the intervals fill less than this share of the range, a zoom is offered."""


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


def answer_tables(reading: Reading, plan: Selection) -> tuple[AnswerTable, ...]:
    """Return a table per number of the SELECT; the plan says what the schema allows."""
    return tuple(_table(reading, place, plan) for place in range(len(reading.labels)))


def _table(reading: Reading, place: int, plan: Selection) -> AnswerTable:
    label = reading.labels[place]
    estimates = [row[place] for row in reading.rows]
    ends = [ends for ends in map(_ends, estimates) if ends is not None]
    whole = whole_range([item for item in plan.items if item.label == label], ends)
    near = zoomed(ends, whole) if ends else whole
    date = any(estimate.date for estimate in estimates)
    lines = [
        _line(tuple(key.shown for key in keys), estimate, whole, near)
        for keys, estimate in zip(reading.groups, estimates, strict=True)
    ]
    settled = len(estimates) == 1 and not estimates[0].error  # one point: nothing to compare
    useful = not settled and near.high - near.low < WORTH_A_ZOOM * (whole.high - whole.low)
    return AnswerTable(
        label,
        reading.keys,
        tuple(lines[:MOST_LINES]),
        max(len(lines) - MOST_LINES, 0),
        _written(whole, date=date),
        _written(near, date=date) if useful else None,
    )


def _line(group: tuple[str, ...], estimate: Estimate, whole: Scale, near: Scale) -> AnswerLine:
    value, within, error = shown(estimate)
    ends = _ends(estimate)
    if ends is None:
        return AnswerLine(group, value, within, error, "", "")
    name = ", ".join(group) or "The answer"
    words = f"{name}: {value}" if within == "exact" else f"{name}: certainly within {within}"
    pictures = []
    for scale in (whole, near):
        low, high = _written(scale, date=estimate.date)
        drawn = f"{words}, drawn on a range from {low} to {high}"
        pictures.append(draw_interval(*ends, scale, drawn))
    return AnswerLine(group, value, within, error, *pictures)


def _ends(estimate: Estimate) -> tuple[float, float] | None:
    if estimate.low is None or estimate.high is None:
        return None
    return float(estimate.low), float(estimate.high)


def _written(scale: Scale, *, date: bool) -> tuple[str, str]:
    if date:
        days = Fraction(math.floor(scale.low)), Fraction(math.ceil(scale.high))
        return str(as_date(days[0])), str(as_date(days[1]))
    width = scale.high - scale.low
    places = max(0, 2 - math.floor(math.log10(width))) if width else 2
    return (
        _shortest(scale.low, places, up=False),
        _shortest(scale.high, places, up=True),
    )


def _shortest(number: float, places: int, *, up: bool) -> str:
    """Write an end of a range with so many decimals, without zeros at its end."""
    text = rounded(Fraction(number).limit_denominator(10**9), places, up=up)
    return text.rstrip("0").rstrip(".") if "." in text else text


def whole_range(items: list[Item], ends: list[tuple[float, float]]) -> Scale:
    """Return the range in which the numbers of some items lie by the schema alone.

    It is drawn, never promised, so doubles are enough; it always contains the intervals.
    """
    ranges = [reach for reach in map(_allowed, items) if reach is not None] + ends
    if not ranges:
        return Scale(0.0, 1.0)
    return Scale(min(low for low, _ in ranges), max(high for _, high in ranges))


def _allowed(item: Item) -> tuple[float, float] | None:
    if item.kind is NumberKind.COUNT:
        return 0.0, float(item.rows[1])
    if item.reach is None:
        return None
    ends = sorted(float(item.scale * end + item.shift) for end in item.reach)
    width = ends[1] - ends[0]
    if item.kind is NumberKind.SUM:
        return min(ends[0] * item.rows[1], 0.0), max(ends[1] * item.rows[1], 0.0)
    if item.kind is NumberKind.VARIANCE:
        return 0.0, width**2 / (2 if item.sample else 4)
    if item.kind is NumberKind.DEVIATION:
        return 0.0, width / (math.sqrt(2) if item.sample else 2)
    return ends[0], ends[1]
