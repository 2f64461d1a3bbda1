"""Combinations of columns that single a record out, none of whose parts does: minimal uniques.

Columns are taken one after the other. Records that agree on the columns so far form a segment, and
a segment is split by the next column; the last two columns of a combination split it in one pass,
with a table of their cells. Records of a segment that agree on all columns to come are merged, so
that combinations of narrow columns cost a pass over few cells instead of all records. Combinations
of one size are looked at where all smaller ones are known; one bit per record says whether a
combination singles it out.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations
from math import comb, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hartley.kernels.pairs import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Bits = NDArray[np.uint8]
    Part = tuple[int, NDArray[np.int32]]


MOST_CELLS = 2**16
"""A segment is merged into no more cells: their keys have two bytes."""
ONCE = 2**32
"""What a record adds to its cell, besides its place: the cell of a single record then holds its
place, and says that there is one. Where the places of several records carry over, there are two and
more anyway."""
CELLS_A_RECORD = 4
"""A table of up to so many cells for each record is looked through; a larger one by its records."""
BLOCK = 16
"""So many cells are looked at together."""


class FoundUniques:
    """Pairs of a record and a combination of columns, smaller combinations first."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        """Each combination, one bit per column, with the records that it singles out."""

    def times_of_size(self, size: int, rows: int) -> NDArray[np.int64]:
        """Count the combinations of a size that single each record out."""
        times = np.zeros(rows, np.int64)
        for combination, records in self.parts:
            if combination.bit_count() == size:
                _count(times, records)
        return times

    def least_sizes(self, rows: int) -> NDArray[np.uint8]:
        """Return the size of the smallest combination that singles each record out; 255: none."""
        least = np.full(rows, 255, np.uint8)
        for combination, records in reversed(self.parts):  # smaller ones come first, and count
            _overwrite(least, records, combination.bit_count())
        return least


def narrow_codes(codes: NDArray[Any], largest: int) -> NDArray[Any]:
    """Return codes from 0 to the largest one in the narrowest type: fewer bytes are read."""
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
    (``uint8``) are read fastest, and columns with many values should come first.
    """
    rows = codes[0].size if codes else 0
    sizes = range(1, min(largest, len(codes)) + 1)
    everybody = _AgreeingRecords(
        np.array([0, rows], np.uint64), list(codes), np.arange(rows, dtype=np.int32), None
    )
    parts: list[Part] = []
    smaller: dict[int, Bits] = {}
    done = 0
    for size in sizes:
        search = _UniquesOfSize(codes, size, smaller, keep=size < sizes[-1])
        with ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="hartley-uniques") as pool:
            for part in pool.map(partial(search.from_column, everybody), range(len(codes))):
                parts += part
                done += 1
                progress(done / (len(codes) * len(sizes)))
        smaller = search.bits
    return FoundUniques(parts)


