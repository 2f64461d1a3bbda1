"""A first-order method for large alphabets: accelerated multiplicative updates, on any arrays.

Written once against the functions that NumPy, PyTorch, CuPy and JAX share: given tensors on a
GPU, everything is computed there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.policies.distortion.problem import (
    Array,
    Incumbent,
    Problem,
    lower_bound,
    namespace,
    normalised,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST_LOG = -600
"""A probability never falls below this power of e, so that its logarithm exists."""
CHECK_EVERY = 20
LEAST_GAIN, MOST_GAIN = 0.1, 1e3
MOST_STEPS = 3000


@dataclass
class _Run:
    """The state of the method: the answer, the mirror point, and p(w,c) of both."""

    answer: Array
    joint: Array
    """p(w,c) of the answer."""
    logs: Array
    """Logarithms of the mirror point."""
    mirror: Array
    """p(w,c) of the mirror point."""
    cost: float = math.inf
    theta: float = 1.0
    scores: Array | None = None
    """Sum of the scores seen, weighed as the steps are."""
    weight: float = 0.0


def solve_first(  # noqa: PLR0913 - each is one choice of the caller's
    problem: Problem,
    *,
    tolerance: float,
    rule: Array | None = None,
    scores: Array | None = None,
    most: int = MOST_STEPS,
    stop: Callable[[int, float], bool] | None = None,
) -> Incumbent:
    r"""Repeat accelerated multiplicative updates until the gap is certified.

    .. math:: y = (1-\theta) x + \theta z, \quad z \leftarrow z\, e^{-G(y)/(\theta \gamma \lambda)}
              \big/ Z(x), \quad x \leftarrow (1-\theta) x + \theta z

    with G(x,c) = d + lambda sum_w p(w|x) ln(p(w|c)/p(w)); theta = gamma = 1 is the monotone update
    of Blahut and Arimoto. The cost is smooth relative to the entropy of the rule with factor lambda
    (data processing), so the accelerated steps of Hanzely, Richtarik and Xiao 2021 apply: gamma is
    raised where the inequality that their proof needs fails, and theta starts anew where the cost
    rises. The average of the scores, weighed by 1/theta, is a point of the dual problem and proves
    the gap. Two products of matrices a step.

    Args:
        problem: in arrays of any library.
        tolerance: the gap to reach.
        rule: p(c|x) to start from; uniform if left out.
        scores: a point of the dual problem to start from.
        most: steps.
        stop: called now and then with the number of steps and the gap; returns true to stop.
    """
    run = _begin(problem, rule)
    best = Incumbent(_scores(problem, run.joint) if scores is None else scores)
    best.bound = lower_bound(problem, best.scores)
    best.try_rule(problem, normalised(run.answer))
    gain = 1.0
    while best.steps < most and best.gap > tolerance:
        best.steps += 1
        value, gain, rose = _step(problem, run, gain)
        if rose or best.steps % CHECK_EVERY == 0:
            assert run.scores is not None
            best.try_rule(problem, normalised(run.answer))
            best.try_scores(problem, value, (run.scores / run.weight, _scores(problem, run.joint)))
            if stop is not None and stop(best.steps, best.gap):
                break
        if rose:
            run = _begin(problem, run.answer)
    return best


def _begin(problem: Problem, rule: Array | None) -> _Run:
    xp = namespace(problem.given)
    if rule is None:
        rule = xp.ones_like(problem.distortion) / problem.sizes[2]
    rule = normalised(xp.clip(rule, math.exp(LEAST_LOG), 1))
    joint = problem.given.T @ (problem.key[:, None] * rule)
    return _Run(rule, joint, xp.log(rule), joint)


def _scores(problem: Problem, joint: Array) -> Array:
    """Return ln(p(w|c)/p(w))."""
    xp = namespace(joint)
    return xp.log(joint / problem.secret[:, None]) - xp.log(xp.sum(joint, axis=0))


def _step(problem: Problem, run: _Run, gain: float) -> tuple[Array, float, bool]:
    """Take one step; return multipliers v(x), the next factor, and whether the cost rose."""
    xp = namespace(run.answer)
    theta, key = run.theta, problem.key[:, None]
    scores = _scores(problem, (1 - theta) * run.joint + theta * run.mirror)
    gradient = problem.distortion + problem.weight * (problem.given @ scores)
    run.scores = scores / theta if run.scores is None else run.scores + scores / theta
    run.weight += 1 / theta
    value = xp.sum(run.answer * gradient, axis=1)
    while True:
        # The mirror step: z e^(-G / (theta gamma lambda)) / Z, in logarithms, so that a probability
        # that is nearly zero keeps its digits and can grow again.
        logs = run.logs - gradient / (theta * gain * problem.weight)
        logs = logs - xp.amax(logs, axis=1)[:, None]
        moved = xp.exp(xp.clip(logs, LEAST_LOG, 0))
        total = xp.sum(moved, axis=1)[:, None]
        moved, logs = moved / total, logs - xp.log(total)
        mirror = problem.given.T @ (key * moved)
        answer = (1 - theta) * run.answer + theta * moved
        joint = (1 - theta) * run.joint + theta * mirror
        mass = key * answer
        cost = float(xp.sum(mass * problem.distortion)) + problem.weight * float(
            xp.sum(joint * _scores(problem, joint))
        )
        # The inequality that the proof of Hanzely, Richtarik and Xiao needs at this step: the cost
        # lies below its linear model plus gamma lambda theta^2 times the divergence of the step.
        # The model is sum of r times G alone, since the cost is homogeneous of degree one.
        model = float(xp.sum(mass * gradient))
        distance = float(xp.sum(key * moved * (logs - run.logs)))
        allowed = model + gain * problem.weight * theta**2 * distance
        if cost <= allowed + 1e-15 * abs(allowed) or gain > MOST_GAIN:
            break
        gain *= 1.3
    # Accelerated steps may overshoot; then the caller starts anew from the last answer (restart).
    rose = theta < 1 and cost > run.cost
    if not rose:
        run.answer, run.joint, run.logs, run.mirror, run.cost = answer, joint, logs, mirror, cost
        # The root of theta'^2 = theta^2 (1 - theta'), as for Nesterov's method.
        run.theta = theta * (math.sqrt(theta**2 + 4) - theta) / 2
    return value, max(LEAST_GAIN, 0.98 * gain), rose
