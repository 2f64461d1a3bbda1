"""Mutual information."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hartley.exact import in_base
from hartley.ranges.relations.distribution import as_frequencies

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from hartley.ranges.joint_range import JointFrequencies


def mutual_information(source: JointFrequencies | ArrayLike, *, base: float = 2) -> float:
    r"""Return what the release reveals about the secret on average, for rows drawn at random.

    .. math:: I(X;Y) = \sum_{x,y} p(x,y) \log_2 \frac{p(x,y)}{p(x)\,p(y)}

    Shannon 1948. From a relation, the probabilities are the relative frequencies of its rows.
    An average says nothing about a person whom a rare released value identifies. Rounded to
    double precision. Linear in the number of distinct pairs.

    Args:
        source: a relation or another range that is counted, or a matrix of joint
            probabilities, one row per secret.
        base: of the logarithm.

    Example:
        >>> mutual_information([[0.5, 0.0], [0.0, 0.5]])
        1.0
    """
    return in_base(as_frequencies(source).shared_bits(), base)
