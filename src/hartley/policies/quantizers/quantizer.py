"""Quantizers: what they share, and the uniform one, of equal cells released as their middles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.policies.quantizers import calibration
from hartley.ranges.boxes.box import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

Rule = Literal["corrected", "printed"]


class Quantizer:
    """Cells in order over an interval of numbers, each released as one number.

    What differs between equal cells, which are never listed, and cells between listed edges.
    """

    is_equal: ClassVar[bool]
    """Whether all cells have one width and are released as their middles."""

    if TYPE_CHECKING:
        # Not at run time, where a dataclass would take a property for the default of its field.
        @property
        def low(self) -> Fraction:
            """The first edge."""

        @property
        def high(self) -> Fraction:
            """The last edge."""

        @property
        def levels(self) -> int:
            """How many cells there are."""

        @property
        def edges(self) -> tuple[Fraction, ...]:
            """The edges of the cells, in order: one more than there are cells."""

        @property
        def error(self) -> Fraction:
            """The largest distance between a value and what is released for it."""

        @property
        def rule(self) -> Rule:
            """Whether the number of levels follows the corrected theorem or the one as printed."""

    def cell(self, value: object) -> int:
        """Return the number of the cell of a value; values outside are clamped."""
        raise NotImplementedError

    def middle(self, cell: int) -> Fraction:
        """Return what is released for a cell."""
        raise NotImplementedError

    def ends(self, cell: int) -> tuple[Fraction, Fraction]:
        """Return the lower and the upper edge of a cell."""
        raise NotImplementedError

    @property
    def outputs(self) -> int:
        """How many different numbers are released."""
        raise NotImplementedError

    def outputs_within(self, reach: Fraction) -> int:
        """Return how many numbers are released at most while a value moves over a length.

        Farokhi 2019 (Noiseless Privacy), Theorem 8, corrected.
        """
        raise NotImplementedError

    def steps(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return the edges between cells, and what is released for every cell."""
        raise NotImplementedError

    def widths(self) -> tuple[Fraction, Fraction]:
        """Return the width of the narrowest and of the widest cell."""
        raise NotImplementedError


