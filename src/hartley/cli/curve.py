"""The command ``hartley curve``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated, Any

import typer

from hartley.cli.audit import split_columns, split_settings
from hartley.cli.output import Format, check_files, console, print_json, progress_bar, wants_json


def curve_command(  # noqa: PLR0913, PLR0917 - one parameter an option
    table: Annotated[
        list[str],
        typer.Argument(metavar="TABLE...", help="Parquet or CSV files; several make one table."),
    ],
    key: Annotated[
        list[str],
        typer.Option(
            "--key", metavar="COL[,COL]", help="The key columns, which are released perturbed."
        ),
    ],
    confidential: Annotated[
        list[str],
        typer.Option(
            "--confidential", metavar="COL[,COL]", help="The confidential columns to protect."
        ),
    ],
    distortion: Annotated[
        str,
        typer.Option(
            "--distortion",
            metavar="squared|absolute|zero_one",
            help="How far a release is from the truth.",
        ),
    ] = "squared",
    bins: Annotated[
        list[str] | None,
        typer.Option("--bins", metavar="COL=STEP", help="Take a numeric column in such bins."),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            metavar="drop|value",
            help="Drop rows with a missing value, or make it one.",
        ),
    ] = "drop",
    points: Annotated[
        int, typer.Option("--points", metavar="N", help="How many points of the curve to compute.")
    ] = 24,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a report that a browser shows."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Also write the points as CSV."),
    ] = None,
    null: Annotated[
        list[str] | None,
        typer.Option(
            "--null", metavar="TEXT", help="Text that marks a missing value in CSV files."
        ),
    ] = None,
    json: Format = None,
) -> None:
    """Draw how little a perturbed key can tell, for every distortion, with certified bounds.

    [dim]Example: hartley curve people.parquet --key age --confidential diagnosis
    --bins age=10 --html curve.html[/dim]
    """
    from hartley.engines.sources import open_table
    from hartley.reports.curve_page import print_curve, write_curve_html
    from hartley.reports.files import write_whole
    from hartley.studies.curve import privacy_curve

    opened = open_table(table[0] if len(table) == 1 else table, null=null or ())
    check_files({"report": html, "table of points": csv}, {"table": table})
    with progress_bar({"curve": "Tracing the curve"}) as progress:
        report = privacy_curve(
            opened,
            confidential=split_columns(confidential, opened.columns),
            key=split_columns(key, opened.columns),
            distortion=distortion,
            bins=split_settings(bins or [], "--bins", "COL=STEP"),
            missing=missing,
            points=points,
            progress=progress,
        )
    written: dict[str, str] = {}
    if html is not None:
        written["html"] = str(write_curve_html(report, html))
    if csv is not None:
        written["csv"] = str(write_whole(csv, report.csv()))
    if wants_json(json):
        content: dict[str, Any] = report.to_dict()
        print_json(content | written)
        return
    print_curve(report, console())
    for name, place in written.items():
        typer.echo(f"{'Report' if name == 'html' else 'Points'}: {place}")
