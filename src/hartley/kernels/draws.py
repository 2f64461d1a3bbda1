"""Exact random draws, one value a row, and the release of sums in games."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from hartley.kernels.pairs import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


BITS = 62
"""Probabilities are whole multiples of 2^-62, so that their sums fit in a machine word."""
LANES = 16
"""Blocks of the cipher that are computed side by side, which compiles to vector instructions."""
WORDS = 8
"""The 64-bit words of one block."""
CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4").astype(np.uint32)
UNIT, NEXT = np.uint32(1), np.uint64(1)

inlined = numba.njit(inline="always")
"""For parts of a short game: passing named tuples of arrays takes longer than the game."""


# --- draws from rows of probabilities: a keystream and alias tables, all integers -----------------
#
# The random words are those of the cipher ChaCha20 (Bernstein 2008), by row number: word r of the
# keystream decides row r, however the rows are split into chunks and threads. Nobody can predict
# the words without the key. A guarantee about random perturbation needs that, and an ordinary
# random number generator does not provide it.


@compiled
def alias_tables(weights: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return tables that draw from rows of weights, each adding to 2^62, in one look-up.

    Walker's method (1977) in whole numbers: cells of equal size, as many as the next power of
    two, each shared by at most two values; the first takes what lies below its threshold. Exact:
    the parts of a value add up to its weight. Linear in the size of the tables.
    """
    rows, values = weights.shape
    cells = 1
    while cells < values:
        cells *= 2
    # Cells are a power of two, so this divides without a rest: all cells together hold 2^62.
    capacity = np.int64(1 << BITS) // cells
    thresholds = np.zeros((rows, cells), np.int64)
    aliases = np.empty((rows, cells), np.int32)
    small, large = np.empty(cells, np.int32), np.empty(cells, np.int32)
    for row in range(rows):
        remaining = np.zeros(cells, np.int64)
        remaining[:values] = weights[row]
        under, over = 0, 0
        for cell in range(cells):
            aliases[row, cell] = cell
            if remaining[cell] < capacity:
                small[under] = cell
                under += 1
            else:
                large[over] = cell
                over += 1
        while under > 0:
            under -= 1
            # While some cell lacks weight another has too much, since all weights add up to all
            # cells: the giver exists, and after giving it still has zero or more.
            cell, giver = small[under], large[over - 1]
            thresholds[row, cell] = remaining[cell]
            aliases[row, cell] = giver
            remaining[giver] -= capacity - remaining[cell]
            if remaining[giver] < capacity:
                over -= 1
                small[under] = giver
                under += 1
        for place in range(over):
            thresholds[row, large[place]] = capacity
    return thresholds, aliases


