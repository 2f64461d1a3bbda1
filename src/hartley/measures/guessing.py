"""Brute-force guessing: how many trials the release saves whoever tries all possibilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import check_base, log_ratio
from hartley.ranges.joint_range import encode_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.ranges.relation import Relation

    Attribute = str | Mapping[Any, Any] | Callable[[Any], Any]
    """A column of the secret side, a table of values, or a function of the secret."""


def guessing_leakage(
    relation: Relation, attribute: Attribute | None = None, *, base: float = 2
) -> float:
    r"""Return how far the release shortens the search for an attribute of the secret.

    .. math:: L(U \to Y) = \log_2 \frac{|[U]|}{\min_y |[U|y]|}, \qquad U = g(X)

    Trials that a brute-force guesser needs without the release, over those that remain after the
    most telling released value (Farokhi and Ding 2021, Definition 1). Without an attribute the
    secret itself is guessed, and the leakage is that of ``nonstochastic_leakage``. Exact.
    Linear in the number of released values; with an attribute, one sort of the distinct pairs.

    Args:
        relation: the secret and what is released.
        attribute: a column of the secret side, a mapping from secrets, or a function of them.
        base: of the logarithm.

    Example:
        >>> from hartley import Relation
        >>> votes = Relation.from_pairs([((a, b), a + b >= 1) for a in (0, 1) for b in (0, 1)])
        >>> guessing_leakage(votes), guessing_leakage(votes, lambda vote: vote[0])
        (2.0, 1.0)
    """
    if attribute is None:
        summary = relation.summary
        return log_ratio(summary.secrets, int(summary.secret_sizes.min()), base=base)
    image = attribute_codes(relation, attribute)
    images_left = relation.pairs().distinct_images(image)
    return log_ratio(int(image.max()) + 1, int(images_left.min()), base=base)


def maximal_guessing_leakage(relation: Relation, *, base: float = 2) -> float:
    r"""Return the guessing leakage of the attribute that suffers most.

    .. math:: L_\star(X \to Y) = \max_U L(U \to Y)
        = \log_2 \bigl(|[X]| - \min_y |[X|y]| + 1\bigr)

    Farokhi and Ding 2021, Proposition 4. For unrelated pairs of variables it is super-additive,
    not additive as Proposition 3(e) there says (corrected). Exact. Linear in the number of
    released values.

    Example:
        >>> from hartley import Relation
        >>> maximal_guessing_leakage(Relation.from_pairs([(0, 0), (1, 0), (2, 1), (3, 1)]))
        1.584962500721156
    """
    summary = relation.summary
    return log_ratio(summary.secrets - int(summary.secret_sizes.min()) + 1, base=base)


@dataclass(frozen=True)
class WorstAttribute:
    """The attribute of the secret that a release endangers most.

    It tells apart every secret except those that one released value leaves possible, which it
    merges; that released value then gives the attribute away.
    """

    relation: Relation
    released_code: int
    leakage: float
    base: float

    @property
    def released(self) -> Any:  # noqa: ANN401 - a released value of any kind
        """The released value that gives the attribute away."""
        return self.relation.released_values.take(np.array([self.released_code]))[0]

    @property
    def merged_count(self) -> int:
        """How many secrets are merged."""
        return int(self.relation.summary.secret_sizes[self.released_code])

    @property
    def values(self) -> int:
        """How many values the attribute has."""
        return self.relation.summary.secrets - self.merged_count + 1

    @property
    def merged(self) -> list[Any]:
        """The secrets that are merged into one."""
        return self.relation.secret_values.take(
            self.relation.pairs().secrets_of(self.released_code)
        )

    def mapping(self) -> dict[Any, Any]:
        """Return the attribute as a table: its first merged secret stands for all merged ones."""
        merged = self.merged
        table = {secret: secret for secret in self.relation.secret_range}
        return table | dict.fromkeys(merged, merged[0])


def worst_attribute(relation: Relation, *, base: float = 2) -> WorstAttribute:
    r"""Return the attribute of the secret that leaks most.

    .. math:: g(x) = u^* \text{ for } x \in [X|y^*], \quad g(x) = x \text{ otherwise}, \qquad
        y^* \in \arg\min_y |[X|y]|

    Farokhi and Ding 2021, eq. 17; it attains the maximal guessing leakage. Of several released
    values with the fewest secrets the first is taken. Exact. Linear in the number of released
    values.

    Example:
        >>> from hartley import Relation
        >>> worst = worst_attribute(Relation.from_pairs([(0, "a"), (1, "a"), (2, "b"), (2, "a")]))
        >>> worst.released, worst.merged, worst.leakage
        ('b', [2], 1.584962500721156)
    """
    code = int(np.argmin(relation.summary.secret_sizes))
    return WorstAttribute(relation, code, maximal_guessing_leakage(relation, base=base), base)


# --- budgets ---------------------------------------------------------------------------------


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


# --- attributes ------------------------------------------------------------------------------


def attribute_codes(relation: Relation, attribute: Attribute) -> NDArray[np.int64]:
    """Return for every secret code the code of its attribute, 0, 1, ... without gaps."""
    secrets = relation.secret_range
    if isinstance(attribute, str):
        if attribute not in relation.secret_names:
            raise OptionError(
                f"The attribute '{attribute}' is no column of the secret side",
                hint=f"choose from {', '.join(relation.secret_names)}, or pass a function",
            )
        at = relation.secret_names.index(attribute)
        images = secrets if len(relation.secret_names) == 1 else [row[at] for row in secrets]
    elif isinstance(attribute, Mapping):
        if any(secret not in attribute for secret in secrets):
            raise OptionError(
                "The attribute's table misses a value of the secret",
                hint="give every value of relation.secret_range an entry",
            )
        images = [attribute[secret] for secret in secrets]
    else:
        images = [attribute(secret) for secret in secrets]
    try:
        return encode_list(images, "attribute")[0]
    except TypeError:
        raise OptionError(
            "The values of the attribute cannot be compared",
            hint="let it give numbers, text or tuples, not lists or sets",
        ) from None
