"""A schema is read strictly, written so that it reads the same, and described without data."""

from __future__ import annotations

import datetime as dt
import math
import tomllib
from fractions import Fraction

import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

from hartley import Column, Schema, open_table
from hartley.engines.coded_table import code_table
from hartley.errors import InputError, OptionError, printable

PEOPLE = """
[table]
name = "people"
unit = "person_id"        # one person; leave out: one row is one person
rows_per_unit = 1
rows = "public"
max_rows = 5000
default_bits = 1

[columns.region]
kind = "public"
values = ["north", "south", "west"]

[columns.sex]
kind = "open"
values = ["F", "M"]
other = true

[columns.height]
kind = "private"
range = [100, 250]
step = 0.1
nullable = true
unit = "cm"

[columns."born on"]
kind = "private"
range = [1940-01-01, 2019-12-31]
"""
COLUMN = {"kind": "private", "range": [0, 1], "step": 1}


def schema(column=None, **table):
    return Schema.read({"table": {"name": "t"} | table, "columns": {"x": column or COLUMN}})


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.toml"
    path.write_text(PEOPLE)
    return Schema.read(path)


def test_a_file_means_what_it_says_to_the_last_decimal(people):
    height = people.columns["height"]
    assert (height.low, height.high, height.step) == (100, 250, Fraction(1, 10))
    assert (height.points, height.size, height.unit) == (1501, 1502, "cm")
    assert people.columns["sex"].points == 3
    assert [column.kind for column in people.columns.values()] == [
        *("public", "open", "private", "private")
    ]
    born = people.columns["born on"]
    assert (born.date, born.step, born.points) == (True, 1, 365 * 80 + 20)
    assert born.low == (dt.date(1940, 1, 1) - dt.date(1970, 1, 1)).days
    assert (people.unit, people.rows, people.max_rows) == ("person_id", "public", 5000)


def test_the_size_of_a_record_counts_missing_and_other_values_and_no_public_ones(people):
    assert people.record_size == 3 * 1502 * (365 * 80 + 20)
    assert people.record_bits == pytest.approx(math.log2(people.record_size))


@pytest.mark.parametrize(
    ("column", "table", "words"),
    [
        ({"range": [0, 1], "step": 1}, {}, "'x' of the schema has no kind"),
        (COLUMN | {"kind": "secret"}, {}, "neither public, open nor private"),
        (COLUMN | {"step": 0}, {}, "step that is not positive"),
        (COLUMN | {"step": -1}, {}, "step that is not positive"),
        (COLUMN | {"step": "a"}, {}, "step of column 'x' is not a number"),
        (COLUMN | {"step": True}, {}, "step of column 'x' is not a number"),
        (COLUMN | {"step": 0.3}, {}, "not a whole number of steps"),
        (COLUMN | {"range": [2, 1]}, {}, "ends before it begins"),
        (COLUMN | {"range": [2]}, {}, "is not a pair"),
        (COLUMN | {"range": [0, math.inf]}, {}, "not a number"),
        (COLUMN | {"range": [0, math.nan]}, {}, "not a number"),
        (COLUMN | {"range": ["2020-01-01", "2020-02-31"]}, {}, "not a number"),
        (COLUMN | {"range": ["2020-01-01", "2020-02-01"], "step": 0.5}, {}, "of days"),
        (COLUMN | {"values": [1, 2]}, {}, "both values and a range"),
        (COLUMN | {"other": True}, {}, "a range and 'other'"),
        (COLUMN | {"nullable": 1}, {}, "'nullable' that is not true or false"),
        (COLUMN | {"unit": 7}, {}, "unit that is not text"),
        (COLUMN | {"nulable": True}, {}, "did you mean nullable"),
        (COLUMN | {"range": [0, 10**12], "step": 0.0001}, {}, "told apart exactly"),
        ({"kind": "open"}, {}, "neither values nor a range"),
        ({"kind": "open", "range": [0, 1]}, {}, "neither values nor a range"),
        ({"kind": "open", "values": []}, {}, "not all text"),
        ({"kind": "open", "values": "ab"}, {}, "values that are not a list"),
        ({"kind": "open", "values": [1, "a"]}, {}, "not all text"),
        ({"kind": "open", "values": [1, True]}, {}, "not all text"),
        ({"kind": "open", "values": [1.5, 2.5]}, {}, "neither text, whole numbers"),
        ({"kind": "open", "values": ["a", "b", "a"]}, {}, "lists a value twice"),
        ({"kind": "open", "values": [2**63]}, {}, "too large"),
        ({"kind": "open", "values": ["\ud800"]}, {}, "not Unicode text"),
        ({"kind": "open", "values": [True, False], "other": True}, {}, "nothing for 'other'"),
        ("x", {}, "no section 'x'"),
        (None, {"name": ""}, "no name"),
        (None, {"rows": "secret"}, "neither public nor private"),
        (None, {"rows": "private"}, "no max_rows"),
        (None, {"rows_per_unit": 0}, "not a positive whole number"),
        (None, {"rows_per_unit": 1.5}, "not a positive whole number"),
        (None, {"rows_per_unit": True}, "not a positive whole number"),
        (None, {"rows_per_unit": 2}, "names no unit"),
        (None, {"unit": 3}, "not the name of a column"),
        (None, {"default_bits": -1}, "negative default_bits"),
        (None, {"default_bits": "x"}, "not a number"),
        (None, {"draft": "no"}, "not true or false"),
        (None, {"rows_pre_unit": 2}, "did you mean rows_per_unit"),
        (
            {"kind": "public", "values": [1]},
            {"rows": "private", "max_rows": 9},
            "public while the number of rows is private",
        ),
    ],
)
def test_a_mistake_is_refused_by_name(column, table, words):
    with pytest.raises(OptionError, match=words):
        schema(column, **table)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "no section 'table'"),
        ({"table": {"name": "t"}}, "no section 'columns'"),
        ({"table": {"name": "t"}, "columns": {}}, "no columns"),
        ({"table": {}, "columns": {"x": COLUMN}}, "no name"),
        ({"table": {"name": "t"}, "columns": {"x": COLUMN}, "colums": {}}, "did you mean columns"),
        ({"table": {"name": "t"}, "columns": {"x": COLUMN, "X": COLUMN}}, "case aside the same"),
        ({"table": {"name": "t"}, "columns": {"": COLUMN}}, "no name"),
    ],
)
def test_a_schema_without_its_parts_is_refused(content, words):
    with pytest.raises(InputError, match=words):
        Schema.read(content)


