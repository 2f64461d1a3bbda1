"""Interior points and second-order steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.policies.distortion.problem import Incumbent, Problem, Progress, normalised
from hartley.policies.distortion.worst_case_limits import joint_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray
    from threadpoolctl import ThreadpoolController

    from hartley.policies.distortion.worst_case_limits import Limit, Multipliers

    Floats = NDArray[np.float64]


# --- newton blocks --------------------------------------------------------------------------------
# The Newton matrices of the interior-point methods: one block a released value.


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit the BLAS of NumPy and SciPy to one thread, and restore the number afterwards.

    Factors of matrices of a few hundred rows take microseconds, and threads spend more than that
    waiting for each other: ten times and more on a busy machine. The setting holds for the whole
    process.
    """
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limited


@cache  # looking for the libraries takes 4 ms
def _libraries() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - loads the BLAS of SciPy
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


RIDGES = (0.0, 1e-15, 1e-13, 1e-11, 1e-9)
"""Shares by which a diagonal grows until the block has a factor."""


class Blocks:
    r"""Factored blocks M_c = s (F'F) s + D of all released values, and the sum of their inverses.

    .. math:: S = \sum_c s_c M_c^{-1} s_c

    A block is a sum of squares plus a diagonal, scaled by the variables s themselves, so that
    nothing cancels even where some of them are nearly zero. |C| N^2 (N + rows) operations.
    """

    def __init__(
        self,
        scale: Floats,
        diagonal: Floats,
        rows: Callable[[int], Floats],
        *,
        ridges: tuple[float, ...] = RIDGES[:1],
    ) -> None:
        from scipy.linalg.blas import dsyrk
        from scipy.linalg.lapack import dpotri

        self.scale = scale
        size, released = scale.shape
        self.factors = np.empty((released, size, size))
        schur = np.zeros((size, size))
        first = np.arange(diagonal.shape[0])
        for c in range(released):
            column = scale[:, c]
            block = dsyrk(1.0, rows(c) * column, trans=1, lower=1)
            block[first, first] += diagonal[:, c]
            factor = _factor(block, ridges)
            self.factors[c] = factor.T  # transposed: both lie in memory as LAPACK wrote them
            inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
            schur += inverse * column[:, None] * column
        self.schur = np.tril(schur) + np.tril(schur, -1).T

    def solve(self, right: Floats) -> Floats:
        """Return s M^-1 right for the blocks of all released values."""
        from scipy.linalg.lapack import dpotrs

        out = np.empty_like(right)
        for c in range(right.shape[1]):
            out[:, c] = dpotrs(self.factors[c].T, right[:, c], lower=1)[0]
        return out * self.scale


class ThinBlocks:
    r"""The same of all released values at once, where F has few rows and D no zero.

    .. math:: s (F'F) s + D = \sqrt{D} \, (I + Q' \Sigma^2 Q) \sqrt{D}

    by the singular values of F s / sqrt(D), so that nothing of the size of a block is formed. What
    is orthogonal to Q is found twice, since most of a vector may lie along it. |C| N rows
    (N + rows) operations.
    """

    def __init__(self, scale: Floats, diagonal: Floats, rows: Floats) -> None:
        self.root = np.sqrt(diagonal)
        self.weight = scale / self.root
        _, sizes, self.along = np.linalg.svd(rows * self.weight.T[:, None], full_matrices=False)
        self.left = 1 / (1 + sizes**2)
        taken = self.along * (sizes * np.sqrt(self.left))[:, :, None] * self.weight.T[:, None]
        taken = taken.reshape(-1, scale.shape[0])
        self.schur = np.diag((self.weight**2).sum(axis=1)) - taken.T @ taken

    def solve(self, right: Floats) -> Floats:
        """Return s M^-1 right for the blocks of all released values."""
        across = (right / self.root).T[:, :, None]
        parts = np.zeros((*self.along.shape[:2], 1))
        for _ in range(2):
            more = self.along @ across
            across = across - self.along.mT @ more
            parts += more
        solved: Floats = (across + self.along.mT @ (parts * self.left[:, :, None]))[:, :, 0].T
        return solved * self.weight


def _factor(block: Floats, ridges: tuple[float, ...]) -> Floats:
    from scipy.linalg.lapack import dpotrf

    places = np.diag_indices(block.shape[0])
    for ridge in ridges:
        if ridge:
            block[places] *= 1 + ridge
        factor, failed = dpotrf(block, lower=1)
        if not failed:
            return np.asarray(factor)
    raise np.linalg.LinAlgError


