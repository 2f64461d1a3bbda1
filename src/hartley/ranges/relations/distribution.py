"""Finite joint distributions and channels, for the stochastic measures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from hartley.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hartley.ranges.joint_range import Beliefs, GuessedSide, JointFrequencies
    from hartley.ranges.relations.counting import CountedRange

TOLERANCE = 1e-9


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
        return cls(_probabilities(matrix, "channel"))

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
        return cls(_probabilities(matrix, "joint distribution"))

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
        from hartley.ranges.relations.beliefs import ProbableBeliefs

        return ProbableBeliefs(self.matrix)


def as_frequencies(source: JointFrequencies | ArrayLike) -> JointFrequencies:
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
