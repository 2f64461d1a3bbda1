"""The closed form below the quadratic-Gaussian bound, for which no solver is needed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.exact import check_base
from hartley.numerals import six_decimals, unit_of
from hartley.policies.gaussian.certificate import Floor, best_floor, in_unit, information
from hartley.policies.gaussian.mixture import check_distortion
from hartley.policies.gaussian.model import DISCRETE, read_gaussian
from hartley.policies.gaussian.water_filling import fill

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.policies.gaussian.model import GaussianModel
    from hartley.policies.gaussian.water_filling import Filling

    Floats = NDArray[np.float64]


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
            six_decimals(number, up=False) for number in (self.low, self.equality_below)
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
    low = min(_proved(model, filled, allowed).nats, value)
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


def _proved(model: GaussianModel, filled: Filling, distortion: float) -> Floor:
    """Prove the closed form: its slope is one of the multipliers of the programme."""
    if distortion >= model.variance:
        return Floor(0.0, 0.0)
    whitened = model.whitened
    remaining = (
        np.eye(whitened.shape[0])
        - whitened @ (np.eye(whitened.shape[1]) - filled.whitened) @ whitened.T
    )
    return best_floor(
        model, [np.asarray(np.linalg.inv(remaining), np.float64)], Fraction(distortion)
    )
