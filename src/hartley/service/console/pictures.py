"""Pictures as inline SVG: places along the page are percentages, so letters never change size.

Nothing here carries a style of its own: colours come from classes, as the content security policy
wants it. Every picture has a text alternative, and the page shows its numbers in a table too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from hartley.service.console.roundings import bits_due, bits_left, due_number

if TYPE_CHECKING:
    from collections.abc import Sequence

ROW_HEIGHT = 26
"""Of the picture of one interval, in pixels."""
THINNEST = 0.7
"""The least width of an interval, in percent: an exact number is still seen."""
CURVE_HEIGHT = 168
FLOOR = 140
"""Where the smallest error lies in the picture of a curve, in pixels from above."""
CEILING = 14
EXACT_GAP = 22
"""How far below the smallest error an exact answer lies."""
DAYS_HEIGHT = 132


@dataclass(frozen=True)
class Scale:
    """A range of numbers, spread over the width of a picture.

    Example:
        >>> Scale(30, 180).place(105)
        50.0
    """

    low: float
    high: float

    def place(self, number: float) -> float:
        """Return where a number lies, in percent; what is outside lies at the edge."""
        if self.high <= self.low:
            return 50.0
        return round(100 * min(max((number - self.low) / (self.high - self.low), 0.0), 1.0), 3)


def zoomed(intervals: Sequence[tuple[float, float]], whole: Scale) -> Scale:
    """Return the part of a range that all intervals lie in, with some room on both sides.

    Example:
        >>> zoomed([(70.0, 71.0), (74.0, 75.0)], Scale(30, 180))
        Scale(low=69.5, high=75.5)
    """
    low, high = min(ends[0] for ends in intervals), max(ends[1] for ends in intervals)
    room = (high - low or abs(high) / 100 or 1.0) / 10
    return Scale(max(low - room, whole.low), min(high + room, whole.high))


def draw_interval(low: float, high: float, scale: Scale, words: str) -> str:
    """Draw one interval as a bar on the line of its range."""
    begin, end = scale.place(low), scale.place(high)
    width = max(end - begin, THINNEST)
    start = min(max((begin + end - width) / 2, 0.0), 100 - width)
    middle = ROW_HEIGHT / 2
    return _svg(
        ROW_HEIGHT,
        words,
        f'<line class="rail" x1="0" x2="100%" y1="{middle:g}" y2="{middle:g}"/>',
        f'<rect class="bar" x="{start:.3f}%" width="{width:.3f}%" y="4" '
        f'height="{ROW_HEIGHT - 8}" rx="2"/>',
    )


@dataclass(frozen=True)
class DrawnPrice:
    """A price and the error that it buys, as the picture of a curve shows them."""

    bits: float
    error: float
    words: str
    """The error in words, such as ±0.4 or exact."""


def heights(errors: Sequence[float]) -> list[float]:
    """Return where errors lie in the picture: equal factors are equal distances; 0 is lowest.

    Example:
        >>> heights([100.0, 10.0, 1.0, 0.0])
        [14.0, 66.0, 118.0, 140.0]
    """
    positive = [math.log(error) for error in errors if error > 0]
    if not positive:
        return [float(FLOOR)] * len(errors)
    lowest = FLOOR - (EXACT_GAP if len(positive) < len(errors) else 0)
    least, most = min(positive), max(positive)
    spread = most - least or 1.0
    return [
        float(FLOOR)
        if error <= 0
        else round(lowest - (lowest - CEILING) * (math.log(error) - least) / spread, 2)
        for error in errors
    ]


def draw_curve(points: Sequence[DrawnPrice], chosen: int, label: str) -> str:
    """Draw the error of a number against its price, with a mark at the chosen price."""
    last = points[-1].bits
    scale = Scale(0.0, max(math.ceil(last), 1.0))
    xs, ys = [scale.place(point.bits) for point in points], heights([p.error for p in points])
    pairs = list(zip(xs, ys, strict=True))
    lines = [
        f'<line class="curve" x1="{x:g}%" y1="{y:g}" x2="{x2:g}%" y2="{y2:g}"/>'
        for (x, y), (x2, y2) in pairwise(pairs)
    ]
    dots = [f'<circle class="dot" cx="{x:g}%" cy="{y:g}" r="3.5"/>' for x, y in pairs]
    every = 1 if scale.high <= 8 else 2 if scale.high <= 16 else 8
    ticks = [
        f'<text class="tick" x="{scale.place(bits):g}%" y="{CURVE_HEIGHT - 6}" '
        f'text-anchor="{_anchor(scale.place(bits))}">{bits}</text>'
        for bits in range(0, int(scale.high) + 1, every)
    ]
    x, y = pairs[chosen]
    mark = f'<circle class="chosen" id="curve-mark" cx="{x:g}%" cy="{y:g}" r="7"/>'
    words = (
        f"Error of {label} against its price: {points[0].words} for {bits_due(points[0].bits)}, "
        f"{points[-1].words} for {bits_due(last)}; {points[chosen].words} for the chosen "
        f"{bits_due(points[chosen].bits)}"
    )
    ground = f'<line class="axis" x1="0" x2="100%" y1="{FLOOR + 8}" y2="{FLOOR + 8}"/>'
    return _svg(CURVE_HEIGHT, words, ground, *lines, *dots, mark, *ticks)


def draw_ends(points: Sequence[DrawnPrice]) -> str:
    """Draw the largest and the smallest error beside a curve, at the heights of their points."""
    ys = heights([point.error for point in points])
    texts = [
        f'<text class="tick" x="100%" y="{y + 4:g}" text-anchor="end">{escape(point.words)}</text>'
        for point, y in ((points[0], ys[0]), (points[-1], ys[-1]))
    ]
    return f'<svg aria-hidden="true" width="100%" height="{CURVE_HEIGHT}">{"".join(texts)}</svg>'


def draw_gauge(spent: float, budget: float, whole: float, *, height: int = 28) -> str:
    """Draw what is spent of a budget, on a bar as long as a person's record has bits."""
    scale = Scale(0.0, max(whole, budget, 1e-9))
    end, limit = scale.place(spent), scale.place(budget)
    words = (
        f"{bits_due(spent)} spent of a budget of {bits_left(budget)}; "
        f"a person's record holds {bits_left(whole)}"
    )
    parts = [f'<rect class="record" x="0" width="100%" y="0" height="{height}" rx="4"/>']
    if limit:
        parts.append(
            f'<rect class="budget" x="0" width="{limit:g}%" y="0" height="{height}" rx="4"/>'
        )
    if end:
        parts.append(f'<rect class="spent" x="0" width="{end:g}%" y="0" height="{height}" rx="4"/>')
    if 0 < limit < 100:
        parts.append(f'<line class="limit" x1="{limit:g}%" x2="{limit:g}%" y1="0" y2="{height}"/>')
    return _svg(height, words, *parts)


