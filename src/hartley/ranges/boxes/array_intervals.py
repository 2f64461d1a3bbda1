"""Interval arithmetic on arrays: after every operation the ends move outward, never inward."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from hartley.ranges.boxes.expression import Expression

    Array: TypeAlias = NDArray[np.float64]
    Pair: TypeAlias = tuple[Array, Array]
    """The low and the high ends of many intervals; a constant has arrays of one element."""

EPSILON = 2.0**-52
TINY = 5e-324
FUNCTION_ERROR = 4 * EPSILON
"""How far, relatively, NumPy's exp and log may be off: four units in the last place."""

# A result rounded to nearest is off by at most half a unit, |v| 2^-53; subtracting |v| 2^-52 and
# rounding again still ends at or below the truth. NaN (from infinity minus infinity) passes
# through every operation and is read as "anything" by those who use the result.


def down(value: Array) -> Array:
    """Return numbers at or below the exact results that were rounded to these."""
    return value - (np.abs(value) * EPSILON + TINY)


def up(value: Array) -> Array:
    """Return numbers at or above the exact results that were rounded to these."""
    return value + (np.abs(value) * EPSILON + TINY)


def float_below(number: Fraction) -> float:
    """Return the largest double that is at most an exact number.

    Example:
        >>> from fractions import Fraction
        >>> float_below(Fraction(1, 2)), Fraction(float_below(Fraction(1, 10))) <= Fraction(1, 10)
        (0.5, True)
    """
    try:
        nearest = number.numerator / number.denominator
    except OverflowError:
        # Beyond every double: the largest one is below it, and only minus infinity is below its
        # negative.
        return np.finfo(float).max if number > 0 else -np.inf
    return nearest if nearest <= number else float(np.nextafter(nearest, -np.inf))


def float_above(number: Fraction) -> float:
    """Return the smallest double that is at least an exact number."""
    return -float_below(-number)


def constant(number: Fraction) -> Pair:
    """Enclose an exact number: a point where a double holds it."""
    return np.array([float_below(number)]), np.array([float_above(number)])


def add(first: Pair, second: Pair) -> Pair:
    """Enclose the sums."""
    low, high = first[0] + second[0], first[1] + second[1]
    # A sum never underflows, so a sum of zero is exact and stays zero.
    return low - np.abs(low) * EPSILON, high + np.abs(high) * EPSILON


def negate(pair: Pair) -> Pair:
    """Enclose the negatives, exactly."""
    return -pair[1], -pair[0]


def subtract(first: Pair, second: Pair) -> Pair:
    """Enclose the differences."""
    return add(first, negate(second))


def multiply(first: Pair, second: Pair) -> Pair:
    """Enclose the products."""
    # A product takes its extremes at corners. Zero times infinity is NaN, which minimum and maximum
    # pass on.
    corners = first[0] * second[0], first[0] * second[1], first[1] * second[0], first[1] * second[1]
    low = down(np.minimum(np.minimum(corners[0], corners[1]), np.minimum(corners[2], corners[3])))
    high = up(np.maximum(np.maximum(corners[0], corners[1]), np.maximum(corners[2], corners[3])))
    # Rounding zero outward gives less than zero; a product of what is not negative is not, and a
    # root or a logarithm of it must stay defined.
    nonnegative = (first[0] >= 0) & (second[0] >= 0)
    return np.where(nonnegative, np.maximum(low, 0.0), low), high


def divide(first: Pair, second: Pair) -> Pair:
    """Enclose the quotients: anything where the divisor may be zero."""
    corners = first[0] / second[0], first[0] / second[1], first[1] / second[0], first[1] / second[1]
    low = down(np.minimum(np.minimum(corners[0], corners[1]), np.minimum(corners[2], corners[3])))
    high = up(np.maximum(np.maximum(corners[0], corners[1]), np.maximum(corners[2], corners[3])))
    nonnegative = (first[0] >= 0) & (second[0] > 0)
    low = np.where(nonnegative, np.maximum(low, 0.0), low)
    bad = holds_zero(second)
    return np.where(bad, -np.inf, low), np.where(bad, np.inf, high)


def holds_zero(pair: Pair) -> NDArray[np.bool_]:
    """Return where an interval holds zero, or may."""
    return ~((pair[0] > 0) | (pair[1] < 0))


