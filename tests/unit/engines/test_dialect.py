"""Batches have the types that a query declares, and a statement that is stopped ends at once."""

from __future__ import annotations

import threading

import duckdb
import ibis
import pyarrow as pa
import pytest

from hartley import open_table
from hartley.engines.coded_table import CodedTable, CodeStatement, Part, Stopped, code_table
from hartley.engines.codes import ColumnCoding
from hartley.engines.dialect import StatementStop, batches, reader, stoppable
from hartley.engines.duckdb import EmbeddedStore
from hartley.errors import EngineError, TableError
from hartley.tables.counts import coded_rows, mixed_radix
from hartley.tables.view import prepare

# --- Batches have the types that a query declares, whatever the engine sends ----------------------


NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8]


def lying(declared: pa.DataType, sent: pa.DataType, values: list[int]) -> pa.RecordBatchReader:
    """Return a reader that declares another type than it sends, as Ibis makes them."""
    batch = pa.record_batch({"a": pa.array(values, sent)})
    return pa.RecordBatchReader.from_batches(pa.schema([("a", declared)]), [batch])


def small_literals() -> ibis.Table:
    """Return a query whose declared 8 bits DuckDB sends as 32."""
    table = open_table({"a": NUMBERS}).expression
    return table.select(a=ibis.cases(*((table.a == number, number) for number in NUMBERS)))


def test_ibis_sends_other_types_than_it_declares():
    """The reason for all of this; if it fails, Ibis was mended."""
    query = small_literals()
    sent = query.to_pyarrow_batches()
    assert sent.schema.field("a").type == pa.int8()
    assert next(iter(sent)).schema.field("a").type == pa.int32()


def test_batches_have_the_declared_types_and_the_right_values():
    found = list(batches(small_literals(), 3))
    assert {batch.schema.field("a").type for batch in found} == {pa.int8()}
    assert [value for batch in found for value in batch["a"].to_pylist()] == NUMBERS


def test_a_reader_of_them_is_read_rightly_by_whoever_believes_its_types():
    assert pa.table(reader(small_literals(), 100))["a"].to_pylist() == NUMBERS


def test_a_number_that_does_not_fit_is_refused_and_not_cut(monkeypatch):
    query = small_literals()
    sent = lying(pa.int8(), pa.int32(), [1, 300])
    monkeypatch.setattr(type(query), "to_pyarrow_batches", lambda *_, **__: sent)
    with pytest.raises(EngineError, match="do not fit"):
        list(batches(query, 10))


def test_a_reader_that_declares_other_types_is_opened_by_what_it_sends():
    """The same reader, made by somebody else and passed as a table."""
    table = open_table(lying(pa.int8(), pa.int32(), [1, 2, 3, 4]))
    assert table.expression.a.to_pyarrow().to_pylist() == [1, 2, 3, 4]
    with pytest.raises((TableError, EngineError)):
        open_table(lying(pa.int8(), pa.int32(), [1, 300]))


@pytest.fixture
def widened(monkeypatch):
    """Let every engine send whole numbers in 64 bits, whatever was declared."""
    sent = ibis.Table.to_pyarrow_batches

    def send(query, **options):
        found = sent(query, **options)

        def wide():
            for batch in found:
                kinds = [
                    pa.int64() if pa.types.is_integer(f.type) else f.type for f in batch.schema
                ]
                names = batch.schema.names
                yield batch.cast(pa.schema(list(zip(names, kinds, strict=True))))

        return pa.RecordBatchReader.from_batches(found.schema, wide())

    monkeypatch.setattr(ibis.Table, "to_pyarrow_batches", send)


@pytest.mark.usefixtures("widened")
def test_copies_and_counts_are_right_however_wide_the_engine_sends():
    listed = tuple("abcdefgh")
    coding = ColumnCoding("x", len(listed), values=listed)
    copy = code_table(open_table({"x": list(listed) * 3}), [coding])
    counted = copy.store.fetch("SELECT c0, count(*) AS n FROM coded GROUP BY c0 ORDER BY c0")
    assert counted.to_pydict() == {"c0": list(range(8)), "n": [3] * 8}
    view = prepare(open_table({"x": list(listed), "y": list(range(8))}), ["x", "y"])
    with mixed_radix(view) as rows:
        keys = [key for part in rows.stream() for key in part.tolist()]
        assert sorted(keys) == [9 * i for i in range(8)]
    with coded_rows(view, [0], [1]) as codes:
        packed = [key for part in codes.packed(3) for key in part.tolist()]
        assert sorted(packed) == [9 * i for i in range(8)]


# --- Stopping a statement that really is slow: it ends at once, and nothing else does -------------


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
