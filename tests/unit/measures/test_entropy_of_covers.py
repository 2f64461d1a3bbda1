"""Covers of intervals and boxes against exhaustive search, and bounds on errors against cells."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings, strategies as st

import hartley
from hartley import Box, Interval
from hartley.boxes import IntervalUnion
from hartley.errors import OptionError

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


# --- the expected error about one person ----------------------------------------------------------


@pytest.mark.slow
@given(
    edges=st.sets(st.integers(1, 11), max_size=4),
    masses=st.lists(st.integers(1, 5), min_size=12, max_size=12),
)
@settings(max_examples=150, deadline=None)
def test_theorem_4_no_cells_and_no_density_allow_a_smaller_mean_error(edges, masses):
    # Twelve unit intervals with constant densities, cut into cells; the best guess is a median.
    total = sum(masses)
    cuts = [0, *sorted(edges), 12]
    error = Fraction(0)
    for low, high in pairwise(cuts):
        best = min(
            sum(Fraction(masses[k], total) * mean_distance(k, guess) for k in range(low, high))
            for guess in (Fraction(g, 4) for g in range(4 * low, 4 * high + 1))
        )
        error += best
    least = Fraction(min(masses), total)
    outputs = len(cuts) - 1
    assert hartley.measures.expected_error_bound(12, outputs, density=least) <= error


def mean_distance(k, guess):
    """Return the mean of |x - guess| for x spread evenly over [k, k + 1]."""
    if guess <= k or guess >= k + 1:
        return abs(k + Fraction(1, 2) - guess)
    return ((guess - k) ** 2 + (k + 1 - guess) ** 2) / 2


@pytest.mark.parametrize("power", [1, 2, 3, "1/2", "5/2"])
@pytest.mark.parametrize("outputs", [1, 2, 5])
def test_theorem_4_is_attained_by_equal_cells(power, outputs):
    p, half = float(Fraction(power)), 3 / outputs / 2
    attained = half**p / (p + 1)  # the mean of |x - middle|^p over a cell
    bound = hartley.measures.expected_error_bound(3, outputs, power=power)
    assert bound == pytest.approx(attained, rel=1e-9)
    assert bound <= attained * (1 + 1e-15)


@pytest.mark.parametrize(
    "options",
    [
        {"length": 0, "outputs": 1},
        {"length": 1, "outputs": 0},
        {"length": 1, "outputs": 1, "power": 0},
        {"length": 2, "outputs": 1, "density": 1},
    ],
)
def test_what_makes_no_sense_is_refused(options):
    with pytest.raises(OptionError, match="not positive"):
        hartley.measures.expected_error_bound(**options)
