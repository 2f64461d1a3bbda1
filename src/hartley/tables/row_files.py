"""Opening files of rows as one table: Parquet, CSV, Excel, and the formats of SPSS, Stata, SAS."""

from __future__ import annotations

import codecs
import contextlib
import csv
import datetime as dt
import glob
import gzip
import os
import re
import shlex
import shutil
import sys
import tempfile
import weakref
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from importlib import import_module
from itertools import chain, dropwhile, islice, takewhile, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hartley.engines.registry import EMBEDDED
from hartley.engines.table import Span, Table, lack_of_room, refuse_doubled, wrong_encoding
from hartley.errors import (
    ColumnError,
    EngineError,
    HartleyError,
    InputError,
    OptionError,
    TableError,
)
from hartley.exact import LARGEST_EXACT_INTEGER
from hartley.files import STANDARD_INPUT, PrivateFolder, one_line, remember_input
from hartley.tables.reading import (
    AS_WRITTEN,
    TEXT,
    clean_columns,
    clean_texts,
    common_type,
    literal,
    sql_list,
    typed,
)
from hartley.text import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hartley.tables.reading import ReadingOptions

    Sources = Sequence[str | os.PathLike[str]]


CHUNK = 1 << 20
_SIGNATURES = (
    (b"PAR1", ".parquet"),
    (b"PK\x03\x04", ".xlsx"),
    (b"$FL", ".sav"),
    (b"<stata_dta>", ".dta"),
    (b"\x1f\x8b", ".csv.gz"),
)
"""The first bytes by which a file without a name is recognised; everything else is CSV."""
SEPARATORS = ",;\t|"
QUOTE = '"'
ZONED = "TIMESTAMP WITH TIME ZONE"
READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""The function of pyreadstat for each ending."""
EXCEL_ENDINGS, STATISTICS_ENDINGS = (".xlsx", ".xlsm"), tuple(READERS)
PARQUET_ENDINGS = (".parquet", ".pq", ".parq")
ENDINGS = (*PARQUET_ENDINGS, *EXCEL_ENDINGS, *STATISTICS_ENDINGS, ".csv", ".tsv", ".txt", ".gz")
"""The endings that a hint names."""
ROWS_AT_ONCE = 10_000
LAKES = {
    "_delta_log": "a Delta table",
    "metadata/*.metadata.json": "an Iceberg table",
    ".hoodie": "a Hudi table",
}
"""What is in a folder of a kind of table that is more than its files."""


# --- private copies of what the engine cannot read where it lies ----------------------------------


@dataclass
class LocalCopies:
    """A private folder for copies; it exists from the first copy until the table is given up."""

    folders: list[PrivateFolder] = field(default_factory=list)

    def place(self, name: str) -> Path:
        """Return a new place with the name of a file."""
        self.folders.append(PrivateFolder(Path(tempfile.gettempdir()), "hartley-copy"))
        return self.folders[-1].path / name

    def close(self) -> None:
        """Remove all copies."""
        for folder in self.folders:
            folder.close()


def spool_input(copies: LocalCopies) -> str:
    """Copy standard input to a private file whose ending says what it holds; return its path."""
    stream: Any = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.closed:
        raise TableError("There is no standard input to read", hint="name a file instead of -")
    first = stream.read(CHUNK)
    if not first:
        raise TableError(
            "Standard input holds nothing, or was read before",
            hint="pipe a table into the command, and name - only once",
        )
    ending = next((end for mark, end in _SIGNATURES if first.startswith(mark)), ".csv")
    path = copies.place(f"standard-input{ending}")
    with path.open("wb") as file:
        file.write(first)
        shutil.copyfileobj(stream, file, CHUNK)
    remember_input(path)
    return str(path)


def in_plain_text(path: str, reading: ReadingOptions, copies: LocalCopies) -> str:
    """Return a CSV file in UTF-8 without mixed line ends and its footer: a copy if need be."""
    name, kept = Path(path).name, reading.encoding == "utf-8"
    both = feeds = returns = quotes = 0
    for text in _pieces(path, reading.encoding):
        both += text.count("\r\n")
        feeds, returns = feeds + text.count("\n"), returns + text.count("\r")
    mixed = (both > 0) + (feeds > both) + (returns > both) > 1
    if kept and not mixed and not reading.footer:
        return path
    target = copies.place(name.removesuffix(".gz"))
    with target.open("w+b") as copy:
        for text in _pieces(path, reading.encoding):
            parts = text.split(QUOTE)
            begin = quotes % 2
            if mixed:  # what stands between two quotes stays as it is
                parts[begin::2] = [re.sub("\r\n?", "\n", part) for part in parts[begin::2]]
            quotes += len(parts) - 1
            # The engine skips a byte order mark.
            copy.write(QUOTE.join(parts).encode("latin-1" if kept else "utf-8"))
        if reading.footer:
            _cut_footer(copy, reading.footer, name)
    return str(target)


def _pieces(path: str, encoding: str) -> Iterator[str]:
    """Yield the text of a CSV file, and bytes as signs if it is UTF-8, which the engine checks.

    No piece ends within a line end. A file that is no text of its encoding is refused by its line.
    """
    opener: Any = gzip.open if path.endswith(".gz") else open
    decoder = codecs.getincrementaldecoder("latin-1" if encoding == "utf-8" else encoding)()
    line, text = 1, ""
    with opener(path, "rb") as source:
        while chunk := source.read(CHUNK):
            held = "\r" * text.endswith("\r")
            try:
                text = held + decoder.decode(chunk, final=not source.peek(1))
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(encoding, errors="ignore")
                raise TableError(
                    f"The file {Path(path).name} is not {encoding} text in line "
                    f"{line + before.count(chr(10)):,}",
                    hint="name its encoding, for example with --encoding cp1252, latin-1 or utf-16",
                ) from None
            line += text.count("\n")
            yield text.removesuffix("\r")
    yield "\r" * text.endswith("\r")


def _cut_footer(file: Any, footer: int, name: str) -> None:
    """Cut the last lines of a file; blank ones at the end are not counted."""
    size, length = file.seek(0, os.SEEK_END), CHUNK
    while True:
        file.seek(max(size - length, 0))
        lines = file.read().splitlines(keepends=True)
        filled = [place for place, line in enumerate(lines) if line.strip()]
        if len(filled) > footer + 1:  # the first one may be a part of a line
            file.truncate(size - sum(map(len, lines[filled[-footer] :])))
            return
        if length >= size:
            raise TableError(
                f"The file {name} holds no rows besides {count_of(footer, 'line')} at its end",
                hint="name fewer lines with --footer",
            )
        length *= 2


def suspected_encoding(path: str | Path) -> str:
    """Return the encoding that a CSV file seems to have: by its mark, or the first that fits.

    UTF-16 is recognised by its mark. A file that is no UTF-8 is taken for the encoding of Western
    Windows, which is a guess: no text says in which of the one-byte encodings it was written.
    """
    opener: Any = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
    for encoding in ("utf-8", "cp1252"):
        with (
            contextlib.suppress(UnicodeDecodeError),
            opener(path, "rt", encoding=encoding, newline="") as file,
        ):
            while file.read(CHUNK):
                pass
            return encoding
    return "latin-1"


# --- what stands above and below the rows ---------------------------------------------------------

TOTALS = (
    r"(?i)^[ :*]*(sum|summe|totals?|gesamt|insgesamt|totale|totaal|razem|suma|og[oó][lł]em)[ :*]*$"
)
"""A word that stands before a total."""
TYPED = re.compile(r"[+-]?[\d.,' ]*\d[\d.,' ]*%?|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*|(?i:true|false)")
"""A number, a date or a truth value."""
LOOKED_AT = 1000
"""Lines at both ends of a file in which titles, remarks and totals are looked for."""


class Layout(NamedTuple):
    """Which lines of a file hold no rows, as far as one can tell by looking at it."""

    header: int | None = None
    """The line of the names, if other lines with texts stand above it."""
    footer: int = 0
    """How many lines at the end hold no rows, blank ones not counted."""
    total: str = ""
    """A word before totals in one of the last rows; without a footer, the row does not add up."""
    separator: str = ""
    """The sign between fields, if lines were looked at."""
    width: int = 0
    """How many fields most lines have, or else the first one."""
    doubtful: bool = False
    """Whether another sign splits most lines into as many fields, as decimal commas may."""


def suspected_reading(path: str, reading: ReadingOptions) -> tuple[ReadingOptions, list[str]]:
    """Guess how a file is read where nobody said it, and say what was guessed.

    What can be guessed is the encoding, the line of the names, and how many lines at the end hold
    no rows.
    """
    if reading.encoding == AS_WRITTEN.encoding and _format(path) is FileFormat.CSV:
        reading = replace(reading, encoding=suspected_encoding(path))
    found, name, said = suspected_layout(path, reading), Path(path).name, []
    if found.doubtful:
        reading = replace(reading, delimiter=found.separator)
        said.append(f"The sign between the fields of {name} seems to be {found.separator!r}.")
    if found.header is not None:
        reading = replace(reading, header=found.header)
        said.append(
            f"The columns of {name} seem to be named in line {found.header} "
            f"(--header-line {found.header})."
        )
    if found.total and not found.footer and not reading.footer:
        said.append(
            f"'{found.total}' stands in one of the last rows of {name}, which does not add up: if "
            "it is no person, leave it out (--footer 1, in the roles footer = 1)."
        )
    if found.footer and not reading.footer:
        reading = replace(reading, footer=found.footer)
        last = "The last line" if found.footer == 1 else f"The last {found.footer} lines"
        what = f"a total ('{found.total}')" if found.total else "no row"
        verb = ("seems", "is") if found.footer == 1 else ("seem", "are")
        said.append(
            f"{last} of {name} {verb[0]} to hold {what} and {verb[1]} left out "
            f"(--footer {found.footer})."
        )
    return reading, said


def suspected_layout(path: str | os.PathLike[str], reading: ReadingOptions) -> Layout:
    """Look for titles above the names of the columns of a file, and for totals below its rows.

    What is found is a guess. In files of other formats than CSV and Excel nothing is looked for.
    """
    name = os.fspath(path)
    form = _format(name)
    if form is FileFormat.EXCEL:
        with _open_sheet(name, reading) as page:
            cells = ([_text(cell, ".") or "" for cell in row] for row in page)
            rows = [*zip(*zip_longest(*cells, fillvalue=""), strict=True)]
        return _layout(rows, rows, rows, reading, "\0")
    if form is not FileFormat.CSV:
        return Layout()
    top = [*islice(_lines(name, reading), LOOKED_AT)]
    # Of a long file that is not compressed, only the end is read.
    start = 0 if name.endswith(".gz") else max(Path(name).stat().st_size - CHUNK, 0) // 4 * 4
    end = [*deque(_lines(name, reading, start), LOOKED_AT)][start > 0 :]
    try:
        usual = {sign: _usual_width([*_fields(top, sign)]) for sign in SEPARATORS}
        if reading.decimal == "," and any(usual[sign][1] for sign in SEPARATORS if sign != ","):
            usual[","] = (0, 0)  # 1,5;2,5 has as many commas as semicolons in every line
        sign = reading.delimiter or max(usual, key=usual.__getitem__)
        everything = _fields(_lines(name, reading), sign)
        found = _layout([*_fields(top, sign)], [*_fields(end, sign)], everything, reading, sign)
        rivals = [usual[other] for other in SEPARATORS if other != sign]
        doubt = any(2 * times > len(top) and width >= found.width for times, width in rivals)
        return found._replace(doubtful=doubt and found.width > 1 and reading.delimiter is None)
    except csv.Error:  # a field without an end
        return Layout()


def _lines(path: str, reading: ReadingOptions, start: int = 0) -> Iterator[str]:
    opener: Any = gzip.open if path.endswith(".gz") else open
    encoding = "utf-8-sig" if reading.encoding == "utf-8" else reading.encoding
    with opener(path, "rt", encoding=encoding, errors="replace") as file:
        file.buffer.seek(start)
        yield from file


def _fields(lines: Iterable[str], separator: str) -> Any:
    return csv.reader(lines, delimiter=separator, quotechar=QUOTE)


def _usual_width(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return how many rows have the commonest number of fields above one, and the number."""
    widths = Counter(len(row) for row in rows if len(row) > 1).most_common(1) or [(0, 0)]
    return widths[0][1], widths[0][0]


