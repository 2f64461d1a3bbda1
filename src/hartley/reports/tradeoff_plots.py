"""Pictures of curves of privacy against utility."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

from hartley.reports.plots import PALE, STYLE
from hartley.studies.answer_curve import QueryPoint
from hartley.studies.line_curve import LinePoint
from hartley.studies.record_curve import BitsPoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.studies.tradeoff import Tradeoff

RED, AMBER, BLUE, SLATE, GREY = "#b4232a", "#d97706", "#2563a8", "#64748b", "#94a3b8"
WIDE = 30
"""When values spread over more than this factor, the axis is logarithmic."""


def plot_tradeoff(found: Tradeoff) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw a curve: privacy, bits and the adversary's error against the error of the release."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    points = found.points
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


def render_picture(found: Tradeoff, kind: str) -> bytes:
    """Return the picture of a curve as the content of a file: png, svg or pdf."""
    import matplotlib as mpl

    out = io.BytesIO()
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with mpl.rc_context(STYLE):
        plot_tradeoff(found).savefig(out, format=kind, dpi=160, metadata=stamp)
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
        "error of who reconstructs all data",
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


# --- what all share -------------------------------------------------------------------------------

Curve = tuple[str, "list[float | None]", str, str]
"""A label, values, a colour and a line style."""


def _curves(axes: Any, places: list[float], curves: Sequence[Curve], label: str) -> None:  # noqa: ANN401 - untyped
    """Draw some curves; what is infinite or not known is left out, and zero where it cannot be."""
    known = [v for _, values, _, _ in curves for v in values if v is not None and v != math.inf]
    positive = [value for value in known if value > 0]
    wide = bool(positive) and max(positive) > WIDE * min(positive)
    for rank, (name, values, colour, style) in enumerate(curves):
        kept = [
            (place, value)
            for place, value in zip(places, values, strict=True)
            if value is not None and value != math.inf and not (wide and value <= 0)
        ]
        if kept:
            axes.plot(
                *zip(*kept, strict=True),
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
    """Mark what the design asks for, and say which line is which above each picture."""
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
                which.set_major_formatter(FuncFormatter(_plain))
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


def _plain(value: float, _place: int) -> str:
    """Show a tick as people write it."""
    return (
        f"{value:g}"
        if 1e-4 <= value < 1e5
        else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    )
