"""The protocols between measures and ranges: what a measure may ask of any kind of range.

A measure is one function. It asks for the sizes that its formula names, and the range answers in
counts or in volumes; a question that the theory does not define for a kind of range is refused by
the range itself, in one sentence with a hint.

============================  ==============================================================
``JointRange``                ``Relation``, ``KeyClasses`` (counts), ``CutBox`` (volumes)
``JointFrequencies``          ``Relation``, ``KeyClasses`` (counts), ``JointDistribution``
``GuessedSide``               the same, and ``Channel``
``ClassTable``                ``Relation``, ``KeyClasses``
============================  ==============================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from hartley.exact import log_ratio, round_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from hartley.kernels.cube import ClassCounts


@dataclass(frozen=True)
class Size:
    """The size of a range, a count or a volume: an exact number, or two that it lies between.

    Example:
        >>> Size.of(8).log_from_below(), Size.of(2).log_narrowing(Size.of(8))
        (3.0, 2.0)
    """

    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, number: int | Fraction) -> Size:
        """Return a size that is known exactly."""
        exact = Fraction(number)
        return Size(exact, exact)

    @property
    def exact(self) -> bool:
        """Whether the size is known exactly."""
        return self.low == self.high

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """Both bounds."""
        return self.low, self.high

    def log(self, base: float = 2) -> tuple[float, float]:
        """Return bounds on the logarithm, however small or large the size is.

        Rounded outward, and without need where the size is a power of two and the base is 2.
        """
        low, high = (log_ratio(end.numerator, end.denominator, base=base) for end in self.ends)
        plain = [end == 0 or (base == 2 and _is_power_of_two(end)) for end in self.ends]
        return low if plain[0] else -round_up(-low), high if plain[1] else round_up(high)

    def log_from_below(self, base: float = 2) -> float:
        """Return the logarithm; where the size is bounded only, a number never above it."""
        # An exact size keeps the nearest double: rounding it down too would show 2.9999 for 3.
        if self.exact:
            return log_ratio(self.low.numerator, self.low.denominator, base=base)
        return self.log(base)[0]

    def log_narrowing(self, whole: Size, base: float = 2) -> float:
        """Return the logarithm of a whole over this part of it, or a number never below that."""
        if self.low == 0:
            return math.inf
        ratio = whole.high / self.low
        logarithm = log_ratio(ratio.numerator, ratio.denominator, base=base)
        return logarithm if self.exact and whole.exact else round_up(logarithm)


def _is_power_of_two(number: Fraction) -> bool:
    return number.numerator.bit_count() == number.denominator.bit_count() == 1


class JointRange(Protocol):
    """What could be true of a secret X together with what is released of it, Y."""

    @property
    def secret_size(self) -> Size:
        """The size of [X], all that the secret can be."""

    @property
    def largest_conditional(self) -> Size:
        """The size of the largest [X|y]: what the least telling released value leaves possible."""

    @property
    def smallest_conditional(self) -> Size:
        """The size of the smallest [X|y]: what the most telling released value leaves possible."""

    @property
    def released_count(self) -> int:
        """How many values the released side can take."""

    @property
    def pair_size(self) -> Size:
        """The size of [X, Y], all pairs that can occur."""

    @property
    def overlap_classes(self) -> int:
        """How many classes the overlap partition of [X, Y] has."""


@runtime_checkable
class GuessedSide(Protocol):
    """Something random that is released about a secret, as one guess sees it."""

    def peak_share(self) -> float:
        """Return the sum over the released values y of the largest P(y|x) of any secret x."""


@runtime_checkable
class JointFrequencies(GuessedSide, Protocol):
    """How often a secret and a released value occur together, counted or as probabilities."""

    def shared_bits(self) -> float:
        """Return the mutual information of both sides, in bits."""

    def beliefs(self) -> Beliefs:
        """Return what each released value makes somebody believe about the secret."""


@runtime_checkable
class ClassTable(Protocol):
    """Records in classes of equal released values, and how often each secret occurs in each."""

    def class_counts(self) -> ClassCounts:
        """Return how often each secret occurs in each class of equal released values."""


def counts_of(classes: ClassTable | ClassCounts) -> ClassCounts:
    """Ask a range for the counts of its classes; counts are taken as they are."""
    return classes.class_counts() if isinstance(classes, ClassTable) else classes


class Beliefs(Protocol):
    """How far the worst released value moves what is believed about a confidential side.

    Counts answer distances in exact fractions, probabilities in doubles.
    """

    def divergence(self, base: float) -> float:
        """Return the largest Kullback-Leibler divergence of p(x|y) from p(x)."""

    def disclosure(self, base: float) -> float:
        """Return the largest logarithm, either way, of p(x|y) over p(x)."""

    def equal_distance(self) -> Fraction | float:
        """Return the largest share that has to move, all values being equally far apart."""

    def ordered_distance(self) -> Fraction | float:
        """Return the longest move, values being as far apart as they are in their order."""

    def hierarchical_distance(self, levels: Sequence[ArrayLike]) -> Fraction | float:
        """Return the longest move, values being as far apart as their lowest common group."""