def _layout(
    top: Sequence[Sequence[str]],
    end: Sequence[Sequence[str]],
    rows: Iterable[Sequence[str]],
    reading: ReadingOptions,
    separator: str,
) -> Layout:
    """Judge the rows at both ends; all rows are added up if there seem to be totals."""
    times, width = _usual_width(top)
    if 2 * times <= sum(map(bool, top)):
        return Layout(separator=separator, width=len(next(filter(None, top), ())))
    header = None if reading.header or reading.names else _names_line(top, width)
    below = islice(rows, header or reading.header or 0, None)
    last = [row for row in reversed(end) if any(map(str.strip, row))]
    footer = next((k for k, row in enumerate(last) if not _is_remark(row, end, width)), 0)
    row = last[footer] if footer < len(last) else ()
    total = next((cell.strip() for cell in row if re.match(TOTALS, cell)), "")
    if total and _adds_up(row, below):
        footer += 1
    return Layout(header, footer, total, separator, width)


def _names_line(top: Sequence[Sequence[str]], width: int) -> int | None:
    """Return the line of the names, if others stand above it: the first of different texts."""
    cells = [[cell.strip() for cell in row if cell.strip()] for row in top]
    most = max(len(filled) for row, filled in zip(top, cells, strict=True) if len(row) == width)
    for place, filled in enumerate(cells):
        typed = any(map(TYPED.fullmatch, filled))
        if not place and filled and not top[0][0].strip() and len(filled) == width - 1:
            break  # the names, above numbers of the rows that have none
        if len(top[place]) == width and not typed and 10 * len({*filled}) >= 8 * most:
            return place + 1 if any(cells[:place]) else None
        if typed and 10 * len(filled) >= 8 * most:
            break
    return None


