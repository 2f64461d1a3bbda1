"""Pictures for pages: in the colours of the page, once for wide and once for narrow screens."""

from __future__ import annotations

import math
import re
import textwrap
from typing import Any

from hartley.reports.draw import above_axes, figure_svg

NARROW = 3.9
"""The width in inches of a picture for a phone: its text is as large there as the page's."""
TALLEST = 4.2
LINE = 26
"""Characters of a label that a narrow picture has room for; longer ones get several lines."""
LEGEND_LABEL = 40
"""Characters of a label in its legend, which is written smaller."""
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_STYLE = re.compile(r'style="[^"]*"')


def page_picture(figure: Any) -> str:  # noqa: ANN401 - a matplotlib figure, untyped
    """Return a figure for a page: two SVG elements, of which the style sheet shows one.

    Every colour becomes a variable of the page with the colour itself as its default, so that the
    style sheet can replace it where the reader prefers dark pages.

    Example:
        >>> from hartley.report import Chart, Panel, Series
        >>> from hartley.reports.draw import plot_chart
        >>> line = Series("age", (1.0, 2.0), (0.5, 0.25))
        >>> picture = page_picture(plot_chart(Chart("Leakage", (Panel("step", "bits", (line,)),))))
        >>> picture.count("<svg"), "var(--c-2563a8, #2563a8)" in picture
        (2, True)
    """
    wide = themed(figure_svg(figure))
    narrow = themed(figure_svg(stacked(figure), "hartley narrow"))
    return f'<div class="wide">{wide}</div>\n<div class="narrow">{narrow}</div>'


def themed(svg: str) -> str:
    """Return an SVG element whose colours are variables of the page.

    Example:
        >>> themed('<path style="fill: #2563a8"/>')
        '<path style="fill: var(--c-2563a8, #2563a8)"/>'
    """

    def variable(match: re.Match[str]) -> str:
        return f"var(--c-{match[0][1:]}, {match[0]})"

    return _STYLE.sub(lambda style: _COLOUR.sub(variable, style[0]), svg)


def stacked(figure: Any) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Return the figure laid out for a narrow screen: its panels one below the other."""
    panels = [axes for axes in figure.axes if axes.get_subplotspec() is not None]
    height = figure.get_size_inches()[1]
    rows = len({axes.get_subplotspec().rowspan.start for axes in panels})
    each = min(max(height / max(rows, 1), 2.6), TALLEST)
    legends = 0
    grid = figure.add_gridspec(len(panels), 1)
    for place, axes in enumerate(panels):
        axes.set_subplotspec(grid[place, 0])
        for text in (axes.xaxis.label, axes.yaxis.label, axes.title, axes._left_title):  # noqa: SLF001 - it has no other name
            text.set_text(textwrap.fill(text.get_text(), 2 * LINE))
        legend = axes.get_legend()
        if legend is not None:
            legends += _one_column(axes, legend)
        _thin_ticks(axes)
    for text in (figure._suptitle, figure._supxlabel):  # noqa: SLF001 - likewise
        if text is not None:
            text.set_text(textwrap.fill(text.get_text(), 2 * LINE))
    figure.set_size_inches(NARROW, each * len(panels) + 0.18 * legends)
    return figure


def _one_column(axes: Any, legend: Any) -> int:  # noqa: ANN401 - untyped
    """Draw a legend again with one label in each line; return how many lines are new."""
    handles, labels = axes.get_legend_handles_labels()
    columns = getattr(legend, "_ncols", 1)
    folded = [textwrap.fill(label, LEGEND_LABEL) for label in labels]
    above_axes(axes, handles, folded, columns=1)
    return sum(label.count("\n") + 1 for label in folded) - math.ceil(len(labels) / columns)


def _thin_ticks(axes: Any) -> None:  # noqa: ANN401 - untyped
    """Turn long names along the horizontal axis, which a narrow picture has no room for."""
    names = [tick.get_text() for tick in axes.get_xticklabels()]
    if sum(map(len, names)) > 2 * LINE:
        axes.tick_params(axis="x", labelrotation=60)
