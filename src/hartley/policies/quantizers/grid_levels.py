"""How many equal cells each of several queries gets that are released together."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Literal

from hartley.errors import OptionError
from hartley.policies.quantizers.calibration import cells_reached, levels_for_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

Norm = Literal["sup", "euclidean"]
"""How errors of several queries are put together: the largest, or the length of their vector."""
MOST_SHARED = 2**16
"""Up to so many outputs every way to share them among queries is compared."""
MOST_SEARCHED_LEVELS = 2**53
"""Doubles tell no more cells apart."""
MOST_TRIED_GRIDS = 400_000
"""So many grids are compared, in some seconds; the number grows like the cells of the others."""
PI_ABOVE = Fraction(31415926535897932384627, 10**22)
"""A little more than pi."""


# --- the fewest cells within an error -------------------------------------------------------------


def grid_within_error(lengths: Sequence[Fraction], error: Fraction) -> tuple[int, ...]:
    r"""Return the numbers of cells of the smallest grid within a Euclidean error.

    .. math:: \min \prod_j q_j \quad\text{s.t.}\quad \sum_j (L_j / q_j)^2 \le 4 e^2

    Exact: branch and bound in rationals, one query after another. While the rest may take any
    real numbers of cells, the least product is known in closed form and has one minimum over the
    cells of the present query, so that the search walks away from it in both directions until it
    exceeds the best grid so far. Of grids of one size it is the first in lexicographic order.

    Example:
        >>> grid_within_error([Fraction(1), Fraction(1)], Fraction(3, 10))
        (2, 4)
    """
    if error <= 0:
        raise OptionError(
            "The error is not positive",
            hint="give a positive error; a release with an error of 0 is the truth",
        )
    places = [j for j, length in enumerate(lengths) if length]
    squares = [lengths[j] ** 2 for j in places]
    levels = _smallest_grid(squares, 4 * error**2)
    placed = dict(zip(places, levels, strict=True))
    return tuple(placed.get(j, 1) for j in range(len(lengths)))


def _smallest_grid(squares: Sequence[Fraction], allowed: Fraction) -> tuple[int, ...]:
    """Search for the least product of q_j with the sum of squares[j] / q_j^2 within a limit."""
    if not squares:
        return ()
    equal = tuple(_root_above(len(squares) * square / allowed) for square in squares)
    if max(equal) > MOST_SEARCHED_LEVELS:
        raise _too_many_cells()
    best = (math.prod(equal), equal)
    tried = 0

    def search(chosen: tuple[int, ...], product: int, allowance: Fraction) -> None:
        nonlocal best
        square, rest = squares[len(chosen)], squares[len(chosen) + 1 :]
        if not rest:
            levels = _root_above(square / allowance)
            best = min(best, (product * levels, (*chosen, levels)))
            return

        def is_hopeless(levels: int) -> bool:
            nonlocal tried
            tried += 1
            if tried > MOST_TRIED_GRIDS:
                raise _too_many_cells()
            after = allowance - square / levels**2
            if after <= 0:
                return True
            # The least product of the rest, any real numbers allowed: all terms are equal then.
            least = math.prod(rest) * (len(rest) / after) ** len(rest)
            return (product * levels) ** 2 * least > best[0] ** 2

        middle = _root_above((len(rest) + 1) * square / allowance)
        for levels, step in ((middle, 1), (middle - 1, -1)):
            while levels >= 1 and not is_hopeless(levels):
                search((*chosen, levels), product * levels, allowance - square / levels**2)
                levels += step  # noqa: PLW2901 - walks away from the middle

    search((), 1, allowed)
    return best[1]


def _too_many_cells() -> OptionError:
    return OptionError(
        "This error takes too many cells to look for the smallest grid",
        hint="allow a larger error",
    )


def _root_above(number: Fraction) -> int:
    """Return the least natural number of 1 or more whose square is not below a number."""
    whole = math.ceil(number)
    root = math.isqrt(whole)
    return max(1, root if root * root == whole else root + 1)


def balls_needed(volume: Fraction, dimension: int, error: Fraction) -> int:
    r"""Return so many cells that no release within a Euclidean error has fewer, by volume.

    .. math:: \lceil \mu / (V_k e^k) \rceil

    A cell is released as one point, so that it lies in a ball of radius e, whatever its shape. A
    lower bound, with the volume of the ball rounded up.

    Example:
        >>> balls_needed(Fraction(25500), 2, Fraction(10))
        82
    """
    return math.ceil(volume / (ball_volume_above(dimension) * error**dimension))


def ball_volume_above(dimension: int) -> Fraction:
    r"""Return a rational number that is not below the volume of the unit ball.

    .. math:: V_k = \frac{2 \pi}{k} V_{k-2}, \qquad V_0 = 1, \quad V_1 = 2

    Example:
        >>> [round(float(ball_volume_above(k)), 6) for k in (1, 2, 3)]
        [2.0, 3.141593, 4.18879]
    """
    if dimension < 2:
        return Fraction(1 + dimension)
    return 2 * PI_ABOVE / dimension * ball_volume_above(dimension - 2)


# --- the least error within a number of outputs ---------------------------------------------------


def levels_within_outputs(
    errors: Sequence[Fraction],
    reaches: Sequence[Fraction],
    outputs: int,
    norm: Norm = "sup",
) -> tuple[int, ...]:
    r"""Return the numbers of cells with the least error of which one person meets so many.

    .. math:: \prod_j N_j \le K, \qquad q_j = \max(N_j, \lfloor (N_j - 1) L_j / S_j \rfloor)

    Farokhi 2019 (Noiseless Privacy), Theorem 8, corrected, for several queries. All ways to share
    K outputs among the queries are compared; where the largest error is the same, the Euclidean
    one decides, then the lexicographic order. Exact. Grows like K^(3/4) a query. Of more than
    2^16 outputs the largest error is least still, but no tie is broken.

    Args:
        errors: the (weighted) error of every query released in one cell, half its range.
        reaches: how far one person moves each query, as a share of its range.
        outputs: the most outputs K that one person may produce.
        norm: which error is least.

    Example:
        >>> half, tenth = [Fraction(1, 2)] * 2, [Fraction(1, 10)] * 2
        >>> levels_within_outputs(half, tenth, 8)
        (10, 30)
    """
    fewest = [1] * len(errors)
    if norm == "sup":
        largest = _least_largest(errors, reaches, outputs)
        needed = [max(1, math.ceil(error / largest)) for error in errors]
        fewest = [
            cells_reached(Fraction(1), reach, q) for reach, q in zip(reaches, needed, strict=True)
        ]
    if outputs > MOST_SHARED:
        if norm == "euclidean":
            raise OptionError(
                f"The least Euclidean error is looked for among up to {MOST_SHARED:,} outputs",
                hint='give fewer bits, or norm = "sup"',
            )
        return tuple(_levels(reach, n) for reach, n in zip(reaches, fewest, strict=True))
    return _least_sum_of_squares(errors, reaches, outputs, fewest)


def _levels(reach: Fraction, outputs: int) -> int:
    return levels_for_outputs(Fraction(1), reach, outputs)


def _least_largest(
    errors: Sequence[Fraction], reaches: Sequence[Fraction], outputs: int
) -> Fraction:
    """Return the least error that all queries can keep at once; one of them has it exactly."""

    def is_kept(largest: Fraction) -> bool:
        reached = 1
        for error, reach in zip(errors, reaches, strict=True):
            reached *= cells_reached(Fraction(1), reach, max(1, math.ceil(error / largest)))
        return reached <= outputs

    feasible = [max(errors)]
    for error, reach in zip(errors, reaches, strict=True):
        # The most cells that are known to fit, and the most that could.
        low, high = 0, _levels(reach, outputs)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if is_kept(error / middle) else (low, middle - 1)
        if low:
            feasible.append(error / low)
    return min(feasible)


def _least_sum_of_squares(
    errors: Sequence[Fraction], reaches: Sequence[Fraction], outputs: int, fewest: Sequence[int]
) -> tuple[int, ...]:
    """Share outputs among queries, each with its fewest at least, by dynamic programming.

    Of all shares that leave the others as much, the largest is best, so that for a limit B only
    the numbers floor(B / m) are tried.
    """
    last = len(errors) - 1
    after = [math.prod(fewest[j + 1 :]) for j in range(len(errors))]

    @cache
    def best(j: int, limit: int) -> tuple[Fraction, tuple[int, ...]]:
        error, reach = errors[j], reaches[j]
        if j == last:
            levels = _levels(reach, limit)
            return (error / levels) ** 2, (levels,)
        options = []
        share = limit // after[j]
        while share >= fewest[j]:
            rest = limit // share
            share = limit // rest  # the largest share that leaves as much
            if rest >= after[j]:
                levels = _levels(reach, share)
                squares, others = best(j + 1, rest)
                options.append(((error / levels) ** 2 + squares, (levels, *others)))
            share = limit // (rest + 1)
        return min(options)

    return best(0, outputs)[1]
