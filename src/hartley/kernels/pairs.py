"""Distinct pairs of integer codes, their components, and the numbers of distinct values."""

from __future__ import annotations

import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numba
import numpy as np

from hartley.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from numpy.typing import NDArray

    Function = TypeVar("Function", bound=Callable[..., Any])


LARGEST_PART = 4096
PENDING = 4
"""As many batches wait to be counted, at most."""
STAMP, COUNT, PARENT, SEEN, ROWS, RECORD = 0, 1, 2, 3, 4, 8
"""Columns of the record that is kept of a secret: half a cache line, touched as one."""
MOST_ROWS = 2**31 - 1
"""Counts of a record are 32-bit integers, and products of two counts fit into 63 bits."""
FIRST_SLOTS = 2**12
FEWEST_ROWS = 2**14
"""With fewer rows, numbering values by a sort takes no longer than by a table."""
ROWS_A_VALUE = 8
"""With fewer rows a distinct value, the table outgrows the cache and a sort is as quick."""


def compiled(function: Function, *, fastmath: Iterable[str] = ()) -> Function:
    """Compile a function on first use, and keep the result where a cache can be written."""
    try:
        return numba.njit(nogil=True, cache=True, fastmath=set(fastmath))(function)  # type: ignore[return-value]  # called like the function
    except RuntimeError:  # nowhere to write: compile anew in every process
        return numba.njit(nogil=True, fastmath=set(fastmath))(function)  # type: ignore[return-value]  # called like the function


