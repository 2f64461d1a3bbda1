"""Figure 6 of paper E: the computed curve of privacy against distortion, between its bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from hartley.papers.e.pair import RHO, WEIGHTS, bounds, least_risk, mixed_risk, on_a_grid
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress

VERIFIED = {
    0.72: (0.2515598, 0.5503055, 0.6477798106),
    1.22: (0.5013706, 0.2867937, 0.8512589194),
    1.72: (0.7505055, 0.1156266, 0.9493832395),
}
"""Distortion, risk and cost on 31 points, by lambda."""
CLOSED = {0.0: 1.163951, 0.25: 0.564858, 0.5: 0.300056, 0.75: 0.127850}
"""R(D) of the continuous pair."""


@dataclass(frozen=True)
class E6Point:
    """The best rule for one lambda, on a grid."""

    weight: float
    distortion: float
    risk: float
    cost: float
    gap: float
    """No rule costs less by more than this: certified."""
    live: int
    """How many released values occur at all."""


@dataclass(frozen=True)
class E6Numbers:
    """The paper's points, the whole curve of the grid, and its size."""

    points: tuple[E6Point, ...]
    curve: tuple[tuple[float, float], ...]
    size: int


def compute(
    data: str | Path = SYNTHETIC,  # noqa: ARG001 - this figure needs no data
    *,
    progress: Progress | None = None,
    points: int = 31,
    curve: int = 14,
) -> E6Numbers:
    """Solve for the paper's three lambdas, and trace the whole curve.

    Args:
        data: not needed.
        progress: called with the share of the work that is done.
        points: of the grid on which each variable lies.
        curve: how many rules the curve is traced with.
    """
    model = on_a_grid(points)
    computed = []
    for done, weight in enumerate(WEIGHTS, 1):
        best = model.solve(lam=weight)
        computed.append(
            E6Point(weight, best.distortion, best.risk, best.cost, best.gap, len(best.live))
        )
        if progress is not None:
            progress(0.5 * done / len(WEIGHTS))
    traced = model.curve(points=curve, tolerance=1e-6)
    line = tuple((point.distortion, point.risk) for point in traced.points)
    return E6Numbers(tuple(computed), line, points)


def plot(numbers: E6Numbers) -> Chart:
    """Draw both bounds, the curve of the grid and the paper's points on it."""
    places = [k / 100 for k in range(101)]
    paper_points = Series(
        "best rules of λ = 0.72, 1.22, 1.72",
        tuple(point.distortion for point in numbers.points),
        tuple(point.risk for point in numbers.points),
        "points",
        tone=1,
    )
    line = Series(
        f"least risk on {numbers.size} points, certified",
        tuple(d for d, _ in numbers.curve),
        tuple(r for _, r in numbers.curve),
        dash="dotted",
        tone=1,
    )
    panel = Panel(
        "distortion D",
        "risk R = I(W;X̂) (nats)",
        (*bounds(places), line, paper_points),
        from_zero=True,
    )
    return Chart(f"E/6: privacy against distortion of a Gaussian pair, ρ = {RHO}", (panel,))


def findings(numbers: E6Numbers) -> tuple[Claim, ...]:
    """Return what the figure is expected to show."""
    curve, points = numbers.curve, numbers.points
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(curve) if b[0] - a[0] > 1e-6]
    below = [least_risk(p.distortion) - p.risk for p in points]
    claims = [
        Claim(
            "The closed form (8) gives I(W;X) = 1.163951 nats, R(0.25) = 0.564858, R(0.5) = "
            "0.300056 and R(0.75) = 0.127850.",
            holds=all(math.isclose(least_risk(d), r, abs_tol=1e-6) for d, r in CLOSED.items()),
        ),
        Claim(
            "λ = 2(1/ρ² − 1 + d) is the price of the bound at d = 0.25, 0.5, 0.75: 0.716, 1.216, "
            "1.716.",
            holds=all(
                math.isclose(-1 / _slope(d), 2 * (1 / RHO**2 - 1 + d), rel_tol=1e-4)
                for d in (0.25, 0.5, 0.75)
            ),
        ),
        Claim(
            "The curve falls and is convex.",
            holds=all(a <= b + 1e-6 for a, b in pairwise(slopes)) and max(slopes) <= 0,
        ),
        Claim(
            "Every rule is the best one on its grid, certified to a billionth.",
            holds=all(point.gap < 1e-9 for point in points),
        ),
        Claim(
            f"The paper’s points come out near the bound, at most {max(below):.3f} nats below it: "
            "it bounds the continuous pair, not a grid that ends at ±3. They lie below the mixture "
            "of key and mean.",
            holds=all(0 < gap < 0.05 for gap in below)
            and all(p.risk < mixed_risk(p.distortion) for p in points),
        ),
    ]
    if numbers.size == 31:
        claims.append(
            Claim(
                "On 31 points the verified costs come out: 0.6477798, 0.8512589 and 0.9493832.",
                holds=all(_verified(point) for point in points),
            )
        )
    return tuple(claims)


def _slope(distortion: float, step: float = 1e-4) -> float:
    return (least_risk(distortion + step) - least_risk(distortion - step)) / (2 * step)


def _verified(point: E6Point) -> bool:
    distortion, risk, cost = VERIFIED[point.weight]
    return (
        abs(point.distortion - distortion) < 1e-6
        and abs(point.risk - risk) < 1e-6
        and abs(point.cost - cost) < 1e-9
    )


FIGURE = Figure(
    paper="E",
    number=6,
    title="Privacy against distortion",
    shows=(
        "The least that a perturbed key tells about a confidential number, both Gaussian, against "
        "the mean squared perturbation: the bounds of Section 5, and the best rules on a grid, "
        "each with a certificate instead of 32,000 steps of descent."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
)
