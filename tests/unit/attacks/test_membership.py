import json
from fractions import Fraction

import numpy as np
import pytest

from hartley import ColumnError, CutQuantizer, OptionError, TableError, UniformQuantizer
from hartley.attacks import MembershipGame
from hartley.attacks.finding import ReadingGrid, readings_of
from hartley.attacks.homogeneity import released
from hartley.attacks.membership import STRATEGIES

RANDOM = np.random.default_rng(0)
SURE = 1 - 1e-9
"""With this confidence a test about chance fails wrongly less than once in 10^8 runs."""


def homes(people=30, readings=96, seed=3):
    """Make readings in kWh that differ between homes."""
    random = np.random.default_rng(seed)
    level = random.gamma(3, 0.3, (people, 1))
    phase = random.uniform(0, 6, (people, 1))
    shape = 1 + np.sin(np.arange(readings) / 48 * 2 * np.pi + phase)
    return (level * shape * random.gamma(4, 0.25, (people, readings))).round(3)


def by_name(finding):
    return {one.name: one for one in finding.strategies}


# --- leaks --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_finds_who_is_released_alone_and_as_is(name):
    finding = MembershipGame(homes(), people=1, strategies=[name]).play(500, seed=1)
    assert finding.number.value == 1
    assert finding.best.name == name
    assert "can tell" in finding.headline


@pytest.mark.slow
def test_every_strategy_finds_a_planted_leak_in_a_small_group():
    found = by_name(MembershipGame(homes(), people=3).play(4000, seed=1, confidence=SURE))
    assert all(one.advantage.low > 0 for one in found.values())
    assert found["consistency"].wins > 2000
    finer = UniformQuantizer(0, 8, 64)
    through = by_name(
        MembershipGame(homes(), people=3, policy=finer).play(4000, seed=1, confidence=SURE)
    )
    assert all(one.advantage.low > 0 for one in through.values())


@pytest.mark.slow
def test_fewer_cells_tell_less():
    advantages = [
        MembershipGame(homes(), people=4, policy=UniformQuantizer(0, 8, levels))
        .play(4000, seed=2)
        .number.value
        for levels in (1, 8, 16, 64)
    ]
    assert advantages[0] < 0.05
    assert advantages[0] < advantages[1] < advantages[2] < advantages[3]


# --- nothing to find ----------------------------------------------------------------------------


def blind(value):
    return lambda sums: np.full_like(sums, value)


UNRELATED = {
    "one cell": UniformQuantizer(0, 8, 1),
    "another signal": [blind(float(value)) for value in np.random.default_rng(0).normal(size=96)],
}


@pytest.mark.parametrize("name", UNRELATED)
def test_nothing_is_found_in_a_release_that_has_nothing_to_do_with_anybody(name):
    game = MembershipGame(homes(), people=3, policy=UNRELATED[name])
    finding = game.play(20_000, seed=4, confidence=SURE)
    assert all(one.advantage.covers(0) for one in finding.strategies)
    assert by_name(finding)["consistency"].coins == 20_000
    assert finding.headline.startswith("No strategy tells better than a coin")


def test_candidates_with_the_same_readings_are_told_apart_by_a_coin_alone():
    readings = np.tile(homes(1), (5, 1))
    finding = MembershipGame(readings, people=2).play(20_000, seed=4, confidence=SURE)
    assert all(one.coins == 20_000 and one.advantage.covers(0) for one in finding.strategies)


# --- findings -----------------------------------------------------------------------------------


def test_a_finding_is_repeatable_json_with_a_bar_for_every_strategy():
    game = MembershipGame(homes(), people=3, strategies=("correlation", "consistency"))
    finding = game.play(300, seed=7)
    assert finding == game.play(300, seed=7, threads=1)
    assert finding != game.play(300, seed=8)
    told = json.loads(json.dumps(finding.to_dict(), allow_nan=False))
    assert told["number"]["value"] == finding.number.value
    assert [one["name"] for one in told["strategies"]] == ["correlation", "consistency"]
    (panel,) = finding.chart().panels
    assert panel.series[0].y == tuple(one.advantage.value for one in finding.strategies)
    assert all(sentence.endswith(".") for sentence in (finding.headline, *finding.sentences))


def test_the_intervals_of_several_strategies_are_wider_than_that_of_one():
    alone = MembershipGame(homes(), people=3, strategies=["correlation"]).play(500, seed=1)
    every = by_name(MembershipGame(homes(), people=3).play(500, seed=1))["correlation"]
    assert every.wins == alone.best.wins
    assert every.advantage.low < alone.number.low < alone.number.high < every.advantage.high
    assert every.advantage.confidence == alone.number.confidence == 0.95


