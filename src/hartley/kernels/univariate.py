"""The optimal microaggregation of one column: a shortest path over its sorted values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


def univariate_groups(values: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    r"""Return the group of every value of a partition with the least sum of squared errors.

    .. math:: c_i = \min_{k \le l < 2k} c_{i-l} + \sum_{j=i-l+1}^{i} (x_j - \bar x)^2

    over the sorted values: some optimal group is a run of them, of k to 2k - 1 (Hansen and
    Mukherjee 2003). Exact up to the rounding of the sums, which are updated value by value
    without cancellation. One sort, then n k.

    Args:
        values: at least k numbers.
        k: the least size of a group.

    Example:
        >>> univariate_groups(np.array([9.0, 0.0, 1.0, 7.0, 8.0]), 2)
        array([1, 0, 0, 1, 1], dtype=int32)
    """
    order = np.argsort(values, kind="stable")
    labels = np.empty(values.size, np.int32)
    labels[order] = sorted_groups(values[order], k)
    return labels


@compiled
def sorted_groups(values: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Return the groups of sorted values."""
    size = values.size
    cost, before = np.full(size + 1, np.inf), np.zeros(size + 1, np.int64)
    cost[0] = 0.0
    # Multiplying by these spares a division in the innermost loop.
    shares = 1.0 / np.arange(1, 2 * k + 1)
    for end in range(k, size + 1):
        mean = error = 0.0
        for length in range(1, min(end, 2 * k - 1) + 1):
            # The mean and the squared errors of a run that grows downwards (Welford 1962).
            value = values[end - length]
            difference = value - mean
            mean += difference * shares[length - 1]
            error += difference * (value - mean)
            if length >= k and cost[end - length] + error < cost[end]:
                cost[end] = cost[end - length] + error
                before[end] = end - length
    groups, end = 0, size
    while end > 0:
        groups, end = groups + 1, before[end]
    labels, end = np.empty(size, np.int32), size
    while end > 0:
        groups -= 1
        labels[before[end] : end] = groups
        end = before[end]
    return labels
