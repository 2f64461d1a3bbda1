"""Farokhi 2019, Noiseless Privacy, on finite ranges.

The statements are those that hold: Proposition 2 with the packing number between the capacity
and the leakage, Theorem 3 sharpened to minus infinity or one bit, Theorem 4 with the density of
one person given the others, Theorem 6 for different and adaptively chosen queries.
"""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product

import networkx as nx
import pytest
from hypothesis import example, given, settings, strategies as st

from hartley import (
    JointDistribution,
    Relation,
    analyse_hypothesis,
    hartley_entropy,
    maximal_leakage,
    maximin_information,
    nonstochastic_leakage,
)
from hartley.measures import symmetric_leakage, zero_error_capacity_bound

PAIRS = st.sets(
    st.tuples(st.sampled_from(range(6)), st.sampled_from("abcdef")), min_size=1, max_size=18
).map(sorted)
SMALL = st.sets(
    st.tuples(st.sampled_from(range(5)), st.sampled_from("abcde")), min_size=1, max_size=12
).map(sorted)


def circulant(n, width):
    """Return n secrets on a circle, each released value shared by neighbours; packs n/width."""
    return [((y + i) % n, y) for y in range(n) for i in range(width)]


PENTAGON = circulant(5, 2)


def approximately(value):
    return pytest.approx(value, abs=1e-12)


# --- Propositions 1 and 2: symmetrised leakage, maximin information, zero-error capacity -------


@given(pairs=PAIRS)
@settings(max_examples=200, deadline=None)
def test_symmetric_leakage_is_the_smaller_direction_and_bounds_maximin_information(oracle, pairs):
    relation = Relation.from_pairs(pairs)
    found = symmetric_leakage(relation)
    assert found == approximately(oracle.log2(oracle.symmetric_ratio(pairs)))
    assert found == symmetric_leakage(relation.swap())
    assert maximin_information(relation) <= found


def assert_bounds_tightly(oracle, pairs, packing, base=2):
    """Check the capacity bound of a joint range against its packing number, in long decimals."""
    found = zero_error_capacity_bound(Relation.from_pairs(pairs), base=base)
    truth = oracle.decimal_log2(packing) / oracle.decimal_log2(Fraction(base))
    assert Decimal(found) <= truth + Decimal("1e-9")
    if packing.denominator == 1:  # as a double, no less than what so many classes have
        classes = Relation.from_pairs((x, x) for x in range(packing.numerator))
        assert found >= maximin_information(classes, base=base)
    else:
        assert Decimal(found) >= truth


@given(pairs=PAIRS)
@example(pairs=PENTAGON)
@example(pairs=circulant(7, 3))
@settings(max_examples=250, deadline=None)
def test_the_capacity_bound_is_the_packing_number_and_never_below_it(oracle, pairs):
    assert_bounds_tightly(oracle, pairs, oracle.packing_number(pairs))


CIRCLES = st.tuples(st.integers(3, 14), st.integers(2, 13)).filter(lambda c: c[1] < c[0])


@given(circles=st.lists(CIRCLES, min_size=1, max_size=6), base=st.sampled_from([2, 3, 10]))
@example(circles=[(5, 2), (7, 3), (11, 5), (9, 7), (13, 11), (14, 13)], base=2)
@example(circles=[(37, 22)], base=10)
@settings(max_examples=80, deadline=None)
def test_packing_numbers_of_separate_circles_add_up(oracle, circles, base):
    pairs = [((c, x), (c, y)) for c, circle in enumerate(circles) for x, y in circulant(*circle)]
    assert_bounds_tightly(oracle, pairs, sum(Fraction(*circle) for circle in circles), base)


@given(pairs=PAIRS)
@example(pairs=PENTAGON)
@settings(max_examples=200, deadline=None)
def test_no_code_of_one_use_beats_the_capacity_bound(oracle, pairs):
    code = oracle.independence_number(oracle.confusable(pairs))
    assert math.log2(code) <= zero_error_capacity_bound(Relation.from_pairs(pairs))


