"""Distributions and channels are checked, and turned into one another without loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hartley import (
    Channel,
    JointDistribution,
    OptionError,
    Relation,
)

weights = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.one_of(st.just(0.0), st.floats(1e-6, 1.0)),
).filter(lambda matrix: matrix.sum() > 0)


@given(weights)
def test_a_joint_distribution_is_its_margin_times_its_channel(matrix):
    joint = JointDistribution.of(matrix / matrix.sum())
    channel = joint.channel()
    margin = joint.matrix.sum(axis=1)
    np.testing.assert_allclose(
        margin[margin > 0, None] * channel.matrix, joint.matrix[margin > 0], rtol=1e-12
    )
    np.testing.assert_allclose(channel.matrix.sum(axis=1), 1, rtol=1e-12)


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), min_size=1))
def test_the_distribution_of_a_relation_holds_its_relative_frequencies(pairs):
    relation = Relation.from_pairs(pairs)
    matrix = JointDistribution.from_relation(relation).matrix
    assert matrix.sum() == pytest.approx(1)
    for i, secret in enumerate(relation.secret_range):
        for j, released in enumerate(relation.released_range):
            assert matrix[i, j] == pairs.count((secret, released)) / len(pairs)


@pytest.mark.parametrize("kind", [Channel, JointDistribution.of])
@pytest.mark.parametrize("matrix", [[], [[]], 5, [0.5, 0.5], "ab", [["a"]], [[1], [0, 1]], None])
def test_what_is_no_matrix_of_numbers_is_refused(kind, matrix):
    with pytest.raises(OptionError, match="not a matrix of numbers; hint: "):
        kind(matrix)


@pytest.mark.parametrize("kind", [Channel, JointDistribution])
@pytest.mark.parametrize("entry", [-0.5, math.nan, math.inf, -math.inf])
def test_what_is_no_probability_is_refused(kind, entry):
    with pytest.raises(OptionError, match="not a probability; hint: "):
        kind.of([[entry, 1 - entry]])


def test_rows_that_do_not_add_up_are_refused():
    with pytest.raises(OptionError, match="row of the channel does not add up to 1; hint: "):
        Channel.of([[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(OptionError, match="joint distribution does not add up to 1; hint: "):
        JointDistribution.of([[0.5, 0.4]])
    assert Channel.of([[0.1] * 10]).matrix.shape == (1, 10)  # a rounding error is none of theirs
