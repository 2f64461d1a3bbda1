"""Paper E, Proposition 3: estimates distort no more and tell no more, and the best rules are fixed.

The oracles are sums over small laws, in fractions, written from the definitions.
"""

import itertools
import math
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from hartley.policies.distortion.model import PrivacyDistortion
from hartley.policies.gaussian.rule import GaussianRule
from hartley.policies.random.matrix import guessing_gain
from hartley.policies.random.pram import Pram
from hartley.policies.random.reconstruction import reconstruct
from hartley.studies.release.microaggregation import mdav

DISTANCES = {
    "squared": lambda x, y: (Fraction(x) - Fraction(y)) ** 2,
    "absolute": lambda x, y: abs(Fraction(x) - Fraction(y)),
    "zero_one": lambda x, y: Fraction(x != y),
}


@st.composite
def laws(draw):
    """Counts n(w,x), a rule of fractions, and the numbers behind it."""
    secrets, keys, released = (draw(st.integers(*ends)) for ends in ((1, 3), (2, 4), (2, 4)))
    counts = draw(
        st.lists(
            st.lists(st.integers(0, 9), min_size=keys, max_size=keys),
            min_size=secrets,
            max_size=secrets,
        )
    )
    assume(any(map(any, counts)))
    rule = []
    for _ in range(keys):
        parts = draw(st.lists(st.integers(0, 6), min_size=released, max_size=released))
        assume(any(parts))
        rule.append([Fraction(part, sum(parts)) for part in parts])
    numbers = st.integers(-5, 5)
    values = draw(st.lists(numbers, min_size=keys, max_size=keys, unique=True))
    labels = draw(st.lists(numbers, min_size=released, max_size=released, unique=True))
    return counts, rule, values, labels


def joint_by_definition(counts, rule, values, labels):
    """p(w, x, released) as fractions."""
    whole = sum(map(sum, counts))
    law = defaultdict(Fraction)
    for w, row in enumerate(counts):
        for (n, x), chances in zip(zip(row, values, strict=True), rule, strict=True):
            for chance, label in zip(chances, labels, strict=True):
                law[w, x, label] += Fraction(n, whole) * chance
    return law


def distortion_by_definition(law, distance):
    return sum((p * distance(x, c) for (_, x, c), p in law.items()), Fraction(0))


def risk_by_definition(law):
    """I(W;X^) in bits, in forty digits."""
    pairs, w_side, c_side = defaultdict(Fraction), defaultdict(Fraction), defaultdict(Fraction)
    for (w, _, c), p in law.items():
        pairs[w, c] += p
        w_side[w] += p
        c_side[c] += p
    with localcontext() as context:
        context.prec = 40
        total = Decimal(0)
        for (w, c), p in pairs.items():
            if p:
                ratio = p / w_side[w] / c_side[c]
                log = Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()
                total += Decimal(p.numerator) / Decimal(p.denominator) * log
        return float(total / Decimal(2).ln())


def as_rule(pram):
    return [[Fraction(text) for text in row] for row in pram.matrix.texts()]


@settings(max_examples=60, deadline=None)
@given(laws(), st.sampled_from(sorted(DISTANCES)))
def test_distortion_and_risk_never_rise_and_are_what_they_are_said_to_be(case, name):
    counts, rule, values, labels = case
    distance = DISTANCES[name]
    pram = Pram(rule, values, released=labels)
    step = reconstruct(pram, counts, distortion=name)
    before = joint_by_definition(counts, rule, values, labels)
    after = joint_by_definition(counts, as_rule(step.pram), values, step.pram.released)
    assert step.before == distortion_by_definition(before, distance)
    assert step.distortion == distortion_by_definition(after, distance) <= step.before
    assert step.risk_before == pytest.approx(risk_by_definition(before), abs=1e-12)
    assert step.risk == pytest.approx(risk_by_definition(after), abs=1e-12)
    assert step.risk <= step.risk_before
    # Not only on average: the best guess of anything gains no more.
    assert guessing_gain(step.pram.matrix) <= guessing_gain(pram.matrix) + Fraction(1, 2**50)


