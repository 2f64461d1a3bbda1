"""How texts become values: options, dates, marks of missing values."""

from __future__ import annotations

import codecs
import datetime as dt
import difflib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Self

from hartley.engines.table import Kind, run
from hartley.errors import ColumnError, OptionError
from hartley.files import one_line
from hartley.text import count_of, listed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hartley.engines.table import Table


DATES = ("year-first", "day-first", "month-first")
"""How days are written: 2024-12-31, 31.12.2024 or 12/31/2024."""
TEXT = "VARCHAR"
_KINDS = {
    "BIGINT": "int64",
    "DOUBLE": "float64",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
}
SAMPLE = 1000
"""Rows that rule out most types, before all rows are looked at for the others."""
SPACES = " \t\n\r\v\f\u00a0\ufeff"
"""What is trimmed: the spaces of ASCII, the one that does not break, and a stray mark of order."""
_ORDERS = {"day-first": "%d{0}%m{0}%Y", "month-first": "%m{0}%d{0}%Y"}
_DAY = r"\d{1,2}[./-]\d{1,2}[./-]\d{4}"
_CLOCK = r"\d{1,2}:\d{2}(:\d{2})?"
PERIODS = ("day", "week", "month", "quarter", "year", "decade")
"""From narrow to wide. Weeks begin on Mondays and nest in no other period."""
NO_BREAK = "\u00a0"
AROUND = f"^[\\s{NO_BREAK}]+|[\\s{NO_BREAK}]+$"
"""Spaces around a text, the one that does not break among them; slower than a plain trim."""


