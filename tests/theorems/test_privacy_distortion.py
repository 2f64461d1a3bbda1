"""The privacy-distortion function: its shape, its special cases, and what certificates prove."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from hartley.policies.tradeoff.first_order import solve_first
from hartley.policies.tradeoff.model import PrivacyDistortion
from hartley.policies.tradeoff.problem import (
    Problem,
    evaluate,
    lower_bound,
    normalised,
    riskless_bound,
)
from hartley.policies.tradeoff.second_order import solve_second

SEEDS = st.integers(0, 2**32 - 1)


def random_problem(seed, *, lam=None, largest=6):
    rng = np.random.default_rng(seed)
    secrets, keys, released = rng.integers(2, largest + 1, 3)
    joint = rng.random((secrets, keys)) ** rng.choice([1, 3])
    if rng.random() < 0.3:
        joint *= rng.random((secrets, keys)) < 0.6
    joint[:, joint.sum(axis=0) == 0] += 0.1
    joint[joint.sum(axis=1) == 0] += 0.1
    joint /= joint.sum()
    return joint, rng.random((keys, released)), lam or float(10 ** rng.uniform(-2, 1)), rng


def blahut_arimoto(p, d, lam, rounds=20_000):
    """Rate-distortion by the classic alternating minimisation, with the classic bound."""
    q = np.full(d.shape[1], 1 / d.shape[1])
    kernel = np.exp(-d / lam)
    for _ in range(rounds):
        z = kernel @ q
        c = (p / z) @ kernel
        q = q * c
        if np.log(c.max()) < 1e-12:
            break
    rule = kernel * q / (kernel @ q)[:, None]
    return -lam * float(p @ np.log(kernel @ q)), rule


# --- certificates -----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_no_rule_costs_less_than_any_scores_prove(seed):
    joint, d, lam, rng = random_problem(seed)
    problem = Problem.of(joint, d, lam)
    scores = rng.normal(0, rng.choice([0.1, 1, 20]), (joint.shape[0], d.shape[1]))
    bound = lower_bound(problem, scores)
    for sharp in (0.3, 1, 4):
        rule = normalised(rng.random(d.shape) ** sharp)
        told = evaluate(problem, rule)
        assert bound <= told.cost + told.margin
    assert bound <= solve_second(problem, tolerance=1e-9).cost


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_rounding_moves_bound_and_cost_outward(seed):
    """Against the same formulas in forty digits, the bound is never too high nor the cost low."""
    joint, d, lam, rng = random_problem(seed, largest=4)
    problem = Problem.of(joint, d, lam)
    scores = rng.normal(0, 3, (joint.shape[0], d.shape[1]))
    rule = normalised(rng.random(d.shape))
    told = evaluate(problem, rule)
    with localcontext() as context:
        context.prec = 40
        exact_joint = [[Decimal(float(entry)) for entry in row] for row in joint]
        key = [sum(column) for column in zip(*exact_joint, strict=True)]
        secret = [sum(row) for row in exact_joint]
        weight = Decimal(lam)
        bound = sum(
            min(
                Decimal(float(d[x, c])) * p
                + weight
                * sum(exact_joint[w][x] * Decimal(float(scores[w, c])) for w in range(len(secret)))
                - weight
                * p
                * sum(s * Decimal(float(scores[w, c])).exp() for w, s in enumerate(secret)).ln()
                for c in range(d.shape[1])
            )
            for x, p in enumerate(key)
        )
        cost = Decimal(0)
        rows = [[Decimal(float(entry)) for entry in row] for row in rule]
        rows = [[entry / sum(row) for entry in row] for row in rows]
        for c in range(d.shape[1]):
            cost += sum(p * rows[x][c] * Decimal(float(d[x, c])) for x, p in enumerate(key))
            total = sum(p * rows[x][c] for x, p in enumerate(key))
            for w, s in enumerate(secret):
                u = sum(exact_joint[w][x] * rows[x][c] for x in range(len(key)))
                if u:
                    cost += weight * u * (u / (s * total)).ln()
        found = lower_bound(problem, scores)
        assert Decimal(found) <= bound
        assert bound - Decimal(found) < Decimal("1e-10")
        assert Decimal(told.cost) + Decimal(told.margin) >= cost
        assert Decimal(told.margin) < Decimal("1e-11")


def test_a_bound_of_nonsense_is_no_bound():
    joint, d, lam, _ = random_problem(1)
    scores = np.zeros((joint.shape[0], d.shape[1]))
    scores[0, 0] = np.nan
    assert lower_bound(Problem.of(joint, d, lam), scores) == -math.inf


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_no_rule_without_risk_has_less_distortion_than_prices_prove(seed):
    joint, d, _, rng = random_problem(seed)
    problem = Problem.of(joint, d, 1.0)
    bound = riskless_bound(problem, rng.normal(0, 1, (joint.shape[0], d.shape[1])))
    constant = normalised(np.tile(rng.random(d.shape[1]), (d.shape[0], 1)))
    assert bound <= evaluate(problem, constant).distortion + 1e-12


# --- the two methods --------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_second_order_method_closes_the_gap(seed):
    joint, d, lam, _ = random_problem(seed, largest=8)
    found = solve_second(Problem.of(joint, d, lam), tolerance=1e-11)
    assert -1e-15 <= found.gap < 1e-9


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_both_methods_agree_within_their_gaps(seed):
    joint, d, lam, _ = random_problem(seed, largest=5)
    problem = Problem.of(joint, d, lam)
    second = solve_second(problem, tolerance=1e-10)
    first = solve_first(problem, tolerance=1e-5, most=3000)
    assert first.bound <= second.cost
    assert second.bound <= first.cost
    assert first.gap < 1e-3


def test_the_first_order_method_never_loses_its_best_rule():
    problem = Problem.of(*random_problem(5)[:3])
    costs = [solve_first(problem, tolerance=0.0, most=most).cost for most in (1, 20, 100, 400)]
    assert costs == sorted(costs, reverse=True)


# --- the curve --------------------------------------------------------------------------------


@settings(max_examples=8, deadline=None)
@given(SEEDS)
def test_the_curve_is_convex_and_does_not_grow(seed):
    joint, d, _, _ = random_problem(seed, largest=5)
    model = PrivacyDistortion(joint, d, base=math.e)
    low, high = model.least_distortion, model.constant_distortion
    assume(high - low > 1e-6)
    wishes = np.linspace(low, high, 6)
    answers = [model.solve(distortion=wish) for wish in wishes]
    risks = [answer.risk for answer in answers]
    for answer, wish in zip(answers, wishes, strict=True):
        assert answer.distortion <= wish + 1e-12
        assert answer.least_risk <= answer.risk <= answer.least_risk + 1e-5
    assert np.diff(risks).max() <= 1e-6
    middles = [(risks[i - 1] + risks[i + 1]) / 2 for i in range(1, 5)]
    assert all(risk <= middle + 1e-5 for risk, middle in zip(risks[1:5], middles, strict=True))


@settings(max_examples=8, deadline=None)
@given(SEEDS)
def test_distortion_and_risk_are_two_ways_to_ask_for_the_same_point(seed):
    joint, d, _, rng = random_problem(seed, largest=5)
    model = PrivacyDistortion(joint, d)
    scale = model.constant_distortion - model.least_distortion
    assume(scale > 1e-6)
    wish = model.least_distortion + float(rng.uniform(0.1, 0.7)) * scale
    one = model.solve(distortion=wish)
    assume(one.risk > 1e-6 and one.lam < 1e3 * scale)
    other = model.solve(risk=one.risk)
    assert other.distortion == pytest.approx(one.distortion, abs=2e-6 * scale)
    assert other.risk <= one.risk + 1e-12


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_it_equals_blahut_and_arimoto_when_the_key_itself_is_confidential(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    p = rng.random(size) + 0.05
    p /= p.sum()
    d = rng.random((size, size)) * (1 - np.eye(size))
    lam = float(rng.uniform(0.05, 1.0))
    answer = PrivacyDistortion(np.diag(p), d, base=math.e).solve(lam=lam)
    cost, _ = blahut_arimoto(p, d, lam)
    assert answer.cost == pytest.approx(cost, abs=1e-8)


def test_a_binary_source_has_the_textbook_curve():
    model = PrivacyDistortion([[0.5, 0.0], [0.0, 0.5]], "zero_one")
    for distortion in (0.05, 0.11, 0.3):
        entropy = -distortion * math.log2(distortion) - (1 - distortion) * math.log2(1 - distortion)
        assert model.solve(distortion=distortion).risk == pytest.approx(1 - entropy, abs=1e-7)


def test_the_ends_of_the_curve_are_the_faithful_and_the_riskless_release():
    joint = np.array([[0.3, 0.1, 0.05], [0.1, 0.15, 0.3]])
    model = PrivacyDistortion(joint, "squared")
    faithful, riskless = model.solve(distortion=0), model.solve(risk=0)
    assert np.array_equal(faithful.matrix, np.eye(3))
    assert faithful.risk == pytest.approx(model.largest_risk)
    assert riskless.risk == pytest.approx(0, abs=1e-12)
    assert riskless.gap < 1e-9
    assert riskless.distortion <= model.constant_distortion


def test_a_part_of_the_key_that_is_independent_of_the_secret_is_released_for_nothing():
    """X = (A, B), W = A: the riskless release keeps B, and is not constant."""
    joint = np.zeros((2, 4))
    for a in range(2):
        for b in range(2):
            joint[a, 2 * a + b] = 0.25
    d = np.array([[(x // 2 != c // 2) + 10 * (x % 2 != c % 2) for c in range(4)] for x in range(4)])
    answer = PrivacyDistortion(joint, d.astype(float)).solve(risk=0)
    assert answer.distortion == pytest.approx(0.5, abs=1e-9)
    assert answer.gap < 1e-9
    assert len(answer.live) > 1


@settings(max_examples=6, deadline=None)
@given(SEEDS)
def test_the_traced_curve_lies_between_its_bounds(seed):
    joint, d, _, rng = random_problem(seed, largest=5)
    model = PrivacyDistortion(joint, d)
    scale = model.constant_distortion - model.least_distortion
    assume(scale > 1e-6)
    curve = model.curve(points=9)
    for share in rng.random(3):
        wish = model.least_distortion + share * scale
        answer = model.solve(distortion=wish)
        assert curve.lower(wish) <= answer.risk + 1e-9
        assert answer.least_risk <= curve.upper(wish) + 1e-9
