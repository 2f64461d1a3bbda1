"""The points of a curve as a table: in a terminal, on a page, as CSV."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.studies.answer_curve import QueryPoint
from hartley.studies.audit import rounded_up
from hartley.studies.curve_words import digits_down, digits_up
from hartley.studies.line_curve import LinePoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from hartley.studies.tradeoff import Point, Tradeoff

NARROW, ROOMY = 94, 108
"""In a narrower terminal every point takes lines of its own; a wider one has room to spare."""


@dataclass(frozen=True)
class Heading:
    """A column of the table: a sign for the terminal, a name, and what it holds of a point."""

    sign: str
    name: str
    value: Callable[[Any], Any]
    show: Callable[[Any], str]

    def shown(self, point: Point) -> str:
        """Return what the column shows of a point; a dash where nothing is known."""
        value = self.value(point)
        if value is None:
            return "–"  # noqa: RUF001 - a dash
        return "∞" if value == math.inf else self.show(value)


def _up(value: float) -> str:
    return f"{math.ceil(value):,}" if value >= 1000 else rounded_up(value)


def _count(value: int) -> str:
    return f"{value:,}" if value < 10**9 else f"{value:.2e}"


def _percent(value: float) -> str:
    return f"{math.ceil(value * 1000) / 10:g} %"


QUERY = (
    Heading("error", "largest error allowed", lambda p: p.error, digits_up),
    Heading("Q", "accuracy Q of equal cells", lambda p: p.equal.accuracy, digits_down),
    Heading("cells", "equal cells", lambda p: p.equal.levels, _count),
    Heading("I⋆", "I⋆, bits", lambda p: p.equal.maximin_information, _up),
    Heading("L₀", "L₀ of equal cells, bits", lambda p: p.equal.leakage, _up),
    Heading("least L₀", "L₀ of the best cells, bits", lambda p: p.best and p.best.leakage, _up),
    Heading("P₁", "privacy P₁ = 1/L₀", lambda p: p.equal.privacy_of_leakage, digits_down),
    Heading("P₂", "privacy P₂ = 1/I⋆", lambda p: p.equal.privacy_of_information, digits_down),
    Heading("dmin", "adversary's error dmin", lambda p: p.equal.smallest_error, digits_down),
    Heading("≥", "dmin by Theorem II.2", lambda p: p.equal.smallest_error_bound, digits_down),
    Heading("dmax", "adversary's error dmax", lambda p: p.equal.largest_error, digits_down),
    Heading("≥", "dmax by Theorem II.1", lambda p: p.equal.largest_error_bound, digits_down),
    Heading("person", "bits about one person", lambda p: p.equal.person_bits, _up),
    Heading("printed", "as printed", lambda p: p.equal.person_bits_printed, _up),
)
LINE = (
    Heading("error", "largest error allowed", lambda p: p.error, digits_up),
    Heading("ρ", "accuracy ρ = 1/error", lambda p: p.accuracy, digits_down),  # noqa: RUF001 - rho
    Heading("ε kept", "ε of stretching", lambda p: p.stretch.epsilon, digits_down),
    Heading("Priv", "Priv of stretching, bits", lambda p: p.stretch.privacy, digits_down),
    Heading("μ(Δ)", "μ(Δ) of stretching", lambda p: p.stretch.deciding, lambda v: f"{v:,.6g}"),
    Heading("deciding", "outputs that decide", lambda p: p.stretch.deciding_share, _percent),
    Heading("ε printed", "ε that blurring claims", lambda p: p.blur.claimed, digits_down),
    Heading("ε blurred", "ε of blurring, by volume", lambda p: p.blur.epsilon, digits_down),
    Heading("Priv blurred", "Priv of blurring, bits", lambda p: p.blur.privacy, digits_down),
)


def _of_records(names: list[str]) -> tuple[Heading, ...]:
    """Return the columns for records: how many cells each column has is one of them."""
    return (
        Heading("bits", "bits a record", lambda p: p.budget, digits_up),
        Heading("outputs", "combinations", lambda p: p.largest.outputs, _count),
        Heading("largest", "largest error", lambda p: p.largest.largest_error, digits_up),
        *(_of_column(name) for name in names),
        Heading("mean", "mean error", lambda p: p.largest.mean_error, digits_up),
        Heading(
            "least mean", "least mean error", lambda p: p.mean and p.mean.mean_error, digits_up
        ),
    )


def _of_column(name: str) -> Heading:
    return Heading(name, f"cells of {name}", lambda p: p.largest.levels[name], _count)


def headings(found: Tradeoff) -> tuple[Heading, ...]:
    """Return the columns of the table of a curve."""
    point = found.points[0]
    if isinstance(point, QueryPoint):
        return QUERY
    return LINE if isinstance(point, LinePoint) else _of_records(list(point.largest.levels))


def render_csv(found: Tradeoff) -> str:
    """Return a curve as CSV: one line a point, nothing where nothing is known or infinite."""
    columns, out = headings(found), io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*(column.name for column in columns), "asked for"])
    for point in found.points:
        values = [_number(column.value(point)) for column in columns]
        writer.writerow([*values, "yes" if point.chosen else "no"])
    return out.getvalue()


def _number(value: Any) -> object:  # noqa: ANN401 - whatever a column holds
    number = float(value) if isinstance(value, Fraction) else value
    return "" if number is None or number == math.inf else number


def print_tradeoff(found: Tradeoff, console: Console) -> None:
    """Print a curve: the headline, what a reader should know, and every point."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    console.print()
    console.print(f"[bold]{escape(found.headline)}[/bold]")
    for sentence in found.sentences:
        console.print(f"• {escape(sentence)}", style="dim")
    console.print()
    columns = headings(found)
    if console.width < NARROW:  # a table would break its numbers
        for point in found.points:
            mark = " (asked for)" if point.chosen else ""
            console.print(f"[bold]{columns[0].name} {columns[0].shown(point)}{mark}[/bold]")
            rest = "; ".join(f"{escape(c.name)} {c.shown(point)}" for c in columns[1:])
            console.print(f"  {rest}")
        return
    space = 1 if console.width >= ROOMY else 0
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, space, 0, 0))
    for column in columns:
        table.add_column(escape(column.sign), justify="right", no_wrap=True)
    for point in found.points:
        style = "bold" if point.chosen else None
        table.add_row(*(column.shown(point) for column in columns), style=style)
    console.print(table)
    console.print()
    if found.kind == "query":
        console.print(
            "Bits; ≥ is what the theorems promise of the error before it; 'printed' is Theorem 8 "
            "as printed, which is too little.",
            style="dim",
        )
