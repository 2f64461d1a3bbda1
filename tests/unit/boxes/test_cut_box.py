"""A box cut by a quantized query: outputs, volumes, smallest and largest cell."""

import math
from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from hartley import Box, CutBox, OptionError, UndefinedMeasure, guessing_leakage
from hartley.boxes import Volume, cut_box as cells, variables, volume
from hartley.boxes.cut_box import volumes_reported

SQUARE = Box.cube(-2, 2, size=2)
MEAN = "(x1 + x2) / 2"


def test_cells_are_half_open_and_the_last_is_closed():
    cut = CutBox(SQUARE, MEAN, [-2, 0, 2])
    assert [str(cell) for cell in cut.cells] == ["[-2, 0)", "[0, 2]"]


def test_volumes_are_those_of_the_triangles_and_hexagons():
    cut = CutBox(SQUARE, MEAN, [-2, -1, 0, 1, 2])
    assert [found.low for found in cut.volumes] == [2, 6, 6, 2]
    assert all(found.exact for found in cut.volumes)
    assert cut.total == 16
    assert cut.smallest.low == 2
    assert cut.largest.low == 6


def test_cells_beyond_the_range_are_no_outputs():
    cut = CutBox(SQUARE, MEAN, [-6, -5, -3, 0, "2.5", 4])
    assert cut.outputs == (2, 3)
    assert [found.low for found in cut.volumes] == [8, 8]


def test_a_cell_that_touches_the_range_in_a_point_is_an_output_without_volume():
    # The mean is 2 at the corner (2, 2) alone, and the cell [2, 3] gives that corner away.
    cut = CutBox(SQUARE, MEAN, [-2, 2, 3])
    assert cut.outputs == (0, 1)
    assert cut.smallest == Volume(Fraction(0), Fraction(0))


def test_a_cell_that_ends_where_the_range_begins_is_no_output():
    assert CutBox(SQUARE, MEAN, [-3, -2, 2]).outputs == (1,)
    assert CutBox(SQUARE, "x1**2 + 2*x2**2", [-1, 0, 12]).outputs == (1,)


def test_a_query_that_stays_in_one_cell_tells_nothing():
    cut = CutBox(SQUARE, MEAN, [-10, 10])
    assert cut.volumes == (Volume(Fraction(16), Fraction(16)),)


def test_volumes_of_a_curved_query_add_up_to_the_box():
    cut = CutBox(SQUARE, lambda a, b: a * b, [-4, -1, 0, 1, 4], gap=1e-4)
    assert len(cut.volumes) == 4
    assert sum(found.low for found in cut.volumes) <= 16 <= sum(found.high for found in cut.volumes)
    assert all(found.high - found.low <= found.low / 1000 for found in cut.volumes)
    # The cells of x y are symmetric.
    assert float(cut.volumes[0].low) == pytest.approx(float(cut.volumes[3].low), rel=2e-4)


def test_edges_at_a_minimum_where_variables_recur_cost_nothing():
    cut = CutBox(SQUARE, "(x1 - x2)*(x1 - x2)", [0, 4, 16], gap=1e-4)
    assert [float(found.low) for found in cut.volumes] == pytest.approx([12, 4], rel=1e-4)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-3, 3).filter(bool), min_size=1, max_size=3),
    st.lists(st.fractions(min_value=0, max_value=1, max_denominator=12), max_size=5, unique=True),
)
def test_the_shortcut_to_the_smallest_and_largest_cell_agrees_with_all_cells(weights, cuts):
    names = [f"x{i}" for i in range(len(weights))]
    query = sum(w * v for w, v in zip(weights, variables(*names), strict=True))
    box = Box(dict.fromkeys(names, (0, 1)))
    low = sum(min(w, 0) for w in weights)
    high = sum(max(w, 0) for w in weights)
    edges = sorted({low - 1, *(low + c * (high - low) for c in cuts), high + 1})
    quick, slow = CutBox(box, query, edges), CutBox(box, query, edges)
    volumes = [found.low for found in slow.volumes]
    assert sum(volumes) == 1
    assert quick.smallest.low == min(volumes)
    assert quick.largest.low == max(volumes)
    assert slow.smallest == quick.smallest
    assert slow.largest == quick.largest


