"""Sparse elimination modulo a prime: which numbers follow from sums by adding and subtracting."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRIME = 2**61 - 1
"""A Mersenne prime: remainders are taken by adding halves, and products fit three words."""


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

    Args:
        start: where each sum begins.
        column: its numbers, in order.
        value: their factors, modulo the prime.
        columns: how many numbers there are.
        most: the most entries of all rows, old and new; elimination stops beyond.

    Returns:
        the pivot rows and columns in order; where each pivot row begins and ends, its columns and
        values; for each row the subtractions, as (previous place, pivot, factor) from ``last``;
        and whether elimination came to its end.
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
