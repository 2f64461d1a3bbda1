"""The range of a query is exact where it says so, and otherwise certainly enclosed."""

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import Box, Interval, OptionError
from hartley.boxes import parse_expression
from hartley.boxes.enclosure import range_bounds
from hartley.boxes.exact_range import convex_extremes, is_convex, known_range
from hartley.boxes.polynomial import multiplied_out, quadratic_extremes
from hartley.guarantees.answers import reach_bounds
from hartley.policies.quantizer import levels_for_error
from queries import queries


def variance(people):
    names = [f"x{i}" for i in range(1, people + 1)]
    squares, values = " + ".join(f"{n}**2" for n in names), " + ".join(names)
    return f"({squares})/{people} - (({values})/{people})**2"


@pytest.mark.parametrize(
    ("query", "box", "length", "levels"),
    [
        ("x1*(1 - x1)", (0, 1, 1), "1/4", {"1/8": 1, "0.12": 2, "1/16": 2}),
        ("(x1**2 - 2)**2", (0, 2, 1), "4", {"2": 1, "1": 2, "1/2": 4}),
        ("x1**3 - x1", (-1, 1, 1), None, {"1/5": 2, "1/10": 4}),
        ("x1**2*(1 - x1)**2", (0, 1, 1), "1/16", {"1/32": 1, "1/33": 2}),
        ("x1*x2", (-1, 1, 2), "2", {"1": 1}),
        ("x1*x2 - x1**2", (0, 1, 2), "5/4", {"1/8": 5, "5/8": 1}),
        (variance(3), (0, 1, 3), "2/9", {"1/9": 1, "1/18": 2}),
        (variance(4), (0, 1, 4), "1/4", {"1/8": 1}),
        ("x1**2 + 2*x2**2", (-2, 2, 2), "12", {"1/2": 12}),
    ],
)
def test_the_length_and_the_fewest_cells(query, box, length, levels):
    known = known_range(parse_expression(query), Box.cube(box[0], box[1], size=box[2]))
    if length is None:
        assert not known.exact  # 4 / (3 sqrt 3)
        assert known.inner.length**2 < Fraction(16, 27) < known.outer.length**2
    else:
        assert known.exact
        assert known.outer.length == Fraction(length)
    for error, cells in levels.items():
        assert levels_for_error(known.outer.length, error) == cells
        assert levels_for_error(known.inner.length, error) == cells


@pytest.mark.parametrize(
    ("query", "low", "high"),
    [
        ("x*y*z", -1, 1),
        ("x**3*y - y*z**2", -2, 2),  # at both ends of y, powers of one variable
        ("abs(x*y - x**2)", 0, 2),
        ("(x*y - x)**3", -8, 8),
        ("(x + y)**2 + abs(z)", 0, 5),
        ("sqrt(1 + x**2 + x*y + y**2)", 1, 2),
        ("x + sqrt(x + 1)", -1, None),
        ("2*x**3 - (y**4 - y**2)/2", -2, None),
        ("max(x, y) + x", -2, 2),
        ("x/(3 + y) + x", None, None),
        ("7 - -x**2/2", 7, "15/2"),
        ("-3/(x**2 - x - 3)", "12/13", 3),
    ],
)
def test_rules_for_queries_of_higher_degree(query, low, high):
    expression = parse_expression(query)
    box = Box(dict.fromkeys(("x", "y", "z"), (-1, 1)))
    known = known_range(expression, box)
    if low is not None:
        assert known.low.exact
        assert known.outer.low == Fraction(low)
    if high is not None:
        assert known.high.exact
        assert known.outer.high == Fraction(high)
    outer, inner = range_bounds(expression, box)
    assert outer.low <= known.outer.low <= known.inner.low <= inner.low
    assert inner.high <= known.inner.high <= known.outer.high <= outer.high
    assert known.outer.length - known.inner.length < Fraction(1, 10**12)


def test_exp_and_log_are_known_to_the_last_digits_of_a_double():
    known = known_range(
        parse_expression("exp(x)*y + log(z + 1)"), Box({"x": (0, 1), "y": (0, 1), "z": (0, 1)})
    )
    assert not known.exact
    assert known.outer.low <= 0 <= known.inner.low + Fraction(1, 10**14)
    top = math.e + math.log(2)
    assert known.inner.high <= Fraction(top) + Fraction(1, 10**14)
    assert known.outer.high >= Fraction(top) - Fraction(1, 10**14)
    assert known.outer.length - known.inner.length < Fraction(1, 10**13)


def test_what_no_rule_applies_to_is_enclosed_from_both_sides():
    query = parse_expression("exp(x*y) - x**2*y")
    known = known_range(query, Box({"x": (-1, 1), "y": (-1, 1)}))
    assert not known.exact
    assert known.outer.low < known.inner.low < known.inner.high < known.outer.high
    assert known.outer.length - known.inner.length < Fraction(1, 1000)


@pytest.mark.parametrize("query", ["x*y + z", "exp(x)*sqrt(y)", "sqrt(y - 2) + z**3 - z", "exp(x)"])
def test_sides_that_are_a_single_number_are_put_in(query):
    box = Box({"x": (0, 0), "y": (2, 2), "z": (0, 1)})
    known = known_range(parse_expression(query), box)
    values = [
        eval(query, {"exp": math.exp, "sqrt": math.sqrt}, {"x": 0, "y": 2, "z": k / 1000})  # noqa: S307 - written above
        for k in range(1001)
    ]
    assert float(known.outer.low) == pytest.approx(min(values), abs=1e-6)
    assert float(known.outer.high) == pytest.approx(max(values), abs=1e-6)


