"""What is known about a Gaussian rule: numbers, and what is proved for which data, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.numerals import few_digits, six_decimals
from hartley.readable import ReadableResult
from hartley.wording import listed, verb_for

if TYPE_CHECKING:
    from fractions import Fraction

    from hartley.policies.gaussian.bound import GaussianBound
    from hartley.policies.gaussian.rule import GaussianRule
    from hartley.ranges.relations.classes import Singling

NEARLY_ALL = 0.99
"""A combination that keeps this share of its variance is released with hardly any noise."""
BARE = (
    "Some combination of the key columns keeps more than 99 % of its variance: with so little "
    "noise it can point to a person whose key is known."
)
SEEDED = (
    "The seed was chosen, so that the noise can be drawn again: anybody who knows or guesses it "
    "can take the noise away; draw no other table by it."
)
UNSEEDED = "The noise was drawn with fresh random bytes of the system and cannot be repeated."
ONE_DRAW = "Another draw of the same rows tells as much again: release one draw only."
ORDER = "The rows keep their order: if that tells something, the release tells it too."
LAST_DIGITS = (
    "The released numbers are doubles; what is proved is about real numbers, and the last digits "
    "of doubles may tell more: round them (--round)."
)


@dataclass(frozen=True)
class FrontierPoint:
    """The best Gaussian rule at one distortion, between its two proofs."""

    distortion: float
    low: float
    """No rule of this distortion tells less, if both sides are Gaussian."""
    high: float
    """The best rule tells at most this, likewise."""
    mixture: float | None
    """What the key itself or its mean tells at most, drawn by lot; None where that is infinite."""


@dataclass(frozen=True)
class NoisyRelease:
    """A table of which the key was released with noise."""

    path: str
    rows: int
    kept: tuple[str, ...]
    """The columns that are released as they are."""
    seeded: bool
    measured: float
    """The mean squared distance of key and release in this draw, known to the owner alone."""
    singling: Singling
    """How many records the columns that are kept single out."""
    steps: tuple[tuple[str, Fraction], ...] = ()
    """The columns that were rounded, and to multiples of what."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        rounded = [
            f"{name} was rounded to multiples of {few_digits(float(step))}, which moves it by at "
            "most half of that and tells no more."
            for name, step in self.steps
        ]
        kept = (
            (f"Released as they are, and no part of this proof: {listed(self.kept)}.",)
            if self.kept
            else ()
        )
        return (
            SEEDED if self.seeded else UNSEEDED,
            ONE_DRAW,
            *(rounded or (LAST_DIGITS,)),
            *kept,
            *self.singling.sentences,
            ORDER,
        )


