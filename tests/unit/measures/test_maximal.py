"""Stochastic maximal leakage from rows, channels and distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hartley import (
    Channel,
    JointDistribution,
    OptionError,
    Relation,
    maximal_leakage,
    maximin_information,
)

pairs = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), min_size=1, max_size=40)


@given(pairs)
def test_rows_a_distribution_and_its_channel_leak_the_same(drawn):
    relation = Relation.from_pairs(drawn)
    joint = JointDistribution.from_relation(relation)
    expected = maximal_leakage(relation)
    for source in (joint, joint.channel(), joint.channel().matrix):
        assert maximal_leakage(source) == pytest.approx(expected, abs=1e-12)


@given(pairs)
def test_it_lies_between_maximin_information_and_the_smaller_entropy(drawn):
    relation = Relation.from_pairs(drawn)
    bits = maximal_leakage(relation)
    smaller = min(relation.summary.secrets, relation.summary.released)
    assert maximin_information(relation) - 1e-12 <= bits <= math.log2(smaller) + 1e-12


@given(st.floats(0, 0.5))
def test_a_noisy_bit_leaks_what_its_larger_chance_says(flip):
    channel = [[1 - flip, flip], [flip, 1 - flip]]
    assert maximal_leakage(channel) == pytest.approx(math.log2(2 - 2 * flip), abs=1e-12)


def test_a_secret_that_never_occurs_leaks_nothing():
    joint = JointDistribution.of([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    assert maximal_leakage(joint) == 0.0


def test_a_useless_channel_leaks_exactly_nothing():
    assert maximal_leakage(Channel.of(np.full((3, 10), 0.1))) == 0.0


@pytest.mark.parametrize("matrix", [[[0.5, 0.4]], [[2.0, -1.0]], [[math.nan]], [], "text"])
def test_what_is_no_channel_is_refused(matrix):
    with pytest.raises(OptionError, match=r"channel.*; hint: "):
        maximal_leakage(matrix)
