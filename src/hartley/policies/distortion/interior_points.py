"""The rule of least distortion within a worst-case limit, by primal-dual interior points."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hartley.policies.distortion.newton_blocks import RIDGES, Blocks, one_blas_thread, reach
from hartley.policies.distortion.problem import Progress, normalised
from hartley.policies.distortion.second_order import NEAR, PATHS, path_weights
from hartley.policies.distortion.worst_case_limits import joint_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.policies.distortion.problem import Problem
    from hartley.policies.distortion.worst_case_limits import Limit, Multipliers

    Floats = NDArray[np.float64]

LARGEST_RISK = 40.0
"""A limit of more nats than this is no limit: e^-40 of the distortion is at stake."""
ALIKE = 1e-9
"""The halving of risks ends at this difference, relative to the larger of them and 1."""
MOST_HALVINGS = 40
MOST_STEPS = 90
PATIENCE = 16
"""After so many steps that hardly close the gap, rounding is taken to prevent more."""
ENOUGH = 4
"""Callers ask for a quarter of the gap that they need: up to so many times that, no other path is
followed."""
DEAD = (1e-11, 1e-9, 1e-7, 1e-5)
"""Released values that occur less often than one of these are left out of a rule."""


@dataclass
class Inside:
    """The best rule and the best multipliers found so far for one limit."""

    rule: Floats
    distortion: float = math.inf
    multipliers: Multipliers | None = None
    bound: float = -math.inf
    steps: int = 0

    @property
    def gap(self) -> float:
        """The largest possible distance of the rule from the least distortion."""
        return self.distortion - self.bound

    def absorb(self, other: Inside) -> None:
        """Take over the rule and the multipliers of another path where they are better."""
        if other.distortion < self.distortion:
            self.rule, self.distortion = other.rule, other.distortion
        if other.bound > self.bound:
            self.multipliers, self.bound = other.multipliers, other.bound
        self.steps += other.steps


@dataclass
class _InteriorState:
    """Columns with their multipliers v, z(x,c) of r >= 0, and weights and slacks of the limit."""

    columns: Floats
    value: Floats
    bonds: Floats
    """z(x,c), the multipliers of r(x,c) >= 0."""
    weights: Floats
    slack: Floats

    def moved(self, step: _InteriorState, primal: float, dual: float) -> _InteriorState:
        return _InteriorState(
            self.columns + primal * step.columns,
            self.value + dual * step.value,
            self.bonds + dual * step.bonds,
            self.weights + dual * step.weights,
            self.slack + primal * step.slack,
        )

    @property
    def products(self) -> tuple[Floats, Floats]:
        """The products that the path keeps in proportion: r z, and weights times slack."""
        return self.columns[: self.bonds.shape[0]] * self.bonds, self.weights * self.slack


def solve_inside(problem: Problem, limit: Limit, *, tolerance: float) -> Inside:
    r"""Follow the central path to the rule of least distortion within a limit.

    .. math:: \min \sum_{x,c} r(x,c)\, d(x,c) \quad\text{s.t.}\quad \sum_c r(x,c) = p(x), \;
              g(r(\cdot,c)) \le 0 \;\text{for all } c

    A convex programme whose Newton matrix is block-diagonal over the released values: a step takes
    |C| |X|^2 (|X| + |W|) operations, and some 30 steps close the gap. Every step tries its
    multipliers as prices and its columns, repaired, as a rule.
    """
    best: Inside | None = None
    for power in PATHS:
        # A limit remembers where its path is, so each path has its own.
        solution = _follow(problem, type(limit)(problem, limit.risk), power, tolerance)
        if best is None:
            best = solution
        else:
            best.absorb(solution)
        if best.gap <= ENOUGH * tolerance:
            break
    assert best is not None
    return best


def _follow(problem: Problem, limit: Limit, power: float, tolerance: float) -> Inside:
    """Follow one path until the gap is closed or rounding stops the method."""
    weights, progress = path_weights(problem, power)[:, None], Progress(PATIENCE)
    state = _begin(limit, weights)
    best = Inside(normalised(state.columns[: problem.sizes[0]]))
    with one_blas_thread(), np.errstate(all="ignore"):
        for _ in range(MOST_STEPS):
            _record(problem, limit, state, best)
            if best.gap <= tolerance or progress.stalled(best.gap):
                break
            try:
                following = _advance(problem, limit, state, weights)
            except np.linalg.LinAlgError:
                break
            if following is None:
                break
            state = following
            best.steps += 1
    return best


def _begin(limit: Limit, path: Floats) -> _InteriorState:
    """Return a point inside: a release that ignores the key, on the path for mu = 1."""
    columns = limit.start()
    keys = path.size
    slack = -limit.values(columns)
    return _InteriorState(
        columns,
        np.zeros(columns.shape[0]),
        path / columns[:keys],
        1 / (keys * slack),
        slack,
    )


def _record(problem: Problem, limit: Limit, state: _InteriorState, best: Inside) -> None:
    """Keep the multipliers if they prove more, the repaired columns if they distort less."""
    limit.values(state.columns)
    keys = problem.sizes[0]
    multipliers = limit.multipliers(state.weights, state.value[:keys])
    bound = limit.prices(problem, multipliers).bound(limit.risk)
    if bound > best.bound:
        best.bound, best.multipliers = bound, multipliers
    whole = normalised(state.columns[:keys])
    for dead in DEAD:
        rule = repaired(problem, limit, whole, dead)
        distortion = distortion_of(problem, rule)
        if distortion < best.distortion:
            best.distortion, best.rule = distortion, rule


def repaired(problem: Problem, limit: Limit, rule: Floats, dead: float) -> Floats:
    """Drop released values that nearly never occur and bring the rest exactly within the limit.

    Mixing in a release that ignores the key, with the same frequencies, moves every p(w|c) the
    same share of the way towards p(w). By convexity a share of 1 - (e^t - 1)/(e^R - 1) turns a
    risk R into t or less, for every objective.
    """
    total = problem.key @ rule
    thinner = np.where(total > dead, rule, 0.0)
    if thinner.sum(axis=1).min() > 0.5:
        rule = np.asarray(normalised(thinner))
    risk = limit.measure(joint_of(problem, rule), base=math.e)
    if risk <= limit.risk:
        return rule
    # A little less than the formula, so that rounding leaves the mixture within the limit. Beyond
    # 700 nats the exponential overflows, and the share of the rule is zero.
    share = math.expm1(limit.risk) / math.expm1(risk) * (1 - 1e-13) if risk < 700 else 0.0
    return np.asarray(share * rule + (1 - share) * (problem.key @ rule))


def distortion_of(problem: Problem, rule: Floats) -> float:
    """Return the mean distortion of a rule."""
    return float(problem.key @ (rule * problem.distortion).sum(axis=1))


def least_within(
    problem: Problem, kind: type[Limit], allowed: NDArray[np.bool_]
) -> tuple[Floats, float]:
    """Return a rule of least risk with allowed releases only, and a certified bound on its risk.

    Where a key value has several allowed releases, halving finds the least limit in nats at which
    the share of all other releases can be zero: a problem whose distortion is that share.
    """
    best: Floats = normalised(allowed.astype(np.float64))
    high = kind.measure(joint_of(problem, best), base=math.e)
    if (allowed.sum(axis=1) == 1).all():
        return best, high
    strict = replace(problem, distortion=np.where(allowed, 0.0, 1.0))
    low = 0.0
    for _ in range(MOST_HALVINGS):
        tried = (low + high) / 2 if math.isfinite(high) else max(2 * low, 1.0)
        if high - low <= ALIKE * max(1.0, low) or tried > LARGEST_RISK:
            break
        limit = kind(strict, tried)
        solution = solve_inside(strict, limit, tolerance=1e-11)
        assert solution.multipliers is not None
        permitted = np.where(allowed, solution.rule, 0.0)
        if permitted.sum(axis=1).min() > 0:
            rule = normalised(permitted)
            risk = kind.measure(joint_of(problem, rule), base=math.e)
            best, high = (rule, risk) if risk < high else (best, high)
        # Prices prove below which risk the share of other releases cannot be zero. That the solver
        # has not found a rule would prove nothing.
        proved = limit.prices(strict, solution.multipliers).least_risk(0.0, tried)
        low = max(low, min(proved, high))
    return best, low


class _InteriorNewton:
    """The factored Newton matrix at a point, the constraints linearised there."""

    def __init__(self, problem: Problem, limit: Limit, state: _InteriorState) -> None:
        self.limit, self.state, self.keys = limit, state, problem.sizes[0]
        # How far the point is from g + slack = 0, from a gradient of zero and from the sums over
        # c. The start satisfies these sums, so its own are their right-hand sides.
        self.excess = limit.values(state.columns) + state.slack
        pulled = limit.pulled(state.weights) - state.value[:, None]
        pulled[: self.keys] += problem.distortion - state.bonds
        self.residual = pulled
        self.missing = limit.start().sum(axis=1) - state.columns.sum(axis=1)
        self.blocks = Blocks(
            state.columns,
            state.products[0],
            lambda c: limit.rows(c, state.weights, state.slack),
            ridges=RIDGES,
        )

    def direction(self, bonds: Floats | float, weights: Floats | float) -> _InteriorState:
        """Return the step towards r z = bonds and weights * slack = weights."""
        state, keys, limit = self.state, self.keys, self.limit
        short, loose = bonds - state.products[0], weights - state.products[1]
        right = -self.residual - limit.pulled((loose + state.weights * self.excess) / state.slack)
        right = right * state.columns
        right[:keys] += short
        # As in ``second_order``: the blocks are eliminated first, and the sums over c remain.
        free = self.blocks.solve(right)
        value = np.linalg.solve(self.blocks.schur, self.missing - free.sum(axis=1))
        columns = free + self.blocks.solve(state.columns * value[:, None])
        slack = -self.excess - limit.pushed(columns)
        return _InteriorState(
            columns,
            value,
            (short - state.bonds * columns[:keys]) / state.columns[:keys],
            (loose - state.weights * slack) / state.slack,
            slack,
        )


def _advance(
    problem: Problem, limit: Limit, state: _InteriorState, weights: Floats
) -> _InteriorState | None:
    """Take one predictor-corrector step (Mehrotra 1992); None where rounding leaves the inside."""
    newton = _InteriorNewton(problem, limit, state)
    keys, _, released = problem.sizes
    share = 1 / keys
    sums = [float(product.sum()) for product in state.products]
    mean = sum(sums) / (released * (1 + share * limit.count))
    # Predictor and corrector as in ``second_order``, for two kinds of products: r z, and the
    # weights of the limit times its slacks, of which each key value has its share.
    ahead = newton.direction(0.0, 0.0)
    short = min(1.0, *_reaches(state, ahead))
    tried = state.moved(ahead, short, short)
    remaining = sum(float(product.sum()) for product in tried.products) / sum(sums)
    centre = min(max(remaining**2, 0.01), 0.5)
    step = newton.direction(
        centre * mean * weights - short**2 * ahead.columns[:keys] * ahead.bonds,
        centre * mean * share - short**2 * ahead.weights * ahead.slack,
    )
    primal, dual = (min(1.0, NEAR * far) for far in _reaches(state, step))
    if limit.count == 1:  # curved constraints: both together, or their products drift apart
        primal = dual = min(primal, dual)
    limit.advance(dual, step.columns, state.weights, step.weights)
    following = state.moved(step, primal, dual)
    sides = following.columns, following.bonds, following.weights, following.slack
    return following if all(np.isfinite(side).all() and side.min() > 0 for side in sides) else None


def _reaches(state: _InteriorState, step: _InteriorState) -> tuple[float, float]:
    """Return how far a step can go, on the primal and on the dual side."""
    return (
        min(reach(state.columns, step.columns), reach(state.slack, step.slack)),
        min(reach(state.bonds, step.bonds), reach(state.weights, step.weights)),
    )
