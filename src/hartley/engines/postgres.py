"""PostgreSQL: tables of a server, read in transactions."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hartley.engines.dialect import (
    Dialect,
    Store,
    builtin,
    marks_among,
    name_parts,
    sql_name,
    taken,
)

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence

    from hartley.engines.coded_table import CopyJob
    from hartley.engines.dialect import Place
    from hartley.engines.table import Table


class PostgreSQL(Dialect):
    """A server."""

    name, title, sql = "postgres", "PostgreSQL", "postgres"
    addresses = ("postgresql://", "postgres://")
    text_bytes_sql = "UPPER(ENCODE(CONVERT_TO(t, 'UTF8'), 'hex'))"
    # It would put the text of every column of a subquery wherever it is used, and compute it again.
    fence = " OFFSET 0"

    # --- connections and statements ---

    def connect(self, address: str) -> Any:
        """Connect to a database."""
        import ibis

        return ibis.connect(address)

    def version(self, backend: Any) -> str:
        """Return the version of the server."""
        return str(backend.con.info.parameter_status("server_version"))

    def fetch_row(self, backend: Any, text: str) -> tuple[Any, ...]:
        """Run a statement in a transaction and return its only row."""
        with backend.con.transaction(), backend.con.cursor() as cursor:
            return tuple(cursor.execute(text).fetchone())

    @contextmanager
    def one_moment(self, backend: Any) -> Iterator[None]:
        """Run several statements on one snapshot of the database."""
        connection = backend.con
        connection.commit()
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield

    # --- exact arithmetic ---

    def text_bytes(self, text: Any) -> Any:
        """Return the bytes of a text; there is no function HEX."""
        to_bytes = builtin("convert_to", ("string", "string"), "binary")
        encode = builtin("encode", ("binary", "string"), "string")
        return encode(to_bytes(text, "UTF8"), "hex").upper()

    def is_nan_decimal(self, value: Any) -> Any | None:
        """Return where a decimal is NaN: PostgreSQL's have one, which is equal to itself."""
        return value.cast("string") == "NaN"

    def has_decimals(self, column: Any, digits: int) -> Any:
        """Return where a decimal is short; there is no TRY_CAST, and rounding never overflows."""
        shortened = builtin("round", ("decimal", "int32"), "decimal")
        return column.notnull() & (column == shortened(column, digits))

    def hashes(self, parts: Sequence[str], seed: int) -> str:
        """Return a hash of 64 bits; that of a whole number folds 64 bits into 32, of text none."""
        text = " || '|' || ".join(f"CAST({part} AS TEXT)" for part in parts)
        return f'HASHTEXTEXTENDED(({text}) COLLATE "C", {seed})'

    # --- coded copies ---

    def make_copy(self, job: CopyJob, place: Place | None) -> tuple[Store | None, str]:
        """Make a table with its note in one transaction."""
        table = job.table
        parts = (f"hartley_{secrets.token_hex(8)}",) if place is None else name_parts(place, most=2)
        name, about = sql_name(parts), sql_name(parts, more="_about")
        query = job.query()
        kind = "TEMPORARY TABLE" if place is None else "TABLE"
        try:
            with self.one_moment(table.backend), table.backend.con.cursor() as cursor:
                cursor.execute(f"CREATE {kind} {name} AS {query}")
                copy = _Unfinished(cursor, parts)
                text = job.sums_query(f"({query})", copy)
                job.compare(cursor.execute(text).fetchone(), copy)
                note = job.check(copy)
                cursor.execute(f"ANALYZE {name}")
                cursor.execute(f"CREATE {kind} {about} (content text)")
                cursor.execute(f"INSERT INTO {about} VALUES (%s)", [note])  # noqa: S608 - checked
        except Exception as error:
            if place is not None and type(error).__name__ == "DuplicateTable":
                raise taken(place) from None
            raise
        return PostgresStore(table.backend, parts, table.lock), note

    def open_copy(self, place: Place, near: Table | None) -> tuple[Store, str]:
        """Open a table of codes, with its note."""
        assert near is not None
        parts = name_parts(place, most=2)
        query = f"SELECT content FROM {sql_name(parts, more='_about')}"  # noqa: S608 - checked
        with near.lock, near.backend.con.transaction():
            (note,) = near.backend.con.execute(query).fetchone()
        return PostgresStore(near.backend, parts, near.lock), note

    def holds_copy(self, place: Place, near: Table | None) -> bool:
        """Tell whether there is a note, which is made with the rows."""
        assert near is not None
        name = sql_name(name_parts(place, most=2), more="_about")
        with near.lock, near.backend.con.transaction():
            (known,) = near.backend.con.execute("SELECT to_regclass(%s)", [name]).fetchone()
        return known is not None

    def drop_copy(self, place: Place, near: Table | None, *, seconds: int = 0) -> None:
        """Remove a table and its note."""
        assert near is not None
        parts = name_parts(place, most=2)
        names = ", ".join(sql_name(parts, more=more) for more in ("_about", ""))
        with near.lock, near.backend.con.transaction():
            near.backend.con.execute("SET LOCAL client_min_messages = warning")
            near.backend.con.execute(f"SET LOCAL lock_timeout = '{seconds}s'")
            near.backend.con.execute(f"DROP TABLE IF EXISTS {names}")

    def copy_marks(self, place: Place, near: Table | None, mark: str) -> set[str]:
        """Return the marks of all tables of a place."""
        assert near is not None
        name_parts(place, most=2)
        *outer, name = os.fspath(place).rsplit(".", 1)
        schema = outer[0] if outer else ""
        query = (
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE starts_with(c.relname, %s) AND c.relkind = 'r' AND "
            "CASE WHEN %s = '' THEN pg_table_is_visible(c.oid) ELSE n.nspname = %s END"
        )
        with near.lock, near.backend.con.transaction():
            rows = near.backend.con.execute(query, [f"{name}_", schema, schema]).fetchall()
        return marks_among((str(row[0]) for row in rows), name, mark)


