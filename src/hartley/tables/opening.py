"""Opening a table from files, data frames, Arrow, a dict, an Ibis table or a database."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from hartley.engines.dialect import as_declared
from hartley.engines.probes import require_tried
from hartley.engines.registry import dialect_at, dialect_of, frame_dialect
from hartley.engines.table import Table, mixed_types, refuse_doubled
from hartley.errors import EngineError, OptionError, TableError
from hartley.exact import LARGEST_EXACT_INTEGER
from hartley.tables.reading import AS_WRITTEN, clean_columns
from hartley.tables.row_files import open_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hartley.engines.dialect import Dialect
    from hartley.tables.reading import ReadingOptions

SOURCES = (
    "the path of a Parquet, CSV, Excel, SPSS, Stata or SAS file, a list of paths, "
    "FILE.duckdb::TABLE, postgresql://...::TABLE, a pandas, Polars or Arrow table, a dict of "
    "columns or an Ibis table"
)

_SPARK_HINT = (
    'give it a name with frame.createOrReplaceTempView("people") and pass '
    'ibis.pyspark.connect(frame.sparkSession).table("people"), or write it to a Parquet file'
)


def open_table(
    source: object,
    *,
    null: str | Sequence[str] = (),
    names: Sequence[str] | None = None,
    engine: str | None = None,
    reading: ReadingOptions = AS_WRITTEN,
) -> Table:
    """Open a table from any source; only its columns are read yet.

    Args:
        source: a path or a list of paths (Parquet, CSV, Excel, SPSS, Stata, SAS), "-" for a file
            on standard input, the address of a table in a database
            (FILE.duckdb::TABLE, postgresql://USER@HOST/DATABASE::TABLE, spark://HOST:PORT::TABLE),
            a pandas, Polars or Arrow table, a dict of columns, an Ibis table on DuckDB,
            PostgreSQL, Spark or Polars, or a table already open.
        null: text that stands for a missing value, besides the empty field of a CSV file.
        names: names of the columns of CSV files that have no header line.
        engine: the engine for a data frame, Arrow table or dict: "duckdb", the default, or
            "polars". The numbers and files are the same.
        reading: how files are written: marks of missing values, spaces around values, encoding,
            decimal commas, dates, the sheet. For other sources, marks and spaces count.

    Example:
        >>> open_table({"age": [30, 40]}).columns
        ('age',)
    """
    reading = reading.with_marks(null, names)
    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    if _are_paths(paths) and not (len(paths) == 1 and is_address(paths[0])):
        _refuse_engine(engine)
        return open_files(paths, reading)
    return clean_columns(_open_other(source, engine), reading)


def _are_paths(source: object) -> TypeGuard[Sequence[str | os.PathLike[str]]]:
    return (
        isinstance(source, Sequence)
        and bool(source)
        and all(isinstance(item, (str, os.PathLike)) for item in source)
    )


def _refuse_engine(engine: str | None) -> None:
    frame_dialect(engine)  # which refuses an unknown one
    if engine is not None:
        raise OptionError(
            f"The engine '{engine}' was named for a source that is no data frame",
            hint="leave it out: files and tables of databases have an engine of their own",
        )


def _open_other(source: object, engine: str | None) -> Table:
    """Open what is no file: a dict, a data frame, an open table, a database."""
    if isinstance(source, Mapping):
        arrow, mixed = _arrow_from_columns(source.items(), "the dict")
        return _open_arrow(arrow, "the dict", frame_dialect(engine), mixed)
    if _is_frame(source):
        dialect = frame_dialect(engine)
        name = f"the {'table' if type(source).__module__.startswith('pyarrow') else 'data frame'}"
        if dialect.owns(source):
            return _held(dialect, source, name)
        arrow, mixed = _arrow_from_frame(source, name)
        return _open_arrow(arrow, name, dialect, mixed)
    _refuse_engine(engine)
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, os.PathLike)):
        return open_database(source)
    if _is_ibis(source):
        return _open_ibis(source)
    home = type(source).__module__.partition(".")[0]
    kind = type(source).__name__ + ("" if home == "builtins" else f" of {home}")
    raise TableError(
        f"What was passed, of the type {kind}, is not a table that can be opened",
        hint=_SPARK_HINT if _is_of(source, "pyspark") else f"pass {SOURCES}",
    )


def is_address(source: str | os.PathLike[str]) -> bool:
    """Tell whether a text is the address of a database and not the name of a file of rows."""
    place, _ = _split(source)
    return dialect_at(place) is not None


def open_database(source: str | os.PathLike[str]) -> Table:
    """Open a table of a database for reading; a DuckDB file with a single table needs no name."""
    place, wanted = _split(source)
    shown = Path(place).name if "://" not in place else place.split("://")[0]
    if wanted is None and "://" in place:
        raise _unnamed(shown)
    try:
        dialect = dialect_at(place)
        assert dialect is not None  # it is an address
        backend = dialect.connect(place)
        require_tried(dialect, backend)
        wanted = wanted or _only(backend, shown)
        schema, _, name = wanted.rpartition(".")
        expression = backend.table(name, database=schema or None)
    except (TableError, EngineError):
        raise
    except Exception:  # noqa: BLE001 - what the engine says may hold a password
        what = f"The table '{wanted}' of {shown}" if wanted else f"The database {shown}"
        raise TableError(
            f"{what} cannot be opened",
            hint="check the address, the name of the table and that the database answers",
        ) from None
    refuse_doubled(expression.columns, f"the table '{wanted}'")
    written = (place, f"{place}.wal") if "://" not in place else ()
    return Table(expression, wanted, paths=tuple(path for path in written if Path(path).exists()))


def _split(source: str | os.PathLike[str]) -> tuple[str, str | None]:
    place, mark, table = os.fspath(source).rpartition("::")
    named = mark and place and re.fullmatch(r"[^/\\@:?&=\[\]]+", table)  # [::1] is a host
    return (place, table) if named else (os.fspath(source), None)


def _only(backend: Any, shown: str) -> str:
    """Return the name of the only table."""
    tables = backend.list_tables()
    if len(tables) != 1:
        raise _unnamed(shown)
    return str(tables[0])


def _unnamed(shown: str) -> TableError:
    return TableError(
        f"The database {shown} needs the name of a table",
        hint="append it to the address, for example ::people or ::private.people",
    )


def _is_ibis(source: object) -> bool:
    kind = type(source)  # a column has no columns
    return kind.__module__.startswith("ibis.") and hasattr(kind, "columns")


def _is_frame(source: object) -> bool:
    """Tell whether something is a data frame or Arrow table of this process."""
    if isinstance(source, Table) or _is_ibis(source) or _is_of(source, "pyspark"):
        return False
    lazy = _is_of(source, "polars") and hasattr(source, "collect_schema")
    # A stream of Arrow may also be a single column, which has neither.
    kind = type(source)
    named = hasattr(kind, "columns") or hasattr(kind, "schema")
    return lazy or (hasattr(kind, "__arrow_c_stream__") and named)


def _is_of(source: object, library: str) -> bool:
    """Tell whether something, or a class that its own is derived from, is of a library."""
    return any(kind.__module__.partition(".")[0] == library for kind in type(source).__mro__)


def _open_ibis(source: Any) -> Table:
    from ibis.common.exceptions import IbisError

    try:
        backend = source.get_backend()
    except IbisError:
        raise TableError(
            "The Ibis table is of no database",
            hint="pass the table of a connection, such as ibis.duckdb.connect(FILE).table(NAME)",
        ) from None
    require_tried(dialect_of(backend), backend)
    try:
        name = str(source.get_name())
    except AttributeError:  # a derived table has no name of its own
        name = "the Ibis table"
    return Table(source, name)


def _open_arrow(arrow: Any, name: str, dialect: Dialect, mixed: frozenset[str]) -> Table:
    """Register an Arrow table with an engine, which reads it without a copy."""
    refuse_doubled(arrow.column_names, name)  # which an engine would rename
    if not arrow.column_names:
        raise _no_columns(name)
    zoned = frozenset(f.name for f in arrow.schema if getattr(f.type, "tz", None) is not None)
    for i, field in enumerate(arrow.schema):
        finer = _engine_type(field.type)
        if finer is not None:
            arrow = arrow.set_column(i, field.name, arrow.column(i).cast(finer))
    return replace(_held(dialect, arrow, name, zoned), mixed=mixed)


def _held(dialect: Dialect, frame: Any, name: str, zoned: frozenset[str] = frozenset()) -> Table:
    expression = dialect.hold_frame(frame, "hartley_source")
    if not expression.columns:
        raise _no_columns(name)
    require_tried(dialect, expression.get_backend())
    refuse_doubled(expression.columns, name)
    return Table(expression, name, zoned=zoned)


def _no_columns(name: str) -> TableError:
    return TableError(f"{name.capitalize()} has no columns", hint="pass a table that has some")


def _engine_type(kind: Any) -> Any:
    """Return a type that holds all of a column that the engine would otherwise cut or refuse."""
    import pyarrow as pa

    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_timestamp(kind) and kind.unit == "ns" and kind.tz:
        return pa.timestamp("ns")
    if pa.types.is_time(kind) and kind.unit == "ns":
        return pa.int64()
    if pa.types.is_date64(kind):
        return pa.timestamp("ms")
    return pa.string() if pa.types.is_decimal256(kind) else None


def _arrow_from_columns(
    columns: Iterable[tuple[Any, Any]], table: str
) -> tuple[Any, frozenset[str]]:
    """Turn named columns into Arrow; name those that mix types, which then hold nothing."""
    import pyarrow as pa

    listed = [
        (str(name), list(values) if isinstance(values, Iterator) else values)
        for name, values in columns
    ]
    refuse_doubled([name for name, _ in listed], table)
    arrays = {name: _arrow_column(values) for name, values in listed}
    mixed = frozenset(name for name, array in arrays.items() if array is None)
    if mixed and len(mixed) == len(arrays):
        raise mixed_types(min(mixed))
    whole = {name: array for name, array in arrays.items() if array is not None}
    rows = len(next(iter(whole.values()), ()))
    lengths = {
        len(values) for name, values in listed if name in whole or hasattr(values, "__len__")
    }
    if len(lengths) > 1:
        raise TableError(
            f"The columns of {table} have different lengths",
            hint="give every column one value per row",
        )
    return pa.table({name: whole.get(name, pa.nulls(rows)) for name in arrays}), mixed


def _arrow_column(values: Any) -> Any:
    """Return a column of Arrow; None if its values are of different types."""
    import pyarrow as pa

    try:
        if isinstance(values, (list, tuple)) and _are_mixed(values):
            return None
        if isinstance(values, (str, bytes, Mapping)) or _is_of(values, "pyspark"):
            return None  # no column; a text would be one of letters
        return values if isinstance(values, pa.ChunkedArray) else pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _are_mixed(values: Sequence[Any]) -> bool:
    """Tell whether a list holds different types, which Arrow would take for one."""
    types = set(map(type, values)) - {type(None)}
    exact = types == {int, float} and all(
        abs(value) <= LARGEST_EXACT_INTEGER for value in values if type(value) is int
    )
    return len(types) > 1 and not exact


def _arrow_from_frame(frame: Any, table: str) -> tuple[Any, frozenset[str]]:
    """Turn a data frame of any library into Arrow; column by column where that fails."""
    import pyarrow as pa

    if _is_of(frame, "polars") and hasattr(frame, "collect"):  # a lazy one
        frame = frame.collect()
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame]), frozenset()
    if isinstance(frame, pa.RecordBatchReader):  # which declares types without a look
        listed = [as_declared(batch, frame.schema) for batch in frame]
        return pa.Table.from_batches(listed, frame.schema), frozenset()
    if isinstance(frame, pa.Table):
        return frame, frozenset()
    names = list(getattr(frame, "columns", ()))
    refuse_doubled([str(name) for name in names], "the data frame")
    try:
        if type(frame).__module__.startswith("pandas."):
            framed = pa.Table.from_pandas(frame.rename(columns=str), preserve_index=False)
        else:
            framed = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return _arrow_from_columns([(name, frame[name]) for name in names], table)
    return framed, frozenset()
