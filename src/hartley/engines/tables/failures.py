"""Run a query; say why an engine failed without its own words, which may hold private values."""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.embedded import stop
from hartley.errors import EngineError, HartleyError, TableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hartley.engines.tables.table import Table


def lack_of_room(error: BaseException, who: str, place: str) -> EngineError | None:
    """Return the sentence for a failure by a full disk or a lack of memory, None of any other.

    Engines tell these in texts and types of their own, which may hold private values too.

    Example:
        >>> print(lack_of_room(MemoryError(), "The engine duckdb", "over people.csv"))
        The engine duckdb ran out of memory over people.csv; hint: raise the memory limit, ...
    """
    text, kind = str(error).lower(), type(error).__name__
    if getattr(error, "errno", None) == errno.ENOSPC or "no space left" in text:
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


def wrong_encoding(paths: Sequence[str]) -> TableError | None:
    """Return the sentence for the first CSV file that is no UTF-8 text, None where all are."""
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
        hint="convert it, for example with iconv -f LATIN1 -t UTF-8, or save it as CSV UTF-8",
    )


def run(table: Table, action: Callable[[], Any]) -> Any:
    """Run a query; what the engine says may hold private values, so only its kind is told."""
    try:
        with table.lock:
            return action()
    except HartleyError:
        raise
    except Exception as error:  # noqa: BLE001 - every failure of the engine, in one sentence
        if "interrupt" in str(error).lower():
            stop(table.backend)
            raise KeyboardInterrupt from None
        shortage = lack_of_room(error, f"The engine {table.engine}", f"over {table.name}")
        if shortage is not None:
            raise shortage from None
        if table.texts is not None:
            raise wrong_encoding(table.paths) or TableError(
                f"The file {table.name} cannot be read to its end ({type(error).__name__})",
                hint="check that all lines have the same number of fields",
            ) from None
        # What the engine says may hold private values, so only its kind is told.
        raise EngineError(
            f"The engine {table.engine} could not read {table.name} ({type(error).__name__})",
            hint="check that the table is complete and that the engine answers (hartley doctor)",
        ) from None
