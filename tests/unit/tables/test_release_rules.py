"""Formulas, labels and steps against plain Python, on the embedded engine."""

import math
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley import open_table
from hartley.engines.cells import UniformCells
from hartley.errors import ColumnError, OptionError
from hartley.tables import release_rules as steps
from hartley.tables.column_map import apply_map
from hartley.tables.release_rules import (
    Formula,
    Lookup,
    count_at_ends,
    least_distance,
    lie_on_lattice,
    look_for_step,
)

# --- Formulas against plain Python, in the order written, on the embedded engine ------------------


def bits(values):
    return [None if value is None else struct.pack(">d", value).hex() for value in values]


def doubles(values):
    return pa.array(values, pa.float64())


# --- the oracle ---------------------------------------------------------------------------------


class UndefinedError(Exception):
    pass


def oracle_formula(tree, record):
    operation, *parts = tree
    if operation == "const":
        return float(Fraction(parts[0]))
    if operation == "var":
        if record[parts[0]] is None:
            raise UndefinedError
        return record[parts[0]]
    if operation == "if":
        return oracle_formula(parts[1 if oracle_formula(parts[0], record) else 2], record)
    if operation == "pow":
        base = oracle_formula(parts[0], record)
        result = 1.0 if parts[1] == 0 else base
        for _ in range(parts[1] - 1):
            result *= base
        return result
    if operation == "and":
        known = [oracle_formula(part, record) for part in parts]  # all, as one may be undefined
        return all(known)
    values = [oracle_formula(part, record) for part in parts]
    if operation == "/" and values[1] == 0:
        raise UndefinedError
    if operation == "sqrt" and values[0] < 0:
        raise UndefinedError
    return {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "neg": lambda a: -a,
        "abs": abs,
        "sqrt": math.sqrt,
        "min": lambda a, b: a if a <= b else b,  # noqa: FURB136 - which zero it is matters
        "max": lambda a, b: a if a >= b else b,  # noqa: FURB136 - likewise
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
    }[operation](*values)


# --- formulas -----------------------------------------------------------------------------------

constants = st.sampled_from(["0", "1", "-1", "1/3", "0.1", "2.5", "1000", "-7/9"])
leaves = st.one_of(
    constants.map(lambda text: ("const", text)),
    st.sampled_from(["x", "y"]).map(lambda name: ("var", name)),
)


def branches(children):
    compared = st.tuples(st.sampled_from(["<", "<="]), children, children)
    condition = st.one_of(compared, st.tuples(st.just("and"), compared, compared))
    return st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/", "min", "max"]), children, children),
        st.tuples(st.sampled_from(["neg", "abs", "sqrt"]), children),
        st.tuples(st.just("pow"), children, st.integers(0, 5)),
        st.tuples(st.just("if"), condition, children, children),
    )


trees = st.recursive(leaves, branches, max_leaves=10)
numbers = st.one_of(
    st.floats(-1000, 1000), st.integers(-3, 3).map(float), st.sampled_from([-0.0, None, 1 / 3])
)


def oracle_result(tree, record):
    try:
        result = oracle_formula(tree, record)
    except UndefinedError:
        return None
    return result if math.isfinite(result) else None


def parts_of(tree):
    yield tree
    for part in tree[1:]:
        if isinstance(part, tuple):
            yield from parts_of(part)


def is_tame(tree, record):
    """Tell whether no part of a formula leaves the finite numbers, where comparisons differ."""
    for part in parts_of(tree):
        try:
            if not math.isfinite(oracle_formula(part, record)):
                return False
        except UndefinedError:
            continue
    return True


@pytest.mark.slow
@settings(max_examples=15)
@given(
    st.lists(trees, min_size=1, max_size=5),
    st.lists(st.tuples(numbers, numbers), min_size=1, max_size=15),
)
def test_formulas_are_ieee_arithmetic_in_the_order_written(released, listed, drawn):
    records = [{"x": x, "y": y} for x, y in drawn]
    columns = {name: doubles([record[name] for record in records]) for name in "xy"}
    columns |= {f"f{i}": doubles([0.0] * len(records)) for i in range(len(listed))}
    rules = [Formula(f"f{i}", tree, 0, 1) for i, tree in enumerate(listed)]
    ends = (-1000, 1000)
    found = released(rules, ranges={"x": ends, "y": ends}, **columns)
    for i, tree in enumerate(listed):
        for record, value in zip(records, found[f"f{i}"], strict=True):
            if is_tame(tree, record):
                assert bits([value]) == bits([oracle_result(tree, record)])


