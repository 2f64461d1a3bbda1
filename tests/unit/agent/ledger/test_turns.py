"""Processes that write to a ledger of SQLite take turns."""

import sqlite3

import pytest

from hartley.errors import EngineError
from hartley.trusted.ledger import sqlite, sqlite as write_ahead_log


@pytest.fixture
def store(tmp_path):
    opened = sqlite.SqliteLedgerStore(tmp_path / "ledger.db")
    yield opened
    opened.close()


def write(store):
    return store.write(lambda transaction: transaction.run("SELECT 7", ()))


@pytest.fixture
def another(store):
    """A connection as of another process, which is writing to the same file."""
    connection = sqlite3.connect(store.path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


def test_a_writer_waits_until_the_other_one_is_done(store, another, monkeypatch):
    looks = []

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            another.execute("COMMIT")

    monkeypatch.setattr(sqlite.time, "sleep", sleep)
    assert write(store) == [(7,)]
    assert len(looks) == 3
    assert min(looks) >= write_ahead_log.LOOK_SECONDS


def test_a_writer_that_waited_too_long_is_refused_and_can_write_later(store, another, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", -1.0)
    with pytest.raises(EngineError, match="Another process holds the lock"):
        write(store)
    another.execute("COMMIT")
    assert write(store) == [(7,)]


def test_other_statements_wait_by_themselves(store):
    write(store)
    with store.pool.lend() as connection:
        (wait,) = connection.execute("PRAGMA busy_timeout").fetchone()
    assert wait == 1000 * sqlite.BUSY_SECONDS
