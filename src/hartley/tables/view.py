"""The columns that a measure needs, cleaned, binned and profiled on their engine."""

from __future__ import annotations

import datetime as dt
import functools
import operator
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hartley.engines.dialect import LARGEST_DOUBLE, TINY
from hartley.engines.registry import EMBEDDED
from hartley.engines.table import (
    Kind,
    Table,
    run as run,  # noqa: PLC0414 - others take it from here
)
from hartley.errors import ColumnError, OptionError, TableError
from hartley.exact import LARGEST_EXACT_INTEGER
from hartley.files import one_line
from hartley.text import BinnedNumber, conjugate, count_of, listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from hartley.engines.dialect import Dialect


SPAN = sys.float_info.min, LARGEST_DOUBLE
"""Between them a double holds at least 15 digits of any number."""
MISSING = ("released", "value", "drop")
"""How missing values are treated: as values on the released side, on both sides, or dropped."""
LARGEST_BIN = 2**50
"""Bins up to here are found exactly: every edge is one correctly rounded quotient of integers."""
OF_COLUMN = " of what is said about it"
"""The end of the sentence if classes count all rows, but a column only those with a value."""
LONG = r"[1-9]([.]?\d){14,}[.]?[1-9]"
"""A number of 16 significant digits or more; doubles keep all that have fewer."""
MOST_CHARACTERS = 20_000
"""The longest condition; a longer one is refused before it is read."""
ALLOWED = frozenset([
    "And", "Or", "Not", "Paren", "EQ", "NEQ", "GT", "GTE", "LT", "LTE", "Between", "In", "Is",
    "Like", "Null", "Boolean", "Literal", "Neg", "Add", "Sub", "Mul", "Div", "Mod", "Pow", "Abs",
    "Column", "Identifier",
])  # fmt: skip
"""What a condition may be made of, as sqlglot calls it."""
MOST_VALUES = 50
"""Categories beyond this number are not listed in a profile."""
LEAST_ROWS = 5
"""A category in fewer rows is not listed, since it could be one person's."""


@dataclass(frozen=True)
class ViewColumn:
    """A column of a view: its source, and what is known about its values."""

    name: str
    kind: Kind
    step: Fraction | None
    low: Any
    high: Any
    missing: int
    """Rows in which the value is missing, before any are left out."""
    keeps_missing: bool = False
    """Whether the rows in which it is missing stay, missing being a value."""

    @property
    def holes(self) -> bool:
        """Whether missing is one of the values that the view may hold."""
        return self.keeps_missing and self.missing > 0

    def midpoint(self, number: int) -> float | int:
        """Return the value of a code: the number itself, or the middle of the bin."""
        return number if self.step is None else BinnedNumber(number, self.step)


@dataclass(frozen=True)
class View:
    """A projection ``c0, c1, ...`` of a table, with counted rows and treated missing values."""

    table: Table
    expression: Any
    columns: tuple[ViewColumn, ...]
    rows: int
    dropped: int
    """Rows that are left out because a value is missing."""

    @property
    def dialect(self) -> Dialect:
        """The engine that holds the rows."""
        return self.table.dialect

    @property
    def left_out_sentence(self) -> str:
        """Which rows are left out because a value is missing; empty if none are."""
        holed = [c.name for c in self.columns if c.missing and not c.keeps_missing]
        return left_out_sentence(self.dropped, list(dict.fromkeys(holed)))

    @property
    def missing_notes(self) -> tuple[str, ...]:
        """One sentence for each column in which missing counts as a value."""
        holed = {column.name: column.missing for column in self.columns if column.holes}
        return tuple(missing_note(name, rows) for name, rows in holed.items())