def reach(point: Floats, step: Floats) -> float:
    """Return how far a step can go before an entry becomes zero."""
    steepest = float((-step / point).max())
    return 1 / steepest if steepest > 0 else np.inf


# --- second order ---------------------------------------------------------------------------------
# A second-order method for small alphabets: primal-dual interior points, to 1e-12.

MOST_STEPS = 90
PATHS = 0.0, 0.5, 0.25
"""Which paths are followed, one after the other where one stalls (see ``path_weights``)."""
NEAR = 0.97
"""The share of the way to the boundary that a step takes at most."""


@dataclass(frozen=True)
class Start:
    """Where to start: a rule p(c|x), without zeros, and scores, which prove a first bound."""

    rule: Floats
    scores: Floats


@dataclass
class _State:
    """A point inside: masses r(x,c), multipliers v(x), slacks z(x,c) and scores y(w,c)."""

    mass: Floats
    value: Floats
    slack: Floats
    scores: Floats


def solve_second(problem: Problem, *, tolerance: float, start: Start | None = None) -> Incumbent:
    r"""Follow the central path r z = mu down to a certified gap.

    The optimality conditions with masses r(x,c) = p(x) P(c|x), scores y(w,c) and multipliers v(x):

    .. math:: \sum_c r = p, \quad y_w(c) = \ln\frac{\sum_x p(w|x)\, r(x,c)}{p(w) \sum_x r(x,c)},
              \quad z = d + \lambda \sum_w p(w|x) y_w(c) - v \ge 0, \quad r z = 0

    Newton steps on these with r z = sigma mu, the scores as variables of their own: so the slacks
    belong to a point of the dual problem at every step and each iterate proves a bound, also for
    released values that die out. The Hessian is block-diagonal over the released values; a step
    takes |C| |X|^3 operations and |C| |X|^2 memory, with few confidential values |C| |X|^2 |W|
    and |C| |X| |W|.
    """
    state = _begin_second(problem, start)
    best = Incumbent(state.scores)
    for power in PATHS:
        # A path starts far from the optimum: it is judged by its own gaps, not by the best ones.
        with one_blas_thread():
            best.absorb(_follow_second(problem, state, path_weights(problem, power), tolerance))
        if best.gap <= tolerance:
            break
        state = _begin_second(problem, None)
    return best


def is_thin(problem: Problem) -> bool:
    """Tell whether there are so few confidential values that blocks need not be formed."""
    keys, secrets, _ = problem.sizes
    return 4 * secrets <= keys


def work_of_step(problem: Problem) -> tuple[int, int]:
    """Return about how many bytes and operations a step of the second-order method takes."""
    keys, secrets, released = problem.sizes
    items = released * keys * (secrets if is_thin(problem) else keys)
    return (32 if is_thin(problem) else 8) * items, items * (keys + secrets)


def path_weights(problem: Problem, power: float) -> Floats:
    """Return which path to follow, r(x,c) z(x,c) = mu w(x): equal weights but for rare key values.

    The same weight everywhere takes the fewest steps, yet slacks of a key value that nearly never
    occurs would leave the range of doubles; another power is another path, where one fails.
    """
    weights: Floats = np.minimum(1.0, 100 * problem.sizes[0] * problem.key) * problem.key**power
    weights /= weights.sum()
    return weights


def _follow_second(problem: Problem, state: _State, weights: Floats, tolerance: float) -> Incumbent:
    """Follow one path until the gap is closed or rounding stops the method."""
    # After so many steps that hardly close the gap, rounding is taken to prevent more.
    best, progress = Incumbent(state.scores), Progress(20)
    for _ in range(MOST_STEPS):
        with np.errstate(all="ignore"):
            best.try_rule(problem, normalised(state.mass))
            # Each released value takes the scores that prove most for it: those of values that died
            # out stay from the step that settled them, while the live ones still improve.
            scores = problem.scores(state.mass)[0]
            best.try_scores(problem, state.value, (state.scores, scores))
            if best.gap <= tolerance or progress.stalled(best.gap):
                break
            try:
                following = _advance_second(problem, state, weights)
            except np.linalg.LinAlgError:
                break
        if following is None:
            break
        state = following
        best.steps += 1
    return best


def _begin_second(problem: Problem, start: Start | None) -> _State:
    """Return a point inside: the uniform rule, or a given one with its scores."""
    keys, _, released = problem.sizes
    rule = np.full((keys, released), 1 / released) if start is None else start.rule
    mass = problem.key[:, None] * rule
    scores = problem.scores(mass)[0] if start is None else start.scores
    gradient = problem.distortion + problem.weight * (problem.given @ scores)
    # Slacks must begin above zero: v lies below the least gradient of each key value. Of an
    # interpolated start the slacks are nearly right already, so that little room is enough.
    room = 0.1 if start is None else 0.001
    value = gradient.min(axis=1) - room * problem.weight
    return _State(mass, value, gradient - value[:, None], scores)


