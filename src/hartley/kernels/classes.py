"""Walk the cells of classes once, class by class, for what their measures need."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hartley.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


MOST_INSERTED = 32
"""Up to so many counts are kept in order by insertion, without sorting the others."""


class Cells(NamedTuple):
    """The cells of all classes, those of class i from ``starts[i]`` to ``starts[i + 1]``."""

    starts: NDArray[np.int64]
    codes: NDArray[np.int64]
    """The confidential value of every cell, rising within a class."""
    counts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    """How many records every class has."""
    totals: NDArray[np.int64]
    """How many records have each value."""


@compiled
def extreme_cells(cells: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cells with the largest and the least count over total of every class, exactly.

    Example:
        >>> one = np.array([0, 2]), np.array([0, 1]), np.array([1, 3]), np.array([4])
        >>> extreme_cells(Cells(*one, np.array([1, 9])))
        (array([0]), array([1]))
    """
    high = cells.starts[:-1].copy()
    low = cells.starts[:-1].copy()
    for i in range(high.size):
        first = cells.starts[i]
        most = least = (cells.counts[first], cells.totals[cells.codes[first]])
        for cell in range(first + 1, cells.starts[i + 1]):
            count, total = cells.counts[cell], cells.totals[cells.codes[cell]]
            if count * most[1] > most[0] * total:
                high[i], most = cell, (count, total)
            if count * least[1] < least[0] * total:
                low[i], least = cell, (count, total)
    return high, low


@compiled
def equal_moves(cells: Cells) -> NDArray[np.int64]:
    """Return of every class 2 n_i n times the share that has to move to be like the table.

    Example:
        >>> alone = np.array([0, 1]), np.array([0]), np.array([1]), np.array([1])
        >>> equal_moves(Cells(*alone, np.array([1, 1])))
        array([2])
    """
    rows = cells.totals.sum()
    moves = np.empty(cells.sizes.size, np.int64)
    for i in range(moves.size):
        absent, moved = rows, np.int64(0)
        for cell in range(cells.starts[i], cells.starts[i + 1]):
            total = cells.totals[cells.codes[cell]]
            absent -= total
            moved += abs(cells.counts[cell] * rows - total * cells.sizes[i])
        moves[i] = moved + absent * cells.sizes[i]
    return moves


@compiled
def ordered_moves(cells: Cells) -> NDArray[np.int64]:
    """Return of every class n_i n times the sum of the distances of cumulative shares.

    Between two values of a class only the table's sums move: where they overtake what the class
    has reached is found by bisection, and what lies on either side was summed beforehand.

    Example:
        >>> alone = np.array([0, 1]), np.array([2]), np.array([1]), np.array([1])
        >>> ordered_moves(Cells(*alone, np.ones(3, int)))
        array([3])
    """
    starts, codes, counts, sizes, totals = cells
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
def divergences(cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return of every class its entropy, and its divergence from the table, in bits.

    Example:
        >>> half = np.array([0, 1]), np.array([0]), np.array([1]), np.array([1])
        >>> divergences(Cells(*half, np.array([1, 1])))
        (array([0.]), array([1.]))
    """
    rarity = cells.totals.sum() / np.maximum(cells.totals, 1)
    bits = np.zeros(cells.sizes.size, np.float64)
    apart = np.zeros(cells.sizes.size, np.float64)
    for i in range(bits.size):
        for cell in range(cells.starts[i], cells.starts[i + 1]):
            share = cells.counts[cell] / cells.sizes[i]
            bits[i] -= share * np.log2(share)
            apart[i] += share * np.log2(share * rarity[cells.codes[cell]])
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
    held = np.empty(MOST_INSERTED, np.int64)
    for i in range(peaks.size):
        first, end = starts[i], starts[i + 1]
        total = peak = counts[first]
        for cell in range(first + 1, end):
            total += counts[cell]
            peak = max(peak, counts[cell])
        peaks[i] = peak
        above, below = length - 1, max(end - first - length + 1, 0)
        if min(above, below) > MOST_INSERTED:
            tails[i] = np.sort(counts[first:end])[:below].sum()
        elif below <= above:
            tails[i] = -_largest_sum(counts, first, end, -1, held[:below])
        else:
            tails[i] = total - _largest_sum(counts, first, end, 1, held[:above])
    return peaks, tails


@compiled
def _largest_sum(
    counts: NDArray[np.int64], first: int, end: int, sign: int, held: NDArray[np.int64]
) -> int:
    """Return the sum of as many of the largest counts as are held, signed, in falling order."""
    total = np.int64(0)
    for cell in range(first, end):
        count = sign * counts[cell]
        total += count
        place = min(cell - first, held.size)
        if place == held.size:
            if place == 0 or count <= held[place - 1]:
                total -= count
                continue
            place -= 1
            total -= held[place]
        while place > 0 and held[place - 1] < count:
            held[place] = held[place - 1]
            place -= 1
        held[place] = count
    return int(total)


@compiled
def code_totals(
    codes: NDArray[np.int64], counts: NDArray[np.int64], width: int
) -> NDArray[np.int64]:
    """Return how many records have each value.

    Example:
        >>> code_totals(np.array([0, 2, 0]), np.array([1, 5, 2]), 3)
        array([3, 0, 5])
    """
    totals = np.zeros(width, np.int64)
    for cell in range(codes.size):
        totals[codes[cell]] += counts[cell]
    return totals


def occupied_cells(
    cube: NDArray[np.uint32], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return starts, codes and counts of what is not zero in a cube, and which codes occur.

    Example:
        >>> occupied_cells(np.array([0, 1, 0, 0, 0, 2], np.uint32), 2)
        (array([0, 1, 2]), array([0, 0]), array([1, 2]), array([1]))
    """
    table = cube.reshape(-1, width)
    occurs = table.any(axis=0)
    starts = np.zeros(np.count_nonzero(table.any(axis=1)) + 1, np.int64)
    codes, counts = np.empty((2, np.count_nonzero(cube)), np.int64)
    _list_cells(table, np.cumsum(occurs) - 1, starts, codes, counts)
    return starts, codes, counts, np.flatnonzero(occurs)


@compiled
def _list_cells(
    table: NDArray[np.uint32],
    numbers: NDArray[np.int64],
    starts: NDArray[np.int64],
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Fill in the cells, class by class, given the numbers of the codes that occur."""
    cells, classes = 0, 0
    for row in range(table.shape[0]):
        before = cells
        for code in range(table.shape[1]):
            if table[row, code] > 0:
                codes[cells] = numbers[code]
                counts[cells] = table[row, code]
                cells += 1
        if cells > before:
            classes += 1
            starts[classes] = cells
