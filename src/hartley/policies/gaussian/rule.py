"""The Gaussian rule that tells least: a shrunk key and noise, drawn for arrays and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hartley.engines.tables.sources import open_table
from hartley.engines.tables.table import names_of
from hartley.engines.tables.view import run
from hartley.errors import ColumnError, OptionError, TableError
from hartley.exact import check_base
from hartley.policies.gaussian.bound import GaussianBound, GaussianFrontier
from hartley.policies.gaussian.mixture import check_distortion
from hartley.policies.gaussian.model import finite_numbers, read_gaussian

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.engines.tables.table import Table
    from hartley.policies.gaussian.model import GaussianModel

    Floats = NDArray[np.float64]

CHUNK = 65_536
"""Rows drawn at a time."""
HIDDEN = 1e-9
"""A share of the variance so small that it is not released at all."""


@dataclass(frozen=True, eq=False)
class GaussianRule:
    r"""The random rule that tells least about a confidential side within a squared distortion.

    .. math:: \hat X = (I - A) X + A Z, \quad A = \Sigma \Sigma_X^{-1}, \quad
        A Z \sim N(A \mu_X,\, \Sigma - \Sigma \Sigma_X^{-1} \Sigma)

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, Theorem 2, written so that it holds for a
    singular noise too. Directions that the release does not show are left out of what it is
    computed from, so that no rounding error shows them. What is said about risk holds where both
    sides are Gaussian and numbers are real; the last digits of doubles may tell more: round them.
    Whoever knows the seed can take the noise away. Linear in the rows, a chunk at a time.

    Example:
        >>> rule = GaussianRule.best(confidential=1, key=1, cross=0.95, distortion=0.25)
        >>> key = np.random.default_rng(1).standard_normal(100_000)
        >>> released = rule.apply(key, seed=2)
        >>> round(float(np.mean((released - key) ** 2)), 2), round(float(released.var()), 2)
        (0.25, 0.75)
    """

    bound: GaussianBound
    """What the rule tells and distorts, with its proof."""
    mean: Floats
    kept: tuple[int, ...]
    """The columns that the others follow from."""
    inner: Floats
    """What the release is computed from: combinations of these columns, one a row."""
    noise: Floats
    """The standard deviation of the noise that is added to each combination."""
    outer: Floats
    """All columns of the release from the combinations."""
    shares: Floats
    """Which share of its variance every combination keeps."""
    columns: tuple[str, ...] = ()
    """Their names in a table."""

    @classmethod
    def best(  # noqa: PLR0913 - the covariances of two sides, and what to do with them
        cls,
        *,
        confidential: object,
        key: object,
        cross: object,
        distortion: float,
        mean: ArrayLike | None = None,
        columns: str | Sequence[str] = (),
        base: float = 2,
    ) -> GaussianRule:
        """Return the best rule for covariances.

        Args:
            confidential: the covariance of the confidential columns; a number for one column.
            key: the covariance of the key columns.
            cross: the covariances of the confidential columns (rows) and the key columns.
            distortion: the mean squared distance of key and release, in all columns together.
            mean: of the key columns; 0 if left out.
            columns: names of the key columns, to apply the rule to tables.
            base: of the logarithms.
        """
        check_base(base)
        model = read_gaussian(confidential, key, cross)
        size = model.spread.shape[0]
        centre = np.zeros(size) if mean is None else np.atleast_1d(finite_numbers(mean, "mean"))
        named = list(names_of(columns))
        for what, given in (("means", centre.size), ("names", len(named) or size)):
            if given != size:
                raise OptionError(
                    f"There are {given} {what} for {size} key columns", hint="give one per column"
                )
        bound = GaussianFrontier(model).bound(check_distortion(distortion), base=base)
        return cls(bound, centre, model.kept, *_parts(model, bound), tuple(named))

    @classmethod
    def from_table(
        cls,
        table: object,
        *,
        confidential: str | Sequence[str],
        key: str | Sequence[str],
        distortion: float,
        base: float = 2,
    ) -> GaussianRule:
        """Return the best rule for a Gaussian of the means and covariances of a table's rows.

        Args:
            table: whatever ``hartley.open_table`` takes.
            confidential: the numeric column or columns to protect.
            key: the numeric column or columns to perturb.
            distortion: the mean squared distance of key and release, in all columns together.
            base: of the logarithms.

        Example:
            >>> people = {"height": [160.0, 170.0, 180.0], "weight": [55.0, 80.0, 75.0]}
            >>> rule = GaussianRule.from_table(
            ...     people, confidential="weight", key="height", distortion=20
            ... )
            >>> rule.columns, round(rule.bound.variance, 3)
            (('height',), 66.667)
        """
        secrets, keys = list(names_of(confidential)), list(names_of(key))
        opened = open_table(table)
        values, _ = _read(opened, [*secrets, *keys], [])
        centre = values.mean(axis=0)
        centred = values - centre
        joint = centred.T @ centred / len(values)
        size = len(secrets)
        return cls.best(
            confidential=joint[:size, :size],
            key=joint[size:, size:],
            cross=joint[:size, size:],
            distortion=distortion,
            mean=centre[size:],
            columns=keys,
            base=base,
        )

    @property
    def gain(self) -> Floats:
        """I - A: what the release keeps of the key, columns that follow from others left out."""
        return np.asarray(self.outer @ self.inner)

    @property
    def distortion(self) -> float:
        """The mean squared distance of key and release."""
        return float(self.bound.variance - np.square(self.outer).sum(axis=0) @ self.shares)

    @property
    def risk(self) -> float:
        """What the release tells at most, if both sides are Gaussian."""
        return self.bound.high

    def apply(
        self, data: object, *, seed: int | None = None, keep: str | Sequence[str] = ()
    ) -> Any:  # noqa: ANN401 - an array for an array, an Arrow table for a table
        """Return perturbed keys: an array for an array, an Arrow table for a table.

        Args:
            data: numbers, a row a record and a column a key column; or a table with the columns
                that the rule names.
            seed: of the noise; from the system's randomness if left out.
            keep: columns of the table to release as they are; all others are left out.

        Example:
            >>> rule = GaussianRule.best(
            ...     confidential=1, key=1, cross=0.9, distortion=1, mean=5, columns="age"
            ... )
            >>> rule.apply({"age": [1, 2], "ill": ["no", "yes"]}, keep="ill").to_pydict()
            {'age': [5.0, 5.0], 'ill': ['no', 'yes']}
        """
        whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
        if seed is not None and not (whole and seed >= 0):
            raise OptionError(
                f"The seed {seed} is not a whole number of 0 or more", hint="write seed=7"
            )
        if isinstance(data, (np.ndarray, list, int, float)):
            return self._drawn(_matrix(cast("ArrayLike", data), len(self.mean)), seed)
        if not self.columns:
            raise OptionError(
                "The rule does not know the columns of a table",
                hint="name them when it is made: columns=",
            )
        return self._released(open_table(data), seed, list(names_of(keep)))

    def _released(self, table: Table, seed: int | None, keep: list[str]) -> Any:  # noqa: ANN401 - Arrow carries no types
        import pyarrow as pa

        values, kept = _read(table, list(self.columns), keep)
        drawn = self._drawn(values, seed)
        released = {name: pa.array(drawn[:, place]) for place, name in enumerate(self.columns)}
        return pa.table(released | {name: kept.column(name) for name in keep})

    def _drawn(self, values: Floats, seed: int | None) -> Floats:
        """Shrink the keys to their mean and add noise."""
        draw = np.random.default_rng(seed)
        rows = values.reshape(-1, len(self.mean))
        released = np.empty_like(rows)
        kept = list(self.kept)
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK][:, kept] - self.mean[kept]
            noise = draw.standard_normal((len(part), self.noise.size)) * self.noise
            released[start : start + CHUNK] = (part @ self.inner.T + noise) @ self.outer.T
        return (released + self.mean).reshape(values.shape)


def _parts(model: GaussianModel, bound: GaussianBound) -> tuple[Floats, Floats, Floats, Floats]:
    """Return what combines the key, the noise, what spreads the combinations, and their shares.

    In white coordinates with T = Q diag(t) Q', the release Q (t Q'X + sqrt(t (1 - t)) N) has the
    covariance T, and I - A = T: the noise has t - t^2, which is S - S Sx^-1 S.
    """
    kept = list(model.kept)
    root = model.roots[1]
    half = np.linalg.solve(root, bound.matrix[np.ix_(kept, kept)])
    noise = np.linalg.solve(root, half.T)
    values, vectors = np.linalg.eigh(np.eye(len(kept)) - (noise + noise.T) / 2)
    places = values > HIDDEN
    shares, vectors = np.minimum(values[places], 1.0), vectors[:, places]
    inner = shares[:, None] * np.linalg.solve(root.T, vectors).T
    return inner, np.sqrt(shares * (1 - shares)), model.spread @ root @ vectors, shares


def _matrix(data: ArrayLike, columns: int) -> Floats:
    """Return keys as numbers, in the shape that they have."""
    try:
        values = np.array(data, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    fits = (
        values.shape[-1:] == (columns,) if columns > 1 else values.ndim < 2 or values.shape[1] == 1
    )
    if values.ndim > 2 or not fits:
        raise OptionError(
            f"The keys are not rows of {columns} numbers", hint="give one column per key column"
        )
    if not np.isfinite(values).all():
        raise OptionError(
            "A key is missing or not a finite number", hint="leave such records out first"
        )
    return values


def _read(table: Table, columns: list[str], keep: list[str]) -> tuple[Floats, Any]:
    """Read numeric columns of a table, each without a gap, and others as they are."""
    import pyarrow as pa

    named = [*columns, *keep]
    for name in named:
        if named.count(name) > 1:
            raise ColumnError(f"Column '{name}' is named twice", hint="name it once")
    table.require(named)
    for name in columns:
        if not table.kind(name).numeric:
            raise ColumnError(
                f"Column '{name}' of {table.name} does not hold numbers, so it has no covariance",
                hint="choose numeric columns; for categories use PrivacyDistortion and Pram",
            )
    found = run(table, table.expression.select(*named).to_pyarrow)
    if found.num_rows == 0:
        raise TableError(f"{table.name} has no rows", hint="give a table that has rows")
    values = np.empty((found.num_rows, len(columns)))
    for place, name in enumerate(columns):
        column = found.column(place)
        if column.null_count == 0:
            values[:, place] = column.cast(pa.float64(), safe=False).to_numpy()
        if column.null_count or not np.isfinite(values[:, place]).all():
            raise ColumnError(
                f"Column '{name}' of {table.name} has missing or infinite values",
                hint="leave out these records first",
            )
    return values, found
