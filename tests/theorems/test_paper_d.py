"""Farokhi 2021, Non-Stochastic Hypothesis Testing for Privacy, on finite ranges.

The statements are those that hold: consistent tests attain the bound of Theorem 2, Theorem 3
counts the half that guessing gives, and Proposition 1 reads L0(Y;H) <= log(1 + 1/eps).
"""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, given, settings, strategies as st

from hartley import Relation, analyse_hypothesis, hartley_entropy, nonstochastic_leakage

PAIRS = st.sets(
    st.tuples(st.sampled_from(range(6)), st.sampled_from("abcde")), min_size=2, max_size=14
).map(sorted)
TRUTH = st.lists(st.booleans(), min_size=6, max_size=6).filter(lambda t: len(set(t)) == 2)


def approximately(value):
    return pytest.approx(value, abs=1e-12)


def log2(number):
    return math.log2(number) if number else -math.inf


def outputs_under(pairs, holds):
    """Return [Y|p0] and [Y|p1]: the outputs when the hypothesis is true, and when it is false."""
    return tuple({y for x, y in pairs if holds[x] == wanted} for wanted in (True, False))


def all_tests(pairs):
    """Yield every function from the outputs to true or false."""
    outputs = sorted({y for _, y in pairs})
    for decisions in product([True, False], repeat=len(outputs)):
        yield dict(zip(outputs, decisions, strict=True))


def correct_outputs(pairs, holds, test):
    """Return where a test is correct: all secrets behind the output agree with it."""
    return {y for y in test if {holds[x] for x, seen in pairs if seen == y} == {test[y]}}


def is_consistent(test, true, false):
    return all(y in (true if decision else false) for y, decision in test.items())


@st.composite
def settings_of_a_test(draw):
    """Draw a joint range and a hypothesis that some of its secrets fulfil and others do not."""
    pairs, holds = draw(PAIRS), draw(TRUTH)
    assume(len({holds[x] for x, _ in pairs}) == 2)
    return pairs, holds


@given(case=settings_of_a_test())
@settings(max_examples=120, deadline=None)
def test_tests_are_optimal_exactly_when_they_are_consistent(case):
    # Theorems 1 and 2: no test beats the bound, consistent ones attain it, others do not.
    pairs, holds = case
    true, false = outputs_under(pairs, holds)
    bound = analyse_hypothesis(Relation.from_pairs(pairs), lambda x: holds[x]).performance_bound
    assert bound == approximately(log2(len(true ^ false)))
    for test in all_tests(pairs):
        performance = log2(len(correct_outputs(pairs, holds, test)))
        assert performance <= bound + 1e-12
        if is_consistent(test, true, false):
            assert performance == approximately(bound)
        else:
            assert performance < bound


@given(case=settings_of_a_test())
@settings(max_examples=120, deadline=None)
def test_the_offered_test_is_consistent_and_attains_the_bound(case):
    pairs, holds = case
    found = analyse_hypothesis(Relation.from_pairs(pairs), {x for x, _ in pairs if holds[x]})
    offered = {y: found.test(y) for y in {y for _, y in pairs}}
    assert is_consistent(offered, *outputs_under(pairs, holds))
    assert log2(len(correct_outputs(pairs, holds, offered))) == approximately(
        found.performance_bound
    )


@given(case=settings_of_a_test())
@settings(max_examples=120, deadline=None)
def test_outputs_decide_exactly_where_one_hypothesis_alone_produces_them(case):
    pairs, holds = case
    true, false = outputs_under(pairs, holds)
    found = analyse_hypothesis(Relation.from_pairs(pairs), lambda x: holds[x])
    assert sorted(found.decides_true) == sorted(true - false)
    assert sorted(found.decides_false) == sorted(false - true)
    assert sorted(found.ambiguous) == sorted(true & false)
    assert found.counts == {
        "true": len(true - false),
        "false": len(false - true),
        "ambiguous": len(true & false),
    }


@given(case=settings_of_a_test())
@settings(max_examples=80, deadline=None)
def test_the_bound_does_not_depend_on_which_hypothesis_is_the_null(case):
    pairs, holds = case
    relation = Relation.from_pairs(pairs)
    found = analyse_hypothesis(relation, lambda x: holds[x])
    denied = analyse_hypothesis(relation, lambda x: not holds[x])
    assert found.performance_bound == denied.performance_bound
    assert found.decides_true == denied.decides_false


@given(case=settings_of_a_test(), base=st.sampled_from([2, math.e, 10]))
@settings(max_examples=120, deadline=None)
def test_priv_is_the_entropy_of_the_output_less_the_performance_bound(case, base):
    pairs, holds = case
    relation = Relation.from_pairs(pairs)
    true, false = outputs_under(pairs, holds)
    found = analyse_hypothesis(relation, lambda x: holds[x], base=base)
    if not true ^ false:
        assert found.privacy == math.inf
        assert found.performance_bound == -math.inf
        return
    wanted = log2(len(true | false) / len(true ^ false)) / math.log2(base)
    assert found.privacy == approximately(wanted)
    difference = hartley_entropy(relation.swap(), base=base) - found.performance_bound
    assert found.privacy == approximately(difference)
    assert found.privacy >= 0


