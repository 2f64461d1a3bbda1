"""MDAV, the maximum distance to average vector method, exactly: plain, and with a tree.

Both kernels take integers in doubles. The sum of the remaining records is then an integer that does
not depend on the order in which others were removed, every distance is computed by the same sums in
the same order, and ties go to the smallest row: both always find the same groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hartley.kernels.compiling import compiled
from hartley.kernels.kd_tree import (
    Tree,
    build_tree,
    farthest_row,
    nearest_rows,
    offer,
    remove_rows,
    squared_distance,
    swap_points,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLAIN_WORK = 4_000
"""Up to so many rows, plus some for every column, scanning all of them beats the tree."""
LARGEST_CODE_BITS = 40
"""The points are rounded to integers of so many bits, or fewer where the sums would not fit."""
SLACK = 1e-12
"""More than the relative rounding error of a distance."""


def integer_points(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points on a grid of integers so fine that their sums just fit into 64 bits.

    One power of two scales all columns, so integers of up to 40 bits stay exact in proportion.

    Example:
        >>> integer_points(np.array([[0.5], [-1.0]])) / 2.0**38
        array([[ 1.],
               [-2.]])
    """
    # n numbers of up to 2^bits add up to less than 2^62, in whole numbers: the average does not
    # depend on the order in which records left, which makes both kernels agree.
    bits = min(LARGEST_CODE_BITS, 62 - int(points.shape[0]).bit_length())
    largest = float(np.abs(points).max())
    _, exponent = np.frexp(largest)
    return np.asarray(np.rint(np.ldexp(points, bits - int(exponent))))


