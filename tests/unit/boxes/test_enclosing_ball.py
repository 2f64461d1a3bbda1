"""Smallest balls around polytopes, exactly."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from hartley import Box, Interval
from hartley.boxes.zonotope import even_slab_ball, slab_corners, smallest_ball

whole = st.integers(-4, 4).map(Fraction)


def square(one, other):
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[whole] * n), min_size=1, max_size=9))
)
def test_the_ball_holds_all_points_and_its_centre_lies_among_those_on_its_surface(points):
    centre, radius = smallest_ball(points)
    assert all(square(point, centre) <= radius for point in points)
    on_surface = [point for point in points if square(point, centre) == radius]
    # The smallest ball is the one whose centre is a mixture of the points on its surface.
    rows = np.array([[float(a - c) for a, c in zip(p, centre, strict=True)] for p in on_surface])
    found = minimize(
        lambda w: float(((w @ rows) ** 2).sum()),
        np.full(len(rows), 1 / len(rows)),
        bounds=[(0, 1)] * len(rows),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    )
    assert found.fun < 1e-5


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(whole, whole), min_size=2, max_size=7, unique=True))
def test_no_ball_through_two_or_three_points_of_the_plane_is_smaller(points):
    radius = smallest_ball(points)[1]
    best = []
    for one, other in combinations(points, 2):
        middle = tuple((a + b) / 2 for a, b in zip(one, other, strict=True))
        best.append((middle, square(middle, one)))
    for a, b, c in combinations(points, 3):
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if area:
            ab, ac = square(a, b), square(a, c)
            x = a[0] + ((c[1] - a[1]) * ab - (b[1] - a[1]) * ac) / (2 * area)
            y = a[1] + ((b[0] - a[0]) * ac - (c[0] - a[0]) * ab) / (2 * area)
            best.append(((x, y), square((x, y), a)))
    held = [r for centre, r in best if all(square(p, centre) <= r for p in points)]
    assert radius == min(held)


def test_the_corners_of_a_cube_lie_on_one_ball():
    corners = slab_corners(Box.cube(-1, 1, size=4), [Fraction(1)] * 4, Interval(-9, 9))
    assert len(corners) == 16
    assert smallest_ball(corners) == ((0, 0, 0, 0), 4)


@settings(max_examples=60, deadline=None)
@given(st.lists(whole, min_size=1, max_size=4), whole, st.integers(0, 5))
def test_corners_of_a_slab_lie_in_it_and_span_it(coefficients, low, length):
    box = Box.cube(0, 2, size=len(coefficients))
    slab = Interval(low, low + length)
    corners = slab_corners(box, coefficients, slab)
    for corner in corners:
        assert sum(c * x for c, x in zip(coefficients, corner, strict=True)) in slab
        assert all(0 <= x <= 2 for x in corner)
        assert sum(x not in (0, 2) for x in corner) <= 1
    # The largest value of any direction over the slab is attained at a corner.
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 2, (4000, len(coefficients)))
    values = points @ np.array([float(c) for c in coefficients])
    inside = points[(values >= float(slab.low)) & (values <= float(slab.high))]
    direction = rng.normal(size=len(coefficients))
    if len(inside):
        reach = max(float(np.dot(direction, [float(x) for x in corner])) for corner in corners)
        assert (inside @ direction).max() <= reach + 1e-9


def test_a_slab_beside_the_box_has_no_corners():
    assert slab_corners(Box.cube(0, 1, size=2), [Fraction(1), Fraction(1)], Interval(5, 6)) == []


def test_a_single_point_is_its_own_ball():
    assert smallest_ball([(Fraction(3), Fraction(4))]) == ((3, 4), 0)
    assert smallest_ball([(Fraction(1),), (Fraction(1),)])[1] == pytest.approx(0)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.integers(1, 5), st.fractions(0, 1), st.fractions(0, 1))
def test_the_ball_around_an_even_slab_is_that_of_its_corners(size, one, other):
    low, high = sorted((one * size, other * size))
    corners = slab_corners(Box.cube(0, 1, size=size), [Fraction(1)] * size, Interval(low, high))
    centre, square_radius = smallest_ball(corners)
    assert even_slab_ball(size, low, high) == (centre[0], square_radius)
    assert len(set(centre)) == 1
