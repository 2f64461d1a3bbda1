"""Output that all attack commands share: the HTML page, and JSON or text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.cli.output import console, print_json, say, wants_json
from hartley.files import check_files

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from hartley.adversaries.finding import Finding


def check_page(html: Path | None, read: Iterable[str | Path] = ()) -> None:
    """Raise an error early if the page would overwrite an input or its folder is missing."""
    check_files({"report": html}, {"table": read})


def tell_finding(finding: Finding, *, html: Path | None, json: bool | None) -> None:
    """Write the page if asked for, and print the finding of an attack."""
    from hartley.reports import write_html
    from hartley.reports.pages.attack import print_finding

    written = write_html(finding, html) if html is not None else None
    if wants_json(json):
        print_json(finding.to_dict() | ({"html": str(written)} if written else {}))
        return
    print_finding(finding, console())
    if written:
        say(f"Report: {written}")
