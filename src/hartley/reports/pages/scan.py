"""A scan as a page, a picture and lines in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.reports.draw import page_picture, plot_people
from hartley.reports.template import render_page
from hartley.reports.terminal import NARROW, plain_table, print_points
from hartley.studies.look.scan import SHOWN_COMBINATIONS
from hartley.text import counted

if TYPE_CHECKING:
    from rich.console import Console

    from hartley.studies.look.scan import ScanReport

MOST_COLUMNS = 60
"""Columns that a terminal shows; a page shows all."""


def plot_scan(report: ScanReport) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw how many people share their keys with how many others."""
    return plot_people(report.sizes)


def render_scan(report: ScanReport) -> str:
    """Return the page of a scan."""
    uniques = report.uniques
    return render_page(
        "scan.html",
        report=report,
        combinations=() if uniques is None else uniques.combinations[:SHOWN_COMBINATIONS],
        by_size=by_size(report),
        given_away=max(report.given_away.values(), default=0),
        figure=page_picture(plot_scan(report)) if report.keys else None,
    )


def by_size(report: ScanReport) -> list[tuple[int, int]]:
    """Return how many people combinations of at most 1, 2, ... columns single out."""
    uniques = report.uniques
    if uniques is None:
        return []
    return [(size, uniques.singled_out_by(size)) for size in range(1, uniques.largest + 1)]


def print_scan(report: ScanReport, console: Console) -> None:
    """Print a scan: the headline, the columns, the combinations and the next commands."""
    from rich.markup import escape

    console.print()
    console.print(f"[bold]{escape(report.headline)}[/bold]", soft_wrap=True)
    console.print()
    _print_columns(report, console)
    _print_combinations(report, console)
    print_points(report.sentences, console)
    console.print()
    if report.commands:
        console.print(escape(report.before_commands), soft_wrap=True)
        for command in report.commands:
            console.print(f"  {command}", soft_wrap=True, markup=False, highlight=False)
        console.print()


def _print_columns(report: ScanReport, console: Console) -> None:
    from rich.markup import escape

    shown = report.columns[:MOST_COLUMNS]
    if console.width < NARROW:
        for column in shown:
            console.print(f"{escape(column.name)}: [bold]{column.what}[/bold]")
            console.print(f"  {escape(column.why)}", style="dim")
    else:
        table = plain_table()
        table.add_column("column", max_width=30)
        table.add_column("seems to be", no_wrap=True)
        table.add_column("values", justify="right", no_wrap=True)
        table.add_column("missing", justify="right", no_wrap=True)
        table.add_column("why")
        for column in shown:
            parts = column.name, column.what, f"{column.different:,}", f"{column.missing:,}"
            table.add_row(*map(escape, (*parts, "; ".join((column.why, *column.suspicions)))))
        console.print(table)
    if len(report.columns) > MOST_COLUMNS:
        rest = len(report.columns) - MOST_COLUMNS
        console.print(f"and {counted(rest, 'column')} more", style="dim")
    console.print()


def _print_combinations(report: ScanReport, console: Console) -> None:
    from rich.markup import escape

    if report.uniques is None or not report.uniques.combinations:
        return
    table = plain_table("People singled out by a few columns")
    table.add_column("columns")
    table.add_column("people", justify="right", no_wrap=True)
    for size, people in by_size(report):
        table.add_row(f"any {size} or fewer" if size > 1 else "any 1", f"{people:,}")
    for combination in report.uniques.combinations[:SHOWN_COMBINATIONS]:
        table.add_row(escape(" + ".join(combination.columns)), f"{combination.records:,}")
    console.print(table)
    console.print()
