"""Measures of the classic models of anonymity, for classes of records with equal keys.

Every function takes a class table, or its counts, and returns the strictest parameter for which the
model holds. Ratios of counts are exact fractions; logarithms are rounded. A confidential value that
does not occur in a class has the share zero there.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, overload

import numpy as np

from hartley.errors import OptionError
from hartley.exact import check_base, log_ratio
from hartley.kernels.classes import count_tails, over_classes
from hartley.ranges.distribution import CountedBeliefs, largest_ratio, to_frequencies
from hartley.ranges.joint_range import counts_of
from hartley.report import Panel, Series
from hartley.text import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.kernels.classes import ClassCounts
    from hartley.ranges.classes import KeyClasses
    from hartley.ranges.distribution import JointDistribution
    from hartley.ranges.joint_range import ClassTable, JointFrequencies
    from hartley.ranges.relation import Relation


# --- diversity --------------------------------------------------------------------------------


def distinct_diversity(classes: ClassTable | ClassCounts) -> int:
    r"""Return the smallest number of different confidential values in a class.

    .. math:: l = \min_i |\{s : n_{is} > 0\}|

    Distinct l-diversity (Machanavajjhala et al. 2007), which is also the p of p-sensitive
    k-anonymity (Truta and Vinay 2006). Exact. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.classes import ClassCounts
        >>> distinct_diversity(ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 2, 2]])))
        1
    """
    return int(counts_of(classes).distinct.min())


def entropy_diversity(classes: ClassTable | ClassCounts) -> float:
    r"""Return the effective number of confidential values of the least diverse class.

    .. math:: l = \min_i 2^{H_i}, \quad H_i = -\sum_s p_{is} \log_2 p_{is}

    Entropy l-diversity holds for this l and for none above (Machanavajjhala et al. 2007).
    Rounded to double precision. Linear in the number of cells.

    Example:
        >>> from hartley.kernels.classes import ClassCounts
        >>> entropy_diversity(ClassCounts.from_cells(*np.array([[0, 0], [0, 1], [3, 3]])))
        2.0
    """
    return float(2.0 ** counts_of(classes).bits[0].min())


def recursive_diversity(classes: ClassTable | ClassCounts, length: int) -> Fraction | None:
    r"""Return the c above which recursive (c, l)-diversity holds; None if no c is enough.

    .. math:: c^\ast = \max_i \frac{r_{i1}}{r_{il} + \dots + r_{im}}

    with the counts of class i in falling order: (c, l)-diversity asks for
    :math:`r_{i1} < c\,(r_{il} + \dots + r_{im})` (Machanavajjhala et al. 2007), so it holds for
    every c > c* and fails at c*. Exact. Near-linear in the number of cells.

    Example:
        >>> from hartley.kernels.classes import ClassCounts
        >>> recursive_diversity(ClassCounts.from_cells(*np.array([[0, 0], [0, 1], [3, 2]])), 2)
        Fraction(3, 2)
    """
    if length < 2:
        raise OptionError(
            f"The l of recursive diversity is {length}", hint="choose a whole number of 2 or more"
        )
    if distinct_diversity(classes) < length:
        return None
    return largest_ratio(*over_classes(count_tails, counts_of(classes).cells, length))


def alpha_share(classes: ClassTable | ClassCounts) -> Fraction:
    r"""Return the largest share of one confidential value in a class.

    .. math:: \alpha = \max_{i,s} \frac{n_{is}}{n_i}

    (alpha, k)-anonymity holds for this alpha and none below, every value being protected (Wong
    et al. 2006). Exact. Linear in the number of cells.

    Example:
        >>> from hartley.kernels.classes import ClassCounts
        >>> alpha_share(ClassCounts.from_cells(*np.array([[0, 0], [0, 1], [3, 1]])))
        Fraction(3, 4)
    """
    counts = counts_of(classes)
    peaks, _ = over_classes(count_tails, counts.cells, 2)
    return largest_ratio(peaks, counts.sizes)


# --- disclosure -------------------------------------------------------------------------------


def delta_of_present(classes: ClassTable | ClassCounts, *, base: float = 2) -> float:
    r"""Return the delta over the values that occur in each class.

    .. math:: \max_{i,s : n_{is} > 0} \Bigl| \log_2 \frac{p_{is}}{q_s} \Bigr|

    Some programs call this delta-disclosure (Brickell and Shmatikov 2008), although it leaves out
    excluded values. Exact up to the rounding of one logarithm. Linear in the cells.

    Example:
        >>> from hartley.kernels.classes import ClassCounts
        >>> delta_of_present(ClassCounts.from_cells(*np.array([[0, 1], [0, 1], [1, 1]])))
        1.0
    """
    return CountedBeliefs(counts_of(classes)).disclosure_of_present(base)


# --- attacks ----------------------------------------------------------------------------------


def homogeneous_rows(classes: ClassTable | ClassCounts) -> tuple[int, int]:
    r"""Return the number of classes, and of records, in which all confidential values are equal.

    .. math:: |\{i : \max_s n_{is} = n_i\}|

    An adversary who knows the keys of such a person knows the value: the homogeneity attack
    (Machanavajjhala et al. 2007). Exact. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.classes import ClassCounts
        >>> homogeneous_rows(ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 2, 2]])))
        (1, 2)
    """
    counts = counts_of(classes)
    alike = counts.distinct == 1
    return int(alike.sum()), int(counts.sizes[alike].sum())


def skewed_rows(classes: ClassTable | ClassCounts, times: int) -> tuple[int, int]:
    r"""Return the number of classes, and of records, in which a value is much likelier.

    .. math:: |\{i : \max_s p_{is}/q_s > r\}|

    The skewness attack of Li, Li and Venkatasubramanian 2007: a class can reveal much about a value
    without revealing the value itself. Exact. Linear in the number of cells.

    Args:
        classes: the counts.
        times: the ratio r that has to be exceeded.

    Example:
        >>> from hartley.kernels.classes import ClassCounts
        >>> classes = ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 1, 6]]))
        >>> skewed_rows(classes, 2)
        (1, 2)
    """
    counts = counts_of(classes)
    skewed = skewed_classes(counts, times)
    return int(skewed.sum()), int(counts.sizes[skewed].sum())


def skewed_classes(classes: ClassTable | ClassCounts, times: int) -> NDArray[np.bool_]:
    """Return for every class whether some value is more than ``times`` as likely as in the table.

    Example:
        >>> from hartley.kernels.classes import ClassCounts
        >>> classes = ClassCounts.from_cells(*np.array([[0, 0, 1], [0, 1, 1], [1, 1, 6]]))
        >>> skewed_classes(classes, 2)
        array([ True, False])
    """
    counts = counts_of(classes)
    most, of_most, _, _ = counts.extremes
    # most / size > times * of_most / rows, with the factor divided off in whole numbers: the
    # product of three counts would not fit into a machine word, that of two does.
    likelier = (most * counts.rows - 1) // times
    skewed: NDArray[np.bool_] = likelier >= of_most * counts.sizes
    return skewed


# --- former names -----------------------------------------------------------------------------


def __getattr__(name: str) -> object:
    if name != "kullback_leibler":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    import warnings

    warnings.warn(f"{__name__}.{name} is now called t_closeness", DeprecationWarning, stacklevel=2)
    return t_closeness


# --- closeness: how far the worst released value moves beliefs about a confidential side ----------
#
# The measures take a relation, the classes of a table with equal keys (``KeyClasses``) or joint
# probabilities: a released value is a class, and its probability the share of the records in it.


def _frequencies(source: JointFrequencies | ArrayLike) -> JointFrequencies:
    """Return frequencies of whatever has some; counted classes are those of equal keys."""
    from hartley.kernels import classes
    from hartley.ranges.classes import KeyClasses

    return to_frequencies(
        KeyClasses.of(source) if isinstance(source, classes.ClassCounts) else source
    )


def t_closeness(source: JointFrequencies | ArrayLike, *, base: float = 2) -> float:
    r"""Return how far the worst released value moves beliefs about the confidential side.

    .. math:: t = \max_y \sum_x p(x|y) \log_2 \frac{p(x|y)}{p(x)}

    t-closeness with the Kullback-Leibler divergence for a distance (Rebollo-Monedero, Forne and
    Domingo-Ferrer 2010); its mean over the released values is the mutual information, so that it
    is never below that, and never above ``delta_disclosure``. Rounded to double precision. Linear
    in the number of pairs.

    Args:
        source: a relation, classes of a table, or a matrix of joint
            probabilities, one row per confidential value.
        base: of the logarithm.

    Example:
        >>> t_closeness([[0.5, 0.0], [0.0, 0.5]])
        1.0
        >>> t_closeness([[0.4, 0.1], [0.4, 0.1]])
        0.0
    """
    check_base(base)
    return _frequencies(source).beliefs().divergence(base)


def delta_disclosure(source: JointFrequencies | ArrayLike, *, base: float = 2) -> float:
    r"""Return by how much a released value makes a confidential one likelier or less likely.

    .. math:: \delta = \max_{x,y} \Bigl| \log_2 \frac{p(x|y)}{p(x)} \Bigr|

    Brickell and Shmatikov 2008, in bits unless ``base`` says otherwise. Infinite where a released
    value excludes a confidential one. Never below ``t_closeness``. Rounded to double precision.
    Linear in the number of pairs.

    Example:
        >>> delta_disclosure([[0.125, 0.375], [0.375, 0.125]])  # 1/4 instead of 1/2
        1.0
        >>> delta_disclosure([[0.5, 0.25], [0.0, 0.25]])
        inf
    """
    check_base(base)
    return _frequencies(source).beliefs().disclosure(base)


@overload
def equal_closeness(source: KeyClasses) -> Fraction: ...


@overload
def equal_closeness(source: Relation | JointDistribution | ArrayLike) -> float: ...


def equal_closeness(source: JointFrequencies | ArrayLike) -> Fraction | float:
    r"""Return the t of t-closeness if all confidential values are equally far apart.

    .. math:: t = \max_y \frac{1}{2} \sum_x |p(x|y) - p(x)|

    The earth mover's distance of Li, Li and Venkatasubramanian 2007, equal distance: the total
    variation. Exact for the classes of a table, as a fraction; else rounded to double precision.
    Linear in the number of pairs.

    Example:
        >>> equal_closeness([[0.5, 0.0], [0.0, 0.5]])
        0.5
    """
    return _frequencies(source).beliefs().equal_distance()


@overload
def ordered_closeness(source: KeyClasses) -> Fraction: ...


@overload
def ordered_closeness(source: Relation | JointDistribution | ArrayLike) -> float: ...


def ordered_closeness(source: JointFrequencies | ArrayLike) -> Fraction | float:
    r"""Return the t of t-closeness if confidential values are as far apart as in their order.

    .. math:: t = \max_y \frac{1}{m-1} \sum_{j<m} \Bigl| \sum_{i \le j} (p(x_i|y) - p(x_i)) \Bigr|

    The earth mover's distance of Li, Li and Venkatasubramanian 2007, ordered distance: the rows
    are the m confidential values in their order; those of a relation are put in theirs, if they
    compare. Values that never occur count as places between the others. Exact for the classes of a
    table, as a fraction; else rounded to double precision. Near-linear in the number of pairs,
    however many values there are: between two values of a class only the table's sums move, and
    those are summed beforehand.

    Example:
        >>> ordered_closeness([[0.5, 0.0], [0.0, 0.0], [0.0, 0.5]])
        0.5
    """
    return _frequencies(source).beliefs().ordered_distance()


@overload
def hierarchical_closeness(source: KeyClasses, levels: Sequence[ArrayLike]) -> Fraction: ...


@overload
def hierarchical_closeness(
    source: Relation | JointDistribution | ArrayLike, levels: Sequence[ArrayLike]
) -> float: ...


def hierarchical_closeness(
    source: JointFrequencies | ArrayLike, levels: Sequence[ArrayLike]
) -> Fraction | float:
    r"""Return the t of t-closeness if values are as far apart as their lowest common group.

    .. math:: t = \max_y \frac{1}{H} \sum_{h=0}^{H-1} \frac{1}{2} \sum_g |p(g|y) - p(g)|

    the inner sum over the groups g of level h, level 0 being the values and level H the whole:
    the earth mover's distance of Li, Li and Venkatasubramanian 2007 in a tree, where two values
    whose lowest common group is at level h are h/H apart. Exact for the classes of a table, as a
    fraction; else rounded to double precision. Linear in the number of pairs per level.

    Args:
        source: a relation, classes of a table, or a matrix of joint
            probabilities, one row per confidential value.
        levels: for each level above the values and below the whole, the number of the group of
            every confidential value, in the order of the rows or of the relation's range.

    Example:
        >>> hierarchical_closeness([[0.25, 0.0], [0.25, 0.0], [0.0, 0.5]], [[0, 0, 1]])
        0.5
    """
    return _frequencies(source).beliefs().hierarchical_distance(levels)


# --- how many records share their keys, and the risk to be found by them --------------------------

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
        >>> from hartley.kernels.classes import ClassCounts
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
        >>> from hartley.kernels.classes import ClassCounts
        >>> record_leakage(ClassCounts.from_cells(*np.array([[0, 1], [0, 0], [6, 2]])))
        2.0
    """
    return log_ratio(counts_of(classes).rows, k_anonymity(classes), base=base)


