"""Where a query certainly rises or falls along a variable, against its values on a grid."""

from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from expressions import expressions
from hartley import Interval
from hartley.boxes import parse_expression
from hartley.boxes.polynomial import slope_signs


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


TREES = expressions(
    pairs=["+", "-", "*", "min", "max"], alone=["neg", "abs"], powers=st.integers(0, 3), largest=6
)


@pytest.mark.slow
@given(tree=TREES.filter(lambda tree: tree.names), low=st.integers(-2, 1))
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
