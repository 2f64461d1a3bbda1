"""What the privacy-distortion solver answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class TradeoffResult:
    """A rule of perturbation, what it costs, and how near the best it surely is."""

    matrix: NDArray[np.float64]
    """p(released | key): a row a key value, a column a released value."""
    distortion: float
    risk: float
    """What the release tells about the confidential side, in units of the base."""
    lam: float
    """What a unit of risk costs in distortion here: the slope of the curve, reversed. Zero for the
    most faithful rule, infinite where no risk is allowed."""
    gap: float
    """No rule has a cost smaller by more than this: certified, rounding included."""
    base: float
    values: tuple[Any, ...]
    """The released values, one a column of the matrix."""
    least_risk: float
    """No rule of this distortion tells less than this: certified."""
    largest_risk: float
    """What releasing the key as it is would tell, on average."""
    steps: int = 0
    scores: NDArray[np.float64] | None = field(default=None, repr=False)
    """The point y(w, released) of the dual problem that proves the gap, where one does."""

    @property
    def cost(self) -> float:
        """Distortion + lam * risk; where no risk is allowed, the distortion."""
        return self.distortion + (0.0 if math.isinf(self.lam) else self.lam * self.risk)

    @property
    def live(self) -> tuple[Any, ...]:
        """The released values that occur at all."""
        return tuple(self.values[place] for place in np.flatnonzero(self.matrix.any(axis=0)))

    @property
    def unit(self) -> str:
        """The name of the unit of risk."""
        return unit_of(self.base)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in plain words."""
        told = (
            f"With a mean distortion of {self.distortion:.6g} the release tells "
            f"{self.risk:.6g} {self.unit} about the confidential side on average, "
            f"of {self.largest_risk:.6g} that the key itself tells."
        )
        proof = (
            f"No rule costs less by more than {self.gap:.2g} (certified): at this distortion none "
            f"tells less than {self.least_risk:.6g} {self.unit}."
        )
        used = f"It uses {len(self.live):,} of {len(self.values):,} released values."
        return (
            told,
            used,
            proof,
            "An average says nothing about the person whom a rare released value gives away.",
        )


def unit_of(base: float) -> str:
    """Return the name of a base's unit of information.

    Example:
        >>> unit_of(2), unit_of(math.e)
        ('bits', 'nats')
    """
    return {2: "bits", math.e: "nats", 10: "digits"}.get(base, f"log{base:g} units")
