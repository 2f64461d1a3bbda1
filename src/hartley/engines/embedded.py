"""The embedded engine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any


def connect() -> Any:
    """Return a new embedded DuckDB that spills to the system's temporary folder."""
    import ibis

    spill = Path(tempfile.gettempdir()) / f"hartley-spill-{os.getpid()}"
    return ibis.duckdb.connect(temp_directory=str(spill))
