"""Attacks on cells, noise and averages of groups at equal error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hartley.papers.b.fig3 import CORRECTED, FUSE, levels_of
from hartley.papers.b.trips import LATITUDE, LONGITUDE
from hartley.papers.beyond.homes import (
    CELLS,
    GAUSSIAN,
    GROUPS,
    LAPLACE,
    STRATEGIES,
    HomeRelease,
    by_cells,
    by_noise,
    draw_games,
    grouped,
    largest_error,
    noise_scale,
    play,
    textbook_noise,
)
from hartley.papers.beyond.places import in_boxes, in_groups, in_km, linked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.attacks.finding import AttackEstimate
    from hartley.papers.beyond.homes import Sampler

    Floats = NDArray[np.float64]

METHODS = (CELLS, LAPLACE, GAUSSIAN, GROUPS)
MEMBERSHIP, KNOWING, LINKAGE = "membership, best of three", "membership, others known", "linkage"
PEOPLE = 8
KS = (2, 3, 5, 10, 30, 100)


@dataclass(frozen=True)
class Row:
    """One method with one parameter against one adversary."""

    attack: str
    method: str
    setting: str
    error: float
    """The largest error in kWh or km; for noise, the one not exceeded in 95 of 100 cases."""
    usual: float
    """The error that 95 of 100 released numbers do not exceed."""
    promise: str
    strength: float
    """That promise as a number: bits of cells, epsilon or rho of noise, k of groups."""
    success: AttackEstimate
    """The advantage, or the share of trips linked."""


def attack_homes(
    readings: Floats,
    budgets: tuple[int, ...],
    games: int,
    random: np.random.Generator,
    *,
    sample: Sampler = textbook_noise,
) -> list[Row]:
    """Play the membership game on the mean of eight homes, released in four ways.

    Args:
        readings: homes x times.
        budgets: of the cells, in bits; the noise has the same error.
        games: how many for each release.
        random: of games and noise.
        sample: where the noise comes from.
    """
    top = max(float(FUSE), math.ceil(readings.max()))
    people = min(PEOPLE, len(readings) - 2)
    drawn = draw_games(len(readings), people, games, random)
    rows = []
    for bits in budgets:
        cells = by_cells(top, levels_of(people, bits, CORRECTED), bits)
        noise = [
            by_noise(method, cells.error, top / people, sample) for method in (LAPLACE, GAUSSIAN)
        ]
        for release in (cells, *noise):
            usual = 0.95 * release.error if release is cells else release.error
            rows += _two(release, usual, play(readings, release, drawn, random))
    for k in [k for k in KS if 2 * k <= len(readings)]:
        averages = grouped(readings, k)
        off = readings - averages
        usual = float(np.quantile(np.abs(off[drawn.others].mean(axis=1)), 0.95))
        worst, promise = largest_error(off, people), f"{k} equal records"
        groups = HomeRelease(GROUPS, f"k = {k}", worst, promise, k, lambda means, _: means, None)
        rows += _two(groups, usual, play(readings, groups, drawn, random, counted=averages))
    return rows


def _two(release: HomeRelease, usual: float, estimates: dict[str, AttackEstimate]) -> list[Row]:
    best = max((estimates[name] for name in STRATEGIES[:3]), key=lambda estimate: estimate.value)
    terms = (
        *(release.method, release.setting, release.error, usual),
        *(release.promise, release.strength),
    )
    return [Row(MEMBERSHIP, *terms, best), Row(KNOWING, *terms, estimates[STRATEGIES[3]])]


def trip_points(columns: list[Floats]) -> Floats:
    """Return both ends of trips in kilometres, from longitudes and latitudes in turn."""
    return np.column_stack([*in_km(*columns[:2]), *in_km(*columns[2:])])


def attack_trips(points: Floats, sides: tuple[int, ...], random: np.random.Generator) -> list[Row]:
    """Link known trips to their records, released in four ways.

    Args:
        points: the trips, in kilometres.
        sides: boxes along each axis; the noise has the same error.
        random: of the noise.
    """
    ends = [
        trip_points([np.array([float(pair[j])]) for pair in (LONGITUDE, LATITUDE) * 2])[0]
        for j in (0, 1)
    ]
    rows = []
    for side in sides:
        boxes = in_boxes(points, ends[0], ends[1], side)
        error = float((ends[1] - ends[0]).max() / (2 * side))
        terms = (
            *(f"{side} × {side} boxes", error, 0.95 * error),
            *(f"{side**2} outputs a point", 2 * math.log2(side)),
        )
        rows.append(Row(LINKAGE, CELLS, *terms, linked(points, boxes, sure=True)))
        for method in (LAPLACE, GAUSSIAN):
            scale = noise_scale(method, error)
            noisy = points + textbook_noise(method, scale, points.shape, random)
            moved = float((ends[1] - ends[0]).max()) / scale
            strength = moved if method == LAPLACE else moved**2 / 2
            promise = f"{'ε' if method == LAPLACE else 'ρ'} = {strength:.2g} a coordinate"
            said = f"scale {scale:.3g} km", error, error, promise, strength
            rows.append(Row(LINKAGE, method, *said, linked(points, noisy, sure=False)))
    for k in KS:
        averages = in_groups(points, k)
        off = np.abs(points - averages)
        errors = float(off.max()), float(np.quantile(off, 0.95))
        promise, success = f"{k} equal records", linked(points, averages, sure=True)
        rows.append(Row(LINKAGE, GROUPS, f"k = {k}", *errors, promise, k, success))
    return rows
