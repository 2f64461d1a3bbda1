"""Non-stochastic hypothesis testing: what a release lets anybody decide for certain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import log_ratio
from hartley.ranges.boxes.box import IntervalUnion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from fractions import Fraction

    from numpy.typing import NDArray

    from hartley.ranges.relations.relation import Relation

    Hypothesis = str | Callable[[Any], bool] | Iterable[Any]
    """A condition over the secret columns, a function of the secret, or the secrets themselves."""


@dataclass(frozen=True)
class HypothesisAnalysis:
    """What can be decided about a hypothesis from the release."""

    relation: Relation
    possible: NDArray[np.int8]
    """For every released code: 1 the hypothesis can only be true, 2 only false, 3 either."""
    base: float

    @cached_property
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
            hint="state one that some secrets fulfil and others do not",
        )
    pairs = relation.pairs()
    possible = np.zeros(pairs.sizes[1], np.int8)
    np.bitwise_or.at(possible, pairs.released, np.where(holds[pairs.secret], 1, 2).astype(np.int8))
    return HypothesisAnalysis(relation, possible, base)


def _truth(relation: Relation, hypothesis: Hypothesis) -> NDArray[np.bool_]:
    """Return for every secret code whether the hypothesis holds."""
    secrets = relation.secret_range
    if isinstance(hypothesis, str):
        from hartley.engines.tables.condition import evaluate_condition

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
        >>> from hartley.ranges.boxes.box import Interval
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
