"""Declared values in typed columns: marks of missing values, trimmed texts, and near misses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hartley.engines.tables.failures import run
from hartley.engines.tables.table import Kind
from hartley.errors import OptionError
from hartley.files import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hartley.engines.tables.reading_options import ReadingOptions
    from hartley.engines.tables.table import Table

NO_BREAK = "\u00a0"
AROUND = f"^[\\s{NO_BREAK}]+|[\\s{NO_BREAK}]+$"
"""Spaces around a text, the one that does not break among them; slower than a plain trim."""


def clean_columns(table: Table, reading: ReadingOptions) -> Table:
    """Return a table with trimmed texts and with marks of missing values missing.

    A mark that is a number is missing in columns of numbers too.

    Example:
        >>> from hartley.engines.tables.reading_options import ReadingOptions
        >>> from hartley.engines.tables.sources import open_table
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
        if (column := _cleaned(table, name, reading)) is not None
    }
    if not changed:
        return table
    known = table.known_span
    return replace(
        table,
        expression=table.expression.mutate(**changed),
        known_span=lambda column: None if column in changed else known(column),
    )


def _cleaned(table: Table, name: str, reading: ReadingOptions) -> Any:
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

    Args:
        table: the table.
        declared: for each column, its categories and the marks of missing values; columns that
            the table has not, and values that are no texts, are left aside.

    Example:
        >>> from hartley.engines.tables.sources import open_table
        >>> near_misses(open_table({"sex": ["F", " f", "M", "m "]}), {"sex": ["F", "M"]})
        ["Column 'sex' has 2 rows whose value differs from 'F' or 'M' only by spaces or case"]
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
        for text, value in folded.items():
            near = (source[name].strip().lower() == text) & source[name].notin(texts)
            counts[f"n{len(asked)}"] = near.fill_null(False).sum()  # noqa: FBT003 - a value
            asked.append((name, value))
    if not asked:
        return []
    row = run(table, source.aggregate(**counts).to_pyarrow).to_pylist()[0]
    missed: dict[str, dict[str, int]] = {}
    for (name, value), count in zip(asked, row.values(), strict=True):
        if count:
            missed.setdefault(name, {})[value] = int(count)
    return [_sentence(name, values) for name, values in missed.items()]


def _sentence(column: str, missed: Mapping[str, int]) -> str:
    rows = sum(missed.values())
    many = "1 row" if rows == 1 else f"{rows:,} rows"
    *first, last = (f"'{one_line(value, 30)}'" for value in missed)
    shown = f"{', '.join(first)} or {last}" if first else last
    return f"Column '{column}' has {many} whose value differs from {shown} only by spaces or case"
