"""What it means that the worst case keeps to a limit: the constraints of each objective.

All limits t are in nats. Every objective constrains the columns r(.,c) = p(c) p(.|c) of the joint
masses of key and release, each by the same convex functions, homogeneous of degree one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hartley.measures.closeness import delta_disclosure, t_closeness
from hartley.measures.maximal import maximal_leakage
from hartley.policies.tradeoff.prices import EPSILON, Prices
from hartley.policies.tradeoff.problem import slack_values
from hartley.ranges.distribution import JointDistribution

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hartley.policies.tradeoff.problem import Problem

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Of the constraints of all columns; of a divergence, with the scores at which it is met."""

    weights: Floats
    scores: Floats | None = None


class Limit(ABC):
    """The constraints g(column) <= 0 of one objective and one limit, and their derivatives."""

    measure: Callable[..., float]
    count: int
    """How many constraints a column has."""

    def __init__(self, problem: Problem, risk: float) -> None:
        self.problem, self.risk = problem, risk

    @abstractmethod
    def start(self) -> Floats:
        """Return columns strictly within the limit: a release that ignores the key."""

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


def _uniform(problem: Problem) -> Floats:
    keys, _, released = problem.sizes
    return np.tile(problem.key[:, None] / released, (1, released)).reshape(keys, released)


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
        self._told: Floats | None = None
        self._kept: Multipliers | None = None

    def start(self) -> Floats:
        """Return the uniform release."""
        return _uniform(self.problem)

    def values(self, columns: Floats) -> Floats:
        """Return the divergences, times p(c), less what is allowed."""
        self._own, self._joint, self._total = self.problem.scores(columns)
        self._gradient = self.problem.given @ self._own - self.risk
        found: Floats = (self._joint * self._own).sum(axis=0) - self.risk * self._total
        return found[None]

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
        told = self._own if self._told is None else self._told / weights
        candidates = [Multipliers(weights, told), Multipliers(weights, self._own)]
        if self._kept is not None:
            candidates.append(self._kept)
        best, proved = candidates[0], np.full(weights.shape[1], -np.inf)
        for some in candidates:
            prices = self.prices(self.problem, some)
            least = (prices.base - prices.paid(self.risk)[0] - values[:, None]).min(axis=0)
            better = np.where(np.isfinite(least), least, -np.inf) > proved
            assert some.scores is not None
            assert best.scores is not None
            best = Multipliers(
                np.where(better, some.weights, best.weights),
                np.where(better, some.scores, best.scores),
            )
            proved = np.where(better, least, proved)
        self._kept = best
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
        told = weights * self._own if self._told is None else self._told
        turned = self.problem.given.T @ steps / self._joint - steps.sum(axis=0) / self._total
        aim = self._own * (weights + change) + weights * turned
        self._told = told + share * (aim - told)


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

    def start(self) -> Floats:
        """Return the uniform release."""
        return _uniform(self.problem)

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
        columns = _uniform(self.problem)
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
