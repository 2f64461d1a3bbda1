"""Pictures of results."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from hartley.studies.audit import rounded_up

if TYPE_CHECKING:
    from hartley.studies.audit import AuditReport
    from hartley.studies.sweep import SweepPoint

INK, PALE = "#1f2a37", "#d5dbe3"
LINES = (
    ("maximal_guessing_leakage", "maximal guessing leakage L⋆", "#b4232a", "-"),
    ("nonstochastic_leakage", "leakage L₀", "#d97706", "-"),
    ("maximin_information", "maximin information I⋆", "#2563a8", "-"),
    ("maximal_leakage", "maximal leakage, stochastic", "#64748b", "--"),
    ("mutual_information", "mutual information, stochastic", "#94a3b8", ":"),
)
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


def plot_audit(result: AuditReport) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw an audit: its privacy-utility curve, or without a sweep its measures."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        if result.sweep:
            figure = Figure(figsize=(7.2, 4.2), layout="constrained")
            _draw_curve(figure.subplots(), result)
        else:
            figure = Figure(figsize=(7.2, 4.6), layout="constrained")
            _draw_bars(figure.subplots(), result)
    return figure


def figure_svg(figure: Any) -> str:  # noqa: ANN401 - a matplotlib figure, untyped
    """Return a figure as the SVG element of a page, the same bytes every time."""
    import matplotlib as mpl

    out = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _draw_curve(axes: Any, report: AuditReport) -> None:  # noqa: ANN401 - untyped
    """Draw leakage against distortion, a line a measure."""
    points = sorted(report.sweep, key=lambda point: point.distortion)
    total = report["hartley_entropy"].value
    axes.axhline(total, color=PALE, linewidth=1.2)
    axes.annotate(
        f"all of the secret: {rounded_up(total)} {report.unit}",
        (0.995, total),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
        color="#64748b",
    )
    # Widest first, so that a line that lies on another one still shows beneath it.
    for rank, (name, label, colour, style) in enumerate(LINES):
        axes.plot(
            [point.distortion for point in points],
            [getattr(point, name) for point in points],
            label=label,
            color=colour,
            linestyle=style,
            linewidth=max(3.6 - rank, 1.6),
            marker="." if len(points) < 120 else None,
            markersize=5,
            solid_capstyle="round",
        )
    axes.set_xlabel(f"largest distortion of {report.sweep_column} {_steps(report.sweep)}")
    axes.set_ylabel(f"what the release tells ({report.unit})")
    axes.set_ylim(bottom=-0.02 * total, top=1.12 * total)
    axes.set_xlim(0, max(points[-1].distortion, 1e-9) * 1.03)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8.5)


def _steps(points: tuple[SweepPoint, ...]) -> str:
    ordered = sorted((point.step for point in points), key=float)
    return f"(steps {ordered[0]} to {ordered[-1]})"


def _draw_bars(axes: Any, report: AuditReport) -> None:  # noqa: ANN401 - untyped
    """Draw every measure as a bar."""
    colours = {"exact": "#2563a8", "bound": "#7da7d9", "estimate": "#94a3b8"}
    shown = [finding for finding in reversed(report.findings) if abs(finding.value) != float("inf")]
    axes.barh(
        [finding.title for finding in shown],
        [finding.value for finding in shown],
        color=[colours[finding.certainty] for finding in shown],
        height=0.62,
    )
    largest = max(finding.value for finding in shown)
    for place, finding in enumerate(shown):
        axes.annotate(
            rounded_up(finding.value),
            (finding.value, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8.5,
        )
    axes.set_xlim(0, max(largest, 1e-9) * 1.1)
    axes.set_xlabel(report.unit)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
