"""Hypotheses linear in the moved column: near the line by the definition, in every record."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley.policies.hypotheses.hypothesis import Hypothesis, LatticeColumn
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.hypotheses.sides import IntegerForm, LinearSide, evaluate

SIGNS = {
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    "<": lambda a, b: a < b,
}
CASES = st.tuples(
    st.integers(-4, 4).filter(bool),
    st.integers(-3, 3),
    st.fractions(-12, 12, max_denominator=6),
    st.sampled_from(sorted(SIGNS)),
)
LATTICES = st.tuples(
    st.integers(1, 9),
    st.integers(-3, 3),
    st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(3, 7)]),
)


@given(case=CASES, lattice=LATTICES, distance=st.integers(1, 12))
@settings(max_examples=300, deadline=None)
def test_what_is_released_is_what_the_definition_says(case, lattice, distance):
    """Partners, clamped to the range, by the text of the hypothesis in fractions."""
    (slope, weight, line, sign), (last, low, step) = case, lattice
    columns = {
        "x": LatticeColumn(low, low + last * step, step),
        "y": LatticeColumn(-1, 2, 1),
    }
    text = f"{slope}*x + {weight}*y**2 {sign} {line}"
    reach = 20 * step
    policy = MeetPolicy(text, columns, ["x"], reach, known_within=distance * step)
    assert LinearSide.of(policy.form.condition, "x") is not None

    def holds(x, y):
        value = slope * columns["x"].value(x) + weight * columns["y"].value(y) ** 2
        return SIGNS[sign](value, line)

    ahead, back = distance - distance // 2, distance // 2
    rising = (slope > 0) == (sign in (">=", ">"))
    x, y = (grid.ravel() for grid in np.meshgrid(np.arange(last + 1), np.arange(4)))
    released = policy.release_indices({"x": x, "y": y})["x"]
    for k, fibre, out in zip(x.tolist(), y.tolist(), released.tolist(), strict=True):
        up, down = min(k + distance, last), max(k - distance, 0)
        if not rising:
            up, down = down, up
        expected = k
        if not holds(k, fibre) and holds(up, fibre):
            expected = min(k + ahead, last - back) if rising else max(k - ahead, back)
            expected = last // 2 if last < distance else expected
        elif holds(k, fibre) and not holds(down, fibre):
            expected = max(k - back, ahead) if rising else min(k + back, last - ahead)
            expected = last // 2 if last < distance else expected
        assert out == expected


@pytest.mark.parametrize(
    ("text", "linear"),
    [
        ("x >= 5", True),
        ("3 - 2*x > y", True),
        ("x/(y + 1) >= 2", True),
        ("x*y >= 2", False),
        ("x**2 >= 2", False),
        ("x >= 2 or x + y >= 3", False),
        ("abs(x) >= 2", False),
    ],
)
def test_which_hypotheses_are_of_the_form(text, linear):
    columns = {"x": LatticeColumn(0, 9, 1), "y": LatticeColumn(0, 4, "0.5")}
    hypothesis = Hypothesis.parse(text)
    form = IntegerForm.of(hypothesis, {name: columns[name] for name in hypothesis.names})
    assert (LinearSide.of(form.condition, "x") is not None) == linear


def test_a_line_outside_the_range_is_near_no_record():
    for text in ("x >= 11", "x >= 0", "x < 0", "x <= 10"):
        policy = MeetPolicy(text, {"x": LatticeColumn(0, 10, 1)}, ["x"], 3)
        assert policy.trees == {"x": ("var", "x")}


def test_conditions_are_the_integer_form():
    columns = {"x": LatticeColumn(0, 9, 1), "y": LatticeColumn(0, 9, 1)}
    grid = dict(zip("xy", np.meshgrid(np.arange(10), np.arange(10)), strict=True))
    for text in ("x + y >= 7", "x >= 3 and y >= 2", "x >= 3 or y >= 2", "not x >= 3 and y > 1"):
        form = IntegerForm.of(Hypothesis.parse(text), columns)
        assert (evaluate(form.condition, grid) == (form.at(grid) == 1)).all()


def test_a_comparison_may_be_written_either_way_round():
    total = ("+", ("*", ("var", "x"), ("const", "2")), ("const", "-7"))
    side = LinearSide.of(("<", total, ("const", "0")), "x")
    assert side == LinearSide("x", -2, 7, strict=True)
    assert [evaluate(side.here, {"x": x}) for x in (3, 4)] == [True, False]
