"""Idempotency keys: one key is one request, charged once, whatever happens in between."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from small_service import AVERAGE, COUNT, PEOPLE, above, ask_and_die, error_of, live_in_thread

from hartley.service.accounts import Accounts

STEPS = [
    "before the charge",
    "after the charge",
    "before the answer is recorded",
    "before the reply is kept",
]


def key(text):
    return {"Idempotency-Key": text}


def refused(reply):
    return "another request" in error_of(reply, 422, "invalid")["message"]


def test_every_part_of_a_request_belongs_to_its_key(live):
    ana = live.api("ana")
    first = ana.ask(bits=1, headers=key("k")).json()
    assert first["bits"] == 1
    for change in ({"question": COUNT}, {"bits": 2}, {"given": []}, {"vacuous": True}):
        assert refused(ana.ask(headers=key("k"), **{"bits": 1} | change)), change
    assert refused(ana.ask(None, questions=[AVERAGE], bits=1, headers=key("k")))
    assert ana.ask(bits=1, headers=key("k")).json() == first
    assert ana.spent == 1
    assert live.api("ben").ask(bits=1, headers=key("k")).json()["spent_bits"] == 1


def test_a_free_reply_binds_its_key(live):
    ana = live.api("ana")
    ana.ask(bits=1)
    free = ana.ask(bits=1, headers=key("k")).json()
    assert free["bits"] == 0
    assert refused(ana.ask(COUNT, bits=1, headers=key("k")))
    assert ana.ask(bits=1, headers=key("k")).json() == free
    assert ana.spent == 1


def test_a_refused_request_binds_nothing(live):
    live.place.allow("ana", 1)
    ana = live.api("ana")
    assert ana.ask(bits=6, headers=key("k")).status_code == 409
    live.place.allow("ana", 8)
    assert ana.ask(bits=6, headers=key("k")).json()["bits"] == 6
    assert ana.ask(bits=6, headers=key("k")).json()["bits"] == 6
    assert ana.spent == 6


def test_equal_requests_at_once_show_one_charge(live):
    ana = live.api("ana")
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(lambda: ana.ask(bits=2, headers=key("k"))) for _ in range(8)]
        replies = [each.result() for each in asked]
    assert {reply.status_code for reply in replies} == {200}
    assert {reply.json()["bits"] for reply in replies} == {2}
    assert ana.spent == 2


def test_different_requests_of_one_key_at_once_are_charged_once(live):
    ana, texts = live.api("ana"), [above(age) for age in range(6)]
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(lambda t=t: ana.ask(t, bits=1, headers=key("k"))) for t in texts]
        statuses = [each.result().status_code for each in asked]
    assert sorted(statuses) == [200, 422, 422, 422, 422, 422]
    assert ana.spent == 1


def test_a_request_that_was_charged_for_a_replaced_version_is_not_charged_again(live, monkeypatch):
    ana = live.api("ana")

    def fail(*_):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Accounts, "keep_reply", fail)
        assert ana.ask(bits=1, headers=key("k")).status_code == 500
    assert ana.spent == 1
    live.api("owner").post(f"{PEOPLE}/versions", json={})
    error = error_of(ana.ask(bits=1, headers=key("k")), 422, "invalid")
    assert "charged again" in error["message"]
    assert ana.spent == 1


# --- kills ---


def check_steps(place, steps):
    """Kill at each step; the same request afterwards shows the charge that was made, once."""
    place.allow("ana", 20)
    for number, step in enumerate(steps):
        single = [[above(10 * number + 5), "1"]]
        batch = [[above(10 * number + at), "1"] for at in (8, 9)]
        ask_and_die(place, step, f"one {number}", json.dumps(single))
        ask_and_die(place, step, f"several {number}", json.dumps(batch))
    with live_in_thread(place) as live:
        ana = live.api("ana")
        for number, step in enumerate(steps):
            before = ana.spent
            text = above(10 * number + 5)
            reply = ana.ask(text, bits="1", headers=key(f"one {number}"))
            assert (reply.status_code, reply.json()["bits"]) == (200, 1), step
            assert ana.ask(text, bits="1", headers=key(f"one {number}")).json() == reply.json()
            assert ana.ask(text, bits="1").json()["bits"] == 0
            assert refused(ana.ask(COUNT, bits="1", headers=key(f"one {number}")))
            charged = step == "before the charge"
            assert ana.spent == pytest.approx(before + charged, abs=1e-9)
            questions = [{"question": above(10 * number + at), "bits": "1"} for at in (8, 9)]
            reply = ana.ask(None, questions=questions, headers=key(f"several {number}")).json()
            assert reply["bits"] > 0, step
            assert {each["bits"] for each in reply["answers"]} == {reply["bits"]}
        rows = ana.history()
        assert len(rows) == 2 * len(steps)
    place.verify()


@pytest.mark.slow
def test_a_kill_between_the_charge_and_the_reply(a_place):
    check_steps(a_place(), STEPS)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_a_kill_between_the_charge_and_the_reply_on_postgresql(a_place, database):
    check_steps(a_place(ledger=database.address), STEPS[1:3])