@compiled
def draw_rows(
    codes: NDArray[np.int32],
    key: NDArray[np.uint32],
    first: int,
    thresholds: NDArray[np.int64],
    aliases: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return a drawn value for every row, by its code and its number in the whole table.

    Row r takes the upper 62 bits of word r of the keystream: the first of them name a cell of its
    alias table, the others decide within it. Some 15 ns a row. The key has 8 words; ``first`` is
    the number of the first row.
    """
    shift = np.uint64(BITS)
    cells = 1
    while cells < thresholds.shape[1]:
        cells *= 2
        shift -= np.uint64(1)
    inside = (np.uint64(1) << shift) - np.uint64(1)
    drawn = np.empty(codes.size, np.int32)
    state = np.empty((16, LANES), np.uint32)
    words = np.empty(LANES * WORDS, np.uint64)
    block = first // WORDS
    skipped = first - block * WORDS
    place = 0
    while place < codes.size:
        _keystream(key, block, state, words)
        for at in range(skipped, min(words.size, codes.size - place + skipped)):
            word = words[at] >> np.uint64(64 - BITS)
            cell = np.int64(word >> shift)
            code = codes[place]
            below = np.int64(word & inside) < thresholds[code, cell]
            drawn[place] = cell if below else aliases[code, cell]
            place += 1
        skipped = 0
        block += LANES
    return drawn


@compiled
def random_words(key: NDArray[np.uint32], first: int, count: int) -> NDArray[np.uint64]:
    """Return words of the keystream from a number on: 64 bits each, unpredictable without key."""
    drawn = np.empty(count, np.uint64)
    state = np.empty((16, LANES), np.uint32)
    words = np.empty(LANES * WORDS, np.uint64)
    block = first // WORDS
    skipped = first - block * WORDS
    place = 0
    while place < count:
        _keystream(key, block, state, words)
        for at in range(skipped, min(words.size, count - place + skipped)):
            drawn[place] = words[at]
            place += 1
        skipped = 0
        block += LANES
    return drawn


@compiled
def _keystream(
    key: NDArray[np.uint32], first: int, state: NDArray[np.uint32], words: NDArray[np.uint64]
) -> None:
    """Fill in the words of the blocks from a number on, nonce 0, a 64-bit counter."""
    for lane in range(LANES):
        for place in range(16):
            state[place, lane] = _start(key, np.uint64(first + lane), place)
    for _ in range(10):
        _quarter(state, 0, 4, 8, 12)
        _quarter(state, 1, 5, 9, 13)
        _quarter(state, 2, 6, 10, 14)
        _quarter(state, 3, 7, 11, 15)
        _quarter(state, 0, 5, 10, 15)
        _quarter(state, 1, 6, 11, 12)
        _quarter(state, 2, 7, 8, 13)
        _quarter(state, 3, 4, 9, 14)
    for lane in range(LANES):
        counter = np.uint64(first + lane)
        for word in range(WORDS):
            low = np.uint32(state[2 * word, lane] + _start(key, counter, 2 * word))
            high = np.uint32(state[2 * word + 1, lane] + _start(key, counter, 2 * word + 1))
            words[lane * WORDS + word] = np.uint64(low) | (np.uint64(high) << np.uint64(32))


@compiled
def _start(key: NDArray[np.uint32], counter: np.uint64, place: int) -> np.uint32:
    """Return a word of the state before the rounds."""
    if place < 4:
        return np.uint32(CONSTANTS[place])
    if place < 12:
        return np.uint32(key[place - 4])
    if place == 12:
        return np.uint32(counter & np.uint64(0xFFFFFFFF))
    return np.uint32(counter >> np.uint64(32)) if place == 13 else np.uint32(0)


@compiled
def _quarter(state: NDArray[np.uint32], p: int, q: int, r: int, s: int) -> None:
    """Mix four words of every lane: a quarter round of ChaCha, its words named as in RFC 8439."""
    for lane in range(LANES):
        a, b, c, d = state[p, lane], state[q, lane], state[r, lane], state[s, lane]
        a = np.uint32(a + b)
        d = _turn(d ^ a, 16)
        c = np.uint32(c + d)
        b = _turn(b ^ c, 12)
        a = np.uint32(a + b)
        d = _turn(d ^ a, 8)
        c = np.uint32(c + d)
        b = _turn(b ^ c, 7)
        state[p, lane], state[q, lane], state[r, lane], state[s, lane] = a, b, c, d


@compiled
def _turn(word: np.uint32, places: int) -> np.uint32:
    return np.uint32((word << np.uint32(places)) | (word >> np.uint32(32 - places)))


# --- step functions that release sums, and whom a release excludes, exactly -----------------------


class Steps(NamedTuple):
    """What is released of a sum of codes: one or several step functions, laid end to end.

    Cell k of a function holds the sums from threshold k - 1 up to, not including, threshold k.
    The guide says with which cell to begin for a sum in each of many equal stretches.
    """

    runs: NDArray[np.int64]
    """Rows (first reading, end, function); function -1 releases the sum as it is."""
    equal: NDArray[np.float64]
    """Of each function of equal cells: factor, origin, width, last cell, first value and step.

    Whole numbers: cell k begins where factor sum - origin is k width. A factor of 0 says that the
    cells are not equal, or not in whole numbers that fit: then the table below holds them.
    """
    thresholds: NDArray[np.float64]
    """Of each cell its end, infinite for the last cell of a function."""
    values: NDArray[np.float64]
    """What is released for each cell, in the unit of one person's code."""
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    """The least and the largest code of a member, given the cell."""
    guide: NDArray[np.uint32]
    guide_at: NDArray[np.int64]
    """Where the guide of each function begins."""
    base: float
    scale: NDArray[np.float64]
    """The number of the stretch of a sum is floor((sum - base) scale)."""
    others_least: float
    others_most: float
    """The least and the largest sum of the codes of all members but one."""


@compiled
def _release_equal(  # noqa: PLR0913, PLR0917 - a compiled loop takes plain arrays
    sums: NDArray[Any],
    codes: NDArray[Any],
    other: np.uint64,
    padded: NDArray[np.float64],
    run: tuple[int, int],
    equal: tuple[float, float, float, float, float, float],
    others: tuple[float, float],
) -> int:
    """Release sums in equal cells, without a branch or a table, so several at once."""
    factor, origin, width, last, first, step = equal
    inverse, middle = 1.0 / width, origin - 0.5
    # Everything below is in units in which cell k begins at k width. The candidate is excluded if
    # the sum misses the cell even with the largest sum of the others (it ends below), or with
    # the least (it begins above). The first and the last cell have no outer edge.
    above, below = factor * others[0] - origin - width, factor * others[1] - origin
    excluded = 0
    for i in range(run[1] - run[0]):
        t = np.uint64(run[0] + i)
        # Whole numbers and a half are half a unit off every edge, more than the product rounds.
        cell = np.floor((factor * sums[t] - middle) * inverse)
        cell = min(max(cell, 0.0), last)
        padded[t + NEXT] = first + cell * step
        code, edge = factor * codes[other, t], cell * width
        is_below = (cell > 0.0) & (code + below < edge)
        is_above = (cell < last) & (code + above >= edge)
        excluded |= is_below | is_above
    return excluded


@compiled
def _release_listed(  # noqa: PLR0913, PLR0917 - a compiled loop takes plain arrays
    sums: NDArray[Any],
    codes: NDArray[Any],
    other: np.uint64,
    padded: NDArray[np.float64],
    run: tuple[int, int],
    steps: Steps,
    function: int,
) -> int:
    """Release sums in cells that a table lists."""
    thresholds, values, guide = steps.thresholds, steps.values, steps.guide
    least, most = steps.least, steps.most
    base, scale, at = steps.base, steps.scale[function], np.uint32(steps.guide_at[function])
    excluded = 0
    for i in range(run[1] - run[0]):
        t = np.uint64(run[0] + i)
        total, code = float(sums[t]), float(codes[other, t])
        # The guide counts the edges in earlier stretches, by the same arithmetic, so it never
        # begins behind the right cell; the loop passes the edges within the stretch.
        cell = guide[np.uint32(at + np.uint32((total - base) * scale))]
        while total >= thresholds[cell]:
            cell += UNIT
        padded[t + NEXT] = values[cell]
        excluded |= (code < least[cell]) | (code > most[cell])
    return excluded


@inlined
def release(  # noqa: PLR0913, PLR0917 - a compiled loop takes plain arrays
    sums: NDArray[Any],
    codes: NDArray[Any],
    other: np.uint64,
    padded: NDArray[np.float64],
    steps: Steps,
    runs: NDArray[np.int64],
    equal: NDArray[np.float64],
    group: int,
) -> int:
    """Write what is released of every sum; return 1 if that excludes the absent candidate.

    The candidate who takes part is always consistent with the release, which is what happened:
    only the other one can be excluded. The released numbers are padded by one place on both
    sides. Indices are unsigned: numba wraps negative ones around, which costs a check each.
    """
    excluded = 0
    for i in range(runs.shape[0]):
        run, function = (runs[i, 0], runs[i, 1]), runs[i, 2]
        if function < 0:
            for t in range(sums.size):
                padded[t + 1] = sums[t] / group
                # If this candidate were in the group, the others would add up to the rest.
                rest = float(sums[t]) - float(codes[other, t])
                excluded |= (rest < steps.others_least) | (rest > steps.others_most)
        elif equal[function, 0] > 0:
            excluded |= _release_equal(
                sums,
                codes,
                other,
                padded,
                run,
                (
                    equal[function, 0],
                    equal[function, 1],
                    equal[function, 2],
                    equal[function, 3],
                    equal[function, 4],
                    equal[function, 5],
                ),
                (steps.others_least, steps.others_most),
            )
        else:
            excluded |= _release_listed(sums, codes, other, padded, run, steps, function)
    return 1 if excluded else 0
