"""The privacy-distortion problem: its numbers, the cost of a rule and certified lower bounds.

Arrays may be NumPy's or those of another library (PyTorch, CuPy, JAX): everything here uses the
functions that all of them share, so that a problem on a GPU stays there.
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from hartley.errors import ColumnError, OptionError
from hartley.ranges.distribution import JointDistribution

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


# --- input ----------------------------------------------------------------------------------------
# Read what a privacy-distortion problem is made of: a joint distribution and a distortion.

NAMED = ("squared", "absolute", "zero_one")
MOST_VALUES = 4000
"""So many key values at most when a distortion is worked out pair by pair."""
TINY, HUGE = 1e-290, 1e150
"""Distances beyond these would be lost in products."""


def read_joint(joint: JointDistribution | ArrayLike) -> JointDistribution:
    """Check p(w,x), a row a confidential value and a column a key value; return it summing to 1."""
    checked = joint if isinstance(joint, JointDistribution) else JointDistribution.of(joint)
    matrix = checked.matrix
    for axis, side, name in ((1, "row", "confidential"), (0, "column", "key")):
        never = np.flatnonzero(matrix.sum(axis=axis) <= 0)
        if never.size:
            raise OptionError(
                f"The {side} {never[0]} of the joint distribution is zero, "
                f"so that {name} value never occurs",
                hint=f"leave the {side} out",
            )
    for size, side, reason in (
        (matrix.shape[0], "confidential", "there is nothing to tell about it"),
        (matrix.shape[1], "key", "there is nothing to perturb"),
    ):
        if size < 2:
            raise OptionError(
                f"The {side} side has one value only, so {reason}",
                hint="choose columns with several values",
            )
    return JointDistribution(matrix / matrix.sum())


def as_number(value: object) -> float:
    """Return a number as a double, and NaN for anything else."""
    try:
        return math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_values(
    values: Sequence[Any] | None, size: int, side: str = "key", line: str = "column"
) -> tuple[Any, ...]:
    """Return the values of a side, 0, 1, 2, ... if none are given."""
    try:
        listed = tuple(range(size) if values is None else values)
    except TypeError:
        listed = ()
    if len(listed) != size:
        raise OptionError(
            f"There are {len(listed)} {side} values for {size} {line}s of the joint distribution",
            hint=f"give one value per {line}",
        )
    if len(set(map(repr, listed))) < size:
        raise OptionError(
            f"A {side} value is named twice", hint=f"add up the {line}s of equal values"
        )
    return listed


def gaussian_joint(rho: float, points: int, reach: float) -> tuple[JointDistribution, Floats]:
    """Return a standard bivariate Gaussian density on a grid, and the grid."""
    rho, reach = as_number(rho), as_number(reach)
    if not -1 < rho < 1:
        raise OptionError(
            f"The correlation {rho} is not between -1 and 1", hint="write for example rho=0.95"
        )
    if not (isinstance(points, (int, np.integer)) and 2 <= points <= 20_000):
        raise OptionError(
            f"A grid cannot have {points} points",
            hint="give from 2 to 20,000 points, for example 31",
        )
    if not 0 < reach < 30:
        raise OptionError(
            f"The grid cannot reach to {reach}", hint="give standard deviations, for example 3"
        )
    grid = np.linspace(-reach, reach, points)
    w, x = grid[:, None], grid[None, :]
    density = np.exp(-(w * w - 2 * rho * w * x + x * x) / (2 * (1 - rho * rho)))
    return read_joint(density / density.sum()), grid


def read_distortion(
    distortion: object, values: Sequence[Any], names: Sequence[str] = ()
) -> tuple[Floats, Floats | None]:
    """Return d(x,c), and the key values as increasing numbers where a named distance used them."""
    if isinstance(distortion, str):
        return _named(distortion, values, names)
    if isinstance(distortion, Mapping):
        return _checked(_hierarchy(distortion, values), len(values)), None
    if callable(distortion):
        _refuse_many(values)
        pairs = [[distortion(key, released) for released in values] for key in values]
        return _checked(pairs, len(values)), None
    return _checked(distortion, len(values)), None


def looks_at_secret(distortion: object) -> bool:
    """Return whether a distortion has three arguments: a confidential, a key and a released value.

    Example:
        >>> looks_at_secret(np.zeros((2, 3, 3))), looks_at_secret(lambda w, x, c: abs(x - c))
        (True, True)
        >>> looks_at_secret("squared"), looks_at_secret(lambda x, c: abs(x - c))
        (False, False)
    """
    if callable(distortion):
        return _takes(distortion, 3) and not _takes(distortion, 2)
    if isinstance(distortion, (str, Mapping)):
        return False
    try:
        return np.ndim(distortion) == 3  # type: ignore[arg-type]  # anything else has other depths
    except ValueError:  # rows of unequal length: refused as a matrix
        return False


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Return whether a function can be called with so many values."""
    try:
        inspect.signature(function).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def read_secret_distortion(
    distortion: object, secrets: Sequence[Any], values: Sequence[Any], occurs: NDArray[np.bool_]
) -> Floats:
    """Return d(w,x,c), an axis for each, of an array or a function."""
    if not callable(distortion):
        return _checked(distortion, len(values), len(secrets))
    if int(occurs.sum()) * len(values) > MOST_VALUES**2:
        raise OptionError(
            f"A distortion of {int(occurs.sum()):,} pairs and {len(values):,} released values, one "
            "by one, would take too long",
            hint="give an array, or coarser values",
        )
    filled: list[list[list[Any]]] = [[[0.0] * len(values) for _ in values] for _ in secrets]
    for row, column in zip(*(side.tolist() for side in np.nonzero(occurs)), strict=True):
        pair = secrets[row], values[column]
        filled[row][column] = [distortion(*pair, other) for other in values]
    return _checked(filled, len(values), len(secrets))


