"""The agent from end to end: what is asked, charged, remembered, refused and shown."""

# ruff: noqa: S608 - texts of questions

import json
import os
import subprocess
import sys
from dataclasses import FrozenInstanceError
from datetime import date
from fractions import Fraction

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley.agent import data as holding, data as loading
from hartley.agent.agent import Agent
from hartley.agent.answers.answer import Answer, BatchAnswer
from hartley.agent.ledger import open_ledger
from hartley.agent.quotes import Wish, quote
from hartley.agent.repricing import verify_prices
from hartley.engines.coded import copying
from hartley.errors import EngineError, InputError, OptionError, Pending, Refused, Stale
from hartley.guarantees.promise import down_bits
from hartley.ranges.schema.schema import Schema

AGES = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
DATA = {
    "age": AGES,
    "pay": [None, 1.0, 1.25, 2.5, 4.0, 0.0, 9.0, None, 3.0, 2.0],
    "sex": list("FMFMFMFMFM"),
    "area": ["north", "north", "south", "south", "south"] * 2,
}
COLUMNS = {
    "age": {"kind": "private", "range": [0, 100], "step": 1},
    "pay": {"kind": "private", "range": [0, 4], "step": 0.5, "nullable": True},
    "sex": {"kind": "open", "values": ["F", "M"]},
    "area": {"kind": "public", "values": ["north", "south", "west"]},
}
SCHEMA = {"table": {"name": "people"}, "columns": COLUMNS}
OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def agent(ledger):
    with Agent(DATA, SCHEMA, ledger=ledger, budget=12) as opened:
        yield opened


def columns(**changed):
    return {**SCHEMA, "columns": {**COLUMNS, **changed}}


# --- asking -------------------------------------------------------------------------------------


def test_an_exact_count_costs_one_bit_and_the_open_columns_were_paid_before(agent):
    assert (agent.spent, agent.remaining) == (1.0, 11.0)  # sex has two values
    answer = agent.ask(OLD)
    assert (answer.value, answer.low, answer.high, answer.error) == (5, 5, 5, 0)
    assert (answer.bits, answer.spent, answer.remaining) == (1.0, 2.0, 10.0)
    assert (agent.spent, agent.remaining) == (2.0, 10.0)


def test_a_price_spends_nothing_and_is_what_is_charged(agent):
    wishes = [{}, {"bits": 3}, {"error": 2}]
    for wish in wishes:
        quoted = agent.price("SELECT AVG(age) FROM people", **wish)
        before = agent.state.spent
        answer = agent.ask("SELECT AVG(age) FROM people", **wish)
        assert quoted.affordable
        assert quoted.bits == quoted.due == answer.bits
        assert agent.state.spent == before * quoted.cells
        assert answer.error <= quoted.errors[0][0][1]
        assert answer.low <= Fraction(sum(AGES), 10) <= answer.high
    assert agent.price("SELECT AVG(age) FROM people", bits=3).due == 0
    assert agent.ask("SELECT AVG(age) FROM people", error=2).error <= 2


def test_a_batch_is_priced_together_and_cheaper_than_its_questions_apart(agent):
    texts = ["SELECT COUNT(*) FROM people WHERE age < 30", OLD]
    apart = [agent.price(text).cells for text in texts]
    assert apart == [2, 2]
    assert agent.price(texts).cells == 3
    answers = agent.ask(texts)
    assert isinstance(answers, BatchAnswer)
    assert [answer.value for answer in answers] == [3, 5]
    assert len(answers) == 2
    assert answers[1].text == OLD
    assert answers.bits == answers[0].bits == agent.price(texts).bits
    assert agent.state.spent == 3


def test_each_question_of_a_batch_may_have_its_own_wish(agent):
    total = "SELECT SUM(age) FROM people"
    answers = agent.ask([Wish(total, bits=3), Wish(total, error=10), total], bits=1)
    assert answers[0].error < answers[2].error
    assert answers[1].error <= 10
    assert all(answer.low <= sum(AGES) <= answer.high for answer in answers)
    alone = agent.ask(Wish(total, error=10))
    assert isinstance(alone, Answer)
    assert alone.bits == 0
    assert alone.reading == answers[1].reading


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


