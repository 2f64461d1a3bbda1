"""Nearest records, the groups of MDAV, and groups of numbers on a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hartley.kernels.pairs import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


LEAF = 16
"""Points in a leaf, at most."""
DEEPEST = 64
"""More nodes than a search ever keeps waiting: one a level."""
SAMPLE = 64
"""A sample of so many points decides in which column a node is widest; a wrong guess only costs
time."""
PLAIN_WORK = 4_000
"""Up to so many rows, plus some for every column, scanning all of them beats the tree."""
LARGEST_CODE_BITS = 40
"""The points are rounded to integers of so many bits, or fewer where the sums would not fit."""
SLACK = 1e-12
"""More than the relative rounding error of a distance."""


# --- a KD-tree over points that can be removed: nearest and farthest, ties to the smallest row ----
#
# The leaves hold the points in one array, so that a search reads memory in order; a removed point
# moves behind the last living one of its leaf, and all boxes above shrink to what is left. A box
# bounds the distance of its points in the very arithmetic that computes it: rounding is monotone,
# so no point is ever missed because of it.


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


# --- MDAV, the maximum distance to average vector method, exactly: plain, and with a tree ---------
#
# Both kernels take integers in doubles. The sum of the remaining records is then an integer that
# does not depend on the order in which others were removed, every distance is computed by the
# same sums in the same order, and ties go to the smallest row: both always find the same groups.


def integer_points(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points on a grid of integers so fine that their sums just fit into 64 bits.

    One power of two scales all columns, so integers of up to 40 bits stay exact in proportion.
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
    (Domingo-Ferrer and Torra 2005, generic MDAV). Points are integers from ``integer_points``.
    Exact; about n^1.4 in few columns.
    """
    rows, columns = points.shape
    if rows <= PLAIN_WORK + 500 * columns:
        return np.asarray(plain_mdav(points, k))
    return np.asarray(tree_mdav(points, k))


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
    """Move the centre and those nearest to it behind the others, as a group; return its point."""
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
    """Return the record farthest from a target and how many were looked at; -1 if unlisted."""
    # By the triangle inequality a record is at most its old distance plus the drift away from the
    # target, where the drift is how far the target is from the old average. The list is sorted by
    # the old distance, so the search ends when that sum falls below the best.
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
    """Form pairs of groups until an eighth of the records or fewer than 3k remain."""
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
        rows = rows[labels[rows] < 0]  # a smaller tree keeps searches short
    labels[rows] = plain_mdav(points[rows], k) + np.int32(group)
    return labels


# --- numbers on a line, by dynamic programming ----------------------------------------------------


def line_clusters(
    values: NDArray[np.float64], weights: NDArray[np.float64], most: int
) -> NDArray[np.float64]:
    r"""Return the centres of the clusters of weighted, ascending numbers with the least error.

    .. math:: \min \sum_i w_i (x_i - c_{k(i)})^2

    Every optimal cluster is a run of the sorted numbers, so the first i of them in k clusters
    follow from fewer in k - 1 (Wang and Song 2011); where the last one begins never moves back
    as i grows, which leaves k n log n steps. Exact up to the rounding of sums.
    """
    centre = np.average(values, weights=weights)
    moved = values - centre  # sums of squares cancel less around their mean
    sums = [np.concatenate(([0.0], np.cumsum(weights * moved**power))) for power in range(3)]
    begins = _best_runs(sums[0], sums[1], sums[2], min(most, values.size))
    mass, first = np.diff(sums[0][begins]), np.diff(sums[1][begins])
    return np.asarray(centre + first / mass)


@compiled
def _error(
    mass: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    begin: int,
    end: int,
) -> float:
    """Return the squared error of one run."""
    # Differences of sums may cancel to less than zero, which a sum of squares never is.
    weight = mass[end] - mass[begin]
    total = first[end] - first[begin]
    return max(second[end] - second[begin] - total * total / weight, 0.0)  # type: ignore[no-any-return]  # a double


@compiled
def _best_runs(
    mass: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    clusters: int,
) -> NDArray[np.int64]:
    """Return where the runs of an optimal clustering begin, and the end of the last."""
    size = mass.size - 1
    cost = np.full((clusters + 1, size + 1), np.inf)
    before = np.zeros((clusters + 1, size + 1), np.int64)
    cost[0, 0] = 0.0
    # A stack of ranges of ends, each with the range of begins that its middle can have.
    stack = np.empty((2 * size + 4, 4), np.int64)
    for k in range(1, clusters + 1):
        held = 1
        stack[0] = (k, size, k - 1, size - 1)
        while held:
            held -= 1
            low, high, left, right = stack[held]
            if low > high:
                continue
            end = (low + high) // 2
            best, at = np.inf, left
            for begin in range(left, min(right, end - 1) + 1):
                trial = cost[k - 1, begin] + _error(mass, first, second, begin, end)
                if trial < best:
                    best, at = trial, begin
            cost[k, end], before[k, end] = best, at
            stack[held] = (low, end - 1, left, at)
            stack[held + 1] = (end + 1, high, at, right)
            held += 2
    begins = np.empty(clusters + 1, np.int64)
    begins[clusters] = size
    for k in range(clusters, 0, -1):
        begins[k - 1] = before[k, begins[k]]
    return begins


def univariate_groups(values: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    r"""Return the group of every value of a partition with the least sum of squared errors.

    .. math:: c_i = \min_{k \le l < 2k} c_{i-l} + \sum_{j=i-l+1}^{i} (x_j - \bar x)^2

    over the sorted values: some optimal group is a run of them, of k to 2k - 1 (Hansen and
    Mukherjee 2003). Exact up to the rounding of the sums, which are updated value by value
    without cancellation. One sort, then n k.
    """
    order = np.argsort(values, kind="stable")
    labels = np.empty(values.size, np.int32)
    labels[order] = sorted_groups(values[order], k)
    return labels


@compiled
def sorted_groups(values: NDArray[np.float64], k: int) -> NDArray[np.int32]:
    """Return the groups of sorted values."""
    size = values.size
    cost, before = np.full(size + 1, np.inf), np.zeros(size + 1, np.int64)
    cost[0] = 0.0
    # Multiplying by these spares a division in the innermost loop.
    shares = 1.0 / np.arange(1, 2 * k + 1)
    for end in range(k, size + 1):
        mean = error = 0.0
        for length in range(1, min(end, 2 * k - 1) + 1):
            # The mean and the squared errors of a run that grows downwards (Welford 1962).
            value = values[end - length]
            difference = value - mean
            mean += difference * shares[length - 1]
            error += difference * (value - mean)
            if length >= k and cost[end - length] + error < cost[end]:
                cost[end] = cost[end - length] + error
                before[end] = end - length
    groups, end = 0, size
    while end > 0:
        groups, end = groups + 1, before[end]
    labels, end = np.empty(size, np.int32), size
    while end > 0:
        groups -= 1
        labels[before[end] : end] = groups
        end = before[end]
    return labels
