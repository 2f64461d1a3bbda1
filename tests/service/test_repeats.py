"""Repeats: a kept reply is sent again only while it is what the ledger would give."""

import sqlite3

import pytest
from small_service import AVERAGE, COUNT, PEOPLE, replace_people, until, value

from hartley.trusted.ledger import sqlite


@pytest.fixture
def kept(live):
    """Count the replies that were kept and sent again."""
    sent, replies = [], live.app.state.cache
    original = replies.find

    async def find(key, token):
        body = await original(key, token)
        sent.append(body is not None)
        return body

    replies.find = find
    return sent


def repeat(api, text=AVERAGE, **wish):
    return api.ask(text, **wish or {"bits": 2}).json()


def test_a_repeat_is_kept_and_has_the_same_bytes(live, kept):
    api = live.api("ana")
    assert repeat(api)["bits"] == 2
    replies = [api.ask(bits=2).content]
    while not any(kept):  # a reply is kept after it was sent, so one more may be too early
        replies.append(api.ask(bits=2).content)
        assert len(replies) < 20
    assert len(set(replies)) == 1


def test_the_balance_is_right_after_every_own_charge(live):
    api = live.api("ana")
    for _ in range(3):
        repeat(api)
    assert api.ask(COUNT, bits=1).json()["spent_bits"] == 3
    assert repeat(api)["spent_bits"] == 3
    assert repeat(api)["remaining_bits"] == 7
    live.place.allow("ana", 12)  # by another process
    assert repeat(api)["remaining_bits"] == 9


def test_charges_of_others_leave_a_reply_as_it_is(live, kept):
    api = live.api("ana")
    while not any(kept):
        repeat(api)
    live.api("ben").ask(COUNT, bits=1)
    del kept[:]
    assert repeat(api)["remaining_bits"] == 8
    assert kept == [True]


def test_a_finer_answer_that_was_paid_for_later_is_given(live):
    api = live.api("ana")
    coarse = [repeat(api) for _ in range(3)][-1]["rows"][0]["AVG(age)"]
    fine = repeat(api, AVERAGE, bits=5)["rows"][0]["AVG(age)"]
    assert fine["error"] < coarse["error"]
    assert repeat(api)["rows"][0]["AVG(age)"] == fine


def test_tokens_grants_and_accounts_are_looked_at_every_time(live, kept):
    issued = live.place.issue("ana")
    api, owner = live.api(token=issued.text), live.api("owner")
    while not any(kept):
        repeat(api)
    owner.delete("/v1/accounts/ana/datasets/people")
    until(lambda: api.ask(bits=2).status_code == 404, 1)
    owner.put("/v1/accounts/ana/datasets/people")
    until(lambda: api.ask(bits=2).status_code == 200, 1)
    repeat(api)
    owner.delete(f"/v1/tokens/{issued.token_id}")
    until(lambda: api.ask(bits=2).status_code == 401, 1)


def test_a_reply_belongs_to_one_token_and_one_body(live, kept):
    for _ in range(3):
        repeat(live.api("ana"))
    assert live.api("ben").ask(bits=2).json()["bits"] == 2
    price = live.api(token=live.place.issue("ana", "price").text)
    assert price.ask(bits=2).status_code == 403
    del kept[:]
    assert repeat(live.api("ana"), bits=2, vacuous=True)["bits"] == 0
    assert kept == [False]


def test_a_new_version_makes_a_reply_invalid(live):
    api = live.api("ana")
    for _ in range(3):
        assert value(repeat(api, COUNT, error=0)) == 15
    replace_people(live.place.folder)
    added = live.api("owner").post(f"{PEOPLE}/versions", json={"erasure": True})
    assert added.status_code == 201
    assert value(repeat(api, COUNT, error=0)) == 8


def test_without_kept_replies_everything_comes_from_the_ledger(unkept):
    assert [repeat(unkept.api("ana"))["bits"] for _ in range(4)] == [2, 0, 0, 0]
    assert 'outcome="kept"' not in unkept.metrics()


# --- the file of a ledger under a running service: locked, replaced, or overwritten ---

OLDEST = "SELECT MAX(age) FROM people"


@pytest.fixture
def ana(live):
    client = live.api("ana")
    for _ in range(2):  # paid for, and kept as a repeat
        assert client.ask(bits=2).status_code == 200
    return client


def test_a_question_that_waits_for_another_process_says_so_and_others_go_on(
    ana, live, place, monkeypatch
):
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.02)
    another = sqlite3.connect(place.settings.ledger, isolation_level=None)
    another.execute("BEGIN IMMEDIATE")
    reply = ana.ask(OLDEST, bits=1)
    assert reply.status_code == 503
    assert "another process holds the lock of the ledger" in reply.json()["error"]["message"]
    assert str(place.folder) not in reply.text
    assert ana.ask(bits=2).json()["bits"] == 0
    assert live.api().get("/healthz").status_code == 200
    another.execute("ROLLBACK")
    another.close()
    assert ana.ask(OLDEST, bits=1).json()["bits"] == 1


def renamed(ledger):
    ledger.with_name("other.db").write_bytes(ledger.read_bytes())
    ledger.with_name("other.db").rename(ledger)


def overwritten(ledger):
    ledger.write_bytes(bytes(len(ledger.read_bytes())))


@pytest.mark.parametrize("way", [renamed, overwritten])
def test_nothing_is_shown_from_another_file(ana, live, place, way):
    way(place.folder / "ledger.db")
    for ending in ("-wal", "-shm"):
        (place.folder / f"ledger.db{ending}").unlink()
    assert "was replaced" in ana.ask(OLDEST, bits=1).json()["error"]["message"]
    until(lambda: ana.ask(bits=2).status_code == 503, 1)
    until(lambda: live.api().get("/readyz").status_code == 503, 1)
