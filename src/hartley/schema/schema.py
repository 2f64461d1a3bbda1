"""The public description of a table: its columns, their ranges and steps, whose data it is.

A schema as a TOML file or nested dicts.

::

    [table]
    name = "people"
    unit = "person_id"        # one person; leave out: one row is one person
    rows_per_unit = 1
    rows = "public"           # or "private": whether a person is in the table is a secret
    max_rows = 5000           # needed when rows = "private"
    population = "town"       # tables about the same people share the budget that it names
    default_bits = 1          # price of a question that names no wish

    [columns.sex]
    kind = "open"             # or "public" or "private"
    values = ["F", "M"]
    other = true              # every further value is one more

    [columns.height]
    kind = "private"
    range = [100, 250]        # numbers, text such as "1/3", or dates
    step = 0.5                # of dates: days, 1 if left out
    nullable = true
    unit = "cm"
"""

from __future__ import annotations

import datetime as dt
import difflib
import itertools
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hartley.engines.codes import ColumnCoding
from hartley.engines.table import refuse_doubled
from hartley.errors import InputError, OptionError, printable
from hartley.exact import LARGEST_EXACT_INTEGER, MOST_DIGITS, log_ratio, parse_number
from hartley.files import parse_toml, read_text_file
from hartley.text import EPOCH, decimal_text, plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hartley.engines.table import Table


TABLE_KEYS = (
    *("name", "unit", "rows_per_unit", "rows", "max_rows", "population", "default_bits", "draft"),
)
COLUMN_KEYS = ("kind", "values", "other", "range", "step", "nullable", "unit")
FLAGS = ("draft", "other", "nullable")
Role = Literal["public", "open", "private"]
ROLES = ("public", "open", "private")
LARGEST_INTEGER = 2**63 - 1
"""Whole numbers beyond are no category on some engine."""
MOST_LISTED = 8
"""A description lists no more values than this."""
LONGEST_POPULATION = 200
"""A name that a ledger takes has no more characters."""


# --- a schema as a file ---------------------------------------------------------------------------