def test_the_smallest_of_many_equal_cells_takes_one_volume(monkeypatch):
    calls = []

    def counted(*args, **keywords):
        calls.append(args)
        return original(*args, **keywords)

    original = cells.volume
    monkeypatch.setattr(cells, "volume", counted)
    cut = CutBox(Box.cube(0, 1, size=5), "x1+x2+x3+x4+x5", [Fraction(5 * k, 40) for k in range(41)])
    assert cut.smallest.low == Fraction(1, 8) ** 5 / 120
    assert len(calls) == 1


def test_a_cut_is_frozen_and_lazy():
    cut = CutBox(SQUARE, "x1*x2", [-4, 0, 4])
    assert "volumes" not in cut.__dict__
    with pytest.raises(FrozenInstanceError):
        cut.gap = 1


@pytest.mark.parametrize(
    ("edges", "what"),
    [
        ([0], "do not increase"),
        ([0, 0], "do not increase"),
        ([2, -2], "do not increase"),
        ([-1, 2], "do not cover the range of the query"),
        ([-2, "1.5"], "do not cover the range of the query"),
        ([-2, "two"], "An edge is not a number"),
    ],
)
def test_edges_that_make_no_sense_are_refused(edges, what):
    with pytest.raises(OptionError, match=what):
        CutBox(SQUARE, MEAN, edges)


def test_edges_that_do_not_cover_a_curved_query_are_refused():
    with pytest.raises(OptionError, match=r"the query reaches .* and 12"):
        CutBox(SQUARE, "x1**2 + 2*x2**2", [0, 11])


def test_a_side_without_length_is_refused():
    with pytest.raises(OptionError, match="has zero length"):
        CutBox(Box({"x1": (0, 1), "x2": (3, 3)}), "x1", [0, 1])


def test_a_query_undefined_in_the_box_is_refused():
    with pytest.raises(OptionError, match="divides by zero"):
        CutBox(SQUARE, "1/x1", [0, 1])


def test_measures_that_count_values_are_undefined():
    with pytest.raises(UndefinedMeasure, match="uncountably many"):
        guessing_leakage(CutBox(SQUARE, MEAN, [-2, 2]))


def product_below(level, sides):
    """Return the share of the unit cube in which the product of coordinates is below a level."""
    return level * sum((-math.log(level)) ** k / math.factorial(k) for k in range(sides))


@pytest.mark.slow
def test_the_cells_of_many_variables_share_their_boxes_and_stay_enclosed(monkeypatch):
    monkeypatch.setattr(cells, "BOXES_IN_ALL", 4000)
    query = "x1*x2*x3*x4*x5"
    cut = CutBox(Box.cube(0, 1, size=5), query, [0, "1/100", "1/10", "1/2", 1])
    truth = [product_below(level, 5) for level in (0.01, 0.1, 0.5)]
    shares = [truth[0], truth[1] - truth[0], truth[2] - truth[1], 1 - truth[2]]
    for found, share in zip(cut.volumes, shares, strict=True):
        assert float(found.low) <= share <= float(found.high)
        assert found.low < found.high < 1
    # Of up to four variables a cell is measured as closely as a volume by itself.
    few = CutBox(Box.cube(0, 1, size=2), "x1*x2", [0, "1/2", 1], gap=1e-4)
    assert few.volumes[0] == volume(few.box, "x1*x2", (-1, "1/2"), gap=1e-4)


def test_what_is_measured_is_reported_only_while_that_is_asked_for():
    told = []
    cut = CutBox(Box.cube(0, 1, size=2), "x1*x2", [0, "1/4", "1/2", 1], gap=1e-2)
    with volumes_reported(told.append):
        _ = cut.largest
    assert told == [1 / 3, 2 / 3, 1]
    _ = cut.smallest
    assert len(told) == 3
