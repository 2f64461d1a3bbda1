"""A check of published tables as a picture, a page and lines in a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from hartley.reports.draw import STYLE
from hartley.reports.template import render_page
from hartley.reports.terminal import plain_table, print_sentences

if TYPE_CHECKING:
    from rich.console import Console

    from hartley.studies.check.check_report import CheckedCell, CheckedStatistic, CheckReport

COLOURS = {"disclosed": "#b4232a", "open": "#d97706", "protected": "#2563a8", "safe": "#94a3b8"}
MOST_LINES = 40
"""Cells that a terminal lists."""
MOST_LISTED = 500
"""Cells that a page lists."""
MOST_DRAWN = 3_000
"""A larger table is listed, not drawn."""


@dataclass(frozen=True)
class DrawnTable:
    """An output laid out as it was published: the rows, the columns and the cell of each pair."""

    name: str
    head: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[CheckedCell, str] | None, ...]], ...]


def plot_check(result: CheckReport) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw how many cells have each verdict."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 2.2), layout="constrained")
        axes = figure.subplots()
        counts = dict(reversed(result.counts.items()))
        bars = axes.barh(list(counts), list(counts.values()), color=[COLOURS[v] for v in counts])
        axes.bar_label(bars, labels=[f"{n:,}" for n in counts.values()], padding=4, fontsize=8.5)
        axes.set_xlabel("cells")
        axes.grid(visible=False, axis="y")
        axes.margins(x=0.1)
    return figure


def render_check(report: CheckReport) -> str:
    """Return the page of a check."""
    tables = [table for part in report.statistics for table in _drawn(part)]
    listed = [
        (cell, cell.interval(part.places), _inner(cell))
        for part in report.statistics
        for cell in part.cells
        if cell.verdict in {"disclosed", "open"}
    ]
    listed.sort(key=lambda entry: (entry[0].verdict != "disclosed", not entry[0].singled_out))
    return render_page(
        "check.html",
        report=report,
        tables=tables,
        listed=listed[:MOST_LISTED],
        more=max(len(listed) - MOST_LISTED, 0),
        counts=report.counts,
    )


def _inner(cell: CheckedCell) -> str:
    """Say how far the interval is attained."""
    if cell.exact:
        return "both ends are attained"
    least, most = cell.inner
    if least is None or most is None:
        return "no whole table was found"
    return "one number was attained" if least == most else f"{least:,} to {most:,} are attained"


def _drawn(part: CheckedStatistic) -> list[DrawnTable]:
    """Lay every output out as rows and columns; the last dimension makes the columns."""
    by_place = {
        (place.output, place.line, place.text, tuple(sorted(cell.keys.items()))): cell
        for cell in part.cells
        for place in cell.places
    }
    drawn = []
    for table in part.tables if not part.assumed else ():
        cells = {}
        for stated in table.cells:
            keys = {d: k for d, k in zip(table.dims, stated.keys, strict=True) if k is not None}
            if table.where:
                keys["selection"] = table.where
            found = by_place.get(
                (table.name, stated.line, stated.text, tuple(sorted(keys.items())))
            )
            if found is not None:
                cells[stated.keys] = found
        if not cells or not table.dims or len(cells) > MOST_DRAWN:
            continue
        *above, last = zip(*cells, strict=True)
        rows = list(dict.fromkeys(zip(*above, strict=True))) if above else [(key,) for key in last]
        columns = list(dict.fromkeys(last)) if above else ["n"]
        lines = []
        for row, _ in product(rows, [0]):
            made = [cells.get((*row, column) if above else row) for column in columns]
            texts = tuple(
                None if cell is None else (cell, _shown(cell, part.places)) for cell in made
            )
            lines.append((" / ".join("Total" if key is None else key for key in row), texts))
        drawn.append(
            DrawnTable(
                f"{table.name}{f', where {table.where}' if table.where else ''}",
                " / ".join(table.dims[:-1] if above else table.dims),
                tuple("Total" if column is None else str(column) for column in columns),
                tuple(lines),
            )
        )
    return drawn


def _shown(cell: CheckedCell, places: int) -> str:
    text = cell.interval(places).removeprefix("exactly ")
    return text.replace(" to ", "\u2013").replace(" or more", "+")


def print_check(report: CheckReport, console: Console, *, values: bool = False) -> None:
    """Print a check: the headline, and the cells that are disclosed or open."""
    from rich.markup import escape

    print_sentences(report.headline, report.sentences, console)
    bad = [
        (part, cell)
        for part in report.statistics
        for cell in part.cells
        if cell.verdict in {"disclosed", "open"}
    ]
    if not bad:
        return
    bad.sort(key=lambda pair: (pair[1].verdict != "disclosed", not pair[1].singled_out))
    table = plain_table("Cells")
    for name in ("cell", "verdict", "rule", *(("interval",) if values else ()), "why"):
        table.add_column(name)
    for part, cell in bad[:MOST_LINES]:
        where = "" if cell.places else " (derived)"
        interval = (cell.interval(part.places),) if values else ()
        table.add_row(
            escape(cell.name + where), cell.verdict, escape(cell.rule), *interval, escape(cell.why)
        )
    console.print(table)
    if len(bad) > MOST_LINES:
        console.print(f"and {len(bad) - MOST_LINES:,} more; --json or --html lists them.")
    console.print()
