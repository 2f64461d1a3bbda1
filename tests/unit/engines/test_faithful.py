"""What is counted is what the table holds: nothing is merged, cut or lost on the way in."""

import datetime as dt
import math
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hartley
from hartley import Relation
from hartley.errors import ColumnError, EngineError, OptionError, TableError


def released(source, **options):
    return Relation.from_table(source, secret="s", released="r", **options).released_range


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n")
    return path


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
    assert report.headline.endswith("at worst 1 of 3 values stays possible.")


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
def test_different_texts_of_a_csv_stay_different(texts, tmp_path):
    path = write(tmp_path / "t.csv", "s,r", *(f"{i},{text}" for i, text in enumerate(texts)))
    assert len(released(path)) == len(texts)


def test_numbers_of_a_csv_are_numbers_where_nothing_is_lost(tmp_path):
    path = write(tmp_path / "t.csv", "s,r", "1,10", "2,-3", "3,0.5")
    assert released(path) == [-3.0, 0.5, 10.0]
    assert released(path, bins={"r": 5}) == [-2.5, 2.5, 12.5]


def test_parquet_files_of_different_types_are_refused(tmp_path):
    pq.write_table(pa.table({"s": [1, 2], "r": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"s": [3, 4], "r": [1.4, 1.5]}), tmp_path / "b.parquet")
    with pytest.raises(ColumnError, match=r"'r' has different types in a.parquet and b.parquet"):
        released([tmp_path / "a.parquet", tmp_path / "b.parquet"])


def test_names_of_folders_are_not_values(tmp_path):
    (tmp_path / "r=1/data").mkdir(parents=True)
    path = write(tmp_path / "r=1/data/c.csv", "s,r", "1,7", "2,8")
    assert released(path) == [7, 8]


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


def test_a_record_batch_is_a_table():
    batch = pa.record_batch({"s": [1, 2], "r": [3, 4]})
    assert released(batch) == [3, 4]


def test_a_table_that_changes_while_it_is_counted_is_refused(monkeypatch):
    import ibis

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
    table = hartley.open_table(pd.DataFrame({"s": range(500), "r": [i % 7 for i in range(500)]}))
    found = []

    def count():
        found.append(Relation.from_table(table, secret="s", released="r").summary.released)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [7] * 4


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
    from hartley.ranges.counting import tally_pairs

    tally = tally_pairs(relation.view, [0], [1])
    assert tally.secret.width == len(set(values.tolist()))


def test_side_names_that_are_no_names_are_refused():
    for secret in (5, None, (5,)):
        with pytest.raises((OptionError, TableError)):
            Relation.from_table({"s": [1], "r": [1]}, secret=secret, released="r")
