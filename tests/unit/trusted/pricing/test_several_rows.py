"""Sums over multisets of atoms: the quick way against multisets that are listed one by one."""

import importlib.util
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, prod
from pathlib import Path

import numpy as np
import pytest

from hartley import Column, Schema
from hartley.trusted.pricing import several_rows as multisets
from hartley.trusted.pricing.price import Pricer, price
from hartley.trusted.pricing.regions import CellGrid
from hartley.trusted.pricing.several_rows import product_coefficient
from hartley.trusted.questions.batch import Form, Question, Statistic, Test as Leaf

THEOREMS = Path(__file__).parents[3] / "theorems"


def _tiny():
    spec = importlib.util.spec_from_file_location("tiny", THEOREMS / "tiny.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tiny = _tiny()


def listed_one_by_one(kinds, amounts, grids):
    """Add up the outputs of every multiset, cluster by cluster; rows are drawn one by one."""
    clusters = [
        [kind.name for some in cluster for kind in some]
        for cluster in multisets._clusters(kinds, grids)
    ]
    total = 0
    for chosen in product(
        *[combinations_with_replacement(some, n) for some, n in zip(kinds, amounts, strict=True)]
    ):
        drawn = {kind.name: kind for part in chosen for kind in part}
        rows = Counter(kind.name for part in chosen for kind in part)
        parts = [[(drawn[name], rows[name]) for name in names if rows[name]] for names in clusters]
        total += prod(multisets._outputs(part, grids)[0] for part in parts)
    return total


@pytest.mark.parametrize("seed", range(4))
def test_clusters_add_up_to_the_multisets_one_by_one(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    compared, alike = 0, 0

    def both_ways(kinds, amounts, grids, _):
        nonlocal compared, alike
        measuring = [[replace(grid, lengths=set()) for grid in grids] for _ in range(2)]
        quick = multisets._by_clusters(kinds, amounts, measuring[0], 10**6)
        assert quick == listed_one_by_one(kinds, amounts, measuring[1])
        # A search for steps looks at the lengths: clusters that share a polynomial measure theirs.
        for own, plain in zip(*measuring, strict=True):
            assert own.lengths >= plain.lengths
        compared += 1
        alike += len(multisets._clusters(kinds, grids)) > 1
        return quick

    monkeypatch.setattr("hartley.trusted.pricing.several_rows.sum_over_multisets", both_ways)
    for _ in range(25):
        rows = ("public", "private")[rng.integers(2)]
        r = int(rng.integers(2, 5))
        schema = tiny.random_schema(
            rng, rows=rows, kinds=["private", "private", "open"], rows_per_unit=r, domain=24
        )
        price(tiny.random_batch(rng, schema, r * 10), schema)
    assert compared > 50
    assert alike > 20


def test_the_coefficient_of_a_product_is_the_sum_over_all_shares():
    rng = np.random.default_rng(5)
    for _ in range(200):
        size, several = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        # Digits of a product touch where their width is chosen too narrow.
        top = int(rng.choice([2, 256, 2**40]))
        polynomials = [[int(rng.integers(top)) for _ in range(size)] for _ in range(several)]
        plain = sum(
            prod(polynomial[at] for polynomial, at in zip(polynomials, shares, strict=True))
            for shares in product(range(size), repeat=several)
            if sum(shares) == size - 1
        )
        assert product_coefficient(polynomials) == plain
    assert product_coefficient([[255, 255], [255, 255]]) == 2 * 255 * 255


def grouped(statistic, rows):
    """Return six groups of a person with several rows, and one statistic of each."""
    kind = Column("kind", "private", tuple("abcdef"))
    value = Column("v", "private", low=Fraction(0), high=Fraction(9), step=Fraction(1))
    schema = Schema("visits", {"kind": kind, "v": value}, unit="person", rows_per_unit=rows)
    form = None if statistic is Statistic.COUNT else Form((("v", 1),), 0, Fraction(1))
    groups = [
        Question(statistic, Leaf("kind", ((code, code),)), form, None, 0, 10**6)
        for code in range(6)
    ]
    return groups, schema


def test_six_groups_of_a_thousand_rows_cost_their_multisets():
    assert price(*grouped(Statistic.COUNT, 1000)).cells == comb(1005, 5)


def test_groups_that_share_a_polynomial_measure_their_own_lengths():
    groups, schema = grouped(Statistic.SUM, 20)
    grids = [replace(CellGrid.of(group), lengths=set()) for group in groups]
    Pricer(groups, schema).worst(grids)
    # Up to 20 rows lie in a group, each between 0 and 9.
    assert {frozenset(grid.lengths) for grid in grids} == {frozenset(range(0, 181, 9))}
