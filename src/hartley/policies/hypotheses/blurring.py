"""Policies that make a hypothesis about somebody hard to test."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.files import one_line
from hartley.ranges.boxes.box import Interval
from hartley.ranges.boxes.expression import Expression, maximum, parse_expression, variables
from hartley.ranges.boxes.volume import volume

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hartley.ranges.boxes.box import Box
    from hartley.ranges.boxes.signs import Clause
    from hartley.ranges.boxes.volume import Volume

FLIPPED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
"""Every sign that compares, and the same one read from the other side."""
COMPARISON = re.compile(r"^(?P<column>[^<>=]+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<threshold>[^<>=]+)$")


@dataclass(frozen=True)
class Threshold:
    """A hypothesis of the form: this column is at least, above, at most or below a line.

    The line is a function of the other columns.

    Example:
        >>> obese = Threshold.parse("weight >= 30 * (height/100)**2")
        >>> obese.column, str(obese.line)
        ('weight', '30*(height/100)**2')
        >>> str(Threshold.parse("3 > x"))
        'x < 3'
    """

    column: str
    line: Expression
    sign: str = ">="
    """How the column, on the left, is compared with the line."""

    def __post_init__(self) -> None:
        if self.sign not in FLIPPED:
            raise OptionError(
                f"The sign {self.sign!r} does not compare a column with a line",
                hint=f"choose from {', '.join(FLIPPED)}",
            )

    @classmethod
    def parse(cls, hypothesis: str) -> Threshold:
        """Read a hypothesis such as "weight >= 30 * (height/100)**2"."""
        match = COMPARISON.match(hypothesis.strip())
        if match:
            left, right = (parse_expression(match[name]) for name in ("column", "threshold"))
            sign = match["sign"]
            for column, line, way in ((left, right, sign), (right, left, FLIPPED[sign])):
                if column.operation == "var" and column.arguments[0] not in line.names:
                    return cls(column.arguments[0], line, way)
        raise OptionError(
            f"The hypothesis '{one_line(hypothesis)}' does not compare one column with others by "
            f"one of {', '.join(FLIPPED)}",
            hint="write it as column >= expression, for example weight >= 30*(height/100)**2",
        )

    @property
    def line_is_above(self) -> bool:
        """Whether a value on the line is on the side of those above it, not of those below."""
        return self.sign in (">=", "<")

    @property
    def clause(self) -> Clause:
        """The hypothesis, in the form that is evaluated."""
        (column,) = variables(self.column)
        above = column - self.line if self.sign[0] == ">" else self.line - column
        return (">=" if self.sign[1:] else ">", above)

    def __str__(self) -> str:
        return f"{self.column} {self.sign} {self.line}"


@dataclass(frozen=True)
class LinePolicy:
    """What the policies against one threshold share: where they act and how far they may move."""

    hypothesis: Threshold
    reach: Fraction
    """The furthest that a value may be moved: 1/rho."""
    box: Box

    kind = "line"
    spreads: ClassVar[bool] = False
    """Whether the band keeps its volume: each side is spread over all of it. Else it collapses onto
    the line, which has none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reach", parse_number(self.reach, name="the error"))
        if self.reach <= 0:
            raise OptionError(
                f"The error {self.reach} is not positive",
                hint="give a positive error; a policy that moves nothing hides nothing",
            )
        missing = [n for n in (self.column, *self.hypothesis.line.names) if n not in self.box.sides]
        if missing:
            raise OptionError(
                f"The hypothesis names '{missing[0]}', which has no declared range",
                hint=f"the ranges are of {', '.join(self.box.names)}",
            )

    @property
    def column(self) -> str:
        """The column that is moved."""
        return self.hypothesis.column

    @property
    def error(self) -> Fraction:
        """The largest distance between a value and what is released."""
        return self.reach

    def band(self, *, gap: float = 1e-6) -> Volume:
        """Return the volume of the band that is touched: closer to the line than the reach.

        Only fibres that the line crosses count: where it runs outside the column's range, or
        along its end, one hypothesis is certain anyway. A certified bound on both sides.
        """
        (value,) = variables(self.column)
        return self._near(abs(value - self.hypothesis.line) - self.reach, gap)

    def confused(self, *, gap: float = 1e-4) -> Fraction:
        r"""Return how often the best test of the hypothesis is misled, at most.

        .. math:: \tfrac12 \int \min(p_0, p_1)

        Both sides of the line are equally likely, and every record of a side is. The best test
        decides all but the band; there it takes the side with more mass on the fibre. With lengths
        a and b of a fibre's parts below and above the line within the reach, and volumes A and B
        of the sides, the integral over fibres of min(a/A, b/B) is one volume over B: that of the
        records above the line by no more than b and (B/A) a. Rounded up.
        """
        (value,) = variables(self.column)
        line, total = self.hypothesis.line, self.box.volume
        # The distance is cut off below, so that one interval is all that is negative.
        below = volume(self.box, maximum(value - line, -1), (-1, 0), gap=gap)
        least_below, least_above = below.low, total - below.high
        if not least_below or not least_above:
            return Fraction(1, 2)
        ratio = (total - below.low) / least_below
        above = value - line
        farthest = maximum(
            above - min(ratio, Fraction(1)) * self.reach,
            above - ratio * (line - self.box[self.column].low),
        )
        near = maximum(-above, farthest)
        return min(self._near(near, gap).high / least_above, Fraction(1)) / 2

    def _near(self, outside: Expression, gap: float) -> Volume:
        """Return the volume where a distance is negative, on fibres that the line crosses."""
        side, line = self.box[self.column], self.hypothesis.line
        beyond = maximum(side.low - line, line - side.high)
        # A distance is never below -reach, so this interval is all that is negative. Zero is left
        # out: on fibres where the line is an end of the range nothing is moved.
        inside = Interval(-self.reach - 1, Fraction(0), high_closed=False)
        return volume(self.box, maximum(outside, beyond), inside, gap=gap)