def test_a_formula_reads_columns_as_their_rules_clamp_them_and_withheld_ones_as_they_are(released):
    tree = ("+", ("var", "x"), ("+", ("var", "y"), ("var", "z")))
    columns = {"x": doubles([50.0]), "y": doubles([50.0]), "z": doubles([50.0])}
    found = released([Formula("x", tree, 0, 10), UniformCells("y", 0, 20, 1)], **columns)
    assert found == {"x": [80.0], "y": [10.0]}


def test_a_choice_with_something_missing_in_its_condition_is_undefined(released):
    chosen = ("if", ("and", ("<", ("var", "x"), ("var", "y")), ("<", ("var", "y"), ("const", "9"))))
    columns = {"x": doubles([1.0, None, 1.0, 5.0]), "y": doubles([2.0, 2.0, None, 2.0])}
    found = released([Formula("x", (*chosen, ("const", "7"), ("var", "x")), 0, 10)], **columns)
    assert found["x"] == [7.0, None, None, 5.0]
    found = released([Formula("x", (*chosen, ("const", "7"), ("const", "8")), 0, 10)], **columns)
    assert found["x"] == [7.0, None, None, 8.0]


def test_what_only_a_choice_needs_is_computed_where_it_is_chosen(released):
    half = ("/", ("const", "1"), ("var", "y"))
    tree = (
        "if",
        ("<", ("const", "0"), ("var", "x")),
        ("max", half, ("*", half, half)),
        ("var", "x"),
    )
    columns = {"x": doubles([1.0, 1.0, -1.0, 0.0]), "y": doubles([0.5, 0.0, 0.0, 4.0])}
    assert released([Formula("x", tree, -9, 9)], **columns)["x"] == [4.0, None, -1.0, 0.0]


def test_infinite_inputs_without_a_range_leave_a_formula_undefined(released):
    tree = ("-", ("var", "x"), ("-", ("var", "y"), ("var", "y")))
    columns = {"x": doubles([1.0] * 4), "y": doubles([2.0, math.inf, math.nan, None])}
    assert released([Formula("x", tree, 0, 10)], **columns)["x"] == [1.0, None, None, None]


def test_a_result_that_is_not_finite_is_undefined(released):
    tree = ("pow", ("var", "x"), 3)
    found = released([Formula("x", tree, 0, 2**660)], x=doubles([2.0, 1e150]))
    assert found["x"] == [8.0, None]


@pytest.mark.slow
def test_a_formula_that_uses_its_parts_very_often_stays_small(released):
    tree = ("var", "x")
    for _ in range(9):
        tree = ("max", ("pow", tree, 2), ("*", tree, ("const", "0.5")))
    found = released([Formula("x", tree, 0, 1)], x=doubles([0.5, 1.0]))
    record = [oracle_result(tree, {"x": value}) for value in (0.5, 1.0)]
    assert found["x"] == record


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (("exp", ("var", "x")), "uses exp, whose last digit differs"),
        (("+", ("var", "x"), ("log", ("var", "x"))), "uses log, whose last digit differs"),
        (("sin", ("var", "x")), "not known"),
        (("+", ("var", "x")), "not known"),
        (("pow", ("var", "x"), -1), "not known"),
        (("pow", ("var", "x"), 2.5), "not known"),
        (("if", ("var", "x"), ("var", "x"), ("var", "x")), "not known"),
        (("+", ("<", ("var", "x"), ("var", "x")), ("var", "x")), "not known"),
        (("and", ("var", "x"), ("var", "x")), "not known"),
        (("const", "one"), "is not a .*number"),
        (("const", "1e400"), "too large"),
        ("x", "not known"),
        ((), "not known"),
    ],
)
def test_a_formula_that_engines_would_not_execute_alike_is_refused(tree, words):
    with pytest.raises(OptionError, match=words) as refused:
        Formula("x", tree, 0, 1)
    assert "column 'x'" in str(refused.value)
    assert "; hint: " in str(refused.value)


# --- Labels of categories against a dictionary, on the embedded engine ----------------------------


WORDS = ["", " ", "a", "A", "ä", "Zürich", "日本", "😀", "it's", '"', "\\", "%", "NULL", "None"]


@pytest.mark.parametrize("other", [None, "rest"])
@pytest.mark.parametrize("size", [1, 5, 32, 33, 500])
def test_labels_of_text_are_those_of_a_dictionary(released, size, other):
    keys = (WORDS + [f"code {k}" for k in range(600)])[:size]
    labels = {key: f"label {k % 7}" for k, key in enumerate(keys)}
    values = [*keys, *reversed(keys), None]
    if other is not None:
        values += ["b", "a ", "ZÜRICH", "code 9999", "日"]
    found = released([Lookup("x", tuple(labels.items()), other)], x=pa.array(values))["x"]
    assert found == [None if value is None else labels.get(value, other) for value in values]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int16(), pa.float64()])
