"""The Table class: a table on some engine, with its columns and their kinds."""

from __future__ import annotations

import codecs
import contextlib
import difflib
import errno
import gzip
import os
import threading
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.registry import dialect_of
from hartley.errors import ColumnError, EngineError, HartleyError, TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hartley.engines.dialect import Dialect


class Kind(StrEnum):
    """The kind of values in a column."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    TIME = "time"
    EMPTY = "empty"
    NESTED = "nested"

    @property
    def numeric(self) -> bool:
        """Whether a step can divide the values."""
        return self in (Kind.INTEGER, Kind.REAL)


@dataclass(frozen=True)
class Span:
    """The least and the largest of a column of integers, its rows, and how many have a value."""

    low: int
    high: int
    rows: int
    present: int


@dataclass(frozen=True)
class Table:
    """An Ibis table expression and its name for messages."""

    expression: Any
    name: str
    surely_named: bool = True
    """Whether the names are certain; the first line of a CSV file may really be a record."""

    known_span: Callable[[str], Span | None] = lambda _: None
    """What the files themselves record of a column of integers, if they do."""

    texts: Any = None
    """The columns of CSV files as they are written; the expression then holds what they mean."""
    blunt: Mapping[str, str] = field(default_factory=dict)
    """Columns that the engine would read with less precision, and what they hold."""
    zoned: frozenset[str] = frozenset()
    """Columns of times that had a time zone, which the engine could not hold as finely."""
    mixed: frozenset[str] = frozenset()
    """Columns of values of different types, which cannot be used; they are empty here."""
    hidden: frozenset[str] = frozenset()
    """Columns that were left out when it was opened, which nothing may use."""
    paths: tuple[str, ...] = ()
    """The files that it is read from, which nothing may overwrite."""
    what_is_wrong: Callable[[], TableError | None] = lambda: None
    """Looks for what is wrong with CSV files that could not be read to their end."""
    lock: threading.RLock = field(default_factory=threading.RLock, compare=False, repr=False)
    """One connection serves one thread at a time."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.expression.columns)

    @property
    def backend(self) -> Any:
        """The connection that holds the data."""
        return self.expression.get_backend()

    @property
    def dialect(self) -> Dialect:
        """The engine that holds the data: what it can do, and how."""
        return dialect_of(self.backend)

    @property
    def engine(self) -> str:
        """The name of the engine, as Ibis calls it."""
        return self.dialect.name

    def kind(self, column: str) -> Kind:
        """Return the kind of values in a column."""
        dtype = self.expression.schema()[column]
        for kind, holds in (
            (Kind.INTEGER, dtype.is_integer()),
            (Kind.REAL, dtype.is_floating() or dtype.is_decimal()),
            (Kind.TEXT, dtype.is_string() or dtype.is_binary() or dtype.is_uuid()),
            (Kind.BOOLEAN, dtype.is_boolean()),
            (Kind.TIME, dtype.is_temporal()),
            (Kind.EMPTY, dtype.is_null()),
        ):
            if holds:
                return kind
        return Kind.NESTED

    def require(self, columns: Iterable[str]) -> None:
        """Raise an error for columns that do not exist or do not hold plain values."""
        for column in columns:
            if column not in self.columns:
                raise ColumnError(
                    f"Column '{column}' is not in {self.name}", hint=self._nearest(column)
                )
            if column in self.mixed:
                raise mixed_types(column)
            if column in self.blunt:
                raise ColumnError(
                    f"Column '{column}' of {self.name} holds {self.blunt[column]}, which the "
                    "engine would cut off",
                    hint="convert it to text or whole numbers first",
                )
            if self.kind(column) is Kind.NESTED:
                raise ColumnError(
                    f"Column '{column}' of {self.name} holds lists, records or durations, not "
                    "plain values",
                    hint="convert it to text or numbers first, or choose another column",
                )

    def _nearest(self, column: str) -> str:
        """Suggest the column that was probably meant."""
        lower = {name.lower(): name for name in self.columns}
        close = difflib.get_close_matches(column.lower(), lower, n=1)
        if close:
            return f"did you mean '{lower[close[0]]}'?"
        if not self.surely_named:
            return (
                "name the line of the column names with --header-line (hartley scan proposes it); "
                "if the file has none, name its columns with --names or open_table(..., names=)"
            )
        shown = ", ".join(self.columns[:12]) + (", ..." if len(self.columns) > 12 else "")
        return f"the columns are {shown}"


