"""Covers by intervals agree with enumeration, and no rounding decides which values fit."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from hartley.kernels.sums import fewest_cells, first_within, largest_smallest_cell

TENTHS = st.lists(st.integers(-30, 30).map(lambda n: n / 10), min_size=1, max_size=12)
DOUBLES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)
WIDTHS = st.fractions(0, 4, max_denominator=60) | st.integers(0, 40).map(lambda n: Fraction(n, 10))


def by_rationals(values, width):
    """Find where cells may begin by comparing all differences as rationals."""
    exact = [Fraction(value) for value in values]
    first = [
        next(j for j in range(i + 1) if exact[i] - exact[j] <= width) for i in range(len(exact))
    ]
    return [0, *first]


def all_covers(first):
    """Yield all ways to cut positions into cells that begin no earlier than they may."""
    inner = range(1, len(first) - 1)
    for size in range(len(first) - 1):
        for chosen in combinations(inner, size):
            cuts = [0, *chosen, len(first) - 1]
            if all(begin >= first[end] for begin, end in pairwise(cuts)):
                yield cuts


@st.composite
def problems(draw):
    """Draw a sorted list, a width and the mass of every value."""
    values = sorted(draw(st.sets(st.integers(0, 25), min_size=1, max_size=9)))
    weights = draw(st.lists(st.integers(1, 6), min_size=len(values), max_size=len(values)))
    first = first_within(np.array(values), Fraction(draw(st.integers(0, 14))))
    return first, np.concatenate([[0], np.cumsum(weights)])


@pytest.mark.slow
@given(values=TENTHS | DOUBLES, width=WIDTHS)
@example(values=[0.1, 0.4], width=Fraction(3, 10))
@example(values=[0.1, 0.3], width=Fraction(1, 5))
@example(values=[1.0, 1.0 + 2**-52, 2.0], width=Fraction(1))
@example(values=[-1e16, 1.0], width=Fraction(10**16 + 1))
@example(values=[-1e16, 1.5], width=Fraction(10**16 + 1))
@example(values=[0.0, 5e-324, 1e-323], width=Fraction(5e-324))
@example(values=[0.0, 5e-324], width=Fraction(5e-324) / 3)
@settings(max_examples=300, deadline=None)
def test_differences_of_doubles_are_compared_exactly(values, width):
    values = sorted(values)
    assert first_within(np.array(values), width).tolist() == by_rationals(values, width)


@pytest.mark.slow
@given(base=st.floats(0.1, 1e9), width=WIDTHS, steps=st.lists(st.integers(-3, 3), min_size=1))
@settings(max_examples=200, deadline=None)
def test_doubles_around_the_width_fall_on_the_right_side(base, width, steps):
    near = float(Fraction(base) + width)
    values = sorted([base, *(near + step * math.ulp(near) for step in steps)])
    assert first_within(np.array(values), width).tolist() == by_rationals(values, width)


@pytest.mark.slow
@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=10),
    width=st.integers(0, 2**65) | st.integers(0, 50) | st.fractions(0, 100),
)
@example(values=[-(2**63), 2**63 - 1], width=2**64 - 1)
@example(values=[-(2**63), 2**63 - 1], width=2**64 - 2)
@settings(max_examples=200, deadline=None)
def test_differences_of_integers_never_wrap(values, width):
    values = sorted(values)
    found = first_within(np.array(values, np.int64), Fraction(width))
    assert found.tolist() == by_rationals(values, width)


@pytest.mark.slow
@given(problem=problems())
@settings(max_examples=200, deadline=None)
def test_the_greedy_cover_is_a_smallest_one(problem):
    first, _ = problem
    cuts = fewest_cells(first).tolist()
    covers = list(all_covers(first.tolist()))
    assert cuts in covers
    assert len(cuts) == min(map(len, covers))


@pytest.mark.slow
@given(problem=problems())
@settings(max_examples=300, deadline=None)
def test_the_smallest_cell_is_as_large_as_enumeration_finds_it(problem):
    first, mass = problem
    least, cuts = largest_smallest_cell(first, mass)
    covers = {tuple(cover): int(np.diff(mass[cover]).min()) for cover in all_covers(first.tolist())}
    assert least == max(covers.values())
    assert covers[tuple(cuts.tolist())] == least
    assert cuts.size == min(len(cover) for cover, smallest in covers.items() if smallest == least)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 1000])
def test_one_cell_holds_everything_that_fits(size):
    first = first_within(np.arange(size), Fraction(size))
    least, cuts = largest_smallest_cell(first, np.arange(size + 1))
    assert (least, cuts.tolist()) == (size, [0, size])
    assert fewest_cells(first).tolist() == [0, size]


def test_evenly_spread_values_are_cut_evenly():
    # A million values in cells of at most 1000: a thousand cells of a thousand.
    first = first_within(np.arange(10**6), Fraction(999))
    least, cuts = largest_smallest_cell(first, np.arange(10**6 + 1))
    assert least == 1000
    assert set(np.diff(cuts).tolist()) == {1000}
