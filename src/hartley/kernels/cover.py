"""Covers of sorted values by intervals of one width: fewest cells, or the largest smallest cell.

Positions 0, 1, ..., n lie before, between and after n values, and a cell runs from one position to
a later one. All that the covers need of the values is, for every position at which a cell may
end, the first position at which it may begin: the array ``first``, which never decreases.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@numba.njit(nogil=True, cache=True)
def _first_of_doubles(
    values: NDArray[np.float64], below: float, above: float, room_below: float, room_above: float
) -> NDArray[np.int32]:
    """Return the first position of doubles; the width lies between two adjacent doubles or is one.

    A room is the largest double up to the width less one of the two.
    """
    first = np.zeros(values.size + 1, np.int32)
    start = 0
    for i in range(values.size):
        while True:
            end, begin = values[i], values[start]
            difference = end - begin
            # Rounding is monotone, so outside of these two doubles the rounded difference is on
            # the same side of the width as the exact one.
            if difference < below or difference > above:
                fits = difference < below
            else:
                # What the subtraction rounded away, exactly (Knuth's two-sum), decides.
                virtual = difference - end
                lost = (end - (difference - virtual)) - (begin + virtual)
                fits = lost <= (room_below if difference == below else room_above)
            if fits:
                break
            start += 1
        first[i + 1] = start
    return first


@numba.njit(nogil=True, cache=True)
def _first_of_integers(values: NDArray[np.int64], width: np.uint64) -> NDArray[np.int32]:
    first = np.zeros(values.size + 1, np.int32)
    start = 0
    for i in range(values.size):
        # Differences of 64-bit integers fit into unsigned ones, wrapped around or not.
        while np.uint64(values[i]) - np.uint64(values[start]) > width:
            start += 1
        first[i + 1] = start
    return first


def first_within(values: NDArray[Any], width: Fraction) -> NDArray[np.int32]:
    """Return, for every position, where a cell that ends there may begin within a width.

    Differences, of integers and of doubles, are compared with the width exactly: rounding plays
    no part. Linear in the number of values, which must be sorted and fewer than 2^31; doubles must
    not differ by more than a double can hold.

    Example:
        >>> first_within(np.array([0.0, 0.1, 0.3]), Fraction(1, 5)).tolist()
        [0, 0, 0, 1]
    """
    if values.dtype == np.int64:
        most = min(math.floor(width), 2**64 - 1)
        return np.asarray(_first_of_integers(values, np.uint64(most)))
    below, above = float(width), float(width)
    if Fraction(below) > width:
        below = math.nextafter(below, -math.inf)
    elif Fraction(below) < width:
        above = math.nextafter(above, math.inf)
    rooms = [_double_below(width - Fraction(double)) for double in (below, above)]
    return np.asarray(_first_of_doubles(values, below, above, *rooms))


def _double_below(number: Fraction) -> float:
    """Return the largest double that is not above a number."""
    double = float(number)
    return double if Fraction(double) <= number else math.nextafter(double, -math.inf)


@numba.njit(nogil=True, cache=True)
def _greedy(first: NDArray[np.int32], cuts: NDArray[np.int32]) -> int:
    """Fill in the cuts of the greedy cover and return its number of cells."""
    cells = 0
    for end in range(1, first.size):
        if first[end] > cuts[cells]:
            cells += 1
            cuts[cells] = end - 1
    cuts[cells + 1] = first.size - 1
    return cells + 1


def fewest_cells(first: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the positions between the fewest cells, each as long as it can be, ends included.

    The greedy cover has the fewest cells: by induction, its k-th cut is at or behind the k-th cut
    of any other cover, since ``first`` never decreases. Linear in the number of positions.

    Example:
        >>> fewest_cells(first_within(np.array([0, 1, 2, 3, 9]), Fraction(2))).tolist()
        [0, 3, 4, 5]
    """
    cuts = np.zeros(first.size + 1, np.int32)
    cells = _greedy(first, cuts)
    return cuts[: cells + 1].copy()


@numba.njit(nogil=True, cache=True)
def _cover(
    first: NDArray[np.int32], mass: NDArray[np.int64], least: int, before: NDArray[np.int32]
) -> bool:
    """Tell whether cells of at least some mass cover everything, and where each begins.

    The cell that ends at a position begins at the first reached position from which it may: from
    any other it would hold less. Of two covers with a cell of one inside a cell of the other, the
    larger cell may be swapped in, so the first reached position also takes the fewest cells to
    reach. Position 0 is reached: ``before[0]`` is 0 and is never written.
    """
    # The first reached position from which a cell may begin; it only moves forward, since `first`
    # never decreases and a position that was not reached stays so.
    oldest = 0
    for end in range(1, first.size):
        oldest = max(oldest, first[end])
        while oldest < end and before[oldest] < 0:
            oldest += 1
        before[end] = oldest if mass[end] - mass[oldest] >= least else -1
        if oldest == end:
            # A later cell would have to begin here or later, at a position that is not reached.
            return False
    return bool(before[first.size - 1] >= 0)


@numba.njit(nogil=True, cache=True)
def _largest_least(first: NDArray[np.int32], mass: NDArray[np.int64], low: int, high: int) -> int:
    """Bisect on the mass of the smallest cell; the low end is known to be feasible."""
    before = np.zeros(first.size, np.int32)
    while low < high:
        middle = (
            high - (high - low) // 2
        )  # rounded up, so that a feasible middle raises the low end
        if _cover(first, mass, middle, before):
            low = middle
        else:
            high = middle - 1
    return low


@numba.njit(nogil=True, cache=True)
def _fewest_with(
    first: NDArray[np.int32], mass: NDArray[np.int64], least: int
) -> NDArray[np.int32]:
    """Return the positions between the fewest cells of at least some feasible mass."""
    before = np.zeros(first.size, np.int32)
    _cover(first, mass, least, before)
    cells, end = 0, first.size - 1
    while end > 0:
        cells, end = cells + 1, before[end]
    cuts = np.zeros(cells + 1, np.int32)
    end = first.size - 1
    for cell in range(cells, 0, -1):
        cuts[cell] = end
        end = before[end]
    return cuts


def largest_smallest_cell(
    first: NDArray[np.int32], mass: NDArray[np.int64]
) -> tuple[int, NDArray[np.int32]]:
    """Return the largest mass that every cell of a cover can have, and the cuts of such a cover.

    Position i is reached by cells of at least m when some reached j has first[i] <= j and
    mass[i] - mass[j] >= m: linear in the number of positions for one m, on which it bisects
    (Farokhi 2019, Theorem IV.3 for the leakage; exact). Of all such covers it takes one with the
    fewest cells. Every position but the first must be within reach of an earlier one.

    Args:
        first: for every position the first one at which a cell may begin that ends there.
        mass: for every position the whole mass before it, strictly increasing from 0.

    Example:
        >>> values = np.array([0, 1, 4, 5, 6, 7])
        >>> least, cuts = largest_smallest_cell(first_within(values, Fraction(4)), np.arange(7))
        >>> least, cuts.tolist()  # {0, 1, 4}, {5, 6, 7}
        (3, [0, 3, 6])
    """
    # The greedy cover is feasible with its own smallest cell. No cover has fewer cells, so the
    # smallest cell of any holds at most the average over that many.
    greedy = fewest_cells(first)
    low = int(np.diff(mass[greedy]).min())
    high = int(mass[-1]) // (greedy.size - 1)
    least = int(_largest_least(first, mass, low, high))
    return least, np.asarray(_fewest_with(first, mass, least))
