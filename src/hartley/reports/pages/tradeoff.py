"""A tradeoff as a picture, a page, a table of numbers and lines in a terminal."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.reports.draw import PALE, STYLE, page_picture
from hartley.reports.template import render_page
from hartley.studies.release.tradeoff_points import BitsPoint, LinePoint, QueryPoint
from hartley.text import cell_count, cell_down, cell_exact, cell_up, tenth_percent_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from hartley.studies.release.tradeoff import Point, Tradeoff

NARROW, ROOMY = 94, 108
"""Below the first width a point is printed on lines of its own; from the second, with spaces."""


@dataclass(frozen=True)
class CurveHeading:
    """A column of the table: a sign for the terminal, a name, and how to get its value."""

    sign: str
    name: str
    value: Callable[[Any], Any]
    show: Callable[[Any], str]

    def shown(self, point: Point) -> str:
        """Return the text of a point in this column; a dash if the value is not known."""
        value = self.value(point)
        if value is None:
            return "–"  # noqa: RUF001 - a dash
        return "∞" if value == math.inf else self.show(value)


QUERY = (
    CurveHeading("error", "largest error allowed", lambda p: p.error, cell_exact),
    CurveHeading("Q", "accuracy Q of equal cells", lambda p: p.equal.accuracy, cell_down),
    CurveHeading("cells", "equal cells", lambda p: p.equal.levels, cell_count),
    CurveHeading("I⋆", "I⋆, bits", lambda p: p.equal.maximin_information, cell_up),
    CurveHeading("L₀", "L₀ of equal cells, bits", lambda p: p.equal.leakage, cell_up),
    CurveHeading(
        "least L₀", "L₀ of the best cells, bits", lambda p: p.best and p.best.leakage, cell_up
    ),
    CurveHeading("P₁", "privacy P₁ = 1/L₀", lambda p: p.equal.privacy_of_leakage, cell_down),
    CurveHeading("P₂", "privacy P₂ = 1/I⋆", lambda p: p.equal.privacy_of_information, cell_down),
    CurveHeading("dmin", "adversary's error dmin", lambda p: p.equal.smallest_error, cell_down),
    CurveHeading("≥", "dmin by Theorem II.2", lambda p: p.equal.smallest_error_bound, cell_down),
    CurveHeading("dmax", "adversary's error dmax", lambda p: p.equal.largest_error, cell_down),
    CurveHeading("≥", "dmax by Theorem II.1", lambda p: p.equal.largest_error_bound, cell_down),
    CurveHeading("person", "bits about one person", lambda p: p.equal.person_bits, cell_up),
    CurveHeading("printed", "as printed", lambda p: p.equal.person_bits_printed, cell_up),
)
LINE = (
    CurveHeading("error", "largest error allowed", lambda p: p.error, cell_exact),
    CurveHeading("ρ", "accuracy ρ = 1/error", lambda p: p.accuracy, cell_down),  # noqa: RUF001 - rho
    CurveHeading("ε kept", "ε of stretching", lambda p: p.stretch.epsilon, cell_down),
    CurveHeading("Priv", "Priv of stretching, bits", lambda p: p.stretch.privacy, cell_down),
    CurveHeading("μ(Δ)", "μ(Δ) of stretching", lambda p: p.stretch.deciding, lambda v: f"{v:,.6g}"),
    CurveHeading(
        "deciding", "outputs that decide", lambda p: p.stretch.deciding_share, tenth_percent_up
    ),
    CurveHeading("ε printed", "ε that blurring claims", lambda p: p.blur.claimed, cell_down),
    CurveHeading("ε blurred", "ε of blurring, by volume", lambda p: p.blur.epsilon, cell_down),
    CurveHeading("Priv blurred", "Priv of blurring, bits", lambda p: p.blur.privacy, cell_down),
)


def _of_records(names: list[str]) -> tuple[CurveHeading, ...]:
    """Return the columns for records, among them the number of cells of each data column."""
    return (
        CurveHeading("bits", "bits a record", lambda p: p.budget, cell_exact),
        CurveHeading("outputs", "combinations", lambda p: p.largest.outputs, cell_count),
        CurveHeading("largest", "largest error", lambda p: p.largest.largest_error, cell_exact),
        *(_of_column(name) for name in names),
        CurveHeading("mean", "mean error", lambda p: p.largest.mean_error, cell_exact),
        CurveHeading(
            "least mean", "least mean error", lambda p: p.mean and p.mean.mean_error, cell_exact
        ),
    )


def _of_column(name: str) -> CurveHeading:
    return CurveHeading(name, f"cells of {name}", lambda p: p.largest.levels[name], cell_count)


def headings(tradeoff: Tradeoff) -> tuple[CurveHeading, ...]:
    """Return the columns of the table of a curve."""
    point = tradeoff.points[0]
    if isinstance(point, QueryPoint):
        return QUERY
    return LINE if isinstance(point, LinePoint) else _of_records(list(point.largest.levels))


def render_csv(tradeoff: Tradeoff) -> str:
    """Return a curve as CSV: one line per point, empty for unknown or infinite values."""
    columns, out = headings(tradeoff), io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*(column.name for column in columns), "asked for"])
    for point in tradeoff.points:
        values = [_number(column.value(point)) for column in columns]
        writer.writerow([*values, "yes" if point.chosen else "no"])
    return out.getvalue()


def _number(value: Any) -> object:  # noqa: ANN401 - the value of any column
    number = float(value) if isinstance(value, Fraction) else value
    return "" if number is None or number == math.inf else number


def print_tradeoff(tradeoff: Tradeoff, console: Console) -> None:
    """Print a curve: the headline, the details and every point."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    console.print()
    console.print(f"[bold]{escape(tradeoff.headline)}[/bold]")
    for sentence in tradeoff.sentences:
        console.print(f"• {escape(sentence)}", style="dim")
    console.print()
    columns = headings(tradeoff)
    if console.width < NARROW:  # a table would break its numbers
        for point in tradeoff.points:
            mark = " (asked for)" if point.chosen else ""
            console.print(f"[bold]{columns[0].name} {columns[0].shown(point)}{mark}[/bold]")
            rest = "; ".join(f"{escape(c.name)} {c.shown(point)}" for c in columns[1:])
            console.print(f"  {rest}")
        return
    space = 1 if console.width >= ROOMY else 0
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, space, 0, 0))
    for column in columns:
        table.add_column(escape(column.sign), justify="right", no_wrap=True)
    for point in tradeoff.points:
        style = "bold" if point.chosen else None
        table.add_row(*(column.shown(point) for column in columns), style=style)
    console.print(table)
    console.print()
    if tradeoff.kind == "query":
        console.print(
            "Leakages are in bits. ≥ is the lower bound that the theorems give for the error to "
            "its left; 'printed' is Theorem 8 as printed, which is too small.",
            style="dim",
        )


