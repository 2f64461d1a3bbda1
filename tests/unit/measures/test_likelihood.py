"""Likelihoods are counted pair by pair, in fractions."""

from fractions import Fraction

import numpy as np
import pytest

from hartley import Relation, maximal_leakage
from hartley.kernels.pairs import PairCounter, PairTally
from hartley.measures import equal_closeness
from hartley.measures.likelihood import (
    dependence,
    guessing_success,
    likelihood_gain,
    pointwise_leakage,
)
from hartley.ranges.counting import Summary


def shares(relation):
    """The counts of a relation, by secret and released value."""
    pairs = relation.pairs()
    counts = np.zeros(pairs.sizes, np.int64)
    counts[pairs.secret, pairs.released] = pairs.counts
    return counts


@pytest.fixture(params=range(40))
def relation(request):
    """A small random relation, with skewed secrets."""
    draw = np.random.default_rng(request.param)
    secrets = draw.integers(0, 5, 30) * draw.integers(0, 2, 30)
    return Relation.from_pairs(zip(secrets.tolist(), draw.integers(0, 4, 30).tolist(), strict=True))


def test_gain_and_guesses_are_those_of_the_definitions(relation):
    counts = shares(relation).tolist()
    of_secret = [sum(row) for row in counts]
    of_released = [sum(column) for column in zip(*counts, strict=True)]
    rows = sum(of_secret)
    gain = max(
        Fraction(n * rows, of_secret[x] * of_released[y])
        for x, row in enumerate(counts)
        for y, n in enumerate(row)
    )
    right = sum(map(max, zip(*counts, strict=True)))
    assert likelihood_gain(relation) == gain
    assert guessing_success(relation) == (
        Fraction(right, rows),
        Fraction(max(of_secret), rows),
    )


def test_better_guesses_are_bounded_by_maximal_leakage_and_that_by_the_gain(relation):
    after, before = guessing_success(relation)
    assert after / before <= Fraction(2 ** maximal_leakage(relation)) * (1 + Fraction(1, 10**9))
    assert maximal_leakage(relation) <= pointwise_leakage(relation) + 1e-9


def test_nothing_follows_exactly_where_nothing_is_likelier(relation):
    assert (likelihood_gain(relation) == 1) == (equal_closeness(relation) == 0)


@pytest.mark.parametrize("seed", range(20))
def test_streams_of_rows_and_of_pairs_find_the_same_extremes(seed):
    draw = np.random.default_rng(seed)
    secrets, released = draw.integers(0, 6, 60) ** 2 % 7, draw.integers(0, 5, 60)
    listed = Relation.from_pairs(zip(secrets.tolist(), released.tolist(), strict=True))
    pairs, order = listed.pairs(), np.argsort(listed.released_range)
    expected = listed.summary.likely[:, order]
    rows = PairTally(secrets=7, released=5)
    rows.add((released << rows.secret_bits) | secrets)
    counter = PairCounter(secrets=7, released=5)
    codes = (
        np.array(listed.secret_range)[pairs.secret],
        np.array(listed.released_range)[pairs.released],
    )
    mixed = draw.permutation(pairs.counts.size)
    counter.add(codes[0][mixed], codes[1][mixed], pairs.counts[mixed])
    counter.add_shares(codes[0][mixed], codes[1][mixed], pairs.counts[mixed])
    for tally in (rows.finish(), counter.finish()):
        likely = Summary.of_tally(tally)[0].likely
        assert likely[0].tolist() == expected[0].tolist()
        assert likely[4].tolist() == expected[4].tolist()
        for ours, theirs in zip(likely[2:4].T.tolist(), expected[2:4].T.tolist(), strict=True):
            assert Fraction(*ours) == Fraction(*theirs)


def test_dependence_counts_missing_as_a_value():
    people = {"education": ["a", "a", "b", None], "years": [1, 1, None, 2]}
    assert dependence(people, "education", "years") == 1
    assert dependence({"a": [0, 0, 1, 1, 1], "b": [0, 0, 0, 1, 1]}, "a", "b") == Fraction(1, 2)
