"""Zero-error capacity: what could be sent through the release without ever an error."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import check_base, log_ratio, round_up
from hartley.ranges.classes import LARGEST_GRAPH, ConfusabilityGraph, members
from hartley.ranges.counting import Pairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hartley.ranges.relation import Relation


# --- the theta function of a graph from above: the solver proposes, exact numbers prove -----------

LARGEST_THETA = 60
"""Vertices of the largest graph for which the programme is solved: seconds, growing like n^6."""
GRID = 1 << 40
"""Entries of T become multiples of one over this."""
MARGINS = (Fraction(1, 10**7), Fraction(1, 10**5), Fraction(1, 10**3))
"""Added to the solver's value until the exact check succeeds."""
USABLE = {"Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations"}
"""How the solver may end so that its point is worth a check."""


Entries = tuple[tuple[int, int, Fraction], ...]
"""Of a symmetric matrix: (i, j, entry) with i < j for each edge of a graph, others being zero."""


@dataclass(frozen=True)
class ThetaBound:
    r"""A number that the theta function of a graph does not exceed, and the proof.

    .. math:: \theta(G) = \min_T \lambda_{\max}(J + T) \le \lambda \iff
        \lambda I - J - T \succeq 0 \text{ for some symmetric } T \text{ supported on the edges}

    Lovász 1979. J is the matrix of ones. Every T proves the bound that it gives.
    """

    value: Fraction
    """The bound, lambda, or its square where ``root`` is 2."""
    matrix: Entries
    """T, or its rational part where ``root`` is 2."""
    root: int = 1
    surd: Entries = ()
    """Where ``root`` is 2: what the square root of ``value`` is multiplied by in T."""

    def holds(self, graph: ConfusabilityGraph) -> bool:
        """Return whether the proof is one for this graph, in exact integers."""
        if any(i == j or not graph.closed[i] >> j & 1 for i, j, _ in self.matrix + self.surd):
            return False
        size = len(graph)
        entries = [entry for *_, entry in self.matrix + self.surd]
        scale = math.lcm(self.value.denominator, *(entry.denominator for entry in entries))
        plain = np.full((size, size), -scale, dtype=object)
        roots = np.zeros((size, size), dtype=object)
        for at in range(size):
            if self.root == 1:
                plain[at, at] += int(self.value * scale)
            else:
                roots[at, at] = scale
        for numbers, part in ((plain, self.matrix), (roots, self.surd)):
            for i, j, entry in part:
                numbers[i, j] -= int(entry * scale)
                numbers[j, i] -= int(entry * scale)
        return has_no_negative_eigenvalue(plain, roots, self.value if self.root == 2 else 0)


def has_no_negative_eigenvalue(
    plain: NDArray[Any], roots: NDArray[Any], radicand: Fraction | int
) -> bool:
    """Return whether plain + roots * sqrt(radicand) is positive semidefinite, exactly.

    Both are symmetric matrices of Python's integers, and the radicand is a whole number.
    Elimination without fractions (Bareiss 1968): the pivots are principal minors. Where a pivot is
    zero, its row has to be zero too, since a 2 x 2 minor would be negative otherwise.

    Example:
        >>> none = np.zeros((2, 2), dtype=object)
        >>> has_no_negative_eigenvalue(np.array([[1, 1], [1, 1]], dtype=object), none, 0)
        True
        >>> has_no_negative_eigenvalue(np.array([[0, 1], [1, 5]], dtype=object), none, 0)
        False
    """
    if Fraction(radicand).denominator != 1:
        return False
    inside = int(radicand)
    if math.isqrt(inside) ** 2 == inside:
        # Of a square the root is whole, and conjugates would divide by zero.
        plain, roots = plain + math.isqrt(inside) * roots, 0 * roots
    before, before_root = 1, 0
    while plain.size:
        pivot, pivot_root = plain[0, 0], roots[0, 0]
        first, first_root = plain[0, 1:], roots[0, 1:]
        plain, roots = plain[1:, 1:], roots[1:, 1:]
        sign = _sign(pivot, pivot_root, inside)
        if sign < 0:
            return False
        if sign == 0:
            if any(_sign(*pair, inside) for pair in zip(first, first_root, strict=True)):
                return False
            continue
        # Symmetric, so that the column below the pivot is the row beside it.
        top = (
            pivot * plain + inside * pivot_root * roots
            - np.outer(first, first) - inside * np.outer(first_root, first_root)
        )  # fmt: skip
        crossed = np.outer(first, first_root)
        top_root = pivot * roots + pivot_root * plain - crossed - crossed.T
        # The last pivot divides everything: multiply by its conjugate, divide by its norm.
        norm = before * before - inside * before_root * before_root
        plain = (top * before - inside * top_root * before_root) // norm
        roots = (top_root * before - top * before_root) // norm
        before, before_root = pivot, pivot_root
    return True


