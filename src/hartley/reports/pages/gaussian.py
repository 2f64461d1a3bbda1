"""A Gaussian rule as a picture, a page and lines in a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hartley.reports.draw import INK, STYLE, above_axes, page_picture
from hartley.reports.template import render_page
from hartley.reports.terminal import plain_table, print_sentences
from hartley.text import few_digits, listed, six_decimals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from hartley.studies.release.gaussian import GaussianReport

BLUE, RED, AMBER = "#2563a8", "#b4232a", "#d97706"


def plot_gaussian(report: GaussianReport) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw what the best Gaussian rules tell against their distortion, and this rule among them."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    drawn = [point for point in report.frontier if math.isfinite(point.high)]
    at = [point.distortion for point in drawn]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.0), layout="constrained")
        axes = figure.subplots()
        axes.fill_between(at, [point.low for point in drawn], color=RED, alpha=0.07, linewidth=0)
        axes.plot(
            at,
            [point.high for point in drawn],
            color=BLUE,
            linewidth=2.2,
            label="best rules, if both sides are Gaussian",
        )
        axes.plot(
            at,
            [point.low for point in drawn],
            color=RED,
            linewidth=1.1,
            linestyle="--",
            label="no rule lies below, likewise (proved)",
        )
        mixed = [(point.distortion, point.mixture) for point in drawn if point.mixture is not None]
        if mixed:
            axes.plot(
                *zip(*mixed, strict=True),
                color=AMBER,
                linewidth=1.4,
                linestyle="-.",
                label="the key itself or its mean, by lot",
            )
        if math.isfinite(report.bound.high):
            axes.plot(
                [report.rule.distortion],
                [report.bound.high],
                marker="o",
                markersize=7,
                color=INK,
                linestyle="",
                label="this rule",
            )
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        units = ", standardised" if report.rule.units is not None else ""
        axes.set_xlabel(f"mean squared distortion of {', '.join(report.key)}{units}")
        axes.set_ylabel(f"told about {', '.join(report.confidential)} ({report.unit})")
        above_axes(axes, *axes.get_legend_handles_labels())
    return figure


def _rows(report: GaussianReport) -> Iterator[tuple[str, ...]]:
    """Return what the rule does to every key column, in words of one line."""
    rule = report.rule
    noise, distortions = rule.noise_covariance.diagonal(), rule.distortions
    places = {place: at for at, place in enumerate(rule.kept)}
    for place, name in enumerate(report.key):
        own = rule.gain[place, places[place]] if place in places else None
        yield (
            name,
            "from the others" if own is None else few_digits(float(own)),
            few_digits(math.sqrt(max(float(noise[place]), 0.0))),
            few_digits(math.sqrt(float(distortions[place]))),
        )


def render_gaussian(report: GaussianReport) -> str:
    """Return the page of a Gaussian rule."""
    bound = report.bound
    return render_page(
        "gaussian.html",
        report=report,
        title=f"{listed(report.key)} with Gaussian noise",
        high=six_decimals(bound.high, up=True),
        itself=six_decimals(bound.largest_risk, up=True),
        information=six_decimals(report.rule.key_information, up=True),
        distortion=few_digits(report.rule.distortion, 6),
        rows=list(_rows(report)),
        points=[
            (
                few_digits(point.distortion, 6),
                six_decimals(point.low, up=False),
                six_decimals(point.high, up=True),
                "-" if point.mixture is None else f"{point.mixture:.6f}",
            )
            for point in report.frontier
        ],
        figure=page_picture(plot_gaussian(report)),
    )


def print_gaussian(report: GaussianReport, console: Console) -> None:
    """Print a Gaussian rule: the headline, what it does to every column, and what is proved."""
    from rich.markup import escape

    print_sentences(report.headline, report.sentences, console)
    table = plain_table()
    table.add_column("key column")
    for name in ("times", "noise (deviation)", "off by (root mean square)"):
        table.add_column(name, justify="right")
    for row in _rows(report):
        table.add_row(*map(escape, row))
    console.print(table)
    console.print()
