"""The constraints of a worst-case limit for each objective, and prices that bound distortion.

All limits t are in nats. Every objective constrains the columns r(.,c) = p(c) p(.|c) of the joint
masses of key and release, each by the same convex functions, homogeneous of degree one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hartley.measures.anonymity import delta_disclosure, t_closeness
from hartley.measures.leakage import maximal_leakage
from hartley.policies.distortion.problem import slack_values
from hartley.ranges.distribution import JointDistribution

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hartley.policies.distortion.problem import Problem

    Floats = NDArray[np.float64]


EPSILON = float(np.finfo(np.float64).eps)
PIECES = 16
"""How many pieces an interval of risks is cut into where two prices bound it together."""


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
        """Return the prices of no limit: they prove that no rule is below the least distortion."""
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
        """Return a distortion that no rule within a risk, in nats, stays below: certified."""
        paid, sizes = self.paid(risk)
        error = EPSILON * ((self.terms + 16) * sizes + 2 * np.abs(self.base)) + less
        # Outward, as in ``problem.lower_bound``: the errors come off before the minimum is taken.
        least = (self.base - paid - error).min(axis=1)
        total, spread = float(self.key @ least), float(self.key @ np.abs(least))
        if not math.isfinite(total):
            return -math.inf
        return total - EPSILON * (self.key.size + 8) * spread

    def least_risk(self, distortion: float, above: float) -> float:
        """Return a risk, in nats, below which no rule has at most a distortion: certified.

        The bound falls with the risk, so halving finds where it equals the distortion.
        """
        low, high = 0.0, min(above, 300.0)
        if self.bound(high) > distortion:
            return high
        if self.bound(low) <= distortion:
            return 0.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.bound(middle) > distortion else (low, middle)
        return low

    def mixed(self, other: Prices, share: float) -> Prices:
        """Return a mixture: so much of these, the rest of others."""
        # The dual is concave, so that a mixture of two of its points is one; only the rounding of
        # the mixture itself is taken off.
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


def floor_between(lower: Prices, upper: Prices, low: float, high: float) -> tuple[Floats, Floats]:
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
    bend = _best_bend(lower, upper, low, high)
    corners = [lower.mixed(upper, _share(low, high, risk, bend)) for risk in risks]
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


def _best_bend(lower: Prices, upper: Prices, low: float, high: float) -> float:
    """Return the bend that proves most in the middle."""
    middle = (low + high) / 2
    steep, flat = lower.slopes(middle), upper.slopes(middle)
    both = (steep > 0) & (flat > 0)
    bends = [1.0]
    if both.any():
        bends += np.quantile(steep[both] / flat[both], (0, 0.25, 0.5, 0.75, 1)).tolist()
    return max(
        (min(max(bend, 1e-3), 1e3) for bend in bends),
        key=lambda bend: lower.mixed(upper, _share(low, high, middle, bend)).bound(middle),
    )


def _dips(before: Prices, after: Prices, low: float, high: float) -> Floats:
    """Return how far an entry may lie below its chord between two mixtures."""
    long = high - low
    steeper = (
        (before.rising - after.rising).clip(0) * math.exp(high)
        + (before.falling - after.falling).clip(0) * math.exp(-low)
        + (before.linear - after.linear).clip(0)
    )
    bent = 2 * long * steeper + long**2 * np.maximum(before.falling, after.falling) * math.exp(-low)
    # A function whose second derivative is at most B lies above its chord less B/8; a little more
    # is taken off for the rounding of the exponentials.
    return np.asarray(bent / 8 * (1 + 1e-9))


@dataclass(frozen=True, eq=False)
class Multipliers:
    """The multipliers of all constraints; for a divergence, with the scores that prove it."""

    weights: Floats
    scores: Floats | None = None


class Limit(ABC):
    """The constraints g(column) <= 0 of one objective and one limit, and their derivatives."""

    measure: Callable[..., float]
    count: int
    """How many constraints a column has."""

    def __init__(self, problem: Problem, risk: float) -> None:
        self.problem, self.risk = problem, risk

    def start(self) -> Floats:
        """Return columns strictly within the limit: the uniform release, which ignores the key."""
        keys, _, released = self.problem.sizes
        return np.tile(self.problem.key[:, None] / released, (1, released)).reshape(keys, released)

    @abstractmethod
    def values(self, columns: Floats) -> Floats:
        """Return g of all columns, and keep what the derivatives need."""

    @abstractmethod
    def pulled(self, weights: Floats) -> Floats:
        """Return the sum of the gradients of g, weighed."""

    @abstractmethod
    def pushed(self, steps: Floats) -> Floats:
        """Return the directional derivatives of g."""

    @abstractmethod
    def rows(self, c: int, weights: Floats, slack: Floats) -> Floats:
        """Return F with F'F = Hessian of weights g + gradients * weights / slack * gradients."""

    @abstractmethod
    def multipliers(self, weights: Floats, values: Floats) -> Multipliers:
        """Return what proves most of the present weights and values v(x) of the keys."""

    @abstractmethod
    def prices(self, problem: Problem, multipliers: Multipliers) -> Prices:
        """Return what multipliers prove."""

    def advance(  # noqa: B027 - only a curved limit has to know
        self, share: float, steps: Floats, weights: Floats, change: Floats
    ) -> None:
        """Note a step of the columns and of the weights."""


