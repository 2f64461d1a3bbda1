import json
import math
import re

import numpy as np
import pytest

from hartley import OptionError, PrivacyDistortion
from hartley.policies.distortion.newton import Blocks
from hartley.policies.distortion.worst_case_limits import LIMITS, Prices

JOINT = np.array([[0.30, 0.10, 0.05], [0.10, 0.15, 0.30]])
OBJECTIVES = sorted(LIMITS)
TABLE = {"age": [30, 30, 40, 40, 50, 50, 50], "sick": ["yes", "no", "no", "no", "yes", "no", "yes"]}


@pytest.fixture(scope="module", params=OBJECTIVES)
def model(request):
    return PrivacyDistortion(JOINT, "squared", objective=request.param)


# --- answers ----------------------------------------------------------------------------------


def test_an_answer_keeps_to_what_was_asked(model):
    half = model.largest_risk / 2
    within = model.solve(risk=half)
    near = model.solve(distortion=within.distortion)
    assert within.risk <= half
    assert near.distortion <= within.distortion + 1e-12
    assert near.risk == pytest.approx(half, abs=1e-6)
    assert near.least_risk <= near.risk
    for answer in (within, near):
        assert answer.objective == model.objective
        assert answer.gap < 1e-7
        assert np.allclose(answer.matrix.sum(axis=1), 1)


@pytest.mark.slow
@pytest.mark.parametrize("objective", [*OBJECTIVES, "mutual_information"])
def test_a_larger_lam_tells_less_and_distorts_more(objective):
    model = PrivacyDistortion(JOINT, "squared", objective=objective)
    answers = [model.solve(lam=lam) for lam in (0.02, 0.2, 2.0)]
    assert answers[0].risk >= answers[1].risk >= answers[2].risk
    assert answers[0].distortion <= answers[1].distortion <= answers[2].distortion
    for answer in answers:
        assert answer.gap < 1e-6
        assert answer.cost == pytest.approx(answer.distortion + answer.lam * answer.risk)


@pytest.mark.slow
def test_a_cost_is_the_least_over_all_risks(model):
    lam = 0.3
    cheapest = model.solve(lam=lam)
    risks = np.linspace(0.02, 0.98, 9) * model.largest_risk
    costs = [model.solve(risk=risk, tolerance=1e-7) for risk in risks]
    assert cheapest.cost <= min(one.distortion + lam * one.risk for one in costs) + cheapest.gap


def test_a_base_is_a_unit(model):
    nats = PrivacyDistortion(JOINT, "squared", base=math.e, objective=model.objective)
    assert model.largest_risk == pytest.approx(nats.largest_risk / math.log(2))
    risk = model.largest_risk / 3
    one, other = model.solve(risk=risk), nats.solve(risk=risk * math.log(2))
    assert one.distortion == pytest.approx(other.distortion, abs=1e-8)
    assert one.lam == pytest.approx(other.lam * math.log(2), rel=1e-3)
    assert one.unit == "bits"


@pytest.mark.slow
def test_a_lam_beyond_all_distortion_leaves_nothing_to_tell(model):
    answer = model.solve(lam=1e9)
    assert answer.risk == pytest.approx(0, abs=1e-12)
    assert answer.distortion == pytest.approx(model.constant_distortion)
    assert answer.gap < 1e-3


def test_a_risk_next_to_nothing_is_kept_to(model):
    answer = model.solve(risk=1e-13)
    assert answer.risk <= 1e-13
    assert answer.distortion == pytest.approx(model.constant_distortion, abs=1e-4)
    assert answer.gap < 1e-4


def test_units_of_distortion_do_not_matter(model):
    large = PrivacyDistortion(JOINT, "squared", values=[0, 1e6, 2e6], objective=model.objective)
    risk = model.largest_risk / 3
    one, other = model.solve(risk=risk), large.solve(risk=risk)
    assert other.distortion == pytest.approx(1e12 * one.distortion, rel=1e-7)
    assert other.gap < 1e-7 * 1e12


def test_released_values_die_out():
    answer = PrivacyDistortion.gaussian(rho=0.9, points=11, objective="t_closeness").solve(risk=0.3)
    assert 1 < len(answer.live) < 11
    assert answer.gap < 1e-6


