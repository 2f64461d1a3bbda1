"""Exact ranges of convex and concave polynomials of degree two in many variables."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.ranges.polynomials.critical_values import whole_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.ranges.boxes.box import Interval
    from hartley.ranges.polynomials.polynomial import Polynomial

MOST_CORNERED = 16
"""Up to so many variables all corners of the box are looked at."""
NEAR = 1e-7
"""A numerical minimum so near to an end is tried at the end."""
FINEST = 2**20
"""A variable along which nothing changes is put at a fraction of so fine a denominator."""


def convex_extremes(
    polynomial: Polynomial, sides: Mapping[str, Interval]
) -> tuple[Fraction, Fraction] | None:
    r"""Return the least and the largest value of a convex or concave quadratic in a box.

    A convex one is largest at a corner; all are compared. Where it is least a numerical search
    proposes, and the conditions of Karush, Kuhn and Tucker prove in exact numbers: slopes of zero
    between the ends, none that falls at a lower end and none that rises at an upper one. Convexity
    itself is decided by exact elimination. None of other polynomials, and where the proof fails.
    Exact. Grows as 2^d for d variables.

    Example:
        >>> from hartley.ranges.boxes.box import Interval
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> from hartley.ranges.polynomials.polynomial import Polynomial
        >>> unit = {"x": Interval(0, 1), "y": Interval(0, 1)}
        >>> ends = convex_extremes(Polynomial.of(parse_expression("(x - y)**2 + x")), unit)
        >>> print(*ends)
        0 2
    """
    if len(polynomial.names) > MOST_CORNERED:
        return None
    (offset, linear, curved), scale = whole_unit(polynomial, sides)
    for sign in (1, -1):
        bent = [[sign * entry for entry in row] for row in curved]
        if not is_convex(bent):
            continue
        slopes = [sign * slope for slope in linear]
        bottom = _least(slopes, bent)
        if bottom is None:
            return None
        ends = [sign * (bottom + sign * offset), sign * (_at_corners(slopes, bent) + sign * offset)]
        return min(ends) / scale, max(ends) / scale
    return None


def is_convex(matrix: Sequence[Sequence[int]]) -> bool:
    """Tell whether a symmetric matrix has no negative eigenvalue, by exact elimination.

    Example:
        >>> is_convex([[1, -1], [-1, 1]]), is_convex([[1, 2], [2, 1]]), is_convex([[0, 1], [1, 0]])
        (True, False, False)
    """
    rows = [[Fraction(entry) for entry in row] for row in matrix]
    while rows:
        pivot, *right = rows[0]
        if pivot < 0 or (pivot == 0 and any(right)):
            return False
        if pivot == 0:
            rows = [row[1:] for row in rows[1:]]
            continue
        rows = [
            [entry - row[0] * above / pivot for entry, above in zip(row[1:], right, strict=True)]
            for row in rows[1:]
        ]
    return True


def _at_corners(slopes: Sequence[int], bent: Sequence[Sequence[int]]) -> Fraction:
    """Return the largest value of b u + u H u / 2 at a corner of the unit cube."""
    size = len(slopes)
    bound = 2 * sum(map(abs, slopes)) + sum(abs(entry) for row in bent for entry in row)
    kind: Any = np.int64 if bound < 2**62 else object
    corners = ((np.arange(2**size)[:, None] >> np.arange(size)) & 1).astype(kind)
    curved = (corners @ np.array(bent, dtype=kind) * corners).sum(axis=1)
    values = curved + 2 * (corners @ np.array(slopes, dtype=kind))
    return Fraction(int(values.max()), 2)


def _least(slopes: Sequence[int], bent: Sequence[Sequence[int]]) -> Fraction | None:
    """Return the least value of a convex b u + u H u / 2 in the unit cube, where it is proved."""
    place = _proved_place(slopes, bent, _proposed(slopes, bent))
    if place is None:
        return None
    pulls = [sum((h * u for h, u in zip(row, place, strict=True)), Fraction(0)) for row in bent]
    return sum(
        ((b + pull / 2) * u for b, pull, u in zip(slopes, pulls, place, strict=True)), Fraction(0)
    )


def _proposed(slopes: Sequence[int], bent: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return a place near which the least value is, numerically."""
    from scipy.optimize import minimize

    largest = max(1, *map(abs, slopes), *(abs(entry) for row in bent for entry in row))
    b = np.array([float(Fraction(slope, largest)) for slope in slopes])
    h = np.array([[float(Fraction(entry, largest)) for entry in row] for row in bent])
    answer = minimize(
        lambda u: float(b @ u + u @ h @ u / 2),
        np.full(len(b), 0.5),
        jac=lambda u: b + h @ u,
        method="L-BFGS-B",
        bounds=[(0, 1)] * len(b),
        options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 5000},
    )
    return np.asarray(answer.x)


def _proved_place(
    slopes: Sequence[int], bent: Sequence[Sequence[int]], near: NDArray[np.float64]
) -> list[Fraction] | None:
    """Return an exact place with the conditions of a least value, near a proposed one."""
    size = len(slopes)
    place = [
        Fraction(0) if u < NEAR else Fraction(1) if u > 1 - NEAR else None for u in near.tolist()
    ]
    free = [i for i in range(size) if place[i] is None]
    fixed = [(i, u) for i, u in enumerate(place) if u is not None]
    system = [
        [Fraction(bent[i][j]) for j in free]
        + [-slopes[i] - sum((bent[i][j] * u for j, u in fixed), Fraction(0))]
        for i in free
    ]
    guesses = [Fraction(round(float(near[i]) * FINEST), FINEST) for i in free]
    solved = _solution(system, guesses)
    if solved is None:
        return None
    values = dict(fixed) | dict(zip(free, solved, strict=True))
    whole = [values[i] for i in range(size)]
    for i, u in enumerate(whole):
        slope = slopes[i] + sum((h * v for h, v in zip(bent[i], whole, strict=True)), Fraction(0))
        is_least = slope == 0 or (u == 0 and slope > 0) or (u == 1 and slope < 0)
        if not 0 <= u <= 1 or not is_least:
            return None
    return whole


def _solution(system: list[list[Fraction]], guesses: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve linear equations exactly; what they leave open is as guessed. None without solution."""
    rows, size, pivots = [list(row) for row in system], len(guesses), list[int]()
    for column in range(size):
        done = len(pivots)
        best = next((r for r in range(done, len(rows)) if rows[r][column]), None)
        if best is None:
            continue
        rows[done], rows[best] = rows[best], rows[done]
        top = rows[done] = [entry / rows[done][column] for entry in rows[done]]
        for r, row in enumerate(rows):
            if r != done and row[column]:
                rows[r] = [a - row[column] * b for a, b in zip(row, top, strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    values = list(guesses)
    for row, column in zip(rows, pivots, strict=False):
        rest = sum(
            (row[j] * values[j] for j in range(size) if j != column and j not in pivots),
            Fraction(0),
        )
        values[column] = row[-1] - rest
    return values
