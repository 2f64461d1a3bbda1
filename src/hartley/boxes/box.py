"""Intervals with exact ends, unions of intervals, and boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import LARGEST_EXACT_INTEGER, parse_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray


# --- box ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """All numbers between two exact ends, with or without each end.

    Example:
        >>> reading = Interval(0, "0.5", high_closed=False)
        >>> reading.length, 0.25 in reading, Fraction(1, 2) in reading
        (Fraction(1, 2), True, False)
        >>> print(reading)
        [0, 1/2)
    """

    low: Fraction
    high: Fraction
    low_closed: bool = True
    high_closed: bool = True

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(
                self, name, parse_number(getattr(self, name), name=f"the {name} end")
            )
        if self.high < self.low or (self.high == self.low and not self.is_closed):
            raise OptionError(
                f"The interval {self} is empty",
                hint="write the smaller end first, and close both ends of a single point",
            )

    @classmethod
    def of(cls, ends: Any) -> Interval:  # noqa: ANN401 - an interval or two ends
        """Return an interval unchanged, or the closed one between two ends."""
        if isinstance(ends, Interval):
            return ends
        try:
            low, high = ends
        except (TypeError, ValueError):
            raise OptionError(
                "A range is not given as two ends", hint="write for example range = [100, 250]"
            ) from None
        return cls(low, high)

    @property
    def is_closed(self) -> bool:
        """Whether both ends belong to the interval."""
        return self.low_closed and self.high_closed

    @property
    def length(self) -> Fraction:
        """The measure of the interval."""
        return self.high - self.low

    @property
    def middle(self) -> Fraction:
        """The point half way between the ends."""
        return (self.low + self.high) / 2

    def __contains__(self, number: object) -> bool:
        value = parse_number(number, name="the number")
        return (self.low < value or (self.low_closed and value == self.low)) and (
            value < self.high or (self.high_closed and value == self.high)
        )

    def intersect(self, other: Interval) -> Interval | None:
        """Return what two intervals share, or None."""
        low, low_open = max((self.low, not self.low_closed), (other.low, not other.low_closed))
        high, high_closed = min((self.high, self.high_closed), (other.high, other.high_closed))
        if high < low or (high == low and (low_open or not high_closed)):
            return None
        return Interval(low, high, not low_open, high_closed)

    def __str__(self) -> str:
        opening, closing = "[" if self.low_closed else "(", "]" if self.high_closed else ")"
        return f"{opening}{self.low}, {self.high}{closing}"


@dataclass(frozen=True)
class IntervalUnion:
    """Disjoint intervals in order, as few as possible: where two touch, neither has the point.

    Example:
        >>> both = IntervalUnion.of([Interval(0, 2), Interval(1, 3), Interval(5, 6)])
        >>> print(both, both.length)
        [0, 3] ∪ [5, 6] 4
    """

    parts: tuple[Interval, ...]

    @classmethod
    def of(cls, intervals: Iterable[Interval]) -> IntervalUnion:
        """Join intervals that overlap or touch."""
        merged: list[Interval] = []
        for new in sorted(intervals, key=lambda part: (part.low, not part.low_closed)):
            last = merged[-1] if merged else None
            if (
                last is None
                or new.low > last.high
                or (new.low == last.high and not (new.low_closed or last.high_closed))
            ):
                merged.append(new)
                continue
            high, closed = max((last.high, last.high_closed), (new.high, new.high_closed))
            merged[-1] = Interval(last.low, high, last.low_closed, closed)
        return cls(tuple(merged))

    @property
    def length(self) -> Fraction:
        """The measure of the union."""
        return sum((part.length for part in self.parts), Fraction(0))

    def __contains__(self, number: object) -> bool:
        return any(number in part for part in self.parts)

    def __iter__(self) -> Iterator[Interval]:
        return iter(self.parts)

    def intersect(self, other: IntervalUnion) -> IntervalUnion:
        """Return what two unions share."""
        shared = (mine.intersect(theirs) for mine in self.parts for theirs in other.parts)
        return IntervalUnion.of(part for part in shared if part is not None)

    def __str__(self) -> str:
        return " ∪ ".join(map(str, self.parts)) if self.parts else "∅"  # noqa: RUF001 - unions


@dataclass(frozen=True)
class Box:
    """A product of closed intervals, one per named variable: what somebody's data could be.

    Example:
        >>> people = Box({"height": (100, 250), "weight": (30, 200)})
        >>> people.volume
        Fraction(25500, 1)
    """

    sides: Mapping[str, Interval]

    def __post_init__(self) -> None:
        sides = {name: Interval.of(ends) for name, ends in self.sides.items()}
        if not sides:
            raise OptionError("A box has no sides", hint="give every variable a range")
        object.__setattr__(self, "sides", sides)

    @classmethod
    def cube(cls, low: object, high: object, *, size: int, name: str = "x") -> Box:
        """Return equal sides for x1, x2, ..., one per person.

        Example:
            >>> list(Box.cube(0, 1, size=3).sides)
            ['x1', 'x2', 'x3']
        """
        if size < 1:
            raise OptionError(f"A box cannot have {size} sides", hint="ask for at least one")
        side = Interval.of((low, high))
        return cls({f"{name}{i}": side for i in range(1, size + 1)})

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in order."""
        return tuple(self.sides)

    @cached_property  # the product of thousands of sides, which every volume in the box asks for
    def volume(self) -> Fraction:
        """The Lebesgue measure of the box."""
        product = Fraction(1)
        for side in self.sides.values():
            product *= side.length
        return product

    def __getitem__(self, name: str) -> Interval:
        if name not in self.sides:
            raise OptionError(
                f"The box has no variable '{name}'", hint=f"it has {', '.join(self.sides)}"
            )
        return self.sides[name]

    def __str__(self) -> str:
        return " × ".join(f"{name} ∈ {side}" for name, side in self.sides.items())  # noqa: RUF001


# --- category list --------------------------------------------------------------------------------
# Values that are listed one by one: the categories of a column.


@dataclass(frozen=True)
class CategoryList:
    """The values that a column can have, and whether it can have others too.

    Example:
        >>> CategoryList(("nurse", "smith"), complete=False).other()
        'other'
        >>> CategoryList((3, 7), complete=False).other(), CategoryList(("F", "M")).other()
        (8, None)
    """

    values: tuple[object, ...]
    complete: bool = True
    """Whether no other value is possible."""

    def other(self) -> object | None:
        """Return one value for all that are not listed; None where there are none."""
        if self.complete:
            return None
        if all(isinstance(value, bool) for value in self.values):
            rest = [value for value in (False, True) if value not in self.values]
            return rest[0] if rest else None
        numbers = [value for value in self.values if isinstance(value, int)]
        if numbers:
            return max(numbers) + 1
        word = "other"
        while word in self.values:
            word += " "
        return word


# --- stepped range --------------------------------------------------------------------------------
# Numbers on a step: the possible values of a column that is rounded, as whole numbers of steps.


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