def test_an_exhausted_budget_still_answers_what_is_free(ledger):
    with Agent(DATA, SCHEMA, ledger=ledger, budget=1) as agent:
        assert agent.remaining == 0
        with pytest.raises(Refused) as refused:
            agent.ask(OLD)
        assert (refused.value.requested, refused.value.remaining) == (1.0, 0.0)
        assert agent.ask("SELECT COUNT(*) FROM people GROUP BY area").bits == 0
        assert agent.price(OLD).affordable is False


def test_an_empty_table_has_answers(ledger):
    empty = pa.table(
        {
            "age": pa.array([], pa.int64()),
            "pay": pa.array([], pa.float64()),
            "sex": pa.array([], pa.string()),
            "area": pa.array([], pa.string()),
        }
    )
    with Agent(empty, SCHEMA, ledger=ledger, budget=20) as agent:
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


# --- repeats ------------------------------------------------------------------------------------

SPELLINGS = (
    "SELECT COUNT(*) FROM people WHERE age >= 50",
    "select count(*) from PEOPLE where AGE > 49",
    "SELECT COUNT(age) AS n FROM people WHERE NOT age < 50",
    "SELECT COUNT(*) FROM people p WHERE p.age BETWEEN 50 AND 1000;",
    "SELECT COUNT(*) FROM people WHERE (50 <= age) OR age IN (77, 99)",
    "SELECT COUNT(*) FROM people WHERE age >= 49.5 AND (pay IS NULL OR pay IS NOT NULL)",
)


def test_the_same_question_is_free_in_every_spelling_and_after_a_restart(ledger):
    with Agent(DATA, SCHEMA, ledger=ledger, budget=12) as agent:
        first = agent.ask(SPELLINGS[0])
    for text in SPELLINGS:
        with Agent(None, SCHEMA, ledger=ledger) as agent:
            assert agent.price(text).due == 0
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
    assert agent.price(texts).due == 1.0
    assert agent.price(texts).cells == 3
    assert agent.ask(texts).bits == 1.0
    assert agent.state.spent == 4


def test_another_step_is_another_question(agent):
    agent.ask("SELECT SUM(age) FROM people", bits=2)
    assert agent.price("SELECT SUM(age) FROM people", bits=2).due == 0
    assert agent.price("SELECT SUM(age) FROM people", bits=3).due > 0


# --- refusals -----------------------------------------------------------------------------------


def test_a_refusal_of_the_budget_carries_what_was_requested_and_what_remains(agent):
    text = "SELECT SUM(age) FROM people"
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


def test_a_draft_is_refused_until_somebody_confirms_it(ledger):
    draft = {"table": {"name": "people", "draft": True}, "columns": COLUMNS}
    with pytest.raises(InputError, match="draft"):
        Agent(DATA, draft, ledger=ledger, budget=9)
    with Agent(DATA, SCHEMA, ledger=ledger, budget=9) as agent:
        with pytest.raises(InputError, match="draft"):
            agent.change_schema(draft, DATA)
        assert agent.ask(OLD).value == 5


def test_open_columns_beyond_the_budget_are_refused_with_both_numbers(ledger):
    many = columns(age={"kind": "open", "range": [0, 100], "step": 1})
    with pytest.raises(Refused) as refused:
        Agent(DATA, many, ledger=ledger, budget=3)
    assert refused.value.requested > refused.value.remaining == 3.0
    assert [path.name for path in ledger.parent.iterdir()] == ["ledger.db"]


# --- an engine that fails -----------------------------------------------------------------------


class Failing:
    """A store that cannot be read for a while."""

    def __init__(self, store, times, error=None):
        self.engine, self.dialect, self.relation = store.engine, store.dialect, store.relation
        self.store, self.times = store, times
        self.error = error or RuntimeError("the secret is 4711")

    def fetch(self, text):
        if self.times:
            self.times -= 1
            raise self.error
        return self.store.fetch(text)

    def close(self):
        self.store.close()


def let_fail(agent, times, **error):
    store = agent._held.coded.store
    found = Failing(store, times, **error)
    object.__setattr__(agent._held.coded, "store", found)
    return found


