"""What a result says: headline, tiles, sections, tables and charts, as data without any markup."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


# --- report ---------------------------------------------------------------------------------------
# All texts are plain: only the renderers in reports/render.py escape them.

HeadingKind: TypeAlias = Literal[
    "text", "name", "data", "word", "number", "amount", "cell", "meaning"
]
"""What a column holds: texts; names of things; values of the data, under their own names; words
that are not broken; numbers, counted in what the heading says; amounts, each with its own unit;
cells of a published table, whose tags are verdicts; sentences that say what the line means."""


@dataclass(frozen=True)
class Heading:
    """A column of a table: its name on a page, and in a terminal its sign if it has one."""

    name: str
    kind: HeadingKind = "text"
    sign: str = ""
    page_only: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell of a table, where a text alone does not say enough."""

    text: str
    small: str = ""
    """What stands below it in small letters."""
    tag: str = ""
    """A word beside it; the tag of the first cell also colours the line."""
    share: float | None = None
    """Between 0 and 1: how much of a bar below it is filled."""
    good: bool | None = None
    """Whether it is a good or a bad verdict."""
    hint: str = ""
    """What a page says of it to those who point at it."""


Row: TypeAlias = "tuple[Cell | str, ...]"


@dataclass(frozen=True)
class Grid:
    """A table of texts."""

    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    folded: str = ""
    """On a page the table is folded under these words."""
    most: int | None = None
    """Rows that a terminal shows; a page shows all, or 500 of a list with a limit."""
    steps: bool = False
    """Whether the rows are steps of one scale: some are shown along all of it, not the first."""


@dataclass(frozen=True)
class Tile:
    """A large number, what it counts, and whether to be warned of it."""

    number: str
    text: str
    warn: bool | Literal["amber"] = False
    """In red, or in amber."""


@dataclass(frozen=True)
class Section:
    """A part of a report: a paragraph of sentences, a list of points, a picture, a table.

    Below a line break in the last sentence or in a point, lines are shown as they are.
    """

    title: str
    sentences: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    tiles: tuple[Tile, ...] = ()
    chart: Chart | None = None
    table: Grid | None = None
    commands: tuple[str, ...] = ()
    page_only: bool = False
    details: bool = False
    """Whether a page folds it, and a terminal shows it with --details alone."""
    warning: bool = False


@dataclass(frozen=True)
class Report:
    """What a result says, said once for terminals, pages and notebooks."""

    name: str
    headline: str
    tiles: tuple[Tile, ...] = ()
    sections: tuple[Section, ...] = ()
    small_print: str = ""
    """What stands at the end of a page."""
    lead: str = ""
    """What stands below the headline, in smaller letters."""


class Reported(Protocol):
    """Whatever has a report."""

    def report(self) -> Report:
        """Return what it says, in sections."""


class Readable:
    """A result that can be read: print() and notebooks show what its report says.

    Example:
        >>> class Counted(Readable):
        ...     def report(self):
        ...         section = Section("Classes", ("The smallest class has 5 records.",))
        ...         return Report("Count", "All share a class with 4 others.", (), (section,))
        >>> print(Counted())
        All share a class with 4 others.
        • The smallest class has 5 records.
    """

    def report(self) -> Report:
        """Return what the result says, in sections."""
        raise NotImplementedError

    def __str__(self) -> str:
        from hartley.reports.render import plain_text

        return plain_text(self.report())

    def _repr_html_(self) -> str:
        from hartley.reports.render import notebook

        return notebook(self.report())


