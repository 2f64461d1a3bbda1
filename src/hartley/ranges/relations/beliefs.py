"""Beliefs about a confidential side after each released value, and how far they move.

A released value is a class. Counts of records answer in exact fractions, probabilities in doubles;
the formulas are those of ``hartley.measures.closeness``, which asks either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import log_ratio
from hartley.kernels.classes import equal_moves, ordered_moves, over_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.kernels.cube import ClassCounts

LARGEST = 2**62
"""Integers up to here are added in one machine word."""


@dataclass(frozen=True)
class CountedBeliefs:
    """Beliefs from counts of records: a class is a released value, its shares are relative counts.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> apart = ClassCounts.from_cells(*np.array([[0, 1], [0, 1], [1, 1]]))
        >>> CountedBeliefs(apart).equal_distance(), CountedBeliefs(apart).divergence(2)
        (Fraction(1, 2), 1.0)
    """

    classes: ClassCounts
    places: Callable[[], NDArray[np.int64]] | None = None
    """Gives the place of every confidential value in their order; without it, the codes are it."""
    rounded: bool = False
    """Whether distances are given as the nearest doubles instead of exact fractions."""

    def divergence(self, base: float) -> float:
        """Return the largest Kullback-Leibler divergence of a class from the table."""
        return max(float(self.classes.bits[1].max()), 0.0) / math.log2(base)

    def disclosure(self, base: float) -> float:
        """Return the largest logarithm of a share in a class over that in the table."""
        if int(self.classes.distinct.min()) < self.classes.width:
            return math.inf  # a class lacks a value, which it excludes for certain
        return self.disclosure_of_present(base)

    def disclosure_of_present(self, base: float) -> float:
        """Return the same over the values that each class does have."""
        classes = self.classes
        most, of_most, least, of_least = classes.extremes
        worst = max(
            largest_ratio(most * classes.rows, of_most * classes.sizes),
            largest_ratio(of_least * classes.sizes, least * classes.rows),
        )
        return log_ratio(worst.numerator, worst.denominator, base=base)

    def equal_distance(self) -> Fraction | float:
        """Return the largest share of a class that has to move, all values equally far apart."""
        return self._worst(_equal_moves(self.classes), 2)

    def ordered_distance(self) -> Fraction | float:
        """Return the longest move, values being as far apart as they are in their order."""
        classes = self.classes if self.places is None else self.classes.regroup(self.places())
        if classes.width == 1:
            return self._number(Fraction(0))
        ours, theirs = over_classes(ordered_moves, classes.cells)
        # Each move is below width * size * rows. Where that may not fit into a machine word,
        # Python's integers are used, which are slower and just as exact.
        if classes.width * int(classes.sizes.max()) * classes.rows >= LARGEST:
            ours, theirs = ours.astype(object), theirs.astype(object)
        moves = ours * classes.rows + theirs * classes.sizes
        return self._worst(moves, classes.width - 1)

    def hierarchical_distance(self, levels: Sequence[ArrayLike]) -> Fraction | float:
        """Return the longest move, values being as far apart as their lowest common group."""
        groups = [_groups(level, self.classes.width) for level in levels]
        moves = _equal_moves(self.classes).astype(object)
        for of_value in groups:
            moves = moves + _equal_moves(self.classes.regroup(of_value))
        return self._worst(moves, 2 * (len(groups) + 1))

    def _worst(self, moves: NDArray[Any], scale: int) -> Fraction | float:
        """Return the largest move of any class; classes keep their sizes when regrouped."""
        classes = self.classes
        return self._number(largest_ratio(moves, classes.sizes) / (scale * classes.rows))

    def _number(self, distance: Fraction) -> Fraction | float:
        return float(distance) if self.rounded else distance


def _equal_moves(classes: ClassCounts) -> NDArray[np.int64]:
    """Return 2 n_i n times the share that has to move; below 2**63 for up to 2**31 records."""
    moves: NDArray[np.int64] = over_classes(equal_moves, classes.cells)[0]
    return moves


def largest_ratio(over: NDArray[Any], under: NDArray[np.int64]) -> Fraction:
    """Return the largest of many fractions, exactly: doubles only say which ones can be it.

    Example:
        >>> largest_ratio(np.array([1, 2]), np.array([2, 3]))
        Fraction(2, 3)
    """
    near = over.astype(np.float64) / under.astype(np.float64)
    # Two conversions and a division are off by less than 4e-16 each way, so that the true maximum
    # is always among those that are kept.
    close = near >= near.max() * (1 - 1e-14)
    pairs = set(zip(over[close].tolist(), under[close].tolist(), strict=True))
    return max(Fraction(a, b) for a, b in pairs)


@dataclass(frozen=True, eq=False)
class ProbableBeliefs:
    """Beliefs from joint probabilities: a row per confidential value, a column per released one."""

    matrix: NDArray[np.float64]

    def divergence(self, base: float) -> float:
        """Return the largest Kullback-Leibler divergence of p(x|y) from p(x)."""
        after, before = self._shares()
        ratios = np.where(after > 0, after, before[:, None]) / before[:, None]
        return max(float((after * np.log(ratios)).sum(axis=0).max()) / math.log(base), 0.0)

    def disclosure(self, base: float) -> float:
        """Return the largest logarithm, either way, of p(x|y) over p(x)."""
        after, before = self._shares()
        if after.min() <= 0:
            return math.inf
        return float(np.abs(np.log(after / before[:, None])).max()) / math.log(base)

    def equal_distance(self) -> float:
        """Return the largest total variation between p(x|y) and p(x)."""
        after, before = self._shares()
        return float(np.abs(after - before[:, None]).sum(axis=0).max()) / 2

    def ordered_distance(self) -> float:
        """Return the longest move, the rows being in the order of the confidential values."""
        after, before = self._shares(every=True)
        if before.size == 1:
            return 0.0
        moved = np.abs(np.cumsum(after - before[:, None], axis=0)).sum(axis=0)
        return float(moved.max()) / (before.size - 1)

    def hierarchical_distance(self, levels: Sequence[ArrayLike]) -> float:
        """Return the longest move, values being as far apart as their lowest common group."""
        after, before = self._shares(every=True)
        apart = after - before[:, None]
        moved = np.abs(apart).sum(axis=0)
        for level in levels:
            groups_of = _groups(level, before.size)
            sums = np.zeros((int(groups_of.max()) + 1, apart.shape[1]))
            np.add.at(sums, groups_of, apart)
            moved = moved + np.abs(sums).sum(axis=0)
        return float(moved.max()) / (2 * (len(levels) + 1))

    def _shares(self, *, every: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return p(x|y) of the released values that occur, and p(x).

        Confidential values that never occur are left out unless every row is asked for.
        """
        before, released = self.matrix.sum(axis=1), self.matrix.sum(axis=0)
        rows = np.ones(before.size, bool) if every else before > 0
        after = self.matrix[np.ix_(rows, released > 0)] / released[released > 0]
        return after, before[rows]


def ranks(values: Sequence[Any]) -> NDArray[np.int64]:
    """Return the place of every value in their order.

    Example:
        >>> ranks(["b", "c", "a"])
        array([1, 2, 0])
    """
    try:
        order = sorted(range(len(values)), key=lambda place: values[place])
    except TypeError:
        raise OptionError(
            "The confidential values cannot be compared, so they have no order",
            hint="measure equal_closeness or hierarchical_closeness instead",
        ) from None
    places = np.empty(len(values), np.int64)
    places[order] = np.arange(len(values))
    return places


def _groups(level: ArrayLike, size: int) -> NDArray[np.int64]:
    """Check the groups of one level."""
    groups = np.asarray(level)
    if groups.shape != (size,) or groups.dtype.kind not in "iu" or (size and groups.min() < 0):
        raise OptionError(
            f"A level of the hierarchy does not number the groups of {size} confidential values",
            hint="give one whole number of 0 or more per value",
        )
    return groups.astype(np.int64)
