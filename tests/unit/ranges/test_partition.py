"""The overlap partition is the finest one whose classes never overlap."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given, strategies as st

from hartley import ROW, OptionError, Relation
from hartley.ranges import overlap_partition

pairs = st.lists(st.tuples(st.integers(0, 7), st.sampled_from("abcdef")), min_size=1, max_size=25)


@given(pairs)
def test_classes_are_the_components_of_the_bipartite_graph(drawn):
    graph = nx.Graph(drawn)
    expected = {
        (
            frozenset(n for n in found if isinstance(n, int)),
            frozenset(n for n in found if isinstance(n, str)),
        )
        for found in nx.connected_components(graph)
    }
    classes = overlap_partition(Relation.from_pairs(drawn)).classes()
    assert {(frozenset(x), frozenset(y)) for x, y in classes} == expected
    assert len(classes) == len(expected)


@given(pairs)
def test_no_two_classes_share_a_value_and_every_pair_lies_in_one(drawn):
    partition = overlap_partition(Relation.from_pairs(drawn))
    for one, other in combinations(partition.classes(), 2):
        assert not set(one[0]) & set(other[0])
        assert not set(one[1]) & set(other[1])
    for secret, released in drawn:
        assert partition.secret_class(secret) == partition.released_class(released)
        assert secret in partition.classes()[partition.secret_class(secret)][0]


@given(pairs)
def test_both_sides_see_the_same_classes(drawn):
    relation = Relation.from_pairs(drawn)
    here, there = overlap_partition(relation), overlap_partition(relation.swap())
    assert len(here) == len(there)
    swapped = {(frozenset(y), frozenset(x)) for x, y in there.classes()}
    assert {(frozenset(x), frozenset(y)) for x, y in here.classes()} == swapped


@given(pairs)
def test_what_never_overlaps_is_never_merged(drawn):
    doubled = [((side, x), (side, y)) for side in (0, 1) for x, y in drawn]
    once = overlap_partition(Relation.from_pairs(drawn))
    assert len(overlap_partition(Relation.from_pairs(doubled))) == 2 * len(once)


def test_one_value_a_side_is_one_class():
    partition = overlap_partition(Relation.from_pairs([(1, "a")] * 3))
    assert len(partition) == 1
    assert partition.classes() == [([1], ["a"])]


def test_records_fall_into_the_classes_of_what_they_release():
    relation = Relation.from_table({"job": ["x", "y", "x"]}, secret=ROW, released="job")
    assert overlap_partition(relation).classes() == [([0, 1], ["x"]), ([2], ["y"])]


def test_a_value_outside_the_range_has_no_class():
    partition = overlap_partition(Relation.from_pairs([(1, "a")]))
    with pytest.raises(OptionError, match="; hint: "):
        partition.secret_class(2)
    with pytest.raises(OptionError, match="; hint: "):
        partition.released_class("b")
