"""Count distinct pairs of integer codes without ever sorting or storing the pairs.

A row is packed into one integer, released code above secret code. Batches of rows are split by
the high bits of the released code as they arrive; every part then fits the cache, where a
counting sort groups it by released code and a stamp array finds the distinct secrets of each
group. Memory is four bytes a row where the low bits fit, plus arrays over the two ranges.
"""

from __future__ import annotations

import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numba
import numpy as np

from hartley.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    Function = TypeVar("Function", bound=Callable[..., Any])
    Codes = NDArray[np.uint8]


# --- compiling ------------------------------------------------------------------------------------
# Functions that numba compiles on first use, with the result kept for later processes.


def compiled(function: Function) -> Function:
    """Compile a function on first use, and keep the result where a cache can be written."""
    try:
        return numba.njit(nogil=True, cache=True)(function)  # type: ignore[return-value]  # called like the function
    except RuntimeError:  # nowhere to write: compile anew in every process
        return numba.njit(nogil=True)(function)  # type: ignore[return-value]  # called like the function


# --- components -----------------------------------------------------------------------------------
# Connected components of a bipartite graph given by its edges.


@compiled
def find_root(parent: NDArray[np.int32], node: int) -> int:
    """Return the root of a node and halve its path on the way."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@compiled
def join(parent: NDArray[np.int32], first: int, second: int) -> int:
    """Join two trees under the smaller root and return it: labels do not depend on the order."""
    first = find_root(parent, first)
    second = find_root(parent, second)
    if second < first:
        first, second = second, first
    parent[second] = first
    return first


@compiled
def join_edges(
    parent: NDArray[np.int32],
    first: NDArray[np.int32],
    secrets: NDArray[np.int64],
    released: NDArray[np.int64],
) -> None:
    """Join every secret with the first secret seen beside the same released value.

    Only secrets are nodes: a released value remembers one of its secrets, stored as its number
    plus one, so that zero, which fresh memory holds anyway, means none. Indices are unsigned,
    which saves a check of their sign for every edge.
    """
    for i in range(secrets.size):
        node, place = np.uint64(secrets[i]), np.uint64(released[i])
        held = first[place]
        if held == 0:
            first[place] = np.int32(node) + np.int32(1)
            continue
        other = np.uint64(held - 1)
        above, beyond = np.uint64(parent[node]), np.uint64(parent[other])
        if above == beyond:
            continue
        # Climb to both roots, halving the paths on the way.
        while above != node:
            parent[node] = parent[above]
            node = np.uint64(parent[above])
            above = np.uint64(parent[node])
        while beyond != other:
            parent[other] = parent[beyond]
            other = np.uint64(parent[beyond])
            beyond = np.uint64(parent[other])
        # A parent is always the smaller one, which ``number_trees`` relies on.
        parent[max(node, other)] = np.int32(min(node, other))


@compiled
def merge_forests(parent: NDArray[np.int32], other: NDArray[np.int32]) -> None:
    """Join in the first forest all nodes that are joined in the second one."""
    for node in range(parent.size):
        if other[node] != node:
            join(parent, node, other[node])


@compiled
def number_trees(parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return for every node the number of its tree, trees numbered by their smallest node."""
    labels = np.empty(parent.size, np.int32)
    trees = 0
    for node in range(parent.size):
        if parent[node] == node:
            labels[node] = trees
            trees += 1
        else:
            labels[node] = labels[parent[node]]  # a parent is smaller, so it has its number
    return labels


def component_labels(
    secrets: NDArray[np.int64], released: NDArray[np.int64], sizes: tuple[int, int]
) -> NDArray[np.int32]:
    """Return the component of every secret, given the edges and the sizes of both sides.

    Near-linear in the number of edges; one 32-bit integer a secret and a released value.

    Example:
        >>> edges = np.array([0, 1, 2]), np.array([0, 0, 1])
        >>> component_labels(*edges, (3, 2))
        array([0, 0, 1], dtype=int32)
    """
    parent = np.arange(sizes[0], dtype=np.int32)
    first = np.zeros(sizes[1], dtype=np.int32)
    join_edges(parent, first, secrets, released)
    return number_trees(parent)


