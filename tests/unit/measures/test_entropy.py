"""Entropy before and after the release, by hand."""

from __future__ import annotations

import math

import pytest

from hartley import ROW, Relation, hartley_entropy
from hartley.measures import conditional_entropy, relative_disarray

STAIRS = Relation.from_pairs([(x, y) for y in range(1, 5) for x in range(2 ** (y - 1))])
"""Released 1, 2, 3, 4 leave 1, 2, 4, 8 secrets possible."""


def test_entropy_counts_the_secrets():
    assert hartley_entropy(STAIRS) == 3.0
    assert hartley_entropy(STAIRS.swap()) == 2.0
    assert hartley_entropy(STAIRS.joint()) == pytest.approx(math.log2(1 + 2 + 4 + 8))


def test_the_kindest_and_the_most_telling_value_bound_what_is_left():
    assert conditional_entropy(STAIRS) == 3.0
    assert relative_disarray(STAIRS) == 0.0
    assert conditional_entropy(STAIRS.swap()) == 2.0
    assert relative_disarray(STAIRS.swap()) == 0.0


def test_repeated_rows_change_nothing():
    repeated = Relation.from_pairs([(0, "a")] * 100 + [(1, "a"), (2, "b")])
    assert hartley_entropy(repeated) == pytest.approx(math.log2(3))
    assert conditional_entropy(repeated) == 1.0


def test_with_records_as_secrets_the_smallest_group_is_what_is_left():
    jobs = ["x"] * 5 + ["y"] * 3 + ["z"] * 4
    relation = Relation.from_table({"job": jobs}, secret=ROW, released="job")
    assert hartley_entropy(relation) == pytest.approx(math.log2(12))
    assert relative_disarray(relation) == pytest.approx(math.log2(3))
    assert conditional_entropy(relation) == pytest.approx(math.log2(5))
