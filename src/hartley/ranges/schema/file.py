"""A schema as a TOML file or nested dicts.

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
import json
import os
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hartley.errors import InputError, OptionError
from hartley.exact import MOST_DIGITS, parse_number
from hartley.files import parse_toml, read_text_file
from hartley.wording import EPOCH, decimal_text

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLE_KEYS = (
    *("name", "unit", "rows_per_unit", "rows", "max_rows", "population", "default_bits", "draft"),
)
COLUMN_KEYS = ("kind", "values", "other", "range", "step", "nullable", "unit")
FLAGS = ("draft", "other", "nullable")


def read_fields(
    source: Mapping[str, Any] | str | os.PathLike[str],
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the fields of a schema and of each of its columns; a key that is unknown is refused.

    Example:
        >>> read_fields({"table": {"name": "t"}, "columns": {"x": {"kind": "open",
        ...                                                        "values": [1, 2]}}})
        ({'name': 't'}, [{'name': 'x', 'kind': 'open', 'values': (1, 2)}])
    """
    content = source if isinstance(source, Mapping) else _parse(source)
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


def _parse(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    name = f"schema {Path(path).name}"
    if not os.path.exists(path):  # noqa: PTH110 - names of any length
        raise InputError(
            f"The {name} cannot be read",
            hint="check the path; hartley schema draft TABLE makes a first one",
        )
    return parse_toml(
        read_text_file(path, what="schema", kind=InputError), what=name, kind=InputError
    )


def _section(content: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    section = content.get(key)
    if not isinstance(section, Mapping):
        raise OptionError(f"{where} has no section '{key}'", hint=f"begin one with [{key}]")
    return section


def _check_keys(section: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key, value in section.items():
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(known)}"
            raise OptionError(f"{where} has an unknown setting '{key}'", hint=hint)
        if key in FLAGS and not isinstance(value, bool):
            raise OptionError(
                f"{where} has a setting '{key}' that is not true or false",
                hint=f"write {key} = true or leave it out",
            )


# --- writing ----------------------------------------------------------------------------------


def write_fields(table: Mapping[str, Any], columns: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of a schema's file, given its fields and those of each column.

    Ledgers store this text and compare it byte by byte, so its form never changes.

    Example:
        >>> print(write_fields(
        ...     {"name": "t", "draft": False, "unit": None, "rows_per_unit": 1, "rows": "public",
        ...      "max_rows": None, "population": None, "default_bits": Fraction(1)}, []), end="")
        [table]
        name = "t"
        rows_per_unit = 1
        rows = "public"
        default_bits = 1
    """
    lines = ["[table]", f"name = {_text(table['name'])}"]
    if table["draft"]:
        lines.append("draft = true")
    if table["unit"] is not None:
        lines.append(f"unit = {_text(table['unit'])}")
    lines += [f"rows_per_unit = {table['rows_per_unit']}", f'rows = "{table["rows"]}"']
    if table["max_rows"] is not None:
        lines.append(f"max_rows = {table['max_rows']}")
    if table["population"] is not None:
        lines.append(f"population = {_text(table['population'])}")
    lines.append(f"default_bits = {_written(table['default_bits'])}")
    for column in columns:
        lines += ["", *_column_lines(column)]
    return "\n".join(lines) + "\n"


def _column_lines(column: Mapping[str, Any]) -> list[str]:
    lines = [f"[columns.{_key(column['name'])}]", f'kind = "{column["kind"]}"']
    if column["values"] is not None:
        listed = ", ".join(_text(value) for value in column["values"])
        lines.append(f"values = [{listed}]")
        lines += ["other = true"] if column["other"] else []
    else:
        ends = [
            day_of(end).isoformat() if column["date"] else _written(end)
            for end in (column["low"], column["high"])
        ]
        lines += [f"range = [{', '.join(ends)}]", f"step = {_written(column['step'])}"]
    lines += ["nullable = true"] if column["nullable"] else []
    return lines + ([f"unit = {_text(column['unit'])}"] if column["unit"] is not None else [])


def day_of(days: Fraction) -> dt.date:
    """Return the date of a number of days since 1970-01-01.

    Example:
        >>> day_of(Fraction(-1)).isoformat()
        '1969-12-31'
    """
    return EPOCH + dt.timedelta(days=int(days))


def _written(number: Fraction) -> str:
    text = decimal_text(number)
    if len(text) > MOST_DIGITS:  # which would not be read again
        text = str(number)
    return _text(text) if "/" in text else text


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)
