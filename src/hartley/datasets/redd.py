"""The power of a house and of its appliances over time (REDD, low frequency)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.datasets.dataset import Dataset
from hartley.datasets.drawing import SEED, random_numbers, synthetic_source
from hartley.datasets.reading import not_the_file, read_csv
from hartley.datasets.source import Source, locate, opened
from hartley.errors import OptionError, TableError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

REDD = Source(
    name="redd",
    title="REDD low-frequency data",
    page="http://redd.csail.mit.edu",
    licence="research use, as stated on its page",
    file="house_1/labels.dat",
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


def load_redd(
    path: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    cache: str | os.PathLike[str] | None = None,
    house: int = 1,
    period: int = 60,
) -> Dataset:
    """Read a house: labels.dat and channel_N.dat, averaged over a common period.

    The mains are added up. Periods without a reading of the mains are left out; an appliance
    without one has a missing value there.

    Args:
        path: the folder that holds house_N, that folder itself, or its labels.dat.
        download: not supported, since REDD needs a registration; put a copy into the cache.
        cache: the folder for downloads.
        house: the number of the house, from 1 to 6.
        period: the period of the averages, in seconds.
    """
    _check_period(period)
    source = replace(REDD, file=f"house_{house}/labels.dat", patterns=("labels.dat",))
    labels = locate(source, path, download=download, cache=cache)
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
    origin = f"{REDD.title} of house {house} ({REDD.licence}), from {REDD.page}."
    table = _table(
        time[measured], total[measured], {name: v[measured] for name, v in columns.items()}
    )
    return Dataset(
        "redd", table, synthetic=False, source=origin, units=_units(columns), notes=NOTES
    )


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

    Args:
        days: the number of days, from 23 April 2011.
        period: the period in seconds, a multiple of 3; values are means over it.
        seed: the seed of the generator.

    Example:
        >>> house = make_redd(days=1)
        >>> house.rows, house.columns[:4]
        (1440, ('time', 'mains', 'oven_3', 'oven_4'))
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
    origin = synthetic_source(REDD.title, "no house exists")
    table = _table(time, total.reshape(-1, fold).mean(axis=1), columns)
    return Dataset("redd", table, synthetic=True, source=origin, units=_units(columns), notes=NOTES)


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
