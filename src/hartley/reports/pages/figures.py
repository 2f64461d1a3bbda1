"""Figures of the papers as files, and all of them on one page."""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.files import write_whole
from hartley.reports.draw import STYLE, figure_svg, plot_chart
from hartley.reports.template import render_page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hartley.papers.reproduce import Reproduced

GALLERY = "gallery.html"
PAPERS = {
    "A": "Deterministic Privacy-Preserving Policies (Farokhi)",
    "B": "Noiseless Privacy (Farokhi)",
    "C": "Non-Stochastic Brute-Force Guessing (Farokhi and Ding)",
    "D": "Non-Stochastic Hypothesis Testing (Farokhi)",
    "E": "From t-Closeness to Postrandomization (Rebollo-Monedero and others)",
    "beyond": "Beyond the papers",
}
DOTS = 160
"""Dots an inch of a picture."""


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with the names of its files, ready for the page."""

    found: Reproduced
    svg: str
    files: tuple[str, ...]


def write_figure(found: Reproduced, folder: Path) -> DrawnFigure:
    """Draw a figure and write its picture (PNG and SVG) and its numbers (CSV) into a folder.

    A figure that could not be computed has no files.
    """
    import matplotlib as mpl

    if found.chart is None:
        return DrawnFigure(found, "", ())
    name = found.figure.file_name
    figure = plot_chart(found.chart)
    svg, png = figure_svg(figure), io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(png, format="png", dpi=DOTS)
    contents: dict[str, str | bytes] = {
        f"{name}.png": png.getvalue(),
        f"{name}.svg": svg,
        f"{name}.csv": found.chart.csv(),
    }
    for file, content in contents.items():
        write_whole(folder / file, content)
    return DrawnFigure(found, svg, tuple(contents))


def render_gallery(drawn: Sequence[DrawnFigure]) -> str:
    """Return one page with every figure, what it shows and what was expected of it."""
    papers: dict[str, list[DrawnFigure]] = {}
    for one in drawn:
        papers.setdefault(one.found.figure.paper, []).append(one)
    claims = [claim for one in drawn for claim in one.found.claims]
    return render_page(
        "gallery.html",
        papers=[(paper, PAPERS.get(paper, paper), found) for paper, found in papers.items()],
        figures=sum(bool(one.svg) for one in drawn),
        missing=sum(not one.svg for one in drawn),
        synthetic=sum(one.found.synthetic for one in drawn),
        claims=len(claims),
        broken=sum(not claim.holds for claim in claims),
        seconds=sum(one.found.seconds for one in drawn),
    )


def write_gallery(drawn: Sequence[DrawnFigure], folder: Path) -> Path:
    """Write the page beside the pictures, whole or not at all."""
    return write_whole(folder / GALLERY, render_gallery(drawn))


def print_figure(drawn: DrawnFigure, console: Any) -> None:  # noqa: ANN401 - a rich console, untyped
    """Print what a figure shows, what was expected of it and where its files are."""
    found = drawn.found
    console.print(f"{found.figure.name}  {found.figure.title}", style="bold", markup=False)
    if found.problem:
        _print_indented(console, "Not drawn: ", found.problem, "red")
    else:
        _print_indented(console, "", found.origin, "dim")
    for claim in found.claims:
        sign, style = ("✓ ", "green") if claim.holds else ("✗ does not hold: ", "bold red")
        _print_indented(console, sign, claim.sentence, style)
    if drawn.files:
        _print_indented(console, "", ", ".join(drawn.files), "dim")
    console.print()


def _print_indented(console: Any, sign: str, sentence: str, style: str) -> None:  # noqa: ANN401 - untyped
    """Print a sentence a little to the right, its first word or all of it in a style."""
    from rich.text import Text

    lines = textwrap.wrap(
        sign + sentence, console.width, initial_indent="  ", subsequent_indent="    ",
        break_on_hyphens=False,
    )  # fmt: skip
    text = Text("\n".join(lines))
    text.stylize(style, 0, len(sign) + 2 if sign else len(text))
    console.print(text)
