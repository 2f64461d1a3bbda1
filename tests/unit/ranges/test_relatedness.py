"""Unrelatedness and Markov chains hold exactly where their definitions do."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st

from hartley import ColumnError, OptionError, open_table
from hartley.ranges import are_unrelated, is_markov_chain

rows = st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=1, max_size=10)
few = settings(max_examples=12)  # each opens an engine


def as_table(drawn):
    return open_table(dict(zip("xyz", map(list, zip(*drawn, strict=True)), strict=True)))


def product_given(drawn, at, condition):
    """Tell by the definition whether the range is a product under every condition."""
    for value in {condition(row) for row in drawn}:
        here = {row for row in drawn if condition(row) == value}
        together = {tuple(row[i] for i in at) for row in here}
        if len(together) != math.prod(len({row[i] for row in here}) for i in at):
            return False
    return True


@pytest.mark.slow
@few
@given(rows)
def test_variables_are_unrelated_exactly_if_their_range_is_a_product(drawn):
    table = as_table(drawn)
    everywhere = product_given(drawn, (0, 1, 2), lambda _: None)
    assert are_unrelated(table, ["x", "y", "z"]) == everywhere
    assert are_unrelated(table, ["x", "y"]) == product_given(drawn, (0, 1), lambda _: None)


@pytest.mark.slow
@few
@given(rows)
def test_variables_are_unrelated_given_another_exactly_if_each_range_is_a_product(drawn):
    unrelated = are_unrelated(as_table(drawn), ["x", "y"], given="z")
    assert unrelated == product_given(drawn, (0, 1), lambda row: row[2])


@pytest.mark.slow
@few
@given(rows)
def test_a_chain_holds_exactly_if_the_outer_two_are_unrelated_given_the_middle(drawn):
    expected = product_given(drawn, (0, 2), lambda row: row[1])
    table = as_table(drawn)
    assert is_markov_chain(table, ["x", "y", "z"]) == expected
    assert is_markov_chain(table, ["z", "y", "x"]) == expected


def test_a_longer_chain_needs_every_three_of_its_variables():
    columns = {"a": [0, 1, 2, 3], "b": [0, 1, 1, 2], "c": [0, 1, 1, 1], "d": [0, 0, 0, 0]}
    assert is_markov_chain(columns, ["a", "b", "c", "d"])
    broken = columns | {"d": [0, 1, 2, 2]}
    assert not is_markov_chain(broken, ["a", "b", "c", "d"])
    threes = [is_markov_chain(broken, list(names)) for names in combinations("abcd", 3)]
    assert not all(threes)


def test_several_columns_make_one_variable():
    columns = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": [0, 1, 1, 0]}
    assert are_unrelated(columns, ["a", "b"])
    assert are_unrelated(columns, ["a", "c"])
    assert not are_unrelated(columns, [["a", "b"], "c"])
    assert not are_unrelated(columns, ["a", "b"], given=["c"])


def test_bins_and_missing_values_are_dealt_with_first():
    columns = {"a": [1, 2, 11, 12], "b": [0, 1, 0, 1]}
    assert not are_unrelated(columns, ["a", "b"])
    assert are_unrelated(columns, ["a", "b"], bins={"a": 10})
    holes = {"a": [0, 0, 1, 1, None], "b": [0, 1, 0, 1, 5]}
    assert not are_unrelated(holes, ["a", "b"])
    assert are_unrelated(holes, ["a", "b"], missing="drop")


@pytest.mark.slow
def test_many_variables_do_not_overflow():
    columns = {f"v{i}": [i % 2, 1 - i % 2] for i in range(80)}
    assert not are_unrelated(columns, list(columns))
    assert are_unrelated({name: [1] for name in columns}, list(columns))


@pytest.mark.parametrize("variables", [[], ["a"]])
def test_fewer_than_two_variables_are_refused(variables):
    with pytest.raises(OptionError, match="at least two variables; hint: "):
        are_unrelated({"a": [1]}, variables)


@pytest.mark.parametrize("variables", [[], ["a"], ["a", "a"]])
def test_fewer_than_three_links_are_refused(variables):
    with pytest.raises(OptionError, match="at least three variables; hint: "):
        is_markov_chain({"a": [1]}, variables)


def test_an_absent_column_is_refused_by_name():
    with pytest.raises(ColumnError, match=r"'c'.*; hint: "):
        are_unrelated({"a": [1], "b": [2]}, ["a", "b"], given="c")
