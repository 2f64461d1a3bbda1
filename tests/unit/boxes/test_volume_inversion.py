"""Set inversion bounds what a box holds of a preimage."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hartley import Box, Interval
from hartley.boxes import parse_expression
from hartley.boxes.volumes import exact_share, half_space, invert

sizes = st.one_of(
    st.floats(min_value=1e-9, max_value=4), st.floats(min_value=1e-200, max_value=1e-150)
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(sizes, min_size=1, max_size=4), st.floats(min_value=-0.1, max_value=1.1))
def test_a_half_space_is_enclosed_whatever_its_slopes(widths, part):
    widths = sorted(widths, reverse=True)
    level = part * sum(widths)
    total = sum(map(Fraction, widths))
    exact = Fraction(0)
    if level > 0:
        exact = exact_share(
            [(Fraction(w), 1) for w in widths], Fraction(0), min(Fraction(level), total)
        )
    low, high = half_space([np.array([w]) for w in widths], np.array([level]))
    assert Fraction(float(low[0])) <= exact <= Fraction(float(high[0]))
    assert high[0] - low[0] < 1e-12


@pytest.mark.parametrize("level", [-1.0, 0.0, 1.0])
def test_a_flat_query_is_below_a_level_or_not(level):
    zero = np.zeros(1)
    low, high = half_space([zero, zero], np.array([level]))
    assert low[0] == (level >= 0)
    assert high[0] == (level >= 0)


@pytest.mark.parametrize(
    ("text", "box", "ends", "truth"),
    [
        ("x1**2 + x2**2", Box.cube(-1, 1, size=2), (0, 1), math.pi / 4),
        ("x1*x2", Box.cube(0, 1, size=2), (0, "0.5"), 0.5 + 0.5 * math.log(2)),
        ("x1/x2", Box.cube(1, 2, size=2), (0, 1), 0.5),
        ("x1 - x2**2", Box.cube(0, 1, size=2), (0, 1), 2 / 3),
        ("exp(x1) - x2", Box.cube(0, 1, size=2), (1, 9), 2 - 2 * math.log(2)),
        ("x1*x1", Box.cube("0.1", "1.1", size=1), ("0.25", 1), 0.5),
        ("x1**2 + x2**2 + x3**2", Box.cube(-1, 1, size=3), (0, 1), math.pi / 6),
        ("abs(x1) + abs(x2)", Box.cube(-1, 1, size=2), (0, 1), 0.5),
        ("max(x1, x2) - min(x1, x2)", Box.cube(0, 1, size=2), (-1, "0.5"), 0.75),
        ("sqrt(x1) + x1 - x1", Box.cube(0, 1, size=1), (0, "0.5"), 0.25),
        ("log(x1) * x2 / x2", Box.cube(1, 3, size=2), (0, math.log(2)), 0.5),
    ],
)
def test_shares_known_in_closed_form_are_enclosed_to_the_gap(text, box, ends, truth):
    gap = 1e-3 if len(box.names) == 3 else 1e-5
    bounds = invert(parse_expression(text), box, Interval.of(ends), gap=gap)
    assert bounds.low - 1e-12 <= truth <= bounds.high + 1e-12
    assert bounds.high - bounds.low <= gap * bounds.low + 1e-13


@pytest.mark.parametrize("text", ["x1**2 + 2*x2**2", "x1*x2 + x1", "x1**3 - x2"])
def test_the_work_grows_no_faster_than_one_over_the_gap(text):
    query, box = parse_expression(text), Box.cube(-2, 2, size=2)
    interval = Interval(Fraction(1, 3), Fraction(5, 3))
    boxes = [invert(query, box, interval, gap=gap).boxes for gap in (1e-3, 1e-5)]
    # The gap falls as the square of the width: a hundredth of the gap, some ten times the boxes.
    assert boxes[1] < 30 * boxes[0]
    assert boxes[1] < 50_000


def test_a_cap_on_boxes_leaves_an_honest_gap(monkeypatch):
    monkeypatch.setattr("hartley.boxes.volumes.MOST_BOXES", 200)
    bounds = invert(
        parse_expression("x1**2 + x2**2"), Box.cube(-1, 1, size=2), Interval(0, 1), gap=1e-9
    )
    assert bounds.boxes < 1000
    assert bounds.low < math.pi / 4 < bounds.high
    assert bounds.high - bounds.low > 1e-9


@pytest.mark.parametrize(
    ("text", "without", "with_zero"),
    [("max(x1, 0) + max(x2, 0)", 0.75, 1), ("min(x1, 0) + min(x2, 0)", 0, 0.25)],
)
def test_single_points_of_positive_measure_follow_the_ends_of_the_interval(
    text, without, with_zero
):
    query, box = parse_expression(text), Box.cube(-1, 1, size=2)
    for interval, share in (
        (Interval(0, 4, low_closed=False), without),
        (Interval(0, 4), with_zero),
    ):
        bounds = invert(query, box, interval, gap=1e-6)
        assert bounds.low <= share <= bounds.high < share + 1e-4
        assert bounds.low == pytest.approx(share, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("people", "level", "gap"), [(4, "1/50", 0.03), (5, "1/100", 0.2)])
def test_a_product_of_several_people_is_enclosed(people, level, gap):
    query = parse_expression("*".join(f"x{i}" for i in range(1, people + 1)))
    bounds = invert(query, Box.cube(0, 1, size=people), Interval(-1, level), gap=gap)
    log = -math.log(Fraction(level))
    truth = float(Fraction(level)) * sum(log**k / math.factorial(k) for k in range(people))
    assert bounds.low <= truth <= bounds.high <= bounds.low * (1 + gap)
