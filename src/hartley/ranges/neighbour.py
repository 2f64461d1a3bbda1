"""Tables that differ in one row: what all answers tell whoever knows everybody else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hartley.ranges.transcript import ANY_TYPE, FAR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.ranges.transcript import Told, Transcript

MOST_PAIRS = 20_000_000
"""So many pairs of a true and another record are compared at most."""
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
        >>> from hartley.ranges.transcript import Group, Told, Transcript
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
    found = []
    listed = [t for t in np.unique(types).tolist() if t != ANY_TYPE] or [ANY_TYPE]
    size = int((truth > 0).sum())
    for number in listed:
        mine = np.flatnonzero((types == number) | (types == ANY_TYPE))
        true = mine[truth[mine] > 0]
        room = max(most * true.size // max(size, 1) // max(mine.size, 1), 1)
        every = true[:: max(-(-true.size // room), 1)]
        found += [
            OneRow(number, int(truth[record]), *_compare(transcript, truth, mine, record))
            for record in every.tolist()
        ]
    return found


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
    found = np.full(candidates.size, NO_CELL, np.int64)
    values = answer.values[candidates][inside]
    found[inside] = answer.cells(np.maximum(nth(k - 1), np.minimum(values, nth(k))))
    if others and not inside.all():
        found[~inside] = answer.cells(np.array([nth(rank(others))]))[0]
    return found
