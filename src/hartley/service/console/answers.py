"""An answer as the console shows it: a line per group with its interval, whole and zoomed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.agent.questions.selection import NumberKind
from hartley.service.console.pictures import Scale, draw_interval, zoomed
from hartley.service.console.roundings import aligned, bits_due, bits_left
from hartley.wording import as_date, counted, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def answer_tables(content: Mapping[str, Any], plan: Selection) -> tuple[AnswerTable, ...]:
    """Return a table per number of the SELECT.

    Args:
        content: the field ``table`` of a reply, see ``hartley.service.shown``.
        plan: the question, which says what the schema allows.
    """
    return tuple(_table(content, place, plan) for place in range(len(content["labels"])))


def _table(content: Mapping[str, Any], place: int, plan: Selection) -> AnswerTable:
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
    lines = [
        replace(line, value=value, error=error)
        for line, value, error in zip(lines, values, errors, strict=True)
    ]
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


def answer_words(answers: Sequence[Mapping[str, Any]]) -> str:
    """Return the answers of a charge in a few words: the number, or how many numbers there are.

    Example:
        >>> number = {"shown": ["3,062", "exact", "0"]}
        >>> answer_words([{"table": {"rows": [{"numbers": [number]}]}}])
        '3,062'
        >>> answer_words([{"table": {"rows": [{"numbers": [number]}, {"numbers": [number]}]}}])
        '2 numbers'
    """
    numbers = [
        number for answer in answers for row in answer["table"]["rows"] for number in row["numbers"]
    ]
    if len(numbers) != 1:
        return counted(len(numbers), "number")
    value, within, error = numbers[0]["shown"]
    return value if within == "exact" or not error else f"{value} {error}"


def caption(reply: Mapping[str, Any]) -> str:
    """Say what an answer cost, what is spent in all and what is left.

    Example:
        >>> caption({"bits": 3.0, "open_bits": 0.0, "spent_bits": 3.0, "remaining_bits": 5.0})
        'Charged 3 bits for this answer. You have spent 3 bits in all, and have 5 bits left.'
    """
    paid = f"Charged {bits_due(reply['bits'])} for this answer"
    cost = paid if reply["bits"] else "Free: nothing more is due"
    spent, left = bits_due(reply["spent_bits"]), bits_left(reply["remaining_bits"])
    return f"{cost}. You have spent {spent} in all, and have {left} left."
