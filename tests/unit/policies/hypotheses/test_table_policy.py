"""Tables for hypotheses that are not monotone: fibre by fibre, as they are executed."""

import numpy as np
import pytest

from hartley.errors import OptionError
from hartley.guarantees.certify import certify
from hartley.policies.hypotheses.best_line import best_line
from hartley.policies.hypotheses.hypothesis import Hypothesis
from hartley.policies.hypotheses.lattice import LatticeColumn
from hartley.policies.hypotheses.meet_column import hiding_policy
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.hypotheses.open_records import count_outputs_open
from hartley.policies.hypotheses.table_policy import TablePolicy

COLUMNS = {
    "a": LatticeColumn(0, 2, 1),
    "x": LatticeColumn(0, 12, "1/2"),
    "b": LatticeColumn(1, 3, 1),
}


@pytest.mark.parametrize("text", ["a*2 <= x <= a*2 + b", "x != a + b", "(x - 6)**2 >= a*b"])
@pytest.mark.parametrize("reach", ["0.5", "1.2", "2"])
def test_the_formula_releases_what_the_best_table_of_a_fibre_says(text, reach):
    policy = TablePolicy(text, COLUMNS, ["x"], reach)
    moves = int(float(reach) * 2)
    hypothesis = Hypothesis.parse(text)
    a, x, b = np.indices((3, 25, 3))
    released = policy.release_indices({"a": a, "x": x, "b": b})["x"]
    holds = np.zeros(a.shape, bool)
    for i in range(3):
        for j in range(3):
            sides = [
                hypothesis.holds(
                    {
                        "a": COLUMNS["a"].value(i),
                        "x": COLUMNS["x"].value(k),
                        "b": COLUMNS["b"].value(j),
                    }
                )
                for k in range(25)
            ]
            holds[i, :, j] = sides
            assert tuple(released[i, :, j]) == best_line(sides, moves).released
    outputs = (a * 3 + b) * 25 + released
    assert policy.count_open() == count_outputs_open(holds, outputs)
    assert (abs(released - x) <= moves).all()


def test_a_monotone_hypothesis_gets_a_formula_and_another_gets_tables():
    ten = {"x": LatticeColumn(0, 10, 1)}
    assert isinstance(hiding_policy("x >= 5", ten, ["x"], 1), MeetPolicy)
    table = hiding_policy("2 <= x <= 5", ten, ["x"], 1)
    assert isinstance(table, TablePolicy)
    promise = certify(table)
    assert promise.claim.startswith("8 of the 11 possible records")
    assert "by a table" in promise.claim
    assert any("knows more about x than" in words for words in promise.assumptions)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"move": ["x", "a"]}, "moving one column"),
        ({"move": ["z"]}, "moving one column"),
        ({"columns": {"x": COLUMNS["x"]}}, "not those that"),
        ({"reach": "0.4"}, "below one step"),
        ({"reach": 50}, "too large to be looked for"),
        ({"columns": COLUMNS | {"b": LatticeColumn(1, 2000, 1)}}, "too large to be looked for"),
    ],
)
def test_what_makes_no_sense_is_refused(change, problem):
    fields = {"hypothesis": "a <= x <= b", "columns": COLUMNS, "move": ["x"], "reach": 1} | change
    with pytest.raises(OptionError, match=problem):
        TablePolicy(**fields)
