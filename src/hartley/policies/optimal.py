"""The best quantizer within an error: fewest cells, or the largest smallest cell."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise, takewhile
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from hartley.boxes.box import Box, Interval
from hartley.boxes.cut_box import boxes_each, measured_one_by_one
from hartley.boxes.volumes import volume
from hartley.errors import OptionError
from hartley.exact import log_ratio, parse_number
from hartley.policies.quantizer import Quantizer, Rule, cells_met, levels_for_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from hartley.boxes.exact_range import KnownRange
    from hartley.boxes.expression import Expression

    Query = Expression | str | Callable[..., Any]
    Ends = tuple[Fraction, Fraction]


# --- sorted values --------------------------------------------------------------------------------
# Values in order, as a quantizer over data reads them: distinct, counted and exact.


@dataclass(frozen=True)
class SortedValues:
    """Distinct values in order: doubles, or integers that a divisor turns into rationals."""

    numbers: NDArray[Any]
    counts: NDArray[np.int64] | None = None
    """How many records have each value; None where each has one."""
    divisor: int = 1

    @classmethod
    def of(
        cls,
        data: Sequence[object] | NDArray[Any],
        *,
        query: Callable[[Any], Any] | None = None,
        weights: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> SortedValues:
        """Sort what a query makes of some data.

        A list is read as it is written, so that 0.1 is a tenth; an array of doubles holds the
        numbers that it holds. One sort where the data are not in order.
        """
        divisor = 1
        if hasattr(data, "__array__"):
            numbers = np.asarray(data if query is None else query(np.asarray(data)))
        else:
            listed = list(data) if query is None else [query(item) for item in data]
            numbers, divisor = _as_integers(listed)
        if numbers.dtype.kind == "O" and divisor == 1:
            numbers, divisor = _as_integers(numbers.tolist())
        numbers, counted = _checked(numbers), None
        if weights is not None:
            counted = _checked_weights(weights, numbers.size)
            order = np.argsort(numbers, kind="stable")
            numbers, counted = numbers[order], counted[order]
        elif not np.all(numbers[:-1] <= numbers[1:]):
            numbers = np.sort(numbers)
        new = numbers[1:] != numbers[:-1]
        if np.all(new):
            return cls(numbers, counted, divisor)
        starts = np.concatenate([[0], np.flatnonzero(new) + 1])
        counts = (
            np.diff(np.append(starts, numbers.size))
            if counted is None
            else np.add.reduceat(counted, starts)
        )
        return cls(numbers[starts], counts, divisor)

    @property
    def size(self) -> int:
        """How many distinct values there are."""
        return int(self.numbers.size)

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.size if self.counts is None else int(self.counts.sum())

    @property
    def mass(self) -> NDArray[np.int64]:
        """How many records lie before each position."""
        if self.counts is None:
            return np.arange(self.size + 1)
        return np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def spread(self) -> Fraction:
        """The distance between the smallest and the largest value."""
        return self.exact(self.size - 1) - self.exact(0)

    def exact(self, place: int) -> Fraction:
        """Return a value as a rational."""
        number = self.numbers[place]
        if self.numbers.dtype.kind == "f":
            return Fraction(float(number))
        return Fraction(int(number), self.divisor)

    def one_by_one(self) -> SortedValues:
        """Return the records, equal values apart."""
        if self.counts is None:
            return self
        return SortedValues(np.repeat(self.numbers, self.counts), None, self.divisor)

    def first_within(self, width: Fraction) -> NDArray[np.int32]:
        """Return for every position where a cell within a width may begin that ends there.

        Differences are compared with the width as rationals.
        """
        scaled = min(width, self.spread) * self.divisor
        if self.numbers.dtype.kind == "O":
            starts = np.searchsorted(self.numbers, self.numbers - math.floor(scaled))
            return np.concatenate([[0], starts]).astype(np.int32)
        from hartley.kernels.sums import first_within

        return first_within(self.numbers, scaled)

    def edge_before(self, place: int) -> Fraction:
        """Return a short number between a value and the one before it.

        It lies above the middle of the two, so that a double read as the decimal that it prints
        as, or compared with the edge rounded to a double, stays on its side.
        """
        low, high = self.exact(place - 1), self.exact(place)
        doubles = self.numbers.dtype.kind == "f"
        top, bottom = (
            low.numerator * high.denominator + high.numerator * low.denominator,
            2 * low.denominator * high.denominator,
        )
        if doubles:
            high = min(high, parse_number(float(high), name="a value"))
            if high.numerator * bottom <= top * high.denominator:
                return Fraction(top, bottom)
        return _shortest((top, bottom), high.as_integer_ratio(), open_below=doubles)


def _shortest(low: tuple[int, int], high: tuple[int, int], *, open_below: bool) -> Fraction:
    """Return a decimal of few digits from low, or just above it, to just below high.

    Both are given as numerator and denominator: with millions of cells, rationals are slow.
    """
    room = high[0] * low[1] - low[0] * high[1], high[1] * low[1]
    wide = room[0] >= room[1]
    digits = -len(str(room[0] // room[1])) if wide else len(str(room[1] // room[0])) - 1
    while True:
        up, down = (10**digits, 1) if digits >= 0 else (1, 10**-digits)
        steps, rest = divmod(low[0] * up, low[1] * down)
        steps += open_below or rest > 0
        if steps * down * high[1] < high[0] * up:
            return Fraction(steps * down, up)
        digits += 1


def _as_integers(items: Sequence[object]) -> tuple[NDArray[Any], int]:
    """Return numbers as whole multiples of one unit fraction, of any size."""
    exact = [parse_number(item, name="a value") for item in items]
    divisor = math.lcm(*(number.denominator for number in exact))
    whole = [number.numerator * (divisor // number.denominator) for number in exact]
    fits = all(-(2**63) <= number < 2**63 for number in whole)
    numbers: NDArray[Any] = np.array(whole, dtype=np.int64 if fits else object)
    return numbers, divisor


def _checked(numbers: NDArray[Any]) -> NDArray[Any]:
    """Refuse what is no column of finite numbers; return 64-bit numbers or objects."""
    kind = numbers.dtype.kind
    if kind not in "iufO" or numbers.ndim != 1 or numbers.dtype.itemsize > 8:
        raise OptionError("The values are not one column of numbers", hint="pass a list of numbers")
    if not 0 < numbers.size <= 2**31 - 2:
        raise OptionError(
            "There are no values to place in cells, or too many", hint="pass at least one"
        )
    if kind == "f":
        numbers = numbers.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            spread = numbers.max() - numbers.min()
        if not np.isfinite(spread):
            raise OptionError(
                "A value is missing or infinite, or the values are too far apart",
                hint="leave out what is not a finite number",
            )
        return numbers
    if kind == "u" and numbers.max() >= 2**63:
        return np.array(numbers.tolist(), dtype=object)
    return numbers if kind == "O" else numbers.astype(np.int64, copy=False)


def _checked_weights(weights: Sequence[int] | NDArray[np.int64], size: int) -> NDArray[np.int64]:
    counts = np.asarray(weights)
    if counts.shape != (size,) or counts.dtype.kind not in "iu" or counts.min() < 1:
        raise OptionError(
            "The weights are not positive whole numbers, one per value",
            hint="say how many records have each value",
        )
    if int(counts.max()) * size >= 2**62 and sum(counts.tolist()) >= 2**62:
        raise OptionError("The weights are too large", hint="divide them by a common number")
    return counts.astype(np.int64, copy=False)


# --- optimal --------------------------------------------------------------------------------------


Objective = Literal["maximin", "leakage"]
MOST_LEVELS = 100_000
"""So many cells over a box are listed; their edges are looked for only of a twentieth of that."""


@dataclass(frozen=True)
class CutQuantizer(Quantizer):
    """Half-open cells between explicit edges, the last one closed, each released as one number.

    Example:
        >>> quantizer = CutQuantizer((0, 1, 10))
        >>> quantizer.levels, quantizer.error, [str(number) for number in quantizer.released]
        (2, Fraction(9, 2), ['1/2', '11/2'])
        >>> quantizer.cell(1), quantizer.release(0.5)
        (1, Fraction(1, 2))
    """

    edges: tuple[Fraction, ...]
    """One more than there are cells, in ascending order."""
    released: tuple[Fraction, ...] = ()
    """What is released for each cell; by default the middle of what lies in it."""
    spans: tuple[Interval, ...] = ()
    """What lies in each cell; by default all of it."""
    smallest_share: Fraction | None = None
    """The share of all records in the smallest cell, at least; None where it was not asked for."""
    share_limit: Fraction | None = None
    """What the share of the smallest cell cannot exceed, whatever the policy within the error."""

    is_equal = False

    def __post_init__(self) -> None:
        edges = _rationals(self.edges, "an edge")
        cells = len(edges) - 1
        if cells < 1 or any(edges[k] >= edges[k + 1] for k in range(cells) if cells > 1):
            raise OptionError(
                "The edges of a quantizer are not in ascending order",
                hint="give at least two, the smallest first, each once",
            )
        spans = self.spans or tuple(
            Interval(edges[k], edges[k + 1], high_closed=k == cells - 1) for k in range(cells)
        )
        released = self.released or tuple((span.low + span.high) / 2 for span in spans)
        if len(spans) != cells or len(released) != cells:
            raise OptionError(
                f"A quantizer of {cells} cells releases {len(released)} numbers",
                hint="give one number, and one span if any, for every cell",
            )
        if any(not edges[k] <= spans[k].low <= spans[k].high <= edges[k + 1] for k in range(cells)):
            raise OptionError(
                "A span lies outside the edges of its cell",
                hint="give the spans in the order of the cells",
            )
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "spans", spans)
        object.__setattr__(self, "released", _rationals(released, "a released number"))

    @property
    def levels(self) -> int:
        """How many cells there are."""
        return len(self.edges) - 1

    @property
    def low(self) -> Fraction:
        """The first edge."""
        return self.edges[0]

    @property
    def high(self) -> Fraction:
        """The last edge."""
        return self.edges[-1]

    @property
    def error(self) -> Fraction:
        """The largest distance between what lies in a cell and what is released for it."""
        return max(
            max(number - span.low, span.high - number)
            for span, number in zip(self.spans, self.released, strict=True)
        )

    @property
    def leakage(self) -> float | None:
        """The bits that the smallest cell tells at most, where its share is known."""
        if self.smallest_share is None:
            return None
        return log_ratio(self.smallest_share.denominator, self.smallest_share.numerator)

    def cell(self, value: object) -> int:
        """Return the number of the cell of a value; values outside are clamped."""
        number = parse_number(value, name="the value")
        return bisect_right(self.edges, number, 1, self.levels) - 1

    def release(self, value: object) -> Fraction:
        """Return what is released for a value."""
        return self.released[self.cell(value)]

    @property
    def rule(self) -> Rule:
        """Listed cells are counted as they are, which is the corrected theorem."""
        return "corrected"

    def middle(self, cell: int) -> Fraction:
        """Return what is released for a cell."""
        return self.released[cell]

    def ends(self, cell: int) -> tuple[Fraction, Fraction]:
        """Return the lower and the upper edge of a cell."""
        return self.edges[cell], self.edges[cell + 1]

    @property
    def outputs(self) -> int:
        """How many different numbers are released: cells that are released alike count once."""
        return len(set(self.released)) if self.low < self.high else 1

    def outputs_within(self, reach: Fraction) -> int:
        """Return how many numbers the cells that an interval of a length meets are released as."""
        return min(len(set(self.released)), cells_met(self.edges, reach))

    def steps(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return the edges between cells, and what is released for every cell."""
        return self.edges[1:-1], self.released

    def widths(self) -> tuple[Fraction, Fraction]:
        """Return the width of the narrowest and of the widest cell."""
        widths = [high - low for low, high in pairwise(self.edges)]
        return min(widths), max(widths)


