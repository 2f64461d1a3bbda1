"""Classes of records with equal keys: counts of a confidential value, shares, cuts, changes."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hartley.errors import TableError
from hartley.kernels.pairs import MOST_ROWS, PENDING, compiled, table_changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

CELLS_A_TASK = 2**18
"""With fewer cells, starting a thread takes longer than its work."""
MOST_TALLIED = 256
"""Counts up to here are ranked by how often each occurs, others by sorting."""
MOST_CELLS = 10**8
"""Above this many counters, of four bytes each, a cube would be too large for a small machine."""
WIDEST_KEY = 2**62


class Cells(NamedTuple):
    """The cells of all classes, those of class i from ``starts[i]`` to ``starts[i + 1]``."""

    starts: NDArray[np.int64]
    codes: NDArray[np.int32]
    """The confidential value of every cell, rising within a class."""
    counts: NDArray[np.int32]
    sizes: NDArray[np.int64]
    """How many records every class has."""
    totals: NDArray[np.int64]
    """How many records have each value."""


def over_classes(
    kernel: Callable[..., tuple[NDArray[Any], ...]], cells: Cells, *options: int
) -> tuple[NDArray[Any], ...]:
    """Run a kernel over all classes, a range of them on every processor, and join the results."""

    def part(first: int, last: int) -> tuple[NDArray[Any], ...]:
        ours = cells._replace(starts=cells.starts[first : last + 1], sizes=cells.sizes[first:last])
        return kernel(ours, *options)

    parts = _in_ranges(part, cells.sizes.size, cells.codes.size)
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def _in_ranges(
    work: Callable[..., tuple[Any, ...]], size: int, cells: int, *given: NDArray[np.int64]
) -> list[tuple[Any, ...]]:
    """Split a size into ranges, one a processor, and do the work of each in a thread.

    The work is called with both ends of its range and with its item of every further array.
    """
    tasks = max(1, min(os.cpu_count() or 1, cells // CELLS_A_TASK))
    ends = np.linspace(0, size, tasks + 1).astype(int).tolist()
    with ThreadPoolExecutor(tasks, thread_name_prefix="hartley-classes") as pool:
        return list(pool.map(work, ends[:-1], ends[1:], *given))


@compiled
def extreme_shares(
    cells: Cells,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return count and total of the likeliest and of the least likely value of every class.

    A value is as likely as its count over its total; these shares are compared exactly.
    """
    over_most, under_most, over_least, under_least = np.empty((4, cells.sizes.size), np.int64)
    for i in range(cells.sizes.size):
        first = cells.starts[i]
        most = least = (cells.counts[first], cells.totals[cells.codes[first]])
        for cell in range(first + 1, cells.starts[i + 1]):
            count, total = cells.counts[cell], cells.totals[cells.codes[cell]]
            # Cross-multiplied, so nothing is rounded; counts and totals are below 2^31, a product
            # below 2^62.
            if count * most[1] > most[0] * total:
                most = (count, total)
            if count * least[1] < least[0] * total:
                least = (count, total)
        over_most[i], under_most[i] = most
        over_least[i], under_least[i] = least
    return over_most, under_most, over_least, under_least


@compiled
def equal_moves(cells: Cells) -> tuple[NDArray[np.int64]]:
    """Return, for every class, 2 n_i n times the share that has to move to be like the table."""
    rows = cells.totals.sum()
    moves = np.empty(cells.sizes.size, np.int64)
    for i in range(moves.size):
        # Values that the class lacks differ by their whole total: what is left of the rows after
        # those it has is enough, and no value is looked at that the class does not list. In all
        # at most 2 n_i n, below 2^63 for fewer than 2^31 records.
        absent, moved = rows, np.int64(0)
        for cell in range(cells.starts[i], cells.starts[i + 1]):
            total = cells.totals[cells.codes[cell]]
            absent -= total
            moved += abs(cells.counts[cell] * rows - total * cells.sizes[i])
        moves[i] = moved + absent * cells.sizes[i]
    return (moves,)


