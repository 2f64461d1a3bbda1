"""The public agent: opened, asked, shown and shared."""

# ruff: noqa: S608 - texts of questions

import inspect
import json
import os
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError
from datetime import date
from fractions import Fraction

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hartley
from hartley import Agent, Answer, BatchAnswer, Schema, Wish, open_ledger
from hartley.agent import quoting
from hartley.agent.replay import verify_prices
from hartley.engines import coded_table as copying
from hartley.errors import HartleyError, InputError, OptionError, Refused
from hartley.text import bits_down
from hartley.trusted import data as loading
from hartley.trusted.agent import TrustedAgent
from hartley.trusted.precision import PriceDesk

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"

# --- asking ---------------------------------------------------------------------------------------


def test_an_exact_count_costs_one_bit_and_the_open_columns_were_paid_before(agent):
    assert (agent.spent, agent.remaining) == (1.0, 11.0)  # sex has two values
    answer = agent.ask(OLD)
    assert (answer.value, answer.low, answer.high, answer.error) == (5, 5, 5, 0)
    assert (answer.bits, answer.spent, answer.remaining) == (1.0, 2.0, 10.0)
    assert (agent.spent, agent.remaining) == (2.0, 10.0)


def test_an_answer_of_one_number_is_its_middle_as_a_float_and_as_an_int(agent):
    answer = agent.ask("SELECT SUM(age) FROM people", bits=2)
    assert answer.error > 0
    middle = (answer.low + answer.high) / 2
    assert (float(answer), int(answer)) == (float(middle), int(middle))
    assert int(agent.ask(OLD)) == 5
    with pytest.raises(TypeError, match=r"several numbers; hint: read them from .reading.rows"):
        float(agent.ask("SELECT sex, COUNT(*) FROM people GROUP BY sex"))
    nobody = agent.ask("SELECT AVG(age) FROM people WHERE age < 0", vacuous=True)
    with pytest.raises(TypeError, match="The answer is NULL"):
        int(nobody)


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
    more = {"who": [1, 1, 2, 3, 4, 5], "age": [0, 3, 1, 2, 2, 2]}
    with (
        Agent(data, schema, ledger=tmp_path / "l.db", budget=30) as agent,
        Agent(more, schema, ledger=tmp_path / "more.db", budget=30) as other,
    ):
        assert agent.state.rows is None
        shown, again = (
            (one.summary(), str(one.price("SELECT AVG(age) FROM visits", bits=2)))
            for one in (agent, other)
        )
        assert shown == again
        count = agent.ask("SELECT COUNT(*) FROM visits", error=0)
        assert count.bits > 0
        assert count.value == 4
        mean = agent.ask("SELECT AVG(age) FROM visits", bits=6)
        assert mean.low <= Fraction(6, 4) <= mean.high
        rows = [entry.content for entry in agent.ledger.entries() if entry.kind == "created"]
        assert json.loads(rows[0])["rows"] is None
        assert verify_prices(agent.ledger).holds


# --- agent opening ---


@pytest.mark.slow
@pytest.mark.parametrize("place", [None, "copies.duckdb"])
def test_relative_paths_stay_in_the_folder_where_the_agent_was_opened(
    tmp_path, monkeypatch, place, people, schema
):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    monkeypatch.chdir(first)
    with Agent(people, schema, ledger="l.db", budget=12, place=place) as agent:
        agent.ledger.store.pool.forget()  # another thread would get a new connection, too
        monkeypatch.chdir(second)
        assert agent.ask(OLD).bits == 1
        agent.update(people)
        spent = agent.spent
    assert not list(second.iterdir())
    monkeypatch.chdir(first)
    with Agent(None, schema, ledger="l.db", place=place) as agent:
        assert agent.spent == spent