def _rationals(numbers: Sequence[object], name: str) -> tuple[Fraction, ...]:
    return tuple(
        number if type(number) is Fraction else parse_number(number, name=name)
        for number in numbers
    )


def optimal_quantizer(  # noqa: PLR0913 - the first four are the question, the others refine it
    query: Query | None,
    box: Box | Sequence[object] | NDArray[Any],
    error: object,
    objective: Objective = "maximin",
    *,
    weights: Sequence[int] | NDArray[np.int64] | None = None,
    candidates: int | None = None,
) -> CutQuantizer:
    r"""Return the quantizer of a query that tells least within an error.

    .. math:: \min q \quad\text{or}\quad \max \min_i \mu(X_i)
        \quad\text{subject to}\quad \operatorname{diam} f(X_i) \le 2 \cdot \text{error}

    "maximin" has the fewest cells, so the least maximin information log2 q (Farokhi 2019,
    Theorems IV.2 and IV.3; (17b) there must read argmin): the greedy cover of the values of the
    query by intervals, which over a box is the uniform quantizer. "leakage" has the largest
    smallest cell, so the least leakage L0 (Theorem IV.3 for (10a)), which the uniform quantizer
    generally has not.

    Over a list of values both are exact, all differences compared as rationals: numbers in a list
    are read as they are written (0.1 is a tenth), an array holds exact doubles or integers. Equal
    values stay in one cell, as a release that depends on the value alone requires: the best cells
    that are intervals of values. ``share_limit`` says what policies that tell equal values apart,
    or join distant ones, could reach; without equal values nothing is better. One sort, then
    linear for one bound, on which it bisects: O(n log n). The edges lie between values, so take the
    values to be a public range: the edges tell something about them.

    Over a box the leakage is minimised between candidate edges, so it is optimal up to the grid;
    ``smallest_share`` is computed from the finished edges and is a lower bound, ``share_limit``
    an upper bound on what any policy reaches. Where the query is not linear the range may be a
    little too wide, so that there is one cell more than the fewest. Grows linearly with the
    candidates.

    Args:
        query: text, an expression or a function of the variables of a box. Over values: None, or
            a function of one value, or of the whole array where an array is given.
        box: a box, or the values that are possible.
        error: how far a release may be off.
        objective: "maximin" or "leakage".
        weights: how many records have each value; over values alone.
        candidates: how many edges to choose from; over a box alone.

    Example:
        >>> mean = optimal_quantizer("(x1 + x2)/2", Box.cube(-2, 2, size=2), "0.5")
        >>> [str(edge) for edge in mean.edges]
        ['-2', '-1', '0', '1', '2']
        >>> best = optimal_quantizer(None, [0, 1, 4, 5, 6, 7], 2, "leakage")
        >>> [str(edge) for edge in best.edges], best.smallest_share
        (['0', '9/2', '7'], Fraction(1, 2))
    """
    if objective not in get_args(Objective):
        raise OptionError(
            f"The objective '{objective}' is unknown", hint="choose 'maximin' or 'leakage'"
        )
    width = 2 * parse_number(error, name="the error")
    levels_for_error(Fraction(0), error)  # refuses an error that is not positive
    if not isinstance(box, Box):
        if query is not None and not callable(query):
            raise OptionError(
                "The query over listed values is not a function",
                hint="pass a function of one value, or None and the values of the query",
            )
        values = SortedValues.of(box, query=query, weights=weights)
        return _over_values(values, width, objective)
    if query is None or weights is not None:
        raise OptionError(
            "A quantizer over a box needs a query, and no weights",
            hint="write the query for example as '(x1 + x2)/2'",
        )
    return _over_box(query, box, width, objective, candidates)


