"""The ledger in a file: SQLite with a write-ahead log that is on disk before a charge counts."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hartley.agent.ledger.rows.entries import FORMAT, broken
from hartley.agent.ledger.stores.connections import Pool
from hartley.agent.ledger.stores.migrations import migrate
from hartley.agent.ledger.stores.private import TABLE
from hartley.agent.ledger.stores.shared_writes import SharedWrite, end_all, run_all
from hartley.agent.ledger.stores.store import (
    ATTEMPTS,
    LedgerStore,
    Transaction,
    check_format,
    format_noted,
    lasting,
    only_read,
)
from hartley.agent.ledger.stores.write_ahead_log import (
    DURABLE,
    NOT_WAITING,
    WRITING,
    bring_over,
    code_of,
    copy_with_log,
    flush_log,
    has_log,
    is_busy,
    keep_a_log,
    log_of,
    not_flushed,
)
from hartley.errors import EngineError, HartleyError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

CANNOT_WRITE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
BESIDE = "hartley_service_"
"""How tables begin that a service keeps beside the ledger; they are in no backup of it."""
BUSY_SECONDS = 30.0
"""How long one attempt waits for other writing processes."""
LOOK_SECONDS = 0.0002
"""How long it sleeps at least between two looks whether they are done."""
LOOK_SHARE = 0.02
"""How long it sleeps, as a share of the time that it has waited, if that is longer."""
APPLICATION = 0x48415254
"""'HART' in the header of the file."""
TABLES = """
CREATE TABLE hartley_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    format INTEGER NOT NULL, sequence INTEGER NOT NULL, hash TEXT NOT NULL
);
INSERT INTO hartley_head VALUES (1, 2, 0, '');
CREATE TABLE hartley_entries (
    sequence INTEGER PRIMARY KEY, time TEXT NOT NULL, dataset TEXT NOT NULL,
    analyst TEXT NOT NULL, account TEXT NOT NULL, kind TEXT NOT NULL, content TEXT NOT NULL,
    cells TEXT NOT NULL, account_cells TEXT NOT NULL, schema TEXT NOT NULL, rules TEXT NOT NULL,
    state TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE INDEX hartley_entries_by_dataset ON hartley_entries (dataset, sequence);
CREATE INDEX hartley_entries_by_account ON hartley_entries (dataset, account, sequence);
CREATE TABLE hartley_asked (
    digest TEXT NOT NULL, account TEXT NOT NULL, sequence INTEGER NOT NULL,
    PRIMARY KEY (digest, account)
) WITHOUT ROWID;
CREATE TABLE hartley_answers (
    digest TEXT NOT NULL PRIMARY KEY, answer TEXT NOT NULL, sequence INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER hartley_entries_stay BEFORE UPDATE ON hartley_entries
    BEGIN SELECT RAISE(ABORT, 'rows of a ledger never change'); END;
CREATE TRIGGER hartley_entries_remain BEFORE DELETE ON hartley_entries
    BEGIN SELECT RAISE(ABORT, 'rows of a ledger are never removed'); END;
"""
"""The triggers protect against accidents only; `verify` detects deliberate changes."""


class SqliteLedgerStore(LedgerStore):
    """A ledger in one file, shared by threads and processes of one machine."""

    path: Path

    def __init__(self, path: Path, *, create: bool = True) -> None:
        # Connections may be opened after the process has changed its working folder.
        self.path, self.name = path.absolute(), f"'{path}'"
        try:
            there = path.exists()
        except OSError as error:  # too long a name, or a folder that may not be looked into
            raise InputError(
                f"The file of the ledger {self.name} cannot be looked at ({type(error).__name__})",
                hint="check the path, and who may read the folder",
            ) from None
        if not there and not (create and path.absolute().parent.is_dir()):
            missing = "file" if path.absolute().parent.is_dir() else "folder"
            raise InputError(
                f"The {missing} of the ledger {self.name} does not exist",
                hint="check the path; the first question with a budget creates a ledger"
                if missing == "file"
                else "check the path, or create the folder",
            )
        self._place = str(self.path)
        self._snapshot: list[tuple[str, int, int]] | None = None
        """The state of the files, if they are read without a lock that writers respect."""
        self._folder: Path | None = None
        self._in_doubt = False
        """Whether the disk failed to take the log, so that a part of it may be missing there."""
        self.pool = Pool(self._connect, lambda connection: not connection.in_transaction)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self.close()
            raise self._error(error) from None
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._place,
            timeout=BUSY_SECONDS,
            isolation_level=None,  # transactions are begun and ended explicitly
            check_same_thread=False,  # the pool lends it to one thread at a time
            uri=self._place.startswith("file:"),
        )
        try:
            connection.execute(DURABLE)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self) -> None:
        there = self.path.exists()
        if there and not os.access(self.path, os.W_OK):
            self._only_read()
            return
        try:
            with self.pool.lend() as connection:
                keep_a_log(connection)
        except sqlite3.OperationalError as error:
            if not there or code_of(error) not in CANNOT_WRITE:
                raise
            self._only_read()
            return
        noted = self.write(self._format)
        if not self.path.exists():
            raise lasting(FileNotFoundError(), self.name)  # see unused_file.py
        if noted is None:
            self.write(self._create)
        elif not check_format(noted, self.name):
            self.write(self._migrate)

    def _format(self, transaction: Transaction) -> int | None:
        """Return the format of a ledger, None for an empty file; raise an error for other files."""
        tables = transaction.run("SELECT name FROM sqlite_master WHERE type = 'table'", ())
        if not tables:
            return None
        if ("hartley_head",) not in tables:
            raise _no_ledger(self.name)
        return format_noted(transaction)

    def _create(self, transaction: Transaction) -> None:
        if self._format(transaction) is None:  # another process may have been quicker
            transaction.run(f"PRAGMA application_id = {APPLICATION}", ())
            _create_tables(transaction)

    def _migrate(self, transaction: Transaction) -> None:
        noted = self._format(transaction)
        if noted is not None and noted < FORMAT:  # another process may have been quicker
            migrate(transaction, noted, _create_tables)

    # --- a file or a folder that can only be read ---

    def _only_read(self) -> None:
        """Find a way to read a file in a folder where SQLite cannot write its log.

        Without a log the file is complete and is read directly. While another process writes there
        is a log, and SQLite uses it. A log without its index is read from a copy.
        """
        self.only_reads = True
        self.pool.forget()
        self._remove_copy()
        self._snapshot = files = self._files()
        address = f"{self.path.as_uri()}?mode=ro"
        if not has_log(files):
            self._place = f"{address}&immutable=1"
        elif self._reads_along(address):
            self._snapshot = None
        else:
            self._place = self._copy()
        if not check_format(self._attempt(self._format), self.name):
            raise EngineError(
                f"The ledger {self.name} has an older format and is read-only here",
                hint="copy it to a writable place, and open it there once",
            )

    def _reads_along(self, address: str) -> bool:
        """Tell whether SQLite can use the existing log, and use it."""
        self._place = address
        try:
            with self.pool.lend() as connection:
                connection.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError as error:
            if code_of(error) not in CANNOT_WRITE:
                raise
            self.pool.forget()
            return False
        return True

    def _files(self) -> list[tuple[str, int, int]]:
        """Return values that change when somebody writes to the file or its log."""
        files = [self.path, log_of(self.path)]
        states = [(file.name, file.stat()) for file in files if file.exists()]
        return [(name, state.st_size, state.st_mtime_ns) for name, state in states]

    def _copy(self) -> str:
        self._folder, self._owner = Path(tempfile.mkdtemp(prefix="hartley-")), os.getpid()
        try:
            return copy_with_log(self.path, self._folder)
        except OSError:
            raise InputError(
                f"The file of the ledger {self.name} cannot be read", hint="check its permissions"
            ) from None

    def _remove_copy(self) -> None:
        if self._folder is not None and self._owner == os.getpid():
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None

    def close(self) -> None:
        """Close every connection, and remove the copy that was made for reading."""
        super().close()
        self._remove_copy()

    # --- transactions ---

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run work that only reads; writers do not wait for it."""
        if not self.only_reads:
            return self._attempt(work)
        for _ in range(ATTEMPTS):  # another process may write without SQLite noticing
            before = self._files()
            if before != self._snapshot and (self._snapshot is not None or not has_log(before)):
                self._only_read()
            try:
                result = self._attempt(work)
            except HartleyError:
                if self._files() == before:
                    raise
                continue
            if self._snapshot is None or self._files() == before:
                return result
        raise broken("its file changed while it was read")

    def write(
        self, work: Callable[[Transaction], T], *, again: bool = True, durable: bool = True
    ) -> T:
        """Run work as the only writer; if it is to be durable, it is on disk when this returns."""
        del again  # unfinished work has no effect
        if self.only_reads:
            raise only_read(self.name)
        with self.pool.writer:
            return self._write(work, durable=durable)

    def write_with_others(self, work: Callable[[Transaction], T], *, durable: bool = True) -> T:
        """Run work together with that of all threads that wait for the same turn."""
        if self.only_reads:
            raise only_read(self.name)
        mine = SharedWrite(work, durable=durable)
        self.pool.waiting.append(mine)
        try:
            with self.pool.writer:
                # Done by the thread before this one, or now with those that came meanwhile; by
                # itself if it is alone, or if the store could not finish what they share.
                if not mine.is_done and not self._shared(mine):
                    return self._write(work, durable=durable)
        except BaseException:
            with suppress(ValueError):  # Ctrl-C, before anybody did it: nobody is to do it then
                self.pool.waiting.remove(mine)
            raise
        result: T = mine.outcome()
        return result

    def _shared(self, mine: SharedWrite) -> bool:
        """Write what waits together with one that waits; tell whether that was done."""
        group, waiting = [mine], self.pool.waiting
        while waiting:
            write = waiting.popleft()
            if write is not mine:
                group.append(write)
        if len(group) == 1:
            return False
        try:
            self._write(partial(run_all, group), durable=any(write.durable for write in group))
        except HartleyError:  # of the store: those of the work are kept with it
            return False
        end_all(group)
        return True

    def _write(self, work: Callable[[Transaction], T], *, durable: bool) -> T:
        if self._in_doubt:
            self._renew()
        return self._attempt(work, DURABLE if durable else NOT_WAITING)

    def flush(self) -> None:
        """Bring the log to the disk."""
        try:
            flush_log(self.path, only_reads=self.only_reads)
        except OSError as error:
            if not self.only_reads:  # a process that may only read may be unable to flush, too
                self._in_doubt = True
                raise lasting(error, self.name) from None

    def _renew(self) -> None:
        """Copy the log to the file after the disk failed to take a part of it.

        A system may report such a failure once, and say afterwards that all is well. What was not
        waited for would then be missing in front of later charges, and SQLite would not read them.
        The system still has those pages, so they are brought to the disk in the file itself.
        """
        try:
            with self.pool.lend() as connection:
                whole = bring_over(connection)
        except sqlite3.DatabaseError as error:
            raise self._error(error) from None
        if not whole:
            raise lasting(TimeoutError(), self.name)
        self._in_doubt = False

    def _attempt(self, work: Callable[[Transaction], T], level: str | None = None) -> T:
        """Run work in a transaction, which writes if it says what its commit waits for."""
        for attempts_left in reversed(range(ATTEMPTS)):
            try:
                with self.pool.lend() as connection:
                    return _transact(connection, work, level)
            except sqlite3.DatabaseError as error:
                if not attempts_left or not is_busy(error):
                    raise self._error(error) from None
        raise AssertionError

    def _error(self, error: sqlite3.DatabaseError) -> HartleyError:
        """Turn an error of SQLite into one of Hartley's."""
        if code_of(error) == sqlite3.SQLITE_NOTADB:
            return _no_ledger(self.name)
        if code_of(error) == sqlite3.SQLITE_READONLY:
            return only_read(self.name)
        self._in_doubt |= not_flushed(error)
        if isinstance(error, sqlite3.OperationalError):
            return lasting(error, self.name)
        return broken(f"its file is damaged ({type(error).__name__})")

    def wipe(self, transaction: Transaction) -> None:
        """Remove every row."""
        for table in ("entries", "asked", "answers", "head"):
            transaction.run(f"DROP TABLE hartley_{table}", ())
        _create_tables(transaction)

    def copy_to(self, path: Path) -> bool:
        """Write a snapshot of the ledger to a new file."""
        with self.pool.lend() as connection, closing(sqlite3.connect(path)) as copy:
            connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one complete file
            copy.execute("PRAGMA secure_delete = ON")  # overwrite dropped data
            copy.execute(f"DROP TABLE IF EXISTS {TABLE}")
            beside = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ?"
            for (name,) in copy.execute(beside, (f"{BESIDE}*",)).fetchall():
                copy.execute(f"DROP TABLE {name}")  # a name that GLOB has matched
        return True

    def holds_table(self, transaction: Transaction, name: str) -> bool:
        """Tell whether there is a table of this name."""
        listed = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return bool(transaction.run(listed, (name,)))

    def shield(self, transaction: Transaction, name: str) -> None:
        """Restrict the access to the file; a group with write access keeps it."""
        del transaction, name
        shared = 0o660 if self.path.stat().st_mode & 0o020 else 0o600
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):  # the owner is somebody else, or there is no such file
                self.path.with_name(self.path.name + ending).chmod(shared)

    @contextmanager
    def making(self) -> Iterator[None]:
        """Hold a shared lock on a file next to the ledger; it also ends with the process."""
        with _locked(self._lock_file, exclusive=False):
            yield

    def sweep(self, work: Callable[[Transaction], None]) -> bool:
        """Run work while nobody makes a copy or writes; skipped on systems without such locks."""
        with _locked(self._lock_file, exclusive=True) as alone:
            if alone:
                self.write(work)
            return alone

    @property
    def _lock_file(self) -> Path:
        return self.path.with_name(f"{self.path.name}.making")


@contextmanager
def _locked(path: Path, *, exclusive: bool) -> Iterator[bool]:
    """Lock a file that exists only while it is locked; return whether that worked.

    The lock may turn out to be of a file that was removed meanwhile; then it is tried again.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    kind = fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH
    while True:
        try:
            handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o660)
        except OSError:  # nothing is made or removed in a folder that is not writable
            yield False
            return
        try:
            fcntl.flock(handle, kind)
        except OSError:
            os.close(handle)
            yield False
            return
        if path.exists() and path.stat().st_ino == os.fstat(handle).st_ino:
            break
        os.close(handle)
    try:
        yield True
    finally:
        with suppress(OSError):  # another process also holds it, and removes it later
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        os.close(handle)


def _transact(
    connection: sqlite3.Connection, work: Callable[[Transaction], T], level: str | None
) -> T:
    def run(statement: str, values: Sequence[Any]) -> list[Any]:
        return connection.execute(statement, values).fetchall()

    def run_many(statement: str, rows: list[tuple[Any, ...]]) -> None:
        connection.executemany(statement, rows)

    if level is None:
        connection.execute("BEGIN")
    else:
        connection.execute(level)  # every time: no charge rests on what a transaction before it set
        _take_turn(connection)
    try:
        result = work(Transaction(run, run_many))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _take_turn(connection: sqlite3.Connection) -> None:
    """Begin as the only writer, as soon as no other process is.

    SQLite itself would sleep for up to a tenth of a second between two looks, however short the
    turns of others are.
    """
    begun = time.monotonic()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                connection.execute(WRITING)
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - begun
                if not is_busy(error) or waited > BUSY_SECONDS:
                    raise
            else:
                return
            time.sleep(max(LOOK_SECONDS, LOOK_SHARE * waited))
    finally:
        connection.execute(f"PRAGMA busy_timeout = {1000 * BUSY_SECONDS:.0f}")


def _no_ledger(name: str) -> InputError:
    return InputError(f"The file {name} is not a ledger", hint="name another file, or a new one")


def _create_tables(transaction: Transaction) -> None:
    for statement in TABLES.split(";\n"):
        if statement.strip():
            transaction.run(statement, ())
