"""Census records of adults and whether they earn more than 50,000 dollars (UCI Adult)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.datasets.dataset import Dataset
from hartley.datasets.drawing import (
    SEED,
    by_shares,
    choice,
    factor_normals,
    random_numbers,
    shares,
    synthetic_source,
)
from hartley.datasets.reading import first_lines, not_the_file, read_csv, typed
from hartley.datasets.source import Source, locate

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

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


def load_adult(
    path: str | os.PathLike[str] | None = None,
    *,
    download: bool = False,
    cache: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Read the 32,561 records of adult.data, or the 16,281 of adult.test.

    Args:
        path: the file, or a folder that holds it.
        download: whether to download adult.data if there is no copy.
        cache: the folder for downloads.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    file = locate(ADULT, path, download=download, cache=cache)
    skip = int(first_lines(file, 1, "*.data")[0].startswith("|"))  # adult.test begins with a remark
    texts = dict.fromkeys(COLUMNS, pa.string())
    table = read_csv(file, ADULT.title, names=COLUMNS, types=texts, skip=skip, member="*adult.data")
    columns = {}
    for name in COLUMNS:
        text = pc.utf8_trim_whitespace(table.column(name))
        text = pc.utf8_rtrim(text, ".") if name == "income" else text
        columns[name] = pc.if_else(pc.equal(text, "?"), None, text)
    table = typed(pa.table(columns), _types(), file, ADULT.title)
    if not set(pc.unique(table.column("income")).to_pylist()) <= {"<=50K", ">50K"}:
        raise not_the_file(file, ADULT.title)
    origin = f"{ADULT.title} ({ADULT.licence}), from {ADULT.page}, read from {file.name}."
    return Dataset("adult", table, synthetic=False, source=origin, units=UNITS, notes=NOTES)


def _types() -> dict[str, Any]:
    import pyarrow as pa

    return {name: pa.int64() if name in WHOLE else pa.string() for name in COLUMNS}


def make_adult(rows: int = 32_561, *, seed: int = SEED) -> Dataset:
    """Draw synthetic records of adults.

    Occupation, hours and income follow education; marriage follows age, and the relationship
    follows marriage and sex. Shares are those of the original, from its published description.

    Example:
        >>> make_adult(100).columns[:3]
        ('age', 'workclass', 'fnlwgt')
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
    origin = synthetic_source(ADULT.title, "nobody in it exists")
    return Dataset("adult", table, synthetic=True, source=origin, units=UNITS, notes=NOTES)


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