def _is_remark(row: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> bool:
    """Tell whether a row is too short or long, or holds words where others have a single one."""
    filled = [place for place, cell in enumerate(row) if cell.strip()]
    if len(row) != width or len(filled) != 1 or width <= 2:
        return len(row) != width
    cells = [" " in other[filled[0]].strip() for other in rows if len(other) == width]
    text = row[filled[0]].strip()
    return " " in text and not TYPED.fullmatch(text) and 2 * sum(cells) < len(cells)


def _adds_up(row: Sequence[str], rows: Iterable[Sequence[str]]) -> bool:
    """Tell whether all other cells of a row are empty or the sums of what stands above them."""
    wanted = [k for k, cell in enumerate(row) if cell.strip() and not re.match(TOTALS, cell)]
    sums = {(k, sign): Fraction(0) for k in wanted for sign in ",."}
    for other in takewhile(lambda other: other != row, rows) if wanted else ():
        for k, sign in sums:
            sums[k, sign] += (_amount(other[k], sign) if k < len(other) else None) or 0
    return all(any(sums[k, sign] == _amount(row[k], sign) for sign in ",.") for k in wanted)


def _amount(cell: str, decimal: str) -> Fraction | None:
    try:
        return Fraction(cell.strip().replace(decimal, "."))
    except (ValueError, ZeroDivisionError):
        return None


def _uneven_lines(path: str, reading: ReadingOptions) -> TableError | None:
    """Return the sentence for the first line of a CSV file with another number of fields."""
    reading = replace(reading, encoding="utf-8")
    found = suspected_layout(path, reading)
    if not found.separator:
        return None
    uneven, line, reader = [], 1, _fields(_lines(path, reading), found.separator)
    with contextlib.suppress(csv.Error):
        for place, row in enumerate(filter(None, reader)):
            if len(row) != found.width and line >= (reading.header or 1):
                uneven.append((line, len(row), place))
            line, rows = reader.line_num + 1, place + 1
    if not uneven:
        return None
    name, first = Path(path).name, found.header or reading.header or 1
    inside = [each for each in uneven if first <= each[0] and each[2] < rows - found.footer]
    line, fields, _ = (inside or uneven)[0]
    hint = f"look at line {line:,} for stray quotes and separators"
    if not inside:
        footer = found.footer + reading.footer  # which is cut already
        words = replace(AS_WRITTEN, header=found.header or reading.header, footer=footer).words
        hint = f"leave out what is no row with {shlex.join(words)}"
    return TableError(
        f"Line {line:,} of {name} has {count_of(fields, 'field')}, "
        f"{'the header' if line > first else 'most lines'} {found.width}",
        hint=hint,
    )


# --- Parquet and CSV ------------------------------------------------------------------------------


def open_parquet(paths: list[str], name: str) -> Table:
    """Open Parquet files of one schema as one table."""
    return Table(
        _read_parquet(paths),
        name,
        known_span=lambda column: _recorded_span(paths, column),
        blunt=_blunt(paths),
        paths=tuple(paths),
    )


def open_csv(paths: list[str], name: str, reading: ReadingOptions, copies: LocalCopies) -> Table:
    """Open CSV files as one table; every column is typed by all of its texts."""
    backend = EMBEDDED.open()
    copied = [in_plain_text(path, reading, copies) for path in paths]
    try:
        texts, types = _read_csv(backend, copied, reading)
    except InputError:
        raise
    except Exception:
        if (cause := _what_is_wrong(copied, reading)) is not None:
            raise cause from None
        raise
    return Table(
        typed(texts, types),
        name,
        surely_named=reading.names is not None or reading.header is not None,
        texts=texts,
        paths=tuple(paths),
        what_is_wrong=lambda: _what_is_wrong(copied, reading),
    )


def _what_is_wrong(paths: Sequence[str], reading: ReadingOptions) -> TableError | None:
    """Return the sentence for bytes that are no text, or for a line of another length."""
    uneven = (found for path in paths if (found := _uneven_lines(path, reading)))
    return wrong_encoding(paths) or next(uneven, None)


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
    # Escaped, so that the engine does not take a path for a pattern.
    return EMBEDDED.open().read_parquet(list(map(glob.escape, paths)), hive_partitioning=False)


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
    """Return the statistics of a column of signed integers in Parquet files, if all have them."""
    # The engine trusts the same records when it skips parts of a file.
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
    backend: Any, paths: list[str], reading: ReadingOptions
) -> tuple[Any, dict[str, str]]:
    """Return CSV files with every column as its text, and the types that the texts seem to have."""
    # Text is what a file holds: 007 is not 7 there. Quotes are the usual ones and nothing is a
    # comment, so that no record vanishes.
    parts, guesses = [], []
    for path in paths:
        dialect = _sniffed(backend, path, reading)
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
        "nullstr": sql_list(reading.marks),
        "hive_partitioning": "false",
    }
    settings = ", ".join(f"{name} = {value}" for name, value in options.items())
    return f"SELECT * FROM read_csv({literal(glob.escape(path))}, {settings})"  # noqa: S608 - quoted