# --- the page -------------------------------------------------------------------------------------

READING = {
    "query": "Further right is less useful. Above: what the release reveals about all data "
    "together, as the papers' privacy P and in bits. Below: what it reveals about one "
    "person, and the error of an adversary who reconstructs all data.",
    "record": "Further right is less private: a record may be released in more ways. Further down "
    "is more useful.",
    "hypothesis": "Further right is less useful. Higher on the left, and lower on the right, is "
    "more private.",
}
TILES = {
    "query": ("cells", "I⋆", "L₀", "person"),
    "record": ("bits", "outputs", "largest", "mean"),
    "hypothesis": ("error", "ε kept", "Priv", "deciding"),
}
"""The signs of the columns shown at the top of the page."""


def render_tradeoff(tradeoff: Tradeoff) -> str:
    """Return the page of a curve."""
    columns = headings(tradeoff)
    point = tradeoff.chosen or tradeoff.points[len(tradeoff.points) // 2]
    return render_page(
        "tradeoff.html",
        tradeoff=tradeoff,
        columns=columns,
        tiles=[
            (column.shown(point), column.name)
            for column in columns
            if column.sign in TILES[tradeoff.kind]
        ],
        reading=READING[tradeoff.kind],
        curve=page_picture(plot_tradeoff(tradeoff)),
        why=_why(tradeoff),
    )


def _why(tradeoff: Tradeoff) -> str:
    """Return why some numbers are not known, each reason once."""
    reasons: dict[str, None] = {}
    for point in tradeoff.points:
        if isinstance(point, QueryPoint):
            every = [point.reasons, point.equal.reasons]
        else:
            every = [] if isinstance(point, LinePoint) else [point.reasons]
        for listed in every:
            reasons |= {why: None for why in listed.values() if not why.startswith("infinite")}
    return "; ".join(reasons)


# --- the picture ----------------------------------------------------------------------------------

RED, AMBER, BLUE, SLATE, GREY = "#b4232a", "#d97706", "#2563a8", "#64748b", "#94a3b8"
WIDE = 30
"""When values spread over more than this factor, the axis is logarithmic."""


def plot_tradeoff(tradeoff: Tradeoff) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw a curve: privacy, bits and the adversary's error against the error of the release."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    points = tradeoff.points
    with mpl.rc_context(STYLE):
        if isinstance(points[0], QueryPoint):
            figure = Figure(figsize=(9.4, 7.0), layout="constrained")
            _draw_query(figure, [p for p in points if isinstance(p, QueryPoint)])
        elif isinstance(points[0], LinePoint):
            figure = Figure(figsize=(9.4, 3.9), layout="constrained")
            _draw_line(figure, [p for p in points if isinstance(p, LinePoint)])
        else:
            figure = Figure(figsize=(9.4, 3.9), layout="constrained")
            _draw_records(figure, [p for p in points if isinstance(p, BitsPoint)])
    return figure


def render_picture(tradeoff: Tradeoff, kind: str) -> bytes:
    """Return the picture of a curve as the content of a file: png, svg or pdf."""
    import matplotlib as mpl

    out = io.BytesIO()
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with mpl.rc_context(STYLE):
        plot_tradeoff(tradeoff).savefig(out, format=kind, dpi=160, metadata=stamp)
    return out.getvalue()


# --- a query --------------------------------------------------------------------------------------


def _draw_query(figure: Any, points: Sequence[QueryPoint]) -> None:  # noqa: ANN401 - untyped
    (privacy, together), (person, adversary) = figure.subplots(2, 2, sharex=True)
    errors = [float(point.error) for point in points]
    best = [point.best for point in points]
    equal = [point.equal for point in points]
    _curves(
        privacy,
        errors,
        [
            ("P₂ = 1/I⋆", [f.privacy_of_information for f in equal], BLUE, "-"),
            ("P₁ = 1/L₀, equal cells", [f.privacy_of_leakage for f in equal], AMBER, "-"),
            (
                "P₁, cells of least leakage",
                [None if b is None else b.privacy_of_leakage for b in best],
                RED,
                "--",
            ),
        ],
        "privacy of the papers (1/bits)",
    )
    _curves(
        together,
        errors,
        [
            ("leakage L₀, equal cells", [f.leakage for f in equal], AMBER, "-"),
            (
                "L₀, cells of least leakage",
                [None if b is None else b.leakage for b in best],
                RED,
                "--",
            ),
            ("maximin information I⋆", [f.maximin_information for f in equal], BLUE, "-"),
        ],
        "bits about all data together",
    )
    _curves(
        person,
        errors,
        [
            ("corrected", [f.person_bits for f in equal], BLUE, "-"),
            ("Theorem 8 as printed", [f.person_bits_printed for f in equal], GREY, ":"),
        ],
        "bits about one person",
    )
    _curves(
        adversary,
        errors,
        [
            ("dmax", [f.largest_error for f in equal], SLATE, "-"),
            ("at least, by Theorem II.1", [f.largest_error_bound for f in equal], SLATE, ":"),
            ("dmin", [f.smallest_error for f in equal], RED, "-"),
            ("at least, by Theorem II.2", [f.smallest_error_bound for f in equal], RED, ":"),
        ],
        "error of an adversary who reconstructs all data",
    )
    for axes in (person, adversary):
        axes.set_xlabel("largest error of the release (Q = 1/error)")
    _finish((privacy, together, person, adversary), points)


# --- a hypothesis ---------------------------------------------------------------------------------


def _draw_line(figure: Any, points: Sequence[LinePoint]) -> None:  # noqa: ANN401 - untyped
    claims, deciding = figure.subplots(1, 2, sharex=True)
    errors = [float(point.error) for point in points]
    _curves(
        claims,
        errors,
        [
            ("ε kept by stretching", [p.stretch.epsilon for p in points], BLUE, "-"),
            ("Priv of stretching (bits)", [p.stretch.privacy for p in points], AMBER, "-"),
            ("ε that blurring claims; by volume 0", [p.blur.claimed for p in points], GREY, ":"),
        ],
        "privacy against the hypothesis",
    )
    _curves(
        deciding,
        errors,
        [
            ("blurring, as printed", [100 * p.blur.deciding_share for p in points], GREY, ":"),
            ("stretching", [100 * p.stretch.deciding_share for p in points], BLUE, "-"),
        ],
        "outputs that decide it, μ(Δ) (%)",
    )
    deciding.set_ylim(0, 108)
    for axes in (claims, deciding):
        axes.set_xlabel("largest error of the release (1/ρ)")  # noqa: RUF001 - rho
    _finish((claims, deciding), points)


# --- records --------------------------------------------------------------------------------------


def _draw_records(figure: Any, points: Sequence[BitsPoint]) -> None:  # noqa: ANN401 - untyped
    together, apart = figure.subplots(1, 2, sharex=True)
    bits = [float(point.budget) for point in points]
    largest = [point.largest for point in points]
    _curves(
        together,
        bits,
        [
            ("largest error, made least", [float(s.largest_error) for s in largest], RED, "-"),
            ("mean error of the same", [float(s.mean_error) for s in largest], AMBER, "-"),
            (
                "mean error, made least",
                [None if p.mean is None else float(p.mean.mean_error) for p in points],
                BLUE,
                "--",
            ),
        ],
        "weighted error",
    )
    colours = (BLUE, AMBER, RED, SLATE, "#15803d", "#7c3aed", GREY)
    names = list(largest[0].errors)
    _curves(
        apart,
        bits,
        [
            (name, [float(s.errors[name]) for s in largest], colours[i % len(colours)], "-")
            for i, name in enumerate(names[: 2 * len(colours)])
        ],
        "error by column",
    )
    for axes in (together, apart):
        axes.set_xscale("linear")
        axes.set_xlim(min(bits), max(*bits, min(bits) + 1))
        axes.set_xlabel("bits a record")
    _finish((together, apart), points)


# --- all curves -----------------------------------------------------------------------------------

Curve = tuple[str, "list[float | None]", str, str]
"""A label, values, a colour and a line style."""


def _curves(axes: Any, places: list[float], curves: Sequence[Curve], label: str) -> None:  # noqa: ANN401 - untyped
    """Draw curves; leave out infinite and unknown values, and zeros on a logarithmic axis."""
    known = [v for _, values, _, _ in curves for v in values if v is not None and v != math.inf]
    positive = [value for value in known if value > 0]
    wide = bool(positive) and max(positive) > WIDE * min(positive)
    for rank, (name, values, colour, style) in enumerate(curves):
        finite = [
            (place, value)
            for place, value in zip(places, values, strict=True)
            if value is not None and value != math.inf and not (wide and value <= 0)
        ]
        if finite:
            axes.plot(
                *zip(*finite, strict=True),
                label=name,
                color=colour,
                linestyle=style,
                linewidth=2.6 if rank == 0 else 1.8,
                marker=".",
                markersize=5,
                solid_capstyle="round",
            )
    if wide:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0, top=max(positive, default=1.0) * 1.06)
    if min(places) > 0:
        axes.set_xscale("log")
    axes.set_ylabel(label)


