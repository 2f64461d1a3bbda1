"""One way to draw every result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.reports.anonymity_page import plot_anonymity, plot_anonymized
from hartley.reports.attack_page import as_finding, plot_finding
from hartley.reports.curve_page import plot_curve
from hartley.reports.design_plots import plot_design
from hartley.reports.microaggregation_page import plot_microaggregation
from hartley.reports.plots import plot_audit
from hartley.reports.pram_page import plot_pram
from hartley.reports.tradeoff_plots import plot_tradeoff
from hartley.studies.anonymity_findings import AnonymityReport
from hartley.studies.audit import AuditReport
from hartley.studies.curve import CurveReport
from hartley.studies.design import Design
from hartley.studies.microdata import AnonymizedTable, Microaggregation
from hartley.studies.pram import PramReport
from hartley.studies.tradeoff import Tradeoff

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.reports.document import Result

PICTURES: dict[type, Callable[[Any], Any]] = {
    AuditReport: plot_audit,
    Tradeoff: plot_tradeoff,
    CurveReport: plot_curve,
    AnonymityReport: plot_anonymity,
    AnonymizedTable: plot_anonymized,
    Microaggregation: plot_microaggregation,
    PramReport: plot_pram,
}


def plot(result: Result) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw a result: an audit's curve or measures, a design's cells or band, a tradeoff's curve.

    Of anonymity the sizes of the classes, of released records the sizes and what every column
    loses, of an attack what it found. Returns a matplotlib figure, to show or to save.

    Example:
        >>> from hartley import audit
        >>> report = audit({"age": [1, 2, 3], "sex": ["F", "F", "M"]}, secret="age", released="sex")
        >>> plot(report).axes[0].get_xlabel()
        'bits'
    """
    if isinstance(result, Design):
        return _plot_design(result)
    for kind, draw in PICTURES.items():
        if isinstance(result, kind):
            return draw(result)
    return plot_finding(as_finding(result))


def _plot_design(result: Design) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    figure = plot_design(result)
    if figure is None:
        raise OptionError(
            "There is nothing to draw of a design of categories alone",
            hint="its sentences name the groups",
        )
    return figure
