"""The commands that make, check and describe a schema."""

from __future__ import annotations

import json
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hartley import Agent, Column, Schema
from hartley.cli.schema import schema_app
from hartley.datasets.people import people
from hartley.errors import ColumnError, InputError, OptionError


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "people.parquet"
    pq.write_table(people(300), path)
    return path


def run(*words):
    found = CliRunner().invoke(schema_app, [str(word) for word in words])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.mark.slow
def test_a_draft_in_a_pipe_is_the_file_itself(table, tmp_path):
    (tmp_path / "people.toml").write_text(run("draft", table, "--name", "people"))
    schema = Schema.read(tmp_path / "people.toml")
    assert (schema.name, schema.draft) == ("people", True)
    wrapped = json.loads(run("draft", table, "--name", "people", "--json"))
    assert wrapped == {"schema": (tmp_path / "people.toml").read_text(), "file": None}


@pytest.mark.slow
def test_a_draft_is_not_written_over_a_file(table, tmp_path):
    out = tmp_path / "people.toml"
    assert "remove the line draft = true" in run("draft", table, "--out", out)
    for option in ("-o", "--output"):
        other = tmp_path / f"people{option}.toml"
        assert "remove the line draft = true" in run("draft", table, option, other)
        assert other.read_text() == out.read_text()
    before = out.read_text()
    with pytest.raises(InputError, match="exists already"):
        run("draft", table, "--out", out)
    assert out.read_text() == before
    with pytest.raises(InputError, match="cannot be written"):
        run("draft", table, "--out", tmp_path / "no" / "people.toml")


@pytest.mark.parametrize("step", [Fraction(10), Fraction(3), Fraction(1, 2)])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_numbers_off_the_grid_are_counted_and_answers_say_what_is_certain(tmp_path, step, suffix):
    """Against a brute force: an answer is certain for the nearest points of the grid alone."""
    column = Column("pay", "private", low=Fraction(0), high=Fraction(600), step=step)
    schema = Schema("t", {"pay": column, "sex": Column("sex", "private", values=("F", "M"))})
    (tmp_path / "t.toml").write_text(schema.to_toml())
    pays = [float(k * 341 % 680 - 20) + k % 7 / 10 for k in range(200)]
    pays += [float(k * step) for k in range(50)]
    held = pa.table({"pay": pays, "sex": ["F", "M"] * 125})
    (pacsv.write_csv if suffix == ".csv" else pq.write_table)(held, tmp_path / f"t{suffix}")
    points = [k * step for k in range(column.points)]
    nearest = [min(points, key=lambda p, pay=pay: (abs(p - Fraction(pay)), -p)) for pay in pays]
    moved = sum(float(point) != pay for point, pay in zip(nearest, pays, strict=True))
    words = "check", tmp_path / "t.toml", "--table", tmp_path / f"t{suffix}"
    assert json.loads(run(*words, "--json"))["moved"] == {"pay": moved}
    assert f"pay: {moved} numbers are not in {column.grid}; answers are certain" in run(*words)
    question = "SELECT AVG(pay) FROM t WHERE pay < 450"
    with Agent(tmp_path / f"t{suffix}", schema, ledger=tmp_path / "l.db", budget=20) as agent:
        quote, answer = agent.price(question, bits=8), agent.ask(question, bits=8)
        counted = agent.ask("SELECT COUNT(*) FROM t WHERE sex = 'F'")
    some = [point for point in nearest if point < 450]
    assert answer.low <= sum(some) / len(some) <= answer.high
    sentence = f"Certain for pay ({column.grid}): other numbers count as the nearest."
    assert sentence in str(answer)
    assert sentence in str(quote)
    assert column.grid in answer.certificate.paragraph()
    assert "Certain for" not in str(counted)


@pytest.mark.slow
def test_a_schema_is_checked_alone_and_with_its_table(table, tmp_path):
    path = tmp_path / "people.toml"
    path.write_text(run("draft", table, "--name", "people"))
    content = json.loads(run("check", path, "--table", table, "--json"))
    assert (content["sound"], content["table_fits"], content["draft"]) == (True, True, True)
    text = run("check", path, "--text")
    assert "9 columns" in text
    assert "fits it" not in text
    assert "300 rows" in run("check", path, "--table", table, "--text")
    path.write_text(path.read_text().replace('["F", "M"]', '["F"]'))
    with pytest.raises(ColumnError, match=r"'sex' of people\.parquet are outside"):
        run("check", path, "--table", table)
    path.write_text(path.read_text().replace("kind", "kid"))
    with pytest.raises(OptionError, match="did you mean kind"):
        run("check", path)


def test_a_schema_is_described_in_words_and_in_numbers(tmp_path):
    path = tmp_path / "odd.toml"
    path.write_text(
        '[table]\nname = "t"\n[columns."[red]x\\u001b"]\nkind = "open"\nvalues = [1, 2, 3]\n'
    )
    text = run("describe", path, "--text")
    assert "[red]x\\x1b  open  1, 2, 3; " not in text
    assert "[red]x\\x1b" in text
    assert "\x1b" not in text
    assert "1.58" in text
    content = json.loads(run("describe", path, "--json"))
    assert content["record_bits"] == pytest.approx(1.584962500721156)
    assert content["columns"][0]["points"] == 3


def test_invented_rows_are_written_as_the_ending_says(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text('[table]\nname = "t"\n[columns.x]\nkind = "open"\nvalues = [1]\n')
    assert "3 invented rows" in run("dummy", path, tmp_path / "d.csv", "--rows", 3, "--text")
    assert (tmp_path / "d.csv").read_text().split() == ['"x"', "1", "1", "1"]
    content = json.loads(run("dummy", path, tmp_path / "d.parquet", "--rows", 2, "--json"))
    assert (content["rows"], content["columns"]) == (2, ["x"])
    assert pq.read_table(tmp_path / "d.parquet").num_rows == 2
    with pytest.raises(OptionError, match=r"neither .parquet nor .csv"):
        run("dummy", path, tmp_path / "d.xlsx")
