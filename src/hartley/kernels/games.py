"""Membership games: which of two candidates was in the group whose aggregate was released?

Readings are whole numbers on a grid (codes), so that the sum of a group, its cell and what is
consistent with that cell are exact. A game draws its random numbers from the seed and its own
number, so the result does not depend on the thread that plays it.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numba
import numpy as np

from hartley.kernels.compiling import compiled
from hartley.kernels.counters import GOLDEN, ONE, bounded_draw, first_state, mixed
from hartley.kernels.releasing import Steps, inlined, release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Function = TypeVar("Function", bound=Callable[..., Any])

CORRELATION, SQUARED_ERROR, PEAKS, CONSISTENCY = range(4)
"""Columns of the outcomes, one a strategy."""
SHIFTS = tuple(np.uint64(1 + strategy) for strategy in range(4))
TIE = 1e-9
"""Correlations nearer than this, or squared errors in proportion, are equal: a coin decides."""
READINGS_A_TASK = 4_000_000
"""A task of a thread is a number of games with about so many readings in all."""


def _summing(function: Function) -> Function:
    """Compile with sums in any order: the rounding is far smaller than what counts as a tie."""
    free = {"reassoc", "nsz"}
    try:
        return numba.njit(nogil=True, cache=True, fastmath=free)(function)  # type: ignore[return-value]  # called like the function
    except RuntimeError:  # nowhere to write: compile anew in every process
        return numba.njit(nogil=True, fastmath=free)(function)  # type: ignore[return-value]  # called like the function


class Profiles(NamedTuple):
    """The readings of everybody, one row a person, and what the strategies need of each row."""

    codes: NDArray[Any]
    """Whole numbers, as 32-bit integers or doubles, so small that the sum of a group fits too."""
    peaks: NDArray[np.uint8]
    moments: NDArray[np.float64]
    """Of each person the sum, the sum of squares, and one over the number of readings times their
    deviation, 0 where all are equal."""


class Rules(NamedTuple):
    """Who plays: the size of the group, and the candidates where they are always the same."""

    group: int
    first: int
    second: int
    """Both -1 where every game draws its own candidates."""


# --- random numbers -----------------------------------------------------------------------------


@inlined
def _draw_game(
    seed: np.uint64,
    game: np.uint64,
    rules: Rules,
    order: NDArray[np.int64],
    swaps: NDArray[np.int64],
) -> np.uint64:
    """Move the candidates and the others of a game to the front; return the bits of its coins."""
    state = first_state(seed, game)
    # The first steps of a Fisher-Yates shuffle; candidates that are fixed stay in their places.
    # Every swap is noted, so that `_undo` restores the order without copying it.
    for place in range(2 if rules.first >= 0 else 0, rules.group + 1):
        state += GOLDEN
        other = place + bounded_draw(state, order.size - place)
        swaps[place] = other
        order[place], order[other] = order[other], order[place]
    return mixed(state + GOLDEN)


@inlined
def _undo(rules: Rules, order: NDArray[np.int64], swaps: NDArray[np.int64]) -> None:
    """Restore the order, so that the next game does not depend on this one."""
    start = 2 if rules.first >= 0 else 0
    for place in range(rules.group, start - 1, -1):
        other = swaps[place]
        order[place], order[other] = order[other], order[place]


@compiled
def _first_order(people: int, rules: Rules) -> NDArray[np.int64]:
    order = np.arange(people)
    if rules.first >= 0:
        order[0], order[rules.first] = order[rules.first], order[0]
        at = 0
        for i in range(people):
            if order[i] == rules.second:
                at = i
        order[1], order[at] = order[at], order[1]
    return order


@compiled
def drawn_games(
    seed: np.uint64, first: int, count: int, people: int, rules: Rules
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return who plays in some games, the two candidates before the others, and their coins.

    Bit 0 of the coins says which candidate takes part; bit 1 + s decides ties of strategy s.

    Example:
        >>> who, coins = drawn_games(np.uint64(1), 0, 2, 5, Rules(2, -1, -1))
        >>> who.shape, coins.shape
        ((2, 3), (2,))
    """
    order, swaps = _first_order(people, rules), np.zeros(rules.group + 1, np.int64)
    who = np.empty((count, rules.group + 1), np.int64)
    coins = np.empty(count, np.uint64)
    for game in range(count):
        coins[game] = _draw_game(seed, np.uint64(first + game), rules, order, swaps)
        who[game] = order[: rules.group + 1]
        _undo(rules, order, swaps)
    return who, coins


