"""Distinct pairs and their counts: grouped by the engine, or streamed as codes to a kernel."""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.engines.table import Kind
from hartley.engines.view import bin_numbers, run
from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hartley.engines.view import Column, View
    from hartley.kernels.pairs import Tally

    Progress = Callable[[float], None]
    """Told the share of the work that is done."""

WIDEST_CODE = 2**26
"""Integers spread over more than this many values are numbered by the engine instead."""

DEFAULT_MEMORY = 2_000_000_000
BATCH = 1_000_000

_serial = itertools.count()


@dataclass(frozen=True)
class Coding:
    """How the codes 0, 1, ... of one side stand for its values.

    Either code c is the integer low + c, the last code being the missing value where ``holes``
    says so, or it is row c of an Arrow table of values.
    """

    columns: tuple[Column, ...]
    width: int
    low: int | None = None
    holes: bool = False
    values: Any = None


@dataclass(frozen=True)
class CodedTally:
    """A tally by code, what the codes mean and whether the engine had to spill."""

    tally: Tally
    secret: Coding
    released: Coding
    spilled: bool


def distinct_counts(view: View) -> Any:
    """Return the distinct rows of a view and how often each occurs, counted by the engine.

    Example:
        >>> from hartley.engines.sources import open_table
        >>> from hartley.engines.view import prepare
        >>> view = prepare(open_table({"a": [1, 1]}), ["a"])
        >>> distinct_counts(view).to_pylist()
        [{'c0': 1, 'n': 2}]
    """
    return run(view.table, _grouped(view.expression).to_pyarrow)


def tally_pairs(
    view: View,
    secret_at: Sequence[int],
    released_at: Sequence[int],
    *,
    memory_limit: int | None = None,
    progress: Progress | None = None,
) -> CodedTally:
    """Count the pairs of a large DuckDB table, given which columns make up each side.

    Both sides become integer codes on the engine. Where the packed rows fit in memory they stream
    through the kernel; otherwise the engine groups them, spilling to disk, and only the distinct
    pairs stream by. Memory then grows with the two ranges alone.
    """
    from hartley.kernels.pairs import bytes_needed

    sides = {"secret": secret_at, "released": released_at}
    with _engine_limit(view, memory_limit), _coded(view, sides) as (codes, secret, released):
        widths = secret.width, released.width
        spilled = bytes_needed(view.rows, *widths) > (memory_limit or DEFAULT_MEMORY)
        count = _count_by_engine if spilled else _count_by_kernel
        tally = run(view.table, lambda: count(view, codes, widths, progress))
    return CodedTally(tally, secret, released, spilled)


def parse_memory(limit: int | str | None) -> int | None:
    """Return a memory limit in bytes.

    Example:
        >>> parse_memory("2.5GB"), parse_memory(10**9), parse_memory(None)
        (2500000000, 1000000000, None)
    """
    if limit is None or isinstance(limit, int):
        return limit
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "B": 1}
    text = limit.strip().upper()
    unit = next((unit for unit in units if text.endswith(unit)), "")
    try:
        return int(float(text.removesuffix(unit)) * units.get(unit, 1))
    except (ValueError, OverflowError):
        raise OptionError(
            f"The memory limit '{limit}' is not a size", hint="write for example 2GB or 500MB"
        ) from None


def _grouped(rows: Any) -> Any:
    """Return the query for the distinct rows and their counts."""
    return rows.group_by([rows[name] for name in rows.columns]).aggregate(n=rows.count())


# --- codes ----------------------------------------------------------------------------------


@contextmanager
def _coded(view: View, sides: dict[str, Sequence[int]]) -> Iterator[tuple[Any, Coding, Coding]]:
    """Give a table of two integer columns, ``secret`` and ``released``, and what they mean."""
    rows, codings, made = view.expression, {}, []
    try:
        for side, at in sides.items():
            coding = _integer_coding([view.columns[i] for i in at], view)
            if coding is None:
                name = f"hartley_{side}_{os.getpid()}_{next(_serial)}"
                made.append(name)
                coding = run(view.table, lambda: _number_values(view, at, name))  # noqa: B023 - run now
                numbered = view.table.backend.table(name).rename(
                    **{f"{side}_code": "code"}, **{f"{side}_{i}": f"c{i}" for i in at}
                )
                rows = rows.join(
                    numbered, [rows[f"c{i}"].identical_to(numbered[f"{side}_{i}"]) for i in at]
                )
            codings[side] = coding
        codes = {
            side: rows[f"{side}_code"]
            if codings[side].low is None
            else _integer_code(rows[f"c{at[0]}"], codings[side])
            for side, at in sides.items()
        }
        yield rows.select(**codes), codings["secret"], codings["released"]
    finally:
        for name in made:
            view.table.backend.drop_table(name, force=True)