@pytest.mark.slow
def test_another_process_asks_the_same_copy(ledger, agent, schema):
    agent.ask(OLD)
    code = (
        "import json, sys\n"
        "from hartley.agent.agent import Agent\n"
        "with Agent(None, json.loads(sys.argv[1]), ledger=sys.argv[2]) as agent:\n"
        "    old = agent.ask('SELECT COUNT(*) FROM people WHERE age > 49')\n"
        "    new = agent.ask('SELECT SUM(age) FROM people WHERE age > 49', error=0)\n"
        "    print(json.dumps([str(old.value), old.bits, str(new.value)]))\n"
    )
    words = [sys.executable, "-c", code, json.dumps(schema), str(ledger)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["5", 0.0, "350"]
    repeated = agent.ask("SELECT SUM(age) FROM people WHERE age >= 50", error=0)
    assert (repeated.value, repeated.bits) == (350, 0.0)


@pytest.mark.slow
def test_a_dataset_that_the_ledger_knows_needs_no_table_and_no_budget(ledger, people, schema):
    Agent(people, schema, ledger=ledger, budget=12).close()
    for data, more in ((None, {}), (people, {"budget": "12.0"}), (people, {"budget": 12})):
        with Agent(data, schema, ledger=f"sqlite:///{ledger}", **more) as agent:
            assert agent.remaining == 11.0
    with pytest.raises(OptionError, match="12 bits in the ledger"):
        Agent(None, schema, ledger=ledger, budget=13)
    with pytest.raises(OptionError, match="no budget"):
        Agent(people, {**schema, "table": {"name": "others"}}, ledger=ledger)
    with pytest.raises(InputError, match="no table"):
        Agent(None, {**schema, "table": {"name": "others"}}, ledger=ledger, budget=3)


@pytest.mark.slow
def test_a_copy_that_is_gone_is_named_and_new_data_mend_it(ledger, people, schema):
    Agent(people, schema, ledger=ledger, budget=12).close()
    for path in ledger.parent.glob("*.duckdb"):
        path.unlink()
    for data in (None, people):
        with pytest.raises(InputError, match="is missing"):
            Agent(data, schema, ledger=ledger)
    with Agent(people, schema, ledger=ledger, update=True) as agent:
        assert agent.ask(OLD).value == 5
        assert agent.spent == 3.0


@pytest.mark.slow
def test_a_file_that_was_replaced_is_not_answered_for_whatever_its_time_says(
    tmp_path, people, schema
):
    file, other, ledger = (tmp_path / name for name in ("people.parquet", "new.parquet", "l.db"))
    pq.write_table(pa.table(people), file)
    pq.write_table(pa.table(people | {"age": [5, *people["age"][1:]]}), other)
    os.utime(other, (0, 0))
    Agent(file, schema, ledger=ledger, budget=12).close()
    Agent(file, schema, ledger=ledger).close()
    os.utime(file, (4e9, 4e9))
    Agent(file, schema, ledger=ledger).close()  # touched, and still the same
    with pytest.raises(InputError, match="differs from the one"):
        Agent(other, schema, ledger=ledger)  # older than the copy, and another table
    other.replace(file)
    with pytest.raises(InputError, match="differs from the one its coded copy was made from"):
        Agent(file, schema, ledger=ledger)
    with Agent(file, schema, ledger=ledger, update=True) as agent:
        assert agent.ask(OLD).value == 5


@pytest.mark.slow
def test_a_table_of_a_database_file_is_compared_once_the_file_was_written(
    tmp_path, monkeypatch, people, schema
):
    file, ledger = tmp_path / "hospital.duckdb", tmp_path / "l.db"
    given = pa.table(people)
    with duckdb.connect(file) as database:
        database.register("given", given)
        database.execute("CREATE TABLE people AS FROM given")
    Agent(f"{file}::people", schema, ledger=ledger, budget=12).close()
    with monkeypatch.context() as untouched:
        untouched.setattr(copying, "coded_rows", None)  # nothing is read
        Agent(f"{file}::people", schema, ledger=ledger).close()
    with duckdb.connect(file) as database:
        database.execute("UPDATE people SET age = 5 WHERE age = 0")
    with pytest.raises(InputError, match="differs from the one"):
        Agent(f"{file}::people", schema, ledger=ledger)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda table: {name: values[1:] for name, values in table.items()},
        lambda table: table | {"age": [5, *table["age"][1:]]},
        lambda table: table | {"pay": [0.0, *table["pay"][1:]]},
    ],
    ids=["one row less", "another age", "a number for a missing one"],
)
def test_another_table_is_not_answered_for(change, ledger, people, schema):
    Agent(people, schema, ledger=ledger, budget=12).close()
    with pytest.raises(InputError, match="differs from the one"):
        Agent(change(people), schema, ledger=ledger)
    Agent({name: values[::-1] for name, values in people.items()}, schema, ledger=ledger).close()


