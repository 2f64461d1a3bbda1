"""Rows of a query, batch by batch, in exactly the types that the query declares.

Ibis declares types that it inferred and hands over what the engine sends without a look: a CASE of
small literals is declared as 8 bits and sent as 32. Whoever reads the buffers by the declared type
then reads other numbers. So this is the only place that asks Ibis for batches.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from hartley.engines.tables.table import spark_session
from hartley.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator

SPARK_ROWS = 100_000
"""Rows of Spark that are fetched at a time where memory must not grow with their number."""


def batches(expression: Any, size: int, *, bounded: bool = False) -> Iterator[Any]:
    """Yield the rows of an Ibis table as Arrow record batches of the declared types.

    Args:
        expression: an Ibis table.
        size: the most rows of a batch.
        bounded: whether memory must not grow with the rows on Spark either, where that is slower.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> import ibis
        >>> table = open_table({"a": [1, 2]}).expression
        >>> few = table.select(b=ibis.cases((table.a == 1, 7), else_=9))  # inferred: 8 bits
        >>> [batch.schema.field("b").type for batch in batches(few, 10)]
        [DataType(int8)]
    """
    declared = declared_types(expression)
    backend = expression.get_backend()
    if bounded and backend.name == "pyspark":
        yield from _spark_rows(backend, expression, declared)
        return
    for batch in expression.to_pyarrow_batches(chunk_size=size):
        yield as_declared(batch, declared)


def reader(expression: Any, size: int) -> Any:
    """Return the same batches as an Arrow reader, which an engine can consume."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(declared_types(expression), batches(expression, size))


def declared_types(expression: Any) -> Any:
    """Return the Arrow schema that an Ibis table declares."""
    return expression.schema().to_pyarrow().remove_metadata()


def as_declared(batch: Any, declared: Any) -> Any:
    """Return a batch or table in the declared types; refuse numbers that do not fit into them."""
    import pyarrow as pa

    if batch.schema.equals(declared):
        return batch
    try:
        return batch.cast(declared)
    except (pa.ArrowException, ValueError):
        raise EngineError(
            "The engine sent values that do not fit into the types of the query",
            hint="look with hartley doctor whether the engine is one that was tried",
        ) from None


def _spark_rows(backend: Any, expression: Any, declared: Any) -> Iterator[Any]:
    """Fetch a partition at a time, where Ibis would fetch all rows at once."""
    import pyarrow as pa

    rows = spark_session(backend).sql(backend.compile(expression)).toLocalIterator()
    kind = pa.struct(list(declared))
    while some := list(itertools.islice(rows, SPARK_ROWS)):
        yield as_declared(pa.RecordBatch.from_struct_array(pa.array(some, type=kind)), declared)