def read_fields(
    source: Mapping[str, Any] | str | os.PathLike[str],
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the fields of a schema and of each of its columns; refuse keys that are unknown."""
    content = source
    if not isinstance(content, Mapping):
        name = f"schema {Path(content).name}"
        if not os.path.exists(content):  # noqa: PTH110 - names of any length
            raise InputError(
                f"The {name} cannot be read",
                hint="check the path; hartley schema draft TABLE makes a first one",
            )
        text = read_text_file(content, what="schema", kind=InputError)
        content = parse_toml(text, what=name, kind=InputError)
    _check_keys(content, ("table", "columns"), "The schema")
    table = dict(_section(content, "table", "The schema"))
    _check_keys(table, TABLE_KEYS, "The section [table] of the schema")
    if "name" not in table:
        raise OptionError("The schema has no name", hint="write name = ... below [table]")
    if "default_bits" in table:
        table["default_bits"] = _number(table["default_bits"], "the setting default_bits")
    columns = _section(content, "columns", "The schema")
    return table, [
        {"name": name} | _column_fields(name, _section(columns, name, "The section [columns]"))
        for name in columns
    ]


def _column_fields(name: str, section: Mapping[str, Any]) -> dict[str, Any]:
    _check_keys(section, COLUMN_KEYS, f"Column '{name}' of the schema")
    if "kind" not in section:
        raise OptionError(
            f"Column '{name}' of the schema has no kind",
            hint='write kind = "public", "open" or "private"',
        )
    fields = {key: section[key] for key in section if key not in ("values", "range", "step")}
    if "values" in section:
        if not isinstance(section["values"], (list, tuple)):
            raise OptionError(
                f"Column '{name}' of the schema has values that are not a list",
                hint='write for example values = ["F", "M"]',
            )
        fields["values"] = tuple(section["values"])
    if "range" in section:
        fields |= _range_fields(name, section["range"])
    if "step" in section:
        fields["step"] = _number(section["step"], f"the step of column '{name}'")
    elif fields.get("date"):
        fields["step"] = Fraction(1)
    return fields


def _range_fields(name: str, ends: object) -> dict[str, Any]:
    if not isinstance(ends, (list, tuple)) or len(ends) != 2:
        raise OptionError(
            f"The range of column '{name}' is not a pair", hint="write range = [low, high]"
        )
    days = [_day(end) for end in ends]
    if None not in days:
        low, high = (Fraction(day) for day in days if day is not None)
        return {"low": low, "high": high, "date": True}
    what = f"an end of the range of column '{name}'"
    return {"low": _number(ends[0], what), "high": _number(ends[1], what)}


def _day(end: object) -> int | None:
    """Return a date, or the text of one, as days since 1970-01-01."""
    if isinstance(end, dt.date) and not isinstance(end, dt.datetime):
        return (end - EPOCH).days
    if isinstance(end, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", end):
        try:
            return (dt.date.fromisoformat(end) - EPOCH).days
        except ValueError:
            return None
    return None


def _number(number: object, name: str) -> Fraction:
    return parse_number(str(number) if isinstance(number, Decimal) else number, name=name)


def _section(content: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    section = content.get(key)
    if not isinstance(section, Mapping):
        raise OptionError(f"{where} has no section '{key}'", hint=f"begin one with [{key}]")
    return section


def refuse_unknown(section: Iterable[str], known: Sequence[str], where: str) -> None:
    """Raise an error for a setting of a file that is not known."""
    for key in section:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(known)}"
            raise OptionError(f"{where} has an unknown setting '{key}'", hint=hint)


def _check_keys(section: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    refuse_unknown(section, known, where)
    for key, value in section.items():
        if key in FLAGS and not isinstance(value, bool):
            raise OptionError(
                f"{where} has a setting '{key}' that is not true or false",
                hint=f"write {key} = true or leave it out",
            )


def write_fields(table: Mapping[str, Any], columns: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of a schema's file, given its fields and those of each column.

    Ledgers store this text and compare it byte by byte, so its form never changes.
    """
    lines = ["[table]", f"name = {toml_text(table['name'])}"]
    if table["draft"]:
        lines.append("draft = true")
    if table["unit"] is not None:
        lines.append(f"unit = {toml_text(table['unit'])}")
    lines += [f"rows_per_unit = {table['rows_per_unit']}", f'rows = "{table["rows"]}"']
    if table["max_rows"] is not None:
        lines.append(f"max_rows = {table['max_rows']}")
    if table["population"] is not None:
        lines.append(f"population = {toml_text(table['population'])}")
    lines.append(f"default_bits = {_written(table['default_bits'])}")
    for column in columns:
        lines += ["", *_column_lines(column)]
    return "\n".join(lines) + "\n"


def _column_lines(column: Mapping[str, Any]) -> list[str]:
    lines = [f"[columns.{toml_key(column['name'])}]", f'kind = "{column["kind"]}"']
    if column["values"] is not None:
        listed = ", ".join(toml_text(value) for value in column["values"])
        lines.append(f"values = [{listed}]")
        lines += ["other = true"] if column["other"] else []
    else:
        ends = [
            day_of(end).isoformat() if column["date"] else _written(end)
            for end in (column["low"], column["high"])
        ]
        lines += [f"range = [{', '.join(ends)}]", f"step = {_written(column['step'])}"]
    lines += ["nullable = true"] if column["nullable"] else []
    return lines + ([f"unit = {toml_text(column['unit'])}"] if column["unit"] is not None else [])


def day_of(days: Fraction) -> dt.date:
    """Return the date of a number of days since 1970-01-01."""
    return EPOCH + dt.timedelta(days=int(days))


def _written(number: Fraction) -> str:
    text = decimal_text(number)
    if len(text) > MOST_DIGITS:  # which would not be read again
        text = str(number)
    return toml_text(text) if "/" in text else text


def toml_text(value: object) -> str:
    """Return a text, a list or a truth value as TOML writes it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """Return a name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_text(name)


# --- a column as everybody may know it: its values, or its range and step -------------------------


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

    @cached_property  # a quotient of rationals, asked for again and again by a price
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

    def describe(self) -> str:
        """Return the values of the column in words.

        Example:
            >>> Column("sex", "open", values=("F", "M"), other=True).describe()
            'F, M or any other'
        """
        if self.values is not None:
            shown = self.values[:MOST_LISTED]
            listed = ", ".join(str(v).lower() if isinstance(v, bool) else str(v) for v in shown)
            more = len(self.values) - MOST_LISTED
            words = listed + (f" and {more:,} more" if more > 0 else "")
            words += " or any other" if self.other else ""
        else:
            words = f"{self.grid} ({self.points:,} points)"
        return words + (", may be missing" if self.nullable else "")

    @property
    def grid(self) -> str:
        """The numbers of a numeric column in words; answers take others as the nearest of them."""
        assert self.low is not None
        assert self.high is not None
        assert self.step is not None
        low, high = (
            day_of(end).isoformat() if self.date else decimal_text(end)
            for end in (self.low, self.high)
        )
        unit = f" {self.unit}" if self.unit else ""
        days = f" {plural(self.step, 'day')}" if self.date else ""
        return f"{low} to {high}{unit} in steps of {decimal_text(self.step)}{days}"


def is_text(text: object) -> bool:
    """Return whether something is text that a file can hold; half a character is not."""
    return isinstance(text, str) and text != "" and not any("\ud800" <= c <= "\udfff" for c in text)


def wrong_column(column: str, problem: str, hint: str) -> OptionError:
    """Return the error that a column of a schema is wrong."""
    return OptionError(f"Column '{column}' of the schema {problem}", hint=hint)


def _refuse(column: Column, wrong: object, problem: str, hint: str) -> None:
    if wrong:
        raise wrong_column(column.name, problem, hint)


def _check_values(column: Column) -> None:
    values = column.values
    assert values is not None
    both = {column.low, column.high, column.step} != {None} or column.date
    _refuse(column, both, "has both values and a range", "give it one of the two")
    _refuse(
        column,
        not values or len({type(value) for value in values}) > 1,
        "has values that are not all text, all whole numbers or all true and false",
        'list them in one form, for example values = ["F", "M"]',
    )
    _refuse(
        column,
        type(values[0]) not in (str, int, bool),
        "has values that are neither text, whole numbers nor true and false",
        "write them as text, or give a range and a step",
    )
    twice = len(set(values)) < len(values)
    _refuse(column, twice, "lists a value twice", "list every value once")
    full = column.other and isinstance(values[0], bool) and len(values) == 2
    _refuse(column, full, "leaves nothing for 'other'", "leave out other = true")
    strange = any(isinstance(value, str) and not is_text(f"-{value}") for value in values)
    problem = "lists a value that is not Unicode text"
    _refuse(column, strange, problem, "write the values in Unicode")
    large = any(isinstance(value, int) and abs(value) > LARGEST_INTEGER for value in values)
    _refuse(column, large, "lists a number that is too large", "write the values as text")


def _check_range(column: Column) -> None:
    low, high, step = column.low, column.high, column.step
    if low is None or high is None or step is None:
        raise wrong_column(
            column.name,
            "has neither values nor a range with a step",
            "write values = [...], or range = [low, high] and step = ...",
        )
    hint = "numbers outside are clamped anyway"
    _refuse(column, column.other, "has a range and 'other'", hint)
    _refuse(column, step <= 0, "has a step that is not positive", "write for example step = 1")
    _refuse(column, high < low, "has a range that ends before it begins", "write [low, high]")
    problem = "has a range that is not a whole number of steps"
    hint = "move an end of the range to a multiple of the step"
    _refuse(column, (high - low) % step, problem, hint)
    parts = column.date and any(number.denominator != 1 for number in (low, step))
    _refuse(column, parts, "has a step that is not a whole number of days", "write step = 1")
    column.coding.cells()  # refuses points that no engine could tell apart exactly


# --- the schema -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Schema:
    """What everybody may know of a table.

    Read one from a file with ``Schema.read``; ``hartley.schema.schema`` shows the format.

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
        if not is_text(self.name):
            raise OptionError("The schema has no name", hint="write name = ... below [table]")
        if not self.columns:
            raise OptionError(
                f"The schema of '{self.name}' has no columns", hint="describe at least one column"
            )
        refuse_doubled(self.columns, f"the schema of '{self.name}'")
        for name, column in self.columns.items():
            if name != column.name:
                raise wrong_column(column.name, f"stands under the name '{name}'", "use one name")
        for number, what in ((self.rows_per_unit, "rows_per_unit"), (self.max_rows, "max_rows")):
            if number is not None and (type(number) is not int or number < 1):
                raise OptionError(
                    f"The setting {what} of '{self.name}' is not a positive whole number",
                    hint=f"write for example {what} = 1",
                )
        _check_promises(self)

    @classmethod
    def read(cls, source: Schema | Mapping[str, Any] | str | os.PathLike[str]) -> Schema:
        """Return a schema unchanged, or read one from a TOML file or from nested dicts."""
        if isinstance(source, Schema):
            return source
        table, columns = read_fields(source)
        schema = cls(columns={fields["name"]: Column(**fields) for fields in columns}, **table)
        refuse_row_level(schema)
        return schema

    def to_toml(self) -> str:
        """Return the schema as the text of a file that ``Schema.read`` reads."""
        return write_fields(
            _fields_of(self), [_fields_of(column) for column in self.columns.values()]
        )

    def describe(self) -> str:
        """Return the schema in words: whose data it is, the size of a record, a line per column."""
        person, rows = "one row is one person", "the number of rows is public"
        if self.unit is not None:
            most = self.rows_per_unit
            many = "at most one row" if most == 1 else f"up to {most:,} rows"
            person = f"a person is a value of '{self.unit}' and has {many}"
        if self.rows == "private":
            rows = (
                f"it is secret who is in it and how many rows there are (up to {self.max_rows:,})"
            )
        lines = [f"{self.name}: {person}; {rows}."]
        bits = decimal_text(self.default_bits)
        lines.append(
            f"A person's secret record holds {self.record_bits:.1f} bits; a question without an "
            f"error or bits costs {bits} bit{'' if bits == '1' else 's'}."
        )
        if self.population is not None:
            lines.append(f"It shares the budget of the population '{self.population}'.")
        if self.draft:
            lines.append("A DRAFT made from the data: nothing is answered until it is confirmed.")
        wide = max(len(printable(name)) for name in self.columns)
        for column in self.columns.values():
            values = column.describe()
            if column.kind == "open":
                values += f"; paid once: {log_ratio(self._records(column.size)):.2f} bits"
            lines.append(f"  {printable(column.name).ljust(wide)}  {column.kind:<7}  {values}")
        return "\n".join(map(printable, lines))

    def dummy_data(self, n: int = 1000, seed: int = 0) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
        """Return an Arrow table of invented rows over the schema's domain, to write queries on."""
        return dummy_rows(self.columns, n, seed, unit=self.unit, rows_per_unit=self.rows_per_unit)

    @property
    def codings(self) -> tuple[ColumnCoding, ...]:
        """How an engine turns the columns into codes, in their order."""
        return tuple(column.coding for column in self.columns.values())

    def check_rows(self, table: Table) -> int:
        """Raise an error for a table that does not fit; return its number of rows.

        The table is coded in memory, exactly as an agent does it, and the codes are discarded.
        """
        from hartley.engines.coded_table import code_table  # schemas are read without an engine

        coded = code_table(
            table,
            self.codings,
            unit=self.unit,
            rows_per_unit=self.rows_per_unit,
            max_rows=self.max_rows,
        )
        coded.close()
        return coded.rows

    @property
    def record_size(self) -> int:
        """How many records of one person there are, public columns set aside."""
        return self._records(math.prod(c.size for c in self.columns.values() if c.kind != "public"))

    def _records(self, points: int) -> int:
        """Return how many records of one person there are, given how many rows there can be."""
        return math.comb(points + self.rows_per_unit - (self.rows == "public"), self.rows_per_unit)

    @property
    def record_bits(self) -> float:
        """The size of a record in bits."""
        return log_ratio(self.record_size)

    def require_confirmed(self) -> None:
        """Refuse a draft, and public columns of rows whose existence is a secret."""
        if self.draft:
            raise InputError(
                f"The schema of '{self.name}' is a draft that was made from the data",
                hint="check every range and value, because they become public; then remove the "
                "line draft = true",
            )
        refuse_row_level(self)


def refuse_row_level(schema: Schema) -> None:
    """Raise OptionError for a public column if it is secret which rows exist."""
    public = [column.name for column in schema.columns.values() if column.kind == "public"]
    if schema.rows == "private" and schema.unit is None and public:
        raise wrong_column(
            public[0],
            "is public while the number of rows is private, so it would show who is in the table",
            "make it open or private, or name the unit whose property it is",
        )


def _fields_of(described: Schema | Column) -> dict[str, Any]:
    """Return what was declared of a table or a column, by name."""
    return {field.name: getattr(described, field.name) for field in fields(described)}


def _check_promises(schema: Schema) -> None:
    population = schema.population
    is_name = isinstance(population, str) and population.isprintable()
    problems = (
        (
            schema.rows not in ("public", "private"),
            "has rows that are neither public nor private",
            'write rows = "public" or rows = "private"',
        ),
        (
            schema.rows == "private" and schema.max_rows is None,
            "has private rows but no max_rows",
            "write max_rows = ..., the largest number of rows that the table can ever have",
        ),
        (
            schema.unit is not None and not is_text(schema.unit),
            "has a unit that is not the name of a column",
            'write unit = "...", the column that names the person',
        ),
        (
            schema.rows_per_unit > 1 and schema.unit is None,
            "allows several rows per unit but names no unit",
            'write unit = "...", the column that names the person',
        ),
        (
            population is not None and not (is_name and 0 < len(population) <= LONGEST_POPULATION),
            "has a population that is not a name",
            f'write population = "...", 1 to {LONGEST_POPULATION} printable characters',
        ),
        (schema.default_bits < 0, "has negative default_bits", "write for example 1"),
    )
    for wrong, problem, hint in problems:
        if wrong:
            raise OptionError(f"The schema of '{schema.name}' {problem}", hint=hint)


# --- invented rows over the domain of a schema, for analysts to write questions against -----------


def dummy_rows(
    columns: Mapping[str, Column],
    n: int,
    seed: int,
    *,
    unit: str | None = None,
    rows_per_unit: int = 1,
) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
    """Return an Arrow table of n invented rows, every value drawn alike from the schema alone.

    No data is touched, so the table tells nothing. A nullable column misses one value in twenty;
    public columns are the same in all rows of a person. Linear in the number of rows.
    """
    import numpy as np
    import pyarrow as pa

    if n < 0 or seed < 0:
        raise OptionError(
            "The number of invented rows or their seed is negative",
            hint="ask for 0 rows or more with a seed of 0 or more",
        )
    draw = np.random.default_rng(seed)
    people = np.arange(n) // rows_per_unit
    arrays = {}
    if unit is not None and unit not in columns:
        arrays[unit] = pa.array(people + 1)
    for column in columns.values():
        codes = draw.integers(column.points, size=n)
        missing = draw.random(n) < (0.05 if column.nullable else 0.0)
        if column.name == unit:
            codes, missing = people % column.points, np.zeros(n, dtype=bool)
        elif column.kind == "public":
            first = people * rows_per_unit
            codes, missing = codes[first], missing[first]
        arrays[column.name] = _values(column, codes, missing)
    return pa.table(arrays)


def _values(column: Column, codes: NDArray[np.int64], missing: NDArray[np.bool_]) -> Any:  # noqa: ANN401 - a pyarrow array, untyped
    import numpy as np
    import pyarrow as pa

    if column.values is not None:
        listed = pa.array([*column.values, *([_further(column.values)] if column.other else [])])
        return listed.take(pa.array(codes, mask=missing))
    assert column.low is not None
    assert column.step is not None
    if column.date:
        days = int(column.low) + codes * int(column.step)
        return pa.array(days.astype("int32"), pa.int32(), mask=missing).cast(pa.date32())
    # Whole numbers where all are, else the nearest doubles.
    low, step = column.low, column.step
    divisor = math.lcm(low.denominator, step.denominator)
    first, width = int(low * divisor), int(step * divisor)
    last = abs(first) + width * int(codes.max(initial=0))
    if last <= LARGEST_EXACT_INTEGER and divisor <= LARGEST_EXACT_INTEGER:
        whole = first + codes * width
        return pa.array(whole if divisor == 1 else whole / divisor, mask=missing)
    points, at = np.unique(codes, return_inverse=True)
    return pa.array(np.array([float(low + int(c) * step) for c in points])[at], mask=missing)


def _further(values: tuple[str | int | bool, ...]) -> str | int | bool:
    """Return a value that is not listed."""
    if isinstance(values[0], bool):
        return not values[0]
    if isinstance(values[0], int):
        return next(number for number in itertools.count() if number not in values)
    return next(
        text for times in itertools.count() if (text := "other" + "'" * times) not in values
    )
