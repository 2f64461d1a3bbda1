"""Columns released in cells; bits shared among columns."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from hartley.boxes.box import Interval
from hartley.boxes.expression import Expression
from hartley.engines.cells import MOST_CUTS, CutCells, UniformCells, released_double
from hartley.errors import ColumnError, OptionError
from hartley.exact import floor_power, log_ratio, parse_number, parse_step
from hartley.policies.column import (
    ColumnPolicy,
    Output,
    points_between,
    read_count,
    read_list,
    read_number,
    read_numbers,
    read_query,
    read_step,
)
from hartley.policies.optimal import CutQuantizer
from hartley.policies.quantizer import Aggregate, UniformQuantizer, parse_query
from hartley.policies.vector import arithmetic_tree
from hartley.report import Ruler
from hartley.tables.release_rules import Quantized
from hartley.text import count_of, exactly, exactly_or_up, plain_decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hartley.policies.quantizer import Quantizer, Query


class CellColumn(ColumnPolicy):
    """What equal cells and listed cells share."""

    if TYPE_CHECKING:
        # Not at run time, where a dataclass would take a property for the default of its field.
        @property
        def cells(self) -> Quantizer:
            """The cells as a quantizer."""

        @property
        def range(self) -> tuple[Fraction, Fraction]:
            """The range that the policy is made for."""

        def _engine_cells(self) -> UniformCells | CutCells: ...

        def _released(self) -> int:
            """Return how many different doubles are released."""

    @property
    def query(self) -> Query | None:
        """What is quantized; None for the table's own column."""
        return None if self.of is None else parse_query(self.of)

    @property
    def error(self) -> Fraction:
        """The largest distance between a value that may occur and what is released for it."""
        return self.cells.error

    @property
    def levels(self) -> int:
        """How many cells there are."""
        return self.cells.levels

    def to_rule(self) -> UniformCells | CutCells | Quantized:
        """Return what an engine executes, row by row; of an aggregate its cells alone."""
        query = self.query
        if query is None or isinstance(query, Aggregate):
            return self._engine_cells()
        return Quantized(self.name, arithmetic_tree(query), self._engine_cells())

    def outputs(self) -> Output:
        """Return how many cells can come out; those that are released alike count once."""
        query, (low, high) = self.query, self.range
        is_computed = isinstance(query, Expression)
        reads = frozenset(query.names if isinstance(query, Expression) else {self.name})
        count = 1 if low == high else self._released()
        return Output(self.name, count, reads, is_computed, is_exact=self.is_exact)

    @property
    def is_exact(self) -> bool:
        """Whether every cell holds one value of a declared step at most."""
        return False

    def rises_between(self) -> tuple[Expression, ...] | None:
        """Return where cells are released as smaller numbers than the cells below them."""
        return None if self.query is not None else ()

    def _query_field(self) -> dict[str, str]:
        return {} if self.of is None else {"of": self.of}

    def sentence(self) -> str:
        """Say how many cells there are, how wide, and how far off the release is."""
        name, cells = self.of or self.name, self.cells
        if cells.levels == 1:
            return f"Nothing is told about {name}: there is one cell."
        if self.lists_values and self.error == 0:
            return (
                f"{name} is released exactly, as one of {count_of(cells.levels, 'value')} from "
                f"{exactly(cells.low)} to {exactly(cells.high)}."
            )
        narrowest, widest = map(_about, cells.widths())
        widths = narrowest if cells.is_equal else f"{narrowest} to {widest}"
        return (
            f"{name} between {exactly(cells.low)} and {exactly(cells.high)} is cut into "
            f"{cells.levels:,} {'equal ' if cells.is_equal else ''}cells of width {widths}; what "
            f"is released is never further off than {exactly_or_up(self.error)}."
        )

    def picture(self, reach: float | None = None) -> Ruler:
        """Return the cells along a line."""
        cells = self.cells
        # More cells than these look like none.
        edges = tuple(map(float, cells.edges)) if cells.levels <= 2_000 else ()
        ends = float(cells.low), float(cells.high)
        equal = float(cells.high - cells.low) / cells.levels
        narrowest = equal if cells.is_equal else float(cells.widths()[0])
        return Ruler(self.of or self.name, *ends, cells.levels, edges, reach, narrowest)


