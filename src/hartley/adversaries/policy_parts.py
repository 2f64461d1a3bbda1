"""The columns of a policy that have to be worked out together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.engines.maps.rules import Lookup
from hartley.ranges.boxes.category_list import CategoryList

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from fractions import Fraction

    from hartley.engines.maps.rules import Rule
    from hartley.policies.column import ColumnPolicy, Declared, Draws, HiddenSide
    from hartley.policies.document import PolicyDocument
    from hartley.ranges.boxes.signs import Clause


@dataclass(frozen=True)
class PolicyPart:
    """Columns of a policy that have to be worked out together, since they read the same columns."""

    policies: tuple[ColumnPolicy, ...]
    unknown: tuple[str, ...]
    """The columns of the table that somebody wants to work out."""
    fixed: tuple[str, ...]
    """The columns that they read too and that are known: released as they are, or known anyway."""
    domains: Mapping[str, Declared]
    """The values that columns of the table can have, as far as that is known."""
    ranges: Mapping[str, tuple[Fraction, Fraction]]
    """The declared ranges of the policy."""

    @property
    def released(self) -> tuple[str, ...]:
        """The released columns."""
        return tuple(name for policy in self.policies for name in policy.columns)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What an engine executes for them."""
        return tuple(rule for policy in self.policies for rule in policy.to_rules())

    @property
    def hidden(self) -> tuple[HiddenSide, ...]:
        """The hypotheses that they hide."""
        return tuple(side for policy in self.policies for side in policy.hidden_sides())

    @property
    def conditions(self) -> tuple[Clause, ...]:
        """What every possible record fulfils, as far as the policies say."""
        clauses = (policy.possible_if() for policy in self.policies)
        return tuple(clause for clause in clauses if clause is not None)

    @property
    def draws(self) -> Draws | None:
        """What is drawn at random, if that is all there is."""
        return self.policies[0].draws() if len(self.policies) == 1 else None

    @property
    def texts(self) -> frozenset[str]:
        """The released columns that hold text, whatever a CSV file has there."""
        names = {
            rule.column
            for rule in self.rules
            if isinstance(rule, Lookup) and _are_texts(rule.labels)
        }
        draws = self.draws
        for place, name in enumerate(() if draws is None else self.released):
            assert draws is not None
            several = len(self.released) > 1
            if _are_texts(value[place] if several else value for value in draws.released):
                names.add(name)
        return frozenset(names)

    @property
    def text_inputs(self) -> frozenset[str]:
        """The columns of the true table that hold text, whatever a CSV file has there."""
        lists = {
            name: domain.values
            for name, domain in self.domains.items()
            if isinstance(domain, CategoryList)
        }
        draws = self.draws
        for place, name in enumerate(() if draws is None else self.released):
            assert draws is not None
            several = len(self.released) > 1
            lists[name] = tuple(value[place] if several else value for value in draws.values)
        return frozenset(name for name, values in lists.items() if _are_texts(values))


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) or value is None for value in values)


def parts_of(
    document: PolicyDocument, domains: Mapping[str, Declared], known: Collection[str]
) -> list[PolicyPart]:
    """Group the columns of a policy that read an unknown column in common.

    A column that is released as it is, or known, ties nothing together: once it is known, what
    others read beside it is worked out for each of them alone.

    Args:
        document: the policy.
        domains: the values that columns of the table can have.
        known: the columns that are known.
    """
    fixed = {column.name for column in document.columns if column.is_kept} | set(known)
    groups: list[tuple[list[ColumnPolicy], set[str]]] = []
    for column in document.columns:
        if column.is_kept:
            continue
        members, unknown = [column], read_by(column) - fixed
        separate = []
        for group in groups:
            if group[1] & unknown:
                members, unknown = [*group[0], *members], unknown | group[1]
            else:
                separate.append(group)
        groups = [*separate, (members, unknown)]
    return [
        PolicyPart(
            tuple(members),
            tuple(sorted(unknown)),
            tuple(sorted(read_by(*members) & fixed)),
            domains,
            document.ranges,
        )
        for members, unknown in groups
    ]


def read_by(*columns: ColumnPolicy) -> set[str]:
    """Return the columns of the table that columns of a policy read."""
    names: set[str] = set()
    for column in columns:
        names |= set(column.columns) if column.draws() is not None else column.outputs().reads
    return names
