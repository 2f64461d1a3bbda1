"""The ledger on a PostgreSQL server, shared by agents on several machines."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from hartley.errors import EngineError, InputError, OptionError, without_password
from hartley.trusted.ledger.chain import migrate
from hartley.trusted.ledger.rows import FORMAT
from hartley.trusted.ledger.store import (
    ATTEMPTS,
    LedgerStore,
    Pool,
    Transaction,
    check_format,
    format_noted,
    lasting,
    only_read,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

LOCK = 0x48617274_6C656467
"""The advisory lock that writers queue for: 'Hartledg'."""
MAKING = 0x48617274_6D616B65
"""The advisory lock that is shared while coded copies are made: 'Hartmake'."""
TABLES = """
CREATE TABLE hartley_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    format INTEGER NOT NULL, sequence BIGINT NOT NULL, hash TEXT NOT NULL
);
INSERT INTO hartley_head VALUES (1, 2, 0, '');
CREATE TABLE hartley_entries (
    sequence BIGINT PRIMARY KEY, time TEXT NOT NULL, dataset TEXT COLLATE "C" NOT NULL,
    analyst TEXT NOT NULL, account TEXT COLLATE "C" NOT NULL, kind TEXT NOT NULL,
    content TEXT NOT NULL, cells TEXT NOT NULL, account_cells TEXT NOT NULL,
    schema TEXT NOT NULL, rules TEXT NOT NULL, state TEXT NOT NULL, previous TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE INDEX hartley_entries_by_dataset ON hartley_entries (dataset, sequence);
CREATE INDEX hartley_entries_by_account ON hartley_entries (dataset, account, sequence);
CREATE TABLE hartley_asked (
    digest TEXT COLLATE "C" NOT NULL, account TEXT COLLATE "C" NOT NULL, sequence BIGINT NOT NULL,
    PRIMARY KEY (digest, account)
);
CREATE TABLE hartley_answers (
    digest TEXT COLLATE "C" NOT NULL PRIMARY KEY, answer TEXT NOT NULL, sequence BIGINT NOT NULL
);
CREATE OR REPLACE FUNCTION hartley_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'rows of a ledger never change and are never removed'; END $$;
CREATE TRIGGER hartley_entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON hartley_entries
    FOR EACH STATEMENT EXECUTE FUNCTION hartley_refuse();
"""
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED"
"""Set explicitly, since the default of the server or the role may differ; see ``write``."""
CANNOT_WRITE = {"25006", "42501"}
"""The errors of a standby server, and of a role that may only read."""
SETTINGS = "-c synchronous_commit=on -c client_encoding=UTF8"
"""A charge must be on disk before it counts, even if the server's default is weaker."""


class PostgresLedgerStore(LedgerStore):
    """A ledger in a database on a server.

    Writers take turns through an advisory lock that ends with the transaction, so that every
    transaction sees all that went before it: the strictest isolation, without failures to retry.
    """

    tables = TABLES

    def __init__(self, url: str, *, create: bool = True) -> None:
        try:
            import psycopg
        except ImportError:
            raise EngineError(
                "A ledger on PostgreSQL needs psycopg, which is not installed or lacks its library",
                hint="pip install 'hartley[postgres]'",
            ) from None
        self._psycopg: Any = psycopg
        try:
            self._options = str(psycopg.conninfo.conninfo_to_dict(url).get("options") or "")
            self._url, self.name = url, address_without_password(url)
        except (psycopg.ProgrammingError, ValueError):
            raise OptionError(
                "The address of the ledger cannot be read",
                hint="write postgresql://user@host/database",
            ) from None
        self.pool = Pool(
            self._connect, lambda connection: not (connection.closed or connection.broken)
        )
        try:
            self._prepare(create=create)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Any:  # noqa: ANN401 - psycopg is imported on use
        return self._psycopg.connect(
            self._url,
            options=f"{self._options} {SETTINGS}".strip(),
            autocommit=True,  # transactions are begun and ended explicitly
            prepare_threshold=None,  # for connection poolers
        )

    def _prepare(self, *, create: bool) -> None:
        noted = self.read(_format_of)
        if noted is None and not create:
            raise InputError(
                f"The database {self.name} contains no ledger", hint="check the address"
            )
        if noted is None:
            self.write(self._create)
        elif not check_format(noted, self.name):
            self.write(self._migrate)

    def _create(self, transaction: Transaction) -> None:
        if _format_of(transaction) is None:  # another process may have been quicker
            self.create_tables(transaction)

    def _migrate(self, transaction: Transaction) -> None:
        noted = _format_of(transaction)
        if noted is not None and noted < FORMAT:
            migrate(transaction, noted, self.create_tables)

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run work that only reads, on one snapshot."""
        return self._attempt(work, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", again=True)

    def write(
        self, work: Callable[[Transaction], T], *, again: bool = True, durable: bool = True
    ) -> T:
        """Run work as the only writer; it is on the server's disk when this returns."""
        # Always: a server that crashes and starts again under running agents would lose rows that
        # they have seen. A file keeps them as long as the machine runs, and agents run no longer.
        del durable

        def alone(transaction: Transaction) -> T:
            # Taken first: under READ COMMITTED every statement sees what is committed when it
            # begins, and with the lock held nobody commits in between. A stricter isolation would
            # take its snapshot when the lock is requested, before other writers are done.
            transaction.run(f"SELECT pg_advisory_xact_lock({LOCK})", ())
            return work(transaction)

        with self.pool.writer:
            return self._attempt(alone, WRITING, again=again)

    def _attempt(self, work: Callable[[Transaction], T], begin: str, *, again: bool) -> T:
        """Retry after a lost connection; work that may be finished is repeated only if allowed."""
        for attempts_left in reversed(range(ATTEMPTS)):
            ending: list[bool] = []
            try:
                with self.pool.lend() as connection:
                    return _transact(connection, work, begin, ending)
            except self._psycopg.OperationalError as error:
                self.pool.forget()  # they lead to the same lost server
                # If the connection is lost during COMMIT, it is unknown whether it was done. A
                # repeated charge is recognised by its digests; a repeated event is not.
                if not attempts_left or (ending and not again):
                    raise lasting(error, self.name) from None
            except self._psycopg.Error as error:
                if error.sqlstate in CANNOT_WRITE and begin == WRITING:
                    raise only_read(self.name) from None
                raise lasting(error, self.name) from None
        raise AssertionError

    def holds_table(self, transaction: Transaction, name: str) -> bool:
        """Tell whether there is a table of this name."""
        return _is_visible(transaction, name)

    def shield(self, transaction: Transaction, name: str) -> None:
        """Revoke the rights of PUBLIC on a table."""
        del self
        transaction.run(f"REVOKE ALL ON {name} FROM PUBLIC", ())

    def may_append(self) -> bool:
        """Tell whether rows can be written: not on a standby server, nor by a read-only role."""
        asked = (
            "SELECT NOT pg_is_in_recovery() AND has_table_privilege('hartley_entries', 'INSERT') "
            "AND current_setting('default_transaction_read_only') = 'off'"
        )
        return bool(self.read(lambda transaction: transaction.run(asked, ()))[0][0])

    @contextmanager
    def making(self) -> Iterator[None]:
        """Hold a shared lock on a separate connection; it also ends with the process."""
        connection = self._connect()
        try:
            connection.execute("BEGIN")  # a pooler keeps a transaction on one server
            connection.execute(f"SELECT pg_advisory_xact_lock_shared({MAKING})")
            yield
        finally:
            with suppress(self._psycopg.Error):  # the connection was lost, and the lock with it
                connection.execute("ROLLBACK")  # faster than waiting for the server to notice
            connection.close()

    def sweep(self, work: Callable[[Transaction], None]) -> bool:
        """Run work while nobody makes a copy or writes; return whether that was possible now."""

        def alone(transaction: Transaction) -> bool:
            ((free,),) = transaction.run(f"SELECT pg_try_advisory_xact_lock({MAKING})", ())
            if free:
                work(transaction)
            return bool(free)

        return self.write(alone)


def _transact(
    connection: Any,  # noqa: ANN401 - psycopg is imported on use
    work: Callable[[Transaction], T],
    begin: str,
    ending: list[bool],
) -> T:
    def run(statement: str, values: Sequence[Any]) -> list[Any]:
        cursor = connection.execute(statement.replace("?", "%s"), values or None)
        return cursor.fetchall() if cursor.description else []

    def run_many(statement: str, rows: list[tuple[Any, ...]]) -> None:
        with connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), rows)

    connection.execute(begin)
    try:
        result = work(Transaction(run, run_many))
        ending.append(True)
        connection.execute("COMMIT")
    except BaseException:
        try:
            connection.execute("ROLLBACK")
        except Exception:  # noqa: BLE001 - for any error, this connection is useless
            connection.close()
        raise
    return result


def address_without_password(url: str) -> str:
    """Return the address of a database without user, password and options.

    Example:
        >>> address_without_password("postgresql://me:secret@example.org:5433/ledgers?sslmode=require")
        "'ledgers' on example.org"
    """
    parts = urlsplit(without_password(url))
    return f"'{parts.path.lstrip('/') or 'postgres'}' on {parts.hostname or 'this machine'}"


def _format_of(transaction: Transaction) -> int | None:
    if not _is_visible(transaction, "hartley_head"):
        return None
    return format_noted(transaction)


def _is_visible(transaction: Transaction, name: str) -> bool:
    # The catalogue itself, since to_regclass may return cached results from before the lock.
    visible = "SELECT 1 FROM pg_class WHERE relname = ? AND pg_table_is_visible(oid)"
    return bool(transaction.run(visible, (name,)))
