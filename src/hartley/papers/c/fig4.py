"""Figure 4 of paper C: identifiability against the maximal guessing leakage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hartley.measures.guessing import maximal_leakage_within
from hartley.papers.c.heart import (
    DATA,
    RELEASED,
    SECRETS,
    STEPS,
    CHeartNumbers,
    CHeartPoint,
    Curve,
    sweep,
)
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress

WIDE = (*STEPS[::2], *range(55, 151, 5))
"""Steps beyond those of the other figures: only wide bins leave more than one patient each."""


def compute(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,
    steps: tuple[int, ...] = WIDE,
) -> CHeartNumbers:
    """Measure bins of every step, for the record and for the age as the secret; exact.

    Example:
        >>> point = compute(steps=(50,)).curves[1].at(50)
        >>> point.guessing <= point.maximal
        True
    """
    return sweep(data, progress=progress, steps=steps)


def predicted(point: CHeartPoint) -> float:
    """Return L from L* by equation (8): log2 of |X| over |X| + 1 - 2^L*."""
    return math.log2(point.secrets / (point.secrets + 1 - round(2**point.maximal)))


def plot(numbers: CHeartNumbers) -> Chart:
    """Draw every step as a point, on the curve of equation (8)."""
    return Chart(
        "C/4: identifiability against maximal guessing leakage",
        tuple(_panel(numbers, secret) for secret in SECRETS),
        synthetic=numbers.synthetic,
    )


def _panel(numbers: CHeartNumbers, secret: str) -> Panel:
    curves = numbers.of(secret)
    series = []
    for tone, curve in enumerate(curves):
        series += [_points(curve, tone), _law(curve, tone)]
    return Panel(
        "L⋆(X → Y) (bits)",
        "L(X → Y) (bits)",
        tuple(series),
        title=f"Secret: {SECRETS[secret]}",
        from_zero=True,
    )


def _points(curve: Curve, tone: int) -> Series:
    places = sorted({(point.maximal, point.guessing) for point in curve.points})
    return Series(
        RELEASED[curve.released],
        tuple(x for x, _ in places),
        tuple(y for _, y in places),
        "points",
        tone=tone,
    )


def _law(curve: Curve, tone: int) -> Series:
    """Return the curve of equation (8), from the least leakage that occurs to the most."""
    secrets = curve.points[0].secrets
    most = max(point.remaining for point in curve.points)
    remaining = range(min(most, secrets), 0, -1)
    return Series(
        f"equation (8), |X| = {secrets}",
        tuple(math.log2(secrets - k + 1) for k in remaining),
        tuple(math.log2(secrets / k) for k in remaining),
        dash="dashed",
        tone=tone,
    )


def findings(numbers: CHeartNumbers) -> tuple[Claim, ...]:
    """Return what the figure, equation (8) and Corollary 5 are expected to show."""
    points = [point for curve in numbers.curves for point in curve.points]
    records = [point for curve in numbers.of("record") for point in curve.points]
    return (
        Claim(
            "Every point lies on the curve of equation (8): L = log₂(|X| / (|X| + 1 − 2^L⋆)).",
            holds=all(math.isclose(p.guessing, predicted(p), abs_tol=1e-9) for p in points),
        ),
        Claim(
            "L grows with L⋆.",
            holds=all(_monotone(curve) for curve in numbers.curves),
        ),
        Claim(
            "L⋆ attains the tightened bound of Corollary 5, log₂(|X| − ⌈|X| 2^−L⌉ + 1).",
            holds=all(
                math.isclose(p.maximal, maximal_leakage_within(p.secrets, p.guessing), abs_tol=1e-9)
                for p in points
            ),
        ),
        Claim(
            "With the record as the secret L = log₂(n/k), with k the smallest number of patients "
            "in a bin.",
            holds=all(
                math.isclose(p.guessing, math.log2(p.secrets / p.remaining), abs_tol=1e-9)
                for p in records
            )
            and len({p.remaining for p in records}) > 3,
        ),
    )


def _monotone(curve: Curve) -> bool:
    places = sorted({(point.maximal, point.guessing) for point in curve.points})
    guesses = [guessing for _, guessing in places]
    return guesses == sorted(guesses)


FIGURE = Figure(
    paper="C",
    number=4,
    title="Identifiability against maximal guessing leakage",
    shows=(
        "The budget of identifiability L against the maximal guessing leakage L⋆, a point for "
        "every step of the bins of heart patients’ measurements, with the curve of equation (8). "
        "Steps up to 150, since narrow bins always leave somebody alone."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data=DATA,
)
