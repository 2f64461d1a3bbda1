"""A table as integer codes, and its digest."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.cells import MOST_COMPARED, CutCells, UniformCells, put_into_cells
from hartley.engines.dialect import TINY, null_unless, number, relation_of
from hartley.engines.registry import EMBEDDED
from hartley.engines.table import Kind, Table
from hartley.errors import ColumnError, InputError
from hartley.exact import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from hartley.engines.dialect import Dialect, Place


UNKNOWN = -1
"""The code of a category that is not listed; it is refused later."""
UNIT = "hartley_unit"
LARGEST_INTEGER, MOST_DIGITS = 2**63 - 1, 18
"""What an integer of 64 bits holds, and how many digits always fit into one."""
INTEGERS = ((2**7, "int8"), (2**15, "int16"), (2**31, "int32"), (2**63, "int64"))
PART = 2**30
"""Codes are packed into parts below this, so that a product of two parts fits into 64 bits."""
PRIME = 2**31 - 1
Seeds = tuple[int, int, int, int]
FileMark = tuple[int, int, int, int]


# --- coding: values become whole numbers, in the same way on every engine -------------------------
#
# A numeric column becomes the number of the nearest point of its grid. The cell of point k lies
# between the doubles nearest to low + (k - 1/2) step and low + (k + 1/2) step, the lower one
# being inside, so a tie goes up; values outside and infinite ones are clamped, NULL and NaN have
# no code. A category becomes its place in the list; categories are compared as the bytes of their
# text.


@dataclass(frozen=True)
class ColumnCoding:
    """How one column becomes codes 0 to points - 1."""

    column: str
    points: int
    values: tuple[str | int | bool, ...] | None = None
    """The categories, in order; None for numbers and dates."""
    other: bool = False
    """Whether every further category has the last code."""
    low: Fraction | None = None
    step: Fraction | None = None
    date: bool = False
    """Whether a date, counted in days since 1970-01-01, is coded."""
    nullable: bool = False
    constant: bool = False
    """Whether all rows of a unit have to agree."""

    def cells(self) -> UniformCells:
        """Return the cells of a numeric column: around each point, half a step to either side."""
        assert self.low is not None
        assert self.step is not None
        low = self.low - self.step / 2
        return UniformCells(self.column, low, low + self.points * self.step, self.points)

    @property
    def integer(self) -> str:
        """The narrowest type that holds every code, and the mark of an unknown category."""
        return next(name for limit, name in INTEGERS if self.points <= limit)


def coded_rows(table: Table, codings: Sequence[ColumnCoding], unit: str | None = None) -> Any:
    """Return the Ibis expression of the codes, columns ``c0``, ``c1``, ... and the unit."""
    table.require([coding.column for coding in codings])
    table.require([] if unit is None else [unit])
    prepared = {f"p{i}": _prepared(table, coding) for i, coding in enumerate(codings)}
    if unit is not None:
        prepared[UNIT] = _unit(table, unit)
    cells = {
        f"r{i}": _with_numbers(replace(coding.cells(), column=f"p{i}"))
        for i, coding in enumerate(codings)
        if coding.values is None
    }
    base = (table.expression if table.texts is None else table.texts).select(**prepared)
    rows, codes = put_into_cells(replace(table, expression=base, texts=None, blunt={}), cells), {}
    for i, coding in enumerate(codings):
        if coding.values is not None and len(coding.values) > MOST_COMPARED:
            rows = _join_places(rows, category_keys(table, coding), i)
    for i, coding in enumerate(codings):
        if coding.values is None:
            code = _cell_code(table.dialect, rows[f"r{i}"], cells[f"r{i}"])
        else:
            code = _category_code(rows, category_keys(table, coding), coding, i)
        codes[f"c{i}"] = code.cast(coding.integer)
    return rows.select(**codes, **({} if unit is None else {UNIT: rows[UNIT]}))


def _with_numbers(cells: UniformCells) -> UniformCells | CutCells:
    """List cells that are too fine to be computed, so that they return their numbers."""
    if cells.fits:
        return cells
    return replace(cells.as_cuts(), values=tuple(map(float, range(cells.levels))))


def _cell_code(dialect: Dialect, middle: Any, cells: UniformCells | CutCells) -> Any:
    """Return the number of a cell: itself, or from the double nearest to the cell's middle."""
    if isinstance(cells, CutCells):
        return middle
    first, width, divisor, _ = cells.integers()
    # The middle lies half a cell from either edge and this sum is off by less than a tenth of one,
    # since every integer is at most 2^48; so its floor is the number.
    place = middle * number(float(divisor)) - number(float(first))
    return dialect.divide(place, number(float(width))).floor()


