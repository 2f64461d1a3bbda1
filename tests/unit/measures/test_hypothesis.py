"""A hypothesis is decided by exactly those outputs that leave one answer."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, strategies as st

from hartley import ROW, ColumnError, OptionError, Relation, analyse_hypothesis

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
