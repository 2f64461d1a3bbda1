"""The policy meet: its reach, what it refuses, and the best move within a norm."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley.errors import OptionError
from hartley.policies.hypotheses.hypothesis import LatticeColumn
from hartley.policies.hypotheses.meeting import MeetPolicy, best_direction
from hartley.policies.hypotheses.open_records import (
    OpenRecords,
    count_line,
    count_open,
    count_outputs_open,
)

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
    ({"reach": [1, 2]}, "2 numbers"),
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
