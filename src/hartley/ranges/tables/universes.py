"""Which outputs can be about the same rows: groups that agree, and pairs that may be nested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hartley.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.engines.crosstabs.crosstab import Crosstab, PublishedCell
    from hartley.engines.crosstabs.description import CategoryTree


@dataclass(frozen=True)
class Universes:
    """Outputs of one statistic, divided by the rows that they can be about.

    Outputs that state different numbers for the same cells are about different rows. What agrees
    with all others belongs to nobody in particular, so it is a group of its own.
    """

    groups: tuple[tuple[Crosstab, ...], ...]
    nested: tuple[tuple[Crosstab, Crosstab], ...]
    """(smaller, larger): the first may be a part of the second."""
    joined: tuple[tuple[tuple[Crosstab, ...], tuple[Crosstab, ...]], ...]
    """Groups, each with the other outputs that may be about the same rows."""


def universes(tables: Sequence[Crosstab]) -> Universes:
    """Divide outputs that cannot be about the same rows; refuse those that cannot be at all.

    The result does not depend on the order of the outputs. Cost: every pair of outputs is compared.

    Example:
        >>> from hartley.engines.crosstabs.crosstab import Crosstab, PublishedCell
        >>> def line(name, *numbers):
        ...     cells = [PublishedCell((k,), n, n, "number", "", 1) for k, n in zip("ab", numbers)]
        ...     return Crosstab(name, None, name, ("g",), "count", None, tuple(cells), 0, ())
        >>> total = Crosstab("t", None, "t", (), "count", None, (), 0, ())
        >>> divided = universes([line("all", 5, 6), line("part", 4, 6), total])
        >>> [[table.name for table in group] for group in divided.groups]
        [['all'], ['part'], ['t']]
        >>> [(small.name, large.name) for small, large in divided.nested]
        [('part', 'all')]
    """
    ordered = sorted(tables, key=lambda table: (table.digest, table.name))
    rivals = {
        at: [i for i, other in enumerate(ordered) if i != at and _differ(table, other)]
        for at, table in enumerate(ordered)
    }
    nested = [_nested(ordered, at, other) for at in rivals for other in rivals[at] if other < at]
    groups: list[list[int]] = []
    for at in (at for at in rivals if rivals[at]):
        for group in groups:
            if set(group).isdisjoint(rivals[at]):
                group.append(at)
                break
        else:
            groups.append([at])
    joined = [(list(group), more) for group in groups if (more := _others(group, rivals))]
    agreeing = [at for at in range(len(ordered)) if not rivals[at]]
    if agreeing:
        groups.append(agreeing)

    def at_places(places: list[int]) -> tuple[Crosstab, ...]:
        return tuple(ordered[at] for at in places)

    return Universes(
        tuple(at_places(group) for group in groups),
        tuple((ordered[small], ordered[large]) for small, large in nested),
        tuple((at_places(group), at_places(more)) for group, more in joined),
    )


def _others(group: Sequence[int], rivals: Mapping[int, Sequence[int]]) -> list[int]:
    """Return what contradicts neither a group nor each other."""
    more: list[int] = []
    for at, against in rivals.items():
        mine = {*group, *more}
        if at not in mine and mine.isdisjoint(against):
            more.append(at)
    return more


def _nested(tables: Sequence[Crosstab], at: int, other: int) -> tuple[int, int]:
    """Return which of two rivals may be a part of the other."""
    if _nowhere_larger(tables[at], tables[other]):
        return at, other
    if _nowhere_larger(tables[other], tables[at]):
        return other, at
    raise InputError(
        f"{tables[at].name} and {tables[other].name} state different numbers for the same cells",
        hint="declare with where which rows each of them is about",
    )


def _differ(table: Crosstab, other: Crosstab) -> bool:
    """Tell whether two outputs about the same cells state what cannot both be true."""
    if table.where != other.where or set(table.dims) != set(other.dims):
        return False
    if table.where is None and "where" in table.described and "where" in other.described:
        return False  # both are declared to be about all rows
    return any(
        _is_below(first.high, second.low) or _is_below(second.high, first.low)
        for first, second in _pairs(table, other)
    )


def _nowhere_larger(table: Crosstab, other: Crosstab) -> bool:
    """Tell whether an output can be a part of another; sums with signs can be larger than all."""
    return not table.signed and not any(
        _is_below(second.high, first.low) for first, second in _pairs(table, other)
    )


def _is_below(high: int | None, low: int | None) -> bool:
    return high is not None and low is not None and high < low


def _pairs(table: Crosstab, other: Crosstab) -> list[tuple[PublishedCell, PublishedCell]]:
    order = [other.dims.index(dim) for dim in table.dims]
    theirs = {tuple(cell.keys[at] for at in order): cell for cell in other.cells}
    return [(cell, theirs[cell.keys]) for cell in table.cells if cell.keys in theirs]


def categories_of(
    tables: Sequence[Crosstab], trees: Sequence[CategoryTree]
) -> dict[str, list[str]]:
    """Return the categories of each dimension that are sums of no others.

    Parts that a tree alone names count too: a condition rules them out like any other category.
    """
    categories = {}
    for dim in sorted({dim for table in tables for dim in table.dims}):
        mine = [tree for tree in trees if tree.dim == dim]
        parents = {parent for tree in mine for parent in tree.parents}
        parts = {part for tree in mine for kids in tree.parents.values() for part in kids}
        listed = {key for t in tables if dim in t.dims for key in t.categories(dim)}
        categories[dim] = sorted((listed | parts) - parents)
    return categories
