"""The lists that the embedded engine searches instead of nested cases, at which it is slow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hartley.engines.categories import label_lists
from hartley.engines.cells import cut_lists
from hartley.engines.rules import CutCells, Lookup, Quantized, UniformCells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.rules import Rule
    from hartley.engines.table import Table


def as_executed(rule: Rule) -> Rule:
    """Return a rule as engines execute it: equal cells that are too fine are listed."""
    if isinstance(rule, Quantized) and isinstance(rule.cells, UniformCells):
        return rule if rule.cells.fits else replace(rule, cells=rule.cells.as_cuts())
    return rule.as_cuts() if isinstance(rule, UniformCells) and not rule.fits else rule


def join_lists(table: Table, rows: Any, rules: Sequence[Rule]) -> Any:
    """Give every row the lists that are searched: one shared value, not a copy a row."""
    import ibis
    import pyarrow as pa

    lists: dict[str, Any] = {}
    for i, rule in enumerate(rules):
        for name, items in _lists(table, rule).items():
            lists[f"r{i}_{name}"] = pa.array([list(items)])
    # A join by value would be quicker for categories, but loses the order of the rows.
    return rows.cross_join(ibis.memtable(pa.table(lists))) if lists else rows


def _lists(table: Table, rule: Rule) -> dict[str, Sequence[Any]]:
    if isinstance(rule, Lookup):
        return label_lists(table, rule)
    cells = rule.cells if isinstance(rule, Quantized) else rule
    return cut_lists(table, cells) if isinstance(cells, CutCells) else {}
