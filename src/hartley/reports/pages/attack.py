"""The finding of an attack as a picture, a page and lines in a terminal."""

from __future__ import annotations

import csv
import io
import textwrap
from typing import TYPE_CHECKING, Any, cast

from hartley.errors import OptionError
from hartley.reports.draw import page_picture, plot_chart
from hartley.reports.template import render_page
from hartley.text import few_digits, interval_end

if TYPE_CHECKING:
    from rich.console import Console

    from hartley.attacks.finding import AttackEstimate, Finding

DIGITS = 4


def plot_finding(finding: Finding) -> Any:  # noqa: ANN401 - a matplotlib figure, untyped
    """Draw the finding of an attack."""
    return plot_chart(finding.chart())


def as_finding(result: object) -> Finding:
    """Return a finding unchanged, and raise an error for anything that cannot be drawn."""
    parts = ("headline", "sentences", "number", "chart", "to_dict")
    if isinstance(result, type) or not all(hasattr(result, part) for part in parts):
        raise OptionError(
            f"A {type(result).__name__} cannot be drawn or shown on a page",
            hint="pass what an audit, a design, a tradeoff, a release of records or an attack "
            "returned",
        )
    return cast("Finding", result)


def render_finding(finding: Finding) -> str:
    """Return the page of an attack: the headline, the number, the picture and its data."""
    chart = finding.chart()
    names, *lines = csv.reader(io.StringIO(chart.csv()))
    return render_page(
        "attack.html",
        finding=finding,
        title=chart.title,
        synthetic=chart.synthetic,
        wide=len(chart.panels) > 1,
        number=few_digits(finding.number.value),
        certainty=f"{_measured(finding, end=', ')}{certainty(finding.number)}",
        figure=page_picture(plot_chart(chart)),
        names=names,
        numeric=[all(map(_is_number, column)) for column in zip(*lines, strict=True)],
        lines=[[_short(text) for text in line] for line in lines],
    )


def print_finding(finding: Finding, console: Console) -> None:
    """Print the finding of an attack: the headline, the number and the details."""
    from rich.text import Text

    chart = finding.chart()
    mark = " (synthetic data)" if chart.synthetic else ""
    number = f"{few_digits(finding.number.value)}, {certainty(finding.number)}"
    lines = [
        ("dim", f"{chart.title}{mark}"),
        ("bold", finding.headline),
        ("", f"{_measured(finding, end=': ')}{number}"),
        *(("", f"• {sentence}") for sentence in finding.sentences),
    ]
    console.print()
    for style, line in lines:
        wrapped = textwrap.wrap(
            line.replace(" %", "\u00a0%"), console.width, break_on_hyphens=False,
            subsequent_indent="  " if line.startswith("•") else "",
        )  # fmt: skip
        console.print(Text("\n".join(wrapped).replace("\u00a0", " "), style=style))
    console.print()


def _measured(finding: Finding, *, end: str = "") -> str:
    """Return what the number of a finding measures, if the finding says it."""
    name: str = getattr(finding, "measured", "")
    return f"{name}{end}" if name else ""


def certainty(number: AttackEstimate) -> str:
    """Describe how certain a number is.

    Example:
        >>> from hartley.attacks.finding import AttackEstimate
        >>> certainty(AttackEstimate.exact(0.5)), certainty(AttackEstimate(0.5, 0.41234, 0.6, 0.95))
        ('exact', 'between 0.4123 and 0.6 with 95 % confidence')
    """
    if number.is_exact:
        return "exact"
    low, high = interval_end(number.low, up=False), interval_end(number.high, up=True)
    sure = f"with {100 * number.confidence:.4g} % confidence"
    return f"between {low} and {high} {sure if number.confidence < 1 else 'for certain'}"


def _is_number(text: str) -> bool:
    try:
        float(text or 0)
    except ValueError:
        return False
    return True


def _short(text: str) -> str:
    """Shorten the numbers of a table to a few digits; other texts stay as they are."""
    return f"{float(text):.6g}" if text and _is_number(text) else text