@pytest.mark.parametrize("size", [4, 200])
def test_labels_of_numbers_are_those_of_a_dictionary(released, kind, size):
    labels = {3 * k - 50: k % 5 for k in range(size)}
    values = [*range(-60, 60), None]
    found = released([Lookup("x", tuple(labels.items()), 99)], x=pa.array(values, kind))["x"]
    assert found == [None if value is None else labels.get(value, 99) for value in values]


WHOLE = [-(2**63), -61, -60, -59, 0, 39, 40, 41, 2**63 - 1, None]


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("other", [None, "rest"])
def test_integers_that_lie_close_together_have_their_labels_by_place(hold, step, other):
    labels = {key: f"{key % 7}" for key in range(-60, 41, step)}
    rule = Lookup("x", tuple(labels.items()), other)
    values = WHOLE if other else [value for value in WHOLE if value is None or value in labels]
    mapped = apply_map(hold(x=pa.array(values, pa.int64())), [rule])
    found = mapped.expression.to_pyarrow()["x"].to_pylist()
    assert found == [None if value is None else labels.get(value, other) for value in values]
    unknown = sum(value is not None and value not in labels for value in values)
    assert mapped.counts.columns[0].unknown == unknown
    assert mapped.counts.columns[0].missing == 1


def test_integers_without_a_sign_are_looked_up_too(released):
    labels = tuple((key, key % 5) for key in range(100))
    column = pa.array([0, 99, 100, 2**64 - 1, None], pa.uint64())
    assert released([Lookup("x", labels, 9)], x=column)["x"] == [0, 4, 9, 9, None]


def test_truth_values_have_labels_too(released):
    rule = Lookup("x", ((True, "yes"), (False, "no")))
    found = released([rule], x=pa.array([True, False, None]))["x"]
    assert found == ["yes", "no", None]


@pytest.mark.parametrize("keys", [range(50), range(0, 100, 2), range(0, 10**6, 10**4)])
def test_a_number_in_no_group_is_refused_however_it_is_looked_up(hold, keys):
    rule = Lookup("x", tuple((key, "a") for key in keys))
    column = pa.array([0, 4, 9_999_999], pa.int64())
    with pytest.raises(ColumnError, match=r"^\d values? of column 'x' (is|are) in no group"):
        _ = apply_map(hold(x=column), [rule]).counts


def test_a_value_in_no_group_is_refused_where_there_is_no_label_for_others():
    table = open_table({"job": ["nurse", "spy", "spy"]})
    mapped = apply_map(table, [Lookup("job", (("nurse", "health"),))])
    with pytest.raises(
        ColumnError, match=r"^2 values of column 'job' are in no group; hint: "
    ) as e:
        _ = mapped.counts
    assert "spy" not in str(e.value)


# --- Whether the numbers of a column lie on a step, found on the engine and exactly ---------------


def looked(values, low=0, high=200):
    return look_for_step(open_table(pa.table({"x": values})), "x", Fraction(low), Fraction(high))


def continuous(count, low=0.0, high=200.0, seed=7):
    return np.random.default_rng(seed).uniform(low, high, count).tolist()


