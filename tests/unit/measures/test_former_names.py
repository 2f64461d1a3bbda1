"""Names that moved still work where they were, and say where they are now."""

import numpy as np
import pytest

from hartley.kernels.classes import ClassCounts
from hartley.measures import anonymity, continuous, estimation, leakage
from hartley.ranges.classes import KeyClasses

TWO = ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 2, 2]]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nonstochastic_leakage", leakage.nonstochastic_leakage),
        ("smallest_error", estimation.smallest_error),
        ("Estimate", estimation.CellEstimate),
        ("maximin_information", leakage.maximin_information),
    ],
)
def test_measures_of_continuous_ranges_are_found_where_they_were(old, new):
    with pytest.warns(DeprecationWarning, match=f"continuous.{old} is now hartley.measures"):
        assert getattr(continuous, old) is new


def test_closeness_of_counted_classes_is_found_where_it_was():
    with pytest.warns(DeprecationWarning, match="kullback_leibler is now called t_closeness"):
        measure = anonymity.kullback_leibler
    assert measure(TWO) == anonymity.t_closeness(KeyClasses.of(TWO))
    assert anonymity.equal_closeness(TWO) == anonymity.equal_closeness(KeyClasses.of(TWO))


@pytest.mark.parametrize("module", [anonymity, continuous])
def test_a_name_that_never_was_is_an_attribute_error(module):
    with pytest.raises(AttributeError, match="no attribute 'privacy'"):
        module.privacy  # noqa: B018 - the access is what is tested
