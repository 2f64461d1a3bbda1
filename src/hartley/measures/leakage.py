"""Leakage: how far a release narrows the secret."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.exact import check_base, in_base, log_ratio, parse_number
from hartley.ranges.distribution import as_guessed, check_size, exact_channel, to_frequencies
from hartley.ranges.joint_range import Size

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from hartley.ranges.counting import CountedRange
    from hartley.ranges.distribution import ExactRows
    from hartley.ranges.joint_range import GuessedSide, JointFrequencies, JointRange

    Floats = NDArray[np.float64]
    Balls = list[list[Any]]


def nonstochastic_information(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how far the least revealing released value narrows the secret.

    .. math:: I_0(X;Y) = H_0(X) - H_0(X|Y) = \min_y \log_2 \frac{|[X]|}{|[X|y]|}

    Farokhi 2019, eq. 3. It is a weak measure of privacy: one harmless released value makes it
    small however telling the others are. Exact; of a ``CutBox`` exact where the volumes are, else a
    bound: never below the truth. Linear in the number of released values, and costs the volumes of
    cells.

    Example:
        >>> from hartley import Relation
        >>> nonstochastic_information(Relation.from_pairs([(0, 0), (1, 0), (2, 1), (3, 1)]))
        1.0
        >>> from hartley import Box, CutBox
        >>> nonstochastic_information(CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, 0, 2]))
        1.0
    """
    return relation.largest_conditional.log_narrowing(relation.secret_size, base)


