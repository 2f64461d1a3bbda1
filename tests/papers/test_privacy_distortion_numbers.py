"""The numbers of Section 6.1 of the privacy-distortion paper, each proved by its certificate."""

import math

import numpy as np
import pytest

from hartley import PrivacyDistortion
from hartley.policies.distortion.curve import gaussian_limit

ORACLE = [
    # points, lambda, distortion, risk, cost, released values that stay
    (31, 0.72, 0.2515598, 0.5503055, 0.6477798106, 13),
    (31, 1.22, 0.5013706, 0.2867937, 0.8512589194, 7),
    (31, 1.72, 0.7505055, 0.1156266, 0.9493832395, 4),
    (51, 1.22, None, None, 0.8493529091, 7),
]


def plain_bound(model, lam, scores):
    """The certificate of theory.md, with loops over released values and no library code."""
    joint, d = model.joint.matrix, model.distortion
    given = joint / joint.sum(axis=0)
    s = np.exp(scores)
    s /= joint.sum(axis=1) @ s
    slack = [d[:, c] + lam * given.T @ np.log(s[:, c]) for c in range(d.shape[1])]
    return float(joint.sum(axis=0) @ np.min(slack, axis=0))


def plain_cost(model, lam, rule):
    joint = model.joint.matrix @ rule
    outer = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    live = joint > 0
    risk = float((joint[live] * np.log(joint[live] / outer[live])).sum())
    distortion = float((model.joint.matrix.sum(axis=0)[:, None] * rule * model.distortion).sum())
    return distortion + lam * risk


@pytest.mark.parametrize("row", ORACLE, ids=lambda row: f"{row[0]} points, lambda {row[1]}")
def test_the_oracle_rows_hold_to_the_last_digit_given(row):
    points, lam, distortion, risk, cost, live = row
    answer = PrivacyDistortion.gaussian(rho=0.95, points=points, base=math.e).solve(lam=lam)
    assert answer.cost == pytest.approx(cost, abs=1e-10)
    assert 0 <= answer.gap < 1e-9
    if distortion is not None:
        assert answer.distortion == pytest.approx(distortion, abs=1e-6)
        assert answer.risk == pytest.approx(risk, abs=1e-6)
    assert len(answer.live) == live


@pytest.mark.parametrize(("points", "lam"), [(31, 0.72), (31, 1.72), (51, 1.22)])
def test_the_certificate_stands_on_its_own_after_released_values_have_died_out(points, lam):
    model = PrivacyDistortion.gaussian(rho=0.95, points=points, base=math.e)
    answer = model.solve(lam=lam)
    assert len(answer.live) < points
    bound = plain_bound(model, lam, answer.scores)
    assert math.isfinite(bound)
    cost = plain_cost(model, lam, answer.matrix)
    assert cost - bound < 1e-9
    assert answer.gap >= cost - bound - 1e-13


def test_bits_and_nats_are_the_same_problem():
    nats = PrivacyDistortion.gaussian(rho=0.95, points=11, base=math.e).solve(lam=1.22)
    bits = PrivacyDistortion.gaussian(rho=0.95, points=11).solve(lam=1.22 * math.log(2))
    assert bits.cost == pytest.approx(nats.cost, abs=1e-9)
    assert bits.risk == pytest.approx(nats.risk / math.log(2), abs=1e-6)


@pytest.mark.parametrize(
    ("distortion", "risk", "lam"),
    [(0.25, 0.564858, 0.716066), (0.5, 0.300056, 1.216066), (0.75, 0.127850, 1.716066)],
)
def test_the_closed_form_is_the_papers(distortion, risk, lam):
    assert gaussian_limit(0.95, distortion, base=math.e) == pytest.approx(risk, abs=1e-6)
    h = 1e-6
    fall = gaussian_limit(0.95, distortion - h, base=math.e) - gaussian_limit(
        0.95, distortion + h, base=math.e
    )
    assert 2 * h / fall == pytest.approx(lam, abs=1e-4)


def test_fine_grids_approach_the_closed_form_from_one_side():
    """Points further out and closer together: the discrete curve tends to that of eq. (8)."""
    exact = gaussian_limit(0.8, 0.5, base=math.e)
    errors = []
    for points, reach in ((9, 3.0), (17, 3.5), (33, 4.0)):
        model = PrivacyDistortion.gaussian(rho=0.8, points=points, reach=reach, base=math.e)
        errors.append(abs(model.solve(distortion=0.5, tolerance=1e-7).risk - exact))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.002
