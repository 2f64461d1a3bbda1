"""Drawing with matplotlib: charts in one style, for wide and narrow pages, light and dark."""

from __future__ import annotations

import io
import math
import re
from itertools import count, pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hartley.report import Chart, Heat, Panel, Ruler, Series

INK, SOFT, PALE = "#1f2a37", "#64748b", "#d5dbe3"
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#eceff3",
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a column may be called $x$
    "svg.hashsalt": "hartley",
}


def figure_svg(figure: Any, salt: str = "hartley") -> str:  # noqa: ANN401 - a matplotlib figure, untyped
    """Return a figure as an SVG element; the same figure gives the same bytes.

    Two pictures on one page need different salts, from which the names of their parts are made.
    """
    import matplotlib as mpl

    out = io.StringIO()
    with mpl.rc_context(STYLE | {"svg.hashsalt": salt}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


# --- charts --------------------------------------------------------------------------------------

TONES = (
    *("#2563a8", "#b4232a", "#d97706", "#0f766e", "#7c3aed", "#64748b", "#be185d", "#4d7c0f"),
    *("#7da7d9", "#94a3b8"),
)
TAKEN_IN_TURN = 8
"""Series without a tone get the first ones."""
DASHES = {"solid": "-", "dashed": "--", "dotted": ":"}
PANEL = (5.4, 3.9)
ALONE = (7.2, 4.4)
LONG_LABEL = 34
"""Characters of a label of which two fit side by side above a panel."""
LEGEND_LINE = 13.5
"""The height of a line of a legend, in points."""
LEAST_BARS = 4
"""Bars are never wider than if there were this many."""
LONGEST_NAMES = 50
"""Characters of names that stand side by side below an axis; more are turned."""
MOST_DECADES = 5
PALE_CELL = "#dbe8f6"
"""Every second cell of a ruler."""
MOST_EDGES = 400
"""A ruler of more cells is drawn as one."""
MOST_NAMES = 24
"""Of more names along an axis, some are shown, evenly spread."""
LONG_NUMBER = 10_000
"""From here on the digits of numbers along an axis stand in groups of three."""
MOST_WRITTEN = 12
"""Up to this many named rows and columns, the numbers stand in their cells."""
ON_DARK, ON_PALE = "#fefefe", "#0b1f3a"
"""Colours of those numbers; unlike others, they stay as they are on a dark page."""
MOST_SHADES = 16
"""Up to this many different values get a shade each."""


def chart_size(chart: Chart) -> tuple[list[float], list[float]]:
    """Return the widths of the columns of panels and the heights of their rows, in inches."""
    usual = ALONE if len(chart.panels) == 1 else PANEL
    sizes = [panel.size or usual for panel in chart.panels]
    rows = [sizes[k : k + chart.across] for k in range(0, len(sizes), chart.across)]
    return [width for width, _ in rows[0]], [max(height for _, height in row) for row in rows]


def plot_chart(chart: Chart) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw a chart: every panel with its series, and a mark if the data are synthetic.

    Example:
        >>> from hartley.report import Chart, Panel, Series
        >>> line = Series("age", (1.0, 2.0), (0.5, 0.25))
        >>> plot_chart(Chart("Leakage", (Panel("step", "bits", (line,)),))).axes[0].get_xlabel()
        'step'
    """
    import matplotlib as mpl
    import numpy as np
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    number = len(chart.panels)
    columns = min(number, chart.across)
    widths, heights = chart_size(chart)
    with mpl.rc_context(STYLE):
        layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
        figure = Figure(figsize=(sum(widths), sum(heights)), layout=layout)
        grid = figure.add_gridspec(
            len(heights), 2 * columns, height_ratios=heights, width_ratios=np.repeat(widths, 2)
        )
        for k, panel in enumerate(chart.panels):
            row, column = divmod(k, columns)
            first = 2 * column
            if row == len(heights) - 1:  # one that is not full is centred
                first += len(heights) * columns - number
            _draw(figure.add_subplot(grid[row, first : first + 2]), panel)
        if chart.title:
            title = f"{chart.title} (synthetic data)" if chart.synthetic else chart.title
            figure.suptitle(title, fontsize=11, fontweight="bold", color=INK)
        if chart.note:
            figure.supxlabel(fill(chart.note, int(14 * sum(widths))), fontsize=8.5, color=SOFT)
    return figure


def _draw(axes: Any, panel: Panel) -> None:  # noqa: ANN401 - untyped
    if panel.ruler is not None:
        _draw_ruler(axes, panel.ruler)
    if panel.heat is not None:
        (_draw_cells if panel.heat.edges else _draw_heat)(axes, panel.heat)
    bars = [series for series in panel.series if series.kind == "bars"]
    names = _names(panel)
    tones = (place % TAKEN_IN_TURN for place in count())
    for series in panel.series:
        _draw_series(axes, series, panel, names, tones)
    for name, height in panel.marks:
        axes.axhline(height, color=INK, linewidth=0.9, alpha=0.6)
        axes.annotate(
            name, (0.01, height), xycoords=("axes fraction", "data"), xytext=(0, 3),
            textcoords="offset points", fontsize=8, alpha=0.8,
        )  # fmt: skip
    if names:
        _name_places(axes, names, panel, bars)
    _dress(axes, panel)
    for name, place in panel.places:
        low, high = axes.get_xlim()
        right = place > (math.sqrt(low * high) if panel.x_log else (low + high) / 2)
        axes.axvline(place, color=PALE, linewidth=1.4, zorder=0.5)
        axes.annotate(
            name, (place, 1.0), xycoords=("data", "axes fraction"),
            xytext=(-4 if right else 4, -3), textcoords="offset points",
            ha="right" if right else "left", va="top", fontsize=8, color=SOFT,
        )  # fmt: skip


def _name_places(axes: Any, names: list[str], panel: Panel, bars: list[Series]) -> None:  # noqa: ANN401 - untyped
    """Write the names below or beside the places of an axis, and leave room around few bars."""
    along = "y" if panel.sideways else "x"
    turned = not panel.sideways and sum(map(len, names)) > LONGEST_NAMES
    every = 1 if panel.sideways else -(-len(names) // MOST_NAMES)
    getattr(axes, f"set_{along}ticks")(
        range(0, len(names), every),
        names[::every],
        rotation=35 if turned else 0,
        ha="right" if turned or panel.sideways else "center",
    )
    if panel.sideways:
        axes.invert_yaxis()
    if bars:
        spare = 0.7 + max(LEAST_BARS - len(names) * len(bars), 0) / 2
        low, high = -spare, len(names) - 1 + spare
        getattr(axes, f"set_{along}lim")(*((high, low) if panel.sideways else (low, high)))
        axes.grid(visible=False, axis=along)
        axes.tick_params(axis=along, length=0)
        if any(series.labels for series in bars):
            axes.margins(**{"x": 0.2} if panel.sideways else {"y": 0.12})


def _dress(axes: Any, panel: Panel) -> None:  # noqa: ANN401 - untyped
    """Scale and name the axes."""
    for name, logarithmic in (("x", panel.x_log), ("y", panel.y_log)):
        if logarithmic:
            getattr(axes, f"set_{name}scale")("log")
            _number_powers(getattr(axes, f"{name}axis"))
    heights = {y for series in panel.series for y in series.y}
    bars = any(series.kind == "bars" for series in panel.series)
    if not panel.y_log and max(heights, default=0) >= LONG_NUMBER and not panel.sideways:
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    counted = any(series.labels for series in panel.series)
    if counted and all(float(height).is_integer() for height in heights):
        _count_whole(axes.xaxis if panel.sideways else axes.yaxis)
    if panel.sideways and bars:  # no number stands where no bar can be
        ticks = axes.get_xticks()
        axes.set_xticks([tick for tick in ticks if 0 <= tick <= max(heights) or not tick])
    if heights == {0.0}:  # matplotlib's own axis would have meaningless numbers
        (axes.set_xlim if panel.sideways else axes.set_ylim)(0 if bars else -0.02, 1)
    elif panel.from_zero:
        top = max([axes.get_ylim()[1], *(1.12 * height for _, height in panel.marks)])
        axes.set_ylim(0 if bars else -0.02 * top, top)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.title:
        axes.set_title(panel.title, fontsize=10, loc="left")
    labels = [series.label for series in panel.series if series.label]
    if len(labels) > 1 or (labels and panel.heat is not None):
        above_axes(axes, *axes.get_legend_handles_labels())


def _count_whole(axis: Any) -> None:  # noqa: ANN401 - untyped
    """Number an axis along bars that count: nobody is half a record."""
    axis.get_major_locator().set_params(integer=True)
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def above_axes(
    axes: Any,  # noqa: ANN401 - untyped
    handles: list[Any],
    labels: list[str],
    columns: int | None = None,
) -> None:
    """Put a legend above the axes, where no curve is, and the title above the legend.

    Without a number of columns there are two, or one where a label is long.
    """
    if columns is None:
        columns = 2 if max(map(len, labels), default=0) <= LONG_LABEL else 1
    axes.legend(
        handles, labels, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, frameon=False,
        fontsize=8.5, labelcolor=INK, borderaxespad=0.2, borderpad=0.2, columnspacing=1.4,
    )  # fmt: skip
    lines = -(-sum(label.count("\n") + 1 for label in labels) // columns)
    title = axes.get_title(loc="left")
    if title:
        axes.set_title(title, fontsize=10, loc="left", color=INK, pad=6 + LEGEND_LINE * lines)


def _number_powers(axis: Any) -> None:  # noqa: ANN401 - untyped
    """Write numbers such as 0.5, 1000 and 1e-5 along a logarithmic axis."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low) if low > 0 else math.inf
    if decades <= MOST_DECADES:
        axis.set_major_locator(LogLocator(subs=(1.0,) if decades > 3 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, _: re.sub(r"e\+?(-?)0*", r"e\1", f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _names(panel: Panel) -> list[str]:
    """Return the names on the horizontal axis, in the order in which they first appear."""
    texts = [x for series in panel.series for x in series.x if isinstance(x, str)]
    return list(dict.fromkeys(texts))


def _draw_series(
    axes: Any,  # noqa: ANN401 - untyped
    series: Series,
    panel: Panel,
    names: list[str],
    tones: Iterator[int],
) -> None:
    bars = [one for one in panel.series if one.kind == "bars"]
    tone = next(tones) if series.tone is None else series.tone % len(TONES)
    colour = TONES[tone]
    at = [names.index(x) if isinstance(x, str) else x for x in series.x]
    look: dict[str, Any] = {"color": colour, "label": series.label or None}
    if series.width is not None:
        look["linewidth"] = series.width
    if series.kind == "band":
        look["linewidth"] = 0
        axes.fill_between(at, series.low, series.high, alpha=0.15, **look)
        return
    if series.kind == "bars":
        step = min((abs(b - a) for a, b in pairwise(at)), default=1.0)
        width = 0.8 * step / len(bars)
        at = [x + (bars.index(series) - (len(bars) - 1) / 2) * width for x in at]
        look["color"] = [TONES[tone] for tone in series.tones] or colour
        drawn = (axes.barh if panel.sideways else axes.bar)(at, series.y, width, **look)
        if series.labels:
            axes.bar_label(drawn, series.labels, padding=3, fontsize=8.5, color=SOFT)
    elif series.kind == "points":
        axes.plot(at, series.y, linestyle="", marker="o", markersize=4.5, **look)
    elif series.kind == "steps":
        axes.step(at, series.y, where="post", linestyle=DASHES[series.dash], **look)
    else:
        marker = "." if len(at) <= 30 and series.dash == "solid" else ""
        axes.plot(at, series.y, linestyle=DASHES[series.dash], marker=marker, **look)
    if series.low and series.high:
        ends = zip(series.y, series.low, series.high, strict=True)
        reach = [(max(y - low, 0), max(high - y, 0)) for y, low, high in ends]
        edge = INK if series.kind == "bars" else colour
        axes.errorbar(
            at, series.y, yerr=list(zip(*reach, strict=True)), fmt="none", capsize=2.5,
            color=edge, ecolor=edge, elinewidth=1,
        )  # fmt: skip


def _draw_ruler(axes: Any, ruler: Ruler) -> None:  # noqa: ANN401 - untyped
    """Draw cells as a strip; or those around one edge, and how far a person moves the number."""
    from matplotlib.collections import PolyCollection

    axes.grid(visible=False)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlim(ruler.low, ruler.high)
    axes.set_ylim(0, 1)
    if ruler.reach is None:
        edges = ruler.edges if 1 < len(ruler.edges) <= MOST_EDGES else (ruler.low, ruler.high)
        cells = list(pairwise(edges))
        corners = [[(a, 0.1), (b, 0.1), (b, 0.9), (a, 0.9)] for a, b in cells]
        pale = 0 if len(cells) == 1 == ruler.levels else 1
        colours = [PALE_CELL if k % 2 == pale else TONES[8] for k in range(len(cells))]
        axes.add_collection(PolyCollection(corners, facecolors=colours, edgecolors="none"))
        return
    edges = ruler.edges
    middle = edges[len(edges) // 2] if edges else (ruler.low + ruler.high) / 2
    for edge in edges[:: max(1, len(edges) // 40)]:
        axes.plot([edge, edge], [0.0, 0.5], color=TONES[8], linewidth=1)
    ends = max(middle - ruler.reach / 2, ruler.low), min(middle + ruler.reach / 2, ruler.high)
    axes.plot(ends, [0.25, 0.25], color=TONES[1], linewidth=5, solid_capstyle="butt")


def _draw_cells(axes: Any, heat: Heat) -> None:  # noqa: ANN401 - untyped
    """Draw the cells of a query over two columns, neighbours in different shades."""
    import numpy as np
    from matplotlib.colors import ListedColormap

    values, last = np.array(heat.values), max(len(heat.edges) - 2, 1)
    cells = np.clip(np.searchsorted(heat.edges, values, "right") - 1, 0, len(heat.edges) - 2)
    shares = np.array([0.12 + 0.8 * k / last - 0.07 * (k % 2) for k in range(last + 1)])[:, None]
    pale, deep = np.array([0.86, 0.91, 0.965]), np.array([0.145, 0.388, 0.659])
    ends = (heat.left, heat.right, heat.bottom, heat.top)
    axes.imshow(
        cells,
        origin="lower",
        extent=ends,
        cmap=ListedColormap(pale + (deep - pale) * shares.clip(0, 1)),
        vmin=-0.5,
        vmax=last + 0.5,
        aspect="auto",
        interpolation="nearest",
    )
    if len(heat.edges) > 2:
        across, up = (
            np.linspace(low, high, size)
            for low, high, size in zip(ends[::2], ends[1::2], values.shape[::-1], strict=True)
        )
        axes.contour(across, up, values, heat.edges[1:-1], colors="white", linewidths=0.8)
    axes.grid(visible=False)


def _draw_heat(axes: Any, heat: Heat) -> None:  # noqa: ANN401 - untyped
    from matplotlib.ticker import MaxNLocator

    ends = (heat.left, heat.right, heat.bottom, heat.top)
    shown = [value for row in heat.values for value in row]
    seen = sorted(set(shown))
    sparse = seen[0] == 0 and shown.count(0) > len(shown) / 2
    plain = sparse or heat.names is not None  # white for 0, darker for more
    norm = _between(seen) if 1 < len(seen) <= MOST_SHADES and not plain else None
    shades = axes.imshow(
        heat.values,
        origin="lower",
        extent=ends,
        aspect="auto",
        cmap="Blues" if plain else "viridis",
        norm=norm,
        vmin=None if heat.names is None else 0.0,
    )
    axes.grid(visible=False)
    bar = axes.figure.colorbar(shades, ax=axes, label=heat.label, spacing="uniform")
    if norm is not None:
        bar.set_ticks(
            seen, labels=[f"{value:.3g}".replace("-", "\N{MINUS SIGN}") for value in seen]
        )
    elif all(float(value).is_integer() for value in seen):
        bar.locator = MaxNLocator(integer=True)
        bar.update_ticks()
    bar.outline.set_edgecolor(PALE)
    if heat.names is not None:
        _name_cells(axes, heat, heat.names)


def _name_cells(axes: Any, heat: Heat, names: tuple[tuple[str, ...], tuple[str, ...]]) -> None:  # noqa: ANN401 - untyped
    """Name the rows and columns of a grid, and write the numbers of few cells into them."""
    ends = (heat.bottom, heat.top), (heat.left, heat.right)
    for axis, (low, high), listed in zip((axes.yaxis, axes.xaxis), ends, names, strict=True):
        places = [low + (high - low) * (k + 0.5) / len(listed) for k in range(len(listed))]
        every = -(-len(listed) // MOST_NAMES)
        axis.set_ticks(places[::every], listed[::every], fontsize=8.5)
        axis.set_tick_params(length=0)
    if sum(map(len, names[1])) > LONGEST_NAMES:
        axes.tick_params(axis="x", labelrotation=60)
    if max(map(len, names)) <= MOST_WRITTEN:
        middle = max(value for *_, value in heat.cells()) / 2
        for x, y, value in heat.cells():
            colour = ON_DARK if value > middle else ON_PALE
            axes.text(x, y, f"{value:.3g}", ha="center", va="center", fontsize=8, color=colour)


def _between(values: list[float]) -> Any:  # noqa: ANN401 - untyped
    """Return shades that change halfway between neighbouring values."""
    from matplotlib.colors import BoundaryNorm

    middles = [(a + b) / 2 for a, b in pairwise(values)]
    ends = 2 * values[0] - middles[0], 2 * values[-1] - middles[-1]
    return BoundaryNorm([ends[0], *middles, ends[1]], ncolors=256)


# --- pictures on pages --------------------------------------------------------------------------
# In the colours of the page, once for wide and once for narrow screens.

NARROW = 3.9
"""The width in inches of a picture for a phone: its text is as large there as the page's."""
TALLEST = 4.2
LINE, NAME = 26, 22
"""Characters of a label and of a name beside bars that a narrow picture has room for; longer ones
get several lines."""
NAME_LINE = 0.19
"""The height of a line of a name, in inches."""
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
    legends, least = 0, 0.0
    grid = figure.add_gridspec(len(panels), 1)
    for place, axes in enumerate(panels):
        axes.set_subplotspec(grid[place, 0])
        for text in (axes.xaxis.label, axes.yaxis.label, axes.title, axes._left_title):  # noqa: SLF001 - it has no other name
            text.set_text(fill(text.get_text(), 2 * LINE))
        legend = axes.get_legend()
        if legend is not None:
            legends += _one_column(axes, legend)
        _thin_ticks(axes)
        names = [fill(tick.get_text(), NAME) for tick in axes.get_yticklabels()]
        if any("\n" in name for name in names):
            axes.set_yticks(axes.get_yticks(), names)
            lines = len(names) * max(name.count("\n") + 1 for name in names)
            least = max(least, NAME_LINE * (lines + 4))  # and the axis below them
    for text in (figure._suptitle, figure._supxlabel):  # noqa: SLF001 - likewise
        if text is not None:
            text.set_text(fill(text.get_text(), 2 * LINE))
    figure.set_size_inches(NARROW, max(each, least) * len(panels) + 0.18 * legends)
    return figure


def _one_column(axes: Any, legend: Any) -> int:  # noqa: ANN401 - untyped
    """Draw a legend again with one label in each line; return how many lines are new."""
    handles, labels = axes.get_legend_handles_labels()
    columns = getattr(legend, "_ncols", 1)
    folded = [fill(label, LEGEND_LABEL) for label in labels]
    above_axes(axes, handles, folded, columns=1)
    return sum(label.count("\n") + 1 for label in folded) - math.ceil(len(labels) / columns)


def _thin_ticks(axes: Any) -> None:  # noqa: ANN401 - untyped
    """Turn long names along the horizontal axis, which a narrow picture has no room for."""
    names = [tick.get_text() for tick in axes.get_xticklabels()]
    if sum(map(len, names)) > 2 * LINE:
        axes.tick_params(axis="x", labelrotation=60)
