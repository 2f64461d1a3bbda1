"""Half-hour meter readings of 300 homes with solar panels (Ausgrid)."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.datasets.dataset import HALF_HOURS, Dataset
from hartley.datasets.drawing import SEED, random_numbers, synthetic_source
from hartley.datasets.reading import first_lines, not_the_file, read_csv, typed
from hartley.datasets.source import Source, locate
from hartley.errors import OptionError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

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
COLUMNS = (*HEAD, *HALF_HOURS)
UNITS = {"Generator Capacity": "kWp", **dict.fromkeys(HALF_HOURS, "kWh")}
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


def load_solar_homes(
    path: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    cache: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Read half-hour readings of homes.

    Three layouts are recognised: a yearly file of Ausgrid (with or without the line above its
    header), a file of mean profiles with the same columns but no dates, and one reading per row
    (``customer_id, reading_datetime, general_supply_kwh``), the layout of the Smart Grid Smart
    City trial, whose readings can stand in for those of the solar homes.

    Args:
        path: the file, or a folder that holds it.
        download: whether to download July 2012 to June 2013 if there is no copy.
        cache: the folder for downloads.
    """
    file = locate(SOLAR_HOMES, path, download=download, cache=cache)
    lines = [line.replace('"', "") for line in first_lines(file)]
    origin = f"{SOLAR_HOMES.title} ({SOLAR_HOMES.licence}), from {SOLAR_HOMES.page}"
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
    return Dataset("solar_homes", table, synthetic=False, source=origin, units=UNITS, notes=notes)


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

    Args:
        homes: the number of homes.
        days: the number of days for each home.
        seed: the seed of the generator.
        categories: which of GC (general consumption), CL (controlled load, in part of the homes),
            GG (gross generation of the panels).

    Example:
        >>> make_solar_homes(homes=3, days=2).readings().shape
        (3, 2, 48)
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
    origin = synthetic_source(SOLAR_HOMES.title, "no home exists")
    table = pa.concat_tables(parts)
    return Dataset("solar_homes", table, synthetic=True, source=origin, units=UNITS)


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
