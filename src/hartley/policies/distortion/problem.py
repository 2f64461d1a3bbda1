"""The privacy-distortion problem: its numbers, the cost of a rule and certified lower bounds.

Arrays may be NumPy's or those of another library (PyTorch, CuPy, JAX): everything here uses the
functions that all of them share, so that a problem on a GPU stays there.
"""

from __future__ import annotations

import importlib
import math
from collections import deque
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""An array of NumPy or of another library that offers the same functions."""

FUNCTION_ERROR = 4
"""How far exp and log may be off, in units in the last place."""


def namespace(array: Array) -> Any:  # noqa: ANN401 - a module of arrays
    """Return the module whose functions take an array: NumPy, PyTorch, CuPy, JAX.

    Example:
        >>> namespace(np.zeros(2)) is np
        True
    """
    if isinstance(array, np.ndarray):
        return np
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return importlib.import_module(type(array).__module__.partition(".")[0])


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Minimise distortion plus lambda times what the release tells, in nats.

    .. math:: \min_P \; \sum_{x,c} p(x) P(c|x) d(x,c) + \lambda I(W;C), \qquad W - X - C

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, eq. (3). With r(x,c) = p(x) P(c|x) the cost is
    convex and homogeneous of degree one in r, so that cost = sum of r times its gradient.
    """

    given: Array
    """p(w|x), a row a key value x, a column a confidential value w."""
    key: Array
    """p(x)."""
    secret: Array
    """p(w)."""
    distortion: Array
    """d(x,c), a row a key value, a column a released value c."""
    weight: float
    """Lambda, per nat."""

    @classmethod
    def of(cls, joint: Array, distortion: Array, weight: float) -> Problem:
        """Return the problem of a joint distribution, one row a confidential value."""
        xp = namespace(joint)
        key = xp.sum(joint, axis=0)
        return cls((joint / key).T, key, xp.sum(joint, axis=1), distortion, weight)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of key values, of confidential values and of released values."""
        return self.given.shape[0], self.given.shape[1], self.distortion.shape[1]

    def weighing(self, weight: float) -> Problem:
        """Return the same problem for another lambda."""
        return replace(self, weight=weight)

    def scores(self, mass: Array) -> tuple[Array, Array, Array]:
        """Return ln(p(w|c)/p(w)) of r(x,c), with p(w,c) and p(c)."""
        xp = namespace(mass)
        joint = self.given.T @ mass
        total = xp.sum(mass, axis=0)
        return xp.log(joint / self.secret[:, None]) - xp.log(total), joint, total


@dataclass(frozen=True)
class Value:
    """What a rule costs, in the user's unit of distortion and in nats."""

    distortion: float
    risk: float
    cost: float
    margin: float
    """What rounding can have hidden, at most: the true cost is below cost + margin."""


def evaluate(problem: Problem, rule: Array) -> Value:
    r"""Return the distortion and the risk of a rule p(c|x), whose rows add up to one.

    .. math:: D = \sum_{x,c} p(x) P(c|x) d(x,c), \qquad
              R = \sum_{w,c} p(w,c) \ln\frac{p(w,c)}{p(w)\,p(c)}

    The margin is the first-order bound of the rounding error of every sum, product and logarithm,
    doubled.
    """
    xp = namespace(rule)
    mass = rule * problem.key[:, None]
    joint = problem.given.T @ mass
    logs = _log_ratios(problem, joint)
    distortion = float(xp.sum(mass * problem.distortion))
    risk = max(float(xp.sum(joint * logs)), 0.0)
    # A term u ln(u/(p m)) errs by a few units of |u| (3 + |ln|): the logarithm is of a quotient
    # that is off by three roundings itself, and the product rounds once more. Sums add one a term.
    spread = float(xp.sum(joint * (3 + xp.abs(logs))))
    epsilon = float(xp.finfo(rule.dtype).eps)
    margin = epsilon * (sum(problem.sizes) + 16) * (distortion + problem.weight * spread)
    return Value(distortion, risk, distortion + problem.weight * risk, margin)


