"""Blurring, stretching and meeting on data with a step, compared by what they leave open."""

from __future__ import annotations

import bisect
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hartley.exact import parse_number
from hartley.policies.hypotheses.blurring import BlurringPolicy, StretchPolicy, Threshold
from hartley.policies.hypotheses.hypothesis import Hypothesis
from hartley.policies.hypotheses.meeting import MeetPolicy
from hartley.policies.hypotheses.monotone import open_grid
from hartley.policies.hypotheses.open_records import OpenRecords, count_outputs_open, refuse_many
from hartley.ranges.boxes.box import Box, Interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from hartley.policies.hypotheses.lattice import LatticeColumn


@dataclass(frozen=True)
class ComparedPolicy:
    """What one policy leaves open, to everybody and to those who know the value roughly."""

    name: str
    counts: OpenRecords
    """To somebody who knows nothing about the moved column but its range and step."""
    known: tuple[int, ...]
    """To somebody who knows its value to within each of some distances: records left open."""


def compare_policies(
    hypothesis: str,
    columns: Mapping[str, LatticeColumn],
    reach: object,
    known_within: Sequence[object] = (),
) -> tuple[ComparedPolicy, ...]:
    """Compare blurring, stretching and meeting within one reach on data with a step.

    A record is open to somebody who knows the moved value to within a distance if a record of
    the other side, no further away than that, is released alike. The last line is `meet` made
    for each distance (``known_within``), the most that any policy leaves open then. Farokhi 2021,
    Theorem 4, corrected. Exact, by looking at every record.

    Args:
        hypothesis: column >= expression over other columns; the column is moved.
        columns: the lattice of every column.
        reach: the furthest that a value may be moved.
        known_within: the distances.

    Example:
        >>> from hartley.policies.hypotheses.lattice import LatticeColumn
        >>> for row in compare_policies("x >= 5", {"x": LatticeColumn(0, 10, 1)}, 2, [1, 2, 4]):
        ...     print(row.name, row.counts.open, row.known)
        blur 5 (2, 4, 5)
        stretch 4 (0, 4, 4)
        meet 8 (0, 0, 8)
        meet made for it 8 (2, 4, 8)
    """
    threshold, read = Threshold.parse(hypothesis), Hypothesis.parse(hypothesis)
    refuse_many(columns, list(columns))
    box = Box({name: Interval(column.low, column.high) for name, column in columns.items()})
    moved = threshold.column
    step = columns[moved].step
    distances = [parse_number(within, name="known_within") for within in known_within]
    records = _Records.of(read, columns, moved)
    rows = []
    for name, policy in (
        ("blur", BlurringPolicy(threshold, reach, box)),  # type: ignore[arg-type]  # read there
        ("stretch", StretchPolicy(threshold, reach, box)),  # type: ignore[arg-type]  # read there
    ):
        codes: dict[tuple[Fraction, ...], int] = {}
        outputs = [
            codes.setdefault(tuple(policy.release(record).values()), len(codes))
            for record in records.values()
        ]
        rows.append(records.compared(name, np.array(outputs), distances, step))
    meet = MeetPolicy(read, columns, [moved], reach)
    rows.append(records.compared("meet", records.meeting(meet), distances, step))
    made = [
        MeetPolicy(read, columns, [moved], reach, known_within=distance) for distance in distances
    ]
    known = [
        records.compared("", records.meeting(policy), [distance], step).known[0]
        for policy, distance in zip(made, distances, strict=True)
    ]
    return (*rows, ComparedPolicy("meet made for it", rows[-1].counts, tuple(known)))


@dataclass(frozen=True)
class _Records:
    """All records of a lattice: their indices, and whether the hypothesis holds."""

    columns: Mapping[str, LatticeColumn]
    moved: str
    holds: NDArray[np.bool_]

    @classmethod
    def of(
        cls, hypothesis: Hypothesis, columns: Mapping[str, LatticeColumn], moved: str
    ) -> _Records:
        lattice = {name: columns[name] for name in columns}
        held = [hypothesis.holds(record) for record in _values(lattice)]
        return cls(lattice, moved, np.array(held))

    def values(self) -> Iterator[dict[str, Fraction]]:
        """Yield the records, in the order of the arrays."""
        return _values(self.columns)

    def meeting(self, policy: MeetPolicy) -> NDArray[np.int64]:
        """Return what a policy `meet` releases, as whole numbers."""
        indices = open_grid(self.columns, self.columns)
        released = indices | policy.release_indices(indices)
        shape = tuple(column.last + 1 for column in self.columns.values())
        codes = np.zeros(shape, np.int64)
        for name, column in self.columns.items():
            codes = codes * (column.last + 1) + released[name]
        return codes.ravel()

    def compared(
        self,
        name: str,
        outputs: NDArray[np.int64],
        distances: Sequence[Fraction],
        step: Fraction,
    ) -> ComparedPolicy:
        """Count what is open, for all and within distances."""
        shape = tuple(column.last + 1 for column in self.columns.values())
        axis = list(self.columns).index(self.moved)
        index = np.indices(shape)[axis].ravel()
        groups: dict[int, tuple[list[int], list[int]]] = {}
        for output, place, side in zip(
            outputs.tolist(), index.tolist(), self.holds.tolist(), strict=True
        ):
            groups.setdefault(output, ([], []))[side].append(place)
        apart = [
            _nearest(place, listed[1 - side])
            for listed in groups.values()
            if all(listed)
            for side in (0, 1)
            for place in listed[side]
        ]
        known = tuple(
            sum(1 for gap in apart if gap <= math.floor(distance / step)) for distance in distances
        )
        return ComparedPolicy(name, count_outputs_open(self.holds, outputs), known)


def _nearest(place: int, others: list[int]) -> int:
    """Return the distance to the nearest of some sorted numbers."""
    at = bisect.bisect_left(others, place)
    return min(abs(place - other) for other in others[max(0, at - 1) : at + 1])


def _values(columns: Mapping[str, LatticeColumn]) -> Iterator[dict[str, Fraction]]:
    listed = [
        [column.value(index) for index in range(column.last + 1)] for column in columns.values()
    ]
    return (dict(zip(columns, record, strict=True)) for record in itertools.product(*listed))
