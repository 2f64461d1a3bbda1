"""The theta function against its theorems, and exact definiteness against eigenvalues."""

from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley.measures.capacity import (
    bound_theta,
    has_no_negative_eigenvalue,
    prove_theta,
    prove_theta_of_regular,
)
from hartley.ranges.classes import ConfusabilityGraph

PRECISE = 3e-7


@st.composite
def graphs(draw, most=7):
    size = draw(st.integers(1, most))
    every = list(combinations(range(size), 2))
    chosen = draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    return size, chosen


def complement(size, edges):
    return size, [edge for edge in combinations(range(size), 2) if edge not in set(edges)]


def independence(size, edges):
    """Return the independence number, by all subsets."""
    joined = set(edges)
    return max(
        bits.bit_count()
        for bits in range(1 << size)
        if not any(bits >> i & 1 and bits >> j & 1 for i, j in joined)
    )


def chromatic(size, edges):
    """Return the fewest colours, by trying all colourings."""
    joined = set(edges)
    for colours in range(1, size + 1):

        def fits(vertex, chosen, colours=colours):
            if vertex == size:
                return True
            return any(
                all(chosen[u] != c for u in range(vertex) if (u, vertex) in joined)
                and fits(vertex + 1, [*chosen, c])
                for c in range(min(colours, max(chosen, default=-1) + 2))
            )

        if fits(0, []):
            return colours
    return size


@settings(max_examples=80, deadline=None)
@given(graphs())
def test_theta_lies_between_independence_and_clique_cover(drawn):
    size, edges = drawn
    graph = ConfusabilityGraph.of_edges(size, edges)
    bound = bound_theta(graph)
    assert bound.holds(graph)
    assert independence(size, edges) <= bound.value
    assert bound.value <= chromatic(*complement(size, edges)) + PRECISE


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_theta_of_a_graph_and_its_complement_multiply_to_its_size_at_least(drawn):
    both = [bound_theta(ConfusabilityGraph.of_edges(*g)).value for g in (drawn, complement(*drawn))]
    assert both[0] * both[1] >= drawn[0]


@settings(max_examples=25, deadline=None)
@given(graphs(4), graphs(4))
def test_theta_is_multiplicative(one, other):
    graphs = [ConfusabilityGraph.of_edges(*drawn) for drawn in (one, other)]
    product = bound_theta(graphs[0].times(graphs[1])).value
    factors = bound_theta(graphs[0]).value * bound_theta(graphs[1]).value
    assert float(product) == pytest.approx(float(factors), abs=1e-5)


@pytest.mark.parametrize(
    ("graph", "theta"),
    [
        (nx.cycle_graph(5), 2.2360680),
        (nx.cycle_graph(7), 3.3176672),
        (nx.cycle_graph(9), 4.3600896),
        (nx.cycle_graph(6), 3),
        (nx.petersen_graph(), 4),
        (nx.complete_graph(6), 1),
        (nx.empty_graph(6), 6),
    ],
)
def test_theta_of_known_graphs(graph, theta):
    bound = bound_theta(ConfusabilityGraph.of_edges(len(graph), graph.edges))
    assert theta - 5e-8 <= bound.value
    assert float(bound.value) == pytest.approx(theta, abs=PRECISE)


@settings(max_examples=60, deadline=None)
@given(graphs(9))
def test_an_exact_proof_is_given_where_theta_is_the_independence_number_alone(drawn):
    size, edges = drawn
    graph = ConfusabilityGraph.of_edges(size, edges)
    alpha = independence(size, edges)
    proof = prove_theta(graph, alpha, graph.independent_sets(alpha))
    if proof is not None:
        assert proof.value == alpha
        assert proof.holds(graph)
        assert float(bound_theta(graph).value) == pytest.approx(alpha, abs=1e-5)
    # Nothing smaller than the independence number can be proved, whatever is claimed.
    assert prove_theta(graph, alpha - 1, graph.independent_sets(alpha)) is None


def test_a_bound_that_cannot_be_proved_is_not_given(monkeypatch):
    heptagon = ConfusabilityGraph.of_edges(7, nx.cycle_graph(7).edges)
    monkeypatch.setattr(
        "hartley.measures.capacity.MARGINS", (Fraction(-1, 100), Fraction(-1, 10**6))
    )
    assert bound_theta(heptagon) is None


def test_perfect_graphs_are_proved_exactly():
    for graph in (nx.cycle_graph(6), nx.path_graph(7), nx.complete_bipartite_graph(3, 4)):
        ours = ConfusabilityGraph.of_edges(len(graph), graph.edges)
        alpha = independence(len(graph), list(graph.edges))
        assert prove_theta(ours, alpha, ours.independent_sets(alpha)).holds(ours)


def test_the_root_of_a_whole_number_is_proved_for_regular_graphs():
    pentagon = ConfusabilityGraph.of_edges(5, nx.cycle_graph(5).edges)
    assert prove_theta_of_regular(pentagon, 5).holds(pentagon)
    assert prove_theta_of_regular(pentagon, 4) is None
    heptagon = ConfusabilityGraph.of_edges(7, nx.cycle_graph(7).edges)
    assert prove_theta_of_regular(heptagon, 11) is None
    petersen = ConfusabilityGraph.of_edges(10, nx.petersen_graph().edges)
    assert prove_theta_of_regular(petersen, 16).holds(petersen)  # the root of a square
    assert prove_theta_of_regular(petersen, 15) is None
    path = ConfusabilityGraph.of_edges(3, [(0, 1), (1, 2)])
    assert prove_theta_of_regular(path, 4) is None  # not regular


small = st.integers(-3, 3)


@settings(max_examples=200)
@given(st.data(), st.integers(1, 4), st.sampled_from([0, 1, 2, 3, 4, 5, 12]))
def test_definiteness_is_that_of_the_eigenvalues(data, size, radicand):
    parts = []
    for _ in range(2):
        rows = data.draw(st.lists(small, min_size=size * size, max_size=size * size))
        half = np.array(rows, dtype=object).reshape(size, size)
        parts.append(half + half.T)
    if data.draw(st.booleans()):  # a square, so semidefinite, and singular at times
        factor = data.draw(st.lists(small, min_size=size, max_size=size))
        parts = [np.outer(factor, factor).astype(object), np.zeros((size, size), dtype=object)]
    smallest = np.linalg.eigvalsh((parts[0] + parts[1] * radicand**0.5).astype(float))[0]
    if abs(smallest) > 1e-9:
        assert has_no_negative_eigenvalue(*parts, radicand) == (smallest > 0)


def test_a_radicand_that_is_no_whole_number_proves_nothing():
    one = np.array([[1]], dtype=object)
    assert not has_no_negative_eigenvalue(one, one, Fraction(1, 2))


def test_singular_matrices_over_a_root_are_told_from_negative_ones():
    # [[2, r], [r, 1]] with r the root of two has determinant zero, with r the root of three -1.
    plain = np.array([[2, 0], [0, 1]], dtype=object)
    root = np.array([[0, 1], [1, 0]], dtype=object)
    assert has_no_negative_eigenvalue(plain, root, 2)
    assert not has_no_negative_eigenvalue(plain, root, 3)
