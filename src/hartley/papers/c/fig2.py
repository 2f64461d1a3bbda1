"""Figure 2 of paper C: guessing leakage and maximin information against distortion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hartley.papers.c.heart import DATA, SECRETS, STEPS, CHeartNumbers, falls, sweep
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.report import Chart, Panel

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress


def compute(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,
    steps: tuple[int, ...] = STEPS,
) -> CHeartNumbers:
    """Measure bins of every step, for the record and for the age as the secret; exact.

    Example:
        >>> len(compute(steps=(10,)).curves)
        4
    """
    return sweep(data, progress=progress, steps=steps)


def plot(numbers: CHeartNumbers) -> Chart:
    """Draw both measures against the largest distortion, for both readings of the secret."""
    panels = [
        Panel(
            "largest distortion (mm Hg, mg/dl)",
            f"{sign} (bits)",
            tuple(curve.line(measure, kind="points") for curve in numbers.of(secret)),
            title=f"{name}, secret: {SECRETS[secret]}",
        )
        for secret in SECRETS
        for measure, sign, name in (
            ("maximal", "L⋆(X → Ŷ)", "Guessing leakage"),
            ("maximin", "I⋆(X;Ŷ)", "Maximin information"),
        )
    ]
    return Chart(
        "C/2: leakage of binned blood pressure and cholesterol",
        tuple(panels),
        synthetic=numbers.synthetic,
    )


def findings(numbers: CHeartNumbers) -> tuple[Claim, ...]:
    """Return what the figure and Section VI are expected to show."""
    points = [(curve, point) for curve in numbers.curves for point in curve.points]
    claims = [
        Claim(
            "L⋆ and I⋆ never rise when the step doubles, and no step leaks more than the exact "
            "values.",
            holds=all(
                falls(getattr(point, name) for point in curve.chain())
                and all(
                    getattr(p, name) <= getattr(curve.at(1), name) + 1e-12 for p in curve.points
                )
                for curve in numbers.curves
                for name in ("maximal", "maximin")
            ),
        ),
        Claim(
            "They do not fall with every step, as the text suggests: some coarser bins, which are "
            "no unions of finer ones, leak more.",
            holds=any(
                not falls(point.maximal for point in curve.points) for curve in numbers.curves
            ),
        ),
        Claim(
            "L⋆ is never below I⋆, as Proposition 6 says.",
            holds=all(point.maximal >= point.maximin - 1e-12 for _, point in points),
        ),
        Claim(
            "With the record as the secret I⋆ falls by more than two bits from the exact values "
            "to bins of 50.",
            holds=all(
                curve.at(1).maximin - curve.at(50).maximin > 2 for curve in numbers.of("record")
            ),
        ),
        Claim(
            "Only the record as the secret reaches the published axis of 8 bits; the age has too "
            "few values.",
            holds=all(curve.at(1).maximal > 8 for curve in numbers.of("record"))
            and all(point.maximal < 6 for curve in numbers.of("age") for point in curve.points),
        ),
    ]
    if not numbers.synthetic:
        claims.append(_known(numbers))
    return tuple(claims)


def _known(numbers: CHeartNumbers) -> Claim:
    """Return whether the numbers on record for the real data come out."""
    curves = {(curve.secret, curve.released): curve for curve in numbers.curves}
    age, record = curves["age", "chol"].at(10), curves["record", "chol"].at(10)
    return Claim(
        "Cholesterol in steps of 10: L⋆ = 5.209453 and I⋆ = 1 bit about the age, L = 8.082149 "
        "about the record.",
        holds=math.isclose(age.maximal, 5.209453, abs_tol=5e-7)
        and age.maximin == 1
        and math.isclose(record.guessing, 8.082149, abs_tol=5e-7),
    )


FIGURE = Figure(
    paper="C",
    number=2,
    title="Guessing leakage and maximin information against distortion",
    shows=(
        "What binned blood pressures and cholesterol values of heart patients tell, for steps from "
        "1 to 50. The text says that the secret is the age, the published axis that it was the "
        "patient’s record: both are shown."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data=DATA,
)
