"""Combinations of columns that single a record out, none of whose parts does: minimal uniques.

Columns are taken one after the other. Records that agree on the columns so far form a segment; a
segment is split by the next column with tallies, so that each combination costs one pass over the
records that are not singled out yet. Combinations of one size are looked at where all smaller ones
are known; one bit per record says whether a combination singles it out.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hartley.kernels import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Bits = NDArray[np.uint8]

COPIED_AT = 2
"""Segments of so many columns get copies of the later columns in their order: reading the codes of
a segment then means reading neighbours."""


class FoundUniques(NamedTuple):
    """Pairs of a record and a combination of columns, smaller combinations first."""

    records: NDArray[np.int32]
    combinations: NDArray[np.uint64]
    """One bit per column. The records of a combination stand together."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the records of each combination begin, and the end: found without sorting."""
        changes = np.flatnonzero(self.combinations[1:] != self.combinations[:-1]) + 1
        ends = [self.records.size] if self.records.size else []
        return np.concatenate([[0], changes, ends]).astype(np.int64)


def narrow_codes(codes: NDArray[Any], largest: int) -> NDArray[Any]:
    """Return codes from 0 to the largest one in the narrowest type: fewer bytes are read.

    Example:
        >>> narrow_codes(np.array([0, 300]), 300).dtype
        dtype('uint16')
    """
    return codes.astype(np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.int32)


def size_of_search(columns: int, rows: int, largest: int) -> tuple[int, int]:
    """Return how many combinations a search looks at, and how many bytes it keeps.

    The bytes say whom each combination of one column less than the largest singles out.

    Example:
        >>> size_of_search(15, 1_000_000, 4)
        (1940, 56875455)
    """
    combinations = sum(comb(columns, size) for size in range(1, largest + 1))
    return combinations, comb(columns, largest - 1) * (rows // 8 + 1)


def minimal_uniques(
    codes: Sequence[NDArray[Any]],
    largest: int,
    progress: Callable[[float], None] = lambda _share: None,
) -> FoundUniques:
    """Return every minimal combination of up to ``largest`` columns that singles a record out.

    Exact: a record is singled out if no other agrees with it on all columns of a combination, and
    the combination is minimal if none of its parts does that. At most 64 columns; narrow codes
    (``uint8``) are read fastest.

    Example:
        >>> found = minimal_uniques([np.array([0, 0, 1], "u1"), np.array([0, 1, 1], "u1")], 2)
        >>> found.records.tolist(), found.combinations.tolist()
        ([2, 0, 1], [1, 2, 3])
    """
    rows = codes[0].size if codes else 0
    sizes = range(1, min(largest, len(codes)) + 1)
    everybody = _AgreeingRecords(
        np.arange(rows, dtype=np.int32),
        np.array([0, rows], np.int64),
        list(codes),
        np.arange(rows, dtype=np.int32),
    )
    found: list[tuple[NDArray[np.int32], int]] = []
    smaller: dict[int, Bits] = {0: np.packbits(np.full(rows, rows == 1), bitorder="little")}
    done = 0
    for size in sizes:
        search = _UniquesOfSize(codes, size, smaller, keep=size < sizes[-1])
        with ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="hartley-uniques") as pool:
            for part in pool.map(partial(search.below, everybody), range(len(codes))):
                found += part
                done += 1
                progress(done / (len(codes) * len(sizes)))
        smaller = search.bits
    records = [record for record, _ in found]
    combinations = [np.full(r.size, combination, np.uint64) for r, combination in found]
    return FoundUniques(
        np.concatenate([np.empty(0, np.int32), *records]),
        np.concatenate([np.empty(0, np.uint64), *combinations]),
    )


class _AgreeingRecords(NamedTuple):
    """Records that agree on some columns, in segments of two and more."""

    order: NDArray[np.int32]
    """Places of the records, those of a segment beside each other."""
    starts: NDArray[np.int64]
    """Where each segment begins, and the end of the last one."""
    codes: list[NDArray[Any]]
    """Every column by place."""
    records: NDArray[np.int32]
    """The number of the record at each place."""


