"""The measure of what a query sends into an interval, exact or certified."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from expressions import expressions
from hartley import Box, Interval
from hartley.boxes import Volume, parse_expression, variables, volume
from hartley.boxes.expression import Expression
from hartley.errors import OptionError

SQUARE = Box.cube(0, 1, size=2)
parts = st.fractions(min_value=-3, max_value=3, max_denominator=6)


# --- linear queries ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ends", "truth"),
    [
        ("x1 + x2", (0, 1), "1/2"),
        ("x1 + x2", (0, "1/2"), "1/8"),
        ("x1 - x2", (0, 1), "1/2"),
        ("2*x1 + 0*x2", ("1/2", 1), "1/4"),
        ("x1 + 2*x2", (1, 2), "1/2"),
        ("-x1", (-2, "-1/3"), "2/3"),
        ("x1 - x1", (0, 0), "1"),
        ("5", (0, 4), "0"),
        ("5", (5, 6), "1"),
    ],
)
def test_small_linear_queries_are_exact_and_right(text, ends, truth):
    bounds = volume(SQUARE, text, ends)
    assert bounds.exact
    assert bounds.low == Fraction(truth)


def test_a_constant_query_follows_the_ends_of_the_interval():
    assert volume(SQUARE, "x1 - x1 + 1", Interval(0, 1)).low == 1
    assert volume(SQUARE, "x1 - x1 + 1", Interval(0, 1, high_closed=False)).high == 0


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(parts, min_size=1, max_size=3), parts, parts, st.randoms(use_true_random=False))
def test_a_linear_volume_agrees_with_a_fine_count_of_cells(coefficients, one, other, random):
    low, high = sorted((one, other))
    sides = {f"x{i}": sorted((random.randint(-3, 3), random.randint(4, 6))) for i in range(3)}
    box = Box(sides)
    names = list(sides)[: len(coefficients)]
    query = Expression("const", (Fraction(1, 2),))
    for by, name in zip(coefficients, names, strict=True):
        query = query + by * variables(name)[0]
    bounds = volume(box, query, (low, high))
    assert bounds.exact
    # Cells of a grid that lie wholly inside, and those that meet the slab: bounds by counting.
    grid = [np.linspace(float(box[n].low), float(box[n].high), 25) for n in names]
    bottoms = tops = np.full((1,) * len(names), 0.5)
    for axis, (by, edges) in enumerate(zip(coefficients, grid, strict=True)):
        shape = [-1 if i == axis else 1 for i in range(len(names))]
        ends = np.sort(np.stack([float(by) * edges[:-1], float(by) * edges[1:]]), axis=0)
        bottoms, tops = bottoms + ends[0].reshape(shape), tops + ends[1].reshape(shape)
    inside = (bottoms >= float(low) + 1e-9) & (tops <= float(high) - 1e-9)
    touched = (tops >= float(low) - 1e-9) & (bottoms <= float(high) + 1e-9)
    share = bounds.low / box.volume
    assert inside.mean() <= share <= touched.mean()


def test_equal_people_take_one_term_a_person():
    people = 300
    bounds = volume(Box.cube(0, 1, size=people), lambda *x: sum(x) / len(x), (0, "1/2"))
    assert bounds.exact
    assert bounds.low == Fraction(1, 2)


def test_few_groups_of_people_are_exact():
    names = [f"x{i}" for i in range(40)]
    box = Box(dict.fromkeys(names, (0, 1)))
    query = sum((1 + i % 2) * v for i, v in enumerate(variables(*names)))
    bounds = volume(box, query, (0, 30))
    assert bounds.exact
    assert bounds.low == Fraction(1, 2)
    assert volume(box, query, (0, 1)).low == Fraction(1, math.factorial(40) * 2**20)


@pytest.mark.slow
@pytest.mark.parametrize("level", [175, 160, "100.015"])
def test_ten_thousand_people_have_an_accurate_logarithm(level):
    bounds = volume(Box.cube(100, 250, size=10_000), lambda *x: sum(x) / len(x), (100, level))
    low, high = bounds.log()
    assert low <= high
    assert high - low <= 1e-9 * abs(low)
    if level == 175:
        assert low <= 10_000 * math.log2(150) - 1 <= high
    if level == "100.015":  # one ten-thousandth of the range: a simplex, 150^n / n!
        assert high == pytest.approx(
            10_000 * math.log2(150) - math.lgamma(10_001) / math.log(2), rel=1e-12
        )


def many_weights():
    names = [f"x{i}" for i in range(60)]
    query = sum(Fraction(10**9 + 7**i % 10**9, 10**9) * v for i, v in enumerate(variables(*names)))
    return query, Box(dict.fromkeys(names, (-1, 1)))


@pytest.mark.slow
def test_many_different_weights_are_bounded_and_say_so():
    query, box = many_weights()
    found = [volume(box, query, ends) for ends in ((-500, -1), (-1, 1))]
    assert not found[0].exact
    assert not found[1].exact
    # Below, between and above: the law is symmetric.
    assert 2 * found[0].low + found[1].low <= box.volume <= 2 * found[0].high + found[1].high
    assert all(part.high - part.low <= part.low / 10**9 for part in found)


def test_the_lower_half_and_the_whole_of_any_linear_query_are_exact():
    query, box = many_weights()
    assert volume(box, query, (-500, 0)) == Volume(box.volume / 2, box.volume / 2)
    assert volume(box, query, (-500, 500)) == Volume(box.volume, box.volume)


# --- other queries -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "box", "ends", "truth"),
    [
        ("x1*x2", SQUARE, (0, "1/2"), (1 + math.log(2)) / 2),
        (lambda a, b: a * a + b * b, SQUARE, (-1, 1), math.pi / 4),
        ("x2/(1 + x1)", SQUARE, ("1/2", 1), 0.75 - 0.5),
        ("exp(x1)", Box.cube(0, 1, size=1), (1, 2), math.log(2)),
        ("log(x1)", Box.cube(1, 4, size=1), (0, 1), math.e - 1),
        ("sqrt(x1) + x2", SQUARE, (0, 1), 1 / 3),
        ("abs(x1 - x2) * 1", SQUARE, (0, "1/2"), 0.75),
        ("min(x1, x2) + max(x1, x2)", SQUARE, (-1, 1), 0.5),
    ],
)
def test_other_queries_are_certified_to_the_gap(query, box, ends, truth):
    bounds = volume(box, query, ends, gap=1e-5)
    assert float(bounds.low) - 1e-12 <= truth <= float(bounds.high) + 1e-12
    assert bounds.high - bounds.low <= bounds.low * Fraction(1e-5)


@pytest.mark.parametrize(
    ("text", "interval", "truth"),
    [
        ("max(x1, x2)", (0, "1/2"), "1/4"),
        ("min(x1, x2)", (0, "1/2"), "3/4"),
        ("max(x1, x2, 1/3)", (0, "1/3"), "1/9"),
        ("max(x1, x2, 1/3)", Interval(0, "1/3", high_closed=False), "0"),
        ("abs(x1 - x2)", (0, "1/2"), "3/4"),
        ("abs(x1 - x2)", Interval("1/2", 1), "1/4"),
        ("3 - 2*abs(x1 - 1/2)", (Fraction(5, 2), 3), "1/2"),
        ("sqrt(x1)", (0, "1/2"), "1/4"),
        ("1 + max(x1, 1/2)/2", ("5/4", "5/4"), "1/2"),
        ("max(abs(x1 - 1/2), x2)", (0, "1/4"), "1/8"),
        ("-min(x1, 1 - x2)", ("-1/2", 0), "3/4"),
        ("x1*x2", (0, 1), "1"),
        ("x1*x2", (2, 3), "0"),
    ],
)
def test_queries_that_lead_back_to_linear_ones_are_exact(text, interval, truth):
    bounds = volume(SQUARE, text, interval)
    assert bounds.exact
    assert bounds.low == Fraction(truth)


def test_the_largest_of_a_thousand_people_is_exact():
    box = Box.cube(0, 1, size=1000)
    names = ", ".join(box.names)
    assert volume(box, f"max({names})", (0, "1/2")).ends == (Fraction(1, 2**1000),) * 2


DRAWN = expressions(
    pairs=["+", "-", "*", "min", "max"],
    alone=["abs", "exp"],
    powers=st.just(2),
    largest=6,
    numbers=st.just(Fraction(1, 2)),
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(DRAWN, st.tuples(parts, parts), st.booleans(), st.booleans())
def test_certified_volumes_agree_with_random_points(query, ends, low_closed, high_closed):
    low, high = sorted(ends)
    assume(low < high)
    interval = Interval(low, high, low_closed, high_closed)
    bounds = volume(Box({"x": (-1, 1), "y": (-1, 1)}), query, interval, gap=1e-2)
    assert 0 <= bounds.low <= bounds.high <= 4
    points = np.random.default_rng(5).uniform(-1, 1, (2, 40_000))
    values = evaluate(query, {"x": points[0], "y": points[1]})
    # Sums may round a little; a point within rounding of an end counts for both bounds.
    surely = ((values > float(low) + 1e-9) & (values < float(high) - 1e-9)).mean()
    maybe = ((values > float(low) - 1e-9) & (values < float(high) + 1e-9)).mean()
    error = 6 * 0.5 / math.sqrt(40_000)
    assert float(bounds.low) / 4 <= maybe + error
    assert surely - error <= float(bounds.high) / 4


def evaluate(query, points):
    if query.operation == "const":
        return np.full(40_000, float(query.arguments[0]))
    if query.operation == "var":
        return points[query.arguments[0]]
    inner = [evaluate(part, points) for part in query.parts]
    with np.errstate(all="ignore"):
        return {
            "+": np.add,
            "-": np.subtract,
            "*": np.multiply,
            "min": np.minimum,
            "max": np.maximum,
            "pow": np.square,
            "abs": np.abs,
            "exp": np.exp,
        }[query.operation](*inner)


def test_variables_outside_the_query_scale_the_volume():
    box = Box({"x1": (0, 1), "x2": (0, 1), "z": (0, 5)})
    inner, outer = volume(SQUARE, "x1*x2", (0, "1/2")), volume(box, "x1*x2", (0, "1/2"))
    assert outer.low == 5 * inner.low
    assert outer.high == 5 * inner.high


def test_a_box_without_volume_holds_none():
    assert volume(Box({"x": (1, 1), "y": (0, 2)}), "x*y", (0, 5)) == Volume(
        Fraction(0), Fraction(0)
    )


def test_the_unit_of_a_box_does_not_matter():
    small = volume(Box.cube(0, "1e-9", size=2), "x1*x2", (0, "5e-19"), gap=1e-4)
    assert float(small.low) == pytest.approx(1e-18 * (1 + math.log(2)) / 2, rel=2e-4)


# --- logarithms and refusals ---------------------------------------------------------------------


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6))
def test_bounds_on_the_logarithm_hold(number):
    low, high = Volume(number, number).log()
    assert low <= math.log2(number) <= high
    assert high - low <= 1e-13 * max(1, abs(low))


def test_the_logarithm_of_a_power_of_two_is_exact_and_of_zero_infinite():
    assert Volume(Fraction(1, 8), Fraction(4)).log() == (-3, 2)
    assert Volume(Fraction(0), Fraction(0)).log() == (-math.inf, -math.inf)
    assert Volume(Fraction(0), Fraction(1)).log(math.e)[0] == -math.inf


@pytest.mark.parametrize("gap", [0, 1, -1, math.nan])
def test_a_gap_that_is_no_part_is_refused(gap):
    with pytest.raises(OptionError, match="not between 0 and 1"):
        volume(SQUARE, "x1", (0, 1), gap=gap)


@pytest.mark.parametrize(
    ("query", "interval", "what"),
    [
        ("1/x1", (0, 1), "divides by zero"),
        ("x1 + z", (0, 1), "no variable 'z'"),
        ("x1", (1, 0), "is empty"),
        ("x1", 3, "two ends"),
        ("x1 +", (0, 1), "cannot be read"),
        (7, (0, 1), "neither text nor a function"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(query, interval, what):
    with pytest.raises(OptionError, match=what):
        volume(SQUARE, query, interval)


def test_a_query_given_in_three_ways_is_one_query():
    x1, x2 = variables("x1", "x2")
    found = [
        volume(SQUARE, query, (0, "1/3"))
        for query in ("x1*x2", x1 * x2, lambda a, b: a * b, parse_expression("x1 * x2"))
    ]
    assert len(set(found)) == 1


@pytest.mark.slow
def test_a_sum_as_deep_as_ten_thousand_people_is_read_and_written():
    people = variables(*(f"x{i}" for i in range(10_000)))
    query = sum(people[1:], people[0]) / 10_000
    assert query.names == tuple(f"x{i}" for i in range(10_000))
    assert str(query).startswith("(x0 + x1 + x2")
    assert str(query).endswith("+ x9999)/10000")
    assert set(query.linear()[0].values()) == {Fraction(1, 10_000)}


def test_text_nested_too_deeply_is_refused():
    with pytest.raises(OptionError, match="nested too deeply"):
        volume(SQUARE, "+".join(["x1"] * 20_000), (0, 1))


SPHERE = "x1**2 + x2**2 + x3**2 + x4**2 + x5**2 + x6**2"


def test_a_missed_gap_is_said_and_both_ends_hold_the_truth():
    """The part of a six-dimensional ball in the cube has volume pi^3 / 6 / 2^6."""
    found = volume(Box.cube(0, 1, size=6), SPHERE, (0, 1), most=4000)
    assert not found.reached
    assert not found.exact
    assert found.low < math.pi**3 / 384 < found.high
    assert found.high - found.low > 1e-6 * found.low


@pytest.mark.long
def test_six_variables_miss_the_usual_gap_with_as_many_boxes_as_are_usual():
    found = volume(Box.cube(0, 1, size=6), SPHERE, (0, 1))
    assert not found.reached
    assert found.low < math.pi**3 / 384 < found.high


@pytest.mark.parametrize("query", ["x1 + x2", "x1**2 + 2*x2**2", "abs(x1*x2 - 1)", "max(x1, x2)"])
@pytest.mark.parametrize("gap", [0.3, 1e-3, 1e-5])
@pytest.mark.parametrize("most", [1, 40, 3000, None])
def test_a_gap_is_reached_where_the_ends_are_so_near_and_nowhere_else(query, gap, most):
    found = volume(Box.cube(0, 2, size=2), query, ("1/3", "3/2"), gap=gap, most=most)
    apart = float(found.high - found.low)
    assert found.reached == (apart <= gap * float(found.low) + 1e-11)
    assert found.reached or most is not None


def test_nothing_and_everything_are_known_at_once():
    square = Box.cube(0, 1, size=2)
    assert volume(square, "x1*x2", (2, 3)).reached
    assert volume(square, "x1*x2", (0, 1)).reached
    assert volume(Box({"x": (1, 1)}), "x*x", (0, 1)).reached
