"""The figures of paper D show what they are expected to show."""

import dataclasses
import math
from fractions import Fraction
from itertools import product

import pytest

from figures import REAL, failed, sources
from hartley import BlurringPolicy, StretchPolicy, dataset
from hartley.papers import d

fig4, fig5, fig6, fig7, fig8 = d.fig4(), d.fig5(), d.fig6(), d.fig7(), d.fig8()


@pytest.fixture(scope="module")
def accuracy():
    return fig4.compute(accuracies=tuple(Fraction(k, 100) for k in (5, 20, 100, 500)))


@pytest.fixture(scope="module", **sources("young_people"))
def survey(request):
    return fig5.compute(request.param)


@pytest.fixture(scope="module")
def leakage():
    return fig8.compute(most_people=12, most_bits=4)


def test_the_findings_of_figure_4_hold(accuracy):
    assert failed(fig4, accuracy) == []


def test_the_findings_of_figure_5_hold(survey):
    assert failed(fig5, survey) == []
    assert fig5.plot(survey).synthetic == survey.synthetic


def test_the_findings_of_figure_6_hold():
    assert failed(fig6, fig6.compute(points=20)) == []


def test_the_findings_of_figure_7_hold():
    assert failed(fig7, fig7.compute()) == []


def test_the_findings_of_figure_8_hold(leakage):
    assert failed(fig8, leakage) == []


def test_the_claimed_privacy_is_the_share_of_the_band_counted_on_a_grid(accuracy):
    (point,) = [p for p in accuracy.points if p.accuracy == Fraction(1, 20)]
    near = total = 0
    for weight, height in product(range(1, 400, 2), range(1, 500, 2)):  # middles of half units
        near += abs(weight / 2 - 30 * (height / 200) ** 2) <= 20
        total += 1
    share = near / total
    assert point.claimed == pytest.approx(share / (1 - share), rel=0.01)


@pytest.mark.parametrize(
    ("kind", "policy_of"), [("blur", BlurringPolicy), ("stretch", StretchPolicy)]
)
def test_the_histogram_is_of_what_the_exact_policy_releases(kind, policy_of):
    import numpy as np

    height, weight = np.array([160.0, 172.0, 180.0, 190.0]), np.array([80.0, 60.0, 99.0, 108.0])
    found, same = d._released(kind, Fraction(10), height, weight)
    policy = policy_of(d.OBESE, 10, d.PEOPLE)
    exact = [
        float(policy.release({"weight": w, "height": h})["weight"])
        for w, h in zip(weight, height, strict=True)
    ]
    assert same
    assert found == pytest.approx(exact, abs=1e-9)


def test_who_is_hidden_is_what_the_outputs_of_all_whole_weights_say(survey):
    """Written anew: every whole weight of a height is released, and outputs are compared."""
    import numpy as np

    people = dataset("young_people", data="synthetic" if survey.synthetic else REAL)
    people = people.complete("Height", "Weight")
    heights, weights = people.numbers("Height"), people.numbers("Weight")
    pairs = sorted(set(product(heights.tolist(), range(201))))
    hs, ws = map(np.append, (heights, weights), zip(*pairs, strict=True))
    for kind in d.NAMES if survey.synthetic else ("stretch",):
        (report,) = [r for r in survey.of(kind) if r.accuracy == Fraction(1, 20)]
        seen, outputs = {}, d._released(kind, Fraction(20), hs, ws)[0].tolist()
        for h, w, out in zip(hs, ws, outputs, strict=True):
            seen.setdefault((h, out), set()).add(100 * 100 * w >= 30 * h * h)
        both = [len(seen[h, out]) == 2 for h, out in zip(heights, outputs, strict=False)]
        assert report.hidden == sum(both)
    if not survey.synthetic:
        (report,) = [r for r in survey.of("stretch") if r.accuracy == Fraction(1, 20)]
        assert (report.near, report.hidden, report.hidden_obese) == (257, 253, 9)


def test_everybody_is_counted_once_in_every_histogram():
    numbers = fig5.compute(accuracies=(Fraction(1, 20),))
    inside = sum(map(sum, numbers.counts))
    assert 0.97 * numbers.people <= inside <= numbers.people
    for report in numbers.reports:
        assert sum(map(sum, report.counts)) == pytest.approx(inside, abs=0.03 * numbers.people)


