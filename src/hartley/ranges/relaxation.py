"""Sums over the rows of a table, bounded by all answers: a linear programme, rounded outward."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.ranges.transcript import FAR, alike

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.ranges.transcript import Alike, Transcript

MOST_UNKNOWNS = 30_000
"""More kinds of records than this, over all groups, are not put into a linear programme."""
PRECISION = 40
"""Multipliers are taken as whole numbers over two to this power."""


@dataclass(frozen=True)
class Relaxation:
    r"""How many rows of each group have each kind of record, fractions of rows being allowed.

    Whatever the solver says, only its multipliers y are used. For whole numbers of rows m with
    totals t between the answers' ends l and h,

    .. math:: c \cdot m \ge \sum_g n_g \min_s \bigl(c_s - y \cdot w_s\bigr)
        + \sum_j \bigl(y_j^+ l_j - y_j^- h_j\bigr)

    holds for every y, so a bound is computed again from rounded multipliers in whole numbers: it
    is never beyond the truth, however badly the solver did.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.ranges.transcript import Group, Told, Transcript
        >>> age = np.arange(4)
        >>> total = Told("SUM(age)", age >= 0, age, 5, (5, 5), least=0, step=Fraction(1))
        >>> pair = Transcript(("age",), age[:, None], (total,), (Group(2, age),), 4)
        >>> Relaxation(pair).reach_of_one(0, age)  # one of two whose ages add up to 5
        (2, 3)
    """

    transcript: Transcript

    @cached_property
    def kinds(self) -> tuple[Alike, ...]:
        """The kinds of records of each group."""
        return tuple(alike(self.transcript, group) for group in self.transcript.groups)

    @cached_property
    def small(self) -> bool:
        """Whether there are few enough unknowns."""
        return sum(len(kind.weights) for kind in self.kinds) <= MOST_UNKNOWNS

    def reach_of_one(self, group: int, numbers: NDArray[np.int64]) -> tuple[int, int] | None:
        """Bound a whole number of one row of a group.

        Args:
            group: which.
            numbers: the number of each record of the group; records below 0 have none, and the
                row is taken to have one.

        Returns:
            the smallest and the largest, never narrower than the truth; None where no record of
            the group has a number.
        """
        kind, have = self.kinds[group], numbers >= 0
        if not have.any():
            return None
        size, far = len(kind.weights), int(numbers.max()) + 1
        least, most = np.full(size, far), np.full(size, -1)
        np.minimum.at(least, kind.kinds[have], numbers[have])
        np.maximum.at(most, kind.kinds[have], numbers[have])
        mine = np.flatnonzero(most >= 0)
        ends = int(numbers[have].min()), int(numbers[have].max())
        if not self.small or not self.transcript.bounds:
            return ends
        low = self._least(group, mine, least[mine])
        high = self._least(group, mine, -most[mine])
        return (
            ends[0] if low is None else max(ends[0], math.ceil(low)),
            ends[1] if high is None else min(ends[1], -math.ceil(high)),
        )

    def reach_of_all(self, numbers: NDArray[np.int64]) -> tuple[int, int] | None:
        """Bound the sum of a whole number a record over all rows; None where it is too large.

        Args:
            numbers: of every record of the transcript.
        """
        if not self.small:
            return None
        ends = []
        for sign in (1, -1):  # the largest of a number is the least of its negative
            parts = []
            for kind, group in zip(self.kinds, self.transcript.groups, strict=True):
                mine = sign * numbers[group.records]
                cost = np.full(len(kind.weights), int(mine.max(initial=0)))
                np.minimum.at(cost, kind.kinds, mine)
                parts.append((group.rows, kind.weights, cost))
            plain = sum(rows * int(cost.min()) for rows, _, cost in parts)
            found = self._solve(parts) if self.transcript.bounds else None
            ends.append(plain if found is None else max(plain, math.ceil(found)))
        return ends[0], -ends[1]

    def _least(
        self, group: int, mine: NDArray[np.int64], cost: NDArray[np.int64]
    ) -> Fraction | None:
        parts = [(1, self.kinds[group].weights[mine], cost)]
        for place, (kind, known) in enumerate(zip(self.kinds, self.transcript.groups, strict=True)):
            rest = known.rows - (place == group)
            if rest > 0:
                parts.append((rest, kind.weights, np.zeros(len(kind.weights), np.int64)))
        return self._solve(parts)

    def _solve(
        self, parts: list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]
    ) -> Fraction | None:
        """Return a number that the cost of all rows together certainly reaches."""
        multipliers = _multipliers(parts, *self.transcript.limits)
        if multipliers is None:
            return None
        bounds = self.transcript.bounds
        used = [
            0 if (y > 0 and bound.low is None) or (y < 0 and bound.high is None) else y
            for y, bound in zip(multipliers, bounds, strict=True)
        ]
        total = sum(
            y * ((bound.low if y > 0 else bound.high) or 0)
            for y, bound in zip(used, bounds, strict=True)
        )
        for number, weights, cost in parts:
            total += number * _least_left(weights, cost, used)
        return Fraction(total, 2**PRECISION)


def _least_left(weights: NDArray[np.int64], cost: NDArray[np.int64], multipliers: list[int]) -> int:
    """Return the least of cost minus multipliers times weights, in exact whole numbers."""
    largest = int(np.abs(weights).max(initial=0)) * sum(map(abs, multipliers))
    fits = largest + (int(np.abs(cost).max()) << PRECISION) < FAR
    kind: Any = np.int64 if fits else object
    left = (cost.astype(kind) << PRECISION) - weights.astype(kind) @ np.array(multipliers, kind)
    return int(left.min())


def _multipliers(
    parts: list[tuple[int, NDArray[np.int64], NDArray[np.int64]]],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> list[int] | None:
    """Ask the solver for multipliers, in units of 2**-PRECISION; None where it finds none."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    weights = np.concatenate([part[1] for part in parts]).astype(np.float64)
    cost = np.concatenate([part[2] for part in parts]).astype(np.float64)
    scale = np.maximum(np.abs(weights).max(axis=0), 1.0)
    sizes = [len(part[1]) for part in parts]
    place = np.repeat(np.arange(len(parts)), sizes)
    sums = csr_array((np.ones(cost.size), (place, np.arange(cost.size))))
    far = 2.0**60
    upper, lower = high < far, low > -far
    table = weights / scale
    rows = np.concatenate([table.T[upper], -table.T[lower]])
    ends = np.concatenate([(high / scale)[upper], (-low / scale)[lower]])
    found: Any = linprog(
        cost,
        A_ub=csr_array(rows) if rows.size else None,
        b_ub=ends if rows.size else None,
        A_eq=sums,
        b_eq=[float(part[0]) for part in parts],
        method="highs",
    )
    if found.status != 0 or not rows.size:
        return None
    prices = np.zeros(low.size)
    prices[upper] += found.ineqlin.marginals[: upper.sum()]
    prices[lower] -= found.ineqlin.marginals[upper.sum() :]
    prices /= scale
    if not np.isfinite(prices).all():
        return None
    return [round(Fraction(float(price)) * 2**PRECISION) for price in prices]
