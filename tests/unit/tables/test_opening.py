"""Whatever holds a table opens as the same table, and what it holds is counted, or refused."""

from __future__ import annotations

import datetime as dt
import gzip
import math
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import hartley
from hartley import ColumnError, EngineError, OptionError, Relation, TableError, open_table
from hartley.engines.table import Kind, Table
from hartley.ranges.counting import tally_pairs
from hartley.tables.view import profile

# --- Whatever holds a table opens as the same table -----------------------------------------------


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


def as_csv(folder: Path, **options) -> Path:
    pd.DataFrame(COLUMNS).to_csv(folder / "people.csv", index=False, **options)
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
    "a Parquet file without an ending": lambda folder: as_parquet(folder).rename(folder / "people"),
    "a CSV path": as_csv,
    "a CSV path with semicolons": lambda folder: as_csv(folder, sep=";"),
    "a CSV path with a byte order mark": lambda folder: as_csv(folder, encoding="utf-8-sig"),
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


def test_names_stand_for_a_missing_header(file):
    table = open_table(file("31,x\n32,y\n31,x\n"), names=["age", "job"])
    relation = Relation.from_table(table, secret="age", released="job")
    assert relation.secret_range == [31, 32]
    assert relation.rows == 3


def test_the_first_line_is_a_header_even_where_all_is_text(file):
    table = open_table(file("first,second\nx,y\nz,w\n"))
    assert table.columns == ("first", "second")
    assert Relation.from_table(table, secret="first", released="second").rows == 2


@pytest.mark.parametrize("null", ["?", ["?", "NA"], ("NA", "?")])
def test_named_marks_and_empty_fields_are_missing(null, file):
    table = open_table(file("age,chol\n31,?\n32,200\n33,\n34,210\n"), null=null)
    assert table.kind("chol") is Kind.INTEGER
    relation = Relation.from_table(table, secret="age", released="chol", missing="value")
    assert relation.released_range == [200, 210, None]
    assert relation.conditional_range(released=None) == [31, 33]


def test_a_mark_or_a_stray_word_in_the_last_of_many_lines_makes_a_text_column(file):
    assert open_table(file("age,chol\n31,?\n32,200\n")).kind("chol") is Kind.TEXT
    assert open_table(file("age\n" + "31\n" * 50_000 + "unknown\n")).kind("age") is Kind.TEXT


def test_a_header_may_quote_a_separator(file):
    table = open_table(file('"income, gross";age\n1;2\n3;4\n'))
    assert table.columns == ("income, gross", "age")


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
def test_days_of_a_csv_are_days_only_where_their_writing_leaves_no_doubt(days, read, file):
    table = open_table(file("day,n\n" + "".join(f"{day},{i}\n" for i, day in enumerate(days))))
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


# --- foreign frames: nothing is collected to refuse one -------------------------------------------


ROWS = {"a": [1, 2]}
ARROW = pa.table(ROWS)


class Cluster:
    """A data frame of a cluster, which may be larger than this machine."""

    columns = ("a",)

    def collect(self, *_, **__):
        raise AssertionError("the whole frame was fetched")

    toArrow = toPandas = to_pandas = compute = __arrow_c_stream__ = __iter__ = __len__ = collect  # noqa: N815


Spark = type("DataFrame", (Cluster,), {"__module__": "pyspark.sql.classic.dataframe"})
Connect = type("DataFrame", (Cluster,), {"__module__": "pyspark.sql.connect.dataframe"})
OnSpark = type("DataFrame", (Cluster,), {"__module__": "pyspark.pandas.frame"})
Derived = type("People", (Spark,), {"__module__": "mine"})
OTHERS = {name: getattr(Cluster, name) for name in ("columns", "collect", "compute")}
Dask = type("DataFrame", (), OTHERS | {"__module__": "dask.dataframe"})


@pytest.mark.parametrize("kind", [Spark, Connect, OnSpark, Derived])
def test_a_frame_of_spark_is_refused_before_it_is_fetched(kind):
    with pytest.raises(TableError, match=r"of the type .* of \w+, .*createOrReplaceTempView"):
        open_table(kind())
    with pytest.raises(ColumnError, match="Column 'a'"):
        open_table({"a": kind()})


@pytest.mark.parametrize(
    ("source", "named"),
    [
        (Dask(), "DataFrame of dask"),
        (ds.dataset(ARROW), "InMemoryDataset of pyarrow"),
        (ARROW["a"], "ChunkedArray of pyarrow"),
        (pl.Series("a", [1]), "Series of polars"),
        (pd.Series([1]), "Series of pandas"),
        (np.array([(1,)], dtype=[("a", "i8")]), "ndarray of numpy"),
        ((row for row in [1]), "generator"),
        ([{"a": 1}], "list"),
        (pl.DataFrame, "type"),
        (None, "NoneType"),
    ],
)
def test_what_is_no_table_is_named_and_so_is_what_would_be_one(source, named):
    with pytest.raises(TableError, match=f"of the type {named}, is not .* a dict of columns"):
        open_table(source)


