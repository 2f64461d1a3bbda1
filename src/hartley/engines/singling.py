"""How many records share their values, counted by the engine that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.engines.streams import batches
from hartley.engines.view import clean_column, keep_texts, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.table import Table
    from hartley.engines.view import View

BATCH = 100_000


def class_sizes(view: View) -> dict[int, int]:
    """Return how many classes of equal records there are of each size.

    The engine groups the rows and then the sizes, so that few numbers leave it: at most the
    square root of twice the rows. One pass over the rows.

    Example:
        >>> from hartley.engines.sources import open_table
        >>> from hartley.engines.view import prepare
        >>> class_sizes(prepare(open_table({"a": [1, 1, 2, 3]}), ["a"]))
        {1: 2, 2: 1}
    """
    rows = view.expression
    classes = rows.group_by([rows[name] for name in rows.columns]).aggregate(size=rows.count())
    sizes = classes.group_by("size").aggregate(classes=classes.count()).order_by("size")
    found = run(view.table, sizes.to_pyarrow)
    return {
        int(size): int(number)
        for size, number in zip(
            found.column("size").to_pylist(), found.column("classes").to_pylist(), strict=True
        )
    }


def count_alone(table: Table, columns: Sequence[str]) -> int:
    """Return how many rows have values of some columns that no other row has.

    A missing value is a value like any other. The engine groups the rows; one number leaves it.

    Example:
        >>> from hartley.engines.sources import open_table
        >>> count_alone(open_table({"a": [1, 1, 2, None]}), ["a"])
        2
    """
    table.require(columns)
    table = keep_texts(table, columns)
    rows = table.expression.select(
        **{f"c{i}": clean_column(table, name) for i, name in enumerate(columns)}
    )
    classes = rows.group_by([rows[name] for name in rows.columns]).aggregate(size=rows.count())
    return int(run(table, classes.filter(classes["size"] == 1).count().to_pyarrow).as_py())


def first_row_with(table: Table, column: str, values: Sequence[Any]) -> int | None:
    """Return the number of the first row, from 1, that holds one of some values of a column.

    For a message that must not show the value itself: the rows are read until one is found, and
    none is kept. None where no row has one, as of a table that has changed.

    Example:
        >>> from hartley.engines.sources import open_table
        >>> first_row_with(open_table({"job": ["cook", "smith", None]}), "job", [None, "smith"])
        2
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    def search() -> int | None:
        before = 0
        rows = table.expression.select(value=clean_column(table, column))
        for batch in batches(rows, BATCH):
            held = batch.column(0)
            if pa.types.is_dictionary(held.type):
                held = held.cast(held.type.value_type)
            at = pc.index(pc.is_in(held, pa.array(values, held.type)), value=True).as_py()
            if at >= 0:
                return int(before + at + 1)
            before += batch.num_rows
        return None

    found: int | None = run(table, search)
    return found
