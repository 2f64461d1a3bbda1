"""Figure 5 of paper B: a map of the taxi trips, and the same map in boxes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hartley.exact import floor_power
from hartley.papers.b.trips import COLUMNS, DATA, LATITUDE, LONGITUDE, load_trips
from hartley.papers.figure import SYNTHETIC, Claim, Figure
from hartley.report import Chart, Heat, Panel

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.papers.figure import Progress

BUDGETS = (8, 12)
MAP = "map"


@dataclass(frozen=True)
class B5Numbers:
    """How many trips begin in each box, by the budget of a point; and on a fine map."""

    counts: dict[int | str, tuple[tuple[int, ...], ...]]
    """Rows from south to north."""
    trips: int
    inside: int
    """How many trips begin and end in the box of the city."""
    synthetic: bool
    notes: tuple[str, ...] = ()
    """What was left out of the data."""


def compute(
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress | None = None,  # noqa: ARG001 - it takes no time
    trips: int = 100_000,
    budgets: tuple[int, ...] = BUDGETS,
    points: int = 110,
) -> B5Numbers:
    """Count the trips that begin in each box of several grids.

    Args:
        data: "synthetic", or where the trips are.
        progress: not needed.
        trips: how many synthetic ones there are.
        budgets: in bits, for a point; each side has floor(2^(bits/2)) boxes.
        points: of the fine map, along a side.
    """
    loaded = load_trips(data, trips)
    places = {name: loaded.numbers(name) for name in COLUMNS}
    within = np.ones(loaded.rows, dtype=bool)
    for name, values in places.items():
        low, high = map(float, LONGITUDE if name.endswith("longitude") else LATITUDE)
        within &= (values >= low) & (values <= high)
    east, north = places[COLUMNS[0]][within], places[COLUMNS[1]][within]
    sides: dict[int | str, int] = {MAP: points}
    sides |= {bits: floor_power(f"{bits}/2") for bits in budgets}
    counts = {name: _counted(east, north, side) for name, side in sides.items()}
    return B5Numbers(counts, loaded.rows, int(within.sum()), loaded.synthetic, loaded.notes)


def _counted(
    east: NDArray[np.float64], north: NDArray[np.float64], side: int
) -> tuple[tuple[int, ...], ...]:
    ends = [tuple(map(float, LATITUDE)), tuple(map(float, LONGITUDE))]
    counts, _, _ = np.histogram2d(north, east, bins=side, range=ends)
    return tuple(map(tuple, counts.astype(np.int64).tolist()))


def plot(numbers: B5Numbers) -> Chart:
    """Draw the density of pick-ups, on a fine map and in boxes of the budgets."""
    panels = []
    for name, counts in numbers.counts.items():
        heat = Heat(
            "log₁₀(1 + trips)",
            tuple(map(tuple, _logarithms(np.array(counts) + 1).tolist())),
            *(*map(float, LONGITUDE), *map(float, LATITUDE)),
        )
        boxes = f"ε = {name}: {len(counts)} × {len(counts)} boxes"
        title = "Where trips begin" if name == MAP else boxes
        panels.append(Panel("longitude", "latitude", heat=heat, title=title))
    return Chart(
        f"B/5: {numbers.inside:,} taxi trips in the box of New York City",
        tuple(panels),
        note=" ".join(numbers.notes),
        synthetic=numbers.synthetic,
        across=3,
    )


def _logarithms(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return logarithms that are the same on every machine; NumPy's own end in other digits."""
    levels, places = np.unique(counts, return_inverse=True)
    logarithms = np.array([float(Decimal(level).log10()) for level in levels.tolist()])
    return logarithms[places].reshape(counts.shape)


def findings(numbers: B5Numbers) -> tuple[Claim, ...]:
    """Return what the map is expected to show."""
    fine = np.array(numbers.counts[MAP])
    full = np.sort(fine.ravel())[::-1]
    crowded = full[: fine.size // 50].sum() / full.sum()
    boxes = {bits: np.array(c) for bits, c in numbers.counts.items() if isinstance(bits, int)}
    return (
        Claim(
            "Every trip that begins and ends in the paper’s box, latitudes 40.49 to 40.92 and "
            "longitudes −74.27 to −73.68, is on the map once, and no other.",
            holds=numbers.inside == numbers.trips
            and all(counted.sum() == numbers.inside for counted in (fine, *boxes.values())),
        ),
        Claim(
            f"Trips crowd: a fiftieth of the map has {100 * crowded:.0f} % of the pick-ups, so "
            "equal boxes hold very different numbers.",
            holds=bool(crowded > 0.75),
        ),
        Claim(
            "A grid has at most 2^ε boxes a point.",
            holds=all(counted.size <= 2**bits for bits, counted in boxes.items()),
        ),
    )


FIGURE = Figure(
    paper="B",
    number=5,
    title="Map of the trips",
    shows=(
        "Where taxi trips begin in the part of New York City that the paper studies, and the same "
        "through the boxes of two budgets: all that is released of a point."
    ),
    compute=compute,
    plot=plot,
    findings=findings,
    data=DATA,
)
