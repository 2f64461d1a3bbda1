"""Classes of equal records: counted by the engine, or streamed as one integer per record."""

from __future__ import annotations

import itertools
import math
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hartley.engines.counting.pairs import Coding
from hartley.engines.dialects.streams import batches
from hartley.engines.tables.table import Kind
from hartley.engines.tables.view import clean_column, keep_texts, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hartley.engines.tables.table import Table
    from hartley.engines.tables.view import View


FETCHED_ROWS = 100_000


def class_sizes(view: View) -> dict[int, int]:
    """Return how many classes of equal records there are of each size.

    The engine groups the rows and then the sizes, so that few numbers leave it: at most the
    square root of twice the rows. One pass over the rows.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> from hartley.engines.tables.view import prepare
        >>> class_sizes(prepare(open_table({"a": [1, 1, 2, 3]}), ["a"]))
        {1: 2, 2: 1}
    """
    return _sizes(view.table, view.expression)


def released_sizes(table: Table, columns: Sequence[str]) -> dict[int, int]:
    """Return how many classes of rows with equal values of some columns there are of each size.

    A missing value is a value like any other. One pass over the rows.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> released_sizes(open_table({"a": [1, 1, 2, None]}), ["a"])
        {1: 2, 2: 1}
    """
    return _sizes(table, _cleaned(table, columns))


def _sizes(table: Table, rows: Any) -> dict[int, int]:
    classes = rows.group_by([rows[name] for name in rows.columns]).aggregate(size=rows.count())
    sizes = classes.group_by("size").aggregate(classes=classes.count()).order_by("size")
    grouped = run(table, sizes.to_pyarrow)
    return {
        int(size): int(number)
        for size, number in zip(
            grouped.column("size").to_pylist(), grouped.column("classes").to_pylist(), strict=True
        )
    }


def count_alone(table: Table, columns: Sequence[str]) -> int:
    """Return how many rows have values of some columns that no other row has.

    A missing value is a value like any other. The engine groups the rows; one number leaves it.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> count_alone(open_table({"a": [1, 1, 2, None]}), ["a"])
        2
    """
    rows = _cleaned(table, columns)
    classes = rows.group_by([rows[name] for name in rows.columns]).aggregate(size=rows.count())
    return int(run(table, classes.filter(classes["size"] == 1).count().to_pyarrow).as_py())


def secrets_by_class(table: Table, keys: Sequence[str], secret: str) -> list[tuple[int, int, int]]:
    """Return the kinds of classes of equal keys: records, different secrets, how many there are.

    A missing key is a value like any other; records whose secret is missing are not counted. The
    engine groups the rows; a line leaves it for every kind of class.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> ward = {"sex": ["F", "F", "M", "M"], "ill": ["flu", "flu", "hiv", None]}
        >>> secrets_by_class(open_table(ward), ["sex"], "ill")
        [(1, 1, 1), (2, 1, 1)]
    """
    rows = _cleaned(table, [*keys, secret]).drop_null([f"c{len(keys)}"])
    pairs = rows.group_by(rows.columns).aggregate(n=rows.count())
    if keys:
        classes = pairs.group_by([f"c{i}" for i in range(len(keys))])
        classes = classes.aggregate(size=pairs["n"].sum(), secrets=pairs.count())
    else:
        classes = pairs.aggregate(size=pairs["n"].sum(), secrets=pairs.count())
        classes = classes.filter(classes["secrets"] > 0)
    kinds = classes.group_by(["size", "secrets"]).aggregate(classes=classes.count())
    grouped = run(table, kinds.order_by(["size", "secrets"]).to_pyarrow)
    lines = zip(*(grouped.column(i).to_pylist() for i in range(3)), strict=True)
    return [(int(size), int(secrets), int(classes)) for size, secrets, classes in lines]


def _cleaned(table: Table, columns: Sequence[str]) -> Any:
    """Return columns c0, c1 and so on as their values are told apart."""
    table.require(columns)
    table = keep_texts(table, columns)
    return table.expression.select(
        **{f"c{i}": clean_column(table, name) for i, name in enumerate(columns)}
    )