def mdav_groups(points: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Return the group of every row by MDAV, numbered in the order in which they are formed.

    While 3k records are left: r is the record farthest from their average, s the one farthest
    from r once the k - 1 records nearest to r have joined it; the k - 1 nearest to s join s. Of
    fewer than 3k but at least 2k one more group is formed around r, and the rest is the last one
    (Domingo-Ferrer and Torra 2005, generic MDAV). Exact; about n^1.4 in few columns.

    Args:
        points: integers, from ``integer_points``; one row a record.
        k: the least size of a group; at most the number of rows.

    Example:
        >>> mdav_groups(np.array([[0.0], [1.0], [9.0], [7.0], [8.0]]), 2)
        array([0, 0, 1, 1, 1], dtype=int32)
    """
    rows, columns = points.shape
    if rows <= PLAIN_WORK + 500 * columns:
        return np.asarray(plain_mdav(points, k))
    return np.asarray(tree_mdav(points, k))


# --- by scanning all records ------------------------------------------------------------------


@compiled
def _take_plain(  # noqa: PLR0913, PLR0917 - a compiled loop takes plain arrays
    points: NDArray[np.float64],
    rows: NDArray[np.int64],
    remaining: int,
    centre: int,
    labels: NDArray[np.int32],
    group: int,
    heap: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]],
) -> NDArray[np.float64]:
    """Give the record at the centre and those nearest to it a group; return the centre's point.

    They are moved behind the remaining records.
    """
    distances, chosen, places = heap
    itself = rows[centre]
    target: NDArray[np.float64] = points[centre].copy()
    held = 0
    for i in range(remaining):
        distance = -1.0 if rows[i] == itself else squared_distance(points, i, target)
        if held < chosen.size or distance <= distances[0]:
            held = offer(distances, chosen, held, distance, rows[i])
    for i in range(chosen.size):
        labels[chosen[i]] = group
        # Rows stand anywhere by now; `places` says where.
        place, last = places[chosen[i]], remaining - 1 - i
        places[rows[last]], places[chosen[i]] = place, last
        swap_points(points, rows, place, last)
    return target


@compiled
def _farthest_plain(
    points: NDArray[np.float64],
    rows: NDArray[np.int64],
    remaining: int,
    target: NDArray[np.float64],
) -> int:
    """Return where the record farthest from a target stands, of several the smallest row."""
    best, farthest = -1.0, -1
    for i in range(remaining):
        distance = squared_distance(points, i, target)
        if distance > best or (distance == best and rows[i] < rows[farthest]):
            best, farthest = distance, i
    return farthest


@compiled
def _average(points: NDArray[np.float64], remaining: int) -> NDArray[np.float64]:
    """Return the average of the first points, the one rounding after an exact sum."""
    average = np.empty(points.shape[1])
    for column in range(points.shape[1]):
        total = np.int64(0)
        for i in range(remaining):
            total += np.int64(points[i, column])
        average[column] = total / remaining
    return average


@compiled
def plain_mdav(points: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Return the groups of MDAV by scanning every remaining record; n^2 / k."""
    remaining = points.shape[0]
    labels = np.full(remaining, -1, np.int32)
    held, rows = points.copy(), np.arange(remaining)
    heap = (np.empty(k), np.empty(k, np.int64), np.arange(remaining))
    group = 0
    while remaining >= 2 * k:
        two = remaining >= 3 * k
        centre = _farthest_plain(held, rows, remaining, _average(held, remaining))
        target = _take_plain(held, rows, remaining, centre, labels, group, heap)
        remaining, group = remaining - k, group + 1
        if two:
            centre = _farthest_plain(held, rows, remaining, target)
            _take_plain(held, rows, remaining, centre, labels, group, heap)
            remaining, group = remaining - k, group + 1
    for i in range(remaining):
        labels[rows[i]] = group
    return labels


# --- by a tree and a list of the farthest -----------------------------------------------------


class Anchor(NamedTuple):
    """The records that were farthest from where the average once was, the farthest first."""

    average: NDArray[np.float64]
    rows: NDArray[np.int64]
    points: NDArray[np.float64]
    distances: NDArray[np.float64]
    rest: float
    """The distance that no other record reached; negative where there is no other."""


@compiled
def _drop_anchor(
    points: NDArray[np.float64], rows: NDArray[np.int64], average: NDArray[np.float64]
) -> Anchor:
    """Sort the sixteenth of some records that is farthest from their average."""
    squares = np.empty(rows.size)
    for i in range(rows.size):
        squares[i] = squared_distance(points, rows[i], average)
    top = squares.max()
    counts = np.zeros(4097, np.int64)
    scale = 4096 / top if top > 0 else 0.0
    for i in range(rows.size):
        counts[int(squares[i] * scale)] += 1
    # A histogram finds the distance that a sixteenth exceeds, so that only those are sorted.
    wanted, bucket, far = max(1024, rows.size // 16), 4096, counts[4096]
    while bucket > 0 and far < wanted:
        bucket -= 1
        far += counts[bucket]
    chosen, square = np.empty(far, np.int64), np.empty(far)
    taken, rest = 0, -1.0
    for i in range(rows.size):
        if int(squares[i] * scale) >= bucket:
            chosen[taken], square[taken] = rows[i], squares[i]
            taken += 1
        else:
            rest = max(rest, squares[i])
    order = np.argsort(-square, kind="mergesort")  # stable: of equal ones the smallest row first
    sorted_rows = chosen[order]
    return Anchor(
        average,
        sorted_rows,
        points[sorted_rows],
        np.sqrt(square[order]),
        np.sqrt(rest) if rest >= 0 else -1.0,
    )


@compiled
def _farthest_listed(
    anchor: Anchor, head: int, labels: NDArray[np.int32], target: NDArray[np.float64]
) -> tuple[int, int]:
    """Return the record farthest from a target and how many were looked at; -1 if it is unlisted.

    By the triangle inequality a record is at most its old distance plus the drift away from the
    target, where the drift is how far the target is from the old average. The list is sorted by
    the old distance, so the search ends when that sum falls below the best.
    """
    moved = 0.0
    for column in range(target.size):
        moved += (target[column] - anchor.average[column]) ** 2
    drift = np.sqrt(moved) * (1 + SLACK)
    best, reach, farthest = -1.0, -1.0, -1
    for i in range(head, anchor.rows.size):
        if (anchor.distances[i] + drift) * (1 + SLACK) < reach:
            return farthest, i - head + 1
        row = anchor.rows[i]
        if labels[row] >= 0:
            continue
        distance = squared_distance(anchor.points, i, target)
        if distance > best or (distance == best and row < farthest):
            best, reach, farthest = distance, np.sqrt(distance) * (1 - SLACK), row
    looked = anchor.rows.size - head
    if anchor.rest >= 0 and (anchor.rest + drift) * (1 + SLACK) >= reach:
        return -1, looked
    return farthest, looked


@compiled
def _take(  # noqa: PLR0913, PLR0917 - a compiled loop takes plain arrays
    tree: Tree,
    target: NDArray[np.float64],
    row: int,
    labels: NDArray[np.int32],
    group: int,
    sums: NDArray[np.int64],
    heap: tuple[NDArray[np.float64], NDArray[np.int64]],
) -> None:
    """Give a record and those nearest to it a group, and take them out of the tree and the sums."""
    distances, chosen = heap
    nearest_rows(tree, target, row, distances, chosen)
    for i in range(chosen.size):
        labels[chosen[i]] = group
        place = tree.place[chosen[i]]
        for column in range(sums.size):
            sums[column] -= np.int64(tree.points[place, column])
    remove_rows(tree, chosen)


@compiled
def _peel(
    points: NDArray[np.float64],
    rows: NDArray[np.int64],
    k: int,
    labels: NDArray[np.int32],
    group: int,
) -> int:
    """Form pairs of groups until an eighth of the records or fewer than 3k remain.

    The caller then builds a smaller tree, which keeps searches short.
    """
    tree = build_tree(points, rows)
    sums = np.zeros(points.shape[1], np.int64)
    for i in range(rows.size):
        for column in range(sums.size):
            sums[column] += np.int64(points[rows[i], column])
    heap = (np.empty(k), np.empty(k, np.int64))
    anchor = _drop_anchor(points, rows, sums / rows.size)
    remaining, head, looked = rows.size, 0, 0
    while remaining >= 3 * k and 8 * remaining >= rows.size:
        average = sums / remaining
        while head < anchor.rows.size and labels[anchor.rows[head]] >= 0:
            head += 1
        row, work = _farthest_listed(anchor, head, labels, average)
        looked += work
        # A new list costs one pass over the remaining records. It is made when the list cannot
        # decide, and when searching it has cost as much as that pass.
        if row < 0 or looked > remaining:
            anchor = _drop_anchor(points, rows[labels[rows] < 0], average)
            row, head, looked = anchor.rows[0], 0, 0
        target = points[row].copy()
        _take(tree, target, row, labels, group, sums, heap)
        other, _ = _farthest_listed(anchor, head, labels, target)
        if other < 0:
            other = farthest_row(tree, target)
        _take(tree, points[other].copy(), other, labels, group + 1, sums, heap)
        remaining, group = remaining - 2 * k, group + 2
    return group


@compiled
def tree_mdav(points: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Return the groups of MDAV by a tree with removals and an anchored list of the farthest."""
    labels = np.full(points.shape[0], -1, np.int32)
    rows = np.arange(points.shape[0])
    group = 0
    while rows.size >= 3 * k:
        group = _peel(points, rows, k, labels, group)
        rows = rows[labels[rows] < 0]
    labels[rows] = plain_mdav(points[rows], k) + np.int32(group)
    return labels
