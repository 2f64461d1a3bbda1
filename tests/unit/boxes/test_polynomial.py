"""Polynomials read off expressions agree with them everywhere."""

from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley import Interval
from hartley.boxes import parse_expression
from hartley.boxes.expression import Expression
from hartley.boxes.polynomial import Polynomial

NAMES = ("x", "y", "z")
numbers = st.fractions(-3, 3, max_denominator=4)


def trees():
    leaves = st.one_of(
        st.sampled_from([Expression("var", (name,)) for name in NAMES]),
        numbers.map(lambda n: Expression("const", (n,))),
    )
    return st.recursive(
        leaves,
        lambda parts: st.one_of(
            st.builds(
                lambda op, a, b: Expression(op, (a, b)),
                st.sampled_from(["+", "-", "*"]),
                parts,
                parts,
            ),
            st.builds(lambda a: -a, parts),
            st.builds(lambda a, n: a / (n or 1), parts, numbers),
            st.builds(lambda a, k: a**k, parts, st.integers(0, 3)),
        ),
        max_leaves=8,
    )


@pytest.mark.slow
@given(tree=trees(), point=st.tuples(numbers, numbers, numbers))
@settings(max_examples=120, deadline=None)
def test_a_polynomial_has_the_values_of_its_expression(tree, point):
    values = dict(zip(NAMES, point, strict=True))
    found = Polynomial.of(tree)
    assert found is not None
    truth = tree.at(values)
    assert found.at(values).constant == truth
    parts = [part.at(values).constant for part in found.components()]
    assert sum(parts, found.constant) == truth
    low, high = found.enclosed({n: Interval(v - 1, v + 2) for n, v in values.items()})
    assert low <= truth <= high
    # The derivative of a product with x is what the rule of products says.
    (x,) = (Polynomial({(("x", 1),): Fraction(1)}),)
    assert (x * found).derivative("x") == found + x * found.derivative("x")


@pytest.mark.parametrize("query", ["exp(x)", "1/x", "x/(1 + y)", "abs(x)", "min(x, y)", "x**64*x"])
def test_other_queries_are_no_polynomials(query):
    assert Polynomial.of(parse_expression(query)) is None


def test_a_query_that_multiplies_out_to_too_many_terms_is_left_as_it_is():
    many = " + ".join(f"x{i}" for i in range(80))
    assert Polynomial.of(parse_expression(f"({many})**2")) is None
    assert len(Polynomial.of(parse_expression(f"({many}) + 1")).terms) == 81


def test_terms_that_cancel_are_gone():
    found = Polynomial.of(parse_expression("(x + y)**2 - (x - y)**2 - 4*x*y + z"))
    assert found.names == ("z",)
    assert found.degree == 1
