"""What the privacy-distortion solver answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from hartley.numerals import two_digits_up, unit_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Objective: TypeAlias = Literal[
    "mutual_information", "t_closeness", "delta_disclosure", "maximal_leakage"
]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
CAVEATS = {
    "mutual_information": "An average says nothing about the person whom a rare released value "
    "gives away.",
    "t_closeness": "This holds for every released value, however rare it is.",
    "delta_disclosure": "This holds for every pair of values, however rare they are.",
    "maximal_leakage": "This holds for every function of the confidential side, on average over "
    "the released values.",
}


@dataclass(frozen=True, eq=False)
class TradeoffResult:
    """A rule of perturbation, what it costs, and a proved distance from the best."""

    matrix: NDArray[np.float64]
    """p(released | key): a row a key value, a column a released value."""
    distortion: float
    risk: float
    """What the release tells about the confidential side, in units of the base."""
    lam: float
    """What a unit of risk costs in distortion here: the slope of the curve, reversed. Zero for the
    most faithful rule, infinite where no risk is allowed."""
    gap: float
    """Certified, rounding included, in the unit of distortion. For a lam, no rule has a cost that
    is smaller by more than this; within a risk, none such a distortion; within a distortion, none
    such a risk times lam."""
    base: float
    values: tuple[Any, ...]
    """The released values, one a column of the matrix."""
    least_risk: float
    """No rule of this distortion tells less than this: certified."""
    largest_risk: float
    """What releasing the key as it is would tell."""
    steps: int = 0
    scores: NDArray[np.float64] | None = field(default=None, repr=False)
    """The point y(w, released) of the dual problem that proves the gap, where one does."""
    objective: Objective = "mutual_information"
    """What risk means."""
    wanted_gap: float = math.inf
    """The gap that the tolerance asked for, in the same unit."""
    sees: Literal["key", "both"] = "key"
    """What the rule draws from. For "both" a row of the matrix is a pair of a confidential value
    and a key value, as ``PrivacyDistortion.inputs`` lists them."""

    @property
    def reached(self) -> bool:
        """Whether the gap is as small as the tolerance asked for."""
        return self.gap <= self.wanted_gap

    @property
    def cost(self) -> float:
        """Distortion + lam * risk; where no risk is allowed, the distortion."""
        counts = 0 < self.lam < math.inf
        return self.distortion + (self.lam * self.risk if counts else 0.0)

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
        itself = (
            f"of {self.largest_risk:.6g} {self.unit} for the key itself"
            if math.isfinite(self.largest_risk)
            else "as some value of the key itself does for certain"
        )
        summary = f"With a mean distortion of {self.distortion:.6g} {self._meaning}, {itself}."
        proof = (
            f"No rule costs less by more than {two_digits_up(self.gap)} (certified): at this "
            f"distortion none tells less than {self.least_risk:.6g} {self.unit}."
        )
        missed = () if self.reached else (missed_sentence(self.gap, self.wanted_gap),)
        used = f"It uses {len(self.live):,} of {len(self.values):,} released values."
        return (
            summary,
            used,
            proof,
            *missed,
            CAVEATS[self.objective],
        )

    @property
    def _meaning(self) -> str:
        """What the risk says, in words."""
        if math.isinf(self.risk):
            return "some released value excludes a confidential one"
        amount, times = f"{self.risk:.6g} {self.unit}", f"{self._factor:.4g}"
        return {
            "mutual_information": f"the release tells {amount} about the confidential side on "
            "average",
            "t_closeness": "no released value takes beliefs about the confidential side farther "
            f"than {amount} of divergence",
            "delta_disclosure": "no released value makes a confidential one likelier or less "
            f"likely by more than {amount}, {times} times",
            "maximal_leakage": "the release makes a guess of anything about the confidential side "
            f"at most {amount}, {times} times, likelier to succeed",
        }[self.objective]

    @property
    def _factor(self) -> float:
        try:
            return float(self.base**self.risk)
        except OverflowError:
            return math.inf


def wanted_gap(tolerance: float, scale: float) -> float:
    """Return the gap that a tolerance asks for; where all rules distort alike, any will do.

    Example:
        >>> wanted_gap(1e-6, 512.0), wanted_gap(1e-6, 0.0)
        (0.000512, inf)
    """
    return tolerance * scale if scale > 0 else math.inf


def missed_sentence(gap: float, wanted: float) -> str:
    """Say that a tolerance was missed, in the unit of the cost.

    Example:
        >>> missed_sentence(17.39, 0.00036)
        'The tolerance was missed: the least cost may be lower by 18, where 0.00036 was asked for.'
    """
    return (
        f"The tolerance was missed: the least cost may be lower by {two_digits_up(gap)}, where "
        f"{wanted:.2g} was asked for."
    )