def nonstochastic_leakage(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how far the most revealing released value narrows the secret.

    .. math:: L_0(X;Y) = H_0(X) - d_0(X|Y) = \max_y \log_2 \frac{|[X]|}{|[X|y]|}

    Farokhi 2019, eq. 6. Infinite where some output of a ``CutBox`` leaves no volume. Exact; of a
    ``CutBox`` exact where the volumes are, else a bound: never below the truth. Linear in the
    number of released values, and costs the volumes of cells.

    Example:
        >>> from hartley import Relation
        >>> nonstochastic_leakage(Relation.from_pairs([(0, 0), (1, 0), (2, 0), (3, 1)]))
        2.0
        >>> from hartley import Box, CutBox
        >>> quarters = CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, -1, 0, 1, 2])
        >>> nonstochastic_leakage(quarters)
        3.0
    """
    return relation.smallest_conditional.log_narrowing(relation.secret_size, base)


def symmetric_leakage(relation: CountedRange, *, base: float = 2) -> float:
    r"""Return the smaller of the leakages in both directions.

    .. math:: L_0^s(X;Y) = \min(L_0(X;Y), L_0(Y;X))

    Farokhi 2019 (Noiseless Privacy), eq. 8; never below the maximin information (Proposition 1
    there). Exact. Linear in the sizes of both ranges.

    Example:
        >>> from hartley import Relation
        >>> symmetric_leakage(Relation.from_pairs([(x, x == 0) for x in range(8)]))
        1.0
    """
    summary = relation.summary
    forward = log_ratio(summary.secrets, int(summary.secret_sizes.min()), base=base)
    backward = log_ratio(summary.released, int(summary.released_sizes.min()), base=base)
    return min(forward, backward)


def information_transmission(relation: JointRange, *, base: float = 2) -> float:
    r"""Return how many of all pairs of values the joint range excludes.

    .. math:: T_0(X;Y) = H_0(X) + H_0(Y) - H_0(X,Y) = \log_2 \frac{|[X]|\,|[Y]|}{|[X,Y]|}

    Farokhi 2019, eq. 8, after Klir. Symmetric, and zero exactly for unrelated sides. Sizes are
    counted, as finite ranges need; with volumes it is undefined where one side is discrete.
    Exact. Constant time once the relation is counted.

    Example:
        >>> from hartley import Relation
        >>> information_transmission(Relation.from_pairs([(0, 0), (1, 1)]))
        1.0
    """
    ratio = relation.secret_size.high * relation.released_count / relation.pair_size.low
    return log_ratio(ratio.numerator, ratio.denominator, base=base)


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


def maximin_information(relation: JointRange, *, base: float = 2) -> float:
    r"""Return the information that both sides can always agree on.

    .. math:: I_\star(X;Y) = \log_2 |[X|Y]_\star|

    The number of classes of the overlap partition (Nair 2013; Farokhi 2019, eq. 9). It is the
    largest attribute of the secret that the released value always gives away at the first guess
    (Farokhi and Ding 2021, Proposition 6). Symmetric. The cells of a ``CutBox`` are disjoint, so
    each of its outputs is a class. Exact; a bound never below the truth where it is undecided
    whether the query of a ``CutBox`` reaches a cell. Near-linear in the number of distinct pairs.

    Example:
        >>> from hartley import Relation
        >>> maximin_information(Relation.from_pairs([(1, "a"), (2, "a"), (3, "b")]))
        1.0
        >>> from hartley import Box, CutBox
        >>> maximin_information(CutBox(Box.cube(-2, 2, size=2), "(x1 + x2) / 2", [-2, -1, 0, 1, 2]))
        2.0
    """
    return log_ratio(relation.overlap_classes, base=base)


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
    return in_base(to_frequencies(source).shared_bits(), base)


# --- maximal alpha-leakage: orders from the capacity of a release to its maximal leakage ----------

PRECISION = 256
"""Bits in which both sides are computed, rounded outward."""
LAW_GRID = 1 << 52
"""Probabilities of the laws are multiples of one over about this."""
POLISHING, CLOSE = 300, 1e-13
"""Steps of the alternating iteration after the solver, and a gap in nats that ends it."""
LARGEST_ORDER = 1_000_000
"""Beyond, the maximal leakage itself says as much."""
NEAR_ONE = 1.00001
"""Orders below this start from the law that reaches the capacity."""
USABLE = {"Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations"}
"""How the solver may end so that its law is a start; how good it is, both sides say."""


@dataclass(frozen=True)
class AlphaLeakage:
    """The maximal alpha-leakage of a channel, between two numbers that are both proved."""

    order: float
    lower: float
    """What the law of ``secrets`` gives."""
    upper: float
    """What no law exceeds, by the law of ``outputs``."""
    secrets: tuple[Fraction, ...]
    """A law of the secrets that occur; empty at order infinity, where a closed form needs none."""
    outputs: tuple[Fraction, ...]
    """A law of the released values, likewise."""
    base: float = 2
    """Of the logarithms."""

    @property
    def gap(self) -> float:
        """How far both sides lie apart."""
        return self.upper - self.lower


def maximal_alpha_leakage(
    source: GuessedSide | ArrayLike, order: float, *, base: float = 2
) -> AlphaLeakage:
    r"""Return how much the release tells at most, over all laws of the secret, at an order.

    .. math:: \sup_p I_\alpha(p, P) = \sup_p \tfrac{\alpha}{\alpha - 1} \log_2 \sum_y
        \Big(\sum_x p(x) P(y|x)^\alpha\Big)^{1/\alpha}
        = \min_q \max_x D_\alpha\big(P(\cdot|x) \,\|\, q\big)

    Liao, Kosut, Sankar and Calmon 2019, which Farokhi and Ding 2021, Section VII, ask about. The
    mutual information is that of Sibson; its supremum is that of Arimoto's. At order 1 it is the
    capacity of Shannon 1948, at infinity ``maximal_leakage``; in between it never decreases.
    A bound on either side: a law p of the secrets proves the lower one, and a law q of the
    released values the upper one by Rényi divergences (Csiszár 1995), both computed in rationals
    and balls that contain the truth, whatever the solver says. They mostly lie within 1e-6 of each
    other. The rows of a relation give the probabilities P(y|x). Grows like a conic programme with
    one cone for each released value; milliseconds for a 10 x 10 channel.

    Args:
        source: a relation or another range that is counted, a ``JointDistribution``, or a channel:
            a matrix with one row of probabilities per secret.
        order: alpha, from 1 on; ``math.inf`` for the maximal leakage.
        base: of the logarithms.

    Example:
        >>> leakage = maximal_alpha_leakage([[0.9, 0.1], [0.1, 0.9]], 2)
        >>> round(leakage.lower, 6), round(leakage.upper, 6)  # 1 + log2(0.9^2 + 0.1^2)
        (0.713696, 0.713696)
        >>> round(maximal_alpha_leakage([[0.9, 0.1], [0.1, 0.9]], 1).lower, 6)
        0.531004
    """
    check_base(base)
    exact_order = _read_order(order)
    rows = exact_channel(source)
    check_size(len(rows), len(rows[0]))
    peaks = sum((max(column) for column in zip(*rows, strict=True)), Fraction(0))
    low, high = Size.of(peaks).log(base)
    if exact_order is None:
        return AlphaLeakage(math.inf, low, high, (), (), base)
    columns = [at for at, column in enumerate(zip(*rows, strict=True)) if any(column)]
    # Of secrets that release alike one is enough, and what is never released says nothing.
    first = {tuple(row[at] for at in columns): place for place, row in reversed([*enumerate(rows)])}
    channel = tuple(first)
    doubles = np.array(channel, dtype=np.float64)
    law = _best_law(doubles, float(exact_order))
    secrets, outputs = (
        _on_grid(weights) for weights in (law, _output_law(doubles, law, float(exact_order)))
    )
    lower, upper = _proved(channel, exact_order, secrets, outputs, base)
    return AlphaLeakage(
        float(exact_order),
        lower,
        min(upper, high),  # no order exceeds infinity
        _placed(secrets, list(first.values()), len(rows)),
        _placed(outputs, columns, len(rows[0])),
        base,
    )


def _read_order(order: float) -> Fraction | None:
    """Return the order as the rational that was written; None for infinity."""
    if isinstance(order, float) and order == math.inf:
        return None
    exact = parse_number(order, name="the order")
    if not 1 <= exact <= LARGEST_ORDER:
        raise OptionError(
            f"The order {order} is not between 1 and {LARGEST_ORDER:,}",
            hint="take 1 for the capacity and math.inf for the maximal leakage",
        )
    return exact


# --- two laws, in doubles ---------------------------------------------------------------------


def _best_law(channel: Floats, order: float) -> Floats:
    """Return a law of the secrets that is close to the best one."""
    started = _solve(channel, 1.0 if order < NEAR_ONE else order)
    law = np.full(len(channel), 1 / len(channel)) if started is None else started
    best, smallest = law, math.inf
    for _ in range(POLISHING):
        outputs = _output_law(channel, law, order)
        divergences = _divergences(channel, outputs, order)
        gap = float(divergences.max() - law @ divergences)
        if gap < smallest:
            best, smallest = law, gap
        if gap < CLOSE:
            break
        # Arimoto 1977: never a step down; at order 1 the algorithm of Blahut and Arimoto.
        law = law * np.exp(np.maximum(order * (divergences - divergences.max()), -500.0))
        law /= law.sum()
    return best


def _output_law(channel: Floats, law: Floats, order: float) -> Floats:
    """Return the law q of the released values that belongs to a law of the secrets."""
    with np.errstate(divide="ignore"):
        logarithms = np.log(law)[:, None] + order * np.log(channel)
    peaks = logarithms.max(axis=0)
    weights = peaks + np.log(np.exp(logarithms - peaks).sum(axis=0))
    weights = np.exp((weights - weights.max()) / order)
    return np.asarray(weights / weights.sum())


def _divergences(channel: Floats, outputs: Floats, order: float) -> Floats:
    """Return the Rényi divergence of every row from a law of the released values, in nats."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(channel > 0, np.log(channel) - np.log(outputs), 0.0)
    if order == 1:
        return np.asarray((channel * ratios).sum(axis=1))
    if order < 2:  # close to one the sum is close to one: its excess is added up instead
        excess = (channel * np.expm1((order - 1) * ratios)).sum(axis=1)
        return np.asarray(np.log1p(excess) / (order - 1))
    with np.errstate(divide="ignore"):
        exponents = np.log(channel) + (order - 1) * ratios
    peaks = exponents.max(axis=1, keepdims=True)
    sums = np.exp(exponents - peaks).sum(axis=1)
    return np.asarray((peaks[:, 0] + np.log(sums)) / (order - 1))


