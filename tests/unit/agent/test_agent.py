"""Questions that an agent answers: what they cost, and that a repeat is free."""

import json
from datetime import date
from fractions import Fraction

import pyarrow as pa
import pytest

from hartley.agent.agent import Agent
from hartley.agent.ledger import open_ledger
from hartley.agent.replay import verify_prices
from hartley.errors import Refused
from hartley.results.answer import Answer, BatchAnswer
from hartley.results.quote import Wish

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"

# --- asking ---------------------------------------------------------------------------------------


def test_an_exact_count_costs_one_bit_and_the_open_columns_were_paid_before(agent):
    assert (agent.spent, agent.remaining) == (1.0, 11.0)  # sex has two values
    answer = agent.ask(OLD)
    assert (answer.value, answer.low, answer.high, answer.error) == (5, 5, 5, 0)
    assert (answer.bits, answer.spent, answer.remaining) == (1.0, 2.0, 10.0)
    assert (agent.spent, agent.remaining) == (2.0, 10.0)


@pytest.mark.slow
def test_a_price_spends_nothing_and_is_what_is_charged(agent, people):
    wishes = [{}, {"bits": 3}, {"error": 2}]
    for wish in wishes:
        quoted = agent.price("SELECT AVG(age) FROM people", **wish)
        before = agent.state.spent
        answer = agent.ask("SELECT AVG(age) FROM people", **wish)
        assert quoted.affordable
        assert quoted.bits_alone >= quoted.bits == answer.bits
        assert agent.state.spent == before * round(2**quoted.bits)
        assert answer.error <= quoted.errors[0][0][1]
        assert answer.low <= Fraction(sum(people["age"]), 10) <= answer.high
    assert agent.price("SELECT AVG(age) FROM people", bits=3).bits == 0
    assert agent.ask("SELECT AVG(age) FROM people", error=2).error <= 2


def test_a_batch_is_priced_together_and_cheaper_than_its_questions_apart(agent):
    texts = ["SELECT COUNT(*) FROM people WHERE age < 30", OLD]
    apart = [agent.price(text).cells for text in texts]
    assert apart == [2, 2]
    assert agent.price(texts).cells == 3
    quote = agent.price(texts)
    answers = agent.ask(texts)
    assert isinstance(answers, BatchAnswer)
    assert [answer.value for answer in answers] == [3, 5]
    assert len(answers) == 2
    assert answers[1].text == OLD
    assert answers.bits == answers[0].bits == quote.bits == agent.price(texts).bits_alone
    assert agent.state.spent == 3


def test_each_question_of_a_batch_may_have_its_own_wish(agent, people):
    total = "SELECT SUM(age) FROM people"
    answers = agent.ask([Wish(total, bits=3), Wish(total, error=10), total], bits=1)
    assert answers[0].error < answers[2].error
    assert answers[1].error <= 10
    assert all(answer.low <= sum(people["age"]) <= answer.high for answer in answers)
    alone = agent.ask(Wish(total, error=10))
    assert isinstance(alone, Answer)
    assert alone.bits == 0
    assert alone.reading == answers[0].reading  # the finest that was told, and free


def test_what_tells_nothing_about_a_person_is_free_and_exact(agent):
    texts = [
        "SELECT COUNT(*) FROM people",
        "SELECT COUNT(*), COUNT(area) FROM people GROUP BY area",
        "SELECT COUNT(*) FROM people GROUP BY sex",
        "SELECT COUNT(*) FROM people WHERE area = 'north' AND sex = 'F'",
        "SELECT SUM(age), AVG(age), COUNT(*) FROM people WHERE 1 = 0",
        "SELECT MAX(age) FROM people WHERE age > 100",
    ]
    assert agent.price(texts).bits == 0
    found = agent.ask(texts)
    assert found.bits == 0
    assert agent.spent == 1.0
    values = [[estimate.value for row in a.reading.rows for estimate in row] for a in found]
    assert values == [[10], [4, 4, 6, 6, 0, 0], [5, 5], [2], [0, None, 0], [None]]
    for text, value in zip(texts, values, strict=True):
        again = agent.ask(text)
        assert [e.value for row in again.reading.rows for e in row] == value
        assert again.bits == 0


def test_an_exhausted_budget_still_answers_what_is_free(ledger, people, schema):
    with Agent(people, schema, ledger=ledger, budget=1) as agent:
        assert agent.remaining == 0
        with pytest.raises(Refused) as refused:
            agent.ask(OLD)
        assert (refused.value.requested, refused.value.remaining) == (1.0, 0.0)
        assert agent.ask("SELECT COUNT(*) FROM people GROUP BY area").bits == 0
        assert agent.price(OLD).affordable is False