def _sniffed(backend: Any, path: str, reading: ReadingOptions) -> _Dialect:
    """Ask the engine how a file is written; times that do not begin with a year are texts."""
    if reading.decimal == "," and reading.delimiter is None:  # which the engine may take for it
        found = suspected_layout(path, replace(reading, encoding="utf-8"))
        reading = replace(reading, delimiter=found.separator or None)
    settings = ["sample_size = -1", "nullstr = ?", "quote = ?", "escape = ?", "comment = ''"]
    values: list[Any] = [glob.escape(path), list(reading.marks), QUOTE, QUOTE]
    if reading.names is not None and reading.header is None:
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
    opener: Any = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        for _ in range((reading.header or 1) - 1):
            file.readline()
        fields = next(csv.reader(file, delimiter=dialect.delimiter, quotechar=QUOTE), [])
    name = Path(path).name
    alone = len(fields) == 1 and any(separator in fields[0] for separator in SEPARATORS)
    alone = alone or (len(fields) == 1 and suspected_layout(path, AS_WRITTEN).width > 1)
    if (alone and reading.delimiter is None) or len(fields) != len(dialect.columns):
        raise _uneven_lines(path, reading) or TableError(
            f"The lines of {name} have different numbers of fields",
            hint="check for stray quotes, separators and lines above the header",
        )
    if reading.names is not None and len(reading.names) != len(fields):
        raise TableError(
            f"The file {name} has {len(fields)} columns, not {len(reading.names)}",
            hint="give a name for every column",
        )
    headers = [field.strip() for field in fields if dialect.has_header]  # as the engine does
    refuse_doubled(reading.names or headers, name, _renamed(headers, reading))


