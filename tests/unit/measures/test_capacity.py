"""Both sides of the zero-error capacity, against theorems and everything tried."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from hartley import Relation, maximin_information, zero_error_capacity
from hartley.errors import OptionError
from hartley.measures import capacity, capacity as module, zero_error_capacity_bound
from hartley.measures.capacity import (
    ThetaBound,
    bound_theta,
    has_no_negative_eigenvalue,
    prove_theta,
    prove_theta_of_regular,
)
from hartley.ranges.classes import ConfusabilityGraph

# --- the bound: never below the truth, and the value of its programme -----------------------------

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


# --- theta, and exact definiteness against eigenvalues --------------------------------------------

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
    return max(
        bits.bit_count()
        for bits in range(1 << size)
        if not any(bits >> i & 1 and bits >> j & 1 for i, j in edges)
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


# --- both sides, their proofs, and where they meet ------------------------------------------------


def cycle(n):
    return [(x, y % n) for x in range(n) for y in (x, x + 1)]


OUTER = [(i, (i + 1) % 5) for i in range(5)]
PETERSEN = [*OUTER, *((i, i + 5) for i in range(5)), *((5 + i, 5 + (i + 2) % 5) for i in range(5))]
K4 = list(combinations(range(4), 2))


def with_edges_as_outputs(edges):
    return [(vertex, edge) for edge in edges for vertex in edge]


TABLE = {
    "pentagon": (cycle(5), 2, math.log2(5) / 2, math.log2(5) / 2),
    "heptagon": (cycle(7), 2, math.log2(10) / 2, 1.730169),
    "nonagon, one use": (cycle(9), 1, 2.0, 2.124358),
    "nonagon": (cycle(9), 2, math.log2(18) / 2, 2.124358),
    "hexagon": (cycle(6), 2, math.log2(3), math.log2(3)),
    "Petersen graph": (with_edges_as_outputs(PETERSEN), 2, 2.0, 2.0),
    "K4, which alpha* takes for one bit": (with_edges_as_outputs(K4), 2, 0.0, 0.0),
    "channel of the errata": ([(1, "a"), (2, "b"), (0, "a"), (0, "b")], 2, 1.0, 1.0),
    "remainder of three": ([(x, x % 3) for x in range(10)], 2, math.log2(3), math.log2(3)),
}


@pytest.mark.parametrize(("pairs", "powers", "lower", "upper"), TABLE.values(), ids=TABLE)
def test_known_graphs(pairs, powers, lower, upper):
    found = zero_error_capacity(Relation.from_pairs(pairs), powers)
    assert found.lower == pytest.approx(lower, abs=1e-12)
    assert found.upper == pytest.approx(upper, abs=1e-6)
    assert found.exact == (lower == upper)
    assert (found.gap == 0) == found.exact
    check_words(pairs, found)
    check_theta(pairs, found)


def test_the_packing_number_and_theta_of_known_graphs():
    heptagon = zero_error_capacity(Relation.from_pairs(cycle(7)))
    assert (len(heptagon.codes[0].words), len(heptagon.codes[1].words)) == (3, 10)
    assert heptagon.code.uses == 2
    assert all(code.is_largest for code in heptagon.codes)
    assert float(heptagon.theta.value) == pytest.approx(3.3176672, abs=2e-7)
    assert heptagon.packing == Fraction(7, 2)
    petersen = zero_error_capacity(Relation.from_pairs(with_edges_as_outputs(PETERSEN)))
    assert (petersen.packing, petersen.theta.value, petersen.theta.root) == (5, 4, 1)
    pentagon = zero_error_capacity(Relation.from_pairs(cycle(5)))
    assert (pentagon.theta.value, pentagon.theta.root) == (5, 2)
    alone = zero_error_capacity(Relation.from_pairs(cycle(5)), powers=1)
    assert not alone.exact
    assert float(alone.theta.value) == pytest.approx(2.2360680, abs=2e-7)
    assert alone.theta.root == 1


def test_sides_that_do_not_meet_are_rounded_outward():
    heptagon = zero_error_capacity(Relation.from_pairs(cycle(7)))
    assert heptagon.lower < math.log2(10) / 2 < heptagon.lower + 1e-13
    assert 2**heptagon.upper > heptagon.theta.value


def test_of_codes_that_carry_as_much_the_shortest_is_named():
    """The complement of the heptagon: two words of one letter, and no more than four of two."""
    edges = [(i, j) for i, j in combinations(range(7), 2) if (i - j) % 7 not in (1, 6)]
    found = zero_error_capacity(Relation.from_pairs(with_edges_as_outputs(edges)))
    assert [len(code.words) for code in found.codes] == [2, 4]
    assert found.code.uses == 1
    assert not found.exact
    assert found.lower == 1
    assert found.upper == pytest.approx(math.log2(7 / 3.3176672), abs=1e-6)


def test_other_graphs_whose_square_meets_theta_are_exact_too():
    """The Paley graph of 13 vertices: theta is the root of 13, and 13 words of two letters."""
    squares = {x * x % 13 for x in range(1, 13)}
    edges = [(i, j) for i, j in combinations(range(13), 2) if (i - j) % 13 in squares]
    found = zero_error_capacity(Relation.from_pairs(with_edges_as_outputs(edges)))
    assert found.exact
    assert found.lower == pytest.approx(math.log2(13) / 2, abs=1e-12)


# --- proofs, checked without the code that made them ---------------------------------------------


def released_by(pairs):
    outputs = {}
    for x, y in pairs:
        outputs.setdefault(x, set()).add(y)
    return outputs


def check_words(pairs, found):
    """No two words can be released as the same sequence of values."""
    outputs = released_by(pairs)
    for code in found.codes:
        for one, other in combinations(code.words, 2):
            assert len(one) == len(other) == code.uses
            shared = (outputs[a] & outputs[b] for a, b in zip(one, other, strict=True))
            assert not all(shared)


def check_theta(pairs, found):
    """The largest eigenvalue of J + T is the bound, T touches edges only, and inputs suffice."""
    if found.theta is None:
        return
    outputs = released_by(pairs)
    inputs, root = found.inputs, float(found.theta.value) ** (1 / found.theta.root)
    matrix = np.ones((len(inputs), len(inputs)))
    for part, factor in ((found.theta.matrix, 1.0), (found.theta.surd, root)):
        for i, j, entry in part:
            assert outputs[inputs[i]] & outputs[inputs[j]]
            matrix[i, j] += float(entry) * factor
            matrix[j, i] += float(entry) * factor
    assert np.linalg.eigvalsh(matrix)[-1] <= root + 1e-9
    confused = {x: {z for z in outputs if outputs[x] & outputs[z]} for x in outputs}
    assert all(any(confused[x] <= confused[z] for x in inputs) for z in outputs)


# --- small relations against everything tried ----------------------------------------------------

few_pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=16)


def largest_code(pairs, uses):
    outputs = released_by(pairs)
    words = list(product(outputs, repeat=uses))
    clear = {
        (v, w)
        for v, w in product(words, repeat=2)
        if not all(outputs[a] & outputs[b] for a, b in zip(v, w, strict=True))
    }
    best = 0

    def extend(size, candidates):
        nonlocal best
        best = max(best, size)
        for at, word in enumerate(candidates):
            if size + len(candidates) - at <= best:
                return
            extend(size + 1, [w for w in candidates[at + 1 :] if (word, w) in clear])

    extend(0, words)
    return best


@settings(max_examples=60, deadline=None)
@given(few_pairs)
def test_codes_are_the_largest_and_no_side_is_on_the_wrong_side(drawn):
    relation = Relation.from_pairs(drawn)
    found = zero_error_capacity(relation)
    check_words(drawn, found)
    check_theta(drawn, found)
    for code in found.codes:
        assert code.is_largest
        assert len(code.words) == largest_code(drawn, code.uses)
    assert found.lower <= found.upper
    assert found.exact == (found.lower == found.upper)
    assert maximin_information(relation) <= found.upper + 1e-12
    assert found.upper <= zero_error_capacity_bound(relation) + 1e-12
    if not found.exact:
        assert len(found.codes) == 2
        assert found.lower == pytest.approx(found.code.rate(), abs=1e-12)
        assert found.lower < found.code.rate() or found.code.rate() == round(found.code.rate())


@settings(max_examples=25, deadline=None)
@given(few_pairs)
def test_a_relation_too_large_for_a_graph_keeps_two_sides(drawn):
    relation = Relation.from_pairs(drawn)
    found = zero_error_capacity(relation, powers=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGEST_GRAPH", 0)
        loose = zero_error_capacity(relation)
    assert loose.lower <= found.upper
    assert found.lower <= loose.upper
    assert loose.lower >= maximin_information(relation) - 1e-12
    check_words(drawn, loose)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LARGEST_PROGRAMME", 0)
        looser = zero_error_capacity(relation)
    assert looser.lower == pytest.approx(maximin_information(relation), abs=1e-12)
    assert loose.upper <= looser.upper
    check_words(drawn, looser)


def test_equal_and_dominated_secrets_do_not_enlarge_the_graph():
    doubled = [((x, i), y) for x, y in cycle(5) for i in (0, 1)]
    found = zero_error_capacity(Relation.from_pairs([*doubled, *(("all", y) for y in range(5))]))
    assert len(found.inputs) == 5
    assert found.exact
    assert found.lower == pytest.approx(math.log2(5) / 2, abs=1e-12)


def test_a_function_of_the_secret_needs_no_graph(monkeypatch):
    monkeypatch.setattr(module, "bound_theta", None)  # would fail if it were called
    found = zero_error_capacity(Relation.from_pairs([(x, x // 1000) for x in range(5000)]))
    assert found.exact
    assert found.lower == found.upper == math.log2(5)
    assert len({word[0] // 1000 for word in found.code.words}) == 5
    swapped = zero_error_capacity(Relation.from_pairs([(x // 1000, x) for x in range(5000)]))
    assert swapped.upper == math.log2(5)


def test_a_solver_that_lies_costs_the_bound_and_never_its_truth(monkeypatch):
    monkeypatch.setattr(
        "hartley.measures.capacity._solve", lambda goal, **_: np.full(goal.size, -9.0)
    )
    found = zero_error_capacity(Relation.from_pairs(cycle(7)))
    assert found.upper >= 1.730169
    monkeypatch.setattr("hartley.measures.capacity._solve", lambda **_: None)
    found = zero_error_capacity(Relation.from_pairs(cycle(7)))
    assert found.theta is None
    assert found.upper == zero_error_capacity_bound(Relation.from_pairs(cycle(7)))


def test_sides_have_the_base_that_is_asked_for():
    bits = zero_error_capacity(Relation.from_pairs(cycle(7)))
    nats = zero_error_capacity(Relation.from_pairs(cycle(7)), base=math.e)
    assert nats.lower == pytest.approx(bits.lower * math.log(2), rel=1e-12)
    assert nats.upper == pytest.approx(bits.upper * math.log(2), rel=1e-12)


@pytest.mark.parametrize("powers", [0, -1, 1.5, True])
def test_words_without_letters_are_refused(powers):
    with pytest.raises(OptionError, match="make no code"):
        zero_error_capacity(Relation.from_pairs(cycle(5)), powers)


def test_secrets_that_share_nothing_are_a_code_of_a_large_relation(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_GRAPH", 0)
    found = zero_error_capacity(Relation.from_pairs(cycle(7)))
    assert len(found.code.words) == 3  # of one overlap class
    assert not found.code.is_largest
    assert found.upper == zero_error_capacity_bound(Relation.from_pairs(cycle(7)))
    hexagon = zero_error_capacity(Relation.from_pairs(cycle(6)))
    assert hexagon.exact
    assert hexagon.code.is_largest


def test_longer_words_are_tried_while_their_graph_is_small(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_GRAPH", 100)
    found = zero_error_capacity(Relation.from_pairs(cycle(7)), powers=9)
    assert [code.uses for code in found.codes] == [1, 2]


def test_a_matrix_outside_the_edges_is_no_proof():
    found = zero_error_capacity(Relation.from_pairs(cycle(7)), powers=1)
    # With all pairs at its disposal, T = I - J would prove that nothing can be told apart.
    everywhere = tuple((i, j, Fraction(-1)) for i, j in combinations(range(7), 2))
    assert not ThetaBound(Fraction(1), everywhere).holds(graph_of(cycle(7)))
    assert found.theta.holds(graph_of(cycle(7)))
    tighter = ThetaBound(found.theta.value - Fraction(1, 10**6), found.theta.matrix)
    assert not tighter.holds(graph_of(cycle(7)))


def graph_of(pairs):
    from hartley.ranges.classes import ConfusabilityGraph

    return ConfusabilityGraph.of_pairs(Relation.from_pairs(pairs).pairs())
