"""Mutual information."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hartley.exact import in_base
from hartley.ranges.relations.distribution import JointDistribution
from hartley.ranges.relations.relation import Relation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def mutual_information(
    source: Relation | JointDistribution | ArrayLike, *, base: float = 2
) -> float:
    r"""Return what the release tells about the secret on average, were rows drawn at random.

    .. math:: I(X;Y) = \sum_{x,y} p(x,y) \log_2 \frac{p(x,y)}{p(x)\,p(y)}

    Shannon 1948. From a relation, the probabilities are the relative frequencies of its rows.
    An average says nothing about the person whom a rare released value gives away. Rounded to
    double precision. Linear in the number of distinct pairs.

    Args:
        source: a relation, or a matrix of joint probabilities, one row a secret.
        base: of the logarithm.

    Example:
        >>> mutual_information([[0.5, 0.0], [0.0, 0.5]])
        1.0
    """
    if isinstance(source, Relation):
        return in_base(_from_counts(source), base)
    joint = source if isinstance(source, JointDistribution) else JointDistribution.of(source)
    p = joint.matrix
    x, y = np.nonzero(p)
    # One after the other, since the product of two rare ones can be zero.
    terms = p[x, y] * np.log2(p[x, y] / p.sum(axis=1)[x] / p.sum(axis=0)[y])
    return in_base(max(math.fsum(terms), 0.0), base)


def _from_counts(relation: Relation) -> float:
    """Return the bits of the relative frequencies, from sums of count * log2(count) alone."""
    summary = relation.summary
    sides = (
        # Of records every count is one, and no array of them is made.
        0.0 if rows.strides == (0,) else float(np.sum(rows * np.log2(rows)))
        for rows in (summary.secret_rows, summary.released_rows)
    )
    bits = (summary.row_bits - sum(sides)) / summary.rows + math.log2(summary.rows)
    return min(max(bits, 0.0), math.log2(min(summary.secrets, summary.released)))