def test_an_empty_table_has_answers(ledger, schema):
    empty = pa.table(
        {
            "age": pa.array([], pa.int64()),
            "pay": pa.array([], pa.float64()),
            "sex": pa.array([], pa.string()),
            "area": pa.array([], pa.string()),
        }
    )
    with Agent(empty, schema, ledger=ledger, budget=20) as agent:
        text = "SELECT COUNT(*), SUM(pay), AVG(age), MEDIAN(age), VAR_POP(age) FROM people"
        (row,) = agent.ask(text, bits=8).reading.rows
        assert [estimate.value for estimate in row] == [0, 0, None, None, None]


def test_dates_categories_and_missing_values_are_asked_by_their_names(tmp_path):
    data = pa.table(
        {
            "day": pa.array([date(2020, 1, 1), date(2020, 1, 31), None, date(1950, 1, 1)]),
            "kind": ["a", "zzz", None, "b"],
        }
    )
    schema = {
        "table": {"name": "visits"},
        "columns": {
            "day": {
                "kind": "private",
                "range": ["2000-01-01", "2030-01-01"],
                "step": 1,
                "nullable": True,
            },
            "kind": {"kind": "private", "values": ["a", "b"], "other": True, "nullable": True},
        },
    }
    with Agent(data, schema, ledger=tmp_path / "l.db", budget=60) as agent:
        newest = agent.ask("SELECT MAX(day) FROM visits", error=0)
        assert newest.to_dict()["rows"][0]["MAX(day)"]["value"] == "2020-01-31"
        text = "SELECT COUNT(*) FROM visits WHERE day > DATE '2019-12-31' GROUP BY kind"
        found = agent.ask(text, bits=3).to_dict()["rows"]
        assert {row["kind"]: row["COUNT(*)"]["value"] for row in found} == {
            "a": 1.0,
            "b": 0.0,
            "(other)": 1.0,
            None: 0.0,
        }


# --- repeats --------------------------------------------------------------------------------------


SPELLINGS = (
    "SELECT COUNT(*) FROM people WHERE age >= 50",
    "select count(*) from PEOPLE where AGE > 49",
    "SELECT COUNT(age) AS n FROM people WHERE NOT age < 50",
    "SELECT COUNT(*) FROM people p WHERE p.age BETWEEN 50 AND 1000;",
    "SELECT COUNT(*) FROM people WHERE (50 <= age) OR age IN (77, 99)",
    "SELECT COUNT(*) FROM people WHERE age >= 49.5 AND (pay IS NULL OR pay IS NOT NULL)",
)


@pytest.mark.slow
def test_the_same_question_is_free_in_every_spelling_and_after_a_restart(ledger, people, schema):
    with Agent(people, schema, ledger=ledger, budget=12) as agent:
        first = agent.ask(SPELLINGS[0])
    for text in SPELLINGS:
        with Agent(None, schema, ledger=ledger) as agent:
            assert agent.price(text).bits == 0
            again = agent.ask(text)
            assert (again.bits, again.value) == (0.0, first.value)
            assert agent.state.spent == 2
            assert agent.ask([text, *SPELLINGS]).bits == 0
            assert again.question_id == first.question_id
    with open_ledger(ledger) as opened:
        assert [charge.note for charge in opened.history("people")] == [SPELLINGS[0]]


def test_a_batch_pays_for_its_new_questions_alone(agent):
    agent.ask(OLD)
    texts = [OLD, "SELECT COUNT(*) FROM people WHERE age < 30"]
    assert agent.price(texts).bits == 1.0
    assert agent.price(texts).cells == 3
    assert agent.ask(texts).bits == 1.0
    assert agent.state.spent == 4


def test_another_step_is_another_question(agent):
    agent.ask("SELECT SUM(age) FROM people", bits=2)
    assert agent.price("SELECT SUM(age) FROM people", bits=2).bits == 0
    assert agent.price("SELECT SUM(age) FROM people", bits=3).bits > 0


# --- rows that are private, people with several rows ----------------------------------------------


def test_where_rows_are_private_nothing_tells_how_many_there_are(tmp_path):
    schema = {
        "table": {
            "name": "visits",
            "unit": "who",
            "rows_per_unit": 2,
            "rows": "private",
            "max_rows": 40,
        },
        "columns": {"age": {"kind": "private", "range": [0, 3], "step": 1}},
    }
    data = {"who": [1, 1, 2, 3], "age": [0, 3, 1, 2]}
    with Agent(data, schema, ledger=tmp_path / "l.db", budget=30) as agent:
        assert agent.state.rows is None
        shown = [agent.summary(), str(agent.price("SELECT AVG(age) FROM visits", bits=2))]
        assert "4" not in "".join(shown).replace("bits", "").replace("all 40 rows", "").replace(
            "3.4", ""
        )
        count = agent.ask("SELECT COUNT(*) FROM visits", error=0)
        assert count.bits > 0
        assert count.value == 4
        mean = agent.ask("SELECT AVG(age) FROM visits", bits=6)
        assert mean.low <= Fraction(6, 4) <= mean.high
        rows = [entry.content for entry in agent.ledger.entries() if entry.kind == "created"]
        assert json.loads(rows[0])["rows"] is None
        assert verify_prices(agent.ledger).holds