def _renamed(names: Sequence[str], reading: ReadingOptions) -> str:
    """Return the hint for names of which some are equal: others for all columns."""
    others: dict[str, str] = {}
    for place, name in enumerate(names):
        new = name.strip().replace(",", " ") or f"column{place}"
        while new.lower() in others:
            new += "_2"
        others[new.lower()] = new
    words = replace(AS_WRITTEN, header=reading.header or 1, names=tuple(others.values())).words
    return f"rename one of them, or name all columns with {shlex.join(words)}"


# --- Excel, SPSS, Stata and SAS, read completely into memory --------------------------------------


def _imported(package: str, what: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise EngineError(
            f"{what} need the package {package}", hint="pip install 'hartley[files]'"
        ) from None


def open_excel(paths: Sequence[str], name: str, reading: ReadingOptions) -> Table:
    """Open one sheet of each Excel file, whose cells are texts that are typed like those of CSV."""
    sheets = [_read_sheet(path, reading) for path in paths]
    backend = EMBEDDED.open()
    backend.con.register("hartley_raw", _joined(sheets, paths))
    types = dict.fromkeys(sheets[0].column_names, TEXT)
    texts, decided = clean_texts(backend, "hartley_raw", types, reading)
    return Table(typed(texts, decided), name, texts=texts, paths=tuple(paths))


def _read_sheet(path: str, reading: ReadingOptions) -> Any:
    import pyarrow as pa

    with _open_sheet(path, reading) as page:
        names, places, below = _named_columns(page, path, reading)
        rows = _all_but_last((row for row in below if any(map(_full, row))), reading.footer)
        pieces: dict[int, list[Any]] = {place: [] for place in places}
        while chunk := list(islice(rows, ROWS_AT_ONCE)):
            columns = dict(enumerate(zip_longest(*chunk)))
            if any(map(_full, chain(*(columns[place] for place in columns.keys() - pieces)))):
                raise TableError(
                    f"The sheet of {Path(path).name} has values in a column without a name",
                    hint="name every column, or name the line of the header with --header-line",
                )
            size = len(next(iter(columns.values()), ()))
            for place, piece in pieces.items():
                cells = columns.get(place, (None,) * size)
                texts = [_text(cell, reading.decimal) for cell in cells]
                piece.append(pa.array(texts, pa.string()))
    arrays = [pa.chunked_array(piece, pa.string()) for piece in pieces.values()]
    return pa.table(dict(zip(names, arrays, strict=True)))


@contextlib.contextmanager
def _open_sheet(path: str, reading: ReadingOptions) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Yield the rows of the sheet of an Excel file."""
    openpyxl = _imported("openpyxl", "Excel files")
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        page = _sheet(book, Path(path).name, reading.sheet)
        page.reset_dimensions()  # which the program that wrote the file may have got wrong
        yield page.iter_rows(values_only=True)
    finally:
        book.close()


def _all_but_last(rows: Iterator[tuple[Any, ...]], footer: int) -> Iterator[tuple[Any, ...]]:
    held = deque(islice(rows, footer))
    for row in rows:
        held.append(row)
        yield held.popleft()


def _sheet(book: Any, file: str, wanted: str | None) -> Any:
    """Return the named sheet, or the only one that is not hidden."""
    sheets = {str(page.title): page for page in book.worksheets}
    shown = [title for title, page in sheets.items() if page.sheet_state == "visible"]
    if wanted is not None and wanted not in sheets:
        raise TableError(
            f"The file {file} has no sheet '{one_line(wanted)}'",
            hint=f"its sheets are {one_line(', '.join(sheets))}",
        )
    if wanted is None and len(shown) != 1:
        raise TableError(
            f"The file {file} has {len(shown)} sheets",
            hint=f"name one with --sheet: {one_line(', '.join(shown or sheets))}",
        )
    return sheets[wanted if wanted is not None else shown[0]]


def _named_columns(
    rows: Iterator[tuple[Any, ...]], path: str, reading: ReadingOptions
) -> tuple[list[str], list[int], Iterator[tuple[Any, ...]]]:
    """Return the names of the columns, their places, and the rows below the names."""
    file = Path(path).name
    # Without a named line, the first row with a value holds the names. If it has a single value and
    # the next row has several or none, it is a title, and the file is refused.
    if reading.names is not None:
        rows = islice(rows, reading.header or 0, None)
        return list(reading.names), list(range(len(reading.names))), rows
    skipped = islice(rows, (reading.header or 1) - 1, None)
    below = skipped if reading.header else dropwhile(lambda row: not any(map(_full, row)), skipped)
    cells = {place: str(cell) for place, cell in enumerate(next(below, ())) if _full(cell)}
    if not cells:
        raise TableError(
            f"The sheet of {file} has no names of columns",
            hint="write the names into the first row, or name their line with --header-line",
        )
    second = list(islice(below, 1))
    if reading.header is None and len(cells) == 1 and second and sum(map(_full, second[0])) != 1:
        raise TableError(
            f"The first row of the sheet of {file} is a title, not the names of its columns",
            hint="name the line of the header, for example with --header-line "
            f"{suspected_layout(path, reading).header or 3}",
        )
    names = [text.strip() if reading.trim else text for text in cells.values()]
    filled = [cells.get(place, "") for place in range(max(cells) + 1)]
    refuse_doubled(names, file, _renamed(filled, reading))
    return names, list(cells), chain(second, below)


def _full(cell: object) -> bool:
    return cell is not None and cell != ""


def _text(cell: object, decimal: str) -> str | None:
    """Return a cell as a CSV file would hold it."""
    if cell is None:
        return None
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        if cell.is_integer() and abs(cell) < LARGEST_EXACT_INTEGER:
            return str(int(cell))
        return repr(cell).replace(".", decimal)
    if isinstance(cell, dt.datetime):
        midnight = cell.time() == dt.time()
        return cell.date().isoformat() if midnight else cell.isoformat(" ", "auto")
    return cell.isoformat() if isinstance(cell, (dt.date, dt.time)) else str(cell)


def open_statistics(paths: Sequence[str], name: str, reading: ReadingOptions) -> Table:
    """Open files of SPSS, Stata or SAS; what they declare as missing is missing."""
    tables = [_read_statistics(path, reading) for path in paths]
    expression = EMBEDDED.hold_frame(_joined(tables, paths), "hartley_source")
    return Table(expression, name, paths=tuple(paths))


def _read_statistics(path: str, reading: ReadingOptions) -> Any:
    import pyarrow as pa

    pyreadstat = _imported("pyreadstat", "Files of SPSS, Stata and SAS")
    reader = READERS[Path(path).suffix.lower()]
    named = {} if reading.encoding == "utf-8" else {"encoding": reading.encoding}
    if named and reader == "read_por":
        raise TableError(
            f"The file {Path(path).name} states its own encoding",
            hint="leave the encoding out",
        )
    columns, about = getattr(pyreadstat, reader)(path, output_format="dict", **named)
    refuse_doubled(columns, Path(path).name)
    if not columns:
        raise TableError(f"The file {Path(path).name} has no columns", hint="pass a table")
    labels = about.variable_value_labels if reading.labels else {}
    return pa.table(
        {name: _column(values, labels.get(name, {})) for name, values in columns.items()}
    )


def _column(values: Sequence[Any], labels: dict[Any, str]) -> Any:
    """Return a column of Arrow: whole numbers as such, and labels in the place of their codes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pa.array(values, from_pandas=True)
    if pa.types.is_floating(array.type):
        whole = pc.all(pc.equal(pc.round(array), array)).as_py() is not False
        small = pc.all(pc.less(pc.abs(array), LARGEST_EXACT_INTEGER)).as_py() is not False
        array = array.cast(pa.int64()) if whole and small else array
    if pa.types.is_string(array.type):
        array = pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array)
    if not labels:
        return array
    codes = pa.array(list(labels)).cast(array.type)
    shown = pc.take(pa.array(list(labels.values()), pa.string()), pc.index_in(array, codes))
    return pc.coalesce(shown, array.cast(pa.string()))