def test_a_file_that_is_no_toml_is_refused_with_the_place(tmp_path):
    (tmp_path / "bad.toml").write_text("[table\n")
    with pytest.raises(InputError, match=r"bad.toml is not TOML.*line 1"):
        Schema.read(tmp_path / "bad.toml")
    with pytest.raises(InputError, match="cannot be read"):
        Schema.read(tmp_path / "none.toml")


def test_a_public_column_is_a_units_property_where_rows_are_private():
    public = {"kind": "public", "values": ["a"]}
    table = {"rows": "private", "max_rows": 9}
    schema(public, unit="id", **table).require_confirmed()
    bare = Schema("t", {"x": Column("x", "public", values=("a",))}, rows="private", max_rows=9)
    with pytest.raises(OptionError, match="who is in the table"):
        bare.require_confirmed()


def test_a_draft_is_refused_until_it_is_confirmed():
    with pytest.raises(InputError, match="is a draft"):
        schema(draft=True).require_confirmed()
    schema(draft=False).require_confirmed()


# --- written and read ---------------------------------------------------------------------------

names = st.text(min_size=1, max_size=8).filter(lambda text: text.isprintable() or "\n" in text)
names = st.one_of(names, st.sampled_from(["a.b", "it's", '"', "\\", "\x7f", "ä 日", "sélect"]))
numbers = st.one_of(
    st.integers(-(10**6), 10**6).map(Fraction),
    st.decimals(-(10**4), 10**4, places=3).map(Fraction),
    st.fractions(-100, 100, max_denominator=30),
)
categories = st.one_of(
    st.lists(st.text(max_size=6), min_size=1, max_size=5, unique=True),
    st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=1, max_size=5, unique=True),
    st.lists(st.booleans(), min_size=1, max_size=2, unique=True),
)