def _checked(matrix: object, keys: int, secrets: int | None = None) -> Floats:
    """Return d(x,c), or d(w,x,c) where there are confidential values, as numbers of 0 or more."""
    try:
        checked = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        checked = np.empty(0)
    if checked.ndim != (2 if secrets is None else 3) or checked.shape[-1] == 0:
        raise OptionError(
            f"The distortion is not {'a matrix' if secrets is None else 'an array'} of numbers",
            hint=f"give a matrix, a function, a hierarchy or one of {', '.join(NAMED)}",
        )
    if secrets is not None and checked.shape[0] != secrets:
        raise OptionError(
            f"The distortion has {checked.shape[0]} matrices for {secrets} confidential values",
            hint="give one matrix per confidential value: its rows are key values",
        )
    if checked.shape[-2] != keys:
        raise OptionError(
            f"The distortion has {checked.shape[-2]} rows for {keys} key values",
            hint="give one row per key value and one column per released value",
        )
    if not np.isfinite(checked).all() or checked.min() < 0:
        raise OptionError(
            "The distortion contains an entry that is negative or not a number",
            hint="give a number of 0 or more in every entry",
        )
    if checked.max() > HUGE or 0 < checked.max() < TINY:
        raise OptionError(
            "The distortion is too small or too large to compute with",
            hint="give it in another unit",
        )
    return checked


def _named(name: str, values: Sequence[Any], names: Sequence[str]) -> tuple[Floats, Floats | None]:
    if name not in NAMED:
        raise OptionError(
            f"There is no distortion called {name}", hint=f"choose from {', '.join(NAMED)}"
        )
    if name == "zero_one":
        return 1.0 - np.eye(len(values)), None
    columns = numeric_columns(values, name, names)
    total = np.zeros((len(values), len(values)))
    with np.errstate(over="ignore", under="ignore"):
        for column in columns:
            apart = column[:, None] - column[None, :]
            total += apart * apart if name == "squared" else np.abs(apart)
    # Key values between which doubles see no distance, or one beyond all bounds.
    distances = total[~np.eye(len(total), dtype=bool)]
    if distances.size and not (distances.min() > TINY and distances.max() < HUGE):
        raise OptionError(
            f"The {name} distortion of the key is too small or too large to compute with",
            hint="shift and scale the key, or use zero_one",
        )
    only = columns[0] if len(columns) == 1 else None
    ordered = only is not None and bool((np.diff(only) > 0).all())
    return _checked(total, len(values)), only if ordered else None


