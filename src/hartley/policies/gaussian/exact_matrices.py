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

    All from the characteristic polynomial, exactly, by FLINT: a symmetric matrix has real
    eigenvalues alone, and none of them is negative if and only if its coefficients alternate in
    sign (Descartes). Those at the end that are zero count the eigenvalues that are, and the last
    one is the determinant up to its sign.

    Example:
        >>> minors(Dyadic.of([[1.0, 1.0], [1.0, 1.0]]))
        Minors(rank=1, determinant=(0, 1))
        >>> minors(Dyadic.of([[1.0, 2.0], [2.0, 1.0]])) is None
        True
    """
    import flint  # on use: few commands need it

    if (matrix.numbers != matrix.numbers.T).any():
        return None  # its eigenvalues need not be real, and signs of coefficients prove nothing
    whole = flint.fmpz_mat(matrix.numbers.tolist())
    size = matrix.numbers.shape[0]
    # That of x^k, times (-1)^(size - k), is the sum of all products of size - k eigenvalues.
    coefficients = [
        int(number) * (-1) ** (size - power)
        for power, number in enumerate(whole.charpoly().coeffs())
    ]
    if min(coefficients) < 0:
        return None
    nullity = next(power for power, number in enumerate(coefficients) if number)
    if nullity:
        return Minors(size - nullity, (0, 1))
    return Minors(size, (coefficients[0], 1 << (matrix.shift * size)))
