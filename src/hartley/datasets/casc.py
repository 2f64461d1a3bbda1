"""The CASC reference sets: microdata for comparing methods of microaggregation.

Brand, Domingo-Ferrer and Mateo-Sanz (2002), Reference data sets to test and compare SDC methods
for protection of numerical microdata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.datasets.dataset import Dataset
from hartley.datasets.drawing import (
    SEED,
    by_quantiles,
    factor_normals,
    random_numbers,
    synthetic_source,
    whole,
)
from hartley.datasets.reading import first_lines, read_csv, typed
from hartley.datasets.source import Source, locate

if TYPE_CHECKING:
    import os
    from pathlib import Path

_PAGE = "https://research.cbs.nl/casc"

CENSUS = Source(
    name="census",
    title="Census reference microdata (CASC)",
    page=_PAGE,
    licence="public reference data",
    file="CASCrefmicrodata.csv",
    patterns=("CASCrefmicrodata*.csv", "*ensus*.csv"),
    barrier="comes in the R package sdcMicro",
)
TARRAGONA = Source(
    name="tarragona",
    title="Tarragona reference microdata (CASC)",
    page=_PAGE,
    licence=CENSUS.licence,
    file="Tarragona.csv",
    patterns=("*arragona*.csv",),
    barrier=CENSUS.barrier,
)
LEVELS = (0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1)
"""For each column below: how it depends on hidden factors, and its quantiles at these levels."""
_CENSUS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    # earnings, tax, other income
    "AFNLWGT": ((0, 0, 0), (14e3, 36e3, 56e3, 127e3, 180e3, 241e3, 396e3, 498e3, 69e4)),
    "AGI": ((0.72, 0.67, 0), (6.5e3, 8.4e3, 15e3, 36e3, 58e3, 76e3, 94e3, 99e3, 100e3)),
    "EMCONTRB": ((0.56, 0.06, 0), (16, 300, 870, 2130, 3220, 4240, 5420, 6260, 7090)),
    "FEDTAX": ((0.74, 0.65, 0.1), (1, 94, 630, 3370, 7070, 11200, 16e3, 19e3, 213e2)),
    "STATETAX": ((0.64, 0.57, 0.05), (2, 44, 250, 1180, 2320, 3690, 5720, 8120, 115e2)),
    "TAXINC": ((0.72, 0.67, 0.05), (8, 630, 4370, 226e2, 412e2, 562e2, 73e3, 797e2, 834e2)),
    "POTHVAL": ((-0.08, 0.27, 0.6), (1, 12, 60, 470, 1590, 5400, 234e2, 459e2, 106e3)),
    "INTVAL": ((0.23, 0.25, 0.6), (1, 2, 10, 96, 350, 1070, 5770, 178e2, 494e2)),
    "PEARNVAL": ((0.99, 0, 0), (80, 2700, 8e3, 24e3, 39e3, 55e3, 76e3, 90e3, 976e2)),
}
CENSUS_COLUMNS = (
    *("AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC", "POTHVAL"),
    *("INTVAL", "PEARNVAL", "FICA", "WSALVAL", "ERNVAL"),
)
_TARRAGONA: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    # size, plant, profit, debt; in thousands of pesetas
    "FIXED.ASSETS": ((0.62, 0.62, 0, 0), (0, 80, 1490, 11e3, 34e3, 96e3, 387e3, 119e4, 5e6)),
    "CURRENT.ASSETS": (
        (0.9, -0.1, 0.05, 0.15),
        (-27e3, 1200, 14e3, 457e2, 905e2, 197e3, 763e3, 213e4, 454e4),
    ),
    "TREASURY": (
        (0.45, -0.05, 0.2, -0.15),
        (-388e2, -242e2, -750, 1600, 5660, 195e2, 828e2, 21e4, 497e3),
    ),
    "UNCOMMITTED.FUNDS": (
        (0.72, 0.2, 0.25, -0.4),
        (-515e3, -65e3, -400, 173e2, 406e2, 105e3, 497e3, 152e4, 394e4),
    ),
    "PAID.UP.CAPITAL": (
        (0.6, 0.25, 0, -0.3),
        (90, 500, 530, 1e4, 11e3, 305e2, 146e3, 507e3, 149e4),
    ),
    "SHORT.TERM.DEBT": (
        (0.8, 0.02, -0.05, 0.5),
        (-2700, 2320, 11e3, 332e2, 67e3, 143e3, 619e3, 168e4, 36e5),
    ),
    "SALES": (
        (0.8, 0.05, 0.1, 0.1),
        (0, 6880, 475e2, 135e3, 245e3, 473e3, 196e4, 648e4, 154e5),
    ),
    "LABOR.COSTS": (
        (0.7, 0.2, 0.05, 0.05),
        (0, 0, 5070, 184e2, 362e2, 748e2, 238e3, 771e3, 137e4),
    ),
    "DEPRECIATION": (
        (0.64, 0.55, 0.08, 0),
        (-120, 0, 47, 1380, 3610, 9290, 412e2, 129e3, 379e3),
    ),
    "OPERATING.PROFIT": (
        (0.62, 0.15, 0.5, 0.3),
        (-252e3, -417e2, -8480, 2450, 8480, 235e2, 125e3, 379e3, 121e4),
    ),
    "FINANCIAL.OUTCOME": (
        (-0.25, -0.1, 0.1, -0.55),
        (-357e3, -109e3, -371e2, -9550, -3550, -214, 8450, 318e2, 108e3),
    ),
    "GROSS.PROFIT": (
        (0.52, 0.1, 0.8, -0.2),
        (-301e3, -339e2, -9410, 746, 4060, 143e2, 102e3, 332e3, 127e4),
    ),
}
TARRAGONA_COLUMNS = (*_TARRAGONA, "NET.PROFIT")


def load_census(
    path: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    cache: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Read the 1,080 records of the Census reference set.

    Args:
        path: the file ``CASCrefmicrodata.csv``, or a folder that holds it.
        download: not supported, since no open address serves it as a table. The R package
            sdcMicro ships it; put a copy into the cache.
        cache: the folder for downloads.
    """
    file = locate(CENSUS, path, download=download, cache=cache)
    return _load(CENSUS, file, CENSUS_COLUMNS)