def _finish(every: Sequence[Any], points: Sequence[QueryPoint | LinePoint | BitsPoint]) -> None:
    """Mark the point that the design asks for, and add a legend above each picture."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    chosen = [p.budget if isinstance(p, BitsPoint) else p.error for p in points if p.chosen]
    for axes in every:
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(-0.02, 1.0),
            ncols=2,
            frameon=False,
            fontsize=8.5,
            columnspacing=1.2,
            handlelength=1.8,
            borderaxespad=0.2,
        )
        for which in (axes.xaxis, axes.yaxis):
            if which.get_scale() == "log":
                low, high = which.get_view_interval()
                if high < 1000 * low:
                    which.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                which.set_major_formatter(FuncFormatter(_tick_text))
                which.set_minor_formatter(NullFormatter())
        for place in chosen:
            axes.axvline(float(place), color=PALE, linewidth=1.4, zorder=0.5)
    if chosen:
        right = (
            every[0]
            .transAxes.inverted()
            .transform(every[0].transData.transform((float(chosen[0]), 1.0)))[0]
        )
        every[0].annotate(
            "asked for",
            (float(chosen[0]), 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if right > 0.6 else 4, -3),
            textcoords="offset points",
            ha="right" if right > 0.6 else "left",
            va="top",
            fontsize=8.5,
            color=SLATE,
        )


def _tick_text(value: float, _place: int) -> str:
    """Return a tick in a short form: plain numbers, or powers of ten such as 1e-5."""
    return (
        f"{value:g}"
        if 1e-4 <= value < 1e5
        else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    )
