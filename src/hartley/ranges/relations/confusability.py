"""Which secrets a release can confuse: a graph, its powers, and words that are never confused."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hartley.ranges.relations.counting import Pairs

LARGEST_GRAPH = 2_000
"""No graph of more vertices is built."""
LARGEST_SEARCH = 100
"""In larger graphs independent sets are improved by exchanges, not searched for completely."""
EXCHANGES, REST = 2_000, 7
"""How often one vertex is put in for another before a search, and how long that one stays out."""
MOST_STEPS = 200_000
"""Branches of one search. A count, not a time, so that a result is the same on every machine."""


@dataclass(frozen=True)
class ConfusabilityGraph:
    """Vertices are inputs of a release; two are joined if some output leaves both possible.

    Example:
        >>> path = ConfusabilityGraph.of_edges(3, [(0, 1), (1, 2)])
        >>> path.largest_independent_set()
        IndependentSet(vertices=(0, 2), is_largest=True)
        >>> path.without_dominated()
        (0, 2)
    """

    closed: tuple[int, ...]
    """For every vertex, itself and its neighbours, as bits."""

    @classmethod
    def of_pairs(cls, pairs: Pairs) -> ConfusabilityGraph:
        """Join the secrets that share a released value."""
        if pairs.sizes[0] > LARGEST_GRAPH:
            raise OptionError(
                f"A graph of {pairs.sizes[0]:,} secrets is too large to be searched",
                hint=f"take at most {LARGEST_GRAPH:,} secrets",
            )
        closed = [0] * pairs.sizes[0]
        for released in range(pairs.sizes[1]):
            secrets = pairs.secrets_of(released).tolist()
            together = sum(1 << secret for secret in secrets)
            for secret in secrets:
                closed[secret] |= together
        return cls(tuple(closed))

    @classmethod
    def of_edges(cls, size: int, edges: Iterable[tuple[int, int]]) -> ConfusabilityGraph:
        """Return the graph of listed edges."""
        closed = [1 << vertex for vertex in range(size)]
        for a, b in edges:
            closed[a] |= 1 << b
            closed[b] |= 1 << a
        return cls(tuple(closed))

    def __len__(self) -> int:
        return len(self.closed)

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Every pair of vertices that can be confused, the smaller one first."""
        return tuple(
            (vertex, other)
            for vertex, together in enumerate(self.closed)
            for other in members(together >> vertex + 1 << vertex + 1)
        )

    def induced(self, vertices: tuple[int, ...]) -> ConfusabilityGraph:
        """Return the graph of some vertices, numbered in the order given."""
        place = {vertex: at for at, vertex in enumerate(vertices)}
        chosen = sum(1 << vertex for vertex in vertices)
        return ConfusabilityGraph(
            tuple(
                sum(1 << place[other] for other in members(self.closed[vertex] & chosen))
                for vertex in vertices
            )
        )

    def without_dominated(self) -> tuple[int, ...]:
        """Return vertices that suffice: what they carry without error, all of them carry.

        A vertex that is confused with everything another one is confused with, that one included,
        can be replaced by it in every word, and no two words become confused that were not. So
        independent sets of every power, and the theta function, stay as large.
        """
        alive = (1 << len(self)) - 1
        changed = True
        while changed:
            changed = False
            for vertex in range(len(self)):
                if not alive >> vertex & 1:
                    continue
                around = self.closed[vertex] & alive
                for other in members(around & ~(1 << vertex)):
                    if not self.closed[other] & alive & ~around:
                        alive &= ~(1 << vertex)
                        changed = True
                        break
        return tuple(members(alive))

    def times(self, other: ConfusabilityGraph) -> ConfusabilityGraph:
        """Return the graph of two uses: pairs are confused if both places are.

        The pair (i, j) is the vertex i * len(other) + j.
        """
        width = len(other)
        return ConfusabilityGraph(
            tuple(
                sum(second << at * width for at in members(first))
                for first in self.closed
                for second in other.closed
            )
        )

    def largest_independent_set(self, *, enough: int | None = None) -> IndependentSet:
        """Return vertices no two of which can be confused, as many as are found.

        Exchanges of one vertex for another, then branch and bound with greedy clique covers: exact
        where that ends within ``MOST_STEPS`` branches, which it mostly does up to 100 vertices.
        Larger graphs are left with what the exchanges give.

        Args:
            enough: a bound that is known from elsewhere; a set of this size is the largest.
        """
        search = _IndependentSearch(self, self._exchanged(), enough)
        complete = len(self) <= LARGEST_SEARCH and search.run()
        return IndependentSet(tuple(sorted(search.best)), complete or len(search.best) == enough)

    def independent_sets(self, size: int) -> Iterator[int]:
        """Return independent sets of a size as bits: all, if ``MOST_STEPS`` branches suffice."""
        steps = MOST_STEPS
        stack = [(0, (1 << len(self)) - 1, size)]
        while stack and steps:
            steps -= 1
            chosen, candidates, missing = stack.pop()
            if not missing:
                yield chosen
                continue
            if len(_clique_cover(self, candidates)) < missing:
                continue
            lowest = candidates & -candidates
            vertex = lowest.bit_length() - 1
            stack.append((chosen, candidates ^ lowest, missing))
            stack.append((chosen | lowest, candidates & ~self.closed[vertex], missing - 1))

    def _exchanged(self) -> list[int]:
        """Add a vertex that is free, else exchange one that clashes with a single chosen one.

        A vertex that was just put out stays out for a while, so that the search moves on. The
        draws are seeded: the same graph gives the same set.
        """
        draws = Random(0)  # noqa: S311 - a search, not a secret
        chosen, best, everything = 0, 0, (1 << len(self)) - 1
        blocked_until = [0] * len(self)
        for step in range(EXCHANGES):
            clashes = [(around & chosen).bit_count() for around in self.closed]
            free = [vertex for vertex, count in enumerate(clashes) if count == 0]
            choices = free or [
                vertex
                for vertex, count in enumerate(clashes)
                if count == 1 and not chosen >> vertex & 1 and blocked_until[vertex] <= step
            ]
            if not choices:
                choices = list(members(everything & ~chosen))
            if not choices:
                break  # no two vertices are joined
            vertex = draws.choice(choices)
            for other in members(self.closed[vertex] & chosen):
                blocked_until[other] = step + REST
            chosen = chosen & ~self.closed[vertex] | 1 << vertex
            best = max(best, chosen, key=int.bit_count)
        return list(members(best))


