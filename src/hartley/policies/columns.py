"""How one column is released, as a policy file says it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from hartley.engines.formula import nearest_double
from hartley.engines.rules import CutCells, Formula, Keep, Lookup, UniformCells
from hartley.errors import OptionError
from hartley.exact import parse_number
from hartley.policies.quantizer import UniformQuantizer
from hartley.ranges.expression import parse_expression

if TYPE_CHECKING:
    from hartley.engines.formula import Tree
    from hartley.ranges.expression import Expression


@dataclass(frozen=True)
class QuantizedColumn:
    """A column released as the middles of equal cells.

    Example:
        >>> QuantizedColumn("height", UniformQuantizer(100, 250, 150)).error
        Fraction(1, 2)
    """

    name: str
    quantizer: UniformQuantizer
    kind: ClassVar[str] = "quantizer"

    def __post_init__(self) -> None:
        self.to_rule()

    @classmethod
    def read(
        cls, name: str, low: object, high: object, levels: object, rule: object = "corrected"
    ) -> QuantizedColumn:
        """Build it from the fields of a file."""
        ends = _number(low, "low"), _number(high, "high")
        return cls(name, UniformQuantizer(*ends, _count(levels, "levels"), rule))  # type: ignore[arg-type]  # checked there

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """The range that the policy is made for."""
        return self.quantizer.low, self.quantizer.high

    @property
    def error(self) -> Fraction:
        """The largest distance between a value of the range and what is released."""
        return self.quantizer.error

    def to_rule(self) -> UniformCells:
        """Return what an engine executes."""
        return UniformCells(self.name, *self.range, self.quantizer.levels)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        low, high = map(str, self.range)
        levels, rule = self.quantizer.levels, self.quantizer.rule
        return {"low": low, "high": high, "levels": levels, "rule": rule}


@dataclass(frozen=True)
class CutColumn:
    """A column released as one number a cell, cells lying between explicit edges.

    Example:
        >>> CutColumn.read("income", edges=["0", "20", "100"], values=["10", "50"]).error
        Fraction(50, 1)
    """

    name: str
    edges: tuple[Fraction, ...]
    values: tuple[Fraction, ...]
    kind: ClassVar[str] = "cuts"

    def __post_init__(self) -> None:
        self.to_rule()

    @classmethod
    def read(cls, name: str, edges: object, values: object) -> CutColumn:
        """Build it from the fields of a file."""
        numbers = (
            tuple(_number(item, field) for item in _list(items, field))
            for field, items in (("edges", edges), ("values", values))
        )
        return cls(name, *numbers)

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """The range that the policy is made for."""
        return self.edges[0], self.edges[-1]

    @property
    def error(self) -> Fraction:
        """The largest distance between a value of the range and what is released."""
        cells = zip(itertools.pairwise(self.edges), self.values, strict=True)
        return max(max(abs(value - low), abs(high - value)) for (low, high), value in cells)

    def to_rule(self) -> CutCells:
        """Return what an engine executes."""
        values = tuple(nearest_double(value, column=self.name) for value in self.values)
        return CutCells(self.name, self.edges, values)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        return {"edges": list(map(str, self.edges)), "values": list(map(str, self.values))}


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
        members = tuple(tuple(_list(group, "groups")) for group in _list(groups, "groups"))
        return cls(name, members, tuple(_list(labels, "labels")), other)

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
class LineColumn:
    """A column moved near a line over other columns, to hide on which side of it a value lies.

    ``stretch`` spreads each side of the line over the whole band: with g the line, r the reach,
    a = max(g - r, low) and b = min(g + r, high), a value x in [g, b] becomes
    a + (x - g)(b - a)/(b - g), one in [a, g) becomes a + (x - a)(b - a)/(g - a), where a < g < b
    (Farokhi 2021, Theorem 4, corrected). ``blur`` releases g for all x in [g - r, g + r] (as
    printed). Every other value is released as it is.

    Example:
        >>> line = {"line": "30*(height/100)**2", "reach": 5, "low": 30, "high": 200}
        >>> obese = LineColumn.read("stretch", "weight", **line)
        >>> obese.error, obese.expression.names
        (Fraction(5, 1), ('height',))
    """

    kind: Literal["stretch", "blur"]
    name: str
    line: str
    """An expression over other columns; kept as it is written."""
    reach: Fraction
    """The furthest that a value is moved: 1/rho."""
    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if self.reach <= 0:
            raise OptionError(
                f"The reach {self.reach} is not positive",
                hint="give the furthest that a value may be moved",
            )
        if self.name in self.expression.names:
            raise OptionError(
                f"The line of column '{self.name}' depends on the column itself",
                hint="write it over other columns",
            )
        self.to_rule()

    @classmethod
    def read(cls, kind: Literal["stretch", "blur"], name: str, **fields: object) -> LineColumn:
        """Build it from the fields of a file."""
        line = fields["line"]
        if not isinstance(line, str):
            raise OptionError(
                "The field 'line' is not text", hint='write for example line = "30*(height/100)**2"'
            )
        return cls(kind, name, line, *(_number(fields[f], f) for f in ("reach", "low", "high")))

    @property
    def expression(self) -> Expression:
        """The line as an expression over other columns."""
        return parse_expression(self.line)

    @property
    def range(self) -> tuple[Fraction, Fraction]:
        """The range that the policy is made for."""
        return self.low, self.high

    @property
    def error(self) -> Fraction:
        """The largest distance between a value of the range and what is released."""
        return self.reach

    def to_rule(self) -> Formula:
        """Return what an engine executes."""
        x, g = ("var", self.name), self.expression.to_tree()
        r, low, high = (("const", str(number)) for number in (self.reach, *self.range))
        tree = _blur(x, g, r) if self.kind == "blur" else _stretch(x, g, r, low, high)
        return Formula(self.name, tree, *self.range)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        numbers = {"reach": self.reach, "low": self.low, "high": self.high}
        return {"line": self.line} | {name: str(value) for name, value in numbers.items()}


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
        return cls(name, **{f: _number(end, f) for f, end in given.items() if end is not None})

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


ColumnPolicy: TypeAlias = QuantizedColumn | CutColumn | MergedColumn | LineColumn | KeptColumn
"""How one column is released."""


def _stretch(x: Tree, g: Tree, r: Tree, low: Tree, high: Tree) -> Tree:
    """Return the formula that stretches both sides of a line over its band."""
    a, b = ("max", ("-", g, r), low), ("min", ("+", g, r), high)

    above = ("<=", g, x)
    start, end = ("if", above, g, a), ("if", above, b, g)
    spread = ("+", a, ("/", ("*", ("-", x, start), ("-", b, a)), ("-", end, start)))
    crossed, inside = ("and", ("<", a, g), ("<", g, b)), ("and", ("<=", a, x), ("<=", x, b))
    # Rounding alone could step over the end of the band.
    return ("if", ("and", crossed, inside), ("min", spread, b), x)


def _blur(x: Tree, g: Tree, r: Tree) -> Tree:
    """Return the formula that releases the line for everything close to it."""
    return ("if", ("and", ("<=", ("-", g, r), x), ("<=", x, ("+", g, r))), g, x)


# --- fields of a file ---------------------------------------------------------------------------


def _number(value: object, field: str) -> Fraction:
    """Read a number as it is written: text, or a bare number of the file."""
    return parse_number(str(value) if isinstance(value, Decimal) else value, name=f"'{field}'")


def _count(value: object, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise OptionError(f"The field '{field}' is not a whole number", hint="write it bare: 150")
    return value


def _list(value: object, field: str) -> list[Any]:
    if not isinstance(value, list):
        raise OptionError(
            f"The field '{field}' is not a list", hint='write it in brackets: ["0", "1"]'
        )
    return value
