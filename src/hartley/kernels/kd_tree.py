"""A KD-tree over points that can be removed: nearest and farthest, ties to the smallest row.

The leaves hold the points in one array, so that a search reads memory in order; a removed point
moves behind the last living one of its leaf, and all boxes above shrink to what is left. A box
bounds the distance of its points in the very arithmetic that computes it: rounding is monotone,
so no point is ever missed because of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAF = 16
"""Points in a leaf, at most."""
DEEPEST = 64
"""More nodes than a search ever keeps waiting: one a level."""
SAMPLE = 64
"""A sample of so many points decides in which column a node is widest; a wrong guess only costs
time."""


class Tree(NamedTuple):
    """A perfect binary tree in heap order: node 1 is the root, node i has 2i and 2i + 1 below."""

    points: NDArray[np.float64]
    """The points, leaf after leaf, the living ones of a leaf first."""
    rows: NDArray[np.int64]
    """The row of each of them."""
    place: NDArray[np.int64]
    """Where the point of a row stands; only for rows in the tree."""
    leaf: NDArray[np.int32]
    """The leaf of a row, counted from the left; only for rows in the tree."""
    start: NDArray[np.int64]
    """Where the points of a leaf begin, and where the last one ends."""
    alive: NDArray[np.int64]
    """How many points of a leaf are left."""
    boxes: NDArray[np.float64]
    """The corners of what is left below a node, column by column the lower end and the negative
    of the upper one, side by side in memory, and behind them the smallest row; infinite where
    nothing is left."""
    nodes: NDArray[np.int64]
    """Where a search keeps the nodes that it has yet to see, and, beside, their bounds."""
    bounds: NDArray[np.float64]


@compiled
def squared_distance(points: NDArray[np.float64], place: int, target: NDArray[np.float64]) -> float:
    """Return the squared distance of one of many points to a target, added column by column."""
    total = 0.0
    for column in range(target.size):
        difference = points[place, column] - target[column]
        total += difference * difference
    return total


@compiled
def swap_points(
    points: NDArray[np.float64], rows: NDArray[np.int64], first: int, second: int
) -> None:
    """Let two points change places."""
    for column in range(points.shape[1]):
        held = points[first, column]
        points[first, column] = points[second, column]
        points[second, column] = held
    row = rows[first]
    rows[first] = rows[second]
    rows[second] = row


@compiled
def _select(  # noqa: PLR0913, PLR0917 - a compiled loop takes plain arrays
    points: NDArray[np.float64],
    rows: NDArray[np.int64],
    first: int,
    last: int,
    middle: int,
    column: int,
) -> None:
    """Move points until none before the middle is above one behind it (Hoare's selection)."""
    while first < last:
        # The median of three is the pivot: sorted input does not make it quadratic.
        at_first, at_last = points[first, column], points[last, column]
        at_middle = points[(first + last) // 2, column]
        pivot = max(min(at_first, at_last), min(max(at_first, at_last), at_middle))
        i, j = first, last
        while i <= j:
            while points[i, column] < pivot:
                i += 1
            while points[j, column] > pivot:
                j -= 1
            if i <= j:
                swap_points(points, rows, i, j)
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@compiled
def _widest(points: NDArray[np.float64], first: int, end: int) -> int:
    """Return the column in which some points, or a sample of many, spread most."""
    widest, spread = 0, -1.0
    step = max((end - first) // SAMPLE, 1)
    for column in range(points.shape[1]):
        low = high = points[first, column]
        for i in range(first + 1, end, step):
            low = min(low, points[i, column])
            high = max(high, points[i, column])
        if high - low > spread:
            widest, spread = column, high - low
    return widest


@compiled
def build_tree(points: NDArray[np.float64], rows: NDArray[np.int64]) -> Tree:
    """Build the tree of some rows of a table of points; n log n."""
    size = rows.size
    levels = 0
    while size >> levels > LEAF:
        levels += 1
    leaves = 1 << levels
    held, order = points[rows], rows.copy()
    for level in range(levels):
        for node in range(1 << level):
            shift = levels - level
            first = (size * (node << shift)) >> levels
            end = (size * ((node + 1) << shift)) >> levels
            middle = (size * ((2 * node + 1) << (shift - 1))) >> levels
            _select(held, order, first, end - 1, middle, _widest(held, first, end))
    start = np.empty(leaves + 1, np.int64)
    for leaf in range(leaves + 1):
        start[leaf] = (size * leaf) >> levels
    tree = Tree(
        held,
        order,
        np.zeros(points.shape[0], np.int64),
        np.zeros(points.shape[0], np.int32),
        start,
        start[1:] - start[:-1],
        np.full((2 * leaves, 2 * points.shape[1] + 1), np.inf),
        np.empty(DEEPEST, np.int64),
        np.empty(DEEPEST),
    )
    for leaf in range(leaves):
        for place in range(start[leaf], start[leaf + 1]):
            tree.place[order[place]] = place
            tree.leaf[order[place]] = leaf
        _shrink_leaf(tree, leaf)
    for node in range(leaves - 1, 0, -1):
        _shrink(tree, node)
    return tree


@compiled
def _shrink_leaf(tree: Tree, leaf: int) -> bool:
    """Set the box of a leaf to what is left in it, and tell whether that changed it."""
    node = tree.alive.size + leaf
    first = np.inf
    for place in range(tree.start[leaf], tree.start[leaf] + tree.alive[leaf]):
        first = min(first, tree.rows[place])
    changed: bool = first != tree.boxes[node, -1]
    tree.boxes[node, -1] = first
    for column in range(tree.points.shape[1]):
        low = high = np.inf
        for place in range(tree.start[leaf], tree.start[leaf] + tree.alive[leaf]):
            low = min(low, tree.points[place, column])
            high = min(high, -tree.points[place, column])
        changed = changed or low != tree.boxes[node, 2 * column]
        changed = changed or high != tree.boxes[node, 2 * column + 1]
        tree.boxes[node, 2 * column] = low
        tree.boxes[node, 2 * column + 1] = high
    return changed


@compiled
def _shrink(tree: Tree, node: int) -> bool:
    """Set the box of a node to the union of the two below, and tell whether that changed it."""
    changed = False
    # Upper ends are kept negated, so that the union of two boxes and the smallest row are one
    # minimum, column by column.
    for end in range(tree.boxes.shape[1]):
        least = min(tree.boxes[2 * node, end], tree.boxes[2 * node + 1, end])
        changed = changed or least != tree.boxes[node, end]
        tree.boxes[node, end] = least
    return changed


@compiled
def remove_rows(tree: Tree, rows: NDArray[np.int64]) -> None:
    """Remove the points of some rows, and then shrink the boxes that they leave."""
    for i in range(rows.size):
        row = rows[i]
        leaf, place = tree.leaf[row], tree.place[row]
        tree.alive[leaf] -= 1
        last = tree.start[leaf] + tree.alive[leaf]
        tree.place[tree.rows[last]] = place
        tree.place[row] = last
        swap_points(tree.points, tree.rows, place, last)
    for i in range(rows.size):
        leaf = tree.leaf[rows[i]]
        changed = _shrink_leaf(tree, leaf)
        node = (tree.alive.size + leaf) >> 1
        while changed and node > 0:
            changed = _shrink(tree, node)
            node >>= 1


# --- searching --------------------------------------------------------------------------------


@compiled
def least_distance(tree: Tree, node: int, target: NDArray[np.float64]) -> float:
    """Return a lower bound for the squared distance of a target to all points of a box."""
    total = 0.0
    for column in range(target.size):
        value = target[column]
        below = tree.boxes[node, 2 * column] - value
        above = value + tree.boxes[node, 2 * column + 1]
        difference = max(max(below, above), 0.0)  # noqa: PLW3301 - two machine instructions
        total += difference * difference
    return total


@compiled
def _most(tree: Tree, node: int, target: NDArray[np.float64]) -> float:
    """Return an upper bound for the squared distance to all points of a box; -1 of an empty one."""
    if tree.boxes[node, 0] == np.inf:
        return -1.0
    total = 0.0
    for column in range(target.size):
        value = target[column]
        below = value - tree.boxes[node, 2 * column]
        above = -tree.boxes[node, 2 * column + 1] - value
        # The farther of the two ends, in the arithmetic of ``squared_distance``: a monotone
        # rounding of a larger number is never smaller, so the bound holds for computed distances.
        difference = max(below, above)
        total += difference * difference
    return total


@compiled
def offer(
    distances: NDArray[np.float64], rows: NDArray[np.int64], held: int, distance: float, row: int
) -> int:
    """Offer a row to the k nearest so far, a heap with the farthest on top; return its size."""
    if held < rows.size:
        hole = held
        held += 1
        while hole > 0:
            above = (hole - 1) >> 1
            if (distances[above], rows[above]) >= (distance, row):
                break
            distances[hole], rows[hole] = distances[above], rows[above]
            hole = above
    else:
        if (distance, row) >= (distances[0], rows[0]):
            return held
        hole = 0
        while 2 * hole + 1 < held:
            below = 2 * hole + 1
            if below + 1 < held and (
                (distances[below + 1], rows[below + 1]) > (distances[below], rows[below])
            ):
                below += 1
            if (distances[below], rows[below]) <= (distance, row):
                break
            distances[hole], rows[hole] = distances[below], rows[below]
            hole = below
    distances[hole], rows[hole] = distance, row
    return held


@compiled
def nearest_rows(
    tree: Tree,
    target: NDArray[np.float64],
    itself: int,
    distances: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> None:
    """Fill in the rows nearest to a target, as a heap; the row itself counts as nearest of all.

    The tree must hold at least as many points as are asked for.
    """
    leaves, held = tree.alive.size, offer(distances, rows, 0, -1.0, itself)
    nodes, bounds = tree.nodes, tree.bounds
    nodes[0], bounds[0], top = 1, 0.0, 1
    while top > 0:
        top -= 1
        node = nodes[top]
        if held == rows.size and (bounds[top], tree.boxes[node, -1]) > (distances[0], rows[0]):
            continue
        if node >= leaves:
            first = tree.start[node - leaves]
            for place in range(first, first + tree.alive[node - leaves]):
                distance = squared_distance(tree.points, place, target)
                row = tree.rows[place]
                if row != itself and (held < rows.size or distance <= distances[0]):
                    held = offer(distances, rows, held, distance, row)
            continue
        near = 2 * node
        left_bound = least_distance(tree, near, target)
        right_bound = least_distance(tree, near + 1, target)
        if (left_bound, tree.boxes[near, -1]) > (right_bound, tree.boxes[near + 1, -1]):
            near += 1
        if held < rows.size or max(left_bound, right_bound) <= distances[0]:
            nodes[top], bounds[top] = near ^ 1, max(left_bound, right_bound)
            top += 1
        nodes[top], bounds[top] = near, min(left_bound, right_bound)
        top += 1


@compiled
def farthest_row(tree: Tree, target: NDArray[np.float64]) -> int:
    """Return the row farthest from a target, the smallest of several."""
    leaves, best, farthest = tree.alive.size, -1.0, -1
    nodes, bounds = tree.nodes, tree.bounds
    nodes[0], bounds[0], top = 1, np.inf, 1
    while top > 0:
        top -= 1
        node = nodes[top]
        if bounds[top] < best or bounds[top] < 0:
            continue
        if bounds[top] == best and tree.boxes[node, -1] > farthest:
            continue
        if node >= leaves:
            first = tree.start[node - leaves]
            for place in range(first, first + tree.alive[node - leaves]):
                distance = squared_distance(tree.points, place, target)
                row = tree.rows[place]
                if distance > best or (distance == best and row < farthest):
                    best, farthest = distance, row
            continue
        left_bound, right_bound = _most(tree, 2 * node, target), _most(tree, 2 * node + 1, target)
        far = 2 * node if left_bound >= right_bound else 2 * node + 1
        if min(left_bound, right_bound) >= best:
            nodes[top], bounds[top] = far ^ 1, min(left_bound, right_bound)
            top += 1
        nodes[top], bounds[top] = far, max(left_bound, right_bound)
        top += 1
    return farthest
