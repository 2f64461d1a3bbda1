import math

import pytest

from hartley import Agent, transcripts_of
from hartley.agent import transcript
from hartley.attacks.reconstruction import Reconstruction
from hartley.errors import OptionError

COLUMNS = {
    "place": {"kind": "public", "values": ["a", "b"]},
    "age": {"kind": "private", "range": [0, 99], "step": 1},
    "pay": {"kind": "private", "range": [0, 9], "step": 1},
}
DATA = {
    "who": [1, 1, 2, 3, 3],
    "place": ["a", "a", "b", "a", "a"],
    "age": [30, 31, 50, 70, 99],
    "pay": [1, 2, 3, 9, 0],
}


def schema(**table):
    return {"table": {"name": "t", **table}, "columns": COLUMNS}


@pytest.fixture
def agent(tmp_path):
    data = {name: values for name, values in DATA.items() if name != "who"}
    with Agent(data, schema(), budget=30, ledger=tmp_path / "ledger.db") as opened:
        yield opened


@pytest.mark.slow
def test_answers_that_share_no_private_column_are_parts_of_their_own(agent):
    agent.ask("SELECT COUNT(*) FROM t WHERE age >= 50 AND place = 'a'")
    agent.ask("SELECT SUM(pay) FROM t WHERE place = 'b'", error=0)
    parts = transcripts_of(agent.ledger, data=DATA)
    assert [part.columns for part in parts] == [("place", "age"), ("place", "pay")]
    assert [len(part.records) for part in parts] == [4, 20]  # age is cut once, at 50
    assert all(part.charged == math.prod(c.cells for c in agent.history()) for part in parts)
    assert all(part.holds_truth() for part in parts)
    (whole,) = transcripts_of(agent.ledger)  # then the place is as unknown as the rest
    assert whole.columns == ("place", "age", "pay")
    assert len(whole.groups) == 1


@pytest.mark.slow
def test_what_cannot_be_used_is_left_out_and_counted(agent, monkeypatch):
    agent.ask("SELECT COUNT(*) FROM t WHERE age >= 50")
    agent.ask("SELECT SUM(age + pay) FROM t", bits=2)
    monkeypatch.setattr(transcript, "MOST_RECORDS", 500)
    (part,) = transcripts_of(agent.ledger, data=DATA)
    assert part.left_out == 1
    agent.update({name: values for name, values in DATA.items() if name != "who"})
    assert transcripts_of(agent.ledger, data=DATA) == ()
    agent.ask("SELECT COUNT(*) FROM t WHERE age >= 50")
    (part,) = transcripts_of(agent.ledger, data=DATA)
    assert part.left_out == 2  # both about the older version
    assert part.charged == 2
    with pytest.raises(OptionError, match="no answer to attack"):
        Reconstruction().attack()


def test_a_question_that_two_analysts_ask_is_one_answer(agent):
    agent.allow("ann", 3)
    agent.ask("SELECT COUNT(*) FROM t WHERE age >= 50")
    agent.ask("SELECT COUNT(*) FROM t WHERE age >= 50", analyst="ann")
    (part,) = transcripts_of(agent.ledger)
    assert (len(part.answers), part.charged, part.left_out) == (1, 2, 0)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["public", "private"])
def test_several_rows_a_person_keep_the_promise_row_by_row(tmp_path, rows):
    about = schema(unit="who", rows_per_unit=2, rows=rows, max_rows=6)
    with Agent(DATA, about, budget=40, ledger=tmp_path / "ledger.db") as agent:
        agent.ask("SELECT COUNT(*), SUM(pay) FROM t WHERE age >= 50", bits=3)
        agent.ask("SELECT MEDIAN(pay) FROM t WHERE age < 60", bits=3)
        parts = transcripts_of(agent.ledger, data=DATA)
    finding = Reconstruction().attack(*parts)
    assert finding.truth_inside
    assert finding.keeps_promise
    assert finding.rows == (5 if rows == "public" else 6)
