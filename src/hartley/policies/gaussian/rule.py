"""The Gaussian rule that tells least: a shrunk key and noise, drawn for arrays and tables."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hartley.engines.table import names_of
from hartley.errors import OptionError
from hartley.exact import check_base
from hartley.policies.gaussian.bound import GaussianBound, GaussianFrontier, check_distortion
from hartley.policies.gaussian.certificate import Dyadic, half_log, in_unit
from hartley.policies.gaussian.model import (
    check_names,
    finite_numbers,
    moments,
    read_gaussian,
    read_numeric,
)
from hartley.policies.random.pram import read_frequencies
from hartley.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.gaussian.model import GaussianModel, NumericColumns

    Floats = NDArray[np.float64]


# --- noise ----------------------------------------------------------------------------------------
# The noise of a Gaussian rule: how it is drawn, and what a noisy key tells at most.


def check_seed(seed: object) -> None:
    """Refuse a seed that is no whole number of 0 or more; none is one that nobody knows."""
    whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if seed is not None and not (whole and cast("int", seed) >= 0):
        raise OptionError(
            f"The seed {seed} is not a whole number of 0 or more", hint="write seed=7"
        )


def noise_source(seed: int | None) -> Callable[[int, int], Floats]:
    """Return what draws rows of standard normal numbers, one after the other.

    With a seed by NumPy's generator, for reproduction. Without one by the words of a cipher under
    a fresh key: the state of an ordinary generator follows from some of its numbers, and somebody
    who knows a few keys would know all the noise.
    """
    check_seed(seed)
    if seed is not None:
        generator = np.random.default_rng(seed)
        return lambda rows, columns: generator.standard_normal((rows, columns))
    from scipy.special import ndtri

    from hartley.kernels.draws import random_words

    key = np.frombuffer(secrets.token_bytes(32), dtype="<u4").astype(np.uint32)
    first = 0

    def draw(rows: int, columns: int) -> Floats:
        nonlocal first
        words = random_words(key, first, rows * columns)
        first += rows * columns
        # 52 bits and a half: exact in a double, and never 0 or 1, which would be infinitely far.
        uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
        return np.asarray(ndtri(uniform).reshape(rows, columns))

    return draw


def channel_information(model: GaussianModel, inner: Floats, noise: Floats) -> float:
    r"""Return what noisy combinations of a key tell at most about it, whatever its distribution.

    .. math:: I(X; LX + N) \le \tfrac12 \sum_i \log(1 + c_i / n_i)

    with c the variances of the combinations LX and n those of the independent Gaussian noise: of
    all distributions with a variance the Gaussian has the largest entropy (Shannon 1948, section
    20). A bound in nats from exact variances, rounded up; infinite without noise. One product of
    matrices.
    """
    total = 0.0
    for row, deviation in zip(inner, noise, strict=True):
        if deviation == 0:
            return math.inf
        combination = Dyadic.of(row[None, :])
        signal = (combination @ model.exact.key @ combination.T).trace()
        ratio = 1 + signal / Fraction(float(deviation)) ** 2
        total = math.nextafter(total + half_log(ratio.numerator, ratio.denominator)[1], math.inf)
    return total


# --- rule -----------------------------------------------------------------------------------------


CHUNK = 65_536
"""Rows drawn at a time."""
MOST_WEIGHTS = 4_000_000
"""Weights of rows and points that are held at a time when a release is reconstructed."""
SHARPEST = 1e-9
"""The noise of a combination that is released without any, as a share of its deviation."""


@dataclass(frozen=True, eq=False)
class GaussianRule:
    r"""The random rule that tells least about a confidential side within a squared distortion.

    .. math:: \hat X = (I - A) X + A Z, \quad A = \Sigma \Sigma_X^{-1}, \quad
        A Z \sim N(A \mu_X,\, \Sigma - \Sigma \Sigma_X^{-1} \Sigma)

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, Theorem 2, written so that it holds for a
    singular noise too. Directions that the release does not show are left out of what it is
    computed from, so that no rounding error shows them. What is said about risk holds where both
    sides are Gaussian and numbers are real; the last digits of doubles may tell more: round them.
    For a key of any other distribution with these covariances the distortion is the same, the
    release is still the best linear estimate of the key, and ``key_information`` bounds what it
    tells. Without a seed the noise is drawn by a cipher (ChaCha20); a seed is for reproduction,
    and anybody who knows it can take the noise away. Linear in the rows, a chunk at a time.

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
    units: Floats | None = None
    """What each key column is divided by before everything else, where it is standardised."""
    key_information: float = math.inf
    r"""What the release tells at most about the key, and so about anything that it does not see.

    .. math:: I(W; \hat X) \le I(X; \hat X) \le \tfrac12 \sum_i \log(1 + c_i / n_i)

    for any distribution of the key with these covariances, discrete ones too: c are the variances
    of the combinations, n those of their noise, and a Gaussian has the largest entropy of all
    distributions with a variance. Infinite where a combination is released without noise. Proved
    in exact arithmetic, rounded up."""

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
        inner, noise, outer, shares = _parts(model, bound)
        information = in_unit(channel_information(model, inner, noise), base, up=True)
        return cls(
            bound,
            centre,
            model.kept,
            *(inner, noise, outer, shares),
            tuple(named),
            key_information=information,
        )

    @classmethod
    def from_table(  # noqa: PLR0913 - each is one choice of the user's
        cls,
        table: object,
        *,
        confidential: str | Sequence[str],
        key: str | Sequence[str],
        distortion: float,
        standardise: bool = False,
        missing: str = "refuse",
        base: float = 2,
    ) -> GaussianRule:
        """Return the best rule for a Gaussian of the means and covariances of a table's rows.

        A column may be on both sides: then the key determines that part of the confidential side.

        Args:
            table: whatever ``hartley.open_table`` takes.
            confidential: the numeric column or columns to protect.
            key: the numeric column or columns to perturb.
            distortion: the mean squared distance of key and release, in all columns together.
            standardise: give every key column the variance 1 first, so that units do not count;
                the distortion then counts in variances.
            missing: "refuse" missing and infinite values, or "drop" such rows.
            base: of the logarithms.

        Example:
            >>> people = {"height": [160.0, 170.0, 180.0], "weight": [55.0, 80.0, 75.0]}
            >>> rule = GaussianRule.from_table(
            ...     people, confidential="weight", key="height", distortion=20
            ... )
            >>> rule.columns, round(rule.bound.variance, 3)
            (('height',), 66.667)
        """
        hidden, keys = list(names_of(confidential)), list(names_of(key))
        columns = read_numeric(open_table(table), [*hidden, *keys], missing=missing)
        check_names(hidden, keys)
        centre, joint = moments(columns.of([*hidden, *keys]))
        return cls.best_in_units(
            joint,
            len(hidden),
            standardise=standardise,
            distortion=distortion,
            mean=centre[len(hidden) :],
            columns=keys,
            base=base,
        )

    @classmethod
    def best_in_units(  # noqa: PLR0913 - each is one choice of the user's
        cls,
        covariance: Floats,
        size: int,
        *,
        standardise: bool,
        distortion: float,
        mean: Floats | None = None,
        columns: Sequence[str] = (),
        base: float = 2,
    ) -> GaussianRule:
        """Return the best rule for the covariance of both sides, the key perhaps standardised.

        Args:
            covariance: of the confidential columns, which come first, and the key columns.
            size: how many columns are confidential.
            standardise: divide every key column by its deviation first.
            distortion: as of ``best``; in variances where the key is standardised.
            mean: of the key columns, in their own units.
            columns: names of the key columns.
            base: of the logarithms.
        """
        units = None
        centre = None if mean is None else np.atleast_1d(np.asarray(mean, np.float64))
        if standardise:
            deviations = np.sqrt(np.maximum(covariance.diagonal()[size:], 0.0))
            units = np.where(deviations > 0, deviations, 1.0)
            scale = np.concatenate([np.ones(size), units])
            covariance = covariance / np.outer(scale, scale)
            centre = None if centre is None else centre / units
        rule = cls.best(
            confidential=covariance[:size, :size],
            key=covariance[size:, size:],
            cross=covariance[:size, size:],
            distortion=distortion,
            mean=centre,
            columns=columns,
            base=base,
        )
        return replace(rule, units=units)

    @property
    def gain(self) -> Floats:
        """I - A: what the release keeps of the key, columns that follow from others left out."""
        gain = np.asarray(self.outer @ self.inner)
        if self.units is None:
            return gain
        return np.asarray(gain * self.units[:, None] / self.units[list(self.kept)])

    @property
    def noise_covariance(self) -> Floats:
        """The covariance of the noise A Z that is added to the shrunk key."""
        spread = (self.outer * self.noise) * self._units[:, None]
        return np.asarray(spread @ spread.T)

    @property
    def distortions(self) -> Floats:
        """The mean squared distance of each key column and its release, in its own unit."""
        return np.maximum(self.bound.matrix.diagonal(), 0.0) * np.square(self._units)

    @property
    def distortion(self) -> float:
        """The mean squared distance of key and release."""
        return float(self.bound.variance - np.square(self.outer).sum(axis=0) @ self.shares)

    @property
    def risk(self) -> float:
        """What the release tells at most, if both sides are Gaussian."""
        return self.bound.high

    def apply(
        self,
        data: object,
        *,
        seed: int | None = None,
        keep: str | Sequence[str] = (),
        missing: str = "refuse",
    ) -> Any:  # noqa: ANN401 - an array for an array, an Arrow table for a table
        """Return perturbed keys: an array for an array, an Arrow table for a table.

        Args:
            data: numbers, a row a record and a column a key column; or a table with the columns
                that the rule names.
            seed: of the noise, to draw the same again; fresh random bytes of the system if left
                out.
            keep: columns of the table to release as they are; all others are left out.
            missing: of a table, "refuse" missing and infinite values, or "drop" such rows.

        Example:
            >>> rule = GaussianRule.best(
            ...     confidential=1, key=1, cross=0.9, distortion=1, mean=5, columns="age"
            ... )
            >>> rule.apply({"age": [1, 2], "ill": ["no", "yes"]}, keep="ill").to_pydict()
            {'age': [5.0, 5.0], 'ill': ['no', 'yes']}
        """
        check_seed(seed)
        if isinstance(data, (np.ndarray, list, int, float)):
            return self._drawn(_matrix(cast("ArrayLike", data), len(self.mean)), seed)
        if not self.columns:
            raise OptionError(
                "The rule does not know the columns of a table",
                hint="name them when it is made: columns=",
            )
        columns = read_numeric(open_table(data), self.columns, names_of(keep), missing=missing)
        return self.apply_to(columns, seed=seed)

    def apply_to(self, columns: NumericColumns, *, seed: int | None = None) -> Any:  # noqa: ANN401 - Arrow carries no types
        """Return columns that were read as an Arrow table: perturbed, and those beside as is."""
        import pyarrow as pa

        drawn = self._drawn(columns.of(self.columns), seed)
        released = {name: pa.array(drawn[:, place]) for place, name in enumerate(self.columns)}
        beside = columns.beside
        return pa.table(released | {name: beside.column(name) for name in beside.column_names})

    def reconstruct(
        self, released: ArrayLike, points: ArrayLike, weights: ArrayLike | None = None
    ) -> Floats:
        r"""Return E[X|X^] of releases, for a key of a finite law: their best estimates.

        .. math:: E[X | \hat X = q] = \sum_x p(x) \varphi_x(q)\, x \Big/ \sum_x p(x) \varphi_x(q)

        with the Gaussian density of the noise around every point. Rebollo-Monedero, Forne and
        Domingo-Ferrer 2010, Proposition 3: the mean squared error does not rise, and nothing more
        is told. For a Gaussian key the release is its own best estimate, and nothing changes. The
        law must be public: computed from the rows of a private table, the estimates would lie
        near these rows. Rounded to double precision; releases times points.

        Args:
            released: what ``apply`` returned, a row a record.
            points: the values that the key can have, a row each.
            weights: how likely each is; all alike if left out.

        Example:
            >>> rule = GaussianRule.best(confidential=1, key=1, cross=0.9, distortion=0.5)
            >>> rule.reconstruct([0.0, 1.0], [-1.0, 1.0]).round(6).tolist()  # 0 and tanh(1 / 0.5)
            [0.0, 0.964028]
        """
        values, law = (_matrix(data, len(self.mean)) for data in (released, points))
        chances = read_frequencies(np.ones(law.shape[:1]) if weights is None else weights, len(law))
        rows, support = values.reshape(-1, len(self.mean)), law.reshape(-1, len(self.mean))
        centres = ((support / self._units - self.mean)[:, list(self.kept)]) @ self.inner.T
        back = np.linalg.pinv(self.outer)
        sharp = np.maximum(self.noise, SHARPEST * np.maximum(np.sqrt(self.shares), SHARPEST))
        estimates = np.empty_like(rows)
        size = max(MOST_WEIGHTS // max(len(support), 1), 1)
        with np.errstate(divide="ignore"):
            logs = np.log(chances)
        for start in range(0, len(rows), size):
            combined = (rows[start : start + size] / self._units - self.mean) @ back.T
            apart = (combined[:, None, :] - centres[None, :, :]) / sharp
            exponents = logs - np.square(apart).sum(axis=2) / 2
            shares = np.exp(exponents - exponents.max(axis=1, keepdims=True))
            estimates[start : start + size] = shares @ support / shares.sum(axis=1, keepdims=True)
        return estimates.reshape(values.shape)

    @property
    def _units(self) -> Floats:
        return np.ones(len(self.mean)) if self.units is None else self.units

    def _drawn(self, values: Floats, seed: int | None) -> Floats:
        """Shrink the keys to their mean and add noise."""
        draw = noise_source(seed)
        rows = values.reshape(-1, len(self.mean))
        released = np.empty_like(rows)
        independent = list(self.kept)
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK] / self._units - self.mean
            noise = draw(len(part), self.noise.size) * self.noise
            combined = part[:, independent] @ self.inner.T + noise
            released[start : start + CHUNK] = combined @ self.outer.T
        return ((released + self.mean) * self._units).reshape(values.shape)


def _parts(model: GaussianModel, bound: GaussianBound) -> tuple[Floats, Floats, Floats, Floats]:
    """Return what combines the key, the noise, what spreads the combinations, and their shares.

    In white coordinates with T = Q diag(t) Q', the release Q (t Q'X + sqrt(t (1 - t)) N) has the
    covariance T, and I - A = T: the noise has t - t^2, which is S - S Sx^-1 S.
    """
    independent = list(model.kept)
    root = model.roots[1]
    half = np.linalg.solve(root, bound.matrix[np.ix_(independent, independent)])
    noise = np.linalg.solve(root, half.T)
    values, vectors = np.linalg.eigh(np.eye(len(independent)) - (noise + noise.T) / 2)
    places = values > 1e-9  # so small a share of the variance is not released at all
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
