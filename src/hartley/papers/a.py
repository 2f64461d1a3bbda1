"""Figures of paper A: Farokhi, Deterministic Privacy-Preserving Policies (2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from hartley.boxes.box import Box
from hartley.boxes.cut_box import CutBox
from hartley.boxes.expression import mean, parse_expression, variables
from hartley.measures.estimation import smallest_error
from hartley.measures.leakage import maximin_information, nonstochastic_leakage
from hartley.papers.figure import Claim, Figure, unwatched
from hartley.policies.optimal import CutQuantizer, optimal_quantizer
from hartley.policies.quantizer import UniformQuantizer
from hartley.report import Chart, Heat, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hartley.papers.figure import Progress
    from hartley.policies.optimal import Objective


# --- the regions into which a quantized query cuts the square of two numbers -------------------


SQUARE = Box.cube(-2, 2, size=2)


@dataclass(frozen=True)
class Regions:
    """The cells of one policy, and what they tell, in nats as in the paper."""

    query: str
    accuracy: Fraction
    """The paper's gamma: one over the largest error of the release."""
    edges: tuple[Fraction, ...]
    released: tuple[Fraction, ...]
    areas: tuple[float, ...]
    """The area of every region, never above the truth."""
    leakage: float
    information: float

    @property
    def smallest_share(self) -> float:
        """The share of the square that the smallest region has."""
        return min(self.areas) / float(SQUARE.volume)


@dataclass(frozen=True)
class Cuts:
    """The regions for the paper's accuracy, and for one that leaves the cells some room."""

    fewest: Regions
    equal: Regions
    """Of the other accuracy: equal cells, the fewest that there can be."""
    least: Regions
    """Of the other accuracy: the cells that leak least."""
    points: int
    """How fine the picture is, along a side."""


def _best_regions(
    query: str, accuracy: Fraction, objective: Objective, gap: float = 1e-6
) -> Regions:
    """Return the regions of the best policy of an accuracy, by Theorem IV.3."""
    best = optimal_quantizer(query, SQUARE, 1 / accuracy, objective)
    return _measured(query, accuracy, best, gap)


def _measured(query: str, accuracy: Fraction, quantizer: CutQuantizer, gap: float) -> Regions:
    """Return the regions behind the cells of a quantizer, their areas known to within the gap."""
    cut = CutBox(SQUARE, parse_expression(query), quantizer.edges, gap=gap)
    return Regions(
        query=query,
        accuracy=accuracy,
        edges=quantizer.edges,
        released=quantizer.released,
        areas=tuple(float(part.low) for part in cut.volumes),
        leakage=nonstochastic_leakage(cut, base=math.e),
        information=maximin_information(cut, base=math.e),
    )


def _regions_panel(regions: Regions, points: int, *, title: str) -> Panel:
    """Return the square in the colours of what is released where, on a grid of points."""
    import numpy as np

    from hartley.boxes.intervals import enclose

    places = (np.arange(points) + 0.5) * 4 / points - 2
    x2, x1 = np.meshgrid(places, places, indexing="ij")
    sides = {"x1": (x1.ravel(), x1.ravel()), "x2": (x2.ravel(), x2.ravel())}
    low, high = enclose(parse_expression(regions.query), sides)
    value = np.round((low + high) / 2, 9)  # what lies on an edge stays on one side of it
    cells = np.searchsorted(np.array(regions.edges[1:-1], dtype=float), value, side="right")
    shown = np.array(regions.released, dtype=float)[cells].reshape(points, points)
    heat = Heat("released value", tuple(map(tuple, shown.tolist())), -2, 2, -2, 2)
    return Panel("x₁", "x₂", heat=heat, title=title)


def _shares_panel(cuts: Cuts, names: Sequence[str], ways: str) -> Panel:
    """Return the share of the square that each region has, cut in both ways."""
    whole = float(SQUARE.volume)
    cut = {
        "equal cells: fewest outputs, best for I⋆": cuts.equal,
        "best cells for L₀": cuts.least,
    }
    return Panel(
        "region",
        "share of the square",
        tuple(
            Series(label, tuple(names), tuple(a / whole for a in regions.areas), "bars")
            for label, regions in cut.items()
        ),
        title=f"γ = {float(cuts.equal.accuracy):g}: {ways} regions, two ways to cut",
        from_zero=True,
    )


