"""Numbers, texts and hashes of the rows of a ledger."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from hartley.errors import EngineError
from hartley.exact import read_integer, write_integer
from hartley.trusted.ledger.rows import (
    FIELDS,
    canonical,
    chained,
    charged_digests,
    check_hash,
    digest,
)


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


def row(**changes):
    """Return a row that charges for one question."""
    texts = dict.fromkeys(FIELDS, "") | {
        "kind": "reserve",
        "content": canonical({"version": "v", "questions": [{"about": "a"}]}),
        "cells": "2",
    }
    given = {name: texts[name] for name in FIELDS if name not in {"sequence", "previous", "hash"}}
    return chained(None, **(given | changes))


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "hash"])
def test_a_row_that_was_checked_before_is_checked_again_once_it_changed(name):
    good = row()
    check_hash(good)
    changed = replace(good, **{name: 7 if name == "sequence" else getattr(good, name) + " "})
    check_hash(good)
    with pytest.raises(EngineError, match="was changed"):
        check_hash(changed)


def test_equal_values_of_another_type_are_another_row():
    good = row()
    check_hash(good)
    with pytest.raises(EngineError, match="was changed"):
        check_hash(replace(good, sequence=1.0))  # its text is "1.0"


def test_what_a_caller_does_to_the_content_of_a_row_changes_no_later_reading():
    before = charged_digests(row())
    row().told["questions"].append({"about": "b"})
    assert charged_digests(row()) == before
    assert charged_digests(row(dataset="other")) != before
