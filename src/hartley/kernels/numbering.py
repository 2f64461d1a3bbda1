"""Number the distinct values of an array by a table of those seen, without sorting the array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

FIRST_SLOTS = 2**12
FEWEST_ROWS = 2**14
"""With fewer rows, a sort takes no longer."""
ROWS_A_VALUE = 8
"""With fewer rows a distinct value, the table outgrows the cache and a sort is as quick."""


def number_values(column: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Number the values of an array of numbers in their order; None where a sort does better.

    Returns the number of every row and, of every distinct value, one row that has it. Equal
    numbers are one value, as are all that are not a number, which come last. One pass over the
    rows, and a sort of the distinct values alone.

    Example:
        >>> numbers, rows = number_values(np.tile([0.5, -0.0, 0.25, 0.0], 5000))
        >>> numbers[:4].tolist(), rows.tolist()
        ([2, 0, 1, 0], [1, 2, 0])
    """
    if column.size < FEWEST_ROWS or column.dtype.kind not in "iuf" or column.dtype.itemsize > 8:
        return None
    if column.dtype.kind == "f":
        values = column.astype(np.float64) + 0.0  # minus zero becomes zero
        values[np.isnan(values)] = np.nan
        patterns = values.view(np.int64)
    else:
        values = np.ascontiguousarray(column)
        patterns = values.astype(np.uint64 if column.dtype.kind == "u" else np.int64)
        patterns = patterns.view(np.int64)
    numbers = np.empty(column.size, np.int64)
    firsts = np.empty(column.size // ROWS_A_VALUE, np.int64)
    count = _number(patterns, numbers, firsts)
    if count < 0:
        return None
    firsts = firsts[:count]
    order = np.argsort(values[firsts], kind="stable")
    places = np.empty(count, np.int64)
    places[order] = np.arange(count)
    return places[numbers], firsts[order]


@compiled
def _number(
    patterns: NDArray[np.int64], numbers: NDArray[np.int64], firsts: NDArray[np.int64]
) -> int:
    """Number patterns as they come; -1 if there are more than there is room for."""
    slots = FIRST_SLOTS
    table = np.full(slots, -1, np.int64)
    count = 0
    for row in range(patterns.size):
        pattern = patterns[row]
        slot = _slot(pattern, slots)
        while table[slot] >= 0 and patterns[firsts[table[slot]]] != pattern:
            slot = (slot + 1) & (slots - 1)
        if table[slot] < 0:
            if count == firsts.size:
                return -1
            firsts[count] = row
            table[slot] = count
            count += 1
            if 2 * count > slots:  # half full: four times as large
                slots *= 4
                table = np.full(slots, -1, np.int64)
                for number in range(count):
                    again = _slot(patterns[firsts[number]], slots)
                    while table[again] >= 0:
                        again = (again + 1) & (slots - 1)
                    table[again] = number
            numbers[row] = count - 1
        else:
            numbers[row] = table[slot]
    return count


@compiled
def _slot(pattern: int, slots: int) -> np.int64:
    """Return where the search for a pattern begins: its bits, mixed by two odd factors."""
    mixed = np.uint64(pattern) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64((mixed >> np.uint64(20)) & np.uint64(slots - 1))