@dataclass(frozen=True)
class ReadingOptions:
    """How the files of a table are written, for every function that opens one.

    Args:
        null: texts that stand for a missing value, besides the empty field.
        trim: whether spaces around values and names of columns are left out.
        encoding: the encoding of CSV files, as Python names it: "utf-8", "cp1252", "utf-16".
        decimal: "." or ",", the sign before the decimals of a number.
        delimiter: the sign between the fields of a CSV file; None: the engine finds it.
        sheet: the sheet of an Excel file; None: the only one.
        header: the number of the line that holds the names of the columns; None: the first.
        footer: lines or rows of a sheet to leave out at the end, blank ones not counted.
        dates: "year-first", "day-first" or "month-first": 2024-12-31, 31.12.2024, 12/31/2024.
        labels: whether values of SPSS, Stata and SAS files are replaced with their labels.
        names: names of the columns, where a CSV file or a sheet has no header line; with
            ``header``, they replace those of that line.

    Example:
        >>> ReadingOptions(null="?", trim=True).null
        ('?',)
    """

    null: tuple[str, ...] = ()
    trim: bool = False
    encoding: str = "utf-8"
    decimal: str = "."
    delimiter: str | None = None
    sheet: str | None = None
    header: int | None = None
    dates: str = "year-first"
    labels: bool = False
    names: tuple[str, ...] | None = None
    footer: int = 0

    def __post_init__(self) -> None:
        settle = functools.partial(object.__setattr__, self)
        settle("null", _texts("null", self.null))
        settle("names", None if self.names is None else _texts("names", self.names))
        for name in ("encoding", "decimal", "delimiter", "sheet", "dates"):
            value = getattr(self, name)
            optional = name in ("delimiter", "sheet")
            if not (isinstance(value, str) or (value is None and optional)):
                raise _wrong(name, "is no text", "write it in quotes")
        for name in ("trim", "labels"):
            if not isinstance(getattr(self, name), bool):
                raise _wrong(name, "is neither true nor false", "write true or false")
        settle("encoding", _encoding(self.encoding))
        settle("delimiter", None if self.delimiter is None else _delimiter(self.delimiter))
        for name, choices in (("decimal", (".", ",")), ("dates", DATES)):
            if getattr(self, name) not in choices:
                shown = " or ".join(map(repr, choices))
                raise _wrong(name, f"is '{one_line(getattr(self, name))}'", f"write {shown}")
        if self.header is not None and (type(self.header) is not int or self.header < 1):
            raise _wrong("header", "is no number of a line", "the first line is 1")
        if type(self.footer) is not int or self.footer < 0:
            raise _wrong("footer", "is no number of lines", "write 1 for the last line")

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the options that a file declares, for example the part [reading] of roles.

        Example:
            >>> ReadingOptions.from_dict({"null": ["?"], "decimal": ","}).decimal
            ','
        """
        known = [field.name for field in fields(cls)]
        for name in content:
            if name not in known:
                close = difflib.get_close_matches(str(name), known, n=1)
                raise OptionError(
                    f"'{one_line(str(name))}' is no option for reading a table",
                    hint=f"did you mean {close[0]}?" if close else f"use {', '.join(known)}",
                )
        return cls(**content)

    def to_dict(self) -> dict[str, Any]:
        """Return the options that differ from the default ones, as a file would declare them.

        Example:
            >>> ReadingOptions(null=("?",), trim=True).to_dict()
            {'null': ['?'], 'trim': True}
        """
        plain = type(self)()
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field in fields(self)
            if (value := getattr(self, field.name)) != getattr(plain, field.name)
        }

    def with_marks(self, null: str | Sequence[str], names: Sequence[str] | None) -> Self:
        """Return the options with more marks for missing values, and with names for the columns.

        Example:
            >>> ReadingOptions(null="?").with_marks("NA", None).null
            ('?', 'NA')
        """
        marks = dict.fromkeys([*self.null, *_texts("null", null)])
        given = self.names if names is None else _texts("names", names)
        return replace(self, null=tuple(marks), names=given)

    @property
    def words(self) -> tuple[str, ...]:
        """The options that differ from the default ones, as words of a command.

        Example:
            >>> ReadingOptions(null=("?", "NA"), header=4, trim=True, delimiter="tab").words
            ('--null', '?', '--null', 'NA', '--trim', '--delimiter', 'tab', '--header-line', '4')
        """
        words: list[str] = []
        for name, value in self.to_dict().items():
            for each in value if name == "null" else [value]:
                text = ",".join(each) if name == "names" else "tab" if each == "\t" else str(each)
                words += [option_of(name)] if each is True else [option_of(name), text]
        return tuple(words)

    @property
    def marks(self) -> tuple[str, ...]:
        """The texts that stand for a missing value, the empty one among them."""
        listed = [mark.strip() for mark in self.null] if self.trim else self.null
        return tuple(dict.fromkeys(["", *listed]))

    @property
    def rewrites(self) -> bool:
        """Whether texts mean something else than what the engine would take them for."""
        return self.trim or self.decimal != "." or self.dates != "year-first"


def option_of(name: str) -> str:
    """Return what an option for reading is called on the command line."""
    return "--header-line" if name == "header" else f"--{name}"


def _texts(name: str, value: object) -> tuple[str, ...]:
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or not all(isinstance(item, str) for item in listed):
        raise _wrong(name, "is no list of texts", 'write it like ["?", "NA"]')
    return tuple(listed)


def _encoding(name: str) -> str:
    """Return the usual name of an encoding of texts."""
    try:
        codec = codecs.lookup(name)
        codec.incrementaldecoder().decode(b"", final=True)
        " ".encode(codec.name)
    except (LookupError, TypeError, ValueError):
        raise _wrong(
            "encoding", f"'{one_line(name)}' is unknown", "use utf-8, cp1252, latin-1 or utf-16"
        ) from None
    return "utf-8" if codec.name == "utf-8-sig" else codec.name


def _delimiter(sign: str) -> str:
    sign = "\t" if sign.lower() in ("tab", "\\t") else sign
    if len(sign.encode()) != 1 or sign in '"\r\n\0':
        raise _wrong("delimiter", f"is '{one_line(sign)}'", "use one sign such as ';' or 'tab'")
    return sign


def _wrong(name: str, why: str, hint: str) -> OptionError:
    return OptionError(f"The option {name} for reading a table {why}", hint=hint)


AS_WRITTEN = ReadingOptions()
"""UTF-8, decimal points, every space kept, and only empty fields missing."""


# --- tables of texts: what is missing, spaces, and the types that texts seem to have --------------
#
# A file of texts is read in two views on the embedded engine. The first one holds its fields as
# they are written. The second one holds what they say: without spaces around them if these are
# trimmed, missing where a mark stands, with decimal points, and with days that begin with the
# year. A column is rewritten only if every value of it can be, so that no text is changed by a
# guess.


def literal(value: str) -> str:
    """Return text as the engine writes it."""
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return the name of a column as the engine writes it."""
    return '"' + name.replace('"', '""') + '"'


