"""Finite joint distributions and channels, for the stochastic measures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from hartley.errors import OptionError
from hartley.exact import log_ratio, parse_number
from hartley.kernels.classes import equal_moves, ordered_moves, over_classes
from hartley.ranges.counting import CountedRange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hartley.kernels.classes import ClassCounts
    from hartley.ranges.joint_range import Beliefs, GuessedSide, JointFrequencies


TOLERANCE = 1e-9
LARGEST_LAW = 40_000
"""Entries of the largest channel that is made of a relation's counts."""
LARGEST = 2**62
"""Integers up to here are added in one machine word."""
ExactRows: TypeAlias = tuple[tuple[Fraction, ...], ...]
"""One row per secret, one entry per released value."""


@dataclass(frozen=True, eq=False)
class Channel:
    """Probabilities of the released values given each secret: one row per secret, adding up to 1.

    Example:
        >>> Channel.of([[0.9, 0.1], [0.1, 0.9]]).matrix.shape
        (2, 2)
    """

    matrix: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: ArrayLike) -> Channel:
        """Check a matrix of conditional probabilities."""
        return cls(cast("NDArray[np.float64]", matrix))

    def __post_init__(self) -> None:
        checked = _probabilities(self.matrix, "channel")
        if np.abs(checked.sum(axis=1) - 1).max() > TOLERANCE:
            raise OptionError(
                "A row of the channel does not add up to 1",
                hint="give one row per secret, with the probabilities of the released values",
            )
        object.__setattr__(self, "matrix", checked)

    def peak_share(self) -> float:
        """Return the sum over the released values of their largest probability."""
        return math.fsum(self.matrix.max(axis=0))


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """Probabilities of the pairs: one row per secret, one column per released value.

    Example:
        >>> JointDistribution.of([[0.5, 0.0], [0.25, 0.25]]).channel().matrix.tolist()
        [[1.0, 0.0], [0.5, 0.5]]
    """

    matrix: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: ArrayLike) -> JointDistribution:
        """Check a matrix of joint probabilities."""
        return cls(cast("NDArray[np.float64]", matrix))

    def __post_init__(self) -> None:
        checked = _probabilities(self.matrix, "joint distribution")
        if abs(checked.sum() - 1) > TOLERANCE:
            raise OptionError(
                "The joint distribution does not add up to 1",
                hint="divide by the sum, or pass a relation to use its counts",
            )
        object.__setattr__(self, "matrix", checked)

    @classmethod
    def from_relation(cls, relation: CountedRange) -> JointDistribution:
        """Return the relative frequencies of the pairs of a relation."""
        pairs = relation.pairs()
        matrix = np.zeros(pairs.sizes)
        matrix[pairs.secret, pairs.released] = pairs.counts / pairs.counts.sum()
        return cls(matrix)

    def channel(self) -> Channel:
        """Return the released values' probabilities given each secret that can occur."""
        marginal = self.matrix.sum(axis=1)
        occurring = marginal > 0
        return Channel(self.matrix[occurring] / marginal[occurring, None])

    def peak_share(self) -> float:
        """Return the sum over the released values of their largest probability given a secret."""
        return self.channel().peak_share()

    def shared_bits(self) -> float:
        """Return the mutual information of both sides, in bits."""
        p = self.matrix
        x, y = np.nonzero(p)
        # One after the other, since the product of two rare ones can be zero.
        terms = p[x, y] * np.log2(p[x, y] / p.sum(axis=1)[x] / p.sum(axis=0)[y])
        return max(math.fsum(terms), 0.0)

    def beliefs(self) -> Beliefs:
        """Return what each released value makes somebody believe about the secret."""
        return ProbableBeliefs(self.matrix)


def to_frequencies(source: JointFrequencies | ArrayLike) -> JointFrequencies:
    """Take counted or given frequencies as they are, and a matrix as joint probabilities."""
    # Looking for the method is far quicker than isinstance of a protocol, and solvers ask often.
    if hasattr(source, "beliefs"):
        return cast("JointFrequencies", source)
    return JointDistribution.of(source)


def as_guessed(source: GuessedSide | ArrayLike) -> GuessedSide:
    """Take a range or a distribution as it is, and a matrix as a channel."""
    if hasattr(source, "peak_share"):
        return cast("GuessedSide", source)
    return Channel.of(source)


def _probabilities(matrix: ArrayLike, name: str) -> NDArray[np.float64]:
    """Refuse what is no matrix of probabilities."""
    try:
        checked = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        checked = np.empty(0)
    if checked.ndim != 2 or checked.size == 0:
        raise OptionError(
            f"The {name} is not a matrix of numbers", hint="pass a list of rows of equal length"
        )
    if not np.isfinite(checked).all() or checked.min() < 0:
        raise OptionError(
            f"The {name} contains an entry that is not a probability",
            hint="give a number of 0 or more in every entry",
        )
    return checked


# --- joint laws and channels in exact rationals, for measures that are exact or proved ------------