def test_an_engine_that_fails_a_little_is_asked_again(agent):
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
def test_an_engine_that_is_stopped_leaves_the_answer_pending_and_is_not_asked_again(agent, error):
    stopped = let_fail(agent, 10, error=error)
    with pytest.raises(Pending):
        agent.ask(OLD)
    assert stopped.times == 9
    stopped.times = 0
    answer = agent.ask(OLD)
    assert (answer.value, answer.bits) == (5, 0.0)


def test_ctrl_c_ends_the_question_itself_and_the_answer_is_there_later_for_nothing(agent):
    # DuckDB says this where Python was interrupted, and other engines pass Python's own error on.
    for error in (RuntimeError("Query interrupted"), KeyboardInterrupt()):
        interrupted = let_fail(agent, 1, error=error)
        with pytest.raises(KeyboardInterrupt):
            agent.ask(OLD)
        assert interrupted.times == 0
    assert agent.ask(OLD).bits == 0


def test_an_engine_that_fails_gives_a_constant_reply_and_the_answer_later_for_nothing(agent):
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


def test_what_is_pending_is_finished_by_another_process_for_nothing(ledger):
    with Agent(DATA, SCHEMA, ledger=ledger, budget=12) as agent:
        let_fail(agent, 10**9)
        with pytest.raises(Pending):
            agent.ask(OLD)
        spent = agent.spent
    with Agent(None, SCHEMA, ledger=ledger) as agent:
        assert agent.price(OLD).due == 0
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
        with open_ledger(agent.ledger._store.path) as other:
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


# --- analysts -----------------------------------------------------------------------------------


def test_an_allowance_is_a_hard_part_and_each_sees_the_own(agent):
    agent.allow("ann", 2)
    answer = agent.ask(OLD, analyst="ann")
    assert (answer.bits, answer.spent, answer.remaining) == (1.0, 1.0, 1.0)
    with pytest.raises(Refused) as refused:
        agent.ask("SELECT AVG(age) FROM people", bits=2, analyst="ann")
    assert (refused.value.requested, refused.value.remaining) == (2.0, 1.0)
    assert agent.price("SELECT AVG(age) FROM people", bits=2, analyst="ann").affordable is False
    assert agent.price("SELECT AVG(age) FROM people", bits=2).affordable is True
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


# --- versions -----------------------------------------------------------------------------------


def test_new_data_are_a_new_version_and_what_was_charged_stays_charged(agent, ledger):
    agent.ask(OLD)
    more = {name: [*values, values[-1]] for name, values in DATA.items()}
    agent.update(more)
    assert agent.spent == 3.0  # the open column was paid for again
    answer = agent.ask(OLD)
    assert (answer.value, answer.bits, agent.spent) == (6, 1.0, 4.0)
    assert agent.ask("SELECT COUNT(*) FROM people").value == 11
    agent.update(DATA, erasure=True)
    assert agent.ask("SELECT COUNT(*) FROM people").value == 10
    assert agent.ask(OLD).value == 5
    kinds = [entry.kind for entry in agent.ledger.entries() if entry.kind not in EVERYDAY]
    assert kinds == ["created", "version", "erasure"]
    assert verify_prices(agent.ledger).holds
    copies = [path.name for path in ledger.parent.iterdir() if path.suffix == ".duckdb"]
    assert copies == [f"ledger.db.people.{agent.state.version[:12]}.duckdb"]
    with Agent(None, SCHEMA, ledger=ledger) as again:
        assert again.ask(OLD).bits == 0
        assert again.ask("SELECT COUNT(*) FROM people").value == 10


EVERYDAY = ("reserve", "commit")


def test_an_update_that_is_refused_leaves_everything_as_it_was(ledger):
    with Agent(DATA, SCHEMA, ledger=ledger, budget=3) as agent:
        agent.ask(OLD)
        agent.ask("SELECT COUNT(*) FROM people WHERE age < 20")
        head = agent.ledger.head()
        with pytest.raises(Refused) as refused:
            agent.update(DATA)  # the open column would be paid for again
        assert (refused.value.requested, refused.value.remaining) == (1.0, 0.0)
        with pytest.raises(InputError):
            agent.update({**DATA, "sex": ["X"] * 10})
        with pytest.raises(Refused):
            agent.change_schema(columns(area={"kind": "open", "values": ["north", "south"]}), DATA)
        assert agent.ledger.head() == head
        assert agent.ask(OLD).value == 5
    with Agent(None, SCHEMA, ledger=ledger) as agent:
        assert agent.ask(OLD).value == 5
    assert len(list(ledger.parent.glob("*.duckdb"))) == 1


