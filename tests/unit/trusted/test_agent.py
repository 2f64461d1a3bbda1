"""The course of a question: refusals, failures, repeats, versions, and prices that are kept."""

# ruff: noqa: S608 - texts of questions

import random
import sqlite3
from dataclasses import dataclass, replace
from threading import Event, Thread

import duckdb
import pytest

from hartley import Agent, Schema, Wish, open_ledger, price
from hartley.agent.replay import verify_prices
from hartley.errors import EngineError, InputError, OptionError, Pending, Refused, Stale
from hartley.trusted import data as holding, precision as quotes
from hartley.trusted.agent import PriceOffer
from hartley.trusted.ledger.rows import canonical, committed_answers
from hartley.trusted.questions.batch import to_plain

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


# --- agent failures ---


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


# --- repeats ---

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
    assert not planned.unpaid
    assert None not in planned.answers
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


# --- agent versions ---


@pytest.mark.slow
def test_new_data_are_a_new_version_and_what_was_charged_stays_charged(
    agent, ledger, people, schema
):
    agent.ask(OLD)
    more = {name: [*values, values[-1]] for name, values in people.items()}
    agent.update(more)
    assert agent.spent == 3.0  # the open column was paid for again
    answer = agent.ask(OLD)
    assert (answer.value, answer.bits, agent.spent) == (6, 1.0, 4.0)
    assert agent.ask("SELECT COUNT(*) FROM people").value == 11
    agent.update(people, erasure=True)
    assert agent.ask("SELECT COUNT(*) FROM people").value == 10
    assert agent.ask(OLD).value == 5
    kinds = [entry.kind for entry in agent.ledger.entries() if entry.kind not in EVERYDAY]
    assert kinds == ["created", "version", "erasure"]
    assert verify_prices(agent.ledger).holds
    copies = [path.name for path in ledger.parent.iterdir() if path.suffix == ".duckdb"]
    assert copies == [f"ledger.db.people.{agent.state.version[:12]}.duckdb"]
    with Agent(None, schema, ledger=ledger) as again:
        assert again.ask(OLD).bits == 0
        assert again.ask("SELECT COUNT(*) FROM people").value == 10


EVERYDAY = ("reserve", "commit")


@pytest.mark.slow
def test_an_update_that_is_refused_leaves_everything_as_it_was(
    ledger, people, schema, with_columns
):
    with Agent(people, schema, ledger=ledger, budget=3) as agent:
        agent.ask(OLD)
        agent.ask("SELECT COUNT(*) FROM people WHERE age < 20")
        head = agent.ledger.head()
        with pytest.raises(Refused) as refused:
            agent.update(people)  # the open column would be paid for again
        assert (refused.value.requested, refused.value.remaining) == (1.0, 0.0)
        with pytest.raises(InputError):
            agent.update({**people, "sex": ["X"] * 10})
        with pytest.raises(Refused):
            agent.change_schema(
                with_columns(area={"kind": "open", "values": ["north", "south"]}), people
            )
        assert agent.ledger.head() == head
        assert agent.ask(OLD).value == 5
    with Agent(None, schema, ledger=ledger) as agent:
        assert agent.ask(OLD).value == 5
    assert len(list(ledger.parent.glob("*.duckdb"))) == 1


@pytest.mark.slow
def test_a_process_that_holds_the_old_version_is_refused_and_charged_nothing(
    ledger, people, schema
):
    with (
        Agent(people, schema, ledger=ledger, budget=12) as old,
        Agent(None, schema, ledger=ledger) as other,
    ):
        other.update({name: values[:4] for name, values in people.items()})
        head = other.ledger.head()
        with pytest.raises(Stale, match="in the meantime"):
            old.ask(OLD)
        with pytest.raises(Stale, match="in the meantime"):
            old.ask("SELECT COUNT(*) FROM people")
        assert other.ledger.head() == head
        assert other.ask(OLD).value == 0


