"""The policy that releases records from either side of a hypothesis as one."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import Hypothesis, Interval, MeetPolicy, OptionError
from hartley.policies import LatticeColumn, OpenRecords, count_open
from hartley.policies.hypotheses.meeting import best_direction, directions
from hartley.policies.hypotheses.open_records import count_line, count_outputs_open
from hartley.policies.hypotheses.sides import IntegerForm
from hartley.policies.hypotheses.tables import hiding_policy

TEN = LatticeColumn(0, 10, 1)


@given(
    last=st.integers(1, 14),
    first=st.integers(0, 15),
    distance=st.integers(1, 16),
    rising=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_open_records_of_a_line_are_counted_as_they_are_released(last, first, distance, rising):
    column = LatticeColumn(0, last, 1)
    text = f"x >= {first}" if rising else f"x < {first}"
    policy = MeetPolicy(text, {"x": column}, ["x"], 20, known_within=distance)
    assert policy.distances == (distance,)
    x = np.arange(last + 1)
    released = policy.release_indices({"x": x})["x"]
    assert (abs(released - x) <= distance - distance // 2).all()
    assert count_open(policy) == count_outputs_open(policy.holds({"x": x}), released)


def test_a_line_outside_the_range_leaves_nothing_open():
    assert count_line(np.array([0, 11, 5]), 10, 4).open == 8
    assert count_line(np.array([0, 11]), 10, 4) == OpenRecords(22, 0, 0, 0)


@pytest.mark.parametrize(
    ("rounding", "reach", "moves", "error"),
    [
        (None, "2", 2, "2"),
        (None, "2.9", 2, "2"),
        ("nearest", "2", 1, "1.5"),
        ("nearest", "2.5", 2, "2.5"),
        ("down", "2", 1, "2"),
        ("down", "2.9", 1, "2"),
    ],
)
def test_what_rounding_moves_is_part_of_the_error(rounding, reach, moves, error):
    policy = MeetPolicy("x >= 5", {"x": TEN}, ["x"], reach, rounding=rounding)
    assert policy.moves == (moves,)
    assert policy.errors == (Fraction(error),)
    assert policy.errors[0] <= Fraction(reach)


@pytest.mark.parametrize(("rounding", "extra"), [("nearest", "0.5"), ("down", "1")])
def test_rounded_values_have_a_partner_within_what_is_known(rounding, extra):
    column = {"x": TEN}
    policy = MeetPolicy("x >= 5", column, ["x"], 4, known_within=3, rounding=rounding)
    assert policy.distances == (2,)
    assert policy.distance_to_partner == policy.apart == (2 + Fraction(extra),)
    by_index = {}
    for index in range(11):
        by_index.setdefault(int(policy.release({"x": index})["x"]), []).append(index)
    for number in (Fraction(k, 10) for k in range(101)):
        index = int(number + Fraction(1, 2)) if rounding == "nearest" else int(number)
        alike = by_index[int(policy.release({"x": index})["x"])]
        if {x >= 5 for x in alike} == {True, False}:
            near = [x for x in alike if abs(x - number) <= 3]
            assert {x >= 5 for x in near} | {number >= 5} == {True, False}


@given(
    weights=st.lists(st.integers(-5, 5), min_size=1, max_size=2).filter(any),
    reach=st.fractions(1, 4, max_denominator=4),
    norm=st.sampled_from(["sup", "l1", "l2"]),
)
@settings(max_examples=40, deadline=None)
def test_the_best_direction_is_the_best_of_all(weights, reach, norm):
    steps = [Fraction(1), Fraction(1, 2)][: len(weights)]
    scaled = [Fraction(w) * s for w, s in zip(weights, steps, strict=True)]
    best = best_direction(scaled, steps, reach, norm)

    def length(move):
        sizes = [abs(m) * s for m, s in zip(move, steps, strict=True)]
        measures = {"sup": max(sizes), "l1": sum(sizes), "l2": sum(s * s for s in sizes)}
        return measures[norm] <= (reach**2 if norm == "l2" else reach)

    def gain(move):
        return sum(w * m for w, m in zip(scaled, move, strict=True))

    assert length(best)
    moves = itertools.product(range(-8, 9), repeat=len(weights))
    assert gain(best) == max(gain(move) for move in moves if length(move))


REFUSED = [
    ({"reach": "0.9"}, "below one step"),
    ({"reach": 0}, "not positive"),
    ({"reach": [1, 2]}, "There are 2 numbers for the reach of 1 column; "),
    ({"known_within": "0.5"}, "less than a step"),
    ({"move": []}, "different names"),
    ({"move": ["x", "x"]}, "different names"),
    ({"move": ["y"]}, "does not name it"),
    ({"columns": {"x": TEN, "y": TEN}}, "'y' is declared"),
    ({"columns": {}}, "'x', whose range"),
    ({"hypothesis": "x == 5"}, "not monotone"),
    ({"norm": "l1", "hypothesis": "x*x >= 5"}, "not one comparison"),
    ({"norm": "l3"}, "norm 'l3'"),
    ({"rounding": "up"}, "rounding 'up'"),
    ({"rounding": "nearest", "reach": 1}, "below one step"),
    ({"rounding": "nearest", "columns": {"x": LatticeColumn(0, "10.5", 1)}}, "end on a step"),
    ({"rounding": "down", "norm": "l2", "reach": 3}, "reach for every column"),
]


@pytest.mark.parametrize(("change", "problem"), REFUSED)
def test_what_makes_no_sense_is_refused(change, problem):
    given_ = {"hypothesis": "x >= 5", "columns": {"x": TEN}, "move": ["x"], "reach": 2} | change
    with pytest.raises(OptionError, match=problem):
        MeetPolicy(**given_)


def test_order_is_reversed_across_the_line():
    policy = MeetPolicy("x >= 5", {"x": TEN}, ["x"], 2)
    released = [int(policy.release({"x": x})["x"]) for x in range(11)]
    assert released == [0, 3, 4, 5, 6, 3, 4, 5, 6, 9, 10]


# --- directions are shown or looked up; what is not monotone is refused ---------------------------


COLUMNS = {name: LatticeColumn(0, 8, 1) for name in "xyz"}


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("x >= 3", {"x": 1}),
        ("x < 3", {"x": -1}),
        ("not x < 3", {"x": 1}),
        ("2*x - 3*y >= z", {"x": 1, "y": -1, "z": -1}),
        ("x*y >= z**2", {"x": 1, "y": 1, "z": -1}),
        ("x/(y + 1) > 2", {"x": 1, "y": -1}),
        ("(0 - x)**3 >= 5 - y", {"x": -1, "y": 1}),
        ("(x - 9)**2 >= y", {"x": -1, "y": -1}),
        ("abs(x - 20) <= y", {"x": 1, "y": 1}),
        ("max(x, y) >= 3 and min(x, 2*y) > 1", {"x": 1, "y": 1}),
        ("x >= 3 or x + y >= 9", {"x": 1, "y": 1}),
        ("x - x + y >= 3", {"x": 1, "y": 1}),
        ("(x - 4)**3 + (x - 4)**2 >= 100", {"x": 1}),  # by looking: on this lattice alone
        ("(x - 4)**2 >= 30", {"x": 1}),  # nowhere true
    ],
)
def test_directions_are_those_of_the_lattice(text, signs):
    hypothesis = Hypothesis.parse(text)
    columns = {name: COLUMNS[name] for name in hypothesis.names}
    assert directions(hypothesis, columns, list(signs)) == signs
    shape = [column.last + 1 for column in columns.values()]
    grid = dict(zip(columns, np.indices(shape), strict=True))
    holds = IntegerForm.of(hypothesis, columns).at(grid)
    for name, sign in signs.items():
        axis = list(columns).index(name)
        assert (sign * np.diff(np.broadcast_to(holds, shape), axis=axis) >= 0).all()


@pytest.mark.parametrize(
    "text", ["x == 3", "2 <= x <= 5", "(x - 4)**2 >= 4", "(x - 4)*(y - 4) >= 3", "x >= 3 and x < 6"]
)
def test_a_hypothesis_that_is_not_monotone_is_refused(text):
    hypothesis = Hypothesis.parse(text)
    columns = {name: COLUMNS[name] for name in hypothesis.names}
    with pytest.raises(OptionError, match="not monotone in 'x'"):
        directions(hypothesis, columns, ["x"])


def test_a_large_lattice_is_not_looked_at():
    fine = {"x": LatticeColumn(0, 10, "0.0000001")}
    assert directions(Hypothesis.parse("x*x >= 2"), fine, ["x"]) == {"x": 1}
    with pytest.raises(OptionError, match="cannot be shown"):
        directions(Hypothesis.parse("(x - 1)**2 >= 2"), fine, ["x"])


# --- numbers of a policy on data with a step that make no sense are refused by name ---------------


TWO = {"x": LatticeColumn(0, 10, 1), "y": LatticeColumn(0, 8, 1)}


@pytest.mark.parametrize("step", [0, -1, "0.0"])
def test_a_step_that_is_not_positive_is_named_as_the_step(step):
    with pytest.raises(OptionError, match=r"^The step -?\d+ is not a positive number; hint: "):
        LatticeColumn(0, 10, step)


@pytest.mark.parametrize("hypothesis", ["x + y >= 9", "x + y == 9"])  # by formula, by tables
def test_a_reach_by_name_is_the_reach_of_that_column(hypothesis):
    listed = hiding_policy(hypothesis, TWO, ["x", "y"], [2, 1])
    named = hiding_policy(hypothesis, TWO, ["x", "y"], {"y": 1, "x": 2})
    other = hiding_policy(hypothesis, TWO, ["x", "y"], {"y": 2, "x": 1})
    assert named.reach == listed.reach == (2, 1) == other.reach[::-1]
    assert named == listed != other


def test_what_is_known_may_be_named_like_the_reach():
    known = {"known_within": {"y": 1, "x": 2}}
    assert MeetPolicy("x + y >= 9", TWO, ["x", "y"], 2, **known).known_within == (2, 1)
    one = hiding_policy(
        "x >= z/2", {"x": TWO["x"]}, ["x"], {"x": 2}, ranges={"z": Interval(0, 16)},
        known_within={"x": 3},
    )  # fmt: skip
    assert (one.reach, one.known_within) == ((2,), (3,))


@pytest.mark.parametrize("reach", [{}, {"x": 1}, {"x": 1, "z": 1}, {"x": 1, "y": 1, "z": 1}])
def test_a_reach_of_other_columns_is_refused_with_their_names(reach):
    with pytest.raises(OptionError, match="does not name the moved columns, each once; hint: nam"):
        MeetPolicy("x + y >= 9", TWO, ["x", "y"], reach)
    with pytest.raises(OptionError, match="Known_within does not name"):
        MeetPolicy("x + y >= 9", TWO, ["x", "y"], 1, known_within=reach)


def test_a_norm_takes_no_reach_by_name():
    with pytest.raises(OptionError, match="hint: give one number, which the norm measures"):
        MeetPolicy("x + y >= 9", TWO, ["x", "y"], {"x": 1, "y": 1}, norm="l1")
