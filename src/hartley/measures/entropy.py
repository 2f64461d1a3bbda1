"""Entropy of the secret, before and after the release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hartley.boxes.box import Box, Interval
from hartley.errors import OptionError
from hartley.exact import check_base, log_ratio, parse_number
from hartley.measures.guessing import attribute_codes
from hartley.ranges.counting import CountedRange, Pairs, sum_by
from hartley.ranges.distribution import exact_joint
from hartley.ranges.relation import Relation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hartley.boxes.box import IntervalUnion
    from hartley.measures.guessing import Attribute
    from hartley.ranges.distribution import JointDistribution
    from hartley.ranges.joint_range import JointFrequencies, JointRange


def hartley_entropy(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how uncertain the secret is before anything is released.

    .. math:: H_0(X) = \log_2 |[X]|

    The number of values that the secret can take (Hartley 1928; Farokhi 2019, eq. 1). The other
    side's entropy is that of ``relation.swap()``, the joint one that of ``relation.joint()``. Of a
    ``CutBox`` it is the logarithm of the box's volume. Exact. Constant time once the relation is
    counted.

    Example:
        >>> from hartley import Relation
        >>> hartley_entropy(Relation.from_pairs([(x, x % 2) for x in range(8)]))
        3.0
        >>> from hartley import Box, CutBox
        >>> hartley_entropy(CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, 0, 2]))
        4.0
    """
    return relation.secret_size.log_from_below(base)


def conditional_entropy(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how uncertain the secret is after the release, in the best case for privacy.

    .. math:: H_0(X|Y) = \max_y \log_2 |[X|y]|

    The released value that leaves most secrets possible (Farokhi 2019, eq. 2, with the maximum
    that discrete ranges need). Exact; of a ``CutBox`` exact where the volumes are, else a bound:
    never above the truth. Linear in the number of released values, and costs the volumes of cells.

    Example:
        >>> from hartley import Relation
        >>> conditional_entropy(Relation.from_pairs([(0, 0), (1, 0), (2, 1)]))
        1.0
        >>> from hartley import Box, CutBox
        >>> conditional_entropy(CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, 0, 2]))
        3.0
    """
    return relation.largest_conditional.log_from_below(base)


def relative_disarray(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how uncertain the secret is after the release, in the worst case for privacy.

    .. math:: d_0(X|Y) = \min_y \log_2 |[X|y]|

    The released value that leaves fewest secrets possible (Farokhi 2019, eq. 5). Zero means that
    some released value reveals the secret. For a ``CutBox`` it is minus infinity if some
    output leaves no volume. Exact; of a ``CutBox`` exact where the volumes are, else a bound: never
    above the truth. Linear in the number of released values, and costs the volumes of cells.

    Example:
        >>> from hartley import Relation
        >>> relative_disarray(Relation.from_pairs([(0, 0), (1, 0), (2, 1)]))
        0.0
        >>> from hartley import Box, CutBox
        >>> relative_disarray(CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, -1, 0, 1, 2]))
        1.0
    """
    return relation.smallest_conditional.log_from_below(base)


def covering_number(reached: Interval | IntervalUnion | Box, epsilon: object) -> int:
    r"""Return the fewest sets of diameter 2 epsilon whose union holds a range.

    .. math:: N_\varepsilon([X])

    Farokhi 2019, Remark II.1, in the largest difference of coordinates. Of intervals by covering
    from the left, of a box the product over its sides: points that are more than 2 epsilon apart
    need a set each. Exact. Linear in the number of intervals or sides.

    Example:
        >>> from hartley import Box, Interval
        >>> covering_number(Interval(0, 1), "0.3"), covering_number(Box.cube(0, 1, size=2), "0.3")
        (2, 4)
    """
    width = 2 * parse_number(epsilon, name="epsilon")
    if width <= 0:
        raise OptionError("The epsilon is not positive", hint="write for example '0.5'")
    if isinstance(reached, Box):
        lengths = (side.length for side in reached.sides.values())
        return math.prod(max(1, math.ceil(length / width)) for length in lengths)
    parts = (reached,) if isinstance(reached, Interval) else reached.parts
    number, covered = 0, None
    for part in parts:
        if covered is not None and part.high <= covered:
            continue  # closed sets hold their ends
        start = part.low if covered is None else max(part.low, covered)
        needed = max(1, math.ceil((part.high - start) / width))
        number, covered = number + needed, start + needed * width
    return number


def epsilon_entropy(
    reached: Interval | IntervalUnion | Box, epsilon: object, *, base: float = 2
) -> float:
    r"""Return the logarithm of how many sets of diameter 2 epsilon cover a range.

    .. math:: h_\varepsilon(X) = \log_2 N_\varepsilon([X]), \qquad
        h_0(X) \le h_\varepsilon(X) + n \log_2 (2 \varepsilon)

    Farokhi 2019, Remark II.1, corrected: only the upper inequality holds. The lower one, that h_0
    is at least h_eps + n log eps, fails for [0, 1] and epsilon = 2, where one set suffices and
    0 < log 2. Exact. Linear in the number of intervals or sides.

    Example:
        >>> from hartley import Box
        >>> epsilon_entropy(Box.cube(0, 1, size=2), "1/8")
        4.0
    """
    return log_ratio(covering_number(reached, epsilon), base=base)


# --- expected guesses: how many trials somebody needs who tries likely values first ---------------


