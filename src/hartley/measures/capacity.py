"""Zero-error capacity: what could be sent through the release without ever an error."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import check_base, log_ratio, round_up
from hartley.measures.theta import (
    LARGEST_THETA,
    bound_theta,
    prove_theta,
    prove_theta_of_regular,
)
from hartley.ranges.relations.confusability import LARGEST_GRAPH, ConfusabilityGraph
from hartley.ranges.relations.counting import Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.measures.theta import ThetaBound
    from hartley.ranges.relations.relation import Relation

LARGEST_PROGRAMME = 100_000
"""With more distinct pairs than this the linear programme gives way to a simple cover."""

NEAR = 1e-5
"""A code this close to theta is taken for a largest one, until the exact proof fails."""

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
    return _upper(_packing(relation), base)


@dataclass(frozen=True)
class ZeroErrorCode:
    """Words of equal length, no two of which the release ever confuses."""

    uses: int
    """How many secrets a word has: one for each use of the release."""
    words: tuple[tuple[Any, ...], ...]
    is_largest: bool
    """Whether it is proved that no code of this length has more words."""

    def rate(self, *, base: float = 2) -> float:
        """Return what a use carries, the logarithm of the number of words over the uses."""
        return log_ratio(len(self.words), base=base) / self.uses


@dataclass(frozen=True)
class ZeroErrorCapacity:
    """What a release carries without error per use, between two numbers that are both proved."""

    lower: float
    """What the best of the codes carries."""
    upper: float
    """What no code of any length exceeds."""
    codes: tuple[ZeroErrorCode, ...]
    """The largest code that was found for one use, two uses and so on; proof of the lower side."""
    packing: Fraction
    """A bound on the number of secrets per use, Shannon's alpha*; not below it."""
    theta: ThetaBound | None = None
    """The proof by Lovász's theta function: a matrix T over ``inputs``; None in large graphs."""
    inputs: tuple[Any, ...] = ()
    """Secrets that carry as much as all of them; the theta function is that of their graph."""
    base: float = 2
    """Of the logarithms."""
    exact: bool = False
    """Whether both sides are proved to be equal; they are the same number then."""

    @property
    def code(self) -> ZeroErrorCode:
        """The code that carries most per use; of equal ones the shortest."""
        best = self.codes[0]
        for code in self.codes:
            if len(code.words) ** best.uses > len(best.words) ** code.uses:
                best = code
        return best

    @property
    def gap(self) -> float:
        """How far both sides lie apart."""
        return self.upper - self.lower


def zero_error_capacity(
    relation: Relation, powers: int = 2, *, base: float = 2
) -> ZeroErrorCapacity:
    r"""Return what the release carries without error per use, from below and from above.

    .. math:: \tfrac1k \log_2 \alpha(G^k) \le C_0 \le \log_2 \theta(G) \le \log_2 \alpha^*

    In the graph G two secrets are joined if some released value leaves both possible. Its largest
    independent set is the largest code for one use, and that of its k-th strong power the largest
    for k uses (Shannon 1956). The theta function bounds them all (Lovász 1979). Sharpens
    Proposition 2 of Farokhi 2019, Noiseless Privacy. A bound on either side, each with its proof:
    the words of a code, and a matrix T that is checked in exact integers, whatever the solver says.
    Where both are proved to be equal the result is exact and says so; it always is where one side
    is a function of the other. Codes are proved to be the largest where the search of a graph of at
    most 100 vertices ends. Theta is taken of at most 60 secrets; beyond that the packing number of
    ``zero_error_capacity_bound`` is the upper side. Grows like the sixth power of the number of
    secrets that matter: milliseconds for 10, half a minute for 60.

    Args:
        relation: the secret and what is released.
        powers: the longest words that are tried; fewer where their graph has over 2,000 vertices.
        base: of the logarithms.

    Example:
        >>> from hartley import Relation
        >>> pentagon = Relation.from_pairs([(x, y % 5) for x in range(5) for y in (x, x + 1)])
        >>> capacity = zero_error_capacity(pentagon)
        >>> round(capacity.lower, 6), round(capacity.upper, 6), capacity.exact
        (1.160964, 1.160964, True)
        >>> len(capacity.code.words), capacity.code.uses  # five words of two letters
        (5, 2)
    """
    check_base(base)
    if isinstance(powers, bool) or not isinstance(powers, int) or powers < 1:
        raise OptionError(
            f"Words of {powers!r} uses make no code", hint="let powers be a whole number from 1 on"
        )
    packing = _packing(relation)
    distinct = _distinct_secrets(relation)
    if distinct is None:
        return _without_graph(relation, packing, base)
    whole = ConfusabilityGraph.of_pairs(_only(relation.pairs(), distinct))
    needed = whole.without_dominated()
    graph = whole.induced(needed)
    inputs = tuple(relation.secret_values.take(distinct[list(needed)]))
    theta = bound_theta(graph) if len(graph) <= LARGEST_THETA else None
    sides = [packing] if theta is None else [packing, theta.value]
    codes: list[ZeroErrorCode] = []
    power = graph
    for uses in range(1, powers + 1):
        if uses > 1:
            if len(power) * len(graph) > LARGEST_GRAPH:
                break
            power = power.times(graph)
        enough = min(math.floor(side**uses) for side in sides)
        largest = power.largest_independent_set(enough=enough)
        words = tuple(_word(vertex, uses, inputs) for vertex in largest.vertices)
        codes.append(ZeroErrorCode(uses, words, largest.is_largest))
        proof = None if theta is None else _meeting(graph, codes[-1], theta)
        if proof is not None or packing**uses == len(words):
            rate = codes[-1].rate(base=base)
            codes[-1] = replace(codes[-1], is_largest=True)
            known = (tuple(codes), packing, proof or theta, inputs, base)
            return ZeroErrorCapacity(rate, rate, *known, exact=True)
    upper = min(_upper(side, base) for side in sides)
    between = ZeroErrorCapacity(0.0, upper, tuple(codes), packing, theta, inputs, base)
    return replace(between, lower=_lower(between.code, base))


