"""Idempotency keys: one key is one request, charged once, whatever happens in between."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hartley import open_ledger
from hartley.agent.replay import verify_prices
from hartley.service.accounts import Accounts

ROOT = Path(__file__).parents[2]
AVERAGE = "SELECT AVG(age) FROM people"
COUNT = "SELECT COUNT(*) FROM people WHERE ill = 'yes'"
STEPS = [
    "before the charge",
    "after the charge",
    "before the answer is recorded",
    "before the reply is kept",
]


def above(age):
    return COUNT.replace("ill = 'yes'", f"age > {age}")


def key(text):
    return {"Idempotency-Key": text}


def refused(reply):
    assert reply.status_code == 422
    assert "another request" in reply.json()["error"]["message"]
    return True


def spent(api):
    return api.get("/v1/datasets/people/budget").json()["spent_bits"]


def test_every_part_of_a_request_belongs_to_its_key(live):
    ana = live.api("ana")
    first = ana.ask(bits=1, headers=key("k")).json()
    assert first["bits"] == 1
    for change in (
        {"question": COUNT},
        {"bits": 2},
        {"given": []},
        {"vacuous": True},
    ):
        body = {"question": AVERAGE, "bits": 1} | change
        reply = ana.post("/v1/datasets/people/ask", json=body, headers=key("k"))
        assert refused(reply), change
    body = {"questions": [AVERAGE], "bits": 1}
    assert refused(ana.post("/v1/datasets/people/ask", json=body, headers=key("k")))
    assert spent(ana) == 1


def test_a_free_reply_binds_its_key(live):
    ana = live.api("ana")
    ana.ask(bits=1)
    free = ana.ask(bits=1, headers=key("k")).json()
    assert free["bits"] == 0
    assert refused(ana.ask(COUNT, bits=1, headers=key("k")))
    assert ana.ask(bits=1, headers=key("k")).json() == free
    assert spent(ana) == 1


def test_a_refused_request_binds_nothing(live):
    live.place.allow("ana", 1)
    ana = live.api("ana")
    assert ana.ask(bits=6, headers=key("k")).status_code == 409
    live.place.allow("ana", 8)
    assert ana.ask(bits=6, headers=key("k")).json()["bits"] == 6
    assert ana.ask(bits=6, headers=key("k")).json()["bits"] == 6
    assert spent(ana) == 6


def test_equal_requests_at_once_show_one_charge(live):
    ana = live.api("ana")
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(lambda: ana.ask(bits=2, headers=key("k"))) for _ in range(8)]
        replies = [each.result() for each in asked]
    assert {reply.status_code for reply in replies} == {200}
    assert {reply.json()["bits"] for reply in replies} == {2}
    assert spent(ana) == 2


def test_different_requests_of_one_key_at_once_are_charged_once(live):
    ana, texts = live.api("ana"), [above(age) for age in range(6)]
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(lambda t=t: ana.ask(t, bits=1, headers=key("k"))) for t in texts]
        statuses = [each.result().status_code for each in asked]
    assert sorted(statuses) == [200, 422, 422, 422, 422, 422]
    assert spent(ana) == 1


def test_a_request_that_was_charged_for_a_replaced_version_is_not_charged_again(live, monkeypatch):
    ana = live.api("ana")

    def fail(*_):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Accounts, "keep_reply", fail)
        assert ana.ask(bits=1, headers=key("k")).status_code == 500
    assert spent(ana) == 1
    live.api("owner").post("/v1/datasets/people/versions", json={})
    reply = ana.ask(bits=1, headers=key("k"))
    assert reply.status_code == 422
    assert "charged again" in reply.json()["error"]["message"]
    assert spent(ana) == 1


# --- kills ---


def kill_at(place, step, text, questions):
    """Ask in a process that is killed at a step."""
    words = [sys.executable, str(Path(__file__).with_name("keyed_driver.py"))]
    words += [str(place.folder / "config.toml"), place.tokens["ana"], step, text]
    done = subprocess.run(
        [*words, json.dumps(questions)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def check_steps(place, served_here, steps):
    """Kill at each step; the same request afterwards shows the charge that was made, once."""
    place.allow("ana", 20)
    for number, step in enumerate(steps):
        single = [[above(10 * number + 5), "1"]]
        batch = [[above(10 * number + at), "1"] for at in (8, 9)]
        kill_at(place, step, f"one {number}", single)
        kill_at(place, step, f"several {number}", batch)
    with served_here(place) as live:
        ana = live.api("ana")
        for number, step in enumerate(steps):
            before = spent(ana)
            text = above(10 * number + 5)
            reply = ana.ask(text, bits="1", headers=key(f"one {number}"))
            assert (reply.status_code, reply.json()["bits"]) == (200, 1), step
            assert ana.ask(text, bits="1", headers=key(f"one {number}")).json() == reply.json()
            assert ana.ask(text, bits="1").json()["bits"] == 0
            assert refused(ana.ask(COUNT, bits="1", headers=key(f"one {number}")))
            charged = step == "before the charge"
            assert spent(ana) == pytest.approx(before + charged, abs=1e-9)
            questions = [{"question": above(10 * number + at), "bits": "1"} for at in (8, 9)]
            reply = ana.ask(None, questions=questions, headers=key(f"several {number}")).json()
            assert reply["bits"] > 0, step
            assert {each["bits"] for each in reply["answers"]} == {reply["bits"]}
        rows = ana.get("/v1/datasets/people/history").json()["rows"]
        assert len(rows) == 2 * len(steps)
    with open_ledger(place.settings.ledger) as ledger:
        assert verify_prices(ledger).holds


@pytest.mark.slow
def test_a_kill_between_the_charge_and_the_reply(a_place, served_here):
    check_steps(a_place(), served_here, STEPS)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_a_kill_between_the_charge_and_the_reply_on_postgresql(a_place, served_here, database):
    check_steps(a_place(ledger=database.address), served_here, STEPS[1:3])
