"""Categories merged into groups, so that a release leaves enough secrets possible."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import log_ratio, parse_number
from hartley.policies.grouping import (
    Secrets,
    best_groups,
    finest_cut,
    join_nearest,
    read_distances,
)
from hartley.ranges.values import ListedValues

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from hartley.policies.grouping import Distance
    from hartley.ranges.relation import Relation

EXACT_UP_TO = 12
"""So many categories are grouped in the best way; more without a hierarchy by a heuristic."""


@dataclass(frozen=True)
class CategoryMerging:
    """Which categories of a column are released as one.

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
                f"The groups of column '{self.column}' do not hold every category once",
                hint="give groups of at least one category, no category twice",
            )
        labels = tuple(self.labels) or _labels(self.groups)
        if len(set(labels)) < len(labels) or len(labels) != len(self.groups):
            raise OptionError(
                f"The labels of column '{self.column}' do not name every group apart",
                hint="give one label a group, no two alike",
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
                f"A category of column '{self.column}' belongs to no group",
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
            small = len(secrets.categories) <= EXACT_UP_TO
            groups = (
                best_groups(secrets, least, apart) if small else join_nearest(secrets, least, apart)
            )
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
    """Return the fewest secrets that a release may leave possible: ceil(total / 2^bits), exactly.

    Example:
        >>> _least_size(12, 2), _least_size(12, "1.5"), _least_size(12, 100)
        (3, 5, 1)
    """
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
