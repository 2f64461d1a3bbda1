"""Beyond the papers, figure 2: leakage over time (future work in paper C) of a vehicle in zones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from hartley.exact import bits_at_least
from hartley.measures.over_time import leakage_over_time
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.ranges.dynamics import FiniteSystem
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.measures.over_time import LeakageAt
    from hartley.papers.figure import Progress

PLACES, ZONES = 24, (4, 8, 12)
SECRETS: tuple[Literal["initial", "current", "trajectory"], ...] = (
    "initial",
    "current",
    "trajectory",
)
TITLES = {
    "initial": "where it was first",
    "current": "where it is now",
    "trajectory": "all places up to now",
}


@dataclass(frozen=True)
class Beyond2Numbers:
    """The leakage at each time, by the width of the zones and the secret."""

    places: int
    by_width: dict[int, dict[str, tuple[LeakageAt, ...]]]


def compute(
    data: str | Path = SYNTHETIC,  # noqa: ARG001 - this figure needs no data
    *,
    progress: Progress | None = None,
    places: int = PLACES,
    zones: tuple[int, ...] = ZONES,
    steps: int = 16,
) -> Beyond2Numbers:
    """Compute the leakage of the zones seen so far, exactly, for zones of several widths.

    Example:
        >>> numbers = compute(places=4, zones=(2,), steps=1)
        >>> [at.fewest for at in numbers.by_width[2]["initial"]]
        [3, 3]
    """
    by_width: dict[int, dict[str, tuple[LeakageAt, ...]]] = {}
    for number, width in enumerate(zones):
        system = ring(places, width)
        by_width[width] = {s: leakage_over_time(system, steps, secret=s) for s in SECRETS}
        if progress is not None:
            progress((number + 1) / len(zones))
    return Beyond2Numbers(places, by_width)


def ring(places: int, width: int) -> FiniteSystem:
    """Return a vehicle on a ring that moves by at most one place, seen with an error of one."""
    return FiniteSystem.of(
        range(places),
        lambda x, w: (x + w) % places,
        lambda x, v: (x + v) % places // width,
        disturbances=(-1, 0, 1),
        noises=(0, 1),
    )


def plot(numbers: Beyond2Numbers) -> Chart:
    """Draw the leakage about the first place, the present one and all of them against time."""
    panels = []
    for about in SECRETS:
        series = tuple(
            Series(
                f"zones of {width} places",
                tuple(float(at.time) for at in by_secret[about]),
                tuple(at.leakage for at in by_secret[about]),
                kind="steps" if about != "trajectory" else "line",
            )
            for width, by_secret in numbers.by_width.items()
        )
        all_of_it = (("the whole place", bits_at_least(numbers.places)),)
        marks = all_of_it if about != "trajectory" else ()
        panels.append(
            Panel("steps", "leakage L₀ (bits)", series, TITLES[about], marks=marks, from_zero=True)
        )
    return Chart(
        f"Leakage over time: a vehicle on a ring of {numbers.places} places, seen in zones",
        tuple(panels),
        across=3,
    )


def findings(numbers: Beyond2Numbers) -> tuple[Claim, ...]:
    """Return what the figure is expected to show."""
    by_width = list(numbers.by_width.values())
    widest = numbers.by_width[max(numbers.by_width)]
    narrowest = numbers.by_width[min(numbers.by_width)]
    return (
        Claim(
            "What is known about the first place never decreases.",
            holds=all(
                a.leakage <= b.leakage
                for by_secret in by_width
                for a, b in pairwise(by_secret["initial"])
            ),
        ),
        Claim(
            "At the first look and after the last, wider zones tell no more about any secret.",
            holds=all(
                coarse[about][k].leakage <= fine[about][k].leakage
                for fine, coarse in pairwise(by_width)
                for about in SECRETS
                for k in (0, -1)
            ),
        ),
        Claim(
            "One look at narrow zones never tells the place; a sequence of looks can tell it "
            "entirely.",
            holds=narrowest["initial"][0].fewest > 1 and narrowest["initial"][-1].fewest == 1,
        ),
        Claim(
            "With the widest zones at least four first places remain possible at all times.",
            holds=all(at.fewest >= 4 for at in widest["initial"]),
        ),
        Claim(
            "What is known about all places together grows with every step.",
            holds=all(
                a.leakage < b.leakage
                for by_secret in by_width
                for a, b in pairwise(by_secret["trajectory"])
            ),
        ),
    )


FIGURE = Figure(
    paper="beyond",
    number=2,
    title="Leakage over time",
    shows=(
        "A vehicle moves by at most one place a step and is released as a zone, with an error of "
        "one place. All sets of trajectories are followed exactly. Crossing from one zone to the "
        "next tells far more than any single look: repeated releases need a budget."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
)