@pytest.mark.parametrize(
    "source",
    [
        ROWS, {"a": iter([1, 2])}, {"a": range(1, 3)}, {"a": np.array([1, 2])},
        ARROW, ARROW.to_batches()[0], ARROW.to_reader(), pd.DataFrame(ROWS), pl.DataFrame(ROWS),
        pl.LazyFrame(ROWS), duckdb.sql("FROM VALUES (1), (2) t(a)"),
    ],
    ids=lambda source: type(source).__name__,
)  # fmt: skip
def test_what_is_a_table_is_read(source):
    assert open_table(source).expression.to_pyarrow()["a"].to_pylist() == [1, 2]


def test_a_text_is_no_column_of_letters():
    with pytest.raises(ColumnError, match="Column 'a'"):
        open_table({"a": "xyz"})


# --- What is counted is what the table holds: nothing is merged, cut or lost on the way in --------


def released(source, **options):
    return Relation.from_table(source, secret="s", released="r", **options).released_range


@pytest.mark.slow
def test_records_of_a_nested_column_are_not_taken_for_those_of_a_plain_one(tmp_path):
    rows = 200_001
    table = pa.table(
        {
            "meta": [{"s": i % 2} for i in range(rows)],
            "s": [2] + [0, 1] * (rows // 2),
            "r": [0] + [1] * (rows - 1),
        }
    )
    pq.write_table(table, tmp_path / "nested.parquet")
    report = hartley.audit(tmp_path / "nested.parquet", secret="s", released="r")
    assert (report.verdict.told, report.verdict.left) == (1, 1)


def test_nan_in_a_file_is_missing_as_in_memory(tmp_path):
    columns = {"s": [1.0, math.nan, 2.0, math.nan, 3.0], "r": list("aaabb")}
    pq.write_table(pa.table(columns), tmp_path / "nan.parquet")
    for source in (columns, tmp_path / "nan.parquet"):
        relation = Relation.from_table(source, secret="s", released="r", bins={"s": 1})
        assert (relation.rows, relation.view.dropped) == (3, 2)


@pytest.mark.parametrize(
    "texts",
    [
        ["12345678901234567890", "12345678901234567891"],
        ["0.12345678901234567890", "0.12345678901234567891"],
        ["007", "7"],
        ["1.0", "1.00"],
        ["2020-01-02", "2020-1-2"],
        ["10:00", "10:00:00"],
        ["True", "TRUE"],
        ["#2", "2"],
        ["'x'", "x"],
        ["0x10", "16"],
        ["2020-01-02", "2020/01/02"],
    ],
    ids=lambda texts: texts[0],
)
def test_different_texts_of_a_csv_stay_different(texts, file):
    path = file("s,r\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts)))
    assert len(released(path)) == len(texts)


def test_numbers_of_a_csv_are_numbers_where_nothing_is_lost(file):
    path = file("s,r\n1,10\n2,-3\n3,0.5\n")
    assert released(path) == [-3.0, 0.5, 10.0]
    assert released(path, bins={"r": 5}) == [-2.5, 2.5, 12.5]


def test_parquet_files_of_different_types_are_refused(tmp_path):
    pq.write_table(pa.table({"s": [1, 2], "r": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"s": [3, 4], "r": [1.4, 1.5]}), tmp_path / "b.parquet")
    with pytest.raises(ColumnError, match=r"'r' has different types in a.parquet and b.parquet"):
        released([tmp_path / "a.parquet", tmp_path / "b.parquet"])


def test_names_of_folders_are_not_values(file):
    assert released(file("s,r\n1,7\n2,8\n", "r=1/data/c.csv")) == [7, 8]


def test_times_of_a_nanosecond_stay_apart_in_memory_and_are_refused_in_files(tmp_path):
    times = pa.array([1, 2], pa.timestamp("ns", tz="UTC"))
    table = pa.table({"s": [1, 2], "r": times})
    assert len(released(table)) == 2
    pq.write_table(table, tmp_path / "ns.parquet")
    with pytest.raises(ColumnError, match=r"'r' .* finer than a microsecond"):
        released(tmp_path / "ns.parquet")


@pytest.mark.parametrize(
    "values",
    [[1.0, True], ["a", b"a"], [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)]],  # noqa: DTZ001 - no zone is the point
)
def test_a_list_of_different_types_is_refused(values):
    with pytest.raises(ColumnError, match="'r'"):
        released({"s": [1, 2], "r": values})


def test_listed_pairs_tell_truth_from_one_and_take_nan_for_itself():
    relation = Relation.from_pairs([("a", 1), ("b", True), ("c", 2)])
    assert len(relation.released_range) == 3
    two = Relation.from_pairs([(float("nan"), "y"), (np.float64("nan"), "y"), (1, "z")])
    assert len(two.secret_range) == 2


def test_a_table_that_changes_while_it_is_counted_is_refused(monkeypatch):
    monkeypatch.setattr("hartley.ranges.counting.TALLY_FROM", -1)
    for limit in (None, 1):
        backend = ibis.duckdb.connect()
        backend.con.execute("CREATE TABLE t AS SELECT i AS s, i AS r FROM range(3) AS rows(i)")
        relation = Relation.from_table(
            backend.table("t"), secret="s", released="r", memory_limit=limit
        )
        backend.con.execute("INSERT INTO t VALUES (90, 80000)")
        with pytest.raises(EngineError, match="changed while it was being counted"):
            relation.compute()


def test_one_table_serves_several_threads():
    table = open_table(pd.DataFrame({"s": range(500), "r": [i % 7 for i in range(500)]}))

    def count(_):
        return Relation.from_table(table, secret="s", released="r").summary.released

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(count, range(4))) == [7] * 4


