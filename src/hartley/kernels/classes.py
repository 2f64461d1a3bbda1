"""Counts, shares and entropies of a confidential value in every class, in one pass over cells."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


CELLS_A_TASK = 2**18
"""With fewer cells, starting a thread takes longer than its work."""
MOST_TALLIED = 256
"""Counts up to here are ranked by how often each occurs, others by sorting."""


class Cells(NamedTuple):
    """The cells of all classes, those of class i from ``starts[i]`` to ``starts[i + 1]``."""

    starts: NDArray[np.int64]
    codes: NDArray[np.int32]
    """The confidential value of every cell, rising within a class."""
    counts: NDArray[np.int32]
    sizes: NDArray[np.int64]
    """How many records every class has."""
    totals: NDArray[np.int64]
    """How many records have each value."""


def over_classes(
    kernel: Callable[..., tuple[NDArray[Any], ...]], cells: Cells, *options: int
) -> tuple[NDArray[Any], ...]:
    """Run a kernel over all classes, a range of them on every processor, and join the results.

    Args:
        kernel: takes cells and the options, and returns arrays of as many items as classes.
        cells: the cells.
        options: what else the kernel takes.

    Example:
        >>> arrays = np.array([0, 2]), np.array([0, 1]), np.array([1, 3]), np.array([4])
        >>> over_classes(count_tails, Cells(*arrays, np.array([1, 9])), 2)
        (array([3]), array([1]))
    """

    def part(first: int, last: int) -> tuple[NDArray[Any], ...]:
        ours = cells._replace(starts=cells.starts[first : last + 1], sizes=cells.sizes[first:last])
        return kernel(ours, *options)

    parts = _in_ranges(part, cells.sizes.size, cells.codes.size)
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def _in_ranges(
    work: Callable[..., tuple[Any, ...]], size: int, cells: int, *given: NDArray[np.int64]
) -> list[tuple[Any, ...]]:
    """Split a size into ranges, one a processor, and do the work of each in a thread.

    The work is called with both ends of its range and with its item of every further array.
    """
    tasks = max(1, min(os.cpu_count() or 1, cells // CELLS_A_TASK))
    ends = np.linspace(0, size, tasks + 1).astype(int).tolist()
    with ThreadPoolExecutor(tasks, thread_name_prefix="hartley-classes") as pool:
        return list(pool.map(work, ends[:-1], ends[1:], *given))


@compiled
def extreme_shares(
    cells: Cells,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return count and total of the likeliest and of the least likely value of every class.

    A value is as likely as its count over its total; these shares are compared exactly.

    Example:
        >>> arrays = np.array([0, 2]), np.array([0, 1]), np.array([1, 3]), np.array([4])
        >>> extreme_shares(Cells(*arrays, np.array([1, 9])))
        (array([1]), array([1]), array([3]), array([9]))
    """
    over_most, under_most, over_least, under_least = np.empty((4, cells.sizes.size), np.int64)
    for i in range(cells.sizes.size):
        first = cells.starts[i]
        most = least = (cells.counts[first], cells.totals[cells.codes[first]])
        for cell in range(first + 1, cells.starts[i + 1]):
            count, total = cells.counts[cell], cells.totals[cells.codes[cell]]
            # Cross-multiplied, so nothing is rounded; counts and totals are below 2^31, a product
            # below 2^62.
            if count * most[1] > most[0] * total:
                most = (count, total)
            if count * least[1] < least[0] * total:
                least = (count, total)
        over_most[i], under_most[i] = most
        over_least[i], under_least[i] = least
    return over_most, under_most, over_least, under_least


