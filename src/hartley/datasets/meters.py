"""Meters and taxis."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.datasets.people import SEED, random_numbers
from hartley.datasets.source import (
    HALF_HOURS,
    Dataset,
    Source,
    first_lines,
    not_the_file,
    opened,
    read_csv,
    typed,
)
from hartley.errors import OptionError, TableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


# --- redd -----------------------------------------------------------------------------------------
# The power of a house and of its appliances over time (REDD, low frequency).

REDD = Source(
    name="redd",
    title="REDD low-frequency data",
    page="http://redd.csail.mit.edu",
    licence="research use, as stated on its page",
    file="house_1/labels.dat",
    patterns=("labels.dat",),
    barrier="needs a registration by e-mail",
)
SPELLINGS = {"dishwaser": "dishwasher"}
"""Labels that are misspelt in the files."""
TOP_FIVE = (*("refrigerator_5", "microwave_11", "kitchen_outlets_8", "lighting_9", "dishwasher_6"),)
"""The appliances of house 1 that paper B looks for."""
FIRST_SECOND = 1303516800
"""23 April 2011, the first day of the data in paper B."""
STEP = 3
"""Seconds between the readings of an appliance."""
NOTES = ("Each value is the mean power over the period that begins at its time.",)


@dataclass(frozen=True)
class _Appliance:
    """How an appliance behaves: it idles, and sometimes runs through a programme."""

    label: str
    idle: float
    uses: float
    """Runs per day; None if the programme repeats all the time."""
    hours: tuple[float, float]
    """The hour of the day around which it runs, and the spread."""
    programme: tuple[tuple[float, float], ...]
    """The steps of the programme: power in watts, and minutes."""
    repeats: int = 1


_ALWAYS = (0.0, 0.0)
_EVENING, _MORNING, _NOON = (19.5, 2.2), (7.8, 1.2), (14.0, 4.5)
HOUSE = {
    3: _Appliance("oven", 0, 0.08, _EVENING, ((1650, 6), (0, 4)), 5),
    4: _Appliance("oven", 0, 0.08, _EVENING, ((2450, 5), (0, 4)), 5),
    5: _Appliance("refrigerator", 6, 0, _ALWAYS, ((195, 15), (6, 28))),
    6: _Appliance(
        "dishwasher", 0, 0.6, _EVENING, ((220, 22), (1100, 15), (220, 25), (1080, 13), (200, 9))
    ),
    7: _Appliance("kitchen_outlets", 11, 0.5, _NOON, ((75, 40),)),
    8: _Appliance("kitchen_outlets", 24, 1.1, _NOON, ((62, 220),)),
    9: _Appliance("lighting", 0, 3.6, _EVENING, ((85, 130),)),
    10: _Appliance("washer_dryer", 0, 0.2, _NOON, ((450, 9), (120, 14), (500, 7))),
    11: _Appliance("microwave", 4, 6.0, _NOON, ((1520, 1.7),)),
    12: _Appliance("bathroom_gfi", 3, 0.8, _MORNING, ((1600, 4.5),)),
    13: _Appliance("electric_heat", 0, 0.05, _MORNING, ((20, 60),)),
    14: _Appliance("stove", 0, 0.08, _EVENING, ((1400, 8), (0, 3)), 2),
    15: _Appliance("kitchen_outlets", 0, 1.5, _MORNING, ((1050, 3.2),)),
    16: _Appliance("kitchen_outlets", 0, 0.6, _MORNING, ((1480, 2.2),)),
    17: _Appliance("lighting", 0, 1.3, _EVENING, ((62, 95),)),
    18: _Appliance("lighting", 0, 1.1, _EVENING, ((45, 120),)),
    19: _Appliance("washer_dryer", 0, 0.1, _NOON, ((8, 30),)),
    20: _Appliance("washer_dryer", 0, 0.1, _NOON, ((2700, 7), (180, 3)), 4),
}
"""The channels of the synthetic house; the first two are the mains, as in the files."""


def read_redd(labels: Path, *, period: int = 60) -> Dataset:
    """Read a house: its labels.dat and channel_N.dat, averaged over a common period.

    The mains are added up. Periods without a reading of the mains are left out; an appliance
    without one has a missing value there.
    """
    _check_period(period)
    names = _labels(labels)
    mains = [channel for channel, name in names.items() if name == "mains"]
    if not mains or len(mains) == len(names):
        raise not_the_file(labels, REDD.title, "it does not name mains and appliances")
    read = {
        channel: _averages(labels.with_name(f"channel_{channel}.dat"), period) for channel in names
    }
    first = min(periods[0] for periods, _ in read.values())
    length = max(periods[-1] for periods, _ in read.values()) - first + 1
    power = {}
    for channel, (periods, means) in read.items():
        power[channel] = np.full(length, np.nan)
        power[channel][periods - first] = means
    total = np.sum([power.pop(channel) for channel in mains], axis=0)
    columns = {f"{names[channel]}_{channel}": values for channel, values in power.items()}
    measured = ~np.isnan(total)
    if not measured.any():
        raise TableError(
            f"No period of {labels.parent} has a reading of all mains", hint="use a longer period"
        )
    time = (np.arange(length) + first) * period
    house = labels.resolve().parent.name.replace("_", " ")
    origin = f"{REDD.title} of {house} ({REDD.licence}), from {REDD.page}."
    table = _table(
        time[measured], total[measured], {name: v[measured] for name, v in columns.items()}
    )
    return Dataset.of(REDD, table, source=origin, units=_units(columns), notes=NOTES)


def _check_period(period: int) -> None:
    if period < STEP or period % STEP:
        raise OptionError(
            f"The period is {period} s", hint=f"give a multiple of {STEP} s, for example 60"
        )


def _labels(file: Path) -> dict[int, str]:
    """Return the label of each channel."""
    with opened(file) as text:
        lines = text.read(1 << 16).decode("utf-8", "replace").split("\n")
    words = [line.split() for line in lines if line.strip()]
    if not words or any(len(pair) != 2 or not pair[0].isdigit() for pair in words):
        raise not_the_file(file, REDD.title)
    return {int(number): SPELLINGS.get(label, label) for number, label in words}


def _averages(file: Path, period: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the periods in which a channel has readings, and the mean power in each."""
    import pyarrow as pa

    if not file.exists():
        raise TableError(f"There is no file {file}", hint="download all channels of the house")
    types = {"time": pa.float64(), "power": pa.float64()}
    table = read_csv(file, REDD.title, names=("time", "power"), types=types, delimiter=" ")
    if table.num_rows == 0:
        raise not_the_file(file, REDD.title, "it is empty")
    number = table.column("time").to_numpy().astype(np.int64) // period
    first = number.min()
    count = np.bincount(number - first)
    total = np.bincount(number - first, table.column("power").to_numpy())
    there = np.flatnonzero(count)
    return there + first, np.round(total[there] / count[there], 2)