def _solve(channel: Floats, order: float) -> Floats | None:
    """Return the law of the secrets that a conic solver proposes; None where it gave up.

    At order 1, t_y <= q_y log 1/q_y with q = p P, by exponential cones. Else t_y <= s_y^(1/order)
    with s_y = sum_x p(x) P(y|x)^order, by power cones, every P(y|x) over the largest one of y.
    """
    import clarabel
    from scipy.sparse import csc_array

    secrets, outputs = channel.shape
    peaks = channel.max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropies = np.where(channel > 0, channel * np.log(channel), 0.0).sum(axis=1)
    inner = channel if order == 1 else (channel / peaks) ** order
    goal = np.concatenate(
        (-entropies, -np.ones(outputs)) if order == 1 else (np.zeros(secrets), -peaks)
    )
    matrix = np.zeros((1 + secrets + 3 * outputs, secrets + outputs))
    constant = np.zeros(len(matrix))
    matrix[0, :secrets] = constant[0] = 1
    matrix[1 : 1 + secrets, :secrets] = -np.eye(secrets)
    # Rows of a cone: (t, q, 1) at order 1, else (s, 1, t).
    t, inside, unit = (0, 1, 2) if order == 1 else (2, 0, 1)
    at = 1 + secrets + 3 * np.arange(outputs)
    matrix[at + inside, :secrets] = -inner.T
    matrix[at + t, secrets + np.arange(outputs)] = -1
    constant[at + unit] = 1
    cone = clarabel.ExponentialConeT() if order == 1 else clarabel.PowerConeT(1 / order)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-11)
    solution = clarabel.DefaultSolver(
        csc_array((goal.size, goal.size)),
        goal,
        csc_array(matrix),
        constant,
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(secrets), *[cone] * outputs],
        settings,
    ).solve()
    law = np.maximum(np.asarray(solution.x)[:secrets], 1e-15)
    if str(solution.status) not in USABLE or not np.isfinite(law).all():
        return None
    return np.asarray(law / law.sum())


