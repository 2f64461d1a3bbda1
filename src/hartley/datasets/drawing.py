"""Functions that the generators share: draw columns that depend on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

SEED = 1928
"""The default seed of every generator."""
MOST_ROWS = 10_000_000
"""A larger number of rows is taken for a typing error."""


def random_numbers(seed: int, **sizes: int) -> np.random.Generator:
    """Return the random generator of a seed, after checking the sizes that are asked for.

    The bit generator is named, so that a new default of NumPy does not change any table.

    Example:
        >>> random_numbers(7, rows=10).integers(100, size=3).tolist()
        [94, 62, 68]
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
    """Turn a standard normal column into ordered categories of given shares.

    Example:
        >>> by_shares(np.array([-3.0, 0.0, 3.0]), [0.2, 0.6, 0.2], ["few", "some", "many"]).tolist()
        ['few', 'some', 'many']
    """
    from scipy.special import ndtri

    total = np.cumsum(np.asarray(shares, dtype=np.float64))
    code: NDArray[np.int64] = np.searchsorted(ndtri(total[:-1] / total[-1]), normal)
    return code if values is None else np.asarray(values)[code]


def shares(text: str) -> dict[str, float]:
    """Read categories and their shares.

    Example:
        >>> shares("never smoked 0.2, tried it 0.8")
        {'never smoked': 0.2, 'tried it': 0.8}
    """
    pairs = (part.strip().rsplit(" ", 1) for part in text.split(","))
    return {name: float(share) for name, share in pairs}


def choice(random: np.random.Generator, shares: Mapping[str, float], rows: int) -> NDArray[Any]:
    """Draw categories of given shares, which need not add up to 1."""
    weights = np.array(list(shares.values()))
    return np.array(list(shares))[random.choice(len(shares), rows, p=weights / weights.sum())]


def by_quantiles(
    normal: NDArray[np.float64], levels: Sequence[float], values: Sequence[float]
) -> NDArray[np.float64]:
    """Turn a standard normal column into one with given quantiles, linear between them.

    Example:
        >>> by_quantiles(np.array([-9.0, 0.0, 9.0]), [0, 0.5, 1], [10, 15, 40]).round(3).tolist()
        [10.0, 15.0, 40.0]
    """
    from scipy.special import ndtr

    column: NDArray[np.float64] = np.interp(ndtr(normal), levels, values)
    return column


def whole(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Any:  # noqa: ANN401 - a pyarrow array, untyped
    """Return an array of whole numbers, with nulls for the missing ones."""
    import pyarrow as pa

    return pa.array(np.rint(values).astype(np.int64), mask=missing)


def synthetic_source(title: str, why: str = "no row belongs to anybody") -> str:
    """Return the sentence that is shown with every result from synthetic data."""
    return f"Synthetic, drawn by a seeded generator after the {title}: {why}."
