"""Count the people who are the only ones at all the places where they are known to have been."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hartley.kernels.compiling import compiled
from hartley.kernels.counters import GOLDEN, bounded_draw, first_state

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Visits(NamedTuple):
    """Which points everybody visited and who visited each point, both in ascending order."""

    person_at: NDArray[np.int64]
    """Where the points of each person begin, and the end of the last."""
    points: NDArray[np.int64]
    point_at: NDArray[np.int64]
    people: NDArray[np.int64]


def visits_of(people: NDArray[np.int64], points: NDArray[np.int64]) -> Visits:
    """Return the visits of distinct pairs of a person and a point, both numbered from 0.

    Example:
        >>> visits = visits_of(np.array([1, 0, 1]), np.array([0, 0, 1]))
        >>> visits.person_at, visits.points, visits.people
        (array([0, 1, 3]), array([0, 0, 1]), array([0, 1, 1]))
    """
    by_person, by_point = np.lexsort((points, people)), np.lexsort((people, points))
    return Visits(
        np.concatenate(([0], np.cumsum(np.bincount(people)))),
        points[by_person],
        np.concatenate(([0], np.cumsum(np.bincount(points)))),
        people[by_point],
    )


@compiled
def _holds(values: NDArray[np.int64], wanted: int) -> bool:
    """Tell whether sorted values hold a wanted one."""
    at = np.searchsorted(values, wanted)
    return bool(at < values.size and values[at] == wanted)


@compiled
def _is_alone(visits: Visits, person: int, known: NDArray[np.int64]) -> bool:
    """Tell whether nobody else visited all the known points of a person."""
    # Another person at all known points is at the rarest one too: only its visitors are checked.
    rarest = known[0]
    for i in range(1, known.size):
        size = visits.point_at[known[i] + 1] - visits.point_at[known[i]]
        if size < visits.point_at[rarest + 1] - visits.point_at[rarest]:
            rarest = known[i]
    for at in range(visits.point_at[rarest], visits.point_at[rarest + 1]):
        other = visits.people[at]
        if other == person:
            continue
        theirs = visits.points[visits.person_at[other] : visits.person_at[other + 1]]
        shared = True
        for i in range(known.size):
            if not _holds(theirs, known[i]):
                shared = False
                break
        if shared:
            return False
    return True


@compiled
def singled_out(visits: Visits, known: int, seed: np.uint64, trials: int) -> NDArray[np.bool_]:
    """Draw a person and some of their points in every trial; tell if nobody else has them all.

    A person who has fewer points is known by all of them. With zero trials everybody is checked
    once, by all their points; ``known`` and the seed are not used then.

    Example:
        >>> visits = visits_of(np.array([0, 0, 1]), np.array([0, 1, 0]))
        >>> singled_out(visits, 0, np.uint64(0), 0)
        array([ True, False])
    """
    people = visits.person_at.size - 1
    alone = np.empty(trials or people, np.bool_)
    longest = 0
    for person in range(people):
        longest = max(longest, visits.person_at[person + 1] - visits.person_at[person])
    held = np.empty(longest, np.int64)
    for trial in range(alone.size):
        state = first_state(seed, np.uint64(trial))
        person = int(bounded_draw(state, people)) if trials else trial
        theirs = visits.points[visits.person_at[person] : visits.person_at[person + 1]]
        chosen = min(known, theirs.size) if trials else theirs.size
        held[: theirs.size] = theirs
        # The first steps of a Fisher-Yates shuffle; nothing is drawn where all points are known.
        for place in range(chosen if chosen < theirs.size else 0):
            state += GOLDEN
            other = place + bounded_draw(state, theirs.size - place)
            held[place], held[other] = held[other], held[place]
        alone[trial] = _is_alone(visits, person, held[:chosen])
    return alone
