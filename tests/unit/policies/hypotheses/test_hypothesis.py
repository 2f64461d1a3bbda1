"""Hypotheses as text: what they compare, and what cannot be read."""

from fractions import Fraction

import pytest

from hartley.errors import OptionError
from hartley.policies.hypotheses.hypothesis import Hypothesis


@pytest.mark.parametrize(
    ("text", "true_at"),
    [
        ("x >= 3", {3, 4, 5}),
        ("x > 3", {4, 5}),
        ("3 >= x", {0, 1, 2, 3}),
        ("x < 3", {0, 1, 2}),
        ("x == 3", {3}),
        ("x != 3", {0, 1, 2, 4, 5}),
        ("1 < x <= 4", {2, 3, 4}),
        ("x == 1 or x >= 4 and not x > 4", {1, 4}),
        ("not (x <= 2)", {3, 4, 5}),
        ("0.5*x >= 1 + 1/4", {3, 4, 5}),
    ],
)
def test_a_hypothesis_holds_where_its_text_says(text, true_at):
    hypothesis = Hypothesis.parse(text)
    assert {x for x in range(6) if hypothesis.holds({"x": Fraction(x)})} == true_at


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("weight >= 30*(height/100)**2", "weight"),
        ("30*(height/100)**2 > weight", "weight"),
        ("x + y >= 10", None),
        ("x >= x*y", None),
        ("2*x + 1 >= 4", "x"),
        ("1 <= x <= 3", "x"),
        ("x >= 1 and y >= 1", None),
    ],
)
def test_the_column_that_stands_alone_is_the_one_to_move(text, column):
    assert Hypothesis.parse(text).line_column == column


@pytest.mark.parametrize(
    "text", ["", "x", "x >=", "x in (1, 2)", "x >= 'a'", "f(x) >= 1", "x is 3", "(" * 500 + "x"]
)
def test_what_compares_nothing_is_refused(text):
    with pytest.raises(OptionError):
        Hypothesis.parse(text)


def test_a_hypothesis_without_a_column_is_refused():
    with pytest.raises(OptionError, match="names no column"):
        Hypothesis.parse("1 >= 2")
