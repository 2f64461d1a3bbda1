"""Anonymity reports and anonymized tables as pages, pictures and lines in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.reports.draw import page_picture, plot_release, plot_sizes
from hartley.reports.template import render_page
from hartley.reports.terminal import NARROW, plain_table, print_points
from hartley.studies.look.anonymity import (
    attacks,
    column_measures,
    risk_measures,
    table_measures,
)
from hartley.studies.look.records import check_release
from hartley.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from hartley.studies.look.anonymity import AnonymityReport, MeasureLine
    from hartley.studies.look.records import AnonymizedTable


def plot_anonymity(report: AnonymityReport) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw how many records are in classes of each size."""
    return plot_sizes(report.sizes)


def plot_anonymized(release: AnonymizedTable) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw the sizes of the released classes, and the loss of every key."""
    losses = [(key, float(loss)) for key, loss in zip(release.keys, release.losses, strict=True)]
    bands = check_release(release).sizes
    return plot_release(bands, losses, lost="of what it could reveal")


def render_anonymity(report: AnonymityReport) -> str:
    """Return the page of a report."""
    return render_page(
        "anonymity.html",
        report=report,
        measures=table_measures(report),
        risks=risk_measures(report),
        attacks=attacks(report),
        columns=[(column, column_measures(column, report.unit)) for column in report.confidential],
        given_away=_given_away(report),
        figure=page_picture(plot_anonymity(report)),
    )


def render_anonymized(release: AnonymizedTable) -> str:
    """Return the page of an anonymized table, with its measures computed again."""
    report = check_release(release)
    levels = release.levels or ((None, None),) * len(release.keys)
    return render_page(
        "anonymized.html",
        release=release,
        report=report,
        measures=table_measures(report),
        risks=risk_measures(report),
        keys=list(zip(release.keys, levels, map(float, release.losses), strict=True)),
        attacks=attacks(report),
        figure=page_picture(plot_anonymized(release)),
    )


def _given_away(report: AnonymityReport) -> int:
    homogeneous = (column.homogeneous_rows for column in report.confidential if column.values > 1)
    return max(homogeneous, default=0)


# --- in a terminal ----------------------------------------------------------------------------


def print_anonymity(report: AnonymityReport, console: Console) -> None:
    """Print a report: the headline, every measure, and which attacks succeed."""
    from rich.markup import escape

    console.print()
    console.print(f"[bold]{escape(report.headline)}[/bold]", soft_wrap=True)
    console.print(
        f"{escape(report.table)}: {counted(report.rows, 'record')} in "
        f"{counted(report.classes, 'class')} of equal keys",
        style="dim",
    )
    console.print(escape(report.people.sentence), soft_wrap=True)
    for note in report.notes:
        console.print(f"• {escape(note)}", style="dim")
    console.print()
    print_measures((*table_measures(report), *risk_measures(report)), console, "measure")
    for column in report.confidential:
        title = f"what the keys reveal about {column.column}"
        print_measures(column_measures(column, report.unit), console, title)
    if report.confidential:
        _print_attacks(report, console)


def print_measures(measures: Sequence[MeasureLine], console: Console, title: str) -> None:
    """Print measures as a table, or as a list if the terminal is narrow."""
    from rich.markup import escape

    if console.width < NARROW:
        console.print(f"[bold]{escape(title)}[/bold]")
        for measure in measures:
            console.print(f"{escape(measure.title)}: [bold]{escape(measure.shown)}[/bold]")
            console.print(f"  {escape(measure.sentence)}", style="dim")
        console.print()
        return
    table = plain_table()
    table.add_column(escape(title), no_wrap=True, max_width=42)
    table.add_column("", no_wrap=True, style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("what it means")
    for measure in measures:
        parts = measure.title, measure.symbol, measure.shown, measure.sentence
        table.add_row(*map(escape, parts))
    console.print(table)
    console.print()


def _print_attacks(report: AnonymityReport, console: Console) -> None:
    from rich.markup import escape

    table = plain_table("Attacks")
    table.add_column("attack", no_wrap=True)
    table.add_column("on")
    table.add_column("", no_wrap=True)
    table.add_column("records", justify="right", no_wrap=True)
    table.add_column("why")
    for attack in attacks(report):
        verdict = "[red]succeeds[/red]" if attack.succeeds else "[green]fails[/green]"
        table.add_row(
            attack.title,
            escape(attack.column),
            verdict,
            f"{attack.records:,} of {attack.of:,}",
            attack.sentence,
        )
    console.print(table)
    console.print()


def print_anonymized(release: AnonymizedTable, report: AnonymityReport, console: Console) -> None:
    """Print what was coarsened, what was lost, and the measures counted again."""
    from rich.markup import escape

    console.print()
    console.print(f"[bold]{escape(release.headline)}[/bold]", soft_wrap=True)
    console.print(
        f"{release.method}, {counted(release.classes, 'class')}, "
        f"{counted(release.suppressed, 'record')} left out, "
        f"{float(100 * release.loss):.2f} % of the keys' detail lost",
        style="dim",
    )
    console.print()
    table = plain_table()
    table.add_column("key")
    table.add_column("level", justify="right")
    table.add_column("lost", justify="right")
    levels = release.levels or ((None, None),) * len(release.keys)
    for key, (level, top), loss in zip(release.keys, levels, release.losses, strict=True):
        level_text = "boxes" if level is None else f"{level} of {top}"
        table.add_row(escape(key), level_text, f"{float(100 * loss):.2f} %")
    console.print(table)
    console.print()
    console.print(escape(report.people.sentence), soft_wrap=True)
    print_measures((*table_measures(report), *risk_measures(report)), console, "counted again")
    print_points(
        (*release.sentences[len(release.levels or ()) + 1 :], *succeeding(report)), console
    )
    console.print()


def succeeding(report: AnonymityReport) -> tuple[str, ...]:
    """Return one sentence for each attack that succeeds on the release."""
    return tuple(
        f"The {attack.title} attack on {attack.column} succeeds for {attack.records:,} of "
        f"{attack.of:,} records. {attack.sentence}"
        for attack in attacks(report)
        if attack.succeeds
    )