@pytest.mark.parametrize("step", ["1e999999999", "1e-999999999"])
def test_a_number_that_nobody_means_is_refused_at_once(step):
    with pytest.raises(OptionError, match="'r' is not a number"):
        released({"s": [1, 2], "r": [3, 4]}, bins={"r": step})


@pytest.mark.slow
def test_spread_integers_take_no_memory_for_what_lies_between():
    rng = np.random.default_rng(5)
    values = rng.integers(0, 2**26, 1000)
    relation = Relation.from_table(
        {"s": values, "r": values[::-1].copy()}, secret="s", released="r"
    )
    tally = tally_pairs(relation.view, [0], [1])
    assert tally.secret.width == len(set(values.tolist()))


def test_side_names_that_are_no_names_are_refused():
    for secret in (5, None, (5,)):
        with pytest.raises((OptionError, TableError)):
            Relation.from_table({"s": [1], "r": [1]}, secret=secret, released="r")


# --- Every bad table is refused in one sentence that names the culprit and tells nothing else -----


MARKER = "SECRET-7741"
NUMBER = 987_654_321
GOOD = {"age": [1, 2, NUMBER], "job": [MARKER, "b", "c"]}


def relate(source, secret="age", released="job", **options):  # noqa: S107 - a side of a relation
    return Relation.from_table(source, secret=secret, released=released, **options)


# --- files ----------------------------------------------------------------------------------------

