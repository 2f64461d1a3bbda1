"""Merged categories."""

import math
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import example, given, settings, strategies as st

from brute_force import set_partitions
from hartley import ROW, HartleyError, OptionError, Relation, nonstochastic_leakage
from hartley.policies import CategoryMerging
from hartley.policies.categories import _least_size

BITS = st.sampled_from([0, "0.4", 1, "1.585", 2, "2.3", 3, 10])
COUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any)
PAIRS = st.sets(
    st.tuples(st.integers(0, 6), st.sampled_from("abcdef")), min_size=1, max_size=20
).map(sorted)
LAND = {
    "Paris": "France",
    "Lyon": "France",
    "Rome": "Italy",
    "Bari": "Italy",
    "France": "Europe",
    "Italy": "Europe",
    "Europe": "World",
    "Tokyo": "Japan",
    "Japan": "World",
}
CITIES = ["Paris", "Lyon", "Rome", "Bari", "Tokyo"]


def leaves_enough(secrets, total, bits):
    """Tell whether total / secrets <= 2^bits, in whole powers where the bits are a fraction."""
    bits = Fraction(bits)
    return secrets > 0 and secrets**bits.denominator * 2**bits.numerator >= total**bits.denominator


def secrets_of(pairs):
    found = {}
    for secret, released in pairs:
        found.setdefault(released, set()).add(secret)
    return found


def best_partitions(sets, bits, apart):
    """Return the most groups and their least distance, over all set partitions."""
    total = len(set().union(*sets.values()))
    best = None
    for groups in set_partitions(sets):
        unions = [set().union(*(sets[category] for category in group)) for group in groups]
        if all(leaves_enough(len(union), total, bits) for union in unions):
            inner = sum(apart(a, b) for group in groups for a, b in combinations(group, 2))
            best = max(best or (0,), (len(groups), -inner, min(map(len, unions))))
    return best


def told(merging, sets, apart):
    inner = sum(apart(a, b) for group in merging.groups for a, b in combinations(group, 2))
    unions = [set().union(*(sets[category] for category in group)) for group in merging.groups]
    return len(merging.groups), -inner, min(map(len, unions))


@pytest.mark.slow
@given(counts=COUNTS, bits=BITS)
@settings(max_examples=120, deadline=None)
def test_no_grouping_of_records_within_the_bound_has_more_groups_or_closer_ones(counts, bits):
    sets = {f"v{i}": {(i, k) for k in range(n)} for i, n in enumerate(counts)}
    for apart in (lambda _one, _other: 1, lambda one, other: abs(int(one[1]) - int(other[1]))):
        merging = CategoryMerging.for_leakage(
            {name: len(rows) for name, rows in sets.items()}, bits=bits, distance=apart
        )
        assert merging.optimal
        assert told(merging, sets, apart) == best_partitions(sets, bits, apart)
        assert sorted(value for group in merging.groups for value in group) == sorted(sets)


@pytest.mark.slow
@given(pairs=PAIRS, bits=BITS)
@example(pairs=[(0, "a"), (0, "b"), (1, "b"), (2, "c")], bits=1)
@settings(max_examples=120, deadline=None)
def test_no_grouping_of_a_relation_within_the_bound_has_more_groups(pairs, bits):
    relation = Relation.from_pairs(pairs)
    merging = CategoryMerging.for_leakage(relation, bits=bits)
    sets = secrets_of(pairs)
    assert told(merging, sets, lambda _one, _other: 1) == best_partitions(
        sets, bits, lambda _one, _other: 1
    )
    after = nonstochastic_leakage(merging.apply(relation))
    assert after == merging.leakage <= float(Fraction(bits)) + 1e-12


@pytest.mark.slow
@given(pairs=PAIRS, bits=BITS)
@settings(max_examples=60, deadline=None)
def test_the_heuristic_keeps_the_bound_too(pairs, bits):
    # Twenty categories: the same ones again under other names, and a few more.
    more = [(x, y * times) for x, y in pairs for times in (1, 2, 3)]
    more += [(x, f"only {x}") for x in range(13)]
    relation = Relation.from_pairs(more)
    for distance in (None, lambda one, other: abs(len(one) - len(other))):
        merging = CategoryMerging.for_leakage(relation, bits=bits, distance=distance)
        assert not merging.optimal
        after = nonstochastic_leakage(merging.apply(relation))
        assert after == merging.leakage <= float(Fraction(bits)) + 1e-12
        assert sorted(v for group in merging.groups for v in group) == sorted(
            relation.released_range
        )


