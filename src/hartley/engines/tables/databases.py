"""Open a table of a database by its address."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hartley.engines.dialects.probes import require_tried
from hartley.engines.tables.table import Table, refuse_doubled
from hartley.errors import EngineError, TableError

ENDINGS = (".duckdb", ".ddb")
POSTGRES = ("postgresql://", "postgres://")
SPARK = "spark://"


def is_address(source: str | os.PathLike[str]) -> bool:
    """Tell whether a text is the address of a database and not the name of a file of rows.

    Example:
        >>> is_address("people.duckdb::people"), is_address("people.csv")
        (True, False)
    """
    place, _ = _split(source)
    return place.startswith((*POSTGRES, SPARK)) or place.lower().endswith(ENDINGS)


def open_database(source: str | os.PathLike[str], table: str | None = None) -> Table:
    """Open a table of a database, only to read it.

    Args:
        source: FILE.duckdb, postgresql://USER@HOST/DATABASE or spark://HOST:PORT, each with
            ::TABLE or ::SCHEMA.TABLE appended unless the table is named apart. A DuckDB file
            with a single table needs no name.
        table: the table, or SCHEMA.TABLE.
    """
    place, named = _split(source)
    wanted = table or named
    shown = Path(place).name if "://" not in place else place.split("://")[0]
    if wanted is None and "://" in place:
        raise _unnamed(shown)
    try:
        backend = connect_address(place)
        require_tried(backend)
        wanted = wanted or _only(backend, shown)
        schema, _, name = wanted.rpartition(".")
        expression = backend.table(name, database=schema or None)
    except (TableError, EngineError):
        raise
    except Exception as error:  # noqa: BLE001 - an address may hold a password, so only its kind is told
        what = f"The table '{wanted}' of {shown}" if wanted else f"The database {shown}"
        raise TableError(
            f"{what} cannot be opened ({type(error).__name__})",
            hint="check the address, the name of the table and that the database answers",
        ) from None
    refuse_doubled(expression.columns, f"the table '{wanted}'")
    written = (place, f"{place}.wal") if "://" not in place else ()
    return Table(expression, wanted, paths=tuple(path for path in written if Path(path).exists()))


def _split(source: str | os.PathLike[str]) -> tuple[str, str | None]:
    place, mark, table = os.fspath(source).rpartition("::")
    named = mark and place and re.fullmatch(r"[^/\\@:?&=\[\]]+", table)  # [::1] is a host
    return (place, table) if named else (os.fspath(source), None)


def connect_address(place: str | None) -> Any:
    """Connect to a database by its address, or to a new embedded one, whatever its probes say."""
    import ibis

    if place is None:
        return ibis.duckdb.connect()
    if place.startswith(POSTGRES):
        return ibis.connect(place)
    if place.startswith(SPARK):
        from pyspark.sql import SparkSession

        return ibis.pyspark.connect(SparkSession.builder.master(place).getOrCreate())
    if not Path(place).exists():
        raise TableError(f"There is no file {place}", hint="check the spelling and the folder")
    return ibis.duckdb.connect(place, read_only=True)


def _only(backend: Any, shown: str) -> str:
    """Return the name of the only table."""
    tables = backend.list_tables()
    if len(tables) != 1:
        raise _unnamed(shown)
    return str(tables[0])


def _unnamed(shown: str) -> TableError:
    return TableError(
        f"The database {shown} needs the name of a table",
        hint="append it to the address, for example ::people or ::private.people",
    )