# --- sums --------------------------------------------------------------------------------


@inlined
def _add_up(
    codes: NDArray[Any], who: NDArray[np.int64], truth: np.int64, group: int, sums: NDArray[Any]
) -> None:
    """Add up the readings of the candidate who takes part and of the others."""
    first = np.uint64(who[truth])
    for t in range(sums.size):
        sums[t] = codes[first, t]
    for i in range(2, group + 1):
        row = np.uint64(who[i])
        for t in range(sums.size):
            sums[t] += codes[row, t]


# --- strategies ---------------------------------------------------------------------------------


@_summing
def _moments(
    padded: NDArray[np.float64],
    codes: NDArray[Any],
    peaks: NDArray[np.uint8],
    first: np.uint64,
    second: np.uint64,
) -> tuple[float, float, float, float, float]:
    """Return sums over the released numbers, each less the first one, and a count of peaks.

    The sums are those of the numbers, of their squares and of their products with the readings of
    both candidates. The count says how many more peaks the release shares with the first candidate
    than with the second. The release is padded by one place on both sides, where nobody has a peak.
    """
    start = padded[1]  # numbers near zero: less is lost when squares are subtracted later
    total = square = with_first = with_second = more = 0.0
    for t in range(padded.size - 2):
        value = padded[t + 1] - start
        total += value
        square += value * value
        with_first += value * codes[first, t]
        with_second += value * codes[second, t]
        peak = (padded[t + 1] > padded[t]) & (padded[t + 1] >= padded[t + 2])
        difference = float(np.int32(peaks[first, t]) - np.int32(peaks[second, t]))
        more += difference if peak else 0.0
    return total, square, with_first, with_second, more


@inlined
def _compare(
    padded: NDArray[np.float64],
    codes: NDArray[Any],
    peaks: NDArray[np.uint8],
    moments: NDArray[np.float64],
    pair: tuple[np.uint64, np.uint64],
) -> tuple[float, float, float]:
    """Return by how much the first candidate fits better than the second, 0 for a tie.

    One score a strategy: correlation, squared error, shared peaks.
    """
    first, second = pair
    total, square, with_first, with_second, more = _moments(padded, codes, peaks, first, second)
    size, start = padded.size - 2, padded[1]
    sum_first, squares_first, scale_first = moments[first, 0], moments[first, 1], moments[first, 2]
    sum_second, squares_second = moments[second, 0], moments[second, 1]
    scale_second = moments[second, 2]
    # Both correlations have the factor 1 / sqrt(spread), which is left out: the comparison with
    # TIE is squared instead. A constant release has no spread and is a tie.
    spread = size * square - total * total
    better = (size * with_first - sum_first * total) * scale_first
    better -= (size * with_second - sum_second * total) * scale_second
    correlation = better if better * better > TIE * TIE * spread else 0.0
    # The squared error of the second candidate less that of the first, multiplied out: the squares
    # of the release cancel, and `start` is added to it again.
    better = squares_second - squares_first
    better += 2 * (with_first - with_second + start * (sum_first - sum_second))
    level = square + 2 * start * total + size * start * start
    error = better if abs(better) > TIE * (squares_first + squares_second + level) else 0.0
    return correlation, error, more


# --- games --------------------------------------------------------------------------------------


