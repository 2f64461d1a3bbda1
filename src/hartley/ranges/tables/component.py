"""Unknown cells that relations connect: each such part of a table can be looked at alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.kernels.propagation import FAR
from hartley.ranges.tables.programme import NEAR_WHOLE, TableProgramme
from hartley.ranges.tables.system import weighted_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.ranges.tables.system import Bounds, LinearSystem


@dataclass
class TableComponent:
    """Unknown cells that relations connect, and what was found out about them."""

    cells: NDArray[np.int64]
    relations: NDArray[np.int64]
    programme: TableProgramme | None
    right: NDArray[np.int64]
    start: NDArray[np.int64]
    column: NDArray[np.int64]
    factor: NDArray[np.int64]
    low: NDArray[np.int64]
    """The bounds of its cells, as followed."""
    high: NDArray[np.int64]
    tables: list[NDArray[np.int64]] = field(default_factory=list)
    """Whole tables that fit, each of which made some interval wider."""
    moves: list[dict[int, int]] = field(default_factory=list)
    """Changes of the first of them, by places, that fit as well and made an interval wider."""
    solves: int = 0

    def table(self, number: int) -> NDArray[np.int64]:
        """Return a table by its number; the first changed by a move is -2, and so on."""
        if number >= 0:
            return self.tables[number]
        table = self.tables[0].copy()
        for place, change in self.moves[-2 - number].items():
            table[place] += change
        return table

    @property
    def matrix(self) -> Any:  # noqa: ANN401 - a sparse matrix of scipy's, untyped
        """Its relations, by the places of its cells."""
        from scipy.sparse import csr_array

        return csr_array(
            (self.factor.astype(np.float64), self.column, self.start),
            shape=(self.relations.size, self.cells.size),
        )

    def make_programme(self, steps: int | None = None) -> TableProgramme:
        """Return the programme over its cells; with a limit, it may stop without a vertex."""
        return TableProgramme(self.matrix, self.right, self.low, self.high, FAR, steps=steps)

    def fitting_table(self, point: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Return a point of a solver's as a whole table that fits; None where it is none."""
        whole = np.rint(point)
        if (np.abs(point - whole) > NEAR_WHOLE * np.maximum(1.0, np.abs(whole))).any():
            return None
        table = whole.astype(np.int64)
        return table if not self.relations.size or self.fits(table) else None

    def fits(self, table: NDArray[np.int64]) -> bool:
        """Tell whether whole numbers for the cells have all sums and bounds."""
        if (table < self.low).any() or (table > self.high).any():
            return False
        sums = weighted_sums(self.start, self.column, self.factor, table)
        return bool((sums == self.right).all())


def components(system: LinearSystem, bounds: Bounds) -> list[TableComponent]:
    """Split the unknown cells of a system into parts that share no relation.

    Example:
        >>> from hartley.ranges.tables.system import Bounds, LinearSystem
        >>> two = LinearSystem.of([(4, [0, 1]), (5, [2, 3])], [0] * 4 + [7, 8], [FAR] * 4 + [7, 8])
        >>> bounds = Bounds(two)
        >>> bounds.follow()
        >>> [part.cells.tolist() for part in components(two, bounds)]
        [[0, 1], [2, 3]]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    unknown = bounds.low < bounds.high
    if not unknown.any():
        return []
    inside = unknown[system.column]
    rows = np.repeat(np.arange(system.relations), np.diff(system.start))
    row, cell = rows[inside], system.column[inside]
    nodes = system.size + system.relations
    graph = csr_array((np.ones(row.size, np.int8), (cell, system.size + row)), shape=(nodes, nodes))
    _, label = connected_components(graph, directed=False)
    constant = np.where(unknown, 0, bounds.low)
    right = np.zeros(system.relations, np.int64)
    np.subtract.at(right, rows, system.factor * constant[system.column])
    parts: list[TableComponent] = []
    cells_by_label = _grouped(label[: system.size], np.flatnonzero(unknown))
    rows_by_label = _grouped(label[system.size :], np.unique(row))
    entries = _grouped(label[system.size :][rows], np.flatnonzero(inside))
    place_in = np.full(system.size, -1, np.int64)
    for name in sorted(cells_by_label):
        cells = cells_by_label[name]
        relations = rows_by_label.get(name, np.empty(0, np.int64))
        mine = entries.get(name, np.empty(0, np.int64))
        place_in[cells] = np.arange(cells.size)
        place = np.searchsorted(relations, rows[mine])
        start = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=relations.size))])
        parts.append(
            TableComponent(
                cells,
                relations,
                None,
                right[relations],
                start.astype(np.int64),
                place_in[system.column[mine]],
                system.factor[mine],
                bounds.low[cells],
                bounds.high[cells],
            )
        )
    return parts


def _grouped(labels: NDArray[np.int32], members: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
    """Return the members of each label, in order."""
    if not members.size:
        return {}
    mine = labels[members]
    order = np.argsort(mine, kind="stable")
    names, begins = np.unique(mine[order], return_index=True)
    parts = np.split(members[order], begins[1:])
    return {int(name): np.sort(part) for name, part in zip(names, parts, strict=True)}
