"""Running a query; errors of an engine are reported without its texts, which may be private."""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.errors import EngineError, HartleyError, TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.engines.tables.table import Table


def run(table: Table, action: Callable[[], Any]) -> Any:
    """Run a query; an error shows only its type, since its text may contain private values."""
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
            raise wrong_encoding(table.read_paths or table.paths) or TableError(
                f"The file {table.name} cannot be read to its end ({type(error).__name__})",
                hint="check that all lines have the same number of fields",
            ) from None
        # The text of the error may contain private values, so only its type is shown.
        raise EngineError(
            f"The engine {table.engine} could not read {table.name} ({type(error).__name__})",
            hint="check that the table is complete and that the engine answers (hartley doctor)",
        ) from None


def wrong_encoding(paths: Sequence[str]) -> TableError | None:
    """Return the sentence for the first CSV file that is no UTF-8 text, None if all are."""
    for path in paths:
        opener: Any = gzip.open if path.endswith(".gz") else open
        decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
        with contextlib.suppress(OSError), opener(path, "rb") as file:
            while chunk := file.read(1 << 20):
                if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or 0 in chunk[:100]:
                    return _not_utf8(path, "is UTF-16 text or no text, not UTF-8")
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
        hint="name its encoding, for example with --encoding cp1252 or utf-16, or "
        "open_table(..., reading=ReadingOptions(encoding='cp1252'))",
    )


def full_disk(error: BaseException) -> OSError | None:
    """Return the error of a full disk, quota or file; DuckDB only has a text for it.

    Example:
        >>> full_disk(RuntimeError("IO Error: could not write: No space left on device")).errno
        28
    """
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        said = str(error).endswith(os.strerror(number))
        if getattr(error, "errno", None) == number or said:
            return OSError(number, os.strerror(number))
    return None


def lack_of_room(error: BaseException, who: str, place: str) -> EngineError | None:
    """Return the error for a full disk or a lack of memory, None for any other failure.

    Engines have their own types and texts for these; the texts may contain private values.

    Example:
        >>> print(lack_of_room(MemoryError(), "The engine duckdb", "over people.csv"))
        The engine duckdb ran out of memory over people.csv; hint: raise the memory limit, ...
    """
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