@pytest.mark.slow
def test_a_changed_schema_is_one_event_with_its_data_and_prices_are_of_it(
    agent, ledger, people, schema, with_columns
):
    agent.ask(OLD)
    coarse = with_columns(age={"kind": "private", "range": [0, 100], "step": 10})
    spent = agent.state.spent
    agent.change_schema(coarse, people)
    assert agent.schema == Schema.read(coarse)
    assert agent.state.spent == spent
    assert agent.state.open_factor == 4
    assert agent.ask(OLD).bits == 1.0
    events = [entry for entry in agent.ledger.entries() if entry.kind not in EVERYDAY]
    assert [event.kind for event in events] == ["created", "schema"]
    report = verify_prices(agent.ledger)
    assert report.holds, report.problem
    assert (report.repriced, report.unpriced) == (2, 0)
    with pytest.raises(InputError, match="differs from the one in the ledger"):
        Agent(None, schema, ledger=ledger)
    with Agent(None, coarse, ledger=ledger) as again:
        assert again.ask(OLD).bits == 0


@pytest.mark.slow
def test_opening_a_column_is_never_free_even_if_the_change_fails_half_way(
    agent, monkeypatch, people, schema, with_columns
):
    """A schema with one more open column counts only together with its charge."""
    opened = with_columns(age={"kind": "open", "range": [0, 100], "step": 50})
    with pytest.raises(OptionError):
        agent.change_schema({**opened, "table": {"name": "others"}}, people)
    before = agent.ledger.head()
    trusted = agent.ledger.trusted
    monkeypatch.setattr(trusted, "record", lambda *_, **__: (_ for _ in ()).throw(OSError()))
    with pytest.raises(OSError):  # noqa: PT011 - as of a disk that is full
        agent.change_schema(opened, people)
    monkeypatch.undo()
    assert agent.ledger.head() == before
    assert agent.schema == Schema.read(schema)
    agent.change_schema(opened, people)
    assert agent.state.open_factor == 2 * 6
    assert agent.ask("SELECT COUNT(*) FROM people WHERE age = 50").bits == 0


@pytest.mark.slow
def test_an_agent_with_an_old_schema_cannot_record_new_data(ledger, people, schema, with_columns):
    changed = with_columns(age={"kind": "open", "range": [0, 100], "step": 1})
    with (
        Agent(people, schema, ledger=ledger, budget=40) as old,
        Agent(None, schema, ledger=ledger) as other,
    ):
        other.change_schema(changed, people)
        head = other.ledger.head()
        with pytest.raises(Refused, match="schema was changed"):
            old.update(people)
        assert other.ledger.head() == head


# --- quoted bits ---

YOUNG = "SELECT COUNT(*) FROM people WHERE age < 50"
TEXTS = [
    OLD,
    YOUNG,
    "SELECT AVG(age) FROM people",
    "SELECT SUM(age) FROM people WHERE age >= 50",
    "SELECT BIN(age, 20), COUNT(*) FROM people GROUP BY BIN(age, 20)",
    "SELECT BIN(age, 10), COUNT(*) FROM people GROUP BY BIN(age, 10)",
    "SELECT MEDIAN(age) FROM people",
    "SELECT area, COUNT(*) FROM people WHERE age >= 30 GROUP BY area",
    "SELECT COUNT(*) FROM people WHERE area = 'south' AND age < 30",
    "SELECT sex, COUNT(*) FROM people WHERE pay >= 2 GROUP BY sex",
    "SELECT COUNT(pay) FROM people",
]


def drawn(rng):
    """Draw one question with a wish, or a batch of them."""
    wishes = [
        Wish(rng.choice(TEXTS), bits=rng.choice([1, "1.6", 2, 3, 4]))
        for _ in range(rng.choice([1, 1, 2, 3]))
    ]
    return wishes[0] if len(wishes) == 1 else wishes


