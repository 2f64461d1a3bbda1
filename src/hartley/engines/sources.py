"""Open whatever holds a table: files, data frames, Arrow, a dict, an Ibis table."""

from __future__ import annotations

import csv
import glob
import gzip
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.table import Table
from hartley.errors import ColumnError, TableError

if TYPE_CHECKING:
    from collections.abc import Iterable

PARQUET_ENDINGS = (".parquet", ".pq", ".parq")
SOURCES = (
    "a Parquet or CSV path, a list of paths, a pandas, Polars or Arrow table, a dict of columns "
    "or an Ibis table"
)


def open_table(
    source: object, *, null: str | Sequence[str] = (), names: Sequence[str] | None = None
) -> Table:
    """Open a table wherever it is; nothing is read yet beyond its columns.

    Args:
        source: a path or a list of paths (Parquet, CSV), a pandas, Polars or Arrow table, a dict
            of columns, an Ibis table on any engine, or a table already open.
        null: text that stands for a missing value in CSV files, besides the empty field.
        names: names of the columns of CSV files that have no header line.

    Example:
        >>> open_table({"age": [30, 40]}).columns
        ('age',)
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _open_files([source], null, names)
    if _is_ibis(source):
        _refuse_doubled(source.columns, "the Ibis table")  # type: ignore[attr-defined]
        return Table(source, source.get_name() if hasattr(source, "get_name") else "the table")
    if isinstance(source, Mapping):
        return _open_arrow(_arrow_from_dict(source), "the dict")
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "collect"):
        return _open_arrow(_arrow_from_frame(source), f"the {type(source).__name__}")
    if (
        isinstance(source, Sequence)
        and source
        and all(isinstance(item, (str, os.PathLike)) for item in source)
    ):
        return _open_files(source, null, names)
    raise TableError(
        f"A {type(source).__name__} is not a table that can be opened", hint=f"pass {SOURCES}"
    )


def connect() -> Any:
    """Return a new embedded engine that spills to the system's temporary folder."""
    import ibis

    spill = Path(tempfile.gettempdir()) / f"hartley-spill-{os.getpid()}"
    return ibis.duckdb.connect(temp_directory=str(spill))


def _is_ibis(source: object) -> bool:
    return type(source).__module__.startswith("ibis.") and hasattr(source, "get_backend")


# --- files ---------------------------------------------------------------------------------


def _open_files(
    sources: Sequence[str | os.PathLike[str]],
    null: str | Sequence[str],
    names: Sequence[str] | None,
) -> Table:
    """Open Parquet or CSV files as one table."""
    paths = [path for source in sources for path in _matching(source)]
    name = Path(paths[0]).name + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    parquet = {_is_parquet(path) for path in paths}
    if len(parquet) > 1:
        raise TableError(
            f"The files {name} are partly Parquet and partly CSV", hint="pass files of one format"
        )
    reader = _read_parquet if parquet.pop() else _read_csv
    try:
        expression = reader(paths, null, names)
    except (ColumnError, TableError):
        raise
    except Exception as error:  # noqa: BLE001 - what the engine says may hold private values
        raise _unreadable(name, paths, error) from None
    return Table(expression, name)


def _matching(source: str | os.PathLike[str]) -> list[str]:
    """Return the readable files that a path or a pattern names."""
    text = os.fspath(source)
    pattern = glob.has_magic(text) and not Path(text).exists()
    paths = sorted(glob.glob(text)) if pattern else [text]  # noqa: PTH207 - also absolute patterns
    if not paths:
        raise TableError(f"No file matches {text}", hint="check the pattern and the folder")
    for path in paths:
        if Path(path).is_dir():
            raise TableError(
                f"{path} is a folder, not a file",
                hint=f"name its files, for example {path}/*.parquet",
            )
        if not Path(path).exists():
            raise TableError(f"There is no file {path}", hint="check the spelling and the folder")
        if not os.access(path, os.R_OK):
            raise TableError(f"The file {path} may not be read", hint="check its permissions")
        if Path(path).stat().st_size == 0:
            raise TableError(f"The file {path} is empty", hint="pass a file with a header and rows")
    return paths


def _is_parquet(path: str) -> bool:
    if path.lower().endswith(PARQUET_ENDINGS):
        return True
    with Path(path).open("rb") as file:
        return file.read(4) == b"PAR1"