def test_the_sentences_say_what_the_risk_means(model):
    answer = model.solve(risk=model.largest_risk / 2)
    told = " ".join(answer.sentences)
    assert f"{answer.risk:.6g} bits" in told
    assert "certified" in told
    assert "average about the confidential side" not in told
    word = {
        "t_closeness": "divergence",
        "delta_disclosure": "likelier or less likely",
        "maximal_leakage": "guess",
    }
    assert word[model.objective] in told


def test_an_unrelated_key_is_released_as_it_is():
    joint = np.outer([0.5, 0.5], [0.2, 0.3, 0.5])
    for name in (*OBJECTIVES, "mutual_information"):
        model = PrivacyDistortion(joint, "squared", objective=name)
        for wish in ({"lam": 3.0}, {"risk": 0.0}, {"distortion": 0.1}):
            answer = model.solve(**wish)
            assert answer.distortion == 0
            assert answer.risk == pytest.approx(0, abs=1e-12)
            assert answer.gap < 1e-12
        assert [point.distortion for point in model.curve(points=5).points] == [0]


@pytest.mark.parametrize("objective", [*OBJECTIVES, "mutual_information"])
def test_a_distortion_without_choice_has_one_answer(objective):
    only = PrivacyDistortion(JOINT, [[1.0], [2.0], [3.0]], objective=objective)
    for wish in ({"lam": 1.0}, {"risk": 0.0}):
        answer = only.solve(**wish)
        assert answer.matrix.tolist() == [[1.0], [1.0], [1.0]]
        assert answer.risk == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
def test_equally_faithful_rules_are_chosen_for_their_risk():
    """The first two released values stand for every key value, the third for the last alone."""
    d = np.array([[0, 0, 9.0], [0, 0, 9.0], [0, 0, 0.0]])
    for name in OBJECTIVES:
        answer = PrivacyDistortion(JOINT, d, objective=name).solve(distortion=0)
        assert answer.distortion == 0
        assert answer.risk < 1e-6
    shared = np.array([[0, 0, 9.0], [9.0, 0, 0], [9.0, 9.0, 0]])
    for name in OBJECTIVES:
        model = PrivacyDistortion(JOINT, shared, objective=name)
        answer = model.solve(distortion=0)
        assert answer.distortion == 0
        assert 0 < answer.least_risk <= answer.risk <= answer.least_risk + 1e-6
        assert answer.risk < model.largest_risk


