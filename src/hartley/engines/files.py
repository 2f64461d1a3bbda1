"""Open Parquet and CSV files as one table."""

from __future__ import annotations

import csv
import glob
import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.embedded import connect
from hartley.engines.table import Span, Table, refuse_doubled
from hartley.errors import InputError, TableError

if TYPE_CHECKING:
    from collections.abc import Sequence

PARQUET_ENDINGS = (".parquet", ".pq", ".parq")
SEPARATORS = ",;\t|"


def open_files(
    sources: Sequence[str | os.PathLike[str]],
    null: str | Sequence[str],
    names: Sequence[str] | None,
) -> Table:
    """Open files, all Parquet or all CSV; nothing is read yet beyond what their columns need."""
    paths = [path for source in sources for path in _matching(source)]
    name = Path(paths[0]).name + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    parquet = {_is_parquet(path) for path in paths}
    if len(parquet) > 1:
        raise TableError(
            f"The files {name} are partly Parquet and partly CSV", hint="pass files of one format"
        )
    is_parquet = parquet.pop()
    try:
        expression = _read_parquet(paths) if is_parquet else _read_csv(paths, null, names)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - what the engine says may hold private values
        raise _unreadable(name, type(error).__name__, is_parquet=is_parquet) from None
    if is_parquet:
        return Table(expression, name, known_span=lambda column: _recorded_span(paths, column))
    return Table(expression, name, surely_named=names is not None)


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


def _literal(path: str) -> str:
    """Return a path that the engine does not take for a pattern."""
    return glob.escape(path)


def _read_parquet(paths: list[str]) -> Any:
    import pyarrow.parquet as pq

    for path in paths:
        refuse_doubled(pq.read_schema(path).names, Path(path).name)
    return connect().read_parquet([_literal(path) for path in paths])


def _recorded_span(paths: list[str], column: str) -> Span | None:
    """Return what Parquet files record of a column of signed integers, where all of them do.

    The engine trusts the same records when it skips parts of a file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = []
    for path in paths:
        file = pq.read_metadata(path)
        schema = file.schema.to_arrow_schema()
        if column not in schema.names or not pa.types.is_signed_integer(schema.field(column).type):
            return None
        place = file.schema.names.index(column)
        groups = (file.row_group(i).column(place) for i in range(file.num_row_groups))
        found += [(group.num_values, group.statistics) for group in groups]
    if not found or not all(
        statistics is not None and statistics.has_min_max and statistics.has_null_count
        for _, statistics in found
    ):
        return None
    rows = sum(values for values, _ in found)
    missing = sum(statistics.null_count for _, statistics in found)
    low = min(statistics.min for _, statistics in found)
    return Span(low, max(statistics.max for _, statistics in found), rows, rows - missing)


@dataclass(frozen=True)
class _Dialect:
    """How a CSV file is written, as the engine finds by reading all of it."""

    delimiter: str
    quote: str
    escape: str
    comment: str
    skip: int
    has_header: bool
    columns: list[dict[str, str]]
    date_format: str | None
    time_format: str | None


def _read_csv(paths: list[str], null: str | Sequence[str], names: Sequence[str] | None) -> Any:
    """Read CSV files; each is read whole once to find its types, so that none fails half-way."""
    marks = ["", *([null] if isinstance(null, str) else null)]
    backend = connect()
    parts, headers = [], set()
    for path in paths:
        dialect = _sniff(backend, path, marks, headless=names is not None)
        _check_fields(path, dialect, names)
        columns = list(names or (column["name"] for column in dialect.columns))
        headers.add((dialect.has_header, frozenset(columns)))
        parts.append(_select(path, dialect, columns, marks))
    if len(headers) > 1:
        raise TableError(
            "The files do not have the same columns", hint="give all of them the same header line"
        )
    backend.con.execute("CREATE TEMP VIEW hartley_source AS " + " UNION ALL BY NAME ".join(parts))
    return backend.table("hartley_source")


def _select(path: str, dialect: _Dialect, columns: Sequence[str], marks: list[str]) -> str:
    """Return the query for one file; nothing is left for the engine to guess a second time."""
    types = [column["type"] for column in dialect.columns]
    pairs = (f"{_text(name)}: {_text(kind)}" for name, kind in zip(columns, types, strict=True))
    options = {
        "auto_detect": "false",
        "columns": "{" + ", ".join(pairs) + "}",
        "delim": _text(dialect.delimiter),
        "quote": _text(dialect.quote),
        "escape": _text(dialect.escape),
        "comment": _text(dialect.comment),
        "skip": str(dialect.skip),
        "header": str(dialect.has_header).lower(),
        "nullstr": f"[{', '.join(map(_text, marks))}]",
    }
    forms = {"dateformat": dialect.date_format, "timestampformat": dialect.time_format}
    options |= {name: _text(form) for name, form in forms.items() if form}
    settings = ", ".join(f"{name} = {value}" for name, value in options.items())
    return f"SELECT * FROM read_csv({_text(_literal(path))}, {settings})"  # noqa: S608 - quoted


def _text(value: str) -> str:
    """Return text as the engine writes it."""
    return "'" + ("" if value == "(empty)" else value).replace("'", "''") + "'"


def _sniff(backend: Any, path: str, marks: list[str], *, headless: bool) -> _Dialect:
    """Ask the engine how a file is written."""
    query = (
        "SELECT Delimiter, Quote, Escape, Comment, SkipRows, HasHeader, Columns, DateFormat, "
        "TimestampFormat FROM sniff_csv(?, sample_size = -1, nullstr = ?)"
    )
    if headless:
        query = query.replace("nullstr = ?", "nullstr = ?, header = false")
    return _Dialect(*backend.con.execute(query, [_literal(path), marks]).fetchone())


def _check_fields(path: str, dialect: _Dialect, names: Sequence[str] | None) -> None:
    """Refuse doubled names, which the engine would rename, and lines of different lengths."""
    fields = _first_line(path, dialect)
    alone = len(fields) == 1 and any(separator in fields[0] for separator in SEPARATORS)
    if alone or len(fields) != len(dialect.columns):
        raise TableError(
            f"The lines of {Path(path).name} have different numbers of fields",
            hint="check for stray quotes and separators",
        )
    if names is not None and len(names) != len(fields):
        raise TableError(
            f"The file {Path(path).name} has {len(fields)} columns, not {len(names)}",
            hint="give a name for every column",
        )
    refuse_doubled(names or (fields if dialect.has_header else ()), Path(path).name)


def _first_line(path: str, dialect: _Dialect) -> list[str]:
    """Return the fields of the first line."""
    opener: Any = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        quote = dialect.quote if len(dialect.quote) == 1 else '"'
        return next(csv.reader(file, delimiter=dialect.delimiter, quotechar=quote))


def _unreadable(name: str, error: str, *, is_parquet: bool) -> TableError:
    """Say that a file cannot be read, without a word of what stands in it."""
    if is_parquet:
        return TableError(
            f"The file {name} is not a readable Parquet file",
            hint="check that it was written completely, or rename it to .csv if it is text",
        )
    return TableError(
        f"The file {name} is not a readable CSV file ({error})",
        hint="check that every line has the same number of fields and that the text is UTF-8",
    )
