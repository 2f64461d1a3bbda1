"""The header of a published table: one line, or several if it names dimensions of the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.crosstabs.crosstab import Marking
    from hartley.engines.crosstabs.description import OutputDescription
    from hartley.engines.crosstabs.grids import TextGrid

NUMBERS = ("count", "n", "freq", "frequency", "value", "obs", "sum")
"""Names of the column of numbers in a table with one cell a line."""
TOP = 6
"""A header has at most this many lines."""


def header_rows(
    rows: list[tuple[str, ...]], lines: list[int], grid: TextGrid, described: OutputDescription
) -> int:
    """Count the lines of the header; more than one if a line names the dimensions of the rows.

    Args:
        rows: the texts of the file, without titles and notes.
        lines: where each row stands in the file.
        grid: the whole file.
        described: what is declared about it.

    Example:
        >>> from hartley.engines.crosstabs.description import OutputDescription
        >>> from hartley.engines.crosstabs.grids import TextGrid
        >>> rows = [("sex", "F", "M"), ("region", "", ""), ("north", "5", "6")]
        >>> book = TextGrid(tuple(rows), (1, 2, 3), block=True)
        >>> header_rows(rows, [1, 2, 3], book, OutputDescription())
        2
    """
    if described.value is not None:  # a list of cells
        return 1
    for at in range(1, min(TOP, len(rows) - 1)):
        keys = sum(map(bool, rows[at]))
        first = rows[at][:keys]
        if not keys or not all(first) or keys == len(rows[at]):
            continue
        if described.dims is None:
            named = grid.block or at > 1
            listing = keys == len(rows[at]) - 1 and rows[0][-1].casefold() in NUMBERS
            filled = any(_holds_numbers(row[keys:], described.marking) for row in rows[1:at])
            if named and listing:
                return 1  # an empty cell in a list of cells
            if named and (filled or keys == len(rows[at]) - 1):
                raise TableError(
                    f"line {lines[at]} names the dimensions, or is a row that hides all its cells",
                    hint='declare the dims, those of the rows first: dims = ["region", "sex"]',
                )
        else:  # the first data row may hide all of its cells
            named = set(first) <= set(described.dims) and len(first) < len(described.dims)
        return at + 1 if named else 1
    return 1


def _holds_numbers(cells: Sequence[str], marking: Marking) -> bool:
    """Tell whether texts can be the cells of a row; categories can be numbers too, as years are."""
    return all(map(marking.is_value, cells)) and any(
        character.isdigit() for text in cells for character in text
    )