@compiled
def ordered_moves(cells: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two parts of n_i n times the sum of the distances of cumulative shares.

    The sum is n times the first array plus n_i times the second; neither exceeds the number of
    values times the records. Between two values of a class only the sums of the table change:
    bisection finds where they overtake the class, and both sides are read from prefix sums.
    """
    starts, codes, counts, sizes, totals = cells
    rows = totals.sum()
    reached = np.cumsum(totals)
    before = np.zeros(totals.size + 1, np.int64)
    before[1:] = np.cumsum(reached)
    ours, theirs = np.zeros((2, sizes.size), np.int64)
    for i in range(sizes.size):
        have = np.int64(0)
        theirs[i] = before[codes[starts[i]]]
        for cell in range(starts[i], starts[i + 1]):
            have += counts[cell]
            start = codes[cell]
            end = codes[cell + 1] if cell + 1 < starts[i + 1] else totals.size
            turn, above = start, end
            while turn < above:
                middle = (turn + above) // 2
                # Both products are of two numbers of records, below 2^62.
                if reached[middle] * sizes[i] < have * rows:
                    turn = middle + 1
                else:
                    above = middle
            # Before the turn the class is ahead, behind it the table: the sum of absolute
            # differences without an absolute value. Differences of n_i n are kept in two parts,
            # since the product of values, records and records need not fit into a machine word.
            ours[i] += (2 * turn - start - end) * have
            theirs[i] += before[start] + before[end] - 2 * before[turn]
    return ours, theirs


@compiled
def divergences(cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the entropy of every class and its divergence from the table, in bits."""
    rarity = np.log2(cells.totals.sum() / np.maximum(cells.totals, 1))
    bits, apart = np.zeros((2, cells.sizes.size))
    for i in range(bits.size):
        for cell in range(cells.starts[i], cells.starts[i + 1]):
            share = cells.counts[cell] / cells.sizes[i]
            log_share = np.log2(share)
            bits[i] -= share * log_share
            apart[i] += share * (log_share + rarity[cells.codes[cell]])
    return bits, apart


@compiled
def count_tails(cells: Cells, length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the largest count of every class and the sum of its counts from a rank on."""
    starts, counts = cells.starts, cells.counts
    peaks, tails = np.empty((2, cells.sizes.size), np.int64)
    tally = np.zeros(MOST_TALLIED + 1, np.int64)
    for i in range(peaks.size):
        first, end = starts[i], starts[i + 1]
        peak = counts[first]
        for cell in range(first + 1, end):
            peak = max(peak, counts[cell])
        peaks[i] = peak
        below = max(end - first - length + 1, 0)
        # Most often asked for, and the one rank that needs no order.
        if length == 2:
            tails[i] = cells.sizes[i] - peak
        elif peak > MOST_TALLIED:
            tails[i] = np.sort(counts[first:end].astype(np.int64))[:below].sum()
        else:
            tails[i] = _least_sum(counts[first:end], below, tally)
    return peaks, tails


@compiled
def _least_sum(counts: NDArray[np.int32], rank: int, tally: NDArray[np.int64]) -> int:
    """Return the sum of the least counts, as many as the rank; the tally stays all zeros."""
    for count in counts:
        tally[count] += 1
    total, size = 0, 0
    while rank > 0:
        size += 1
        taken = min(rank, tally[size])
        total += taken * size
        rank -= taken
    for count in counts:
        tally[count] = 0
    return total


@compiled
def class_sizes(starts: NDArray[np.int64], counts: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many records every class has."""
    sizes = np.zeros(starts.size - 1, np.int64)
    for i in range(sizes.size):
        for cell in range(starts[i], starts[i + 1]):
            sizes[i] += counts[cell]
    return sizes


@compiled
def code_totals(
    codes: NDArray[np.int32], counts: NDArray[np.int32], width: int
) -> NDArray[np.int64]:
    """Return how many records have each value."""
    totals = np.zeros(width, np.int64)
    for cell in range(codes.size):
        totals[codes[cell]] += counts[cell]
    return totals


def occupied_cells(
    cube: NDArray[np.uint32], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return starts, codes and counts of the nonzero cells of a cube, and which codes occur."""
    table = cube.reshape(-1, width)
    parts = _in_ranges(lambda a, b: _occupied(table[a:b]), len(table), cube.size)
    occurs = np.any([used for _, used in parts], axis=0)
    numbers = np.cumsum(occurs) - 1
    classes, cells = np.cumsum([(0, 0), *(held for held, _ in parts)], axis=0).T
    starts = np.full(classes[-1] + 1, cells[-1])
    codes, counts = np.empty((2, cells[-1]), np.int32)

    def fill(first: int, last: int, place: int, cell: int) -> tuple[()]:
        _list_cells(table[first:last], numbers, cell, starts[place:], codes, counts)
        return ()

    _in_ranges(fill, len(table), cube.size, classes, cells)
    return starts, codes, counts, np.flatnonzero(occurs)


@compiled
def _occupied(table: NDArray[np.uint32]) -> tuple[tuple[int, int], NDArray[np.bool_]]:
    """Return how many classes and cells of a cube are not empty, and which codes occur."""
    classes, cells = 0, 0
    occurs = np.zeros(table.shape[1], np.bool_)
    for row in range(table.shape[0]):
        before = cells
        for code in range(table.shape[1]):
            if table[row, code] > 0:
                cells += 1
                occurs[code] = True
        classes += cells > before
    return (classes, cells), occurs


@compiled
def _list_cells(  # noqa: PLR0913, PLR0917 - a compiled loop takes plain arrays
    table: NDArray[np.uint32],
    numbers: NDArray[np.int64],
    cell: int,
    starts: NDArray[np.int64],
    codes: NDArray[np.int32],
    counts: NDArray[np.int32],
) -> None:
    """Fill in classes and their cells from a given cell on, with the numbers of their codes."""
    listed = 0
    for row in range(table.shape[0]):
        first = cell
        for code in range(table.shape[1]):
            if table[row, code] > 0:
                codes[cell] = numbers[code]
                counts[cell] = table[row, code]
                cell += 1
        # A class without records is no class: its row of the cube is skipped.
        if cell > first:
            starts[listed] = first
            listed += 1


# --- counting, in one dense cube, one pass, no sorting --------------------------------------------
#
# The codes of the key columns are the digits of one mixed-radix integer, the code of the
# confidential value its last digit; the integer is the address of a counter. Where there would be
# too many counters, sorted integers and their counts lead to the same result.


@dataclass(frozen=True)
class ClassCounts:
    """How often each confidential value occurs in each class of records with equal keys.

    Values that are absent from a class are not listed and count zero. The cells of class i are
    those from ``starts[i]`` to ``starts[i + 1]``, in the order of their codes.
    """

    starts: NDArray[np.int64]
    codes: NDArray[np.int32]
    counts: NDArray[np.int32]
    width: int
    """How many confidential values the table holds."""

    @classmethod
    def from_cells(
        cls, classes: NDArray[np.int64], codes: NDArray[np.int64], counts: NDArray[np.integer]
    ) -> ClassCounts:
        """Group cells by class; cells that are listed twice are added."""
        width = int(codes.max()) + 1 if codes.size else 1
        order = np.lexsort((codes, classes))
        classes, codes, counts = classes[order], codes[order], counts[order]
        fresh = np.ones(classes.size, bool)
        fresh[1:] = (np.diff(classes) != 0) | (np.diff(codes) != 0)
        first = np.flatnonzero(fresh)
        # The cells are sorted by class, then by code: equal ones stand together.
        counts = np.add.reduceat(counts, first) if first.size else counts
        return cls.from_sorted_cells(classes[first], codes[first], counts, width)

    @classmethod
    def from_sorted_cells(
        cls,
        classes: NDArray[np.int64],
        codes: NDArray[np.int64],
        counts: NDArray[np.integer],
        width: int,
    ) -> ClassCounts:
        """Take cells that are sorted by class and then by code."""
        if counts.sum() > MOST_ROWS:
            raise TableError(
                f"There are more than {MOST_ROWS:,} rows", hint="measure them in parts"
            )
        edges = np.flatnonzero(np.diff(classes, prepend=-1))
        starts = np.append(edges, classes.size)
        return cls(starts, codes.astype(np.int32), counts.astype(np.int32), width)

    def __len__(self) -> int:
        return self.starts.size - 1

    @property
    def rows(self) -> int:
        """How many records there are."""
        return int(self.counts.sum())

    # The four that are cached are passes over all cells, several milliseconds each.

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many records each class has."""
        return class_sizes(self.starts, self.counts)

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """How often each confidential value occurs in the whole table."""
        return code_totals(self.codes, self.counts, self.width)

    @property
    def distinct(self) -> NDArray[np.int64]:
        """How many different confidential values each class has."""
        return np.diff(self.starts)

    @property
    def cells(self) -> Cells:
        """All of it, as kernels take it."""
        return Cells(self.starts, self.codes, self.counts, self.sizes, self.totals)

    @cached_property
    def extremes(self) -> tuple[NDArray[np.int64], ...]:
        """Of every class, count and total of its likeliest and of its least likely value."""
        return over_classes(extreme_shares, self.cells)

    @cached_property
    def bits(self) -> tuple[NDArray[np.float64], ...]:
        """The entropy of every class, and its divergence from the table."""
        return over_classes(divergences, self.cells)

    @property
    def members(self) -> NDArray[np.int64]:
        """The class of each cell."""
        return np.repeat(np.arange(len(self)), self.distinct)

    def regroup(self, groups: NDArray[np.int64]) -> ClassCounts:
        """Return the counts of groups of confidential values, given the group of each code."""
        return ClassCounts.from_cells(self.members, groups[self.codes], self.counts)


class CubeCounter:
    """Take mixed-radix integers batch by batch and count them in a dense cube."""

    def __init__(self, *, classes: int, width: int) -> None:
        self._width = width
        # The confidential value is the last digit, so that the counters of one class stand together
        # and a class is read in one go.
        self._cube = np.zeros(classes * width, np.uint32)
        self._pending: list[Future[bool]] = []
        # One thread, since two could add to one counter at the same time.
        self._adder = ThreadPoolExecutor(1, thread_name_prefix="hartley-cube")

    def add(self, keys: NDArray[np.signedinteger]) -> None:
        """Count a batch in the background, while the next one is being read."""
        if len(self._pending) >= PENDING:
            self._pending[-PENDING].result()
        self._pending.append(self._adder.submit(_count, keys, self._cube))

    def finish(self) -> tuple[ClassCounts, NDArray[np.int64]]:
        """Return the counts of the values that occur, and which of the codes those are."""
        inside = all(batch.result() for batch in self._pending)
        self._adder.shutdown()
        if not inside:
            raise table_changed()
        starts, codes, counts, observed = occupied_cells(self._cube, self._width)
        return ClassCounts(starts, codes, counts, observed.size), observed


def group_keys(
    keys: NDArray[np.int64], counts: NDArray[np.integer], width: int
) -> tuple[ClassCounts, NDArray[np.int64]]:
    """Turn distinct, sorted mixed-radix integers into classes; unused codes disappear."""
    classes, codes = np.divmod(keys, width)
    used = np.zeros(width, bool)
    used[codes] = True
    observed, codes = np.flatnonzero(used), (np.cumsum(used) - 1)[codes]
    return ClassCounts.from_sorted_cells(classes, codes, counts, observed.size), observed


@compiled
def _count(keys: NDArray[np.signedinteger], cube: NDArray[np.uint32]) -> bool:
    """Count keys; one outside the cube is refused before it is written anywhere."""
    for i in range(keys.size):
        key = keys[i]
        if key < 0 or key >= cube.size:
            return False
        # It cannot wrap: tables of more than 2^31 - 1 rows are refused before they are counted.
        cube[key] += np.uint32(1)
    return True


# --- changing cells of a table, and no sum --------------------------------------------------------


@compiled
def find_cuboid(  # noqa: PLR0912, PLR0913, PLR0917, C901 - one search over one table
    target: int,
    change: int,
    shape: NDArray[np.int64],
    stride: NDArray[np.int64],
    begin: NDArray[np.int64],
    partner: NDArray[np.int64],
    table: NDArray[np.int64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    tries: int,
) -> NDArray[np.int64]:
    """Find a box with a target cell at one corner that can change by a number.

    Corners change by the number and by its opposite in turns, so every sum along every dimension
    stays what it is. The cell may be any corner, since signs alternate. Returns the opposite place
    in each dimension, or nothing; at most ``tries`` boxes are looked at. ``partner`` lists places
    of the same dimension that belong to the same sums, from ``begin`` of each place on, all
    dimensions one after another; ``stride`` is the distance of neighbours in each dimension.
    """
    dims = shape.size
    place = np.empty(dims, np.int64)
    choices = np.empty((dims, partner.size), np.int64)
    number = np.zeros(dims, np.int64)
    rest, offset = target, 0
    nothing = np.empty(0, np.int64)
    if table[target] + change < low[target] or table[target] + change > high[target]:
        return nothing
    for a in range(dims):
        place[a] = rest // stride[a]
        rest -= place[a] * stride[a]
        for i in range(begin[offset + place[a]], begin[offset + place[a] + 1]):
            corner = target + (partner[i] - place[a]) * stride[a]
            if low[corner] <= table[corner] - change <= high[corner]:
                choices[a, number[a]] = partner[i]
                number[a] += 1
        if number[a] == 0:
            return nothing
        offset += shape[a]
    turn = np.zeros(dims, np.int64)
    for _ in range(tries):
        fits = True
        for corners in range(3, 2**dims):
            cell, flips = target, 0
            for a in range(dims):
                if corners >> a & 1:
                    cell += (choices[a, turn[a]] - place[a]) * stride[a]
                    flips += 1
            if flips < 2:
                continue
            moved = table[cell] + (change if flips % 2 == 0 else -change)
            if moved < low[cell] or moved > high[cell]:
                fits = False
                break
        if fits:
            opposite = np.empty(dims, np.int64)
            for a in range(dims):
                opposite[a] = choices[a, turn[a]]
            return opposite
        a = 0
        while a < dims:
            turn[a] += 1
            if turn[a] < number[a]:
                break
            turn[a] = 0
            a += 1
        if a == dims:
            return nothing
    return nothing


# --- boxes of at least k records, cut through the middle (strict Mondrian) ------------------------


def mondrian_boxes(
    codes: NDArray[np.int64], counts: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Return the number of the box of every point, given how many records are at each.

    A box is cut along the key in which it is widest, as a share of the whole range, between the
    two neighbouring codes nearest to the weighted median that leave at least k records on either
    side; where no cut does, along the next key; where none does, the box is done (LeFevre,
    DeWitt, Ramakrishnan 2006). Costs n log n for each level of cuts, of which there are about
    log2(n/k). ``codes`` has one row a distinct point, one column a key.
    """
    spans = np.maximum(codes.max(axis=0) - codes.min(axis=0), 1).astype(np.float64)
    return _cut_boxes(np.ascontiguousarray(codes), counts, k, spans)


@compiled
def _cut_boxes(
    codes: NDArray[np.int64], counts: NDArray[np.int64], k: int, spans: NDArray[np.float64]
) -> NDArray[np.int64]:
    points = np.arange(counts.size)
    boxes = np.zeros(counts.size, np.int64)
    stack = [(0, counts.size)]
    finished = 0
    while len(stack) > 0:
        start, end = stack.pop()
        middle = _cut(codes, counts, k, spans, points[start:end])
        if middle > 0:
            stack.append((start + middle, end))
            stack.append((start, start + middle))
        else:
            boxes[points[start:end]] = finished
            finished += 1
    return boxes


@compiled
def _cut(
    codes: NDArray[np.int64],
    counts: NDArray[np.int64],
    k: int,
    spans: NDArray[np.float64],
    points: NDArray[np.int64],
) -> int:
    """Sort the points of a box along the key to cut and return where; 0 if it cannot be cut."""
    total = counts[points].sum()
    if total < 2 * k:
        return 0
    widths = np.empty(spans.size, np.float64)
    for key in range(spans.size):
        here = codes[points, key]
        widths[key] = (here.max() - here.min()) / spans[key]
    for key in np.argsort(-widths, kind="mergesort"):
        if widths[key] <= 0:
            break
        order = np.argsort(codes[points, key], kind="mergesort")
        best, nearest, below = 0, total + 1, 0
        for i in range(1, order.size):
            below += counts[points[order[i - 1]]]
            if codes[points[order[i - 1]], key] == codes[points[order[i]], key]:
                continue
            # Twice the distance from the median, in whole numbers: ties are ties, and the first
            # wins.
            if below >= k and total - below >= k and abs(2 * below - total) < nearest:
                best, nearest = i, abs(2 * below - total)
        if best > 0:
            points[:] = points[order]
            return best
    return 0