@dataclass(frozen=True)
class QuantizedColumn(CellColumn):
    """A column, or the answer to a query, released as the middles of equal cells.

    Example:
        >>> QuantizedColumn("height", UniformQuantizer(100, 250, 150)).error
        Fraction(1, 2)
        >>> QuantizedColumn("size", UniformQuantizer(0, 9, 3), of="mean(height)").query
        Aggregate(function='mean', column='height')
    """

    name: str
    quantizer: UniformQuantizer
    of: str | None = None
    """The query that is quantized; the table's column of that name where there is none."""
    step: Fraction | None = None
    """The step of the column's own values, of which there may be fewer than cells."""

    kind = "quantizer"
    kinds = ("quantizer",)
    needed = ("low", "high", "levels")
    optional = ("rule", "of", "step")

    def __post_init__(self) -> None:
        if self.step is not None and self.of is not None:
            raise OptionError(
                "A step is about the values of a column, but a query is quantized",
                hint="leave out the step, or the query",
            )
        if self.is_exact and self._points > MOST_CUTS:
            raise OptionError(
                f"Column '{self.name}' has {self._points:,} values of its step, and more cells",
                hint=f"give fewer levels than that, or keep the column; up to {MOST_CUTS:,} values "
                "are listed",
            )
        self.to_rule()

    @classmethod
    def read(  # noqa: PLR0913 - the fields of a file
        cls,
        name: str,
        low: object,
        high: object,
        levels: object,
        *,
        rule: object = "corrected",
        of: object = None,
        step: object = None,
    ) -> QuantizedColumn:
        """Build it from the fields of a file."""
        ends = read_number(low, "low"), read_number(high, "high")
        quantizer = UniformQuantizer(*ends, read_count(levels, "levels"), rule)  # type: ignore[arg-type]  # checked there
        return cls(name, quantizer, read_query(of), read_step(step, name))

    @property
    def cells(self) -> UniformQuantizer:
        """The cells as a quantizer."""
        return self.quantizer

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """The range that the policy is made for."""
        return self.quantizer.low, self.quantizer.high

    @property
    def lists_values(self) -> bool:
        """Whether only the values of a step are possible."""
        return self.step is not None

    @property
    def is_exact(self) -> bool:
        """Whether the cells are narrower than the step, so that each holds one value at most."""
        return self.step is not None and self.step > self.quantizer.width

    @property
    def _points(self) -> int:
        assert self.step is not None  # only where there is a step
        return points_between(*self.range, self.step)

    def _engine_cells(self) -> UniformCells | CutCells:
        if not self.is_exact or self.step is None:
            return UniformCells(self.name, *self.range, self.quantizer.levels)
        # A number between two values of the step must not come out as a cell that holds neither.
        low, high = self.range
        values = [low + k * self.step for k in range(self._points)]
        edges = (low, *(value - self.step / 2 for value in values[1:]), high)
        middles = (self.quantizer.middle(self.quantizer.cell(value)) for value in values)
        released = tuple(released_double(middle, column=self.name) for middle in middles)
        return CutCells(self.name, edges, released, tuple((value, value) for value in values))

    def _released(self) -> int:
        # Cells as wide as the step or wider hold a value each, narrower ones one at most.
        return self._points if self.is_exact else self.quantizer.levels

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        low, high = map(str, self.range)
        levels, rule = self.quantizer.levels, self.quantizer.rule
        step = {} if self.step is None else {"step": str(self.step)}
        fields = {"low": low, "high": high, "levels": levels, "rule": rule}
        return fields | self._query_field() | step

    def sentence(self) -> str:
        """Say how many cells there are, and where that tells every value of a step apart."""
        if not self.is_exact:
            return super().sentence()
        return (
            f"{super().sentence()} No cell holds two values of its step, so that {self.name} is "
            f"released exactly: as one of {count_of(self._points, 'value')}."
        )


