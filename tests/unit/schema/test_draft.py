"""A draft covers the data, tells no rare value, and cannot be used before it is confirmed."""

from __future__ import annotations

import datetime as dt
import tomllib
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from hartley import Schema, draft_schema, open_table, people
from hartley.engines.coded_table import code_table
from hartley.errors import ColumnError, InputError, TableError
from hartley.schema.draft import rounded_range


def read(text: str) -> Schema:
    return Schema.read(tomllib.loads(text))


@pytest.mark.slow
def test_a_draft_of_the_sample_is_confirmed_by_removing_one_line_and_fits_its_table():
    table = open_table(people(400))
    text = draft_schema(table, "people")
    assert text.startswith("# A DRAFT, made by looking at the data.")
    with pytest.raises(InputError, match="is a draft"):
        read(text).require_confirmed()
    confirmed = read(text.replace("draft = true\n", "", 1))
    confirmed.require_confirmed()
    assert {column.kind for column in confirmed.columns.values()} == {"private"}
    assert confirmed.columns["income"].nullable
    assert code_table(table, confirmed.codings).rows == 400


def test_rare_values_and_names_of_people_are_not_listed():
    columns = {
        "job": ["care"] * 60 + ["office"] * 5 + ["spy"] * 4,
        "person": [f"p{i}" for i in range(69)],
        "number": list(range(1000, 1069)),
        "free": [f"text {i}" for i in range(34)] * 2 + ["text"],
    }
    text = draft_schema(open_table(columns), "t")
    job = read(text).columns["job"]
    assert (job.values, job.other) == (("care", "office"), True)
    assert "spy" not in text
    assert "p17" not in text
    assert "# left out: 'person', different in every row" in text
    assert "# left out: 'number', different in every row" in text
    assert "# left out: 'free', text with 35 different values" in text


def visits(rows, **roles):
    """Return rows of people, and confirmed roles of them."""
    columns = {"patient_id": "unit", "ward": "undecided", "age": "key"} | roles
    given = {"confirmed": True, "columns": {name: {"role": role} for name, role in columns.items()}}
    table = {
        "patient_id": rows,
        "ward": ["a"] * len(rows),
        "age": [20 + i for i in range(len(rows))],
    }
    return open_table(table), given


def test_a_unit_of_the_roles_is_drafted_with_the_most_rows_of_one_person():
    table, roles = visits([1, 1, 1, 2, 2, 3, None])
    text = draft_schema(table, "visits", roles=roles)
    assert (
        'unit = "patient_id"\nrows_per_unit = 3  # the most rows of one person today; this' in text
    )
    assert "[columns.patient_id]" not in text
    assert "# left out" not in text
    schema = read(text)
    assert (schema.unit, schema.rows_per_unit) == ("patient_id", 3)
    table, roles = visits([1, 2, 3])
    assert "rows_per_unit = 1  # the most rows" in draft_schema(table, "visits", roles=roles)
    for rows, message in (
        ([None, None, None], "The unit 'patient_id' names nobody in any row"),
        ([7, 7, None], "'patient_id' has one value: all rows are of one person"),
    ):
        table, roles = visits(rows)
        with pytest.raises(ColumnError, match=message):
            draft_schema(table, "visits", roles=roles)


def test_a_bound_that_the_table_breaks_is_refused_with_one_that_would_do():
    table, roles = visits([1, 1, 1, 2, 2, 3, 4])
    schema = read(draft_schema(table, "visits", roles=roles).replace("unit = 3", "unit = 2"))
    with pytest.raises(ColumnError, match=r"in 1 case, in one of them 3 rows; .*_unit = 3 or more"):
        code_table(table, schema.codings, unit="patient_id", rows_per_unit=2)
    assert code_table(table, schema.codings, unit="patient_id", rows_per_unit=3).rows == 7


def test_every_kind_of_column_is_drafted_or_left_out_with_a_reason():
    zoned = pa.array([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 6)
    columns = {
        "flag": pa.array([True, None] * 3),
        "day": pa.array([dt.date(1969, 5, 5), dt.date(2001, 2, 3)] * 3),
        "at": pa.array([dt.datetime(2020, 1, 1, 23)] * 6),  # noqa: DTZ001 - no zone is meant
        "zoned": zoned,
        "time": pa.array([dt.time(1)] * 6),
        "whole": pa.array([1.0, None, 7.0] * 2),
        "real": pa.array([0.5, float("inf"), float("nan")] * 2),
        "none": pa.array([float("nan")] * 6),
        "infinite": pa.array([float("-inf")] * 6),
        "bytes": pa.array([b"x"] * 6),
        "list": pa.array([[1]] * 6),
        "tiny": pa.array([1e-300, 2e-300, 3.0] * 2),
        "Huge": pa.array([1e300, -1e300, 0.0] * 2),
    }
    text = draft_schema(open_table(pa.table(columns)), "t")
    made = read(text)
    assert made.columns["flag"].values == (False, True)
    assert made.columns["flag"].nullable
    assert made.columns["day"].points == (dt.date(2001, 12, 31) - dt.date(1969, 1, 1)).days + 1
    assert made.columns["at"].date
    assert (made.columns["whole"].low, made.columns["whole"].high) == (1, 7)
    assert made.columns["real"].nullable
    for name in ("zoned", "time", "none", "infinite", "bytes"):
        assert f"# left out: '{name}'" in text
    assert "list" not in made.columns
    with pytest.raises(TableError, match="No column"):
        draft_schema(open_table({"x": [b"a"]}))


def test_a_csv_file_names_its_draft(tmp_path):
    path = tmp_path / "2020 Heart-data.csv"
    path.write_text("age,sex\n" + "63,M\n67,F\n" * 5)
    made = read(draft_schema(open_table(path)))
    assert made.name == "table_2020_heart_data"
    assert made.columns["sex"].values == ("F", "M")


@given(st.data(), st.booleans())
def test_a_rounded_range_holds_the_data_in_whole_steps(data, whole):
    number = st.integers(-(10**9), 10**9) if whole else st.floats(-1e9, 1e9)
    ends = sorted([Fraction(data.draw(number)), Fraction(data.draw(number))])
    low, high, step = rounded_range(*ends, whole=whole)
    assert low <= ends[0] <= ends[1] <= high
    assert (high - low) % step == 0
    assert (high - low) / step <= 10**4
    assert not whole or step.denominator == low.denominator == 1
