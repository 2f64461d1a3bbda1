"""Numbers of the papers about continuous ranges, as corrected."""

import math
from fractions import Fraction

import pytest

from hartley import (
    Box,
    CutBox,
    Interval,
    maximin_information,
    nonstochastic_leakage,
    smallest_error,
)
from hartley.boxes import IntervalUnion, variables
from hartley.boxes.expression import mean
from hartley.measures import (
    analyse_intervals,
    best_estimator,
    largest_error,
    largest_error_bound,
    nonstochastic_information,
    smallest_error_bound,
)


def equal_cells(low, high, levels):
    return [low + Fraction(high - low) * k / levels for k in range(levels + 1)]


def mean_of(people, low, high, levels):
    box = Box.cube(low, high, size=people)
    return CutBox(box, mean(variables(*box.names)), equal_cells(low, high, levels))


# --- Farokhi 2019, Example IV.1: the mean of two numbers in [-2, 2] ------------------------------


@pytest.mark.parametrize("gamma", ["0.4", "0.5", "0.7", "1", "1.5", "2", "2.2", "5", "10"])
def test_the_mean_of_two_leaks_as_the_example_says(gamma):
    levels = math.ceil(2 * Fraction(gamma))
    cut = mean_of(2, -2, 2, levels)
    assert maximin_information(cut, base=math.e) == pytest.approx(math.log(levels))
    if levels == 1:
        assert nonstochastic_leakage(cut) == 0
        assert smallest_error(cut) == pytest.approx(2 * math.sqrt(2))
    else:
        assert cut.smallest.low == Fraction(32, levels**2)
        leakage = nonstochastic_leakage(cut, base=math.e)
        assert leakage == pytest.approx(math.log(levels**2 / 2))
        assert smallest_error(cut) == pytest.approx(4 * math.sqrt(2) / levels)
        assert best_estimator(cut, 0).squared_error == Fraction(32, levels**2)


def test_the_printed_numbers_for_an_accuracy_of_two():
    cut = mean_of(2, -2, 2, 4)
    assert maximin_information(cut, base=math.e) == pytest.approx(1.386294, abs=1e-6)
    assert nonstochastic_leakage(cut, base=math.e) == pytest.approx(2.079442, abs=1e-6)
    assert smallest_error(cut) == pytest.approx(1.414214, abs=1e-6)


def test_five_uniform_cells_leave_eight_hundredths_of_the_square():
    # gamma = 2.2 takes 5 cells, the smallest of which is 0.08 of the square.
    cut = mean_of(2, -2, 2, 5)
    assert cut.smallest.low / cut.total == Fraction(8, 100)


# --- Example IV.1: x1^2 + 2 x2^2 -----------------------------------------------------------------

AREAS = [2.221441] * 4 + [
    1.771385,
    1.448980,
    1.277429,
    1.159061,
    0.744434,
    0.424428,
    0.221721,
    0.066797,
]


@pytest.fixture(scope="module")
def ellipses():
    return CutBox(Box.cube(-2, 2, size=2), "x1**2 + 2*x2**2", range(13), gap=1e-6)


def test_the_twelve_areas_between_ellipses_are_certified(ellipses):
    assert len(ellipses.volumes) == 12
    for found, area in zip(ellipses.volumes, AREAS, strict=True):
        assert found.low - Fraction(1, 10**6) <= area <= found.high + Fraction(1, 10**6)
        assert found.high - found.low <= found.low * Fraction(1e-6)
    for found in ellipses.volumes[:4]:  # whole ellipses: pi / sqrt(2)
        assert found.low <= Fraction(math.pi / math.sqrt(2)) <= found.high


def test_the_areas_between_ellipses_fill_the_square(ellipses):
    assert sum(v.low for v in ellipses.volumes) <= 16 <= sum(v.high for v in ellipses.volumes)


def test_the_query_of_ellipses_leaks_as_the_example_says(ellipses):
    leakage = nonstochastic_leakage(ellipses, base=math.e)
    assert leakage == pytest.approx(5.478683, abs=2e-6)
    assert maximin_information(ellipses, base=math.e) == pytest.approx(2.484907, abs=1e-6)
    least = nonstochastic_information(ellipses, base=math.e)
    assert least == pytest.approx(math.log(16 / (math.pi / math.sqrt(2))), abs=2e-6)
    assert least >= math.log(16 / (math.pi / math.sqrt(2)))