def prepare(
    table: Table,
    columns: Sequence[str],
    *,
    steps: Sequence[Fraction | None] | None = None,
    missing: str = "drop",
    secrets: int = 0,
) -> View:
    """Return the named columns, ready to be counted.

    NaN counts as missing. With missing="released", rows with a missing secret (one of the first
    ``secrets`` columns) are left out, and missing is a value of the other columns: it is visible in
    a release. "value" makes missing a value of all columns, "drop" leaves out every row with a
    missing value.

    A column with a step becomes the number of its bin: value v lies in bin k when
    k*step <= v < (k+1)*step, every edge being the double nearest to the exact product, so that all
    engines agree and 0.3 lies in the fourth bin of step 0.1.
    """
    if missing not in MISSING:
        raise OptionError(
            f"The treatment of missing values '{missing}' is unknown",
            hint=f"choose {', '.join(map(repr, MISSING[:-1]))} or {MISSING[-1]!r}",
        )
    needed = {"released": columns[:secrets], "value": (), "drop": columns}[missing]
    table.require(columns)
    steps = steps or [None] * len(columns)
    table = keep_texts(table, [name for name, step in zip(columns, steps, strict=True) if not step])
    for name, step in zip(columns, steps, strict=True):
        kind = table.kind(name)
        if step is not None and not kind.numeric and kind is not Kind.EMPTY:
            raise ColumnError(
                f"Column '{name}' of {table.name} holds {kind} values, not numbers, "
                "and cannot be binned",
                hint="convert it to numbers first; text that marks a missing value can be named "
                "with open_table(..., null=) (--null)",
            )
    profile = _profile(table, columns, needed)
    described = tuple(
        ViewColumn(
            name=name,
            kind=table.kind(name),
            step=step,
            low=profile.get(f"low{i}"),
            high=profile.get(f"high{i}"),
            missing=int(profile[f"missing{i}"]),
            keeps_missing=name not in needed,
        )
        for i, (name, step) in enumerate(zip(columns, steps, strict=True))
    )
    rows = int(profile["kept"])
    _check_profile(table, described, profile, rows)
    expression = table.expression.select(
        **{f"c{i}": _binned(table, column) for i, column in enumerate(described)}
    )
    filled = [f"c{i}" for i, column in enumerate(described) if not column.keeps_missing]
    if filled:
        expression = expression.drop_null(filled)
    return View(table, expression, described, rows, dropped=int(profile["rows"]) - rows)


def missing_note(column: str, rows: int) -> str:
    """Return the sentence that missing is a value of a column."""
    many = count_of(rows, "row")
    return f"Missing values of {column}, in {many}, count as one value of their own."


def left_out_sentence(rows: int, columns: Sequence[str], *, noun: str = "row", of: str = "") -> str:
    """Return how many rows are left out because a value is missing; empty if none are."""
    if not rows:
        return ""
    lacking = f"{count_of(rows, noun)} in which {listed(columns, joint='or')} is missing"
    return f"{lacking} {conjugate(rows, 'is')} left out{of}."


def no_rows(table: Table) -> TableError:
    """Return the error for a table without rows."""
    return TableError(f"{table.name} has no rows", hint="pass a table with at least one row")


def bin_numbers(values: Any, step: Fraction) -> NDArray[np.int64]:
    """Return the bin of each number, by the same rule as on the engine."""
    value = np.asarray(values, dtype=np.float64)
    p, q = float(step.numerator), float(step.denominator)
    guess = np.floor(value * q / p)
    guess -= value < guess * p / q
    guess += value >= (guess + 1) * p / q
    return guess.astype(np.int64)


def keep_texts(table: Table, columns: Sequence[str], *, exact: bool = False) -> Table:
    """Keep the text of a CSV column if its numbers or times would merge different texts.

    Counted, not guessed: as many distinct values as texts, and none lost; if ``exact``, none
    rounded either.
    """
    typed = [
        name for name in columns if table.texts is not None and table.kind(name) is not Kind.TEXT
    ]
    if not typed:
        return table
    aggregates: dict[str, Any] = {}
    for i, name in enumerate(typed):
        text, value = table.texts[name], table.expression[name]
        aggregates |= {f"texts{i}": text.nunique(), f"present{i}": text.count()}
        meant = table.texts[name].try_cast(value.type())
        aggregates |= {f"values{i}": meant.nunique(), f"kept{i}": meant.count()}
    counts = run(table, table.texts.aggregate(**aggregates).to_pyarrow).to_pylist()[0]
    merged = {
        name
        for i, name in enumerate(typed)
        if counts[f"texts{i}"] != counts[f"values{i}"]
        or counts[f"present{i}"] != counts[f"kept{i}"]
    } | (rounded_texts(table, typed) if exact else set())
    return as_texts(table, merged) if merged else table


