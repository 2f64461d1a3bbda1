"""A number of people that no table has is refused as what it is."""

import pytest

from hartley.errors import OptionError
from hartley.studies.release.specification import Specification

MEANS = {
    "objective": "maximin",
    "query": "mean(x)",
    "error": 1,
    "columns": {"x": {"range": [0, 9]}},
}


@pytest.mark.parametrize("people", [10**30, "1e30", 2**63])
def test_more_people_than_a_policy_file_can_count_are_refused(people):
    with pytest.raises(OptionError, match="There cannot be so many people"):
        Specification.read(MEANS | {"people": people})


def test_as_many_people_as_a_policy_file_can_count_are_read():
    assert Specification.read(MEANS | {"people": 2**63 - 1}).people == 2**63 - 1
