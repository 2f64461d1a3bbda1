"""Totals of the shown cells only: what they are, and which tables have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.errors import TableError

if TYPE_CHECKING:
    from hartley.engines.crosstabs.crosstab import PublishedCell
    from hartley.engines.crosstabs.description import OutputDescription


def without_shown_totals(
    cells: list[PublishedCell], described: OutputDescription, guesses: list[str]
) -> list[PublishedCell]:
    """Leave out totals of the shown cells only: they repeat what is shown.

    ACRO computes the totals of a suppressed table like that. Read as totals of all cells they
    would make every hidden cell zero.
    """
    if described.margins == "all" or described.rounding is not None:
        return cells
    inside = [cell for cell in cells if None not in cell.keys]
    if described.margins is None and not any(cell.kind == "hidden" for cell in inside):
        return cells
    lines = _lines(inside, cells)
    hiding = [
        (cell, parts) for cell, parts in lines if any(part.kind == "hidden" for part in parts)
    ]
    sums_of_shown = [
        cell.exact and cell.low == sum(p.low or 0 for p in parts if p.kind != "hidden")
        for cell, parts in hiding
        if all(part.exact or part.kind == "hidden" for part in parts)
    ]
    if described.margins == "shown":
        if not all(sums_of_shown):
            raise TableError(
                "the totals are declared as those of the shown cells, and they are not",
                hint='declare margins = "all"',
            )
    elif not sums_of_shown or not all(sums_of_shown) or len(sums_of_shown) < len(hiding):
        return cells
    else:
        guesses.append("its totals are those of the shown cells only, as each of them is their sum")
    # Where nothing is hidden, the total of what is shown is the total: it says what marks leave
    # open, and a wrong one must be found.
    dropped = {cell.keys for cell, _ in hiding}
    return [cell for cell in cells if cell.keys not in dropped]


def _lines(
    inside: list[PublishedCell], cells: list[PublishedCell]
) -> list[tuple[PublishedCell, list[PublishedCell]]]:
    """Return every total with the cells inside the table that it is about."""
    totals = [cell for cell in cells if None in cell.keys]
    patterns = {tuple(key is None for key in cell.keys) for cell in totals}
    parts: dict[tuple[str | None, ...], list[PublishedCell]] = {cell.keys: [] for cell in totals}
    for pattern in patterns:
        for cell in inside:
            keys = tuple(
                None if summed else key for key, summed in zip(cell.keys, pattern, strict=True)
            )
            if keys in parts:
                parts[keys].append(cell)
    return [(cell, parts[cell.keys]) for cell in totals]
