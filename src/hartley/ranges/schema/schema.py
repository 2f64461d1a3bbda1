"""The public description of a table: its columns, their ranges and steps, whose data it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from hartley.engines.coded.coding import ColumnCoding
from hartley.engines.tables.table import refuse_doubled
from hartley.errors import InputError, OptionError
from hartley.exact import log_ratio
from hartley.ranges.schema.description import describe_schema
from hartley.ranges.schema.file import read_fields, schema_to_toml

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

Role = Literal["public", "open", "private"]
ROLES = ("public", "open", "private")
LARGEST_INTEGER = 2**63 - 1
"""Whole numbers beyond are no category on some engine."""
LONGEST_POPULATION = 200


@dataclass(frozen=True)
class Column:
    """A column as everybody may know it: its values are numbered 0 to points - 1.

    Example:
        >>> height = Column("height", "private", low=Fraction(100), high=Fraction(250),
        ...                 step=Fraction(1, 2))
        >>> height.points, height.size
        (301, 301)
    """

    name: str
    kind: Role
    """Public: known to everybody. Open: private, its value paid for once. Private: priced."""
    values: tuple[str | int | bool, ...] | None = None
    """The categories, in order; None of a numeric column."""
    other: bool = False
    """Whether every further category is one more value, the last."""
    low: Fraction | None = None
    high: Fraction | None = None
    step: Fraction | None = None
    """Code k of a numeric column means low + k step; others are clamped and snapped."""
    date: bool = False
    """Whether the numbers are days since 1970-01-01."""
    nullable: bool = False
    unit: str | None = None

    def __post_init__(self) -> None:
        if not _is_text(self.name):
            raise OptionError("A column of the schema has no name", hint="give it a name")
        if self.kind not in ROLES:
            raise _wrong(self.name, "is neither public, open nor private", "choose its kind")
        if self.values is not None:
            _check_values(self)
        else:
            _check_range(self)
        if self.unit is not None and (not isinstance(self.unit, str) or self.values is not None):
            raise _wrong(
                self.name, "has a unit that is no text", "give units to numbers, such as 'cm'"
            )

    @property
    def numeric(self) -> bool:
        """Whether the values can be added."""
        return self.values is None

    @cached_property
    def points(self) -> int:
        """How many values there are, a missing one not counted."""
        if self.values is not None:
            return len(self.values) + self.other
        assert self.low is not None
        assert self.high is not None
        assert self.step is not None
        return int((self.high - self.low) / self.step) + 1

    @property
    def size(self) -> int:
        """How many values there are, a missing one counted."""
        return self.points + self.nullable

    @property
    def coding(self) -> ColumnCoding:
        """How an engine turns the column into codes."""
        return ColumnCoding(
            self.name,
            self.points,
            values=self.values,
            other=self.other,
            low=self.low,
            step=self.step,
            date=self.date,
            nullable=self.nullable,
            constant=self.kind == "public",
        )


@dataclass(frozen=True)
class Schema:
    """What everybody may know of a table.

    Read one from a file with ``Schema.read``; ``hartley.ranges.schema.file`` shows the format.

    Example:
        >>> schema = Schema.read({
        ...     "table": {"name": "people"},
        ...     "columns": {
        ...         "sex": {"kind": "public", "values": ["F", "M"]},
        ...         "age": {"kind": "private", "range": [0, 127], "step": 1},
        ...     },
        ... })
        >>> schema.record_bits
        7.0
    """

    name: str
    columns: Mapping[str, Column]
    unit: str | None = None
    """The column that names the person; without one, one row is one person."""
    rows_per_unit: int = 1
    rows: Literal["public", "private"] = "public"
    max_rows: int | None = None
    """The most rows that there can be; needed where the number of rows is private."""
    population: str | None = None
    """Whose tables this is one of: those about the same people share one budget."""
    default_bits: Fraction = Fraction(1)
    draft: bool = False
    """Whether it was made from the data and nobody has confirmed it yet."""

    def __post_init__(self) -> None:
        _check_schema(self)

    @classmethod
    def read(cls, source: Schema | Mapping[str, Any] | str | os.PathLike[str]) -> Schema:
        """Return a schema from a TOML file, from nested dicts, or as it is."""
        if isinstance(source, Schema):
            return source
        table, columns = read_fields(source)
        schema = cls(columns={fields["name"]: Column(**fields) for fields in columns}, **table)
        refuse_row_level(schema)
        return schema

    def to_toml(self) -> str:
        """Return the schema as the text of a file that ``Schema.read`` reads."""
        return schema_to_toml(self)

    def describe(self) -> str:
        """Return the schema in words, a line a column."""
        return describe_schema(self)

    def dummy_data(self, n: int = 1000, seed: int = 0) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
        """Return an Arrow table of invented rows over the schema's domain, to write queries on."""
        from hartley.ranges.schema.dummy_rows import dummy_data

        return dummy_data(self, n, seed)

    @property
    def codings(self) -> tuple[ColumnCoding, ...]:
        """How an engine turns the columns into codes, in their order."""
        return tuple(column.coding for column in self.columns.values())

    @property
    def record_size(self) -> int:
        """How many records of one person there are, public columns set aside."""
        points = math.prod(c.size for c in self.columns.values() if c.kind != "public")
        r = self.rows_per_unit
        return math.comb(points + r - (self.rows == "public"), r)

    @property
    def record_bits(self) -> float:
        """The size of a record in bits."""
        return log_ratio(self.record_size)

    def require_confirmed(self) -> None:
        """Refuse a draft, and public columns of rows whose existence is a secret."""
        if self.draft:
            raise InputError(
                f"The schema of '{self.name}' is a draft that was made from the data",
                hint="check every range and value, for they become public; then remove the line "
                "draft = true",
            )
        refuse_row_level(self)


