"""DuckDB, the embedded engine, which reads files, frames and Arrow tables in this process."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import secrets
import tempfile
import threading
import weakref
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hartley.engines.dialect import Dialect, Store, reader, taken, unwritable
from hartley.engines.probes import require_tried
from hartley.errors import EngineError, InputError, TableError
from hartley.files import PrivateFolder, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hartley.engines.coded_table import CopyJob
    from hartley.engines.dialect import Place
    from hartley.engines.table import Table

OLDEST, FIRST_UNTRIED = (1, 4), (1, 5)
"""The tested versions; a test compares them with pyproject.toml."""
READ_AHEAD = "64MB"
"""With less, one processor prepares what is streamed while the others wait for room."""
BATCH = 1_000_000
INTEGERS = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT"}
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
BYTES_PER_THREAD = 400_000_000
"""The memory that DuckDB may use for writing, per thread."""
ROWS_PER_THREAD = 122_880
"""The rows of a group, of which DuckDB gives a thread at least one."""
LEAST_MEMORY = 200
"""Megabytes below which it cannot group a large table, even by spilling."""
_LOCKING = threading.Lock()


class DuckDB(Dialect):
    """The embedded engine."""

    name, title, sql = "duckdb", "DuckDB", "duckdb"
    endings = (".duckdb", ".ddb")
    copies_are_files = True
    codes_large_tables = True
    searches_lists = True
    writes_parquet = True
    holds_frames = True
    skips_rows = True
    reads_whole_copies = True
    # SUM of 64 bits is one of 128 bits, and overflow is an error.
    wide_factor, wide_sum = "INT128", None
    most_exact_digits = 15  # it divides longer decimals with two roundings

    # --- connections ---

    def open(self) -> Any:
        """Return a new connection that spills to the system's temporary folder.

        It is closed when nothing needs it any more, at the latest before the interpreter ends: its
        threads must not outlive what they work on.
        """
        import ibis

        self.require_tried_library()
        spill = _spill_folder(os.getpid()).path / secrets.token_hex(8)
        backend = ibis.duckdb.connect(temp_directory=str(spill))
        backend.con.execute(f"SET streaming_buffer_size = '{READ_AHEAD}'")
        backend.con.execute("SET enable_progress_bar = false")  # it would be among what is piped
        backend.hartley_probed = True  # the library was, and the settings are ours
        weakref.finalize(backend, _close, backend.con)
        return backend

    def connect(self, address: str) -> Any:
        """Open a database file, only to read it; the empty address is a new one in memory."""
        import ibis

        if not address:
            return ibis.duckdb.connect()
        if not Path(address).exists():
            raise TableError(
                f"There is no file {address}", hint="check the spelling and the folder"
            )
        backend = ibis.duckdb.connect(address, read_only=True)
        backend.con.execute("SET enable_progress_bar = false")
        return backend

    def hold_frame(self, frame: Any, name: str) -> Any:
        """Read an Arrow table where it lies."""
        backend = self.open()
        backend.con.register(name, frame)
        return backend.table(name)

    def version(self, backend: Any) -> str:
        """Return the version of the library."""
        import duckdb

        del backend
        return str(duckdb.__version__)

    def require_tried_version(self) -> None:
        """Raise an error for a version that was not tested."""
        import duckdb

        version = tuple(int(part) for part in duckdb.__version__.split(".")[:2])
        if not OLDEST <= version < FIRST_UNTRIED:
            raise EngineError(
                f"The engine DuckDB {duckdb.__version__} is not one of the versions that were "
                "tried",
                hint=f"pip install '{tried_versions()}', which another package may have replaced",
            )

    def require_tried_library(self) -> None:
        """Raise an error if the installed DuckDB was not tested or fails a probe."""
        _require_tried_library(self)

    # --- statements ---

    def fetch_row(self, backend: Any, text: str) -> tuple[Any, ...]:
        """Run a statement and return its only row."""
        return tuple(backend.con.execute(text).fetchone())

    def stop(self, backend: Any) -> None:
        """Stop the other threads: they go on otherwise, and the next statement waits for them."""
        backend.con.interrupt()

    def passes_on_ctrl_c(self, error: BaseException) -> bool:
        """Tell whether an error stands for Ctrl-C, which DuckDB swallows and raises as its own."""
        return str(error) == "Query interrupted"

    @contextmanager
    def memory_limit(self, backend: Any, limit: int | None) -> Iterator[None]:
        """Hold the engine to a memory limit for a while."""
        if limit is None:
            yield
            return
        (shown,) = self.fetch_row(backend, "SELECT current_setting('memory_limit')")
        with _limited(backend, f"{max(limit // 10**6, LEAST_MEMORY)}MB", shown):
            yield

    def drop_temporary(self, backend: Any, name: str) -> None:
        """Drop a temporary table of ours; Ibis 12 writes this statement without the name."""
        backend.con.execute(f'DROP TABLE IF EXISTS temp.main."{name}"')

    def write_parquet(self, backend: Any, expression: Any, path: Path) -> tuple[int, list[int]]:
        """Write Parquet on all processors; what was written stands in the foot of the file."""
        import pyarrow.parquet as pq

        expression.limit(0).to_pyarrow()  # so that Ibis registers the lists of the map
        name = str(path).replace("'", "''")
        query = backend.compile(expression)
        copy = f"COPY ({query}) TO '{name}' (FORMAT parquet, USE_TMP_FILE false)"
        try:
            with _limited_by_threads(backend):
                self._execute(backend, copy)
        except Exception as error:
            if type(error).__name__ != "OutOfMemoryException":
                raise
            self._execute(backend, copy)  # very wide rows: as much as the engine is allowed anyway
        foot = pq.read_metadata(path)
        groups = [foot.row_group(group) for group in range(foot.num_row_groups)]
        nulls = [
            sum(group.column(column).statistics.null_count for group in groups)
            for column in range(foot.num_columns)
        ]
        return foot.num_rows, nulls

    def _execute(self, backend: Any, statement: str) -> None:
        try:
            backend.con.execute(statement)
        except BaseException:
            self.stop(backend)
            raise

    def hashes(self, parts: Sequence[str], seed: int) -> str:
        """Return a hash of 64 bits."""
        return f"HASH(CAST({seed} AS BIGINT), {', '.join(parts)})"

    # --- coded copies ---

    def make_copy(self, job: CopyJob, place: Place | None) -> tuple[Store | None, str]:
        """Stream the codes into a database of their own, from where nothing else can be reached."""
        import duckdb

        self.require_tried_library()
        if place is None:
            connection = duckdb.connect()
            store = EmbeddedStore(connection)
            try:
                note = _fill(connection, job)
                store.lock()
            except BaseException:
                connection.close()
                raise
            return store, note
        if not self.claims(place):
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
            # DuckDB's write-ahead file holds all rows too, so both lie where nobody else may look.
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

    def open_copy(self, place: Place, near: Table | None) -> tuple[Store, str]:
        """Open a file that nothing can write to or leave, with the note about it."""
        import duckdb

        del near
        self.require_tried_library()
        shut: dict[str, Any] = {"enable_external_access": "false"}
        store = EmbeddedStore(duckdb.connect(str(Path(place)), read_only=True, config=shut))
        try:
            store.lock()
            (note,) = store.fetch_row("SELECT content FROM about")
        except BaseException:
            store.close()
            raise
        return store, str(note)

    def holds_copy(self, place: Place, near: Table | None) -> bool:
        """Tell whether there is a file: it gets its name when it is finished."""
        del near
        return Path(place).exists()

    def drop_copy(self, place: Place, near: Table | None, *, seconds: int = 0) -> None:
        """Remove a file; processes that have it open can still read it."""
        del near, seconds
        Path(place).unlink(missing_ok=True)

    def copy_place(self, place: Place, mark: str) -> str:
        """Return the name of the file of one version."""
        path = Path(place)
        return str(path.with_name(f"{path.stem}.{mark}{path.suffix}"))

    def copy_marks(self, place: Place, near: Table | None, mark: str) -> set[str]:
        """Return the marks of all files of a place."""
        del near
        path = Path(place)
        wanted = rf"{re.escape(path.stem)}\.({mark}){re.escape(path.suffix)}"
        names = [entry.name for entry in path.absolute().parent.iterdir()]
        return {match[1] for match in (re.fullmatch(wanted, name) for name in names) if match}


DUCKDB = DuckDB()


def tried_versions() -> str:
    """Return the tried versions as a requirement."""
    oldest, first_untried = (".".join(map(str, version)) for version in (OLDEST, FIRST_UNTRIED))
    return f"duckdb>={oldest},<{first_untried}"


@cache
def _require_tried_library(dialect: DuckDB) -> None:
    """Check the library once per process."""
    import duckdb

    with duckdb.connect() as connection:
        require_tried(dialect, SimpleNamespace(name=dialect.name, con=connection))


@cache
def _spill_folder(process: int) -> PrivateFolder:
    """Return the folder in which all engines of a process spill; it contains private rows."""
    del process  # a forked process makes a folder of its own
    folder = PrivateFolder(Path(tempfile.gettempdir()), "hartley-spill")
    atexit.register(folder.close)
    return folder


def _close(connection: Any) -> None:
    with contextlib.suppress(Exception):  # the process is ending
        connection.interrupt()
        connection.close()


@contextmanager
def _limited_by_threads(backend: Any) -> Iterator[None]:
    """Limit the engine's memory by the number of processors, not by the rows."""
    # To write rows in order, the engine buffers those that are ready too early, in all the memory
    # that it may use.
    shown, threads, used = DUCKDB.fetch_row(
        backend,
        "SELECT current_setting('memory_limit'), current_setting('threads'), "
        "(SELECT sum(memory_usage_bytes) FROM duckdb_memory())",
    )
    size, unit = shown.split()
    allowed = float(size) * 1024 ** UNITS.index(unit)
    limit = int(used) + int(threads) * BYTES_PER_THREAD
    if limit >= allowed:
        yield
        return
    with _limited(backend, f"{limit}B", shown):
        yield


