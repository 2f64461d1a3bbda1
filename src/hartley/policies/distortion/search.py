"""The solver: the best rule for a lambda, for a distortion or for a risk, with a certified gap."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from hartley.policies.distortion.newton import Start, solve_second, work_of_step
from hartley.policies.distortion.problem import (
    LARGEST_PROGRAMME,
    Array,
    Incumbent,
    Problem,
    Progress,
    dependence,
    evaluate,
    independent_rule,
    lower_bound,
    mended_rule,
    namespace,
    normalised,
    risk_of,
    riskless_bound,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]
    Method = Literal["auto", "first", "second"]


# --- coarse start ---------------------------------------------------------------------------------
# A start for a large problem: solve it for some key values and interpolate.


def start_coarse(problem: Problem, points: Floats, *, size: int, tolerance: float = 1e-6) -> Start:
    """Solve for some of the key values and interpolate the answer to all of them.

    The rule is interpolated between the selected key values, and a released value in between takes
    a share of its neighbours' probability. Its scores are the mean of its neighbours' scores, which
    is a point of the dual problem for any weights. All confidential values are used: interpolating
    their scores would lose most of the bound.
    """
    places = spread(points.size, size)
    key = problem.key[places] * stood_for(places)
    small = replace(
        problem,
        given=problem.given[places],
        key=key / key.sum(),
        secret=problem.given[places].T @ key / key.sum(),
        distortion=problem.distortion[np.ix_(places, places)],
    )
    coarse = solve_second(small, tolerance=tolerance)
    at = points[places]
    rule = between(at, between(at, coarse.rule, points).T, points).T
    return Start(normalised(rule), between(at, coarse.scores.T, points).T)


def spread(total: int, size: int) -> Places:
    """Return so many places of a total, evenly spread, both ends among them."""
    return np.unique(np.linspace(0, total - 1, size).round().astype(np.int64))


def stood_for(places: Places) -> Floats:
    """Return how many places each selected one stands for: half of the way to either side.

    An end has one side only. With equal weights the ends would count double, and for few places
    that error would exceed all others together.
    """
    steps = np.diff(places).astype(np.float64)
    return np.asarray((np.append(1.0, steps) + np.append(steps, 1.0)) / 2)


def between(at: Floats, rows: Floats, points: Floats) -> Floats:
    """Interpolate the rows of a matrix linearly."""
    after = np.clip(np.searchsorted(at, points), 1, at.size - 1)
    share = ((points - at[after - 1]) / (at[after] - at[after - 1]))[:, None]
    return rows[after - 1] * (1 - share) + rows[after] * share


# --- first order ----------------------------------------------------------------------------------
# A first-order method for large alphabets: accelerated multiplicative updates, on any arrays.
#
# Written once against the functions that NumPy, PyTorch, CuPy and JAX share: given tensors on a
# GPU, everything is computed there.

LEAST_LOG = -600
"""A probability never falls below this power of e, so that its logarithm exists."""


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
    most: int = 3000,
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
    """
    run = _begin(problem, rule)
    best = Incumbent(_scores(problem, run.joint) if scores is None else scores)
    best.bound = lower_bound(problem, best.scores)
    best.try_rule(problem, normalised(run.answer))
    gain = 1.0
    while best.steps < most and best.gap > tolerance:
        best.steps += 1
        value, gain, rose = _step(problem, run, gain)
        if rose or best.steps % 20 == 0:
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
        if cost <= allowed + 1e-15 * abs(allowed) or gain > 1e3:
            break
        gain *= 1.3
    # Accelerated steps may overshoot; then the caller starts anew from the last answer (restart).
    rose = theta < 1 and cost > run.cost
    if not rose:
        run.answer, run.joint, run.logs, run.mirror, run.cost = answer, joint, logs, mirror, cost
        # The root of theta'^2 = theta^2 (1 - theta'), as for Nesterov's method.
        run.theta = theta * (math.sqrt(theta**2 + 4) - theta) / 2
    return value, max(0.1, 0.98 * gain), rose


# --- search ---------------------------------------------------------------------------------------


SECOND_WORK = 1.2e11
"""Operations a step up to which the second-order method is taken, if 1 GB is enough for it."""
FIRST_STEPS = 60, 20_000
"""Steps of the first-order method at least and at most."""
PROVING_WEIGHTS = 1e4, 1e6
"""Smaller lambdas whose proofs are tried for a lambda at which rounding hides too much."""
RISKLESS_WEIGHT = 100
"""A lambda at which a constant release is usually proved best of the rules that tell nothing."""


