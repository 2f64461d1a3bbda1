"""Small changes of a whole table that fits: boxes, and programmes over a few cells of it."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.cuboids import find_cuboid
from hartley.kernels.propagation import FAR
from hartley.ranges.tables.programme import TableProgramme

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.ranges.tables.cover import CoverAxis
    from hartley.ranges.tables.system import LinearSystem

MOST_BOXES = 20_000
"""Boxes that are looked at for one cell."""
MOST_WINDOW = 400
"""Cells of a window: those within two relations of a cell, the nearest first."""
MOST_CORNERS = 8
"""No box is searched in more dimensions than this."""


class BoxFrame:
    """The dimensions of a table, for the search of boxes.

    Two places of a dimension are partners if they are parts of the same sums, so that one can grow
    by what the other loses.

    Example:
        >>> from hartley.ranges.tables.cover import CoverAxis
        >>> axes = [CoverAxis.of("r", {"a", "b"}, ()), CoverAxis.of("c", {"x", "y"}, ())]
        >>> table = np.array([4, 2, 2, 2, 1, 1, 2, 1, 1])  # all ones, with their totals
        >>> frame = BoxFrame(axes)
        >>> frame.move(4, 1, table, np.where(table == 1, 0, table), np.where(table == 1, 9, table))
        {4: 1, 5: -1, 7: -1, 8: 1}
    """

    def __init__(self, axes: list[CoverAxis] | tuple[CoverAxis, ...]) -> None:
        self.shape = np.array([len(axis.nodes) for axis in axes], np.int64)
        self.stride = np.array(
            [prod(self.shape[i + 1 :].tolist()) for i in range(len(axes))], np.int64
        )
        begin, partner = [0], []
        for axis in axes:
            parts: dict[frozenset[int], list[int]] = {}
            above = {
                leaf: frozenset(n for n, b in enumerate(axis.leaves_below) if leaf in b) - {leaf}
                for leaf in axis.leaves
            }
            for leaf, sets in above.items():
                parts.setdefault(sets, []).append(leaf)
            for node in range(len(axis.nodes)):
                mine = parts[above[node]] if node in above else []
                partner += [other for other in mine if other != node]
                begin.append(len(partner))
        self.begin, self.partner = np.array(begin, np.int64), np.array(partner, np.int64)

    def move(
        self,
        cell: int,
        change: int,
        table: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> dict[int, int]:
        """Return a box that changes a cell by a number, as changes of cells; empty without one."""
        if self.shape.size > MOST_CORNERS:
            return {}
        opposite = find_cuboid(
            cell, change, self.shape, self.stride, self.begin, self.partner, table, low, high,
            MOST_BOXES,
        )  # fmt: skip
        if not opposite.size:
            return {}
        place = np.array(np.unravel_index(cell, tuple(self.shape.tolist())))
        changes = {}
        for corner in product((0, 1), repeat=place.size):
            at = int((self.stride * np.where(corner, opposite, place)).sum())
            changes[at] = change if sum(corner) % 2 == 0 else -change
        return changes


class TableWindow:
    """The unknown cells near one cell; all others stay as they are in a table that fits."""

    def __init__(
        self,
        system: LinearSystem,
        cell: int,
        table: NDArray[np.int64],
        low: NDArray[np.int64],
        high: NDArray[np.int64],
    ) -> None:
        self.system, self.cell, self.table = system, cell, table
        self.low, self.high = low, high

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """The cells within two relations, those of the first relation first."""
        begins, rows = self.system.transposed
        inside, frontier = dict.fromkeys([self.cell]), [self.cell]
        for _ in range(2):
            near: dict[int, None] = {}
            for cell in frontier:
                for r in rows[begins[cell] : begins[cell + 1]].tolist():
                    members = self.system.column[self.system.start[r] : self.system.start[r + 1]]
                    free = members[self.low[members] < self.high[members]]
                    near.update(dict.fromkeys(free.tolist()))
            frontier = [cell for cell in near if cell not in inside]
            inside.update(dict.fromkeys(frontier))
        return np.array(list(inside)[:MOST_WINDOW], np.int64)

    def move(self, sign: int) -> dict[int, int]:
        """Return changes that make the cell as large (or small) as the window allows."""
        from scipy.sparse import csr_array

        system, cells = self.system, self.cells
        place = np.full(system.size, -1, np.int64)
        place[cells] = np.arange(cells.size)
        begins, of = system.transposed
        rows = np.unique(np.concatenate([of[begins[c] : begins[c + 1]] for c in cells.tolist()]))
        start, entries = [0], []
        for r in rows.tolist():
            mine = np.arange(system.start[r], system.start[r + 1])
            entries.append(mine[place[system.column[mine]] >= 0])
            start.append(start[-1] + entries[-1].size)
        chosen = np.concatenate(entries)
        matrix = csr_array(
            (system.factor[chosen].astype(np.float64), place[system.column[chosen]], start),
            shape=(rows.size, cells.size),
        )
        # The unknowns are the changes: no sum may change, and every bound moves with the table.
        low = self.low[cells] - self.table[cells]
        high = np.where(self.high[cells] >= FAR, FAR, self.high[cells] - self.table[cells])
        programme = TableProgramme(matrix, np.zeros(rows.size, np.int64), low, high, FAR)
        cost = np.zeros(cells.size)
        cost[0] = -float(sign)
        proposal = programme.solve(cost)
        if proposal is None:
            return {}
        whole = np.rint(proposal.point).astype(np.int64)
        return {int(cells[i]): int(whole[i]) for i in np.flatnonzero(whole).tolist()}
