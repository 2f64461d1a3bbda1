"""Merged categories."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.boxes.box import CategoryList
from hartley.errors import OptionError
from hartley.exact import log_ratio, parse_number
from hartley.policies.column import ColumnPolicy, Output, read_list
from hartley.ranges.joint_range import ListedValues
from hartley.ranges.relation import Relation
from hartley.report import Groups
from hartley.tables.release_rules import Lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    Distance = Callable[[Any, Any], float] | Mapping[tuple[Any, Any], float] | Sequence[Any]


EXACT_UP_TO = 12
"""Up to so many categories the best grouping is computed; for more without a hierarchy, a
heuristic is used."""


@dataclass(frozen=True)
class MergedColumn(ColumnPolicy):
    """A column of categories, each group of which is released as one label.

    Example:
        >>> jobs = MergedColumn("job", (("nurse", "doctor"), ("teacher",)), ("health", "school"))
        >>> jobs.to_rule().groups
        (('nurse', 'health'), ('doctor', 'health'), ('teacher', 'school'))
        >>> jobs.outputs().count, jobs.sentence()
        (2, 'job is released in 2 groups of its 3 categories.')
    """

    name: str
    groups: tuple[tuple[object, ...], ...]
    labels: tuple[object, ...]
    other: object | None = None
    """What is released for a value in no group; None refuses such values."""

    kind = "merging"
    kinds = ("merging",)
    needed = ("groups", "labels")
    optional = ("other",)

    def __post_init__(self) -> None:
        if len(self.groups) != len(self.labels):
            raise OptionError(
                f"There are {len(self.groups)} groups but {len(self.labels)} labels",
                hint="give every group one label",
            )
        self.to_rule()

    @classmethod
    def read(
        cls, name: str, groups: object, labels: object, other: object | None = None
    ) -> MergedColumn:
        """Build it from the fields of a file."""
        members = tuple(tuple(read_list(group, "groups")) for group in read_list(groups, "groups"))
        return cls(name, members, tuple(read_list(labels, "labels")), other)

    def to_rule(self) -> Lookup:
        """Return what an engine executes."""
        pairs = [
            (value, label)
            for group, label in zip(self.groups, self.labels, strict=True)
            for value in group
        ]
        return Lookup(self.name, tuple(pairs), self.other)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        fields = {"labels": list(self.labels), "groups": [list(group) for group in self.groups]}
        return fields if self.other is None else fields | {"other": self.other}

    @property
    def levels(self) -> int:
        """How many labels there are, with the one for all others."""
        return len({*self.labels, *([] if self.other is None else [self.other])})

    def outputs(self) -> Output:
        """Return how many labels can come out."""
        return Output(self.name, len(self.to_rule().labels), frozenset({self.name}))

    def declared_values(self) -> dict[str, CategoryList]:
        """Return the categories in groups; others too where there is a label for them."""
        listed = tuple(value for group in self.groups for value in group)
        return {self.name: CategoryList(listed, complete=self.other is None)}

    def sentence(self) -> str:
        """Say how many groups there are."""
        many, groups = sum(map(len, self.groups)), len(self.labels)
        if groups == many:
            return f"{self.name} is released as it is: one of {many:,} categories."
        return f"{self.name} is released in {groups:,} groups of its {many:,} categories."

    def picture(self, reach: float | None = None) -> Groups:
        """Return the groups and their labels."""
        _ = reach
        labelled = zip(self.labels, self.groups, strict=True)
        return Groups(
            self.name, tuple((str(label), tuple(map(str, group))) for label, group in labelled)
        )


# --- merging: every released group leaves enough secrets possible ---------------------------------


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
        self, groups: Mapping[int, Sequence[int]], chosen: int, sizes: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return how many secrets one group would leave possible with each of the others."""
        together: NDArray[np.int64] = sizes[chosen] + sizes
        if self.counts is not None:
            return together
        assert self.relation is not None
        pairs, group_of = self.relation.pairs(), np.zeros(sizes.size, np.int64)
        for number, group in groups.items():
            group_of[group] = number
        shared = np.zeros(self.total, bool)
        shared[self.members(groups[chosen])] = True
        inside = shared[pairs.secret]
        keys = np.unique(group_of[pairs.released[inside]] * self.total + pairs.secret[inside])
        return np.asarray(together - np.bincount(keys // self.total, minlength=sizes.size))

    def sizes_of_all_groups(self) -> NDArray[np.int64]:
        """Return the size of every group, a group being a number whose bits are its categories."""
        # A group rules out the secrets all of whose categories lie outside of it.
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
            "The distance of some two categories is not a number of 0 or more, or differs by "
            "direction",
            hint="pass a function of two categories, or a symmetric table",
        )
    return matrix


def best_groups(secrets: Secrets, least: int, apart: NDArray[np.float64] | None) -> list[list[int]]:
    """Return the best grouping: most groups, then closest members, then largest smallest group.

    By dynamic programming over all sets of categories: 3^n steps.
    """
    n = len(secrets.categories)
    sizes = secrets.sizes_of_all_groups().tolist()
    distances = np.zeros(2**n)  # the sum between the members of every set
    for k in range(n):
        sums = np.zeros(1)
        for j in range(k):
            sums = np.concatenate([sums, sums + (1.0 if apart is None else apart[k, j])])
        distances[2**k : 2 ** (k + 1)] = distances[: 2**k] + sums
    inner = distances.tolist()
    most: list[tuple[int, float, int]] = [(0, 0.0, secrets.total)]
    choice = [0]
    for whole in range(1, 2**n):
        best, chosen = (-1, 0.0, 0), 0
        # Some group holds the first category of a set: only such groups are tried, so that every
        # partition is seen once.
        first = whole & -whole
        rest = part = whole ^ first
        while True:
            group = part | first
            groups, closeness, smallest = most[whole ^ group]
            if sizes[group] >= least and groups >= 0:
                trial = groups + 1, closeness - inner[group], min(smallest, sizes[group])
                if trial > best:
                    best, chosen = trial, group
            if not part:
                break
            part = (part - 1) & rest
        most.append(best)
        choice.append(chosen)
    cells, whole = [], 2**n - 1
    while whole:
        cells.append([k for k in range(n) if choice[whole] >> k & 1])
        whole ^= choice[whole]
    return cells


def join_nearest(
    secrets: Secrets, least: int, apart: NDArray[np.float64] | None
) -> list[list[int]]:
    """Join the smallest group that is too small with its nearest, until none is: a heuristic.

    The distance of groups is the average over their members. Of equally near groups those that are
    too small as well come first; of these the one that makes the group just large enough is taken,
    or the largest if none does.
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
        first = int(small[np.argmin(sizes[small])])
        others = np.flatnonzero(alive & (np.arange(count) != first))
        if far is not None:
            others = others[far[first, others] == far[first, others].min()]
        if (sizes[others] < least).any():
            others = others[sizes[others] < least]
        together = secrets.sizes_with(groups, first, sizes)[others]
        # Sizes that are still too small rank behind all others, the largest of them first.
        place = int(np.argmin(np.where(together >= least, together, 2**62 - together)))
        second, sizes[first] = int(others[place]), together[place]
        if far is not None:
            shares = len(groups[first]), len(groups[second])
            far[first] = (shares[0] * far[first] + shares[1] * far[second]) / sum(shares)
            far[:, first] = far[first]
        groups[first] += groups.pop(second)
        alive[second] = False


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
            "A root of the hierarchy leaves too few secrets possible to meet the bound",
            hint="join all roots under a single one, which reveals nothing, or allow more bits",
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


@dataclass(frozen=True)
class CategoryMerging:
    """The groups of categories of a column that are released as one value.

    Example:
        >>> merging = CategoryMerging("country", (("France", "Spain"), ("Japan",)))
        >>> merging.labels, merging.label("Spain")
        (('France, Spain', 'Japan'), 'France, Spain')
    """

    column: str
    groups: tuple[tuple[Hashable, ...], ...]
    labels: tuple[str, ...] = ()
    """What is released for each group; by default its categories."""
    leakage: float | None = None
    """The leakage in bits, L0, counted after merging; None where nothing was counted."""
    optimal: bool = False
    """Whether no grouping within the bound is more useful, as far as was asked."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", tuple(tuple(group) for group in self.groups))
        listed = [value for group in self.groups for value in group]
        if not listed or not all(self.groups) or len(set(listed)) < len(listed):
            raise OptionError(
                f"The groups of column '{self.column}' do not contain every category exactly once",
                hint="give groups of at least one category, no category twice",
            )
        labels = tuple(self.labels) or _labels(self.groups)
        if len(set(labels)) < len(labels) or len(labels) != len(self.groups):
            raise OptionError(
                f"The labels of column '{self.column}' do not give every group a different name",
                hint="give every group a label of its own",
            )
        object.__setattr__(self, "labels", labels)

    @property
    def lookup(self) -> dict[Hashable, str]:
        """For every category what is released for it."""
        return {value: self.labels[number] for value, number in self._numbers.items()}

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {value: number for number, group in enumerate(self.groups) for value in group}

    def label(self, value: Hashable) -> str:
        """Return what is released for a category."""
        return self.labels[self._number(value)]

    def _number(self, value: Hashable) -> int:
        try:
            return self._numbers[value]
        except (KeyError, TypeError):
            raise OptionError(
                f"A category of column '{self.column}' is in no group",
                hint="design the merging with every category that can occur",
            ) from None

    def apply(self, relation: Relation) -> Relation:
        """Return a relation after its released categories were merged.

        Example:
            >>> from hartley import Relation
            >>> relation = Relation.from_pairs([(1, "a"), (2, "b"), (3, "b")])
            >>> CategoryMerging("letter", (("a", "b"),)).apply(relation).released_range
            ['a, b']
        """
        codes = [self._number(value) for value in relation.released_range]
        used = sorted(set(codes))
        values = ListedValues([self.labels[code] for code in used], (self.column,))
        return relation.regroup(np.searchsorted(used, codes), values)

    @classmethod
    def for_leakage(
        cls,
        counted: Mapping[Any, int] | Relation,
        *,
        bits: object,
        hierarchy: Mapping[Any, Any] | None = None,
        distance: Distance | None = None,
        column: str | None = None,
    ) -> CategoryMerging:
        r"""Return the most useful grouping of categories whose leakage stays within a bound.

        .. math:: L_0(X;Y) = \max_g \log_2 \frac{|[X]|}{|[X|g]|} \le \text{bits}

        Every group must leave at least |X| 2^-bits secrets possible (Farokhi 2019, eq. 6; exact).
        The secret is that of the relation whose released side the categories are; from a mapping
        of counts it is the record. Most useful is the grouping with the most groups, of these one
        with the least sum of distances between categories of one group (1 each by default), of
        these one that leaks least.

        With a hierarchy (child -> parent, up to one root or several) a group is everything below
        one place of it, and the finest such cut is found: exact, linear in the hierarchy. Without,
        the optimum is exact up to 12 categories, in 3^n steps. Beyond, the smallest group that
        tells too much is joined with its nearest, again and again: a heuristic (``optimal`` is
        false), quadratic in the categories; the bound holds all the same, for ``leakage`` is
        counted after merging. One group tells nothing, so every bound can be met, except where
        the hierarchy has no single root.

        Args:
            counted: how many records each category has, or a relation.
            bits: the most that the release may leak.
            hierarchy: for every category and every place but the roots, the place above it.
            distance: a function of two categories, a mapping of pairs, or a square array in the
                order of the categories.
            column: the name of the column; by default that of the relation.

        Example:
            >>> counts = {"Paris": 5, "Lyon": 1, "Rome": 4, "Bari": 2}
            >>> land = {"Paris": "France", "Lyon": "France", "Rome": "Italy", "Bari": "Italy",
            ...         "France": "Europe", "Italy": "Europe"}
            >>> CategoryMerging.for_leakage(counts, bits=1, hierarchy=land).labels
            ('France', 'Italy')
            >>> merging = CategoryMerging.for_leakage(counts, bits=2)
            >>> merging.groups, round(merging.leakage, 3)
            ((('Paris',), ('Lyon', 'Bari'), ('Rome',)), 2.0)
        """
        secrets = Secrets.of(counted)
        least = _least_size(secrets.total, bits)
        name = column or secrets.name
        if hierarchy is not None and distance is not None:
            raise OptionError(
                "A hierarchy and a distance were both given", hint="choose one of the two"
            )
        labels: tuple[str, ...] = ()
        if hierarchy is not None:
            cut = finest_cut(secrets, least, hierarchy)
            labels, groups = tuple(str(place) for place, _ in cut), [group for _, group in cut]
        else:
            apart = read_distances(secrets.categories, distance)
            find = best_groups if len(secrets.categories) <= EXACT_UP_TO else join_nearest
            groups = find(secrets, least, apart)
        sizes = [secrets.size(group) for group in groups]
        assert min(sizes) >= least
        return cls(
            name,
            tuple(tuple(secrets.categories[k] for k in group) for group in groups),
            labels,
            log_ratio(secrets.total, min(sizes)),
            hierarchy is not None or len(secrets.categories) <= EXACT_UP_TO,
        )