@dataclass(frozen=True)
class UniformQuantizer(Quantizer):
    """Equal half-open cells over [low, high], the last one closed, each released as its middle.

    Example:
        >>> quantizer = UniformQuantizer(-2, 2, 4)
        >>> [str(edge) for edge in quantizer.edges], quantizer.error
        (['-2', '-1', '0', '1', '2'], Fraction(1, 2))
        >>> quantizer.cell(2), quantizer.middle(3)
        (3, Fraction(3, 2))
    """

    low: Fraction
    high: Fraction
    levels: int
    rule: Rule = "corrected"
    """Whether the number of levels follows the corrected theorem or the one as printed."""

    is_equal = True

    def __post_init__(self) -> None:
        interval = Interval.of((self.low, self.high))
        object.__setattr__(self, "low", interval.low)
        object.__setattr__(self, "high", interval.high)
        levels = parse_number(self.levels, name="the number of levels")
        if levels.denominator != 1 or levels < 1:
            raise OptionError(
                f"A quantizer cannot have {self.levels} levels",
                hint="give a whole number of 1 or more",
            )
        if self.rule not in ("corrected", "printed"):
            raise OptionError(
                f"The rule '{self.rule}' is unknown", hint="choose 'corrected' or 'printed'"
            )
        object.__setattr__(self, "levels", int(levels))

    @classmethod
    def for_error(cls, *, low: object, high: object, error: object) -> UniformQuantizer:
        """Return the fewest equal cells whose middles are never further off than an error.

        Farokhi 2019, Theorem IV.2: q = max(1, ceil(L / (2 error))), with I* = log2 q.

        Example:
            >>> UniformQuantizer.for_error(low=100, high=250, error="0.5").levels
            150
        """
        interval = Interval.of((low, high))
        return cls(low, high, calibration.levels_for_error(interval.length, error))  # type: ignore[arg-type]  # parsed above

    @classmethod
    def for_bits(
        cls,
        *,
        low: object,
        high: object,
        sensitivity: object,
        bits: object,
        rule: Rule = "corrected",
    ) -> UniformQuantizer:
        """Return the most equal cells of which one person's data can reach at most 2^bits.

        Theorem 8 of Farokhi 2019 (Noiseless Privacy), corrected: an interval of length S meets
        up to ceil(q S / L) + 1 of q cells, one more than the proof there counts.

        Args:
            low: the least value of the query.
            high: the largest value of the query.
            sensitivity: how far one person's data can move the query.
            bits: the budget.
            rule: "printed" gives the paper's own number, which is unsound.

        Example:
            >>> mean_of_two = {"low": 0, "high": 1, "sensitivity": "0.5", "bits": 1}
            >>> UniformQuantizer.for_bits(**mean_of_two).levels
            2
            >>> UniformQuantizer.for_bits(**mean_of_two, rule="printed").levels
            4
        """
        interval = Interval.of((low, high))
        levels = calibration.levels_for_bits(
            interval.length, parse_number(sensitivity, name="the sensitivity"), bits, rule=rule
        )
        return cls(low, high, levels, rule)  # type: ignore[arg-type]  # parsed above

    @classmethod
    def for_outputs(
        cls, outputs: int, *, low: object, high: object, sensitivity: object
    ) -> UniformQuantizer:
        """Return the most equal cells of which one person's data can reach at most so many.

        As ``for_bits``, with the number of outputs K itself: floor(2^bits) is all that counts.

        Args:
            outputs: how many outputs one person may produce.
            low: the least value of the query.
            high: the largest value of the query.
            sensitivity: how far one person's data can move the query.

        Example:
            >>> UniformQuantizer.for_outputs(3, low=0, high=1, sensitivity="0.1").levels
            20
        """
        interval = Interval.of((low, high))
        reach = parse_number(sensitivity, name="the sensitivity")
        return cls(low, high, calibration.levels_for_outputs(interval.length, reach, outputs))  # type: ignore[arg-type]  # parsed above

    @classmethod
    def for_indistinguishability(
        cls,
        *,
        coefficients: Sequence[object],
        low: object,
        high: object,
        bits: object,
        rule: Rule = "corrected",
    ) -> UniformQuantizer:
        """Return the most equal cells that keep two values of one person indistinguishable.

        Farokhi 2021, Theorem 5, sharp: of a linear query with these coefficients over people in
        [low, high], at most 2^bits outputs tell one value of a person from another. The cells
        cover exactly the range of the query.

        Example:
            >>> mean_of_five = {"coefficients": ["1/5"] * 5, "low": 0, "high": 1, "bits": 2}
            >>> UniformQuantizer.for_indistinguishability(**mean_of_five).levels
            14
            >>> UniformQuantizer.for_indistinguishability(**mean_of_five, rule="printed").levels
            5
        """
        people = Interval.of((low, high))
        weights = [parse_number(weight, name="a coefficient") for weight in coefficients]
        levels = calibration.levels_for_indistinguishability(weights, bits, rule=rule)
        ends = [sorted((weight * people.low, weight * people.high)) for weight in weights]
        return cls(sum(end[0] for end in ends), sum(end[1] for end in ends), levels, rule)  # type: ignore[arg-type]  # sums of fractions

    @property
    def width(self) -> Fraction:
        """The width of a cell."""
        return (self.high - self.low) / self.levels

    @property
    def error(self) -> Fraction:
        """The largest distance between a value and the middle of its cell."""
        return self.width / 2

    @property
    def edges(self) -> tuple[Fraction, ...]:
        """The edges of the cells, in order."""
        return tuple(self.low + k * self.width for k in range(self.levels + 1))

    def cell(self, value: object) -> int:
        """Return the number of the cell of a value; values outside are clamped."""
        number = parse_number(value, name="the value")
        if self.width == 0:
            return 0
        return min(max(int((number - self.low) // self.width), 0), self.levels - 1)

    def middle(self, cell: int) -> Fraction:
        """Return what is released for a cell."""
        return self.low + (2 * cell + 1) * self.width / 2

    def ends(self, cell: int) -> tuple[Fraction, Fraction]:
        """Return the lower and the upper edge of a cell."""
        low = self.low + cell * self.width
        return low, low + self.width

    @property
    def outputs(self) -> int:
        """How many different numbers are released: one where the interval is one number."""
        return self.levels if self.low < self.high else 1

    def outputs_within(self, reach: Fraction) -> int:
        """Return how many cells an interval of a length meets at most."""
        return calibration.cells_reached(self.high - self.low, reach, self.levels)

    def steps(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return the edges between cells, and the middle of every cell."""
        if self.width == 0:
            return (), (self.low,)
        return self.edges[1:-1], tuple(map(self.middle, range(self.levels)))

    def widths(self) -> tuple[Fraction, Fraction]:
        """Return the width of a cell, twice."""
        return self.width, self.width
