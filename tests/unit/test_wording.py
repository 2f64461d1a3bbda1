"""Numbers in sentences: rounded the way their names say, and exact where they claim to be."""

import ast
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hartley import text as numerals, text as wording

ROOT = Path(__file__).parents[2] / "src" / "hartley"
amounts = st.floats(0, 1e12, allow_nan=False)
fractions = st.fractions(min_value=0, max_value=10**9, max_denominator=10**6)


def read(text):
    """Read a number that a sentence shows."""
    return Fraction(text.removesuffix(" %").split()[0].replace(",", ""))


@given(amounts, st.integers(0, 6))
def test_decimals_never_leave_their_side(number, places):
    up, down = wording.decimals_up(number, places), wording.decimals_down(number, places)
    assert read(down) <= Fraction(number) <= read(up)
    assert read(up) - read(down) <= Fraction(1, 10**places)


@given(amounts)
def test_two_decimals_and_bits_never_leave_their_side(number):
    exact = Fraction(number)
    assert exact <= read(numerals.two_decimals_up(number))
    assert read(numerals.two_decimals_down(number)) <= exact
    assert exact <= read(wording.bits_up(number))
    assert read(wording.bits_down(number)) <= exact


@given(fractions, st.integers(2, 8))
def test_digits_never_leave_their_side(number, digits):
    up, down = read(numerals.digits_up(number, digits)), read(numerals.digits_down(number, digits))
    assert down <= number <= up
    assert up - down <= number / 10 ** (digits - 1)


@given(fractions)
def test_a_share_is_never_shown_smaller_than_it_is(number):
    share = number / 10**9
    assert 100 * share <= read(numerals.percent_up(share)) < 100 * share + Fraction(1, 100)


@given(fractions)
def test_a_rounded_number_says_on_which_side_it_lies(number):
    for up in (True, False):
        text = wording.rounded(number, 3, up=up)
        sign, words = (wording.direction(text, number, words=words) for words in (False, True))
        exact = read(text) == number
        assert sign == ("" if exact else "≤ " if up else "≥ ")
        assert words == ("" if exact else "at most " if up else "at least ")
    assert wording.direction("inf", math.inf) == ""


@given(st.integers(0, 1000), st.integers(1, 1000))
def test_a_share_in_percent_says_where_it_was_rounded(part, whole):
    share = numerals.percent_at_most(part, whole)
    text = share.removeprefix("at most ")
    assert (text != share) == (read(text) != Fraction(100 * part, whole))


@given(st.fractions(max_denominator=10**6))
def test_exact_texts_are_read_back_exactly(number):
    assert Fraction(wording.decimal_text(number)) == number
    assert Fraction(numerals.exact_text(number)) == number
    assert Fraction(wording.exactly(number).replace(",", "")) == number


@given(fractions, st.integers(0, 6))
def test_rounded_numbers_go_where_they_are_sent(number, places):
    low, high = (read(wording.rounded(number, places, up=up)) for up in (False, True))
    assert low <= number <= high
    assert abs(read(wording.rounded(number, places)) - number) <= Fraction(1, 2 * 10**places)


@pytest.mark.slow
@given(st.lists(st.from_regex(r"\A[a-z]+\Z"), min_size=1, max_size=6))
def test_a_list_names_everything_once_and_in_order(words):
    text = wording.listed(words)
    assert text.replace(" and ", ", ").split(", ") == words
    assert text.count(" and ") == (len(words) > 1)


@pytest.mark.parametrize("noun", ["row", "class", "person", "batch", "entry"])
def test_one_thing_is_singular_and_others_are_not(noun):
    assert wording.counted(1, noun) == f"1 {noun}"
    assert wording.counted(0, noun) == f"0 {wording.plural(2, noun)}"
    assert wording.plural(2, noun) != noun


def test_what_has_no_end_is_said_to_have_none():
    assert wording.bits_up(math.inf) == "any number of bits"
    assert numerals.digits_down(math.inf, 4) == "infinite"


OLD_HELPERS = {
    *("_percent", "rounded_up", "up_bits", "down_bits", "shown_up", "shown_down"),
    *("two_digits_up", "shown_exactly", "shown_below", "shown_above", "_decimal"),
}


@pytest.mark.slow
def test_no_other_module_puts_numbers_into_words_in_a_way_of_its_own():
    own = {
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in ROOT.rglob("*.py")
        if path.name not in {"wording.py", "numerals.py"}
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name in OLD_HELPERS
    }
    assert own == set()
