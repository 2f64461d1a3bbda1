"""Expressions put into cells row by row, and what is counted on the way."""

import math
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley.boxes.expression import parse_expression
from hartley.engines.cells import CutCells, UniformCells
from hartley.errors import ColumnError, OptionError
from hartley.tables.column_map import apply_map
from hartley.tables.release_rules import Keep, Quantized

ELLIPSE = parse_expression("x1**2 + 2*x2**2").to_tree()
CELLS = UniformCells("q", Fraction(0), Fraction(12), 12)
BOX = {"x1": (-2, 2), "x2": (-2, 2)}
numbers = st.one_of(st.floats(-3, 3), st.sampled_from([None, math.nan, math.inf, 2.0, -2.0]))


def is_missing(value):
    return value is None or math.isnan(value)


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30))
def test_a_query_is_computed_over_clamped_columns_and_its_cell_is_released(hold, drawn):
    columns = {f"x{i + 1}": pa.array([row[i] for row in drawn], pa.float64()) for i in (0, 1)}
    cuts = CutCells("c", tuple(Fraction(k, 2) for k in range(25)), tuple(map(float, range(24))))
    rules = [Quantized("q", ELLIPSE, CELLS), Quantized("c", ELLIPSE, cuts)]
    mapped = apply_map(hold(**columns), rules, ranges=BOX)
    found = mapped.expression.to_pyarrow().to_pydict()
    for row, cell, cut in zip(drawn, found["q"], found["c"], strict=True):
        if any(map(is_missing, row)):
            assert cell is cut is None
            continue
        one, other = (min(max(value, -2.0), 2.0) for value in row)
        answer = min(one * one + 2.0 * (other * other), 12.0)
        assert cell == min(math.floor(answer), 11) + 0.5
        assert cut == min(math.floor(2 * answer), 23)
    present = [row for row in drawn if not any(map(is_missing, row))]
    counts = mapped.counts.columns[0]
    assert counts.missing == len(drawn) - len(present)
    assert counts.below == sum(min(row) < -2 for row in present)
    assert counts.above == sum(max(row) > 2 for row in present)


def test_a_value_at_the_corner_of_the_box_is_not_outside_by_rounding(hold):
    cells = UniformCells("q", Fraction(0), Fraction(3, 10), 3)
    ranges = {"x1": (0, Fraction("0.1")), "x2": (0, Fraction("0.2"))}
    rule = Quantized("q", parse_expression("x1 + x2").to_tree(), cells)
    mapped = apply_map(hold(x1=[0.1, 0.0], x2=[0.2, 0.0]), [rule], strict=True, ranges=ranges)
    assert mapped.counts.columns[0].above == 0
    assert 0.1 + 0.2 > 0.3
    assert mapped.expression.to_pyarrow()["q"].to_pylist() == [0.25, 0.05]


def test_without_declared_ranges_the_answer_itself_is_looked_at(hold):
    table = hold(x1=[0.0, 3.0, -9.0, 1e200], x2=[1.0, 1.5, 0.0, 0.0])
    mapped = apply_map(table, [Quantized("q", ELLIPSE, CELLS)])
    assert mapped.expression.to_pyarrow()["q"].to_pylist() == [2.5, 11.5, 11.5, None]
    counts = mapped.counts.columns[0]
    assert (counts.missing, counts.below, counts.above) == (0, 0, 2)
    with pytest.raises(ColumnError, match="2 values of column 'q' are outside"):
        _ = apply_map(table, [Quantized("q", ELLIPSE, CELLS)], strict=True).counts


def test_a_column_that_is_also_kept_is_clamped_for_a_query_by_its_declared_range(released):
    found = released([Quantized("q", ELLIPSE, CELLS), Keep("x2")], ranges=BOX, x1=[0.0], x2=[-3.0])
    assert found == {"q": [8.5], "x2": [-3.0]}


def test_a_query_may_be_released_under_the_name_of_a_column_or_another(hold):
    table = hold(x1=[1.0], x2=[1.0])
    rules = [Quantized("x1", ELLIPSE, CELLS), Keep("x2")]
    assert apply_map(table, rules).expression.to_pyarrow().to_pydict() == {"x1": [3.5], "x2": [1.0]}
    with pytest.raises(ColumnError, match="'x3' is not in"):
        apply_map(table, [Quantized("q", ("var", "x3"), CELLS)])
    with pytest.raises(OptionError, match="uses exp, whose last digit differs"):
        Quantized("q", ("exp", ("var", "x1")), CELLS)


def test_cells_that_are_too_fine_for_integers_are_listed_for_a_query_too(released):
    low, high = Fraction("3.141592653589793"), Fraction("314.1592653589793238")
    cells = UniformCells("q", low, high, 500)
    assert not cells.fits
    values = [float(low + k * (high - low) / 500) for k in range(501)]
    direct = released([UniformCells("x", low, high, 500)], x=values)["x"]
    assert released([Quantized("q", ("var", "x"), cells)], x=values)["q"] == direct
