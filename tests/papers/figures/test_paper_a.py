"""The figures of paper A show what they are expected to show."""

import dataclasses
import math
from fractions import Fraction

import pytest

from figures import failed
from hartley.papers import a

fig1, fig2, fig3 = a.fig1(), a.fig2(), a.fig3()


@pytest.fixture(scope="module")
def mean():
    return fig1.compute(points=8)


@pytest.fixture(scope="module")
def ellipses():
    return fig2.compute(points=8)


@pytest.fixture(scope="module")
def tradeoff():
    return fig3.compute(points=20, people=(2, 3, 5))


def test_the_findings_of_figure_1_hold(mean):
    assert failed(fig1, mean) == []


def test_the_findings_of_figure_2_hold(ellipses):
    assert failed(fig2, ellipses) == []


def test_the_findings_of_figure_3_hold(tradeoff):
    assert failed(fig3, tradeoff) == []


def test_the_regions_of_figure_1_are_triangles_and_trapezes_counted_on_a_fine_grid(mean):
    side = [Fraction(4 * (2 * k + 1), 400) - 2 for k in range(200)]
    for regions in (mean.fewest, mean.equal, mean.least):
        found = [0] * len(regions.areas)
        for x1 in side:
            for x2 in side:
                value = (x1 + x2) / 2
                found[sum(edge <= value for edge in regions.edges[1:-1])] += 1
        for count, area in zip(found, regions.areas, strict=True):
            assert count * 16 / 200**2 == pytest.approx(area, abs=0.06)


def test_the_best_cells_of_every_figure_stay_within_the_error(mean, ellipses):
    for regions in (*_regions(mean), *_regions(ellipses)):
        widest = max(b - a for a, b in zip(regions.edges, regions.edges[1:], strict=False))
        assert widest <= 2 / regions.accuracy + Fraction(1, 10**6)


def _regions(numbers):
    return numbers.fewest, numbers.equal, numbers.least


def test_the_colours_of_a_region_are_what_is_released_there(mean):
    heat = fig1.plot(mean).panels[0].heat
    for x1, x2, shown in heat.cells():
        cell = min(int((x1 + x2) / 2 + 2), 3)
        assert shown == float(mean.fewest.released[cell])


def test_figure_3_would_notice_a_curve_that_turns(tradeoff):
    turned = dataclasses.replace(tradeoff, points=tradeoff.points[::-1])
    assert not fig3.findings(turned)[0].holds


def test_figure_3_would_notice_the_printed_error_of_three_people(tradeoff):
    printed = tuple(150 * math.sqrt(2) / q for q in tradeoff.cells)
    wrong = dataclasses.replace(tradeoff, errors=tradeoff.errors | {3: printed})
    assert not fig3.findings(wrong)[-1].holds
    assert all(claim.holds for claim in fig3.findings(wrong)[:-1])


def test_figure_1_would_notice_equal_cells_passed_off_as_the_best(mean):
    wrong = dataclasses.replace(mean, least=mean.equal)
    assert [claim.holds for claim in fig1.findings(wrong)] == [True, True, True, False]


def test_figure_2_would_notice_a_wrong_area(ellipses):
    areas = (*ellipses.fewest.areas[:-1], 0.0668)
    wrong = dataclasses.replace(
        ellipses, fewest=dataclasses.replace(ellipses.fewest, areas=areas[::-1])
    )
    assert not fig2.findings(wrong)[1].holds


def test_the_contours_of_figure_2_lie_on_their_ellipses_and_are_drawn_without_marks(ellipses):
    arcs = fig2.plot(ellipses).panels[0].series
    assert len(arcs) == 4 + 4 * 2 + 3 * 4
    for arc in arcs:
        assert len(arc.x) > 30  # up to 30 points a picture marks each
        values = [a * a + 2 * b * b for a, b in zip(arc.x, arc.y, strict=True)]
        assert max(abs(value - round(values[0])) for value in values) < 1e-4