@contextmanager
def _limited(backend: Any, limit: str, shown: str) -> Iterator[None]:
    """Set a memory limit for a while, and then the previous one."""
    size, unit = shown.split()
    backend.con.execute(f"SET memory_limit = '{limit}'")
    try:
        yield
    finally:
        # What is shown was cut after one decimal.
        backend.con.execute(f"SET memory_limit = '{float(size) + 0.05:.2f} {unit}'")


class EmbeddedStore(Store):
    """A copy inside DuckDB: in memory, or in a file that is only read."""

    dialect: Dialect = DUCKDB
    relation: tuple[str, ...] = ("coded",)

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def fetch(self, text: str) -> Any:
        """Run a statement and return its Arrow table."""
        with self.run(text) as result:
            return result.fetch_arrow_table()

    def fetch_row(self, text: str) -> tuple[Any, ...]:
        """Run a statement and return its only row, in two thirds of the time."""
        with self.run(text) as result:
            (row,) = result.fetchall()
        return tuple(row)

    @contextmanager
    def run(self, text: str) -> Iterator[Any]:
        """Run a statement concurrently with those of other threads."""
        from hartley.engines.dialect import stoppable  # for agents alone

        # A cursor is a connection of its own: ending its statement ends no other one.
        with self._connection.cursor() as cursor, stoppable(cursor.interrupt):
            yield cursor.execute(text)

    def lock(self) -> None:
        """Let nothing leave the database from now on, and nothing change how it runs.

        A thread reads whole groups of rows. If there is only one group, further threads would be
        woken for nothing, at every question and in every process that has the copy open.
        """
        with _LOCKING:  # all connections of a process to one copy share its configuration
            (locked,) = self.fetch_row("SELECT current_setting('lock_configuration')")
            if locked:  # this process has the copy open already
                return
            (rows,) = self.fetch_row("SELECT count(*) FROM coded")
            if rows <= ROWS_PER_THREAD:
                self._connection.execute("SET threads = 1")
            self._connection.execute("SET enable_external_access = false")
            self._connection.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


