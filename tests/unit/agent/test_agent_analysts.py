"""Budgets, and allowances of analysts as parts of them."""

import pytest

from hartley.agent.agent import Agent
from hartley.errors import OptionError, Refused

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"


def test_an_allowance_is_a_hard_part_and_each_sees_the_own(agent):
    agent.allow("ann", 2)
    answer = agent.ask(OLD, analyst="ann")
    assert (answer.bits, answer.spent, answer.remaining) == (1.0, 1.0, 1.0)
    with pytest.raises(Refused) as refused:
        agent.ask("SELECT AVG(pay) FROM people", bits=2, analyst="ann")
    assert (refused.value.requested, refused.value.remaining) == (2.0, 1.0)
    assert agent.price("SELECT AVG(pay) FROM people", bits=2, analyst="ann").affordable is False
    assert agent.price("SELECT AVG(pay) FROM people", bits=2).affordable is True
    again = agent.ask(OLD, analyst="bob")
    assert again.bits == 1.0  # to the account of the others, which did not pay for it
    assert again.value == 5
    assert agent.state.spent == 2  # and not to the budget
    assert agent.ask(OLD, analyst="eve").bits == 0  # who shares that account
    assert [charge.analyst for charge in agent.history()] == ["ann", "bob"]
    assert [charge.note for charge in agent.history("ann")] == [OLD]
    assert agent.history("ann")[0].cells == 2
    with pytest.raises(OptionError):
        agent.allow("bob", 11)


def test_a_caption_says_what_open_columns_cost_to_those_whose_account_paid_for_them(tmp_path):
    schema = {
        "table": {"name": "t"},
        "columns": {
            "sex": {"kind": "open", "values": ["F", "M"]},
            "age": {"kind": "private", "range": [0, 9], "step": 1},
        },
    }
    data = {"sex": ["F", "M", "M"], "age": [1, 2, 3]}
    text = "SELECT COUNT(*) FROM t WHERE age > 1"
    with Agent(data, schema, ledger=tmp_path / "l.db", budget=9) as agent:
        agent.allow("ann", 2)
        own, shared = agent.ask(text, analyst="ann"), agent.ask(text)
    assert own.caption == "charged 1 bit; spent 1 bit, 1 bit left"
    assert shared.caption == (
        "charged 1 bit; spent 2 bits, of which 1 bit for open columns, 5 bits left"
    )
    assert (own.to_dict()["open_bits"], shared.to_dict()["open_bits"]) == (0.0, 1.0)


@pytest.mark.parametrize("bits", [-1, "x", 10**6])
def test_bits_that_make_no_sense_are_not_called_a_budget(agent, bits):
    with pytest.raises(OptionError) as wrong:
        agent.ask(OLD, bits=bits)
    assert "wished price" in str(wrong.value)
    assert "budget" not in str(wrong.value).lower()


def test_the_budget_is_raised_by_an_act_that_shows_the_new_promise(agent):
    assert agent.set_budget(13).startswith("all analysts together see at most 8,192 different")
    assert agent.remaining == 12.0
    with pytest.raises(OptionError):
        agent.set_budget(0)


@pytest.mark.slow
def test_a_quote_says_what_the_budget_holds_even_where_an_allowance_holds_more(
    ledger, people, schema
):
    with Agent(people, schema, ledger=ledger, budget=4) as agent:
        agent.allow("ann", 3)
        assert agent.price(OLD, analyst="ann").affordable is True
        for _ in range(3):
            agent.update(people)  # the open column is paid for again, by all
        assert agent.remaining == 0
        assert agent.price(OLD, analyst="ann").affordable is False
        with pytest.raises(Refused, match="budget of the dataset"):
            agent.ask(OLD, analyst="ann")
