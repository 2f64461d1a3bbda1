"""An agent that is opened again, by another process, from another folder, with other data."""

# ruff: noqa: S608 - texts of questions

import json
import os
import subprocess
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hartley.agent.agent import Agent
from hartley.agent.ledger import open_ledger
from hartley.agent.replay import verify_prices
from hartley.engines import coded_table as copying
from hartley.errors import HartleyError, InputError, OptionError
from hartley.trusted import data as loading

OLD = "SELECT COUNT(*) FROM people WHERE age >= 50"


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