def sql_list(texts: Iterable[str]) -> str:
    """Return texts as a list of the engine."""
    return f"[{', '.join(map(literal, texts))}]"


def clean_texts(
    backend: Any, raw: str, types: Mapping[str, str], reading: ReadingOptions
) -> tuple[Any, dict[str, str]]:
    """Return a view of texts as they are meant, and the type of every column."""
    columns = ", ".join(f"{_cleaned(quoted(name), reading)} AS {quoted(name)}" for name in types)
    backend.con.execute(f"CREATE TEMP VIEW hartley_clean AS SELECT {columns} FROM {raw}")  # noqa: S608 - quoted
    # With decimal commas, 1.234 may be a thousand: what seems a number with a point is none.
    comma = reading.decimal == ","
    known = {name: TEXT if comma and kind == "DOUBLE" else kind for name, kind in types.items()}
    decided = known | _types(backend, [n for n, kind in known.items() if kind == TEXT], reading)
    columns = ", ".join(
        f"{_rewritten(quoted(name), kind, reading) if known[name] == TEXT else quoted(name)} "
        f"AS {quoted(name)}"
        for name, kind in decided.items()
    )
    backend.con.execute(f"CREATE TEMP VIEW hartley_text AS SELECT {columns} FROM hartley_clean")  # noqa: S608 - quoted
    return backend.table("hartley_text"), decided


def _cleaned(column: str, reading: ReadingOptions) -> str:
    text = f"trim({column}, {literal(SPACES)})" if reading.trim else column
    return f"CASE WHEN NOT list_contains({sql_list(reading.marks)}, {text}) THEN {text} END"


def _types(backend: Any, columns: Sequence[str], reading: ReadingOptions) -> dict[str, str]:
    """Decide the types of columns by looking at every value."""
    decided = dict.fromkeys(columns, TEXT)
    open_pairs = [(name, kind) for name in columns for kind in _tests("", reading)]
    for rows in (f"(FROM hartley_clean LIMIT {SAMPLE})", "hartley_clean"):
        if not open_pairs:
            break
        asked = ", ".join(
            f"coalesce(bool_and({_tests(quoted(name), reading)[kind]}) "
            f"FILTER ({quoted(name)} IS NOT NULL), {rows != 'hartley_clean'})"
            for name, kind in open_pairs
        )
        answers = backend.con.execute(f"SELECT {asked} FROM {rows}").fetchone()  # noqa: S608 - quoted
        open_pairs = [pair for pair, holds in zip(open_pairs, answers, strict=True) if holds]
    for name, kind in reversed(open_pairs):  # the first type that fits is the narrowest
        decided[name] = kind
    return decided


def _tests(column: str, reading: ReadingOptions) -> dict[str, str]:
    """Return for each type the condition that a text is written like one of its values."""
    point = "," if reading.decimal == "," else "."
    number = rf"[+-]?(\d+([{point}]\d*)?|[{point}]\d+)([eE][+-]?\d+)?"
    tests = {
        "BIGINT": _full(column, r"[+-]?\d{1,18}"),
        "DOUBLE": _full(column, number),
        "BOOLEAN": _full(column, "(?i:true|false)"),
        "DATE": _full(column, r"\d{4}-\d{2}-\d{2}") + f" AND {_castable(column, 'DATE')}",
        "TIMESTAMP": _full(
            column, rf"\d{{4}}-\d{{2}}-\d{{2}}([ T]{_CLOCK}([.]\d{{1,6}})?(Z| UTC)?)?"
        )
        + f" AND {_castable(column, 'TIMESTAMP')}",
    }
    if reading.dates != "year-first":  # a day that begins with its year is never in doubt
        parsed = f"{_parsed(column, reading)} IS NOT NULL"
        day, time = (_full(column, form) for form in (_DAY, rf"{_DAY}( {_CLOCK})?"))
        tests["DATE"] = f"({tests['DATE']}) OR ({day} AND {parsed})"
        tests["TIMESTAMP"] = f"({tests['TIMESTAMP']}) OR ({time} AND {parsed})"
    return tests


def _full(column: str, pattern: str) -> str:
    return f"regexp_full_match({column}, {literal(pattern)})"


def _castable(column: str, kind: str) -> str:
    return f"try_cast({column} AS {kind}) IS NOT NULL"


