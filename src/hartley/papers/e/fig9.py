"""Figure 9 of paper E: mu-Approx between the bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.papers.e.groups import SHARES, EGroupsNumbers, aggregate, draw, shown
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.policies.microaggregation import mu_approx

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress
    from hartley.report import Chart


def compute(
    data: str | Path = SYNTHETIC,  # noqa: ARG001 - people are drawn, as in the paper
    *,
    progress: Progress | None = None,
    people: int = 2**15,
    shares: tuple[int, ...] = SHARES,
    seed: int = 1,
) -> EGroupsNumbers:
    """Group people by mu-Approx, in groups of n/2 down to n/32, and measure risk and distortion.

    Args:
        data: not needed.
        progress: called with the share of the work that is done.
        people: how many are drawn.
        shares: n/k, increasing.
        seed: of the drawings.
    """
    return aggregate(
        mu_approx, "µ-Approx", people=people, shares=shares, seed=seed, progress=progress
    )


def plot(numbers: EGroupsNumbers) -> Chart:
    """Draw mu-Approx between the bounds."""
    return draw(numbers, "E/9: privacy against distortion of µ-Approx on one key")


def findings(numbers: EGroupsNumbers) -> tuple[Claim, ...]:
    """Return what the figure is expected to show."""
    return shown(numbers)


FIGURE = Figure(
    paper="E",
    number=9,
    title="The groups of µ-Approx against the bound",
    shows="The same as Fig. 8 by µ-Approx, whose groups follow the shape of the data.",
    compute=compute,
    plot=plot,
    findings=findings,
)
