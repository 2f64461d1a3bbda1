"""The figures of paper C show what they are expected to show."""

import dataclasses
import math
from collections import Counter

import pytest

from figures import REAL, failed, here, sources
from hartley.papers import c
from hartley.papers.c import sweep

fig1, fig2, fig3, fig4 = c.fig1(), c.fig2(), c.fig3(), c.fig4()

STEPS = (1, 2, 4, 8, 10, 15, 16, 32, 37, 41, 50, 75, 100)


@pytest.fixture(scope="module", **sources("heart"))
def patients(request):
    return sweep(request.param, steps=STEPS)


@pytest.fixture(scope="module")
def votes():
    return fig1.compute(most_voters=9)


def test_the_findings_of_figure_1_hold(votes):
    assert failed(fig1, votes) == []


def test_the_worst_attribute_of_a_vote_follows_from_binomial_coefficients(votes):
    for vote in votes.votes:
        fewest = sum(math.comb(vote.voters, k) for k in range((vote.voters + 1) // 2))
        assert vote.worst == pytest.approx(math.log2(2**vote.voters - fewest + 1))


@pytest.mark.parametrize("figure", [fig2, fig3, fig4], ids=["2", "3", "4"])
def test_the_findings_about_heart_patients_hold(figure, patients):
    assert failed(figure, patients) == []


@pytest.mark.parametrize("figure", [fig2, fig3, fig4], ids=["2", "3", "4"])
def test_a_picture_says_whether_the_patients_are_made_up(figure, patients):
    assert figure.plot(patients).synthetic == patients.synthetic
    assert ("synthetic" in figure.plot(patients).csv()) == patients.synthetic


def test_the_curves_against_distortion_take_the_steps_of_the_paper():
    from inspect import signature

    for figure in (fig2, fig3):
        assert signature(figure.compute).parameters["steps"].default == tuple(range(1, 51))


@here("heart")
def test_real_records_leak_as_counting_says():
    from hartley.datasets.catalogue import dataset

    values = dataset("hungarian", data=REAL).complete("trestbps").numbers("trestbps").tolist()
    numbers = sweep(REAL, steps=(29, 41), secrets=("record",))
    for step in (29, 41):
        sizes = Counter(math.floor(value / step) for value in values)
        point = numbers.curves[0].at(step)
        assert (point.secrets, point.remaining) == (len(values), min(sizes.values()))
        assert point.maximin == pytest.approx(math.log2(len(sizes)))
        middle = {value: step * (math.floor(value / step) + 0.5) for value in values}
        assert point.distortion == max(abs(value - middle[value]) for value in values)


def _changed(numbers, **fields):
    """Return the numbers with every point of every curve changed."""
    curves = tuple(
        dataclasses.replace(
            curve, points=tuple(dataclasses.replace(p, **fields) for p in curve.points)
        )
        for curve in numbers.curves
    )
    return dataclasses.replace(numbers, curves=curves)


def test_the_findings_would_notice_wrong_numbers():
    numbers = sweep("synthetic", steps=(1, 2, 50))
    assert not fig2.findings(_changed(numbers, maximin=9.0))[2].holds
    assert not fig3.findings(_changed(numbers, stochastic=0.0))[1].holds
    assert not fig3.findings(_changed(numbers, stochastic=0.0))[2].holds
    assert not fig4.findings(_changed(numbers, guessing=1.0))[0].holds
    turned = dataclasses.replace(
        numbers,
        curves=tuple(
            dataclasses.replace(
                curve,
                points=tuple(
                    dataclasses.replace(point, maximin=float(point.step)) for point in curve.points
                ),
            )
            for curve in numbers.curves
        ),
    )
    assert not fig2.findings(turned)[0].holds


def test_figure_1_would_notice_a_vote_that_tells_too_much(votes):
    wrong = dataclasses.replace(
        votes, votes=(*votes.votes[:4], dataclasses.replace(votes.votes[4], one_vote=1.0))
    )
    assert [claim.holds for claim in fig1.findings(wrong)] == [True, False, True, True]