def _sign(plain: int, root: int, radicand: int) -> int:
    """Return the sign of plain + root * sqrt(radicand); the radicand is no square, or root is 0."""
    larger = plain if plain * plain >= root * root * radicand else root
    return (larger > 0) - (larger < 0)


def bound_theta(graph: ConfusabilityGraph) -> ThetaBound | None:
    """Return a bound on theta, proved and mostly within 2e-7 of it; None where none was found."""
    size = len(graph)
    if not graph.edges:
        return ThetaBound(Fraction(size), ())
    solution = _solve(
        goal=np.concatenate(([1.0], np.zeros(len(graph.edges)))),
        units=[np.eye(size), *(-_unit(size, edge) for edge in graph.edges)],
        constant=-np.ones((size, size)),
    )
    if solution is None:
        return None
    matrix = tuple(
        (*edge, _rounded(entry)) for edge, entry in zip(graph.edges, solution[1:], strict=True)
    )
    # The value of the rounded T, not the solver's: the margin then covers rounding alone.
    rounded = np.ones((size, size))
    for i, j, entry in matrix:
        rounded[i, j] += float(entry)
        rounded[j, i] += float(entry)
    value = float(np.linalg.eigvalsh(rounded)[-1])
    for margin in MARGINS:
        bound = ThetaBound(_rounded(value) + margin, matrix)
        if bound.holds(graph):
            return bound
    return None


def prove_theta(
    graph: ConfusabilityGraph, value: int, independent_sets: Iterable[int]
) -> ThetaBound | None:
    """Return a proof that theta is at most the size of the largest independent sets.

    Theta then equals that size, and Z = value I - J - T is singular, so that no rounded T of a
    solver will do. But every independent set S of that size has 1_S' Z 1_S = value |S| - |S|^2 = 0,
    so Z 1_S = 0: linear equations in the entries of T. They are solved in rationals for some of
    the entries, the others are rounded, and Z keeps its kernel exactly. None where the exact
    check fails; nothing is known then.
    """
    import flint  # on use: few relations need it

    basis = _independent_rows(independent_sets)
    place = {edge: at for at, edge in enumerate(graph.edges)}
    equations = []
    for chosen in basis:
        for vertex in members((1 << len(graph)) - 1 & ~chosen):
            around = list(members(graph.closed[vertex] & chosen))
            row = [0] * (len(place) + 1)
            for other in around:
                row[place[min(vertex, other), max(vertex, other)]] = 1
            # Z_ij is -1 where i and j are not joined, and -1 - T_ij where they are.
            row[-1] = -value
            equations.append(row)
    if not equations:
        return None
    reduced, denominator, rank = flint.fmpz_mat(equations).rref()
    rows = [[int(entry) for entry in row] for row in reduced.tolist()[:rank]]
    pivots = [next(at for at, entry in enumerate(row) if entry) for row in rows]
    if len(place) in pivots:
        return None  # the equations contradict each other
    scale = int(denominator)
    free = [at for at in range(len(place)) if at not in set(pivots)]
    entries = [Fraction(0)] * len(place)
    for at, entry in zip(
        free, _inner_point(graph, value, basis, (rows, pivots, free, scale)), strict=True
    ):
        entries[at] = entry
    for row, pivot in zip(rows, pivots, strict=True):
        known = sum((row[at] * entries[at] for at in free if row[at]), Fraction(0))
        entries[pivot] = (row[-1] - known) / scale
    matrix = tuple((*edge, entry) for edge, entry in zip(graph.edges, entries, strict=True))
    bound = ThetaBound(Fraction(value), matrix)
    return bound if bound.holds(graph) else None


