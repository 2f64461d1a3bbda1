"""Charts drawn with matplotlib."""

from __future__ import annotations

from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

from hartley.reports.plots import INK, PALE, STYLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hartley.chart import Chart, Panel, Series

TONES = ("#2563a8", "#b4232a", "#d97706", "#0f766e", "#7c3aed", "#64748b", "#be185d", "#4d7c0f")
DASHES = {"solid": "-", "dashed": "--", "dotted": ":"}
PANEL = (5.4, 3.9)
ALONE = (7.2, 4.4)


def plot_chart(chart: Chart) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw a chart: every panel with its series, and a mark where the data are synthetic.

    Example:
        >>> from hartley.chart import Chart, Panel, Series
        >>> line = Series("age", (1.0, 2.0), (0.5, 0.25))
        >>> plot_chart(Chart("Leakage", (Panel("step", "bits", (line,)),))).axes[0].get_xlabel()
        'step'
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    number = len(chart.panels)
    columns = min(number, chart.across)
    rows = -(-number // columns)
    size = ALONE if number == 1 else (PANEL[0] * columns, PANEL[1] * rows)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        places = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, panel in zip(places, chart.panels, strict=False):
            _draw(axes, panel)
        for axes in places[number:]:
            axes.set_visible(False)
        title = f"{chart.title} (synthetic data)" if chart.synthetic else chart.title
        figure.suptitle(title, fontsize=11, fontweight="bold", color=INK)
        if chart.note:
            figure.supxlabel(chart.note, fontsize=8.5, color="#64748b")
    return figure


def _draw(axes: Any, panel: Panel) -> None:  # noqa: ANN401 - untyped
    if panel.heat is not None:
        _draw_heat(axes, panel)
    bars = [series for series in panel.series if series.kind == "bars"]
    names = _names(panel)
    tones = (place % len(TONES) for place in count())
    for series in panel.series:
        _draw_series(axes, series, names, bars, tones)
    for name, height in panel.marks:
        axes.axhline(height, color=INK, linewidth=0.9, alpha=0.6)
        axes.annotate(
            name, (0.01, height), xycoords=("axes fraction", "data"), xytext=(0, 3),
            textcoords="offset points", fontsize=8, alpha=0.8,
        )  # fmt: skip
    if names:
        axes.set_xticks(range(len(names)), names)
        if sum(map(len, names)) > 60:
            axes.tick_params(axis="x", rotation=30)
    _dress(axes, panel)


def _dress(axes: Any, panel: Panel) -> None:  # noqa: ANN401 - untyped
    """Scale and name the axes."""
    if panel.x_log:
        axes.set_xscale("log")
    if panel.y_log:
        axes.set_yscale("log")
    if panel.from_zero:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.title:
        axes.set_title(panel.title, fontsize=10, loc="left")
    labels = [series.label for series in panel.series if series.label]
    if len(labels) > 1 or (labels and panel.heat is not None):
        axes.legend(frameon=False, fontsize=8.5, labelcolor=INK)


def _names(panel: Panel) -> list[str]:
    """Return the names on the horizontal axis, in the order in which they first appear."""
    texts = [x for series in panel.series for x in series.x if isinstance(x, str)]
    return list(dict.fromkeys(texts))


def _draw_series(
    axes: Any,  # noqa: ANN401 - untyped
    series: Series,
    names: list[str],
    bars: list[Series],
    tones: Iterator[int],
) -> None:
    tone = next(tones) if series.tone is None else series.tone % len(TONES)
    colour = TONES[tone]
    at = [names.index(x) if isinstance(x, str) else x for x in series.x]
    look = {"color": colour, "label": series.label or None}
    if series.kind == "band":
        axes.fill_between(at, series.low, series.high, alpha=0.15, linewidth=0, **look)
        return
    if series.kind == "bars":
        step = min((b - a for a, b in pairwise(at)), default=1.0)
        width = 0.8 * step / len(bars)
        at = [x + (bars.index(series) - (len(bars) - 1) / 2) * width for x in at]
        axes.bar(at, series.y, width=width, **look)
    elif series.kind == "points":
        axes.plot(at, series.y, linestyle="", marker="o", markersize=4.5, **look)
    elif series.kind == "steps":
        axes.step(at, series.y, where="post", linestyle=DASHES[series.dash], **look)
    else:
        marker = "." if len(at) <= 40 else ""
        axes.plot(at, series.y, linestyle=DASHES[series.dash], marker=marker, **look)
    if series.low and series.high:
        ends = zip(series.y, series.low, series.high, strict=True)
        reach = [(max(y - low, 0), max(high - y, 0)) for y, low, high in ends]
        axes.errorbar(
            at, series.y, yerr=list(zip(*reach, strict=True)), fmt="none", capsize=2.5,
            ecolor=INK if series.kind == "bars" else colour, elinewidth=1,
        )  # fmt: skip


def _draw_heat(axes: Any, panel: Panel) -> None:  # noqa: ANN401 - untyped
    heat = panel.heat
    assert heat is not None  # checked by the caller
    ends = (heat.left, heat.right, heat.bottom, heat.top)
    shades = axes.imshow(heat.values, origin="lower", extent=ends, aspect="auto", cmap="viridis")
    axes.grid(visible=False)
    axes.figure.colorbar(shades, ax=axes, label=heat.label).outline.set_edgecolor(PALE)
