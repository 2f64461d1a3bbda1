"""The command ``hartley doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hartley.cli.output import Format, console, print_json, wants_json

if TYPE_CHECKING:
    from hartley.studies.check.doctor import Diagnosis


def doctor_command(
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="ADDRESS",
            help="The engine to probe: FILE.duckdb, postgresql://... or spark://...; default: "
            "the embedded one.",
        ),
    ] = None,
    json: Format = None,
) -> None:
    """Check what is installed and which engines compute correctly, and say how to fix the rest."""
    from hartley.studies.check.doctor import doctor

    diagnosis = doctor(engine)
    if wants_json(json):
        print_json(diagnosis.to_dict())
    else:
        _print(diagnosis)
    if not diagnosis.healthy:
        raise typer.Exit(1)


def _print(diagnosis: Diagnosis) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    marks = {"ok": "[green]ok[/green]", "absent": "[yellow]absent[/yellow]"}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("what", "state", "found", "to do"):
        table.add_column(name)
    for check in diagnosis.checks:
        mark = marks.get(check.state, "[red]broken[/red]")
        table.add_row(check.name, mark, escape(check.found), escape(check.hint))  # hartley[spark]
    console().print(table)