def rounded_texts(table: Table, columns: Iterable[str]) -> set[str]:
    """Return the columns of CSV files with a number that is not written as its double is."""
    rounded = {}
    for name in columns:
        if table.texts is not None and table.expression[name].type().is_floating():
            text, value = table.texts[name], table.texts[name].try_cast("float64")
            written = value.cast("string")
            other = text.re_search(LONG) & (written != text) & (written != text + ".0")
            lost = text.re_search("[1-9]") & ~value.abs().between(*SPAN)  # 0 or infinite
            rounded[name] = (other | lost).any()
    if not rounded:
        return set()
    (answers,) = run(table, table.texts.aggregate(**rounded).to_pyarrow).to_pylist()
    return {name for name, answer in answers.items() if answer}


def as_texts(table: Table, columns: Collection[str]) -> Table:
    """Return CSV files with some columns as their original text."""
    if table.texts is None:
        return table
    expression = table.texts.select(
        **{
            name: table.texts[name]
            if name in columns or table.kind(name) is Kind.TEXT
            else table.texts[name].try_cast(table.expression[name].type())
            for name in table.columns
        }
    )
    return replace(table, expression=expression)


def clean_column(table: Table, name: str) -> Any:
    """Return a column with NaN turned into a missing value."""
    import ibis

    column = table.expression[name]
    if not column.type().is_floating():
        return column
    # Not nullif(NaN): DuckDB folds that away, because the records of a file name no NaN.
    return column.isnan().ifelse(ibis.null(column.type()), column)


def _binned(table: Table, column: ViewColumn) -> Any:
    """Return a column as it is counted: its values, or the numbers of its bins."""
    import ibis

    value = clean_column(table, column.name)
    if column.step is None:
        return value
    value = value.cast("float64")
    p, q = float(column.step.numerator), float(column.step.denominator)
    divide = table.dialect.divide
    guess = divide(value * q, p).floor().cast("float64")  # Spark would go on in decimals
    return ibis.cases(
        ((value > -TINY) & (value < TINY), (value < 0).ifelse(-1.0, 0.0)),
        (value < divide(guess * p, q), guess - 1),
        (value >= divide((guess + 1) * p, q), guess + 1),
        else_=guess,
    ).cast("int64")


def _profile(table: Table, columns: Sequence[str], needed: Collection[str]) -> dict[str, Any]:
    """Count the rows and the missing values, and find the least and the largest numbers."""
    # What the files record is taken from there; the engine reads the rest, once.
    expression = table.expression
    facts: dict[str, Any] = {}
    aggregates: dict[str, Any] = {}
    for i, name in enumerate(columns):
        span = table.known_span(name)
        if span is not None:
            facts |= {f"low{i}": span.low, f"high{i}": span.high, f"present{i}": span.present}
            facts["rows"] = span.rows
            continue
        value = clean_column(table, name)
        aggregates[f"present{i}"] = value.count()
        if table.kind(name).numeric:
            aggregates |= {f"low{i}": value.min(), f"high{i}": value.max()}
        elif value.type().is_date() or value.type().is_timestamp():
            aggregates[f"far{i}"] = out_of_calendar(value).any()
    if aggregates or not facts:
        query = expression.aggregate(rows=expression.count(), **aggregates)
        facts |= run(table, query.to_pyarrow).to_pylist()[0]
    for i, name in enumerate(columns):
        if facts.get(f"far{i}"):
            raise implausible_dates(name, table.name)
    missing = [facts["rows"] - facts[f"present{i}"] for i in range(len(columns))]
    facts |= {f"missing{i}": count for i, count in enumerate(missing)}
    facts["kept"] = facts["rows"]
    holed = {name for name, count in zip(columns, missing, strict=True) if count and name in needed}
    if holed:  # rare enough for a second look
        present = functools.reduce(
            operator.and_, (clean_column(table, name).notnull() for name in holed)
        )
        facts["kept"] = run(table, expression.filter(present).count().to_pyarrow).as_py()
    return facts


