"""The command ``hartley microaggregate``."""

from __future__ import annotations

from typing import Annotated

import typer

from hartley.cli.options import (
    Html,
    Keep,
    Out,
    RolesFile,
    SpreadsheetSafe,
    Tables,
    open_tables,
    parse_columns,
    reads_tables,
)
from hartley.cli.output import Format, console, print_json, say, wants_json
from hartley.files import check_files, write_all_or_none
from hartley.tables.reading import AS_WRITTEN, ReadingOptions


@reads_tables
def microaggregate_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    k: Annotated[int, typer.Option("--k", "-k", metavar="K", help="The smallest size of a group.")],
    out: Out,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="COL[,COL]",
            help="The numeric columns to group by and to replace; default: all that --keep does "
            "not name.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="mdav|mu-approx|univariate",
            help="How to form groups; univariate is optimal for a single column.",
        ),
    ] = "mdav",
    keep: Keep = None,
    roles: RolesFile = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw", help="Measure distances in the columns' own units, without standardising them."
        ),
    ] = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    html: Html = None,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Replace the records of a TABLE with averages over groups of at least K similar records.

    [dim]Example: hartley microaggregate people.parquet --k 5 --columns age,height,weight
    --keep diagnosis -o averages.parquet[/dim]
    """
    from hartley.reports import write_html
    from hartley.reports.render import print_report
    from hartley.studies.look.microaggregation import microaggregate
    from hartley.tables.writing import output_format

    output_format(out, spreadsheet_safe=spreadsheet_safe)
    check_files(
        {"release": out, "report": html}, {"table": table, "roles": [roles] if roles else []}
    )
    opened = open_tables(table, reading, roles=roles)
    release = microaggregate(
        opened,
        k,
        parse_columns(columns, opened.columns),
        method=method,
        standardise=not raw,
        keep=parse_columns(keep, opened.columns),
        roles=roles,
    )
    with write_all_or_none():
        released = release.write(out, spreadsheet_safe=spreadsheet_safe)
        written = {"html": str(write_html(release, html))} if html else {}
    if wants_json(json):
        print_json(
            release.to_dict() | {"check": release.checked.to_dict(), "out": str(released)} | written
        )
        return
    print_report(release.report(), console())
    say(f"Released: {released}")
    if written:
        say(f"Report: {written['html']}")
