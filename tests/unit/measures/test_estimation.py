"""Measures of a box cut into cells, of intervals of outputs, and errors of estimators."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

import hartley
from hartley import (
    Box,
    CutBox,
    Interval,
    hartley_entropy,
    maximin_information,
    nonstochastic_leakage,
    smallest_error,
)
from hartley.boxes import IntervalUnion, variables
from hartley.boxes.zonotope import slab_corners, smallest_ball
from hartley.errors import OptionError, UndefinedMeasure
from hartley.measures import (
    analyse_intervals,
    best_estimator,
    conditional_entropy,
    information_transmission,
    largest_error,
    largest_error_bound,
    nonstochastic_information,
    relative_disarray,
    smallest_error_bound,
)

SQUARE = Box.cube(-2, 2, size=2)
QUARTERS = CutBox(SQUARE, "(x1 + x2) / 2", [-2, -1, 0, 1, 2])
ELLIPSES = CutBox(SQUARE, "x1**2 + 2*x2**2", [0, 1, 12], gap=1e-3)


def test_measures_of_a_cut_are_those_of_its_volumes():
    assert hartley_entropy(QUARTERS) == 4
    assert conditional_entropy(QUARTERS) == pytest.approx(math.log2(6))
    assert relative_disarray(QUARTERS) == 1
    assert nonstochastic_information(QUARTERS) == pytest.approx(math.log2(16 / 6))
    assert nonstochastic_leakage(QUARTERS) == 3
    assert maximin_information(QUARTERS) == 2


@pytest.mark.parametrize(
    "measure",
    [
        hartley_entropy,
        conditional_entropy,
        relative_disarray,
        nonstochastic_information,
        nonstochastic_leakage,
        maximin_information,
    ],
)
def test_bases_convert(measure):
    assert measure(QUARTERS, base=math.e) == pytest.approx(measure(QUARTERS) * math.log(2))


def test_certified_leakage_is_never_below_and_what_is_left_never_above_the_truth():
    # An ellipse of area pi/sqrt(2) in a square of area 16.
    inner = math.pi / math.sqrt(2)
    assert relative_disarray(ELLIPSES) <= math.log2(inner)
    assert conditional_entropy(ELLIPSES) <= math.log2(16 - inner)
    assert nonstochastic_leakage(ELLIPSES) >= math.log2(16 / inner)
    assert nonstochastic_information(ELLIPSES) >= math.log2(16 / (16 - inner))
    assert nonstochastic_leakage(ELLIPSES) == pytest.approx(math.log2(16 / inner), rel=1e-3)
    assert not ELLIPSES.smallest.exact


def test_an_output_that_gives_a_point_away_leaks_without_bound():
    corner = CutBox(SQUARE, "(x1 + x2) / 2", [-2, 2, 3])
    assert relative_disarray(corner) == -math.inf
    assert nonstochastic_leakage(corner) == math.inf
    assert smallest_error_bound(corner) == 0
    assert smallest_error(corner) == 0


def test_one_cell_leaks_nothing():
    whole = CutBox(SQUARE, "x1*x2", [-4, 4])
    assert nonstochastic_leakage(whole) == maximin_information(whole) == 0


def test_information_transmission_is_undefined():
    with pytest.raises(UndefinedMeasure, match="no volume"):
        information_transmission(QUARTERS)


@pytest.mark.slow
def test_leakage_about_ten_thousand_people_is_finite():
    cut = CutBox(
        Box.cube(100, 250, size=10_000),
        lambda *x: sum(x) / len(x),
        [100 + Fraction(150 * k, 100) for k in range(101)],
    )
    assert len(cut.outputs) == 100
    # The outermost of 100 cells: S <= 100 for a sum of 10,000 uniform variables, about 100^n / n!.
    leading = (math.lgamma(10_001) - 10_000 * math.log(100)) / math.log(2)
    assert leading < nonstochastic_leakage(cut) < leading * 1.001


# --- estimators ----------------------------------------------------------------------------------

weights = st.lists(st.integers(-3, 3).filter(bool), min_size=1, max_size=4)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(weights, st.integers(1, 5))
def test_the_ball_bound_never_exceeds_the_error_of_the_best_estimator(weights, levels):
    names = [f"x{i}" for i in range(len(weights))]
    query = sum(w * v for w, v in zip(weights, variables(*names), strict=True))
    low, high = sum(min(w, 0) for w in weights), sum(max(w, 0) for w in weights)
    edges = [low + Fraction((high - low) * k, levels) for k in range(levels + 1)]
    cut = CutBox(Box(dict.fromkeys(names, (0, 1))), query, edges)
    assert 0 < smallest_error_bound(cut) <= smallest_error(cut)
    assert largest_error_bound(cut) <= largest_error(cut)
    assert smallest_error(cut) <= largest_error(cut)


guesses = st.lists(
    st.fractions(min_value=-1, max_value=2, max_denominator=16), min_size=3, max_size=3
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=3).filter(any),
    st.integers(1, 4),
    st.lists(guesses, min_size=1, max_size=5),
)
def test_no_guess_is_better_than_the_best_estimator(weights, levels, others):
    names = [f"x{i}" for i in range(len(weights))]
    query = sum(w * v for w, v in zip(weights, variables(*names), strict=True))
    low, high = sum(min(w, 0) for w in weights), sum(max(w, 0) for w in weights)
    edges = [low + Fraction((high - low) * k, levels) for k in range(levels + 1)]
    box = Box(dict.fromkeys(names, (0, 1)))
    cut = CutBox(box, query, edges)
    for cell in cut.outputs:
        guess = best_estimator(cut, cell)
        slab = Interval(edges[cell], edges[cell + 1])
        corners = slab_corners(box, [Fraction(w) for w in weights], slab)

        def worst(centre, corners=corners):
            return max(sum((a - b) ** 2 for a, b in zip(c, centre, strict=False)) for c in corners)

        assert worst(guess.centre.values()) == guess.squared_error
        assert all(worst(other) >= guess.squared_error for other in others)


def test_the_bound_is_attained_in_one_dimension():
    cut = CutBox(Box.cube(0, 1, size=1), "x1", [0, "0.25", 1])
    assert smallest_error_bound(cut) == pytest.approx(0.125)
    assert smallest_error(cut) == 0.125
    assert largest_error_bound(cut) == pytest.approx(largest_error(cut)) == pytest.approx(0.375)


def test_a_variable_that_the_query_ignores_stays_unknown():
    cut = CutBox(SQUARE, "x1", [-2, 0, 2])
    guess = best_estimator(cut, 0)
    assert guess.centre == {"x1": -1, "x2": 0}
    assert guess.squared_error == 5


@pytest.mark.parametrize(
    ("cut", "cell", "what"),
    [
        (ELLIPSES, 0, "linear queries of a few variables only"),
        (CutBox(Box.cube(0, 1, size=7), "x1 + x7", [0, 2]), 0, "linear queries of a few"),
        (QUARTERS, 4, "Cell 4 is not an output"),
        (QUARTERS, -1, "Cell -1 is not an output"),
    ],
)
def test_estimators_that_are_not_known_are_refused(cut, cell, what):
    with pytest.raises(OptionError, match=what):
        best_estimator(cut, cell)


# --- hypotheses ----------------------------------------------------------------------------------

ends = st.tuples(st.integers(0, 12), st.integers(1, 4)).map(lambda e: Interval(e[0], e[0] + e[1]))
unions = st.lists(ends, min_size=1, max_size=4)


@given(unions, unions)
def test_an_analysis_of_intervals_counts_unit_cells(true, false):
    found = analyse_intervals(IntervalUnion.of(true), IntervalUnion.of(false))
    cells = [
        {k for part in parts for k in range(int(part.low), int(part.high))}
        for parts in (true, false)
    ]
    deciding = len(cells[0] ^ cells[1])
    assert found.deciding == deciding
    assert found.ambiguous == len(cells[0] & cells[1])
    assert found.outputs.length == len(cells[0] | cells[1])
    if deciding:
        assert found.performance_bound == pytest.approx(math.log2(deciding))
        assert found.privacy == pytest.approx(math.log2(len(cells[0] | cells[1]) / deciding))
    else:
        assert found.performance_bound == -math.inf
        assert found.privacy == math.inf


@pytest.mark.parametrize("empty", [IntervalUnion(()), IntervalUnion.of([Interval(3, 3)])])
def test_a_hypothesis_that_is_never_true_or_never_false_is_refused(empty):
    some = IntervalUnion.of([Interval(0, 1)])
    with pytest.raises(OptionError, match="hypothesis is true"):
        analyse_intervals(empty, some)
    with pytest.raises(OptionError, match="hypothesis is false"):
        analyse_intervals(some, empty)


# --- many people who count alike -----------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([1, -1])), min_size=2, max_size=5),
    st.lists(st.fractions(0, 1), min_size=1, max_size=4, unique=True),
    st.fractions(Fraction(1, 4), 4),
)
def test_the_closed_form_of_the_best_estimator_is_the_ball_of_the_corners(people, cuts, length):
    box = Box({f"x{i}": (low, low + length) for i, (low, _) in enumerate(people)})
    query = sum(sign * v for (_, sign), v in zip(people, variables(*box.names), strict=True)) / 3
    spans = [sorted((sign * low, sign * (low + length))) for low, sign in people]
    ends = [Fraction(sum(span[end] for span in spans)) / 3 for end in (0, 1)]
    places = {ends[0] + cut * (ends[1] - ends[0]) for cut in cuts}
    cut = CutBox(box, query, tuple(sorted({*ends, *places})))
    for cell in cut.outputs:
        found = best_estimator(cut, cell)
        part = cut.cells[cell].intersect(cut.query_range)
        weights = [Fraction(sign, 3) for _, sign in people]
        centre, square = smallest_ball(slab_corners(box, weights, Interval(part.low, part.high)))
        assert tuple(found.centre.values()) == centre
        assert found.squared_error == square


@pytest.mark.slow
def test_the_best_estimator_of_a_thousand_people_is_known():
    box = Box.cube(100, 250, size=1000)
    query = sum(variables(*box.names)) / 1000
    cut = CutBox(box, query, tuple(100 + Fraction(150 * k, 1200) for k in range(1201)))
    truth = 150 * math.sqrt(1000 * 999) / 1200
    assert smallest_error(cut) == pytest.approx(truth, rel=1e-12)
    assert largest_error(cut) == pytest.approx(75 * math.sqrt(1000), rel=1e-2)


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
