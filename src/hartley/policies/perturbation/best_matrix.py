"""The random rule that helps a guess least, within a mean distortion: a linear programme."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import EngineError
from hartley.exact import bits_at_least
from hartley.policies.distortion.input import check_wish, read_distortion
from hartley.policies.perturbation.matrix import guessing_gain, without_dust
from hartley.policies.perturbation.pram import Pram, read_frequencies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.policies.perturbation.values import Value

    Floats = NDArray[np.float64]

NEAREST = 0.4
"""The share of the released values that every value may be released as at first."""
LEAST_NEAREST = 20
TOLERANCE = 1e-9


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
    near = max(LEAST_NEAREST, math.ceil(NEAREST * released))
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
        if gain - bound <= TOLERANCE * gain or not more.any():
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
            (
                np.concatenate([pairs, pairs, last]),
                np.concatenate([pairs, len(x) + place, pairs]),
            ),
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