class _Newton:
    """The factored Newton matrix at a point.

    Scaled by r, the block of a released value is lambda r (A - m) diag(1/u) (A - m)^T r + r z with
    A = p(w|x), u = p(w,c) and m = p(w|c): a sum of squares, without cancellation.
    """

    def __init__(self, problem: Problem, state: _State) -> None:
        self.problem, self.state = problem, state
        self.own, self.joint, self.total = problem.scores(state.mass)
        self.residual = self.own - state.scores
        self.pull = problem.weight * (problem.given @ self.residual)
        products = state.mass * state.slack
        self.blocks: Blocks | ThinBlocks
        # Below that product a root and its inverse lose digits.
        if is_thin(problem) and products.min() > 1e-250:
            self.blocks = ThinBlocks(state.mass, products, self._rows(slice(None)))
        else:
            self.blocks = Blocks(state.mass, products, lambda c: self._rows(slice(c, c + 1))[0])

    def _rows(self, some: slice) -> Floats:
        """Return the rows of the squares of some released values."""
        joint = self.joint[:, some].T[:, :, None]
        spread = self.problem.given.T - joint / self.total[some, None, None]
        spread *= np.sqrt(self.problem.weight / joint)
        return np.asarray(spread)

    def direction(self, target: Floats | float, correction: Floats | float) -> _State:
        """Return the step towards r z = target."""
        state, problem = self.state, self.problem
        aim = target - correction
        # The block of every released value is eliminated first; what is left are the equations
        # sum_c r(x,c) = p(x), one a key value: the Schur complement.
        free = self.blocks.solve(aim - state.mass * (state.slack + self.pull))
        missing = problem.key - state.mass.sum(axis=1) - free.sum(axis=1)
        value = np.linalg.solve(self.blocks.schur, missing)
        mass = free + self.blocks.solve(state.mass * value[:, None])
        scores = problem.given.T @ mass / self.joint - mass.sum(axis=0) / self.total
        slack = aim / state.mass - state.slack - state.slack / state.mass * mass
        return _State(mass, value, slack, scores + self.residual)


def _advance_second(problem: Problem, state: _State, weights: Floats) -> _State | None:
    """Take one predictor-corrector step (Mehrotra 1992); None where rounding leaves the inside."""
    newton = _Newton(problem, state)
    _, _, released = problem.sizes
    mean = float((state.mass * state.slack).sum()) / released
    # Predictor: straight to r z = 0. How far it can go says how much centring the step needs.
    ahead = newton.direction(0.0, 0.0)
    short = min(1.0, reach(state.mass, ahead.mass), reach(state.slack, ahead.slack))
    moved = (state.mass + short * ahead.mass) * (state.slack + short * ahead.slack)
    centre = min(max((float(moved.sum()) / released / mean) ** 2, 0.01), 0.5)
    # Corrector: towards the path at centre * mean, less the product of the predictor's steps, which
    # the linearisation of r z left out.
    step = newton.direction(centre * mean * weights[:, None], short**2 * ahead.mass * ahead.slack)
    primal = min(1.0, NEAR * reach(state.mass, step.mass))
    dual = min(1.0, NEAR * reach(state.slack, step.slack))
    following = _State(
        state.mass + primal * step.mass,
        state.value + dual * step.value,
        state.slack + dual * step.slack,
        state.scores + dual * step.scores,
    )
    inside = min(following.mass.min(), following.slack.min()) > 0
    return following if inside and np.isfinite(following.scores).all() else None


# --- interior points ------------------------------------------------------------------------------
# The rule of least distortion within a worst-case limit, by primal-dual interior points.

LARGEST_RISK = 40.0
"""A limit of more nats than this is no limit: e^-40 of the distortion is at stake."""
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
        if best.gap <= 4 * tolerance:  # callers ask for a quarter of the gap that they need
            break
    assert best is not None
    return best


def _follow(problem: Problem, limit: Limit, power: float, tolerance: float) -> Inside:
    """Follow one path until the gap is closed or rounding stops the method."""
    weights, progress = path_weights(problem, power)[:, None], Progress(16)
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
        columns, np.zeros(columns.shape[0]), path / columns[:keys], 1 / (keys * slack), slack
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
    for _ in range(40):
        tried = (low + high) / 2 if math.isfinite(high) else max(2 * low, 1.0)
        if high - low <= 1e-9 * max(1.0, low) or tried > LARGEST_RISK:
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
