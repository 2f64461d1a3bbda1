"""Census and tax tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.datasets.people import (
    SEED,
    by_quantiles,
    by_shares,
    choice,
    factor_normals,
    random_numbers,
    shares,
    whole,
)
from hartley.datasets.source import (
    Dataset,
    Source,
    first_lines,
    not_the_file,
    read_csv,
    typed,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


# --- adults and whether they earn more than 50,000 dollars (UCI Adult) ----------------------------

ADULT = Source(
    name="adult",
    title="UCI Adult data",
    page="https://archive.ics.uci.edu/dataset/2/adult",
    licence="CC BY 4.0",
    file="adult.data",
    patterns=("adult.test",),
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
)
COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income"),
)
WHOLE = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
UNITS = {
    "age": "years",
    "capital-gain": "dollars",
    "capital-loss": "dollars",
    "hours-per-week": "hours",
}
NOTES = ("fnlwgt is how many people of the population a record stands for.",)
# In the order of education-num, from 1.
_EDUCATION = shares(
    "Preschool 0.002, 1st-4th 0.005, 5th-6th 0.01, 7th-8th 0.02, 9th 0.016, 10th 0.029, "
    "11th 0.036, 12th 0.013, HS-grad 0.322, Some-college 0.224, Assoc-voc 0.042, "
    "Assoc-acdm 0.033, Bachelors 0.164, Masters 0.053, Prof-school 0.018, Doctorate 0.013"
)
# Roughly from little to much schooling.
_OCCUPATION = shares(
    "Priv-house-serv 0.005, Handlers-cleaners 0.044, Farming-fishing 0.032, "
    "Machine-op-inspct 0.065, Transport-moving 0.052, Other-service 0.107, Craft-repair 0.133, "
    "Armed-Forces 0.0003, Protective-serv 0.021, Adm-clerical 0.123, Sales 0.119, "
    "Tech-support 0.03, Exec-managerial 0.132, Prof-specialty 0.135"
)
_WORKCLASS = shares(
    "Private 0.739, Self-emp-not-inc 0.083, Local-gov 0.068, State-gov 0.042, "
    "Self-emp-inc 0.036, Federal-gov 0.031, Without-pay 0.0005, Never-worked 0.0002"
)
_RACE = shares(
    "White 0.854, Black 0.096, Asian-Pac-Islander 0.032, Amer-Indian-Eskimo 0.01, Other 0.008"
)
_COUNTRY = shares(
    "United-States 0.912, Mexico 0.02, Philippines 0.006, Germany 0.004, Canada 0.004, "
    "Puerto-Rico 0.004, El-Salvador 0.003, India 0.003, Cuba 0.003, England 0.003, "
    "Jamaica 0.002, South 0.002, China 0.002, Italy 0.002, Dominican-Republic 0.002, "
    "Vietnam 0.002, Guatemala 0.002, Japan 0.002, Poland 0.002, Columbia 0.002"
)
_SINGLE = shares(
    "Never-married 0.61, Divorced 0.25, Separated 0.06, Widowed 0.055, Married-spouse-absent 0.025"
)
_LOADINGS = {"education": (0.80,), "occupation": (0.62,), "hours": (0.20,)}
_MISSING = 0.056
_AWAY = 0.018


def read_adult(file: Path) -> Dataset:
    """Read the 32,561 records of adult.data, or the 16,281 of adult.test."""
    import pyarrow as pa
    import pyarrow.compute as pc

    skip = int(first_lines(file, 1, "*.data")[0].startswith("|"))  # adult.test begins with a remark
    texts = dict.fromkeys(COLUMNS, pa.string())
    table = read_csv(file, ADULT.title, names=COLUMNS, types=texts, skip=skip, member="*adult.data")
    columns = {}
    for name in COLUMNS:
        text = pc.utf8_trim_whitespace(table.column(name))
        text = pc.utf8_rtrim(text, ".") if name == "income" else text
        columns[name] = pc.if_else(pc.equal(text, "?"), None, text)
    types = {name: pa.int64() if name in WHOLE else pa.string() for name in COLUMNS}
    table = typed(pa.table(columns), types, file, ADULT.title)
    if not set(pc.unique(table.column("income")).to_pylist()) <= {"<=50K", ">50K"}:
        raise not_the_file(file, ADULT.title)
    origin = f"{ADULT.origin}, read from {file.name}."
    return Dataset.of(ADULT, table, source=origin, units=UNITS, notes=NOTES)


def make_adult(rows: int = 32_561, *, seed: int = SEED) -> Dataset:
    """Draw synthetic records of adults.

    Occupation, hours and income follow education; marriage follows age, and the relationship
    follows marriage and sex. Shares are those of the original, from its published description.
    """
    import pyarrow as pa

    random = random_numbers(seed, rows=rows)
    z = factor_normals(random, rows, _LOADINGS)
    age = np.clip(np.rint(17 + random.gamma(2.35, 9.2, rows)), 17, 90)
    male = random.random(rows) < 0.669
    education = by_shares(z["education"], list(_EDUCATION.values()))
    married = random.random(rows) < np.clip((age - 18) / 22, 0, 1) * np.where(male, 0.85, 0.24)
    hours = _hours(random, z["hours"], age)
    idle = random.random(rows) < _MISSING
    rich = _earns_much(random, age, education + 1, married, hours, male)
    drawn: dict[str, NDArray[Any]] = {
        "age": age,
        "workclass": choice(random, _WORKCLASS, rows),
        "fnlwgt": np.clip(random.lognormal(12.02, 0.52, rows), 12_285, 1_484_705),
        "education": np.array(list(_EDUCATION))[education],
        "education-num": education + 1,
        "marital-status": _marriage(random, age, married),
        "occupation": by_shares(z["occupation"], list(_OCCUPATION.values()), list(_OCCUPATION)),
        "relationship": _relationship(random, age, married, male),
        "race": choice(random, _RACE, rows),
        "sex": np.where(male, "Male", "Female"),
        **_capital(random, rich),
        "hours-per-week": hours,
        "native-country": choice(random, _COUNTRY, rows),
        "income": np.where(rich, ">50K", "<=50K"),
    }
    gone = {"workclass": idle, "occupation": idle, "native-country": random.random(rows) < _AWAY}
    table = pa.table(
        {
            name: pa.array(np.rint(drawn[name]).astype(np.int64))
            if name in WHOLE
            else pa.array(drawn[name], mask=gone.get(name))
            for name in COLUMNS
        }
    )
    return Dataset.of(ADULT, table, why="nobody in it exists", units=UNITS, notes=NOTES)


def _hours(
    random: np.random.Generator, leaning: NDArray[np.float64], age: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Draw working hours per week: nearly half work 40, the young and the old work fewer."""
    fewer = 12.0 * ((age < 22) | (age > 66))
    other = np.clip(42.5 + 16 * leaning - fewer, 1, 99)
    usual = random.random(age.size) < np.where(fewer > 0, 0.20, 0.44)
    return np.where(usual, 40.0, np.rint(other / 5) * 5).clip(1, 99)


