"""Several queries released together: the cells of a grid, their error, and how few there can be."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.exact import floor_power, parse_number
from hartley.policies.quantizers.calibration import levels_for_error, read_outputs
from hartley.policies.quantizers.grid_levels import (
    Norm,
    balls_needed,
    grid_within_error,
    levels_within_outputs,
)
from hartley.policies.quantizers.quantizer import UniformQuantizer
from hartley.ranges.boxes.box import Interval
from hartley.wording import counted, verb_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.ranges.boxes.zonotope import Zonotope

NORMS = ("sup", "euclidean")
ROOT_DIGITS = 10**18
MOST_EDGES = 1_000_000
"""Up to so many edges of a grid are listed to count the cells that hold a possible answer."""


@dataclass(frozen=True)
class CellBounds:
    """How many cells a release of several queries needs within an error: two bounds."""

    at_least: int
    """No release within the error has fewer cells, whatever their shape."""
    at_most: int
    """So many cells of a grid are enough."""

    @property
    def is_fewest(self) -> bool:
        """Whether both bounds meet, so that the number is the fewest."""
        return self.at_least == self.at_most

    def __str__(self) -> str:
        if self.is_fewest:
            return f"The fewest cells are {self.at_most:,}."
        return (
            f"{counted(self.at_most, 'cell')} of a grid {verb_for(self.at_most, 'is')} enough, and "
            f"no release has fewer than {self.at_least:,}."
        )


@dataclass(frozen=True)
class VectorQuantizer:
    """Several queries released together, each in equal cells: one output a cell of the grid.

    Example:
        >>> both = VectorQuantizer.for_error(ranges=[(0, 1), (0, 2)], error="0.5")
        >>> both.levels, both.outputs, both.cell([0, "1.5"])
        ((1, 2), 2, (0, 1))
    """

    parts: tuple[UniformQuantizer, ...]
    norm: Norm = "sup"
    """Whether the error is that of the worst query, or the length of the vector of errors."""

    def __post_init__(self) -> None:
        _check_norm(self.norm)
        if not self.parts:
            raise OptionError("There is no query to quantize", hint="give at least one range")

    @classmethod
    def for_error(
        cls, *, ranges: Sequence[object], error: object, norm: Norm = "sup"
    ) -> VectorQuantizer:
        """Return the grid of the fewest cells within an error.

        Of "sup" every query is within the error, or within its own where one is listed for each:
        q_j = max(1, ceil(L_j / (2 e_j))), the fewest cells of all where every combination of
        answers is possible. Of "euclidean" the vector of answers is within the error: the fewest
        cells of a grid of equal cells, not of all shapes of cells. Extends Farokhi 2019,
        Theorem IV.2, to several queries. Exact.

        Args:
            ranges: the range of every query.
            error: how far off the release may be; for "sup" also one error a query.
            norm: "sup" or "euclidean".

        Example:
            >>> square = [(0, 1), (0, 1)]
            >>> VectorQuantizer.for_error(ranges=square, error="0.3").levels
            (2, 2)
            >>> VectorQuantizer.for_error(ranges=square, error="0.3", norm="euclidean").levels
            (2, 4)
        """
        _check_norm(norm)
        sides = _sides(ranges)
        lengths = [side.length for side in sides]
        if norm == "euclidean":
            if isinstance(error, (list, tuple)):
                raise OptionError(
                    "A Euclidean error is one number for all queries",
                    hint='give one number, or norm="sup" with an error for each',
                )
            levels = grid_within_error(lengths, parse_number(error, name="the error"))
        else:
            errors = error if isinstance(error, (list, tuple)) else [error] * len(sides)
            _check_size(errors, sides, "errors")
            levels = tuple(map(levels_for_error, lengths, errors))
        return cls._of(sides, levels, norm)

    @classmethod
    def for_bits(
        cls,
        *,
        ranges: Sequence[object],
        sensitivities: Sequence[object],
        bits: object,
        norm: Norm = "sup",
        weights: Sequence[object] | None = None,
    ) -> VectorQuantizer:
        """Return the grid of least error of which one person's data reaches at most 2^bits cells.

        Args:
            ranges: the range of every query.
            sensitivities: how far one person's data can move each query.
            bits: the budget.
            norm: which error is least: "sup" or "euclidean".
            weights: by how much the error of each query is multiplied before; 1 by default.

        Example:
            >>> means = {"ranges": [(0, 1)] * 2, "sensitivities": ["0.1"] * 2}
            >>> VectorQuantizer.for_bits(**means, bits=3).levels
            (10, 30)
        """
        return cls.for_outputs(
            floor_power(bits),
            ranges=ranges,
            sensitivities=sensitivities,
            norm=norm,
            weights=weights,
        )

    @classmethod
    def for_outputs(
        cls,
        outputs: int,
        *,
        ranges: Sequence[object],
        sensitivities: Sequence[object],
        norm: Norm = "sup",
        weights: Sequence[object] | None = None,
    ) -> VectorQuantizer:
        """Return the grid of least error of which one person's data reaches at most so many cells.

        Every way to share the outputs among the queries is compared (Farokhi 2019, Noiseless
        Privacy, Theorem 8, corrected, for several queries). That the answers move
        independently is assumed for the worst case: where they move together, one person reaches
        fewer cells, and a finer grid may be as private.

        Args:
            outputs: how many outputs one person may produce.
            ranges: the range of every query.
            sensitivities: how far one person's data can move each query.
            norm: which error is least: "sup" or "euclidean".
            weights: by how much the error of each query is multiplied before; 1 by default.

        Example:
            >>> means = {"ranges": [(0, 1)] * 2, "sensitivities": ["0.1"] * 2}
            >>> [VectorQuantizer.for_outputs(K, **means).levels for K in (2, 4, 9)]
            [(1, 10), (10, 10), (20, 20)]
        """
        _check_norm(norm)
        sides = _sides(ranges)
        _check_size(sensitivities, sides, "sensitivities")
        listed = [1] * len(sides) if weights is None else weights
        _check_size(listed, sides, "weights")
        factors = [parse_number(weight, name="a weight") for weight in listed]
        if min(factors) <= 0:
            raise OptionError("A weight is not positive", hint="leave out what does not matter")
        reaches = [parse_number(reach, name="a sensitivity") for reach in sensitivities]
        for reach, side in zip(reaches, sides, strict=True):
            if not 0 < reach <= side.length:
                raise OptionError(
                    f"The sensitivity {reach} is not above 0 and up to the length {side.length} of "
                    "the range",
                    hint="give how far one person's data can move the query",
                )
        levels = levels_within_outputs(
            [factor * side.length / 2 for factor, side in zip(factors, sides, strict=True)],
            [reach / side.length for reach, side in zip(reaches, sides, strict=True)],
            read_outputs(outputs),
            norm,
        )
        return cls._of(sides, levels, norm)

    @classmethod
    def _of(cls, sides: Sequence[Interval], levels: Sequence[int], norm: Norm) -> VectorQuantizer:
        cells = zip(sides, levels, strict=True)
        return cls(tuple(UniformQuantizer(side.low, side.high, q) for side, q in cells), norm)

    @property
    def levels(self) -> tuple[int, ...]:
        """How many cells each query is released in."""
        return tuple(part.levels for part in self.parts)

    @property
    def outputs(self) -> int:
        """How many cells the grid has."""
        return math.prod(part.outputs for part in self.parts)

    @property
    def squared_error(self) -> Fraction:
        """The square of the largest distance between the answers and what is released; exact."""
        squares = [part.error**2 for part in self.parts]
        return max(squares) if self.norm == "sup" else sum(squares, Fraction(0))

    @property
    def error(self) -> Fraction:
        """The largest distance between the answers and what is released.

        Exact for "sup", and where the Euclidean one is rational; else a little above it.
        """
        if self.norm == "sup":
            return max(part.error for part in self.parts)
        return _root_up(self.squared_error)

    def cell(self, values: Sequence[object]) -> tuple[int, ...]:
        """Return the cell of some answers; values outside are clamped."""
        _check_size(values, self.parts, "values")
        return tuple(part.cell(value) for part, value in zip(self.parts, values, strict=True))

    def middle(self, cell: Sequence[int]) -> tuple[Fraction, ...]:
        """Return what is released for a cell."""
        return tuple(part.middle(place) for part, place in zip(self.parts, cell, strict=True))

    def outputs_within(self, reaches: Sequence[Fraction]) -> int:
        """Return how many cells are reached at most while every answer moves over its own length.

        The product of N(q) = min(q, ceil(q S / L) + 1); attained where the answers move
        independently of each other.

        Example:
            >>> means = VectorQuantizer.for_error(ranges=[(0, 1)] * 2, error="1/8")
            >>> means.outputs_within([Fraction(1, 2)] * 2)
            9
        """
        pairs = zip(self.parts, reaches, strict=True)
        return math.prod(part.outputs_within(reach) for part, reach in pairs)


def cells_needed(image: Zonotope, error: object, *, norm: Norm = "sup") -> CellBounds:
    """Return how many cells a release of several linear queries needs within an error.

    Sup error: exact where every combination of answers is possible, since prod ceil(L_j / (2e))
    points lie more than 2e apart in some coordinate; else the cells of the grid that hold a
    possible answer are an upper bound. Euclidean error: the smallest grid against the volume of
    balls and against such points. Both bounds are certain.

    Args:
        image: the possible answers.
        error: how far off the release may be; for "sup" also one error a query.
        norm: "sup" or "euclidean".

    Example:
        >>> from hartley.ranges.boxes.box import Box
        >>> from hartley.ranges.boxes.zonotope import Zonotope
        >>> square = Zonotope.of(["x1", "x2"], Box.cube(0, 1, size=2))
        >>> print(cells_needed(square, "0.1"))
        The fewest cells are 25.
        >>> print(cells_needed(square, "0.3", norm="euclidean"))
        8 cells of a grid are enough, and no release has fewer than 4.
    """
    grid = VectorQuantizer.for_error(ranges=image.sides, error=error, norm=norm)
    listed = error if isinstance(error, (list, tuple)) else [error] * image.size
    errors = [parse_number(each, name="the error") for each in listed]
    enough = grid.outputs
    if not image.is_box and sum(grid.levels) <= MOST_EDGES:
        enough, _ = image.cells_met([part.edges[1:-1] for part in grid.parts])
    # Points more than twice the error apart in one coordinate have cells of their own. Every
    # answer alone takes all values of its range; all together do so in a box only.
    apart = [levels_for_error(side.length, e) for side, e in zip(image.sides, errors, strict=True)]
    least = math.prod(apart) if image.is_box else max(apart)
    volume = image.volume or Fraction(0)
    if norm == "euclidean":
        least = max(least, balls_needed(volume, image.size, errors[0]))
    else:
        least = max(least, math.ceil(volume / math.prod(2 * e for e in errors)))
    return CellBounds(least, enough)


def _root_up(square: Fraction) -> Fraction:
    """Return a square root, exact where it is rational, else rounded up at the eighteenth digit.

    Example:
        >>> _root_up(Fraction(1, 4)), _root_up(Fraction(2)) ** 2 >= 2
        (Fraction(1, 2), True)
    """
    exact = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if exact * exact == square:
        return exact
    # Of small numbers as many digits as of large ones.
    scale = ROOT_DIGITS * max(1, square.denominator // max(1, square.numerator))
    return Fraction(math.isqrt(square.numerator * scale**2 // square.denominator) + 1, scale)


def _sides(ranges: Sequence[object]) -> list[Interval]:
    _check_list(ranges, "ranges")
    sides = [Interval.of(ends) for ends in ranges]
    if not sides:
        raise OptionError("There is no query to quantize", hint="give at least one range")
    return sides


def _check_norm(norm: object) -> None:
    if norm not in NORMS:
        raise OptionError(f"The norm {norm!r} is unknown", hint="choose 'sup' or 'euclidean'")


def _check_size(items: Sequence[object], queries: Sequence[object], what: str) -> None:
    _check_list(items, what)
    if len(items) != len(queries):
        raise OptionError(
            f"There are {len(items)} {what} for {counted(len(queries), 'query')}",
            hint="give one a query",
        )


def _check_list(items: object, what: str) -> None:
    if isinstance(items, str) or not isinstance(items, Collection):
        raise OptionError(f"The {what} are not a list", hint="list one for every query")
