"""Folders that are more than their files are refused, by every spelling of their files."""

import re
import shlex
import subprocess
import sys
from itertools import product

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import run
from hartley import Agent, TableError, anonymity, open_table, scan
from hartley.engines.crosstabs.grids import read_grid
from hartley.engines.tables.sources import open_texts


def write(path, rows, form="parquet"):
    path.parent.mkdir(parents=True, exist_ok=True)
    if form == "parquet":
        pq.write_table(pa.table(rows), path)
    else:
        lines = [
            ",".join(rows),
            *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True)),
        ]
        path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for zip_code, form in product(["00501", "10001"], ["parquet", "csv"]):
        write(tmp_path / form / f"zip={zip_code}" / f"f.{form}", {"a": [1]}, form)
        write(tmp_path / f"deep_{form}" / "y=1" / f"zip={zip_code}" / f"f.{form}", {"a": [1]}, form)
    for lake, mark in (
        ("delta", "_delta_log/00.json"),
        ("iceberg", "metadata/v1.metadata.json"),
        ("hudi", ".hoodie/hoodie.properties"),
    ):
        for part in ("part-0", "data/part-1", "region=east/part-2"):
            write(tmp_path / lake / f"{part}.parquet", {"a": [1, 2]})
        (tmp_path / lake / mark).parent.mkdir()
        (tmp_path / lake / mark).write_text("{}")
    (tmp_path / "linked").symlink_to("parquet/zip=00501/f.parquet")
    (tmp_path / "lake_link.parquet").symlink_to("delta/part-0.parquet")
    (tmp_path / "folder_link").symlink_to("delta")
    return tmp_path


HIVE = [
    "parquet", "parquet/", "parquet/*", "parquet/*/*.parquet", "parquet/**/*.parquet",
    "parquet/zip=00501", "parquet/zip=00501/f.parquet", "parquet/../parquet/zip=*/*", "linked",
    "csv", "csv/*/*.csv", "csv/zip=00501/f.csv", "deep_csv", "deep_parquet",
    "deep_parquet/y=1/*/*.parquet", "deep_parquet/**/*.parquet",
]  # fmt: skip
LAKES = [
    f"{lake}{path}"
    for lake in ("delta", "iceberg", "hudi")
    for path in ("", "/", "/*.parquet", "/**/*.parquet", "/part-0.parquet", "/data/*.parquet",
                 "/region=east/part-2.parquet", "/data", "/region=*")
]  # fmt: skip
LAKES += [
    "lake_link.parquet", "folder_link", "folder_link/*.parquet", "delta/_delta_log",
    "iceberg/metadata", "delta/../delta/part-0.parquet",
]  # fmt: skip


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", HIVE)
def test_a_partition_is_never_read_without_its_column(path):
    with pytest.raises(
        TableError, match=r"named by the column '(zip|y)', which would be lost"
    ) as no:
        open_table(path)
    assert "00501" not in str(no.value)  # a value
    with pytest.raises(TableError, match="which would be lost"):
        open_texts(path)
    with pytest.raises(TableError, match="which would be lost"):
        open_table([path, path])


@pytest.mark.parametrize("path", LAKES)
def test_files_of_a_lake_are_never_read_without_its_log(folder, path):
    with pytest.raises(TableError, match=r"a (Delta|Hudi)|an Iceberg") as no:
        open_table(folder / path)
    assert "*" not in no.value.hint


@pytest.mark.parametrize(
    "path", ["parquet", "csv", "deep_csv/*/*/*.csv", "parquet/zip=10001/f.parquet"]
)
def test_the_hint_works_when_it_is_pasted(folder, path):
    with pytest.raises(TableError) as no:
        open_table(path)
    words = shlex.split(re.search(r'python -c ".*"', no.value.hint)[0])
    subprocess.run([sys.executable, *words[1:]], check=True)
    table = open_table(next(folder.glob("table.*"))).expression.to_pyarrow()
    assert sorted(table["zip"].to_pylist()) == ["00501", "10001"]
    assert [str(value) for value in table["a"].to_pylist()] == ["1", "1"]


@pytest.mark.usefixtures("folder")
def test_every_way_in_refuses():
    roles = {"confirmed": True, "columns": {"a": {"role": "key"}}}
    schema = {
        "table": {"name": "people"},
        "columns": {"a": {"kind": "private", "range": [0, 3], "step": 1}},
    }
    for path in ("delta/*.parquet", "parquet/*/*.parquet"):
        for way in (
            scan,
            lambda path: anonymity(path, roles=roles),
            lambda path: Agent(data=path, schema=schema, ledger="l.db", budget=1),
        ):
            with pytest.raises(TableError, match=r"would be lost|is a Delta table"):
                way(path)
        for words in (
            ["scan", path], ["audit", path, "--secret", "a", "--released", "a"],
            ["anonymity", path, "--keys", "a"], ["schema", "draft", path],
            ["attack", "uniqueness", path, "--columns", "a"],
        ):  # fmt: skip
            ended = run(*words)
            assert ended.returncode == 2, words
            assert "which would be lost" in ended.stderr or "is a Delta table" in ended.stderr, (
                words
            )


def test_plain_folders_are_read_by_the_pattern_that_the_hint_names(folder):
    write(folder / "plain/x.pq", {"a": [1]})
    write(folder / "plain/deep/er/y.pq", {"a": [2]})
    with pytest.raises(TableError, match=r"plain is a folder.*plain/\*\.pq$"):
        open_table("plain")
    assert open_table("plain/*.pq").expression.count().execute() == 1
    assert open_table("plain/**/*.pq").expression.count().execute() == 2  # at any depth, as DuckDB
    (folder / "none").mkdir()
    with pytest.raises(TableError, match="none is a folder, not a file; hint: name a file of rows"):
        open_table("none")


def test_a_published_table_has_no_column_of_its_folder(folder):
    write(folder / "year=2024/table.parquet", {"region": ["north"], "n": [12]})
    assert read_grid(folder / "year=2024/table.parquet").rows == (("region", "n"), ("north", "12"))
