"""The policy `meet` beside columns without a step: a line in doubles, and its error."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from hartley.errors import OptionError
from hartley.files import one_line
from hartley.policies.hypotheses.hypothesis import Hypothesis
from hartley.policies.hypotheses.meeting import halves, meeting_places, read_reaches, step_by
from hartley.policies.hypotheses.open_records import OpenShare
from hartley.ranges.boxes.box import Box, Interval
from hartley.ranges.boxes.rounding_errors import UNIT, double_error
from hartley.ranges.boxes.volume import volume
from hartley.ranges.polynomials.slope_signs import slope_ranges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.engines.maps.formula import Tree
    from hartley.policies.hypotheses.lattice import LatticeColumn
    from hartley.ranges.boxes.expression import Expression

    Ends = tuple[Fraction, Fraction]

FINEST = 2**80
"""Errors are rounded up to one part in so many, which a double holds."""
LARGEST_ERROR = Fraction(1, 2**20)
"""In steps; a line that is known no better decides too little."""
PARTS = 64
"""Into so many parts a range is cut to bound the slope of the line."""


@dataclass(frozen=True)
class ContinuousMeetPolicy:
    r"""Release records from either side of a line over values without a step at common places.

    One column on a step is moved: x >= line over the other columns, of which some have a range and
    no step. On every fibre the policy is that of ``MeetPolicy``: indices k that are certainly below
    the line and have k + D certainly above it meet those. The line is computed in doubles; its
    error over all of the ranges is bounded beforehand, and an index closer to the line than that is
    on neither side for certain, stays where it is and is no partner. So every moved record is open,
    whatever rounding does.

    .. math:: share \ge \frac{2D\, V - 2 V_{near}}{U + 1}

    with V the share of the fibres that have D values on either side of the line, from below by
    certified volume, and V_near that of fibres whose line may lie on a value, from above.
    Farokhi 2021, Theorem 4, replaced for data with a step. A bound.

    Args:
        hypothesis: a comparison of the moved column with an expression over the others.
        columns: the lattice of the moved column.
        ranges: the ranges of the other columns.
        move: the column that is moved, alone in a list.
        reach: the furthest that a value may be moved.
        known_within: somebody may know the value to within so much.

    Example:
        >>> from hartley.policies.hypotheses.lattice import LatticeColumn
        >>> policy = ContinuousMeetPolicy(
        ...     "kg >= cm/2", {"kg": LatticeColumn(0, 100, 1)}, {"cm": Interval(0, 200)}, ["kg"], 5
        ... )
        >>> round(float(policy.count_open().share), 6)  # 20 of 101 values, for 82 % of the lines
        0.162376
    """

    hypothesis: Hypothesis
    columns: Mapping[str, LatticeColumn] = field(hash=False)
    ranges: Mapping[str, Interval] = field(hash=False)
    move: tuple[str, ...]
    reach: tuple[Fraction, ...]
    known_within: tuple[Fraction, ...] | None = None

    norm: ClassVar[str] = "sup"
    rounding: ClassVar[None] = None

    def __init__(  # noqa: PLR0913 - each is one choice of the user's
        self,
        hypothesis: Hypothesis | str,
        columns: Mapping[str, LatticeColumn],
        ranges: Mapping[str, Interval],
        move: Sequence[str],
        reach: object,
        *,
        known_within: object = None,
    ) -> None:
        fields: dict[str, Any] = {
            "hypothesis": Hypothesis.parse(hypothesis)
            if isinstance(hypothesis, str)
            else hypothesis,
            "columns": dict(columns),
            "ranges": dict(ranges),
            "move": tuple(move),
            "reach": read_reaches(reach, tuple(move)),
            "known_within": None
            if known_within is None
            else read_reaches(known_within, tuple(move), "known_within"),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if self.hypothesis.line_column is None or (self.hypothesis.line_column,) != self.move:
            raise OptionError(
                f"The hypothesis '{one_line(self.hypothesis.text)}' names columns without a step, "
                "and does not compare the moved column with an expression over them",
                hint="declare the steps of all columns, or write weight >= 30*(height/100)**2",
            )
        names = set(self.hypothesis.names)
        if set(self.columns) != set(self.move) or {*self.columns, *self.ranges} != names:
            raise OptionError(
                "Beside columns without a step, the moved column alone has one",
                hint="declare low and high of the others, or the steps of all",
            )
        if self.distance < 1:
            raise OptionError(
                "The reach, or what is known beforehand, is below one step: nothing can be hidden",
                hint="allow values to be moved by a step or more",
            )
        if self.line_error > LARGEST_ERROR:
            raise OptionError(
                f"In doubles the line of '{one_line(self.hypothesis.text)}' is not known well "
                "enough within the declared ranges",
                hint="declare narrower ranges or a coarser step, or write it with smaller numbers",
            )

    @property
    def name(self) -> str:
        """The moved column."""
        return self.move[0]

    @property
    def lattice(self) -> LatticeColumn:
        """Its lattice."""
        return self.columns[self.name]

    @cached_property
    def line(self) -> Expression:
        """Where the hypothesis changes, as an index that need not be whole."""
        first, second = self.hypothesis.clause[1].arguments
        is_first = first.operation == "var" and first.arguments[0] == self.name
        line: Expression = second if is_first else first
        return (line - self.lattice.low) / self.lattice.step

    # --- how far ------------------------------------------------------------------------------

    @property
    def distance(self) -> int:
        """How many steps the two records that are released as one lie apart: D."""
        step = self.lattice.step
        most = 2 * math.floor(self.reach[0] / step)
        if self.known_within is None:
            return most
        return min(most, math.floor(self.known_within[0] / step))

    @property
    def distances(self) -> tuple[int]:
        """The same for every moved column, of which there is one."""
        return (self.distance,)

    @property
    def errors(self) -> tuple[Fraction]:
        """The furthest that a value is moved."""
        return (max(halves(self.distance)) * self.lattice.step,)

    @property
    def apart(self) -> tuple[Fraction]:
        """How far a value lies from its partner."""
        return (self.distance * self.lattice.step,)

    @cached_property
    def line_error(self) -> Fraction:
        """How far the line in doubles is from the true one at most, in steps."""
        error = double_error(self.line, self.ranges)
        # Twice as much leaves room for the sum and the difference with it.
        error = 2 * error + 4 * UNIT * (self.lattice.last + 1)
        return Fraction(math.ceil(error * FINEST), FINEST)

    # --- what is released ---------------------------------------------------------------------

    @cached_property
    def trees(self) -> dict[str, Tree]:
        """The index that is released, as a formula over the index and the other columns."""
        last, distance, here = self.lattice.last, self.distance, ("var", self.name)
        # The line is cut off beyond the range, where its size would cost digits.
        line = ("max", ("min", self.line.to_tree(), ("const", str(last + 2))), ("const", "-2"))
        error = ("const", str(self.line_error))
        surely_below, surely_above = ("-", line, error), ("+", line, error)
        up, down = step_by(self.name, distance, 0, last), step_by(self.name, -distance, 0, last)
        lower, upper = meeting_places(self.name, last, distance, rising=True)
        rises = ("and", ("<", here, surely_below), ("<", surely_above, up))
        falls = ("and", ("<", surely_above, here), ("<", down, surely_below))
        return {self.name: ("if", rises, lower, ("if", falls, upper, here))}

    @property
    def peak(self) -> int:
        """No whole number on the way to a release is larger in size."""
        return 2 * self.lattice.last + 2 * self.distance + 4

    # --- what is open -------------------------------------------------------------------------

    def count_open(self, *, gap: float = 1e-6) -> OpenShare:
        """Return which share of all that records could be is left open, from below."""
        last, distance = self.lattice.last, self.distance
        box = Box(dict(self.ranges))
        # Between these the first index above has D values below it, and D from it on.
        low, high = Fraction(distance - 1), Fraction(last + 1 - distance)
        if low >= high:
            return OpenShare(Fraction(0))
        full = Interval(low, high, low_closed=False, high_closed=False)
        fibres = volume(box, self.line, full, gap=gap)
        share = fibres.low / box.volume
        near = min(share, self._share_near_values())
        least = max(Fraction(0), (2 * distance * share - 2 * near) / (last + 1))
        return OpenShare(least, fibres.reached)

    def _share_near_values(self) -> Fraction:
        """Return at most which share of the fibres has its line closer to a value than its error.

        A line that rises or falls by L at least for every unit of a column is within e of a given
        whole number on a length of 2e/L at most. Where its slope may be zero all of a part counts.
        """
        return min(
            (self._share_near_values_along(name) for name in self.line.names), default=Fraction(1)
        )

    def _share_near_values_along(self, name: str) -> Fraction:
        side = self.ranges[name]
        total = Fraction(0)
        for part in range(PARTS):
            ends = Interval(
                side.low + side.length * part / PARTS, side.low + side.length * (part + 1) / PARTS
            )
            sides = dict(self.ranges) | {name: ends}
            sizes = _sizes(slope_ranges(self.line, sides)[name])
            if sizes is None or not sizes[0]:
                total += Fraction(1, PARTS)
                continue
            least, steepest = sizes
            values = math.floor(steepest * ends.length) + 2
            length = values * 4 * self.line_error / least
            total += min(length, ends.length) / side.length
        return total


def _sizes(slope: tuple[Fraction | float, Fraction | float] | None) -> Ends | None:
    """Return the least and the largest size of a slope; None where it has no bounds."""
    if slope is None:
        return None
    low, high = slope
    if isinstance(low, float) or isinstance(high, float):
        return None
    return max(low, -high, Fraction(0)), max(abs(low), abs(high))
