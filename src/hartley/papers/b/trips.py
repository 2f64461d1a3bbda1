"""The city of the taxi trips: its range, and where trips begin and end in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.datasets.catalogue import dataset

if TYPE_CHECKING:
    from pathlib import Path

    from hartley.datasets.source import Dataset

DATA = "taxi"
LONGITUDE, LATITUDE = ("-74.27", "-73.68"), ("40.49", "40.92")
"""The box of Fig. 5, in degrees; public."""
RANGES = {
    "pickup_longitude": LONGITUDE,
    "pickup_latitude": LATITUDE,
    "dropoff_longitude": LONGITUDE,
    "dropoff_latitude": LATITUDE,
}
COLUMNS = tuple(RANGES)


def load_trips(data: str | Path, trips: int) -> Dataset:
    """Return trips that begin and end in the city; so many where they are made up."""
    return dataset(DATA, data=data, trips=trips)
