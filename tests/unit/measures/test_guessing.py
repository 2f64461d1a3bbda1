"""Guessing leakage of any attribute, of the worst one, and what a budget allows."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from hartley import (
    OptionError,
    Relation,
    guessing_leakage,
    maximal_guessing_leakage,
    nonstochastic_leakage,
    worst_attribute,
)
from hartley.measures import identifiability, maximal_leakage_within

PEOPLE = {
    "age": [30, 30, 40, 40, 50],
    "sex": ["F", "M", "F", "M", "M"],
    "job": ["x", "x", "y", "y", "z"],
}
pairs = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def people() -> Relation:
    return Relation.from_table(PEOPLE, secret=["age", "sex"], released="job")


def by_definition(drawn, attribute):
    """Return the leakage about an attribute straight from Definition 1."""
    values = {attribute(x) for x, _ in drawn}
    left = [
        {attribute(x) for x, other in drawn if other == released}
        for released in {y for _, y in drawn}
    ]
    return math.log2(len(values) / min(map(len, left)))


@pytest.mark.slow
@given(pairs, st.lists(st.sampled_from("uvw"), min_size=5, max_size=5))
def test_the_leakage_of_any_attribute_is_that_of_its_definition(drawn, labels):
    relation = Relation.from_pairs(drawn)
    expected = pytest.approx(by_definition(drawn, labels.__getitem__), abs=1e-12)
    assert guessing_leakage(relation, labels.__getitem__) == expected
    assert guessing_leakage(relation, dict(enumerate(labels))) == expected


@given(pairs)
def test_without_an_attribute_the_secret_itself_is_guessed(drawn):
    relation = Relation.from_pairs(drawn)
    assert guessing_leakage(relation) == nonstochastic_leakage(relation)
    assert guessing_leakage(relation, lambda secret: secret) == guessing_leakage(relation)


@pytest.mark.slow
@settings(max_examples=50)
@given(pairs)
def test_no_attribute_leaks_more_than_the_worst_one(drawn):
    relation = Relation.from_pairs(drawn)
    everything = product(range(5), repeat=5)
    leaks = {by_definition(drawn, labels.__getitem__) for labels in list(everything)[::7]}
    worst = worst_attribute(relation)
    assert max(leaks) <= worst.leakage + 1e-12
    assert worst.leakage == maximal_guessing_leakage(relation)
    assert guessing_leakage(relation, worst.mapping()) == pytest.approx(worst.leakage, abs=1e-12)


@pytest.mark.slow
@given(pairs)
def test_the_worst_attribute_merges_what_its_released_value_leaves(drawn):
    relation = Relation.from_pairs(drawn)
    worst = worst_attribute(relation)
    assert set(worst.merged) == {x for x, y in drawn if y == worst.released}
    assert worst.merged_count == len(worst.merged)
    mapping = worst.mapping()
    assert set(mapping) == set(relation.secret_range)
    assert len(set(mapping.values())) == worst.values
    assert {mapping[secret] for secret in worst.merged} == {worst.merged[0]}
    assert all(mapping[secret] == secret for secret in mapping if secret not in worst.merged)


def test_an_attribute_may_be_a_column_a_mapping_or_a_function(people):
    assert guessing_leakage(people, "age") == pytest.approx(math.log2(3))
    assert guessing_leakage(people, "sex") == pytest.approx(1.0)
    by_age = {secret: secret[0] for secret in people.secret_range}
    assert guessing_leakage(people, by_age) == guessing_leakage(people, "age")
    assert guessing_leakage(people, lambda secret: secret[1]) == guessing_leakage(people, "sex")


def test_the_only_column_is_the_secret_itself():
    relation = Relation.from_table(PEOPLE, secret="age", released="sex")
    assert guessing_leakage(relation, "age") == guessing_leakage(relation)


def test_an_attribute_of_one_value_cannot_leak(people):
    assert guessing_leakage(people, lambda _: "always") == 0.0


def test_a_column_of_another_side_is_refused_by_name(people):
    with pytest.raises(OptionError, match=r"'job' is no column.*; hint: choose from age, sex"):
        guessing_leakage(people, "job")


def test_a_table_that_misses_a_secret_is_refused_without_naming_it(people):
    with pytest.raises(OptionError, match="misses a value of the secret; hint: ") as error:
        guessing_leakage(people, {(30, "F"): 1})
    assert "50" not in str(error.value)


def test_an_attribute_whose_values_cannot_be_compared_is_refused(people):
    with pytest.raises(OptionError, match="; hint: "):
        guessing_leakage(people, list)


def test_one_value_a_side_leaks_nothing_and_merges_itself(single):
    worst = worst_attribute(single)
    assert (worst.leakage, worst.merged, worst.values, worst.released) == (0.0, [1], 1, "a")


# --- identifiability and budgets ------------------------------------------------------------------


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