# --- components of a bipartite graph, given by its edges ------------------------------------------


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
    """
    parent = np.arange(sizes[0], dtype=np.int32)
    first = np.zeros(sizes[1], dtype=np.int32)
    join_edges(parent, first, secrets, released)
    return number_trees(parent)


# --- counting pairs, without ever sorting or storing them -----------------------------------------
#
# A row is packed into one integer, released code above secret code. Batches of rows are split by
# the high bits of the released code as they arrive; every part then fits the cache, where a
# counting sort groups it by released code and a stamp array finds the distinct secrets of each
# group. Memory is four bytes a row where the low bits fit, plus arrays over the two ranges.


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
    likely: NDArray[np.int64]
    """For each released code, the row of ``Summary.likely``."""


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
        # Arrays over the released codes and over the parts, shared by the workers.
        width = layout.parts << layout.low_bits
        rows, seen, first, likely = (
            np.zeros(width, np.int64),
            np.zeros(width, np.int64),
            np.full(width, -1, np.int32),
            np.zeros((width, 6), np.int64),
        )
        row_bits, peaks = np.zeros((2, layout.parts))
        total = int(self._secret_rows.sum())

        def count(worker: int) -> NDArray[np.int32]:
            secrets = np.zeros((1 << layout.secret_bits, RECORD), np.int32)
            secrets[:, PARENT] = np.arange(secrets.shape[0])
            secrets[:, ROWS] = self._secret_rows
            # Secrets are counted by every worker for itself and merged afterwards; released codes
            # belong to one part and so to one worker. Neither needs a lock, and sums of whole
            # numbers do not depend on the order.
            for part in range(worker, layout.parts, self._threads):
                keys = np.concatenate([out[at[part] : at[part + 1]] for out, at in chunks])
                here = slice(part << layout.low_bits, (part + 1) << layout.low_bits)
                row_bits[part], peaks[part] = _count_part(
                    keys,
                    layout.secret_bits,
                    here.start,
                    rows[here],
                    seen[here],
                    first[here],
                    likely[here],
                    secrets,
                    total,
                )
            return secrets

        with ThreadPoolExecutor(self._threads, thread_name_prefix="hartley-count") as pool:
            results = list(pool.map(count, range(self._threads)))
        parent = np.ascontiguousarray(results[0][:, PARENT])
        released_seen = results[0][:, SEEN].astype(np.int64)
        for other in results[1:]:
            merge_forests(parent, np.ascontiguousarray(other[:, PARENT]))
            released_seen += other[:, SEEN]
        return Tally(
            secret_rows=self._secret_rows[: self._secrets],
            released_rows=rows[: self._released],
            secrets_seen=seen[: self._released],
            released_seen=released_seen[: self._secrets],
            labels=number_trees(parent)[: self._secrets],
            first_secret=first[: self._released],
            row_bits=math.fsum(row_bits),
            peak_share=math.fsum(peaks),
            likely=likely[: self._released].T,
        )


@compiled
def _split_keys(
    keys: NDArray[np.int64],
    shift: int,
    out: NDArray[np.unsignedinteger],
    offsets: NDArray[np.int64],
    secret_rows: NDArray[np.int64],
) -> bool:
    """Place every key in its part and count the secrets; False if a key is outside all parts."""
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
def _count_part(  # noqa: PLR0913, PLR0917, C901 - one pass over the cache counts all at once
    keys: NDArray[np.unsignedinteger],
    secret_bits: int,
    base: int,
    rows: NDArray[np.int64],
    seen: NDArray[np.int64],
    first: NDArray[np.int32],
    likely: NDArray[np.int64],
    secrets: NDArray[np.int32],
    total: int,
) -> tuple[float, float]:
    """Count the distinct pairs of one part; return its row bits and the sum of its peaks."""
    grouped, parent = _group(keys, secret_bits, rows), secrets[:, PARENT]
    row_bits, peaks, end = 0.0, 0.0, 0
    for code in range(rows.size):
        start, end = end, end + rows[code]
        if start == end:
            continue
        distinct, root, fewest = start, find_root(parent, grouped[start]), np.int64(1) << 62
        above, usual, size = np.int64(0), np.int64(0), np.int64(end - start)
        of_most = np.int64(0)
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
            held = np.int64(secrets[secret, ROWS])
            fewest, of_most = min(fewest, held), max(of_most, held)
            raised = np.int64(total > held * size)  # as if it occurred here once
            above += raised
            usual += raised * held
            if parent[secret] != root:
                root = join(parent, root, secret)
            grouped[distinct] = secret  # never ahead of i: the front holds the distinct ones
            distinct += 1
        seen[code], first[code] = distinct - start, grouped[start]
        # The largest count over rows of the secret. A pair that occurs once is largest for the
        # rarest secret, which the loop above knows already.
        best = 1.0 / fewest  # of the pairs that occur once; the others follow
        most, gained, of_gained = np.int64(1), np.int64(1), fewest
        if distinct < end:
            for i in range(start, distinct):
                times = np.int64(secrets[grouped[i], COUNT])
                if times > 1:
                    held = np.int64(secrets[grouped[i], ROWS])
                    row_bits += times * np.log2(times)
                    best = max(best, times / held)
                    once = np.int64(total > held * size)
                    raised = np.int64(times * total > held * size)
                    above += raised * times - once
                    usual += (raised - once) * held
                    if times > most or (times == most and held > of_most):
                        most, of_most = times, held
                    here, there = times * of_gained, gained * held
                    if here > there or (here == there and times > gained):
                        gained, of_gained = times, held
        likely[code] = most, of_most, gained, of_gained, above, usual
        peaks += best
    return row_bits, peaks


class PairCounter:
    """Take distinct pairs with their counts, as an engine streams them, in two passes.

    The first pass counts rows and joins components; the second, over the same pairs in any
    order, finds the largest share. Memory is a few integers a code, however many pairs there are.
    """

    def __init__(self, *, secrets: int, released: int) -> None:
        self._secret_rows = np.zeros(secrets, np.int64)
        self._released_rows = np.zeros(released, np.int64)
        self._secrets_seen = np.zeros(released, np.int64)
        self._released_seen = np.zeros(secrets, np.int64)
        self._parent = np.arange(secrets, dtype=np.int32)
        self._first = np.zeros(released, np.int32)
        self._peak = np.zeros(released, np.float64)
        self._likely = np.zeros((released, 6), np.int64)
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
        sides = self._secret_rows, self._released_rows
        total = int(self._secret_rows.sum())
        add_likely(secrets, released, counts, *sides, total, self._likely)

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
            likely=self._likely.T,
        )


@compiled
def add_likely(  # noqa: PLR0913, PLR0917 - a compiled loop takes plain arrays
    secrets: NDArray[np.int64],
    released: NDArray[np.int64],
    counts: NDArray[np.int64],
    secret_rows: NDArray[np.int64],
    released_rows: NDArray[np.int64],
    total: int,
    likely: NDArray[np.int64],
) -> None:
    """Add distinct pairs to the rows of ``Summary.likely``; a row of zeros is none yet."""
    for i in range(counts.size):
        count, held, size = counts[i], secret_rows[secrets[i]], released_rows[released[i]]
        ours = likely[released[i]]
        if count > ours[0] or (count == ours[0] and held > ours[1]):
            ours[0], ours[1] = count, held
        more = 1 if ours[3] == 0 else _compared(count, held, ours[2], ours[3])
        if more > 0 or (more == 0 and count > ours[2]):
            ours[2], ours[3] = count, held
        if _compared(count, size, held, total) > 0:
            ours[4] += count
            ours[5] += held


@compiled
def _compared(a: int, b: int, c: int, d: int) -> int:
    """Return the sign of a / b - c / d, of positive numbers whose products may be too wide.

    The parts before the point differ, or what follows it is compared: upside down.
    """
    sign = 1
    while True:
        first, second = a // b, c // d
        if first != second:
            return sign if first > second else -sign
        a, c = a % b, c % d
        if a == 0 or c == 0:
            return sign * (int(a > 0) - int(c > 0))
        a, b, c, d, sign = b, a, d, c, -sign


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


# --- numbering distinct values, by a table of those seen ------------------------------------------


def number_values(column: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Number the values of an array of numbers in their order; None where a sort does better.

    Returns the number of every row and, of every distinct value, one row that has it. Equal
    numbers are one value, as are all that are not a number, which come last. One pass over the
    rows, and a sort of the distinct values alone.
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