def _meeting(
    graph: ConfusabilityGraph, code: ZeroErrorCode, theta: ThetaBound
) -> ThetaBound | None:
    """Return a proof that no code carries more than this one; None where none was found."""
    size = len(code.words)
    if theta.value**code.uses == size:
        return theta
    if float(theta.value) ** code.uses > size * (1 + NEAR):
        return None
    if code.uses == 1:
        return prove_theta(graph, size, graph.independent_sets(size))
    return prove_theta_of_regular(graph, size) if code.uses == 2 else None


def _without_graph(relation: Relation, packing: Fraction, base: float) -> ZeroErrorCapacity:
    """Take secrets that share no released value, one after the other, and the packing bound."""
    summary = relation.summary
    # One secret of every overlap class always does, and is all there is where one side determines
    # the other; pairs in larger numbers are not listed for more.
    chosen = np.unique(summary.secret_labels, return_index=True)[1]
    if chosen.size < packing and summary.pairs <= LARGEST_PROGRAMME:
        chosen = _disjoint_secrets(_incidence(relation.pairs()))
    words = tuple((secret,) for secret in relation.secret_values.take(chosen))
    exact = packing == len(words)
    code = ZeroErrorCode(1, words, is_largest=exact)
    lower = code.rate(base=base) if exact else _lower(code, base)
    upper = lower if exact else _upper(packing, base)
    return ZeroErrorCapacity(lower, upper, (code,), packing, base=base, exact=exact)


def _disjoint_secrets(incidence: Any) -> NDArray[np.int64]:  # noqa: ANN401 - scipy's sparse arrays
    """Return secrets without a common released value; those that release few values first."""
    bounds, released = incidence.indptr, incidence.indices
    taken: set[int] = set()
    chosen = []
    for secret in np.argsort(np.diff(bounds), kind="stable").tolist():
        values = released[bounds[secret] : bounds[secret + 1]].tolist()
        if taken.isdisjoint(values):
            taken.update(values)
            chosen.append(secret)
    return np.array(sorted(chosen))


def _distinct_secrets(relation: Relation) -> NDArray[np.int64] | None:
    """Return one of several secrets that release the same; None where no graph is needed."""
    summary = relation.summary
    if summary.pairs in (summary.secrets, summary.released) or summary.pairs > LARGEST_PROGRAMME:
        return None
    distinct = _distinct_rows(_incidence(relation.pairs()))
    return distinct if distinct.size <= LARGEST_GRAPH else None


def _only(pairs: Pairs, distinct: NDArray[np.int64]) -> Pairs:
    """Return the pairs of some secrets, numbered in their order."""
    place = np.full(pairs.sizes[0], -1)
    place[distinct] = np.arange(distinct.size)
    chosen = place[pairs.secret] >= 0
    return Pairs.gather(
        place[pairs.secret[chosen]],
        pairs.released[chosen],
        pairs.counts[chosen],
        (distinct.size, pairs.sizes[1]),
    )


def _word(vertex: int, uses: int, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the word of a vertex of a power of the graph: its digits are the inputs."""
    digits = []
    for _ in range(uses):
        vertex, digit = divmod(vertex, len(inputs))
        digits.append(inputs[digit])
    return tuple(reversed(digits))


def _lower(code: ZeroErrorCode, base: float) -> float:
    """Return what a code carries per use, rounded down unless it is a whole number of bits."""
    rate = code.rate(base=base)
    size = len(code.words)
    exact = size == 1 or (base == 2 and code.uses == 1 and size.bit_count() == 1)
    return rate if exact else 2 * rate - round_up(rate)


def _packing(relation: Relation) -> Fraction:
    """Return a number that the packing number alpha* does not exceed."""
    summary = relation.summary
    if summary.pairs in (summary.secrets, summary.released):
        # One side is a function of the other: only the classes can be told apart.
        return Fraction(summary.classes)
    best = Fraction(min(summary.secrets, summary.released))
    if summary.pairs <= LARGEST_PROGRAMME:
        best = min(best, _programme(relation.pairs()))
    return best


def _upper(packing: Fraction, base: float) -> float:
    """Return the logarithm of a packing number, exact for one and for two, else rounded up."""
    logarithm = log_ratio(packing.numerator, packing.denominator, base=base)
    exact = packing.denominator == 1 and base == 2 and packing.numerator.bit_count() == 1
    return logarithm if exact or packing == 1 else round_up(logarithm)


def _programme(pairs: Pairs) -> Fraction:
    """Return a certified upper bound on the packing number, by the dual of the programme."""
    from scipy.optimize import linprog

    incidence = _undominated(_incidence(pairs))
    solution = linprog(
        np.ones(incidence.shape[1]),
        A_ub=-incidence,
        b_ub=-np.ones(incidence.shape[0]),
        bounds=(0, 1),
        method="highs-ipm",
    )
    cover = np.ones(incidence.shape[1]) if solution.x is None else np.clip(solution.x, 0.0, 1.0)
    return _exact_cover(incidence, cover)


def _incidence(pairs: Pairs) -> Any:  # noqa: ANN401 - scipy's sparse arrays
    """Return which secret occurs with which released value, as a matrix of zeros and ones."""
    from scipy.sparse import csr_array

    ones = np.ones(pairs.secret.size)
    return csr_array((ones, (pairs.secret, pairs.released)), shape=pairs.sizes)


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
