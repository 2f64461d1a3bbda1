"""The groups of mu-Approx: grow a forest of short edges, cut it, and divide what is too large."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hartley.kernels import compiled
from hartley.kernels.components import find_root, join, number_trees
from hartley.kernels.kd_tree import build_tree, nearest_rows
from hartley.kernels.mdav import plain_mdav

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Edges(NamedTuple):
    """Pairs of rows and their squared distances."""

    one: NDArray[np.int64]
    other: NDArray[np.int64]
    length: NDArray[np.float64]


def mu_approx_groups(points: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Return the group of every row by mu-Approx.

    Every component of fewer than k records is joined to another by its shortest outgoing edge,
    round by round; trees of more than max(2k - 1, 3k - 5) records lose their longest edge that
    leaves k records on both sides, as long as there is one; what is still larger than 2k - 1 is
    divided by MDAV (after Domingo-Ferrer, Sebe and Solanas 2008). Of edges of one length the one
    between the smaller rows counts as shorter. About k n log n for points in few columns; cuts
    cost the depth of a tree besides, and a tree that cannot be cut the square of its size.

    Args:
        points: integers, from ``integer_points``; one row a record.
        k: the least size of a group, from 2 to the number of rows.

    Example:
        >>> mu_approx_groups(np.array([[0.0], [1.0], [9.0], [7.0], [8.0]]), 2)
        array([0, 0, 1, 1, 1], dtype=int32)
    """
    size = points.shape[0]
    if size < 2 * k:
        return np.zeros(size, np.int32)
    edges = grow_forest(points, k)
    cut = cut_forest(edges, size, k, max(2 * k - 1, 3 * k - 5))
    kept = Edges(edges.one[~cut], edges.other[~cut], edges.length[~cut])
    return np.asarray(divide_trees(points, trees_of(kept, size), k))


