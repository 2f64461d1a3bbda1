"""Step functions that release sums of whole numbers, and whom a release excludes, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNIT, NEXT = np.uint32(1), np.uint64(1)

inlined = numba.njit(inline="always")
"""For parts of a short game: passing named tuples of arrays takes longer than the game."""


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
