"""Bounds of whole numbers, followed through sums until nothing becomes narrower."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAR = 2**62
"""No end: every number that is computed with is smaller."""
NARROWER, FULL, EMPTY = 0, 1, 2
"""How following ends: nothing becomes narrower, the log is full, or nothing is possible."""


@compiled
def follow_sums(  # noqa: PLR0912, PLR0913, PLR0915, PLR0917, C901 - arrays of one matrix, and its log
    start: NDArray[np.int64],
    column: NDArray[np.int64],
    sign: NDArray[np.int64],
    by_column: NDArray[np.int64],
    rows_of: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    waiting: NDArray[np.int64],
    log: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Narrow the bounds of all numbers whose signed sums are zero.

    Args:
        start: where each relation begins; ``column`` and ``sign`` are its numbers and their signs.
        column: likewise.
        sign: likewise, 1 or -1.
        by_column: where the relations of each number begin in ``rows_of``.
        rows_of: likewise.
        low: the bounds, narrowed in place.
        high: likewise; ``FAR`` is no end.
        waiting: the relations to look at first.
        log: filled with (number, 0 for low or 1 for high, relation, its sign there), in order.

    Returns:
        how it ended, the entries of the log, and the relation that nothing fulfils.
    """
    rows = start.size - 1
    longest = 1
    for r in range(rows):
        longest = max(longest, start[r + 1] - start[r])
    # Ends beyond this are left out, as if there were none: sums of those within fit into a word.
    limit = FAR // (longest + 1)
    queue = np.empty(rows + 1, np.int64)
    queued = np.zeros(rows, np.bool_)
    head, size = 0, 0
    for r in waiting:
        if not queued[r]:
            queue[size] = r
            size += 1
            queued[r] = True
    entries = 0
    while size > 0:
        r = queue[head]
        head = (head + 1) % (rows + 1)
        size -= 1
        queued[r] = False
        # The smallest and the largest signed sum; numbers without an end are counted apart.
        least, most, least_far, most_far = 0, 0, 0, 0
        for i in range(start[r], start[r + 1]):
            c = column[i]
            below, above = (low[c], high[c]) if sign[i] > 0 else (-high[c], -low[c])
            if below <= -FAR:
                least_far += 1
            else:
                least += below
            if above >= FAR:
                most_far += 1
            else:
                most += above
        if (least_far == 0 and least > 0) or (most_far == 0 and most < 0):
            return EMPTY, entries, r
        for i in range(start[r], start[r + 1]):
            c = column[i]
            below, above = (low[c], high[c]) if sign[i] > 0 else (-high[c], -low[c])
            # signed number = -(sum of the others), which lies between these ends
            others_least = least_far - (1 if below <= -FAR else 0)
            others_most = most_far - (1 if above >= FAR else 0)
            for side in range(2):
                if side == 0:
                    if others_most:
                        continue
                    bound = -(most - (0 if above >= FAR else above))
                    narrower = bound > below
                else:
                    if others_least:
                        continue
                    bound = -(least - (0 if below <= -FAR else below))
                    narrower = bound < above
                if not narrower or abs(bound) > limit:
                    continue
                if entries == log.shape[0]:
                    return FULL, entries, r
                lower = (side == 0) == (sign[i] > 0)
                value = bound if sign[i] > 0 else -bound
                if lower:
                    low[c] = value
                else:
                    high[c] = value
                log[entries, 0] = c
                log[entries, 1] = 0 if lower else 1
                log[entries, 2] = r
                log[entries, 3] = sign[i]
                entries += 1
                if low[c] > high[c]:
                    return EMPTY, entries, r
                for k in range(by_column[c], by_column[c + 1]):
                    other = rows_of[k]
                    if not queued[other]:
                        queue[(head + size) % (rows + 1)] = other
                        size += 1
                        queued[other] = True
                # The sums of this relation have changed with the bound.
                new_below, new_above = (low[c], high[c]) if sign[i] > 0 else (-high[c], -low[c])
                if below <= -FAR and new_below > -FAR:
                    least_far -= 1
                    least += new_below
                elif new_below > -FAR:
                    least += new_below - below
                if above >= FAR and new_above < FAR:
                    most_far -= 1
                    most += new_above
                elif new_above < FAR:
                    most += new_above - above
                below, above = new_below, new_above
                others_least = least_far - (1 if below <= -FAR else 0)
                others_most = most_far - (1 if above >= FAR else 0)
    return NARROWER, entries, -1
