"""Values in order, as a quantizer over data reads them: distinct, counted and exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import parse_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

MOST_VALUES = 2**31 - 2


@dataclass(frozen=True)
class SortedValues:
    """Distinct values in order: doubles, or integers that a divisor turns into rationals.

    Example:
        >>> values = SortedValues.of([0.3, 0.1, 0.1])
        >>> [str(values.exact(place)) for place in range(2)], values.counts.tolist()
        (['1/10', '3/10'], [2, 1])
    """

    numbers: NDArray[Any]
    counts: NDArray[np.int64] | None = None
    """How many records have each value; None where each has one."""
    divisor: int = 1

    @classmethod
    def of(
        cls,
        data: Sequence[object] | NDArray[Any],
        *,
        query: Callable[[Any], Any] | None = None,
        weights: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> SortedValues:
        """Sort what a query makes of some data.

        A list is read as it is written, so that 0.1 is a tenth; an array of doubles holds the
        numbers that it holds. One sort where the data are not in order.
        """
        divisor = 1
        if hasattr(data, "__array__"):
            numbers = np.asarray(data if query is None else query(np.asarray(data)))
        else:
            listed = list(data) if query is None else [query(item) for item in data]
            numbers, divisor = _as_integers(listed)
        if numbers.dtype.kind == "O" and divisor == 1:
            numbers, divisor = _as_integers(numbers.tolist())
        numbers, counted = _checked(numbers), None
        if weights is not None:
            counted = _checked_weights(weights, numbers.size)
            order = np.argsort(numbers, kind="stable")
            numbers, counted = numbers[order], counted[order]
        elif not np.all(numbers[:-1] <= numbers[1:]):
            numbers = np.sort(numbers)
        new = numbers[1:] != numbers[:-1]
        if np.all(new):
            return cls(numbers, counted, divisor)
        starts = np.concatenate([[0], np.flatnonzero(new) + 1])
        counts = (
            np.diff(np.append(starts, numbers.size))
            if counted is None
            else np.add.reduceat(counted, starts)
        )
        return cls(numbers[starts], counts, divisor)

    @property
    def size(self) -> int:
        """How many distinct values there are."""
        return int(self.numbers.size)

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.size if self.counts is None else int(self.counts.sum())

    @property
    def mass(self) -> NDArray[np.int64]:
        """How many records lie before each position."""
        if self.counts is None:
            return np.arange(self.size + 1)
        return np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def spread(self) -> Fraction:
        """The distance between the smallest and the largest value."""
        return self.exact(self.size - 1) - self.exact(0)

    def exact(self, place: int) -> Fraction:
        """Return a value as a rational."""
        number = self.numbers[place]
        if self.numbers.dtype.kind == "f":
            return Fraction(float(number))
        return Fraction(int(number), self.divisor)

    def one_by_one(self) -> SortedValues:
        """Return the records, equal values apart."""
        if self.counts is None:
            return self
        return SortedValues(np.repeat(self.numbers, self.counts), None, self.divisor)

    def first_within(self, width: Fraction) -> NDArray[np.int32]:
        """Return for every position where a cell within a width may begin that ends there.

        Differences are compared with the width as rationals.
        """
        scaled = min(width, self.spread) * self.divisor
        if self.numbers.dtype.kind == "O":
            starts = np.searchsorted(self.numbers, self.numbers - math.floor(scaled))
            return np.concatenate([[0], starts]).astype(np.int32)
        from hartley.kernels.cover import first_within

        return first_within(self.numbers, scaled)

    def edge_before(self, place: int) -> Fraction:
        """Return a short number between a value and the one before it.

        It lies above the middle of the two, so that a double read as the decimal that it prints
        as, or compared with the edge rounded to a double, stays on its side.

        Example:
            >>> SortedValues.of(np.array([3.2, 4.7])).edge_before(1)
            Fraction(4, 1)
        """
        low, high = self.exact(place - 1), self.exact(place)
        doubles = self.numbers.dtype.kind == "f"
        top, bottom = (
            low.numerator * high.denominator + high.numerator * low.denominator,
            2 * low.denominator * high.denominator,
        )
        if doubles:
            high = min(high, parse_number(float(high), name="a value"))
            if high.numerator * bottom <= top * high.denominator:
                return Fraction(top, bottom)
        return _shortest((top, bottom), high.as_integer_ratio(), open_below=doubles)


def _shortest(low: tuple[int, int], high: tuple[int, int], *, open_below: bool) -> Fraction:
    """Return a decimal of few digits from low, or just above it, to just below high.

    Both are given as numerator and denominator: with millions of cells, rationals are slow.
    """
    room = high[0] * low[1] - low[0] * high[1], high[1] * low[1]
    wide = room[0] >= room[1]
    digits = -len(str(room[0] // room[1])) if wide else len(str(room[1] // room[0])) - 1
    while True:
        up, down = (10**digits, 1) if digits >= 0 else (1, 10**-digits)
        steps, rest = divmod(low[0] * up, low[1] * down)
        steps += open_below or rest > 0
        if steps * down * high[1] < high[0] * up:
            return Fraction(steps * down, up)
        digits += 1


def _as_integers(items: Sequence[object]) -> tuple[NDArray[Any], int]:
    """Return numbers as whole multiples of one unit fraction, of any size."""
    exact = [parse_number(item, name="a value") for item in items]
    divisor = math.lcm(*(number.denominator for number in exact))
    whole = [number.numerator * (divisor // number.denominator) for number in exact]
    fits = all(-(2**63) <= number < 2**63 for number in whole)
    numbers: NDArray[Any] = np.array(whole, dtype=np.int64 if fits else object)
    return numbers, divisor


def _checked(numbers: NDArray[Any]) -> NDArray[Any]:
    """Refuse what is no column of finite numbers; return 64-bit numbers or objects."""
    kind = numbers.dtype.kind
    if kind not in "iufO" or numbers.ndim != 1 or numbers.dtype.itemsize > 8:
        raise OptionError("The values are not one column of numbers", hint="pass a list of numbers")
    if not 0 < numbers.size <= MOST_VALUES:
        raise OptionError(
            "There are no values to place in cells, or too many", hint="pass at least one"
        )
    if kind == "f":
        numbers = numbers.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            spread = numbers.max() - numbers.min()
        if not np.isfinite(spread):
            raise OptionError(
                "A value is missing or infinite, or the values are too far apart",
                hint="leave out what is not a finite number",
            )
        return numbers
    if kind == "u" and numbers.max() >= 2**63:
        return np.array(numbers.tolist(), dtype=object)
    return numbers if kind == "O" else numbers.astype(np.int64, copy=False)


def _checked_weights(weights: Sequence[int] | NDArray[np.int64], size: int) -> NDArray[np.int64]:
    counts = np.asarray(weights)
    if counts.shape != (size,) or counts.dtype.kind not in "iu" or counts.min() < 1:
        raise OptionError(
            "The weights are not positive whole numbers, one per value",
            hint="say how many records have each value",
        )
    if int(counts.max()) * size >= 2**62 and sum(counts.tolist()) >= 2**62:
        raise OptionError("The weights are too large", hint="divide them by a common number")
    return counts.astype(np.int64, copy=False)
