"""Many threads and processes at once, and processes that are killed."""

import importlib.util
import json
import math
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hartley import Agent, open_ledger
from hartley.agent.replay import verify_prices
from hartley.errors import InputError, Refused
from hartley.exact import floor_power
from hartley.trusted.agent import TrustedAgent

DRIVER = Path(__file__).with_name("agent_driver.py")
BITS = "20.5"
KEYS = 20


@pytest.fixture(scope="module")
def driver():
    """The module that the processes run, for its tables and questions."""
    spec = importlib.util.spec_from_file_location("agent_driver", DRIVER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def right(driver, tmp_path_factory):
    """What each question is answered by an agent that is asked by nobody else."""
    address = tmp_path_factory.mktemp("alone") / "ledger.db"
    with Agent(driver.table(0), driver.SCHEMA, ledger=address, budget=1000) as agent:
        return {key: driver.shown(agent.ask(driver.asked([key]))[0]) for key in range(KEYS)}


def check(driver, address, found, right):
    """Everybody saw the same true answers; the ledger is exact, full, and never over."""
    assert found["failed"] == []
    assert all(answer == right[key] for key, answer in found["shown"])
    assert all(requested > remaining for requested, remaining in found["refused"])
    with open_ledger(address) as ledger:
        report = verify_prices(ledger)
        assert report.holds, report.problem
        assert report.unpriced == 0
        charges, state = ledger.history("people"), ledger.state("people")
        assert report.repriced == len(charges)
        assert ledger.pending("people") == []
    # The largest product over the public types, not the product of the largest charges.
    spent = math.prod(charge.due for charge in charges)
    assert spent <= math.prod(charge.cells for charge in charges)
    assert state.spent == spent
    assert state.open_factor * spent <= floor_power(BITS)
    questions = [json.dumps(q) for charge in charges for q in charge.questions]
    assert len(questions) == len(set(questions)), "a question was charged twice"
    paid = {key for key, _ in found["shown"]}
    refused = set(range(KEYS)) - paid
    assert paid
    assert refused
    left = floor_power(BITS) // (state.open_factor * spent)
    assert all(driver.price_of([key]) > left for key in refused)


@pytest.mark.slow
def test_8_processes_of_8_threads_spend_exactly_and_never_too_much(driver, right, tmp_path):
    address = str(tmp_path / "ledger.db")
    settings = {"processes": 8, "threads": 8, "keys": KEYS, "bits": BITS}
    words = [sys.executable, str(DRIVER), "at_once", address, json.dumps(settings)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    check(driver, address, json.loads(done.stdout), right)


@pytest.mark.slow
def test_64_threads_spend_exactly_and_never_too_much(driver, right, tmp_path):
    address = tmp_path / "ledger.db"
    with Agent(driver.table(0), driver.SCHEMA, ledger=address, budget=BITS) as agent:
        found = driver.ask_in_threads(agent, 1, 64, KEYS)
    check(driver, address, found, right)


@pytest.mark.slow
def test_who_asks_while_the_data_are_replaced_gets_one_version_or_the_other(driver, tmp_path):
    """Every answer belongs to the version that it was charged under, never to a mixture."""
    text = "SELECT COUNT(*), SUM(age) FROM people WHERE age <> {}"
    tables = {rows: driver.table(rows, rows) for rows in (100, 150, 200, 250)}
    seen, failed, stop = [], [], threading.Event()

    def run(number):
        key = number * 25
        try:
            while not stop.is_set():
                try:
                    answer = agent.ask(text.format(key % 101), error=0)
                except Refused as refused:
                    assert "in the meantime" in refused.problem  # noqa: PT017 - one of two outcomes
                    continue
                seen.append((key % 101, *(one.value for one in answer.reading.rows[0])))
                key += 1
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(repr(error))

    with Agent(tables[100], driver.SCHEMA, ledger=tmp_path / "l.db", budget=90_000) as agent:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for rows in (150, 200, 250):
            agent.update(tables[rows])
        stop.set()
        for thread in threads:
            thread.join()
        assert verify_prices(agent.ledger).holds
        assert agent.ledger.pending("people") == []
    assert failed == []
    ages = {rows: table["age"].to_pylist() for rows, table in tables.items()}
    possible = {
        (key, sum(age != key for age in of), sum(age for age in of if age != key))
        for of in ages.values()
        for key in range(101)
    }
    assert set(seen) <= possible
    assert seen


def test_threads_open_one_copy_at_the_same_time(ledger, people, schema):
    Agent(people, schema, ledger=ledger, budget=9).close()
    together = threading.Barrier(4)

    def opened():
        together.wait()
        return Agent(None, schema, ledger=ledger)

    for _ in range(5):
        with ThreadPoolExecutor(4) as pool:
            agents = [each.result() for each in [pool.submit(opened) for _ in range(4)]]
        for agent in agents:
            agent.close()


def test_who_priced_before_the_data_were_replaced_is_told_so(driver, tmp_path, monkeypatch):
    """The copy of the former data is gone by the time that it is looked at."""
    with Agent(driver.table(100, 1), driver.SCHEMA, ledger=tmp_path / "l.db", budget=90) as agent:
        held = agent.trusted.data
        agent.ask("SELECT COUNT(*) FROM people WHERE age <> 3", error=0)
        agent.update(driver.table(150, 2))
        look_up, looked = type(held.desk).look_up, []

        def before_the_update(*args, **given):
            """Look up as if the data were not replaced yet, the first time."""
            looked.append(given)
            return look_up(*args, **given if len(looked) > 1 else given | {"version": None})

        def gone(_):
            raise InputError("There is no coded copy that can be read", hint="")

        monkeypatch.setattr(type(held.desk), "look_up", before_the_update)
        monkeypatch.setattr(type(held.coded), "check_unchanged", gone)
        monkeypatch.setattr(TrustedAgent, "data", held)
        with pytest.raises(Refused, match="in the meantime"):
            agent.ask("SELECT COUNT(*) FROM people WHERE age <> 4", error=0)
        assert len(looked) == 2


# --- agent crash ---


def drive(mode, address, **settings):
    words = [sys.executable, str(DRIVER), mode, str(address), json.dumps(settings)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kills", "seed"), [(30, 1000), pytest.param(200, 2000, marks=pytest.mark.long)]
)
def test_nothing_is_lost_or_charged_twice_when_asking_is_killed(tmp_path, kills, seed):
    outcome = drive("killed", tmp_path / "ledger.db", rounds=kills, seed=seed)
    assert outcome["problem"] is None
    assert outcome["kills"] == kills
    assert outcome["pending"] > kills / 20, "some are killed between the charge and the answer"
    assert outcome["shown"] > kills / 2
    assert outcome["charges"] > kills / 4


@pytest.mark.slow
def test_a_version_is_there_whole_or_not_at_all_when_replacing_is_killed(tmp_path):
    found = drive("replaced", tmp_path / "ledger.db", rounds=6, seed=3000)
    assert found["problem"] is None
    assert found["versions"] > 0
    left = [path.name for path in tmp_path.iterdir() if path.suffix == ".duckdb"]
    assert left