def test_a_process_that_holds_the_old_version_is_refused_and_charged_nothing(ledger):
    with (
        Agent(DATA, SCHEMA, ledger=ledger, budget=12) as old,
        Agent(None, SCHEMA, ledger=ledger) as other,
    ):
        other.update({name: values[:4] for name, values in DATA.items()})
        head = other.ledger.head()
        with pytest.raises(Stale, match="in the meantime"):
            old.ask(OLD)
        with pytest.raises(Stale, match="in the meantime"):
            old.ask("SELECT COUNT(*) FROM people")
        assert other.ledger.head() == head
        assert other.ask(OLD).value == 0


def test_a_changed_schema_is_one_event_with_its_data_and_prices_are_of_it(agent, ledger):
    agent.ask(OLD)
    coarse = columns(age={"kind": "private", "range": [0, 100], "step": 10})
    spent = agent.state.spent
    agent.change_schema(coarse, DATA)
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
        Agent(None, SCHEMA, ledger=ledger)
    with Agent(None, coarse, ledger=ledger) as again:
        assert again.ask(OLD).bits == 0


def test_opening_a_column_is_never_free_even_if_the_change_fails_half_way(agent, monkeypatch):
    """A schema with one more open column counts only together with its charge."""
    opened = columns(age={"kind": "open", "range": [0, 100], "step": 50})
    with pytest.raises(OptionError):
        agent.change_schema({**opened, "table": {"name": "others"}}, DATA)
    before = agent.ledger.head()
    monkeypatch.setattr(agent.ledger, "record", lambda *_, **__: (_ for _ in ()).throw(OSError()))
    with pytest.raises(OSError):  # noqa: PT011 - as of a disk that is full
        agent.change_schema(opened, DATA)
    monkeypatch.undo()
    assert agent.ledger.head() == before
    assert agent.schema == Schema.read(SCHEMA)
    agent.change_schema(opened, DATA)
    assert agent.state.open_factor == 2 * 6
    assert agent.ask("SELECT COUNT(*) FROM people WHERE age = 50").bits == 0


def test_an_agent_with_an_old_schema_cannot_record_new_data(ledger):
    changed = columns(age={"kind": "open", "range": [0, 100], "step": 1})
    with (
        Agent(DATA, SCHEMA, ledger=ledger, budget=40) as old,
        Agent(None, SCHEMA, ledger=ledger) as other,
    ):
        other.change_schema(changed, DATA)
        head = other.ledger.head()
        with pytest.raises(Refused, match="schema was changed"):
            old.update(DATA)
        assert other.ledger.head() == head


# --- opening again ------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [None, "copies.duckdb"])
def test_relative_paths_stay_in_the_folder_where_the_agent_was_opened(tmp_path, monkeypatch, place):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    monkeypatch.chdir(first)
    with Agent(DATA, SCHEMA, ledger="l.db", budget=12, place=place) as agent:
        agent.ledger._store.pool.forget()  # another thread would get a new connection, too
        monkeypatch.chdir(second)
        assert agent.ask(OLD).bits == 1
        agent.update(DATA)
        spent = agent.spent
    assert not list(second.iterdir())
    monkeypatch.chdir(first)
    with Agent(None, SCHEMA, ledger="l.db", place=place) as agent:
        assert agent.spent == spent


