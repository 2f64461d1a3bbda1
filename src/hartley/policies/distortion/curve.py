"""The whole curve of least risk against distortion, between certified bounds."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from hartley.text import number, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hartley.policies.distortion.search import Solver, SolverAnswer

    Floats = NDArray[np.float64]


# --- result ---------------------------------------------------------------------------------------
# What the privacy-distortion solver answers.

Objective: TypeAlias = Literal[
    "mutual_information", "t_closeness", "delta_disclosure", "maximal_leakage"
]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
CAVEATS = {
    "mutual_information": "An average says nothing about the person whom a rare released value "
    "gives away.",
    "t_closeness": "This holds for every released value, however rare it is.",
    "delta_disclosure": "This holds for every pair of values, however rare they are.",
    "maximal_leakage": "This holds for every function of the confidential side, on average over "
    "the released values.",
}


@dataclass(frozen=True, eq=False)
class TradeoffResult:
    """A rule of perturbation, what it costs, and a proved distance from the best."""

    matrix: NDArray[np.float64]
    """p(released | key): a row a key value, a column a released value."""
    distortion: float
    risk: float
    """What the release tells about the confidential side, in units of the base."""
    lam: float
    """What a unit of risk costs in distortion here: the slope of the curve, reversed. Zero for the
    most faithful rule, infinite where no risk is allowed."""
    gap: float
    """Certified, rounding included, in the unit of distortion. For a lam, no rule has a cost that
    is smaller by more than this; within a risk, none such a distortion; within a distortion, none
    such a risk times lam."""
    base: float
    values: tuple[Any, ...]
    """The released values, one a column of the matrix."""
    least_risk: float
    """No rule of this distortion tells less than this: certified."""
    largest_risk: float
    """What releasing the key as it is would tell."""
    steps: int = 0
    scores: NDArray[np.float64] | None = field(default=None, repr=False)
    """The point y(w, released) of the dual problem that proves the gap, where one does."""
    objective: Objective = "mutual_information"
    """What risk means."""
    wanted_gap: float = math.inf
    """The gap that the tolerance asked for, in the same unit."""
    sees: Literal["key", "both"] = "key"
    """What the rule draws from. For "both" a row of the matrix is a pair of a confidential value
    and a key value, as ``PrivacyDistortion.inputs`` lists them."""

    @property
    def reached(self) -> bool:
        """Whether the gap is as small as the tolerance asked for."""
        return self.gap <= self.wanted_gap

    @property
    def cost(self) -> float:
        """Distortion + lam * risk; where no risk is allowed, the distortion."""
        counts = 0 < self.lam < math.inf
        return self.distortion + (self.lam * self.risk if counts else 0.0)

    @property
    def live(self) -> tuple[Any, ...]:
        """The released values that occur at all."""
        return tuple(self.values[place] for place in np.flatnonzero(self.matrix.any(axis=0)))

    @property
    def unit(self) -> str:
        """The name of the unit of risk."""
        return unit_of(self.base)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in plain words."""
        itself = (
            f"of {self.largest_risk:.6g} {self.unit} for the key itself"
            if math.isfinite(self.largest_risk)
            else "as some value of the key itself does for certain"
        )
        summary = f"With a mean distortion of {self.distortion:.6g} {self._meaning}, {itself}."
        proof = (
            f"No rule costs less by more than {number(self.gap, 2, round='up', short=True)} "
            "(certified): at this distortion none tells less than "
            f"{self.least_risk:.6g} {self.unit}."
        )
        missed = () if self.reached else (missed_sentence(self.gap, self.wanted_gap),)
        used = f"It uses {len(self.live):,} of {len(self.values):,} released values."
        return (summary, used, proof, *missed, CAVEATS[self.objective])

    @property
    def _meaning(self) -> str:
        """What the risk says, in words."""
        if math.isinf(self.risk):
            return "some released value excludes a confidential one"
        try:
            factor = float(self.base**self.risk)
        except OverflowError:
            factor = math.inf
        amount, times = f"{self.risk:.6g} {self.unit}", f"{factor:.4g}"
        return {
            "mutual_information": f"the release tells {amount} about the confidential side on "
            "average",
            "t_closeness": "no released value takes beliefs about the confidential side farther "
            f"than {amount} of divergence",
            "delta_disclosure": "no released value makes a confidential one likelier or less "
            f"likely by more than {amount}, {times} times",
            "maximal_leakage": "the release makes a guess of anything about the confidential side "
            f"at most {amount}, {times} times, likelier to succeed",
        }[self.objective]


def wanted_gap(tolerance: float, scale: float) -> float:
    """Return the gap that a tolerance asks for; where all rules distort alike, any will do."""
    return tolerance * scale if scale > 0 else math.inf


