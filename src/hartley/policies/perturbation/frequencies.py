"""Estimate the frequencies before a random perturbation from those after it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.policies.perturbation.pram import Pram
from hartley.policies.perturbation.values import write_values
from hartley.readable import ReadableResult
from hartley.wording import counted, verb_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.perturbation.values import Value

    Floats = NDArray[np.float64]

MOST_CELLS = 10_000_000
"""Combinations of the values of several columns that are estimated together, at most."""
CHANCE = 1e-6
"""A table fits a policy unless its estimates were, by chance, less likely than this."""
ROUNDING = 1e-9
"""How far doubles may move an estimate."""
RANK_TOLERANCE = 1e-10
"""Directions in which a matrix is smaller than this are taken for lost."""


MOST_SHOWN = 12
"""Estimates that a printed result shows."""


@dataclass(frozen=True, eq=False)
class FrequencyEstimate(ReadableResult):
    """Estimated frequencies of the values before the perturbation, and how sure they are."""

    columns: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    """Of each rule."""
    shares: Floats
    """The estimates, an axis a rule: unbiased, and so perhaps below 0 or above 1."""
    errors: Floats
    """Standard errors, about the table that was perturbed."""
    population_errors: Floats
    """Standard errors about a population of which the table is a simple random sample."""
    masked: Floats
    """The frequencies after the perturbation, an axis a rule."""
    rows: int
    misfit: float | None = None
    """How many standard errors the worst estimate is below 0 or above 1, where chance explains
    that no more; None where the table fits the policy."""
    projected: bool = False

    @property
    def outside(self) -> int:
        """How many estimates are below 0 or above 1, where no frequency is."""
        return int(((self.shares < 0) | (self.shares > 1)).sum())

    @property
    def inflation(self) -> float:
        """How many times as many rows are needed for the precision of a plain sample.

        The largest ratio of the variances about a population, with and without perturbation.
        """
        least = 1 / max(self.rows, 2)
        share = np.clip(self.shares, least, 1 - least)
        plain = share * (1 - share) / self.rows
        return max(float((self.population_errors**2 / plain).max()), 1.0)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        about = (
            f"The frequencies of {', '.join(self.columns) or 'the values'} were estimated from "
            f"{self.rows:,} perturbed rows; the largest standard error is {self.errors.max():.2g}."
        )
        if self.misfit is not None:
            wrong = (
                f"The table does not fit the policy: an estimate is {self.misfit:,.3g} standard "
                "errors below 0 or above 1, which chance does not explain. It was perturbed by "
                "another policy, or not at all, or its rows were changed since: the estimates "
                "mean nothing."
            )
            return wrong, about
        if self.projected:
            note = (
                "They were moved to the nearest frequencies from 0 to 1 that add up to 1, and so "
                "are biased; the standard errors are those before that."
            )
        elif self.outside:
            verb = verb_for(self.outside, "is")
            note = (
                f"{counted(self.outside, 'estimate')} {verb} below 0 or above 1: "
                "unbiased as they are, not a mistake; projecting them would bias them."
            )
        else:
            note = "They are unbiased, whatever the frequencies were."
        return about, note

    def _headline_and_sentences(self) -> tuple[str, list[str]]:
        first, *others = self.sentences
        pairs = zip(self.shares.ravel(), self.errors.ravel(), strict=True)
        cells = itertools.product(*self.values)
        lines = [
            f"{' + '.join(map(str, cell))}: {share:.4f} ± {error:.2g}"
            for cell, (share, error) in itertools.islice(zip(cells, pairs, strict=True), MOST_SHOWN)
        ]
        more = self.shares.size - len(lines)
        return first, [*others, *lines, *([f"and {counted(more, 'value')} more"] if more else [])]

    def project(self) -> FrequencyEstimate:
        """Return the nearest frequencies from 0 to 1 that add up to 1; these are biased."""
        nearest = nearest_frequencies(self.shares.ravel()).reshape(self.shares.shape)
        return replace(self, shares=nearest, projected=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain values, ready for JSON."""
        return {
            "columns": list(self.columns),
            "values": [write_values(values) for values in self.values],
            "rows": self.rows,
            "masked": self.masked.tolist(),
            "shares": self.shares.tolist(),
            "standard_errors": self.errors.tolist(),
            "population_standard_errors": self.population_errors.tolist(),
            "outside": self.outside,
            "fits": self.misfit is None,
            "standard_errors_outside": self.misfit,
            "projected": self.projected,
            "inflation": self.inflation,
            "sentences": list(self.sentences),
        }


