"""How much a sequence of outputs tells about a system that moves, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import or_
from typing import TYPE_CHECKING, Literal

from hartley.errors import OptionError
from hartley.exact import check_base, log_ratio
from hartley.ranges.dynamics import (
    FiniteSystem,
    count_trajectories,
    count_trajectory_classes,
    fewest_trajectories,
    possible_starts,
    possible_states,
    reachable_states,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hartley.ranges.dynamics import States

SECRETS = ("current", "initial", "trajectory")


@dataclass(frozen=True)
class LeakageAt:
    """What the outputs up to a time tell about a secret, in exact counts."""

    time: int
    values: int
    """How many values of the secret are possible without the outputs."""
    fewest: int
    """How many are left possible by the outputs that narrow it most."""
    classes: int | None
    """How many classes of the secret both sides can always agree on; None where not counted."""
    base: float = 2
    """Of the logarithms."""

    @property
    def leakage(self) -> float:
        """The non-stochastic leakage, log of values / fewest."""
        return log_ratio(self.values, self.fewest, base=self.base)

    @property
    def guessing(self) -> float:
        """The maximal guessing leakage over all attributes, log of values - fewest + 1."""
        return log_ratio(self.values - self.fewest + 1, base=self.base)

    @property
    def information(self) -> float | None:
        """The maximin information, log of the classes; None where they are not counted."""
        return None if self.classes is None else log_ratio(self.classes, base=self.base)


def leakage_over_time(
    system: FiniteSystem,
    steps: int,
    *,
    secret: Literal["current", "initial", "trajectory"] = "trajectory",  # noqa: S107 - no password
    base: float = 2,
) -> tuple[LeakageAt, ...]:
    r"""Return what the outputs of a moving system tell about it, for times 0 to steps.

    .. math:: L_0(t) = \log_2 \frac{|[S_t]|}{\min_y |[S_t | y_0, \dots, y_t]|}

    The secret :math:`S_t` is the state of now, the first state, or all states up to now. Exact: a
    recursion over what an observer can know, never over sequences of outputs (leakage over time is
    left as future work by Farokhi 2021). What is known of the first state never gets less with
    time; of the present state and of the trajectory, which grows, it may. Costs grow with the
    number of things an observer can know, which can be exponential in the number of states.

    Args:
        system: the finite system.
        steps: how many steps to look ahead.
        secret: "current", "initial" or "trajectory".
        base: of the logarithms.

    Example:
        >>> from hartley.ranges.dynamics import FiniteSystem
        >>> clock = FiniteSystem.of(range(4), lambda x, _: (x + 1) % 4, lambda x, _: x == 0)
        >>> [at.leakage for at in leakage_over_time(clock, 3, secret="initial")]
        [2.0, 2.0, 2.0, 2.0]
        >>> [at.classes for at in leakage_over_time(clock, 3, secret="initial")]
        [2, 3, 4, 4]
    """
    _check_run(system, steps)
    if secret not in SECRETS:
        raise OptionError(f"The secret '{secret}' is unknown", hint=f"take one of {SECRETS}")
    counted = {"current": _current, "initial": _initial, "trajectory": _trajectory}[secret]
    counts_by_time = islice(counted(system), steps + 1)
    return tuple(LeakageAt(time, *numbers, base) for time, numbers in enumerate(counts_by_time))


@dataclass(frozen=True)
class InformationAt:
    """What outputs up to a time always tell about all states up to then, in exact counts."""

    time: int
    trajectories: int
    """How many trajectories of states are possible."""
    classes: int
    """Into how many classes they fall that the outputs always tell apart."""
    base: float = 2
    """Of the logarithm."""

    @property
    def information(self) -> float:
        """The maximin information, log of the classes."""
        return log_ratio(self.classes, base=self.base)


def trajectory_information(
    system: FiniteSystem, steps: int, *, base: float = 2
) -> tuple[InformationAt, ...]:
    r"""Return what outputs always reveal about the trajectory of a system, for times 0 to steps.

    .. math:: I_\star(t) = \log_2 \big|[X_0, \dots, X_t \,|\, Y_0, \dots, Y_t]_\star\big|

    The number of classes of trajectories of states that are never confused, whatever trajectory of
    outputs is seen: the maximin information of Nair 2013 between both trajectories. The dynamic
    case is left as future work by Farokhi and Ding 2021, Section VII. It never falls with time.
    Exact: classes are followed forward and joined, never listed trajectory by trajectory. Costs
    grow with the number of kinds of classes, at worst like the number of trajectories.

    Args:
        system: the finite system.
        steps: how many steps to look ahead.
        base: of the logarithm.

    Example:
        >>> from hartley.ranges.dynamics import FiniteSystem
        >>> walk = FiniteSystem.of(
        ...     range(9), lambda x, w: (x + w) % 9, lambda x, _: x // 3, disturbances=(0, 1)
        ... )
        >>> [at.classes for at in trajectory_information(walk, 4)]
        [3, 6, 9, 12, 18]
    """
    check_base(base)
    _check_run(system, steps)
    counts = zip(count_trajectories(system), count_trajectory_classes(system), strict=False)
    return tuple(
        InformationAt(time, *numbers, base)
        for time, numbers in enumerate(islice(counts, steps + 1))
    )


def _check_run(system: object, steps: object) -> None:
    if not isinstance(system, FiniteSystem):
        raise OptionError(
            "What is followed over time is not a finite system",
            hint="build one with FiniteSystem.of(states, step, output)",
        )
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise OptionError(
            "The number of steps is not a whole number of 0 or more", hint="take 0 or more"
        )


def _current(system: FiniteSystem) -> Iterator[tuple[int, int, int | None]]:
    for now, known in zip(reachable_states(system), possible_states(system), strict=False):
        yield now.bit_count(), min(s.bit_count() for s in known), _count_classes(known)


def _initial(system: FiniteSystem) -> Iterator[tuple[int, int, int | None]]:
    for known in possible_starts(system):
        sets = {reduce(or_, starts) for starts in known}
        fewest = min(states.bit_count() for states in sets)
        yield system.initial.bit_count(), fewest, _count_classes(sets)


def _trajectory(system: FiniteSystem) -> Iterator[tuple[int, int, int | None]]:
    for total, fewest in zip(count_trajectories(system), fewest_trajectories(system), strict=False):
        yield total, fewest, None


def _count_classes(sets: Iterable[States]) -> int:
    """Return how many classes are left where sets that overlap are joined."""
    classes: list[States] = []
    for states in sets:
        apart = [other for other in classes if not other & states]
        joined = reduce(or_, (other for other in classes if other & states), states)
        classes = [*apart, joined]
    return len(classes)
