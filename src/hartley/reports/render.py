"""A report in a terminal, on a page and in a notebook, and its tables as CSV."""

from __future__ import annotations

import html
import io
import textwrap
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.files import one_line, write_whole
from hartley.report import Cell, Report
from hartley.reports.draw import STYLE, chart_size, page_picture, plot_chart
from hartley.reports.evidence import page_evidence
from hartley.text import html_table, in_notebook, join_first
from hartley.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from markupsafe import Markup
    from rich.console import Console
    from rich.table import Table

    from hartley.report import Chart, Grid, Heading, Reported, Row, Section, Tile
    from hartley.reports.evidence import Evidence

DOTS = 160
"""The resolution of a picture in a file, in dots per inch."""
WIDTH = 100
"""Characters of a line of print()."""


def report_of(result: Reported | Report) -> Report:
    """Return the report of a result."""
    if isinstance(result, Report):
        return result
    if isinstance(result, type) or not hasattr(result, "report"):
        raise OptionError(
            f"A {type(result).__name__} cannot be drawn or shown on a page",
            hint="pass what an audit, a design, a tradeoff, a release of records or an attack "
            "returned",
        )
    return result.report()


def plot(result: Reported | Report) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw the first picture of a result, such as an audit's curve or an attack's finding.

    Returns a matplotlib figure, to show or to save.

    Example:
        >>> from hartley import audit
        >>> report = audit({"age": [1, 2, 3], "sex": ["F", "F", "M"]}, secret="age", released="sex")
        >>> plot(report).axes[0].get_xlabel()
        'bits'
    """
    report = report_of(result)
    for section in report.sections:
        if section.chart is not None:
            return plot_chart(section.chart)
    raise OptionError(f"{report.name}: there is nothing to draw", hint="read its sentences")


def picture(result: Reported | Report, kind: str) -> bytes:
    """Return the first picture of a result as the content of a file: png, svg or pdf."""
    import matplotlib as mpl

    out = io.BytesIO()
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with mpl.rc_context(STYLE):
        plot(result).savefig(out, format=kind, dpi=DOTS, metadata=stamp)
    return out.getvalue()


def shown_sections(report: Report) -> list[Section]:
    """Return what is not for pages only: sections, and columns of their tables."""
    shown = [section for section in report.sections if not section.page_only]
    for place, section in enumerate(shown):
        table = section.table
        if table is not None and any(heading.page_only for heading in table.headings):
            kept = [k for k, heading in enumerate(table.headings) if not heading.page_only]
            rows = tuple(tuple(row[k] for k in kept) for row in table.rows)
            table = replace(table, headings=tuple(table.headings[k] for k in kept), rows=rows)
            shown[place] = replace(section, table=table)
    return shown


def cut(table: Grid, most: int | None) -> tuple[tuple[Row, ...], int]:
    """Return the rows that are shown, and how many more there are; steps are spread evenly."""
    if most is None or len(table.rows) <= most:
        return table.rows, 0
    if table.steps:
        every, last = -(-len(table.rows) // most), len(table.rows) - 1
        return tuple(row for k, row in enumerate(table.rows) if k % every == 0 or k == last), 0
    return table.rows[:most], len(table.rows) - most


def as_cell(cell: Cell | str) -> Cell:
    """Return a cell; a text alone is one."""
    return Cell(cell) if isinstance(cell, str) else cell


def cell_text(cell: Cell) -> str:
    """Return a cell in one line: what stands in small letters and as a tag comes last."""
    return " ".join(part for part in (cell.text, cell.small, cell.tag and f"({cell.tag})") if part)


def has_meaning(table: Grid | None) -> bool:
    """Whether the lines of a table can be read as sentences."""
    return table is not None and any(heading.kind == "meaning" for heading in table.headings)


# --- in a terminal --------------------------------------------------------------------------------

VERDICTS = {None: "", True: "green", False: "red"}
NUMERIC = {"number", "amount"}
MOST_ROWS, MOST_POINTS, MOST_LINES = (10, 7, 5, 3), 5, 25
"""What a terminal shows of a report without --details, and how many lines it takes."""
NARROW, ENDLESS = 72, 10_000
"""A terminal narrower than the first width shows tables with sentences line by line."""


def print_report(report: Report, console: Console, most: int | None = None) -> None:
    """Print a report: the headline, then the sections that are not for pages only.

    With ``most`` lines: short tables and the first points, without details; warnings and
    commands have precedence, and a last line names the sections that are left out.
    """
    from rich.text import Text

    shown = shown_sections(report)
    console.print()
    console.print(Text(wrapped(report.name, console.width), "dim"))
    console.print(Text(report.headline, "bold"), soft_wrap=not console.is_terminal)
    if report.lead:
        console.print(Text(wrapped(report.lead, console.width)))
    _print_tiles(report.tiles, console)
    fitting: Sequence[Section | None] = shown
    if most is not None:
        tiles = "; ".join(f"{tile.number} {tile.text}" for tile in report.tiles)
        above = (report.name, report.headline, report.lead, tiles)
        fitting = _fitting(shown, console, most - sum(_height(t, console) for t in above) - 2)
    for place, section in enumerate(fitting):
        if section is not None:
            console.file.write(_section_text(section, console, titled=place > 0))
    left_out = [
        whole.title
        for whole, section in zip(shown, fitting, strict=True)
        if _section_text(whole, console, titled=False)
        and (
            section is None or section.points != whole.points or (whole.table and not section.table)
        )
    ]
    if left_out:
        more = f"--details prints more: {join_first(left_out, 4)}"
        console.print(Text(one_line(more, console.width), "dim"))
    console.print()


def _height(text: str, console: Console) -> int:
    """Return how many lines a sentence takes."""
    return wrapped(text, console.width).count("\n") + 1 if text else 0


def _fitting(sections: Sequence[Section], console: Console, lines: int) -> list[Section | None]:
    """Return what fits of each section: one table, a few points, and None where nothing does."""
    fitting: list[Section | None] = [None] * len(sections)
    points, tables = MOST_POINTS, 1
    lines -= 1  # for the line that names the others
    urgent = [not (section.warning or section.commands) for section in sections]
    for place in sorted(range(len(sections)), key=urgent.__getitem__):
        whole = sections[place]
        short = replace(whole, points=whole.points[:points])
        bare = replace(short, table=None)
        tried = [replace(bare, points=short.points[:k]) for k in range(len(short.points), 0, -1)]
        if whole.table is None or whole.commands:  # without its table, a section may say nothing
            tried.append(replace(bare, points=()))
        if whole.table is not None and tables:
            rows = {min(whole.table.most or most, most): None for most in MOST_ROWS}
            tried = [replace(short, table=replace(whole.table, most=k)) for k in rows] + tried
        for section in () if whole.details else tried:
            height = _section_text(section, console, titled=place > 0).count("\n")
            height += sum((len(command) + 1) // console.width for command in section.commands)
            if height > 0 and (height <= lines or (section.commands and section is tried[-1])):
                fitting[place], lines = section, lines - height
                points, tables = points - len(section.points), tables - (section.table is not None)
                break
    return fitting


def _section_text(section: Section, console: Console, *, titled: bool) -> str:
    """Return a section as it is printed; nothing if there is nothing below its title."""
    from rich.text import Text

    with console.capture() as captured:
        if section.sentences:
            console.print(Text(wrapped(" ".join(section.sentences), console.width)))
        _print_tiles(section.tiles, console)
        for point in section.points:
            console.print(Text(wrapped(point, console.width, " • ")))
        if section.table is not None:
            if section.sentences or section.points:
                console.print()
            print_table(section.table, console)
        for command in section.commands:
            console.print(f"  {command}", soft_wrap=True, markup=False, highlight=False)
    if not titled or not captured.get():
        return captured.get()
    with console.capture() as title:
        console.print()
        console.print(Text(wrapped(section.title, console.width), "bold"))
    return title.get() + captured.get()


def _print_tiles(tiles: tuple[Tile, ...], console: Console) -> None:
    if tiles:
        counts = "; ".join(f"{tile.number} {tile.text}" for tile in tiles)
        console.print(wrapped(counts, console.width), style="dim", markup=False, highlight=False)


def wrapped(text: str, width: int, sign: str = "") -> str:
    """Wrap a sentence at a width behind its sign; a number stays with its percent sign."""
    indent = " " * len(sign)
    lines = [
        line
        for part in text.replace(" %", "\u00a0%").splitlines()
        for line in textwrap.wrap(part, max(width - len(sign), 20), break_on_hyphens=False) or [""]
    ]
    text = "\n".join((indent if place else sign) + line for place, line in enumerate(lines))
    return text.replace("\u00a0%", " %")


def print_table(table: Grid, console: Console) -> None:
    """Print a table, or its rows as lines where the terminal is too narrow for it."""
    rows, more = cut(table, table.most)
    drawn, least = _drawn(table.headings, rows), ENDLESS
    for room in ((0, 1, 0, 1), (0, 1, 0, 0), (0, 0, 0, 0)):  # numbers stand closer before lines do
        if least > console.width:
            drawn.padding = room
            least = console.measure(drawn, options=console.options.update(width=ENDLESS)).minimum
    if console.width < (NARROW if has_meaning(table) else least):
        for line in rows:
            _print_lines(table.headings, line, console)
    else:
        console.print(drawn)
    if more:
        console.print(f"and {more:,} more; --details or --json lists all", style="dim")


def _drawn(headings: tuple[Heading, ...], rows: tuple[Row, ...]) -> Table:
    """Return rows as a table for a terminal; tags stand behind them."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    columns: list[list[Text]] = []
    for place, heading in enumerate(headings):
        cells = [as_cell(row[place]) for row in rows]
        numeric = heading.kind in NUMERIC
        drawn.add_column(
            Text(heading.sign or heading.name),
            justify="right" if numeric else "left",
            no_wrap=numeric or heading.kind == "word",
            max_width=42 if heading.kind == "name" else None,
            overflow="fold",
        )
        columns.append([Text(cell.text, VERDICTS[cell.good]) for cell in cells])
        if any(cell.small for cell in cells):
            drawn.add_column("", style="dim")
            columns.append([Text(cell.small) for cell in cells])
    tags = [[f" ({tag})" for cell in row if (tag := as_cell(cell).tag)] for row in rows]
    if any(tags) and headings[-1].kind in NUMERIC:
        drawn.add_column("")
        columns.append([Text() for _ in rows])
    for shown, texts in zip(tags, zip(*columns, strict=True), strict=True):
        for tag in shown:
            texts[-1].append(tag, "dim")
        drawn.add_row(*texts)
    return drawn


