"""The commands ``hartley anonymity`` and ``hartley anonymize``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hartley.cli.audit import split_columns, split_settings
from hartley.cli.output import Format, check_files, print_json, progress_bar, wants_json
from hartley.errors import OptionError

if TYPE_CHECKING:
    from hartley.engines.table import Table as OpenTable

Tables = Annotated[
    list[str],
    typer.Argument(metavar="TABLE...", help="Parquet or CSV files; several make one table."),
]
Keys = Annotated[
    list[str],
    typer.Option(
        "--keys", metavar="COL[,COL]", help="The columns by which somebody could be recognised."
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COL=FILE",
        help="CSV file with a confidential value and its groups, narrow to wide, in each line.",
    ),
]
Null = Annotated[
    list[str] | None,
    typer.Option("--null", metavar="TEXT", help="Text that marks a missing value in CSV files."),
]
Names = Annotated[
    str | None,
    typer.Option(
        "--names", metavar="COL,COL,...", help="Names for CSV files without a header line."
    ),
]


def anonymity_command(  # noqa: PLR0913, PLR0917 - one parameter an option
    table: Tables,
    keys: Keys,
    confidential: Annotated[
        list[str] | None,
        typer.Option(
            "--confidential", metavar="COL[,COL]", help="The columns that should stay unknown."
        ),
    ] = None,
    ordered: Annotated[
        list[str] | None,
        typer.Option(
            "--ordered",
            metavar="COL[,COL]",
            help="Confidential columns whose values have an order; numbers and times if left out.",
        ),
    ] = None,
    hierarchy: Groups = None,
    null: Null = None,
    names: Names = None,
    json: Format = None,
) -> None:
    """Measure how anonymous the records of a TABLE are and which attacks succeed nevertheless.

    [dim]Example: hartley anonymity people.parquet --keys age,sex --confidential diagnosis[/dim]
    """
    from hartley.studies.anonymity import anonymity_report

    opened = open_tables(table, null, names)
    with progress_bar({"count": "Counting classes"}) as progress:
        report = anonymity_report(
            opened,
            keys=split_columns(keys, opened.columns),
            confidential=split_columns(confidential or [], opened.columns),
            ordered=split_columns(ordered, opened.columns) if ordered else None,
            hierarchy=read_hierarchies(hierarchy or [], opened) or None,
            progress=progress,
        )
    if wants_json(json):
        print_json(report.to_dict())
        return
    typer.echo(report.headline)
    for sentence in report.sentences:
        typer.echo(f"- {sentence}")


def anonymize_command(  # noqa: PLR0913, PLR0917 - one parameter an option
    table: Tables,
    keys: Keys,
    k: Annotated[
        int, typer.Option("-k", metavar="K", help="How many records have to share their keys.")
    ],
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="FILE", help="The .parquet or .csv file to write."),
    ],
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bins", metavar="COL=W,W,...", help="Widths of nested bins of a numeric key."
        ),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy",
            metavar="COL=FILE",
            help="CSV file with a key value and its groups, narrow to wide, in each line.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="full-domain|mondrian",
            help="One level a key for everybody, or boxes of people who are near each other.",
        ),
    ] = "full-domain",
    suppress: Annotated[
        str,
        typer.Option("--suppress", metavar="SHARE", help="Share of records that may be left out."),
    ] = "0",
    null: Null = None,
    names: Names = None,
    json: Format = None,
) -> None:
    """Coarsen the keys of a TABLE until everybody shares them with K - 1 others.

    [dim]Example: hartley anonymize people.parquet --keys age,sex --bins age=5,10,20 -k 5
    --suppress 0.02 -o released.parquet[/dim]
    """
    from hartley.policies.generalisation import k_anonymize

    check_files({"release": out}, {"table": table})
    opened = open_tables(table, null, names)
    widths = split_settings(bins or [], "--bins", "COL=5,10,20")
    hierarchies: dict[str, Any] = {name: text.split(",") for name, text in widths.items()}
    found = k_anonymize(
        opened,
        split_columns(keys, opened.columns),
        k,
        hierarchies=hierarchies | read_hierarchies(hierarchy or [], opened),
        method=method,
        suppress=suppress,
    )
    found.write(out)
    if wants_json(json):
        print_json(found.to_dict() | {"file": str(out)})
        return
    typer.echo(found.headline)
    for sentence in found.sentences:
        typer.echo(f"- {sentence}")
    typer.echo(f"Written: {out}")


def open_tables(table: list[str], null: list[str] | None, names: str | None) -> OpenTable:
    """Open files as one table."""
    from hartley.engines.sources import open_table

    return open_table(
        table[0] if len(table) == 1 else table,
        null=null or (),
        names=split_columns([names], ()) if names else None,
    )


def read_hierarchies(texts: list[str], table: OpenTable) -> dict[str, dict[object, list[str]]]:
    """Read the hierarchies of columns: of numbers the values are read as numbers."""
    settings = split_settings(texts, "--hierarchy", "COL=FILE")
    table.require(settings)
    return {
        column: _read_hierarchy(column, Path(name), numeric=table.kind(column).numeric)
        for column, name in settings.items()
    }


def _read_hierarchy(column: str, path: Path, *, numeric: bool) -> dict[object, list[str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = [line for line in csv.reader(file) if line]
        return {
            (float(value) if numeric and value else value or None): groups
            for value, *groups in lines
        }
    except (OSError, ValueError, csv.Error):
        raise OptionError(
            f"The hierarchy {path} of column '{column}' cannot be read",
            hint="write a value and its groups, separated by commas, in each line",
        ) from None
