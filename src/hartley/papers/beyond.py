"""What the papers leave open: a comparison with what else a user would pick, and time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from hartley.attacks.finding import AttackEstimate, advantage, share
from hartley.datasets.catalogue import dataset
from hartley.exact import bits_at_least
from hartley.measures.over_time import leakage_over_time
from hartley.papers.b import (
    CORRECTED,
    FUSE,
    LATITUDE,
    LONGITUDE,
    TRIP_RANGES,
    estimates_line,
    levels_of,
)
from hartley.papers.figure import SYNTHETIC, Claim, Figure, series_of, unwatched
from hartley.policies.quantizer import UniformQuantizer
from hartley.ranges.dynamics import FiniteSystem
from hartley.report import Chart, Panel, Series
from hartley.studies.release.microaggregation import mdav

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from hartley.measures.over_time import LeakageAt
    from hartley.papers.figure import Progress

    Floats = NDArray[np.float64]
    Sampler = Callable[[str, float, tuple[int, ...], np.random.Generator], Floats]
    """From a method, its scale, a shape and a generator to noise."""


# --- figure 1: cells, noise and k-anonymity attacked at the same error -------------------------


CELLS, LAPLACE, GAUSSIAN, GROUPS = "cells", "Laplace noise", "Gaussian noise", "k-anonymity"
METHODS = (CELLS, LAPLACE, GAUSSIAN, GROUPS)
MEMBERSHIP, KNOWING, LINKAGE = "membership, best of three", "membership, others known", "linkage"
Z = 1.959963984540054
"""A normal number is within so many deviations with a probability of 0.95."""
TAIL = math.log(20)
"""A Laplace number is within so many scales with that probability."""
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


def noise_scale(method: str, error: float) -> float:
    """Return the scale or deviation of noise that is within an error, 95 in 100."""
    return error / (TAIL if method == LAPLACE else Z)


def textbook_noise(
    method: str, scale: float, shape: tuple[int, ...], random: np.random.Generator
) -> Floats:
    """Return Laplace noise of a scale, or Gaussian noise of a deviation."""
    drawn: Floats = (random.laplace if method == LAPLACE else random.normal)(0, scale, shape)
    return drawn


def _strength(method: str, moved: float) -> tuple[str, float]:
    """Return the promise of noise if a person moves a number by some scales: ε, or ρ of zCDP."""
    strength = moved if method == LAPLACE else moved**2 / 2
    return f"{'ε' if method == LAPLACE else 'ρ'} = {strength:.2g}", strength


def grouped(values: Floats, k: int) -> Floats:
    """Return each row replaced by the average of at least k rows like it, by MDAV."""
    columns = {f"c{i}": values[:, i] for i in range(values.shape[1])}
    released = mdav(columns, k, standardise=False).released
    return np.column_stack([released[name].to_numpy() for name in columns])


# --- who is in a group of homes ----------------------------------------------------------------


STRATEGIES = ("correlation", "squared error", "common peaks", "knows all others")


@dataclass(frozen=True)
class HomeRelease:
    """One way to release a mean, and how an adversary who knows all others uses it."""

    method: str
    setting: str
    """Its parameter, in words."""
    error: float
    """Of the released mean: the largest for cells and groups, else with 95 % confidence."""
    promise: str
    """What it promises about one reading of one person."""
    strength: float
    """The same as a number: bits, epsilon, rho or k."""
    change: Callable[[Floats, np.random.Generator], Floats]
    power: int | None
    """An adversary who knows all others compares sums of this power of the distances; with None,
    the adversary tests for equality."""


def by_cells(top: float, levels: int, bits: int) -> HomeRelease:
    """Return the release in equal cells of the mean of readings from 0 to the top."""
    cells = UniformQuantizer(Fraction(0), Fraction(top), levels)
    edges = np.array([float(edge) for edge in cells.edges[1:-1]])
    middles = np.array([float(cells.middle(k)) for k in range(levels)])

    def change(means: Floats, _: np.random.Generator) -> Floats:
        return middles[np.searchsorted(edges, means, side="right")]

    promise = f"at most {2**bits} outputs of one person"
    return HomeRelease(CELLS, f"{levels} cells", top / (2 * levels), promise, bits, change, None)


def by_noise(
    method: str, error: float, sensitivity: float, sample: Sampler = textbook_noise
) -> HomeRelease:
    """Return the textbook Laplace or Gaussian mechanism that is within an error, 95 in 100.

    The scale follows from the error; the promise from the scale and from how far one person can
    move the mean: epsilon is their ratio (Laplace); rho of zero-concentrated differential
    privacy is half of its square (Gaussian).
    """
    scale = noise_scale(method, error)
    promise, strength = _strength(method, sensitivity / scale)
    return HomeRelease(
        method,
        f"{'scale' if method == LAPLACE else 'deviation'} {scale:.3g} kWh",
        error,
        f"{promise} of {'differential privacy' if method == LAPLACE else 'zCDP'}",
        strength,
        lambda means, random: means + sample(method, scale, means.shape, random),
        1 if method == LAPLACE else 2,
    )


def largest_error(off: Floats, people: int) -> float:
    """Return how far the mean of any group can be off, given how far each home is, by time."""
    ordered = np.sort(off, axis=0)
    ends = ordered[:people].mean(axis=0), ordered[-people:].mean(axis=0)
    return float(max(np.abs(end).max() for end in ends))


@dataclass(frozen=True)
class DrawnHomes:
    """Games: two candidates, which of them takes part, and the others."""

    candidates: NDArray[np.int64]
    second: NDArray[np.bool_]
    others: NDArray[np.int64]


def draw_games(homes: int, people: int, games: int, random: np.random.Generator) -> DrawnHomes:
    """Return drawn candidates, coins and the other members of the groups."""
    chosen = random.random((games, homes)).argpartition(people, axis=1)[:, : people + 1]
    random.permuted(chosen, axis=1, out=chosen)
    return DrawnHomes(chosen[:, :2], random.random(games) < 0.5, chosen[:, 2:])


def play(
    readings: Floats,
    release: HomeRelease,
    drawn: DrawnHomes,
    random: np.random.Generator,
    *,
    counted: Floats | None = None,
) -> dict[str, AttackEstimate]:
    """Return the advantage of every strategy in the games."""
    counted = readings if counted is None else counted
    people = drawn.others.shape[1] + 1
    rest = counted[drawn.others].sum(axis=1)
    means = [(rest + counted[drawn.candidates[:, j]]) / people for j in (0, 1)]
    seen = release.change(np.where(drawn.second[:, None], means[1], means[0]), random)
    own = [readings[drawn.candidates[:, j]] for j in (0, 1)]
    nothing = np.random.default_rng(0)
    expected = [release.change(m, nothing) if release.power is None else m for m in means]
    scores = (
        [_correlation(profiles, seen) for profiles in own],
        [-np.square(profiles - seen).sum(axis=1) for profiles in own],
        [(_peaks(profiles) & _peaks(seen)).sum(axis=1) for profiles in own],
        [_likelihood(seen, mean, release.power) for mean in expected],
    )
    advantages = {}
    for name, (first, second) in zip(STRATEGIES, scores, strict=True):
        coin = random.random(seen.shape[0]) < 0.5
        guesses = np.where(np.isclose(first, second, rtol=1e-12, atol=0), coin, second > first)
        advantages[name] = advantage(int((guesses == drawn.second).sum()), guesses.size)
    return advantages


def _correlation(profiles: Floats, seen: Floats) -> Floats:
    a, b = (x - x.mean(axis=1, keepdims=True) for x in (profiles, seen))
    size = np.sqrt(np.square(a).sum(axis=1) * np.square(b).sum(axis=1))
    correlation: Floats = np.where(size > 1e-12, (a * b).sum(axis=1) / np.maximum(size, 1e-12), 0.0)
    return correlation


def _peaks(x: Floats) -> NDArray[np.bool_]:
    peaks: NDArray[np.bool_] = (x[:, 1:-1] > x[:, :-2]) & (x[:, 1:-1] >= x[:, 2:])
    return peaks


def _likelihood(seen: Floats, expected: Floats, power: int | None) -> Floats:
    """Return numbers that order two candidates as their likelihoods do."""
    away = np.abs(seen - expected)
    if power is None:
        return np.asarray(np.all(away < 1e-9, axis=1), np.float64)
    return -np.asarray((away**power).sum(axis=1), np.float64)


def attack_homes(
    readings: Floats,
    budgets: tuple[int, ...],
    games: int,
    random: np.random.Generator,
    *,
    sample: Sampler = textbook_noise,
) -> list[Row]:
    """Return what the membership game finds in the mean of eight homes, released in four ways."""
    top = max(float(FUSE), math.ceil(readings.max()))
    people = min(8, len(readings) - 2)
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
    *three, knowing = (estimates[name] for name in STRATEGIES)
    terms = (
        *(release.method, release.setting, release.error, usual),
        *(release.promise, release.strength),
    )
    best = max(three, key=lambda estimate: estimate.value)
    return [Row(MEMBERSHIP, *terms, best), Row(KNOWING, *terms, knowing)]


# --- which record is a known trip --------------------------------------------------------------


def trip_points(columns: list[Floats]) -> Floats:
    """Return both ends of trips in kilometres, from longitudes and latitudes in turn."""
    north = 111.2  # kilometres a degree, in New York
    east = north * math.cos(math.radians(40.7))
    return np.column_stack([c * (north if i % 2 else east) for i, c in enumerate(columns)])


def in_boxes(points: Floats, low: Floats, high: Floats, side: int) -> Floats:
    """Return the middle of the box of every point, in a grid with this many boxes a side."""
    width = (high - low) / side
    at = np.clip(np.floor((points - low) / width), 0, side - 1)
    middles: Floats = low + (at + 0.5) * width
    return middles


def linked(points: Floats, released: Floats, *, sure: bool) -> AttackEstimate:
    """Return how often somebody who knows a trip picks its record by taking the nearest one.

    Of equal records one is picked at random.

    Args:
        points: the true trips.
        released: the record of each.
        sure: whether the release is deterministic, so that the chance is exact; else it was drawn.
    """
    from scipy.spatial import cKDTree

    records, own, sizes = np.unique(released, axis=0, return_inverse=True, return_counts=True)
    nearest = cKDTree(records).query(points)[1]
    hit = nearest == own.ravel()
    if sure:
        return AttackEstimate.exact(float((hit / sizes[own.ravel()]).mean()))
    return share(int(hit.sum()), hit.size)


def attack_trips(points: Floats, sides: tuple[int, ...], random: np.random.Generator) -> list[Row]:
    """Return how often known trips are linked to their records, released in four ways."""
    low, high = (
        trip_points([np.array([float(pair[j])]) for pair in (LONGITUDE, LATITUDE) * 2])[0]
        for j in (0, 1)
    )
    widest = float((high - low).max())
    rows = []
    for side in sides:
        boxes = in_boxes(points, low, high, side)
        error = widest / (2 * side)
        terms = (
            *(f"{side} × {side} boxes", error, 0.95 * error),
            *(f"{side**2} outputs a point", 2 * math.log2(side)),
        )
        rows.append(Row(LINKAGE, CELLS, *terms, linked(points, boxes, sure=True)))
        for method in (LAPLACE, GAUSSIAN):
            scale = noise_scale(method, error)
            noisy = points + textbook_noise(method, scale, points.shape, random)
            promise, strength = _strength(method, widest / scale)
            of_noise = f"scale {scale:.3g} km", error, error, f"{promise} a coordinate", strength
            rows.append(Row(LINKAGE, method, *of_noise, linked(points, noisy, sure=False)))
    for k in KS:
        averages = grouped(points, k)
        off = np.abs(points - averages)
        errors = float(off.max()), float(np.quantile(off, 0.95))
        promise, success = f"{k} equal records", linked(points, averages, sure=True)
        rows.append(Row(LINKAGE, GROUPS, f"k = {k}", *errors, promise, k, success))
    return rows


# --- both attacks, drawn and judged ------------------------------------------------------------


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


def _compute1(  # noqa: PLR0913 - sizes, all with defaults
    data: str | Path = SYNTHETIC,
    *,
    progress: Progress = unwatched,
    homes: int = 300,
    budgets: tuple[int, ...] = (1, 2, 3, 4, 5),
    games: int = 8000,
    trips: int = 8000,
    sides: tuple[int, ...] = (8, 16, 32, 64, 128),
    seed: int = 0,
) -> Beyond1Numbers:
    loaded = dataset("solar_homes", data=data, homes=homes, days=1)
    random = np.random.default_rng(seed)
    rows = attack_homes(loaded.readings()[:, 0], budgets, games, random)
    progress(0.6)
    taken = dataset("taxi", data=data, trips=trips)
    rows += attack_trips(
        trip_points([taken.numbers(name)[:trips] for name in TRIP_RANGES]), sides, random
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


def _plot1(numbers: Beyond1Numbers) -> Chart:
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
    return estimates_line(
        method, (r.error for r in rows), (r.success for r in rows), tone=METHODS.index(method)
    )


def _usual(rows: list[Row]) -> Series:
    ordered = sorted(rows, key=lambda row: row.usual)
    points = ((row.usual, row.success.value) for row in ordered)
    tone = METHODS.index(GROUPS)
    return series_of("k-anonymity, 95 % error", points, dash="dotted", tone=tone)


def _claims1(numbers: Beyond1Numbers) -> Iterator[Claim]:
    """Return the findings, for and against every method."""
    loosest = numbers.of(MEMBERSHIP, LAPLACE)[-1]
    known = min(row.success.low for row in numbers.of(KNOWING, GROUPS))
    two, boxes = numbers.of(LINKAGE, GROUPS)[0], numbers.of(LINKAGE, CELLS)[-1]
    yield Claim(
        "Equal error is not equal: cells never exceed it, noise has no largest error. "
        f"{100 * numbers.beyond:.1f} % of Laplace noise went beyond, up to "
        f"{numbers.farthest:.1f} times as far.",
        holds=0.04 < numbers.beyond < 0.06 and numbers.farthest > 2,
    )
    yield _coarsest(numbers)
    yield _noise_wins(numbers)
    yield Claim(
        f"The promise of noise is weak at these errors: at {loosest.error:.2g} kWh "
        f"{loosest.promise} for each reading, 48 times as much for the day.",
        holds=numbers.epsilon > 1,
    )
    yield Claim(
        "k-anonymity hides little of who is a member from an adversary who knows all others: "
        f"the advantage is at least {known:.2f} at every k tried.",
        holds=known > 0.4,
    )
    yield Claim(
        f"Groups have a bad worst case: with {two.setting} a trip is up to {two.error:.1f} km "
        f"off and {100 * two.success.value:.0f} % are linked; in boxes it is off by at most "
        f"{boxes.error:.1f} km and {100 * boxes.success.value:.0f} % are linked.",
        holds=two.error > boxes.error and two.success.low > boxes.success.high,
    )
    yield _groups_usual(numbers)


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
    """Return where an adversary gains less from noise than from cells of the same error."""
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


def fig1() -> Figure[Beyond1Numbers]:
    """Return the figure of attacks on the mean of eight homes, and on trips, at equal error.

    Its sizes are ``homes`` (one day of each), ``budgets`` of the cells in bits, ``games`` for each
    method and error, ``trips``, ``sides`` (boxes along each axis), and a ``seed``.
    """
    return Figure(
        name="beyond/1",
        title="Cells against noise and k-anonymity",
        shows=(
            "The same data, released in cells, with textbook Laplace or Gaussian noise, and as "
            "averages of k, at equal error, against the same adversaries: who is in a group of "
            "eight homes, and which record is the known trip. No method wins everywhere; what "
            "cells reveal depends on how near the data are to an edge."
        ),
        compute=_compute1,
        plot=_plot1,
        claims=_claims1,
        data="solar_homes and taxi",
    )


# --- figure 2: leakage over time (future work in paper C) of a vehicle in zones ----------------


TITLES: dict[Literal["initial", "current", "trajectory"], str] = {
    "initial": "where it was first",
    "current": "where it is now",
    "trajectory": "all places up to now",
}
"""The secrets, in words."""


@dataclass(frozen=True)
class Beyond2Numbers:
    """The leakage at each time, by the width of the zones and the secret."""

    places: int
    by_width: dict[int, dict[str, tuple[LeakageAt, ...]]]


def _compute2(
    *,
    progress: Progress = unwatched,
    places: int = 24,
    zones: tuple[int, ...] = (4, 8, 12),
    steps: int = 16,
) -> Beyond2Numbers:
    by_width: dict[int, dict[str, tuple[LeakageAt, ...]]] = {}
    for width in zones:
        # A vehicle on a ring moves by at most one place, and is seen with an error of one.
        system = FiniteSystem.of(
            range(places),
            lambda x, w: (x + w) % places,
            lambda x, v, width=width: (x + v) % places // width,
            disturbances=(-1, 0, 1),
            noises=(0, 1),
        )
        by_width[width] = {s: leakage_over_time(system, steps, secret=s) for s in TITLES}
        progress(len(by_width) / len(zones))
    return Beyond2Numbers(places, by_width)


def _plot2(numbers: Beyond2Numbers) -> Chart:
    panels = []
    for about, title in TITLES.items():
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
            Panel("steps", "leakage L₀ (bits)", series, title, marks=marks, from_zero=True)
        )
    return Chart(
        f"Leakage over time: a vehicle on a ring of {numbers.places} places, seen in zones",
        tuple(panels),
        across=3,
    )


def _claims2(numbers: Beyond2Numbers) -> Iterator[Claim]:
    by_width = list(numbers.by_width.values())
    widest = numbers.by_width[max(numbers.by_width)]
    narrowest = numbers.by_width[min(numbers.by_width)]
    yield Claim(
        "What is known about the first place never decreases.",
        holds=all(
            a.leakage <= b.leakage
            for by_secret in by_width
            for a, b in pairwise(by_secret["initial"])
        ),
    )
    yield Claim(
        "At the first look and after the last, wider zones tell no more about any secret.",
        holds=all(
            coarse[about][k].leakage <= fine[about][k].leakage
            for fine, coarse in pairwise(by_width)
            for about in TITLES
            for k in (0, -1)
        ),
    )
    yield Claim(
        "One look at narrow zones never tells the place; a sequence of looks can tell it entirely.",
        holds=narrowest["initial"][0].fewest > 1 and narrowest["initial"][-1].fewest == 1,
    )
    yield Claim(
        "With the widest zones at least four first places remain possible at all times.",
        holds=all(at.fewest >= 4 for at in widest["initial"]),
    )
    yield Claim(
        "What is known about all places together grows with every step.",
        holds=all(
            a.leakage < b.leakage
            for by_secret in by_width
            for a, b in pairwise(by_secret["trajectory"])
        ),
    )


def fig2() -> Figure[Beyond2Numbers]:
    """Return the figure of what zones seen so far tell, exactly, for zones of several widths."""
    return Figure(
        name="beyond/2",
        title="Leakage over time",
        shows=(
            "A vehicle moves by at most one place a step and is released as a zone, with an error "
            "of one place. All sets of trajectories are followed exactly. Crossing from one zone "
            "to the next tells far more than any single look: repeated releases need a budget."
        ),
        compute=_compute2,
        plot=_plot2,
        claims=_claims2,
    )