def missed_sentence(gap: float, wanted: float) -> str:
    """Say that a tolerance was missed, in the unit of the cost.

    Example:
        >>> missed_sentence(17.39, 0.00036)
        'The tolerance was missed: the least cost may be lower by 18, where 0.00036 was asked for.'
    """
    return (
        "The tolerance was missed: the least cost may be lower by "
        f"{number(gap, 2, round='up', short=True)}, where {wanted:.2g} was asked for."
    )


# --- curve ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CurveTerms:
    """The unit and the meaning of the risk of a curve, which no solver needs to know."""

    base: float
    """Of the logarithms; solvers count in nats."""
    objective: Objective
    """What risk means."""
    largest_risk: float
    """What the key itself tells, in units of the base."""
    reference: tuple[float, float] | None = None
    """Correlation and variance of a Gaussian to compare with, for squared distortion."""
    numbers: tuple[Floats, Floats] | None = None
    """p(x), and the key values as rows of numbers, where every point is to be reconstructed."""

    def reconstructed(self, rule: Floats, distortion: float) -> float | None:
        """Return the squared distortion of E[X|Q] after a rule; None where nobody asked."""
        if self.numbers is None:
            return None
        return min(error_of_means(*self.numbers, rule), distortion)


@dataclass(frozen=True)
class CurvePoint:
    """One rule on the curve."""

    distortion: float
    risk: float
    lower: float
    """Certified: no rule of at most this distortion tells less."""
    lam: float
    """What a unit of risk costs in distortion here: zero at the most faithful rule, infinite where
    no risk is left."""
    gap: float
    live: int
    """How many released values occur."""
    limit: float | None = None
    """What a continuous Gaussian of the same covariance would give at this distortion."""
    reconstructed: float | None = None
    """The squared distortion if E[X|Q] is released for Q, which tells no more; where asked for."""


@dataclass(frozen=True)
class TradeoffCurve:
    """R(D): points of the curve, and bounds in between that are certified.

    Example:
        >>> from hartley.policies.distortion.model import PrivacyDistortion
        >>> curve = PrivacyDistortion([[0.5, 0.0], [0.0, 0.5]], "zero_one").curve(points=4)
        >>> curve.points[0].distortion, curve.points[-1].distortion
        (0.0, 0.5)
    """

    points: tuple[CurvePoint, ...]
    """By increasing distortion; the first is the most faithful rule, the last tells nothing."""
    tangents: tuple[tuple[float, float], ...]
    """Certified lines: R(D) >= (bound - D) / lam, as pairs (bound, lam)."""
    base: float
    largest_risk: float
    objective: Objective = "mutual_information"
    """What risk means."""
    floor: tuple[tuple[float, float], ...] = ()
    """Where the curve need not be convex: a certified polygon below it, as pairs (risk, distortion)
    by increasing risk."""
    mixtures: tuple[tuple[float, float], ...] = ()
    """Likewise: rules and mixtures of them, as pairs (distortion, risk) by increasing distortion
    and falling risk."""
    wanted_gap: float = math.inf
    """The gap of every point that the tolerance asked for, in the unit of distortion."""

    def lower(self, distortion: float) -> float:
        """Return a risk that no rule of at most this distortion stays below: certified."""
        if distortion <= self.points[0].distortion:
            return self.points[0].lower
        steps = (point.lower for point in self.points if point.distortion >= distortion)
        lines = ((bound - distortion) / lam for bound, lam in self.tangents)
        return max(0.0, self._above_floor(distortion), *steps, *lines)

    def _above_floor(self, distortion: float) -> float:
        """Return the least risk at which the floor admits a distortion."""
        for (low, before), (high, after) in pairwise(self.floor):
            if before <= distortion:
                return low
            if after <= distortion:
                return low + (high - low) * (before - distortion) / (before - after)
        return 0.0

    def upper(self, distortion: float) -> float:
        """Return a risk that a mixture of the computed rules reaches within this distortion."""
        at = [point.distortion for point in self.points]
        if distortion < at[0]:
            return math.inf
        if self.mixtures:
            place = bisect_right(self.mixtures, distortion, key=lambda pair: pair[0])
            return self.mixtures[place - 1][1] if place else math.inf
        risks = [point.risk for point in self.points]
        return float(np.interp(distortion, at, risks))

    @property
    def gap(self) -> float:
        """The largest certified gap of the points, in the unit of distortion."""
        return max(point.gap for point in self.points)

    @property
    def reached(self) -> bool:
        """Whether the gap of every point is as small as the tolerance asked for."""
        return self.gap <= self.wanted_gap

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "base": self.base,
            "objective": self.objective,
            "largest_risk": "inf" if math.isinf(self.largest_risk) else self.largest_risk,
            "gap": self.gap,
            "points": [
                asdict(point) | ({"lam": "inf"} if math.isinf(point.lam) else {})
                for point in self.points
            ],
        }


