"""The figures of paper E show what they are expected to show."""

import dataclasses
import math

import numpy as np
import pytest

from figures import failed
from hartley.papers import e
from hartley.papers.e import _of_cells, descend, least_risk, mixture_rule, on_a_grid

fig6, fig7, fig8, fig9 = e.fig6(), e.fig7(), e.fig8(), e.fig9()


@pytest.fixture(scope="module")
def curve():
    return fig6.compute(curve=8)


@pytest.fixture(scope="module")
def shapes():
    return fig7.compute(points=51, steps=(50, 400, 2000))


def test_the_findings_about_the_curve_hold(curve):
    assert failed(fig6, curve) == []


def test_the_findings_about_shapes_hold(shapes):
    assert failed(fig7, shapes) == []


@pytest.mark.parametrize(
    ("figure", "people"), [(fig8, 4096), (fig9, 512)], ids=["MDAV", "mu-Approx"]
)
def test_the_findings_about_groups_hold(figure, people):
    numbers = figure.compute(people=people, shares=(2, 4, 8, 16))
    assert failed(figure, numbers) == []
    assert len(figure.plot(numbers).panels) == 2


def test_the_bound_of_the_pair_is_the_closed_form():
    for distortion in (0.0, 0.1, 0.5, 0.9, 1.0):
        closed = -0.5 * math.log(1 - 0.95**2 * (1 - distortion))
        assert least_risk(distortion) == pytest.approx(closed, abs=1e-9)


def test_two_halves_tell_what_integration_says():
    """The sign of the key: E(X - X^)^2 = 1 - 2/pi; the risk by a plain sum over a fine grid."""
    distortion, risk = _of_cells(np.array([0.0]))
    assert distortion == pytest.approx(1 - 2 / math.pi)
    steps = np.arange(-9, 9, 0.002) + 0.001
    above = [0.5 * math.erfc(-0.95 * w / math.sqrt(2 * (1 - 0.95**2))) for w in steps]
    told = 0.0
    for w, p in zip(steps, above, strict=True):
        mass = math.exp(-w * w / 2) / math.sqrt(2 * math.pi) * 0.002
        told += mass * sum(q * math.log(2 * q) for q in (p, 1 - p) if q > 0)
    assert risk == pytest.approx(told, abs=1e-6)


def test_the_findings_would_notice_wrong_numbers(curve, shapes):
    worse = tuple(dataclasses.replace(p, gap=1e-3, risk=p.risk + 0.2) for p in curve.points)
    assert len(failed(fig6, dataclasses.replace(curve, points=worse))) == 3
    wide = tuple(
        dataclasses.replace(rule, used=51) if rule.name == e.BEST else rule for rule in shapes.rules
    )
    assert any("sparse" in text for text in failed(fig7, dataclasses.replace(shapes, rules=wide)))
    numbers = fig8.compute(people=600, shares=(2, 4))
    far = tuple(dataclasses.replace(one, risk=one.risk + 1) for one in numbers.sizes)
    assert any("near" in text for text in failed(fig8, dataclasses.replace(numbers, sizes=far)))


@pytest.mark.long
def test_the_steps_of_the_paper_end_where_the_errata_say():
    numbers = fig7.compute()
    assert failed(fig7, numbers) == []
    over = {
        n: numbers.named(f"after {n:,} steps").cost - numbers.named(e.BEST).cost
        for n in (32_000, 128_000)
    }
    assert over == pytest.approx({32_000: 0.074, 128_000: 0.040}, abs=5e-4)


def test_a_step_of_descent_is_that_of_the_text():
    """Section 6.1 written anew, number by number, for one step."""
    model, weight, n = on_a_grid(5), 1.22, 5
    start, joint, cost = mixture_rule(n, 0.5), model.joint.matrix, model.distortion
    found = descend(model, start, weight, 1)
    px, pw = joint.sum(axis=0), joint.sum(axis=1)
    seen = [[sum(joint[w, x] * start[x, y] for x in range(n)) for y in range(n)] for w in range(n)]
    py = [sum(seen[w][y] for w in range(n)) for y in range(n)]
    for x in range(n):
        slope = [
            px[x] * cost[x, y]
            + weight
            * px[x]
            * (
                sum(joint[w, x] / px[x] * math.log(seen[w][y] / pw[w]) for w in range(n))
                - math.log(py[y])
            )
            for y in range(n)
        ]
        row = [max(start[x, y] - 1e-4 * (slope[y] - sum(slope) / n), 0) for y in range(n)]
        assert found[x] == pytest.approx([value / sum(row) for value in row], rel=1e-12)
