"""One way to draw every result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.reports.attack_page import plot_finding
from hartley.reports.design_plots import plot_design
from hartley.reports.plots import plot_audit
from hartley.reports.tradeoff_plots import plot_tradeoff
from hartley.studies.audit import AuditReport
from hartley.studies.design import Design
from hartley.studies.tradeoff import Tradeoff

if TYPE_CHECKING:
    from hartley.adversaries.finding import Finding


def plot(result: AuditReport | Design | Tradeoff | Finding) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw a result: an audit's curve or measures, a design's cells or band, a tradeoff's curve.

    Of an attack, whichever, it draws what was found.

    Returns a matplotlib figure, to show or to save.

    Example:
        >>> from hartley import audit
        >>> report = audit({"age": [1, 2, 3], "sex": ["F", "F", "M"]}, secret="age", released="sex")
        >>> plot(report).axes[0].get_xlabel()
        'bits'
    """
    if isinstance(result, AuditReport):
        return plot_audit(result)
    if isinstance(result, Tradeoff):
        return plot_tradeoff(result)
    if not isinstance(result, Design):
        return plot_finding(result)
    figure = plot_design(result)
    if figure is None:
        raise OptionError(
            "There is nothing to draw of a design of categories alone",
            hint="its sentences name the groups",
        )
    return figure
