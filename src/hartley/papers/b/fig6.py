"""Figure 6 of paper B: the share of taxi trips that are unique when released in boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from hartley.attacks.uniqueness import Uniqueness, grid_policy
from hartley.exact import floor_power
from hartley.papers.b.trips import DATA, RANGES, load_trips
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.policies.document import PolicyDocument
from hartley.policies.kinds import QuantizedColumn
from hartley.policies.quantizer import UniformQuantizer
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress

SMALL = 8
"""Up to so many bits a point, the paper finds hardly any unique trips."""


@dataclass(frozen=True)
class B6Point:
    """The unique trips at one budget of a point; two points make twice the budget of a trip."""

    bits: int
    down: int
    """Boxes a side, 2^(bits/2) rounded down."""
    up: int
    """The same rounded up, as the printed rule may be read."""
    unique: float
    unique_up: float
    unique_few: float | None
    """Among fewer trips, where counted."""


@dataclass(frozen=True)
class B6Numbers:
    """All budgets, and how many trips there are."""

    points: tuple[B6Point, ...]
    trips: int
    few: int
    synthetic: bool


def compute(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,
    trips: int = 100_000,
    budgets: tuple[int, ...] = (*range(1, 11), 12, 14, 16, 18, 20),
) -> B6Numbers:
    """Count the trips whose released start and end nobody shares; exact for these trips.

    Args:
        data: "synthetic", or where the trips are.
        progress: called with the share of the work that is done.
        trips: how many synthetic ones there are.
        budgets: in bits, for each point of a trip.
    """
    loaded = load_trips(data, trips)
    tenth = loaded.table.take(list(range(0, loaded.rows, 10)))
    points = []
    for done, bits in enumerate(budgets, 1):
        down = floor_power(f"{bits}/2")
        up = down if down * down == 2**bits else down + 1
        share = Uniqueness(loaded.table, policy=grid_policy(RANGES, bits)).attack()
        unique = share.number.value
        more = unique if up == down else _unique(loaded.table, up)
        few = None if bits % 2 else _unique(tenth, down)
        points.append(B6Point(bits, down, up, unique, more, few))
        if progress is not None:
            progress(done / len(budgets))
    return B6Numbers(tuple(points), loaded.rows, tenth.num_rows, loaded.synthetic)


def _unique(table: object, side: int) -> float:
    """Return the share of unique trips in boxes of which a side has so many."""
    columns = tuple(
        QuantizedColumn(name, UniformQuantizer(Fraction(low), Fraction(high), side))
        for name, (low, high) in RANGES.items()
    )
    return Uniqueness(table, policy=PolicyDocument(columns)).attack().number.value


def plot(numbers: B6Numbers) -> Chart:
    """Draw the share of unique trips, and how many boxes a point may be in."""
    bits = tuple(float(point.bits) for point in numbers.points)

    def line(label: str, name: str, **look: object) -> Series:
        values = {point.bits: getattr(point, name) for point in numbers.points}
        known = {float(b): float(value) for b, value in values.items() if value is not None}
        return Series(label, tuple(known), tuple(known.values()), **look)  # type: ignore[arg-type]  # fields of a series

    allowed = [2**point.bits for point in numbers.points]
    boxes = [
        Series(
            label,
            bits,
            tuple(side**2 / most for side, most in zip(sides, allowed, strict=True)),
            "points",
            tone=tone,
        )
        for label, sides, tone in (
            ("rounded down", [point.down for point in numbers.points], 0),
            ("rounded up", [point.up for point in numbers.points], 1),
        )
    ]
    return Chart(
        f"B/6: unique start and end points of {numbers.trips:,} taxi trips",
        (
            Panel(
                "budget ε of a point (bits)",
                "share of unique trips",
                (
                    line("⌊2^(ε/2)⌋ boxes a side", "unique", tone=0),
                    line("rounded up instead", "unique_up", dash="dashed", tone=1),
                    line(f"{numbers.few:,} trips only (added)", "unique_few", tone=2),
                ),
                title="Who is alone with a released trip",
                from_zero=True,
            ),
            Panel(
                "budget ε of a point (bits)",
                "boxes / 2^ε",
                tuple(boxes),
                title="Boxes of a point, as a share of those allowed",
                marks=(("allowed", 1.0),),
            ),
        ),
        note="A trip has two points, so its budget is 2ε. Shares are exact for these trips.",
        synthetic=numbers.synthetic,
    )


def findings(numbers: B6Numbers) -> tuple[Claim, ...]:
    """Return what the figure is expected to show."""
    points = numbers.points
    small = [point for point in points if point.bits <= SMALL]
    shares = [point.unique for point in points if point.bits % 2 == 0]
    odd = [point for point in points if point.bits % 2]
    return (
        Claim(
            f"Up to {SMALL} bits a point, fewer than 1 % of the trips are unique.",
            holds=all(point.unique < 0.01 for point in small),
        ),
        Claim(
            "The share grows with the budget, to most trips.",
            holds=all(a <= b for a, b in pairwise(shares)) and points[-1].unique > 0.9,
        ),
        Claim(
            "Corrected: 2^(ε/2) is no whole number for odd ε. Rounded down the boxes stay within "
            "2^ε; rounded up there are more, at every odd ε.",
            holds=all(p.down**2 <= 2**p.bits for p in points)
            and all(p.up**2 > 2**p.bits and p.up == math.isqrt(2**p.bits) + 1 for p in odd),
        ),
        Claim(
            f"Uniqueness depends on the number of trips: among {numbers.few:,} the share is larger "
            "at every budget at which a trip is unique.",
            holds=all(
                p.unique_few >= p.unique
                for p in points
                if p.unique_few is not None and p.unique > 1e-3
            ),
        ),
    )


FIGURE = Figure(
    paper="B",
    number=6,
    title="Unique trips against the budget",
    shows=(
        "The share of taxi trips that nobody shares when both ends are released in boxes. A side "
        "has 2^(ε/2) boxes, which is no whole number for odd ε: rounded down it keeps the budget, "
        "rounded up it does not."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data=DATA,
)