def numeric_columns(values: Sequence[Any], name: str, names: Sequence[str] = ()) -> list[Floats]:
    """Return the columns of the key values as numbers, for a distortion that needs them."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    columns: list[Floats] = []
    for place, column in enumerate(zip(*rows, strict=True)):
        try:
            if any(isinstance(entry, (str, bool)) for entry in column):
                raise TypeError  # noqa: TRY301 - one place turns everything bad into one sentence
            numbers = np.array([float(entry) for entry in column])
            if not np.isfinite(numbers).all():
                raise TypeError  # noqa: TRY301 - likewise
        except (TypeError, ValueError):
            title = f"Column '{names[place]}'" if place < len(names) else "The key"
            raise ColumnError(
                f"{title} contains something that is not a number, but the {name} distortion "
                "needs numbers",
                hint="use zero_one, a hierarchy or a function; for missing values, leave out "
                "their rows (--missing drop)",
            ) from None
        columns.append(numbers)
    return columns


def _hierarchy(paths: Mapping[Any, Any], values: Sequence[Any]) -> list[list[float]]:
    """Return how many levels two values must rise until they meet."""
    _refuse_many(values)
    lines: list[tuple[Any, ...]] = []
    for place, value in enumerate(values):
        if value not in paths:
            raise OptionError(
                f"The hierarchy lacks key value number {place}",
                hint="give every key value its path, from the narrowest group to the widest",
            )
        path = paths[value]
        several = isinstance(path, Sequence) and not isinstance(path, str)
        lines.append((value, *(path if several else (path,))))
    if len({len(line) for line in lines}) > 1:
        raise OptionError(
            "The paths of the hierarchy differ in length",
            hint="give every key value the same number of levels, repeating one where needed",
        )

    def levels(*pair: tuple[Any, ...]) -> float:
        equal = (level for level, both in enumerate(zip(*pair, strict=True)) if both[0] == both[1])
        return float(next(equal, len(pair[0])))

    return [[levels(first, second) for second in lines] for first in lines]


def _refuse_many(values: Sequence[Any]) -> None:
    if len(values) > MOST_VALUES:
        raise OptionError(
            f"A distortion pair by pair for {len(values):,} key values would take too long",
            hint="give a matrix or a named distortion, or coarser key values",
        )


def check_tolerance(tolerance: object) -> None:
    """Refuse a tolerance that is no share."""
    if not 0 < as_number(tolerance) < 1:
        raise OptionError(
            f"The tolerance {tolerance} is not between 0 and 1", hint="write tolerance=1e-6"
        )


def check_wish(wish: object, name: str, low: float, high: float, unit: str) -> float:
    """Return a wished distortion or risk, refusing what no rule reaches.

    A distortion above what any rule has limits nothing. A risk above that is refused all the same:
    whoever writes it means to be protected, and nothing would be.
    """
    number = as_number(wish)
    slack = 1e-9 * (high - low) if math.isfinite(high) else 0.0
    bounded = name == "risk" and math.isfinite(high)
    if not number >= low - slack or (bounded and number > high + slack):
        raise OptionError(
            f"No perturbation reaches a {name} of {wish}{unit}",
            hint=f"choose between {low:.6g} and {high:.6g}{unit}"
            if bounded
            else f"choose {low:.6g}{unit} or more",
        )
    return min(max(number, low), high)


def covariance(
    joint: Floats, secrets: Sequence[Any], keys: Sequence[Any]
) -> tuple[float, float] | None:
    """Return the correlation of two numeric columns and the variance of the key."""
    try:
        w, x = (np.array([float(value) for value in side]) for side in (secrets, keys))
    except (TypeError, ValueError):
        return None
    w, x = w - joint.sum(axis=1) @ w, x - joint.sum(axis=0) @ x
    variances = joint.sum(axis=1) @ w**2, joint.sum(axis=0) @ x**2
    if min(variances) <= 0:
        return None
    correlation = float(w @ joint @ x / math.sqrt(variances[0] * variances[1]))
    return (correlation, float(variances[1])) if abs(correlation) < 1 else None


def sorted_places(values: Sequence[Any]) -> list[int]:
    """Return the order of values that compare, else their own."""
    try:
        return sorted(range(len(values)), key=lambda place: values[place])
    except TypeError:
        return list(range(len(values)))


# --- problem --------------------------------------------------------------------------------------


Array: TypeAlias = Any
"""An array of NumPy or of another library that offers the same functions."""


def namespace(array: Array) -> Any:  # noqa: ANN401 - a module of arrays
    """Return the module whose functions take an array: NumPy, PyTorch, CuPy, JAX."""
    if isinstance(array, np.ndarray):
        return np
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return importlib.import_module(type(array).__module__.partition(".")[0])


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Minimise distortion plus lambda times what the release tells, in nats.

    .. math:: \min_P \; \sum_{x,c} p(x) P(c|x) d(x,c) + \lambda I(W;C), \qquad W - X - C

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, eq. (3). With r(x,c) = p(x) P(c|x) the cost is
    convex and homogeneous of degree one in r, so that cost = sum of r times its gradient.
    """

    given: Array
    """p(w|x), a row a key value x, a column a confidential value w."""
    key: Array
    """p(x)."""
    secret: Array
    """p(w)."""
    distortion: Array
    """d(x,c), a row a key value, a column a released value c."""
    weight: float
    """Lambda, per nat."""

    @classmethod
    def of(cls, joint: Array, distortion: Array, weight: float) -> Problem:
        """Return the problem of a joint distribution, one row a confidential value."""
        xp = namespace(joint)
        key = xp.sum(joint, axis=0)
        return cls((joint / key).T, key, xp.sum(joint, axis=1), distortion, weight)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of key values, of confidential values and of released values."""
        return self.given.shape[0], self.given.shape[1], self.distortion.shape[1]

    def weighing(self, weight: float) -> Problem:
        """Return the same problem for another lambda."""
        return replace(self, weight=weight)

    def scores(self, mass: Array) -> tuple[Array, Array, Array]:
        """Return ln(p(w|c)/p(w)) of r(x,c), with p(w,c) and p(c)."""
        xp = namespace(mass)
        joint = self.given.T @ mass
        total = xp.sum(mass, axis=0)
        return xp.log(joint / self.secret[:, None]) - xp.log(total), joint, total


@dataclass(frozen=True)
class Value:
    """What a rule costs, in the user's unit of distortion and in nats."""

    distortion: float
    risk: float
    cost: float
    margin: float
    """What rounding can have hidden, at most: the true cost is below cost + margin."""


