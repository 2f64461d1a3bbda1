"""Unbiased frequencies; the matrix that reveals least."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import ColumnError, EngineError, OptionError
from hartley.exact import bits_at_least
from hartley.policies.distortion.problem import check_wish, read_distortion
from hartley.policies.random.matrix import guessing_gain, without_dust, write_values
from hartley.policies.random.pram import Pram, read_frequencies
from hartley.report import Grid, Heading, Readable, Report, Section
from hartley.text import conjugate, count_of, value_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.random.matrix import Value

    Floats = NDArray[np.float64]
    Integers = NDArray[Any]
    """Python integers of any size."""


# --- frequencies ----------------------------------------------------------------------------------
# Estimate the frequencies before a random perturbation from those after it.

MOST_CELLS = 10_000_000
"""Combinations of the values of several columns that are estimated together, at most."""
RANK_TOLERANCE = 1e-10
"""Directions in which a matrix is smaller than this are taken for lost."""


LETTERS = 24
"""The largest number of letters of a value in a table or a picture."""


def short_value(value: object) -> str:
    """Return a value of a column, or of several together, in at most 24 letters.

    Means that were released have all the digits of a double, of which six are shown.

    Example:
        >>> short_value(None), short_value(("north", 1)), short_value("a" * 50)
        ('missing', 'north, 1', 'aaaaaaaaaaaaaaaaaaaaaaa…')
        >>> short_value(23.261738160184944), short_value((0.5, 2 / 3))
        ('23.2617', '0.5, 0.666667')
    """
    if isinstance(value, tuple):
        return value_text(", ".join(map(short_value, value)), LETTERS)
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.6g}"
    return value_text(value_text(value, LETTERS), LETTERS)


@dataclass(frozen=True, eq=False)
class FrequencyEstimate(Readable):
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
            verb = conjugate(self.outside, "is")
            note = (
                f"{count_of(self.outside, 'estimate')} {verb} below 0 or above 1: "
                "unbiased as they are, not a mistake; projecting them would bias them."
            )
        else:
            note = "They are unbiased, whatever the frequencies were."
        return about, note

    def report(self) -> Report:
        """Return the estimates in sections: what they are, and the most frequent values."""
        first, *others = self.sentences
        title = "Estimated frequencies"
        names = ", ".join(self.columns) or "the values"
        return Report(
            f"Frequencies of {names} before the perturbation",
            first,
            (),
            (Section(title, points=tuple(others), table=self.table()),),
        )

    def table(self) -> Grid:
        """Return every value with its estimate, the most frequent first if they are many."""
        shares, errors = self.shares.ravel(), self.errors.ravel()
        population, most = self.population_errors.ravel(), 24
        order = np.argsort(-shares, kind="stable") if shares.size > most else range(shares.size)
        rows = []
        for place in order:
            at = np.unravel_index(place, self.shares.shape)
            value = tuple(values[k] for values, k in zip(self.values, at, strict=True))
            share = f"{shares[place]:.4f} ± {errors[place]:.4f}"
            name = short_value(value[0] if len(value) == 1 else value)
            rows.append((name, share, f"about a population ± {population[place]:.4f}"))
        headings = (
            Heading(", ".join(self.columns) or "value", "data"),
            Heading("estimate ± standard error", "amount"),
            Heading("if the rows are a sample", "meaning"),
        )
        return Grid(headings, tuple(rows), most=most)

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
    for axis, rule in enumerate(rules):
        never = ~rule.matrix.parts.any(axis=0)
        if np.take(observed, np.flatnonzero(never), axis=axis).any():
            named = f"'{rule.name}'" if rule.columns else "that is estimated"
            raise OptionError(
                f"The column {named} holds a value that the policy never releases",
                hint="pass the table that was perturbed by this policy",
            )
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


def _misfit(shares: Floats, errors: Floats) -> float | None:
    """Return by how many standard errors a share is impossible, where chance explains it no more.

    The frequencies before the perturbation lay between 0 and 1, and estimates spread around them
    as sums of many independent draws do. Every estimate could err to one side, so that the
    quantile grows with their number.
    """
    rounding = 1e-9  # how far doubles may move an estimate
    beyond = np.maximum(-shares, shares - 1) - rounding
    worst = float((beyond / np.maximum(errors, rounding)).max())
    return worst if worst > NormalDist().inv_cdf(1 - 1e-6 / shares.size) else None


def left_inverse(pram: Pram) -> Floats:
    """Return A with A P^T = I, which turns frequencies after a perturbation into those before."""
    rule = pram.matrix.doubles
    rank = int(np.linalg.matrix_rank(rule, tol=RANK_TOLERANCE))
    if rank < len(rule):
        alone = len(estimable(pram))
        raise OptionError(
            f"The matrix is singular: it has the rank {rank} for {len(rule)} values, so that "
            f"{'no frequency' if not alone else f'the frequencies of only {alone} values'} can be "
            "estimated",
            hint="no release can tell values with equal rows apart; merge them, or ask "
            "hartley.policies.estimable(rule) which ones can be estimated",
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
    """Return the nearest numbers of 0 or more that add up to 1, by least squares."""
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


# --- best estimates -------------------------------------------------------------------------------
# The best estimate of a value from what was released for it, and its exact distortion.


class Estimator(ABC):
    """A distortion of values, for the best estimate of one released value and its exact error."""

    @abstractmethod
    def estimate(self, weights: Integers) -> Value:
        """Return the best estimate where every value has a weight."""

    @abstractmethod
    def error(self, released: Value, weights: Integers) -> Fraction | None:
        """Return the total distortion of a released value; None where it has none."""

    def choose(self, label: Value, weights: Integers) -> tuple[Value, Fraction, Fraction | None]:
        """Return the best estimate, its error and that of the label, which stays if it is as good.

        So rounding a mean never makes a rule worse, and what is best already is not moved.
        """
        best = self.estimate(weights)
        error, label_error = self.error(best, weights), self.error(label, weights)
        assert error is not None  # an estimate is a value
        if label_error is not None and label_error <= error:
            return label, label_error, label_error
        return best, error, label_error


class NumericEstimator(Estimator):
    """Values of one or several numeric columns, as integers over a common denominator.

    The best estimate is the mean, rounded to a double, for squared distortion; for absolute
    distortion it is the least median, column by column.
    """

    def __init__(self, values: Sequence[Value], column: str | None, *, squared: bool) -> None:
        self.squared, self.several = squared, isinstance(values[0], tuple)
        rows = [_exact_numbers(value) for value in values]
        if any(row is None for row in rows):
            named = "The list of values" if column is None else f"Column '{column}'"
            raise ColumnError(
                f"{named} contains something that is not a number, so it has no mean or median",
                hint="use zero_one distortion, for which the best estimate is the likeliest value",
            )
        columns = list(zip(*(row for row in rows if row is not None), strict=True))
        self.scale = math.lcm(*(entry.denominator for column in columns for entry in column))
        self.columns = [
            np.array([int(entry * self.scale) for entry in column], dtype=object)
            for column in columns
        ]

    def estimate(self, weights: Integers) -> Value:
        """Return the best estimate where every value has a weight."""
        parts = tuple(self._centre(column, weights) for column in self.columns)
        return parts if self.several else parts[0]

    def error(self, released: Value, weights: Integers) -> Fraction | None:
        """Return the total distortion of a released value; None where it has none."""
        numbers = _exact_numbers(released)
        if numbers is None or len(numbers) != len(self.columns):
            return None
        errors = (
            self._distance(column, number, weights)
            for column, number in zip(self.columns, numbers, strict=True)
        )
        return sum(errors, Fraction(0))

    def _centre(self, column: Integers, weights: Integers) -> float:
        """Return the best number of one column."""
        if self.squared:
            return float(Fraction(int(column @ weights), int(weights.sum()) * self.scale))
        order = np.argsort(column, kind="stable")
        sums = np.cumsum(weights[order])
        place = int(np.flatnonzero(2 * sums >= sums[-1])[0])
        median = Fraction(int(column[order[place]]), self.scale)
        return int(median) if median.denominator == 1 else float(median)

    def _distance(self, column: Integers, number: Fraction, weights: Integers) -> Fraction:
        """Return the total distortion of a number in one column."""
        above, below = number.numerator * self.scale, number.denominator
        if not self.squared:
            return Fraction(int(abs(column * below - above) @ weights), self.scale * below)
        # sum w (x - a/b)^2 with x = n/s is the sum of w (n b - a s)^2 over (s b)^2.
        total = (
            int((column * column) @ weights) * below**2
            - 2 * int(column @ weights) * below * above
            + int(weights.sum()) * above**2
        )
        return Fraction(total, (self.scale * below) ** 2)


class LikeliestValue(Estimator):
    """Zero-one distortion: the likeliest value, the first of equally likely ones."""

    def __init__(self, values: Sequence[Value]) -> None:
        self.values = tuple(values)
        self.places = {value: place for place, value in enumerate(values)}

    def estimate(self, weights: Integers) -> Value:
        """Return the best estimate where every value has a weight."""
        return self.values[int(np.argmax(weights))]

    def error(self, released: Value, weights: Integers) -> Fraction | None:
        """Return the total distortion of a released value; None where it has none."""
        place = self.places.get(released)
        hits = 0 if place is None else int(weights[place])
        return Fraction(int(weights.sum()) - hits)


class BestReleasedValue(Estimator):
    """Any other distortion: the best of the values that may be released."""

    def __init__(self, released: Sequence[Value], costs: NDArray[np.float64]) -> None:
        exact = [[Fraction(entry) for entry in row] for row in costs.tolist()]
        self.scale = math.lcm(*(entry.denominator for row in exact for entry in row))
        numbers = [[int(entry * self.scale) for entry in row] for row in exact]
        self.costs = np.array(numbers, dtype=object)
        self.released = tuple(released)
        self.places = {value: place for place, value in enumerate(self.released)}

    def estimate(self, weights: Integers) -> Value:
        """Return the best estimate where every value has a weight."""
        return self.released[int(np.argmin(weights @ self.costs))]

    def error(self, released: Value, weights: Integers) -> Fraction | None:
        """Return the total distortion of a released value; None where it has none."""
        place = self.places.get(released)
        if place is None:
            return None
        return Fraction(int(weights @ self.costs[:, place]), self.scale)


def read_estimator(
    distortion: object,
    values: Sequence[Value],
    released: Sequence[Value],
    *,
    column: str | None = None,
) -> tuple[Estimator, str]:
    """Return how a distortion of key values estimates, and its name."""
    if isinstance(distortion, str):
        if distortion == "zero_one":
            return LikeliestValue(values), distortion
        if distortion not in ("squared", "absolute"):
            raise OptionError(
                f"There is no distortion called {distortion}",
                hint="choose from squared, absolute and zero_one",
            )
        return NumericEstimator(values, column, squared=distortion == "squared"), distortion
    costs, _ = read_distortion(distortion, values)
    if costs.shape[1] not in {len(values), len(released)}:
        raise OptionError(
            f"The distortion has {costs.shape[1]} columns for {len(released)} released values",
            hint="give one row per key value and one column per released value",
        )
    own = costs.shape[1] == len(released)
    return BestReleasedValue(released if own else values, costs), "given"


def _exact_numbers(value: Value) -> list[Fraction] | None:
    """Return the parts of a value as exact numbers, or None where one is not a number."""
    parts = value if isinstance(value, tuple) else (value,)
    if any(isinstance(part, bool) or not isinstance(part, (int, float)) for part in parts):
        return None
    return [Fraction(part) for part in parts]


# --- best matrix ----------------------------------------------------------------------------------
# The random rule that helps a guess least, within a mean distortion: a linear programme.


@dataclass(frozen=True, eq=False)
class LeastLeaking:
    """A rule within a mean distortion, what it leaks, and a proved distance from the least."""

    pram: Pram
    distortion: float
    gain: float
    """The sum over y of max over x of g(x) P(y|x); g is 1, or the frequency of x."""
    least_gain: float
    """No rule of this distortion has a smaller one, up to the rounding of doubles."""

    @property
    def gap(self) -> float:
        """How much smaller the gain of another rule could be."""
        return max(self.gain - self.least_gain, 0.0)

    @property
    def leakage(self) -> float:
        """Stochastic maximal leakage of the rule in bits, rounded up."""
        gain = guessing_gain(self.pram.matrix)
        return bits_at_least(gain.numerator, gain.denominator)


def least_leaking(  # noqa: PLR0913 - each is one choice of the user's
    frequencies: ArrayLike,
    distortion: object,
    limit: float,
    *,
    values: Sequence[Value] | None = None,
    column: str | Sequence[str] = (),
    knows: str = "anything",
) -> LeastLeaking:
    r"""Return the rule that helps a guess least among those within a mean distortion.

    .. math:: \min_P \sum_y \max_x g_x P(y|x) \quad \text{where} \quad
        \sum_{x,y} \pi_x P(y|x)\, d(x,y) \le D

    With g = 1 that is the least stochastic maximal leakage, whatever a guess is about and whatever
    is known before; with g = pi the least chance of a guess by somebody who knows the frequencies
    (posterior Bayes vulnerability; Alvim et al. 2020). A linear programme over near pairs, to which
    pairs are added that its dual solution prices too high; the dual solution, scaled down to hold
    for all pairs, proves how near the answer is, up to the rounding of doubles. Some tenths of a
    second at 100 values, growing with the cube and more.

    Args:
        frequencies: of the values, or counts.
        distortion: as of ``PrivacyDistortion``: a matrix, "squared", "absolute", "zero_one", ...
        limit: the largest mean distortion.
        values: the values; 0, 1, 2, ... if left out.
        column: the column or columns that the rule is for.
        knows: "anything" for g = 1, "frequencies" for g = pi.

    Example:
        >>> best = least_leaking([1, 1, 1, 1], "zero_one", 0.3)
        >>> round(best.gain, 9), round(best.gap, 9)  # 4 times the chance 0.7
        (2.8, 0.0)
    """
    size = np.size(frequencies)
    known = tuple(range(size)) if values is None else tuple(values)
    prior = read_frequencies(frequencies, len(known))
    costs, _ = read_distortion(distortion, known)
    low = float(prior @ costs.min(axis=1))
    allowed = check_wish(limit, "distortion", low, float(prior @ costs.max(axis=1)), "")
    guess = np.ones(len(known)) if knows == "anything" else np.maximum(prior, 1e-300)
    rule, gain, bound = _solve(guess, prior[:, None] * costs, allowed)
    pram = Pram(
        without_dust(rule),
        known,
        column=column,
        released=None if rule.shape[1] == len(known) else tuple(range(rule.shape[1])),
    )
    reached = float((prior[:, None] * costs * pram.matrix.doubles).sum())
    exact = sum(map(Fraction, (guess[:, None] * pram.matrix.doubles).max(axis=0).tolist()))
    return LeastLeaking(pram, reached, max(float(exact), gain), bound)


def _solve(guess: Floats, costs: Floats, limit: float) -> tuple[Floats, float, float]:
    """Return the rule, its gain, and a gain that no rule is below."""
    keys, released = costs.shape
    near = max(20, math.ceil(0.4 * released))  # as which every value may be released at first
    live = np.zeros(costs.shape, bool)
    nearest = np.argsort(costs, axis=1, kind="stable")[:, :near]
    live[np.arange(keys)[:, None], nearest] = True
    live[:, costs.sum(axis=0).argmin()] = True
    while True:
        rule, gain, price, weight = solve_live(guess, costs, limit, live)
        over = np.maximum((price[:, None] - weight * costs) / guess[:, None], 0.0)
        totals = over.sum(axis=0)
        bound = float(price.sum() - weight * limit) / max(float(totals.max()), 1.0)
        more = (over > 0) & (totals > 1) & ~live
        if gain - bound <= 1e-9 * gain or not more.any():
            return rule, gain, bound
        live |= more


def solve_live(
    guess: Floats, costs: Floats, limit: float, live: NDArray[np.bool_]
) -> tuple[Floats, float, Floats, float]:
    """Solve the programme over some pairs; return also the prices of the rows and of distortion."""
    import scipy.sparse as sp
    from scipy.optimize import linprog

    x, y = np.nonzero(live)
    pairs = np.arange(len(x))
    used, place = np.unique(y, return_inverse=True)
    last = np.full(len(x), len(x))
    tops = sp.csr_matrix(
        (
            np.concatenate([guess[x], -np.ones(len(x)), costs[x, y]]),
            (np.concatenate([pairs, pairs, last]), np.concatenate([pairs, len(x) + place, pairs])),
        ),
        shape=(len(x) + 1, len(x) + len(used)),
    )
    sums = sp.csr_matrix((np.ones(len(x)), (x, pairs)), shape=(len(guess), tops.shape[1]))
    solved: Any = linprog(
        np.concatenate([np.zeros(len(x)), np.ones(len(used))]),
        A_ub=tops,
        b_ub=np.concatenate([np.zeros(len(x)), [limit]]),
        A_eq=sums,
        b_eq=np.ones(len(guess)),
        method="highs-ds",
    )
    if solved.status != 0:
        raise EngineError(
            f"The linear program was not solved (status {solved.status})",
            hint="allow a little more distortion, or fewer values",
        )
    rule = np.zeros(costs.shape)
    rule[x, y] = solved.x[: len(x)]
    return rule, float(solved.fun), solved.eqlin.marginals, -float(solved.ineqlin.marginals[-1])
