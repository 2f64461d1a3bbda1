import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hartley.cli import main
from hartley.datasets.people import people

SCHEMA = str(Path(__file__).parents[3] / "examples" / "people.schema.toml")
WORKLOAD = """
-- what a report needs
SELECT MEDIAN(income) FROM people; -- weight=2
SELECT diagnosis, COUNT(*) FROM people GROUP BY diagnosis;
-- error=0.5
SELECT AVG(height) FROM people;
"""


@pytest.fixture
def call(monkeypatch, capsys):
    """Run a command in this process; return its exit code and what it printed on both streams."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["hartley", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.sql"
    path.write_text(WORKLOAD)
    return path


@pytest.mark.slow
def test_a_plan_is_written_asked_and_charged_as_it_says(call, questions, tmp_path):
    batch = tmp_path / "batch.sql"
    words = ("--schema", SCHEMA, "--rows", 1000, "--budget", 8, "--out", batch)
    code, out, _ = call("plan", questions, *words, "--json")
    planned = json.loads(out)
    assert (code, planned["batch_file"]) == (0, str(batch))
    assert planned["fits"]
    assert planned["batch_bits"] <= 8
    assert [asked["chosen"] for asked in planned["questions"]] == [True, True, False]
    table = tmp_path / "people.parquet"
    pq.write_table(people(1000), table)
    words = ("--schema", SCHEMA, "--ledger", tmp_path / "ledger.db")
    code, out, _ = call("price", "--file", batch, "--schema", SCHEMA, "--rows", 1000, "--json")
    assert (code, json.loads(out)["bits"]) == (0, planned["batch_bits"])
    code, out, _ = call(
        *("ask", "--file", batch, "--table", table, "--budget", 12, *words, "--json")
    )
    answers = json.loads(out)
    assert (code, answers["bits"]) == (0, planned["batch_bits"])
    assert len(answers["answers"]) == 3
    code, out, _ = call("plan", batch, *words, "--text")
    assert code == 0
    assert "As one batch: 0 bits instead of" in out
    assert "Left: " in out
    assert "of the part of" not in out
    code, _, _ = call("ledger", "budget", tmp_path / "ledger.db", "--per-year", 1)
    assert code == 0
    code, out, _ = call("plan", batch, *words, "--text")
    assert code == 0
    assert " in all, and 1 bit of the part of the year " in out
    assert out.endswith("; the part of the year limits the plan.\n")


def test_a_plan_as_text_names_prices_orders_and_what_does_not_fit(call, questions):
    words = ("--schema", SCHEMA, "--rows", 5000, "--budget", 4, "--text")
    code, out, err = call("plan", questions, *words)
    assert (code, err) == (0, "")
    assert "1. SELECT MEDIAN(income) FROM people" in out
    assert "Not in the plan: SELECT diagnosis, COUNT(*) FROM people GROUP BY diagnosis: " in out
    assert "One by one in the best order (1, 2): " in out
    assert "Budget: 4 bits." in out


def test_mistakes_exit_with_2(call, questions, tmp_path):
    words = ("--schema", SCHEMA, "--rows", 5000, "--text")
    code, _, err = call("plan", tmp_path / "absent.sql", *words)
    assert code == 2
    assert "file of questions" in err
    code, _, err = call("plan", questions, *words, "--out", questions)
    assert code == 2
    assert f"The batch {questions} would overwrite the questions" in err
    questions.write_text("SELECT AVG(aeg) FROM people;")
    code, out, err = call("plan", questions, "--schema", SCHEMA, "--rows", 9, "--json")
    assert code == 2
    assert json.loads(out)["refused"]["question"] == "SELECT AVG(aeg) FROM people"
    assert "no column 'aeg'" in err
    questions.write_text("SELECT diagnosis, COUNT(*) FROM people GROUP BY diagnosis;")
    out_file = tmp_path / "batch.sql"
    code, _, err = call("plan", questions, *words, "--budget", 1, "--out", out_file)
    assert code == 2
    assert "No question of the workload is in the plan" in err
    assert not out_file.exists()


def test_questions_come_from_the_command_line_or_from_a_file(call, questions):
    for wrong in ((), ("SELECT AVG(age) FROM people", "--file", questions)):
        code, _, err = call("price", *wrong, "--schema", SCHEMA, "--rows", 9)
        assert code == 2
        assert "The command line has " in err


def test_a_curve_is_printed_and_written(call, tmp_path):
    html, csv = tmp_path / "curve.html", tmp_path / "curve.csv"
    median = "SELECT MEDIAN(age) FROM people"
    words = ("--schema", SCHEMA, "--rows", 5000)
    code, out, _ = call(
        *("price", median, *words, "--curve", "--html", html, "--csv", csv, "--text")
    )
    assert code == 0
    assert "1.585 bits: MEDIAN(age) ±12.5" in out
    assert "Next useful price after 1 bit: 1.585 bits (--bits 1.585) give ±12.5." in out
    assert "<svg" in html.read_text()
    assert csv.read_text().startswith("bits_alone,cells,bits,")
    code, out, _ = call("price", median, *words, "--curve", "--json")
    assert json.loads(out)["next_useful"]["cells"] == "3"
    average = "SELECT AVG(age) FROM people"
    code, out, _ = call("price", median, average, *words, "--curve", "--json")
    assert len(json.loads(out)["curves"]) == 2
    code, _, err = call("price", median, median, *words, "--curve", "--csv", tmp_path / "two.csv")
    assert code == 2
    assert "A report is of one question" in err


def test_a_curve_is_shown_with_its_explanation(call, tmp_path):
    questions = "SELECT MEDIAN(age) FROM people", "SELECT AVG(income) FROM people"
    words = ("--schema", SCHEMA, "--rows", 5000, "--bits", 2)
    explained = []
    for question in questions:
        _, out, _ = call("price", question, *words, "--explain", "--json")
        explained.append(json.loads(out)["explanation"])
    assert explained[0] != explained[1]
    code, out, _ = call("price", *questions, *words, "--curve", "--explain", "--json")
    assert code == 0
    assert [curve["explanation"] for curve in json.loads(out)["curves"]] == explained
    html = tmp_path / "curve.html"  # a report is of the curve, and the explanation is printed
    code, out, _ = call("price", questions[0], *words, "--html", html, "--explain", "--json")
    content = json.loads(out)
    assert (content["explanation"], content["html"]) == (explained[0], str(html))
    code, out, _ = call("price", *questions, *words, "--curve", "--explain", "--text")
    first, why, second, also_why = out.split("\n\n")
    assert "prices of SELECT MEDIAN(age)" in first
    assert "prices of SELECT AVG(income)" in second
    assert [why, also_why.rstrip("\n")] == explained