def evaluate(problem: Problem, rule: Array) -> Value:
    r"""Return the distortion and the risk of a rule p(c|x), whose rows add up to one.

    .. math:: D = \sum_{x,c} p(x) P(c|x) d(x,c), \qquad
              R = \sum_{w,c} p(w,c) \ln\frac{p(w,c)}{p(w)\,p(c)}

    The margin is the first-order bound of the rounding error of every sum, product and logarithm,
    doubled.
    """
    xp = namespace(rule)
    mass = rule * problem.key[:, None]
    joint = problem.given.T @ mass
    logs = _log_ratios(problem, joint)
    distortion = float(xp.sum(mass * problem.distortion))
    risk = max(float(xp.sum(joint * logs)), 0.0)
    # A term u ln(u/(p m)) errs by a few units of |u| (3 + |ln|): the logarithm is of a quotient
    # that is off by three roundings itself, and the product rounds once more. Sums add one a term.
    spread = float(xp.sum(joint * (3 + xp.abs(logs))))
    epsilon = float(xp.finfo(rule.dtype).eps)
    margin = epsilon * (sum(problem.sizes) + 16) * (distortion + problem.weight * spread)
    return Value(distortion, risk, distortion + problem.weight * risk, margin)


def risk_of(problem: Problem, joint: Array) -> float:
    """Return I(W;C) in nats of joint masses p(w,c)."""
    return max(float(namespace(joint).sum(joint * _log_ratios(problem, joint))), 0.0)


