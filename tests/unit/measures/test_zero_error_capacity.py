"""Both sides of the zero-error capacity, their proofs, and where they meet."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import Relation, maximin_information, zero_error_capacity
from hartley.errors import OptionError
from hartley.measures import capacity as module, zero_error_capacity_bound
from hartley.measures.capacity import ThetaBound


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

pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=16)


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
@given(pairs)
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
@given(pairs)
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
