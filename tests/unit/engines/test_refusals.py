"""Every bad table is refused in one sentence that names the culprit and tells nothing else."""

# ruff: noqa: S107 - the secret side is a column, not a password

from __future__ import annotations

import gzip
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley import ColumnError, EngineError, OptionError, Relation, TableError, open_table
from hartley.tables.view import profile

MARKER = "SECRET-7741"
NUMBER = 987_654_321
GOOD = {"age": [1, 2, NUMBER], "job": [MARKER, "b", "c"]}


def relate(source, secret="age", released="job", **options):
    return Relation.from_table(source, secret=secret, released=released, **options)


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"age,job\n1,2\n3,4,{MARKER}\n",
        f"age,job,x\n1,2,{MARKER}\n3,4\n",
        f"age,job,x\n1,2\n3,{MARKER}\n",
        f"age,job\n1,{MARKER},3\n4,5,6\n",
        f"age,job\n1\n3,{MARKER}\n",
        "age,job,x\n" + "1,2,3\n" * 3000 + f"{MARKER},5\n" + "1,2,3\n" * 3000,
    ],
    ids=["long last", "short last", "short all", "long all", "short first", "short far down"],
)
def test_lines_of_different_lengths_are_refused(text, tmp_path, refused):
    path = tmp_path / "ragged.csv"
    path.write_text(text)
    with refused(TableError, "ragged.csv"):
        relate(path)


@pytest.mark.parametrize(
    "content",
    [
        bytes(range(256)) * 20,
        b"age,job\n\xff\xfe,2\n1," + MARKER.encode() + b"\n",
        ("age,job\n1,é\n2," + MARKER + "\n").encode("latin-1"),
        ("age,job\n1,2\n" + MARKER + ",2\n").encode("utf-16"),
        b"\x89PNG\r\n\x1a\n" + MARKER.encode(),
    ],
    ids=["all bytes", "stray bytes", "latin-1", "utf-16", "image"],
)
def test_what_is_no_text_is_refused_as_csv(content, tmp_path, refused):
    path = tmp_path / "binary.csv"
    path.write_bytes(content)
    with refused(TableError, "binary.csv"):
        relate(path)


def test_text_named_gz_is_refused(tmp_path, refused):
    path = tmp_path / "plain.csv.gz"
    path.write_text(f"age,job\n1,{MARKER}\n")
    with refused(TableError, "plain.csv.gz"):
        relate(path)


