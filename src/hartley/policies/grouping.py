"""Ways of grouping categories so that every group leaves enough secrets possible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.ranges.relation import Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Distance = Callable[[Any, Any], float] | Mapping[tuple[Any, Any], float] | Sequence[Any]


@dataclass(frozen=True)
class Secrets:
    """Which secrets each category leaves possible, and how many any group of them does."""

    categories: list[Any]
    total: int
    name: str
    counts: NDArray[np.int64] | None
    """How many secrets each category leaves possible, where no secret has two categories."""
    relation: Relation | None = None

    @classmethod
    def of(cls, counted: Mapping[Any, int] | Relation) -> Secrets:
        """Read counts of records, or a relation whose released side the categories are."""
        if isinstance(counted, Relation):
            summary = counted.summary
            disjoint = int(summary.released_sizes.max()) == 1
            return cls(
                counted.released_range,
                summary.secrets,
                ", ".join(counted.released_names),
                summary.secret_sizes if disjoint else None,
                counted,
            )
        if not isinstance(counted, Mapping):
            raise OptionError(
                "The categories are neither counts nor a relation",
                hint="pass a mapping from category to number of records",
            )
        counts = list(counted.values())
        whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in counts)
        if not whole or min(counts, default=0) < 0 or not 0 < sum(counts) < 2**62:
            raise OptionError(
                "The counts of the categories are not whole numbers of records",
                hint="count at least one record, and none less than 0 times",
            )
        return cls(list(counted), sum(map(int, counts)), "category", np.array(counts, np.int64))

    def members(self, group: Sequence[int]) -> NDArray[np.int64]:
        """Return the secrets that a group leaves possible."""
        assert self.relation is not None
        pairs = self.relation.pairs()
        return np.unique(np.concatenate([pairs.secrets_of(code) for code in group]))

    def size(self, group: Sequence[int]) -> int:
        """Return how many secrets a group leaves possible."""
        if self.counts is not None:
            return int(self.counts[list(group)].sum())
        return int(self.members(group).size)

    def sizes_with(
        self, groups: Mapping[int, Sequence[int]], one: int, sizes: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return how many secrets one group would leave possible with each of the others."""
        together: NDArray[np.int64] = sizes[one] + sizes
        if self.counts is not None:
            return together
        assert self.relation is not None
        pairs, group_of = self.relation.pairs(), np.zeros(sizes.size, np.int64)
        for number, group in groups.items():
            group_of[group] = number
        shared = np.zeros(self.total, bool)
        shared[self.members(groups[one])] = True
        inside = shared[pairs.secret]
        keys = np.unique(group_of[pairs.released[inside]] * self.total + pairs.secret[inside])
        return np.asarray(together - np.bincount(keys // self.total, minlength=sizes.size))

    def sizes_of_all_groups(self) -> NDArray[np.int64]:
        """Return the size of every group, a group being a number whose bits are its categories.

        A group rules out the secrets all of whose categories lie outside of it.
        """
        n = len(self.categories)
        apart = np.zeros(2**n, np.int64)
        if self.counts is not None:
            apart[2 ** np.arange(n)] = self.counts
        else:
            assert self.relation is not None
            pairs, seen = self.relation.pairs(), np.zeros(self.total, np.int64)
            np.bitwise_or.at(seen, pairs.secret, 1 << pairs.released)
            apart = np.bincount(seen, minlength=2**n)
        for bit in range(n):  # sums over all subsets, a category at a time
            halves = apart.reshape(-1, 2, 2**bit)
            halves[:, 1] += halves[:, 0]
        return np.asarray(self.total - apart[::-1])


def read_distances(
    categories: Sequence[Any], distance: Distance | None
) -> NDArray[np.float64] | None:
    """Return the distances as a matrix; None stands for 1 between any two."""
    if distance is None:
        return None
    n = len(categories)
    try:
        if isinstance(distance, Mapping):
            rows: Any = [
                [
                    0.0 if a == b else distance[(a, b) if (a, b) in distance else (b, a)]
                    for b in categories
                ]
                for a in categories
            ]
        elif callable(distance):
            rows = [[distance(a, b) for b in categories] for a in categories]
        else:
            rows = distance
        matrix = np.asarray(rows, dtype=np.float64)
    except (KeyError, TypeError, ValueError):
        matrix = np.empty(0)
    fine = matrix.shape == (n, n) and bool(np.isfinite(matrix).all()) and matrix.min() >= 0
    if not fine or not np.array_equal(matrix, matrix.T):
        raise OptionError(
            "The distance does not give a number of 0 or more to every two categories, "
            "the same both ways",
            hint="pass a function of two categories, or a symmetric table",
        )
    return matrix


def best_groups(secrets: Secrets, least: int, apart: NDArray[np.float64] | None) -> list[list[int]]:
    """Return the most groups, of these the closest, of these those with the largest smallest one.

    By dynamic programming over all sets of categories: 3^n steps.
    """
    n = len(secrets.categories)
    sizes = secrets.sizes_of_all_groups().tolist()
    inner = _inner_distances(n, apart)
    most: list[tuple[int, float, int]] = [(0, 0.0, secrets.total)]
    choice = [0]
    for whole in range(1, 2**n):
        best, chosen = (-1, 0.0, 0), 0
        for group in _subsets_with(whole & -whole, whole):
            groups, closeness, smallest = most[whole ^ group]
            if sizes[group] >= least and groups >= 0:
                found = groups + 1, closeness - inner[group], min(smallest, sizes[group])
                if found > best:
                    best, chosen = found, group
        most.append(best)
        choice.append(chosen)
    cells, whole = [], 2**n - 1
    while whole:
        cells.append([k for k in range(n) if choice[whole] >> k & 1])
        whole ^= choice[whole]
    return cells


def _subsets_with(low: int, whole: int) -> Iterator[int]:
    """Yield the subsets of a set that hold its first member, small numbers last."""
    rest = part = whole ^ low
    while True:
        yield part | low
        if not part:
            return
        part = (part - 1) & rest


def _inner_distances(n: int, apart: NDArray[np.float64] | None) -> list[float]:
    """Return for every set the sum of the distances between its members."""
    inner = np.zeros(2**n)
    for k in range(n):
        sums = np.zeros(1)
        for j in range(k):
            sums = np.concatenate([sums, sums + (1.0 if apart is None else apart[k, j])])
        inner[2**k : 2 ** (k + 1)] = inner[: 2**k] + sums
    return list(inner.tolist())


# --- many categories: a heuristic ---------------------------------------------------------------


def join_nearest(
    secrets: Secrets, least: int, apart: NDArray[np.float64] | None
) -> list[list[int]]:
    """Join the smallest group that is too small with its nearest, until none is: a heuristic.

    Nearest on average over the members; of equally near ones one that is too small as well, if
    there is one, and of these the one that makes it just large enough, or else the largest.
    """
    count = len(secrets.categories)
    groups: dict[int, list[int]] = {code: [code] for code in range(count)}
    sizes = np.array([secrets.size([code]) for code in range(count)])
    far = None if apart is None else apart.copy()
    alive = np.ones(count, bool)
    while True:
        small = np.flatnonzero(alive & (sizes < least))
        if not small.size:
            return [sorted(group) for group in groups.values()]
        one = int(small[np.argmin(sizes[small])])
        others = np.flatnonzero(alive & (np.arange(count) != one))
        if far is not None:
            others = others[far[one, others] == far[one, others].min()]
        if (sizes[others] < least).any():
            others = others[sizes[others] < least]
        together = secrets.sizes_with(groups, one, sizes)[others]
        place = int(np.argmin(np.where(together >= least, together, 2**62 - together)))
        other, sizes[one] = int(others[place]), together[place]
        if far is not None:
            shares = len(groups[one]), len(groups[other])
            far[one] = (shares[0] * far[one] + shares[1] * far[other]) / sum(shares)
            far[:, one] = far[one]
        groups[one] += groups.pop(other)
        alive[other] = False


# --- a hierarchy ----------------------------------------------------------------------------------


def finest_cut(
    secrets: Secrets, least: int, hierarchy: Mapping[Any, Any]
) -> list[tuple[Any, list[int]]]:
    """Return the finest cut through a hierarchy whose groups are large enough, with its places.

    A place is divided when every part of it is large enough by itself: a part that is not has no
    smaller parts that are. Exact.
    """
    codes = {category: code for code, category in enumerate(secrets.categories)}
    parts: defaultdict[Any, dict[Any, None]] = defaultdict(dict)
    below: defaultdict[Any, list[int]] = defaultdict(list)
    roots: dict[Any, None] = {}
    for category, path in _paths(secrets.categories, hierarchy):
        roots[path[-1]] = None
        for child, place in pairwise(path):
            parts[place][child] = None
        for place in path:
            below[place].append(codes[category])
    if any(secrets.size(below[root]) < least for root in roots):
        raise OptionError(
            "A root of the hierarchy leaves too few secrets possible for the bound",
            hint="join the roots under one, which tells nothing, or allow more bits",
        )
    cut, open_places = [], list(roots)[::-1]
    while open_places:
        place = open_places.pop()
        inside = [(part, below[part]) for part in parts[place]]
        own = [(place, [codes[place]])] if place in codes else []
        if inside and all(secrets.size(group) >= least for _, group in own + inside):
            cut += own
            open_places += list(parts[place])[::-1]
        else:
            cut.append((place, below[place]))
    return cut


def _paths(
    categories: Sequence[Any], hierarchy: Mapping[Any, Any]
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield every category with the places from it up to its root."""
    places = {*hierarchy, *hierarchy.values()}
    lost = sum(category not in places for category in categories)
    if lost:
        raise OptionError(
            f"{lost} of {len(categories)} categories have no place in the hierarchy",
            hint="name the place above every category",
        )
    for category in categories:
        path, place = {category: None}, category
        while (place := hierarchy.get(place)) is not None:
            if place in path:
                raise OptionError("The hierarchy runs in a circle", hint="let it end in one root")
            path[place] = None
        yield category, list(path)