# --- figure 1: the regions of the best policy for the mean of two numbers ----------------------


def _compute1(*, progress: Progress = unwatched, points: int = 96) -> Cuts:
    query, uneven = "(x1 + x2)/2", Fraction(11, 5)
    return Cuts(
        fewest=_best_regions(query, Fraction(2), "maximin"),
        equal=_best_regions(query, uneven, "maximin"),
        least=_best_regions(query, uneven, "leakage"),
        points=points,
    )


def _plot1(numbers: Cuts) -> Chart:
    cells = [f"X{chr(0x2081 + k)}" for k in range(len(numbers.equal.areas))]
    regions = _regions_panel(
        numbers.fewest, numbers.points, title="γ = 2: the regions of the best policy"
    )
    shares = _shares_panel(numbers, cells, "five")
    return Chart("A/1: mean of two numbers in [−2, 2]", (regions, shares))


def _claims1(numbers: Cuts) -> Iterator[Claim]:
    fewest, equal, least = numbers.fewest, numbers.equal, numbers.least
    widest = 2 / fewest.accuracy
    yield Claim(
        "At γ = 2 the mean is released as −1.5, −0.5, 0.5 or 1.5, as printed.",
        holds=fewest.released == tuple(Fraction(k, 2) for k in (-3, -1, 1, 3)),
    )
    yield Claim(
        "The four regions have areas 2, 6, 6 and 2: I⋆ = ln 4 = 1.386294 nats and "
        "L₀ = ln 8 = 2.079442 nats.",
        holds=fewest.areas == (2.0, 6.0, 6.0, 2.0)
        and math.isclose(fewest.information, 1.386294, abs_tol=1e-6)
        and math.isclose(fewest.leakage, 2.079442, abs_tol=1e-6),
    )
    yield Claim(
        "The best policy minimises the number of cells; (17b) prints argmax. No cell is wider "
        "than 2/γ, and three cells of that width would not cover the range.",
        holds=len(fewest.areas) == 4
        and max(b - a for a, b in pairwise(fewest.edges)) <= widest
        and fewest.edges[-1] - fewest.edges[0] > 3 * widest,
    )
    yield Claim(
        "Equal cells are best for I⋆ but not for L₀: at γ = 2.2 the smallest of the best cells "
        "has 10.33% of the square, the smallest equal one 8%, with five cells each.",
        holds=len(equal.areas) == len(least.areas) == 5
        and math.isclose(equal.smallest_share, 0.08)
        and math.isclose(least.smallest_share, 0.1033, abs_tol=5e-5),
    )


def fig1() -> Figure[Cuts]:
    """Return the figure of the regions of Theorem IV.3 for a mean, with exact areas."""
    return Figure(
        name="A/1",
        title="Regions of the best policy for a mean",
        shows=(
            "Which pairs of numbers get the same released mean when the mean may be off by "
            "1/γ = 1/2. Beside it, corrected: for the leakage L₀ the best cells are not equal."
        ),
        compute=_compute1,
        plot=_plot1,
        claims=_claims1,
    )


# --- figure 2: the regions of the best policy for a query that is not linear -------------------


AREAS = (
    *(2.221441, 2.221441, 2.221441, 2.221441, 1.771385, 1.448980),
    *(1.277429, 1.159061, 0.744434, 0.424428, 0.221721, 0.066797),
)
"""As verified; whole ellipses have pi/sqrt(2)."""