def _joined(tables: Sequence[Any], paths: Sequence[str]) -> Any:
    """Return the rows of all files; their columns may stand in another order."""
    import pyarrow as pa

    first = tables[0]
    for table, path in zip(tables, paths, strict=True):
        if set(table.column_names) != set(first.column_names):
            raise TableError(
                f"The files {Path(paths[0]).name} and {Path(path).name} have different columns",
                hint="pass files with the same columns",
            )
    ordered = [table.select(first.column_names) for table in tables]
    return pa.concat_tables(ordered, promote_options="permissive")


# --- files of any format --------------------------------------------------------------------------


class FileFormat(StrEnum):
    """How a file of rows is written, as it is called in a message."""

    PARQUET = "Parquet"
    CSV = "CSV"
    EXCEL = "Excel"
    STATISTICS = "SPSS, Stata or SAS"


def open_files(sources: Sources, reading: ReadingOptions) -> Table:
    """Open files, all of one format; of Parquet files only what tells their columns is read."""
    copies = LocalCopies()
    try:
        table = _open(sources, reading, copies)
    except BaseException:
        copies.close()
        raise
    weakref.finalize(table.backend, copies.close)  # the engine reads them when it is asked
    return table


def _open(sources: Sources, reading: ReadingOptions, copies: LocalCopies) -> Table:
    paths = [path for source in sources for path in _readable(source, copies)]
    name = Path(paths[0]).name + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    formats = {_format(path) for path in paths}
    if len(formats) > 1:
        raise TableError(
            f"The files {name} are partly {' and partly '.join(sorted(formats, reverse=True))}",
            hint="pass files of one format",
        )
    form = formats.pop()
    refuse_parts(paths, form)
    if reading.sheet is not None and form is not FileFormat.EXCEL:  # it would go unnoticed
        raise OptionError(
            f"The sheet '{reading.sheet}' was named for {name}, which has no sheets",
            hint="leave it out, or pass an Excel file",
        )
    if reading.footer and form not in (FileFormat.EXCEL, FileFormat.CSV):
        raise OptionError(
            f"A footer was named for {name}, which has no lines",
            hint="leave it out, or pass a CSV or Excel file",
        )
    try:
        if form is FileFormat.PARQUET:
            return clean_columns(open_parquet(paths, name), reading)
        if form is FileFormat.EXCEL:
            return open_excel(paths, name, reading)
        if form is FileFormat.STATISTICS:
            return clean_columns(open_statistics(paths, name, reading), reading)
        return open_csv(paths, name, reading, copies)
    except HartleyError:
        raise
    except Exception as error:  # noqa: BLE001 - what the engine says may hold private values
        shortage = lack_of_room(error, f"The engine {EMBEDDED.name}", f"over {name}")
        raise shortage or _unreadable(name, form) from None


