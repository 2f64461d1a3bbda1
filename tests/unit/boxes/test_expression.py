from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import OptionError
from hartley.boxes import parse_expression
from hartley.boxes.expression import ExactColumn, nonnegative_at, sign_at, truth_at

QUERIES = ("x - y", "x**2 - 2*y", "abs(x) - 1/3", "x*y - 1/2", "min(x, y) - x", "3*x/10 - y")
NUMBERS = st.lists(st.fractions(-4, 4, max_denominator=12), min_size=1, max_size=8)


def column(numbers):
    return ExactColumn(np.array([float(number) for number in numbers]), lambda i: numbers[i])


@given(st.sampled_from(QUERIES), NUMBERS, st.data())
def test_every_sign_is_that_of_the_exact_value(text, first, data):
    second = data.draw(st.lists(st.sampled_from(first), min_size=len(first), max_size=len(first)))
    query = parse_expression(text)
    holds, fails = nonnegative_at(query, {"x": column(first), "y": column(second)})
    exactly = [query.at({"x": x, "y": y}) >= 0 for x, y in zip(first, second, strict=True)]
    assert holds.tolist() == exactly
    assert fails.tolist() == [not held for held in exactly]


def test_doubles_that_stand_for_decimals_are_taken_as_those():
    heights, weights = [Fraction(160), Fraction(220)], [Fraction("76.8"), Fraction("145.2")]
    points = {"w": column(weights), "h": column(heights)}
    holds, _ = nonnegative_at(parse_expression("w - 30*(h/100)**2"), points)
    assert holds.tolist() == [True, True]  # in doubles both would lie below the line


def test_functions_are_decided_by_enclosures_and_what_undoes_itself_is_not():
    points = {"x": column([Fraction(2), Fraction(4), Fraction(9)])}
    holds, fails = nonnegative_at(parse_expression("sqrt(x) - 2"), points)
    assert (holds.tolist(), fails.tolist()) == ([False, True, True], [True, False, False])
    both = nonnegative_at(parse_expression("exp(log(x)) - x"), points)
    assert [flags.tolist() for flags in both] == [[True] * 3] * 2


@given(
    text=st.sampled_from(
        ["exp(x) - y", "log(y) - x/4", "sqrt(y) - x", "exp(x/9)*log(y) - 3", "abs(log(y/7)) - x/5"]
    ),
    x=st.fractions(-9, 9, max_denominator=50),
    y=st.fractions("1/9", 99, max_denominator=50),
    shift=st.integers(0, 60),
)
@settings(max_examples=200, deadline=None)
def test_signs_are_those_of_eighty_decimal_digits(text, x, y, shift):
    """Also of a query that is moved to within 10^-shift of its own value at the point."""
    with localcontext(prec=80):
        numbers = [Decimal(z.numerator) / Decimal(z.denominator) for z in (x, y)]
        value = DECIMALS[text](*numbers)
        near = value.quantize(Decimal(10) ** -shift) if shift else Decimal(0)
        expected = (value > near) - (value < near)
        if abs(value - near) < Decimal(10) ** -70:  # exact, or not to be seen
            return
    query = parse_expression(text) - Fraction(near)
    assert sign_at(query, {"x": x, "y": y}) == expected


DECIMALS = {
    "exp(x) - y": lambda x, y: x.exp() - y,
    "log(y) - x/4": lambda x, y: y.ln() - x / 4,
    "sqrt(y) - x": lambda x, y: y.sqrt() - x,
    "exp(x/9)*log(y) - 3": lambda x, y: (x / 9).exp() * y.ln() - 3,
    "abs(log(y/7)) - x/5": lambda x, y: abs((y / 7).ln()) - x / 5,
}


@pytest.mark.parametrize("text", ["log(x)", "sqrt(x - 1)", "1/x", "log(x - exp(1))"])
def test_a_query_without_a_value_is_refused(text):
    with pytest.raises(OptionError, match="has no value"):
        sign_at(parse_expression(text), {"x": Fraction(0)})


X = parse_expression("x")
CLAUSES = {
    (">", X - 1): lambda x: x > 1,
    (">=", X - 1): lambda x: x >= 1,
    ("not", (">", X)): lambda x: not x > 0,
    ("and", (">=", X + 1), (">", 1 - X)): lambda x: -1 <= x < 1,
    ("or", (">", X - 2), ("and", (">=", X), (">=", -X))): lambda x: x > 2 or x == 0,
}


@given(NUMBERS)
def test_every_condition_holds_where_it_holds_exactly(numbers):
    numbers = [*numbers, Fraction(0), Fraction(1), Fraction(2), Fraction(-1)]
    for clause, holds in CLAUSES.items():
        can_hold, can_fail = truth_at(clause, {"x": column(numbers)})
        assert can_hold.tolist() == [holds(number) for number in numbers]
        assert can_fail.tolist() == [not holds(number) for number in numbers]
