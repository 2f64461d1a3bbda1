"""Numbers of a policy on data with a step that make no sense are refused by name."""

import pytest

from hartley.errors import OptionError
from hartley.policies.hypotheses.lattice import LatticeColumn
from hartley.policies.hypotheses.meeting import MeetPolicy


@pytest.mark.parametrize("step", [0, -1, "0.0"])
def test_a_step_that_is_not_positive_is_named_as_the_step(step):
    with pytest.raises(OptionError, match=r"^The step -?\d+ is not a positive number; hint: "):
        LatticeColumn(0, 10, step)


def test_too_many_reaches_are_counted_in_words():
    with pytest.raises(OptionError, match=r"There are 2 numbers for the reach of 1 column; "):
        MeetPolicy("x >= 5", {"x": LatticeColumn(0, 10, 1)}, ["x"], [1, 2])
