"""Connected components agree with two other implementations."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hartley.kernels.pairs import component_labels, merge_forests, number_trees


@st.composite
def graphs(draw):
    """Draw the edges of a bipartite graph; some nodes may have none."""
    sizes = draw(st.tuples(st.integers(1, 60), st.integers(1, 60)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    edges = draw(st.integers(0, 90))
    return random.integers(sizes[0], size=edges), random.integers(sizes[1], size=edges), sizes


def by_scipy(secrets, released, sizes):
    nodes = sum(sizes)
    matrix = coo_array(
        (np.ones(secrets.size), (secrets, released + sizes[0])), shape=(nodes, nodes)
    )
    return connected_components(matrix, directed=False)[1][: sizes[0]]


def partition(labels):
    """Return a labelling as a set of sets, whatever the labels are called."""
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


@pytest.mark.slow
@given(graphs())
def test_components_are_those_of_scipy(graph):
    assert partition(component_labels(*graph)) == partition(by_scipy(*graph))


@given(graphs())
def test_components_are_those_of_networkx(graph):
    secrets, released, sizes = graph
    found = nx.Graph()
    found.add_nodes_from(range(sizes[0]))
    found.add_edges_from(
        (x, -1 - y) for x, y in zip(secrets.tolist(), released.tolist(), strict=True)
    )
    expected = {frozenset(n for n in tree if n >= 0) for tree in nx.connected_components(found)}
    assert partition(component_labels(*graph)) == expected


@pytest.mark.slow
@given(graphs(), st.integers(0, 2**32))
def test_labels_do_not_depend_on_the_order_of_the_edges(graph, seed):
    secrets, released, sizes = graph
    order = np.random.default_rng(seed).permutation(secrets.size)
    shuffled = component_labels(secrets[order], released[order], sizes)
    np.testing.assert_array_equal(component_labels(*graph), shuffled)


@given(graphs())
def test_labels_count_up_from_zero_in_the_order_of_first_members(graph):
    labels = component_labels(*graph)
    _, first = np.unique(labels, return_index=True)
    assert labels[0] == 0
    assert labels[np.sort(first)].tolist() == list(range(first.size))


@given(graphs(), graphs())
def test_merged_forests_join_what_either_joins(one, other):
    size = max(one[2][0], other[2][0])
    forests = []
    for secrets, released, sizes in (one, other):
        labels = component_labels(secrets, released, (size, sizes[1]))
        first = np.unique(labels, return_index=True)[1].astype(np.int32)
        forests.append(first[labels])  # every node below the first of its tree
    merge_forests(*forests)
    secrets = np.concatenate([one[0], other[0]])
    released = np.concatenate([one[1], other[1] + one[2][1]])
    expected = by_scipy(secrets, released, (size, one[2][1] + other[2][1]))
    assert partition(number_trees(forests[0])) == partition(expected)


@pytest.mark.parametrize("forwards", [True, False])
def test_a_long_chain_is_one_component(forwards):
    length = 200_000
    secrets = np.repeat(np.arange(length), 2)[1:-1]
    released = np.repeat(np.arange(length - 1), 2)
    step = 1 if forwards else -1
    labels = component_labels(secrets[::step], released[::step], (length, length - 1))
    assert labels.size == length
    assert not labels.any()
