import itertools
import json

import numpy as np
import pytest

from hartley import ColumnError, OptionError, TableError, UniformQuantizer
from hartley.attacks import LoadMonitoring


def switched(random, size, *, on, off):
    """Make an appliance go on and off for stretches of random length."""
    lengths = np.stack([random.geometric(1 / off, size), random.geometric(1 / on, size)], 1)
    return np.repeat(np.tile([False, True], size), lengths.ravel())[:size]


def home(size=6000, seed=2):
    random = np.random.default_rng(seed)
    fridge = switched(random, size, on=20, off=30) * random.normal(120, 2, size)
    oven = switched(random, size, on=15, off=120) * random.choice([900.0, 1800.0], size)
    lamp = switched(random, size, on=80, off=80) * 60.0
    return {"fridge": fridge, "oven": oven, "lamp": lamp}


@pytest.mark.slow
def test_appliances_are_recognised_in_the_true_signal():
    found = LoadMonitoring(home()).attack(confidence=0.999)
    assert found.number.value > 0.99
    assert found.overall.gain.low > 0.3
    assert found.overall.true == found.overall.released
    assert [one.name for one in found.appliances] == ["fridge", "oven", "lamp"]
    oven = found.appliances[1]
    assert oven.states == pytest.approx([0, 900, 1800])


@pytest.mark.slow
def test_a_coarser_release_hides_the_small_appliances_first():
    attack = LoadMonitoring(home())
    scores = [
        {one.name: one.released.value for one in (*found.appliances, found.overall)}
        for found in (attack.attack(UniformQuantizer(0, 2000, q)) for q in (1, 8, 200))
    ]
    assert scores[0]["all appliances"] < scores[1]["all appliances"] < scores[2]["all appliances"]
    assert scores[1]["oven"] > 0.99
    assert scores[1]["lamp"] < 0.9 < scores[2]["lamp"]


@pytest.mark.slow
def test_a_release_of_one_cell_gives_nothing_beyond_chance_exactly():
    found = LoadMonitoring(home()).attack(UniformQuantizer(0, 2000, 1))
    for one in (*found.appliances, found.overall):
        assert one.gain.value == 0
        assert one.trained_gain.value == pytest.approx(0, abs=1e-12)
    assert found.headline.startswith("The released signal does not show")


@pytest.mark.slow
def test_one_appliance_that_is_told_is_not_hidden_by_the_others():
    # The oven is on one time in nine and drowns in what the others have by chance.
    found = LoadMonitoring(home()).attack(UniformQuantizer(0, 2000, 3))
    assert found.overall.gain.low <= 0.05
    oven = found.appliances[1]
    assert oven.above_chance
    assert oven.best[2].value > 0.8
    assert "does not tell" not in found.headline
    assert "oven" in found.headline
    assert f"{oven.best[0].value:.3f}" in found.headline


@pytest.mark.parametrize("seed", range(5))
def test_the_trained_adversary_says_on_at_the_best_set_of_cells(seed):
    random = np.random.default_rng(seed)
    lamp = np.where(random.random(60) < 0.4, 60.0, 0.0)
    cells = random.integers(0, 5, 60).astype(float)
    attack = LoadMonitoring({"lamp": lamp}, total=cells, train=40)
    chosen = attack.trained_choice(cells[:40], cells[:40])[0]
    on = lamp[:40] > 10

    def gain(said):
        both, number = (said & on).sum(), said.sum() + on.sum()
        return 2 * (both - said.sum() * on.sum() / 40) / number

    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(5), size) for size in range(1, 6)
    )
    best = max(gain(np.isin(cells[:40], subset)) for subset in subsets)
    assert gain(chosen) == pytest.approx(best)


def test_the_trained_adversary_knows_what_the_middle_of_a_cell_hides():
    found = LoadMonitoring(home()).attack(UniformQuantizer(0, 2000, 12))
    lamp = found.appliances[2]
    assert abs(lamp.gain.value) < 0.05
    assert lamp.trained_gain.low > 0.1
    assert lamp.best == (lamp.trained, lamp.trained_chance, lamp.trained_gain)


def test_a_released_value_that_was_never_learned_counts_as_the_nearest():
    attack = LoadMonitoring({"lamp": [0, 60, 0, 60, 0, 60, 60]}, train=4)
    said = attack.trained_choice(np.array([0.0, 10.0, 0.0, 10.0]), np.array([4.0, 6.0, 99.0]))
    assert said.tolist() == [[False, True, True]]


def test_a_signal_of_another_home_gives_nothing_beyond_chance():
    # The bootstrap is approximate, so the seeds are fixed; at 0.9999 none of ten refutes chance.
    for seed in range(10):
        other = sum(home(seed=100 + seed).values())
        found = LoadMonitoring(home(), total=other).attack(confidence=0.9999, seed=seed)
        assert found.overall.gain.covers(0)
        assert abs(found.overall.gain.value) < 0.1
        assert found.overall.true.value > 0.2


