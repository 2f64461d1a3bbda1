"""Every measure takes a base, means bits without one, and is found under its former name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hartley import (
    OptionError,
    Relation,
    analyse_hypothesis,
    guessing_leakage,
    maximal_leakage,
    measures,
    mutual_information,
    worst_attribute,
    zero_error_capacity,
)
from hartley.kernels.classes import ClassCounts
from hartley.measures import (
    anonymity,
    continuous,
    estimation,
    expected_guesses,
    leakage,
    maximal_alpha_leakage,
    maximal_leakage_within,
    trajectory_information,
)
from hartley.ranges import FiniteSystem
from hartley.ranges.classes import KeyClasses

CHANNEL = [[0.9, 0.1], [0.2, 0.8]]
JOINT = [[0.4, 0.1], [0.1, 0.4]]
VOTES = Relation.from_pairs(
    [((a, b, c), a + b + c >= 2) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
)
PENTAGON = Relation.from_pairs([(x, y % 5) for x in range(5) for y in (x, x + 1)])
CLOCK = FiniteSystem.of(range(4), lambda x, _: (x + 1) % 4, lambda x, _: x == 0)
BAD = [1, 0, -2, 0.5, math.nan, math.inf]

pairs = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abcd")), min_size=1, max_size=20)

OTHERS = {
    "guessing an attribute": lambda base: guessing_leakage(VOTES, sum, base=base),
    "worst attribute": lambda base: worst_attribute(VOTES, base=base).leakage,
    "channel": lambda base: maximal_leakage(CHANNEL, base=base),
    "joint distribution": lambda base: mutual_information(JOINT, base=base),
    "budget": lambda base: maximal_leakage_within(10, math.log(2, base), base=base),
    "hypothesis": lambda base: analyse_hypothesis(VOTES, sum_is_not_one, base=base).privacy,
    "capacity from below": lambda base: zero_error_capacity(PENTAGON, base=base).lower,
    "capacity from above": lambda base: zero_error_capacity(PENTAGON, 1, base=base).upper,
    "order two": lambda base: maximal_alpha_leakage(CHANNEL, 2, base=base).upper,
    "order infinity": lambda base: maximal_alpha_leakage(CHANNEL, math.inf, base=base).upper,
    "expected guesses": lambda base: expected_guesses(JOINT, base=base).leakage,
    "trajectories": lambda base: trajectory_information(CLOCK, 2, base=base)[-1].information,
    "performance": lambda base: (
        analyse_hypothesis(VOTES, lambda vote: sum(vote) >= 2, base=base).performance_bound
    ),
}


def sum_is_not_one(vote):
    return sum(vote) != 1


@pytest.mark.slow
@given(pairs, st.sampled_from([math.e, 10, 4, 1.25]))
def test_measures_in_another_base_are_bits_in_other_units(measures_of, drawn, base):
    relation = Relation.from_pairs(drawn)
    bits = measures_of(relation)
    expected = {name: value * math.log(2) / math.log(base) for name, value in bits.items()}
    assert measures_of(relation, base=base) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("base", [math.e, 10, 4])
@pytest.mark.parametrize("measure", OTHERS.values(), ids=OTHERS.keys())
def test_other_numbers_in_another_base_are_bits_in_other_units(measure, base):
    assert measure(2) != 0
    assert measure(base) == pytest.approx(measure(2) * math.log(2) / math.log(base), rel=1e-12)


@pytest.mark.parametrize("base", BAD)
def test_a_measure_refuses_a_base_that_measures_nothing(single, measures_of, base):
    for name in measures_of(single):
        with pytest.raises(OptionError, match=r"base .* is not larger than 1; hint: "):
            getattr(measures, name)(VOTES, base=base)


@pytest.mark.parametrize("base", BAD)
@pytest.mark.parametrize("name", OTHERS)
def test_other_numbers_refuse_a_base_that_measures_nothing(name, base):
    other = OTHERS | {"budget": lambda base: maximal_leakage_within(10, 1.0, base=base)}
    with pytest.raises(OptionError, match=r"base .* is not larger than 1; hint: "):
        other[name](base)


def test_one_value_a_side_tells_nothing_in_any_measure(single, measures_of):
    assert set(measures_of(single).values()) == {0.0}


@given(st.integers(1, 40))
def test_releasing_the_secret_itself_tells_all_of_it(measures_of, size):
    numbers = measures_of(Relation.from_pairs([(x, -x) for x in range(size)]))
    nothing = {"conditional_entropy", "relative_disarray"}
    for name, value in numbers.items():
        expected = 0.0 if name in nothing else math.log2(size)
        assert value == pytest.approx(expected, rel=1e-12), name


@pytest.mark.slow
@given(st.integers(1, 12), st.integers(1, 12))
def test_an_unrelated_release_tells_nothing(measures_of, secrets, released):
    every = [(x, y) for x in range(secrets) for y in range(released)]
    numbers = measures_of(Relation.from_pairs(every))
    about_the_secret = {"hartley_entropy", "conditional_entropy", "relative_disarray"}
    for name, value in numbers.items():
        expected = math.log2(secrets) if name in about_the_secret else 0.0
        assert value == pytest.approx(expected, abs=1e-12), name


# --- former names ---------------------------------------------------------------------------------

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
