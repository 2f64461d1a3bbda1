from fractions import Fraction

import numpy as np
from hypothesis import given, strategies as st

from hartley.ranges.boxes.expression import parse_expression
from hartley.ranges.boxes.signs import ExactColumn, nonnegative_at, truth_at

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


def test_what_rational_numbers_cannot_decide_stays_possible_on_both_sides():
    points = {"x": column([Fraction(2), Fraction(4), Fraction(9)])}
    holds, fails = nonnegative_at(parse_expression("sqrt(x) - 2"), points)
    assert (holds.tolist(), fails.tolist()) == ([False, True, True], [True, True, False])


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
