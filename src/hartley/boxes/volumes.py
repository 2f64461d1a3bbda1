"""The measure of the part of a box that a query sends into an interval."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.boxes import intervals as outward
from hartley.boxes.box import Interval
from hartley.boxes.enclosure import UnitBox, check_defined, split_boxes, widest_axis
from hartley.boxes.expression import Expression, as_expression
from hartley.boxes.intervals import EPSILON, natural_range
from hartley.errors import OptionError
from hartley.ranges.joint_range import Size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hartley.boxes.box import Box
    from hartley.boxes.intervals import Array, Pair

    Groups = Sequence[tuple[Fraction, int]]
    """Positive widths, each with the number of variables that share it."""
    Mask = NDArray[np.bool_]
    Bounds = tuple[Fraction, Fraction]
    Linear = tuple[dict[str, Fraction], Fraction]


# --- irwin hall -----------------------------------------------------------------------------------
# The law of a weighted sum of uniform variables: how much of a cube lies between two planes.

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
    # The division leaves no rest, so rounding down, also of negatives, changes nothing.
    return list(accumulate(range(last), lambda by, k: -by * (size - k) // (k + 1), initial=1))


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


# --- volume ---------------------------------------------------------------------------------------


MOST_BOXES = 2_000_000
"""How many boxes are looked at before the gap reached so far is the answer."""
SMALLEST_SHARE = 1e-13
"""A gap of this share of the box counts as closed: rounding hides anything finer."""
SMALLEST_SIDE = 2.0**-40
SLOPES_KEPT = 4
"""The half-space bound works in the directions of so many largest slopes."""
AT_ONCE = 16_384


@dataclass(frozen=True)
class Share:
    """Certified bounds on a share of a box, and how many boxes it took."""

    low: float
    high: float
    boxes: int


def invert(
    expression: Expression, box: Box, interval: Interval, *, gap: float, most: int | None = None
) -> Share:
    r"""Return bounds on the share of a box in which a query lies in an interval.

    Set inversion by branch and bound (Jaulin and Walter 1993) on arrays of boxes in units of the
    box, so that every side is a power of two. Boxes that the interval's edge crosses are bounded
    by half-spaces: a slope form f = f(m) + S (x - m) lies between two parallel planes, whose share
    of the box is known in closed form, so a box of width w is settled up to w^(n+1), and the gap
    falls as the square of the width. The query must be defined in the whole box.

    A bound: low <= truth <= high. It ends when high - low <= gap * low, when the gap is below
    1e-13 of the box, or after two million boxes, or as many as are given. Grows as gap^-(n-1)/2
    for n variables.
    """
    task = _Inversion(expression, box, interval)
    sides = task.frame.dimension
    most = most_boxes(sides) if most is None else most
    inside, looked = 0.0, 1
    live = task.bound(np.zeros((sides, 1)), np.ones((sides, 1)))
    while True:
        whole = live.low >= live.volume
        inside += float(live.volume[whole].sum())  # powers of two, so exact down to 2^-52
        # Boxes that lie inside are added once, boxes outside are dropped: only the edge is split.
        live = live.take(~whole & (live.high > 0))
        # Pairwise summation of even a thousand million terms is off by less than 64 units.
        low = max((inside + float(live.low.sum())) * (1 - 64 * outward.EPSILON), 0.0)
        high = (inside + float(live.high.sum())) * (1 + 64 * outward.EPSILON)
        chosen = _worth_splitting(live, max(gap * low, SMALLEST_SHARE), high - low)
        if looked >= most or not chosen.any():
            return Share(low, min(high, 1.0), looked)
        split = live.take(chosen)
        halves = task.bound(*split_boxes(split.start, split.size, split.axis))
        looked += halves.volume.size
        live = _Boxes.joined([live.take(~chosen), halves])


def most_boxes(sides: int) -> int:
    """Return how many boxes are looked at for one volume; fewer where each takes longer."""
    return MOST_BOXES // max(1, sides // 3)


@dataclass(frozen=True)
class _Boxes:
    """Boxes in units of the whole, what they hold at least and at most, and how to split them."""

    start: Array
    size: Array
    volume: Array
    low: Array
    high: Array
    axis: NDArray[np.intp]

    def take(self, which: Mask) -> _Boxes:
        return _Boxes(*(getattr(self, field.name)[..., which] for field in fields(self)))

    @classmethod
    def joined(cls, parts: list[_Boxes]) -> _Boxes:
        if len(parts) == 1:
            return parts[0]
        return cls(
            *(
                np.concatenate([getattr(part, field.name) for part in parts], axis=-1)
                for field in fields(cls)
            )
        )


def _worth_splitting(live: _Boxes, target: float, total: float) -> Mask:
    """Choose the boxes to split: the widest gaps, as many as it takes if halving helps by half."""
    gaps = live.high - live.low
    if total <= target or not gaps.size:
        return np.zeros(gaps.size, bool)
    order = np.argsort(gaps)[::-1]
    # Halving a box closes at least about half of its gap, so twice the excess has to be halved.
    needed = np.searchsorted(np.cumsum(gaps[order]), 2 * (total - target)) + 1
    chosen = np.zeros(gaps.size, bool)
    chosen[order[:needed]] = True
    chosen &= (gaps > target / (4 * gaps.size)) & (live.size.max(axis=0) > SMALLEST_SIDE)
    return chosen


class _Inversion:
    """A query, an interval, and what boxes hold of its preimage."""

    def __init__(self, expression: Expression, box: Box, interval: Interval) -> None:
        self.frame = UnitBox(expression, box)
        self.interval = interval
        self.lower = outward.constant(interval.low)
        self.upper = outward.constant(interval.high)

    def bound(self, start: Array, size: Array) -> _Boxes:
        """Bound what the boxes hold, a manageable number of them at a time."""
        return _Boxes.joined(
            [
                self._bound(start[:, k : k + AT_ONCE], size[:, k : k + AT_ONCE])
                for k in range(0, start.shape[1], AT_ONCE)
            ]
        )

    def _bound(self, start: Array, size: Array) -> _Boxes:
        with np.errstate(all="ignore"):  # infinities and NaN are part of this arithmetic
            form, changes = self.frame.linearise(start, size)
            low, high = self._shares(form.middle, changes, size.shape[1])
            inside, outside = self._decided(form.values)
            volume = size.prod(axis=0)
            low = np.where(inside, 1.0, np.where(outside, 0.0, low)) * volume
            high = np.where(outside, 0.0, np.where(inside, 1.0, high)) * volume
            return _Boxes(start, size, volume, low, high, widest_axis(changes, size))

    def _decided(self, values: Pair) -> tuple[Mask, Mask]:
        """Return which boxes lie in the interval whole, and which not at all, minding its ends."""
        (low, high), ends = values, self.interval
        # An end lies between two neighbouring doubles or is one. A double that is greater than the
        # lower neighbour is at least the upper one, so each comparison decides about the exact end.
        above = low >= self.lower[1] if ends.low_closed else low > self.lower[0]
        below = high <= self.upper[0] if ends.high_closed else high < self.upper[1]
        under = high < self.lower[1] if ends.low_closed else high <= self.lower[0]
        over = low > self.upper[0] if ends.high_closed else low >= self.upper[1]
        return above & below, under | over

    def _shares(self, middle: Pair, changes: list[Pair], count: int) -> Pair:
        """Bound what share of every box lies in the interval, by half-spaces."""
        centre = (middle[0] + middle[1]) / 2
        loose = outward.up(np.maximum(middle[1] - centre, centre - middle[0]))
        steep = []
        for low, high in changes:
            slope = (low + high) / 2
            loose = loose + outward.up(np.maximum(high - slope, slope - low)) / 2
            steep.append(np.broadcast_to(np.abs(slope), count))
        # Signs do not matter, since the cube is symmetric about its middle. The closed form costs
        # 2^n n!, so all but a few largest slopes count as uncertainty instead.
        steep = _sorted_down(steep)
        loose = loose + sum(steep[SLOPES_KEPT:], np.zeros(1)) / 2
        steepest = steep[:SLOPES_KEPT]
        total = sum(steepest, np.zeros(1))
        scale = np.abs(centre) + total + loose
        ends = []
        for edge in (self.lower, self.upper):
            size = scale + np.abs(edge[0]) + np.abs(edge[1])
            # The plane moves outward by what the slopes leave open and by what these sums are
            # rounded.
            reach = loose + outward.EPSILON * (len(changes) + 8) * size + outward.TINY
            level = total / 2 - centre
            below = half_space(steepest, edge[0] + level - reach)[0]
            ends.append((below, half_space(steepest, edge[1] + level + reach)[1]))
        known = np.isfinite(scale)
        low = np.where(known, np.maximum(ends[1][0] - ends[0][1], 0.0), 0.0)
        return low, np.where(known, np.minimum(ends[1][1] - ends[0][0], 1.0), 1.0)


def _sorted_down(arrays: list[Array]) -> list[Array]:
    """Sort several arrays against each other, the largest first."""
    if len(arrays) == 1:
        return arrays
    if len(arrays) == 2:
        return [np.maximum(*arrays), np.minimum(*arrays)]
    return list(np.sort(np.stack(arrays), axis=0)[::-1])


def half_space(widths: list[Array], level: Array) -> Pair:
    r"""Bound the share of the unit cube below a plane whose widths are sorted, the largest first.

    .. math:: H(t) = \mu\{v \in [0,1]^n : \textstyle\sum_i a_i v_i \le t\}, \qquad
        n\,H(t) = \sum_i \tau\,H^{(i)}(t) + (1 - \tau)\,H^{(i)}(t - a_i), \; \tau = t / \sum_i a_i

    with H^(i) the same without the i-th width: the divergence theorem about a point of the plane.
    Every term is positive, so nothing cancels, however different the widths: the error stays
    below 16 n^2 units in the last place, which the bounds include.

    Example:
        >>> low, high = half_space([np.array([2.0]), np.array([1.0])], np.array([1.0]))
        >>> float(low[0]) <= 0.25 <= float(high[0])
        True
    """
    with np.errstate(all="ignore"):  # a slope may be zero
        share = _half_space(widths, level)
    error = 16 * len(widths) ** 2 * outward.EPSILON
    total = sum(widths[1:], widths[0]) * (1 + len(widths) * outward.EPSILON)
    low = np.where(level >= total, 1.0, np.maximum(share - error, 0.0))
    high = np.where(level < 0, 0.0, np.minimum(share + error, 1.0))
    return low, high


def _half_space(widths: list[Array], level: Array) -> Array:
    if len(widths) == 1:
        return np.where(
            level >= widths[0], 1.0, np.where(level > 0, np.minimum(level / widths[0], 1.0), 0.0)
        )
    total = sum(widths[1:], widths[0])
    if len(widths) == 2:
        return _half_plane(widths[0], widths[1], level, total)
    part = np.clip(level / total, 0.0, 1.0)
    share = np.zeros(1)
    for i, width in enumerate(widths):
        rest = widths[:i] + widths[i + 1 :]
        share = share + part * _half_space(rest, level)
        share = share + (1 - part) * _half_space(rest, level - width)
    return np.where(level >= total, 1.0, np.where(level > 0, share / len(widths), 0.0))


def _half_plane(wide: Array, narrow: Array, level: Array, total: Array) -> Array:
    """Return the share below a line, by a triangle or a strip of the smaller of the two sides."""
    near = np.minimum(level, total - level)
    triangle = (near / narrow) * (near / wide) / 2
    corner = np.where(near < narrow, triangle, (near - narrow / 2) / wide)
    share = np.where(level + level <= total, corner, 1 - corner)
    return np.where(level >= total, 1.0, np.where(level > 0, share, 0.0))


NOTHING: Bounds = (Fraction(0), Fraction(0))
EVERYTHING: Bounds = (Fraction(1), Fraction(1))


@dataclass(frozen=True)
class Volume(Size):
    """A volume that lies between two exact numbers, or is one.

    Example:
        >>> Volume(Fraction(1, 2), Fraction(1, 2)).log()
        (-1.0, -1.0)
        >>> Volume.between(Fraction(1), Fraction(2), gap=1e-6, whole=Fraction(4)).reached
        False
    """

    reached: bool = True
    """Whether the two are as near to each other as was wished."""

    @classmethod
    def between(cls, low: Fraction, high: Fraction, *, gap: float, whole: Fraction) -> Volume:
        """Return a volume with whether its ends differ by no more than a part of it."""
        closed = max(low * Fraction(gap), whole * Fraction(4 * SMALLEST_SHARE))
        return cls(low, high, high - low <= closed * Fraction(1 + 1e-12))


def volume(
    box: Box,
    query: Expression | str | Callable[..., Any],
    interval: Interval | tuple[Any, Any],
    *,
    gap: float = 1e-6,
    most: int | None = None,
) -> Volume:
    r"""Return the measure of the part of a box that a query sends into an interval.

    .. math:: \mu\{x \in B : f(x) \in I\}

    Linear queries: exact in rational numbers for few different |coefficient| * width or up to 17
    variables, else certified to about 1e-9 relative, at any n. Absolute values, roots, multiples,
    and the minimum or maximum of queries about different people lead back to their arguments. Any
    other query: certified by set inversion until (high - low) <= gap * low, or wider after two
    million boxes, as happens from five or six variables on: ``reached`` is False then. The ends
    of the interval count: a query like max(x, 0) has values of positive measure.

    Args:
        box: what could be true.
        query: an expression, its text, or a Python function of the box's variables.
        interval: an ``Interval``, or the two ends of a closed one.
        gap: how far apart the bounds may be, as a part of the volume.
        most: how many boxes are looked at before they stay further apart.

    Example:
        >>> from hartley.boxes.box import Box
        >>> square = Box.cube(-2, 2, size=2)
        >>> volume(square, "(x1 + x2) / 2", (-2, -1)).low
        Fraction(2, 1)
        >>> ellipse = volume(square, "x1**2 + 2*x2**2", (0, 1), gap=1e-4)
        >>> ellipse.exact, round(float(ellipse.low), 3)  # pi / sqrt(2) = 2.2214...
        (False, 2.221)
    """
    if not 0 < gap < 1:
        raise OptionError(
            f"The gap {gap} is not between 0 and 1", hint="it is a part of the volume, such as 1e-6"
        )
    expression = as_expression(query, box.names)
    check_defined(expression, box)
    if box.volume == 0:
        return Volume(*NOTHING)
    # A share of the box is enclosed, and multiplied by its exact volume at the very end.
    low, high = _share(expression, box, Interval.of(interval), gap, most)
    ends = low * box.volume, high * box.volume
    return Volume.between(*ends, gap=gap, whole=box.volume)


def _share(
    expression: Expression, box: Box, interval: Interval, gap: float, most: int | None
) -> Bounds:
    """Return bounds on the share of the box."""
    form = expression.linear()
    if form is not None:
        return _linear_share(form, box, interval)
    ends = natural_range(expression, box.sides)
    if ends is not None:
        shared = interval.intersect(Interval(*ends))
        if shared is None or shared == Interval(*ends):
            return NOTHING if shared is None else EVERYTHING
        interval = _cleared(interval, *ends)
    if not expression.names:  # a number like exp(1), too close to an end to tell
        return Fraction(0), Fraction(1)
    led_back = _arguments(expression, interval)
    if led_back is not None:
        inner, intervals = led_back
        parts = [_share(inner, box, part, gap, most) for part in intervals]
        return sum((p[0] for p in parts), Fraction(0)), sum((p[1] for p in parts), Fraction(0))
    bounds = _extreme_share(expression, box, interval, gap, most)
    if bounds is not None and bounds[1] - bounds[0] <= gap * bounds[0]:
        return bounds
    share = invert(expression, box, interval, gap=gap, most=most)
    low, high = Fraction(share.low), Fraction(share.high)
    return (low, high) if bounds is None else (max(low, bounds[0]), min(high, bounds[1]))


def _cleared(interval: Interval, bottom: Fraction, top: Fraction) -> Interval:
    """Move an end that no value can pass away from the values, where rounding does no harm."""
    low, low_closed = interval.low, interval.low_closed
    high, high_closed = interval.high, interval.high_closed
    if low < bottom or (low == bottom and low_closed):
        low, low_closed = bottom - 1, True
    if high > top or (high == top and high_closed):
        high, high_closed = top + 1, True
    return Interval(low, high, low_closed, high_closed)


def _linear_share(form: Linear, box: Box, interval: Interval) -> Bounds:
    coefficients, bottom = form
    widths: Counter[Fraction] = Counter()
    for name, by in coefficients.items():
        side = box[name]
        bottom += min(by * side.low, by * side.high)
        widths[abs(by) * side.length] += 1
    if not widths:
        return EVERYTHING if bottom in interval else NOTHING
    return slab_share(list(widths.items()), interval.low - bottom, interval.high - bottom)


def _arguments(
    expression: Expression, interval: Interval
) -> tuple[Expression, list[Interval]] | None:
    """Lead a function of one argument back to it: where the argument must lie."""
    operation, parts = expression.operation, expression.parts
    if operation == "neg":
        return parts[0], [_stretched(interval, Fraction(-1), Fraction(0))]
    if operation in ("sqrt", "abs"):
        values = interval.intersect(Interval(Fraction(0), max(interval.high, Fraction(0))))
        invert_values = _squares if operation == "sqrt" else _mirrored
        return parts[0], [] if values is None else invert_values(values)
    if operation in ("+", "-", "*", "/"):
        return _without_number(operation, parts, interval)
    return None


def _without_number(
    operation: str, parts: tuple[Expression, ...], interval: Interval
) -> tuple[Expression, list[Interval]] | None:
    """Lead the sum or product of a query and a number, or their quotient, back to the query."""
    forms = [part.linear() for part in parts]
    fixed = [form is not None and not form[0] for form in forms]
    which = 0 if fixed[0] else 1
    form = forms[which]
    if form is None or not fixed[which] or (operation == "/" and which == 0):
        return None
    number, by, shift = form[1], Fraction(1), Fraction(0)
    if operation in ("*", "/"):
        if number == 0:
            return None
        by = 1 / number if operation == "*" else number
    else:
        shift = -number if operation == "+" else number
        by = Fraction(-1) if operation == "-" and which == 0 else by
    return parts[1 - which], [_stretched(interval, by, shift)]


def _stretched(interval: Interval, by: Fraction, shift: Fraction) -> Interval:
    """Return by * interval + shift."""
    ends = [interval.low * by + shift, interval.high * by + shift]
    closed = [interval.low_closed, interval.high_closed]
    if by < 0:
        ends, closed = ends[::-1], closed[::-1]
    return Interval(ends[0], ends[1], closed[0], closed[1])


def _squares(roots: Interval) -> list[Interval]:
    """Return where a number must lie for its square root to lie in an interval from 0 on."""
    return [Interval(roots.low**2, roots.high**2, roots.low_closed, roots.high_closed)]


def _mirrored(sizes: Interval) -> list[Interval]:
    """Return where a number must lie for its absolute value to lie in an interval from 0 on."""
    low, high, closed = sizes.low, sizes.high, sizes.high_closed
    if low == 0 and sizes.low_closed:
        return [Interval(-high, high, closed, closed)]
    return [sizes, Interval(-high, -low, closed, sizes.low_closed)]


def _extreme_share(
    expression: Expression, box: Box, interval: Interval, gap: float, most: int | None
) -> Bounds | None:
    """Return the share of a minimum or maximum of queries that have no variable in common.

    The largest of several is at most t when each is, and independent chances multiply.
    """
    if expression.operation not in ("min", "max"):
        return None
    parts = _chain(expression)
    if expression.operation == "min":  # the largest of the negatives
        interval, parts = _stretched(interval, Fraction(-1), Fraction(0)), [-p for p in parts]
    names = [name for part in parts for name in part.names]
    bottoms = [natural_range(part, box.sides) for part in parts]
    if len(names) != len(set(names)) or None in bottoms:
        return None
    ends = [
        (interval.low, not interval.low_closed),  # what lies below is left out
        (interval.high, interval.high_closed),
    ]
    bounds = []
    for level, closed in ends:
        low = high = Fraction(1)
        for part, bottom in zip(parts, bottoms, strict=True):
            assert bottom is not None  # checked above
            below = Interval(min(bottom[0], level) - 1, level, high_closed=closed)
            share = _share(part, box, below, gap / 8, most)
            low, high = low * share[0], high * share[1]
        bounds.append((low, high))
    return max(bounds[1][0] - bounds[0][1], Fraction(0)), bounds[1][1] - bounds[0][0]


def _chain(expression: Expression) -> list[Expression]:
    """Return what max(max(a, b), c) compares, without recursion along the chain."""
    parts = []
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if node.operation == expression.operation:
            waiting.extend(node.parts)
        else:
            parts.append(node)
    return parts
