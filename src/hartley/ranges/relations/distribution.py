"""Finite joint distributions and channels, for the stochastic measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hartley.ranges.relations.relation import Relation

TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Channel:
    """Probabilities of the released values given each secret: one row a secret, each adding to 1.

    Example:
        >>> Channel.of([[0.9, 0.1], [0.1, 0.9]]).matrix.shape
        (2, 2)
    """

    matrix: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: ArrayLike) -> Channel:
        """Check a matrix of conditional probabilities."""
        checked = _probabilities(matrix, "channel")
        if np.abs(checked.sum(axis=1) - 1).max() > TOLERANCE:
            raise OptionError(
                "A row of the channel does not add up to 1",
                hint="give one row a secret, holding the probabilities of the released values",
            )
        return cls(checked)


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """Probabilities of the pairs: one row a secret, one column a released value.

    Example:
        >>> JointDistribution.of([[0.5, 0.0], [0.25, 0.25]]).channel().matrix.tolist()
        [[1.0, 0.0], [0.5, 0.5]]
    """

    matrix: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: ArrayLike) -> JointDistribution:
        """Check a matrix of joint probabilities."""
        checked = _probabilities(matrix, "joint distribution")
        if abs(checked.sum() - 1) > TOLERANCE:
            raise OptionError(
                "The joint distribution does not add up to 1",
                hint="divide by the sum, or pass a relation to use its counts",
            )
        return cls(checked)

    @classmethod
    def from_relation(cls, relation: Relation) -> JointDistribution:
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
            f"The {name} holds something that is no probability",
            hint="every entry is a number of 0 or more",
        )
    return checked
