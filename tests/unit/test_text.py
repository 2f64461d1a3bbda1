"""Numbers in sentences: rounded the way their names say, and exact where they claim to be."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from hartley import text as wording

amounts = st.floats(0, 1e12, allow_nan=False)
fractions = st.fractions(min_value=0, max_value=10**9, max_denominator=10**6)


def read(text):
    """Read a number that a sentence shows."""
    return Fraction(text.removesuffix(" %").split()[0].replace(",", ""))


WAYS = ("down", "up")


@given(amounts, st.integers(0, 6), st.booleans())
def test_decimals_never_leave_their_side(number, places, zeros):
    texts = [wording.number(number, round=way, places=places, zeros=zeros) for way in WAYS]
    down, up = map(read, texts)
    assert down <= Fraction(number) <= up
    assert up - down <= Fraction(1, 10**places)
    if zeros:
        assert [len(text.partition(".")[2]) for text in texts] == [places, places]


@given(amounts)
def test_bits_never_leave_their_side(number):
    assert read(wording.bits_down(number)) <= Fraction(number) <= read(wording.bits_up(number))


@given(fractions, st.integers(2, 8), st.booleans())
def test_digits_never_leave_their_side(number, digits, short):
    texts = (wording.number(number, digits, round=way, short=short) for way in WAYS)
    down, up = map(read, texts)
    assert down <= number <= up
    assert up - down <= number / 10 ** (digits - 1)


@given(fractions, st.one_of(st.just(Fraction(0)), fractions))
def test_an_interval_contains_the_number_and_shows_no_larger_error(low, width):
    high = low + width
    value, within, error = wording.interval_words(low, high, may_be_null=False, date=False)
    if within == "exact":
        assert (read(value), error) == (low, "0")
        return
    first, last = (read(end) for end in within.strip("[]").split(", "))
    assert first <= low <= high <= last
    most = max(width / 2 * Fraction(102, 100), Fraction(1, 10**9))
    assert read(value) - first <= read(error[1:]) <= most


@given(fractions)
def test_a_share_is_never_shown_smaller_than_it_is(number):
    share = number / 10**9
    shown = read(wording.percent(share, round="up"))
    assert 100 * share <= shown < 100 * share + Fraction(1, 100)


@given(fractions)
def test_a_rounded_number_says_on_which_side_it_lies(number):
    for way, sign, words in (("up", "≤ ", "at most "), ("down", "≥ ", "at least ")):
        text = wording.number(number, round=way, places=3)
        exact = read(text) == number
        for mark, said in (("sign", sign), ("words", words)):
            marked = wording.number(number, round=way, places=3, mark=mark)
            assert marked == (text if exact else said + text)
    assert wording.number(math.inf, round="up", mark="sign") == "infinite"


@given(fractions, st.floats(0, 1e-9))
def test_what_doubles_added_is_forgiven(number, slack):
    assert wording.number(round(number, 3) + Fraction(slack), round="up", places=3, slack=1e-9) == (
        wording.number(round(number, 3), round="up", places=3)
    )


@given(st.integers(0, 1000), st.integers(1, 1000))
def test_a_share_in_percent_says_where_it_was_rounded(part, whole):
    share = wording.percent(part, whole, round="up", mark="words")
    text = share.removeprefix("at most ")
    assert (text != share) == (read(text) != Fraction(100 * part, whole))


@given(st.fractions(max_denominator=10**6))
def test_exact_texts_are_read_back_exactly(number):
    assert Fraction(wording.decimal_text(number)) == number
    assert Fraction(wording.exact_text(number)) == number
    assert Fraction(wording.exactly(number).replace(",", "")) == number


@given(fractions, st.integers(0, 6))
def test_the_nearest_number_is_near(number, places):
    nearest = read(wording.number(number, round="nearest", places=places))
    assert abs(nearest - number) <= Fraction(1, 2 * 10**places)


@pytest.mark.slow
@given(st.lists(st.from_regex(r"\A[a-z]+\Z"), min_size=1, max_size=6))
def test_a_list_names_everything_once_and_in_order(words):
    text = wording.listed(words)
    assert text.replace(" and ", ", ").split(", ") == words
    assert text.count(" and ") == (len(words) > 1)


@pytest.mark.parametrize("noun", ["row", "class", "person", "batch", "entry"])
def test_one_thing_is_singular_and_others_are_not(noun):
    assert wording.count_of(1, noun) == f"1 {noun}"
    assert wording.count_of(0, noun) == f"0 {wording.plural(2, noun)}"
    assert wording.plural(2, noun) != noun


def test_what_has_no_end_is_said_to_have_none():
    assert wording.bits_up(math.inf) == "any number of bits"
    assert wording.number(math.inf, 4, round="down") == "infinite"
