"""Columns released in cells, and bits shared among columns."""

import math
import re
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import example, given, settings, strategies as st

from hartley import (
    ColumnError,
    CutQuantizer,
    HartleyError,
    InputError,
    Interval,
    OptionError,
    PolicyDocument,
    UniformQuantizer,
    certify,
    design,
    open_table,
    optimal_quantizer,
    verify_exhaustively,
)
from hartley.boxes import parse_expression
from hartley.engines.cells import CutCells, UniformCells
from hartley.policies import (
    CutColumn,
    KeptColumn,
    LineColumn,
    QuantizedColumn,
    allocate_bits,
    read_column,
)
from hartley.policies.quantizer import Aggregate, parse_query
from hartley.tables.column_map import apply_map
from hartley.tables.release_rules import Quantized

CELLS = UniformQuantizer(100, 250, 150)


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.lists(st.fractions(-50, 50), min_size=2, max_size=8, unique=True),
    st.lists(st.fractions(-60, 60), min_size=8, max_size=8),
    st.integers(0, 20),
)
def test_no_value_of_the_range_is_further_off_than_the_error_of_cuts(edges, values, at):
    edges = sorted(edges)
    column = CutColumn("x", tuple(edges), tuple(values[: len(edges) - 1]))
    distances = [
        abs(low + (high - low) * at / 20 - value)
        for low, high, value in zip(edges, edges[1:], column.values, strict=False)
    ]
    ends = [
        abs(end - value)
        for low, high, value in zip(edges, edges[1:], column.values, strict=False)
        for end in (low, high)
    ]
    assert max(distances) <= column.error == max(ends)


# --- what lies in the cells ----------------------------------------------------------------------


@settings(max_examples=20)
@given(st.lists(st.integers(-60, 60), min_size=1, max_size=25), st.integers(1, 12))
def test_the_error_of_cells_found_for_listed_values_survives_a_file(values, error):
    best = optimal_quantizer(None, values, Fraction(error, 2), "leakage")
    column = CutColumn.cut("x", best)
    (again,) = PolicyDocument.from_toml(PolicyDocument((column,)).to_toml()).columns
    assert again == column
    assert again.error == best.error <= Fraction(error, 2)
    furthest = max(abs(again.quantizer.release(value) - value) for value in values)
    assert furthest == again.error


def test_spans_are_written_only_where_they_say_something():
    whole = CutColumn.cut("x", CutQuantizer((0, 1, 10)))
    assert whole.spans == ()
    assert "spans" not in PolicyDocument((whole,)).to_toml()
    best = optimal_quantizer(None, [0, 1, 4, 5, 6, 7], 2, "leakage")
    text = PolicyDocument((CutColumn.cut("x", best),)).to_toml()
    assert 'spans = [["0", "4"], ["5", "7"]]' in text


@pytest.mark.parametrize(
    ("spans", "words"),
    [
        ('[["0", "4"]]', "releases 2 numbers"),
        ('[["0", "4"], ["5"]]', "has not two ends"),
        ('[["0", "4"], ["3", "7"]]', "lies outside the edges"),
        ('[["0", "4"], ["7", "5"]]', "is empty"),
        ('["0", "4"]', "'spans' is not a list"),
        ('"0"', "'spans' is not a list"),
    ],
)
def test_spans_that_make_no_sense_are_refused(spans, words):
    text = 'name = "x"\nkind = "cuts"\nedges = ["0", "4.5", "7"]\nvalues = ["2", "6"]\nspans = '
    with pytest.raises(InputError, match=words):
        PolicyDocument.from_toml(f"format = 1\n[[columns]]\n{text}{spans}")


# --- what is quantized ---------------------------------------------------------------------------


def test_a_column_without_a_query_is_the_one_of_the_table():
    column = QuantizedColumn("height", CELLS)
    assert column.query is None
    assert KeptColumn("height").query is None
    assert column.to_rule() == UniformCells("height", 100, 250, 150)
    assert "of" not in column.to_fields()