@settings(max_examples=30, deadline=None)
@given(laws(), st.sampled_from(sorted(DISTANCES)))
def test_no_other_function_of_the_release_distorts_less(case, name):
    counts, rule, values, labels = case
    distance = DISTANCES[name]
    step = reconstruct(Pram(rule, values, released=labels), counts, distortion=name)
    law = joint_by_definition(counts, rule, values, labels)
    candidates = [Fraction(n, 4) for n in range(-22, 23)]
    if name == "squared":  # every conditional mean is tried, too
        for label in labels:
            mass = [(p, x) for (_, x, c), p in law.items() if c == label and p]
            if mass:
                whole = sum(p for p, _ in mass)
                candidates.append(sum(p * x for p, x in mass) / whole)
    least = Fraction(0)
    for label in labels:
        column = [(p, x) for (_, x, c), p in law.items() if c == label]
        least += min(sum(p * distance(x, v) for p, x in column) for v in candidates)
    # A mean is released as a double: its error is off by the square of the last digit.
    assert least <= step.distortion <= least + (Fraction(1, 10**28) if name == "squared" else 0)


@settings(max_examples=40, deadline=None)
@given(laws(), st.sampled_from(sorted(DISTANCES)))
def test_a_second_step_changes_nothing(case, name):
    counts, rule, values, labels = case
    once = reconstruct(Pram(rule, values, released=labels), counts, distortion=name)
    again = reconstruct(once.pram, counts, distortion=name)
    assert again.distortion == once.distortion == again.before
    # Merged columns have new means only where estimates that round alike were merged.
    assert again.merged == 0
    assert again.is_fixed or again.before == again.distortion


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_best_rule_over_a_list_releases_the_value_nearest_to_the_mean(seed):
    """Else another label would distort less and tell no more, and the rule were not the best."""
    rng = np.random.default_rng(seed)
    joint = rng.random((3, 5))
    joint /= joint.sum()
    values = np.sort(rng.choice(np.arange(30), 5, replace=False)).tolist()
    model = PrivacyDistortion(joint, "squared", values=values)
    result = model.solve(lam=float(10 ** rng.uniform(0, 2)))
    mass = joint.sum(axis=0)[:, None] * result.matrix
    for place in np.flatnonzero(mass.sum(axis=0) > 1e-4):
        mean = float(np.array(values) @ mass[:, place] / mass[:, place].sum())
        nearest = min(abs(mean - value) for value in values)
        assert abs(mean - values[place]) <= nearest + 1e-2
    step = reconstruct(result, joint, values=values)
    assert step.distortion <= step.before
    assert step.risk == pytest.approx(result.risk, abs=1e-6)


def test_a_best_rule_that_may_release_its_own_means_is_a_fixed_point():
    """Solving and taking means by turns settles where Proposition 3 says the optimum is."""
    rng = np.random.default_rng(11)
    joint = rng.random((2, 4))
    joint /= joint.sum()
    values = np.array([0.0, 1.0, 3.0, 7.0])
    released, costs = values.copy(), []
    for _ in range(25):
        squared = np.square(values[:, None] - released[None, :])
        result = PrivacyDistortion(joint, squared).solve(lam=6.0)
        costs.append(result.cost)
        mass = joint.sum(axis=0)[:, None] * result.matrix
        live = mass.sum(axis=0) > 1e-6
        means = (values @ mass)[live] / mass.sum(axis=0)[live]
        moved = float(np.abs(means - released[live]).max())
        released[live] = means
    assert all(after <= before + 1e-8 for before, after in itertools.pairwise(costs))
    assert costs[-1] < costs[0] - 1e-3  # more than rules that release the values themselves
    assert moved < 1e-3
    final = Pram(result.matrix[:, live], values.tolist(), released=released[live].tolist())
    step = reconstruct(final, joint)
    assert float(step.before - step.distortion) < 1e-6


@pytest.mark.slow  # compiles
def test_the_averages_of_microaggregation_are_means_already():
    rng = np.random.default_rng(4)
    table = {"age": rng.permutation(40).tolist(), "height": rng.integers(150, 200, 40).tolist()}
    averaged = mdav(table, 3)
    groups = averaged.groups.tolist()
    released = zip(*(averaged.released[name].to_pylist() for name in table), strict=True)
    labels = dict(zip(groups, released, strict=True))
    # All records differ, so that each is a value of the rule, and its group is what is released.
    records = list(zip(*table.values(), strict=True))
    rule = np.zeros((40, len(labels)))
    rule[np.arange(40), groups] = 1
    averages = [labels[group] for group in sorted(labels)]
    step = reconstruct(Pram(rule, records, released=averages), np.ones(40))
    assert float(step.distortion) == pytest.approx(
        sum(
            (value - label) ** 2
            for record, group in zip(records, groups, strict=True)
            for value, label in zip(record, labels[group], strict=True)
        )
        / 40
    )
    assert float(step.before - step.distortion) < 1e-20
    assert step.merged == 0


