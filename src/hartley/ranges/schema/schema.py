"""The public description of a table: its columns, their ranges and steps, whose data it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from hartley.engines.tables.table import refuse_doubled
from hartley.errors import InputError, OptionError, printable
from hartley.exact import log_ratio
from hartley.ranges.schema.column import Column, is_text, wrong_column
from hartley.ranges.schema.file import read_fields, write_fields
from hartley.wording import decimal_text

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from hartley.engines.coded.coding import ColumnCoding
    from hartley.engines.tables.table import Table

__all__ = ["Column", "Schema"]

LONGEST_POPULATION = 200


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
        return write_fields(
            _fields_of(self), [_fields_of(column) for column in self.columns.values()]
        )

    def describe(self) -> str:
        """Return the schema in words: whose data it is, the size of a record, a line per column."""
        lines = [f"{self.name}: {_person(self)}; {_rows(self)}."]
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
            values = column.describe() + (_paid(column, self) if column.kind == "open" else "")
            lines.append(f"  {printable(column.name).ljust(wide)}  {column.kind:<7}  {values}")
        return "\n".join(map(printable, lines))

    def dummy_data(self, n: int = 1000, seed: int = 0) -> Any:  # noqa: ANN401 - a pyarrow table, untyped
        """Return an Arrow table of invented rows over the schema's domain, to write queries on."""
        from hartley.ranges.schema.dummy_rows import dummy_rows

        return dummy_rows(self.columns, n, seed, unit=self.unit, rows_per_unit=self.rows_per_unit)

    @property
    def codings(self) -> tuple[ColumnCoding, ...]:
        """How an engine turns the columns into codes, in their order."""
        return tuple(column.coding for column in self.columns.values())

    def check_rows(self, table: Table) -> int:
        """Raise an error for a table that does not fit; return its number of rows.

        The table is coded in memory, exactly as an agent does it, and the codes are discarded.
        """
        from hartley.engines.coded.copying import code_table  # schemas are read without an engine

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
                hint="check every range and value, because they become public; then remove the "
                "line draft = true",
            )
        refuse_row_level(self)


def refuse_row_level(schema: Schema) -> None:
    """Refuse a public column of rows of which nobody may know whether they are there."""
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


# --- words ------------------------------------------------------------------------------------


def _person(schema: Schema) -> str:
    if schema.unit is None:
        return "one row is one person"
    most = schema.rows_per_unit
    rows = "at most one row" if most == 1 else f"up to {most:,} rows"
    return f"a person is a value of '{schema.unit}' and has {rows}"


def _rows(schema: Schema) -> str:
    if schema.rows == "public":
        return "the number of rows is public"
    return f"it is secret who is in it and how many rows there are (up to {schema.max_rows:,})"


def _paid(column: Column, schema: Schema) -> str:
    r = schema.rows_per_unit
    factor = math.comb(column.size + r - (schema.rows == "public"), r)
    return f"; paid once: {log_ratio(factor):.2f} bits"


# --- checks -----------------------------------------------------------------------------------


def _is_name(text: object) -> bool:
    """Return whether something is text that a ledger takes as a name."""
    return isinstance(text, str) and 0 < len(text) <= LONGEST_POPULATION and text.isprintable()


def _check_schema(schema: Schema) -> None:
    if not is_text(schema.name):
        raise OptionError("The schema has no name", hint="write name = ... below [table]")
    if not schema.columns:
        raise OptionError(
            f"The schema of '{schema.name}' has no columns", hint="describe at least one column"
        )
    refuse_doubled(schema.columns, f"the schema of '{schema.name}'")
    for name, column in schema.columns.items():
        if name != column.name:
            raise wrong_column(column.name, f"stands under the name '{name}'", "use one name")
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
            schema.population is not None and not _is_name(schema.population),
            "has a population that is not a name",
            f'write population = "...", 1 to {LONGEST_POPULATION} printable characters',
        ),
        (schema.default_bits < 0, "has negative default_bits", "write for example 1"),
    )
    for wrong, problem, hint in problems:
        if wrong:
            raise OptionError(f"The schema of '{schema.name}' {problem}", hint=hint)
