"""The ledger in a file: SQLite with a write-ahead log that is on disk before a charge counts."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hartley.errors import EngineError, HartleyError, InputError
from hartley.trusted.ledger.chain import migrate
from hartley.trusted.ledger.rows import FORMAT, broken
from hartley.trusted.ledger.store import (
    ATTEMPTS,
    TABLE,
    LedgerStore,
    Pool,
    Transaction,
    check_format,
    format_noted,
    held,
    lasting,
    only_read,
    replaced,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


# --- write ahead log ------------------------------------------------------------------------------
# The write-ahead log of a ledger in a file: what is on the disk, and when.
#
# A commit appends its pages to the log, and every later reader sees them there. A durable commit
# then waits until the disk has the log (FULL), before anybody sees it. Another one does not wait
# (NORMAL): it outlives every process, because the system has it, but not a power failure.
#
# Why answers may be committed without waiting, and charges never:
#
# 1. The log is one file that only grows, and a flush brings all of it to the disk, also what other
#    processes wrote. So after a power failure the log holds everything up to the last durable
#    commit, and of the commits after it a first part: SQLite reads the log up to the first page
#    whose checksum does not fit. Before the log begins again, its pages are in the database file,
#    and both were flushed.
# 2. Hence no charge is lost, nor anything written before a charge, an event or a new version. Only
#    rows of answers at the very end of the chain can be missing, and what is left is a chain.
# 3. A question without its answer is pending. It is paid for, so asking it again costs nothing, and
#    its answer is a function of its version, whose data are still there: to remove them, a row of a
#    new version is committed durably first. So the same cells are computed and recorded again.
# 4. What is kept elsewhere must not name a row that may be missing later: an honest ledger would
#    then look like an older one. So heads, exports, backups and reports of a verification are given
#    out after such rows were brought to the disk (``Ledger.head``).

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


# --- shared writes --------------------------------------------------------------------------------
# Writes of several threads in one transaction, each with or without its own effect.
#
# A transaction takes its turn among processes and waits for the disk. Threads that wait for the
# same turn share it: the first to get it does the work of all that wait by then, one after the
# other.


class SharedWrite:
    """The work of one thread, and what came of it.

    It is called inside a transaction, perhaps by another thread, with the context of this one; and
    again if the store could not finish it.
    """

    def __init__(self, work: Callable[[Transaction], Any], *, durable: bool) -> None:
        self._context, self._work, self.durable = copy_context(), work, durable
        self.is_done = False
        self._result: Any = None
        self._error: Exception | None = None

    def run(self, transaction: Transaction) -> None:
        """Do the work, which leaves nothing behind if it raises an error.

        The next one sees what it wrote, as if it had been committed: so every charge is checked
        against all charges before it.
        """
        self._result = self._error = None
        transaction.run("SAVEPOINT shared_write", ())
        try:
            self._result = self._context.run(self._work, transaction)
        except sqlite3.Error:
            raise  # SQLite may have ended the transaction
        except Exception as error:  # noqa: BLE001 - raised where it belongs
            self._error = error
            transaction.run("ROLLBACK TO shared_write", ())
        transaction.run("RELEASE shared_write", ())

    def outcome(self) -> Any:  # noqa: ANN401 - what the work returns
        """Return what the work returned, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._result


# --- sqlite ---------------------------------------------------------------------------------------


T = TypeVar("T")

CANNOT_WRITE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
BESIDE = "hartley_service_"
"""How tables begin that a service keeps beside the ledger; they are in no backup of it."""
BUSY_SECONDS = 25.0
"""How long one call waits for other writing processes, in all; a service gives up after 30 s."""
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


class OpenFiles(sqlite3.Connection):
    """A connection that knows which files it has open, since others may come to their places."""

    files: tuple[object, ...] | None = None


