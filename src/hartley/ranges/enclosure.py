"""Certified enclosures of a query: its values in many boxes, its range, whether it is defined."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hartley.errors import OptionError
from hartley.ranges import outward
from hartley.ranges.box import Interval
from hartley.ranges.rational import natural_range
from hartley.ranges.slopes import Frame, halve, loosest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from hartley.ranges.box import Box
    from hartley.ranges.expression import Expression
    from hartley.ranges.outward import Array, Pair

UNDEFINED = {
    "/": (1, "divides by zero", "is never zero"),
    "log": (2, "takes the logarithm of a number that is not positive", "is always positive"),
    "sqrt": (4, "takes the square root of a negative number", "is never negative"),
}
"""The operations that are not always defined: their flag, what goes wrong, what must hold."""
MOST_BOXES = 100_000
"""How many boxes are looked at before a question about a query counts as undecided."""


@dataclass(frozen=True)
class Enclosure:
    """Where the values of a query lie in every box; unpacks as the low and the high ends."""

    low: Array
    high: Array
    flags: NDArray[np.uint8]
    """Zero where the query is certainly defined, else the sum of the flags of what may not be."""

    def __iter__(self) -> Iterator[Array]:
        return iter((self.low, self.high))


def enclose(
    expression: Expression, lows: Mapping[str, Array], highs: Mapping[str, Array]
) -> Enclosure:
    """Return intervals that hold every value of a query in every box.

    The natural interval extension with outward rounding (Moore 1966). A bound: tight where every
    variable occurs once, wider else, and always valid. Where an operation may be undefined, its
    argument is cut to where it is defined and the box is flagged. Linear in the number of boxes.

    Args:
        expression: the query.
        lows: the low sides of the boxes, an array a variable.
        highs: the high sides.

    Example:
        >>> from hartley.ranges.expression import parse_expression
        >>> lows, highs = {"x": np.array([1.0, -1.0])}, {"x": np.array([2.0, 1.0])}
        >>> low, high = enclose(parse_expression("1 / x"), lows, highs)
        >>> low.round(9).tolist(), high.round(9).tolist()
        ([0.5, -inf], [1.0, inf])
    """
    names = expression.names
    sides = {
        name: (np.asarray(lows[name], float), np.asarray(highs[name], float)) for name in names
    }
    shape = np.broadcast_shapes((1,), *(low.shape for low, _ in sides.values()))
    flags = np.zeros(shape, np.uint8)
    values: dict[int, Pair] = {}
    with np.errstate(all="ignore"):  # infinities and NaN are part of this arithmetic
        for node in expression.nodes():
            operands = [values[id(part)] for part in node.parts]
            if node.operation in UNDEFINED:
                fits = _fits(node.operation, operands[-1])
                flags |= np.where(fits, 0, UNDEFINED[node.operation][0]).astype(np.uint8)
            values[id(node)] = outward.apply(node, operands, sides)
        low, high = outward.settle(values[id(expression)])
    return Enclosure(np.broadcast_to(low, shape), np.broadcast_to(high, shape), flags)


def _fits(operation: str, argument: Pair) -> NDArray[np.bool_]:
    """Say where an operation is certainly defined; unknown ends are NaN and fit nothing."""
    if operation == "/":
        return ~outward.holds_zero(argument)
    return argument[0] > 0 if operation == "log" else argument[0] >= 0


# --- the range over one box --------------------------------------------------------------------


def range_of(expression: Expression, box: Box, *, gap: float = 1e-6) -> Interval:
    """Return an interval that holds every value of a query in a box, and hardly more.

    Exact for linear queries, and for those made of + - * / powers, abs, min and max in which every
    variable occurs once. A bound else: each end is off by at most the gap times the length, unless
    a hundred thousand boxes do not suffice. Branch and bound with slopes.

    Example:
        >>> from hartley.ranges.box import Box
        >>> from hartley.ranges.expression import parse_expression
        >>> print(range_of(parse_expression("x1**2 + 2*x2**2"), Box.cube(-2, 2, size=2)))
        [0, 12]
    """
    return range_bounds(expression, box, gap=gap)[0]


def attained_range(expression: Expression, box: Box, *, gap: float = 1e-6) -> Interval:
    """Return an interval all of which a query attains in a box: its range from within.

    Exact for linear queries, a bound else. Costs as much as the range.

    Example:
        >>> from hartley.ranges.box import Box
        >>> from hartley.ranges.expression import parse_expression
        >>> print(attained_range(parse_expression("x1 - 2*x2"), Box.cube(0, 1, size=2)))
        [-2, 1]
    """
    return range_bounds(expression, box, gap=gap)[1]


def range_bounds(
    expression: Expression, box: Box, *, gap: float = 1e-6
) -> tuple[Interval, Interval]:
    """Return the range from outside and from within, for the price of one."""
    check_defined(expression, box)
    exact = natural_range(expression, box.sides)
    if exact is not None and (expression.linear() is not None or not expression.names):
        return Interval(*exact), Interval(*exact)
    bottom, least = _descend(Frame(expression, box), gap)
    top, most = _descend(Frame(-expression, box), gap)
    ends = [_fraction(bottom), _fraction(-top)]
    if exact is not None:
        ends = [max(ends[0] or exact[0], exact[0]), min(ends[1] or exact[1], exact[1])]
    low, high = ends
    if low is None or high is None:
        raise OptionError(
            f"No bounds were found for the query '{shown(expression)}'",
            hint="narrow the ranges of its variables",
        )
    # A query is continuous where it is defined, so all between two of its values is attained.
    inner = min(Fraction(least), high), max(-Fraction(most), low)
    if inner[0] > inner[1]:  # so narrow that rounding hides it
        inner = ((inner[0] + inner[1]) / 2,) * 2
    return Interval(low, high), Interval(*inner)


def _fraction(number: float) -> Fraction | None:
    return Fraction(number) if math.isfinite(number) else None


def _descend(frame: Frame, gap: float) -> tuple[float, float]:
    """Return a lower bound on a query's values, and one that some value does not exceed."""
    start, size = np.zeros((frame.dimension, 1)), np.ones((frame.dimension, 1))
    least, most, looked = math.inf, -math.inf, 0
    while True:
        form, changes = frame.linearise(start, size)
        low = _lower_bound(form.values[0], form.middle[0], changes, size.shape[1])
        least = min(least, float(np.min(form.middle[1])))
        most = max(most, float(np.max(form.middle[0])))
        looked += low.size
        bottom = min(float(low.min()), least)
        stuck = looked >= MOST_BOXES or float(size.max()) < 2.0**-45
        if stuck or least - bottom <= gap * (most - least):
            return bottom, least
        kept = low <= least
        axes = loosest(changes, size)[kept]
        start, size = halve(start[:, kept], size[:, kept], axes)


