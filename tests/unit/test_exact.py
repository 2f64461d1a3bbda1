"""Logarithms and steps are as exact as they claim."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from hartley.errors import OptionError
from hartley.exact import (
    bits_at_least,
    bits_at_most,
    check_base,
    floor_power,
    in_base,
    log_ratio,
    parse_number,
    parse_step,
    round_up,
)

FEW_UNITS = 8 * 2.0**-53
"""Accurate to a few units in the last place."""

PRECISE = Context(prec=80)
BASES = [2, 4, 10, math.e, 1.5, 1000]


def exact_log(numerator: int, denominator: int, base: float) -> Decimal:
    """Return the logarithm to more digits than any double holds."""
    ratio = Fraction(numerator, denominator)
    apart = len(str(abs(ratio.numerator - ratio.denominator)))  # digits lost near one
    digits = Context(prec=80 + max(len(str(ratio.denominator)) - apart, 0))
    of_ratio = digits.ln(digits.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))
    # the base that stands for Euler's number is the number itself
    of_base = Decimal(1) if base == math.e else PRECISE.ln(Decimal(base))
    return PRECISE.divide(of_ratio, of_base)


def assert_close(numerator: int, denominator: int, base: float) -> None:
    found = Decimal(log_ratio(numerator, denominator, base=base))
    expected = exact_log(numerator, denominator, base)
    assert abs(found - expected) <= abs(expected) * Decimal(FEW_UNITS)


counts = st.integers(1, 2**63)
bases = st.sampled_from(BASES)


@given(counts, counts, bases)
def test_the_logarithm_of_machine_sized_counts_is_accurate(numerator, denominator, base):
    assert_close(numerator, denominator, base)


@given(st.integers(1, 2**60), st.integers(-1000, 1000), bases)
def test_a_ratio_near_one_loses_nothing_to_cancellation(count, difference, base):
    assume(count + difference > 0)
    assert_close(count + difference, count, base)


@given(st.integers(1, 2**60), st.integers(2, 9), st.integers(-1000, 1000), bases)
def test_a_ratio_near_a_small_integer_is_accurate(count, times, difference, base):
    assume(times * count + difference > 0)
    assert_close(times * count + difference, count, base)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    ("numerator", "denominator"),
    [
        (3**5000, 1),
        (1, 3**5000),
        (3**5000, 7**2000),
        (2**900 + 1, 2**900 - 1),
        (10**1000 + 1, 10**1000 + 10**900),
        (3**3000, 3**3000 - 3**2950),
        (2**2001 + 1, 2**2000 + 3),
        (2**2000 - 1, 2**2001 + 1),
        (math.factorial(400), math.factorial(399) + 1),
    ],
    ids=["huge", "tiny", "quotient", "near one", "below one", "above one", "two", "half", "many"],
)
def test_integers_of_any_size_are_accurate(numerator, denominator, base):
    assert_close(numerator, denominator, base)


@given(st.integers(-5000, 5000), st.integers(1, 10**12))
def test_a_power_of_two_is_exact(power, factor):
    above, below = (2**power, 1) if power >= 0 else (1, 2**-power)
    assert log_ratio(above * factor, below * factor) == power


@given(counts, counts)
def test_the_inverse_ratio_has_the_opposite_logarithm(numerator, denominator):
    assert log_ratio(numerator, denominator) == pytest.approx(
        -log_ratio(denominator, numerator), rel=FEW_UNITS
    )


@given(counts)
def test_equal_counts_have_the_logarithm_zero(count):
    assert str(log_ratio(count, count)) == "0.0"


@given(st.lists(st.integers(1, 10**15), min_size=2, max_size=8, unique=True), counts)
def test_a_larger_count_never_has_a_smaller_logarithm(numerators, denominator):
    logarithms = [log_ratio(numerator, denominator) for numerator in sorted(numerators)]
    assert logarithms == sorted(logarithms)


def test_zero_counts_give_the_infinities_that_the_papers_agree_on():
    assert log_ratio(0, 5) == -math.inf
    assert log_ratio(5, 0) == math.inf
    assert log_ratio(0, 5, base=10) == -math.inf


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 0), (-1, 2), (2, -1), (-1, -1)])
def test_what_is_no_ratio_of_counts_is_refused(numerator, denominator):
    with pytest.raises(OptionError, match="no logarithm; hint: "):
        log_ratio(numerator, denominator)


@pytest.mark.parametrize("base", [1, 0, -2, 0.5, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "use", [check_base, lambda base: log_ratio(8, base=base), lambda base: in_base(3.0, base)]
)
def test_a_base_that_measures_no_information_is_refused(use, base):
    with pytest.raises(OptionError, match=r"not larger than 1; hint: use base=2"):
        use(base)


@given(st.floats(0, 1e6), bases)
def test_bits_in_another_base_are_the_logarithm_in_that_base(bits, base):
    assert in_base(bits, base) == pytest.approx(bits * math.log(2) / math.log(base), rel=1e-14)


@given(counts, counts, bases)
def test_a_rounded_up_logarithm_is_surely_above_but_hardly(numerator, denominator, base):
    logarithm = log_ratio(numerator, denominator, base=base)
    above = round_up(logarithm)
    assert Decimal(above) > exact_log(numerator, denominator, base)
    assert above <= logarithm + 20 * math.ulp(logarithm)


# --- steps ----------------------------------------------------------------------------------------


@given(st.decimals(min_value=Decimal("1e-12"), max_value=10**12, places=12))
def test_a_step_written_as_text_is_the_decimal_that_was_written(step):
    assume(step > 0)
    assert parse_step(str(step), column="age") == Fraction(step)


@given(st.integers(1, 10**6), st.integers(0, 6))
def test_a_float_step_is_the_decimal_that_it_shows(digits, places):
    written = f"{digits}e-{places}"
    assert parse_step(float(written), column="age") == Fraction(written)
    assert parse_step(np.float64(written), column="age") == Fraction(written)


@pytest.mark.parametrize("step", [5, np.int64(5), np.int32(5), "5", "5.0", 5.0, Fraction(5)])
def test_five_is_five_however_it_is_passed(step):
    found = parse_step(step, column="age")
    assert found == 5
    assert type(found.numerator) is type(found.denominator) is int


def test_a_step_may_be_written_as_a_fraction():
    assert parse_step("1/3", column="age") == Fraction(1, 3)


@pytest.mark.parametrize(
    "step",
    ["ten", "", "1/0", None, [], {}, True, False, "nan", math.nan, math.inf, -math.inf, "inf", 1j],
)
def test_a_step_that_is_no_number_is_refused_by_the_name_of_its_column(step):
    with pytest.raises(OptionError, match=r"^The step for column 'age' is not a number; hint: "):
        parse_step(step, column="age")


@pytest.mark.parametrize("step", [0, -1, 0.0, -0.0, -2.5, "-1/3", "0", Fraction(-1, 7)])
def test_a_step_that_is_not_positive_is_refused_by_the_name_of_its_column(step):
    with pytest.raises(OptionError, match=r"^The step for column 'age' is .*; hint: "):
        parse_step(step, column="age")


@given(st.integers(1, 10**60), st.integers(1, 10**60))
def test_bits_are_rounded_to_the_safe_side(numerator, denominator):
    truth = exact_log(numerator, denominator, 2)
    assert Decimal(bits_at_least(numerator, denominator)) >= truth
    assert Decimal(bits_at_most(numerator, denominator)) <= max(truth, Decimal(0))
    assert bits_at_least(numerator, denominator) == pytest.approx(float(truth), rel=1e-14)


@given(st.integers(1, 2**200) | st.integers(1, 50).map(lambda k: 3**k))
def test_bits_that_are_left_never_buy_more_than_is_left(cells):
    assert floor_power(bits_at_most(cells)) <= cells


@given(st.integers(-60, 4000), st.integers(1, 10**30))
def test_bits_of_a_power_of_two_are_exact(power, common):
    numerator, denominator = common << max(power, 0), common << max(-power, 0)
    if power >= 0:
        assert bits_at_least(numerator, denominator) == power
    assert bits_at_most(numerator, denominator) == max(power, 0)


def test_no_cells_have_no_bits():
    assert (bits_at_least(0), bits_at_most(0)) == (-math.inf, 0.0)


@pytest.mark.parametrize(
    "text",
    [
        *("nan", "inf", "-inf", "1_000", "٣", "\uff11", "½", "0x10", "1e400000", "1e999999999"),
        *(".", "1e401", "1/0", "1/3/5", "1e3/2"),
        *("", "1 /3", "9" * 401, "1/" + "7" * 5000, "0." + "1" * 5000),
    ],
)
def test_what_nobody_means_by_a_number_is_refused_at_once(text):
    with pytest.raises(OptionError, match="is not a number"):
        parse_number(text, name="the error")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *((" 10 ", 10), ("+.5", Fraction(1, 2)), ("3.", 3), ("-2/4", Fraction(-1, 2))),
        *(("1E2", 100), ("9" * 400, 10**400 - 1), ("1e-400", Fraction(1, 10**400))),
    ],
)
def test_numbers_are_read_as_they_are_written(text, number):
    assert parse_number(text, name="the error") == number


def by_decimals(budget):
    """floor(2^budget) with far more decimals than needed."""
    with localcontext() as context:
        context.prec = int(budget) // 3 + 80 + len(str(budget.denominator))
        power = Decimal(2) ** (Decimal(budget.numerator) / Decimal(budget.denominator))
        return int(power * (1 - Decimal(10) ** (20 - context.prec)))


@given(
    st.integers(0, 300),
    st.sampled_from([2, 3, 7, 10, 100, 1000, 2**20, 10**6, 10**15, 10**18 + 9, 10**60]),
    st.integers(1, 10**60),
)
def test_a_power_of_a_fraction_is_rounded_down(whole, parts, number):
    budget = whole + Fraction(number % parts, parts)
    assert floor_power(budget) == (by_decimals(budget) if budget.denominator > 1 else 1 << whole)


@given(st.integers(1, 400), st.integers(2, 12))
def test_a_power_of_a_fraction_is_an_integer_root(number, parts):
    power = floor_power(Fraction(number, parts))
    assert power**parts <= 1 << number < (power + 1) ** parts


@given(st.integers(3, 10**6), st.integers(8, 40))
def test_a_power_close_to_a_whole_number_falls_on_the_right_side(number, digits):
    assume(number & (number - 1))  # not a power of two
    with localcontext() as context:
        context.prec = 80
        bits = int(Decimal(number).ln() / Decimal(2).ln() * 10**digits)
    below = Fraction(bits, 10**digits)  # just too little, since the logarithm is irrational
    assert floor_power(below) == number - 1
    assert floor_power(below + Fraction(1, 10**digits)) == number


def test_large_budgets_are_quick():
    assert floor_power("99999.5") == math.isqrt(1 << 199_999)
    assert floor_power("49999.25") == math.isqrt(math.isqrt(1 << 199_997))