@dataclass(frozen=True)
class CutColumn(CellColumn):
    """A column, or the answer to a query, released as one number a cell between explicit edges.

    Example:
        >>> CutColumn.read("income", edges=["0", "20", "100"], values=["10", "50"]).error
        Fraction(50, 1)
    """

    name: str
    edges: tuple[Fraction, ...]
    values: tuple[Fraction, ...]
    of: str | None = None
    """The query that is quantized; the table's column of that name where there is none."""
    spans: tuple[tuple[Fraction, Fraction], ...] = ()
    """The ends of what lies in each cell, where that is less than the whole of it."""

    kind = "cuts"
    kinds = ("cuts",)
    needed = ("edges", "values")
    optional = ("spans", "of")

    def __post_init__(self) -> None:
        self.to_rule()
        _ = self.quantizer

    @classmethod
    def read(
        cls, name: str, edges: object, values: object, of: object = None, spans: object = None
    ) -> CutColumn:
        """Build it from the fields of a file."""
        pairs = [read_numbers(span, "spans") for span in read_list(spans or [], "spans")]
        if any(len(pair) != 2 for pair in pairs):
            raise OptionError(
                "A span has not two ends", hint='write them in brackets: [["0", "4"], ["5", "7"]]'
            )
        return cls(
            name,
            read_numbers(edges, "edges"),
            read_numbers(values, "values"),
            read_query(of),
            tuple((low, high) for low, high in pairs),
        )

    @classmethod
    def cut(cls, name: str, quantizer: CutQuantizer, of: str | None = None) -> CutColumn:
        """Build it from a quantizer, with what lies in its cells where that is less than they."""
        spans = tuple((span.low, span.high) for span in quantizer.spans)
        whole = spans == tuple(itertools.pairwise(quantizer.edges))
        return cls(name, quantizer.edges, quantizer.released, of, () if whole else spans)

    @property
    def quantizer(self) -> CutQuantizer:
        """The cells as a quantizer."""
        spans = tuple(Interval(low, high) for low, high in self.spans)
        return CutQuantizer(self.edges, self.values, spans)

    @property
    def cells(self) -> CutQuantizer:
        """The cells as a quantizer."""
        return self.quantizer

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """The range that the policy is made for."""
        return self.edges[0], self.edges[-1]

    @property
    def lists_values(self) -> bool:
        """Whether the cells were made for listed values."""
        return bool(self.spans)

    def _engine_cells(self) -> CutCells:
        values = tuple(released_double(value, column=self.name) for value in self.values)
        return CutCells(self.name, self.edges, values, self.spans)

    def _released(self) -> int:
        return len(set(map(float, self.values)))

    def rises_between(self) -> tuple[Expression, ...] | None:
        """Return the edges at which the released number falls."""
        if self.query is not None:
            return None
        pairs = zip(self.edges[1:-1], itertools.pairwise(self.values), strict=True)
        return tuple(Expression("const", (edge,)) for edge, (low, high) in pairs if high < low)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        fields = {"edges": list(map(str, self.edges)), "values": list(map(str, self.values))}
        spans = [list(map(str, span)) for span in self.spans]
        return fields | ({"spans": spans} if spans else {}) | self._query_field()


def in_cells(name: str, quantizer: Quantizer) -> CellColumn:
    """Return the column of any quantizer, of the kind that its cells have."""
    if isinstance(quantizer, UniformQuantizer):
        return QuantizedColumn(name, quantizer)
    assert isinstance(quantizer, CutQuantizer)  # there are two
    return CutColumn.cut(name, quantizer)


def _about(number: Fraction) -> str:
    """Show a number that nobody is promised: exactly where that is short, else to four digits."""
    text = exactly(number)
    if "/" not in text:
        return text
    nearest = Context(prec=4).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"about {plain_decimal(nearest)}"


# --- one budget of bits, shared among the columns of a record -------------------------------------

Beginning = tuple[int, Fraction, float, dict[int, int]]
"""The product, the error, the excess and the levels of the first few columns."""
MOST_STEPS = 300_000
"""So many choices are looked at before the search for the least mean error gives up."""


