"""What an agent refuses: in a sentence, and without a charge."""

# ruff: noqa: S608 - texts of questions

import pytest

from hartley.agent.agent import Agent
from hartley.agent.replay import verify_prices
from hartley.errors import InputError, OptionError, Refused
from hartley.results.quote import Wish

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"


def test_a_refusal_of_the_budget_carries_what_was_requested_and_what_remains(agent):
    text = "SELECT SUM(age) FROM people"
    agent.set_budget(8)
    agent.ask(text, error=0)
    before, left = agent.ledger.head(), agent.remaining
    with pytest.raises(Refused) as refused:
        agent.ask([OLD, Wish(text.replace("age", "pay"), error=0), Wish(text, bits=6)])
    assert refused.value.requested > refused.value.remaining == left
    assert agent.ledger.head() == before
    assert agent.remaining == left
    assert agent.ask(OLD).value == 5


def test_a_refusal_of_the_text_points_at_the_place_and_charges_nothing(agent):
    before = agent.ledger.head()
    text = "SELECT COUNT(*) FROM people WHERE height > 3"
    for ask in (agent.ask, agent.price, agent.explain):
        with pytest.raises(Refused) as refused:
            ask([OLD, text])
        assert refused.value.text == text
        assert text[slice(*refused.value.place)] == "height"
        assert refused.value.requested is None
    assert agent.ledger.head() == before


@pytest.mark.parametrize("asked", [None, 5, b"SELECT", {"a": 1}, [5], [OLD, None], Wish(5), {OLD}])
def test_what_is_no_question_is_refused_in_a_sentence(agent, asked):
    with pytest.raises(OptionError, match="neither SQL text"):
        agent.ask(asked)


@pytest.mark.parametrize(
    "wish",
    [
        {"bits": -1},
        {"bits": "many"},
        {"bits": float("nan")},
        {"bits": float("inf")},
        {"bits": True},
        {"bits": "1/0"},
        {"bits": 10**9},
        {"error": -1},
        {"error": "x"},
        {"error": float("nan")},
        {"error": []},
        {"bits": 1, "error": 1},
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_in_a_sentence(agent, wish):
    before = agent.ledger.head()
    with pytest.raises(OptionError):
        agent.ask("SELECT AVG(age) FROM people", **wish)
    with pytest.raises(OptionError):
        agent.price([Wish("SELECT AVG(age) FROM people", **wish)])
    assert agent.ledger.head() == before


def test_an_empty_batch_is_refused(agent):
    with pytest.raises(OptionError, match="no question"):
        agent.ask([])


def test_text_that_no_file_holds_is_refused_or_answered_and_never_fails(agent):
    for odd in ("\ud800", "\x00", "\u202e", "'", "日本"):
        try:
            agent.ask(f'SELECT COUNT(*) AS "n{odd.replace(chr(39), "")}" FROM people')
        except Refused:
            continue
    assert verify_prices(agent.ledger).holds


def test_a_draft_is_refused_until_somebody_confirms_it(ledger, people, schema):
    draft = {"table": {"name": "people", "draft": True}, "columns": schema["columns"]}
    with pytest.raises(InputError, match="draft"):
        Agent(people, draft, ledger=ledger, budget=9)
    with Agent(people, schema, ledger=ledger, budget=9) as agent:
        with pytest.raises(InputError, match="draft"):
            agent.change_schema(draft, people)
        assert agent.ask(OLD).value == 5


def test_open_columns_beyond_the_budget_are_refused_with_both_numbers(ledger, people, with_columns):
    many = with_columns(age={"kind": "open", "range": [0, 100], "step": 1})
    with pytest.raises(Refused) as refused:
        Agent(people, many, ledger=ledger, budget=3)
    assert refused.value.requested > refused.value.remaining == 3.0
    assert not list(ledger.parent.iterdir())
