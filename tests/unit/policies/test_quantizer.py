"""Uniform quantizers: edges, cells, and the levels that an error or a budget allows."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley import OptionError, UniformQuantizer
from hartley.policies.quantizer import (
    levels_for_bits,
    levels_for_indistinguishability,
    outputs_telling,
)

NUMBERS = st.fractions(-50, 50, max_denominator=12)
POSITIVE = st.fractions(Fraction(1, 20), 50, max_denominator=20)


@pytest.mark.slow
@given(low=NUMBERS, length=POSITIVE, levels=st.integers(1, 40), share=st.fractions(0, 1))
@settings(max_examples=200, deadline=None)
def test_a_value_lies_in_its_cell_and_within_the_error_of_its_middle(low, length, levels, share):
    quantizer = UniformQuantizer(low, low + length, levels)
    value = low + share * length
    cell = quantizer.cell(value)
    edges = quantizer.edges
    assert len(edges) == levels + 1
    assert edges[0] == quantizer.low
    assert edges[-1] == quantizer.high
    assert edges[cell] <= value
    assert value < edges[cell + 1] or value == quantizer.high
    assert abs(value - quantizer.middle(cell)) <= quantizer.error == length / (2 * levels)


def test_an_inner_edge_belongs_to_the_cell_above_and_values_outside_are_clamped():
    quantizer = UniformQuantizer("0.1", "0.4", 3)
    values = ("0.1", 0.2, 0.3, "0.4", -3, 11)
    assert [quantizer.cell(value) for value in values] == [0, 1, 2, 2, 0, 2]


def test_a_range_of_one_value_has_one_cell_in_use():
    quantizer = UniformQuantizer(7, 7, 3)
    assert (quantizer.cell(7), quantizer.error, quantizer.middle(0)) == (0, 0, 7)


def test_an_error_is_read_as_the_decimal_that_it_is_written_as():
    # As a double 0.15 is a little too small for 10 cells.
    assert UniformQuantizer.for_error(low=0, high=3, error=0.15).levels == 10


@pytest.mark.parametrize(
    ("bits", "ratio", "levels"), [(1, 10, 20), ("1.5", 10, 28), ("0.5", 1, 1), (3, 8, 64)]
)
def test_the_printed_rule_takes_two_to_the_bits_as_it_is(bits, ratio, levels):
    found = levels_for_bits(Fraction(ratio), Fraction(1), bits, rule="printed")
    assert found == levels == max(1, math.floor(2 ** float(bits) * ratio))


def test_the_printed_rule_is_remembered():
    printed = UniformQuantizer.for_bits(low=0, high=1, sensitivity=1, bits=1, rule="printed")
    assert printed.rule == "printed"
    assert UniformQuantizer.for_bits(low=0, high=1, sensitivity=1, bits=1).rule == "corrected"
    fifths = ["1/5"] * 5
    quantizer = UniformQuantizer.for_indistinguishability(
        coefficients=fifths, low=0, high=1, bits=3, rule="printed"
    )
    assert (quantizer.rule, quantizer.levels) == ("printed", 15)


def test_the_domain_for_indistinguishability_is_the_range_of_the_query():
    quantizer = UniformQuantizer.for_indistinguishability(
        coefficients=[1, -2], low=-1, high=3, bits=2
    )
    assert (quantizer.low, quantizer.high) == (-7, 5)


@given(
    weights=st.lists(st.integers(-6, 6), min_size=1, max_size=6).filter(any),
    bits=st.sampled_from([0, 1, "1.6", 2, 3]),
)
@settings(max_examples=150, deadline=None)
def test_the_levels_for_indistinguishability_are_the_most_that_the_bound_allows(weights, bits):
    weights = [Fraction(weight) for weight in weights]
    allowed = math.floor(2 ** float(bits))
    if allowed >= 2 and sum(map(bool, weights)) == 1:
        with pytest.raises(OptionError, match="one person alone"):
            levels_for_indistinguishability(weights, bits)
        return
    levels = levels_for_indistinguishability(weights, bits)
    assert all(outputs_telling(weights, q) <= allowed for q in range(1, levels + 1))
    assert outputs_telling(weights, levels + 1) > allowed


def test_a_query_that_depends_on_nobody_tells_nothing():
    assert outputs_telling([Fraction(0)] * 2, 5) == 0
    assert outputs_telling([], 5) == 0


@pytest.mark.parametrize("levels", [0, -1, 1.5, "many", None, True, math.inf, math.nan])
def test_levels_that_are_no_whole_positive_number_are_refused(levels):
    with pytest.raises(OptionError, match="hint"):
        UniformQuantizer(0, 1, levels)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: UniformQuantizer(1, 0, 3),
        lambda: UniformQuantizer(0, math.nan, 3),
        lambda: UniformQuantizer(0, 1, 3, rule="as printed"),
        lambda: UniformQuantizer.for_error(low=0, high=1, error=0),
        lambda: UniformQuantizer.for_error(low=0, high=1, error="-1"),
        lambda: UniformQuantizer.for_bits(low=0, high=1, sensitivity=2, bits=1),
        lambda: UniformQuantizer.for_bits(low=0, high=1, sensitivity=-1, bits=1),
        lambda: UniformQuantizer.for_bits(low=0, high=1, sensitivity=0, bits=1),
        lambda: UniformQuantizer.for_bits(low=0, high=1, sensitivity=1, bits=-1),
        lambda: UniformQuantizer.for_indistinguishability(
            coefficients=[0, 0], low=0, high=1, bits=1
        ),
        lambda: UniformQuantizer.for_indistinguishability(coefficients=[], low=0, high=1, bits=1),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence_with_a_hint(wrong):
    with pytest.raises(OptionError, match="; hint: "):
        wrong()


def test_a_whole_number_of_levels_may_be_text_or_a_double():
    assert UniformQuantizer(0, 1, "65536").levels == 65536
    assert UniformQuantizer(0, 1, 4.0).levels == 4
