"""The write-ahead log of a ledger in a file: what is on the disk, and when.

A commit appends its pages to the log, and every later reader sees them there. A durable commit then
waits until the disk has the log (FULL), before anybody sees it. Another one does not wait (NORMAL):
it outlives every process, because the system has it, but not a power failure.

Why answers may be committed without waiting, and charges never:

1. The log is one file that only grows, and a flush brings all of it to the disk, also what other
   processes wrote. So after a power failure the log holds everything up to the last durable commit,
   and of the commits after it a first part: SQLite reads the log up to the first page whose
   checksum does not fit. Before the log begins again, its pages are in the database file, and both
   were flushed.
2. Hence no charge is lost, nor anything written before a charge, an event or a new version. Only
   rows of answers at the very end of the chain can be missing, and what is left is a chain.
3. A question without its answer is pending. It is paid for, so asking it again costs nothing, and
   its answer is a function of its version, whose data are still there: to remove them, a row of a
   new version is committed durably first. So the same cells are computed and recorded again.
4. What is kept elsewhere must not name a row that may be missing later: an honest ledger would then
   look like an older one. So heads, exports, backups and reports of a verification are given out
   after such rows were brought to the disk (``Ledger.head``).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DURABLE = "PRAGMA synchronous = FULL"
"""The next commits of a connection wait for the disk."""
NOT_WAITING = "PRAGMA synchronous = NORMAL"
"""The next commits of a connection do not wait for the disk."""
WRITING = "BEGIN IMMEDIATE"
"""Takes the writer's lock before anything is read. If a transaction began by reading, what it read
could be out of date when it writes."""
LOOK_SECONDS = 0.0002
"""How long a writer sleeps at least between two looks whether others are done."""
LOOK_SHARE = 0.02
"""How long it sleeps, as a share of the time that it has waited, if that is longer."""


def log_of(path: Path) -> Path:
    """Return the log of a file: next to the file itself, where a path is a link."""
    real = path.resolve()
    return real.with_name(f"{real.name}-wal")


def flush_log(log: Path, *, only_reads: bool = False) -> None:
    """Bring a log to the disk; nothing is to do if there is none.

    SQLite removes a log only after its pages are in the file, on the disk. It has no locks on the
    log itself, so opening and closing it once more releases none.
    """
    try:
        handle = os.open(log, os.O_RDONLY if only_reads else os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def bring_over(connection: sqlite3.Connection) -> bool:
    """Copy the whole log to the file and bring that to the disk; tell whether that was possible."""
    busy, pages, copied = connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
    return not busy and pages == copied


def has_log(files: list[tuple[str, int, int]]) -> bool:
    """Tell whether one of some files, with their sizes, is a log with content."""
    return any(size for name, size, _ in files if name.endswith("-wal"))


def copy_with_log(path: Path, folder: Path) -> str:
    """Copy a file of SQLite and its log, if there is one; return the path of the copy."""
    shutil.copyfile(path, folder / "copy.db")
    if log_of(path).exists():
        shutil.copyfile(log_of(path), folder / "copy.db-wal")
    return str(folder / "copy.db")


def keep_a_log(connection: sqlite3.Connection, until: float) -> None:
    """Switch to a write-ahead log; several processes that start at once take turns."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            _try_to_write(connection, until)
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)  # SQLite does not wait for this switch
        else:
            return


def take_turn(connection: sqlite3.Connection, until: float) -> None:
    """Begin as the only writer, as soon as no other process is, or fail after some time.

    SQLite itself would sleep for up to a tenth of a second between two looks, however short the
    turns of others are.
    """
    begun = time.monotonic()
    ((patience,),) = connection.execute("PRAGMA busy_timeout").fetchall()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                connection.execute(WRITING)
            except sqlite3.OperationalError as error:
                now = time.monotonic()
                if not is_busy(error) or now > until:
                    raise
            else:
                return
            time.sleep(max(LOOK_SECONDS, LOOK_SHARE * (now - begun)))
    finally:
        connection.execute(f"PRAGMA busy_timeout = {patience:d}")


def _try_to_write(connection: sqlite3.Connection, until: float) -> None:
    """Make an empty write, which fails if the ledger is not writable."""
    take_turn(connection, until)
    try:
        connection.execute("PRAGMA user_version = 0")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def code_of(error: sqlite3.Error) -> int:
    """Return the code of an error of SQLite; 0 if Python itself raised it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Tell whether somebody else was writing."""
    return code_of(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def not_flushed(error: sqlite3.Error) -> bool:
    """Tell whether the disk failed to take what was written before."""
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_FSYNC
