"""The command ``hartley gaussian``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from hartley.cli.options import (
    Html,
    Keep,
    SpreadsheetSafe,
    open_tables,
    reads_tables,
    split_columns,
    split_settings,
)
from hartley.cli.output import Format, console, print_json, say, wants_json
from hartley.files import check_files, write_all_or_none
from hartley.tables.reading import AS_WRITTEN, ReadingOptions


@reads_tables
def gaussian_command(  # noqa: PLR0913, PLR0917 - one parameter an option
    key: Annotated[
        list[str],
        typer.Option(
            "--key", metavar="COL[,COL]", help="The numeric columns to release with noise."
        ),
    ],
    confidential: Annotated[
        list[str],
        typer.Option("--confidential", metavar="COL[,COL]", help="The numeric columns to protect."),
    ],
    table: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TABLE...]",
            help="Parquet or CSV files; several are read as one table. Not needed with "
            "--covariance.",
            show_default=False,
        ),
    ] = None,
    distortion: Annotated[
        float | None,
        typer.Option(
            "--distortion",
            metavar="D",
            help="The mean squared distance of key and release, all key columns together.",
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            "--share", metavar="S", help="The same as a share of the key's variance, from 0 to 1."
        ),
    ] = None,
    covariance: Annotated[
        Path | None,
        typer.Option(
            "--covariance",
            metavar="FILE",
            help="A CSV file of covariances to use instead of the table's: columns in the first "
            "line and the first column; a row called mean holds means.",
        ),
    ] = None,
    standardise: Annotated[
        bool,
        typer.Option(
            "--standardise", help="Give every key column the variance 1 first, whatever its unit."
        ),
    ] = False,
    entropy: Annotated[
        float | None,
        typer.Option(
            "--entropy",
            metavar="H",
            help="The differential entropy of the confidential columns in bits, if they have a "
            "density that is not Gaussian.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Also write the table with noise: a .parquet or .csv file.",
        ),
    ] = None,
    keep: Keep = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="Make the noise repeatable; anybody who knows N can remove it. Default: fresh "
            "random bytes.",
        ),
    ] = None,
    rounded: Annotated[
        list[str] | None,
        typer.Option(
            "--round",
            metavar="COL=STEP",
            help="Round a released key column to multiples of this step.",
        ),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            metavar="refuse|drop",
            help="refuse: refuse missing and infinite numbers; drop: leave out such rows.",
        ),
    ] = "refuse",
    spreadsheet_safe: SpreadsheetSafe = False,
    html: Html = None,
    reading: ReadingOptions = AS_WRITTEN,
    json: Format = None,
) -> None:
    """Add the Gaussian noise that reveals least at a given squared distortion, with its proof.

    [dim]Example: hartley gaussian people.parquet --key height,age --confidential weight
    --share 0.25 -o noisy.parquet[/dim]
    """
    from hartley.reports import write_html
    from hartley.reports.render import print_report
    from hartley.studies.release.gaussian import gaussian

    written = {"release": out, "report": html}
    check_files(
        written,
        {"table": table or [], "covariance": [] if covariance is None else [covariance]},
    )
    opened = open_tables(table, reading) if table else None
    columns = () if opened is None else opened.columns
    with write_all_or_none():
        report = gaussian(
            opened,
            confidential=split_columns(confidential, columns),
            key=split_columns(key, columns),
            distortion=distortion,
            share=share,
            covariance=covariance,
            standardise=standardise,
            entropy=entropy,
            missing=missing,
            out=out,
            keep=split_columns(keep or [], columns),
            seed=seed,
            steps=split_settings(rounded or [], "--round", "COL=STEP"),
            spreadsheet_safe=spreadsheet_safe,
        )
        if html is not None:
            write_html(report, html)
    files = {what: str(path) for what, path in written.items() if path is not None}
    if wants_json(json):
        print_json(report.to_dict() | {"files": files})
        return
    print_report(report.report(), console())
    for what, path in files.items():
        say(f"{what.capitalize()}: {path}")