@dataclass(frozen=True)
class ExpectedGuesses:
    """How many trials find a secret on average if likely values are tried first; exact."""

    without: Fraction
    """Trials of somebody who does not see the release."""
    with_release: Fraction
    """Trials of somebody who sees it, on average over the released values."""
    fewest: Fraction
    """Trials after the released value that leaves the fewest."""
    base: float = 2
    """Of the logarithm."""

    @property
    def saved(self) -> Fraction:
        """Trials that the release saves on average: H_G(U) - E[H_G(U|Y)]."""
        return self.without - self.with_release

    @property
    def leakage(self) -> float:
        """The logarithm of trials without the release over those with it."""
        ratio = self.without / self.with_release
        return log_ratio(ratio.numerator, ratio.denominator, base=self.base)


def expected_guesses(
    source: JointFrequencies | ArrayLike, attribute: Attribute | None = None, *, base: float = 2
) -> ExpectedGuesses:
    r"""Return how many trials find a secret on average, with the release and without.

    .. math:: H_G(U) = \sum_i i \, p_{(i)}, \qquad
        \mathrm{E}[H_G(U|Y)] = \sum_y p(y) \sum_i i \, p_{(i)}(u|y)

    The guessing entropy of Massey 1994, :math:`p_{(1)} \ge p_{(2)} \ge \dots`, and the brute-force
    guessing leakage H_G(U) - E[H_G(U|Y)] from which Farokhi and Ding 2021, Section III, take their
    worst case. Of n equally likely values it is (n + 1)/2. From a relation, the probabilities are
    the relative frequencies of its rows; other numbers are read as they are written, so that 0.1
    is one tenth. Exact, in rationals. Costs one sort of the distinct pairs.

    Args:
        source: a relation or another range that is counted, a ``JointDistribution``, or a matrix
            of joint probabilities, one row per secret.
        attribute: for a relation, what is guessed instead of the secret: a column of its side, a
            mapping from secrets or a function of them.
        base: of the logarithm of the ratio, ``leakage``.

    Example:
        >>> guesses = expected_guesses([["1/4", "1/4"], ["1/2", 0]])
        >>> guesses.without, guesses.with_release  # (1 + 2)/2; 3/4 (1/3 2 + 2/3 1) + 1/4 1
        (Fraction(3, 2), Fraction(5, 4))
        >>> guesses.saved, guesses.fewest
        (Fraction(1, 4), Fraction(1, 1))
    """
    check_base(base)
    given: object = source
    if isinstance(given, CountedRange):
        return _of_counts(_attributed(given, attribute), base)
    if attribute is not None:
        raise OptionError(
            "An attribute needs a relation, whose secrets have values",
            hint="add the rows of secrets of equal attribute, or pass a relation",
        )
    joint = exact_joint(cast("JointDistribution | ArrayLike", given))
    columns = [column for column in zip(*joint, strict=True) if any(column)]
    trials = [_trials(column) for column in columns]
    return ExpectedGuesses(
        without=_trials([sum(row, Fraction(0)) for row in joint]),
        with_release=sum(trials, Fraction(0)),
        fewest=min(t / sum(column) for t, column in zip(trials, columns, strict=True)),
        base=base,
    )


def _attributed(source: CountedRange, attribute: Attribute | None) -> Pairs:
    """Return the pairs of the attribute and the released side."""
    pairs = source.pairs()
    if attribute is None:
        return pairs
    if not isinstance(source, Relation):
        raise OptionError(
            "An attribute needs a relation, whose secrets have values",
            hint="leave the attribute out, or build a Relation from the table",
        )
    image = attribute_codes(source, attribute)
    sizes = (int(image.max()) + 1, pairs.sizes[1])
    return Pairs.gather(image[pairs.secret], pairs.released, pairs.counts, sizes)


def _of_counts(pairs: Pairs, base: float) -> ExpectedGuesses:
    """Rank the secrets of every released value at once, in exact integers."""
    totals = sum_by(pairs.secret, pairs.counts, pairs.sizes[0])
    rows = int(totals.sum())
    alone = _ranked(np.zeros(totals.size, np.int64), totals, 1)
    ranked = _ranked(pairs.released, pairs.counts, pairs.sizes[1])
    sizes = sum_by(pairs.released, pairs.counts, pairs.sizes[1])
    # Doubles find the candidates, and exact fractions decide among them.
    shares = ranked.astype(np.float64) / sizes
    near = np.flatnonzero(shares <= shares.min() * (1 + 1e-9))
    candidates = {(int(ranked[at]), int(sizes[at])) for at in near}
    return ExpectedGuesses(
        without=Fraction(int(alone[0]), rows),
        with_release=Fraction(sum(ranked.tolist()), rows),
        fewest=min(Fraction(*candidate) for candidate in candidates),
        base=base,
    )


def _ranked(groups: NDArray[np.int64], counts: NDArray[np.int64], how_many: int) -> NDArray[Any]:
    """Return for every group the sum of rank times count, the largest count having rank 1."""
    order = np.lexsort((-counts, groups))
    groups, counts = groups[order], counts[order]
    starts = np.searchsorted(groups, np.arange(how_many))
    ranks = np.arange(groups.size) - starts[groups] + 1
    # Beyond 2^62 machine integers could overflow; Python's do not.
    wide = int(counts.sum()) * int(ranks.max()) >= 2**62
    products = ranks.astype(object) * counts if wide else ranks * counts
    sums = np.zeros(how_many, products.dtype)
    np.add.at(sums, groups, products)
    return sums


def _trials(weights: list[Fraction] | tuple[Fraction, ...]) -> Fraction:
    ordered = sorted(weights, reverse=True)
    return sum((rank * weight for rank, weight in enumerate(ordered, 1)), Fraction(0))
