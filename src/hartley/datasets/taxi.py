"""Taxi trips in New York City: when and where they begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.datasets.dataset import Dataset
from hartley.datasets.drawing import SEED, random_numbers, synthetic_source
from hartley.datasets.reading import first_lines, not_the_file, read_csv
from hartley.datasets.source import Source, locate
from hartley.errors import TableError

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

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


def load_taxi(
    path: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    cache: str | os.PathLike[str] | None = None,
    box: tuple[float, float, float, float] | None = NEW_YORK,
) -> Dataset:
    """Read trips with coordinates: a file of the TLC of 2009 to 2016, CSV or Parquet.

    Files from 2017 on hold zones instead of coordinates, and so do the files of earlier years
    since they were published again in 2022; they raise an error. Trips that begin or end outside
    the box are left out; the notes say how many.

    Args:
        path: the file, or a folder that holds one.
        download: whether to download the first million trips of 2014 if there is no copy.
        cache: the folder for downloads.
        box: the west, south, east and north of the area to keep; None keeps all trips.
    """
    file = locate(TAXI, path, download=download, cache=cache)
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
    origin = f"{TAXI.title} ({TAXI.licence}), from {TAXI.page}, read from {file.name}."
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

    Example:
        >>> trips = make_taxi(1000)
        >>> trips.rows, bool((trips.numbers("pickup_latitude") > 40.49).all())
        (1000, True)
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
    origin = synthetic_source(TAXI.title, "no trip was made")
    return Dataset("taxi", table, synthetic=True, source=origin, units=UNITS)


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