def _over_values(values: SortedValues, width: Fraction, objective: Objective) -> CutQuantizer:
    from hartley.kernels.sums import fewest_cells, largest_smallest_cell

    first = values.first_within(width)
    share = limit = None
    if objective == "maximin":
        cuts = fewest_cells(first)
    else:
        least, cuts = largest_smallest_cell(first, values.mass)
        share = Fraction(least, values.records)
        limit = share if values.counts is None else _limit(values, width)
    begins, ends = cuts[:-1].tolist(), (cuts[1:] - 1).tolist()
    return CutQuantizer(
        edges=(
            values.exact(0),
            *map(values.edge_before, begins[1:]),
            values.exact(values.size - 1),
        ),
        spans=tuple(map(Interval, map(values.exact, begins), map(values.exact, ends))),
        smallest_share=share,
        share_limit=limit,
    )


def _limit(values: SortedValues, width: Fraction) -> Fraction:
    """Return the largest smallest share of policies that may tell equal values apart.

    Monotone cells suffice for them, a record at a time; of too many records a bound is given.
    """
    from hartley.kernels.sums import fewest_cells, largest_smallest_cell

    if values.records > 50_000_000:
        cells = fewest_cells(values.first_within(width)).size - 1
        return Fraction(values.records // cells, values.records)
    records = values.one_by_one()
    least, _ = largest_smallest_cell(records.first_within(width), records.mass)
    return Fraction(least, values.records)


def _over_box(
    query: Query, box: Box, width: Fraction, objective: Objective, candidates: int | None
) -> CutQuantizer:
    from hartley.boxes.exact_range import known_range
    from hartley.boxes.expression import as_expression

    expression = as_expression(query, box.names)
    found = known_range(expression, box)
    low, high = found.outer.low, found.outer.high
    levels = max(1, math.ceil((high - low) / width))
    if levels > (MOST_LEVELS if objective == "maximin" else MOST_LEVELS // 20):
        raise OptionError(
            f"So small an error needs {levels:,} cells",
            hint="allow a larger error; UniformQuantizer.for_error lists no edges",
        )
    if objective == "maximin" or levels == 1:
        edges = tuple(low + k * (high - low) / levels for k in range(levels + 1))
        share = Fraction(1) if objective == "leakage" else None
        return CutQuantizer(edges, smallest_share=share, share_limit=share)
    if candidates is None and expression.linear() is not None:
        widest = _widest_ends(expression, box, Interval(low, high), width)
        if widest is not None:
            return widest
    slots = Slots.cut(expression, box, found=found, width=width, candidates=candidates)
    best = CutQuantizer(slots.best_edges())
    smallest = min(low for low, _ in slots.shares_of(best.spans))
    return replace(best, smallest_share=smallest, share_limit=slots.limit())


def _widest_ends(
    expression: Expression, box: Box, reached: Interval, width: Fraction
) -> CutQuantizer | None:
    """Return the best cells of a linear query where its outermost ones hold least, else None.

    Whatever the policy, the cell of the lowest answers lies within a width of the low end, so
    none has a larger smallest cell than one that gives both ends a whole width, if all others
    hold as much. The law of a linear query is symmetric, so that two halves are best of two.
    """
    from hartley.boxes.cut_box import CutBox

    used = Box({name: box[name] for name in expression.names})
    levels, low, high = math.ceil(reached.length / width), reached.low, reached.high
    if used.volume == 0:
        return None  # refused with a reason where the cells are looked for
    if levels == 2:
        half = Fraction(1, 2)
        return CutQuantizer((low, reached.middle, high), smallest_share=half, share_limit=half)
    inner = (reached.length - 2 * width) / (levels - 2)
    edges = (low, *(low + width + k * inner for k in range(levels - 1)), high)
    cut = CutBox(used, expression, edges)
    outermost, next_to_it = cut.volume_of(0), cut.volume_of(1)
    if next_to_it.low < outermost.high:
        return None
    return CutQuantizer(
        edges, smallest_share=outermost.low / used.volume, share_limit=outermost.high / used.volume
    )


# --- the range of a query over a box, cut by candidate edges --------------------------------------

SCALE = 2**60


@dataclass(frozen=True)
class Slots:
    """The range of a query cut by candidate edges, and how much of the box lies in each slot."""

    expression: Expression
    box: Box
    range: KnownRange
    width: Fraction
    """How wide a cell may be."""
    edges: tuple[Fraction, ...]
    shares: tuple[Ends, ...] = ()
    """Bounds on the share of every slot, its ends included."""

    @classmethod
    def cut(
        cls,
        expression: Expression,
        box: Box,
        *,
        found: KnownRange,
        width: Fraction,
        candidates: int | None = None,
    ) -> Slots:
        """Cut a range evenly, and also into whole widths counted from either end."""
        if candidates is not None and not (isinstance(candidates, int) and candidates > 0):
            raise OptionError(
                "The number of candidate edges is not a positive whole number",
                hint="leave it out, or give for example 1000",
            )
        used = Box({name: box[name] for name in expression.names})
        if used.volume == 0:
            raise OptionError(
                "A variable of the query has a single value, so that no cell has a volume",
                hint="write the value into the query",
            )
        low, high = found.outer.low, found.outer.high
        usual = 64 if expression.linear() is None else 1024
        levels = math.ceil((high - low) / width)
        count = max(usual if candidates is None else candidates, 4 * levels)
        edges = {low + k * (high - low) / count for k in range(count + 1)}
        for k in range(1, levels):
            edges |= {low + k * width, high - k * width}
        cut = cls(expression, used, found, width, tuple(sorted(edges)))
        slots = [Interval(*ends) for ends in pairwise(cut.edges)]
        most = boxes_each(len(used.names), len(slots))
        shares = measured_one_by_one(slots, lambda slot: cut.share(slot, most))
        return replace(cut, shares=tuple(shares))

    def shares_of(self, intervals: Sequence[Interval]) -> list[Ends]:
        """Return bounds on the shares of the box that the query sends into some intervals."""
        # Of many variables all intervals share as many boxes as are looked at within a minute.
        most = boxes_each(len(self.box.names), len(intervals))
        return [self.share(interval, most) for interval in intervals]

    def share(self, interval: Interval, most: int | None) -> Ends:
        """Return bounds on the share of one interval, from no more than so many boxes."""
        part = volume(self.box, self.expression, interval, gap=1e-3, most=most)
        return part.low / self.box.volume, part.high / self.box.volume

    def best_edges(self) -> tuple[Fraction, ...]:
        """Return the candidate edges between which the smallest cell is largest."""
        middles = ((low + high) / 2 for low, high in self.shares)
        _, cuts = self._solve(middles, self.width)
        return tuple(self.edges[cut] for cut in cuts)

    def limit(self) -> Fraction:
        """Return what the share of the smallest cell exceeds under no policy within the width.

        The cell of the lowest answers lies within a width of the low end, that of the highest
        within a width of the high one. And move every edge of the best policy down to a
        candidate: a cell becomes wider by at most two slots, at an end also by what may be empty
        there, and loses at most what is in a slot.
        """
        slots = list(zip(self.shares, pairwise(self.edges), strict=True))
        empty = [
            sum(
                (high - low for _, (low, high) in takewhile(lambda slot: slot[0][0] == 0, side)),
                Fraction(0),
            )
            for side in (slots, slots[::-1])
        ]
        widest = max(high - low for _, (low, high) in slots)
        reach = [self.width + (0 if self.range.exact else room + widest) for room in empty]
        low, high = self.range.outer.low, self.range.outer.high
        ends = self.shares_of([Interval(low, low + reach[0]), Interval(high - reach[1], high)])
        at_ends = min(Fraction(1), *(high for _, high in ends))
        most = [high for _, high in self.shares]
        if sum(most) > 7:  # they say nothing, and would be no whole numbers of 64 bits
            return at_ends
        least, _ = self._solve(most, self.width + 2 * widest + max(empty))
        return min(at_ends, Fraction(least + len(self.edges), SCALE) + max(most))

    def _solve(self, shares: Iterable[Fraction], width: Fraction) -> tuple[int, NDArray[np.int32]]:
        """Return the largest smallest cell between candidates, in units of 2^-60, and its cuts.

        Masses are rounded, and one unit a position keeps them apart: at most a unit a slot.
        """
        from hartley.kernels.sums import largest_smallest_cell

        total = accumulate(shares, initial=Fraction(0))
        mass = np.array([math.floor(share * SCALE) + k for k, share in enumerate(total)])
        first, start = np.zeros(len(self.edges), np.int32), 0
        for k, edge in enumerate(self.edges):
            while edge - self.edges[start] > width:
                start += 1
            first[k] = start
        return largest_smallest_cell(first, mass)