@dataclass(frozen=True, eq=False)
class GaussianReport(ReadableResult):
    """The Gaussian rule of two sides: what it tells and distorts, and what is proved about it."""

    table: str | None
    rows: int | None
    confidential: tuple[str, ...]
    key: tuple[str, ...]
    rule: GaussianRule
    frontier: tuple[FrontierPoint, ...]
    """The best rules from no distortion to that of releasing the mean."""
    entropy: float | None = None
    """The differential entropy of the confidential side, where it was given."""
    entropy_bound: GaussianBound | None = None
    """What is then proved from below for a confidential side that is not Gaussian."""
    release: NoisyRelease | None = None
    notes: tuple[str, ...] = ()

    @property
    def bound(self) -> GaussianBound:
        """What is proved about the rule, if both sides are Gaussian."""
        return self.rule.bound

    @property
    def unit(self) -> str:
        """The unit of risk."""
        return self.bound.unit

    @property
    def share(self) -> float:
        """The distortion as a share of the key's total variance."""
        return self.rule.distortion / self.bound.variance

    @property
    def measure(self) -> str:
        """What the distortion counts in."""
        return "in variances of the key columns" if self.rule.units is not None else "in all"

    @property
    def headline(self) -> str:
        """The rule in one sentence, and one more where columns that are kept undo it."""
        bound = self.bound
        w, x = listed(self.confidential), listed(self.key)
        tells = verb_for(len(self.key), "tells")
        it = "it" if len(self.key) == 1 else "they"
        risk = (
            f"{tells} nothing"
            if bound.high == 0
            else f"{tells} without end"
            if math.isinf(bound.high)
            else f"{tells} at most {six_decimals(bound.high, up=True)} {self.unit}"
        )
        itself = (
            f"without noise {it} {tells} without end"
            if math.isinf(bound.largest_risk)
            else f"without noise {it} {tells} {six_decimals(bound.largest_risk, up=True)}"
        )
        units = "" if self.rule.units is None else " (standardised)"
        columns = tuple(dict.fromkeys((*self.confidential, *self.key)))
        are = "is Gaussian" if len(columns) == 1 else "are jointly Gaussian"
        made = (
            f"If {listed(columns)} {are}, {x} with noise of a mean squared distortion of "
            f"{few_digits(self.rule.distortion, 6)}{units} {risk} about {w}; {itself}."
        )
        warning = "" if self.release is None else self.release.singling.warning
        return f"{made} {warning}".rstrip()

    @property
    def proved(self) -> tuple[str, ...]:
        """What is proved, and for which data, in plain words."""
        bound = self.bound
        low = six_decimals(bound.low, up=False)
        gaussian = (
            f"If both sides are Gaussian with these covariances, no rule of any kind with this "
            f"distortion tells less than {low} {self.unit}, and this one tells at most "
            f"{six_decimals(bound.high, up=True)}: proved in exact arithmetic ({bound.method})."
        )
        distortion = (
            f"Whatever the distribution: if the key has these means and covariances, the mean "
            f"squared distance of key and release is {few_digits(self.rule.distortion, 6)} "
            f"({self.measure}), {100 * self.share:.4g} % of its variance."
        )
        information = self.rule.key_information
        most = (
            "For data that is not Gaussian nothing is proved from above, since some combination of "
            "the key columns is released without noise."
            if math.isinf(information)
            else "For any such key, discrete ones too, the release tells at most "
            f"{six_decimals(information, up=True)} {self.unit} about the key on average, and no "
            "more about anything else, since it is computed from the key and noise alone."
        )
        bare = (BARE,) if self.rule.shares.max(initial=0.0) > NEARLY_ALL else ()
        return gaussian, distortion, most, *bare, self._from_below, self._estimate

    @property
    def _from_below(self) -> str:
        if self.entropy_bound is None:
            return (
                "For a confidential side that is not Gaussian nothing is proved from below. If it "
                "has a density, give its differential entropy (--entropy); a discrete one has none."
            )
        low = six_decimals(self.entropy_bound.low, up=False)
        return (
            f"For a confidential side with a density of the entropy {few_digits(self.entropy or 0)}"
            f" {self.unit} and these covariances, no rule with this distortion tells less than "
            f"{low} {self.unit}."
        )

    @property
    def _estimate(self) -> str:
        return (
            "The release is the best linear estimate of the key from itself, and if both are "
            "Gaussian the best of all (E[X|X^] = X^): no reconstruction would distort less."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        released = () if self.release is None else self.release.sentences
        return (*self.proved, *released, *self.notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON; infinite numbers become text."""
        rule = self.rule
        release = self.release
        return {
            "format": 1,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "table": self.table,
            "rows": self.rows,
            "confidential": list(self.confidential),
            "key": list(self.key),
            "unit": self.unit,
            "distortion": rule.distortion,
            "share": self.share,
            "standardised": rule.units is not None,
            "key_information": _plain(rule.key_information),
            "certificate": self.bound.to_dict(),
            "entropy": self.entropy,
            "entropy_bound": None if self.entropy_bound is None else self.entropy_bound.to_dict(),
            "rule": {
                "mean": (rule.mean if rule.units is None else rule.mean * rule.units).tolist(),
                "gain": rule.gain.tolist(),
                "gain_columns": [self.key[place] for place in rule.kept],
                "noise_covariance": rule.noise_covariance.tolist(),
                "distortions": rule.distortions.tolist(),
            },
            "frontier": [
                {
                    "distortion": point.distortion,
                    "low": _plain(point.low),
                    "high": _plain(point.high),
                    "mixture": point.mixture,
                }
                for point in self.frontier
            ],
            "release": None
            if release is None
            else {
                "path": release.path,
                "rows": release.rows,
                "kept": list(release.kept),
                "seeded": release.seeded,
                "measured_distortion": release.measured,
                "rounded": {name: str(step) for name, step in release.steps},
                "singled_out": release.singling.to_dict(),
            },
            "notes": list(self.notes),
        }


def _plain(number: float) -> float | str:
    """Return a number as JSON can hold it."""
    return "inf" if math.isinf(number) else number
