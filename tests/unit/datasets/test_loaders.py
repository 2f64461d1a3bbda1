import gzip
import re
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from hartley import OptionError, TableError, dataset
from hartley.datasets.catalogue import ENTRIES
from hartley.datasets.meters import (
    NEW_YORK,
    make_redd,
    make_solar_homes,
    make_taxi,
    read_redd,
    read_taxi,
)
from hartley.datasets.source import HALF_HOURS
from hartley.papers.b import LATITUDE, LONGITUDE

SMALL = {
    "solar_homes": {"homes": 3, "days": 4, "categories": ("GC", "GG")},
    "redd": {"days": 1, "period": 60},
    "taxi": {"trips": 300},
}


def small(name, seed=5):
    return dataset(name, seed=seed, **SMALL.get(name, {"rows": 300}))


@pytest.mark.parametrize("name", ENTRIES)
def test_a_synthetic_table_written_as_the_official_file_is_read_back_unchanged(
    name, tmp_path, write_official
):
    made = small(name)
    write_official(name, made.table, tmp_path)
    read = dataset(name, tmp_path)
    assert read.table.schema.equals(made.table.schema)
    assert read.table.equals(made.table)
    assert (read.units, read.name, read.synthetic) == (made.units, name, False)
    assert read.source.endswith(".")
    assert "ynthetic" not in read.source + read.title


@pytest.mark.parametrize("name", ENTRIES)
def test_a_copy_in_the_cache_is_read_without_a_path(name, tmp_path, write_official):
    write_official(name, small(name).table, tmp_path)
    assert dataset(name, "download", cache=tmp_path).rows == small(name).rows


