"""Drawing with matplotlib: one style, charts, and the bars of classes and groups."""

from __future__ import annotations

import io
import math
from itertools import count, pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hartley.report import Chart, Panel, Series

INK, PALE = "#1f2a37", "#d5dbe3"
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

TONES = ("#2563a8", "#b4232a", "#d97706", "#0f766e", "#7c3aed", "#64748b", "#be185d", "#4d7c0f")
DASHES = {"solid": "-", "dashed": "--", "dotted": ":"}
PANEL = (5.4, 3.9)
ALONE = (7.2, 4.4)
LONG_LABEL = 34
"""Characters of a label of which two fit side by side above a panel."""
LEGEND_LINE = 13.5
"""The height of a line of a legend, in points."""
MOST_DECADES = 5
MOST_SHADES = 16
"""Up to this many different values get a shade each."""


def plot_chart(chart: Chart) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw a chart: every panel with its series, and a mark if the data are synthetic.

    Example:
        >>> from hartley.report import Chart, Panel, Series
        >>> line = Series("age", (1.0, 2.0), (0.5, 0.25))
        >>> plot_chart(Chart("Leakage", (Panel("step", "bits", (line,)),))).axes[0].get_xlabel()
        'step'
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    number = len(chart.panels)
    columns = min(number, chart.across)
    rows = -(-number // columns)
    size = ALONE if number == 1 else (PANEL[0] * columns, PANEL[1] * rows)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08))
        for place, panel in zip(_places(figure, number, columns), chart.panels, strict=True):
            _draw(figure.add_subplot(place), panel)
        title = f"{chart.title} (synthetic data)" if chart.synthetic else chart.title
        figure.suptitle(title, fontsize=11, fontweight="bold", color=INK)
        if chart.note:
            figure.supxlabel(fill(chart.note, int(14 * size[0])), fontsize=8.5, color="#64748b")
    return figure