@given(case=settings_of_a_test())
@settings(max_examples=200, deadline=None)
def test_privacy_bounds_what_the_hypothesis_tells_about_the_output(case):
    # Proposition 1, corrected: eps-private means |Y| >= (1 + eps) |deciding|, and then
    # L0(Y;H) <= log(1 + 1/eps).
    pairs, holds = case
    true, false = outputs_under(pairs, holds)
    leakage = nonstochastic_leakage(Relation.from_pairs([(y, holds[x]) for x, y in pairs]))
    assert leakage == approximately(log2(len(true | false) / min(len(true), len(false))))
    privacy = analyse_hypothesis(Relation.from_pairs(pairs), lambda x: holds[x]).privacy
    if privacy == math.inf:
        assert leakage == 0
    elif privacy > 0:
        eps = 2**privacy - 1
        assert eps == approximately(len(true | false) / len(true ^ false) - 1)
        assert leakage <= math.log2(1 + 1 / eps) + 1e-9


@pytest.mark.parametrize(("deciding", "open_outputs"), [(1, 1), (1, 4), (3, 2), (5, 1)])
def test_the_corrected_leakage_bound_is_attained_and_beats_the_printed_one(deciding, open_outputs):
    # All deciding outputs lie on one side; the printed bound -log(1 - exp(-eps)) is too small.
    either = [(x, ("open", j)) for x in (0, 1) for j in range(open_outputs)]
    pairs = either + [(0, ("decided", j)) for j in range(deciding)]
    found = analyse_hypothesis(Relation.from_pairs(pairs), {0}, base=math.e)
    eps = math.exp(found.privacy) - 1
    assert eps == approximately(open_outputs / deciding)
    told = Relation.from_pairs([(y, x == 0) for x, y in pairs])
    leakage = nonstochastic_leakage(told, base=math.e)
    assert leakage == approximately(math.log(1 + 1 / eps))
    assert leakage > -math.log(1 - math.exp(-eps))


def test_priv_can_be_gamed_by_splitting_outputs_that_decide_nothing():
    # Whoever is ill or well is exposed as before, yet the number grows without bound.
    def release(copies):
        certain = [("ill", "yes"), ("well", "no")]
        return certain + [(x, f"open {j}") for x in ("mild", "doubt") for j in range(copies)]

    privacies = []
    for copies in (1, 6, 30, 126):
        relation = Relation.from_pairs(release(copies))
        found = analyse_hypothesis(relation, {"ill", "mild"})
        assert found.decides_true == ["yes"]
        assert found.decides_false == ["no"]
        assert found.performance_bound == 1
        assert relation.conditional_range(released="yes") == ["ill"]
        privacies.append(found.privacy)
    assert privacies == approximately([math.log2(3 / 2), 2, 4, 6])


CHANCES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=5)


@given(chances=CHANCES)
@settings(max_examples=100, deadline=None)
def test_chances_give_a_random_guesser_at_least_what_the_deciding_outputs_promise(chances):
    # Theorem 3 with equal priors: the best success is at least 1/2 + (eps/4) |deciding|.
    totals = [sum(pair[h] for pair in chances) for h in (0, 1)]
    assume(all(totals))
    p = [[Fraction(pair[h], totals[h]) for pair in chances] for h in (0, 1)]
    eps = min(chance for row in p for chance in row if chance)
    best = sum(max(here, there) for here, there in zip(*p, strict=True)) / 2
    pairs = [(h, y) for h in (0, 1) for y, chance in enumerate(p[h]) if chance]
    found = analyse_hypothesis(Relation.from_pairs(pairs), {0})
    deciding = found.counts["true"] + found.counts["false"]
    assert best >= Fraction(1, 2) + eps * deciding / 4


@given(chances=CHANCES, prior=st.fractions(0, 1, max_denominator=12))
@settings(max_examples=150, deadline=None)
def test_theorem_3_corrected_holds_for_every_prior(chances, prior):
    # The best success is at least 1/2 + (eps/2) (pi0 |Y0 without Y1| + pi1 |Y1 without Y0|).
    totals = [sum(pair[h] for pair in chances) for h in (0, 1)]
    assume(all(totals))
    p = [[Fraction(pair[h], totals[h]) for pair in chances] for h in (0, 1)]
    eps = min(chance for row in p for chance in row if chance)
    weights = (prior, 1 - prior)
    best = sum(max(weights[0] * here, weights[1] * there) for here, there in zip(*p, strict=True))
    alone = [
        sum(bool(own) and not other for own, other in zip(*q, strict=True)) for q in (p, p[::-1])
    ]
    assert best >= Fraction(1, 2) + eps / 2 * (weights[0] * alone[0] + weights[1] * alone[1])


def test_erratum_theorem_3_as_printed_forgets_the_half_that_guessing_gives():
    # Printed: the best success is at least (eps/2) |deciding|, and equal to the total variation.
    half = Fraction(1, 2)
    p = [[half, half, 0], [half, 0, half]]  # one open output, one that proves, one that refutes
    eps, deciding = half, 2
    best = sum(max(here, there) for here, there in zip(*p, strict=True)) / 2
    variation = sum(abs(here - there) for here, there in zip(*p, strict=True)) / 2
    assert best == Fraction(3, 4) == half + eps * deciding / 4  # the corrected bound is attained
    assert eps * deciding / 2 == variation == half < best
