"""Extreme values of polynomials, compared with grids from within and intervals from outside."""

import random
from fractions import Fraction

import pytest

from hartley import Box, Interval
from hartley.boxes.polynomial import (
    Bracket,
    Polynomial,
    curve_extremes,
    largest,
    least,
    quadratic_extremes,
)


def horner(coefficients, x):
    total = 0
    for by in reversed(coefficients):
        total = total * x + by
    return total


def outer_curve(coefficients, low, high, parts=64):
    """Enclose a polynomial on an interval by Horner's rule in intervals, cut into parts."""
    ends = []
    for k in range(parts):
        a, b = low + (high - low) * k / parts, low + (high - low) * (k + 1) / parts
        bottom = top = Fraction(0)
        for by in reversed(coefficients):
            corners = [end * x for end in (bottom, top) for x in (a, b)]
            bottom, top = min(corners) + by, max(corners) + by
        ends.append((bottom, top))
    return min(end[0] for end in ends), max(end[1] for end in ends)


@pytest.mark.parametrize("seed", range(200))
def test_curves_lie_between_a_grid_and_an_interval_enclosure(seed):
    rng = random.Random(seed)  # noqa: S311 - seeded test cases
    degree = rng.randint(1, 7)
    curve = [Fraction(rng.randint(-9, 9), rng.randint(1, 4)) for _ in range(degree)]
    curve.append(Fraction(rng.choice([-3, -2, -1, 1, 2, 3])))
    low = Fraction(rng.randint(-8, 4), 4)
    high = low + Fraction(rng.randint(1, 12), 4)
    bottom, top = curve_extremes(curve, Interval(low, high))
    grid = [horner(curve, low + (high - low) * k / 200) for k in range(201)]
    outer = outer_curve(curve, low, high)
    scale = max(grid) - min(grid) or 1
    assert outer[0] <= bottom.low <= bottom.high <= min(grid) + bottom.high - bottom.low
    assert max(grid) - (top.high - top.low) <= top.low <= top.high <= outer[1]
    # The grid comes close to every extreme value, so that a value too far out would show.
    steepest = (
        max(abs(by) * i for i, by in enumerate(curve))
        * degree
        * max(1, abs(low), abs(high)) ** degree
    )
    near = steepest * (high - low) / 400
    assert min(grid) - near <= bottom.low
    assert top.high <= max(grid) + near
    assert max(bottom.high - bottom.low, top.high - top.low) <= scale * Fraction(1, 2**58)


@pytest.mark.parametrize(
    ("curve", "ends", "expected"),
    [
        ([0, 1, -1], (0, 1), (0, Fraction(1, 4))),
        ([4, 0, -4, 0, 1], (0, 2), (0, 4)),  # the value 0 at the irrational root of two
        ([0, 0, 1, -2, 1], (0, 1), (0, Fraction(1, 16))),
        ([5], (0, 1), (5, 5)),
        ([1, 2], (-1, 3), (-1, 7)),
        ([0, 0, 0, 1], (-1, 1), (-1, 1)),  # a critical point that is not extreme
        ([0, 0, 1], (2, 2), (4, 4)),
    ],
)
def test_rational_extremes_are_exact(curve, ends, expected):
    low, high = curve_extremes([Fraction(by) for by in curve], Interval(*ends))
    assert (low, high) == tuple(map(Bracket.exactly, expected))


def test_an_irrational_extreme_is_enclosed_and_never_called_exact():
    # x^3 - x has 2 / (3 sqrt 3) at the root of a third: its square is 4/27.
    low, high = curve_extremes([Fraction(n) for n in (0, -1, 0, 1)], Interval(-1, 1))
    assert not low.exact
    assert high.low**2 < Fraction(4, 27) < high.high**2
    assert high.high - high.low < Fraction(1, 2**59)
    assert (-low.high, -low.low) == (high.low, high.high)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_repeated_roots_of_the_slope_are_isolated_once(power):
    # ((x - 1)^2 + 1/7)^power is least in 1, with value 7^-power.
    base, curve = [Fraction(8, 7), Fraction(-2), Fraction(1)], [Fraction(1)]
    for _ in range(power):
        curve = [
            sum((curve[i] * base[k - i] for i in range(len(curve)) if 0 <= k - i < 3), Fraction(0))
            for k in range(len(curve) + 2)
        ]
    low, _ = curve_extremes(curve, Interval(0, 3))
    assert low == Bracket.exactly(Fraction(1, 7**power))


def random_quadratic(rng, names):
    terms = {}
    for i, one in enumerate(names):
        terms[((one, 1),)] = Fraction(rng.randint(-4, 4), rng.randint(1, 3))
        terms[((one, 2),)] = Fraction(rng.randint(-3, 3))
        for other in names[i + 1 :]:
            terms[((one, 1), (other, 1))] = Fraction(rng.randint(-3, 3))
    terms[()] = Fraction(rng.randint(-2, 2))
    return Polynomial({term: by for term, by in terms.items() if by})


def on_grid(polynomial, sides, names, parts):
    points = [()]
    for name in names:
        side = sides[name]
        steps = [side.low + side.length * k / parts for k in range(parts + 1)]
        points = [(*point, x) for point in points for x in steps]
    return [polynomial.at(dict(zip(names, point, strict=True))).constant for point in points]


@pytest.mark.parametrize("seed", range(200))
def test_quadratics_lie_between_a_grid_and_an_interval_enclosure(seed):
    rng = random.Random(1000 + seed)  # noqa: S311 - seeded test cases
    names = ("x", "y", "z")[: rng.randint(1, 3)]
    polynomial = random_quadratic(rng, names)
    sides = {}
    for name in names:
        low = Fraction(rng.randint(-3, 2))
        sides[name] = Interval(low, low + Fraction(rng.randint(1, 4), 2))
    if not polynomial.names:
        return
    bottom, top = quadratic_extremes(polynomial, sides)
    parts = {1: 60, 2: 16, 3: 8}[len(names)]
    grid = on_grid(polynomial, sides, names, parts)
    assert bottom <= min(grid)
    assert max(grid) <= top
    outer = polynomial.enclosed(sides)
    assert outer[0] <= bottom
    assert top <= outer[1]
    # Half a step from a grid point an extreme point in a face differs by the bend alone.
    bend = sum(
        abs(by) * max(side.length for side in sides.values()) ** 2
        for term, by in polynomial.terms.items()
        if sum(power for _, power in term) == 2
    ) / (parts * parts)
    assert min(grid) - bottom <= bend
    assert top - max(grid) <= bend


def test_a_singular_face_is_left_through_a_smaller_one_with_the_same_value():
    # (x - y)^2 is least all along the diagonal, where the system of the whole square is singular.
    square = Polynomial(
        {(("x", 2),): Fraction(1), (("y", 2),): Fraction(1), (("x", 1), ("y", 1)): Fraction(-2)}
    )
    sides = Box({"x": (0, 3), "y": (1, 2)}).sides
    assert quadratic_extremes(square, sides) == (0, 4)


def test_the_least_and_the_largest_of_brackets_need_not_say_which():
    values = [Bracket(Fraction(0), Fraction(5)), Bracket(Fraction(2), Fraction(3))]
    assert least(values) == Bracket(Fraction(0), Fraction(3))
    assert largest(values) == Bracket(Fraction(2), Fraction(5))
