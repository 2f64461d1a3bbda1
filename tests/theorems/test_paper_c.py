"""Farokhi and Ding 2021, Measuring Information Leakage in Non-stochastic Brute-Force Guessing.

The statements are those that hold: Proposition 3(e) is additive for L and super-additive for L*,
Corollary 5 is tightened to whole numbers of secrets, Remark 2 keeps its bounds but not its
equality, and stochastic maximal leakage lies above the maximin information.
"""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import example, given, settings, strategies as st

from hartley import (
    Channel,
    JointDistribution,
    Relation,
    guessing_leakage,
    hartley_entropy,
    maximal_guessing_leakage,
    maximal_leakage,
    maximin_information,
    mutual_information,
    nonstochastic_leakage,
    worst_attribute,
)
from hartley.measures import identifiability, maximal_leakage_within, zero_error_capacity_bound
from hartley.ranges import is_markov_chain

SMALL = st.sets(
    st.tuples(st.sampled_from(range(5)), st.sampled_from("abcde")), min_size=1, max_size=14
).map(sorted)
TINY = st.sets(st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=8).map(
    sorted
)
ATTRIBUTE = st.lists(st.integers(0, 3), min_size=5, max_size=5)
SECOND = st.dictionaries(
    st.sampled_from("abcde"), st.sets(st.integers(0, 3), min_size=1), max_size=5
)
COUNTS = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, 40), min_size=width, max_size=width).filter(any),
        min_size=1,
        max_size=6,
    )
)
PENTAGON = [(x, y % 5) for x in range(5) for y in (x, x + 1)]


def approximately(value):
    return pytest.approx(value, abs=1e-12)


def then(second):
    """Complete a second channel: a released value that it does not name gives 0."""
    return [(y, z) for y in "abcde" for z in second.get(y, {0})]


# --- Section III: guessing one attribute --------------------------------------------------------


@given(pairs=SMALL, image=ATTRIBUTE)
@settings(max_examples=150, deadline=None)
def test_guessing_leakage_is_the_largest_saving_of_trials_and_never_negative(oracle, pairs, image):
    # Definition 1 and Proposition 2.
    relation = Relation.from_pairs(pairs)
    attribute = {x: image[x] for x in oracle.secret_range(pairs)}
    wanted = approximately(oracle.log2(oracle.guessing_ratio(pairs, attribute)))
    assert guessing_leakage(relation, attribute) == wanted
    assert 0 <= guessing_leakage(relation, lambda x: image[x]) == wanted
    assert identifiability(relation, attribute) == wanted
    secrets, left = oracle.sizes(pairs)
    whole = guessing_leakage(relation)
    assert whole == approximately(oracle.log2(Fraction(secrets, min(left))))
    assert whole == nonstochastic_leakage(relation) == guessing_leakage(relation, lambda x: x)


@given(pairs=SMALL, second=SECOND, image=ATTRIBUTE)
@settings(max_examples=150, deadline=None)
def test_processing_the_release_saves_no_further_trials(oracle, pairs, second, image):
    # Propositions 1 and 3(d).
    before = Relation.from_pairs(pairs)
    after = Relation.from_pairs(oracle.compose(pairs, then(second)))
    assert guessing_leakage(after, lambda x: image[x]) <= guessing_leakage(
        before, lambda x: image[x]
    )
    assert maximal_guessing_leakage(after) <= maximal_guessing_leakage(before)


@given(pairs=TINY, second=SECOND, image=ATTRIBUTE)
@settings(max_examples=15, deadline=None)
def test_attribute_secret_release_and_processed_release_form_a_markov_chain(
    oracle, pairs, second, image
):
    after = oracle.conditional_ranges(oracle.swap(then(second)))
    rows = [(image[x], x, y, z) for x, y in pairs for z in sorted(after[y])]
    table = dict(zip("uxyz", map(list, zip(*rows, strict=True)), strict=True))
    assert is_markov_chain(table, list("uxyz"))
    assert is_markov_chain(table, list("zyxu"))