def riskless_bound(problem: Problem, prices: Array) -> float:
    r"""Return a distortion that no rule without any risk is below; it holds for any prices.

    .. math:: D \ge \sum_x p(x) \min_c \Big[ d(x,c) + \sum_w (p(w|x) - p(w))\, \eta_w(c) \Big]

    Where p(w,c) = p(w) p(c), the prices add nothing on average: the dual of a linear programme.
    Rounded downward as ``lower_bound`` is.
    """
    xp = namespace(prices)
    means = problem.secret @ prices
    values = problem.distortion + problem.given @ prices - means
    sizes = problem.given @ xp.abs(prices) + problem.secret @ xp.abs(prices)
    epsilon = float(xp.finfo(prices.dtype).eps) * (2 * sum(problem.sizes) + 8)
    # Outward: the error of every entry is taken off before the minimum, since the entry that is
    # least after rounding need not be the one that is least in truth.
    least = xp.amin(values - epsilon * (sizes + problem.distortion), axis=1)
    spread = float(xp.sum(problem.key * xp.abs(least)))
    return float(xp.sum(problem.key * least)) - epsilon * spread


def _log_ratios(problem: Problem, joint: Array) -> Array:
    """Return ln(p(w,c) / (p(w) p(c))), zero where the pair never occurs."""
    xp = namespace(joint)
    occurs, ones = joint > 0, xp.ones_like(joint)
    total = xp.where(occurs, ones * xp.sum(joint, axis=0), ones)
    # One after the other, since the product of two rare ones can be zero.
    return xp.log(xp.where(occurs, joint / problem.secret[:, None], ones) / total)


def slack_values(problem: Problem, scores: Array) -> tuple[Array, Array]:
    """Return d + lambda (sum_w p(w|x) y(w,c) - ln sum_w p(w) e^y(w,c)), and its rounding error."""
    xp = namespace(scores)
    keys, secrets, _ = problem.sizes
    # The largest score is taken out, so that no exponential overflows and the largest is one: then
    # the sum is at least p(w) of that score, and its logarithm loses no digits.
    top = xp.amax(scores, axis=0)
    parts = problem.secret[:, None] * xp.exp(scores - top)
    total = xp.sum(parts, axis=0)
    norm = top + xp.log(total)
    values = problem.distortion + problem.weight * (problem.given @ scores - norm)
    epsilon = float(xp.finfo(scores.dtype).eps)
    sizes = problem.given @ xp.abs(scores)
    # An error e of y - top turns e^(y - top) by the factor 1 + e: in the logarithm of the sum it
    # counts with the share of that term.
    shares = xp.sum(parts * (top - scores), axis=0) / total
    # Each exp and log may be off by 4 units in the last place.
    norm_error = keys + secrets + 16 + shares + 2 * xp.abs(top) + xp.abs(norm)
    error = (2 * secrets + 8) * sizes + norm_error + 4 * xp.abs(norm)
    return values, epsilon * (problem.weight * error + 4 * problem.distortion)


def lower_bound(problem: Problem, scores: Array) -> float:
    r"""Return a number that no rule's cost is below; it holds for any scores.

    .. math:: C^\star \ge \sum_x p(x) \min_c \Big[ d(x,c)
              + \lambda \sum_w p(w|x)\, y_w(c) - \lambda \ln \sum_w p(w) e^{y_w(c)} \Big]

    The Lagrange dual of the problem: y = ln s for any s >= 0, divided by its mean so that
    sum_w p(w) s_w(c) = 1. Holds for any finite y, of live and of dead released values alike. In
    floating point the error bound of every entry (first order, doubled) is subtracted before the
    minimum, and that of the outer sum after it, so that rounding never lifts the bound above the
    truth. Two products of matrices.
    """
    xp = namespace(scores)
    values, error = slack_values(problem, scores)
    least = xp.amin(values - error, axis=1)
    bound = float(xp.sum(problem.key * least))
    spread = float(xp.sum(problem.key * xp.abs(least)))
    epsilon = float(xp.finfo(scores.dtype).eps)
    return (
        bound - epsilon * (sum(problem.sizes) + 8) * spread if math.isfinite(bound) else -math.inf
    )


