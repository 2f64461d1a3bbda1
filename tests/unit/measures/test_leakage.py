"""Leakage, by hand and in its order."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from hartley import Relation, maximin_information, nonstochastic_leakage
from hartley.measures import information_transmission, nonstochastic_information, symmetric_leakage

ALARM = Relation.from_pairs([(x, x == 0) for x in range(100)])
"""One of a hundred secrets sets off an alarm."""

pairs = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("abcde")), min_size=1, max_size=30)


def test_a_rare_alarm_leaks_all_and_informs_of_little():
    assert nonstochastic_leakage(ALARM) == pytest.approx(math.log2(100))
    assert nonstochastic_information(ALARM) == pytest.approx(math.log2(100 / 99))
    assert symmetric_leakage(ALARM) == 1.0
    assert information_transmission(ALARM) == 1.0
    assert maximin_information(ALARM) == 1.0


@given(pairs)
def test_leakages_are_ordered(drawn):
    relation = Relation.from_pairs(drawn)
    smaller, larger = nonstochastic_information(relation), nonstochastic_leakage(relation)
    assert 0 <= smaller <= larger
    assert maximin_information(relation) <= symmetric_leakage(relation) + 1e-12
    assert symmetric_leakage(relation) <= larger


@given(pairs)
def test_symmetric_measures_do_not_see_which_side_is_which(drawn):
    relation = Relation.from_pairs(drawn)
    for measure in (symmetric_leakage, information_transmission, maximin_information):
        assert measure(relation) == measure(relation.swap())


@given(pairs)
def test_transmission_is_zero_exactly_for_unrelated_sides(drawn):
    relation = Relation.from_pairs(drawn)
    assert (information_transmission(relation) == 0) == relation.is_unrelated()


def test_a_large_product_of_ranges_does_not_overflow():
    relation = Relation.from_pairs([(x, x) for x in range(70_000)])
    assert information_transmission(relation) == pytest.approx(math.log2(70_000))
