"""The command ``hartley scan``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from hartley.cli.options import Html, RisksFile, Tables, reads_tables
from hartley.cli.output import Format, console, print_json, progress_bar, say, wants_json
from hartley.files import check_files, write_all_or_none
from hartley.tables.reading import AS_WRITTEN, ReadingOptions


@reads_tables
def scan_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    draft: Annotated[
        Path | None,
        typer.Option(
            "--draft",
            metavar="FILE",
            help="Write a draft of the roles of all columns to this new file, for you to confirm.",
        ),
    ] = None,
    k: Annotated[
        int,
        typer.Option(
            "--k",
            "-k",
            metavar="K",
            help="Count the people in groups of fewer than this many with the same values.",
        ),
    ] = 5,
    risks: RisksFile = None,
    html: Html = None,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Look at a raw TABLE: what its columns seem to be, and whom it gives away as it is.

    No option is needed. What it says about columns is a guess; the numbers of people are exact. It
    describes real people: keep its output as confidential as the table.

    [dim]Example: hartley scan people.csv --draft roles.toml[/dim]
    """
    from hartley.reports import write_html
    from hartley.reports.render import print_report
    from hartley.studies.look.scan import refuse_existing, scan
    from hartley.tables.writing import output_format

    check_files({"report": html, "draft": draft, "risks": risks}, {"table": table})
    if draft is not None:
        refuse_existing(draft)
    if risks is not None:
        output_format(risks)
    with progress_bar({"read": "Reading", "combine": "Combining columns"}) as progress:
        report = scan(
            table[0] if len(table) == 1 else table,
            k=k,
            reading=reading,
            progress=progress,
        )
    if draft is not None:
        report = replace(report, draft=str(draft))
    with write_all_or_none():
        written = {}
        if draft is not None:
            written["draft"] = str(report.write_draft(draft))
        if risks is not None:
            written["risks"] = str(report.risks.write(risks))
        if html is not None:
            written["html"] = str(write_html(report, html))
    if wants_json(json):
        print_json(report.to_dict() | written)
        return
    print_report(report.report(), console())
    for what, path in written.items():
        say(f"{'Report' if what == 'html' else what.capitalize()}: {path}")
