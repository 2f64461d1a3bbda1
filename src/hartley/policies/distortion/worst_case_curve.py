"""The whole curve of least worst-case risk against distortion, between certified bounds."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hartley.policies.distortion.curve import CurvePoint, TradeoffCurve
from hartley.policies.distortion.interior_points import LARGEST_RISK
from hartley.policies.distortion.result import wanted_gap
from hartley.policies.distortion.worst_case import LEAST_TOLERANCE, Point, WorstCase, slope_of
from hartley.policies.distortion.worst_case_limits import floor_between

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.policies.distortion.model import PrivacyDistortion

NEARLY_FAITHFUL = 0.01
"""Where a faithful release has infinite risk, the curve ends at this share of the distortions."""
STEPS = 8
"""So many mixtures between neighbouring rules."""


def trace_worst(
    model: PrivacyDistortion,
    *,
    points: int,
    tolerance: float,
    progress: Callable[[str, float], None] | None,
) -> TradeoffCurve:
    """Compute points where risk and distortion together are least known: the largest rectangle.

    Between two points the curve falls from the upper left to the lower right corner of a
    rectangle. Where distortion no longer falls there is none, and nothing is computed.
    """
    worst = model._solver  # noqa: SLF001 - one class in several modules
    assert isinstance(worst, WorstCase)
    wanted, tolerance = wanted_gap(tolerance, worst.scale), max(tolerance, LEAST_TOLERANCE)
    found = _beginning(worst, tolerance)
    while 1 < len(found) < points:
        areas = [_area(one, other) for one, other in pairwise(found)]
        place = int(np.argmax(areas))
        if areas[place] <= tolerance * worst.scale:
            break
        limit = _between(found[place], found[place + 1])
        found.insert(place + 1, worst.within(limit, tolerance))
        if progress is not None:
            progress("curve", len(found) / points)
    if progress is not None:
        progress("curve", 1.0)
    return _curve(model, worst, found, wanted)


def _beginning(worst: WorstCase, tolerance: float) -> list[Point]:
    """Return the ends by increasing risk; where one is infinite, a nearly faithful rule instead."""
    quiet, faithful = worst.ends
    if not worst.open:
        return [faithful]
    if math.isfinite(faithful.risk):
        return [quiet, faithful]
    risk, found = 1.0, [quiet]
    while True:
        found.append(worst.within(risk, tolerance))
        near = found[-1].distortion - worst.least <= NEARLY_FAITHFUL * worst.scale
        if near or risk >= LARGEST_RISK:
            return found
        risk *= 2


def _area(one: Point, other: Point) -> float:
    return (one.distortion - other.distortion) * (other.limit - one.limit)


def _between(one: Point, other: Point) -> float:
    """Return the limit at which the distortion is likely half-way."""
    if one.limit <= 0:
        return min(other.limit, LARGEST_RISK) / 4
    risks, floors = floor_between(one.prices, other.prices, one.limit, other.limit)
    half = (one.distortion + other.distortion) / 2
    place = int(np.searchsorted(-floors, -half))
    tenth = max(risks.size // 10, 1)
    return float(risks[min(max(place, tenth), risks.size - 1 - tenth)])


def _curve(
    model: PrivacyDistortion, worst: WorstCase, found: list[Point], wanted: float
) -> TradeoffCurve:
    nats = math.log(model.base)
    # Where distortion has stopped falling, the rule that tells nothing was found again.
    quiet = worst.ends[0]
    fresh = (one for one in found if one in worst.ends or one.distortion < quiet.distortion)
    points = [_told(worst, point, nats) for point in fresh]
    floor: list[tuple[float, float]] = []
    mixtures = [(point.distortion, point.risk / nats) for point in found]
    for one, other in pairwise(found):
        lower = one.prices if one.limit > 0 else other.prices
        risks, floors = floor_between(lower, other.prices, one.limit, other.limit)
        floor += zip((risks / nats).tolist(), floors.tolist(), strict=True)
        for share in np.linspace(0, 1, STEPS + 1)[1:-1]:
            rule = (1 - share) * one.rule + share * other.rule
            told = worst.told(rule)
            mixtures.append((told[0], told[1] / nats))
    return TradeoffCurve(
        points=tuple(sorted(points, key=lambda point: (point.distortion, -point.risk))),
        tangents=(),
        base=model.base,
        largest_risk=model.largest_risk,
        objective=model.objective,
        floor=tuple(floor),
        mixtures=_staircase(mixtures),
        wanted_gap=wanted,
    )


def _staircase(rules: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Keep the rules that no other beats both in distortion and in risk."""
    kept: list[tuple[float, float]] = []
    for distortion, risk in sorted(rules):
        if not kept or risk < kept[-1][1]:
            kept.append((distortion, risk))
    return tuple(kept)


def _told(worst: WorstCase, point: Point, nats: float) -> CurvePoint:
    quiet, faithful = worst.ends
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
    )
