"""The solver for worst-case risks: the best rule within a risk or a distortion, or for a lambda."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hartley.policies.distortion.curve import CurvePoint, TradeoffCurve, wanted_gap
from hartley.policies.distortion.newton import (
    LARGEST_RISK,
    Inside,
    distortion_of,
    least_within,
    repaired,
    solve_inside,
)
from hartley.policies.distortion.problem import Problem, normalised
from hartley.policies.distortion.search import SolverAnswer
from hartley.policies.distortion.worst_case_limits import (
    EPSILON,
    LIMITS,
    Multipliers,
    Prices,
    floor_between,
    joint_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hartley.policies.distortion.curve import CurveTerms
    from hartley.policies.distortion.search import Solver
    from hartley.policies.distortion.worst_case_limits import Limit

    Floats = NDArray[np.float64]

LEAST_TOLERANCE = 1e-9
SMALLEST_RISK = 1e-10
"""A limit of fewer nats than this is hardly more than rounding."""


@dataclass(frozen=True, eq=False)
class WorstCasePoint:
    """The best rule within one limit of the risk, and the prices that prove it."""

    limit: float
    """In nats."""
    rule: Floats
    distortion: float
    risk: float
    """Of the rule, in nats: at most the limit."""
    prices: Prices
    steps: int = 0

    @property
    def bound(self) -> float:
        """No rule within the limit has less distortion."""
        return self.prices.bound(self.limit)

    @property
    def gap(self) -> float:
        """The largest possible distance of the rule from the least distortion within the limit."""
        return self.distortion - self.bound


@dataclass(frozen=True)
class WorstCase:
    r"""A problem whose risk is that of the worst released value, or of the worst guess.

    .. math:: D(t) = \min \{ E\, d(X, \hat X) : \mathrm{risk} \le t \}

    For one t this is a convex programme (``interior_points.solve_inside``). D(t) falls, but not
    always convexly: it can be constant for a while, since a released value that tells too much is
    not allowed however rare it is. So the least risk as a function of distortion can jump. The
    searches for a distortion or a lambda therefore run over t and are certified by prices for
    whole intervals of t, not by tangents.
    """

    solver: Solver
    """The same problem for the mutual information: its scale and its ends."""
    objective: str

    @property
    def problem(self) -> Problem:
        """The problem in the user's unit of distortion."""
        return self.solver.problem

    @property
    def scale(self) -> float:
        """The range of distortions that are worth asking for; zero if none is."""
        return self.solver.scale

    def limit(self, problem: Problem, risk: float) -> Limit:
        """Return the constraints of a limit in nats."""
        return LIMITS[self.objective](problem, risk)

    def risk_of(self, rule: Floats) -> float:
        """Return the risk of a rule, in nats."""
        return LIMITS[self.objective].measure(joint_of(self.problem, rule), base=math.e)

    # --- one limit ----------------------------------------------------------------------------

    def within(self, risk: float, tolerance: float) -> WorstCasePoint:
        """Return the rule of least distortion within a risk, in nats, between both ends.

        For a limit as small as rounding, the rule of a larger one is brought within it.
        """
        scaled = self.solver.scaled
        inside = self.limit(scaled, max(risk, SMALLEST_RISK))
        inner = solve_inside(scaled, inside, tolerance=tolerance / 4)
        assert inner.multipliers is not None
        multipliers = inner.multipliers
        prices = inside.prices(
            self.problem, Multipliers(multipliers.weights * self.scale, multipliers.scores)
        )
        rule = self._thinned(inner, self.limit(scaled, risk), tolerance)
        return self._point(risk, rule, prices, inner.steps)

    def _thinned(self, inner: Inside, limit: Limit, tolerance: float) -> Floats:
        """Drop released values that nearly never occur, if the rule remains as good."""
        scaled = self.solver.scaled
        allowed = max(inner.bound + tolerance / 2, inner.distortion)
        for dead in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10):
            thinner = repaired(scaled, limit, inner.rule, dead)
            if distortion_of(scaled, thinner) <= allowed:
                return thinner
        return repaired(scaled, limit, inner.rule, 0.0)

    def measured(self, rule: Floats) -> tuple[float, float]:
        """Return the distortion and the risk, in nats, of a rule."""
        return distortion_of(self.problem, rule), self.risk_of(rule)

    def _point(self, limit: float, rule: Floats, prices: Prices, steps: int = 0) -> WorstCasePoint:
        rule = np.asarray(normalised(rule))
        return WorstCasePoint(limit, rule, *self.measured(rule), prices, steps)

    def _margin(self, distortion: float, risk: float, weight: float) -> float:
        """Return an upper bound of what rounding can have hidden of a rule's cost."""
        weighed_risk = weight * (4 + risk) if math.isfinite(weight * risk) else 0.0
        return EPSILON * (sum(self.problem.sizes) + 16) * (distortion + weighed_risk)

    # --- the ends -----------------------------------------------------------------------------

    @cached_property
    def ends(self) -> tuple[WorstCasePoint, WorstCasePoint]:
        """The rule that tells nothing and the most faithful one, with prices that always hold."""
        none = Prices.trivial(self.problem.key, self.problem.distortion)
        quiet = self.solver.riskless(1e-10)
        faithful = self._point(math.inf, self._faithful_rule[0], none)
        return (self._point(0.0, quiet.rule, none), replace(faithful, limit=faithful.risk))

    @cached_property
    def _faithful_rule(self) -> tuple[Floats, float]:
        """The rule of least risk among those of least distortion, and a bound on that risk."""
        return least_within(self.problem, LIMITS[self.objective], self.solver.most_faithful)

    def riskless(self, tolerance: float) -> SolverAnswer:
        """Return the rule of least distortion among those that tell nothing at all."""
        quiet = self.solver.riskless(tolerance)
        return replace(quiet, risk=self.risk_of(quiet.rule), weight=math.inf, scores=None)

    def faithful(self, tolerance: float) -> SolverAnswer:
        """Return the rule of least risk among those of least distortion."""
        del tolerance
        point, low = self.ends[1], self._faithful_rule[1]
        bound = self.ends[1].prices.bound(0.0)
        margin = self._margin(point.distortion, 0.0, 0.0)
        gap = max(point.distortion + margin - bound, 0.0)
        return SolverAnswer(point.rule, point.distortion, point.risk, 0.0, bound, gap, low)

    @cached_property
    def open(self) -> bool:
        """Whether there is anything between the ends."""
        quiet, faithful = self.ends
        return self.scale > 0 and not self.solver.unrelated and quiet.risk < faithful.risk

    # --- one risk -----------------------------------------------------------------------------

    def at_risk(self, target: float, tolerance: float) -> SolverAnswer:
        """Return the rule of least distortion whose risk, in nats, is at most a target."""
        tolerance = max(tolerance, LEAST_TOLERANCE)
        quiet, faithful = self.ends
        if not self.open or target >= (1 - 1e-12) * faithful.risk:
            return self.faithful(tolerance)
        if target <= 0:
            return self.riskless(tolerance)
        point = self.within(target, tolerance)
        if quiet.distortion <= point.distortion and quiet.risk <= max(target, SMALLEST_RISK):
            point = replace(quiet, limit=target, prices=point.prices, steps=point.steps)
        bound = point.bound
        gap = max(point.distortion + self._margin(point.distortion, 0.0, 0.0) - bound, 0.0)
        least = min(point.prices.least_risk(point.distortion, target), point.risk)
        return self._answer(point, slope_of(point), bound, gap, least)

    def _answer(
        self, point: WorstCasePoint, weight: float, bound: float, gap: float, least: float
    ) -> SolverAnswer:
        return SolverAnswer(
            point.rule, point.distortion, point.risk, weight, bound, gap, least, steps=point.steps
        )

    # --- one distortion -----------------------------------------------------------------------

    def at_distortion(self, target: float, tolerance: float) -> SolverAnswer:
        """Return the rule of least risk whose distortion is at most a target within reach."""
        tolerance = max(tolerance, LEAST_TOLERANCE)
        quiet = self.ends[0]
        if self.open and target >= quiet.distortion:
            return self.riskless(tolerance)
        if not self.open or target <= self.solver.least + 1e-12 * self.scale:
            return self.faithful(tolerance)
        return self._search(target, tolerance)

    def _search(self, target: float, tolerance: float) -> SolverAnswer:
        """Bracket the limit at which the least distortion is the target, and mix the two rules."""
        low, high = self.ends
        best, least, weight, steps, guess = high, 0.0, 0.0, 0, math.nan
        slight = tolerance * self.scale / 4
        for turn in range(40):
            point = self.within(_next(low, high, guess, turn), tolerance / 4)
            steps += point.steps
            # Prices of any limit prove a risk that no rule within the target is below; the largest
            # of these bounds counts.
            above = min(high.limit, max(best.risk, point.limit))
            least = max(least, point.prices.least_risk(target, above))
            low, high = (point, high) if point.distortion > target else (low, point)
            slope = slope_of(point)
            # Only a limit below the one sought proves how low it can be, so both sides are needed.
            near = target - high.distortion <= 2 * slight
            aim = target + slight if near else target - slight
            guess = point.limit + (point.distortion - aim) / slope if slope > 0 else math.nan
            mixed = self._mixture(low, high, target)
            if mixed.risk <= best.risk:
                best, weight = mixed, slope
            room, most = best.risk - least, math.sqrt(tolerance) * max(1.0, best.risk)
            # Where distortion hardly depends on risk, its own tolerance would leave much risk.
            small = weight * room <= max(tolerance * self.scale, 4 * point.gap)
            if math.isfinite(best.risk) and small and room <= most:
                break
        least = min(least, best.risk)
        gap = weight * (best.risk - least) + self._margin(best.distortion, best.risk, weight)
        bound = best.distortion + weight * least
        return self._answer(replace(best, steps=steps), weight, bound, gap, least)

    def _mixture(self, low: WorstCasePoint, high: WorstCasePoint, target: float) -> WorstCasePoint:
        """Mix two rules to a distortion; return the second one if the mixture has no less risk."""
        wide = low.distortion - high.distortion
        share = min(max((target - high.distortion) / wide, 0.0), 1.0) if wide > 0 else 0.0
        mixed = self._point(
            high.limit, share * low.rule + (1 - share) * high.rule, high.prices, high.steps
        )
        return mixed if mixed.risk < high.risk else high

    # --- one lambda ---------------------------------------------------------------------------

    def at_weight(
        self, weight: float, tolerance: float, warm: SolverAnswer | None = None
    ) -> SolverAnswer:
        """Return the best rule for a lambda, per nat and in the user's unit of distortion.

        Branch and bound over the limit t of least cost D(t) + lambda t: the interval of t with the
        lowest certified floor is split, until no floor is below the cost of the best rule.
        """
        tolerance = max(tolerance, LEAST_TOLERANCE)
        del warm
        if self.scale == 0:
            return self.solver.constant_release(weight)
        quiet, faithful = self.ends
        if not self.open:
            answer = self.faithful(tolerance)
            gap = answer.gap + weight * answer.risk + self._margin(0.0, answer.risk, weight)
            return replace(answer, weight=weight, gap=gap)
        # A larger risk alone would cost more than the rule that tells nothing.
        reach = min(faithful.risk, (quiet.distortion - self.solver.least) / weight * (1 + 1e-9))
        tried = [quiet, replace(faithful, limit=reach)]
        waiting: list[tuple[float, float, int, WorstCasePoint, WorstCasePoint]] = []
        self._wait(waiting, tried[0], tried[1], weight)
        for _ in range(80):
            best = min(tried, key=lambda point: point.distortion + weight * point.risk)
            cost = best.distortion + weight * best.risk
            floor, split, _, low, high = waiting[0]
            # Splitting cannot close a gap that the method itself left at an end of the interval.
            rough = min((end.gap for end in (low, high) if end.steps), default=0.0)
            if cost - floor <= max(tolerance * self.scale, 2 * rough):
                break
            heapq.heappop(waiting)
            point = self.within(split, tolerance)
            tried.append(point)
            self._wait(waiting, low, point, weight)
            self._wait(waiting, point, high, weight)
        bound = min(waiting[0][0], cost)
        gap = max(cost + self._margin(best.distortion, best.risk, weight) - bound, 0.0)
        # The two ends come first; their prices are trivial and prove no risk.
        risks = (point.prices.least_risk(best.distortion, best.risk) for point in tried[2:])
        steps = sum(point.steps for point in tried)
        return self._answer(replace(best, steps=steps), weight, bound, gap, max(risks, default=0.0))

    def _wait(
        self,
        waiting: list[tuple[float, float, int, WorstCasePoint, WorstCasePoint]],
        low: WorstCasePoint,
        high: WorstCasePoint,
        weight: float,
    ) -> None:
        """Queue the interval between two points by its floor."""
        # The distortion within the interval is at least the bound at its upper end.
        floor, split = high.bound + weight * low.limit, (low.limit + high.limit) / 2
        if high.limit - low.limit > 1e-13 * max(1.0, high.limit):
            # The prices of the end that tells nothing would be infinite: those of the other end are
            # used.
            lower = low.prices if low.limit > 0 else high.prices
            risks, floors = floor_between(lower, high.prices, low.limit, high.limit)
            costs = floors + weight * risks
            floor, place = max(floor, float(costs.min())), int(costs.argmin())
            # Split where the floor is lowest, unless that is next to an end and would gain little.
            if 2 <= place <= risks.size - 3:
                split = float(risks[place])
            elif low.limit <= 0:
                split = high.limit / 4
        # The id orders intervals of equal floor and split: points cannot be compared.
        heapq.heappush(waiting, (floor, min(split, LARGEST_RISK), id(low), low, high))