@pytest.mark.parametrize("seed", range(4))
def test_the_bits_of_a_quote_are_those_of_the_answer_in_a_session_of_several_accounts(agent, seed):
    rng, lower, free = random.Random(seed), 0, 0  # noqa: S311 - reproducible
    agent.set_budget(120)
    for name in ("ana", "bob"):
        agent.allow(name, 40)
    for _ in range(25):
        analyst, question = rng.choice(["ana", "bob", None]), drawn(rng)
        # Quotes that are older than a charge of somebody else are kept as well.
        quote = agent.price(question, analyst=analyst, vacuous=True)
        other = rng.choice([name for name in ("ana", "bob", None) if name != analyst])
        agent.ask(drawn(rng), analyst=other, vacuous=True)
        answer = agent.ask(question, analyst=analyst, vacuous=True, given=quote)
        assert answer.bits == quote.bits <= quote.bits_alone
        alone = price(question, agent.schema, rows=10, vacuous=True)
        assert quote.bits_alone >= alone.bits == alone.bits_alone  # in known cells, or as wished
        rows = {charge.sequence for charge in agent.history(analyst)}
        assert rows.issuperset(quote.given)
        lower += 0 < quote.bits < quote.bits_alone
        free += quote.bits == 0
    assert lower > 0
    assert free > 2


def test_a_quote_has_both_prices_and_their_names_in_json(agent):
    agent.ask(OLD)
    row = agent.history()[0].sequence
    quote = agent.price(YOUNG)
    assert (quote.bits_alone, quote.bits, quote.given) == (1.0, 0.0, (row,))
    plain = quote.to_dict()
    assert (plain["bits_alone"], plain["bits"], plain["given"]) == (1.0, 0.0, [row])
    assert plain["cells"] == "2"  # of the price alone
    assert str(quote).splitlines()[0] == "The price is 0 bits now, and 1 bit alone."
    assert "0 bits now, 1 bit alone, 10 bits left" in quote._repr_html_()


def test_the_former_name_says_what_is_charged_now(agent):
    agent.ask(OLD)
    quote = agent.price(YOUNG)
    assert quote.due == quote.bits == quote.to_dict()["due_bits"] == 0.0
    alone = price(YOUNG, agent.schema, rows=10)
    assert alone.bits == alone.bits_alone == 1.0
    assert alone.due is alone.to_dict()["due_bits"] is None


def test_a_quote_without_a_ledger_is_not_exceeded(agent):
    alone = price(YOUNG, agent.schema, rows=10)
    assert agent.ask(YOUNG, given=alone).bits == alone.bits == 1
    agent.ask(OLD)
    assert agent.ask(OLD, given=price(OLD, agent.schema, rows=10)).bits == 0


def test_what_is_charged_is_compared_with_the_price_now_and_not_with_the_price_alone(agent):
    agent.ask(OLD)
    quote = agent.price(YOUNG)
    assert quote.bits == 0 < quote.bits_alone
    stranger = "SELECT COUNT(*) FROM people WHERE age >= 20"  # for 1 bit
    before = agent.state.spent
    with pytest.raises(Stale, match="Nothing was charged"):
        agent.ask(stranger, given=quote)
    assert agent.state.spent == before
    assert agent.ask(stranger, given=replace(quote, bits=1.0)).bits == 1


def test_something_with_the_former_fields_alone_is_not_taken_for_a_quote(agent):
    """There ``bits`` was the price alone, and more could be charged than was due."""

    @dataclass
    class FormerQuote:
        bits: float
        due: float | None
        given: tuple[int, ...] = ()

    assert isinstance(agent.price(OLD), PriceOffer)
    assert not isinstance(FormerQuote(1.0, 0.0), PriceOffer)
    with pytest.raises(OptionError, match="does not list the numbers of rows"):
        agent.ask(OLD, given=FormerQuote(1.0, 0.0))
