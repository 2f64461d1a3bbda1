"""Independent sets and powers of small graphs against everything tried; classes of keys."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import Relation, open_table
from hartley.errors import OptionError
from hartley.ranges import classes as confusability
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
