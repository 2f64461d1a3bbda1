"""Where coded copies live: DuckDB, PostgreSQL and Spark. Each is made whole and then only read."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hartley.errors import InputError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from hartley.engines.coded import Store
    from hartley.engines.table import Table

    Place: TypeAlias = str | os.PathLike[str]
    Check: TypeAlias = Callable[[Store], str]
    """Looks at the codes, refuses them or returns the note that is kept beside them."""

DATABASE_ENDINGS = (".duckdb", ".ddb")
LONGEST_NAME = 63 - len("_about")
BATCH = 1_000_000


def is_database(place: Place | None) -> bool:
    """Tell whether a place is a DuckDB file."""
    return place is not None and os.fspath(place).lower().endswith(DATABASE_ENDINGS)


def copy_rows(table: Table, rows: Any, place: Place | None, check: Check) -> tuple[Store, str]:
    """Put the codes into a place and return where they are, with the note about them."""
    if table.engine == "duckdb" or is_database(place):
        return _copy_embedded(rows, place, check)
    if table.engine == "postgres":
        return _copy_postgres(table, rows, place, check)
    return _copy_spark(table, rows, place, check)


def open_store(place: Place, near: Table | None) -> tuple[Store, str]:
    """Open a place that holds codes, with the note about them."""
    if near is None or is_database(place) or near.engine == "duckdb":
        store: Store = _open_file(Path(place))
        return store, str(store.fetch("SELECT content FROM about").column(0)[0].as_py())
    if near.engine == "postgres":
        parts = _name_parts(place, most=2)
        query = f"SELECT content FROM {sql_name(parts, more='_about')}"  # noqa: S608 - checked
        with near.lock, near.backend.con.transaction():
            (note,) = near.backend.con.execute(query).fetchone()
        return PostgresStore(near.backend, parts, near.lock), note
    session = _session(near)
    (note,) = _spark_frame(session, place, "about").first()
    return _spark_view(session, _spark_frame(session, place, "rows")), note


def holds_copy(place: Place, near: Table | None = None) -> bool:
    """Tell whether a place holds a finished copy.

    Args:
        place: as it was given to ``code_table``.
        near: a table on the PostgreSQL or the Spark that would hold it.
    """
    if near is None or is_database(place) or near.engine == "duckdb":
        return Path(place).exists()
    if near.engine == "postgres":
        name = sql_name(_name_parts(place, most=2), more="_about")
        with near.lock, near.backend.con.transaction():
            (found,) = near.backend.con.execute("SELECT to_regclass(%s)", [name]).fetchone()
        return found is not None
    if not _is_folder(place):
        return bool(_session(near).catalog.tableExists(_spark_name(place, "about")))
    try:
        _spark_frame(_session(near), place, "about")
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error):
            return False
        raise
    return True


def drop_copy(place: Place, near: Table | None = None) -> None:
    """Remove a copy that nobody shall ask any more; who has a file open goes on reading it.

    Args:
        place: as it was given to ``code_table``.
        near: a table on the PostgreSQL or the Spark that holds it.
    """
    if near is None or is_database(place) or near.engine == "duckdb":
        Path(place).unlink(missing_ok=True)
    elif near.engine == "postgres":
        parts = _name_parts(place, most=2)
        names = ", ".join(sql_name(parts, more=more) for more in ("_about", ""))
        with near.lock, near.backend.con.transaction():
            near.backend.con.execute("SET LOCAL client_min_messages = warning")
            near.backend.con.execute(f"DROP TABLE IF EXISTS {names}")
    elif _is_folder(place):
        folder = _session(near)._jvm.org.apache.hadoop.fs.Path(os.fspath(place))  # noqa: SLF001 - Spark offers no other way to its files
        settings = _session(near)._jsc.hadoopConfiguration()  # noqa: SLF001 - likewise
        folder.getFileSystem(settings).delete(folder, True)  # noqa: FBT003 - with all that is in it
    else:
        for part in ("about", "rows"):
            _session(near).sql(f"DROP TABLE IF EXISTS {_spark_name(place, part)}")


def sql_name(parts: Sequence[str], *, more: str = "", quote: str = '"') -> str:
    """Write the name of a table.

    Example:
        >>> sql_name(("private", "people"), more="_about")
        '"private"."people_about"'
    """
    return ".".join(f"{quote}{part}{quote}" for part in (*parts[:-1], parts[-1] + more))


# --- DuckDB -----------------------------------------------------------------------------------


class EmbeddedStore:
    """A copy inside DuckDB: in memory, or in a file that is only read."""

    engine = dialect = "duckdb"
    relation: tuple[str, ...] = ("coded",)

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def fetch(self, text: str) -> Any:
        """Run a statement beside those of other threads."""
        with self._connection.cursor() as cursor:
            return cursor.execute(text).fetch_arrow_table()

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


def _copy_embedded(rows: Any, place: Place | None, check: Check) -> tuple[Store, str]:
    """Stream the codes into a database of their own, from where nothing else can be reached."""
    import duckdb

    if place is None:
        connection = duckdb.connect()
        store = EmbeddedStore(connection)
        try:
            note = _fill(connection, rows, check)
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        except BaseException:
            connection.close()
            raise
        return store, note
    if not is_database(place):
        raise InputError(
            f"The place {Path(place).name} for the coded copy is no DuckDB file",
            hint="end its name with .duckdb, or leave it out to keep the copy in memory",
        )
    target = Path(place)
    if target.exists():
        raise _taken(place)
    if not os.access(target.absolute().parent, os.W_OK):
        raise _unwritable(target)
    half = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with duckdb.connect(str(half)) as connection:
            half.chmod(0o600)
            note = _fill(connection, rows, check)
        os.link(half, target)  # unlike a renaming this fails where somebody was faster
    except FileExistsError:
        raise _taken(place) from None
    except OSError:
        raise _unwritable(target) from None
    finally:
        half.unlink(missing_ok=True)
        half.with_name(half.name + ".wal").unlink(missing_ok=True)
    return _open_file(target), note


def _fill(connection: Any, rows: Any, check: Check) -> str:
    connection.register("batches", rows.to_pyarrow_batches(chunk_size=BATCH))
    connection.execute("CREATE TABLE coded AS SELECT * FROM batches")
    connection.unregister("batches")
    note = check(EmbeddedStore(connection))
    connection.execute("CREATE TABLE about (content VARCHAR)")
    connection.execute("INSERT INTO about VALUES (?)", [note])
    return note


def _open_file(path: Path) -> EmbeddedStore:
    import duckdb

    locked: dict[str, Any] = {"enable_external_access": "false", "lock_configuration": "true"}
    return EmbeddedStore(duckdb.connect(str(path), read_only=True, config=locked))


# --- PostgreSQL -------------------------------------------------------------------------------


class PostgresStore:
    """A table of a PostgreSQL database, read in transactions that cannot write."""

    engine = dialect = "postgres"

    def __init__(self, backend: Any, relation: Sequence[str], lock: threading.RLock) -> None:
        self._backend, self._lock = backend, lock  # the connection lives as long as the backend
        self.relation = tuple(relation)

    def fetch(self, text: str) -> Any:
        """Run a statement after those of other threads, on a new connection if one was lost."""
        with self._lock:
            if self._backend.con.closed:
                self._backend.reconnect()
            connection = self._backend.con
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
                return _fetched(cursor.execute(text))

    def close(self) -> None:
        """Leave the connection to its owner."""


class _Unfinished:
    """A PostgreSQL table as the transaction that makes it sees it."""

    engine = dialect = "postgres"

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


def _copy_postgres(table: Table, rows: Any, place: Place | None, check: Check) -> tuple[Store, str]:
    """Make a table in one transaction: it is there with all that belongs to it, or not at all."""
    parts = (f"hartley_{secrets.token_hex(8)}",) if place is None else _name_parts(place, most=2)
    name, about = sql_name(parts), sql_name(parts, more="_about")
    rows.limit(0).to_pyarrow()  # so that Ibis registers the lists of categories
    query, connection = table.backend.compile(rows), table.backend.con
    connection.commit()
    kind = "TEMPORARY TABLE" if place is None else "TABLE"
    try:
        with connection.transaction(), connection.cursor() as cursor:
            cursor.execute(f"CREATE {kind} {name} AS {query}")
            note = check(_Unfinished(cursor, parts))
            cursor.execute(f"ANALYZE {name}")
            cursor.execute(f"CREATE {kind} {about} (content text)")
            cursor.execute(f"INSERT INTO {about} VALUES (%s)", [note])  # noqa: S608 - checked
    except Exception as error:
        if place is not None and type(error).__name__ == "DuplicateTable":
            raise _taken(place) from None
        raise
    return PostgresStore(table.backend, parts, table.lock), note


# --- Spark ------------------------------------------------------------------------------------


class SparkStore:
    """A view of a Spark session: of a table, of Parquet files or of a checkpoint."""

    engine, dialect = "pyspark", "spark"

    def __init__(self, session: Any, relation: Sequence[str]) -> None:
        self._session = session
        self.relation = tuple(relation)

    def fetch(self, text: str) -> Any:
        """Run a statement."""
        return self._session.sql(text).toArrow()

    def close(self) -> None:
        """Leave the session to its owner."""


def _copy_spark(table: Table, rows: Any, place: Place | None, check: Check) -> tuple[Store, str]:
    """Check, then write the codes, then the note: without it a copy cannot be opened."""
    session = _session(table)
    rows.limit(0).to_pyarrow()  # so that Ibis registers the lists of categories
    frame = session.sql(table.backend.compile(rows))
    if place is None:
        store = _spark_view(session, frame.localCheckpoint(eager=True))
        return store, check(store)
    check(_spark_view(session, frame))
    _spark_write(frame, place, "rows")
    store = _spark_view(session, _spark_frame(session, place, "rows"))
    note = check(store)
    _spark_write(session.createDataFrame([(note,)], "content string"), place, "about")
    return store, note


def _spark_write(frame: Any, place: Place, part: str) -> None:
    try:
        if _is_folder(place):
            frame.write.parquet(f"{os.fspath(place)}/{part}")
        else:
            frame.write.saveAsTable(_spark_name(place, part), format="parquet")
    except Exception as error:
        if "ALREADY_EXISTS" in str(error):
            raise _taken(place) from None
        raise


def _spark_frame(session: Any, place: Place, part: str) -> Any:
    if _is_folder(place):
        return session.read.parquet(f"{os.fspath(place)}/{part}")
    return session.table(_spark_name(place, part))


def _spark_view(session: Any, frame: Any) -> SparkStore:
    name = f"hartley_{secrets.token_hex(8)}"
    frame.createOrReplaceTempView(name)
    return SparkStore(session, (name,))


def _spark_name(place: Place, part: str) -> str:
    return ".".join(_name_parts(place, most=3)) + ("_about" if part == "about" else "")


def _session(table: Table) -> Any:
    return table.backend._session  # noqa: SLF001 - Ibis offers no other way to it


def _is_folder(place: Place) -> bool:
    return "/" in os.fspath(place)


# --- names ------------------------------------------------------------------------------------


def _name_parts(place: Place, *, most: int) -> tuple[str, ...]:
    """Split the name of a table; anything but plain letters, digits and underscores is refused."""
    parts = tuple(os.fspath(place).split("."))
    plain = all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", part) for part in parts)
    if not plain or len(parts) > most or len(parts[-1]) > LONGEST_NAME:
        raise InputError(
            f"The place {os.fspath(place)} for the coded copy is no name of a table",
            hint="write for example private.people_coded, in plain letters, digits and underscores",
        )
    return parts


def _taken(place: Place) -> InputError:
    return InputError(
        f"The place {Path(place).name} for the coded copy is taken",
        hint="open the copy that is there, or choose another name for new data",
    )


def _unwritable(target: Path) -> InputError:
    return InputError(
        f"The place {target.name} for the coded copy cannot be written",
        hint="check that its folder exists, may be written to and has room",
    )
