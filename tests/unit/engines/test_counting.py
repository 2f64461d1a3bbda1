"""The engine counts distinct rows; memory limits are read as they are written."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import OptionError
from hartley.tables.counts import distinct_counts, parse_memory
from hartley.tables.opening import open_table
from hartley.tables.view import prepare

cells = st.tuples(st.sampled_from(["x", "y", None]), st.one_of(st.none(), st.integers(-2, 2)))


@pytest.mark.slow
@settings(max_examples=12)  # each opens an engine
@given(st.lists(cells, min_size=1, max_size=40))
def test_distinct_rows_come_once_with_their_counts(drawn):
    rows = [("x", 0), *drawn]  # a column of nothing is refused
    text, number = zip(*rows, strict=True)
    view = prepare(open_table({"a": text, "b": number}), ["b", "a"], missing="value")
    found = [(row["c1"], row["c0"], row["n"]) for row in distinct_counts(view).to_pylist()]
    assert sorted(found, key=repr) == sorted(((*k, n) for k, n in Counter(rows).items()), key=repr)


@given(st.integers(1, 10**6), st.sampled_from(["", "B", "KB", "MB", "GB", "TB"]), st.booleans())
def test_a_memory_limit_is_read_with_its_unit(number, unit, spaced):
    factor = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}[unit]
    text = f" {number} {unit.lower()} " if spaced else f"{number}{unit}"
    assert parse_memory(text) == number * factor


def test_a_memory_limit_may_be_a_number_or_nothing():
    assert parse_memory(None) is None
    assert parse_memory(123) == 123
    assert parse_memory("2.5GB") == 2_500_000_000


@pytest.mark.parametrize("text", ["lots", "", "GB", "1XB", "nanGB", "infGB", "1 2 GB"])
def test_a_memory_limit_that_is_no_size_is_refused(text):
    with pytest.raises(OptionError, match=r"memory limit .* is not a size; hint: "):
        parse_memory(text)