def slope_of(point: WorstCasePoint) -> float:
    """Return what a unit of risk costs in distortion at a point."""
    return float(point.prices.key @ point.rule @ point.prices.slopes(point.limit))


def _next(low: WorstCasePoint, high: WorstCasePoint, guess: float, turn: int) -> float:
    """Return the limit to try next: where the tangent meets the target, or the middle."""
    top = high.limit if math.isfinite(high.limit) else max(2.0, 2 * low.limit)
    if math.isfinite(high.risk):
        top = min(top, high.risk)
    width = top - low.limit
    # Every fourth turn halves the interval, so that bad tangents cannot stall the search.
    if turn % 4 == 3 or not low.limit + 1e-12 * width < guess < top - 1e-12 * width:
        return min((low.limit + top) / 2, LARGEST_RISK)
    return min(guess, LARGEST_RISK)


# --- the whole curve ------------------------------------------------------------------------------


def trace_worst(
    worst: WorstCase,
    terms: CurveTerms,
    *,
    points: int,
    tolerance: float,
    progress: Callable[[str, float], None],
) -> TradeoffCurve:
    """Compute points where the curve is known least: in the largest rectangle.

    Between two points the curve falls from the upper left to the lower right corner of a
    rectangle. Where distortion no longer falls there is no rectangle and nothing is computed.
    """
    wanted, tolerance = wanted_gap(tolerance, worst.scale), max(tolerance, LEAST_TOLERANCE)
    traced = _beginning(worst, tolerance)
    while 1 < len(traced) < points:
        # Between two limits the curve falls but need not be convex: it can run anywhere in the
        # rectangle between the two points, so the largest rectangle is cut next.
        areas = [(a.distortion - b.distortion) * (b.limit - a.limit) for a, b in pairwise(traced)]
        place = int(np.argmax(areas))
        if areas[place] <= tolerance * worst.scale:
            break
        limit = _between(traced[place], traced[place + 1])
        traced.insert(place + 1, worst.within(limit, tolerance))
        progress("curve", len(traced) / points)
    progress("curve", 1.0)
    return _curve(terms, worst, traced, wanted)


