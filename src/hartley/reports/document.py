"""A result as one self-contained HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.reports.attack_page import render_finding
from hartley.reports.design_page import render_design
from hartley.reports.files import write_whole
from hartley.reports.page import render_page
from hartley.reports.plots import figure_svg, plot_audit
from hartley.reports.tradeoff_page import render_tradeoff
from hartley.studies.audit import AuditReport
from hartley.studies.design import Design
from hartley.studies.tradeoff import Tradeoff

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from hartley.adversaries.finding import Finding


def write_html(
    report: AuditReport | Design | Tradeoff | Finding, path: str | os.PathLike[str]
) -> Path:
    """Write a report as one file that needs no other: for a browser, a phone or a printer.

    A report is an audit, a design, a tradeoff or what an attack found. The file appears whole or
    not at all.

    Example:
        >>> import tempfile
        >>> from hartley import audit
        >>> report = audit({"age": [1, 2, 3], "sex": ["F", "F", "M"]}, secret="age", released="sex")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_html(report, f"{folder}/audit.html").stat().st_size > 1000)
        True
    """
    return write_whole(path, render_html(report))


def render_html(report: AuditReport | Design | Tradeoff | Finding) -> str:
    """Return the page of a result."""
    if isinstance(report, Tradeoff):
        return render_tradeoff(report)
    if isinstance(report, Design):
        return render_design(report)
    if not isinstance(report, AuditReport):
        return render_finding(report)
    return render_page(
        "audit.html",
        report=report,
        curve=figure_svg(plot_audit(report)) if report.sweep else None,
        total=report["hartley_entropy"].value,
    )