def risk_of(problem: Problem, joint: Array) -> float:
    """Return I(W;C) in nats of joint masses p(w,c)."""
    return max(float(namespace(joint).sum(joint * _log_ratios(problem, joint))), 0.0)


def riskless_bound(problem: Problem, prices: Array) -> float:
    r"""Return a distortion that no rule without any risk is below; it holds for any prices.

    .. math:: D \ge \sum_x p(x) \min_c \Big[ d(x,c) + \sum_w (p(w|x) - p(w))\, \eta_w(c) \Big]

    Where p(w,c) = p(w) p(c), the prices add nothing on average: the dual of a linear programme.
    Rounded downward as ``lower_bound`` is.
    """
    xp = namespace(prices)
    means = problem.secret @ prices
    values = problem.distortion + problem.given @ prices - means
    sizes = problem.given @ xp.abs(prices) + problem.secret @ xp.abs(prices)
    epsilon = float(xp.finfo(prices.dtype).eps) * (2 * sum(problem.sizes) + 8)
    # Outward: the error of every entry is taken off before the minimum, since the entry that is
    # least after rounding need not be the one that is least in truth.
    least = xp.amin(values - epsilon * (sizes + problem.distortion), axis=1)
    spread = float(xp.sum(problem.key * xp.abs(least)))
    return float(xp.sum(problem.key * least)) - epsilon * spread


def _log_ratios(problem: Problem, joint: Array) -> Array:
    """Return ln(p(w,c) / (p(w) p(c))), zero where the pair never occurs."""
    xp = namespace(joint)
    occurs, ones = joint > 0, xp.ones_like(joint)
    total = xp.where(occurs, ones * xp.sum(joint, axis=0), ones)
    # One after the other, since the product of two rare ones can be zero.
    return xp.log(xp.where(occurs, joint / problem.secret[:, None], ones) / total)


def slack_values(problem: Problem, scores: Array) -> tuple[Array, Array]:
    """Return d + lambda (sum_w p(w|x) y(w,c) - ln sum_w p(w) e^y(w,c)), and its rounding error."""
    xp = namespace(scores)
    keys, secrets, _ = problem.sizes
    # The largest score is taken out, so that no exponential overflows and the largest is one: then
    # the sum is at least p(w) of that score, and its logarithm loses no digits.
    top = xp.amax(scores, axis=0)
    parts = problem.secret[:, None] * xp.exp(scores - top)
    total = xp.sum(parts, axis=0)
    norm = top + xp.log(total)
    values = problem.distortion + problem.weight * (problem.given @ scores - norm)
    epsilon = float(xp.finfo(scores.dtype).eps)
    sizes = problem.given @ xp.abs(scores)
    # An error e of y - top turns e^(y - top) by the factor 1 + e: in the logarithm of the sum it
    # counts with the share of that term.
    shares = xp.sum(parts * (top - scores), axis=0) / total
    norm_error = keys + secrets + 4 * FUNCTION_ERROR + shares + 2 * xp.abs(top) + xp.abs(norm)
    error = (2 * secrets + 8) * sizes + norm_error + 4 * xp.abs(norm)
    return values, epsilon * (problem.weight * error + 4 * problem.distortion)


