"""Where coded copies live: DuckDB, PostgreSQL and Spark. Each is made whole and then only read."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.coded.copy_jobs import (
    is_database,
    is_file,
    is_folder,
    name_parts,
    sql_name,
    taken,
    unwritable,
)
from hartley.engines.coded.row_sums import draw_seeds, read_sums
from hartley.engines.dialects.probes import require_tried_library
from hartley.engines.tables.streams import reader
from hartley.engines.tables.table import fetch_row, spark_session
from hartley.errors import InputError
from hartley.files import PrivateFolder, sync_folder

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence

    from hartley.engines.coded.coded_copy import Store
    from hartley.engines.coded.copy_jobs import CopyJob, Place
    from hartley.engines.tables.table import Table

BATCH = 1_000_000
DUCKDB_INTEGERS = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT"}


def copy_rows(job: CopyJob, place: Place | None) -> tuple[Store | None, str]:
    """Put the codes into a place; return where they are, None of a file, and the note about them.

    A copy that does not hold exactly the rows of the table is refused and does not stay.
    """
    if job.table.engine == "duckdb" or is_database(place):
        return _copy_embedded(job, place)
    if job.table.engine == "postgres":
        return _copy_postgres(job, place)
    return _copy_spark(job, place)


def open_store(place: Place, near: Table | None) -> tuple[Store, str]:
    """Open a place that holds codes, with the note about them."""
    if near is None or is_file(place, near):
        store: Store = _open_file(Path(place))
        return store, str(store.fetch("SELECT content FROM about").column(0)[0].as_py())
    if near.engine == "postgres":
        parts = name_parts(place, most=2)
        query = f"SELECT content FROM {sql_name(parts, more='_about')}"  # noqa: S608 - checked
        with near.lock, near.backend.con.transaction():
            (note,) = near.backend.con.execute(query).fetchone()
        return PostgresStore(near.backend, parts, near.lock), note
    session = spark_session(near.backend)
    (note,) = spark_frame(session, place, "about").first()
    return _spark_view(session, spark_frame(session, place, "rows")), note


def holds_copy(place: Place, near: Table | None = None) -> bool:
    """Tell whether a place holds a finished copy.

    Args:
        place: as it was given to ``code_table``.
        near: a table on the PostgreSQL or the Spark that would hold it.
    """
    if near is None or is_file(place, near):
        return Path(place).exists()
    if near.engine == "postgres":
        name = sql_name(name_parts(place, most=2), more="_about")
        with near.lock, near.backend.con.transaction():
            (found,) = near.backend.con.execute("SELECT to_regclass(%s)", [name]).fetchone()
        return found is not None
    if not is_folder(place):
        return bool(spark_session(near.backend).catalog.tableExists(_spark_name(place, "about")))
    try:
        spark_frame(spark_session(near.backend), place, "about")
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error):
            return False
        raise
    return True


def drop_copy(place: Place, near: Table | None = None, *, seconds: int = 0) -> None:
    """Remove a copy that nobody shall ask any more; who has a file open goes on reading it.

    Args:
        place: as it was given to ``code_table``.
        near: a table on the PostgreSQL or the Spark that holds it.
        seconds: how long to wait for others who are reading a table, 0 for as long as it takes.
    """
    if near is None or is_file(place, near):
        Path(place).unlink(missing_ok=True)
    elif near.engine == "postgres":
        parts = name_parts(place, most=2)
        names = ", ".join(sql_name(parts, more=more) for more in ("_about", ""))
        with near.lock, near.backend.con.transaction():
            near.backend.con.execute("SET LOCAL client_min_messages = warning")
            near.backend.con.execute(f"SET LOCAL lock_timeout = '{seconds}s'")
            near.backend.con.execute(f"DROP TABLE IF EXISTS {names}")
    elif is_folder(place):
        files, folder = spark_files(near, os.fspath(place))
        files.delete(folder, True)  # noqa: FBT003 - with all that is in it
    else:
        for part in ("about", "rows", "about_owner"):
            spark_session(near.backend).sql(f"DROP TABLE IF EXISTS {_spark_name(place, part)}")


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


def _copy_embedded(job: CopyJob, place: Place | None) -> tuple[Store | None, str]:
    """Stream the codes into a database of their own, from where nothing else can be reached."""
    import duckdb

    require_tried_library()
    if place is None:
        connection = duckdb.connect()
        store = EmbeddedStore(connection)
        try:
            note = _fill(connection, job)
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
        raise taken(place)
    if not os.access(target.absolute().parent, os.W_OK):
        raise unwritable(target)
    try:
        # The engine's write-ahead file holds all rows too, so both lie where nobody else may look.
        with PrivateFolder(target.absolute().parent, f"{target.name}.{job.ledger}") as staging:
            half = staging.path / target.name
            with duckdb.connect(str(half)) as connection:
                note = _fill(connection, job)
            half.chmod(0o600)
            os.link(half, target)  # unlike a renaming this fails where somebody was faster
        sync_folder(target.absolute().parent)  # before a row in the ledger speaks of it
    except FileExistsError:
        raise taken(place) from None
    except OSError:
        raise unwritable(target) from None
    return None, note


def _fill(connection: Any, job: CopyJob) -> str:
    copy, seeds = EmbeddedStore(connection), draw_seeds()
    with _computed(job) as (relation, rows):
        text = job.sums_query(relation, seeds, copy)
        expected = read_sums(fetch_row(job.table.backend, text))
        connection.register("batches", reader(rows, BATCH))
        connection.execute("CREATE TABLE coded AS SELECT * FROM batches")
        connection.unregister("batches")
    job.compare(expected, copy, seeds)
    note = job.check(copy)
    connection.execute("CREATE TABLE about (content VARCHAR)")
    connection.execute("INSERT INTO about VALUES (?)", [note])
    return note


@contextmanager
def _computed(job: CopyJob) -> Iterator[tuple[str, Any]]:
    """Give the codes as the engine of the table computes them, to be added up and to be streamed.

    The embedded engine computes them once, into a temporary table; a server is asked twice, and
    gives both times what it held at one moment.
    """
    query, backend = job.query(), job.table.backend
    if job.table.engine != "duckdb":
        with _one_moment(job.table):
            yield f"({query})", job.rows
        return
    name = f"hartley_codes_{secrets.token_hex(8)}"
    listed = ", ".join(
        f"CAST(c{i} AS {DUCKDB_INTEGERS[coding.integer]}) AS c{i}"
        for i, coding in enumerate(job.codings)
    )
    try:
        backend.con.execute(f"CREATE TEMP TABLE {name} AS SELECT {listed} FROM ({query})")  # noqa: S608 - our own names
        yield f"temp.main.{name}", backend.table(name, database=("temp", "main"))
    finally:
        backend.con.execute(f"DROP TABLE IF EXISTS temp.main.{name}")


@contextmanager
def _one_moment(table: Table) -> Iterator[None]:
    """Let several statements see the table of a server as it is at one moment."""
    if table.engine != "postgres":
        yield
        return
    connection = table.backend.con
    connection.commit()
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


def _open_file(path: Path) -> EmbeddedStore:
    import duckdb

    require_tried_library()
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


def _copy_postgres(job: CopyJob, place: Place | None) -> tuple[Store, str]:
    """Make a table in one transaction: it is there with all that belongs to it, or not at all."""
    table = job.table
    parts = (f"hartley_{secrets.token_hex(8)}",) if place is None else name_parts(place, most=2)
    name, about = sql_name(parts), sql_name(parts, more="_about")
    query, seeds = job.query(), draw_seeds()
    kind = "TEMPORARY TABLE" if place is None else "TABLE"
    try:
        with _one_moment(table), table.backend.con.cursor() as cursor:
            cursor.execute(f"CREATE {kind} {name} AS {query}")
            copy = _Unfinished(cursor, parts)
            text = job.sums_query(f"({query})", seeds, copy)
            job.compare(read_sums(cursor.execute(text).fetchone()), copy, seeds)
            note = job.check(copy)
            cursor.execute(f"ANALYZE {name}")
            cursor.execute(f"CREATE {kind} {about} (content text)")
            cursor.execute(f"INSERT INTO {about} VALUES (%s)", [note])  # noqa: S608 - checked
    except Exception as error:
        if place is not None and type(error).__name__ == "DuplicateTable":
            raise taken(place) from None
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


def _copy_spark(job: CopyJob, place: Place | None) -> tuple[Store, str]:
    """Check, then write the codes, then the note: without it a copy cannot be opened."""
    session, seeds = spark_session(job.table.backend), draw_seeds()
    query = job.query()
    frame = session.sql(query)
    source = _spark_view(session, frame)
    job.check(source)
    if place is None:
        store = _spark_view(session, frame.localCheckpoint(eager=True))
    else:
        if is_folder(place):
            _make_private_folder(job.table, place)
        owner = session.createDataFrame([(job.ledger,)], "content string")
        _spark_write(owner, place, "about_owner")  # first, so that an unfinished copy has it
        _spark_write(frame, place, "rows")
        store = _spark_view(session, spark_frame(session, place, "rows"))
    try:
        text = job.sums_query(f"({query})", seeds, store)
        job.compare(read_sums(session.sql(text).first()), store, seeds)
        note = job.check(store)
    except BaseException:
        if place is not None:
            drop_copy(place, job.table)
        raise
    if place is not None:
        _spark_write(session.createDataFrame([(note,)], "content string"), place, "about")
    return store, note


def _make_private_folder(table: Table, place: Place) -> None:
    """Make the folder of a copy so that only its owner may enter it, before rows are in it."""
    files, folder = spark_files(table, os.fspath(place))
    permission = spark_session(table.backend)._jvm.org.apache.hadoop.fs.permission.FsPermission  # noqa: SLF001 - likewise
    files.mkdirs(folder, permission("700"))


def _spark_write(frame: Any, place: Place, part: str) -> None:
    try:
        if is_folder(place):
            frame.write.parquet(f"{os.fspath(place)}/{part}")
        else:
            frame.write.saveAsTable(_spark_name(place, part), format="parquet")
    except Exception as error:
        if "ALREADY_EXISTS" in str(error):
            raise taken(place) from None
        raise


def spark_frame(session: Any, place: Place, part: str) -> Any:
    """Return a part of a copy on Spark: rows, about or about_owner."""
    if is_folder(place):
        return session.read.parquet(f"{os.fspath(place)}/{part}")
    return session.table(_spark_name(place, part))


def spark_files(near: Table, path: str) -> tuple[Any, Any]:
    """Return the file system that holds a path of Spark, and the path as it knows it."""
    session = spark_session(near.backend)
    folder = session._jvm.org.apache.hadoop.fs.Path(path)  # noqa: SLF001 - Spark offers no other way to its files
    return folder.getFileSystem(session._jsc.hadoopConfiguration()), folder  # noqa: SLF001 - likewise


def _spark_view(session: Any, frame: Any) -> SparkStore:
    name = f"hartley_{secrets.token_hex(8)}"
    frame.createOrReplaceTempView(name)
    return SparkStore(session, (name,))


def _spark_name(place: Place, part: str) -> str:
    return ".".join(name_parts(place, most=3)) + ("" if part == "rows" else f"_{part}")