# --- pairs ----------------------------------------------------------------------------------------


LARGEST_PART = 4096
PENDING = 4

STAMP, COUNT, PARENT, SEEN, ROWS, RECORD = 0, 1, 2, 3, 4, 8
"""Columns of the record that is kept of a secret: half a cache line, touched as one."""

MOST_ROWS = 2**31 - 1
"""Counts of a record are 32-bit integers."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What one pass over all pairs has counted, by code; codes that never occur have zero rows."""

    secret_rows: NDArray[np.int64]
    released_rows: NDArray[np.int64]
    secrets_seen: NDArray[np.int64]
    """Distinct secrets beside each released code."""
    released_seen: NDArray[np.int64]
    """Distinct released codes beside each secret."""
    labels: NDArray[np.int32]
    """Tree of each secret code."""
    first_secret: NDArray[np.int32]
    """One secret of each released code, -1 where there is none."""
    row_bits: float
    """Sum over the pairs of count * log2(count)."""
    peak_share: float
    """Sum over the released codes of the largest count(pair) / count(secret)."""


def table_changed() -> EngineError:
    """Return the error for codes that the table did not have when it was read first."""
    return EngineError("The table changed while it was being counted", hint="count it again")


def bits_for(width: int) -> int:
    """Return how many bits hold the codes below a width."""
    return max(int(width - 1).bit_length(), 1)


def bytes_needed(rows: int, secrets: int, released: int, *, threads: int = 2) -> int:
    """Return about how many bytes a tally of so many rows and codes takes."""
    layout = _Layout(secrets, released)
    key = 4 if layout.narrow else 8
    return rows * key + (16 + 32 * threads) * (1 << layout.secret_bits) + 32 * released


class _Layout:
    """Where the bits of a packed pair are cut."""

    def __init__(self, secrets: int, released: int) -> None:
        self.secret_bits = bits_for(secrets)
        released_bits = bits_for(released)
        # A part keeps the low bits of the released code beside the secret. Four bytes a row where
        # both fit into 32 bits; about 2^10 codes a part, so that its counters stay in the cache;
        # and never more than a few thousand parts, since each needs a place to write to.
        spare = max(32 - self.secret_bits, 0)
        few_parts = max(released_bits - bits_for(LARGEST_PART), 0)
        self.low_bits = max(min(released_bits, spare, 10), few_parts)
        self.narrow = self.secret_bits + self.low_bits <= 32
        self.shift = self.secret_bits + self.low_bits
        self.parts = ((released - 1) >> self.low_bits) + 1


