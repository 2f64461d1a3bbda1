"""The figures of paper B show what they are expected to show."""

import dataclasses
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hartley.datasets.catalogue import dataset
from hartley.papers.b import fig3, fig4, fig5, fig6
from hartley.papers.b.trips import COLUMNS, LATITUDE, LONGITUDE
from hartley.policies.quantizer import UniformQuantizer

REAL = Path(__file__).parents[3].parent / "shared" / "data"
HERE = pytest.mark.skipif(
    not REAL.is_dir(), reason="the data sets are not committed; some are in ../shared"
)
BOTH = pytest.mark.parametrize(
    "data", ["synthetic", pytest.param(REAL, marks=HERE)], ids=["synthetic", "real"]
)
FEW_GAMES = {"homes": 80, "days": (1, 7), "budgets": (1, 2, 3, 8), "games": 3000}


def failed(figure, numbers):
    return [str(claim) for claim in figure.findings(numbers) if not claim.holds]


@BOTH
def test_the_findings_about_membership_hold(data):
    numbers = fig3.compute(data, **FEW_GAMES)
    assert failed(fig3, numbers) == []
    assert fig3.plot(numbers).synthetic == (data == "synthetic")


def test_the_cells_follow_both_rules_of_theorem_8():
    for people in (2, 4, 8, 10):
        for bits in (1, 2, 3, 5):
            outputs = 2**bits
            assert fig3.levels_of(people, bits, fig3.PRINTED) == outputs * people
            corrected = max(outputs, (outputs - 1) * people)
            assert fig3.levels_of(people, bits, fig3.CORRECTED) == corrected
            assert fig3.levels_of(people, bits, fig3.WHOLE) == outputs


def test_the_findings_about_membership_would_notice_a_leak():
    numbers = fig3.compute(homes=20, days=(1, 2), people=(4, 8), budgets=(2, 3, 8), games=300)

    def leaking(one):
        sure = {name: dataclasses.replace(a, value=1.0) for name, a in one.advantages.items()}
        return dataclasses.replace(one, advantages=sure) if one.rule == fig3.WHOLE else one

    leak = dataclasses.replace(numbers, games=tuple(map(leaking, numbers.games)))
    assert any("almost no advantage" in text for text in failed(fig3, leak))
    finer = tuple(dataclasses.replace(one, levels=10**6) for one in numbers.games)
    fine = dataclasses.replace(numbers, games=finer)
    assert any("in numbers" in text for text in failed(fig3, fine))


def test_the_findings_about_appliances_hold():
    numbers = fig4.compute(days=14, budgets=(0, 1, 2, 3, 4, 5, 8, 11))
    assert failed(fig4, numbers) == []
    drawn = fig4.plot(numbers)
    assert drawn.synthetic
    assert len(drawn.panels[1].series) == 5


def test_the_findings_about_appliances_would_notice_that_none_is_told():
    numbers = fig4.compute(days=4, budgets=(0, 3, 11))

    def hidden(score):
        nothing = dataclasses.replace(score.gain, value=0.0, low=0.0, high=0.0)
        return dataclasses.replace(score, gain=nothing, trained_gain=nothing)

    def quiet(bits, found):
        if bits > fig4.FEW_BITS:
            return found
        return dataclasses.replace(found, appliances=tuple(map(hidden, found.appliances)))

    silent = {bits: quiet(bits, found) for bits, found in numbers.found.items()}
    texts = failed(fig4, dataclasses.replace(numbers, found=silent))
    assert any("One by one" in text for text in texts)


def test_a_house_without_the_five_appliances_is_refused(tmp_path):
    from hartley.errors import TableError

    house = tmp_path / "house_1"
    house.mkdir()
    (house / "labels.dat").write_text("1 mains\n2 oven\n")
    for channel in (1, 2):
        lines = "".join(f"{1303516800 + 3 * t} {100 + t}\n" for t in range(200))
        (house / f"channel_{channel}.dat").write_text(lines)
    with pytest.raises(TableError, match="refrigerator"):
        fig4.compute(tmp_path)


@BOTH
def test_the_findings_about_the_map_hold(data):
    numbers = fig5.compute(data, trips=20_000)
    assert failed(fig5, numbers) == []


@BOTH
def test_the_findings_about_unique_trips_hold(data):
    numbers = fig6.compute(data, trips=30_000, budgets=(5, 8, 20))
    assert failed(fig6, numbers) == []


def test_unique_trips_are_those_that_counting_finds():
    numbers = fig6.compute(trips=3000, budgets=(7, 10))
    trips = dataset("taxi", trips=3000)
    for point in numbers.points:
        for side, found in ((point.down, point.unique), (point.up, point.unique_up)):
            cells = []
            for name in COLUMNS:
                low, high = LONGITUDE if name.endswith("longitude") else LATITUDE
                quantizer = UniformQuantizer(low, high, side)
                cells.append([quantizer.cell(repr(x)) for x in trips.numbers(name).tolist()])
            counted = Counter(zip(*cells, strict=True))
            assert found == sum(n == 1 for n in counted.values()) / 3000


def test_the_boxes_of_odd_budgets_are_rounded_down():
    numbers = fig6.compute(trips=200, budgets=(1, 3, 6, 9))
    assert [p.down for p in numbers.points] == [math.isqrt(2**p.bits) for p in numbers.points]
    wrong = tuple(dataclasses.replace(p, down=p.up) for p in numbers.points)
    assert any("Corrected" in t for t in failed(fig6, dataclasses.replace(numbers, points=wrong)))


def test_the_map_counts_every_trip_once():
    numbers = fig5.compute(trips=5000, budgets=(4,), points=20)
    assert {int(np.sum(counts)) for counts in numbers.counts.values()} == {5000}
    assert np.shape(numbers.counts[4]) == (4, 4)
