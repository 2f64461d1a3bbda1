"""Hypotheses as text: what they compare, and what cannot be read."""

from fractions import Fraction

import pytest

from hartley import Hypothesis, OptionError


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
        ("x in (1, 4)", {1, 4}),
        ("x not in [1, 4, 9]", {0, 2, 3, 5}),
        ("2*x in {4, 4 + 2} or x in (0,)", {0, 2, 3}),
        ("0 < x in (0, 2, 5)", {2, 5}),
        ("x in (4)", {4}),
        ("x not in ( 1 + 1 )", {0, 1, 3, 4, 5}),
        ("(x in ((5))) or x == 0", {0, 5}),
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
    "text",
    ["", "x", "x >=", "x in 1", "x in ()", "x >= 'a'", "f(x) >= 1", "x is 3", "(" * 500 + "x"],
)
def test_what_compares_nothing_is_refused(text):
    with pytest.raises(OptionError):
        Hypothesis.parse(text)


def test_a_hypothesis_without_a_column_is_refused():
    with pytest.raises(OptionError, match="names no column"):
        Hypothesis.parse("1 >= 2")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x % 2 == 0", "uses %"),
        ("x >= y // 3", "uses //"),
        ("x in y", "no list after 'in'"),
        ("(x in 5)", "no list after 'in'"),
        ("x in (y) + 1", "no list after 'in'"),
        ("x in ('a', 'b')", "'a'"),
    ],
)
def test_a_message_names_what_has_no_rule(text, problem):
    with pytest.raises(OptionError, match=problem) as caught:
        Hypothesis.parse(text)
    assert caught.value.hint


def test_long_lists_are_read_and_longer_ones_are_refused():
    values = ", ".join(str(number) for number in range(90))
    assert Hypothesis.parse(f"x in ({values})").holds({"x": Fraction(89)})
    with pytest.raises(OptionError, match="more than 100 operations"):
        Hypothesis.parse(f"x in ({values}, {values})")
