"""Distinct pairs, classes and exact totals, counted by the engine."""

from __future__ import annotations

import itertools
import math
import os
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from hartley.engines.cells import as_doubles, clamp, is_whole
from hartley.engines.dialect import TINY, batches, number
from hartley.engines.table import Kind
from hartley.errors import ColumnError, OptionError
from hartley.tables.column_map import (
    check_numbers,
    column_counts,
    outside,
    refuse_rounded,
    refuse_unfit,
)
from hartley.tables.release_rules import Keep, range_of
from hartley.tables.view import bin_numbers, clean_column, keep_texts, no_rows, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hartley.engines.table import Table
    from hartley.tables.column_map import ColumnCounts
    from hartley.tables.view import View, ViewColumn

    Progress = Callable[[float], None]
    """A function that is called with the share of the work that is done."""


WIDEST_CODE = 2**26
"""Integers with a wider range than this are numbered by the engine instead."""
BATCH = 1_000_000
FETCHED_ROWS = 100_000
WIDEST_DIGIT = 1024
"""Integers with a wider range than this are numbered, so that a cube has no empty planes."""
WIDEST_KEY = 2**62
DIGITS = 53
"""Every number becomes an integer of this many binary digits, which a double holds exactly."""
MOST_SHIFT = 960
"""The largest shift of a number; all powers of two up to it are plain doubles."""

_serial = itertools.count()


# --- distinct pairs and their counts: grouped by the engine, or streamed as codes to a kernel -----


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
    def grouped(self) -> Iterator[Callable[[Progress], Iterator[tuple[NDArray[np.int64], ...]]]]:
        """Group the rows on the engine, which may spill; yield what streams codes and counts."""
        name, backend = _temporary("pairs"), self._view.table.backend
        try:
            pairs = backend.create_table(name, obj=_grouped(self._codes), temp=True)
            total = int(pairs.count().to_pyarrow().as_py())
            yield lambda progress: _stream(pairs, total, progress)
        finally:
            self._view.dialect.drop_temporary(backend, name)


def distinct_counts(view: View) -> Any:
    """Return the distinct rows of a view and how often each occurs, counted by the engine."""
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
                widest = min(WIDEST_CODE, max(4 * view.rows, 2**16))
                coding = _integer_coding(view.columns[at[0]], widest) if len(at) == 1 else None
                if coding is None:
                    made.append(_temporary(side))
                    coding, rows = _numbered(view, rows, at, made[-1], f"{side}_code")
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
    """Return a memory limit in bytes."""
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


def _temporary(what: str) -> str:
    return f"hartley_{what}_{os.getpid()}_{next(_serial)}"


def _grouped(rows: Any) -> Any:
    """Return the query for the distinct rows and their counts."""
    return rows.group_by([rows[name] for name in rows.columns]).aggregate(n=rows.count())


def _integer_coding(column: ViewColumn, widest: int) -> Coding | None:
    """Return a coding by the integers or bins themselves, if their range is small."""
    if column.kind is not Kind.INTEGER and column.step is None:
        return None
    low, high = column.low, column.high
    if column.step is not None:
        low, high = bin_numbers([low, high], column.step).tolist()
    if high - low >= widest or not -(2**62) < low <= high < 2**62:
        return None
    low = int(low)
    return Coding((column,), int(high) - low + 1 + column.holes, low=low, holes=column.holes)


def _integer_code(value: Any, coding: Coding) -> Any:
    """Return the code of an integer; a missing one has the last code."""
    code = value.cast("int64") - coding.low
    return code.fill_null(coding.width - 1) if coding.holes else code


def _numbered(view: View, rows: Any, at: Sequence[int], name: str, code: str) -> tuple[Coding, Any]:
    """Number the distinct values of columns in their order, missing last, and join the numbers."""
    import ibis

    distinct = view.expression.select([f"c{i}" for i in at]).distinct()
    order = [ibis.asc(distinct[f"c{i}"], nulls_first=False) for i in at]
    numbered = distinct.mutate(**{code: ibis.row_number().over(order_by=order).cast("int64")})
    made = run(view.table, lambda: view.table.backend.create_table(name, obj=numbered, temp=True))
    values = made.order_by(code).to_pyarrow().drop_columns([code])
    named = made.rename(**{f"{code}_{i}": f"c{i}" for i in at})
    joined = rows.join(named, [rows[f"c{i}"].identical_to(named[f"{code}_{i}"]) for i in at])
    columns = tuple(view.columns[i] for i in at)
    return Coding(columns, max(values.num_rows, 1), values=values), joined


