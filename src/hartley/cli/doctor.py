"""The command ``hartley doctor``."""

from __future__ import annotations

from typing import Annotated

import typer

from hartley.cli.output import Format, console, print_json, wants_json


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
    from hartley.reports.render import print_report
    from hartley.studies.check.doctor import doctor

    diagnosis = doctor(engine)
    if wants_json(json):
        print_json(diagnosis.to_dict())
    else:
        print_report(diagnosis.report(), console())
    if not diagnosis.healthy:
        raise typer.Exit(1)