def minimal_uniques_of_people(
    codes: Sequence[NDArray[Any]],
    persons: NDArray[np.int64],
    largest: int,
    progress: Callable[[float], None] = lambda _share: None,
) -> FoundUniques:
    """Return every minimal combination that leaves the rows of one person alone, who has several.

    As ``minimal_uniques``, but all rows that agree on a combination may be of one person. What a
    combination singles out, its larger ones do too, with all rows that agreed: each combination
    looks at the rows that are left by its parts.
    """
    widths = [int(column.max(initial=0)) + 1 for column in codes]
    parts: list[Part] = []
    smaller: dict[int, Bits] = {}
    sizes = range(1, min(largest, len(codes)) + 1)
    for size in sizes:
        found: dict[int, Bits] = {}
        for columns in combinations(range(len(codes)), size):
            mask = sum(1 << at for at in columns)
            known = np.zeros(persons.size // 8 + 1, np.uint8)
            for at in columns:
                known |= smaller.get(mask & ~(1 << at), np.uint8(0))
            left = np.flatnonzero(np.unpackbits(known, count=persons.size, bitorder="little") == 0)
            keys, cells = np.zeros(left.size, np.int64), 1
            for at in columns:
                keys, cells = keys * widths[at] + codes[at][left], cells * widths[at]
                if cells > CELLS_A_RECORD * persons.size + MOST_CELLS:
                    values, keys = np.unique(keys, return_inverse=True)
                    cells = values.size
            alone = left[_of_one_person(keys, persons[left], cells)].astype(np.int32)
            if alone.size:
                parts.append((mask, alone))
            _set_bits(known, alone)
            if known.any():
                found[mask] = known
        smaller = found
        progress(size / len(sizes))
    return FoundUniques(parts)


@compiled
def _of_one_person(
    keys: NDArray[np.int64], persons: NDArray[np.int64], cells: int
) -> NDArray[np.bool_]:
    """Tell for every row whether all rows with its key are of one person, numbered from 0 on."""
    holder = np.full(cells, -1, np.int64)
    for i in range(keys.size):
        if holder[keys[i]] == -1:
            holder[keys[i]] = persons[i]
        elif holder[keys[i]] != persons[i]:
            holder[keys[i]] = -2
    alone = np.empty(keys.size, np.bool_)
    for i in range(keys.size):
        alone[i] = holder[keys[i]] >= 0
    return alone


class _AgreeingRecords(NamedTuple):
    """Records in segments that agree on some columns, perhaps merged into cells."""

    starts: NDArray[np.uint64]
    """Where each segment begins, and the end of the last one."""
    codes: list[NDArray[Any]]
    """Every column that may follow, segment by segment."""
    records: NDArray[np.int32]
    """The number of the record at each place."""
    held: NDArray[np.int64] | None
    """What each cell holds, with places before they were merged; None: nothing is merged."""


class _UniquesOfSize:
    """The combinations of one size."""

    def __init__(
        self, codes: Sequence[NDArray[Any]], size: int, smaller: dict[int, Bits], *, keep: bool
    ) -> None:
        self.widths = [int(column.max(initial=0)) + 1 for column in codes]
        self.narrow = [column.dtype == np.uint8 for column in codes]
        self.size, self.smaller, self.keep = size, smaller, keep
        self.bytes = codes[0].size // 8 + 1
        self.bits: dict[int, Bits] = {}
        """Whom a combination or a part of it singles out, where it is anybody."""

    def from_column(self, everybody: _AgreeingRecords, column: int) -> list[Part]:
        """Look at the combinations whose first column is a given one."""
        if self.size == 1:
            order = everybody.records
            return self._by_column(everybody, order, everybody.starts, column, 1 << column)
        return self._below(self._merge(everybody, column), column, 0)

    def _below(self, node: _AgreeingRecords, column: int, before: int) -> list[Part]:
        """Look at the combinations that add a column, and then later ones, to those before."""
        combination, columns = before | 1 << column, len(self.widths)
        missing = self.size - combination.bit_count()
        if columns - column - 1 < missing:
            return []  # too few columns follow
        if missing == 1:
            return self._pairs_from(node, column, before)
        tally = np.zeros(self.widths[column], np.int32)
        order, starts = _split(node.starts, node.codes[column], tally, tally.copy())
        later = [
            _gathered(codes, order) if at > column else codes[:0]
            for at, codes in enumerate(node.codes)
        ]
        if node.held is None:
            finer = _AgreeingRecords(starts, later, _gathered(node.records, order), None)
        else:
            finer = node._replace(starts=starts, codes=later, held=_gathered(node.held, order))
        parts = []
        for following in range(column + 1, columns):
            finer = self._merge(finer, following)
            parts += self._below(finer, following, combination)
        return parts

    def _merge(self, node: _AgreeingRecords, first: int) -> _AgreeingRecords:
        """Merge records that agree on a column and all later ones, where that saves work."""
        widths, amount = self.widths[first:], node.codes[first].size
        cells = prod(widths)
        few = cells <= MOST_CELLS and cells * (node.starts.size - 1) <= amount
        if not few or len(widths) < 3 or not all(self.narrow[first:]):
            return node
        keys = node.codes[first].astype(np.uint16)
        for width, codes in zip(widths[1:], node.codes[first + 1 :], strict=True):
            keys *= np.uint16(width)
            keys += codes
        starts, keys, held = merged_cells(node.starts, keys, node.held, cells)
        values = np.unravel_index(np.arange(cells), widths)
        later = [_gathered(value.astype(np.uint8), keys) for value in values]
        chosen = [codes[:0] for codes in node.codes[:first]]
        return node._replace(starts=starts, codes=chosen + later, held=held)

    def _pairs_from(self, node: _AgreeingRecords, column: int, before: int) -> list[Part]:
        """Look at the combinations of the columns before, a given one and one that follows."""
        parts: list[Part] = []
        wide = []
        for second in range(column + 1, len(self.widths)):
            if not (self.narrow[column] and self.narrow[second]):
                wide.append(second)
                continue
            places = places_of_pair(
                node.starts,
                node.codes[column],
                node.codes[second],
                (self.widths[column], self.widths[second]),
                node.held,
            )
            parts += self._noted(before | 1 << column | 1 << second, node.records, places)
        if wide:
            # A table of all pairs of codes would be too large: segments are split further.
            tally = np.zeros(self.widths[column], np.int32)
            order, starts = _split(node.starts, node.codes[column], tally, tally.copy())
            for second in wide:
                combination = before | 1 << column | 1 << second
                parts += self._by_column(node, order, starts, second, combination)
        return parts

    def _by_column(
        self,
        node: _AgreeingRecords,
        order: NDArray[np.int32],
        starts: NDArray[np.uint64],
        column: int,
        combination: int,
    ) -> list[Part]:
        """Look at one combination: a column splits segments of an order of places."""
        tally = np.zeros(self.widths[column], np.int32)
        places = _alone(order, starts, node.codes[column], tally, tally.copy())
        return self._noted(combination, node.records, places)

    def _noted(
        self, combination: int, records: NDArray[np.int32], places: NDArray[np.int32]
    ) -> list[Part]:
        """Note whom a combination singles out, and return those whom no part of it does."""
        if not (places.size or self.keep):
            return []
        members = (1 << at for at in range(combination.bit_length()) if combination >> at & 1)
        parts = (self.smaller.get(combination & ~member) for member in members)
        bits = [part for part in parts if part is not None]
        if not bits:
            alone, known = _gathered(records, places), np.zeros(self.bytes, np.uint8)
        else:
            known = bits[0].copy() if len(bits) > 1 or self.keep else bits[0]
            for more in bits[1:]:
                known |= more
            alone = _unknown(places, records, known)
        if self.keep and (bits or alone.size):
            _set_bits(known, alone)
            self.bits[combination] = known
        return [(combination, alone)] if alone.size else []


@compiled
def places_of_pair(
    starts: NDArray[np.uint64],
    first_codes: NDArray[np.uint8],
    second_codes: NDArray[np.uint8],
    widths: tuple[int, int],
    held: NDArray[np.int64] | None,
) -> NDArray[np.int32]:
    """Return the places that two narrow columns make the only ones of their segment.

    The columns split a segment into few cells, so that a table of all cells stays in the
    processor's nearest memory: one pass over the segment says which cells hold one record alone,
    and where it stands. ``starts`` says where segments begin, and the end of the last; ``held``
    what each merged cell holds, None where there is one code a place.
    """
    table = np.zeros(-(-widths[0] * widths[1] // BLOCK) * BLOCK, np.int64)
    places = np.empty(1024, np.int32)
    amount = 0
    times, once, high = np.uint64(widths[1]), np.uint64(ONCE), np.int64(32)
    for segment in range(starts.size - 1):
        first, last = starts[segment], starts[segment + 1]
        for i in range(first, last):
            cell = np.uint64(first_codes[i]) * times + np.uint64(second_codes[i])
            table[cell] += np.int64(once + i) if held is None else held[i]
        size = np.int64(last - first)
        if amount + size + BLOCK >= places.size:
            larger = np.empty(2 * places.size + size, np.int32)
            larger[:amount] = places[:amount]
            places = larger
        # What is not of a single record is overwritten by the next: no question, no wrong guess.
        if table.size > CELLS_A_RECORD * size:
            for i in range(first, last):
                cell = np.uint64(first_codes[i]) * times + np.uint64(second_codes[i])
                places[amount] = table[cell]
                amount += table[cell] >> high == 1
                table[cell] = 0
        else:
            for begin in range(0, table.size, BLOCK):
                block = table[begin : begin + BLOCK]
                singles = 0
                for at in range(BLOCK):
                    singles += block[at] >> high == 1
                if singles:
                    for at in range(BLOCK):
                        places[amount] = block[at]
                        amount += block[at] >> high == 1
            table[:] = 0
    return places[:amount].copy()


@compiled
def merged_cells(
    starts: NDArray[np.uint64],
    keys: NDArray[np.uint16],
    held: NDArray[np.int64] | None,
    cells: int,
) -> tuple[NDArray[np.uint64], NDArray[np.uint16], NDArray[np.int64]]:
    """Merge the places of a segment that have the same key.

    Returns where each segment begins, the keys that occur in it, and what the cell of each holds.
    """
    table = np.zeros(cells, np.int64)
    most = min(keys.size, cells * (starts.size - 1)) + 1
    merged_keys, merged = np.empty(most, np.uint16), np.empty(most, np.int64)
    ends = np.zeros(starts.size, np.uint64)
    amount, once = 0, np.uint64(ONCE)
    for segment in range(starts.size - 1):
        for i in range(starts[segment], starts[segment + 1]):
            key = np.uint64(keys[i])
            table[key] += np.int64(once + i) if held is None else held[i]
        for cell in range(cells):
            merged_keys[amount] = cell
            merged[amount] = table[cell]
            amount += table[cell] != 0
        table[:] = 0
        ends[segment + 1] = amount
    return ends, merged_keys[:amount].copy(), merged[:amount].copy()


@compiled
def _gathered(codes: NDArray[Any], order: NDArray[Any]) -> NDArray[Any]:
    """Return the codes at some places; other threads go on meanwhile."""
    gathered = np.empty(order.size, codes.dtype)
    for i in range(order.size):
        gathered[i] = codes[np.uint64(order[i])]
    return gathered


@compiled
def _split(
    starts: NDArray[np.uint64],
    codes: NDArray[Any],
    tally: NDArray[np.int32],
    touched: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Split segments by a column; records that are alone are left out, since nobody joins them."""
    finer = np.empty(codes.size, np.int32)
    ends = np.empty(codes.size // 2 + 1, np.uint64)
    placed, made = 0, 0
    ends[0] = 0
    for segment in range(starts.size - 1):
        first, last = starts[segment], starts[segment + 1]
        different = 0
        for i in range(first, last):
            code = np.uint64(codes[i])
            if tally[code] == 0:
                touched[different] = code
                different += 1
            tally[code] += 1
        # From here on a tally is where the next record of its value goes; -1: it is alone.
        for t in range(different):
            code = np.uint64(touched[t])
            count = tally[code]
            if count == 1:
                tally[code] = -1
            else:
                tally[code] = placed
                placed += count
                made += 1
                ends[made] = placed
        for i in range(first, last):
            code = np.uint64(codes[i])
            if tally[code] >= 0:
                finer[tally[code]] = i
                tally[code] += 1
        for t in range(different):
            tally[touched[t]] = 0
    return finer[:placed].copy(), ends[: made + 1].copy()


@compiled
def _alone(  # noqa: C901, PLR0912 - one loop over places, compiled
    order: NDArray[np.int32],
    starts: NDArray[np.uint64],
    codes: NDArray[Any],
    tally: NDArray[np.int32],
    touched: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return the places of an order that a column makes the only ones of their segment."""
    alone = np.empty(1024, np.int32)
    amount = 0
    for segment in range(starts.size - 1):
        first, last = starts[segment], starts[segment + 1]
        size = np.int64(last - first)
        if size == 2 and codes[order[first]] == codes[order[last - np.uint64(1)]]:
            continue  # most segments are pairs
        different = 0
        singles = 0
        if size > 2 * tally.size:
            # Without a question per place: a long segment has nearly all values anyway.
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
            if amount + singles >= alone.size:
                larger = np.empty(2 * alone.size + singles, np.int32)
                larger[:amount] = alone[:amount]
                alone = larger
            for i in range(first, last):
                if tally[codes[order[i]]] == 1:
                    alone[amount] = order[i]
                    amount += 1
        for t in range(different):
            tally[touched[t]] = 0
    return alone[:amount].copy()


@compiled
def _unknown(
    places: NDArray[np.int32], records: NDArray[np.int32], known: Bits
) -> NDArray[np.int32]:
    """Return the records at some places, but those known."""
    unknown = np.empty(places.size + 1, np.int32)
    amount = 0
    for place in places:
        record = records[np.uint64(place)]
        unknown[amount] = record
        amount += 1 - (known[np.uint64(record) >> np.uint64(3)] >> (record & 7) & 1)
    return unknown[:amount].copy()


@compiled
def _set_bits(bits: Bits, records: NDArray[np.int32]) -> None:
    for record in records:
        bits[record >> 3] |= np.uint8(1 << (record & 7))


@compiled
def _overwrite(sizes: NDArray[np.uint8], records: NDArray[np.int32], size: int) -> None:
    for record in records:
        sizes[np.uint64(record)] = size


@compiled
def _count(times: NDArray[np.int64], records: NDArray[np.int32]) -> None:
    for record in records:
        times[np.uint64(record)] += 1
