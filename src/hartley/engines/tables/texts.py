"""Tables of texts: what is missing, spaces around values, and the types that texts seem to have.

A file of texts is read in two views on the embedded engine. The first one holds its fields as they
are written. The second one holds what they say: without spaces around them if these are trimmed,
missing where a mark stands, with decimal points, and with days that begin with the year. A column
is rewritten only if every value of it can be, so that no text is changed by a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hartley.engines.tables.reading_options import ReadingOptions

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


def literal(value: str) -> str:
    """Return text as the engine writes it.

    Example:
        >>> literal("it's")
        "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return the name of a column as the engine writes it.

    Example:
        >>> quoted('a"b')
        '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def listed(texts: Iterable[str]) -> str:
    """Return texts as a list of the engine.

    Example:
        >>> listed(["?", "NA"])
        "['?', 'NA']"
    """
    return f"[{', '.join(map(literal, texts))}]"


def clean_texts(
    backend: Any, raw: str, types: Mapping[str, str], reading: ReadingOptions
) -> tuple[Any, dict[str, str]]:
    """Return a view of texts as they are meant, and the type of every column.

    Args:
        backend: the connection of the embedded engine.
        raw: the name of a view of texts.
        types: the columns with the types that are known already; TEXT: not known.
        reading: how the texts are written.
    """
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
    return f"CASE WHEN NOT list_contains({listed(reading.marks)}, {text}) THEN {text} END"


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
    return f"try_strptime({column}, {listed(forms)})"


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
    """Return a type that can hold what several files have in one column.

    Example:
        >>> common_type(["BIGINT", "DOUBLE"]), common_type(["BIGINT", "DATE"])
        ('DOUBLE', 'VARCHAR')
    """
    different = set(types)
    if len(different) == 1:
        return different.pop()
    return "DOUBLE" if different <= {"BIGINT", "DOUBLE"} else TEXT
