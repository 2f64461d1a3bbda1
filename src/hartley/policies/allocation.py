"""One budget of bits for a record, shared among its columns as whole numbers of levels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

from hartley.errors import ColumnError, OptionError
from hartley.exact import floor_power, log_ratio, parse_number, parse_step
from hartley.policies.levels import least_largest, least_mean
from hartley.policies.optimal import CutQuantizer
from hartley.policies.quantizer import UniformQuantizer
from hartley.ranges.box import Interval

if TYPE_CHECKING:
    from collections.abc import Mapping

Objective = Literal["largest", "mean"]


@dataclass(frozen=True)
class Allocation:
    """How many levels each column of a record is released in, and what that costs.

    Whatever a record is, it can give at most ``outputs`` different releases, so releasing it is
    local noiseless privacy of log2(outputs) bits (Farokhi 2019, Noiseless Privacy, Definition 2).
    """

    levels: Mapping[str, int]
    errors: Mapping[str, Fraction]
    """The largest distance between a value and what is released for it, column by column."""
    objective: Objective
    value: Fraction
    """The largest weighted error, or the weighted mean error; no other levels make it smaller."""
    budget: Fraction
    """The bits that a record may cost."""
    columns: Mapping[str, Column]

    @property
    def outputs(self) -> int:
        """How many different releases a record can give: the product of the levels."""
        return math.prod(self.levels.values())

    @property
    def bits_used(self) -> float:
        """The bits that a record does cost."""
        return log_ratio(self.outputs)

    @property
    def bits_left(self) -> float:
        """The bits that no column could make use of."""
        return max(float(self.budget) - self.bits_used, 0.0)

    @property
    def constant(self) -> tuple[str, ...]:
        """The columns that get one level, so that nothing is told about them."""
        return tuple(name for name, levels in self.levels.items() if levels == 1)

    def quantizer(self, name: str) -> UniformQuantizer | CutQuantizer:
        """Return the policy of a column: equal cells, or equal runs of points where it has a step.

        Example:
            >>> shared = allocate_bits({"age": (0, 120), "height": (100, 250)}, 5)
            >>> shared.quantizer("age").levels, shared.quantizer("age").error
            (5, Fraction(12, 1))
        """
        if name not in self.columns:
            raise ColumnError(
                f"The allocation has no column '{name}'", hint=f"it has {', '.join(self.columns)}"
            )
        return self.columns[name].quantizer(self.levels[name])


@dataclass(frozen=True)
class Column:
    """The public range of a column, the step of its values if it has one, and its weight."""

    range: Interval
    step: Fraction | None = None
    weight: Fraction = Fraction(1)

    @classmethod
    def of(cls, name: str, described: object, weight: object = 1) -> Column:
        """Read an interval, two ends, or a mapping with a range and perhaps a step."""
        step = None
        if hasattr(described, "keys"):
            if "range" not in described or set(described) - {"range", "step"}:  # type: ignore[operator, call-overload]  # a mapping
                raise ColumnError(
                    f"Column '{name}' is not described by a range and a step",
                    hint="write for example range = [100, 250] and step = 0.5",
                )
            if described.get("step") is not None:  # type: ignore[attr-defined]  # likewise
                step = parse_step(described["step"], column=name)  # type: ignore[index]  # likewise
            described = described["range"]  # type: ignore[index]  # likewise
        share = parse_number(weight, name=f"the weight of column '{name}'")
        if share <= 0:
            raise OptionError(
                f"The weight of column '{name}' is not positive",
                hint="leave out a column that does not matter",
            )
        return cls(Interval.of(described), step, share)

    @cached_property
    def points(self) -> int | None:
        """How many values there are, where there is a step; more levels would be of no use."""
        if self.step is None:
            return 1 if self.range.length == 0 else None
        return math.floor(self.range.length / self.step) + 1

    @cached_property
    def scale(self) -> Fraction:
        """The weighted distance that a level halves, a third of it ...: half a range or a step."""
        return self.weight * (self.range.length if self.step is None else self.step) / 2

    def weighted_error(self, levels: int) -> Fraction:
        """Return the weighted error of so many levels, at best."""
        if self.points is None:
            return self.scale / levels
        return self.scale * (-(-self.points // levels) - 1)

    def nth_error(self, n: int) -> Fraction:
        """Return the weighted errors that occur one by one, the largest first."""
        return self.scale / n if self.points is None else self.scale * (self.points - n)

    def levels_within(self, error: Fraction, *, strictly: bool = False) -> int | None:
        """Return the fewest levels with a weighted error of at most, or below, some number."""
        if self.scale == 0:
            return None if strictly and error <= 0 else 1
        if self.points is None:
            if error <= 0:
                return None
            wanted = self.scale / error
            return max(1, math.floor(wanted) + 1 if strictly else math.ceil(wanted))
        if error < 0 or (strictly and error == 0):
            return None
        ratio = error / self.scale
        run = math.ceil(ratio) if strictly else math.floor(ratio) + 1
        return -(-self.points // run)

    def useful(self, levels: int) -> int:
        """Return the fewest levels that are as good as so many."""
        return levels if self.points is None else -(-self.points // -(-self.points // levels))

    def quantizer(self, levels: int) -> UniformQuantizer | CutQuantizer:
        """Return the policy with so many levels."""
        if self.step is None:
            return UniformQuantizer(self.range.low, self.range.high, levels)
        assert self.points is not None
        run, low, step = -(-self.points // levels), self.range.low, self.step
        starts = range(0, self.points, run)
        ends = [min(start + run, self.points) - 1 for start in starts]
        cuts = [low + (start - Fraction(1, 2)) * step for start in starts[1:]]
        spans = [
            Interval(low + start * step, low + end * step)
            for start, end in zip(starts, ends, strict=True)
        ]
        return CutQuantizer((low, *cuts, self.range.high), spans=tuple(spans))


def allocate_bits(
    columns: Mapping[str, object],
    total_bits: object,
    *,
    weights: Mapping[str, object] | None = None,
    objective: Objective = "largest",
) -> Allocation:
    r"""Share a budget of bits for a record among its columns, so that errors are least.

    .. math:: \min_q \max_i w_i e_i(q_i) \text{ or } \min_q \frac{\sum_i w_i e_i(q_i)}{\sum_i w_i}
        \text{ subject to } \prod_i q_i \le \lfloor 2^\epsilon \rfloor

    Whole levels q_i, with e_i(q) = range / (2 q); a column with a step has whole runs of points
    as its cells. Local noiseless privacy (Farokhi 2019, Noiseless Privacy, Definition 2 and
    Theorem 6). Exact: no other levels are better. What the largest error leaves of the budget
    makes the next largest one as small as it can be, and so on. A budget of 0 bits is met by
    telling nothing: one level each. The largest error takes time linear in the bits and quadratic
    in the columns; the mean is searched, with bounds that leave little to look at, and refused
    where that is still too much.

    Args:
        columns: for every column an interval, two ends, or a mapping with "range" and "step".
        total_bits: what a record may cost.
        weights: how much an error of a column matters; 1 where not named.
        objective: "largest" or "mean".

    Example:
        >>> taxi = {"latitude": (0, 1), "longitude": (0, 1)}
        >>> dict(allocate_bits(taxi, 6).levels)
        {'latitude': 8, 'longitude': 8}
        >>> shared = allocate_bits({"age": (0, 120), "height": (100, 250)}, 5)
        >>> dict(shared.levels), shared.value, shared.outputs
        ({'age': 5, 'height': 6}, Fraction(25, 2), 30)
    """
    wanted = weights or {}
    if not columns:
        raise OptionError("There is no column to share bits among", hint="name at least one")
    for name in wanted:
        if name not in columns:
            raise ColumnError(
                f"A weight names column '{name}', which gets no bits",
                hint=f"choose from {', '.join(columns)}",
            )
    if objective not in get_args(Objective):
        raise OptionError(
            f"The objective '{objective}' is unknown", hint="choose 'largest' or 'mean'"
        )
    described = {name: Column.of(name, what, wanted.get(name, 1)) for name, what in columns.items()}
    sides, limit = list(described.values()), floor_power(total_bits)
    chosen = least_largest(sides, limit) if objective == "largest" else least_mean(sides, limit)
    costs = [side.weighted_error(levels) for side, levels in zip(sides, chosen, strict=True)]
    mean = sum(costs, Fraction(0)) / sum(side.weight for side in sides)
    return Allocation(
        levels=dict(zip(described, chosen, strict=True)),
        errors={
            name: cost / side.weight
            for (name, side), cost in zip(described.items(), costs, strict=True)
        },
        objective=objective,
        value=max(costs) if objective == "largest" else mean,
        budget=parse_number(total_bits, name="the budget in bits"),
        columns=described,
    )
