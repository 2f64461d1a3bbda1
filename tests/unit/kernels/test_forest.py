import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from hartley.kernels.games import mu_approx_groups
from hartley.kernels.neighbours import integer_points, plain_mdav


def key(points, one, other):
    return float(((points[one] - points[other]) ** 2).sum()), min(one, other), max(one, other)


def grown(points, k):
    """Grow the forest by trying every pair of rows in every round."""
    forest = nx.empty_graph(len(points))
    while small := [part for part in nx.connected_components(forest) if len(part) < k]:
        edges = [
            min(key(points, one, other) for one in part for other in forest if other not in part)
            for part in small
        ]
        forest.add_edges_from(
            (one, other, {"length": (length, one, other)}) for length, one, other in edges
        )
    assert nx.is_forest(forest)
    return forest


def cut(tree, k):
    """Cut the longest edge that may be cut, again and again."""
    if len(tree) <= max(2 * k - 1, 3 * k - 5):
        return [set(tree)]
    for one, other in sorted(tree.edges, key=lambda edge: tree.edges[edge]["length"], reverse=True):
        rest = tree.copy()
        rest.remove_edge(one, other)
        parts = [rest.subgraph(part) for part in nx.connected_components(rest)]
        if min(map(len, parts)) >= k:
            return [piece for part in parts for piece in cut(part, k)]
    return [set(tree)]


def reference(points, k):
    found = []
    forest = grown(points, k)
    for part in nx.connected_components(forest):
        for piece in cut(forest.subgraph(part), k):
            rows = np.array(sorted(piece))
            labels = plain_mdav(points[rows], k) if len(piece) >= 2 * k else np.zeros(len(rows))
            found += [set(rows[labels == label].tolist()) for label in np.unique(labels)]
    return sorted(found, key=min)


@st.composite
def tables(draw):
    k, columns = draw(st.integers(2, 6)), draw(st.integers(1, 2))
    largest = draw(st.sampled_from([2, 6, 10**6]))
    row = st.tuples(*[st.integers(-largest, largest)] * columns)
    return np.array(draw(st.lists(row, min_size=2 * k, max_size=50)), float), k


def groups(points, k):
    labels = mu_approx_groups(points, k)
    found = [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
    return sorted(found, key=min)


@pytest.mark.slow
@given(tables())
def test_the_groups_are_those_of_the_method_carried_out_pair_by_pair(drawn):
    assert groups(*drawn) == reference(*drawn)


@pytest.mark.slow
@pytest.mark.parametrize("values", [2, 3, 1000])
@pytest.mark.parametrize("k", [5, 40])
def test_so_they_are_where_components_outgrow_the_neighbours_that_are_kept(values, k):
    points = np.random.default_rng(4).integers(0, values, (150, 2)).astype(float)
    assert groups(points, k) == reference(points, k)


@pytest.mark.parametrize("points", [np.sqrt(np.arange(40_000)), np.zeros(40_000)])
def test_groups_of_half_the_records_need_no_look_at_all_pairs(points):
    points[-1] = 300.0
    sizes = np.bincount(mu_approx_groups(integer_points(points[:, None]), 19_999))
    assert sizes.tolist() == [19_999, 20_001]


@pytest.mark.parametrize("k", [2, 3, 7, 30])
@pytest.mark.parametrize("law", ["normal", "tied", "growing"])
def test_every_group_has_k_to_twice_k_less_one_records(k, law):
    random = np.random.default_rng(5)
    points = {
        "normal": random.standard_normal((3000, 3)),
        "tied": random.integers(0, 5, (3000, 2)).astype(float),
        "growing": 1.01 ** np.arange(2000.0)[:, None],  # one long chain
    }[law]
    sizes = np.bincount(mu_approx_groups(integer_points(points), k))
    assert k <= sizes.min() <= sizes.max() < 2 * k


def test_fewer_than_twice_k_records_are_one_group():
    assert mu_approx_groups(np.arange(5.0)[:, None], 3).tolist() == [0] * 5
