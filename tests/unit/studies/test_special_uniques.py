"""Minimal combinations of columns that single records out, against their definition."""

import itertools
from collections import Counter
from math import factorial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import OptionError
from hartley.kernels import minimal_uniques as kernel
from hartley.studies.special_uniques import special_uniques


def by_definition(table, largest):
    """Return every record with its minimal combinations: no part of them singles it out."""
    names, rows = list(table), len(next(iter(table.values())))
    unique = {record: [] for record in range(rows)}
    for size in range(1, min(largest, len(names)) + 1):
        for columns in itertools.combinations(names, size):
            keys = [tuple(table[name][record] for name in columns) for record in range(rows)]
            counts = Counter(keys)
            for record, key in enumerate(keys):
                parts = (set(known) <= set(columns) for known in unique[record])
                if counts[key] == 1 and not any(parts):
                    unique[record].append(columns)
    return unique


@st.composite
def tables(draw):
    rows, columns = draw(st.integers(1, 20)), draw(st.integers(1, 6))
    values = st.integers(0, draw(st.integers(0, 5)))
    others = st.lists(st.one_of(st.none(), values), min_size=rows - 1, max_size=rows - 1)
    return {f"c{at}": [draw(values), *draw(others)] for at in range(columns)}


def test_the_kernel_finds_what_the_definition_says():
    rng = np.random.default_rng(1)
    for _ in range(150):
        rows, widths = rng.integers(1, 30), rng.integers(1, 7, rng.integers(1, 6))
        codes = [rng.integers(0, width, rows).astype(np.uint8) for width in widths]
        found = kernel.minimal_uniques(codes, 4)
        pairs = zip(found.records.tolist(), found.combinations.tolist(), strict=True)
        table = {at: column.tolist() for at, column in enumerate(codes)}
        right = by_definition(table, 4)
        wanted = {(r, sum(1 << at for at in c)) for r, of in right.items() for c in of}
        assert sorted(pairs) == sorted(wanted)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(tables(), st.integers(1, 5))
def test_combinations_and_scores_are_those_of_the_definition(table, largest):
    arrow = pa.table({name: pa.array(values, pa.int64()) for name, values in table.items()})
    uniques, right = special_uniques(arrow, largest=largest), by_definition(table, largest)
    order = {name: at for at, name in enumerate(table)}
    for record, combinations in right.items():
        found = {tuple(sorted(names, key=order.get)) for names in uniques.of(record)}
        assert found == set(combinations)
    weight = [sum(factorial(len(table) - len(c)) for c in of) for of in right.values()]
    assert uniques.scores == weight
    assert uniques.singled_out == sum(map(bool, right.values()))
    counts = Counter(c for of in right.values() for c in of)
    assert {c.columns: c.records for c in uniques.combinations} == dict(counts)


def test_scores_of_six_records_of_four_columns():
    rows = [(1, 1, 1, 1), (1, 2, 1, 1), (2, 1, 1, 1), (2, 2, 1, 2), (3, 1, 1, 2), (1, 1, 2, 1)]
    table = dict(zip("abcd", map(list, zip(*rows, strict=True)), strict=True))
    assert special_uniques(table).scores == [1, 4, 4, 6, 8, 6]


def test_the_order_of_columns_and_records_does_not_matter():
    rng = np.random.default_rng(3)
    widths = {"a": 2, "b": 9, "c": 3, "d": 40, "e": 300}
    table = {name: rng.integers(0, width, 300) for name, width in widths.items()}
    uniques = special_uniques(table, largest=3)
    order = rng.permutation(300)
    moved = {name: table[name][order] for name in "ecabd"}
    again = special_uniques(moved, largest=3)
    as_sets = lambda result: {(frozenset(c.columns), c.records) for c in result.combinations}  # noqa: E731
    assert as_sets(again) == as_sets(uniques)
    assert [again.scores[i] for i in range(300)] == [uniques.scores[i] for i in order]


def test_scores_of_many_columns_are_exact():
    table = {f"c{at}": [0, 0, 1] for at in range(30)}
    assert special_uniques(table, largest=2).scores[2] == 30 * factorial(29)


def test_long_and_short_segments_agree():
    """The tally without a question per record, and the one with it, find the same."""
    rng = np.random.default_rng(5)
    codes = [rng.integers(0, width, 2000).astype(np.uint8) for width in (3, 2, 200)]
    found = kernel.minimal_uniques(codes, 3)
    table = {str(at): column.tolist() for at, column in enumerate(codes)}
    right = by_definition(table, 3)
    assert Counter(found.records.tolist()) == Counter({r: len(c) for r, c in right.items() if c})


def test_nothing_of_a_record_is_shown():
    shown = str(special_uniques({"name": ["Ann Zwölf", "Ben"], "age": [3, 3]}).to_dict())
    assert "Zwölf" not in shown


@pytest.mark.parametrize(
    ("columns", "largest", "words"),
    [
        (["a", "a"], 2, "named twice"),
        ([], 2, "0 columns were named"),
        (["a"], 0, "whole number above 0"),
        (["a"], True, "whole number above 0"),
    ],
)
def test_mistakes_are_named(columns, largest, words):
    with pytest.raises(OptionError, match=words):
        special_uniques({"a": [1, 2]}, columns, largest=largest)


def test_too_many_combinations_are_refused_before_any_is_counted():
    table = {f"c{at}": list(range(200)) for at in range(60)}
    with pytest.raises(OptionError, match="too many combinations"):
        special_uniques(table, largest=7)