def _source(table: Table, name: str) -> Any:
    """Return a column as typed values; for CSV files, its text or the typed column."""
    if table.texts is None:
        return table.expression[name]
    kind = table.expression.schema()[name]
    text = table.texts[name]
    return text if kind.is_string() else text.cast(kind)


def _unit(table: Table, name: str) -> Any:
    """Return the column that names the person: NaN is missing, and minus zero is zero."""
    column = _source(table, name)
    if not column.type().is_floating():
        return column
    zero = number(0.0).cast(column.type())
    return null_unless(~column.isnan(), (column == zero).ifelse(zero, column))


def _prepared(table: Table, coding: ColumnCoding) -> Any:
    """Return a column as numbers, as days or as the text by which categories are compared."""
    if coding.values is not None:
        return _label(table, coding)
    kind = table.kind(coding.column)
    column = _source(table, coding.column)
    if kind is Kind.EMPTY:
        return column.cast("float64")
    if coding.date:
        return _days(table, coding, column)
    if not kind.numeric:
        raise _misfit(table, coding, "numbers", "convert it to numbers first")
    if column.type().is_floating():
        return _beside_zero(column)
    cells = coding.cells()
    if max(-cells.low, cells.high) > LARGEST_EXACT_INTEGER:
        raise ColumnError(
            f"Column '{coding.column}' of {table.name} holds whole numbers or decimals, which "
            "would be rounded beyond 2^53",
            hint="subtract a constant from it first, so that its range is smaller",
        )
    return column


def _beside_zero(column: Any) -> Any:
    """Replace numbers very close to zero; all comparisons keep their result."""
    import ibis

    value = column.cast("float64")
    return ibis.cases(
        (value.isnan(), ibis.null("float64")),
        (value.between(number(-TINY), number(TINY)) & (value < number(0.0)), number(-TINY)),
        (value.between(number(-TINY), number(TINY)), number(0.0)),
        else_=value,
    )


def _days(table: Table, coding: ColumnCoding, column: Any) -> Any:
    """Return a date as days since 1970-01-01, clamped while it is a date: it may be infinite."""
    import datetime as dt

    import ibis

    kind = column.type()
    if not (kind.is_date() or kind.is_timestamp()):
        hint = "read it as dates, for example with --dates day-first or --roles, or describe it "
        raise _misfit(table, coding, "dates", f"{hint}otherwise")
    name = coding.column
    if kind.is_timestamp() and (
        table.expression[name].type().timezone is not None
        or name in table.zoned
        or table.dialect.takes_zone_of_session(table.expression, name)
    ):
        raise ColumnError(
            f"Column '{name}' of {table.name} holds times with a time zone, whose day depends on "
            "the place",
            hint="convert it to dates, or to times without a zone, first",
        )
    assert coding.low is not None
    assert coding.step is not None
    first = int(coding.low)
    last = first + (coding.points - 1) * int(coding.step)
    low, high = (dt.date(1970, 1, 1) + dt.timedelta(days=day) for day in (first, last))
    day = column.cast("date") if kind.is_timestamp() else column
    inside = day.between(ibis.literal(low), ibis.literal(high))
    return ibis.cases(
        (day < ibis.literal(low), ibis.literal(first, type="int64")),
        (day > ibis.literal(high), ibis.literal(last, type="int64")),
        (day.notnull(), null_unless(inside, day).epoch_days().cast("int64")),
    )


