"""Generators: the same seed gives the same table, and tables resemble what they are made after."""

import hashlib
import inspect
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from hartley import ColumnError, Dataset, OptionError, Schema, TableError, dataset, people
from hartley.datasets.catalogue import ENTRIES
from hartley.datasets.health import make_hungarian, make_young_people
from hartley.datasets.meters import (
    NEW_YORK,
    PLACES,
    TOP_FIVE,
    make_redd,
    make_solar_homes,
    make_taxi,
)
from hartley.datasets.people import (
    by_quantiles,
    by_shares,
    factor_normals,
    people_schema,
    random_numbers,
)
from hartley.datasets.source import HALF_HOURS
from hartley.datasets.surveys import make_adult, make_census, make_tarragona


def test_the_sample_is_the_same_on_every_machine():
    rows = "\n".join(map(str, people(200).to_pylist()))
    assert hashlib.sha256(rows.encode()).hexdigest()[:16] == "f2dd61973dafbac6"


def test_the_sample_has_5000_plausible_people():
    table = people().to_pandas()
    assert len(table) == 5000
    assert table["person"].is_unique
    assert table["age"].between(18, 95).all()
    assert set(table["sex"]) == {"F", "M"}
    assert table["height"].between(130, 215).all()
    assert table["weight"].between(35, 160).all()
    assert 0 < table["income"].isna().sum() < 250
    assert table["diagnosis"].nunique() == 6


def test_columns_depend_on_each_other_as_among_people():
    table = people().to_pandas()
    by_sex = table.groupby("sex")["height"].mean()
    assert by_sex["M"] - by_sex["F"] > 8
    assert np.corrcoef(table["height"], table["weight"])[0, 1] > 0.4
    sick = table["diagnosis"] != "none"
    assert table[sick]["age"].mean() > table[~sick]["age"].mean() + 3
    assert (table[table["job"] == "retired"]["age"] > 60).all()


def test_another_seed_gives_other_people():
    assert people(50, seed=1).to_pylist() != people(50, seed=2).to_pylist()


def test_a_table_of_nobody_is_refused():
    with pytest.raises(OptionError, match="0 people"):
        people(0)


def test_the_schema_of_the_sample_is_the_example_and_fits_the_table():
    text = people_schema()
    example = Path(__file__).parents[3] / "examples" / "people.schema.toml"
    assert example.read_text() == text  # a copy for readers; the package has the one that counts
    schema = Schema.read(tomllib.loads(text))
    assert {schema.unit, *schema.columns} == {*people(1).column_names}


SIZES = {name: next(iter(inspect.signature(one.make).parameters)) for name, one in ENTRIES.items()}
FINGERPRINTS = {
    "hungarian": "674caee92d1bdf89",
    "cleveland": "c162dc9f447abb49",
    "young_people": "433d4f24f1f9179d",
    "solar_homes": "4d88815046f14a81",
    "redd": "4d358c1fd2e7ccd6",
    "taxi": "53c64cd893876933",
    "adult": "6b63fabf1aea5d50",
    "census": "fb8d6c4b727239fc",
    "tarragona": "1ff56a5a7d5448e8",
}


def tiny(name, size, seed):
    more = {"days": 2} if name == "solar_homes" else {}
    return dataset(name, seed=seed, **{SIZES[name]: size}, **more)


