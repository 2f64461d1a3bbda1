"""The figures of paper B show what they are expected to show."""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest

from figures import REAL, failed, sources
from hartley import TableError, UniformQuantizer, dataset
from hartley.papers import b

fig3, fig4, fig5, fig6 = b.fig3(), b.fig4(), b.fig5(), b.fig6()


@pytest.fixture(**sources())
def data(request):
    return request.param


FEW_GAMES = {"homes": 80, "budgets": (1, 2, 3, 8), "ranges": 4, "games": 3000}


def test_the_findings_about_membership_hold(data):
    numbers = fig3.compute(data, **FEW_GAMES)
    assert failed(fig3, numbers) == []
    assert fig3.plot(numbers).synthetic == (data == "synthetic")
    trial = "Smart Grid Smart City customer trial"
    assert (trial in fig3.plot(numbers).note) == (data != "synthetic")
    assert fig3.plot(numbers).source == numbers.source


def test_the_cells_follow_both_rules_of_theorem_8():
    for people in (2, 4, 8, 10):
        for bits in (1, 2, 3, 5):
            outputs = 2**bits
            assert b.levels_of(people, bits, b.PRINTED) == outputs * people
            corrected = max(outputs, (outputs - 1) * people)
            assert b.levels_of(people, bits, b.CORRECTED) == corrected
            assert b.levels_of(people, bits, b.WHOLE) == outputs


def few_days(**options):
    sizes = {"homes": 20, "days": 9, "fewer_days": (3, 6), "people": (4, 8), "budgets": (2, 3, 8)}
    return fig3.compute(**(sizes | {"ranges": 3, "games": 300} | options))


def with_best(games, value):
    """Return games in which every strategy has one advantage."""
    exactly = b.PAPER[0]
    one = dataclasses.replace(games.advantages[exactly], value=value, low=value, high=value)
    return dataclasses.replace(games, advantages=dict.fromkeys(games.advantages, one))


def test_the_readings_of_a_home_are_its_days():
    half_hours = dataset("solar_homes", homes=3, days=5).readings()
    daily = b.daily_readings(half_hours)
    assert daily.shape == (3, 5)
    for home in range(3):
        for day in range(5):
            assert daily[home, day] == pytest.approx(math.fsum(half_hours[home, day]), abs=5e-4)
    assert fig3.compute(**FEW_GAMES | {"homes": 9, "games": 10, "days": 40}).days == 40


def test_the_profile_of_one_day_is_not_played_as_many():
    with pytest.raises(TableError, match="of 1 day"):
        fig3.compute(homes=12, days=1)
    profiles = REAL / "smart_meter" / "ausgrid_mean_profiles_2012_2013.csv"
    if profiles.is_file():
        with pytest.raises(TableError, match="of 1 day"):
            fig3.compute(profiles)


def test_no_more_days_are_drawn_than_there_are():
    numbers = few_days(fewer_days=(3, 6, 9, 28))
    assert list(numbers.by_days) == [3, 6, 9]
    assert "9 daily readings" in fig3.plot(numbers).title
    days = next(panel for panel in fig3.plot(numbers).panels if panel.x_label == "days released")
    assert all(series.x == (3.0, 6.0, 9.0) for series in days.series)


def test_the_ranges_go_from_the_largest_reading_to_the_fuse():
    numbers = few_days()
    largest = b.daily_readings(dataset("solar_homes", homes=20, days=9).readings()).max()
    assert min(numbers.by_range) == math.ceil(largest)
    assert numbers.top == 552  # 100 A at 230 V for a day
    assert len(numbers.by_range) == 3


def test_a_trend_is_judged_at_every_step():
    numbers = few_days()
    curve = [with_best(numbers.games[0], value).best for value in (0.2, 0.6, 0.3, 0.9)]
    assert b._falls(curve) == 1
    assert b._falls([curve[0], curve[2], curve[1], curve[3]]) == 0
    up_and_down = dict(
        zip(
            numbers.by_days,
            [
                tuple(with_best(game, value) for game in games)
                for games, value in zip(numbers.by_days.values(), (0.1, 0.8, 0.5), strict=True)
            ],
            strict=True,
        )
    )
    texts = failed(fig3, dataclasses.replace(numbers, by_days=up_and_down))
    assert any("add up over the days" in text for text in texts)


def test_the_findings_about_membership_would_notice_other_numbers():
    numbers = few_days()
    silent = {
        top: tuple(with_best(one, 0.0) for one in games) for top, games in numbers.by_range.items()
    }
    assert any("range" in t for t in failed(fig3, dataclasses.replace(numbers, by_range=silent)))
    finer = tuple(dataclasses.replace(game, levels=10**6) for game in numbers.games)
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
        if bits > 3:
            return found
        return dataclasses.replace(found, appliances=tuple(map(hidden, found.appliances)))

    silent = {bits: quiet(bits, found) for bits, found in numbers.by_bits.items()}
    texts = failed(fig4, dataclasses.replace(numbers, by_bits=silent))
    assert any("One by one" in text for text in texts)


def test_a_house_without_the_five_appliances_is_refused(tmp_path):
    house = tmp_path / "house_1"
    house.mkdir()
    (house / "labels.dat").write_text("1 mains\n2 oven\n")
    for channel in (1, 2):
        lines = "".join(f"{1303516800 + 3 * t} {100 + t}\n" for t in range(200))
        (house / f"channel_{channel}.dat").write_text(lines)
    with pytest.raises(TableError, match="refrigerator"):
        fig4.compute(tmp_path)


def test_the_findings_about_the_map_hold(data):
    numbers = fig5.compute(data, trips=20_000)
    assert failed(fig5, numbers) == []


def test_the_findings_about_unique_trips_hold(data):
    numbers = fig6.compute(data, trips=30_000, budgets=(5, 8, 20))
    assert failed(fig6, numbers) == []


def test_unique_trips_are_those_that_counting_finds():
    numbers = fig6.compute(trips=3000, budgets=(7, 10))
    trips = dataset("taxi", trips=3000)
    for point in numbers.points:
        for side, found in ((point.down, point.unique), (point.up, point.unique_up)):
            cells = []
            for name in b.TRIP_RANGES:
                low, high = b.LONGITUDE if name.endswith("longitude") else b.LATITUDE
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
