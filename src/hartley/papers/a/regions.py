"""The regions into which a quantized query cuts the square of two numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction  # noqa: TC003 - the example uses it
from typing import TYPE_CHECKING

from hartley.boxes.box import Box
from hartley.boxes.cut_box import CutBox
from hartley.boxes.expression import parse_expression
from hartley.measures.leakage import maximin_information, nonstochastic_leakage
from hartley.policies.optimal import optimal_quantizer
from hartley.report import Heat, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.policies.optimal import CutQuantizer, Objective

SQUARE = Box.cube(-2, 2, size=2)


@dataclass(frozen=True)
class Regions:
    """The cells of one policy, and what they tell, in nats as in the paper."""

    query: str
    accuracy: Fraction
    """The paper's gamma: one over the largest error of the release."""
    edges: tuple[Fraction, ...]
    released: tuple[Fraction, ...]
    areas: tuple[float, ...]
    """The area of every region, never above the truth."""
    leakage: float
    information: float

    @property
    def smallest_share(self) -> float:
        """The share of the square that the smallest region has."""
        return min(self.areas) / float(SQUARE.volume)


@dataclass(frozen=True)
class Cuts:
    """The regions for the paper's accuracy, and for one that leaves the cells some room."""

    fewest: Regions
    equal: Regions
    """Of the other accuracy: equal cells, the fewest that there can be."""
    least: Regions
    """Of the other accuracy: the cells that leak least."""
    points: int
    """How fine the picture is, along a side."""


def best_regions(
    query: str, accuracy: Fraction, objective: Objective, *, gap: float = 1e-6
) -> Regions:
    """Return the regions of the best policy of an accuracy, by Theorem IV.3.

    Example:
        >>> best_regions("(x1 + x2)/2", Fraction(2), "maximin").areas
        (2.0, 6.0, 6.0, 2.0)
    """
    best = optimal_quantizer(query, SQUARE, 1 / accuracy, objective)
    return measured(query, accuracy, best, gap=gap)


def measured(
    query: str, accuracy: Fraction, quantizer: CutQuantizer, *, gap: float = 1e-6
) -> Regions:
    """Return the regions behind the cells of a quantizer, and what they tell.

    Args:
        query: the query over x1 and x2.
        accuracy: the paper's gamma.
        quantizer: the cells of the query.
        gap: how far apart the bounds of an area may be, as a part of it.
    """
    cut = CutBox(SQUARE, parse_expression(query), quantizer.edges, gap=gap)
    return Regions(
        query=query,
        accuracy=accuracy,
        edges=quantizer.edges,
        released=quantizer.released,
        areas=tuple(float(part.low) for part in cut.volumes),
        leakage=nonstochastic_leakage(cut, base=math.e),
        information=maximin_information(cut, base=math.e),
    )


def regions_panel(regions: Regions, points: int, *, title: str) -> Panel:
    """Return the square in the colours of what is released where, on a grid of points."""
    import numpy as np

    from hartley.boxes.enclosure import enclose

    places = (np.arange(points) + 0.5) * 4 / points - 2
    x2, x1 = np.meshgrid(places, places, indexing="ij")
    at = {"x1": x1.ravel(), "x2": x2.ravel()}
    low, high = enclose(parse_expression(regions.query), at, at)
    value = np.round((low + high) / 2, 9)  # what lies on an edge stays on one side of it
    cells = np.searchsorted(np.array(regions.edges[1:-1], dtype=float), value, side="right")
    shown = np.array(regions.released, dtype=float)[cells].reshape(points, points)
    heat = Heat("released value", tuple(map(tuple, shown.tolist())), -2, 2, -2, 2)
    return Panel("x₁", "x₂", heat=heat, title=title)


def shares_panel(cuts: Cuts, names: Sequence[str], *, title: str) -> Panel:
    """Return the share of the square that each region has, cut in both ways."""
    whole = float(SQUARE.volume)

    def bars(label: str, regions: Regions) -> Series:
        return Series(label, tuple(names), tuple(a / whole for a in regions.areas), "bars")

    return Panel(
        "region",
        "share of the square",
        (
            bars("equal cells: fewest outputs, best for I⋆", cuts.equal),
            bars("best cells for L₀", cuts.least),
        ),
        title=title,
        from_zero=True,
    )