def out_of_calendar(value: Any) -> Any:
    """Tell where a date or a time is infinite or in a year that Python's calendar lacks."""
    day = value.cast("date") if value.type().is_timestamp() else value
    return (day < dt.date.min) | (day > dt.date.max)


def implausible_dates(column: str, table: str) -> ColumnError:
    """Return the sentence for a column with such a date."""
    return ColumnError(
        f"Column '{column}' of {table} holds a date before the year 1 or after the year 9999",
        hint="mark it as missing with open_table(..., null=) (--null), or convert it to text",
    )


def _check_profile(
    table: Table, columns: tuple[ViewColumn, ...], profile: Mapping[str, Any], rows: int
) -> None:
    if profile["rows"] == 0:
        raise no_rows(table)
    for column in columns:
        if column.missing == profile["rows"]:
            raise ColumnError(
                f"Column '{column.name}' of {table.name} holds nothing but missing values",
                hint="choose another column",
            )
    if rows == 0:
        raise ColumnError(
            f"No row of {table.name} has a value in all of the columns "
            + ", ".join(f"'{column.name}'" for column in columns if not column.keeps_missing),
            hint="keep missing values as a value of their own with missing='value'",
        )
    for column in columns:
        if column.step is None:
            continue
        largest = max(abs(column.low), abs(column.high))
        if float(largest) > LARGEST_DOUBLE:
            raise ColumnError(
                f"Column '{column.name}' of {table.name} holds infinite values, which lie in no "
                "bin",
                hint="clip or remove them first",
            )
        reach = largest * column.step.denominator
        if max(reach, column.step.numerator, column.step.denominator) > LARGEST_BIN:
            raise OptionError(
                f"The step for column '{column.name}' is too fine for exact bins over its range",
                hint="choose a larger step or one with fewer decimals",
            )


# --- conditions over columns, written as SQL and checked against an allow-list before they run ----


def condition_columns(text: str) -> set[str]:
    """Return the columns that a condition names, and refuse what is no condition."""
    from sqlglot import exp

    return {node.name for node in _parsed(text).walk() if isinstance(node, exp.Column)}


def _parsed(text: str) -> Any:
    import sqlglot

    if len(text) > MOST_CHARACTERS:
        raise _refused(text, f"has more than {MOST_CHARACTERS:,} characters")
    try:
        tree = sqlglot.parse_one(text, dialect=EMBEDDED.sql)
    except (sqlglot.errors.SqlglotError, ValueError):
        raise _refused(text, "cannot be read") from None
    except RecursionError:
        raise _refused(text, "is nested too deep") from None
    for node in tree.walk():
        if type(node).__name__ not in ALLOWED:
            raise _refused(text, f"uses {type(node).__name__.lower()}")
    return tree


def evaluate_condition(text: str, columns: Mapping[str, Sequence[Any]]) -> NDArray[np.bool_]:
    """Return where a condition holds; a missing value makes it false."""
    from sqlglot import exp

    from hartley.tables.opening import open_table

    tree = _parsed(text)
    for node in tree.walk():
        if isinstance(node, exp.Column) and node.name not in columns:
            quoted = "use single quotes for text; " if node.this.args.get("quoted") else ""
            raise OptionError(
                f"The condition '{one_line(text)}' names '{one_line(node.name)}', which is no "
                "secret column",
                hint=f"{quoted}the columns are {', '.join(columns)}",
            )
    table = open_table({name: list(values) for name, values in columns.items()})
    connection = table.backend.con
    try:
        condition = tree.sql(dialect=EMBEDDED.sql, identify=True)
        held = connection.execute(
            f"SELECT coalesce(({condition})::BOOLEAN, false) FROM hartley_source"  # noqa: S608 - allow-listed
        ).fetchnumpy()
    except RecursionError:
        raise _refused(text, "is nested too deep") from None
    except Exception:  # noqa: BLE001 - what the engine says may hold private values
        raise _refused(text, "does not fit the types of its columns") from None
    (truth,) = held.values()
    return np.asarray(truth, dtype=bool)


