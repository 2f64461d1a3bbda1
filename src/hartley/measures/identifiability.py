"""Identifiability: the budget within which a release keeps the secret's range large."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import OptionError
from hartley.exact import check_base, log_ratio
from hartley.measures.guessing import guessing_leakage

if TYPE_CHECKING:
    from hartley.measures.guessing import Attribute
    from hartley.ranges.relations.relation import Relation


def identifiability(
    relation: Relation, attribute: Attribute | None = None, *, base: float = 2
) -> float:
    r"""Return the smallest budget for which the release is identifiable on an attribute.

    .. math:: \epsilon = L(U \to Y), \qquad |[U|y]| \ge |[U]| \, 2^{-\epsilon} \quad \forall y

    Farokhi and Ding 2021, Definition 3. Exact. Costs what ``guessing_leakage`` costs.

    Example:
        >>> from hartley import Relation
        >>> identifiability(Relation.from_pairs([(0, 0), (1, 0), (2, 1), (3, 1)]))
        1.0
    """
    return guessing_leakage(relation, attribute, base=base)


def maximal_leakage_within(secrets: int, budget: float, *, base: float = 2) -> float:
    r"""Return the largest maximal guessing leakage that an identifiability budget allows.

    .. math:: L_\star \le \log_2 \bigl(|[X]| - \lceil |[X]| \, 2^{-\epsilon} \rceil + 1\bigr)

    Corollary 5 of Farokhi and Ding 2021, tightened: a conditional range has a whole number of
    values. A bound, attained by some release for every number of secrets; the budget is taken as
    a rounded number, so where that leaves doubt the larger value is given. Constant time.

    Example:
        >>> maximal_leakage_within(3, 1.0)
        1.0
    """
    check_base(base)
    if secrets < 1 or not budget >= 0:
        raise OptionError(
            "A budget needs at least one secret and no negative number",
            hint="pass the number of secrets and a budget of 0 or more",
        )
    # A budget is a logarithm that was rounded: a hair more is granted, so that the bound is
    # never too small for the release that the budget comes from.
    share = base ** -(budget + 1e-13 * (1 + budget))
    smallest = max(math.ceil(secrets * Fraction(share)), 1)
    return log_ratio(secrets - smallest + 1, base=base)
