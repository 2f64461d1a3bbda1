"""The best estimate of the truth from what a random rule released: a step after any rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import check_base
from hartley.measures.mutual import mutual_information
from hartley.policies.distortion.result import TradeoffResult
from hartley.policies.perturbation.best_estimates import read_estimator
from hartley.policies.perturbation.best_matrix import LeastLeaking
from hartley.policies.perturbation.matrix import ExactMatrix
from hartley.policies.perturbation.pram import Pram, read_frequencies
from hartley.ranges.relations.distribution import JointDistribution
from hartley.wording import digits_up, few_digits, unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.perturbation.values import Value

    Integers = NDArray[Any]
    """Python integers of any size."""

ESTIMATES = {
    "squared": "mean of the values behind it",
    "absolute": "median of the values behind it",
    "zero_one": "likeliest value behind it",
}
"""What the best estimate is, in words."""


@dataclass(frozen=True, eq=False)
class ReconstructedRelease:
    """A rule whose released values were replaced by the best estimates of the values behind them.

    Distortions are exact for the law that was given and the probabilities of the rule.
    """

    pram: Pram
    """The rule with the estimates as its released values; those with equal estimates are one."""
    distance: str
    """How distortion is measured: "squared", "absolute", "zero_one" or "given"."""
    before: Fraction | None
    """The mean distortion of the rule as it was; None where its released values have none."""
    distortion: Fraction
    """The mean distortion with the estimates: never more."""
    merged: int
    """How many released values became equal to another."""
    moved: int
    """How many released values were replaced by another."""
    risk_before: float | None = None
    """I(W;Q), where a joint law was given."""
    risk: float | None = None
    """I(W;X^), which is never more: X^ is a function of Q."""
    base: float = 2

    @property
    def is_fixed(self) -> bool:
        """Whether every released value was the best estimate already."""
        return self.moved == 0

    @property
    def unit(self) -> str:
        """The name of the unit of risk."""
        return unit_of(self.base)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the step did, in plain words."""
        estimate = ESTIMATES.get(self.distance, "best of the values that can be released")
        measured = f"mean {self.distance.replace('_', '-')} distortion"
        after = few_digits(float(self.distortion), 6)
        if self.is_fixed:
            step = (
                f"Every released value is already the {estimate}: the {measured} stays at {after}."
            )
        elif self.before is None:
            step = (
                f"Every released value was replaced by the {estimate}: the {measured} is {after}."
            )
        else:
            step = (
                f"Every released value was replaced by the {estimate}: "
                f"the {measured} falls from {few_digits(float(self.before), 6)} to {after}."
            )
        computed = "The estimates are computed from what is released, so they tell nothing more"
        if self.risk is None or self.risk_before is None:
            return step, f"{computed}."
        return step, (
            f"{computed}: {digits_up(self.risk, 4)} {self.unit} about the confidential side on "
            f"average, after {digits_up(self.risk_before, 4)} before."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; the distortions also as exact fractions."""
        return {
            "columns": list(self.pram.columns),
            "distance": self.distance,
            "distortion_before": None if self.before is None else float(self.before),
            "distortion": float(self.distortion),
            "exact_distortion_before": None if self.before is None else str(self.before),
            "exact_distortion": str(self.distortion),
            "merged": self.merged,
            "moved": self.moved,
            "risk_before": self.risk_before,
            "risk": self.risk,
            "unit": self.unit,
            "sentences": list(self.sentences),
        }


def reconstruct(
    rule: Pram | LeastLeaking | TradeoffResult | ArrayLike,
    law: JointDistribution | ArrayLike,
    *,
    distortion: object = "squared",
    values: Sequence[Value] | None = None,
    base: float = 2,
) -> ReconstructedRelease:
    r"""Replace what a random rule releases by the best estimate of the truth from it.

    .. math:: \hat x(q) = E[X|Q=q] = \frac{\sum_x p(x) P(q|x)\, x}{\sum_x p(x) P(q|x)}, \qquad
              E\|X - \hat x(Q)\|^2 \le E\|X - Q\|^2, \quad I(W; \hat x(Q)) \le I(W; Q)

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, Proposition 3: of all functions of Q the
    conditional mean has the least mean squared error, and no function of Q tells more about
    anything than Q does (data processing). For absolute distortion the best estimate is the
    median, for zero_one the likeliest value, for another one the released value of least mean
    distortion. A rule that is best of all for squared distortion and free to release any number
    is a fixed point; one that is best among rules that release values of a list releases the
    value of the list that is nearest to the mean. The averages of microaggregation are
    conditional means already, and so is the Gaussian rule for a Gaussian key.

    The estimates are computed from the law: released with it taken from a private table, they say
    something about that table's frequencies. Conditioning on other columns as well would be no
    step after the rule: where those single out a record, the "estimate" is its true value.

    Exact: doubles, counts and fractions are taken as they are, and the distortions are fractions.
    A mean is rounded to a double; where the rounded one is no better than the released value, that
    stays. Linear in the size of the matrix.

    Args:
        rule: a PRAM rule, what the solvers return, or a matrix p(q|x), a row a value.
        law: the frequencies or counts of the values; or p(w, x) with a row for each confidential
            value, for the risks too.
        distortion: "squared", "absolute" or "zero_one"; or as of ``PrivacyDistortion``.
        values: the key values, of a matrix 0, 1, 2, ... if left out, and of a solver's result the
            released ones, where there are as many. A PRAM rule has its own.
        base: of the logarithms.

    Example:
        >>> rule = Pram.retaining("0.8", [0, 10], column="dose")
        >>> better = reconstruct(rule, [3, 1])
        >>> [round(mean, 4) for mean in better.pram.released]  # 10 * 1/13 and 10 * 4/7
        [0.7692, 5.7143]
        >>> better.before, round(float(better.distortion), 4)
        (Fraction(20, 1), 13.1868)
    """
    check_base(base)
    pram = _as_pram(rule, values)
    joint, counts = _read_law(law, len(pram.values))
    estimator, name = read_estimator(distortion, pram)
    places: dict[Value, int] = {}
    """Every estimate, and its place among the released values."""
    sums: list[NDArray[np.int64]] = []
    before, after, moved, columns = Fraction(0), Fraction(0), 0, 0
    comparable = True
    for label, column in zip(pram.released, pram.matrix.parts.T, strict=True):
        if not column.any():
            continue  # never released
        mass = counts * column.astype(object)
        # A value that never comes about under the law is estimated as if all values were equally
        # frequent, since the rule could still release it. It adds nothing to the distortion.
        weights = mass if mass.any() else column.astype(object)
        estimate, error, label_error = estimator.choose(label, weights)
        comparable = comparable and label_error is not None
        if mass.any():
            before, after = before + (label_error or 0), after + error
        columns += 1
        moved += estimate != label
        if estimate in places:
            sums[places[estimate]] += column
        else:
            places[estimate] = len(places)
            sums.append(column.copy())
    released = tuple(places)
    better = Pram(
        ExactMatrix(np.array(sums).T, pram.matrix.whole),
        pram.values,
        column=pram.columns,
        released=None if released == pram.values else released,
    )
    whole = sum(counts.tolist()) * pram.matrix.whole
    risks = (None, None) if joint is None else risks_of_both(joint, (pram, better), base=base)
    return ReconstructedRelease(
        pram=better,
        distance=name,
        before=before / whole if comparable else None,
        distortion=after / whole,
        merged=columns - len(places),
        moved=moved,
        risk_before=risks[0],
        risk=risks[1],
        base=base,
    )


def _as_pram(rule: object, values: Sequence[Value] | None) -> Pram:
    """Return a rule of exact probabilities."""
    if isinstance(rule, LeastLeaking):
        rule = rule.pram
    if isinstance(rule, TradeoffResult):
        return Pram.of_result(rule, values)
    return rule if isinstance(rule, Pram) else Pram(rule, values)  # type: ignore[arg-type]  # read


def _read_law(law: object, size: int) -> tuple[JointDistribution | None, Integers]:
    """Return the joint law where there is one, and the frequencies of the values as integers."""
    matrix = law.matrix if isinstance(law, JointDistribution) else np.asarray(law)
    rows = matrix.reshape(1, -1) if matrix.ndim != 2 else matrix
    for row in rows:
        if matrix.ndim != 2 or row.any():
            read_frequencies(row, size)
    exact = [[Fraction(entry) for entry in row] for row in rows.tolist()]
    frequencies = [sum(column) for column in zip(*exact, strict=True)]
    whole = sum(frequencies)
    if not whole:
        raise OptionError("The joint law is all zeros", hint="give counts or shares of 0 or more")
    scale = math.lcm(*(entry.denominator for entry in frequencies))
    counts = np.empty(size, dtype=object)
    counts[:] = [int(entry * scale) for entry in frequencies]
    if matrix.ndim != 2:
        return None, counts
    return JointDistribution(np.array([[float(e / whole) for e in row] for row in exact])), counts


def risks_of_both(
    joint: JointDistribution, rules: tuple[Pram, Pram], *, base: float = 2
) -> tuple[float, float]:
    """Return what a rule tells on average about a confidential side, and what its estimates tell.

    Args:
        joint: p(w, x).
        rules: the rule, and the same rule with estimates in place of its released values.
        base: of the logarithms.
    """
    averages = [
        mutual_information(JointDistribution(joint.matrix @ rule.matrix.doubles), base=base)
        for rule in rules
    ]
    # Data processing: what is computed as more, by the rounding of sums, is no more in truth.
    return averages[0], min(averages)
