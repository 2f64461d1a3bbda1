"""Minimal combinations of columns that single records out, against their definition."""

import itertools
from collections import Counter
from math import factorial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley import scan
from hartley.errors import OptionError
from hartley.kernels import uniques as kernel
from hartley.kernels.uniques import places_of_pair
from hartley.studies.look.special_uniques import special_uniques


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
        table = {at: column.tolist() for at, column in enumerate(codes)}
        right = by_definition(table, 4)
        assert pairs_of(found) == {
            (r, sum(1 << at for at in c)) for r, of in right.items() for c in of
        }
        sizes = [min(map(len, of), default=255) for of in right.values()]
        assert found.least_sizes(rows).tolist() == sizes


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
    assert Counter(r for r, _ in pairs_of(found)) == {r: len(c) for r, c in right.items() if c}


def by_counting(codes, largest):
    """Return pairs of a record and a minimal combination, all rows of a combination at once."""
    pairs, unique = set(), {}
    for size in range(1, min(largest, len(codes)) + 1):
        for columns in itertools.combinations(range(len(codes)), size):
            rows = np.stack([codes[at].astype(np.int64) for at in columns], axis=1)
            _, inverse, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
            alone = counts[inverse.reshape(-1)] == 1
            parts = [unique[part] for part in itertools.combinations(columns, size - 1) if part]
            known = np.logical_or.reduce([np.zeros_like(alone), *parts])
            unique[columns] = alone
            mask = sum(1 << at for at in columns)
            pairs |= {(record, mask) for record in np.flatnonzero(alone & ~known).tolist()}
    return pairs


def pairs_of(found):
    pairs = [(record, mask) for mask, records in found.parts for record in records.tolist()]
    assert len(pairs) == len(set(pairs))
    return set(pairs)


@pytest.mark.parametrize(
    ("rows", "widths", "largest", "merges"),
    [
        (900, (6, 5, 4, 3, 2, 2), 4, True),  # before and after columns are chosen
        (900, (3, 3, 3, 2, 2, 2, 2), 6, True),
        (600, (300, 40, 20, 6, 3, 2), 4, True),  # a column of two bytes, first
        (400, (3, 2, 300, 290, 280), 4, False),  # and such columns as the last ones
        (300, (256, 256, 40), 4, False),  # as many values as a byte has
        (100_000, (70, 9, 2), 3, True),  # more than 2**16 records in one cell
        (3, (1, 1, 1), 3, True),
        (1, (1, 1), 2, False),
    ],
)
def test_every_way_to_count_finds_what_counting_each_combination_does(
    rows, widths, largest, merges, monkeypatch
):
    rng = np.random.default_rng(rows)
    merged = []
    real = kernel.merged_cells
    monkeypatch.setattr(kernel, "merged_cells", lambda *a: merged.append(a) or real(*a))
    codes = []
    for width in widths:
        shares = 1.0 / np.arange(1, width + 1) ** (3 if rows > 10_000 else 1.2)
        codes.append(
            kernel.narrow_codes(rng.choice(width, rows, p=shares / shares.sum()), width - 1)
        )
    found = kernel.minimal_uniques(codes, largest)
    right = by_counting(codes, largest)
    assert pairs_of(found) == right
    assert bool(merged) == merges
    masks = [mask for mask, _ in found.parts]
    assert sorted(masks, key=int.bit_count) == masks
    for size in range(1, largest + 1):
        times = Counter(record for record, mask in right if mask.bit_count() == size)
        assert found.times_of_size(size, rows).tolist() == [times[r] for r in range(rows)]


def test_places_that_carry_over_in_a_cell_do_not_look_like_one_record():
    """A cell counts records above its 32 bits of places, whose sum overflows here."""
    starts, zeros = np.array([0, 100_000], np.uint64), np.zeros(100_000, np.uint8)
    assert places_of_pair(starts, zeros, zeros, (1, 1), None).size == 0
    one = zeros.copy()
    one[99_999] = 1
    assert places_of_pair(starts, zeros, one, (1, 2), None).tolist() == [99_999]


def test_records_that_are_singled_out_are_counted_by_the_smallest_combination():
    table = {"age": [30, 30, 40, 40, 30], "sex": ["F", "M", "F", "F", "F"], "job": [1, 1, 1, 2, 1]}
    uniques = special_uniques(table)
    assert uniques.is_singled_out.tolist() == [False, True, True, True, False]
    assert [uniques.singled_out_by(size) for size in (1, 2, 3)] == [2, 3, 3]


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


def test_sentences_about_one_column_are_in_the_singular():
    alone = special_uniques({"age": [1, 2, 2], "sex": ["f", "m", "m"]})
    assert alone.sentences[0] == "1 column singles out 1 record."
    report = scan({"age": [1, 2, 2]})
    assert any(
        said.startswith("At most 1 column of 1 singles out 1 person") for said in report.sentences
    )
