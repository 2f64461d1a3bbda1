"""Spark: tables of a session, through PySpark."""

from __future__ import annotations

import itertools
import os
import secrets
from typing import TYPE_CHECKING, Any

from hartley.engines.dialect import (
    Dialect,
    Store,
    as_declared,
    declared_types,
    marks_among,
    name_parts,
    taken,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hartley.engines.coded_table import CopyJob
    from hartley.engines.dialect import Place
    from hartley.engines.table import Table

ROWS = 100_000
"""Rows that are fetched at a time where memory must not grow with their number."""


class Spark(Dialect):
    """A session."""

    name, title, sql = "pyspark", "Spark", "spark"
    quote = "`"
    shift_right = "SHIFTRIGHT({}, {})"
    addresses = ("spark://",)

    # --- connections and statements ---

    def connect(self, address: str) -> Any:
        """Connect to a cluster."""
        import ibis
        from pyspark.sql import SparkSession

        return ibis.pyspark.connect(SparkSession.builder.master(address).getOrCreate())

    def version(self, backend: Any) -> str:
        """Return the version of the session."""
        return str(session_of(backend).version)

    def fetch_row(self, backend: Any, text: str) -> tuple[Any, ...]:
        """Run a statement and return its only row."""
        return tuple(session_of(backend).sql(text).first())

    def batches(self, expression: Any, size: int) -> Iterator[Any]:
        """Fetch one partition at a time; slower, but Ibis would fetch all rows at once."""
        import pyarrow as pa

        del size
        backend, declared = expression.get_backend(), declared_types(expression)
        rows = session_of(backend).sql(backend.compile(expression)).toLocalIterator()
        kind = pa.struct(list(declared))
        while some := list(itertools.islice(rows, ROWS)):
            yield as_declared(pa.RecordBatch.from_struct_array(pa.array(some, type=kind)), declared)

    def takes_zone_of_session(self, expression: Any, column: str) -> bool:
        """Tell whether a column is a TIMESTAMP, which has the session's zone; Ibis does not say."""
        backend = expression.get_backend()
        query = backend.compile(expression.select(column))
        (field,) = session_of(backend).sql(query).schema.fields
        return str(field.dataType.typeName()) == "timestamp"

    def hashes(self, parts: Sequence[str], seed: int) -> str:
        """Return a hash of 64 bits."""
        return f"XXHASH64(CAST({seed} AS BIGINT), {', '.join(parts)})"

    # --- coded copies: a folder of Parquet files, a table, or a checkpoint of the session ---

    def make_copy(self, job: CopyJob, place: Place | None) -> tuple[Store | None, str]:
        """Check, then write the codes, then the note: without it a copy cannot be opened."""
        session = session_of(job.table.backend)
        query = job.query()
        frame = session.sql(query)
        source = _view(session, frame)
        job.check(source)
        if place is None:
            store = _view(session, frame.localCheckpoint(eager=True))
        else:
            if _is_folder(place):
                _make_private_folder(job.table, place)
            owner = session.createDataFrame([(job.ledger,)], "content string")
            _write(owner, place, "about_owner")  # first, so that an unfinished copy has it
            _write(frame, place, "rows")
            store = _view(session, part_of_copy(session, place, "rows"))
        try:
            text = job.sums_query(f"({query})", store)
            job.compare(session.sql(text).first(), store)
            note = job.check(store)
        except BaseException:
            if place is not None:
                self.drop_copy(place, job.table)
            raise
        if place is not None:
            _write(session.createDataFrame([(note,)], "content string"), place, "about")
        return store, note

    def open_copy(self, place: Place, near: Table | None) -> tuple[Store, str]:
        """Open a folder or a table of codes, with its note."""
        assert near is not None
        session = session_of(near.backend)
        (note,) = part_of_copy(session, place, "about").first()
        return _view(session, part_of_copy(session, place, "rows")), note

    def holds_copy(self, place: Place, near: Table | None) -> bool:
        """Tell whether there is a note, which is written last."""
        assert near is not None
        session = session_of(near.backend)
        if not _is_folder(place):
            return bool(session.catalog.tableExists(_table_name(place, "about")))
        try:
            part_of_copy(session, place, "about")
        except Exception as error:
            if "PATH_NOT_FOUND" in str(error):
                return False
            raise
        return True

    def drop_copy(self, place: Place, near: Table | None, *, seconds: int = 0) -> None:
        """Remove a folder or tables."""
        del seconds
        assert near is not None
        if _is_folder(place):
            files, folder = _files(near, os.fspath(place))
            files.delete(folder, True)  # noqa: FBT003 - with all that is in it
            return
        for part in ("about", "rows", "about_owner"):
            session_of(near.backend).sql(f"DROP TABLE IF EXISTS {_table_name(place, part)}")

    def copy_marks(self, place: Place, near: Table | None, mark: str) -> set[str]:
        """Return the marks of all folders or tables of a place."""
        assert near is not None
        text = os.fspath(place).rstrip("/")
        *outer, name = text.rsplit("/" if _is_folder(place) else ".", 1)
        if _is_folder(place):
            files, folder = _files(near, (outer[0] if outer else "") or "/")
            names = [str(state.getPath().getName()) for state in files.listStatus(folder)]
        else:
            name_parts(place, most=3)
            inside = f"IN {outer[0]} " if outer else ""
            listed = session_of(near.backend).sql(f"SHOW TABLES {inside}LIKE '{name}_*'")
            names = [str(row["tableName"]) for row in listed.collect()]
        return marks_among(names, name, mark)

    def copy_ledger(self, place: Place, near: Table | None) -> str | None:
        """Return the ledger's name, written before the rows so that an unfinished copy has it."""
        assert near is not None
        (name,) = part_of_copy(session_of(near.backend), place, "about_owner").first()
        return str(name)


SPARK = Spark()


class SparkStore(Store):
    """A view of a session: of a table, of Parquet files or of a checkpoint."""

    dialect: Dialect = SPARK

    def __init__(self, session: Any, relation: Sequence[str]) -> None:
        self._session = session
        self.relation = tuple(relation)

    def fetch(self, text: str) -> Any:
        """Run a statement."""
        return self._session.sql(text).toArrow()

    def close(self) -> None:
        """Leave the session to its owner."""


def session_of(backend: Any) -> Any:
    """Return the session behind a connection."""
    return backend._session  # noqa: SLF001 - Ibis offers no other way to it


def part_of_copy(session: Any, place: Place, part: str) -> Any:
    """Return a part of a copy: rows, about or about_owner."""
    if _is_folder(place):
        return session.read.parquet(f"{os.fspath(place)}/{part}")
    return session.table(_table_name(place, part))


def _is_folder(place: Place) -> bool:
    return "/" in os.fspath(place)


def _table_name(place: Place, part: str) -> str:
    return ".".join(name_parts(place, most=3)) + ("" if part == "rows" else f"_{part}")


def _make_private_folder(table: Table, place: Place) -> None:
    """Make the folder of a copy so that only its owner may enter it, before rows are in it."""
    files, folder = _files(table, os.fspath(place))
    permission = session_of(table.backend)._jvm.org.apache.hadoop.fs.permission.FsPermission  # noqa: SLF001 - see _files
    files.mkdirs(folder, permission("700"))


def _write(frame: Any, place: Place, part: str) -> None:
    try:
        if _is_folder(place):
            frame.write.parquet(f"{os.fspath(place)}/{part}")
        else:
            frame.write.saveAsTable(_table_name(place, part), format="parquet")
    except Exception as error:
        if "ALREADY_EXISTS" in str(error):
            raise taken(place) from None
        raise


def _files(near: Table, path: str) -> tuple[Any, Any]:
    """Return the file system that holds a path of Spark, and the path as it knows it."""
    session = session_of(near.backend)
    folder = session._jvm.org.apache.hadoop.fs.Path(path)  # noqa: SLF001 - Spark offers no other way to its files
    return folder.getFileSystem(session._jsc.hadoopConfiguration()), folder  # noqa: SLF001 - likewise


def _view(session: Any, frame: Any) -> SparkStore:
    name = f"hartley_{secrets.token_hex(8)}"
    frame.createOrReplaceTempView(name)
    return SparkStore(session, (name,))