POSTGRESQL = PostgreSQL()


class PostgresStore(Store):
    """A table of a PostgreSQL database, read in transactions that cannot write."""

    dialect: Dialect = POSTGRESQL

    def __init__(self, backend: Any, relation: Sequence[str], lock: threading.RLock) -> None:
        self._backend, self._lock = backend, lock  # the connection lives as long as the backend
        self.relation = tuple(relation)

    def fetch(self, text: str) -> Any:
        """Run a statement after those of other threads, on a new connection if one was lost."""
        from hartley.engines.dialect import stoppable  # for agents alone

        with self._lock:
            if self._backend.con.closed:
                self._backend.reconnect()
            connection = self._backend.con
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
                # A request to cancel has reached the server before the statement is given back, so
                # that it cannot end the next one on this connection.
                with stoppable(connection.cancel):
                    return _fetched(cursor.execute(text))

    def close(self) -> None:
        """Leave the connection to its owner."""


class _Unfinished(Store):
    """A table as the transaction that makes it sees it."""

    dialect: Dialect = POSTGRESQL

    def __init__(self, cursor: Any, relation: Sequence[str]) -> None:
        self._cursor, self.relation = cursor, tuple(relation)

    def fetch(self, text: str) -> Any:
        """Run a statement."""
        return _fetched(self._cursor.execute(text))

    def close(self) -> None:
        """Leave the transaction to its owner."""


def _fetched(cursor: Any) -> Any:
    """Return fetched rows of whole numbers as Arrow, in 64 bits where they fit."""
    import pyarrow as pa

    names = [column.name for column in cursor.description]
    rows = cursor.fetchall()
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    arrays = []
    for column in columns:
        whole = [None if value is None else int(value) for value in column]
        largest = max((abs(value) for value in whole if value is not None), default=0)
        arrays.append(pa.array(whole, pa.int64() if largest < 2**63 else pa.decimal128(38)))
    return pa.table(arrays, names=names)
