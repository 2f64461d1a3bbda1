"""Places that two more columns make the only ones of their segment, and places merged into cells.

A segment holds records that agree on some columns, at places beside each other. Two narrow columns
split it into few cells, so that a table of all cells stays in the processor's nearest memory: one
pass over the segment says which cells hold one record alone, and where that record stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.uint8]

ONCE = 2**32
"""What a record adds to its cell, besides its place: the cell of a single record then holds its
place, and says that there is one. Where the places of several records carry over, there are two and
more anyway."""
CELLS_A_RECORD = 4
"""A table of up to so many cells for each record is looked through; a larger one by its records."""
BLOCK = 16
"""So many cells are looked at together."""


@compiled
def places_of_pair(
    starts: NDArray[np.uint64],
    first_codes: Codes,
    second_codes: Codes,
    widths: tuple[int, int],
    held: NDArray[np.int64] | None,
) -> NDArray[np.int32]:
    """Return the places that two columns make the only ones of their segment.

    Args:
        starts: where each segment begins, and the end of the last one.
        first_codes: the codes of one column, segment by segment.
        second_codes: those of another column.
        widths: how many codes each column has.
        held: None where there is one code a place; else what each merged cell holds.

    Example:
        >>> sex, age = np.array([0, 0, 0, 1], "u1"), np.array([1, 1, 0, 1], "u1")
        >>> places_of_pair(np.array([0, 3, 4], "u8"), sex, age, (2, 2), None)
        array([2, 3], dtype=int32)
    """
    table = np.zeros(-(-widths[0] * widths[1] // BLOCK) * BLOCK, np.int64)
    places = np.empty(1024, np.int32)
    amount = 0
    times, once, high = np.uint64(widths[1]), np.uint64(ONCE), np.int64(32)
    for segment in range(starts.size - 1):
        first, last = starts[segment], starts[segment + 1]
        for i in range(first, last):
            cell = np.uint64(first_codes[i]) * times + np.uint64(second_codes[i])
            table[cell] += np.int64(once + i) if held is None else held[i]
        size = np.int64(last - first)
        if amount + size + BLOCK >= places.size:
            larger = np.empty(2 * places.size + size, np.int32)
            larger[:amount] = places[:amount]
            places = larger
        # What is not of a single record is overwritten by the next: no question, no wrong guess.
        if table.size > CELLS_A_RECORD * size:
            for i in range(first, last):
                cell = np.uint64(first_codes[i]) * times + np.uint64(second_codes[i])
                places[amount] = table[cell]
                amount += table[cell] >> high == 1
                table[cell] = 0
        else:
            for begin in range(0, table.size, BLOCK):
                block = table[begin : begin + BLOCK]
                singles = 0
                for at in range(BLOCK):
                    singles += block[at] >> high == 1
                if singles:
                    for at in range(BLOCK):
                        places[amount] = block[at]
                        amount += block[at] >> high == 1
            table[:] = 0
    return places[:amount].copy()


@compiled
def merged_cells(
    starts: NDArray[np.uint64],
    keys: NDArray[np.uint16],
    held: NDArray[np.int64] | None,
    cells: int,
) -> tuple[NDArray[np.uint64], NDArray[np.uint16], NDArray[np.int64]]:
    """Merge the places of a segment that have the same key.

    Returns:
        where each segment begins, the keys that occur in it, and what the cell of each holds.

    Example:
        >>> starts, keys, held = merged_cells(
        ...     np.array([0, 3], "u8"), np.array([1, 0, 1], "u2"), None, 2
        ... )
        >>> keys, held // ONCE, int(held[0]) % ONCE
        (array([0, 1], dtype=uint16), array([1, 2]), 1)
    """
    table = np.zeros(cells, np.int64)
    most = min(keys.size, cells * (starts.size - 1)) + 1
    merged_keys, merged = np.empty(most, np.uint16), np.empty(most, np.int64)
    ends = np.zeros(starts.size, np.uint64)
    amount, once = 0, np.uint64(ONCE)
    for segment in range(starts.size - 1):
        for i in range(starts[segment], starts[segment + 1]):
            key = np.uint64(keys[i])
            table[key] += np.int64(once + i) if held is None else held[i]
        for cell in range(cells):
            merged_keys[amount] = cell
            merged[amount] = table[cell]
            amount += table[cell] != 0
        table[:] = 0
        ends[segment + 1] = amount
    return ends, merged_keys[:amount].copy(), merged[:amount].copy()