def _stream(
    query: Any, total: int, progress: Progress | None
) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Yield the columns of a query as arrays, in batches."""
    done = 0
    for batch in batches(query, BATCH):
        yield tuple(column.to_numpy(zero_copy_only=False) for column in batch.columns)
        done += batch.num_rows
        if progress is not None:
            progress(done / max(total, 1))


# --- classes of equal records: counted by the engine, or streamed as one integer per record -------


def class_sizes(view: View) -> dict[int, int]:
    """Return how many classes of equal records there are of each size."""
    return _sizes(view.table, view.expression)


def released_sizes(table: Table, columns: Sequence[str]) -> dict[int, int]:
    """Return how many classes of rows with equal values of some columns there are of each size."""
    return _sizes(table, _cleaned(table, columns))


def _sizes(table: Table, rows: Any) -> dict[int, int]:
    classes = _grouped(rows)
    sizes = classes.group_by("n").aggregate(classes=classes.count()).order_by("n")
    grouped = run(table, sizes.to_pyarrow).to_pylist()
    return {int(row["n"]): int(row["classes"]) for row in grouped}


def distinct_values(table: Table, columns: Sequence[str]) -> Any:
    """Return the distinct rows of columns, missing being a value, and how often each occurs."""
    return run(table, _grouped(_cleaned(table, columns)).to_pyarrow)


def count_alone(
    table: Table, columns: Sequence[str], unit: str | None = None, household: str | None = None
) -> int:
    """Return how many people have values of some columns, missing ones too, that no other has.

    A row is a person, or else a column says whose it is: of them who has such a row is counted.
    Where a column says who lives together, nobody of another household has them.
    """
    whose = [name for name in (unit, household) if name is not None]
    rows = _cleaned(table, [*columns, *whose])
    by = rows.columns[: len(columns)]
    if not whose:
        classes = _grouped(rows)
        return int(run(table, classes.filter(classes["n"] == 1).count().to_pyarrow).as_py())
    ends: dict[str, Any] = {"n": rows.count()}
    for name in rows.columns[len(columns) :]:
        ends |= {f"low_{name}": rows[name].min(), f"high_{name}": rows[name].max()}
    marked = rows.group_by(by).mutate(**ends) if by else rows.mutate(**ends)
    same = [marked[f"low_{name}"] == marked[f"high_{name}"] for name in rows.columns[len(by) :]]
    if unit is None:
        same.append(marked["n"] == 1)
    alone = marked.filter(reduce(or_, same))
    people = alone.count() if unit is None else alone[rows.columns[len(by)]].nunique()
    return int(run(table, people.to_pyarrow).as_py())


def secrets_by_class(table: Table, keys: Sequence[str], secret: str) -> list[tuple[int, int, int]]:
    """Return the kinds of classes of equal keys: records, different secrets, how many there are.

    A missing key is a value like any other; records whose secret is missing are not counted. The
    engine groups the rows; a line leaves it for every kind of class.

    Example:
        >>> from hartley.tables.opening import open_table
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
        >>> from hartley.tables.opening import open_table
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
            if coding.low is None:
                digit = self._rows[f"d{i}"].cast(kind)
            else:
                digit = _integer_code(self._rows[f"c{i}"], coding)
                within = digit.between(0, coding.width - 1)
                inside = within if inside is None else inside & within
                digit = digit.cast(kind)
            key = digit if key is None else key * coding.width + digit
        assert key is not None
        return key if inside is None else inside.ifelse(key, -1).cast(kind)


@contextmanager
def mixed_radix(view: View) -> Iterator[MixedRadix]:
    """Make each row one integer, whose digits number its values as ``coded_rows`` does."""
    rows, codings, made = view.expression, [], []
    try:
        for i in range(len(view.columns)):
            coding = _integer_coding(view.columns[i], WIDEST_DIGIT)
            if coding is None:
                made.append(_temporary("digit"))
                coding, rows = _numbered(view, rows, [i], made[-1], f"d{i}")
            codings.append(coding)
        yield MixedRadix(view, rows, codings)
    finally:
        for name in made:
            view.dialect.drop_temporary(view.table.backend, name)