def _compute2(
    *,
    progress: Progress = unwatched,
    points: int = 120,
    gap: float = 1e-6,
) -> Cuts:
    """Return the regions; areas between ellipses are certified to within the gap."""
    query, looser, rough = "x1**2 + 2*x2**2", Fraction(17, 10), max(gap, 1e-3)
    # Over [0, 12] exactly: the search for the range of the query would leave it a little wider.
    edges = CutQuantizer(tuple(map(Fraction, range(13))))
    fewest = _measured(query, Fraction(2), edges, gap)
    progress(0.3)
    cells = math.ceil(looser * 12 / 2)
    edges = CutQuantizer(tuple(Fraction(12 * k, cells) for k in range(cells + 1)))
    equal = _measured(query, looser, edges, rough)
    progress(0.6)
    return Cuts(fewest, equal, _best_regions(query, looser, "leakage", rough), points)


def _plot2(numbers: Cuts) -> Chart:
    cells = [str(k + 1) for k in range(len(numbers.equal.areas))]
    shares = _shares_panel(numbers, cells, str(len(cells)))
    regions = _regions_panel(numbers.fewest, numbers.points, title="γ = 2: twelve regions")
    arcs = [arc for edge in numbers.fewest.edges[1:-1] for arc in _arcs(float(edge))]
    contours = tuple(
        Series("" if k else "edges of the regions", x, y, tone=7) for k, (x, y) in enumerate(arcs)
    )
    regions = replace(regions, series=contours)
    return Chart("A/2: x₁² + 2x₂² of two numbers in [−2, 2]", (regions, shares))


def _arcs(value: float) -> list[tuple[tuple[float, ...], ...]]:
    """Return the pieces into which the square cuts the curve on which the query has a value."""
    steps = 240 * math.ceil(value)  # the further out, the shorter: each piece has over 30 points
    turns = [2 * math.pi * k / steps for k in range(steps + 1)]
    across, up = math.sqrt(value), math.sqrt(value / 2)
    places = [(round(across * math.cos(t), 6), round(up * math.sin(t), 6)) for t in turns]
    inside = [max(map(abs, place)) <= 2 for place in places]
    begin = inside.index(False) if False in inside else 0  # no piece goes on over the end
    around = places[begin:] + places[1 : begin + 1]
    runs = groupby(around, lambda place: max(map(abs, place)) <= 2)
    return [tuple(zip(*run, strict=True)) for within, run in runs if within]


def _claims2(numbers: Cuts) -> Iterator[Claim]:
    fewest, equal, least = numbers.fewest, numbers.equal, numbers.least
    yield Claim(
        "At γ = 2 there are twelve regions, released as 0.5, 1.5, …, 11.5.",
        holds=fewest.released == tuple(Fraction(2 * k + 1, 2) for k in range(12)),
    )
    yield Claim(
        "Their areas are those of the corrected list, from 2.221441 (four whole ellipses) down "
        "to 0.066797 in the corners, and fill the square.",
        holds=all(
            abs(computed - area) < 3e-6 for computed, area in zip(fewest.areas, AREAS, strict=True)
        )
        and abs(sum(fewest.areas) - float(SQUARE.volume)) < 1e-4,
    )
    yield Claim(
        "L₀ = 5.478683 and I⋆ = ln 12 = 2.484907 nats: the corners tell over twice as much.",
        holds=abs(fewest.leakage - 5.478683) < 3e-6 and abs(fewest.information - 2.484907) < 1e-6,
    )
    yield Claim(
        "Beyond the fourth ellipse the regions are in pieces, so Corollary IV.1 does not "
        "apply; the equal cells are best for I⋆ all the same, since a cell may be no wider "
        "than 2/γ.",
        holds=[len(_arcs(value)) for value in (3.5, 4.5, 7.5, 8.5, 11.5)] == [1, 2, 2, 4, 4]
        and len(fewest.areas) == math.ceil(12 / (2 / fewest.accuracy)),
    )
    yield Claim(
        f"With room to spare (γ = {float(equal.accuracy):g}) other cells leak less: the "
        f"smallest has {least.smallest_share:.2%} of the square, the smallest equal one "
        f"{equal.smallest_share:.2%}.",
        holds=least.smallest_share > 1.05 * equal.smallest_share
        and least.leakage < equal.leakage
        and len(least.areas) == len(equal.areas),
    )


