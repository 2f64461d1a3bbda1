"""Certified interval arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hartley.boxes.box import Interval  # noqa: TC001 - the example uses it
from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hartley.boxes.expression import Expression
    from hartley.tables.release_rules import Tree

    Array: TypeAlias = NDArray[np.float64]
    Pair: TypeAlias = tuple[Array, Array]
    """The low and the high ends of many intervals; a constant has arrays of one element."""
    Ends = tuple[Fraction, Fraction]


# --- array intervals ------------------------------------------------------------------------------
# Interval arithmetic on arrays: after every operation the ends move outward, never inward.

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


def undefined_to_everything(pair: Pair) -> Pair:
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


def enclose(expression: Expression, sides: Mapping[str, Pair]) -> Pair:
    """Return intervals that hold every value of a query in every box, given its sides.

    The natural interval extension with outward rounding (Moore 1966). A bound: tight where every
    variable occurs once, wider else, and always valid. Where an operation may be undefined, its
    argument is cut to where it is defined. Linear in the number of boxes.

    Example:
        >>> from hartley.boxes.expression import parse_expression
        >>> sides = {"x": (np.array([1.0, -1.0]), np.array([2.0, 1.0]))}
        >>> low, high = enclose(parse_expression("1 / x"), sides)
        >>> low.round(9).tolist(), high.round(9).tolist()
        ([0.5, -inf], [1.0, inf])
    """
    with np.errstate(all="ignore"):  # infinities and NaN are part of this arithmetic
        return undefined_to_everything(
            expression.fold(lambda node, operands: apply(node, operands, sides))
        )


# --- exact intervals ------------------------------------------------------------------------------
# Interval arithmetic in exact numbers, for one box at a time.


def natural_range(expression: Expression, sides: Mapping[str, Interval]) -> Ends | None:
    """Return the ends of a query's range in a box, in exact numbers, or None if undefined.

    The natural interval extension (Moore 1966) without rounding: exact for linear queries and
    where every variable occurs once, a bound else; exp, log and sqrt are rounded outward. None
    where some operation may be undefined. Linear in the number of operations.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> from hartley.boxes.expression import parse_expression
        >>> low, high = natural_range(parse_expression("x**2 / 3"), {"x": Interval(-1, 2)})
        >>> print(low, high)
        0 4/3
    """
    form = expression.linear()
    if form is not None:
        ends = [
            sorted((by * sides[name].low, by * sides[name].high)) for name, by in form[0].items()
        ]
        return sum((e[0] for e in ends), form[1]), sum((e[1] for e in ends), form[1])
    return natural_ranges(expression, sides)[id(expression)]


def natural_ranges(expression: Expression, sides: Mapping[str, Interval]) -> dict[int, Ends | None]:
    """Return the ends of the range of every part of a query, by its id; None where undefined.

    As ``natural_range``, without a closer look at linear parts.

    Example:
        >>> from hartley.boxes.box import Interval
        >>> from hartley.boxes.expression import parse_expression
        >>> square = parse_expression("x**2")
        >>> print(*natural_ranges(square, {"x": Interval(-1, 2)})[id(square)])
        0 4
    """
    values: dict[int, Ends | None] = {}
    for node in expression.nodes():
        parts = [values[id(part)] for part in node.parts]
        known = [part for part in parts if part is not None]
        defined = len(known) == len(parts)
        values[id(node)] = _natural_step(node, known, sides) if defined else None
    return values


def _natural_step(
    node: Expression, operands: list[Ends], sides: Mapping[str, Interval]
) -> Ends | None:
    operation = node.operation
    if not operands:
        if operation == "const":
            return node.arguments[0], node.arguments[0]
        return sides[node.arguments[0]].low, sides[node.arguments[0]].high
    if operation in ("exp", "log", "sqrt"):
        return _monotone(operation, operands[0])
    if operation == "neg":
        return -operands[0][1], -operands[0][0]
    if operation in ("pow", "abs"):
        return natural_power(operands[0], node.arguments[1] if operation == "pow" else None)
    return _natural_pair(operation, operands[0], operands[1])


def natural_power(argument: Ends, exponent: int | None) -> Ends:
    """Return the range of a power, or of the absolute value where there is no exponent."""
    low, high = argument
    if exponent is not None and (exponent % 2 or exponent == 0):
        return low**exponent, high**exponent
    sizes = sorted((abs(low), abs(high)))
    least = Fraction(0) if low <= 0 <= high else sizes[0]
    return (least, sizes[1]) if exponent is None else (least**exponent, sizes[1] ** exponent)


def _natural_pair(operation: str, first: Ends, second: Ends) -> Ends | None:
    if operation in ("+", "-"):
        second = second if operation == "+" else (-second[1], -second[0])
        return first[0] + second[0], first[1] + second[1]
    if operation in ("min", "max"):
        choose = min if operation == "min" else max
        return choose(first[0], second[0]), choose(first[1], second[1])
    if operation == "/":
        if second[0] <= 0 <= second[1]:
            return None
        second = 1 / second[1], 1 / second[0]
    corners = [a * b for a in first for b in second]
    return min(corners), max(corners)


def _monotone(operation: str, argument: Ends) -> Ends | None:
    """Enclose an increasing function, exactly where its value is plain to see."""
    if (operation == "log" and argument[0] <= 0) or (operation == "sqrt" and argument[0] < 0):
        return None
    ends = []
    for end, number in enumerate(argument):
        value = plain_value(operation, number)
        if value is None:
            with np.errstate(all="ignore"):
                enclosed = _UNARY[operation](constant(number))
            if not np.isfinite(enclosed[end][0]):
                return None
            value = Fraction(float(enclosed[end][0]))
        ends.append(value)
    return ends[0], ends[1]


def plain_value(operation: str, number: Fraction) -> Fraction | None:
    """Return exp(0), log(1) and the roots of squares; None of what a rational does not hold."""
    if operation == "sqrt":
        root = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
        return root if root * root == number else None
    if operation == "exp":
        return Fraction(1) if number == 0 else None
    return Fraction(0) if number == 1 else None


# --- rounding errors ------------------------------------------------------------------------------
# How far a query computed in doubles can be from its exact value: in a box, or row by row.

UNIT = Fraction(1, 2**53)
"""An operation on doubles is off by no more than this part of its result."""
SMALLEST = Fraction(1, 2**1074)
"""Or by no more than this, where the result is too small to have all its digits."""
SAFE_UNIT = ("const", str(Fraction(1, 2**51)))
"""Four times as much: what is computed of errors row by row is rounded itself."""
TINIEST = ("const", "1e-300")


def double_error(expression: Expression, sides: Mapping[str, Interval]) -> Fraction:
    """Return how far an expression computed in doubles is from its value at most, in a box.

    Forward error analysis (Higham 2002, chapter 3) in exact numbers: each operation adds half a
    unit in the last place of its largest result to what its operands bring along. Columns count as
    rounded once. A bound, for + - * /, natural powers, abs, min and max.

    Example:
        >>> from hartley.boxes.expression import parse_expression
        >>> error = double_error(parse_expression("x/10 + 1"), {"x": Interval(0, 1)})
        >>> Fraction(1, 2**53) <= error <= Fraction(1, 2**51)
        True
    """
    ranges = natural_ranges(expression, sides)

    def step(node: Expression, errors: list[Fraction]) -> Fraction:
        ends = [ranges[id(part)] for part in (node, *node.parts)]
        known = [pair for pair in ends if pair is not None]
        if len(known) < len(ends):
            raise OptionError(
                "The line is not defined everywhere within the declared ranges",
                hint="declare ranges without the points at which it divides by zero",
            )
        return _node_error(node, known[0], known[1:], errors)

    return expression.fold(step)


def _node_error(  # noqa: PLR0911 - one line a rule
    node: Expression, ends: Ends, parts: list[Ends], errors: list[Fraction]
) -> Fraction:
    """Return the error of one operation, from those of its operands."""
    operation = node.operation
    size = max(map(abs, ends))
    if operation == "const":
        number = Fraction(node.arguments[0])
        return abs(Fraction(float(number)) - number)
    if operation == "var":
        return size * UNIT + SMALLEST
    if operation in ("neg", "abs"):
        return errors[0]
    if operation in ("min", "max"):
        return max(errors)
    sizes = [max(map(abs, part)) for part in parts]
    if operation in ("+", "-"):
        return _rounded(sum(errors, Fraction(0)), size)
    if operation == "*":
        return _rounded(_product_error(sizes, errors), size)
    if operation == "pow":
        return _power_error(sizes[0], errors[0], node.arguments[1])
    if operation == "/":
        low, high = parts[1]
        least = (low if low > 0 else -high) - errors[1]
        if least <= 0:
            raise OptionError(
                "The line may divide by zero within the declared ranges",
                hint="declare ranges without that point",
            )
        quotient = sizes[0] / (least + errors[1])
        return _rounded((errors[0] + quotient * errors[1]) / least, quotient)
    raise OptionError(
        f"The line uses {operation}, whose last digit differs between engines",
        hint="use + - * /, natural powers, abs, min and max, or declare the steps of all columns",
    )


def _product_error(sizes: Sequence[Fraction], errors: Sequence[Fraction]) -> Fraction:
    return sizes[0] * errors[1] + sizes[1] * errors[0] + errors[0] * errors[1]


def _power_error(size: Fraction, error: Fraction, power: int) -> Fraction:
    """Return the error of multiplying again and again, as an engine does."""
    total, product = error, size
    for _ in range(power - 1):
        total = _rounded(_product_error((product, size), (total, error)), product * size)
        product *= size
    return total if power else Fraction(0)


def _rounded(error: Fraction, size: Fraction) -> Fraction:
    """Return an error after the result, of at most this size, is rounded to a double."""
    return error + UNIT * (size + error) + SMALLEST


# --- row by row -----------------------------------------------------------------------------------


def running_error(expression: Expression) -> Tree:
    """Return a formula for how far a query computed in doubles is from its value, at every row.

    Running error analysis (Higham 2002, section 3.3), beside the query and in doubles itself, with
    a unit four times as large to cover its own rounding. Columns count as rounded once. For
    + - * /, natural powers, abs, min, max and sqrt; a divisor must be known to half of its size.

    Example:
        >>> from hartley.boxes.expression import parse_expression
        >>> running_error(parse_expression("x"))[0]
        '*'
    """
    return expression.fold(_running)


def _running(node: Expression, errors: list[Tree]) -> Tree:  # noqa: PLR0911 - one line a rule
    """Return the formula for the error of one operation, from those of its operands."""
    operation, value = node.operation, node.to_tree()
    own: Tree = ("*", ("abs", value), SAFE_UNIT)
    if operation in ("const", "var"):
        return own
    if operation in ("neg", "abs"):
        return errors[0]
    if operation in ("min", "max"):
        return ("max", errors[0], errors[1])
    sizes: list[Tree] = [("abs", part.to_tree()) for part in node.parts]
    if operation in ("+", "-"):
        return ("+", ("+", errors[0], errors[1]), own)
    if operation == "*":
        crossed = ("+", ("*", sizes[0], errors[1]), ("*", sizes[1], errors[0]))
        return ("+", ("+", crossed, ("*", errors[0], errors[1])), ("+", own, TINIEST))
    if operation == "/":
        carried: Tree = ("+", errors[0], ("*", ("abs", value), errors[1]))
        return ("+", ("/", ("*", ("const", "2"), carried), sizes[1]), ("+", own, TINIEST))
    if operation == "pow":
        power = node.arguments[1]
        reached: Tree = ("+", sizes[0], errors[0])
        slope = ("*", ("const", str(power)), ("pow", reached, max(power - 1, 0)))
        rounded = ("*", ("const", str(power)), ("*", ("pow", reached, power), SAFE_UNIT))
        return ("+", ("*", slope, errors[0]), ("+", rounded, TINIEST))
    if operation == "sqrt":
        carried = ("if", ("<", ("const", "0"), value), ("/", errors[0], value), ("sqrt", errors[0]))
        return ("+", carried, ("+", own, TINIEST))
    raise OptionError(
        f"The query uses {operation}, whose last digit differs between engines",
        hint="use + - * /, natural powers, abs, min, max and sqrt",
    )