@given(counts=st.lists(st.integers(1, 20), min_size=13, max_size=60), bits=BITS)
@settings(max_examples=60, deadline=None)
def test_the_heuristic_makes_at_least_half_as_many_groups_as_are_conceivable(counts, bits):
    merging = CategoryMerging.for_leakage(dict(enumerate(counts)), bits=bits)
    least = _least_size(sum(counts), bits)
    sizes = [sum(counts[value] for value in group) for group in merging.groups]
    assert min(sizes) >= least
    conceivable = sum(min(n, least) for n in counts) // least
    assert 2 * len(merging.groups) + 1 >= conceivable


@given(counts=st.lists(st.integers(1, 9), min_size=13, max_size=30), bits=BITS)
@settings(max_examples=60, deadline=None)
def test_near_categories_are_joined_before_far_ones(counts, bits):
    # On a line the nearest group, on average, is a neighbour: groups stay without gaps.
    ages = dict(enumerate(counts))
    merging = CategoryMerging.for_leakage(ages, bits=bits, distance=lambda a, b: abs(a - b))
    for group in merging.groups:
        assert max(group) - min(group) == len(group) - 1


def test_the_distance_from_a_group_is_the_mean_over_its_members():
    counts = {"a": 1, "b": 3, "c": 2, "d": 50} | {f"e{k}": 50 for k in range(9)}
    near = {"ab": 0.5, "ac": 1, "bc": 5, "cd": 2, "ad": 8, "bd": 8}
    merging = CategoryMerging.for_leakage(
        counts, bits="6.8", distance=lambda u, v: near.get("".join(sorted(u + v)), 9)
    )  # at least 5 records a group: a joins b, then c is 3 from both and 2 from d
    assert merging.label("c") == merging.label("d")


def test_a_distance_may_be_a_function_a_table_of_pairs_or_a_matrix():
    counts = {"red": 1, "pink": 1, "blue": 1, "navy": 1}
    near = {("red", "pink"), ("blue", "navy")}
    table = {pair: (1 if pair in near else 5) for pair in combinations(counts, 2)}
    matrix = [
        [0 if a == b else table.get((a, b), table.get((b, a))) for b in counts] for a in counts
    ]
    function = lambda a, b: 0 if a == b else table.get((a, b), table.get((b, a)))  # noqa: E731
    for distance in (table, matrix, function):
        merging = CategoryMerging.for_leakage(counts, bits=1, distance=distance)
        assert merging.groups == (("red", "pink"), ("blue", "navy"))


# --- hierarchies ----------------------------------------------------------------------------------


def all_cuts(place, children):
    """Yield every antichain that holds all leaves below a place, as sets of places."""
    yield [place]
    if children.get(place):
        below = [[]]
        for child in children[place]:
            below = [cut + more for cut in below for more in all_cuts(child, children)]
        yield from below


@given(counts=st.lists(st.integers(0, 9), min_size=5, max_size=5).filter(any), bits=BITS)
@settings(max_examples=120, deadline=None)
def test_the_cut_is_the_finest_that_keeps_the_bound(counts, bits):
    counts = dict(zip(CITIES, counts, strict=True))
    children = {}
    for child, parent in LAND.items():
        children.setdefault(parent, []).append(child)

    def below(place):
        return [place] if place in CITIES else [c for p in children[place] for c in below(p)]

    total = sum(counts.values())
    feasible = [
        cut
        for cut in all_cuts("World", children)
        if all(leaves_enough(sum(counts[c] for c in below(p)), total, bits) for p in cut)
    ]
    merging = CategoryMerging.for_leakage(counts, bits=bits, hierarchy=LAND)
    assert merging.optimal
    assert len(merging.groups) == max(map(len, feasible))
    # "Japan" holds "Tokyo" alone, so that both name the same group.
    labels = {label.replace("Japan", "Tokyo") for label in merging.labels}
    assert labels in [{place.replace("Japan", "Tokyo") for place in cut} for cut in feasible]
    for group, label in zip(merging.groups, merging.labels, strict=True):
        assert sorted(group) == sorted(below(label))


def test_a_place_that_is_itself_a_category_is_one_of_its_parts():
    hierarchy = {"car": "vehicle", "truck": "vehicle"}
    counts = {"vehicle": 2, "car": 3, "truck": 3}
    whole = CategoryMerging.for_leakage(counts, bits=1, hierarchy=hierarchy)
    assert whole.lookup == dict.fromkeys(counts, "vehicle")
    rare = CategoryMerging.for_leakage(counts | {"vehicle": 1}, bits=2, hierarchy=hierarchy)
    assert rare.labels == ("vehicle",)  # car and truck alone would do, the rest would not
    parts = CategoryMerging.for_leakage(counts, bits=2, hierarchy=hierarchy)
    assert parts.labels == ("vehicle", "car", "truck")
    assert parts.groups == (("vehicle",), ("car",), ("truck",))


