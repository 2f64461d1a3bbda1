"""The numbers of the quadratic-Gaussian case of the privacy-distortion paper."""

import math

import numpy as np
import pytest

from hartley import JointDistribution, mutual_information, quadratic_gaussian_bound
from hartley.policies import GaussianRule, mutual_information_bound
from hartley.policies.distortion.problem import gaussian_joint

RHO = 0.95
ROWS = [(0.25, 0.564858, 0.716066), (0.5, 0.300056, 1.216066), (0.75, 0.127850, 1.716066)]


def bound(distortion, variance=1.0):
    return quadratic_gaussian_bound(
        confidential=4.0,
        key=variance,
        cross=RHO * 2 * math.sqrt(variance),
        distortion=distortion * variance,
        base=math.e,
    )


@pytest.mark.parametrize(("distortion", "risk", "lam"), ROWS)
def test_risks_and_slopes_are_those_of_the_paper(distortion, risk, lam):
    found = bound(distortion)
    assert found.value == pytest.approx(risk, abs=5e-7)
    assert found.lam == pytest.approx(lam, abs=5e-7)
    assert found.low <= found.value <= found.high
    assert found.gap < 1e-13


def test_the_key_itself_tells_what_the_paper_says():
    assert bound(0).value == pytest.approx(1.163951, abs=5e-7)
    assert bound(0).largest_risk == pytest.approx(-0.5 * math.log(1 - RHO**2), abs=1e-14)
    assert bound(1).value == 0


@pytest.mark.parametrize(("distortion", "risk", "lam"), ROWS)
def test_the_slope_is_two_variances_of_the_key_times_its_bracket(distortion, risk, lam):
    """lambda = 2 s^2 (1/rho^2 - 1 + d); bits cost ln 2 as much as nats."""
    del risk, lam
    found = bound(distortion, variance=9.0)
    assert found.lam == pytest.approx(2 * 9 * (1 / RHO**2 - 1 + distortion), rel=1e-9)
    bits = quadratic_gaussian_bound(confidential=1, key=9, cross=RHO * 3, distortion=9 * distortion)
    assert bits.lam == pytest.approx(found.lam * math.log(2), rel=1e-9)
    assert bits.value == pytest.approx(found.value / math.log(2), rel=1e-12)


def test_a_uniform_confidential_side_is_bounded_by_eq_7():
    """h(W) of a uniform side of variance 1 is log sqrt(12)."""
    for distortion in (0.1, 0.4, 0.9):
        found = quadratic_gaussian_bound(
            confidential=1,
            key=1,
            cross=0.9,
            distortion=distortion,
            entropy=0.5 * math.log(12),
            base=math.e,
        )
        left = 2 * math.pi * math.e * (1 - (1 - distortion) * 0.81)
        printed = 0.5 * math.log(12) - 0.5 * math.log(left)
        assert found.value == pytest.approx(max(printed, 0.0), abs=1e-9)
        assert found.low <= max(printed, 0.0) <= found.high
        assert not found.gaussian


def test_the_mixture_of_eq_9_lies_above_the_curve():
    for distortion, risk, _ in ROWS:
        above = mutual_information_bound(
            information=1.163951, constant_distortion=1.0, distortion=distortion
        )
        assert above == pytest.approx(1.163951 * (1 - distortion))
        assert above > risk


def test_the_rule_of_figure_5_shrinks_the_key_and_adds_noise():
    """X^ = (1 - d) X + d N(mu, (1 - d)/d s^2)."""
    rule = GaussianRule.best(confidential=1, key=4, cross=1.9, distortion=1.0, mean=7)
    d = 0.25
    assert rule.gain.item() == pytest.approx(1 - d, abs=1e-12)
    added = (rule.noise * rule.outer).item() ** 2
    assert added == pytest.approx(d**2 * (1 - d) / d * 4, abs=1e-12)


def test_the_gradient_of_the_risk_is_the_printed_one():
    """dR/dp(x^|x) = p(x) (sum_w p(w|x) ln p(x^|w) - ln p(x^)), along directions of sum zero."""
    joint = gaussian_joint(RHO, 5, 2.0)[0].matrix
    rng = np.random.default_rng(3)
    rule = rng.random((5, 5)) + 0.2
    rule /= rule.sum(axis=1, keepdims=True)
    change = rng.standard_normal((5, 5))
    change -= change.mean(axis=1, keepdims=True)

    def risk(step):
        return mutual_information(JointDistribution(joint @ (rule + step * change)), base=math.e)

    released = joint @ rule
    given_w = released / joint.sum(axis=1, keepdims=True)
    slope = joint.T @ np.log(given_w) - np.outer(joint.sum(axis=0), np.log(released.sum(axis=0)))
    h = 1e-6
    assert (risk(h) - risk(-h)) / (2 * h) == pytest.approx(float((slope * change).sum()), rel=1e-6)