@compiled
def nearest_neighbours(
    points: NDArray[np.float64], k: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return for every row the k - 1 others nearest to it, nearest first, and how far they are."""
    size = points.shape[0]
    tree = build_tree(points, np.arange(size))
    others, lengths = np.empty((size, k - 1), np.int32), np.empty((size, k - 1))
    distances, rows = np.empty(k), np.empty(k, np.int64)
    for place in range(size):  # neighbours in the tree search the same leaves
        row = tree.rows[place]
        nearest_rows(tree, points[row], row, distances, rows)
        by_row = np.argsort(rows)
        order = by_row[np.argsort(distances[by_row], kind="mergesort")][1:]
        for i in range(k - 1):
            others[row, i], lengths[row, i] = rows[order[i]], distances[order[i]]
    return others, lengths


@compiled
def grow_forest(points: NDArray[np.float64], k: int) -> Edges:
    """Return the edges that join every component of fewer than k rows to others.

    A row has at most k - 2 others in such a component, so that one of the k - 1 nearest to it is
    outside: no other edge can be the shortest. Components only grow, so what was once inside
    stays inside.
    """
    size = points.shape[0]
    others, lengths = nearest_neighbours(points, k)
    parent = np.arange(size).astype(np.int32)
    sizes, seen = np.ones(size, np.int32), np.zeros(size, np.int32)
    best = np.empty(size, np.int32)
    one, other, length = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    edges = 0
    while True:
        best[:] = -1
        for row in range(size):
            root = find_root(parent, row)
            if sizes[root] >= k:
                continue
            while find_root(parent, others[row, seen[row]]) == root:
                seen[row] += 1
            held = best[root]
            if held < 0 or _is_shorter(others, lengths, seen, row, held):
                best[root] = row
        found = edges
        for root in range(size):
            row = best[root]
            if row < 0:
                continue
            end = others[row, seen[row]]
            above, beyond = find_root(parent, row), find_root(parent, end)
            if above == beyond:  # the other side has chosen the same edge
                continue
            whole = sizes[above] + sizes[beyond]
            sizes[join(parent, above, beyond)] = whole
            one[edges], other[edges], length[edges] = row, end, lengths[row, seen[row]]
            edges += 1
        if edges == found:
            return Edges(one[:edges].copy(), other[:edges].copy(), length[:edges].copy())


@compiled
def _is_shorter(
    others: NDArray[np.int32],
    lengths: NDArray[np.float64],
    seen: NDArray[np.int32],
    row: int,
    held: int,
) -> bool:
    """Tell whether the edge of one row is shorter than that of another, rows deciding of equals."""
    end, other = others[row, seen[row]], others[held, seen[held]]
    mine = (lengths[row, seen[row]], min(row, end), max(row, end))
    return mine < (lengths[held, seen[held]], min(held, other), max(held, other))


# --- cutting ----------------------------------------------------------------------------------


@compiled
def _hang(edges: Edges, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what every row hangs from, or -1 of a root, and all rows, each after its parent."""
    start = np.zeros(size + 1, np.int64)
    for i in range(edges.one.size):
        start[edges.one[i] + 1] += 1
        start[edges.other[i] + 1] += 1
    start = np.cumsum(start)
    ends, filled = np.empty(2 * edges.one.size, np.int64), start.copy()
    for i in range(edges.one.size):
        ends[filled[edges.one[i]]] = edges.other[i]
        ends[filled[edges.other[i]]] = edges.one[i]
        filled[edges.one[i]] += 1
        filled[edges.other[i]] += 1
    above, order = np.full(size, -2, np.int64), np.empty(size, np.int64)
    reached = 0
    for root in range(size):
        if above[root] != -2:
            continue
        above[root], order[reached] = -1, root
        looking, reached = reached, reached + 1
        while looking < reached:
            row = order[looking]
            looking += 1
            for i in range(start[row], start[row + 1]):
                if above[ends[i]] == -2:
                    above[ends[i]], order[reached] = row, ends[i]
                    reached += 1
    return above, order


@compiled
def cut_forest(edges: Edges, size: int, k: int, limit: int) -> NDArray[np.bool_]:
    """Tell which edges to cut, longest first, of trees larger than a limit.

    Trees only shrink, so an edge that may not be cut when its turn comes may never be.
    """
    above, order = _hang(edges, size)
    below = np.ones(size, np.int64)
    for i in range(size - 1, -1, -1):
        if above[order[i]] >= 0:
            below[above[order[i]]] += below[order[i]]
    cut = np.zeros(edges.one.size, np.bool_)
    smaller = np.minimum(edges.one, edges.other)
    larger = np.maximum(edges.one, edges.other)
    ranked = np.argsort(larger, kind="mergesort")
    ranked = ranked[np.argsort(smaller[ranked], kind="mergesort")]
    ranked = ranked[np.argsort(edges.length[ranked], kind="mergesort")][::-1]
    for edge in ranked:
        row = edges.one[edge] if above[edges.one[edge]] == edges.other[edge] else edges.other[edge]
        if below[row] < k:
            continue
        root = row
        while above[root] >= 0:
            root = above[root]
        if below[root] <= limit or below[root] - below[row] < k:
            continue
        cut[edge] = True
        node = above[row]
        above[row] = -1
        while node >= 0:
            below[node] -= below[row]
            node = above[node]
    return cut


@compiled
def trees_of(edges: Edges, size: int) -> NDArray[np.int32]:
    """Return the number of the tree of every row."""
    parent = np.arange(size).astype(np.int32)
    for i in range(edges.one.size):
        join(parent, edges.one[i], edges.other[i])
    return number_trees(parent)


@compiled
def divide_trees(
    points: NDArray[np.float64], trees: NDArray[np.int32], k: int
) -> NDArray[np.int32]:
    """Return groups: trees of up to 2k - 1 rows as they are, larger ones divided by MDAV."""
    rows = np.argsort(trees, kind="mergesort")
    labels = np.empty(trees.size, np.int32)
    first, groups = 0, 0
    while first < rows.size:
        end = first
        while end < rows.size and trees[rows[end]] == trees[rows[first]]:
            end += 1
        inside = rows[first:end]
        if end - first < 2 * k:
            labels[inside] = groups
            groups += 1
        else:
            parts = plain_mdav(points[inside], k)
            labels[inside] = parts + np.int32(groups)
            groups += parts.max() + 1
        first = end
    return labels