@dataclass(frozen=True)
class SolverAnswer:
    """A rule, what it costs, and the proof: in the user's unit of distortion and in nats."""

    rule: Floats
    distortion: float
    risk: float
    weight: float
    """Lambda, per nat: zero for the most faithful rule, infinite where no risk is allowed."""
    bound: float
    """Certified: no rule has a smaller distortion + weight * risk; at the ends, no smaller
    distortion."""
    gap: float
    """Certified distance of this rule's cost from the least, rounding included."""
    least_risk: float
    """Certified: no rule of at most this distortion tells less, in nats."""
    scores: Floats | None = None
    steps: int = 0

    def proved(self, other: SolverAnswer) -> SolverAnswer:
        """Return the same rule with the proof for an equal or smaller lambda, if that says more.

        Scores y that prove a bound for lambda prove no less for a larger lambda' when they are
        multiplied by a = lambda / lambda': (sum_w p e^(a y))^(1/a) <= sum_w p e^y.
        """
        lifted = other.bound - self.bound
        if lifted <= 0:
            return self
        gap = max(self.gap - lifted, 0.0)
        scores = None if other.scores is None else other.scores * (other.weight / self.weight)
        return replace(self, bound=other.bound, gap=gap, scores=scores)


@dataclass(frozen=True)
class _Goal:
    """A target for an amount that grows with lambda: the distortion, or minus the risk."""

    target: float
    at_most_distortion: bool

    def amount(self, distortion: float, risk: float) -> float:
        return distortion if self.at_most_distortion else -risk

    def below(self, answer: SolverAnswer) -> bool:
        return self.amount(answer.distortion, answer.risk) <= self.target

    def weight_between(self, low: SolverAnswer, high: SolverAnswer) -> float:
        """Return a lambda to try next: by the secant of its logarithm, kept off the ends."""
        before, after = (self.amount(answer.distortion, answer.risk) for answer in (low, high))
        share = (self.target - before) / (after - before) if after > before else 0.5
        share = min(max(share, 0.1), 0.9)
        return math.exp((1 - share) * math.log(low.weight) + share * math.log(high.weight))

    def share(self, problem: Problem, low: SolverAnswer, high: SolverAnswer) -> float:
        """Return how much of the second rule makes the mixture just meet the target."""
        if self.below(high):
            return 1.0
        joints = [problem.given.T @ (problem.key[:, None] * answer.rule) for answer in (low, high)]
        under, over = 0.0, 1.0
        for _ in range(60):
            middle = (under + over) / 2
            joint = (1 - middle) * joints[0] + middle * joints[1]
            distortion = (1 - middle) * low.distortion + middle * high.distortion
            if self.amount(distortion, risk_of(problem, joint)) <= self.target:
                under = middle
            else:
                over = middle
        # The side that keeps the limit: distortion at most the target, or risk at most the target.
        return under if self.at_most_distortion else over


