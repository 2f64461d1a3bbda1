"""Directions are shown or looked up; what is not monotone is refused."""

import numpy as np
import pytest

from hartley.errors import OptionError
from hartley.policies.hypotheses.hypothesis import Hypothesis, LatticeColumn
from hartley.policies.hypotheses.meeting import directions
from hartley.policies.hypotheses.sides import IntegerForm

COLUMNS = {name: LatticeColumn(0, 8, 1) for name in "xyz"}


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("x >= 3", {"x": 1}),
        ("x < 3", {"x": -1}),
        ("not x < 3", {"x": 1}),
        ("2*x - 3*y >= z", {"x": 1, "y": -1, "z": -1}),
        ("x*y >= z**2", {"x": 1, "y": 1, "z": -1}),
        ("x/(y + 1) > 2", {"x": 1, "y": -1}),
        ("(0 - x)**3 >= 5 - y", {"x": -1, "y": 1}),
        ("(x - 9)**2 >= y", {"x": -1, "y": -1}),
        ("abs(x - 20) <= y", {"x": 1, "y": 1}),
        ("max(x, y) >= 3 and min(x, 2*y) > 1", {"x": 1, "y": 1}),
        ("x >= 3 or x + y >= 9", {"x": 1, "y": 1}),
        ("x - x + y >= 3", {"x": 1, "y": 1}),
        ("(x - 4)**3 + (x - 4)**2 >= 100", {"x": 1}),  # by looking: on this lattice alone
        ("(x - 4)**2 >= 30", {"x": 1}),  # nowhere true
    ],
)
def test_directions_are_those_of_the_lattice(text, signs):
    hypothesis = Hypothesis.parse(text)
    columns = {name: COLUMNS[name] for name in hypothesis.names}
    assert directions(hypothesis, columns, list(signs)) == signs
    shape = [column.last + 1 for column in columns.values()]
    grid = dict(zip(columns, np.indices(shape), strict=True))
    holds = IntegerForm.of(hypothesis, columns).at(grid)
    for name, sign in signs.items():
        axis = list(columns).index(name)
        assert (sign * np.diff(np.broadcast_to(holds, shape), axis=axis) >= 0).all()


@pytest.mark.parametrize(
    "text", ["x == 3", "2 <= x <= 5", "(x - 4)**2 >= 4", "(x - 4)*(y - 4) >= 3", "x >= 3 and x < 6"]
)
def test_a_hypothesis_that_is_not_monotone_is_refused(text):
    hypothesis = Hypothesis.parse(text)
    columns = {name: COLUMNS[name] for name in hypothesis.names}
    with pytest.raises(OptionError, match="not monotone in 'x'"):
        directions(hypothesis, columns, ["x"])


def test_a_large_lattice_is_not_looked_at():
    fine = {"x": LatticeColumn(0, 10, "0.0000001")}
    assert directions(Hypothesis.parse("x*x >= 2"), fine, ["x"]) == {"x": 1}
    with pytest.raises(OptionError, match="cannot be shown"):
        directions(Hypothesis.parse("(x - 1)**2 >= 2"), fine, ["x"])
