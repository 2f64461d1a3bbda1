"""Classes of trajectories that outputs always tell apart, counted without listing trajectories.

Two trajectories can be confused if at every time their states can show the same output, since
noises are unrelated. The classes are the components of that relation. Trajectories with the same
last state that are joined through others with that last state go on alike, so they are one node;
an edge joins two nodes if some of their trajectories can be confused. Whether two trajectories of
the next time are confused then depends on the nodes and on their new states alone. Components
never grow together again, and equal ones develop equally: each kind is followed once and counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.ranges.relations.confusability import members

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hartley.ranges.relations.dynamics import FiniteSystem

MOST_NODES = 20_000
"""Of all kinds of components together; beyond, none is followed further."""


@dataclass(frozen=True)
class Component:
    """A class of trajectories: what is needed to see how it goes on."""

    states: tuple[int, ...]
    """The last state of each node."""
    joined: tuple[int, ...]
    """For each node, the nodes with which it shares trajectories that can be confused, as bits."""


def count_trajectory_classes(system: FiniteSystem) -> Iterator[int]:
    """Return how many classes the trajectories x(0), ..., x(t) have, for t = 0, 1, 2 and so on.

    Exact. A step costs about the number of nodes times that of successors; there are few where
    states are confused or seen clearly, and at worst as many as trajectories.

    Example:
        >>> from hartley.ranges.relations.dynamics import FiniteSystem
        >>> clock = FiniteSystem.of(range(4), lambda x, _: (x + 1) % 4, lambda x, _: x == 0)
        >>> classes = count_trajectory_classes(clock)
        >>> [next(classes) for _ in range(4)]
        [2, 3, 4, 4]
    """
    size = len(system.states)
    confused = [0] * size
    for shown in system.shown:
        for state in members(shown):
            confused[state] |= shown
    following = [0] * size
    for state, sources in enumerate(system.sources):
        for source in members(sources):
            following[source] |= 1 << state
    starts = list(members(system.initial))
    joined = [
        sum(1 << at for at, other in enumerate(starts) if other != s and confused[s] >> other & 1)
        for s in starts
    ]
    kinds = Counter(_components(starts, joined))
    while True:
        yield kinds.total()
        later: Counter[Component] = Counter()
        nodes = 0
        for component, times in kinds.items():
            for kind in _stepped(component, following, confused):
                nodes += 0 if kind in later else len(kind.states)
                later[kind] += times
            if nodes > MOST_NODES:
                raise OptionError(
                    f"More than {MOST_NODES:,} groups of trajectories would have to be followed",
                    hint="take fewer steps, or merge states",
                )
        kinds = later


def _stepped(
    component: Component, following: list[int], confused: list[int]
) -> Iterator[Component]:
    """Return the classes into which a class falls one step later."""
    arriving: dict[int, int] = {}
    for node, state in enumerate(component.states):
        for successor in members(following[state]):
            arriving[successor] = arriving.get(successor, 0) | 1 << node
    states, groups = [], []
    for state, nodes in arriving.items():
        # Nodes that are joined and reach the same state become one.
        for group in _connected(nodes, component.joined):
            states.append(state)
            groups.append(group)
    holding = [0] * len(component.states)
    in_state: dict[int, int] = {}
    for place, (state, group) in enumerate(zip(states, groups, strict=True)):
        in_state[state] = in_state.get(state, 0) | 1 << place
        for node in members(group):
            holding[node] |= 1 << place
    alike = {
        state: _union(in_state, confused[state] & ~(1 << state) & _bits(in_state))
        for state in in_state
    }
    joined = [
        alike[state] & _union(holding, group | _union(component.joined, group))
        for state, group in zip(states, groups, strict=True)
    ]
    return _components(states, joined)


def _components(states: list[int], joined: list[int]) -> Iterator[Component]:
    """Split a graph of nodes, each part in an order that equal parts mostly share."""
    for part in _connected((1 << len(states)) - 1, joined):
        nodes = _ordered(list(members(part)), states, joined)
        place = {node: at for at, node in enumerate(nodes)}
        yield Component(
            tuple(states[node] for node in nodes),
            tuple(sum(1 << place[other] for other in members(joined[node])) for node in nodes),
        )


def _ordered(nodes: list[int], states: list[int], joined: list[int]) -> list[int]:
    """Sort nodes by their states, then by those of their neighbours, and so on.

    Where this leaves a tie, equal components may come out in different orders. They are followed
    separately then, which costs time and changes no count.
    """
    ranks = {node: states[node] for node in nodes}
    for _ in nodes:
        keys = {n: (ranks[n], sorted(ranks[m] for m in members(joined[n]))) for n in nodes}
        places = {key: at for at, key in enumerate(sorted({_frozen(k) for k in keys.values()}))}
        refined = {node: places[_frozen(keys[node])] for node in nodes}
        if len(places) == len(set(ranks.values())):
            return sorted(nodes, key=refined.__getitem__)
        ranks = refined
    return sorted(nodes, key=ranks.__getitem__)


def _frozen(key: tuple[int, list[int]]) -> tuple[int, tuple[int, ...]]:
    return key[0], tuple(key[1])


def _connected(nodes: int, joined: Sequence[int]) -> Iterator[int]:
    """Return the connected parts of some nodes, as bits."""
    while nodes:
        part = edge = nodes & -nodes
        while edge:
            edge = _union(joined, edge) & nodes & ~part
            part |= edge
        yield part
        nodes &= ~part


def _union(sets: Sequence[int] | Mapping[int, int], chosen: int) -> int:
    union = 0
    for place in members(chosen):
        union |= sets[place]
    return union


def _bits(places: Iterable[int]) -> int:
    return sum(1 << place for place in places)
