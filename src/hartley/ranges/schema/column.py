"""A column of a table as everybody may know it: its values, or its range and step."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction  # noqa: TC003 - the example uses it
from functools import cached_property
from typing import Literal

from hartley.engines.coded.coding import ColumnCoding
from hartley.errors import OptionError
from hartley.ranges.schema.file import day_of
from hartley.wording import decimal_text, noun_for

Role = Literal["public", "open", "private"]
ROLES = ("public", "open", "private")
LARGEST_INTEGER = 2**63 - 1
"""Whole numbers beyond are no category on some engine."""
MOST_LISTED = 8
"""A description lists no more values than this."""


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
        if not is_text(self.name):
            raise OptionError("A column of the schema has no name", hint="give it a name")
        if self.kind not in ROLES:
            raise wrong_column(self.name, "is neither public, open nor private", "choose its kind")
        if self.values is not None:
            _check_values(self)
        else:
            _check_range(self)
        if self.unit is not None and (not isinstance(self.unit, str) or self.values is not None):
            raise wrong_column(
                self.name, "has a unit that is not text", "give units to numbers, such as 'cm'"
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

    @cached_property
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

    def describe(self) -> str:
        """Return the values of the column in words.

        Example:
            >>> Column("sex", "open", values=("F", "M"), other=True).describe()
            'F, M or any other'
        """
        if self.values is not None:
            listed = ", ".join(_category(value) for value in self.values[:MOST_LISTED])
            more = len(self.values) - MOST_LISTED
            words = listed + (f" and {more:,} more" if more > 0 else "")
            words += " or any other" if self.other else ""
        else:
            assert self.low is not None
            assert self.high is not None
            assert self.step is not None
            low, high = (_end(self, end) for end in (self.low, self.high))
            unit = f" {self.unit}" if self.unit else ""
            step = decimal_text(self.step)
            if self.date:
                step += f" {noun_for(self.step, 'day')}"
            words = f"{low} to {high}{unit} in steps of {step} ({self.points:,} points)"
        return words + (", may be missing" if self.nullable else "")


def _end(column: Column, end: Fraction) -> str:
    return day_of(end).isoformat() if column.date else decimal_text(end)


def _category(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- checks -----------------------------------------------------------------------------------


def is_text(text: object) -> bool:
    """Return whether something is text that a file can hold; half a character is not."""
    return isinstance(text, str) and text != "" and not any("\ud800" <= c <= "\udfff" for c in text)


def wrong_column(column: str, problem: str, hint: str) -> OptionError:
    """Return the error that a column of a schema is wrong."""
    return OptionError(f"Column '{column}' of the schema {problem}", hint=hint)


def _check_values(column: Column) -> None:
    values = column.values
    assert values is not None
    if {column.low, column.high, column.step} != {None} or column.date:
        raise wrong_column(column.name, "has both values and a range", "give it one of the two")
    if not values or len({type(value) for value in values}) > 1:
        raise wrong_column(
            column.name,
            "has values that are not all text, all whole numbers or all true and false",
            'list them in one form, for example values = ["F", "M"]',
        )
    if type(values[0]) not in (str, int, bool):
        raise wrong_column(
            column.name,
            "has values that are neither text, whole numbers nor true and false",
            "write them as text, or give a range and a step",
        )
    if len(set(values)) < len(values):
        raise wrong_column(column.name, "lists a value twice", "list every value once")
    if column.other and isinstance(values[0], bool) and len(values) == 2:
        raise wrong_column(column.name, "leaves nothing for 'other'", "leave out other = true")
    if any(isinstance(value, str) and not is_text(f"-{value}") for value in values):
        raise wrong_column(
            column.name, "lists a value that is not Unicode text", "write the values in Unicode"
        )
    if any(isinstance(value, int) and abs(value) > LARGEST_INTEGER for value in values):
        raise wrong_column(
            column.name, "lists a number that is too large", "write the values as text"
        )


def _check_range(column: Column) -> None:
    low, high, step = column.low, column.high, column.step
    if low is None or high is None or step is None:
        raise wrong_column(
            column.name,
            "has neither values nor a range with a step",
            "write values = [...], or range = [low, high] and step = ...",
        )
    if column.other:
        raise wrong_column(
            column.name, "has a range and 'other'", "numbers outside are clamped anyway"
        )
    if step <= 0:
        raise wrong_column(
            column.name, "has a step that is not positive", "write for example step = 1"
        )
    if high < low:
        raise wrong_column(
            column.name, "has a range that ends before it begins", "write [low, high]"
        )
    if (high - low) % step:
        raise wrong_column(
            column.name,
            "has a range that is not a whole number of steps",
            "move an end of the range to a multiple of the step",
        )
    if column.date and any(number.denominator != 1 for number in (low, step)):
        raise wrong_column(
            column.name, "has a step that is not a whole number of days", "write step = 1"
        )
    column.coding.cells()  # refuses points that no engine could tell apart exactly
