"""The rule of least distortion that tells nothing at all: a linear programme."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hartley.policies.tradeoff.problem import normalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.policies.tradeoff.problem import Problem

    Floats = NDArray[np.float64]

NOTHING = 1e-11
"""How far p(w|x) / p(w) may be from 1, and p(c) from 0, by rounding alone."""
NEARLY_NOTHING = 1e-9
"""How far p(w|c) / p(w) may be from 1 in what a solver finds."""


def dependence(problem: Problem, rounding: float = NOTHING) -> Floats:
    """Return p(w|x) / p(w) - 1, a row a confidential value, zero where that is rounding.

    Example:
        >>> from hartley.policies.tradeoff.problem import Problem
        >>> dependence(Problem.of(np.array([[0.2, 0.3], [0.2, 0.3]]), np.eye(2), 1.0)).any()
        np.False_
    """
    excess = (problem.given / problem.secret).T - 1
    return np.where(np.abs(excess) > rounding, excess, 0.0)


def independent_rule(problem: Problem) -> tuple[Floats | None, Floats]:
    """Return the rule of least distortion whose releases are independent of the secret.

    A linear programme: p(w,c) = p(w) p(c) for every pair, sum_c P(c|x) = 1. The prices of the
    first equations, returned with it, prove it. Each is divided by its largest coefficient, since
    the solver takes those of a rare confidential value for zero. Where the rule it finds tells
    something all the same, or it finds none, there is none.
    """
    from scipy.optimize import linprog
    from scipy.sparse import eye, kron, vstack

    keys, secrets, released = problem.sizes
    centred = problem.key * dependence(problem)
    largest = np.abs(centred).max(axis=1, keepdims=True)
    sizes = np.where(largest > 0, largest, 1.0)
    constraints = vstack(
        [kron(np.ones((1, released)), eye(keys)), kron(eye(released), centred / sizes)],
        format="csr",
    )
    right = np.concatenate([np.ones(keys), np.zeros(secrets * released)])
    costs = (problem.key[:, None] * problem.distortion).T.ravel()
    scale = float(costs.max()) or 1.0  # the solver takes very large costs for infinite ones
    solved = linprog(costs / scale, A_eq=constraints, b_eq=right, method="highs")
    if solved.status != 0:
        return None, np.zeros((secrets, released))
    prices = -scale * solved.eqlin.marginals[keys:].reshape(released, secrets).T
    prices /= sizes * problem.secret[:, None]
    prices -= problem.secret @ prices
    rule: Floats = normalised(solved.x.reshape(released, keys).T)
    live = problem.key @ rule > NOTHING
    if rule[:, live].sum(axis=1).min() < 0.5:
        return None, prices
    rule = normalised(np.where(live, rule, 0.0))
    mass = (rule * problem.key[:, None]).T[live]
    release = replace(problem, given=mass / mass.sum(axis=1, keepdims=True) @ problem.given)
    return None if dependence(release, NEARLY_NOTHING).any() else rule, prices
