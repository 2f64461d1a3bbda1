"""On which side of a hypothesis a record lies, as formulas."""

import itertools
import operator
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import Hypothesis, MeetPolicy, OptionError
from hartley.policies import LatticeColumn, count_open
from hartley.policies.hypotheses import sides as tabled_side
from hartley.policies.hypotheses.sides import IntegerForm, LinearSide, evaluate
from hartley.policies.hypotheses.tables import hiding_policy

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
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "abs": abs,
        "min": min,
        "max": max,
        "<": operator.lt,
        "<=": operator.le,
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
        ("exp(log(x + 2)) >= x + 2", "so near to zero that its side cannot be decided"),
        ("log(x + 1) >= 1", "takes the logarithm of a number that is not positive"),
        ("1/log(x + 2) >= 1", "divides by zero"),
    ],
)
def test_what_has_no_certain_side_is_refused(text, problem):
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


WIDE = LatticeColumn("0.1", "12", "0.1")
SMALL = {"x": LatticeColumn("0.5", 8, "0.5"), "y": LatticeColumn(1, 9, 1)}

CASES = [
    ("exp(x) >= 3", {"x": WIDE}, lambda x: x.exp() >= 3),
    ("log(x) < 2", {"x": WIDE}, lambda x: x.ln() < 2),
    ("log(x) >= 0", {"x": WIDE}, lambda x: x.ln() >= 0),  # the line lies on a value
    ("exp(x - 3) > 1", {"x": WIDE}, lambda x: (x - 3).exp() > 1),
    ("sqrt(x) <= 3/2", {"x": WIDE}, lambda x: x.sqrt() <= Decimal("1.5")),  # 9/4 is none
    ("sqrt(2*x) >= 2", {"x": WIDE}, lambda x: (2 * x).sqrt() >= 2),  # 2 is one
    ("abs(log(x)) <= 1", {"x": WIDE}, lambda x: abs(x.ln()) <= 1),  # two lines
    ("x*log(x) <= 3 or x >= 7", {"x": WIDE}, lambda x: x * x.ln() <= 3 or x >= 7),
    ("y >= exp(x/3)", SMALL, lambda x, y: y >= (x / 3).exp()),
    ("exp(x/4) + log(y) >= 3", SMALL, lambda x, y: (x / 4).exp() + y.ln() >= 3),
    ("x*exp(-x) >= y/30", SMALL, lambda x, y: x * (-x).exp() >= y / 30),
]


def records(columns):
    names = list(columns)
    places = itertools.product(*(range(columns[name].last + 1) for name in names))
    return [dict(zip(names, place, strict=True)) for place in places]


def decimal(column, place):
    value = column.value(place)
    return Decimal(value.numerator) / Decimal(value.denominator)


@pytest.mark.parametrize(("text", "columns", "holds"), CASES)
def test_the_side_of_every_record_is_the_true_one(text, columns, holds):
    hypothesis = Hypothesis.parse(text)
    form = IntegerForm.of(hypothesis, columns)
    listed = records(columns)
    sides = form.at({name: np.array([place[name] for place in listed]) for name in columns})
    with localcontext(prec=60):
        expected = [
            holds(**{name: decimal(columns[name], place[name]) for name in columns})
            for place in listed
        ]
    assert 0 < sum(expected) < len(expected)
    assert (np.broadcast_to(sides, len(listed)) == expected).all()
    for place, truth in list(zip(listed, expected, strict=True))[::7]:
        record = {name: columns[name].value(place[name]) for name in columns}
        assert hypothesis.holds(record) == truth


@pytest.mark.parametrize(("text", "columns", "holds"), CASES)
def test_the_records_that_are_left_open_share_an_output_with_the_other_side(text, columns, holds):
    move = list(columns)[:1]
    policy = hiding_policy(text, columns, move, "0.5")
    listed = records(columns)
    grid = {name: np.array([place[name] for place in listed]) for name in columns}
    released = policy.release_indices(grid)[move[0]]
    assert (abs(released - grid[move[0]]) <= policy.moves[0]).all()
    outputs = {}
    with localcontext(prec=60):
        for place, out in zip(listed, np.broadcast_to(released, len(listed)), strict=True):
            truth = holds(**{name: decimal(columns[name], place[name]) for name in columns})
            fibre = tuple(place[name] for name in columns if name not in move)
            outputs.setdefault((int(out), fibre), []).append(truth)
    opened = sum(len(truths) for truths in outputs.values() if len(set(truths)) == 2)
    counted = count_open(policy) if isinstance(policy, MeetPolicy) else policy.count_open()
    assert counted.open == opened > 0


def test_numbers_that_doubles_do_not_hold_apart():
    """1 + 10^-30 has the logarithm 10^-30 - ..., below its own distance from 1."""
    tiny = LatticeColumn(1, 1 + Fraction(3, 10**30), Fraction(1, 10**30))
    form = IntegerForm.of(Hypothesis.parse("log(x) >= x - 1"), {"x": tiny})
    assert np.broadcast_to(form.at({"x": np.arange(4)}), 4).tolist() == [1, 0, 0, 0]


