"""A matrix of probabilities as exact numbers: read or refused, and as what a draw uses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.numerals import exact_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DIGITS = 15
"""Doubles are read as decimals of so many digits; what is lost goes to the largest of the row."""
ROOM = 2**62
"""The largest common denominator, and the resolution of a draw."""
TOLERANCE = 1e-9
"""How far the sum of a row of doubles may be from 1."""
MOST_VALUES = 4000
DUST = 1e-7
"""What a solver leaves of nothing is smaller, and what it means to release is larger."""


@dataclass(frozen=True, eq=False)
class ExactMatrix:
    """Probabilities parts / whole in lowest terms, every row adding up to 1 exactly.

    Example:
        >>> matrix = ExactMatrix.of([["2/3", "1/3"], [0.25, 0.75]])
        >>> matrix.whole, matrix.parts.tolist()
        (12, [[8, 4], [3, 9]])
    """

    parts: NDArray[np.int64]
    whole: int

    def __post_init__(self) -> None:
        common = math.gcd(int(np.gcd.reduce(self.parts, axis=None)), self.whole)
        object.__setattr__(self, "parts", self.parts // common)
        object.__setattr__(self, "whole", self.whole // common)

    @classmethod
    def of(cls, matrix: object) -> ExactMatrix:
        """Read a matrix: texts and fractions as they are, doubles as decimals of 15 digits."""
        if isinstance(matrix, ExactMatrix):
            return matrix
        if isinstance(matrix, np.ndarray) and matrix.dtype.kind in "fiu":
            return _of_doubles(matrix.astype(np.float64))
        rows = _rows(matrix)
        if all(isinstance(entry, (float, int, np.number)) for row in rows for entry in row):
            return _of_doubles(np.array(rows, dtype=np.float64))
        exact = [
            [parse_number(_text(entry), name="a probability") for entry in row] for row in rows
        ]
        for number, row in enumerate(exact, 1):
            _check_row(row, sum(row), number, Fraction(0))
        return cls.exactly(exact)

    @classmethod
    def exactly(cls, rows: Sequence[Sequence[Fraction]]) -> ExactMatrix:
        """Take fractions whose rows add up to 1; rounded where they share no small denominator."""
        whole = math.lcm(*{entry.denominator for row in rows for entry in row})
        if whole > ROOM:
            return _of_doubles(np.array([[float(entry) for entry in row] for row in rows]))
        return cls(np.array([[int(entry * whole) for entry in row] for row in rows]), whole)

    @property
    def shape(self) -> tuple[int, int]:
        """How many values can be there, and how many can be released."""
        rows, columns = self.parts.shape
        return rows, columns

    @cached_property
    def doubles(self) -> NDArray[np.float64]:
        """The probabilities, rounded."""
        return self.parts / self.whole

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """What a draw uses: multiples of 2^-62, positive where the matrix is, rows adding to 1.

        The largest entry of a column is rounded down and the others up, so that rounding does not
        make a release tell more; the largest entry of a row takes what is too much, and the
        largest below its column's maximum what is left. What is impossible stays so.
        """
        scaled = self.parts.astype(object) * ROOM
        top = self.parts == self.parts.max(axis=0)
        weights: NDArray[np.int64] = np.where(
            top, scaled // self.whole, -(-scaled // self.whole)
        ).astype(np.int64)
        rest = np.array([ROOM - sum(row) for row in weights.tolist()], dtype=np.int64)
        largest = self.parts.argmax(axis=1)
        lower = np.where(top, 0, self.parts)
        places = np.where((rest > 0) & lower.any(axis=1), lower.argmax(axis=1), largest)
        weights[np.arange(len(weights)), places] += rest
        return weights

    def texts(self) -> list[list[str]]:
        """Return the probabilities as text, decimals where they end."""
        known: dict[int, str] = {}
        return [
            [known.setdefault(part, exact_text(Fraction(part, self.whole))) for part in row]
            for row in self.parts.tolist()
        ]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactMatrix) or self.shape != other.shape:
            return False
        return self.whole == other.whole and bool((self.parts == other.parts).all())

    def __hash__(self) -> int:
        return hash((self.whole, self.parts.tobytes()))


# --- reading ------------------------------------------------------------------------------------


def _rows(matrix: object) -> list[list[Any]]:
    """Return a matrix as rows of equal length."""
    try:
        rows = [list(row) for row in matrix if not isinstance(row, str)]  # type: ignore[attr-defined]  # refused below
    except TypeError:
        rows = []
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise OptionError(
            "The matrix is not a list of rows of probabilities, all of the same length",
            hint='write one row a value: [["0.9", "0.1"], ["0.2", "0.8"]]',
        )
    return rows


def _text(entry: object) -> object:
    return str(entry) if isinstance(entry, Decimal) else entry


def _of_doubles(matrix: NDArray[np.float64]) -> ExactMatrix:
    """Round doubles to decimals of 15 digits, so that every row adds up to 1 exactly."""
    if matrix.ndim != 2 or matrix.size == 0:
        raise OptionError(
            "The matrix is not a table of probabilities", hint="give one row per value"
        )
    _refuse_wide(matrix.shape)
    sums = matrix.sum(axis=1)
    wrong = ~(np.isfinite(matrix).all(axis=1) & (matrix >= 0).all(axis=1))
    wrong |= ~(np.abs(sums - 1) <= TOLERANCE)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        _check_row(matrix[at].tolist(), float(sums[at]), at + 1, Fraction(TOLERANCE))
    whole = 10**DIGITS
    parts = np.rint(matrix * whole).astype(np.int64)
    parts[np.arange(len(parts)), parts.argmax(axis=1)] += whole - parts.sum(axis=1)
    return ExactMatrix(parts, whole)


def _check_row(row: Sequence[Any], total: Fraction | float, number: int, slack: Fraction) -> None:
    """Refuse a row that is no probability distribution, and say why."""
    wrong = None
    if any(isinstance(entry, float) and not math.isfinite(entry) for entry in row):
        wrong = "contains an entry that is not a number", "write probabilities from 0 to 1"
    elif any(entry < 0 for entry in row):
        wrong = "holds a negative probability", "write probabilities from 0 to 1"
    elif not any(row):
        wrong = "is all zeros, so nothing could be released", "write 1 for the value to release"
    elif abs(Fraction(total) - 1) > slack:
        shown = f"{float(total):.12g}" if total < 1000 else "more than 1,000"
        wrong = f"adds up to {shown}, not to 1", "divide the row by its sum"
    if wrong is not None:
        raise OptionError(f"Row {number} of the matrix {wrong[0]}", hint=wrong[1])


def _refuse_wide(shape: tuple[int, ...]) -> None:
    if max(shape) > MOST_VALUES:
        raise OptionError(
            f"A matrix over {max(shape):,} values is too large",
            hint=f"merge values first, down to {MOST_VALUES:,}",
        )


def without_dust(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a solver's matrix with nothing where it left nearly nothing, its rows adding up to 1.

    A solver stops some 1e-13 before a probability is 0. Taken at its word, that would claim that
    a release is possible and that odds are bounded, by a factor of a million millions.

    Example:
        >>> without_dust(np.array([[0.75, 0.25], [1.0, 1e-13]])).tolist()
        [[0.75, 0.25], [1.0, 0.0]]
    """
    swept = np.where(matrix < DUST, 0.0, matrix)
    rows: NDArray[np.float64] = swept / swept.sum(axis=1, keepdims=True)
    return rows