def _integer_coding(columns: Sequence[Column], view: View) -> Coding | None:
    """Return a coding by the integers themselves, where one column of few integers allows it."""
    column = columns[0]
    if len(columns) > 1 or (column.kind is not Kind.INTEGER and column.step is None):
        return None
    low, high = column.low, column.high
    if column.step is not None:
        low, high = bin_numbers([low, high], column.step).tolist()
    holes = view.keeps_missing and column.missing > 0
    if high - low >= WIDEST_CODE:
        return None
    return Coding((column,), high - low + 1 + holes, low=low, holes=holes)


def _integer_code(value: Any, coding: Coding) -> Any:
    """Return the code of an integer; a missing one has the last code."""
    code = value.cast("int64") - coding.low
    return code.fill_null(coding.width - 1) if coding.holes else code


def _number_values(view: View, at: Sequence[int], name: str) -> Coding:
    """Number the distinct values of some columns, in their order, in a temporary table."""
    import ibis

    distinct = view.expression.select([f"c{i}" for i in at]).distinct()
    numbered = distinct.mutate(
        code=ibis.row_number().over(order_by=[distinct[f"c{i}"] for i in at]).cast("int64")
    )
    made = view.table.backend.create_table(name, obj=numbered, temp=True)
    values = made.order_by("code").to_pyarrow()
    columns = tuple(view.columns[i] for i in at)
    return Coding(columns, values.num_rows, values=values.drop_columns(["code"]))


# --- counting -------------------------------------------------------------------------------


def _count_by_kernel(
    view: View,
    codes: Any,
    widths: tuple[int, int],
    progress: Progress | None,
) -> Tally:
    """Stream every row, packed into one integer, through the kernel."""
    from hartley.kernels.pairs import PairTally

    tally = PairTally(secrets=widths[0], released=widths[1])
    packed = codes.select(key=codes.released * (1 << tally.secret_bits) + codes.secret)
    for (keys,) in _stream(packed, view.rows, progress):
        tally.add(keys)
    return tally.finish()


def _count_by_engine(
    view: View,
    codes: Any,
    widths: tuple[int, int],
    progress: Progress | None,
) -> Tally:
    """Group on the engine, which spills to disk, and stream the distinct pairs twice."""
    from hartley.kernels.pairs import PairCounter

    backend = view.table.backend
    name = f"hartley_pairs_{os.getpid()}_{next(_serial)}"
    pairs = backend.create_table(name, obj=_grouped(codes), temp=True)
    try:
        counter = PairCounter(secrets=widths[0], released=widths[1])
        total = int(pairs.count().to_pyarrow().as_py())
        for add, begin in ((counter.add, 0.0), (counter.add_shares, 0.5)):
            told = None if progress is None else _scaled(progress, begin)
            for secrets, released, counts in _stream(pairs, total, told):
                add(secrets, released, counts)
    finally:
        backend.drop_table(name, force=True)
    return counter.finish()


def _scaled(progress: Progress, begin: float) -> Progress:
    """Report one half of the work as a part of the whole."""
    return lambda share: progress(begin + share / 2)


def _stream(
    query: Any,
    total: int,
    progress: Progress | None,
) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Give the columns of a query as arrays, batch by batch."""
    done = 0
    for batch in query.to_pyarrow_batches(chunk_size=BATCH):
        yield tuple(column.to_numpy(zero_copy_only=False) for column in batch.columns)
        done += batch.num_rows
        if progress is not None:
            progress(done / max(total, 1))


@contextmanager
def _engine_limit(view: View, memory_limit: int | None) -> Iterator[None]:
    """Hold the engine to a memory limit for a while."""
    if memory_limit is None:
        yield
        return
    connection = view.table.backend.con
    (before,) = connection.execute("SELECT current_setting('memory_limit')").fetchone()
    connection.execute(f"SET memory_limit = '{max(memory_limit // 10**6, 100)}MB'")
    try:
        yield
    finally:
        connection.execute(f"SET memory_limit = '{before}'")
