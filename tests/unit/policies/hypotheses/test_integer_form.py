"""Sides decided in whole numbers: the same as in rationals, on every record."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import OptionError
from hartley.policies.hypotheses.hypothesis import Hypothesis, LatticeColumn
from hartley.policies.hypotheses.sides import IntegerForm

COLUMNS = {"x": LatticeColumn("-1.2", "1.3", "0.5"), "y": LatticeColumn("1/3", 3, "1/6")}


def expressions():
    leaves = st.sampled_from(["x", "y", "2", "0.3", "(-7/4)", "(x - y)", "(y + 1)"])

    def grow(inner):
        return st.one_of(
            st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({' '.join(t)})"),
            inner.map(lambda e: f"{e}/(y + 2)"),
            inner.map(lambda e: f"({e} / (0 - y))"),
            inner.map(lambda e: f"(-{e})"),
            inner.map(lambda e: f"abs({e})"),
            inner.map(lambda e: f"({e})**3"),
            st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
                lambda t: f"{t[0]}({t[1]}, {t[2]})"
            ),
        )

    return st.recursive(leaves, grow, max_leaves=5)


COMPARISONS = st.tuples(
    expressions(), st.sampled_from([">=", ">", "<", "<=", "==", "!="]), expressions()
).map(" ".join)
HYPOTHESES = st.one_of(
    COMPARISONS,
    st.tuples(COMPARISONS, st.sampled_from(["and", "or", "and not"]), COMPARISONS).map(" ".join),
)


def largest(tree, indices):
    """Return the largest number that any part of a tree becomes, and its value."""
    operation, *parts = tree
    if operation == "const":
        return abs(int(parts[0])), int(parts[0])
    if operation == "var":
        return abs(indices[parts[0]]), indices[parts[0]]
    if operation == "pow":
        size, base = largest(parts[0], indices)
        return max(size, *(abs(base) ** k for k in range(parts[1] + 1))), base ** parts[1]
    sizes, values = zip(*(largest(part, indices) for part in parts), strict=True)
    value = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "abs": abs,
        "min": min,
        "max": max,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        "if": lambda c, a, b: a if c else b,
    }[operation](*values)
    return max(*sizes, abs(value)), value


@given(text=HYPOTHESES)
@settings(max_examples=80, deadline=None)
@pytest.mark.slow
def test_whole_numbers_decide_as_rationals_do(text):
    if not {"x", "y"} & set(text):
        return
    hypothesis = Hypothesis.parse(text)
    columns = {name: COLUMNS[name] for name in hypothesis.names}
    form = IntegerForm.of(hypothesis, columns)
    for record in itertools.product(*(range(c.last + 1) for c in columns.values())):
        indices = dict(zip(columns, record, strict=True))
        values = {name: columns[name].value(index) for name, index in indices.items()}
        assert bool(form.at(indices)) == hypothesis.holds(values)
        size, value = largest(form.tree, indices)
        assert size <= form.peak
        assert value == hypothesis.holds(values)


def test_a_side_that_doubles_get_wrong():
    columns = {"kg": LatticeColumn(30, 200, "0.1"), "cm": LatticeColumn(120, 220, 1)}
    form = IntegerForm.of(Hypothesis.parse("kg >= 30*(cm/100)**2"), columns)
    for kg, cm in (("76.8", 160), ("145.2", 220)):  # exactly on the line
        assert not float(kg) >= 30 * (cm / 100) ** 2
        assert form.at({"kg": columns["kg"].index(kg), "cm": cm - 120})
    assert form.peak <= 2**53


def test_numbers_beyond_64_bits_are_decided_too():
    column = {"x": LatticeColumn(0, 20, "0.1")}
    form = IntegerForm.of(Hypothesis.parse("x**20 >= 2.000000001**20"), column)
    assert form.peak > 2**64
    assert form.at({"x": np.arange(201)}).astype(int).tolist() == [0] * 21 + [1] * 180


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x >= sqrt(x)", "square root of a negative number"),
        ("exp(z) >= 2", "'z'"),
        ("1/x >= 2", "divide by zero"),
        ("1/(y - y) >= x", "divide by zero"),
        ("z >= 1", "'z'"),
    ],
)
def test_what_has_no_exact_side_is_refused(text, problem):
    with pytest.raises(OptionError, match=problem):
        IntegerForm.of(Hypothesis.parse(text), COLUMNS | {"x": LatticeColumn(-1, 1, 1)})


def test_a_lattice_knows_its_indices():
    column = LatticeColumn("0.1", "0.75", "0.2")
    assert (column.last, column.value(3), column.is_whole) == (3, Fraction("0.7"), False)
    assert column.index("0.5") == 2
    for bad in ("0.6", "0.9", "-0.1"):
        with pytest.raises(OptionError, match="declared step"):
            column.index(bad)
    with pytest.raises(OptionError, match="no whole step"):
        LatticeColumn(0, 1, 2)