@given(pairs=SMALL)
@example(pairs=PENTAGON)
@settings(max_examples=80, deadline=None)
def test_no_code_of_two_uses_beats_the_capacity_bound(oracle, pairs):
    graph = oracle.strong_square(oracle.confusable(pairs))
    square = oracle.unrelated_product(pairs, pairs)
    assert graph == oracle.confusable(square)
    found = zero_error_capacity_bound(Relation.from_pairs(pairs))
    assert math.log2(oracle.independence_number(graph)) / 2 <= found
    twice = zero_error_capacity_bound(Relation.from_pairs(square))
    assert twice == pytest.approx(2 * found, abs=1e-9)


@given(pairs=SMALL)
@example(pairs=PENTAGON)
@settings(max_examples=80, deadline=None)
def test_some_sub_alphabet_leaks_at_least_the_packing_number(oracle, pairs):
    most = max(map(oracle.symmetric_ratio, oracle.sub_alphabets(pairs)))
    assert oracle.packing_number(pairs) <= most
    best = max(symmetric_leakage(Relation.from_pairs(part)) for part in oracle.sub_alphabets(pairs))
    assert best == approximately(oracle.log2(most))
    assert zero_error_capacity_bound(Relation.from_pairs(pairs)) <= best + 1e-9


def test_without_sub_alphabets_the_leakage_can_lie_below_the_capacity(oracle):
    # 0 and 1 are always told apart, so one bit passes; the third input hides it from L0.
    pairs = [(0, "a"), (1, "b"), (2, "a"), (2, "b")]
    relation = Relation.from_pairs(pairs)
    capacity = math.log2(oracle.independence_number(oracle.confusable(pairs)))
    assert capacity == 1
    assert symmetric_leakage(relation) == approximately(math.log2(3 / 2))
    assert zero_error_capacity_bound(relation) == 1


def test_the_pentagon_lies_between_its_two_use_code_and_its_packing_number(oracle):
    graph = oracle.confusable(PENTAGON)
    assert nx.is_isomorphic(nx.Graph(graph), nx.cycle_graph(5))
    assert oracle.independence_number(graph) == 2
    assert oracle.independence_number(oracle.strong_square(graph)) == 5
    assert oracle.packing_number(PENTAGON) == Fraction(5, 2)
    found = zero_error_capacity_bound(Relation.from_pairs(PENTAGON))
    assert math.log2(5) / 2 < found == pytest.approx(math.log2(5 / 2), abs=1e-9)


# --- mechanisms on a product range --------------------------------------------------------------


@st.composite
def mechanisms(draw, answers=4):
    """Draw the ranges of two or three people and what is released for each of their tables."""
    people = [range(size) for size in draw(st.lists(st.integers(2, 3), min_size=2, max_size=3))]
    tables = list(product(*people))
    outputs = st.lists(st.integers(0, answers), min_size=len(tables), max_size=len(tables))
    return people, dict(zip(tables, draw(outputs), strict=True))


def neighbourhoods(people, mechanism):
    """Yield, for every person and every data of the others, the joint range of Xi and Y."""
    for i, values in enumerate(people):
        others = [side if j != i else (None,) for j, side in enumerate(people)]
        for v in product(*others):
            yield [(x, mechanism[(*v[:i], x, *v[i + 1 :])]) for x in values]


def count(people, mechanism):
    """Return the largest number of outputs that one person's data can produce (Definition 1)."""
    return max(len({y for _, y in pairs}) for pairs in neighbourhoods(people, mechanism))


@given(case=mechanisms())
@settings(max_examples=50, deadline=None)
def test_all_measures_of_one_person_equal_the_logarithm_of_her_outputs(case):
    # Theorems 1, 2 and 5 for deterministic mechanisms.
    budget = math.log2(count(*case))
    for pairs in neighbourhoods(*case):
        relation = Relation.from_pairs(pairs)
        wanted = math.log2(len({y for _, y in pairs}))
        assert maximin_information(relation) == approximately(wanted)
        assert symmetric_leakage(relation) == approximately(wanted)
        assert nonstochastic_leakage(relation.swap()) == approximately(wanted)
        assert zero_error_capacity_bound(relation) == approximately(wanted)
        assert maximal_leakage(relation) == approximately(wanted)
        assert wanted <= budget
        assert nonstochastic_leakage(relation) >= wanted - 1e-12


