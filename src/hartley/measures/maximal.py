"""Stochastic maximal leakage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hartley.exact import in_base
from hartley.ranges.relations.distribution import as_guessed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hartley.ranges.joint_range import GuessedSide


def maximal_leakage(source: GuessedSide | ArrayLike, *, base: float = 2) -> float:
    r"""Return how much the release helps to guess any function of the secret in one trial.

    .. math:: \tilde L_\star(X \to Y) = \log_2 \sum_y \max_x P(y|x)

    Issa, Wagner and Kamath 2020; Farokhi and Ding 2021, Definition 4. From a relation, the
    probabilities are the relative frequencies of its rows. It lies between the maximin
    information and the smaller of both Hartley entropies; that it is below the maximin
    information, as Section VI there says, is wrong (corrected). Rounded to double precision.
    Linear in the number of distinct pairs.

    Args:
        source: a relation or another range that is counted, a ``JointDistribution``, or a channel:
            a matrix with one row of probabilities per secret.
        base: of the logarithm.

    Example:
        >>> round(maximal_leakage([[0.9, 0.1], [0.1, 0.9]]), 6)
        0.847997
    """
    return in_base(max(math.log2(as_guessed(source).peak_share()), 0.0), base)
