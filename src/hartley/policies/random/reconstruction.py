"""The best estimate of the truth from what a random rule released: a step after any rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hartley.errors import OptionError
from hartley.exact import check_base
from hartley.measures.leakage import mutual_information
from hartley.policies.distortion.curve import TradeoffResult
from hartley.policies.distortion.problem import looks_at_secret, read_distortion, rule_inputs
from hartley.policies.random.estimates import BestReleasedValue, LeastLeaking, read_estimator
from hartley.policies.random.matrix import ExactMatrix, without_dust
from hartley.policies.random.pram import Pram, read_frequencies
from hartley.ranges.distribution import JointDistribution
from hartley.text import few_digits, number, unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.random.estimates import Estimator
    from hartley.policies.random.matrix import Value

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

    matrix: ExactMatrix
    """p(estimate | input): a row for everything that the rule draws from."""
    inputs: tuple[Any, ...]
    """What the rule draws from: the key values; or pairs of the place of a confidential value,
    from 0, and a key value."""
    released: tuple[Value, ...]
    """The estimates, one a column of the matrix; those that are equal are one."""
    columns: tuple[str, ...]
    """The columns of the key, where the rule names them."""
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
    sees: Literal["key", "both"] = "key"
    """What the rule draws from: the key, or both the confidential value and the key."""
    risk_before: float | None = None
    """I(W;Q), where a joint law was given."""
    risk: float | None = None
    """I(W;X^), which is never more: X^ is a function of Q."""
    base: float = 2

    @property
    def pram(self) -> Pram:
        """The rule with the estimates as its released values, to draw by."""
        if self.sees == "both":
            raise OptionError(
                "The rule draws from pairs of a confidential and a key value, and a rule of PRAM "
                "from the values of its columns alone",
                hint="draw by the field 'matrix', whose rows are the pairs in the field 'inputs'",
            )
        same = self.released == self.inputs
        released = None if same else self.released
        return Pram(self.matrix, self.inputs, column=self.columns, released=released)

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
        step = f"Every released value was replaced by the {estimate}: the {measured} is {after}."
        if self.is_fixed:
            step = (
                f"Every released value is already the {estimate}: the {measured} stays at {after}."
            )
        elif self.before is not None:
            step = (
                f"Every released value was replaced by the {estimate}: "
                f"the {measured} falls from {few_digits(float(self.before), 6)} to {after}."
            )
        computed = "The estimates are computed from what is released, so they tell nothing more"
        if self.risk is None or self.risk_before is None:
            return step, f"{computed}."
        return step, (
            f"{computed}: {number(self.risk, 4, round='up')} {self.unit} about the "
            f"confidential side on average, after {number(self.risk_before, 4, round='up')} before."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; the distortions also as exact fractions."""
        return {
            "columns": list(self.columns),
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
        rule: a PRAM rule, what the solvers return, or a matrix p(q|x), a row a value. A rule that
            also sees the confidential value (``sees="both"``) takes the law p(w, x) it was solved
            for: the estimates are E[X|Q] there too.
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
    drawn = _read_rule(rule, law, values, distortion)
    places: dict[Value, int] = {}
    """Every estimate, and its place among the released values."""
    sums: list[NDArray[np.int64]] = []
    before, after, moved, columns = Fraction(0), Fraction(0), 0, 0
    comparable = True
    for label, column in zip(drawn.released, drawn.matrix.parts.T, strict=True):
        if not column.any():
            continue  # never released
        mass = drawn.counts * column.astype(object)
        # A value that never comes about under the law is estimated as if all values were equally
        # frequent, since the rule could still release it. It adds nothing to the distortion.
        weights = drawn.weigh(mass if mass.any() else column.astype(object))
        estimate, error, label_error = drawn.estimator.choose(label, weights)
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
    better = ExactMatrix(np.array(sums).T, drawn.matrix.whole)
    whole = sum(drawn.counts.tolist()) * drawn.matrix.whole
    risks: tuple[float | None, float | None] = (None, None)
    if drawn.joint is not None:
        risks = risks_of_both(drawn.joint, (drawn.matrix, better), base=base)
    return ReconstructedRelease(
        matrix=better,
        inputs=drawn.inputs,
        released=tuple(places),
        columns=drawn.columns,
        distance=drawn.distance,
        before=before / whole if comparable else None,
        distortion=after / whole,
        merged=columns - len(places),
        moved=moved,
        sees="key" if drawn.keys is None else "both",
        risk_before=risks[0],
        risk=risks[1],
        base=base,
    )


@dataclass(frozen=True, eq=False)
class _DrawnRule:
    """A rule of exact probabilities, the law of its inputs, and how estimates are made."""

    matrix: ExactMatrix
    inputs: tuple[Any, ...]
    released: tuple[Value, ...]
    columns: tuple[str, ...]
    joint: JointDistribution | None
    """p(w, input), where the confidential side is known."""
    counts: Integers
    """How frequent every input is, in whole numbers."""
    estimator: Estimator
    distance: str
    keys: NDArray[np.intp] | None = None
    """The place of the key value in every input; None where the inputs are the key values."""
    size: int = 0
    """How many key values there are, where inputs are pairs."""
    by_input: bool = False
    """Whether the distortion looks at the whole input."""

    def weigh(self, mass: Integers) -> Integers:
        """Return the weight of every key value; of every input where the distortion sees it."""
        if self.keys is None or self.by_input:
            return mass
        weights = np.zeros(self.size, dtype=object)
        np.add.at(weights, self.keys, mass)
        return weights


def _read_rule(
    rule: object, law: object, values: Sequence[Value] | None, distortion: object
) -> _DrawnRule:
    if isinstance(rule, TradeoffResult) and rule.sees == "both":
        return _read_pair_rule(rule, law, values, distortion)
    rule = rule.pram if isinstance(rule, LeastLeaking) else rule
    if isinstance(rule, TradeoffResult):
        pram = Pram.of_result(rule, values)
    else:
        pram = rule if isinstance(rule, Pram) else Pram(rule, values)  # type: ignore[arg-type]  # read
    joint, counts = _read_law(law, len(pram.values))
    named = pram.name if pram.columns else None
    estimator, name = read_estimator(distortion, pram.values, pram.released, column=named)
    return _DrawnRule(
        pram.matrix, pram.values, pram.released, pram.columns, joint, counts, estimator, name
    )


def _read_pair_rule(
    rule: TradeoffResult, law: object, values: Sequence[Value] | None, distortion: object
) -> _DrawnRule:
    """Read a rule that draws from pairs (w, x): the pair is the key, and X is what is estimated."""
    joint = as_joint(law)
    secrets, keys = np.nonzero(joint)
    if len(secrets) != len(rule.matrix):
        raise OptionError(
            f"The rule draws from {len(rule.matrix)} pairs of a confidential and a key value, and "
            f"{len(secrets)} of them occur in the law",
            hint="give the law p(w, x) that the rule was solved for, a row a confidential value",
        )
    known = list(rule.values if values is None else values)
    if len(known) != joint.shape[1]:
        raise OptionError(
            f"The law has {joint.shape[1]} columns for {len(known)} key values",
            hint="name the key values by values=",
        )
    by_input = looks_at_secret(distortion)
    if by_input:
        costs = np.asarray(distortion, dtype=object)
        if costs.ndim != 3 or costs.shape[:2] != joint.shape:
            raise OptionError(
                "A distortion that looks at the confidential value is not given by an entry for "
                "every confidential, key and released value",
                hint="pass the array d(w, x, released) that the rule was solved for",
            )
        seen, _ = read_distortion(costs[secrets, keys], range(len(secrets)))
        estimator: Estimator = BestReleasedValue(rule.values, seen)
        name = "given"
    else:
        estimator, name = read_estimator(distortion, known, rule.values)
    pairs = rule_inputs(joint, np.zeros((joint.shape[1], 1)), "both").joint
    _, counts = _read_law(pairs.sum(axis=0), len(secrets))
    return _DrawnRule(
        ExactMatrix.of(without_dust(rule.matrix)),
        tuple((w, known[x]) for w, x in zip(secrets.tolist(), keys.tolist(), strict=True)),
        tuple(rule.values),
        (),
        JointDistribution(pairs / pairs.sum()),
        counts,
        estimator,
        name,
        keys,
        len(known),
        by_input,
    )


def as_joint(law: object) -> NDArray[np.float64]:
    """Return a joint law p(w, x) or its counts as an array; refuse anything else."""
    matrix = law.matrix if isinstance(law, JointDistribution) else law
    try:
        joint = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        joint = np.empty(0)
    if joint.ndim != 2 or not np.isfinite(joint).all() or joint.min() < 0 or not joint.any():
        raise OptionError(
            "The law is not a table of the frequencies of pairs",
            hint="give p(w, x) or counts, a row a confidential value and a column a key value",
        )
    return joint


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
    joint: JointDistribution, rules: tuple[ExactMatrix, ExactMatrix], *, base: float = 2
) -> tuple[float, float]:
    """Return what a rule tells on average about a secret, and what its estimates tell."""
    averages = [
        mutual_information(JointDistribution(joint.matrix @ rule.doubles), base=base)
        for rule in rules
    ]
    # Data processing: what is computed as more, by the rounding of sums, is no more in truth.
    return averages[0], min(averages)