def test_too_many_records_and_too_many_lines_are_refused(monkeypatch):
    fine = LatticeColumn(0, 10, "0.001")
    with pytest.raises(OptionError, match="too many to decide"):
        IntegerForm.of(Hypothesis.parse("exp(x) >= y"), {"x": fine, "y": fine})
    columns = {name: LatticeColumn(1, 20, 1) for name in "xyz"}
    monkeypatch.setattr(tabled_side, "MOST_PARTS", 100)
    with pytest.raises(OptionError, match="different parts"):
        IntegerForm.of(Hypothesis.parse("x*log(y) >= z"), columns)


# --- hypotheses linear in the moved column: near the line by the definition, in every record ------


SIGNS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
LINEAR = st.tuples(
    st.integers(-4, 4).filter(bool),
    st.integers(-3, 3),
    st.fractions(-12, 12, max_denominator=6),
    st.sampled_from(sorted(SIGNS)),
)
LATTICES = st.tuples(
    st.integers(1, 9),
    st.integers(-3, 3),
    st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(3, 7)]),
)


@given(case=LINEAR, lattice=LATTICES, distance=st.integers(1, 12))
@settings(max_examples=300, deadline=None)
def test_what_is_released_is_what_the_definition_says(case, lattice, distance):
    """Partners, clamped to the range, by the text of the hypothesis in fractions."""
    (slope, weight, line, sign), (last, low, step) = case, lattice
    columns = {"x": LatticeColumn(low, low + last * step, step), "y": LatticeColumn(-1, 2, 1)}
    text = f"{slope}*x + {weight}*y**2 {sign} {line}"
    reach = 20 * step
    policy = MeetPolicy(text, columns, ["x"], reach, known_within=distance * step)
    assert LinearSide.of(policy.form.condition, "x") is not None

    def holds(x, y):
        value = slope * columns["x"].value(x) + weight * columns["y"].value(y) ** 2
        return SIGNS[sign](value, line)

    ahead, back = distance - distance // 2, distance // 2
    rising = (slope > 0) == (sign in (">=", ">"))
    x, y = (grid.ravel() for grid in np.meshgrid(np.arange(last + 1), np.arange(4)))
    released = policy.release_indices({"x": x, "y": y})["x"]
    for k, fibre, out in zip(x.tolist(), y.tolist(), released.tolist(), strict=True):
        up, down = min(k + distance, last), max(k - distance, 0)
        if not rising:
            up, down = down, up
        expected = k
        if not holds(k, fibre) and holds(up, fibre):
            expected = min(k + ahead, last - back) if rising else max(k - ahead, back)
            expected = last // 2 if last < distance else expected
        elif holds(k, fibre) and not holds(down, fibre):
            expected = max(k - back, ahead) if rising else min(k + back, last - ahead)
            expected = last // 2 if last < distance else expected
        assert out == expected


@pytest.mark.parametrize(
    ("text", "linear"),
    [
        ("x >= 5", True),
        ("x >= exp(y/3)", True),  # one line for every fibre
        ("3 - 2*x > y", True),
        ("x/(y + 1) >= 2", True),
        ("x*y >= 2", False),
        ("x**2 >= 2", False),
        ("x >= 2 or x + y >= 3", False),
        ("abs(x) >= 2", False),
    ],
)
def test_which_hypotheses_are_of_the_form(text, linear):
    columns = {"x": LatticeColumn(0, 9, 1), "y": LatticeColumn(0, 4, "0.5")}
    hypothesis = Hypothesis.parse(text)
    form = IntegerForm.of(hypothesis, {name: columns[name] for name in hypothesis.names})
    assert (LinearSide.of(form.condition, "x") is not None) == linear


def test_a_line_outside_the_range_is_near_no_record():
    for text in ("x >= 11", "x >= 0", "x < 0", "x <= 10"):
        policy = MeetPolicy(text, {"x": LatticeColumn(0, 10, 1)}, ["x"], 3)
        assert policy.trees == {"x": ("var", "x")}


def test_conditions_are_the_integer_form():
    columns = {"x": LatticeColumn(0, 9, 1), "y": LatticeColumn(0, 9, 1)}
    grid = dict(zip("xy", np.meshgrid(np.arange(10), np.arange(10)), strict=True))
    for text in ("x + y >= 7", "x >= 3 and y >= 2", "x >= 3 or y >= 2", "not x >= 3 and y > 1"):
        form = IntegerForm.of(Hypothesis.parse(text), columns)
        assert (evaluate(form.condition, grid) == (form.at(grid) == 1)).all()


def test_a_comparison_may_be_written_either_way_round():
    total = ("+", ("*", ("var", "x"), ("const", "2")), ("const", "-7"))
    side = LinearSide.of(("<", total, ("const", "0")), "x")
    assert side == LinearSide("x", -2, 7, strict=True)
    assert [evaluate(side.here, {"x": x}) for x in (3, 4)] == [True, False]