def test_what_is_independent_of_the_secret_is_released_for_nothing():
    """X = (A, B), W = A: a release without risk keeps B, and is not constant."""
    joint = np.zeros((2, 4))
    for key in range(4):
        joint[key // 2, key] = 0.25
    d = np.array(
        [[(x // 2 != c // 2) + 10.0 * (x % 2 != c % 2) for c in range(4)] for x in range(4)]
    )
    for name in OBJECTIVES:
        model = PrivacyDistortion(joint, d, objective=name)
        riskless = model.solve(risk=0)
        assert riskless.distortion == pytest.approx(0.5, abs=1e-9)
        assert riskless.risk < 1e-9
        assert len(riskless.live) > 1
        assert 0 < model.solve(risk=0.3).distortion < 0.5


@pytest.mark.slow
def test_what_a_value_excludes_for_certain_is_an_infinite_ratio():
    model = PrivacyDistortion(np.eye(3) / 3, "zero_one", objective="delta_disclosure")
    assert model.largest_risk == math.inf
    faithful = model.solve(distortion=0)
    assert faithful.risk == faithful.least_risk == math.inf
    assert faithful.cost == 0
    assert "some released value excludes a confidential one" in faithful.sentences[0]
    with pytest.raises(OptionError, match="choose 0 bits or more"):
        model.solve(risk=-1)
    near = model.solve(distortion=0.01)
    assert near.risk == pytest.approx(math.log2(1 / 3 / 0.005), abs=1e-6)  # 1/3 becomes 0.01/2
    assert model.solve(risk=near.risk).distortion == pytest.approx(0.01, abs=1e-7)
    assert model.solve(risk=math.inf).distortion == 0
    assert model.solve(lam=0.01).gap < 1e-6
    curve = model.curve(points=6)
    assert all(math.isfinite(point.risk) for point in curve.points)
    assert json.loads(json.dumps(curve.to_dict(), allow_nan=False))["largest_risk"] == "inf"


def test_a_table_and_a_gaussian_take_an_objective():
    table = PrivacyDistortion.from_table(
        TABLE, confidential="sick", key="age", objective="maximal_leakage"
    )
    assert 0 < table.solve(distortion=10).risk < table.largest_risk
    assert table.reference is None
    grid = PrivacyDistortion.gaussian(rho=0.5, points=5, objective="delta_disclosure")
    assert grid.reference is None
    assert 0 < grid.solve(risk=4.0).distortion < grid.constant_distortion


# --- the curve --------------------------------------------------------------------------------


def test_a_curve_runs_from_the_key_to_nothing(model):
    shares = []
    curve = model.curve(points=8, progress=lambda _, share: shares.append(share))
    first, last = curve.points[0], curve.points[-1]
    assert first.distortion == 0
    assert first.risk == pytest.approx(model.largest_risk)
    assert last.risk == pytest.approx(0, abs=1e-12)
    assert last.lam == math.inf
    assert 3 <= len(curve.points) <= 8
    assert curve.objective == model.objective
    assert curve.gap < 1e-5
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    json.dumps(curve.to_dict(), allow_nan=False)


def test_the_bounds_of_a_curve_meet_at_its_points(model):
    curve = model.curve(points=8)
    for point in curve.points:
        assert curve.upper(point.distortion) <= point.risk + 1e-12
        assert point.lower <= curve.lower(point.distortion) + 1e-9
        assert curve.upper(point.distortion) - curve.lower(point.distortion) < 2e-4
    assert curve.upper(-1) == math.inf
    assert curve.lower(model.largest_distortion) == 0
    for distortion in np.linspace(0.01, model.constant_distortion, 17):
        assert curve.lower(distortion) <= curve.upper(distortion) + 1e-12


# --- bad input --------------------------------------------------------------------------------


def test_an_unknown_objective_is_refused():
    with pytest.raises(OptionError, match="no objective called entropy") as refused:
        PrivacyDistortion(JOINT, "squared", objective="entropy")
    assert "t_closeness" in refused.value.hint


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"risk": -0.1}, r"between 0 and \d\.\d+ bits"),
        ({"risk": 30}, "No perturbation reaches a risk of 30 bits"),
        ({"risk": math.nan}, "No perturbation reaches"),
        ({"distortion": -1}, "choose 0 or more"),
        ({"lam": -1}, "not a positive number"),
    ],
)
def test_what_no_rule_reaches_is_refused_with_the_interval(model, wish, sentence):
    with pytest.raises(OptionError) as refused:
        model.solve(**wish)
    assert re.search(sentence, str(refused.value))


# --- pieces -----------------------------------------------------------------------------------


def test_prices_of_nonsense_prove_nothing():
    prices = Prices.trivial(np.array([0.5, 0.5]), np.full((2, 2), np.nan))
    assert prices.bound(1.0) == -math.inf


def test_trivial_prices_prove_the_most_faithful_rule():
    prices = Prices.trivial(np.array([0.25, 0.75]), np.array([[1.0, 2.0], [5.0, 3.0]]))
    assert prices.bound(0.0) == pytest.approx(2.5)
    assert prices.bound(0.0) <= 2.5
    assert prices.least_risk(2.4, math.inf) == 300
    assert prices.least_risk(2.6, 1.0) == 0


def test_a_block_without_a_factor_needs_a_ridge():
    scale, none = np.ones((2, 1)), np.zeros((2, 1))

    def rows(_):
        return np.array([[1.0, 1.0]])

    with pytest.raises(np.linalg.LinAlgError):
        Blocks(scale, none, rows)
    ridged = Blocks(scale, none, rows, ridges=(0.0, 1e-3))
    assert np.isfinite(ridged.solve(np.ones((2, 1)))).all()