def _readable(source: str | os.PathLike[str], copies: LocalCopies) -> list[str]:
    """Return the readable files that a path or a pattern names; - is standard input."""
    text = os.fspath(source) or "."
    if text == STANDARD_INPUT:
        return [spool_input(copies)]
    try:
        pattern = glob.has_magic(text) and not Path(text).exists()
        paths = sorted(glob.glob(text, recursive=True)) if pattern else [text]  # noqa: PTH207 - also absolute patterns
        if not paths:
            raise TableError(f"No file matches {text}", hint="check the pattern and the folder")
        for path in paths:
            _refuse_unreadable(Path(path))
    except OSError:  # too long a name, or a folder that may not be looked into
        raise TableError(
            f"The file {text} cannot be looked at",
            hint="check its name, and who may read its folder",
        ) from None
    return paths


def _refuse_unreadable(path: Path) -> None:
    if path.is_dir():
        inside = sorted(path.glob("[!._]*"))
        refuse_parts([str(path), *(str(child) for child in inside if "=" in child.name)])
        endings = (child.suffix for child in inside if child.is_file())
        ending = next((ending for ending in endings if ending.lower() in ENDINGS), None)
        raise TableError(
            f"{path} is a folder, not a file",
            hint="name a file of rows: there is none that is known by its ending in it"
            if ending is None
            else f"name its files, for example {glob.escape(str(path))}/*{ending}",
        )
    if not path.exists():
        raise TableError(f"There is no file {path}", hint="check the spelling and the folder")
    if not os.access(path, os.R_OK):
        raise TableError(f"The file {path} cannot be read", hint="check its permissions")
    if path.stat().st_size == 0:
        raise TableError(f"The file {path} is empty", hint="pass a file with a header and rows")


