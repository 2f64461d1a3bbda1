"""The quadratic-Gaussian bound: what any rule within a squared distortion tells at least."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import check_base
from hartley.policies.distortion.problem import as_number
from hartley.policies.gaussian.certificate import (
    allowed_factor,
    best_floor,
    in_unit,
    information,
    log_determinant,
)
from hartley.policies.gaussian.model import DISCRETE, GaussianModel, read_gaussian
from hartley.text import number, unit_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


# --- water filling --------------------------------------------------------------------------------
# Water-filling: the closed form beside the semidefinite programme.

six_decimals = partial(number, places=6, zeros=True, infinite="infinitely many")
ROUNDING = 1e-12
"""How far eigenvalues between 0 and 1 may be off."""


@dataclass(frozen=True, eq=False)
class Filling:
    """Noise along the directions that tell most, as much as the distortion allows."""

    gains: Floats
    levels: Floats
    """The variance of the noise in each direction."""
    directions: Floats
    """One column a direction of the key."""
    saved: float
    """Nats that the noise saves at most of what the key tells."""
    whitened: Floats
    """The covariance of the noise in the whitened coordinates of the key."""
    smallest: float
    """The smallest eigenvalue of the key's covariance: up to it the noise is always allowed."""

    @property
    def allowed(self) -> bool:
        """Whether the noise is nowhere more than the key varies, so that a rule makes it."""
        return bool(np.linalg.eigvalsh(self.whitened)[-1] <= 1 + ROUNDING)


def fill(model: GaussianModel, distortion: float) -> Filling:
    r"""Put noise where it hides most.

    .. math:: \max \prod_i (1 + \lambda_i \xi_i), \quad
        \lambda_i \text{ of } B^\top \Sigma_{W|X}^{-1} B, \quad B = \Sigma_{WX} \Sigma_X^{-1}

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, Proposition 5: noise of at most the key's
    variance in each direction. It hides at least as much as any rule of the distortion, and as much
    as the best one where the key is uncorrelated in these directions, or where the distortion is
    below the smallest eigenvalue of its covariance (Proposition 6). Cubic in the columns.
    """
    if model.determined:
        raise OptionError(
            "Some combination of the confidential columns follows from the key, so there is no "
            "closed form by water-filling",
            hint="use quadratic_gaussian_bound, which solves this case too",
        )
    whitened = model.whitened
    plane, stretch = np.linalg.qr(model.spread)
    root = stretch @ model.roots[1]
    rest = np.eye(whitened.shape[0]) - whitened @ whitened.T
    half = np.linalg.solve(root.T, whitened.T @ np.linalg.solve(rest, whitened))
    gain = np.linalg.solve(root.T, half.T).T
    gains, vectors = np.linalg.eigh((gain + gain.T) / 2)
    places = (
        np.flatnonzero(gains > gains[-1] * ROUNDING)[::-1] if gains[-1] > 0 else np.array([], int)
    )
    gains, vectors = gains[places], vectors[:, places]
    caps = np.square(root.T @ vectors).sum(axis=0)
    levels = water_levels(gains, caps, distortion)
    back = np.linalg.solve(root, vectors * np.sqrt(levels))
    return Filling(
        gains=gains,
        levels=levels,
        directions=plane @ vectors,
        saved=float(np.log1p(gains * levels).sum()) / 2,
        whitened=back @ back.T,
        smallest=float(np.linalg.eigvalsh(root @ root.T)[0]),
    )


def water_levels(gains: ArrayLike, caps: ArrayLike, total: float) -> Floats:
    r"""Return the best shares of a total: up to a common level, and each up to its cap.

    .. math:: \max \prod_i (1 + \lambda_i x_i), \quad 0 \le x_i \le y_i, \quad \sum_i x_i \le t
        \qquad x_i = \max\{0, \min\{1/\mu - 1/\lambda_i,\, y_i\}\}

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, Lemma 4. Exact up to rounding; n log n.
    """
    floors, tops = 1 / np.asarray(gains, dtype=np.float64), np.asarray(caps, dtype=np.float64)
    if math.fsum(tops) <= total:
        return tops
    marks = np.sort(np.concatenate([floors, floors + tops]))
    filled = np.clip(marks[:, None] - floors, 0.0, tops).sum(axis=1)
    after = int(np.searchsorted(filled, total))
    low, high = marks[after - 1], marks[after]
    share = (total - filled[after - 1]) / (filled[after] - filled[after - 1])
    return np.asarray(np.clip(low + share * (high - low) - floors, 0.0, tops))