@st.composite
def columns(draw, name):
    role = draw(st.sampled_from(["public", "open", "private"]))
    nullable = draw(st.booleans())
    if draw(st.booleans()):
        values = tuple(draw(categories))
        other = draw(st.booleans()) and not (isinstance(values[0], bool) and len(values) == 2)
        return Column(name, role, values=values, other=other, nullable=nullable)
    date = draw(st.booleans())
    step = abs(draw(numbers)) or Fraction(1)
    low = draw(numbers)
    points = draw(st.integers(1, 500))
    if date:
        low, step = Fraction(int(low) % 20000 - 10000), Fraction(int(step) % 3 + 1)
    unit = draw(st.one_of(st.none(), st.sampled_from(["cm", "€", '"'])))
    high = low + (points - 1) * step
    ends = {"low": low, "high": high, "step": step}
    return Column(name, role, **ends, date=date, nullable=nullable, unit=unit)


@st.composite
def schemas(draw):
    chosen = draw(st.lists(names, min_size=1, max_size=4, unique_by=str.lower))
    rows = draw(st.sampled_from(["public", "private"]))
    return Schema(
        draw(names),
        {name: draw(columns(name)) for name in chosen},
        unit="person",
        rows_per_unit=draw(st.integers(1, 3)),
        rows=rows,
        max_rows=draw(st.integers(1, 9)) if rows == "private" else None,
        default_bits=abs(draw(numbers)),
        draft=draw(st.booleans()),
    )


@pytest.mark.slow
@settings(max_examples=200)
@given(schemas())
def test_a_schema_that_is_written_reads_the_same(tmp_path_factory, made):
    path = tmp_path_factory.mktemp("schema") / "s.toml"
    path.write_text(made.to_toml(), encoding="utf-8")
    again = Schema.read(path)
    assert again == made
    assert list(again.columns) == list(made.columns)
    assert [type(v) for c in again.columns.values() for v in c.values or ()] == [
        type(v) for c in made.columns.values() for v in c.values or ()
    ]


@pytest.mark.slow
@settings(max_examples=60)
@given(schemas())
def test_every_column_is_described_in_a_line(made):
    text = made.describe()
    lines = text.split("\n")[-len(made.columns) :]
    for column, line in zip(made.columns.values(), lines, strict=True):
        assert line.startswith(f"  {printable(column.name)} ")
        assert f"  {column.kind} " in line
        assert line.isprintable()
    assert f"{made.record_bits:.1f} bits" in text


# --- invented rows ------------------------------------------------------------------------------


@settings(max_examples=30)
@given(schemas(), st.integers(0, 60), st.integers(0, 9))
def test_invented_rows_lie_in_the_domain_and_depend_on_the_seed_alone(made, n, seed):
    table = made.dummy_data(n, seed)
    assert table.num_rows == n
    assert table == made.dummy_data(n, seed)
    assert set(table.column_names) == {*made.columns, "person"}
    for column in made.columns.values():
        found = table[column.name]
        assert column.nullable or found.null_count == 0
        present = {value for value in found.to_pylist() if value is not None}
        if column.values is not None:
            assert len(present - set(column.values)) <= column.other
        elif not column.date:
            points = {float(column.low + k * column.step) for k in range(column.points)}
            assert {float(value) for value in present} <= points


def test_invented_rows_keep_what_the_schema_promises():
    made = Schema.read(
        {
            "table": {"name": "t", "unit": "id", "rows_per_unit": 3},
            "columns": {
                "region": {"kind": "public", "values": ["n", "s"], "nullable": True},
                "born": {"kind": "open", "range": ["1969-12-01", "1970-01-31"], "nullable": True},
                "x": {"kind": "private", "range": [-1, 1], "step": "1/3"},
                "flag": {"kind": "private", "values": [True], "other": True},
                "ward": {"kind": "private", "values": [0, 1, 3], "other": True},
            },
        }
    )
    table = made.dummy_data(500, 3)
    copy = code_table(open_table(table), made.codings, unit="id", rows_per_unit=3)
    assert copy.rows == 500
    assert pc.count_distinct(table["ward"]).as_py() == 4
    assert table["region"].null_count > 0
    with pytest.raises(OptionError, match="negative"):
        made.dummy_data(-1)


def test_a_step_with_a_long_decimal_is_written_so_that_it_is_read_again():
    fine = Fraction(1, 2**1000)
    column = {"kind": "private", "range": ["0", str(fine * 3)], "step": str(fine)}
    schema = Schema.read({"table": {"name": "t"}, "columns": {"x": column}})
    again = Schema.read(tomllib.loads(schema.to_toml()))
    assert again.columns["x"].step == fine