def _table(time: NDArray[np.int64], mains: NDArray[np.float64], rest: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
    import pyarrow as pa

    stamps = pa.array(time.astype("datetime64[s]"))
    columns = {"mains": mains, **rest}
    return pa.table(
        {
            "time": stamps,
            **{n: pa.array(np.round(v, 2), from_pandas=True) for n, v in columns.items()},
        }
    )


def _units(columns: Mapping[str, Any]) -> dict[str, str]:
    return dict.fromkeys(("mains", *columns), "W")


def make_redd(days: int = 28, *, period: int = 60, seed: int = SEED) -> Dataset:
    """Draw the power of a synthetic house with 18 channels of appliances.

    The refrigerator cycles all the time; the others run through programmes at their hours. The
    mains are the sum of all appliances, a base load without a meter, and noise. Powers and habits
    are typical of such appliances, not measured.
    """
    _check_period(period)
    random = random_numbers(seed, days=days, steps=days * 86_400 // STEP)
    steps = days * 86_400 // period * period // STEP
    fold = period // STEP
    columns, total = {}, np.zeros(steps)
    for channel, appliance in HOUSE.items():
        power = _power(random, appliance, steps)
        total += power
        columns[f"{appliance.label}_{channel}"] = power.reshape(-1, fold).mean(axis=1)
    slow = np.repeat(random.normal(95, 12, steps * STEP // 3600 + 1), 3600 // STEP)[:steps]
    total += slow + random.normal(0, 4, steps)
    time = FIRST_SECOND + np.arange(steps // fold) * period
    table = _table(time, total.reshape(-1, fold).mean(axis=1), columns)
    return Dataset.of(REDD, table, why="no house exists", units=_units(columns), notes=NOTES)


def _power(random: np.random.Generator, appliance: _Appliance, steps: int) -> NDArray[np.float64]:
    """Draw the power of an appliance in each step, in watts."""
    watts, minutes = (np.array(part) for part in zip(*appliance.programme, strict=True))
    watts, minutes = np.tile(watts, appliance.repeats), np.tile(minutes, appliance.repeats)
    per_minute, per_hour = 60 / STEP, 3600 / STEP
    if appliance.uses:
        runs = random.poisson(appliance.uses * steps / per_hour / 24)
        day = random.integers(0, max(1, int(steps / per_hour / 24)), runs)
        begin = (day * 24 + random.normal(*appliance.hours, runs) % 24)[:, None] * per_hour
        length = minutes * random.lognormal(-0.03, 0.25, (runs, 1)) * per_minute
        edges = np.concatenate([begin, begin + np.cumsum(length, axis=1)], axis=1)
    else:  # one run after the other, all the time
        runs = int(steps / per_minute / minutes.sum() * 1.5) + 2
        length = minutes * random.lognormal(-0.01, 0.15, (runs, minutes.size)) * per_minute
        ends = np.cumsum(length).reshape(runs, -1)
        edges = np.concatenate([ends[:, :1] - length[:, :1], ends], axis=1)
    places = np.minimum(edges.astype(np.int64), steps)
    level = np.tile(watts - appliance.idle, (runs, 1))
    change = np.zeros(steps + 1)
    np.add.at(change, places[:, :-1], level)
    np.add.at(change, places[:, 1:], -level)
    running = appliance.idle + np.cumsum(change[:-1])
    power = running.clip(0, watts.max())  # a second run while the first one lasts adds nothing
    return np.round(power * (1 + random.normal(0, 0.012, steps)))


# --- solar homes ----------------------------------------------------------------------------------
# Half-hour meter readings of 300 homes with solar panels (Ausgrid).

SOLAR_HOMES = Source(
    name="solar_homes",
    title="Ausgrid solar home electricity data",
    page="https://www.ausgrid.com.au/Industry/Our-Research/Data-to-share/Solar-home-electricity-data",
    licence="as stated on its page",
    file="Solar-home-half-hour-data---1-July-2012-to-30-June-2013.zip",
    patterns=(
        *("2012-2013 Solar home electricity data*.csv*", "*olar home electricity data*.csv*"),
        *("Solar-home-half-hour-data*.zip", "sgsc*.csv*", "ausgrid_mean_profiles*.csv*"),
    ),
    url=(
        "https://www.ausgrid.com.au/-/media/Documents/Data-to-share/Solar-home-electricity-data/"
        "Solar-home-half-hour-data---1-July-2012-to-30-June-2013.zip"
    ),
)
HEAD = ("Customer", "Generator Capacity", "Postcode", "Consumption Category", "date")
SOLAR_UNITS = {"Generator Capacity": "kWp", **dict.fromkeys(HALF_HOURS, "kWh")}
CATEGORIES = ("GC", "CL", "GG")
"""General consumption, controlled load, gross generation."""
FIRST_DAY = date(2012, 7, 1)
POSTCODES = (2259, 2261, 2290, 2262, 2093, 2263, 2204, 2289, 2100, 2280)
# Hour, width in hours and height in kWh of the peaks in the mean day of a home.
_BUMPS = ((7.6, 1.3, 0.115), (12.5, 3.0, 0.115), (18.6, 1.6, 0.270), (21.6, 1.9, 0.185))
_BASE, _HABIT = 0.165, 0.13
"""In kWh: the load that always runs, and one at an hour of its own, such as a pool pump."""
_MEAN_DAY = 16.0
_SPREAD = 0.40
"""The deviation of the logarithm of a home's mean consumption."""
_RESTLESS, _MEMORY = 0.85, 0.62
"""The deviation of a reading's logarithm from its usual, and the correlation per half hour."""


def read_solar_homes(file: Path) -> Dataset:
    """Read half-hour readings of homes.

    Three layouts are recognised: a yearly file of Ausgrid (with or without the line above its
    header), a file of mean profiles with the same columns but no dates, and one reading per row
    (``customer_id, reading_datetime, general_supply_kwh``), the layout of the Smart Grid Smart
    City trial, whose readings can stand in for those of the solar homes.
    """
    lines = [line.replace('"', "") for line in first_lines(file)]
    origin = SOLAR_HOMES.origin
    notes: tuple[str, ...] = ("A column is named after the end of its half hour.",)
    if lines[0].lower().startswith("customer_id,"):
        table = _from_long(read_csv(file, SOLAR_HOMES.title), file)
        origin = "Smart Grid Smart City customer trial, from https://data.gov.au"
        notes += ("Readings of a trial nearby stand in for the solar homes.",)
    else:
        skip = next((i for i, line in enumerate(lines) if line.startswith("Customer,")), None)
        if skip is None:
            raise not_the_file(file, SOLAR_HOMES.title)
        table = _from_wide(read_csv(file, SOLAR_HOMES.title, skip=skip), file)
        if table.column("date").null_count:
            notes += ("These are mean profiles, not the readings of days.",)
    origin += f", read from {file.name}."
    return Dataset.of(SOLAR_HOMES, table, source=origin, units=SOLAR_UNITS, notes=notes)


def _types() -> dict[str, Any]:
    import pyarrow as pa

    kinds = (pa.int64(), pa.float64(), pa.int64(), pa.string(), pa.date32())
    return dict(zip(HEAD, kinds, strict=True)) | dict.fromkeys(HALF_HOURS, pa.float64())


def _from_wide(table: Any, file: Path) -> Any:  # noqa: ANN401 - pyarrow tables
    import pyarrow as pa
    import pyarrow.compute as pc

    if "date" not in table.column_names:
        table = table.append_column("date", pa.nulls(table.num_rows, pa.date32()))
    written = table.column("date")
    if not pa.types.is_date(written.type):
        read = [
            pc.strptime(written.cast(pa.string()), format=form, unit="s", error_is_null=True)
            for form in ("%d-%b-%y", "%d/%m/%Y", "%d-%b-%Y")
        ]
        days = pc.coalesce(*read)
        if days.null_count:
            raise not_the_file(file, SOLAR_HOMES.title, "a date cannot be read")
        place = table.column_names.index("date")
        table = table.set_column(place, "date", days.cast(pa.date32()))
    return typed(table, _types(), file, SOLAR_HOMES.title)


def _from_long(table: Any, file: Path) -> Any:  # noqa: ANN401 - pyarrow tables
    """Turn one reading per row into one row per home and day; half hours may be missing."""
    import pyarrow as pa

    kinds = {"customer_id": pa.int64(), "reading_datetime": pa.timestamp("s")}
    table = typed(table, {**kinds, "general_supply_kwh": pa.float64()}, file, SOLAR_HOMES.title)
    customer = table.column("customer_id").to_numpy()
    # A reading at midnight belongs to the day before.
    half = table.column("reading_datetime").to_numpy().astype(np.int64) // 1800 - 1
    keys, row = np.unique(np.stack([customer, half // 48]), axis=1, return_inverse=True)
    grid = np.full((keys.shape[1], 48), np.nan)
    grid[row.ravel(), half % 48] = table.column("general_supply_kwh").to_numpy()
    head = {
        "Customer": keys[0],
        "Generator Capacity": pa.nulls(len(grid), pa.float64()),
        "Postcode": pa.nulls(len(grid), pa.int64()),
        "Consumption Category": pa.array(np.full(len(grid), "GC")),
        "date": pa.array(keys[1].astype(np.int32)).cast(pa.date32()),
    }
    readings = {name: pa.array(grid[:, i], from_pandas=True) for i, name in enumerate(HALF_HOURS)}
    return pa.table(head | readings)


def make_solar_homes(
    homes: int = 300,
    days: int = 365,
    *,
    seed: int = SEED,
    categories: Sequence[str] = ("GC",),
) -> Dataset:
    """Draw readings of synthetic homes from 1 July 2012.

    Each home has its own usual day (a base load, and morning, noon, evening and late peaks of its
    own height and hour), seasons, weekends and days away; readings vary around it with a memory of
    half an hour. The mean day and its spread between homes are those of the Ausgrid homes.
    """
    import pyarrow as pa

    random = random_numbers(seed, homes=homes, days=days, rows=homes * days)
    unknown = [name for name in categories if name not in CATEGORIES]
    if unknown or not categories:
        raise OptionError(
            f"There is no category '{unknown[0] if unknown else ''}'",
            hint=f"choose among {', '.join(CATEGORIES)}",
        )
    capacity = random.lognormal(0.4, 0.42, homes).clip(1.0, 9.99).round(2)
    postcode = np.array(POSTCODES)[random.choice(len(POSTCODES), homes)]
    makers = {
        "GC": lambda: _consumption(random, homes, days),
        "CL": lambda: _controlled(random, homes, days),
        "GG": lambda: _generation(random, days, capacity),
    }
    parts = []
    for name in categories:
        values, present = makers[name]()
        chosen = np.flatnonzero(present)
        flat = np.round(values[chosen], 3).reshape(-1, 48)
        head = {
            "Customer": np.repeat(chosen + 1, days),
            "Generator Capacity": np.repeat(capacity[chosen], days),
            "Postcode": np.repeat(postcode[chosen], days),
            "Consumption Category": pa.array(np.full(len(flat), name)),
            "date": np.tile(np.datetime64(FIRST_DAY) + np.arange(days), chosen.size),
        }
        columns = dict(zip(HALF_HOURS, np.ascontiguousarray(flat.T), strict=True))
        parts.append(pa.table(head | columns))
    table = pa.concat_tables(parts)
    return Dataset.of(SOLAR_HOMES, table, why="no home exists", units=SOLAR_UNITS)


def _consumption(
    random: np.random.Generator, homes: int, days: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Draw the general consumption of every home: homes x days x 48, in kWh."""
    from scipy.signal import lfilter

    noise = random.standard_normal((homes, days * 48))
    fresh = _RESTLESS * np.sqrt(1 - _MEMORY**2)
    noise[:, 0] /= np.sqrt(1 - _MEMORY**2)
    wander = lfilter([fresh], [1, -_MEMORY], noise, axis=1).reshape(homes, days, 48)
    wander = np.clip(wander, -2.6 * _RESTLESS, 2.4 * _RESTLESS)  # a fuse limits the largest reading
    mood = lfilter([0.2], [1, -0.75], random.standard_normal((homes, days)), axis=1)
    day = mood + _season(random, homes, days)
    day = np.where(random.random((homes, days)) < 0.03, -1.1, day)  # away
    readings = _usual_days(random, homes)[:, None, :] * np.exp(
        wander - _RESTLESS**2 / 2 + day[:, :, None]
    )
    return np.clip(readings, 0, 7.5), np.ones(homes, dtype=bool)


def _usual_days(random: np.random.Generator, homes: int) -> NDArray[np.float64]:
    """Draw the consumption of a home in each half hour of a usual day."""
    hour = (np.arange(48) + 0.5) / 2
    shape = np.full((homes, 48), _BASE) * random.lognormal(0, 0.35, (homes, 1))
    for centre, width, height in _BUMPS:
        at = centre + random.normal(0, 0.9, (homes, 1))
        away = (hour - at + 12) % 24 - 12
        tall = height * random.lognormal(-0.18, 0.6, (homes, 1))
        shape += tall * np.exp(-0.5 * (away / width) ** 2)
    pump = (hour - random.uniform(0, 24, (homes, 1)) + 12) % 24 - 12
    shape += _HABIT * random.gamma(0.6, 1.7, (homes, 1)) * np.exp(-0.5 * (pump / 1.6) ** 2)
    size = random.lognormal(np.log(_MEAN_DAY) - _SPREAD**2 / 2, _SPREAD, (homes, 1))
    usual: NDArray[np.float64] = shape / shape.sum(axis=1, keepdims=True) * size
    return usual


def _season(random: np.random.Generator, homes: int, days: int) -> NDArray[np.float64]:
    """Return how the logarithm of a day's consumption moves with winter, summer and weekend."""
    day = np.arange(days)
    year = 2 * np.pi * day / 365.25  # the first day is in the middle of the southern winter
    winter, summer = random.normal(0.13, 0.08, (homes, 1)), random.normal(0.06, 0.06, (homes, 1))
    weekend = (FIRST_DAY.weekday() + day) % 7 >= 5
    season: NDArray[np.float64] = winter * np.cos(year) + summer * np.cos(2 * year)
    return season + 0.07 * weekend - 0.05


def _controlled(
    random: np.random.Generator, homes: int, days: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Draw the water heaters that run at night; 46 % of homes have one."""
    hour = (np.arange(48) + 0.5) / 2
    start = (random.normal(23.3, 0.8, (homes, 1, 1))) + random.normal(0, 0.2, (homes, days, 1))
    need = random.gamma(3.0, 1.3, (homes, 1, 1)) * random.lognormal(-0.06, 0.35, (homes, days, 1))
    after = (hour - start) % 24
    values = np.clip((need - 1.4 * after) / 1.0, 0, 1.0) * (after < 8)
    return values, random.random(homes) < 0.46


def _generation(
    random: np.random.Generator, days: int, capacity: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Draw the output of the panels: the arc of the sun, under partly shared clouds."""
    hour = (np.arange(48) + 0.5) / 2
    year = 2 * np.pi * np.arange(days) / 365.25
    length = 12 - 2.2 * np.cos(year)[:, None]
    arc = np.clip(np.cos(np.pi * (hour - 12.1) / length), 0, None) ** 1.6
    arc *= (np.abs(hour - 12.1) < length / 2) * (0.345 - 0.06 * np.cos(year)[:, None])
    sky = 0.35 + 0.65 * random.beta(2.6, 1.1, (1, days, 1))
    local = np.clip(random.normal(1, 0.12, (capacity.size, days, 48)), 0, None)
    return capacity[:, None, None] * arc * sky * local, np.ones(capacity.size, dtype=bool)


# --- taxi -----------------------------------------------------------------------------------------
# Taxi trips in New York City: when and where they begin and end.

TAXI = Source(
    name="taxi",
    title="New York taxi trips",
    page="https://data.cityofnewyork.us/Transportation/2014-Yellow-Taxi-Trip-Data/gkne-dk5s",
    licence="NYC open data terms",
    file="yellow_tripdata_2014_first_million.csv",
    patterns=(
        *("*tripdata*.csv*", "*tripdata*.parquet", "nyc_taxi*.csv*", "*axi*rip*.csv*"),
        *("trips.csv*", "trips.parquet"),
    ),
    url=(
        "https://data.cityofnewyork.us/resource/gkne-dk5s.csv?$limit=1000000"
        "&$select=pickup_datetime,pickup_longitude,pickup_latitude,"
        "dropoff_longitude,dropoff_latitude"
    ),
)
PLACES = ("pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude")
COLUMNS = ("pickup_datetime", *PLACES)
UNITS = dict.fromkeys(PLACES, "degrees")
NEW_YORK = (-74.27, 40.49, -73.68, 40.92)
"""West, south, east and north of the city, as Fig. 5 of Farokhi, Noiseless Privacy, draws it."""
_OTHER_NAMES = {
    "pickup_datetime": ("tpep_pickup_datetime", "lpep_pickup_datetime", "trip_pickup_datetime"),
    "pickup_longitude": ("start_lon",),
    "pickup_latitude": ("start_lat",),
    "dropoff_longitude": ("end_lon",),
    "dropoff_latitude": ("end_lat",),
}
# Share of trips, longitude, latitude, deviation along and across the island, in degrees.
_HUBS = (
    (0.44, -73.984, 40.753, 0.013, 0.006),  # midtown
    (0.23, -73.996, 40.729, 0.012, 0.008),  # downtown
    (0.19, -73.958, 40.775, 0.012, 0.008),  # upper east and west
    (0.06, -73.962, 40.755, 0.050, 0.030),  # the other boroughs
    (0.04, -73.952, 40.700, 0.030, 0.020),
    (0.021, -73.873, 40.774, 0.0025, 0.0015),  # La Guardia
    (0.016, -73.785, 40.645, 0.003, 0.002),  # Kennedy
)
_AIRPORTS = 5
"""The first of the hubs that are airports."""
_POPULAR = 600
"""Corners where many trips begin or end."""
_NORTH = np.array([0.50, 0.87])
"""The direction of the island: along it, and a quarter turn from it."""
_DAY = (5, 3, 3, 2, 1, 1, 2, 4, 5, 5, 4, 5, 5, 5, 5, 5, 4, 5, 6, 6, 6, 6, 6, 5)
"""The relative number of trips that begin in each hour of the day."""


def read_taxi(file: Path, *, box: tuple[float, float, float, float] | None = NEW_YORK) -> Dataset:
    """Read trips with coordinates: a file of the TLC of 2009 to 2016, CSV or Parquet.

    Files from 2017 on hold zones instead of coordinates, and so do the files of earlier years
    since they were published again in 2022; they raise an error. Trips that begin or end outside
    the box are left out; the notes say how many.
    """
    table = _read(file)
    places = [table.column(name).to_numpy() for name in PLACES]
    inside = ~np.isnan(np.stack(places)).any(axis=0)
    if box is not None:
        west, south, east, north = box
        for values, low, high in zip(places, (west, south) * 2, (east, north) * 2, strict=True):
            inside &= (values >= low) & (values <= high)
    fewer = table.filter(inside)
    if fewer.num_rows == 0:
        raise TableError(f"No trip of {file} lies in the box", hint="give another box=")
    gone = table.num_rows - fewer.num_rows
    notes = (f"{gone:,} of {table.num_rows:,} trips lie outside the box and are left out.",)
    origin = f"{TAXI.origin}, read from {file.name}."
    made = (table.schema.metadata or {}).get(b"synthetic")  # as `hartley sample` marks its files
    return Dataset(
        "taxi",
        fewer.replace_schema_metadata(None),
        synthetic=made is not None,
        source=origin if made is None else made.decode(),
        units=UNITS,
        notes=notes,
    )


def _read(file: Path) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
    import pyarrow as pa
    import pyarrow.parquet

    if file.suffix in {".parquet", ".pq"}:
        try:
            table = pyarrow.parquet.read_table(file)
        except (pa.ArrowException, OSError):
            raise not_the_file(file, TAXI.title) from None
        names = table.column_names
    else:
        names = [name.strip(' "') for name in first_lines(file, 1)[0].split(",")]
        known = {name: _standard(name) for name in names}
        types = {name: pa.float64() for name in names if known[name] in PLACES}
        types |= {name: pa.string() for name in names if known[name] == COLUMNS[0]}
        table = read_csv(file, TAXI.title, names=names, types=types, skip=1)
    chosen = {_standard(name): name for name in reversed(names)}
    absent = [name for name in PLACES if name not in chosen]
    if absent:
        raise not_the_file(file, TAXI.title, f"it has no column '{absent[0]}'")
    columns = {name: table.column(chosen[name]).cast(pa.float64()) for name in PLACES}
    times = _times(table, chosen.get(COLUMNS[0]))
    return pa.table({COLUMNS[0]: times, **columns}, metadata=table.schema.metadata)


def _standard(name: str) -> str:
    """Return the name that a column has in all years."""
    plain = name.strip(' "').lower()
    return next((new for new, old in _OTHER_NAMES.items() if plain in old), plain)


def _times(table: Any, column: str | None) -> Any:  # noqa: ANN401 - pyarrow columns
    """Return times to the second; nulls if a file has none or an unknown format."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column is None:
        return pa.nulls(table.num_rows, pa.timestamp("s"))
    values = table.column(column)
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.timestamp("s"), safe=False)
    text = pc.utf8_slice_codeunits(values.cast(pa.string()), 0, 19)
    text = pc.replace_substring(text, "T", " ")
    return pc.strptime(text, format="%Y-%m-%d %H:%M:%S", unit="s", error_is_null=True)


def make_taxi(trips: int = 100_000, *, seed: int = SEED) -> Dataset:
    """Draw synthetic trips of 2014 around the hubs of New York.

    Trips begin near Midtown, Downtown, the upper sides, the airports or anywhere. Three in four
    end nearby, at a distance with a skewed distribution; the others end at another hub. There are
    no streets, and the only river is the Hudson.
    """
    import pyarrow as pa

    random = random_numbers(seed, trips=trips)
    start, hub = _places(random, trips)
    far, _ = _places(random, trips)
    length = np.exp(random.normal(np.log(2.1), 0.72, trips)) / 111.2
    turn = random.uniform(0, 2 * np.pi, trips)
    near = _ashore(start + _turned(length * np.cos(turn) * 1.25, length * np.sin(turn) * 0.65))
    leaves = random.random(trips) < np.where(hub >= _AIRPORTS, 0.92, 0.22)
    end = _corners(random, np.where(leaves, far, near))
    start = _corners(random, start)
    low, high = np.array(NEW_YORK[:2])[:, None], np.array(NEW_YORK[2:])[:, None]
    places = [np.round(np.clip(place, low, high), 6) for place in (start, end)]
    day = random.integers(0, 365, trips) * 86_400
    hour = random.choice(24, trips, p=np.array(_DAY) / sum(_DAY)) * 3600
    seconds = np.datetime64("2014-01-01", "s") + day + hour + random.integers(0, 3600, trips)
    table = pa.table(
        {COLUMNS[0]: seconds, **dict(zip(PLACES, np.concatenate(places), strict=True))},
    )
    return Dataset.of(TAXI, table, why="no trip was made", units=UNITS)


def _places(
    random: np.random.Generator, trips: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw places around hubs: their longitudes, their latitudes and their hubs."""
    hubs = np.array(_HUBS)
    hub = random.choice(len(hubs), trips, p=hubs[:, 0] / hubs[:, 0].sum())
    along, across = random.standard_normal((2, trips)) * hubs[hub, 3:].T
    return _ashore(hubs[hub, 1:3].T + _turned(along, across)), hub


def _corners(random: np.random.Generator, places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move a part of the places to the nearest popular corner: stations, hotels, theatres."""
    from scipy.spatial import KDTree

    popular, _ = _places(random, _POPULAR)
    corner = popular[:, KDTree(popular.T).query(places.T)[1]]
    spread = random.normal(0, 0.0004, places.shape)
    return np.where(random.random(places.shape[1]) < 0.45, corner + spread, places)


def _ashore(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mirror places beyond the Hudson at the shore."""
    east, north = places
    shore = -74.016 + 0.62 * np.clip(north - 40.735, 0, None) - np.clip(40.70 - north, 0, None)
    return np.stack([np.maximum(east, 2 * shore - east), north])


def _turned(along: NDArray[np.float64], across: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn steps along and across the island into degrees east and north."""
    east, north = _NORTH
    return np.stack([(east * along + north * across) * 1.32, north * along - east * across])
