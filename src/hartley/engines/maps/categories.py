"""Labels of categories: nested cases, or lists on engines that search lists faster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.dialect import null_unless
from hartley.engines.maps.cells import (
    MOST_BUCKETS,
    MOST_COMPARED,
    EqualCellGrid,
    clamp,
    cut_lists,
    list_item,
    locate_steps,
    search_steps,
    with_lists,
)
from hartley.engines.maps.rules import CutCells, Lookup, Quantized, UniformCells
from hartley.engines.tables.table import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.dialects.dialect import Dialect
    from hartley.engines.maps.cells import Steps
    from hartley.engines.maps.rules import Rule
    from hartley.engines.tables.table import Table


def label_steps(table: Table, rule: Lookup, value: str, result: str) -> Steps:
    """Label categories in the fastest way that an engine has.

    Args:
        table: the table.
        rule: the groups.
        value: the column with the values.
        result: the column to name; with ``_unknown`` appended, whether a value is in no group.
    """
    lists = label_lists(table, rule)
    if not lists:
        return look_up_steps(rule, value, result)
    if "keys" in lists:
        return search_label_steps(table.dialect, rule, value, result)
    return index_steps(rule, value, result)


def label_lists(table: Table, rule: Lookup) -> dict[str, Sequence[Any]]:
    """Return the lists in which labels are looked up, by name; none where cases are quicker.

    Of integers that lie close together every one has a label or a hole. Else the values in order,
    the label of each and, of numbers, the starts of the buckets of a grid. Text is ordered by code
    points here and by its bytes on the engine, which is the same.
    """
    if not table.dialect.searches_lists or len(rule.groups) <= MOST_COMPARED:
        return {}
    pairs: list[Any] = sorted(rule.groups)
    keys, labels = zip(*pairs, strict=True)
    if isinstance(keys[0], str):
        return {"keys": keys, "labels": labels}
    if table.kind(rule.column) is Kind.INTEGER and keys[-1] - keys[0] < MOST_BUCKETS:
        known = dict(pairs)
        return {"labels": [known.get(key) for key in range(keys[0], keys[-1] + 1)]}
    edges = number_edges(rule)
    return {"keys": edges[:-1], "labels": labels, "starts": EqualCellGrid.over(edges).starts}


def look_up_steps(rule: Lookup, value: str, result: str) -> Steps:
    """Label the values group by group; the column ``_unknown`` marks the others."""
    rows = yield {}
    members: dict[object, list[object]] = {}
    for key, label in rule.groups:
        members.setdefault(label, []).append(key)
    cases = [(rows[value].isin(keys), _literal(label)) for label, keys in members.items()]
    is_listed = rows[value].isin([key for key, _ in rule.groups])
    yield _labelled(rule, rows[value], result, cases, is_listed)


def index_steps(rule: Lookup, value: str, result: str) -> Steps:
    """Label integers by their place in a list of all labels, ``_labels``."""
    import ibis

    rows = yield {}
    pairs: list[Any] = list(rule.groups)
    low, high = min(key for key, _ in pairs), max(key for key, _ in pairs)
    label, within = f"{result}_label", rows[value].between(low, high)
    item = list_item(type_of(rule.labels[0]))
    listed_label = item(
        rows[f"{result}_labels"], rows[value].cast("int64") - ibis.literal(low - 1, "int64")
    )
    if high - low + 1 == len(pairs):
        yield _labelled(rule, rows[value], result, [(within, listed_label)], within)
        return
    rows = yield {label: null_unless(within, listed_label)}
    known = rows[label].notnull()
    yield _labelled(rule, rows[value], result, [(known, rows[label])], known)


def search_label_steps(dialect: Dialect, rule: Lookup, value: str, result: str) -> Steps:
    """Label the values by a search in a sorted list of them, ``_keys``."""
    import ibis

    keys, labels, starts = (f"{result}_{name}" for name in ("keys", "labels", "starts"))
    at, hit, label = f"{result}_at", f"{result}_found", f"{result}_label"
    kind = "string" if isinstance(rule.groups[0][0], str) else "float64"
    if kind == "string":
        rows = yield {at: ibis.literal(1, type="int64")}
        rows = yield from search_steps(rows, len(rule.groups) - 1, kind, (value, keys, at))
    else:
        edges, near = number_edges(rule), f"{result}_near"
        rows = yield {}
        rows = yield {near: clamp(rows[value].cast(kind), edges[0], edges[-1])}
        rows = yield from locate_steps(
            dialect, rows, EqualCellGrid.over(edges), (near, keys, starts), at
        )
    rows = yield {
        hit: list_item(kind)(rows[keys], rows[at]) == rows[value].cast(kind),
        label: list_item(type_of(rule.labels[0]))(rows[labels], rows[at]),
    }
    yield _labelled(rule, rows[value], result, [(rows[hit], rows[label])], rows[hit])


def number_edges(rule: Lookup) -> list[float]:
    """Return numbers as the lower edges of cells, and an edge above them all."""
    pairs: list[Any] = list(rule.groups)
    keys = sorted(float(key) for key, _ in pairs)
    return [*keys, keys[-1] + 1]


def type_of(item: object) -> str:
    """Return the type of the column that holds such an item.

    Example:
        >>> type_of("nurse"), type_of(3), type_of(True)
        ('string', 'int64', 'boolean')
    """
    return {str: "string", int: "int64", bool: "boolean"}[type(item)]


def _labelled(
    rule: Lookup, value: Any, result: str, cases: list[tuple[Any, Any]], is_listed: Any
) -> dict[str, Any]:
    import ibis

    others = [] if rule.other is None else [(value.notnull(), _literal(rule.other))]
    return {
        result: ibis.cases(*cases, *others),
        f"{result}_unknown": value.notnull() & ~is_listed,
    }


def _literal(label: object) -> Any:
    import ibis

    return ibis.literal(label, type=type_of(label))


def as_executed(rule: Rule) -> Rule:
    """Return a rule as engines execute it: equal cells that are too fine are listed."""
    if isinstance(rule, Quantized) and isinstance(rule.cells, UniformCells):
        return rule if rule.cells.fits else replace(rule, cells=rule.cells.as_cuts())
    return rule.as_cuts() if isinstance(rule, UniformCells) and not rule.fits else rule


def join_lists(table: Table, rows: Any, rules: Sequence[Rule]) -> Any:
    """Add the lists that the rules search to every row."""
    # A join by value would be quicker for categories, but loses the order of the rows.
    return with_lists(
        rows,
        {
            f"r{i}_{name}": items
            for i, rule in enumerate(rules)
            for name, items in _lists(table, rule).items()
        },
    )


def _lists(table: Table, rule: Rule) -> dict[str, Sequence[Any]]:
    if isinstance(rule, Lookup):
        return label_lists(table, rule)
    cells = rule.cells if isinstance(rule, Quantized) else rule
    if not isinstance(cells, CutCells):
        return {}
    return cut_lists(table, cells) | {
        f"{end}_{name}": items
        for end, same in ends_of(cells).items()
        for name, items in cut_lists(table, same).items()
    }


def ends_of(cells: CutCells) -> dict[str, CutCells]:
    """Return cells released as the first and as the last declared value in each, if any are."""
    ends = zip(("first", "last"), zip(*cells.spans, strict=True), strict=False)
    return {end: replace(cells, values=tuple(map(float, at)), spans=()) for end, at in ends}
