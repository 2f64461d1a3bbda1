"""Certified enclosures of a query: its values in many boxes, its range, whether it is defined."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hartley.boxes import intervals as outward
from hartley.boxes.box import Interval
from hartley.boxes.intervals import natural_range, undefined_to_everything
from hartley.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from hartley.boxes.box import Box
    from hartley.boxes.expression import Expression
    from hartley.boxes.intervals import Array, Pair

    Slopes: TypeAlias = dict[str, Pair]


ONE = np.ones(1), np.ones(1)


@dataclass(frozen=True)
class LinearBound:
    """A query in every box as its value in the middle plus slopes times the distance from it."""

    middle: Pair
    values: Pair
    slopes: Slopes
    """Variables that are absent do not occur."""


def linearise(
    expression: Expression,
    sides: Mapping[str, Pair],
    middles: Mapping[str, Pair],
) -> LinearBound:
    r"""Return slopes that hold all difference quotients of a query against the middle of a box.

    .. math:: f(x) \in f(m) + \sum_i S_i\,(x_i - m_i) \quad \text{for all } x \text{ in the box}

    Slope arithmetic (Krawczyk and Neumaier 1985); about twice as tight as derivatives, and valid
    at kinks. A bound. Costs a few times the enclosure for every variable.

    Example:
        >>> from hartley.boxes.expression import parse_expression
        >>> one, two, three = (np.array([number]) for number in (1.0, 2.0, 3.0))
        >>> form = linearise(parse_expression("x**2"), {"x": (one, three)}, {"x": (two, two)})
        >>> [float(end[0].round(9)) for end in form.slopes["x"]]
        [3.0, 5.0]
    """

    def step(node: Expression, operands: list[LinearBound]) -> LinearBound:
        middle = outward.apply(node, [form.middle for form in operands], middles)
        values = outward.apply(node, [form.values for form in operands], sides)
        return LinearBound(middle, values, _slopes(node, operands, middle))

    with np.errstate(all="ignore"):  # infinities and NaN are part of this arithmetic
        form = expression.fold(step)
        return LinearBound(
            undefined_to_everything(form.middle),
            undefined_to_everything(form.values),
            {name: undefined_to_everything(pair) for name, pair in form.slopes.items()},
        )


def _slopes(node: Expression, operands: list[LinearBound], middle: Pair) -> Slopes:
    operation = node.operation
    if not operands:
        return {node.arguments[0]: ONE} if operation == "var" else {}
    first = operands[0]
    if len(operands) == 1:
        factor = _outer_slope(node, first, middle)
        return {name: outward.multiply(factor, pair) for name, pair in first.slopes.items()}
    second = operands[1]
    if operation in ("+", "-"):
        return _scaled_sum(first.slopes, None, second.slopes, 1 if operation == "+" else -1)
    if operation == "*":
        return _product_slopes(first, second)
    if operation == "/":  # 1/g - 1/g_m = -(g - g_m) / (g g_m)
        turned = outward.negate(outward.multiply(second.values, second.middle))
        return _product_slopes(
            first,
            LinearBound(
                outward.divide(ONE, second.middle),
                outward.divide(ONE, second.values),
                {name: outward.divide(pair, turned) for name, pair in second.slopes.items()},
            ),
        )
    return _chosen(operation, first, second)


def _product_slopes(one: LinearBound, other: LinearBound) -> Slopes:
    """Use 2 (f g - f_m g_m) = (f - f_m)(g + g_m) + (f + f_m)(g - g_m).

    Both factors alike, so that either's width shows in the slopes of the other.
    """
    first = _half(outward.add(other.values, other.middle))
    second = _half(outward.add(one.values, one.middle))
    return _scaled_sum(one.slopes, first, other.slopes, second)


def _half(pair: Pair) -> Pair:
    return pair[0] / 2 - outward.TINY, pair[1] / 2 + outward.TINY


def _outer_slope(node: Expression, inner: LinearBound, middle: Pair) -> Pair:
    """Enclose the difference quotients of a function of one variable."""
    operation, values = node.operation, inner.values
    if operation == "neg":
        return -np.ones(1), -np.ones(1)
    if operation == "pow":
        return _power_slope(inner, node.arguments[1])
    if operation == "abs":
        return np.where(values[0] >= 0, 1.0, -1.0), np.where(values[1] <= 0, -1.0, 1.0)
    if operation == "exp":
        return outward.exponential(values)
    if operation == "log":
        # Cut to where the logarithm is defined: an unbounded slope there, not a wrong sign.
        positive = np.maximum(values[0], 0.0), np.maximum(values[1], 0.0)
        return outward.divide(ONE, positive)
    both = outward.add(outward.square_root(values), middle)
    return outward.divide(ONE, both)  # 1 / (sqrt(x) + sqrt(m))


def _power_slope(inner: LinearBound, exponent: int) -> Pair:
    """Enclose sum over j of x^j m^(k-1-j), which is (x^k - m^k) / (x - m)."""
    if exponent == 0:
        return np.zeros(1), np.zeros(1)
    total: Pair = ONE
    for j in range(1, exponent):
        total = outward.add(outward.multiply(total, inner.middle), outward.power(inner.values, j))
    return total


def _scaled_sum(
    one: Slopes, one_factor: Pair | None, other: Slopes, other_factor: Pair | int
) -> Slopes:
    """Return one times its factor plus other times its factor; 1 and -1 cost nothing."""
    result = {
        name: pair if one_factor is None else outward.multiply(pair, one_factor)
        for name, pair in one.items()
    }
    for name, pair in other.items():
        if other_factor == 1:
            scaled = pair
        elif other_factor == -1:
            scaled = outward.negate(pair)
        else:
            scaled = outward.multiply(pair, other_factor)  # type: ignore[arg-type]  # a pair
        result[name] = outward.add(result[name], scaled) if name in result else scaled
    return result


def _chosen(operation: str, one: LinearBound, other: LinearBound) -> Slopes:
    """Return the slopes of the smaller or larger: one side's where it wins, else both's hull.

    Where the other side overtakes, the change lies between the changes of both sides.
    """
    top, below = (one, other) if operation == "max" else (other, one)
    one_wins = top.values[0] >= below.values[1]
    other_wins = below.values[0] >= top.values[1]
    zero = np.zeros(1), np.zeros(1)
    result: Slopes = {}
    for name in {**one.slopes, **other.slopes}:
        first, second = one.slopes.get(name, zero), other.slopes.get(name, zero)
        both = outward.hull(first, second)
        result[name] = (
            np.where(one_wins, first[0], np.where(other_wins, second[0], both[0])),
            np.where(one_wins, first[1], np.where(other_wins, second[1], both[1])),
        )
    return result


class UnitBox:
    """The box of a query's variables, within which boxes are given in units of the whole.

    A side of such a box is a power of two, so its volume is exact; where it lies in the real box
    is enclosed.
    """

    def __init__(self, expression: Expression, box: Box) -> None:
        self.expression = expression
        self.names = expression.names
        self.dimension = len(self.names)
        self.origins = [outward.constant(box[name].low) for name in self.names]
        self.widths = [outward.constant(box[name].length) for name in self.names]

    def linearise(self, start: Array, size: Array) -> tuple[LinearBound, list[Pair]]:
        """Return the slope form in every box, and how much it changes from side to side."""
        sides: dict[str, Pair] = {}
        middles: dict[str, Pair] = {}
        for axis, name in enumerate(self.names):
            first, last = start[axis], start[axis] + size[axis]
            sides[name] = self._place(axis, first)[0], self._place(axis, last)[1]
            middles[name] = self._place(axis, start[axis] + size[axis] / 2)
        form = linearise(self.expression, sides, middles)
        return form, [
            self._change(form.slopes.get(name), axis, size) for axis, name in enumerate(self.names)
        ]

    def _place(self, axis: int, where: Array) -> Pair:
        """Enclose the coordinate of a place given in units of the box."""
        shift = outward.multiply(self.widths[axis], (where, where))
        return outward.add(self.origins[axis], shift)

    def _change(self, slope: Pair | None, axis: int, size: Array) -> Pair:
        if slope is None:
            return np.zeros(1), np.zeros(1)
        whole = outward.multiply(slope, self.widths[axis])
        # Sizes are powers of two, so nothing is rounded; an underflow is off by less than TINY,
        # which every sum of changes includes.
        return whole[0] * size[axis], whole[1] * size[axis]


def split_boxes(start: Array, size: Array, axes: NDArray[np.intp]) -> Pair:
    """Halve every box across one of its sides.

    Example:
        >>> starts, sizes = split_boxes(np.zeros((2, 1)), np.ones((2, 1)), np.array([1]))
        >>> starts.tolist(), sizes.tolist()
        ([[0.0, 0.0], [0.0, 0.5]], [[1.0, 1.0], [0.5, 0.5]])
    """
    each = np.arange(axes.size)
    first, half = start.copy(), size.copy()
    half[axes, each] *= 0.5
    second = first.copy()
    second[axes, each] += half[axes, each]
    return np.concatenate([first, second], axis=1), np.concatenate([half, half], axis=1)


def widest_axis(changes: list[Pair], size: Array) -> NDArray[np.intp]:
    """Choose the side to halve: where the slope is least certain, and the longer of equals."""
    # The width of one side may show in the slope of another, so all count a little, and of two
    # that promise the same, as for x*y, the longer is taken, which keeps boxes square.
    loose = np.stack([np.broadcast_to(high - low, size.shape[1]) for low, high in changes])
    scores = (loose + loose.mean(axis=0) / 4) * np.sqrt(size)
    unknown = ~np.isfinite(scores).all(axis=0)
    best: NDArray[np.intp] = np.where(unknown, size.argmax(axis=0), scores.argmax(axis=0))
    return best


UNDEFINED = {
    "/": ("divides by zero", "is never zero"),
    "log": ("takes the logarithm of a number that is not positive", "is always positive"),
    "sqrt": ("takes the square root of a negative number", "is never negative"),
}
"""The operations that are not always defined: what goes wrong, what must hold."""
MOST_BOXES = 100_000
"""How many boxes are looked at before a question about a query counts as undecided."""


def _fits(operation: str, argument: Pair) -> NDArray[np.bool_]:
    """Return where an operation is certainly defined; unknown ends are NaN and fit nothing."""
    if operation == "/":
        return ~outward.holds_zero(argument)
    return argument[0] > 0 if operation == "log" else argument[0] >= 0


# --- the range over one box --------------------------------------------------------------------


def range_bounds(
    expression: Expression, box: Box, *, gap: float = 1e-6
) -> tuple[Interval, Interval]:
    """Return an interval that holds every value of a query in a box, and one that is all attained.

    Exact for linear queries, and for those made of + - * / powers, abs, min and max in which every
    variable occurs once. Bounds else: each end is off by at most the gap times the length, unless
    a hundred thousand boxes do not suffice. Branch and bound with slopes.

    Example:
        >>> from hartley.boxes.box import Box
        >>> from hartley.boxes.expression import parse_expression
        >>> print(*range_bounds(parse_expression("x1 - 2*x2"), Box.cube(0, 1, size=2)))
        [-2, 1] [-2, 1]
    """
    check_defined(expression, box)
    exact = natural_range(expression, box.sides)
    if exact is not None and (expression.linear() is not None or not expression.names):
        return Interval(*exact), Interval(*exact)
    bottom, least = _descend(UnitBox(expression, box), gap)
    top, most = _descend(UnitBox(-expression, box), gap)
    ends = [_fraction(bottom), _fraction(-top)]
    if exact is not None:
        ends = [max(ends[0] or exact[0], exact[0]), min(ends[1] or exact[1], exact[1])]
    low, high = ends
    within = [_fraction(least), _fraction(-most)]  # infinite where every value overflows
    if low is None or high is None or within[0] is None or within[1] is None:
        raise OptionError(
            f"No bounds were found for the query '{expression_text(expression)}'",
            hint="narrow the ranges of its variables",
        )
    # A query is continuous where it is defined, so all between two of its values is attained.
    inner = min(within[0], high), max(within[1], low)
    if inner[0] > inner[1]:  # so narrow that rounding hides it
        inner = ((inner[0] + inner[1]) / 2,) * 2
    return Interval(low, high), Interval(*inner)


def _fraction(number: float) -> Fraction | None:
    return Fraction(number) if math.isfinite(number) else None


def _descend(frame: UnitBox, gap: float) -> tuple[float, float]:
    """Return a lower bound on a query's values, and one that some value does not exceed."""
    start, size = np.zeros((frame.dimension, 1)), np.ones((frame.dimension, 1))
    least, most, looked = math.inf, -math.inf, 0
    # A box takes memory for every variable, and its slopes as much time again.
    affordable = MOST_BOXES // max(1, frame.dimension // 12) ** 2
    while True:
        form, changes = frame.linearise(start, size)
        low = _lower_bound(form.values[0], form.middle[0], changes, size.shape[1])
        least = min(least, float(np.min(form.middle[1])))
        most = max(most, float(np.max(form.middle[0])))
        looked += low.size
        bottom = min(float(low.min()), least)
        # Smaller boxes lie between two doubles: rounding outward would undo every further cut. The
        # bound holds whenever the search ends; only how tight it is depends on that.
        stuck = looked >= affordable or float(size.max()) < 2.0**-45
        if stuck or least - bottom <= gap * (most - least):
            return bottom, least
        # A value of ``least`` is attained, so a box all above it does not hold the minimum.
        candidates = low <= least
        axes = widest_axis(changes, size)[candidates]
        start, size = split_boxes(start[:, candidates], size[:, candidates], axes)


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
        >>> from hartley.boxes.box import Box
        >>> from hartley.boxes.expression import parse_expression
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
        wrong, needed = UNDEFINED[node.operation]
        problem = f"The query '{expression_text(expression)}' {wrong} somewhere in the box"
        if fine is None:
            problem = f"Whether the query '{expression_text(expression)}' {wrong} cannot be decided"
        raise OptionError(
            problem, hint=f"choose ranges in which {expression_text(argument)} {needed}"
        )


def expression_text(expression: Expression) -> str:
    """Return a query as text, cut where it is long."""
    text = str(expression)
    return text if len(text) <= 80 else f"{text[:60]} ... {text[-15:]}"


def _always_fits(operation: str, argument: Expression, box: Box) -> bool | None:
    """Return whether an operation is defined everywhere; None when that stays undecided."""
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
    return _search(operation, UnitBox(argument, box))


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


def _search(operation: str, frame: UnitBox) -> bool | None:
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
        axes = widest_axis(changes, size)[unsettled]
        start, size = split_boxes(start[:, unsettled], size[:, unsettled], axes)
    return True
