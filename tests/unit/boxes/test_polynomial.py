"""Polynomials agree with their expressions everywhere; their extremes lie between two bounds."""

import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from hartley import Box, Interval
from hartley.boxes import parse_expression
from hartley.boxes.polynomial import (
    Bracket,
    components,
    curve_extremes,
    enclosed,
    fraction,
    largest,
    least,
    multiplied_out,
    quadratic_extremes,
    rational,
    slope_signs,
)
from queries import queries

NAMES = ("x", "y", "z")
numbers = st.fractions(-3, 3, max_denominator=4)


def at(polynomial, values):
    return fraction(polynomial(*(rational(values[name]) for name in polynomial.context().names())))


@pytest.mark.slow
@given(
    tree=queries((["+", "-", "*"], ["neg"]), numbers, names=NAMES, leaves=8),
    divisor=numbers,
    point=st.tuples(numbers, numbers, numbers),
)
@settings(max_examples=120, deadline=None)
def test_a_polynomial_has_the_values_of_its_expression(tree, divisor, point):
    tree = tree * (tree - 1) / (divisor or 1)
    values = dict(zip(NAMES, point, strict=True))
    polynomial = multiplied_out(tree)
    truth = tree.at(values)
    assert at(polynomial, values) == truth
    constant = at(polynomial, dict.fromkeys(NAMES, Fraction(0)))
    assert sum((at(part, values) for part in components(polynomial)), constant) == truth
    low, high = enclosed(polynomial, {n: Interval(v - 1, v + 2) for n, v in values.items()})
    assert low <= truth <= high


@pytest.mark.parametrize("query", ["exp(x)", "1/x", "x/(1 + y)", "abs(x)", "min(x, y)", "x**64*x"])
def test_other_queries_are_no_polynomials(query):
    assert multiplied_out(parse_expression(query)) is None


def test_a_query_that_multiplies_out_to_too_many_terms_is_left_as_it_is():
    many = " + ".join(f"x{i}" for i in range(80))
    assert multiplied_out(parse_expression(f"({many})**2")) is None
    assert multiplied_out(parse_expression(f"({many})**3")) is None
    assert len(multiplied_out(parse_expression(f"({many}) + 1"))) == 81


def test_terms_that_cancel_are_gone():
    whole = multiplied_out(parse_expression("(x + y)**2 - (x - y)**2 - 4*x*y + z"))
    assert [str(part) for part in components(whole)] == ["z"]


# --- slopes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "signs"),
    [
        ("x*y", (0, 1)),  # y lies in [-1, 1], x in [1, 2]
        ("x**3 - y", (1, -1)),
        ("x**2 + abs(x)", (1,)),
        ("abs(y)", (0,)),
        ("-exp(y)*x", (-1, -1)),
        ("log(x)/x**4", (0,)),
        ("1/x + min(x, 3 + y)", (0, 1)),
        ("sqrt(y + 1) + y", (1,)),  # without bound at its low end, and rising all the same
        ("sqrt(y + 1) - y", (0,)),
        ("max(x, 2*x) - y**0", (1, 1)),  # what does not occur never falls
        ("5 - sqrt(x)", (-1,)),
    ],
)
def test_signs_of_slopes(query, signs):
    expression = parse_expression(query)
    found = slope_signs(expression, {"x": Interval(1, 2), "y": Interval(-1, 1)})
    assert found == dict(zip(sorted(expression.names), signs, strict=True))


@pytest.mark.slow
@given(
    tree=queries((["+", "-", "*", "min", "max"], ["neg", "abs"]), numbers, leaves=6).filter(
        lambda tree: tree.names
    ),
    low=st.integers(-2, 1),
)
@settings(max_examples=100, deadline=None)
def test_a_certain_sign_is_never_contradicted(tree, low):
    sides = {"x": Interval(low, low + 1), "y": Interval(-1, 2)}
    steps = [Fraction(k, 6) for k in range(7)]
    for name, sign in slope_signs(tree, sides).items():
        other = "y" if name == "x" else "x"
        for fixed in (sides[other].low + sides[other].length * k for k in steps):
            values = [
                sign * tree.at({other: fixed, name: sides[name].low + sides[name].length * k})
                for k in steps
            ]
            assert values == sorted(values)


# --- critical values ------------------------------------------------------------------------------


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
    terms = [f"{rng.randint(-2, 2)}"]
    for i, one in enumerate(names):
        terms.append(f"({rng.randint(-4, 4)})*{one}/{rng.randint(1, 3)}")
        terms += [f"({rng.randint(-3, 3)})*{one}*{other}" for other in names[i:]]
    return parse_expression(" + ".join(terms))


def on_grid(query, sides, names, parts):
    steps = [
        [sides[name].low + sides[name].length * k / parts for k in range(parts + 1)]
        for name in names
    ]
    return [query.at(dict(zip(names, point, strict=True))) for point in product(*steps)]


@pytest.mark.parametrize("seed", range(200))
def test_quadratics_lie_between_a_grid_and_an_interval_enclosure(seed):
    rng = random.Random(1000 + seed)  # noqa: S311 - seeded test cases
    names = ("x", "y", "z")[: rng.randint(1, 3)]
    query = random_quadratic(rng, names)
    polynomial = multiplied_out(query)
    sides = {}
    for name in names:
        low = Fraction(rng.randint(-3, 2))
        sides[name] = Interval(low, low + Fraction(rng.randint(1, 4), 2))
    bottom, top = quadratic_extremes(polynomial, sides)
    parts = {1: 60, 2: 16, 3: 8}[len(names)]
    grid = on_grid(query, sides, names, parts)
    assert bottom <= min(grid)
    assert max(grid) <= top
    outer = enclosed(polynomial, sides)
    assert outer[0] <= bottom
    assert top <= outer[1]
    # Half a step from a grid point an extreme point in a face differs by the bend alone.
    bend = sum(
        abs(fraction(by)) * max(side.length for side in sides.values()) ** 2
        for powers, by in polynomial.terms()
        if sum(powers) == 2
    ) / (parts * parts)
    assert min(grid) - bottom <= bend
    assert top - max(grid) <= bend


def test_a_singular_face_is_left_through_a_smaller_one_with_the_same_value():
    # (x - y)^2 is least all along the diagonal, where the system of the whole square is singular.
    sides = Box({"x": (0, 3), "y": (1, 2)}).sides
    assert quadratic_extremes(multiplied_out(parse_expression("(x - y)**2")), sides) == (0, 4)


def test_the_least_and_the_largest_of_brackets_need_not_say_which():
    values = [Bracket(Fraction(0), Fraction(5)), Bracket(Fraction(2), Fraction(3))]
    assert least(values) == Bracket(Fraction(0), Fraction(3))
    assert largest(values) == Bracket(Fraction(2), Fraction(5))
