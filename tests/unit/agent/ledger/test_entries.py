"""Numbers, texts and hashes of the rows of a ledger."""

import json

from hypothesis import given, strategies as st

from hartley.agent.ledger.rows.entries import canonical, digest, read_integer, write_integer


@given(st.integers(0, 10**60), st.sampled_from([0, 12_000, 60_000]))
def test_integers_of_any_size_are_written_and_read(number, shift):
    assert read_integer(write_integer(number << shift)) == number << shift


PARTS = st.lists(st.text("12:a", max_size=4), max_size=4)


@given(PARTS, PARTS)
def test_different_lists_of_texts_have_different_hashes(one, other):
    assert (digest(*one) == digest(*other)) == (one == other)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(VALUES)
def test_canonical_text_is_read_back_as_the_same_text(value):
    assert canonical(json.loads(canonical(value))) == canonical(value)
    assert canonical(value).isascii()
