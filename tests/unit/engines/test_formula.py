"""Formulas against plain Python, in the order written, on the embedded engine."""

import math
import struct
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley.engines.cells import UniformCells
from hartley.errors import OptionError
from hartley.tables.release_rules import Formula


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