def lower_bound(problem: Problem, scores: Array) -> float:
    r"""Return a number that no rule's cost is below; it holds for any scores.

    .. math:: C^\star \ge \sum_x p(x) \min_c \Big[ d(x,c)
              + \lambda \sum_w p(w|x)\, y_w(c) - \lambda \ln \sum_w p(w) e^{y_w(c)} \Big]

    The Lagrange dual of the problem: y = ln s for any s >= 0, divided by its mean so that
    sum_w p(w) s_w(c) = 1. Holds for any finite y, of live and of dead released values alike. In
    floating point the error bound of every entry (first order, doubled) is subtracted before the
    minimum, and that of the outer sum after it, so that rounding never lifts the bound above the
    truth. Two products of matrices.

    Example:
        >>> toy = Problem.of(np.eye(2) / 2, 1 - np.eye(2), 10.0)
        >>> -1e-12 < lower_bound(toy, np.zeros((2, 2))) <= 0
        True
    """
    xp = namespace(scores)
    values, error = slack_values(problem, scores)
    least = xp.amin(values - error, axis=1)
    bound = float(xp.sum(problem.key * least))
    spread = float(xp.sum(problem.key * xp.abs(least)))
    epsilon = float(xp.finfo(scores.dtype).eps)
    return (
        bound - epsilon * (sum(problem.sizes) + 8) * spread if math.isfinite(bound) else -math.inf
    )


@dataclass
class Incumbent:
    """The best rule and the best scores of a method so far, each with its proof."""

    scores: Array
    rule: Array = None
    cost: float = math.inf
    """No less than the true cost of the rule."""
    bound: float = -math.inf
    """No more than the least cost of all."""
    steps: int = 0

    @property
    def gap(self) -> float:
        """The certified distance from the optimum."""
        return self.cost - self.bound

    def absorb(self, other: Incumbent) -> None:
        """Take over the rule and the scores of another run where they are better."""
        if self.rule is None or other.cost < self.cost:
            self.rule, self.cost = other.rule, other.cost
        if other.bound > self.bound:
            self.scores, self.bound = other.scores, other.bound
        self.steps += other.steps

    def try_rule(self, problem: Problem, rule: Array) -> None:
        """Keep a rule if it costs less."""
        value = evaluate(problem, rule)
        if self.rule is None or value.cost + value.margin < self.cost:
            self.rule, self.cost = rule, value.cost + value.margin

    def try_scores(self, problem: Problem, value: Array, candidates: tuple[Array, ...]) -> None:
        """Keep scores if they prove more: a released value at a time, then all together.

        Of each column those are taken whose least slack above the multipliers v(x) is largest,
        the scores kept so far among them.
        """
        xp = namespace(value)
        best, proved = self.scores, None
        for scores in (self.scores, *candidates):
            least = xp.amin(slack_values(problem, scores)[0] - value[:, None], axis=0)
            least = xp.where(xp.isfinite(least), least, xp.zeros_like(least) - math.inf)
            if proved is None:
                proved = least
                continue
            better = least > proved
            best, proved = xp.where(better, scores, best), xp.where(better, least, proved)
        # The columns were chosen by numbers that were not rounded outward; the bound is, and it
        # holds for any scores, so that a wrong choice proves less and never too much.
        bound = lower_bound(problem, best)
        if bound > self.bound:
            self.scores, self.bound = best, bound


class Progress:
    """Tell whether a method still improves, by its gaps over several steps together.

    Steps are not judged one by one: a method that closes a tenth of its gap with every step, as
    interior points do on hard problems, would count as stalled.

    Example:
        >>> progress = Progress(patience=2)
        >>> [progress.stalled(gap) for gap in (1.0, 0.9, 0.75, 0.74, 0.73)]
        [False, False, False, True, True]
    """

    LEAST = 0.2
    """The share of the gap that so many steps must close."""

    def __init__(self, patience: int) -> None:
        self._gaps: deque[float] = deque(maxlen=patience + 1)

    def stalled(self, gap: float) -> bool:
        """Note the gap after a step; true if it hardly fell since as many steps as patience."""
        self._gaps.append(gap)
        before = self._gaps[0] if len(self._gaps) == self._gaps.maxlen else math.inf
        return math.isfinite(before) and not gap < (1 - self.LEAST) * before


def normalised(rule: Array) -> Array:
    """Return a rule whose rows add up to one, without negative entries."""
    xp = namespace(rule)
    rule = xp.where(rule > 0, rule, 0.0 * rule)
    return rule / xp.sum(rule, axis=1)[:, None]
