"""One column of a policy: what every kind of it offers, and how the fields of a file are read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from hartley.boxes.box import Interval
from hartley.engines.cells import UniformCells
from hartley.errors import OptionError
from hartley.exact import parse_number, parse_step
from hartley.tables.release_rules import Keep
from hartley.text import count_of, exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hartley.boxes.box import CategoryList, SteppedRange
    from hartley.boxes.expression import Clause, Expression
    from hartley.policies.hypotheses.hypothesis import LatticeColumn
    from hartley.policies.hypotheses.lines import LinePolicy
    from hartley.policies.hypotheses.open_records import OpenHypothesis
    from hartley.policies.quantizer import Quantizer, Query
    from hartley.policies.random.matrix import ExactMatrix
    from hartley.report import Groups, Ruler
    from hartley.tables.release_rules import Rule

    Range = tuple[Fraction, Fraction]
    Declared = Interval | SteppedRange | CategoryList
    """The values that a column can have: every number of a range, those on a step, or a list."""


@dataclass(frozen=True)
class Output:
    """In how many ways one column of a record can come out, missing values aside."""

    name: str
    count: int | None
    """How many different values are released; None where they are not bounded."""
    reads: frozenset[str]
    """The columns of the table that it is computed from."""
    computed: bool = False
    """Whether it is a query, which may have no value where those columns have one."""
    is_exact: bool = False
    """Whether a value of its declared step can be told from every other: it is released exactly."""


@dataclass(frozen=True)
class HiddenSide:
    """A hypothesis that a kind hides: which it is, and for which records it promises to."""

    text: str
    """The hypothesis as it is written."""
    clause: Clause
    """The same over columns of the table: (">=", e) for e >= 0, (">", e) for e > 0, and these
    joined as ("and", ...), ("or", ...) and ("not", clause)."""
    distance: Expression | None = None
    """How far a record is from the other side; None where no distance counts."""
    reach: Fraction | None = None
    """Records that are no further than this from zero are to be left open, where both sides occur
    for the other columns. Without a distance, all that are moved are."""
    opens: Callable[[Mapping[str, Any]], Any] | None = field(default=None, compare=False)
    """Tell of arrays of indices on the declared steps which records are to be left open, where that
    is neither those near a line nor those that are moved."""


@dataclass(frozen=True)
class Draws:
    """What is released at random: which values can be there, which come out, and how often."""

    values: tuple[Any, ...]
    released: tuple[Any, ...]
    chances: ExactMatrix
    """A row a value and a column a released value."""


class ColumnPolicy:
    """How one column is released: the base of every kind of policy.

    A kind is one class. It must read and write the fields of a file, give what an engine executes
    and say in how many ways a record can come out. Everything else in which kinds differ is a
    property here whose default suits most of them, so that no other module needs to know which
    kinds there are. ``CONTRIBUTING.md`` adds one, step by step.
    """

    kinds: ClassVar[tuple[str, ...]] = ()
    """The words for it in a policy file: the values of the field ``kind``."""
    needed: ClassVar[tuple[str, ...]] = ()
    """The fields that it must have, beside ``name`` and ``kind``."""
    optional: ClassVar[tuple[str, ...]] = ()
    """The fields that it may have."""
    is_random: ClassVar[bool] = False
    """Whether what is released is drawn at random."""
    needs_ranges: ClassVar[bool] = False
    """Whether it hides a hypothesis, for which the declared ranges of other columns are needed."""

    if TYPE_CHECKING:
        read: Callable[..., ColumnPolicy]
        """Builds it from its name and the fields of a file; see ``from_fields``."""

        # A dataclass would take a property that exists at run time for the default of its field.
        @property
        def name(self) -> str:
            """The column, or the first of several."""

        @property
        def kind(self) -> str:
            """The word for it in a policy file."""

    # a file

    @classmethod
    def from_fields(cls, kind: str, name: str, fields: Mapping[str, object]) -> ColumnPolicy:
        """Build it from the fields of a file, whose names were compared with those above."""
        _ = kind  # where there is one
        return cls.read(name, **fields)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file, as text, whole numbers, truth values and lists of them."""
        raise NotImplementedError

    def as_designed(self, design: Mapping[str, Any]) -> ColumnPolicy:
        """Return it with what its fields leave to the section [design] of the file."""
        _ = design
        return self

    def check_ranges(self, ranges: Mapping[str, Range]) -> None:
        """Refuse the declared ranges of a policy where this column could not be certified."""

    # a release

    @property
    def columns(self) -> tuple[str, ...]:
        """The names that something is released under; several where they are drawn together."""
        return (self.name,)

    @property
    def of(self) -> str | None:
        """The query that is released, as it is written; None for the table's own column."""
        return None

    @property
    def query(self) -> Query | None:
        """The query that is released; None for the table's own column."""
        return None

    def to_rules(self) -> tuple[Rule, ...]:
        """Return what an engine executes, one rule a released name."""
        return (self.to_rule(),)

    def to_rule(self) -> Rule:
        """Return what an engine executes, of a kind that is released under one name."""
        raise NotImplementedError

    # a promise

    @property
    def range(self) -> Range | None:
        """The declared range of what is released; None where there is none."""
        return None

    @property
    def error(self) -> Fraction | None:
        """The furthest that a value of the range is moved; None where there is no distance."""
        return None

    def error_of(self, name: str) -> Fraction | None:
        """Return the furthest that a value of one of its columns is moved."""
        _ = name  # all alike, unless a kind says otherwise
        return self.error

    @property
    def cells(self) -> Quantizer | None:
        """The cells that numbers are released in; None where they are not."""
        return None

    @property
    def levels(self) -> int | None:
        """In how many cells or groups it is released; None where it is in neither."""
        return None

    @property
    def lists_values(self) -> bool:
        """Whether its cells were made for listed values, of which alone the error holds."""
        return False

    @property
    def is_kept(self) -> bool:
        """Whether what is released is the value itself, clamped at most."""
        return False

    def outputs(self) -> Output:
        """Return in how many ways a record can come out: what noiseless privacy counts."""
        raise NotImplementedError

    def guessing_gain(self) -> Fraction | None:
        """Return by how much the release multiplies the chance of a guess; None where unbounded.

        What is not random helps as many times as it has outputs, and missing is one of them.
        """
        count = self.outputs().count
        return None if count is None else Fraction(count + 1)

    def hides(self, ranges: Mapping[str, Range]) -> LinePolicy | None:
        """Return the policy by which it hides a hypothesis, for declared ranges; None if none."""
        _ = ranges
        return None

    @property
    def lattice(self) -> Mapping[str, LatticeColumn] | None:
        """The columns that it reads on a declared step, by name; None where it reads none so."""
        return None

    def all_left_open(self) -> tuple[OpenHypothesis, ...]:
        """Return all hypotheses that it leaves open on data with a step; none where it has none."""
        return ()

    # words and pictures

    def sentence(self) -> str:
        """Say how the column is released."""
        return f"{self.name} is released as it is."

    def picture(self, reach: float | None = None) -> Ruler | Groups | None:
        """Return what there is to draw, as plain numbers; None where there is nothing.

        ``reach`` is how far one person moves what is released, where many people share it.
        """
        _ = reach
        return None

    # an attack: what somebody who reads the policy file can compute backwards from a release

    def declared_values(self) -> Mapping[str, Declared]:
        """Return the values that columns of the table can have, as far as the file says, by column.

        The default are the points of declared steps, or the declared range of the own column.
        """
        if self.lattice is not None:
            return self.lattice
        if self.range is None or self.query is not None:
            return {}
        return {self.name: Interval(*self.range)}

    def hidden_sides(self) -> tuple[HiddenSide, ...]:
        """Return all hypotheses that it hides; none where it hides none."""
        return ()

    def possible_if(self) -> Clause | None:
        """Return the condition that every possible record fulfils; None where all are possible."""
        return None

    def rises_between(self) -> tuple[Expression, ...] | None:
        """Return where what is released may jump down as the column rises, the others fixed.

        Between two neighbours of these places, from one on and up to below the next, the released
        value never falls, also not after rounding to doubles, and what is hidden changes once at
        most. None where that is not known: then only values on a step can be worked out, by
        trying them all.
        """
        return None

    def draws(self) -> Draws | None:
        """Return what is drawn at random; None where the release is a function of the record."""
        return None


