"""The groups of mu-Approx: grow a forest of short edges, cut it, and divide what is too large."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hartley.kernels.compiling import compiled
from hartley.kernels.components import find_root, join, number_trees
from hartley.kernels.kd_tree import Tree, build_tree, least_distance, nearest_rows, squared_distance
from hartley.kernels.mdav import plain_mdav

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 16
"""How many nearest neighbours of each row are listed at most; farther ones are searched for."""


class Edges(NamedTuple):
    """Pairs of rows and their squared distances."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    length: NDArray[np.float64]


def mu_approx_groups(points: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Return the group of every row by mu-Approx.

    Every component of fewer than k records is joined to another by its shortest outgoing edge,
    round by round; trees of more than max(2k - 1, 3k - 5) records lose their longest edge that
    leaves k records on both sides, as long as there is one; what is still larger than 2k - 1 is
    divided by MDAV (after Domingo-Ferrer, Sebe and Solanas 2008). Of edges of one length the one
    between the smaller rows counts as shorter. About n log n log k for points in few columns; a
    cut also costs the size of its tree, and a tree of m records that cannot be cut m^2 / k.

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
    remaining = Edges(edges.first[~cut], edges.second[~cut], edges.length[~cut])
    return np.asarray(divide_trees(points, trees_of(remaining, size), k))


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

    Returns -1 and the limit where no such row is within the limit.
    """
    leaves, ours, target = tree.alive.size, component[row], tree.points[tree.place[row]]
    nodes, bounds = tree.nodes, tree.bounds
    nodes[0], bounds[0], top = 1, 0.0, 1
    nearest, best = -1, limit
    while top > 0:
        top -= 1
        node, bound = nodes[top], bounds[top]
        if inside[node] == ours or bound > best:
            continue
        # A box at exactly the best distance can only win by a smaller row. As long as no row is
        # known it is opened: a row at the limit itself may decide a tie between two edges.
        if bound == best and 0 <= nearest < tree.boxes[node, -1]:
            continue
        if node < leaves:
            farther, nearer = 2 * node, 2 * node + 1
            bounds[top] = least_distance(tree, farther, target)
            bounds[top + 1] = least_distance(tree, nearer, target)
            if bounds[top] < bounds[top + 1]:
                farther, nearer = nearer, farther
                bounds[top], bounds[top + 1] = bounds[top + 1], bounds[top]
            # The nearer box is on top of the stack: it is opened first and lowers the best early.
            nodes[top], nodes[top + 1] = farther, nearer
            top += 2
            continue
        for place in range(tree.start[node - leaves], tree.start[node - leaves + 1]):
            other = tree.rows[place]
            if component[other] == ours:
                continue
            distance = squared_distance(tree.points, place, target)
            if distance < best or (distance == best and (nearest < 0 or other < nearest)):
                nearest, best = other, distance
    return nearest, best


@compiled
def _list_nearest(tree: Tree, few: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return for every row a few others nearest to it, nearest first, and how far they are."""
    size = tree.rows.size
    others, lengths = np.empty((size, few), np.int32), np.empty((size, few))
    distances, rows = np.empty(few + 1), np.empty(few + 1, np.int64)
    for place in range(size):  # neighbours in the tree search the same leaves
        row = tree.rows[place]
        nearest_rows(tree, tree.points[place], row, distances, rows)
        # The heap is sorted by distance and then by row; the row itself comes first and is dropped.
        by_row = np.argsort(rows)
        order = by_row[np.argsort(distances[by_row], kind="mergesort")][1:]
        for i in range(few):
            others[row, i], lengths[row, i] = rows[order[i]], distances[order[i]]
    return others, lengths


@compiled
def grow_forest(points: NDArray[np.float64], k: int) -> Edges:
    """Return the edges that join every component of fewer than k rows to others.

    Every round, each component of fewer than k rows is joined by its shortest outgoing edge
    (Boruvka 1926). Components only grow: the nearest row outside remains the nearest until it is
    inside, and its distance is a lower bound for the next one.
    """
    size = points.shape[0]
    tree = build_tree(points, np.arange(size))
    # A component of fewer than k rows holds at most k - 2 neighbours of a row, so one of k - 1
    # listed neighbours is outside: the tree is searched again only where k - 1 exceeds FEW.
    others, lengths = _list_nearest(tree, min(k - 1, FEW))
    parent, component = np.arange(size).astype(np.int32), np.arange(size).astype(np.int32)
    sizes, best = np.ones(size, np.int32), np.empty(size, np.int32)
    near, apart, seen = others[:, 0].copy(), lengths[:, 0].copy(), np.ones(size, np.int32)
    first, second, length = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size)
    edges, before = 0, -1
    while edges > before:
        _choose(tree, component, sizes, k, (near, apart, best))
        before = edges
        for root in range(size):
            row = best[root]
            if row < 0:
                continue
            above, beyond = find_root(parent, row), find_root(parent, near[row])
            # Edges are ordered strictly, so the choices of one round close no circle; the ends are
            # already joined only if the other side has chosen the same edge.
            if above == beyond:
                continue
            whole = sizes[above] + sizes[beyond]
            sizes[join(parent, above, beyond)] = whole
            first[edges], second[edges], length[edges] = row, near[row], apart[row]
            edges += 1
        for row in range(size):
            component[row] = find_root(parent, row)
        # The list of a row is sorted, so its first entry outside is the nearest row outside.
        # `near` is -1 only after a search, when the list is used up: it is no index here.
        for row in range(size):
            while seen[row] < others.shape[1] and component[near[row]] == component[row]:
                near[row], apart[row] = others[row, seen[row]], lengths[row, seen[row]]
                seen[row] += 1
    return Edges(first[:edges].copy(), second[:edges].copy(), length[:edges].copy())


