"""A column, or the answer to a query, released in cells: equal ones, or between listed edges."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from hartley.chart import Ruler
from hartley.engines.maps.cell_rules import released_double
from hartley.engines.maps.rules import MOST_CUTS, CutCells, Quantized, UniformCells
from hartley.errors import OptionError
from hartley.numerals import exactly_or_up
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
from hartley.policies.quantizers.elementary_functions import arithmetic_tree
from hartley.policies.quantizers.optimal import CutQuantizer
from hartley.policies.quantizers.quantizer import UniformQuantizer
from hartley.policies.quantizers.query import Aggregate, parse_query
from hartley.ranges.boxes.box import Interval
from hartley.ranges.boxes.expression import Expression
from hartley.wording import counted, exactly, plain_decimal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from hartley.policies.quantizers.quantizer import Quantizer
    from hartley.policies.quantizers.query import Query

MOST_DRAWN = 2_000
"""More cells than this look like none."""


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

    def to_rules(self) -> tuple[UniformCells | CutCells | Quantized]:
        """Return what an engine executes, row by row; of an aggregate its cells alone."""
        return (self.to_rule(),)

    def to_rule(self) -> UniformCells | CutCells | Quantized:
        """Return what an engine executes, row by row; of an aggregate its cells alone."""
        query = self.query
        if query is None or isinstance(query, Aggregate):
            return self._engine_cells()
        return Quantized(self.name, arithmetic_tree(query), self._engine_cells())

    def _engine_cells(self) -> UniformCells | CutCells:
        raise NotImplementedError

    def outputs(self) -> Output:
        """Return how many cells can come out; those that are released alike count once."""
        query, reads = self.query, frozenset({self.name})
        is_computed = query is not None and not isinstance(query, Aggregate)
        if query is not None and not isinstance(query, Aggregate):
            reads = frozenset(query.names)
        low, high = self.range
        count = 1 if low == high else self._released()
        return Output(self.name, count, reads, is_computed, is_exact=self.is_exact)

    @property
    def is_exact(self) -> bool:
        """Whether every cell holds one value of a declared step at most."""
        return False

    def _released(self) -> int:
        """Return how many different doubles are released."""
        raise NotImplementedError

    def rises_between(self) -> tuple[Expression, ...] | None:
        """Return where cells are released as smaller numbers than the cells below them."""
        return None if self.query is not None else self._falls()

    def _falls(self) -> tuple[Expression, ...]:
        """Return the edges at which the released number falls; equal cells have none."""
        return ()

    def _query_field(self) -> dict[str, str]:
        return {} if self.of is None else {"of": self.of}

    def sentence(self) -> str:
        """Say how many cells there are, how wide, and how far off the release is."""
        name, cells = self.of or self.name, self.cells
        if cells.levels == 1:
            return f"Nothing is told about {name}: there is one cell."
        if self.lists_values and self.error == 0:
            return (
                f"{name} is released exactly, as one of {counted(cells.levels, 'value')} from "
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
        edges = tuple(map(float, cells.edges)) if cells.levels <= MOST_DRAWN else ()
        ends = float(cells.low), float(cells.high)
        narrowest = (
            float(cells.high - cells.low) / cells.levels
            if cells.is_equal
            else float(cells.widths()[0])
        )
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

    @classmethod
    def from_fields(cls, kind: str, name: str, fields: Mapping[str, object]) -> QuantizedColumn:
        """Build it from the fields of a file."""
        _ = kind  # there is one
        return cls.read(name, **fields)

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
            f"released exactly: as one of {counted(self._points, 'value')}."
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
    def from_fields(cls, kind: str, name: str, fields: Mapping[str, object]) -> CutColumn:
        """Build it from the fields of a file."""
        _ = kind  # there is one
        return cls.read(name, **fields)

    @classmethod
    def cut(cls, name: str, quantizer: CutQuantizer, of: str | None = None) -> CutColumn:
        """Build it from a quantizer; what lies in its cells is kept where it is less than they.

        Example:
            >>> from hartley.policies.quantizers.optimal import optimal_quantizer
            >>> best = optimal_quantizer(None, [0, 1, 4, 5, 6, 7], 2, "leakage")
            >>> column = CutColumn.cut("age", best)
            >>> [str(edge) for edge in column.edges], column.error == best.error
            (['0', '9/2', '7'], True)
        """
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

    def _falls(self) -> tuple[Expression, ...]:
        pairs = zip(self.edges[1:-1], itertools.pairwise(self.values), strict=True)
        return tuple(Expression("const", (edge,)) for edge, (low, high) in pairs if high < low)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        fields = {"edges": list(map(str, self.edges)), "values": list(map(str, self.values))}
        spans = [list(map(str, span)) for span in self.spans]
        return fields | ({"spans": spans} if spans else {}) | self._query_field()


def in_cells(name: str, quantizer: Quantizer, of: str | None = None) -> CellColumn:
    """Return the column of any quantizer, of the kind that its cells have.

    Example:
        >>> [in_cells("age", q).kind for q in (UniformQuantizer(0, 9, 3), CutQuantizer((0, 9)))]
        ['quantizer', 'cuts']
    """
    if isinstance(quantizer, UniformQuantizer):
        return QuantizedColumn(name, quantizer, of)
    assert isinstance(quantizer, CutQuantizer)  # there are two
    return CutColumn.cut(name, quantizer, of)


def _about(number: Fraction) -> str:
    """Show a number that nobody is promised: exactly where that is short, else to four digits."""
    text = exactly(number)
    if "/" not in text:
        return text
    nearest = Context(prec=4).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"about {plain_decimal(nearest)}"
