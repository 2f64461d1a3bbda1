"""Graphs of what is confused, classes of keys, and unrelated columns, against everything tried."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import ColumnError, OptionError, Relation, open_table
from hartley.ranges import are_unrelated, classes as confusability, is_markov_chain
from hartley.ranges.classes import ConfusabilityGraph, count_classes
from hartley.tables.view import prepare


@st.composite
def graphs(draw, most=8):
    size = draw(st.integers(1, most))
    every = list(combinations(range(size), 2))
    chosen = draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    return size, chosen


def independent(size, edges):
    """List every independent set, as bits."""
    return [
        bits
        for bits in range(1 << size)
        if not any(bits >> i & 1 and bits >> j & 1 for i, j in edges)
    ]


@pytest.mark.slow
@given(graphs())
def test_the_largest_independent_set_is_that_of_all_subsets(drawn):
    size, edges = drawn
    graph = ConfusabilityGraph.of_edges(size, edges)
    found = graph.largest_independent_set()
    alpha = max(map(int.bit_count, independent(size, edges)))
    assert found.is_largest
    assert len(found.vertices) == alpha
    assert sum(1 << vertex for vertex in found.vertices) in independent(size, edges)
    assert sorted(graph.edges) == sorted(edges)
    listed = sorted(graph.independent_sets(alpha))
    assert listed == [bits for bits in independent(size, edges) if bits.bit_count() == alpha]


@settings(max_examples=50)
@given(graphs())
def test_exchanges_alone_give_an_independent_set_and_claim_nothing(drawn):
    size, edges = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confusability, "LARGEST_SEARCH", 0)
        found = ConfusabilityGraph.of_edges(size, edges).largest_independent_set()
    assert not found.is_largest
    assert sum(1 << vertex for vertex in found.vertices) in independent(size, edges)


@settings(max_examples=50)
@given(graphs())
def test_a_search_that_is_cut_short_says_so(drawn):
    size, edges = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confusability, "EXCHANGES", 1)
        patch.setattr(confusability, "MOST_STEPS", 1)
        found = ConfusabilityGraph.of_edges(size, edges).largest_independent_set()
    alpha = max(map(int.bit_count, independent(size, edges)))
    assert sum(1 << vertex for vertex in found.vertices) in independent(size, edges)
    assert not found.is_largest or len(found.vertices) == alpha


@settings(max_examples=50)
@given(graphs(5), graphs(4))
def test_two_places_are_confused_where_both_are(one, other):
    graphs = [ConfusabilityGraph.of_edges(*drawn) for drawn in (one, other)]
    product_graph = graphs[0].times(graphs[1])
    for (a, b), (c, d) in product(product(range(one[0]), range(other[0])), repeat=2):
        joined = product_graph.closed[a * other[0] + b] >> (c * other[0] + d) & 1
        assert joined == (graphs[0].closed[a] >> c & 1 and graphs[1].closed[b] >> d & 1)


@pytest.mark.slow
@given(graphs(6))
def test_what_is_dominated_changes_no_independence_number_of_any_power(drawn):
    graph = ConfusabilityGraph.of_edges(*drawn)
    kept = graph.without_dominated()
    reduced = graph.induced(kept)
    assert reduced.without_dominated() == tuple(range(len(reduced)))
    for whole, part in ((graph, reduced), (graph.times(graph), reduced.times(reduced))):
        sizes = [len(g.largest_independent_set().vertices) for g in (whole, part)]
        assert sizes[0] == sizes[1]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=15))
def test_secrets_are_joined_where_they_share_a_released_value(drawn):
    relation = Relation.from_pairs(drawn)
    secrets = relation.secret_range
    graph = ConfusabilityGraph.of_pairs(relation.pairs())
    for (i, x), (j, z) in product(enumerate(secrets), repeat=2):
        shared = {y for a, y in drawn if a == x} & {y for a, y in drawn if a == z}
        assert bool(graph.closed[i] >> j & 1) == bool(shared)


def test_a_graph_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(confusability, "LARGEST_GRAPH", 2)
    with pytest.raises(OptionError, match="3 secrets is too large"):
        ConfusabilityGraph.of_pairs(Relation.from_pairs([(x, x) for x in range(3)]).pairs())


@pytest.mark.parametrize("steps", [(10, None, None), (None, Fraction("0.5"), None), (10, 2, None)])
def test_classes_of_binned_keys_do_not_depend_on_how_they_are_counted(steps, monkeypatch):
    draws = np.random.default_rng(3)
    columns = {"age": draws.integers(18, 95, 500), "real": draws.normal(0, 9, 500)}
    table = open_table(columns | {"ill": draws.choice(list("abc"), 500)})
    view = prepare(table, ["age", "real", "ill"], steps=[s and Fraction(s) for s in steps])
    grouped = count_classes(view, [0, 1], 2)
    monkeypatch.setattr(confusability, "FEW_ROWS", 0)
    streamed = count_classes(view, [0, 1], 2)
    assert streamed.values == grouped.values == ["a", "b", "c"]
    assert streamed.counts.codes.tolist() == grouped.counts.codes.tolist()
    assert streamed.counts.counts.tolist() == grouped.counts.counts.tolist()
    assert streamed.counts.starts.tolist() == grouped.counts.starts.tolist()


# --- unrelatedness and Markov chains, by their definitions ----------------------------------------

rows = st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=1, max_size=10)
few = settings(max_examples=12)  # each opens an engine


def as_table(drawn):
    return open_table(dict(zip("xyz", map(list, zip(*drawn, strict=True)), strict=True)))


def product_given(drawn, at, condition):
    """Tell by the definition whether the range is a product under every condition."""
    for value in {condition(row) for row in drawn}:
        here = {row for row in drawn if condition(row) == value}
        together = {tuple(row[i] for i in at) for row in here}
        if len(together) != math.prod(len({row[i] for row in here}) for i in at):
            return False
    return True


@pytest.mark.slow
@few
@given(rows)
def test_variables_are_unrelated_exactly_if_their_range_is_a_product(drawn):
    table = as_table(drawn)
    everywhere = product_given(drawn, (0, 1, 2), lambda _: None)
    assert are_unrelated(table, ["x", "y", "z"]) == everywhere
    assert are_unrelated(table, ["x", "y"]) == product_given(drawn, (0, 1), lambda _: None)


@pytest.mark.slow
@few
@given(rows)
def test_variables_are_unrelated_given_another_exactly_if_each_range_is_a_product(drawn):
    unrelated = are_unrelated(as_table(drawn), ["x", "y"], given="z")
    assert unrelated == product_given(drawn, (0, 1), lambda row: row[2])


@pytest.mark.slow
@few
@given(rows)
def test_a_chain_holds_exactly_if_the_outer_two_are_unrelated_given_the_middle(drawn):
    expected = product_given(drawn, (0, 2), lambda row: row[1])
    table = as_table(drawn)
    assert is_markov_chain(table, ["x", "y", "z"]) == expected
    assert is_markov_chain(table, ["z", "y", "x"]) == expected


def test_a_longer_chain_needs_every_three_of_its_variables():
    columns = {"a": [0, 1, 2, 3], "b": [0, 1, 1, 2], "c": [0, 1, 1, 1], "d": [0, 0, 0, 0]}
    assert is_markov_chain(columns, ["a", "b", "c", "d"])
    broken = columns | {"d": [0, 1, 2, 2]}
    assert not is_markov_chain(broken, ["a", "b", "c", "d"])
    threes = [is_markov_chain(broken, list(names)) for names in combinations("abcd", 3)]
    assert not all(threes)


def test_several_columns_make_one_variable():
    columns = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": [0, 1, 1, 0]}
    assert are_unrelated(columns, ["a", "b"])
    assert are_unrelated(columns, ["a", "c"])
    assert not are_unrelated(columns, [["a", "b"], "c"])
    assert not are_unrelated(columns, ["a", "b"], given=["c"])


def test_bins_and_missing_values_are_dealt_with_first():
    columns = {"a": [1, 2, 11, 12], "b": [0, 1, 0, 1]}
    assert not are_unrelated(columns, ["a", "b"])
    assert are_unrelated(columns, ["a", "b"], bins={"a": 10})
    holes = {"a": [0, 0, 1, 1, None], "b": [0, 1, 0, 1, 5]}
    assert not are_unrelated(holes, ["a", "b"])
    assert are_unrelated(holes, ["a", "b"], missing="drop")


@pytest.mark.slow
def test_many_variables_do_not_overflow():
    columns = {f"v{i}": [i % 2, 1 - i % 2] for i in range(80)}
    assert not are_unrelated(columns, list(columns))
    assert are_unrelated({name: [1] for name in columns}, list(columns))


@pytest.mark.parametrize("variables", [[], ["a"]])
def test_fewer_than_two_variables_are_refused(variables):
    with pytest.raises(OptionError, match="at least two variables; hint: "):
        are_unrelated({"a": [1]}, variables)


@pytest.mark.parametrize("variables", [[], ["a"], ["a", "a"]])
def test_fewer_than_three_links_are_refused(variables):
    with pytest.raises(OptionError, match="at least three variables; hint: "):
        is_markov_chain({"a": [1]}, variables)


def test_an_absent_column_is_refused_by_name():
    with pytest.raises(ColumnError, match=r"'c'.*; hint: "):
        are_unrelated({"a": [1], "b": [2]}, ["a", "b"], given="c")
