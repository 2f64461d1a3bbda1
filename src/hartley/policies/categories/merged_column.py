"""A column policy for categories: each group of them is released as one label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hartley.chart import Groups
from hartley.engines.maps.rules import Lookup
from hartley.errors import OptionError
from hartley.policies.column import ColumnPolicy, Output, read_list
from hartley.ranges.boxes.category_list import CategoryList

if TYPE_CHECKING:
    from collections.abc import Mapping


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

    @classmethod
    def from_fields(cls, kind: str, name: str, fields: Mapping[str, object]) -> MergedColumn:
        """Build it from the fields of a file."""
        _ = kind  # there is one
        return cls.read(name, **fields)

    def to_rule(self) -> Lookup:
        """Return what an engine executes."""
        pairs = [
            (value, label)
            for group, label in zip(self.groups, self.labels, strict=True)
            for value in group
        ]
        return Lookup(self.name, tuple(pairs), self.other)

    def to_rules(self) -> tuple[Lookup]:
        """Return what an engine executes."""
        return (self.to_rule(),)

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
