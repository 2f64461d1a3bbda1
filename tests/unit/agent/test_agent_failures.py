"""An engine that fails or is stopped: the charge stays, and the answer comes later for nothing."""

import duckdb
import pytest

from hartley.agent.agent import Agent
from hartley.agent.ledger import open_ledger
from hartley.agent.replay import verify_prices
from hartley.errors import EngineError, Pending
from hartley.results.quote import Wish
from hartley.trusted import data as holding

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"


@pytest.mark.slow
def test_an_engine_that_fails_a_little_is_asked_again(agent, let_fail):
    let_fail(agent, holding.TRIES - 1)
    assert agent.ask(OLD).value == 5


@pytest.mark.parametrize(
    "error",
    [
        duckdb.InterruptException("INTERRUPT Error: Interrupted!"),
        RuntimeError("canceling statement due to user request"),
        RuntimeError("canceling statement due to statement timeout"),
        RuntimeError("[SPARK_JOB_CANCELLED] Job 3 cancelled"),
        TimeoutError("timed out"),
    ],
)
def test_an_engine_that_is_stopped_leaves_the_answer_pending_and_is_not_asked_again(
    agent, error, let_fail
):
    stopped = let_fail(agent, 10, error=error)
    with pytest.raises(Pending):
        agent.ask(OLD)
    assert stopped.times == 9
    stopped.times = 0
    answer = agent.ask(OLD)
    assert (answer.value, answer.bits) == (5, 0.0)


def test_ctrl_c_ends_the_question_itself_and_the_answer_is_there_later_for_nothing(agent, let_fail):
    # DuckDB says this where Python was interrupted, and other engines pass Python's own error on.
    for error in (RuntimeError("Query interrupted"), KeyboardInterrupt()):
        interrupted = let_fail(agent, 1, error=error)
        with pytest.raises(KeyboardInterrupt):
            agent.ask(OLD)
        assert interrupted.times == 0
    assert agent.ask(OLD).bits == 0


def test_an_engine_that_fails_gives_a_constant_reply_and_the_answer_later_for_nothing(
    agent, let_fail
):
    failing = let_fail(agent, 10**9)
    median = Wish("SELECT MEDIAN(age) FROM people WHERE pay > 1", bits=2)
    texts = [OLD, median, "SELECT COUNT(*) FROM people"]
    replies = set()
    for text in texts:
        with pytest.raises(Pending) as pending:
            agent.ask(text)
        replies.add((str(pending.value), pending.value.__cause__, pending.value.__context__))
    assert len(replies) == 1
    assert "4711" not in str(replies)
    spent, head = agent.spent, agent.ledger.head()
    assert spent > 1
    with pytest.raises(Pending):
        agent.ask(OLD)
    assert agent.ledger.head() == head
    assert len(agent.ledger.pending("people")) == 3
    failing.times = 0
    assert agent.ask(OLD).value == 5
    assert agent.ask(texts).bits == 0
    assert agent.spent == spent
    assert agent.ledger.pending("people") == []
    assert verify_prices(agent.ledger).holds


def test_what_is_pending_is_finished_by_another_process_for_nothing(
    ledger, people, schema, let_fail
):
    with Agent(people, schema, ledger=ledger, budget=12) as agent:
        let_fail(agent, 10**9)
        with pytest.raises(Pending):
            agent.ask(OLD)
        spent = agent.spent
    with Agent(None, schema, ledger=ledger) as agent:
        assert agent.price(OLD).bits == 0
        answer = agent.ask(OLD)
        assert (answer.value, answer.bits, agent.spent) == (5, 0.0, spent)


def test_a_total_that_cannot_be_gives_the_constant_reply_too(agent, monkeypatch):
    monkeypatch.setattr(holding, "totals", lambda _, questions: [10**9] * len(questions))
    with pytest.raises(Pending):
        agent.ask(OLD)
    monkeypatch.undo()
    assert agent.ask(OLD).value == 5


def test_nothing_is_read_before_the_charge_is_on_disk(agent, monkeypatch):
    seen = []

    def spy(coded, questions):
        with open_ledger(agent.ledger.store.path) as other:
            seen.append(other.state("people").spent)
        return totals(coded, questions)

    totals = holding.totals
    monkeypatch.setattr(holding, "totals", spy)
    agent.price([OLD, "SELECT MEDIAN(age) FROM people"])
    assert seen == []
    agent.ask(OLD)
    assert seen == [2]
    agent.ask(OLD)
    assert seen == [2]


def test_a_broken_engine_is_told_to_the_owner_when_prices_need_a_public_count(agent, let_fail):
    let_fail(agent, 10**9)
    with pytest.raises(EngineError) as failed:
        agent.price("SELECT AVG(age) FROM people WHERE area = 'north'", error=1)
    assert "4711" not in str(failed.value)