class _UniquesOfSize:
    """The combinations of one size."""

    def __init__(
        self, codes: Sequence[NDArray[Any]], size: int, smaller: dict[int, Bits], *, keep: bool
    ) -> None:
        self.widths = [int(column.max(initial=0)) + 1 for column in codes]
        self.size, self.smaller, self.keep = size, smaller, keep
        self.bits: dict[int, Bits] = {}

    def below(
        self, node: _AgreeingRecords, column: int, before: int = 0, depth: int = 1
    ) -> list[tuple[NDArray[np.int32], int]]:
        """Look at the combinations that add a column, and then later ones, to those before."""
        combination = before | 1 << column
        if depth == self.size:
            return self._singled_out(node, column, before, combination)
        columns = len(self.widths)
        if columns - column - 1 < self.size - depth:
            return []  # too few columns are left
        tally = np.zeros(self.widths[column], np.int32)
        order, starts = _split(node.order, node.starts, node.codes[column], tally, tally.copy())
        finer = node._replace(order=order, starts=starts)
        if depth == COPIED_AT:
            later = [
                codes[order] if at > column else codes[:0] for at, codes in enumerate(node.codes)
            ]
            places = np.arange(order.size, dtype=np.int32)
            finer = _AgreeingRecords(places, starts, later, node.records[order])
        return [
            part
            for following in range(column + 1, columns)
            for part in self.below(finer, following, combination, depth + 1)
        ]

    def _singled_out(
        self, node: _AgreeingRecords, column: int, before: int, combination: int
    ) -> list[tuple[NDArray[np.int32], int]]:
        # Who is singled out by a part that has this column; by the others alone, nobody in a node.
        parts = [combination & ~(1 << at) for at in range(column) if combination >> at & 1]
        known = np.zeros_like(self.smaller[before])
        for part in parts:
            known |= self.smaller[part]
        tally = np.zeros(self.widths[column], np.int32)
        alone = _alone(
            node.order, node.starts, node.codes[column], node.records, known, tally, tally.copy()
        )
        if self.keep:
            known |= self.smaller[before]
            _set_bits(known, alone)
            self.bits[combination] = known
        return [(alone, combination)] if alone.size else []


@compiled
def _split(
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    codes: NDArray[Any],
    tally: NDArray[np.int32],
    touched: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Split segments by a column; records that are alone are left out, since nobody joins them."""
    finer = np.empty(order.size, np.int32)
    ends = np.empty(order.size // 2 + 1, np.int64)
    placed, made = 0, 0
    ends[0] = 0
    for segment in range(starts.size - 1):
        first, last = starts[segment], starts[segment + 1]
        different = 0
        for i in range(first, last):
            code = codes[order[i]]
            if tally[code] == 0:
                touched[different] = code
                different += 1
            tally[code] += 1
        # From here on a tally is where the next record of its value goes; -1: it is alone.
        for t in range(different):
            code = touched[t]
            count = tally[code]
            if count == 1:
                tally[code] = -1
            else:
                tally[code] = placed
                placed += count
                made += 1
                ends[made] = placed
        for i in range(first, last):
            code = codes[order[i]]
            if tally[code] >= 0:
                finer[tally[code]] = order[i]
                tally[code] += 1
        for t in range(different):
            tally[touched[t]] = 0
    return finer[:placed].copy(), ends[: made + 1].copy()


@compiled
def _alone(  # noqa: C901, PLR0912, PLR0913, PLR0917 - one loop over records, compiled
    order: NDArray[np.int32],
    starts: NDArray[np.int64],
    codes: NDArray[Any],
    records: NDArray[np.int32],
    known: NDArray[np.uint8],
    tally: NDArray[np.int32],
    touched: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return the records that a column makes the only ones of their segment, but those known."""
    alone = np.empty(64, np.int32)
    amount = 0
    for segment in range(starts.size - 1):
        first, last = starts[segment], starts[segment + 1]
        if last - first == 2 and codes[order[first]] == codes[order[first + 1]]:
            continue  # most segments are pairs
        different = 0
        singles = 0
        if last - first > 2 * tally.size:
            # Without a question per record: a long segment has nearly all values anyway.
            for i in range(first, last):
                tally[codes[order[i]]] += 1
            for code in range(tally.size):
                touched[code] = code
                singles += tally[code] == 1
            different = tally.size
        else:
            for i in range(first, last):
                code = codes[order[i]]
                if tally[code] == 0:
                    touched[different] = code
                    different += 1
                    singles += 1
                elif tally[code] == 1:
                    singles -= 1
                tally[code] += 1
        if singles:
            for i in range(first, last):
                if tally[codes[order[i]]] == 1:
                    record = records[order[i]]
                    if not known[record >> 3] >> (record & 7) & 1:
                        if amount == alone.size:
                            larger = np.empty(2 * alone.size, np.int32)
                            larger[:amount] = alone
                            alone = larger
                        alone[amount] = record
                        amount += 1
        for t in range(different):
            tally[touched[t]] = 0
    return alone[:amount].copy()


@compiled
def _set_bits(bits: NDArray[np.uint8], records: NDArray[np.int32]) -> None:
    for record in records:
        bits[record >> 3] |= np.uint8(1 << (record & 7))
