"""Figure 1 of paper A: the regions of the best policy for the mean of two numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from hartley.papers.a.regions import Cuts, best_regions, regions_panel, shares_panel
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.report import Chart

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress

QUERY = "(x1 + x2)/2"
ACCURACY, UNEVEN = Fraction(2), Fraction(11, 5)


def compute(
    data: str | Path = SYNTHETIC,  # noqa: ARG001 - this figure needs no data
    *,
    progress: Progress | None = None,  # noqa: ARG001 - it takes no time
    points: int = 96,
) -> Cuts:
    """Compute the regions of Theorem IV.3 for both privacy metrics; all areas are exact.

    Example:
        >>> numbers = compute(points=4)
        >>> [str(value) for value in numbers.fewest.released]
        ['-3/2', '-1/2', '1/2', '3/2']
    """
    return Cuts(
        fewest=best_regions(QUERY, ACCURACY, "maximin"),
        equal=best_regions(QUERY, UNEVEN, "maximin"),
        least=best_regions(QUERY, UNEVEN, "leakage"),
        points=points,
    )


def plot(numbers: Cuts) -> Chart:
    """Draw the four regions, and beside them why equal cells are not best for the leakage."""
    cells = [f"X{chr(0x2081 + k)}" for k in range(len(numbers.equal.areas))]
    shares = shares_panel(
        numbers, cells, title=f"γ = {float(UNEVEN):g}: five regions, two ways to cut"
    )
    regions = regions_panel(
        numbers.fewest, numbers.points, title="γ = 2: the regions of the best policy"
    )
    return Chart("A/1: mean of two numbers in [−2, 2]", (regions, shares))


def findings(numbers: Cuts) -> tuple[Claim, ...]:
    """Return what the figure and Example IV.1 are expected to show."""
    fewest, equal, least = numbers.fewest, numbers.equal, numbers.least
    middles = tuple(Fraction(k, 2) for k in (-3, -1, 1, 3))
    return (
        Claim(
            "At γ = 2 the mean is released as −1.5, −0.5, 0.5 or 1.5, as printed.",
            holds=fewest.released == middles,
        ),
        Claim(
            "The four regions have areas 2, 6, 6 and 2: I⋆ = ln 4 = 1.386294 nats and "
            "L₀ = ln 8 = 2.079442 nats.",
            holds=fewest.areas == (2.0, 6.0, 6.0, 2.0)
            and math.isclose(fewest.information, 1.386294, abs_tol=1e-6)
            and math.isclose(fewest.leakage, 2.079442, abs_tol=1e-6),
        ),
        Claim(
            "The best policy minimises the number of cells; (17b) prints argmax. No cell is wider "
            "than 2/γ, and three cells of that width would not cover the range.",
            holds=len(fewest.areas) == 4
            and max(b - a for a, b in pairwise(fewest.edges)) <= 2 / ACCURACY
            and fewest.edges[-1] - fewest.edges[0] > 3 * (2 / ACCURACY),
        ),
        Claim(
            "Equal cells are best for I⋆ but not for L₀: at γ = 2.2 the smallest of the best cells "
            "has 10.33% of the square, the smallest equal one 8%, with five cells each.",
            holds=len(equal.areas) == len(least.areas) == 5
            and math.isclose(equal.smallest_share, 0.08)
            and math.isclose(least.smallest_share, 0.1033, abs_tol=5e-5),
        ),
    )


FIGURE = Figure(
    paper="A",
    number=1,
    title="Regions of the best policy for a mean",
    shows=(
        "Which pairs of numbers get the same released mean when the mean may be off by 1/γ = 1/2. "
        "Beside it, corrected: for the leakage L₀ the best cells are not equal."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
)
