"""The law of a weighted sum of uniform variables: how much of a cube lies between two planes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.ranges.boxes.array_intervals import EPSILON

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hartley.ranges.boxes.array_intervals import Array

    Groups = Sequence[tuple[Fraction, int]]
    """Positive widths, each with the number of variables that share it."""

MOST_TERMS = 1 << 17
MOST_WORK = 1e8
"""About how many steps of big-integer arithmetic the exact sum may take: half a second at most."""
MOST_FACTORS = 5_000_000
FACTOR_ERROR = 32 * EPSILON
"""How far one factor of the characteristic function may be off: a few roundings, and NumPy's
functions within four units in the last place."""
NEGLIGIBLE = -60.0
"""The natural logarithm of a chance that is left out of the series and added to its error."""


def slab_share(groups: Groups, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    r"""Return bounds on the share of the unit cube between two parallel planes.

    .. math:: \mu\{u \in [0,1]^n : t_1 \le \textstyle\sum_i a_i u_i \le t_2\}

    Both bounds are the same exact number where the sum over the corners of the cube is short:
    few different widths, or at most 17 variables. Else a certified Fourier series of the tilted
    law bounds it, to about n units of 1e-14, however small it is. Equal widths: Irwin and Hall
    1927. Exact or bound. The exact sum grows as the product of (multiplicity + 1) over the widths,
    the series as the number of widths times the root of n.

    Example:
        >>> print(*slab_share([(Fraction(1), 3)], Fraction(0), Fraction(1)))
        1/6 1/6
    """
    total = sum((width * count for width, count in groups), Fraction(0))
    low, high = max(low, Fraction(0)), min(high, total)
    if high <= low:
        return Fraction(0), Fraction(0)
    if low == 0 and high in (total, total / 2):  # everything, or half of a symmetric law
        return high / total, high / total
    if low + high > total:  # the law is symmetric, and the lower half has fewer corners below it
        low, high = total - high, total - low
    exact = exact_share(groups, low, high)
    return (exact, exact) if exact is not None else series_share(groups, low, high)


def exact_share(groups: Groups, low: Fraction, high: Fraction) -> Fraction | None:
    r"""Return the share between two planes exactly, or None where that would take too long.

    .. math:: \frac{1}{n! \prod_i a_i} \sum_{S} (-1)^{|S|}
        \left[(t_2 - a_S)_+^n - (t_1 - a_S)_+^n\right]

    Inclusion and exclusion over the corners of the cube, equal widths together and corners on the
    same plane together, in integers.

    Example:
        >>> print(exact_share([(Fraction(1), 1), (Fraction(2), 1)], Fraction(0), Fraction(1)))
        1/4
    """
    scale = math.lcm(low.denominator, high.denominator, *(w.denominator for w, _ in groups))
    start, end = int(low * scale), int(high * scale)
    widths = [(int(width * scale), count) for width, count in groups]
    size = sum(count for _, count in widths)
    # A power has so many of Python's 30-bit digits; Karatsuba's product of two such numbers costs
    # digits^1.585, and so much work buys so many corners.
    digits = size * end.bit_length() / 30 + 1
    corners = _corners(widths, end, MOST_WORK / (40 + digits**1.585))
    if corners is None:
        return None
    total = 0
    for place, sign in corners.items():
        below = max(start - place, 0)
        total += sign * ((end - place) ** size - (below**size if below else 0))
    volume = math.factorial(size) * math.prod(width**count for width, count in widths)
    return Fraction(total, volume)


def _corners(widths: list[tuple[int, int]], end: int, most: float) -> dict[int, int] | None:
    """Return where the corners below a plane lie, with their signs added up; None of too many."""
    most = min(most, MOST_TERMS)
    corners = {0: 1}
    for width, count in sorted(widths, reverse=True):
        # A corner on the plane adds nothing, hence end - 1.
        steps = min(count, (end - 1) // width)
        if steps > most or len(corners) * steps > 4 * MOST_TERMS:
            return None
        signs = _signed_binomials(count, steps)
        with_width: dict[int, int] = {}
        for place, sign in corners.items():
            for k, more in enumerate(signs[: (end - 1 - place) // width + 1]):
                with_width[place + k * width] = with_width.get(place + k * width, 0) + sign * more
        corners = with_width
        if len(corners) > most:
            return None
    return corners


def _signed_binomials(size: int, last: int) -> list[int]:
    """Return the first binomial coefficients, with alternating signs."""
    binomials = [1]
    # The division leaves no rest, so rounding down, also of negatives, changes nothing.
    for k in range(last):
        binomials.append(-binomials[-1] * (size - k) // (k + 1))
    return binomials


# --- the Fourier series of the tilted law ---------------------------------------------------------


@dataclass(frozen=True)
class _Tilted:
    """The law of the sum, in units of its largest value, weighed by exp(-rate * sum).

    The rate is chosen so that the mean lies at the point of the slab that is likeliest, which
    makes even the smallest share a common one.
    """

    widths: Array
    counts: Array
    rate: float
    centre: Fraction
    deviation: float

    @property
    def at(self) -> float:
        """Where the mean lies."""
        return float(self.centre)

    def cumulant(self, shift: float = 0.0) -> float:
        """The logarithm of the mean of exp((shift - rate) * sum)."""
        return math.fsum(self.counts * _log_mean((shift - self.rate) * self.widths))


def series_share(groups: Groups, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    r"""Return certified bounds on the share between two planes, the nearer one left of the middle.

    .. math:: f_\theta(s) = \tfrac1L \sum_k \varphi_\theta(2\pi k/L)\,e^{-2\pi i k s/L}
        - \text{aliases}, \qquad f(s) = f_\theta(s)\,e^{\theta s} / \text{mean of } e^{\theta s}

    Exponential tilting and Poisson summation; the error of cutting the window (Chernoff), of
    cutting the series (each factor falls as 1/frequency) and of rounding is in the bounds.

    Example:
        >>> low, high = series_share([(Fraction(1), 30)], Fraction(0), Fraction(15))
        >>> low <= Fraction(1, 2) <= high, float(high - low) < 1e-11
        (True, True)
    """
    total = sum((width * count for width, count in groups), Fraction(0))
    centre = min(high, total / 2)
    law = _tilt(groups, total, centre / total)
    window, missed = _window(law)
    reach = [
        max(min((end - centre) / total, Fraction(window)), -Fraction(window)) for end in (low, high)
    ]
    middle, error = _integral(law, window, (float(reach[1]), float(reach[1] - reach[0])), groups)
    return _scaled(law, (middle - error - missed, middle + error + missed))


def _tilt(groups: Groups, total: Fraction, at: Fraction) -> _Tilted:
    """Find the rate at which the mean of the sum is where the slab is likeliest."""
    widths = np.array([float(width / total) for width, _ in groups])
    counts = np.array([float(count) for _, count in groups])
    goal = float(at)
    slow, fast = 0.0, float(counts.sum()) / goal
    if at == Fraction(1, 2):
        fast = 0.0
    # Every rate gives a law whose bounds hold, so this may be rounded: a rate near the best makes
    # the bounds close. ``_drift`` accounts for the mean that it misses.
    for _ in range(64):
        rate = (slow + fast) / 2
        if float((counts * widths * _mean(rate * widths)).sum()) > goal:
            slow = rate
        else:
            fast = rate
    spread = float((counts * widths**2 * _variance(fast * widths)).sum())
    return _Tilted(widths, counts, fast, at, math.sqrt(spread))


def _mean(x: Array) -> Array:
    """Return the mean of a uniform variable weighed by exp(-x u)."""
    safe = np.maximum(x, 1e-4)
    return np.where(x < 1e-4, 0.5 - x / 12, 1 / safe - 1 / np.expm1(np.minimum(safe, 700)))


def _variance(x: Array) -> Array:
    safe = np.clip(x, 1e-2, 700)
    exact = 1 / np.maximum(x, 1e-2) ** 2 - 1 / (4 * np.sinh(safe / 2) ** 2)
    return np.where(x < 1e-2, 1 / 12 - x * x / 240, exact)


def _log_mean(x: Array) -> Array:
    """Return the logarithm of the mean of exp(x u) for a uniform u."""
    size = np.maximum(np.abs(x), 1e-300)
    below = np.log(-np.expm1(-size) / size)
    return np.where(x == 0, 0.0, np.where(x > 0, below + x, below))


def _window(law: _Tilted) -> tuple[float, float]:
    """Choose how far around the mean to look, and bound twice the chance of being outside."""
    base, window = law.cumulant(), 10 * law.deviation
    while True:
        outside = 0.0
        for side, end in ((1, 1 - law.at), (-1, law.at)):
            if window < end:
                outside += math.exp(_chernoff(law, base, side, window) + 0.01)
        if outside <= math.exp(NEGLIGIBLE) or window >= 1:
            return window, 2 * outside
        window *= 1.2


def _chernoff(law: _Tilted, base: float, side: int, window: float) -> float:
    """Bound the logarithm of the chance that the sum is further than a window on one side."""
    # The best push for a normal law and, in a corner of the cube, for a gamma law.
    normal, gamma = window / law.deviation**2, law.rate * window / (law.at + window)
    pushes = [part * push for push in (normal, gamma) for part in (0.3, 0.6, 0.8, 1.0, 1.3)]
    bounds = [law.cumulant(side * p) - base - p * (window + side * law.at) for p in pushes]
    return min(0.0, *bounds)


def _integral(
    law: _Tilted, window: float, slab: tuple[float, float], groups: Groups
) -> tuple[float, float]:
    """Integrate exp(rate (s - at)) over the slab under the tilted law; return its error too."""
    step = math.pi / window
    last, beyond = _last_frequency(law, step)
    shifts = law.widths * _mean(law.rate * law.widths)
    drift = _drift(groups, shifts, law)
    total = float(_slab_wave(law.rate, 0.0, slab)[0].real)
    error = 32 * EPSILON * total
    at_once = max(1, 400_000 // law.widths.size)
    for first in range(1, last + 1, at_once):
        k = np.arange(first, min(first + at_once, last + 1), dtype=float)
        frequency = k * step
        factor, doubt = _characteristic(law, frequency, shifts)
        wave = _slab_wave(law.rate, frequency, slab)
        size = np.abs(wave)
        terms = factor * np.exp(1j * frequency * drift) * wave
        total += 2 * float(terms.real.sum())
        # Roundings of the factors, of the exponent of the drift and of the wave, in units of
        # EPSILON.
        rounding = 64 + (frequency * law.deviation) ** 2 + 8 * frequency * window
        error += 2 * float(
            (doubt * size + EPSILON * rounding * (np.abs(factor) + doubt) * size).sum()
        )
    length = 2 * window
    return total / length, error / length * (1 + 1e-9) + beyond


def _drift(groups: Groups, shifts: Array, law: _Tilted) -> float:
    """Return by how much the rounded means miss the goal, exactly until the last rounding."""
    exact = sum(
        (Fraction(float(shift)) * count for shift, (_, count) in zip(shifts, groups, strict=True)),
        Fraction(0),
    )
    return float(exact - law.centre)


def _last_frequency(law: _Tilted, step: float) -> tuple[int, float]:
    """Choose where to cut the series, and bound the rest.

    Up to a far frequency the rest is at most the envelope times the sum of 1/k, and from there
    on every factor falls as 1/frequency.
    """
    most = max(256, MOST_FACTORS // law.widths.size)
    last = _first_below(lambda k: _envelope(law, k * step), most)
    far = max(last, _first_below(lambda k: _power_law(law, k * step), 1 << 62))
    falling = float(law.counts[_power_limits(law) < far * step].sum())
    near = math.exp(_envelope(law, last * step)) * (1 + math.log(far / last))
    return last, 2 / math.pi * (near + math.exp(_power_law(law, far * step)) / falling) * 1.01


def _first_below(logarithm: Callable[[int], float], most: int) -> int:
    """Return the first number, or about the most, at which a falling logarithm is negligible."""
    low, high = 0, 1
    while high < most and logarithm(high) > NEGLIGIBLE:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if logarithm(middle) <= NEGLIGIBLE else (middle, high)
    return high


def _power_limits(law: _Tilted) -> Array:
    """Return c such that a factor of the characteristic function is at most c/frequency."""
    half = law.rate * law.widths / 2
    limits = np.where(half < 1e-8, 2 / law.widths, law.rate / np.tanh(np.maximum(half, 1e-8)))
    return limits * (1 + 1e-6)


def _power_law(law: _Tilted, frequency: float) -> float:
    """Bound the logarithm of the characteristic function from a frequency on, by 1/frequency."""
    logs = np.minimum(np.log(_power_limits(law) / frequency), 0.0)
    return float((law.counts * logs).sum())


def _envelope(law: _Tilted, frequency: float) -> float:
    """Bound the logarithm of the characteristic function from a frequency on, more closely.

    With x = rate a/2 and y = frequency a/2 the square of a factor is (sinh^2 x + sin^2 y) x^2 /
    (sinh^2 x (x^2 + y^2)). It falls while y < pi, since y cos y <= sin y, and from there on it is
    at most coth(x) x / sqrt(x^2 + y^2), which falls throughout.
    """
    x, y = np.maximum(law.rate * law.widths / 2, 1e-8), frequency * law.widths / 2
    hyperbolic = np.sinh(np.minimum(x, 300)) ** 2
    always = x / np.tanh(x) / np.hypot(x, y)
    later = x / np.tanh(x) / np.hypot(x, math.pi)
    now = np.sqrt(1 + np.sin(y) ** 2 / hyperbolic) * x / np.hypot(x, y)
    bound = np.where(y < math.pi, np.minimum(always, np.maximum(now, later)), always)
    return float((law.counts * np.minimum(np.log(bound) + 1e-9, 0.0)).sum())


def _characteristic(
    law: _Tilted, frequency: Array, shifts: Array
) -> tuple[NDArray[np.complex128], Array]:
    """Return the characteristic function about the mean, and how far it may be off."""
    turned = (1j * frequency)[:, None] * law.widths
    exponent = turned - law.rate * law.widths
    tilt = np.maximum(law.rate * law.widths, 1e-300)
    norm = -np.expm1(-tilt) / tilt
    factor = np.expm1(exponent) / exponent / norm * np.exp(-(1j * frequency)[:, None] * shifts)
    size = np.maximum(np.abs(factor), 1e-300)
    factor = np.where(size > 1e-300, factor, 1e-300)
    value = np.exp((np.log(factor) * law.counts).sum(axis=1))
    grown = (np.log1p(FACTOR_ERROR / size) * law.counts).sum(axis=1)
    # The product of (|factor| + error) less the product of |factor| bounds what errors can do.
    logs = (np.log(size) * law.counts).sum(axis=1)
    doubt = np.where(grown < 1, np.exp(logs) * np.expm1(np.minimum(grown, 1)), np.exp(logs + grown))
    return value, doubt


def _slab_wave(
    rate: float, frequency: Array | float, slab: tuple[float, float]
) -> NDArray[np.complex128]:
    """Integrate exp((rate - i frequency) s) over the slab, given its end and its width."""
    end, width = slab
    z = np.atleast_1d(rate - 1j * np.asarray(frequency))
    safe = np.where(z == 0, 1.0, z)
    return np.where(z == 0, width, np.exp(z * end) * -np.expm1(-z * width) / safe)


def _scaled(law: _Tilted, bounds: tuple[float, float]) -> tuple[Fraction, Fraction]:
    """Undo the tilt: multiply with exp(cumulant + rate * at), which no double may hold."""
    parts = law.counts * _log_mean(-law.rate * law.widths)
    exponent = math.fsum([*parts, law.rate * law.at]) / math.log(2)
    power = math.floor(exponent)
    factor = 2.0 ** (exponent - power)
    size = float(np.abs(parts).sum()) + law.rate * law.at + abs(exponent) + 1
    error = Fraction(16 * EPSILON * size)
    shift = Fraction(2) ** power
    ends = [Fraction(max(end, 0.0)) * Fraction(factor) * shift for end in bounds]
    return ends[0] * max(1 - error, Fraction(0)), min(ends[1] * (1 + error), Fraction(1))