RAGGED = "age,job,x\n" + "1,2,3\n" * 3000 + f"{MARKER},5\n" + "1,2,3\n" * 3000
PACKED = gzip.compress(b"age,job\n" + MARKER.encode() * 5000)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(
            (f"{rows}.csv", text)
            for rows, text in {
                "long_last": f"age,job\n1,2\n3,4,{MARKER}\n",
                "short_last": f"age,job,x\n1,2,{MARKER}\n3,4\n",
                "short_all": f"age,job,x\n1,2\n3,{MARKER}\n",
                "long_all": f"age,job\n1,{MARKER},3\n4,5,6\n",
                "short_first": f"age,job\n1\n3,{MARKER}\n",
                "short_far_down": RAGGED,
            }.items()
        ),
        ("bytes.csv", bytes(range(256)) * 20),
        ("stray.csv", b"age,job\n\xff\xfe,2\n1," + MARKER.encode() + b"\n"),
        ("latin.csv", ("age,job\n1,é\n2," + MARKER + "\n").encode("latin-1")),
        ("utf16.csv", ("age,job\n1,2\n" + MARKER + ",2\n").encode("utf-16")),
        ("image.csv", b"\x89PNG\r\n\x1a\n" + MARKER.encode()),
        ("plain.csv.gz", f"age,job\n1,{MARKER}\n"),
        ("cut.csv.gz", PACKED[: len(PACKED) // 2]),
        ("people.parquet", f"age,job\n1,{MARKER}\n"),
        ("nothing.csv", b""),
        ("header.csv", "age,job\n"),
        ("header_without_end.csv", "age,job"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 25 else "",
)
def test_a_file_that_holds_no_table_is_refused(name, content, file, refused):
    with refused(TableError, name):
        relate(file(content, name))


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


@pytest.mark.parametrize("name", ["", "absent.csv", "absent.parquet", "absent-*.csv"])
def test_a_folder_and_a_path_where_nothing_is_are_refused(name, tmp_path, refused):
    with refused(TableError, name or str(tmp_path)):
        relate(tmp_path / name)


@pytest.mark.parametrize(
    "text",
    [f"1,{NUMBER}\n2,3\n4,5\n6,7\n", f"{NUMBER},{MARKER}\n2,x\n3,y\n", f"0.5,{NUMBER}\n1.5,2\n"],
    ids=["integers", "text", "reals"],
)
def test_a_missing_header_is_noticed_and_no_record_is_taken_for_names(text, file, refused):
    with refused(ColumnError, "'age'", "bare.csv", "names="):
        relate(file(text, "bare.csv"))


def test_more_names_than_fields_are_refused(file, refused):
    with refused(TableError, "bare.csv"):
        relate(open_table(file(f"1,{NUMBER}\n2,3\n", "bare.csv"), names=["age", "job", "third"]))


@pytest.mark.parametrize("other", ["absent.parquet", "two.csv", "two.parquet"])
def test_a_list_with_a_missing_file_another_format_or_other_columns_is_refused(
    other, tmp_path, refused
):
    pq.write_table(pa.table(GOOD), tmp_path / "one.parquet")
    pd.DataFrame(GOOD).to_csv(tmp_path / "two.csv")
    pq.write_table(pa.table({"age": [1], "work": [MARKER]}), tmp_path / "two.parquet")
    with refused(TableError, other if "absent" in other else "one.parquet"):
        relate([tmp_path / "one.parquet", tmp_path / other])


# --- columns of one name --------------------------------------------------------------------------


DOUBLED = pa.table([[1], [MARKER], [2]], names=["age", "job", "age"])


def test_two_columns_of_one_name_are_refused(file, tmp_path, refused):
    path = file(f"age,job,age\n1,{MARKER},2\n3,x,4\n", "twice.csv")
    pq.write_table(DOUBLED, tmp_path / "t.parquet")
    frame = pd.DataFrame([[1, MARKER, 2]], columns=["age", "job", "age"])
    for source, name in (
        (path, "twice.csv"),
        (tmp_path / "t.parquet", "t.parquet"),
        (DOUBLED, "the table"),
        (frame, "data frame"),
    ):
        with refused(ColumnError, "'age'", name):
            relate(source)


@pytest.mark.parametrize(
    "source",
    [{1: [1, 2], "1": [3, 4]}, pd.DataFrame([[1, 2]], columns=[1, "1"])],
    ids=["dict", "pandas"],
)
def test_a_number_and_its_text_are_one_name(source, refused):
    with refused(ColumnError, "'1'"):
        open_table(source)


def test_two_equal_names_are_refused(file, refused):
    with refused(ColumnError, "'age'"):
        open_table(file("1,2\n"), names=["age", "age"])


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


@pytest.mark.parametrize("source", [5, MARKER.encode(), [], [1, 2], np.zeros((2, 2)), object()])
def test_what_is_no_table_is_refused(source, refused):
    with refused(TableError, type(source).__name__):
        relate(source)


# --- columns that cannot serve --------------------------------------------------------------------


@pytest.mark.parametrize("hole", [None, math.nan])
@pytest.mark.parametrize("bins", [{}, {"empty": 5}], ids=["plain", "binned"])
@pytest.mark.parametrize("missing", ["drop", "value"])
def test_a_column_of_missing_values_is_refused_by_name(hole, bins, missing, refused):
    with refused(ColumnError, "'empty'", "the dict"):
        relate({**GOOD, "empty": [hole] * 3}, released="empty", bins=bins, missing=missing)


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
def test_a_csv_file_in_another_encoding_is_named_as_such(file, refused, encoding, why):
    with refused(TableError, why):
        relate(file("job,n\nnurse,1\nSECRETé,2\n".encode(encoding)), "job", "n")


def test_the_line_of_a_wrong_encoding_is_counted_over_all_of_a_large_file(file):
    lines = b"job,n\n" + "é,1\n".encode() * 400_000 + b"\xe9,2\n"
    with pytest.raises(TableError, match=r"not UTF-8 text in line 400,002;"):
        open_table(file(lines))


@pytest.mark.parametrize("day", ["-infinity", "infinity", "10000-01-01", "0000-01-01"])
def test_a_date_that_no_calendar_has_is_refused_by_its_column(file, day):
    path = file(f"sex,seen\nF,2001-01-01\nM,{day}\nF,1999-12-31\n")
    with pytest.raises(
        ColumnError, match=r"Column .seen. of t\.csv holds a date before the year 1"
    ):
        relate(path, "sex", "seen")
    assert relate(open_table(path, null=[day]), "sex", "seen").rows == 3


def test_a_date_that_no_calendar_has_is_left_out_of_a_draft(file):
    (seen,) = profile(open_table(file("seen\n2001-01-01\n10000-01-01\n1999-12-31\n")))
    assert [str(end) for end in (seen.low, seen.high)] == ["1999-12-31", "2001-01-01"]
