"""Expected guesses against every order of guessing, and their closed forms."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import JointDistribution, Relation
from hartley.errors import OptionError
from hartley.measures import expected_guesses
from hartley.ranges.classes import KeyClasses

pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=25)


def best_order(weights):
    """Return the fewest trials on average over all orders in which the values can be tried."""
    return min(
        sum(Fraction(trial * weight) for trial, weight in enumerate(order, 1))
        for order in permutations(weights)
    )


def listed(drawn):
    """Return trials without and with the release, and the fewest, from the definition."""
    secrets = sorted({x for x, _ in drawn})
    outputs = sorted({y for _, y in drawn})
    rows = len(drawn)
    alone = best_order([sum(x == a for a, _ in drawn) for x in secrets]) / rows
    trials = {y: best_order([drawn.count((x, y)) for x in secrets]) for y in outputs}
    sizes = {y: sum(y == b for _, b in drawn) for y in outputs}
    return alone, sum(trials.values()) / rows, min(trials[y] / sizes[y] for y in outputs)


@settings(max_examples=60)
@given(pairs)
def test_trials_are_those_of_the_best_order(drawn):
    relation = Relation.from_pairs(drawn)
    found = expected_guesses(relation)
    assert (found.without, found.with_release, found.fewest) == listed(drawn)
    assert found.saved == found.without - found.with_release >= 0
    assert found.leakage >= 0
    assert (found.leakage == 0) == (found.saved == 0)


@given(pairs)
def test_counts_and_probabilities_agree(drawn):
    relation = Relation.from_pairs(drawn)
    counts = relation.pairs()
    joint = [[Fraction(0)] * counts.sizes[1] for _ in range(counts.sizes[0])]
    for x, y, count in zip(counts.secret, counts.released, counts.counts, strict=True):
        joint[x][y] = Fraction(int(count), len(drawn))
    assert expected_guesses(joint) == expected_guesses(relation)
    assert expected_guesses(KeyClasses.of(relation.class_counts())) == expected_guesses(relation)


@given(pairs)
def test_an_attribute_is_guessed_as_a_secret_of_its_own(drawn):
    found = expected_guesses(Relation.from_pairs(drawn), lambda x: x % 2)
    assert found == expected_guesses(Relation.from_pairs([(x % 2, y) for x, y in drawn]))


@pytest.mark.parametrize("n", [1, 2, 5, 100])
def test_equally_likely_values_take_half_of_them_and_a_half(n):
    hidden = expected_guesses(Relation.from_pairs([(x, 0) for x in range(n)]))
    assert hidden.without == hidden.with_release == hidden.fewest == Fraction(n + 1, 2)
    shown = expected_guesses(Relation.from_pairs([(x, x) for x in range(n)]))
    assert (shown.without, shown.with_release, shown.fewest) == (Fraction(n + 1, 2), 1, 1)


def test_written_numbers_are_what_they_say():
    thirds = [["1/3", 0], [0, "1/3"], ["1/6", "1/6"]]
    assert expected_guesses(thirds).without == 2
    tenths = expected_guesses([[0.1, 0.2], [0.3, 0.4]])
    assert tenths.with_release == Fraction(3 + 2, 10) + Fraction(4 + 4, 10)
    assert expected_guesses(np.array([[0.1, 0.2], [0.3, 0.4]])) == tenths
    assert expected_guesses(JointDistribution.of([[0.1, 0.2], [0.3, 0.4]])) == tenths


def test_a_released_value_that_never_occurs_changes_nothing():
    assert expected_guesses([["1/4", 0, "1/4"], ["1/2", 0, 0]]) == expected_guesses(
        [["1/4", "1/4"], ["1/2", 0]]
    )


def test_sums_beyond_machine_integers_are_exact():
    from hartley.measures.entropy import _ranked

    counts = np.array([2**61, 2**61 - 1, 5], np.int64)
    assert _ranked(np.zeros(3, np.int64), counts, 1)[0] == 2**61 + 2 * (2**61 - 1) + 15


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ([[0.5, 0.4]], "does not add up to 1"),
        ([[1.5, -0.5]], "not a probability"),
        ([[0.5], [0.25, 0.25]], "not a matrix"),
        ([["a"]], "not a matrix"),
        ([], "not a matrix"),
        ([[]], "not a matrix"),
        (5, "not a matrix"),
    ],
)
def test_what_is_no_law_is_refused(source, said):
    with pytest.raises(OptionError, match=said):
        expected_guesses(source)


def test_an_attribute_of_numbers_without_values_is_refused():
    with pytest.raises(OptionError, match="needs a relation"):
        expected_guesses([[0.5, 0.5]], lambda x: x)
    classes = KeyClasses.of(Relation.from_pairs([(0, 0)]).class_counts())
    with pytest.raises(OptionError, match="needs a relation"):
        expected_guesses(classes, lambda x: x)
