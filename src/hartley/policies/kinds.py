"""How one column is released, as a policy file says it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from hartley.engines.maps.formula import nearest_double
from hartley.engines.maps.rules import CutCells, Keep, Lookup, Quantized, UniformCells
from hartley.errors import OptionError
from hartley.policies.fields import read_count, read_list, read_number, read_numbers, read_query
from hartley.policies.hypotheses.line import LineColumn
from hartley.policies.perturbation.pram import Pram
from hartley.policies.quantizers.optimal import CutQuantizer
from hartley.policies.quantizers.quantizer import UniformQuantizer
from hartley.policies.quantizers.query import Aggregate, parse_query
from hartley.ranges.boxes.box import Interval

if TYPE_CHECKING:
    from hartley.engines.maps.rules import Rule
    from hartley.policies.quantizers.query import Query

__all__ = [
    "ColumnPolicy",
    "CutColumn",
    "KeptColumn",
    "LineColumn",
    "MergedColumn",
    "Pram",
    "QuantizedColumn",
    "columns_of",
    "query_of",
    "rules_of",
]


@dataclass(frozen=True)
class QuantizedColumn:
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
    kind: ClassVar[str] = "quantizer"

    def __post_init__(self) -> None:
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
    ) -> QuantizedColumn:
        """Build it from the fields of a file."""
        ends = read_number(low, "low"), read_number(high, "high")
        quantizer = UniformQuantizer(*ends, read_count(levels, "levels"), rule)  # type: ignore[arg-type]  # checked there
        return cls(name, quantizer, read_query(of))

    @property
    def query(self) -> Query | None:
        """What is quantized, read; None for the table's own column."""
        return None if self.of is None else parse_query(self.of)

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """The range that the policy is made for."""
        return self.quantizer.low, self.quantizer.high

    @property
    def error(self) -> Fraction:
        """The largest distance between a value of the range and what is released."""
        return self.quantizer.error

    def to_rule(self) -> UniformCells | Quantized:
        """Return what an engine executes, row by row; of an aggregate its cells alone."""
        return _rule(self, UniformCells(self.name, *self.range, self.quantizer.levels))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        low, high = map(str, self.range)
        levels, rule = self.quantizer.levels, self.quantizer.rule
        return {"low": low, "high": high, "levels": levels, "rule": rule} | _of(self)


@dataclass(frozen=True)
class CutColumn:
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
    kind: ClassVar[str] = "cuts"

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
    def query(self) -> Query | None:
        """What is quantized, read; None for the table's own column."""
        return None if self.of is None else parse_query(self.of)

    @property
    def quantizer(self) -> CutQuantizer:
        """The cells as a quantizer."""
        spans = tuple(Interval(low, high) for low, high in self.spans)
        return CutQuantizer(self.edges, self.values, spans)

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """The range that the policy is made for."""
        return self.edges[0], self.edges[-1]

    @property
    def error(self) -> Fraction:
        """The largest distance between a value that may occur and what is released for it."""
        return self.quantizer.error

    def to_rule(self) -> CutCells | Quantized:
        """Return what an engine executes, row by row; of an aggregate its cells alone."""
        values = tuple(nearest_double(value, column=self.name) for value in self.values)
        return _rule(self, CutCells(self.name, self.edges, values))

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        fields = {"edges": list(map(str, self.edges)), "values": list(map(str, self.values))}
        spans = [list(map(str, span)) for span in self.spans]
        return fields | ({"spans": spans} if spans else {}) | _of(self)


@dataclass(frozen=True)
class MergedColumn:
    """A column of categories, each group of which is released as one label.

    Example:
        >>> jobs = MergedColumn("job", (("nurse", "doctor"), ("teacher",)), ("health", "school"))
        >>> jobs.to_rule().groups
        (('nurse', 'health'), ('doctor', 'health'), ('teacher', 'school'))
    """

    name: str
    groups: tuple[tuple[object, ...], ...]
    labels: tuple[object, ...]
    other: object | None = None
    """What is released for a value in no group; None refuses such values."""
    kind: ClassVar[str] = "merging"
    range: ClassVar[None] = None
    error: ClassVar[None] = None

    def __post_init__(self) -> None:
        if len(self.groups) != len(self.labels):
            raise OptionError(
                f"There are {len(self.groups)} groups but {len(self.labels)} labels",
                hint="give every group one label",
            )
        self.to_rule()

    @classmethod
    def read(
        cls, name: str, groups: object, labels: object, other: object | None = None
    ) -> MergedColumn:
        """Build it from the fields of a file."""
        members = tuple(tuple(read_list(group, "groups")) for group in read_list(groups, "groups"))
        return cls(name, members, tuple(read_list(labels, "labels")), other)

    def to_rule(self) -> Lookup:
        """Return what an engine executes."""
        pairs = [
            (value, label)
            for group, label in zip(self.groups, self.labels, strict=True)
            for value in group
        ]
        return Lookup(self.name, tuple(pairs), self.other)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        fields = {"labels": list(self.labels), "groups": [list(group) for group in self.groups]}
        return fields if self.other is None else fields | {"other": self.other}


@dataclass(frozen=True)
class KeptColumn:
    """A column released as it is, or clamped to a range.

    Example:
        >>> KeptColumn("sex").to_rule()
        Keep(column='sex', low=None, high=None)
    """

    name: str
    low: Fraction | None = None
    high: Fraction | None = None
    kind: ClassVar[str] = "keep"
    error: ClassVar[Fraction] = Fraction(0)

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise OptionError("A range has one end only", hint="give both low and high, or neither")
        self.to_rule()

    @classmethod
    def read(cls, name: str, low: object = None, high: object = None) -> KeptColumn:
        """Build it from the fields of a file."""
        given = {"low": low, "high": high}
        return cls(name, **{f: read_number(end, f) for f, end in given.items() if end is not None})

    @property
    def range(self) -> tuple[Fraction, Fraction] | None:
        """The range to which values are clamped, if any."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def to_rule(self) -> Keep:
        """Return what an engine executes."""
        return Keep(self.name, self.low, self.high)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        return {} if self.range is None else {"low": str(self.low), "high": str(self.high)}


ColumnPolicy: TypeAlias = (
    QuantizedColumn | CutColumn | MergedColumn | LineColumn | KeptColumn | Pram
)
"""How one column is released."""


def query_of(column: ColumnPolicy) -> Query | None:
    """Return the query that a column quantizes; None where it releases the table's own column."""
    return column.query if isinstance(column, (QuantizedColumn, CutColumn)) else None


def columns_of(column: ColumnPolicy) -> tuple[str, ...]:
    """Return the names that a policy releases something under; several where it draws jointly.

    Example:
        >>> columns_of(KeptColumn("sex"))
        ('sex',)
    """
    return column.columns if isinstance(column, Pram) else (column.name,)


def rules_of(column: ColumnPolicy) -> tuple[Rule, ...]:
    """Return what an engine executes, one rule a released name."""
    return column.to_rules() if isinstance(column, Pram) else (column.to_rule(),)


_Cells = TypeVar("_Cells", UniformCells, CutCells)


def _rule(column: QuantizedColumn | CutColumn, cells: _Cells) -> _Cells | Quantized:
    query = column.query
    if query is None or isinstance(query, Aggregate):
        return cells
    return Quantized(column.name, query.to_tree(), cells)


def _of(column: QuantizedColumn | CutColumn) -> dict[str, str]:
    return {} if column.of is None else {"of": column.of}