def estimate_from_counts(
    counts: ArrayLike, prams: Pram | Sequence[Pram], *, project: bool = False
) -> FrequencyEstimate:
    r"""Estimate the frequencies of a table before its perturbation, without bias.

    .. math:: \hat\pi = A f, \quad A P^T = I, \qquad
        \widehat{Var}(\hat\pi_i) = \frac{1}{n} \Big(\sum_y A_{iy}^2 f_y - \hat\pi_i\Big)

    f are the frequencies after it. The variance is that of the draws, the table being fixed; about
    a population of which the table is a simple random sample, the last term is the square of the
    estimate (Gouweleeuw et al. 1998; van den Hout and van der Heijden 2002). Of several rules that
    perturb columns independently A is the Kronecker product of theirs, applied axis by axis.
    Rounded to double precision. Cubic in the number of values of each rule.

    Args:
        counts: how many rows have each released value, an axis a rule.
        prams: the rule, or one an axis.
        project: move the estimate to the nearest frequencies, which biases it.

    Example:
        >>> rule = Pram.retaining("0.9", ["no", "yes"], column="sick")
        >>> estimate = estimate_from_counts([820, 180], rule)
        >>> estimate.shares.round(6).tolist(), estimate.errors.round(4).tolist()
        ([0.9, 0.1], [0.0119, 0.0119])
    """
    rules = [prams] if isinstance(prams, Pram) else list(prams)
    observed = np.asarray(counts, dtype=np.float64)
    wanted = tuple(len(rule.released) for rule in rules)
    if observed.shape != wanted or not np.isfinite(observed).all() or observed.min() < 0:
        raise OptionError(
            f"The counts are not {' by '.join(map(str, wanted))} numbers of 0 or more",
            hint="count the rows of every released value",
        )
    rows = int(observed.sum())
    if rows < 1:
        raise OptionError("There are no rows to estimate from", hint="pass a table with rows")
    _refuse_impossible(observed, rules)
    masked = observed / rows
    inverses = [left_inverse(rule) for rule in rules]
    shares = _along_axes(masked, inverses)
    spread = _along_axes(masked, [inverse**2 for inverse in inverses])
    errors = np.sqrt(np.maximum(spread - shares, 0.0) / rows)
    estimate = FrequencyEstimate(
        columns=tuple(name for rule in rules for name in rule.columns),
        values=tuple(rule.values for rule in rules),
        shares=shares,
        errors=errors,
        population_errors=np.sqrt(np.maximum(spread - shares**2, 0.0) / rows),
        masked=masked,
        rows=rows,
        misfit=_misfit(shares, errors),
    )
    return estimate.project() if project else estimate


def _refuse_impossible(observed: Floats, rules: Sequence[Pram]) -> None:
    """Refuse counts of a value that a rule lists and never releases."""
    for axis, rule in enumerate(rules):
        never = ~rule.matrix.parts.any(axis=0)
        if np.take(observed, np.flatnonzero(never), axis=axis).any():
            named = f"'{rule.name}'" if rule.columns else "that is estimated"
            raise OptionError(
                f"The column {named} holds a value that the policy never releases",
                hint="pass the table that was perturbed by this policy",
            )


def _misfit(shares: Floats, errors: Floats) -> float | None:
    """Return by how many standard errors a share is impossible, where chance explains it no more.

    The frequencies before the perturbation lay between 0 and 1, and estimates spread around them
    as sums of many independent draws do. Every estimate could err to one side, so that the
    quantile grows with their number.
    """
    beyond = np.maximum(-shares, shares - 1) - ROUNDING
    worst = float((beyond / np.maximum(errors, ROUNDING)).max())
    return worst if worst > NormalDist().inv_cdf(1 - CHANCE / shares.size) else None


def left_inverse(pram: Pram) -> Floats:
    """Return A with A P^T = I, which turns frequencies after a perturbation into those before.

    Example:
        >>> left_inverse(Pram.retaining("0.75", ["a", "b"])).round(9).tolist()
        [[1.5, -0.5], [-0.5, 1.5]]
    """
    rule = pram.matrix.doubles
    rank = int(np.linalg.matrix_rank(rule, tol=RANK_TOLERANCE))
    if rank < len(rule):
        alone = len(estimable(pram))
        raise OptionError(
            f"The matrix is singular: it has the rank {rank} for {len(rule)} values, so that "
            f"{'no frequency' if not alone else f'the frequencies of only {alone} values'} can be "
            "estimated",
            hint="no release can tell values with equal rows apart; merge them, or ask "
            "hartley.estimable(rule) which ones can be estimated",
        )
    square = rule.shape[0] == rule.shape[1]
    inverse = np.linalg.inv(rule.T) if square else np.linalg.pinv(rule.T)
    return inverse.astype(np.float64, copy=False)


def estimable(pram: Pram) -> tuple[Value, ...]:
    """Return the values whose frequencies can be estimated from a masked table, one by one.

    A value is estimable where its unit vector is a combination of the matrix's columns. Rounded
    to double precision. Cubic in the number of values.

    Example:
        >>> rule = Pram([[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]], ["a", "b", "c"])
        >>> estimable(rule)
        ('a',)
    """
    directions, sizes, _ = np.linalg.svd(pram.matrix.doubles)
    rank = int((sizes > RANK_TOLERANCE).sum())
    lost = (directions[:, rank:] ** 2).sum(axis=1)
    return tuple(value for value, gone in zip(pram.values, lost, strict=True) if gone < 1e-9)


def nearest_frequencies(shares: Floats) -> Floats:
    """Return the nearest numbers of 0 or more that add up to 1, by least squares.

    Example:
        >>> nearest_frequencies(np.array([1.1, -0.1])).tolist()
        [1.0, 0.0]
    """
    falling = np.sort(shares)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    nearest: Floats = np.maximum(shares - excess[last], 0.0)
    return nearest


def _along_axes(table: Floats, matrices: Sequence[Floats]) -> Floats:
    """Multiply every axis of a table by a matrix."""
    for axis, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    return table