def first_row_with(table: Table, column: str, values: Sequence[Any]) -> int | None:
    """Return the number of the first row, from 1, that holds one of some values of a column.

    For a message that must not show the value itself: rows are read until one is found, and none
    is stored. None if no row has one, for example because the table has changed.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> first_row_with(open_table({"job": ["cook", "smith", None]}), "job", [None, "smith"])
        2
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    def search() -> int | None:
        before = 0
        rows = table.expression.select(value=clean_column(table, column))
        for batch in batches(rows, FETCHED_ROWS):
            held = batch.column(0)
            if pa.types.is_dictionary(held.type):
                held = held.cast(held.type.value_type)
            at = pc.index(pc.is_in(held, pa.array(values, held.type)), value=True).as_py()
            if at >= 0:
                return int(before + at + 1)
            before += batch.num_rows
        return None

    number: int | None = run(table, search)
    return number


WIDEST_DIGIT = 1024
"""Integers with a wider range than this are numbered, so that a cube has no empty planes."""
WIDEST_KEY = 2**62
BATCH = 1_000_000

_serial = itertools.count()


class MixedRadix:
    """One integer per row whose digits are the codes of the columns; valid while it is open."""

    def __init__(self, view: View, rows: Any, codings: Sequence[Coding]) -> None:
        self._view, self._rows = view, rows
        self.codings = tuple(codings)
        self.cells = math.prod(coding.width for coding in codings)

    @property
    def fits(self) -> bool:
        """Whether every key is a 64-bit integer."""
        return self.cells < WIDEST_KEY

    def stream(self) -> Iterator[NDArray[np.signedinteger]]:
        """Yield the keys of the rows in batches."""
        keys = self._rows.select(key=self._key())
        for batch in batches(keys, BATCH):
            yield batch.column(0).to_numpy(zero_copy_only=False)

    def grouped(self) -> Any:
        """Return the distinct keys in order and their counts, as the engine groups them."""
        keys = self._rows.select(key=self._key())
        counted = keys.group_by("key").aggregate(n=keys.count()).order_by("key")
        return run(self._view.table, counted.to_pyarrow)

    def _key(self) -> Any:
        """Return the key; a digit out of its range, of a changed table, makes it negative."""
        kind = "int32" if self.cells < 2**31 else "int64"
        key, inside = None, None
        for i, coding in enumerate(self.codings):
            value = self._rows[f"c{i}"]
            if coding.low is None:
                digit = self._rows[f"d{i}"].cast(kind)
            else:
                shifted = value.cast("int64") - coding.low
                digit = shifted.fill_null(coding.width - 1) if coding.holes else shifted
                within = digit.between(0, coding.width - 1)
                inside = within if inside is None else inside & within
                digit = digit.cast(kind)
            key = digit if key is None else key * coding.width + digit
        assert key is not None
        return key if inside is None else inside.ifelse(key, -1).cast(kind)


@contextmanager
def mixed_radix(view: View) -> Iterator[MixedRadix]:
    """Number the values of every column of a view and make each row one integer.

    Integers that lie close together are their own digits. Other values are numbered in a
    temporary table, missing ones last, and joined: exact for any type.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> from hartley.engines.tables.view import prepare
        >>> view = prepare(open_table({"a": [5, 6], "b": ["x", "y"]}), ["a", "b"])
        >>> with mixed_radix(view) as rows:
        ...     print(rows.cells, rows.grouped().to_pydict())
        4 {'key': [0, 3], 'n': [1, 1]}
    """
    rows, codings, made = view.expression, [], []
    try:
        for i in range(len(view.columns)):
            coding = _close_integers(view, i)
            if coding is None:
                made.append(f"hartley_digit_{os.getpid()}_{next(_serial)}")
                coding, rows = _numbered(view, rows, i, made[-1])
            codings.append(coding)
        yield MixedRadix(view, rows, codings)
    finally:
        for name in made:
            view.dialect.drop_temporary(view.table.backend, name)


def values_of(coding: Coding) -> list[Any]:
    """Return the values that the codes stand for, None for a missing one.

    Example:
        >>> values_of(Coding((), 3, low=7, holes=True))
        [7, 8, None]
    """
    if coding.low is None:
        return list(coding.values.column(0).to_pylist())
    present = range(coding.low, coding.low + coding.width - coding.holes)
    return [*present, *([None] if coding.holes else [])]


def _close_integers(view: View, at: int) -> Coding | None:
    """Return a coding by the integers themselves, if their range is small."""
    column = view.columns[at]
    if column.kind is not Kind.INTEGER or column.high - column.low >= WIDEST_DIGIT:
        return None
    if not -(2**62) < column.low <= column.high < 2**62:
        return None
    width = int(column.high) - int(column.low) + 1 + column.holes
    return Coding((column,), width, low=int(column.low), holes=column.holes)


def _numbered(view: View, rows: Any, at: int, name: str) -> tuple[Coding, Any]:
    """Number the distinct values of a column in their order, missing last, and join the numbers."""
    import ibis

    distinct = view.expression.select(value=f"c{at}").distinct()
    order = ibis.asc(distinct.value, nulls_first=False)
    digit = ibis.row_number().over(order_by=[order]).cast("int64")
    numbered = distinct.mutate(**{f"d{at}": digit})
    made = run(view.table, lambda: view.table.backend.create_table(name, obj=numbered, temp=True))
    values = made.order_by(f"d{at}").to_pyarrow().select(["value"])
    renamed = made.rename(**{f"value{at}": "value"})
    joined = rows.join(renamed, [rows[f"c{at}"].identical_to(renamed[f"value{at}"])])
    return Coding((view.columns[at],), max(values.num_rows, 1), values=values), joined