def power(pair: Pair, exponent: int) -> Pair:
    """Enclose a natural power."""
    if exponent == 0:
        return np.ones(1), np.ones(1)
    if exponent == 1:
        return pair
    if exponent % 2:
        return _odd_power(pair[0], exponent)[0], _odd_power(pair[1], exponent)[1]
    sizes = np.abs(pair[0]), np.abs(pair[1])
    least = np.where(holds_zero(pair), 0.0, np.minimum(*sizes))
    return _power_of_size(least, exponent)[0], _power_of_size(np.maximum(*sizes), exponent)[1]


def _odd_power(base: Array, exponent: int) -> Pair:
    low, high = _power_of_size(np.abs(base), exponent)
    return np.where(base < 0, -high, low), np.where(base < 0, -low, high)


def _power_of_size(base: Array, exponent: int) -> Pair:
    """Enclose a positive power of numbers that are not negative, by repeated squaring."""
    low = high = base
    for digit in bin(exponent)[3:]:
        low, high = np.maximum(down(low * low), 0.0), up(high * high)
        if digit == "1":
            low, high = np.maximum(down(low * base), 0.0), up(high * base)
    # Zero and one are their own powers; rounding outward would forget it.
    plain = (base == 0) | (base == 1)
    return np.where(plain, base, low), np.where(plain, base, high)


def absolute(pair: Pair) -> Pair:
    """Enclose the absolute values, exactly."""
    sizes = np.abs(pair[0]), np.abs(pair[1])
    return np.where(holds_zero(pair), 0.0, np.minimum(*sizes)), np.maximum(*sizes)


def exponential(pair: Pair) -> Pair:
    """Enclose e to the power of."""
    low, high = np.exp(pair[0]), np.exp(pair[1])
    # The truth is positive and finite, even where the double is zero or infinite.
    low = np.maximum(low - (low * FUNCTION_ERROR + TINY), 0.0)
    return np.minimum(low, np.finfo(float).max), high + (high * FUNCTION_ERROR + TINY)


def logarithm(pair: Pair) -> Pair:
    """Enclose the natural logarithm; what is not positive counts as zero, with minus infinity."""
    low, high = np.log(np.maximum(pair[0], 0.0)), np.log(np.maximum(pair[1], 0.0))
    # A logarithm of a double is zero, exactly, or at least 2^-53 in size: none underflows.
    return low - np.abs(low) * FUNCTION_ERROR, high + np.abs(high) * FUNCTION_ERROR


def square_root(pair: Pair) -> Pair:
    """Enclose the square root; what is negative counts as zero."""
    low, high = np.sqrt(np.maximum(pair[0], 0.0)), np.sqrt(np.maximum(pair[1], 0.0))
    # IEEE 754 demands the nearest double, and no root underflows.
    return np.maximum(low - low * EPSILON, 0.0), high + high * EPSILON


def minimum(first: Pair, second: Pair) -> Pair:
    """Enclose the smaller of two, exactly."""
    return np.minimum(first[0], second[0]), np.minimum(first[1], second[1])


def maximum(first: Pair, second: Pair) -> Pair:
    """Enclose the larger of two, exactly."""
    return np.maximum(first[0], second[0]), np.maximum(first[1], second[1])


def hull(first: Pair, second: Pair) -> Pair:
    """Enclose both of two intervals, exactly."""
    return np.minimum(first[0], second[0]), np.maximum(first[1], second[1])


def settle(pair: Pair) -> Pair:
    """Read what could not be computed as anything."""
    return (
        np.where(np.isnan(pair[0]), -np.inf, pair[0]),
        np.where(np.isnan(pair[1]), np.inf, pair[1]),
    )


_UNARY: dict[str, Callable[[Pair], Pair]] = {
    "neg": negate,
    "abs": absolute,
    "exp": exponential,
    "log": logarithm,
    "sqrt": square_root,
}
_BINARY: dict[str, Callable[[Pair, Pair], Pair]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "min": minimum,
    "max": maximum,
}


def apply(node: Expression, operands: Sequence[Pair], variables: Mapping[str, Pair]) -> Pair:
    """Enclose one operation of a query, given what it is applied to."""
    if node.operation == "const":
        return constant(node.arguments[0])
    if node.operation == "var":
        return variables[node.arguments[0]]
    if node.operation == "pow":
        return power(operands[0], node.arguments[1])
    if node.operation in _UNARY:
        return _UNARY[node.operation](operands[0])
    return _BINARY[node.operation](operands[0], operands[1])
