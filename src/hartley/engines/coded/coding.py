"""Coding of columns: values become whole numbers, in the same way on every engine.

A numeric column becomes the number of the nearest point of its grid. The cell of point k lies
between the doubles nearest to low + (k - 1/2) step and low + (k + 1/2) step, the lower one being
inside, so a tie goes up; values outside and infinite ones are clamped, NULL and NaN have no code.
A category becomes its place in the list; categories are compared as the bytes of their text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction  # noqa: TC003 - the examples use it
from typing import TYPE_CHECKING, Any

from hartley.engines.dialects.dialect import null_unless, number
from hartley.engines.maps.cell_rules import CutCells, UniformCells
from hartley.engines.maps.cells import MOST_COMPARED, put_into_cells
from hartley.engines.tables.table import Kind, Table
from hartley.errors import ColumnError
from hartley.exact import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hartley.engines.dialects.dialect import Dialect

TINY = 1e-200
"""Numbers closer to zero are replaced by this or zero; PostgreSQL would refuse to scale them."""
UNKNOWN = -1
"""The code of a category that is not listed; it is refused later."""
UNIT = "hartley_unit"
LARGEST_INTEGER, MOST_DIGITS = 2**63 - 1, 18
"""What an integer of 64 bits holds, and how many digits always fit into one."""
INTEGERS = ((2**7, "int8"), (2**15, "int16"), (2**31, "int32"), (2**63, "int64"))


@dataclass(frozen=True)
class ColumnCoding:
    """How one column becomes codes 0 to points - 1.

    Example:
        >>> height = ColumnCoding("height", 301, low=Fraction(100), step=Fraction(1, 2))
        >>> height.cells().edge(1), height.integer
        (Fraction(401, 4), 'int16')
    """

    column: str
    points: int
    values: tuple[str | int | bool, ...] | None = None
    """The categories, in order; None for numbers and dates."""
    other: bool = False
    """Whether every further category has the last code."""
    low: Fraction | None = None
    step: Fraction | None = None
    date: bool = False
    """Whether a date, counted in days since 1970-01-01, is coded."""
    nullable: bool = False
    constant: bool = False
    """Whether all rows of a unit have to agree."""

    def cells(self) -> UniformCells:
        """Return the cells of a numeric column: around each point, half a step to either side."""
        assert self.low is not None
        assert self.step is not None
        low = self.low - self.step / 2
        return UniformCells(self.column, low, low + self.points * self.step, self.points)

    @property
    def integer(self) -> str:
        """The narrowest type that holds every code, and the mark of an unknown category."""
        return next(name for limit, name in INTEGERS if self.points <= limit)


def coded_rows(table: Table, codings: Sequence[ColumnCoding], unit: str | None = None) -> Any:
    """Return the Ibis expression of the codes, columns ``c0``, ``c1``, ... and the unit.

    A category that is not listed, where others are not allowed, has the code -1. Nothing runs
    yet. A row costs a fixed number of operations a numeric column and a look-up a category.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> table = open_table({"age": [17, 30, 120, None], "sex": ["M", "F", "X", "F"]})
        >>> rows = coded_rows(table, [
        ...     ColumnCoding("age", 11, low=Fraction(0), step=Fraction(10)),
        ...     ColumnCoding("sex", 3, values=("F", "M"), other=True),
        ... ])
        >>> sorted(map(str, rows.to_pyarrow().to_pylist()))  # doctest: +NORMALIZE_WHITESPACE
        ["{'c0': 10, 'c1': 2}", "{'c0': 2, 'c1': 1}", "{'c0': 3, 'c1': 0}", "{'c0': None, 'c1': 0}"]
    """
    table.require([coding.column for coding in codings])
    table.require([] if unit is None else [unit])
    prepared = {f"p{i}": _prepared(table, coding) for i, coding in enumerate(codings)}
    if unit is not None:
        prepared[UNIT] = _unit(table, unit)
    cells = {
        f"r{i}": _with_numbers(replace(coding.cells(), column=f"p{i}"))
        for i, coding in enumerate(codings)
        if coding.values is None
    }
    base = _base(table).select(**prepared)
    rows, codes = put_into_cells(replace(table, expression=base, texts=None, blunt={}), cells), {}
    for i, coding in enumerate(codings):
        if coding.values is not None and len(coding.values) > MOST_COMPARED:
            rows = _join_places(rows, category_keys(table, coding), i)
    for i, coding in enumerate(codings):
        if coding.values is None:
            code = _cell_code(table.dialect, rows[f"r{i}"], cells[f"r{i}"])
        else:
            code = _category_code(rows, category_keys(table, coding), coding, i)
        codes[f"c{i}"] = code.cast(coding.integer)
    return rows.select(**codes, **({} if unit is None else {UNIT: rows[UNIT]}))


def _with_numbers(cells: UniformCells) -> UniformCells | CutCells:
    """List cells that are too fine to be computed, so that they return their numbers."""
    if cells.fits:
        return cells
    return replace(cells.as_cuts(), values=tuple(map(float, range(cells.levels))))


def _cell_code(dialect: Dialect, middle: Any, cells: UniformCells | CutCells) -> Any:
    """Return the number of a cell: itself, or from the double nearest to the cell's middle.

    The middle lies half a cell from either edge and the sum below is off by less than a tenth of
    one, since every integer is at most 2^48; so its floor is the number.
    """
    if isinstance(cells, CutCells):
        return middle
    first, width, divisor, _ = cells.integers()
    place = middle * number(float(divisor)) - number(float(first))
    return dialect.divide(place, number(float(width))).floor()


# --- sources ----------------------------------------------------------------------------------


def _base(table: Table) -> Any:
    return table.expression if table.texts is None else table.texts


def _source(table: Table, name: str) -> Any:
    """Return a column as typed values; for CSV files, its text or the typed column."""
    if table.texts is None:
        return table.expression[name]
    kind = table.expression.schema()[name]
    text = table.texts[name]
    return text if kind.is_string() else text.cast(kind)


def _unit(table: Table, name: str) -> Any:
    """Return the column that names the person: NaN is missing, and minus zero is zero."""
    column = _source(table, name)
    if not column.type().is_floating():
        return column
    zero = number(0.0).cast(column.type())
    return null_unless(~column.isnan(), (column == zero).ifelse(zero, column))


def _prepared(table: Table, coding: ColumnCoding) -> Any:
    """Return a column as numbers, as days or as the text by which categories are compared."""
    if coding.values is not None:
        return _label(table, coding)
    kind = table.kind(coding.column)
    column = _source(table, coding.column)
    if kind is Kind.EMPTY:
        return column.cast("float64")
    if coding.date:
        return _days(table, coding, column)
    if not kind.numeric:
        raise _misfit(table, coding, "numbers", "convert it to numbers first")
    if column.type().is_floating():
        return _beside_zero(column)
    cells = coding.cells()
    if max(-cells.low, cells.high) > LARGEST_EXACT_INTEGER:
        raise ColumnError(
            f"Column '{coding.column}' of {table.name} holds whole numbers or decimals, which "
            "would be rounded beyond 2^53",
            hint="subtract a constant from it first, so that its range is smaller",
        )
    return column


def _beside_zero(column: Any) -> Any:
    """Replace numbers very close to zero; all comparisons keep their result."""
    import ibis

    value = column.cast("float64")
    return ibis.cases(
        (value.isnan(), ibis.null("float64")),
        (value.between(number(-TINY), number(TINY)) & (value < number(0.0)), number(-TINY)),
        (value.between(number(-TINY), number(TINY)), number(0.0)),
        else_=value,
    )


def _days(table: Table, coding: ColumnCoding, column: Any) -> Any:
    """Return a date as days since 1970-01-01, clamped while it is a date: it may be infinite."""
    import datetime as dt

    import ibis

    kind = column.type()
    if not (kind.is_date() or kind.is_timestamp()):
        raise _misfit(table, coding, "dates", "convert it to dates first, or describe it otherwise")
    if kind.is_timestamp() and _is_zoned(table, coding.column):
        raise ColumnError(
            f"Column '{coding.column}' of {table.name} holds times with a time zone, whose day "
            "depends on the place",
            hint="convert it to dates, or to times without a zone, first",
        )
    assert coding.low is not None
    assert coding.step is not None
    first = int(coding.low)
    last = first + (coding.points - 1) * int(coding.step)
    low, high = (dt.date(1970, 1, 1) + dt.timedelta(days=day) for day in (first, last))
    day = column.cast("date") if kind.is_timestamp() else column
    inside = day.between(ibis.literal(low), ibis.literal(high))
    return ibis.cases(
        (day < ibis.literal(low), ibis.literal(first, type="int64")),
        (day > ibis.literal(high), ibis.literal(last, type="int64")),
        (day.notnull(), null_unless(inside, day).epoch_days().cast("int64")),
    )


def _is_zoned(table: Table, name: str) -> bool:
    """Tell whether times carry a zone, or take that of the session."""
    zoned = table.expression[name].type().timezone is not None or name in table.zoned
    return zoned or table.dialect.takes_zone_of_session(table.expression, name)


def _label(table: Table, coding: ColumnCoding) -> Any:
    """Return a category as text in which different values differ under any collation."""
    import ibis

    kind, column = table.kind(coding.column), _source(table, coding.column)
    assert coding.values is not None
    example = coding.values[0]
    if kind is Kind.EMPTY:
        return column.cast("string")
    if isinstance(example, bool):
        if kind is not Kind.BOOLEAN:
            raise _misfit(table, coding, "true and false", "list the values as the column has them")
        return ibis.cases((column, "true"), (~column, "false"))
    if table.texts is not None:  # what a file holds is text: 007 is not 7
        return table.dialect.text_bytes(table.texts[coding.column])
    if isinstance(example, int):
        if kind is Kind.INTEGER:
            return column.cast("string")
        if kind is not Kind.REAL:
            raise _misfit(table, coding, "numbers", "list the values as the column has them")
        return _whole_text(table, column)
    if kind is not Kind.TEXT or column.type().is_binary():
        raise _misfit(table, coding, "text", "list the values as the column has them")
    return table.dialect.text_bytes(column.cast("string"))


def _whole_text(table: Table, column: Any) -> Any:
    """Write whole numbers, held as doubles or decimals, as whole numbers are written."""
    import ibis

    kind = column.type()
    if kind.is_floating():
        value = column.cast("float64")
        known, held = ~value.isnan(), value.between(number(-(2.0**63)), number(2.0**63 - 1024))
    else:
        value, known = column, column.notnull()
        nan = table.dialect.is_nan_decimal(value)
        if nan is not None:
            known &= ~nan
        wide = kind.precision is None or kind.precision - kind.scale > MOST_DIGITS
        held = value.between(-LARGEST_INTEGER, LARGEST_INTEGER) if wide else known
    small = null_unless(known & held, value)  # or it would not be cast
    whole = small == small.floor()
    return ibis.cases(
        (whole, small.floor().cast("int64").cast("string")), (known, "no whole number")
    )


def _misfit(table: Table, coding: ColumnCoding, wanted: str, hint: str) -> ColumnError:
    kind = table.kind(coding.column)
    return ColumnError(
        f"Column '{coding.column}' of {table.name} holds {kind} values, not {wanted} as its schema "
        "says",
        hint=hint,
    )


# --- categories -------------------------------------------------------------------------------


def category_keys(table: Table, coding: ColumnCoding) -> list[str]:
    """Return the text by which each listed category is found."""
    assert coding.values is not None
    if isinstance(coding.values[0], bool):
        return [str(value).lower() for value in coding.values]
    if isinstance(coding.values[0], int) and table.texts is None:
        return [str(value) for value in coding.values]
    return [str(value).encode().hex().upper() for value in coding.values]


def _join_places(rows: Any, keys: list[str], i: int) -> Any:
    """Join every row with the place of its category; keys are unique, so no row is doubled."""
    import ibis
    import pyarrow as pa

    listed = ibis.memtable(pa.table({f"key{i}": keys, f"place{i}": list(range(len(keys)))}))
    return rows.left_join(listed, rows[f"p{i}"] == listed[f"key{i}"])


def _category_code(rows: Any, keys: list[str], coding: ColumnCoding, i: int) -> Any:
    import ibis

    label = rows[f"p{i}"]
    if len(keys) > MOST_COMPARED:
        place = rows[f"place{i}"]
    else:
        place = ibis.cases(*((label == key, place) for place, key in enumerate(keys)))
    rest = coding.points - 1 if coding.other else UNKNOWN
    return ibis.cases((place.notnull(), place), (label.notnull(), ibis.literal(rest)))