def fig2() -> Figure[Cuts]:
    """Return the figure of the regions of Theorem IV.3 for ellipses."""
    return Figure(
        name="A/2",
        title="Regions of the best policy for a query that is not linear",
        shows=(
            "Which pairs of numbers get the same released value of x₁² + 2x₂² when it may be off "
            "by 1/γ = 1/2. Beside it, corrected: at a lower accuracy, cells that leak less than "
            "equal ones."
        ),
        compute=_compute2,
        plot=_plot2,
        claims=_claims2,
    )


# --- figure 3: accuracy against leakage and against the adversary's error ----------------------


@dataclass(frozen=True)
class A3Point:
    """One accuracy of the mean of two numbers in [-2, 2]; leakages in nats."""

    accuracy: Fraction
    levels: int
    leakage: float
    information: float
    error: float
    """The least error of the adversary's best estimate of both numbers: dmin."""
    least_leakage: float
    """The leakage of the best cells for it, of any policy of this accuracy."""


@dataclass(frozen=True)
class A3Numbers:
    """Both curves: the paper's, and the adversary's error about heights of several people."""

    points: tuple[A3Point, ...]
    cells: tuple[int, ...]
    """Numbers of cells over the range of heights."""
    errors: dict[int, tuple[float, ...]]
    """For every number of people, the adversary's smallest error for these cells."""


def _compute3(
    *,
    progress: Progress = unwatched,
    points: int = 100,
    highest: int = 5,
    people: tuple[int, ...] = (2, 3, 5, 10),
) -> A3Numbers:
    """Return the curves of Example IV.1 and, for heights, of Example IV.2; all exact."""
    computed = []
    for k in range(1, points + 1):
        computed.append(_point(Fraction(highest * k, points)))
        progress(0.9 * k / points)
    cells = tuple(range(2, 41))
    errors = {n: tuple(smallest_error(_heights(n, q)) for q in cells) for n in people}
    return A3Numbers(tuple(computed), cells, errors)


def _point(accuracy: Fraction) -> A3Point:
    query = mean(variables("x1", "x2"))
    quantizer = UniformQuantizer.for_error(low=-2, high=2, error=1 / accuracy)
    cut = CutBox(SQUARE, query, quantizer.edges)
    least = optimal_quantizer(query, SQUARE, 1 / accuracy, "leakage").smallest_share
    assert least is not None  # asked for
    return A3Point(
        accuracy=accuracy,
        levels=quantizer.levels,
        leakage=nonstochastic_leakage(cut, base=math.e),
        information=maximin_information(cut, base=math.e),
        error=smallest_error(cut),
        least_leakage=-math.log(least),
    )


def _heights(people: int, levels: int) -> CutBox:
    """Return the mean of heights of 100 to 250 cm in cells, as in Example IV.2."""
    box = Box.cube(100, 250, size=people)
    edges = UniformQuantizer(Fraction(100), Fraction(250), levels).edges
    return CutBox(box, mean(variables(*box.names)), edges)


def _plot3(numbers: A3Numbers) -> Chart:
    points = numbers.points
    gammas = tuple(float(point.accuracy) for point in points)
    cells = tuple(map(float, numbers.cells))
    printed = tuple(150 * math.sqrt(2) / q for q in numbers.cells)
    leakages, informations = (p.leakage for p in points), (p.information for p in points)
    least = tuple(p.least_leakage for p in points)
    panels = (
        Panel(
            "accuracy γ",
            "leakage (nats)",
            (
                Series("L₀, equal cells", gammas, tuple(leakages), tone=1),
                Series("L₀, best cells", gammas, least, dash="dashed", tone=2),
                Series("I⋆, equal cells", gammas, tuple(informations), tone=0),
            ),
            title="What leaks about the two numbers",
            from_zero=True,
        ),
        Panel(
            "accuracy γ",
            "d_min",
            (Series("adversary’s error", gammas, tuple(p.error for p in points), tone=3),),
            title="How far off an adversary stays",
            from_zero=True,
        ),
        Panel(
            "cells of the released mean height",
            "d_min (cm)",
            (
                *(
                    Series(f"{n} people", cells, errors, tone=tone)
                    for tone, (n, errors) in zip(
                        (0, 1, 3, 4, 6, 7), numbers.errors.items(), strict=False
                    )
                ),
                Series("printed, any number of people", cells, printed, dash="dashed", tone=2),
            ),
            title="Example IV.2, corrected: it depends on the people",
            y_log=True,
            marks=(("10 cm", 10.0),),
        ),
    )
    return Chart("A/3: accuracy against privacy for the mean of two numbers in [−2, 2]", panels)