@dataclass
class Incumbent:
    """The best rule and the best scores of a method so far, each with its proof."""

    scores: Array
    rule: Array = None
    cost: float = math.inf
    """No less than the true cost of the rule."""
    bound: float = -math.inf
    """No more than the least cost of all."""
    steps: int = 0

    @property
    def gap(self) -> float:
        """The certified distance from the optimum."""
        return self.cost - self.bound

    def absorb(self, other: Incumbent) -> None:
        """Take over the rule and the scores of another run where they are better."""
        if self.rule is None or other.cost < self.cost:
            self.rule, self.cost = other.rule, other.cost
        if other.bound > self.bound:
            self.scores, self.bound = other.scores, other.bound
        self.steps += other.steps

    def try_rule(self, problem: Problem, rule: Array) -> None:
        """Keep a rule if it costs less."""
        value = evaluate(problem, rule)
        if self.rule is None or value.cost + value.margin < self.cost:
            self.rule, self.cost = rule, value.cost + value.margin

    def try_scores(self, problem: Problem, value: Array, candidates: tuple[Array, ...]) -> None:
        """Keep scores if they prove more: a released value at a time, then all together.

        Of each column those are taken whose least slack above the multipliers v(x) is largest,
        the scores kept so far among them.
        """
        xp = namespace(value)
        best, proved = self.scores, None
        for scores in (self.scores, *candidates):
            least = xp.amin(slack_values(problem, scores)[0] - value[:, None], axis=0)
            least = xp.where(xp.isfinite(least), least, xp.zeros_like(least) - math.inf)
            if proved is None:
                proved = least
                continue
            better = least > proved
            best, proved = xp.where(better, scores, best), xp.where(better, least, proved)
        # The columns were chosen by numbers that were not rounded outward; the bound is, and it
        # holds for any scores, so that a wrong choice proves less and never too much.
        bound = lower_bound(problem, best)
        if bound > self.bound:
            self.scores, self.bound = best, bound


class Progress:
    """Tell whether a method still improves, by its gaps over several steps together.

    Steps are not judged one by one: a method that closes a tenth of its gap with every step, as
    interior points do on hard problems, would count as stalled.

    Example:
        >>> progress = Progress(patience=2)
        >>> [progress.stalled(gap) for gap in (1.0, 0.9, 0.75, 0.74, 0.73)]
        [False, False, False, True, True]
    """

    LEAST = 0.2
    """The share of the gap that so many steps must close."""

    def __init__(self, patience: int) -> None:
        self._gaps: deque[float] = deque(maxlen=patience + 1)

    def stalled(self, gap: float) -> bool:
        """Note the gap after a step; true if it hardly fell since as many steps as patience."""
        self._gaps.append(gap)
        before = self._gaps[0] if len(self._gaps) == self._gaps.maxlen else math.inf
        return math.isfinite(before) and not gap < (1 - self.LEAST) * before


def normalised(rule: Array) -> Array:
    """Return a rule whose rows add up to one, without negative entries."""
    xp = namespace(rule)
    rule = xp.where(rule > 0, rule, 0.0 * rule)
    return rule / xp.sum(rule, axis=1)[:, None]


# --- pair rules -----------------------------------------------------------------------------------
# Rules and distortions that look at the confidential value too: the pair (w, x) is the key.

Sees: TypeAlias = Literal["key", "both"]