def test_progress_ends_at_one():
    told = []
    MembershipGame(homes(), people=3).play(
        5000, seed=1, progress=lambda kind, done: told.append((kind, done))
    )
    assert told[-1] == ("play", 1.0)


def test_a_known_range_wider_than_the_readings_lets_consistency_name_fewer():
    narrow = by_name(MembershipGame(homes(), people=3).play(3000, seed=1))["consistency"]
    wide = by_name(MembershipGame(homes(), people=3, range=(-1, 20)).play(3000, seed=1))
    nothing = by_name(MembershipGame(homes(), people=3, range=(-50, 50)).play(3000, seed=1))
    assert 0 < narrow.coins < wide["consistency"].coins < nothing["consistency"].coins == 3000


# --- readings -----------------------------------------------------------------------------------


def test_a_table_of_days_and_a_long_table_are_the_same_readings_as_the_array():
    days = homes(6, 8).reshape(6, 2, 4)
    wide = {"home": np.repeat(np.arange(6), 2)[::-1], "day": np.tile(["a", "b"], 6)[::-1]}
    wide |= {f"h{h}": days[:, :, h].ravel()[::-1] for h in range(4)}
    long = {
        "home": np.repeat(np.arange(6), 8),
        "time": np.tile(np.arange(8), 6),
        "kwh": days.ravel(),
    }
    expected = days.reshape(6, 8)
    for table, order in ((wide, "day"), (long, "time")):
        read = readings_of(table, person="home", order=order)
        assert (read.values == expected).all()
        assert (read.people_left_out, read.times_left_out) == (0, 0)
    assert (readings_of(days).values == expected).all()
    assert readings_of({"a": [1, 2], "b": [3.5, 4]}).values.tolist() == [[1, 3.5], [2, 4]]


def test_people_with_a_missing_reading_are_left_out_and_counted():
    table = {"a": [1.0, 2.0, None, 4.0], "b": [1.0, float("nan"), 3.0, 5.0]}
    read = readings_of(table)
    assert read.values.tolist() == [[1, 1], [4, 5]]
    assert (read.people_left_out, read.times_left_out) == (2, 0)
    wide = {"a": [1.0, 2.0, None, 4.0], "b": [1.0, 2.0, 3.0, 5.0]}
    finding = MembershipGame(wide, people=2).play(10)
    assert any("1 people" in sentence for sentence in finding.sentences)


def gappy(people=9, days=4, seed=0):
    """Readings of four half hours a day, some of them missing, as an array and as a long table."""
    random = np.random.default_rng(seed)
    values = random.gamma(2, 1, (people, days, 4)).round(2)
    values[random.random(values.shape) < 0.03] = np.nan
    home, day = np.meshgrid(np.arange(people), np.arange(days), indexing="ij")
    table = {"home": home.ravel(), "day": day.ravel()}
    table |= {f"h{h}": values[:, :, h].ravel() for h in range(4)}
    return values.reshape(people, -1), table


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_times_at_which_somebody_lacks_a_reading_can_be_left_out_instead(seed):
    values, table = gappy(seed=seed)
    whole = ~np.isnan(values).any(axis=0)
    asked = {"person": "home", "order": "day", "drop": "times"}
    read = readings_of(table, **asked)
    assert (read.values == values[:, whole]).all()
    assert read.times.tolist() == np.flatnonzero(whole).tolist()
    assert (read.people_left_out, read.times_left_out) == (0, int((~whole).sum()))
    finding = MembershipGame(table, people=3, **asked).play(500, seed=seed)
    assert finding.people == 9
    assert finding.to_dict()["times_left_out"] == read.times_left_out
    assert any(f"{read.times_left_out} times" in sentence for sentence in finding.sentences)
    alone = MembershipGame(values[:, whole], people=3).play(500, seed=seed)
    assert finding.strategies == alone.strategies


@pytest.mark.slow
def test_every_time_that_is_left_keeps_its_own_policy():
    values, table = gappy(seed=2)
    whole = ~np.isnan(values).any(axis=0)
    assert not whole.all()
    policies = [UniformQuantizer(0, 20, levels) for levels in (1, 3, 40, 200)]
    asked = {"people": 3, "range": (0, 20)}
    finding = MembershipGame(
        table, policy=policies, person="home", order="day", drop="times", **asked
    ).play(500)
    each = [policies[time % 4] for time in np.flatnonzero(whole)]
    assert (
        finding.strategies
        == MembershipGame(values[:, whole], policy=each, **asked).play(500).strategies
    )
    with pytest.raises(OptionError, match="5 policies do not fit 16 readings"):
        MembershipGame(
            table,
            policy=[*policies, policies[0]],
            person="home",
            order="day",
            drop="times",
            **asked,
        )


