"""Smallest enclosing balls of polytopes, in exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.ranges.boxes.box import Box, Interval

    Point = tuple[Fraction, ...]
    Ball = tuple[Point, Fraction]
    """A centre and the square of a radius; a negative one for the empty ball."""


def slab_corners(box: Box, coefficients: Sequence[Fraction], slab: Interval) -> list[Point]:
    """Return the corners of the part of a box where a linear form lies in a closed interval.

    Every corner lies on an edge of the box. Exact. Grows as n 2^n for n sides.

    Example:
        >>> from hartley.ranges.boxes.box import Box, Interval
        >>> triangle = slab_corners(Box.cube(0, 2, size=2), [1, 1], Interval(0, 1))
        >>> [tuple(map(str, corner)) for corner in triangle]
        [('0', '0'), ('1', '0'), ('0', '1')]
    """
    sides = list(box.sides.values())
    corners: dict[Point, None] = {}
    for corner in product(*((side.low, side.high) for side in sides)):
        value = sum((c * x for c, x in zip(coefficients, corner, strict=True)), Fraction(0))
        if slab.low <= value <= slab.high:
            corners[corner] = None
        for axis, side in enumerate(sides):
            by = coefficients[axis]
            # Every edge is looked at once, from its lower end; along a variable that does not count
            # the form does not change, and the edge meets a plane nowhere or wholly.
            if corner[axis] != side.low or not by:
                continue
            for level in (slab.low, slab.high):
                place = side.low + (level - value) / by
                if side.low < place < side.high:
                    corners[*corner[:axis], place, *corner[axis + 1 :]] = None
    return list(corners)


def even_slab_ball(size: int, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    r"""Return the ball around the part of the unit cube whose coordinates add up to a range.

    .. math:: \{u \in [0,1]^n : s_1 \le \textstyle\sum_i u_i \le s_2\}

    Nothing changes when coordinates are swapped, so the centre is (c, ..., c). Of all points whose
    coordinates add up to s, the longest has ones, zeros and a rest: |u|^2 = floor(s) + frac(s)^2,
    and the square distance from the centre is that less 2 c s plus n c^2. Largest at the ends or
    at the first or last whole number between them, so four parabolas decide. Exact, at any n.

    Returns:
        The coordinate c of the centre and the square of the radius.

    Example:
        >>> centre, square = even_slab_ball(3, Fraction(0), Fraction(1, 2))  # t^2 (n - 1) / n
        >>> print(centre, square)
        1/6 1/6
    """
    places = {Fraction(low), Fraction(high)}
    if math.ceil(low) <= math.floor(high):
        places |= {Fraction(math.ceil(low)), Fraction(math.floor(high))}
    squares = {s: math.floor(s) + (s - math.floor(s)) ** 2 for s in places}
    centres = {s / size for s in places} | {
        (squares[s] - squares[t]) / (2 * (s - t)) for s, t in combinations(places, 2)
    }
    balls = [
        (max(squares[s] - 2 * c * s for s in places) + size * c * c, c) for c in sorted(centres)
    ]
    square, centre = min(balls)
    return centre, square


def smallest_ball(points: Sequence[Point]) -> Ball:
    """Return the centre and the squared radius of the smallest ball that holds some points.

    The ball of a few points is found by Welzl's recursion (1991); the point furthest outside
    joins those on its surface until none is outside, and the radius grows each time. Exact.

    Example:
        >>> centre, square = smallest_ball([(0, 0), (0, 2), (2, 0), (1, 1)])
        >>> tuple(map(str, centre)), str(square)
        (('1', '1'), '2')
    """
    support: list[Point] = [points[0]]
    while True:
        (centre, square), support = _welzl(support, [])
        furthest, far = max(
            ((point, _square_distance(point, centre)) for point in points),
            key=lambda candidate: candidate[1],
        )
        if far <= square:
            return centre, square
        support = [furthest, *support]


def _welzl(points: list[Point], surface: list[Point]) -> tuple[Ball, list[Point]]:
    """Return the smallest ball of points with others on its surface, and what pins it down."""
    if not points:
        return _round(surface), surface
    ball, pinned = _welzl(points[:-1], surface)
    # The comparison is exact, so the recursion cannot go round in circles as it may in doubles.
    if ball[1] >= 0 and _square_distance(points[-1], ball[0]) <= ball[1]:
        return ball, pinned
    return _welzl(points[:-1], [*surface, points[-1]])


def _round(surface: list[Point]) -> Ball:
    """Return the smallest ball with affinely independent points on its surface."""
    if not surface:
        return (), Fraction(-1)
    origin = surface[0]
    edges = [[x - o for x, o in zip(point, origin, strict=True)] for point in surface[1:]]
    system = [[2 * _dot(a, b) for b in edges] for a in edges]
    weights = _solve(system, [_dot(edge, edge) for edge in edges])
    shift = [
        sum((w * edge[axis] for w, edge in zip(weights, edges, strict=True)), Fraction(0))
        for axis in range(len(origin))
    ]
    return tuple(o + s for o, s in zip(origin, shift, strict=True)), _dot(shift, shift)


def _solve(system: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve a positive definite system by elimination."""
    rows = [[*row, value] for row, value in zip(system, right, strict=True)]
    for i, pivot in enumerate(rows):
        scaled = [Fraction(value) / pivot[i] for value in pivot]
        rows[i] = scaled
        for j, row in enumerate(rows):
            if j != i and row[i]:
                rows[j] = [a - row[i] * b for a, b in zip(row, scaled, strict=True)]
    return [row[-1] for row in rows]


def _dot(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(first, second, strict=True)), Fraction(0))


def _square_distance(point: Point, from_point: Point) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(point, from_point, strict=True)), Fraction(0))
