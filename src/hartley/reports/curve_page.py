"""The privacy-distortion curve as a picture, a page and lines in a terminal."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hartley.reports.files import write_whole
from hartley.reports.plots import INK, STYLE, figure_svg

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from rich.console import Console

    from hartley.studies.curve import CurveReport

BLUE, RED, GREY = "#2563a8", "#b4232a", "#94a3b8"
SHOWN_POINTS = 14


def plot_curve(report: CurveReport) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw what the release tells against its distortion, with the certified bounds.

    Example:
        >>> from hartley.studies.curve import privacy_curve
        >>> people = {"age": [30, 30, 40, 40], "sick": ["yes", "no", "no", "no"]}
        >>> report = privacy_curve(people, confidential="sick", key="age", points=4)
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
    upper = [curve.upper(distortion) for distortion in grid]
    axes.fill_between(grid, lower, color=RED, alpha=0.07, linewidth=0)
    axes.plot(
        at,
        [point.risk for point in curve.points],
        color=BLUE,
        linewidth=2.2,
        marker=".",
        markersize=6,
        label="best rules, and mixtures of two (upper bound)",
    )
    axes.plot(
        grid,
        lower,
        color=RED,
        linewidth=1.1,
        linestyle="--",
        label="no rule lies below (certified lower bound)",
    )
    if all(point.limit is not None for point in curve.points):
        axes.plot(
            at,
            [point.limit for point in curve.points],
            color=GREY,
            linewidth=1.3,
            linestyle=":",
            label="a Gaussian of the same covariance",
        )
    room = 0.02 * (last - first) or 1.0
    axes.set_xlim(first - room / 2, last + room)
    axes.set_ylim(0, 1.05 * max(*upper, curve.largest_risk, 1e-9))
    axes.set_xlabel(f"mean {report.distortion} distortion of {', '.join(report.key)}")
    axes.set_ylabel(
        f"what the release tells about {', '.join(report.confidential)} ({report.unit})"
    )
    axes.annotate(
        "impossible", (0.12, 0.1), xycoords="axes fraction", color=RED, fontsize=9, alpha=0.8
    )
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK, loc="upper right")


def write_curve_html(report: CurveReport, path: str | os.PathLike[str]) -> Path:
    """Write the curve as one page that needs no other file."""
    return write_whole(path, render_curve(report))


def render_curve(report: CurveReport) -> str:
    """Return the page of a curve."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    page: str = environment.from_string(_asset("curve.html")).render(
        report=report,
        curve=report.curve,
        style=_asset("page.css"),
        figure=figure_svg(plot_curve(report)),
        version=version("hartley"),
    )
    return page


def _asset(name: str) -> str:
    return files("hartley.reports").joinpath("templates", name).read_text("utf-8")


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
        f"certified to {report.curve.gap:.1g}",
        style="dim",
    )
    for note in report.notes:
        console.print(f"• {escape(note)}", style="dim")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("distortion", f"tells ({report.unit})", "none less than", "lam", "values used"):
        table.add_column(name, justify="right")
    every = -(-len(report.curve.points) // SHOWN_POINTS)
    for place, point in enumerate(report.curve.points):
        if place % every and place != len(report.curve.points) - 1:
            continue
        table.add_row(
            f"{point.distortion:.5g}",
            f"{point.risk:.5f}",
            f"{point.lower:.5f}",
            f"{point.lam:.4g}",
            f"{point.live:,}",
        )
    console.print()
    console.print(table)
    console.print()
