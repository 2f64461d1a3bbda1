"""Read what a privacy-distortion problem is made of: a joint distribution and a distortion."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import ColumnError, OptionError
from hartley.ranges.relations.distribution import JointDistribution

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

NAMED = ("squared", "absolute", "zero_one")
MOST_POINTS = 20_000
"""So many points at most on a grid."""
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
    """Return a number as a double, and NaN for anything else.

    Example:
        >>> as_number(np.int64(3)), as_number("x"), as_number(True)
        (3.0, nan, nan)
    """
    try:
        return math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def check_values(
    values: Sequence[Any] | None, size: int, side: str = "key", line: str = "column"
) -> tuple[Any, ...]:
    """Return the values of a side, 0, 1, 2, ... if none are given.

    Args:
        values: the values, one a line of the joint distribution.
        size: how many lines there are.
        side: "key" or "confidential", for the errors.
        line: "column" or "row", likewise.
    """
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
    if not (isinstance(points, (int, np.integer)) and 2 <= points <= MOST_POINTS):
        raise OptionError(
            f"A grid cannot have {points} points",
            hint=f"give from 2 to {MOST_POINTS:,} points, for example 31",
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
    """Return d(x,c), and the key values as increasing numbers where a named distance used them.

    Args:
        distortion: a matrix, a name, the paths of a hierarchy by key value, or a function.
        values: the key values, tuples where the key has several columns.
        names: of the key columns, for the errors.
    """
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
    """Return d(w,x,c), an axis for each, of an array or a function.

    Args:
        distortion: an array, or a function of a confidential, a key and a released value.
        secrets: the confidential values.
        values: the key values, which are the released ones of a function too.
        occurs: which pairs (w,x) there are; a function is asked about no other.
    """
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
    _refuse_extremes(total, name)
    only = columns[0] if len(columns) == 1 else None
    ordered = only is not None and bool((np.diff(only) > 0).all())
    return _checked(total, len(values)), only if ordered else None


def _refuse_extremes(total: Floats, name: str) -> None:
    """Refuse key values between which doubles see no distance, or one beyond all bounds."""
    distances = total[~np.eye(len(total), dtype=bool)]
    if distances.size and not (distances.min() > TINY and distances.max() < HUGE):
        raise OptionError(
            f"The {name} distortion of the key is too small or too large to compute with",
            hint="shift and scale the key, or use zero_one",
        )


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
    return [[_levels(first, second) for second in lines] for first in lines]


def _levels(first: tuple[Any, ...], second: tuple[Any, ...]) -> float:
    for level, (mine, theirs) in enumerate(zip(first, second, strict=True)):
        if mine == theirs:
            return float(level)
    return float(len(first))


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
