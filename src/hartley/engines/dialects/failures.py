"""Errors for failures of an engine, without its own texts, which may contain private values."""

from __future__ import annotations

import errno
import os

from hartley.errors import EngineError


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