def _parsed(column: str, reading: ReadingOptions) -> str:
    days = [_ORDERS[reading.dates].format(sign) for sign in "./-"]
    forms = [f"{day}{clock}" for day in days for clock in ("", " %H:%M", " %H:%M:%S")]
    return f"try_strptime({column}, {sql_list(forms)})"


def _rewritten(column: str, kind: str, reading: ReadingOptions) -> str:
    """Return a text as the engine would write the same value."""
    if kind == "DOUBLE" and reading.decimal == ",":
        return f"replace({column}, ',', '.')"
    if kind in {"DATE", "TIMESTAMP"} and reading.dates != "year-first":
        form = "%Y-%m-%d" + (" %H:%M:%S" if kind == "TIMESTAMP" else "")
        return f"coalesce(strftime({_parsed(column, reading)}, '{form}'), {column})"
    return column


def typed(texts: Any, types: Mapping[str, str]) -> Any:
    """Return a view of texts with the columns that have a type converted to it."""
    return texts.select(
        **{
            column: texts[column].try_cast(_KINDS[kind]) if kind in _KINDS else texts[column]
            for column, kind in types.items()
        }
    )


def common_type(types: Sequence[str]) -> str:
    """Return a type that can hold what several files have in one column."""
    different = set(types)
    if len(different) == 1:
        return different.pop()
    return "DOUBLE" if different <= {"BIGINT", "DOUBLE"} else TEXT


# --- dates put into periods: days, weeks, months, quarters, years and decades ---------------------


def is_period(step: object) -> bool:
    """Tell whether a bin is a period of dates and not a width of numbers."""
    return isinstance(step, str) and step.strip().lower() in PERIODS


def in_periods(
    table: Table, periods: Mapping[str, str], *, beside: Mapping[str, str] | None = None
) -> Table:
    """Return a table with some columns of dates as texts that name their periods."""
    if not periods:
        return table
    table.require(periods)
    names = {column: (beside or {}).get(column, column) for column in periods}
    named, texts = {}, {}
    for column, period in periods.items():
        value = table.expression[column]
        if not (value.type().is_date() or value.type().is_timestamp()):
            raise ColumnError(
                f"Column '{column}' of {table.name} holds {table.kind(column)} values, not dates, "
                f"and cannot be put into {period}s",
                hint="give a width for numbers; dates that begin with the day are read with "
                "--dates day-first"
                if table.kind(column) is Kind.TEXT
                else "give a width for numbers, for example 10",
            )
        named[names[column]] = _name(value, period.strip().lower())
        if table.texts is not None:
            dates = table.texts[column].try_cast(value.type())
            texts[names[column]] = _name(dates, period.strip().lower())
    return replace(
        table,
        expression=table.expression.mutate(**named),
        # The texts of a file would bring the dates back.
        texts=None if table.texts is None else table.texts.mutate(**texts),
        known_span=lambda name: None if name in named else table.known_span(name),
    )


