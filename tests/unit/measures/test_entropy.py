"""Entropy before and after the release, covers, and expected guesses."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import hartley
from hartley import ROW, Box, Interval, JointDistribution, Relation, hartley_entropy
from hartley.boxes import IntervalUnion
from hartley.errors import OptionError
from hartley.measures import conditional_entropy, expected_guesses, relative_disarray
from hartley.ranges.classes import KeyClasses

STAIRS = Relation.from_pairs([(x, y) for y in range(1, 5) for x in range(2 ** (y - 1))])
"""Released 1, 2, 3, 4 leave 1, 2, 4, 8 secrets possible."""


def test_entropy_counts_the_secrets():
    assert hartley_entropy(STAIRS) == 3.0
    assert hartley_entropy(STAIRS.swap()) == 2.0
    assert hartley_entropy(STAIRS.joint()) == pytest.approx(math.log2(1 + 2 + 4 + 8))


def test_the_kindest_and_the_most_telling_value_bound_what_is_left():
    assert conditional_entropy(STAIRS) == 3.0
    assert relative_disarray(STAIRS) == 0.0
    assert conditional_entropy(STAIRS.swap()) == 2.0
    assert relative_disarray(STAIRS.swap()) == 0.0


def test_repeated_rows_change_nothing():
    repeated = Relation.from_pairs([(0, "a")] * 100 + [(1, "a"), (2, "b")])
    assert hartley_entropy(repeated) == pytest.approx(math.log2(3))
    assert conditional_entropy(repeated) == 1.0


def test_with_records_as_secrets_the_smallest_group_is_what_is_left():
    jobs = ["x"] * 5 + ["y"] * 3 + ["z"] * 4
    relation = Relation.from_table({"job": jobs}, secret=ROW, released="job")
    assert hartley_entropy(relation) == pytest.approx(math.log2(12))
    assert relative_disarray(relation) == pytest.approx(math.log2(3))
    assert conditional_entropy(relation) == pytest.approx(math.log2(5))


# --- the fewest sets that cover a range -----------------------------------------------------------


def fewest_windows(points, width):
    """Return the fewest windows of some whole width that hold whole numbers, by trying all."""
    starts = sorted(points)
    for number in range(1, len(starts) + 1):
        for chosen in combinations(starts, number):
            if all(any(s <= point <= s + width for s in chosen) for point in points):
                return number
    raise AssertionError


@given(
    points=st.sets(st.integers(0, 30), min_size=1, max_size=8),
    width=st.integers(1, 9),
)
@settings(max_examples=120, deadline=None)
def test_single_numbers_are_covered_by_the_fewest_windows(points, width):
    separate = IntervalUnion.of([Interval(point, point) for point in points])
    assert hartley.measures.covering_number(separate, Fraction(width, 2)) == fewest_windows(
        points, width
    )


@given(
    pieces=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 4)), min_size=1, max_size=4),
    width=st.integers(1, 6),
)
@settings(max_examples=100, deadline=None)
def test_intervals_need_as_many_sets_as_they_hold_points_that_are_further_apart(pieces, width):
    reached = IntervalUnion.of([Interval(low, low + length) for low, length in pieces])
    hair, points = Fraction(1, 1000), [reached.parts[0].low]
    while True:
        beyond = points[-1] + width + hair  # ends are whole, so no end lies within a few hairs
        later = [max(part.low, beyond) for part in reached if part.high >= beyond]
        if not later:
            break
        points.append(min(later))
    assert hartley.measures.covering_number(reached, Fraction(width, 2)) == len(points)


@given(
    lengths=st.lists(st.fractions(0, 5, max_denominator=6), min_size=1, max_size=3),
    epsilon=st.fractions(Fraction(1, 5), 3, max_denominator=6),
)
@settings(max_examples=150, deadline=None)
def test_remark_ii_1_the_upper_inequality_and_a_box_is_covered_exactly(lengths, epsilon):
    box = Box({f"x{i}": (0, length) for i, length in enumerate(lengths)})
    number = hartley.measures.covering_number(box, epsilon)
    assert box.volume <= (2 * epsilon) ** len(lengths) * number
    assert hartley.measures.epsilon_entropy(box, epsilon) == pytest.approx(math.log2(number))
    # So many points are pairwise more than 2 epsilon apart in some coordinate.
    apart = 1
    for length in lengths:
        steps = max(1, math.ceil(length / (2 * epsilon)))
        assert steps == 1 or length / (steps - 1) > 2 * epsilon
        apart *= steps
    assert apart == number


def test_remark_ii_1_the_lower_inequality_is_false():
    one_set = hartley.measures.covering_number(Interval(0, 1), 2)
    assert one_set == 1
    assert 2 * one_set > 1  # epsilon^n N is more than the length
    with pytest.raises(OptionError, match="not positive"):
        hartley.measures.epsilon_entropy(Interval(0, 1), 0)


# --- expected guesses, against every order of guessing --------------------------------------------

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
