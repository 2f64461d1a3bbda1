"""What could be true of a finite system that moves and is watched: sets of states and trajectories.

X(t+1) = f(X(t), W(t)) and Y(t) = g(X(t), V(t)), where nothing but their ranges is known of the
first state, of the disturbances W and of the noises V, which are unrelated to each other (Farokhi
2021, future work). Sets of states are whole numbers, a bit for each state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

MOST_SETS = 50_000
"""Beyond this many different things that an observer could know, none is followed further."""

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
    """Return the states in which the system may be at time 0, 1, 2 and so on, for ever.

    Example:
        >>> line = FiniteSystem.of(range(3), lambda x, w: min(x + w, 2), lambda x, _: x,
        ...                        disturbances=(0, 1), initial=(0,))
        >>> found = reachable_states(line)
        >>> [bin(next(found)) for _ in range(3)]
        ['0b1', '0b11', '0b111']
    """
    now = system.initial
    while True:
        yield now
        now = _moved(system, now)


def possible_states(system: FiniteSystem) -> Iterator[frozenset[States]]:
    """Return, for time 0, 1, 2 and so on, every set [X(t) | y(0), ..., y(t)] that can occur.

    The observer's subset construction: exact, and one step costs the number of sets times that of
    outputs and states. Never two to the number of output sequences.

    Example:
        >>> lamp = FiniteSystem.of(range(3), lambda x, _: (x + 1) % 3, lambda x, _: x == 0)
        >>> found = possible_states(lamp)
        >>> [sorted(next(found)) for _ in range(2)]  # dark or lit, then every state is known
        [[1, 6], [1, 2, 4]]
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
        moved = {_joined(system, starts) for starts in known}
        known = _limited(
            frozenset(
                compatible
                for starts in moved
                for show in system.shown
                if any(compatible := _kept(starts, show))
            )
        )


def count_trajectories(system: FiniteSystem) -> Iterator[int]:
    """Return the number of trajectories x(0), ..., x(t) for t = 0, 1, 2 and so on.

    Example:
        >>> walk = FiniteSystem.of(range(2), lambda x, w: w, lambda x, _: x, disturbances=(0, 1))
        >>> found = count_trajectories(walk)
        >>> [next(found) for _ in range(4)]
        [2, 4, 8, 16]
    """
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


def _joined(system: FiniteSystem, starts: Starts) -> Starts:
    unions = []
    for source in system.sources:
        union = 0
        for k in _members(source):
            union |= starts[k]
        unions.append(union)
    return tuple(unions)


def _summed(system: FiniteSystem, counts: Counts) -> Counts:
    return tuple(sum(counts[k] for k in _members(source)) for source in system.sources)


def _kept(values: tuple[int, ...], show: States) -> tuple[int, ...]:
    return tuple(value if show >> k & 1 else 0 for k, value in enumerate(values))


def _members(states: States) -> Iterator[int]:
    while states:
        lowest = states & -states
        yield lowest.bit_length() - 1
        states ^= lowest


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