def exact_joint(source: JointDistribution | ArrayLike) -> ExactRows:
    """Return the probabilities of the pairs as rationals that add up to 1.

    Numbers are read as they are written, 0.1 as one tenth, and divided by their sum, which has to
    be 1 up to rounding.
    """
    matrix = source.matrix if isinstance(source, JointDistribution) else source
    rows = _read(matrix, "joint distribution")
    whole = sum((_total(row) for row in rows), Fraction(0))
    if float(abs(whole - 1)) > TOLERANCE:
        raise OptionError(
            "The joint distribution does not add up to 1",
            hint="divide by the sum, or pass a relation to use its counts",
        )
    return tuple(tuple(entry / whole for entry in row) for row in rows)


def exact_channel(source: GuessedSide | ArrayLike) -> ExactRows:
    """Return the probabilities of the released values given each secret, as rationals.

    Rows of a relation are counted. Secrets that never occur are left out. Numbers are read as
    ``exact_joint`` reads them, and each row is divided by its sum.
    """
    given: object = source
    if isinstance(given, CountedRange):
        check_size(given.summary.secrets, given.summary.released)
        pairs = given.pairs()
        rows = [[Fraction(0)] * pairs.sizes[1] for _ in range(pairs.sizes[0])]
        cells = (pairs.secret.tolist(), pairs.released.tolist(), pairs.counts.tolist())
        for secret, released, count in zip(*cells, strict=True):
            rows[secret][released] = Fraction(count)
    elif isinstance(given, JointDistribution):
        rows = _read(given.matrix, "joint distribution")
    else:
        rows = _read(given.matrix if isinstance(given, Channel) else given, "channel")
        if any(float(abs(_total(row) - 1)) > TOLERANCE for row in rows):
            raise OptionError(
                "A row of the channel does not add up to 1",
                hint="give one row per secret, with the probabilities of the released values",
            )
    return tuple(tuple(entry / whole for entry in row) for row in rows if (whole := _total(row)))


def check_size(secrets: int, released: int) -> None:
    """Refuse a channel whose rationals would take for ever."""
    if secrets * released > LARGEST_LAW:
        raise OptionError(
            f"A channel of {secrets:,} secrets and {released:,} released values is too large",
            hint=f"take bins or groups, so that their product is at most {LARGEST_LAW:,}",
        )


def _total(row: list[Fraction]) -> Fraction:
    return sum(row, Fraction(0))


def _read(matrix: Any, name: str) -> list[list[Fraction]]:  # noqa: ANN401 - checked here
    """Read a matrix of numbers that are probabilities."""
    listed = matrix.tolist() if isinstance(matrix, np.ndarray) else matrix
    try:
        rows = [[parse_number(entry, name="an entry") for entry in row] for row in listed]
    except (TypeError, OptionError):
        rows = []
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise OptionError(
            f"The {name} is not a matrix of numbers", hint="pass a list of rows of equal length"
        )
    if min(map(min, rows)) < 0:
        raise OptionError(
            f"The {name} contains an entry that is not a probability",
            hint="give a number of 0 or more in every entry",
        )
    return rows


# --- beliefs about a confidential side after each released value, and how far they move -----------
#
# A released value is a class. Counts of records answer in exact fractions, probabilities in
# doubles; the formulas are those of ``hartley.measures.anonymity``, which asks either.


@dataclass(frozen=True)
class CountedBeliefs:
    """Beliefs from counts of records: a class is a released value, its shares relative counts."""

    classes: ClassCounts
    places: Callable[[], NDArray[np.int64]] | None = None
    """Gives the place of every confidential value in their order; without it, the codes are it."""
    rounded: bool = False
    """Whether distances are given as the nearest doubles instead of exact fractions."""

    def divergence(self, base: float) -> float:
        """Return the largest Kullback-Leibler divergence of a class from the table."""
        return max(float(self.classes.bits[1].max()), 0.0) / math.log2(base)

    def disclosure(self, base: float) -> float:
        """Return the largest logarithm of a share in a class over that in the table."""
        if int(self.classes.distinct.min()) < self.classes.width:
            return math.inf  # a class lacks a value, which it excludes for certain
        return self.disclosure_of_present(base)

    def disclosure_of_present(self, base: float) -> float:
        """Return the same over the values that each class does have."""
        classes = self.classes
        most, of_most, least, of_least = classes.extremes
        worst = max(
            largest_ratio(most * classes.rows, of_most * classes.sizes),
            largest_ratio(of_least * classes.sizes, least * classes.rows),
        )
        return log_ratio(worst.numerator, worst.denominator, base=base)

    def equal_distance(self) -> Fraction | float:
        """Return the largest share of a class that has to move, all values equally far apart."""
        return self._worst(_equal_moves(self.classes), 2)

    def ordered_distance(self) -> Fraction | float:
        """Return the longest move, values being as far apart as they are in their order."""
        classes = self.classes if self.places is None else self.classes.regroup(self.places())
        if classes.width == 1:
            return self._number(Fraction(0))
        ours, theirs = over_classes(ordered_moves, classes.cells)
        # Each move is below width * size * rows. Where that may not fit into a machine word,
        # Python's integers are used, which are slower and just as exact.
        if classes.width * int(classes.sizes.max()) * classes.rows >= LARGEST:
            ours, theirs = ours.astype(object), theirs.astype(object)
        moves = ours * classes.rows + theirs * classes.sizes
        return self._worst(moves, classes.width - 1)

    def hierarchical_distance(self, levels: Sequence[ArrayLike]) -> Fraction | float:
        """Return the longest move, values being as far apart as their lowest common group."""
        groups = [_groups(level, self.classes.width) for level in levels]
        moves = _equal_moves(self.classes).astype(object)
        for of_value in groups:
            moves = moves + _equal_moves(self.classes.regroup(of_value))
        return self._worst(moves, 2 * (len(groups) + 1))

    def _worst(self, moves: NDArray[Any], scale: int) -> Fraction | float:
        """Return the largest move of any class; classes keep their sizes when regrouped."""
        classes = self.classes
        return self._number(largest_ratio(moves, classes.sizes) / (scale * classes.rows))

    def _number(self, distance: Fraction) -> Fraction | float:
        return float(distance) if self.rounded else distance


