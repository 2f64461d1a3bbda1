"""Numbers of a policy on data with a step that make no sense are refused by name."""

import pytest

from hartley.boxes.box import Interval
from hartley.errors import OptionError
from hartley.policies.hypotheses.hypothesis import LatticeColumn
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.hypotheses.tables import hiding_policy

TWO = {"x": LatticeColumn(0, 10, 1), "y": LatticeColumn(0, 8, 1)}


@pytest.mark.parametrize("step", [0, -1, "0.0"])
def test_a_step_that_is_not_positive_is_named_as_the_step(step):
    with pytest.raises(OptionError, match=r"^The step -?\d+ is not a positive number; hint: "):
        LatticeColumn(0, 10, step)


def test_too_many_reaches_are_counted_in_words():
    with pytest.raises(OptionError, match=r"There are 2 numbers for the reach of 1 column; "):
        MeetPolicy("x >= 5", {"x": LatticeColumn(0, 10, 1)}, ["x"], [1, 2])


@pytest.mark.parametrize("hypothesis", ["x + y >= 9", "x + y == 9"])  # by formula, by tables
def test_a_reach_by_name_is_the_reach_of_that_column(hypothesis):
    listed = hiding_policy(hypothesis, TWO, ["x", "y"], [2, 1])
    named = hiding_policy(hypothesis, TWO, ["x", "y"], {"y": 1, "x": 2})
    other = hiding_policy(hypothesis, TWO, ["x", "y"], {"y": 2, "x": 1})
    assert named.reach == listed.reach == (2, 1) == other.reach[::-1]
    assert named == listed != other


def test_what_is_known_may_be_named_like_the_reach():
    known = {"known_within": {"y": 1, "x": 2}}
    assert MeetPolicy("x + y >= 9", TWO, ["x", "y"], 2, **known).known_within == (2, 1)
    one = hiding_policy(
        "x >= z/2", {"x": TWO["x"]}, ["x"], {"x": 2}, ranges={"z": Interval(0, 16)},
        known_within={"x": 3},
    )  # fmt: skip
    assert (one.reach, one.known_within) == ((2,), (3,))


@pytest.mark.parametrize("reach", [{}, {"x": 1}, {"x": 1, "z": 1}, {"x": 1, "y": 1, "z": 1}])
def test_a_reach_of_other_columns_is_refused_with_their_names(reach):
    with pytest.raises(OptionError, match="does not name the moved columns, each once; hint: nam"):
        MeetPolicy("x + y >= 9", TWO, ["x", "y"], reach)
    with pytest.raises(OptionError, match="Known_within does not name"):
        MeetPolicy("x + y >= 9", TWO, ["x", "y"], 1, known_within=reach)


def test_a_norm_takes_no_reach_by_name():
    with pytest.raises(OptionError, match="hint: give one number, which the norm measures"):
        MeetPolicy("x + y >= 9", TWO, ["x", "y"], {"x": 1, "y": 1}, norm="l1")
