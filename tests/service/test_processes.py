"""Real worker processes: the same cells as an agent, kills, new versions, the end, and the logs."""

import json
import os
import signal
import stat
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_service import AVERAGE, COUNT, PEOPLE, Api, above, error_of, replace_people, until, value

from hartley import Agent, open_ledger

pytestmark = pytest.mark.slow
QUESTIONS = [
    (AVERAGE, {"bits": 2}),
    (COUNT, {"bits": 1}),
    ("SELECT region, COUNT(*) FROM people WHERE age > 30 GROUP BY region", {"bits": 1}),
    ("SELECT MEDIAN(age) FROM people", {"error": "10"}),
]
GOOD = {200, 429, 503}


def test_the_life_of_a_service(a_place, serve, tmp_path):
    """One service for all of it, since every start of a process takes seconds."""
    place = a_place()
    live = serve(place)
    _same_cells_as_an_agent(live, place, tmp_path)
    _a_worker_is_killed_under_load(live, place)
    _a_revoked_token_is_refused_by_every_worker(live, place)
    _a_new_version_under_load(live, place)
    assert live.stop() == 0
    place.verify()
    with open_ledger(place.settings.ledger) as ledger:
        assert ledger.state("people").balance.holds(1)
    _search_for_secrets(live, place)


def _same_cells_as_an_agent(live, place, folder):
    with (
        open_ledger(folder / "own.db") as ledger,
        Agent(
            str(place.folder / "people.parquet"),
            place.folder / "people.toml",
            ledger=ledger,
            budget=40,
            place=str(folder / "own.duckdb"),
        ) as agent,
    ):
        agent.allow("ana", 10)
        for text, wish in QUESTIONS:
            reply = live.api("ana").ask(text, **wish).json()
            expected = agent.ask(text, analyst="ana", **wish).to_dict()
            assert set(reply) - set(expected) == {"table"}
            for name in expected.keys() - {"question_id"}:  # of the version, which is random
                assert reply[name] == json.loads(json.dumps(expected[name]))


def _a_worker_is_killed_under_load(live, place):
    """Everything that was shown stays, and nothing is charged twice."""
    place.allow("ben", 20)
    ben, shown = live.api("ben"), {}

    def ask(number):
        try:
            reply = ben.ask(above(number), bits="0.1", vacuous=True)
        except Exception:  # noqa: BLE001 - the connection of a worker that was killed
            return
        assert reply.status_code in GOOD, reply.text
        if reply.status_code == 200:
            shown[number] = reply.json()["rows"]

    first = live.workers()
    assert len(first) == 2
    with ThreadPoolExecutor(6) as pool:
        running = [pool.submit(ask, number % 20) for number in range(120)]
        os.kill(first[0], signal.SIGKILL)
        for each in running:
            each.result()
    live.wait_for_workers(3)
    until(lambda: len(live.workers()) == 2 and first[0] not in live.workers())
    live.close()
    live.clients.clear()
    assert shown
    for number, rows in shown.items():
        again = live.api("ben").ask(above(number), bits="0.1", vacuous=True).json()
        assert (again["bits"], again["rows"]) == (0, rows)


def _a_revoked_token_is_refused_by_every_worker(live, place):
    issued = place.issue("ana")
    clients = [Api(live.url, issued.text) for _ in range(8)]
    try:
        assert {client.get("/v1/me").status_code for client in clients} == {200}
        assert live.api("owner").delete(f"/v1/tokens/{issued.token_id}").status_code == 200
        until(lambda: {client.get("/v1/me").status_code for client in clients} == {401}, 1.0)
    finally:
        for client in clients:
            client.close()


def _a_new_version_under_load(live, place):
    """Workers open it and go on; no reply mixes two versions."""
    replace_people(place.folder, "second.parquet")
    ana, owner = live.api("ana"), live.api("owner")

    def count(_):
        reply = ana.ask(COUNT, error=0)
        assert reply.status_code in GOOD, reply.text
        return value(reply.json()) if reply.status_code == 200 else None

    with ThreadPoolExecutor(4) as pool:
        counts = [pool.submit(count, n) for n in range(60)]
        added = owner.post(f"{PEOPLE}/versions", json={"data": "second.parquet"})
        counts += [pool.submit(count, n) for n in range(60)]
        values = [each.result() for each in counts]
    assert added.status_code == 201
    assert set(values) <= {15, 8, None}
    assert [count(n) for n in range(6)] == [8] * 6
    text = live.metrics()  # of both workers together
    lines = [line for line in text.splitlines() if "questions_total{" in line]
    assert sum(float(line.split(" ")[1]) for line in lines) >= len(values)


