"""What the microdata say about the cells of published tables: sums, and who contributes to them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.engines.crosstabs.contributions import contributions
from hartley.errors import InputError
from hartley.ranges.tables.cover import SELECTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.engines.crosstabs.crosstab import Crosstab
    from hartley.ranges.tables.cover import Cover, Selections


@dataclass(frozen=True)
class Contributors:
    """The true number of every cell, and what each contributor adds to it.

    Contributions are listed cell by cell, the largest first, in units of the last published digit.

    Example:
        >>> start, amount, who = np.array([0, 3, 4]), np.array([6, 2, 1, 5]), np.array([0, 1, 2, 1])
        >>> both = Contributors(np.array([9, 5]), start, amount, who)
        >>> both.parts(0, 2), int(both.number[0])
        ([Fraction(6, 1), Fraction(2, 1), Fraction(1, 1)], 3)
        >>> both.together([0, 1])
        [(7, 1), (6, 0), (1, 2)]
    """

    truth: NDArray[np.int64]
    start: NDArray[np.int64]
    """Where the contributions to each cell begin."""
    amount: NDArray[np.int64]
    who: NDArray[np.int64]
    """Who contributes each: numbers in an order of what they contribute, whatever their names."""

    @property
    def number(self) -> NDArray[np.int64]:
        """How many contributors each cell has."""
        return np.diff(self.start)

    def parts(self, cell: int, largest: int) -> list[Fraction]:
        """Return the largest contributions to a cell, and then the sum of all others."""
        mine = self.amount[self.start[cell] : self.start[cell + 1]].tolist()
        top, rest = mine[:largest], sum(mine[largest:])
        return [Fraction(number) for number in ([*top, rest] if rest else top)]

    def together(self, cells: Sequence[int]) -> list[tuple[int, int]]:
        """Return (amount, who) for cells that share nothing as if they were one, largest first."""
        mine = np.concatenate([np.arange(self.start[c], self.start[c + 1]) for c in cells])
        who, place = np.unique(self.who[mine], return_inverse=True)
        sums = np.zeros(who.size, np.int64)
        np.add.at(sums, place, self.amount[mine])
        order = np.lexsort([who, -sums])
        return list(zip(sums[order].tolist(), who[order].tolist(), strict=True))

    def sole(self, unknown: NDArray[np.bool_]) -> list[list[int]]:
        """Return the unknown cells that each contributor has alone, where there are some."""
        cells: dict[int, list[int]] = {}
        for cell in np.flatnonzero(unknown & (self.number == 1)).tolist():
            cells.setdefault(int(self.who[self.start[cell]]), []).append(cell)
        return list(cells.values())


def read_contributors(  # noqa: PLR0913 - the cells, and the microdata behind them
    joint: Cover,
    table: Crosstab,
    selections: Selections,
    data: object,
    contributor: str | None,
    *,
    signed: bool = False,
) -> Contributors:
    """Add up the microdata for every cell of a cover, and list who contributes to it.

    Args:
        joint: the cells of all outputs.
        table: one of the outputs: the statistic and its last digit.
        selections: the conditions of the outputs.
        data: the microdata.
        contributor: the column that names who contributes; without one, every row is another.
        signed: whether contributions may be negative.
    """
    dims = [dim for dim in joint.dims if dim != SELECTION]
    value = None if table.statistic == "count" else table.statistic[4:-1]
    listed = contributions(data, dims, selections.conditions, value=value, contributor=contributor)
    scale = 10**table.places
    atoms, names, amounts = [], [], []
    known: dict[object, int] = {}
    truth = np.zeros(joint.system.size, np.int64)
    for part in listed:
        keys: dict[str, str | None] = dict(zip(dims, part.keys, strict=True))
        if selections.conditions:
            pattern = selections.patterns.index(part.held)
            keys[SELECTION] = selections.axis.nodes[1 + pattern]
        try:
            cell = joint.cell(keys)
        except ValueError:
            raise InputError(
                "The microdata have a category that no output has",
                hint='give the table that the outputs were made from, or declare absent = "hidden"',
            ) from None
        amount = part.amount * scale
        if amount.denominator != 1 or (amount < 0 and not signed):
            raise InputError(
                "The microdata have values that the last published digit cannot hold",
                hint="publish more decimals, declare bounds for negative values, or leave the "
                "microdata out",
            )
        truth[cell] += int(amount)
        if value is None and part.contributor is None:
            # Rows that are alike come together; for insiders it counts that there are several.
            for _ in range(min(part.rows, 2)):
                atoms.append(cell)
                names.append(len(known))
                amounts.append(1)
                known[len(known), None] = len(known)
            continue
        who = (part.contributor,) if part.contributor is not None else (len(known), None)
        atoms.append(cell)
        names.append(known.setdefault(who, len(known)))
        amounts.append(int(amount))
    joint.add_up(truth)
    return Contributors(truth, *_by_cell(joint, atoms, names, amounts))


def _by_cell(
    joint: Cover, atoms: list[int], names: list[int], amounts: list[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Add up contributions for every cell that an atom belongs to, the largest first."""
    size = joint.system.size
    atom, amount = np.array(atoms, np.int64), np.array(amounts, np.int64)
    parts: dict[int, list[tuple[int, int]]] = {who: [] for who in names}
    for who, part in sorted(zip(names, zip(atoms, amounts, strict=True), strict=True)):
        parts[who].append(part)
    # Equal amounts are told apart by what else their contributors have, and never by names.
    rank = {who: place for place, who in enumerate(sorted(parts, key=parts.__getitem__))}
    name = np.array([rank[who] for who in names], np.int64)
    cells, of = joint.above(atom)
    people, numbers = name[of], amount[of]
    order = np.lexsort([people, cells])
    cells, people, numbers = cells[order], people[order], numbers[order]
    if cells.size:
        first = np.flatnonzero(np.r_[True, (cells[1:] != cells[:-1]) | (people[1:] != people[:-1])])
        cells, people, numbers = cells[first], people[first], np.add.reduceat(numbers, first)
    order = np.lexsort([people, -numbers, cells])
    start = np.searchsorted(cells[order], np.arange(size + 1))
    return start.astype(np.int64), numbers[order], people[order]