def test_the_other_direction_of_leakage_is_not_bounded_by_the_budget():
    relation = Relation.from_pairs([(x, int(x == 1)) for x in range(1, 101)])
    assert hartley_entropy(relation.swap()) == 1  # two outputs: the budget is one bit
    assert nonstochastic_leakage(relation.swap()) == 1
    assert symmetric_leakage(relation) == maximin_information(relation) == 1
    assert nonstochastic_leakage(relation) == approximately(math.log2(100))


@given(case=mechanisms())
@settings(max_examples=50, deadline=None)
def test_telling_two_values_of_one_person_apart_works_always_or_never(case):
    # Theorem 3, sharpened: the performance is one bit or minus infinity, for every test.
    budget = math.log2(count(*case))
    for pairs in neighbourhoods(*case):
        (x, y), (_, z) = pairs[:2]
        found = analyse_hypothesis(Relation.from_pairs(pairs[:2]), {x})
        outputs = sorted({y, z})
        correct = [
            sum(
                {h for h, seen in ((True, y), (False, z)) if seen == out} == {t}
                for out, t in zip(outputs, decisions, strict=True)
            )
            for decisions in product([True, False], repeat=len(outputs))
        ]
        assert max(correct) in (0, 2)
        assert found.performance_bound == (1 if max(correct) else -math.inf)
        assert found.performance_bound <= budget


@given(case=mechanisms(), data=st.data())
@settings(max_examples=50, deadline=None)
def test_stochastic_maximal_leakage_keeps_the_budget_whatever_the_prior(case, data):
    # Theorem 5: an adversary's prior on the person, zero on some of her values.
    budget = math.log2(count(*case))
    for pairs in neighbourhoods(*case):
        weights = data.draw(
            st.lists(st.integers(0, 5), min_size=len(pairs), max_size=len(pairs)).filter(any)
        )
        outputs = sorted({y for _, y in pairs})
        joint = [
            [weight / sum(weights) if y == output else 0 for output in outputs]
            for (_, y), weight in zip(pairs, weights, strict=True)
        ]
        seen = {y for (_, y), weight in zip(pairs, weights, strict=True) if weight}
        found = maximal_leakage(JointDistribution.of(joint))
        assert found == approximately(math.log2(len(seen)))
        assert found <= budget + 1e-12


