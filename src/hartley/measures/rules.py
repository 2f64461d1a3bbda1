"""Rules of statistical offices: which cells of a table may not be known, and how well."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.files import one_line
from hartley.text import exact_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

RULE = re.compile(
    r"(frequency)\s*<\s*(\S+)|(p%)\s*=\s*(\S+)|(dominance)\s*=\s*(\S+)"
    r"|homogeneous(?:\s*(>=)\s*([^\s%]+)\s*%)?"
)


@dataclass(frozen=True)
class Frequency:
    """Counts from 1 to below a threshold are sensitive: some table that fits must reach it.

    Example:
        >>> str(Frequency(10))
        'frequency<10'
    """

    threshold: int = 10

    def __post_init__(self) -> None:
        if self.threshold < 2:
            raise OptionError(
                f"The threshold {self.threshold} protects nobody", hint="give 2 or more"
            )

    def __str__(self) -> str:
        return f"frequency<{self.threshold}"


@dataclass(frozen=True)
class PPercent:
    """A sum is sensitive if its second contributor knows the first one's part within p percent.

    With contributions x1 >= x2 >= ... and their sum X, that is 100 (X - x1 - x2) < p x1. Some table
    that fits must have at least x2 + (1 + p/100) x1 in the cell.

    Example:
        >>> rule = PPercent(Fraction(10))
        >>> rule.need([Fraction(x) for x in (80, 15, 3, 2)])
        Fraction(103, 1)
    """

    percent: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "percent", parse_number(self.percent, name="the p of p%"))
        if self.percent <= 0:
            raise OptionError("The p of the rule p% is not positive", hint="write p%=10")

    @property
    def parts(self) -> int:
        """How many of the largest contributions it looks at one by one."""
        return 2

    def __str__(self) -> str:
        return f"p%={exact_text(self.percent)}"

    @property
    def factor(self) -> Fraction:
        """How much of a part the others must be able to hold with it."""
        return 1 + self.percent / 100

    def need(self, contributions: Sequence[Fraction]) -> Fraction | None:
        """Return what the cell must be able to be; None if it is not sensitive."""
        first, second = [*contributions[:2], Fraction(0), Fraction(0)][:2]
        if 100 * (sum(contributions) - first - second) >= self.percent * first:
            return None
        return second + self.factor * first


@dataclass(frozen=True)
class Dominance:
    """A sum is sensitive if its n largest contributions are more than a share of it.

    That is 100 (x1 + ... + xn) > c X. Some table that fits must have at least
    (100 / c) (x1 + ... + xn) in the cell.

    Example:
        >>> amounts = [Fraction(x) for x in (80, 15, 3, 2)]
        >>> Dominance(2, Fraction(90)).need(amounts), Dominance(2, Fraction(95)).need(amounts)
        (Fraction(950, 9), None)
    """

    largest: int
    percent: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "percent", parse_number(self.percent, name="the share"))
        if self.largest < 1 or not 0 < self.percent < 100:
            raise OptionError(
                f"The rule {self} makes no sense",
                hint="write dominance=2,90: n from 1, c below 100",
            )

    @property
    def parts(self) -> int:
        """How many of the largest contributions it looks at one by one."""
        return self.largest

    def __str__(self) -> str:
        return f"dominance={self.largest},{exact_text(self.percent)}"

    @property
    def factor(self) -> Fraction:
        """How much of a joint part the cell must be able to be."""
        return 100 / self.percent

    def need(self, contributions: Sequence[Fraction]) -> Fraction | None:
        """Return what the cell must be able to be; None if it is not sensitive."""
        top = sum(contributions[: self.largest], Fraction(0))
        if 100 * top <= self.percent * sum(contributions):
            return None
        return self.factor * top


@dataclass(frozen=True)
class Homogeneous:
    """A line in which everybody, or a share of them, is in one cell tells it of everybody there.

    Of a line of everybody, two cells must be possible. Of a share, no cell may certainly hold it.

    Example:
        >>> str(Homogeneous()), str(Homogeneous("0.95"))
        ('homogeneous', 'homogeneous>=95%')
        >>> [[*Homogeneous("0.95").verdicts([(100, n, 100 - n)] * 4, 0, [1, 2])] for n in (95, 94)]
        [[(1, 'disclosed')], []]
    """

    share: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", parse_number(self.share, name="the share"))
        if not Fraction(1, 2) < self.share <= 1:
            raise OptionError(
                "The share of the rule homogeneous is not above 50 % and at most 100 %",
                hint="write homogeneous>=95%, or homogeneous for everybody",
            )

    def __str__(self) -> str:
        return f"homogeneous>={exact_text(100 * self.share)}%" if self.share < 1 else "homogeneous"

    def verdicts(
        self, ends: Sequence[Sequence[int] | NDArray[Any]], total: int, cells: Sequence[int]
    ) -> Iterator[tuple[int, str]]:
        """Yield the cells of a line that can hold the share, and the verdict on each.

        Args:
            ends: for all cells: the least and the largest count that they certainly have, and those
                that some table that fits has.
            total: the cell of all who are in the line; somebody can be.
            cells: its categories.
        """
        low, high, attained, reached = ([int(end[cell]) for cell in cells] for end in ends)
        everybody = int(ends[1][total])
        least, most = ceil(self.share * int(ends[0][total])), ceil(self.share * everybody)
        told = [cell for cell, end in zip(cells, low, strict=True) if end >= most]
        yield from ((cell, "disclosed") for cell in told)
        for place, cell in enumerate(cells if not told else ()):
            if high[place] < max(least, 1):
                continue
            # In some table there are too few in it, or too many beside it.
            beside = max(reached[:place] + reached[place + 1 :])
            uncertain = attained[place] < least or everybody - beside < most
            yield cell, "protected" if uncertain else "open"


Rule = Frequency | PPercent | Dominance | Homogeneous


def read_rule(text: str) -> Rule:
    """Read a rule.

    Example:
        >>> [str(read_rule(text)) for text in ("frequency<5", "p%=10", "dominance=2,90")]
        ['frequency<5', 'p%=10', 'dominance=2,90']
    """
    read = RULE.fullmatch(text.strip())
    try:
        if read is None:
            raise ValueError  # noqa: TRY301 - one place turns everything bad into one sentence
        if read[1]:
            return Frequency(int(read[2]))
        if read[3]:
            return PPercent(parse_number(read[4], name="the p of p%"))
        if read[5]:
            largest, share = read[6].split(",")
            return Dominance(int(largest), parse_number(share, name="the share"))
        if read[7]:
            return Homogeneous(parse_number(read[8], name="the share") / 100)
    except ValueError:
        raise OptionError(
            f"The rule '{one_line(text)}' is unknown",
            hint="write frequency<10, p%=10, dominance=2,90, homogeneous or homogeneous>=95%",
        ) from None
    return Homogeneous()
