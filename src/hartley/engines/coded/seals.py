"""Digests by which a ledger knows its coded copies again, under a key that only it holds.

Of a DuckDB file all bytes count. Of a table on PostgreSQL or Spark the rows do, in whatever order,
and the note beside them. A digest says something about the data to whoever has the key, so neither
leaves the ledger's database.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.engines.coded.copy_jobs import is_file, relation_of
from hartley.engines.coded.row_sums import read_sums, row_sums_query, seeds_from
from hartley.engines.coded.stores import open_store
from hartley.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.engines.coded.coded_copy import Owner, Store
    from hartley.engines.coded.coding import ColumnCoding
    from hartley.engines.coded.copy_jobs import Place
    from hartley.engines.tables.table import Table

FileMark = tuple[int, int, int, int]

_digests: dict[tuple[str, str, str], tuple[FileMark | None, str]] = {}
"""What this process has computed, by place, version and ledger; of a file while it is as it was."""


def copy_digest(  # noqa: PLR0913 - what a copy is known by, each by name
    place: Place,
    codings: Sequence[ColumnCoding],
    version: str,
    owner: Owner,
    near: Table | None = None,
    *,
    fresh: bool = False,
) -> str:
    """Return the digest of a copy under its owner's key; computed once a version and process.

    Args:
        place: where the copy lives.
        codings: how its columns are coded.
        version: of the data that it holds.
        owner: the ledger that asks.
        near: a table on the PostgreSQL or the Spark that holds it.
        fresh: whether it was just made; the first time that it is opened it is read again.

    A file is read before DuckDB opens it: closing it afterwards would end DuckDB's lock on it.
    """
    known_by = (os.fspath(place), version, owner.ledger)
    mark = _mark(Path(place)) if is_file(place, near) else None
    known = _digests.get(known_by)
    if known is not None and known[0] == mark:
        return known[1]
    key = owner.key_of(version)
    if mark is not None:
        digest = _file_digest(Path(place), key)
        if _mark(Path(place)) != mark:
            raise InputError(
                f"The coded copy {Path(place).name} changed while it was read",
                hint="nobody but the agent may write to it; open it again",
            )
    else:
        store, note = open_store(place, near)
        digest = _rows_digest(store, note, codings, key)
    if not fresh:
        _digests[known_by] = mark, digest
    return digest


def _mark(path: Path) -> FileMark:
    """Return by what a file that was not written meanwhile is known."""
    try:
        state = path.stat()
    except OSError:
        raise InputError(
            f"There is no coded copy {path.name} that can be read",
            hint="check the name, or make the copy first",
        ) from None
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


class Watch:
    """Looks that a copy in a file stays what it was when its digest was compared.

    An engine that has the file open reads it a block at a time and remembers what it read. So a
    file that was touched is compared again before it is read on, and what was read while somebody
    touched it does not count, nor does anything that the engine would read after that.
    """

    def __init__(self, path: Path, compute: Callable[[], str], digest: str, mark: FileMark) -> None:
        self._path, self._compute, self._digest, self._mark = path, compute, digest, mark
        self._spoiled = False

    def check(self) -> None:
        """Refuse a copy that was changed; one that was removed is read to its end."""
        if self._spoiled:
            raise self._changed("while it was read", hint="open the dataset again")
        if not self._path.exists() or self._mark == (mark := _mark(self._path)):
            return
        if self._compute() != self._digest:
            raise self._changed("after it was made", hint="put it back, or open the dataset again")
        self._mark = mark

    def note_touched(self) -> None:
        """Look, after something was read, whether somebody touched the file meanwhile."""
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
    """Return the digest of a copy, as ``copy_digest``, and of a file who looks after it."""
    path = Path(place) if is_file(place, near) else None
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
    fetched = store.fetch(text)
    sums = read_sums([column[0].as_py() for column in fetched.columns])
    told = f"{sums.rows}|{sums.first}|{sums.second}|{note}"
    return hmac.digest(key, told.encode(), "sha512").hex()
