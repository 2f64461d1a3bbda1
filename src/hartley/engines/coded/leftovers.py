"""Find the coded copies that lie at a place, and the ledgers that they were made for."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hartley.engines.coded.copy_jobs import is_file, is_folder, name_parts
from hartley.engines.coded.stores import open_store, spark_files, spark_frame
from hartley.engines.tables.table import spark_session

if TYPE_CHECKING:
    from hartley.engines.coded.copy_jobs import Place
    from hartley.engines.tables.table import Table

MARK = 12
"""How much of the random name of a version the name of its copy holds."""
SOME_MARK = rf"[0-9a-f]{{{MARK}}}"


def place_of(place: Place, version: str, near: Table | None) -> str:
    """Return the place of the copy of one version.

    Example:
        >>> place_of("copies/people.duckdb", "0123456789abcdef", None)
        'copies/people.0123456789ab.duckdb'
    """
    path, mark = Path(place), version[:MARK]
    if is_file(place, near):
        return str(path.with_name(f"{path.stem}.{mark}{path.suffix}"))
    return f"{os.fspath(place).rstrip('/')}_{mark}"


def marks_at(place: Place, near: Table | None) -> set[str]:
    """Return the marks of all versions that have a copy at a place, finished or not."""
    if near is None or is_file(place, near):
        path = Path(place)
        names = [entry.name for entry in path.absolute().parent.iterdir()]
        wanted = rf"{re.escape(path.stem)}\.({SOME_MARK}){re.escape(path.suffix)}"
    else:
        *outer, name = os.fspath(place).rstrip("/").rsplit("/" if is_folder(place) else ".", 1)
        names = _listed(place, outer[0] if outer else "", name, near)
        wanted = rf"{re.escape(name.lower())}_({SOME_MARK})(_about|_about_owner)?"
    found = (re.fullmatch(wanted, name if is_file(place, near) else name.lower()) for name in names)
    return {match[1] for match in found if match}


def _listed(place: Place, outer: str, name: str, near: Table) -> list[str]:
    if near.engine == "postgres":
        name_parts(place, most=2)
        query = (
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE starts_with(c.relname, %s) AND c.relkind = 'r' AND "
            "CASE WHEN %s = '' THEN pg_table_is_visible(c.oid) ELSE n.nspname = %s END"
        )
        with near.lock, near.backend.con.transaction():
            rows = near.backend.con.execute(query, [f"{name}_", outer, outer]).fetchall()
        return [str(row[0]) for row in rows]
    if is_folder(place):
        files, folder = spark_files(near, outer or "/")
        return [str(state.getPath().getName()) for state in files.listStatus(folder)]
    name_parts(place, most=3)
    inside = f"IN {outer} " if outer else ""
    tables = spark_session(near.backend).sql(f"SHOW TABLES {inside}LIKE '{name}_*'").collect()
    return [str(row["tableName"]) for row in tables]


def ledger_of(copy: Place, near: Table | None) -> str | None:
    """Return the random name of the ledger that a copy was made for, None where it carries none."""
    try:
        if near is not None and not is_file(copy, near) and near.engine == "pyspark":
            # Written before the rows, so that an unfinished copy has it too.
            (name,) = spark_frame(spark_session(near.backend), copy, "about_owner").first()
        else:
            store, note = open_store(copy, near)
            store.close()
            name = json.loads(note).get("ledger")
    except Exception:  # noqa: BLE001 - not a copy of ours, or one that cannot be read
        return None
    return str(name) if name else None


def unfinished_folders(place: Place, ledger: str) -> list[Path]:
    """Return the folders in which copies for a ledger were begun and not finished."""
    path = Path(place)
    wanted = (
        rf"\.{re.escape(path.stem)}\.{SOME_MARK}{re.escape(path.suffix)}\.{re.escape(ledger)}\."
        r"[a-z0-9_]+\.part"
    )
    folder = path.absolute().parent
    return [entry for entry in folder.iterdir() if re.fullmatch(wanted, entry.name)]
