"""One budget of bits for a record, shared among its columns as whole numbers of levels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, get_args

from hartley.errors import ColumnError, OptionError
from hartley.exact import floor_power, log_ratio, parse_number, parse_step
from hartley.policies.quantizers.optimal import CutQuantizer
from hartley.policies.quantizers.quantizer import UniformQuantizer
from hartley.ranges.boxes.box import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


Beginning = tuple[int, Fraction, float, dict[int, int]]
"""The product, the error, the excess and the levels of the first few columns."""
MOST_BITS = 1000
"""What doubles can hold, with room to spare."""
MOST_STEPS = 300_000
"""So many choices are looked at before the search for the least mean error gives up."""


# --- the least largest error ------------------------------------------------------------------


def least_largest(columns: Sequence[AllocatedColumn], limit: int) -> list[int]:
    """Make the largest error least, then the largest of those it does not hold back, and so on."""
    levels = dict.fromkeys(range(len(columns)), 1)
    rest = list(levels)
    while rest:
        error = _least_bound([columns[i] for i in rest], limit)
        fewest = {i: _known(columns[i].levels_within(error)) for i in rest}
        held = set(rest) if error == 0 else _held_back(columns, fewest, error, limit)
        for i in held:
            levels[i] = fewest[i]
            limit //= fewest[i]
        rest = [i for i in rest if i not in held]
    return list(levels.values())


def _held_back(
    columns: Sequence[AllocatedColumn], fewest: Mapping[int, int], error: Fraction, limit: int
) -> set[int]:
    """Return the columns that stay at the largest error: as few as can be, the dearest ones."""
    product = math.prod(fewest.values())
    better = {
        i: _known(columns[i].levels_within(error, strictly=True))
        for i, levels in fewest.items()
        if columns[i].weighted_error(levels) == error
    }
    held = set(better)
    for i in sorted(better, key=lambda i: Fraction(better[i], fewest[i])):
        product = product // fewest[i] * better[i]
        if product > limit:
            break
        held.discard(i)
    return held


def _least_bound(columns: Sequence[AllocatedColumn], limit: int) -> Fraction:
    """Return the least error that all columns can keep at once; some column attains it.

    For each column the bound is bisected over the errors that this column can have. One level
    each fits any budget, so at least one of them can be kept.
    """
    found = []
    for column in columns:
        steps = limit if column.points is None else column.points
        refused = _first(1, steps, partial(_is_too_small, columns, limit, column))
        if refused > 1:
            found.append(column.nth_error(refused - 1))
    return min(found)


def _is_too_small(
    columns: Sequence[AllocatedColumn], limit: int, column: AllocatedColumn, n: int
) -> bool:
    return not _fits(columns, column.nth_error(n), limit)


def _fits(columns: Sequence[AllocatedColumn], error: Fraction, limit: int) -> bool:
    product = 1
    for column in columns:
        levels = column.levels_within(error)
        if levels is None:
            return False
        product *= levels
        if product > limit:
            return False
    return True


def _known(levels: int | None) -> int:
    assert levels is not None
    return levels


# --- the least mean error ---------------------------------------------------------------------


def least_mean(columns: Sequence[AllocatedColumn], limit: int) -> list[int]:
    """Make the mean error least: look at the levels whose excess is small, then at more of them."""
    if math.prod(column.points or limit + 1 for column in columns) <= limit:
        return [column.points or 1 for column in columns]
    if limit.bit_length() > MOST_BITS:
        raise _too_many()
    search = _MeanSearch(columns, limit)
    best = least_largest(columns, limit)
    slack = search.gap(best) / 2**20
    while True:
        best = search.improve(best, slack)
        if slack >= search.gap(best):
            return best
        slack = min(4 * slack, search.gap(best))


class _MeanSearch:
    """Which levels could have the least mean error.

    No q levels of a column have an error below a / q - c. At a price for a unit of log q each
    column has ideal levels, whole or not, at which a / q - c + price log q is least. What the
    choices of a solution exceed these least sums by, its excess, is at most what the solution
    exceeds a lower bound by: so few choices stay in question. These bounds are doubles, with a
    margin; the errors that decide are exact.
    """

    def __init__(self, columns: Sequence[AllocatedColumn], limit: int) -> None:
        self._columns, self._limit = columns, limit
        self._unit = max(column.scale * (column.points or 1) for column in columns)
        self._scales = [float(c.scale * (c.points or 1) / self._unit) for c in columns]
        self._shifts = [float(c.scale / self._unit) if c.points else 0.0 for c in columns]
        self._most = [min(column.points or limit, limit) for column in columns]
        low, high = -math.log(limit) - 1, 1.0  # the logarithm of the price
        for _ in range(100):
            middle = (low + high) / 2
            spent = sum(map(math.log, self._ideal_levels(math.exp(middle))))
            low, high = (middle, high) if spent > math.log(limit) else (low, middle)
        self._price = math.exp(high)
        self._ideals = self._ideal_levels(self._price)
        self._least = [self._sum(i, levels) for i, levels in enumerate(self._ideals)]
        spent = self._price * math.log(limit)
        self._bound = sum(self._least) - spent
        sizes = zip(self._scales, self._shifts, self._ideals, strict=True)
        self._margin = 1e-13 * (2 * spent + sum(a / q + c for a, c, q in sizes))

    def _ideal_levels(self, price: float) -> list[float]:
        return [
            min(max(scale / price, 1.0), most)
            for scale, most in zip(self._scales, self._most, strict=True)
        ]

    def _sum(self, i: int, levels: float) -> float:
        return self._scales[i] / levels - self._shifts[i] + self._price * math.log(levels)

    def error(self, levels: Sequence[int]) -> Fraction:
        """Return the sum of the weighted errors."""
        pairs = zip(self._columns, levels, strict=True)
        return sum((column.weighted_error(q) for column, q in pairs), Fraction(0))

    def gap(self, levels: Sequence[int]) -> float:
        """Return how far levels are above the bound, at most."""
        return float(self.error(levels) / self._unit) - self._bound + self._margin

    def _choices(self, i: int, slack: float) -> list[tuple[float, int, Fraction]]:
        """Return excess, levels and error of what is in question for a column, least excess first.

        The sum is convex in log q, so that everything in question lies around the ideal levels.
        """
        column, most = self._columns[i], self._least[i] + slack
        middle = math.floor(self._ideals[i])
        low = _first(1, middle, lambda q: self._sum(i, q) <= most)
        high = _first(middle + 1, self._most[i], lambda q: self._sum(i, q) > most) - 1
        if high - low > MOST_STEPS:
            raise _too_many()
        found = []
        for levels in {column.useful(q) for q in range(low, high + 1)}:
            error = column.weighted_error(levels)
            paid = float(error / self._unit) + self._price * math.log(levels)
            found.append((paid - self._least[i], levels, error))
        return sorted(found)

    def improve(self, known: list[int], slack: float) -> list[int]:
        """Return the best levels whose excess is within a slack, or known ones that are no worse.

        Of two beginnings with the same columns the one that is dearer and has no smaller error
        goes no further. The last column takes all that is left.
        """
        *order, last = sorted(range(len(self._columns)), key=lambda i: self._ideals[i])
        choices = {i: self._choices(i, slack) for i in order}
        begun: list[Beginning] = [(1, Fraction(0), 0.0, {})]
        steps = 0
        for i in order:
            longer = []
            for product, error, excess, levels in begun:
                for more, q, added in choices[i]:
                    if excess + more > slack or steps > MOST_STEPS:
                        break
                    if product * q <= self._limit:
                        steps += 1
                        longer.append((product * q, error + added, excess + more, levels | {i: q}))
            begun = _undominated(longer)
        if steps > MOST_STEPS:
            raise _too_many()
        column, best, least = self._columns[last], known, self.error(known)
        for product, error, _, levels in begun:
            q = column.useful(self._limit // product)
            if error + column.weighted_error(q) < least:
                least, chosen = error + column.weighted_error(q), levels | {last: q}
                best = [chosen[i] for i in sorted(chosen)]
        return best


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number at which something holds that then goes on to hold; or high + 1."""
    end = high + 1
    while low < end:
        middle = (low + end) // 2
        low, end = (low, middle) if holds(middle) else (middle + 1, end)
    return low


def _undominated(begun: list[Beginning]) -> list[Beginning]:
    """Return the beginnings of which no other is as cheap with as small an error."""
    best: list[Beginning] = []
    for beginning in sorted(begun, key=lambda one: one[:2]):
        if not best or beginning[1] < best[-1][1]:
            best.append(beginning)
    return best


def _too_many() -> OptionError:
    return OptionError(
        "There are too many combinations of levels to search for the least mean error",
        hint="use objective='largest', fewer bits or fewer columns",
    )


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
    columns: Mapping[str, AllocatedColumn]

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
class AllocatedColumn:
    """The public range of a column, the step of its values if it has one, and its weight."""

    range: Interval
    step: Fraction | None = None
    weight: Fraction = Fraction(1)

    @classmethod
    def of(cls, name: str, described: object, weight: object = 1) -> AllocatedColumn:
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
        raise OptionError("There are no columns to share the bits among", hint="name at least one")
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
    described = {
        name: AllocatedColumn.of(name, what, wanted.get(name, 1)) for name, what in columns.items()
    }
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
