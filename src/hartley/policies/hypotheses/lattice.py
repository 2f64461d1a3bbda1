"""Columns whose values lie on a step: a value is its index, and the index comes first."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from hartley.engines.maps.lattice_index import LatticeSide
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.numerals import exact_text
from hartley.ranges.boxes.box import Interval
from hartley.ranges.boxes.stepped_range import SteppedRange
from hartley.wording import exactly

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction


@dataclass(frozen=True)
class LatticeColumn(SteppedRange):
    r"""The values low, low + step, low + 2 step, ... up to high, each known by its index.

    .. math:: x_k = low + k\,step, \qquad k = 0, \dots, U = \lfloor (high - low) / step \rfloor

    Everything that a guarantee rests on is computed from indices. The value is one function of
    the index and is applied last: 0.1 + 0.2 and 0.3 are two doubles, but one index.

    Example:
        >>> weights = LatticeColumn("30", "200", "0.1")
        >>> weights.last, weights.value(5), weights.index("30.5")
        (1700, Fraction(61, 2), 5)
    """

    def __post_init__(self) -> None:
        low, high = (parse_number(e, name="an end of a range") for e in (self.low, self.high))
        step = parse_number(self.step, name="the step")
        for name, number in (("low", low), ("high", high), ("step", step)):
            object.__setattr__(self, name, number)
        if step <= 0:
            raise OptionError(
                f"The step {exactly(step)} is not a positive number",
                hint="write a positive number, for example 10 or 0.5",
            )
        if high - low < step:
            raise OptionError(
                f"The range from {exactly(low)} to {exactly(high)} holds no whole step of "
                f"{exactly(step)}",
                hint="the values are low, low + step, low + 2 step ... up to high",
            )

    @property
    def last(self) -> int:
        """The index U of the last value; there are U + 1."""
        return self.size - 1

    @property
    def is_whole(self) -> bool:
        """Whether the range ends on a value."""
        return self.value(self.last) == self.high

    def value(self, index: int) -> Fraction:
        """Return the value of an index, exactly."""
        return self.number(index)

    def index(self, value: object) -> int:
        """Return the index of a value; a value off the lattice is refused."""
        index = (parse_number(value, name="a value") - self.low) / self.step
        if index.denominator != 1 or not 0 <= index <= self.last:
            raise OptionError(
                "A value does not lie on the declared step, or outside the declared range",
                hint="declare the step that values are recorded in, or round them to it first",
            )
        return int(index)

    def side(self, name: str, rounding: str | None = None) -> LatticeSide:
        """Return how an engine reads the indices of a column of this name."""
        return LatticeSide(name, self.low, self.step, self.last, rounding)

    def texts(self) -> list[str]:
        """Return low, high and step as a file holds them."""
        return [exact_text(number) for number in (self.low, self.high, self.step)]

    def sentence(self, name: str) -> str:
        """Describe the lattice in a few words."""
        return (
            f"{name} from {exactly(self.low)} to {exactly(self.high)} in steps of "
            f"{exactly(self.step)}"
        )


def read_lattices(value: object, moved: Mapping[str, object]) -> dict[str, LatticeColumn]:
    """Read the columns that are not moved: low, high and step of each."""
    lattices, ranges = read_others(value, moved)
    for name in ranges:
        raise OptionError(
            f"The other column '{name}' is not given by low, high and step",
            hint='write for example others = {height = ["120", "220", "1"]}',
        )
    return lattices


def read_others(
    value: object, moved: Mapping[str, object]
) -> tuple[dict[str, LatticeColumn], dict[str, Interval]]:
    """Read the columns that are not moved: low, high and step of each, or low and high alone."""
    if not isinstance(value, dict):
        raise OptionError(
            "The field 'others' is not a table",
            hint='write for example others = {height = ["120", "220", "1"]}',
        )
    lattices, ranges = {}, {}
    for name, numbers in value.items():
        if not isinstance(numbers, list) or len(numbers) not in (2, 3) or name in moved:
            raise OptionError(
                f"The other column '{name}' is not given by low, high and step",
                hint='write for example others = {height = ["120", "220", "1"]}, or low and high '
                "alone of values without a step",
            )
        texts = [str(part) if isinstance(part, Decimal) else part for part in numbers]
        exact = [parse_number(text, name=f"'{name}'") for text in texts]
        if len(exact) == 3:
            lattices[name] = LatticeColumn(*exact)
            continue
        ranges[name] = Interval(exact[0], exact[1])
        if not ranges[name].length:
            raise OptionError(
                f"The range of the other column '{name}' is a single number",
                hint="write that number in the hypothesis instead of the column",
            )
    return lattices, ranges
