"""What more bits buy of a question: a picture of its errors, and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from hartley.report import Chart, Panel, Series
from hartley.reports.draw import page_picture, plot_chart
from hartley.reports.template import render_page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

MOST_PANELS = 4
"""A SELECT with more numbers shows the first ones."""
LONGEST_TITLE = 70


class PricedErrors(Protocol):
    """A price with the errors that it buys, as ``hartley.agent.curve`` gives them."""

    @property
    def bits(self) -> float:
        """What would be charged now; without a ledger, the price alone."""

    @property
    def errors(self) -> tuple[tuple[str, Fraction], ...]:
        """The largest error of each number, for any data."""

    @property
    def full_errors(self) -> tuple[tuple[str, Fraction], ...]:
        """The same if every row counts that may count."""


class QuestionPrices(Protocol):
    """The prices of a question at which some error falls; reports import no agent."""

    @property
    def text(self) -> str:
        """The question."""

    @property
    def rows(self) -> int:
        """The number of rows, public or the largest possible one."""

    @property
    def points(self) -> Sequence[PricedErrors]:
        """The prices, the cheapest first."""

    def sentence(self) -> str:
        """Name the next useful price."""

    def lines(self) -> list[tuple[str, str, str]]:
        """Return the price alone, the price now and the errors of every point, in words."""


def chart_prices(curve: QuestionPrices) -> Chart:
    """Return the picture of a curve: for every number, its error at every price."""
    labels = [label for label, _ in curve.points[-1].errors] if curve.points else []
    title = " ".join(curve.text.split())
    short = title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"
    return Chart(short, tuple(_panel(curve, place) for place in range(len(labels[:MOST_PANELS]))))


def _panel(curve: QuestionPrices, place: int) -> Panel:
    bits = tuple(point.bits for point in curve.points)
    certain = tuple(float(point.errors[place][1]) for point in curve.points)
    full = tuple(float(point.full_errors[place][1]) for point in curve.points)
    series = [Series("for any data", bits, certain, kind="steps")]
    if full != certain:
        series.append(Series(f"if all {curve.rows:,} rows count", bits, full, kind="steps"))
    positive = all(error > 0 for error in (*certain, *full))
    label = curve.points[-1].errors[place][0]
    return Panel("price (bits)", f"error of {label}", tuple(series), y_log=positive)


def plot_prices(curve: QuestionPrices) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw the error of every number against the price."""
    figure = plot_chart(chart_prices(curve))
    for axes in figure.axes:
        if axes.get_yscale() == "linear":
            axes.yaxis.set_major_formatter(lambda error, _: f"{error:,.10g}")
    return figure


def render_prices(curve: QuestionPrices) -> str:
    """Return the page of a curve."""
    lines = curve.lines()
    return render_page(
        "prices.html",
        curve=curve,
        sentence=curve.sentence(),
        lines=lines,
        priced_now=any(now for _, now, _ in lines),
        figure=page_picture(plot_prices(curve)) if curve.points else "",
    )
