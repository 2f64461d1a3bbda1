"""The fields of one column of a policy file, read or refused."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hartley.errors import OptionError
from hartley.exact import parse_number

if TYPE_CHECKING:
    from fractions import Fraction


def read_number(value: object, field: str) -> Fraction:
    """Read a number as it is written: text, or a bare number of the file."""
    return parse_number(str(value) if isinstance(value, Decimal) else value, name=f"'{field}'")


def read_numbers(items: object, field: str) -> tuple[Fraction, ...]:
    """Read a list of numbers."""
    return tuple(read_number(item, field) for item in read_list(items, field))


def read_query(value: object) -> str | None:
    """Read a query as the text that it is; it is parsed where it is used."""
    if value is not None and not isinstance(value, str):
        raise OptionError(
            "The field 'of' is not text", hint='write for example of = "mean(height)"'
        )
    return value


def read_count(value: object, field: str) -> int:
    """Read a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise OptionError(f"The field '{field}' is not a whole number", hint="write it bare: 150")
    return value


def read_list(value: object, field: str) -> list[Any]:
    """Read a list."""
    if not isinstance(value, list):
        raise OptionError(
            f"The field '{field}' is not a list", hint='write it in brackets: ["0", "1"]'
        )
    return value
