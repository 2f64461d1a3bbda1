"""Count a confidential value within classes of equal keys: one dense cube, one pass, no sorting.

The codes of the key columns are the digits of one mixed-radix integer, the code of the
confidential value its last digit; the integer is the address of a counter. Where there would be
too many counters, sorted integers and their counts lead to the same result.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import EngineError, TableError
from hartley.kernels.classes import (
    Cells,
    class_sizes,
    code_totals,
    divergences,
    extreme_shares,
    occupied_cells,
    over_classes,
)
from hartley.kernels.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CELLS = 10**8
"""Above this many counters, of four bytes each, a cube would be too large for a small machine."""
MOST_ROWS = 2**31 - 1
"""Products of two counts have to fit into 63 bits."""
PENDING = 4
WIDEST_KEY = 2**62


@dataclass(frozen=True)
class ClassCounts:
    """How often each confidential value occurs in each class of records with equal keys.

    Values that are absent from a class are not listed and count zero. The cells of class i are
    those from ``starts[i]`` to ``starts[i + 1]``, in the order of their codes.
    """

    starts: NDArray[np.int64]
    codes: NDArray[np.int32]
    counts: NDArray[np.int32]
    width: int
    """How many confidential values the table holds."""

    @classmethod
    def from_cells(
        cls, classes: NDArray[np.int64], codes: NDArray[np.int64], counts: NDArray[np.integer]
    ) -> ClassCounts:
        """Group cells by class; cells that are listed twice are added.

        Example:
            >>> counted = ClassCounts.from_cells(*np.array([[7, 5, 5], [0, 1, 0], [1, 2, 3]]))
            >>> counted.sizes, counted.totals
            (array([5, 1]), array([4, 2]))
        """
        width = int(codes.max()) + 1 if codes.size else 1
        order = np.lexsort((codes, classes))
        classes, codes, counts = classes[order], codes[order], counts[order]
        fresh = np.ones(classes.size, bool)
        fresh[1:] = (np.diff(classes) != 0) | (np.diff(codes) != 0)
        first = np.flatnonzero(fresh)
        # The cells are sorted by class, then by code: equal ones stand together.
        counts = np.add.reduceat(counts, first) if first.size else counts
        return cls._of_sorted(classes[first], codes[first], counts, width)

    @classmethod
    def _of_sorted(
        cls,
        classes: NDArray[np.int64],
        codes: NDArray[np.int64],
        counts: NDArray[np.integer],
        width: int,
    ) -> ClassCounts:
        if counts.sum() > MOST_ROWS:
            raise TableError(
                f"There are more than {MOST_ROWS:,} rows", hint="measure them in parts"
            )
        edges = np.flatnonzero(np.diff(classes, prepend=-1))
        starts = np.append(edges, classes.size)
        return cls(starts, codes.astype(np.int32), counts.astype(np.int32), width)

    def __len__(self) -> int:
        return self.starts.size - 1

    @cached_property
    def rows(self) -> int:
        """How many records there are."""
        return int(self.counts.sum())

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many records each class has."""
        return class_sizes(self.starts, self.counts)

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """How often each confidential value occurs in the whole table."""
        return code_totals(self.codes, self.counts, self.width)

    @cached_property
    def distinct(self) -> NDArray[np.int64]:
        """How many different confidential values each class has."""
        return np.diff(self.starts)

    @property
    def cells(self) -> Cells:
        """All of it, as kernels take it."""
        return Cells(self.starts, self.codes, self.counts, self.sizes, self.totals)

    @cached_property
    def extremes(self) -> tuple[NDArray[np.int64], ...]:
        """Of every class, count and total of its likeliest and of its least likely value."""
        return over_classes(extreme_shares, self.cells)

    @cached_property
    def bits(self) -> tuple[NDArray[np.float64], ...]:
        """The entropy of every class, and its divergence from the table."""
        return over_classes(divergences, self.cells)

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """The class of each cell."""
        return np.repeat(np.arange(len(self)), self.distinct)

    def regroup(self, groups: NDArray[np.int64]) -> ClassCounts:
        """Return the counts of groups of confidential values, given the group of each code."""
        return ClassCounts.from_cells(self.members, groups[self.codes], self.counts)


class CubeCounter:
    """Take mixed-radix integers batch by batch and count them in a dense cube.

    Example:
        >>> cube = CubeCounter(classes=2, width=3)
        >>> cube.add(np.array([0, 2, 2, 5]))
        >>> counts, observed = cube.finish()
        >>> counts.sizes, counts.codes, observed
        (array([3, 1]), array([0, 1, 1], dtype=int32), array([0, 2]))
    """

    def __init__(self, *, classes: int, width: int) -> None:
        self._width = width
        # The confidential value is the last digit, so that the counters of one class stand together
        # and a class is read in one go.
        self._cube = np.zeros(classes * width, np.uint32)
        self._pending: list[Future[bool]] = []
        # One thread, since two could add to one counter at the same time.
        self._adder = ThreadPoolExecutor(1, thread_name_prefix="hartley-cube")

    def add(self, keys: NDArray[np.signedinteger]) -> None:
        """Count a batch in the background, while the next one is being read."""
        if len(self._pending) >= PENDING:
            self._pending[-PENDING].result()
        self._pending.append(self._adder.submit(_count, keys, self._cube))

    def finish(self) -> tuple[ClassCounts, NDArray[np.int64]]:
        """Return the counts of the values that occur, and which of the codes those are."""
        inside = all(batch.result() for batch in self._pending)
        self._adder.shutdown()
        if not inside:
            raise EngineError("The table changed while it was being counted", hint="count it again")
        starts, codes, counts, observed = occupied_cells(self._cube, self._width)
        return ClassCounts(starts, codes, counts, observed.size), observed


def group_keys(
    keys: NDArray[np.int64], counts: NDArray[np.integer], width: int
) -> tuple[ClassCounts, NDArray[np.int64]]:
    """Turn distinct, sorted mixed-radix integers into classes; unused codes disappear.

    Example:
        >>> group_keys(np.array([0, 2, 5]), np.array([1, 2, 1]), 3)[1]
        array([0, 2])
    """
    classes, codes = np.divmod(keys, width)
    used = np.zeros(width, bool)
    used[codes] = True
    renumbered = np.cumsum(used) - 1
    observed = np.flatnonzero(used)
    return ClassCounts._of_sorted(classes, renumbered[codes], counts, observed.size), observed  # noqa: SLF001 - made here


@compiled
def _count(keys: NDArray[np.signedinteger], cube: NDArray[np.uint32]) -> bool:
    """Count keys; one outside the cube is refused before it is written anywhere."""
    for i in range(keys.size):
        key = keys[i]
        if key < 0 or key >= cube.size:
            return False
        # It cannot wrap: tables of more than 2^31 - 1 rows are refused before they are counted.
        cube[key] += np.uint32(1)
    return True