def _read_parquet(paths: list[str], _null: object, _names: object) -> Any:
    import pyarrow.parquet as pq

    for path in paths:
        _refuse_doubled(pq.read_schema(path).names, Path(path).name)
    return connect().read_parquet(paths)


def _read_csv(paths: list[str], null: str | Sequence[str], names: Sequence[str] | None) -> Any:
    """Read CSV files; the whole file decides the types, so that none fails half-way."""
    options: dict[str, Any] = {
        "nullstr": ["", *([null] if isinstance(null, str) else null)],
        "sample_size": -1,
    }
    if names:
        _refuse_doubled(names, "the names")
        return connect().read_csv(paths, **options, header=False, names=list(names))
    expression = connect().read_csv(paths, **options)
    for path in paths:
        header = _header(path)
        if len(header) != len(expression.columns):
            raise TableError(
                f"The lines of {Path(path).name} have different numbers of fields",
                hint="check for stray quotes and separators",
            )
        # A first line that is data, not a header, names no column of the table.
        _refuse_doubled([name for name in header if name in expression.columns], Path(path).name)
    return expression


def _header(path: str) -> list[str]:
    """Return the fields of the first line of a CSV file."""
    opener: Any = gzip.open if path.endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            line = file.readline()
    except (UnicodeDecodeError, OSError):
        raise TableError(
            f"The file {Path(path).name} is not text", hint="pass a CSV or a Parquet file"
        ) from None
    delimiter = max(",;\t|", key=line.count)
    return [field.strip() for field in next(csv.reader([line], delimiter=delimiter), [])]


def _unreadable(name: str, paths: list[str], error: Exception) -> TableError:
    """Say that a file cannot be read, without a word of what stands in it."""
    if _is_parquet(paths[0]):
        return TableError(
            f"The file {name} is not a readable Parquet file",
            hint="check that it was written completely, or rename it to .csv if it is text",
        )
    return TableError(
        f"The file {name} is not a readable CSV file ({type(error).__name__})",
        hint="check that every line has the same number of fields and that the text is UTF-8",
    )


# --- tables in memory -----------------------------------------------------------------------


def _open_arrow(arrow: Any, name: str) -> Table:
    _refuse_doubled(arrow.column_names, name)
    backend = connect()
    backend.con.register("hartley_source", arrow)
    return Table(backend.table("hartley_source"), name)


def _arrow_from_dict(columns: Mapping[Any, Any]) -> Any:
    import pyarrow as pa

    arrays = {str(name): _arrow_column(str(name), values) for name, values in columns.items()}
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        raise TableError(
            "The columns of the dict have different lengths",
            hint="give every column one value a row",
        )
    return pa.table(arrays)


def _arrow_column(name: str, values: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.chunked_array(values) if isinstance(values, pa.ChunkedArray) else pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        raise _mixed(name) from None


def _arrow_from_frame(frame: Any) -> Any:
    """Turn a data frame of any library into Arrow, column by column where types are mixed."""
    import pyarrow as pa

    if hasattr(frame, "collect"):  # a lazy Polars frame
        frame = frame.collect()
    if isinstance(frame, pa.Table):
        return frame
    _refuse_doubled([str(name) for name in getattr(frame, "columns", ())], "the data frame")
    try:
        if type(frame).__module__.startswith("pandas."):
            frame = frame.rename(columns=str)
            return pa.Table.from_pandas(frame, preserve_index=False)
        return pa.table(frame)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        for name in getattr(frame, "columns", ()):
            _arrow_column(str(name), frame[name])
        raise TableError(
            f"The {type(frame).__name__} cannot be read as a table", hint=f"pass {SOURCES}"
        ) from None


def _mixed(name: str) -> ColumnError:
    return ColumnError(
        f"Column '{name}' mixes values of different types",
        hint="convert it to one type first, for example to text",
    )


def _refuse_doubled(names: Iterable[str], table: str) -> None:
    """Refuse names that are equal, or that the engine takes for equal: it ignores their case."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.get(name.lower())
        seen[name.lower()] = name
        if other is not None:
            called = (
                f"'{name}'" if name == other else f"'{other}' and '{name}', case aside the same"
            )
            raise ColumnError(
                f"Two columns of {table} are named {called}", hint="rename one of them"
            )