@pytest.mark.slow
def test_a_copy_that_a_crash_has_left_is_removed_once_its_version_is_past(
    ledger, monkeypatch, people, schema
):
    Agent(people, schema, ledger=ledger, budget=12).close()
    with monkeypatch.context() as crash:
        crash.setattr(loading, "remove_copy", lambda *_: None)
        Agent(people, schema, ledger=ledger, update=True).close()
    unknown = ledger.with_name(f"{ledger.name}.people.0123456789ab.duckdb")
    unknown.write_text("the copy that another process is making")
    assert len(list(ledger.parent.glob("*.duckdb"))) == 3
    with Agent(None, schema, ledger=ledger) as agent:
        assert agent.ask(OLD).value == 5
    assert len(list(ledger.parent.glob("*.duckdb"))) == 2
    assert unknown.exists()


@pytest.mark.slow
def test_datasets_share_a_ledger_and_nothing_else(tmp_path, people, schema):
    names = ["a b", "a_b", "A B", "a/b"]
    schemas = {name: {**schema, "table": {"name": name}} for name in names}
    with open_ledger(tmp_path / "ledger.db") as ledger:
        for rows, name in enumerate(names, 2):
            data = {column: values[:rows] for column, values in people.items()}
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


def test_a_ledger_that_was_given_stays_open_and_an_own_one_is_closed(tmp_path, people, schema):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        with Agent(people, schema, ledger=ledger, budget=5) as agent:
            agent.ask(OLD)
        assert ledger.store.pool._idle
        with pytest.raises(InputError):
            Agent(None, schema, ledger=ledger)  # its copy was in memory
    with pytest.raises(InputError):
        Agent({"age": [1]}, schema, ledger=tmp_path / "own.db", budget=3)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"]


def test_an_agent_that_is_closed_or_of_another_process_charges_nothing(
    ledger, monkeypatch, people, schema
):
    agent = Agent(people, schema, ledger=ledger, budget=12)
    head = agent.ledger.head()
    process = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: process + 1)
    acts = (agent.ask, agent.price, lambda _: agent.update(people))
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


@pytest.mark.parametrize("fault", ["no table", "a column less", "too small a budget"])
def test_a_first_start_that_fails_leaves_no_ledger(tmp_path, people, schema, fault):
    place, data, budget = tmp_path / "ledger.db", people, 8
    if fault == "no table":
        data = None
    elif fault == "a column less":
        data = {name: values for name, values in people.items() if name != "age"}
    else:
        budget = "0.5"  # the open column costs one bit
    with pytest.raises(HartleyError):
        Agent(data, schema, ledger=place, budget=budget)
    assert not list(tmp_path.iterdir())
    Agent(people, schema, ledger=place, budget=8).close()
    assert place.exists()
    with pytest.raises(HartleyError):
        Agent({"age": [1]}, schema, ledger=place, budget=8, update=True)
    assert place.exists()  # it has rows


@pytest.mark.parametrize("name", ["a" * 300, "no\0name", "there/is/none/l.db"], ids=len)
def test_a_ledger_that_cannot_be_made_is_named(tmp_path, people, schema, name):
    with pytest.raises(HartleyError):
        Agent(people, schema, ledger=f"{tmp_path}/{name}", budget=8)
    assert not list(tmp_path.iterdir())


