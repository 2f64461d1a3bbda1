"""The list of all data sets by name: where they come from, how to load and how to make them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.datasets.health import (
    CLEVELAND,
    HUNGARIAN,
    YOUNG_PEOPLE,
    make_cleveland,
    make_hungarian,
    make_young_people,
    read_cleveland,
    read_hungarian,
    read_young_people,
)
from hartley.datasets.meters import (
    REDD,
    SOLAR_HOMES,
    TAXI,
    make_redd,
    make_solar_homes,
    make_taxi,
    read_redd,
    read_solar_homes,
    read_taxi,
)
from hartley.datasets.people import people
from hartley.datasets.source import Dataset, find_copy, locate
from hartley.datasets.surveys import (
    ADULT,
    CENSUS,
    TARRAGONA,
    make_adult,
    make_census,
    make_tarragona,
    read_adult,
    read_census,
    read_tarragona,
)
from hartley.errors import OptionError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from hartley.datasets.source import Source


SYNTHETIC, DOWNLOAD = "synthetic", "download"
PEOPLE = "people"
ROWS, SEED = 5000, 1928


@dataclass(frozen=True)
class CatalogueEntry:
    """A data set of the list: its source, its reader and its generator."""

    source: Source
    read: Callable[[Path], Dataset]
    make: Callable[..., Dataset]


ENTRIES = {
    entry.source.name: entry
    for entry in (
        CatalogueEntry(HUNGARIAN, read_hungarian, make_hungarian),
        CatalogueEntry(CLEVELAND, read_cleveland, make_cleveland),
        CatalogueEntry(YOUNG_PEOPLE, read_young_people, make_young_people),
        CatalogueEntry(SOLAR_HOMES, read_solar_homes, make_solar_homes),
        CatalogueEntry(REDD, read_redd, make_redd),
        CatalogueEntry(TAXI, read_taxi, make_taxi),
        CatalogueEntry(ADULT, read_adult, make_adult),
        CatalogueEntry(CENSUS, read_census, make_census),
        CatalogueEntry(TARRAGONA, read_tarragona, make_tarragona),
    )
}


def dataset(
    name: str,
    data: str | os.PathLike[str] | Dataset = SYNTHETIC,
    *,
    cache: str | os.PathLike[str] | None = None,
    **options: Any,  # noqa: ANN401 - the options of the generator
) -> Dataset:
    """Return a data set of the papers by name, synthetic or real.

    Args:
        name: one of the names that ``hartley datasets`` lists.
        data: ``synthetic`` for a generated table; a file, or a folder that holds it; or
            ``download`` for the copy in the cache, which is downloaded from the official source
            if it is not there. A ``Dataset`` is returned unchanged.
        cache: the folder for downloads.
        options: options of the generator, such as ``rows`` or ``seed``.

    Example:
        >>> patients = dataset("hungarian", rows=50, seed=3)
        >>> patients.rows, patients.title
        (50, 'hungarian (synthetic)')
    """
    entry = entry_of(name)
    known = inspect.signature(entry.make).parameters
    wrong = [option for option in options if option not in known]
    if wrong:
        raise OptionError(
            f"The data set {name} has no option '{wrong[0]}'",
            hint=f"its options are {', '.join(known)}",
        )
    if isinstance(data, Dataset):
        return data
    if data == SYNTHETIC:
        return entry.make(**options)
    path = None if data == DOWNLOAD else data
    return entry.read(locate(entry.source, path, download=path is None, cache=cache))


def entry_of(name: str) -> CatalogueEntry:
    """Return the entry of a name."""
    if name not in ENTRIES:
        raise OptionError(
            f"There is no data set '{name}'", hint=f"choose among {', '.join(ENTRIES)}"
        )
    return ENTRIES[name]


def list_datasets(
    data: str | os.PathLike[str] | None = None,
) -> list[dict[str, str | None]]:
    """Return every data set of the papers: its source, and whether there is a local copy.

    Example:
        >>> [known["name"] for known in list_datasets()][:2]
        ['hungarian', 'cleveland']
    """
    folder = None if data is None else Path(data)
    copies = {name: find_copy(entry.source, folder) for name, entry in ENTRIES.items()}
    return [
        {
            "name": name,
            "title": entry.source.title,
            "copy": None if copies[name] is None else str(copies[name]),
            "download": "yes" if entry.source.url else f"no: {entry.source.barrier}",
            "licence": entry.source.licence,
            "page": entry.source.page,
        }
        for name, entry in ENTRIES.items()
    ]


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
