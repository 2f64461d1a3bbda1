"""A question that takes longer than its time limit: charged once, pending, and then finished."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from slow_engine import EndlessStatements

from hartley import open_ledger
from hartley.agent.replay import verify_prices
from hartley.engines.duckdb import EmbeddedStore

ROOT = Path(__file__).parents[2]
COUNT = "SELECT COUNT(*) FROM people WHERE ill = 'yes'"
TRUTH = 15
SETTINGS = "question_seconds = 2\npending_seconds = 900\nengine_lanes = 1\nqueue = 4"


@pytest.fixture
def endless(monkeypatch):
    """Make statements endless while it is on; nothing runs on after the test."""
    statements = EndlessStatements()
    monkeypatch.setattr(EmbeddedStore, "run", statements.run)
    yield statements
    statements.release()


@pytest.fixture
def asked(wait_until):
    """Ask until a reply has a code; on a busy machine a question is late before its charge."""

    def ask_until(api, code, question=COUNT):
        replies = []

        def ask():
            replies.append(api.ask(question, bits=1).json())
            seen = replies[-1].get("error", {"code": "answered"})["code"]
            assert seen in {code, "busy", "pending"}, replies[-1]
            return seen == code

        wait_until(ask)
        return replies[-1]

    return ask_until


def check_charged_once(place, api):
    (row,) = api.get("/v1/datasets/people/history").json()["rows"]
    assert (row["bits"], row["answered"]) == (1, True)
    with open_ledger(place.settings.ledger) as ledger:
        assert verify_prices(ledger).holds
        assert not ledger.pending("people")


def value(content):
    return content["rows"][0]["COUNT(*)"]["value"]


@pytest.mark.slow
def test_a_question_over_the_limit_is_charged_once_and_finished(
    a_place, served_here, asked, endless
):
    place = a_place(service=SETTINGS)
    with served_here(place) as live:
        ana, ben, lanes = live.api("ana"), live.api("ben"), live.app.state.service.lanes
        endless.on.set()
        asked(ana, "pending")
        assert lanes._finishing is not None
        computed = endless.count
        asked(ana, "pending")  # it is waited for, and not computed twice
        assert endless.count == computed
        assert ana.get("/v1/datasets/people/budget").json()["spent_bits"] == 1
        endless.on.clear()
        # The only lane is free, for the same account and for others.
        other = "SELECT COUNT(*) FROM people WHERE age > 50"
        assert asked(ben, "answered", other)["bits"] == 1
        assert lanes._finishing is not None
        with ThreadPoolExecutor(1) as pool:
            finished = pool.submit(asked, ana, "answered")  # shown as soon as it is finished
            endless.release()
            finished = finished.result(100)
        assert (finished["bits"], finished["spent_bits"], value(finished)) == (0, 1, TRUTH)
        assert lanes._finishing is None
        assert endless.count == computed  # its answer was recorded, and is a repeat now
        check_charged_once(place, ana)


@pytest.mark.slow
def test_a_service_that_ends_does_not_wait_for_what_is_being_finished(
    a_place, served_here, asked, endless
):
    place = a_place(service=SETTINGS)
    with served_here(place) as live:
        endless.on.set()
        asked(live.api("ana"), "pending")
        assert live.app.state.service.lanes._finishing is not None
    endless.on.clear()
    with open_ledger(place.settings.ledger) as ledger:
        assert len(ledger.pending("people")) == 1
    with served_here(place) as live:
        finished = asked(live.api("ana"), "answered")
        assert (finished["bits"], finished["spent_bits"], value(finished)) == (0, 1, TRUTH)
        check_charged_once(place, live.api("ana"))


@pytest.mark.slow
def test_a_worker_that_is_killed_while_it_finishes_loses_nothing(
    a_place, served_here, asked, endless
):
    place = a_place(service=SETTINGS)
    words = [sys.executable, str(Path(__file__).with_name("pending_driver.py"))]
    killed = subprocess.run(
        [*words, str(place.folder / "config.toml"), place.tokens["ana"], COUNT],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with served_here(place) as live:
        ana, lanes = live.api("ana"), live.app.state.service.lanes
        assert ana.get("/v1/datasets/people/budget").json()["spent_bits"] == 1
        endless.on.set()
        asked(ana, "pending")  # paid for by the worker that was killed, and late again
        assert lanes._finishing is not None
        endless.release()
        finished = asked(ana, "answered")
        assert (finished["bits"], finished["spent_bits"], value(finished)) == (0, 1, TRUTH)
        check_charged_once(place, ana)
