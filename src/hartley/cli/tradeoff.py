"""The command ``hartley tradeoff``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from hartley.cli.options import Csv, Html, Spec  # noqa: TC001 - typer reads the annotations
from hartley.cli.output import (
    Format,
    console,
    print_json,
    progress_bar,
    say,
    wants_json,
)
from hartley.errors import OptionError
from hartley.files import check_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.studies.release.tradeoff import Tradeoff

PICTURES = (".png", ".svg", ".pdf")


def tradeoff_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    spec: Spec,
    errors: Annotated[
        str | None,
        typer.Option(
            "--errors",
            metavar="LOW:HIGH[:N]",
            help="The errors to evaluate; default: a range that suits the design.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Also draw the curve: a .png, .svg or .pdf file."
        ),
    ] = None,
    csv: Csv = None,
    html: Html = None,
    json: Format = None,
) -> None:
    """Show how privacy and utility of a design trade off, as a curve.

    [dim]Example: hartley tradeoff height.design.toml --errors 0.1:10 --plot curve.png[/dim]
    """
    from hartley.reports.render import print_report
    from hartley.studies.release.tradeoff import tradeoff

    written = {"picture": plot, "table": csv, "page": html}
    check_files(written, {"design": [spec]})
    if plot is not None and plot.suffix.lower() not in PICTURES:
        raise OptionError(
            f"The file name {plot} does not end in a known picture format",
            hint=f"call it for example curve{PICTURES[0]}; the formats are {', '.join(PICTURES)}",
        )
    with progress_bar({"points": "Measuring points"}) as progress:
        curve = tradeoff(spec, errors=errors, progress=progress)
    _write(curve, written)
    files = {what: str(path) for what, path in written.items() if path is not None}
    if wants_json(json):
        print_json(curve.to_dict() | {"files": files})
        return
    print_report(curve.report(), console())
    for what, path in files.items():
        say(f"{what.capitalize()}: {path}")


def _write(curve: Tradeoff, written: Mapping[str, Path | None]) -> None:
    """Write the requested files: all of them or none."""
    from hartley.files import write_all_or_none, write_whole
    from hartley.reports import write_html
    from hartley.reports.render import picture

    with write_all_or_none():
        if written["picture"] is not None:
            kind = written["picture"].suffix.lower().removeprefix(".")
            write_whole(written["picture"], picture(curve, kind))
        if written["table"] is not None:
            write_whole(written["table"], curve.csv())
        if written["page"] is not None:
            write_html(curve, written["page"])
