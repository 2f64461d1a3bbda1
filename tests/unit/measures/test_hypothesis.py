"""A hypothesis is decided by those outputs that leave one answer; what tells two values apart."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, given, settings, strategies as st

import hartley
from hartley import ROW, Box, ColumnError, Interval, OptionError, Relation, analyse_hypothesis
from hartley.boxes import IntervalUnion, parse_expression

PEOPLE = {
    "age": [30, 35, 40, 45, 50, 55],
    "sex": ["F", "M", "F", "M", "M", "F"],
    "band": ["low", "low", "mid", "mid", "top", "top"],
}
drawn_pairs = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from("abcd")), min_size=1, max_size=20
)


@pytest.fixture(scope="module")
def people() -> Relation:
    return Relation.from_table(PEOPLE, secret=["age", "sex"], released="band")


@given(drawn_pairs, st.sets(st.integers(0, 5)))
def test_outputs_are_sorted_by_what_they_leave_possible(drawn, members):
    relation = Relation.from_pairs(drawn)
    held = {x for x, _ in drawn} & members
    if held in (set(), {x for x, _ in drawn}):
        with pytest.raises(OptionError, match="for every value of the secret; hint: "):
            analyse_hypothesis(relation, held)
        return
    found = analyse_hypothesis(relation, held)
    answers = {y: {x in held for x, other in drawn if other == y} for _, y in drawn}
    assert set(found.decides_true) == {y for y, left in answers.items() if left == {True}}
    assert set(found.decides_false) == {y for y, left in answers.items() if left == {False}}
    assert set(found.ambiguous) == {y for y, left in answers.items() if len(left) == 2}
    decided = len(found.decides_true) + len(found.decides_false)
    assert found.counts == {
        "true": len(found.decides_true),
        "false": len(found.decides_false),
        "ambiguous": len(found.ambiguous),
    }
    if decided:
        assert found.performance_bound == pytest.approx(math.log2(decided))
        assert found.privacy == pytest.approx(math.log2(len(answers) / decided))
    else:
        assert (found.performance_bound, found.privacy) == (-math.inf, math.inf)


@pytest.mark.slow
@given(drawn_pairs, st.integers(1, 5))
def test_the_test_is_right_wherever_an_output_decides(drawn, bound):
    secrets = {x for x, _ in drawn}
    assume({x < bound for x in secrets} == {True, False})
    found = analyse_hypothesis(Relation.from_pairs(drawn), lambda secret: secret < bound)
    assert all(found.test(released) for released in found.decides_true)
    assert not any(found.test(released) for released in found.decides_false)
    assert all(found.test(released) for released in found.ambiguous)


def test_text_a_function_and_a_collection_state_the_same_hypothesis(people):
    held = [secret for secret in people.secret_range if secret[0] >= 45 and secret[1] == "M"]
    results = [
        analyse_hypothesis(people, stated)
        for stated in (
            "age >= 45 and sex = 'M'",
            lambda secret: secret[0] >= 45 and secret[1] == "M",
            held,
            set(held),
            iter(held),
            dict.fromkeys(held),
        )
    ]
    assert {str(found.counts) for found in results} == {str(results[0].counts)}
    assert results[0].decides_false == ["low"]
    assert results[0].ambiguous == ["mid", "top"]
    assert results[0].decides_true == []


def test_text_about_a_secret_known_in_bins_is_refused():
    relation = Relation.from_table(PEOPLE, secret="age", released="band", bins={"age": 20})
    assert relation.secret_range == [30.0, 50.0]
    with pytest.raises(OptionError, match="'age', which is known in bins only"):
        analyse_hypothesis(relation, "age > 40")


def test_text_may_speak_of_the_record():
    relation = Relation.from_table(PEOPLE, secret=ROW, released="band")
    found = analyse_hypothesis(relation, '"ROW" < 2')
    assert (found.decides_true, found.decides_false) == (["low"], ["mid", "top"])


def test_text_may_speak_of_listed_pairs():
    relation = Relation.from_pairs([(1, "a"), (2, "a"), (3, "b")])
    assert analyse_hypothesis(relation, "secret >= 2").counts == {
        "true": 1,
        "false": 0,
        "ambiguous": 1,
    }


def test_a_missing_secret_fulfils_no_comparison():
    relation = Relation.from_pairs([(None, "a"), (2, "b"), (1, "c")])
    found = analyse_hypothesis(relation, "secret >= 2")
    assert (found.decides_true, found.decides_false) == (["b"], ["a", "c"])


@pytest.mark.parametrize("always", ["age > 0", "age > 100", lambda _: True, lambda _: False, []])
def test_what_is_never_in_doubt_is_no_hypothesis(people, always):
    with pytest.raises(OptionError, match="for every value of the secret; hint: "):
        analyse_hypothesis(people, always)


def test_a_collection_with_a_value_that_never_occurs_is_refused(people):
    with pytest.raises(OptionError, match="never takes; hint: ") as error:
        analyse_hypothesis(people, [(30, "F"), (7741, "F")])
    assert "7741" not in str(error.value)


@pytest.mark.parametrize("text", ["band = 'low'", "salary > 3", "lower(sex) = 'f'", "age >"])
def test_text_that_cannot_be_allowed_is_refused(people, text):
    with pytest.raises(OptionError, match="; hint: "):
        analyse_hypothesis(people, text)


def test_text_about_secrets_of_mixed_types_is_refused():
    mixed = Relation.from_pairs([(1, "a"), ("SECRET-7741", "b")])
    with pytest.raises(ColumnError, match="'secret'") as error:
        analyse_hypothesis(mixed, "secret = 1")
    assert "SECRET-7741" not in str(error.value)


def test_an_output_that_never_occurs_is_refused(people):
    with pytest.raises(OptionError, match="; hint: "):
        analyse_hypothesis(people, "age > 40").test("elsewhere")


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
