"""A condition is evaluated as written, and nothing beyond the allow-list ever runs."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import OptionError
from hartley.tables.view import evaluate_condition

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