@given(sides=st.tuples(*[st.sets(st.integers(0, 4), min_size=1)] * 2), image=ATTRIBUTE)
@settings(max_examples=60, deadline=None)
def test_an_unrelated_release_saves_no_trial_for_any_attribute(sides, image):
    relation = Relation.from_pairs(product(*sides))
    assert guessing_leakage(relation, lambda x: image[x]) == 0
    assert maximal_guessing_leakage(relation) == 0


# --- Propositions 3 and 4: the worst attribute --------------------------------------------------


@given(pairs=SMALL)
@settings(max_examples=80, deadline=None)
def test_maximal_leakage_is_the_largest_over_all_attributes(oracle, pairs):
    # Proposition 4 and its definition (2).
    relation = Relation.from_pairs(pairs)
    every = [(oracle.guessing_ratio(pairs, u), u) for u in oracle.attributes(pairs)]
    most, attribute = max(every, key=lambda found: found[0])
    secrets, left = oracle.sizes(pairs)
    assert most == secrets - min(left) + 1
    assert maximal_guessing_leakage(relation) == approximately(oracle.log2(most))
    assert guessing_leakage(relation, attribute) == approximately(oracle.log2(most))
    for ratio, u in every:
        assert guessing_leakage(relation, u) == approximately(oracle.log2(ratio))


@given(pairs=SMALL)
@settings(max_examples=100, deadline=None)
def test_the_worst_attribute_merges_one_smallest_range_and_attains_the_maximum(oracle, pairs):
    # Equation (17).
    relation = Relation.from_pairs(pairs)
    worst = worst_attribute(relation)
    table = worst.mapping()
    ranges = oracle.conditional_ranges(pairs)
    merged = ranges[worst.released]
    assert len(merged) == min(map(len, ranges.values())) == worst.merged_count
    assert set(worst.merged) == merged
    assert table.keys() == oracle.secret_range(pairs)
    assert len({table[x] for x in merged}) == 1
    assert len(set(table.values())) == worst.values == len(table) - len(merged) + 1
    most = approximately(oracle.log2(oracle.guessing_ratio(pairs, table)))
    assert worst.leakage == most
    assert maximal_guessing_leakage(relation) == most
    assert guessing_leakage(relation, table) == most


@given(pairs=SMALL)
@settings(max_examples=100, deadline=None)
def test_maximal_leakage_is_zero_exactly_for_unrelated_sides(oracle, pairs):
    # Proposition 3(b).
    everything = set(product(oracle.secret_range(pairs), oracle.released_range(pairs)))
    found = maximal_guessing_leakage(Relation.from_pairs(pairs))
    assert (found == 0) == (set(pairs) == everything)


@given(pairs=SMALL)
@settings(max_examples=100, deadline=None)
def test_maximal_leakage_is_at_most_the_entropy_and_reaches_it_when_all_is_released(oracle, pairs):
    # Proposition 3(a) and 3(c).
    relation = Relation.from_pairs(pairs)
    assert 0 <= maximal_guessing_leakage(relation) <= hartley_entropy(relation)
    identity = Relation.from_pairs((x, x) for x in oracle.secret_range(pairs))
    assert maximal_guessing_leakage(identity) == hartley_entropy(identity)


@given(ranges=st.lists(TINY, min_size=1, max_size=3))
@settings(max_examples=100, deadline=None)
def test_over_unrelated_pairs_leakage_adds_and_maximal_leakage_adds_at_least(oracle, ranges):
    # Proposition 3(e), corrected.
    together = Relation.from_pairs(oracle.unrelated_product(*ranges))
    single = [Relation.from_pairs(pairs) for pairs in ranges]
    found = [oracle.sizes(pairs) for pairs in ranges]
    secrets, left = math.prod(n for n, _ in found), math.prod(min(m) for _, m in found)
    assert guessing_leakage(together) == approximately(sum(map(guessing_leakage, single)))
    assert maximal_guessing_leakage(together) == approximately(math.log2(secrets - left + 1))
    alone = sum(map(maximal_guessing_leakage, single))
    assert maximal_guessing_leakage(together) >= alone - 1e-12


