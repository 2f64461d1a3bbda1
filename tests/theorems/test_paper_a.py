"""Farokhi 2019, Development and Analysis of Deterministic Privacy-Preserving Policies.

Finite ranges. The statements are those that hold: Proposition III.1 (13a) is an equality.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import networkx as nx
import pytest
from hypothesis import given, settings, strategies as st

from hartley import (
    ROW,
    Relation,
    guessing_leakage,
    hartley_entropy,
    maximin_information,
    nonstochastic_leakage,
)
from hartley.measures import (
    conditional_entropy,
    information_transmission,
    nonstochastic_information,
    relative_disarray,
)
from hartley.ranges import are_unrelated, is_markov_chain, overlap_partition

SECRETS, RELEASED = range(6), "abcdef"
PAIRS = st.lists(
    st.tuples(st.sampled_from(SECRETS), st.sampled_from(RELEASED)), min_size=1, max_size=18
)
SMALL = st.sets(st.tuples(st.sampled_from(range(5)), st.sampled_from("abcde")), min_size=1)
TRIPLES = st.sets(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=12).map(sorted)
FUNCTION = st.lists(st.sampled_from(RELEASED), min_size=1, max_size=8)
AFTERWARDS = st.fixed_dictionaries({y: st.integers(0, 3) for y in RELEASED})
BASES = st.sampled_from([2, math.e, 10])


def approximately(value):
    return pytest.approx(value, abs=1e-12)


def table(rows, *names):
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def as_sets(partition):
    return {(frozenset(xs), frozenset(ys)) for xs, ys in partition.classes()}


# --- Section II: ranges and entropies -----------------------------------------------------------


@given(pairs=PAIRS)
@settings(max_examples=150, deadline=None)
def test_ranges_are_the_sets_of_values_that_occur(oracle, pairs):
    relation = Relation.from_pairs(pairs)
    given_released = oracle.conditional_ranges(pairs)
    assert Counter(relation.secret_range) == Counter(oracle.secret_range(pairs))
    assert Counter(relation.released_range) == Counter(oracle.released_range(pairs))
    for y, xs in given_released.items():
        assert Counter(relation.conditional_range(released=y)) == Counter(xs)
    for x, ys in oracle.conditional_ranges(oracle.swap(pairs)).items():
        assert Counter(relation.conditional_range(secret=x)) == Counter(ys)
    assert Counter(relation.joint().secret_range) == Counter(set(pairs))


FORMULAS = [
    pytest.param(hartley_entropy, lambda size: size["X"], id="h0(X)"),
    pytest.param(conditional_entropy, lambda size: max(size["X|y"]), id="h0(X|Y)"),
    pytest.param(relative_disarray, lambda size: min(size["X|y"]), id="d0(X|Y)"),
    pytest.param(
        nonstochastic_information, lambda size: Fraction(size["X"], max(size["X|y"])), id="I0"
    ),
    pytest.param(
        nonstochastic_leakage, lambda size: Fraction(size["X"], min(size["X|y"])), id="L0"
    ),
    pytest.param(
        information_transmission, lambda size: Fraction(size["X"] * size["Y"], size["X,Y"]), id="T0"
    ),
]


@pytest.mark.parametrize(("measure", "ratio"), FORMULAS)
@given(pairs=PAIRS, base=BASES)
@settings(max_examples=80, deadline=None)
def test_every_measure_is_the_logarithm_of_its_ratio_of_sizes(oracle, measure, ratio, pairs, base):
    secrets, left = oracle.sizes(pairs)
    released = len(oracle.released_range(pairs))
    wanted = ratio({"X": secrets, "X|y": left, "Y": released, "X,Y": len(set(pairs))})
    found = measure(Relation.from_pairs(pairs), base=base)
    assert found == approximately(oracle.log2(wanted) / math.log2(base))


@given(pairs=PAIRS)
@settings(max_examples=150, deadline=None)
def test_measures_are_differences_of_entropies_and_stand_in_order(pairs):
    relation = Relation.from_pairs(pairs)
    entropy, joint = hartley_entropy(relation), hartley_entropy(relation.joint())
    information, leakage = nonstochastic_information(relation), nonstochastic_leakage(relation)
    assert information == approximately(entropy - conditional_entropy(relation))
    assert leakage == approximately(entropy - relative_disarray(relation))
    assert 0 <= information <= leakage <= entropy
    transmission = entropy + hartley_entropy(relation.swap()) - joint
    assert information_transmission(relation) == approximately(transmission)


def test_information_misses_what_leakage_shows_when_half_the_secrets_are_released():
    # Example II.1 on a finite range: the lower half is released as it is, the upper half merged.
    relation = Relation.from_pairs([(x, x if x < 32 else "upper") for x in range(64)])
    assert nonstochastic_information(relation) == 1
    assert nonstochastic_leakage(relation) == hartley_entropy(relation) == 6
    assert maximin_information(relation) == approximately(math.log2(33))


@given(pairs=PAIRS)
@settings(max_examples=100, deadline=None)
def test_transmission_is_symmetric_and_zero_exactly_for_unrelated_sides(oracle, pairs):
    relation = Relation.from_pairs(pairs)
    forward = information_transmission(relation)
    assert forward == approximately(information_transmission(relation.swap()))
    everything = set(product(oracle.secret_range(pairs), oracle.released_range(pairs)))
    assert (forward == 0) == (set(pairs) == everything)


def test_information_and_leakage_are_not_symmetric():
    relation = Relation.from_pairs([(0, "a"), (1, "a"), (2, "b")])
    assert nonstochastic_leakage(relation) == approximately(math.log2(3))
    assert nonstochastic_leakage(relation.swap()) == 1
    assert nonstochastic_information(relation) == approximately(math.log2(3 / 2))
    assert nonstochastic_information(relation.swap()) == 1


# --- Definition II.1: unrelatedness -------------------------------------------------------------


@given(pairs=SMALL.map(sorted))
@settings(max_examples=120, deadline=None)
def test_two_variables_are_unrelated_exactly_when_neither_narrows_the_other(oracle, pairs):
    relation = Relation.from_pairs(pairs)
    everything = oracle.secret_range(pairs)
    narrowed = any(xs != everything for xs in oracle.conditional_ranges(pairs).values())
    assert relation.is_unrelated() == (not narrowed)
    assert relation.swap().is_unrelated() == relation.is_unrelated()


@given(rows=TRIPLES)
@settings(max_examples=20, deadline=None)
def test_three_variables_are_unrelated_exactly_when_their_joint_range_is_a_product(rows):
    everything = set(product(*map(set, zip(*rows, strict=True))))
    assert are_unrelated(table(rows, "x", "y", "z"), ["x", "y", "z"]) == (set(rows) == everything)


@given(sides=st.tuples(*[st.sets(st.integers(0, 3), min_size=1)] * 3))
@settings(max_examples=10, deadline=None)
def test_a_product_of_ranges_is_unrelated_and_is_no_longer_without_one_corner(sides):
    rows = list(product(*sides))
    assert are_unrelated(table(rows, "x", "y", "z"), ["x", "y", "z"])
    if sum(len(side) > 1 for side in sides) > 1:
        assert not are_unrelated(table(rows[1:], "x", "y", "z"), ["x", "y", "z"])


@given(rows=TRIPLES)
@settings(max_examples=20, deadline=None)
def test_conditional_unrelatedness_is_a_product_under_every_condition(rows):
    def is_product(z):
        xs, ys = ({row[i] for row in rows if row[2] == z} for i in (0, 1))
        return {row[:2] for row in rows if row[2] == z} == set(product(xs, ys))

    wanted = all(is_product(z) for z in range(3))
    assert are_unrelated(table(rows, "x", "y", "z"), ["x", "y"], given="z") == wanted
    assert is_markov_chain(table(rows, "x", "y", "z"), ["x", "z", "y"]) == wanted


@given(rows=TRIPLES)
@settings(max_examples=100, deadline=None)
def test_two_releases_leave_no_more_than_what_each_leaves(rows):
    together = Relation.from_pairs([(x, (y, z)) for x, y, z in rows])
    first = Relation.from_pairs([(x, y) for x, y, _ in rows])
    second = Relation.from_pairs([(x, z) for x, _, z in rows])
    for y, z in together.released_range:
        left = set(together.conditional_range(released=(y, z)))
        both = set(first.conditional_range(released=y)) & set(second.conditional_range(released=z))
        assert left <= both


RELEASES = st.tuples(*[st.sets(st.sampled_from("abc"), min_size=1)] * 3)


@given(releases=st.lists(RELEASES, min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_releases_unrelated_given_the_secret_leave_exactly_what_each_leaves(releases):
    rows = [(x, *ys) for x, sides in enumerate(releases) for ys in product(*sides)]
    assert are_unrelated(table(rows, "x", "p", "q", "r"), ["p", "q", "r"], given="x")
    together = Relation.from_pairs([(row[0], row[1:]) for row in rows])
    single = [Relation.from_pairs([(row[0], row[i]) for row in rows]) for i in (1, 2, 3)]
    for ys in product(*(relation.released_range for relation in single)):
        each = [
            set(relation.conditional_range(released=y))
            for relation, y in zip(single, ys, strict=True)
        ]
        occurs = ys in together.released_range
        left = set(together.conditional_range(released=ys)) if occurs else set()
        assert left == set.intersection(*each)


def test_releases_related_given_the_secret_can_leave_less_than_the_intersection():
    rows = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]  # the secret is y xor z
    assert not are_unrelated(table(rows, "x", "y", "z"), ["y", "z"], given="x")
    together = Relation.from_pairs([(x, (y, z)) for x, y, z in rows])
    assert together.conditional_range(released=(0, 0)) == [0]
    for i in (1, 2):
        alone = Relation.from_pairs([(row[0], row[i]) for row in rows])
        assert set(alone.conditional_range(released=0)) == {0, 1}


# --- Definition II.2: taxicab partition and maximin information ---------------------------------


@given(pairs=PAIRS)
@settings(max_examples=150, deadline=None)
def test_the_partition_is_what_merging_overlapping_ranges_ends_in(oracle, pairs):
    found = as_sets(overlap_partition(Relation.from_pairs(pairs)))
    assert {xs for xs, _ in found} == oracle.overlap_classes(pairs)
    assert {ys for _, ys in found} == oracle.overlap_classes(oracle.swap(pairs))
    for xs, ys in found:
        assert ys == {y for x, y in pairs if x in xs}


@given(pairs=PAIRS)
@settings(max_examples=100, deadline=None)
def test_the_partition_is_the_connected_components_of_the_bipartite_graph(pairs):
    graph = nx.Graph([(("secret", x), ("released", y)) for x, y in pairs])
    wanted = {
        tuple(frozenset(v for kind, v in part if kind == side) for side in ("secret", "released"))
        for part in nx.connected_components(graph)
    }
    partition = overlap_partition(Relation.from_pairs(pairs))
    assert as_sets(partition) == wanted
    assert len(partition) == len(wanted)
    for x, y in pairs:
        assert partition.secret_class(x) == partition.released_class(y)


@given(pairs=SMALL.map(sorted), order=st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_partition_depends_neither_on_the_order_nor_on_repeats_nor_on_the_side(pairs, order):
    found = as_sets(overlap_partition(Relation.from_pairs(pairs)))
    shuffled = [*pairs, *order.choices(pairs, k=3)]
    order.shuffle(shuffled)
    assert as_sets(overlap_partition(Relation.from_pairs(shuffled))) == found
    swapped = as_sets(overlap_partition(Relation.from_pairs(pairs).swap()))
    assert {(xs, ys) for ys, xs in swapped} == found


@given(pairs=SMALL.map(sorted))
@settings(max_examples=60, deadline=None)
def test_the_partition_is_the_only_one_connected_within_and_isolated_between(oracle, pairs):
    reach = {x: {x} for x in oracle.secret_range(pairs)}  # chains of overlapping ranges
    for _ in reach:
        for xs in oracle.conditional_ranges(pairs).values():
            joined = xs.union(*(reach[x] for x in xs))
            for x in joined:
                reach[x] = reach[x] | joined
    valid = [
        {frozenset(block) for block in blocks}
        for blocks in oracle.set_partitions(sorted(reach))
        if all(
            (b in reach[a]) == any({a, b} <= set(k) for k in blocks) for a in reach for b in reach
        )
    ]
    classes = overlap_partition(Relation.from_pairs(pairs)).classes()
    assert valid == [{frozenset(xs) for xs, _ in classes}]


@given(pairs=PAIRS)
@settings(max_examples=150, deadline=None)
def test_maximin_information_counts_the_classes_and_is_symmetric(oracle, pairs):
    relation = Relation.from_pairs(pairs)
    found = maximin_information(relation)
    assert found == approximately(oracle.log2(len(oracle.overlap_classes(pairs))))
    assert found == maximin_information(relation.swap())


# --- Section III: post-processing ---------------------------------------------------------------


@given(f=FUNCTION, g=AFTERWARDS)
@settings(max_examples=150, deadline=None)
def test_processing_a_reported_function_leaks_no_more(f, g):
    # Theorem III.1: 1/L0 and 1/I* can only grow.
    before = Relation.from_pairs(enumerate(f))
    after = Relation.from_pairs((x, g[y]) for x, y in enumerate(f))
    assert nonstochastic_leakage(after) <= nonstochastic_leakage(before)
    assert maximin_information(after) <= maximin_information(before)


@given(
    pairs=SMALL.map(sorted), second=st.sets(st.tuples(st.sampled_from("abcde"), st.integers(0, 3)))
)
@settings(max_examples=150, deadline=None)
def test_processing_by_an_uncertain_channel_leaks_no_more(oracle, pairs, second):
    channel = sorted(second | {(y, 0) for y in "abcde" if y not in oracle.secret_range(second)})
    before = Relation.from_pairs(pairs)
    after = Relation.from_pairs(oracle.compose(pairs, channel))
    for measure in (nonstochastic_leakage, nonstochastic_information, maximin_information):
        assert measure(after) <= measure(before)


@given(f=FUNCTION, g=AFTERWARDS)
@settings(max_examples=100, deadline=None)
def test_the_relaxed_problem_loses_nothing(f, g):
    # Proposition III.1 (13a), corrected: an equality; both sides are log |range of g after f|.
    from_data = Relation.from_pairs((x, g[y]) for x, y in enumerate(f))
    from_query = Relation.from_pairs((y, g[y]) for y in f)
    wanted = math.log2(len({g[y] for y in f}))
    assert maximin_information(from_data) == maximin_information(from_query)
    assert maximin_information(from_query) == approximately(wanted)


# --- Proposition V.1: k-anonymity ---------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("values", [2, 4, 7])
def test_a_k_anonymous_release_of_twin_records_leaks_the_whole_table(k, values):
    tables = [tuple(sorted(pair * k)) for pair in product(range(values), repeat=2)]
    assert all(min(Counter(rows).values()) >= k for rows in tables)
    relation = Relation.from_pairs((rows, rows) for rows in tables)
    assert relative_disarray(relation) == 0
    assert nonstochastic_leakage(relation) == hartley_entropy(relation)
    assert maximin_information(relation) == hartley_entropy(relation)


@pytest.mark.parametrize("values", [2, 5, 12])
def test_suppressing_all_but_twin_records_is_2_anonymous_and_still_leaks_without_bound(values):
    tables = list(product(range(values), repeat=2))
    release = {rows: rows if rows[0] == rows[1] else ("*", "*") for rows in tables}
    assert all(min(Counter(shown).values()) >= 2 for shown in release.values())
    relation = Relation.from_pairs(release.items())
    assert relative_disarray(relation) == 0
    assert nonstochastic_leakage(relation) == hartley_entropy(relation)
    assert maximin_information(relation) == approximately(math.log2(values + 1))


def test_a_k_anonymous_table_gives_the_diagnosis_away_when_groups_are_homogeneous():
    people = {
        "postcode": ["30**"] * 3 + ["31**"] * 4 + ["32**"] * 3,
        "diagnosis": ["flu"] * 3 + ["asthma"] * 4 + ["none"] * 3,
    }
    identity = Relation.from_table(people, secret=ROW, released="postcode")
    assert min(identity.summary.secret_sizes) == 3  # the k of k-anonymity
    assert guessing_leakage(identity) == approximately(math.log2(10 / 3))
    diagnosis = Relation.from_table(people, secret=["diagnosis"], released="postcode")
    assert relative_disarray(diagnosis) == 0
    assert nonstochastic_leakage(diagnosis) == hartley_entropy(diagnosis)
    assert maximin_information(diagnosis) == hartley_entropy(diagnosis)
