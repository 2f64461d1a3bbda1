"""``hartley ask --url`` and ``hartley price --url`` against a real service."""

import json
import sys

import pytest

from hartley.cli import main

pytestmark = pytest.mark.slow
TALL = "SELECT COUNT(*) FROM people WHERE age BETWEEN 30 AND 39"


@pytest.fixture
def call(monkeypatch, capsys, hosted):
    """Run a command against the service, with the token in the environment."""
    monkeypatch.setenv("HARTLEY_TOKEN", hosted.token)

    def run(*words):
        shown = () if "--text" in words else ("--json",)
        monkeypatch.setattr(sys, "argv", ["hartley", *map(str, words), *shown, "--url", hosted.url])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return ended.value.code, printed.out, printed.err

    return run


def test_a_question_is_priced_and_asked(call):
    code, out, _ = call("price", TALL, "--bits", 1, "--text")
    assert (code, out.splitlines()[0]) == (0, "The price is 1 bit.")
    code, out, _ = call("ask", TALL, "--bits", 1, "--text")
    assert code == 0
    assert "charged 1 bit" in out
    code, out, _ = call("ask", TALL, "--bits", 1)
    assert json.loads(out)["bits"] == 0.0
    assert json.loads(out)["rows"][0]["COUNT(*)"]["value"] == 1.0


def test_the_same_is_printed_as_without_a_service(call, hosted, tmp_path, monkeypatch, capsys):
    words = ("SELECT city, COUNT(*) FROM people WHERE age < 45 GROUP BY city", "--text")
    remote = call("ask", *words)[1].splitlines()
    import pyarrow.parquet as pq

    pq.write_table(hosted.table, tmp_path / "people.parquet")
    local = ("--table", tmp_path / "people.parquet", "--schema", hosted.schema, "--budget", 9)
    here = ["hartley", "ask", *words, *map(str, local), "--ledger", str(tmp_path / "ledger.db")]
    monkeypatch.setattr(sys, "argv", here)
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().out.splitlines()[:-1] == remote[:-1]  # but the balances


def test_a_batch_a_curve_and_an_explanation(call):
    code, out, _ = call("ask", TALL, "SELECT COUNT(*) FROM people WHERE age > 95", "--vacuous")
    assert code == 0
    assert len(json.loads(out)["answers"]) == 2
    code, out, _ = call("price", TALL, "--curve", "--text")
    assert code == 0
    assert "Next useful price" in out
    code, out, _ = call("price", TALL, "--explain")
    why = json.loads(out)["explanation"]
    assert why
    code, out, _ = call("price", TALL, "--curve", "--explain")
    assert (code, json.loads(out)["explanation"]) == (0, why)
    code, out, _ = call("price", TALL, TALL, "--curve", "--explain", "--text")
    assert (code, out.count("Next useful price"), out.count(why)) == (0, 2, 2)
    # An error that holds from some rows on is explained with these rows, else it is refused.
    young = "SELECT AVG(age) FROM people WHERE age < 45"
    code, out, err = call("price", young, "--error", 5, "--min-rows", 2, "--explain")
    assert (code, err) == (0, "")
    assert json.loads(out)["explanation"].startswith("2 questions: ")


def test_a_refusal_marks_the_place(call):
    code, out, err = call("ask", "SELECT AVG(aeg) FROM people")
    assert code == 2
    assert json.loads(out)["refused"]["place"] == [11, 14]
    assert "           ^^^" in err


def test_a_token_comes_from_a_file_or_the_environment(call, hosted, tmp_path, monkeypatch):
    monkeypatch.delenv("HARTLEY_TOKEN")
    code, _, err = call("price", TALL)
    assert code == 2
    assert "There is no token" in err
    file = tmp_path / "token"
    file.write_text(f"{hosted.price_token}\n")
    assert call("price", TALL, "--token-file", file)[0] == 0
    code, _, err = call("ask", TALL, "--token-file", file)
    assert code == 2
    assert "token" in err
    assert hosted.price_token not in err


@pytest.mark.parametrize("words", [("--schema", "x"), ("--ledger", "x"), ("--analyst", "bob")])
def test_what_the_service_decides_is_refused(call, words):
    code, _, err = call("ask", TALL, *words)
    assert code == 2
    assert f"The service decides on {words[0]}" in err