def _label(table: Table, coding: ColumnCoding) -> Any:
    """Return a category as text in which different values differ under any collation."""
    import ibis

    kind, column = table.kind(coding.column), _source(table, coding.column)
    assert coding.values is not None
    example = coding.values[0]
    if kind is Kind.EMPTY:
        return column.cast("string")
    if isinstance(example, bool):
        if kind is not Kind.BOOLEAN:
            raise _misfit(table, coding, "true and false", "list the values as the column has them")
        return ibis.cases((column, "true"), (~column, "false"))
    if table.texts is not None:  # what a file holds is text: 007 is not 7
        return table.dialect.text_bytes(table.texts[coding.column])
    if isinstance(example, int):
        if kind is Kind.INTEGER:
            return column.cast("string")
        if kind is not Kind.REAL:
            raise _misfit(table, coding, "numbers", "list the values as the column has them")
        return _whole_text(table, column)
    if kind is not Kind.TEXT or column.type().is_binary():
        raise _misfit(table, coding, "text", "list the values as the column has them")
    return table.dialect.text_bytes(column.cast("string"))


def _whole_text(table: Table, column: Any) -> Any:
    """Write whole numbers, held as doubles or decimals, as whole numbers are written."""
    import ibis

    kind = column.type()
    if kind.is_floating():
        value = column.cast("float64")
        known, held = ~value.isnan(), value.between(number(-(2.0**63)), number(2.0**63 - 1024))
    else:
        value, known = column, column.notnull()
        nan = table.dialect.is_nan_decimal(value)
        if nan is not None:
            known &= ~nan
        wide = kind.precision is None or kind.precision - kind.scale > MOST_DIGITS
        held = value.between(-LARGEST_INTEGER, LARGEST_INTEGER) if wide else known
    small = null_unless(known & held, value)  # or it would not be cast
    whole = small == small.floor()
    return ibis.cases(
        (whole, small.floor().cast("int64").cast("string")), (known, "no whole number")
    )


def _misfit(table: Table, coding: ColumnCoding, wanted: str, hint: str) -> ColumnError:
    kind = table.kind(coding.column)
    return ColumnError(
        f"Column '{coding.column}' of {table.name} holds {kind} values, not {wanted} as its schema "
        "says",
        hint=hint,
    )


def category_keys(table: Table, coding: ColumnCoding) -> list[str]:
    """Return the text by which each listed category is found."""
    assert coding.values is not None
    if isinstance(coding.values[0], bool):
        return [str(value).lower() for value in coding.values]
    if isinstance(coding.values[0], int) and table.texts is None:
        return [str(value) for value in coding.values]
    return [str(value).encode().hex().upper() for value in coding.values]


def _join_places(rows: Any, keys: list[str], i: int) -> Any:
    """Join every row with the place of its category; keys are unique, so no row is doubled."""
    import ibis
    import pyarrow as pa

    listed = ibis.memtable(pa.table({f"key{i}": keys, f"place{i}": list(range(len(keys)))}))
    return rows.left_join(listed, rows[f"p{i}"] == listed[f"key{i}"])


def _category_code(rows: Any, keys: list[str], coding: ColumnCoding, i: int) -> Any:
    import ibis

    label = rows[f"p{i}"]
    if len(keys) > MOST_COMPARED:
        place = rows[f"place{i}"]
    else:
        place = ibis.cases(*((label == key, place) for place, key in enumerate(keys)))
    rest = coding.points - 1 if coding.other else UNKNOWN
    return ibis.cases((place.notnull(), place), (label.notnull(), ibis.literal(rest)))


# --- comparison of copies: sums over their rows, and digests under a key of their ledger ----------
#
# Every row becomes two hashes of all its codes, and the hashes of all rows are added exactly, so
# the sums say whether two tables hold the same rows, equally often, in any order. With random
# seeds, an accident that leaves both sums unchanged has a chance of about 2^-120. With seeds
# derived from a key, nobody without the key can change rows and keep the sums.
#
# A ledger recognises its copies by digests under a key that only it has. For a copy in a file,
# the digest covers all bytes; for a table on a server, the rows in any order and the note with
# them. With the key, a digest says something about the data, so neither of them leaves the
# ledger's database.


@dataclass(frozen=True)
class RowSums:
    """How many rows there are, and two sums of their hashes."""

    rows: int
    first: int
    second: int


def draw_seeds() -> Seeds:
    """Draw four numbers from 2^30 to the prime."""
    first, second, third, fourth = (PART + secrets.randbelow(PRIME - PART) for _ in range(4))
    return first, second, third, fourth


