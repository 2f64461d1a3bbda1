"""plot() draws any result, and write_html() writes it as a self-contained HTML file."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.files import write_whole
from hartley.report import Report
from hartley.reports.evidence import page_evidence
from hartley.reports.render import page as report_page, plot as plot_report, report_of
from hartley.reports.template import evidence_on_page

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from hartley.report import Readable
    from hartley.studies.check.check_report import CheckReport

    Result = Readable | CheckReport
    """All results that have a page."""

PAGES: dict[str, tuple[str, str]] = {}
"""For each class of result: its module of ``hartley.reports.pages``, and X in plot_X and render_X.

Classes are listed by name, so that showing one result does not import the code of the others.
"""


def plot(result: Any) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw a result: an audit's curve or measures, a design's cells or band, a tradeoff's curve.

    An anonymity report shows the sizes of the classes, released records also the loss of every
    column, and an attack its finding. Returns a matplotlib figure, to show or to save.

    Example:
        >>> from hartley import audit
        >>> report = audit({"age": [1, 2, 3], "sex": ["F", "F", "M"]}, secret="age", released="sex")
        >>> plot(report).axes[0].get_xlabel()
        'bits'
    """
    if hasattr(result, "report") or isinstance(result, Report):
        return plot_report(result)
    figure = _call("plot", result)
    if figure is None:
        raise OptionError(
            "A design of categories alone has nothing to draw",
            hint="read its sentences, which name the groups",
        )
    return figure


def write_html(report: Result, path: str | os.PathLike[str]) -> Path:
    """Write a report as one self-contained HTML file for a browser, a phone or a printer.

    A report is the result of an audit, a design, a tradeoff, a curve, an anonymity report, a
    release of records or an attack. The file is written completely or not at all. At its end stands
    when, by which version and, for a command, from which files it was made.

    Example:
        >>> import tempfile
        >>> from hartley import audit
        >>> report = audit({"age": [1, 2, 3], "sex": ["F", "F", "M"]}, secret="age", released="sex")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_html(report, f"{folder}/audit.html").stat().st_size > 1000)
        True
    """
    return write_whole(path, html_text(report, path))


def html_text(report: Any, path: str | os.PathLike[str]) -> str:  # noqa: ANN401 - any result
    """Return what ``write_html`` writes to a path."""
    if hasattr(report, "report") or isinstance(report, Report):
        return report_page(report_of(report), page_evidence(path))
    with evidence_on_page(page_evidence(path)):
        return render_html(report)


def render_html(report: Any) -> str:  # noqa: ANN401 - any result
    """Return the page of a result."""
    if hasattr(report, "report") or isinstance(report, Report):
        return report_page(report_of(report))
    page: str = _call("render", report)
    return page


def _call(verb: str, result: Any) -> Any:  # noqa: ANN401 - any result
    """Call plot_X or render_X for a result that has not yet a report."""
    for kind in type(result).__mro__:
        if kind.__name__ in PAGES and kind.__module__.startswith("hartley."):
            module, name = PAGES[kind.__name__]
            page = import_module(f"hartley.reports.pages.{module}")
            return getattr(page, f"{verb}_{name}")(result)
    return report_of(result)
