"""Whole levels of several columns whose product stays within a limit, with the least error."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.policies.allocation import Column

Beginning = tuple[int, Fraction, float, dict[int, int]]
"""The product, the error, the excess and the levels of the first few columns."""
MOST_BITS = 1000
"""What doubles can hold, with room to spare."""
MOST_STEPS = 300_000
"""So many choices are looked at before the search for the least mean error gives up."""


# --- the least largest error ------------------------------------------------------------------


def least_largest(columns: Sequence[Column], limit: int) -> list[int]:
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
    columns: Sequence[Column], fewest: Mapping[int, int], error: Fraction, limit: int
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


def _least_bound(columns: Sequence[Column], limit: int) -> Fraction:
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


def _is_too_small(columns: Sequence[Column], limit: int, column: Column, n: int) -> bool:
    return not _fits(columns, column.nth_error(n), limit)


def _fits(columns: Sequence[Column], error: Fraction, limit: int) -> bool:
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


def least_mean(columns: Sequence[Column], limit: int) -> list[int]:
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

    def __init__(self, columns: Sequence[Column], limit: int) -> None:
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
    kept: list[Beginning] = []
    for beginning in sorted(begun, key=lambda one: one[:2]):
        if not kept or beginning[1] < kept[-1][1]:
            kept.append(beginning)
    return kept


def _too_many() -> OptionError:
    return OptionError(
        "Too many levels come into question for the least mean error",
        hint="use objective='largest', fewer bits or fewer columns",
    )
