"""The membership game on a mean that is released in cells, with noise or from group averages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.attacks.finding import advantage
from hartley.policies.microaggregation import mdav
from hartley.policies.quantizer import UniformQuantizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hartley.attacks.finding import AttackEstimate

    Floats = NDArray[np.float64]
    Sampler = Callable[[str, float, tuple[int, ...], np.random.Generator], Floats]
    """From a method, its scale, a shape and a generator to noise."""

CELLS, LAPLACE, GAUSSIAN, GROUPS = "cells", "Laplace noise", "Gaussian noise", "k-anonymity"
CONFIDENCE = 0.95
"""Noise has no largest error: it is within the stated error with this probability."""
Z = 1.959963984540054
"""A normal number is within so many deviations with that probability."""
TAIL = math.log(1 / (1 - CONFIDENCE))
"""A Laplace number is within so many scales with that probability."""
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


def textbook_noise(
    method: str, scale: float, shape: tuple[int, ...], random: np.random.Generator
) -> Floats:
    """Draw Laplace noise of a scale, or Gaussian noise of a deviation."""
    drawn: Floats = (random.laplace if method == LAPLACE else random.normal)(0, scale, shape)
    return drawn


def by_noise(
    method: str, error: float, sensitivity: float, sample: Sampler = textbook_noise
) -> HomeRelease:
    """Return the textbook Laplace or Gaussian mechanism that is within an error, 95 in 100.

    The scale follows from the error; the promise from the scale and from how far one person can
    move the mean: epsilon is their ratio (Laplace); rho of zero-concentrated differential
    privacy is half of its square (Gaussian).

    Example:
        >>> by_noise(LAPLACE, 3.0, 0.5).promise
        'ε = 0.5 of differential privacy'
    """
    scale = noise_scale(method, error)
    moved = sensitivity / scale
    strength = moved if method == LAPLACE else moved**2 / 2
    named = ("ε", "differential privacy") if method == LAPLACE else ("ρ", "zCDP")
    return HomeRelease(
        method,
        f"{'scale' if method == LAPLACE else 'deviation'} {scale:.3g} kWh",
        error,
        f"{named[0]} = {strength:.2g} of {named[1]}",
        strength,
        lambda means, random: means + sample(method, scale, means.shape, random),
        1 if method == LAPLACE else 2,
    )


def noise_scale(method: str, error: float) -> float:
    """Return the scale or deviation of noise that is within an error, 95 in 100.

    Example:
        >>> round(noise_scale(LAPLACE, 3.0), 4), round(noise_scale(GAUSSIAN, 1.96), 4)
        (1.0014, 1.0)
    """
    return error / (TAIL if method == LAPLACE else Z)


def grouped(readings: Floats, k: int) -> Floats:
    """Return the readings with those of every home replaced by the averages of k homes like it."""
    columns = {f"t{t}": readings[:, t] for t in range(readings.shape[1])}
    released = mdav(columns, k, standardise=False).released
    return np.column_stack([released[name].to_numpy() for name in columns])


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
    """Draw candidates, coins and the other members of the groups."""
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
    """Play the games and return the advantage of every strategy.

    Args:
        readings: homes x times, which the adversary knows of both candidates.
        release: how the mean is released.
        drawn: who plays.
        random: for noise, and for coins where a strategy finds both candidates equal.
        counted: what is averaged instead of the readings, where they are changed first.
    """
    counted = readings if counted is None else counted
    people = drawn.others.shape[1] + 1
    rest = counted[drawn.others].sum(axis=1)
    means = [(rest + counted[drawn.candidates[:, j]]) / people for j in (0, 1)]
    seen = release.change(np.where(drawn.second[:, None], means[1], means[0]), random)
    own = [readings[drawn.candidates[:, j]] for j in (0, 1)]
    nothing = np.random.default_rng(0)
    expected = [release.change(m, nothing) if release.power is None else m for m in means]
    scores = {
        "correlation": [_correlation(profiles, seen) for profiles in own],
        "squared error": [-np.square(profiles - seen).sum(axis=1) for profiles in own],
        "common peaks": [(_peaks(profiles) & _peaks(seen)).sum(axis=1) for profiles in own],
        "knows all others": [_likelihood(seen, mean, release.power) for mean in expected],
    }
    advantages = {}
    for name, (first, second) in scores.items():
        coin = random.random(seen.shape[0]) < 0.5
        said = np.where(np.isclose(first, second, rtol=1e-12, atol=0), coin, second > first)
        advantages[name] = advantage(int((said == drawn.second).sum()), said.size)
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
