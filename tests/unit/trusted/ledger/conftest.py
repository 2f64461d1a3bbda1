"""The stores that every promise of the ledger holds on, and rows that show all that can happen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hartley import open_ledger

sys.path.insert(0, str(Path(__file__).parent))  # modules beside the tests

from forgeries import DRUGS, ask, tool, write_rich

from servers import ON_SERVER

SCHEMA = {"name": "people", "columns": {"age": {"kind": "private", "range": ["0", "120"]}}}
TABLES = ("hartley_entries", "hartley_asked", "hartley_answers", "hartley_head")
DRIVER = Path(__file__).with_name("driver.py")


@pytest.fixture(params=[ON_SERVER])
def on_server(postgres_place):
    """The store on a server alone."""
    return postgres_place


@pytest.fixture
def ledger(place):
    """An open ledger with a dataset of 8 bits."""
    with open_ledger(place.fresh()) as opened:
        opened.record("people", "created", {"bits": 8, "schema": SCHEMA, "rows": 5000})
        yield opened


@pytest.fixture
def two():
    """The price of two answers for each new question."""
    return lambda new: 2 ** len(new)


@pytest.fixture
def about():
    """What is said of a new dataset: about(bits, ...)."""
    return lambda bits=8, **more: {"bits": bits, "schema": SCHEMA, "rows": 5000, **more}


def fill(ledger):
    """Let everything happen once: 14 rows."""
    ledger.record(
        "people", "created", {"bits": "12.5", "schema": SCHEMA, "rows": 50, "open_factor": 3}
    )
    ledger.record("people", "allowance", {"analyst": "ann", "bits": 4})
    first = ledger.reserve("people", "ann", [{"q": 1}, {"q": 2}], lambda new: 2 * len(new))
    ledger.commit(first, ["5", None])
    second = ledger.reserve("people", "bob", [{"q": 2}, {"q": 3}], lambda new: 2 * len(new))
    ledger.commit(second, [None, "0"])
    ledger.record("other", "created", {"bits": 2, "schema": {}, "rows": None})
    ledger.reserve("other", None, [{"q": 1}], lambda _: 3, note="SELECT COUNT(*) FROM other")
    ledger.record("people", "budget", {"bits": 15})
    ledger.record("people", "version", {"rows": 51})
    ledger.record("people", "schema", {"schema": {**SCHEMA, "more": 1}, "open_charge": 1})
    ledger.reserve("people", "bob", [{"q": 3}], lambda _: 2)
    ledger.record("people", "erasure", {"rows": 50, "open_factor": 2})
    ledger.record("people", "allowance", {"analyst": "ann", "bits": "9/2"})
    return 14


@pytest.fixture
def filled():
    """Write rows that show all that can happen: filled(ledger) -> how many."""
    return fill


@pytest.fixture
def drive():
    """Run many processes against a ledger: drive(mode, address, **settings) -> what they saw."""

    def run(mode, address, **settings):
        words = [sys.executable, str(DRIVER), mode, address, json.dumps(settings)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=150)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


# --- verifiers ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("verifier")


@pytest.fixture(scope="module")
def rich(folder):
    with open_ledger(folder / "rich.db") as ledger:
        write_rich(ledger)
        assert ledger.verify().holds
        return ledger.entries()


@pytest.fixture
def run(capsys):
    """Run the tool: run(path, ...) -> exit code, what it printed."""

    def call(*words):
        code = tool.main([str(word) for word in words])
        return code, capsys.readouterr().out

    return call


@pytest.fixture(scope="module")
def spender(folder):
    """A dataset of a population, an allowance that 5 * 7 were charged to, 35 * 3 in all."""
    with open_ledger(folder / "spender.db") as ledger:
        ledger.record("town", "population", {"bits": 30})
        about = {"bits": 20, "schema": DRUGS, "rows": 9, "open_factor": 3}
        ledger.record("drugs", "created", about)
        ledger.record("drugs", "allowance", {"analyst": "ann", "bits": 9})
        ask(ledger, "drugs", "ann", [1], 5)
        ask(ledger, "drugs", "ann", [2], 7)
        return ledger.entries()
