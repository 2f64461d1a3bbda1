"""Cells of numbers against oracles in exact arithmetic, on the embedded engine."""

import math
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings, strategies as st

from hartley.engines.cells import CutCells, EqualCellGrid, UniformCells
from hartley.errors import OptionError
from hartley.tables.release_rules import Formula

SPECIALS = [math.nan, math.inf, -math.inf, None, 0.0, -0.0, 5e-324, 1e308, -1e308]


def bits(values):
    return [None if value is None else struct.pack(">d", value).hex() for value in values]


def beside(number):
    return [math.nextafter(number, -math.inf), number, math.nextafter(number, math.inf)]


def doubles(values):
    return pa.array(values, pa.float64())


# --- equal cells --------------------------------------------------------------------------------


def oracle_uniform(low, high, levels, value):
    """Find the cell among its exact neighbours, every edge rounded to the nearest double."""
    if value is None or math.isnan(value):
        return None
    width = (high - low) / levels
    first, last = float(low), float(high)
    value = min(max(value, first), last)
    if width == 0:
        return float(low)
    near = int((Fraction(value) - low) // width)
    inside = [
        k
        for k in range(max(near - 3, 0), min(near + 4, levels))
        if float(low + k * width) <= value
        and (value < float(low + (k + 1) * width) or k == levels - 1)
    ]
    return float(low + (2 * inside[-1] + 1) * width / 2)


def oracle_cuts(edges, values, value):
    if value is None or math.isnan(value):
        return None
    rounded = [float(edge) for edge in edges]
    value = min(max(value, rounded[0]), rounded[-1])
    return [out for edge, out in zip(rounded, values, strict=False) if edge <= value][-1]


ends = st.one_of(
    st.integers(-(10**6), 10**6).map(Fraction),
    st.builds(Fraction, st.integers(-(10**6), 10**6), st.sampled_from([3, 7, 10, 100, 1000, 4096])),
)


@st.composite
def uniform_cells(draw):
    low, high = sorted([draw(ends), draw(ends)])
    levels = draw(st.one_of(st.integers(1, 40), st.integers(1, 10**6)))
    assume(is_feasible(low, high, levels))
    return low, high, levels


def is_feasible(low, high, levels):
    """Tell whether cells may be asked for, and are not listed one by one in thousands."""
    try:
        return UniformCells("x", low, high, levels).fits or levels <= 1000
    except OptionError:
        return False


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(uniform_cells(), min_size=6, max_size=6), st.data())
def test_equal_cells_are_those_of_exact_arithmetic_bit_for_bit(released, listed, data):
    rules, columns = [], {}
    for i, (low, high, levels) in enumerate(listed):
        drawn = data.draw(st.lists(st.integers(0, levels), min_size=9, max_size=9))
        edges = [float(low + k * (high - low) / levels) for k in (0, levels, *drawn)]
        inside = st.lists(st.floats(float(low), float(high)), min_size=9, max_size=9)
        columns[f"x{i}"] = [near for edge in edges for near in beside(edge)]
        columns[f"x{i}"] += data.draw(inside) + SPECIALS
        rules.append(UniformCells(f"x{i}", low, high, levels))
    found = released(rules, **{name: doubles(values) for name, values in columns.items()})
    for (name, values), cells in zip(columns.items(), listed, strict=True):
        assert bits(found[name]) == bits([oracle_uniform(*cells, value) for value in values])


@pytest.mark.parametrize(
    ("low", "high", "levels"),
    [
        (0, 2**48, 2**48),
        (-(2**48), 2**48, 2**49),
        (-(2**46), 2**46, 3),
        (2**48 - 7, 2**48, 7),
        (Fraction(1, 2**48), Fraction(1000, 2**48), 999),
        (Fraction("0.1"), Fraction("0.7"), 6),
        (Fraction(-1, 3), Fraction(2, 3), 10**12),
        (5, 5, 3),
    ],
)
def test_equal_cells_are_exact_at_the_limit_of_their_integers(released, low, high, levels):
    low, high = Fraction(low), Fraction(high)
    numbers = [0, 1, levels // 3, levels // 2, levels - 1, levels]
    values = [near for k in numbers for near in beside(float(low + k * (high - low) / levels))]
    rule = UniformCells("x", low, high, levels)
    assert rule.fits
    found = released([rule], x=doubles(values))["x"]
    assert bits(found) == bits([oracle_uniform(low, high, levels, value) for value in values])


def test_cells_beyond_the_limit_are_listed_and_exact_all_the_same(released):
    low, high = Fraction("3.141592653589793"), Fraction("314.1592653589793238")
    rule = UniformCells("x", low, high, 500)
    assert not rule.fits
    values = [near for k in range(501) for near in beside(float(low + k * (high - low) / 500))]
    found = released([rule], x=doubles([*values, *SPECIALS]))["x"]
    expected = [oracle_uniform(low, high, 500, value) for value in [*values, *SPECIALS]]
    assert bits(found) == bits(expected)


def test_a_value_on_an_edge_lies_in_the_upper_cell_and_the_last_edge_in_the_last(released):
    found = released([UniformCells("x", 0, Fraction(3, 10), 3)], x=doubles([0.1, 0.2, 0.3]))["x"]
    assert found == [0.15, 0.25, 0.25]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([-5, 0, 4, 5, 99, 100, 250, None], pa.int64()),
        pa.array([-5, 0, 4, 5, 99, 100, 120, None], pa.int8()),
        pa.array([0, 4, 5, 99, 100, 250, None], pa.uint64()),
        pa.array([-5, 0, 4.5, 5, math.nan, 1e30, None], pa.float32()),
        pa.array([Decimal("-0.01"), Decimal("4.99"), Decimal("5.00"), None], pa.decimal128(10, 2)),
    ],
    ids=lambda column: str(column.type),
)
def test_numbers_of_every_type_lie_in_the_cells_of_their_doubles(released, column):
    found = released([UniformCells("x", 0, 100, 20)], x=column)["x"]
    plain = [None if value is None else float(value) for value in column.to_pylist()]
    assert found == [oracle_uniform(Fraction(0), Fraction(100), 20, value) for value in plain]


