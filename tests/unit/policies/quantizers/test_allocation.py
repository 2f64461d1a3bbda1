"""Bits shared among columns: no other levels are better, and none are left that could be used."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import example, given, settings, strategies as st

from hartley.boxes.box import Interval
from hartley.errors import ColumnError, HartleyError, OptionError
from hartley.policies.optimal import CutQuantizer
from hartley.policies.quantized_column import allocate_bits
from hartley.policies.quantizer import UniformQuantizer

BITS = st.sampled_from([0, "0.7", 1, "1.6", 2, "2.5", 3, "3.7", 4, 5])
PLAIN = st.fractions(0, 20, max_denominator=4).map(lambda length: {"range": (0, length)})
STEPPED = st.tuples(st.integers(0, 9), st.sampled_from(["0.5", 1, "3/2"])).map(
    lambda drawn: {"range": (0, drawn[0]), "step": drawn[1]}
)
COLUMNS = st.lists(PLAIN | STEPPED, min_size=1, max_size=3)
WEIGHTS = st.lists(st.fractions(Fraction(1, 3), 5, max_denominator=3), min_size=3, max_size=3)


def error_of(column, levels):
    """Return the least error of so many cells: over points by trying all lengths of runs."""
    length = Fraction(column["range"][1])
    if "step" not in column:
        return length / (2 * levels)
    step = Fraction(column["step"])
    points = [k * step for k in range(math.floor(length / step) + 1)]
    run = next(run for run in range(1, len(points) + 1) if math.ceil(len(points) / run) <= levels)
    return (points[run - 1] - points[0]) / 2


def all_levels(columns, limit):
    """Yield all levels whose product stays within a limit."""
    if not columns:
        yield ()
        return
    for levels in range(1, limit + 1):
        for rest in all_levels(columns[1:], limit // levels):
            yield (levels, *rest)


def weighted_errors(columns, weights, levels):
    chosen = zip(columns, weights, levels, strict=True)
    return [weight * error_of(column, q) for column, weight, q in chosen]


def share(columns, weights, bits, objective):
    names = [f"c{i}" for i in range(len(columns))]
    return allocate_bits(
        dict(zip(names, columns, strict=True)),
        bits,
        weights=dict(zip(names, weights, strict=True)),
        objective=objective,
    )


@pytest.mark.slow
@given(columns=COLUMNS, weights=WEIGHTS, bits=BITS)
@example(columns=[{"range": (0, 1)}] * 3, weights=[Fraction(1)] * 3, bits=5)
@settings(max_examples=150, deadline=None)
def test_no_levels_have_a_smaller_largest_error(columns, weights, bits):
    weights = weights[: len(columns)]
    allocation = share(columns, weights, bits, "largest")
    limit = math.floor(2 ** float(bits))
    assert allocation.value == min(
        max(weighted_errors(columns, weights, levels)) for levels in all_levels(columns, limit)
    )
    errors = weighted_errors(columns, weights, allocation.levels.values())
    assert max(errors) == allocation.value
    assert allocation.outputs <= limit


@pytest.mark.slow
@given(columns=COLUMNS, weights=WEIGHTS, bits=BITS)
@settings(max_examples=150, deadline=None)
def test_no_levels_have_a_smaller_mean_error(columns, weights, bits):
    weights = weights[: len(columns)]
    allocation = share(columns, weights, bits, "mean")
    limit = math.floor(2 ** float(bits))
    least = min(
        sum(weighted_errors(columns, weights, levels)) for levels in all_levels(columns, limit)
    )
    assert allocation.value == least / sum(weights)
    assert sum(weighted_errors(columns, weights, allocation.levels.values())) == least
    assert allocation.outputs <= limit


@pytest.mark.slow
@given(columns=COLUMNS, weights=WEIGHTS, bits=BITS)
@settings(max_examples=100, deadline=None)
def test_what_the_largest_error_leaves_is_used_up(columns, weights, bits):
    weights = weights[: len(columns)]
    allocation = share(columns, weights, bits, "largest")
    levels = list(allocation.levels.values())
    limit = math.floor(2 ** float(bits))
    for i, column in enumerate(columns):
        room = limit // (allocation.outputs // levels[i])
        assert error_of(column, room) == error_of(column, levels[i])


@given(
    lengths=st.lists(st.sampled_from([2, 3, 5, 7, 11, 13]), min_size=2, max_size=3, unique=True),
    bits=BITS,
)
@settings(max_examples=60, deadline=None)
def test_the_next_largest_error_is_least_too(lengths, bits):
    # Ranges in prime proportions: no two columns can have the same error, except of prime levels.
    columns = [{"range": (0, length)} for length in lengths]
    weights = [Fraction(1), Fraction(101, 100), Fraction(103, 100)][: len(columns)]
    allocation = share(columns, weights, bits, "largest")
    limit = math.floor(2 ** float(bits))
    best = min(
        sorted(weighted_errors(columns, weights, levels), reverse=True)
        for levels in all_levels(columns, limit)
    )
    found = weighted_errors(columns, weights, allocation.levels.values())
    assert sorted(found, reverse=True) == best


def test_the_mean_of_many_columns_is_no_worse_than_any_neighbour():
    ranges = [97, 211, 34, 560, 18, 77, 140, 402]
    columns = {f"c{i}": (0, length) for i, length in enumerate(ranges)}
    allocation = allocate_bits(columns, 40, objective="mean")
    assert allocation.outputs <= 2**40
    levels = list(allocation.levels.values())
    total = sum(Fraction(length, 2 * q) for length, q in zip(ranges, levels, strict=True))
    assert allocation.value == total / len(ranges)
    for moves in product((-2, -1, 0, 1, 2), repeat=4):
        other = [q + move for q, move in zip(levels[:4], moves, strict=True)] + levels[4:]
        if min(other) >= 1 and math.prod(other) <= 2**40:
            assert total <= sum(
                Fraction(length, 2 * q) for length, q in zip(ranges, other, strict=True)
            )
    largest = allocate_bits(columns, 40)
    assert largest.value <= max(allocation.errors.values())


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["largest", "mean"])
@given(columns=COLUMNS, bits=BITS)
@settings(max_examples=60, deadline=None)
def test_the_quantizers_have_the_errors_and_the_levels_that_were_promised(objective, columns, bits):
    allocation = share(columns, [Fraction(1)] * len(columns), bits, objective)
    for name, column in zip(allocation.levels, columns, strict=True):
        quantizer = allocation.quantizer(name)
        assert isinstance(quantizer, CutQuantizer if "step" in column else UniformQuantizer)
        assert quantizer.levels <= allocation.levels[name]
        assert quantizer.error == allocation.errors[name]
        if "step" in column:
            step = Fraction(column["step"])
            points = [k * step for k in range(math.floor(column["range"][1] / step) + 1)]
            off = [abs(quantizer.release(point) - point) for point in points]
            assert max(off) == quantizer.error


def test_points_are_released_as_they_are_where_the_budget_allows():
    allocation = allocate_bits(
        {"age": {"range": (0, 3), "step": 1}, "sex": {"range": (0, 1), "step": 1}}, 3
    )
    assert dict(allocation.levels) == {"age": 4, "sex": 2}
    assert (allocation.value, allocation.bits_used, allocation.bits_left) == (0, 3.0, 0.0)
    assert allocation.quantizer("age").released == (0, 1, 2, 3)


def test_no_bits_tell_nothing():
    allocation = allocate_bits({"age": (0, 120), "height": (100, 250)}, 0)
    assert allocation.constant == ("age", "height")
    assert dict(allocation.errors) == {"age": 60, "height": 75}
    assert allocation.bits_used == 0


def test_a_weight_makes_a_column_finer():
    plain = allocate_bits({"a": (0, 1), "b": (0, 1)}, 6)
    weighted = allocate_bits({"a": (0, 1), "b": (0, 1)}, 6, weights={"a": 4})
    assert dict(plain.levels) == {"a": 8, "b": 8}
    assert dict(weighted.levels) == {"a": 16, "b": 4}


@pytest.mark.slow
def test_many_bits_are_no_trouble():
    allocation = allocate_bits({"a": (0, 1), "b": (0, 3)}, 200)
    assert allocation.outputs <= 2**200
    assert allocation.bits_left < 1e-9
    huge = allocate_bits({"a": (0, 1), "b": (0, 3)}, 60, objective="mean")
    assert huge.outputs <= 2**60
    assert huge.bits_left < 1e-6
    assert allocate_bits({"a": (0, 1)}, 900, objective="mean").levels == {"a": 2**900}


def test_an_interval_may_be_given_as_one():
    assert allocate_bits({"a": Interval(0, 8)}, 2).errors == {"a": 1}


@pytest.mark.parametrize(
    ("problem", "arguments", "options"),
    [
        (OptionError, ({}, 3), {}),
        (OptionError, ({"a": (0, 1)}, -1), {}),
        (OptionError, ({"a": (0, 1)}, "many"), {}),
        (OptionError, ({"a": (0, 1)}, 3), {"objective": "least"}),
        (OptionError, ({"a": (0, 1)}, 3), {"weights": {"a": 0}}),
        (ColumnError, ({"a": (0, 1)}, 3), {"weights": {"b": 1}}),
        (OptionError, ({"a": (1, 0)}, 3), {}),
        (OptionError, ({"a": 5}, 3), {}),
        (ColumnError, ({"a": {"values": [1]}}, 3), {}),
        (ColumnError, ({"a": {"range": (0, 1), "stop": 1}}, 3), {}),
        (OptionError, ({"a": {"range": (0, 1), "step": 0}}, 3), {}),
        (OptionError, ({"a": (0, 1), "b": (0, 1), "c": (0, 1)}, 300), {"objective": "mean"}),
        (OptionError, ({"a": (0, 1), "b": (0, 1)}, 2000), {"objective": "mean"}),
    ],
)
def test_what_makes_no_sense_is_refused(problem, arguments, options):
    with pytest.raises(HartleyError, match="; hint: ") as caught:
        allocate_bits(*arguments, **options)
    assert isinstance(caught.value, problem)


def test_an_unknown_column_has_no_quantizer():
    with pytest.raises(ColumnError, match="no column 'b'"):
        allocate_bits({"a": (0, 1)}, 1).quantizer("b")
