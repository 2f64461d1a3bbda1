"""Quantizers with explicit edges, and the best one within an error."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from hartley import Box, CutQuantizer, Interval, OptionError, optimal_quantizer
from hartley.boxes import parse_expression, variables, volume
from hartley.boxes.exact_range import known_range
from hartley.boxes.expression import mean
from hartley.policies.optimal import Slots, SortedValues

SQUARE, UNIT = Box.cube(-2, 2, size=2), Box({"x": (0, 1)})
MEAN = "(x1 + x2) / 2"
OBJECTIVES = ["maximin", "leakage"]
DOUBLES = st.floats(-1e300, 1e300).map(lambda value: value + 0.0)


# --- cuts -----------------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    edges=st.lists(st.fractions(-9, 9, max_denominator=9), min_size=2, max_size=8, unique=True),
    share=st.fractions(0, 1),
)
@settings(max_examples=150, deadline=None)
def test_a_value_lies_between_the_edges_of_its_cell_and_within_the_error(edges, share):
    quantizer = CutQuantizer(tuple(sorted(edges)))
    value = quantizer.low + share * (quantizer.high - quantizer.low)
    cell = quantizer.cell(value)
    assert quantizer.edges[cell] <= value
    assert value < quantizer.edges[cell + 1] or value == quantizer.high
    assert abs(quantizer.release(value) - value) <= quantizer.error
    widest = max(b - a for a, b in pairwise(quantizer.edges))
    assert quantizer.error == widest / 2


def test_an_inner_edge_belongs_to_the_cell_above_and_values_outside_are_clamped():
    quantizer = CutQuantizer((0, "0.1", 10))
    assert [quantizer.cell(value) for value in (-1, 0, 0.1, 10, 11)] == [0, 0, 1, 1, 1]


def test_the_error_is_that_of_what_lies_in_the_cells():
    spans = (Interval(0, 1), Interval(8, 10))
    assert CutQuantizer((0, 5, 10), spans=spans).error == 1
    assert CutQuantizer((0, 5, 10), released=(1, 8), spans=spans).error == 2
    assert CutQuantizer((0, 5, 10), spans=spans).released == (Fraction(1, 2), 9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: CutQuantizer((1,)),
        lambda: CutQuantizer((1, 0)),
        lambda: CutQuantizer((0, 1, 1)),
        lambda: CutQuantizer((0, 1, math.nan)),
        lambda: CutQuantizer((0, 1, 2), released=(1,)),
        lambda: CutQuantizer((0, 1, 2), spans=(Interval(0, 1),)),
        lambda: CutQuantizer((0, 1, 2), spans=(Interval(0, 2), Interval(1, 2))),
    ],
)
def test_cuts_that_do_not_fit_together_are_refused(wrong):
    with pytest.raises(OptionError, match="; hint: "):
        wrong()


def test_a_range_of_one_value_is_one_cell():
    quantizer = CutQuantizer((3, 3))
    assert (quantizer.levels, quantizer.error, quantizer.cell(3)) == (1, 0, 0)


# --- listed values --------------------------------------------------------------------------------


@pytest.mark.slow
@given(
    values=st.lists(DOUBLES, min_size=1, max_size=12),
    error=st.floats(1e-3, 1e300),
    objective=st.sampled_from(OBJECTIVES),
)
@example(values=[9.999999999999999e22, 1e23, 1.0000000000000001e23], error=1.0, objective="maximin")
@example(values=[math.nextafter(7e22, 0), 7e22], error=1.0, objective="maximin")
@example(values=[0.1, 0.1 + 2**-56], error=1e-30, objective="maximin")
@settings(max_examples=200, deadline=None)
def test_every_double_is_found_in_its_cell_however_it_is_read(values, error, objective):
    quantizer = optimal_quantizer(None, np.array(values), error, objective)
    assert quantizer.error <= Fraction(repr(error))
    edges = [float(edge) for edge in quantizer.edges]  # what an engine would compare with
    for value in values:
        as_written, as_held = quantizer.cell(value), quantizer.cell(Fraction(value))
        assert as_written == as_held
        assert sum(value >= edge for edge in edges[1:-1]) == as_held
        assert Fraction(value) in quantizer.spans[as_held]


def test_a_list_is_read_as_written_and_an_array_holds_what_it_holds():
    # As doubles 0.1 and 0.4 are a little more than 0.3 apart.
    values = [0.1, 0.2, 0.3, 0.4]
    assert optimal_quantizer(None, values, 0.15).levels == 1
    assert optimal_quantizer(None, np.array(values), 0.15).levels == 2


@pytest.mark.slow
@given(
    values=st.lists(st.integers(0, 20), min_size=1, max_size=10),
    error=st.fractions(Fraction(1, 4), 8, max_denominator=4),
    objective=st.sampled_from(OBJECTIVES),
    scale=st.sampled_from([1, Fraction(1, 3), 10**30, Fraction(1, 10**40)]),
)
@settings(max_examples=150, deadline=None)
def test_a_common_factor_changes_nothing(values, error, objective, scale):
    plain = optimal_quantizer(None, values, error, objective)
    scaled = optimal_quantizer(None, [value * scale for value in values], error * scale, objective)
    assert [span.low * scale for span in plain.spans] == [span.low for span in scaled.spans]
    assert plain.smallest_share == scaled.smallest_share
    assert plain.error * scale == scaled.error


@pytest.mark.slow
@given(
    values=st.lists(st.integers(0, 12), min_size=1, max_size=8),
    objective=st.sampled_from(OBJECTIVES),
    error=st.integers(1, 4),
)
@settings(max_examples=100, deadline=None)
def test_order_and_form_of_the_values_do_not_matter(values, objective, error):
    expected = optimal_quantizer(None, sorted(values), error, objective)
    distinct, counts = np.unique(values, return_counts=True)
    forms = [
        (values, None),
        (np.array(values, np.int16), None),
        (np.array(values, np.uint8), None),
        (np.array(values, object), None),
        (distinct, counts),
        (distinct[::-1].tolist(), counts[::-1].tolist()),
        (values, [1] * len(values)),
        ([str(value) for value in values], None),
    ]
    for form, weights in forms:
        assert optimal_quantizer(None, form, error, objective, weights=weights) == expected
    as_doubles = optimal_quantizer(None, np.array(values, np.float32), error, objective)
    assert as_doubles.spans == expected.spans


@given(
    records=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=8),
    error=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_a_weight_stands_for_so_many_records(records, error):
    values, weights = zip(*records, strict=True)
    repeated = [value for value, weight in records for _ in range(weight)]
    weighted = optimal_quantizer(None, values, error, "leakage", weights=weights)
    assert weighted == optimal_quantizer(None, repeated, error, "leakage")


def test_a_query_is_applied_to_the_values():
    expected = optimal_quantizer(None, [0, 1, 4, 9], 2)
    assert optimal_quantizer(lambda x: x * x, [0, 1, -2, 3], 2) == expected
    assert optimal_quantizer(lambda x: x * x, np.array([0, 1, -2, 3]), 2) == expected


def test_unsigned_integers_beyond_the_signed_ones_keep_their_value():
    values = np.array([0, 2**64 - 1], np.uint64)
    quantizer = optimal_quantizer(None, values, 1)
    assert [span.low for span in quantizer.spans] == [0, 2**64 - 1]


def test_heavy_weights_count_without_being_listed():
    weights = [10**15, 1, 10**15]
    best = optimal_quantizer(None, [0, 1, 2], "0.5", "leakage", weights=weights)
    assert best.smallest_share == Fraction(10**15, 2 * 10**15 + 1)
    assert best.smallest_share <= best.share_limit <= Fraction(1, 2)


def test_edges_between_values_are_short():
    assert SortedValues.of(np.array([3.2, 4.7])).edge_before(1) == 4
    assert SortedValues.of([3, 4]).edge_before(1) == Fraction(7, 2)
    assert SortedValues.of([1000, 5000]).edge_before(1) == 3000
    assert SortedValues.of(["1/3", "2/3"]).edge_before(1) == Fraction(1, 2)


@pytest.mark.parametrize(
    "values",
    [
        [],
        np.array([]),
        [1, math.nan],
        np.array([1, math.nan]),
        np.array([math.inf]),
        np.array([-1.7e308, 1.7e308]),
        ["a"],
        np.array(["a", "b"]),
        np.array([[1, 2]]),
        np.array([True, False]),
        [None],
        np.array([1 + 2j]),
    ],
)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_values_that_are_no_finite_numbers_are_refused(values, objective):
    with pytest.raises(OptionError, match="; hint: "):
        optimal_quantizer(None, values, 1, objective)


@pytest.mark.parametrize("weights", [[1], [1, 0], [1, -1], [0.5, 0.5], [1, None], [2**62, 2**62]])
def test_weights_that_are_no_counts_are_refused(weights):
    with pytest.raises(OptionError, match="; hint: "):
        optimal_quantizer(None, [1, 2], 1, "leakage", weights=weights)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: optimal_quantizer(None, [1, 2], 0),
        lambda: optimal_quantizer(None, [1, 2], "x"),
        lambda: optimal_quantizer(None, [1, 2], 1, "best"),
        lambda: optimal_quantizer("x", [1, 2], 1),
        lambda: optimal_quantizer(None, SQUARE, 1),
        lambda: optimal_quantizer(MEAN, SQUARE, 1, weights=[1]),
        lambda: optimal_quantizer("x1 + y", SQUARE, 1),
        lambda: optimal_quantizer("3", SQUARE, 1),
        lambda: optimal_quantizer("1 / x1", SQUARE, 1),
        lambda: optimal_quantizer("log(x1)", SQUARE, 1),
        lambda: optimal_quantizer(MEAN, SQUARE, "1e-9"),
        lambda: optimal_quantizer(MEAN, SQUARE, "1e-4", "leakage"),
        lambda: optimal_quantizer(MEAN, SQUARE, "0.1", "leakage", candidates=0),
        lambda: optimal_quantizer(MEAN, SQUARE, "0.1", "leakage", candidates="many"),
        lambda: optimal_quantizer("x + y", Box({"x": (0, 9), "y": (1, 1)}), 1, "leakage"),
    ],
)
def test_questions_that_make_no_sense_are_refused(wrong):
    with pytest.raises(OptionError, match="; hint: "):
        wrong()


# --- boxes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "box", "low", "high"),
    [
        ("(x1 + 2*x2) / 4 - 1", SQUARE, Fraction(-5, 2), Fraction(1, 2)),
        ("x1**2 + 2*x2**2", SQUARE, 0, 12),
        ("abs(x1) * x2", SQUARE, -4, 4),
        ("max(x1, 0) - min(x2, 1)", SQUARE, -1, 4),
        ("x * (1 - x)", UNIT, 0, Fraction(1, 4)),
        ("(x + 1) * (x + 1)", UNIT, 1, 4),
        ("1 / (x*x - x + 1)", UNIT, 1, Fraction(4, 3)),
    ],
)
def test_the_range_of_a_simple_query_is_exact(query, box, low, high):
    found = known_range(parse_expression(query), box)
    assert (found.outer, found.exact) == (Interval(low, high), True)


@pytest.mark.parametrize(
    ("query", "low", "high"), [("x / (x*x*x - x + 1)", 0, 1.1237), ("exp(x)", 1, math.e)]
)
def test_the_range_of_another_query_is_enclosed_and_not_called_exact(query, low, high):
    found = known_range(parse_expression(query), UNIT)
    assert found.outer.low <= low <= high <= found.outer.high
    assert found.outer.length <= (high - low) * 1.02
    assert not found.exact


GAMMAS = ["0.3", "0.5", "0.8", "1", "1.1", "1.5", "2", "2.2", "3", "7"]


def best_share_of_the_mean(gamma):
    """Return the best smallest share for the mean of two in [-2, 2], as it was derived."""
    if gamma <= Fraction(1, 2):
        return Fraction(1)
    return Fraction(1, 2) if gamma <= 1 else min(Fraction(1, 3), 1 / (2 * gamma**2))


@pytest.mark.parametrize("gamma", GAMMAS)
def test_the_best_smallest_share_of_the_mean_of_two(gamma):
    gamma = Fraction(gamma)
    best = optimal_quantizer(MEAN, SQUARE, 1 / gamma, "leakage")
    truth = best_share_of_the_mean(gamma)
    assert best.smallest_share <= truth <= best.share_limit
    assert truth - best.smallest_share < Fraction(1, 10_000)
    assert best.share_limit - truth < Fraction(3, 1000)
    assert best.error <= 1 / gamma


def test_example_iv_1_the_uniform_quantizer_has_a_smaller_smallest_cell():
    error = 1 / Fraction("2.2")
    best = optimal_quantizer(MEAN, SQUARE, error, "leakage")
    assert float(best.smallest_share) == pytest.approx(0.1033, abs=5e-5)
    assert best.smallest_share == best.share_limit  # proven: nothing is better
    uniform = optimal_quantizer(MEAN, SQUARE, error)
    shares = [volume(SQUARE, MEAN, span).low / SQUARE.volume for span in uniform.spans]
    assert float(min(shares)) == pytest.approx(0.08, abs=5e-5)


def share_of_a_sum(weights, level):
    """Return the share of the unit cube below a plane, by inclusion and exclusion over corners."""
    n, total = len(weights), Fraction(0)
    for corner in range(2**n):
        chosen = [weights[i] for i in range(n) if corner >> i & 1]
        total += (-1) ** len(chosen) * max(level - sum(chosen), Fraction(0)) ** n
    return total / (math.factorial(n) * math.prod(weights))


@pytest.mark.slow
@given(
    weights=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    cells=st.fractions(Fraction(11, 10), 6, max_denominator=10),
)
@settings(max_examples=15, deadline=None)
def test_the_smallest_share_of_a_linear_query_is_that_of_its_finished_cells(weights, cells):
    box = Box.cube(0, 1, size=len(weights))
    query = " + ".join(f"{weight}*x{i}" for i, weight in enumerate(weights, 1))
    error = sum(weights) / (2 * cells)
    best = optimal_quantizer(query, box, error, "leakage", candidates=100)
    below = [share_of_a_sum([Fraction(w) for w in weights], edge) for edge in best.edges]
    shares = [b - a for a, b in pairwise(below)]
    assert (below[0], below[-1]) == (0, 1)
    assert best.smallest_share == min(shares) <= best.share_limit
    assert best.error <= error
    uniform = optimal_quantizer(query, box, error)
    evenly = [share_of_a_sum([Fraction(w) for w in weights], edge) for edge in uniform.edges]
    assert uniform.levels == math.ceil(cells)
    assert min(b - a for a, b in pairwise(evenly)) <= best.share_limit


def test_more_candidates_never_leave_the_limit():
    error = 1 / Fraction("1.1")
    found = [
        optimal_quantizer(MEAN, SQUARE, error, "leakage", candidates=count) for count in (30, 300)
    ]
    assert found[0].smallest_share <= found[1].smallest_share <= Fraction(1, 3)
    assert Fraction(1, 3) <= found[1].share_limit <= found[0].share_limit


@pytest.mark.slow
def test_example_iv_1_the_last_of_twelve_cells_of_a_quadratic_query_cannot_be_larger():
    # What x1**2 + 2*x2**2 sends into [11, 12] has an area of 0.066797.
    best = optimal_quantizer("x1**2 + 2*x2**2", SQUARE, "0.5", "leakage", candidates=48)
    assert [int(edge) for edge in best.edges] == list(range(13))
    assert float(best.smallest_share) * 16 == pytest.approx(0.066797, rel=2e-3)
    assert float(best.share_limit) * 16 == pytest.approx(0.066797, rel=2e-3)
    assert best.smallest_share * 16 <= Fraction("0.0667975")
    assert best.share_limit * 16 >= Fraction("0.0667965")


def test_variables_that_the_query_does_not_name_do_not_matter():
    wide = Box({"x1": (-2, 2), "idle": (5, 5), "x2": (-2, 2)})
    one = optimal_quantizer(MEAN, SQUARE, "0.4", "leakage", candidates=64)
    other = optimal_quantizer(MEAN, wide, "0.4", "leakage", candidates=64)
    assert one == other


# --- linear queries, whose outermost cells hold least ---------------------------------------------


@pytest.mark.slow
@given(
    coefficients=st.lists(st.integers(-3, 3).filter(bool), min_size=1, max_size=4),
    cells=st.fractions(Fraction(11, 10), 12, max_denominator=50),
)
@settings(max_examples=40, deadline=None)
def test_widest_ends_are_as_good_as_the_best_of_many_candidates(coefficients, cells):
    box = Box.cube(0, 1, size=len(coefficients))
    query = sum(c * v for c, v in zip(coefficients, variables(*box.names), strict=True))
    length = Fraction(sum(map(abs, coefficients)))
    error = length / cells / 2
    found = optimal_quantizer(query, box, error, "leakage")
    searched = optimal_quantizer(query, box, error, "leakage", candidates=128)
    assert found.error <= error
    assert (found.low, found.high) == (searched.low, searched.high)
    assert searched.smallest_share <= found.smallest_share <= searched.share_limit
    assert found.smallest_share <= found.share_limit
    shares = [volume(box, query, Interval(a, b)).low / box.volume for a, b in pairwise(found.edges)]
    assert min(shares) == found.smallest_share
    assert sum(shares) == 1


@pytest.mark.slow
def test_the_least_leakage_about_five_thousand_people_is_found_at_once():
    box = Box.cube(100, 250, size=5000)
    found = optimal_quantizer(mean(variables(*box.names)), box, "1.7", "leakage")
    assert found.levels == 45
    assert found.error == Fraction(17, 10)
    assert found.smallest_share == found.share_limit


def test_bounds_that_add_up_to_more_than_everything_leave_the_limit_of_the_ends():
    # Volumes of many variables are enclosed only roughly: ten slots that may hold all each.
    box = Box.cube(0, 1, size=2)
    query = parse_expression("x1*x2")
    known = known_range(query, box)
    slots = Slots.cut(query, box, found=known, width=Fraction(1, 2), candidates=10)
    rough = replace(slots, shares=((Fraction(0), Fraction(1)),) * len(slots.shares))
    # x1*x2 >= 1/2 has the share 1/2 - log(2)/2 = 0.1534.
    assert slots.limit() <= rough.limit() == pytest.approx(0.1534, abs=1e-3)
