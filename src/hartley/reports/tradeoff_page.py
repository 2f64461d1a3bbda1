"""The page of a curve of privacy against utility."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.reports.page import render_page
from hartley.reports.plots import figure_svg
from hartley.reports.tradeoff_plots import plot_tradeoff
from hartley.reports.tradeoff_table import headings
from hartley.studies.answer_curve import QueryPoint
from hartley.studies.line_curve import LinePoint

if TYPE_CHECKING:
    from hartley.studies.tradeoff import Tradeoff

READING = {
    "query": "Further right is less useful. Above: what the release tells about all data together, "
    "as the papers' privacy P and in bits. Below: what it tells about one person, and how far off "
    "whoever reconstructs all data remains.",
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
"""The signs of the columns that the page begins with."""


def render_tradeoff(found: Tradeoff) -> str:
    """Return the page of a curve."""
    columns = headings(found)
    point = found.chosen or found.points[len(found.points) // 2]
    return render_page(
        "tradeoff.html",
        found=found,
        columns=columns,
        tiles=[
            (column.shown(point), column.name)
            for column in columns
            if column.sign in TILES[found.kind]
        ],
        reading=READING[found.kind],
        curve=figure_svg(plot_tradeoff(found)),
        why=_why(found),
    )


def _why(found: Tradeoff) -> str:
    """Say why some numbers are not known, each reason once."""
    reasons: dict[str, None] = {}
    for point in found.points:
        if isinstance(point, QueryPoint):
            every = [point.reasons, point.equal.reasons]
        else:
            every = [] if isinstance(point, LinePoint) else [point.reasons]
        for listed in every:
            reasons |= {why: None for why in listed.values() if not why.startswith("infinite")}
    return "; ".join(reasons)