def test_maximal_leakage_over_unrelated_pairs_is_not_the_printed_sum(oracle):
    pairs = [(0, "a"), (1, "a"), (1, "b"), (2, "b")]  # three secrets, two left by each value
    one = Relation.from_pairs(pairs)
    two = Relation.from_pairs(oracle.unrelated_product(pairs, pairs))
    assert maximal_guessing_leakage(two) == approximately(math.log2(9 - 4 + 1))
    assert 2 * maximal_guessing_leakage(one) == 2
    assert 2 * guessing_leakage(one) == approximately(2 * math.log2(3 / 2))


def test_processing_before_the_release_can_leak_more_than_the_release_alone():
    # The other half of axiom R3.a in Appendix A is false: X - Y - Z with L(X->Z) > L(Y->Z).
    from_secret = Relation.from_pairs([(x, x == 1) for x in range(1, 101)])
    from_middle = Relation.from_pairs([(False, False), (True, True)])
    assert maximal_guessing_leakage(from_secret) == approximately(math.log2(100))
    assert guessing_leakage(from_secret) == approximately(math.log2(100))
    assert maximal_guessing_leakage(from_middle) == guessing_leakage(from_middle) == 1


def test_maximal_leakage_depends_on_the_direction():
    # Remark 1.
    relation = Relation.from_pairs([("x1", "y1"), ("x2", "y1"), ("x3", "y2")])
    assert maximal_guessing_leakage(relation) == approximately(math.log2(3))
    assert maximal_guessing_leakage(relation.swap()) == 1


# --- Section IV: identifiability ----------------------------------------------------------------


@given(pairs=SMALL)
@settings(max_examples=100, deadline=None)
def test_both_leakages_determine_each_other(pairs):
    # Equation (8), in nats.
    relation = Relation.from_pairs(pairs)
    secrets = len(relation.secret_range)
    most = math.exp(maximal_guessing_leakage(relation, base=math.e))
    left = secrets * math.exp(-guessing_leakage(relation, base=math.e))
    assert most + left == pytest.approx(secrets + 1, abs=1e-9)


@given(pairs=SMALL, base=st.sampled_from([2, math.e, 10]))
@settings(max_examples=100, deadline=None)
def test_a_release_within_its_budget_leaks_at_most_what_the_budget_allows(pairs, base):
    # Corollary 5 and its tightening.
    relation = Relation.from_pairs(pairs)
    secrets, budget = len(relation.secret_range), identifiability(relation, base=base)
    found = maximal_guessing_leakage(relation, base=base)
    tight = maximal_leakage_within(secrets, budget, base=base)
    assert found <= tight <= math.log(secrets * (1 - base**-budget) + 1, base) + 1e-9


BUDGETS = st.one_of(st.floats(0, 9), st.integers(0, 9).map(float))


@given(secrets=st.integers(1, 300), budget=BUDGETS)
@example(secrets=48, budget=4.0)
@settings(max_examples=120, deadline=None)
def test_the_tightened_budget_bound_is_what_trying_every_size_gives(oracle, secrets, budget):
    found = maximal_leakage_within(secrets, budget)
    assert found >= math.log2(oracle.most_within(secrets, budget)) - 1e-15
    assert found <= math.log2(oracle.most_within(secrets, budget + 1e-11)) + 1e-15


@pytest.mark.parametrize("base", [2, math.e, 10])
@pytest.mark.parametrize("secrets", [1, 2, 3, 9, 17, 25, 29])
def test_the_tightened_budget_bound_is_attained_for_every_smallest_range(secrets, base):
    for smallest in range(1, secrets + 1):
        pairs = [(x, "all") for x in range(secrets)] + [(x, "few") for x in range(smallest)]
        relation = Relation.from_pairs(pairs)
        leaked = maximal_guessing_leakage(relation, base=base)
        budget = identifiability(relation, base=base)
        assert maximal_leakage_within(secrets, budget, base=base) == leaked
        roomier = math.log(secrets / (smallest - 0.5), base)  # no whole number lies between
        assert maximal_leakage_within(secrets, roomier, base=base) == leaked


@given(secrets=st.integers(2, 10**6), data=st.data())
@settings(max_examples=100, deadline=None)
def test_a_budget_rounded_to_a_double_still_allows_the_release_it_comes_from(oracle, secrets, data):
    smallest = data.draw(st.integers(1, min(secrets, 1000)))
    budget = float(oracle.decimal_log2(Fraction(secrets, smallest)))
    assert maximal_leakage_within(secrets, budget) == math.log2(secrets - smallest + 1)


