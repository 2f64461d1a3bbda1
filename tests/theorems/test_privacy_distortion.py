"""The privacy-distortion function: its shape, its special cases, and what certificates prove."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import brute_force
from hartley.policies.distortion.model import PrivacyDistortion
from hartley.policies.distortion.newton import solve_second
from hartley.policies.distortion.problem import (
    Problem,
    evaluate,
    lower_bound,
    normalised,
    riskless_bound,
)
from hartley.policies.distortion.search import solve_first

SEEDS = st.integers(0, 2**32 - 1)


def random_problem(seed, *, lam=None, largest=6):
    joint, d, rng = brute_force.random_problem(seed, largest)
    return joint, d, lam or float(10 ** rng.uniform(-2, 1)), rng


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


def exact_cost(joint, d, rule, lam):
    """The distortion, the risk in nats and the cost of a rule, in forty digits."""
    with localcontext() as context:
        context.prec = 40
        joint, d, rule = ([[Decimal(float(n)) for n in row] for row in m] for m in (joint, d, rule))
        rule = [[entry / sum(row) for entry in row] for row in rule]
        whole = sum(map(sum, joint))
        joint = [[entry / whole for entry in row] for row in joint]
        key = [sum(column) for column in zip(*joint, strict=True)]
        distortion, risk = Decimal(0), Decimal(0)
        for c in range(len(d[0])):
            distortion += sum(p * rule[x][c] * d[x][c] for x, p in enumerate(key))
            total = sum(p * rule[x][c] for x, p in enumerate(key))
            for row in joint:
                both = sum(entry * rule[x][c] for x, entry in enumerate(row))
                if both:
                    risk += both * (both / (sum(row) * total)).ln()
        return distortion, risk, distortion + Decimal(lam) * risk


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
        cost = exact_cost(joint, d, rule, lam)[2]
        found = lower_bound(problem, scores)
        assert Decimal(found) <= bound
        assert bound - Decimal(found) < Decimal("1e-10")
        assert Decimal(told.cost) + Decimal(told.margin) >= cost
        assert Decimal(told.margin) < Decimal("1e-11")


@pytest.mark.parametrize("lam", [1.0, 1e9, 1e17, 1e300])
@pytest.mark.parametrize("apart", [1e-5, 1e-8, 1e-13])
def test_the_gap_is_true_where_the_key_tells_next_to_nothing(apart, lam):
    joint = 0.25 + apart * np.array([[1, -1], [-1, 1]])
    d = 1 - np.eye(2)
    answer = PrivacyDistortion(joint, d, base=math.e).solve(lam=lam)
    simple = [exact_cost(joint, d, rule, lam)[2] for rule in (np.eye(2), [[1, 0], [1, 0]])]
    assert Decimal(answer.cost) - Decimal(answer.gap) <= min(simple)
    assert exact_cost(joint, d, answer.matrix, lam)[2] - Decimal(answer.gap) <= min(simple)
    assert answer.gap < 0.51


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_the_gap_is_true_for_any_scale_of_probabilities_distortions_and_lam(seed):
    joint, d, _, rng = random_problem(seed, largest=4)
    joint *= 10.0 ** rng.uniform(-12, 0, joint.shape)
    d *= 10.0 ** rng.uniform(-9, 9, rng.choice([d.shape, (d.shape[0], 1), (1, 1)]))
    model = PrivacyDistortion(joint / joint.sum(), d, base=math.e)
    lam = 10.0 ** rng.uniform(-12, 12) * max(model.constant_distortion, 1e-300)
    answer, exact = model.solve(lam=lam), model.joint.matrix
    constant = np.zeros_like(d)
    constant[:, (exact.sum(axis=0) @ d).argmin()] = 1
    faithful = d == d.min(axis=1, keepdims=True)
    rules = (answer.matrix, constant, faithful, rng.dirichlet(np.ones(d.shape[1]), len(d)))
    least = min(exact_cost(exact, d, rule, lam)[2] for rule in rules) / Decimal(1 - 1e-15)
    assert Decimal(answer.cost) - Decimal(answer.gap) <= least


@pytest.mark.parametrize("rare", [1e-2, 1e-6, 1e-8, 1e-12])
@pytest.mark.parametrize(
    "objective", ["mutual_information", "t_closeness", "delta_disclosure", "maximal_leakage"]
)
def test_no_risk_is_none_however_rare_the_confidential_value_is(rare, objective):
    """Half of the key is independent and kept; the rest tells of one rare value alone."""
    secret = np.array([rare, (1 - rare) / 2, (1 - rare) / 2])
    told = np.array([[0.9, 0.1], [0.4, 0.6], [0.4, 0.6]])
    joint = np.einsum("w,wa,b->wab", secret, told, [0.5, 0.3, 0.2]).reshape(3, 6)
    keys = [(a, b) for a in range(2) for b in range(3)]
    model = PrivacyDistortion(joint / joint.sum(), "squared", values=keys, objective=objective)
    quiet = model.solve(risk=0)
    assert quiet.risk < 1e-12
    assert quiet.distortion == pytest.approx(joint.sum(axis=0)[:3].sum(), abs=1e-6)
    limit = model.largest_risk / 10
    assert model.solve(risk=limit).risk <= limit * (1 + 1e-9) + 1e-15


def test_what_a_solver_leaves_of_a_dead_release_does_not_hide_the_best_riskless_rule():
    """For these counts it leaves a release of probability 3e-14 that tells something."""
    counts = np.random.default_rng(12).integers(1, 50, (3, 8))
    model = PrivacyDistortion(counts / counts.sum(), "squared")
    quiet = model.solve(risk=0)
    assert quiet.risk < 1e-12
    assert quiet.gap < 1e-6 * model.constant_distortion
    assert quiet.distortion < 0.999 * model.constant_distortion


@pytest.mark.parametrize("objective", ["t_closeness", "delta_disclosure", "maximal_leakage"])
def test_the_worst_case_keeps_its_limit_where_the_average_is_lost_in_rounding(objective):
    joint = np.array([[1e-15, 1e-16], [0.5, 0.5]])
    model = PrivacyDistortion(joint / joint.sum(), "zero_one", objective=objective)
    limit = max(model.largest_risk / 10, 1e-9)
    if model.largest_risk > limit:
        assert model.solve(risk=limit).risk <= limit * (1 + 1e-9)
    weighed = model.solve(lam=100.0)
    assert weighed.cost - weighed.gap <= 0.5


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
