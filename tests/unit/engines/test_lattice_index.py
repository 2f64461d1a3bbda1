"""Numbers read as indices on a step: every one of a lattice, and none beside it."""

import math
from fractions import Fraction

import pytest

from hartley.errors import ColumnError, OptionError
from hartley.tables.column_map import IndexFormula, LatticeSide, apply_map
from hartley.tables.opening import open_table
from hartley.tables.writing import write_table

SIDES = [
    LatticeSide("x", Fraction(0), Fraction(1), 100),
    LatticeSide("x", Fraction(-7, 10), Fraction(1, 10), 999),
    LatticeSide("x", Fraction(1, 3), Fraction(1, 7), 500),
    LatticeSide("x", Fraction(10**9), Fraction(1, 1000), 2000),
    LatticeSide("x", Fraction(-5), Fraction("2.5"), 4),
]


def index_rule(side):
    return IndexFormula("x", ("var", "x"), (side,))


@pytest.mark.parametrize("side", SIDES)
def test_every_value_of_a_lattice_has_its_index_and_comes_back(side):
    values = [float(side.low + k * side.step) for k in range(side.last + 1)]
    table = open_table({"x": values})
    indices = apply_map(table, [index_rule(side)])
    assert indices.counts.rows == len(values)
    assert indices.expression.to_pyarrow()["x"].to_pylist() == list(range(side.last + 1))
    back = apply_map(table, [IndexFormula("x", side.value_tree(), (side,))])
    assert back.expression.to_pyarrow()["x"].to_pylist() == values


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("towards", [-math.inf, math.inf])
def test_the_doubles_beside_a_value_are_off_the_step(side, towards):
    middle = float(side.low + (side.last // 2) * side.step)
    beside = math.nextafter(middle, towards)
    with pytest.raises(ColumnError, match="1 value of column 'x' is off the declared step"):
        apply_map(open_table({"x": [middle, beside]}), [index_rule(side)]).counts  # noqa: B018


@pytest.mark.parametrize("rounding", ["nearest", "down"])
def test_numbers_between_steps_are_rounded(rounding):
    side = LatticeSide("x", Fraction(1, 10), Fraction(3, 10), 9, rounding)
    numbers = [k / 1000 for k in range(100, 2801)]
    mapped = apply_map(open_table({"x": numbers}), [index_rule(side)])
    assert mapped.counts.rows == len(numbers)
    for number, index in zip(numbers, mapped.expression.to_pyarrow()["x"].to_pylist(), strict=True):
        place = (Fraction(str(number)) - side.low) / side.step
        expected = math.floor(place + Fraction(1, 2)) if rounding == "nearest" else int(place)
        assert index == expected


def test_a_message_counts_and_never_shows_a_value():
    table = open_table({"x": [0.0, 1.25, 2.75]})
    with pytest.raises(ColumnError) as caught:
        apply_map(table, [index_rule(SIDES[0])]).counts  # noqa: B018 - counting is what refuses
    assert str(caught.value).startswith("2 values of column 'x' are off the declared step of 1")
    assert "1.25" not in str(caught.value)


def test_steps_that_doubles_cannot_tell_apart_are_refused():
    with pytest.raises(OptionError, match="too fine"):
        LatticeSide("x", Fraction(1), Fraction(1, 10**15), 10**15)


def test_a_column_of_text_is_refused():
    with pytest.raises(ColumnError, match="not numbers"):
        apply_map(open_table({"x": ["a"]}), [index_rule(SIDES[0])])


@pytest.mark.parametrize("unfit", [0.25, math.nan, None, math.inf, -math.inf, 11.0, -0.5, 1e308])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_one_value_without_an_index_leaves_no_file(unfit, ending, tmp_path):
    """Such a table is not counted before it is written: what is written shows it."""
    values = [0.5 * (k % 21) for k in range(5000)]
    values[4321] = unfit
    side = LatticeSide("x", Fraction(0), Fraction(1, 2), 20)
    rule = IndexFormula("x", side.value_tree(), (side,))
    mapped = apply_map(open_table({"x": values}), [rule])
    assert mapped.counts_before_writing.rows == 5000
    with pytest.raises(ColumnError, match=r"1 value of column 'x' is (off|missing|outside)"):
        write_table(mapped, tmp_path / f"out.{ending}")
    assert list(tmp_path.iterdir()) == []


def test_a_value_of_another_column_without_an_index_leaves_no_file(tmp_path):
    sides = (SIDES[0], LatticeSide("y", Fraction(0), Fraction(1), 9))
    rule = IndexFormula("x", ("+", ("var", "x"), ("var", "y")), sides)
    mapped = apply_map(open_table({"x": [1, 2], "y": [3.0, 3.5]}), [rule])
    with pytest.raises(ColumnError, match="1 value of column 'y' is off the declared step of 1"):
        write_table(mapped, tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_minus_zero_is_released_as_zero():
    side = LatticeSide("x", Fraction(-1), Fraction(1, 2), 4)
    rule = IndexFormula("x", side.value_tree(), (side,))
    released = apply_map(open_table({"x": [-0.0, 0.0]}), [rule]).expression.to_pyarrow()["x"]
    assert [math.copysign(1, value) for value in released.to_pylist()] == [1, 1]
