"""The command ``hartley audit``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hartley.cli.output import Format, check_files, console, print_json, progress_bar, wants_json
from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence


def audit_command(  # noqa: PLR0913, PLR0917 - one parameter an option
    table: Annotated[
        list[str],
        typer.Argument(metavar="TABLE...", help="Parquet or CSV files; several make one table."),
    ],
    secret: Annotated[
        list[str],
        typer.Option(
            "--secret",
            metavar="COL[,COL]",
            help="The secret columns, or ROW for the record itself.",
        ),
    ],
    released: Annotated[
        list[str],
        typer.Option("--released", metavar="COL[,COL]", help="The columns that are released."),
    ],
    bins: Annotated[
        list[str] | None,
        typer.Option(
            "--bins", metavar="COL=STEP", help="Release a numeric column in bins of this width."
        ),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            metavar="drop|value",
            help="Drop rows with a missing value, or make it one.",
        ),
    ] = "drop",
    hypothesis: Annotated[
        str | None,
        typer.Option(
            "--hypothesis",
            metavar="CONDITION",
            help='Also ask what can be decided about the secret, for example "age >= 50".',
        ),
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(
            "--sweep",
            metavar="COL=LOW:HIGH[:BY]",
            help="The privacy-utility curve for these steps of a released column.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write a report that a browser shows."),
    ] = None,
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
    memory_limit: Annotated[
        str | None,
        typer.Option(
            "--memory-limit", metavar="SIZE", help="Spill to disk above this, for example 1GB."
        ),
    ] = None,
    json: Format = None,
) -> None:
    """Measure, exactly, what released columns of a TABLE tell about secret ones.

    [dim]Example: hartley audit people.parquet --secret diagnosis --released age,sex
    --bins age=10 --sweep age=1:50 --html audit.html[/dim]
    """
    from hartley.engines.sources import open_table
    from hartley.ranges.relation import ROW
    from hartley.reports import write_html
    from hartley.reports.terminal import print_audit
    from hartley.studies.audit import audit

    opened = open_table(
        table[0] if len(table) == 1 else table,
        null=null or (),
        names=split_columns([names], ()) if names else None,
    )
    if html is not None:
        check_files({"report": html}, {"table": table})
    hidden = split_columns(secret, opened.columns)
    record = hidden == ["ROW"] and "ROW" not in opened.columns
    with progress_bar({"count": "Counting pairs", "sweep": "Sweeping steps"}) as progress:
        report = audit(
            opened,
            secret=ROW if record else hidden,
            released=split_columns(released, opened.columns),
            bins=split_settings(bins or [], "--bins", "COL=STEP"),
            missing=missing,
            hypothesis=hypothesis,
            sweep=split_settings([sweep], "--sweep", "COL=1:50") if sweep else None,
            memory_limit=memory_limit,
            progress=progress,
        )
    written = write_html(report, html) if html else None
    if wants_json(json):
        content: dict[str, Any] = report.to_dict()
        print_json(content | ({"html": str(written)} if written else {}))
        return
    print_audit(report, console())
    if written:
        typer.echo(f"Report: {written}")


def split_columns(texts: list[str], columns: Sequence[str]) -> list[str]:
    """Split lists of columns at their commas, except names of columns that hold some.

    Example:
        >>> split_columns(["age,sex", "income, gross"], ["age", "sex", "income, gross"])
        ['age', 'sex', 'income, gross']
    """
    return [
        name
        for text in texts
        for name in ([text] if text in columns else map(str.strip, text.split(",")))
        if name
    ]


def split_settings(texts: list[str], option: str, form: str) -> dict[str, str]:
    """Split settings at their last equals sign.

    Example:
        >>> split_settings(["age=10"], "--bins", "COL=STEP")
        {'age': '10'}
    """
    found: dict[str, str] = {}
    for text in texts:
        column, equals, value = text.rpartition("=")
        if not (column.strip() and equals and value.strip()):
            raise OptionError(
                f"The option {option} {text} is not of the form {form}",
                hint=f"write {option} {form}",
            )
        if column.strip() in found:
            raise OptionError(
                f"The option {option} names column '{column.strip()}' twice", hint="name it once"
            )
        found[column.strip()] = value.strip()
    return found