def plain_values(
    value: Any,  # noqa: ANN401 - nested values
    *,
    endless: Callable[[float], str | None] = lambda _: None,
) -> Any:  # noqa: ANN401 - likewise
    """Return nested values as JSON holds them: exact numbers as doubles, other things as text.

    Args:
        value: data classes, mappings, lists and what they hold.
        endless: what stands for a number that is not finite.

    Example:
        >>> plain_values({"error": Fraction(1, 2), "privacy": math.inf})
        {'error': 0.5, 'privacy': None}
    """
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, dict):
        return {name: plain_values(item, endless=endless) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain_values(item, endless=endless) for item in value]
    if isinstance(value, Fraction):
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return endless(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    """Return lines of comma-separated values; None becomes an empty field."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()


# --- chart ----------------------------------------------------------------------------------------
# Charts as plain numbers, so that code that computes them needs no drawing package.

Kind: TypeAlias = Literal["line", "points", "steps", "bars", "band"]
Dash: TypeAlias = Literal["solid", "dashed", "dotted"]
Value: TypeAlias = float | str

CSV_COLUMNS = ("panel", "series", "x", "y", "low", "high")


@dataclass(frozen=True)
class Series:
    """One line, row of points or group of bars.

    A band fills the space between ``low`` and ``high``; elsewhere they are the ends of error bars.
    If ``x`` are texts, they are the names of places on the axis, in that order.
    """

    label: str
    x: tuple[Value, ...]
    y: tuple[float, ...]
    kind: Kind = "line"
    dash: Dash = "solid"
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    tone: int | None = None
    """The colour: series of one tone belong together. By default, each has its own."""
    tones: tuple[int, ...] = ()
    """The colours of single bars."""
    labels: tuple[str, ...] = ()
    """What stands at the ends of single bars."""
    width: float | None = None
    """Of a line; thicker lines are seen below thinner ones."""


@dataclass(frozen=True)
class Ruler:
    """The cells of one number along a line."""

    name: str
    low: float
    high: float
    levels: int
    edges: tuple[float, ...]
    """From the lowest to the highest; empty if there are too many to be seen."""
    reach: float | None = None
    """How far one person moves the number, if it is about many people; drawn around an edge."""
    width: float = 0.0
    """The width of a cell; if they differ, that of the narrowest."""


@dataclass(frozen=True)
class Groups:
    """The groups of a column of categories, each with its label."""

    name: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Heat:
    """Values over a grid, row by row from the bottom, shown as shades."""

    label: str
    values: tuple[tuple[float, ...], ...]
    left: float
    right: float
    bottom: float
    top: float
    _: KW_ONLY
    edges: tuple[float, ...] = ()
    """If there are edges, all values between two of them have one shade, which has no number."""
    names: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """The names of the rows, from the bottom, and of the columns, in place of numbers."""

    def cells(self) -> Iterator[tuple[float, float, float]]:
        """Return the middle of every cell of the grid with its value, row by row.

        Example:
            >>> list(Heat("people", ((1.0, 2.0),), 0, 4, 0, 1).cells())
            [(1.0, 0.5, 1.0), (3.0, 0.5, 2.0)]
        """
        rows = len(self.values)
        for i, row in enumerate(self.values):
            y = self.bottom + (self.top - self.bottom) * (i + 0.5) / rows
            for j, value in enumerate(row):
                yield self.left + (self.right - self.left) * (j + 0.5) / len(row), y, value


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    x_label: str
    y_label: str
    series: tuple[Series, ...] = ()
    title: str = ""
    x_log: bool = False
    y_log: bool = False
    heat: Heat | None = None
    ruler: Ruler | None = None
    marks: tuple[tuple[str, float], ...] = ()
    """Heights at which a thin line goes across, each with its name."""
    places: tuple[tuple[str, float], ...] = ()
    """Places at which a thin line goes up, each with its name."""
    from_zero: bool = False
    """Whether the vertical axis begins at zero."""
    sideways: bool = False
    """Whether bars lie, with their names at the left."""
    size: tuple[float, float] | None = None
    """Width and height in inches, if not the usual ones."""


@dataclass(frozen=True)
class Chart:
    """A picture of one or more panels, side by side.

    Example:
        >>> line = Series("age", (1.0, 2.0), (0.5, 0.25))
        >>> print(Chart("Leakage", (Panel("step", "bits", (line,)),)).csv(), end="")
        panel,series,x,y,low,high
        bits,age,1.0,0.5,,
        bits,age,2.0,0.25,,
    """

    title: str
    panels: tuple[Panel, ...]
    note: str = ""
    synthetic: bool = False
    """Whether the data were made by a generator: the picture then says so."""
    source: str = ""
    """Where the data come from, if their name does not say it."""
    across: int = 2
    """The largest number of panels side by side."""
    reading: str = ""
    """How to read the picture, in a sentence above it."""

    def lines(self) -> Iterator[tuple[Value, ...]]:
        """Yield the names of the columns, then the numbers of the picture line by line."""
        shaded = any(panel.heat is not None for panel in self.panels)
        value = ("",) if shaded else ()
        mark = ("synthetic",) if self.synthetic else ()
        yield *CSV_COLUMNS, *(("value",) if shaded else ()), *(("data",) if mark else ())
        for panel in self.panels:
            name = panel.title or panel.y_label
            if panel.heat is not None:
                for x, y, shade in panel.heat.cells():
                    yield name, panel.heat.label, x, y, "", "", shade, *mark
            for series in panel.series:
                lows: Sequence[Value] = series.low or ("",) * len(series.x)
                highs: Sequence[Value] = series.high or ("",) * len(series.x)
                for row in zip(series.x, series.y, lows, highs, strict=True):
                    yield name, series.label, *row, *value, *mark

    def csv(self) -> str:
        """Return the numbers of the picture as lines of comma-separated values."""
        return csv_text(self.lines())

    def grid(self) -> Grid:
        """Return the numbers of the picture as a table with six digits, folded on a page."""
        names, *lines = self.lines()
        columns = [
            (str(name), column)
            for name, *column in zip(names, *lines, strict=True)
            if any(value != "" for value in column)
        ]
        headings = (
            Heading(name, "text" if any(isinstance(v, str) and v for v in column) else "number")
            for name, column in columns
        )
        rows = (
            tuple(value if isinstance(value, str) else f"{value:.6g}" for value in line)
            for line in zip(*(column for _, column in columns), strict=True)
        )
        return Grid(tuple(headings), tuple(rows), folded="The numbers")
