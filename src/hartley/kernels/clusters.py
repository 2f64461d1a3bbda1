"""Clusters of numbers on a line: the optimal ones, by dynamic programming."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


def line_clusters(
    values: NDArray[np.float64], weights: NDArray[np.float64], most: int
) -> NDArray[np.float64]:
    r"""Return the centres of the clusters of weighted numbers with the least squared error.

    .. math:: \min \sum_i w_i (x_i - c_{k(i)})^2

    Every optimal cluster is a run of the sorted numbers, so the first i of them in k clusters
    follow from fewer in k - 1 (Wang and Song 2011); where the last one begins never moves back
    as i grows, which leaves k n log n steps. Exact up to the rounding of sums.

    Args:
        values: distinct numbers in ascending order.
        weights: how often each occurs.
        most: how many clusters at most; fewer where there are fewer numbers.

    Example:
        >>> line_clusters(np.array([1.0, 2.0, 9.0, 11.0]), np.array([3.0, 1.0, 1.0, 1.0]), 2)
        array([ 1.25, 10.  ])
    """
    centre = np.average(values, weights=weights)
    moved = values - centre  # sums of squares cancel less around their mean
    sums = [np.concatenate(([0.0], np.cumsum(weights * moved**power))) for power in range(3)]
    begins = _best_runs(sums[0], sums[1], sums[2], min(most, values.size))
    mass, first = np.diff(sums[0][begins]), np.diff(sums[1][begins])
    return np.asarray(centre + first / mass)


@compiled
def _error(
    mass: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    begin: int,
    end: int,
) -> float:
    """Return the squared error of one run."""
    # Differences of sums may cancel to less than zero, which a sum of squares never is.
    weight = mass[end] - mass[begin]
    total = first[end] - first[begin]
    return max(second[end] - second[begin] - total * total / weight, 0.0)  # type: ignore[no-any-return]  # a double


@compiled
def _best_runs(
    mass: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    clusters: int,
) -> NDArray[np.int64]:
    """Return where the runs of an optimal clustering begin, and the end of the last."""
    size = mass.size - 1
    cost = np.full((clusters + 1, size + 1), np.inf)
    before = np.zeros((clusters + 1, size + 1), np.int64)
    cost[0, 0] = 0.0
    # A stack of ranges of ends, each with the range of begins that its middle can have.
    stack = np.empty((2 * size + 4, 4), np.int64)
    for k in range(1, clusters + 1):
        held = 1
        stack[0] = (k, size, k - 1, size - 1)
        while held:
            held -= 1
            low, high, left, right = stack[held]
            if low > high:
                continue
            end = (low + high) // 2
            best, at = np.inf, left
            for begin in range(left, min(right, end - 1) + 1):
                trial = cost[k - 1, begin] + _error(mass, first, second, begin, end)
                if trial < best:
                    best, at = trial, begin
            cost[k, end], before[k, end] = best, at
            stack[held] = (low, end - 1, left, at)
            stack[held + 1] = (end + 1, high, at, right)
            held += 2
    begins = np.empty(clusters + 1, np.int64)
    begins[clusters] = size
    for k in range(clusters, 0, -1):
        begins[k - 1] = before[k, begins[k]]
    return begins
