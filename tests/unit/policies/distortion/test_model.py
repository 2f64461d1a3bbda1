"""Rules that trade privacy against distortion: their numbers, and the problems they solve."""

import dataclasses
import math

import numpy as np
import pytest

from hartley import JointDistribution, PrivacyDistortion
from hartley.policies.distortion.curve import OBJECTIVES


@pytest.fixture(scope="module")
def answer(joint):
    return PrivacyDistortion(joint, "squared").solve(lam=5)


# --- answers --------------------------------------------------------------------------------------


def test_an_answer_is_a_rule_with_its_numbers(answer):
    assert np.allclose(answer.matrix.sum(axis=1), 1)
    assert answer.matrix.min() >= 0
    assert answer.cost == answer.distortion + answer.lam * answer.risk
    assert answer.lam == pytest.approx(5)
    assert answer.gap < 1e-9
    assert set(answer.live) <= {0, 1, 2}
    assert answer.unit == "bits"


def test_an_answer_is_frozen(answer):
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.risk = 0


def test_the_sentences_state_the_numbers_and_the_proof(answer):
    told = " ".join(answer.sentences)
    assert f"{answer.risk:.6g} bits" in told
    assert "certified" in told
    assert "average" in told


def test_units_of_distortion_do_not_matter(joint):
    small = PrivacyDistortion(joint, "squared").solve(lam=0.5)
    large = PrivacyDistortion(joint, "squared", values=[0, 1e6, 2e6]).solve(lam=0.5e12)
    assert large.cost == pytest.approx(1e12 * small.cost, rel=1e-9)
    assert large.gap < 1e-9 * 1e12


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("allowed", [1, 1.5, 100, 1e300, math.inf])
def test_a_distortion_that_needs_no_risk_gets_the_riskless_rule(joint, objective, allowed):
    """From that of the worst release on, the rule has one row: whatever the key, the same."""
    model = PrivacyDistortion(joint, "squared", objective=objective)
    answer = model.solve(distortion=allowed * model.largest_distortion)
    assert np.ptp(answer.matrix, axis=0).max() == 0
    assert answer.risk == pytest.approx(0, abs=1e-12)
    assert answer.distortion <= model.constant_distortion
    assert answer.reached


def test_the_whole_risk_gets_the_most_faithful_rule(joint):
    model = PrivacyDistortion(joint, "squared")
    assert model.solve(risk=model.largest_risk).distortion == 0


def test_equally_faithful_rules_are_chosen_for_their_risk(joint):
    """Two released values stand for every key value; telling which key it was is not needed."""
    d = np.zeros((3, 2))
    answer = PrivacyDistortion(joint, d).solve(distortion=0)
    assert answer.risk == pytest.approx(0, abs=1e-9)
    shared = np.array([[0, 9, 0.0], [9, 0, 0], [9, 9, 0]])
    answer = PrivacyDistortion(joint, shared).solve(distortion=0)
    assert answer.risk == pytest.approx(0, abs=1e-9)
    assert answer.live == (2,)


# --- what it is made of ---------------------------------------------------------------------------


def test_a_joint_distribution_is_taken_as_its_matrix_is(joint):
    best = PrivacyDistortion(JointDistribution.of(joint), "squared").solve(lam=1)
    assert best.cost == PrivacyDistortion(joint.tolist(), "squared").solve(lam=1).cost


def test_named_distortions_are_their_formulas(joint):
    for name, formula in (
        ("squared", lambda x, y: (x - y) ** 2),
        ("absolute", lambda x, y: abs(x - y)),
        ("zero_one", lambda x, y: float(x != y)),
    ):
        values = [1.0, 2.5, 7.0]
        model = PrivacyDistortion(joint, name, values=values)
        assert model.distortion.tolist() == [[formula(x, y) for y in values] for x in values]
        assert (
            PrivacyDistortion(joint, formula, values=values).distortion == model.distortion
        ).all()


def test_a_hierarchy_counts_the_levels_until_two_values_meet(joint):
    paths = {"flu": ("lung", "all"), "cough": ("lung", "all"), "gastritis": ("stomach", "all")}
    model = PrivacyDistortion(joint, paths, values=["flu", "cough", "gastritis"])
    assert model.distortion.tolist() == [[0, 1, 2], [1, 0, 2], [2, 2, 0]]


def test_other_released_values_than_the_keys_are_allowed(joint):
    model = PrivacyDistortion(joint, np.ones((3, 5)) + np.eye(3, 5))
    answer = model.solve(lam=1.0)
    assert answer.matrix.shape == (3, 5)
    assert answer.values == (0, 1, 2, 3, 4)


def test_a_table_is_its_relative_frequencies(table):
    model = PrivacyDistortion.from_table(table, confidential="sick", key="age", missing="drop")
    assert model.values == (30, 40, 50)
    assert model.rows == 7
    ordered = sorted(model.joint.matrix.tolist())
    assert np.allclose(ordered, [[1 / 7, 0, 2 / 7], [1 / 7, 2 / 7, 1 / 7]], atol=1e-15)
    assert model.distortion[0].tolist() == [0, 100, 400]


def test_several_columns_on_each_side_are_their_combinations(table):
    model = PrivacyDistortion.from_table(
        table,
        confidential=["sick", "ward"],
        key=["age", "ward"],
        distortion="absolute",
        missing="drop",
    )
    assert model.values[0] == (30, 1)
    assert model.joint.matrix.shape == (4, 5)
    first, last = model.values.index((30, 1)), model.values.index((50, 2))
    assert model.distortion[first, last] == 21


def test_a_gaussian_grid_is_symmetric_and_normalised():
    model = PrivacyDistortion.gaussian(rho=0.5, points=5, reach=2)
    assert model.values == (-2, -1, 0, 1, 2)
    assert np.allclose(model.joint.matrix, model.joint.matrix.T)
    assert model.joint.matrix.sum() == pytest.approx(1)


# --- the curve ------------------------------------------------------------------------------------


def test_a_curve_reports_its_progress_and_its_bounds(joint):
    shares = []
    curve = PrivacyDistortion(joint, "squared").curve(
        points=7, progress=lambda kind, share: shares.append((kind, share))
    )
    assert shares[-1] == ("curve", 1.0)
    assert [share for _, share in shares] == sorted(share for _, share in shares)
    assert 3 <= len(curve.points) <= 7
    risks = [point.risk for point in curve.points]
    assert risks == sorted(risks, reverse=True)
    for point in curve.points:
        assert point.lower <= point.risk <= point.lower + 1e-4
        assert curve.lower(point.distortion) <= point.risk + 1e-12
    assert curve.upper(-1) == math.inf
    assert curve.to_dict()["points"][0]["risk"] == risks[0]
