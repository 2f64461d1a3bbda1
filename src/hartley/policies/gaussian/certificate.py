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
from typing import TYPE_CHECKING

import numpy as np

from hartley.exact import log_ratio
from hartley.policies.gaussian.exact_matrices import Dyadic, minors
from hartley.ranges.boxes.array_intervals import float_below

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hartley.policies.gaussian.model import ExactModel, GaussianModel

    Floats = NDArray[np.float64]

ULPS = 16
"""So many units in the last place a logarithm of ours, turned into another base, may be off."""
FIRST, TIMES, TRIES = 1e-15, 8.0, 16
"""How far a point is moved inward until it is one exactly."""
HALVINGS = 90


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
    """Return what a rule tells at most, in nats; None if it is none or distorts too much.

    Args:
        model: the covariances.
        factor: F, so that the release has the covariance Sx F F' Sx.
        distortion: that is allowed.
    """
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
    """Return what any rule tells at least, in nats; None if the multipliers prove nothing.

    Args:
        model: the covariances.
        slope: N, positive definite.
        price: u, not negative.
        cap: V, without negative eigenvalues.
        distortion: that is allowed.
    """
    n, v = Dyadic.of(slope), Dyadic.of(cap)
    outer = model.key @ v @ model.key - (model.key @ model.weight @ model.key).times(price)
    if price < 0 or minors(v) is None or minors(model.cross.T @ n @ model.cross + outer) is None:
        return None
    eliminated = minors(n)
    if eliminated is None or eliminated.determinant[0] == 0:
        return None
    above, below = _determinant(model.secret)
    low = _log_below(above * eliminated.determinant[0], below * eliminated.determinant[1])
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


def _log_below(above: int, below: int) -> float:
    value = log_ratio(above, below, base=math.e)
    return value - ULPS * math.ulp(value)


def half_log(above: int, below: int) -> tuple[float, float]:
    """Return bounds on half the logarithm of a ratio of at least 1, in nats.

    Example:
        >>> low, high = half_log(4, 1)
        >>> low < math.log(2) < high, high - low < 1e-13
        (True, True)
    """
    if above == below:
        return 0.0, 0.0
    value = log_ratio(above, below, base=math.e)
    if math.isinf(value):
        return value, value
    margin = ULPS * math.ulp(value)
    return max(value - margin, 0.0) / 2, max(value + margin, 0.0) / 2


def in_unit(nats: float, base: float, *, up: bool) -> float:
    """Turn nats into the unit of a base, rounded to the safe side.

    Example:
        >>> in_unit(1.0, 2, up=False) < 1 / math.log(2) < in_unit(1.0, 2, up=True)
        True
    """
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


def _price(gain: Floats, weight: Floats, freed: float) -> float:
    """Return the u that proves most: where the parts worth less than it free as much as needed."""
    low, high = 0.0, 1.0
    while _freed(gain, weight, high) < freed and high < 1e300:
        low, high = high, 4 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _freed(gain, weight, middle) < freed else (low, middle)
    return (low + high) / 2


def _freed(gain: Floats, weight: Floats, price: float) -> float:
    values, vectors = np.linalg.eigh(gain - price * weight)
    released = vectors[:, values < 0]
    return float((released * (weight @ released)).sum())
