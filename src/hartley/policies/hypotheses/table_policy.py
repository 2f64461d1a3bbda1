"""Any hypothesis on one moved column: a table of released values for every fibre."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.policies.hypotheses.best_line import best_line
from hartley.policies.hypotheses.hypothesis import Hypothesis
from hartley.policies.hypotheses.integer_form import IntegerForm, as_integers, evaluate
from hartley.policies.hypotheses.monotone import open_grid
from hartley.policies.hypotheses.open_records import OpenRecords

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from hartley.engines.maps.formula import Tree
    from hartley.policies.hypotheses.best_line import LineTable
    from hartley.policies.hypotheses.lattice import LatticeColumn

MOST_TABLE_RECORDS = 2**16
"""So many records are written down in tables."""
MOST_RUNS = 2000
"""So many stretches of values that move alike are sent to an engine."""
MOST_REACH = 64
"""The search grows with the cube of the reach, in steps."""


@dataclass(frozen=True)
class TablePolicy:
    """Release values by the best table for every fibre, whatever the hypothesis about them is.

    Fibres, which the columns that are not moved fix, are independent of each other. For each the
    table of ``best_line`` leaves the most records open that any policy within the reach does which
    releases values on the same steps.
    Farokhi 2021, Theorem 4, replaced for data with a step. Exact; grows with the number of
    records and with the cube of the reach in steps.

    Args:
        hypothesis: what is to stay open, or its text.
        columns: the lattice of every column that it names.
        move: the column that is moved, alone in a list.
        reach: the furthest that a value may be moved.

    Example:
        >>> from hartley.policies.hypotheses.lattice import LatticeColumn
        >>> policy = TablePolicy("5 <= x <= 8", {"x": LatticeColumn(0, 20, 1)}, ["x"], 1)
        >>> policy.count_open()
        OpenRecords(records=21, open=8, pairs=4, outputs=4)
    """

    hypothesis: Hypothesis
    columns: Mapping[str, LatticeColumn] = field(hash=False)
    move: tuple[str, ...]
    reach: tuple[Fraction, ...]

    known_within: ClassVar[None] = None
    norm: ClassVar[str] = "sup"
    rounding: ClassVar[None] = None
    apart: ClassVar[None] = None
    """The two sides of an output lie at any distance within reach of it."""

    def __init__(
        self,
        hypothesis: Hypothesis | str,
        columns: Mapping[str, LatticeColumn],
        move: Sequence[str],
        reach: object,
    ) -> None:
        read = Hypothesis.parse(hypothesis) if isinstance(hypothesis, str) else hypothesis
        fields: dict[str, Any] = {
            "hypothesis": read,
            "columns": dict(columns),
            "move": tuple(move),
            "reach": (parse_number(reach, name="the reach"),),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if len(self.move) != 1 or self.move[0] not in self.hypothesis.names:
            raise OptionError(
                "A hypothesis that is not monotone is hidden by moving one column that it names",
                hint='write for example move = ["weight"]',
            )
        if set(self.columns) != set(self.hypothesis.names):
            raise OptionError(
                "The declared columns are not those that the hypothesis names",
                hint=f"declare low, high and step of {', '.join(self.hypothesis.names)}",
            )
        records = math.prod(column.last + 1 for column in self.columns.values())
        if records > MOST_TABLE_RECORDS or self._moves > MOST_REACH:
            raise OptionError(
                "The hypothesis is not monotone, and the best tables for it are too large to be "
                "looked for",
                hint=f"declare coarser steps: up to {MOST_TABLE_RECORDS:,} records, and a reach of "
                f"up to {MOST_REACH} steps",
            )
        if self._moves < 1:
            raise OptionError(
                "The reach is below one step: nothing can be hidden",
                hint="allow values to be moved by a step or more",
            )
        runs = sum(len(_runs(table)) for table in self.tables)
        if runs > MOST_RUNS:
            raise OptionError(
                f"The best tables for the hypothesis have {runs:,} different parts, too many to "
                "be executed",
                hint=f"declare coarser steps: up to {MOST_RUNS:,} are executed",
            )

    @property
    def _moves(self) -> int:
        return math.floor(self.reach[0] / self.columns[self.move[0]].step)

    @property
    def errors(self) -> tuple[Fraction, ...]:
        """The furthest that a value of the moved column may be moved."""
        return (self._moves * self.columns[self.move[0]].step,)

    @property
    def _others(self) -> list[str]:
        return [name for name in self.columns if name not in self.move]

    @cached_property
    def tables(self) -> tuple[LineTable, ...]:
        """The best table of every fibre, the last of the other columns running fastest."""
        names = [*self._others, *self.move]
        grid = open_grid(self.columns, names)
        shape = tuple(self.columns[name].last + 1 for name in names)
        sides = IntegerForm.of(self.hypothesis, self.columns).at(grid)
        fibres = np.broadcast_to(sides, shape).reshape(-1, shape[-1]).astype(bool)
        known: dict[bytes, LineTable] = {}
        return tuple(
            known[key]
            if (key := fibre.tobytes()) in known
            else known.setdefault(key, best_line(fibre.tolist(), self._moves))
            for fibre in fibres
        )

    def count_open(self) -> OpenRecords:
        """Count the records that are left open, over all of the lattice."""
        size = self.columns[self.move[0]].last + 1
        return OpenRecords(
            records=len(self.tables) * size,
            open=sum(table.open for table in self.tables),
            pairs=sum(table.pairs for table in self.tables),
            outputs=sum(table.outputs for table in self.tables),
        )

    # --- what is released ---------------------------------------------------------------------

    @cached_property
    def trees(self) -> dict[str, Tree]:
        """The index that is released, as a formula over indices: nested choices."""
        (name,) = self.move
        fibre: Tree = ("const", "0")
        for other in self._others:
            size = ("const", str(self.columns[other].last + 1))
            fibre = ("+", ("*", fibre, size), ("var", other))
        leaves = [_chosen(("var", name), _runs(table)) for table in self.tables]
        starts = [
            (place, leaf)
            for place, leaf in enumerate(leaves)
            if place == 0 or leaf != leaves[place - 1]
        ]
        return {name: ("+", ("var", name), _chosen(fibre, starts))}

    @property
    def peak(self) -> int:
        """No integer on the way to a release is larger in size."""
        return len(self.tables) + 2 * max(column.last + 1 for column in self.columns.values())

    def release_indices(self, indices: Mapping[str, Any]) -> dict[str, Any]:
        """Return the released indices of the moved column, of arrays of indices."""
        integers = as_integers(indices, self.peak)
        return {name: evaluate(tree, integers) for name, tree in self.trees.items()}


def _runs(table: LineTable) -> list[tuple[int, Tree]]:
    """Return where values begin to move by another number of steps, and by how many."""
    runs: list[tuple[int, Tree]] = []
    for index, output in enumerate(table.released):
        assert output is not None  # every value is possible
        shift: Tree = ("const", str(output - index))
        if not runs or runs[-1][1] != shift:
            runs.append((index, shift))
    return runs


def _chosen(value: Tree, starts: list[tuple[int, Tree]]) -> Tree:
    """Return the tree of the last start that is not above a value, by bisection."""
    if len(starts) == 1:
        return starts[0][1]
    middle = len(starts) // 2
    below = ("<", value, ("const", str(starts[middle][0])))
    return ("if", below, _chosen(value, starts[:middle]), _chosen(value, starts[middle:]))
