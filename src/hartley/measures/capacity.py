"""Zero-error capacity: what could be sent through the release without ever an error."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.exact import log_ratio, round_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.ranges.relations.counting import Pairs
    from hartley.ranges.relations.relation import Relation

LARGEST_PROGRAMME = 100_000
"""With more distinct pairs than this the linear programme gives way to a simple cover."""

GRIDS = (720_720, 2**40)
"""Dual variables become fractions of these: the first holds all denominators up to 16."""


def zero_error_capacity_bound(relation: Relation, *, base: float = 2) -> float:
    r"""Return an upper bound on what the release carries without error, per use.

    .. math:: C_0 \le \log_2 \alpha^*, \qquad
        \alpha^* = \max \sum_x w_x \;\text{ s.t. }\; \sum_{x \in [X|y]} w_x \le 1 \;\; \forall y

    Shannon's fractional packing bound (Farokhi 2019, Noiseless Privacy, Proposition 2, which it
    sharpens: it is at most the symmetric leakage, maximised over sub-alphabets). A bound, never
    below the truth: the dual solution of the linear programme is made feasible in exact integers
    and its logarithm rounded up, except that of a power of two, which is exact. With more than
    100,000 distinct pairs a cheaper cover is used, which is looser. Grows like one sparse linear
    programme.

    Example:
        >>> from hartley import Relation
        >>> pentagon = Relation.from_pairs([(x, y % 5) for x in range(5) for y in (x, x + 1)])
        >>> round(zero_error_capacity_bound(pentagon), 6)
        1.321928
    """
    summary = relation.summary
    if summary.pairs in (summary.secrets, summary.released):
        # One side is a function of the other: only the classes can be told apart.
        return _upper(Fraction(summary.classes), base)
    best = Fraction(min(summary.secrets, summary.released))
    if summary.pairs <= LARGEST_PROGRAMME:
        best = min(best, _programme(relation.pairs()))
    return _upper(best, base)


def _upper(packing: Fraction, base: float) -> float:
    """Return the logarithm of a packing number, exact for one and for two, else rounded up."""
    logarithm = log_ratio(packing.numerator, packing.denominator, base=base)
    exact = packing.denominator == 1 and base == 2 and packing.numerator.bit_count() == 1
    return logarithm if exact or packing == 1 else round_up(logarithm)


def _programme(pairs: Pairs) -> Fraction:
    """Return a certified upper bound on the packing number, by the dual of the programme."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    incidence = csr_array(
        (np.ones(pairs.secret.size), (pairs.secret, pairs.released)), shape=pairs.sizes
    )
    incidence = _undominated(incidence)
    solution = linprog(
        np.ones(incidence.shape[1]),
        A_ub=-incidence,
        b_ub=-np.ones(incidence.shape[0]),
        bounds=(0, 1),
        method="highs-ipm",
    )
    cover = np.ones(incidence.shape[1]) if solution.x is None else np.clip(solution.x, 0.0, 1.0)
    return _exact_cover(incidence, cover)


def _undominated(incidence: Any) -> Any:  # noqa: ANN401 - scipy's sparse arrays
    """Keep one of several equal secrets and one of several equal released values."""
    for _ in range(2):
        incidence = incidence[_distinct_rows(incidence)].T.tocsr()
    return incidence


def _distinct_rows(incidence: Any) -> NDArray[np.int64]:  # noqa: ANN401 - scipy's sparse arrays
    """Return the first of every set of equal rows."""
    incidence.sort_indices()
    bounds = incidence.indptr
    seen: dict[bytes, int] = {}
    for row in range(incidence.shape[0]):
        seen.setdefault(incidence.indices[bounds[row] : bounds[row + 1]].tobytes(), row)
    return np.fromiter(seen.values(), np.int64, len(seen))


def _exact_cover(incidence: Any, cover: NDArray[np.float64]) -> Fraction:  # noqa: ANN401
    """Return the sum of a fractional cover, scaled until it covers, in exact integers."""
    sums = []
    for grid in GRIDS:
        weights = np.round(cover * grid).astype(np.int64)
        least = int((incidence.astype(np.int64) @ weights).min())
        if least > 0:  # dividing by the least covered makes every secret covered once
            sums.append(Fraction(int(weights.sum()), least))
    return min(sums, default=Fraction(min(incidence.shape)))