# --- mixture --------------------------------------------------------------------------------------
# The bound from above: a mixture of the key itself and a constant.


def mutual_information_bound(
    *, information: float, constant_distortion: float, distortion: float
) -> float:
    r"""Return an upper bound on what the best rule within a distortion tells, by a mixture of two.

    .. math:: R(D) \le I(W;X) \,(1 - D / D_0)

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, eq. (9): the key itself with probability
    1 - D / D0, a constant of distortion D0 else; with squared distortion, D0 is the total variance
    of the key. A bound for any joint distribution and any distortion that is 0 for the truth.

    Args:
        information: what the key itself tells.
        constant_distortion: the distortion of releasing the same value for everybody.
        distortion: that is allowed.

    Example:
        >>> mutual_information_bound(information=2.0, constant_distortion=4.0, distortion=1.0)
        1.5
    """
    if not as_number(constant_distortion) > 0 or not as_number(information) >= 0:
        raise OptionError(
            f"There is no bound for an information of {information} and a distortion of "
            f"{constant_distortion}",
            hint="give what the key tells, and the positive distortion of a constant release",
        )
    share = check_distortion(distortion) / constant_distortion
    return 0.0 if share >= 1 else float(information * (1 - share))


def check_distortion(distortion: object) -> float:
    """Return a distortion as a number, refusing what is none."""
    number = as_number(distortion)
    if not 0 <= number < math.inf:
        raise OptionError(
            f"The distortion {distortion} is not a number of 0 or more",
            hint="give the mean squared distance of key and release, for example 0.5",
        )
    return number


# --- bound ----------------------------------------------------------------------------------------