def mixed_types(column: str) -> ColumnError:
    """Return the sentence for a column of values of different types."""
    return ColumnError(
        f"Column '{column}' mixes values of different types, or holds what no column can",
        hint="convert it to one type first, for example to text",
    )


def names_of(names: str | Sequence[Any]) -> tuple[Any, ...]:
    """Return the names of columns, given as one name or several."""
    return (names,) if isinstance(names, str) else tuple(names)


def refuse_doubled(names: Iterable[str], table: str, hint: str = "rename one of them") -> None:
    """Raise an error for names that are equal apart from case, which the engine ignores."""
    seen: dict[str, str] = {}
    for name in names:
        earlier = seen.get(name.lower())
        seen[name.lower()] = name
        if earlier is not None:
            called = (
                f"'{name}'" if name == earlier else f"'{earlier}' and '{name}', case aside the same"
            )
            raise ColumnError(f"Two columns of {table} are named {called}", hint=hint)


# --- errors of an engine, reported without its texts, which may be private ------------------------


def run(table: Table, action: Callable[[], Any]) -> Any:
    """Run a query; an error shows no text of the engine, which may contain private values."""
    try:
        with table.lock:
            return action()
    except HartleyError:
        raise
    except table.dialect.failures() as error:
        if table.dialect.was_interrupted(error):
            table.dialect.stop(table.backend)
            raise KeyboardInterrupt from None
        shortage = lack_of_room(error, f"The engine {table.engine}", f"over {table.name}")
        if shortage is not None:
            raise shortage from None
        if table.texts is not None:
            raise table.what_is_wrong() or TableError(
                f"The file {table.name} cannot be read to its end",
                hint="check that all lines have the same number of fields",
            ) from None
        # The text of the error may contain private values, and its type says nothing to a reader.
        raise EngineError(
            f"The engine {table.engine} could not read {table.name}",
            hint="check that the table is complete and that the engine answers (hartley doctor)",
        ) from None


def wrong_encoding(paths: Sequence[str]) -> TableError | None:
    """Return the sentence for the first CSV file that is no UTF-8 text, None if all are."""
    for path in paths:
        opener: Any = gzip.open if path.endswith(".gz") else open
        decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
        with contextlib.suppress(OSError), opener(path, "rb") as file:
            while chunk := file.read(1 << 20):
                zeros, marks = chunk[:100].count(0), (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
                if chunk.startswith(marks) or 4 * zeros > len(chunk[:100]):
                    return _not_utf8(path, "is UTF-16 text or no text, not UTF-8")
                if zeros:
                    return TableError(
                        f"The file {Path(path).name} is no text: it holds zero bytes",
                        hint="give it the ending of its format, such as .parquet or .xlsx, or "
                        "export it as CSV",
                    )
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError as error:
                    # It counts from what was left over of the chunk before.
                    line += error.object[: error.start].count(b"\n")
                    return _not_utf8(path, f"is not UTF-8 text in line {line:,}")
                line += chunk.count(b"\n")
    return None


def _not_utf8(path: str, why: str) -> TableError:
    return TableError(
        f"The file {Path(path).name} {why}",
        hint="name its encoding, for example with "
        "open_table(..., reading=ReadingOptions(encoding='cp1252')) (--encoding cp1252)",
    )


def full_disk(error: BaseException) -> OSError | None:
    """Return the error of a full disk, quota or file; DuckDB only has a text for it."""
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        said = str(error).endswith(os.strerror(number))
        if getattr(error, "errno", None) == number or said:
            return OSError(number, os.strerror(number))
    return None


def lack_of_room(error: BaseException, who: str, place: str) -> EngineError | None:
    """Return the error for a full disk or a lack of memory, None for any other failure."""
    text, kind, full = str(error).lower(), type(error).__name__, full_disk(error)
    # A quota or a file size limit is left to the caller, which knows the place.
    if (full is not None and full.errno == errno.ENOSPC) or "no space left" in text:
        return EngineError(
            f"{who} found the disk full {place}",
            hint="make room where it writes and in the temporary folder (TMPDIR)",
        )
    if isinstance(error, MemoryError) or "OutOfMemory" in kind or "bad_alloc" in text:
        return EngineError(
            f"{who} ran out of memory {place}",
            hint="raise the memory limit, name fewer columns, or bin a column",
        )
    return None
