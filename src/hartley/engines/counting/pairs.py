"""Distinct pairs and their counts: grouped by the engine, or streamed as codes to a kernel."""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.streams import batches
from hartley.engines.tables.table import Kind
from hartley.engines.tables.view import bin_numbers, run
from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hartley.engines.tables.view import View, ViewColumn

    Progress = Callable[[float], None]
    """A function that is called with the share of the work that is done."""

WIDEST_CODE = 2**26
"""Integers with a wider range than this are numbered by the engine instead."""

BATCH = 1_000_000

_serial = itertools.count()


@dataclass(frozen=True)
class Coding:
    """How the codes 0, 1, ... of one side map to its values.

    Either code c is the integer low + c, the last code being the missing value where ``holes``
    says so, or it is row c of an Arrow table of values.
    """

    columns: tuple[ViewColumn, ...]
    width: int
    low: int | None = None
    holes: bool = False
    values: Any = None


class CodedRows:
    """Two integer columns, ``secret`` and ``released``, on the engine; valid while it is open."""

    def __init__(self, view: View, codes: Any, secret: Coding, released: Coding) -> None:
        self._view, self._codes = view, codes
        self.secret, self.released = secret, released

    def packed(
        self, secret_bits: int, progress: Progress | None = None
    ) -> Iterator[NDArray[np.int64]]:
        """Stream every row as one integer, the released code above the secret one."""
        codes = self._codes
        inside = (
            (codes.secret >= 0)
            & (codes.secret < self.secret.width)
            & (codes.released >= 0)
            & (codes.released < self.released.width)
        )
        # A code out of range (the table changed meanwhile) becomes an invalid key.
        key = inside.ifelse(codes.released * (1 << secret_bits) + codes.secret, -1)
        for (keys,) in _stream(codes.select(key=key), self._view.rows, progress):
            yield keys

    @contextmanager
    def grouped(self) -> Iterator[GroupedCodes]:
        """Group the rows on the engine, which spills to disk if memory is short."""
        name = f"hartley_pairs_{os.getpid()}_{next(_serial)}"
        grouped = _grouped(self._codes)
        try:
            yield GroupedCodes(self._view.table.backend.create_table(name, obj=grouped, temp=True))
        finally:
            self._view.dialect.drop_temporary(self._view.table.backend, name)


class GroupedCodes:
    """The distinct pairs of codes and their counts, in a temporary table."""

    def __init__(self, pairs: Any) -> None:
        self._pairs = pairs
        self._total = int(pairs.count().to_pyarrow().as_py())

    def stream(self, progress: Progress | None = None) -> Iterator[tuple[NDArray[np.int64], ...]]:
        """Stream secret codes, released codes and counts; may be called again."""
        return _stream(self._pairs, self._total, progress)


def distinct_counts(view: View) -> Any:
    """Return the distinct rows of a view and how often each occurs, counted by the engine.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> from hartley.engines.tables.view import prepare
        >>> view = prepare(open_table({"a": [1, 1]}), ["a"])
        >>> distinct_counts(view).to_pylist()
        [{'c0': 1, 'n': 2}]
    """
    return run(view.table, _grouped(view.expression).to_pyarrow)


@contextmanager
def coded_rows(
    view: View,
    secret_at: Sequence[int],
    released_at: Sequence[int],
    memory_limit: int | None = None,
) -> Iterator[CodedRows]:
    """Turn both sides of a table into integer codes, given the columns of each side.

    For engines that code large tables. One column of integers that lie close together is its own
    code. Other values are numbered in a temporary table and joined: exact for any type.
    """
    with view.dialect.memory_limit(view.table.backend, memory_limit):
        rows, codings, made = view.expression, {}, []
        sides = {"secret": secret_at, "released": released_at}
        try:
            for side, at in sides.items():
                coding = _integer_coding([view.columns[i] for i in at], view)
                if coding is None:
                    name = f"hartley_{side}_{os.getpid()}_{next(_serial)}"
                    made.append(name)
                    coding, rows = _join_numbers(view, rows, side, at, name)
                codings[side] = coding
            codes = {
                side: rows[f"{side}_code"]
                if codings[side].low is None
                else _integer_code(rows[f"c{at[0]}"], codings[side])
                for side, at in sides.items()
            }
            yield CodedRows(view, rows.select(**codes), codings["secret"], codings["released"])
        finally:
            for name in made:
                view.dialect.drop_temporary(view.table.backend, name)


def parse_memory(limit: int | str | None) -> int | None:
    """Return a memory limit in bytes.

    Example:
        >>> parse_memory("2.5GB"), parse_memory(10**9), parse_memory(None)
        (2500000000, 1000000000, None)
    """
    if limit is None:
        return None
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "B": 1}
    text = str(limit).strip().upper()
    unit = next((unit for unit in units if text.endswith(unit)), "")
    try:
        size = int(float(text.removesuffix(unit)) * units.get(unit, 1))
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise OptionError(
            f"The memory limit '{limit}' is not a size", hint="write for example 2GB or 500MB"
        )
    return size


def _grouped(rows: Any) -> Any:
    """Return the query for the distinct rows and their counts."""
    return rows.group_by([rows[name] for name in rows.columns]).aggregate(n=rows.count())


# --- codes ----------------------------------------------------------------------------------


def _integer_coding(columns: Sequence[ViewColumn], view: View) -> Coding | None:
    """Return a coding by the integers themselves, for one column of integers in a small range."""
    column = columns[0]
    if len(columns) > 1 or (column.kind is not Kind.INTEGER and column.step is None):
        return None
    low, high = column.low, column.high
    if column.step is not None:
        low, high = bin_numbers([low, high], column.step).tolist()
    if high - low >= min(WIDEST_CODE, max(4 * view.rows, 2**16)) or high >= 2**63:
        return None
    return Coding((column,), high - low + 1 + column.holes, low=low, holes=column.holes)


def _integer_code(value: Any, coding: Coding) -> Any:
    """Return the code of an integer; a missing one has the last code."""
    code = value.cast("int64") - coding.low
    return code.fill_null(coding.width - 1) if coding.holes else code


def _join_numbers(
    view: View, rows: Any, side: str, at: Sequence[int], name: str
) -> tuple[Coding, Any]:
    """Number the distinct values of some columns, in their order, and join the numbers."""
    import ibis

    distinct = view.expression.select([f"c{i}" for i in at]).distinct()
    code = ibis.row_number().over(order_by=[distinct[f"c{i}"] for i in at]).cast("int64")
    made = view.table.backend.create_table(name, obj=distinct.mutate(code=code), temp=True)
    values = made.order_by("code").to_pyarrow().drop_columns(["code"])
    numbered = made.rename(**{f"{side}_code": "code"}, **{f"{side}_{i}": f"c{i}" for i in at})
    joined = rows.join(numbered, [rows[f"c{i}"].identical_to(numbered[f"{side}_{i}"]) for i in at])
    return Coding(tuple(view.columns[i] for i in at), values.num_rows, values=values), joined


# --- streams --------------------------------------------------------------------------------


def _stream(
    query: Any,
    total: int,
    progress: Progress | None,
) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Yield the columns of a query as arrays, in batches."""
    done = 0
    for batch in batches(query, BATCH):
        yield tuple(column.to_numpy(zero_copy_only=False) for column in batch.columns)
        done += batch.num_rows
        if progress is not None:
            progress(done / max(total, 1))
