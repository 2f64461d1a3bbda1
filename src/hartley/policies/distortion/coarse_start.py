"""A start for a large problem: solve it for some key values and interpolate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hartley.policies.distortion.problem import normalised
from hartley.policies.distortion.second_order import Start, solve_second

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.policies.distortion.problem import Problem

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

COARSE_GAP = 1e-6


def start_coarse(
    problem: Problem, points: Floats, *, size: int, tolerance: float = COARSE_GAP
) -> Start:
    """Solve for some of the key values and interpolate the answer to all of them.

    The rule is interpolated between the selected key values, and a released value in between takes
    a share of its neighbours' probability. Its scores are the mean of its neighbours' scores, which
    is a point of the dual problem for any weights. All confidential values are used: interpolating
    their scores would lose most of the bound.

    Args:
        problem: in NumPy arrays; its key values and its released values are the same.
        points: the key values as increasing numbers.
        size: how many key values to select.
        tolerance: the gap of the small problem.
    """
    places = spread(points.size, size)
    key = problem.key[places] * stood_for(places)
    small = replace(
        problem,
        given=problem.given[places],
        key=key / key.sum(),
        secret=problem.given[places].T @ key / key.sum(),
        distortion=problem.distortion[np.ix_(places, places)],
    )
    coarse = solve_second(small, tolerance=tolerance)
    at = points[places]
    rule = between(at, between(at, coarse.rule, points).T, points).T
    return Start(normalised(rule), between(at, coarse.scores.T, points).T)


def spread(total: int, size: int) -> Places:
    """Return so many places of a total, evenly spread, both ends among them.

    Example:
        >>> spread(9, 3).tolist()
        [0, 4, 8]
    """
    return np.unique(np.linspace(0, total - 1, size).round().astype(np.int64))


def stood_for(places: Places) -> Floats:
    """Return how many places each selected one stands for: half of the way to either side.

    An end has one side only. With equal weights the ends would count double, and for few places
    that error would exceed all others together.

    Example:
        >>> stood_for(np.array([0, 4, 8])).tolist()
        [2.5, 4.0, 2.5]
    """
    steps = np.diff(places).astype(np.float64)
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