def values_of(coding: Coding) -> list[Any]:
    """Return the values that the codes stand for, None for a missing one."""
    if coding.low is None:
        return list(coding.values.column(0).to_pylist())
    present = range(coding.low, coding.low + coding.width - coding.holes)
    return [*present, *([None] if coding.holes else [])]


# --- exact totals of columns, the same on every engine: integers are added, never doubles ---------


@dataclass(frozen=True)
class ColumnTotal:
    """The exact total of a column, each number clamped to its range and cut off to a grid."""

    counts: ColumnCounts
    """How many numbers were missing (left out) or outside the range (clamped)."""
    present: int
    """How many numbers were added up."""
    total: Fraction
    grid: Fraction
    """A power of two; numbers were rounded down to its multiples."""


@dataclass(frozen=True)
class TotalsGrid:
    """Multiples of a power of two within a range, as fine as the doubles at its far end."""

    shift: int
    """The step is two to the power of minus this."""
    low: Fraction
    """The first multiple in the range."""
    high: Fraction
    """The last multiple in the range."""

    @property
    def step(self) -> Fraction:
        """The distance between neighbours."""
        return Fraction(2) ** -self.shift

    @classmethod
    def within(cls, low: Fraction, high: Fraction) -> TotalsGrid:
        """Return the finest grid on which every number of a range is an integer of 53 digits."""
        largest = max(abs(low), abs(high))
        digits = largest.numerator.bit_length() - largest.denominator.bit_length() + 1
        shift = max(min(DIGITS - digits, MOST_SHIFT), -MOST_SHIFT) if largest else 0
        while largest * Fraction(2) ** (shift + 1) <= 2**DIGITS and shift < MOST_SHIFT:
            shift += 1
        step = Fraction(2) ** -shift
        return cls(shift, math.ceil(low / step) * step, math.floor(high / step) * step)


def exact_totals(
    table: Table, ranges: Mapping[str, tuple[Fraction, Fraction]], *, strict: bool = False
) -> tuple[int, dict[str, ColumnTotal]]:
    """Return the number of rows and, for every column, its exact total, by one query.

    Every number is clamped to the range of its column and rounded down to a multiple of a power
    of two, once, row by row, so that it is an integer; the integers are added exactly, and one
    row moves the total by no more than the length of the range. Missing numbers are left out and
    counted.
    """
    check_numbers(table, ranges)
    refuse_rounded(table, ranges)
    grids = [TotalsGrid.within(*ends) for ends in ranges.values()]
    for name, grid in zip(ranges, grids, strict=True):
        if grid.low > grid.high:
            raise OptionError(
                f"The range of column '{name}' is too narrow for a total",
                hint="widen it, or leave it",
            )
    rows = table.expression.select(
        **{f"v{i}": as_doubles(table, name) for i, name in enumerate(ranges)}
    )
    aggregates: dict[str, Any] = {"rows": rows.count()}
    for i, (name, ends) in enumerate(ranges.items()):
        value, whole = rows[f"v{i}"], is_whole(table, name)
        unfit = outside(value, range_of(Keep(name, *ends)) or (0.0, 0.0), whole=whole)
        grid = grids[i]
        inside = clamp(value, float(grid.low), float(grid.high), whole=whole)
        if grid.shift < 0:  # PostgreSQL refuses a product that is too small for a double
            inside = (inside.abs() < number(TINY)).ifelse(number(0.0), inside)
        steps = table.dialect.floor(inside * number(2.0**grid.shift)).cast("int64")
        aggregates |= {f"{what}{i}": condition.sum() for what, condition in unfit.items()}
        aggregates |= {f"present{i}": steps.count(), f"steps{i}": table.dialect.exact_sum(steps)}
    row = run(table, rows.aggregate(**aggregates).to_pyarrow).to_pylist()[0]
    if not row["rows"]:
        raise no_rows(table)
    totals = {}
    for i, (name, grid) in enumerate(zip(ranges, grids, strict=True)):
        counts, present = column_counts(row, i, name), int(row[f"present{i}"])
        refuse_unfit(Keep(name), counts, strict=strict)
        if not present:
            raise ColumnError(
                f"Column '{name}' of {table.name} holds nothing but missing values",
                hint="choose another column",
            )
        total = int(row[f"steps{i}"]) * grid.step
        totals[name] = ColumnTotal(counts, present, total, grid.step)
    return int(row["rows"]), totals
