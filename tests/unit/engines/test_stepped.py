"""Whether the numbers of a column lie on a step, found on the engine and exactly."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley.tables import release_rules as steps
from hartley.tables.opening import open_table
from hartley.tables.release_rules import (
    count_at_ends,
    least_distance,
    lie_on_lattice,
    look_for_step,
)


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