class Divergence(Limit):
    r"""t-closeness: the divergence of p(w|c) from p(w) is at most t for every released value c.

    .. math:: g(r) = \sum_w u_w \ln \frac{u_w}{p(w)\, m} - t m, \qquad
              u = \sum_x p(w|x)\, r(x), \; m = \sum_x r(x)

    Convex and homogeneous. By the inequality of Donsker and Varadhan, for any scores y and
    weights mu >= 0, D >= sum_x p(x) min_c [d + mu_c (sum_w p(w|x) y_w - ln E e^y - t)].
    """

    measure = staticmethod(t_closeness)
    count = 1

    def __init__(self, problem: Problem, risk: float) -> None:
        super().__init__(problem, risk)
        self._products: Floats | None = None
        self._best: Multipliers | None = None

    def values(self, columns: Floats) -> Floats:
        """Return the divergences, times p(c), less what is allowed."""
        self._own, self._joint, self._total = self.problem.scores(columns)
        self._gradient = self.problem.given @ self._own - self.risk
        excess: Floats = (self._joint * self._own).sum(axis=0) - self.risk * self._total
        return excess[None]

    def pulled(self, weights: Floats) -> Floats:
        """Return weights times the one gradient of each column."""
        return np.asarray(self._gradient * weights)

    def pushed(self, steps: Floats) -> Floats:
        """Return the gradient of each column times its step."""
        return np.asarray((self._gradient * steps).sum(axis=0)[None])

    def rows(self, c: int, weights: Floats, slack: Floats) -> Floats:
        """Return the root of the divergence's Hessian, and below it the gradient."""
        spread = (self.problem.given - self._joint[:, c] / self._total[c]).T
        spread *= np.sqrt(weights[0, c] / self._joint[:, c])[:, None]
        last = math.sqrt(weights[0, c] / slack[0, c]) * self._gradient[:, c]
        return np.vstack([spread, last])

    def multipliers(self, weights: Floats, values: Floats) -> Multipliers:
        """Take for each released value the scores that prove most, those kept so far among them.

        The scores of the method's own columns, and the scores that moved along with its steps:
        only those are right for released values that die out.
        """
        scores = self._own if self._products is None else self._products / weights
        candidates = [Multipliers(weights, scores), Multipliers(weights, self._own)]
        if self._best is not None:
            candidates.append(self._best)
        best, proved = candidates[0], np.full(weights.shape[1], -np.inf)
        for candidate in candidates:
            prices = self.prices(self.problem, candidate)
            least = (prices.base - prices.paid(self.risk)[0] - values[:, None]).min(axis=0)
            better = np.where(np.isfinite(least), least, -np.inf) > proved
            assert candidate.scores is not None
            assert best.scores is not None
            best = Multipliers(
                np.where(better, candidate.weights, best.weights),
                np.where(better, candidate.scores, best.scores),
            )
            proved = np.where(better, least, proved)
        self._best = best
        return best

    def prices(self, problem: Problem, multipliers: Multipliers) -> Prices:
        """Return what weights and scores prove by the inequality above."""
        weights = multipliers.weights[0]
        assert multipliers.scores is not None
        weighed = replace(problem, weight=weights)  # one a column
        base, error = slack_values(weighed, multipliers.scores)
        none = np.zeros_like(weights)
        return Prices(problem.key, base - error, none, none, weights, 1)

    def advance(self, share: float, steps: Floats, weights: Floats, change: Floats) -> None:
        """Move weights times scores as the Newton step says, so that dual residuals vanish."""
        product = weights * self._own if self._products is None else self._products
        turned = self.problem.given.T @ steps / self._joint - steps.sum(axis=0) / self._total
        aim = self._own * (weights + change) + weights * turned
        self._products = product + share * (aim - product)


