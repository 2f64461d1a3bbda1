"""The groups of mu-Approx: grow a forest of short edges, cut it, and divide what is too large."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hartley.kernels import compiled
from hartley.kernels.components import find_root, join, number_trees
from hartley.kernels.kd_tree import Tree, build_tree, least_distance, nearest_rows, squared_distance
from hartley.kernels.mdav import plain_mdav

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 16
"""So many neighbours of a row are found at once and kept, before others are looked for."""


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
    between the smaller rows counts as shorter. About n log n log k for points in few columns; a
    cut costs the size of its tree besides, and a tree of m records that cannot be cut m^2 / k.

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


# --- growing ----------------------------------------------------------------------------------


@compiled
def _enclosed(tree: Tree, component: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return for every node of a tree the component that all its rows are in, or -1."""
    leaves = tree.alive.size
    inside = np.full(2 * leaves, -1, np.int32)
    for leaf in range(leaves):
        whole = component[tree.rows[tree.start[leaf]]]
        for place in range(tree.start[leaf] + 1, tree.start[leaf + 1]):
            if component[tree.rows[place]] != whole:
                whole = np.int32(-1)
        inside[leaves + leaf] = whole
    for node in range(leaves - 1, 0, -1):
        if inside[2 * node] == inside[2 * node + 1]:
            inside[node] = inside[2 * node]
    return inside


@compiled
def _nearest_outside(
    tree: Tree, inside: NDArray[np.int32], component: NDArray[np.int32], row: int, limit: float
) -> tuple[int, float]:
    """Return the nearest row of another component and how far it is, the smallest of several.

    Where none is within the limit, -1 and the limit.
    """
    leaves, ours, target = tree.alive.size, component[row], tree.points[tree.place[row]]
    nodes, bounds = tree.nodes, tree.bounds
    nodes[0], bounds[0], top = 1, 0.0, 1
    found, best = -1, limit
    while top > 0:
        top -= 1
        node, bound = nodes[top], bounds[top]
        if inside[node] == ours or bound > best:
            continue
        if bound == best and 0 <= found < tree.boxes[node, -1]:
            continue
        if node < leaves:
            one, other = 2 * node, 2 * node + 1
            bounds[top] = least_distance(tree, one, target)
            bounds[top + 1] = least_distance(tree, other, target)
            if bounds[top] < bounds[top + 1]:
                one, other = other, one
                bounds[top], bounds[top + 1] = bounds[top + 1], bounds[top]
            nodes[top], nodes[top + 1] = one, other
            top += 2
            continue
        for place in range(tree.start[node - leaves], tree.start[node - leaves + 1]):
            other = tree.rows[place]
            if component[other] == ours:
                continue
            distance = squared_distance(tree.points, place, target)
            if distance < best or (distance == best and (found < 0 or other < found)):
                found, best = other, distance
    return found, best