def _claims3(numbers: A3Numbers) -> Iterator[Claim]:
    points = numbers.points
    leaks, infos = [p.leakage for p in points], [p.information for p in points]
    errors, least = [p.error for p in points], [p.least_leakage for p in points]
    yield Claim(
        "The more accurate the answer, the more leaks and the smaller the adversary’s error.",
        holds=leaks == sorted(leaks)
        and infos == sorted(infos)
        and errors == sorted(errors, reverse=True),
    )
    yield Claim(
        "With q = ⌈2γ⌉ ≥ 2 cells, I⋆ = ln q, L₀ = ln(q²/2) and d_min = 4√2/q.",
        holds=all(_as_in_closed_form(p) for p in points),
    )
    yield Claim(
        "The best cells never leak more than equal ones, and above γ = 1 less, unless 2γ is a "
        "whole number.",
        holds=all(b <= a + 1e-12 for a, b in zip(leaks, least, strict=True))
        and all(_improves(p) for p in points if p.accuracy > 1),
    )
    if 2 in numbers.errors:
        of_two = dict(zip(numbers.cells, numbers.errors[2], strict=True))
        yield Claim(
            "Two people’s heights stay uncertain by 10 cm up to 21 cells, γ ≤ 21/75 (10.10 cm; "
            "9.64 cm with 22): the printed “larger than 22/75” is wrong.",
            holds=abs(of_two[21] - 10.1015) < 5e-5
            and abs(of_two[22] - 9.6424) < 5e-5
            and all((error >= 10) == (q <= 21) for q, error in of_two.items()),
        )
    yield Claim(
        "The error depends on how many people there are: 150√(n(n−1))/q for n ≤ q; the printed "
        "150√2/q is that of two.",
        holds=all(
            math.isclose(error, 150 * math.sqrt(n * (n - 1)) / q)
            for n, errors in numbers.errors.items()
            for q, error in zip(numbers.cells, errors, strict=True)
            if n <= q
        ),
    )


def _as_in_closed_form(point: A3Point) -> bool:
    q = point.levels
    leakage, error = (math.log(q * q / 2), 4 * math.sqrt(2) / q) if q > 1 else (0.0, math.sqrt(8))
    return (
        q == max(1, math.ceil(2 * point.accuracy))
        and math.isclose(point.information, math.log(q), abs_tol=1e-12)
        and math.isclose(point.leakage, leakage, abs_tol=1e-12)
        and math.isclose(point.error, error)
    )


def _improves(point: A3Point) -> bool:
    """Return whether the best cells leak less than equal ones exactly where they can."""
    # Best smallest share: min(1/3, 1/(2 gamma^2)) above gamma = 1; found to a part in a thousand.
    best = min(1 / 3, 1 / (2 * float(point.accuracy) ** 2))
    whole = (2 * point.accuracy).denominator == 1
    near = math.isclose(math.exp(-point.least_leakage), best, rel_tol=1e-3)
    return near and (point.least_leakage < point.leakage - 1e-9) == (not whole)


def fig3() -> Figure[A3Numbers]:
    """Return the figure of leakage and the adversary's error against accuracy."""
    return Figure(
        name="A/3",
        title="Leakage and the adversary’s error against accuracy",
        shows=(
            "How leakage grows and the adversary’s best estimate improves as the released mean of "
            "two numbers becomes more accurate. Added: the least leakage of any cells, and Example "
            "IV.2 corrected, in which the adversary’s error about heights depends on the number of "
            "people."
        ),
        compute=_compute3,
        plot=_plot3,
        claims=_claims3,
    )
