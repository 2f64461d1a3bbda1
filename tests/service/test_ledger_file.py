"""The file of a ledger under a running service: locked, replaced, or overwritten."""

import sqlite3

import pytest

from hartley.trusted.ledger import sqlite

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
def test_nothing_is_shown_from_another_file(ana, live, place, way, wait_until):
    way(place.folder / "ledger.db")
    for ending in ("-wal", "-shm"):
        (place.folder / f"ledger.db{ending}").unlink()
    assert "was replaced" in ana.ask(OLDEST, bits=1).json()["error"]["message"]
    wait_until(lambda: ana.ask(bits=2).status_code == 503, 1)
    wait_until(lambda: live.api().get("/readyz").status_code == 503, 1)
