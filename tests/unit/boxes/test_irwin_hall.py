"""The share of a cube between two planes: exact by corners, certified by Fourier series."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley.boxes.volumes import exact_share, series_share, slab_share

widths = st.fractions(min_value=Fraction(1, 20), max_value=3, max_denominator=20)
groups = st.dictionaries(widths, st.integers(1, 3), min_size=1, max_size=3).map(
    lambda found: list(found.items())
)
share = st.fractions(min_value=0, max_value=1, max_denominator=30)
levels = st.tuples(share, share).map(sorted)


def brute(groups, level):
    """Return the share below a plane by all subsets of the widths, without any grouping."""
    flat = [width for width, count in groups for _ in range(count)]
    total = Fraction(0)
    for size in range(len(flat) + 1):
        for chosen in combinations(flat, size):
            rest = level - sum(chosen, Fraction(0))
            if rest > 0:
                total += (-1) ** size * rest ** len(flat)
    return total / math.factorial(len(flat)) / math.prod(flat)


def reach(groups):
    return sum((width * count for width, count in groups), Fraction(0))


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(groups, levels)
def test_the_exact_share_is_that_of_all_subsets(groups, share):
    low, high = (part * reach(groups) for part in share)
    assert exact_share(groups, low, high) == brute(groups, high) - brute(groups, low)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(groups, levels)
def test_a_slab_and_its_mirror_image_hold_the_same(groups, share):
    total = reach(groups)
    low, high = (part * total for part in share)
    found = slab_share(groups, low, high)
    assert found[0] == found[1]
    assert found == slab_share(groups, total - high, total - low)
    assert found[0] == (brute(groups, high) - brute(groups, low) if low < high else 0)


def assert_encloses(groups, low, high, most=Fraction(1, 10**9)):
    """The series holds the exact share, and is wider by a small part of it at most."""
    exact = exact_share(groups, low, high)
    below, above = series_share(groups, low, high)
    assert below <= exact <= above
    assert above - below <= most * exact


halves = st.fractions(min_value=Fraction(1, 2), max_value=1, max_denominator=20)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(halves, min_size=12, max_size=15), levels)
def test_the_series_encloses_the_exact_share_closely(flat, share):
    groups = [(width, flat.count(width)) for width in dict.fromkeys(flat)]
    total = reach(groups)
    low, high = share[0] * total, share[1] * total + total / 1000
    if low + high > total:
        low, high = max(total - high, Fraction(0)), total - low
    assert_encloses(groups, low, high)


@pytest.mark.parametrize("people", [40, 200, 1000])
@pytest.mark.parametrize("part", ["1/2", "1/3", "1/20"])
def test_the_series_holds_for_many_equal_people(people, part):
    level = people * Fraction(part)
    assert_encloses([(Fraction(1), people)], Fraction(0), level)


def test_a_share_far_below_the_smallest_double_is_still_close():
    # The corner of 10,000 people: 1/10000!, about 10^-35660.
    corner = slab_share([(Fraction(1), 10_000)], Fraction(0), Fraction(1))
    assert corner == (Fraction(1, math.factorial(10_000)),) * 2
    below, above = series_share([(Fraction(1), 10_000)], Fraction(0), Fraction(1))
    assert below <= corner[0] <= above
    assert above - below <= corner[0] / 10**8


def test_half_of_ten_thousand_people_is_a_half():
    below, above = slab_share([(Fraction(1), 10_000)], Fraction(0), Fraction(5000))
    assert below <= Fraction(1, 2) <= above
    assert above - below < Fraction(1, 10**9)


@pytest.mark.slow
def test_ten_thousand_different_weights_are_bounded_closely():
    rng = np.random.default_rng(7)
    groups = [(Fraction(int(k), 10**9), 1) for k in rng.integers(1, 10**9, 10_000)]
    total = reach(groups)
    below, above = slab_share(groups, Fraction(0), total / 2)
    assert below <= Fraction(1, 2) <= above
    assert above - below < Fraction(1, 10**9)
    # Two thirds of a standard deviation below the middle, against the normal law.
    deviation = math.sqrt(sum(float(width) ** 2 for width, _ in groups) / 12)
    level = total / 2 - Fraction(deviation * 2 / 3)
    share = slab_share(groups, Fraction(0), level)
    assert float(share[0]) == pytest.approx(math.erfc(2 / 3 / math.sqrt(2)) / 2, rel=1e-4)


def test_parts_of_the_range_add_up():
    groups = [(Fraction(1 + k % 7, 10), 1) for k in range(30)]
    groups = [(w, c) for w, c in {w: sum(v == w for v, _ in groups) for w, _ in groups}.items()]
    total = reach(groups)
    edges = [total * k / 7 for k in range(8)]
    parts = [slab_share(groups, a, b) for a, b in pairwise(edges)]
    assert sum(low for low, _ in parts) <= 1 <= sum(high for _, high in parts)
    assert sum(high for _, high in parts) - sum(low for low, _ in parts) < Fraction(1, 10**9)


def test_widths_of_very_different_size_stay_certified():
    # Only one width is of any size, so the series converges slowly; its bounds still hold.
    groups = [(Fraction(1), 1), (Fraction(1, 1000), 12)]
    assert_encloses(groups, Fraction(0), Fraction(1, 3), Fraction(1, 10**6))


def test_nothing_lies_outside_the_range():
    cube = [(Fraction(1), 3)]
    assert slab_share(cube, Fraction(-5), Fraction(0)) == (0, 0)
    assert slab_share(cube, Fraction(3), Fraction(9)) == (0, 0)
    assert slab_share(cube, Fraction(-5), Fraction(9)) == (1, 1)


def test_a_series_cut_short_is_honest_about_it(monkeypatch):
    monkeypatch.setattr("hartley.boxes.volumes.MOST_FACTORS", 1)
    groups = [(Fraction(1), 2), (Fraction(1, 1000), 5)]
    for level in (Fraction(1, 3), Fraction(1, 2), Fraction(7, 8)):
        exact = exact_share(groups, Fraction(0), level)
        below, above = series_share(groups, Fraction(0), level)
        assert below <= exact <= above
        assert above - below > exact / 10**9
