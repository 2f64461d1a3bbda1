"""The gap of a privacy-distortion answer: reached where possible, always true, said if missed.

The oracles: cost and dual bound once more in 64-bit mantissas, and the conic solver Clarabel.
"""

import math
from itertools import pairwise

import clarabel
import numpy as np
import pytest
from scipy.sparse import csc_array

from brute_force import random_problem
from hartley.policies.distortion import search
from hartley.policies.distortion.model import PrivacyDistortion
from hartley.policies.distortion.newton import solve_second
from hartley.policies.distortion.problem import Progress
from hartley.studies.release.curve import curve

TOLERANCE = 1e-6


def households(seed, ages=7, hours=60, people=30_000, secrets=2):
    """Counts of people by age, hours a week and income: many keys, most of them rare."""
    rng = np.random.default_rng(seed)
    age = 10.0 * np.arange(1, ages + 1)
    week = np.sort(rng.choice(np.arange(1, 100), hours, replace=False)).astype(float)
    common = np.exp(-(((age - 0.8 * age.mean()) / (age.std() + 1)) ** 2))
    shares = np.outer(common, rng.pareto(1.0, hours) + 0.02).ravel()
    points = np.array([(a, w) for a in age for w in week])
    counts = rng.multinomial(people, shares / shares.sum())
    rich = (points[:, 0] - 40) / 20 + (points[:, 1] - 45) / 25 + rng.normal(0, 1, len(points))
    odds = np.exp(np.outer(np.arange(secrets) / 2, rich))
    odds /= odds.sum(axis=0)
    joint = np.array([rng.multinomial(n, odds[:, x]) for x, n in enumerate(counts)], float).T
    points, joint = points[counts > 0], joint[:, counts > 0] / people
    return joint, ((points[:, None] - points) ** 2).sum(axis=2)


def rarities(seed):
    """A few dozen key values, some of them so rare that interior points lose all digits."""
    rng = np.random.default_rng(seed)
    keys, secrets = int(rng.integers(20, 60)), int(rng.integers(2, 4))
    joint = rng.dirichlet(np.full(keys * secrets, 0.02)).reshape(secrets, keys)
    joint = joint[:, joint.sum(axis=0) > 0]
    points = np.sort(rng.normal(size=joint.shape[1]))
    return joint / joint.sum(), (points[:, None] - points) ** 2


def evaluated(model, answer, lam):
    """Return the cost of a rule and the bound that its scores prove, lam in nats."""
    joint, d = model.joint.matrix.astype(np.longdouble), model.distortion.astype(np.longdouble)
    key, secret = joint.sum(axis=0), joint.sum(axis=1)
    rule = answer.matrix.astype(np.longdouble)
    both, total = joint @ rule, key @ rule
    ratio = np.where(both > 0, both, 1) / np.where(both > 0, np.outer(secret, total), 1)
    risk = (both * np.log(ratio)).sum()
    cost = (key[:, None] * rule * d).sum() + np.longdouble(lam) * risk
    scores = answer.scores.astype(np.longdouble)
    norm = np.log(secret @ np.exp(scores - scores.max(axis=0))) + scores.max(axis=0)
    slack = d + np.longdouble(lam) * ((joint / key).T @ scores - norm)
    return float(cost), float(key @ slack.min(axis=1))


def assert_gap_is_true(model, answer, lam):
    cost, bound = evaluated(model, answer, lam)
    assert cost - bound <= answer.gap * (1 + 1e-9)
    assert answer.cost == pytest.approx(cost, rel=1e-9)


# --- reached ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "secrets", "lam"), [(10, 2, 100.0), (13, 3, 1000.0)])
def test_many_small_steps_are_no_stall(seed, secrets, lam):
    joint, d = households(seed, secrets=secrets)
    model = PrivacyDistortion(joint, d, base=math.e)
    scale = model.constant_distortion - model.least_distortion
    answer = model.solve(lam=lam * scale, tolerance=TOLERANCE)
    assert answer.gap <= TOLERANCE * scale
    assert answer.reached
    assert_gap_is_true(model, answer, lam * scale)


def test_a_stall_is_judged_by_several_steps_together():
    slow = Progress(patience=20)
    assert not any(slow.stalled(0.9**step) for step in range(200))
    assert any(slow.stalled(1 + 0.9**step) for step in range(200))