# --- constructions ------------------------------------------------------------------------------


def retaining(probability: object, values: int) -> ExactMatrix:
    """Return the matrix that keeps a value with a probability, else draws one of the others.

    Example:
        >>> retaining("0.8", 3).texts()[0]
        ['0.8', '0.1', '0.1']
    """
    probability_kept = parse_number(probability, name="the probability to keep a value")
    if not 0 <= probability_kept <= 1:
        raise OptionError(
            f"A value cannot be kept with probability {probability}",
            hint="give a number from 0 to 1, for example 0.8",
        )
    _refuse_wide((values,))
    if values < 2:
        raise OptionError(
            "There is only one value, so nothing can be perturbed",
            hint="choose a column with several values",
        )
    other = (1 - probability_kept) / (values - 1)
    rows = [[probability_kept if x == y else other for y in range(values)] for x in range(values)]
    return ExactMatrix.exactly(rows)


def invariant(matrix: ExactMatrix, frequencies: NDArray[np.float64]) -> ExactMatrix:
    r"""Return a matrix that preserves frequencies in expectation, from any matrix.

    .. math:: R_{xz} = \sum_y P_{xy} \frac{\pi_z P_{zy}}{\sum_u \pi_u P_{uy}}

    Gouweleeuw, Kooiman, Willenborg and de Wolf 1998: after a first draw y, the second stage draws
    what y may have come from. pi R = pi up to the 15 digits of an entry, which is checked. Two
    products of matrices.

    Example:
        >>> preserving = invariant(retaining("0.8", 2), np.array([0.9, 0.1]))
        >>> (np.array([0.9, 0.1]) @ preserving.doubles).round(14).tolist()
        [0.9, 0.1]
    """
    first = matrix.doubles
    mass = frequencies @ first
    # A value that never comes about keeps itself, or what is most often there.
    back = np.zeros(first.shape[::-1])
    back[np.arange(len(mass)), frequencies.argmax()] = 1.0
    occurs = mass > 0
    back[occurs] = ((frequencies[:, None] * first) / np.where(occurs, mass, 1.0)).T[occurs]
    second = first @ back
    rule = _of_doubles(second / second.sum(axis=1, keepdims=True))
    moved = np.abs(frequencies @ rule.doubles - frequencies).max()
    assert moved <= 1e-14 * (len(mass) + 8)  # the construction, checked
    return rule


