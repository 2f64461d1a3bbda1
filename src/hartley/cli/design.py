"""The command ``hartley design``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from hartley.cli.options import Html, Spec  # noqa: TC001 - typer reads the annotations
from hartley.cli.output import (
    Format,
    console,
    print_certificate,
    print_json,
    progress_bar,
    say,
    wants_json,
)
from hartley.errors import OptionError
from hartley.files import check_files, write_all_or_none


def design_command(
    spec: Spec,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the policy to this file; default: only show it.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", help="Also write the certificate of that policy."
        ),
    ] = None,
    html: Html = None,
    json: Format = None,
) -> None:
    """Design the best release for an objective, and certify it.

    [dim]Example: hartley design height.design.toml -o policy.toml --html design.html[/dim]
    """
    from hartley.reports import write_html
    from hartley.reports.render import print_report
    from hartley.studies.release.design import design

    if certificate is not None and out is None:
        raise OptionError(
            "No certificate can be written, because no policy file is written",
            hint="add -o policy.toml",
        )
    written = {"policy": out, "certificate": certificate, "html": html}
    check_files(written, {"design": [spec]})
    titles = {"search": "Looking for the best cells", "measure": "Measuring the cells"}
    with progress_bar(titles) as progress:
        designed = design(spec, progress=progress)
    with write_all_or_none():
        if out is not None:
            designed.document.save(out)
        if certificate is not None and out is not None:
            designed.certificate.bind(out).save(certificate)
        if html is not None:
            write_html(designed, html)
    files = {what: str(path) for what, path in written.items() if path is not None}
    if wants_json(json):
        print_json(designed.to_dict() | {"files": files})
        return
    print_report(designed.report(), console())
    print_certificate(designed.certificate, console())
    for what, path in files.items():
        say(f"{'Page' if what == 'html' else what.capitalize()}: {path}")
