"""Whole numbers by the type of the public columns: prices, and what was spent on every type.

A person's public columns are known and do not vary. So a person loses only what was charged for the
own type, and types that different batches are about share a budget (docs/accountant.md, "Paths").
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_PARTS = 512
"""Beyond this many parts, neighbouring runs of codes are merged, and the larger number is kept."""

Cuts: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Columns by name, each with the codes at which its runs begin; a missing value is the last one."""


@dataclass(frozen=True)
class PublicParts:
    """A whole number for every type of the public columns.

    Columns are cut into runs of codes. A part is one run of every column; the numbers of all parts
    are listed with the last column running fastest. There is one way to write a function.

    Example:
        >>> north = PublicParts.of((("region", (0, 1)),), (4, 1))
        >>> south = PublicParts.of((("region", (0, 2, 3)),), (1, 4, 1))
        >>> north.times(south).most, north.times(north).most
        (4, 16)
    """

    cuts: Cuts = ()
    cells: tuple[int, ...] = (1,)

    @classmethod
    def of(cls, cuts: Cuts, cells: tuple[int, ...]) -> PublicParts:
        """Return a function in its shortest form: runs with equal numbers are one run."""
        if len(cuts) == 1:  # as below, without blocks: most prices depend on one column
            ((name, starts),) = cuts
            firsts = [run for run, c in enumerate(cells) if not run or c != cells[run - 1]]
            left = ((name, tuple([starts[run] for run in firsts])),) if len(firsts) > 1 else ()
            return cls(left, tuple([cells[run] for run in firsts]))
        runs, numbers = dict(cuts), cells
        for name, starts in cuts:
            later = prod([len(runs[other]) for other, _ in cuts if other > name])
            blocks = [numbers[at : at + later] for at in range(0, len(numbers), later)]
            size = len(starts)
            slices = [blocks[run::size] for run in range(size)]
            different = [run for run in range(size) if not run or slices[run] != slices[run - 1]]
            if len(different) < size:
                rows = range(0, len(blocks), size)
                numbers = tuple([c for row in rows for run in different for c in blocks[row + run]])
                runs[name] = tuple([starts[run] for run in different])
        return cls(tuple([(name, runs[name]) for name, _ in cuts if len(runs[name]) > 1]), numbers)

    @property
    def most(self) -> int:
        """The largest of the numbers."""
        return max(self.cells)

    def times(
        self, other: PublicParts, multiply: Callable[[int, int], int] = int.__mul__
    ) -> PublicParts:
        """Multiply two functions, type by type."""
        return self._joined(other, multiply)

    def smaller(self, other: PublicParts) -> PublicParts:
        """Return the smaller of two bounds, type by type."""
        return self._joined(other, min)

    def _joined(self, other: PublicParts, join: Callable[[int, int], int]) -> PublicParts:
        if not self.cuts and not other.cuts:
            return PublicParts((), (join(self.cells[0], other.cells[0]),))
        starts: dict[str, set[int]] = {}
        for name, codes in (*self.cuts, *other.cuts):
            starts.setdefault(name, set()).update(codes)
        cuts = _coarse({name: sorted(starts[name]) for name in sorted(starts)})
        return PublicParts.of(cuts, tuple(map(join, self._over(cuts), other._over(cuts))))

    def _over(self, cuts: Cuts) -> Sequence[int]:
        """Return the largest number in each part of other cuts."""
        if cuts == self.cuts:
            return self.cells
        if len(cuts) == 1:  # as below, where every wanted run meets one own run
            begins = cuts[0][1]
            starts = self.cuts[0][1] if self.cuts else begins[:1]
            if set(starts) <= set(begins):
                return [self.cells[bisect_right(starts, low) - 1] for low in begins]
        own, step = dict(self.cuts), len(self.cells)
        columns = []
        for name, begins in cuts:
            starts = own.get(name, begins[:1])  # one run, where the numbers do not depend on it
            step //= len(starts)
            ends = (*[code - 1 for code in begins[1:]], starts[-1])
            # Where the numbers of the own runs begin that each wanted run meets: mostly one.
            columns.append(
                [
                    [
                        run * step
                        for run in range(
                            bisect_right(starts, low) - 1, bisect_right(starts, max(low, high))
                        )
                    ]
                    for low, high in zip(begins, ends, strict=True)
                ]
            )
        return [max([self.cells[sum(at)] for at in product(*part)]) for part in product(*columns)]


def _coarse(cuts: dict[str, list[int]]) -> Cuts:
    """Merge neighbouring runs of the column with most of them, until there are few parts."""
    while prod([len(starts) for starts in cuts.values()]) > MOST_PARTS:
        name = max(cuts, key=lambda each: len(cuts[each]))
        cuts[name] = cuts[name][::2]
    return tuple([(name, tuple(starts)) for name, starts in cuts.items()])
