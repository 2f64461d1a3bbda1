"""Figure 4 of paper D: privacy against accuracy of hiding who is obese."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.guarantees.verify import certify
from hartley.papers.d.obesity import PEOPLE, policy_for
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress

ACCURACIES = tuple(Fraction(k, 100) for k in (5, 7, 10, 14, 20, 32, 50, 100, 200, 320, 500))
KNOWN = {
    Fraction(1, 20): 0.216321901,
    Fraction(1, 10): 0.101688002,
    Fraction(1, 5): 0.049624509,
    Fraction(1, 2): 0.019691746,
    Fraction(1): 0.009852696,
    Fraction(2): 0.004938200,
    Fraction(5): 0.001982148,
}
"""What Theorem 4 claims, as verified."""
LIMIT = 0.01
"""To which epsilon times rho tends."""


@dataclass(frozen=True)
class D4Point:
    """One accuracy: what Theorem 4 claims, and what each policy really keeps."""

    accuracy: Fraction
    claimed: float
    """Epsilon by the formula of the theorem, from the volume of the band."""
    stretched: float
    """Epsilon of the corrected policy, by its certificate; never above the truth."""
    blurred: float
    """Epsilon of the printed policy by the volume of outputs, equation 9."""
    left_open: float
    """Epsilon of the printed policy counted in records, by its certificate."""


@dataclass(frozen=True)
class D4Numbers:
    """One point an accuracy, in ascending order."""

    points: tuple[D4Point, ...]


def compute(
    data: str | Path = SYNTHETIC,  # noqa: ARG001 - this figure needs no data
    *,
    progress: Progress | None = None,
    accuracies: tuple[Fraction, ...] = ACCURACIES,
) -> D4Numbers:
    """Compute epsilon of Theorem 4, and certify the printed and the corrected policy.

    Example:
        >>> (point,) = compute(accuracies=(Fraction(1, 10),)).points
        >>> round(point.claimed, 4), round(point.stretched, 4), point.blurred
        (0.1017, 0.1017, 0.0)
    """
    points = []
    for k, accuracy in enumerate(accuracies):
        stretch, blur = policy_for("stretch", accuracy), policy_for("blur", accuracy)
        band = blur.band().low
        # The band ends on a curve: what can come out are the decided records, and no more volume.
        outputs = deciding = PEOPLE.volume - band
        points.append(
            D4Point(
                accuracy=accuracy,
                claimed=float(band / (PEOPLE.volume - band)),
                stretched=2 ** float(certify(stretch).value) - 1,
                blurred=float(outputs / deciding - 1),
                left_open=2 ** float(certify(blur).value) - 1,
            )
        )
        if progress is not None:
            progress((k + 1) / len(accuracies))
    return D4Numbers(tuple(points))


def plot(numbers: D4Numbers) -> Chart:
    """Draw epsilon against rho with its asymptote, and what the printed policy really keeps."""
    rho = tuple(float(point.accuracy) for point in numbers.points)
    claimed = tuple(point.claimed for point in numbers.points)
    stretched = tuple(point.stretched for point in numbers.points)
    blurred = tuple(point.blurred for point in numbers.points)
    claims_panel = Panel(
        "accuracy ρ (1/kg)",
        "privacy ε",
        (
            Series("claimed by Theorem 4", rho, claimed, tone=7),
            Series("stretch policy (corrected), certified", rho, stretched, "points", tone=0),
            Series("0.01/ρ", rho, tuple(LIMIT / r for r in rho), dash="dashed", tone=5),
        ),
        title="Privacy falls as accuracy grows",
        x_log=True,
        y_log=True,
    )
    right = Panel(
        "accuracy ρ (1/kg)",
        "ε by the volume of outputs",
        (
            Series("stretch policy (corrected)", rho, stretched, tone=0),
            Series("blurring policy (as printed)", rho, blurred, tone=1),
        ),
        title="By volume, the printed policy keeps none of it",
        x_log=True,
    )
    return Chart("D/4: hiding who is obese, privacy against accuracy", (claims_panel, right))


def findings(numbers: D4Numbers) -> tuple[Claim, ...]:
    """Return what the figure, Example 3 and Remark 1 are expected to show."""
    points = numbers.points
    claimed = [point.claimed for point in points]
    products = [point.claimed * float(point.accuracy) for point in points if point.accuracy >= 1]
    known = [(point.claimed, KNOWN[point.accuracy]) for point in points if point.accuracy in KNOWN]
    return (
        Claim(
            "The more accurate the report, the less private: ε falls with ρ.",
            holds=claimed == sorted(set(claimed), reverse=True),
        ),
        Claim(
            "Privacy times accuracy is constant in the limit: from ρ = 1 on, ερ is within 2 % of "
            "0.01.",
            holds=bool(products) and all(abs(p / LIMIT - 1) < 0.02 for p in products),
        ),
        Claim(
            f"At ρ = {', '.join(f'{float(a):g}' for a in KNOWN)} ε has the verified values, "
            "from 0.2163 to 0.0020.",
            holds=len(known) > 0 and all(abs(a - b) < 3e-6 * b for a, b in known),
        ),
        Claim(
            "Of values without a step, the stretch policy keeps what the theorem claims, by its "
            "own certificate.",
            holds=all(math.isclose(p.stretched, p.claimed, rel_tol=1e-4) for p in points),
        ),
        Claim(
            "By the volume of outputs the printed policy keeps ε = 0 at any accuracy, since the "
            "band collapses onto a curve; counted in records it leaves open what the theorem "
            "claims.",
            holds=all(
                p.blurred == 0 and math.isclose(p.left_open, p.claimed, rel_tol=1e-4)
                for p in points
            ),
        ),
    )


FIGURE = Figure(
    paper="D",
    number=4,
    title="Privacy against accuracy of reported weight and height",
    shows=(
        "How much privacy ε against a test for obesity remains when reported weights may be off by "
        "1/ρ kg. Corrected: the printed policy, which reports the line itself near the line, keeps "
        "none of it by the volume of outputs, though its records are left open; the stretch policy "
        "keeps all that the theorem claims."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
)