def test_a_truncated_gz_is_refused(tmp_path, refused):
    path = tmp_path / "cut.csv.gz"
    packed = gzip.compress(b"age,job\n" + MARKER.encode() * 5000)
    path.write_bytes(packed[: len(packed) // 2])
    with refused(TableError, "cut.csv.gz"):
        relate(path)


def test_text_named_parquet_is_refused(tmp_path, refused):
    path = tmp_path / "people.parquet"
    path.write_text(f"age,job\n1,{MARKER}\n")
    with refused(TableError, "people.parquet"):
        relate(path)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_truncated_parquet_is_refused(share, tmp_path, refused):
    path = tmp_path / "cut.parquet"
    pq.write_table(pa.table(GOOD), path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with refused(TableError, "cut.parquet"):
        relate(path)


def test_parquet_damaged_in_the_middle_is_an_engine_error(tmp_path, refused):
    path = tmp_path / "hurt.parquet"
    pq.write_table(pa.table({"age": range(5000), "job": [MARKER] * 5000}), path)
    content = path.read_bytes()
    path.write_bytes(content[:20] + bytes(2000) + content[2020:])
    with refused(EngineError, "hurt.parquet", "duckdb"):
        relate(path).compute()


def test_a_folder_is_refused(tmp_path, refused):
    with refused(TableError, str(tmp_path)):
        relate(tmp_path)


@pytest.mark.parametrize("name", ["absent.csv", "absent.parquet", "absent-*.csv"])
def test_a_path_where_nothing_is_is_refused(name, tmp_path, refused):
    with refused(TableError, name):
        relate(tmp_path / name)


def test_one_missing_path_of_a_list_is_refused(tmp_path, refused):
    pq.write_table(pa.table(GOOD), tmp_path / "there.parquet")
    with refused(TableError, "absent.parquet"):
        relate([tmp_path / "there.parquet", tmp_path / "absent.parquet"])


def test_an_empty_file_is_refused(tmp_path, refused):
    (tmp_path / "nothing.csv").touch()
    with refused(TableError, "nothing.csv"):
        relate(tmp_path / "nothing.csv")


@pytest.mark.parametrize("text", ["age,job\n", "age,job"])
def test_a_header_without_rows_is_refused(text, tmp_path, refused):
    (tmp_path / "header.csv").write_text(text)
    with refused(TableError, "header.csv"):
        relate(tmp_path / "header.csv")


@pytest.mark.parametrize(
    "text",
    [f"1,{NUMBER}\n2,3\n4,5\n6,7\n", f"{NUMBER},{MARKER}\n2,x\n3,y\n", f"0.5,{NUMBER}\n1.5,2\n"],
    ids=["integers", "text", "reals"],
)
def test_a_missing_header_is_noticed_and_no_record_is_taken_for_names(text, tmp_path, refused):
    (tmp_path / "bare.csv").write_text(text)
    with refused(ColumnError, "'age'", "bare.csv", "names="):
        relate(tmp_path / "bare.csv")


def test_more_names_than_fields_are_refused(tmp_path, refused):
    (tmp_path / "bare.csv").write_text(f"1,{NUMBER}\n2,3\n")
    with refused(TableError, "bare.csv"):
        relate(open_table(tmp_path / "bare.csv", names=["age", "job", "third"]))


def test_files_of_two_formats_are_refused(tmp_path, refused):
    pq.write_table(pa.table(GOOD), tmp_path / "one.parquet")
    pd.DataFrame(GOOD).to_csv(tmp_path / "two.csv")
    with refused(TableError, "one.parquet"):
        relate([tmp_path / "one.parquet", tmp_path / "two.csv"])


def test_files_with_different_columns_are_refused(tmp_path, refused):
    pq.write_table(pa.table(GOOD), tmp_path / "one.parquet")
    pq.write_table(pa.table({"age": [1], "work": [MARKER]}), tmp_path / "two.parquet")
    with refused(TableError, "one.parquet"):
        relate([tmp_path / "one.parquet", tmp_path / "two.parquet"])


# --- columns of one name --------------------------------------------------------------------------


def doubled_csv(folder):
    (folder / "twice.csv").write_text(f"age,job,age\n1,{MARKER},2\n3,x,4\n")
    return folder / "twice.csv"


def doubled_parquet(folder):
    pq.write_table(
        pa.table([[1], [MARKER], [2]], names=["age", "job", "age"]), folder / "t.parquet"
    )
    return folder / "t.parquet"


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (doubled_csv, "twice.csv"),
        (doubled_parquet, "t.parquet"),
        (lambda _: pa.table([[1], [MARKER], [2]], names=["age", "job", "age"]), "the table"),
        (lambda _: pd.DataFrame([[1, MARKER, 2]], columns=["age", "job", "age"]), "data frame"),
    ],
    ids=["CSV", "Parquet", "Arrow", "pandas"],
)
def test_two_columns_of_one_name_are_refused(make, name, tmp_path, refused):
    with refused(ColumnError, "'age'", name):
        relate(make(tmp_path))


@pytest.mark.parametrize(
    "source",
    [{1: [1, 2], "1": [3, 4]}, pd.DataFrame([[1, 2]], columns=[1, "1"])],
    ids=["dict", "pandas"],
)
def test_a_number_and_its_text_are_one_name(source, refused):
    with refused(ColumnError, "'1'"):
        open_table(source)


def test_two_equal_names_are_refused(tmp_path, refused):
    (tmp_path / "bare.csv").write_text("1,2\n")
    with refused(ColumnError, "'age'"):
        open_table(tmp_path / "bare.csv", names=["age", "age"])


# --- tables in memory -----------------------------------------------------------------------------

MIXED = [1, MARKER, 2.5]


@pytest.mark.parametrize(
    "source",
    [
        {"age": MIXED, "job": [1, 2, 3]},
        {"age": np.array(MIXED, dtype=object), "job": [1, 2, 3]},
        pd.DataFrame({"age": pd.Series(MIXED, dtype=object), "job": [1, 2, 3]}),
        {"age": [NUMBER, [NUMBER], 3], "job": [1, 2, 3]},
        {"age": [True, NUMBER, None], "job": [1, 2, 3]},
        {"age": [2**70 + NUMBER, 1, 2], "job": [1, 2, 3]},
        pd.DataFrame({"age": [2**70 + NUMBER, 1, 2], "job": [1, 2, 3]}),
        {"age": ["\ud800" + MARKER, "x", "y"], "job": [1, 2, 3]},
        {"age": NUMBER, "job": [1, 2, 3]},
    ],
    ids=["dict", "array", "pandas", "list", "bool", "huge", "pandas huge", "surrogate", "scalar"],
)
def test_a_column_that_is_no_column_of_one_type_is_refused_by_name(source, refused):
    with refused(ColumnError, "'age'"):
        relate(source)


@pytest.mark.parametrize(
    "source",
    [{}, pd.DataFrame(), pl.DataFrame(), pa.table({})],
    ids=["dict", "pandas", "Polars", "Arrow"],
)
def test_a_table_without_columns_is_refused(source, refused):
    with refused(TableError):
        open_table(source)


@pytest.mark.parametrize(
    "source",
    [
        {"age": [], "job": []},
        pd.DataFrame(GOOD)[:0],
        pl.DataFrame(GOOD)[:0],
        pl.LazyFrame(GOOD).head(0),
        pa.table(GOOD)[:0],
    ],
    ids=["dict", "pandas", "Polars", "lazy Polars", "Arrow"],
)
def test_a_table_without_rows_is_refused(source, refused):
    with refused(TableError, "no rows"):
        relate(source)


def test_columns_of_different_lengths_are_refused(refused):
    with refused(TableError):
        relate({"age": [1, 2, NUMBER], "job": [MARKER]})


@pytest.mark.parametrize(
    "source", [None, 5, MARKER.encode(), [], [1, 2], np.zeros((2, 2)), object()]
)
def test_what_is_no_table_is_refused(source, refused):
    with refused(TableError, type(source).__name__):
        relate(source)


def test_a_column_of_lists_is_refused(refused):
    with refused(ColumnError, "'job'"):
        relate({"age": [1, 2], "job": [[NUMBER], [2]]})


# --- columns that cannot serve --------------------------------------------------------------------


def test_a_missing_column_is_refused_and_the_nearest_one_suggested(refused):
    with refused(ColumnError, "'agee'", "the dict", "did you mean 'age'?"):
        relate(GOOD, secret="agee")
    with refused(ColumnError, "'postcode'", "the columns are age, job"):
        relate(GOOD, released=["job", "postcode"])


@pytest.mark.parametrize("hole", [None, math.nan])
@pytest.mark.parametrize("bins", [{}, {"empty": 5}], ids=["plain", "binned"])
@pytest.mark.parametrize("missing", ["drop", "value"])
def test_a_column_of_missing_values_is_refused_by_name(hole, bins, missing, refused):
    with refused(ColumnError, "'empty'", "the dict"):
        relate({**GOOD, "empty": [hole] * 3}, released="empty", bins=bins, missing=missing)


def test_columns_without_a_common_row_are_refused_together(refused):
    with refused(ColumnError, "'age'", "'job'", "missing='value'"):
        relate({"age": [NUMBER, None], "job": [None, MARKER]}, missing="drop")


@pytest.mark.parametrize("infinity", [math.inf, -math.inf])
def test_infinity_lies_in_no_bin(infinity, refused):
    source = {"age": [1.0, infinity, float(NUMBER)], "job": ["a", "b", "c"]}
    with refused(ColumnError, "'age'", "the dict"):
        relate(source, bins={"age": 10})
    assert infinity in relate(source).secret_range


@pytest.mark.parametrize("values", [[MARKER, "2", "3"], [True, False, True]])
def test_what_is_no_number_is_not_binned(values, refused):
    with refused(ColumnError, "'job'", "the dict"):
        relate({"age": [1, 2, 3], "job": values}, bins={"job": 10})


def test_bins_for_a_column_that_is_not_used_are_refused(refused):
    with refused(ColumnError, "'other'"):
        relate({**GOOD, "other": [1, 2, 3]}, bins={"other": 10})


@pytest.mark.parametrize(
    "step", [0, -5, 0.0, -2.5, "ten", "", math.nan, math.inf, "nan", "-inf", 1e-300, "1e-300", None]
)
def test_a_step_that_makes_no_bins_is_refused_by_its_column(step, refused):
    with refused(OptionError, "'age'"):
        relate(GOOD, bins={"age": step})


def test_a_step_too_fine_for_the_range_is_refused(refused):
    with refused(OptionError, "'age'"):
        relate({"age": [NUMBER * 10**6, 2], "job": ["a", "b"]}, bins={"age": 0.1})


@pytest.mark.parametrize("missing", ["keep", "", None, "Drop"])
def test_an_unknown_treatment_of_missing_values_is_refused(missing, refused):
    with refused(OptionError, "'released', 'value' or 'drop'"):
        relate(GOOD, missing=missing)


@pytest.mark.parametrize("limit", ["lots", "", "GB", "nan", "inf GB", "-5GB", -1])
def test_a_memory_limit_that_is_no_size_is_refused(limit, refused):
    with refused(OptionError, "memory limit"):
        relate(GOOD, memory_limit=limit)


@pytest.mark.parametrize("side", ["secret", "released"])
def test_a_side_without_columns_or_with_one_twice_is_refused(side, refused):
    with refused(OptionError, side):
        relate(GOOD, **{side: []})
    with refused(OptionError, "'age'", side):
        relate(GOOD, **{side: ["age", "age"]})


@pytest.mark.parametrize(
    ("encoding", "why"),
    [
        ("latin-1", "is not UTF-8 text in line 3"),
        ("utf-16", "is UTF-16 text"),
        ("utf-16-be", "is UTF-16 text"),
    ],
)
def test_a_csv_file_in_another_encoding_is_named_as_such(tmp_path, encoding, why):
    (tmp_path / "t.csv").write_bytes("job,n\nnurse,1\nSECRETé,2\n".encode(encoding))
    with pytest.raises(TableError, match=why) as refused:
        Relation.from_table(tmp_path / "t.csv", secret="job", released="n")
    assert "SECRET" not in str(refused.value)


def test_the_line_of_a_wrong_encoding_is_counted_over_all_of_a_large_file(tmp_path):
    lines = b"job,n\n" + "é,1\n".encode() * 400_000 + b"\xe9,2\n"
    (tmp_path / "t.csv").write_bytes(lines)
    with pytest.raises(TableError, match=r"not UTF-8 text in line 400,002;"):
        open_table(tmp_path / "t.csv")


@pytest.mark.parametrize("day", ["-infinity", "infinity", "10000-01-01", "0000-01-01"])
def test_a_date_that_no_calendar_has_is_refused_by_its_column(tmp_path, day):
    (tmp_path / "t.csv").write_text(f"sex,seen\nF,2001-01-01\nM,{day}\nF,1999-12-31\n")
    with pytest.raises(
        ColumnError, match=r"Column .seen. of t\.csv holds a date before the year 1"
    ):
        Relation.from_table(tmp_path / "t.csv", secret="sex", released="seen")
    marked = open_table(tmp_path / "t.csv", null=[day])
    assert Relation.from_table(marked, secret="sex", released="seen").rows == 3


def test_a_date_that_no_calendar_has_is_left_out_of_a_draft(tmp_path):
    (tmp_path / "t.csv").write_text("seen\n2001-01-01\n10000-01-01\n1999-12-31\n")
    (seen,) = profile(open_table(tmp_path / "t.csv"))
    assert [str(end) for end in (seen.low, seen.high)] == ["1999-12-31", "2001-01-01"]
