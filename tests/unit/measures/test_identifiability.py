"""Identifiability and what a budget allows."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from hartley import OptionError, Relation, guessing_leakage, maximal_guessing_leakage
from hartley.measures import identifiability, maximal_leakage_within

pairs = st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc")), min_size=1, max_size=30)


@given(pairs)
def test_it_is_the_smallest_budget_that_every_released_value_keeps(drawn):
    relation = Relation.from_pairs(drawn)
    budget = identifiability(relation)
    sizes, secrets = relation.summary.secret_sizes, relation.summary.secrets
    assert (sizes >= secrets * 2**-budget * (1 - 1e-12)).all()
    assert (sizes < secrets * 2 ** -(budget - 1e-6)).any()


@given(pairs)
def test_about_an_attribute_it_is_the_guessing_leakage(drawn):
    relation = Relation.from_pairs(drawn)
    assert identifiability(relation, lambda x: x % 3) == guessing_leakage(relation, lambda x: x % 3)


@given(pairs)
def test_no_release_leaks_more_than_its_budget_allows(drawn):
    relation = Relation.from_pairs(drawn)
    budget = identifiability(relation)
    allowed = maximal_leakage_within(relation.summary.secrets, budget)
    assert maximal_guessing_leakage(relation) <= allowed


@given(st.integers(1, 60), st.data())
def test_the_bound_is_attained_by_some_release(secrets, data):
    left = data.draw(st.integers(1, secrets))
    pairs = [(x, "few" if x < left else "many") for x in range(secrets)]
    pairs += [(x, "many") for x in range(left)]
    relation = Relation.from_pairs(pairs)
    allowed = maximal_leakage_within(secrets, identifiability(relation))
    assert maximal_guessing_leakage(relation) == pytest.approx(allowed, rel=1e-12, abs=1e-12)


@given(st.integers(1, 10**6), st.floats(0, 40), st.floats(0, 40))
def test_a_larger_budget_allows_no_less(secrets, one, other):
    small, large = sorted([one, other])
    assert maximal_leakage_within(secrets, small) <= maximal_leakage_within(secrets, large)


def test_the_ends_of_the_scale():
    assert maximal_leakage_within(1, 5.0) == 0.0
    assert maximal_leakage_within(8, 0.0) == 0.0
    assert maximal_leakage_within(8, math.inf) == 3.0
    assert maximal_leakage_within(8, 3.0) == 3.0
    assert maximal_leakage_within(3, 1.0) == 1.0


@pytest.mark.parametrize(("secrets", "budget"), [(0, 1.0), (-3, 1.0), (5, -0.5), (5, math.nan)])
def test_what_is_no_budget_is_refused(secrets, budget):
    with pytest.raises(OptionError, match=r"budget.*; hint: "):
        maximal_leakage_within(secrets, budget)
