"""Give the categories of a column their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hartley.engines.cells import Grid, clamp, list_item, locate_steps, search_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.cells import Steps
    from hartley.engines.rules import Lookup


MOST_COMPARED = 32
"""More values than this are searched in a list on the embedded engine, which is slow at cases."""


def look_up_steps(rule: Lookup, value: str, result: str) -> Steps:
    """Label the values of one group after the other; the column ``_unknown`` says what is left."""
    rows = yield {}
    members: dict[object, list[object]] = {}
    for key, label in rule.groups:
        members.setdefault(label, []).append(key)
    cases = [(rows[value].isin(keys), _literal(label)) for label, keys in members.items()]
    found = rows[value].isin([key for key, _ in rule.groups])
    yield _labelled(rule, rows[value], result, cases, found)


def search_label_steps(rule: Lookup, value: str, lists: tuple[str, str, str], result: str) -> Steps:
    """Label the values by a search in a sorted list of them.

    Args:
        rule: the groups.
        value: the column with the values.
        lists: the columns that hold the sorted list of values, the label of each and, of numbers,
            the starts of the buckets of a grid.
        result: the column to name; with ``_unknown`` appended, whether a value is in no group.
    """
    import ibis

    keys, labels, starts = lists
    at, found, label = f"{result}_at", f"{result}_found", f"{result}_label"
    kind = "string" if isinstance(rule.groups[0][0], str) else "float64"
    if kind == "string":
        rows = yield {at: ibis.literal(1, type="int64")}
        rows = yield from search_steps(rows, len(rule.groups) - 1, kind, (value, keys, at))
    else:
        edges, near = number_edges(rule), f"{result}_near"
        rows = yield {}
        rows = yield {near: clamp(rows[value].cast(kind), edges[0], edges[-1])}
        rows = yield from locate_steps(rows, Grid.over(edges), (near, keys, starts), at)
    rows = yield {
        found: list_item(kind)(rows[keys], rows[at]) == rows[value].cast(kind),
        label: list_item(type_of(rule.labels[0]))(rows[labels], rows[at]),
    }
    yield _labelled(rule, rows[value], result, [(rows[found], rows[label])], rows[found])


def search_lists(rule: Lookup) -> tuple[Sequence[object], ...]:
    """Return the lists that are searched: values in order, the label of each, starts of buckets.

    Text is ordered by code points here and by its bytes on the engine, which is the same.
    """
    pairs: list[Any] = list(rule.groups)
    keys, labels = zip(*sorted(pairs), strict=True)
    if isinstance(keys[0], str):
        return keys, labels
    edges = number_edges(rule)
    return edges[:-1], labels, Grid.over(edges).starts


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
    rule: Lookup, value: Any, result: str, cases: list[tuple[Any, Any]], found: Any
) -> dict[str, Any]:
    import ibis

    others = [] if rule.other is None else [(value.notnull(), _literal(rule.other))]
    return {
        result: ibis.cases(*cases, *others),
        f"{result}_unknown": value.notnull() & ~found,
    }


def _literal(label: object) -> Any:
    import ibis

    return ibis.literal(label, type=type_of(label))