@pytest.mark.parametrize(
    ("readings", "unit", "exact"),
    [
        ([[1.0, 250.0]], "1", True),
        ([[0.1, 0.001]], "1/1000", True),
        ([[0.5**30, 1.0]], f"1/{2**39}", True),
        ([[1 / 3, 2.0]], f"1/{2**38}", False),
        ([[0.0, 0.0]], "1", True),
    ],
)
def test_readings_are_held_as_written_or_on_a_fine_grid(readings, unit, exact):
    grid = ReadingGrid.of(np.array(readings), group=5)
    assert str(grid.unit) == unit
    assert grid.exact is exact
    assert np.allclose(grid.codes * float(grid.unit), readings, rtol=0, atol=float(grid.unit))


def test_a_policy_releases_numbers_as_its_cells_say():
    cuts = CutQuantizer((0, "0.3", 1), (5, 7))
    assert released(cuts, np.array([-1.0, 0.2999, 0.3, 9.0])).tolist() == [5, 5, 7, 7]
    quantizer = UniformQuantizer(0, 1, 10)
    values = np.arange(-3, 14) / 10
    expected = [float(quantizer.middle(quantizer.cell(value))) for value in values.tolist()]
    assert released(quantizer, values).tolist() == expected
    assert released(None, values) is values


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"people": 0}, "cannot have 0 people"),
        ({"people": 6}, "needs 7 people"),
        ({"people": 2, "strategies": ["luck"]}, "'luck'"),
        ({"people": 2, "strategies": []}, "No strategy"),
        ({"people": 2, "aggregate": "max"}, "'max'"),
        ({"people": 2, "candidates": (0, 0)}, "candidates"),
        ({"people": 2, "candidates": (0, 9)}, "candidates"),
        ({"people": 2, "range": (0, 1)}, "outside the range"),
        ({"people": 2, "range": ("a", 1)}, "end of the range"),
        ({"people": 2, "policy": [UniformQuantizer(0, 9, 3)] * 3}, "3 policies"),
        ({"people": 2, "policy": "round"}, "is not a policy"),
        ({"people": 2, "policy": [None, UniformQuantizer(0, 9, 3)]}, "is not a policy"),
        (
            {"people": 2, "policy": UniformQuantizer(0, Fraction(10**17 + 3, 10**16), 2_000_000)},
            "2,000,000 cells",
        ),
        ({"people": 2, "policy": lambda sums: sums[:1]}, "one finite number"),
        ({"people": 2, "policy": lambda sums: sums + RANDOM.random()}, "different answers"),
        ({"people": 2, "person": "home"}, "array"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options, culprit):
    with pytest.raises(OptionError, match=culprit):
        MembershipGame(np.arange(24.0).reshape(6, 4), **options)


@pytest.mark.parametrize(
    ("source", "options", "error", "culprit"),
    [
        ([[1.0, float("nan")]], {}, OptionError, "missing or infinite"),
        ([[1.0], [1.0, 2.0]], {}, OptionError, "not an array"),
        ([1.0, 2.0], {}, OptionError, "not have one row"),
        ({"a": [1]}, {"person": "a"}, OptionError, "go together"),
        ({"a": ["x"]}, {}, ColumnError, "no column of numbers"),
        ({"a": ["x"], "b": [1]}, {"columns": ["a"]}, ColumnError, "'a'"),
        ({"a": [1]}, {"columns": ["aa"]}, ColumnError, "'aa'"),
        ({"a": [None, 1.0], "b": [1.0, None]}, {}, TableError, "Nobody"),
        ({"a": [None, 1.0], "b": [1.0, None]}, {"drop": "times"}, TableError, "At no time"),
        ({"a": [1, 2]}, {"drop": "homes"}, OptionError, "'homes'"),
        (
            {"p": [1, 1], "t": [1, 1], "v": [2, 3]},
            {"person": "p", "order": "t"},
            TableError,
            "several rows",
        ),
    ],
)
def test_readings_that_are_none_are_refused_by_name(source, options, error, culprit):
    with pytest.raises(error, match=culprit):
        readings_of(source, **options)


@pytest.mark.parametrize(
    ("options", "culprit"),
    [({"games": 0}, "0 games"), ({"seed": -1}, "seed -1"), ({"confidence": 1}, "confidence 1")],
)
def test_games_that_cannot_be_played_are_refused(options, culprit):
    with pytest.raises(OptionError, match=culprit):
        MembershipGame(homes(), people=2).play(**options)


def test_a_function_of_too_many_sums_is_refused():
    readings = np.array([[1 / 3], [2.0], [3.0]])
    with pytest.raises(OptionError, match="possible sums"):
        MembershipGame(readings, people=2, policy=np.round)