def fingerprint(table):
    rows = "\n".join(map(str, table.to_pylist()))
    return hashlib.sha256(rows.encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", ENTRIES)
def test_a_synthetic_table_is_the_same_on_every_machine(name):
    assert fingerprint(tiny(name, 2 if name == "redd" else 40, 7).table) == FINGERPRINTS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
@settings(max_examples=8)
@given(size=st.integers(1, 4), seed=st.integers(0, 2**64))
def test_every_size_and_seed_gives_a_table_of_the_same_columns_and_types(name, size, seed):
    made = tiny(name, size, seed)
    assert made.synthetic
    assert made.title == f"{name} (synthetic)"
    assert made.source.startswith("Synthetic, drawn by a seeded generator after the ")
    assert made.table.schema.equals(tiny(name, 3, 0).table.schema)
    assert made.rows > 0
    assert set(made.units) <= set(made.columns)
    assert made.table.equals(tiny(name, size, seed).table)


@pytest.mark.parametrize("name", ENTRIES)
def test_another_seed_gives_another_table(name):
    assert not tiny(name, 20 if name != "redd" else 1, 1).table.equals(
        tiny(name, 20 if name != "redd" else 1, 2).table
    )


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("size", [0, -1, 10**9])
def test_a_size_that_makes_no_sense_is_refused(name, size):
    with pytest.raises(OptionError, match="The number of "):
        tiny(name, size, 1)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_negative_seed_is_refused(name):
    with pytest.raises(OptionError, match="The seed -1 is negative"):
        tiny(name, 5, -1)


def test_a_name_or_an_option_that_does_not_exist_is_refused():
    with pytest.raises(OptionError, match=r"no data set 'heart'.*hungarian"):
        dataset("heart")
    with pytest.raises(OptionError, match=r"no option 'row'.*rows, seed"):
        dataset("hungarian", row=3)
    with pytest.raises(OptionError, match="no option 'row'"):  # also where real data are asked for
        dataset("hungarian", "/nowhere", row=3)


def test_a_data_set_is_returned_as_it_is():
    made = make_hungarian(5)
    assert dataset("hungarian", made) is made


def test_numbers_and_complete_rows_of_a_data_set():
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None], "c": [1.5, 2.5, None]})
    made = Dataset("few", table, synthetic=True, source="By hand.")
    assert np.array_equal(made.numbers("a"), [1, np.nan, 3], equal_nan=True)
    assert made.complete("a").table.column("a").to_pylist() == [1, 3]
    assert made.complete().rows == 1
    assert made.to_dict()["columns"] == ["a", "b", "c"]
    assert "pyarrow" not in repr(made)
    with pytest.raises(ColumnError, match="no column 'd'"):
        made.numbers("d")
    with pytest.raises(ColumnError, match="does not hold numbers"):
        made.numbers("b")
    with pytest.raises(TableError, match="has no half-hour readings"):
        made.readings()


def test_readings_are_in_the_order_of_homes_and_days():
    made = make_solar_homes(4, 3, categories=("GC", "CL", "GG"))
    order = np.random.default_rng(1).permutation(made.rows)
    shuffled = Dataset("solar_homes", made.table.take(order), synthetic=True, source="Shuffled.")
    assert made.readings().shape == (4, 3, 48)
    assert np.array_equal(shuffled.readings(), made.readings())
    assert np.array_equal(shuffled.readings("GG"), made.readings("GG"))
    first = made.table.slice(0, 1).to_pylist()[0]
    assert made.readings()[0, 0].tolist() == [first[name] for name in HALF_HOURS]
    with pytest.raises(TableError, match="category 'XX'"):
        made.readings("XX")
    with pytest.raises(OptionError, match="There is no category 'XX'"):
        make_solar_homes(4, 3, categories=("GC", "XX"))


def test_a_day_that_one_home_misses_is_left_out():
    made = make_solar_homes(3, 4)
    kept = np.ones(12, dtype=bool)
    kept[4 + 2] = False  # the third day of the second home
    fewer = Dataset("solar_homes", made.table.filter(kept), synthetic=True, source="Cut.")
    assert np.array_equal(fewer.readings(), made.readings()[:, [0, 1, 3]])


def test_homes_differ_and_their_days_have_the_usual_shape():
    values = make_solar_homes(120, 60).readings()
    assert values.min() >= 0
    assert np.array_equal(values, values.round(3))
    day = values.mean(axis=(0, 1))
    assert day[34:42].mean() > 2 * day[4:10].mean()  # evening against night
    sizes = values.sum(axis=2).mean(axis=1)
    assert sizes.max() > 3 * sizes.min()


def test_panels_give_nothing_at_night_and_more_where_there_are_more():
    made = make_solar_homes(60, 30, categories=("GG",))
    values = made.readings("GG")
    assert values[:, :, :10].max() == values[:, :, 40:].max() == 0
    capacity = made.numbers("Generator Capacity")[::30]
    assert np.corrcoef(capacity, values.sum(axis=(1, 2)))[0, 1] > 0.9


def test_the_mains_are_the_appliances_a_base_load_and_noise():
    made = make_redd(7)
    rest = sum(made.numbers(name) for name in made.columns[2:])
    left = made.numbers("mains") - rest
    assert 80 < left.mean() < 110
    assert left.min() > 20
    assert left.std() < 20


@pytest.mark.slow
def test_the_five_appliances_of_the_paper_take_most_power():
    made = make_redd()
    power = {name: made.numbers(name).mean() for name in made.columns[2:]}
    assert set(TOP_FIVE) == set(sorted(power, key=power.get)[-5:])


