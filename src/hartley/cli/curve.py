"""The command ``hartley curve``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from hartley.cli.options import (
    Bins,
    Csv,
    Html,
    Missing,
    Tables,
    open_tables,
    reads_tables,
    split_columns,
    split_settings,
)
from hartley.cli.output import (
    Format,
    console,
    print_json,
    progress_bar,
    say,
    wants_json,
)
from hartley.files import check_files
from hartley.tables.reading import AS_WRITTEN, ReadingOptions

if TYPE_CHECKING:
    from hartley.policies.distortion.curve import Objective
    from hartley.policies.distortion.problem import Sees


@reads_tables
def curve_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    table: Tables,
    key: Annotated[
        list[str],
        typer.Option(
            "--key", metavar="COL[,COL]", help="The key columns, to be released perturbed."
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
            help="How the distance between a released value and the truth is measured.",
        ),
    ] = "squared",
    objective: Annotated[
        str,
        typer.Option(
            "--objective",
            metavar="mutual_information|t_closeness|delta_disclosure|maximal_leakage",
            help="The measure of risk: mutual_information averages, the others are worst cases.",
        ),
    ] = "mutual_information",
    sees: Annotated[
        str,
        typer.Option(
            "--sees",
            metavar="key|both",
            help="What a rule draws from: the key alone, or the key and the confidential columns.",
        ),
    ] = "key",
    reconstruct: Annotated[
        bool,
        typer.Option(
            "--reconstruct",
            help="Also show the squared distortion of releasing the mean of the values behind "
            "each released value.",
        ),
    ] = False,
    bins: Bins = None,
    missing: Missing = "released",
    points: Annotated[
        int, typer.Option("--points", metavar="N", help="The number of points to compute.")
    ] = 24,
    html: Html = None,
    csv: Csv = None,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Compute the least that a perturbed key can reveal at every distortion, with certified bounds.

    [dim]Example: hartley curve people.parquet --key age --confidential diagnosis
    --bins age=10 --html curve.html[/dim]
    """
    from hartley.files import write_all_or_none, write_whole
    from hartley.reports import write_html
    from hartley.reports.render import print_report
    from hartley.studies.release.curve import curve

    opened = open_tables(table, reading)
    check_files({"report": html, "table of points": csv}, {"table": table})
    with progress_bar({"curve": "Tracing the curve"}) as progress:
        report = curve(
            opened,
            confidential=split_columns(confidential, opened.columns),
            key=split_columns(key, opened.columns),
            distortion=distortion,
            objective=cast("Objective", objective),
            bins=split_settings(bins or [], "--bins", "COL=STEP"),
            missing=missing,
            sees=cast("Sees", sees),
            reconstruct=reconstruct,
            points=points,
            progress=progress,
        )
    written: dict[str, str] = {}
    with write_all_or_none():
        if html is not None:
            written["html"] = str(write_html(report, html))
        if csv is not None:
            written["csv"] = str(write_whole(csv, report.csv()))
    if wants_json(json):
        content: dict[str, Any] = report.to_dict()
        print_json(content | written)
        return
    print_report(report.report(), console())
    for name, place in written.items():
        say(f"{'Report' if name == 'html' else 'Points'}: {place}")
