"""A service whose ledger and accounts are in a real PostgreSQL, also while that restarts."""

import os
import signal

import httpx
import pytest
from small_service import COUNT, PEOPLE, Api, above, live_in_thread, until

from hartley import open_ledger
from hartley.errors import InputError
from hartley.service.server import prepare

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.xdist_group("postgres")]


def test_a_service_over_postgresql(a_place, database):
    place = a_place(ledger=f"{database.address}&password=c4nary")
    with live_in_thread(place) as live:
        ana, owner = live.api("ana"), live.api("owner")
        assert live.api().get("/readyz").json()["checks"]["ledger"] == "ok"
        assert [ana.ask(bits=2).json()["bits"] for _ in range(4)] == [2, 0, 0, 0]
        # A reply is kept after it was sent, so the next request may still be too early.
        until(lambda: ana.ask(bits=2) and 'outcome="kept"' in live.metrics())
        assert ana.ask(COUNT, bits=1).json()["spent_bits"] == 3
        assert ana.ask(bits=2).json()["remaining_bits"] == 7
        rows = ana.history()
        assert [row["bits"] for row in rows] == [2, 1]
        first = ana.answer(rows[0]["id"]).json()
        assert first["answers"][0]["rows"] == ana.ask(bits=2).json()["rows"]
        job = owner.post("/v1/ledger/verify").json()["job"]
        path = f"/v1/ledger/verify/{job}"
        assert until(lambda: "holds" in (r := owner.get(path).json()) and r)["holds"]

        # The server of the ledger goes away and comes back; nothing is lost or charged twice.
        database.stop()
        reply = ana.ask("SELECT MAX(age) FROM people", bits=1)
        assert (reply.status_code, reply.json()["error"]["code"]) == (503, "unavailable")
        said = reply.text + "".join(live.api().get(path).text for path in ("/readyz", "/metrics"))
        assert database.address not in said
        assert "c4nary" not in said
        assert live.api().get("/healthz").status_code == 200
        until(lambda: live.api().get("/readyz").status_code == 503)
        database.start()
        until(lambda: ana.ask("SELECT MAX(age) FROM people", bits=1).status_code == 200)
        assert ana.spent == 4
        assert [ana.ask(bits=2).json()["bits"] for _ in range(3)] == [0, 0, 0]

        issued = place.issue("ana")
        client = live.api(token=issued.text)
        assert client.ask(bits=2).status_code == 200
        owner.delete(f"/v1/tokens/{issued.token_id}")
        until(lambda: client.ask(bits=2).status_code == 401, 1)


def refused(reply):
    if reply.status_code == 200:
        return False
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (503, "unavailable")
    return "older than the one this service has used" in error["message"]


def test_a_backup_is_restored_under_a_running_service(a_place, database, tmp_path):
    """Nothing is charged twice and nothing that was shown is lost silently."""
    place = a_place(ledger=database.address)
    first, second = "SELECT MAX(age) FROM people", "SELECT MIN(age) FROM people"
    with live_in_thread(place) as live:
        ana, owner = live.api("ana"), live.api("owner")
        assert ana.ask(bits=2).json()["bits"] == 2
        database.dump(tmp_path / "old.sql")
        shown = ana.ask(first, bits=1).json()
        assert shown["bits"] == 1
        assert ana.ask(first, bits=1).json()["bits"] == 0
        database.dump(tmp_path / "new.sql")

        database.restore(tmp_path / "old.sql")
        assert refused(ana.ask(second, bits=1))  # in the transaction of the charge, at once
        until(lambda: refused(ana.ask(first, bits=1)))  # nor as if it had not been asked
        until(lambda: refused(ana.ask(bits=2)))  # which that ledger has, so within a second
        until(lambda: refused(ana.get(f"{PEOPLE}/budget")))
        assert refused(ana.get(f"{PEOPLE}/history"))
        assert refused(ana.price(bits=1))
        body = {"dataset": "people", "account": "ana", "bits": 12}
        assert refused(owner.put("/v1/allowances", json=body))
        assert refused(owner.post(f"{PEOPLE}/versions", json={}))
        until(lambda: live.api().get("/readyz").status_code == 503)
        assert "older than" in live.api().get("/readyz").json()["checks"]["ledger"]
        assert live.api().get("/healthz").status_code == 200
        with open_ledger(database.address) as ledger:
            assert ledger.state("people").allowances["ana"].spent == 4  # nothing was added to it

        # The newest ledger comes back, and the service goes on without a restart.
        database.restore(tmp_path / "new.sql")
        until(lambda: ana.ask(first, bits=1).status_code == 200)
        again = ana.ask(first, bits=1).json()
        assert (again["bits"], again["rows"]) == (0, shown["rows"])
        assert ana.spent == 3
        until(lambda: live.api().get("/readyz").status_code == 200)
        assert ana.ask(second, bits=1).json()["bits"] == 1

    # A service that starts on the old ledger refuses it, until the loss is accepted.
    database.restore(tmp_path / "old.sql")
    with pytest.raises(InputError, match="older than the one last used here"):
        prepare(place.settings)
    for note in place.folder.glob("hartley.*.head"):
        note.unlink()
    with live_in_thread(place) as live:
        assert live.api("ana").ask(first, bits=1).json()["bits"] == 1


def test_a_worker_that_was_idle_notices_what_another_has_seen(a_place, serve, database, tmp_path):
    place = a_place(ledger=database.address)
    live = serve(place, workers=2)
    database.dump(tmp_path / "old.sql")
    with Api(live.url, place.tokens["ana"]) as alone:
        assert alone.ask(bits=2).json()["bits"] == 2  # one of the two workers
    database.restore(tmp_path / "old.sql")
    for number in range(8):  # new connections, which reach both
        with Api(live.url, place.tokens["ana"]) as client:
            assert refused(client.ask(COUNT.replace("'yes'", "'no'"), bits=1)), number
    assert live.stop() == 0


def test_the_server_restarts_and_workers_are_killed_under_load(a_place, serve, database):
    """A small part of what the long test does: nothing lost, charged twice or told."""
    place = a_place(ledger=f"{database.address}&password=c4nary")
    live = serve(place, workers=2)
    shown = {}

    def ask(numbers):
        for number in numbers:
            headers = {"Idempotency-Key": f"n{number}"}
            try:
                with Api(live.url, place.tokens["ana"]) as client:
                    reply = client.ask(above(number), bits="0.1", vacuous=True, headers=headers)
            except httpx.TransportError:
                continue
            assert reply.status_code in {200, 429, 503}, reply.text
            if reply.status_code == 200:
                shown.setdefault(number, reply.json())
                assert reply.json()["rows"] == shown[number]["rows"]
                assert reply.json()["bits"] == shown[number]["bits"]

    ask(range(6))
    os.kill(live.workers()[0], signal.SIGKILL)
    ask(range(8))
    database.stop()
    ask(range(3))
    database.start()
    until(lambda: ask(range(10)) or len(shown) == 10, 60)
    assert live.stop() == 0
    assert "c4nary" not in live.log.read_text() + live.out.read_text()
    place.verify()
    with open_ledger(place.settings.ledger) as ledger:
        charges = ledger.history("people", "ana")
        assert len({charge.note for charge in charges}) == len(charges) == 10