def _lower_bound(natural: Array, middle: Array, changes: list[Pair], count: int) -> Array:
    """Return the better of the natural bound and the one that the slopes give, for every box."""
    with np.errstate(all="ignore"):  # an unknown slope makes the second NaN or minus infinity
        reach = np.zeros(1)
        for low, high in changes:
            reach = outward.up(reach + np.maximum(np.abs(low), np.abs(high)) / 2)
        sloped = np.broadcast_to(outward.down(middle - reach), count)
        return np.where(sloped > natural, sloped, natural)


# --- where it is defined ------------------------------------------------------------------------


def check_defined(expression: Expression, box: Box) -> None:
    """Refuse a query that is undefined somewhere in a box, or may be.

    Exact interval arithmetic settles most; then boxes are halved until the argument of every
    quotient, logarithm and square root is certainly fine, or certainly not at some point (by a
    change of sign, or by its value). What stays undecided after a hundred thousand boxes is
    refused too.

    Example:
        >>> from hartley.ranges.box import Box
        >>> from hartley.ranges.expression import parse_expression
        >>> check_defined(parse_expression("1 / (x1 + 1)"), Box.cube(0, 1, size=1))
        >>> check_defined(parse_expression("1 / (x1 - 1)"), Box.cube(0, 3, size=1))
        Traceback (most recent call last):
        hartley.errors.OptionError: The query '1/(x1 - 1)' divides by zero ...
    """
    for name in expression.names:
        box[name]  # refuses a variable that the box does not have
    for node in expression.nodes():
        if node.operation not in UNDEFINED:
            continue
        argument = node.parts[-1]
        fine = _always_fits(node.operation, argument, box)
        if fine is True:
            continue
        _, wrong, needed = UNDEFINED[node.operation]
        problem = f"The query '{shown(expression)}' {wrong} somewhere in the box"
        if fine is None:
            problem = f"Whether the query '{shown(expression)}' {wrong} cannot be decided"
        raise OptionError(problem, hint=f"choose ranges in which {shown(argument)} {needed}")


def shown(expression: Expression) -> str:
    """Return a query as text, cut where it is long."""
    text = str(expression)
    return text if len(text) <= 80 else f"{text[:60]} ... {text[-15:]}"


def _always_fits(operation: str, argument: Expression, box: Box) -> bool | None:
    """Say whether an operation is defined everywhere; None when that stays undecided."""
    ends = natural_range(argument, box.sides)
    if ends is not None and _fits_exactly(operation, *ends):
        return True
    middle = {name: Interval(side.middle, side.middle) for name, side in box.sides.items()}
    for point in (middle, *_corners(argument, box)):
        value = natural_range(argument, point)
        if value is not None and value[0] == value[1] and not _fits_exactly(operation, *value):
            return False
    if not argument.names or (ends is not None and argument.linear() is not None):
        return False  # the exact range of a linear argument holds a number that does not fit
    return _search(operation, Frame(argument, box))


def _fits_exactly(operation: str, low: Fraction, high: Fraction) -> bool:
    if operation == "/":
        return low > 0 or high < 0
    return low > 0 if operation == "log" else low >= 0


def _corners(argument: Expression, box: Box) -> Iterator[dict[str, Interval]]:
    """Return the corners of a box as points, of a box of few sides."""
    names = argument.names
    for which in range(2 ** len(names) if len(names) <= 8 else 0):
        ends = {
            name: box[name].high if which >> i & 1 else box[name].low
            for i, name in enumerate(names)
        }
        yield {name: Interval(end, end) for name, end in ends.items()}


def _search(operation: str, frame: Frame) -> bool | None:
    start, size = np.zeros((frame.dimension, 1)), np.ones((frame.dimension, 1))
    signs: set[int] = set()
    looked = 0
    while start.shape[1]:
        looked += start.shape[1]
        if looked > MOST_BOXES:
            return None
        form, changes = frame.linearise(start, size)
        low = _lower_bound(form.values[0], form.middle[0], changes, size.shape[1])
        high = -_lower_bound(
            -form.values[1], -form.middle[1], [(-b, -a) for a, b in changes], size.shape[1]
        )
        if np.any(form.middle[0] > 0):
            signs.add(1)
        if np.any(form.middle[1] < 0):
            signs.add(-1)
        # The argument is continuous, so between two signs it is zero somewhere.
        if -1 in signs and (operation != "/" or 1 in signs):
            return False
        unsettled = ~_fits(operation, (low, high))
        axes = loosest(changes, size)[unsettled]
        start, size = halve(start[:, unsettled], size[:, unsettled], axes)
    return True