class _Linear(Limit):
    """Constraints that are linear: G column <= 0, the same G for every released value."""

    matrix: Floats

    @property
    def ratios(self) -> Floats:
        """p(w|x) / p(w), a row a confidential value."""
        return np.asarray((self.problem.given / self.problem.secret).T)

    def values(self, columns: Floats) -> Floats:
        """Return G times the columns."""
        return self.matrix @ columns

    def pulled(self, weights: Floats) -> Floats:
        """Return G' times the weights."""
        return self.matrix.T @ weights

    def pushed(self, steps: Floats) -> Floats:
        """Return G times the steps."""
        return self.matrix @ steps

    def rows(self, c: int, weights: Floats, slack: Floats) -> Floats:
        """Return G, each row weighed."""
        return self.matrix * np.sqrt(weights[:, c] / slack[:, c])[:, None]

    def multipliers(self, weights: Floats, values: Floats) -> Multipliers:  # noqa: ARG002 - one way
        """Return the weights themselves."""
        return Multipliers(weights)

    def _base(self, problem: Problem, paid: Floats, sizes: Floats) -> Floats:
        """Return d + sum_w a(w,x) paid(w,c), rounded downward."""
        ratios = self.ratios.T
        terms = 2 * sum(problem.sizes) + 16
        error = EPSILON * terms * (ratios @ sizes + problem.distortion)
        return np.asarray(problem.distortion + ratios @ paid - error)


class Ratios(_Linear):
    r"""delta-disclosure: p(w|c) / p(w) lies between e^-t and e^t for every pair.

    .. math:: s_w \le e^t m, \qquad e^{-t} m \le s_w, \qquad s_w = \sum_x \frac{p(w|x)}{p(w)} r(x)
    """

    measure = staticmethod(delta_disclosure)

    def __init__(self, problem: Problem, risk: float) -> None:
        super().__init__(problem, risk)
        ratios = self.ratios
        self.matrix = np.vstack([ratios - math.exp(risk), math.exp(-risk) - ratios])
        self.count = self.matrix.shape[0]

    def prices(self, problem: Problem, multipliers: Multipliers) -> Prices:
        """Return what the weights of both sides prove."""
        high, low = np.split(multipliers.weights, 2)
        base = self._base(problem, high - low, high + low)
        sums = high.sum(axis=0), low.sum(axis=0)
        return Prices(problem.key, base, *sums, np.zeros_like(sums[0]), problem.sizes[1])


class Leakage(_Linear):
    r"""Maximal leakage: the sum over c of the largest p(c|w) is at most e^t.

    .. math:: s_w \le h, \qquad \sum_c h_c = e^t

    with a variable h more a column. The sum is convex, its logarithm is not.
    """

    measure = staticmethod(maximal_leakage)

    def __init__(self, problem: Problem, risk: float) -> None:
        super().__init__(problem, risk)
        secrets = problem.sizes[1]
        self.matrix = np.hstack([self.ratios, -np.ones((secrets, 1))])
        self.count = secrets

    def start(self) -> Floats:
        """Return the uniform release, and equal shares of the sum."""
        columns = super().start()
        share = math.exp(self.risk) / columns.shape[1]
        return np.vstack([columns, np.full((1, columns.shape[1]), share)])

    def prices(self, problem: Problem, multipliers: Multipliers) -> Prices:
        """Return what the weights prove, the sum being paid for in common."""
        weights = multipliers.weights
        base = self._base(problem, weights, weights)
        none = np.zeros(weights.shape[1])
        # A column that needs less of the common sum is charged as the dearest one is.
        common = np.full(weights.shape[1], weights.sum(axis=0).max())
        return Prices(problem.key, base, common, none, none, problem.sizes[1])


LIMITS: dict[str, type[Limit]] = {
    "t_closeness": Divergence,
    "delta_disclosure": Ratios,
    "maximal_leakage": Leakage,
}


def joint_of(problem: Problem, rule: Floats) -> JointDistribution:
    """Return p(w,c) of a rule."""
    return JointDistribution(problem.given.T @ (problem.key[:, None] * rule))