def _search_for_secrets(live, place):
    log = live.lines() + live.out.read_text()
    for line in live.lines().splitlines():
        assert json.loads(line)["level"]
    for token in place.tokens.values():
        assert token not in log
        assert token.rpartition("_")[2] not in log
    assert "SELECT" not in log
    assert '"route": "/v1/datasets/{name}/ask"' in log


def test_the_first_start_with_a_table(tmp_path, start):
    pq.write_table(pa.table({"age": [1, 2, 3]}), tmp_path / "t.parquet")
    (tmp_path / "t.toml").write_text(
        '[table]\nname = "t"\n[columns.age]\nkind = "private"\nrange = [0, 9]\nstep = 1\n'
    )
    words = ("serve", tmp_path / "t.parquet", "--schema", tmp_path / "t.toml", "--budget", 8)
    live = start(tmp_path, *words, "--workers", 1, log="out.txt").wait_for_workers(1)
    text = live.out.read_text()
    # The address is told when somebody answers there, and the token in any case.
    assert text.index("owner.token") < text.index("startup complete") < text.index(" at http")
    path = tmp_path / "owner.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token = path.read_text().strip()
    assert token not in text  # a pipe ends in a log
    owner = live.api(token=token)
    assert owner.get("/v1/me").json()["role"] == "owner"
    body = {"dataset": "t", "account": "owner", "bits": 5}
    assert owner.put("/v1/allowances", json=body).status_code == 200
    reply = owner.ask("SELECT MAX(age) FROM t", dataset="t", error=0)
    assert reply.json()["rows"][0]["MAX(age)"]["value"] == 3
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert token.encode() not in command.read_bytes()
        except OSError:
            continue
    assert live.stop() == 0


def test_a_worker_that_is_killed_while_it_starts_stalls_nobody(a_place, serve):
    """The parent goes on at once: it starts another one, and hears SIGTERM."""
    live = serve(a_place(), workers=1)
    slow = 2 * live.start_seconds  # on a busy machine everything takes longer
    begun = time.monotonic()
    for _ in range(3):
        (worker,) = until(live.workers)
        os.kill(worker, signal.SIGKILL)  # the next ones are killed before they answer anything
        until(lambda worker=worker: live.workers() not in ([], [worker]), 10 + slow)
    live.wait_for_workers(2)
    assert time.monotonic() - begun < 25 + slow
    (worker,) = live.workers()
    os.kill(worker, signal.SIGKILL)
    until(lambda: live.workers() not in ([], [worker]), 10 + slow)
    begun = time.monotonic()
    assert live.stop() == 0
    assert time.monotonic() - begun < 10 + slow


def test_workers_end_with_their_parent(a_place, serve):
    """Nobody would replace them, and they would keep the address from a new start."""
    live = serve(a_place())
    workers = live.workers()
    assert len(workers) == 2
    os.kill(live.process.pid, signal.SIGKILL)
    live.process.wait(60)
    until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are set on Linux")
def test_a_disk_that_is_full_loses_nothing(a_place, serve):
    """A limit on the size of files stands for a full disk; it is lifted without a restart."""
    import resource

    place = a_place()
    live = serve(place, workers=1)
    ana = live.api("ana")
    before = ana.ask(bits=2).json()
    assert before["spent_bits"] == 2
    (worker,) = live.workers()
    _, hard = resource.prlimit(worker, resource.RLIMIT_FSIZE)
    resource.prlimit(worker, resource.RLIMIT_FSIZE, (4096, hard))
    refused = ana.ask("SELECT MAX(age) FROM people", bits=1)
    error_of(refused, 503, "unavailable")
    assert str(place.folder) not in refused.text
    assert live.api().get("/readyz").status_code == 503
    assert ana.ask(bits=2).json()["rows"] == before["rows"]
    resource.prlimit(worker, resource.RLIMIT_FSIZE, (hard, hard))
    again = ana.ask("SELECT MAX(age) FROM people", bits=1)
    assert again.json()["spent_bits"] == 3
    until(lambda: live.api().get("/readyz").status_code == 200)
    assert live.stop() == 0
    place.verify()
