"""Maximin information counts what both sides always agree on."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from hartley import Relation, maximin_information

pairs = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcd")), min_size=1, max_size=10)


@settings(max_examples=50)
@given(pairs)
def test_it_is_the_finest_attribute_of_both_sides_that_always_agrees(drawn):
    secrets, released = sorted({x for x, _ in drawn}), sorted({y for _, y in drawn})
    best = 1
    for labels in product(range(len(secrets)), repeat=len(secrets)):
        attribute = dict(zip(secrets, labels, strict=True))
        told = {y: {attribute[x] for x, other in drawn if other == y} for y in released}
        if all(len(values) == 1 for values in told.values()):
            best = max(best, len(set(labels)))
    assert maximin_information(Relation.from_pairs(drawn)) == pytest.approx(math.log2(best))


def test_a_chain_of_overlaps_agrees_on_nothing():
    chain = [(x, y) for x in range(50) for y in (x, x + 1)]
    assert maximin_information(Relation.from_pairs(chain)) == 0.0
    assert maximin_information(Relation.from_pairs([*chain, (99, 99)])) == 1.0
