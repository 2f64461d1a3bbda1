"""What prices prove about the distortion of every rule whose worst case keeps to a limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)
PIECES = 16
"""Into so many pieces an interval of risks is cut where two prices bound it together."""
HALVINGS = 60
FARTHEST = 300.0
"""Nats up to which risks are looked for."""


@dataclass(frozen=True, eq=False)
class Prices:
    r"""A point of the dual problem, which bounds the least distortion D(t) for every risk t.

    .. math:: D(t) \ge \sum_x p(x) \min_c \big[ b(x,c) - \alpha_c e^t + \beta_c e^{-t}
              - \gamma_c t \big], \qquad \alpha, \beta, \gamma \ge 0

    b is the distortion plus what the release of c would have to pay for telling; the rest is what
    the limit t pays back, in nats: linearly for a divergence, exponentially for a ratio of
    probabilities. Of any two prices every mixture is one, too. Rounding errors of b are subtracted
    beforehand, those of the rest here.
    """

    key: Floats
    """p(x)."""
    base: Floats
    """b(x,c), rounded downward."""
    rising: Floats
    """alpha, one a released value."""
    falling: Floats
    """beta."""
    linear: Floats
    """gamma."""
    terms: int
    """How many terms a sum of prices has, for the rounding."""

    @classmethod
    def trivial(cls, key: Floats, distortion: Floats) -> Prices:
        """Return what holds without any limit: no rule is more faithful than the most faithful."""
        none = np.zeros(distortion.shape[1])
        return cls(key, distortion * (1 - 4 * EPSILON), none, none, none, 1)

    def paid(self, risk: float) -> tuple[Floats, Floats]:
        """Return what a limit pays back, and the size of its terms."""
        up, down = self.rising * math.exp(risk), self.falling * math.exp(-risk)
        return up - down + self.linear * risk, up + down + self.linear * abs(risk)

    def slopes(self, risk: float) -> Floats:
        """Return what a unit of risk more pays back, a released value."""
        return self.rising * math.exp(risk) + self.falling * math.exp(-risk) + self.linear

    def bound(self, risk: float, less: Floats | float = 0.0) -> float:
        """Return a distortion that no rule within a risk, in nats, stays below: certified.

        Args:
            risk: the limit.
            less: what to take off before the minimum, one number a released value.
        """
        paid, sizes = self.paid(risk)
        error = EPSILON * ((self.terms + 16) * sizes + 2 * np.abs(self.base)) + less
        least = (self.base - paid - error).min(axis=1)
        total, spread = float(self.key @ least), float(self.key @ np.abs(least))
        if not math.isfinite(total):
            return -math.inf
        return total - EPSILON * (self.key.size + 8) * spread

    def least_risk(self, distortion: float, above: float) -> float:
        """Return a risk, in nats, below which no rule keeps to a distortion: certified.

        The bound falls with the risk, so that it is halved towards where it meets the distortion.

        Args:
            distortion: to keep to.
            above: where to stop looking.
        """
        low, high = 0.0, min(above, FARTHEST)
        if self.bound(high) > distortion:
            return high
        if self.bound(low) <= distortion:
            return 0.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self.bound(middle) > distortion:
                low = middle
            else:
                high = middle
        return low

    def mixed(self, other: Prices, share: float) -> Prices:
        """Return a mixture: so much of these, the rest of others."""
        rest = 1 - share
        lost = 4 * EPSILON * (share * np.abs(self.base) + rest * np.abs(other.base))
        return Prices(
            self.key,
            share * self.base + rest * other.base - lost,
            share * self.rising + rest * other.rising,
            share * self.falling + rest * other.falling,
            share * self.linear + rest * other.linear,
            max(self.terms, other.terms) + 4,
        )


def floor_between(one: Prices, other: Prices, low: float, high: float) -> tuple[Floats, Floats]:
    r"""Return a polygon below D(t) for all risks t from low to high: risks, and distortions.

    Prices that are best at one risk lose a part of the first order at any other. Mixtures of those
    of both ends lose one of the second order: the interval is cut into pieces, each end of a piece
    has its mixture, and within a piece those two are mixed once more, in the proportion theta in
    which t lies between them. There each entry of the minimum is

    .. math:: \theta b_1 + (1-\theta) b_2 - \theta f_1(t) - (1-\theta) f_2(t), \qquad
              f = \alpha e^t - \beta e^{-t} + \gamma t

    whose second derivative in theta is 2 L (f_1' - f_2') - L^2 (theta f_1'' + (1-theta) f_2''), L
    being the length of the piece. So the chord less an eighth of that is below; taken off each
    entry, it costs nothing where the entry is far from the minimum. Certified.

    Each piece has its own two corners, so that risks occur twice.
    """
    risks = np.linspace(low, high, PIECES + 1)
    bend = _best_bend(one, other, low, high)
    corners = [one.mixed(other, _share(low, high, risk, bend)) for risk in risks]
    floors = []
    for place, (before, after) in enumerate(pairwise(corners)):
        dips = _dips(before, after, risks[place], risks[place + 1])
        floors += [before.bound(risks[place], dips), after.bound(risks[place + 1], dips)]
    return np.repeat(risks, 2)[1:-1], np.array(floors)


def _share(low: float, high: float, risk: float, bend: float) -> float:
    """Return how much of the prices of the lower end to take: linear where the bend is 1.

    Where the prices of all released values change by the same factor, a bend by that factor makes
    what the limit pays back the same in the mixture and in its parts.
    """
    rest = high - risk
    return rest / (rest + bend * (risk - low))


def _best_bend(one: Prices, other: Prices, low: float, high: float) -> float:
    """Return the bend that proves most in the middle."""
    middle = (low + high) / 2
    steep, flat = one.slopes(middle), other.slopes(middle)
    both = (steep > 0) & (flat > 0)
    bends = [1.0]
    if both.any():
        bends += np.quantile(steep[both] / flat[both], (0, 0.25, 0.5, 0.75, 1)).tolist()
    return max(
        (min(max(bend, 1e-3), 1e3) for bend in bends),
        key=lambda bend: one.mixed(other, _share(low, high, middle, bend)).bound(middle),
    )


def _dips(one: Prices, other: Prices, low: float, high: float) -> Floats:
    """Return how far an entry may lie below its chord between two mixtures."""
    long = high - low
    steeper = (
        (one.rising - other.rising).clip(0) * math.exp(high)
        + (one.falling - other.falling).clip(0) * math.exp(-low)
        + (one.linear - other.linear).clip(0)
    )
    bent = 2 * long * steeper + long**2 * np.maximum(one.falling, other.falling) * math.exp(-low)
    return np.asarray(bent / 8 * (1 + 1e-9))
