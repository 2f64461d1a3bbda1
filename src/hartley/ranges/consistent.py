"""Which records somebody can have, given all answers: every consistent table, enumerated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hartley.ranges.transcript import FAR, alike

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.ranges.transcript import Transcript

MOST_STEPS = 2_000_000
"""So many steps from a vector of totals to the next are made at most."""
LEAST_STEPS = 500
"""What a row costs however few steps it takes, in steps."""


def possible_records(
    transcript: Transcript, *, most: int = MOST_STEPS
) -> list[NDArray[np.bool_]] | None:
    """Return for each group which of its records one of its rows can have; None where too many.

    A record is possible where some choice of records for all rows fulfils every answer. Row by
    row, all vectors of totals that can still lead to the answers are followed; rows of a group
    are alike, so one of each is looked at. Exact, in whole numbers. Grows with the number of
    different vectors of totals, which is at most exponential in rows.

    Args:
        transcript: what was told.
        most: the most steps from a vector of totals to the next.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.ranges.transcript import Group, Told, Transcript
        >>> age = np.arange(4)
        >>> total = Told("SUM(age)", age >= 0, age, 5, (5, 5), least=0, step=Fraction(1))
        >>> pair = Transcript(("age",), age[:, None], (total,), (Group(2, age),), 4)
        >>> possible_records(pair)  # 5 is 2 + 3
        [array([False, False,  True,  True])]
    """
    kinds = [alike(transcript, group) for group in transcript.groups]
    tables = [kind.weights for kind in kinds]
    low, high = transcript.limits
    if not low.size:
        return [np.ones(group.records.size, bool) for group in transcript.groups]
    rows = [group.rows for group in transcript.groups]
    if _too_far(tables, rows):
        return None
    found, room = [], [most]
    for place, (kind, group) in enumerate(zip(kinds, transcript.groups, strict=True)):
        if not group.rows:
            found.append(np.ones(group.records.size, bool))
            continue
        others = [number - (i == place) for i, number in enumerate(rows)]
        states = all_totals(tables, others, tables[place], (low, high), room)
        if states is None:
            return None
        found.append(_meets(states, tables[place], low, high)[kind.kinds])
    return found


def _too_far(tables: list[NDArray[np.int64]], rows: list[int]) -> bool:
    largest = [int(np.abs(table).max(initial=0)) for table in tables]
    return sum(n * each for n, each in zip(rows, largest, strict=True)) >= FAR // 4


def all_totals(
    tables: list[NDArray[np.int64]],
    rows: list[int],
    last: NDArray[np.int64],
    limits: tuple[NDArray[np.int64], NDArray[np.int64]],
    room: list[int],
) -> NDArray[np.int64] | None:
    """Return all totals of some rows from which one more row can lead to the answers.

    How many steps are left is counted down in ``room``; None where they are used up.
    """
    low, high = limits
    if _too_far([*tables, last], [*rows, 1]) or sum(rows) * LEAST_STEPS > room[0]:
        return None
    tables = [np.unique(table, axis=0) for table in tables]
    floor = sum((n * t.min(axis=0) for n, t in zip(rows, tables, strict=True)), last.min(axis=0))
    roof = sum((n * t.max(axis=0) for n, t in zip(rows, tables, strict=True)), last.max(axis=0))
    states = np.zeros((1, low.size), np.int64)
    for number, table in zip(rows, tables, strict=True):
        for _ in range(number):
            floor, roof = floor - table.min(axis=0), roof - table.max(axis=0)
            room[0] -= max(states.shape[0] * table.shape[0], LEAST_STEPS)
            if room[0] < 0:
                return None
            states = (states[:, None, :] + table[None, :, :]).reshape(-1, low.size)
            kept = ((states + roof >= low) & (states + floor <= high)).all(axis=1)
            states = _distinct(states[kept])
    return states


def _distinct(states: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different rows, by way of one whole number a row where that fits."""
    if not states.size:
        return states
    least = states.min(axis=0)
    widths = (states.max(axis=0) - least + 1).tolist()
    if math.prod(widths) >= FAR:
        return np.unique(states, axis=0)
    keys = np.zeros(len(states), np.int64)
    for i, width in enumerate(widths):
        keys = keys * width + (states[:, i] - least[i])
    _, first = np.unique(keys, return_index=True)
    return states[first]


def _meets(
    states: NDArray[np.int64],
    table: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Tell for each kind of record whether it completes some totals to the answers."""
    return np.array(
        [bool(((low <= states + row) & (states + row <= high)).all(axis=1).any()) for row in table]
    )