@compiled
def _choose(
    tree: Tree,
    component: NDArray[np.int32],
    sizes: NDArray[np.int32],
    k: int,
    edges: tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]],
) -> None:
    """Find for every component of fewer than k rows the row with its shortest outgoing edge.

    Rows whose nearest is still outside come first, since they need no search; the best of them
    limits the search of the other rows.
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
                # The last known distance is a lower bound, also where a search ended at its limit.
                if apart[row] > limit:
                    continue
                near[row], apart[row] = _nearest_outside(tree, inside, component, row, limit)
            if near[row] >= 0 and (held < 0 or _is_shorter(near, apart, row, held)):
                best[root] = row


@compiled
def _is_shorter(near: NDArray[np.int32], apart: NDArray[np.float64], row: int, held: int) -> bool:
    """Tell whether the edge of a row is shorter than the one held; row numbers decide ties."""
    mine = (apart[row], min(row, near[row]), max(row, near[row]))
    return mine < (apart[held], min(held, near[held]), max(held, near[held]))


# --- cutting ----------------------------------------------------------------------------------


@compiled
def _hang(edges: Edges, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parent of every row (a root is its own) and the rows in preorder.

    In this order the rows below a row directly follow it, which ``cut_forest`` relies on.
    """
    start = np.zeros(size + 1, np.int64)
    for i in range(edges.first.size):
        start[edges.first[i] + 1] += 1
        start[edges.second[i] + 1] += 1
    start = np.cumsum(start)
    ends, filled = np.empty(2 * edges.first.size, np.int64), start.copy()
    for i in range(edges.first.size):
        ends[filled[edges.first[i]]] = edges.second[i]
        ends[filled[edges.second[i]]] = edges.first[i]
        filled[edges.first[i]] += 1
        filled[edges.second[i]] += 1
    above, order = np.full(size, -1, np.int64), np.empty(size, np.int64)
    waiting, reached = np.empty(size, np.int64), 0
    for root in range(size):
        if above[root] >= 0:
            continue
        above[root], waiting[0], height = root, root, 1
        while height > 0:
            height -= 1
            row = waiting[height]
            order[reached] = row
            reached += 1
            for end in ends[start[row] : start[row + 1]]:
                if above[end] < 0:
                    above[end], waiting[height] = row, end
                    height += 1
    return above, order


@compiled
def cut_forest(edges: Edges, size: int, k: int, limit: int) -> NDArray[np.bool_]:
    """Tell which edges of trees larger than a limit to cut, longest first.

    Trees only shrink, so an edge that cannot be cut when its turn comes cannot be cut later.
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
    # `below` counts the rows below a row, itself included, that are still in its tree; `hanging`
    # counts them before any cut, which is how many places they take in `order`.
    hanging = below.copy()
    cut = np.zeros(edges.first.size, np.bool_)
    for edge in _longest_first(edges):
        row, parent = edges.first[edge], edges.second[edge]
        if above[row] != parent:
            row = parent
        top = root[row]
        if below[row] < k or below[top] <= limit or below[top] - below[row] < k:
            continue
        cut[edge] = True
        node = row
        while node != top:
            node = above[node]
            below[node] -= below[row]
        for i in range(place[row], place[row] + hanging[row]):
            if root[order[i]] == top:  # the others were cut off before
                root[order[i]] = row
    return cut


@compiled
def _longest_first(edges: Edges) -> NDArray[np.int64]:
    """Rank edges by length, edges of equal length by their rows."""
    smaller = np.minimum(edges.first, edges.second)
    larger = np.maximum(edges.first, edges.second)
    ranked = np.argsort(larger, kind="mergesort")
    ranked = ranked[np.argsort(smaller[ranked], kind="mergesort")]
    return ranked[np.argsort(edges.length[ranked], kind="mergesort")][::-1]


@compiled
def trees_of(edges: Edges, size: int) -> NDArray[np.int32]:
    """Return the number of the tree of every row."""
    parent = np.arange(size).astype(np.int32)
    for i in range(edges.first.size):
        join(parent, edges.first[i], edges.second[i])
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
