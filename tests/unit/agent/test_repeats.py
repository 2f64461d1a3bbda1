"""Repeats: looked up once, in the state of the ledger that they are answered from."""

import sqlite3
from threading import Event, Thread

import pytest

from hartley.agent.agent import Agent
from hartley.errors import EngineError
from hartley.trusted import precision as quotes
from hartley.trusted.ledger.rows import canonical, committed_answers
from hartley.trusted.questions.batch import to_plain

SUM = "SELECT SUM(age) FROM people"
COUNT = "SELECT COUNT(*) FROM people WHERE age >= "
BOTH = [SUM, COUNT + "50", SUM]


@pytest.fixture
def transactions(agent, monkeypatch):
    """The transactions of the agent's ledger, by name, since the list was cleared."""
    used = []

    def watched(name):
        run = getattr(agent.ledger.store, name)
        return lambda *args, **more: (used.append(name), run(*args, **more))[1]

    for name in ("read", "write", "write_with_others"):
        monkeypatch.setattr(agent.ledger.store, name, watched(name))
    return used


def told(answer):
    """Return all that an answer says but what it cost."""
    return answer.reading, answer.certificate, answer.question_id


@pytest.mark.parametrize("question", [SUM, BOTH])
def test_a_repeat_is_one_look_at_the_ledger_and_says_the_same(agent, transactions, question):
    first = agent.ask(question, bits=3)
    for _ in range(2):  # the rows of the first answer are read with the first repeat
        transactions.clear()
        again = agent.ask(question, bits=3)
        assert transactions == ["read"]
        assert again.bits == 0
        if question is BOTH:
            assert [told(answer) for answer in again] == [told(answer) for answer in first]
        else:
            assert told(again) == told(first)


def test_questions_are_kept_as_the_ledger_writes_them(agent):
    agent.ask(BOTH, bits=3)
    desk = agent.desk
    known, planned = desk.look_up(desk.plan(BOTH, None, 3), agent.ledger.trusted, None)
    assert known.texts == tuple(canonical(to_plain(question)) for question in known.questions)
    assert planned.batch.texts == known.texts
    assert planned.complete
    for plan, places in zip(known.plans, known.places, strict=True):
        assert plan.questions == tuple(known.questions[at] for at in places)
    assert desk.look_up(desk.plan(BOTH, None, 3), agent.ledger.trusted, None)[0] is known


def test_what_another_process_asked_meanwhile_is_known_at_once(agent, schema, ledger):
    coarse = agent.ask(SUM, bits=2)
    assert agent.ask(SUM, bits=2).reading == coarse.reading
    with Agent(None, schema, ledger=ledger) as other:
        fine = other.ask(SUM, bits=4)
    again = agent.ask(SUM, bits=2)
    assert (again.bits, again.reading) == (0, fine.reading)
    assert again.reading != coarse.reading


def test_no_account_is_answered_in_the_cells_of_another(agent):
    for analyst in ("ann", "bob"):
        agent.allow(analyst, 4)
    coarse = agent.ask(SUM, bits=2, analyst="bob")
    fine = agent.ask(SUM, bits=4, analyst="ann")
    assert coarse.reading != fine.reading
    for _ in range(2):
        assert agent.ask(SUM, bits=2, analyst="bob").reading == coarse.reading
        assert agent.ask(SUM, bits=2, analyst="ann").reading == fine.reading
    assert agent.ask(SUM, bits=2).bits > 0  # the rest of the budget paid for neither


def test_a_question_that_another_pays_for_while_it_is_priced_is_charged_once(
    agent, schema, ledger, monkeypatch
):
    answers, asked = [], agent.trusted.data.coded
    with Agent(None, schema, ledger=ledger) as other:

        def meanwhile(coded):
            if coded is asked and not answers:
                answers.append(other.ask(SUM, bits=3))

        monkeypatch.setattr(type(asked), "check_unchanged", meanwhile)
        late = agent.ask(SUM, bits=3)
    assert (answers[0].bits, late.bits) == (3.0, 0.0)
    assert late.reading == answers[0].reading
    assert len(agent.history()) == 1


def test_an_answer_that_was_changed_since_the_last_repeat_is_not_given(agent, ledger):
    agent.ask(SUM, bits=3)
    agent.ask(SUM, bits=3)
    with sqlite3.connect(ledger) as file:
        file.execute("UPDATE hartley_answers SET answer = answer + 1")
    with pytest.raises(EngineError, match="cannot be used"):
        agent.ask(SUM, bits=3)


def test_the_answers_of_a_row_cannot_be_changed(agent):
    agent.ask(SUM, bits=3)
    (row,) = [entry for entry in agent.ledger.entries() if entry.kind == "commit"]
    with pytest.raises(TypeError):
        committed_answers(row)["x"] = "1"


def test_few_plans_are_kept_and_no_large_ones(agent, monkeypatch):
    monkeypatch.setattr(quotes, "MOST_PLANS", 3)
    monkeypatch.setattr(quotes, "MOST_KEPT", 1)
    for age in range(6):
        text = COUNT + str(age)
        assert agent.ask(text, bits=1).value == agent.ask(text, bits=1).value
        assert 1 <= len(agent.desk._known) <= 3
    agent.desk._known.clear()
    agent.ask(BOTH, bits=2)
    assert not agent.desk._known


def test_threads_that_repeat_and_ask_see_what_was_charged(agent):
    """Each finds its own question paid for, whatever the others add meanwhile."""
    started, wrong = Event(), []
    texts = [COUNT + str(age) for age in range(40, 44)]
    first = {text: agent.ask(text, bits=1).value for text in texts}

    def repeat(text):
        started.wait()
        for _ in range(20):
            again = agent.ask(text, bits=1)
            wrong.extend([] if (again.bits, again.value) == (0, first[text]) else [again])

    def ask():
        started.wait()
        for age in range(60, 64):
            agent.ask(COUNT + str(age), bits=1)

    threads = [Thread(target=repeat, args=(text,)) for text in texts] + [Thread(target=ask)]
    for thread in threads:
        thread.start()
    started.set()
    for thread in threads:
        thread.join()
    assert wrong == []