def draw_days(days: Sequence[tuple[str, float]]) -> str:
    """Draw the bits that were spent on each day as bars."""
    most = max((bits for _, bits in days), default=0.0) or 1.0
    floor, ceiling = DAYS_HEIGHT - 24, 20
    step = 100 / max(len(days), 7)
    parts = [f'<line class="axis" x1="0" x2="100%" y1="{floor}" y2="{floor}"/>']
    shown = {0, len(days) - 1} | ({*range(len(days))} if len(days) <= 7 else set())
    for place, (day, bits) in enumerate(days):
        tall = (floor - ceiling) * bits / most
        middle = step * (place + 0.5)
        if bits:
            parts.append(
                f'<rect class="bar" x="{step * place + step * 0.15:.3f}%" '
                f'width="{step * 0.7:.3f}%" y="{floor - tall:.1f}" height="{tall:.1f}" rx="2"/>'
            )
            if bits == most or len(days) <= 7:
                parts.append(
                    f'<text class="count" x="{middle:.3f}%" y="{floor - tall - 5:.1f}" '
                    f'text-anchor="{_anchor(middle)}">{escape(due_number(bits))}</text>'
                )
        if place in shown:
            parts.append(
                f'<text class="tick" x="{middle:.3f}%" y="{DAYS_HEIGHT - 6}" '
                f'text-anchor="{_anchor(middle)}">{escape(day[5:])}</text>'
            )
    spent = [f"{bits_due(bits)} on {day}" for day, bits in days if bits]
    words = "Bits spent by day: " + ("; ".join(spent[-10:]) or "none")
    return _svg(DAYS_HEIGHT, words, *parts)


def _anchor(place: float) -> str:
    """Keep letters inside the picture: at its edges they begin or end at their place."""
    return "start" if place < 2 else "end" if place > 98 else "middle"


def _svg(height: int, words: str, *parts: str) -> str:
    return (
        f'<svg role="img" width="100%" height="{height}" aria-label="{escape(words)}">'
        f"{''.join(parts)}</svg>"
    )
