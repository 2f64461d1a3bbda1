"""Rows of a query in batches, in exactly the types that the query declares.

Ibis declares types that it inferred, and passes on what the engine sends without a check: a CASE of
small literals is declared as 8 bits and sent as 32. Code that reads the buffers by the declared
type would read other numbers. So this is the only place that asks Ibis for batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator


def batches(expression: Any, size: int) -> Iterator[Any]:
    """Yield the rows of an Ibis table as Arrow record batches of the declared types.

    On some engines Ibis fetches all rows first; ``Dialect.batches`` avoids that where it can.

    Args:
        expression: an Ibis table.
        size: the largest number of rows in a batch.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> import ibis
        >>> table = open_table({"a": [1, 2]}).expression
        >>> few = table.select(b=ibis.cases((table.a == 1, 7), else_=9))  # inferred: 8 bits
        >>> [batch.schema.field("b").type for batch in batches(few, 10)]
        [DataType(int8)]
    """
    declared = declared_types(expression)
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
    """Return a batch or table in the declared types; raise an error for numbers that do not fit."""
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
