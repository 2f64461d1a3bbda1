"""Re-identification: how many records share their keys, and the risk to be found by them.

Every function takes classes of records with equal keys, or their sizes; ratios are exact fractions.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.exact import log_ratio
from hartley.ranges.joint_range import counts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hartley.kernels.cube import ClassCounts
    from hartley.ranges.joint_range import ClassTable

COARSE, FINE = (10, 20, 50), (10, 15, 20, 30, 50, 70)
"""The starts of bands of sizes within a power of ten, in tenths of it."""
MOST_BANDS = 14
WIDE = 8
"""If sizes differ by this factor, the bands widen."""


def k_anonymity(classes: ClassTable | ClassCounts) -> int:
    r"""Return the size k of the smallest class: every record shares its keys with k - 1 others.

    .. math:: k = \min_i n_i

    Samarati and Sweeney 1998. Exact. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> three_and_two = ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 2, 2]]))
        >>> k_anonymity(three_and_two)
        2
    """
    return int(counts_of(classes).sizes.min())


def record_leakage(classes: ClassTable | ClassCounts, *, base: float = 2) -> float:
    r"""Return the non-stochastic leakage of the keys about which record is whose.

    .. math:: L_0 = \log_2 \frac{n}{k}

    Farokhi 2019 with the record itself as the secret: the smallest class leaves k of n records
    possible. Exact up to the rounding of the logarithm. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> record_leakage(ClassCounts.from_cells(*np.array([[0, 1], [0, 0], [6, 2]])))
        2.0
    """
    return log_ratio(counts_of(classes).rows, k_anonymity(classes), base=base)


def unique_records(classes: ClassTable | ClassCounts) -> int:
    r"""Return how many records share their keys with no other record.

    .. math:: |\{i : n_i = 1\}|

    Exact. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> unique_records(ClassCounts.from_cells(*np.array([[0, 1], [0, 0], [1, 2]])))
        1
    """
    return int((counts_of(classes).sizes == 1).sum())


# --- re-identification ------------------------------------------------------------------------


def prosecutor_risk(classes: ClassTable | ClassCounts) -> Fraction:
    r"""Return the largest chance to find a person who is known to be in the table.

    .. math:: \max_i \frac{1}{n_i} = \frac{1}{k}

    El Emam and Dankar 2008. Exact. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> prosecutor_risk(ClassCounts.from_cells(*np.array([[0, 1], [0, 0], [4, 2]])))
        Fraction(1, 2)
    """
    return Fraction(1, k_anonymity(classes))


def journalist_risk(population: NDArray[np.int64]) -> Fraction:
    r"""Return the largest chance to find a person if the table is a sample of a population.

    .. math:: \max_i \frac{1}{N_i}

    over the classes i that the table has, N_i being their sizes in the population (El Emam and
    Dankar 2008). Where nothing is known of the population, N_i = n_i bounds it from above: the
    prosecutor's risk. Exact. Linear in the number of classes.

    Example:
        >>> journalist_risk(np.array([40, 20]))
        Fraction(1, 20)
    """
    return Fraction(1, int(population.min()))


def marketer_risk(
    classes: ClassTable | ClassCounts, population: NDArray[np.int64] | None = None
) -> Fraction:
    r"""Return the average share of records that are found if all are searched for.

    .. math:: \frac{1}{n} \sum_i \frac{n_i}{N_i}

    Dankar and El Emam 2010; without a population N_i = n_i and it is classes over records.
    Exact. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.cube import ClassCounts
        >>> classes = ClassCounts.from_cells(*np.array([[0, 1], [0, 0], [4, 2]]))
        >>> marketer_risk(classes), marketer_risk(classes, np.array([8, 8]))
        (Fraction(1, 3), Fraction(1, 8))
    """
    counts = counts_of(classes)
    if population is None:
        return Fraction(len(counts), counts.rows)
    pairs, times = np.unique(np.stack([counts.sizes, population]), axis=1, return_counts=True)
    expected = sum(
        (Fraction(n * t, of) for (n, of), t in zip(pairs.T.tolist(), times.tolist(), strict=True)),
        Fraction(0),
    )
    return expected / counts.rows


# --- how the sizes are spread -----------------------------------------------------------------


@dataclass(frozen=True)
class SizeBand:
    """The classes in a band of sizes: their number, and the number of their records."""

    low: int
    high: int
    """The largest size of the band; at least ``low``."""
    classes: int
    records: int

    @property
    def label(self) -> str:
        """The sizes of the band as text."""
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}-{self.high:,}"


def size_bands(sizes: NDArray[np.int64]) -> tuple[SizeBand, ...]:
    """Return the number of classes, and of their records, by size, in a dozen bands.

    A few sizes get a band each; otherwise bands widen as the sizes grow, or have one width if all
    sizes are similar. Bands between two others may be empty. Exact; n log n.

    Example:
        >>> [(band.label, band.classes, band.records) for band in size_bands(np.array([1, 3, 3]))]
        [('1', 1, 1), ('2', 0, 0), ('3', 2, 6)]
        >>> [band.label for band in size_bands(np.array([1, 3, 3, 70, 800]))]
        ['1', '2-4', '5-9', '10-19', '20-49', '50-99', '100-199', '200-499', '500-999']
    """
    least, largest = int(sizes.min()), int(sizes.max())
    edges = _edges(least, largest)
    counts, _ = np.histogram(sizes, edges)
    records, _ = np.histogram(sizes, edges, weights=sizes)
    return tuple(
        SizeBand(low, end - 1, int(times), round(held))
        for (low, end), times, held in zip(
            itertools.pairwise(edges), counts.tolist(), records.tolist(), strict=True
        )
    )


def _edges(least: int, largest: int) -> list[int]:
    """Return where bands begin, and where the last one ends."""
    if largest - least < MOST_BANDS:
        return list(range(least, largest + 2))
    if largest < WIDE * least:
        width = next(step for step in _ladder(COARSE) if step * MOST_BANDS > largest - least)
        first = max(least // width * width, 1)  # there is no class of size 0
        return [first, *range(first // width * width + width, largest + width + 1, width)]
    fine = _between(_ladder(FINE), least, largest)
    return fine if len(fine) <= MOST_BANDS else _between(_ladder(COARSE), least, largest)


def _ladder(tenths: tuple[int, ...]) -> Iterator[int]:
    """Yield the steps of all powers of ten in ascending order; 1.5 is cut to another 1."""
    for power in itertools.count():
        yield from (step * 10**power // 10 for step in tenths)


def _between(ladder: Iterator[int], least: int, largest: int) -> list[int]:
    """Return the last step that is no larger than the least, and all up to one above the largest.

    A ladder begins with 1, and no class is smaller.
    """
    edges: list[int] = []
    for step in ladder:
        edges = [step] if step <= least else [*edges, step]
        if step > largest:
            break
    return edges
