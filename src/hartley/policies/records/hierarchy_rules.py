"""Hierarchies built by the rules of a file of roles: periods, masks, intervals, rare values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.engines.tables.failures import run
from hartley.errors import ColumnError
from hartley.policies.records.hierarchy import read_hierarchy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.engines.tables.table import Table
    from hartley.policies.records.hierarchy import Hierarchy
    from hartley.ranges.schema.roles import ColumnRole, Roles

HIDDEN = "*"
"""What stands for a hidden character."""
MOST_VALUES = 1_000_000
"""Distinct values that a rule looks at one by one."""


def hierarchies_of(table: Table, roles: Roles, columns: Sequence[str]) -> dict[str, Hierarchy]:
    """Return the hierarchies that roles give to columns, ready for ``anonymize``.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> from hartley.ranges.schema.roles import Roles
        >>> roles = Roles.read({"columns": {"zip": {"role": "key", "mask": 1}}})
        >>> hierarchies_of(open_table({"zip": ["1010", "1020"]}), roles, ["zip"])["zip"]["1010"]
        ('101*', '10**', '1***', '****')
    """
    rules = {name: _rule(table, roles.columns[name]) for name in columns if name in roles.columns}
    return {name: rule for name, rule in rules.items() if rule is not None}


def _rule(table: Table, column: ColumnRole) -> Hierarchy | None:
    if column.levels:
        return column.levels
    if column.hierarchy is not None:
        return read_hierarchy(column.hierarchy, column.name, table)
    if column.mask is not None:
        return mask_codes([value for value, _ in _counts(table, column.name)], column.mask)
    if column.rare:
        return merge_rare(dict(_counts(table, column.name)), column.rare)
    return None


def mask_codes(codes: Sequence[Any], hidden: int) -> dict[Any, tuple[str | None, ...]]:
    """Return masked codes: the first level hides some characters at the end, each further one more.

    A code that is shorter than others is filled up in front, so that all levels hide all codes
    alike; the last level hides every character. Missing codes stay missing.

    Example:
        >>> mask_codes([12, 345, None], 2)
        {12: (' **', '***'), 345: ('3**', '***'), None: (None, None)}
    """
    texts = {code: None if code is None else str(code) for code in codes}
    longest = max((len(text) for text in texts.values() if text is not None), default=1)
    cuts = [longest - number for number in range(min(hidden, longest), longest + 1)]
    return {
        code: tuple(
            None if text is None else text.rjust(longest)[:cut] + HIDDEN * (longest - cut)
            for cut in cuts
        )
        for code, text in texts.items()
    }


def merge_rare(counts: Mapping[Any, int], least: Sequence[int]) -> dict[Any, tuple[Any, ...]]:
    """Return the groups of values: level by level, values in fewer rows are merged into one.

    Example:
        >>> merge_rare({"nurse": 90, "cook": 20, "judge": 2}, [10, 50])["cook"]
        ('cook', 'other')
    """
    label = "other"
    while label in counts:
        label = f"({label})"
    return {
        value: tuple(
            None if value is None else str(value) if number >= size else label for size in least
        )
        for value, number in counts.items()
    }


def _counts(table: Table, column: str) -> list[tuple[Any, int]]:
    """Return the distinct values of a column, and how many rows hold each."""
    value = table.expression[column]
    grouped = table.expression.group_by(value=value).aggregate(n=table.expression.count())
    rows = run(table, grouped.limit(MOST_VALUES + 1).to_pyarrow)
    if rows.num_rows > MOST_VALUES:
        raise ColumnError(
            f"Column '{column}' of {table.name} has more than {MOST_VALUES:,} different values",
            hint="give it the role identifier, or a hierarchy as a file",
        )
    return list(zip(rows["value"].to_pylist(), rows["n"].to_pylist(), strict=True))
