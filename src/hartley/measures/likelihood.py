"""How likely a release makes a secret, for whoever knows how often its values occur."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.exact import log_ratio
from hartley.kernels.dependence import goodman_kruskal
from hartley.ranges.classes import encode_column
from hartley.ranges.distribution import largest_ratio
from hartley.tables.opening import open_table
from hartley.tables.view import prepare, run

if TYPE_CHECKING:
    from hartley.ranges.counting import CountedRange


def likelihood_gain(relation: CountedRange) -> Fraction:
    """Return how many times as likely as in the whole table a released value makes a secret.

    The largest p(x|y) / p(x). It is 1 exactly where every secret is as likely in each class as in
    the whole table, so that nothing follows from the release. Exact.

    Example:
        >>> from hartley import Relation
        >>> pairs = [("flu", "F"), ("flu", "F"), ("flu", "M"), ("hiv", "M")]
        >>> likelihood_gain(Relation.from_pairs(pairs))
        Fraction(2, 1)
    """
    summary = relation.summary
    count, total = summary.likely[2:4]
    return largest_ratio(count * summary.rows, total * summary.released_rows)


def pointwise_leakage(relation: CountedRange, *, base: float = 2) -> float:
    r"""Return how much likelier a released value makes the guess of some attribute at once.

    .. math:: \max_{x, y} \log_2 \frac{p(x|y)}{p(x)}

    The pointwise maximal leakage of the most telling released value (Saeidian et al. 2023). Never
    below the maximal leakage, which averages over the released values. Rounded to double
    precision, upwards.

    Example:
        >>> from hartley import Relation
        >>> pairs = [("flu", "F"), ("flu", "F"), ("flu", "M"), ("hiv", "M")]
        >>> pointwise_leakage(Relation.from_pairs(pairs))
        1.0
    """
    gain = likelihood_gain(relation)
    return log_ratio(gain.numerator, gain.denominator, base=base)


def guessing_success(relation: CountedRange) -> tuple[Fraction, Fraction]:
    r"""Return the share of people of whom one guess is right with the release, and without it.

    .. math:: \sum_y \max_x p(x, y), \qquad \max_x p(x)

    One row counts as one person, and the guess is the commonest secret. Exact.

    Example:
        >>> from hartley import Relation
        >>> pairs = [("flu", "F"), ("flu", "F"), ("flu", "M"), ("hiv", "M")]
        >>> guessing_success(Relation.from_pairs(pairs))
        (Fraction(3, 4), Fraction(3, 4))
    """
    summary = relation.summary
    guessed, rows = int(summary.likely[0].sum()), summary.rows
    return Fraction(guessed, rows), Fraction(int(summary.secret_rows.max()), rows)


def dependence(table: object, first: str, second: str) -> Fraction:
    r"""Return how well one column foretells another, missing being a value.

    .. math:: \lambda = \frac{\sum_a \max_b n_{ab} - \max_b n_b}{n - \max_b n_b}

    Goodman and Kruskal's lambda (1954): the share of the wrong guesses of the second column that
    the first one mends. 1 where the second follows from the first. Exact.

    Args:
        table: anything that ``open_table`` opens.
        first: the column that is known.
        second: the column that is guessed.

    Example:
        >>> people = {"school": ["a", "b", "b", "c"], "years": [9, 12, 12, 13]}
        >>> dependence(people, "school", "years"), dependence(people, "years", "school")
        (Fraction(1, 1), Fraction(1, 1))
    """
    view = prepare(open_table(table), [first, second], missing="value")
    data = run(view.table, view.expression.to_pyarrow)
    return goodman_kruskal(*(encode_column(data.column(at))[0] for at in ("c0", "c1")))