def _earns_much(  # noqa: PLR0913, PLR0917 - what income depends on
    random: np.random.Generator,
    age: NDArray[np.float64],
    schooling: NDArray[np.int64],
    married: NDArray[np.bool_],
    hours: NDArray[np.float64],
    male: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    prime = np.clip(age, 20, 52) - 40
    score = -7.6 + 0.34 * schooling + 2.3 * married + 0.035 * prime
    score += 0.025 * (hours - 40) + 0.25 * male + 1.3
    rich: NDArray[np.bool_] = random.random(age.size) < 1 / (1 + np.exp(-score))
    return rich


def _marriage(
    random: np.random.Generator, age: NDArray[np.float64], married: NDArray[np.bool_]
) -> NDArray[Any]:
    single = choice(random, _SINGLE, age.size)
    single = np.where((age < 25) & (single != "Separated"), "Never-married", single)
    forces = random.random(age.size) < 0.0015
    return np.where(married, np.where(forces, "Married-AF-spouse", "Married-civ-spouse"), single)


def _relationship(
    random: np.random.Generator,
    age: NDArray[np.float64],
    married: NDArray[np.bool_],
    male: NDArray[np.bool_],
) -> NDArray[Any]:
    alone = shares("Not-in-family 0.55, Unmarried 0.27, Own-child 0.13, Other-relative 0.05")
    single = choice(random, alone, age.size)
    home = (age < 26) & (random.random(age.size) < 0.62)
    return np.where(married, np.where(male, "Husband", "Wife"), np.where(home, "Own-child", single))


def _capital(random: np.random.Generator, rich: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Draw gains and losses: most people have neither, and nobody has both."""
    rows = rich.size
    chance = random.random(rows)
    gains = chance < np.where(rich, 0.214, 0.042)
    loses = ~gains & (random.random(rows) < np.where(rich, 0.10, 0.031))
    gain = np.where(rich, random.lognormal(9.15, 0.45, rows), random.lognormal(8.0, 0.5, rows))
    gain = np.where(rich & (chance < 0.02), 99_999, np.clip(gain, 114, 41_310))
    loss = np.clip(random.normal(1870, 380, rows), 155, 4356)
    return {"capital-gain": np.where(gains, gain, 0), "capital-loss": np.where(loses, loss, 0)}


# --- casc -----------------------------------------------------------------------------------------
# The CASC reference sets: microdata for comparing methods of microaggregation.
#
# Brand, Domingo-Ferrer and Mateo-Sanz (2002), Reference data sets to test and compare SDC methods
# for protection of numerical microdata.

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


def read_census(file: Path) -> Dataset:
    """Read the 1,080 records of the Census reference set."""
    return _read(CENSUS, file, CENSUS_COLUMNS)


def read_tarragona(file: Path) -> Dataset:
    """Read the 834 companies of the Tarragona reference set."""
    return _read(TARRAGONA, file, TARRAGONA_COLUMNS)


def make_census(rows: int = 1080, *, seed: int = SEED) -> Dataset:
    """Draw synthetic records like those of the Census reference set.

    Total income is the sum of earnings and other income, and the contribution to social security
    is 7.65 % of earnings, as in the original.
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
    why = "no row belongs to anybody"
    return Dataset.of(source, table, why=why, units=_units(source, columns))


def _read(source: Source, file: Path, columns: tuple[str, ...]) -> Dataset:
    import pyarrow as pa

    semicolons = ";" in first_lines(file, 1)[0]
    table = read_csv(file, source.title, delimiter=";" if semicolons else ",")
    table = table.rename_columns([name.strip().replace(" ", ".") for name in table.column_names])
    table = typed(table, dict.fromkeys(columns, pa.int64()), file, source.title)
    origin = f"{source.title}; {source.licence}, from {source.page}."
    return Dataset.of(source, table, source=origin, units=_units(source, columns))


def _units(source: Source, columns: tuple[str, ...]) -> dict[str, str]:
    if source is TARRAGONA:
        return dict.fromkeys(columns, "thousand pesetas")
    return dict.fromkeys(columns[1:], "dollars")
