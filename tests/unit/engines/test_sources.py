"""Whatever holds a table opens as the same table."""

from __future__ import annotations

import datetime as dt
import gzip
from decimal import Decimal
from typing import TYPE_CHECKING

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley import ColumnError, Relation, TableError, open_table
from hartley.engines.table import Kind, Table

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = {
    "age": [31, 32, 47, 31],
    "name": ["a", "b", "c", "d, e"],
    "height": [1.5, 1.75, 2.0, 1.25],
    "member": [True, False, True, True],
    "born": [dt.date(1990, 1, day) for day in (1, 2, 3, 4)],
}


def as_parquet(folder: Path) -> Path:
    pq.write_table(pa.table(COLUMNS), folder / "people.parquet")
    return folder / "people.parquet"


def as_unnamed_parquet(folder: Path) -> Path:
    return as_parquet(folder).rename(folder / "people")


def as_csv(folder: Path) -> Path:
    pd.DataFrame(COLUMNS).to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


def as_semicolon_csv(folder: Path) -> Path:
    pd.DataFrame(COLUMNS).to_csv(folder / "people.csv", index=False, sep=";")
    return folder / "people.csv"


def as_csv_with_byte_order_mark(folder: Path) -> Path:
    pd.DataFrame(COLUMNS).to_csv(folder / "people.csv", index=False, encoding="utf-8-sig")
    return folder / "people.csv"


def as_zipped_csv(folder: Path) -> Path:
    path = folder / "people.csv.gz"
    path.write_bytes(gzip.compress(as_csv(folder).read_bytes()))
    return path


def halves(folder: Path, ending: str) -> list[Path]:
    frame = pd.DataFrame(COLUMNS)
    paths = [folder / f"half-{i}.{ending}" for i in (0, 1)]
    for path, half in zip(paths, (frame[:2], frame[2:]), strict=True):
        half.to_parquet(path) if ending == "parquet" else half.to_csv(path, index=False)
    return paths


