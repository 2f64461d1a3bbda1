"""The parts of a recorded schema that charges depend on, and which of them may change.

A charge bounds what one unit can lose, so it means nothing for another unit. All else in a schema
is about the version of the data that it came with: the charges for that version were made under
it. The argument is in docs/accountant.md, "Versions and schemas that change".
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

from hartley.agent.ledger.rows.entries import canonical, read_integer


@dataclass(frozen=True)
class Terms:
    """The parts of a schema that charges depend on; defaults if no agent recorded it."""

    unit: str | None = None
    """The column that names the person; None if one row is one person."""
    population: str | None = None
    rows_per_unit: int = 1
    private_rows: bool = False
    max_rows: int | None = None
    columns: Mapping[str, tuple[object, str]] = field(default_factory=dict)
    """The kind of every column, and the rest of it as canonical text."""

    @property
    def unit_in_words(self) -> str:
        """Whom a charge protects."""
        return "one row" if self.unit is None else f"a value of '{self.unit}'"


def terms_of(schema: object) -> Terms:
    r"""Read a recorded schema: the text of a TOML file, or nested dicts.

    Example:
        >>> terms_of('[table]\nname = "visits"\nunit = "patient"\nrows_per_unit = 3').unit
        'patient'
        >>> terms_of({"table": {"population": "town"}}).population
        'town'
    """
    if isinstance(schema, str):
        return _read(schema)
    return _terms(schema) if isinstance(schema, Mapping) else Terms()


@lru_cache(maxsize=64)
def _read(text: str) -> Terms:
    try:
        # Not as floats: steps that differ in the twentieth digit are different steps.
        return _terms(tomllib.loads(text, parse_float=Decimal))
    except (ValueError, ArithmeticError, RecursionError):  # includes TOMLDecodeError
        return Terms()


def _terms(schema: Mapping[str, Any]) -> Terms:
    table = schema.get("table", schema)
    table = table if isinstance(table, Mapping) else {}
    columns = schema.get("columns")
    return Terms(
        unit=_text(table.get("unit")),
        population=_text(table.get("population")),
        rows_per_unit=_count(table.get("rows_per_unit")) or 1,
        private_rows=table.get("rows") == "private",
        max_rows=_count(table.get("max_rows")),
        columns={
            str(name): (column.get("kind"), _but_kind(column))
            for name, column in (columns.items() if isinstance(columns, Mapping) else ())
            if isinstance(column, Mapping)
        },
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    return value if type(value) is int else None


def _but_kind(column: Mapping[str, Any]) -> str:
    return canonical({str(name): str(value) for name, value in column.items() if name != "kind"})


def problem_of_schema(
    before: Terms, after: Terms, settled: Mapping[str, Any], *, charged: bool, rows: int | None
) -> str | None:
    """Return the problem if an event changes a schema in a way that is not allowed.

    Args:
        before: the terms of the schema before the event.
        after: the terms of the schema in the event.
        settled: the event in the form that the ledger stores.
        charged: whether anything was charged for any version, open columns included.
        rows: the number of rows before the event, if it is public.
    """
    # "The unit stays once anything was charged": c children for one row are up to c^r for r rows.
    if charged and before.unit != after.unit:
        return (
            f"earlier charges were counted for {before.unit_in_words} and mean nothing for "
            f"{after.unit_in_words}"
        )
    full = read_integer(settled["open_charge"]) >= read_integer(settled["open_factor"])
    # New data: each version is priced under its own schema, so all else may change.
    if "version" in settled:
        return None if full else "new data must be charged for all of their open columns"
    return _problem_of_same_data(before, after, rows, full_charge=full)


def _problem_of_same_data(
    before: Terms, after: Terms, rows: int | None, *, full_charge: bool
) -> str | None:
    """Return the problem if a schema changes something that the unchanged data do not allow.

    The data were checked and coded under their first schema, and charges were made for what was
    private in it. A removed column could come back as another one.
    """
    most_rows = before.max_rows or rows or 0
    problems = [
        (
            before.unit != after.unit,
            "the number of rows per person was never checked for that unit",
        ),
        (after.rows_per_unit < before.rows_per_unit, "a person may have more rows than it allows"),
        (before.private_rows and not after.private_rows, "the number of rows is private"),
        (
            (after.max_rows or most_rows) < most_rows
            or (before.max_rows is not None and after.max_rows is None),
            "there may be more rows than it allows",
        ),
    ]
    for name, (known_kind, known_values) in before.columns.items():
        kind, values = after.columns.get(name, (None, None))
        problems += [
            (values is None, f"column '{name}' is still in the data"),
            (values != known_values, f"column '{name}' was coded in another way"),
            (kind == "public" != known_kind, f"column '{name}' is private"),
            (
                kind == "open" != known_kind and not full_charge,
                f"opening column '{name}' must be charged for all open columns",
            ),
        ]
    return next((problem for wrong, problem in problems if wrong), None)
