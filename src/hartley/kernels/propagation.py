"""Bounds of whole numbers, followed through sums until nothing becomes narrower."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAR = 2**62
"""No end: every number that is computed with is smaller."""
NARROWER, FULL, EMPTY = 0, 1, 2
"""How following ends: nothing becomes narrower, the log is full, or nothing is possible."""


@compiled
def weighted_end(end: int, factor: int, limit: int, no_end: int) -> int:
    """Multiply an end by a factor; ``no_end`` where the product is beyond a limit.

    To leave an end out is always right. Another number in its place could be narrower than it.
    """
    return no_end if abs(end) > limit // abs(factor) else end * factor


@compiled
def follow_sums(  # noqa: PLR0912, PLR0913, PLR0915, PLR0917, C901 - arrays of one matrix, and its log
    start: NDArray[np.int64],
    column: NDArray[np.int64],
    factor: NDArray[np.int64],
    by_column: NDArray[np.int64],
    rows_of: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    waiting: NDArray[np.int64],
    log: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Narrow the bounds of all numbers whose weighted sums are zero.

    A bound that is divided by a factor is rounded outward. Rounded inward it would be narrower,
    since the numbers are whole, but then multipliers of the relations alone would not prove it.

    Args:
        start: where each relation begins; ``column`` and ``factor`` are its numbers and what they
            count with.
        column: likewise.
        factor: likewise, whole and never 0.
        by_column: where the relations of each number begin in ``rows_of``.
        rows_of: likewise.
        low: the bounds, narrowed in place.
        high: likewise; ``FAR`` is no end.
        waiting: the relations to look at first.
        log: filled with (number, 0 for low or 1 for high, relation, its factor there), in order.

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
        # The smallest and the largest weighted sum; numbers without an end are counted apart.
        least, most, least_far, most_far = 0, 0, 0, 0
        for i in range(start[r], start[r + 1]):
            c = column[i]
            below = weighted_end(low[c] if factor[i] > 0 else high[c], factor[i], limit, -FAR)
            above = weighted_end(high[c] if factor[i] > 0 else low[c], factor[i], limit, FAR)
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
            below = weighted_end(low[c] if factor[i] > 0 else high[c], factor[i], limit, -FAR)
            above = weighted_end(high[c] if factor[i] > 0 else low[c], factor[i], limit, FAR)
            # weighted number = -(sum of the others), which lies between these ends
            others_least = least_far - (1 if below <= -FAR else 0)
            others_most = most_far - (1 if above >= FAR else 0)
            for side in range(2):
                if side == 0:
                    if others_most:
                        continue
                    bound = -(most - (0 if above >= FAR else above))
                else:
                    if others_least:
                        continue
                    bound = -(least - (0 if below <= -FAR else below))
                if abs(bound) > limit:
                    continue
                lower = (side == 0) == (factor[i] > 0)
                if factor[i] < 0:
                    bound = -bound
                divisor = abs(factor[i])
                value = bound // divisor if lower else -(-bound // divisor)
                if not (value > low[c] if lower else value < high[c]):
                    continue
                if entries == log.shape[0]:
                    return FULL, entries, r
                if lower:
                    low[c] = value
                else:
                    high[c] = value
                log[entries, 0] = c
                log[entries, 1] = 0 if lower else 1
                log[entries, 2] = r
                log[entries, 3] = factor[i]
                entries += 1
                if low[c] > high[c]:
                    return EMPTY, entries, r
                for k in range(by_column[c], by_column[c + 1]):
                    other = rows_of[k]
                    if not queued[other]:
                        queue[(head + size) % (rows + 1)] = other
                        size += 1
                        queued[other] = True
                # The sums of this relation have changed with the bound, unless it is beyond the
                # limit: then the wider end before it still counts.
                end = low[c] if factor[i] > 0 else high[c]
                new_below = weighted_end(end, factor[i], limit, -FAR)
                if new_below > -FAR:
                    least_far -= 1 if below <= -FAR else 0
                    least += new_below - (0 if below <= -FAR else below)
                    below = new_below
                end = high[c] if factor[i] > 0 else low[c]
                new_above = weighted_end(end, factor[i], limit, FAR)
                if new_above < FAR:
                    most_far -= 1 if above >= FAR else 0
                    most += new_above - (0 if above >= FAR else above)
                    above = new_above
                others_least = least_far - (1 if below <= -FAR else 0)
                others_most = most_far - (1 if above >= FAR else 0)
    return NARROWER, entries, -1
