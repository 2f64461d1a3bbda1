"""Hypotheses with exp, log and sqrt: the side of every record, against sixty decimal digits."""

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from hartley.errors import OptionError
from hartley.policies.hypotheses import sides as tabled_side
from hartley.policies.hypotheses.hypothesis import Hypothesis, LatticeColumn
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.hypotheses.open_records import count_open
from hartley.policies.hypotheses.sides import IntegerForm, LinearSide
from hartley.policies.hypotheses.tables import hiding_policy

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


def test_one_line_for_every_fibre_is_compared_with_the_index():
    form = IntegerForm.of(Hypothesis.parse("y >= exp(x/3)"), SMALL)
    assert LinearSide.of(form.condition, "y") is not None


def test_numbers_that_doubles_do_not_hold_apart():
    """1 + 10^-30 has the logarithm 10^-30 - ..., below its own distance from 1."""
    tiny = LatticeColumn(1, 1 + Fraction(3, 10**30), Fraction(1, 10**30))
    form = IntegerForm.of(Hypothesis.parse("log(x) >= x - 1"), {"x": tiny})
    assert np.broadcast_to(form.at({"x": np.arange(4)}), 4).tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "low", "problem"),
    [
        ("exp(log(x)) >= x", 1, "so near to zero that its side cannot be decided"),
        ("log(x) >= 1", 0, "takes the logarithm of a number that is not positive"),
        ("sqrt(x) >= 1", -1, "takes the square root of a negative number"),
        ("1/log(x) >= 1", 1, "divides by zero"),
    ],
)
def test_what_has_no_certain_side_is_refused(text, low, problem):
    with pytest.raises(OptionError, match=problem):
        IntegerForm.of(Hypothesis.parse(text), {"x": LatticeColumn(low, 9, 1)})


def test_too_many_records_and_too_many_lines_are_refused(monkeypatch):
    fine = LatticeColumn(0, 10, "0.001")
    with pytest.raises(OptionError, match="too many to decide"):
        IntegerForm.of(Hypothesis.parse("exp(x) >= y"), {"x": fine, "y": fine})
    columns = {name: LatticeColumn(1, 20, 1) for name in "xyz"}
    monkeypatch.setattr(tabled_side, "MOST_PARTS", 100)
    with pytest.raises(OptionError, match="different parts"):
        IntegerForm.of(Hypothesis.parse("x*log(y) >= z"), columns)
