"""Matrices of doubles multiplied and eliminated without rounding, as integers over a power of 2."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Dyadic:
    """A matrix of integers over one power of two: whatever doubles hold, and their products.

    Example:
        >>> half = Dyadic.of([[0.5, 0.25]])
        >>> (half @ half.T).trace()
        Fraction(5, 16)
    """

    numbers: NDArray[Any]
    """Python integers of any size."""
    shift: int
    """The entries are the numbers over 2^shift."""

    @classmethod
    def of(cls, matrix: ArrayLike) -> Dyadic:
        """Take doubles for what they are, exactly."""
        doubles = np.asarray(matrix, dtype=np.float64)
        ratios = [float(entry).as_integer_ratio() for entry in doubles.ravel()]
        shift = max(below.bit_length() - 1 for _, below in ratios)
        numbers = np.empty(doubles.size, dtype=object)
        numbers[:] = [above << (shift + 1 - below.bit_length()) for above, below in ratios]
        return cls(numbers.reshape(doubles.shape), shift)

    @classmethod
    def joined(cls, rows: list[list[Dyadic]]) -> Dyadic:
        """Put blocks together."""
        shift = max(block.shift for row in rows for block in row)
        return cls(np.block([[block.numbers_at(shift) for block in row] for row in rows]), shift)

    @property
    def T(self) -> Dyadic:  # noqa: N802 - as NumPy calls it
        """The transpose."""
        return Dyadic(self.numbers.T, self.shift)

    def numbers_at(self, shift: int) -> NDArray[Any]:
        """Return the numbers over a larger power of two."""
        return np.asarray(self.numbers * (1 << (shift - self.shift)))

    def __matmul__(self, other: Dyadic) -> Dyadic:
        return Dyadic(self.numbers @ other.numbers, self.shift + other.shift)

    def __add__(self, other: Dyadic) -> Dyadic:
        shift = max(self.shift, other.shift)
        return Dyadic(self.numbers_at(shift) + other.numbers_at(shift), shift)

    def __sub__(self, other: Dyadic) -> Dyadic:
        return self + Dyadic(-other.numbers, other.shift)

    def times(self, factor: float) -> Dyadic:
        """Multiply every entry by a double."""
        above, below = factor.as_integer_ratio()
        return Dyadic(self.numbers * above, self.shift + below.bit_length() - 1)

    def trace(self) -> Fraction:
        """Return the sum of the diagonal."""
        return Fraction(int(self.numbers.trace()), 1 << self.shift)


@dataclass(frozen=True)
class Minors:
    """What the elimination of a matrix without negative eigenvalues found."""

    rank: int
    determinant: tuple[int, int]
    """Numerator and denominator; the numerator is zero where the rank is not full."""


def minors(matrix: Dyadic) -> Minors | None:
    """Return rank and determinant of a symmetric matrix, or None if some eigenvalue is negative.

    Fraction-free elimination (Bareiss 1968) with pivots from the diagonal: what is left is always a
    positive multiple of a Schur complement, so signs are exact. Cubic in the size, in integers that
    grow with it.

    Example:
        >>> minors(Dyadic.of([[1.0, 1.0], [1.0, 1.0]]))
        Minors(rank=1, determinant=(0, 1))
        >>> minors(Dyadic.of([[1.0, 2.0], [2.0, 1.0]])) is None
        True
    """
    left, before, size = matrix.numbers.copy(), 1, matrix.numbers.shape[0]
    for step in range(size):
        diagonal = left.diagonal()
        if min(diagonal) < 0:
            return None
        place = int(np.argmax(diagonal > 0))
        pivot = left[place, place]
        if pivot == 0:
            return Minors(step, (0, 1)) if not left.any() else None
        others = np.arange(len(diagonal)) != place
        column = left[others, place]
        left = (pivot * left[np.ix_(others, others)] - np.outer(column, column)) // before
        before = pivot
    return Minors(size, (int(before), 1 << (matrix.shift * size)))
