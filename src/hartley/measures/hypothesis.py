"""Non-stochastic hypothesis testing: what a release lets anybody decide for certain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.boxes.box import IntervalUnion
from hartley.boxes.expression import as_expression
from hartley.errors import OptionError
from hartley.exact import log_ratio, parse_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from hartley.boxes.box import Box
    from hartley.boxes.expression import Expression
    from hartley.ranges.relation import Relation

    Hypothesis = str | Callable[[Any], bool] | Iterable[Any]
    """A condition over the secret columns, a function of the secret, or the secrets themselves."""


@dataclass(frozen=True)
class HypothesisAnalysis:
    """What can be decided about a hypothesis from the release."""

    relation: Relation
    possible: NDArray[np.int8]
    """For every released code: 1 the hypothesis can only be true, 2 only false, 3 either."""
    base: float

    @property
    def _counts(self) -> tuple[int, int, int]:
        outputs = np.bincount(self.possible, minlength=4)
        return int(outputs[1]), int(outputs[2]), int(outputs[3])

    @property
    def performance_bound(self) -> float:
        """The best performance of any test, the logarithm of how many outputs decide."""
        return log_ratio(self._counts[0] + self._counts[1], base=self.base)

    @property
    def privacy(self) -> float:
        """Priv: how far the deciding outputs fall short of all outputs; infinite if none decides.

        Warning: it counts outputs, so it can be made large by splitting undecided outputs.
        """
        return log_ratio(sum(self._counts), self._counts[0] + self._counts[1], base=self.base)

    @property
    def decides_true(self) -> list[Any]:
        """The outputs that prove the hypothesis true."""
        return self._outputs(1)

    @property
    def decides_false(self) -> list[Any]:
        """The outputs that prove the hypothesis false."""
        return self._outputs(2)

    @property
    def ambiguous(self) -> list[Any]:
        """The outputs that leave the hypothesis open."""
        return self._outputs(3)

    @property
    def counts(self) -> dict[str, int]:
        """How many outputs decide either way and how many leave it open."""
        return dict(zip(("true", "false", "ambiguous"), self._counts, strict=True))

    def _outputs(self, kind: int) -> list[Any]:
        return self.relation.released_values.take(np.flatnonzero(self.possible == kind))

    def test(self, released: object) -> bool:
        """Decide as a consistent test does; where the output leaves it open, decide for true.

        Every consistent test is optimal, so this one attains the performance bound.
        """
        return bool(self.possible[self.relation.released_values.code(released)] & 1)


def analyse_hypothesis(
    relation: Relation, hypothesis: Hypothesis, *, base: float = 2
) -> HypothesisAnalysis:
    r"""Return what the release lets anybody decide about a hypothesis on the secret.

    .. math:: \mathcal P(T) \le \log_2 |[Y|p_0] \,\Delta\, [Y|p_1]|, \qquad
        \mathrm{Priv} = H_0(Y) - \log_2 |[Y|p_0] \,\Delta\, [Y|p_1]|

    Farokhi 2021, Theorems 1 and 2 and eq. 10; consistent tests attain the bound, so it is never
    strict (corrected). Exact. One pass over the distinct pairs.

    Args:
        relation: the secret and what is released.
        hypothesis: a comparison over the secret's columns such as "age >= 50", a function of a
            secret, or the secrets for which it holds.
        base: of the logarithm.

    Example:
        >>> from hartley import Relation
        >>> dice = Relation.from_pairs([(1, "low"), (2, "low"), (3, "mid"), (4, "mid"), (6, "top")])
        >>> analysis = analyse_hypothesis(dice, lambda eyes: eyes >= 4)
        >>> analysis.decides_true, analysis.decides_false, analysis.ambiguous
        (['top'], ['low'], ['mid'])
        >>> analysis.performance_bound
        1.0
    """
    holds = _truth(relation, hypothesis)
    if holds.all() or not holds.any():
        raise OptionError(
            f"The hypothesis is {'true' if holds.all() else 'false'} for every value of the secret",
            hint="state one that some secrets satisfy and others do not",
        )
    pairs = relation.pairs()
    possible = np.zeros(pairs.sizes[1], np.int8)
    np.bitwise_or.at(possible, pairs.released, np.where(holds[pairs.secret], 1, 2).astype(np.int8))
    return HypothesisAnalysis(relation, possible, base)


def _truth(relation: Relation, hypothesis: Hypothesis) -> NDArray[np.bool_]:
    """Return for every secret code whether the hypothesis holds."""
    secrets = relation.secret_range
    if isinstance(hypothesis, str):
        from hartley.tables.view import evaluate_condition

        names = relation.secret_names
        binned = relation.binned_secrets
        if binned:
            raise OptionError(
                f"The hypothesis is about '{binned[0]}', which is known in bins only",
                hint="leave the secret unbinned",
            )
        rows = [(secret,) for secret in secrets] if len(names) == 1 else secrets
        return evaluate_condition(
            hypothesis, dict(zip(names, zip(*rows, strict=True), strict=True))
        )
    if callable(hypothesis):
        return np.fromiter((bool(hypothesis(secret)) for secret in secrets), bool, len(secrets))
    wanted = set(hypothesis)
    if not wanted <= set(secrets):
        raise OptionError(
            "The hypothesis names values that the secret never takes",
            hint="name values of relation.secret_range",
        )
    return np.fromiter((secret in wanted for secret in secrets), bool, len(secrets))


# --- continuous outputs -----------------------------------------------------------------------


@dataclass(frozen=True)
class IntervalAnalysis:
    """What can be decided about a hypothesis from an output in a union of intervals."""

    true_outputs: IntervalUnion
    """Where the output can lie when the hypothesis is true."""
    false_outputs: IntervalUnion
    """Where the output can lie when it is false."""
    base: float

    @property
    def outputs(self) -> IntervalUnion:
        """Where the output can lie."""
        return IntervalUnion.of([*self.true_outputs, *self.false_outputs])

    @property
    def ambiguous(self) -> Fraction:
        """The measure of the outputs that leave the hypothesis open."""
        return self.true_outputs.intersect(self.false_outputs).length

    @property
    def deciding(self) -> Fraction:
        """The measure of the outputs that decide it: of the symmetric difference."""
        return self.outputs.length - self.ambiguous

    @property
    def performance_bound(self) -> float:
        """The best performance of any test: the logarithm of the measure of what decides."""
        return log_ratio(self.deciding.numerator, self.deciding.denominator, base=self.base)

    @property
    def privacy(self) -> float:
        """Priv: how far the deciding outputs fall short of all; infinite if none decides.

        Warning: it measures outputs, so it can be made large by stretching undecided ones.
        """
        if not self.deciding:
            return math.inf
        ratio = self.outputs.length / self.deciding
        return log_ratio(ratio.numerator, ratio.denominator, base=self.base)


def analyse_intervals(
    true_outputs: IntervalUnion, false_outputs: IntervalUnion, *, base: float = 2
) -> IntervalAnalysis:
    r"""Return what a continuous output lets anybody decide about a hypothesis.

    .. math:: \mathcal P(T) \le \log \mu([Y|p_0] \,\Delta\, [Y|p_1]), \qquad
        \mathrm{Priv} = h_0(Y) - \log \mu([Y|p_0] \,\Delta\, [Y|p_1])

    Farokhi 2021, Theorem 2 and eq. 9; consistent tests attain the bound, so it is never strict
    (corrected). Exact. Grows as the product of the numbers of intervals.

    Args:
        true_outputs: where the output can lie when the hypothesis is true.
        false_outputs: where it can lie when it is false.
        base: of the logarithm.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> short = IntervalUnion.of([Interval(90, 160)])
        >>> tall = IntervalUnion.of([Interval(140, 260)])
        >>> analysis = analyse_intervals(short, tall, base=math.e)
        >>> int(analysis.deciding), int(analysis.ambiguous), round(-analysis.privacy, 6)
        (150, 20, -0.125163)
    """
    for outputs, state in ((true_outputs, "true"), (false_outputs, "false")):
        if not outputs.length:
            raise OptionError(
                f"No output of positive measure remains when the hypothesis is {state}",
                hint="state one that can be true and can be false",
            )
    return IntervalAnalysis(true_outputs, false_outputs, base)


def best_success_bound(
    true_outputs: IntervalUnion,
    false_outputs: IntervalUnion,
    *,
    density: object,
    prior: object = "1/2",
) -> Fraction:
    r"""Return how often the best test of a hypothesis is right, at least, were everything random.

    .. math:: \sup_{\hat H} P(\hat H = H) \ge \max\Bigl(\pi_0, \pi_1, \tfrac12 +
        \tfrac{\varepsilon}{2} \bigl(\pi_0\,\mu([Y|p_0] \setminus [Y|p_1]) +
        \pi_1\,\mu([Y|p_1] \setminus [Y|p_0])\bigr)\Bigr)

    Farokhi 2021, Theorem 3, corrected: the proof takes 1 minus the total variation for the
    probability of an error, which for equal priors is half of that. A bound: where both hypotheses
    are possible, the densities may differ. Grows as the product of the numbers of intervals.

    Args:
        true_outputs: where the output can lie when the hypothesis is true.
        false_outputs: where it can lie when it is false.
        density: a number that the density of the output is nowhere below, under either hypothesis
            and where that makes the output possible.
        prior: how likely it is that the hypothesis is true.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> short, tall = (IntervalUnion.of([Interval(*ends)]) for ends in ((0, 2), (1, 3)))
        >>> best_success_bound(short, tall, density="1/2")  # evenly spread: 1/4 + 1/4 + 1/4
        Fraction(3, 4)
        >>> best_success_bound(short, tall, density="1/2", prior="9/10")
        Fraction(9, 10)
    """
    analyse_intervals(true_outputs, false_outputs)  # refuses a hypothesis that is decided
    least, chance = (
        parse_number(density, name="the density"),
        parse_number(prior, name="the prior probability"),
    )
    if not 0 <= chance <= 1:
        raise OptionError(
            "The prior probability is not between 0 and 1", hint="write for example prior='1/3'"
        )
    longest = max(true_outputs.length, false_outputs.length)
    if not 0 <= least * longest <= 1:
        raise OptionError(
            "No density is everywhere as large as that, since it adds up to 1",
            hint=f"give at most {1 / longest}, one over the length of the outputs",
        )
    shared = true_outputs.intersect(false_outputs).length
    alone = chance * (true_outputs.length - shared) + (1 - chance) * (false_outputs.length - shared)
    return max(chance, 1 - chance, Fraction(1, 2) + least / 2 * alone)


# --- indistinguishability -------------------------------------------------------------------------

MOST_COMPARED = 20_000
"""Up to so many values of a secret are compared with one another."""


def indistinguishability(relation: Relation, *, base: float = 2) -> float:
    r"""Return how well the release tells one value of the secret from another, in the worst case.

    .. math:: \max_{x, x'} \log_2 |[Y|x] \,\Delta\, [Y|x']|

    A release is epsilon-indistinguishable where this is at most epsilon (Farokhi 2021, Definition
    5, eq. 13): it bounds the performance of every test of x against x'. Minus infinity where no
    released value tells two secrets apart. Exact. Grows with the square of the number of secrets.

    Example:
        >>> from hartley import Relation
        >>> mean_of_two = [(x, (x + other) // 2) for x in range(4) for other in range(4)]
        >>> indistinguishability(Relation.from_pairs(mean_of_two))  # {0, 1} against {1, 2, 3}
        1.584962500721156
    """
    from scipy.sparse import csr_array

    pairs = relation.pairs()
    secrets = pairs.sizes[0]
    if secrets > MOST_COMPARED:
        raise OptionError(
            f"{secrets:,} values of the secret are too many to compare each with each",
            hint=f"bin the secret; up to {MOST_COMPARED:,} values are compared",
        )
    ones = np.ones(len(pairs.secret), np.int64)
    met = csr_array((ones, (pairs.secret, pairs.released)), shape=pairs.sizes)
    outputs = np.asarray(met.sum(axis=1)).ravel()
    most = 0
    for start in range(0, secrets, 512):
        both = (met[start : start + 512] @ met.T).toarray()
        apart = outputs[start : start + 512, None] + outputs[None, :] - 2 * both
        most = max(most, int(apart.max()))
    return log_ratio(most, base=base)


def linear_indistinguishability(
    query: Expression | str, box: Box, *, base: float = math.e
) -> float:
    r"""Return how well the exact answer to a linear query tells two values of a person apart.

    .. math:: \max_i \log \mu([Y|x_i] \,\Delta\, [Y|x_i']) = \max_i \log 2 \min(s_i, L - s_i)

    where s_i is how far person i moves the answer and L the length of its range (Farokhi 2021,
    Definition 5, eq. 12): given x_i the answer lies in an interval of length L - s_i, which another
    value moves by up to s_i. Minus infinity for one person alone, whose answers are single
    numbers without length: then it says nothing, so quantize, and count outputs. It depends on the
    unit of the answer. Exact. Linear in the number of people.

    Example:
        >>> from hartley import Box
        >>> math.exp(linear_indistinguishability("(x1 + x2)/2", Box.cube(0, 2, size=2)))
        2.0
    """
    form = as_expression(query, box.names).linear()
    if form is None:
        raise OptionError(
            "The query is not linear, so that what tells two values apart has no closed form",
            hint="give a weighted sum of people's values",
        )
    moves = [abs(by) * box[name].length for name, by in form[0].items()]
    length = sum(moves, Fraction(0))
    widest = max((2 * min(move, length - move) for move in moves), default=Fraction(0))
    return log_ratio(widest.numerator, widest.denominator, base=base)
