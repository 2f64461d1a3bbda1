"""Results in a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from hartley.studies.audit import rounded_up, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table

    from hartley.studies.audit import AuditReport
    from hartley.studies.design import Design
    from hartley.studies.release import ReleaseReport

SHOWN_NARROWINGS = 5
SHOWN_STEPS = 12
NARROW = 72


def plain_table(title: str | None = None) -> Table:
    """Return an empty table without a frame, as all commands print them."""
    from rich import box
    from rich.table import Table

    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )


def print_audit(report: AuditReport, console: Console) -> None:
    """Print an audit: the headline, every measure, and what narrows the secret most."""
    from rich.markup import escape

    console.print()
    console.print(f"[bold]{escape(report.headline)}[/bold]", soft_wrap=True)
    console.print(
        f"{escape(report.table)}: {report.rows:,} rows, {report.secret_values:,} secrets, "
        f"{report.released_values:,} released values, {report.pairs:,} pairs",
        style="dim",
    )
    for note in report.notes:
        console.print(f"• {escape(note)}", style="dim")
    console.print()
    _print_findings(report, console)
    _print_narrowest(report, console)
    console.print(f"[bold]Worst attribute.[/bold] {escape(report.worst_attribute)}")
    if report.hypothesis is not None:
        console.print(
            f"[bold]Hypothesis.[/bold] {escape(report.hypothesis.sentence)} "
            f"Privacy against it: {report.hypothesis.privacy:.4f} {report.unit}."
        )
    if report.sweep:
        _print_sweep(report, console)
    console.print()


def _print_findings(report: AuditReport, console: Console) -> None:
    if console.width < NARROW:  # a table would leave no room for the sentences
        for finding in report.findings:
            console.print(f"[bold]{finding.title}: {finding.shown} {report.unit}[/bold]")
            console.print(f"  {finding.sentence}")
        console.print()
        return
    table = plain_table()
    table.add_column("measure", no_wrap=True)
    table.add_column("", no_wrap=True, style="dim")
    table.add_column(report.unit, justify="right", no_wrap=True)
    table.add_column("what it means")
    for finding in report.findings:
        mark = "" if finding.certainty == "exact" else f" [dim]({finding.certainty})[/dim]"
        table.add_row(finding.title, finding.symbol, finding.shown, finding.sentence + mark)
    console.print(table)
    console.print()


def _print_narrowest(report: AuditReport, console: Console) -> None:
    from rich.markup import escape

    table = plain_table("Released values that narrow the secret most")
    table.add_column(escape(", ".join(report.released)))
    for name in ("secrets left", "rows", f"{report.unit} told"):
        table.add_column(name, justify="right")
    for narrowing in report.narrowest[:SHOWN_NARROWINGS]:
        table.add_row(
            escape(shown(narrowing.released)),
            f"{narrowing.secrets_left:,}",
            f"{narrowing.rows:,}",
            rounded_up(narrowing.bits),
        )
    console.print(table)
    console.print()


def _print_sweep(report: AuditReport, console: Console) -> None:
    from rich.markup import escape

    table = plain_table(
        f"Privacy against utility: {escape(report.sweep_column or '')} in coarser steps"
    )
    for name in ("step", "distortion", "values", "L⋆", "L₀", "I⋆", "L̃⋆", "I"):
        table.add_column(name, justify="right")
    every = -(-len(report.sweep) // SHOWN_STEPS)
    for place, point in enumerate(report.sweep):
        if place % every and place != len(report.sweep) - 1:
            continue
        table.add_row(
            point.step,
            f"{point.distortion:.4g}",
            f"{point.released_values:,}",
            f"{point.maximal_guessing_leakage:.3f}",
            f"{point.nonstochastic_leakage:.3f}",
            f"{point.maximin_information:.3f}",
            f"{point.maximal_leakage:.3f}",
            f"{point.mutual_information:.3f}",
        )
    console.print()
    console.print(table)


def print_design(design: Design, console: Console) -> None:
    """Print a design: the headline, and what a reader should know."""
    print_sentences(design.headline, design.sentences, console)


def print_release(report: ReleaseReport, console: Console) -> None:
    """Print a release: the headline, and what a reader should know."""
    print_sentences(report.headline, report.sentences, console)


def print_sentences(headline: str, sentences: Sequence[str], console: Console) -> None:
    """Print a headline and sentences below it."""
    from rich.markup import escape

    console.print()
    console.print(f"[bold]{escape(headline)}[/bold]", soft_wrap=True)
    print_points(sentences, console)
    console.print()


def print_points(sentences: Iterable[str], console: Console) -> None:
    """Print sentences as a list, folded at the width of the console."""
    from rich.text import Text

    for sentence in sentences:
        lines = textwrap.wrap(sentence, max(console.width - 3, 20), break_on_hyphens=False)
        console.print(
            Text("\n".join(("   " if k else " • ") + line for k, line in enumerate(lines)))
        )
