"""What a Gaussian release tells at least and at most, proved in exact arithmetic.

With Q = E[X|Q] = X^ and T the covariance of X^, so that S = Sx - T is that of the noise, the least
risk is that of the T that solves

    max log det(Sw - B T B'),  B = Swx Sx^-1,  0 <= T <= Sx,  tr T >= tr Sx - D.

No inverse is needed: T = Sx F F' Sx is allowed if F' Sx F <= 1, and B T B' = Swx F F' Swx'. Above,
for any N > 0, V >= 0 and u >= 0 with Swx' N Swx - u Sx Sx + Sx V Sx >= 0,

    log det(Sw - B T B') <= -log det N + tr(N Sw) - m - u (tr Sx - D) + tr(V Sx).

Where the key is a multiple P of fewer coordinates, Sx Sx becomes Sx P'P Sx, and tr Sx tr(P'P Sx).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.boxes.intervals import float_below
from hartley.exact import log_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.gaussian.model import ExactModel, GaussianModel

    Floats = NDArray[np.float64]


# --- exact matrices -------------------------------------------------------------------------------
# Matrices of doubles multiplied and eliminated without rounding, as integers over a power of 2.


@dataclass(frozen=True, eq=False)
class Dyadic:
    """A matrix of integers over one power of two: whatever doubles hold, and their products."""

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


# --- certificate ----------------------------------------------------------------------------------


ULPS = 16
"""So many units in the last place a logarithm of ours, turned into another base, may be off."""
FIRST, TIMES, TRIES = 1e-15, 8.0, 16
"""How far a point is moved inward until it is one exactly."""


@dataclass(frozen=True, eq=False)
class Floor:
    """A risk, in nats, that no rule within a distortion stays below."""

    nats: float
    price: float
    """Nats of log det that a unit of distortion is worth: u above."""


# --- exact ------------------------------------------------------------------------------------


def information(model: ExactModel) -> tuple[float, float]:
    """Return bounds on what the key itself tells, in nats: half of log det Sw det Sx / det S."""
    parts = [_determinant(part) for part in (model.secret, model.key, model.joint)]
    return half_log(
        parts[0][0] * parts[1][0] * parts[2][1], parts[0][1] * parts[1][1] * parts[2][0]
    )


def ceiling(model: ExactModel, factor: Floats, distortion: Fraction) -> float | None:
    """Return what a rule tells at most, in nats; None if it is none or distorts too much."""
    f = Dyadic.of(factor)
    spread = model.key @ f
    allowed = Dyadic.of(np.eye(factor.shape[1])) - f.T @ spread
    preserved = (model.weight @ spread @ spread.T).trace()
    if (model.weight @ model.key).trace() - preserved > distortion or minors(allowed) is None:
        return None
    seen = model.cross @ f
    remaining = _determinant(model.secret - seen @ seen.T)
    whole = _determinant(model.secret)
    return half_log(whole[0] * remaining[1], whole[1] * remaining[0])[1]


def floor(
    model: ExactModel, slope: Floats, price: float, cap: Floats, distortion: Fraction
) -> float | None:
    """Return what any rule tells at least, in nats; None if the multipliers prove nothing."""
    n, v = Dyadic.of(slope), Dyadic.of(cap)
    outer = model.key @ v @ model.key - (model.key @ model.weight @ model.key).times(price)
    if price < 0 or minors(v) is None or minors(model.cross.T @ n @ model.cross + outer) is None:
        return None
    eliminated = minors(n)
    if eliminated is None or eliminated.determinant[0] == 0:
        return None
    above, below = _determinant(model.secret)
    low = log_ratio(
        above * eliminated.determinant[0], below * eliminated.determinant[1], base=math.e
    )
    low -= ULPS * math.ulp(low)
    freed = (model.weight @ model.key).trace() - distortion
    rest = slope.shape[0] - (n @ model.secret).trace() - (v @ model.key).trace()
    rest += Fraction(price) * freed
    return float_below((Fraction(low) + rest) / 2)


def log_determinant(matrix: Dyadic) -> float:
    """Return the natural logarithm of a determinant, to some units in the last place."""
    return log_ratio(*_determinant(matrix), base=math.e)


def _determinant(matrix: Dyadic) -> tuple[int, int]:
    eliminated = minors(matrix)
    return (0, 1) if eliminated is None else eliminated.determinant


def half_log(above: int, below: int) -> tuple[float, float]:
    """Return bounds on half the logarithm of a ratio of at least 1, in nats."""
    if above == below:
        return 0.0, 0.0
    value = log_ratio(above, below, base=math.e)
    if math.isinf(value):
        return value, value
    margin = ULPS * math.ulp(value)
    return max(value - margin, 0.0) / 2, max(value + margin, 0.0) / 2


def in_unit(nats: float, base: float, *, up: bool) -> float:
    """Turn nats into the unit of a base, rounded to the safe side."""
    if base == math.e or math.isinf(nats) or nats == 0:
        return nats
    value = nats / math.log(base)
    return value + (4 if up else -4) * math.ulp(value)


# --- from the solver's points to exact ones ---------------------------------------------------


def allowed_factor(
    model: GaussianModel, released: Floats, distortion: Fraction
) -> tuple[Floats, float]:
    """Return a factor F near a whitened covariance of the release that is allowed, and its risk.

    The covariance is mixed with one that keeps half of the distortion in reserve, a little more
    of it until exact arithmetic finds no constraint broken.
    """
    values, vectors = np.linalg.eigh((released + released.T) / 2)
    values = np.clip(values, 0.0, 1.0)
    share = float(distortion) / model.variance
    preserved = float(((vectors.T @ model.weight @ vectors).diagonal() * values).sum())
    if preserved < 1 - share and preserved < 1:
        part = (1 - share - preserved) / (1 - preserved)
        values = (1 - part) * values + part
    inner = 1 - share / 2
    back = np.linalg.solve(model.roots[1].T, vectors)
    mixed = FIRST / max(share, FIRST)
    for _ in range(TRIES):
        part = min(mixed, 1.0)
        factor = back * np.sqrt((1 - part) * values + part * inner)
        risk = ceiling(model.exact, factor, distortion)
        if risk is not None or part == 1.0:
            break
        mixed *= TIMES
    return factor, math.inf if risk is None else risk


def best_floor(model: GaussianModel, slopes: Iterable[Floats], distortion: Fraction) -> Floor:
    """Return the best bound from whitened slopes N, the price chosen for each."""
    best = Floor(0.0, 0.0)
    for slope in slopes:
        proved = _floor_at(model, slope, distortion)
        if proved is not None and proved.nats > best.nats:
            best = proved
    return best


def _floor_at(model: GaussianModel, slope: Floats, distortion: Fraction) -> Floor | None:
    gain = model.whitened.T @ slope @ model.whitened
    price = _price(gain, model.weight, 1 - float(distortion) / model.variance)
    values, vectors = np.linalg.eigh(price * model.weight - gain)
    unroot = [np.linalg.inv(root) for root in model.roots]
    outer = unroot[0].T @ slope @ unroot[0]
    added = FIRST * max(float(np.linalg.norm(gain, 2)), 1e-300)
    for _ in range(TRIES):
        half = unroot[1].T @ (vectors * np.sqrt(np.maximum(values, 0.0) + added))
        cap = half @ half.T
        worth = price / model.variance
        nats = floor(model.exact, (outer + outer.T) / 2, worth, (cap + cap.T) / 2, distortion)
        if nats is not None:
            return Floor(nats, worth)
        added *= TIMES
    return None


def _price(gain: Floats, weight: Floats, wanted: float) -> float:
    """Return the u that proves most: where the parts worth less than it free as much as needed."""

    def freed(price: float) -> float:
        values, vectors = np.linalg.eigh(gain - price * weight)
        released = vectors[:, values < 0]
        return float((released * (weight @ released)).sum())

    low, high = 0.0, 1.0
    while freed(high) < wanted and high < 1e300:
        low, high = high, 4 * high
    for _ in range(90):
        middle = (low + high) / 2
        low, high = (middle, high) if freed(middle) < wanted else (low, middle)
    return (low + high) / 2
