"""Removing the file of a ledger that was made for nothing: it has no row, and nobody uses it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from hartley.agent.ledger.stores.sqlite import BESIDE


def new_ledger_file(ledger: object) -> Path | None:
    """Return the file that opening a ledger would make; None if it exists, or is no file."""
    text = os.fspath(ledger) if isinstance(ledger, (str, os.PathLike)) else ""
    place = text.removeprefix("sqlite:///")
    if not place or "://" in place or os.path.exists(place):  # noqa: PTH110 - names no file: False
        return None
    return Path(place)


def remove_unused_ledger(path: Path) -> None:
    """Remove the file of a ledger without rows and accounts, unless another process has it open.

    SQLite gives up a write-ahead log only for the one connection that has the file open, and keeps
    everybody else out from then on. Who has opened the file and waits to write to it notices that
    it is gone (``SqliteLedgerStore``).
    """
    with (
        suppress(sqlite3.Error, OSError),
        closing(sqlite3.connect(path.absolute().as_uri() + "?mode=rw", 0, uri=True)) as connection,
    ):
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = [str(name) for (name,) in listed]
        used = any(name.startswith(BESIDE) for name in tables)
        if tables:
            used |= bool(connection.execute("SELECT 1 FROM hartley_entries LIMIT 1").fetchall())
        if mode == "delete" and not used:
            path.unlink()
            path.with_name(f"{path.name}-shm").unlink(missing_ok=True)  # left by a full disk
