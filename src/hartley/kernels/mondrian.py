"""Cut a table into boxes of at least k records, always through the middle (strict Mondrian)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


def mondrian_boxes(
    codes: NDArray[np.int64], counts: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Return the number of the box of every point.

    A box is cut along the key in which it is widest, as a share of the whole range, between the
    two neighbouring codes nearest to the weighted median that leave at least k records on either
    side; where no cut does, along the next key; where none does, the box is done (LeFevre,
    DeWitt, Ramakrishnan 2006). Costs n log n for each level of cuts, of which there are about
    log2(n/k).

    Args:
        codes: one row a distinct point, one column a key, codes in the order of the values.
        counts: how many records are at each point.
        k: how many records a box needs.

    Example:
        >>> points = np.array([[0], [1], [2], [3]])
        >>> mondrian_boxes(points, np.ones(4, np.int64), 2)
        array([0, 0, 1, 1])
    """
    spans = np.maximum(codes.max(axis=0) - codes.min(axis=0), 1).astype(np.float64)
    return _cut_boxes(np.ascontiguousarray(codes), counts, k, spans)


@compiled
def _cut_boxes(
    codes: NDArray[np.int64], counts: NDArray[np.int64], k: int, spans: NDArray[np.float64]
) -> NDArray[np.int64]:
    points = np.arange(counts.size)
    boxes = np.zeros(counts.size, np.int64)
    stack = [(0, counts.size)]
    finished = 0
    while len(stack) > 0:
        start, end = stack.pop()
        middle = _cut(codes, counts, k, spans, points[start:end])
        if middle > 0:
            stack.append((start + middle, end))
            stack.append((start, start + middle))
        else:
            boxes[points[start:end]] = finished
            finished += 1
    return boxes


@compiled
def _cut(
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
    k: int,
    spans: NDArray[np.float64],
    points: NDArray[np.int64],
) -> int:
    """Sort the points of a box along the key to cut and return where; 0 if it cannot be cut."""
    total = counts[points].sum()
    if total < 2 * k:
        return 0
    widths = np.empty(spans.size, np.float64)
    for key in range(spans.size):
        here = codes[points, key]
        widths[key] = (here.max() - here.min()) / spans[key]
    for key in np.argsort(-widths, kind="mergesort"):
        if widths[key] <= 0:
            break
        order = np.argsort(codes[points, key], kind="mergesort")
        best, nearest, below = 0, total + 1, 0
        for i in range(1, order.size):
            below += counts[points[order[i - 1]]]
            if codes[points[order[i - 1]], key] == codes[points[order[i]], key]:
                continue
            # Twice the distance from the median, in whole numbers: ties are ties, and the first
            # wins.
            if below >= k and total - below >= k and abs(2 * below - total) < nearest:
                best, nearest = i, abs(2 * below - total)
        if best > 0:
            points[:] = points[order]
            return best
    return 0
