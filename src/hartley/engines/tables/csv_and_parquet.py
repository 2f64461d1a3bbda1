"""Opening Parquet and CSV files as one table."""

from __future__ import annotations

import csv
import glob
import gzip
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.registry import EMBEDDED
from hartley.engines.tables.failures import wrong_encoding
from hartley.engines.tables.local_copies import in_utf8
from hartley.engines.tables.table import Span, Table, refuse_doubled
from hartley.engines.tables.texts import TEXT, clean_texts, common_type, listed, literal, typed
from hartley.errors import ColumnError, InputError, TableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.tables.local_copies import LocalCopies
    from hartley.engines.tables.reading_options import ReadingOptions

SEPARATORS = ",;\t|"
QUOTE = '"'
ZONED = "TIMESTAMP WITH TIME ZONE"
LONG_FILE = 2**22
"""Bytes from which the first lines of a file are looked at before all of it is."""
FIRST_LINES = 20_480


def open_parquet(paths: list[str], name: str) -> Table:
    """Open Parquet files of one schema as one table."""
    return Table(
        _read_parquet(paths),
        name,
        known_span=lambda column: _recorded_span(paths, column),
        blunt=_blunt(paths),
        paths=tuple(paths),
    )


def open_csv(
    paths: list[str], name: str, reading: ReadingOptions, copies: LocalCopies, *, whole: bool = True
) -> Table:
    """Open CSV files as one table; every column is typed by all of its texts.

    Args:
        paths: the files.
        name: the name of the table in messages.
        reading: how they are written.
        copies: where copies in another encoding are kept.
        whole: False for texts alone, where the first lines of long files say how they are written.
    """
    backend = EMBEDDED.open()
    copied = paths
    if reading.encoding != "utf-8":
        copied = [in_utf8(path, reading.encoding, copies) for path in paths]
    # Where texts are rewritten, the types of all of them decide what they say.
    whole = whole or reading.rewrites or max(map(os.path.getsize, copied)) <= LONG_FILE
    try:
        texts, types = _read_csv(backend, copied, reading, -1 if whole else FIRST_LINES)
    except InputError:
        raise
    except Exception:
        cause = wrong_encoding(copied)
        if cause is not None:
            raise cause from None
        raise
    return Table(
        typed(texts, types) if whole else texts,
        name,
        sampled_types=None if whole else types,
        surely_named=reading.names is not None,
        texts=texts,
        paths=tuple(paths),
        read_paths=tuple(copied),
    )


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
    """How a CSV file is written, as the engine finds by reading it."""

    delimiter: str
    skip: int
    has_header: bool
    columns: list[dict[str, str]]


def _read_csv(
    backend: Any, paths: list[str], reading: ReadingOptions, lines: int
) -> tuple[Any, dict[str, str]]:
    """Return CSV files with every column as its text, and the types that the texts seem to have.

    Text is what a file holds: 007 is not 7 there. Quotes are the usual ones and nothing is a
    comment, so that no record vanishes.
    """
    parts, guesses = [], []
    for path in paths:
        dialect = _sniff(backend, path, reading, lines)
        _check_fields(path, dialect, reading)
        columns = list(reading.names or (column["name"] for column in dialect.columns))
        if reading.trim:
            columns = [name.strip() for name in columns]
        guesses.append(
            {name: sniffed["type"] for name, sniffed in zip(columns, dialect.columns, strict=True)}
        )
        parts.append(_select(path, dialect, columns, reading))
    if any(guess.keys() != guesses[0].keys() for guess in guesses):
        raise TableError(
            "The files do not have the same columns", hint="give all of them the same header line"
        )
    zoned = any(ZONED in guess.values() for guess in guesses)
    rewrites = reading.rewrites or zoned
    raw = "hartley_raw" if rewrites else "hartley_text"
    backend.con.execute(f"CREATE TEMP VIEW {raw} AS " + " UNION ALL BY NAME ".join(parts))
    if zoned:  # looked at value by value: only times in UTC keep their meaning without a zone
        guesses = [{n: TEXT if t == ZONED else t for n, t in g.items()} for g in guesses]
    types = {name: common_type([guess[name] for guess in guesses]) for name in guesses[0]}
    if rewrites:
        return clean_texts(backend, raw, types, reading)
    return backend.table(raw), types


