"""A missing option that names columns: the columns of the file, to choose from."""

from __future__ import annotations

from typing import Any

from hartley.errors import HartleyError, printable

SHOWN = 40
"""Columns that are listed; a file may have thousands."""


def columns_sentence(error: Any) -> str | None:  # noqa: ANN401 - Typer keeps these types to itself
    """Return the columns of the table that a command was given, if it lacks an option for them."""
    from dataclasses import fields

    from hartley.cli.options import split_columns
    from hartley.tables.opening import open_table
    from hartley.tables.reading import ReadingOptions

    lacking, ctx = getattr(error, "param", None), getattr(error, "ctx", None)
    if lacking is None or ctx is None or "COL" not in (lacking.metavar or ""):
        return None
    given = {name: value for name, value in ctx.params.items() if value is not None}
    tables = given.get("table") or given.get("readings")
    if not tables or "-" in tables:
        return None
    known = {field.name for field in fields(ReadingOptions)}
    options = {name: value for name, value in given.items() if name in known}
    if "names" in options:
        options["names"] = split_columns([options["names"]], ())
    try:
        table = open_table(tables, reading=ReadingOptions.from_dict(options))
    except HartleyError:  # the option is what is wrong first
        return None
    names = [printable(name) for name in table.columns]
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return f"The columns of {printable(table.name)} are {', '.join(names[:SHOWN])}{more}"