@pytest.mark.parametrize("seed", range(6))
def test_a_gap_that_was_never_finite_is_no_stall(seed):
    patient = Progress(patience=seed)
    assert not any(patient.stalled(math.inf) for _ in range(30))


STALLS = (3, 22, 35, 46)
"""Seeds of rarities on which interior points alone miss the tolerance; on which machine which."""


def test_where_interior_points_stall_the_first_order_method_goes_on():
    stalled = 0
    for seed in STALLS:
        joint, d = rarities(seed)
        model = PrivacyDistortion(joint, d, base=math.e)
        scale = model.constant_distortion
        lam = 0.2 * scale
        alone = solve_second(model._solver.scaled.weighing(0.2), tolerance=1e-9)
        answer = model.solve(lam=lam, tolerance=1e-9)
        if alone.gap > 1e-9:
            stalled += 1
            assert answer.reached or answer.gap <= alone.gap * scale / 100
        assert answer.gap <= 1e-7 * scale
        assert answer.reached == (answer.gap <= answer.wanted_gap)
        assert_gap_is_true(model, answer, lam)
    assert stalled >= 2


def conic_cost(joint, d, lam):
    """The least cost by an independent conic solver: x log(x/y) <= -t where (t, x, y) is in a cone.

    Variables are the mass of every pair of key and release, and a t for every pair of secret and
    release.
    """
    key, secret = joint.sum(axis=0), joint.sum(axis=1)
    given = joint / key
    keys, releases = d.shape
    pairs, terms = keys * releases, secret.size * releases
    nothing = np.zeros((1, releases))
    rows = [np.hstack((np.kron(np.eye(keys), np.ones(releases)), np.zeros((keys, terms))))]
    rows.append(np.hstack((-np.eye(pairs), np.zeros((pairs, terms)))))
    for w, share in enumerate(secret):
        for y in range(releases):
            at = nothing.copy()
            at[0, y] = 1
            both, total = np.kron(given[w], at), np.kron(np.ones(keys), at)
            term = np.zeros((1, terms))
            term[0, w * releases + y] = 1
            none = np.zeros((1, terms))
            rows.append(-np.hstack((np.zeros((1, pairs)), term)))
            rows.append(-np.hstack((both, none)))
            rows.append(-np.hstack((share * total, none)))
    matrix = csc_array(np.vstack(rows))
    constant = np.concatenate((key, np.zeros(pairs + 3 * terms)))
    goal = np.concatenate((d.ravel() / lam, -np.ones(terms)))
    cones = [clarabel.ZeroConeT(keys), clarabel.NonnegativeConeT(pairs)]
    cones += [clarabel.ExponentialConeT() for _ in range(terms)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    linear = csc_array((goal.size, goal.size))
    solved = clarabel.DefaultSolver(linear, goal, matrix, constant, cones, settings).solve()
    assert str(solved.status) == "Solved"
    return lam * solved.obj_val


@pytest.mark.parametrize("lam", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_conic_solver_finds_the_same_cost(seed, lam):
    joint, d = households(seed, ages=3, hours=8, people=800, secrets=2 + seed)
    d /= d.max()
    answer = PrivacyDistortion(joint, d, base=math.e).solve(lam=lam)
    assert answer.cost == pytest.approx(conic_cost(joint, d, lam), rel=3e-4)


# --- true over six decades --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("joint", "d"),
    [
        households(0, ages=4, hours=10),
        households(2, ages=5, hours=8, secrets=4),
        rarities(4),
        rarities(14),
    ],
    ids=["households", "four incomes", "rare", "rarer"],
)
def test_the_gap_bounds_what_the_scores_prove_over_six_decades(joint, d):
    model = PrivacyDistortion(joint, d, base=math.e)
    scale = model.constant_distortion - model.least_distortion
    costs = []
    for lam in scale * np.logspace(-2, 5, 15):
        answer = model.solve(lam=float(lam), tolerance=1e-8)
        assert_gap_is_true(model, answer, float(lam))
        costs.append((answer.cost - answer.gap, answer.cost))
    # The least cost grows with lam.
    for (low, _), (_, high) in pairwise(costs):
        assert low <= high


@pytest.mark.parametrize("seed", [14, 23, 69, 74])
def test_scores_borrowed_from_a_smaller_lam_prove_the_gap_themselves(seed):
    rng = np.random.default_rng(seed)
    keys, secrets = int(rng.integers(4, 20)), int(rng.integers(3, 20))
    joint = rng.dirichlet(np.full(keys * secrets, 0.1)).reshape(secrets, keys)
    joint = joint[joint.sum(axis=1) > 0]
    model = PrivacyDistortion(joint / joint.sum(), 1 - np.eye(keys), base=math.e)
    scale = model.constant_distortion
    answer = model.solve(lam=8e5 * scale, tolerance=1e-8)
    assert_gap_is_true(model, answer, 8e5 * scale)


# --- said -------------------------------------------------------------------------------------


def test_an_answer_that_misses_its_tolerance_says_so_in_the_unit_of_the_cost(monkeypatch):
    monkeypatch.setattr(search, "SECOND_WORK", 1.0)
    monkeypatch.setattr(search, "FIRST_STEPS", (40, 40))
    joint, d = households(0, ages=3, hours=8)
    model = PrivacyDistortion(joint, d)
    answer = model.solve(lam=2000.0, tolerance=1e-9)
    wanted = 1e-9 * (model.constant_distortion - model.least_distortion)
    assert answer.wanted_gap == pytest.approx(wanted)
    assert not answer.reached
    sentence = next(line for line in answer.sentences if "missed" in line)
    told = float(sentence.partition("lower by ")[2].split(",")[0])
    assert answer.gap <= told <= 1.1 * answer.gap
    assert f"where {wanted:.2g} was asked for" in sentence


def test_an_answer_that_reaches_its_tolerance_says_nothing_of_it():
    joint, d = households(0, ages=3, hours=8)
    answer = PrivacyDistortion(joint, d).solve(lam=20.0, tolerance=1e-6)
    assert answer.reached
    assert not any("missed" in line for line in answer.sentences)


@pytest.mark.parametrize("objective", ["t_closeness", "delta_disclosure", "maximal_leakage"])
def test_the_default_tolerance_of_a_worst_case_is_one_that_it_reaches(objective):
    joint, d = households(0, ages=3, hours=5, people=2000, secrets=3)
    answer = PrivacyDistortion(joint, d, objective=objective).solve(risk=0.1)
    assert answer.reached


def test_a_curve_that_misses_its_tolerance_says_so(monkeypatch):
    ages = np.repeat(np.arange(12), 25)
    sick = np.random.default_rng(0).random(ages.size) < ages / 12
    table = {"age": ages.tolist(), "sick": sick.tolist()}
    asked = {"confidential": "sick", "key": "age", "points": 5}
    assert not any("missed" in note for note in curve(table, **asked).notes)
    monkeypatch.setattr(search, "SECOND_WORK", 1.0)
    monkeypatch.setattr(search, "FIRST_STEPS", (20, 20))
    report = curve(table, **asked, tolerance=1e-12)
    assert not report.curve.reached
    assert sum("tolerance was missed" in note for note in report.notes) == 1


@pytest.mark.parametrize("objective", ["mutual_information", "t_closeness"])
def test_where_all_rules_distort_alike_no_tolerance_is_missed(objective):
    joint = np.array([[0.1, 0.2, 0.1], [0.3, 0.1, 0.2]])
    model = PrivacyDistortion(joint, np.full((3, 3), 0.7), objective=objective)
    assert model.solve(lam=2.0).reached
    assert model.curve(points=3).reached


@pytest.mark.parametrize("objective", ["t_closeness", "delta_disclosure", "maximal_leakage"])
def test_where_one_path_of_a_worst_case_stalls_another_one_is_followed(objective):
    # Found by chance: the first path of t-closeness ends at a gap of 2 % of the scale.
    joint, d, _ = random_problem(804, 4)
    model = PrivacyDistortion(joint, d, base=math.e, objective=objective)
    risk = 0.02 * min(model.largest_risk, 3.0)
    answer = model.solve(risk=risk, tolerance=1e-8)
    assert answer.reached
    assert answer.risk <= risk + 1e-12
