"""Figure 3 of paper C: stochastic maximal leakage against distortion."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from hartley.papers.c.heart import DATA, RELEASED, SECRETS, STEPS, CHeartNumbers, falls, sweep
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.report import Chart, Panel

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.c.heart import Curve
    from hartley.papers.figure import Progress


def compute(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,
    steps: tuple[int, ...] = STEPS,
) -> CHeartNumbers:
    """Measure bins of every step, relative frequencies taken as probabilities.

    Example:
        >>> all(0 < curve.at(10).stochastic < 8 for curve in compute(steps=(10,)).curves)
        True
    """
    return sweep(data, progress=progress, steps=steps)


def plot(numbers: CHeartNumbers) -> Chart:
    """Draw the stochastic maximal leakage between the bounds that really hold."""
    return Chart(
        "C/3: stochastic maximal leakage of binned blood pressure and cholesterol",
        tuple(_panel(numbers, secret) for secret in SECRETS),
        synthetic=numbers.synthetic,
    )


def _panel(numbers: CHeartNumbers, secret: str) -> Panel:
    series = []
    for tone, curve in enumerate(numbers.of(secret)):
        name = RELEASED[curve.released]
        for measure, sign, dash in (
            ("stochastic", "L̃⋆", "solid"),
            ("maximin", "I⋆, bound from below", "dotted"),
        ):
            line = curve.line(measure, dash=dash, tone=tone)
            series.append(replace(line, label=f"{name}: {sign}"))
    return Panel(
        "largest distortion (mm Hg, mg/dl)",
        "bits",
        tuple(series),
        title=f"Secret: {SECRETS[secret]}",
        from_zero=True,
    )


def findings(numbers: CHeartNumbers) -> tuple[Claim, ...]:
    """Return what the figure and Section VI, corrected, are expected to show."""
    points = [point for curve in numbers.curves for point in curve.points]
    ages = [point for curve in numbers.of("age") for point in curve.points]
    return (
        Claim(
            "The stochastic maximal leakage never rises when the step doubles, and is lower by "
            "more than a bit at the coarsest step than at the finest.",
            holds=all(
                falls(point.stochastic for point in curve.chain()) and _fell(curve)
                for curve in numbers.curves
            ),
        ),
        Claim(
            "It lies between I⋆ and the smaller of H₀(X) and H₀(Ŷ), for every step.",
            holds=all(
                p.maximin - 1e-9 <= p.stochastic <= min(p.entropy, p.released_entropy) + 1e-9
                for p in points
            ),
        ),
        Claim(
            "The printed order, L̃⋆ at most I⋆, is wrong: about the age L̃⋆ is above I⋆ for every "
            "step.",
            holds=all(point.stochastic > point.maximin for point in ages),
        ),
        Claim(
            "With the record as the secret the release is a function of it, and all three agree: "
            "I⋆ = L̃⋆ = H₀(Ŷ), as the paper observes.",
            holds=all(
                math.isclose(p.maximin, p.released_entropy, abs_tol=1e-9)
                and math.isclose(p.stochastic, p.released_entropy, abs_tol=1e-9)
                for curve in numbers.of("record")
                for p in curve.points
            ),
        ),
    )


def _fell(curve: Curve) -> bool:
    return curve.points[-1].stochastic < curve.points[0].stochastic - 1


FIGURE = Figure(
    paper="C",
    number=3,
    title="Stochastic maximal leakage against distortion",
    shows=(
        "What binned measurements of heart patients tell when relative frequencies are taken as "
        "probabilities. The paper has I⋆ above this leakage; in truth it is a bound from below."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data=DATA,
)