@inlined
def _outcome(score: float, coin: np.uint64, truth: np.int64) -> int:
    """Return 2 or -2 for a choice by score, 1 or -1 by a coin; positive where it is right.

    Without branches: half of them would be mispredicted. A positive score names candidate 0.
    """
    by_coin = np.int64(score == 0)
    named = by_coin * np.int64(coin) + (1 - by_coin) * np.int64(score < 0)
    return (2 - by_coin) * (1 - 2 * (named ^ truth))  # type: ignore[return-value]  # a whole number


@compiled
def play_some(  # noqa: PLR0913, PLR0917 - a compiled loop takes plain arrays
    seed: np.uint64,
    first: int,
    profiles: Profiles,
    steps: Steps,
    rules: Rules,
    out: NDArray[np.int8],
) -> None:
    """Play the games from a number on and write the outcome of every strategy in each.

    2 is a right and -2 a wrong choice by score, 1 and -1 the same by a coin.
    """
    people, size = profiles.codes.shape
    order, swaps = _first_order(people, rules), np.zeros(rules.group + 1, np.int64)
    sums, padded = np.empty(size, profiles.codes.dtype), np.zeros(size + 2)
    codes, peaks, moments = profiles.codes, profiles.peaks, profiles.moments
    runs, equal = steps.runs, steps.equal
    for game in range(out.shape[0]):
        coins = _draw_game(seed, np.uint64(first + game), rules, order, swaps)
        truth = np.int64(coins & ONE)
        _add_up(codes, order, truth, rules.group, sums)
        other = np.uint64(order[1 - truth])
        excluded = release(sums, codes, other, padded, steps, runs, equal, rules.group)
        pair = (np.uint64(order[0]), np.uint64(order[1]))
        scores = _compare(padded, codes, peaks, moments, pair)
        out[game, 0] = _outcome(scores[0], (coins >> SHIFTS[0]) & ONE, truth)
        out[game, 1] = _outcome(scores[1], (coins >> SHIFTS[1]) & ONE, truth)
        out[game, 2] = _outcome(scores[2], (coins >> SHIFTS[2]) & ONE, truth)
        # Only the candidate who did not take part can be excluded: the score is 0 or names the
        # other one, so consistency is never wrong except by its coin.
        by_exclusion = float((1 - 2 * truth) * excluded)
        out[game, 3] = _outcome(by_exclusion, (coins >> SHIFTS[3]) & ONE, truth)
        _undo(rules, order, swaps)


@compiled
def count_outcomes(out: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return in how many games each strategy was right, and in how many a coin decided.

    Example:
        >>> count_outcomes(np.array([[2, -1, 1, 1], [2, -2, -1, 2]], np.int8))
        (array([2, 0, 1, 2]), array([0, 1, 2, 1]))
    """
    wins, coins = np.zeros(4, np.int64), np.zeros(4, np.int64)
    for game in range(out.shape[0]):
        for s in range(4):
            wins[s] += out[game, s] > 0
            coins[s] += abs(out[game, s]) == 1
    return wins, coins


def play_games(  # noqa: PLR0913 - what a game is made of
    profiles: Profiles,
    steps: Steps,
    rules: Rules,
    *,
    games: int,
    seed: int,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Iterator[NDArray[np.int8]]:
    """Yield the outcomes of games in their order, some at a time, one row a game.

    The columns are the strategies; 2 is a right and -2 a wrong choice by score, 1 and -1 the
    same by a coin. The number of threads changes only the time.
    """
    # A whole number of any size is a seed; all its bits count.
    key = np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    step = max(1, READINGS_A_TASK // (profiles.codes.shape[1] * (rules.group + 4)))
    starts = range(0, games, step)

    def play(start: int) -> NDArray[np.int8]:
        out = np.empty((min(step, games - start), 4), np.int8)
        play_some(key, start, profiles, steps, rules, out)
        return out

    pool = ThreadPoolExecutor(threads or os.cpu_count() or 1, thread_name_prefix="hartley-games")
    try:
        for start, out in zip(starts, pool.map(play, starts), strict=True):
            yield out
            if progress is not None:
                progress(min(1.0, (start + step) / games))
    finally:
        pool.shutdown(cancel_futures=True)
