"""The measure of the part of a box that a query sends into an interval."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.errors import OptionError
from hartley.ranges.boxes import array_intervals as outward
from hartley.ranges.boxes.box import Interval
from hartley.ranges.boxes.enclosure import Frame, check_defined, halve, loosest
from hartley.ranges.boxes.exact_intervals import natural_range
from hartley.ranges.boxes.expression import Expression, as_expression
from hartley.ranges.boxes.irwin_hall import slab_share
from hartley.ranges.joint_range import Size

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hartley.ranges.boxes.array_intervals import Array, Pair
    from hartley.ranges.boxes.box import Box

    Mask = NDArray[np.bool_]
    Bounds = tuple[Fraction, Fraction]
    Linear = tuple[dict[str, Fraction], Fraction]


MOST_BOXES = 2_000_000
"""How many boxes are looked at before the gap reached so far is the answer."""
SMALLEST_SHARE = 1e-13
"""A gap of this share of the box counts as closed: rounding hides anything finer."""
SMALLEST_SIDE = 2.0**-40
SLOPES_KEPT = 4
"""The half-space bound works in the directions of so many largest slopes."""
AT_ONCE = 16_384


@dataclass(frozen=True)
class Share:
    """Certified bounds on a share of a box, and how many boxes it took."""

    low: float
    high: float
    boxes: int


def invert(
    expression: Expression, box: Box, interval: Interval, *, gap: float, most: int | None = None
) -> Share:
    r"""Return bounds on the share of a box in which a query lies in an interval.

    Set inversion by branch and bound (Jaulin and Walter 1993) on arrays of boxes in units of the
    box, so that every side is a power of two. Boxes that the interval's edge crosses are bounded
    by half-spaces: a slope form f = f(m) + S (x - m) lies between two parallel planes, whose share
    of the box is known in closed form, so a box of width w is settled up to w^(n+1), and the gap
    falls as the square of the width. The query must be defined in the whole box.

    A bound: low <= truth <= high. It ends when high - low <= gap * low, when the gap is below
    1e-13 of the box, or after two million boxes, or as many as are given. Grows as gap^-(n-1)/2
    for n variables.
    """
    task = _Inversion(expression, box, interval)
    sides = task.frame.dimension
    most = most_boxes(sides) if most is None else most
    inside, looked = 0.0, 1
    live = task.bound(np.zeros((sides, 1)), np.ones((sides, 1)))
    while True:
        whole = live.low >= live.volume
        inside += float(live.volume[whole].sum())  # powers of two, so exact down to 2^-52
        # Boxes that lie inside are added once, boxes outside are dropped: only the edge is split.
        live = live.take(~whole & (live.high > 0))
        low, high = _sum_below(live.low, inside), _sum_above(live.high, inside)
        chosen = _worth_splitting(live, max(gap * low, SMALLEST_SHARE), high - low)
        if looked >= most or not chosen.any():
            return Share(low, min(high, 1.0), looked)
        split = live.take(chosen)
        halves = task.bound(*halve(split.start, split.size, split.axis))
        looked += halves.volume.size
        live = _Boxes.joined([live.take(~chosen), halves])


def most_boxes(sides: int) -> int:
    """Return how many boxes are looked at for one volume; fewer where each takes longer."""
    return MOST_BOXES // max(1, sides // 3)


def _sum_below(parts: Array, start: float) -> float:
    # Pairwise summation of even a thousand million terms is off by less than 64 units.
    return max((start + float(parts.sum())) * (1 - 64 * outward.EPSILON), 0.0)


def _sum_above(parts: Array, start: float) -> float:
    return (start + float(parts.sum())) * (1 + 64 * outward.EPSILON)


@dataclass(frozen=True)
class _Boxes:
    """Boxes in units of the whole, what they hold at least and at most, and how to split them."""

    start: Array
    size: Array
    volume: Array
    low: Array
    high: Array
    axis: NDArray[np.intp]

    def take(self, which: Mask) -> _Boxes:
        return _Boxes(*(getattr(self, field.name)[..., which] for field in fields(self)))

    @classmethod
    def joined(cls, parts: list[_Boxes]) -> _Boxes:
        if len(parts) == 1:
            return parts[0]
        return cls(
            *(
                np.concatenate([getattr(part, field.name) for part in parts], axis=-1)
                for field in fields(cls)
            )
        )


def _worth_splitting(live: _Boxes, target: float, total: float) -> Mask:
    """Choose the boxes to split: the widest gaps, as many as it takes if halving helps by half."""
    gaps = live.high - live.low
    if total <= target or not gaps.size:
        return np.zeros(gaps.size, bool)
    order = np.argsort(gaps)[::-1]
    # Halving a box closes at least about half of its gap, so twice the excess has to be halved.
    needed = np.searchsorted(np.cumsum(gaps[order]), 2 * (total - target)) + 1
    chosen = np.zeros(gaps.size, bool)
    chosen[order[:needed]] = True
    chosen &= (gaps > target / (4 * gaps.size)) & (live.size.max(axis=0) > SMALLEST_SIDE)
    return chosen


class _Inversion:
    """A query, an interval, and what boxes hold of its preimage."""

    def __init__(self, expression: Expression, box: Box, interval: Interval) -> None:
        self.frame = Frame(expression, box)
        self.interval = interval
        self.lower = outward.constant(interval.low)
        self.upper = outward.constant(interval.high)

    def bound(self, start: Array, size: Array) -> _Boxes:
        """Bound what the boxes hold, a manageable number of them at a time."""
        return _Boxes.joined(
            [
                self._bound(start[:, k : k + AT_ONCE], size[:, k : k + AT_ONCE])
                for k in range(0, start.shape[1], AT_ONCE)
            ]
        )

    def _bound(self, start: Array, size: Array) -> _Boxes:
        with np.errstate(all="ignore"):  # infinities and NaN are part of this arithmetic
            form, changes = self.frame.linearise(start, size)
            low, high = self._shares(form.middle, changes, size.shape[1])
            inside, outside = self._decided(form.values)
            volume = size.prod(axis=0)
            low = np.where(inside, 1.0, np.where(outside, 0.0, low)) * volume
            high = np.where(outside, 0.0, np.where(inside, 1.0, high)) * volume
            return _Boxes(start, size, volume, low, high, loosest(changes, size))

    def _decided(self, values: Pair) -> tuple[Mask, Mask]:
        """Return which boxes lie in the interval whole, and which not at all, minding its ends."""
        (low, high), ends = values, self.interval
        # An end lies between two neighbouring doubles or is one. A double that is greater than the
        # lower neighbour is at least the upper one, so each comparison decides about the exact end.
        above = low >= self.lower[1] if ends.low_closed else low > self.lower[0]
        below = high <= self.upper[0] if ends.high_closed else high < self.upper[1]
        under = high < self.lower[1] if ends.low_closed else high <= self.lower[0]
        over = low > self.upper[0] if ends.high_closed else low >= self.upper[1]
        return above & below, under | over

    def _shares(self, middle: Pair, changes: list[Pair], count: int) -> Pair:
        """Bound what share of every box lies in the interval, by half-spaces."""
        centre = (middle[0] + middle[1]) / 2
        loose = outward.up(np.maximum(middle[1] - centre, centre - middle[0]))
        steep = []
        for low, high in changes:
            slope = (low + high) / 2
            loose = loose + outward.up(np.maximum(high - slope, slope - low)) / 2
            steep.append(np.broadcast_to(np.abs(slope), count))
        # Signs do not matter, since the cube is symmetric about its middle. The closed form costs
        # 2^n n!, so all but a few largest slopes count as uncertainty instead.
        steep = _sorted_down(steep)
        loose = loose + sum(steep[SLOPES_KEPT:], np.zeros(1)) / 2
        steepest = steep[:SLOPES_KEPT]
        total = sum(steepest, np.zeros(1))
        scale = np.abs(centre) + total + loose
        ends = []
        for edge in (self.lower, self.upper):
            size = scale + np.abs(edge[0]) + np.abs(edge[1])
            # The plane moves outward by what the slopes leave open and by what these sums are
            # rounded.
            reach = loose + outward.EPSILON * (len(changes) + 8) * size + outward.TINY
            level = total / 2 - centre
            below = half_space(steepest, edge[0] + level - reach)[0]
            ends.append((below, half_space(steepest, edge[1] + level + reach)[1]))
        known = np.isfinite(scale)
        low = np.where(known, np.maximum(ends[1][0] - ends[0][1], 0.0), 0.0)
        return low, np.where(known, np.minimum(ends[1][1] - ends[0][0], 1.0), 1.0)


def _sorted_down(arrays: list[Array]) -> list[Array]:
    """Sort several arrays against each other, the largest first."""
    if len(arrays) == 1:
        return arrays
    if len(arrays) == 2:
        return [np.maximum(*arrays), np.minimum(*arrays)]
    return list(np.sort(np.stack(arrays), axis=0)[::-1])


def half_space(widths: list[Array], level: Array) -> Pair:
    r"""Bound the share of the unit cube below a plane whose widths are sorted, the largest first.

    .. math:: H(t) = \mu\{v \in [0,1]^n : \textstyle\sum_i a_i v_i \le t\}, \qquad
        n\,H(t) = \sum_i \tau\,H^{(i)}(t) + (1 - \tau)\,H^{(i)}(t - a_i), \; \tau = t / \sum_i a_i

    with H^(i) the same without the i-th width: the divergence theorem about a point of the plane.
    Every term is positive, so nothing cancels, however different the widths: the error stays
    below 16 n^2 units in the last place, which the bounds include.

    Example:
        >>> low, high = half_space([np.array([2.0]), np.array([1.0])], np.array([1.0]))
        >>> float(low[0]) <= 0.25 <= float(high[0])
        True
    """
    with np.errstate(all="ignore"):  # a slope may be zero
        share = _half_space(widths, level)
    error = 16 * len(widths) ** 2 * outward.EPSILON
    total = sum(widths[1:], widths[0]) * (1 + len(widths) * outward.EPSILON)
    low = np.where(level >= total, 1.0, np.maximum(share - error, 0.0))
    high = np.where(level < 0, 0.0, np.minimum(share + error, 1.0))
    return low, high


def _half_space(widths: list[Array], level: Array) -> Array:
    if len(widths) == 1:
        return np.where(
            level >= widths[0], 1.0, np.where(level > 0, np.minimum(level / widths[0], 1.0), 0.0)
        )
    total = sum(widths[1:], widths[0])
    if len(widths) == 2:
        return _half_plane(widths[0], widths[1], level, total)
    part = np.clip(level / total, 0.0, 1.0)
    share = np.zeros(1)
    for i, width in enumerate(widths):
        rest = widths[:i] + widths[i + 1 :]
        share = share + part * _half_space(rest, level)
        share = share + (1 - part) * _half_space(rest, level - width)
    return np.where(level >= total, 1.0, np.where(level > 0, share / len(widths), 0.0))


def _half_plane(wide: Array, narrow: Array, level: Array, total: Array) -> Array:
    """Return the share below a line, by a triangle or a strip of the smaller of the two sides."""
    near = np.minimum(level, total - level)
    triangle = (near / narrow) * (near / wide) / 2
    corner = np.where(near < narrow, triangle, (near - narrow / 2) / wide)
    share = np.where(level + level <= total, corner, 1 - corner)
    return np.where(level >= total, 1.0, np.where(level > 0, share, 0.0))


NOTHING: Bounds = (Fraction(0), Fraction(0))
EVERYTHING: Bounds = (Fraction(1), Fraction(1))


@dataclass(frozen=True)
class Volume(Size):
    """A volume that lies between two exact numbers, or is one.

    Example:
        >>> Volume(Fraction(1, 2), Fraction(1, 2)).log()
        (-1.0, -1.0)
        >>> Volume.between(Fraction(1), Fraction(2), gap=1e-6, whole=Fraction(4)).reached
        False
    """

    reached: bool = True
    """Whether the two are as near to each other as was wished."""

    @classmethod
    def between(cls, low: Fraction, high: Fraction, *, gap: float, whole: Fraction) -> Volume:
        """Return a volume with whether its ends differ by no more than a part of it."""
        closed = max(low * Fraction(gap), whole * Fraction(4 * SMALLEST_SHARE))
        return cls(low, high, high - low <= closed * Fraction(1 + 1e-12))


def volume(
    box: Box,
    query: Expression | str | Callable[..., Any],
    interval: Interval | tuple[Any, Any],
    *,
    gap: float = 1e-6,
    most: int | None = None,
) -> Volume:
    r"""Return the measure of the part of a box that a query sends into an interval.

    .. math:: \mu\{x \in B : f(x) \in I\}

    Linear queries: exact in rational numbers for few different |coefficient| * width or up to 17
    variables, else certified to about 1e-9 relative, at any n. Absolute values, roots, multiples,
    and the minimum or maximum of queries about different people lead back to their arguments. Any
    other query: certified by set inversion until (high - low) <= gap * low, or wider after two
    million boxes, as happens from five or six variables on: ``reached`` is False then. The ends
    of the interval count: a query like max(x, 0) has values of positive measure.

    Args:
        box: what could be true.
        query: an expression, its text, or a Python function of the box's variables.
        interval: an ``Interval``, or the two ends of a closed one.
        gap: how far apart the bounds may be, as a part of the volume.
        most: how many boxes are looked at before they stay further apart.

    Example:
        >>> from hartley.ranges.boxes.box import Box
        >>> square = Box.cube(-2, 2, size=2)
        >>> volume(square, "(x1 + x2) / 2", (-2, -1)).low
        Fraction(2, 1)
        >>> ellipse = volume(square, "x1**2 + 2*x2**2", (0, 1), gap=1e-4)
        >>> ellipse.exact, round(float(ellipse.low), 3)  # pi / sqrt(2) = 2.2214...
        (False, 2.221)
    """
    if not 0 < gap < 1:
        raise OptionError(
            f"The gap {gap} is not between 0 and 1", hint="it is a part of the volume, such as 1e-6"
        )
    expression = as_expression(query, box.names)
    check_defined(expression, box)
    if box.volume == 0:
        return Volume(*NOTHING)
    # A share of the box is enclosed, and multiplied by its exact volume at the very end.
    low, high = _share(expression, box, Interval.of(interval), gap, most)
    ends = low * box.volume, high * box.volume
    return Volume.between(*ends, gap=gap, whole=box.volume)


def _share(
    expression: Expression, box: Box, interval: Interval, gap: float, most: int | None
) -> Bounds:
    """Return bounds on the share of the box."""
    form = expression.linear()
    if form is not None:
        return _linear_share(form, box, interval)
    ends = natural_range(expression, box.sides)
    if ends is not None:
        shared = interval.intersect(Interval(*ends))
        if shared is None or shared == Interval(*ends):
            return NOTHING if shared is None else EVERYTHING
        interval = _cleared(interval, *ends)
    if not expression.names:  # a number like exp(1), too close to an end to tell
        return Fraction(0), Fraction(1)
    led_back = _arguments(expression, interval)
    if led_back is not None:
        inner, intervals = led_back
        parts = [_share(inner, box, part, gap, most) for part in intervals]
        return sum((p[0] for p in parts), Fraction(0)), sum((p[1] for p in parts), Fraction(0))
    bounds = _extreme_share(expression, box, interval, gap, most)
    if bounds is not None and bounds[1] - bounds[0] <= gap * bounds[0]:
        return bounds
    share = invert(expression, box, interval, gap=gap, most=most)
    low, high = Fraction(share.low), Fraction(share.high)
    return (low, high) if bounds is None else (max(low, bounds[0]), min(high, bounds[1]))


def _cleared(interval: Interval, bottom: Fraction, top: Fraction) -> Interval:
    """Move an end that no value can pass away from the values, where rounding does no harm."""
    low, low_closed = interval.low, interval.low_closed
    high, high_closed = interval.high, interval.high_closed
    if low < bottom or (low == bottom and low_closed):
        low, low_closed = bottom - 1, True
    if high > top or (high == top and high_closed):
        high, high_closed = top + 1, True
    return Interval(low, high, low_closed, high_closed)


def _linear_share(form: Linear, box: Box, interval: Interval) -> Bounds:
    coefficients, bottom = form
    widths: Counter[Fraction] = Counter()
    for name, by in coefficients.items():
        side = box[name]
        bottom += min(by * side.low, by * side.high)
        widths[abs(by) * side.length] += 1
    if not widths:
        return EVERYTHING if bottom in interval else NOTHING
    return slab_share(list(widths.items()), interval.low - bottom, interval.high - bottom)


def _arguments(
    expression: Expression, interval: Interval
) -> tuple[Expression, list[Interval]] | None:
    """Lead a function of one argument back to it: where the argument must lie."""
    operation, parts = expression.operation, expression.parts
    if operation == "neg":
        return parts[0], [_stretched(interval, Fraction(-1), Fraction(0))]
    if operation == "sqrt":
        return parts[0], _squares(interval)
    if operation == "abs":
        return parts[0], _mirrored(interval)
    if operation in ("+", "-", "*", "/"):
        return _without_number(operation, parts, interval)
    return None


def _without_number(
    operation: str, parts: tuple[Expression, ...], interval: Interval
) -> tuple[Expression, list[Interval]] | None:
    """Lead the sum or product of a query and a number, or their quotient, back to the query."""
    forms = [part.linear() for part in parts]
    fixed = [form is not None and not form[0] for form in forms]
    which = 0 if fixed[0] else 1
    form = forms[which]
    if form is None or not fixed[which] or (operation == "/" and which == 0):
        return None
    number, by, shift = form[1], Fraction(1), Fraction(0)
    if operation in ("*", "/"):
        if number == 0:
            return None
        by = 1 / number if operation == "*" else number
    else:
        shift = -number if operation == "+" else number
        by = Fraction(-1) if operation == "-" and which == 0 else by
    return parts[1 - which], [_stretched(interval, by, shift)]


def _stretched(interval: Interval, by: Fraction, shift: Fraction) -> Interval:
    """Return by * interval + shift."""
    ends = [interval.low * by + shift, interval.high * by + shift]
    closed = [interval.low_closed, interval.high_closed]
    if by < 0:
        ends, closed = ends[::-1], closed[::-1]
    return Interval(ends[0], ends[1], closed[0], closed[1])


def _squares(interval: Interval) -> list[Interval]:
    """Return where a number must lie for its square root to lie in an interval."""
    positive = interval.intersect(Interval(Fraction(0), max(interval.high, Fraction(0))))
    if positive is None:
        return []
    return [Interval(positive.low**2, positive.high**2, positive.low_closed, positive.high_closed)]


def _mirrored(interval: Interval) -> list[Interval]:
    """Return where a number must lie for its absolute value to lie in an interval."""
    positive = interval.intersect(Interval(Fraction(0), max(interval.high, Fraction(0))))
    if positive is None:
        return []
    low, high, closed = positive.low, positive.high, positive.high_closed
    if low == 0 and positive.low_closed:
        return [Interval(-high, high, closed, closed)]
    return [positive, Interval(-high, -low, closed, positive.low_closed)]


def _extreme_share(
    expression: Expression, box: Box, interval: Interval, gap: float, most: int | None
) -> Bounds | None:
    """Return the share of a minimum or maximum of queries that have no variable in common.

    The largest of several is at most t when each is, and independent chances multiply.
    """
    if expression.operation not in ("min", "max"):
        return None
    parts = _chain(expression)
    if expression.operation == "min":  # the largest of the negatives
        interval, parts = _stretched(interval, Fraction(-1), Fraction(0)), [-p for p in parts]
    names = [name for part in parts for name in part.names]
    bottoms = [natural_range(part, box.sides) for part in parts]
    if len(names) != len(set(names)) or None in bottoms:
        return None
    ends = [
        (interval.low, not interval.low_closed),  # what lies below is left out
        (interval.high, interval.high_closed),
    ]
    bounds = []
    for level, closed in ends:
        low = high = Fraction(1)
        for part, bottom in zip(parts, bottoms, strict=True):
            assert bottom is not None  # checked above
            below = Interval(min(bottom[0], level) - 1, level, high_closed=closed)
            share = _share(part, box, below, gap / 8, most)
            low, high = low * share[0], high * share[1]
        bounds.append((low, high))
    return max(bounds[1][0] - bounds[0][1], Fraction(0)), bounds[1][1] - bounds[0][0]


def _chain(expression: Expression) -> list[Expression]:
    """Return what max(max(a, b), c) compares, without recursion along the chain."""
    parts = []
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if node.operation == expression.operation:
            waiting.extend(node.parts)
        else:
            parts.append(node)
    return parts