def _labels(groups: Sequence[Sequence[Hashable]]) -> tuple[str, ...]:
    """Name groups by their categories, long ones by the first few, and no two alike."""
    labels = [
        ", ".join(map(str, group))
        if len(group) <= 4
        else f"{', '.join(map(str, group[:3]))} and {len(group) - 3} others"
        for group in groups
    ]
    times = Counter(labels)
    return tuple(
        label if times[label] == 1 else f"{label} ({number})"
        for number, label in enumerate(labels, 1)
    )


def _least_size(total: int, bits: object) -> int:
    """Return the fewest secrets that a release may leave possible: ceil(total / 2^bits)."""
    bound = parse_number(bits, name="the bound in bits")
    if bound < 0:
        raise OptionError(
            f"No release leaks {bits} bits", hint="give 0 bits, for one group, or more"
        )
    if bound >= total.bit_length():
        return 1
    if bound.denominator == 1:
        return -(-total // (1 << int(bound)))
    # Irrational, so never a whole number: enough digits, a hair above, settle the ceiling.
    with localcontext() as context:
        context.prec = len(str(total)) + 80
        power = Decimal(2) ** (Decimal(bound.numerator) / Decimal(bound.denominator))
        return int(total / power * (1 + Decimal(10) ** (20 - context.prec))) + 1
