"""Rules whose releases are independent of the secret: the best one, and a correction of others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hartley.policies.distortion.problem import normalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.policies.distortion.problem import Problem

    Floats = NDArray[np.float64]

NOTHING = 1e-11
"""How far p(w|x) / p(w) can be from 1, and p(c) from 0, by rounding alone."""
NEARLY_NOTHING = 1e-9
"""How far p(w|c) / p(w) may be from 1 in a solver's rule that counts as independent."""
RARE = 1e-6
"""Released values that are rarer than this are dropped and not mended."""
LARGEST_PROGRAMME = 40_000
"""Key values times released values up to which the linear programme is solved."""


def dependence(problem: Problem, rounding: float = NOTHING) -> Floats:
    """Return p(w|x) / p(w) - 1, a row a confidential value, zero where that is rounding.

    Example:
        >>> from hartley.policies.distortion.problem import Problem
        >>> dependence(Problem.of(np.array([[0.2, 0.3], [0.2, 0.3]]), np.eye(2), 1.0)).any()
        np.False_
    """
    excess = (problem.given / problem.secret).T - 1
    return np.where(np.abs(excess) > rounding, excess, 0.0)


def independent_rule(problem: Problem) -> tuple[Floats | None, Floats]:
    """Return the rule of least distortion whose releases are independent of the secret.

    A linear programme: p(w,c) = p(w) p(c) for every pair, sum_c P(c|x) = 1. The prices of the
    first equations, returned with it, prove that it is best. Each equation is divided by its
    largest coefficient, since the solver takes the small ones of a rare confidential value for
    zero. Returns None for the rule if the solver fails or its rule still tells something.
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
    rule = _without_rare(problem, normalised(solved.x.reshape(released, keys).T), NOTHING)
    return rule if rule is not None and _tells_nothing(problem, rule) else None, prices


def mended_rule(problem: Problem, rule: Floats) -> Floats | None:
    r"""Return a rule near one that tells little, whose releases are independent of the secret.

    .. math:: P'(c|x) = (1 - t) P(c|x) + p(c) \bigl(t + (1 - t) \, k_c \cdot g(x)\bigr), \quad
              g_w(x) = p(w|x) / p(w) - 1

    with the k of every released value that removes the dependence, and the least t for which
    nothing is negative. Returns None where that fails. |X| |C| |W| operations.

    Example:
        >>> from hartley.policies.distortion.problem import Problem
        >>> joint = np.array([[0.2, 0.1, 0.2], [0.1, 0.3, 0.1]])
        >>> nearly = np.array([[0.5, 0.5], [0.55, 0.45], [0.5, 0.5]])
        >>> mended_rule(Problem.of(joint, np.ones((3, 2)), 1.0), nearly).round(2).tolist()
        [[0.52, 0.48], [0.52, 0.48], [0.52, 0.48]]
    """
    thin = _without_rare(problem, rule, RARE)
    if thin is None:
        return None
    total = problem.key @ thin
    live = total > 0
    excess = (problem.given / problem.secret).T - 1
    spread = excess * problem.key
    # C is independent of W if sum_x p(x) g(x) P'(c|x) = 0 for every c. Since sum_x p(x) g(x) = 0,
    # that leaves the normal equations for k; the pseudo-inverse takes the smallest solution.
    mends = np.linalg.pinv(spread @ excess.T, rcond=1e-12) @ (spread @ thin[:, live]) / total[live]
    tilt = -(excess.T @ mends)
    # (1 - t) (P / p(c) + tilt) + t >= 0 needs t / (1 - t) of at least this.
    short = max(float((-tilt - thin[:, live] / total[live]).max()), 0.0) * (1 + 1e-9)
    share = short / (1 + short)
    mended = np.zeros_like(thin)
    mended[:, live] = (1 - share) * thin[:, live] + total[live] * (share + (1 - share) * tilt)
    mended = normalised(np.maximum(mended, 0.0))
    return mended if _tells_nothing(problem, mended) else None


def _without_rare(problem: Problem, rule: Floats, rare: float) -> Floats | None:
    """Drop rarer released values; None if a key value would lose more than half of its releases."""
    live = problem.key @ rule > rare
    if rule[:, live].sum(axis=1).min() < 0.5:
        return None
    thinner: Floats = normalised(np.where(live, rule, 0.0))
    return thinner


def _tells_nothing(problem: Problem, rule: Floats) -> bool:
    """Tell whether the releases of a rule are independent of the secret, up to a solver's error."""
    mass = (rule * problem.key[:, None]).T
    mass = mass[mass.any(axis=1)]
    release = replace(problem, given=mass / mass.sum(axis=1, keepdims=True) @ problem.given)
    return not dependence(release, NEARLY_NOTHING).any()
