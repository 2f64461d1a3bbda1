"""A result as one self-contained HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.files import write_whole
from hartley.reports.anonymity_page import render_anonymity, render_anonymized
from hartley.reports.attack_page import as_finding, render_finding
from hartley.reports.curve_page import render_curve
from hartley.reports.design_page import render_design
from hartley.reports.microaggregation_page import render_microaggregation
from hartley.reports.page import render_page
from hartley.reports.plots import figure_svg, plot_audit
from hartley.reports.pram_page import render_pram
from hartley.reports.tradeoff_page import render_tradeoff
from hartley.studies.anonymity_findings import AnonymityReport
from hartley.studies.audit import AuditReport
from hartley.studies.curve import CurveReport
from hartley.studies.design import Design
from hartley.studies.microdata import AnonymizedTable, Microaggregation
from hartley.studies.pram import PramReport
from hartley.studies.tradeoff import Tradeoff

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

    from hartley.adversaries.finding import Finding

    Result = (
        AuditReport
        | Design
        | Tradeoff
        | CurveReport
        | AnonymityReport
        | AnonymizedTable
        | Microaggregation
        | PramReport
        | Finding
    )
    """Whatever has a page."""


def _render_audit(report: AuditReport) -> str:
    return render_page(
        "audit.html",
        report=report,
        curve=figure_svg(plot_audit(report)) if report.sweep else None,
        total=report["hartley_entropy"].value,
    )


PAGES: dict[type, Callable[[Any], str]] = {
    AuditReport: _render_audit,
    Design: render_design,
    Tradeoff: render_tradeoff,
    CurveReport: render_curve,
    AnonymityReport: render_anonymity,
    AnonymizedTable: render_anonymized,
    Microaggregation: render_microaggregation,
    PramReport: render_pram,
}


def write_html(report: Result, path: str | os.PathLike[str]) -> Path:
    """Write a report as one file that needs no other: for a browser, a phone or a printer.

    A report is what an audit, a design, a tradeoff, a curve, an anonymity report, a release of
    records or an attack returns. The file appears whole or not at all.

    Example:
        >>> import tempfile
        >>> from hartley import audit
        >>> report = audit({"age": [1, 2, 3], "sex": ["F", "F", "M"]}, secret="age", released="sex")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_html(report, f"{folder}/audit.html").stat().st_size > 1000)
        True
    """
    return write_whole(path, render_html(report))


def render_html(report: Result) -> str:
    """Return the page of a result."""
    for kind, render in PAGES.items():
        if isinstance(report, kind):
            return render(report)
    return render_finding(as_finding(report))
