"""What the totals of a published table are totals of: declared, tested, or neither."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hartley.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from hartley.engines.crosstabs.crosstab import Crosstab, PublishedCell
    from hartley.engines.crosstabs.description import CategoryTree

FEWEST_PARTS = 2
"""One category that equals the only other one is no sum."""
MOST_STEPS = 20_000
"""Steps of the search for a category that is the sum of others; beyond, nothing is tested."""
MOST_LINES = 30
"""Lines that this search looks at."""

_Line = dict[str | None, "PublishedCell"]
"""The cells of a table along one dimension; None is its total."""


def read_totals(table: Crosstab, trees: Iterable[CategoryTree] = ()) -> Crosstab:
    """Decide what the totals of a table are totals of, and leave out those of the shown cells.

    A total is declared by ``margins``, or by a tree of its dimension. It is tested if complete
    lines add up, every category is above zero in one of them (a sum of others would count twice
    there), and the total of a line with hidden cells is above what the line shows. A dimension
    without a total is tested if in complete lines no category is the sum of others. Where cells are
    hidden, a wrong reading of a total can fit as well: one that is neither declared nor tested
    protects nothing.

    Args:
        table: the table, with all of its totals.
        trees: which categories are declared as sums of others.

    Example:
        >>> from hartley.engines.crosstabs.crosstab import Crosstab, PublishedCell
        >>> ends = {"north": (15, 15), "south": (0, None), None: (15, 15)}
        >>> cells = [PublishedCell((k,), *e, "hidden", "", 1) for k, e in ends.items()]
        >>> cells = [cell._replace(kind="number") if cell.exact else cell for cell in cells]
        >>> read = read_totals(Crosstab("a", None, "", ("r",), "count", None, tuple(cells), 0, ()))
        >>> read.reading, len(read.cells), len(read.left_out)
        ('untested', 2, 1)
    """
    trees = tuple(trees)
    margins = table.described.get("margins")
    if margins == "shown":
        shown = _without_shown_totals(table, trees)
        if shown is None:
            raise TableError(
                f"{table.name}: the totals are declared as those of the shown cells, and they are "
                "not",
                hint='declare margins = "all"',
            )
        return replace(shown, reading="declared", left_out=())
    if margins == "all":
        return replace(table, reading="declared")
    if table.absent != "hidden" and all(cell.exact for cell in table.cells):
        return replace(table, reading="complete")
    grown = {tree.dim for tree in trees}
    guessed = [at for at, dim in enumerate(table.dims) if dim not in grown]
    if not guessed or (not table.signed and all(_is_tested(table, at) for at in guessed)):
        return replace(table, reading="tested" if guessed else "declared")
    said = tuple(f"{g}, not tested" if "is the total of" in g else g for g in table.guesses)
    table = replace(table, guesses=said, reading="untested")
    return _without_shown_totals(table, trees) or table


def with_all_totals(table: Crosstab) -> Crosstab:
    """Return a table whose totals are taken as those of all categories."""
    return replace(table, cells=(*table.cells, *table.left_out), left_out=())


def _along(table: Crosstab, at: int) -> list[_Line]:
    """Return the lines of a table along one dimension."""
    lines: dict[tuple[str | None, ...], _Line] = {}
    for cell in table.cells:
        lines.setdefault(cell.keys[:at] + cell.keys[at + 1 :], {})[cell.keys[at]] = cell
    return list(lines.values())


def _is_tested(table: Crosstab, at: int) -> bool:
    """Tell whether the lines along a dimension show that no category is the sum of others."""
    keys = table.categories(table.dims[at])
    lines = _along(table, at)
    if table.absent == "hidden":
        return len(keys) < FEWEST_PARTS and not any(None in line for line in lines)
    listed = [line for line in lines if len(line) - (None in line) == len(keys)]
    if table.absent == "zero":
        listed = lines
    whole = [line for line in listed if all(cell.exact for cell in line.values())]
    numbers = [{key: cell.low or 0 for key, cell in line.items()} for line in whole]
    if not any(None in line for line in lines):
        return not _has_sums(numbers, sorted(keys))
    adding = [line for line in numbers if None in line]
    if any(2 * line[None] != sum(line.values()) for line in adding):
        return False
    hiding = [line for line in lines if any(_is_open(c) for k, c in line.items() if k is not None)]
    return {key for line in adding for key, n in line.items() if n} >= keys and (
        not hiding or any(_is_above(line) for line in hiding)
    )


def _is_open(cell: PublishedCell) -> bool:
    """Tell whether a total of the shown cells may leave a cell out."""
    return cell.kind in {"hidden", "mark"} and not cell.exact


def _is_above(line: _Line) -> bool:
    """Tell whether the total of a line is certainly more than what the line shows."""
    highs = [cell.high for key, cell in line.items() if key is not None and cell.kind != "hidden"]
    total = line[None].low if None in line else None
    return total is not None and None not in highs and total > sum(high or 0 for high in highs)


def _has_sums(lines: Sequence[dict[str | None, int]], keys: Sequence[str]) -> bool:
    """Tell whether some category can be the sum of others in all complete lines."""
    if len(keys) < FEWEST_PARTS:
        return False
    if not lines:
        return True
    rows = [tuple(line.get(key, 0) for line in lines[:MOST_LINES]) for key in keys]
    steps = 0
    for at, whole in enumerate(rows):
        rest = sorted((row for i, row in enumerate(rows) if i != at), reverse=True)
        rest = [row for row in rest if all(map(int.__le__, row, whole))]
        if not any(whole):
            if rest:
                return True
            continue
        tries = [(0, whole)]
        while tries:
            steps += 1
            place, left = tries.pop()
            if steps > MOST_STEPS or not any(left):
                return True
            tries += [
                (i + 1, tuple(map(int.__sub__, left, rest[i])))
                for i in range(place, len(rest))
                if any(rest[i]) and all(map(int.__le__, rest[i], left))
            ]
    return False


def _without_shown_totals(table: Crosstab, trees: Sequence[CategoryTree]) -> Crosstab | None:
    """Leave out totals of the shown cells only: they repeat what is shown.

    ACRO computes the totals of a suppressed table like that. Read as totals of all cells they
    would make every hidden cell zero. None if some total is another one.
    """
    inside = [cell for cell in table.cells if None not in cell.keys]
    top = [_tops(table.categories(dim), [t for t in trees if t.dim == dim]) for dim in table.dims]
    totals = {cell.keys: cell for cell in table.cells if None in cell.keys}
    parts: dict[tuple[str | None, ...], list[PublishedCell]] = {keys: [] for keys in totals}
    for pattern in {tuple(key is None for key in keys) for keys in totals}:
        for cell in inside:
            each = list(zip(cell.keys, pattern, top, strict=True))
            keys = tuple(None if summed else key for key, summed, _ in each)
            if keys in parts and all(key in tops for key, summed, tops in each if summed):
                parts[keys].append(cell)
    dropped = set()
    for keys, total in totals.items():
        shown = [cell for cell in parts[keys] if not _is_open(cell)]
        marks = [cell for cell in parts[keys] if _is_open(cell) and cell.kind == "mark"]
        hides = len(shown) + len(marks) < len(parts[keys]) or table.absent == "hidden"
        # Where nothing is hidden, the total of what is shown is the total: it says what marks
        # leave open, and a wrong one must be found.
        if _meets(total, shown):
            dropped |= {keys} if hides or marks else set()
        elif hides and not _meets(total, [*shown, *marks]):
            return None
        elif hides:
            dropped.add(keys)
    return replace(
        table,
        cells=tuple(cell for cell in table.cells if cell.keys not in dropped),
        left_out=tuple(totals[keys] for keys in totals if keys in dropped),
    )


def _meets(total: PublishedCell, parts: Iterable[PublishedCell]) -> bool:
    """Tell whether a total can be the sum of some cells."""
    parts = list(parts)
    low = sum(cell.low or 0 for cell in parts)
    high = sum(cell.high or 0 for cell in parts)
    return (total.high is None or low <= total.high) and (total.low is None or total.low <= high)


def _tops(labels: Collection[str], trees: Sequence[CategoryTree]) -> set[str]:
    """Return the categories that a total adds up: those that are parts of no other one listed."""
    tops = set(labels) - {parent for tree in trees[1:] for parent in tree.parents}
    for tree in trees[:1]:
        above = {part: parent for parent, parts in tree.parents.items() for part in parts}
        for label in labels:
            node = label
            while node in above:
                node = above[node]
                if node in labels:
                    tops.discard(label)
    return tops


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
        possible: set[str] | None = None
        for line in _along(table, at):
            cells = {key: cell for key, cell in line.items() if key not in parents}
            numbers = {key: cell.low or 0 for key, cell in cells.items() if cell.exact}
            if None in cells:  # the dimension has a total
                possible = set()
            if len(numbers) < len(cells) or len(cells) <= FEWEST_PARTS or not any(numbers.values()):
                continue
            whole = sum(numbers.values())
            halves = {key for key, number in numbers.items() if key and 2 * number == whole}
            possible = halves if possible is None else possible & halves
        suspects += [(dim, key) for key in sorted(possible or ())]
    return suspects
