"""From integer totals to exact cells, and to intervals that certainly contain the truth.

Everything is computed from cells, never from the totals: what is shown is a function of the cells,
so it reveals no more than they do. All numbers are exact; roots are rounded outward.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hartley.errors import EngineError
from hartley.results.answer import NULL, Estimate, Reading
from hartley.trusted.questions.batch import Statistic
from hartley.trusted.questions.question import Item, NumberKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.trusted.questions.batch import Question
    from hartley.trusted.questions.question import Selection

ROOT_GRID = 2**64
"""An irrational root is rounded outward to a multiple of 1 over this number."""

Interval = tuple[Fraction, Fraction]


def cell_of(question: Question, total: int | None) -> int | None:
    """Return the number of the cell that a total lies in; None if there is no total.

    .. math:: k = floor((t - least) / step)

    Example:
        >>> from hartley.trusted.questions.batch import All, Question, Statistic
        >>> count = Question(Statistic.COUNT, All(), None, None, 0, 10, Fraction(3))
        >>> [cell_of(count, total) for total in (0, 2, 3, 10)]
        [0, 0, 1, 3]
    """
    if total is None and question.statistic is Statistic.ORDER:
        return None
    if total is None or not question.least <= total <= question.most:
        raise EngineError(
            "A total from the engine is outside the bounds of the schema",
            hint="the coded table does not belong to this schema; load it again",
        )
    return math.floor((total - question.least) / question.step)


def cell_bounds(question: Question, cell: int) -> tuple[int, int]:
    r"""Return the smallest and the largest total of a cell.

    .. math:: \lceil least + k w \rceil, \min(\lceil least + (k+1) w \rceil - 1, most)

    Example:
        >>> from hartley.trusted.questions.batch import All, Question, Statistic
        >>> count = Question(Statistic.COUNT, All(), None, None, 0, 10, Fraction(5, 2))
        >>> [cell_bounds(count, cell) for cell in range(5)]
        [(0, 2), (3, 4), (5, 7), (8, 9), (10, 10)]
    """
    low = question.least + math.ceil(cell * question.step)
    high = min(question.least + math.ceil((cell + 1) * question.step) - 1, question.most)
    return low, high


def read_cells(selection: Selection, cells: Sequence[int | None]) -> Reading:
    """Turn the cells of a selection's questions into intervals that contain the truth."""
    bounds = [
        None if cell is None else cell_bounds(question, cell)
        for question, cell in zip(selection.questions, cells, strict=True)
    ]
    width = len(selection.labels)
    estimates = [_promised(_estimate(item, bounds), item, bounds) for item in selection.items]
    rows = [tuple(estimates[i : i + width]) for i in range(0, len(estimates), width)]
    conditional = any(item.min_rows is not None for item in selection.items)
    return Reading(selection.keys, selection.groups, selection.labels, tuple(rows), conditional)


def _promised(estimate: Estimate, item: Item, bounds: Sequence[tuple[int, int] | None]) -> Estimate:
    """Say whether enough rows count for the error that was promised."""
    if item.min_rows is None:
        return estimate
    fewest, _ = _interval(bounds, item.count) or _exactly(item.rows)
    return replace(estimate, promised=fewest >= item.min_rows)


def _estimate(item: Item, bounds: Sequence[tuple[int, int] | None]) -> Estimate:
    if item.kind is NumberKind.ORDER:
        return _order(item, bounds)
    count = _interval(bounds, item.count) or _exactly(item.rows)
    if item.kind is NumberKind.COUNT:
        return Estimate.within(*count)
    total = _interval(bounds, item.sum)
    assert total is not None
    if item.bounds is None:  # certainly no row
        zero = Fraction(0)
        return Estimate.within(zero, zero) if item.kind is NumberKind.SUM else NULL
    count, total = _sharpened(count, total, item.bounds)
    if item.kind is NumberKind.SUM:
        return _sum(item, count, total)
    return _divided(item, count, total, bounds)


def _divided(
    item: Item, count: Interval, total: Interval, bounds: Sequence[tuple[int, int] | None]
) -> Estimate:
    """Compute an average or a spread: a total over the number of rows."""
    least_rows = 2 if item.sample else 1
    if count[1] < least_rows:
        return NULL
    may_be_null = count[0] < least_rows
    count = max(count[0], Fraction(least_rows)), count[1]
    if item.kind is NumberKind.AVERAGE:
        low, high = _average(item, count, total)
        return Estimate.within(low, high, may_be_null=may_be_null, date=item.date)
    squares = _interval(bounds, item.squares)
    assert squares is not None
    low, high = _variance(item, count, total, squares)
    if item.kind is NumberKind.DEVIATION:
        low, high = root_down(low) * abs(item.scale), root_up(high) * abs(item.scale)
    else:
        low, high = low * item.scale**2, high * item.scale**2
    return Estimate.within(low, high, may_be_null=may_be_null)