def test_a_longer_period_is_the_mean_of_shorter_ones():
    short, long = make_redd(1, period=3), make_redd(1, period=60)
    for name in short.columns[1:]:
        folded = short.numbers(name).reshape(-1, 20).mean(axis=1)
        assert np.abs(folded - long.numbers(name)).max() < 0.011  # both are rounded to 0.01 W


def test_an_appliance_is_in_one_of_a_few_states():
    power = make_redd(7, period=3).numbers("microwave_11")
    assert np.mean((power < 6) | (power > 1400)) > 0.999
    assert 0 < np.mean(power > 1400) < 0.03


def test_trips_begin_and_end_in_the_city_and_gather_at_hubs():
    made = make_taxi(20_000)
    west, south, east, north = NEW_YORK
    x, y, u, v = (made.numbers(name) for name in PLACES)
    assert ((x >= west) & (x <= east) & (u >= west) & (u <= east)).all()
    assert ((y >= south) & (y <= north) & (v >= south) & (v <= north)).all()
    kennedy = (np.abs(x + 73.785) < 0.02) & (np.abs(y - 40.645) < 0.02)
    assert 0.01 < kennedy.mean() < 0.025
    midtown = (np.abs(x + 73.984) < 0.02) & (np.abs(y - 40.753) < 0.02)
    assert midtown.mean() > 0.4


def test_sums_and_taxes_hold_in_the_reference_sets():
    census, firms = make_census(), make_tarragona()
    earned, other = census.numbers("PEARNVAL"), census.numbers("POTHVAL")
    assert np.array_equal(census.numbers("PTOTVAL"), earned + other)
    gross, net = firms.numbers("GROSS.PROFIT"), firms.numbers("NET.PROFIT")
    assert (net[gross > 2] < gross[gross > 2]).all()
    assert np.array_equal(net[gross <= 0], gross[gross <= 0])


def test_answers_are_on_the_scale_of_the_survey():
    made = make_young_people()
    for name in ("Music", "Happiness in life"):
        answers = made.complete(name).numbers(name)
        assert set(answers) <= {1, 2, 3, 4, 5}
        assert len(set(answers)) >= 4
    only = made.table.column("Only child").to_numpy(zero_copy_only=False) == "yes"
    siblings = made.numbers("Number of siblings")
    assert np.nanmax(siblings[only]) == 0


def test_adults_follow_the_published_shares():
    made = make_adult().table.to_pandas()
    assert abs((made["income"] == ">50K").mean() - 0.241) < 0.03
    assert abs((made["sex"] == "Male").mean() - 0.669) < 0.01
    assert abs(made["age"].mean() - 38.6) < 1
    assert abs((made["hours-per-week"] == 40).mean() - 0.467) < 0.05
    assert abs((made["capital-gain"] > 0).mean() - 0.083) < 0.02
    assert made.groupby("education")["education-num"].nunique().eq(1).all()
    assert not ((made["capital-gain"] > 0) & (made["capital-loss"] > 0)).any()
    rich = made.groupby("education-num")["income"].apply(lambda income: (income == ">50K").mean())
    assert rich[13] > 1.5 * rich[9]
    husbands = made["relationship"] == "Husband"
    assert (made[husbands]["sex"] == "Male").all()


def test_hidden_factors_give_the_promised_correlations():
    z = factor_normals(random_numbers(3), 50_000, {"a": (0.8, 0), "b": (0.6, 0.5), "c": (0, 1.0)})
    found = np.corrcoef([z["a"], z["b"], z["c"]])
    assert np.allclose(found, [[1, 0.48, 0], [0.48, 1, 0.5], [0, 0.5, 1]], atol=0.02)
    assert np.allclose([values.std() for values in z.values()], 1, atol=0.02)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
@settings(max_examples=20)
def test_categories_have_the_promised_shares(weights):
    drawn = by_shares(random_numbers(1).standard_normal(20_000), weights)
    found = np.bincount(drawn, minlength=len(weights)) / drawn.size
    assert np.allclose(found, np.array(weights) / sum(weights), atol=0.02)


def test_columns_have_the_promised_quantiles():
    drawn = by_quantiles(random_numbers(1).standard_normal(50_000), (0, 0.3, 1), (-5, 0, 100))
    assert np.allclose(np.quantile(drawn, (0, 0.3, 1)), (-5, 0, 100), atol=0.6)