def test_constant_queries_and_undefined_ones_are_refused():
    box = Box({"x": (-1, 1)})
    with pytest.raises(OptionError, match="does not name a variable"):
        known_range(parse_expression("1 + 2"), box)
    with pytest.raises(OptionError, match="divides by zero"):
        known_range(parse_expression("1/x"), box)


# --- random queries -------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    tree=queries(
        (["+", "-", "*", "min", "max"], ["neg", "abs"]), st.fractions(-3, 3, max_denominator=4)
    ).filter(lambda tree: tree.names),
    low=st.integers(-3, 2),
    length=st.integers(0, 3),
)
@settings(max_examples=150, deadline=None)
def test_every_value_on_a_grid_lies_in_the_range_and_exact_ends_are_attained(tree, low, length):
    box = Box({"x": (low, low + length), "y": (-1, 1)})
    known = known_range(tree, box)
    steps = [Fraction(k, 12) for k in range(13)]
    values = [tree.at({"x": low + length * a, "y": 2 * b - 1}) for a, b in product(steps, steps)]
    assert known.outer.low <= min(values)
    assert max(values) <= known.outer.high
    outer, _ = range_bounds(tree, box)
    slack = Fraction(1, 10**9) * (1 + abs(outer.low) + abs(outer.high))
    # What is known to be attained lies in the enclosure by branch and bound.
    assert outer.low - slack <= known.inner.low
    assert known.inner.high <= outer.high + slack


# --- how far one person moves a query -------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_the_sensitivity_of_a_quadratic_is_exact(seed):
    rng = random.Random(seed)  # noqa: S311 - seeded test cases
    numbers = [rng.randint(-3, 3) for _ in range(5)]
    a, b, c, d, e = numbers
    query = parse_expression(f"{a}*x**2 + {b}*x*y + {c}*y**2 + {d}*x + {e}*y + 0*x*x")
    box = Box({"x": (rng.randint(-2, 0), rng.randint(1, 2)), "y": (-1, rng.randint(0, 2))})
    if not query.names or query.linear() is not None:
        return
    least, most = reach_bounds(query, box)
    assert least == most
    parts = 12
    sides = {
        n: [s.low + s.length * k / parts for k in range(parts + 1)] for n, s in box.sides.items()
    }
    moved = Fraction(0)
    for moving, other in (("x", "y"), ("y", "x")):
        for fixed in sides[other]:
            values = [query.at({moving: v, other: fixed}) for v in sides[moving]]
            moved = max(moved, max(values) - min(values))
    assert moved <= least
    assert least - moved <= Fraction(3 * 16 * (abs(a) + abs(b) + abs(c)), parts * parts)


def test_the_sensitivity_of_one_variable_is_the_length_of_its_range():
    least, most = reach_bounds(parse_expression("x**4 - 2*x**2"), Box({"x": (-1, 2)}))
    assert least == most == 9


# --- convex and concave quadratics of many variables ----------------------------------------------


@pytest.mark.parametrize("size", [9, 12])
def test_the_variance_of_many_people_has_an_exact_range(size):
    known = known_range(parse_expression(variance(size)), Box.cube(0, 1, size=size))
    assert known.exact
    assert known.outer == Interval(0, Fraction((size // 2) * ((size + 1) // 2), size**2))


@pytest.mark.parametrize("seed", range(12))
def test_all_faces_give_the_same_range(seed):
    """A sum of squares of random linear forms is convex; the other rule looks at every face."""
    rng = random.Random(seed)  # noqa: S311 - repeatable cases
    names = ["a", "b", "c", "d"]
    forms = [
        "("
        + " + ".join(f"{rng.randint(-3, 3)}*{name}" for name in names)
        + f" - {rng.randint(-4, 4)})"
        for _ in range(rng.randint(1, 4))
    ]
    sign = rng.choice(["", "-"])
    text = sign + "(" + " + ".join(f"{form}**2" for form in forms) + ")"
    text += " + " + " + ".join(f"{rng.randint(-5, 5)}/3*{name}" for name in names)
    polynomial = multiplied_out(parse_expression(text))
    sides = {name: Interval(rng.randint(-3, 0), rng.randint(1, 3)) for name in names}
    ends = convex_extremes(polynomial, sides)
    assert ends == quadratic_extremes(polynomial, sides)


def test_what_is_neither_convex_nor_concave_has_no_such_rule():
    unit = {"x": Interval(0, 1), "y": Interval(0, 1)}
    assert convex_extremes(multiplied_out(parse_expression("x*y - x**2")), unit) is None


@pytest.mark.parametrize("seed", range(20))
def test_convexity_is_what_eigenvalues_say(seed):
    rng = np.random.default_rng(seed)
    factor = rng.integers(-2, 3, (3, 4))
    matrix = factor.T @ factor - np.diag(rng.integers(0, 2, 4) * (seed % 2))
    least = np.linalg.eigvalsh(matrix.astype(float)).min()
    assert is_convex(matrix.tolist()) == (least > -1e-9)