def guessing_gain(matrix: ExactMatrix) -> Fraction:
    r"""Return how many times as likely the best guess gets right by the release, at most.

    .. math:: \sum_y \max_x P(y|x)

    Its logarithm is the stochastic maximal leakage (Issa, Wagner and Kamath 2020, Theorem 1). The
    larger one of the matrix and of what is drawn, which is rounded to multiples of 2^-62. Exact.
    Linear in the size of the matrix.

    Example:
        >>> gain = guessing_gain(retaining("0.9", 2))
        >>> float(gain)
        1.8
    """
    shown = Fraction(sum(matrix.parts.max(axis=0).tolist()), matrix.whole)
    drawn = Fraction(sum(matrix.weights.max(axis=0).tolist()), sum(matrix.weights[0].tolist()))
    return max(shown, drawn)


def odds_factor(matrix: ExactMatrix) -> Fraction | None:
    r"""Return how much a release changes the odds of any two values, at most; None if unbounded.

    .. math:: \max_{y, x, x'} \frac{P(y|x)}{P(y|x')}

    Its natural logarithm is the epsilon of local differential privacy (Warner 1965; Kasiviswanathan
    et al. 2011). The larger one of the matrix and of what is drawn. Exact. Linear in the size of
    the matrix.

    Example:
        >>> float(odds_factor(retaining("0.9", 2))), odds_factor(ExactMatrix.of([[1, 0], [0, 1]]))
        (9.0, None)
    """
    largest = Fraction(1)
    for numbers in (matrix.parts, matrix.weights):
        live = numbers[:, numbers.any(axis=0)]
        for most, least in zip(live.max(axis=0).tolist(), live.min(axis=0).tolist(), strict=True):
            if least == 0:
                return None
            largest = max(largest, Fraction(most, least))
    return largest
