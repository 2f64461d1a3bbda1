"""A confidential number and a key, jointly Gaussian: what Section 6 of paper E studies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hartley.policies.distortion.model import PrivacyDistortion
from hartley.policies.gaussian.bound import mutual_information_bound, quadratic_gaussian_bound
from hartley.report import Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

RHO = 0.95
"""The correlation."""
WEIGHTS = (0.72, 1.22, 1.72)
"""The lambdas that the paper computes, for about D = 0.25, 0.5, 0.75."""
FACTOR = 1e-4
"""By which the paper multiplies the gradient of a step."""
NATS = math.e
"""The paper measures in nats."""


def on_a_grid(points: int) -> PrivacyDistortion:
    """Return the pair with every variable on equidistant points from -3 to 3."""
    return PrivacyDistortion.gaussian(rho=RHO, points=points, base=NATS)


def least_risk(distortion: float) -> float:
    """Return R(D) of the pair, by the quadratic-Gaussian bound (6), which is (8) here.

    Example:
        >>> round(least_risk(0.5), 6)
        0.300056
    """
    return quadratic_gaussian_bound(
        confidential=1.0, key=1.0, cross=RHO, distortion=distortion, base=NATS
    ).value


def mixed_risk(distortion: float) -> float:
    """Return what a mixture of the key and its mean tells at most: the bound (9).

    Example:
        >>> round(mixed_risk(0.0), 6)  # I(W;X)
        1.163951
    """
    return mutual_information_bound(
        information=least_risk(0.0), constant_distortion=1.0, distortion=distortion
    )


def bounds(distortions: Sequence[float]) -> tuple[Series, Series]:
    """Return both bounds as lines, to draw."""
    places = tuple(distortions)
    return (
        Series("lower bound (6), (8)", places, tuple(map(least_risk, places)), tone=0),
        Series("upper bound (9)", places, tuple(map(mixed_risk, places)), dash="dashed", tone=5),
    )


def gaussian_rule(values: NDArray[np.float64], distortion: float) -> NDArray[np.float64]:
    """Return the rule that attains the bound, X^ = (1 - D) X + noise, sampled on a grid.

    Given X = x the release is Gaussian with mean (1 - D) x and variance D (1 - D).
    """
    away = values[None, :] - (1 - distortion) * values[:, None]
    density = np.exp(-(away**2) / (2 * distortion * (1 - distortion)))
    rule: NDArray[np.float64] = density / density.sum(axis=1, keepdims=True)
    return rule


def mixture_rule(model: PrivacyDistortion, share: float) -> NDArray[np.float64]:
    """Return the rule that releases the key itself, or with some share of chance its mean."""
    size = model.distortion.shape[0]
    rule: NDArray[np.float64] = (1 - share) * np.eye(size)
    rule[:, size // 2] += share
    return rule


def price(model: PrivacyDistortion, rule: NDArray[np.float64]) -> tuple[float, float]:
    """Return the distortion and the risk of a rule, in nats."""
    keys = model.joint.matrix.sum(axis=0)
    seen = model.joint.matrix @ rule
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0))
    there = seen > 0
    risk = float((seen[there] * np.log(seen[there] / expected[there])).sum())
    return float((keys[:, None] * rule * model.distortion).sum()), risk


def descend(
    model: PrivacyDistortion, rule: NDArray[np.float64], weight: float, steps: int
) -> NDArray[np.float64]:
    """Improve a rule by the projected steepest descent of Section 6.1.

    The gradient of D + lambda R is projected onto rules whose rows sum to one, and subtracted with
    the paper's factor; what becomes negative is set to zero, and every row is scaled to one.
    """
    joint, distortion = model.joint.matrix, model.distortion
    secrets, keys = joint.sum(axis=1), joint.sum(axis=0)
    given = joint / keys  # p(w | x)
    for _ in range(steps):
        seen = joint @ rule
        scores = np.log(np.maximum(seen / secrets[:, None], 1e-300))
        scores -= np.log(np.maximum(seen.sum(axis=0), 1e-300))
        slope = keys[:, None] * (distortion + weight * (given.T @ scores))
        slope -= slope.mean(axis=1, keepdims=True)
        rule = np.maximum(rule - FACTOR * slope, 0.0)
        rule /= rule.sum(axis=1, keepdims=True)
    return rule
