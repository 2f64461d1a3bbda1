"""Images of boxes against corners, hulls and clipped polygons; balls around polytopes, exactly."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from hartley import Box, Interval, OptionError, UniformQuantizer
from hartley.boxes import Zonotope
from hartley.boxes.zonotope import even_slab_ball, slab_corners, smallest_ball

DIAMOND = Zonotope.of(["x1 + x2", "x1 - x2"], Box.cube(0, 1, size=2))


def inner(low, high, levels):
    return UniformQuantizer(low, high, levels).edges[1:-1]


# --- an independent oracle: hull of all corners, clipped by the closed cell ----------------------


def hull(points):
    """The corners of the convex hull, counterclockwise, by turns."""
    points = sorted(set(points))
    if len(points) < 3:
        return points

    def half(walk):
        corners = []
        for p in walk:
            while len(corners) > 1 and cross(corners[-2], corners[-1], p) <= 0:
                corners.pop()
            corners.append(p)
        return corners

    below, above = half(points), half(points[::-1])
    return below[:-1] + above[:-1]


def cross(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def clip(polygon, axis, bound, sign):
    """Keep the part of a polygon with sign * (coordinate - bound) >= 0."""
    kept = []
    for k, p in enumerate(polygon):
        q = polygon[(k + 1) % len(polygon)]
        a, b = sign * (p[axis] - bound), sign * (q[axis] - bound)
        if a >= 0:
            kept.append(p)
        if (a > 0 > b) or (a < 0 < b):
            t = a / (a - b)
            kept.append(tuple(p[i] + t * (q[i] - p[i]) for i in (0, 1)))
    return kept


def met_by_clipping(corners, cuts):
    met = 0
    far = 10**6
    for ends in product(*(zip((-far, *c), (*c, far), strict=True) for c in cuts)):
        part = corners
        for axis, (low, high) in enumerate(ends):
            for bound, sign in ((low, 1), (high, -1)):
                part = clip(part, axis, Fraction(bound), sign) if part else part
        # The middle of all corners lies below an open end unless all of them lie on it.
        met += bool(part) and all(
            any(p[axis] < high for p in part) for axis, (_, high) in enumerate(ends)
        )
    return met


def corners_of(weights, sides, shifts):
    return [
        tuple(
            shift + sum(w * x for w, x in zip(row, point, strict=True))
            for row, shift in zip(weights, shifts, strict=True)
        )
        for point in product(*sides)
    ]


small = st.integers(-3, 3)


@pytest.mark.slow
@given(
    weights=st.integers(1, 4).flatmap(
        lambda n: st.tuples(*[st.tuples(*[small] * n), st.tuples(*[small] * n)])
    ),
    levels=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    shift=st.fractions(-1, 1, max_denominator=4),
)
@settings(max_examples=150, deadline=None)
def test_cells_and_area_are_those_of_the_clipped_hull(weights, levels, shift):
    names = [f"x{k}" for k in range(1, len(weights[0]) + 1)]
    box = Box({name: (k % 2, 1 + k) for k, name in enumerate(names)})
    queries = [" + ".join(f"({w})*{n}" for w, n in zip(row, names, strict=True)) for row in weights]
    image = Zonotope.of(queries, box)
    sides = [(box[name].low, box[name].high) for name in names]
    corners = hull(corners_of(weights, sides, (0, 0)))
    extents = [(min(p[i] for p in corners), max(p[i] for p in corners)) for i in (0, 1)]
    assert [(side.low, side.high) for side in image.sides] == extents
    area = sum(
        (p[0] * q[1] - q[0] * p[1])
        for p, q in zip(corners, (*corners[1:], corners[0]), strict=True)
    )
    assert image.volume == Fraction(area) / 2
    # Cells of the own range, and cells that are shifted or end before it.
    for move in (0, shift):
        cuts = [
            inner(low + move, high, q) if low + move < high else ()
            for (low, high), q in zip(extents, levels, strict=True)
        ]
        if sum(any(row[k] for k in range(len(names))) for row in weights) == 2:
            assert image.cells_met(cuts)[0] == met_by_clipping(corners, cuts)


@pytest.mark.parametrize(("levels", "met"), [(2, 4), (4, 13), (8, 43), (16, 151)])
def test_the_cells_of_a_diamond(levels, met):
    assert DIAMOND.cells_met([inner(0, 2, levels), inner(-1, 1, levels)]) == (met, True)


def test_a_cell_that_holds_the_last_corner_alone_is_met():
    cuts = [Fraction(0), Fraction(2)], [Fraction(-1), Fraction(0), Fraction(1)]
    corners = hull(corners_of([(1, 1), (1, -1)], [(0, 1), (0, 1)], (0, 0)))
    # Below 0, from 0 on, and 1 itself, which x = 1 attains; then the corner at 2.
    assert DIAMOND.cells_met(cuts) == (met_by_clipping(corners, cuts), True) == (4, True)


def test_queries_without_a_common_variable_are_counted_apart():
    image = Zonotope.of(["x1", "x2 + x3", "x2 - x3"], Box.cube(0, 1, size=3))
    cuts = [inner(0, 1, 3), inner(0, 2, 4), inner(-1, 1, 4)]
    assert image.cells_met(cuts) == (39, True)
    assert (image.is_box, image.volume) == (False, 2)


def test_three_queries_that_hang_together_are_bounded_by_a_pair():
    image = Zonotope.of(["x1 + x2", "x1 - x2", "x1"], Box.cube(0, 1, size=2))
    cuts = [inner(0, 2, 4), inner(-1, 1, 4), inner(0, 1, 2)]
    met, exact = image.cells_met(cuts)
    assert not exact
    tried = {
        tuple(
            sum(cut <= value for cut in row)
            for row, value in zip(cuts, (a + b, a - b, a), strict=True)
        )
        for a in (Fraction(k, 40) for k in range(41))
        for b in (Fraction(k, 40) for k in range(41))
    }
    assert len(tried) <= met < 32
    assert image.volume == 0


def test_a_box_is_its_own_image():
    image = Zonotope.of(["2*x1 + 3", "x2 + x3"], Box.cube(0, 1, size=3))
    assert image.is_box
    assert [str(side) for side in image.sides] == ["[3, 5]", "[0, 2]"]
    assert image.volume == 4


def test_of_many_generators_no_volume_is_computed():
    names = [f"x{k}" for k in range(1, 301)]
    queries = ["+".join(names), "+".join(f"{k}*{n}" for k, n in enumerate(names))]
    assert Zonotope.of(queries, Box.cube(0, 1, size=300)).volume is None


@pytest.mark.parametrize("queries", [[], ["x1*x2"], ["x1", "x1**2"]])
def test_only_linear_queries_have_such_an_image(queries):
    with pytest.raises(OptionError, match="linear queries only"):
        Zonotope.of(queries, Box.cube(0, 1, size=2))


# --- smallest balls ------------------------------------------------------------------------------

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
