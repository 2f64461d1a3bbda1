"""The best quantizer within an error: fewest cells, or the largest smallest cell."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from hartley.errors import OptionError
from hartley.exact import log_ratio, parse_number
from hartley.policies.quantizers.calibration import cells_met, levels_for_error
from hartley.policies.quantizers.quantizer import Quantizer, Rule
from hartley.policies.quantizers.sorted_values import SortedValues
from hartley.ranges.boxes.box import Box, Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hartley.ranges.boxes.expression import Expression

    Query = Expression | str | Callable[..., Any]


Objective = Literal["maximin", "leakage"]
MOST_LEVELS = 100_000
"""So many cells over a box are listed; their edges are looked for only of a twentieth of that."""
MOST_RECORDS = 50_000_000
"""Up to so many records the limit of all policies is computed record by record."""


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
        return _over_values(_read(query, box, weights), width, objective)
    if query is None or weights is not None:
        raise OptionError(
            "A quantizer over a box needs a query, and no weights",
            hint="write the query for example as '(x1 + x2)/2'",
        )
    return _over_box(query, box, width, objective, candidates)


# --- finite data --------------------------------------------------------------------------------


def _read(query: Query | None, data: Any, weights: Any) -> SortedValues:  # noqa: ANN401 - checked there
    if query is not None and not callable(query):
        raise OptionError(
            "The query over listed values is not a function",
            hint="pass a function of one value, or None and the values of the query",
        )
    return SortedValues.of(data, query=query, weights=weights)


def _over_values(values: SortedValues, width: Fraction, objective: Objective) -> CutQuantizer:
    from hartley.kernels.cover import fewest_cells, largest_smallest_cell

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
            *(values.edge_before(begin) for begin in begins[1:]),
            values.exact(values.size - 1),
        ),
        spans=tuple(
            Interval(values.exact(begin), values.exact(end))
            for begin, end in zip(begins, ends, strict=True)
        ),
        smallest_share=share,
        share_limit=limit,
    )


def _limit(values: SortedValues, width: Fraction) -> Fraction:
    """Return the largest smallest share of policies that may tell equal values apart.

    Monotone cells suffice for them, a record at a time; of too many records a bound is given.
    """
    from hartley.kernels.cover import fewest_cells, largest_smallest_cell

    if values.records > MOST_RECORDS:
        cells = fewest_cells(values.first_within(width)).size - 1
        return Fraction(values.records // cells, values.records)
    records = values.one_by_one()
    least, _ = largest_smallest_cell(records.first_within(width), records.mass)
    return Fraction(least, values.records)


# --- a box --------------------------------------------------------------------------------------


def _over_box(
    query: Query, box: Box, width: Fraction, objective: Objective, candidates: int | None
) -> CutQuantizer:
    from hartley.policies.quantizers.candidate_edges import QueryRange, Slots
    from hartley.ranges.boxes.expression import as_expression

    expression = as_expression(query, box.names)
    found = QueryRange.of(expression, box)
    low, high = found.low, found.high
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
    from hartley.ranges.boxes.cut_box import CutBox

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
        edges,
        smallest_share=outermost.low / used.volume,
        share_limit=outermost.high / used.volume,
    )