def _places(figure: Any, number: int, columns: int) -> Iterator[Any]:  # noqa: ANN401 - untyped
    """Return the place of each panel; a last row that is not full is centred."""
    rows = -(-number // columns)
    grid = figure.add_gridspec(rows, 2 * columns)
    for k in range(number):
        row, column = divmod(k, columns)
        missing = rows * columns - number if row == rows - 1 else 0
        first = 2 * column + missing
        yield grid[row, first : first + 2]


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
        if bars and len(names) == 1:  # a single bar would fill the picture
            axes.set_xlim(-1, 1)
        if sum(map(len, names)) > 60:
            axes.tick_params(axis="x", rotation=30)
    _dress(axes, panel)


def _dress(axes: Any, panel: Panel) -> None:  # noqa: ANN401 - untyped
    """Scale and name the axes."""
    for name, logarithmic in (("x", panel.x_log), ("y", panel.y_log)):
        if logarithmic:
            getattr(axes, f"set_{name}scale")("log")
            _number_powers(getattr(axes, f"{name}axis"))
    heights = {y for series in panel.series for y in series.y}
    if heights == {0.0}:
        axes.set_ylim(
            -0.02, 1
        )  # if all values are 0, matplotlib's default axis has meaningless numbers
    elif panel.from_zero:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.title:
        axes.set_title(panel.title, fontsize=10, loc="left")
    labels = [series.label for series in panel.series if series.label]
    if len(labels) > 1 or (labels and panel.heat is not None):
        above_axes(axes, *axes.get_legend_handles_labels())


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
    """Write plain numbers along a logarithmic axis that spans a few powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = sorted(axis.get_view_interval())
    decades = math.log10(high / low) if low > 0 else math.inf
    if decades > MOST_DECADES:
        return
    steps = (1.0,) if decades > 2.5 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


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
        step = min((abs(b - a) for a, b in pairwise(at)), default=1.0)
        width = 0.8 * step / len(bars)
        at = [x + (bars.index(series) - (len(bars) - 1) / 2) * width for x in at]
        axes.bar(at, series.y, width=width, **look)
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
        axes.errorbar(
            at, series.y, yerr=list(zip(*reach, strict=True)), fmt="none", capsize=2.5,
            ecolor=INK if series.kind == "bars" else colour, elinewidth=1,
        )  # fmt: skip


def _draw_heat(axes: Any, panel: Panel) -> None:  # noqa: ANN401 - untyped
    from matplotlib.ticker import MaxNLocator

    heat = panel.heat
    assert heat is not None  # checked by the caller
    ends = (heat.left, heat.right, heat.bottom, heat.top)
    shown = [value for row in heat.values for value in row]
    seen = sorted(set(shown))
    sparse = seen[0] == 0 and shown.count(0) > len(shown) / 2
    norm = _between(seen) if 1 < len(seen) <= MOST_SHADES and not sparse else None
    # Mostly zero counts: white for 0, darker for more.
    colours = "Blues" if sparse else "viridis"
    shades = axes.imshow(
        heat.values, origin="lower", extent=ends, aspect="auto", cmap=colours, norm=norm
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


def _between(values: list[float]) -> Any:  # noqa: ANN401 - untyped
    """Return shades that change halfway between neighbouring values."""
    from matplotlib.colors import BoundaryNorm

    middles = [(a + b) / 2 for a, b in pairwise(values)]
    ends = 2 * values[0] - middles[0], 2 * values[-1] - middles[-1]
    return BoundaryNorm([ends[0], *middles, ends[1]], ncolors=256)


# --- classes and groups --------------------------------------------------------------------------

BLUE, RED, AMBER = "#2563a8", "#b4232a", "#d97706"
LEAST_BARS = 5
"""Bars are never wider than if there were this many."""
SHORT = 18
"""Column names longer than this are shortened in a picture."""


def plot_sizes(
    bands: Sequence[Any], noun: str = "class", counts: Sequence[int] | None = None
) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw how many records are in classes of each size.

    Above each bar stands its number of classes, or the given count.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.4), layout="constrained")
        _draw_sizes(figure.subplots(), bands, noun, counts)
    return figure


def plot_people(bands: Sequence[Any]) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw how many people share their keys with how many others; each bar has its number."""
    figure = plot_sizes(bands, counts=[band.records for band in bands])
    axes = figure.axes[0]
    axes.set_xlabel("people with the same keys")
    axes.set_ylabel("people")
    return figure


def plot_release(
    bands: Sequence[Any],
    losses: Sequence[tuple[str, float]],
    *,
    noun: str = "class",
    lost: str = "of its variation",
) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw the sizes, and the loss of every column."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        height = max(3.4, 0.34 * len(losses) + 1.2)
        figure = Figure(figsize=(7.6, height), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        _draw_sizes(left, bands, noun)
        _draw_losses(right, losses, lost)
    return figure


def _draw_sizes(
    axes: Any,  # noqa: ANN401 - untyped
    bands: Sequence[Any],
    noun: str,
    counts: Sequence[int] | None = None,
) -> None:
    places = range(len(bands))
    counts = [band.classes for band in bands] if counts is None else counts
    axes.bar(
        places,
        [band.records for band in bands],
        color=[RED if band.high == 1 else BLUE for band in bands],
        width=0.78,
    )
    for place, band, number in zip(places, bands, counts, strict=True):
        if number:
            axes.annotate(
                f"{number:,}",
                (place, band.records),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color="#64748b",
            )
    crowded = sum(len(band.label) for band in bands) > 40
    axes.set_xticks(
        places,
        [band.label for band in bands],
        rotation=35 if crowded else 0,
        ha="right" if crowded else "center",
        fontsize=8.5,
    )
    spare = max(LEAST_BARS - len(bands), 0) / 2
    axes.set_xlim(-0.7 - spare, len(bands) - 0.3 + spare)
    axes.margins(y=0.12)
    axes.yaxis.get_major_locator().set_params(integer=True)  # nobody is half a record
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel(f"records in a {noun}")
    axes.set_ylabel(f"records in {noun}{'es' if noun.endswith('s') else 's'} of that size")
    axes.grid(visible=False, axis="x")
    axes.tick_params(axis="x", length=0)


def _draw_losses(axes: Any, losses: Sequence[tuple[str, float]], lost: str) -> None:  # noqa: ANN401 - untyped
    names = [_short(name) for name, _ in reversed(losses)]
    shares = [100 * share for _, share in reversed(losses)]
    axes.barh(range(len(names)), shares, color=AMBER, height=0.62)
    for place, share in enumerate(shares):
        axes.annotate(
            f"{share:.3g} %",
            (share, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
        )
    axes.set_yticks(range(len(names)), names)
    largest = max(shares) or 100.0
    axes.set_xlim(0, largest * 1.35)
    if largest > 74:  # matplotlib would number the room for the labels too, up to 125 %
        axes.set_xticks(range(0, 101, 25))
    spare = max(LEAST_BARS - 1 - len(names), 0) / 2
    axes.set_ylim(-0.7 - spare, len(names) - 0.3 + spare)
    axes.set_xlabel(f"lost {lost} (%)")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


def _short(name: str) -> str:
    return name if len(name) <= SHORT else f"{name[: SHORT - 1]}…"
