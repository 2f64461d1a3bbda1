"""Columns that say the same in other words: how well one column foretells another."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.kernels.pairs import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

NEARLY = Fraction(19, 20)
"""A column nearly follows from another one from this lambda on."""
SAMPLE, IN_SAMPLE = 20_000, Fraction(92, 100)
"""Pairs with less in a sample of so many rows are not counted in full. A sample shows more
dependence than there is, so that what reaches 0.95 is lost by chance alone."""
EVIDENCE = 5
"""As many rows have to be foretold by others, and not by the commonest value of the table."""


def goodman_kruskal(first: Codes, second: Codes) -> Fraction:
    """Return Goodman and Kruskal's lambda: the share of wrong guesses that the first column mends.

    1 where the second column follows from the first, and where it has one value only.

    Example:
        >>> first, second = np.array([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
        >>> goodman_kruskal(first, second)
        Fraction(1, 2)
    """
    width = int(second.max(initial=0)) + 1
    keys, counts = np.unique(first * width + second, return_counts=True)
    starts = np.flatnonzero(np.diff(keys // width, prepend=-1))
    right = int(np.maximum.reduceat(counts, starts).sum()) if keys.size else 0
    commonest = int(np.bincount(second).max(initial=0))
    wrong = first.size - commonest
    return Fraction(right - commonest, wrong) if wrong else Fraction(1)


def find_dependences(
    columns: Sequence[Codes], looked_at: Callable[[int, int], bool]
) -> Iterator[tuple[int, int, Fraction]]:
    """Yield pairs of columns of which the second follows, or nearly follows, from the first.

    Given the codes of the columns, 0 and above, each used. A pair needs two values or more on both
    sides, two rows for every value of the first column (ten where it nearly follows), and evidence:
    rows whose second value is not the commonest one beside others with the same first value.

    Args:
        columns: the codes of the rows, column by column.
        looked_at: tells for the places of two columns whether they are looked at.
    """
    rows = columns[0].size if columns else 0
    widths = [int(column.max(initial=-1)) + 1 for column in columns]
    drawn = np.random.default_rng(0).choice(rows, min(rows, SAMPLE), replace=False)
    sampled = [column[drawn] for column in columns]
    for a, first in enumerate(columns):
        if not 2 <= widths[a] <= rows / 2:
            continue
        repeated = np.bincount(first)[first] >= 2
        for b, second in enumerate(columns):
            if a == b or widths[b] < 2 or not looked_at(a, b):
                continue
            if widths[b] <= widths[a] and _follows(first, second, widths[a]):
                found = Fraction(1)
            elif 10 * widths[a] > rows or goodman_kruskal(sampled[a], sampled[b]) < IN_SAMPLE:
                continue
            else:
                found = goodman_kruskal(first, second)
            uncommon = second != np.bincount(second).argmax()
            if found >= NEARLY and int((repeated & uncommon).sum()) >= EVIDENCE:
                yield a, b, found


@compiled
def _follows(first: Codes, second: Codes, width: int) -> bool:
    """Tell whether equal first values have equal second values."""
    seen = np.full(width, -1, np.int64)
    for row in range(first.size):
        if seen[first[row]] < 0:
            seen[first[row]] = second[row]
        elif seen[first[row]] != second[row]:
            return False
    return True
