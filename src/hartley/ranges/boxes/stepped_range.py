"""Numbers on a step: the possible values of a column that is rounded, as whole numbers of steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction  # noqa: TC003 - the example uses it
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import OptionError
from hartley.exact import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class SteppedRange:
    """The numbers low, low + step, low + 2 step, ... up to high.

    Example:
        >>> weights = SteppedRange(Fraction(30), Fraction(200), Fraction(1, 10))
        >>> weights.size, weights.number(468), float(weights.doubles([468])[0])
        (1701, Fraction(384, 5), 76.8)
    """

    low: Fraction
    high: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        if self.step <= 0 or self.high < self.low:
            raise OptionError(
                "A step is not positive, or a range ends before it begins",
                hint="give a positive step and the smaller end first",
            )

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return int((self.high - self.low) / self.step) + 1

    def number(self, place: int) -> Fraction:
        """Return the exact number at a place, counted from 0."""
        return self.low + place * self.step

    def doubles(self, places: NDArray[np.int64] | list[int]) -> NDArray[np.float64]:
        """Return the doubles nearest to the numbers at some places."""
        counted = np.asarray(places, dtype=np.int64)
        divisor = math.lcm(self.low.denominator, self.step.denominator)
        first, width = int(self.low * divisor), int(self.step * divisor)
        largest = max(abs(first), abs(first + self.size * width), divisor)
        if largest <= LARGEST_EXACT_INTEGER:
            # One quotient of whole numbers that doubles hold exactly, so it is the nearest double.
            nearest: NDArray[np.float64] = (first + counted * width) / float(divisor)
            return nearest
        return np.array([float(self.number(place)) for place in counted.tolist()])

    def between(self, low: Fraction, high: Fraction) -> tuple[int, int]:
        """Return the first and the last place whose number lies between two others, ends included.

        The last place is below the first where there is none.

        Example:
            >>> even = SteppedRange(Fraction(0), Fraction(10), Fraction(2))
            >>> even.between(Fraction(3), Fraction(8))
            (2, 4)
        """
        first = math.ceil((low - self.low) / self.step)
        last = math.floor((high - self.low) / self.step)
        return max(first, 0), min(last, self.size - 1)