SOURCES = {
    "a Parquet path": as_parquet,
    "a Parquet path as text": lambda folder: str(as_parquet(folder)),
    "a Parquet file without an ending": as_unnamed_parquet,
    "a CSV path": as_csv,
    "a CSV path with semicolons": as_semicolon_csv,
    "a CSV path with a byte order mark": as_csv_with_byte_order_mark,
    "a zipped CSV path": as_zipped_csv,
    "a list of Parquet paths": lambda folder: halves(folder, "parquet"),
    "a list of CSV paths": lambda folder: [str(path) for path in halves(folder, "csv")],
    "a pattern of Parquet paths": lambda folder: halves(folder, "parquet")[0].parent / "half-*",
    "a pattern of CSV paths": lambda folder: str(halves(folder, "csv")[0].parent / "h*-?.csv"),
    "pandas": lambda _: pd.DataFrame(COLUMNS),
    "pandas with an index": lambda _: pd.DataFrame(COLUMNS, index=[5, 5, 7, 9]),
    "pandas with Arrow types": lambda _: pd.DataFrame(COLUMNS).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "eager Polars": lambda _: pl.DataFrame(COLUMNS),
    "lazy Polars": lambda _: pl.LazyFrame(COLUMNS),
    "Arrow": lambda _: pa.table(COLUMNS),
    "an Arrow batch": lambda _: pa.RecordBatch.from_pydict(COLUMNS),
    "a dict": lambda _: COLUMNS,
    "a dict of arrays": lambda _: {
        "age": np.array(COLUMNS["age"]),
        "name": pa.array(COLUMNS["name"]),
        "height": pl.Series(COLUMNS["height"]),
        "member": pd.Series(COLUMNS["member"]),
        "born": pa.chunked_array([COLUMNS["born"][:1], COLUMNS["born"][1:]]),
    },
    "an Ibis table": lambda _: ibis.memtable(pa.table(COLUMNS)),
    "a derived Ibis table": lambda _: ibis.memtable(pa.table(COLUMNS)).mutate(more=ibis.literal(1))[
        list(COLUMNS)
    ],
    "an open table": lambda folder: open_table(as_parquet(folder)),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
def test_every_kind_of_source_is_the_same_table(make, tmp_path, oracle, assert_is):
    table = open_table(make(tmp_path))
    assert isinstance(table, Table)
    assert table.columns == tuple(COLUMNS)
    kinds = [Kind.INTEGER, Kind.TEXT, Kind.REAL, Kind.BOOLEAN, Kind.TIME]
    assert [table.kind(name) for name in table.columns] == kinds
    sides = ["age", "member", "born"], ["name", "height"]
    relation = Relation.from_table(table, secret=sides[0], released=sides[1], bins={"height": 0.5})
    assert_is(relation, oracle(COLUMNS, *sides, {"height": 0.5}))


def test_a_table_is_called_by_the_name_of_its_file(tmp_path):
    assert open_table(as_csv(tmp_path)).name == "people.csv"
    assert open_table(halves(tmp_path, "csv")).name == "half-0.csv and 1 more"


def test_files_with_their_columns_in_another_order_are_matched_by_name(tmp_path):
    for name, columns in (("1", {"a": [1, 2], "b": [10, 20]}), ("2", {"b": [30], "a": [3]})):
        pd.DataFrame(columns).to_csv(tmp_path / f"{name}.csv", index=False)
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    for ending in ("csv", "parquet"):
        relation = Relation.from_table(tmp_path / f"*.{ending}", secret="a", released="b")
        assert relation.secret_range == [1, 2, 3]
        assert relation.released_range == [10, 20, 30]


def test_a_file_named_like_a_pattern_is_the_file_itself(tmp_path):
    path = as_csv(tmp_path).rename(tmp_path / "people[1].csv")
    as_csv(tmp_path).rename(tmp_path / "people1.csv").write_text("other\n1\n")
    assert open_table(path).columns == tuple(COLUMNS)


def test_names_stand_for_a_missing_header(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("31,x\n32,y\n31,x\n")
    relation = Relation.from_table(
        open_table(path, names=["age", "job"]), secret="age", released="job"
    )
    assert relation.secret_range == [31, 32]
    assert relation.rows == 3


def test_the_first_line_is_a_header_even_where_all_is_text(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("first,second\nx,y\nz,w\n")
    table = open_table(path)
    assert table.columns == ("first", "second")
    assert Relation.from_table(table, secret="first", released="second").rows == 2


@pytest.mark.parametrize("null", ["?", ["?", "NA"], ("NA", "?")])
def test_named_marks_and_empty_fields_are_missing(null, tmp_path):
    path = tmp_path / "marked.csv"
    path.write_text("age,chol\n31,?\n32,200\n33,\n34,210\n")
    table = open_table(path, null=null)
    assert table.kind("chol") is Kind.INTEGER
    relation = Relation.from_table(table, secret="age", released="chol", missing="value")
    assert relation.released_range == [200, 210, None]
    assert relation.conditional_range(released=None) == [31, 33]


def test_a_mark_that_is_not_named_makes_a_text_column(tmp_path):
    path = tmp_path / "marked.csv"
    path.write_text("age,chol\n31,?\n32,200\n")
    assert open_table(path).kind("chol") is Kind.TEXT


def test_a_stray_word_in_the_last_of_many_lines_still_decides_the_type(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("age\n" + "31\n" * 50_000 + "unknown\n")
    assert open_table(path).kind("age") is Kind.TEXT


def test_a_header_may_quote_a_separator(tmp_path):
    path = tmp_path / "quoted.csv"
    path.write_text('"income, gross";age\n1;2\n3;4\n')
    assert open_table(path).columns == ("income, gross", "age")


def test_columns_of_pandas_named_by_numbers_are_named_by_text():
    assert open_table(pd.DataFrame([[1, 2]])).columns == ("0", "1")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical(["x", "y", None])),
        pd.Series(pd.to_datetime(["2020-01-01", "2021-06-30", None])),
        pd.Series(pd.to_datetime(["2020-01-01", "2021-06-30", None])).dt.tz_localize("UTC"),
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series([1, 2, 2**64 - 1], dtype="uint64"),
        pd.Series([0.5, np.nan, -0.0], dtype="float32"),
        pd.Series([0.5, np.nan, -0.0], dtype="float16"),
        pd.Series([Decimal("1.10"), None, Decimal("2.25")]),
        pd.Series([b"x", b"", None]),
        pd.Series([dt.time(1), dt.time(2), None]),
        pd.Series([True, None, False]),
    ],
    ids=lambda column: str(column.dtype),
)
def test_every_plain_type_of_pandas_can_be_released(column):
    frame = pd.DataFrame({"row": [1, 2, 3], "column": column})
    relation = Relation.from_table(frame, secret="row", released="column", missing="value")
    assert len(relation.released_range) == 3
    assert (None in relation.released_range) == bool(column.isna().any())


def test_columns_that_differ_in_case_alone_are_refused_together(refused):
    frame = pd.DataFrame({"age": [1, 2], "AGE": [3, 4], "row": [5, 6]})
    with refused(ColumnError, "'age'", "'AGE'"):
        Relation.from_table(frame, secret="AGE", released="row")


@pytest.mark.parametrize(
    ("days", "read"),
    [
        (("2024-12-31", "2024-01-02"), Kind.TIME),
        (("2024/12/31", "2024/01/02"), Kind.TIME),
        (("31.12.2024", "02.01.2024"), Kind.TEXT),
        (("12/31/2024", "01/02/2024"), Kind.TEXT),
        (("24-12-31", "24-01-02"), Kind.TEXT),
        (("31.12.2024 10:00:00", "02.01.2024 11:00:00"), Kind.TEXT),
        (("24-12-31 10:00:00", "24-01-02 11:00:00"), Kind.TEXT),
    ],
)
def test_days_of_a_csv_are_days_only_where_their_writing_leaves_no_doubt(days, read, tmp_path):
    path = tmp_path / "days.csv"
    path.write_text("day,n\n" + "".join(f"{day},{i}\n" for i, day in enumerate(days)))
    table = open_table(path)
    assert table.kind("day") is read
    found = [str(day) for day in table.expression.to_pyarrow()["day"].to_pylist()]
    assert sorted(found) == sorted(
        day.replace("/", "-") if read is Kind.TIME else day for day in days
    )


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (ibis.table({"a": "int"}, name="t"), "is of no database; hint: pass the table of a conn"),
        (ibis.memtable({"a": [1]}).a, "of the type IntegerColumn of ibis, is not a table"),
        (ibis.memtable({"a": [1]}).a.sum(), "of the type IntegerScalar of ibis, is not a table"),
        (ibis.memtable({"a": [{"columns": 1}]}).a, "StructColumn of ibis, is not a table"),
    ],
)
def test_what_is_no_table_of_an_engine_is_refused_at_once(source, sentence):
    with pytest.raises(TableError, match=sentence):
        open_table(source)
