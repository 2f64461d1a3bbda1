"""Comparison of copies: sums over their rows, and digests under a key of their ledger.

Every row becomes two hashes of all its codes, and the hashes of all rows are added exactly, so the
sums say whether two tables hold the same rows, equally often, in any order. With random seeds, an
accident that leaves both sums unchanged has a chance of about 2^-120. With seeds derived from a
key, nobody without the key can change rows and keep the sums.

A ledger recognises its copies by digests under a key that only it has. For a copy in a file, the
digest covers all bytes; for a table on a server, the rows in any order and the note with them.
With the key, a digest says something about the data, so neither of them leaves the ledger's
database.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.engines.dialects.dialect import relation_of
from hartley.engines.dialects.registry import EMBEDDED
from hartley.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.engines.coded.coding import ColumnCoding
    from hartley.engines.dialects.dialect import Dialect, Place, Store
    from hartley.engines.tables.table import Table

PART = 2**30
"""Codes are packed into parts below this, so that a product of two parts fits into 64 bits."""
PRIME = 2**31 - 1
Seeds = tuple[int, int, int, int]


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

    Args:
        codings: how its columns are coded; they are called c0, c1, ...
        relation: the name of a table, or a query in parentheses.
        seeds: the seeds of the hashes.
        dialect: the dialect of the engine that runs it.
        portable: whether the sums are compared with those of another engine, which needs hashes
            made of plain arithmetic.
    """
    parts = _packed([part for i, coding in enumerate(codings) for part in _parts(i, coding)])
    listed = ", ".join(f"{part} AS x{i}" for i, part in enumerate(parts))
    names = [f"x{i}" for i in range(len(parts))]
    hashes = _arithmetic(names, seeds) if portable else _native(names, seeds, dialect)
    return (
        f"SELECT COUNT(*) AS n, SUM(CAST({hashes[0]} AS DECIMAL(38, 0))) AS a, "  # noqa: S608 - our own words
        f"SUM(CAST({hashes[1]} AS DECIMAL(38, 0))) AS b "
        f"FROM (SELECT {listed} FROM {relation} AS rows_of_codes{dialect.fence}) AS parts_of_rows"
    )


def read_sums(values: Sequence[object]) -> RowSums:
    """Return the result of the statement; sums of no rows are missing."""
    rows, first, second = (0 if value is None else int(str(value)) for value in values)
    return RowSums(rows, first, second)


# --- rows as small numbers ------------------------------------------------------------------------


def _parts(i: int, coding: ColumnCoding) -> list[tuple[str, int]]:
    """Return a column as whole numbers from 0 on, each with its number of values.

    Allowed codes from -1 on, a missing code and invalid codes all give different numbers, so that
    a broken copy cannot look like a sound one.
    """
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


# --- hashes of rows ----------------------------------------------------------------------------


def _native(parts: Sequence[str], seeds: Seeds, dialect: Dialect) -> tuple[str, str]:
    """Hash with the engine's own function: fast, and of 64 bits."""
    first, second = seeds[0] << 31 | seeds[1], seeds[2] << 31 | seeds[3]
    return dialect.hashes(parts, first), dialect.hashes(parts, second)


def _arithmetic(parts: Sequence[str], seeds: Seeds) -> tuple[str, str]:
    """Hash with products and remainders, which are the same everywhere.

    Four polynomials in the seeds modulo a prime below 2^31; a product of two of them depends on
    no sum of columns alone, and fits into 64 bits.
    """
    polynomials = []
    for seed in seeds:
        value = f"CAST({seed} AS BIGINT)"
        for part in parts:
            value = f"(({value} * {seed} + {part}) % {PRIME})"
        polynomials.append(value)
    first, second, third, fourth = polynomials
    return f"({first} * {second})", f"({third} * {fourth})"


# --- digests ------------------------------------------------------------------------------------


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
    """Return the engine that keeps a copy at a place: DuckDB its files, else that of the table.

    Args:
        place: as it was given to ``code_table``.
        near: a table on the server that holds the copy; None if there is only a file.
    """
    return EMBEDDED if near is None or EMBEDDED.claims(place) else near.dialect


FileMark = tuple[int, int, int, int]

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

    Args:
        place: the place of the copy.
        codings: how its columns are coded.
        version: the version of its data.
        owner: the ledger that opens it.
        near: a table on the PostgreSQL or the Spark that holds it.
        fresh: whether it was just made; it is read again when it is first opened.

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
        digest = _rows_digest(store, note, codings, key)
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


def _rows_digest(store: Store, note: str, codings: Sequence[ColumnCoding], key: bytes) -> str:
    text = row_sums_query(codings, relation_of(store), seeds_from(key), store.dialect)
    sums = read_sums(store.fetch_row(text))
    content = f"{sums.rows}|{sums.first}|{sums.second}|{note}"
    return hmac.digest(key, content.encode(), "sha512").hex()
