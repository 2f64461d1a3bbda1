"""The embedded engine."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import tempfile
import weakref
from functools import cache
from pathlib import Path
from typing import Any

from hartley.engines.dialects.probes import require_tried_library
from hartley.files import PrivateFolder

READ_AHEAD = "64MB"
"""With less, one processor prepares what is streamed while the others wait for room."""


def connect() -> Any:
    """Return a new embedded DuckDB that spills to the system's temporary folder.

    It is closed when nothing needs it any more, at the latest before the interpreter ends: its
    threads must not outlive what they work on.
    """
    import ibis

    require_tried_library()
    spill = _spill_folder(os.getpid()).path / secrets.token_hex(8)
    backend = ibis.duckdb.connect(temp_directory=str(spill))
    backend.con.execute(f"SET streaming_buffer_size = '{READ_AHEAD}'")
    weakref.finalize(backend, _close, backend.con)
    return backend


@cache
def _spill_folder(process: int) -> PrivateFolder:
    """Return the folder in which all engines of a process spill: what is in it are private rows."""
    del process  # a forked process makes a folder of its own
    folder = PrivateFolder(Path(tempfile.gettempdir()), "hartley-spill")
    atexit.register(folder.close)
    return folder


def stop(backend: Any) -> None:
    """End what the embedded engine was doing when Python was interrupted.

    Its other threads go on otherwise, and whatever is asked next waits until they are done.
    """
    if backend.name == "duckdb":
        backend.con.interrupt()


def _close(connection: Any) -> None:
    with contextlib.suppress(Exception):  # nobody is left to be told
        connection.interrupt()
        connection.close()