@pytest.mark.slow
@given(
    decimals=st.integers(0, 9),
    steps=st.lists(st.integers(1, 199), min_size=3, max_size=40, unique=True),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_decimals_of_any_length_are_found_whatever_their_number(decimals, steps, data):
    tails = [data.draw(st.integers(0, 10**decimals - 1)) for _ in steps]
    values = [
        float(Decimal(step) + Decimal(tail).scaleb(-decimals))
        for step, tail in zip(steps, tails, strict=True)
    ]
    evidence = looked(values)
    assert (evidence.inside, evidence.rounded) == (len(values), len(values))
    assert evidence.shows_step


@pytest.mark.parametrize(
    "values",
    [
        list(range(60, 90)),
        [k * 0.5 for k in range(100, 150)],
        [k / 1024 for k in range(1000, 1100)],
        pa.array([k + 0.3 for k in range(60, 90)], pa.float32()),
        pa.array([Decimal("70.125")] * 3 + [Decimal("71.5")] * 3),
        # Pounds in kilograms: the last digits are noise, but every weight occurs again.
        [pounds * 0.45359237 for pounds in range(100, 200)] * 3,
        # Seven thirds and the like are no decimals either.
        [k / 3 for k in range(100, 160)] * 2,
        # Nothing but that they occur again shows a step like this one.
        [k * math.sqrt(3) for k in range(20, 100)] + [50 * math.sqrt(3)],
    ],
    ids=["whole", "halves", "binary", "float32", "decimal", "pounds", "thirds", "irrational"],
)
def test_other_steps_are_found_too(values):
    assert looked(values).shows_step


@pytest.mark.parametrize("high", [1, 9, 99, 200, 999, 10**6, 10**17])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_as_fine_as_doubles_show_no_step(high, seed):
    evidence = looked(continuous(2000, high=float(high), seed=seed), high=high)
    assert not evidence.shows_step
    assert evidence.rounded < 0.04 * evidence.inside


def test_a_tenth_of_rounded_values_is_enough_and_a_few_are_not():
    fine = continuous(900)
    assert not looked(fine + [70.5 + k for k in range(9)]).shows_step
    assert looked(fine + [70.5 + k / 10 for k in range(101)]).shows_step


def test_what_is_missing_clamped_or_at_the_ends_does_not_count():
    fine = continuous(50)
    evidence = looked([*fine, None, math.nan, 0.0, 0.0, 200.0, 200.0, 999.0, 999.0, math.inf])
    assert (evidence.inside, evidence.repeated) == (50, 0)
    assert not evidence.shows_step
    assert not looked([0.0, 200.0, None]).shows_step  # nothing inside, nothing to see


def test_the_smallest_distance_is_between_different_values():
    ends = Fraction(0), Fraction(200)
    column = [199.5, 60.0, 66.0, 60.0, 62.5, None, math.nan, 200.0, 300.0]
    assert least_distance(open_table({"x": column}), "x", *ends) == 2.5
    assert least_distance(open_table({"x": [60.0, 60.0]}), "x", *ends) is None


def test_small_and_negative_ranges_are_scaled():
    assert look_for_step(
        open_table({"x": [-0.003, -0.001, 0.002]}), "x", Fraction(-1, 100), Fraction(1, 100)
    ).shows_step
    fine = continuous(500, low=-1e-5, high=1e-5)
    assert not look_for_step(
        open_table({"x": fine}), "x", Fraction(-1, 10**5), Fraction(1, 10**5)
    ).shows_step


# --- steps that neither digits nor repetitions show ----------------------------------------------


def on_lattice(values, low=0, high=200):
    return lie_on_lattice(open_table({"x": values}), "x", Fraction(low), Fraction(high))


@pytest.mark.parametrize("step", [1 / 2.2046226218, 1 / 13, math.sqrt(3) / 10, 0.001 * math.pi])
@pytest.mark.parametrize("count", [20, 150])
def test_different_values_on_any_step_are_found(step, count):
    most = int(190 / step) if count == 150 else 200
    places = np.random.default_rng(3).choice(np.arange(1, most), count, replace=False)
    assert on_lattice([float(place) * step for place in places])


@pytest.mark.parametrize("count", [1, 2, 3, 6, 40, 3000])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_without_a_step_lie_on_no_lattice(count, seed):
    assert not on_lattice(continuous(count, seed=seed))


@pytest.mark.parametrize("first_rows", [1, 7, 40])
def test_looking_at_the_first_rows_first_changes_no_verdict(first_rows, monkeypatch):
    lattice = [k / 13 for k in (5, 9, 40, 41, 77, 300, 301, 512)]
    columns = {
        "all on a step": lattice,
        "close numbers come last": [*lattice[:4], 9.1, 9.1 + 1e-5, 17.3, 17.3 + 1e-7],
        "close numbers come first": [9.1, 9.1 + 1e-7, *lattice],
        "equal numbers come first": [lattice[0]] * 30 + lattice,
        "three numbers": lattice[:3],
    }
    looked_at = {name: on_lattice(column) for name, column in columns.items()}
    assert [name for name, found in looked_at.items() if found] == [
        "all on a step",
        "equal numbers come first",
    ]
    monkeypatch.setattr(steps, "FIRST_ROWS", first_rows)
    assert {name: on_lattice(column) for name, column in columns.items()} == looked_at


def test_values_at_and_beyond_the_ends_are_counted_and_missing_ones_are_not():
    column = [0.0, -1.0, 0.1, 199.9, 200.0, math.inf, None, math.nan]
    ends = Fraction(0), Fraction(200)
    assert count_at_ends(open_table({"x": column}), "x", *ends) == (2, 2)
    assert count_at_ends(open_table({"x": [None, 1.5]}), "x", *ends) == (0, 0)
