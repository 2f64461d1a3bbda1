"""The privacy-distortion curve as a picture, a page and lines in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.reports.draw import STYLE, above_axes, page_picture
from hartley.reports.template import render_page
from hartley.text import decimals_down, decimals_up

if TYPE_CHECKING:
    from rich.console import Console

    from hartley.studies.release.curve import CurveReport

BLUE, RED, AMBER, GREY, GREEN = "#2563a8", "#b4232a", "#d97706", "#64748b", "#0f766e"
SHOWN_POINTS = 14


def plot_curve(report: CurveReport) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw the risk of the release against its distortion, with the certified bounds.

    Example:
        >>> from hartley.studies.release.curve import curve
        >>> people = {"age": [30, 30, 40, 40], "sick": ["yes", "no", "no", "no"]}
        >>> report = curve(people, confidential="sick", key="age", points=4)
        >>> plot_curve(report).axes[0].get_ylabel()
        'what the release tells about sick (bits)'
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        _draw(figure.subplots(), report)
    return figure


def _draw(axes: Any, report: CurveReport) -> None:  # noqa: ANN401 - untyped
    curve = report.curve
    at = [point.distortion for point in curve.points]
    first, last = at[0], at[-1]
    grid = [first + (last - first) * step / 240 for step in range(241)]
    lower = [curve.lower(distortion) for distortion in grid]
    axes.fill_between(grid, lower, color=RED, alpha=0.07, linewidth=0)
    _draw_curve(axes, report)
    axes.plot(
        grid,
        lower,
        color=RED,
        linewidth=1.1,
        linestyle="--",
        label="no rule lies below (certified lower bound)",
    )
    for risks, color, style, label in (
        (report.mixture, AMBER, "-.", "the key itself or a constant, at random (upper bound)"),
        (report.gaussian, GREY, ":", "a Gaussian with the same covariances (comparison)"),
    ):
        if risks:
            axes.plot(at, risks, color=color, linewidth=1.4, linestyle=style, label=label)
    if report.reconstructed:
        axes.plot(
            report.reconstructed,
            [point.risk for point in curve.points],
            color=GREEN,
            linewidth=1.2,
            marker="o",
            markersize=4,
            markerfacecolor="white",
            label="the same rules, means released (E[X|Q])",
        )
        first = min(first, *report.reconstructed)
    room = 0.02 * (last - first) or 1.0
    axes.set_xlim(first - room / 2, last + room)
    axes.set_ylim(0, 1.05 * max(curve.points[0].risk, 1e-9))
    axes.set_xlabel(f"mean {report.distortion} distortion of {', '.join(report.key)}")
    axes.set_ylabel(f"{report.words.axis.format(w=', '.join(report.confidential))} ({report.unit})")
    if lower[40] > 0.12 * axes.get_ylim()[1]:  # otherwise there is no room for the label
        # Means are released too, which the bound for values of the key does not cover.
        word = "impossible with values of the key" if report.reconstructed else "impossible"
        axes.annotate(word, (grid[9], 0.4 * lower[40]), color=RED, fontsize=9, alpha=0.8)
    above_axes(axes, *axes.get_legend_handles_labels())


def _draw_curve(axes: Any, report: CurveReport) -> None:  # noqa: ANN401 - untyped
    """Draw the rules and the mixtures between them, which are curved for worst-case risks."""
    points = [(point.distortion, point.risk) for point in report.curve.points]
    label = "best rules, and mixtures of two (upper bound)"
    look: dict[str, Any] = {"color": BLUE, "linewidth": 2.2}
    if not report.curve.mixtures:
        axes.plot(*zip(*points, strict=True), marker=".", markersize=6, label=label, **look)
        return
    axes.plot(
        *zip(*report.curve.mixtures, strict=True), drawstyle="steps-post", label=label, **look
    )
    axes.plot(*zip(*points, strict=True), marker=".", markersize=6, linestyle="", color=BLUE)


def render_curve(report: CurveReport) -> str:
    """Return the page of a curve."""
    nothing = (None,) * len(report.curve.points)
    return render_page(
        "curve.html",
        report=report,
        curve=report.curve,
        rows=list(
            zip(
                report.curve.points,
                report.mixture or nothing,
                report.gaussian or nothing,
                report.reconstructed or nothing,
                report.shown_gaps,
                strict=True,
            )
        ),
        figure=page_picture(plot_curve(report)),
    )


def print_curve(report: CurveReport, console: Console) -> None:
    """Print a curve: the headline and some of its points."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    console.print()
    console.print(f"[bold]{escape(report.headline)}[/bold]", soft_wrap=True)
    console.print(
        f"{escape(report.table)}: {report.rows:,} rows, {report.confidential_values:,} "
        f"confidential values, {report.key_values:,} key values; "
        f"certified to {report.shown_gap}",
        style="dim",
    )
    for note in report.notes:
        console.print(f"• {escape(note)}", style="dim")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in (
        *("distortion", f"{report.words.column} ({report.unit}), at most", "lower bound"),
        *(("mixture",) if report.mixture else ()),
        *(("Gaussian",) if report.gaussian else ()),
        *(("reconstructed",) if report.reconstructed else ()),
        *("lam", "values"),
    ):
        table.add_column(name, justify="right")
    every = -(-len(report.curve.points) // SHOWN_POINTS)
    for place, point in enumerate(report.curve.points):
        if place % every and place != len(report.curve.points) - 1:
            continue
        table.add_row(
            f"{point.distortion:.5g}",
            decimals_up(point.risk, 5),
            decimals_down(point.lower, 5),
            *(f"{risks[place]:.5f}" for risks in (report.mixture, report.gaussian) if risks),
            *((f"{report.reconstructed[place]:.5g}",) if report.reconstructed else ()),
            f"{point.lam:.4g}",
            f"{point.live:,}",
        )
    console.print()
    console.print(table)
    console.print()
