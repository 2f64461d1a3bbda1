"""The sample table: synthetic people."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


REGIONS = ("north", "east", "south", "west", "centre", "islands")
REGION_SHARES = (0.24, 0.20, 0.19, 0.17, 0.16, 0.04)
DIAGNOSES = ("none", "asthma", "diabetes", "hypertension", "depression", "cancer")
JOBS = ("none", "trade", "office", "care", "teaching", "industry", "management", "retired")


def people(rows: int = 5000, *, seed: int = 1928) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
    """Return a synthetic table of people, the sample that Hartley's documentation uses.

    Each row is a person: number, age, sex, region, job, height (cm), weight (kg), yearly income,
    diagnosis and visits to a doctor in the last year. The columns depend on each other roughly as
    they do in a population; every value is drawn by a seeded generator. Some incomes are missing.

    Args:
        rows: the number of people.
        seed: the seed of the generator; the same seed gives the same table on every machine.

    Example:
        >>> table = people(3)
        >>> table.num_rows, table.column_names[:4]
        (3, ['person', 'age', 'sex', 'region'])
    """
    import pyarrow as pa

    if rows < 1:
        raise OptionError(f"A table of {rows} people cannot be made", hint="ask for at least one")
    if seed < 0:
        raise OptionError(f"The seed {seed} is negative", hint="give 0 or a larger whole number")
    draw = np.random.default_rng(seed)
    age = np.clip(np.round(18 + 72 * draw.beta(1.3, 1.9, rows)), 18, 95).astype(np.int64)
    female = draw.random(rows) < 0.51
    shares = np.array([0.11, 0.17, 0.25, 0.14, 0.08, 0.17, 0.08])
    job = draw.choice(len(shares), age.size, p=shares)
    # Nearly everybody aged 67 or older is retired.
    retired = draw.random(age.size) < np.clip((age - 61) / 6, 0, 0.97)
    job = np.where(retired, JOBS.index("retired"), job)
    height = np.round(
        np.where(female, 165.0, 178.0) - 0.04 * (age - 40) + draw.normal(0, 6.7, rows)
    )
    index = np.clip(22.5 + 0.06 * (age - 18) + draw.gamma(2.0, 1.6, rows) - 2.4, 16, 48)
    weight = np.round(index * (height / 100) ** 2, 1)
    pay = {"none": 9, "trade": 28, "office": 36, "care": 31, "teaching": 41, "industry": 34}
    pay |= {"management": 72, "retired": 21}
    typical = np.array([pay[JOBS[code]] for code in range(len(JOBS))])[job]
    income = np.round(typical * draw.lognormal(0, 0.32, rows), 1) * 1000
    diagnosis = _diagnosis(draw, age, index)
    visits = draw.poisson(1.2 + 2.1 * (diagnosis > 0) + 0.02 * (age - 18))
    return pa.table(
        {
            "person": np.arange(1, rows + 1),
            "age": age,
            "sex": np.where(female, "F", "M"),
            "region": np.array(REGIONS)[draw.choice(len(REGIONS), rows, p=REGION_SHARES)],
            "job": np.array(JOBS)[job],
            "height": height.astype(np.int64),
            "weight": weight,
            "income": pa.array(income.astype(np.int64), mask=draw.random(rows) < 0.02),
            "diagnosis": np.array(DIAGNOSES)[diagnosis],
            "visits": visits.astype(np.int64),
        }
    )


def _diagnosis(
    draw: np.random.Generator, age: NDArray[np.int64], index: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Draw at most one diagnosis, more likely with age and body mass."""
    years, excess = (age - 18) / 75, np.clip(index - 27, 0, None) / 10
    chances = np.stack(
        [
            np.full(age.size, 0.05),
            0.02 + 0.07 * years + 0.10 * excess,
            0.03 + 0.22 * years + 0.06 * excess,
            0.07 - 0.02 * years,
            0.005 + 0.06 * years,
        ]
    )
    drawn: NDArray[np.int64] = (draw.random(age.size) >= np.cumsum(chances, axis=0)).sum(axis=0)
    return (drawn + 1) % len(DIAGNOSES)


def people_schema() -> str:
    """Return the public schema of the sample table, as the text of a TOML file."""
    return (files("hartley.datasets") / "people.schema.toml").read_text("utf-8")


# --- drawing: columns that depend on each other ---------------------------------------------------

SEED = 1928
"""The default seed of every generator."""
MOST_ROWS = 10_000_000
"""A larger number of rows is taken for a typing error."""


def random_numbers(seed: int, **sizes: int) -> np.random.Generator:
    """Return the random generator of a seed, after checking the sizes that are asked for.

    The bit generator is named, so that a new default of NumPy does not change any table.
    """
    for name, size in sizes.items():
        if not 1 <= size <= MOST_ROWS:
            raise OptionError(
                f"The number of {name} is {size:,}", hint=f"ask for 1 to {MOST_ROWS:,}"
            )
    if seed < 0:
        raise OptionError(f"The seed {seed} is negative", hint="give 0 or a larger whole number")
    return np.random.Generator(np.random.PCG64(seed))


def factor_normals(
    random: np.random.Generator, rows: int, loadings: Mapping[str, Sequence[float]]
) -> dict[str, NDArray[np.float64]]:
    r"""Draw standard normal columns that share a few hidden factors.

    .. math:: z_j = \sum_i a_{ji} f_i + \sqrt{1 - \sum_i a_{ji}^2}\, e_j

    Columns j and k have the correlation :math:`\sum_i a_{ji} a_{ki}`.
    """
    weights = np.array(list(loadings.values()), dtype=np.float64)
    own = np.sqrt(np.clip(1 - (weights**2).sum(axis=1), 0, None))
    hidden = random.standard_normal((weights.shape[1], rows))
    noise = random.standard_normal((weights.shape[0], rows))
    drawn = weights @ hidden + own[:, None] * noise
    return dict(zip(loadings, drawn, strict=True))


def by_shares(
    normal: NDArray[np.float64], shares: Sequence[float], values: Sequence[Any] | None = None
) -> NDArray[Any]:
    """Turn a standard normal column into ordered categories of given shares."""
    from scipy.special import ndtri

    total = np.cumsum(np.asarray(shares, dtype=np.float64))
    code: NDArray[np.int64] = np.searchsorted(ndtri(total[:-1] / total[-1]), normal)
    return code if values is None else np.asarray(values)[code]


def shares(text: str) -> dict[str, float]:
    """Read categories and their shares."""
    pairs = (part.strip().rsplit(" ", 1) for part in text.split(","))
    return {name: float(share) for name, share in pairs}


def choice(random: np.random.Generator, shares: Mapping[str, float], rows: int) -> NDArray[Any]:
    """Draw categories of given shares, which need not add up to 1."""
    weights = np.array(list(shares.values()))
    return np.array(list(shares))[random.choice(len(shares), rows, p=weights / weights.sum())]


def by_quantiles(
    normal: NDArray[np.float64], levels: Sequence[float], values: Sequence[float]
) -> NDArray[np.float64]:
    """Turn a standard normal column into one with given quantiles, linear between them."""
    from scipy.special import ndtr

    column: NDArray[np.float64] = np.interp(ndtr(normal), levels, values)
    return column


def whole(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Any:  # noqa: ANN401 - a pyarrow array, untyped
    """Return an array of whole numbers, with nulls for the missing ones."""
    import pyarrow as pa

    return pa.array(np.rint(values).astype(np.int64), mask=missing)