class Programme:
    r"""The covariance of the release that tells least, for any distortion of one model.

    .. math:: \max \log\det(I - K T K^\top), \quad 0 \preceq T \preceq I, \quad
        \mathrm{tr}(G T) \ge 1 - d

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, eq. (6), in coordinates in which both sides are
    white: n(n+1)/2 variables, and as many again for the determinant. What the solver says is a
    start for a certificate and no more.
    """

    def __init__(self, model: GaussianModel) -> None:
        self._model = model

    def solve(self, share: float) -> tuple[Floats, Floats] | None:
        """Return a covariance of the release and the slope of its log det, or None if none came."""
        import clarabel
        from scipy.sparse import csc_array

        goal, matrix, constant, cones = self._cones
        of_secret, of_key = self._model.whitened.shape
        constant = constant.copy()
        constant[0] = share - 1
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
            setattr(settings, name, 1e-12)  # finer than it reaches: it goes on while it can
        nothing = csc_array((goal.size, goal.size))
        solution = clarabel.DefaultSolver(nothing, goal, matrix, constant, cones, settings).solve()
        point, dual = np.asarray(solution.x), np.asarray(solution.z)
        # So its point is a start; how near it is, the certificate says.
        usable = {"Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations"}
        if str(solution.status) not in usable or not np.isfinite([*point, *dual]).all():
            return None
        released = _unpacked(point[: of_key * (of_key + 1) // 2], of_key, scale=1.0)
        # The slope of log det is the multiplier of the lower right block, which holds I - K T K'.
        first = 1 + of_key * (of_key + 1)
        size = of_secret * (2 * of_secret + 1)
        block = _unpacked(dual[first : first + size], 2 * of_secret, scale=math.sqrt(0.5))
        return released, block[of_secret:, of_secret:]

    @cached_property
    def _cones(self) -> tuple[Floats, Any, Floats, list[Any]]:
        r"""The programme as a conic one, with the distortion left open, so that it is built once.

        .. math:: \log\det L \ge \sum_i t_i \iff \exists Z \text{ lower triangular}:
            \begin{pmatrix} \mathrm{diag}(Z) & Z^\top \\ Z & L \end{pmatrix} \succeq 0,
            \; e^{t_i} \le Z_{ii}

        Ben-Tal and Nemirovski 2001, section 4.2. With D the diagonal of Z, the block says that
        L - Z D^{-1} Z' has no negative eigenvalue, so det L >= det(Z D^{-1} Z') = prod Z_ii.
        The solver takes rows s = b - A x, each in its cone.
        """
        import clarabel
        from scipy.sparse import csc_array

        whitened, weight = self._model.whitened, self._model.weight
        of_secret, of_key = whitened.shape
        in_key, in_secret = _upper(of_key), _upper(of_secret)
        sizes = len(in_key[0]), len(in_secret[0]), of_secret
        columns = sum(sizes)
        # What one entry of T, one of Z and one t adds to every row.
        units = [_unit(of_key, i, j) for i, j in zip(*in_key, strict=True)]
        lowers = [_unit(of_secret, j, i, symmetric=False) for i, j in zip(*in_secret, strict=True)]
        distortion = np.zeros((1, columns))
        distortion[0, : sizes[0]] = [-(weight * unit).sum() for unit in units]
        released = np.zeros((sizes[0], columns))
        released[:, : sizes[0]] = -np.column_stack([_packed(unit) for unit in units])
        block = np.zeros((of_secret * (2 * of_secret + 1), columns))
        for place, unit in enumerate(units):
            entry = np.zeros((2 * of_secret, 2 * of_secret))
            entry[of_secret:, of_secret:] = whitened @ unit @ whitened.T
            block[:, place] = _packed(entry)
        for place, lower in enumerate(lowers, sizes[0]):
            entry = np.zeros((2 * of_secret, 2 * of_secret))
            entry[:of_secret, :of_secret] = np.diag(np.diag(lower))
            entry[of_secret:, :of_secret], entry[:of_secret, of_secret:] = lower, lower.T
            block[:, place] = -_packed(entry)
        exponentials = np.zeros((3 * of_secret, columns))
        diagonal = [place for place, (i, j) in enumerate(zip(*in_secret, strict=True)) if i == j]
        for row, place in enumerate(diagonal):
            exponentials[3 * row, sizes[0] + sizes[1] + row] = -1
            exponentials[3 * row + 2, sizes[0] + place] = -1
        below = np.zeros((2 * of_secret, 2 * of_secret))
        below[of_secret:, of_secret:] = np.eye(of_secret)
        ones = np.tile([0.0, 1.0, 0.0], of_secret)
        constant = np.concatenate(
            (np.zeros(1 + sizes[0]), _packed(np.eye(of_key)), _packed(below), ones)
        )
        goal = np.concatenate((np.zeros(sizes[0] + sizes[1]), -np.ones(of_secret)))
        matrix = csc_array(np.vstack((distortion, released, -released, block, exponentials)))
        cones = [
            clarabel.NonnegativeConeT(1),
            clarabel.PSDTriangleConeT(of_key),
            clarabel.PSDTriangleConeT(of_key),
            clarabel.PSDTriangleConeT(2 * of_secret),
            *(clarabel.ExponentialConeT() for _ in range(of_secret)),
        ]
        return goal, matrix, constant, cones


def _upper(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of a triangle as the solver orders them: column by column."""
    rows, columns = np.tril_indices(size)
    return columns, rows


def _unit(size: int, row: int, column: int, *, symmetric: bool = True) -> Floats:
    """Return the matrix that is one at a place, and at the other one across the diagonal."""
    unit = np.zeros((size, size))
    unit[row, column] = 1
    if symmetric:
        unit[column, row] = 1
    return unit


def _packed(matrix: Floats) -> Floats:
    """Return a symmetric matrix as a vector with the same products: others than diagonal by √2."""
    rows, columns = _upper(matrix.shape[0])
    return np.where(rows == columns, 1.0, math.sqrt(2)) * matrix[rows, columns]


def _unpacked(numbers: Floats, size: int, *, scale: float) -> Floats:
    """Return the symmetric matrix of a triangle, whose numbers off the diagonal are scaled."""
    rows, columns = _upper(size)
    matrix = np.zeros((size, size))
    matrix[rows, columns] = np.where(rows == columns, 1.0, scale) * numbers
    return np.asarray(matrix + np.triu(matrix, 1).T)


@dataclass(frozen=True, eq=False)
class GaussianBound:
    """What a key perturbed within a squared distortion tells at least about a confidential side."""

    distortion: float
    value: float
    """The bound as computed: of a rule that is known, so not below the true one."""
    low: float
    """No rule of at most this distortion tells less: proved in exact arithmetic."""
    high: float
    """What the rule of ``matrix`` tells at most, likewise, if both sides are Gaussian."""
    matrix: Floats
    """S, the covariance of the perturbation X - X^."""
    largest_risk: float
    """What the key itself tells, I(W;X)."""
    variance: float
    """The total variance of the key: the distortion of releasing its mean, which tells nothing."""
    lam: float
    """What a unit of risk costs in distortion here."""
    base: float
    method: str
    gaussian: bool = True
    """Whether both sides are Gaussian, so that the bound is reached."""
    notes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """How far the proved sides lie apart."""
        return 0.0 if self.low == self.high else self.high - self.low

    @property
    def unit(self) -> str:
        """The name of the unit of risk."""
        return unit_of(self.base)

    @property
    def mutual_information_bound(self) -> float:
        """What a mixture of the key and its mean tells at most within this distortion."""
        return mutual_information_bound(
            information=self.largest_risk,
            constant_distortion=self.variance,
            distortion=self.distortion,
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in plain words."""
        model = (
            "If both sides are Gaussian" if self.gaussian else "With this entropy and covariance"
        )
        summary = (
            f"{model}, no rule with a mean squared distortion of at most {self.distortion:.6g} "
            f"tells less than {six_decimals(self.low, round='down')} {self.unit} about the "
            "confidential side."
        )
        reached = (
            "The key determines something confidential, so without distortion it tells without end."
            if math.isinf(self.high)
            else f"Adding the noise of this result tells at most "
            f"{six_decimals(self.high, round='up')}; the key itself tells "
            f"{six_decimals(self.largest_risk, round='up')}."
        )
        proof = (
            f"Both sides are proved in exact arithmetic ({self.method}); they lie "
            f"{self.gap:.1g} apart."
        )
        return (summary, *((reached,) if self.gaussian else ()), proof, DISCRETE, *self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "distortion": self.distortion,
            "value": _for_json(self.value),
            "low": _for_json(self.low),
            "high": _for_json(self.high),
            "unit": self.unit,
            "largest_risk": _for_json(self.largest_risk),
            "variance": self.variance,
            "lam": _for_json(self.lam),
            "method": self.method,
            "gaussian": self.gaussian,
            "matrix": self.matrix.tolist(),
            "sentences": list(self.sentences),
        }


class GaussianFrontier:
    """The quadratic-Gaussian bound of one model for any distortion, prepared once."""

    def __init__(self, model: GaussianModel) -> None:
        self.model = model
        self.information = information(model.exact)
        """What the key itself tells in nats, between two bounds."""
        self._programme = Programme(model)

    @property
    def largest(self) -> float:
        """What the key itself tells, in nats; infinite where it determines something."""
        return math.inf if self.model.determined else sum(self.information) / 2

    def bound(self, distortion: float, *, base: float = 2) -> GaussianBound:
        """Return the bound for a distortion, both sides taken for Gaussian."""
        allowed = Fraction(distortion)
        if allowed >= (self.model.exact.weight @ self.model.exact.key).trace():
            return self._result(distortion, base, np.zeros((1, 1)), (0.0, 0.0), "no risk is left")
        if distortion == 0:
            ends = self.information[0], math.inf if self.model.determined else self.information[1]
            return self._result(distortion, base, None, ends, "closed form", price=math.inf)
        released, slopes, method = self._point(distortion)
        factor: Floats | None
        factor, high = allowed_factor(self.model, released, allowed)
        if not (math.isfinite(high) or self.model.determined):
            factor, high = None, self.information[1]  # the key itself where no other is found
        floor = best_floor(self.model, slopes, allowed)
        ends = floor.nats, max(high, floor.nats)
        return self._result(distortion, base, factor, ends, method, price=floor.price)

    def _point(self, distortion: float) -> tuple[Floats, list[Floats], str]:
        """Return a covariance of the release, slopes that may prove it best, and where from."""
        whitened, share = self.model.whitened, distortion / self.model.variance
        size = whitened.shape[1]
        released, method = (1 - share) * np.eye(size), "closed form (8)"
        slopes: list[Floats] = []
        if size > 1:
            filled = None if self.model.determined else fill(self.model, distortion)
            solved = None
            if filled is not None and filled.allowed:
                released, method = np.eye(size) - filled.whitened, "water-filling, Proposition 5"
            else:
                solved, method = self._programme.solve(share), "semidefinite programme (6)"
            if solved is not None:
                released = solved[0]
                slopes.append(solved[1])
        remaining = np.eye(whitened.shape[0]) - whitened @ released @ whitened.T
        values, vectors = np.linalg.eigh(remaining)
        slopes.append((vectors / np.maximum(values, 1e-15)) @ vectors.T)
        return released, slopes, method

    def _result(  # noqa: PLR0913, PLR0917 - each is one field
        self,
        distortion: float,
        base: float,
        factor: Floats | None,
        ends: tuple[float, float],
        method: str,
        price: float = 0.0,
    ) -> GaussianBound:
        model, nats = self.model, math.log(base)
        if factor is None:
            noise = np.zeros_like(model.key)
        else:
            seen = model.key @ factor if factor.any() else np.zeros((model.key.shape[0], 1))
            noise = model.key - seen @ seen.T
        low, high = in_unit(ends[0], base, up=False), in_unit(ends[1], base, up=True)
        return GaussianBound(
            distortion=distortion,
            value=high,
            low=low,
            high=high,
            matrix=model.spread @ noise @ model.spread.T,
            largest_risk=self.largest / nats,
            variance=model.variance,
            lam=math.inf if price == 0 else 2 / price * nats,
            base=base,
            method=method,
            notes=model.notes,
        )


def quadratic_gaussian_bound(  # noqa: PLR0913 - the covariances of two sides, and three choices
    *,
    confidential: object,
    key: object,
    cross: object,
    distortion: float,
    entropy: float | None = None,
    base: float = 2,
) -> GaussianBound:
    r"""Return a lower bound on what any rule within a mean squared distortion tells.

    .. math:: R(D) \ge h(W) - \tfrac m2 \log 2\pi e - \max_{0 \preceq \Sigma \preceq \Sigma_X,\,
        \mathrm{tr}\,\Sigma \le D} \tfrac12 \log\det\big(\Sigma_{W|X} +
        \Sigma_{WX} \Sigma_X^{-1} \Sigma \Sigma_X^{-1} \Sigma_{WX}^\top\big)

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, eq. (6) and Theorem 2: a bound for any
    confidential side with a density, reached where both sides are Gaussian. For one key column the
    closed forms (7) and (8); for several, water-filling where it is the optimum, else a
    semidefinite programme of n(n+1)/2 variables. Both sides of the result are proved in exact
    arithmetic, whatever the solver says. Covariances may be singular. Not for a discrete
    confidential side, which has no differential entropy.

    Args:
        confidential: the covariance of the confidential columns; a number for one column.
        key: the covariance of the key columns.
        cross: the covariances of the confidential columns (rows) and the key columns.
        distortion: the mean squared distance of key and release, in all key columns together.
        entropy: the differential entropy of the confidential side, in the unit of the base, where
            it is not Gaussian; the bound is then 0 at least.
        base: of the logarithms; math.e for the nats of the paper.

    Example:
        >>> bound = quadratic_gaussian_bound(
        ...     confidential=1.0, key=1.0, cross=0.95, distortion=0.25, base=math.e
        ... )
        >>> round(bound.value, 6), bound.low <= bound.value <= bound.high
        (0.564858, True)
        >>> round(bound.lam, 6)  # 2 (1 / 0.95^2 - 1 + 0.25)
        0.716066
    """
    check_base(base)
    model = read_gaussian(confidential, key, cross)
    bound = GaussianFrontier(model).bound(check_distortion(distortion), base=base)
    return bound if entropy is None else _not_gaussian(bound, model, entropy)


def _not_gaussian(bound: GaussianBound, model: GaussianModel, entropy: float) -> GaussianBound:
    """Lower the bound by what a Gaussian of the same covariance has more entropy."""
    size = model.secret.shape[0]
    scale = math.log(bound.base)
    most = (size * math.log(2 * math.pi * math.e) + log_determinant(model.exact.secret)) / 2 / scale
    entropy = as_number(entropy)
    if model.reduced or not math.isfinite(entropy):
        raise OptionError(
            "The confidential side has no density, so the bound says nothing about it",
            hint="leave out discrete, constant and dependent columns",
        )
    rounding = 1e-12 * max(1.0, abs(most), abs(entropy))
    lacking = entropy - most
    if lacking > 1e-9 * max(1.0, abs(most)):
        raise OptionError(
            f"No distribution of this covariance has an entropy of {entropy}",
            hint=f"a Gaussian has the largest, {most:.6g} {bound.unit}",
        )
    low, value, high = (
        max(side + min(lacking, 0.0) + off, 0.0)
        for side, off in ((bound.low, -rounding), (bound.value, 0.0), (bound.high, rounding))
    )
    return replace(bound, low=low, value=value, high=high, gaussian=False)


def _for_json(value: float) -> float | str:
    """Return a number as JSON can hold it."""
    return "inf" if math.isinf(value) else value


# --- closed form ----------------------------------------------------------------------------------
# The closed form below the quadratic-Gaussian bound, for which no solver is needed.


@dataclass(frozen=True, eq=False)
class WaterFilling:
    """The closed form beside the quadratic-Gaussian bound, and the noise that it stands for."""

    distortion: float
    value: float
    """No rule of at most this distortion tells less, if both sides are Gaussian."""
    low: float
    """As much of it as is proved in exact arithmetic."""
    tight: bool
    """Whether it is the quadratic-Gaussian bound itself, so that some rule reaches it."""
    equality_below: float
    """Up to this distortion it always is (Proposition 6): the key's smallest variance."""
    gains: Floats
    levels: Floats
    """The variance of the noise in each direction."""
    directions: Floats
    """One column a direction of the key, with its gain."""
    base: float

    @property
    def unit(self) -> str:
        """The name of the unit of risk."""
        return unit_of(self.base)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in plain words."""
        low, agree_below = (
            six_decimals(bound, round="down") for bound in (self.low, self.equality_below)
        )
        return (
            (
                "If both sides are Gaussian, no rule with a mean squared distortion of at most "
                f"{self.distortion:.6g} tells less than {low} {self.unit}."
            ),
            "Some rule tells just that."
            if self.tight
            else "The best rule may tell more: quadratic_gaussian_bound says how much.",
            f"Up to a distortion of {agree_below} the two always agree.",
            DISCRETE,
        )


def water_filling_bound(
    *, confidential: object, key: object, cross: object, distortion: float, base: float = 2
) -> WaterFilling:
    r"""Return a closed form below the quadratic-Gaussian bound, equal to it for small distortions.

    .. math:: R(D) \ge I(W;X) - \tfrac12 \sum_i \log(1 + \lambda_i \xi_i), \qquad
        \xi_i = \max\{0, \min\{1/\mu - 1/\lambda_i,\, y'_{ii}\}\}

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, Lemma 4 and Propositions 5 and 6. A lower bound
    of what any rule tells, from an upper bound of the maximum in eq. (6); no solver is needed. The
    key must not determine any combination of the confidential columns. Cubic in the columns.

    Args:
        confidential: the covariance of the confidential columns; a number for one column.
        key: the covariance of the key columns.
        cross: the covariances of the confidential columns (rows) and the key columns.
        distortion: the mean squared distance of key and release, in all key columns together.
        base: of the logarithms; math.e for the nats of the paper.

    Example:
        >>> bound = water_filling_bound(
        ...     confidential=1.0, key=[[1.0, 0.0], [0.0, 1.0]], cross=[0.6, 0.0], distortion=0.5
        ... )
        >>> round(bound.value, 6), bound.tight  # -log2(1 - 0.36 (1 - 0.5)) / 2
        (0.143152, True)
    """
    check_base(base)
    model, allowed = read_gaussian(confidential, key, cross), check_distortion(distortion)
    filled = fill(model, allowed)
    whole = information(model.exact)
    value = max(sum(whole) / 2 - filled.saved, 0.0)
    low = 0.0
    if allowed < model.variance:
        # The slope of the closed form is one of the multipliers of the programme.
        whitened = model.whitened
        seen = whitened @ (np.eye(whitened.shape[1]) - filled.whitened) @ whitened.T
        slope = np.linalg.inv(np.eye(whitened.shape[0]) - seen)
        low = best_floor(model, [np.asarray(slope, np.float64)], Fraction(allowed)).nats
    low = min(low, value)
    return WaterFilling(
        distortion=allowed,
        value=value / math.log(base),
        low=in_unit(low, base, up=False),
        tight=filled.allowed,
        equality_below=filled.smallest,
        gains=filled.gains,
        levels=filled.levels,
        directions=filled.directions,
        base=base,
    )
