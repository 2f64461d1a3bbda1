"""Privacy against distortion in the worst case: what prices prove, and independent oracles."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from brute_force import random_problem
from hartley.measures.anonymity import delta_disclosure, t_closeness
from hartley.measures.leakage import maximal_leakage
from hartley.policies.distortion.model import PrivacyDistortion
from hartley.policies.distortion.newton import distortion_of, repaired, solve_inside
from hartley.policies.distortion.problem import Problem, normalised
from hartley.policies.distortion.worst_case_limits import (
    LIMITS,
    Multipliers,
    floor_between,
    joint_of,
)
from hartley.ranges.distribution import JointDistribution

SEEDS = st.integers(0, 2**32 - 1)
OBJECTIVES = st.sampled_from(sorted(LIMITS))
MEASURES = {
    "t_closeness": t_closeness,
    "delta_disclosure": delta_disclosure,
    "maximal_leakage": maximal_leakage,
}


def random_multipliers(name, problem, rng):
    _, secrets, released = problem.sizes
    size = float(10 ** rng.uniform(-2, 1))
    rows = {"t_closeness": 1, "delta_disclosure": 2 * secrets, "maximal_leakage": secrets}[name]
    weights = rng.random((rows, released)) ** 2 * size
    scores = rng.normal(0, 1, (secrets, released)) if name == "t_closeness" else None
    return Multipliers(weights, scores)


def random_rule(problem, rng):
    return normalised(rng.random(problem.distortion.shape) ** rng.choice([0.3, 1, 4, 16]))


# --- what prices prove ------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(SEEDS, OBJECTIVES)
def test_no_rule_within_a_risk_has_less_distortion_than_any_prices_prove(seed, name):
    joint, d, rng = random_problem(seed, 5)
    problem = Problem.of(joint, d, 1.0)
    prices = LIMITS[name](problem, 1.0).prices(problem, random_multipliers(name, problem, rng))
    for _ in range(5):
        rule = random_rule(problem, rng)
        risk = MEASURES[name](joint_of(problem, rule), base=math.e)
        assume(math.isfinite(risk))
        assert prices.bound(risk * (1 + 1e-12) + 1e-13) <= distortion_of(problem, rule) + 1e-14


@settings(max_examples=30, deadline=None)
@given(SEEDS, OBJECTIVES)
def test_rounding_moves_bounds_outward(seed, name):
    """Against the same formula in forty digits, the bound is never too high, nor much too low."""
    joint, d, rng = random_problem(seed, 4)
    problem = Problem.of(joint, d, 1.0)
    multipliers = random_multipliers(name, problem, rng)
    risk = float(rng.uniform(0.01, 2))
    found = LIMITS[name](problem, risk).prices(problem, multipliers).bound(risk)
    with localcontext() as context:
        context.prec = 40
        exact = in_decimals(name, joint, d, multipliers, Decimal(risk))
        assert Decimal(found) <= exact
        assert exact - Decimal(found) < Decimal("1e-10")


def in_decimals(name, joint, d, multipliers, risk):
    p = [[Decimal(float(entry)) for entry in row] for row in joint]
    key, secret = [sum(column) for column in zip(*p, strict=True)], [sum(row) for row in p]
    weights = [[Decimal(float(entry)) for entry in row] for row in multipliers.weights]
    m, n = len(secret), len(key)
    total = Decimal(0)
    common = max(sum(column) for column in zip(*weights, strict=True))
    for x in range(n):
        entries = []
        for c in range(d.shape[1]):
            entry = Decimal(float(d[x, c]))
            if name == "t_closeness":
                y = [Decimal(float(score)) for score in multipliers.scores[:, c]]
                norm = sum(s * one.exp() for s, one in zip(secret, y, strict=True)).ln()
                mean = sum(p[w][x] / key[x] * y[w] for w in range(m))
                entry += weights[0][c] * (mean - norm - risk)
            else:
                ratios = [p[w][x] / key[x] / secret[w] for w in range(m)]
                for w in range(m):
                    if name == "maximal_leakage":
                        entry += weights[w][c] * ratios[w]
                    else:
                        entry += weights[w][c] * (ratios[w] - risk.exp())
                        entry += weights[m + w][c] * ((-risk).exp() - ratios[w])
            entries.append(entry)
        total += key[x] * min(entries)
    return total - common * risk.exp() if name == "maximal_leakage" else total


@settings(max_examples=15, deadline=None)
@given(SEEDS, OBJECTIVES)
def test_the_floor_of_an_interval_is_below_every_rule_in_it(seed, name):
    joint, d, rng = random_problem(seed, 5)
    problem = Problem.of(joint, d, 1.0)
    low, high = np.sort(rng.uniform(0.02, 1.5, 2)).tolist()
    ends = []
    for risk in (low, high):
        limit = LIMITS[name](problem, risk)
        found = solve_inside(problem, limit, tolerance=float(10 ** rng.uniform(-9, -1)))
        ends.append(limit.prices(problem, found.multipliers))
    risks, floors = floor_between(*ends, low, high)
    assert (np.diff(risks) >= 0).all()
    for risk in rng.uniform(low, high, 2):
        limit = LIMITS[name](problem, float(risk))
        best = solve_inside(problem, limit, tolerance=1e-9)
        floor = max(
            float(np.interp(risk, risks[place : place + 2], floors[place : place + 2]))
            for place in range(0, risks.size, 2)
            if risks[place] <= risk <= risks[place + 1]
        )
        assert floor <= best.distortion + 1e-12


@settings(max_examples=40, deadline=None)
@given(SEEDS, OBJECTIVES)
def test_any_rule_can_be_brought_within_a_limit(seed, name):
    joint, d, rng = random_problem(seed, 5)
    problem = Problem.of(joint, d, 1.0)
    limit = LIMITS[name](problem, float(10 ** rng.uniform(-4, 0.5)))
    rule = repaired(problem, limit, random_rule(problem, rng), 1e-3)
    assert np.allclose(rule.sum(axis=1), 1)
    assert MEASURES[name](joint_of(problem, rule), base=math.e) <= limit.risk * (1 + 1e-9)


# --- independent oracles ----------------------------------------------------------------------


def linear_limits(name, ratios, risk):
    """Rows that every column keeps at or below zero, the last entry being its share of a sum."""
    keys, secrets = ratios.shape
    if name == "maximal_leakage":
        return np.hstack([ratios.T, -np.ones((secrets, 1))])
    if name == "delta_disclosure":
        both = np.vstack([ratios.T - math.exp(risk), math.exp(-risk) - ratios.T])
        return np.hstack([both, np.zeros((2 * secrets, 1))])
    return np.zeros((0, keys + 1))


def divergence_cuts(columns, given_key, secret, risk):
    """Tangents of the divergence at every column, and by how much the worst exceeds the limit."""
    cuts, worst = [], 0.0
    for column in columns:
        share = max(column.sum(), 1e-300)
        after = np.maximum(column @ given_key / share, 1e-12)
        logs = np.log(after / secret)
        if share > 1e-12:
            worst = max(worst, float(after @ logs) - risk)
        cuts.append(given_key @ (logs - math.log(float(secret @ np.exp(logs)))) - risk)
    return np.array(cuts), worst


def by_linear_programme(name, joint, d, risk):
    """The least distortion by another solver; divergences by cuts at the points it visits."""
    from scipy.optimize import linprog

    keys, released = d.shape
    key, secret = joint.sum(axis=0), joint.sum(axis=1)
    given_key = (joint / key).T
    size = keys + 1
    cost = np.vstack([d, np.zeros(released)]).T.ravel()
    equal = np.kron(np.ones((1, released)), np.eye(keys, size))
    rows = [np.kron(np.eye(released), linear_limits(name, given_key / secret, risk))]
    rows.append(np.tile(np.eye(size)[-1:], (1, released)))
    right = np.append(np.zeros(rows[0].shape[0]), math.exp(risk))
    for _ in range(60):
        solved = linprog(cost, A_ub=np.vstack(rows), b_ub=right, A_eq=equal, b_eq=key)
        if name != "t_closeness":
            break
        columns = solved.x.reshape(released, size)[:, :-1]
        cuts, worst = divergence_cuts(columns, given_key, secret, risk)
        if worst < 1e-9:
            break
        rows += [np.kron(np.eye(released)[c], np.append(cuts[c], 0))[None] for c in range(released)]
        right = np.append(right, np.zeros(released))
    return solved.fun


@settings(max_examples=20, deadline=None)
@given(SEEDS, OBJECTIVES)
def test_the_least_distortion_is_that_of_another_solver(seed, name):
    joint, d, rng = random_problem(seed, 4)
    model = PrivacyDistortion(joint, d, base=math.e, objective=name)
    top = min(model.largest_risk, 3.0)
    assume(top > 1e-3)
    risk = float(rng.uniform(0.05, 0.95)) * top
    answer = model.solve(risk=risk, tolerance=1e-8)
    assert answer.distortion == pytest.approx(by_linear_programme(name, joint, d, risk), abs=2e-6)
    assert answer.risk <= risk + 1e-12
    assert answer.gap <= 1e-7


@settings(max_examples=12, deadline=None)
@given(SEEDS, OBJECTIVES)
def test_no_random_rule_beats_what_is_certified(seed, name):
    joint, d, rng = random_problem(seed, 4)
    model = PrivacyDistortion(joint, d, base=math.e, objective=name)
    problem = Problem.of(joint, d, 1.0)
    scale = model.constant_distortion - model.least_distortion
    assume(scale > 1e-3 and model.largest_risk > 1e-3)
    wish = model.least_distortion + float(rng.uniform(0.05, 0.9)) * scale
    near, lam = model.solve(distortion=wish, tolerance=1e-6), float(10 ** rng.uniform(-1.5, 0.5))
    cheap = model.solve(lam=lam, tolerance=1e-6)
    assert near.distortion <= wish + 1e-12
    for answer in (near, cheap):
        for share in (0.0, 0.5, 0.9, 0.99):
            rule = share * answer.matrix + (1 - share) * random_rule(problem, rng)
            distortion = distortion_of(problem, rule)
            risk = MEASURES[name](joint_of(problem, rule), base=math.e)
            assert distortion + lam * risk >= cheap.cost - cheap.gap
            if distortion <= answer.distortion:
                assert risk >= answer.least_risk


def test_a_noisy_bit_has_its_closed_forms():
    for error in (0.02, 0.11, 0.3):
        entropy = -error * math.log2(error) - (1 - error) * math.log2(1 - error)
        for name, bits in (
            ("t_closeness", 1 - entropy),
            ("delta_disclosure", -math.log2(2 * error)),
            ("maximal_leakage", math.log2(2 * (1 - error))),
        ):
            model = PrivacyDistortion(np.eye(2) / 2, "zero_one", objective=name)
            assert model.solve(distortion=error).risk == pytest.approx(bits, abs=1e-7)
            assert model.solve(risk=bits).distortion == pytest.approx(error, abs=1e-7)


def test_least_risk_jumps_where_any_gain_needs_a_telling_release():
    """Below the constant release of distortion 0.3, somebody has to be believed at 0.7."""
    d = np.array([[0.3, 0.0, 1.0], [0.3, 1.0, 0.0]])
    divergence = 1 + 0.7 * math.log2(0.7) + 0.3 * math.log2(0.3)
    for name, bits in (("t_closeness", divergence), ("delta_disclosure", -math.log2(0.6))):
        model = PrivacyDistortion(np.eye(2) / 2, d, objective=name)
        assert model.solve(distortion=0.3).risk == 0
        just_below = model.solve(distortion=0.3 - 1e-6)
        assert just_below.least_risk > bits - 1e-4
        assert just_below.risk < bits + 1e-3
        assert model.solve(risk=0.9 * bits).distortion == pytest.approx(0.3, abs=1e-9)
    average = PrivacyDistortion(np.eye(2) / 2, d).solve(distortion=0.3 - 1e-6)
    assert average.risk < 1e-4


# --- the curves -------------------------------------------------------------------------------


@settings(max_examples=6, deadline=None)
@given(SEEDS)
def test_the_average_is_below_the_worst_value_and_that_below_the_worst_pair(seed):
    joint, d, rng = random_problem(seed, 4)
    models = {
        name: PrivacyDistortion(joint, d, objective=name)
        for name in ("mutual_information", *LIMITS)
    }
    one = models["t_closeness"]
    scale = one.constant_distortion - one.least_distortion
    assume(scale > 1e-3)
    wish = one.least_distortion + float(rng.uniform(0.1, 0.95)) * scale
    answers = {name: model.solve(distortion=wish, tolerance=1e-6) for name, model in models.items()}
    assert answers["mutual_information"].least_risk <= answers["t_closeness"].risk + 1e-12
    assert answers["t_closeness"].least_risk <= answers["delta_disclosure"].risk + 1e-12
    assert answers["mutual_information"].least_risk <= answers["maximal_leakage"].risk + 1e-12


@settings(max_examples=6, deadline=None)
@given(SEEDS, OBJECTIVES)
def test_least_risk_does_not_grow_with_distortion_and_the_curve_says_so(seed, name):
    joint, d, rng = random_problem(seed, 4)
    model = PrivacyDistortion(joint, d, objective=name)
    low, scale = model.least_distortion, model.constant_distortion - model.least_distortion
    assume(scale > 1e-3)
    curve = model.curve(points=7)
    risks = [point.risk for point in curve.points]
    assert risks == sorted(risks, reverse=True)
    previous = math.inf
    for share in np.sort(rng.random(3)):
        wish = low + float(share) * scale
        answer = model.solve(distortion=wish, tolerance=1e-6)
        assert curve.lower(wish) <= answer.risk + 1e-9
        assert answer.least_risk <= curve.upper(wish) + 1e-9
        assert answer.least_risk <= previous + 1e-9
        previous = answer.risk


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_the_ends_are_the_key_itself_and_nothing(name):
    joint = np.array([[0.3, 0.1, 0.05], [0.1, 0.15, 0.3]])
    model = PrivacyDistortion(joint, "squared", objective=name)
    faithful, riskless = model.solve(distortion=0), model.solve(risk=0)
    assert np.array_equal(faithful.matrix, np.eye(3))
    assert faithful.risk == pytest.approx(MEASURES[name](JointDistribution(joint)))
    assert faithful.least_risk == faithful.risk
    assert riskless.risk == pytest.approx(0, abs=1e-12)
    assert riskless.distortion == pytest.approx(model.constant_distortion)
    assert riskless.gap < 1e-9
