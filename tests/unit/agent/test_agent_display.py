"""Answers, quotes and summaries as they are shown and handed to other programs."""

import json
from dataclasses import FrozenInstanceError

import pytest

from hartley.errors import OptionError
from hartley.schema.schema import Schema
from hartley.text import bits_down

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"


def test_an_answer_is_frozen_and_ready_for_json(agent):
    answer = agent.ask("SELECT AVG(age) FROM people GROUP BY area", bits=2)
    with pytest.raises(FrozenInstanceError):
        answer.bits = 0
    content = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert content["question"] == answer.text
    assert [row["area"] for row in content["rows"]] == ["north", "south", "west"]
    north = content["rows"][0]["AVG(age)"]
    assert north["low"] <= 30 <= north["high"]
    assert content["rows"][2]["AVG(age)"]["value"] is None
    assert (content["bits"], content["spent_bits"], content["remaining_bits"]) == (2.0, 3.0, 9.0)
    assert content["certificate"]["value"] == 2.0
    assert content["question_id"] == answer.question_id
    batch = agent.ask([answer.text, OLD], bits=2)
    json.dumps(batch.to_dict(), allow_nan=False)


def test_a_quote_is_frozen_and_ready_for_json(agent):
    quoted = agent.price(["SELECT AVG(age), COUNT(pay) FROM people", OLD], bits=3)
    with pytest.raises(FrozenInstanceError):
        quoted.bits = 0
    content = json.loads(json.dumps(quoted.to_dict(), allow_nan=False))
    assert int(content["cells"]) == quoted.cells
    assert [q["text"] for q in content["questions"]] == list(quoted.texts)
    assert content["questions"][0]["worst_errors"].keys() == {"AVG(age)", "COUNT(pay)"}
    assert content["affordable"] is True
    assert content["certificate"]["parameters"]["cells"] == content["cells"]
    assert "question" in quoted.explanation
    told = agent.explain(OLD)
    assert told.startswith(agent.price(OLD).explanation)
    assert told.endswith("so it is covered.")
    agent.ask(OLD)
    assert agent.explain(OLD) == "1 question was charged before: free."
    assert agent.accountant.spent == agent.spent


def rendered(shown):
    from rich.console import Console

    out = Console(width=120, force_terminal=False, color_system=None)
    with out.capture() as capture:
        out.print(shown)
    return capture.get()


def test_answers_and_quotes_show_themselves_in_a_terminal_and_a_notebook(agent):
    text = 'SELECT AVG(age) AS "<b>[red]" FROM people'
    quoted, batch = agent.price([text, OLD], bits=2), agent.ask([text, OLD], bits=2)
    assert "45" in rendered(batch[0])
    for shown in (quoted, batch):
        assert "[red]" in rendered(shown)
        assert "bits" in rendered(shown)
        assert "&lt;b&gt;" in shown._repr_html_()
        assert "<b>" not in shown._repr_html_()
        assert "bits" in str(shown)
    assert OLD in rendered(batch)
    assert "left" in rendered(quoted)
    assert "free" in agent.ask(OLD, bits=2).caption
    assert "free" in str(agent.ask("SELECT COUNT(*) FROM people"))


def test_answers_become_tables_of_other_packages(agent):
    answer = agent.ask("SELECT COUNT(*) AS n FROM people WHERE age >= 50 GROUP BY sex")
    assert answer.to_arrow()["n"].to_pylist() == [2.0, 3.0]
    assert list(answer.to_pandas()["sex"]) == ["F", "M"]
    assert answer.to_polars()["n"].to_list() == [2.0, 3.0]
    for name in ("value", "low", "high", "error"):
        with pytest.raises(OptionError, match="several numbers"):
            getattr(answer, name)


def test_the_summary_says_what_is_promised_spent_and_asked(agent, schema):
    agent.ask([OLD, "SELECT AVG(age) FROM people"], bits=1)
    first, second, third = agent.summary().splitlines()
    size = bits_down(Schema.read(schema).record_bits)
    assert first.startswith(f"Dataset people: all the {size} of a record")  # 11 < 12 bits
    assert "of which open columns 1 bit" in second
    assert third == "Paid for: 1 batch with 2 statistics."
    assert "10" not in third
    agent.ledger.record("people", "budget", {"bits": 5})
    assert agent.summary().startswith(f"Dataset people: at most 5 of the {size}")
