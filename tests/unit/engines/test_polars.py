"""Polars as an engine: its quirks are caught by probes, and its frames stay where they are."""

from __future__ import annotations

import datetime as dt
import sys

import ibis
import polars as pl
import pyarrow as pa
import pytest

from hartley import open_table
from hartley.engines.cells import UniformCells
from hartley.engines.dialect import Dialect
from hartley.engines.polars import Polars
from hartley.engines.probes import probe_engine, require_tried
from hartley.engines.registry import POLARS
from hartley.errors import ColumnError, EngineError, OptionError, TableError
from hartley.tables.column_map import apply_map
from hartley.tables.counts import exact_totals
from hartley.tables.release_rules import Keep
from hartley.tables.view import profile
from hartley.tables.writing import write_table


class Careless(Polars):
    """Polars without what its dialect works around."""

    divide, count_distinct = Dialect.divide, Dialect.count_distinct

    def exact_sum(self, integers):
        return integers.sum()


def test_probes_catch_every_quirk_that_the_dialect_works_around():
    failed = {
        probe.name: probe.answer
        for probe in probe_engine(Careless(), ibis.polars.connect())
        if not probe.holds
    }
    assert failed == {
        "sums beyond 64 bits": 0,  # four times 2^62 wrap around
        "quotients rounded once": 0,
        "-0.0 and 0.0 are one group": 3,  # with the missing one
        "missing values are not counted": 4,
    }


def test_a_careless_dialect_is_refused_by_name_and_version():
    with pytest.raises(EngineError, match=r"The engine Polars \d.* fails the probe 'sums beyond"):
        require_tried(Careless(), ibis.polars.connect())


@pytest.mark.parametrize("rows", [1, 2, 3, 1000])
def test_quotients_are_those_of_ieee_division_whatever_the_number_of_rows(rows):
    frame = pl.DataFrame({"x": [0.7 + k for k in range(rows)], "y": [0.1] * rows})
    table = open_table(frame, engine="polars").expression
    for divisor in (ibis.literal("0.1").cast("float64"), table.y):
        quotients = table.select(q=POLARS.divide(table.x, divisor)).to_pyarrow()["q"]
        assert quotients.to_pylist() == [(0.7 + k) / 0.1 for k in range(rows)]


def test_a_total_beyond_64_bits_is_exact():
    numbers = [2.0**52 - 1 - k for k in range(4000)]
    table = open_table(pl.DataFrame({"x": numbers}), engine="polars")
    rows, totals = exact_totals(table, {"x": (0, 2**52)})
    assert rows == 4000
    assert totals["x"].total == sum(map(int, numbers))
    assert totals["x"].total / totals["x"].grid > 2**63


def test_a_lazy_frame_is_read_when_something_is_asked(tmp_path):
    path = tmp_path / "people.parquet"
    pl.DataFrame({"age": [30, 41]}).write_parquet(path)
    table = open_table(pl.scan_parquet(path), engine="polars")
    assert table.columns == ("age",)
    write_table(apply_map(table, [UniformCells("age", 0, 100, 10)]), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().split() == ['"age"', "35", "45"]


@pytest.mark.parametrize("content", [b"SECRET-7741", None])
def test_a_frame_that_cannot_be_read_is_named_without_its_words(refused, tmp_path, content):
    """Polars panics over a file that became shorter, and fails where it is gone."""
    path = tmp_path / "SECRET-7741.parquet"
    pl.DataFrame({"age": [30, 41]}).write_parquet(path)
    table = open_table(pl.scan_parquet(path), engine="polars")
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with refused(EngineError, "polars", "the data frame"):
        profile(table)
    mapped = apply_map(table, [Keep("age")])
    with refused(EngineError, "polars", "the data frame"):
        write_table(mapped, tmp_path / "out.csv")


def test_a_profile_counts_as_on_the_embedded_engine():
    frame = pl.DataFrame(
        {
            "job": pl.Series([*["cook"] * 6, *["smith"] * 5, None], dtype=pl.Categorical),
            "small": pl.Series([*range(11), None], dtype=pl.UInt8),
            "real": [0.5, -0.0, 0.0, float("nan"), None, 1e300, *[2.0] * 6],
            "day": [dt.date(2024, 1, 1 + k) for k in range(12)],
        }
    )
    assert profile(open_table(frame, engine="polars")) == profile(open_table(frame))


def test_frames_without_columns_or_with_doubled_ones_are_refused():
    with pytest.raises(TableError, match="The data frame has no columns"):
        open_table(pl.DataFrame(), engine="polars")
    with pytest.raises(ColumnError, match="'age' and 'Age', case aside the same"):
        open_table(pl.DataFrame({"age": [1], "Age": [2]}), engine="polars")


def test_a_missing_library_is_named_with_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(EngineError, match="Polars is not installed; hint: pip install polars"):
        open_table({"age": [1]}, engine="polars")


def test_an_unknown_engine_for_frames_is_refused_with_those_that_are_known():
    with pytest.raises(OptionError, match=r"'pandas' holds no data frames; hint: .*duckdb, polars"):
        open_table(pa.table({"age": [1]}), engine="pandas")


def test_a_release_refuses_strictly_in_the_same_words(tmp_path):
    frame = pl.DataFrame({"x": [1.0, 9.5, None, 30.0]})
    words = []
    for engine in ("duckdb", "polars"):
        mapped = apply_map(open_table(frame, engine=engine), [Keep("x", 0, 10)], strict=True)
        with pytest.raises(ColumnError) as error:
            write_table(mapped, tmp_path / "out.parquet")
        words.append(str(error.value))
    assert words[0] == words[1]
    assert list(tmp_path.iterdir()) == []
