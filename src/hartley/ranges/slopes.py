"""Slopes of a query in many boxes at once, and boxes given in units of one box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hartley.ranges import outward

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hartley.ranges.box import Box
    from hartley.ranges.expression import Expression
    from hartley.ranges.outward import Array, Pair

    Slopes: TypeAlias = dict[str, Pair]

ONE = np.ones(1), np.ones(1)


@dataclass(frozen=True)
class Linearised:
    """A query in every box as its value in the middle plus slopes times the distance from it."""

    middle: Pair
    values: Pair
    slopes: Slopes
    """Variables that are absent do not occur."""


def linearise(
    expression: Expression,
    sides: Mapping[str, Pair],
    middles: Mapping[str, Pair],
) -> Linearised:
    r"""Return slopes that hold all difference quotients of a query against the middle of a box.

    .. math:: f(x) \in f(m) + \sum_i S_i\,(x_i - m_i) \quad \text{for all } x \text{ in the box}

    Slope arithmetic (Krawczyk and Neumaier 1985); about twice as tight as derivatives, and valid
    at kinks. A bound. Costs a few times the enclosure for every variable.

    Example:
        >>> from hartley.ranges.expression import parse_expression
        >>> one, two, three = (np.array([number]) for number in (1.0, 2.0, 3.0))
        >>> found = linearise(parse_expression("x**2"), {"x": (one, three)}, {"x": (two, two)})
        >>> [float(end[0].round(9)) for end in found.slopes["x"]]
        [3.0, 5.0]
    """
    forms: dict[int, Linearised] = {}
    with np.errstate(all="ignore"):  # infinities and NaN are part of this arithmetic
        for node in expression.nodes():
            operands = [forms[id(part)] for part in node.parts]
            middle = outward.apply(node, [form.middle for form in operands], middles)
            values = outward.apply(node, [form.values for form in operands], sides)
            forms[id(node)] = Linearised(middle, values, _slopes(node, operands, middle))
        found = forms[id(expression)]
        return Linearised(
            outward.settle(found.middle),
            outward.settle(found.values),
            {name: outward.settle(pair) for name, pair in found.slopes.items()},
        )


def _slopes(node: Expression, operands: list[Linearised], middle: Pair) -> Slopes:
    operation = node.operation
    if not operands:
        return {node.arguments[0]: ONE} if operation == "var" else {}
    one = operands[0]
    if len(operands) == 1:
        factor = _outer_slope(node, one, middle)
        return {name: outward.multiply(factor, pair) for name, pair in one.slopes.items()}
    other = operands[1]
    if operation in ("+", "-"):
        return _scaled_sum(one.slopes, None, other.slopes, 1 if operation == "+" else -1)
    if operation == "*":
        return _product_slopes(one, other)
    if operation == "/":  # 1/g - 1/g_m = -(g - g_m) / (g g_m)
        turned = outward.negate(outward.multiply(other.values, other.middle))
        return _product_slopes(
            one,
            Linearised(
                outward.divide(ONE, other.middle),
                outward.divide(ONE, other.values),
                {name: outward.divide(pair, turned) for name, pair in other.slopes.items()},
            ),
        )
    return _chosen(operation, one, other)


def _product_slopes(one: Linearised, other: Linearised) -> Slopes:
    """Use 2 (f g - f_m g_m) = (f - f_m)(g + g_m) + (f + f_m)(g - g_m).

    Both factors alike, so that either's width shows in the slopes of the other.
    """
    first = _half(outward.add(other.values, other.middle))
    second = _half(outward.add(one.values, one.middle))
    return _scaled_sum(one.slopes, first, other.slopes, second)


def _half(pair: Pair) -> Pair:
    return pair[0] / 2 - outward.TINY, pair[1] / 2 + outward.TINY


def _outer_slope(node: Expression, inner: Linearised, middle: Pair) -> Pair:
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


def _power_slope(inner: Linearised, exponent: int) -> Pair:
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


def _chosen(operation: str, one: Linearised, other: Linearised) -> Slopes:
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


class Frame:
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

    def linearise(self, start: Array, size: Array) -> tuple[Linearised, list[Pair]]:
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
        return whole[0] * size[axis], whole[1] * size[axis]


def halve(start: Array, size: Array, axes: NDArray[np.intp]) -> Pair:
    """Halve every box across one of its sides.

    Example:
        >>> starts, sizes = halve(np.zeros((2, 1)), np.ones((2, 1)), np.array([1]))
        >>> starts.tolist(), sizes.tolist()
        ([[0.0, 0.0], [0.0, 0.5]], [[1.0, 1.0], [0.5, 0.5]])
    """
    each = np.arange(axes.size)
    first, half = start.copy(), size.copy()
    half[axes, each] *= 0.5
    second = first.copy()
    second[axes, each] += half[axes, each]
    return np.concatenate([first, second], axis=1), np.concatenate([half, half], axis=1)


def loosest(changes: list[Pair], size: Array) -> NDArray[np.intp]:
    """Choose the side to halve: where the slope is least certain, and the longer of equals."""
    # The width of one side may show in the slope of another, so all count a little, and of two
    # that promise the same, as for x*y, the longer is taken, which keeps boxes square.
    loose = np.stack([np.broadcast_to(high - low, size.shape[1]) for low, high in changes])
    scores = (loose + loose.mean(axis=0) / 4) * np.sqrt(size)
    unknown = ~np.isfinite(scores).all(axis=0)
    best: NDArray[np.intp] = np.where(unknown, size.argmax(axis=0), scores.argmax(axis=0))
    return best
