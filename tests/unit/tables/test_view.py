"""Columns are cleaned, binned and profiled; conditions are evaluated as written."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import open_table
from hartley.engines.table import Kind
from hartley.errors import EngineError, OptionError
from hartley.tables.view import (
    LARGEST_BIN,
    ViewColumn,
    bin_numbers,
    evaluate_condition,
    prepare,
    run,
)

# --- Columns are cleaned, binned and profiled as the conventions say ------------------------------


STEPS = [
    Fraction(step) for step in ("1", "10", "0.1", "2.5", "0.3", "1/3", "7/11", "0.001", "1000")
]


def edge(number: int, step: Fraction) -> float:
    return float(number * step)


def exact_bin(value: float, step: Fraction) -> int:
    """Return the bin by the rule itself, in exact numbers."""
    number = math.floor(Fraction(value) / step)
    candidates = [k for k in range(number - 2, number + 3) if edge(k, step) <= value]
    return max(k for k in candidates if value < edge(k + 1, step))


steps = st.one_of(
    st.sampled_from(STEPS),
    st.builds(Fraction, st.integers(1, 10**6), st.integers(1, 10**6)),
)


def near_edges(step: Fraction, reach: int) -> tuple[list[float], list[int]]:
    """Return numbers on, right below and right above edges, and the bins that they lie in."""
    values, bins = [], []
    for number in range(-reach, reach):
        value = edge(number, step)
        below, above = math.nextafter(value, -math.inf), math.nextafter(value, math.inf)
        values += [below, value, above]
        bins += [number - 1, number, number]
    return values, bins


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_numbers_on_and_beside_edges_lie_in_the_bin_of_the_rule(step):
    values, bins = near_edges(step, 3000)
    assert bin_numbers(values, step).tolist() == bins


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_engine_bins_numbers_on_and_beside_edges_by_the_same_rule(step):
    values, bins = near_edges(step, 3000)
    view = prepare(open_table({"x": values}), ["x"], steps=[step])
    assert view.expression.c0.to_pyarrow().to_pylist() == bins


@given(steps, st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_any_numbers_lie_in_the_bin_of_the_rule(step, values):
    assert bin_numbers(values, step).tolist() == [exact_bin(value, step) for value in values]


def test_the_largest_bins_that_are_allowed_are_exact():
    step = Fraction(1, 3)
    high = LARGEST_BIN // 3
    values = [float(high - k) + part / 3 for k in range(4, 40) for part in range(3)]
    view = prepare(open_table({"x": values}), ["x"], steps=[step])
    assert view.expression.c0.to_pyarrow().to_pylist() == [exact_bin(v, step) for v in values]
    with pytest.raises(OptionError, match="too fine"):
        prepare(open_table({"x": [float(high + 1)]}), ["x"], steps=[step])


@given(steps, st.integers(-(10**6), 10**6))
def test_the_midpoint_is_the_double_nearest_to_the_middle_of_the_bin(step, number):
    column = ViewColumn("x", Kind.REAL, step, low=0, high=1, missing=0)
    assert column.midpoint(number) == float((number + Fraction(1, 2)) * step)


def test_a_number_without_a_step_stands_for_itself():
    (column,) = prepare(open_table({"x": [3, 5]}), ["x"]).columns
    assert column.midpoint(4) == 4


@pytest.mark.parametrize(
    ("missing", "rows", "dropped", "kept"),
    [
        ("drop", 2, 3, [1.5, -2.0]),
        ("value", 5, 0, [1.5, None, None, -2.0, 7.0]),
        ("released", 3, 2, [1.5, -2.0, 7.0]),
    ],
)
def test_nan_and_nothing_are_missing_alike(missing, rows, dropped, kept):
    table = open_table({"x": [1.5, math.nan, None, -2.0, 7.0], "y": ["a", "b", "c", "d", None]})
    view = prepare(table, ["x", "y"], missing=missing, secrets=1)
    assert (view.rows, view.dropped) == (rows, dropped)
    assert view.expression.c0.to_pyarrow().to_pylist() == kept
    assert [column.missing for column in view.columns] == [2, 1]
    assert (view.columns[0].low, view.columns[0].high) == (-2.0, 7.0)
    kinds = {"drop": [False, False], "value": [True, True], "released": [False, True]}
    assert [column.holes for column in view.columns] == kinds[missing]
    left_out = {"drop": "3 rows in which x or y is missing are left out.", "value": ""}
    assert view.left_out_sentence == left_out.get(
        missing, "2 rows in which x is missing are left out."
    )


def test_a_missing_number_lies_in_no_bin():
    table = open_table({"x": [1.5, math.nan, None]})
    view = prepare(table, ["x"], steps=[Fraction(1)], missing="value")
    assert view.expression.c0.to_pyarrow().to_pylist() == [1, None, None]


def test_integers_and_reals_share_their_bins():
    table = open_table({"whole": [-1, 0, 9, 10], "real": [-1.0, 0.0, 9.0, 10.0]})
    view = prepare(table, ["whole", "real"], steps=[Fraction(5, 2), Fraction(5, 2)])
    whole, real = view.expression.to_pyarrow().columns
    assert whole.to_pylist() == real.to_pylist() == [-1, 0, 3, 4]


def test_what_an_engine_says_is_never_repeated(refused):
    def fail() -> None:
        raise ValueError("Could not convert string 'SECRET-7741' to 987654321")

    table = open_table({"x": [1]})
    with refused(EngineError, "duckdb", "the dict"):
        run(table, fail)


def test_our_own_errors_pass_through_unchanged():
    error = OptionError("A problem", hint="a hint")

    def fail() -> None:
        raise error

    with pytest.raises(OptionError) as caught:
        run(open_table({"x": [1]}), fail)
    assert caught.value is error


def test_numpy_numbers_are_binned_like_python_ones():
    values = np.array([0.3, 0.7, -0.1])
    assert bin_numbers(values, Fraction(1, 10)).dtype == np.int64
    assert bin_numbers(values, Fraction(1, 10)).tolist() == [3, 7, -1]


# --- A condition is evaluated as written, and nothing beyond the allow-list ever runs -------------


COLUMNS = {
    "age": [39, 41, None, 60],
    "sex": ["F", "M", "F", None],
    "height": [1.5, None, 1.75, 2.0],
    "born": [dt.date(1980, 1, 1), dt.date(1990, 1, 1), None, dt.date(2000, 1, 1)],
    "member": [True, False, True, None],
    "Blood pressure": [80, 90, 100, 110],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age >= 41", "0101"),
        ("age > 41", "0001"),
        ("age < 41", "1000"),
        ("age <= 39", "1000"),
        ("age = 41", "0100"),
        ("age == 41", "0100"),
        ("age != 41", "1001"),
        ("age <> 41", "1001"),
        ("not age > 40", "1000"),
        ("age between 40 and 60", "0101"),
        ("age in (39, 60)", "1001"),
        ("age not in (39, 60)", "0100"),
        ("age is null", "0010"),
        ("age is not null", "1101"),
        ("sex = 'F' and age < 40", "1000"),
        ("sex = 'M' or age > 50", "0101"),
        ("(sex = 'M' or sex = 'F') and height > 1.6", "0010"),
        ("sex like 'F%'", "1010"),
        ("member", "1010"),
        ("member = false", "0100"),
        ("age % 2 = 1", "1100"),
        ("age + 2 * 3 - 1 > 60", "0001"),
        ("-age < -50", "0001"),
        ("abs(age - 50) < 11", "0101"),
        ("age / 2 > 20", "0101"),
        ("age ** 2 = 3600", "0001"),
        ("born < '1985-01-01'", "1000"),
        ('"Blood pressure" >= 100', "0011"),
        ("age > height * 20", "1001"),
        ("true", "1111"),
    ],
)
def test_a_condition_holds_where_it_says(text, expected):
    truth = evaluate_condition(text, COLUMNS)
    assert truth.dtype == bool
    assert "".join(str(int(holds)) for holds in truth) == expected


@pytest.mark.slow
@settings(max_examples=10)  # each opens two engines
@given(st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=1), st.integers(-9, 9))
def test_a_missing_value_makes_a_condition_and_its_negation_false(values, bound):
    values = [*values, 0]  # a column of nothing has no type
    holds = evaluate_condition(f"x >= {bound}", {"x": values}).tolist()
    fails = evaluate_condition(f"not (x >= {bound})", {"x": values}).tolist()
    assert holds == [value is not None and value >= bound for value in values]
    assert fails == [value is not None and value < bound for value in values]


def test_rows_keep_their_order_however_many_there_are():
    values = list(range(300_000))
    truth = evaluate_condition("x % 3 = 0", {"x": values})
    assert truth.tolist() == [value % 3 == 0 for value in values]


@pytest.mark.parametrize(
    "text",
    [
        "read_csv('/etc/passwd') = 1",
        "age > random()",
        "lower(sex) = 'f'",
        "getenv('HOME') = 'x'",
        "foo(age) > 1",
        "age in (select 1)",
        "(select 1) = 1",
        "exists(select 1)",
        "age = all(select 1)",
        "select 1",
        "select * from hartley_source",
        "age > 40; drop table hartley_source",
        "drop table hartley_source",
        "copy hartley_source to '/tmp/x'",
        "age::int > 3",
        "cast(age as int) > 3",
        "case when age > 1 then true end",
        "sum(age) > 1",
        "count(*) > 1",
        "row_number() over () = 1",
        "sex ~ '.*'",
        "sex || 'x' = 'Fx'",
        "age > ?",
        "age > $1",
        "current_date > '2020-01-01'",
        "*",
        "age > 40 limit 1",
        "pragma database_list",
        "attach '/tmp/x'",
        "age -> 'x'",
    ],
)
def test_whatever_is_not_allowed_is_refused_before_it_runs(text, refused, monkeypatch):
    def opened(*_: object) -> None:
        pytest.fail("the condition reached the engine")

    monkeypatch.setattr("hartley.tables.opening.open_table", opened)
    with refused(OptionError, "condition"):
        evaluate_condition(text, COLUMNS)


@pytest.mark.parametrize("text", ["", " ", "age >=", "age > > 3", "(age > 3", "'", "and", ";"])
def test_what_is_no_condition_is_refused(text, refused):
    with refused(OptionError, "condition"):
        evaluate_condition(text, COLUMNS)


@pytest.mark.parametrize("name", ["salary", "AGE", "hartley_source", "rowid", '"1"'])
def test_a_column_of_another_table_is_refused_by_name(name, refused):
    with refused(OptionError, name.strip('"'), "age, sex, height"):
        evaluate_condition(f"{name} > 3", COLUMNS)


def test_a_refusal_of_several_lines_is_still_one_line(refused):
    with refused(OptionError, "condition"):
        evaluate_condition("age >= 40\nand foo(age) > 1", COLUMNS)


@pytest.mark.parametrize("text", ["sex > 3", "sex + 1 = 2", "'abc'", "born > 5", "other.age > 3"])
def test_types_that_do_not_fit_are_refused_without_a_value(text, refused):
    columns = COLUMNS | {"sex": ["SECRET-7741"] * 4}
    with refused(OptionError, "condition"):
        evaluate_condition(text, columns)
