"""The figure of leakage over time shows what it is expected to show."""

import pytest

from figures import failed
from hartley.papers import beyond

fig2 = beyond.fig2()


@pytest.fixture(scope="module")
def numbers():
    return fig2.compute(steps=9)


def test_the_findings_hold(numbers):
    assert failed(fig2, numbers) == []


def test_zones_as_wide_as_the_ring_tell_nothing():
    found = fig2.compute(places=6, zones=(6,), steps=3).by_width[6]
    assert {at.leakage for several in found.values() for at in several} == {0.0}


def test_every_number_is_drawn(numbers):
    chart = fig2.plot(numbers)
    drawn = [y for panel in chart.panels for series in panel.series for y in series.y]
    assert len(drawn) == 3 * 3 * 10
    assert max(drawn) == numbers.by_width[4]["trajectory"][-1].leakage