def _name(value: Any, period: str) -> Any:
    """Return what a period is called: 2020-05-07, 2020-W19, 2020-05, 2020-Q2, 2020, 2020s."""
    year = value.year().cast("string").lpad(4, "0")
    if period == "decade":
        return ((value.year() // 10) * 10).cast("string").lpad(4, "0") + "s"
    if period == "year":
        return year
    if period == "quarter":
        return year + "-Q" + value.quarter().cast("string")
    month = year + "-" + value.month().cast("string").lpad(2, "0")
    if period == "month":
        return month
    if period == "week":  # by its Monday: a week may belong to two years
        return _name(value.cast("date").truncate("W"), "day")
    return month + "-" + value.day().cast("string").lpad(2, "0")


def period_name(value: dt.date, period: str) -> str:
    """Return what the period of a date is called, as on an engine."""
    if period == "decade":
        return f"{value.year // 10 * 10:04d}s"
    if period == "year":
        return f"{value.year:04d}"
    if period == "quarter":
        return f"{value.year:04d}-Q{(value.month + 2) // 3}"
    if period == "month":
        return f"{value.year:04d}-{value.month:02d}"
    if period == "week":
        value -= dt.timedelta(days=value.weekday())
    return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"


def check_periods(periods: object, what: str) -> tuple[str, ...]:
    """Return periods from narrow to wide, or raise an error for those that do not nest."""
    words = [str(period).strip().lower() for period in periods]  # type: ignore[attr-defined]
    places = [PERIODS.index(word) if word in PERIODS else -1 for word in words]
    if -1 in places or places != sorted(set(places)) or ("week" in words and len(words) > 1):
        raise OptionError(
            f"{what} has periods that do not nest", hint='write for example ["month", "year"]'
        )
    return tuple(words)


# --- declared values in typed columns: marks of missing values, trimmed texts, and near misses ----


def clean_columns(table: Table, reading: ReadingOptions) -> Table:
    """Return a table with trimmed texts and with marks of missing values missing.

    A mark that is a number is missing in columns of numbers too.

    Example:
        >>> from hartley.tables.reading import ReadingOptions
        >>> from hartley.tables.opening import open_table
        >>> table = open_table({"sex": ["F", " ?"], "age": [30, 99]})
        >>> cleaned = clean_columns(table, ReadingOptions(null=["?", "99"], trim=True))
        >>> cleaned.expression.to_pyarrow().to_pylist()
        [{'sex': 'F', 'age': 30}, {'sex': None, 'age': None}]
    """
    if not reading.null and not reading.trim:
        return table
    if table.texts is not None:
        raise OptionError(
            f"{table.name} is open already, and options for reading it came later",
            hint="open it with these options",
        )
    changed = {
        name: column
        for name in table.columns
        if (column := _clean_values(table, name, reading)) is not None
    }
    if not changed:
        return table
    known = table.known_span
    return replace(
        table,
        expression=table.expression.mutate(**changed),
        known_span=lambda column: None if column in changed else known(column),
    )


def _clean_values(table: Table, name: str, reading: ReadingOptions) -> Any:
    import ibis

    column, kind = table.expression[name], table.kind(name)
    if column.type().is_string():
        text = column
        if reading.trim:
            bare = column.re_replace(AROUND, "")
            text = column.contains(NO_BREAK).ifelse(bare, column.strip())
        marks = [mark for mark in reading.marks if mark or reading.trim]
        return text.isin(marks).ifelse(ibis.null(str), text) if marks else text
    numbers = [number for mark in reading.null if (number := _number(mark, kind)) is not None]
    if not numbers:
        return None
    return column.isin(numbers).ifelse(ibis.null(column.type()), column)


def _number(mark: str, kind: Kind) -> int | float | None:
    if not kind.numeric:
        return None
    try:
        value = float(mark.replace(",", "."))
    except ValueError:
        return None
    if kind is Kind.REAL:
        return value if abs(value) < float("inf") else None
    return int(value) if value.is_integer() and abs(value) < 2**53 else None


def near_misses(table: Table, declared: Mapping[str, Sequence[object]]) -> list[str]:
    """Return a sentence for each column with texts that miss a declared value by spaces or case.

    Such a text is most often the declared value, written carelessly, and is not counted as it. The
    sentence names the declared value and how many rows have such texts, and no text itself.
    """
    source = table.expression if table.texts is None else table.texts
    asked: list[tuple[str, str]] = []
    counts: dict[str, Any] = {}
    for name, values in declared.items():
        texts = [value for value in values if isinstance(value, str) and value.strip()]
        if not texts or name not in source.columns or not source[name].type().is_string():
            continue
        folded: dict[str, str] = {}
        for value in texts:
            folded.setdefault(value.strip().lower(), value)
        for spelling, value in folded.items():
            near = (source[name].strip().lower() == spelling) & source[name].notin(texts)
            counts[f"n{len(asked)}"] = near.fill_null(False).sum()  # noqa: FBT003 - a value
            asked.append((name, value))
    if not asked:
        return []
    row = run(table, source.aggregate(**counts).to_pyarrow).to_pylist()[0]
    missed: dict[str, dict[str, int]] = {}
    for (name, value), count in zip(asked, row.values(), strict=True):
        if count:
            missed.setdefault(name, {})[value] = int(count)
    sentences = []
    for name, rows in missed.items():
        shown = listed((f"'{one_line(value, 30)}'" for value in rows), joint="or")
        sentences.append(
            f"Column '{name}' has {count_of(sum(rows.values()), 'row')} whose value differs "
            f"from {shown} only by spaces or case"
        )
    return sentences