def _order(item: Item, bounds: Sequence[tuple[int, int] | None]) -> Estimate:
    assert item.order is not None
    cell_range = bounds[item.order]
    if cell_range is None or item.bounds is None:
        return NULL
    low, high = _meet(_exactly(cell_range), _exactly(item.bounds))
    return Estimate.within(*_scaled(item, low, high), date=item.date)


def _sum(item: Item, count: Interval, total: Interval) -> Estimate:
    low, high = sorted(item.scale * end for end in total)
    shifts = sorted(item.shift * end for end in count)
    values = _scaled(item, *_exactly(item.ends))
    products = [rows * value for rows in count for value in values]
    bounds = _meet((low + shifts[0], high + shifts[1]), (min(products), max(products)))
    return Estimate.within(*bounds)


def _average(item: Item, count: Interval, total: Interval) -> Interval:
    """Divide the intervals over all pairs of ends, within the range of the values."""
    quotients = [end / rows for end in total for rows in count]
    return _scaled(item, *_meet((min(quotients), max(quotients)), _exactly(item.ends)))


def _variance(item: Item, count: Interval, total: Interval, squares: Interval) -> Interval:
    r"""Bound a variance of values from l to h with a sum in [a, b] and squares in [c, d].

    .. math:: max(0, c/n - (b/n)^2) <= v <= min(d/n - (a/n)^2, max_m (h - m)(m - l))

    where m runs over the possible means (the last bound is that of Bhatia and Davis, 2000; with an
    unknown mean it is (h - l)^2/4). A sample variance is n/(n-1) times that.
    """
    least, most = _exactly(item.ends)
    fewest, most_rows = count
    means = _meet((total[0] / most_rows, total[1] / fewest), (least, most))
    low = max(Fraction(0), squares[0] / most_rows - means[1] ** 2)
    middle = min(max((least + most) / 2, means[0]), means[1])
    high = min(squares[1] / fewest - means[0] ** 2, (most - middle) * (middle - least))
    if item.sample:
        low, high = low * most_rows / (most_rows - 1), high * fewest / (fewest - 1)
    return low, max(low, high)


def _sharpened(
    count: Interval, total: Interval, reach: tuple[int, int]
) -> tuple[Interval, Interval]:
    """Use that n rows between l and h add up to between n l and n h, both ways."""
    least, most = _exactly(reach)
    products = [rows * end for rows in count for end in (least, most)]
    total = _meet(total, (min(products), max(products)))
    fewest, most_rows = count
    if most > 0:
        fewest = max(fewest, Fraction(math.ceil(total[0] / most)))
    if least < 0:
        fewest = max(fewest, Fraction(math.ceil(total[1] / least)))
    if least > 0:
        most_rows = min(most_rows, Fraction(math.floor(total[1] / least)))
    if most < 0:
        most_rows = min(most_rows, Fraction(math.floor(total[0] / most)))
    return _meet(count, (fewest, most_rows)), total


def _scaled(item: Item, low: Fraction, high: Fraction) -> Interval:
    ends = sorted(item.scale * end + item.shift for end in (low, high))
    return ends[0], ends[1]


def _interval(bounds: Sequence[tuple[int, int] | None], place: int | None) -> Interval | None:
    cell_range = None if place is None else bounds[place]
    return None if cell_range is None else _exactly(cell_range)


def _exactly(pair: tuple[int, int]) -> Interval:
    return Fraction(pair[0]), Fraction(pair[1])


def _meet(first: Interval, second: Interval) -> Interval:
    """Return the intersection of two intervals that both contain the truth."""
    low, high = max(first[0], second[0]), min(first[1], second[1])
    return (low, high) if low <= high else first


def root_down(square: Fraction) -> Fraction:
    """Return a square root: exact if it is rational, otherwise rounded down.

    Example:
        >>> root_down(Fraction(9, 4)), root_down(Fraction(2)) ** 2 < 2 < root_up(Fraction(2)) ** 2
        (Fraction(3, 2), True)
    """
    exact = _rational_root(square)
    if exact is not None:
        return exact
    return Fraction(math.isqrt(math.floor(square * ROOT_GRID**2)), ROOT_GRID)


def root_up(square: Fraction) -> Fraction:
    """Return a square root: exact if it is rational, otherwise rounded up."""
    exact = _rational_root(square)
    return root_down(square) + Fraction(1, ROOT_GRID) if exact is None else exact


def _rational_root(square: Fraction) -> Fraction | None:
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    return root if root**2 == square else None