# --- both sides, proved -----------------------------------------------------------------------


def _proved(
    channel: ExactRows,
    order: Fraction,
    secrets: tuple[Fraction, ...],
    outputs: tuple[Fraction, ...],
    base: float,
) -> tuple[float, float]:
    """Return the information of a law from below, and the largest divergence from above."""
    import flint  # on use: few commands need it

    with flint.ctx.workprec(PRECISION):
        ball = _ball(flint)
        alpha, unit = ball(order), ball(Fraction(base)).log()
        rows = [[ball(entry) if entry else None for entry in row] for row in channel]
        laws = [ball(weight) for weight in secrets], [ball(weight) for weight in outputs]
        if order == 1:
            lower, uppers = _shannon(rows, *laws)
        else:
            lower, uppers = _renyi(rows, *laws, alpha)
        low = float((lower / unit).lower())
        highs = [float((upper / unit).upper()) for upper in uppers]
    low = max(math.nextafter(low, -math.inf), 0.0) if math.isfinite(low) else 0.0
    high = max(highs) if all(map(math.isfinite, highs)) else math.inf
    return low, max(math.nextafter(high, math.inf), 0.0)


def _ball(flint: Any) -> Callable[[Fraction], Any]:  # noqa: ANN401 - a module
    return lambda number: flint.arb(flint.fmpq(number.numerator, number.denominator))


def _shannon(rows: Balls, secrets: list[Any], outputs: list[Any]) -> tuple[Any, list[Any]]:
    mixed = [
        sum(weight * entry for weight, entry in zip(secrets, column, strict=True) if entry)
        for column in zip(*rows, strict=True)
    ]

    def divergence(row: list[Any], law: list[Any]) -> Any:  # noqa: ANN401 - a ball
        return sum(entry * (entry / at).log() for entry, at in zip(row, law, strict=True) if entry)

    lower = sum(weight * divergence(row, mixed) for weight, row in zip(secrets, rows, strict=True))
    return lower, [divergence(row, outputs) for row in rows]


def _renyi(
    rows: Balls,
    secrets: list[Any],
    outputs: list[Any],
    alpha: Any,  # noqa: ANN401 - a ball
) -> tuple[Any, list[Any]]:
    powers = [[entry if entry is None else entry**alpha for entry in row] for row in rows]
    sums = [
        sum(weight * entry for weight, entry in zip(secrets, column, strict=True) if entry)
        for column in zip(*powers, strict=True)
    ]
    lower = alpha / (alpha - 1) * sum(total ** (1 / alpha) for total in sums).log()
    tilted = [at ** (1 - alpha) for at in outputs]
    uppers = [
        sum(entry * at for entry, at in zip(row, tilted, strict=True) if entry).log() / (alpha - 1)
        for row in powers
    ]
    return lower, uppers


def _on_grid(weights: Floats) -> tuple[Fraction, ...]:
    """Return a law in rationals: every weight is positive, and they add up to 1."""
    whole = [max(round(float(weight) * LAW_GRID), 1) for weight in weights]
    total = sum(whole)
    return tuple(Fraction(number, total) for number in whole)


def _placed(law: tuple[Fraction, ...], places: list[int], size: int) -> tuple[Fraction, ...]:
    """Return a law of all values, given the places of those that it is about."""
    everywhere = [Fraction(0)] * size
    for place, weight in zip(places, law, strict=True):
        everywhere[place] = weight
    return tuple(everywhere)
