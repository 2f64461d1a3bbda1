"""Columns of a policy: how far off they can be, and what they quantize."""

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley.boxes.expression import parse_expression
from hartley.engines.cells import CutCells, UniformCells
from hartley.errors import InputError, OptionError
from hartley.policies import CutColumn, KeptColumn, LineColumn, QuantizedColumn
from hartley.policies.document import PolicyDocument
from hartley.policies.optimal import CutQuantizer, optimal_quantizer
from hartley.policies.quantizer import Aggregate, UniformQuantizer, parse_query
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
