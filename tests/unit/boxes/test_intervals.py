"""Bounds on rounding errors, against what engines compute and exact numbers."""

import random
from fractions import Fraction

import pytest

from hartley import Interval, OptionError, open_table
from hartley.boxes import parse_expression
from hartley.boxes.intervals import double_error, running_error
from hartley.tables.column_map import apply_map
from hartley.tables.release_rules import Formula

TEXTS = ["x/10 + y*y", "(x - y)**5 / 7", "abs(x)*max(y, 1/3) - min(x, 0.1)", "x/(y + 3) - x*y"]
RANGES = {"x": (-2, 3), "y": ("0.1", 7)}


def computed(tree, points):
    """Return what an engine computes for a formula, row by row."""
    rule = Formula("x", tree, -(10**9), 10**9)
    table = apply_map(open_table(points), [rule], ranges=RANGES)
    return table.expression.to_pyarrow().to_pydict()["x"]


def drawn():
    draw = random.Random(5)  # noqa: S311 - repeatable cases
    points = {"x": [draw.uniform(-2, 3) for _ in range(300)] + [0.0, -2.0, 3.0]}
    points["y"] = [draw.uniform(0.1, 7) for _ in range(300)] + [0.1, 7.0, 1.0]
    return points


def errors(expression, points):
    """Return the true errors of what an engine computes."""
    values = computed(expression.to_tree(), points)
    return [
        abs(Fraction(value) - expression.at({"x": Fraction(x), "y": Fraction(y)}))
        for x, y, value in zip(points["x"], points["y"], values, strict=True)
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_the_error_in_a_box_is_a_bound(text):
    expression, points = parse_expression(text), drawn()
    bound = double_error(expression, {"x": Interval(-2, 3), "y": Interval("0.1", 7)})
    worst = max(errors(expression, points))
    assert 0 < worst <= bound <= 10**4 * worst


@pytest.mark.parametrize("text", TEXTS)
def test_the_error_row_by_row_is_a_bound(text):
    expression, points = parse_expression(text), drawn()
    bounds = computed(running_error(expression), points)
    true = errors(expression, points)
    assert all(error <= bound for error, bound in zip(true, bounds, strict=True))
    assert max(bounds) <= 10**4 * max(true)


def test_a_root_is_bounded_by_what_is_below_it():
    points = {"x": [0.0, 2.0, 3.0], "y": [1.0, 1.0, 1.0]}
    bounds = computed(running_error(parse_expression("sqrt(x*x)")), points)
    assert all(0 <= bound < 1e-14 for bound in bounds)


def test_functions_without_a_last_digit_are_refused():
    for bound in (running_error, lambda e: double_error(e, {"x": Interval(0, 1)})):
        with pytest.raises(OptionError, match="uses exp"):
            bound(parse_expression("exp(x)"))
