"""A microaggregation as a page, a picture and lines in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.reports.draw import page_picture, plot_release
from hartley.reports.pages.anonymity import print_measures, succeeding
from hartley.reports.template import render_page
from hartley.reports.terminal import plain_table, print_points
from hartley.studies.look.anonymity import attacks, risk_measures, table_measures
from hartley.studies.look.records import check_release
from hartley.text import percent

if TYPE_CHECKING:
    from rich.console import Console

    from hartley.studies.look.anonymity import AnonymityReport
    from hartley.studies.look.records import Microaggregation


def plot_microaggregation(release: Microaggregation) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw the sizes of the groups, and the loss of every column."""
    losses = [(loss.column, loss.loss) for loss in release.losses]
    return plot_release(release.bands, losses, noun="group")


def render_microaggregation(release: Microaggregation) -> str:
    """Return the page of a microaggregation, with its measures computed again."""
    report = check_release(release)
    return render_page(
        "microaggregation.html",
        release=release,
        report=report,
        measures=(*table_measures(report), *risk_measures(report)[::2]),
        attacks=attacks(report),
        near=[(loss, percent(loss.near / release.rows, digits=3)) for loss in release.losses],
        figure=page_picture(plot_microaggregation(release)),
    )


def print_microaggregation(
    release: Microaggregation, report: AnonymityReport, console: Console
) -> None:
    """Print what was averaged, what was lost, and the measures counted again."""
    from rich.markup import escape

    console.print()
    console.print(f"[bold]{escape(release.headline)}[/bold]", soft_wrap=True)
    units = "standardised" if release.standardised else "in their own units"
    console.print(
        f"{release.method}, k = {release.k}, columns {units}; SSE {release.sse:.6g}, SST "
        f"{release.sst:.6g}",
        style="dim",
    )
    console.print()
    table = plain_table()
    table.add_column("averaged")
    for name in ("lost", "moved by at most", "near the truth"):
        table.add_column(name, justify="right")
    for loss in release.losses:
        table.add_row(
            escape(loss.column),
            f"{100 * loss.loss:.3g} %",
            f"{loss.largest_move:.4g}",
            percent(loss.near / release.rows, digits=3),
        )
    console.print(table)
    console.print()
    measures = (*table_measures(report), *risk_measures(report)[::2])
    print_measures(measures, console, "counted again")
    print_points((*release.sentences[1:], *succeeding(report)), console)
    console.print()