def _refused(text: str, why: str) -> OptionError:
    return OptionError(
        f"The condition '{one_line(text)}' {why}",
        hint="compare columns with values, for example age >= 50 and sex = 'F'",
    )


# --- a profile of every column of a table, for the owner who drafts its schema --------------------


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds."""

    name: str
    kind: Kind
    rows: int
    missing: int
    different: int
    low: Any = None
    high: Any = None
    whole: bool = False
    """Whether every number is whole."""
    values: tuple[Any, ...] = ()
    """The categories that occur in several rows, in their order."""
    zoned: bool = False
    """Whether times carry a time zone."""


def profile(table: Table) -> list[ColumnProfile]:
    """Profile every column of a table: two scans, and one more per column of categories."""
    usable = [name for name in table.columns if table.kind(name) is not Kind.NESTED]
    usable = [name for name in usable if name not in {*table.blunt, *table.mixed}]
    aggregates: dict[str, Any] = {"rows": table.expression.count()}
    for i, name in enumerate(usable):
        aggregates |= _asked(table, name, i)
    row = run(table, table.expression.aggregate(**aggregates).to_pyarrow).to_pylist()[0]
    return [_profiled(table, name, i, row) for i, name in enumerate(usable)]


def _asked(table: Table, name: str, i: int) -> dict[str, Any]:
    column, kind = table.expression[name], table.kind(name)
    if column.type().is_floating():
        column = column.isnan().ifelse(None, column)
    aggregates = {
        f"present{i}": column.count(),
        f"different{i}": table.dialect.count_distinct(column),
    }
    if kind is Kind.REAL:
        finite = column.cast("float64").between(-LARGEST_DOUBLE, LARGEST_DOUBLE)
        inside = finite.ifelse(column.cast("float64"), None)
        aggregates |= {f"low{i}": inside.min(), f"high{i}": inside.max()}
        small = inside.between(-LARGEST_EXACT_INTEGER, LARGEST_EXACT_INTEGER).ifelse(inside, None)
        aggregates[f"broken{i}"] = (small.isnull() | (small != small.floor())).sum()
    elif column.type().is_date() or column.type().is_timestamp():
        shown = out_of_calendar(column).ifelse(None, column)
        aggregates |= {f"low{i}": shown.min(), f"high{i}": shown.max()}
    elif kind in (Kind.INTEGER, Kind.TIME):
        aggregates |= {f"low{i}": column.min(), f"high{i}": column.max()}
    return aggregates


def _profiled(table: Table, name: str, i: int, row: dict[str, Any]) -> ColumnProfile:
    kind, dtype = table.kind(name), table.expression.schema()[name]
    different, values = int(row[f"different{i}"]), ()
    if kind is Kind.TEXT and different > 0 and dtype.is_string():
        rows = table.expression
        grouped = rows.group_by(value=rows[name]).aggregate(n=rows.count())
        several = grouped.filter(grouped.value.notnull() & (grouped.n >= LEAST_ROWS))
        few = several.order_by("value").limit(MOST_VALUES + 1).select("value")
        values = tuple(sorted(run(table, few.to_pyarrow)["value"].to_pylist()))
    return ColumnProfile(
        name,
        kind,
        rows=int(row["rows"]),
        missing=int(row["rows"] - row[f"present{i}"]),
        different=different,
        low=row.get(f"low{i}"),
        high=row.get(f"high{i}"),
        whole=kind is Kind.INTEGER or (kind is Kind.REAL and not row[f"broken{i}"]),
        values=values,
        zoned=dtype.is_timestamp() and dtype.timezone is not None,
    )