def _fill(connection: Any, job: CopyJob) -> str:
    copy = EmbeddedStore(connection)
    with _computed(job) as (relation, rows):
        text = job.sums_query(relation, copy)
        expected = job.source.fetch_row(job.table.backend, text)
        connection.register("batches", reader(rows, BATCH))
        connection.execute("CREATE TABLE coded AS SELECT * FROM batches")
        connection.unregister("batches")
    job.compare(expected, copy)
    note = job.check(copy)
    connection.execute("CREATE TABLE about (content VARCHAR)")
    connection.execute("INSERT INTO about VALUES (?)", [note])
    return note


@contextmanager
def _computed(job: CopyJob) -> Iterator[tuple[str, Any]]:
    """Yield the codes that the table's engine computes, to be added up and to be streamed."""
    # DuckDB computes them once, into a temporary table; a server is asked twice, on one snapshot.
    query, backend = job.query(), job.table.backend
    if job.source is not DUCKDB:
        with job.source.one_moment(backend):
            yield f"({query})", job.rows
        return
    name = f"hartley_codes_{secrets.token_hex(8)}"
    # Ibis drops a cast to a type that it infers already, and DuckDB returns a wider one.
    listed = ", ".join(
        f"CAST(c{i} AS {INTEGERS[kind]}) AS c{i}" for i, kind in enumerate(job.integers)
    )
    try:
        backend.con.execute(f"CREATE TEMP TABLE {name} AS SELECT {listed} FROM ({query})")  # noqa: S608 - our own names
        yield f"temp.main.{name}", backend.table(name, database=("temp", "main"))
    finally:
        backend.con.execute(f"DROP TABLE IF EXISTS temp.main.{name}")
