"""Folders that are more than their files are refused, by every spelling of their files."""

import gzip
import re
import shlex
from itertools import product

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import run
from hartley import Agent, Roles, TableError, anonymity, check, open_table, release, scan
from hartley.errors import InputError
from hartley.tables.crosstab import read_grid
from hartley.tables.opening import open_texts


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
    "path",
    [
        "parquet", "csv", "deep_csv/*/*/*.csv", "parquet/zip=10001/f.parquet", "Ann's [1]",
        "Ann's [1]/zip=10001/f.CSV", "gz/*/*.gz", "far/env=x/data/zip=00501/f.csv",
    ],
)  # fmt: skip
def test_the_hint_works_when_it_is_pasted(folder, path):
    for zip_code in ("00501", "10001"):
        write(folder / "Ann's [1]" / f"zip={zip_code}" / "f.CSV", {"a": [1]}, "csv")
        write(folder / "far/env=x/data" / f"zip={zip_code}" / "f.csv", {"a": [1]}, "csv")
        (folder / f"gz/zip={zip_code}").mkdir(parents=True)
        (folder / f"gz/zip={zip_code}/f.csv.gz").write_bytes(gzip.compress(b"a\n1\n"))
    with pytest.raises(TableError) as no:
        open_table(path)
    words = shlex.split(re.search(r'python -c ".*"', no.value.hint)[0])
    exec(words[2], {})  # noqa: S102 - what a user pastes
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


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_folder_far_above_is_a_column_only_where_it_differs(folder, form):
    for year in (1, 2):
        for part in "xy":
            write(folder / f"year={year}/data/{part}.{form}", {"a": [year]}, form)
    (folder / "link").symlink_to("year=1/data")
    for path in ("year=1/data/x.", "year=1/data/?.", "link/x.", "year=1/*/*.", "year=1/../link/x."):
        assert open_table(path + form).expression.columns == ("a",)
    for path in ("year=*/data/x.", "year=*/**/*."):
        with pytest.raises(TableError, match="by the column 'year', which would be lost"):
            open_table(path + form)
    with pytest.raises(TableError, match="by the column 'year', which would be lost"):
        open_table([f"link/x.{form}", f"year=2/data/x.{form}"])


def test_excel_files_of_partitions_are_not_read_without_their_column(folder):
    (folder / "excel/year=1").mkdir(parents=True)
    (folder / "excel/year=1/a.xlsx").write_bytes(b"PK")
    with pytest.raises(TableError, match=r"'year', which would be lost.*one file first: with that"):
        open_table("excel/*/*.xlsx")


def test_a_published_table_has_no_column_of_its_folder(folder):
    write(folder / "year=2024/table.parquet", {"region": ["north"], "n": [12]})
    assert read_grid(folder / "year=2024/table.parquet").rows == (("region", "n"), ("north", "12"))


def test_parts_of_a_table_are_no_published_tables(folder):
    write(folder / "hv/town=a/part-0.parquet", {"region": ["n"], "count": [12]})
    write(folder / "hv/town=a/part-0.csv", {"region": ["n"], "count": [12]}, "csv")
    write(folder / "delta/p.parquet", {"region": ["n"], "count": [12]})
    for path in ("hv/town=a/part-0.parquet", "hv/town=a/part-0.csv", "delta/p.parquet"):
        with pytest.raises(TableError, match=r"would be lost|is a Delta table"):
            check(path)


def test_only_patterns_of_table_files_are_hinted(folder):
    for path in folder.glob("*_link.*"):
        path.unlink()
    (folder / "code.py").write_text("1")
    for source in (".", ""):
        with pytest.raises(TableError, match=r"^\. is a folder.*rows: there is none"):
            open_table(source)
    write(folder / "[t].parquet", {"a": [1]})
    for source in (".", ""):
        with pytest.raises(TableError, match=r"^\. is a folder.*for example \./\*\.parquet$"):
            open_table(source)
    write(folder / "a[1]/t.csv", {"a": [1]}, "csv")
    with pytest.raises(TableError) as refused:
        open_table("a[1]")
    assert open_table(refused.value.hint.rpartition(" ")[2]).columns == ("a",)


LONG = "x" * 5000


@pytest.mark.parametrize(
    "way",
    [
        lambda: open_table(LONG),
        lambda: open_table(f"{LONG}*"),
        lambda: open_table([f"a/{LONG}.csv", "b.csv"]),
        lambda: scan(LONG),
        lambda: check(LONG),
        lambda: check("t.csv", schema=LONG),
        lambda: Roles.read(LONG),
        lambda: release({"a": [1]}, {"format": 1, "columns": [{"name": "a", "kind": "keep"}]},
                        f"{LONG}.csv"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("folder")
def test_names_of_any_length_get_a_sentence(way):
    with pytest.raises(InputError, match="cannot be") as refused:
        way()
    assert len(str(refused.value)) < 500


def test_no_command_fails_at_a_long_name(folder):
    (folder / "t.csv").write_text("a,b\n1,2\n")
    for words in (
        ["scan", LONG], ["scan", "t.csv", "--html", LONG], ["check", LONG],
        ["price", "Q", "--bits", "1", "--schema", LONG], ["check", "t.csv", "--junit", LONG],
    ):  # fmt: skip
        ended = run(*words)
        assert (ended.returncode, "hint: " in ended.stderr) == (2, True), words
        assert "Something went wrong" not in ended.stderr
