"""Codes stand for values, in the order of the values, and back."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hartley import ROW, ColumnError, Relation
from hartley.engines.table import Kind
from hartley.ranges.joint_range import encode_arrow, encode_list
from hartley.tables.view import ViewColumn

PLAIN = ViewColumn("x", Kind.REAL, None, None, None, 0)


@pytest.mark.slow
@given(st.lists(st.one_of(st.integers(-9, 9), st.text(max_size=2), st.none()), max_size=20))
def test_a_list_is_numbered_in_the_order_of_first_appearance(values):
    codes, kept = encode_list(values, "x")
    assert kept.all() == list(dict.fromkeys(values))
    assert kept.take(codes) == values
    assert [kept.code(value) for value in values] == codes.tolist()


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=1))
def test_numbers_are_coded_in_their_order_and_minus_zero_is_zero(values):
    codes, kept = encode_arrow(pa.table({"c0": pa.array(values, pa.float64())}), [PLAIN])
    numbers = sorted({value + 0.0 for value in values if value is not None})
    assert kept.all() == [*numbers, *([None] if None in values else [])]
    assert kept.take(codes) == values
    assert "-0.0" not in map(repr, kept.all())


rows = st.tuples(
    st.one_of(st.none(), st.integers(-2, 2)),
    st.one_of(st.none(), st.sampled_from(["", "a", "A", "é", "z"])),
    st.one_of(st.none(), st.booleans()),
)


def missing_last(row):
    return [(value is None, 0 if value is None else value) for value in row]


@pytest.mark.slow
@given(st.lists(rows, min_size=1, max_size=40))
def test_rows_are_coded_in_their_order_a_missing_value_last(drawn):
    columns = dict(zip(("c0", "c1", "c2"), zip(*drawn, strict=True), strict=True))
    types = {"c0": pa.int64(), "c1": pa.string(), "c2": pa.bool_()}
    table = pa.table({name: pa.array(side, types[name]) for name, side in columns.items()})
    codes, kept = encode_arrow(table, [PLAIN] * 3)
    expected = sorted(set(drawn), key=missing_last)
    assert kept.all() == expected
    assert kept.take(codes) == drawn
    assert kept.code(drawn[0]) == codes[0]


def test_values_of_numbers_are_numbers_and_others_are_refused():
    table = {"age": [31, 32], "job": ["SECRET-7741", "y"], "real": [0.5, math.inf]}
    relation = Relation.from_table(table, secret="age", released="job", bins={"age": 10})
    assert relation.secret_values.numbers().tolist() == [35.0]
    reals = Relation.from_table(table, secret="real", released="job").secret_values
    assert reals.numbers().tolist() == [0.5, math.inf]
    with pytest.raises(ColumnError, match=r"^The values of job are not numbers; hint: "):
        relation.released_values.numbers()
    both = Relation.from_table(table, secret=["age", "real"], released="job")
    with pytest.raises(ColumnError, match=r"^The values of age and real are not numbers; hint: "):
        both.secret_values.numbers()


def test_records_are_their_own_numbers():
    relation = Relation.from_table({"job": ["x", "y", "x"]}, secret=ROW, released="job")
    records = relation.secret_values
    assert len(records) == 3
    assert records.take(np.array([2, 0])) == [2, 0]
    assert [records.code(i) for i in range(3)] == [0, 1, 2]


def test_a_binned_side_shows_the_middles_of_its_bins():
    table = {"age": [1, 2], "height": [0.29999999999999993, 0.3]}
    relation = Relation.from_table(table, secret="age", released="height", bins={"height": 0.1})
    assert relation.released_range == [0.25, 0.35]
    assert relation.conditional_range(released=0.35) == [2]
