"""Numbers without a step that a policy could have released a record from: a search over doubles.

Between certain places a release never falls as the column rises (``rises_between``), so that the
doubles which come out as one value lie side by side. Their first and last are found by halving,
each try executed by the engine as a release is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.adversaries.policy_inputs import (
    PossibleInputs,
    beyond_reach,
    exact_number,
    is_promised,
    known_numbers,
)
from hartley.engines.maps.preimages import release_rows
from hartley.engines.maps.rules import Formula
from hartley.ranges.boxes.array_intervals import float_above, float_below
from hartley.ranges.boxes.box import Interval
from hartley.ranges.boxes.signs import ExactColumn, nonnegative_at, truth_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hartley.adversaries.policy_inputs import ObservedRecords
    from hartley.adversaries.policy_parts import PolicyPart
    from hartley.engines.maps.rules import Rule
    from hartley.policies.column import HiddenSide
    from hartley.ranges.boxes.expression import Expression

    Codes = NDArray[np.uint64]

TRIED_AT_ONCE = 400_000
MOST_SEARCHED = 400_000
"""More records, times the pieces of their column, are not searched for."""
SIGN = np.uint64(1 << 63)
ONE = np.uint64(1)


def in_order(numbers: NDArray[np.float64]) -> Codes:
    """Return doubles as whole numbers in the same order, neighbours next to each other.

    Example:
        >>> codes = in_order(np.array([-1.0, 0.0, 5e-324, 1.0]))
        >>> bool((codes[1:] > codes[:-1]).all()), int(codes[2] - codes[1])
        (True, 1)
    """
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.uint64)
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def from_order(codes: Codes) -> NDArray[np.float64]:
    """Return the doubles that whole numbers in order stand for.

    Example:
        >>> from_order(in_order(np.array([-0.1, 7.0]))).tolist()
        [-0.1, 7.0]
    """
    bits = np.where(codes & SIGN, codes ^ SIGN, ~codes)
    return bits.view(np.float64)


def can_be_searched(part: PolicyPart) -> bool:
    """Tell whether the one unknown column of a part is released in order, piece by piece."""
    if len(part.unknown) != 1 or not isinstance(part.domains.get(part.unknown[0]), Interval):
        return False
    return all(policy.rises_between() is not None for policy in part.policies)


def search_inputs(part: PolicyPart, observed: ObservedRecords) -> PossibleInputs:
    """Find for every record the doubles that come out as it, on the engine."""
    pieces = _Pieces(part, observed)
    first, end = pieces.starts, pieces.ends
    for rule, values in zip(part.rules, observed.outputs, strict=True):
        first, end = pieces.narrow(rule, values, first, end)
    (name,) = part.unknown
    if name in observed.windows:
        low, high = in_order(
            observed.windows[name].spread(lambda low, high: (float_below(low), float_above(high)))
        )
        first = np.maximum(first, low[:, None])
        end = np.minimum(end, high[:, None] + ONE)
    fits = end > first
    last = np.where(fits, end - ONE, first)
    zeros = (first < SIGN) & (last >= SIGN)  # minus zero and zero are one number
    counts = np.where(fits, (last - first).astype(np.float64) + 1 - zeros, 0.0)
    least = np.where(fits, from_order(first), np.inf).min(axis=1)
    largest = np.where(fits, from_order(last), -np.inf).max(axis=1)
    possible = fits.any(axis=1)
    sides = [_hidden(part, observed, side, first, last, fits) for side in part.hidden]
    return PossibleInputs(
        part,
        observed,
        (counts.sum(axis=1),),
        (np.where(possible, least, np.nan),),
        (np.where(possible, largest, np.nan),),
        np.zeros(observed.size, bool),
        tuple(can_hold for can_hold, _, _ in sides),
        tuple(can_fail for _, can_fail, _ in sides),
        tuple(promised for _, _, promised in sides),
        stepped=False,
    )


class _Pieces:
    """For every record, the pieces of its column's range on which the release never falls."""

    def __init__(self, part: PolicyPart, observed: ObservedRecords) -> None:
        self.part, self.observed = part, observed
        (self.column,) = part.unknown
        domain = part.domains[self.column]
        assert isinstance(domain, Interval)  # asked before
        self.range = domain
        ends = in_order(np.array([float(domain.low), float(domain.high)]))
        places = [p for policy in part.policies for p in policy.rises_between() or ()]
        # The place itself is a piece: either side may have it, as the sign of a hypothesis says.
        starts = [np.full(observed.size, ends[0])] + [
            np.clip(in_order(self._place(place)) + shift, ends[0], ends[1] + ONE)
            for place in places
            for shift in (np.uint64(0), ONE)
        ]
        self.starts: Codes = np.sort(np.stack(starts, axis=1), axis=1)
        after = np.full((observed.size, 1), ends[1] + ONE)
        self.ends: Codes = np.concatenate([self.starts[:, 1:], after], axis=1)

    def _place(self, place: Expression) -> NDArray[np.float64]:
        """Return where a piece begins, computed in doubles as the release computes it."""
        if place.operation == "const":
            return np.full(self.observed.size, float(place.arguments[0]))
        low, high = self.range.low, self.range.high
        rule = Formula(self.column, place.to_tree(), low, high)
        anything = np.full(self.observed.size, float(low))
        records = np.arange(self.observed.size)
        values = self._release(rule, records, anything)
        # Where the place has no value, the release has none and the record is not asked for.
        return np.where(np.isnan(values), float(low), values)

    def _release(
        self, rule: Rule, records: NDArray[np.int64], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        import pyarrow as pa

        known = {name: array.take(pa.array(records)) for name, array in self.observed.fixed.items()}
        inputs = pa.table(known | {self.column: values})
        released = release_rows(inputs, [rule], self.part.ranges).column(0)
        doubles: NDArray[np.float64] = released.cast("float64").to_numpy()
        return doubles

    def narrow(self, rule: Rule, released: Any, first: Codes, end: Codes) -> tuple[Codes, Codes]:  # noqa: ANN401 - Arrow carries no types
        """Return where the doubles of each piece that a rule releases as a value begin and end."""
        target = np.asarray(released.cast("float64").to_numpy(zero_copy_only=False))
        records, pieces = first.shape
        which = np.repeat(np.arange(records), pieces)
        # From here on, two searches in one: first double not below the value, first above it.
        rows = np.concatenate([which, which])
        above = np.repeat([False, True], records * pieces)
        low = np.tile(first.reshape(-1), 2)
        high = np.tile(np.maximum(first, end).reshape(-1), 2)
        while (active := np.flatnonzero(low < high)).size:
            tries = int(np.clip(TRIED_AT_ONCE // active.size, 2, 64))
            at, gap = low[active, None], (high[active] - low[active])[:, None]
            step, more = gap // np.uint64(tries), gap % np.uint64(tries)
            turns = np.arange(tries, dtype=np.uint64)[None, :]
            points = np.minimum(at + step * turns + np.minimum(turns, more), at + gap - ONE)
            values = self._release(
                rule, np.repeat(rows[active], tries), from_order(points.reshape(-1))
            ).reshape(points.shape)
            wanted = target[rows[active], None]
            reached = np.where(above[active, None], values > wanted, values >= wanted)
            before = (~reached).sum(axis=1)
            every = np.arange(len(active))
            low[active] = np.where(
                before > 0, points[every, np.maximum(before, 1) - 1] + ONE, low[active]
            )
            high[active] = np.where(
                before < tries, points[every, np.minimum(before, tries - 1)], high[active]
            )
        begins, stops = low.reshape(2, records, pieces)
        return begins, stops


def _hidden(  # noqa: PLR0913, PLR0917 - the doubles of each piece, and whether there are any
    part: PolicyPart,
    observed: ObservedRecords,
    side: HiddenSide,
    first: Codes,
    last: Codes,
    fits: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return of every record whether a hypothesis can hold, can fail and is to be left open."""
    (name,) = part.unknown
    domain = part.domains[name]
    assert isinstance(domain, Interval)  # asked before
    records, pieces = first.shape
    which = np.repeat(np.arange(records), pieces)
    within = beyond_reach(side)
    can_hold, can_fail = np.zeros((2, records), bool)
    every = np.logical_and(fits.any(axis=1), within is not None)
    some = np.zeros(records, bool)
    for codes in (first, last):  # a side is left once at most between them
        points = _points(part, observed, which, from_order(codes.reshape(-1)))
        holds, fails = (flags.reshape(records, pieces) for flags in truth_at(side.clause, points))
        can_hold |= (holds & fits).any(axis=1)
        can_fail |= (fails & fits).any(axis=1)
        if within is not None:
            close = ~nonnegative_at(within, points)[1].reshape(records, pieces)
            every &= (close | ~fits).all(axis=1)
            some |= (close & fits).any(axis=1)
    places = np.arange(records)
    ends = [np.full(records, float(end)) for end in (domain.low, domain.high)]
    low, high = (_points(part, observed, places, values) for values in ends)
    (low_holds, low_fails), (high_holds, high_fails) = (
        truth_at(side.clause, points) for points in (low, high)
    )
    crosses = (low_fails & high_holds) | (low_holds & high_fails)
    return can_hold, can_fail, crosses & is_promised(every, some, can_hold & can_fail)


def _points(
    part: PolicyPart,
    observed: ObservedRecords,
    which: NDArray[np.int64],
    values: NDArray[np.float64],
) -> dict[str, ExactColumn]:
    """Return records, each with a value of the unknown column, as exact numbers."""
    (name,) = part.unknown
    points = {name: ExactColumn(values, lambda i: exact_number(float(values[i]), None))}
    for other, array in observed.fixed.items():
        numbers = known_numbers(array, which, part.domains.get(other))
        points |= {} if numbers is None else {other: numbers}
    return points


def pieces_of(part: PolicyPart) -> int:
    """Return how many pieces the range of the unknown column falls into."""
    breaks: list[Sequence[Expression]] = [policy.rises_between() or () for policy in part.policies]
    return 1 + 2 * sum(map(len, breaks))