class PairTally:
    """Take packed pairs batch by batch, then count them in parallel.

    A pair is packed as ``released << secret_bits | secret``; the result does not depend on the
    number of threads.

    Example:
        >>> tally = PairTally(secrets=3, released=2)
        >>> tally.add(np.array([0b0_00, 0b0_01, 0b0_01, 0b1_10]))
        >>> result = tally.finish()
        >>> result.secrets_seen, result.labels
        (array([2, 1]), array([0, 0, 1], dtype=int32))
    """

    def __init__(self, *, secrets: int, released: int, threads: int = 2) -> None:
        self._layout = _Layout(secrets, released)
        self._secrets, self._released, self._threads = secrets, released, threads
        self._secret_rows = np.zeros(1 << self._layout.secret_bits, np.int64)
        self._chunks: list[Future[tuple[NDArray[np.unsignedinteger], NDArray[np.int64]]]] = []
        self._splitter = ThreadPoolExecutor(1, thread_name_prefix="hartley-split")

    @property
    def secret_bits(self) -> int:
        """How many low bits of a packed pair hold the secret."""
        return self._layout.secret_bits

    def add(self, keys: NDArray[np.int64]) -> None:
        """Take a batch of packed pairs; it is split in the background."""
        if len(self._chunks) >= PENDING:
            self._chunks[-PENDING].result()  # keep no more than a few unsplit batches in memory
        self._chunks.append(self._splitter.submit(self._split, keys))

    def _split(
        self, keys: NDArray[np.int64]
    ) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int64]]:
        out: NDArray[np.unsignedinteger] = np.empty(
            keys.size, np.dtype("uint32" if self._layout.narrow else "uint64")
        )
        offsets = np.zeros(self._layout.parts + 1, np.int64)
        if not _split_keys(keys, self._layout.shift, out, offsets, self._secret_rows):
            raise table_changed()
        return out, offsets

    def finish(self) -> Tally:
        """Count everything that was added."""
        chunks = [chunk.result() for chunk in self._chunks]
        self._splitter.shutdown()
        self._chunks = []
        layout = self._layout
        by_released = _ReleasedArrays(layout.parts << layout.low_bits, layout.parts)
        with ThreadPoolExecutor(self._threads, thread_name_prefix="hartley-count") as pool:
            workers = [
                pool.submit(self._count_parts, chunks, by_released, worker)
                for worker in range(self._threads)
            ]
            results = [worker.result() for worker in workers]
        parent = np.ascontiguousarray(results[0][:, PARENT])
        released_seen = results[0][:, SEEN].astype(np.int64)
        for other in results[1:]:
            merge_forests(parent, np.ascontiguousarray(other[:, PARENT]))
            released_seen += other[:, SEEN]
        return Tally(
            secret_rows=self._secret_rows[: self._secrets],
            released_rows=by_released.rows[: self._released],
            secrets_seen=by_released.seen[: self._released],
            released_seen=released_seen[: self._secrets],
            labels=number_trees(parent)[: self._secrets],
            first_secret=by_released.first[: self._released],
            row_bits=math.fsum(by_released.row_bits),
            peak_share=math.fsum(by_released.peaks),
        )

    def _count_parts(
        self,
        chunks: list[tuple[NDArray[np.unsignedinteger], NDArray[np.int64]]],
        arrays: _ReleasedArrays,
        worker: int,
    ) -> NDArray[np.int32]:
        """Count every part of one worker; parts are disjoint, so the arrays are shared."""
        layout = self._layout
        secrets = np.zeros((1 << layout.secret_bits, RECORD), np.int32)
        secrets[:, PARENT] = np.arange(secrets.shape[0])
        secrets[:, ROWS] = self._secret_rows
        # Secrets are counted by every worker for itself and merged afterwards; released codes
        # belong to one part and so to one worker. Neither needs a lock, and sums of whole numbers
        # do not depend on the order.
        for part in range(worker, layout.parts, self._threads):
            keys = np.concatenate([out[at[part] : at[part + 1]] for out, at in chunks])
            here = slice(part << layout.low_bits, (part + 1) << layout.low_bits)
            arrays.row_bits[part], arrays.peaks[part] = _count_part(
                keys,
                layout.secret_bits,
                here.start,
                arrays.rows[here],
                arrays.seen[here],
                arrays.first[here],
                secrets,
            )
        return secrets


class _ReleasedArrays:
    """Arrays over the released codes and over the parts, shared by the workers."""

    def __init__(self, width: int, parts: int) -> None:
        self.rows = np.zeros(width, np.int64)
        self.seen = np.zeros(width, np.int64)
        self.first = np.full(width, -1, np.int32)
        self.row_bits = np.zeros(parts, np.float64)
        self.peaks = np.zeros(parts, np.float64)


@compiled
def _split_keys(
    keys: NDArray[np.int64],
    shift: int,
    out: NDArray[np.unsignedinteger],
    offsets: NDArray[np.int64],
    secret_rows: NDArray[np.int64],
) -> bool:
    """Place every key in its part, without the bits that name the part; count the secrets.

    A key outside all parts is refused: it would be written outside of the arrays.
    """
    parts = offsets.size - 1
    for i in range(keys.size):
        part = keys[i] >> shift
        if part < 0 or part >= parts:
            return False
        offsets[part + 1] += 1
    for part in range(offsets.size - 1):
        offsets[part + 1] += offsets[part]
    place = offsets[:-1].copy()
    low = (1 << shift) - 1
    secret = secret_rows.size - 1
    for i in range(keys.size):
        key = keys[i]
        part = key >> shift
        out[place[part]] = key & low
        place[part] += 1
        secret_rows[key & secret] += 1
    return True


