"""The range of a query over a box, cut by candidate edges: where the best cells are looked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise, takewhile
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import OptionError
from hartley.ranges.boxes.box import Box, Interval
from hartley.ranges.boxes.cut_box import boxes_each, measured_one_by_one
from hartley.ranges.boxes.volume import volume

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from hartley.ranges.boxes.expression import Expression

    Ends = tuple[Fraction, Fraction]

LINEAR_CANDIDATES, OTHER_CANDIDATES = 1024, 64
"""How many edges come into question by default."""
GAP = 1e-3
"""How well the share of a slot is known where the query is not linear, as a part of it."""
SCALE = 2**60
MOST_SHARES = 7
"""Bounds from above that add up to more say nothing, and are no whole numbers of 64 bits."""


@dataclass(frozen=True)
class QueryRange:
    """Two numbers between which all values of a query lie, and whether it comes up to both.

    Example:
        >>> from hartley.ranges.boxes.expression import parse_expression
        >>> found = QueryRange.of(parse_expression("x1**2 + 2*x2**2"), Box.cube(-2, 2, size=2))
        >>> print(found.low, found.high, found.exact)
        0 12 True
    """

    low: Fraction
    high: Fraction
    exact: bool

    @classmethod
    def of(cls, expression: Expression, box: Box) -> QueryRange:
        """Return the range of a query over a box, by ``ranges.polynomials.exact_range``."""
        from hartley.ranges.polynomials.exact_range import known_range

        known = known_range(expression, box)
        return cls(known.outer.low, known.outer.high, known.exact)


@dataclass(frozen=True)
class Slots:
    """The range of a query cut by candidate edges, and how much of the box lies in each slot."""

    expression: Expression
    box: Box
    range: QueryRange
    width: Fraction
    """How wide a cell may be."""
    edges: tuple[Fraction, ...]
    shares: tuple[Ends, ...] = ()
    """Bounds on the share of every slot, its ends included."""

    @classmethod
    def cut(
        cls,
        expression: Expression,
        box: Box,
        *,
        found: QueryRange,
        width: Fraction,
        candidates: int | None = None,
    ) -> Slots:
        """Cut a range evenly, and also into whole widths counted from either end."""
        if candidates is not None and not (isinstance(candidates, int) and candidates > 0):
            raise OptionError(
                "The number of candidate edges is not a positive whole number",
                hint="leave it out, or give for example 1000",
            )
        used = Box({name: box[name] for name in expression.names})
        if used.volume == 0:
            raise OptionError(
                "A variable of the query has a single value, so that no cell has a volume",
                hint="write the value into the query",
            )
        low, high = found.low, found.high
        usual = OTHER_CANDIDATES if expression.linear() is None else LINEAR_CANDIDATES
        levels = math.ceil((high - low) / width)
        count = max(usual if candidates is None else candidates, 4 * levels)
        edges = {low + k * (high - low) / count for k in range(count + 1)}
        for k in range(1, levels):
            edges |= {low + k * width, high - k * width}
        cut = cls(expression, used, found, width, tuple(sorted(edges)))
        slots = [Interval(*ends) for ends in pairwise(cut.edges)]
        most = boxes_each(len(used.names), len(slots))
        shares = measured_one_by_one(slots, lambda slot: cut.share(slot, most))
        return replace(cut, shares=tuple(shares))

    def shares_of(self, intervals: Sequence[Interval]) -> list[Ends]:
        """Return bounds on the shares of the box that the query sends into some intervals.

        Of many variables all intervals share as many boxes as are looked at within a minute.
        """
        most = boxes_each(len(self.box.names), len(intervals))
        return [self.share(interval, most) for interval in intervals]

    def share(self, interval: Interval, most: int | None) -> Ends:
        """Return bounds on the share of one interval, from no more than so many boxes."""
        part = volume(self.box, self.expression, interval, gap=GAP, most=most)
        return part.low / self.box.volume, part.high / self.box.volume

    def best_edges(self) -> tuple[Fraction, ...]:
        """Return the candidate edges between which the smallest cell is largest."""
        middles = ((low + high) / 2 for low, high in self.shares)
        _, cuts = self._solve(middles, self.width)
        return tuple(self.edges[cut] for cut in cuts)

    def limit(self) -> Fraction:
        """Return what the share of the smallest cell exceeds under no policy within the width.

        The cell of the lowest answers lies within a width of the low end, that of the highest
        within a width of the high one. And move every edge of the best policy down to a
        candidate: a cell becomes wider by at most two slots, at an end also by what may be empty
        there, and loses at most what is in a slot.
        """
        slots = list(zip(self.shares, pairwise(self.edges), strict=True))
        empty = [
            sum(
                (high - low for _, (low, high) in takewhile(lambda slot: slot[0][0] == 0, side)),
                Fraction(0),
            )
            for side in (slots, slots[::-1])
        ]
        widest = max(high - low for _, (low, high) in slots)
        reach = [self.width + (0 if self.range.exact else room + widest) for room in empty]
        ends = self.shares_of(
            [
                Interval(self.range.low, self.range.low + reach[0]),
                Interval(self.range.high - reach[1], self.range.high),
            ]
        )
        at_ends = min(Fraction(1), *(high for _, high in ends))
        most = [high for _, high in self.shares]
        if sum(most) > MOST_SHARES:
            return at_ends
        least, _ = self._solve(most, self.width + 2 * widest + max(empty))
        return min(at_ends, Fraction(least + len(self.edges), SCALE) + max(most))

    def _solve(self, shares: Iterable[Fraction], width: Fraction) -> tuple[int, NDArray[np.int32]]:
        """Return the largest smallest cell between candidates, in units of 2^-60, and its cuts.

        Masses are rounded, and one unit a position keeps them apart: at most a unit a slot.
        """
        from hartley.kernels.cover import largest_smallest_cell

        total = accumulate(shares, initial=Fraction(0))
        mass = np.array([math.floor(share * SCALE) + k for k, share in enumerate(total)])
        first, start = np.zeros(len(self.edges), np.int32), 0
        for k, edge in enumerate(self.edges):
            while edge - self.edges[start] > width:
                start += 1
            first[k] = start
        return largest_smallest_cell(first, mass)
