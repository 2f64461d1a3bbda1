"""Walk the cells of classes once, class by class, for what their measures need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_INSERTED = 32
"""Up to so many largest counts are kept in order by insertion, without sorting the others."""


@compiled
def extreme_cells(
    starts: NDArray[np.int64],
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
    totals: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cells with the largest and the least count over total of every class, exactly.

    Example:
        >>> one = np.array([0, 2]), np.array([0, 1]), np.array([1, 3]), np.array([1, 9])
        >>> extreme_cells(*one)
        (array([0]), array([1]))
    """
    high = starts[:-1].copy()
    low = starts[:-1].copy()
    for i in range(high.size):
        for cell in range(starts[i] + 1, starts[i + 1]):
            count, total = counts[cell], totals[codes[cell]]
            if count * totals[codes[high[i]]] > counts[high[i]] * total:
                high[i] = cell
            if count * totals[codes[low[i]]] < counts[low[i]] * total:
                low[i] = cell
    return high, low


@compiled
def equal_moves(
    starts: NDArray[np.int64],
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    totals: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return of every class 2 n_i n times the share that has to move to be like the table.

    Example:
        >>> alone = np.array([0, 1]), np.array([0]), np.array([1]), np.array([1]), np.array([1, 1])
        >>> equal_moves(*alone)
        array([2])
    """
    rows = totals.sum()
    moves = np.empty(sizes.size, np.int64)
    for i in range(sizes.size):
        absent, moved = rows, np.int64(0)
        for cell in range(starts[i], starts[i + 1]):
            total = totals[codes[cell]]
            absent -= total
            moved += abs(counts[cell] * rows - total * sizes[i])
        moves[i] = moved + absent * sizes[i]
    return moves


@compiled
def ordered_moves(
    starts: NDArray[np.int64],
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    totals: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return of every class n_i n times the sum of the distances of cumulative shares.

    Between two values of a class only the table's sums move: where they overtake what the class
    has reached is found by bisection, and what lies on either side was summed beforehand.

    Example:
        >>> alone = np.array([0, 1]), np.array([2]), np.array([1]), np.array([1]), np.ones(3, int)
        >>> ordered_moves(*alone)
        array([3])
    """
    rows = totals.sum()
    reached = np.cumsum(totals)
    before = np.zeros(totals.size + 1, np.int64)
    before[1:] = np.cumsum(reached)
    moves = np.empty(sizes.size, np.int64)
    for i in range(sizes.size):
        n, have = sizes[i], np.int64(0)
        moved = n * before[codes[starts[i]]]
        for cell in range(starts[i], starts[i + 1]):
            have += counts[cell]
            start = codes[cell]
            end = codes[cell + 1] if cell + 1 < starts[i + 1] else totals.size
            if end == start + 1:
                moved += abs(have * rows - n * reached[start])
                continue
            turn, above = start, end
            while turn < above:
                middle = (turn + above) // 2
                if reached[middle] * n < have * rows:
                    turn = middle + 1
                else:
                    above = middle
            moved += (2 * turn - start - end) * have * rows
            moved += n * (before[start] + before[end] - 2 * before[turn])
        moves[i] = moved
    return moves


@compiled
def divergences(
    starts: NDArray[np.int64],
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    totals: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return of every class its entropy, and its divergence from the table, in bits.

    Example:
        >>> half = np.array([0, 1]), np.array([0]), np.array([1]), np.array([1]), np.array([1, 1])
        >>> divergences(*half)
        (array([0.]), array([1.]))
    """
    rows = totals.sum()
    bits = np.zeros(sizes.size, np.float64)
    apart = np.zeros(sizes.size, np.float64)
    for i in range(sizes.size):
        for cell in range(starts[i], starts[i + 1]):
            share = counts[cell] / sizes[i]
            bits[i] -= share * np.log2(share)
            apart[i] += share * np.log2(share * (rows / totals[codes[cell]]))
    return bits, apart


@compiled
def count_tails(
    starts: NDArray[np.int64], counts: NDArray[np.int64], length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return of every class its largest count, and the sum of all from the given rank on.

    Example:
        >>> count_tails(np.array([0, 3]), np.array([1, 5, 2]), 2)
        (array([5]), array([3]))
    """
    peaks = np.empty(starts.size - 1, np.int64)
    tails = np.empty(starts.size - 1, np.int64)
    top = np.empty(length - 1, np.int64)
    for i in range(peaks.size):
        here = counts[starts[i] : starts[i + 1]]
        if length > MOST_INSERTED:
            ranked = np.sort(here)
            peaks[i] = ranked[-1]
            tails[i] = ranked[: max(here.size - length + 1, 0)].sum()
            continue
        top[:] = 0
        for count in here:
            place = length - 1
            while place > 0 and top[place - 1] < count:
                place -= 1
            if place < length - 1:
                for other in range(length - 2, place, -1):
                    top[other] = top[other - 1]
                top[place] = count
        peaks[i] = top[0]
        tails[i] = here.sum() - top.sum()
    return peaks, tails


@compiled
def occupied_cells(
    cube: NDArray[np.uint32], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return starts, codes and counts of what is not zero in a cube, and which codes occur.

    Example:
        >>> occupied_cells(np.array([0, 1, 0, 0, 0, 2], np.uint32), 2)
        (array([0, 1, 2]), array([0, 0]), array([1, 2]), array([1]))
    """
    used = np.full(width, -1, np.int64)
    cells, classes = 0, 0
    for start in range(0, cube.size, width):
        before = cells
        for code in range(width):
            if cube[start + code] > 0:
                cells += 1
                used[code] = 0
        classes += cells > before
    observed = np.flatnonzero(used == 0)
    used[observed] = np.arange(observed.size)
    starts = np.zeros(classes + 1, np.int64)
    codes = np.empty(cells, np.int64)
    counts = np.empty(cells, np.int64)
    cells, classes = 0, 0
    for start in range(0, cube.size, width):
        before = cells
        for code in range(width):
            if cube[start + code] > 0:
                codes[cells] = used[code]
                counts[cells] = cube[start + code]
                cells += 1
        if cells > before:
            classes += 1
            starts[classes] = cells
    return starts, codes, counts, observed