def least_largest(columns: Sequence[AllocatedColumn], limit: int) -> list[int]:
    """Make the largest error least, then the largest of those it does not hold back, and so on."""
    levels = dict.fromkeys(range(len(columns)), 1)
    rest = list(levels)
    while rest:
        error = _least_bound([columns[i] for i in rest], limit)
        fewest = {i: _known(columns[i].levels_within(error)) for i in rest}
        held = set(rest) if error == 0 else _held_back(columns, fewest, error, limit)
        for i in held:
            levels[i] = fewest[i]
            limit //= fewest[i]
        rest = [i for i in rest if i not in held]
    return list(levels.values())


def _held_back(
    columns: Sequence[AllocatedColumn], fewest: Mapping[int, int], error: Fraction, limit: int
) -> set[int]:
    """Return the columns that stay at the largest error: as few as can be, the dearest ones."""
    product = math.prod(fewest.values())
    better = {
        i: _known(columns[i].levels_within(error, strictly=True))
        for i, levels in fewest.items()
        if columns[i].weighted_error(levels) == error
    }
    held = set(better)
    for i in sorted(better, key=lambda i: Fraction(better[i], fewest[i])):
        product = product // fewest[i] * better[i]
        if product > limit:
            break
        held.discard(i)
    return held


def _least_bound(columns: Sequence[AllocatedColumn], limit: int) -> Fraction:
    """Return the least error that all columns can keep at once; some column attains it."""

    def is_too_small(column: AllocatedColumn, n: int) -> bool:
        error = column.nth_error(n)
        levels = [other.levels_within(error) for other in columns]
        return None in levels or math.prod(map(_known, levels)) > limit

    # For each column the bound is bisected over the errors that this column can have. One level
    # each fits any budget, so at least one of them can be kept.
    found = []
    for column in columns:
        steps = limit if column.points is None else column.points
        refused = _first(1, steps, partial(is_too_small, column))
        if refused > 1:
            found.append(column.nth_error(refused - 1))
    return min(found)


def _known(levels: int | None) -> int:
    assert levels is not None
    return levels


def least_mean(columns: Sequence[AllocatedColumn], limit: int) -> list[int]:
    """Make the mean error least: look at the levels whose excess is small, then at more of them."""
    if math.prod(column.points or limit + 1 for column in columns) <= limit:
        return [column.points or 1 for column in columns]
    if limit.bit_length() > 1000:  # what doubles hold, with room to spare
        raise _too_many()
    search = _MeanSearch(columns, limit)
    best = least_largest(columns, limit)
    slack = search.gap(best) / 2**20
    while True:
        best = search.improve(best, slack)
        if slack >= search.gap(best):
            return best
        slack = min(4 * slack, search.gap(best))