@pytest.mark.parametrize("scale", [3, 5, 9, 15])
def test_long_decimals_become_the_nearest_double(released, scale):
    random = np.random.default_rng(scale)
    digits = random.integers(10**16, 10**18, size=3000).tolist()
    values = [Decimal(number).scaleb(-scale) for number in digits]
    rule = Formula("x", ("var", "x"), 0, 2**53)  # a decimal that is kept would not be rounded
    found = released([rule], x=pa.array(values, pa.decimal128(18, scale)))["x"]
    assert bits(found) == bits([float(value) for value in values])


# --- cuts ---------------------------------------------------------------------------------------


@st.composite
def cut_cells(draw, size):
    numbers = st.one_of(ends, st.integers(0, 40).map(lambda k: Fraction(2) ** -k))
    edges = tuple(sorted(draw(st.lists(numbers, min_size=size, max_size=size, unique=True))))
    return edges, tuple(float(k * k) for k in range(len(edges) - 1))


@pytest.mark.slow
@settings(max_examples=10)
@given(st.tuples(*map(cut_cells, (2, 3, 5, 6, 20))), st.lists(st.floats(0, 1), max_size=9))
def test_cuts_are_those_of_plain_comparisons_however_they_are_spread(released, listed, shares):
    columns = {}
    for i, (edges, _) in enumerate(listed):
        low, high = float(edges[0]), float(edges[-1])
        values = [near for edge in edges for near in beside(float(edge))] + SPECIALS
        values += [low + (high - low) * share for share in shares]
        columns[f"x{i}"] = (values * 8)[:80]
    rules = [CutCells(name, *cuts) for name, cuts in zip(columns, listed, strict=True)]
    found = released(rules, **{name: doubles(values) for name, values in columns.items()})
    for (name, values), cuts in zip(columns.items(), listed, strict=True):
        assert found[name] == [oracle_cuts(*cuts, value) for value in values]


@pytest.mark.parametrize("size", [40, 130])
def test_cuts_are_looked_up_in_lists_of_buckets_or_of_edges(released, size):
    even = tuple(Fraction(k + k % 3, 7) for k in range(0, 5 * size, 5))
    crowded = tuple(sorted({Fraction(2) ** -(k // 2) + Fraction(k, 10**4) for k in range(size)}))
    for edges in (even, crowded):
        outs = tuple(math.sqrt(k) for k in range(len(edges) - 1))
        values = [near for edge in edges for near in beside(float(edge))] + SPECIALS
        found = released([CutCells("x", edges, outs)], x=doubles(values))["x"]
        assert found == [oracle_cuts(edges, outs, value) for value in values]
    assert EqualCellGrid.over([float(edge) for edge in even]).most == 1
    assert EqualCellGrid.over([float(edge) for edge in crowded]).most > 1


def test_many_cuts_in_one_bucket_are_found_exactly(released):
    edges = tuple(Fraction(k**3, 7) for k in range(1501))
    outs = tuple(float(k) for k in range(1500))
    values = [near for edge in edges[::17] for near in beside(float(edge))]
    found = released([CutCells("x", edges, outs)], x=doubles(values))["x"]
    assert found == [oracle_cuts(edges, outs, value) for value in values]


def test_cuts_whose_doubles_coincide_are_told_apart_by_order_alone(released):
    edges = (Fraction(0), Fraction(1), 1 + Fraction(1, 2**80), Fraction(2), 3, 4, 5, 6)
    outs = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    values = [0.5, *beside(1.0), 1.5, 2.0, 6.0]
    found = released([CutCells("x", edges, outs)], x=doubles(values))["x"]
    assert found == [oracle_cuts(edges, outs, value) for value in values]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, unique=True))
def test_a_grid_parts_the_edges_by_their_buckets(drawn):
    edges = sorted(drawn)
    grid = EqualCellGrid.over(edges)
    for value in [near for edge in edges for near in beside(edge) if edges[0] <= near <= edges[-1]]:
        start = grid.starts[math.floor(value * grid.slope + grid.shift)]
        cell = sum(edge <= value for edge in edges[1:-1]) + 1
        assert start <= cell <= start + grid.most
