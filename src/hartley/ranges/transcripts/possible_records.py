"""The records that a person can have, given all answers: consistent and neighbouring tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hartley.ranges.transcripts.transcript import ANY_TYPE, FAR, alike

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.ranges.transcripts.transcript import Told, Transcript


MOST_STEPS = 2_000_000
"""The most steps from one vector of totals to the next."""
LEAST_STEPS = 500
"""The least cost of a row, in steps."""


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
        >>> from hartley.ranges.transcripts.transcript import Group, Told, Transcript
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
    possible, room = [], [most]
    for place, (kind, group) in enumerate(zip(kinds, transcript.groups, strict=True)):
        if not group.rows:
            possible.append(np.ones(group.records.size, bool))
            continue
        others = [number - (i == place) for i, number in enumerate(rows)]
        states = all_totals(tables, others, tables[place], (low, high), room)
        if states is None:
            return None
        possible.append(_meets(states, tables[place], low, high)[kind.kinds])
    return possible


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
            within_reach = ((states + roof >= low) & (states + floor <= high)).all(axis=1)
            states = _distinct(states[within_reach])
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


MOST_PAIRS = 20_000_000
"""The most pairs of a true and another record that are compared."""
NO_CELL = -FAR
"""Stands for the answer of an order statistic of no rows."""


@dataclass(frozen=True)
class OneRow:
    """Rows with one true record, each seen by somebody who knows all other rows."""

    type: int
    """What is public and open of them, as a number; ``ANY_TYPE`` where nothing is asked of it."""
    rows: int
    """How many rows have it."""
    candidates: int
    """How many records such a row could have, by what is public and open of it."""
    left: int
    """How many of them would have got the same answers; the true one is among them."""
    transcripts: int
    """How many different answers all of them together would have got."""


def one_row_left(transcript: Transcript, *, most: int = MOST_PAIRS) -> list[OneRow]:
    r"""Return what the answers leave of one row, all others being known.

    .. math:: |\{x' : a(x', v) = a(x, v)\}|, \qquad |\{a(x', v) : x' \in [X]\}|

    The second number is what an accountant promises to stay within the charge (Farokhi 2020,
    Definition 1, of all answers together). Exact. Grows with the number of different true
    records times that of all records; beyond ``most`` pairs only some true records are looked at.

    Example:
        >>> from fractions import Fraction
        >>> from hartley.ranges.transcripts.transcript import Group, Told, Transcript
        >>> age = np.arange(4)
        >>> total = Told("SUM(age)", age >= 0, age, 2, (4, 5), least=0, step=Fraction(2))
        >>> pair = Transcript(("age",), age[:, None], (total,), (Group(2, age),), 3,
        ...                   truth=np.array([0, 0, 1, 1]))
        >>> one_row_left(pair)[0]  # 2 beside a known 3: 3 .. 6 lies in the cells 1, 2 and 3
        OneRow(type=-1, rows=1, candidates=4, left=2, transcripts=3)
    """
    truth = transcript.truth
    assert truth is not None  # the caller knows the table
    types = transcript.types
    if types is None:
        types = np.full(len(transcript.records), ANY_TYPE)
    rows_left = []
    listed = [t for t in np.unique(types).tolist() if t != ANY_TYPE] or [ANY_TYPE]
    size = int((truth > 0).sum())
    for number in listed:
        mine = np.flatnonzero((types == number) | (types == ANY_TYPE))
        true = mine[truth[mine] > 0]
        room = max(most * true.size // max(size, 1) // max(mine.size, 1), 1)
        every = true[:: max(-(-true.size // room), 1)]
        rows_left += [
            OneRow(number, int(truth[record]), *_compare(transcript, truth, mine, record))
            for record in every.tolist()
        ]
    return rows_left


def _compare(
    transcript: Transcript, truth: NDArray[np.int64], candidates: NDArray[np.int64], record: int
) -> tuple[int, int, int]:
    """Answer everything again with every candidate in the place of a true record."""
    cells = np.zeros((candidates.size, len(transcript.answers)), np.int64)
    for i, answer in enumerate(transcript.answers):
        if answer.is_total:
            others = int(truth @ answer.values) - int(answer.values[record])
            cells[:, i] = answer.cells(others + answer.values[candidates])
        else:
            cells[:, i] = _ranked(answer, truth, record, candidates)
    vectors, kinds = np.unique(cells, axis=0, return_inverse=True)
    times = transcript.multiplicity
    many = np.ones(candidates.size, np.int64) if times is None else times[candidates]
    same = kinds.reshape(-1) == kinds.reshape(-1)[np.flatnonzero(candidates == record)[0]]
    return int(many.sum()), int(many[same].sum()), len(vectors)


def _ranked(
    answer: Told, truth: NDArray[np.int64], record: int, candidates: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the cell of an order statistic with each candidate in the place of a record.

    Beside n others in order, o_1 to o_n, a further value v makes the k-th smallest
    max(o_{k-1}, min(v, o_k)).
    """
    assert answer.quantile is not None
    counts = np.where(answer.inside, truth, 0)
    counts[record] -= int(answer.inside[record])
    levels, places = np.unique(answer.values[answer.inside], return_inverse=True)
    sums = np.zeros(levels.size, np.int64)
    np.add.at(sums, places, counts[answer.inside])
    ends = np.cumsum(sums)
    others = int(ends[-1]) if ends.size else 0

    def rank(rows: int) -> int:
        assert answer.quantile is not None
        p = answer.quantile
        return max(-(-p.numerator * rows // p.denominator), 1)

    def nth(k: int) -> int:
        """Return the k-th smallest of the others, beyond all where there is none."""
        if not 1 <= k <= others:
            return -FAR if k < 1 else FAR
        return int(levels[np.searchsorted(ends, k)])

    k = rank(others + 1)
    inside = answer.inside[candidates]
    cells = np.full(candidates.size, NO_CELL, np.int64)
    values = answer.values[candidates][inside]
    cells[inside] = answer.cells(np.maximum(nth(k - 1), np.minimum(values, nth(k))))
    if others and not inside.all():
        cells[~inside] = answer.cells(np.array([nth(rank(others))]))[0]
    return cells
