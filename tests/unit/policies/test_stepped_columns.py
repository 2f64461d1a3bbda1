"""Columns with a declared step: their values are counted, and what is exact says so."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import InputError, OptionError
from hartley.guarantees.exhaustive import verify_exhaustively
from hartley.guarantees.verify import certify
from hartley.policies import KeptColumn, QuantizedColumn, read_column
from hartley.policies.document import PolicyDocument
from hartley.studies.release.design import design
from hartley.tables.column_map import apply_map
from hartley.tables.opening import open_table


def released(column, values):
    table = open_table({column.name: values})
    return apply_map(table, column.to_rules()).expression.to_pyarrow()[column.name].to_pylist()


def test_a_kept_column_with_a_step_is_counted_and_released_bit_by_bit():
    column = KeptColumn.read("size", low="-0.3", high="1.25", step="0.1")
    values = [k / 10 for k in range(-3, 13)]
    assert column.outputs().count == len(values) == 16
    assert released(column, values) == values
    # Numbers between two steps, and beyond the ends, come out as one of the same values.
    assert released(column, [0.14, 0.16, 1.25, 99.0, -5.0]) == [0.1, 0.2, 1.2, 1.2, -0.3]
    promise = certify(PolicyDocument((column,)))
    assert 2**promise.value == pytest.approx(17)  # missing is one more
    assert promise.sound
    assert "size is released exactly." in promise.claim
    assert "exactly, as one of 16 values from -0.3 on in steps of 0.1" in column.sentence()


@pytest.mark.slow
@given(
    low=st.fractions(-3, 3, max_denominator=4),
    length=st.fractions(Fraction(1, 2), 6, max_denominator=4),
    step=st.fractions(Fraction(1, 4), 3, max_denominator=4),
    levels=st.integers(1, 12),
)
@settings(max_examples=25, deadline=None)
def test_no_number_makes_a_stepped_column_come_out_in_more_ways_than_counted(
    low, length, step, levels
):
    fine = [float(low + length * k / 97) for k in range(-5, 103)]
    points = [low + k * step for k in range(math.floor(length / step) + 1)]
    column = QuantizedColumn.read("x", str(low), str(low + length), levels, step=str(step))
    occupied = {column.quantizer.cell(point) for point in points}
    assert column.outputs().count == len(occupied)
    both = released(column, fine + [float(point) for point in points])
    assert len(set(both)) <= len(occupied)
    assert both[len(fine) :] == [
        float(column.quantizer.middle(column.quantizer.cell(point))) for point in points
    ]
    kept = KeptColumn.read("x", str(low), str(low + length), str(step))
    assert kept.outputs().count == len(points)
    assert set(released(kept, fine)) <= {float(point) for point in points}


def test_cells_finer_than_a_step_count_its_values_and_say_that_they_are_exact():
    fine = QuantizedColumn.read("age", 0, 100, 1000, step=1)
    assert fine.outputs().count == 101
    document = PolicyDocument((fine,))
    assert 2 ** certify(document).value == pytest.approx(102)
    assert "age is released exactly." in certify(document).claim
    assert "No cell holds two values of its step" in fine.sentence()
    grid = [k / 4 for k in range(401)] + [None]
    assert verify_exhaustively(document, people={"age": grid}) == 102
    wide = QuantizedColumn.read("age", 0, 100, 10, step=1)
    assert wide.outputs().count == 10
    assert "exactly" not in certify(PolicyDocument((wide,))).claim + wide.sentence()
    # Without a step every cell counts, as before.
    assert QuantizedColumn.read("age", 0, 100, 1000).outputs().count == 1000


def test_steps_are_written_to_a_file_and_read_again():
    columns = (
        KeptColumn.read("a", 0, 9, "1/2"),
        QuantizedColumn.read("b", 0, 9, 30, step=1),
        KeptColumn("c"),
    )
    document = PolicyDocument(columns)
    assert PolicyDocument.from_toml(document.to_toml()) == document
    assert 'step = "1/2"' in document.to_toml()
    assert document.to_toml().count("step") == 2


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "keep", "step": 1}, "step without a range"),
        ({"kind": "keep", "low": 0, "high": 1, "step": 0}, "step"),
        ({"kind": "quantizer", "low": 0, "high": 9, "levels": 3, "step": -1}, "step"),
        (
            {"kind": "quantizer", "low": 0, "high": 9, "levels": 3, "step": 1, "of": "x + y"},
            "a query is quantized",
        ),
        (
            {"kind": "quantizer", "low": 0, "high": 10**6, "levels": 2 * 10**6, "step": 1},
            "values of its step",
        ),
    ],
)
def test_steps_that_make_no_sense_are_refused(fields, words):
    with pytest.raises((InputError, OptionError), match=words):
        read_column({"name": "x"} | fields, 1)


def test_a_designed_column_whose_steps_are_all_told_apart_says_so():
    found = design(
        {"objective": "bits", "bits": 7, "columns": {"age": {"range": [0, 100], "step": 1}}}
    )
    (column,) = found.document.columns
    assert column.error == 0
    assert column.sentence() == "age is released exactly, as one of 101 values from 0 to 100."
    coarse = design(
        {"objective": "bits", "bits": 4, "columns": {"age": {"range": [0, 100], "step": 1}}}
    )
    assert "exactly" not in coarse.document.columns[0].sentence()