def _beginning(worst: WorstCase, tolerance: float) -> list[WorstCasePoint]:
    """Return the ends by increasing risk; if one is infinite, rules up to a nearly faithful one."""
    quiet, faithful = worst.ends
    if not worst.open:
        return [faithful]
    if math.isfinite(faithful.risk):
        return [quiet, faithful]
    risk, traced = 1.0, [quiet]
    while True:
        traced.append(worst.within(risk, tolerance))
        near = traced[-1].distortion - worst.solver.least <= 0.01 * worst.scale
        if near or risk >= LARGEST_RISK:
            return traced
        risk *= 2


def _between(left: WorstCasePoint, right: WorstCasePoint) -> float:
    """Return the limit at which the distortion is likely half-way."""
    if left.limit <= 0:
        return min(right.limit, LARGEST_RISK) / 4
    risks, floors = floor_between(left.prices, right.prices, left.limit, right.limit)
    half = (left.distortion + right.distortion) / 2
    place = int(np.searchsorted(-floors, -half))
    tenth = max(risks.size // 10, 1)  # off the ends, where a cut would gain little
    return float(risks[min(max(place, tenth), risks.size - 1 - tenth)])


def _curve(
    terms: CurveTerms, worst: WorstCase, traced: list[WorstCasePoint], wanted: float
) -> TradeoffCurve:
    nats = math.log(terms.base)
    # A rule that distorts as much as the one that tells nothing is no point of the curve.
    quiet = worst.ends[0]
    fresh = (
        before for before in traced if before in worst.ends or before.distortion < quiet.distortion
    )
    points = [_curve_point(worst, point, terms) for point in fresh]
    floor: list[tuple[float, float]] = []
    mixtures = [(point.distortion, point.risk / nats) for point in traced]
    for before, after in pairwise(traced):
        lower = before.prices if before.limit > 0 else after.prices
        risks, floors = floor_between(lower, after.prices, before.limit, after.limit)
        floor += zip((risks / nats).tolist(), floors.tolist(), strict=True)
        for share in np.arange(1, 8) / 8:
            rule = (1 - share) * before.rule + share * after.rule
            distortion, risk = worst.measured(rule)
            mixtures.append((distortion, risk / nats))
    best: list[tuple[float, float]] = []  # rules that no other beats in distortion and in risk
    for distortion, risk in sorted(mixtures):
        if not best or risk < best[-1][1]:
            best.append((distortion, risk))
    return TradeoffCurve(
        points=tuple(sorted(points, key=lambda point: (point.distortion, -point.risk))),
        tangents=(),
        base=terms.base,
        largest_risk=terms.largest_risk,
        objective=terms.objective,
        floor=tuple(floor),
        mixtures=tuple(best),
        wanted_gap=wanted,
    )


def _curve_point(worst: WorstCase, point: WorstCasePoint, terms: CurveTerms) -> CurvePoint:
    quiet, faithful = worst.ends
    nats = math.log(terms.base)
    if point is quiet or point is faithful:
        answer = (worst.riskless if point is quiet else worst.faithful)(1e-9)
        lower, lam, gap = answer.least_risk, answer.weight, answer.gap
    else:
        lower = min(point.prices.least_risk(point.distortion, point.limit), point.risk)
        lam, gap = slope_of(point), max(point.gap, 0.0)
    return CurvePoint(
        distortion=point.distortion,
        risk=point.risk / nats,
        lower=lower / nats,
        lam=lam * nats,
        gap=gap,
        live=int(point.rule.any(axis=0).sum()),
        reconstructed=terms.reconstructed(point.rule, point.distortion),
    )