def refuse_row_level(schema: Schema) -> None:
    """Refuse a public column of rows of which nobody may know whether they are there."""
    public = [column.name for column in schema.columns.values() if column.kind == "public"]
    if schema.rows == "private" and schema.unit is None and public:
        raise _wrong(
            public[0],
            "is public while the number of rows is private, so it would tell who is there",
            "make it open or private, or name the unit whose property it is",
        )


# --- checks -----------------------------------------------------------------------------------


def _is_text(text: object) -> bool:
    """Tell whether something is text that a file can hold; half a character is not."""
    return isinstance(text, str) and text != "" and not any("\ud800" <= c <= "\udfff" for c in text)


def _is_name(text: object) -> bool:
    """Tell whether something is text that a ledger takes as a name."""
    return isinstance(text, str) and 0 < len(text) <= LONGEST_POPULATION and text.isprintable()


def _wrong(column: str, problem: str, hint: str) -> OptionError:
    return OptionError(f"Column '{column}' of the schema {problem}", hint=hint)


def _check_values(column: Column) -> None:
    values = column.values
    assert values is not None
    if {column.low, column.high, column.step} != {None} or column.date:
        raise _wrong(column.name, "has both values and a range", "give it one of the two")
    if not values or len({type(value) for value in values}) > 1:
        raise _wrong(
            column.name,
            "has values that are not all text, all whole numbers or all true and false",
            'list them in one form, for example values = ["F", "M"]',
        )
    if type(values[0]) not in (str, int, bool):
        raise _wrong(
            column.name,
            "has values that are neither text, whole numbers nor true and false",
            "write them as text, or give a range and a step",
        )
    if len(set(values)) < len(values):
        raise _wrong(column.name, "lists a value twice", "list every value once")
    if column.other and isinstance(values[0], bool) and len(values) == 2:
        raise _wrong(column.name, "leaves nothing for 'other'", "leave out other = true")
    if any(isinstance(value, str) and not _is_text(f"-{value}") for value in values):
        raise _wrong(column.name, "lists what is no text", "write the values in Unicode")
    if any(isinstance(value, int) and abs(value) > LARGEST_INTEGER for value in values):
        raise _wrong(column.name, "lists a number that is too large", "write the values as text")


def _check_range(column: Column) -> None:
    low, high, step = column.low, column.high, column.step
    if low is None or high is None or step is None:
        raise _wrong(
            column.name,
            "has neither values nor a range with a step",
            "write values = [...], or range = [low, high] and step = ...",
        )
    if column.other:
        raise _wrong(column.name, "has a range and 'other'", "numbers outside are clamped anyway")
    if step <= 0:
        raise _wrong(column.name, "has a step that is not positive", "write for example step = 1")
    if high < low:
        raise _wrong(column.name, "has a range that ends before it begins", "write [low, high]")
    if (high - low) % step:
        raise _wrong(
            column.name,
            "has a range that is not a whole number of steps",
            "move an end of the range to a multiple of the step",
        )
    if column.date and any(number.denominator != 1 for number in (low, step)):
        raise _wrong(column.name, "has a step that is no whole number of days", "write step = 1")
    column.coding.cells()  # refuses points that no engine could tell apart exactly


def _check_schema(schema: Schema) -> None:
    if not _is_text(schema.name):
        raise OptionError("The schema has no name", hint="write name = ... below [table]")
    if not schema.columns:
        raise OptionError(
            f"The schema of '{schema.name}' has no columns", hint="describe at least one column"
        )
    refuse_doubled(schema.columns, f"the schema of '{schema.name}'")
    for name, column in schema.columns.items():
        if name != column.name:
            raise _wrong(column.name, f"stands under the name '{name}'", "use one name")
    for number, what in ((schema.rows_per_unit, "rows_per_unit"), (schema.max_rows, "max_rows")):
        if number is not None and (type(number) is not int or number < 1):
            raise OptionError(
                f"The setting {what} of '{schema.name}' is not a positive whole number",
                hint=f"write for example {what} = 1",
            )
    _check_promises(schema)


def _check_promises(schema: Schema) -> None:
    problems = (
        (
            schema.rows not in ("public", "private"),
            "has rows that are neither public nor private",
            'write rows = "public" or rows = "private"',
        ),
        (
            schema.rows == "private" and schema.max_rows is None,
            "has private rows and no max_rows",
            "write max_rows = ..., the most rows that there can ever be",
        ),
        (
            schema.unit is not None and not _is_text(schema.unit),
            "has a unit that is no name of a column",
            'write unit = "...", the column that names the person',
        ),
        (
            schema.rows_per_unit > 1 and schema.unit is None,
            "allows several rows a unit and names no unit",
            'write unit = "...", the column that names the person',
        ),
        (
            schema.population is not None and not _is_name(schema.population),
            "has a population that is no name",
            f'write population = "...", 1 to {LONGEST_POPULATION} printable characters',
        ),
        (schema.default_bits < 0, "has negative default_bits", "write for example 1"),
    )
    for wrong, problem, hint in problems:
        if wrong:
            raise OptionError(f"The schema of '{schema.name}' {problem}", hint=hint)
