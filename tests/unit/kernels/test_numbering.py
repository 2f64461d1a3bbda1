"""Numbers of distinct values agree with a sort of all rows."""

import numpy as np
import pytest

from hartley.kernels import pairs as numbering
from hartley.kernels.pairs import number_values

ROWS = 20_000


def columns():
    rng = np.random.default_rng(4)
    tenths = np.round(rng.normal(size=ROWS), 1)
    missing = np.where(rng.random(ROWS) < 0.1, np.nan, tenths)
    signed = np.where(rng.random(ROWS) < 0.5, -0.0, 0.0)
    infinite = np.where(rng.random(ROWS) < 0.1, np.inf, tenths)
    yield from (tenths, missing, signed, infinite, -missing, tenths.astype(np.float32))
    yield tenths.astype(np.float16)
    whole = rng.integers(-(2**62), 2**62, 700)[rng.integers(0, 700, ROWS)]
    yield from (whole, whole.astype(np.uint64), rng.integers(0, 9, ROWS).astype(np.int8))
    yield np.arange(ROWS, dtype=np.int64) % 2500 << 52  # patterns that differ in high bits alone
    yield tenths[::-1]
    yield np.asfortranarray(np.column_stack([tenths, missing]))[:, 1]
    yield np.repeat(1.5, ROWS)


@pytest.mark.parametrize("column", list(columns()))
def test_numbers_are_those_of_a_sort(column):
    numbers, rows = number_values(column)
    distinct, expected = np.unique(column, return_inverse=True)
    assert np.array_equal(numbers, expected)
    assert np.array_equal(column[rows], distinct, equal_nan=column.dtype.kind == "f")
    assert numbers.dtype == np.int64


def test_many_distinct_values_are_left_to_a_sort():
    room = ROWS // numbering.ROWS_A_VALUE
    assert number_values(np.arange(ROWS, dtype=float)) is None
    assert number_values(np.arange(ROWS) % (room + 1)) is None
    assert number_values(np.arange(ROWS) % room)[1].size == room


@pytest.mark.parametrize(
    "column",
    [np.zeros(numbering.FEWEST_ROWS - 1), np.full(ROWS, "text"), np.zeros(ROWS, np.longdouble)],
)
def test_other_arrays_are_left_to_a_sort(column):
    assert number_values(column) is None