# --- the fields of a file, read or refused -------------------------------------------------------


def read_number(value: object, field: str) -> Fraction:
    """Read a number as it is written: text, or a bare number of the file."""
    return parse_number(str(value) if isinstance(value, Decimal) else value, name=f"'{field}'")


def read_step(value: object, column: str) -> Fraction | None:
    """Read the step of a column: its values are low, low + step, low + 2 step and so on."""
    return None if value is None else parse_step(str(read_number(value, "step")), column=column)


def points_between(low: Fraction, high: Fraction, step: Fraction) -> int:
    """Return how many values of a step a range holds, counted from its low end."""
    return math.floor((high - low) / step) + 1


def read_numbers(items: object, field: str) -> tuple[Fraction, ...]:
    """Read a list of numbers."""
    return tuple(read_number(item, field) for item in read_list(items, field))


def read_query(value: object) -> str | None:
    """Read a query as the text that it is; it is parsed where it is used."""
    if value is not None and not isinstance(value, str):
        raise OptionError(
            "The field 'of' is not text", hint='write for example of = "mean(height)"'
        )
    return value


def read_count(value: object, field: str) -> int:
    """Read a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise OptionError(f"The field '{field}' is not a whole number", hint="write it bare: 150")
    return value


def read_list(value: object, field: str) -> list[Any]:
    """Read a list."""
    if not isinstance(value, list):
        raise OptionError(
            f"The field '{field}' is not a list", hint='write it in brackets: ["0", "1"]'
        )
    return value


# --- kept column ----------------------------------------------------------------------------------
# A column released as it is, clamped to a range, or as the values of its step.


@dataclass(frozen=True)
class KeptColumn(ColumnPolicy):
    """A column released as it is, or clamped to a range.

    With a step it is one of the values low, low + step, low + 2 step and so on up to high, which
    can be counted; a number between two of them is released as the nearest one.

    Example:
        >>> KeptColumn("sex").to_rule()
        Keep(column='sex', low=None, high=None)
        >>> KeptColumn.read("age", low=0, high=100, step=1).outputs().count
        101
    """

    name: str
    low: Fraction | None = None
    high: Fraction | None = None
    step: Fraction | None = None

    kind = "keep"
    kinds = ("keep",)
    optional = ("low", "high", "step")

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise OptionError("A range has only one end", hint="give both low and high, or neither")
        if self.step is not None and self.range is None:
            raise OptionError(
                "A step without a range says nothing", hint="give low and high beside the step"
            )
        self.to_rule()

    @classmethod
    def read(
        cls, name: str, low: object = None, high: object = None, step: object = None
    ) -> KeptColumn:
        """Build it from the fields of a file."""
        given = {"low": low, "high": high}
        ends = {f: read_number(end, f) for f, end in given.items() if end is not None}
        return cls(name, **ends, step=read_step(step, name))

    @property
    def range(self) -> tuple[Fraction, Fraction] | None:
        """The range to which values are clamped, if any."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def points(self) -> int | None:
        """How many values there are, where there is a step."""
        if self.low is None or self.high is None or self.step is None:
            return None
        return points_between(self.low, self.high, self.step)

    @property
    def is_kept(self) -> bool:
        """Whether every value of the range stays as it is; between two steps it does not."""
        return self.step is None

    @property
    def lists_values(self) -> bool:
        """Whether only the values of a step are possible."""
        return self.step is not None

    @property
    def error(self) -> Fraction:
        """No value of the range, or of its step, is moved."""
        return Fraction(0)

    def to_rule(self) -> Keep | UniformCells:
        """Return what an engine executes: a step is a cell around every one of its values."""
        if self.low is None or self.step is None or self.points is None:
            return Keep(self.name, self.low, self.high)
        first = self.low - self.step / 2
        end = first + self.points * self.step
        return UniformCells(self.name, first, end, self.points, listed=True)

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a file."""
        step = {} if self.step is None else {"step": str(self.step)}
        return {} if self.range is None else {"low": str(self.low), "high": str(self.high)} | step

    def rises_between(self) -> tuple[Expression, ...]:
        """Return that what is released rises with the column everywhere."""
        return ()

    def outputs(self) -> Output:
        """Return that any value can come out, or those of a step, or a single one."""
        single = self.low is not None and self.low == self.high
        if self.points is not None:
            return Output(self.name, self.points, frozenset({self.name}), is_exact=True)
        return Output(self.name, 1 if single else None, frozenset({self.name}))

    def sentence(self) -> str:
        """Say that the column is released as it is, and how many values it has where they count."""
        if self.points is None or self.low is None or self.step is None:
            return super().sentence()
        return (
            f"{self.name} is released exactly, as one of {count_of(self.points, 'value')} from "
            f"{exactly(self.low)} on in steps of {exactly(self.step)}; a value between two of them "
            "as the nearest one."
        )
