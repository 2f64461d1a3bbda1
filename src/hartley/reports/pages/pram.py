"""A random perturbation as a page, a picture and lines in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.reports.draw import PALE, STYLE, page_picture
from hartley.reports.template import render_page
from hartley.reports.terminal import plain_table, print_sentences
from hartley.text import value_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from hartley.studies.release.pram import FrequencyEstimate, PerturbedColumn, PramReport

BLUE, GREY, AMBER = "#2563a8", "#94a3b8", "#d97706"
ON_DARK, ON_PALE = "#fefefe", "#0b1f3a"
"""Of numbers on an image: unlike other colours, they stay as they are on a dark page."""
SHOWN = 24
"""The largest number of values named in a picture or listed in a terminal."""
LETTERS = 24
"""The largest number of letters of a value named there."""


def short_value(value: object) -> str:
    """Write a value of a column, or of several together, in at most 24 letters.

    Means that were released have all the digits of a double, of which six are shown.

    Example:
        >>> short_value(None), short_value(("north", 1)), short_value("a" * 50)
        ('missing', 'north, 1', 'aaaaaaaaaaaaaaaaaaaaaaa…')
        >>> short_value(23.261738160184944), short_value((0.5, 2 / 3))
        ('23.2617', '0.5, 0.666667')
    """
    if isinstance(value, tuple):
        return value_text(", ".join(map(short_value, value)), LETTERS)
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.6g}"
    return value_text(value_text(value, LETTERS), LETTERS)


# --- pictures -----------------------------------------------------------------------------------


def plot_matrix(column: PerturbedColumn) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw the matrix: a row per value, a column per released value; darker is likelier."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rule = column.pram.matrix.doubles
    rows, columns = rule.shape
    height = min(max(2.4, 0.36 * rows + 1.4), 6.4)
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        figure = Figure(figsize=(7.2, height), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(
            rule, cmap="Blues", vmin=0.0, vmax=max(float(rule.max()), 1e-9), aspect="auto"
        )
        figure.colorbar(image, ax=axes, label="probability", fraction=0.05, pad=0.02)
        _name_axis(axes.yaxis, column.pram.values)
        _name_axis(axes.xaxis, column.pram.released, turned=True)
        axes.set_ylabel(f"{column.title} in the table")
        axes.set_xlabel(f"{column.title} as released")
        for spine in axes.spines.values():
            spine.set_visible(False)
        if max(rows, columns) <= 12:
            _write_numbers(axes, rule)
    return figure


def _write_numbers(axes: Any, rule: np.ndarray[Any, Any]) -> None:  # noqa: ANN401 - untyped
    middle = float(rule.max()) / 2
    for (x, y), probability in np.ndenumerate(rule):
        colour = ON_DARK if probability > middle else ON_PALE
        text = f"{probability:.3g}" if probability else "0"
        axes.text(y, x, text, ha="center", va="center", fontsize=8, color=colour)


def _name_axis(axis: Any, values: Sequence[Any], *, turned: bool = False) -> None:  # noqa: ANN401 - untyped
    every = -(-len(values) // SHOWN)
    places = range(0, len(values), every)
    names = [short_value(values[place]) for place in places]
    long = turned and max(map(len, names)) * len(names) > 70
    axis.set_ticks(
        list(places), names, fontsize=8.5, **({"rotation": 60, "ha": "right"} if long else {})
    )
    axis.set_tick_params(length=0)


def plot_pram(report: PramReport) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw the frequencies of the first perturbed column, as its page does."""
    return plot_frequencies(report.columns[0])


def plot_frequencies(column: PerturbedColumn) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw the true, the released and the estimated frequencies, ± 2 standard errors."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    before = column.before / column.before.sum()
    places = np.arange(len(before))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.bar(places - 0.2, before, width=0.4, color=BLUE, label="in the table")
        if column.pram.released == column.pram.values:
            after = column.after / column.after.sum()
            axes.bar(places + 0.2, after, width=0.4, color=GREY, label="as released")
        if column.estimate is not None:
            axes.errorbar(
                places - 0.2,
                column.estimate.shares,
                yerr=2 * column.estimate.errors,
                fmt="o",
                color=AMBER,
                markersize=3.5 if len(places) <= 2 * SHOWN else 2,
                capsize=3 if len(places) <= 2 * SHOWN else 0,
                linewidth=1.2 if len(places) <= 2 * SHOWN else 0.7,
                label="estimated from the release, ± 2 standard errors",
            )
        axes.axhline(0, color=PALE, linewidth=1)
        _name_axis(axes.xaxis, column.pram.values, turned=True)
        axes.set_ylabel("share of the rows")
        axes.set_xlabel(column.title)
        axes.grid(visible=False, axis="x")
        axes.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=8.5
        )
    return figure


# --- the page -----------------------------------------------------------------------------------


def render_pram(report: PramReport) -> str:
    """Return the page of a perturbation."""
    return render_page(
        "pram.html",
        report=report,
        columns=[
            {
                "column": column,
                "matrix": page_picture(plot_matrix(column)),
                "frequencies": page_picture(plot_frequencies(column)),
                "rows": list(_rows(column)),
            }
            for column in report.columns
        ],
    )


def _rows(column: PerturbedColumn) -> Any:  # noqa: ANN401 - rows of texts
    total = int(column.before.sum())
    same = column.pram.released == column.pram.values
    for place, value in enumerate(column.pram.values):
        estimate = column.estimate
        yield (
            short_value(value),
            f"{column.before[place] / total:.4f}",
            f"{column.after[place] / total:.4f}" if same else "-",
            "-" if estimate is None else f"{estimate.shares[place]:.4f}",
            "-" if estimate is None else f"{estimate.errors[place]:.4f}",
        )


# --- the terminal -------------------------------------------------------------------------------


def print_pram(report: PramReport, console: Console, *, estimate: bool = False) -> None:
    """Print a perturbation: the headline, the details, and estimates if asked for."""
    print_sentences(report.headline, report.sentences, console)
    for column in report.columns if estimate else ():
        if column.estimate is not None:
            _print_shares(column.estimate, console)


def print_estimate(estimate: FrequencyEstimate, console: Console) -> None:
    """Print estimated frequencies and their standard errors."""
    print_sentences(estimate.sentences[0], estimate.sentences[1:], console)
    _print_shares(estimate, console)


def _print_shares(estimate: FrequencyEstimate, console: Console) -> None:
    from rich.markup import escape

    table = plain_table()
    table.add_column(escape(", ".join(estimate.columns)))
    for name in ("estimated", "± standard error", "± of a population"):
        table.add_column(name, justify="right")
    shares, errors = estimate.shares.ravel(), estimate.errors.ravel()
    population = estimate.population_errors.ravel()
    order = np.argsort(-shares, kind="stable")[:SHOWN]
    for place in np.sort(order):
        at = np.unravel_index(place, estimate.shares.shape)
        value = tuple(values[k] for values, k in zip(estimate.values, at, strict=True))
        table.add_row(
            escape(short_value(value[0] if len(value) == 1 else value)),
            f"{shares[place]:.4f}",
            f"{errors[place]:.4f}",
            f"{population[place]:.4f}",
        )
    console.print(table)
    if shares.size > SHOWN:
        console.print(f"... and {shares.size - SHOWN:,} rarer ones; --json lists all", style="dim")
    console.print()
