"""The theta function of a graph from above: the solver proposes, exact numbers prove."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.ranges.relations.confusability import members

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from hartley.ranges.relations.confusability import ConfusabilityGraph

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