@dataclass(frozen=True, eq=False)
class RuleInputs:
    """What a rule draws from: the law of its inputs and how far each is from every release."""

    joint: Floats
    """p(w, input): a row a confidential value, a column an input."""
    distortion: Floats
    """d(input, c): a row an input, a column a released value."""
    secrets: NDArray[np.intp] | None = None
    """The place of the confidential value in every input; None where the inputs are the keys."""
    keys: NDArray[np.intp] | None = None
    """The place of the key value in every input, likewise."""


def rule_inputs(joint: Floats, distortion: Floats, sees: Sees) -> RuleInputs:
    r"""Reduce rules and distortions that see the confidential value to ordinary problems.

    Rebollo-Monedero, Forne and Domingo-Ferrer 2010, Sections 4.1 and 4.4, name distortions
    d(w, x, c) and rules p(c|w, x), and leave them aside. Both are problems of the same kind:

    *Rules of the key alone*, P(c|x), have W and C independent given X. Then

    .. math:: E\, d(W, X, C) = \sum_{x,c} p(x) P(c|x)\, \bar d(x,c), \qquad
              \bar d(x,c) = \sum_w p(w|x)\, d(w,x,c)

    so that only the mean distortion counts.

    *Rules of both*, P(c|w, x): take the pair V = (W, X) for the key, over the pairs that occur.
    Its law is p(w', (w, x)) = p(w, x) where w' = w, else 0; W - V - C is a Markov chain for every
    rule, I(W; C) is the same number, and d(w, x, c) is a distortion of V. Each rule of both is a
    rule of V and the other way round, so that a bound from the dual problem of V bounds them all.
    A rule of X alone is one that ignores w: rules of both are never worse.

    Exact, but for the rounding of the mean. |W| |X| |C| operations.

    Example:
        >>> joint = np.array([[0.4, 0.1], [0.0, 0.5]])
        >>> triple = np.zeros((2, 2, 2))
        >>> triple[0, 1] = 6.0  # only the pair (0, 1) is ever distorted
        >>> rule_inputs(joint, triple, "key").distortion.round(9).tolist()  # 6 / (1 + 5)
        [[0.0, 0.0], [1.0, 1.0]]
        >>> rule_inputs(joint, triple, "both").joint.tolist()  # the pairs 00, 01 and 11
        [[0.4, 0.1, 0.0], [0.0, 0.0, 0.5]]
    """
    if sees == "key":
        if distortion.ndim == 2:
            return RuleInputs(joint, distortion)
        given = joint / joint.sum(axis=0)
        return RuleInputs(joint, np.einsum("wx,wxc->xc", given, distortion))
    secrets, keys = np.nonzero(joint)
    pairs = np.zeros((joint.shape[0], secrets.size))
    pairs[secrets, np.arange(secrets.size)] = joint[secrets, keys]
    seen = distortion[keys] if distortion.ndim == 2 else distortion[secrets, keys]
    return RuleInputs(pairs, seen, secrets, keys)


# --- independent rules ----------------------------------------------------------------------------
# Rules whose releases are independent of the secret: the best one, and a correction of others.

NOTHING = 1e-11
"""How far p(w|x) / p(w) can be from 1, and p(c) from 0, by rounding alone."""
LARGEST_PROGRAMME = 40_000
"""Key values times released values up to which the linear programme is solved."""


def dependence(problem: Problem, rounding: float = NOTHING) -> Floats:
    """Return p(w|x) / p(w) - 1, a row a confidential value, zero where that is rounding."""
    excess = (problem.given / problem.secret).T - 1
    return np.where(np.abs(excess) > rounding, excess, 0.0)