def seeds_from(secret: bytes) -> Seeds:
    """Return the seeds that 32 secret bytes give, the same every time."""
    words = [int.from_bytes(secret[start : start + 8]) for start in range(0, 32, 8)]
    first, second, third, fourth = (PART + word % (PRIME - PART) for word in words)
    return first, second, third, fourth


def row_sums_query(
    codings: Sequence[ColumnCoding],
    relation: str,
    seeds: Seeds,
    dialect: Dialect,
    *,
    portable: bool = False,
) -> str:
    """Return the statement that adds up the hashes of the rows of a relation.

    Sums that are compared with those of another engine need ``portable`` hashes, made of plain
    arithmetic; others use the engine's own function, fast and of 64 bits.
    """
    parts = _packed([part for i, coding in enumerate(codings) for part in _parts(i, coding)])
    listed = ", ".join(f"{part} AS x{i}" for i, part in enumerate(parts))
    names = [f"x{i}" for i in range(len(parts))]
    halves = seeds[0] << 31 | seeds[1], seeds[2] << 31 | seeds[3]
    native = (dialect.hashes(names, half) for half in halves)
    hashes = _arithmetic(names, seeds) if portable else tuple(native)
    return (
        f"SELECT COUNT(*) AS n, SUM(CAST({hashes[0]} AS DECIMAL(38, 0))) AS a, "  # noqa: S608 - our own words
        f"SUM(CAST({hashes[1]} AS DECIMAL(38, 0))) AS b "
        f"FROM (SELECT {listed} FROM {relation} AS rows_of_codes{dialect.fence}) AS parts_of_rows"
    )


def read_sums(values: Sequence[object]) -> RowSums:
    """Return the result of the statement; sums of no rows are missing."""
    rows, first, second = (0 if value is None else int(str(value)) for value in values)
    return RowSums(rows, first, second)


def _parts(i: int, coding: ColumnCoding) -> list[tuple[str, int]]:
    """Return a column as whole numbers from 0 on, each with its number of values."""
    # Allowed codes from -1 on, a missing code and invalid codes all give different numbers, so that
    # a broken copy cannot look like a sound one.
    code, points = f"c{i}", coding.points
    if points + 3 < PART:
        text = (
            f"CASE WHEN {code} IS NULL THEN {points + 1} WHEN {code} BETWEEN -1 AND {points - 1} "
            f"THEN CAST({code} AS BIGINT) + 1 ELSE {points + 2} END"
        )
        return [(text, points + 3)]
    known = f"COALESCE(CAST({code} AS BIGINT), 0)"
    return [
        (f"CASE WHEN {code} IS NULL THEN 1 ELSE 0 END", 2),
        (f"({known} & {PART - 1})", PART),
        (f"(({known} >> 30) & {PART - 1})", PART),
        (f"(({known} >> 60) & 15)", 16),
    ]


def _packed(parts: list[tuple[str, int]]) -> list[str]:
    """Pack small numbers into fewer, as digits of one."""
    packed: list[tuple[str, int]] = []
    for text, size in parts:
        if packed and packed[-1][1] * size <= PART:
            before, sizes = packed[-1]
            packed[-1] = f"({before} * {size} + {text})", sizes * size
        else:
            packed.append((f"CAST({text} AS BIGINT)", size))
    return [text for text, _ in packed]


def _arithmetic(parts: Sequence[str], seeds: Seeds) -> tuple[str, str]:
    """Hash with products and remainders, which are the same everywhere."""
    # Four polynomials in the seeds modulo a prime below 2^31; a product of two of them depends on
    # no sum of columns alone, and fits into 64 bits.
    polynomials = []
    for seed in seeds:
        value = f"CAST({seed} AS BIGINT)"
        for part in parts:
            value = f"(({value} * {seed} + {part}) % {PRIME})"
        polynomials.append(value)
    first, second, third, fourth = polynomials
    return f"({first} * {second})", f"({third} * {fourth})"


@dataclass(frozen=True)
class Owner:
    """The ledger that a coded copy belongs to, and the key by which it recognises its copies."""

    ledger: str
    """A random name of the ledger, which says nothing."""
    key: bytes = field(repr=False)

    def key_of(self, version: str) -> bytes:
        """Return the key for the copy of one version; it does not reveal the key of another."""
        return hmac.digest(self.key, version.encode(), "sha256")


