"""Set inversion: certified bounds on the share of a box that a query sends into an interval."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from hartley.ranges import outward
from hartley.ranges.slopes import Frame, halve, loosest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hartley.ranges.box import Box, Interval
    from hartley.ranges.expression import Expression
    from hartley.ranges.outward import Array, Pair

    Mask = NDArray[np.bool_]

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


def invert(expression: Expression, box: Box, interval: Interval, *, gap: float) -> Share:
    r"""Return bounds on the share of a box in which a query lies in an interval.

    Set inversion by branch and bound (Jaulin and Walter 1993) on arrays of boxes in units of the
    box, so that every side is a power of two. Boxes that the interval's edge crosses are bounded
    by half-spaces: a slope form f = f(m) + S (x - m) lies between two parallel planes, whose share
    of the box is known in closed form, so a box of width w is settled up to w^(n+1), and the gap
    falls as the square of the width. The query must be defined in the whole box.

    A bound: low <= truth <= high. It ends when high - low <= gap * low, when the gap is below
    1e-13 of the box, or after two million boxes. Grows as gap^-(n-1)/2 for n variables.
    """
    task = _Inversion(expression, box, interval)
    sides = task.frame.dimension
    most = MOST_BOXES // max(1, sides // 3)
    inside, looked = 0.0, 1
    live = task.bound(np.zeros((sides, 1)), np.ones((sides, 1)))
    while True:
        whole = live.low >= live.volume
        inside += float(live.volume[whole].sum())  # powers of two, so exact down to 2^-52
        live = live.take(~whole & (live.high > 0))
        low, high = _sum_below(live.low, inside), _sum_above(live.high, inside)
        chosen = _worth_splitting(live, max(gap * low, SMALLEST_SHARE), high - low)
        if looked >= most or not chosen.any():
            return Share(low, min(high, 1.0), looked)
        split = live.take(chosen)
        halves = task.bound(*halve(split.start, split.size, split.axis))
        looked += halves.volume.size
        live = _Boxes.joined([live.take(~chosen), halves])


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
        """Say which boxes lie in the interval whole, and which not at all, minding its ends."""
        (low, high), ends = values, self.interval
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
        steep = _sorted_down(steep)
        loose = loose + sum(steep[SLOPES_KEPT:], np.zeros(1)) / 2
        kept = steep[:SLOPES_KEPT]
        total = sum(kept, np.zeros(1))
        scale = np.abs(centre) + total + loose
        ends = []
        for edge in (self.lower, self.upper):
            size = scale + np.abs(edge[0]) + np.abs(edge[1])
            reach = loose + outward.EPSILON * (len(changes) + 8) * size + outward.TINY
            level = total / 2 - centre
            below = half_space(kept, edge[0] + level - reach)[0]
            ends.append((below, half_space(kept, edge[1] + level + reach)[1]))
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