def test_a_deep_hierarchy_is_no_trouble():
    deep = {k: k + 1 for k in range(5000)}
    assert CategoryMerging.for_leakage({0: 4}, bits=0, hierarchy=deep).groups == ((0,),)


def test_roots_that_tell_too_much_are_refused():
    two = {"a": "left", "b": "right"}
    assert CategoryMerging.for_leakage({"a": 1, "b": 1}, bits=1, hierarchy=two).labels == ("a", "b")
    with pytest.raises(OptionError, match="root"):
        CategoryMerging.for_leakage({"a": 1, "b": 1}, bits="0.5", hierarchy=two)


# --- the policy -----------------------------------------------------------------------------------


def test_records_of_a_table_are_counted_as_secrets():
    table = {"job": ["a"] * 5 + ["b"] * 2 + ["c"]}
    relation = Relation.from_table(table, secret=ROW, released="job")
    merging = CategoryMerging.for_leakage(relation, bits=2)
    assert (merging.column, merging.groups) == ("job", (("a",), ("b", "c")))
    assert nonstochastic_leakage(merging.apply(relation)) == merging.leakage <= 2


def test_labels_are_short_and_tell_groups_apart():
    merging = CategoryMerging("k", (tuple(range(9)), ("a", "b"), ("a, b",)))
    assert merging.labels == ("0, 1, 2 and 6 others", "a, b (2)", "a, b (3)")
    assert merging.label(8) == merging.labels[0]
    with pytest.raises(OptionError, match="is in no group"):
        merging.label("z")


@pytest.mark.slow
@given(total=st.integers(1, 10**30), bits=st.fractions(0, 110, max_denominator=9))
@settings(max_examples=200, deadline=None)
def test_the_fewest_secrets_are_those_that_the_bits_leave(total, bits):
    least = _least_size(total, bits)
    assert leaves_enough(least, total, bits)
    assert least == 1 or not leaves_enough(least - 1, total, bits)


@pytest.mark.parametrize(
    ("counted", "options"),
    [
        ({}, {"bits": 1}),
        ({"a": 0}, {"bits": 1}),
        ({"a": -1, "b": 3}, {"bits": 1}),
        ({"a": 1.5}, {"bits": 1}),
        ({"a": True}, {"bits": 1}),
        (["a", "b"], {"bits": 1}),
        ({"a": 1}, {"bits": -1}),
        ({"a": 1}, {"bits": "x"}),
        ({"a": 1}, {"bits": math.nan}),
        ({"a": 1, "b": 1}, {"bits": 1, "hierarchy": {"a": "top"}}),
        ({"a": 1, "b": 1}, {"bits": 1, "hierarchy": {"a": "b", "b": "a"}}),
        ({"a": 1, "b": 1}, {"bits": 1, "hierarchy": {}, "distance": [[0, 1], [1, 0]]}),
        ({"a": 1, "b": 1}, {"bits": 1, "distance": [[0, 1]]}),
        ({"a": 1, "b": 1}, {"bits": 1, "distance": [[0, 1], [2, 0]]}),
        ({"a": 1, "b": 1}, {"bits": 1, "distance": [[0, -1], [-1, 0]]}),
        ({"a": 1, "b": 1}, {"bits": 1, "distance": {("a", "c"): 1}}),
        ({"a": 1, "b": 1}, {"bits": 1, "distance": lambda _a, _b: math.nan}),
        ({"a": 1, "b": 1}, {"bits": 1, "distance": lambda _a, _b: "far"}),
    ],
)
def test_what_makes_no_sense_is_refused(counted, options):
    with pytest.raises(HartleyError, match="; hint: "):
        CategoryMerging.for_leakage(counted, **options)


@pytest.mark.parametrize(
    ("groups", "labels"),
    [
        ((), ()),
        (((),), ()),
        ((("a",), ("a",)), ()),
        ((("a",),), ("x", "y")),
        ((("a",), ("b",)), ("x", "x")),
    ],
)
def test_groups_that_do_not_fit_together_are_refused(groups, labels):
    with pytest.raises(OptionError, match="; hint: "):
        CategoryMerging("k", groups, labels)