@dataclass(frozen=True)
class Solver:
    """A problem and its scale, so that the unit of distortion makes no difference."""

    problem: Problem
    """As the user gave it; the weight is not used."""
    points: Floats | None
    """The key values as increasing numbers, where they are; then large ones start coarse."""
    least: float
    """The distortion of the most faithful rule."""
    constant: float
    """The distortion of the best constant release, which tells nothing."""
    scaled: Problem
    method: Method = "auto"

    @classmethod
    def of(cls, problem: Problem, points: Floats | None, method: Method = "auto") -> Solver:
        """Measure the scale of a problem."""
        lowest = problem.distortion.min(axis=1)
        least = float(problem.key @ lowest)
        constant = float((problem.key @ problem.distortion).min())
        scale = constant - least
        excess = problem.distortion - lowest[:, None]
        scaled = replace(problem, distortion=excess / scale if scale > 0 else excess)
        return cls(problem, points, least, constant, scaled, method)

    @property
    def scale(self) -> float:
        """The range of distortions that are worth asking for; zero if none is."""
        return max(self.constant - self.least, 0.0)

    @cached_property
    def unrelated(self) -> bool:
        """Whether the key tells nothing, so that the most faithful rule is best."""
        return not dependence(self.problem).any()

    # --- one lambda -------------------------------------------------------------------------

    def at_weight(
        self, weight: float, tolerance: float, warm: SolverAnswer | None = None
    ) -> SolverAnswer:
        """Return the best rule for a lambda, per nat and in the user's unit of distortion."""
        if self.scale == 0:
            return self.constant_release(weight)
        if self.unrelated:
            return self._better(self.constant_release(weight), tolerance)
        answer = self._solved(weight, tolerance, warm)
        return answer if answer.gap <= tolerance * self.scale else self._better(answer, tolerance)

    def _better(self, solved: SolverAnswer, tolerance: float) -> SolverAnswer:
        """Return the best of a solved answer, the simplest rules and rules of smaller lambdas.

        The least cost grows with lambda: a bound for a smaller lambda, where rounding hides less,
        holds for this one too. Rules of a smaller lambda and rules that tell nothing are tried
        where the methods stalled.
        """
        quiet = self.constant_release(solved.weight)
        assert quiet.scores is not None
        answers, proof = [solved, quiet], max(solved, quiet, key=lambda answer: answer.bound)

        def share_missed(rule: Floats) -> float:
            """Add a rule and return the least gap of all answers, as a share of the scale."""
            assert quiet.scores is not None
            answers.append(self.certified(rule, (quiet.scores,), solved.weight, 0))
            return min(answer.proved(proof).gap for answer in answers) / self.scale

        missed = share_missed(self.faithful(tolerance).rule)
        # The least cost C(lambda) = min_P D + lambda R does not fall as lambda grows, since R >= 0:
        # a bound for a smaller lambda is one for this lambda as well.
        for smaller in () if self.unrelated else PROVING_WEIGHTS:
            if missed <= tolerance or smaller * self.scale >= solved.weight:
                break
            other = self._solved(smaller * self.scale, tolerance)
            proof = max(proof, other, key=lambda answer: answer.bound)
            missed = share_missed(other.rule)
        rounding = _rounding(self.scaled.weighing(solved.weight / self.scale))
        heavy = solved.weight > RISKLESS_WEIGHT * self.scale and not self.unrelated
        if heavy and missed > max(tolerance, rounding):
            share_missed(self.riskless(tolerance).rule)
        return min((answer.proved(proof) for answer in answers), key=lambda answer: answer.gap)

    def _solved(
        self, weight: float, tolerance: float, warm: SolverAnswer | None = None
    ) -> SolverAnswer:
        """Return the best rule of the first- or second-order method for a lambda."""
        problem = self.scaled.weighing(weight / self.scale)
        tolerance = max(tolerance, _rounding(problem))
        memory, work = work_of_step(problem)
        light = memory <= 1e9 and work <= SECOND_WORK
        if self.method == "second" or (self.method == "auto" and light):
            incumbent = solve_second(problem, tolerance=tolerance, start=self._start(problem, 1e-3))
            if incumbent.gap > tolerance and self.method == "auto":
                incumbent.absorb(_continued(problem, incumbent, tolerance))
        else:
            start = self._start(problem, 1e-6)
            if warm is not None and warm.scores is not None:
                start = Start(warm.rule, warm.scores)
            rule, scores = (None, None) if start is None else (start.rule, start.scores)
            incumbent = solve_first(
                problem, tolerance=tolerance, rule=rule, scores=scores, most=_first_steps(problem)
            )
        rule = self._pruned(problem, incumbent, tolerance)
        return self.certified(rule, (incumbent.scores,), weight, incumbent.steps)

    def _start(self, problem: Problem, tolerance: float) -> Start | None:
        keys, _, released = problem.sizes
        if self.points is None or keys < 60 or keys != released:
            return None
        size = min(101, keys // 2)
        return start_coarse(problem, self.points, size=size, tolerance=tolerance)

    def _pruned(self, problem: Problem, incumbent: Incumbent, goal: float) -> Floats:
        """Drop released values that nearly never occur, if the rule remains as good."""
        rule: Floats = incumbent.rule
        total = problem.key @ rule
        # Thinner rules are easier to use. They may cost as much as the tolerance leaves, or as the
        # rule itself where that was missed; their own cost is measured again, margin included.
        allowed = max(incumbent.bound + goal, incumbent.cost)
        for threshold in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10):
            thinner = np.where(total > threshold, rule, 0.0)
            if thinner.sum(axis=1).min() < 0.5:
                continue
            thinner = np.asarray(normalised(thinner))
            value = evaluate(problem, thinner)
            if value.cost + value.margin <= allowed:
                return thinner
        return rule

    def certified(
        self, rule: Floats, scores: tuple[Floats, ...], weight: float, steps: int
    ) -> SolverAnswer:
        """Measure a rule and prove its gap in the user's unit; the solver is not trusted."""
        problem = self.problem.weighing(weight)
        value = evaluate(problem, rule)
        bounds = [lower_bound(problem, point) for point in scores]
        bound = max(bounds)
        gap = max(value.cost + value.margin - bound, 0.0)
        best = scores[bounds.index(bound)]
        # D' + lambda R' >= bound for every rule, so one with D' <= D has a risk of at least
        # (bound - D) / lambda.
        least = min(max((bound - value.distortion) / weight, 0.0), value.risk)
        return SolverAnswer(
            rule, value.distortion, value.risk, weight, bound, gap, least, best, steps
        )

    # --- one distortion or one risk -----------------------------------------------------------

    def at_distortion(self, target: float, tolerance: float) -> SolverAnswer:
        """Return the rule of least risk whose distortion is at most a target within reach."""
        if target >= self.constant:
            return self.riskless(tolerance)
        if self.unrelated or target <= self.least + 1e-12 * self.scale:
            return self.faithful(tolerance)
        return self._search(_Goal(target, at_most_distortion=True), tolerance)

    def at_risk(self, target: float, tolerance: float) -> SolverAnswer:
        """Return the rule of least distortion whose risk, in nats, is at most a target."""
        faithful = self.faithful(tolerance)
        if target >= (1 - 1e-12) * faithful.risk or self.scale == 0 or self.unrelated:
            return faithful
        if target <= 0:
            return self.riskless(tolerance)
        return self._search(_Goal(-target, at_most_distortion=False), tolerance)

    def _search(self, goal: _Goal, tolerance: float) -> SolverAnswer:
        """Bracket the target by two lambdas and mix their rules.

        The distortion of a best rule grows with lambda, and its risk falls. A mixture of two rules
        costs no more than the chord between them, so close to the target it is as good as the best
        rule; where the curve is a straight line, the first mixture is already best.
        """
        low, high = self._bracket(goal, tolerance)
        # The rule without any risk is within the distortion: none can be better.
        if goal.at_most_distortion and goal.below(high):
            return high
        best = self._mixture(low, high, goal)
        for _ in range(60):
            if best.gap <= tolerance * self.scale or high.weight <= low.weight * (1 + 1e-13):
                break
            middle = self.at_weight(goal.weight_between(low, high), tolerance, low)
            if goal.below(middle):
                low = middle
            else:
                high = middle
            mixed = self._mixture(low, high, goal)
            best = min(best, mixed, key=lambda answer: answer.gap)
        return best

    def _bracket(self, goal: _Goal, tolerance: float) -> tuple[SolverAnswer, SolverAnswer]:
        """Return answers on both sides of the target, or the end of the curve on one side."""
        start, faithful_risk = self.at_weight(self.scale, tolerance), self.faithful(tolerance).risk
        # Beyond a million times what a constant release distorts over what the key tells, only
        # risk counts.
        heaviest = 1e6 * self.scale / min(max(faithful_risk, 1e-4), 1.0)
        low = high = start
        while not goal.below(low) and low.weight > 1e-5 * self.scale:
            high = low
            low = self.at_weight(low.weight / 4, tolerance, low)
        while goal.below(high) and high.weight < heaviest:
            low = high
            high = self.at_weight(high.weight * 4, tolerance, high)
        # An end of the curve has no lambda of its own: it takes the lambda and the scores of the
        # last answer, which prove the gap of mixtures with it.
        if not goal.below(low):
            low = replace(self.faithful(tolerance), weight=low.weight, scores=low.scores)
        if goal.below(high):
            riskless = self.riskless(tolerance)
            if goal.at_most_distortion and goal.below(riskless):
                return low, riskless
            high = replace(riskless, weight=high.weight, scores=high.scores)
        return low, high

    def _mixture(self, low: SolverAnswer, high: SolverAnswer, goal: _Goal) -> SolverAnswer:
        """Mix two rules to meet the target, and prove the gap for the better fitting lambda."""
        share = goal.share(self.problem, low, high)
        rule = normalised((1 - share) * low.rule + share * high.rule)
        scores = tuple(point for point in (low.scores, high.scores) if point is not None)
        steps = low.steps + high.steps
        # Scores prove a bound for any lambda. Which lambda proves most for the mixture is not known
        # in advance: those of both ends and the slope of the chord are tried.
        fall = low.risk - high.risk
        chord = (high.distortion - low.distortion) / fall if fall > 0 else low.weight
        weights = {low.weight, high.weight, min(max(chord, low.weight), high.weight)}
        return min(
            (self.certified(rule, scores, weight, steps) for weight in weights),
            key=lambda answer: answer.gap,
        )

    # --- the ends -----------------------------------------------------------------------------

    def constant_release(self, weight: float) -> SolverAnswer:
        """Return the best release that is always the same, with the trivial bound on distortion."""
        best = int((self.problem.key @ self.problem.distortion).argmin())
        rule = np.zeros_like(self.problem.distortion)
        rule[:, best] = 1.0
        scores = np.zeros((self.problem.sizes[1], self.problem.sizes[2]))
        return replace(self._only(rule, 0.0), risk=0.0, weight=weight, scores=scores)

    def riskless(self, tolerance: float) -> SolverAnswer:
        """Return the rule of least distortion among those that tell nothing at all."""
        answer = self.constant_release(RISKLESS_WEIGHT * max(self.scale, 1e-300))
        if self.scale == 0:
            return answer
        if self.unrelated:
            return self.faithful(tolerance)
        large = self.at_weight(answer.weight, tolerance)
        assert large.scores is not None
        constant = self.certified(answer.rule, (large.scores,), answer.weight, large.steps)
        if constant.gap <= tolerance * self.scale:
            return constant
        # Not constant, where part of the key is independent of the secret: a linear programme.
        if self.problem.distortion.size <= LARGEST_PROGRAMME:
            rule, prices = independent_rule(self.problem)
            rules, bound = [rule], riskless_bound(self.problem, prices)
        else:
            heavy = [large, *(self._solved(w * self.scale, tolerance) for w in PROVING_WEIGHTS)]
            rules = [mended_rule(self.problem, solved.rule) for solved in heavy]
            bound = max(solved.bound for solved in heavy)
        quiet = [answer.rule, *(rule for rule in rules if rule is not None)]
        rule, value = min(
            ((rule, evaluate(self.problem, rule)) for rule in quiet), key=lambda x: x[1].distortion
        )
        gap = max(value.distortion + value.margin - bound, 0.0)
        return SolverAnswer(rule, value.distortion, value.risk, math.inf, bound, gap, 0.0)

    @property
    def most_faithful(self) -> NDArray[np.bool_]:
        """Which releases are as near to each key value as any."""
        lowest = self.problem.distortion.min(axis=1)[:, None]
        return np.asarray(self.problem.distortion <= lowest + 1e-12 * (self.scale or 1.0))

    def faithful(self, tolerance: float) -> SolverAnswer:
        """Return the rule of least risk among those of least distortion."""
        allowed = self.most_faithful
        if (allowed.sum(axis=1) == 1).all():
            return self._only(allowed.astype(np.float64), None)
        # Several releases are equally faithful to some key value: a release that is not allowed
        # costs as much as a thousand nats, so that next to nothing of it remains to be cut off.
        strict = replace(self.scaled, distortion=np.where(allowed, 0.0, 1e3), weight=1.0)
        solved = solve_second(strict, tolerance=tolerance)
        return self._only(normalised(np.where(allowed, solved.rule, 0.0)), solved.bound)

    def _only(self, rule: Floats, least_risk: float | None) -> SolverAnswer:
        """Return the answer for a rule at an end of the curve, where only distortion counts."""
        value = evaluate(self.problem.weighing(0.0), rule)
        # ``least`` is a sum of rounded products: taken down by more than they can have gained.
        bound = self.least - 1e-15 * sum(self.problem.sizes) * self.least
        gap = max(value.distortion + value.margin - bound, 0.0)
        least = value.risk if least_risk is None else min(max(least_risk, 0.0), value.risk)
        return SolverAnswer(rule, value.distortion, value.risk, 0.0, bound, gap, least)


def _continued(problem: Problem, stalled: Incumbent, tolerance: float) -> Incumbent:
    """Continue by the first-order method where interior points stalled, as long as that helps.

    Its updates multiply probabilities, so one that is nearly zero would take many steps to grow
    again: every released value starts with a small share instead.
    """
    progress, share = Progress(25), 1e-6  # after so many checks that hardly close the gap it ends
    rule = (1 - share) * stalled.rule + share / problem.sizes[2]
    return solve_first(
        problem,
        tolerance=tolerance,
        rule=rule,
        scores=stalled.scores,
        most=_first_steps(problem),
        stop=lambda _, gap: progress.stalled(gap),
    )


def _first_steps(problem: Problem) -> int:
    keys, secrets, released = problem.sizes
    least, most = FIRST_STEPS
    return int(min(max(1e11 / (keys * secrets * released), least), most))


def _rounding(problem: Problem) -> float:
    """Return the gap below which rounding alone hides the rest."""
    return float(np.finfo(float).eps) * (sum(problem.sizes) + 16) * (4 + 12 * problem.weight)
