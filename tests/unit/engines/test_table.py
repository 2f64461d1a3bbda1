"""A table knows what sort of values its columns hold and suggests the one that was meant."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from hartley import open_table
from hartley.engines.table import Kind
from hartley.errors import ColumnError


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([1], pa.int8()), Kind.INTEGER),
        (pa.array([1], pa.uint64()), Kind.INTEGER),
        (pa.array([1.0], pa.float32()), Kind.REAL),
        (pa.array([Decimal("1.5")]), Kind.REAL),
        (pa.array(["x"]), Kind.TEXT),
        (pa.array([b"x"]), Kind.TEXT),
        (pa.array(["x"]).dictionary_encode(), Kind.TEXT),
        (pa.array([True]), Kind.BOOLEAN),
        (pa.array([dt.date(2020, 1, 1)]), Kind.TIME),
        (pa.array([dt.time(1)]), Kind.TIME),
        (pa.array([0], pa.timestamp("ns", "UTC")), Kind.TIME),
        (pa.array([[1]]), Kind.NESTED),
        (pa.array([{"a": 1}]), Kind.NESTED),
    ],
    ids=lambda value: str(getattr(value, "type", value)).split("<")[0],
)
def test_every_type_is_of_one_kind(values, kind):
    assert open_table(pa.table({"column": values})).kind("column") is kind


def test_only_numbers_are_numeric():
    assert {kind for kind in Kind if kind.numeric} == {Kind.INTEGER, Kind.REAL}


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("agee", "did you mean 'age'?"),
        ("AGE", "did you mean 'age'?"),
        ("blood_pressure", "did you mean 'Blood pressure'?"),
        ("xyz", "the columns are age, Blood pressure, region"),
    ],
)
def test_a_misspelt_column_is_refused_with_the_nearest_name(asked, hint, refused):
    table = open_table({"age": [1], "Blood pressure": [2], "region": [3]})
    with refused(ColumnError, f"'{asked}'", "the dict", hint):
        table.require([asked])


def test_of_many_columns_only_some_are_listed(refused):
    table = open_table({f"a{i}": [i] for i in range(100)})
    with refused(ColumnError, "'xyz'", "a11, ...") as caught:
        table.require(["xyz"])
    assert "a12" not in str(caught.value)


def test_a_column_of_lists_or_records_is_refused(refused):
    table = open_table(pa.table({"list": [[987_654_321]], "record": [{"a": "SECRET-7741"}]}))
    for name in table.columns:
        with refused(ColumnError, f"'{name}'"):
            table.require([name])


def test_columns_that_are_there_are_accepted():
    table = open_table({"age": [1], "job": ["x"]})
    table.require(["job", "age"])
    assert table.engine == "duckdb"
