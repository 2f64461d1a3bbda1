"""A report as one self-contained HTML file."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from hartley.reports.files import write_whole
from hartley.reports.plots import figure_svg, plot
from hartley.studies.audit import rounded_up, shown

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from hartley.studies.audit import AuditReport


def write_html(report: AuditReport, path: str | os.PathLike[str]) -> Path:
    """Write a report as one file that needs no other: for a browser, a phone or a printer.

    The file appears whole or not at all.

    Example:
        >>> import tempfile
        >>> from hartley import audit
        >>> report = audit({"age": [1, 2, 3], "sex": ["F", "F", "M"]}, secret="age", released="sex")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_html(report, f"{folder}/audit.html").stat().st_size > 1000)
        True
    """
    return write_whole(path, render_html(report))


def render_html(report: AuditReport) -> str:
    """Return the page of a report."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"shown": shown, "bar": _bar, "up": rounded_up}
    template = environment.from_string(_asset("audit.html"))
    page: str = template.render(
        report=report,
        style=_asset("page.css"),
        curve=figure_svg(plot(report)) if report.sweep else None,
        version=version("hartley"),
        total=report["hartley_entropy"].value,
    )
    return page


def _asset(name: str) -> str:
    return files("hartley.reports").joinpath("templates", name).read_text("utf-8")


def _bar(value: float, total: float) -> float:
    """Return which percentage of the whole a value is."""
    return 0 if total <= 0 else round(min(max(value / total, 0.0), 1.0) * 100, 1)
