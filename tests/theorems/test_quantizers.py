"""Quantizers of Farokhi 2019 (deterministic policies and noiseless privacy) and Farokhi 2021.

The statements are those that hold: Theorem 8 counts one cell more than printed, Theorem 5 is
sharper than printed, and (17b) of Theorem IV.3 reads argmin. Every oracle enumerates.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import assume, example, given, settings, strategies as st

from brute_force import set_partitions
from hartley import (
    Box,
    OptionError,
    Relation,
    UniformQuantizer,
    maximin_information,
    nonstochastic_leakage,
    optimal_quantizer,
)
from hartley.policies import CategoryMerging, allocate_bits
from hartley.policies.quantizer import (
    cells_per_person,
    levels_for_bits,
    levels_for_indistinguishability,
    outputs_telling,
)

LENGTHS = st.fractions(Fraction(1, 8), 12, max_denominator=12)
SHARES = st.fractions(Fraction(1, 24), 1, max_denominator=24)
VALUES = st.lists(st.integers(0, 9), min_size=1, max_size=7)
WIDTHS = st.integers(1, 7)


def critical(points, low, high):
    """Return points within bounds, and one between any two: all that a step function can be."""
    inside = sorted({low, high, *(point for point in points if low <= point <= high)})
    return [*inside, *((one + other) / 2 for one, other in pairwise(inside))]


def cells_met(quantizer, low, high):
    """Return the cells that a closed interval meets: cells are half-open, so both ends tell."""
    return set(range(quantizer.cell(low), quantizer.cell(high) + 1))


def most_cells_met(length, reach, levels):
    """Move a closed interval through a range, and count at most how many equal cells it meets."""
    quantizer = UniformQuantizer(0, length, levels)
    edges = quantizer.edges
    places = critical([*edges, *(edge - reach for edge in edges)], Fraction(0), length - reach)
    return max(len(cells_met(quantizer, place, place + reach)) for place in places)


def partitions_within(values, width):
    """Yield all policies on records with these values: cells of a small enough diameter."""
    for partition in set_partitions(values):
        if all(max(cell) - min(cell) <= width for cell in partition):
            yield partition


# --- Noiseless privacy, Theorem 8, corrected ----------------------------------------------------


@given(length=LENGTHS, share=SHARES, levels=st.integers(1, 30))
@example(length=Fraction(1), share=Fraction(1), levels=5)
@example(length=Fraction(1), share=Fraction(1, 4), levels=4)
@settings(max_examples=250, deadline=None)
def test_an_interval_meets_as_many_cells_as_the_formula_says_and_no_more(length, share, levels):
    assert most_cells_met(length, share * length, levels) == cells_per_person(
        length, share * length, levels
    )


@given(length=LENGTHS, share=SHARES, bits=st.sampled_from([0, 1, "1.5", "1.6", 2, "2.3", "2.6", 3]))
@settings(max_examples=60, deadline=None)
def test_theorem_8_corrected_is_sound_for_all_levels_up_to_its_own_and_tight(length, share, bits):
    reach, allowed = share * length, math.floor(2 ** float(bits))
    most = levels_for_bits(length, reach, bits)
    assume(most <= 60)
    assert all(most_cells_met(length, reach, q) <= allowed for q in range(1, most + 1))
    assert most_cells_met(length, reach, most + 1) > allowed


def test_erratum_theorem_8_as_printed_lets_a_person_reach_three_outputs_for_one_bit():
    # Mean of two in [0, 1], 1 bit: with x2 = 0 the mean runs through [0, 1/2].
    printed = UniformQuantizer.for_bits(low=0, high=1, sensitivity="1/2", bits=1, rule="printed")
    assert printed.levels == 4
    means = [(Fraction(x1, 100) + 0) / 2 for x1 in range(101)]
    assert {printed.cell(mean) for mean in means} == {0, 1, 2}
    sound = UniformQuantizer.for_bits(low=0, high=1, sensitivity="1/2", bits=1)
    assert sound.levels == 2
    for x2 in (Fraction(k, 20) for k in range(21)):
        assert len({sound.cell((Fraction(x1, 100) + x2) / 2) for x1 in range(101)}) <= 2


@pytest.mark.parametrize(
    ("people", "bits", "printed", "sound"),
    [(4, 2, 16, 12), (10, 1, 20, 10), (10, 2, 40, 30), (8, 3, 64, 56)],
)
def test_erratum_the_levels_for_means_of_several_people(people, bits, printed, sound):
    reach = Fraction(1, people)
    assert levels_for_bits(Fraction(1), reach, bits, rule="printed") == printed
    assert levels_for_bits(Fraction(1), reach, bits) == sound
    assert most_cells_met(Fraction(1), reach, sound) == 2**bits
    assert most_cells_met(Fraction(1), reach, printed) == 2**bits + 1


# --- Hypothesis testing, Theorem 5, sharp -------------------------------------------------------


def most_outputs_telling(weights, levels, low=Fraction(0), high=Fraction(1)):
    """Enumerate |Q([f|x_i]) symmetric difference Q([f|x_i'])| over everybody and all x_i, x_i'."""
    quantizer = UniformQuantizer.for_indistinguishability(
        coefficients=weights, low=low, high=high, bits=0
    )
    quantizer = UniformQuantizer(quantizer.low, quantizer.high, levels)
    best = 0
    for i, weight in enumerate(weights):
        if not weight:
            continue
        rest = [sorted((c * low, c * high)) for j, c in enumerate(weights) if j != i]
        below, above = (sum((ends[k] for ends in rest), Fraction(0)) for k in (0, 1))
        where = [(edge - end) / weight for edge in quantizer.edges for end in (below, above)]
        reached = {
            frozenset(cells_met(quantizer, weight * x + below, weight * x + above))
            for x in critical(where, low, high)
        }
        best = max(best, *(len(one ^ other) for one in reached for other in reached))
    return best


WEIGHTS = st.lists(st.integers(-4, 4), min_size=1, max_size=5).filter(any)


@given(weights=WEIGHTS, levels=st.integers(1, 14), low=st.integers(-2, 1))
@settings(max_examples=120, deadline=None)
def test_theorem_5_counts_exactly_the_outputs_that_tell(weights, levels, low):
    weights = [Fraction(weight) for weight in weights]
    found = most_outputs_telling(weights, levels, Fraction(low), Fraction(2))
    assert found == outputs_telling(weights, levels)


@pytest.mark.parametrize("others", ["0", "1/100", "1/10", "1/3", "2/5", "1/2", "5/7", "9/10", "1"])
def test_theorem_5_is_sharp_also_where_one_person_outweighs_the_others(others):
    # R = 1 + others: below 2 one person counts for more than all others together.
    weights = [Fraction(1), Fraction(others)]
    counts = [most_outputs_telling(weights, q) for q in range(1, 26)]
    assert counts == [outputs_telling(weights, q) for q in range(1, 26)]
    assert counts == sorted(counts)
    for bits, allowed in ((1, 2), ("1.6", 3), (2, 4), ("2.6", 6), (3, 8)):
        if not weights[1]:  # of one person alone two outputs tell, however many there are
            with pytest.raises(OptionError, match="one person alone"):
                levels_for_indistinguishability(weights, bits)
            continue
        most = levels_for_indistinguishability(weights, bits)
        assert most_outputs_telling(weights, most) <= allowed
        assert most_outputs_telling(weights, most + 1) > allowed


@pytest.mark.parametrize(("bits", "sharp", "printed"), [(1, 9, 1), (2, 14, 5), (3, 24, 15)])
def test_theorem_5_sharp_for_the_mean_of_five(bits, sharp, printed):
    fifths = [Fraction(1, 5)] * 5
    assert levels_for_indistinguishability(fifths, bits) == sharp
    assert levels_for_indistinguishability(fifths, bits, rule="printed") == printed
    assert all(most_outputs_telling(fifths, q) <= 2**bits for q in range(1, sharp + 1))
    assert most_outputs_telling(fifths, sharp + 1) > 2**bits


def test_erratum_theorem_5_where_one_person_outweighs_the_others():
    # Of x1 + x2/10 in ten cells r = 100/11 alone would allow ten outputs that tell; four exist.
    lopsided, even = [Fraction(1), Fraction(1, 10)], [Fraction(1), Fraction(1)]
    assert most_outputs_telling(lopsided, 10) == outputs_telling(lopsided, 10) == 4
    assert most_outputs_telling(even, 10) == outputs_telling(even, 10) == 9
    assert levels_for_indistinguishability(lopsided, 2) == 11
    assert (most_outputs_telling(lopsided, 11), most_outputs_telling(lopsided, 12)) == (4, 6)


# --- Deterministic policies, Theorems IV.2 and IV.3 ---------------------------------------------


@given(low=st.integers(-5, 5), length=LENGTHS, error=st.fractions(Fraction(1, 10), 3))
@settings(max_examples=150, deadline=None)
def test_theorem_iv_2_no_policy_has_fewer_cells_than_the_uniform_quantizer(low, length, error):
    box = Box({"x": (low, low + length)})
    best = optimal_quantizer("x", box, error)
    uniform = UniformQuantizer.for_error(low=low, high=low + length, error=error)
    assert best.edges == uniform.edges
    assert best.error <= error
    if best.levels > 1:
        # So many values, any two of them too far apart for one cell.
        apart = length / (best.levels - 1)
        assert apart > 2 * error


@given(values=VALUES, width=WIDTHS)
@settings(max_examples=120, deadline=None)
def test_theorem_iv_3_fewest_cells_over_all_set_partitions(values, width):
    best = optimal_quantizer(None, values, Fraction(width, 2))
    assert best.levels == min(map(len, partitions_within(values, width)))
    assert best.error <= Fraction(width, 2)
    released = Relation.from_pairs([(k, best.cell(value)) for k, value in enumerate(values)])
    assert maximin_information(released) == pytest.approx(math.log2(best.levels))


@given(values=st.sets(st.integers(0, 14), min_size=1, max_size=8), width=WIDTHS)
@settings(max_examples=120, deadline=None)
def test_theorem_iv_3_largest_smallest_cell_over_all_set_partitions(values, width):
    best = optimal_quantizer(None, sorted(values), Fraction(width, 2), "leakage")
    smallest = max(min(map(len, cells)) for cells in partitions_within(values, width))
    assert best.smallest_share == best.share_limit == Fraction(smallest, len(values))
    assert best.error <= Fraction(width, 2)
    released = Relation.from_pairs([(value, best.cell(value)) for value in values])
    assert nonstochastic_leakage(released) == pytest.approx(best.leakage)


@given(values=VALUES, width=WIDTHS)
@example(values=[0, 1, 1, 2], width=1)  # {0, 1}, {1, 2}: only who tells equal values apart
@example(values=[0, 1, 2, 2, 2, 3, 3, 3], width=2)
@settings(max_examples=150, deadline=None)
def test_with_equal_values_the_limit_is_that_of_all_set_partitions_of_the_records(values, width):
    best = optimal_quantizer(None, values, Fraction(width, 2), "leakage")
    smallest = max(min(map(len, cells)) for cells in partitions_within(values, width))
    assert best.share_limit == Fraction(smallest, len(values))
    assert best.smallest_share <= best.share_limit


@given(values=VALUES, width=WIDTHS)
@example(values=[0, 1, 1, 2], width=1)
@settings(max_examples=150, deadline=None)
def test_with_equal_values_the_quantizer_is_the_best_whose_cells_are_intervals(values, width):
    counts = Counter(values)
    ordered = sorted(counts)
    choices = []
    for cuts in product([False, True], repeat=len(ordered) - 1):
        cells = [[ordered[0]]]
        for value, cut in zip(ordered[1:], cuts, strict=True):
            cells = [*cells, [value]] if cut else [*cells[:-1], [*cells[-1], value]]
        if all(cell[-1] - cell[0] <= width for cell in cells):
            choices.append(min(sum(counts[value] for value in cell) for cell in cells))
    best = optimal_quantizer(None, values, Fraction(width, 2), "leakage")
    met = Counter(best.cell(value) for value in values)
    assert min(met.values()) == max(choices) == best.smallest_share * len(values)
    assert len(met) == best.levels


# --- Local noiseless privacy, and post-processing -----------------------------------------------


@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=3),
    bits=st.sampled_from([0, 1, "1.6", 2, 3, "3.5"]),
    objective=st.sampled_from(["largest", "mean"]),
)
@settings(max_examples=60, deadline=None)
def test_a_record_can_give_no_more_releases_than_an_allocation_allows(lengths, bits, objective):
    columns = {f"c{i}": (0, length) for i, length in enumerate(lengths)}
    allocation = allocate_bits(columns, bits, objective=objective)
    sides = [
        {allocation.quantizer(name).cell(length * Fraction(step, 24)) for step in range(25)}
        for name, length in zip(columns, lengths, strict=True)
    ]
    releases = set(product(*sides))
    assert len(releases) == allocation.outputs <= 2 ** float(bits)


def test_a_taxi_ride_gets_as_many_boxes_a_side_as_half_the_bits_allow():
    city = {"latitude": (40, 41), "longitude": (-74, -73)}
    for bits in range(13):
        levels = allocate_bits(city, bits).levels
        assert min(levels.values()) == math.floor(2 ** (bits / 2))


@given(
    values=st.lists(st.integers(0, 12), min_size=1, max_size=9),
    width=WIDTHS,
    objective=st.sampled_from(["maximin", "leakage"]),
    afterwards=st.lists(st.integers(0, 3), min_size=13, max_size=13),
)
@settings(max_examples=120, deadline=None)
def test_theorem_iii_1_post_processing_a_release_tells_nothing_more(
    values, width, objective, afterwards
):
    quantizer = optimal_quantizer(None, values, Fraction(width, 2), objective)
    released = Relation.from_pairs([(k, quantizer.cell(v)) for k, v in enumerate(values)])
    groups = {}
    for cell in range(quantizer.levels):
        groups.setdefault(afterwards[cell], []).append(cell)
    merged = CategoryMerging("cell", tuple(map(tuple, groups.values()))).apply(released)
    assert nonstochastic_leakage(merged) <= nonstochastic_leakage(released)
    assert maximin_information(merged) <= maximin_information(released)