def prove_theta_of_regular(graph: ConfusabilityGraph, square: int) -> ThetaBound | None:
    """Return a proof that the square of theta is at most a whole number, for a regular graph.

    Lovász 1979, Theorem 9: all entries of T are equal, and theta belongs to the vector of ones, so
    that n + t d = sqrt(square) for n vertices of degree d. For graphs whose edges are all alike,
    such as the pentagon, this is the optimum. None where the exact check fails.
    """
    degrees = {around.bit_count() - 1 for around in graph.closed}
    if len(degrees) > 1 or not graph.edges:
        return None
    degree = degrees.pop()
    plain, root = Fraction(-len(graph), degree), Fraction(1, degree)
    bound = ThetaBound(
        Fraction(square),
        tuple((*edge, plain) for edge in graph.edges),
        2,
        tuple((*edge, root) for edge in graph.edges),
    )
    return bound if bound.holds(graph) else None


def _inner_point(
    graph: ConfusabilityGraph, value: int, basis: list[int], system: tuple[Any, ...]
) -> list[Fraction]:
    """Return the free entries for which Z is farthest from having another zero eigenvalue."""
    rows, pivots, free, scale = system
    size = len(graph)
    kernel = np.array([[chosen >> at & 1 for at in range(size)] for chosen in basis], float)
    outside = np.linalg.svd(kernel)[2][len(basis) :]
    if not free or not outside.size:
        return [Fraction(0)] * len(free)
    constant = value * np.eye(size) - np.ones((size, size))
    for row, pivot in zip(rows, pivots, strict=True):
        constant -= row[-1] / scale * _unit(size, graph.edges[pivot])
    units = [np.zeros((size, size))]
    for at in free:
        unit = -_unit(size, graph.edges[at])
        for row, pivot in zip(rows, pivots, strict=True):
            if row[at]:
                unit = unit + row[at] / scale * _unit(size, graph.edges[pivot])
        units.append(unit)
    units = [outside @ unit @ outside.T for unit in units]
    units[0] = -np.eye(len(outside))
    goal = np.zeros(len(units))
    goal[0] = -1
    solution = _solve(goal=goal, units=units, constant=outside @ constant @ outside.T)
    return [Fraction(0)] * len(free) if solution is None else [_rounded(t) for t in solution[1:]]


def _solve(
    *, goal: NDArray[np.float64], units: list[NDArray[np.float64]], constant: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Minimise goal . x such that constant + sum x_k unit_k has no negative eigenvalue."""
    import clarabel
    from scipy.sparse import csc_array

    size = constant.shape[0]
    # The solver takes triangles column by column, entries off the diagonal times the root of 2.
    columns, rows = np.tril_indices(size)
    weights = np.where(rows == columns, 1.0, math.sqrt(2))
    matrix = csc_array(-np.stack([weights * unit[rows, columns] for unit in units], axis=1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-10)
    solution = clarabel.DefaultSolver(
        csc_array((goal.size, goal.size)),
        goal,
        matrix,
        weights * constant[rows, columns],
        [clarabel.PSDTriangleConeT(size)],
        settings,
    ).solve()
    point = np.asarray(solution.x)
    return point if str(solution.status) in USABLE and np.isfinite(point).all() else None


def _independent_rows(sets: Iterable[int]) -> list[int]:
    """Return sets whose indicator vectors are linearly independent and span those of all."""
    prime = 2**31 - 1  # independent modulo a prime, so independent; a lost one costs the proof only
    reduced: dict[int, list[int]] = {}
    basis = []
    for chosen in sets:
        row = [chosen >> at & 1 for at in range(chosen.bit_length())]
        for pivot in sorted(reduced):
            if pivot < len(row) and row[pivot]:
                known = reduced[pivot]
                row += [0] * (len(known) - len(row))
                factor = row[pivot]
                row = [
                    (entry - factor * (known[at] if at < len(known) else 0)) % prime
                    for at, entry in enumerate(row)
                ]
        lead = next((at for at, entry in enumerate(row) if entry), None)
        if lead is not None:
            inverse = pow(row[lead], -1, prime)
            reduced[lead] = [entry * inverse % prime for entry in row]
            basis.append(chosen)
    return basis


def _unit(size: int, edge: tuple[int, int]) -> NDArray[np.float64]:
    unit = np.zeros((size, size))
    unit[edge] = unit[edge[::-1]] = 1
    return unit


def _rounded(entry: float) -> Fraction:
    return Fraction(round(entry * GRID), GRID)


# --- capacity -------------------------------------------------------------------------------------


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
