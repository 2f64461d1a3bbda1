"""Rules that see the confidential value and distortions that depend on it, against brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from hartley.measures.anonymity import t_closeness
from hartley.policies.distortion.model import PrivacyDistortion

SEEDS = st.integers(0, 2**32 - 1)


def tiny(seed):
    """A joint law of two by two values, perhaps with an impossible pair, and d(w,x,c)."""
    rng = np.random.default_rng(seed)
    joint = rng.random((2, 2)) + 0.05
    if rng.random() < 0.3:
        joint[rng.integers(2), rng.integers(2)] = 0.0
    return joint / joint.sum(), rng.random((2, 2, 2)), float(10 ** rng.uniform(-1.5, 0.5))


def costs_by_definition(joint, d, rules):
    """Distortion and risk in nats of rules p(c|w,x), one after the other, from the definitions."""
    distortion = np.einsum("wx,nwxc,wxc->n", joint, rules, d)
    told = np.einsum("wx,nwxc->nwc", joint, rules)
    risk = np.zeros(len(rules))
    for w, c in itertools.product(range(joint.shape[0]), range(d.shape[2])):
        ratio = told[:, w, c] / (told.sum(axis=2)[:, w] * told.sum(axis=1)[:, c] + 1e-300)
        risk += told[:, w, c] * np.log(np.where(told[:, w, c] > 0, ratio, 1.0))
    return distortion, risk


def all_rules(steps, *, see_secret):
    """Rules of two released values on a grid of probabilities."""
    grid = np.linspace(0, 1, steps)
    if see_secret:
        first = np.array(list(itertools.product(grid, repeat=4))).reshape(-1, 2, 2)
    else:
        first = np.array(list(itertools.product(grid, repeat=2)))[:, None, :].repeat(2, axis=1)
    return np.stack([first, 1 - first], axis=3)


BOTH, KEY = all_rules(21, see_secret=True), all_rules(201, see_secret=False)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_no_rule_of_a_grid_costs_less_than_is_certified_and_none_is_much_better(seed):
    joint, d, lam = tiny(seed)
    for sees, rules in (("both", BOTH), ("key", KEY)):
        answer = PrivacyDistortion(joint, d, base=math.e, sees=sees).solve(lam=lam)
        distortion, risk = costs_by_definition(joint, d, rules)
        least = float((distortion + lam * risk).min())
        assert least >= answer.cost - answer.gap - 1e-9
        assert least <= answer.cost + 0.05  # what the steps of the grid can lose
        assert answer.gap <= 1e-6
        # Within the distortion that it found, no rule of the grid tells less than is certified.
        within = distortion <= answer.distortion
        assert not within.any() or risk[within].min() >= answer.least_risk - 1e-9


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_the_rule_over_pairs_costs_what_it_says(seed):
    joint, d, lam = tiny(seed)
    model = PrivacyDistortion(joint, d, base=math.e, sees="both")
    answer = model.solve(lam=lam)
    assert len(model.inputs) == len(answer.matrix) == np.count_nonzero(joint)
    rule = np.full((1, 2, 2, 2), 0.5)
    for (w, x), row in zip(model.inputs, answer.matrix, strict=True):
        rule[0, w, x] = row
    distortion, risk = costs_by_definition(joint, d, rule)
    assert answer.distortion == pytest.approx(distortion[0], abs=1e-12)
    assert answer.risk == pytest.approx(risk[0], abs=1e-12)


def random_case(seed):
    rng = np.random.default_rng(seed)
    secrets, keys, released = rng.integers(2, 5, 3)
    joint = rng.random((secrets, keys)) * (rng.random((secrets, keys)) < 0.8) + 1e-3
    return joint / joint.sum(), rng.random((keys, released)), rng


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_rules_that_see_both_are_never_worse(seed):
    joint, d, rng = random_case(seed)
    key, both = (PrivacyDistortion(joint, d, sees=sees) for sees in ("key", "both"))
    for lam in 10 ** rng.uniform(-2, 1, 2):
        of_key, of_both = key.solve(lam=lam), both.solve(lam=lam)
        assert of_both.cost <= of_key.cost + of_both.gap
    assert both.least_distortion == pytest.approx(key.least_distortion)


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_they_are_never_worse_in_the_worst_case_either(seed):
    joint, d, rng = random_case(seed)
    models = {
        sees: PrivacyDistortion(joint, d, sees=sees, objective="t_closeness")
        for sees in ("key", "both")
    }
    limit = float(rng.uniform(0.05, 0.8)) * models["key"].largest_risk
    key, both = (models[sees].solve(risk=limit) for sees in ("key", "both"))
    assert both.distortion <= key.distortion + both.gap
    released = np.zeros((joint.shape[0], d.shape[1]))
    for (w, x), row in zip(models["both"].inputs, both.matrix, strict=True):
        released[w] += joint[w, x] * row
    assert t_closeness(released[:, released.sum(axis=0) > 0]) <= limit * (1 + 1e-6)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_without_risk_they_reach_the_barycentre_of_the_conditional_laws(seed):
    """X^ independent of W: each p(x|w) is carried to one law q, and q is chosen best of all."""
    joint, d, _ = random_case(seed)
    secrets, keys, released = *joint.shape, d.shape[1]
    size = secrets * keys * released
    rows, right = [], []
    for w in range(secrets):
        for x in range(keys):
            row = np.zeros((secrets, keys, released))
            row[w, x] = 1
            rows.append(np.append(row.ravel(), np.zeros(released)))
            right.append(joint[w, x] / joint[w].sum())
        for c in range(released):
            row = np.zeros((secrets, keys, released))
            row[w, :, c] = 1
            law = np.zeros(released)
            law[c] = -1
            rows.append(np.append(row.ravel(), law))
            right.append(0.0)
    costs = np.append((joint.sum(axis=1)[:, None, None] * d).ravel(), np.zeros(released))
    assert costs.size == size + released
    carried = linprog(costs, A_eq=np.array(rows), b_eq=right, method="highs")
    answer = PrivacyDistortion(joint, d, sees="both").solve(risk=0)
    assert answer.distortion == pytest.approx(carried.fun, abs=2e-6)
    assert answer.risk <= 1e-6


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_for_rules_of_the_key_only_the_mean_distortion_counts(seed):
    joint, d, rng = random_case(seed)
    triple = rng.random((*joint.shape, d.shape[1]))
    mean = np.zeros_like(d)
    for x, c in np.ndindex(*d.shape):
        weights = [joint[w, x] for w in range(len(joint))]
        mean[x, c] = sum(p * triple[w, x, c] for w, p in enumerate(weights)) / sum(weights)
    lam = float(10 ** rng.uniform(-2, 1))
    given_mean, given_triple = (PrivacyDistortion(joint, m).solve(lam=lam) for m in (mean, triple))
    assert given_triple.cost == pytest.approx(given_mean.cost, abs=2e-9)
    assert given_triple.distortion == pytest.approx(
        float(np.einsum("wx,xc,wxc->", joint, given_triple.matrix, triple)), abs=1e-12
    )


def test_a_secret_that_the_key_says_nothing_about_needs_no_risk():
    joint = np.outer([0.3, 0.7], [0.2, 0.5, 0.3])
    answer = PrivacyDistortion(joint, "zero_one", sees="both").solve(distortion=0)
    assert (answer.distortion, answer.risk) == (0, pytest.approx(0, abs=1e-12))