def test_the_gaussian_rule_is_its_own_best_estimate_of_a_gaussian_key():
    """Cov(X, X^) = Cov(X^), so that E[X|X^] = X^ where both are Gaussian."""
    key = np.array([[2.0, 0.6], [0.6, 1.0]])
    rule = GaussianRule.best(confidential=1.0, key=key, cross=[0.9, 0.4], distortion=0.8)
    with_key = rule.gain @ key
    own = rule.gain @ key @ rule.gain.T + rule.outer @ np.diag(rule.noise**2) @ rule.outer.T
    assert with_key == pytest.approx(own, abs=1e-9)
    assert float(np.trace(key - own)) == pytest.approx(0.8, abs=1e-6)


def test_by_hand_means_medians_and_likeliest_values():
    rule = Pram([["1/2", "1/2"], ["1/2", "1/2"], [0, 1]], [0, 2, 10], released=["low", "high"])
    squared = reconstruct(rule, [1, 1, 2])
    assert squared.pram.released == (1.0, pytest.approx(21 / 3))
    assert squared.before is None  # words have no distance to numbers
    # Given "low" 0 or 2, given "high" half of each and two tens: (2 * 49 + ...) worked out.
    assert squared.distortion == pytest.approx(
        float((Fraction(1, 2) * 2 * 1 + (Fraction(49, 2) + Fraction(25, 2) + 2 * 9)) / 4)
    )
    assert reconstruct(rule, [1, 1, 2], distortion="absolute").pram.released == (0, 10)
    assert reconstruct(rule, [3, 1, 1], distortion="zero_one").pram.released == (0,)
    given_costs = [[0, 5], [1, 0], [9, 0]]
    assert reconstruct(rule, [3, 0, 0], distortion=given_costs).pram.released == ("low",)
    assert math.isclose(float(reconstruct(rule, [3, 0, 0], distortion=given_costs).distortion), 0)


@st.composite
def pair_rules(draw):
    """Counts n(w,x) and a rule P(q|w,x) for every pair that occurs, with eighths as chances."""
    counts = draw(
        st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=2, max_size=2)
    )
    assume(all(map(any, zip(*counts, strict=True))))
    pairs = [(w, x) for w, row in enumerate(counts) for x, n in enumerate(row) if n]
    cuts = [sorted(draw(st.tuples(st.integers(0, 8), st.integers(0, 8)))) for _ in pairs]
    rule = [[Fraction(a, 8), Fraction(b - a, 8), Fraction(8 - b, 8)] for a, b in cuts]
    values = draw(st.lists(st.integers(-5, 5), min_size=3, max_size=3, unique=True))
    return counts, pairs, rule, sorted(values)


@given(case=pair_rules(), distance=st.sampled_from(sorted(DISTANCES)))
@settings(max_examples=60, deadline=None)
def test_estimates_after_a_rule_that_sees_the_confidential_value_too(case, distance):
    counts, pairs, rule, values = case
    whole = sum(map(sum, counts))
    solved = PrivacyDistortion(
        np.array(counts) / whole, "squared", values=values, sees="both"
    ).solve(lam=1.0)
    drawn = replace(solved, matrix=np.array([[float(p) for p in row] for row in rule]))
    better = reconstruct(drawn, counts, distortion=distance, values=values)

    law = defaultdict(Fraction)
    for (w, x), chances in zip(pairs, rule, strict=True):
        for chance, label in zip(chances, values, strict=True):
            law[values[x], label] += Fraction(counts[w][x], whole) * chance
    d = DISTANCES[distance]
    assert better.before == sum(p * d(x, q) for (x, q), p in law.items())
    least = Fraction(0)
    for label in values:
        behind = {x: p for (x, q), p in law.items() if q == label and p}
        if behind and distance == "squared":
            mean = sum(x * p for x, p in behind.items()) / sum(behind.values())
            least += sum(p * d(x, mean) for x, p in behind.items())
        elif behind:  # a value is as good as any number
            least += min(sum(p * d(x, c) for x, p in behind.items()) for c in values)
    assert least <= better.distortion <= better.before
    assert float(better.distortion - least) < 1e-12
    assert better.sees == "both"
    assert better.inputs == tuple((w, values[x]) for w, x in pairs)
    assert better.risk <= better.risk_before + 1e-12