def _print_lines(headings: tuple[Heading, ...], row: Row, console: Console) -> None:
    """Print a row of a table below its first cell; what it means comes last."""
    from rich.text import Text

    (heading, cell), *others = zip(headings, map(as_cell, row), strict=True)
    name = f"{heading.name} " if heading.kind == "number" else ""
    console.print(Text(wrapped(name + cell_text(cell), console.width), "bold"))
    named = [f"{one.name} {cell_text(cell)}" for one, cell in others if one.kind != "meaning"]
    if named:
        console.print(Text(wrapped("; ".join(named), console.width, "  ")))
    for one, cell in others:
        if one.kind == "meaning":
            console.print(Text(wrapped(cell.text, console.width, "  "), "dim"))


# --- print() and notebooks ------------------------------------------------------------------------


def plain_text(report: Report) -> str:
    """Return the headline, and below it every sentence, point and line with a meaning.

    Example:
        >>> from hartley.report import Grid, Heading, Section
        >>> headings = Heading("measure", "name"), Heading("bits", "number"), Heading("", "meaning")
        >>> table = Grid(headings, ((Cell("leakage", "L₀"), "1.00", "Half of it."),))
        >>> print(plain_text(Report("Audit", "sex tells half.", (), (Section("", table=table),))))
        sex tells half.
        • leakage L₀: 1.00 bits. Half of it.
    """
    lines = [wrapped(text, WIDTH) for text in (report.headline, report.lead) if text]
    for place, section in enumerate(shown_sections(report)):
        paragraph = " ".join(section.sentences)
        told = [f"{section.title}: {paragraph}" if place else paragraph] if paragraph else []
        told += [*section.points, *_read_rows(section.table)]
        lines += [wrapped(line, WIDTH, "• ") for line in told]
        lines += [f"  {command}" for command in section.commands]
    return "\n".join(lines)