def test_what_a_mean_tells_about_one_person_is_what_a_fine_grid_shows(leakage):
    # Three people in thirds of a cell: the least telling range of one person given the mean.
    people, grid = 3, 12
    for bits, row in zip(leakage.budgets, leakage.person_printed, strict=True):
        levels = max(1, people * (2 ** (bits - 1) - 1))
        seen = {}
        for values in product(range(grid + 1), repeat=people):
            cell = min(sum(values) * levels // (people * grid), levels - 1)
            low, high = seen.get(cell, (grid, 0))
            seen[cell] = min(low, values[0]), max(high, values[0])
        smallest = min(high - low for low, high in seen.values()) / grid
        reach = 1 / math.exp(row[leakage.people.index(people)])
        assert smallest == pytest.approx(reach, abs=2 / grid)


def test_the_leakage_of_two_people_is_that_of_a_corner_of_the_square(leakage):
    # The outermost of q cells of a mean of two is a triangle of legs 2/q.
    for bits, row in zip(leakage.budgets, leakage.everybody_sharp, strict=True):
        levels = max(2**bits, math.ceil((2 ** (bits - 1) + 1) * 2) - 1)
        assert row[0] == pytest.approx(-math.log(2 / levels**2) if levels > 1 else 0)


def test_figure_4_would_notice_a_policy_that_keeps_nothing(accuracy):
    points = tuple(dataclasses.replace(point, stretched=0.0) for point in accuracy.points)
    claims = fig4.findings(dataclasses.replace(accuracy, points=points))
    assert [claim.holds for claim in claims] == [True, True, True, False, True]
    points = tuple(dataclasses.replace(p, blurred=p.claimed) for p in accuracy.points)
    claims = fig4.findings(dataclasses.replace(accuracy, points=points))
    assert [claim.holds for claim in claims] == [True, True, True, True, False]


def test_figure_5_would_notice_a_policy_that_moves_too_far_or_piles_people_up():
    numbers = fig5.compute(accuracies=(Fraction(1, 5), Fraction(1, 20)))
    far = tuple(dataclasses.replace(r, largest_move=30.0) for r in numbers.reports)
    assert not fig5.findings(dataclasses.replace(numbers, reports=far))[0].holds
    piled = tuple(dataclasses.replace(r, on_line=r.near) for r in numbers.reports)
    assert not fig5.findings(dataclasses.replace(numbers, reports=piled))[4].holds
    for hidden in (lambda r: r.near, lambda r: r.near // 2):
        claimed = tuple(dataclasses.replace(r, hidden=hidden(r)) for r in numbers.of("stretch"))
        reports = (*numbers.of("blur"), *claimed, *numbers.of("meet"))
        assert not fig5.findings(dataclasses.replace(numbers, reports=reports))[3].holds


def test_figure_6_would_notice_a_release_above_the_bound():
    numbers = fig6.compute(points=5)
    above = tuple(dataclasses.replace(r, leakage=r.leakage + 0.1) for r in numbers.one_sided)
    claims = fig6.findings(dataclasses.replace(numbers, one_sided=above))
    assert [claim.holds for claim in claims] == [True, False, False, True]


def test_figure_7_would_notice_a_rule_that_is_not_sharp():
    numbers = fig7.compute(people=(5,), most_bits=4)
    (five,) = numbers.means
    loose = dataclasses.replace(five, telling_sharp=tuple(t + 1 for t in five.telling_sharp))
    assert not fig7.findings(dataclasses.replace(numbers, means=(loose,)))[2].holds
    swapped = dataclasses.replace(five, sharp=five.printed, printed=five.sharp)
    assert not fig7.findings(dataclasses.replace(numbers, means=(swapped,)))[1].holds


def test_figure_8_would_notice_what_the_paper_says_of_more_people(leakage):
    turned = tuple(row[::-1] for row in leakage.everybody_printed)
    claims = fig8.findings(dataclasses.replace(leakage, everybody_printed=turned))
    assert not claims[1].holds
