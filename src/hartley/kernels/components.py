"""Connected components of a bipartite graph given by its edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
