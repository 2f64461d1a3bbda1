"""The best estimate of a value from what was released for it, and its exact distortion."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import ColumnError, OptionError
from hartley.policies.distortion.input import read_distortion
from hartley.wording import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hartley.policies.perturbation.values import Value

    Integers = NDArray[Any]
    """Python integers of any size."""


class Estimator(ABC):
    """A distortion of values, for the best estimate of one released value and its exact error."""

    @abstractmethod
    def estimate(self, weights: Integers) -> Value:
        """Return the best estimate where every value has a weight."""

    @abstractmethod
    def error(self, released: Value, weights: Integers) -> Fraction | None:
        """Return the total distortion of a released value; None where it has none."""

    def choose(self, label: Value, weights: Integers) -> tuple[Value, Fraction, Fraction | None]:
        """Return the best estimate, its error and that of the label, which stays if it is as good.

        So rounding a mean never makes a rule worse, and what is best already is not moved.
        """
        best = self.estimate(weights)
        error, label_error = self.error(best, weights), self.error(label, weights)
        assert error is not None  # an estimate is a value
        if label_error is not None and label_error <= error:
            return label, label_error, label_error
        return best, error, label_error


class NumericEstimator(Estimator):
    """Values of one or several numeric columns, as integers over a common denominator."""

    def __init__(self, values: Sequence[Value], column: str | None) -> None:
        self.several = isinstance(values[0], tuple)
        rows = [_exact_numbers(value) for value in values]
        if any(row is None for row in rows):
            named = "The list of values" if column is None else f"Column '{column}'"
            raise ColumnError(
                f"{named} contains something that is not a number, so it has no mean or median",
                hint="use zero_one distortion, for which the best estimate is the likeliest value",
            )
        columns = list(zip(*(row for row in rows if row is not None), strict=True))
        self.scale = math.lcm(*(entry.denominator for column in columns for entry in column))
        self.columns = [
            np.array([int(entry * self.scale) for entry in column], dtype=object)
            for column in columns
        ]

    def estimate(self, weights: Integers) -> Value:
        """Return the best estimate where every value has a weight."""
        parts = tuple(self.centre(column, weights) for column in self.columns)
        return parts if self.several else parts[0]

    def error(self, released: Value, weights: Integers) -> Fraction | None:
        """Return the total distortion of a released value; None where it has none."""
        numbers = _exact_numbers(released)
        if numbers is None or len(numbers) != len(self.columns):
            return None
        errors = (
            self.distance(column, number, weights)
            for column, number in zip(self.columns, numbers, strict=True)
        )
        return sum(errors, Fraction(0))

    @abstractmethod
    def centre(self, column: Integers, weights: Integers) -> float:
        """Return the best number of one column."""

    @abstractmethod
    def distance(self, column: Integers, number: Fraction, weights: Integers) -> Fraction:
        """Return the total distortion of a number in one column."""


class MeanEstimator(NumericEstimator):
    """Squared distortion: the mean, rounded to a double."""

    def centre(self, column: Integers, weights: Integers) -> float:
        """Return the best number of one column."""
        return float(Fraction(int(column @ weights), int(weights.sum()) * self.scale))

    def distance(self, column: Integers, number: Fraction, weights: Integers) -> Fraction:
        """Return the total distortion of a number in one column."""
        # sum w (x - a/b)^2 with x = n/s is the sum of w (n b - a s)^2 over (s b)^2.
        above, below = number.numerator * self.scale, number.denominator
        total = (
            int((column * column) @ weights) * below**2
            - 2 * int(column @ weights) * below * above
            + int(weights.sum()) * above**2
        )
        return Fraction(total, (self.scale * below) ** 2)


class MedianEstimator(NumericEstimator):
    """Absolute distortion: the least median, column by column."""

    def centre(self, column: Integers, weights: Integers) -> float:
        """Return the best number of one column."""
        order = np.argsort(column, kind="stable")
        sums = np.cumsum(weights[order])
        place = int(np.flatnonzero(2 * sums >= sums[-1])[0])
        median = Fraction(int(column[order[place]]), self.scale)
        return int(median) if median.denominator == 1 else float(median)

    def distance(self, column: Integers, number: Fraction, weights: Integers) -> Fraction:
        """Return the total distortion of a number in one column."""
        above, below = number.numerator * self.scale, number.denominator
        return Fraction(int(abs(column * below - above) @ weights), self.scale * below)


class LikeliestValue(Estimator):
    """Zero-one distortion: the likeliest value, the first of equally likely ones."""

    def __init__(self, values: Sequence[Value], column: str | None) -> None:
        del column  # values of any kind have frequencies
        self.values = tuple(values)
        self.places = {value: place for place, value in enumerate(values)}

    def estimate(self, weights: Integers) -> Value:
        """Return the best estimate where every value has a weight."""
        return self.values[int(np.argmax(weights))]

    def error(self, released: Value, weights: Integers) -> Fraction | None:
        """Return the total distortion of a released value; None where it has none."""
        place = self.places.get(released)
        hits = 0 if place is None else int(weights[place])
        return Fraction(int(weights.sum()) - hits)


class BestReleasedValue(Estimator):
    """Any other distortion: the best of the values that may be released."""

    def __init__(self, released: Sequence[Value], costs: NDArray[np.float64]) -> None:
        exact = [[Fraction(entry) for entry in row] for row in costs.tolist()]
        self.scale = math.lcm(*(entry.denominator for row in exact for entry in row))
        numbers = [[int(entry * self.scale) for entry in row] for row in exact]
        self.costs = np.array(numbers, dtype=object)
        self.released = tuple(released)
        self.places = {value: place for place, value in enumerate(self.released)}

    def estimate(self, weights: Integers) -> Value:
        """Return the best estimate where every value has a weight."""
        return self.released[int(np.argmin(weights @ self.costs))]

    def error(self, released: Value, weights: Integers) -> Fraction | None:
        """Return the total distortion of a released value; None where it has none."""
        place = self.places.get(released)
        if place is None:
            return None
        return Fraction(int(weights @ self.costs[:, place]), self.scale)


def read_estimator(
    distortion: object,
    values: Sequence[Value],
    released: Sequence[Value],
    *,
    column: str | None = None,
) -> tuple[Estimator, str]:
    """Return how a distortion of key values estimates, and its name.

    Args:
        distortion: a name, or as of ``PrivacyDistortion``.
        values: the key values.
        released: the values that the rule releases.
        column: the key column, for the errors.
    """
    if isinstance(distortion, str):
        known: dict[str, Callable[[Sequence[Value], str | None], Estimator]] = {
            "squared": MeanEstimator,
            "absolute": MedianEstimator,
            "zero_one": LikeliestValue,
        }
        if distortion not in known:
            raise OptionError(
                f"There is no distortion called {distortion}", hint=f"choose from {listed(known)}"
            )
        return known[distortion](values, column), distortion
    costs, _ = read_distortion(distortion, values)
    if costs.shape[1] not in {len(values), len(released)}:
        raise OptionError(
            f"The distortion has {costs.shape[1]} columns for {len(released)} released values",
            hint="give one row per key value and one column per released value",
        )
    own = costs.shape[1] == len(released)
    return BestReleasedValue(released if own else values, costs), "given"


def _exact_numbers(value: Value) -> list[Fraction] | None:
    """Return the parts of a value as exact numbers, or None where one is not a number."""
    parts = value if isinstance(value, tuple) else (value,)
    if any(isinstance(part, bool) or not isinstance(part, (int, float)) for part in parts):
        return None
    return [Fraction(part) for part in parts]