# --- Example IV.2: heights in [100, 250], corrected ----------------------------------------------


@pytest.mark.parametrize(("levels", "error"), [(21, 10.1015), (22, 9.6424)])
def test_two_people_keep_ten_centimetres_with_21_bins_not_with_22(levels, error):
    assert smallest_error(mean_of(2, 100, 250, levels)) == pytest.approx(error, abs=5e-5)


@pytest.mark.parametrize(("people", "levels"), [(2, 2), (2, 9), (3, 3), (3, 10), (4, 7), (5, 6)])
def test_the_error_depends_on_the_number_of_people(people, levels):
    cut = mean_of(people, 100, 250, levels)
    truth = Fraction(150, levels) ** 2 * people * (people - 1)
    assert best_estimator(cut, 0).squared_error == truth
    assert smallest_error(cut) == pytest.approx(150 * math.sqrt(people * (people - 1)) / levels)


# --- Theorems II.1 and II.2 ----------------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 2, 3, 4])
@pytest.mark.parametrize("levels", [1, 2, 3, 7])
def test_balls_of_the_volume_of_a_cell_bound_the_adversary(people, levels):
    cut = mean_of(people, -2, 2, levels)
    assert smallest_error_bound(cut) <= smallest_error(cut)
    assert largest_error_bound(cut) <= largest_error(cut)
    if people == 1:  # attained: a ball on the line is an interval
        assert smallest_error_bound(cut) == pytest.approx(smallest_error(cut))


def test_the_bound_is_the_radius_of_the_ball():
    cut = mean_of(2, -2, 2, 4)  # the smallest cell has area 2
    assert smallest_error_bound(cut) == pytest.approx(math.sqrt(2 / math.pi))
    assert largest_error_bound(cut) == pytest.approx(math.sqrt(6 / math.pi))


# --- Farokhi 2021, Example 2: short or tall, measured with an error ------------------------------


@pytest.mark.parametrize(("error", "gap"), [(10, -0.125163), (20, -0.236389)])
def test_a_larger_measurement_error_blurs_the_test(error, gap):
    short = IntervalUnion.of([Interval(100 - error, 150 + error)])
    tall = IntervalUnion.of([Interval(150 - error, 250 + error, low_closed=False)])
    analysis = analyse_intervals(short, tall, base=math.e)
    assert analysis.deciding == 150
    assert analysis.ambiguous == 2 * error
    entropy = math.log(analysis.outputs.length)
    assert analysis.performance_bound - entropy == pytest.approx(gap, abs=1e-6)
    assert -analysis.privacy == pytest.approx(gap, abs=1e-6)


# --- Farokhi 2021, Example 4 and Figure 8 --------------------------------------------------------


def irwin_hall(people, level):
    """Return the chance that the sum of some uniform variables is at most a level."""
    return sum(
        (-1) ** k * math.comb(people, k) * (level - k) ** people
        for k in range(math.floor(level) + 1)
    ) / math.factorial(people)


@pytest.mark.parametrize("people", [2, 3, 5, 10, 30])
@pytest.mark.parametrize("bits", [2, 3, 4])
def test_the_leakage_of_a_mean_is_that_of_its_outermost_cell(people, bits):
    levels = people * (2 ** (bits - 1) - 1)  # the printed rule of the figure
    leakage = nonstochastic_leakage(mean_of(people, 0, 1, levels), base=math.e)
    assert leakage == pytest.approx(-math.log(irwin_hall(people, Fraction(people, levels))))
    if bits == 2:
        assert leakage == pytest.approx(math.lgamma(people + 1))


def test_the_leakage_of_a_mean_grows_with_the_number_of_people():
    leakages = [nonstochastic_leakage(mean_of(n, 0, 1, 2 * n)) for n in (2, 4, 8, 16, 32, 64)]
    assert leakages == sorted(leakages)
    assert len(set(leakages)) == 6


def test_the_leakage_of_a_mean_of_ten_thousand_people():
    leakage = nonstochastic_leakage(mean_of(10_000, 0, 1, 10_000), base=math.e)
    assert leakage == pytest.approx(math.lgamma(10_001), rel=1e-12)