# --- Section V: one guess, and chances ----------------------------------------------------------


@given(pairs=SMALL)
@settings(max_examples=80, deadline=None)
def test_maximin_information_is_the_largest_attribute_guessed_at_once(oracle, pairs):
    # Proposition 6.
    ranges = oracle.conditional_ranges(pairs).values()
    certain = [
        len(set(u.values()))
        for u in oracle.attributes(pairs)
        if all(len({u[x] for x in xs}) == 1 for xs in ranges)
    ]
    relation = Relation.from_pairs(pairs)
    assert maximin_information(relation) == approximately(math.log2(max(certain)))
    assert maximin_information(relation) <= maximal_guessing_leakage(relation)


@given(pairs=SMALL)
@example(pairs=PENTAGON)
@settings(max_examples=80, deadline=None)
def test_codes_packing_number_and_maximal_leakage_stand_in_this_order(oracle, pairs):
    # Remark 2, corrected: C0 <= log(packing number) <= L*.
    relation = Relation.from_pairs(pairs)
    code = math.log2(oracle.independence_number(oracle.confusable(pairs)))
    secrets, left = oracle.sizes(pairs)
    assert oracle.packing_number(pairs) <= secrets - min(left) + 1
    bound = zero_error_capacity_bound(relation)
    assert code <= bound <= maximal_guessing_leakage(relation) + 1e-9


def test_the_pentagon_carries_more_than_its_largest_maximin_information(oracle):
    # Remark 2's equality is false: five code words in two uses, yet I* gives one bit at most.
    best = max(
        maximin_information(Relation.from_pairs(part)) for part in oracle.sub_alphabets(PENTAGON)
    )
    square = oracle.strong_square(oracle.confusable(PENTAGON))
    rate = math.log2(oracle.independence_number(square)) / 2
    assert best == 1 < rate == approximately(math.log2(math.sqrt(5)))
    relation = Relation.from_pairs(PENTAGON)
    assert rate <= zero_error_capacity_bound(relation) <= maximal_guessing_leakage(relation)


def rows_of(counts):
    return [
        (x, y)
        for x, row in enumerate(counts)
        for y, number in enumerate(row)
        for _ in range(number)
    ]


@given(counts=COUNTS)
@settings(max_examples=150, deadline=None)
def test_stochastic_maximal_leakage_lies_between_maximin_information_and_the_entropies(
    oracle, counts
):
    rows = rows_of(counts)
    peaks = [max(Fraction(row[y], sum(row)) for row in counts) for y in range(len(counts[0]))]
    relation = Relation.from_pairs(rows)
    found = maximal_leakage(relation)
    assert found == pytest.approx(oracle.log2(sum(peaks)), abs=1e-9)
    total = len(rows)
    joint = JointDistribution.of([[number / total for number in row] for row in counts])
    channel = Channel.of([[number / sum(row) for number in row] for row in counts])
    for source in (joint, channel, channel.matrix, JointDistribution.from_relation(relation)):
        assert maximal_leakage(source) == pytest.approx(found, abs=1e-9)
    packing = oracle.packing_number(set(rows))
    assert len(oracle.overlap_classes(rows)) <= packing <= sum(peaks)
    assert maximin_information(relation) <= found + 1e-9
    smaller = min(hartley_entropy(relation), hartley_entropy(relation.swap()))
    assert found <= smaller + 1e-9
    assert mutual_information(relation) <= found + 1e-9


def test_a_noisy_bit_leaks_by_chance_what_no_guesser_is_ever_certain_of():
    # The printed order, stochastic maximal leakage <= I*, is wrong: BSC(0.1).
    assert maximal_leakage([[0.9, 0.1], [0.1, 0.9]]) == approximately(math.log2(1.8))
    relation = Relation.from_pairs(rows_of([[9, 1], [1, 9]]))
    assert maximal_leakage(relation) == approximately(math.log2(1.8))
    assert maximin_information(relation) == maximal_guessing_leakage(relation) == 0