def test_another_process_asks_the_same_copy(ledger, agent):
    agent.ask(OLD)
    code = (
        "import json, sys\n"
        "from hartley.agent.agent import Agent\n"
        "with Agent(None, json.loads(sys.argv[1]), ledger=sys.argv[2]) as agent:\n"
        "    old = agent.ask('SELECT COUNT(*) FROM people WHERE age > 49')\n"
        "    new = agent.ask('SELECT SUM(age) FROM people WHERE age > 49', error=0)\n"
        "    print(json.dumps([str(old.value), old.bits, str(new.value)]))\n"
    )
    words = [sys.executable, "-c", code, json.dumps(SCHEMA), str(ledger)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["5", 0.0, "350"]
    repeated = agent.ask("SELECT SUM(age) FROM people WHERE age >= 50", error=0)
    assert (repeated.value, repeated.bits) == (350, 0.0)


def test_a_dataset_that_the_ledger_knows_needs_no_table_and_no_budget(ledger):
    Agent(DATA, SCHEMA, ledger=ledger, budget=12).close()
    for data, more in ((None, {}), (DATA, {"budget": "12.0"}), (DATA, {"budget": 12})):
        with Agent(data, SCHEMA, ledger=f"sqlite:///{ledger}", **more) as agent:
            assert agent.remaining == 11.0
    with pytest.raises(OptionError, match="12 bits in the ledger"):
        Agent(None, SCHEMA, ledger=ledger, budget=13)
    with pytest.raises(OptionError, match="no budget"):
        Agent(DATA, {**SCHEMA, "table": {"name": "others"}}, ledger=ledger)
    with pytest.raises(InputError, match="no table"):
        Agent(None, {**SCHEMA, "table": {"name": "others"}}, ledger=ledger, budget=3)


def test_a_copy_that_is_gone_is_named_and_new_data_mend_it(ledger):
    Agent(DATA, SCHEMA, ledger=ledger, budget=12).close()
    for path in ledger.parent.glob("*.duckdb"):
        path.unlink()
    for data in (None, DATA):
        with pytest.raises(InputError, match="not there"):
            Agent(data, SCHEMA, ledger=ledger)
    with Agent(DATA, SCHEMA, ledger=ledger, update=True) as agent:
        assert agent.ask(OLD).value == 5
        assert agent.spent == 3.0


def test_a_file_that_was_replaced_is_not_answered_for_whatever_its_time_says(tmp_path):
    file, other, ledger = (tmp_path / name for name in ("people.parquet", "new.parquet", "l.db"))
    pq.write_table(pa.table(DATA), file)
    pq.write_table(pa.table(DATA | {"age": [5, *AGES[1:]]}), other)
    os.utime(other, (0, 0))
    Agent(file, SCHEMA, ledger=ledger, budget=12).close()
    Agent(file, SCHEMA, ledger=ledger).close()
    os.utime(file, (4e9, 4e9))
    Agent(file, SCHEMA, ledger=ledger).close()  # touched, and still the same
    with pytest.raises(InputError, match="differs from the one"):
        Agent(other, SCHEMA, ledger=ledger)  # older than the copy, and another table
    other.replace(file)
    with pytest.raises(InputError, match="differs from the one its coded copy was made from"):
        Agent(file, SCHEMA, ledger=ledger)
    with Agent(file, SCHEMA, ledger=ledger, update=True) as agent:
        assert agent.ask(OLD).value == 5


def test_a_table_of_a_database_file_is_compared_once_the_file_was_written(tmp_path, monkeypatch):
    file, ledger = tmp_path / "hospital.duckdb", tmp_path / "l.db"
    people = pa.table(DATA)
    with duckdb.connect(file) as database:
        database.register("given", people)
        database.execute("CREATE TABLE people AS FROM given")
    Agent(f"{file}::people", SCHEMA, ledger=ledger, budget=12).close()
    with monkeypatch.context() as untouched:
        untouched.setattr(copying, "coded_rows", None)  # nothing is read
        Agent(f"{file}::people", SCHEMA, ledger=ledger).close()
    with duckdb.connect(file) as database:
        database.execute("UPDATE people SET age = 5 WHERE age = 0")
    with pytest.raises(InputError, match="not the one"):
        Agent(f"{file}::people", SCHEMA, ledger=ledger)


@pytest.mark.parametrize(
    "other",
    [
        {name: values[1:] for name, values in DATA.items()},
        DATA | {"age": [5, *AGES[1:]]},
        DATA | {"pay": [0.0, *DATA["pay"][1:]]},
    ],
)
def test_another_table_is_not_answered_for(other, ledger):
    Agent(DATA, SCHEMA, ledger=ledger, budget=12).close()
    with pytest.raises(InputError, match="not the one"):
        Agent(other, SCHEMA, ledger=ledger)
    Agent({name: values[::-1] for name, values in DATA.items()}, SCHEMA, ledger=ledger).close()


def test_a_copy_that_a_crash_has_left_is_removed_once_its_version_is_past(ledger, monkeypatch):
    Agent(DATA, SCHEMA, ledger=ledger, budget=12).close()
    with monkeypatch.context() as crash:
        crash.setattr(loading, "remove_copy", lambda *_: None)
        Agent(DATA, SCHEMA, ledger=ledger, update=True).close()
    unknown = ledger.with_name(f"{ledger.name}.people.0123456789ab.duckdb")
    unknown.write_text("the copy that another process is making")
    assert len(list(ledger.parent.glob("*.duckdb"))) == 3
    with Agent(None, SCHEMA, ledger=ledger) as agent:
        assert agent.ask(OLD).value == 5
    assert len(list(ledger.parent.glob("*.duckdb"))) == 2
    assert unknown.exists()


def test_datasets_share_a_ledger_and_nothing_else(tmp_path):
    names = ["a b", "a_b", "A B", "a/b"]
    schemas = {name: {**SCHEMA, "table": {"name": name}} for name in names}
    with open_ledger(tmp_path / "ledger.db") as ledger:
        for rows, name in enumerate(names, 2):
            data = {column: values[:rows] for column, values in DATA.items()}
            with Agent(
                data, schemas[name], ledger=ledger, budget=5, place=tmp_path / "copies.duckdb"
            ) as agent:
                agent.ask(f'SELECT AVG(age) FROM "{name}"', bits=2)
        for rows, name in enumerate(names, 2):
            with Agent(
                None, schemas[name], ledger=ledger, place=tmp_path / "copies.duckdb"
            ) as agent:
                assert agent.ask(f'SELECT COUNT(*) FROM "{name}"').value == rows
                assert agent.remaining == 2.0
        assert verify_prices(ledger).repriced == 8


def test_a_ledger_that_was_given_stays_open_and_an_own_one_is_closed(tmp_path):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        with Agent(DATA, SCHEMA, ledger=ledger, budget=5) as agent:
            agent.ask(OLD)
        assert ledger._store.pool._idle
        with pytest.raises(InputError):
            Agent(None, SCHEMA, ledger=ledger)  # its copy was in memory
    with pytest.raises(InputError):
        Agent({"age": [1]}, SCHEMA, ledger=tmp_path / "own.db", budget=3)
    assert {path.name for path in tmp_path.iterdir()} == {"ledger.db", "own.db"}


# --- rows that are private, people with several rows ---------------------------------------------


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


# --- what is shown ------------------------------------------------------------------------------


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


def test_the_summary_says_what_is_promised_spent_and_asked(agent):
    agent.ask([OLD, "SELECT AVG(age) FROM people"], bits=1)
    first, second, third = agent.summary().splitlines()
    size = down_bits(Schema.read(SCHEMA).record_bits)
    assert first.startswith(f"Dataset people: all the {size} of a record")  # 11 < 12 bits
    assert "of which open columns 1 bit" in second
    assert third == "Paid for: 1 batch with 2 statistics."
    assert "10" not in third
    agent.ledger.record("people", "budget", {"bits": 5})
    assert agent.summary().startswith(f"Dataset people: at most 5 of the {size}")


# --- prices without the data --------------------------------------------------------------------


def test_a_quote_needs_the_schema_alone_and_is_the_agents(agent, ledger):
    texts = ["SELECT AVG(age) FROM people WHERE pay > 1", "SELECT MEDIAN(age) FROM people", OLD]
    for text in texts:
        inside, outside = agent.price(text, bits=3), quote(text, SCHEMA, rows=10, bits=3)
        assert (inside.cells, inside.errors, inside.levels, inside.explanation) == (
            outside.cells,
            outside.errors,
            outside.levels,
            outside.explanation,
        )
        assert (outside.due, outside.remaining, outside.affordable) == (None, None, None)
        beside = quote(text, SCHEMA, ledger=ledger, bits=3)
        assert (beside.due, beside.remaining) == (inside.due, inside.remaining)
    agent.ask(texts[2], bits=3)
    assert quote(texts[2], SCHEMA, ledger=ledger, bits=3).due == 0
    with pytest.raises(OptionError, match="number of rows"):
        quote(OLD, SCHEMA)
    with pytest.raises(InputError, match="differs from the one in the ledger"):
        quote(OLD, columns(age={"kind": "private", "range": [0, 9], "step": 1}), ledger=ledger)


# --- verifying prices ---------------------------------------------------------------------------


def test_verifying_finds_a_price_that_was_too_low(agent):
    from hartley.agent.questions.batch import to_plain

    plan = agent._held.desk.plan("SELECT AVG(age) FROM people", None, 3)
    agent.ask(OLD)
    assert verify_prices(agent.ledger).holds
    cheap = [to_plain(question) for question in plan[0].questions]
    agent.ledger.reserve("people", None, cheap, lambda _: 2)
    assert agent.ledger.verify().holds
    report = verify_prices(agent.ledger)
    assert not report.holds
    assert "a price that differs" in report.problem
    assert report.first_bad == agent.ledger.head().sequence


def test_verifying_finds_open_columns_that_were_not_paid_for(agent):
    agent.ledger.record("people", "version", {"rows": 10, "open_factor": 1})
    assert agent.ledger.verify().holds
    report = verify_prices(agent.ledger)
    assert not report.holds
    assert "open columns" in report.problem


def test_charges_of_other_rules_or_schemas_are_counted_as_not_priced(agent):
    agent.ledger.record("else", "created", {"bits": 3, "schema": {"a": 1}, "rows": 2})
    agent.ledger.reserve("else", None, [{"q": 1}], lambda _: 2)
    agent.ask(OLD)
    report = verify_prices(agent.ledger)
    assert (report.holds, report.repriced, report.unpriced) == (True, 1, 1)


def test_a_broken_engine_is_told_to_the_owner_when_prices_need_a_public_count(agent):
    let_fail(agent, 10**9)
    with pytest.raises(EngineError) as failed:
        agent.price("SELECT AVG(age) FROM people WHERE area = 'north'", error=1)
    assert "4711" not in str(failed.value)


def test_the_command_verifies_every_price(agent, ledger):
    from typer.testing import CliRunner

    from hartley.agent.questions.batch import to_plain
    from hartley.cli.ledger import ledger_app

    def verify(*words):
        return CliRunner().invoke(ledger_app, ["verify", str(ledger), *words])

    agent.ask([OLD, "SELECT AVG(age) FROM people"], bits=3)
    agent.allow("ann", 4)
    agent.ask([OLD, "SELECT COUNT(*) FROM people WHERE pay = 1"], analyst="ann")
    found = verify("--json")
    assert found.exit_code == 0
    content = json.loads(found.stdout)
    assert (content["charges_priced_again"], content["charges_not_priced_again"]) == (2, 0)
    assert "2 charges computed again" in verify("--text").stdout
    plan = agent._held.desk.plan("SELECT MEDIAN(age) FROM people", None, 3)
    dear = [to_plain(question) for question in plan[0].questions]
    agent.ledger.reserve("people", None, dear, lambda _: 9)
    found = verify("--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["first_bad_row"] == agent.ledger.head().sequence


def test_a_quote_says_what_the_budget_holds_even_where_an_allowance_holds_more(ledger):
    with Agent(DATA, SCHEMA, ledger=ledger, budget=4) as agent:
        agent.allow("ann", 3)
        assert agent.price(OLD, analyst="ann").affordable is True
        for _ in range(3):
            agent.update(DATA)  # the open column is paid for again, by all
        assert agent.remaining == 0
        assert agent.price(OLD, analyst="ann").affordable is False
        with pytest.raises(Refused, match="budget of the dataset"):
            agent.ask(OLD, analyst="ann")


def test_an_agent_that_is_closed_or_of_another_process_charges_nothing(ledger, monkeypatch):
    agent = Agent(DATA, SCHEMA, ledger=ledger, budget=12)
    head = agent.ledger.head()
    process = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: process + 1)
    acts = (agent.ask, agent.price, lambda _: agent.update(DATA))
    for act in acts:
        with pytest.raises(OptionError, match="another process"):
            act(OLD)
    monkeypatch.undo()
    agent.close()
    for act in acts:
        with pytest.raises(OptionError, match="is closed"):
            act(OLD)
    with open_ledger(ledger) as opened:
        assert opened.head() == head
