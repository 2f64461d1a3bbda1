"""What could be true of a finite system that moves and is watched: sets of states and trajectories.

X(t+1) = f(X(t), W(t)) and Y(t) = g(X(t), V(t)), where nothing but their ranges is known of the
first state, of the disturbances W and of the noises V, which are unrelated to each other (Farokhi
2021, future work). Sets of states are whole numbers, a bit for each state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from hartley.errors import OptionError
from hartley.ranges.classes import members

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence


MOST_SETS = 50_000
"""Beyond this many different things that an observer could know, none is followed further."""
MOST_NODES = 20_000
"""Of all kinds of components together; beyond, none is followed further."""

States: TypeAlias = int
"""A set of states, as bits."""
Starts: TypeAlias = tuple[States, ...]
"""For every state of now, the first states from which it may have been reached."""
Counts: TypeAlias = tuple[int, ...]
"""For every state of now, the number of trajectories that end there."""
K = TypeVar("K")


@dataclass(frozen=True)
class FiniteSystem:
    """A finite system: where each state may go, and in which states an output may be seen.

    Example:
        >>> lamp = FiniteSystem.of(
        ...     range(3), lambda x, w: (x + w) % 3, lambda x, _: x == 0, disturbances=(0, 1)
        ... )
        >>> [bin(sources) for sources in lamp.sources], lamp.outputs
        (['0b101', '0b11', '0b110'], (False, True))
    """

    states: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    sources: tuple[States, ...]
    """For every state, the states from which one step may lead there."""
    shown: tuple[States, ...]
    """For every output, the states that may show it."""
    initial: States

    @classmethod
    def of(  # noqa: PLR0913 - the parts of a system, by name
        cls,
        states: Iterable[Hashable],
        step: Callable[..., Hashable],
        output: Callable[..., Hashable],
        *,
        disturbances: Iterable[object] = (None,),
        noises: Iterable[object] = (None,),
        initial: Iterable[Hashable] | None = None,
    ) -> FiniteSystem:
        """Build a system from f(state, disturbance) and g(state, noise) and their finite ranges."""
        for function, what in ((step, "step"), (output, "output")):
            if not callable(function):
                raise OptionError(
                    f"The {what} of the system is not a function",
                    hint="write step=lambda state, disturbance: ... and output=lambda state, "
                    "noise: ...",
                )
        listed_states = _listed(states, "states")
        for state in listed_states:
            _require_comparable(state, "A state")
        places = {state: k for k, state in enumerate(dict.fromkeys(listed_states))}
        first = tuple(places) if initial is None else _listed(initial, "first states")
        pushes, blurs = _listed(disturbances, "disturbances"), _listed(noises, "noises")
        if not (places and first and pushes and blurs):
            raise OptionError(
                "A system without states, first states, disturbances or noises cannot run",
                hint="give at least one of each; disturbances and noises may be left out",
            )
        for state in first:
            _require(state, places, "first state")
        sources = [0] * len(places)
        seen: dict[Hashable, int] = {}
        for state, k in places.items():
            for push in pushes:
                following = step(state, push)
                _require(following, places, f"state after {state!r}")
                sources[places[following]] |= 1 << k
            for blur in blurs:
                seen_output = output(state, blur)
                _require_comparable(seen_output, "An output")
                seen[seen_output] = seen.get(seen_output, 0) | 1 << k
        listed = sorted(seen, key=repr)
        start = sum(1 << place for place in {places[state] for state in first})
        states_showing = tuple(seen[seen_output] for seen_output in listed)
        return cls(tuple(places), tuple(listed), tuple(sources), states_showing, start)


def _listed(items: object, what: str) -> tuple[Any, ...]:
    if not isinstance(items, Iterable):
        raise OptionError(f"The {what} of the system are not a list", hint="list them: range(9)")
    return tuple(items)


def _require_comparable(item: object, what: str) -> None:
    try:
        hash(item)
    except TypeError:
        raise OptionError(
            f"{what} of the system cannot be compared with others",
            hint="use numbers, text or tuples",
        ) from None


def _require(state: Hashable, places: dict[Hashable, int], what: str) -> None:
    _require_comparable(state, f"The {what}")
    if state not in places:
        raise OptionError(f"The {what}, {state!r}, is not a state", hint="list it among the states")


def reachable_states(system: FiniteSystem) -> Iterator[States]:
    """Return the states in which the system may be at time 0, 1, 2 and so on, for ever."""
    now = system.initial
    while True:
        yield now
        now = _moved(system, now)


def possible_states(system: FiniteSystem) -> Iterator[frozenset[States]]:
    """Return, for time 0, 1, 2 and so on, every set [X(t) | y(0), ..., y(t)] that can occur.

    The observer's subset construction: exact, and one step costs the number of sets times that of
    outputs and states. Never two to the number of output sequences.
    """
    known = frozenset(compatible for show in system.shown if (compatible := system.initial & show))
    while True:
        yield known
        moved = {_moved(system, states) for states in known}
        known = _limited(
            frozenset(
                compatible
                for states in moved
                for show in system.shown
                if (compatible := states & show)
            )
        )


def possible_starts(system: FiniteSystem) -> Iterator[frozenset[Starts]]:
    """Return, for time 0, 1, 2 and so on, what an observer can know of first and present states.

    The union of a tuple is [X(0) | y(0), ..., y(t)].
    """
    begin = tuple(system.initial & 1 << k for k in range(len(system.states)))
    known = frozenset(compatible for show in system.shown if any(compatible := _kept(begin, show)))
    while True:
        yield known
        moved = {tuple(_union(starts, source) for source in system.sources) for starts in known}
        known = _limited(
            frozenset(
                compatible
                for starts in moved
                for show in system.shown
                if any(compatible := _kept(starts, show))
            )
        )


def count_trajectories(system: FiniteSystem) -> Iterator[int]:
    """Return the number of trajectories x(0), ..., x(t) for t = 0, 1, 2 and so on."""
    now = tuple(system.initial >> k & 1 for k in range(len(system.states)))
    while True:
        yield sum(now)
        now = _summed(system, now)


def fewest_trajectories(system: FiniteSystem) -> Iterator[int]:
    r"""Return min over y(0), ..., y(t) of the number of trajectories left, for t = 0, 1, 2, ...

    .. math:: n_{t+1}(x') = [y \text{ may be seen in } x'] \sum_{x \to x'} n_t(x)

    Sequences of outputs are never listed: of two vectors of counts that are positive in the same
    places, one that is nowhere larger stays so whatever comes, so the other is dropped. Exact.
    """
    begin = tuple(system.initial >> k & 1 for k in range(len(system.states)))
    known = _smallest(_kept(begin, show) for show in system.shown)
    while True:
        yield min(sum(counts) for counts in known)
        moved = [_summed(system, counts) for counts in known]
        known = _smallest(_kept(counts, show) for counts in moved for show in system.shown)


def _moved(system: FiniteSystem, states: States) -> States:
    return sum(1 << k for k, source in enumerate(system.sources) if source & states)


def _summed(system: FiniteSystem, counts: Counts) -> Counts:
    return tuple(sum(counts[k] for k in members(source)) for source in system.sources)


def _kept(values: tuple[int, ...], show: States) -> tuple[int, ...]:
    return tuple(value if show >> k & 1 else 0 for k, value in enumerate(values))


def _smallest(vectors: Iterable[Counts]) -> frozenset[Counts]:
    """Return the vectors that no other one of the same support is below."""
    families: dict[tuple[bool, ...], list[Counts]] = {}
    for counts in sorted({counts for counts in vectors if any(counts)}, key=sum):
        family = families.setdefault(tuple(map(bool, counts)), [])
        if not any(all(a <= b for a, b in zip(o, counts, strict=True)) for o in family):
            family.append(counts)
    return _limited(frozenset(counts for family in families.values() for counts in family))


def _limited(known: frozenset[K]) -> frozenset[K]:
    if len(known) > MOST_SETS:
        raise OptionError(
            f"An observer of this system could have more than {MOST_SETS:,} different states of "
            "knowledge",
            hint="take fewer steps, or merge states",
        )
    return known


# --- classes of trajectories that outputs always tell apart, counted without listing trajectories -
#
# Two trajectories can be confused if at every time their states can show the same output, since
# noises are unrelated. The classes are the components of that relation. Trajectories with the
# same last state that are joined through others with that last state go on alike, so they are one
# node; an edge joins two nodes if some of their trajectories can be confused. Whether two
# trajectories of the next time are confused then depends on the nodes and on their new states
# alone. Components never grow together again, and equal ones develop equally: each kind is
# followed once and counted.


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
    held = sum(1 << state for state in in_state)
    alike = {state: _union(in_state, confused[state] & ~(1 << state) & held) for state in in_state}
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
    """Sort nodes by their states, then by those of their neighbours, and so on."""
    # Where this leaves a tie, equal components may come out in different orders. They are followed
    # separately then, which costs time and changes no count.
    ranks = {node: states[node] for node in nodes}
    for _ in nodes:
        keys = {n: (ranks[n], tuple(sorted(ranks[m] for m in members(joined[n])))) for n in nodes}
        places = {key: at for at, key in enumerate(sorted(set(keys.values())))}
        refined = {node: places[keys[node]] for node in nodes}
        if len(places) == len(set(ranks.values())):
            return sorted(nodes, key=refined.__getitem__)
        ranks = refined
    return sorted(nodes, key=ranks.__getitem__)


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
