"""An audit as a picture, a page and lines in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.reports.draw import PALE, STYLE
from hartley.reports.page_picture import page_picture
from hartley.reports.template import render_page
from hartley.reports.terminal import NARROW, plain_table
from hartley.text import two_decimals_up, value_text

if TYPE_CHECKING:
    from rich.console import Console

    from hartley.studies.look.audit import AuditReport, SweepPoint

LINES = (
    ("maximal_guessing_leakage", "maximal guessing leakage L⋆", "#b4232a", "-"),
    ("nonstochastic_leakage", "leakage L₀", "#d97706", "-"),
    ("maximin_information", "maximin information I⋆", "#2563a8", "-"),
    ("maximal_leakage", "maximal leakage, stochastic", "#64748b", "--"),
    ("mutual_information", "mutual information, stochastic", "#94a3b8", ":"),
)
SHOWN_NARROWINGS = 5
SHOWN_STEPS = 12


def plot_audit(result: AuditReport) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw an audit: its privacy-utility curve, or without a sweep its measures."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        if result.sweep:
            figure = Figure(figsize=(7.2, 6.2), layout="constrained")
            worst, people = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
            _draw_curve(worst, result)
            _draw_people(people, result)
            people.set_xlabel(worst.get_xlabel())
            worst.set_xlabel("")
        else:
            figure = Figure(figsize=(7.2, 4.6), layout="constrained")
            _draw_bars(figure.subplots(), result)
    return figure


def render_audit(report: AuditReport) -> str:
    """Return the page of an audit."""
    return render_page(
        "audit.html",
        report=report,
        curve=page_picture(plot_audit(report)) if report.sweep else None,
        total=report["hartley_entropy"].value,
    )


def _draw_curve(axes: Any, report: AuditReport) -> None:  # noqa: ANN401 - untyped
    """Draw leakage against distortion, with one line per measure."""
    points = sorted(report.sweep, key=lambda point: point.distortion)
    total = report["hartley_entropy"].value
    axes.axhline(total, color=PALE, linewidth=1.2)
    axes.annotate(
        f"all of the secret: {two_decimals_up(total)} {report.unit}",
        (0.995, total),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        ha="right",
        fontsize=8.5,
        color="#64748b",
    )
    # Widest first, so that a line under another one is still visible.
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
    axes.set_ylabel(f"what the release reveals ({report.unit})")
    axes.set_ylim(bottom=-0.02 * total, top=1.12 * total)
    axes.set_xlim(0, max(points[-1].distortion, 1e-9) * 1.03)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8.5)


LEAST_SHARE = 0.1
"""The percentage of the people that the axis reaches at least: less is drawn as nearly nobody."""
PEOPLE_LINES = (
    ("given_away", "people given away", "#b4232a", "-"),
    ("among_few", "people among fewer than {k}", "#2563a8", "--"),
)


def _draw_people(axes: Any, report: AuditReport) -> None:  # noqa: ANN401 - untyped
    """Draw the share of the people whom every step gives away, or leaves among few."""
    points = sorted(report.sweep, key=lambda point: point.distortion)
    for name, label, colour, style in PEOPLE_LINES:
        axes.plot(
            [point.distortion for point in points],
            [100 * getattr(point, name) / max(report.rows, 1) for point in points],
            label=label.format(k=report.people.k),
            color=colour,
            linestyle=style,
            linewidth=2,
            marker="." if len(points) < 120 else None,
            markersize=5,
        )
    most = max(max(point.given_away, point.among_few) for point in points)
    top = max(100 * most / max(report.rows, 1), LEAST_SHARE)
    axes.set_ylabel("people (%)")
    axes.set_ylim(-0.03 * top, 1.08 * top)
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
            two_decimals_up(finding.value),
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


def print_audit(report: AuditReport, console: Console) -> None:
    """Print an audit: the headline, every measure, and the values that narrow the secret most."""
    from rich.markup import escape

    console.print()
    console.print(f"[bold]{escape(report.headline)}[/bold]", soft_wrap=True)
    console.print(
        f"{escape(report.table)}: {report.rows:,} rows, {report.secret_values:,} secrets, "
        f"{report.released_values:,} released values, {report.pairs:,} pairs",
        style="dim",
    )
    console.print(escape(report.people.sentence), soft_wrap=True)
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
            console.print(f"[bold]{finding.title}: {finding.in_words} {report.unit}[/bold]")
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
        table.add_row(finding.title, finding.symbol, finding.marked, finding.sentence + mark)
    console.print(table)
    console.print()


def _print_narrowest(report: AuditReport, console: Console) -> None:
    from rich.markup import escape

    table = plain_table("Released values that narrow the secret most")
    table.add_column(escape(", ".join(report.released)))
    for name in ("secrets left", "rows", f"{report.unit} revealed, at most"):
        table.add_column(name, justify="right")
    for narrowing in report.narrowest[:SHOWN_NARROWINGS]:
        table.add_row(
            escape(value_text(narrowing.released)),
            f"{narrowing.secrets_left:,}",
            f"{narrowing.rows:,}",
            two_decimals_up(narrowing.bits),
        )
    console.print(table)
    console.print()


def _print_sweep(report: AuditReport, console: Console) -> None:
    table = plain_table(f"Privacy against utility: {report.sweep_column or ''} in coarser steps")
    names = "step", "distortion", "values", "L⋆", "L₀", "I⋆", "L̃⋆", "I"
    for name in (*names, "given away", f"among < {report.people.k}"):
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
            f"{point.given_away:,}",
            f"{point.among_few:,}",
        )
    console.print()
    console.print(table)
