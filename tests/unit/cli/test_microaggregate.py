import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from hartley.cli.main import app
from hartley.errors import OptionError, TableError
from hartley.studies.look.microaggregation import mdav, mu_approx, univariate_microaggregation


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(8)
    content = pa.table(
        {
            "age": random.integers(18, 90, 50),
            "income": random.normal(1e3, 200, 50),
            "sex": random.choice(["f", "m"], 50),
        }
    )
    pa.parquet.write_table(content, tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def run(*words):
    return CliRunner().invoke(app, ["microaggregate", *map(str, words)], catch_exceptions=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "direct"),
    [
        ((), lambda table: mdav(table, 4, ["age", "income"], keep="sex")),
        (
            ("--raw",),
            lambda table: mdav(table, 4, ["age", "income"], standardise=False, keep="sex"),
        ),
        (
            ("--method", "mu-approx"),
            lambda table: mu_approx(table, 4, ["age", "income"], keep="sex"),
        ),
    ],
)
def test_the_command_writes_what_the_function_returns(table, words, direct):
    out = table.with_name("out.parquet")
    told = run(
        *(table, "--k", 4, "--columns", "age,income", "--keep", "sex", "-o", out, "--json"), *words
    )
    expected = direct(str(table))
    assert told.exit_code == 0
    content = json.loads(told.stdout)
    assert content.pop("check")["k"] >= 4
    assert content == expected.to_dict() | {"out": str(out)}
    assert pa.parquet.read_table(out).equals(expected.released)


@pytest.mark.slow
def test_text_tells_the_release_in_sentences(table):
    out = table.with_name("ages.csv")
    page = table.with_name("page.html")
    words = ("--k", 5, "--columns", "age", "--method", "univariate", "-o", out, "--html", page)
    lines = run(table, *words, "--text").stdout.splitlines()
    expected = univariate_microaggregation(str(table), 5, "age")
    assert lines[1] == expected.headline
    assert f" • {expected.sentences[-1]}" in lines
    assert lines[-2:] == [f"Released: {out}", f"Report: {page}"]
    assert expected.headline in page.read_text()
    assert out.read_text().splitlines()[0] == '"age"'


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--method", "kmeans", "-o", "out.csv"), "method 'kmeans' is unknown"),
        (("-o", "out.txt"), "ending of out.txt"),
        (("--method", "univariate", "--raw", "-o", "out.csv"), "make no difference"),
    ],
)
def test_a_mistake_is_told_before_any_work(table, words, part):
    with pytest.raises(OptionError, match=part):
        run(table, "--k", 5, "--columns", "age", *words)


def test_the_table_itself_is_never_overwritten(table):
    before = table.read_bytes()
    with pytest.raises(OptionError, match="would overwrite the table"):
        run(table, "--k", 5, "--columns", "age", "-o", table)
    assert table.read_bytes() == before


@pytest.mark.parametrize("option", ["-o", "--html"])
def test_nor_is_a_file_that_a_pattern_names(tmp_path, option):
    for name in ("a1.csv", "a2.csv"):
        (tmp_path / name).write_text("a,b\n1,2\n3,4\n")
    words = {"-o": tmp_path / "out.csv"} | {option: tmp_path / "a2.csv"}
    with pytest.raises(OptionError, match="would overwrite the table"):
        run(tmp_path / "a*.csv", "--k", 2, *(word for pair in words.items() for word in pair))


def test_nor_is_the_database_that_holds_it(tmp_path):
    words = "--k", 2, "-o", tmp_path / "out.csv", "--html", tmp_path / "people.duckdb"
    with pytest.raises(OptionError, match="would overwrite the table"):
        run(f"{tmp_path / 'people.duckdb'}::people", *words)


def test_a_file_of_a_header_line_alone_is_said_to_have_no_rows(tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text("a,b\n")
    with pytest.raises(TableError, match=r"empty.csv has no rows"):
        run(empty, "--k", 2, "-o", tmp_path / "out.csv")