def refuse_parts(paths: list[str], form: FileFormat = FileFormat.PARQUET) -> None:
    """Raise an error for files that are not all of a table, and for folders of such files.

    In a lake, a log says which files and rows count; the names of hive partitions hold a column.
    The value in the name of such a folder is not shown.
    """
    # As they are named, where links are kept and .. is not, and as they lie.
    named_so = [Path(os.path.abspath(name)) for name in paths]  # noqa: PTH100 - see above
    for found in (named_so, [Path(name).resolve() for name in paths]):
        places = {path if path.is_dir() else path.parent: path for path in found}
        named = {
            place: [folder for folder in (place, *place.parents) if re.match("[^=]+=", folder.name)]
            for place in places
        }
        common = set[Path]().union(*named.values()).intersection(*named.values())
        for place, example in places.items():
            for mark, kind in LAKES.items() if form is FileFormat.PARQUET else ():
                above = (folder for folder in (place, *place.parents) if any(folder.glob(mark)))
                if (lake := next(above, None)) is not None:
                    raise TableError(
                        f"{_shortest(lake)} is {kind}, whose log says which rows of its files "
                        "count",
                        hint="have Spark, deltalake or whatever keeps the table write its current "
                        "rows to a file outside of that folder, and pass that",
                    )
            # What all files share is a column only where it is right above them.
            top = next((folder for folder in reversed(named[place]) if folder not in common), place)
            if top in named[place]:
                while top.parent in named[place]:
                    top = top.parent
                _refuse_partition(top, example)


def _refuse_partition(top: Path, example: Path) -> None:
    root, key = _shortest(top.parent), top.name.partition("=")[0]
    files = [example] if example.is_file() else sorted(example.rglob("[!._]*"))
    path = next((path for path in files if path.is_file()), Path("rows.parquet"))
    form = _format(str(path))
    kind, more = ("parquet", "") if form is FileFormat.PARQUET else ("csv", ", all_varchar=1")
    ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    pattern = f"{glob.escape(root)}/**/*{ending}".replace("'", "''")
    way = (
        f"python -c \"import duckdb; duckdb.sql('''COPY (FROM read_{kind}('{pattern}', "
        f"hive_partitioning=1, hive_types_autocast=0, union_by_name=1{more})) "
        f"TO 'table.{kind}' ''')\""
        if form in (FileFormat.PARQUET, FileFormat.CSV)
        else "with that column"
    )
    raise TableError(
        f"The folders in {root} are named by the column '{key}', which would be lost",
        hint=f"write all of it to one file first: {way}; or copy files elsewhere to go without it",
    )


def _shortest(folder: Path) -> str:
    return min(str(folder), os.path.relpath(folder), key=len)


def _format(path: str) -> FileFormat:
    ending = Path(path).suffix.lower()
    if ending == ".xls":
        raise TableError(
            f"The file {Path(path).name} is of an old format of Excel",
            hint="save it as .xlsx or as CSV UTF-8",
        )
    if ending == ".zst":
        raise TableError(
            f"The file {Path(path).name} is compressed by zstd, which is not read",
            hint="unpack it first, for example with zstd -d",
        )
    if ending == ".toml":
        raise TableError(
            f"The file {Path(path).name} is no table but settings, such as a policy or a schema",
            hint="name the table there; perhaps two arguments are swapped",
        )
    if ending in EXCEL_ENDINGS:
        return FileFormat.EXCEL
    if ending in STATISTICS_ENDINGS:
        return FileFormat.STATISTICS
    if ending in PARQUET_ENDINGS:
        return FileFormat.PARQUET
    with Path(path).open("rb") as file:
        return FileFormat.PARQUET if file.read(4) == b"PAR1" else FileFormat.CSV


def _unreadable(name: str, form: FileFormat) -> TableError:
    """Return the error for an unreadable file, without any of its content."""
    hints = {
        FileFormat.PARQUET: "that it was written completely, or rename it to .csv if it is text",
        FileFormat.CSV: "that every line has the same number of fields",
    }
    other = "that it was written completely and is not protected by a password"
    article = f"{form} file" if form in hints else f"file of {form}"
    return TableError(
        f"The file {name} is not a readable {article}", hint=f"check {hints.get(form, other)}"
    )
