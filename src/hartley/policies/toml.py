"""Plain values as the text of a TOML file, numbers exact and long lists wrapped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hartley.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDEST_LINE = 96


def toml_fields(fields: Mapping[str, Any]) -> list[str]:
    """Return a line, or a list wrapped over several, for every field.

    Example:
        >>> toml_fields({"people": 5000, "columns": {"height": ["100", "250"]}})
        ['people = 5000', 'columns = {height = ["100", "250"]}']
    """
    return [f"{toml_key(name)} = {_value(value)}" for name, value in fields.items()]


def toml_key(name: object) -> str:
    """Return a name as it stands before an equals sign."""
    if not isinstance(name, str):
        raise InputError(
            f"A {type(name).__name__} cannot name something in a policy file", hint="use text"
        )
    bare = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    return name if bare else _value(name)


def _value(value: object) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return str(value)
    if isinstance(value, str) and not any(0xD800 <= ord(letter) <= 0xDFFF for letter in value):
        # JSON escapes as TOML does, save for one control character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return _array([_value(item) for item in value])
    if isinstance(value, dict):
        return "{" + ", ".join(toml_fields(value)) + "}"
    raise InputError(
        f"A {type(value).__name__} cannot stand in a policy file",
        hint="write numbers that are not whole as text",
    )


def is_long(value: object) -> bool:
    """Tell whether a table does not fit its line and gets a section of its own."""
    return isinstance(value, dict) and len(_value(value)) > WIDEST_LINE - 20


def _array(items: list[str]) -> str:
    """Return a list on one line, or wrapped where it is long."""
    if sum(len(item) + 2 for item in items) <= WIDEST_LINE - 20:
        return f"[{', '.join(items)}]"
    if any("\n" in item for item in items):
        # Not textwrap.indent, which would break text at other signs that end a line.
        return "\n".join(["[", *("  " + item.replace("\n", "\n  ") + "," for item in items), "]"])
    lines, current = [], ""
    for item in items:
        if current and len(current) + len(item) + 2 > WIDEST_LINE:
            lines.append(current)
            current = ""
        current += f" {item}," if current else f"  {item},"
    return "\n".join(["[", *lines, current, "]"])
