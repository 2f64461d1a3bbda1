"""Sums of whole numbers: what follows from them, bounds through them, covers by intervals."""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.kernels.pairs import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


PRIME = 2**61 - 1
"""A Mersenne prime: remainders are taken by adding halves, and products fit three words."""
FAR = 2**62
"""No end: every number that is computed with is smaller."""
NARROWER, FULL, EMPTY = 0, 1, 2
"""How following ends: nothing becomes narrower, the log is full, or nothing is possible."""


# --- sparse elimination modulo a prime: which numbers follow from sums by adding and subtracting --


@compiled
def times(a: int, b: int) -> int:
    """Multiply modulo the prime, in pieces of 64 bits."""
    low_a, high_a = a & 0x7FFFFFFF, a >> 31
    low_b, high_b = b & 0x7FFFFFFF, b >> 31
    middle = low_a * high_b + high_a * low_b
    # 2^62 = 2 and 2^31 * middle = (middle >> 30) + ((middle & (2^30 - 1)) << 31), mod 2^61 - 1
    total = low_a * low_b + 2 * (high_a * high_b) + (middle >> 30) + ((middle & 0x3FFFFFFF) << 31)
    total = (total & PRIME) + (total >> 61)
    return total - PRIME if total >= PRIME else total


@compiled
def minus(a: int, b: int) -> int:
    """Subtract modulo the prime."""
    return a - b if a >= b else a - b + PRIME


@compiled
def inverse(a: int) -> int:
    """Divide one by a number, modulo the prime (Fermat)."""
    result, power, exponent = 1, a, PRIME - 2
    while exponent:
        if exponent & 1:
            result = times(result, power)
        power = times(power, power)
        exponent >>= 1
    return result


@compiled
def eliminate(  # noqa: PLR0912, PLR0915, C901 - one pass over one matrix
    start: NDArray[np.int64],
    column: NDArray[np.int64],
    value: NDArray[np.int64],
    columns: int,
    most: int,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    bool,
]:
    """Eliminate numbers from sums, the shortest sum and its rarest number first.

    Sum r has the factors ``value``, modulo the prime, of the numbers ``column``, in order, from
    ``start[r]`` on. Elimination stops beyond ``most`` entries of all rows, old and new. Returns the
    pivot rows and columns in order; where each pivot row begins and ends, its columns and values;
    for each row the subtractions, as (previous place, pivot, factor) from ``last``; how many rows
    have each number; and whether elimination came to its end.
    """
    rows = start.size - 1
    capacity = max(2 * column.size + 16, 1024)
    pool_column, pool_value = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    pool_column[: column.size] = column
    pool_value[: value.size] = value
    used = column.size
    begin, end = start[:-1].copy(), start[1:].copy()
    count = np.zeros(columns, np.int64)
    # The rows of each column as linked lists; entries of rows that lost the column are skipped.
    link_capacity = max(2 * column.size + 16, 1024)
    link_row, link_next = np.empty(link_capacity, np.int64), np.empty(link_capacity, np.int64)
    links = 0
    first = np.full(columns, -1, np.int64)
    for r in range(rows):
        for i in range(begin[r], end[r]):
            c = column[i]
            count[c] += 1
            link_row[links], link_next[links] = r, first[c]
            first[c] = links
            links += 1
    done = np.zeros(rows, np.bool_)
    stamp = np.full(rows, -1, np.int64)
    pivot_row, pivot_column = np.empty(rows, np.int64), np.empty(rows, np.int64)
    last = np.full(rows, -1, np.int64)
    step_capacity = 1024
    steps = np.empty((step_capacity, 3), np.int64)
    step_count, pivots = 0, 0
    heap = [(end[r] - begin[r], r) for r in range(rows)]
    heapq.heapify(heap)
    complete = True
    while len(heap) > 0:
        length, r = heapq.heappop(heap)
        if done[r] or length != end[r] - begin[r]:
            continue
        done[r] = True
        if length == 0:
            continue
        place = begin[r]
        for i in range(begin[r], end[r]):
            count[pool_column[i]] -= 1
            if count[pool_column[i]] < count[pool_column[place]]:
                place = i
        pivot = pool_column[place]
        scale = inverse(pool_value[place])
        pivot_row[pivots], pivot_column[pivots] = r, pivot
        at = first[pivot]
        while at >= 0:
            other = link_row[at]
            at = link_next[at]
            if done[other] or stamp[other] == pivots:
                continue
            stamp[other] = pivots
            factor = 0
            for i in range(begin[other], end[other]):
                if pool_column[i] == pivot:
                    factor = times(pool_value[i], scale)
                    break
            if factor == 0:
                continue
            size = end[other] - begin[other] + length
            if used + size > most:
                complete = False
                break
            while used + size > capacity:
                capacity *= 2
                wider_column, wider_value = (
                    np.empty(capacity, np.int64),
                    np.empty(capacity, np.int64),
                )
                wider_column[:used], wider_value[:used] = pool_column[:used], pool_value[:used]
                pool_column, pool_value = wider_column, wider_value
            if links + length > link_capacity:
                link_capacity = 2 * link_capacity + length
                wider_row, wider_next = (
                    np.empty(link_capacity, np.int64),
                    np.empty(link_capacity, np.int64),
                )
                wider_row[:links], wider_next[:links] = link_row[:links], link_next[:links]
                link_row, link_next = wider_row, wider_next
            if step_count == step_capacity:
                step_capacity *= 2
                wider = np.empty((step_capacity, 3), np.int64)
                wider[:step_count] = steps[:step_count]
                steps = wider
            steps[step_count, 0], steps[step_count, 1] = last[other], pivots
            steps[step_count, 2] = factor
            last[other] = step_count
            step_count += 1
            # Merge the two sorted rows into a new one at the end of the pool.
            i, j, out = begin[other], begin[r], used
            while i < end[other] or j < end[r]:
                mine = pool_column[i] if i < end[other] else columns
                theirs = pool_column[j] if j < end[r] else columns
                if mine < theirs:
                    pool_column[out], pool_value[out] = mine, pool_value[i]
                    out += 1
                    i += 1
                    continue
                subtracted = times(factor, pool_value[j])
                if mine > theirs:
                    pool_column[out], pool_value[out] = theirs, minus(0, subtracted)
                    out += 1
                    j += 1
                    count[theirs] += 1
                    link_row[links], link_next[links] = other, first[theirs]
                    first[theirs] = links
                    links += 1
                    continue
                difference = minus(pool_value[i], subtracted)
                if difference == 0 or mine == pivot:
                    count[mine] -= 1
                else:
                    pool_column[out], pool_value[out] = mine, difference
                    out += 1
                i += 1
                j += 1
            begin[other], end[other] = used, out
            used = out
            heapq.heappush(heap, (end[other] - begin[other], other))
        pivots += 1
        if not complete:
            break
    return (
        pivot_row[:pivots],
        pivot_column[:pivots],
        begin,
        end,
        pool_column[:used],
        pool_value[:used],
        last,
        steps[:step_count],
        count,
        complete,
    )