@dataclass(frozen=True)
class IndependentSet:
    """Vertices no two of which are joined."""

    vertices: tuple[int, ...]
    is_largest: bool
    """Whether it is proved that no set is larger."""


def members(bits: int) -> Iterator[int]:
    """Return the places of the bits that are set, in order.

    Example:
        >>> list(members(0b1011))
        [0, 1, 3]
    """
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _clique_cover(graph: ConfusabilityGraph, candidates: int) -> list[int]:
    """Cover vertices with cliques greedily: no independent set takes two vertices of one."""
    cliques = []
    while candidates:
        clique, fitting = 0, candidates
        while fitting:
            lowest = fitting & -fitting
            clique |= lowest
            fitting &= graph.closed[lowest.bit_length() - 1] ^ lowest
        cliques.append(clique)
        candidates &= ~clique
    return cliques


class _IndependentSearch:
    """Branch and bound for one graph, which starts from a set that is known."""

    def __init__(self, graph: ConfusabilityGraph, best: list[int], enough: int | None) -> None:
        # Vertices with few neighbours first: greedy covers and first branches are then good ones.
        self._order = sorted(range(len(graph)), key=lambda v: graph.closed[v].bit_count())
        self._graph = graph.induced(tuple(self._order))
        self._enough = len(graph) if enough is None else enough
        self._steps = MOST_STEPS
        self.best = best

    def run(self) -> bool:
        """Search on; return whether everything was searched or enough was found."""
        self._branch([], (1 << len(self._graph)) - 1)
        return self._steps > 0 or len(self.best) >= self._enough

    def _branch(self, chosen: list[int], candidates: int) -> None:
        if len(chosen) > len(self.best):
            self.best = [self._order[vertex] for vertex in chosen]
        cliques = _clique_cover(self._graph, candidates)
        # Vertices of the last cliques first: the cover of what remains shrinks clique by clique.
        for count in range(len(cliques), 0, -1):
            for vertex in members(cliques[count - 1]):
                if len(chosen) + count <= len(self.best) or len(self.best) >= self._enough:
                    return
                if not self._steps:
                    return
                self._steps -= 1
                candidates &= ~(1 << vertex)
                self._branch([*chosen, vertex], candidates & ~self._graph.closed[vertex])
