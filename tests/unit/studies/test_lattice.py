"""The search for the levels that lose least, against a walk over every node."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hartley.policies.hierarchy import key_levels
from hartley.studies.release import generalisation as lattice
from hartley.studies.release.generalisation import KeyPoints, search_lattice


def table_of(seed):
    rng = np.random.default_rng(seed)
    n, keys = int(rng.integers(8, 80)), int(rng.integers(1, 4))
    columns = [rng.integers(0, int(rng.integers(1, 20)), n).tolist() for _ in range(keys)]
    values = [sorted(set(column)) for column in columns]
    codes = [[v.index(x) for x in column] for v, column in zip(values, columns, strict=True)]
    points, members, counts = np.unique(
        np.array(codes).T, axis=0, return_inverse=True, return_counts=True
    )
    levels = [key_levels("a", v, [2, 4, 8] if rng.random() < 0.7 else None) for v in values]
    k, suppressible = int(rng.integers(1, 5)), int(rng.choice([0, n // 10, n // 3]))
    return KeyPoints(points, counts, members.ravel(), values), levels, k, suppressible


def least_by_definition(points, levels, k, suppressible):
    """The least loss over all nodes whose small classes hold few enough records."""
    losses = []
    for node in product(*(range(len(of_key)) for of_key in levels)):
        groups = [
            tuple(
                int(of_key[at].groups[code])
                for of_key, at, code in zip(levels, node, row, strict=True)
            )
            for row in points.codes.tolist()
        ]
        sizes = {}
        for group, count in zip(groups, points.counts.tolist(), strict=True):
            sizes[group] = sizes.get(group, 0) + count
        total, gone = Fraction(0), 0
        for row, group, count in zip(
            points.codes.tolist(), groups, points.counts.tolist(), strict=True
        ):
            if sizes[group] < k:
                gone += count
                total += count * len(levels)
                continue
            for of_key, at, code, values in zip(levels, node, row, points.values, strict=True):
                same = int((of_key[at].groups == of_key[at].groups[code]).sum())
                total += Fraction(count * (same - 1), max(len(values) - 1, 1))
        if gone <= suppressible:
            losses.append(total / int(points.counts.sum()))
    return min(losses)


@pytest.mark.parametrize("seed", range(25))
def test_no_node_loses_less_than_the_one_that_is_found(seed):
    table = table_of(seed)
    assert sum(search_lattice(*table).losses) == least_by_definition(*table)


def test_few_of_many_nodes_are_tried(monkeypatch):
    group, tried = lattice._group, []
    monkeypatch.setattr(lattice, "_group", lambda *given: tried.append(1) or group(*given))
    rng = np.random.default_rng(1)
    codes = np.unique(rng.integers(0, 64, (400, 4)), axis=0)
    counts, members = np.ones(len(codes), np.int64), np.arange(len(codes))
    levels = [key_levels("a", list(range(64)), [2, 4, 8, 16, 32])] * 4
    search_lattice(KeyPoints(codes, counts, members, [list(range(64))] * 4), levels, 5, 20)
    assert len(tried) < 400  # of 7 ** 4 = 2,401