@compiled
def kernel_vector(  # noqa: PLR0913, PLR0917 - the parts of an elimination
    pivot_row: NDArray[np.int64],
    pivot_column: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    pool_column: NDArray[np.int64],
    pool_value: NDArray[np.int64],
    free: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return a vector that all sums map to zero, given the values of what is not a pivot."""
    vector = free.copy()
    for s in range(pivot_row.size - 1, -1, -1):
        r, total, scale = pivot_row[s], 0, 1
        for i in range(begin[r], end[r]):
            if pool_column[i] == pivot_column[s]:
                scale = pool_value[i]
            else:
                total = minus(total, times(pool_value[i], vector[pool_column[i]]))
        vector[pivot_column[s]] = times(total, inverse(scale))
    return vector


@compiled
def combination(  # noqa: PLR0912, PLR0913, PLR0917, C901 - the parts of an elimination
    target: int,
    pivot_row: NDArray[np.int64],
    pivot_column: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    pool_column: NDArray[np.int64],
    pool_value: NDArray[np.int64],
    last: NDArray[np.int64],
    steps: NDArray[np.int64],
    place_of: NDArray[np.int64],
    work: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Write one number as a combination of sums, modulo the prime.

    ``place_of`` is the pivot of each column, -1 without one, and ``work`` is zero for every column;
    it is left so. Returns rows, factors, and whether nothing but the number remains.
    """
    touched = [target]
    work[target] = 1
    weights = np.zeros(pivot_row.size, np.int64)
    heap = [place_of[target]]
    closed = True
    if heap[0] < 0:
        closed = False
        heap.pop()
    while len(heap) > 0:
        s = heapq.heappop(heap)
        c, r = pivot_column[s], pivot_row[s]
        if work[c] == 0:
            continue
        scale = 1
        for i in range(begin[r], end[r]):
            if pool_column[i] == c:
                scale = pool_value[i]
        factor = times(work[c], inverse(scale))
        weights[s] = factor
        for i in range(begin[r], end[r]):
            k = pool_column[i]
            before = work[k]
            work[k] = minus(before, times(factor, pool_value[i]))
            if before == 0:
                touched.append(k)
                if place_of[k] >= 0:
                    heapq.heappush(heap, place_of[k])
        work[c] = 0
    for k in touched:
        if work[k] != 0:
            closed = False
        work[k] = 0
    # A reduced row is the row itself minus multiples of earlier reduced rows.
    size = 0
    rows, factors = np.empty(pivot_row.size, np.int64), np.empty(pivot_row.size, np.int64)
    for s in range(pivot_row.size - 1, -1, -1):
        if weights[s] == 0:
            continue
        rows[size], factors[size] = pivot_row[s], weights[s]
        size += 1
        at = last[pivot_row[s]]
        while at >= 0:
            earlier = steps[at, 1]
            weights[earlier] = minus(weights[earlier], times(weights[s], steps[at, 2]))
            at = steps[at, 0]
    return rows[:size], factors[:size], closed


# --- bounds of whole numbers, followed through sums until nothing becomes narrower ----------------


@compiled
def weighted_end(end: int, factor: int, limit: int, no_end: int) -> int:
    """Multiply an end by a factor; ``no_end`` where the product is beyond a limit."""
    # To leave an end out is always right. Another number in its place could be narrower than it.
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

    Relation r counts the numbers ``column`` with the factors ``factor``, never 0, from ``start[r]``
    on; the relations of number c are ``rows_of`` from ``by_column[c]`` on. The bounds are narrowed
    in place; ``FAR`` is no end. Relations in ``waiting`` are looked at first. The log is filled
    with (number, 0 for low or 1 for high, relation, its factor there), in order. Returns how it
    ended, the entries of the log, and the relation that nothing fulfils.
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


# --- covers of sorted values by intervals of one width --------------------------------------------
#
# Positions 0, 1, ..., n lie before, between and after n values, and a cell runs from one position
# to a later one. All that the covers need of the values is, for every position at which a cell
# may end, the first position at which it may begin: the array ``first``, which never decreases.


@compiled
def _first_of_doubles(
    values: NDArray[np.float64], below: float, above: float, room_below: float, room_above: float
) -> NDArray[np.int32]:
    """Return the first position of doubles; the width is a double or between two adjacent ones."""
    # A room is the largest double up to the width less one of the two.
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


@compiled
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
    """
    if values.dtype == np.int64:
        most = min(math.floor(width), 2**64 - 1)
        return np.asarray(_first_of_integers(values, np.uint64(most)))
    below, above = float(width), float(width)
    if Fraction(below) > width:
        below = math.nextafter(below, -math.inf)
    elif Fraction(below) < width:
        above = math.nextafter(above, math.inf)
    rooms = []  # of both the largest double that is not above what the width exceeds it by
    for exact in (width - Fraction(below), width - Fraction(above)):
        room = float(exact)
        rooms.append(room if Fraction(room) <= exact else math.nextafter(room, -math.inf))
    return np.asarray(_first_of_doubles(values, below, above, *rooms))


@compiled
def fewest_cells(first: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the positions between the fewest cells, each as long as it can be, ends included.

    The greedy cover has the fewest cells: by induction, its k-th cut is at or behind the k-th cut
    of any other cover, since ``first`` never decreases. Linear in the number of positions.
    """
    cuts = np.zeros(first.size + 1, np.int32)
    cells = 0
    for end in range(1, first.size):
        if first[end] > cuts[cells]:
            cells += 1
            cuts[cells] = end - 1
    cuts[cells + 1] = first.size - 1
    return cuts[: cells + 2].copy()


@compiled
def _cover(
    first: NDArray[np.int32], mass: NDArray[np.int64], least: int, before: NDArray[np.int32]
) -> bool:
    """Tell whether cells of at least some mass cover everything, and where each begins."""
    # The cell that ends at a position begins at the first reached position from which it may: from
    # any other it would hold less. Of two covers with a cell of one inside a cell of the other, the
    # larger cell may be swapped in, so the first reached position also takes the fewest cells to
    # reach. Position 0 is reached: ``before[0]`` is 0 and is never written.
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


@compiled
def _largest_least(first: NDArray[np.int32], mass: NDArray[np.int64], low: int, high: int) -> int:
    """Bisect on the mass of the smallest cell; the low end is known to be feasible."""
    before = np.zeros(first.size, np.int32)
    while low < high:
        middle = high - (high - low) // 2  # rounded up: a feasible middle raises the low end
        if _cover(first, mass, middle, before):
            low = middle
        else:
            high = middle - 1
    return low


@compiled
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
    fewest cells. Every position but the first must be within reach of an earlier one; the mass
    before each position strictly increases from 0.
    """
    # The greedy cover is feasible with its own smallest cell. No cover has fewer cells, so the
    # smallest cell of any holds at most the average over that many.
    greedy = fewest_cells(first)
    low = int(np.diff(mass[greedy]).min())
    high = int(mass[-1]) // (greedy.size - 1)
    least = int(_largest_least(first, mass, low, high))
    return least, np.asarray(_fewest_with(first, mass, least))
