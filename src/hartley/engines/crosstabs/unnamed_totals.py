"""Categories that are the sum of all others, though nobody calls them a total."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hartley.engines.crosstabs.crosstab import Crosstab
    from hartley.engines.crosstabs.description import CategoryTree

FEWEST_PARTS = 2
"""One category that equals the only other one is no sum."""


def unnamed_totals(table: Crosstab, trees: Iterable[CategoryTree] = ()) -> list[tuple[str, str]]:
    """Return (dimension, category) for what looks like a total and is read as a category.

    Such a category equals the sum of all others in every line that shows all of its numbers. Read
    as a category it hides the relation that gives cells away. Cost: one pass over the cells for
    each dimension.

    Args:
        table: the table.
        trees: which categories are declared as sums of others.

    Example:
        >>> from hartley.engines.crosstabs.crosstab import Crosstab, PublishedCell
        >>> numbers = (("north", 3), ("south", 4), ("Gesammt", 7))
        >>> cells = tuple(PublishedCell((key,), n, n, "number", str(n), 1) for key, n in numbers)
        >>> unnamed_totals(Crosstab("a", None, "", ("region",), "count", None, cells, 0, ()))
        [('region', 'Gesammt')]
    """
    suspects: list[tuple[str, str]] = []
    for at, dim in enumerate(table.dims):
        parents = {parent for tree in trees if tree.dim == dim for parent in tree.parents}
        lines: dict[tuple[str | None, ...], dict[str, int | None]] = {}
        for cell in table.cells:
            key = cell.keys[at]
            if key is None:
                break  # the dimension has a total
            if key not in parents:
                rest = cell.keys[:at] + cell.keys[at + 1 :]
                lines.setdefault(rest, {})[key] = cell.low if cell.exact else None
        else:
            suspects += [(dim, key) for key in _sums(lines.values())]
    return suspects


def _sums(lines: Iterable[dict[str, int | None]]) -> list[str]:
    """Return the categories that are half of every line with all of its numbers."""
    possible: set[str] | None = None
    for line in lines:
        numbers = {key: number for key, number in line.items() if number is not None}
        if len(numbers) < len(line) or len(line) <= FEWEST_PARTS or not any(numbers.values()):
            continue
        whole = sum(numbers.values())
        halves = {key for key, number in numbers.items() if 2 * number == whole}
        possible = halves if possible is None else possible & halves
    return sorted(possible or ())
