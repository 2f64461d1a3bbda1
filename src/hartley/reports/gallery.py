"""The figures of the papers as files, and a page with all of them."""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.files import write_whole
from hartley.reports.draw import STYLE, figure_svg, page_picture, plot_chart
from hartley.reports.render import DOTS, render_page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hartley.papers.figure import Reproduced

GALLERY = "gallery.html"
PAPERS = {
    "A": "Deterministic Privacy-Preserving Policies (Farokhi)",
    "B": "Noiseless Privacy (Farokhi)",
    "C": "Non-Stochastic Brute-Force Guessing (Farokhi and Ding)",
    "D": "Non-Stochastic Hypothesis Testing (Farokhi)",
    "E": "From t-Closeness to Postrandomization (Rebollo-Monedero and others)",
    "beyond": "Beyond the papers",
}


@dataclass(frozen=True)
class DrawnFigure:
    """A figure with the names of its files, ready for the page."""

    result: Reproduced
    svg: str
    files: tuple[str, ...]


def write_figure(result: Reproduced, folder: Path) -> DrawnFigure:
    """Draw a figure and write its picture (PNG and SVG) and its numbers (CSV) into a folder.

    A figure that could not be computed has no files.
    """
    import matplotlib as mpl

    if result.chart is None:
        return DrawnFigure(result, "", ())
    name = result.figure.file_name
    figure = plot_chart(result.chart)
    svg, png = figure_svg(figure), io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(png, format="png", dpi=DOTS)
    contents: dict[str, str | bytes] = {
        f"{name}.png": png.getvalue(),
        f"{name}.svg": svg,
        f"{name}.csv": result.chart.csv(),
    }
    for file, content in contents.items():
        write_whole(folder / file, content)
    return DrawnFigure(result, page_picture(figure), tuple(contents))


def render_gallery(drawn: Sequence[DrawnFigure]) -> str:
    """Return a page with every figure, what it shows and which expected findings hold."""
    papers: dict[str, list[DrawnFigure]] = {}
    for figure in drawn:
        papers.setdefault(figure.result.figure.paper, []).append(figure)
    claims = [claim for figure in drawn for claim in figure.result.claims]
    return render_page(
        "gallery.html",
        papers=[(paper, PAPERS.get(paper, paper), listed) for paper, listed in papers.items()],
        figures=sum(bool(figure.svg) for figure in drawn),
        missing=sum(not figure.svg for figure in drawn),
        synthetic=sum(figure.result.synthetic for figure in drawn),
        claims=len(claims),
        broken=sum(not claim.holds for claim in claims),
        seconds=sum(figure.result.seconds for figure in drawn),
    )


def write_gallery(drawn: Sequence[DrawnFigure], folder: Path) -> Path:
    """Write the page into the folder of the pictures, completely or not at all."""
    return write_whole(folder / GALLERY, render_gallery(drawn))


def print_figure(drawn: DrawnFigure, console: Any) -> None:  # noqa: ANN401 - a rich console, untyped
    """Print the title of a figure, which expected findings hold, and its files."""
    result = drawn.result
    console.print(f"{result.figure.name}  {result.figure.title}", style="bold", markup=False)
    if result.problem:
        _print_indented(console, "Not drawn: ", result.problem, "red")
    else:
        _print_indented(console, "", result.origin, "dim")
    for claim in result.claims:
        sign, style = ("✓ ", "green") if claim.holds else ("✗ does not hold: ", "bold red")
        _print_indented(console, sign, claim.sentence, style)
    if drawn.files:
        _print_indented(console, "", ", ".join(drawn.files), "dim")
    console.print()


def _print_indented(console: Any, sign: str, sentence: str, style: str) -> None:  # noqa: ANN401 - untyped
    """Print an indented sentence, with its sign (or all of it) in a style."""
    from rich.text import Text

    lines = textwrap.wrap(
        sign + sentence, console.width, initial_indent="  ", subsequent_indent="    ",
        break_on_hyphens=False,
    )  # fmt: skip
    text = Text("\n".join(lines))
    text.stylize(style, 0, len(sign) + 2 if sign else len(text))
    console.print(text)