def gaussian_limit(rho: float, distortion: float, *, base: float = 2) -> float:
    r"""Return R(D) of a bivariate Gaussian, for squared distortion in units of the key's variance.

    .. math:: R(D) = -\tfrac12 \log\big(1 - \rho^2 (1 - D)\big), \qquad 0 \le D \le 1

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, eq. (8). Exact for the continuous model.
    """
    return -0.5 * math.log(1 - rho**2 * (1 - min(max(distortion, 0.0), 1.0))) / math.log(base)


def error_of_means(key: Floats, numbers: Floats, rule: Floats) -> float:
    r"""Return the mean squared error of the conditional mean E[X|Q] after a rule.

    .. math:: E\|X - E[X|Q]\|^2 = E\|X\|^2 - \sum_q \|E[X; Q=q]\|^2 / P(Q=q)

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, Proposition 3. Rounded to double precision;
    ``hartley.policies.reconstruct`` is exact. Linear in the size of the matrix.

    Example:
        >>> key, numbers = np.array([0.5, 0.5]), np.array([[0.0], [10.0]])
        >>> error_of_means(key, numbers, np.eye(2)), error_of_means(key, numbers, np.ones((2, 1)))
        (0.0, 25.0)
    """
    centred = numbers - key @ numbers
    mass = key[:, None] * rule
    total = mass.sum(axis=0)
    sums = centred.T @ mass[:, total > 0]
    explained = (np.square(sums).sum(axis=0) / total[total > 0]).sum()
    return max(float(key @ np.square(centred).sum(axis=1) - explained), 0.0)


def trace_curve(
    solver: Solver,
    terms: CurveTerms,
    *,
    points: int,
    tolerance: float,
    progress: Callable[[str, float], None],
) -> TradeoffCurve:
    """Compute points where the bounds lie farthest apart (a sandwich, Rote 1992)."""
    ends = solver.faithful(tolerance), solver.riskless(tolerance)
    answers = list(ends) if ends[1].distortion > ends[0].distortion else [ends[0]]
    waiting: list[tuple[float, int, SolverAnswer, SolverAnswer]] = []
    if len(answers) == 2:
        heapq.heappush(waiting, (0.0, 0, *ends))
    while waiting and len(answers) < points:
        _, _, left, right = heapq.heappop(waiting)
        # R(D) is convex: the tangent parallel to the chord touches it where the chord lies farthest
        # above it, so that this lambda leaves least unknown between the two.
        slope = (right.distortion - left.distortion) / max(left.risk - right.risk, 1e-300)
        answer = solver.at_weight(slope, tolerance, left)
        answers.append(answer)
        for before, after in ((left, answer), (answer, right)):
            room = _room(before, after)
            if room > tolerance * solver.scale * max(before.risk, 1e-12):
                # The second number orders equal rooms: answers cannot be compared.
                heapq.heappush(waiting, (-room, len(answers) * 2 + (after is right), before, after))
        progress("curve", len(answers) / points)
    progress("curve", 1.0)
    return _curve(terms, answers, wanted_gap(tolerance, solver.scale))


def _room(left: SolverAnswer, right: SolverAnswer) -> float:
    """Return the area of the triangle between the chord and the two tangents."""
    wide, fall = right.distortion - left.distortion, left.risk - right.risk
    if wide <= 0 or fall <= 0:
        return 0.0
    # Where the tangents meet, in shares of the way from the left end to the right one.
    flat = 1 / right.weight
    if left.weight == 0:
        return (fall - flat * wide) * wide / 2
    steep = 1 / left.weight
    if steep <= flat:
        return 0.0
    at = min(max((fall - flat * wide) / (steep - flat), 0.0), wide)
    below = max(left.risk - steep * at, right.risk)
    chord = left.risk - fall * at / wide
    return max(chord - below, 0.0) * wide / 2


def _curve(terms: CurveTerms, answers: list[SolverAnswer], wanted: float) -> TradeoffCurve:
    nats = math.log(terms.base)
    rho, variance = terms.reference or (0.0, 0.0)
    ordered = sorted(answers, key=lambda answer: (answer.distortion, -answer.risk))
    points = tuple(
        CurvePoint(
            distortion=answer.distortion,
            risk=answer.risk / nats,
            lower=answer.least_risk / nats,
            lam=answer.weight * nats,
            gap=answer.gap,
            live=int(answer.rule.any(axis=0).sum()),
            limit=gaussian_limit(rho, answer.distortion / variance, base=terms.base)
            if variance
            else None,
            reconstructed=terms.reconstructed(answer.rule, answer.distortion),
        )
        for answer in ordered
    )
    # The ends have no slope: lambda is zero or infinite there, and proves no line.
    tangents = tuple(
        (answer.bound, answer.weight * nats) for answer in ordered if 0 < answer.weight < math.inf
    )
    return TradeoffCurve(points, tangents, terms.base, terms.largest_risk, wanted_gap=wanted)