@dataclass(frozen=True)
class StretchPolicy(LinePolicy):
    r"""Stretch each side of the line over the whole band, so that neither side shows.

    .. math:: x \mapsto a + (x - g)\frac{b - a}{b - g} \;(g \le x \le b), \qquad
        x \mapsto a + (x - a)\frac{b - a}{g - a} \;(a \le x < g)

    with g the line, a = max(g - 1/rho, low) and b = min(g + 1/rho, high); where the hypothesis is
    that x is above the line, or at most on it, x = g goes with the lower side. Every value in the
    band can then come from either side. It reaches what Theorem 4 of Farokhi 2021 claims for its
    own policy (corrected): Priv = log(1 + epsilon), epsilon = mu(band) / (mu(X) - mu(band)).
    No value moves further than 1/rho. For values without a step only: of rounded ones it may hide
    none, and never hides more than blurring. Where the band lies within the range, it hides about
    as many if 1/rho is a whole number of steps and none if not; where an end of the range cuts the
    band off, some or none.

    Example:
        >>> from hartley.ranges.boxes.box import Box
        >>> people = Box({"weight": (0, 200), "height": (0, 250)})
        >>> obese = Threshold.parse("weight >= 30 * (height/100)**2")
        >>> policy = StretchPolicy(obese, 5, people)
        >>> policy.release({"weight": 120, "height": 200})["weight"]
        Fraction(115, 1)
    """

    kind = "stretch"
    spreads = True

    def release(self, record: Mapping[str, object]) -> dict[str, Fraction]:
        """Return what is released for one record, exactly."""
        exact = {name: parse_number(value, name=f"'{name}'") for name, value in record.items()}
        x, line, side = exact[self.column], self.hypothesis.line.at(exact), self.box[self.column]
        low, high = max(line - self.reach, side.low), min(line + self.reach, side.high)
        if low < line < high and low <= x <= high:
            is_above = x > line or (x == line and self.hypothesis.line_is_above)
            start, end = (line, high) if is_above else (low, line)
            exact[self.column] = low + (x - start) * (high - low) / (end - start)
        return exact


@dataclass(frozen=True)
class BlurringPolicy(LinePolicy):
    r"""Release the line itself for everything close to it: the policy of the paper, as printed.

    .. math:: x \mapsto g \;\text{ where }\; |x - g| \le 1/\rho

    Theorem 4 of Farokhi 2021. Every record in the band is left open, where the line has values on
    both sides of it in reach. By volume of outputs, as equation 9 counts, Priv = 0 all the same:
    the band collapses onto a curve, which has no volume. Counted in records, log mu(X) - log
    mu(decided) is what the theorem claims. It hides rounded values too, up to a step of 1/rho.

    Example:
        >>> from hartley.ranges.boxes.box import Box
        >>> obese = Threshold.parse("weight >= 30 * (height/100)**2")
        >>> policy = BlurringPolicy(obese, 5, Box({"weight": (0, 200), "height": (0, 250)}))
        >>> policy.release({"weight": 123, "height": 200})["weight"]
        Fraction(120, 1)
    """

    kind = "blur"

    def release(self, record: Mapping[str, object]) -> dict[str, Fraction]:
        """Return what is released for one record, exactly."""
        exact = {name: parse_number(value, name=f"'{name}'") for name, value in record.items()}
        line = self.hypothesis.line.at(exact)
        if abs(exact[self.column] - line) <= self.reach:
            exact[self.column] = line
        return exact
