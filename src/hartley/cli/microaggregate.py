"""The command ``hartley microaggregate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hartley.cli.audit import split_columns
from hartley.cli.output import Format, print_json, wants_json
from hartley.errors import OptionError


def microaggregate_command(  # noqa: PLR0913, PLR0917 - one parameter an option
    table: Annotated[
        list[str],
        typer.Argument(metavar="TABLE...", help="Parquet or CSV files; several make one table."),
    ],
    k: Annotated[int, typer.Option("--k", metavar="K", help="The least size of a group.")],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="OUT", help="The .parquet or .csv file to write."),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="COL[,COL]",
            help="The numeric columns to group by and to replace; all that are not kept if left "
            "out.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="mdav|mu-approx|univariate",
            help="How to form groups; univariate is the optimum of one column.",
        ),
    ] = "mdav",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="COL[,COL]",
            help="Columns to release as they are; all others are left out.",
        ),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="Measure distances in the units of the columns as they are."),
    ] = False,
    null: Annotated[
        list[str] | None,
        typer.Option(
            "--null", metavar="TEXT", help="Text that marks a missing value in CSV files."
        ),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(
            "--names", metavar="COL,COL,...", help="Names for CSV files without a header line."
        ),
    ] = None,
    json: Format = None,
) -> None:
    """Replace the records of a TABLE by averages of groups of at least K similar ones.

    [dim]Example: hartley microaggregate people.parquet --k 5 --columns age,height,weight
    --keep diagnosis -o averages.parquet[/dim]
    """
    from hartley.engines.sources import open_table
    from hartley.policies.microaggregation import METHODS, check_ending

    if method not in METHODS:
        raise OptionError(
            f"The method '{method}' is unknown", hint=f"choose one of {', '.join(METHODS)}"
        )
    if raw and method == "univariate":
        raise OptionError(
            "The option --raw makes no difference to the univariate optimum", hint="leave it out"
        )
    check_ending(out)
    _refuse_overwriting(out, table)
    opened = open_table(
        table[0] if len(table) == 1 else table,
        null=null or (),
        names=split_columns([names], ()) if names else None,
    )
    asked = split_columns(columns, opened.columns) if columns else None
    options = {} if method == "univariate" else {"standardise": not raw}
    found = METHODS[method](
        opened, k, asked, keep=split_columns(keep or [], opened.columns), **options
    )
    written = found.write(out)
    if wants_json(json):
        print_json(found.to_dict() | {"out": str(written)})
        return
    for sentence in (found.headline, *found.sentences, f"Released: {written}"):
        typer.echo(sentence)


def _refuse_overwriting(out: Path, tables: list[str]) -> None:
    """Refuse, before any work, to replace the table by its averages."""
    if out.exists() and any(Path(name).exists() and out.samefile(name) for name in tables):
        raise OptionError(
            f"The release {out} would overwrite the table", hint="write it to another file"
        )