@compiled
def _root(secrets: NDArray[np.int32], node: int) -> int:
    """Return the root of a secret and halve its path on the way."""
    while secrets[node, PARENT] != node:
        secrets[node, PARENT] = secrets[secrets[node, PARENT], PARENT]
        node = secrets[node, PARENT]
    return node


@compiled
def _group(
    keys: NDArray[np.unsignedinteger], secret_bits: int, rows: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the secrets of a part grouped by released code, and count the rows of each."""
    for i in range(keys.size):
        rows[np.int64(keys[i]) >> secret_bits] += 1
    place = np.cumsum(rows) - rows
    grouped = np.empty(keys.size, np.int32)
    mask = (1 << secret_bits) - 1
    for i in range(keys.size):
        key = np.int64(keys[i])
        grouped[place[key >> secret_bits]] = key & mask
        place[key >> secret_bits] += 1
    return grouped


@compiled
def _count_part(  # noqa: PLR0913, PLR0917 - one pass over the cache counts all at once
    keys: NDArray[np.unsignedinteger],
    secret_bits: int,
    base: int,
    rows: NDArray[np.int64],
    seen: NDArray[np.int64],
    first: NDArray[np.int32],
    secrets: NDArray[np.int32],
) -> tuple[float, float]:
    """Count the distinct pairs of one part; return its row bits and the sum of its peaks."""
    grouped = _group(keys, secret_bits, rows)
    row_bits, peaks, end = 0.0, 0.0, 0
    for code in range(rows.size):
        start, end = end, end + rows[code]
        if start == end:
            continue
        distinct, root, fewest = start, _root(secrets, grouped[start]), np.int64(1) << 62
        for i in range(start, end):
            secret = grouped[i]
            # The stamp names the released code that was seen last beside the secret, so that
            # nothing has to be cleared between two codes; zero, which fresh memory holds, names
            # none.
            if secrets[secret, STAMP] == base + code + 1:
                secrets[secret, COUNT] += 1
                continue
            secrets[secret, STAMP] = base + code + 1
            secrets[secret, COUNT] = 1
            secrets[secret, SEEN] += 1
            fewest = min(fewest, secrets[secret, ROWS])
            if secrets[secret, PARENT] != root:
                other = _root(secrets, secret)
                # Under the smaller root: labels do not depend on the order of the rows or on
                # threads.
                secrets[max(root, other), PARENT] = min(root, other)
                root = min(root, other)
            grouped[distinct] = secret  # never ahead of i: the front holds the distinct ones
            distinct += 1
        seen[code], first[code] = distinct - start, grouped[start]
        # The largest count over rows of the secret. A pair that occurs once is largest for the
        # rarest secret, which the loop above knows already.
        best = 1.0 / fewest  # of the pairs that occur once; the others follow
        if distinct < end:
            for i in range(start, distinct):
                times = secrets[grouped[i], COUNT]
                if times > 1:
                    row_bits += times * np.log2(times)
                    best = max(best, times / secrets[grouped[i], ROWS])
        peaks += best
    return row_bits, peaks


class PairCounter:
    """Take distinct pairs with their counts, as an engine streams them, in two passes.

    The first pass counts rows and joins components; the second, over the same pairs in any
    order, finds the largest share. Memory is a few integers a code, however many pairs there are.

    Example:
        >>> counter = PairCounter(secrets=3, released=2)
        >>> pairs = np.array([0, 1, 2]), np.array([0, 0, 1]), np.array([1, 2, 1])
        >>> counter.add(*pairs)
        >>> counter.add_shares(*pairs)
        >>> counter.finish().secrets_seen
        array([2, 1])
    """

    def __init__(self, *, secrets: int, released: int) -> None:
        self._secret_rows = np.zeros(secrets, np.int64)
        self._released_rows = np.zeros(released, np.int64)
        self._secrets_seen = np.zeros(released, np.int64)
        self._released_seen = np.zeros(secrets, np.int64)
        self._parent = np.arange(secrets, dtype=np.int32)
        self._first = np.zeros(released, np.int32)
        self._peak = np.zeros(released, np.float64)
        self._row_bits: list[float] = []

    def add(
        self, secrets: NDArray[np.int64], released: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None:
        """Take distinct pairs in the first pass."""
        for codes, width in ((secrets, self._parent.size), (released, self._first.size)):
            if codes.size and (codes.min() < 0 or codes.max() >= width):
                raise table_changed()
        _count_rows(secrets, counts, self._secret_rows, self._released_seen)
        _count_rows(released, counts, self._released_rows, self._secrets_seen)
        join_edges(self._parent, self._first, secrets, released)
        self._row_bits.append(float(counts @ np.log2(counts)))

    def add_shares(
        self, secrets: NDArray[np.int64], released: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> None:
        """Take the same pairs again in the second pass."""
        np.maximum.at(self._peak, released, counts / self._secret_rows[secrets])

    def finish(self) -> Tally:
        """Return what was counted."""
        return Tally(
            secret_rows=self._secret_rows,
            released_rows=self._released_rows,
            secrets_seen=self._secrets_seen,
            released_seen=self._released_seen,
            labels=number_trees(self._parent),
            first_secret=self._first - 1,
            row_bits=math.fsum(self._row_bits),
            peak_share=math.fsum(self._peak),
        )


@compiled
def _count_rows(
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
    rows: NDArray[np.int64],
    seen: NDArray[np.int64],
) -> None:
    """Add counts to the rows of their codes and one to what each code was seen beside."""
    for i in range(codes.size):
        rows[codes[i]] += counts[i]
        seen[codes[i]] += 1


# --- unique pairs ---------------------------------------------------------------------------------
# Places that two more columns make the only ones of their segment, and places merged into cells.
#
# A segment holds records that agree on some columns, at places beside each other. Two narrow
# columns split it into few cells, so that a table of all cells stays in the processor's nearest
# memory: one pass over the segment says which cells hold one record alone, and where that record
# stands.

ONCE = 2**32
"""What a record adds to its cell, besides its place: the cell of a single record then holds its
place, and says that there is one. Where the places of several records carry over, there are two and
more anyway."""
CELLS_A_RECORD = 4
"""A table of up to so many cells for each record is looked through; a larger one by its records."""
BLOCK = 16
"""So many cells are looked at together."""


@compiled
def places_of_pair(
    starts: NDArray[np.uint64],
    first_codes: Codes,
    second_codes: Codes,
    widths: tuple[int, int],
    held: NDArray[np.int64] | None,
) -> NDArray[np.int32]:
    """Return the places that two columns make the only ones of their segment.

    Args:
        starts: where each segment begins, and the end of the last one.
        first_codes: the codes of one column, segment by segment.
        second_codes: those of another column.
        widths: how many codes each column has.
        held: None where there is one code a place; else what each merged cell holds.

    Example:
        >>> sex, age = np.array([0, 0, 0, 1], "u1"), np.array([1, 1, 0, 1], "u1")
        >>> places_of_pair(np.array([0, 3, 4], "u8"), sex, age, (2, 2), None)
        array([2, 3], dtype=int32)
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

    Returns:
        where each segment begins, the keys that occur in it, and what the cell of each holds.

    Example:
        >>> starts, keys, held = merged_cells(
        ...     np.array([0, 3], "u8"), np.array([1, 0, 1], "u2"), None, 2
        ... )
        >>> keys, held // ONCE, int(held[0]) % ONCE
        (array([0, 1], dtype=uint16), array([1, 2]), 1)
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


# --- numbering ------------------------------------------------------------------------------------
# Number the distinct values of an array by a table of those seen, without sorting the array.

FIRST_SLOTS = 2**12
FEWEST_ROWS = 2**14
"""With fewer rows, a sort takes no longer."""
ROWS_A_VALUE = 8
"""With fewer rows a distinct value, the table outgrows the cache and a sort is as quick."""


def number_values(column: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Number the values of an array of numbers in their order; None where a sort does better.

    Returns the number of every row and, of every distinct value, one row that has it. Equal
    numbers are one value, as are all that are not a number, which come last. One pass over the
    rows, and a sort of the distinct values alone.

    Example:
        >>> numbers, rows = number_values(np.tile([0.5, -0.0, 0.25, 0.0], 5000))
        >>> numbers[:4].tolist(), rows.tolist()
        ([2, 0, 1, 0], [1, 2, 0])
    """
    if column.size < FEWEST_ROWS or column.dtype.kind not in "iuf" or column.dtype.itemsize > 8:
        return None
    if column.dtype.kind == "f":
        values = column.astype(np.float64) + 0.0  # minus zero becomes zero
        values[np.isnan(values)] = np.nan
        patterns = values.view(np.int64)
    else:
        values = np.ascontiguousarray(column)
        patterns = values.astype(np.uint64 if column.dtype.kind == "u" else np.int64)
        patterns = patterns.view(np.int64)
    numbers = np.empty(column.size, np.int64)
    firsts = np.empty(column.size // ROWS_A_VALUE, np.int64)
    count = _number(patterns, numbers, firsts)
    if count < 0:
        return None
    firsts = firsts[:count]
    order = np.argsort(values[firsts], kind="stable")
    places = np.empty(count, np.int64)
    places[order] = np.arange(count)
    return places[numbers], firsts[order]


@compiled
def _number(
    patterns: NDArray[np.int64], numbers: NDArray[np.int64], firsts: NDArray[np.int64]
) -> int:
    """Number patterns as they come; -1 if there are more than there is room for."""
    slots = FIRST_SLOTS
    table = np.full(slots, -1, np.int64)
    count = 0
    for row in range(patterns.size):
        pattern = patterns[row]
        slot = _slot(pattern, slots)
        while table[slot] >= 0 and patterns[firsts[table[slot]]] != pattern:
            slot = (slot + 1) & (slots - 1)
        if table[slot] < 0:
            if count == firsts.size:
                return -1
            firsts[count] = row
            table[slot] = count
            count += 1
            if 2 * count > slots:  # half full: four times as large
                slots *= 4
                table = np.full(slots, -1, np.int64)
                for number in range(count):
                    again = _slot(patterns[firsts[number]], slots)
                    while table[again] >= 0:
                        again = (again + 1) & (slots - 1)
                    table[again] = number
            numbers[row] = count - 1
        else:
            numbers[row] = table[slot]
    return count


@compiled
def _slot(pattern: int, slots: int) -> np.int64:
    """Return where the search for a pattern begins: its bits, mixed by two odd factors."""
    mixed = np.uint64(pattern) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return np.int64((mixed >> np.uint64(20)) & np.uint64(slots - 1))


# --- counters -------------------------------------------------------------------------------------
# Random numbers that depend on a seed and a count only, not on threads or the order of draws.

GOLDEN, FIRST, SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
S27, S30, S31, S32, ONE = (np.uint64(shift) for shift in (27, 30, 31, 32, 1))


@compiled
def mixed(state: np.uint64) -> np.uint64:
    """Return the scrambled state of SplitMix64 (Steele, Lea and Flood 2014)."""
    state = (state ^ (state >> S30)) * FIRST
    state = (state ^ (state >> S27)) * SECOND
    return state ^ (state >> S31)


@compiled
def first_state(seed: np.uint64, game: np.uint64) -> np.uint64:
    """Return the state with which the random numbers of one game, or of one trial, begin."""
    return mixed(seed ^ mixed(game + ONE))


@compiled
def bounded_draw(state: np.uint64, below: int) -> np.int64:
    """Return the whole number below a bound that a state stands for; even to one part in 2^32."""
    # The upper 32 bits times a bound below 2^32 fit into 64 bits; no division, no rejection.
    return np.int64(((mixed(state) >> S32) * np.uint64(below)) >> S32)
