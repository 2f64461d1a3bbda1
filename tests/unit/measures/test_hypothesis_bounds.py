"""What tells two values apart, and how often the best test is right, against the definitions."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

import hartley
from hartley import Box, Interval
from hartley.boxes import IntervalUnion, parse_expression
from hartley.errors import OptionError


def union(*ends):
    return IntervalUnion.of([Interval(low, high) for low, high in ends])


# --- the success of the best test -----------------------------------------------------------------

UNITS = 6
weights = st.lists(st.integers(0, 4), min_size=UNITS, max_size=UNITS).filter(any)


@given(true=weights, false=weights, prior=st.fractions(0, 1, max_denominator=8))
@settings(max_examples=200, deadline=None)
def test_theorem_3_no_density_makes_the_best_test_worse(true, false, prior):
    # Densities that are constant on unit intervals, so that the best test is found by hand.
    densities = [[Fraction(w, sum(ws)) for w in ws] for ws in (true, false)]
    ranges = [union(*((k, k + 1) for k, w in enumerate(ws) if w)) for ws in (true, false)]
    least = min(d for density in densities for d in density if d)
    best = sum(max(prior * a, (1 - prior) * b) for a, b in zip(*densities, strict=True))
    bound = hartley.measures.best_success_bound(*ranges, density=least, prior=prior)
    assert max(prior, 1 - prior) <= bound <= best


def test_theorem_3_is_attained_by_even_densities_and_twice_what_is_printed_may_be_wrong():
    short, tall = union((0, 2)), union((1, 3))
    # Even densities of 1/2: right in 3/4 of all cases, a half of what is shared by chance.
    assert hartley.measures.best_success_bound(short, tall, density="1/2") == Fraction(3, 4)
    assert hartley.measures.best_success_bound(short, short, density="1/2") == Fraction(1, 2)
    assert hartley.measures.best_success_bound(short, union((2, 4)), density="1/2") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"density": "1/2", "prior": 2}, "not between 0 and 1"),
        ({"density": "3/5"}, "No density"),
        ({"density": "-1"}, "No density"),
    ],
)
def test_impossible_densities_and_priors_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        hartley.measures.best_success_bound(union((0, 2)), union((1, 3)), **options)


# --- indistinguishability -------------------------------------------------------------------------

pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=25)


@given(pairs=pairs)
@settings(max_examples=150, deadline=None)
def test_definition_5_of_a_relation_by_enumeration(pairs):
    outputs = {}
    for secret, released in pairs:
        outputs.setdefault(secret, set()).add(released)
    most = max(len(one ^ other) for one, other in product(outputs.values(), repeat=2))
    found = hartley.measures.indistinguishability(hartley.Relation.from_pairs(pairs))
    assert found == (pytest.approx(math.log2(most)) if most else -math.inf)


def test_more_secrets_than_one_block_are_all_compared():
    # Secret k has the outputs k and k + 1; only 0 and 700 are joined by a wide one as well.
    wide = [(700, output) for output in range(2000, 2010)]
    chain = [(k, k + step) for k in range(1200) for step in (0, 1)]
    relation = hartley.Relation.from_pairs(chain + wide)
    assert hartley.measures.indistinguishability(relation) == pytest.approx(math.log2(2 + 12))


@given(
    weights=st.lists(st.integers(-4, 4), min_size=1, max_size=4).filter(any),
    length=st.integers(1, 3),
)
@settings(max_examples=100, deadline=None)
def test_definition_5_of_an_exact_linear_answer_by_trying_all_moves(weights, length):
    box = Box.cube(0, length, size=len(weights))
    terms = " + ".join(f"{w}*x{i}" for i, w in enumerate(weights, 1)).replace("+ -", "- ")
    most = Fraction(0)
    for i, weight in enumerate(weights):
        rest = [sorted((0, w * length)) for j, w in enumerate(weights) if j != i]
        low, high = sum(r[0] for r in rest), sum(r[1] for r in rest)
        for k in range(13):
            shift = Fraction(weight * length * k, 12)
            one, other = union((low, high)), union((low + shift, high + shift))
            both = IntervalUnion.of([*one, *other]).length
            most = max(most, both - one.intersect(other).length)
    found = hartley.measures.linear_indistinguishability(terms, box)
    truth = math.log(most) if most else -math.inf
    # The grid of twelve moves holds the largest, but perhaps not the best where s > L - s.
    assert found >= truth - 1e-12
    exact = max(2 * min(abs(w), sum(map(abs, weights)) - abs(w)) * length for w in weights)
    assert found == (pytest.approx(math.log(exact)) if exact else -math.inf)
    assert truth <= (math.log(exact) if exact else -math.inf) + 1e-12


def test_a_query_that_is_not_linear_is_refused():
    with pytest.raises(OptionError, match="not linear"):
        hartley.measures.linear_indistinguishability(
            parse_expression("x1*x2"), Box.cube(0, 1, size=2)
        )