@pytest.mark.parametrize("cells", [CELLS, CutQuantizer((0, 1, 10))], ids=["equal", "cuts"])
def test_a_query_survives_a_file_as_it_is_written(cells):
    make = QuantizedColumn if cells is CELLS else CutColumn.cut
    for text in ("mean(height)", " total( height )", "x1**2  + 2*x2**2"):
        policy = PolicyDocument((make("answer", cells, text),))
        assert PolicyDocument.from_toml(policy.to_toml()) == policy
        assert policy.columns[0].of == text


def test_an_expression_is_computed_and_then_put_into_cells():
    cells = UniformQuantizer(0, 12, 12)
    rule = QuantizedColumn("q", cells, of="x1**2 + 2*x2**2").to_rule()
    tree = parse_expression("x1**2 + 2*x2**2").to_tree()
    assert rule == Quantized("q", tree, UniformCells("q", 0, 12, 12))
    cut = CutColumn("q", (Fraction(0), Fraction(12)), (Fraction(6),), of="x1").to_rule()
    assert cut == Quantized("q", ("var", "x1"), CutCells("q", (0, 12), (6.0,)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("mean(height)", Aggregate("mean", "height")),
        ("  total ( Blood pressure ) ", Aggregate("total", "Blood pressure")),
        ("mean(a, b)", parse_expression("(a + b)/2")),
        ("height", parse_expression("height")),
    ],
)
def test_a_query_is_an_aggregate_of_one_column_or_an_expression(text, found):
    assert parse_query(text) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mean(height) + 1", "uses the mean of a column as a part"),
        ("2*total(x)", "uses the total of a column as a part"),
        ("sum(x)", "uses the total of a column as a part"),
        ("mean(x**2)", "uses the mean of a column as a part"),
        ("mean(mean(x))", "uses the mean of a column as a part"),
        ("mean(3)", "uses the mean of a column as a part"),
        ("mean()", "in an unsupported way"),
        ("median(x)", "in an unsupported way"),
        ("x +", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_a_query_that_would_mean_something_else_row_by_row_is_refused(text, words):
    with pytest.raises(OptionError, match=words):
        QuantizedColumn("q", CELLS, of=text)


def test_no_engine_sees_a_function_that_others_would_not_compute_alike():
    rule = QuantizedColumn("q", CELLS, of="log(x) + exp(y)").to_rule()
    assert not {"log", "exp"} & set(re.findall(r"\w+", repr(rule.tree)))
    with pytest.raises(OptionError, match="'of' is not text"):
        QuantizedColumn.read("q", "0", "1", 2, of=3)


# --- documents ----------------------------------------------------------------------------------


def test_answers_for_all_and_rows_for_each_are_not_mixed():
    mean = QuantizedColumn("size", CELLS, of="mean(height)")
    assert PolicyDocument((mean,)).aggregates == (Aggregate("mean", "height"),)
    with pytest.raises(InputError, match=r"releases mean\(height\) .* beside 'sex' of every row"):
        PolicyDocument((mean, KeptColumn("sex")))


def test_ranges_are_those_of_the_tables_columns_and_not_of_answers():
    design = {"columns": {"x": ["0", "2"], "height": ["0", "300"], "z": [1, "2.5"]}}
    columns = (
        QuantizedColumn("height", CELLS),
        QuantizedColumn("square", UniformQuantizer(0, 4, 4), of="x*x"),
        LineColumn.read("stretch", "w", line="z", reach="1", low="0", high="9"),
    )
    assert PolicyDocument(columns, design=design).ranges == {
        "x": (0, 2),
        "height": (100, 250),
        "z": (1, Fraction(5, 2)),
        "w": (0, 9),
    }


@pytest.mark.parametrize(
    "listed", [3, {"x": "0"}, {"x": ["0"]}, {"x": ["2", "0"]}, {"x": ["a", 1]}]
)
def test_declared_ranges_that_make_no_sense_are_refused_when_needed(listed):
    policy = PolicyDocument((KeptColumn("sex"),), design={"columns": listed})
    with pytest.raises(InputError):
        _ = policy.ranges


def test_a_design_may_hold_tables_and_long_ones_become_sections():
    design = {
        "columns": {"height": ("100", "250"), "Blood pressure": ["60", "200"]},
        "weights": {f"column {k}": f"{k}" for k in range(30)},
        "nested": {"a": {"b": [1, {"c": True}]}, "empty": {}},
    }
    policy = PolicyDocument((KeptColumn("sex"),), design=design)
    text = policy.to_toml()
    assert 'columns = {height = ["100", "250"], "Blood pressure" = ["60", "200"]}' in text
    assert "[design.weights]" in text
    assert max(map(len, text.splitlines())) <= 100
    again = PolicyDocument.from_toml(text)
    assert again == policy
    assert again.digest == policy.digest
    assert again.design["columns"]["height"] == ["100", "250"]


@pytest.mark.parametrize("strange", ["[]", "{a = 1}", '["a"]', "0.5", "[[1]]"])
@pytest.mark.parametrize("field", ["other", "labels"])
def test_labels_that_are_no_plain_values_are_refused_in_a_sentence(strange, field):
    fields = {"labels": '["F", "M"]', "groups": '[["F"], ["M"]]', "other": '"X"'}
    fields[field] = strange if field == "other" else f'["F", {strange}]'
    lines = [f"{name} = {value}" for name, value in fields.items()]
    text = "\n".join(["format = 1", "[[columns]]", 'name = "sex"', 'kind = "merging"', *lines])
    with pytest.raises(InputError, match="are not all text"):
        PolicyDocument.from_toml(text)


# --- columns with a declared step: their values are counted, and what is exact says so ------------


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


BITS = st.sampled_from([0, "0.7", 1, "1.6", 2, "2.5", 3, "3.7", 4, 5])
PLAIN = st.fractions(0, 20, max_denominator=4).map(lambda length: {"range": (0, length)})
STEPPED = st.tuples(st.integers(0, 9), st.sampled_from(["0.5", 1, "3/2"])).map(
    lambda drawn: {"range": (0, drawn[0]), "step": drawn[1]}
)
COLUMNS = st.lists(PLAIN | STEPPED, min_size=1, max_size=3)
WEIGHTS = st.lists(st.fractions(Fraction(1, 3), 5, max_denominator=3), min_size=3, max_size=3)


def error_of(column, levels):
    """Return the least error of so many cells: over points by trying all lengths of runs."""
    length = Fraction(column["range"][1])
    if "step" not in column:
        return length / (2 * levels)
    step = Fraction(column["step"])
    points = [k * step for k in range(math.floor(length / step) + 1)]
    run = next(run for run in range(1, len(points) + 1) if math.ceil(len(points) / run) <= levels)
    return (points[run - 1] - points[0]) / 2


def all_levels(columns, limit):
    """Yield all levels whose product stays within a limit."""
    if not columns:
        yield ()
        return
    for levels in range(1, limit + 1):
        for rest in all_levels(columns[1:], limit // levels):
            yield (levels, *rest)


def weighted_errors(columns, weights, levels):
    chosen = zip(columns, weights, levels, strict=True)
    return [weight * error_of(column, q) for column, weight, q in chosen]


def share(columns, weights, bits, objective):
    names = [f"c{i}" for i in range(len(columns))]
    return allocate_bits(
        dict(zip(names, columns, strict=True)),
        bits,
        weights=dict(zip(names, weights, strict=True)),
        objective=objective,
    )


@pytest.mark.slow
@given(columns=COLUMNS, weights=WEIGHTS, bits=BITS)
@example(columns=[{"range": (0, 1)}] * 3, weights=[Fraction(1)] * 3, bits=5)
@settings(max_examples=150, deadline=None)
def test_no_levels_have_a_smaller_largest_error(columns, weights, bits):
    weights = weights[: len(columns)]
    allocation = share(columns, weights, bits, "largest")
    limit = math.floor(2 ** float(bits))
    assert allocation.value == min(
        max(weighted_errors(columns, weights, levels)) for levels in all_levels(columns, limit)
    )
    errors = weighted_errors(columns, weights, allocation.levels.values())
    assert max(errors) == allocation.value
    assert allocation.outputs <= limit


@pytest.mark.slow
@given(columns=COLUMNS, weights=WEIGHTS, bits=BITS)
@settings(max_examples=150, deadline=None)
def test_no_levels_have_a_smaller_mean_error(columns, weights, bits):
    weights = weights[: len(columns)]
    allocation = share(columns, weights, bits, "mean")
    limit = math.floor(2 ** float(bits))
    least = min(
        sum(weighted_errors(columns, weights, levels)) for levels in all_levels(columns, limit)
    )
    assert allocation.value == least / sum(weights)
    assert sum(weighted_errors(columns, weights, allocation.levels.values())) == least
    assert allocation.outputs <= limit


@pytest.mark.slow
@given(columns=COLUMNS, weights=WEIGHTS, bits=BITS)
@settings(max_examples=100, deadline=None)
def test_what_the_largest_error_leaves_is_used_up(columns, weights, bits):
    weights = weights[: len(columns)]
    allocation = share(columns, weights, bits, "largest")
    levels = list(allocation.levels.values())
    limit = math.floor(2 ** float(bits))
    for i, column in enumerate(columns):
        room = limit // (allocation.outputs // levels[i])
        assert error_of(column, room) == error_of(column, levels[i])


@given(
    lengths=st.lists(st.sampled_from([2, 3, 5, 7, 11, 13]), min_size=2, max_size=3, unique=True),
    bits=BITS,
)
@settings(max_examples=60, deadline=None)
def test_the_next_largest_error_is_least_too(lengths, bits):
    # Ranges in prime proportions: no two columns can have the same error, except of prime levels.
    columns = [{"range": (0, length)} for length in lengths]
    weights = [Fraction(1), Fraction(101, 100), Fraction(103, 100)][: len(columns)]
    allocation = share(columns, weights, bits, "largest")
    limit = math.floor(2 ** float(bits))
    best = min(
        sorted(weighted_errors(columns, weights, levels), reverse=True)
        for levels in all_levels(columns, limit)
    )
    found = weighted_errors(columns, weights, allocation.levels.values())
    assert sorted(found, reverse=True) == best


def test_the_mean_of_many_columns_is_no_worse_than_any_neighbour():
    ranges = [97, 211, 34, 560, 18, 77, 140, 402]
    columns = {f"c{i}": (0, length) for i, length in enumerate(ranges)}
    allocation = allocate_bits(columns, 40, objective="mean")
    assert allocation.outputs <= 2**40
    levels = list(allocation.levels.values())
    total = sum(Fraction(length, 2 * q) for length, q in zip(ranges, levels, strict=True))
    assert allocation.value == total / len(ranges)
    for moves in product((-2, -1, 0, 1, 2), repeat=4):
        other = [q + move for q, move in zip(levels[:4], moves, strict=True)] + levels[4:]
        if min(other) >= 1 and math.prod(other) <= 2**40:
            assert total <= sum(
                Fraction(length, 2 * q) for length, q in zip(ranges, other, strict=True)
            )
    largest = allocate_bits(columns, 40)
    assert largest.value <= max(allocation.errors.values())


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["largest", "mean"])
@given(columns=COLUMNS, bits=BITS)
@settings(max_examples=60, deadline=None)
def test_the_quantizers_have_the_errors_and_the_levels_that_were_promised(objective, columns, bits):
    allocation = share(columns, [Fraction(1)] * len(columns), bits, objective)
    for name, column in zip(allocation.levels, columns, strict=True):
        quantizer = allocation.quantizer(name)
        assert isinstance(quantizer, CutQuantizer if "step" in column else UniformQuantizer)
        assert quantizer.levels <= allocation.levels[name]
        assert quantizer.error == allocation.errors[name]
        if "step" in column:
            step = Fraction(column["step"])
            points = [k * step for k in range(math.floor(column["range"][1] / step) + 1)]
            off = [abs(quantizer.release(point) - point) for point in points]
            assert max(off) == quantizer.error


def test_points_are_released_as_they_are_where_the_budget_allows():
    allocation = allocate_bits(
        {"age": {"range": (0, 3), "step": 1}, "sex": {"range": (0, 1), "step": 1}}, 3
    )
    assert dict(allocation.levels) == {"age": 4, "sex": 2}
    assert (allocation.value, allocation.bits_used, allocation.bits_left) == (0, 3.0, 0.0)
    assert allocation.quantizer("age").released == (0, 1, 2, 3)


def test_no_bits_tell_nothing():
    allocation = allocate_bits({"age": (0, 120), "height": (100, 250)}, 0)
    assert allocation.constant == ("age", "height")
    assert dict(allocation.errors) == {"age": 60, "height": 75}
    assert allocation.bits_used == 0


def test_a_weight_makes_a_column_finer():
    plain = allocate_bits({"a": (0, 1), "b": (0, 1)}, 6)
    weighted = allocate_bits({"a": (0, 1), "b": (0, 1)}, 6, weights={"a": 4})
    assert dict(plain.levels) == {"a": 8, "b": 8}
    assert dict(weighted.levels) == {"a": 16, "b": 4}


@pytest.mark.slow
def test_many_bits_are_no_trouble():
    allocation = allocate_bits({"a": (0, 1), "b": (0, 3)}, 200)
    assert allocation.outputs <= 2**200
    assert allocation.bits_left < 1e-9
    huge = allocate_bits({"a": (0, 1), "b": (0, 3)}, 60, objective="mean")
    assert huge.outputs <= 2**60
    assert huge.bits_left < 1e-6
    assert allocate_bits({"a": (0, 1)}, 900, objective="mean").levels == {"a": 2**900}


def test_an_interval_may_be_given_as_one():
    assert allocate_bits({"a": Interval(0, 8)}, 2).errors == {"a": 1}


@pytest.mark.parametrize(
    ("problem", "arguments", "options"),
    [
        (OptionError, ({}, 3), {}),
        (OptionError, ({"a": (0, 1)}, -1), {}),
        (OptionError, ({"a": (0, 1)}, "many"), {}),
        (OptionError, ({"a": (0, 1)}, 3), {"objective": "least"}),
        (OptionError, ({"a": (0, 1)}, 3), {"weights": {"a": 0}}),
        (ColumnError, ({"a": (0, 1)}, 3), {"weights": {"b": 1}}),
        (OptionError, ({"a": (1, 0)}, 3), {}),
        (OptionError, ({"a": 5}, 3), {}),
        (ColumnError, ({"a": {"values": [1]}}, 3), {}),
        (ColumnError, ({"a": {"range": (0, 1), "stop": 1}}, 3), {}),
        (OptionError, ({"a": {"range": (0, 1), "step": 0}}, 3), {}),
        (OptionError, ({"a": (0, 1), "b": (0, 1), "c": (0, 1)}, 300), {"objective": "mean"}),
        (OptionError, ({"a": (0, 1), "b": (0, 1)}, 2000), {"objective": "mean"}),
    ],
)
def test_what_makes_no_sense_is_refused(problem, arguments, options):
    with pytest.raises(HartleyError, match="; hint: ") as caught:
        allocate_bits(*arguments, **options)
    assert isinstance(caught.value, problem)


def test_an_unknown_column_has_no_quantizer():
    with pytest.raises(ColumnError, match="no column 'b'"):
        allocate_bits({"a": (0, 1)}, 1).quantizer("b")