def _read_rows(table: Grid | None) -> Iterator[str]:
    """Yield the rows of a table with a meaning as sentences: each begins with its name."""
    if table is None or not has_meaning(table):
        return
    for row in table.rows[: table.most]:
        cells = [
            (heading, cell_text(as_cell(cell)))
            for heading, cell in zip(table.headings, row, strict=True)
        ]
        name, *others = (
            f"{text} {heading.name}" if heading.kind == "number" else text
            for heading, text in cells
            if heading.kind != "meaning"
        )
        (meaning,) = (text for heading, text in cells if heading.kind == "meaning")
        said = f"{name}: {', '.join(filter(None, others))}"
        yield f"{said}. {meaning[:1].upper()}{meaning[1:]}".rstrip(". ") + "."


def notebook(report: Report) -> str:
    """Return the headline, sentences and tables with meanings as HTML."""
    out = [f"<p><b>{html.escape(report.headline)}</b></p>"]
    out += [f"<p>{html.escape(report.lead)}</p>"] if report.lead else []
    for section in shown_sections(report):
        said = "".join(f"<li>{html.escape(s)}</li>" for s in (*section.sentences, *section.points))
        out.append(f"<ul>{said}</ul>" if said else "")
        out += [f"<pre>{html.escape(command)}</pre>" for command in section.commands]
        if section.table is not None and has_meaning(section.table):
            lines = [[cell_text(as_cell(cell)) for cell in row] for row in section.table.rows]
            out.append(html_table([_heading(one) for one in section.table.headings], lines))
    return in_notebook("".join(out))