def keeper(place: Place, near: Table | None) -> Dialect:
    """Return the engine that keeps a copy at a place: DuckDB its files, else that of the table."""
    return EMBEDDED if near is None or EMBEDDED.claims(place) else near.dialect


_digests: dict[tuple[str, str, str], tuple[FileMark | None, str]] = {}
"""Digests computed by this process, by place, version and ledger; for files until they change."""


def copy_digest(  # noqa: PLR0913 - what a copy is known by, each by name
    place: Place,
    codings: Sequence[ColumnCoding],
    version: str,
    owner: Owner,
    near: Table | None = None,
    *,
    fresh: bool = False,
) -> str:
    """Return the digest of a copy under its owner's key; computed once per version and process.

    A file is read before DuckDB opens it: closing it afterwards would end DuckDB's lock on it.
    """
    key_in_cache = (os.fspath(place), version, owner.ledger)
    mark = _mark(Path(place)) if keeper(place, near).copies_are_files else None
    cached = _digests.get(key_in_cache)
    if cached is not None and cached[0] == mark:
        return cached[1]
    key = owner.key_of(version)
    if mark is not None:
        digest = _file_digest(Path(place), key)
        if _mark(Path(place)) != mark:
            raise InputError(
                f"The coded copy {Path(place).name} changed while it was read",
                hint="nobody but the agent may write to it; open it again",
            )
    else:
        store, note = keeper(place, near).open_copy(place, near)
        text = row_sums_query(codings, relation_of(store), seeds_from(key), store.dialect)
        sums = read_sums(store.fetch_row(text))
        content = f"{sums.rows}|{sums.first}|{sums.second}|{note}"
        digest = hmac.digest(key, content.encode(), "sha512").hex()
    if not fresh:
        _digests[key_in_cache] = mark, digest
    return digest


def _mark(path: Path) -> FileMark:
    """Return the attributes by which an unchanged file is recognised."""
    try:
        state = path.stat()
    except OSError:
        raise InputError(
            f"There is no coded copy {path.name} that can be read",
            hint="check the name, or make the copy first",
        ) from None
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


class Watch:
    """Checks that a copy in a file has not changed since its digest was compared.

    An engine that has the file open reads it in blocks and caches them. So a touched file is
    compared again before more is read; results that were read while somebody touched it do not
    count, nor does anything that the engine would read after that.
    """

    def __init__(self, path: Path, compute: Callable[[], str], digest: str, mark: FileMark) -> None:
        self._path, self._compute, self._digest, self._mark = path, compute, digest, mark
        self._spoiled = False

    def check(self) -> None:
        """Raise an error if a copy was changed; a removed copy can still be read."""
        if self._spoiled:
            raise self._changed("while it was read", hint="open the dataset again")
        if not self._path.exists() or self._mark == (mark := _mark(self._path)):
            return
        if self._compute() != self._digest:
            raise self._changed("after it was made", hint="put it back, or open the dataset again")
        self._mark = mark

    def note_touched(self) -> None:
        """Check after reading whether somebody touched the file meanwhile."""
        if self._path.exists() and self._mark != _mark(self._path):
            self._spoiled = True

    def _changed(self, when: str, *, hint: str) -> InputError:
        return InputError(f"The coded copy {self._path.name} was changed {when}", hint=hint)


def sealed(  # noqa: PLR0913 - what a copy is known by, each by name
    place: Place,
    codings: Sequence[ColumnCoding],
    version: str,
    owner: Owner,
    near: Table | None = None,
    *,
    fresh: bool = False,
) -> tuple[str, Watch | None]:
    """Return the digest of a copy as in ``copy_digest``, and for a file its guard."""
    path = Path(place) if keeper(place, near).copies_are_files else None
    mark = None if path is None else _mark(path)  # before it is read
    digest = copy_digest(place, codings, version, owner, near, fresh=fresh)
    if path is None or mark is None:
        return digest, None
    again = partial(copy_digest, place, codings, version, owner, near)
    return digest, Watch(path, again, digest, mark)


def _file_digest(path: Path, key: bytes) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(key=key)).hexdigest()