def _select(path: str, dialect: _Dialect, columns: Sequence[str], reading: ReadingOptions) -> str:
    """Return the query for one file; nothing is left for the engine to guess a second time."""
    options = {
        "auto_detect": "false",
        "columns": "{" + ", ".join(f"{literal(name)}: 'VARCHAR'" for name in columns) + "}",
        "delim": literal(dialect.delimiter),
        "quote": literal(QUOTE),
        "escape": literal(QUOTE),
        "comment": "''",
        "skip": str(dialect.skip),
        "header": str(dialect.has_header).lower(),
        "nullstr": listed(reading.marks),
        "hive_partitioning": "false",
    }
    settings = ", ".join(f"{name} = {value}" for name, value in options.items())
    return f"SELECT * FROM read_csv({literal(_literal(path))}, {settings})"  # noqa: S608 - quoted


def _sniff(backend: Any, path: str, reading: ReadingOptions, lines: int) -> _Dialect:
    """Ask the engine how a file is written; times that do not begin with a year are texts."""
    dialect = _sniffed(backend, path, reading, lines)
    if reading.decimal == "," and reading.delimiter is None and dialect.delimiter == ",":
        # 1,5;2,5 has as many commas as semicolons in every line, and the commas are decimal ones.
        others = [_sniffed(backend, path, replace(reading, delimiter=s), lines) for s in ";\t|"]
        return max([dialect, *others], key=lambda sniffed: _width(sniffed, dialect))
    return dialect


def _width(sniffed: _Dialect, by_commas: _Dialect) -> tuple[bool, int]:
    """Order the ways to split a file: any sign but the decimal one, then the most columns."""
    several = len(sniffed.columns) > 1
    return (several and sniffed is not by_commas, len(sniffed.columns))


def _sniffed(backend: Any, path: str, reading: ReadingOptions, lines: int) -> _Dialect:
    settings = ["sample_size = ?", "nullstr = ?", "quote = ?", "escape = ?", "comment = ''"]
    values: list[Any] = [_literal(path), lines, list(reading.marks), QUOTE, QUOTE]
    if reading.names is not None:
        settings.append("header = false")
    if reading.header is not None:
        settings += ["header = true", "skip = ?"]
        values.append(reading.header - 1)
    if reading.delimiter is not None:
        settings.append("delim = ?")
        values.append(reading.delimiter)
    sniffed = backend.con.execute(
        "SELECT Delimiter, SkipRows, HasHeader, Columns, [DateFormat, TimestampFormat] "  # noqa: S608 - constants
        f"FROM sniff_csv(?, {', '.join(settings)})",
        values,
    ).fetchone()
    sign, skip, has_header, columns, formats = sniffed
    times = zip(("DATE", "TIMESTAMP"), formats, strict=True)
    doubtful = {kind for kind, written in times if written and not written.startswith("%Y")}
    texts = [c | {"type": "VARCHAR"} if c["type"] in doubtful else c for c in columns]
    return _Dialect(sign, skip, has_header, texts)


def _check_fields(path: str, dialect: _Dialect, reading: ReadingOptions) -> None:
    """Raise an error for doubled names, which the engine would rename, and unequal lines."""
    fields, name = _header_line(path, dialect, reading), Path(path).name
    alone = len(fields) == 1 and any(separator in fields[0] for separator in SEPARATORS)
    if (alone and reading.delimiter is None) or len(fields) != len(dialect.columns):
        hint = "check for stray quotes, separators and lines above the header"
        if dialect.skip and reading.header is None:
            hint += f"; if the names stand in line {dialect.skip + 1}, say so with --header-line"
        raise TableError(f"The lines of {name} have different numbers of fields", hint=hint)
    if reading.names is not None and len(reading.names) != len(fields):
        raise TableError(
            f"The file {name} has {len(fields)} columns, not {len(reading.names)}",
            hint="give a name for every column",
        )
    headers = [field.strip() for field in fields if dialect.has_header]  # as the engine does
    refuse_doubled(reading.names or headers, name)


def _header_line(path: str, dialect: _Dialect, reading: ReadingOptions) -> list[str]:
    """Return the fields of the first line, or of the line that is named as the header."""
    opener: Any = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        for _ in range((reading.header or 1) - 1):
            file.readline()
        return next(csv.reader(file, delimiter=dialect.delimiter, quotechar=QUOTE), [])