# --- files ----------------------------------------------------------------------------------------


def write_html(report: Reported | Report, path: str | os.PathLike[str]) -> Path:
    """Write a result as one self-contained HTML file for a browser, a phone or a printer.

    The file is written completely or not at all. At its end stands when, by which version and, for
    a command, from which files it was made.

    Example:
        >>> import tempfile
        >>> from hartley import audit
        >>> report = audit({"age": [1, 2, 3], "sex": ["F", "F", "M"]}, secret="age", released="sex")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_html(report, f"{folder}/audit.html").stat().st_size > 1000)
        True
    """
    return write_whole(path, page(report, page_evidence(path)))


# --- the page -------------------------------------------------------------------------------------

MOST_LISTED = 500
"""Rows of a list with a limit that a page shows."""
MANY = 6
"""A table of more columns is set in smaller letters."""


def page(result: Reported | Report, evidence: Evidence | None = None) -> str:
    """Return the page of a result."""
    return render_page("report.html", evidence, report=report_of(result))


def render_page(template: str, evidence: Evidence | None = None, **content: Any) -> str:  # noqa: ANN401 - the values of the template
    """Return a page: a filled-in template with the style sheet that all pages share.

    All values are escaped, unless the template marks them as safe.

    Example:
        >>> from hartley.reports import render
        >>> "@media print" in render.asset("page.css")
        True
    """
    environment = page_environment(asset)
    environment.filters |= {
        "cell": as_cell,
        "frame": _frame,
        "heading": _heading,
        "listed": _listed,
        "look": _look,
        "picture": _picture,
        "words": unbroken_words,
    }
    text: str = environment.get_template(template).render(
        style=asset("tables.css") + asset("page.css"),
        version=__version__,
        evidence=evidence,
        **content,
    )
    return text.replace(" %", "\u00a0%")  # a number stays with its percent sign


def page_environment(read: Callable[[str], str]) -> Any:  # noqa: ANN401 - jinja2 is imported on use
    """Return an environment of templates: all values are escaped, unknown names are errors.

    Args:
        read: a function from the name of a template to its text.

    Example:
        >>> templates = page_environment({"hello": "<p>{{ name }}</p>"}.get)
        >>> templates.get_template("hello").render(name="<i>")
        '<p>&lt;i&gt;</p>'
    """
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def asset(name: str) -> str:
    """Return the content of a file in the folder of templates."""
    return files("hartley.reports").joinpath("templates", name).read_text("utf-8")


def _heading(heading: Heading) -> str:
    """Begin a heading with a capital; names of the data and Greek letters stay as they are."""
    name = heading.name
    if heading.kind in {"data", "cell"} or not name[:1].isascii():
        return name
    return name[:1].upper() + name[1:]


def _listed(table: Grid) -> tuple[tuple[Row, ...], int]:
    return cut(table, None if table.most is None or table.steps else MOST_LISTED)


def _look(section: Section) -> str:
    """Choose how a table looks by what it holds and how wide it is."""
    table = section.table
    assert table is not None  # checked by the template
    if any(heading.kind == "cell" for heading in table.headings):
        return "crosstab"
    wide, many = len(table.headings) > 4, len(table.headings) > MANY
    if has_meaning(table):
        return "columns" if wide else "findings"
    dense = "dense many " if many else "dense " if table.folded else ""
    return dense + ("cards" if wide else "compact")


def _frame(chart: Chart) -> str:
    """Choose how much of a page a picture fills: a low one less of a printed page."""
    widths, heights = chart_size(chart)
    return "broad" if sum(widths) > 8 else "fit" if sum(heights) < 5 else ""


def _picture(chart: Chart) -> Markup:
    from markupsafe import Markup

    return Markup(page_picture(plot_chart(chart)))  # noqa: S704 - matplotlib escapes its texts


def unbroken_words(command: str) -> Markup:
    """Return a command as HTML in which no line ends within a word, after the - of an option.

    Example:
        >>> str(unbroken_words("a --b"))
        '<span class="word">a</span> <span class="word">--b</span>'
    """
    from markupsafe import Markup

    word = Markup('<span class="word">{}</span>')
    return Markup(" ").join(word.format(part) for part in command.split(" "))