@pytest.mark.parametrize("name", [name for name in ENTRIES if name != "redd"])
@pytest.mark.parametrize(
    "content", [b"", b"secret-value;9\n", b"a,b\nsecret-value,2\n", b"\x00\xff"]
)
def test_another_file_is_refused_without_quoting_it(name, content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(TableError) as caught:
        dataset(name, tmp_path / "file")
    assert "secret-value" not in str(caught.value)
    assert re.search("is not in a layout of the|is damaged", caught.value.problem)


@pytest.mark.parametrize("name", ["hungarian", "taxi", "solar_homes"])
def test_a_cut_off_archive_is_refused(name, tmp_path, write_official):
    write_official(name, small(name).table, tmp_path)
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    packed = content if content[:2] in (b"\x1f\x8b", b"PK") else gzip.compress(content)
    (tmp_path / "cut").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(TableError):
        dataset(name, tmp_path / "cut")


def test_a_fraction_where_whole_numbers_belong_is_refused(tmp_path):
    (tmp_path / "processed.hungarian.data").write_text("28.5" + ",1" * 13 + "\n")
    with pytest.raises(TableError, match="is not in a layout"):
        dataset("hungarian", tmp_path)


def test_the_official_spelling_of_missing_values_is_known(tmp_path):
    line = "28,1,2,130,132,0,2,185,0,0.5,?,?,?,0\n"
    (tmp_path / "processed.hungarian.data").write_text(line)
    (row,) = dataset("hungarian", tmp_path).table.to_pylist()
    assert row["age"] == 28
    assert row["oldpeak"] == 0.5
    assert row["slope"] is row["ca"] is row["thal"] is None


def test_the_test_file_of_adult_is_read_too(tmp_path):
    line = "25, Private, 226802, 11th, 7, Never-married, ?, Own-child, Black, Male, 0, 0, 40, ?, "
    (tmp_path / "adult.test").write_text(f"|1x3 Cross validator\n{line}<=50K.\n{line}>50K.\n\n")
    table = dataset("adult", tmp_path).table
    assert table.column("income").to_pylist() == ["<=50K", ">50K"]
    assert table.column("occupation").null_count == 2
    assert table.column("education").to_pylist() == ["11th", "11th"]


@pytest.mark.parametrize(
    "names",
    [
        [
            "tpep_pickup_datetime",
            *(f"{p}_{c}" for p in ("Pickup", "Dropoff") for c in ("longitude", "latitude")),
        ],
        ["Trip_Pickup_DateTime", "Start_Lon", "Start_Lat", "End_Lon", "End_Lat"],
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_column_names_of_all_years_are_known(tmp_path, names, kind):
    made = make_taxi(50)
    table = made.table.rename_columns(names)
    path = tmp_path / f"trips.{kind}"
    writers = {"csv": pa.csv.write_csv, "parquet": pa.parquet.write_table}
    writers[kind](table, path)
    assert dataset("taxi", path).table.equals(made.table)


def test_a_sample_that_was_written_to_a_file_stays_synthetic(tmp_path):
    made = make_taxi(50)
    marked = made.table.replace_schema_metadata({"synthetic": made.source})
    pa.parquet.write_table(marked, tmp_path / "trips.parquet")
    read = dataset("taxi", tmp_path)
    assert (read.synthetic, read.source) == (True, made.source)
    assert read.table.equals(made.table)


def test_the_box_of_the_city_is_that_of_the_paper(tmp_path):
    header = "pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude"
    longitudes = (-74.271, -74.27, -74.265, -73.69, -73.68, -73.679)
    rows = [header, *(f"{longitude},40.75,-73.97,40.76" for longitude in longitudes)]
    (tmp_path / "trips.csv").write_text("\n".join(rows) + "\n")
    kept = dataset("taxi", tmp_path).numbers("pickup_longitude").tolist()
    assert kept == [-74.27, -74.265, -73.69, -73.68]
    paper = LONGITUDE[0], LATITUDE[0], LONGITUDE[1], LATITUDE[1]
    assert list(NEW_YORK) == [float(end) for end in paper]


def test_trips_outside_the_box_or_without_a_place_are_counted_and_left_out(tmp_path):
    header = "pickup_datetime,pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude\n"
    rows = [
        "2014-01-01T10:00:00.000,-73.98,40.75,-73.97,40.76",
        "2014-01-01 10:00:00,0,0,-73.97,40.76",
        "2014-01-01 10:00:00,-73.98,40.75,,",
        "1/2/2014 10:00,-73.98,40.75,-73.97,41.5",
    ]
    (tmp_path / "trips.csv").write_text(header + "\n".join(rows) + "\n")
    read = dataset("taxi", tmp_path)
    assert read.rows == 1
    assert read.notes == ("3 of 4 trips lie outside the box and are left out.",)
    assert read.table.column("pickup_datetime").null_count == 0
    everywhere = read_taxi(tmp_path / "trips.csv", box=None)
    assert everywhere.rows == 3
    assert everywhere.table.column("pickup_datetime").null_count == 1
    with pytest.raises(TableError, match="lies in the box"):
        read_taxi(tmp_path / "trips.csv", box=(0.5, 0.5, 1, 1))


def test_files_that_name_zones_instead_of_coordinates_are_refused(tmp_path):
    table = pa.table({"tpep_pickup_datetime": ["2014-01-01 10:00:00"], "PULocationID": [4]})
    pa.parquet.write_table(table, tmp_path / "yellow_tripdata_2014-01.parquet")
    with pytest.raises(TableError, match="no column 'pickup_longitude'"):
        dataset("taxi", tmp_path)


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%d-%b-%y", "%Y-%m-%d"])
@pytest.mark.parametrize("above", ["", "Some words about the file\n"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_days_are_read_in_all_the_ways_that_they_are_written(tmp_path, form, above, quote):
    header = "Customer,Generator Capacity,Postcode,Consumption Category,date"
    day = date(2012, 7, 13)
    line = ",".join(["1", "3.78", "2076", "GC", day.strftime(form), *["0.25"] * 48])
    names = ",".join(quote + name + quote for name in (*header.split(","), *HALF_HOURS))
    text = f"{above}{names}\n{line}\n"
    (tmp_path / "2012-2013 Solar home electricity data v2.csv").write_text(text)
    read = dataset("solar_homes", tmp_path)
    assert read.table.column("date").to_pylist() == [day]
    assert read.readings().tolist() == [[[0.25] * 48]]


def test_mean_profiles_have_no_days(tmp_path):
    header = "Customer,Consumption Category,Generator Capacity,Postcode," + ",".join(HALF_HOURS)
    lines = [f"{home},GC,1.5,2076.0," + ",".join([str(home)] * 48) for home in (2, 1)]
    (tmp_path / "profiles.csv").write_text("\n".join([header, *lines]) + "\n")
    read = dataset("solar_homes", tmp_path / "profiles.csv")
    assert read.readings()[:, 0, 0].tolist() == [1, 2]
    assert any("mean profiles" in note for note in read.notes)


def test_readings_one_a_row_become_days_and_midnight_closes_the_day_before(tmp_path):
    made = make_solar_homes(2, 3)
    values = made.readings()
    lines = ["customer_id,reading_datetime,general_supply_kwh"]
    for home, days in enumerate(values):
        for slot, value in enumerate(days.ravel()):
            time = np.datetime64("2012-07-01T00:30:00") + slot * np.timedelta64(30, "m")
            lines.append(f"{home},{str(time).replace('T', ' ')},{value}")
    (tmp_path / "sgsc.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    read = dataset("solar_homes", tmp_path)
    assert np.array_equal(read.readings(), values)
    assert read.table.column("date").to_pylist()[:2] == [date(2012, 7, 1), date(2012, 7, 2)]
    (tmp_path / "sgsc.csv").write_text("\n".join(lines[:-1]) + "\n")  # the last reading is missing
    assert np.array_equal(dataset("solar_homes", tmp_path).readings(), values[:, :2])


def test_channels_are_averaged_over_periods_and_gaps_are_missing(tmp_path):
    house = tmp_path / "house_2"
    house.mkdir()
    (house / "labels.dat").write_text("1 mains\n2 mains\n3 dishwaser\n")
    (house / "channel_1.dat").write_text("120 10\n121 20\n180 30\n300 50\n")
    (house / "channel_2.dat").write_text("119 7\n120 1.5\n185 2\n240 3\n300 5\n")
    (house / "channel_3.dat").write_text("122 100\n150 101\n301 7\n360 8\n")
    read = read_redd(house / "labels.dat")
    assert read.columns == ("time", "mains", "dishwasher_3")
    assert read.table.column("mains").to_pylist() == [16.5, 32.0, 55.0]
    assert read.table.column("dishwasher_3").to_pylist() == [100.5, None, 7.0]
    assert [moment.minute for moment in read.table.column("time").to_pylist()] == [2, 3, 5]
    assert "of house 2" in read.source
    assert dataset("redd", house).table.equals(read.table)  # the folder of the house itself
    assert read_redd(house / "labels.dat", period=3).columns == read.columns


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ("", "layout"),
        ("1 mains\n", "does not name mains and appliances"),
        ("1 mains\n2 oven\n", "channel_2"),
    ],
)
def test_a_house_with_parts_missing_is_refused(tmp_path, labels, told):
    (tmp_path / "labels.dat").write_text(labels)
    (tmp_path / "channel_1.dat").write_text("120 10\n")
    with pytest.raises(TableError, match=told):
        dataset("redd", tmp_path)


@pytest.mark.parametrize("period", [0, -3, 10])
def test_a_period_that_is_no_multiple_of_three_seconds_is_refused(period, tmp_path):
    with pytest.raises(OptionError, match="The period is"):
        make_redd(1, period=period)
    with pytest.raises(OptionError, match="The period is"):
        read_redd(tmp_path, period=period)
