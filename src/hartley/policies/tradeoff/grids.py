"""Start on few of many ordered key values: coarse to fine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hartley.policies.tradeoff.problem import Problem, normalised
from hartley.policies.tradeoff.second_order import Start, solve_second

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

COARSE_GAP = 1e-6


def start_coarse(
    problem: Problem, points: Floats, *, size: int, tolerance: float = COARSE_GAP
) -> Start:
    """Solve for some of the key values and carry the answer over to all of them.

    The rule is interpolated between the key values that were kept, and a released value in between
    has a share of its neighbours' probability. Its scores are the mean of its neighbours', which
    is a point of the dual problem for any weights. The confidential values all stay:
    interpolating their scores would lose most of the bound.

    Args:
        problem: in NumPy arrays; its key values and its released values are the same.
        points: the key values as increasing numbers.
        size: how many to keep.
        tolerance: the gap of the small problem.
    """
    kept = spread(points.size, size)
    key = problem.key[kept] * stood_for(kept)
    small = replace(
        problem,
        given=problem.given[kept],
        key=key / key.sum(),
        secret=problem.given[kept].T @ key / key.sum(),
        distortion=problem.distortion[np.ix_(kept, kept)],
    )
    found = solve_second(small, tolerance=tolerance)
    at = points[kept]
    rule = between(at, between(at, found.rule, points).T, points).T
    return Start(normalised(rule), between(at, found.scores.T, points).T)


def spread(total: int, size: int) -> Places:
    """Return so many places of a total, evenly spread, both ends among them.

    Example:
        >>> spread(9, 3).tolist()
        [0, 4, 8]
    """
    return np.unique(np.linspace(0, total - 1, size).round().astype(np.int64))


def stood_for(kept: Places) -> Floats:
    """Return how many places each one that was kept stands for: half of the way to either side.

    An end has one side only. Weighed alike, the ends would count double, and the answer for few
    places would be off by as much as all the rest together.

    Example:
        >>> stood_for(np.array([0, 4, 8])).tolist()
        [2.5, 4.0, 2.5]
    """
    steps = np.diff(kept).astype(np.float64)
    return np.asarray((np.append(1.0, steps) + np.append(steps, 1.0)) / 2)


def between(at: Floats, rows: Floats, points: Floats) -> Floats:
    """Interpolate the rows of a matrix linearly.

    Example:
        >>> between(np.array([0.0, 2.0]), np.array([[1.0], [5.0]]), np.array([0.5])).tolist()
        [[2.0]]
    """
    after = np.clip(np.searchsorted(at, points), 1, at.size - 1)
    share = ((points - at[after - 1]) / (at[after] - at[after - 1]))[:, None]
    return rows[after - 1] * (1 - share) + rows[after] * share
