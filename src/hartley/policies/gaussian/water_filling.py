"""Water-filling: the closed form beside the semidefinite programme."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.gaussian.model import GaussianModel

    Floats = NDArray[np.float64]

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

    Example:
        >>> water_levels([1.0, 0.5], [10.0, 10.0], 3.0).tolist()  # 1/mu = 3: 3 - 1 and 3 - 2
        [2.0, 1.0]
        >>> water_levels([1.0, 0.5], [1.5, 10.0], 3.0).tolist()
        [1.5, 1.5]
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
