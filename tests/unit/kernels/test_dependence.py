"""Dependence of columns against a count by hand; independent columns are not found."""

from fractions import Fraction

import numpy as np
import pytest

from hartley.kernels.dependence import find_dependences, goodman_kruskal


def codes(values):
    """The codes of an array, all used."""
    return np.unique(values, return_inverse=True)[1]


def found(*columns):
    """The pairs of columns that depend on each other."""
    return {(a, b) for a, b, _ in find_dependences([codes(c) for c in columns], lambda *_: True)}


@pytest.mark.parametrize("seed", range(50))
def test_lambda_is_the_share_of_wrong_guesses_that_are_mended(seed):
    draw = np.random.default_rng(seed)
    first, second = codes(draw.integers(0, 6, 30)), codes(draw.integers(0, 4, 30))
    right = sum(max(np.bincount(second[first == value])) for value in set(first.tolist()))
    commonest = max(np.bincount(second))
    expected = Fraction(int(right - commonest), int(30 - commonest))
    assert goodman_kruskal(first, second) == expected


def test_independent_columns_are_not_found():
    draw = np.random.default_rng(1)
    sizes = draw.integers(5, 200, 1000).tolist()
    widths = draw.integers(2, 8, (1000, 2)).tolist()
    for size, (one, other) in zip(sizes, widths, strict=True):
        assert not found(draw.integers(0, one, size), draw.integers(0, other, size))


@pytest.mark.parametrize("wrong", [0, 0.01, 0.03])
def test_twins_are_found_although_some_rows_are_wrong(wrong):
    draw = np.random.default_rng(2)
    first = draw.integers(0, 16, 2000)
    second = np.where(draw.random(2000) < wrong, draw.integers(0, 16, 2000), first)
    assert found(first, second) == {(0, 1), (1, 0)}


def test_groups_follow_from_what_they_group_and_not_the_other_way():
    zips = np.random.default_rng(3).integers(0, 40, 1000)
    assert found(zips, zips // 8) == {(0, 1)}


def test_unique_and_constant_columns_are_never_looked_at():
    numbers = np.arange(100)
    assert not found(numbers, numbers % 3)
    assert not found(numbers % 3, np.zeros(100))


def test_few_rows_beside_the_commonest_value_are_no_evidence():
    first = np.repeat([0, 1, 2], [90, 5, 2])
    assert found(first, first == 1) == {(0, 1), (1, 0)} - {(1, 0)}
    assert not found(first, first == 2)


def test_a_column_missing_only_where_another_has_one_value_follows_from_it():
    education = np.random.default_rng(4).integers(0, 5, 500)
    assert (0, 1) in found(education, education == 2)