@compiled
def equal_moves(cells: Cells) -> tuple[NDArray[np.int64]]:
    """Return, for every class, 2 n_i n times the share that has to move to be like the table.

    Example:
        >>> alone = np.array([0, 1]), np.array([0]), np.array([1]), np.array([1])
        >>> equal_moves(Cells(*alone, np.array([1, 1])))
        (array([2]),)
    """
    rows = cells.totals.sum()
    moves = np.empty(cells.sizes.size, np.int64)
    for i in range(moves.size):
        # Values that the class lacks differ by their whole total: what is left of the rows after
        # those it has is enough, and no value is looked at that the class does not list. In all
        # at most 2 n_i n, below 2^63 for fewer than 2^31 records.
        absent, moved = rows, np.int64(0)
        for cell in range(cells.starts[i], cells.starts[i + 1]):
            total = cells.totals[cells.codes[cell]]
            absent -= total
            moved += abs(cells.counts[cell] * rows - total * cells.sizes[i])
        moves[i] = moved + absent * cells.sizes[i]
    return (moves,)


@compiled
def ordered_moves(cells: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two parts of n_i n times the sum of the distances of cumulative shares.

    The sum is n times the first array plus n_i times the second; neither exceeds the number of
    values times the records. Between two values of a class only the sums of the table change:
    bisection finds where they overtake the class, and both sides are read from prefix sums.

    Example:
        >>> alone = np.array([0, 1]), np.array([2]), np.array([1]), np.array([1])
        >>> ordered_moves(Cells(*alone, np.ones(3, int)))
        (array([-1]), array([6]))
    """
    starts, codes, counts, sizes, totals = cells
    rows = totals.sum()
    reached = np.cumsum(totals)
    before = np.zeros(totals.size + 1, np.int64)
    before[1:] = np.cumsum(reached)
    ours, theirs = np.zeros((2, sizes.size), np.int64)
    for i in range(sizes.size):
        have = np.int64(0)
        theirs[i] = before[codes[starts[i]]]
        for cell in range(starts[i], starts[i + 1]):
            have += counts[cell]
            start = codes[cell]
            end = codes[cell + 1] if cell + 1 < starts[i + 1] else totals.size
            turn, above = start, end
            while turn < above:
                middle = (turn + above) // 2
                # Both products are of two numbers of records, below 2^62.
                if reached[middle] * sizes[i] < have * rows:
                    turn = middle + 1
                else:
                    above = middle
            # Before the turn the class is ahead, behind it the table: the sum of absolute
            # differences without an absolute value. Differences of n_i n are kept in two parts,
            # since the product of values, records and records need not fit into a machine word.
            ours[i] += (2 * turn - start - end) * have
            theirs[i] += before[start] + before[end] - 2 * before[turn]
    return ours, theirs


@compiled
def divergences(cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the entropy of every class and its divergence from the table, in bits.

    Example:
        >>> half = np.array([0, 1]), np.array([0]), np.array([1]), np.array([1])
        >>> divergences(Cells(*half, np.array([1, 1])))
        (array([0.]), array([1.]))
    """
    rarity = np.log2(cells.totals.sum() / np.maximum(cells.totals, 1))
    bits, apart = np.zeros((2, cells.sizes.size))
    for i in range(bits.size):
        for cell in range(cells.starts[i], cells.starts[i + 1]):
            share = cells.counts[cell] / cells.sizes[i]
            log_share = np.log2(share)
            bits[i] -= share * log_share
            apart[i] += share * (log_share + rarity[cells.codes[cell]])
    return bits, apart


@compiled
def count_tails(cells: Cells, length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the largest count of every class and the sum of its counts from a rank on.

    Example:
        >>> arrays = np.array([0, 3]), np.arange(3), np.array([1, 5, 2]), np.array([8])
        >>> count_tails(Cells(*arrays, np.array([1, 5, 2])), 2)
        (array([5]), array([3]))
    """
    starts, counts = cells.starts, cells.counts
    peaks, tails = np.empty((2, cells.sizes.size), np.int64)
    tally = np.zeros(MOST_TALLIED + 1, np.int64)
    for i in range(peaks.size):
        first, end = starts[i], starts[i + 1]
        peak = counts[first]
        for cell in range(first + 1, end):
            peak = max(peak, counts[cell])
        peaks[i] = peak
        below = max(end - first - length + 1, 0)
        # Most often asked for, and the one rank that needs no order.
        if length == 2:
            tails[i] = cells.sizes[i] - peak
        elif peak > MOST_TALLIED:
            tails[i] = np.sort(counts[first:end].astype(np.int64))[:below].sum()
        else:
            tails[i] = _least_sum(counts[first:end], below, tally)
    return peaks, tails


@compiled
def _least_sum(counts: NDArray[np.int32], rank: int, tally: NDArray[np.int64]) -> int:
    """Return the sum of the least counts, as many as the rank; the tally stays all zeros."""
    for count in counts:
        tally[count] += 1
    total, size = 0, 0
    while rank > 0:
        size += 1
        taken = min(rank, tally[size])
        total += taken * size
        rank -= taken
    for count in counts:
        tally[count] = 0
    return total


@compiled
def class_sizes(starts: NDArray[np.int64], counts: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many records every class has.

    Example:
        >>> class_sizes(np.array([0, 2, 3]), np.array([1, 5, 2]))
        array([6, 2])
    """
    sizes = np.zeros(starts.size - 1, np.int64)
    for i in range(sizes.size):
        for cell in range(starts[i], starts[i + 1]):
            sizes[i] += counts[cell]
    return sizes


@compiled
def code_totals(
    codes: NDArray[np.int32], counts: NDArray[np.int32], width: int
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
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return starts, codes and counts of the nonzero cells of a cube, and which codes occur.

    Example:
        >>> occupied_cells(np.array([0, 1, 0, 0, 0, 2], np.uint32), 2)
        (array([0, 1, 2]), array([0, 0], dtype=int32), array([1, 2], dtype=int32), array([1]))
    """
    table = cube.reshape(-1, width)
    parts = _in_ranges(lambda a, b: _occupied(table[a:b]), len(table), cube.size)
    occurs = np.any([used for _, used in parts], axis=0)
    numbers = np.cumsum(occurs) - 1
    classes, cells = np.cumsum([(0, 0), *(held for held, _ in parts)], axis=0).T
    starts = np.full(classes[-1] + 1, cells[-1])
    codes, counts = np.empty((2, cells[-1]), np.int32)

    def fill(first: int, last: int, place: int, cell: int) -> tuple[()]:
        _list_cells(table[first:last], numbers, cell, starts[place:], codes, counts)
        return ()

    _in_ranges(fill, len(table), cube.size, classes, cells)
    return starts, codes, counts, np.flatnonzero(occurs)


@compiled
def _occupied(table: NDArray[np.uint32]) -> tuple[tuple[int, int], NDArray[np.bool_]]:
    """Return how many classes and cells of a cube are not empty, and which codes occur."""
    classes, cells = 0, 0
    occurs = np.zeros(table.shape[1], np.bool_)
    for row in range(table.shape[0]):
        before = cells
        for code in range(table.shape[1]):
            if table[row, code] > 0:
                cells += 1
                occurs[code] = True
        classes += cells > before
    return (classes, cells), occurs


@compiled
def _list_cells(  # noqa: PLR0913, PLR0917 - a compiled loop takes plain arrays
    table: NDArray[np.uint32],
    numbers: NDArray[np.int64],
    cell: int,
    starts: NDArray[np.int64],
    codes: NDArray[np.int32],
    counts: NDArray[np.int32],
) -> None:
    """Fill in classes and their cells from a given cell on, with the numbers of their codes."""
    listed = 0
    for row in range(table.shape[0]):
        first = cell
        for code in range(table.shape[1]):
            if table[row, code] > 0:
                codes[cell] = numbers[code]
                counts[cell] = table[row, code]
                cell += 1
        # A class without records is no class: its row of the cube is skipped.
        if cell > first:
            starts[listed] = first
            listed += 1
