"""The measure of the part of a box that a query sends into an interval."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.exact import log_ratio, round_up
from hartley.ranges.box import Interval
from hartley.ranges.enclosure import check_defined
from hartley.ranges.expression import Expression, as_expression
from hartley.ranges.inversion import invert
from hartley.ranges.irwin_hall import slab_share
from hartley.ranges.rational import natural_range

if TYPE_CHECKING:
    from collections.abc import Callable

    from hartley.ranges.box import Box

    Bounds = tuple[Fraction, Fraction]
    Linear = tuple[dict[str, Fraction], Fraction]

NOTHING: Bounds = (Fraction(0), Fraction(0))
EVERYTHING: Bounds = (Fraction(1), Fraction(1))


@dataclass(frozen=True)
class Volume:
    """A volume that lies between two exact numbers, or is one.

    Example:
        >>> Volume(Fraction(1, 2), Fraction(1, 2)).log()
        (-1.0, -1.0)
    """

    low: Fraction
    high: Fraction

    @property
    def exact(self) -> bool:
        """Whether the volume is known exactly."""
        return self.low == self.high

    def log(self, base: float = 2) -> tuple[float, float]:
        """Return bounds on the logarithm, however small or large the volume is.

        Rounded outward, and without need where the volume is a power of two and the base is 2.
        """
        low, high = (log_ratio(end.numerator, end.denominator, base=base) for end in self.ends)
        plain = [end == 0 or (base == 2 and _is_power_of_two(end)) for end in self.ends]
        return low if plain[0] else -round_up(-low), high if plain[1] else round_up(high)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """Both bounds."""
        return self.low, self.high


def _is_power_of_two(number: Fraction) -> bool:
    return number.numerator.bit_count() == number.denominator.bit_count() == 1


def volume(
    box: Box,
    query: Expression | str | Callable[..., Any],
    interval: Interval | tuple[Any, Any],
    *,
    gap: float = 1e-6,
) -> Volume:
    r"""Return the measure of the part of a box that a query sends into an interval.

    .. math:: \mu\{x \in B : f(x) \in I\}

    Linear queries: exact in rational numbers for few different |coefficient| * width or up to 17
    variables, else certified to about 1e-9 relative, at any n. Absolute values, roots, multiples,
    and the minimum or maximum of queries about different people lead back to their arguments. Any
    other query: certified by set inversion until (high - low) <= gap * low, or honestly wider after
    two million boxes. The ends of the interval count: a query like max(x, 0) has values of
    positive measure.

    Args:
        box: what could be true.
        query: an expression, its text, or a Python function of the box's variables.
        interval: an ``Interval``, or the two ends of a closed one.
        gap: how far apart the bounds may be, as a part of the volume.

    Example:
        >>> from hartley.ranges.box import Box
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
    low, high = _share(expression, box, Interval.of(interval), gap)
    return Volume(low * box.volume, high * box.volume)


def _share(expression: Expression, box: Box, interval: Interval, gap: float) -> Bounds:
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
        parts = [_share(inner, box, part, gap) for part in intervals]
        return sum((p[0] for p in parts), Fraction(0)), sum((p[1] for p in parts), Fraction(0))
    bounds = _extreme_share(expression, box, interval, gap)
    if bounds is not None and bounds[1] - bounds[0] <= gap * bounds[0]:
        return bounds
    share = invert(expression, box, interval, gap=gap)
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
    expression: Expression, box: Box, interval: Interval, gap: float
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
            share = _share(part, box, below, gap / 8)
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
