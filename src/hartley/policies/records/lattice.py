"""The lattice of levels of several keys: the combination of levels that loses least."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.ranges.relations.classes import combine_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.policies.records.hierarchy import Level


MOST_NODES = 200_000
"""More combinations of levels than this are refused."""


@dataclass(frozen=True)
class KeyPoints:
    """The distinct combinations of keys of a table."""

    codes: NDArray[np.int64]
    """One row a combination, one column a key."""
    counts: NDArray[np.int64]
    members: NDArray[np.int64]
    """The combination of every record."""
    values: list[list[Any]]
    """The values of every key, by code."""
    homes: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    """Every combination with every household that has it; None: records are counted."""


@dataclass(frozen=True)
class BestNode:
    """The levels that lose least, and which combinations of keys are released."""

    node: tuple[int, ...]
    large: NDArray[np.bool_]
    """Which combinations are in classes of k or more records, or households."""
    classes: int
    losses: tuple[Fraction, ...]
    """What every key loses, from 0 to 1."""


class _Losses:
    """Losses as integers over one common denominator, so that they compare exactly."""

    def __init__(self, points: KeyPoints, levels: Sequence[Sequence[Level]]) -> None:
        self._points, self._levels = points, levels
        spans = [max(len(values) - 1, 1) for values in points.values]
        self.unit = math.lcm(*spans)
        self.scale = self.unit * int(points.counts.sum())
        self._weights = [self.unit // span for span in spans]

    def of_level(self, key: int, level: int, counts: NDArray[np.int64]) -> int:
        """Return the loss of one key at one level, over records counted by combination."""
        lost = self._levels[key][level].group_sizes - 1
        return self._weights[key] * int(counts @ lost[self._points.codes[:, key]])

    def bounds(self) -> list[list[int]]:
        """Return for every key and level the loss if no record had to be left out."""
        return [
            [self.of_level(key, level, self._points.counts) for level in range(len(levels))]
            for key, levels in enumerate(self._levels)
        ]

    def of_node(self, node: Sequence[int], large: NDArray[np.bool_]) -> list[int]:
        """Return the loss of every key of a node; a suppressed record loses all of each key."""
        counts = np.where(large, self._points.counts, 0)
        gone = int(self._points.counts.sum() - counts.sum())
        return [
            self.of_level(key, level, counts) + gone * self.unit for key, level in enumerate(node)
        ]


def search_lattice(
    points: KeyPoints, levels: Sequence[Sequence[Level]], k: int, suppressible: int
) -> BestNode:
    """Return the node of the lattice of levels with the least loss, exactly; ties go to the lower.

    Nodes are tried in the order of their loss without suppression, which bounds their loss from
    below, until that bound exceeds the best loss; a node below one that suppresses too many
    suppresses too many as well (Samarati 2001; Iyengar 2002) and is not tried. So a node of which
    nothing is known is tried with those above it, by halves (Kohlmayer et al. 2012): the highest
    one that suppresses too many rules out all below it. Costs one grouping of the distinct
    combinations for each node that is tried. Where households are counted, a class has
    to hold people of k of them; parts of a class hold no more than the class, so that the same
    order works.

    Example:
        >>> from hartley.policies.records.hierarchy import key_levels
        >>> codes, counts, members = np.array([[0], [1]]), np.array([2, 1]), np.array([0, 0, 1])
        >>> points = KeyPoints(codes, counts, members, [[7, 8]])
        >>> search_lattice(points, [key_levels("a", [7, 8], None)], 2, 1).losses
        (Fraction(1, 3),)
    """
    shape = [len(of_key) for of_key in levels]
    if math.prod(shape) > MOST_NODES:
        raise OptionError(
            f"The hierarchies allow {math.prod(shape):,} combinations of levels",
            hint=f"use fewer keys or levels, {MOST_NODES:,} combinations at most",
        )
    losses = _Losses(points, levels)
    bounds = losses.bounds()
    nodes = sorted(
        (sum(bound[at] for bound, at in zip(bounds, node, strict=True)), sum(node), node)
        for node in itertools.product(*map(range, shape))
    )
    tried = _TriedNodes(points, levels, k, suppressible)
    best: tuple[int, BestNode] | None = None
    for bound, _, node in nodes:
        if best is not None and bound >= best[0]:
            break
        if tried.fails(node, bounds):
            continue
        large, classes = tried.group(node)
        lost = losses.of_node(node, large)
        if best is None or sum(lost) < best[0]:
            shares = tuple(Fraction(amount, losses.scale) for amount in lost)
            best = sum(lost), BestNode(node, large, classes, shares)
    assert best is not None  # one class of all records, or households, is large enough
    return best[1]


class _TriedNodes:
    """Which nodes suppress too many, and which do not.

    Finer levels split classes: what is below a node that suppresses too many does so too, and what
    is above one that does not never does.
    """

    def __init__(
        self, points: KeyPoints, levels: Sequence[Sequence[Level]], k: int, suppressible: int
    ) -> None:
        self._points, self._levels, self._k, self._most = points, levels, k, suppressible
        shape = [len(of_key) for of_key in levels]
        self._failed, self._fits = np.zeros(shape, bool), np.zeros(shape, bool)
        self._last: tuple[tuple[int, ...], NDArray[np.bool_], int] | None = None

    def group(self, node: tuple[int, ...]) -> tuple[NDArray[np.bool_], int]:
        """Return which combinations lie in large classes, and how many those are."""
        if self._last is None or self._last[0] != node:
            self._last = node, *_group(self._points, self._levels, node, self._k)
        return self._last[1:]

    def fails(self, node: tuple[int, ...], bounds: Sequence[Sequence[int]]) -> bool:
        """Tell whether a node suppresses too many."""
        if self._failed[node] or self._fits[node]:
            return bool(self._failed[node])
        path = _path_up(node, bounds)
        below, above = -1, len(path) - 1  # one class of everybody suppresses nobody
        while above - below > 1:
            middle = (below + above) // 2
            if self._fails_alone(path[middle]):
                below = middle
            else:
                above = middle
        self._fits[tuple(slice(at, None) for at in path[above])] = True
        if below >= 0:
            self._failed[tuple(slice(at + 1) for at in path[below])] = True
        return below >= 0

    def _fails_alone(self, node: tuple[int, ...]) -> bool:
        if self._failed[node] or self._fits[node]:
            return bool(self._failed[node])
        large, _ = self.group(node)
        return int(self._points.counts[~large].sum()) > self._most


def _path_up(node: tuple[int, ...], bounds: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return nodes from one to the highest, each with one level more where that loses least."""
    path = [node]
    while True:
        steps = [
            (bound[at + 1] - bound[at], key)
            for key, (bound, at) in enumerate(zip(bounds, path[-1], strict=True))
            if at + 1 < len(bound)
        ]
        if not steps:
            return path
        key = min(steps)[1]
        path.append((*path[-1][:key], path[-1][key] + 1, *path[-1][key + 1 :]))


def _group(
    points: KeyPoints, levels: Sequence[Sequence[Level]], node: Sequence[int], k: int
) -> tuple[NDArray[np.bool_], int]:
    """Return which combinations lie in classes of k or more, and how many those classes are."""
    chosen = [of_key[at] for of_key, at in zip(levels, node, strict=True)]
    columns = [level.groups[points.codes[:, i]] for i, level in enumerate(chosen)]
    classes, width = combine_codes(columns, [len(level.labels) for level in chosen])
    if width > 4 * classes.size + 1024:
        distinct, classes = np.unique(classes, return_inverse=True)
        width = distinct.size
    sizes = np.bincount(classes, weights=points.counts, minlength=width)
    if points.homes is not None:
        members, homes = points.homes
        amount = int(homes.max()) + 1
        together = np.unique(classes[members] * amount + homes)
        sizes = np.bincount(together // amount, minlength=width)
    return sizes[classes] >= k, int((sizes >= k).sum())
