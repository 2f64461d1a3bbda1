"""What a random rule still tells: for certain, by the best guess, in odds, on average."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import bits_at_least
from hartley.measures.closeness import delta_disclosure, t_closeness
from hartley.measures.leakage import nonstochastic_leakage
from hartley.measures.maximin import maximin_information
from hartley.measures.mutual import mutual_information
from hartley.numerals import factor_up
from hartley.policies.perturbation.matrix import guessing_gain, odds_factor
from hartley.ranges.relations.distribution import JointDistribution
from hartley.ranges.relations.relation import Relation

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.perturbation.matrix import ExactMatrix
    from hartley.policies.perturbation.pram import Pram


def support_relation(matrix: ExactMatrix) -> Relation:
    """Return which values can be released for which, all that is certain about a random rule."""
    return Relation.from_pairs(
        list(zip(*(side.tolist() for side in np.nonzero(matrix.parts)), strict=True))
    )


@dataclass(frozen=True)
class ConfidentialLeakage:
    """What the release of a key tells about a confidential side, in bits."""

    average: float
    """I(W;X^), on average over all records."""
    unperturbed: float
    """I(W;X), what the key as it is would tell."""
    closeness: float
    """t: the divergence of the confidential side given the worst released value."""
    disclosure: float
    """delta: the largest |log2| by which a released value multiplies a probability."""


@dataclass(frozen=True)
class PramLeakage:
    """What a random rule tells about one record."""

    columns: tuple[str, ...]
    gain: Fraction
    """How many times as likely the best guess gets right: sum over y of max over x of P(y|x)."""
    maximal: float
    """Stochastic maximal leakage in bits, rounded up."""
    nonstochastic: float
    """L0: what some released value excludes for certain, in bits."""
    maximin: float
    """I*: what every released value settles for certain, in bits."""
    odds: Fraction | None
    """The largest factor by which odds between two values change; None where it is unbounded."""
    values: int
    confidential: ConfidentialLeakage | None = None
    about: tuple[str, ...] = ()
    """The confidential columns."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the release tells, each measure in plain words."""
        what = ", ".join(self.columns) or "the value"
        guess = (
            f"Whatever anybody wants to know about a record, the release of {what} multiplies the "
            f"chance to guess it by {factor_up(self.gain)} at most: {factor_up(self.maximal)} "
            "bits of stochastic maximal leakage."
        )
        return (guess, self._certain, self._odds, *self._about)

    @property
    def _certain(self) -> str:
        if self.nonstochastic == 0:
            return (
                "It tells nothing for certain: every released value may come from every value "
                "(L0 = I* = 0)."
            )
        possible = round(self.values / 2**self.nonstochastic)
        settled = (
            f"; and every released value settles {factor_up(self.maximin)} bits (I*)"
            if self.maximin
            else ", though nothing is settled by every one (I* = 0)"
        )
        return (
            f"Some released value leaves only {possible:,} of {self.values:,} values possible, for "
            f"certain: {factor_up(self.nonstochastic)} bits (L0){settled}."
        )

    @property
    def _odds(self) -> str:
        if self.odds is None:
            return (
                "Some released value rules out a value altogether, so the odds between two values "
                "can change without bound."
            )
        return (
            "A released value changes the odds between any two values by a factor of "
            f"{factor_up(self.odds)} at most."
        )

    @property
    def _about(self) -> tuple[str, ...]:
        if self.confidential is None:
            return ()
        measured, about = self.confidential, ", ".join(self.about) or "the confidential side"
        worst = (
            "excludes a value of it altogether (delta is infinite)"
            if math.isinf(measured.disclosure)
            else f"multiplies or divides a probability by {2**measured.disclosure:.4g} "
            f"(delta = {measured.disclosure:.4f} bits)"
        )
        average = (
            f"About {about} the release tells {measured.average:.4f} bits on average, of "
            f"{measured.unperturbed:.4f} that the values themselves tell."
        )
        most = f"The worst released value tells {measured.closeness:.4f} bits about it (t)"
        return average, f"{most}, and one {worst}."

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values, ready for JSON; unbounded ones are null."""
        confidential = None
        if self.confidential is not None:
            numbers = vars(self.confidential)
            confidential = {n: v if math.isfinite(v) else None for n, v in numbers.items()}
        return {
            "maximal_leakage": self.maximal,
            "guessing_gain": str(self.gain),
            "nonstochastic_leakage": self.nonstochastic,
            "maximin_information": self.maximin,
            "odds_factor": None if self.odds is None else str(self.odds),
            "confidential": confidential,
            "sentences": list(self.sentences),
        }


def pram_leakage(
    pram: Pram, joint: ArrayLike | JointDistribution | None = None, *, about: tuple[str, ...] = ()
) -> PramLeakage:
    """Return what a rule tells about one record.

    Args:
        pram: the rule.
        joint: p(w, x) of a confidential side and the values, a row a confidential value; where
            it is given, the result also says what the release tells about that side.
        about: the names of the confidential columns.

    Example:
        >>> from hartley.policies.perturbation.pram import Pram
        >>> leakage = pram_leakage(Pram.retaining("0.9", ["a", "b"]), [[0.5, 0.0], [0.0, 0.5]])
        >>> round(leakage.maximal, 6), leakage.nonstochastic, float(leakage.odds)
        (0.847997, 0.0, 9.0)
        >>> about = leakage.confidential
        >>> round(about.average, 4), round(about.disclosure, 4)
        (0.531, 2.3219)
    """
    matrix = pram.matrix
    gain, support = guessing_gain(matrix), support_relation(matrix)
    confidential = None
    if joint is not None:
        read = joint if isinstance(joint, JointDistribution) else JointDistribution.of(joint)
        if read.matrix.shape[1] != len(pram.values):
            raise OptionError(
                f"The joint distribution has {read.matrix.shape[1]} columns for "
                f"{len(pram.values)} values",
                hint="give one column per value of the matrix",
            )
        confidential = _confidential(read, matrix.doubles)
    return PramLeakage(
        columns=pram.columns,
        gain=gain,
        maximal=bits_at_least(gain.numerator, gain.denominator),
        nonstochastic=nonstochastic_leakage(support),
        maximin=maximin_information(support),
        odds=odds_factor(matrix),
        values=len(pram.values),
        confidential=confidential,
        about=about,
    )


def _confidential(joint: JointDistribution, rule: NDArray[np.float64]) -> ConfidentialLeakage:
    released = JointDistribution(joint.matrix @ rule)
    return ConfidentialLeakage(
        average=mutual_information(released),
        unperturbed=mutual_information(joint),
        closeness=t_closeness(released),
        disclosure=delta_disclosure(released),
    )