class _MeanSearch:
    """Which levels could have the least mean error.

    No q levels of a column have an error below a / q - c. At a price for a unit of log q each
    column has ideal levels, whole or not, at which a / q - c + price log q is least. What the
    choices of a solution exceed these least sums by, its excess, is at most what the solution
    exceeds a lower bound by: so few choices stay in question. These bounds are doubles, with a
    margin; the errors that decide are exact.
    """

    def __init__(self, columns: Sequence[AllocatedColumn], limit: int) -> None:
        self._columns, self._limit = columns, limit
        self._unit = max(column.scale * (column.points or 1) for column in columns)
        self._scales = [float(c.scale * (c.points or 1) / self._unit) for c in columns]
        self._shifts = [float(c.scale / self._unit) if c.points else 0.0 for c in columns]
        self._most = [min(column.points or limit, limit) for column in columns]
        low, high = -math.log(limit) - 1, 1.0  # the logarithm of the price
        for _ in range(100):
            middle = (low + high) / 2
            spent = sum(map(math.log, self._ideal_levels(math.exp(middle))))
            low, high = (middle, high) if spent > math.log(limit) else (low, middle)
        self._price = math.exp(high)
        self._ideals = self._ideal_levels(self._price)
        self._least = [self._sum(i, levels) for i, levels in enumerate(self._ideals)]
        spent = self._price * math.log(limit)
        self._bound = sum(self._least) - spent
        sizes = zip(self._scales, self._shifts, self._ideals, strict=True)
        self._margin = 1e-13 * (2 * spent + sum(a / q + c for a, c, q in sizes))

    def _ideal_levels(self, price: float) -> list[float]:
        sides = zip(self._scales, self._most, strict=True)
        return [min(max(scale / price, 1.0), most) for scale, most in sides]

    def _sum(self, i: int, levels: float) -> float:
        return self._scales[i] / levels - self._shifts[i] + self._price * math.log(levels)

    def error(self, levels: Sequence[int]) -> Fraction:
        """Return the sum of the weighted errors."""
        pairs = zip(self._columns, levels, strict=True)
        return sum((column.weighted_error(q) for column, q in pairs), Fraction(0))

    def gap(self, levels: Sequence[int]) -> float:
        """Return how far levels are above the bound, at most."""
        return float(self.error(levels) / self._unit) - self._bound + self._margin

    def _choices(self, i: int, slack: float) -> list[tuple[float, int, Fraction]]:
        """Return excess, levels and error of what is in question for a column, least excess first.

        The sum is convex in log q, so that everything in question lies around the ideal levels.
        """
        column, most = self._columns[i], self._least[i] + slack
        middle = math.floor(self._ideals[i])
        low = _first(1, middle, lambda q: self._sum(i, q) <= most)
        high = _first(middle + 1, self._most[i], lambda q: self._sum(i, q) > most) - 1
        if high - low > MOST_STEPS:
            raise _too_many()
        found = []
        for levels in {column.useful(q) for q in range(low, high + 1)}:
            error = column.weighted_error(levels)
            paid = float(error / self._unit) + self._price * math.log(levels)
            found.append((paid - self._least[i], levels, error))
        return sorted(found)

    def improve(self, known: list[int], slack: float) -> list[int]:
        """Return the best levels whose excess is within a slack, or known ones that are no worse.

        Of two beginnings with the same columns the one that is dearer and has no smaller error
        goes no further. The last column takes all that is left.
        """
        *order, last = sorted(range(len(self._columns)), key=lambda i: self._ideals[i])
        choices = {i: self._choices(i, slack) for i in order}
        begun: list[Beginning] = [(1, Fraction(0), 0.0, {})]
        steps = 0
        for i in order:
            longer = []
            for product, error, excess, levels in begun:
                for more, q, added in choices[i]:
                    if excess + more > slack or steps > MOST_STEPS:
                        break
                    if product * q <= self._limit:
                        steps += 1
                        longer.append((product * q, error + added, excess + more, levels | {i: q}))
            begun = _undominated(longer)
        if steps > MOST_STEPS:
            raise _too_many()
        column, best, least = self._columns[last], known, self.error(known)
        for product, error, _, levels in begun:
            q = column.useful(self._limit // product)
            if error + column.weighted_error(q) < least:
                least, chosen = error + column.weighted_error(q), levels | {last: q}
                best = [chosen[i] for i in sorted(chosen)]
        return best


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number at which something holds that then goes on to hold; or high + 1."""
    end = high + 1
    while low < end:
        middle = (low + end) // 2
        low, end = (low, middle) if holds(middle) else (middle + 1, end)
    return low


def _undominated(begun: list[Beginning]) -> list[Beginning]:
    """Return the beginnings of which no other is as cheap with as small an error."""
    best: list[Beginning] = []
    for beginning in sorted(begun, key=lambda one: one[:2]):
        if not best or beginning[1] < best[-1][1]:
            best.append(beginning)
    return best


def _too_many() -> OptionError:
    return OptionError(
        "There are too many combinations of levels to search for the least mean error",
        hint="use objective='largest', fewer bits or fewer columns",
    )


Objective = Literal["largest", "mean"]


@dataclass(frozen=True)
class Allocation:
    """How many levels each column of a record is released in, and what that costs.

    Whatever a record is, it can give at most ``outputs`` different releases, so releasing it is
    local noiseless privacy of log2(outputs) bits (Farokhi 2019, Noiseless Privacy, Definition 2).
    """

    levels: Mapping[str, int]
    errors: Mapping[str, Fraction]
    """The largest distance between a value and what is released for it, column by column."""
    objective: Objective
    value: Fraction
    """The largest weighted error, or the weighted mean error; no other levels make it smaller."""
    budget: Fraction
    """The bits that a record may cost."""
    columns: Mapping[str, AllocatedColumn]

    @property
    def outputs(self) -> int:
        """How many different releases a record can give: the product of the levels."""
        return math.prod(self.levels.values())

    @property
    def bits_used(self) -> float:
        """The bits that a record does cost."""
        return log_ratio(self.outputs)

    @property
    def bits_left(self) -> float:
        """The bits that no column could make use of."""
        return max(float(self.budget) - self.bits_used, 0.0)

    @property
    def constant(self) -> tuple[str, ...]:
        """The columns that get one level, so that nothing is told about them."""
        return tuple(name for name, levels in self.levels.items() if levels == 1)

    def quantizer(self, name: str) -> UniformQuantizer | CutQuantizer:
        """Return the policy of a column: equal cells, or equal runs of points if it has a step.

        Example:
            >>> shared = allocate_bits({"age": (0, 120), "height": (100, 250)}, 5)
            >>> shared.quantizer("age").levels, shared.quantizer("age").error
            (5, Fraction(12, 1))
        """
        if name not in self.columns:
            raise ColumnError(
                f"The allocation has no column '{name}'", hint=f"it has {', '.join(self.columns)}"
            )
        return self.columns[name].quantizer(self.levels[name])


@dataclass(frozen=True)
class AllocatedColumn:
    """The public range of a column, the step of its values if it has one, and its weight."""

    range: Interval
    step: Fraction | None = None
    weight: Fraction = Fraction(1)

    @classmethod
    def of(cls, name: str, described: object, weight: object = 1) -> AllocatedColumn:
        """Read an interval, two ends, or a mapping with a range and perhaps a step."""
        step = None
        if hasattr(described, "keys"):
            if "range" not in described or set(described) - {"range", "step"}:  # type: ignore[operator, call-overload]  # a mapping
                raise ColumnError(
                    f"Column '{name}' is not described by a range and a step",
                    hint="write for example range = [100, 250] and step = 0.5",
                )
            if described.get("step") is not None:  # type: ignore[attr-defined]  # likewise
                step = parse_step(described["step"], column=name)  # type: ignore[index]  # likewise
            described = described["range"]  # type: ignore[index]  # likewise
        share = parse_number(weight, name=f"the weight of column '{name}'")
        if share <= 0:
            raise OptionError(
                f"The weight of column '{name}' is not positive",
                hint="leave out a column that does not matter",
            )
        return cls(Interval.of(described), step, share)

    @cached_property
    def points(self) -> int | None:
        """How many values there are, where there is a step; more levels would be of no use."""
        if self.step is None:
            return 1 if self.range.length == 0 else None
        return math.floor(self.range.length / self.step) + 1

    @cached_property
    def scale(self) -> Fraction:
        """The weighted distance that a level halves, a third of it ...: half a range or a step."""
        return self.weight * (self.range.length if self.step is None else self.step) / 2

    def weighted_error(self, levels: int) -> Fraction:
        """Return the least weighted error of this many levels."""
        if self.points is None:
            return self.scale / levels
        return self.scale * (-(-self.points // levels) - 1)

    def nth_error(self, n: int) -> Fraction:
        """Return the weighted errors that occur one by one, the largest first."""
        return self.scale / n if self.points is None else self.scale * (self.points - n)

    def levels_within(self, error: Fraction, *, strictly: bool = False) -> int | None:
        """Return the fewest levels with a weighted error of at most, or below, some number."""
        if self.scale == 0:
            return None if strictly and error <= 0 else 1
        if self.points is None:
            if error <= 0:
                return None
            wanted = self.scale / error
            return max(1, math.floor(wanted) + 1 if strictly else math.ceil(wanted))
        if error < 0 or (strictly and error == 0):
            return None
        ratio = error / self.scale
        run = math.ceil(ratio) if strictly else math.floor(ratio) + 1
        return -(-self.points // run)

    def useful(self, levels: int) -> int:
        """Return the fewest levels that are as good as this many."""
        return levels if self.points is None else -(-self.points // -(-self.points // levels))

    def quantizer(self, levels: int) -> UniformQuantizer | CutQuantizer:
        """Return the policy with this many levels."""
        if self.step is None:
            return UniformQuantizer(self.range.low, self.range.high, levels)
        assert self.points is not None
        run, low, step = -(-self.points // levels), self.range.low, self.step
        starts = range(0, self.points, run)
        cuts = [low + (start - Fraction(1, 2)) * step for start in starts[1:]]
        spans = tuple(
            Interval(low + start * step, low + (min(start + run, self.points) - 1) * step)
            for start in starts
        )
        return CutQuantizer((low, *cuts, self.range.high), spans=spans)


def allocate_bits(
    columns: Mapping[str, object],
    total_bits: object,
    *,
    weights: Mapping[str, object] | None = None,
    objective: Objective = "largest",
) -> Allocation:
    r"""Share a budget of bits for a record among its columns, so that errors are least.

    .. math:: \min_q \max_i w_i e_i(q_i) \text{ or } \min_q \frac{\sum_i w_i e_i(q_i)}{\sum_i w_i}
        \text{ subject to } \prod_i q_i \le \lfloor 2^\epsilon \rfloor

    Whole levels q_i, with e_i(q) = range / (2 q); a column with a step has whole runs of points
    as its cells. Local noiseless privacy (Farokhi 2019, Noiseless Privacy, Definition 2 and
    Theorem 6). Exact: no other levels are better. What the largest error leaves of the budget
    makes the next largest one as small as it can be, and so on. A budget of 0 bits is met by
    telling nothing: one level each. The largest error takes time linear in the bits and quadratic
    in the columns; the mean is searched, with bounds that leave little to look at, and refused
    where that is still too much.

    Args:
        columns: for every column an interval, two ends, or a mapping with "range" and "step".
        total_bits: what a record may cost.
        weights: how much an error of a column matters; 1 where not named.
        objective: "largest" or "mean".

    Example:
        >>> taxi = {"latitude": (0, 1), "longitude": (0, 1)}
        >>> dict(allocate_bits(taxi, 6).levels)
        {'latitude': 8, 'longitude': 8}
        >>> shared = allocate_bits({"age": (0, 120), "height": (100, 250)}, 5)
        >>> dict(shared.levels), shared.value, shared.outputs
        ({'age': 5, 'height': 6}, Fraction(25, 2), 30)
    """
    wanted = weights or {}
    if not columns:
        raise OptionError("There are no columns to share the bits among", hint="name at least one")
    for name in wanted:
        if name not in columns:
            raise ColumnError(
                f"A weight names column '{name}', which gets no bits",
                hint=f"choose from {', '.join(columns)}",
            )
    if objective not in get_args(Objective):
        raise OptionError(
            f"The objective '{objective}' is unknown", hint="choose 'largest' or 'mean'"
        )
    described = {
        name: AllocatedColumn.of(name, what, wanted.get(name, 1)) for name, what in columns.items()
    }
    sides, limit = list(described.values()), floor_power(total_bits)
    chosen = least_largest(sides, limit) if objective == "largest" else least_mean(sides, limit)
    costs = [side.weighted_error(levels) for side, levels in zip(sides, chosen, strict=True)]
    mean = sum(costs, Fraction(0)) / sum(side.weight for side in sides)
    return Allocation(
        levels=dict(zip(described, chosen, strict=True)),
        errors={
            name: cost / side.weight
            for (name, side), cost in zip(described.items(), costs, strict=True)
        },
        objective=objective,
        value=max(costs) if objective == "largest" else mean,
        budget=parse_number(total_bits, name="the budget in bits"),
        columns=described,
    )