class SqliteLedgerStore(LedgerStore):
    """A ledger in one file, shared by threads and processes of one machine."""

    path: Path
    tables = TABLES

    def __init__(self, path: Path, *, create: bool = True) -> None:
        # Connections may be opened after the process has changed its working folder.
        self.path, self.name = path.absolute(), f"'{path}'"
        try:
            there, is_folder = path.exists(), path.is_dir()
        except OSError:  # too long a name, or a folder that may not be looked into
            raise InputError(
                f"The file of the ledger {self.name} cannot be looked at",
                hint="check the path, and who may read the folder",
            ) from None
        if is_folder:
            raise InputError(
                f"The ledger {self.name} is a folder, not a file", hint="add the name of its file"
            )
        if not there and not (create and path.absolute().parent.is_dir()):
            missing = "file" if path.absolute().parent.is_dir() else "folder"
            raise InputError(
                f"The {missing} of the ledger {self.name} does not exist",
                hint="check the path; the first question with a budget creates a ledger"
                if missing == "file"
                else "check the path, or create the folder",
            )
        self._place, self._log = str(self.path), log_of(self.path)
        self._file: object = None
        """The file that was opened first; another one in its place is not this ledger."""
        self._snapshot: list[tuple[str, int, int]] | None = None
        """The state of the files, if they are read without a lock that writers respect."""
        self._folder: Path | None = None
        self._in_doubt = False
        """Whether the disk failed to take the log, so that a part of it may be missing there."""
        self.pool = Pool(self._connect, lambda connection: not connection.in_transaction)
        try:
            self._prepare(create=create)
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
            factory=OpenFiles,
        )
        try:
            connection.execute(DURABLE)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, *, create: bool) -> None:
        until, there = time.monotonic() + BUSY_SECONDS, self.path.exists()
        if there and not (create or self.path.stat().st_size):
            raise _no_ledger(self.name)
        if there and not os.access(self.path, os.W_OK):
            self._only_read()
            return
        if not there:
            with suppress(OSError):  # which SQLite will report
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o660))
                self._restrict()
        self._file = _identity(self.path)
        try:
            with self.pool.lend() as connection:
                keep_a_log(connection, until)
        except sqlite3.OperationalError as error:
            if not there or code_of(error) not in CANNOT_WRITE:
                raise
            self._only_read()
            return
        noted = self._write(self._format, until)
        if noted is None and not create:
            raise _no_ledger(self.name)
        if noted is None:
            self._write(self._create, until)
        elif not check_format(noted, self.name):
            self._write(self._migrate, until)

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
            self.create_tables(transaction)

    def _migrate(self, transaction: Transaction) -> None:
        noted = self._format(transaction)
        if noted is not None and noted < FORMAT:  # another process may have been quicker
            migrate(transaction, noted, self.create_tables)

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
        files = [self.path, self._log]
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
        until = time.monotonic() + BUSY_SECONDS
        if self.only_reads:
            raise only_read(self.name)
        with self._turn(until):
            return self._write(work, until, durable=durable)

    def write_with_others(self, work: Callable[[Transaction], T], *, durable: bool = True) -> T:
        """Run work together with that of all threads that wait for the same turn."""
        if self.only_reads:
            raise only_read(self.name)
        until, mine = time.monotonic() + BUSY_SECONDS, SharedWrite(work, durable=durable)
        self.pool.waiting.append(mine)
        try:
            with self._turn(until):
                # Done by the thread before this one, or now with those that came meanwhile; by
                # itself if it is alone, or if the store could not finish what they share.
                if not mine.is_done and not self._shared(mine, until):
                    return self._write(work, until, durable=durable)
        except BaseException:
            with suppress(ValueError):  # Ctrl-C, before anybody did it: nobody is to do it then
                self.pool.waiting.remove(mine)
            raise
        result: T = mine.outcome()
        return result

    @contextmanager
    def _turn(self, until: float) -> Iterator[None]:
        """Queue with the other writers of this process, who may wait for another process."""
        if not self.pool.writer.acquire(timeout=max(0, until - time.monotonic())):
            raise held(self.name)
        try:
            yield
        finally:
            self.pool.writer.release()

    def _shared(self, mine: SharedWrite, until: float) -> bool:
        """Write what waits together with one that waits; tell whether that was done."""
        group, waiting = [mine], self.pool.waiting
        while waiting:
            write = waiting.popleft()
            if write is not mine:
                group.append(write)
        if len(group) == 1:
            return False

        def run_all(transaction: Transaction) -> None:
            for write in group:  # in the order in which they came
                write.run(transaction)

        try:
            self._write(run_all, until, durable=any(write.durable for write in group))
        except HartleyError:  # of the store: those of the work are kept with it
            return False
        for write in group:
            write.is_done = True
        return True

    def _write(self, work: Callable[[Transaction], T], until: float, *, durable: bool = True) -> T:
        if self._in_doubt:
            self._renew()
        return self._attempt(work, DURABLE if durable else NOT_WAITING, until)

    def flush(self) -> None:
        """Bring the log to the disk."""
        try:
            flush_log(self._log, only_reads=self.only_reads)
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

    def _attempt(
        self, work: Callable[[Transaction], T], level: str | None = None, until: float = 0
    ) -> T:
        """Run work in a transaction, which writes if it says what its commit waits for.

        Nothing is written to a file that is not at its path any more; and since it may be replaced
        at any moment, nothing that was read or written is given out before one more look.
        """
        try:
            with self.pool.lend() as connection:
                look = partial(self._look, connection)
                result = _transact(connection, work, look, level, until)
                look()
                return result
        except sqlite3.DatabaseError as error:
            raise self._error(error) from None

    def _look(self, connection: OpenFiles) -> None:
        """Raise an error unless the files that a connection has open are at their paths."""
        if self._snapshot is not None:  # of files that are read as they are found, see read()
            return
        files = (_identity(self.path), _identity(self._log))
        connection.files = connection.files or files
        if None in files or files != connection.files or files[0] != (self._file or files[0]):
            raise replaced(self.name)

    def _error(self, error: sqlite3.DatabaseError) -> HartleyError:
        """Turn an error of SQLite into one of Hartley's."""
        if code_of(error) == sqlite3.SQLITE_NOTADB:
            return _no_ledger(self.name)
        if code_of(error) == sqlite3.SQLITE_READONLY:
            return only_read(self.name)
        if is_busy(error):
            return held(self.name)
        code = getattr(error, "sqlite_errorcode", 0)
        self._in_doubt |= code == sqlite3.SQLITE_IOERR_FSYNC  # of what was written before
        if isinstance(error, sqlite3.OperationalError):
            return lasting(error, self.name)
        return broken("its file is damaged")

    def copy_to(self, path: Path) -> bool:
        """Write a snapshot of the ledger to a new file."""
        try:
            with self.pool.lend() as connection, closing(sqlite3.connect(path)) as copy:
                connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # one complete file
                copy.execute("PRAGMA secure_delete = ON")  # overwrite dropped data
                copy.execute(f"DROP TABLE IF EXISTS {TABLE}")
                beside = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ?"
                for (name,) in copy.execute(beside, (f"{BESIDE}*",)).fetchall():
                    copy.execute(f"DROP TABLE {name}")  # a name that GLOB has matched
        except sqlite3.OperationalError as error:
            full = code_of(error) == sqlite3.SQLITE_FULL
            raise OSError(errno.ENOSPC if full else errno.EIO, "") from None
        except sqlite3.DatabaseError as error:
            raise self._error(error) from None
        return True

    def holds_table(self, transaction: Transaction, name: str) -> bool:
        """Tell whether there is a table of this name."""
        listed = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return bool(transaction.run(listed, (name,)))

    def shield(self, transaction: Transaction, name: str) -> None:
        """Restrict the access to the file; a group with write access keeps it."""
        del transaction, name
        self._restrict()

    def _restrict(self) -> None:
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
    connection: sqlite3.Connection,
    work: Callable[[Transaction], T],
    look: Callable[[], None],
    level: str | None,
    until: float,
) -> T:
    def run(statement: str, values: Sequence[Any]) -> list[Any]:
        return connection.execute(statement, values).fetchall()

    def run_many(statement: str, rows: list[tuple[Any, ...]]) -> None:
        connection.executemany(statement, rows)

    if level is None:
        connection.execute("BEGIN")
    else:
        connection.execute(level)  # every time: no charge rests on what a transaction before it set
        take_turn(connection, until)
    try:
        if level is not None:
            look()
        result = work(Transaction(run, run_many))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _identity(path: Path) -> tuple[int, int] | None:
    """Return which file is at a path; None if there is none."""
    try:
        state = os.stat(path)  # noqa: PTH116 - in half the time
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _no_ledger(name: str) -> InputError:
    return InputError(f"The file {name} is not a ledger", hint="name another file, or a new one")
