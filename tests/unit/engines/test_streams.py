"""Batches have the types that a query declares, whatever the engine sends."""

from __future__ import annotations

import ibis
import pyarrow as pa
import pytest

from hartley.engines.coded_table import code_table
from hartley.engines.codes import ColumnCoding
from hartley.engines.dialect import batches, reader
from hartley.errors import EngineError, TableError
from hartley.tables.counts import coded_rows, mixed_radix
from hartley.tables.opening import open_table
from hartley.tables.view import prepare

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
