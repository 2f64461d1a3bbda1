"""Microaggregation of one Gaussian key: the risk and the distortion of averages of groups."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from hartley.papers.e.pair import RHO, bounds, least_risk
from hartley.papers.figure import Claim
from hartley.report import Chart, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hartley.papers.figure import Progress
    from hartley.policies.microaggregation import Microaggregation

SHARES = (2, 3, 4, 6, 8, 16, 32)
"""n/k: about how many groups the people are divided into."""
WIDTH = 0.15
"""The width of the bins with which the paper estimates the risk."""


@dataclass(frozen=True)
class Aggregated:
    """One size of groups."""

    groups: int
    k: int
    distortion: float
    """Of the drawn people, as the paper computes it."""
    estimated: float
    """The risk as the paper estimates it: of bins, from the drawn people."""
    true_distortion: float
    risk: float
    """The same two of the cells between the groups, for the Gaussian pair; exact to quadrature."""
    contiguous: bool
    """Whether no group lies within another."""


@dataclass(frozen=True)
class EGroupsNumbers:
    """All sizes of groups by one method."""

    method: str
    people: int
    sizes: tuple[Aggregated, ...]


def aggregate(  # noqa: PLR0913 - a method, and sizes
    method: Callable[..., Microaggregation],
    name: str,
    *,
    people: int,
    shares: tuple[int, ...],
    seed: int,
    progress: Progress | None = None,
) -> EGroupsNumbers:
    """Draw people, group them by their key alone, and measure every size of groups."""
    random = np.random.default_rng(seed)
    secret = random.standard_normal(people)
    key = RHO * secret + np.sqrt(1 - RHO**2) * random.standard_normal(people)
    measured = []
    for done, share in enumerate(shares, 1):
        groups = method({"key": key}, people // share, standardise=False)
        averages = groups.released["key"].to_numpy()
        edges, contiguous = _edges(key, groups.groups)
        true_distortion, risk = _of_cells(edges)
        measured.append(
            Aggregated(
                groups=int(groups.sizes.size),
                k=people // share,
                distortion=float(np.square(key - averages).mean()),
                estimated=_of_bins(secret, averages),
                true_distortion=true_distortion,
                risk=risk,
                contiguous=contiguous,
            )
        )
        if progress is not None:
            progress(done / len(shares))
    return EGroupsNumbers(name, people, tuple(measured))


def _edges(key: NDArray[np.float64], groups: NDArray[np.int32]) -> tuple[NDArray[np.float64], bool]:
    """Return where one group ends and the next begins."""
    order = np.argsort(key, kind="stable")
    placed = groups[order]
    ends = np.flatnonzero(placed[1:] != placed[:-1])
    edges = (key[order][ends] + key[order][ends + 1]) / 2
    return edges, bool(ends.size + 1 == np.unique(groups).size)


def _of_cells(edges: NDArray[np.float64]) -> tuple[float, float]:
    """Return the distortion and the risk of cells, for the Gaussian pair."""
    from scipy.stats import norm

    ends = np.concatenate(([-np.inf], edges, [np.inf]))
    share = np.diff(norm.cdf(ends))
    centres = -np.diff(norm.pdf(ends)) / share
    w, step = np.linspace(-8, 8, 3201, retstep=True)
    given = np.diff(norm.cdf((ends[None, :] - RHO * w[:, None]) / np.sqrt(1 - RHO**2)), axis=1)
    information = np.where(given > 0, given * np.log(np.maximum(given, 1e-300) / share), 0.0).sum(
        axis=1
    )
    return float(1 - share @ centres**2), float((norm.pdf(w) * information).sum() * step)


def _of_bins(secret: NDArray[np.float64], released: NDArray[np.float64]) -> float:
    """Return the mutual information of bins, as counted."""
    codes = [np.unique(np.floor(v / WIDTH), return_inverse=True)[1] for v in (secret, released)]
    counts = np.zeros((codes[0].max() + 1, codes[1].max() + 1))
    np.add.at(counts, tuple(codes), 1)
    joint = counts / counts.sum()
    outer = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / outer[there])).sum())


def draw(numbers: EGroupsNumbers, title: str) -> Chart:
    """Draw the groups between the bounds, and how far above the lower bound they lie."""
    places = [k / 100 for k in range(101)]
    sizes = numbers.sizes
    as_printed = Series(
        "as the paper estimates it",
        tuple(size.distortion for size in sizes),
        tuple(size.estimated for size in sizes),
        "points",
        tone=2,
    )
    exact = Series(
        f"{numbers.method}, of the cells it makes",
        tuple(size.true_distortion for size in sizes),
        tuple(size.risk for size in sizes),
        tone=1,
    )
    names = tuple(f"n/{numbers.people // size.k}" for size in sizes)
    above = (
        ("of the cells", tuple(size.risk - least_risk(size.true_distortion) for size in sizes), 1),
        (
            "as the paper estimates it",
            tuple(size.estimated - least_risk(size.distortion) for size in sizes),
            2,
        ),
    )
    return Chart(
        title,
        (
            Panel(
                "distortion D",
                "risk R = I(W;X̂) (nats)",
                (*bounds(places), exact, as_printed),
                title=f"{numbers.people:,} people, ρ = {RHO}",
                from_zero=True,
            ),
            Panel(
                "least size k of a group",
                "nats above the lower bound",
                tuple(Series(name, names, values, "bars", tone=t) for name, values, t in above),
                title="How far from the best possible",
            ),
        ),
        note="People drawn from the Gaussian pair, as in the paper.",
    )


def shown(numbers: EGroupsNumbers) -> tuple[Claim, ...]:
    """Return what either figure is expected to show."""
    sizes = numbers.sizes
    above = [size.risk - least_risk(size.true_distortion) for size in sizes]
    bias = [size.estimated - size.risk for size in sizes]
    return (
        Claim(
            f"{numbers.method} is near the best possible though it looks at the key alone: at most "
            f"{max(above):.3f} nats above the bound, over all sizes of groups.",
            holds=max(above) < 0.1 and all(size.contiguous for size in sizes),
        ),
        Claim(
            "It never reaches the bound, which a deterministic rule cannot.",
            holds=min(above) > 0,
        ),
        Claim(
            "Fewer groups distort more and tell less.",
            holds=all(
                a.true_distortion > b.true_distortion and a.risk < b.risk
                for a, b in combinations(sizes, 2)
                if a.groups < b.groups
            ),
        ),
        Claim(
            f"The paper’s estimate, from counts in bins, is off by {min(bias):+.3f} to "
            f"{max(bias):+.3f} nats.",
            holds=max(map(abs, bias)) < 0.25,
        ),
    )
