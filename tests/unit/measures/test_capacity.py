"""The capacity bound is never below the truth and equals the linear programme."""

from __future__ import annotations

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from hartley import Relation, maximin_information
from hartley.measures import capacity, zero_error_capacity_bound

pairs = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("abcdef")), min_size=1, max_size=25)
PENTAGON = [(x, y % 5) for x in range(5) for y in (x, x + 1)]


def independent_secrets(drawn) -> int:
    """Return how many secrets can be told apart for certain in one use."""
    secrets = sorted({x for x, _ in drawn})
    told = {x: {y for other, y in drawn if other == x} for x in secrets}
    graph = nx.Graph()
    graph.add_nodes_from(secrets)
    graph.add_edges_from((x, z) for x, z in combinations(secrets, 2) if not told[x] & told[z])
    return max(map(len, nx.find_cliques(graph)))


def packing_number(drawn) -> float:
    """Solve the programme as it is written, by another method."""
    secrets, released = sorted({x for x, _ in drawn}), sorted({y for _, y in drawn})
    rows = np.zeros((len(released), len(secrets)))
    for x, y in drawn:
        rows[released.index(y), secrets.index(x)] = 1
    found = linprog(
        -np.ones(len(secrets)), A_ub=rows, b_ub=np.ones(len(released)), method="highs-ds"
    )
    return -found.fun


@pytest.mark.slow
@given(pairs)
def test_the_bound_lies_between_certain_secrets_and_both_ranges(drawn):
    relation = Relation.from_pairs(drawn)
    bound = zero_error_capacity_bound(relation)
    assert math.log2(independent_secrets(drawn)) <= bound
    assert maximin_information(relation) <= bound
    smaller = min(relation.summary.secrets, relation.summary.released)
    assert bound <= math.log2(smaller) + 1e-12


@pytest.mark.slow
@given(pairs)
def test_the_bound_is_the_value_of_the_programme(drawn):
    bound = zero_error_capacity_bound(Relation.from_pairs(drawn))
    assert bound == pytest.approx(math.log2(packing_number(drawn)), abs=1e-6)


@given(pairs)
def test_the_bound_is_the_same_from_either_side_where_one_determines_the_other(drawn):
    function = Relation.from_pairs([(x, y) for x, y in dict(drawn).items()])
    for relation in (function, function.swap()):
        bound = zero_error_capacity_bound(relation)
        assert bound >= maximin_information(function)
        assert bound == pytest.approx(maximin_information(function), abs=1e-12)


@settings(max_examples=30)
@given(pairs)
def test_the_cheaper_cover_is_looser_but_still_a_bound(drawn):
    relation = Relation.from_pairs(drawn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity, "LARGEST_PROGRAMME", 0)
        loose = zero_error_capacity_bound(relation)
    assert zero_error_capacity_bound(relation) <= loose
    smaller = min(relation.summary.secrets, relation.summary.released)
    assert loose <= math.log2(smaller) + 1e-12


def test_the_pentagon_carries_at_most_five_halves():
    bound = zero_error_capacity_bound(Relation.from_pairs(PENTAGON))
    assert bound >= math.log2(5) / 2  # what Shannon and Lovasz found that it carries
    assert bound == pytest.approx(math.log2(2.5), rel=1e-12)
    assert bound >= math.log2(2.5)


def test_equal_secrets_and_equal_outputs_count_once():
    doubled = [((x, i), (y, j)) for x, y in PENTAGON for i in (0, 1) for j in (0, 1)]
    once = zero_error_capacity_bound(Relation.from_pairs(PENTAGON))
    assert zero_error_capacity_bound(Relation.from_pairs(doubled)) == once
