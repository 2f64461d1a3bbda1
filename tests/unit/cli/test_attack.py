import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from hartley import Agent
from hartley.cli.main import app
from hartley.datasets.people import people

SCHEMA = """
[table]
name = "people"
[columns.sex]
kind = "public"
values = ["F", "M"]
[columns.visits]
kind = "private"
range = [0, 20]
step = 1
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(people(300), path)
    return path


@pytest.fixture
def ledger(tmp_path, table):
    schema = tmp_path / "people.toml"
    schema.write_text(SCHEMA)
    place = tmp_path / "ledger.db"
    with Agent(table, schema, budget=8, ledger=place) as agent:
        agent.ask("SELECT AVG(visits) FROM people", bits=2)
        agent.ask("SELECT COUNT(*) FROM people WHERE visits > 9 GROUP BY sex")
        agent.ask("SELECT MAX(visits) FROM people", bits=1)
    return place


def run(*words):
    found = CliRunner().invoke(app, ["attack", *map(str, words)])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found.output


def test_homogeneity_reads_hierarchies(table, tmp_path):
    groups = tmp_path / "groups.csv"
    names = sorted(set(people(300)["diagnosis"].to_pylist()))
    groups.write_text("".join(f"{name},{'none' if name == 'none' else 'ill'}\n" for name in names))
    words = "homogeneity", table, "--keys", "age", "--confidential", "diagnosis"
    found = json.loads(run(*words, "--hierarchy", f"diagnosis={groups}", "--times", 3, "--json"))
    (similar,) = (one for one in found["attacks"] if one["attack"] == "similarity")
    assert "level 1" in similar["learned"]
    assert any("more than 3 times" in one["learned"] for one in found["attacks"])


@pytest.mark.slow
def test_guessing_and_hypothesis_read_tables_as_an_audit_does(table):
    words = table, "--secret", "income,diagnosis", "--released", "age", "--bins", "age=20"
    found = json.loads(run("guessing", *words, "--missing", "value", "--json"))
    assert found["trials_with"]["least"] < found["trials_without"]["worst"]
    alone = json.loads(run("guessing", *words, "--attribute", "diagnosis", "--json"))
    assert alone["trials_without"]["worst"] == 6
    record = json.loads(
        run("guessing", table, "--secret", "ROW", "--released", "age,sex,job", "--json")
    )
    assert record["trials_without"]["worst"] == 300
    words = "hypothesis", table, "--secret", "income", "--released", "job", "--hypothesis"
    decided = json.loads(run(*words, "income >= 0 AND income < 20000", "--json"))
    assert sum(decided["rows"].values()) <= 300
    assert "whether income" in decided["headline"]


@pytest.mark.slow
def test_reconstruct_shows_that_the_truth_is_inside_and_the_promise_kept(ledger, table, tmp_path):
    found = json.loads(
        run("reconstruction", ledger, "--data", table, "--html", tmp_path / "r.html", "--json")
    )
    assert found["truth_inside"] is True
    assert found["knowing_everybody_else"]["keeps_promise"] is True
    assert found["answers"] == 4
    assert found["answers_left_out"] == 0
    blind = json.loads(
        run("reconstruction", ledger, "--schema", tmp_path / "people.toml", "--json")
    )
    assert blind["knowing_everybody_else"] is None
    assert blind["truth_inside"] is None
    text = run("reconstruction", ledger, "--dataset", "people", "--text")
    assert "Without the true table" in text


@pytest.mark.slow
def test_differencing_counts_the_rows_that_a_difference_is_about(ledger, table):
    found = json.loads(run("differencing", ledger, "--data", table, "--json"))
    assert found["answers"] == 4
    assert found["answers_left_out"] == 0
    assert found["number"]["value"] == 11 / 21  # nobody has more than nine visits
    assert found["settled"] == 2  # whether anybody has more, of both sexes
    assert "any one of" in found["headline"]
    wide = json.loads(run("differencing", ledger, "--data", table, "--rows", 300, "--json"))
    assert wide["isolating"] >= 1
    assert wide["differences"][0]["rows"] < 300  # of one sex


@pytest.mark.slow
def test_an_old_name_works_and_says_the_new_one(ledger):
    old = CliRunner().invoke(app, ["attack", "reconstruct", str(ledger), "--json"])
    assert old.stderr == "Warning: this command is now called reconstruction\n"
    found, expected = map(json.loads, (old.stdout, run("reconstruction", ledger, "--json")))
    assert found.pop("evidence") != expected.pop("evidence")
    assert found == expected
    told = CliRunner().invoke(app, ["attack", "--help"]).stdout
    assert "reconstruct " not in told
    assert "load " not in told