def test_the_states_chosen_are_the_nearest_of_all_combinations():
    attack = LoadMonitoring(home(600), train=0.5)
    signal = np.random.default_rng(1).uniform(-50, 2500, 200)
    sums = {
        states: sum(powers[s] for powers, s in zip(attack.powers, states, strict=True))
        for states in itertools.product(*(range(len(powers)) for powers in attack.powers))
    }
    for value, chosen in zip(signal, attack.disaggregate(signal).T.tolist(), strict=True):
        best = min(abs(value - total) for total in sums.values())
        assert abs(value - sums[tuple(chosen)]) == pytest.approx(best, abs=1e-9)


def test_equal_sums_choose_the_fewest_appliances():
    two = {"a": [0, 50, 0, 50] * 4, "b": [0, 0, 50, 50] * 4, "c": [0, 0, 0, 100] * 4}
    attack = LoadMonitoring(two, states=2)
    assert attack.disaggregate(np.array([100.0])).ravel().tolist() == [0, 0, 1]


def test_what_the_appliances_leave_of_the_total_is_learned():
    appliances = home()
    total = sum(appliances.values()) + 75.0
    attack = LoadMonitoring(appliances, total=total)
    assert attack.rest == pytest.approx(75)
    assert attack.attack().number.value > 0.99


def test_the_f_score_is_that_of_counting_by_hand():
    lamp = [0, 0, 60, 60, 60, 0, 60, 0]
    attack = LoadMonitoring({"lamp": lamp}, total=[0, 60, 60, 60, 0, 0, 60, 60], train=3)
    # Of the last five, on at 3, 4 and 6; chosen at 3, 6 and 7: two right, one each way wrong.
    assert attack.rest == 0
    found = attack.attack()
    assert found.number.value == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert found.overall.chance == pytest.approx(2 * (3 * 3 / 5) / 6)
    assert found.number.low < found.number.value < found.number.high


def test_a_finding_is_repeatable_json_and_draws_both_signals():
    attack = LoadMonitoring(home())
    found = attack.attack(UniformQuantizer(0, 2000, 16), seed=3)
    assert found == attack.attack(UniformQuantizer(0, 2000, 16), seed=3)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["number"]["value"] == found.number.value
    (panel,) = found.chart().panels
    trained = "released signal, trained cell by cell"
    labels = [series.label for series in panel.series]
    assert labels == ["true signal", "released signal", trained, "chance"]
    assert panel.series[2].y[-1] == found.overall.trained.value
    assert panel.series[1].y[-1] == found.number.value
    assert all(sentence.endswith(".") for sentence in (found.headline, *found.sentences))


def test_a_table_is_read_by_its_columns_and_rows_with_a_missing_reading_are_left_out():
    appliances = home(400)
    table = appliances | {"main": sum(appliances.values()), "note": ["x"] * 400}
    from_table = LoadMonitoring(table, total="main")
    assert from_table.attack() == LoadMonitoring(appliances).attack()
    table["oven"] = [None, *table["oven"][1:].tolist()]
    assert LoadMonitoring(table, total="main", columns=["oven"]).signals.size == 399


@pytest.mark.parametrize(
    ("options", "error", "culprit"),
    [
        ({"train": 0.0}, OptionError, "does not fit"),
        ({"train": 1.0}, OptionError, "does not fit"),
        ({"train": 399}, OptionError, "does not fit"),
        ({"states": 1}, OptionError, "1 states"),
        ({"on": -1}, OptionError, "threshold -1"),
        ({"total": [1, 2]}, OptionError, "lacks a reading"),
        ({"total": [float("nan")] * 400}, OptionError, "finite numbers"),
        ({"total": "main"}, ColumnError, "'main'"),
        ({"columns": ["note"]}, ColumnError, "'note'"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options, error, culprit):
    with pytest.raises(error, match=culprit):
        LoadMonitoring(
            home(400) | ({"note": ["x"] * 400} if "columns" in options else {}), **options
        )


def test_a_table_without_a_complete_row_is_refused():
    table = {"a": [1.0, None], "b": [None, 2.0]}
    with pytest.raises(TableError, match="No row"):
        LoadMonitoring(table, columns=["a", "b"])


def test_too_many_combinations_are_refused_before_they_are_listed():
    random = np.random.default_rng(0)
    many = {f"a{i}": random.choice([0, 20.0 + i, 90.0 + i], 200) for i in range(14)}
    with pytest.raises(OptionError, match="4,782,969 combinations"):
        LoadMonitoring(many).attack()
