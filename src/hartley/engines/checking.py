"""Refuse a map that does not fit the table it is applied to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.engines.formula import names_of
from hartley.engines.rules import Formula, Lookup, Quantized, range_of
from hartley.engines.table import Kind
from hartley.errors import ColumnError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hartley.engines.formula import Tree
    from hartley.engines.rules import Rule
    from hartley.engines.table import Table


def check_rules(table: Table, rules: Sequence[Rule]) -> None:
    """Refuse rules that name a column twice, one that is not there or one of another kind."""
    names = [rule.column for rule in rules]
    if not rules:
        raise OptionError("The map names no column", hint="give a rule for what is to be released")
    if len({name.lower() for name in names}) < len(names):
        raise OptionError(
            "Two rules of the map name one column", hint="give every column one rule, case aside"
        )
    own = [rule for rule in rules if not isinstance(rule, Quantized)]
    table.require(rule.column for rule in own)
    numeric = [rule.column for rule in own if range_of(rule) is not None]
    check_numbers(table, (*numeric, *(name for tree in trees_of(rules) for name in names_of(tree))))
    for rule in rules:
        if isinstance(rule, Lookup):
            _check_categories(table, rule)


def check_numbers(table: Table, names: Iterable[str]) -> None:
    """Refuse a column that is not there or that holds no numbers."""
    listed = list(names)
    table.require(listed)
    for name in listed:
        if not table.kind(name).numeric and table.kind(name) is not Kind.EMPTY:
            raise ColumnError(
                f"Column '{name}' of {table.name} holds {table.kind(name)} values, not numbers",
                hint="convert it to numbers first, or merge or keep its values",
            )


def trees_of(rules: Sequence[Rule]) -> list[Tree]:
    """Return the formulas of a map."""
    return [rule.tree for rule in rules if isinstance(rule, (Formula, Quantized))]


def _check_categories(table: Table, rule: Lookup) -> None:
    kind, dtype = table.kind(rule.column), table.expression.schema()[rule.column]
    fitting = {
        str: dtype.is_string(),
        int: kind.numeric,
        bool: kind is Kind.BOOLEAN,
    }[type(rule.groups[0][0])]
    if not fitting and kind is not Kind.EMPTY:
        raise ColumnError(
            f"Column '{rule.column}' of {table.name} holds {kind} values, unlike its groups",
            hint="write the values of the groups as the column has them",
        )
