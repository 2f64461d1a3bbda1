"""The measure of what a query sends into an interval, exact or certified."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from hartley import Box, Interval, OptionError
from hartley.boxes import Volume, parse_expression, variables, volume
from hartley.boxes.expression import Expression
from hartley.boxes.volumes import exact_share, half_space, invert, series_share, slab_share
from queries import queries

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


@pytest.mark.slow
def test_many_different_weights_are_bounded_and_say_so():
    names = [f"x{i}" for i in range(60)]
    query = sum(Fraction(10**9 + 7**i % 10**9, 10**9) * v for i, v in enumerate(variables(*names)))
    box = Box(dict.fromkeys(names, (-1, 1)))
    found = [volume(box, query, ends) for ends in ((-500, -1), (-1, 1))]
    assert not found[0].exact
    assert not found[1].exact
    # Below, between and above: the law is symmetric.
    assert 2 * found[0].low + found[1].low <= box.volume <= 2 * found[0].high + found[1].high
    assert all(part.high - part.low <= part.low / 10**9 for part in found)


def test_the_lower_half_and_the_whole_of_any_linear_query_are_exact():
    names = [f"x{i}" for i in range(60)]
    query = sum(Fraction(10**9 + 7**i % 10**9, 10**9) * v for i, v in enumerate(variables(*names)))
    box = Box(dict.fromkeys(names, (-1, 1)))
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


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_certified_volumes_agree_with_random_points(data):
    drawn = queries(
        (["+", "-", "*", "min", "max"], ["abs", "exp"]),
        st.just(Fraction(1, 2)),
        names=("x1", "x2"),
        power=2,
        leaves=6,
    )
    query = data.draw(drawn)
    low, high = sorted(data.draw(st.tuples(parts, parts)))
    assume(low < high)
    interval = Interval(low, high, data.draw(st.booleans()), data.draw(st.booleans()))
    bounds = volume(Box.cube(-1, 1, size=2), query, interval, gap=1e-2)
    assert 0 <= bounds.low <= bounds.high <= 4
    points = np.random.default_rng(5).uniform(-1, 1, (2, 40_000))
    values = evaluate(query, {"x1": points[0], "x2": points[1]})
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
            "pow": lambda x: x ** query.arguments[1],
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


# --- between two planes: exact by corners, certified by Fourier series ---------------------------

widths = st.fractions(min_value=Fraction(1, 20), max_value=3, max_denominator=20)
groups = st.dictionaries(widths, st.integers(1, 3), min_size=1, max_size=3).map(
    lambda found: list(found.items())
)
levels = st.tuples(
    st.fractions(min_value=0, max_value=1, max_denominator=30),
    st.fractions(min_value=0, max_value=1, max_denominator=30),
).map(sorted)


def brute(groups, level):
    """Return the share below a plane by all subsets of the widths, without any grouping."""
    flat = [width for width, count in groups for _ in range(count)]
    total = Fraction(0)
    for size in range(len(flat) + 1):
        for chosen in combinations(flat, size):
            rest = level - sum(chosen, Fraction(0))
            if rest > 0:
                total += (-1) ** size * rest ** len(flat)
    return total / math.factorial(len(flat)) / math.prod(flat)


def reach(groups):
    return sum((width * count for width, count in groups), Fraction(0))


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(groups, levels)
def test_the_exact_share_is_that_of_all_subsets(groups, share):
    low, high = (part * reach(groups) for part in share)
    assert exact_share(groups, low, high) == brute(groups, high) - brute(groups, low)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(groups, levels)
def test_a_slab_and_its_mirror_image_hold_the_same(groups, share):
    total = reach(groups)
    low, high = (part * total for part in share)
    found = slab_share(groups, low, high)
    assert found[0] == found[1]
    assert found == slab_share(groups, total - high, total - low)
    assert found[0] == (brute(groups, high) - brute(groups, low) if low < high else 0)


halves = st.fractions(min_value=Fraction(1, 2), max_value=1, max_denominator=20)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(halves, min_size=12, max_size=15), levels)
def test_the_series_encloses_the_exact_share_closely(flat, share):
    groups = [(width, flat.count(width)) for width in dict.fromkeys(flat)]
    total = reach(groups)
    low, high = share[0] * total, share[1] * total + total / 1000
    if low + high > total:
        low, high = max(total - high, Fraction(0)), total - low
    exact = exact_share(groups, low, high)
    below, above = series_share(groups, low, high)
    assert below <= exact <= above
    assert above - below <= exact / 10**9


@pytest.mark.parametrize("people", [40, 200, 1000])
@pytest.mark.parametrize("part", ["1/2", "1/3", "1/20"])
def test_the_series_holds_for_many_equal_people(people, part):
    level = people * Fraction(part)
    exact = exact_share([(Fraction(1), people)], Fraction(0), level)
    below, above = series_share([(Fraction(1), people)], Fraction(0), level)
    assert below <= exact <= above
    assert above - below <= exact / 10**9


def test_a_share_far_below_the_smallest_double_is_still_close():
    # The corner of 10,000 people: 1/10000!, about 10^-35660.
    corner = slab_share([(Fraction(1), 10_000)], Fraction(0), Fraction(1))
    assert corner == (Fraction(1, math.factorial(10_000)),) * 2
    below, above = series_share([(Fraction(1), 10_000)], Fraction(0), Fraction(1))
    assert below <= corner[0] <= above
    assert above - below <= corner[0] / 10**8


def test_half_of_ten_thousand_people_is_a_half():
    below, above = slab_share([(Fraction(1), 10_000)], Fraction(0), Fraction(5000))
    assert below <= Fraction(1, 2) <= above
    assert above - below < Fraction(1, 10**9)


@pytest.mark.slow
def test_ten_thousand_different_weights_are_bounded_closely():
    rng = np.random.default_rng(7)
    groups = [(Fraction(int(k), 10**9), 1) for k in rng.integers(1, 10**9, 10_000)]
    total = reach(groups)
    below, above = slab_share(groups, Fraction(0), total / 2)
    assert below <= Fraction(1, 2) <= above
    assert above - below < Fraction(1, 10**9)
    # Two thirds of a standard deviation below the middle, against the normal law.
    deviation = math.sqrt(sum(float(width) ** 2 for width, _ in groups) / 12)
    level = total / 2 - Fraction(deviation * 2 / 3)
    share = slab_share(groups, Fraction(0), level)
    assert float(share[0]) == pytest.approx(math.erfc(2 / 3 / math.sqrt(2)) / 2, rel=1e-4)


def test_parts_of_the_range_add_up():
    groups = [(Fraction(1 + k % 7, 10), 1) for k in range(30)]
    groups = [(w, c) for w, c in {w: sum(v == w for v, _ in groups) for w, _ in groups}.items()]
    total = reach(groups)
    edges = [total * k / 7 for k in range(8)]
    parts = [slab_share(groups, a, b) for a, b in pairwise(edges)]
    assert sum(low for low, _ in parts) <= 1 <= sum(high for _, high in parts)
    assert sum(high for _, high in parts) - sum(low for low, _ in parts) < Fraction(1, 10**9)


def test_widths_of_very_different_size_stay_certified():
    # Only one width is of any size, so the series converges slowly; its bounds still hold.
    groups = [(Fraction(1), 1), (Fraction(1, 1000), 12)]
    exact = exact_share(groups, Fraction(0), Fraction(1, 3))
    below, above = series_share(groups, Fraction(0), Fraction(1, 3))
    assert below <= exact <= above
    assert above - below < exact / 10**6


def test_nothing_lies_outside_the_range():
    cube = [(Fraction(1), 3)]
    assert slab_share(cube, Fraction(-5), Fraction(0)) == (0, 0)
    assert slab_share(cube, Fraction(3), Fraction(9)) == (0, 0)
    assert slab_share(cube, Fraction(-5), Fraction(9)) == (1, 1)


def test_a_series_cut_short_is_honest_about_it(monkeypatch):
    monkeypatch.setattr("hartley.boxes.volumes.MOST_FACTORS", 1)
    groups = [(Fraction(1), 2), (Fraction(1, 1000), 5)]
    for level in (Fraction(1, 3), Fraction(1, 2), Fraction(7, 8)):
        exact = exact_share(groups, Fraction(0), level)
        below, above = series_share(groups, Fraction(0), level)
        assert below <= exact <= above
        assert above - below > exact / 10**9


# --- set inversion -------------------------------------------------------------------------------

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


def test_single_points_of_positive_measure_follow_the_ends_of_the_interval():
    query, box = parse_expression("max(x1, 0) + max(x2, 0)"), Box.cube(-1, 1, size=2)
    without = invert(query, box, Interval(0, 4, low_closed=False), gap=1e-6)
    with_zero = invert(query, box, Interval(0, 4), gap=1e-6)
    assert without.low == pytest.approx(0.75, abs=1e-6)
    assert with_zero.low == pytest.approx(1, abs=1e-6)
    assert without.high < 0.7501


@pytest.mark.slow
@pytest.mark.parametrize(("people", "level", "gap"), [(4, "1/50", 0.03), (5, "1/100", 0.2)])
def test_a_product_of_several_people_is_enclosed(people, level, gap):
    query = parse_expression("*".join(f"x{i}" for i in range(1, people + 1)))
    bounds = invert(query, Box.cube(0, 1, size=people), Interval(-1, level), gap=gap)
    log = -math.log(Fraction(level))
    truth = float(Fraction(level)) * sum(log**k / math.factorial(k) for k in range(people))
    assert bounds.low <= truth <= bounds.high <= bounds.low * (1 + gap)


def test_a_largest_value_of_positive_measure_is_kept_where_it_counts():
    query, box = parse_expression("min(x1, 0) + min(x2, 0)"), Box.cube(-1, 1, size=2)
    with_zero = invert(query, box, Interval(0, 4), gap=1e-6)
    without = invert(query, box, Interval(0, 4, low_closed=False), gap=1e-6)
    assert with_zero.low <= 0.25 <= with_zero.high < 0.2501
    assert without.low == 0
    assert without.high < 1e-4
