"""A second-order method for small alphabets: primal-dual interior points, to 1e-12."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hartley.policies.distortion.newton_blocks import Blocks, ThinBlocks, one_blas_thread, reach
from hartley.policies.distortion.problem import Incumbent, Problem, Progress, normalised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_STEPS = 90
PATIENCE = 20
"""After so many steps that hardly close the gap, rounding is taken to prevent more."""
SMALLEST_PRODUCT = 1e-250
"""Below, a root and its inverse lose digits."""
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
    state = _begin(problem, start)
    best = Incumbent(state.scores)
    for power in PATHS:
        # A path starts far from the optimum: it is judged by its own gaps, not by the best ones.
        with one_blas_thread():
            best.absorb(_follow(problem, state, path_weights(problem, power), tolerance))
        if best.gap <= tolerance:
            break
        state = _begin(problem, None)
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


def _follow(problem: Problem, state: _State, weights: Floats, tolerance: float) -> Incumbent:
    """Follow one path until the gap is closed or rounding stops the method."""
    best, progress = Incumbent(state.scores), Progress(PATIENCE)
    for _ in range(MOST_STEPS):
        with np.errstate(all="ignore"):
            _record(problem, state, best)
            if best.gap <= tolerance or progress.stalled(best.gap):
                break
            try:
                following = _advance(problem, state, weights)
            except np.linalg.LinAlgError:
                break
        if following is None:
            break
        state = following
        best.steps += 1
    return best


def _begin(problem: Problem, start: Start | None) -> _State:
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


def _record(problem: Problem, state: _State, best: Incumbent) -> None:
    """Keep the rule and the scores if they prove more than those before."""
    best.try_rule(problem, normalised(state.mass))
    # Each released value takes the scores that prove most for it: those of values that died out
    # stay from the step that settled them, while the live ones still improve.
    best.try_scores(problem, state.value, (state.scores, problem.scores(state.mass)[0]))


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
        if is_thin(problem) and products.min() > SMALLEST_PRODUCT:
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


def _advance(problem: Problem, state: _State, weights: Floats) -> _State | None:
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
