"""Opening Parquet and CSV files as one table."""

from __future__ import annotations

import csv
import glob
import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.failures import lack_of_room
from hartley.engines.dialects.registry import EMBEDDED
from hartley.engines.tables.failures import wrong_encoding
from hartley.engines.tables.table import Span, Table, refuse_doubled
from hartley.errors import ColumnError, HartleyError, InputError, TableError

if TYPE_CHECKING:
    from collections.abc import Sequence

PARQUET_ENDINGS = (".parquet", ".pq", ".parq")
SEPARATORS = ",;\t|"
QUOTE = '"'
_KINDS = {
    "BIGINT": "int64",
    "DOUBLE": "float64",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
}


def open_files(
    sources: Sequence[str | os.PathLike[str]],
    null: str | Sequence[str],
    names: Sequence[str] | None,
) -> Table:
    """Open files, all Parquet or all CSV; only what is needed to know their columns is read."""
    paths = [path for source in sources for path in _matching(source)]
    name = Path(paths[0]).name + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    parquet = {_is_parquet(path) for path in paths}
    if len(parquet) > 1:
        raise TableError(
            f"The files {name} are partly Parquet and partly CSV", hint="pass files of one format"
        )
    is_parquet = parquet.pop()
    try:
        if is_parquet:
            return Table(
                _read_parquet(paths),
                name,
                known_span=lambda column: _recorded_span(paths, column),
                blunt=_blunt(paths),
                paths=tuple(paths),
            )
        texts, types = _read_csv(paths, null, names)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - what the engine says may hold private values
        cause: HartleyError | None = lack_of_room(
            error, f"The engine {EMBEDDED.name}", f"over {name}"
        )
        if cause is None and not is_parquet:
            cause = wrong_encoding(paths)
        raise cause or _unreadable(name, type(error).__name__, is_parquet=is_parquet) from None
    typed = texts.select(
        **{
            column: texts[column] if kind == "VARCHAR" else texts[column].try_cast(_KINDS[kind])
            for column, kind in types.items()
            if kind in _KINDS
        },
        **{column: texts[column] for column, kind in types.items() if kind not in _KINDS},
    ).select(list(types))
    return Table(typed, name, surely_named=names is not None, texts=texts, paths=tuple(paths))


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
    """Read Parquet files of one schema: the engine would cast the later ones to the first."""
    import pyarrow.parquet as pq

    first = pq.read_schema(paths[0])
    for path in paths:
        schema = pq.read_schema(path)
        refuse_doubled(schema.names, Path(path).name)
        if set(schema.names) != set(first.names):
            raise TableError(
                f"The files {Path(paths[0]).name} and {Path(path).name} have different columns",
                hint="pass files with the same columns",
            )
        for column in schema.names:
            if schema.field(column).type != first.field(column).type:
                raise ColumnError(
                    f"Column '{column}' has different types in {Path(paths[0]).name} and "
                    f"{Path(path).name}",
                    hint="convert it to one type first",
                )
    files = [_literal(path) for path in paths]
    return EMBEDDED.open().read_parquet(files, hive_partitioning=False)


def _blunt(paths: list[str]) -> dict[str, str]:
    """Return the columns that the engine would read with less precision than they have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.read_metadata(paths[0])
    blunt = {
        field.name: "times finer than a microsecond"
        for field in file.schema.to_arrow_schema()
        if (pa.types.is_timestamp(field.type) and field.type.unit == "ns" and field.type.tz)
        or (pa.types.is_time(field.type) and field.type.unit == "ns")
    }
    for i in range(len(file.schema)):
        column = file.schema.column(i)
        if column.physical_type == "INT96":
            blunt[column.path] = "times finer than a microsecond"
        if column.logical_type.type == "DECIMAL" and column.precision > 38:
            blunt[column.path] = "decimals of more than 38 digits"
    return blunt


def _recorded_span(paths: list[str], column: str) -> Span | None:
    """Return the statistics of a column of signed integers in Parquet files, if all have them.

    The engine trusts the same records when it skips parts of a file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    recorded = []
    for path in paths:
        file = pq.read_metadata(path)
        schema = file.schema.to_arrow_schema()
        if column not in schema.names or not pa.types.is_signed_integer(schema.field(column).type):
            return None
        paths_inside = [file.schema.column(i).path for i in range(len(file.schema))]
        place = paths_inside.index(column)  # a leaf of a record may have the same name
        groups = (file.row_group(i).column(place) for i in range(file.num_row_groups))
        recorded += [(group.num_values, group.statistics) for group in groups]
    if not recorded or not all(
        statistics is not None and statistics.has_min_max and statistics.has_null_count
        for _, statistics in recorded
    ):
        return None
    rows = sum(values for values, _ in recorded)
    missing = sum(statistics.null_count for _, statistics in recorded)
    low = min(statistics.min for _, statistics in recorded)
    return Span(low, max(statistics.max for _, statistics in recorded), rows, rows - missing)


