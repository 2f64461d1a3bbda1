"""Stopping a statement that really is slow: it ends at once, and nothing else does."""

import threading

import duckdb
import pytest

from hartley.engines.coded_table import CodedTable, CodeStatement, Part, Stopped
from hartley.engines.codes import ColumnCoding
from hartley.engines.dialect import StatementStop, stoppable
from hartley.engines.duckdb import EmbeddedStore

LONG = "SELECT COUNT(*) AS n FROM range(100000000) a, range(100000000) b WHERE a.range <> b.range"
SHORT = "SELECT COUNT(*) AS n FROM range(7)"


@pytest.fixture
def store():
    opened = EmbeddedStore(duckdb.connect())
    yield opened
    opened.close()


class Statement(threading.Thread):
    """A statement in a thread of its own; ``entered`` once it is given to the engine."""

    def __init__(self, store, text, stop=None):
        super().__init__(daemon=True)
        self._fetch, self._text, self._stop_of_work = store.fetch, text, stop or StatementStop()
        self.entered, self.result = threading.Event(), None

    def run(self):
        with self._stop_of_work.present():
            self.entered.set()
            try:
                self.result = self._fetch(self._text)
            except Exception as error:  # noqa: BLE001 - what the engine raises
                self.result = error


def test_a_slow_statement_ends_and_the_store_stays_usable(store):
    stop = StatementStop()
    statement = Statement(store, LONG, stop)
    statement.start()
    assert statement.entered.wait(60)
    stop.stop()  # also before the engine has begun: then nothing begins
    statement.join(60)
    assert not statement.is_alive()
    assert store.dialect.was_stopped(statement.result)
    assert not store.dialect.passes_on_ctrl_c(statement.result)
    assert store.fetch(SHORT).to_pylist() == [{"n": 7}]
    with stop.present(), pytest.raises(InterruptedError):
        store.fetch(SHORT)  # of the work that was stopped
    with StatementStop().present():
        assert store.fetch(SHORT).to_pylist() == [{"n": 7}]


def test_only_the_statement_of_that_work_ends(store):
    """Two slow statements on one database: stopping the first leaves the second running."""
    stops = StatementStop(), StatementStop()
    first, second = (Statement(store, LONG, stop) for stop in stops)
    for statement in (first, second):
        statement.start()
        assert statement.entered.wait(60)
    stops[0].stop()
    first.join(60)
    assert store.dialect.was_stopped(first.result)
    assert second.is_alive()
    assert second.result is None
    assert store.fetch(SHORT).to_pylist() == [{"n": 7}]
    stops[1].stop()
    second.join(60)
    assert store.dialect.was_stopped(second.result)


def test_an_end_that_an_engine_forgets_is_repeated():
    """DuckDB clears the wish when a statement starts, so that one just before it is lost."""
    stop, heard, wishes = StatementStop(), threading.Event(), []

    def end():
        wishes.append(None)
        if len(wishes) == 3:
            heard.set()

    def work():
        with stop.present(), stoppable(end):
            running.set()
            assert heard.wait(60)

    running = threading.Event()
    thread = threading.Thread(target=work)
    thread.start()
    assert running.wait(60)
    stop.stop()  # returns when the statement has ended
    assert len(wishes) >= 3
    thread.join(60)
    stop.stop()
    assert heard.is_set()


def test_outside_of_such_work_nothing_changes(store):
    with stoppable(lambda: pytest.fail("nobody stops this")):
        assert store.fetch(SHORT).to_pylist() == [{"n": 7}]


def test_a_copy_says_that_a_statement_was_stopped(store):
    with store._connection.cursor() as cursor:
        cursor.execute("CREATE TABLE coded AS SELECT 1::TINYINT AS c0 FROM range(3)")
    coded = CodedTable((ColumnCoding("age", 2),), 3, "version", store)
    query = CodeStatement((), (Part("count rows"),))
    assert coded.run(query).to_pylist() == [{"v0": 3}]
    stop = StatementStop()
    stop.stop()
    with stop.present(), pytest.raises(Stopped):
        coded.run(query)
    assert coded.run(query).to_pylist() == [{"v0": 3}]
