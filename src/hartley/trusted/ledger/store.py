"""The database of the ledger: statements that run on both SQLite and PostgreSQL.

Besides the rows there are two tables that only index them by the digest of a question: who was
charged for it, and what was answered. They can be rebuilt from the rows at any time, and every
entry is looked up in the rows before it counts. A row counts if its hash fits its content and the
row after it, or the note of where the chain ends, continues it.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from hartley.errors import EngineError, InputError, Refused
from hartley.trusted.ledger.rows import (
    FIELDS,
    FORMAT,
    LARGEST_SEQUENCE,
    NO_NOTE,
    Entry,
    Head,
    broken,
    charged_digests,
    check_hash,
    committed_answers,
    continued,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path


# --- store ----------------------------------------------------------------------------------------


T = TypeVar("T")

PAGE = 500
"""Rows read at once, and questions looked up at once."""
COLUMNS = ", ".join(FIELDS)
LINKED = (
    f"SELECT {', '.join(f'e.{name}' for name in FIELDS)}, after.previous, h.sequence, h.hash "  # noqa: S608 - our own words
    "FROM hartley_entries e LEFT JOIN hartley_entries after ON after.sequence = e.sequence + 1 "
    "LEFT JOIN hartley_head h ON h.one = 1"
)
"""Selects rows, each with the row after it or the note of where the chain ends."""
FIRST = -(2**63)
"""The smallest number that a row of any origin can have in a database."""
ATTEMPTS = 5


@dataclass(frozen=True)
class Paid:
    """The charges and answers of some questions, by digest."""

    accounts: Mapping[str, Mapping[str, int]]
    """The accounts that were charged for them, each with the row."""
    answers: Mapping[str, str]


class Transaction:
    """Reading and appending inside one transaction; statements have question marks for values."""

    def __init__(
        self,
        run: Callable[[str, Sequence[Any]], list[Any]],
        run_many: Callable[[str, list[tuple[Any, ...]]], None],
    ) -> None:
        self.run, self.run_many = run, run_many

    # --- rows ---

    def head(self) -> Head | None:
        """Return the end of the chain according to the note next to it."""
        noted = self.run("SELECT sequence, hash, format FROM hartley_head", ())
        if not noted:
            raise broken(NO_NOTE)
        if noted[0][0] == 0:
            return None
        try:
            return Head(*noted[0])
        except InputError:
            raise broken(
                "the record of its last row is not in the format that a ledger writes"
            ) from None

    def last(self) -> Entry | None:
        """Return the last row, after checking that it is the one written last."""
        rows = self.run(
            f"SELECT {COLUMNS} FROM hartley_entries ORDER BY sequence DESC LIMIT 1",  # noqa: S608 - our own words
            (),
        )
        entry = Entry(*rows[0]) if rows else None
        head = self.head()
        if (head is None) != (entry is None):
            raise broken("its last rows are missing")
        if entry is not None and head is not None:
            if (entry.sequence, entry.hash) != (head.sequence, head.hash):
                raise broken(f"row {head.sequence} was written last but is not the last row")
            check_hash(entry)
        return entry

    def latest(
        self, dataset: str, account: str | None = None, *, until: int | None = None
    ) -> Entry | None:
        """Return the last row of a dataset, or of one account in it, up to some row, checked."""
        given = {"dataset = ?": dataset, "account = ?": account, "sequence <= ?": until}
        wanted = {words: value for words, value in given.items() if value is not None}
        where = " AND ".join(f"e.{words}" for words in wanted)
        return self._first(f"WHERE {where} ORDER BY e.sequence DESC LIMIT 1", *wanted.values())

    def latest_of_all(self) -> list[Entry]:
        """Return the last row of every dataset, checked."""
        hop, values = _hop("dataset", "dataset > ?", ("",))
        ends = "SELECT (SELECT max(sequence) FROM hartley_entries WHERE dataset = name) FROM hop"
        return self._linked(
            f"WHERE e.sequence IN ({ends} WHERE name IS NOT NULL) ORDER BY e.sequence",
            values,
            before=hop,
        )

    def entry(self, sequence: int) -> Entry | None:
        """Return one row, checked."""
        return self._first("WHERE e.sequence = ?", sequence)

    def _first(self, where: str, *values: object) -> Entry | None:
        rows = self._linked(where, values)
        return rows[0] if rows else None

    def _linked(self, where: str, values: Sequence[Any], *, before: str = "") -> list[Entry]:
        rows = self.run(f"{before}{LINKED} {where}", values)
        return [continued(Entry(*row[:-3]), *row[-3:]) for row in rows]

    def _several(self, sequences: set[int]) -> dict[int, Entry]:
        """Return rows by their numbers, checked."""
        wanted, rows = sorted(sequences, key=str), []
        for start in range(0, len(wanted), PAGE):
            page = wanted[start : start + PAGE]
            rows += self._linked(f"WHERE e.sequence IN ({_marks(page)})", page)
        return {entry.sequence: entry for entry in rows}

    def checked(self, dataset: str, start: int = FIRST) -> Iterator[Entry]:
        """Yield the rows of a dataset in order, each checked, a page at a time."""
        where = f"WHERE e.dataset = ? AND e.sequence >= ? ORDER BY e.sequence LIMIT {PAGE}"
        while rows := self._linked(where, (dataset, start)):
            yield from rows
            start = rows[-1].sequence + 1

    def reserved(self, dataset: str, after: int = 0) -> list[Entry]:
        """Return the rows of a dataset after one that charge for questions, in order, checked."""
        return self._linked(
            "WHERE e.dataset = ? AND e.sequence > ? AND e.kind = 'reserve' ORDER BY e.sequence",
            (dataset, after),
        )

    def rules_of(self, dataset: str, after: int = 0) -> list[tuple[str, int]]:
        """Return the pricing rules of a dataset's rows after one, each with its first row."""
        return self.run(
            "SELECT rules, MIN(sequence) FROM hartley_entries WHERE dataset = ? AND sequence > ? "
            "GROUP BY rules",
            (dataset, after),
        )

    def reserved_by(
        self, dataset: str, account: str, start: int, *, limit: int, newest: bool = False
    ) -> list[Entry]:
        """Return a page of the rows that charge one account, after a row in the chosen order."""
        after = "< ? ORDER BY e.sequence DESC" if newest else "> ? ORDER BY e.sequence"
        return self._linked(
            "WHERE e.dataset = ? AND e.account = ? AND e.kind = 'reserve' "
            f"AND e.sequence {after} LIMIT {limit:d}",
            (dataset, account, start),
        )

    def entries(self, start: int = FIRST, *, dataset: str | None = None) -> Iterator[Entry]:
        """Yield rows in order, a page at a time, including invalid ones before the first."""
        chosen = "sequence >= ?" if dataset is None else "dataset = ? AND sequence >= ?"
        of_dataset = () if dataset is None else (dataset,)
        while True:
            page = self.run(
                f"SELECT {COLUMNS} FROM hartley_entries WHERE {chosen} "  # noqa: S608 - our own words
                f"ORDER BY sequence LIMIT {PAGE}",
                (*of_dataset, start),
            )
            for row in page:
                yield Entry(*row)
            if len(page) < PAGE:
                return
            start = page[-1][0] + 1

    def append(self, entry: Entry) -> None:
        """Add a row and move the note of where the chain ends."""
        self.run(
            f"INSERT INTO hartley_entries ({COLUMNS}) VALUES ({_marks(FIELDS)})",  # noqa: S608 - our own words
            entry.fields,
        )
        self.run("UPDATE hartley_head SET sequence = ?, hash = ?", (entry.sequence, entry.hash))

    def hash_of(self, sequence: int) -> str | None:
        """Return the stored hash of a row."""
        return self._value("SELECT hash FROM hartley_entries WHERE sequence = ?", sequence)

    def kind_of(self, sequence: int) -> str | None:
        """Return the kind of a row."""
        return self._value("SELECT kind FROM hartley_entries WHERE sequence = ?", sequence)

    def _value(self, query: str, *values: object) -> str | None:
        rows = self.run(query, values)
        return rows[0][0] if rows else None

    def hash_before_migration(self, version: int, sequence: int) -> str | None:
        """Return the hash that a row had in an older format, if it is still known."""
        marks = self.run("SELECT content FROM hartley_entries WHERE kind = 'migrated'", ())
        if not any(json.loads(row[0])["format"] == version for row in marks):
            return None
        query = f"SELECT hash FROM hartley_entries_{version} WHERE sequence = ?"  # noqa: S608 - a number
        return self._value(query, sequence)

    # --- datasets and accounts ---

    def datasets(self) -> list[str]:
        """Name the datasets."""
        return self._distinct("dataset", "dataset > ?", ("",))

    def populations(self) -> list[str]:
        """Name the populations, whose rows belong to no dataset."""
        return self.accounts("")

    def accounts(self, dataset: str) -> list[str]:
        """Name the accounts of a dataset."""
        return self._distinct("account", "dataset = ?", (dataset,))

    def _distinct(self, column: str, where: str, values: tuple[str, ...]) -> list[str]:
        hop, twice = _hop(column, where, values)
        rows = self.run(f"{hop}SELECT name FROM hop WHERE name IS NOT NULL", twice)  # noqa: S608 - our own words
        return [row[0] for row in rows]

    def versions(self, dataset: str, *, until: int = LARGEST_SEQUENCE) -> list[str]:
        """Name every version that the data of a dataset had, up to some row, in their order."""
        rows = self.run(
            "SELECT content FROM hartley_entries WHERE dataset = ? AND sequence <= ? "
            "AND kind IN ('created', 'version', 'erasure', 'schema') ORDER BY sequence",
            (dataset, until),
        )
        events = [json.loads(row[0]) for row in rows]
        return [content["version"] for content in events if "version" in content]

    def all_versions(self) -> dict[str, list[str]]:
        """Name the versions of every dataset."""
        return {dataset: self.versions(dataset) for dataset in self.datasets()}

    def schemas(self, dataset: str) -> list[Entry]:
        """Return the rows that gave a dataset a schema, in order, checked."""
        return self._linked(
            "WHERE e.dataset = ? AND e.kind IN ('created', 'schema') ORDER BY e.sequence",
            (dataset,),
        )

    # --- questions ---

    def paid(self, digests: Sequence[str], *, until: int = LARGEST_SEQUENCE) -> Paid:
        """Return who was charged for questions, and the answers that are known, up to some row.

        Both come from rows of the chain; if an index says anything else, an error is raised.
        """
        # The indexes have no hash, so each line is looked up in its row: a forged line would make
        # an unpaid question free, or give an answer that no engine computed.
        asked, answers = self._by_digest(digests, until)
        rows = self._several({row[2] for row in (*asked, *answers)})
        accounts: dict[str, dict[str, int]] = {}
        questions: dict[int, frozenset[str]] = {}
        for digest, account, sequence in asked:
            entry = rows.get(sequence)
            if entry is not None and sequence not in questions:
                questions[sequence] = charged_digests(entry)
            if entry is None or entry.account != account or digest not in questions[sequence]:
                raise broken("its index says that a question was paid for, but its rows do not")
            accounts.setdefault(digest, {})[account] = sequence
        given: dict[str, str] = {}
        for digest, answer, sequence in answers:
            entry = rows.get(sequence)
            if entry is None or committed_answers(entry).get(digest) != answer:
                raise broken("its index has an answer that its rows do not have")
            if digest not in accounts:
                raise broken("its index has an answer to a question that nobody paid for")
            given[digest] = answer
        self._refuse_lost_answers(
            {digest: min(by.values()) for digest, by in accounts.items() if digest not in given},
            rows,
            until,
        )
        return Paid(accounts, given)

    def _refuse_lost_answers(
        self, waiting: Mapping[str, int], rows: Mapping[int, Entry], until: int
    ) -> None:
        """Raise an error if an index lost an answer that the rows have.

        Reads the rows since the charge. There are few of them, because a charged question is
        answered at once unless the engine or the process failed.
        """
        if not waiting:
            return
        first = min(waiting.values())
        dataset = rows[first].dataset
        commits = self._linked(
            "WHERE e.dataset = ? AND e.sequence > ? AND e.sequence <= ? AND e.kind = 'commit'",
            (dataset, first, until),
        )
        if any(not committed_answers(entry).keys().isdisjoint(waiting) for entry in commits):
            raise broken("its index lacks an answer that its rows have")

    def _by_digest(self, digests: Sequence[str], until: int) -> tuple[list[Any], list[Any]]:
        """Return the lines of both indexes: digest, account or answer, and row."""
        wanted = sorted(set(digests))
        asked: list[Any] = []
        answers: list[Any] = []
        for start in range(0, len(wanted), PAGE // 2):  # each is looked up in two tables
            page = wanted[start : start + PAGE // 2]
            where = f"WHERE digest IN ({_marks(page)}) AND NOT sequence > ?"
            both = (
                f"SELECT digest, account, sequence, 0 FROM hartley_asked {where} "  # noqa: S608 - our own words
                f"UNION ALL SELECT digest, answer, sequence, 1 FROM hartley_answers {where}"
            )
            for *line, answered in self.run(both, (*page, until, *page, until)):
                (answers if answered else asked).append(line)
        return asked, answers

    def note_asked(self, digests: Sequence[str], account: str, sequence: int) -> None:
        """Index the questions that a row charges an account for."""
        self.run_many(
            "INSERT INTO hartley_asked (digest, account, sequence) VALUES (?, ?, ?)",
            [(digest, account, sequence) for digest in digests],
        )

    def note_answers(self, answers: Mapping[str, str], sequence: int) -> None:
        """Index the answers that a row holds."""
        self.run_many(
            "INSERT INTO hartley_answers (digest, answer, sequence) VALUES (?, ?, ?)",
            [(digest, answer, sequence) for digest, answer in answers.items()],
        )

    def unanswered(self, dataset: str) -> list[int]:
        """Return the rows with a question that was charged and never answered."""
        rows = self.run(
            "SELECT DISTINCT a.sequence FROM hartley_asked a "
            "JOIN hartley_entries e ON e.sequence = a.sequence "
            "LEFT JOIN hartley_answers w ON w.digest = a.digest "
            "WHERE w.digest IS NULL AND e.dataset = ? ORDER BY a.sequence",
            (dataset,),
        )
        return [row[0] for row in rows]

    def charges(self, dataset: str) -> tuple[int, int]:
        """Return how many batches of a dataset were paid for, and how many questions in them."""
        (row,) = self.run(
            "SELECT count(DISTINCT a.sequence), count(*) FROM hartley_asked a "
            "JOIN hartley_entries e ON e.sequence = a.sequence WHERE e.dataset = ?",
            (dataset,),
        )
        return int(row[0]), int(row[1])

    def indexed(self, after: int = 0) -> tuple[list[Any], list[Any]]:
        """Return both index tables, limited to the rows after a given one."""
        return (
            self.run(
                "SELECT digest, account, sequence FROM hartley_asked WHERE sequence > ?", (after,)
            ),
            self.run(
                "SELECT digest, answer, sequence FROM hartley_answers WHERE sequence > ?", (after,)
            ),
        )


class LedgerStore(ABC):
    """A database that keeps a ledger."""

    name: str
    """The name for messages; it contains no password."""
    path: Path | None = None
    """The file, if the store is one."""
    pool: Pool
    only_reads = False
    """Whether the store is read-only for this process."""
    tables: str
    """The statements that create the tables."""

    @abstractmethod
    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run work that only reads, on one snapshot of the ledger."""

    @abstractmethod
    def write(
        self, work: Callable[[Transaction], T], *, again: bool = True, durable: bool = True
    ) -> T:
        """Run work as the only writer; it is durable when this returns, or has no effect.

        It is called again if the store could not finish it; with ``again``, even if it may have
        been finished. Without ``durable`` it may be lost if the power fails before the next durable
        write or ``flush``, but outlives every process; a store on a server is always durable.
        """

    def write_with_others(self, work: Callable[[Transaction], T], *, durable: bool = True) -> T:
        """Run work that may share a transaction with that of other threads, one after the other.

        If it raises an error, it has no effect, and the others have theirs.
        """
        return self.write(work, durable=durable)

    def flush(self) -> None:  # noqa: B027 - a store on a server has nothing to do
        """Make everything durable that was written by now, by any process."""

    def create_tables(self, transaction: Transaction) -> None:
        """Create the tables of a ledger without rows."""
        for statement in self.tables.split(";\n"):
            if statement.strip():
                transaction.run(statement, ())

    def wipe(self, transaction: Transaction) -> None:
        """Remove every row, for a restore that replaces them."""
        for table in ("entries", "asked", "answers", "head"):
            transaction.run(f"DROP TABLE hartley_{table}", ())
        self.create_tables(transaction)

    def copy_to(self, path: Path) -> bool:
        """Write a snapshot of the ledger to a file, without the private table, if it is a file."""
        del path
        return False

    @abstractmethod
    def holds_table(self, transaction: Transaction, name: str) -> bool:
        """Tell whether there is a table of this name."""

    @abstractmethod
    def shield(self, transaction: Transaction, name: str) -> None:
        """Restrict the access to a table, as far as the store can."""

    @abstractmethod
    def making(self) -> AbstractContextManager[None]:
        """Signal to others that a coded copy is being made and recorded."""

    @abstractmethod
    def sweep(self, work: Callable[[Transaction], None]) -> bool:
        """Run work while nobody makes a copy or writes; return whether that was possible now."""

    def may_append(self) -> bool:
        """Tell whether rows can be written from here."""
        return not self.only_reads

    def close(self) -> None:
        """Close every connection."""
        self.pool.close()


def _hop(column: str, where: str, values: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return SQL that jumps along an index from one name to the next, without reading all rows."""
    return (
        f"WITH RECURSIVE hop(name) AS (SELECT min({column}) FROM hartley_entries WHERE {where} "  # noqa: S608 - our own words
        f"UNION ALL SELECT (SELECT min({column}) FROM hartley_entries WHERE {where} "
        f"AND {column} > hop.name) FROM hop WHERE hop.name IS NOT NULL) "
    ), (*values, *values)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def format_noted(transaction: Transaction) -> int:
    """Return the format in the note next to the rows."""
    noted = transaction.run("SELECT format FROM hartley_head", ())
    if not noted:
        raise broken(NO_NOTE)
    if type(noted[0][0]) is not int:
        raise broken("the record of its last row is not in the format that a ledger writes")
    return noted[0][0]


def check_format(version: int | None, name: str) -> bool:
    """Tell whether a store has the present format; raise an error for a newer one."""
    if version is not None and version > FORMAT:
        raise EngineError(
            f"The ledger {name} has format {version}, but this version of Hartley reads formats up "
            f"to {FORMAT}",
            hint="use the version of Hartley that wrote it, or a newer one",
        )
    return version == FORMAT


def only_read(name: str) -> Refused:
    """Return the error for writing to a read-only ledger."""
    return Refused(
        f"The ledger {name} is read-only here, so nothing new can be asked, changed or charged",
        hint="earlier questions can be asked again; for new ones use it where its file, folder "
        "or database is writable",
    )


class StoreFailed(EngineError):  # noqa: N818 - reads as what it says: the store failed
    """A store that does not answer now; it may later, and what it holds is not in doubt."""

    reason = "the ledger does not answer"
    """Why, without the name of a file or a server."""


def lasting(error: Exception, name: str) -> StoreFailed:
    """Return the error for a failing store, without the text of the store's own error."""
    if "disk is full" in str(error).lower() or "no space left" in str(error).lower():
        failed = StoreFailed(
            f"The disk of the ledger {name} is full",
            hint="make room and try again; nothing is lost",
        )
        failed.reason = "the disk of the ledger is full"
        return failed
    return StoreFailed(
        f"The ledger {name} does not answer",
        hint="check that the disk has space, the file is writable and the server is up; nothing "
        "is lost",
    )


def held(name: str) -> StoreFailed:
    """Return the error for a store that another process keeps locked."""
    failed = StoreFailed(
        f"Another process holds the lock of the ledger {name}, so nothing was written",
        hint="try again when it is done, or find and end it; nothing is lost",
    )
    failed.reason = "another process holds the lock of the ledger"
    return failed


class AnotherLedger(EngineError):  # noqa: N818 - reads as what it says
    """A ledger in place of the one that was used: it may lack charges for what was shown."""


def replaced(name: str) -> AnotherLedger:
    """Return the error for a ledger that is not the one that was opened, or lacks rows of it."""
    return AnotherLedger(
        f"The ledger {name} was replaced or removed while it was in use, or lacks rows that it "
        "had, so nothing is charged or shown",
        hint="put the newest ledger back under its name, without a log of another, and open it "
        "again",
    )


# --- connections ----------------------------------------------------------------------------------
# Connections to a store: each used by one thread at a time, none carried over a fork.
#
# If two processes shared a database connection, they would corrupt the ledger: SQLite keeps its
# file locks per process, and a server would receive two mixed conversations. So before the
# process forks, every connection is returned and closed; both sides open new ones.

PATIENCE = 60.0
"""Seconds that a fork waits for running transactions, which take milliseconds."""


class Pool:
    """A pool of open connections, and a lock for the single writer of this process."""

    def __init__(self, connect: Callable[[], Any], usable: Callable[[Any], bool]) -> None:
        self._connect, self._usable = connect, usable
        self._idle: list[Any] = []
        self._prepare()
        with REGISTERING:
            POOLS.add(self)

    def _prepare(self) -> None:
        self.writer = threading.Lock()
        """Queues the writers of this process, which is fairer than the store's own lock."""
        self.waiting: deque[Any] = deque()
        """Writes that may share a transaction with others."""
        self._changed = threading.Condition()
        self._lent: list[int] = []
        self._paused = self._closed = False

    @contextmanager
    def lend(self) -> Iterator[Any]:
        """Lend a connection to this thread."""
        me = threading.get_ident()
        with self._changed:
            if self._paused:
                self._changed.wait_for(lambda: not self._paused or me in self._lent)
            connection = self._idle.pop() if self._idle else None
            self._lent.append(me)
        try:
            if connection is None:
                connection = self._connect()
            yield connection
        finally:
            keep = connection is not None and self._usable(connection)
            with self._changed:
                self._lent.remove(me)
                keep = keep and not self._closed
                if keep:
                    self._idle.append(connection)
                if self._paused:  # else nobody waits
                    self._changed.notify_all()
            if connection is not None and not keep:
                connection.close()

    def forget(self) -> None:
        """Close the unused connections, for example after the server was lost."""
        with self._changed:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close the unused connections now, and the others when they are returned."""
        self._closed = True
        self.forget()

    def pause(self) -> None:
        """Wait until no other thread uses a connection, and close them all."""
        me = threading.get_ident()
        with self._changed:
            self._paused = True
            self._changed.wait_for(lambda: all(who == me for who in self._lent), PATIENCE)
        self.forget()

    def resume(self) -> None:
        """Lend again."""
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def start_again(self) -> None:
        """Start again in a child process, in which the threads that held locks do not exist."""
        closed = self._closed
        self._idle = []
        self._prepare()
        self._closed = closed


POOLS: WeakSet[Pool] = WeakSet()
REGISTERING = threading.Lock()
"""Also held during a fork, so that no pool is created meanwhile."""


def _before_a_fork() -> None:
    REGISTERING.acquire()
    for pool in list(POOLS):
        pool.pause()


def _after_a_fork() -> None:
    for pool in list(POOLS):
        pool.resume()
    REGISTERING.release()


def _in_the_child() -> None:
    for pool in list(POOLS):
        pool.start_again()
    REGISTERING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_a_fork, after_in_parent=_after_a_fork, after_in_child=_in_the_child
    )


# --- private --------------------------------------------------------------------------------------
# The private part of a ledger: a random name, a key, and digests of coded copies.
#
# They are stored in a separate table and are in no row, export or backup. The key is drawn when
# it is first needed, so ledgers without a key still work.

TABLE = "hartley_private"
CREATE = f"CREATE TABLE {TABLE} (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
LEDGER, KEY, COPY = "ledger", "key", "copy "


@dataclass(frozen=True)
class Secret:
    """A random name of the ledger, which its copies carry, and the key of their digests."""

    ledger: str
    key: bytes = field(repr=False)


def read_secret(store: LedgerStore) -> Secret:
    """Return the name and the key of a ledger; they are drawn if it has none yet."""
    return store.read(lambda t: _secret(store, t)) or store.write(lambda t: _draw(store, t))


def read_digest(store: LedgerStore, version: str) -> str | None:
    """Return the digest of the copy of a version, None if none was kept."""
    return store.read(lambda t: _value(store, t, COPY + version))


def keep_digest(store: LedgerStore, transaction: Transaction, version: str, digest: str) -> None:
    """Store the digest of the copy of a version; it replaces an earlier one."""
    _create(store, transaction)
    _put(transaction, COPY + version, digest)


def _secret(store: LedgerStore, transaction: Transaction) -> Secret | None:
    name, key = (_value(store, transaction, what) for what in (LEDGER, KEY))
    if name is None or key is None:
        return None
    try:
        return Secret(name, bytes.fromhex(key))
    except ValueError:
        raise broken("the key of its copies is not in the format that a ledger writes") from None


def _draw(store: LedgerStore, transaction: Transaction) -> Secret:
    known = _secret(store, transaction)  # another process may have been quicker
    if known is not None:
        return known
    _create(store, transaction)
    drawn = Secret(secrets.token_hex(8), secrets.token_bytes(32))
    _put(transaction, LEDGER, drawn.ledger)
    _put(transaction, KEY, drawn.key.hex())
    return drawn


def _create(store: LedgerStore, transaction: Transaction) -> None:
    if not store.holds_table(transaction, TABLE):
        transaction.run(CREATE, ())
        store.shield(transaction, TABLE)


def _value(store: LedgerStore, transaction: Transaction, name: str) -> str | None:
    if not store.holds_table(transaction, TABLE):
        return None
    rows = transaction.run(f"SELECT value FROM {TABLE} WHERE name = ?", (name,))  # noqa: S608 - our own name
    return str(rows[0][0]) if rows else None


def _put(transaction: Transaction, name: str, value: str) -> None:
    transaction.run(f"DELETE FROM {TABLE} WHERE name = ?", (name,))  # noqa: S608 - our own name
    transaction.run(f"INSERT INTO {TABLE} VALUES (?, ?)", (name, value))  # noqa: S608 - our own name
