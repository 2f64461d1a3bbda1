"""Mutual information from rows and from probabilities."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hartley import JointDistribution, OptionError, Relation, mutual_information

pairs = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), min_size=1, max_size=40)


@given(pairs)
def test_rows_and_their_relative_frequencies_tell_the_same(drawn):
    relation = Relation.from_pairs(drawn)
    joint = JointDistribution.from_relation(relation)
    expected = mutual_information(joint)
    assert mutual_information(relation) == pytest.approx(expected, abs=1e-12)
    assert mutual_information(joint.matrix.tolist()) == expected


@given(pairs)
def test_it_is_symmetric_and_at_most_either_entropy(drawn):
    relation = Relation.from_pairs(drawn)
    bits = mutual_information(relation)
    assert bits == pytest.approx(mutual_information(relation.swap()), abs=1e-12)
    assert 0 <= bits <= math.log2(min(relation.summary.secrets, relation.summary.released))


@pytest.mark.slow
@given(pairs, st.integers(2, 9))
def test_repeating_every_row_changes_nothing(drawn, times):
    once, often = Relation.from_pairs(drawn), Relation.from_pairs(drawn * times)
    assert mutual_information(often) == pytest.approx(mutual_information(once), abs=1e-12)


def test_a_noisy_bit_tells_one_minus_its_entropy():
    flip = Fraction(1, 10)
    keep = 1 - flip
    matrix = np.array([[keep, flip], [flip, keep]], dtype=float) / 2
    entropy = -sum(float(p) * math.log2(p) for p in (flip, keep))
    assert mutual_information(matrix) == pytest.approx(1 - entropy, rel=1e-12)


def test_independent_sides_tell_nothing():
    assert mutual_information(np.outer([0.2, 0.8], [0.3, 0.3, 0.4])) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("matrix", [[[0.5, 0.4]], [[2.0, -1.0]], [[math.nan]], [], "text"])
def test_what_is_no_joint_distribution_is_refused(matrix):
    with pytest.raises(OptionError, match=r"joint distribution.*; hint: "):
        mutual_information(matrix)
