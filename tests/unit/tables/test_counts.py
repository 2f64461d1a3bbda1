"""The engine counts distinct rows, and totals are exact."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley import open_table
from hartley.errors import ColumnError, OptionError, TableError
from hartley.tables.column_map import ColumnCounts
from hartley.tables.counts import TotalsGrid, distinct_counts, exact_totals, parse_memory
from hartley.tables.view import prepare

# --- The engine counts distinct rows; memory limits are read as they are written ------------------


cells = st.tuples(st.sampled_from(["x", "y", None]), st.one_of(st.none(), st.integers(-2, 2)))


@pytest.mark.slow
@settings(max_examples=12)  # each opens an engine
@given(st.lists(cells, min_size=1, max_size=40))
def test_distinct_rows_come_once_with_their_counts(drawn):
    rows = [("x", 0), *drawn]  # a column of nothing is refused
    text, number = zip(*rows, strict=True)
    view = prepare(open_table({"a": text, "b": number}), ["b", "a"], missing="value")
    found = [(row["c1"], row["c0"], row["n"]) for row in distinct_counts(view).to_pylist()]
    assert sorted(found, key=repr) == sorted(((*k, n) for k, n in Counter(rows).items()), key=repr)


@given(st.integers(1, 10**6), st.sampled_from(["", "B", "KB", "MB", "GB", "TB"]), st.booleans())
def test_a_memory_limit_is_read_with_its_unit(number, unit, spaced):
    factor = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}[unit]
    text = f" {number} {unit.lower()} " if spaced else f"{number}{unit}"
    assert parse_memory(text) == number * factor


def test_a_memory_limit_may_be_a_number_or_nothing():
    assert parse_memory(None) is None
    assert parse_memory(123) == 123
    assert parse_memory("2.5GB") == 2_500_000_000


@pytest.mark.parametrize(
    "text", ["lots", "", "GB", "1XB", "nan", "nanGB", "inf GB", "1 2 GB", "-5GB", -1]
)
def test_a_memory_limit_that_is_no_size_is_refused(text):
    with pytest.raises(OptionError, match=r"memory limit .* is not a size; hint: "):
        parse_memory(text)


# --- Exact totals: integers on a grid, whatever the numbers ---------------------------------------


fractions = st.one_of(
    st.fractions(-1000, 1000, max_denominator=1000),
    st.integers(-(10**300), 10**300).map(Fraction),
    st.integers(1, 2**70).map(lambda n: Fraction(n, 2**900)),
)


@given(st.lists(fractions, min_size=2, max_size=2, unique=True))
def test_a_grid_lies_within_its_range_and_is_as_fine_as_integers_of_53_digits_allow(ends):
    low, high = sorted(ends)
    grid = TotalsGrid.within(low, high)
    largest = max(abs(low), abs(high))
    assert largest / grid.step <= 2**53
    assert 2 * largest / grid.step > 2**53 or grid.shift == 960
    assert low <= grid.low < low + grid.step
    assert high - grid.step < grid.high <= high
    assert (grid.low / grid.step).denominator == (grid.high / grid.step).denominator == 1


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.one_of(st.floats(), st.none()), min_size=1, max_size=40))
def test_one_value_moves_a_total_by_no_more_than_the_range_and_rounds_by_less_than_a_step(
    hold, values
):
    low, high = Fraction("-0.1"), Fraction(10)
    table = hold(x=pa.array([1.0, *values], pa.float64()))
    rows, found = exact_totals(table, {"x": (low, high)})
    present = [value for value in [1.0, *values] if value is not None and not math.isnan(value)]
    clamped = [Fraction(min(max(value, -0.1), 10.0)) for value in present]
    assert rows == len(values) + 1
    assert found["x"].present == len(present)
    assert found["x"].grid == Fraction(1, 2**49)
    assert abs(found["x"].total - sum(clamped)) <= len(present) * found["x"].grid
    assert len(present) * low <= found["x"].total <= len(present) * high


def test_a_total_does_not_depend_on_the_order_of_rows_as_a_sum_of_doubles_does(hold):
    values = [1e15, 0.1, -1e15, 0.3] * 50
    ends = (Fraction(-(10**15)), Fraction(10**15))
    totals = [
        exact_totals(hold(x=order), {"x": ends})[1]["x"].total
        for order in (values, sorted(values), values[::-1])
    ]
    assert len(set(totals)) == 1
    assert len({sum(values), sum(sorted(values)), math.fsum(values)}) > 1


def test_a_total_larger_than_any_64_bit_integer_is_exact(hold):
    ends = (Fraction(0), Fraction(2**53))
    total = exact_totals(hold(x=pa.array([2**53 - 1] * 5000)), {"x": ends})[1]["x"]
    assert total.total == 5000 * (2**53 - 1) > 2**64
    assert total.grid == 1


def test_numbers_between_two_steps_are_rounded_down(hold):
    ranges = {"x": (Fraction(-(2**53)), Fraction(2**53))}
    totals = [exact_totals(hold(x=[x]), ranges)[1]["x"].total for x in (0.75, 1.5, -0.25, 7.0)]
    assert totals == [0, 1, -1, 7]


def test_what_is_missing_or_outside_is_counted_and_refused_when_strict(hold):
    table = hold(x=pa.array([math.nan, None, -5.0, 3.0, math.inf, -math.inf]))
    ranges = {"x": (Fraction(0), Fraction(10))}
    found = exact_totals(table, ranges)[1]["x"]
    assert found.counts == ColumnCounts("x", missing=2, below=2, above=1, unknown=0, undefined=0)
    assert (found.present, found.total) == (4, 13)
    with pytest.raises(ColumnError, match="2 values of column 'x' are missing"):
        exact_totals(table, ranges, strict=True)


def test_a_column_without_numbers_is_refused(hold):
    ranges = {"x": (Fraction(0), Fraction(10))}
    with pytest.raises(ColumnError, match="nothing but missing"):
        exact_totals(hold(x=pa.array([None, math.nan])), ranges)
    with pytest.raises(ColumnError, match="holds text values"):
        exact_totals(hold(x=["a"]), ranges)
    with pytest.raises(ColumnError, match="'x' is not in"):
        exact_totals(hold(y=[1]), ranges)
    with pytest.raises(TableError, match="has no rows"):
        exact_totals(hold(x=pa.array([], pa.float64())), ranges)
    with pytest.raises(OptionError, match="too narrow for a total"):
        exact_totals(hold(x=[1.0]), {"x": (Fraction(1, 10), Fraction(1, 10))})