def independent_rule(problem: Problem) -> tuple[Floats | None, Floats]:
    """Return the rule of least distortion whose releases are independent of the secret.

    A linear programme: p(w,c) = p(w) p(c) for every pair, sum_c P(c|x) = 1. The prices of the
    first equations, returned with it, prove that it is best. Each equation is divided by its
    largest coefficient, since the solver takes the small ones of a rare confidential value for
    zero. Returns None for the rule if the solver fails or its rule still tells something.
    """
    from scipy.optimize import linprog
    from scipy.sparse import eye, kron, vstack

    keys, secrets, released = problem.sizes
    centred = problem.key * dependence(problem)
    largest = np.abs(centred).max(axis=1, keepdims=True)
    sizes = np.where(largest > 0, largest, 1.0)
    constraints = vstack(
        [kron(np.ones((1, released)), eye(keys)), kron(eye(released), centred / sizes)],
        format="csr",
    )
    right = np.concatenate([np.ones(keys), np.zeros(secrets * released)])
    costs = (problem.key[:, None] * problem.distortion).T.ravel()
    scale = float(costs.max()) or 1.0  # the solver takes very large costs for infinite ones
    solved = linprog(costs / scale, A_eq=constraints, b_eq=right, method="highs")
    if solved.status != 0:
        return None, np.zeros((secrets, released))
    prices = -scale * solved.eqlin.marginals[keys:].reshape(released, secrets).T
    prices /= sizes * problem.secret[:, None]
    prices -= problem.secret @ prices
    rule = _without_rare(problem, normalised(solved.x.reshape(released, keys).T), NOTHING)
    return rule if rule is not None and _tells_nothing(problem, rule) else None, prices


def mended_rule(problem: Problem, rule: Floats) -> Floats | None:
    r"""Return a rule near one that tells little, whose releases are independent of the secret.

    .. math:: P'(c|x) = (1 - t) P(c|x) + p(c) \bigl(t + (1 - t) \, k_c \cdot g(x)\bigr), \quad
              g_w(x) = p(w|x) / p(w) - 1

    with the k of every released value that removes the dependence, and the least t for which
    nothing is negative. Returns None where that fails. |X| |C| |W| operations.

    Example:
        >>> from hartley.policies.distortion.problem import Problem
        >>> joint = np.array([[0.2, 0.1, 0.2], [0.1, 0.3, 0.1]])
        >>> nearly = np.array([[0.5, 0.5], [0.55, 0.45], [0.5, 0.5]])
        >>> mended_rule(Problem.of(joint, np.ones((3, 2)), 1.0), nearly).round(2).tolist()
        [[0.52, 0.48], [0.52, 0.48], [0.52, 0.48]]
    """
    thin = _without_rare(problem, rule, 1e-6)  # rarer ones are dropped and not mended
    if thin is None:
        return None
    total = problem.key @ thin
    live = total > 0
    excess = (problem.given / problem.secret).T - 1
    spread = excess * problem.key
    # C is independent of W if sum_x p(x) g(x) P'(c|x) = 0 for every c. Since sum_x p(x) g(x) = 0,
    # that leaves the normal equations for k; the pseudo-inverse takes the smallest solution.
    mends = np.linalg.pinv(spread @ excess.T, rcond=1e-12) @ (spread @ thin[:, live]) / total[live]
    tilt = -(excess.T @ mends)
    # (1 - t) (P / p(c) + tilt) + t >= 0 needs t / (1 - t) of at least this.
    short = max(float((-tilt - thin[:, live] / total[live]).max()), 0.0) * (1 + 1e-9)
    share = short / (1 + short)
    mended = np.zeros_like(thin)
    mended[:, live] = (1 - share) * thin[:, live] + total[live] * (share + (1 - share) * tilt)
    mended = normalised(np.maximum(mended, 0.0))
    return mended if _tells_nothing(problem, mended) else None


def _without_rare(problem: Problem, rule: Floats, rare: float) -> Floats | None:
    """Drop rarer released values; None if a key value would lose more than half of its releases."""
    live = problem.key @ rule > rare
    if rule[:, live].sum(axis=1).min() < 0.5:
        return None
    thinner: Floats = normalised(np.where(live, rule, 0.0))
    return thinner


def _tells_nothing(problem: Problem, rule: Floats) -> bool:
    """Tell whether releases are independent of the secret, up to a solver's error of p(w|c)."""
    mass = (rule * problem.key[:, None]).T
    mass = mass[mass.any(axis=1)]
    release = replace(problem, given=mass / mass.sum(axis=1, keepdims=True) @ problem.given)
    return not dependence(release, 1e-9).any()