# --- agent analysts ---


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
    told, paid = own.caption.split("\n")
    assert told == "Certain for age (0 to 9 in steps of 1): other numbers count as the nearest."
    assert paid == "charged 1 bit; spent 1 bit, 1 bit left"
    assert shared.caption.endswith(
        ".\ncharged 1 bit; spent 2 bits, of which 1 bit for open columns, 5 bits left"
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


# --- agent display ---


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


# --- planning agent ---

MEDIAN, OLDER = (
    "SELECT MEDIAN(age) FROM people",
    "SELECT COUNT(*) FROM people WHERE age >= 65",
)
AVERAGE = "SELECT AVG(age) FROM people WHERE pay > 1"
TABLE = {"age": [3, 40, 90]}
SCHEMA = {
    "table": {"name": "people"},
    "columns": {"age": {"kind": "private", "range": [0, 100], "step": 1}},
}


def test_the_public_agent_holds_a_trusted_one(agent, people, schema):
    assert isinstance(agent, hartley.Agent)
    assert "agent for people" in repr(agent)
    assert pickle.loads(pickle.dumps(hartley.Agent)) is hartley.Agent  # noqa: S301 - a class
    kinds = (hartley.Agent, TrustedAgent)
    opening, opened = [list(inspect.signature(kind).parameters) for kind in kinds]
    assert opening == ["data", *opened[1:]]
    asking, answering = [list(inspect.signature(kind.ask).parameters) for kind in kinds]
    assert asking == answering
    with pytest.raises(hartley.OptionError, match="neither a path, an address nor an open"):
        hartley.Agent(people, schema, ledger=agent.ledger.trusted, budget=4)


def test_a_trusted_agent_takes_what_is_open(people, schema, ledger):
    read = hartley.Schema.read(schema)
    with hartley.open_ledger(ledger) as opened:
        table = hartley.open_table(people)
        agent = TrustedAgent(table, read, ledger=opened.trusted, budget=12)
        assert agent.ask(OLDER).bits == 1
        agent.update(hartley.open_table(people))
        assert opened.state("people").balance.spent_bits == 3  # the open column twice
        agent.close()
        assert opened.datasets() == ["people"]  # an agent does not close a ledger it was given


def test_the_first_problem_is_reported_as_it_comes_up(people, schema, tmp_path):
    """A schema before a ledger, a ledger before the data, and nothing is left behind."""
    nowhere, text = tmp_path / "missing.csv", tmp_path / "text.db"
    text.write_text("no ledger " * 100)
    with pytest.raises(hartley.HartleyError, match="schema"):
        hartley.Agent(nowhere, tmp_path / "missing.toml", ledger=text, budget=1)
    with pytest.raises(hartley.HartleyError, match="ledger"):
        hartley.Agent(nowhere, schema, ledger=text, budget=1)
    draft = schema | {"table": {"name": "people", "draft": True}}
    with pytest.raises(hartley.HartleyError, match="draft"):
        hartley.Agent(nowhere, draft, ledger=tmp_path / "ledger.db", budget=1)
    with pytest.raises(hartley.HartleyError, match=r"missing\.csv"):
        hartley.Agent(nowhere, schema, ledger=tmp_path / "ledger.db", budget=1)
    with hartley.Agent(people, schema, ledger=tmp_path / "ledger.db", budget=4) as agent:
        with pytest.raises(hartley.HartleyError, match="keep the name"):
            agent.change_schema(schema | {"table": {"name": "others"}}, nowhere)
        with pytest.raises(hartley.HartleyError, match=r"missing\.csv"):
            agent.change_schema(schema, nowhere)


def test_a_plan_of_the_agent_is_what_it_charges(agent):
    planned = agent.plan([MEDIAN, OLDER], budget=4)
    assert planned == hartley.plan([MEDIAN, OLDER], agent, budget=4)
    spent = agent.spent
    assert agent.ask(planned.wishes).bits == planned.bits <= 4
    assert agent.spent == pytest.approx(spent + planned.bits)
    assert agent.plan(planned.wishes).bits == 0  # all of it is known now


def test_a_plan_counts_what_was_spent_on_each_type(agent):
    """Questions about the north leave the south untouched, so they cost nothing there."""
    texts = ["SELECT MEDIAN(age) FROM people WHERE area = '{}'", f"{OLD} AND area = '{{}}'"]
    north, south = ([text.format(area) for text in texts] for area in ("north", "south"))
    both, one = agent.plan([*north, *south], bits=3), agent.plan(north, bits=3)
    assert both.batch == one.batch
    assert both.given.total == one.given.total
    assert both.best.total == one.best.total
    for text in north:
        agent.ask(text, bits=3)
    planned = agent.plan(south, bits=3, budget=0)
    assert (planned.bits, planned.excluded) == (0, ())
    planned = agent.plan([*south, MEDIAN], bits=2)
    assert agent.ask(planned.wishes)[0].bits == planned.bits > 0


def test_a_plan_takes_a_least_number_of_rows(agent):
    planned = agent.plan([AVERAGE, OLDER], error=10, min_rows=3)
    assert [wish.min_rows for wish in planned.wishes] == [3, 3]
    assert "-- error=10, min_rows=3" in planned.to_sql()
    assert agent.plan(planned.to_sql()).bits == planned.bits
    assert planned.to_dict()["questions"][0]["min_rows"] == "3"
    assert "min_rows=3" in str(planned)
    with pytest.raises(hartley.OptionError, match="without an error"):
        agent.plan([AVERAGE], budget=3, min_rows=3)


def test_a_curve_of_the_agent_says_what_is_due(agent):
    curve = agent.curve(MEDIAN, bits=3)
    assert curve == hartley.price_curve(MEDIAN, agent, bits=3)
    assert curve.next_point.cells > curve.asked == 8
    agent.ask(MEDIAN, bits=3)
    assert agent.curve(MEDIAN, bits=3).at(3).due == 1
    assert agent.curve(AVERAGE, error=10, min_rows=3).asked > 1


def test_only_the_own_account_counts(agent):
    agent.allow("ann", 4)
    agent.ask(MEDIAN, bits=3, analyst="ann")
    assert agent.plan([MEDIAN], bits=3, analyst="ann").bits == 0
    assert agent.plan([MEDIAN], bits=3).bits == 3
    assert agent.curve(MEDIAN, analyst="ann").at(3).due == 1
    assert agent.curve(MEDIAN).at(3).due == 8


def test_a_closed_agent_does_not_plan(people, schema, ledger):
    with hartley.Agent(people, schema, ledger=ledger, budget=12) as opened:
        pass
    for verb in (opened.plan, opened.curve):
        with pytest.raises(hartley.OptionError, match="closed"):
            verb(MEDIAN)


@pytest.mark.parametrize("ledger", [5, None, [], b"ledger.db"])
def test_what_is_no_ledger_is_refused_with_a_sentence(ledger):
    with pytest.raises(OptionError, match="neither a path, an address nor an open ledger"):
        Agent(TABLE, SCHEMA, ledger=ledger, budget=4)
    if ledger is not None:  # a price needs none
        with pytest.raises(OptionError, match="neither a path, an address nor an open ledger"):
            hartley.price("SELECT COUNT(*) FROM people", SCHEMA, ledger=ledger)


def test_a_quote_is_of_one_version_even_if_another_replaces_it_meanwhile(tmp_path, monkeypatch):
    plan, make_quote, used = PriceDesk.plan, quoting.quote, []

    def replaced_meanwhile(desk, *about):
        used.append(desk)
        plans = plan(desk, *about)
        agent.update({"age": [*TABLE["age"], 17]})
        return plans

    def noted(desk, *about, **more):
        used.append(desk)
        return make_quote(desk, *about, **more)

    monkeypatch.setattr(PriceDesk, "plan", replaced_meanwhile)
    monkeypatch.setattr(quoting, "quote", noted)
    with Agent(TABLE, SCHEMA, ledger=tmp_path / "ledger.db", budget=9) as agent:
        old = agent.desk
        agent.price("SELECT AVG(age) FROM people", bits=2)
        assert agent.desk is not old
    assert [desk is old for desk in used] == [True, True]
