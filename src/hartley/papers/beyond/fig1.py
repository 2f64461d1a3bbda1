"""Beyond the papers, figure 1: cells, noise and k-anonymity attacked at the same error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hartley.datasets.catalogue import dataset
from hartley.papers.b.trips import COLUMNS, load_trips
from hartley.papers.beyond.comparison import (
    KNOWING,
    LINKAGE,
    MEMBERSHIP,
    METHODS,
    Row,
    attack_homes,
    attack_trips,
    trip_points,
)
from hartley.papers.beyond.homes import CELLS, GAUSSIAN, GROUPS, LAPLACE, TAIL
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.papers.figure import Progress


@dataclass(frozen=True)
class Beyond1Numbers:
    """The whole table, and how often noise exceeded its stated error."""

    rows: tuple[Row, ...]
    beyond: float
    """The share of Laplace noise beyond its stated error."""
    farthest: float
    """The largest such noise, in stated errors."""
    epsilon: float
    """Of differential privacy, for a reading, by the Laplace noise of the coarsest error."""
    synthetic: bool
    source: str
    """Where readings and trips come from."""

    def of(self, attack: str, method: str) -> list[Row]:
        """Return the rows of one attack and method, by increasing error."""
        rows = [r for r in self.rows if (r.attack, r.method) == (attack, method)]
        return sorted(rows, key=lambda row: row.error)


def compute(  # noqa: PLR0913 - sizes, all with defaults
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,
    homes: int = 300,
    budgets: tuple[int, ...] = (1, 2, 3, 4, 5),
    games: int = 8000,
    trips: int = 8000,
    sides: tuple[int, ...] = (8, 16, 32, 64, 128),
    seed: int = 0,
) -> Beyond1Numbers:
    """Attack the mean of eight homes, and single trips, as released in four ways.

    Args:
        data: "synthetic", or the folder with the readings of homes and the trips.
        progress: called with the share of the work that is done.
        homes: how many synthetic ones there are; one day of each.
        budgets: of the cells, in bits; their error is that of the other methods.
        games: how many for each method and error.
        trips: how many are released.
        sides: boxes along each axis; their error is that of the noise.
        seed: of games and noise.
    """
    loaded = dataset("solar_homes", data=data, homes=homes, days=1)
    random = np.random.default_rng(seed)
    rows = attack_homes(loaded.readings()[:, 0], budgets, games, random)
    if progress is not None:
        progress(0.6)
    taken = load_trips(data, trips)
    rows += attack_trips(
        trip_points([taken.numbers(name)[:trips] for name in COLUMNS]), sides, random
    )
    drawn = np.abs(random.laplace(0, 1 / TAIL, 100_000))
    return Beyond1Numbers(
        tuple(rows),
        float((drawn > 1).mean()),
        float(drawn.max()),
        min(row.strength for row in rows if row.method == LAPLACE and row.attack == MEMBERSHIP),
        loaded.synthetic or taken.synthetic,
        f"{loaded.source} {taken.source}",
    )


# --- what is drawn ----------------------------------------------------------------------------


def plot(numbers: Beyond1Numbers) -> Chart:
    """Draw the success of every adversary against the error, by method."""
    panels = (
        ("Knows two homes: best of three strategies", MEMBERSHIP, "kWh", "advantage"),
        ("Knows the readings of all other homes too", KNOWING, "kWh", "advantage"),
        ("Knows a trip, takes the nearest record", LINKAGE, "km", "share of trips linked"),
    )
    return Chart(
        "Cells against noise and k-anonymity at equal error",
        tuple(
            Panel(
                f"error ({unit})",
                success,
                (
                    *(_line(numbers.of(attack, method)) for method in METHODS),
                    _usual(numbers.of(attack, GROUPS)),
                ),
                title,
                x_log=True,
                from_zero=True,
            )
            for title, attack, unit, success in panels
        ),
        note=(
            "Error: the largest error of cells and k-anonymity; noise has none, so the error that "
            "it does not exceed in 95 of 100 cases (textbook Laplace and Gaussian mechanisms). "
            f"Data: {numbers.source}"
        ),
        source=numbers.source,
        synthetic=numbers.synthetic,
        across=3,
    )


def _line(rows: list[Row]) -> Series:
    method = rows[0].method
    return Series(
        method,
        tuple(row.error for row in rows),
        tuple(row.success.value for row in rows),
        low=tuple(row.success.low for row in rows),
        high=tuple(row.success.high for row in rows),
        tone=METHODS.index(method),
    )


def _usual(rows: list[Row]) -> Series:
    ordered = sorted(rows, key=lambda row: row.usual)
    return Series(
        "k-anonymity, 95 % error",
        tuple(row.usual for row in ordered),
        tuple(row.success.value for row in ordered),
        dash="dotted",
        tone=METHODS.index(GROUPS),
    )


# --- what it shows ----------------------------------------------------------------------------


def findings(numbers: Beyond1Numbers) -> tuple[Claim, ...]:
    """Return the findings, for and against every method."""
    return (
        _no_worst_case(numbers),
        _coarsest(numbers),
        _noise_wins(numbers),
        _weak_promise(numbers),
        _groups_known(numbers),
        _groups_far(numbers),
        _groups_usual(numbers),
    )


def _no_worst_case(numbers: Beyond1Numbers) -> Claim:
    return Claim(
        "Equal error is not equal: cells never exceed it, noise has no largest error. "
        f"{100 * numbers.beyond:.1f} % of Laplace noise went beyond, up to "
        f"{numbers.farthest:.1f} times as far.",
        holds=0.04 < numbers.beyond < 0.06 and numbers.farthest > 2,
    )


def _coarsest(numbers: Beyond1Numbers) -> Claim:
    compared, held = [], []
    for attack in (MEMBERSHIP, KNOWING):
        cells, *noise = (numbers.of(attack, m)[-1].success for m in METHODS[:3])
        compared.append(f"{cells.value:.2f} against {noise[0].value:.2f} and {noise[1].value:.2f}")
        held.append(all(cells.high < estimate.low for estimate in noise))
    error = numbers.of(KNOWING, CELLS)[-1].error
    return Claim(
        f"Cells win at a coarse error, {error:.2g} kWh: an advantage of {compared[0]} with Laplace "
        f"and Gaussian noise, {compared[1]} against an adversary who knows all others.",
        holds=all(held),
    )


def _noise_wins(numbers: Beyond1Numbers) -> Claim:
    """Say where an adversary gains less from noise than from cells of the same error."""
    won = [
        (cells, noise)
        for attack in (MEMBERSHIP, KNOWING, LINKAGE)
        for method in (LAPLACE, GAUSSIAN)
        for cells, noise in zip(numbers.of(attack, CELLS), numbers.of(attack, method), strict=True)
        if noise.success.high < cells.success.low
    ]
    won.sort(key=lambda pair: pair[1].success.value - pair[0].success.value)
    listed = "; ".join(
        f"{noise.method}, {noise.attack}, error {noise.error:.2g}: {noise.success.value:.3f} "
        f"against {cells.success.value:.3f}"
        for cells, noise in won[:2]
    )
    return Claim(
        f"Noise wins in places ({listed or 'none here'}). Its promise holds for any knowledge of "
        "the adversary and any distribution of the data; that of cells does not.",
        holds=bool(won),
    )


def _weak_promise(numbers: Beyond1Numbers) -> Claim:
    loosest = numbers.of(MEMBERSHIP, LAPLACE)[-1]
    return Claim(
        f"The promise of noise is weak at these errors: at {loosest.error:.2g} kWh "
        f"{loosest.promise} for each reading, 48 times as much for the day.",
        holds=numbers.epsilon > 1,
    )


def _groups_known(numbers: Beyond1Numbers) -> Claim:
    least = min(row.success.low for row in numbers.of(KNOWING, GROUPS))
    return Claim(
        "k-anonymity hides little of who is a member from an adversary who knows all others: the "
        f"advantage is at least {least:.2f} at every k tried.",
        holds=least > 0.4,
    )


def _groups_far(numbers: Beyond1Numbers) -> Claim:
    two, boxes = numbers.of(LINKAGE, GROUPS)[0], numbers.of(LINKAGE, CELLS)[-1]
    return Claim(
        f"Groups have a bad worst case: with {two.setting} a trip is up to {two.error:.1f} km off "
        f"and {100 * two.success.value:.0f} % are linked; in boxes it is off by at most "
        f"{boxes.error:.1f} km and {100 * boxes.success.value:.0f} % are linked.",
        holds=two.error > boxes.error and two.success.low > boxes.success.high,
    )


def _groups_usual(numbers: Beyond1Numbers) -> Claim:
    boxes = numbers.of(LINKAGE, CELLS)
    usual = [math.log(row.usual) for row in boxes]
    shares = [row.success.value for row in boxes]
    won = [
        (row, there)
        for row in numbers.of(LINKAGE, GROUPS)
        if row.success.value < (there := float(np.interp(math.log(row.usual), usual, shares)))
    ]
    listed = "; ".join(
        f"{row.setting}: {100 * row.success.value:.1f} % linked, boxes {100 * there:.1f} %"
        for row, there in won[:3]
    )
    return Claim(
        f"Judged by the error of 95 in 100 trips, k-anonymity wins ({listed or 'nowhere'}).",
        holds=bool(won),
    )


FIGURE = Figure(
    paper="beyond",
    number=1,
    title="Cells against noise and k-anonymity",
    shows=(
        "The same data, released in cells, with textbook Laplace or Gaussian noise, and as "
        "averages of k, at equal error, against the same adversaries: who is in a group of eight "
        "homes, and which record is the known trip. No method wins everywhere; what cells reveal "
        "depends on how near the data are to an edge."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data="solar_homes and taxi",
)