@dataclass(frozen=True)
class _Dialect:
    """How a CSV file is written, as the engine finds by reading all of it."""

    delimiter: str
    skip: int
    has_header: bool
    columns: list[dict[str, str]]


def _read_csv(
    paths: list[str], null: str | Sequence[str], names: Sequence[str] | None
) -> tuple[Any, dict[str, str]]:
    """Return CSV files with every column as its text, and the types that the texts seem to have.

    Text is what a file holds: 007 is not 7 there. Quotes are the usual ones and nothing is a
    comment, so that no record vanishes.
    """
    marks = ["", *([null] if isinstance(null, str) else null)]
    backend = EMBEDDED.open()
    parts, guesses = [], []
    for path in paths:
        dialect = _sniff(backend, path, marks, headless=names is not None)
        _check_fields(path, dialect, names)
        columns = list(names or (column["name"] for column in dialect.columns))
        guesses.append(
            {name: sniffed["type"] for name, sniffed in zip(columns, dialect.columns, strict=True)}
        )
        parts.append(_select(path, dialect, columns, marks))
    if any(guess.keys() != guesses[0].keys() for guess in guesses):
        raise TableError(
            "The files do not have the same columns", hint="give all of them the same header line"
        )
    backend.con.execute("CREATE TEMP VIEW hartley_text AS " + " UNION ALL BY NAME ".join(parts))
    types = {name: _common({guess[name] for guess in guesses}) for name in guesses[0]}
    return backend.table("hartley_text"), types


def _common(types: set[str]) -> str:
    """Return a type that can hold what several files have in one column."""
    if len(types) == 1:
        return types.pop()
    return "DOUBLE" if types <= {"BIGINT", "DOUBLE"} else "VARCHAR"


def _select(path: str, dialect: _Dialect, columns: Sequence[str], marks: list[str]) -> str:
    """Return the query for one file; nothing is left for the engine to guess a second time."""
    options = {
        "auto_detect": "false",
        "columns": "{" + ", ".join(f"{_text(name)}: 'VARCHAR'" for name in columns) + "}",
        "delim": _text(dialect.delimiter),
        "quote": _text(QUOTE),
        "escape": _text(QUOTE),
        "comment": "''",
        "skip": str(dialect.skip),
        "header": str(dialect.has_header).lower(),
        "nullstr": f"[{', '.join(map(_text, marks))}]",
        "hive_partitioning": "false",
    }
    settings = ", ".join(f"{name} = {value}" for name, value in options.items())
    return f"SELECT * FROM read_csv({_text(_literal(path))}, {settings})"  # noqa: S608 - quoted


def _text(value: str) -> str:
    """Return text as the engine writes it."""
    return "'" + value.replace("'", "''") + "'"


def _sniff(backend: Any, path: str, marks: list[str], *, headless: bool) -> _Dialect:
    """Ask the engine how a file is written; times that do not begin with a year are texts."""
    query = (
        "SELECT Delimiter, SkipRows, HasHeader, Columns, [DateFormat, TimestampFormat] "
        "FROM sniff_csv(?, sample_size = -1, nullstr = ?, quote = ?, escape = ?, comment = '')"
    )
    if headless:
        query = query.replace("comment = ''", "comment = '', header = false")
    sniffed = backend.con.execute(query, [_literal(path), marks, QUOTE, QUOTE]).fetchone()
    delimiter, skip, has_header, columns, formats = sniffed
    times = zip(("DATE", "TIMESTAMP"), formats, strict=True)
    doubtful = {kind for kind, written in times if written and not written.startswith("%Y")}
    texts = [c | {"type": "VARCHAR"} if c["type"] in doubtful else c for c in columns]
    return _Dialect(delimiter, skip, has_header, texts)


def _check_fields(path: str, dialect: _Dialect, names: Sequence[str] | None) -> None:
    """Raise an error for doubled names, which the engine would rename, and unequal lines."""
    fields = _first_line(path, dialect)
    alone = len(fields) == 1 and any(separator in fields[0] for separator in SEPARATORS)
    if alone or len(fields) != len(dialect.columns):
        raise TableError(
            f"The lines of {Path(path).name} have different numbers of fields",
            hint="check for stray quotes, separators and lines above the header",
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
        return next(csv.reader(file, delimiter=dialect.delimiter, quotechar=QUOTE))


def _unreadable(name: str, error: str, *, is_parquet: bool) -> TableError:
    """Return the error for an unreadable file, without any of its content."""
    if is_parquet:
        return TableError(
            f"The file {name} is not a readable Parquet file",
            hint="check that it was written completely, or rename it to .csv if it is text",
        )
    return TableError(
        f"The file {name} is not a readable CSV file ({error})",
        hint="check that every line has the same number of fields",
    )