@compiled
def _list_nearest(tree: Tree, few: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return for every row a few others nearest to it, nearest first, and how far they are."""
    size = tree.rows.size
    others, lengths = np.empty((size, few), np.int32), np.empty((size, few))
    distances, rows = np.empty(few + 1), np.empty(few + 1, np.int64)
    for place in range(size):  # neighbours in the tree search the same leaves
        row = tree.rows[place]
        nearest_rows(tree, tree.points[place], row, distances, rows)
        by_row = np.argsort(rows)
        order = by_row[np.argsort(distances[by_row], kind="mergesort")][1:]
        for i in range(few):
            others[row, i], lengths[row, i] = rows[order[i]], distances[order[i]]
    return others, lengths


@compiled
def grow_forest(points: NDArray[np.float64], k: int) -> Edges:
    """Return the edges that join every component of fewer than k rows to others.

    Components only grow, so that the nearest row outside stays the nearest as long as it is
    outside, and how far it was is the least that the next one can be (Boruvka 1926).
    """
    size = points.shape[0]
    tree = build_tree(points, np.arange(size))
    others, lengths = _list_nearest(tree, min(k - 1, FEW))
    parent, component = np.arange(size).astype(np.int32), np.arange(size).astype(np.int32)
    sizes, best = np.ones(size, np.int32), np.empty(size, np.int32)
    near, apart, seen = others[:, 0].copy(), lengths[:, 0].copy(), np.ones(size, np.int32)
    one, other, length = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    edges, found = 0, -1
    while edges > found:
        _choose(tree, component, sizes, k, (near, apart, best))
        found = edges
        for root in range(size):
            row = best[root]
            if row < 0:
                continue
            above, beyond = find_root(parent, row), find_root(parent, near[row])
            if above == beyond:  # the other side has chosen the same edge
                continue
            whole = sizes[above] + sizes[beyond]
            sizes[join(parent, above, beyond)] = whole
            one[edges], other[edges], length[edges] = row, near[row], apart[row]
            edges += 1
        for row in range(size):
            component[row] = find_root(parent, row)
        for row in range(size):
            while seen[row] < others.shape[1] and component[near[row]] == component[row]:
                near[row], apart[row] = others[row, seen[row]], lengths[row, seen[row]]
                seen[row] += 1
    return Edges(one[:edges].copy(), other[:edges].copy(), length[:edges].copy())


@compiled
def _choose(
    tree: Tree,
    component: NDArray[np.int32],
    sizes: NDArray[np.int32],
    k: int,
    edges: tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]],
) -> None:
    """Find for every component of fewer than k rows the row with its shortest outgoing edge.

    Rows whose nearest is still outside come first: nothing longer has to be looked for.
    """
    near, apart, best = edges
    inside = _enclosed(tree, component)
    best[:] = -1
    for known in (True, False):
        for row in tree.rows:  # neighbours in the tree search the same leaves
            root = component[row]
            if sizes[root] >= k or (near[row] >= 0 and component[near[row]] != root) != known:
                continue
            held = best[root]
            if not known:
                limit = np.inf if held < 0 else apart[held]
                if apart[row] > limit:
                    continue
                near[row], apart[row] = _nearest_outside(tree, inside, component, row, limit)
            if near[row] >= 0 and (held < 0 or _is_shorter(near, apart, row, held)):
                best[root] = row


@compiled
def _is_shorter(near: NDArray[np.int32], apart: NDArray[np.float64], row: int, held: int) -> bool:
    """Tell whether the edge of one row is shorter than that of another, rows deciding of equals."""
    mine = (apart[row], min(row, near[row]), max(row, near[row]))
    return mine < (apart[held], min(held, near[held]), max(held, near[held]))


# --- cutting ----------------------------------------------------------------------------------


@compiled
def _hang(edges: Edges, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what every row hangs from, itself of a root, and all rows, each before all below."""
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
    above, order = np.full(size, -1, np.int64), np.empty(size, np.int64)
    waiting, reached = np.empty(size, np.int64), 0
    for root in range(size):
        if above[root] >= 0:
            continue
        above[root], waiting[0], left = root, root, 1
        while left > 0:
            left -= 1
            row = waiting[left]
            order[reached] = row
            reached += 1
            for end in ends[start[row] : start[row + 1]]:
                if above[end] < 0:
                    above[end], waiting[left] = row, end
                    left += 1
    return above, order


@compiled
def cut_forest(edges: Edges, size: int, k: int, limit: int) -> NDArray[np.bool_]:
    """Tell which edges to cut, longest first, of trees larger than a limit.

    Trees only shrink, so an edge that may not be cut when its turn comes may never be.
    """
    above, order = _hang(edges, size)
    below, place = np.ones(size, np.int64), np.empty(size, np.int64)
    root = np.arange(size)
    for i in range(size - 1, -1, -1):
        row = order[i]
        place[row] = i
        if above[row] != row:
            below[above[row]] += below[row]
    for row in order:
        root[row] = root[above[row]]
    hanging = below.copy()
    cut = np.zeros(edges.one.size, np.bool_)
    for edge in _longest_first(edges):
        row = edges.one[edge] if above[edges.one[edge]] == edges.other[edge] else edges.other[edge]
        top = root[row]
        if below[row] < k or below[top] <= limit or below[top] - below[row] < k:
            continue
        cut[edge] = True
        node = row
        while node != top:
            node = above[node]
            below[node] -= below[row]
        for i in range(place[row], place[row] + hanging[row]):
            if root[order[i]] == top:
                root[order[i]] = row
    return cut


@compiled
def _longest_first(edges: Edges) -> NDArray[np.int64]:
    """Rank edges by length, those of one length by their rows."""
    smaller = np.minimum(edges.one, edges.other)
    larger = np.maximum(edges.one, edges.other)
    ranked = np.argsort(larger, kind="mergesort")
    ranked = ranked[np.argsort(smaller[ranked], kind="mergesort")]
    return ranked[np.argsort(edges.length[ranked], kind="mergesort")][::-1]


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