@given(case=mechanisms(answers=2), again=st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_outputs_of_two_mechanisms_on_different_queries_multiply_at_most(case, again):
    # Theorem 6 for mechanisms that share nothing but the table.
    people, first = case
    second = {rows: again.randrange(3) for rows in first}
    both = {rows: (first[rows], second[rows]) for rows in first}
    assert count(people, both) <= count(people, first) * count(people, second)
    budget = math.log2(count(people, first)) + math.log2(count(people, second))
    for pairs in neighbourhoods(people, both):
        relation = Relation.from_pairs(pairs)
        assert hartley_entropy(relation.swap()) <= budget + 1e-12
        assert maximin_information(relation) <= budget + 1e-12


@given(case=mechanisms(answers=2), again=st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_a_second_query_chosen_after_the_first_answer_still_only_multiplies(case, again):
    # Theorem 6 under adaptive choice: each first answer leads to a mechanism of its own.
    people, first = case
    later = {y: {rows: again.randrange(3) for rows in first} for y in set(first.values())}
    both = {rows: (first[rows], later[first[rows]][rows]) for rows in first}
    most = max(count(people, mechanism) for mechanism in later.values())
    assert count(people, both) <= count(people, first) * most
    budget = math.log2(count(people, first)) + math.log2(most)
    for pairs in neighbourhoods(people, both):
        assert maximin_information(Relation.from_pairs(pairs)) <= budget + 1e-12


def test_composition_reaches_the_product_of_the_counts():
    people = [range(4), range(2)]
    tables = list(product(*people))
    low, high = ({rows: (rows[0] >> bit) & 1 for rows in tables} for bit in (0, 1))
    both = {rows: (low[rows], high[rows]) for rows in tables}
    assert (count(people, low), count(people, high), count(people, both)) == (2, 2, 4)
    for pairs in neighbourhoods([people[0]], {rows[:1]: both[rows] for rows in tables}):
        assert maximin_information(Relation.from_pairs(pairs)) == 2


@given(case=mechanisms(), after=st.lists(st.integers(0, 3), min_size=5, max_size=5))
@settings(max_examples=80, deadline=None)
def test_processing_the_output_keeps_the_budget(case, after):
    # Theorem 7.
    people, mechanism = case
    processed = {rows: after[y] for rows, y in mechanism.items()}
    assert count(people, processed) <= count(people, mechanism)
    ranges = neighbourhoods(people, mechanism), neighbourhoods(people, processed)
    for before, later in zip(*ranges, strict=True):
        for measure in (maximin_information, symmetric_leakage, zero_error_capacity_bound):
            assert measure(Relation.from_pairs(later)) <= measure(Relation.from_pairs(before))


# --- Theorem 4, corrected: an adversary with a prior --------------------------------------------


def best_errors(pieces, labels):
    """Return E|X - X^| and E(X - X^)^2 of the best estimators, on [0, 1] cut into equal pieces.

    Each piece has a weight, its chance, spread evenly, and a label, which is what is released.
    """
    width = Fraction(1, len(pieces))
    absolute = square = Fraction(0)
    for label in set(labels):
        parts = [
            (k * width, weight)
            for k, (weight, own) in enumerate(zip(pieces, labels, strict=True))
            if own == label and weight
        ]
        if not parts:
            continue
        mass = sum(weight for _, weight in parts)
        below = Fraction(0)
        for start, weight in parts:  # the weighted median
            if below + weight >= mass / 2:
                median = start + width * (mass / 2 - below) / weight
                break
            below += weight
        average = sum(weight * (start + width / 2) for start, weight in parts) / mass
        for start, weight in parts:
            a, b = start - median, start + width - median
            spread = abs(a + b) / 2 if a * b >= 0 else (a * a + b * b) / (2 * width)
            absolute += weight * spread
            square += weight * ((start + width / 2 - average) ** 2 + width**2 / 12)
    return absolute, square


@given(
    weights=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    outputs=st.integers(1, 4),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_theorem_4_corrected_bounds_every_estimator_of_every_prior(weights, outputs, data):
    # Any set of values may share an output: no connected sets are needed.
    labels = [data.draw(st.integers(1, outputs)) for _ in weights]
    chances = [Fraction(weight, sum(weights)) for weight in weights]
    rho = min(chances) * len(chances)  # of the density of X on [0, 1]
    absolute, square = best_errors(chances, labels)
    assert absolute >= rho / (2 * 2 * outputs)  # p = 1
    assert square >= rho / (3 * 4 * outputs**2)  # p = 2


@pytest.mark.parametrize("outputs", [1, 2, 5])
def test_theorem_4_corrected_is_attained_by_equal_cells_of_an_even_prior(outputs):
    chances = [Fraction(1, outputs)] * outputs
    assert best_errors(chances, range(outputs)) == (
        Fraction(1, 4 * outputs),
        Fraction(1, 12 * outputs**2),
    )


def test_erratum_theorem_4_as_printed_takes_the_density_of_everybody_for_that_of_one():
    # X1 is even on [0, 1], X2 on [0, 1/1000]: their joint density is 1000. A constant release is
    # 0-noiselessly private, and the printed bound asks for an error larger than the range.
    rho, length, epsilon = 1000, 1, 0
    printed = Fraction(rho * length**2, 2 ** (2 * 1 + 2)) / 2 ** (epsilon * 2)
    best, _ = best_errors([Fraction(1)], [0])
    assert printed > length > best == Fraction(1, 4)
    # Odd powers without absolute values can be as negative as they like.
    always_too_high = sum(Fraction(2 * k + 1, 20) - 5 for k in range(10)) / 10
    assert always_too_high < 0 < Fraction(1, 16)