def _equal_moves(classes: ClassCounts) -> NDArray[np.int64]:
    """Return 2 n_i n times the share that has to move; below 2**63 for up to 2**31 records."""
    moves: NDArray[np.int64] = over_classes(equal_moves, classes.cells)[0]
    return moves


def largest_ratio(over: NDArray[Any], under: NDArray[np.int64]) -> Fraction:
    """Return the largest of many fractions, exactly: doubles only say which ones can be it."""
    near = (over / under).astype(np.float64)  # of Python's integers too, however large
    # Two conversions and a division are off by less than 4e-16 each way, so that the true maximum
    # is always among those that are kept.
    close = near >= near.max() * (1 - 1e-14)
    pairs = set(zip(over[close].tolist(), under[close].tolist(), strict=True))
    return max(Fraction(a, b) for a, b in pairs)


@dataclass(frozen=True, eq=False)
class ProbableBeliefs:
    """Beliefs from joint probabilities: a row per confidential value, a column per released one."""

    matrix: NDArray[np.float64]

    def divergence(self, base: float) -> float:
        """Return the largest Kullback-Leibler divergence of p(x|y) from p(x)."""
        after, before = self._shares()
        ratios = np.where(after > 0, after, before[:, None]) / before[:, None]
        return max(float((after * np.log(ratios)).sum(axis=0).max()) / math.log(base), 0.0)

    def disclosure(self, base: float) -> float:
        """Return the largest logarithm, either way, of p(x|y) over p(x)."""
        after, before = self._shares()
        if after.min() <= 0:
            return math.inf
        return float(np.abs(np.log(after / before[:, None])).max()) / math.log(base)

    def equal_distance(self) -> float:
        """Return the largest total variation between p(x|y) and p(x)."""
        after, before = self._shares()
        return float(np.abs(after - before[:, None]).sum(axis=0).max()) / 2

    def ordered_distance(self) -> float:
        """Return the longest move, the rows being in the order of the confidential values."""
        after, before = self._shares(every=True)
        if before.size == 1:
            return 0.0
        moved = np.abs(np.cumsum(after - before[:, None], axis=0)).sum(axis=0)
        return float(moved.max()) / (before.size - 1)

    def hierarchical_distance(self, levels: Sequence[ArrayLike]) -> float:
        """Return the longest move, values being as far apart as their lowest common group."""
        after, before = self._shares(every=True)
        apart = after - before[:, None]
        moved = np.abs(apart).sum(axis=0)
        for level in levels:
            groups_of = _groups(level, before.size)
            sums = np.zeros((int(groups_of.max()) + 1, apart.shape[1]))
            np.add.at(sums, groups_of, apart)
            moved = moved + np.abs(sums).sum(axis=0)
        return float(moved.max()) / (2 * (len(levels) + 1))

    def _shares(self, *, every: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return p(x|y) of the released values that occur, and p(x); of what occurs, or all x."""
        before, released = self.matrix.sum(axis=1), self.matrix.sum(axis=0)
        rows = np.ones(before.size, bool) if every else before > 0
        after = self.matrix[np.ix_(rows, released > 0)] / released[released > 0]
        return after, before[rows]


def ranks(values: Sequence[Any]) -> NDArray[np.int64]:
    """Return the place of every value in their order."""
    try:
        order = sorted(range(len(values)), key=lambda place: values[place])
    except TypeError:
        raise OptionError(
            "The confidential values cannot be compared, so they have no order",
            hint="measure equal_closeness or hierarchical_closeness instead",
        ) from None
    places = np.empty(len(values), np.int64)
    places[order] = np.arange(len(values))
    return places


def _groups(level: ArrayLike, size: int) -> NDArray[np.int64]:
    """Check the groups of one level."""
    groups = np.asarray(level)
    if groups.shape != (size,) or groups.dtype.kind not in "iu" or (size and groups.min() < 0):
        raise OptionError(
            f"A level of the hierarchy does not number the groups of {size} confidential values",
            hint="give one whole number of 0 or more per value",
        )
    return groups.astype(np.int64)
