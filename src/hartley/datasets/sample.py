"""The sample function: a synthetic table of people, or one like a known data set."""

from __future__ import annotations

import inspect
from typing import Any

from hartley.datasets.catalogue import dataset, entry_of
from hartley.datasets.dataset import Dataset
from hartley.datasets.people import people

PEOPLE = "people"
ROWS, SEED = 5000, 1928


def sample(like: str = PEOPLE, *, rows: int | None = None, seed: int = SEED) -> Dataset:
    """Return a synthetic table of people, or one like a known data set.

    Args:
        like: "people", or the name of a data set of the papers.
        rows: the number of people, patients, trips, homes or days. By default, a typical number.
        seed: the seed of the generator; the same seed gives the same table.

    Example:
        >>> sample(rows=10).rows, sample("hungarian", rows=20).title
        (10, 'hungarian (synthetic)')
    """
    if like == PEOPLE:
        source = "Synthetic, drawn by a seeded generator: nobody in it exists."
        table = people(ROWS if rows is None else rows, seed=seed)
        return Dataset(PEOPLE, table, synthetic=True, source=source)
    size = next(iter(inspect.signature(entry_of(like).make).parameters))
    options: dict[str, Any] = {} if rows is None else {size: rows}
    return dataset(like, seed=seed, **options)
