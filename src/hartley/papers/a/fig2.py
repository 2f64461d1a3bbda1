"""Figure 2 of paper A: the regions of the best policy for a query that is not linear."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

from hartley.papers.a.regions import (
    SQUARE,
    Cuts,
    best_regions,
    measured,
    regions_panel,
    shares_panel,
)
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.policies.optimal import CutQuantizer
from hartley.report import Chart, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress

QUERY = "x1**2 + 2*x2**2"
ACCURACY, LOOSER = Fraction(2), Fraction(17, 10)
ROUGH = 1e-3
"""Enough to compare two ways of cutting."""
AREAS = (
    *(2.221441, 2.221441, 2.221441, 2.221441, 1.771385, 1.448980),
    *(1.277429, 1.159061, 0.744434, 0.424428, 0.221721, 0.066797),
)
"""As verified; whole ellipses have pi/sqrt(2)."""


def compute(
    data: str | Path = SYNTHETIC,  # noqa: ARG001 - this figure needs no data
    *,
    progress: Progress | None = None,
    points: int = 120,
    gap: float = 1e-6,
) -> Cuts:
    """Compute the regions of Theorem IV.3; areas between ellipses are certified to a millionth.

    Example:
        >>> len(compute(points=4, gap=0.01).fewest.areas)
        12
    """
    # Over [0, 12] exactly: the search for the range of the query would leave it a little wider.
    fewest = measured(QUERY, ACCURACY, CutQuantizer(tuple(map(Fraction, range(13)))), gap=gap)
    if progress is not None:
        progress(0.3)
    cells = math.ceil(LOOSER * 12 / 2)
    edges = tuple(Fraction(12 * k, cells) for k in range(cells + 1))
    equal = measured(QUERY, LOOSER, CutQuantizer(edges), gap=max(gap, ROUGH))
    if progress is not None:
        progress(0.6)
    return Cuts(fewest, equal, best_regions(QUERY, LOOSER, "leakage", gap=max(gap, ROUGH)), points)


def plot(numbers: Cuts) -> Chart:
    """Draw the twelve regions, and how even cells of a lower accuracy could be."""
    cells = [str(k + 1) for k in range(len(numbers.equal.areas))]
    shares = shares_panel(
        numbers, cells, title=f"γ = {float(LOOSER):g}: {len(cells)} regions, two ways to cut"
    )
    regions = regions_panel(numbers.fewest, numbers.points, title="γ = 2: twelve regions")
    edges = numbers.fewest.edges[1:-1]
    arcs = [arc for edge in edges for arc in _arcs(float(edge))]
    contours = tuple(
        Series("" if k else "edges of the regions", x, y, tone=7) for k, (x, y) in enumerate(arcs)
    )
    regions = replace(regions, series=contours)
    return Chart("A/2: x₁² + 2x₂² of two numbers in [−2, 2]", (regions, shares))


def findings(numbers: Cuts) -> tuple[Claim, ...]:
    """Return what the figure and Example IV.1 are expected to show."""
    fewest, equal, least = numbers.fewest, numbers.equal, numbers.least
    return (
        Claim(
            "At γ = 2 there are twelve regions, released as 0.5, 1.5, …, 11.5.",
            holds=fewest.released == tuple(Fraction(2 * k + 1, 2) for k in range(12)),
        ),
        Claim(
            "Their areas are those of the corrected list, from 2.221441 (four whole ellipses) down "
            "to 0.066797 in the corners, and fill the square.",
            holds=all(
                abs(computed - area) < 3e-6
                for computed, area in zip(fewest.areas, AREAS, strict=True)
            )
            and abs(sum(fewest.areas) - float(SQUARE.volume)) < 1e-4,
        ),
        Claim(
            "L₀ = 5.478683 and I⋆ = ln 12 = 2.484907 nats: the corners tell over twice as much.",
            holds=abs(fewest.leakage - 5.478683) < 3e-6
            and abs(fewest.information - 2.484907) < 1e-6,
        ),
        Claim(
            "Beyond the fourth ellipse the regions are in pieces, so Corollary IV.1 does not "
            "apply; the equal cells are best for I⋆ all the same, since a cell may be no wider "
            "than 2/γ.",
            holds=[len(_arcs(value)) for value in (3.5, 4.5, 7.5, 8.5, 11.5)] == [1, 2, 2, 4, 4]
            and len(fewest.areas) == math.ceil(12 / (2 / ACCURACY)),
        ),
        Claim(
            f"With room to spare (γ = {float(LOOSER):g}) other cells leak less: the smallest has "
            f"{least.smallest_share:.2%} of the square, the smallest equal one "
            f"{equal.smallest_share:.2%}.",
            holds=least.smallest_share > 1.05 * equal.smallest_share
            and least.leakage < equal.leakage
            and len(least.areas) == len(equal.areas),
        ),
    )


def _arcs(value: float) -> list[tuple[tuple[float, ...], ...]]:
    """Return the pieces into which the square cuts the curve on which the query has a value.

    The further out, the shorter they are and the finer the turns: each has over 30 points.
    """
    steps = 240 * math.ceil(value)
    turns = [2 * math.pi * k / steps for k in range(steps + 1)]
    across, up = math.sqrt(value), math.sqrt(value / 2)
    places = [(round(across * math.cos(t), 6), round(up * math.sin(t), 6)) for t in turns]
    inside = [max(map(abs, place)) <= 2 for place in places]
    begin = inside.index(False) if False in inside else 0  # no piece goes on over the end
    around = places[begin:] + places[1 : begin + 1]
    runs = groupby(around, lambda place: max(map(abs, place)) <= 2)
    return [tuple(zip(*run, strict=True)) for kept, run in runs if kept]


FIGURE = Figure(
    paper="A",
    number=2,
    title="Regions of the best policy for a query that is not linear",
    shows=(
        "Which pairs of numbers get the same released value of x₁² + 2x₂² when it may be off by "
        "1/γ = 1/2. Beside it, corrected: at a lower accuracy, cells that leak less than equal "
        "ones."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
)