def unique_records(classes: ClassTable | ClassCounts) -> int:
    r"""Return how many records share their keys with no other record.

    .. math:: |\{i : n_i = 1\}|

    Exact. Linear in the number of classes.

    Example:
        >>> from hartley.kernels.classes import ClassCounts
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
        >>> from hartley.kernels.classes import ClassCounts
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
        >>> from hartley.kernels.classes import ClassCounts
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


def sizes_panel(
    bands: Sequence[SizeBand], noun: str = "class", size: tuple[float, float] = (7.2, 3.4)
) -> Panel:
    """Return a picture of the records in classes of each size: unique ones red, bars numbered."""
    shown = [band.records if noun == "person" else band.classes for band in bands]
    bars = Series(
        "",
        tuple(band.label for band in bands),
        tuple(float(band.records) for band in bands),
        "bars",
        tones=tuple(int(band.high == 1) for band in bands),
        labels=tuple(f"{number:,}" if number else "" for number in shown),
    )
    if noun == "person":
        return Panel("people with the same keys", "people", (bars,), size=size)
    there = f"records in {plural(2, noun)} of that size"
    return Panel(f"records in a {noun}", there, (bars,), size=size)


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
    """Return the last step no larger than the least, and all up to one above the largest."""
    edges: list[int] = []
    for step in ladder:
        edges = [step] if step <= least else [*edges, step]
        if step > largest:
            break
    return edges