def load_tarragona(
    path: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    cache: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Read the 834 companies of the Tarragona reference set.

    Args:
        path: the file ``Tarragona.csv``, or a folder that holds it.
        download: not supported, as for the Census set.
        cache: the folder for downloads.
    """
    file = locate(TARRAGONA, path, download=download, cache=cache)
    return _load(TARRAGONA, file, TARRAGONA_COLUMNS)


def make_census(rows: int = 1080, *, seed: int = SEED) -> Dataset:
    """Draw synthetic records like those of the Census reference set.

    Total income is the sum of earnings and other income, and the contribution to social security
    is 7.65 % of earnings, as in the original.

    Example:
        >>> make_census(10).columns[:2]
        ('AFNLWGT', 'AGI')
    """
    random = random_numbers(seed, rows=rows)
    drawn = _draw(random, rows, _CENSUS)
    earned = drawn["PEARNVAL"]
    rounded = np.rint(earned / 1000) * 1000
    earned = np.where((random.random(rows) < 0.7) & (rounded > 0), rounded, np.rint(earned))
    wages = np.where(random.random(rows) < 0.94, earned, earned * random.uniform(0.6, 1, rows))
    main = np.where(random.random(rows) < 0.85, wages, wages * random.uniform(0.5, 1.2, rows))
    drawn |= {
        "PEARNVAL": earned,
        "PTOTVAL": earned + np.rint(drawn["POTHVAL"]),
        "FICA": np.clip(0.0765 * earned, 6, None),
        "WSALVAL": wages,
        "ERNVAL": np.clip(main, 80, 97_604),
    }
    return _dataset(CENSUS, drawn, CENSUS_COLUMNS)


def make_tarragona(rows: int = 834, *, seed: int = SEED) -> Dataset:
    """Draw synthetic companies like those of the Tarragona reference set.

    The net profit is the gross profit after tax; losses are not taxed.

    Example:
        >>> make_tarragona(10).columns[-1]
        'NET.PROFIT'
    """
    random = random_numbers(seed, rows=rows)
    drawn = _draw(random, rows, _TARRAGONA)
    gross = drawn["GROSS.PROFIT"]
    drawn["NET.PROFIT"] = np.where(gross > 0, gross * random.uniform(0.62, 0.76, rows), gross)
    return _dataset(TARRAGONA, drawn, TARRAGONA_COLUMNS)


def _draw(
    random: np.random.Generator,
    rows: int,
    described: dict[str, tuple[tuple[float, ...], tuple[float, ...]]],
) -> dict[str, Any]:
    z = factor_normals(random, rows, {name: loading for name, (loading, _) in described.items()})
    return {name: by_quantiles(z[name], LEVELS, values) for name, (_, values) in described.items()}


def _dataset(source: Source, drawn: dict[str, Any], columns: tuple[str, ...]) -> Dataset:
    import pyarrow as pa

    table = pa.table({name: whole(drawn[name]) for name in columns})
    origin = synthetic_source(source.title)
    return Dataset(source.name, table, synthetic=True, source=origin, units=_units(source, columns))


def _load(source: Source, file: Path, columns: tuple[str, ...]) -> Dataset:
    import pyarrow as pa

    semicolons = ";" in first_lines(file, 1)[0]
    table = read_csv(file, source.title, delimiter=";" if semicolons else ",")
    table = table.rename_columns([name.strip().replace(" ", ".") for name in table.column_names])
    table = typed(table, dict.fromkeys(columns, pa.int64()), file, source.title)
    origin = f"{source.title}; {source.licence}, from {source.page}."
    return Dataset(
        source.name, table, synthetic=False, source=origin, units=_units(source, columns)
    )


def _units(source: Source, columns: tuple[str, ...]) -> dict[str, str]:
    if source is TARRAGONA:
        return dict.fromkeys(columns, "thousand pesetas")
    return dict.fromkeys(columns[1:], "dollars")
