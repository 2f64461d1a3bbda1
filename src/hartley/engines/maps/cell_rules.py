"""Cells of numbers as data: equal ones over a range, and those between explicit edges.

Releases put numbers into cells, and so does the coding of a table for an agent. ``cells.py``
executes them on every engine.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction  # noqa: TC003 - the examples use it
from typing import Any, Protocol

from hartley.errors import OptionError
from hartley.exact import parse_number

LARGEST_CELL = 2**48
"""Integers up to here: cells are guessed within one and their edges are exact quotients."""

MOST_CUTS = 2**16
"""The largest number of cells that are listed one by one."""


@dataclass(frozen=True)
class UniformCells:
    """Equal cells over [low, high]: a value becomes the middle of its cell.

    Value v lies in cell k when edge_k <= v < edge_(k+1), the last cell being closed, where edge_k
    is the double nearest to low + k (high - low) / levels; the double nearest to the exact middle
    is released. Values outside are clamped. Constant work per row for any number of cells.

    Example:
        >>> cells = UniformCells("age", Fraction(0), Fraction(100), 20)
        >>> cells.edge(3), cells.middle(3)
        (Fraction(15, 1), Fraction(35, 2))
    """

    column: str
    low: Fraction
    high: Fraction
    levels: int
    listed: bool = False
    """Whether the middles are all values that there are: others are counted, as between them."""

    def __post_init__(self) -> None:
        set_range(self, self.low, self.high)
        if isinstance(self.levels, bool) or not isinstance(self.levels, int) or self.levels < 1:
            raise OptionError(
                f"The number of levels for column '{self.column}' is not a positive whole number",
                hint="give 1 level or more",
            )
        if not self.fits and self.levels > MOST_CUTS:
            raise OptionError(
                f"The {self.levels:,} cells for column '{self.column}' are too fine to be told "
                "apart exactly",
                hint=f"use ends with fewer decimals, or up to {MOST_CUTS:,} levels",
            )
        if max(map(abs, (self.low, self.high))) > LARGEST_CELL:
            for cell in range(self.levels):
                _exact(self.column, self.edge(cell))
                _exact(self.column, self.middle(cell))

    @property
    def fits(self) -> bool:
        """Whether every edge is a quotient of integers that leave room in a double."""
        return max(map(abs, self.integers())) <= LARGEST_CELL

    def integers(self) -> tuple[int, int, int, int]:
        """Return A, W, D and B with edge_k = (A + k W) / D exactly, and B = A + levels W.

        Example:
            >>> UniformCells("x", Fraction(1, 10), Fraction(7, 10), 4).integers()
            (2, 3, 20, 14)
        """
        width = (self.high - self.low) / self.levels
        divisor = math.lcm(self.low.denominator, width.denominator)
        first, step = int(self.low * divisor), int(width * divisor)
        return first, step, divisor, first + self.levels * step

    def edge(self, number: int) -> Fraction:
        """Return the exact lower edge of a cell."""
        return self.low + number * (self.high - self.low) / self.levels

    def middle(self, cell: int) -> Fraction:
        """Return the exact middle of a cell."""
        return (self.edge(cell) + self.edge(cell + 1)) / 2

    def as_cuts(self) -> CutCells:
        """Return the same map as a list of cells."""
        numbers = range(self.levels)
        edges = tuple(map(self.edge, range(self.levels + 1)))
        middles = tuple(map(self.middle, numbers))
        spans = tuple((middle, middle) for middle in middles) if self.listed else ()
        return CutCells(self.column, edges, tuple(map(float, middles)), spans)


@dataclass(frozen=True)
class CutCells:
    """Cells between explicit edges, each released as a number of its own.

    Value v lies in cell k when edge_k <= v < edge_(k+1), edges rounded to the nearest double and
    the last cell closed. Values outside are clamped. The comparisons per row are as many as the
    number of cells has binary digits.

    Example:
        >>> CutCells("income", (Fraction(0), Fraction(20), Fraction(100)), (10.0, 60.0)).low
        Fraction(0, 1)
    """

    column: str
    edges: tuple[Fraction, ...]
    values: tuple[float, ...]
    spans: tuple[tuple[Fraction, Fraction], ...] = ()
    """The ends of what lies in each cell, if declared: values between them are counted."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) == len(self.edges) - 1 <= MOST_CUTS:
            raise OptionError(
                f"The cuts for column '{self.column}' have {len(self.edges):,} edges and "
                f"{len(self.values):,} values",
                hint=f"give one value more than inner edges, and up to {MOST_CUTS:,} values",
            )
        edges = tuple(_exact(self.column, edge) for edge in self.edges)
        object.__setattr__(self, "edges", edges)
        if any(
            lower > upper or (lower == upper and len(edges) > 2)  # one cell may be one number
            for lower, upper in itertools.pairwise(edges)
        ):
            raise OptionError(
                f"The edges of the cuts for column '{self.column}' do not increase",
                hint="list them from the smallest to the largest, each once",
            )
        if not all(isinstance(value, float) and math.isfinite(value) for value in self.values):
            raise OptionError(
                f"A value of the cuts for column '{self.column}' is not a finite number",
                hint="give every cell a number to be released as",
            )

    @property
    def low(self) -> Fraction:
        """The lower end of the range."""
        return self.edges[0]

    @property
    def high(self) -> Fraction:
        """The upper end of the range."""
        return self.edges[-1]


class Ranged(Protocol):
    """A rule for a column with a range."""

    @property
    def column(self) -> str:
        """The column."""


def set_range(rule: Ranged, low: object, high: object) -> None:
    """Store the ends of a range as the exact numbers that they stand for."""
    ends = _exact(rule.column, low), _exact(rule.column, high)
    if ends[1] < ends[0]:
        raise OptionError(
            f"The range of column '{rule.column}' ends before it begins",
            hint="write the smaller end first",
        )
    object.__setattr__(rule, "low", ends[0])
    object.__setattr__(rule, "high", ends[1])


def _exact(column: str, number: object) -> Fraction:
    exact = parse_number(number, name=f"an end of a range of column '{column}'")
    released_double(exact, column=column)
    return exact


def released_double(number: Any, *, column: str) -> float:
    """Return the double nearest to a number that an error is promised by.

    Beyond 2^48, where doubles come to be as far apart as whole numbers, one that it equals.
    """
    double = nearest_double(number, column=column)
    if double != number and abs(number) > LARGEST_CELL:
        raise OptionError(
            f"An end or a value of a cell of column '{column}' lies beyond 2^48 and would be "
            "rounded to the nearest double",
            hint="subtract a constant or choose a larger unit, so that the numbers are smaller",
        )
    return double


def nearest_double(number: Any, *, column: str) -> float:
    """Return the double nearest to a rational number, never minus zero, or say there is none."""
    try:
        return float(number) + 0.0
    except OverflowError:
        raise OptionError(
            f"A number given for column '{column}' is too large for any engine",
            hint="stay below 1e308",
        ) from None
